//! The one task that owns the fleet: it gives the fleet the watches' news, the time and the faults, and takes away the kubelets' actions.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;

use rolldeck::engine::model::Str;
use rolldeck::engine::model::time::Timestamp;
use rolldeck::sim::world::kubelet::Kubelets;
use rolldeck::sim::world::scenario::{Fault, FleetFault, Scenario};

use super::client::{Client, ClientError};
use super::clock::FastClock;
use super::outbox::Outbox;
use super::partial::{PartialNode, PartialPod, Templates};
use super::watch::{WatchNews, follow};
use super::{HollowOptions, HollowRequest, Scope, StageShared, Workloads, operator};

/// Selects pods that are bound to a node: no others concern a kubelet.
const BOUND: &str = "fieldSelector=spec.nodeName%21%3D";
/// The most news that may wait in a channel before its watch waits.
const BACKLOG: usize = 256;

pub(super) struct HollowWorld {
    fleet: Kubelets,
    clock: FastClock,
    outbox: Outbox,
    shared: Arc<StageShared>,
    templates: Templates,
    /// The node of each known pod, by the pod's uid.
    pods: HashMap<Str, Str>,
    scenario: Vec<(Duration, Fault)>,
    /// The indices of faults with the time of each; at the same time the lower index comes first.
    agenda: BinaryHeap<Reverse<(Timestamp, usize)>>,
    faults: Vec<Option<Fault>>,
}

impl HollowWorld {
    /// Runs until its runtime ends.
    pub(super) async fn run(
        client: Arc<Client>,
        scope: Option<Scope>,
        scenario: Scenario,
        options: HollowOptions,
        clock: FastClock,
        shared: Arc<StageShared>,
    ) {
        if options.workloads == Workloads::Create {
            deploy(&client, &scenario, &shared).await;
        }
        let (tell_pods, pods) = channel(BACKLOG);
        let (tell_nodes, nodes) = channel(BACKLOG);
        let (pods_path, nodes_path) = watched(scope.as_ref());
        tokio::spawn(follow::<PartialPod>(Arc::clone(&client), pods_path, tell_pods));
        tokio::spawn(follow::<PartialNode>(Arc::clone(&client), nodes_path, tell_nodes));
        let stage = Self {
            fleet: Kubelets::of(&scenario, options.seed, clock.now()),
            clock,
            outbox: Outbox::new(client, clock, Arc::clone(&shared), &options),
            shared,
            templates: Templates::default(),
            pods: HashMap::new(),
            scenario: scenario.faults,
            agenda: BinaryHeap::new(),
            faults: Vec::new(),
        };
        stage.run_stage(pods, nodes).await;
    }

    async fn run_stage(
        mut self,
        mut pods: Receiver<WatchNews<PartialPod>>,
        mut nodes: Receiver<WatchNews<PartialNode>>,
    ) {
        let shared = Arc::clone(&self.shared);
        loop {
            self.let_time_pass();
            let wake = self.wake_at();
            tokio::select! {
                Some(news) = pods.recv() => {
                    self.pod(news);
                    while let Ok(news) = pods.try_recv() {
                        self.pod(news);
                    }
                }
                Some(news) = nodes.recv() => {
                    self.node(news);
                    while let Ok(news) = nodes.try_recv() {
                        self.node(news);
                    }
                }
                sent = self.outbox.next() => {
                    if let Ok(sent) = sent {
                        self.outbox.settle(sent);
                    }
                }
                () = shared.bell.notified() => self.listen(),
                () = sleep_until(wake) => {}
            }
        }
    }

    /// Makes the due faults happen, and sends the kubelets' actions.
    fn let_time_pass(&mut self) {
        let now = self.clock.now();
        while let Some(Reverse((at, index))) = self.agenda.peek().copied() {
            if at > now {
                break;
            }
            self.agenda.pop();
            match self.faults.get_mut(index).and_then(Option::take) {
                Some(Fault::Fleet(mut fault)) => {
                    if let FleetFault::Clock { offset_millis, .. } = &mut fault {
                        *offset_millis = self.clock.millis_seen(*offset_millis);
                    }
                    self.fleet.advance(at);
                    self.fleet.inject(&fault, at);
                }
                Some(Fault::Cluster(fault)) => self.outbox.push_fault(fault),
                None => {}
            }
        }
        self.fleet.advance(now);
        for action in self.fleet.take_actions() {
            self.outbox.push(action);
        }
        self.outbox.launch();
    }

    fn wake_at(&self) -> Option<Instant> {
        let agenda = self.agenda.peek().map(|Reverse((at, _))| *at);
        let fleet = self.fleet.next_at().into_iter().chain(agenda).min().map(|at| self.clock.instant(at));
        fleet.into_iter().chain(self.outbox.wake_at()).min()
    }

    fn listen(&mut self) {
        let asked = std::mem::take(&mut *self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner));
        for asked in asked {
            match asked {
                HollowRequest::Resume => {
                    for (after, fault) in std::mem::take(&mut self.scenario) {
                        self.schedule(after, fault);
                    }
                }
                HollowRequest::Fault(after, fault) => self.schedule(after, *fault),
            }
        }
    }

    fn schedule(&mut self, after: Duration, fault: Fault) {
        self.agenda.push(Reverse((self.clock.now() + after, self.faults.len())));
        self.faults.push(Some(fault));
    }

    fn pod(&mut self, news: WatchNews<PartialPod>) {
        match news {
            WatchNews::Listed(pods) => {
                let mut gone: HashSet<Str> = self.pods.keys().cloned().collect();
                for pod in pods {
                    gone.remove(&pod.metadata.uid);
                    self.pod_is(pod);
                }
                gone.iter().for_each(|uid| self.pod_gone(uid));
            }
            WatchNews::Is(pod) => self.pod_is(pod),
            WatchNews::Gone(pod) => self.pod_gone(&pod.metadata.uid),
        }
    }

    fn pod_is(&mut self, pod: PartialPod) {
        if let Some(seen) = self.templates.seen(pod, self.clock) {
            self.pods.insert(seen.uid.clone(), seen.node.clone());
            self.fleet.pod_changed(seen, self.clock.now());
        }
    }

    fn pod_gone(&mut self, uid: &Str) {
        if let Some(node) = self.pods.remove(uid) {
            self.fleet.pod_gone(&node, uid, self.clock.now());
        }
    }

    fn node(&mut self, news: WatchNews<PartialNode>) {
        let mut is = |node: &PartialNode| self.fleet.node_seen(&node.metadata.name, node.ready());
        match news {
            WatchNews::Listed(nodes) => nodes.iter().for_each(is),
            WatchNews::Is(node) => is(&node),
            WatchNews::Gone(_) => {}
        }
    }
}

/// The paths of the pods and of the nodes that are watched.
fn watched(scope: Option<&Scope>) -> (String, String) {
    match scope {
        None => (format!("/api/v1/pods?{BOUND}"), "/api/v1/nodes".to_owned()),
        Some(Scope { namespace, node_label: (key, value) }) => (
            format!("/api/v1/namespaces/{namespace}/pods?{BOUND}"),
            format!("/api/v1/nodes?labelSelector={key}%3D{value}"),
        ),
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Tries to create the DaemonSets until they exist or are refused.
async fn deploy(client: &Client, scenario: &Scenario, shared: &StageShared) {
    while let Err(trouble) = operator::deploy(client, scenario).await {
        let ClientError::Later { after, .. } = trouble else {
            return shared.refused(format!("creating the DaemonSets of {}: {trouble}", scenario.name));
        };
        tokio::time::sleep(after.unwrap_or(Duration::from_millis(200))).await;
    }
}
