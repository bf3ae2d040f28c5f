//! Containers that crash after they were ready, and are started again.

use std::time::Duration;

use super::FakeCluster;
use crate::engine::model::Str;
use crate::engine::model::facts::{ContainerState, PodFact};

impl FakeCluster {
    /// The container of this node's pod ends, and waits to be started again.
    pub(crate) fn crash(&mut self, node: &str) {
        let now = self.now;
        self.change_pod(node, |pod| {
            let container = &mut pod.containers[0];
            (container.ready, container.last_end, container.last_exit) = (false, Some("Error".into()), Some(1));
            container.state = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: None };
            (pod.ready, pod.ready_since) = (false, Some(now));
        });
    }

    /// It is started again, and ready at once.
    pub(crate) fn restart(&mut self, node: &str) {
        let now = self.now;
        self.change_pod(node, |pod| {
            let container = &mut pod.containers[0];
            (container.ready, container.restarts) = (true, container.restarts + 1);
            container.state = ContainerState::Running { since: Some(now) };
            (pod.ready, pod.ready_since) = (true, Some(now));
        });
    }

    /// Crashes each pod of this revision that has been ready for five seconds.
    pub(crate) fn crash_all(&mut self, revision: &str) {
        self.nodes_where(revision, true, 5).iter().for_each(|node| self.crash(node));
    }

    /// Starts each pod of this revision again that has not been ready for eight seconds, and crashes as [`Self::crash_all`] does.
    pub(crate) fn crash_and_restart_all(&mut self, revision: &str) {
        let waiting = self.nodes_where(revision, false, 8);
        self.crash_all(revision);
        waiting.iter().for_each(|node| self.restart(node));
    }

    /// The nodes whose pod of this revision has been ready, or not ready, for so many seconds.
    fn nodes_where(&self, revision: &str, is_ready: bool, secs: u64) -> Vec<Str> {
        let lasts = |at| self.now.since(at) >= Duration::from_secs(secs);
        let fits = |pod: &&PodFact| {
            let is_of_it = pod.revision.as_deref() == Some(revision) && pod.deletion_at.is_none();
            is_of_it && pod.ready == is_ready && pod.ready_since.is_some_and(lasts)
        };
        self.pods.values().filter(fits).filter_map(|pod| pod.node.clone()).collect()
    }
}
