//! The ledger of one DaemonSet: every change of its pods.
//!
//! The ledger has the nodes without a serving pod, the deleted pods with the time of each deletion, and the steps on each node in order. A watch on a
//! real API server or the changes of a simulated cluster fill it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// One pod as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PodState {
    /// Its uid.
    pub(crate) uid: String,
    /// Its name.
    pub(crate) name: String,
    /// Its node: the one that it is bound to, or else the only one that its affinity allows.
    pub(crate) node: String,
    /// The image of its first container.
    pub(crate) image: String,
    /// Label `controller-revision-hash`.
    pub(crate) revision: String,
    /// Its `Ready` condition is `True`.
    pub(crate) ready: bool,
    /// Its first container's image is on the node.
    pub(crate) pulled: bool,
    /// Its first container waits because the image cannot be pulled.
    pub(crate) pull_failed: bool,
    /// It has a deletion timestamp.
    pub(crate) deleting: bool,
}

/// What happened to a pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Step {
    /// It was made, with this image.
    Created(String),
    /// Its image is there.
    Pulled,
    /// Its image could not be pulled.
    PullFailed,
    /// It serves.
    Ready,
    /// It does not serve any more.
    Unready,
    /// It has a deletion timestamp.
    Deleting,
    /// It is gone.
    Gone,
}

/// A delete.
#[derive(Clone, Debug)]
pub(crate) struct Delete {
    /// When it was seen.
    pub(crate) at: Instant,
    /// The pod as it was before the delete.
    pub(crate) pod: PodState,
}

/// How many nodes have no serving pod, counted by what became of the pod that each had at the start of the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Unserved {
    /// Nodes whose first pod was deleted: they are lost to the rollout, whoever drives it.
    pub(crate) lost: usize,
    /// Nodes whose first pod is still there and will serve again by itself.
    pub(crate) out_of_sight: usize,
}

impl Unserved {
    /// How many nodes have no serving pod.
    pub(crate) fn down(self) -> usize {
        self.lost + self.out_of_sight
    }

    /// The greater value of each field.
    pub(crate) fn worst(self, other: Self) -> Self {
        Self { lost: self.lost.max(other.lost), out_of_sight: self.out_of_sight.max(other.out_of_sight) }
    }
}

/// The changes of one DaemonSet's pods.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    nodes: BTreeSet<String>,
    pods: BTreeMap<String, PodState>,
    /// The uid of each node's pod at the start.
    first_pods: BTreeMap<String, String>,
    deletes: Vec<Delete>,
    steps: BTreeMap<String, Vec<Step>>,
}

impl Ledger {
    /// The ledger of a DaemonSet that should run on these nodes.
    pub(crate) fn new(nodes: impl IntoIterator<Item = String>) -> Self {
        Self { nodes: nodes.into_iter().collect(), ..Self::default() }
    }

    /// The nodes that the DaemonSet should run on.
    pub(crate) fn nodes(&self) -> &BTreeSet<String> {
        &self.nodes
    }

    /// The pods that are not being deleted.
    pub(crate) fn staying(&self) -> impl Iterator<Item = &PodState> {
        self.pods.values().filter(|pod| !pod.deleting)
    }

    /// Whether a pod is being deleted and not gone yet.
    pub(crate) fn has_pods_in_deletion(&self) -> bool {
        self.pods.values().any(|pod| pod.deleting)
    }

    /// How many pods wait for their image, those in deletion included. A pod whose pull failed does not count.
    pub(crate) fn waiting_for_images(&self) -> usize {
        self.pods.values().filter(|pod| !pod.pulled && !pod.pull_failed).count()
    }

    /// How many nodes have no serving pod.
    pub(crate) fn without_service(&self) -> usize {
        self.unserved().down()
    }

    /// How many nodes have no serving pod.
    pub(crate) fn unserved(&self) -> Unserved {
        let serving: BTreeSet<&String> = self.staying().filter(|pod| pod.ready).map(|pod| &pod.node).collect();
        let down: Vec<&String> = self.nodes.iter().filter(|node| !serving.contains(node)).collect();
        let untouched = self.untouched();
        let out_of_sight = down.iter().filter(|node| untouched.contains(**node)).count();
        Unserved { lost: down.len() - out_of_sight, out_of_sight }
    }

    /// The nodes whose pod is the one that they had at the start and is not being deleted.
    pub(crate) fn untouched(&self) -> BTreeSet<String> {
        let kept = self.staying().filter(|pod| self.first_pods.get(&pod.node) == Some(&pod.uid));
        kept.map(|pod| pod.node.clone()).collect()
    }

    /// Starts over with the present pods: deletes and steps are forgotten.
    pub(crate) fn start_over(&mut self) {
        self.first_pods = self.staying().map(|pod| (pod.node.clone(), pod.uid.clone())).collect();
        self.deletes.clear();
        self.steps.clear();
    }

    /// All deletes, in order.
    pub(crate) fn deletes(&self) -> &[Delete] {
        &self.deletes
    }

    /// The steps on each node, in order.
    pub(crate) fn steps(&self) -> &BTreeMap<String, Vec<Step>> {
        &self.steps
    }

    /// Forgets the steps on each node so far, but keeps the pods.
    pub(crate) fn forget_steps(&mut self) {
        self.steps.clear();
    }

    /// Enters the present state of a pod.
    pub(crate) fn is(&mut self, mut pod: PodState) {
        type Flag = fn(&PodState) -> bool;
        let before = self.pods.get(&pod.uid).cloned();
        // Between two attempts the kubelet reports no failure, so a pull that failed once stays failed.
        pod.pull_failed |= before.as_ref().is_some_and(|before| before.pull_failed);
        // A kubelet that is back on the network may report a pod ready before or after it learns of the deletion. That is chance, so a pod in
        // deletion does not become ready in the ledger.
        pod.ready &= !pod.deleting || before.as_ref().is_none_or(|before| before.ready);
        self.pods.insert(pod.uid.clone(), pod.clone());
        let steps = self.steps.entry(pod.node.clone()).or_default();
        let was = |flag: Flag| before.as_ref().is_some_and(flag);
        if before.is_none() {
            steps.push(Step::Created(pod.image.clone()));
        }
        if pod.deleting && !was(|pod| pod.deleting) {
            steps.push(Step::Deleting);
            self.deletes.push(Delete { at: Instant::now(), pod: before.clone().unwrap_or_else(|| pod.clone()) });
        }
        let turns: [(Flag, Step); 3] = [
            (|pod| pod.pull_failed, Step::PullFailed),
            (|pod| pod.pulled, Step::Pulled),
            (|pod| pod.ready, Step::Ready),
        ];
        for (flag, step) in turns {
            if flag(&pod) && !was(flag) {
                steps.push(step);
            }
        }
        if !pod.ready && was(|pod| pod.ready) {
            steps.push(Step::Unready);
        }
    }

    /// Enters that the pod with this uid is gone.
    pub(crate) fn gone(&mut self, uid: &str) {
        let Some(before) = self.pods.remove(uid) else { return };
        let steps = self.steps.entry(before.node.clone()).or_default();
        if !before.deleting {
            steps.push(Step::Deleting);
            self.deletes.push(Delete { at: Instant::now(), pod: before });
        }
        steps.push(Step::Gone);
    }

    /// A line for each pod.
    pub(crate) fn describe(&self) -> String {
        let line = |pod: &PodState| {
            let ready = if pod.ready { "ready" } else { "not ready" };
            let ending = if pod.deleting { ", ending" } else { "" };
            format!("  {}: {} {} {ready}{ending}\n", pod.node, pod.name, pod.image)
        };
        let pods: String = self.pods.values().map(line).collect();
        format!("{pods}  {} of {} nodes without service\n", self.without_service(), self.nodes.len())
    }
}
