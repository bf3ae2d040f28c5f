//! An independent observer in the world. It knows nothing of the engine: it sees what the API server accepted, what the
//! record said at that time, and what is true on the machines, and holds rolldeck to its promises.
//!
//! | promise | how it is checked |
//! |---|---|
//! | P1 | at every deletion: the nodes that served when rolldeck deleted their pod, and have not served for `minReadySeconds` and the soak time since, are no more than the budget; of a DaemonSet that surges none, unless somebody named a budget |
//! | P2 | at every deletion going forward: the node matches the selector; no fewer old pods are left than the partition keeps; it goes back only to what was asked back to |
//! | P3 | at every deletion: a rollout is recorded and not paused; none arrives later after a pause than its console showed at that time that it may be sent, and its way took; when a `pause` is said to be done: the strategy is `OnDelete`; a strategy that was set back is in the record as long as somebody drives, and where it is to be reported it is not set again in silence; a change that was refused leaves it paused |
//! | P4 | at every deletion of a serving pod going forward: fewer nodes than the threshold are known to fail at the target; with the strictest threshold none is in image trouble or in a crash loop; no other node's pod is refused or missing for long; no pod there restarted twice lately after it had been ready |
//! | P5 | at every deletion: the node is Ready; nodes that fell NotReady after rolldeck gave them the new pod are charged to the budget, and count among the failing of P4 once they stay down past the grace, fall again, or fall where no other does |
//! | P6 | at every deletion: the nodes that must pull since their pod was deleted are no more than the pull limit |
//! | P7 | at every deletion: the record already named the node as in progress, so that the next driver knows of it; a pause stays until somebody asks to go on, and a record until it is released; an image is asked for in the record no more often than operators asked |
//! | P8 | every five seconds: no node and no rollout waits without a reason, no step is offered that moves nothing, and whoever is next goes; who drives says of what is next for 10 s what it waits for; after the calm: the rollout ends |
//! | P9 | whenever rolldeck saves or restores the strategy: it saves what was there, and restores it to the byte; nothing of ours is left when it is released; whenever it restores it without being asked: no pod serves that this costs |
//! | P10 | every five seconds, for consoles that say their view is live: nodes, pods, revisions and readiness are as shown, and a pause, a partition and a selector are in the record; for all: what was shown and is still so is not forgotten |
//!
//! Knowledge takes time to travel, and no promise can be about what nobody could know yet. So every judgement allows for
//! `slack`: the longest that a message may be late, and the time for which a proof of the record is good (a second, from far
//! away 3.5). What else it
//! allows for:
//!
//! - whoever deletes or garbles the record throws away what it knew: who is down then is nobody's doing any more;
//! - `minReadySeconds` is not asked of nodes whose clock is wrong: a console that comes later has only the kubelet's word;
//! - a node that somebody tainted, so that the pod may not run there, is not down through rolldeck, and is not among those
//!   that a rollout has to do with: it counts neither as failed nor in a comparison;
//! - where that taint is `NoExecute`, the controller deletes the pod whatever the strategy: no release costs it;
//! - a roll back that was written before another template was asked for has been made, and the record may say so later;
//! - what was handed back is its own controller's to end, also where that forgets a surge half way (`attack/surge.rs`).

mod absent;
mod bites;
mod change;
mod deleted;
mod intent;
mod judge;
mod lately;
mod reasons;
mod record;
mod release;
mod shown;
mod strategy;
mod suspects;
mod waits;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::time::Duration;

use super::api_client::Deletion;
use super::faults::{FaultKind, Faults};
use super::network::NetworkProfile;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, CommandId};
use crate::engine::model::facts::{ConditionStatus, ContainerState, DaemonSetFact, PodFact, StrategyKind};
use crate::engine::model::image::ImageRef;
use crate::engine::model::labels::Labels;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{Record, lease_name};
use crate::engine::model::template::TaintEffect;
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;
use crate::sim::world::store::{ChangeKind, StoreChange};

use absent::Absent;
use lately::Lately;
use shown::Shown;
use suspects::Restarted;

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
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {:.3}s: {}", self.promise, self.after.as_secs_f64(), self.what)
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
    cursors: [u64; 4],
    pods: HashMap<Str, Pod>,
    /// Names of pods that went within the slack, and when, oldest first.
    gone_pods: VecDeque<(Timestamp, Str)>,
    nodes: BTreeMap<Str, NodeSeen>,
    /// By node: when it was not Ready, lately, oldest first.
    downs: BTreeMap<Str, Vec<suspects::Down>>,
    /// Each node's Ready condition.
    conditions: BTreeMap<Str, ConditionStatus>,
    /// When a node's object was deleted last.
    gone_at: Option<Timestamp>,
    records: Lately<Option<Record>>,
    record_text: Option<Str>,
    driver: Option<record::Driving>,
    daemon_set: Option<DaemonSetFact>,
    /// The DaemonSet's own `maxUnavailable`.
    own_budget: Lately<Option<IntOrPercent>>,
    /// How many nodes may have its pod, and how many it counts as desired.
    fleet: Lately<u32>,
    desired: Lately<u32>,
    old_pods: Lately<usize>,
    /// Since when its own controller may replace pods.
    rolling_since: Option<Timestamp>,
    /// Whether the DaemonSet is being deleted.
    is_being_deleted: bool,
    /// Nodes that were serving when rolldeck deleted their pod, and have not served for long enough since.
    taken_down: BTreeMap<Str, Down>,
    /// Nodes that rolldeck deleted a pod on for the present target, with when.
    given: BTreeMap<Str, Timestamp>,
    /// Nodes that must pull since rolldeck deleted their pod.
    pulling: BTreeSet<Str>,
    /// Words that end a pause and are on their way into the record: whose, and when they were asked.
    words: Vec<((Str, CommandId), Timestamp)>,
    /// When somebody last asked for anything, or was answered.
    heard_at: Timestamp,
    /// How often an image was asked for and has not been recorded yet; below 0 where it was written too often.
    images_asked: BTreeMap<BTreeMap<String, ImageRef>, i32>,
    /// When the record last asked for an image that it had not asked for before.
    image_written_at: Timestamp,
    /// How long a driver may take to have a drift of the strategy in the record.
    drift_takes: Duration,
    /// Until when some console did not see everything.
    blind_until: Timestamp,
    /// Nodes that are next without a word, by console.
    wordless: waits::Wordless,
    /// How long a pause takes to bite, by what each console shows, and since when the rollout is paused.
    bites: bites::Bites,
    /// Some console does not see the record version by version, or late.
    misses_versions: bool,
    /// When the template last changed.
    template_since: Timestamp,
    /// The roll back that is asked for.
    asked_back: Option<change::AskedBack>,
    /// To where a roll back was written that the record did not have as made when another template was asked for.
    went_back: Option<Str>,
    /// When somebody last asked to go back, and to the revision with which number.
    undo_asked: Option<(Timestamp, Option<i64>)>,
    /// When somebody last ruined or deleted the record.
    ruined_at: Option<Timestamp>,
    /// What is known of pods that are missing.
    absent: Absent,
    /// The network loses nothing.
    is_fine: bool,
    /// Since when the DaemonSet is being deleted, or gone.
    daemon_set_goes_since: Option<Timestamp>,
    /// Consoles that may believe a watch that stands still, each until when.
    unaware: BTreeMap<Str, Timestamp>,
    /// What each console showed last.
    shown: BTreeMap<Str, Shown>,
    /// Consoles' clocks may differ by so much, and the record says by theirs when a rollout began.
    clocks: Duration,
    /// Nodes whose clock is wrong.
    wrong_clocks: BTreeSet<Str>,
    faults: Faults,
    violations: Vec<Violation>,
    deletions: u64,
    worst_down: usize,
}

/// A node that rolldeck has taken down.
#[derive(Clone, Copy, Debug, Default)]
struct Down {
    /// Since when it serves again.
    serves_since: Option<Timestamp>,
    /// When it fell again after that.
    fell_at: Option<Timestamp>,
}

/// A pod, and what matters of its past.
#[derive(Debug)]
struct Pod {
    fact: PodFact,
    /// Since when it is there: it was made then, or its label was put back.
    there_since: Timestamp,
    /// When anything of it that a screen shows changed.
    changed_at: Timestamp,
    /// Since when it is in a failure that everybody can see.
    failing_since: Option<Timestamp>,
    /// Since when it is ready.
    ready_since: Option<Timestamp>,
    /// When it was last not ready, if it never was ready since: its creation.
    never_ready_since: Option<Timestamp>,
    /// Since when all its images are there.
    images_since: Option<Timestamp>,
    /// Restarts after it had been ready.
    restarted: Restarted,
}

#[derive(Debug)]
struct NodeSeen {
    ready: bool,
    ready_since: Timestamp,
    labels: Labels,
    labels_since: Timestamp,
    /// Somebody tainted it, and when that last changed.
    tainted: bool,
    tainted_since: Timestamp,
    /// One of those taints is `NoExecute`: pods that are there already have to go as well.
    evicts: bool,
    /// When it or its pods last changed in a way that a screen shows.
    changed_at: Timestamp,
}

const KINDS: [Kind; 4] = [Kind::Node, Kind::DaemonSet, Kind::Lease, Kind::Pod];

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
            cursors: [world.store().revision(); 4],
            pods: HashMap::new(),
            gone_pods: VecDeque::new(),
            nodes: BTreeMap::new(),
            downs: BTreeMap::new(),
            conditions: BTreeMap::new(),
            gone_at: None,
            records: Lately::new(slack, now, None),
            record_text: None,
            driver: None,
            daemon_set: None,
            own_budget: Lately::new(slack, now, None),
            fleet: Lately::new(slack, now, 0),
            desired: Lately::new(slack, now, 0),
            old_pods: Lately::new(slack, now, 0),
            rolling_since: None,
            is_being_deleted: false,
            taken_down: BTreeMap::new(),
            given: BTreeMap::new(),
            pulling: BTreeSet::new(),
            words: Vec::new(),
            heard_at: now,
            images_asked: BTreeMap::new(),
            image_written_at: Timestamp::default(),
            drift_takes: strategy::NOTICED,
            blind_until: now,
            wordless: waits::Wordless::new(),
            bites: bites::Bites::default(),
            misses_versions: false,
            template_since: now,
            asked_back: None,
            went_back: None,
            undo_asked: None,
            ruined_at: None,
            absent: Absent::default(),
            is_fine: true,
            daemon_set_goes_since: None,
            unaware: BTreeMap::new(),
            shown: BTreeMap::new(),
            clocks: Duration::ZERO,
            wrong_clocks: BTreeSet::new(),
            faults: Faults::default(),
            violations: Vec::new(),
            deletions: 0,
            worst_down: 0,
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

    /// Knowing whose clocks are wrong.
    #[must_use]
    pub fn with_wrong_clocks(mut self, nodes: BTreeSet<Str>) -> Self {
        self.wrong_clocks = nodes;
        self
    }

    /// Knowing how far consoles' clocks are apart.
    #[must_use]
    pub fn with_clocks_apart(mut self, clocks: Duration) -> Self {
        self.clocks = clocks;
        self
    }

    /// Allows for a network that loses what it sends.
    #[must_use]
    pub fn in_weather(mut self, network: NetworkProfile) -> Self {
        self.is_fine = network == NetworkProfile::FINE;
        self.drift_takes = if network == NetworkProfile::FINE { strategy::NOTICED } else { strategy::NOTICED_LATE };
        self.bites = bites::Bites::over(network.longest());
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

    /// What it saw going wrong on machines.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Notes a broken promise that somebody else noticed.
    pub fn accuse(&mut self, promise: &'static str, now: Timestamp, what: String) {
        self.violations.push(Violation { promise, after: now.since(self.began_at), what });
    }

    /// Takes note that somebody asked for something.
    pub fn asked(&mut self, (who, id): (&Str, CommandId), command: &Command, now: Timestamp) {
        self.heard_at = now;
        self.undo_is_asked(command, now);
        let goes_on = matches!(
            command.inner(),
            Command::Resume | Command::SetImage(_) | Command::Undo { .. } | Command::Release(_)
        );
        if let Command::SetImage(images) = command.inner() {
            *self.images_asked.entry(images.clone()).or_default() += 1;
        }
        if goes_on {
            self.words.push(((who.clone(), id), now));
        }
    }

    /// Takes note that something that was asked for is done.
    pub fn settled(&mut self, (who, id): (&Str, CommandId), now: Timestamp) {
        self.heard_at = now;
        self.words.retain(|((by, asked), _)| by != who || *asked != id);
    }

    /// Takes note that somebody ruined or deleted the record.
    pub fn ruined(&mut self, now: Timestamp) {
        self.ruined_at = Some(now);
    }

    /// P3: a console says that a pause is done; what happened after `seen_at` it could not see.
    pub fn pause_is_settled(&mut self, by: &str, seen_at: Timestamp, now: Timestamp) {
        if let Some(since) = self.rolling_since.filter(|since| *since + self.slack < now && *since < seen_at) {
            let secs = now.since(since).as_secs();
            self.accuse("P3", now, format!("{by} says it is paused, and its controller replaces pods for {secs} s"));
        }
    }

    /// Looks at everything that changed since the last look; `deletions` are those that the API server accepted from
    /// consoles meanwhile.
    pub fn look(&mut self, world: &World, deletions: &mut Vec<Deletion>) {
        let revision = world.store().revision();
        if self.cursors == [revision; 4] {
            return;
        }
        let mut news = false;
        for (at, kind) in KINDS.into_iter().enumerate() {
            match world.store().changes_since(kind, self.cursors[at]) {
                Ok(changes) => {
                    for change in changes {
                        news |= self.take_in(kind, change, world, deletions);
                    }
                }
                // It looks after every instant, so this cannot be; if it were, what was broken meanwhile went unseen.
                Err(gap) => self.accuse("observer", world.now(), gap.message),
            }
            self.cursors[at] = revision;
        }
        deletions.clear();
        if news {
            self.count(world.now());
        }
    }

    /// Says whether it was about us.
    fn take_in(&mut self, kind: Kind, change: &StoreChange, world: &World, deletions: &[Deletion]) -> bool {
        let object = &change.object;
        let gone = change.kind == ChangeKind::Deleted;
        let here = object.meta.namespace == self.namespace;
        match kind {
            Kind::Node if gone => {
                self.nodes.remove(&object.meta.name);
                self.gone_at = Some(change.at);
                self.taken_down.remove(&object.meta.name);
                self.pulling.remove(&object.meta.name);
                self.given.remove(&object.meta.name);
            }
            Kind::Node => self.node_is(object, change.at),
            Kind::DaemonSet if here && object.meta.name == self.name => {
                self.daemon_set_goes(object, gone, change.at);
                if gone {
                    return true;
                }
                self.strategy_moves(change);
                self.check_enforcement(change);
                self.check_release(change);
                self.daemon_set_is(object, change.at);
            }
            Kind::Lease if here && *object.meta.name == *self.lease => self.lease_is(object, gone, change.at),
            Kind::Pod if here => {
                if let Some(deletion) = deletions.iter().find(|deletion| deletion.uid == object.meta.uid)
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

    fn node_is(&mut self, object: &Object, at: Timestamp) {
        let Some(fact) = object.node_fact() else { return };
        let ready = fact.ready == ConditionStatus::True;
        let changed = self.conditions.insert(fact.name.clone(), fact.ready) != Some(fact.ready);
        self.node_goes(&fact.name, ready, changed, at);
        let by_people = || fact.taints.iter().filter(|taint| !taint.key.starts_with("node.kubernetes.io/"));
        let tainted = by_people().any(|taint| taint.effect != TaintEffect::PreferNoSchedule);
        let evicts = by_people().any(|taint| taint.effect == TaintEffect::NoExecute);
        let seen = self.nodes.entry(fact.name).or_insert_with(|| NodeSeen {
            ready,
            ready_since: Timestamp::default(),
            labels: fact.labels.clone(),
            labels_since: Timestamp::default(),
            tainted,
            tainted_since: Timestamp::default(),
            evicts,
            changed_at: at,
        });
        if seen.ready != ready {
            (seen.ready, seen.ready_since, seen.changed_at) = (ready, at, at);
        }
        if seen.labels != fact.labels {
            (seen.labels, seen.labels_since) = (fact.labels, at);
        }
        seen.evicts = evicts;
        if seen.tainted != tainted {
            (seen.tainted, seen.tainted_since, seen.changed_at) = (tainted, at, at);
        }
    }

    fn pod_is(&mut self, object: &Object, at: Timestamp) {
        let Some(fact) = object.pod_fact() else { return };
        self.absent.pod_was_created(fact.created_at);
        let known = self.pods.remove(&fact.uid);
        let restarted = known.as_ref().map(|known| known.restarted);
        let there_since = known.as_ref().map_or(at, |known| known.there_since);
        let trouble = trouble_of(&fact);
        let was = known.as_ref().and_then(|known| trouble_of(&known.fact));
        if trouble != was
            && let Some(kind) = trouble
        {
            self.faults.count(kind);
        }
        let failing = fact.deletion_at.is_none() && trouble.is_some();
        let failing_since = failing.then(|| known.as_ref().and_then(|known| known.failing_since).unwrap_or(at));
        let ready_since = fact.ready.then(|| known.as_ref().and_then(|known| known.ready_since).unwrap_or(at));
        let never = known.as_ref().map_or(Some(at), |known| known.never_ready_since);
        let shows = |fact: &PodFact| (fact.node.clone(), fact.ready, fact.deletion_at.is_some(), fact.revision.clone());
        let changed = known.as_ref().is_none_or(|known| shows(&known.fact) != shows(&fact));
        let has_images = !fact.containers.is_empty() && fact.containers.iter().all(|container| container.image_present);
        let images_since = has_images.then(|| known.as_ref().and_then(|known| known.images_since).unwrap_or(at));
        let changed_at = if changed { at } else { known.map_or(at, |known| known.changed_at) };
        if let Some(node) = fact.node.clone() {
            if changed && let Some(seen) = self.nodes.get_mut(&node) {
                seen.changed_at = at;
            }
            if fact.deletion_at.is_none() {
                self.serves(&node, fact.ready, at);
                if has_images {
                    self.pulling.remove(&node);
                }
            }
        }
        let never_ready_since = never.filter(|_| !fact.ready);
        let restarted = Restarted::next(restarted, &fact, at, self.slack);
        let pod = Pod {
            fact,
            there_since,
            changed_at,
            failing_since,
            ready_since,
            never_ready_since,
            images_since,
            restarted,
        };
        self.pods.insert(pod.fact.uid.clone(), pod);
    }

    /// Takes in whether the pod of a node that may be down through rolldeck is ready.
    fn serves(&mut self, node: &Str, ready: bool, at: Timestamp) {
        let Some(down) = self.taken_down.get(node).copied() else { return };
        let now = match (down.serves_since, ready) {
            (None, true) => Down { serves_since: Some(at), ..down },
            // It served for long enough: what befalls it now is another story.
            (Some(since), false) if at.since(since) + ROUNDED >= self.must_serve_for(node) => {
                self.taken_down.remove(node);
                return;
            }
            (Some(_), false) => Down { serves_since: None, fell_at: Some(at) },
            _ => return,
        };
        self.taken_down.insert(node.clone(), now);
    }

    /// How long a node must have served again to count as available.
    fn must_serve_for(&self, node: &Str) -> Duration {
        if self.wrong_clocks.contains(node) {
            return Duration::ZERO;
        }
        let min_ready = self.daemon_set.as_ref().map_or(0, |fact| fact.min_ready_secs);
        let target = self.records.now().and_then(|record| record.as_ref()?.intent.target.as_ref());
        let at_target = target.is_some()
            && self.pods.values().any(|pod| {
                let fact = &pod.fact;
                fact.node.as_ref() == Some(node) && fact.deletion_at.is_none() && fact.revision.as_ref() == target
            });
        let soak = self.records.lately().flatten().map(|record| record.intent.gates.soak_secs).min().unwrap_or(0);
        Duration::from_secs(if at_target { min_ready.max(soak) } else { min_ready }.into())
    }

    fn pod_gone(&mut self, uid: &Str, at: Timestamp) {
        let gone = self.pods.remove(uid);
        if let Some(pod) = &gone {
            while self.gone_pods.front().is_some_and(|(gone_at, _)| *gone_at + self.slack < at) {
                self.gone_pods.pop_front();
            }
            self.gone_pods.push_back((at, pod.fact.name.clone()));
        }
        if let Some(seen) = gone.and_then(|pod| self.nodes.get_mut(&pod.fact.node?)) {
            seen.changed_at = at;
        }
    }

    fn daemon_set_is(&mut self, object: &Object, at: Timestamp) {
        let Some(fact) = object.daemon_set_fact() else { return };
        if self.daemon_set.as_ref().is_none_or(|known| known.template != fact.template) {
            self.absent.template_changed(at);
        }
        self.own_budget.is(at, fact.strategy.max_unavailable);
        let rolling = fact.strategy.kind == StrategyKind::RollingUpdate;
        self.is_being_deleted = fact.deleting;
        self.rolling_since = if rolling { Some(self.rolling_since.unwrap_or(at)) } else { None };
        if self.daemon_set.as_ref().is_some_and(|known| known.template != fact.template) {
            self.template_since = at;
        }
        self.daemon_set = Some(fact);
    }

    /// Nodes with a pod at another revision than the target, that is not about to end.
    fn old_count(&self) -> usize {
        let target = self.records.now().and_then(|record| record.as_ref()?.intent.target.as_ref());
        let Some(target) = target else { return self.nodes.len() };
        let facts = self.pods.values().map(|pod| &pod.fact);
        let old = facts.filter(|pod| pod.deletion_at.is_none() && pod.revision.as_ref() != Some(target));
        old.filter_map(|pod| pod.node.as_ref()).collect::<BTreeSet<_>>().len()
    }

    fn count(&mut self, now: Timestamp) {
        let old = self.old_count();
        self.old_pods.is(now, old);
        let fleet = self.nodes.values().filter(|node| !node.tainted || self.tolerates()).count();
        self.fleet.is(now, u32::try_from(fleet).unwrap_or(u32::MAX));
        let desired = self.daemon_set.as_ref().map_or(0, |fact| fact.counters.desired);
        self.desired.is(now, desired.max(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)));
    }

    /// Whether the DaemonSet tolerates taints of any kind.
    fn tolerates(&self) -> bool {
        self.daemon_set.as_ref().is_some_and(|fact| !fact.template.tolerations().is_empty())
    }
}

/// A failure of a pod that nothing but a person mends, or that begins again and again.
fn trouble_of(pod: &PodFact) -> Option<FaultKind> {
    const IMAGES: [&str; 5] =
        ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "ErrImageNeverPull"];
    pod.containers.iter().find_map(|container| match &container.state {
        ContainerState::Waiting { reason, .. } if IMAGES.contains(&&**reason) => Some(FaultKind::PullFailed),
        ContainerState::Waiting { reason, .. } if **reason == *"CrashLoopBackOff" => Some(FaultKind::CrashLoop),
        _ => None,
    })
}
