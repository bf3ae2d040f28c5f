//! The DaemonSets whose images are being pulled, counted from their starting pods.

use std::collections::{HashMap, HashSet};

use super::super::handle::FleetPulls;
use super::listed::Listed;
use crate::engine::model::Str;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::starting_pod::{StartingPodFact, StartingPodState};
use crate::engine::rules::starting_pod::starting_pod_state;

/// The starting pods of a fleet, by their uids: the DaemonSet's uid and the pod's progress.
#[derive(Default, Debug)]
pub(super) struct StartingPods {
    pub(super) health: WatchHealth,
    pub(super) pods: Listed<Str, (Str, StartingPodState)>,
    /// The uids of pods for which a pull has begun, also of pods that were not yet known to start at that time.
    pulls_begun: HashSet<Str>,
}

/// For how many pods the beginning of a pull is remembered.
const PULLS_BEGUN: usize = 5_000;

impl StartingPods {
    /// Stores the present state of a pod.
    pub(super) fn insert(&mut self, pod: StartingPodFact) {
        let state = starting_pod_state(&pod);
        self.pods.insert(pod.uid, (pod.daemonset, state));
    }

    /// A pod has started or is gone.
    pub(super) fn remove(&mut self, uid: &str) {
        self.pods.remove(uid);
        self.pulls_begun.remove(uid);
    }

    /// A pull has begun for a pod.
    pub(super) fn pull_begins(&mut self, uid: Str) {
        if self.pulls_begun.len() >= PULLS_BEGUN {
            let pods = &self.pods;
            self.pulls_begun.retain(|uid| pods.get(uid).is_some());
        }
        if self.pulls_begun.len() < PULLS_BEGUN {
            self.pulls_begun.insert(uid);
        }
    }

    /// The counts by the DaemonSet's uid; `None` while the pods are not known.
    pub(super) fn counts(&self) -> Option<HashMap<&str, FleetPulls>> {
        if self.health != WatchHealth::Live {
            return None;
        }
        let mut counts: HashMap<&str, FleetPulls> = HashMap::new();
        for (uid, (daemonset, state)) in self.pods.iter() {
            let of_it = counts.entry(&**daemonset).or_default();
            match state {
                StartingPodState::PullFailed => of_it.failed += 1,
                StartingPodState::Pulling => of_it.pulling += 1,
                StartingPodState::PullingOrPreparing if self.pulls_begun.contains(uid) => of_it.pulling += 1,
                StartingPodState::PullingOrPreparing => of_it.starting += 1,
                StartingPodState::Preparing => {}
            }
        }
        Some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::facts::{ContainerFact, ContainerState};

    fn pod(uid: &str, reason: &str, sandbox_ready: Option<bool>) -> StartingPodFact {
        let container = ContainerFact::in_state(ContainerState::Waiting { reason: reason.into(), message: None });
        StartingPodFact { uid: uid.into(), daemonset: "agent".into(), sandbox_ready, containers: vec![container] }
    }

    fn words(pods: &StartingPods) -> Option<String> {
        Some(pods.counts()?.get("agent").copied().unwrap_or_default().to_string())
    }

    #[test]
    fn an_event_tells_a_pull_where_the_kubelet_reports_no_sandbox_before_it() {
        let mut pods = StartingPods::default();
        assert_eq!(words(&pods), None, "not listed yet");
        pods.health = WatchHealth::Live;
        assert_eq!(words(&pods).as_deref(), Some(""));
        pods.pull_begins("b".into());
        for (uid, sandbox_ready) in [("a", None), ("b", None), ("c", Some(false)), ("d", Some(true))] {
            pods.insert(pod(uid, "ContainerCreating", sandbox_ready));
        }
        assert_eq!(words(&pods).as_deref(), Some("2 pulling, 2 starting"), "the Event of b came before b");
        pods.pull_begins("c".into());
        assert_eq!(words(&pods).as_deref(), Some("3 pulling, 1 starting"));
        pods.insert(pod("d", "ImagePullBackOff", Some(true)));
        assert_eq!(words(&pods).as_deref(), Some("2 pulling, 1 starting, 1 pull failed"));
        pods.remove("c");
        pods.health = WatchHealth::Forbidden { why: "no".into() };
        assert_eq!(words(&pods), None);
    }

    #[test]
    fn pulls_of_pods_that_do_not_start_are_forgotten_when_there_are_many() {
        let mut pods = StartingPods { health: WatchHealth::Live, ..StartingPods::default() };
        pods.insert(pod("a", "ContainerCreating", None));
        pods.pull_begins("a".into());
        for other in 0..2 * PULLS_BEGUN {
            pods.pull_begins(format!("other-{other}").into());
        }
        assert!(pods.pulls_begun.len() <= PULLS_BEGUN);
        assert_eq!(words(&pods).as_deref(), Some("1 pulling"));
    }
}
