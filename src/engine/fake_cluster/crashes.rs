//! Containers that crash after they were ready, and are started again.

use std::time::Duration;

use super::FakeCluster;
use crate::engine::model::Str;
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact, PodPhase};
use crate::engine::model::template::ContainerRole;

impl FakeCluster {
    /// The first main container of this node's pod ends, and waits to be started again.
    pub(crate) fn crash(&mut self, node: &str) {
        let now = self.now;
        self.change_pod(node, |pod| {
            let container = main_container(pod);
            (container.ready, container.last_end, container.last_exit) = (false, Some("Error".into()), Some(1));
            container.state = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: None };
            (pod.ready, pod.ready_since) = (false, Some(now));
        });
    }

    /// It is started again, and ready at once.
    pub(crate) fn restart(&mut self, node: &str) {
        let now = self.now;
        self.change_pod(node, |pod| {
            let container = main_container(pod);
            (container.ready, container.restarts) = (true, container.restarts + 1);
            container.state = ContainerState::Running { since: Some(now) };
            (pod.ready, pod.ready_since) = (true, Some(now));
        });
    }

    /// Its pods have an init container and two main ones.
    pub(crate) fn give_three_containers(&mut self, node: &str) {
        self.change_pod(node, |pod| {
            let main = pod.containers[0].clone();
            let sidecar = ContainerFact { name: "sidecar".into(), ..main.clone() };
            let ended = ContainerState::Terminated { reason: "Completed".into(), exit_code: 0, message: None };
            let setup = ContainerFact {
                name: "setup".into(),
                role: ContainerRole::Init,
                state: ended,
                ready: true,
                ..main.clone()
            };
            pod.containers = vec![setup, main, sidecar];
        });
    }

    /// The machine of this node is switched off, and is up again: its kubelet finds the containers of the pod gone, and runs them anew in a new sandbox. Each
    /// step comes as news of its own, two seconds apart where a console looks. Its containers had run for `ran`.
    pub(crate) fn power_cycle(&mut self, node: &str, ran: Duration, mut look: impl FnMut(&mut Self)) {
        let now = self.now;
        let lost = || ContainerState::Terminated { reason: "Unknown".into(), exit_code: 255, message: None };
        self.change_pod(node, |pod| {
            for container in pod.containers.iter_mut().filter(|container| container.role.keeps_running()) {
                (container.ready, container.started, container.state) = (false, false, lost());
            }
            (pod.ready, pod.ready_since) = (false, Some(now));
        });
        look(self);
        let count = self.pods.values().find(|pod| pod.node.as_deref() == Some(node)).unwrap().containers.len();
        for nth in 0..count {
            let now = self.now;
            self.change_pod(node, |pod| {
                let container = &mut pod.containers[nth];
                container.restarts += 1;
                container.ready = true;
                if !container.role.keeps_running() {
                    (container.last_end, container.last_exit) = (Some("Completed".into()), Some(0));
                } else {
                    (container.last_end, container.last_exit) = (Some("Unknown".into()), Some(255));
                    container.last_ran_secs = Some(u32::try_from(ran.as_secs()).unwrap());
                    container.state = ContainerState::Running { since: Some(now) };
                    container.started = true;
                }
                if nth + 1 == count {
                    (pod.ready, pod.ready_since) = (true, Some(now));
                }
            });
            look(self);
        }
    }

    /// The kubelet of this node evicts its pod, or does not admit it: the pod fails, with this message. Its containers, if it has any, have ended.
    pub(crate) fn evict(&mut self, node: &str, message: &str) {
        self.change_pod(node, |pod| {
            (pod.phase, pod.ready) = (PodPhase::Failed, false);
            (pod.reason, pod.message) = (Some("Evicted".into()), Some(message.into()));
            for container in &mut pod.containers {
                let state = ContainerState::Terminated { reason: "Error".into(), exit_code: 137, message: None };
                (container.ready, container.state) = (false, state);
            }
        });
    }

    /// The DaemonSet's controller deletes the pods that failed, which are seen to be going, and makes others.
    pub(crate) fn replace_failed(&mut self) {
        let failed = self.pods.values().filter(|pod| pod.phase == PodPhase::Failed);
        let nodes: Vec<Str> = failed.filter_map(|pod| pod.node.clone()).collect();
        for node in nodes {
            let now = self.now;
            self.change_pod(&node, |pod| (pod.deletion_at, pod.deletion_grace_secs) = (Some(now), Some(0)));
            self.remove_pod(&node);
        }
        self.kubelets();
    }

    /// The nodes whose pod of this revision has been ready for so many seconds.
    pub(crate) fn nodes_that_serve(&self, revision: &str, secs: u64) -> Vec<Str> {
        self.nodes_where(revision, true, secs)
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

fn main_container(pod: &mut PodFact) -> &mut ContainerFact {
    pod.containers.iter_mut().find(|container| container.role == ContainerRole::Main).unwrap()
}
