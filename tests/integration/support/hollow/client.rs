//! Plain HTTP to one API server: a request with its result, or a stream of lines.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Certificate, Method, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ApiEndpoint, HollowError};

/// The time limit of a request; watches have limits of their own.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A connection may be silent for this long. Bookmarks come every minute.
const SILENCE: Duration = Duration::from_secs(100);
/// The longest wait that a server may ask for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    /// No answer, 429 or 5xx: the request may succeed later, but not before `after`.
    #[error("{why}")]
    Later { after: Option<Duration>, why: String },
    /// 404: the object does not exist.
    #[error("not found")]
    NotFound,
    /// 409: the object exists already, has changed, or is not the one that is meant.
    #[error("conflict")]
    Conflict,
    /// 410: the version is too old for a watch, or for going on with a list.
    #[error("expired")]
    Expired,
    /// Any other answer: the request will not succeed later either.
    #[error("{code} {message}")]
    Refused { code: StatusCode, message: String },
}

/// The kind of a write's body.
#[derive(Clone, Copy, Debug)]
pub(super) enum BodyKind {
    /// An object to be created.
    Create,
    /// A JSON merge patch.
    Merge,
    /// A strategic merge patch.
    Strategic,
    /// Options of a delete.
    Delete,
}

/// A client of one API server.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
}

impl Client {
    pub(super) fn new(target: &ApiEndpoint) -> Result<Self, HollowError> {
        let url = target.url.trim_end_matches('/').to_owned();
        let failed = |source| HollowError::Client { url: url.clone(), source };
        // Another test of the process may have installed a provider; any will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder().no_proxy().tcp_nodelay(true).read_timeout(SILENCE);
        if let Some(authority) = &target.authority {
            let certificates = Certificate::from_pem_bundle(authority.as_bytes()).map_err(failed)?;
            builder = builder.tls_certs_only(certificates);
        }
        let http = builder.build().map_err(failed)?;
        Ok(Self { http, url, token: target.token.clone() })
    }

    /// Reads `path`, which may have a query.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let answer = self.request(Method::GET, path, None).await?;
        serde_json::from_slice(&answer).map_err(|error| unreadable(path, &error))
    }

    /// Writes `body` to `path` and returns the answer.
    pub(super) async fn write(&self, write: BodyKind, path: &str, body: &Value) -> Result<Bytes, ClientError> {
        let (method, content) = match write {
            BodyKind::Create => (Method::POST, "application/json"),
            BodyKind::Merge => (Method::PATCH, "application/merge-patch+json"),
            BodyKind::Strategic => (Method::PATCH, "application/strategic-merge-patch+json"),
            BodyKind::Delete => (Method::DELETE, "application/json"),
        };
        self.request(method, path, Some((content, body))).await
    }

    /// Opens a stream of lines, such as a watch.
    pub(super) async fn lines(&self, path: &str) -> Result<ResponseLines, ClientError> {
        let opening = self.builder(Method::GET, path).send();
        let response = tokio::time::timeout(TIMEOUT, opening).await.map_err(|_late| later(path, "no answer"))?;
        let response = judged(path, response.map_err(|error| later(path, &error))?).await?;
        Ok(ResponseLines { response, buffer: BytesMut::new() })
    }

    async fn request(&self, method: Method, path: &str, body: Option<(&str, &Value)>) -> Result<Bytes, ClientError> {
        let mut request = self.builder(method, path).timeout(TIMEOUT);
        if let Some((content, body)) = body {
            request = request.header(CONTENT_TYPE, content).body(body.to_string());
        }
        let response = request.send().await.map_err(|error| later(path, &error))?;
        judged(path, response).await?.bytes().await.map_err(|error| later(path, &error))
    }

    fn builder(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        if self.token.is_empty() { request } else { request.bearer_auth(&self.token) }
    }
}

/// Lines as they come.
#[derive(Debug)]
pub(super) struct ResponseLines {
    response: Response,
    buffer: BytesMut,
}

impl ResponseLines {
    /// The next line, without its end; `None` when the server has closed the stream.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        let mut searched = 0;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                let line = self.buffer.split_to(searched + found).freeze();
                self.buffer.advance(1);
                return Ok(Some(line));
            }
            searched = self.buffer.len();
            match self.response.chunk().await.map_err(|error| later("a watch", &error))? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }
}

fn later(path: &str, why: &(impl std::fmt::Display + ?Sized)) -> ClientError {
    ClientError::Later { after: None, why: format!("{path}: {why}") }
}

pub(super) fn unreadable(path: &str, error: &serde_json::Error) -> ClientError {
    ClientError::Later { after: None, why: format!("{path}: the answer cannot be read: {error}") }
}

async fn judged(path: &str, response: Response) -> Result<Response, ClientError> {
    let code = response.status();
    if code.is_success() {
        return Ok(response);
    }
    let after = response.headers().get(RETRY_AFTER).and_then(|secs| secs.to_str().ok()?.parse().ok());
    let after = after.map(|secs| Duration::from_secs(secs).min(PATIENCE));
    // A `Status` has a message; a proxy answers with a text of its own.
    let text = response.text().await.unwrap_or_default();
    let message = match serde_json::from_str::<Value>(&text) {
        Ok(status) => status["message"].as_str().unwrap_or(&text).to_owned(),
        Err(_not_json) => text,
    };
    Err(match code {
        StatusCode::NOT_FOUND => ClientError::NotFound,
        StatusCode::CONFLICT => ClientError::Conflict,
        StatusCode::GONE => ClientError::Expired,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            ClientError::Later { after, why: format!("{path}: {code}") }
        }
        _ if code.is_server_error() => ClientError::Later { after, why: format!("{path}: {code}: {message}") },
        _ => ClientError::Refused { code, message },
    })
}
