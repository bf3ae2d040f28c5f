//! TLS before servers without TLS, and an HTTPS proxy with a user and a password.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use rcgen::CertifiedKey;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A server, and its certificate in PEM.
#[derive(Clone, Debug)]
pub(crate) struct TlsEntry {
    pub(crate) address: SocketAddr,
    pub(crate) certificate: String,
}

impl TlsEntry {
    /// The certificate, for `certificate-authority-data`.
    pub(crate) fn authority(&self) -> String {
        base64::engine::general_purpose::STANDARD.encode(&self.certificate)
    }

    /// The certificate in a file.
    pub(crate) fn file(&self, directory: &Path) -> PathBuf {
        let path = directory.join(format!("{}.pem", self.address.port()));
        std::fs::write(&path, &self.certificate).unwrap();
        path
    }
}

/// A TLS server called `name` that passes the content of its connections on to `to`; it ends with the runtime.
pub(crate) async fn tls_before(to: SocketAddr, name: &str) -> TlsEntry {
    let (listener, acceptor, entry) = listen(name).await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut near) = acceptor.accept(stream).await else { return };
                let Ok(mut far) = TcpStream::connect(to).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    entry
}

/// An HTTPS proxy that connects to `to`, whichever host is requested, if the request carries `login` in base64 as `Basic` authorization. Also returns
/// the first line of each request.
pub(crate) async fn https_proxy(to: SocketAddr, login: &str) -> (TlsEntry, Arc<Mutex<Vec<String>>>) {
    let (listener, acceptor, entry) = listen("127.0.0.1").await;
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let expected =
        format!("Proxy-Authorization: Basic {}\r\n", base64::engine::general_purpose::STANDARD.encode(login));
    let seen = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, expected, seen) = (acceptor.clone(), expected.clone(), seen.clone());
            tokio::spawn(async move {
                let Ok(mut near) = acceptor.accept(stream).await else { return };
                let (mut head, mut byte) = (Vec::new(), [0; 1]);
                while !head.ends_with(b"\r\n\r\n") && near.read(&mut byte).await.unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                seen.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
                if !head.contains(&expected) {
                    let _ = near.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await;
                    return;
                }
                let Ok(mut far) = TcpStream::connect(to).await else { return };
                let _ = near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await;
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (entry, asked)
}

async fn listen(name: &str) -> (TcpListener, TlsAcceptor, TlsEntry) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).unwrap();
    (listener, TlsAcceptor::from(Arc::new(config)), TlsEntry { address, certificate: cert.pem() })
}
