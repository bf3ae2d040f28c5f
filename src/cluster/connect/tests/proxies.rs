//! Proxies: what they are asked, and what is said where they give no connection.

use std::collections::VecDeque;

use base64::Engine as _;
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::cluster::failure::ProxyTrouble;
use crate::cluster::tls_server::{Speaking, TlsServer, acceptor};
use crate::engine::model::effect::EffectErrorKind;

/// How a proxy of a test is spoken to.
#[derive(Clone)]
enum Spoken {
    Socks,
    Http,
    Https(TlsAcceptor),
}

const ESTABLISHED: &str = "200 Connection established";

/// A proxy, and what was asked of it.
struct TestProxy {
    address: String,
    asked: Arc<Mutex<VecDeque<String>>>,
}

impl TestProxy {
    /// `answer` is the status with which it answers `CONNECT`.
    async fn start(spoken: Spoken, answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let seen = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, spoken) = (seen.clone(), spoken.clone());
                tokio::spawn(async move {
                    match spoken {
                        Spoken::Socks => {
                            let mut stream = stream;
                            let to = socks(&mut stream, &seen).await;
                            between(stream, to).await;
                        }
                        Spoken::Http if is_tls(&stream).await => {
                            let mut stream = stream;
                            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
                        }
                        Spoken::Http => connect(stream, &seen, answer).await,
                        Spoken::Https(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                connect(stream, &seen, answer).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, asked }
    }

    fn first_asked(&self) -> Option<String> {
        self.asked.lock().unwrap().front().cloned()
    }
}

async fn is_tls(stream: &TcpStream) -> bool {
    let mut first = [0; 1];
    stream.peek(&mut first).await.is_ok() && first == [0x16]
}

async fn connect(mut stream: impl AsyncRead + AsyncWrite + Unpin, seen: &Mutex<VecDeque<String>>, answer: &str) {
    let head = head(&mut stream).await;
    let Some(to) = head.split_whitespace().nth(1).map(str::to_owned) else { return };
    seen.lock().unwrap().push_back(head);
    let _ = stream.write_all(format!("HTTP/1.1 {answer}\r\n\r\n").as_bytes()).await;
    if answer == ESTABLISHED {
        between(stream, to).await;
    }
}

async fn between(mut stream: impl AsyncRead + AsyncWrite + Unpin, to: String) {
    let Ok(mut server) = TcpStream::connect(to).await else { return };
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
}

async fn socks(stream: &mut TcpStream, seen: &Mutex<VecDeque<String>>) -> String {
    let mut methods = [0; 2];
    stream.read_exact(&mut methods).await.unwrap();
    let mut offered = vec![0; methods[1].into()];
    stream.read_exact(&mut offered).await.unwrap();
    if offered.contains(&2) {
        stream.write_all(&[5, 2]).await.unwrap();
        let mut len = [0; 2];
        stream.read_exact(&mut len).await.unwrap();
        let mut user = vec![0; len[1].into()];
        stream.read_exact(&mut user).await.unwrap();
        let mut len = [0; 1];
        stream.read_exact(&mut len).await.unwrap();
        let mut password = vec![0; len[0].into()];
        stream.read_exact(&mut password).await.unwrap();
        let said = format!("{}:{}", String::from_utf8_lossy(&user), String::from_utf8_lossy(&password));
        seen.lock().unwrap().push_back(said);
        stream.write_all(&[1, 0]).await.unwrap();
    } else {
        stream.write_all(&[5, 0]).await.unwrap();
    }
    let mut request = [0; 4];
    stream.read_exact(&mut request).await.unwrap();
    assert_eq!(request[3], 1, "an IPv4 address");
    let mut to = [0; 6];
    stream.read_exact(&mut to).await.unwrap();
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    format!("{}.{}.{}.{}:{}", to[0], to[1], to[2], to[3], u16::from_be_bytes([to[4], to[5]]))
}

/// `certificate-authority-data`, for these certificates in DER.
pub(super) fn authority(certificates: &[&[u8]]) -> String {
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let pem = |der: &&[u8]| format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", encode(der));
    format!(", certificate-authority-data: {}", encode(certificates.iter().map(pem).collect::<String>().as_bytes()))
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_go_through_the_proxy_that_the_kubeconfig_names() {
    let (tls, certificate) = acceptor(&[]);
    let trusted = authority(&[&certificate]);
    for (scheme, spoken, trusted) in
        [("http", Spoken::Http, ""), ("socks5", Spoken::Socks, ""), ("https", Spoken::Https(tls), &*trusted)]
    {
        let dir = tempfile::tempdir().unwrap();
        let server = VersionServer::start(&["t0"]).await;
        let through = TestProxy::start(spoken, ESTABLISHED).await;
        let cluster = format!(", proxy-url: '{scheme}://joe:hunt%40er@{}'{trusted}", through.address);
        let target = write_kubeconfig(dir.path(), &server.address, &cluster, "{token: t0}");
        let cluster = Cluster::connect(&target).await.unwrap();
        assert_eq!(cluster.probe().await, Ok("v1.36.3".to_owned()), "{scheme}");
        let asked = through.first_asked().unwrap();
        let expected = if scheme == "socks5" { "joe:hunt@er" } else { "Basic am9lOmh1bnRAZXI=" };
        assert!(asked.contains(expected), "{asked}");
        assert!(cluster.credentials().secrets().iter().any(|secret| secret == "hunt@er"));
    }
}

/// TLS with the API server inside of TLS with the proxy; HTTP/2 and HTTP/1.1 are settled by the inner one.
#[tokio::test(flavor = "multi_thread")]
async fn calls_and_watches_go_over_tls_through_a_proxy_over_tls() {
    let (tls, certificate) = acceptor(&[b"h2", b"http/1.1"]);
    let through = TestProxy::start(Spoken::Https(tls), ESTABLISHED).await;
    let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
    let dir = tempfile::tempdir().unwrap();
    let both = authority(&[server.certificate(), &certificate]);
    let cluster = format!(", proxy-url: 'https://{}'{both}", through.address);
    let target = write_kubeconfig(dir.path(), &server.url(), &cluster, "{token: t0}");
    let cluster = Cluster::connect(&target).await.unwrap();
    assert_eq!(cluster.probe().await, Ok(String::new()));
    let mut lines = cluster.http.lines("/one?watch=true", PROBE_TIMEOUT).await.unwrap();
    assert!(lines.next(PROBE_TIMEOUT).await.unwrap().is_some());
    let asked = through.first_asked().unwrap();
    let host = server.url().replace("https://", "");
    assert!(asked.starts_with(&format!("CONNECT {host} HTTP/1.1")) && !asked.contains("Proxy-Auth"), "{asked}");
    let versions: Vec<http::Version> = server.seen().iter().map(|(version, _)| *version).collect();
    assert_eq!(versions, [http::Version::HTTP_2, http::Version::HTTP_11]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_whose_certificate_is_not_known_is_not_told_the_password() {
    let (_, other) = acceptor(&[]);
    // Whether the API server's certificate is checked says nothing of the proxy's.
    for cluster in [authority(&[&other]), ", insecure-skip-tls-verify: true".to_owned(), String::new()] {
        let through = TestProxy::start(Spoken::Https(acceptor(&[]).0), ESTABLISHED).await;
        let dir = tempfile::tempdir().unwrap();
        let cluster = format!(", proxy-url: 'https://joe:hunter2@{}'{cluster}", through.address);
        let target = write_kubeconfig(dir.path(), "https://127.0.0.1:1", &cluster, "{token: t0}");
        let error = match Cluster::connect(&target).await {
            Ok(cluster) => {
                let failure = cluster.http.call(Call::get("/version", PROBE_TIMEOUT)).await.unwrap_err();
                assert_eq!(failure.kind(), EffectErrorKind::NotSent, "{failure:?}");
                cluster.probe().await.unwrap_err()
            }
            // Where a machine has no roots at all.
            Err(error) => error,
        };
        let ConnectError::ThroughProxy { failure, .. } = &error else { panic!("{error:?}") };
        assert!(matches!(failure.trouble, ProxyTrouble::Tls(_)), "{error}");
        let said = format!("{error} {error:?} {:?}", error.hints());
        let named = format!("the proxy https://{} (proxy-url) fails at TLS", through.address);
        assert!(said.contains(&named) && said.contains("certificate-authority"), "{said}");
        assert!(!said.contains("hunter2") && !said.contains("joe"), "{said}");
        assert_eq!(through.first_asked(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_gives_no_connection_is_named_with_what_to_do() {
    let (tls, certificate) = acceptor(&[]);
    let trusted = authority(&[&certificate]);
    for (scheme, spoken, trusted, answer, says, hint) in [
        ("http", Spoken::Http, "", "407 Proxy Authentication Required", "(407", "http://USER:PASSWORD@127.0.0.1:"),
        ("https", Spoken::Https(tls), &*trusted, "407 Who is it?", "(407", "https://USER:PASSWORD@127.0.0.1:"),
        ("http", Spoken::Http, "", "403 Forbidden", "does not connect to the API server: it refuses", "permit CONNECT"),
        // It speaks in the clear.
        ("https", Spoken::Http, &*trusted, ESTABLISHED, "fails at TLS", "begin with `http://`"),
    ] {
        let through = TestProxy::start(spoken, answer).await;
        let dir = tempfile::tempdir().unwrap();
        let cluster = format!(", proxy-url: '{scheme}://joe:hunter2@{}'{trusted}", through.address);
        let target = write_kubeconfig(dir.path(), "https://127.0.0.1:1", &cluster, "{token: t0}");
        let cluster = Cluster::connect(&target).await.unwrap();
        for failure in [
            cluster.http.call(Call::get("/version", PROBE_TIMEOUT)).await.unwrap_err(),
            cluster.http.lines("/one?watch=true", PROBE_TIMEOUT).await.err().unwrap(),
        ] {
            assert_eq!(failure.kind(), EffectErrorKind::NotSent, "{failure:?}");
            assert!(failure.to_string().starts_with("cannot connect: the proxy"), "{failure}");
        }
        let error = cluster.probe().await.unwrap_err();
        let said = format!("{error} {error:?} {:?}", error.hints());
        let named = format!("the proxy {scheme}://{} (proxy-url)", through.address);
        assert!(said.contains(&named) && said.contains(says) && said.contains(hint), "{said}");
        assert!(!said.contains("hunter2") && !said.contains("aHVudGVy"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_says_nothing_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let target =
        write_kubeconfig(dir.path(), "127.0.0.1:1", &format!(", proxy-url: 'http://{address}'"), "{token: t0}");
    let error = Cluster::connect(&target).await.unwrap().probe().await.unwrap_err();
    let named = format!("the proxy http://{address} (proxy-url) cannot be reached: no connection within 9 s");
    assert!(error.to_string().contains(&named), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_cannot_be_used_is_said_without_its_password() {
    let dir = tempfile::tempdir().unwrap();
    let target =
        write_kubeconfig(dir.path(), "127.0.0.1:1", ", proxy-url: 'ftp://joe:hunter2@proxy.example'", "{token: t0}");
    let error = Cluster::connect(&target).await.unwrap_err();
    assert!(error.to_string().contains("`ftp`") && !format!("{error:?}").contains("hunter2"), "{error}");
    let refused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cluster = format!(", proxy-url: 'http://joe:hunter2@{refused}'");
    let target = write_kubeconfig(dir.path(), "127.0.0.1:1", &cluster, "{token: t0}");
    let error = Cluster::connect(&target).await.unwrap().probe().await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("the proxy http://{refused} (proxy-url) cannot be reached: Connection refused")),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}
