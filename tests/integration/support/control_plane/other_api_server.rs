//! A second API server of a control plane, with its own cache on the same etcd, as in a highly available control plane.

use std::net::TcpListener;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::{Component, ControlPlane, START_WITHIN};

/// The name of the second API server's command and log.
const NAME: &str = "other-kube-apiserver";

/// The second API server; it ends with its control plane.
#[derive(Debug)]
pub(crate) struct OtherApiServer {
    address: String,
    pid: Pid,
}

impl OtherApiServer {
    /// Starts the second API server, which reaches etcd at `etcd` (`127.0.0.1:2379`), and waits until it serves.
    pub(crate) fn start(plane: &ControlPlane, etcd: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let script = plane.directory().join(format!("{}.sh", Component::ApiServer.program()));
        let flags = |word: &str| match word.trim_matches(['\'', '\\', ' ']).split_once('=') {
            Some(("--secure-port", _)) => format!("'--secure-port={}' \\", free.port()),
            Some(("--etcd-servers", _)) => format!("'--etcd-servers=http://{etcd}' \\"),
            Some(("--cert-dir", there)) => format!("'--cert-dir={there}-other' \\"),
            _ => word.to_owned(),
        };
        let command: Vec<String> = std::fs::read_to_string(script).unwrap().lines().map(flags).collect();
        std::fs::write(plane.directory().join(format!("{NAME}.sh")), command.join("\n")).unwrap();
        let pid = plane.supervisor.start(NAME).expect("it starts");
        let ready = format!("https://{free}/readyz");
        let deadline = Instant::now() + START_WITHIN;
        while !plane.admin().try_get(&ready).is_ok_and(|answer| answer.status == 200) {
            assert!(Instant::now() < deadline, "the second API server does not come up: see {:?}", plane.directory());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Self { address: free.to_string(), pid }
    }

    /// The address of the second API server: `127.0.0.1:6443`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Freezes the second API server: connections stay open and nothing answers.
    pub(crate) fn pause(&self) {
        kill_process(self.pid, Signal::STOP).expect("it runs");
    }
}

impl ControlPlane {
    /// The address of etcd: `127.0.0.1:2379`.
    pub(crate) fn etcd(&self) -> String {
        let health = self.files.health(Component::Etcd);
        health.trim_start_matches("http://").trim_end_matches("/health").to_owned()
    }
}
