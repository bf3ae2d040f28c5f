//! An API server that lets everybody read and refuses every write, with a message of the test's choice.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::line::server_of;

/// A proxy before a real API server; its thread ends with the process.
#[derive(Debug)]
pub(crate) struct RefusingServer {
    address: SocketAddr,
    directory: TempDir,
}

impl RefusingServer {
    /// Passes requests on to the server of `kubeconfig`, except writes.
    pub(crate) fn before(kubeconfig: &Path, message: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (server, message) = (server_of(kubeconfig), message.to_owned());
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let (server, message) = (server.clone(), message.clone());
                // A client may go away in the middle of an answer; the error is ignored.
                std::thread::spawn(move || serve(&near, &server, &message).unwrap_or_default());
            }
        });
        Self { address, directory: TempDir::new().unwrap() }
    }

    /// A copy of `kubeconfig` with this server, whose only context is called `context`.
    pub(crate) fn kubeconfig(&self, kubeconfig: &Path, context: &str) -> PathBuf {
        let mut config: Value = serde_saphyr::from_str(&std::fs::read_to_string(kubeconfig).unwrap()).unwrap();
        config["clusters"][0]["cluster"]["server"] = format!("http://{}", self.address).into();
        config["contexts"][0]["name"] = context.into();
        config["current-context"] = context.into();
        let path = self.directory.path().join("kubeconfig");
        // YAML takes some characters only as escapes.
        let escaped = |c: char| match u32::from(c) {
            0x20..0x7f => c.to_string(),
            code => format!("\\U{code:08x}"),
        };
        std::fs::write(&path, config.to_string().chars().map(escaped).collect::<String>()).unwrap();
        path
    }
}

/// Answers one request; the connection then ends.
fn serve(near: &TcpStream, server: &str, message: &str) -> std::io::Result<()> {
    let mut request = BufReader::new(near.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        request.read_line(&mut line)?;
        let name = line.to_ascii_lowercase();
        if let Some(value) = name.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
        if !name.starts_with("connection:") {
            head.push_str(&line);
        }
    }
    let mut body = vec![0; length];
    request.read_exact(&mut body)?;
    // A review of rights is posted, but writes nothing.
    let reads = head.starts_with("GET ") || head.contains("selfsubject");
    if reads {
        let mut far = TcpStream::connect(server)?;
        write!(far, "{head}Connection: close\r\n\r\n")?;
        far.write_all(&body)?;
        std::io::copy(&mut far, &mut &*near)?;
        return Ok(());
    }
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": message});
    let body = status.to_string();
    write!(
        &mut &*near,
        "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
