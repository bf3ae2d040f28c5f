//! A practice cluster that is served by another process, for tests of the program itself.

use std::io::{Read, Write};
use std::ops::Deref;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::program::Operator;

/// Far longer than anything here takes, for a machine that is busy with other things.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A practice cluster of 20 nodes, served by a process of its own, and an operator who uses it.
#[derive(Debug)]
pub(crate) struct Practice {
    server: Child,
    operator: Operator,
}

impl Deref for Practice {
    type Target = Operator;

    fn deref(&self) -> &Operator {
        &self.operator
    }
}

impl Practice {
    /// Argo CD sets the update strategy back.
    pub(crate) fn set_strategy_back(&self) {
        let config = std::fs::read_to_string(self.kubeconfig()).unwrap();
        let (_, server) = config.split_once("http://").unwrap();
        let server = server.split_whitespace().next().unwrap().trim_matches('"');
        let body = r#"{"spec":{"updateStrategy":{"type":"RollingUpdate"}}}"#;
        let mut stream = std::net::TcpStream::connect(server).unwrap();
        let length = body.len();
        write!(
            stream,
            "PATCH /apis/apps/v1/namespaces/edge/daemonsets/agent?fieldManager=argocd-controller HTTP/1.1\r\n\
             Host: {server}\r\nContent-Type: application/merge-patch+json\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    pub(crate) fn start() -> Self {
        let mut operator = Operator::new("", "edge");
        let kubeconfig = operator.home().join("kubeconfig");
        let file = kubeconfig.to_str().unwrap().to_owned();
        let serve = ["demo", "small", "--serve", "--seed", "7", "--write-kubeconfig", &file];
        let server = operator.command(&serve).stdout(Stdio::null()).spawn().unwrap();
        let patience = Instant::now() + SOON;
        while !kubeconfig.exists() {
            assert!(Instant::now() < patience, "the practice cluster did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        operator.use_kubeconfig(kubeconfig);
        Self { server, operator }
    }
}

impl Drop for Practice {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
