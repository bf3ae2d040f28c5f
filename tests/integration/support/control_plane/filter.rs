//! A reverse proxy before the API server that can hold back everything on a watch but its bookmarks: the connection stays open and looks alive.

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use futures::StreamExt;
use reqwest::Certificate;
use serde_json::json;
use tokio::runtime::Runtime;

use super::{ControlPlane, User};

/// The proxy; gone when dropped.
#[derive(Debug)]
pub(crate) struct WatchFilter {
    url: String,
    held: Arc<AtomicBool>,
    runtime: Option<Runtime>,
}

impl Drop for WatchFilter {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl WatchFilter {
    /// Starts a proxy on loopback. [`WatchFilter::hold`] affects the watches of `resource`, as it stands in paths.
    pub(crate) fn start(plane: &ControlPlane, resource: &'static str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = Certificate::from_pem(plane.authority().as_bytes()).expect("our own certificate");
        let http = reqwest::Client::builder().tls_certs_only([authority]).no_proxy().build().expect("an HTTP client");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind(("127.0.0.1", 0))).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let held = Arc::new(AtomicBool::new(false));
        let (server, hold) = (plane.url().to_owned(), Arc::clone(&held));
        let pass = move |request: Request| pass(http.clone(), server.clone(), resource, Arc::clone(&hold), request);
        let app = axum::Router::new().fallback(pass);
        runtime.spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Self { url, held, runtime: Some(runtime) }
    }

    /// Lets only bookmarks through from now on.
    pub(crate) fn hold(&self) {
        self.held.store(true, Ordering::Relaxed);
    }

    /// A kubeconfig of `user` that reaches the API server through the proxy.
    pub(crate) fn kubeconfig(&self, user: &User) -> PathBuf {
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": self.url}}],
            "users": [{"name": user.name(), "user": {"token": user.token()}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user.name()}}],
            "current-context": "test",
        });
        let path = user.kubeconfig().with_extension("filtered");
        std::fs::write(&path, kubeconfig.to_string()).expect("a kubeconfig should be written");
        path
    }
}

/// Passes a request on, and its answer back as it comes.
async fn pass(
    http: reqwest::Client,
    server: String,
    resource: &'static str,
    held: Arc<AtomicBool>,
    request: Request,
) -> Result<Response, Infallible> {
    let (parts, body) = request.into_parts();
    let filtered = parts.uri.path().ends_with(resource)
        && parts.uri.query().is_some_and(|it| it.contains("watch=1") || it.contains("watch=true"));
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let mut headers = parts.headers;
    // The proxy tells the lines apart, so they may not be compressed.
    for header in ["host", "content-length", "accept-encoding", "connection"] {
        headers.remove(header);
    }
    let sent = http.request(parts.method, format!("{server}{}", parts.uri)).headers(headers).body(body).send().await;
    let answer = match sent {
        Ok(answer) => answer,
        Err(error) => {
            return Ok(Response::builder().status(502).body(Body::from(error.to_string())).expect("a response"));
        }
    };
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer.headers().iter().filter(|(name, _)| *name != "transfer-encoding") {
        response = response.header(name, value);
    }
    let chunks = answer.bytes_stream().map(|chunk| chunk.map_err(io::Error::other));
    let body = if filtered {
        let mut line = Vec::new();
        Body::from_stream(chunks.map(move |chunk| {
            let chunk = chunk?;
            let mut out = Vec::new();
            for byte in chunk {
                line.push(byte);
                if byte == b'\n' {
                    let line = std::mem::take(&mut line);
                    let bookmark = line.windows(10).any(|words| words == b"\"BOOKMARK\"");
                    if bookmark || !held.load(Ordering::Relaxed) {
                        out.extend(line);
                    }
                }
            }
            io::Result::Ok(bytes::Bytes::from(out))
        }))
    } else {
        Body::from_stream(chunks)
    };
    Ok(response.body(body).expect("a response"))
}
