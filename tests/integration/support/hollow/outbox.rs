//! The writes that are to be sent: in order per object, with a limit at once and a limit a second. A write that may succeed later is tried again.
//!
//! ```text
//!   push ──→ lane of the object: [status] [final delete]      one of a lane is under way at any time
//!                └─ ready ──→ leases before statuses before events ──→ at most `in_flight` requests
//!                └─ backing off after a failure, 0.2 s … 5 s, or as the server asks
//! ```
//!
//! A newer status replaces an older one that is not sent yet, as in a kubelet, so a slow server does not get more and more writes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use rolldeck::engine::model::Str;
use rolldeck::engine::model::time::Timestamp;
use rolldeck::engine::rules::rate::TokenBucket;
use rolldeck::sim::world::kubelet::KubeletAction;
use rolldeck::sim::world::scenario::ClusterFault;

use super::client::{Client, ClientError};
use super::clock::FastClock;
use super::deliver::{NodeFacts, deliver};
use super::{HollowOptions, LeaseRenewal, StageShared, operator};

/// How long a lane backs off after a failure.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// The key of writes that are sent in order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Lane {
    Node(Str),
    Operator,
    Pod(Str),
    Event(Str, Str),
}

/// The number of classes. Lanes of the same class take turns; a class waits for those before it.
const CLASSES: usize = 3;

impl Lane {
    fn class(&self) -> usize {
        match self {
            Self::Node(_) => 0,
            Self::Operator | Self::Pod(_) => 1,
            Self::Event(..) => 2,
        }
    }
}

/// A write that is to be sent.
#[derive(Clone, Debug)]
enum Work {
    Kubelet(KubeletAction),
    Operator(ClusterFault),
}

impl Work {
    /// Whether this write makes `older` needless.
    fn supersedes(&self, older: &Self) -> bool {
        let (Self::Kubelet(newer), Self::Kubelet(older)) = (self, older) else { return false };
        matches!(
            (newer, older),
            (KubeletAction::NodeStatus { .. }, KubeletAction::NodeStatus { .. })
                | (KubeletAction::RenewLease { .. }, KubeletAction::RenewLease { .. })
                | (KubeletAction::PodStatus { .. }, KubeletAction::PodStatus { .. })
                | (KubeletAction::Event { .. }, KubeletAction::Event { .. })
        )
    }
}

/// The writes of a lane. The lane exists while it is ready, under way, or backing off.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Work>,
    back_off: Duration,
}

/// The result of one write.
#[derive(Debug)]
pub(super) struct WorkOutcome {
    lane: Lane,
    work: Work,
    facts: NodeFacts,
    result: Result<(), ClientError>,
}

#[derive(Debug)]
pub(super) struct Outbox {
    client: Arc<Client>,
    clock: FastClock,
    shared: Arc<StageShared>,
    lanes: HashMap<Lane, Queue>,
    ready: [VecDeque<Lane>; CLASSES],
    backing_off: BinaryHeap<Reverse<(Instant, Lane)>>,
    under_way: JoinSet<WorkOutcome>,
    nodes: BTreeMap<Str, NodeFacts>,
    leases: LeaseRenewal,
    manager: &'static str,
    in_flight: usize,
    /// The number of requests that may be sent now, by the time since `began_at`.
    tokens: TokenBucket,
    began_at: Instant,
}

impl Outbox {
    pub(super) fn new(
        client: Arc<Client>,
        clock: FastClock,
        shared: Arc<StageShared>,
        options: &HollowOptions,
    ) -> Self {
        Self {
            client,
            clock,
            shared,
            lanes: HashMap::new(),
            ready: Default::default(),
            backing_off: BinaryHeap::new(),
            under_way: JoinSet::new(),
            nodes: BTreeMap::new(),
            leases: options.leases,
            manager: options.manager,
            in_flight: options.in_flight.max(1),
            // A tenth of a second's requests may be sent at once.
            tokens: TokenBucket::new(options.per_second / 10 + 1, options.per_second, Duration::from_secs(1)),
            began_at: Instant::now(),
        }
    }

    /// Takes on a kubelet's action.
    pub(super) fn push(&mut self, action: KubeletAction) {
        if self.leases == LeaseRenewal::NotWritten && matches!(action, KubeletAction::RenewLease { .. }) {
            return;
        }
        let lane = match &action {
            KubeletAction::Register(object) => Lane::Node(object.meta.name.clone()),
            KubeletAction::NodeStatus { node, .. } | KubeletAction::RenewLease { node, .. } => Lane::Node(node.clone()),
            KubeletAction::PodStatus { uid, .. } | KubeletAction::RemovePod { uid, .. } => Lane::Pod(uid.clone()),
            KubeletAction::Event { namespace, name, .. } => Lane::Event(namespace.clone(), name.clone()),
        };
        self.queue(lane, Work::Kubelet(action));
    }

    /// Takes on an operator's write.
    pub(super) fn push_fault(&mut self, fault: ClusterFault) {
        self.queue(Lane::Operator, Work::Operator(fault));
    }

    fn queue(&mut self, lane: Lane, work: Work) {
        if let Some(queue) = self.lanes.get_mut(&lane) {
            queue.waiting.retain(|older| !work.supersedes(older));
            queue.waiting.push_back(work);
            return;
        }
        self.lanes.insert(lane.clone(), Queue { waiting: [work].into(), back_off: Duration::ZERO });
        self.ready[lane.class()].push_back(lane);
    }

    /// Sends as many writes as the limits allow now.
    pub(super) fn launch(&mut self) {
        let now = Instant::now();
        while let Some(Reverse((at, _))) = self.backing_off.peek() {
            if *at > now {
                break;
            }
            if let Some(Reverse((_, lane))) = self.backing_off.pop() {
                self.ready[lane.class()].push_back(lane);
            }
        }
        let now = self.elapsed();
        while self.under_way.len() < self.in_flight && self.tokens.available(now) > 0 {
            let Some(lane) = self.ready.iter_mut().find_map(VecDeque::pop_front) else { return };
            self.send(lane);
            self.tokens.take(1, now);
        }
    }

    /// The time since `began_at`: the token bucket's clock.
    fn elapsed(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.began_at.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    fn send(&mut self, lane: Lane) {
        let Some(work) = self.lanes.get_mut(&lane).and_then(|queue| queue.waiting.pop_front()) else {
            self.lanes.remove(&lane);
            return;
        };
        let mut facts = match &lane {
            Lane::Node(node) => self.nodes.get(node).cloned().unwrap_or_default(),
            _ => NodeFacts::default(),
        };
        let (client, clock, manager) = (Arc::clone(&self.client), self.clock, self.manager);
        self.under_way.spawn(async move {
            let result = match &work {
                Work::Kubelet(action) => deliver(&client, action, &mut facts, clock, manager).await,
                Work::Operator(fault) => operator::carry_out(&client, fault).await,
            };
            WorkOutcome { lane, work, facts, result }
        });
    }

    /// When the next write may be sent that has to wait now.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let waits = self.ready.iter().any(|lanes| !lanes.is_empty()) && self.under_way.len() < self.in_flight;
        let token_at = || self.began_at + self.tokens.ready_at(1, self.elapsed()).since(Timestamp::default());
        let token_at = waits.then(token_at);
        self.backing_off.peek().map(|Reverse((at, _))| *at).into_iter().chain(token_at).min()
    }

    /// Waits for the next result; for ever when nothing is under way.
    pub(super) async fn next(&mut self) -> Result<WorkOutcome, JoinError> {
        match self.under_way.join_next().await {
            Some(sent) => sent,
            None => std::future::pending().await,
        }
    }

    /// Takes in the result of a write.
    pub(super) fn settle(&mut self, sent: WorkOutcome) {
        let WorkOutcome { lane, work, facts, result } = sent;
        if let Lane::Node(node) = &lane {
            self.nodes.insert(node.clone(), facts);
        }
        let Some(queue) = self.lanes.get_mut(&lane) else { return };
        match result {
            Err(ClientError::Later { after, .. }) => {
                if !queue.waiting.iter().any(|newer| newer.supersedes(&work)) {
                    queue.waiting.push_front(work);
                }
                queue.back_off = (queue.back_off * 2).clamp(BACK_OFF.0, BACK_OFF.1);
                let until = Instant::now() + after.unwrap_or_default().max(queue.back_off);
                self.backing_off.push(Reverse((until, lane)));
                return;
            }
            Err(trouble) => self.shared.refused(format!("{work:?}: {trouble}")),
            Ok(()) => {}
        }
        queue.back_off = Duration::ZERO;
        if queue.waiting.is_empty() {
            self.lanes.remove(&lane);
        } else {
            self.ready[lane.class()].push_back(lane);
        }
    }
}
