//! Plain HTTP to the API server, from tests that are not asynchronous.
//!
//! kubectl takes 100 ms a call, and a test that plays kubelet for 20 nodes makes hundreds of calls. The requests run on a runtime of their own, so
//! that asynchronous tests may wait for them as well.

use std::sync::mpsc;
use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Certificate, Method};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::files::Files;

/// The time limit of a request: a paused API server accepts connections and never answers.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An answer of the API server.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The object, list or `Status`; a string where the body is not JSON.
    pub(crate) body: Value,
}

impl Answer {
    /// The body, if the request succeeded; panics otherwise.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "the API server answered {}: {}", self.status, self.body);
        self.body
    }

    /// The items of a list, if the request succeeded; panics otherwise.
    #[track_caller]
    pub(crate) fn items(self) -> Vec<Value> {
        match self.ok()["items"].take() {
            Value::Array(items) => items,
            other => panic!("not a list: {other}"),
        }
    }
}

/// A connection pool, shared by all users of a control plane.
#[derive(Debug)]
pub(super) struct Client {
    url: String,
    http: reqwest::Client,
    runtime: Option<Runtime>,
}

impl Client {
    pub(super) fn new(files: &Files) -> Self {
        // Another test of the process may have installed the provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = Certificate::from_pem(files.authority().as_bytes()).expect("our own certificate");
        let http = reqwest::Client::builder()
            .tls_certs_only([authority])
            .no_proxy()
            .timeout(TIMEOUT)
            .build()
            .expect("an HTTP client");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Self { url: files.url().to_owned(), http, runtime: Some(runtime.expect("a runtime")) }
    }

    /// Sends a request to a path on the API server or to a whole URL. A `PATCH` is a JSON merge patch.
    pub(super) fn request(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> Result<Answer, reqwest::Error> {
        let content = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        self.request_as(content, method, path, token, body)
    }

    /// Sends a request whose body has the media type `content`.
    pub(super) fn request_as(
        &self,
        content: &str,
        method: Method,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> Result<Answer, reqwest::Error> {
        let url = if path.starts_with('/') { format!("{}{path}", self.url) } else { path.to_owned() };
        let mut request = self.http.request(method, url).bearer_auth(token);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, content).body(body.to_string());
        }
        let (answered, answer) = mpsc::sync_channel(1);
        let runtime = self.runtime.as_ref().expect("a runtime until it is dropped");
        runtime.spawn(async move {
            let _ = answered.send(send(request).await);
        });
        answer.recv().expect("an answer or an error")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Dropping a runtime waits for its tasks, which is not allowed in an asynchronous test.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn send(request: reqwest::RequestBuilder) -> Result<Answer, reqwest::Error> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let text = response.text().await?;
    Ok(Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) })
}
