//! Reports the changes between one snapshot and the next: one sentence per change, in the console's words.
//!
//! The output is append-only, so it reads the same in a terminal, a log and a pipe. Snapshots in between may be skipped;
//! every sentence is true of the later snapshot. If many nodes change in the same way at once, they share one sentence.
//!
//! ```text
//! 2026-11-21T14:30:05Z ipc-017: failed: image not found
//! 2026-11-21T14:30:06Z halted 0s ago: image not found on 1 node, 38 of 120 updated
//! 2026-11-21T14:30:06Z failed on ipc-017: `rolldeck undo --context prod -n edge ds/agent` rolls back, `rolldeck resume …` goes on past it
//! ```

mod prewarm;
mod released;
mod reported;
mod taken_away;
mod target;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use self::reported::ReportedCommands;
use super::json::{NodeJson, PrewarmJson, TypeMetaJson};
use super::one_shot::halt_advice;
use super::suggested_commands::CommandPlace;
use crate::engine::model::Str;
use crate::engine::model::budget::BudgetView;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::node::NodeState;
use crate::engine::model::presence::Presence;
use crate::engine::model::prewarm::PrewarmView;
use crate::engine::model::record::Direction;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::words::{Why, held_until_up_for};
use crate::engine::report::snapshot::{Alarm, NodeView, Phase, Snapshot};

/// More nodes than this with the same change at once make one sentence.
const CROWD: usize = 8;

/// The shortest interval between reports of how many nodes are down, if they are counted. Later changes are reported with the next snapshot.
const COUNTED_EVERY: Duration = Duration::from_secs(1);

/// One change.
#[derive(Debug)]
pub(crate) struct FeedEntry {
    /// The time at which the change was seen.
    pub(crate) at: Timestamp,
    /// The topic of the change.
    pub(crate) topic: ChangeTopic,
    /// The sentence.
    pub(crate) text: String,
}

/// The topic of a change.
#[derive(Debug)]
pub(crate) enum ChangeTopic {
    /// The target revision.
    Target,
    /// The phase of the rollout.
    Phase,
    /// The driver.
    Driver,
    /// Partition, selector, step.
    Plan,
    /// The numbers of nodes that may be down and pulling at once.
    Budget,
    /// Something that needs attention.
    Alarm,
    /// The health of the watches.
    View,
    /// A command and its result: of this process, or of another one as its Event reports it.
    Command,
    /// One node.
    Node {
        /// Its state before the change.
        was: Option<NodeState>,
        /// The node after the change.
        now: Box<NodeView>,
    },
    /// Many nodes.
    Nodes,
    /// Pre-warming as a whole; `None` when it is over.
    Prewarm(Option<Box<PrewarmView>>),
    /// Pre-warming of one node.
    PrewarmNode(Box<NodeView>),
    /// Commands that the operator can give now.
    Advice,
}

impl ChangeTopic {
    fn word(&self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Phase => "phase",
            Self::Driver => "driver",
            Self::Plan => "plan",
            Self::Budget => "budget",
            Self::Alarm => "alarm",
            Self::View => "view",
            Self::Command => "command",
            Self::Node { .. } => "node",
            Self::Nodes => "nodes",
            Self::Prewarm(_) | Self::PrewarmNode(_) => "prewarm",
            Self::Advice => "advice",
        }
    }
}

/// A change as one line of JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeLine<'a> {
    #[serde(flatten)]
    meta: TypeMetaJson,
    at: Timestamp,
    topic: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<NodeState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<NodeJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prewarm: Option<PrewarmJson<'a>>,
}

impl FeedEntry {
    /// The sentence with its time.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.at, self.text)
    }

    /// The change as JSON.
    pub(crate) fn json(&self) -> impl Serialize + '_ {
        let (was, node) = match &self.topic {
            ChangeTopic::Node { was, now } => (*was, Some(NodeJson::new(now, self.at))),
            ChangeTopic::PrewarmNode(node) => (None, Some(NodeJson::new(node, self.at))),
            _ => (None, None),
        };
        let prewarm = match &self.topic {
            ChangeTopic::Prewarm(prewarm) => prewarm.as_deref().map(PrewarmJson::new),
            _ => None,
        };
        let (meta, topic) = (TypeMetaJson::new("Change"), self.topic.word());
        ChangeLine { meta, at: self.at, topic, text: &self.text, was, node, prewarm }
    }
}

/// Reports the changes of one rollout.
pub(crate) struct ChangeFeed {
    /// The cluster that offered commands are for.
    place: CommandPlace,
    last: Option<Arc<Snapshot>>,
    /// This process is about to drive, so the steps towards driving are not reported.
    is_about_to_drive: bool,
    /// The answer to a command has already reported that this process drives.
    driving_is_told: bool,
    /// The phase was left out, because it changes once this process drives.
    owes_phase: bool,
    /// The budget is reported with each node that goes down or comes back, and not only when it is exceeded.
    counts: bool,
    /// The commands after a halt are left out: the caller ends there, and prints them on standard error.
    ends_at_a_halt: bool,
    /// This process cancels pre-warming, so that what it did not bring is no news.
    cancels_prewarming: bool,
    /// The last reported budget, and its time.
    told_budget: Option<(BudgetView, Timestamp)>,
    reported: ReportedCommands,
}

impl ChangeFeed {
    pub(crate) fn new(place: &CommandPlace) -> Self {
        let place = place.clone();
        Self {
            place,
            last: None,
            is_about_to_drive: false,
            driving_is_told: false,
            owes_phase: false,
            counts: false,
            ends_at_a_halt: false,
            cancels_prewarming: false,
            told_budget: None,
            reported: ReportedCommands::default(),
        }
    }

    /// For programs, which draw the number of nodes that are down; people would get a line per node.
    #[must_use]
    pub(crate) fn counting(self, counts: bool) -> Self {
        Self { counts, ..self }
    }

    /// Leaves out the commands after a halt if they are also printed on standard error.
    #[must_use]
    pub(crate) fn ending_at_a_halt(self, ends_at_a_halt: bool) -> Self {
        Self { ends_at_a_halt, ..self }
    }

    /// From now on two facts are left out: that nobody drives, and that this process holds the Lease for a write. Actions of
    /// others are still reported. Holds are left out until this process drives; the phase is reported then.
    pub(crate) fn set_about_to_drive(&mut self, is_about_to_drive: bool) {
        self.is_about_to_drive = is_about_to_drive;
    }

    /// From now on the nodes on which pre-warming failed are left out, and so is what keeps it from going on.
    pub(crate) fn set_cancels_prewarming(&mut self, cancels: bool) {
        self.cancels_prewarming = cancels;
    }

    /// The answer to a command has reported that this process drives. The next change of the driver is reported only if it adds something.
    pub(crate) fn has_told_driving(&mut self) {
        self.driving_is_told = true;
    }

    /// The changes since the last call; on the first call, the present state.
    pub(crate) fn tell(&mut self, snapshot: &Arc<Snapshot>) -> Vec<FeedEntry> {
        let mut telling = Telling {
            place: &self.place,
            snapshot,
            changes: Vec::new(),
            is_about_to_drive: self.is_about_to_drive,
            driving_is_told: self.driving_is_told,
            owes_phase: self.owes_phase,
            counts: self.counts,
            ends_at_a_halt: self.ends_at_a_halt,
            cancels_prewarming: self.cancels_prewarming,
            told_budget: self.told_budget,
        };
        let restored = snapshot.alarms.iter().find(|alarm| matches!(alarm, Alarm::StateRestored { .. }));
        let known = match (restored, &snapshot.phase) {
            // Everything is read anew: differences from earlier facts are no changes, and the present state is reported again afterwards.
            (Some(alarm), Phase::Loading) => {
                if self.last.take().is_some() {
                    telling.say(ChangeTopic::Alarm, alarm.to_string());
                }
                return telling.changes;
            }
            _ => self.last.replace(snapshot.clone()),
        };
        telling.reported(self.reported.news(snapshot));
        match known {
            None => telling.opening(),
            Some(last) => telling.since(&last),
        }
        self.owes_phase = telling.owes_phase;
        self.driving_is_told = telling.driving_is_told;
        self.told_budget = telling.told_budget;
        telling.changes
    }
}

struct Telling<'a> {
    place: &'a CommandPlace,
    snapshot: &'a Snapshot,
    changes: Vec<FeedEntry>,
    is_about_to_drive: bool,
    driving_is_told: bool,
    owes_phase: bool,
    counts: bool,
    ends_at_a_halt: bool,
    cancels_prewarming: bool,
    told_budget: Option<(BudgetView, Timestamp)>,
}

impl Telling<'_> {
    fn say(&mut self, topic: ChangeTopic, text: String) {
        self.changes.push(FeedEntry { at: self.snapshot.at, topic, text });
    }

    fn opening(&mut self) {
        self.target();
        self.driver();
        self.phase();
        self.plan();
        self.budget();
        if !unseen(self.snapshot).is_empty() {
            self.view();
        }
        self.alarms(&[]);
        let troubled = |node: &&NodeView| match node.state {
            NodeState::Failed | NodeState::NodeDown | NodeState::PullFailed => true,
            NodeState::Creating => node.cause.is_some(),
            NodeState::Terminating
            | NodeState::Pulling
            | NodeState::Starting
            | NodeState::Soaking
            | NodeState::Outdated
            | NodeState::Updated
            | NodeState::Unknown
            | NodeState::Ineligible => false,
        };
        let nodes = self.snapshot.nodes.clone();
        self.nodes(nodes.iter().filter(troubled).map(|node| (None, node)).collect());
        self.prewarming(None);
    }

    fn since(&mut self, last: &Snapshot) {
        let snapshot = self.snapshot;
        // A DaemonSet that is gone has no other news than its absence, which the caller reports.
        if snapshot.daemonset == Presence::Absent {
            return;
        }
        let is_there = snapshot.daemonset == Presence::Present;
        let is_over =
            last.started_at.is_some() && snapshot.started_at.is_none() && snapshot.phase == Phase::Idle && is_there;
        if is_over {
            // The driver and the budget no longer belong to a rollout.
            return self.ended(last);
        }
        let hash = |snapshot: &Snapshot| snapshot.to.as_ref().map(|revision| revision.hash.clone());
        let retargeted = hash(last) != hash(snapshot);
        // The controller gives a revision that there was before a new number only after it has become the target.
        let number = |snapshot: &Snapshot| snapshot.to.as_ref().and_then(|revision| revision.number);
        if retargeted || number(last) != number(snapshot) {
            self.target();
        }
        let stopped = last.driver_stopped != snapshot.driver_stopped && snapshot.driver_stopped.is_some();
        if who(&last.driver) != who(&snapshot.driver) || stopped || last.strategy != snapshot.strategy {
            self.driver();
        }
        let (was, is) = (&last.plan, &snapshot.plan);
        let turned = last.direction != snapshot.direction;
        if turned || (was.partition, &was.selector, was.step) != (is.partition, &is.selector, is.step) {
            self.plan();
        }
        let (was, is) = (&last.budget, &snapshot.budget);
        let other_limits = (was.max_unavailable, was.max_pulling) != (is.max_unavailable, is.max_pulling);
        if other_limits || self.is_told_again(is) {
            self.budget();
        }
        self.alarms(&last.alarms);
        self.taken_away(last);
        self.released(last);
        if !last.nodes.is_shared_with(&snapshot.nodes) {
            self.moved(last, retargeted);
        }
        if unseen(last) != unseen(snapshot) {
            self.view();
        }
        self.prewarming(Some(last));
        // This comes last, because it is the result of the lines above.
        let late = |snapshot: &Snapshot| snapshot.not_sent().map(|unsent| unsent.kind);
        let changed =
            last.phase != snapshot.phase || last.direction != snapshot.direction || late(last) != late(snapshot);
        if changed || self.owes_phase {
            self.phase();
        }
    }

    fn ended(&mut self, last: &Snapshot) {
        self.alarms(&last.alarms);
        self.released(last);
        if !last.nodes.is_shared_with(&self.snapshot.nodes) {
            self.moved(last, false);
        }
        if unseen(last) != unseen(self.snapshot) {
            self.view();
        }
        self.prewarming(Some(last));
        let went_back = last.direction == Direction::Back || self.snapshot.was_rolled_back_since(last.at);
        self.over(if went_back { Direction::Back } else { Direction::Forward });
    }

    fn driver(&mut self) {
        if self.is_about_to_drive && self.is_on_our_way() {
            return;
        }
        let told = std::mem::take(&mut self.driving_is_told);
        let drives = matches!(self.snapshot.driver, DriverView::You { lapsed: false, .. });
        if !(told && drives && !self.snapshot.only_prewarms()) {
            self.say(ChangeTopic::Driver, self.snapshot.driving().to_string());
        }
    }

    /// Whether no other process is involved in the steps by which this process begins to drive.
    fn is_on_our_way(&self) -> bool {
        match &self.snapshot.driver {
            DriverView::Nobody | DriverView::Waiting { holder: None } | DriverView::You { .. } => true,
            DriverView::Unknown
            | DriverView::Waiting { holder: Some(_) }
            | DriverView::Unconfirmed { .. }
            | DriverView::Other { .. }
            | DriverView::Lost { .. } => false,
        }
    }

    fn phase(&mut self) {
        let snapshot = self.snapshot;
        let changes_with_the_driver = matches!(snapshot.phase, Phase::Held | Phase::Running | Phase::Preparing);
        let nobody = snapshot.driver.is_nobody_yet();
        let for_a_write = self.is_about_to_drive && self.is_on_our_way();
        let before = for_a_write || (nobody && (self.is_about_to_drive || self.owes_phase));
        self.owes_phase = before && changes_with_the_driver && snapshot.not_sent().is_none();
        if self.owes_phase {
            return;
        }
        let counts = snapshot.counts;
        let text = format!("{}, {} of {} updated", snapshot.doing(), counts.updated, counts.nodes);
        self.say(ChangeTopic::Phase, text);
        if let Some(halt_advice) = halt_advice(self.place, snapshot).filter(|_| !self.ends_at_a_halt) {
            self.say(ChangeTopic::Advice, halt_advice);
        }
    }

    /// The rollout is over. It may have been complete only between two snapshots. `direction` is its last direction.
    fn over(&mut self, direction: Direction) {
        let Snapshot { counts, .. } = self.snapshot;
        let how = match direction {
            Direction::Forward if counts.updated == counts.nodes => "complete and handed back",
            Direction::Forward => "handed back",
            Direction::Back => "rolled back and handed back",
        };
        let text = format!("{how}: {}, {} of {} updated", self.snapshot.doing(), counts.updated, counts.nodes);
        self.say(ChangeTopic::Phase, text);
    }

    fn plan(&mut self) {
        if self.snapshot.started_at.is_some() {
            self.say(ChangeTopic::Plan, self.snapshot.plan_in_words());
        }
    }

    /// Whether the number of nodes that are down is news: it has crossed the limit since the last report, or nodes are counted.
    fn is_told_again(&self, is: &BudgetView) -> bool {
        let Some((told, at)) = &self.told_budget else { return false };
        let is_exceeded = |budget: &BudgetView| budget.charged > budget.max_unavailable;
        let down = |it: &BudgetView| (it.charged, it.rollout, it.suspect, it.node, it.pre_existing);
        let counted = self.counts && down(told) != down(is) && self.snapshot.at.since(*at) >= COUNTED_EVERY;
        counted || is_exceeded(told) != is_exceeded(is)
    }

    fn budget(&mut self) {
        self.told_budget = Some((self.snapshot.budget, self.snapshot.at));
        self.say(ChangeTopic::Budget, self.snapshot.budget_and_slots());
    }

    fn view(&mut self) {
        self.say(ChangeTopic::View, format!("view: {}", self.snapshot.freshness()));
    }

    /// New alarms. A halt is reported with its phase.
    fn alarms(&mut self, last: &[Alarm]) {
        for alarm in &self.snapshot.alarms {
            if !last.contains(alarm) && !matches!(alarm, Alarm::Halted { .. }) {
                let suspend_hint =
                    alarm.suspend_hint().map(|how| format!("; to suspend it: {how}")).unwrap_or_default();
                self.say(ChangeTopic::Alarm, format!("{alarm}{suspend_hint}"));
            }
        }
    }

    /// Reports the nodes that changed. If the target changed, pods that are outdated for that reason alone are no change.
    fn moved(&mut self, last: &Snapshot, retargeted: bool) {
        let before: HashMap<&Str, &NodeView> = last.nodes.iter().map(|node| (&node.name, node)).collect();
        let nodes = self.snapshot.nodes.clone();
        let mut moved = Vec::new();
        for node in nodes.iter() {
            let was = before.get(&node.name).copied();
            let outdated = retargeted && was.is_some_and(|was| target::is_only_outdated(was, node));
            if was.map(summary) != Some(summary(node)) && !outdated {
                moved.push((was, node));
            }
        }
        self.nodes(moved);
        let here: std::collections::HashSet<&Str> = nodes.iter().map(|node| &node.name).collect();
        let gone: Vec<_> = last.nodes.iter().filter(|node| !here.contains(&node.name)).collect();
        match gone.as_slice() {
            [] => {}
            crowd if crowd.len() > CROWD => self.say(ChangeTopic::Nodes, format!("{} nodes are gone", crowd.len())),
            few => few.iter().for_each(|node| self.say(ChangeTopic::Nodes, format!("{}: gone", node.name))),
        }
    }

    fn nodes(&mut self, moved: Vec<(Option<&NodeView>, &NodeView)>) {
        let becomes_updated = |was: Option<&NodeView>, node: &NodeView| {
            node.state == NodeState::Updated && was.is_some_and(|was| was.state != NodeState::Updated)
        };
        // If several nodes are updated at once, the lines count up to the number of the snapshot.
        let arrived = moved.iter().filter(|(was, node)| becomes_updated(*was, node)).count();
        let mut updated = self.snapshot.counts.updated.saturating_sub(u32::try_from(arrived).unwrap_or(u32::MAX));
        let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (was, node) in moved {
            let key = (was.map(|was| was.state), node.state, node.cause.as_ref().map(|cause| cause.kind));
            groups.entry(key).or_default().push((was, node));
        }
        for ((was, state, _), group) in groups {
            match group.as_slice() {
                crowd if crowd.len() > CROWD => {
                    let why = crowd[0].1.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
                    let came = crowd.iter().filter(|(was, node)| becomes_updated(*was, node)).count();
                    updated = updated.saturating_add(u32::try_from(came).unwrap_or(u32::MAX));
                    let was = was.map(|was| format!("{was} → ")).unwrap_or_default();
                    self.say(ChangeTopic::Nodes, format!("{} nodes: {was}{state}{why}", crowd.len()));
                }
                few => {
                    for (was, node) in few {
                        updated = updated.saturating_add(u32::from(becomes_updated(*was, node)));
                        self.node(was.map(|was| was.state), node, updated);
                    }
                }
            }
        }
    }

    /// Reports one node; `updated` is the number of updated nodes including it.
    fn node(&mut self, was: Option<NodeState>, node: &NodeView, updated: u32) {
        // The state already tells that the node has begun to wait.
        let node_only = NodeView { pod_wait: None, ..NodeView::clone(node) };
        let why = Why { node: &node_only, at: self.snapshot.at }.to_string();
        let message = node.cause.as_ref().and_then(|cause| cause.message.as_deref());
        let counts = self.snapshot.counts;
        let text = match (node.state, why.as_str(), message) {
            (NodeState::Updated, ..) if node.cause.is_none() => {
                format!("{}: {}, {updated} of {}", node.name, node.state, counts.nodes)
            }
            // The hold of an outdated node comes from the plan, and was reported with the plan.
            (NodeState::Outdated, ..) if node.cause.is_none() => {
                format!("{}: {}", node.name, node.state)
            }
            (state, "", _) => format!("{}: {state}", node.name),
            (state, why, None) => format!("{}: {state}: {why}", node.name),
            (state, why, Some(message)) => format!("{}: {state}: {why} ({message})", node.name),
        };
        let watched = self.snapshot.restarts_watched_for();
        let text = if node.holds_the_others() { format!("{text}; {}", held_until_up_for(watched)) } else { text };
        self.say(ChangeTopic::Node { was, now: Box::new(node.clone()) }, text);
    }
}

/// The parts of a node whose change is worth a sentence: everything else of it changes with them, with the plan, or with the cluster. A starting
/// pod that is not ready yet is not.
fn summary(node: &NodeView) -> impl PartialEq + use<> {
    let begins = match node.state {
        NodeState::Creating | NodeState::Starting | NodeState::Soaking => true,
        NodeState::Failed
        | NodeState::NodeDown
        | NodeState::Terminating
        | NodeState::Pulling
        | NodeState::PullFailed
        | NodeState::Outdated
        | NodeState::Updated
        | NodeState::Unknown
        | NodeState::Ineligible => false,
    };
    let cause = node.cause.as_ref().map(|cause| cause.kind);
    let cause = cause.filter(|kind| node.lost_readiness || !(begins && kind.is_ordinary_at_start()));
    (node.state.without_retries(), cause, node.holds_the_others())
}

/// The driver, without the time at which it was seen.
fn who(driver: &DriverView) -> (u8, Option<Str>) {
    match driver {
        DriverView::Unknown => (0, None),
        DriverView::Nobody => (1, None),
        DriverView::You { lapsed: false, .. } => (2, None),
        DriverView::You { lapsed: true, .. } => (7, None),
        DriverView::Waiting { holder } => (3, holder.clone()),
        DriverView::Other { holder, .. } => (4, Some(holder.clone())),
        DriverView::Lost { holder, .. } => (5, Some(holder.clone())),
        DriverView::Unconfirmed { holder, .. } => (6, Some(holder.clone())),
    }
}

/// The watches that do not see anything, without the network's message, which varies between attempts.
fn unseen(snapshot: &Snapshot) -> Vec<(Watched, std::mem::Discriminant<WatchHealth>)> {
    let seen = |health: &WatchHealth| matches!(health, WatchHealth::Live | WatchHealth::Loading);
    let unseen = snapshot.watches.iter().filter(|watch| !seen(&watch.health));
    unseen.map(|watch| (watch.watched, std::mem::discriminant(&watch.health))).collect()
}
