//! A kubelet's server for API servers: it serves the logs of containers over TLS.
//!
//! An API server passes `pods/log` on to the address that the node's status names. API servers do not check this server's certificate, unless they
//! are started with `--kubelet-certificate-authority`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::CertifiedKey;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The server's answer to a request for a container's log.
#[derive(Clone, Debug)]
pub(crate) enum KubeletLog {
    /// The lines, and then the end of the log.
    Ended(Vec<String>),
    /// The lines; then the log stays open and silent.
    Running(Vec<String>),
    /// The same, after this many bytes of lines, which are sent as fast as the client takes them.
    Flood(u64, Vec<String>),
    /// A refusal in these words, with HTTP status 400.
    Refused(String),
}

/// A kubelet's server.
pub(crate) struct KubeletServer {
    pub(crate) port: u16,
    /// The logs by `POD/CONTAINER`, with `?previous` for the previous run.
    logs: Arc<Mutex<BTreeMap<String, KubeletLog>>>,
    requests: Arc<Mutex<Vec<String>>>,
    sent: Arc<AtomicU64>,
    _server: tokio::task::JoinSet<()>,
}

impl KubeletServer {
    pub(crate) async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(vec!["kubelet".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let config = rustls::ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![cert.der().clone()], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (logs, requests) = (Arc::<Mutex<BTreeMap<_, _>>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let sent = Arc::<AtomicU64>::default();
        let mut server = tokio::task::JoinSet::new();
        let (served, heard, count) = (logs.clone(), requests.clone(), sent.clone());
        server.spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, logs, requests, sent) = (acceptor.clone(), served.clone(), heard.clone(), count.clone());
                open.spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        let _ = answer(stream, &logs, &requests, &sent).await;
                    }
                });
            }
        });
        Self { port, logs, requests, sent, _server: server }
    }

    /// Sets the log of `POD/CONTAINER` from now on; with `?previous`, the log of the previous run.
    pub(crate) fn write(&self, container: &str, log: KubeletLog) {
        self.logs.lock().unwrap().insert(container.to_owned(), log);
    }

    /// The paths that were requested, with their queries.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// How many bytes of a flood were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }
}

async fn answer<S: tokio::io::AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    logs: &Mutex<BTreeMap<String, KubeletLog>>,
    requests: &Mutex<Vec<String>>,
    sent: &AtomicU64,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    requests.lock().unwrap().push(path.clone());
    // /containerLogs/NAMESPACE/POD/CONTAINER?…
    let (names, query) = path.split_once('?').unwrap_or((&path, ""));
    let names: Vec<&str> = names.split('/').skip(3).collect();
    let previous = if query.contains("previous=true") { "?previous" } else { "" };
    let log = logs.lock().unwrap().get(&format!("{}{previous}", names.join("/"))).cloned();
    let (status, flood, lines, stays) = match log {
        Some(KubeletLog::Ended(lines)) => ("200 OK", 0, lines, false),
        Some(KubeletLog::Running(lines)) => ("200 OK", 0, lines, query.contains("follow=true")),
        Some(KubeletLog::Flood(bytes, lines)) => ("200 OK", bytes, lines, query.contains("follow=true")),
        Some(KubeletLog::Refused(why)) => ("400 Bad Request", 0, vec![why], false),
        None => ("404 Not Found", 0, vec![format!("no log of {}", names.join("/"))], false),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let line = format!("2026-11-23T07:00:00.000000001Z {}\n", "flood ".repeat(30));
    let piece = line.repeat(64 * 1024 / line.len());
    let mut left = flood;
    while left > 0 {
        chunk(&mut stream, piece.as_bytes()).await?;
        left = left.saturating_sub(piece.len() as u64);
        sent.fetch_add(piece.len() as u64, Ordering::SeqCst);
    }
    for line in lines {
        chunk(&mut stream, format!("{line}\n").as_bytes()).await?;
    }
    stream.flush().await?;
    if stays {
        // The connection stays open until the API server closes it.
        let _ = stream.read_u8().await;
    }
    stream.write_all(b"0\r\n\r\n").await?;
    stream.shutdown().await
}

async fn chunk<S: AsyncWrite + Unpin>(stream: &mut S, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
    stream.write_all(bytes).await?;
    stream.write_all(b"\r\n").await
}
