//! A server for tests: it gives the scripted answer to each request and records the requests.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::clock::Clock;
use super::http::Http;

/// The answer to one request.
#[derive(Clone, Debug)]
pub(super) enum Says {
    /// An answer with this status.
    Json(u16, Value),
    /// Lines of a watch, then the end of it.
    Lines(Vec<Value>),
    /// Lines of a watch, which stays open.
    LinesAndMore(Vec<Value>),
    /// An answer whose first line never ends, for as long as it is read.
    Endless,
    /// Nothing: the connection is closed.
    HangsUp,
}

/// One request as it was received.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ScriptedRequest {
    /// `GET /api/v1/pods?limit=500`.
    pub(super) line: String,
    pub(super) content_type: String,
    pub(super) body: Value,
}

/// The server.
pub(super) struct ScriptedServer {
    pub(super) http: Http,
    requests: Arc<Mutex<Vec<ScriptedRequest>>>,
    _server: tokio::task::JoinSet<()>,
}

impl ScriptedServer {
    /// Answers each request with the next entry of `script`; after the last entry it gives no more answers.
    pub(super) async fn new(script: Vec<Says>) -> Self {
        let mut script = script.into_iter();
        Self::answering(move |_| script.next()).await
    }

    /// Answers each request as `answer` says; from its first `None` on it gives no more answers.
    pub(super) async fn answering(answer: impl FnMut(&str) -> Option<Says> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let mut config = kube::Config::new(uri);
        config.default_retry = false;
        let transport = super::transport::Transport::plain(config).unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut server = tokio::task::JoinSet::new();
        server.spawn(serve(listener, answer, requests.clone()));
        Self { http: Http::new(transport, Clock::start()), requests, _server: server }
    }

    pub(super) fn requests(&self) -> Vec<ScriptedRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// The request lines, without their random parts.
    pub(super) fn lines(&self) -> Vec<String> {
        let without_timeout = |line: &str| line.split("&timeoutSeconds=").next().unwrap_or_default().to_owned();
        self.requests().iter().map(|request| without_timeout(&request.line)).collect()
    }
}

/// `answer` is given the line of each request: `GET /api/v1/pods?limit=500`.
async fn serve(
    listener: TcpListener,
    mut answer: impl FnMut(&str) -> Option<Says>,
    requests: Arc<Mutex<Vec<ScriptedRequest>>>,
) {
    let mut open = Vec::new();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = read(&mut stream).await;
        let Some(says) = answer(&request.line) else {
            open.push(stream);
            break;
        };
        requests.lock().unwrap().push(request);
        let head =
            |status: u16, framing: &str| format!("HTTP/1.1 {status} X\r\nConnection: close\r\n{framing}\r\n\r\n");
        let chunk = |lines: &[Value]| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            format!("{:x}\r\n{text}\r\n", text.len())
        };
        let chunked = "Transfer-Encoding: chunked";
        let answer = match says {
            Says::Json(status, body) => {
                let body = body.to_string();
                head(status, &format!("Content-Length: {}", body.len())) + &body
            }
            Says::Lines(lines) => head(200, chunked) + &chunk(&lines) + "0\r\n\r\n",
            Says::LinesAndMore(lines) => {
                stream.write_all((head(200, chunked) + &chunk(&lines)).as_bytes()).await.unwrap();
                open.push(stream);
                continue;
            }
            Says::Endless => {
                let chunk = format!("100000\r\n{}\r\n", "x".repeat(0x10_0000));
                let mut writing = stream.write_all(head(200, chunked).as_bytes()).await;
                while writing.is_ok() {
                    writing = stream.write_all(chunk.as_bytes()).await;
                }
                continue;
            }
            Says::HangsUp => continue,
        };
        // A client that has read as much as it wants closes the connection, perhaps before all of the answer is written.
        let _ = stream.write_all(answer.as_bytes()).await;
    }
    std::future::pending::<()>().await;
}

async fn read(stream: &mut TcpStream) -> ScriptedRequest {
    let mut buffer = Vec::new();
    let head_end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        assert!(stream.read_buf(&mut buffer).await.unwrap() > 0, "the client hung up");
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
    };
    let length: usize = header("content-length").map_or(0, |length| length.parse().unwrap());
    while buffer.len() < head_end + length {
        assert!(stream.read_buf(&mut buffer).await.unwrap() > 0, "the client hung up");
    }
    ScriptedRequest {
        line: head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned(),
        content_type: header("content-type").unwrap_or_default(),
        body: serde_json::from_slice(&buffer[head_end..]).unwrap_or(Value::Null),
    }
}
