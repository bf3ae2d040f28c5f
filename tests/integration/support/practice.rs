//! A practice cluster that is served by another process, for tests of the program itself.

use std::io::{Read, Write};
use std::ops::Deref;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::program::Operator;

/// Far longer than any wait here takes, also on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(120);

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
        let body = r#"{"spec":{"updateStrategy":{"type":"RollingUpdate"}}}"#;
        self.request(
            "PATCH /apis/apps/v1/namespaces/edge/daemonsets/agent?fieldManager=argocd-controller",
            &format!("Content-Type: application/merge-patch+json\r\nContent-Length: {}\r\n", body.len()),
            body,
        );
    }

    /// Writes `to` where the record of the rollout has `from`, as a colleague's tool might that lets every character through.
    pub(crate) fn rewrite_record(&self, from: &str, to: &str) {
        let leases = self.leases();
        let (begin, end) = (leases.find("{").unwrap(), leases.rfind("}").unwrap());
        let leases: serde_json::Value = serde_json::from_str(&leases[begin..=end]).unwrap();
        let lease = &leases["items"][0]["metadata"];
        let record = lease["annotations"]["rolldeck.io/rollout"].as_str().unwrap();
        let to = serde_json::to_string(to).unwrap();
        let rewritten = record.replace(&format!("\"{from}\""), &to);
        assert_ne!(rewritten, record, "no `{from}` in it");
        let body = serde_json::json!({"metadata": {"annotations": {"rolldeck.io/rollout": rewritten}}}).to_string();
        self.request(
            "PATCH /apis/coordination.k8s.io/v1/namespaces/edge/leases/rolldeck-agent",
            &format!("Content-Type: application/merge-patch+json\r\nContent-Length: {}\r\n", body.len()),
            &body,
        );
    }

    /// Writes an Event about the DaemonSet with this message and identity, as another rolldeck would. The Event has no `eventTime`, so the API server
    /// limits the length of neither.
    pub(crate) fn write_event(&self, nth: u32, identity: &str, message: &str) {
        let daemonset = self.request("GET /apis/apps/v1/namespaces/edge/daemonsets/agent", "", "");
        let (_, daemonset) = daemonset.split_once("\"uid\":\"").unwrap();
        let uid = daemonset.split('"').next().unwrap();
        let event = serde_json::json!({
            "metadata": {"name": format!("agent.flood-{nth}"), "namespace": "edge"},
            "involvedObject": {"kind": "DaemonSet", "namespace": "edge", "name": "agent", "uid": uid, "apiVersion": "apps/v1"},
            "source": {"component": "rolldeck"}, "reportingInstance": identity, "reason": "RolloutPaused", "type": "Normal",
            "message": message, "firstTimestamp": "2026-11-20T08:00:00Z", "lastTimestamp": "2026-11-20T08:00:00Z", "count": 1,
        });
        let event = event.to_string();
        let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", event.len());
        self.request("POST /api/v1/namespaces/edge/events", &headers, &event);
    }

    /// The names of the pods that were made for pre-warming.
    pub(crate) fn warm_pods(&self) -> Vec<String> {
        let answer = self.request("GET /api/v1/namespaces/edge/pods?labelSelector=rolldeck.io/prewarm", "", "");
        let named = answer.split("\"name\":\"").skip(1).filter_map(|rest| rest.split('"').next());
        named.filter(|name| name.contains("-prewarm-")).map(str::to_owned).collect()
    }

    /// The StatefulSets of the namespace, as the API server answers them.
    pub(crate) fn stateful_sets(&self) -> String {
        self.request("GET /apis/apps/v1/namespaces/edge/statefulsets", "", "")
    }

    /// The leases of the namespace, as the API server answers them.
    pub(crate) fn leases(&self) -> String {
        self.request("GET /apis/coordination.k8s.io/v1/namespaces/edge/leases", "", "")
    }

    /// Sends a request that must succeed, and returns the whole answer.
    fn request(&self, what: &str, headers: &str, body: &str) -> String {
        let config = std::fs::read_to_string(self.kubeconfig()).unwrap();
        let (_, server) = config.split_once("http://").unwrap();
        let server = server.split_whitespace().next().unwrap().trim_matches('"');
        let mut stream = std::net::TcpStream::connect(server).unwrap();
        write!(stream, "{what} HTTP/1.1\r\nHost: {server}\r\n{headers}Connection: close\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 201"), "{answer}");
        answer
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
