//! A server over TLS for tests: it speaks the chosen versions of HTTP and records the requests.
//!
//! The server answers each path with a line that names it, and a watch stays open after that. On a path that begins with
//! `/flood` the server goes on to send more than fits into the buffers of a client that does not read.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response, Version};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::CertifiedKey;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The protocols that the server speaks, whatever was negotiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Speaking {
    Http2Only,
    /// The negotiated protocol; HTTP/1.1 if none was negotiated.
    Both,
    /// The server closes the connection once it is open.
    Nothing,
}

/// The server.
pub(super) struct TlsServer {
    address: SocketAddr,
    certificate: Vec<u8>,
    state: Arc<ServerState>,
    /// A client certificate that is refused in the handshake, in DER.
    refused: Arc<Mutex<Option<Vec<u8>>>>,
    _server: tokio::task::JoinSet<()>,
}

struct ServerState {
    speaking: Mutex<Speaking>,
    connections: AtomicUsize,
    seen: Mutex<Vec<(Version, String)>>,
    /// The client certificate of each request, in DER.
    presented: Mutex<Vec<Option<Vec<u8>>>>,
    /// Requests with another client certificate are answered with 401, if there is one.
    accepted: Mutex<Option<Vec<u8>>>,
}

/// Takes TLS connections with a new certificate for the loopback addresses, which is given too, in DER. `protocols` are what it speaks
/// over them, for ALPN.
pub(super) fn acceptor(protocols: &[&[u8]]) -> (TlsAcceptor, Vec<u8>) {
    acceptor_that_refuses(protocols, Arc::default())
}

fn acceptor_that_refuses(protocols: &[&[u8]], refused: Arc<Mutex<Option<Vec<u8>>>>) -> (TlsAcceptor, Vec<u8>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clients = Arc::new(ClientCertificates { refused, provider });
    let names = ["127.0.0.1".to_owned(), "::1".to_owned()];
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder().with_client_cert_verifier(clients);
    let mut config = config.with_single_cert(vec![cert.der().clone()], key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    (TlsAcceptor::from(Arc::new(config)), cert.der().to_vec())
}

/// The server's treatment of client certificates: it asks for one, as API servers do, and accepts every certificate except
/// one that is refused in the handshake, as load balancers refuse expired ones.
#[derive(Debug)]
struct ClientCertificates {
    refused: Arc<Mutex<Option<Vec<u8>>>>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for ClientCertificates {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let refused = self.refused.lock().unwrap();
        if refused.as_deref() == Some(leaf.as_ref()) {
            return Err(rustls::CertificateError::Expired.into());
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            cert,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // The library reads no certificate of X.509 version 1, which API servers accept.
        if ParsedCertificate::try_from(cert).is_err() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl TlsServer {
    /// Listens on `address`; its certificate is for the loopback addresses.
    pub(super) async fn start(address: &str, speaking: Speaking) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let protocols: &[&[u8]] = match speaking {
            Speaking::Http2Only => &[b"h2"],
            Speaking::Both | Speaking::Nothing => &[b"h2", b"http/1.1"],
        };
        let refused: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
        let (acceptor, certificate) = acceptor_that_refuses(protocols, refused.clone());
        let state = Arc::new(ServerState {
            speaking: Mutex::new(speaking),
            connections: AtomicUsize::new(0),
            seen: Mutex::default(),
            presented: Mutex::default(),
            accepted: Mutex::default(),
        });
        let mut server = tokio::task::JoinSet::new();
        server.spawn(serve(listener, acceptor, state.clone()));
        Self { address, certificate, state, refused, _server: server }
    }

    /// A client's configuration.
    pub(super) fn config(&self) -> kube::Config {
        let mut config = kube::Config::new(self.url().parse().unwrap());
        config.default_retry = false;
        config.root_cert = Some(vec![self.certificate.clone()]);
        config
    }

    /// `https://127.0.0.1:6443`.
    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Its certificate, in DER.
    pub(super) fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Sets the protocols for all later connections.
    pub(super) fn speak(&self, speaking: Speaking) {
        *self.state.speaking.lock().unwrap() = speaking;
    }

    /// How many connections were opened so far.
    pub(super) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// Makes the server answer 401 to all later requests with another client certificate than this, in DER.
    pub(super) fn accept_only(&self, certificate: &[u8]) {
        *self.state.accepted.lock().unwrap() = Some(certificate.to_vec());
    }

    /// Makes the server refuse this client certificate, in DER, in all later handshakes.
    pub(super) fn refuse(&self, certificate: &[u8]) {
        *self.refused.lock().unwrap() = Some(certificate.to_vec());
    }

    /// The client certificate of each request so far, in DER.
    pub(super) fn presented(&self) -> Vec<Option<Vec<u8>>> {
        self.state.presented.lock().unwrap().clone()
    }

    /// The version and path of each request so far.
    pub(super) fn seen(&self) -> Vec<(Version, String)> {
        self.state.seen.lock().unwrap().clone()
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, state: Arc<ServerState>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, state) = (acceptor.clone(), state.clone());
        connections.spawn(async move {
            state.connections.fetch_add(1, Ordering::Relaxed);
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let negotiated_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let speaking = *state.speaking.lock().unwrap();
            let client = stream.get_ref().1.peer_certificates().and_then(|chain| Some(chain.first()?.to_vec()));
            let service = service_fn(move |request| answer(request, client.clone(), state.clone()));
            let io = TokioIo::new(stream);
            let _ = match speaking {
                Speaking::Nothing => return,
                Speaking::Both if !negotiated_http2 => http1::Builder::new().serve_connection(io, service).await,
                Speaking::Both | Speaking::Http2Only => {
                    http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await
                }
            };
        });
    }
}

type LineBody = StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

async fn answer(
    request: Request<Incoming>,
    client: Option<Vec<u8>>,
    state: Arc<ServerState>,
) -> Result<Response<LineBody>, Infallible> {
    let path = request.uri().path().to_owned();
    let accepted = state.accepted.lock().unwrap().as_ref().is_none_or(|accepted| client.as_ref() == Some(accepted));
    state.presented.lock().unwrap().push(client);
    state.seen.lock().unwrap().push((request.version(), path.clone()));
    let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let end = if watches { "\n" } else { "" };
    let line = Bytes::from(format!(r#"{{"path":"{path}"}}{end}"#));
    let first = stream::iter([line]);
    let more = stream::repeat(Bytes::from_static(&[b'x'; 64 * 1024]));
    let body = match (path.starts_with("/flood"), watches) {
        (true, _) => first.chain(more).boxed(),
        (false, true) => first.chain(stream::pending()).boxed(),
        (false, false) => first.boxed(),
    };
    let mut response = Response::new(StreamBody::new(body.map(|line| Ok(Frame::data(line))).boxed()));
    if !accepted {
        *response.status_mut() = http::StatusCode::UNAUTHORIZED;
        *response.body_mut() = StreamBody::new(stream::empty().boxed());
    }
    Ok(response)
}
