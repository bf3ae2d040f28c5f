//! An independent observer in the world. It knows nothing of the engine: it sees what the API server accepted, what the
//! record said at that time, and what is true on the machines, and holds rolldeck to its promises.
//!
//! | promise | how it is checked |
//! |---|---|
//! | P1 | at every deletion: the nodes that served when rolldeck deleted their pod, and have not served for `minReadySeconds` and the soak time since, are no more than the budget; of a DaemonSet that surges none, unless somebody named a budget |
//! | P2 | at every deletion going forward: the node matches the selector; no fewer old pods are left than the partition keeps; it goes back only to what was asked back to |
//! | P3 | at every deletion: a rollout is recorded and not paused; none arrives later after a pause than its console showed at that time that it may be sent, and its way took; when a `pause` is said to be done: the strategy is `OnDelete`; a strategy that was set back is in the record as long as somebody drives, and where it is to be reported it is not set again in silence; no write of rolldeck's but a release sets it back; a change that was refused leaves it paused |
//! | P4 | at every deletion of a serving pod going forward: fewer nodes than the threshold are known to fail at the target; with the strictest threshold none is in image trouble or in a crash loop; no other node's pod is refused or missing for long; no pod there restarted twice lately after it had been ready; it does not go back by itself where all that fails are containers that no template names |
//! | P5 | at every deletion: the node is Ready; nodes that fell NotReady after rolldeck gave them the new pod are charged to the budget, and count among the failing of P4 once they stay down past the grace, fall again, or fall where no other does |
//! | P6 | at every deletion: the nodes that must pull since their pod was deleted are no more than the pull limit |
//! | P7 | at every deletion: the record already named the node as in progress, so that the next driver knows of it; a pause stays until somebody asks to go on, and a record until it is released; an image is asked for in the record no more often than operators asked; a step or a selector that is written late does not take back what somebody else has set since it was asked for, and lets no node go to a template that came after it |
//! | P8 | every five seconds: no node and no rollout waits without a reason, no step is offered that moves nothing, and whoever is next goes; who drives says of what is next for 10 s what it waits for; after the calm: the rollout ends |
//! | P9 | whenever rolldeck saves or restores the strategy: it saves what was there, and restores it to the byte; nothing of ours is left when it is released, and what was being pre-warmed ends; whenever it restores it without being asked: no pod serves that this costs |
//! | P10 | every five seconds, for consoles that say their view is live: nodes, pods, revisions and readiness are as shown, and a pause, a partition and a selector are in the record; for all: what was shown and is still so is not forgotten; and what time alone changes is told by `Engine::wake_at` |
//!
//! Knowledge takes time to travel, and no promise can be about what nobody could know yet. So every judgement allows for
//! `slack`: the longest that a message may be late, and the time for which a proof of the record is good (a second, from far
//! away 3.5). What else it
//! allows for:
//!
//! - when the record is deleted or made unreadable, what it knew is lost: nodes that are down then are held against nobody;
//! - `minReadySeconds` is not asked of nodes whose clock is wrong: a console that comes later knows only what the kubelet wrote;
//! - a node that somebody tainted, so that the pod may not run there, is not down through rolldeck, and is not among those
//!   that a rollout has to do with: it counts neither as failed nor in a comparison;
//! - where that taint is `NoExecute`, the controller deletes the pod whatever the strategy: no release costs it;
//! - a roll back that was written before another template was asked for has been made, and the record may say so later;
//! - what was handed back is its own controller's to end, also where that forgets a surge half way (`sim/attack/surge.rs`).

mod absent;
mod back;
mod change;
mod commands;
mod context;
mod deleted;
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
    /// Which: `P1` to `P10`.
    pub promise: &'static str,
    /// How long after the beginning.
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
    /// Names of pods that went within the slack, and when, oldest first.
    gone_pods: VecDeque<(Timestamp, Str)>,
    nodes: BTreeMap<Str, ObservedNode>,
    /// By node: when it was not Ready, lately, oldest first.
    downs: BTreeMap<Str, Vec<suspects::Outage>>,
    /// By node: when it was seen to go down, oldest first.
    falls: BTreeMap<Str, Vec<Timestamp>>,
    /// Each node's Ready condition.
    conditions: BTreeMap<Str, ConditionStatus>,
    /// What is to be pre-warmed, and was lately.
    prewarms: Recent<Option<Prewarm>>,
    /// The registry serves no more pulls.
    throttle: throttle::RegistryThrottle,
    /// The pods that are there for it.
    warm_pods: prewarm::WarmPodsThere,
    /// When a node's object was deleted last.
    gone_at: Option<Timestamp>,
    records: Recent<Option<Record>>,
    record_text: Option<Str>,
    driver: Option<record::Driving>,
    daemon_set: Option<DaemonSetFact>,
    /// The DaemonSet's own `maxUnavailable`.
    own_budget: Recent<Option<IntOrPercent>>,
    /// How many nodes may have its pod, and how many it counts as desired.
    fleet: Recent<u32>,
    desired: Recent<u32>,
    old_pods: Recent<usize>,
    /// Since when its own controller may replace pods.
    rolling_since: Option<Timestamp>,
    /// Whether the DaemonSet is being deleted.
    is_being_deleted: bool,
    /// Nodes that were serving when rolldeck deleted their pod, and have not served for long enough since.
    taken_down: BTreeMap<Str, Down>,
    /// Nodes that rolldeck deleted a pod on for the present target, with when.
    replaced: BTreeMap<Str, Timestamp>,
    /// Nodes that must pull since rolldeck deleted their pod.
    pulling: BTreeSet<Str>,
    /// Commands that end a pause and are not settled: whose, and when they were given.
    resumptions: Vec<((Str, CommandId), Timestamp)>,
    /// What operators asked for that an earlier request of somebody else must not take back.
    overtaken: overtaken::Overtaken,
    /// When a command was last given or settled.
    last_command_at: Timestamp,
    /// How often an image was requested and is not recorded yet; below 0 where it was written too often.
    images_requested: BTreeMap<BTreeMap<String, ImageRef>, i32>,
    /// When the record last asked for an image that it had not asked for before.
    image_written_at: Timestamp,
    /// How long a driver may take to have a drift of the strategy in the record.
    drift_takes: Duration,
    /// Until when some console did not see everything.
    blind_until: Timestamp,
    /// Nodes that are next in line and do not say what they wait for, by console.
    unexplained: waits::Unexplained,
    /// How long each console may go on deleting after a pause, by what it shows, and since when the rollout is paused.
    pause_delay: pause_delay::PauseDelay,
    /// Some console does not see the record version by version, or late.
    misses_versions: bool,
    /// When the template last changed.
    template_since: Timestamp,
    /// The roll back that is requested.
    requested_roll_back: Option<change::RequestedRollBack>,
    /// The revision of a roll back that was written, and that the record did not have as made when another template was requested.
    rolled_back_to: Option<Str>,
    /// When a roll back was last requested, and to the revision with which number.
    undo_requested: Option<(Timestamp, Option<i64>)>,
    /// When somebody last ruined or deleted the record.
    record_lost_at: Option<Timestamp>,
    /// What is known of pods that are missing.
    absent: Absent,
    /// The network loses nothing.
    network_is_fine: bool,
    /// Since when the DaemonSet is being deleted, or gone.
    daemon_set_goes_since: Option<Timestamp>,
    /// Consoles that may believe a watch that stands still, each until when.
    unaware: BTreeMap<Str, Timestamp>,
    /// What each console showed last.
    shown: BTreeMap<Str, ShownScreen>,
    /// Consoles' clocks may differ by so much, and the record says by theirs when a rollout began.
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
    /// An observer of `namespace/name`, from now on. `slack`: see the module.
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
            falls: BTreeMap::new(),
            conditions: BTreeMap::new(),
            gone_at: None,
            records: Recent::new(slack, now, None),
            prewarms: Recent::new(slack, now, None),
            throttle: throttle::RegistryThrottle::default(),
            warm_pods: prewarm::WarmPodsThere::default(),
            record_text: None,
            driver: None,
            daemon_set: None,
            own_budget: Recent::new(slack, now, None),
            fleet: Recent::new(slack, now, 0),
            desired: Recent::new(slack, now, 0),
            old_pods: Recent::new(slack, now, 0),
            rolling_since: None,
            is_being_deleted: false,
            taken_down: BTreeMap::new(),
            replaced: BTreeMap::new(),
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

    /// With nodes whose clocks are wrong.
    #[must_use]
    pub fn with_wrong_clocks(mut self, nodes: BTreeSet<Str>) -> Self {
        self.wrong_clocks = nodes;
        self
    }

    /// With consoles whose clocks differ by so much.
    #[must_use]
    pub fn with_clocks_apart(mut self, clocks: Duration) -> Self {
        self.clocks = clocks;
        self
    }

    /// With the delays and losses of this network.
    #[must_use]
    pub fn with_network(mut self, network: NetworkProfile) -> Self {
        self.network_is_fine = network == NetworkProfile::FINE;
        self.drift_takes = if network == NetworkProfile::FINE { strategy::NOTICED } else { strategy::NOTICED_LATE };
        self.pause_delay = pause_delay::PauseDelay::over(network.longest());
        self
    }

    /// Some console does not, or did not, see everything until then.
    pub fn blind_until(&mut self, blind_until: Timestamp) {
        self.blind_until = blind_until;
    }

    /// Allows for consoles that do not see the record version by version: one that is gone again tells them nothing.
    #[must_use]
    pub fn with_missed_versions(mut self, missed: bool) -> Self {
        self.misses_versions = missed;
        self
    }

    /// What was broken so far.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// How many pods rolldeck deleted.
    pub fn deletions(&self) -> u64 {
        self.deletions
    }

    /// The most nodes that rolldeck had taken down at once.
    pub fn worst_down(&self) -> usize {
        self.worst_down
    }

    /// How many pulls it judged by the limit of a site.
    pub fn site_pulls(&self) -> SitePulls {
        self.site_pulls
    }

    /// What it saw going wrong on machines.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Notes a broken promise.
    pub fn report_violation(&mut self, promise: &'static str, now: Timestamp, text: String) {
        self.violations.push(Violation { promise, after: now.since(self.began_at), text });
    }

    /// Looks at everything that changed since the last look; `accepted` is what the API server accepted from
    /// consoles meanwhile.
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
                // It looks after every instant, so the log always reaches back; if it did not, violations would be missed.
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

    /// Returns whether the change concerns the rollout.
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
                // What was taken out of its reach is none of its pods, whatever becomes of it.
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
