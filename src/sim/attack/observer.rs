//! An independent observer in the world, which checks that rolldeck keeps its promises. It does not use the engine's state: it sees the
//! writes that the API server accepted, the record at that time, and the true state of the machines.
//!
//! `observer/judge.rs` says how each promise is checked.
//!
//! News takes time to travel, and no promise covers facts that no console could know yet. So every judgement allows for `slack`: the
//! longest delay of a message plus the time for which a proof of the record is valid (1 s, or 3.5 s from far away). The observer also
//! allows for this:
//!
//! - When the record is deleted or made unreadable, its knowledge is lost: nodes that are down then are not counted against rolldeck.
//! - A node with a wrong clock need not serve for `minReadySeconds`: a console that starts later knows only the times that the kubelet
//!   wrote.
//! - A node that somebody tainted so that the pod may not run there is not down through rolldeck. It is no part of a rollout: it counts
//!   neither as failed nor in a comparison.
//! - If that taint is `NoExecute`, the controller deletes the pod under any strategy, so no release costs this pod.
//! - A roll back that was written before another template was requested has been made; the record may say so later.
//! - A released DaemonSet is its own controller's to complete, even if that controller forgets a surge half way
//!   (`sim/attack/surge.rs`).

mod absent;
mod back;
mod causes;
mod change;
mod commands;
mod context;
mod deleted;
mod drives_again;
mod injected;
mod intent;
mod judge;
mod overtaken;
mod pause_delay;
mod prewarm;
mod reasons;
mod recent;
mod record;
mod release;
mod shown;
mod sites;
mod state;
mod strategy;
mod suspects;
mod taken_away;
mod throttle;
mod waits;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::time::Duration;

use super::api_client::{AcceptedWrites, Deletion};
use super::faults::Faults;
use super::network::NetworkProfile;
use crate::engine::model::Str;
use crate::engine::model::command::CommandId;
use crate::engine::model::facts::{ConditionStatus, DaemonSetFact};
use crate::engine::model::image::ImageRef;
use crate::engine::model::prewarm::Prewarm;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{Record, lease_name};
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::store::{ChangeKind, StoreChange};

use absent::Absent;
use recent::Recent;
use shown::ShownScreen;
pub use sites::SitePulls;
use state::{Down, ObservedNode, ObservedPod};

/// Consoles know the API server's clock to the second, and read times to the millisecond.
const ROUNDED: Duration = Duration::from_millis(1100);

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise: `P1` to `P10`.
    pub promise: &'static str,
    /// The time since the beginning of the run.
    pub after: Duration,
    /// What happened, in words.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {:.3}s: {}", self.promise, self.after.as_secs_f64(), self.text)
    }
}

/// The observer of one DaemonSet.
#[derive(Debug)]
pub struct Observer {
    namespace: Str,
    name: Str,
    lease: String,
    slack: Duration,
    began_at: Timestamp,
    cursors: [u64; KINDS.len()],
    pods: HashMap<Str, ObservedPod>,
    /// The names of pods that were removed within the slack, each with its time, oldest first.
    gone_pods: VecDeque<(Timestamp, Str)>,
    nodes: BTreeMap<Str, ObservedNode>,
    /// By node: its recent times of not being Ready, oldest first.
    downs: BTreeMap<Str, Vec<suspects::Outage>>,
    /// By node: when the youngest pod of the DaemonSet on it was made.
    last_made: BTreeMap<Str, Timestamp>,
    /// By node: the times at which it went down, oldest first.
    falls: BTreeMap<Str, Vec<Timestamp>>,
    /// Each node's Ready condition.
    conditions: BTreeMap<Str, ConditionStatus>,
    /// The request for pre-warming, now and within the slack.
    prewarms: Recent<Option<Prewarm>>,
    /// The state of a registry that serves no more pulls.
    throttle: throttle::RegistryThrottle,
    /// The pods and StatefulSets for pre-warming that exist.
    warm_pods: prewarm::WarmPodsThere,
    /// When a node's object was deleted last.
    gone_at: Option<Timestamp>,
    records: Recent<Option<Record>>,
    record_text: Option<Str>,
    driver: Option<record::Driving>,
    /// Who drove before the present driver.
    drives_again: drives_again::DrivesAgain,
    daemon_set: Option<DaemonSetFact>,
    /// The DaemonSet's own `maxUnavailable`.
    own_budget: Recent<Option<IntOrPercent>>,
    /// The number of nodes that may have the DaemonSet's pod; `desired` is the number that the DaemonSet's status counts.
    fleet: Recent<u32>,
    desired: Recent<u32>,
    old_pods: Recent<usize>,
    /// Since when the DaemonSet's own controller may replace pods.
    rolling_since: Option<Timestamp>,
    /// Whether the DaemonSet is being deleted.
    is_being_deleted: bool,
    /// Nodes that served when rolldeck deleted their pod, and that have not served for long enough since.
    taken_down: BTreeMap<Str, Down>,
    /// Nodes on which rolldeck deleted a pod for the present target, each with the time.
    replaced: BTreeMap<Str, Timestamp>,
    /// With what the next pod of a node and a revision begins, where its kubelet has evicted the one before.
    evicted: BTreeMap<(Str, Str), state::Restarted>,
    /// Nodes that must pull since rolldeck deleted their pod.
    pulling: BTreeSet<Str>,
    /// Unsettled commands that end a pause, each with its console and the time at which it was given.
    resumptions: Vec<((Str, CommandId), Timestamp)>,
    /// The unsettled requests of operators. A late request must not take back a later one of somebody else.
    overtaken: overtaken::Overtaken,
    /// When a command was last given or settled.
    last_command_at: Timestamp,
    /// By images: how many requests of operators are not in the record yet; below 0 if the record had more requests than operators made.
    images_requested: BTreeMap<BTreeMap<String, ImageRef>, i32>,
    /// When the record last asked for an image that it had not asked for before.
    image_written_at: Timestamp,
    /// How long a driver may take until the record says that the strategy drifted.
    drift_takes: Duration,
    /// The time until which some console did not see everything.
    blind_until: Timestamp,
    /// By console: the nodes that it shows as next without saying what they wait for.
    unexplained: waits::Unexplained,
    /// How long each console says that it may go on deleting after a pause, and since when the rollout is paused.
    pause_delay: pause_delay::PauseDelay,
    /// Whether some console misses versions of the record or sees them late.
    misses_versions: bool,
    /// When the template last changed.
    template_since: Timestamp,
    /// The roll back that the record requests.
    requested_roll_back: Option<change::RequestedRollBack>,
    /// The revision of a roll back that was written to the DaemonSet, but that the record did not yet have as made when another template was
    /// requested.
    rolled_back_to: Option<Str>,
    /// The last command for a roll back: its time, and the number of the revision if it named one.
    undo_requested: Option<(Timestamp, Option<i64>)>,
    /// When the record was last made unreadable or deleted.
    record_lost_at: Option<Timestamp>,
    /// The observer's knowledge of missing pods.
    absent: Absent,
    /// Whether the network loses nothing.
    network_is_fine: bool,
    /// Since when the DaemonSet is being deleted or is gone.
    daemon_set_goes_since: Option<Timestamp>,
    /// Consoles that may believe a watch that stands still, each with the time until which it may.
    unaware: BTreeMap<Str, Timestamp>,
    /// The last screen of each console.
    shown: BTreeMap<Str, ShownScreen>,
    /// How much the clocks of consoles may differ. A console tells the beginning of a rollout by its own clock.
    clocks: Duration,
    /// Nodes whose clock is wrong.
    wrong_clocks: BTreeSet<Str>,
    faults: Faults,
    violations: Vec<Violation>,
    deletions: u64,
    deleted_by_rolldeck: taken_away::DeletedByRolldeck,
    taken_back: back::TakenBack,
    worst_down: usize,
    site_pulls: SitePulls,
}

const KINDS: [Kind; 5] = [Kind::Node, Kind::DaemonSet, Kind::Lease, Kind::StatefulSet, Kind::Pod];

impl Observer {
    /// An observer of `namespace/name`, from now on. The module documentation explains `slack`.
    pub fn new(world: &World, (namespace, name): (&str, &str), slack: Duration) -> Self {
        let now = world.now();
        let mut observer = Self {
            namespace: namespace.into(),
            name: name.into(),
            lease: lease_name(name),
            slack,
            began_at: now,
            cursors: [world.store().revision(); KINDS.len()],
            pods: HashMap::new(),
            gone_pods: VecDeque::new(),
            nodes: BTreeMap::new(),
            downs: BTreeMap::new(),
            last_made: BTreeMap::new(),
            falls: BTreeMap::new(),
            conditions: BTreeMap::new(),
            gone_at: None,
            records: Recent::new(slack, now, None),
            prewarms: Recent::new(slack, now, None),
            throttle: throttle::RegistryThrottle::default(),
            warm_pods: prewarm::WarmPodsThere::default(),
            record_text: None,
            driver: None,
            drives_again: drives_again::DrivesAgain::default(),
            daemon_set: None,
            own_budget: Recent::new(slack, now, None),
            fleet: Recent::new(slack, now, 0),
            desired: Recent::new(slack, now, 0),
            old_pods: Recent::new(slack, now, 0),
            rolling_since: None,
            is_being_deleted: false,
            taken_down: BTreeMap::new(),
            replaced: BTreeMap::new(),
            evicted: BTreeMap::new(),
            pulling: BTreeSet::new(),
            resumptions: Vec::new(),
            overtaken: overtaken::Overtaken::default(),
            last_command_at: now,
            images_requested: BTreeMap::new(),
            image_written_at: Timestamp::default(),
            drift_takes: strategy::NOTICED,
            blind_until: now,
            unexplained: waits::Unexplained::new(),
            pause_delay: pause_delay::PauseDelay::default(),
            misses_versions: false,
            template_since: now,
            requested_roll_back: None,
            rolled_back_to: None,
            undo_requested: None,
            record_lost_at: None,
            absent: Absent::default(),
            network_is_fine: true,
            daemon_set_goes_since: None,
            unaware: BTreeMap::new(),
            shown: BTreeMap::new(),
            clocks: Duration::ZERO,
            wrong_clocks: BTreeSet::new(),
            faults: Faults::default(),
            violations: Vec::new(),
            deletions: 0,
            deleted_by_rolldeck: taken_away::DeletedByRolldeck::default(),
            taken_back: back::TakenBack::default(),
            worst_down: 0,
            site_pulls: SitePulls::default(),
        };
        for node in world.store().list(Kind::Node) {
            observer.node_is(node, now);
        }
        for pod in world.store().list_in(Kind::Pod, namespace) {
            observer.pod_is(pod, now);
        }
        if let Some(daemon_set) = world.store().get(Kind::DaemonSet, namespace, name) {
            observer.daemon_set_is(daemon_set, now);
        }
        observer.count(now);
        observer
    }

    /// Sets the nodes whose clocks are wrong.
    #[must_use]
    pub fn with_wrong_clocks(mut self, nodes: BTreeSet<Str>) -> Self {
        self.wrong_clocks = nodes;
        self
    }

    /// Sets how much the clocks of consoles differ.
    #[must_use]
    pub fn with_clocks_apart(mut self, clocks: Duration) -> Self {
        self.clocks = clocks;
        self
    }

    /// Allows for the delays and losses of this network.
    #[must_use]
    pub fn with_network(mut self, network: NetworkProfile) -> Self {
        self.network_is_fine = network == NetworkProfile::FINE;
        self.drift_takes = if network == NetworkProfile::FINE { strategy::NOTICED } else { strategy::NOTICED_LATE };
        self.pause_delay = pause_delay::PauseDelay::over(network.longest());
        self
    }

    /// Sets the time until which some console does not see everything.
    pub fn blind_until(&mut self, blind_until: Timestamp) {
        self.blind_until = blind_until;
    }

    /// Allows for consoles that miss versions of the record: a version that is replaced before they see it tells them nothing.
    #[must_use]
    pub fn with_missed_versions(mut self, missed: bool) -> Self {
        self.misses_versions = missed;
        self
    }

    /// The promises broken so far.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// How many pods rolldeck deleted.
    pub fn deletions(&self) -> u64 {
        self.deletions
    }

    /// The largest number of nodes that rolldeck had taken down at once.
    pub fn worst_down(&self) -> usize {
        self.worst_down
    }

    /// How many pulls were judged by the limit of a site.
    pub fn site_pulls(&self) -> SitePulls {
        self.site_pulls
    }

    /// The faults that the observer saw on machines.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Notes a broken promise.
    pub fn report_violation(&mut self, promise: &'static str, now: Timestamp, text: String) {
        self.violations.push(Violation { promise, after: now.since(self.began_at), text });
    }

    /// Judges everything that changed since the last call. `accepted` has the writes of consoles that the API server accepted meanwhile.
    pub fn observe_changes(&mut self, world: &World, accepted: &mut AcceptedWrites) {
        let revision = world.store().revision();
        if self.cursors == [revision; KINDS.len()] {
            return;
        }
        let mut news = false;
        for (at, kind) in KINDS.into_iter().enumerate() {
            match world.store().changes_since(kind, self.cursors[at]) {
                Ok(changes) => {
                    for change in changes {
                        news |= self.apply_change(kind, change, world, accepted);
                    }
                }
                // The observer looks after every instant, so the log always reaches back. If it did not, violations would be missed.
                Err(gap) => self.report_violation("observer", world.now(), gap.message),
            }
            self.cursors[at] = revision;
        }
        accepted.deletions.clear();
        accepted.leases.clear();
        if news {
            self.count(world.now());
        }
    }

    /// Takes in one change. Returns whether it concerns the rollout.
    fn apply_change(&mut self, kind: Kind, change: &StoreChange, world: &World, accepted: &AcceptedWrites) -> bool {
        let object = &change.object;
        let gone = change.kind == ChangeKind::Deleted;
        let here = object.meta.namespace == self.namespace;
        match kind {
            Kind::Node if gone => {
                self.nodes.remove(&object.meta.name);
                self.gone_at = Some(change.at);
                self.taken_down.remove(&object.meta.name);
                self.pulling.remove(&object.meta.name);
                self.replaced.remove(&object.meta.name);
            }
            Kind::Node => self.node_is(object, change.at),
            Kind::DaemonSet if here && object.meta.name == self.name => {
                self.daemon_set_goes(object, gone, change.at);
                if gone {
                    return true;
                }
                self.strategy_moves(change);
                self.check_enforcement(change);
                self.check_kept(change);
                self.check_release(change);
                self.daemon_set_is(object, change.at);
            }
            Kind::Lease if here && *object.meta.name == *self.lease => {
                self.prewarm_is(object, gone, change.at);
                let before = self.records.now().and_then(Option::clone);
                self.lease_is(object, gone, change.at);
                let version = object.meta.resource_version.to_string();
                let by = accepted.leases.iter().find(|(written, _)| **written == *version).map(|(_, by)| by);
                self.check_overtaken(before.as_ref(), by, change.at);
            }
            Kind::StatefulSet if here => self.warm_set_changes(change, world),
            Kind::Pod if here && self.warm_pod_changes(change, world) => {}
            Kind::Pod if here => {
                if let Some(deletion) = accepted.deletions.iter().find(|deletion| deletion.uid == object.meta.uid)
                    && change.before.as_ref().is_some_and(|before| before.meta.deletion.is_none())
                {
                    self.judge(deletion, change.at, world);
                }
                // A pod that no longer belongs to the DaemonSet counts as gone.
                if gone || !self.is_ours(object) {
                    self.pod_gone(&object.meta.uid, change.at);
                } else {
                    self.pod_is(object, change.at);
                }
            }
            _ => return false,
        }
        true
    }
}
