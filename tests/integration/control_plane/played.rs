//! A few nodes whose kubelets the test plays and may put to sleep, a DaemonSet on them, and an operator with the program itself.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::driving::Kubelet;
use super::fixture::{DS, grants};
use crate::support::control_plane::{Sandbox, daemon_set, eventually, sandbox};
use crate::support::program::{Driving, Operator, text};

const SOON: Duration = Duration::from_secs(120);
/// The image at first, and the one that is rolled out.
pub(super) const V1: &str = "registry.test/agent:v1";
pub(super) const V2: &str = "registry.test/agent:v2";

/// Nodes whose kubelets the test plays, and somebody who rolls out on them.
pub(super) struct PlayedNodes {
    pub(super) operator: Operator,
    pub(super) kubelet: Kubelet,
    pub(super) nodes: Vec<String>,
    pub(super) sandbox: Arc<Sandbox>,
}

impl PlayedNodes {
    pub(super) fn new(name: &str, count: usize) -> Option<Self> {
        let sandbox = Arc::new(sandbox(name)?);
        let nodes = sandbox.nodes(count);
        sandbox.create_daemon_set(daemon_set("agent", V1));
        let kubelet = Kubelet::run(&sandbox, count);
        let user = sandbox.user("alice", &grants(sandbox.namespace()));
        let operator = Operator::new(user.kubeconfig(), sandbox.namespace());
        let made = Self { operator, kubelet, nodes, sandbox };
        made.until("the agent runs everywhere", |made| made.kubelet.count(V1) == count);
        Some(made)
    }

    #[track_caller]
    pub(super) fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        self.until_within(what, SOON, holds);
    }

    pub(super) fn until_within(&self, what: &str, within: Duration, holds: impl Fn(&Self) -> bool) {
        eventually(what, within, || holds(self).then_some(()));
    }

    #[track_caller]
    pub(super) fn until_status(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        self.operator.until_status(DS, what, SOON, holds)
    }

    pub(super) fn delete_node(&self, node: &str) {
        self.sandbox.admin().delete(&format!("/api/v1/nodes/{node}")).ok();
    }

    pub(super) fn register(&self, node: &str) {
        self.sandbox.node(node, &json!({}));
    }

    /// Rolls the new image out to `count` nodes, and leaves the rollout without a driver.
    pub(super) fn roll_out_to(&self, count: &str) {
        self.operator.ok(&["set-image", DS, &format!("agent={V2}"), "--yes"]);
        self.operator.ok(&["drive", DS, "--to", count, "--until", "held", "--timeout", "120s"]);
    }

    /// Starts a driver that goes on beside the test.
    pub(super) fn drive(&self) -> Driving {
        let mut driver = self.operator.drive(DS, &[]);
        driver.until("you drive it now");
        driver
    }

    /// Changes the DaemonSet without rolldeck.
    pub(super) fn patch(&self, change: &Value) {
        self.sandbox.admin().patch(&self.sandbox.path("daemonsets.apps", "agent"), change).ok();
    }

    /// Changes a node.
    pub(super) fn patch_node(&self, node: &str, change: &Value) {
        self.sandbox.admin().patch(&format!("/api/v1/nodes/{node}"), change).ok();
    }

    /// Runs a command and returns its whole output, whatever its exit code.
    pub(super) fn said(&self, line: &[&str]) -> String {
        text(&self.operator.run(line))
    }
}

/// How many nodes are updated, and how many there are.
pub(super) fn counts(status: &Value) -> (u64, u64) {
    let count = |what: &str| status["counts"][what].as_u64().unwrap_or_else(|| panic!("no {what} in {status:#}"));
    (count("updated"), count("nodes"))
}
