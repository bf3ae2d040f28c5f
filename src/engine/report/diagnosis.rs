//! A diagnosis, cause by cause: one finding for every node that is not where it should be, with its evidence and remedies.
//!
//! ```text
//! ✗ image not found: edge/agent:v9     2 nodes for 3m: ipc-017 ipc-018
//!     manifest for edge/agent:v9 not found: manifest unknown
//!     → correct the name or the tag, or push the image; give the DaemonSet an image that is there, or roll back
//! · budget: 2 of 2 taken               22 nodes
//! ```
//!
//! The cause of a node is the one that the engine judges by (docs/kubernetes.md, *Why a pod is not healthy*). A hundred nodes with the same cause are
//! one finding.

mod ages;
mod crash_loop;
mod prewarming;
mod remedies;
mod titles;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use self::crash_loop::in_crash_loop;
use self::titles::title;
use super::advice::{Advice, RemedyAct};
use super::snapshot::pull_words::PullEstimate;
use super::snapshot::words::Why;
use super::snapshot::{Alarm, NodeView, Phase, Snapshot};
use super::trouble::TroubleKind;
use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::clocks::ClockOff;
use crate::engine::model::facts::{DaemonSetCounters, Severity};
use crate::engine::model::hold::Hold;
use crate::engine::model::inspection::Reading;
use crate::engine::model::kubectl_command::KubectlCommand;
use crate::engine::model::node::{Blame, DownBy, NodeState, RestartKind};
use crate::engine::model::occupancy::{NodeOccupancy, lacking_resources};
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::pull::{ImagePull, PullState};
use crate::engine::model::quantity::counted;
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::rules::pulls::times_slower;

/// How many different texts of a finding are kept as its evidence.
const EVIDENCE: usize = 3;
/// The title for pods that are ready and whose nodes still count as down.
const SOAKS: &str = "ready, and counted as down until it has soaked";

/// Said of nodes that the rollout did not let go.
const TAKEN_AWAY: &str = "somebody else took its pod away: that is charged to the budget";

/// The findings about a rollout.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Diagnosis {
    /// Findings about the whole rollout come first, then those about nodes: what is wrong before what waits, failures before other trouble, most
    /// nodes first.
    pub findings: Vec<Finding>,
    /// How many nodes should run the pod.
    pub nodes: u32,
    /// How many of them are updated and have no finding.
    pub at_goal: u32,
    /// How many of them are updated: pods at the target revision that are available.
    pub updated: u32,
}

/// The subject of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// An alarm of the rollout.
    Alarm,
    /// A pod is not healthy.
    Cause(CauseKind),
    /// A node went down after its update.
    Suspect,
    /// A node is not Ready.
    NodeDown,
    /// A pod restarted after it was ready.
    Restarted,
    /// A pull takes much longer than on others.
    SlowPull,
    /// Nodes went down lately, in numbers that do not speak against the revision (yet).
    Comparison,
    /// Images did not arrive in pre-warming.
    Prewarm,
    /// A kubelet reports pressure.
    Pressure,
    /// A clock is off.
    Clock,
    /// A node is being updated.
    Moving,
    /// A node waits to be updated.
    Waits,
}

/// Nodes with the same cause.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The subject.
    pub kind: FindingKind,
    /// The finding, in a few words.
    pub title: String,
    /// Warning: something is wrong. Normal: the nodes wait, or are being updated.
    pub severity: Severity,
    /// The nodes, in the order of the list; empty where the whole rollout is concerned.
    pub nodes: Vec<Str>,
    /// Since when the longest affected node is in this state, as far as known.
    pub since: Option<Timestamp>,
    /// The texts of the cluster about it, word by word; equal texts once.
    pub evidence: Vec<FindingEvidence>,
    /// What an operator can do, most fitting remedy first.
    pub remedies: Vec<Advice>,
    /// Commands for the remedies, for the first of the nodes.
    pub commands: Vec<OfferedCommand>,
    /// The pods that hold a resource that others lack, where that was read.
    pub held: Vec<String>,
    /// Nodes count as failed because of this, so that the rollout halts by them.
    pub fails: bool,
    /// Each of the nodes may still reach the target by itself: none has failed.
    pub(crate) tries_again: bool,
}

/// The severity of a finding, as the sign of its nodes in the list shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FindingSign {
    /// Something is wrong.
    Wrong,
    /// Something is wrong that may pass by itself: it is tried again.
    TriesAgain,
    /// The nodes wait, or are being updated.
    Waits,
}

/// A command that an operator may paste.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OfferedCommand {
    /// The purpose of the command, and any reason against it.
    pub text: String,
    /// The command.
    pub command: KubectlCommand,
}

/// A text of the cluster about a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FindingEvidence {
    /// The text.
    pub text: Str,
    /// The number of nodes with this text.
    pub nodes: u32,
    /// The first of these nodes; `None` where the whole rollout is concerned.
    pub node: Option<Str>,
}

impl fmt::Display for FindingEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.nodes > 1 { write!(f, "  ({} nodes)", self.nodes) } else { Ok(()) }
    }
}

impl Diagnosis {
    /// `116 of 120 nodes updated and well, 118 serve`. The second number counts nodes with a ready pod, also while it soaks, and is left out where it is the
    /// same.
    /// Where something is wrong with updated nodes: `60 of 120 nodes updated, 59 of them well`. Where pods or revisions may not be read: what the DaemonSet's
    /// controller counts.
    pub fn how_many(&self, snapshot: &Snapshot) -> String {
        if snapshot.is_counted_by_its_controller() {
            let DaemonSetCounters { desired, updated, available, .. } = snapshot.counters;
            return format!("{updated} of {desired} nodes updated, {available} available, as its controller counts");
        }
        let Self { nodes, at_goal, updated, .. } = self;
        let serving = snapshot.nodes.iter().filter(|node| node.eligible && node.serves).count();
        let serve = match u32::try_from(serving) {
            Ok(serving) if serving == *at_goal => String::new(),
            _ => format!(", {serving} serve"),
        };
        match updated == at_goal {
            true => format!("{at_goal} of {nodes} nodes updated and well{serve}"),
            false => format!("{updated} of {nodes} nodes updated, {at_goal} of them well{serve}"),
        }
    }

    /// The diagnosis of `snapshot`.
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut findings: Vec<Finding> = snapshot.alarms.iter().map(of_alarm).collect();
        // The holds of nodes say that nobody is seen driving; this one says who drove, and until when.
        let silent = snapshot.silent_driver().filter(|_| matches!(snapshot.phase, Phase::Running | Phase::Held));
        findings.extend(silent.map(|words| {
            let wait = Advice::says(": whoever is to drive waits until that is clear, 15 s at most");
            let what = [Advice::asks("drive it", RemedyAct::Drive).then(wait)];
            Finding::new(FindingKind::Waits, words, Severity::Normal).do_this(what)
        }));
        let compared = snapshot.comparisons.iter().map(|compared| compared.to_string());
        findings.extend(compared.map(|title| Finding::new(FindingKind::Comparison, title, Severity::Normal)));
        let (of_prewarming, told) = prewarming::findings(snapshot);
        findings.extend(of_prewarming);
        let mut places: HashMap<(FindingKind, String), usize> = HashMap::new();
        let (mut nodes, mut at_goal, mut updated) = (0, 0, 0);
        for node in snapshot.nodes.iter() {
            nodes += u32::from(node.eligible);
            updated += u32::from(node.eligible && node.state == NodeState::Updated);
            let waits_for_told = |found: &Finding| found.kind == FindingKind::Waits && told.contains(&node.name);
            let taken_away = (node.down_by == Some(DownBy::Others)).then(|| TAKEN_AWAY.into());
            let found = of_node(node, snapshot).map(|found| found.says(taken_away));
            if found.as_ref().is_some_and(waits_for_told) {
                continue;
            }
            let Some(found) = found else {
                at_goal += u32::from(node.eligible);
                continue;
            };
            let place = *places.entry((found.kind, ages::without_amounts(&found.title))).or_insert(findings.len());
            match findings.get_mut(place) {
                Some(finding) => finding.add(found),
                None => findings.push(found),
            }
        }
        tell_the_halt_by_its_causes(&mut findings, snapshot);
        findings.sort_by_key(|finding| {
            let waits = finding.severity == Severity::Normal;
            let of_nodes = !finding.nodes.is_empty();
            (waits, of_nodes, !finding.fails, std::cmp::Reverse(finding.nodes.len()), finding.kind)
        });
        Self { findings, nodes, at_goal, updated }
    }

    /// The nodes to read for which pods hold a resource that another pod lacks, each with the pod that lacks it. Of the nodes about which
    /// the scheduler says the same, only one is read.
    pub fn lacking<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = (&'a Str, &'a Str)> {
        let evidence = self
            .findings
            .iter()
            .filter(|finding| finding.kind.may_lack_something())
            .flat_map(|finding| &finding.evidence);
        let lacks = evidence.filter(|evidence| !lacking_resources(&evidence.text).is_empty());
        lacks.filter_map(|evidence| {
            let node = evidence.node.as_ref()?;
            Some((node, snapshot.nodes.iter().find(|view| view.name == *node)?.pod.as_ref()?))
        })
    }

    /// Takes in the reading of a node that lacks a resource.
    pub fn add_occupancy(&mut self, node: &Str, read: &Reading<NodeOccupancy>) {
        let lacks = |finding: &&mut Finding| finding.kind.may_lack_something() && finding.nodes.contains(node);
        let Some(finding) = self.findings.iter_mut().find(lacks) else { return };
        match read {
            Reading::Read(occupancy) => finding.held.extend(occupancy.lines(node)),
            Reading::Failed(why) => {
                let text = format!("which pods hold it cannot be read: {why}");
                if !finding.held.contains(&text) {
                    finding.held.push(text);
                }
                let command = KubectlCommand::DescribeNode { node: node.clone() };
                let text = "who may list the pods of all namespaces sees them with".to_owned();
                finding.commands.push(OfferedCommand { text, command });
            }
            Reading::Pending => finding.held.push(format!("which pods hold it on {node} is being read")),
            Reading::Absent => {}
        }
    }

    /// Whether any finding is wrong, and not merely waiting.
    pub fn is_bad(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Warning)
    }
}

impl FindingKind {
    /// Whether the finding may say which resource a node lacks.
    fn may_lack_something(self) -> bool {
        matches!(self, Self::Cause(kind) if kind.names_what_is_lacking())
    }
}

/// What is younger than this may be older than its time says: that may only be the time at which it was found.
const FOUND: Duration = Duration::from_secs(5);

impl Finding {
    /// For how long it has been so at `at`; `None` where that is not known. Whoever looks only once finds some causes at that moment, so a very small age tells
    /// nothing.
    pub fn age(&self, at: Timestamp) -> Option<Duration> {
        self.since.map(|since| at.since(since)).filter(|age| *age > FOUND)
    }

    fn new(kind: FindingKind, title: impl Into<String>, severity: Severity) -> Self {
        Self {
            kind,
            title: title.into(),
            severity,
            nodes: Vec::new(),
            since: None,
            evidence: Vec::new(),
            remedies: Vec::new(),
            commands: Vec::new(),
            held: Vec::new(),
            fails: false,
            tries_again: false,
        }
    }

    /// How bad it is.
    pub fn sign(&self) -> FindingSign {
        match self.severity {
            Severity::Normal => FindingSign::Waits,
            Severity::Warning if self.tries_again => FindingSign::TriesAgain,
            Severity::Warning => FindingSign::Wrong,
        }
    }

    fn on(mut self, node: &NodeView) -> Self {
        self.fails = node.counts_as_failed();
        self.tries_again = !self.fails && node.state.is_moving();
        self.nodes.push(node.name.clone());
        // The age of a cause, which may have been there before its node counted as failed; of other trouble the same age as in the header.
        let of_cause = || node.cause_since.or(node.since);
        self.since = match (TroubleKind::of(node), self.kind) {
            (Some(TroubleKind::Failed(cause)), FindingKind::Cause(_)) => {
                let loops = node.crash_loop.filter(|crash_loop| Some(crash_loop.cause) == cause);
                loops.map(|crash_loop| crash_loop.since).or_else(of_cause)
            }
            (Some(trouble), FindingKind::Cause(_) | FindingKind::Restarted) => trouble.since(node),
            (None, FindingKind::Cause(_)) => of_cause(),
            // The node says it now, and since when is not known.
            (_, FindingKind::Pressure | FindingKind::Clock) => None,
            _ => node.since,
        };
        self
    }

    fn says(mut self, text: Option<Str>) -> Self {
        let node = self.nodes.first().cloned();
        self.evidence.extend(text.map(|text| FindingEvidence { text, nodes: 1, node }));
        self
    }

    fn do_this(mut self, what: impl IntoIterator<Item = impl Into<Advice>>) -> Self {
        self.remedies = what.into_iter().map(Into::into).collect();
        self
    }

    fn offers(mut self, commands: impl IntoIterator<Item = OfferedCommand>) -> Self {
        self.commands.extend(commands);
        self
    }

    /// Adds another node with the same finding.
    fn add(&mut self, other: Self) {
        if let Some(title) = ages::merged(&self.title, &other.title) {
            self.title = title.to_string();
        }
        self.nodes.extend(other.nodes);
        self.fails |= other.fails;
        self.tries_again &= other.tries_again;
        self.since = match (self.since, other.since) {
            (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        for evidence in other.evidence {
            let merged = |known: &FindingEvidence| ages::merged(&known.text, &evidence.text);
            match self.evidence.iter().enumerate().find_map(|(at, known)| Some((at, merged(known)?))) {
                Some((at, text)) => {
                    self.evidence[at].nodes += evidence.nodes;
                    self.evidence[at].text = text;
                }
                None if self.evidence.len() < EVIDENCE => self.evidence.push(evidence),
                None => {}
            }
        }
    }
}

/// The halt without its reason, if the findings about nodes give it: they name the cause of each node by which the rollout halted.
fn tell_the_halt_by_its_causes(findings: &mut [Finding], snapshot: &Snapshot) {
    let Some(at) = snapshot.alarms.iter().position(|alarm| matches!(alarm, Alarm::Halted { .. })) else { return };
    let Some(halt) = &snapshot.halt else { return };
    let failed = snapshot.nodes.iter().filter(|node| node.counts_as_failed()).map(|node| &node.name);
    let failed: HashSet<&Str> = failed.collect();
    if halt.failed().is_empty() || !halt.failed().iter().all(|node| failed.contains(node)) {
        return;
    }
    // Those past which an operator resumed did not halt it again.
    let accepted = snapshot.nodes.iter().filter(|node| failed.contains(&node.name) && node.accepted).count();
    let before = if accepted == 0 { String::new() } else { format!(" ({accepted} accepted before)") };
    let title = format!("halted: {} failed{before}", counted(failed.len() - accepted, "node"));
    // The findings begin with those of the alarms.
    if let Some(finding) = findings.get_mut(at) {
        finding.title = title;
    }
}

fn of_alarm(alarm: &Alarm) -> Finding {
    let tool = alarm.suspend_hint().map(|hint| format!("keep it from doing that again: {hint}"));
    let mut finding = Finding::new(FindingKind::Alarm, alarm.to_string(), Severity::Warning);
    finding.remedies.extend(tool.map(Advice::from));
    finding
}

/// The one finding of a node; `None` where the node is at its goal and has nothing notable.
fn of_node(node: &NodeView, snapshot: &Snapshot) -> Option<Finding> {
    let warns = |kind, title: String| Finding::new(kind, title, Severity::Warning).on(node);
    let waits = |kind, title: String| Finding::new(kind, title, Severity::Normal).on(node);
    if node.suspect.is_some() || node.blame == Some(Blame::Suspect) {
        let text = node.suspect.map(|suspect| match node.state {
            NodeState::NodeDown => suspect.words(snapshot.at).to_string().into(),
            _ => format!("{}; it is back", suspect.words(snapshot.at)).into(),
        });
        // Those that count as failed are a finding of their own.
        let title = match node.counts_as_failed() {
            true => "its node went down after the update, and counts as failed",
            false => "its node went down after the update",
        };
        let found = warns(FindingKind::Suspect, title.to_owned()).says(text);
        let follows = Advice::roll_back().then(" if others follow it".into());
        let what = match node.counts_as_failed() {
            true => follows
                .then("; ".into())
                .then(Advice::asks("a resume", RemedyAct::Resume))
                .then(" accepts those that are back, and no longer counts them".into()),
            false => follows,
        };
        // Its new containers have not run yet: what takes it off the network may be the pull, and not the revision.
        let pulls = matches!(node.state, NodeState::Pulling | NodeState::PullFailed | NodeState::Creating);
        let found =
            found.says(pulls.then(|| "its new pod has not started yet: its link may be full of the pull".into()));
        let fewer = pulls.then(|| Advice::asks("lower how many pull at once", RemedyAct::LimitPulls));
        let what = fewer.into_iter().chain([Advice::says("look at the node: its kubelet, its disk, its link"), what]);
        return Some(found.do_this(what).offers([remedies::describe_node(node)]));
    }
    if let Some(found) = in_crash_loop(node, snapshot) {
        return Some(found);
    }
    if let Some(cause) = &node.cause
        && is_trouble(cause, node)
    {
        let found = warns(FindingKind::Cause(cause.kind), title(cause, node, snapshot)).says(cause.message.clone());
        let pressure = node.pressure.as_ref().filter(|_| cause.kind.comes_of_pressure());
        let found_under = pressure.map(|pressure| format!("its kubelet reports {pressure}").into());
        let mut found = found.says(last_refused(node, snapshot)).says(found_under);
        found.remedies = remedies::of(cause, node, snapshot);
        found.commands = remedies::commands(cause, node, snapshot);
        return Some(found);
    }
    match node.state {
        NodeState::NodeDown => {
            let found = warns(FindingKind::NodeDown, CauseKind::NodeDown.to_string());
            return Some(found.do_this(remedies::about(CauseKind::NodeDown)).offers([remedies::describe_node(node)]));
        }
        NodeState::Failed => {
            let found = warns(FindingKind::Cause(CauseKind::Deadline), why_in_full(node, snapshot));
            return Some(
                found.do_this(remedies::about(CauseKind::Deadline)).offers(remedies::restarts(node, snapshot)),
            );
        }
        NodeState::Terminating
        | NodeState::Creating
        | NodeState::Pulling
        | NodeState::PullFailed
        | NodeState::Starting
        | NodeState::Soaking
        | NodeState::Outdated
        | NodeState::Updated
        | NodeState::Unknown
        | NodeState::Ineligible => {}
    }
    if let Some(restarted) = node.restarted.as_deref().copied() {
        let kind = restarted.kind();
        let end = restarted.end.filter(|_| kind != RestartKind::Evictions);
        let end = end.map(|end| format!(", last: {end}")).unwrap_or_default();
        let what = match kind {
            RestartKind::Restarts => "restarts after it was ready",
            RestartKind::Evictions => "its kubelet evicted its pods after they were ready",
            RestartKind::Both => "restarts, and is evicted, after it was ready",
        };
        let found = warns(FindingKind::Restarted, what.to_owned());
        let text: Str = format!("{}{end}", counted(restarted.times as usize, "time")).into();
        if kind == RestartKind::Evictions {
            let evicted = Cause { kind: CauseKind::Evicted, container: None, message: None };
            let found = found.says(Some(text)).do_this(remedies::about(evicted.kind));
            return Some(found.offers(remedies::commands(&evicted, node, snapshot)));
        }
        let found = found.says(Some(text)).do_this(["read the log of the run before"]);
        return Some(found.offers(remedies::restarts(node, snapshot)));
    }
    if node.keeps_restarting() {
        let found = warns(FindingKind::Restarted, "restarts before it was ready".to_owned());
        let times = if node.counted_restarts() == 1 {
            "once so far".to_owned()
        } else {
            format!("{} times so far", node.counted_restarts())
        };
        let found = found.says(Some(times.into())).do_this(["read the log of the run before"]);
        return Some(found.offers(remedies::restarts(node, snapshot)));
    }
    // One that is over is no reason to look at a node that is well, whether it is updated or has the image for its update.
    let waits_for_its_pod = !matches!(node.state, NodeState::Updated | NodeState::Outdated | NodeState::Ineligible);
    if waits_for_its_pod && let Some((image, compared)) = slow_pull(node, snapshot) {
        let found = warns(FindingKind::SlowPull, format!("slow pull of {image}"));
        let fewer = Advice::asks("lower how many pull at once", RemedyAct::LimitPulls);
        let what = [
            Advice::says("look at the link and the disk of the node"),
            Advice::asks("pre-warm the image", RemedyAct::Prewarm).or(fewer),
        ];
        return Some(found.says(Some(compared.into())).do_this(what));
    }
    if let Some(pressure) = &node.pressure {
        let found = warns(FindingKind::Pressure, format!("its node is under pressure: {pressure}"));
        let what = [
            "free what its kubelet lacks: it evicts pods, and may reject the next one",
            "look at the conditions of the node",
        ];
        return Some(found.do_this(what));
    }
    if let Some(millis) = node.notable_clock() {
        let found = warns(FindingKind::Clock, "its clock is off".to_owned());
        let what = ["set the clock of the node: its kubelet writes times that others compare with theirs"];
        return Some(found.says(Some(ClockOff(millis).to_string().into())).do_this(what));
    }
    match node.state {
        NodeState::Updated | NodeState::Ineligible => None,
        // The time since which a node is outdated does not tell how long it has waited.
        NodeState::Outdated => Some(Finding { since: None, ..waits(FindingKind::Waits, why_in_full(node, snapshot)) }),
        // Nodes being updated wait for different things; their state is what they share, so it is the title.
        state => {
            let text = why(node, snapshot);
            let found = waits(FindingKind::Moving, state.to_string());
            let counts = (state == NodeState::Soaking).then(|| SOAKS.into());
            let found = found.says(counts);
            Some(found.says(Some(text).filter(|text| !text.is_empty()).map(Into::into)))
        }
    }
}

/// The image whose pull takes or took much longer than on other nodes, with the factor.
fn slow_pull<'a>(node: &'a NodeView, snapshot: &Snapshot) -> Option<(&'a Str, String)> {
    if let (Some(PodWait::Pull { since: Some(since) }), Some(usual)) =
        (node.pod_wait.as_deref(), node.usual_pull.as_deref().copied())
    {
        let elapsed = snapshot.at.since(*since);
        let pulled = node.images.iter().find(|pull| matches!(pull.state, PullState::Pulling { .. }));
        if let (Some(pull), Some(_)) = (pulled, times_slower(elapsed, usual)) {
            return Some((&pull.image, PullEstimate { elapsed, usual }.to_string()));
        }
    }
    let slow = |pull: &'a ImagePull| Some((&pull.image, snapshot.pulls.slow_on(&node.name, &pull.image)?.compared()));
    node.images.iter().find_map(slow)
}

/// Whether the cause is more than the ordinary course of a pod that starts.
fn is_trouble(cause: &Cause, node: &NodeView) -> bool {
    let starts =
        matches!(node.state, NodeState::Creating | NodeState::Starting | NodeState::Pulling | NodeState::Soaking);
    !(cause.kind.is_ordinary_at_start() && starts && !node.lost_readiness)
}

/// A refusal of pod creation that was last said this long ago may have ended meanwhile: its age is told.
const SAID_BEFORE: Duration = Duration::from_secs(60);

/// How old the refusal is that keeps the node's pod from being created. The controller tries again at intervals of up to 17 minutes, so an old one need not
/// hold any more.
fn last_refused(node: &NodeView, snapshot: &Snapshot) -> Option<Str> {
    let is_said = |cause: &Cause| cause.kind.is_told_by_controller() && cause.message.is_some();
    let is_refused = node.pod.is_none() && node.cause.as_ref().is_some_and(|cause| is_said(cause));
    let said_at = snapshot.creation_refused_at.filter(|_| is_refused)?;
    let age = snapshot.at.since(said_at);
    (age >= SAID_BEFORE).then(|| format!("said {} ago; no pod was created since", ShortDuration(age)).into())
}

fn why(node: &NodeView, snapshot: &Snapshot) -> String {
    Why { node, at: snapshot.at }.to_string()
}

/// The reason for a node's state, never empty: what cannot be seen where nothing else is known to hold it, else its state. Words of a refusal that
/// differ only by the name of the pod are the same for all nodes.
fn why_in_full(node: &NodeView, snapshot: &Snapshot) -> String {
    match why(node, snapshot) {
        empty if empty.is_empty() => snapshot.forbidden_view().unwrap_or_else(|| node.state_words()),
        why if matches!(node.hold, Some(Hold::DeletionRefused { .. })) => without_pod_name(&why),
        why => why,
    }
}

/// `pods "agent-*" is forbidden` for `pods "agent-8pm8c" is forbidden`.
fn without_pod_name(text: &str) -> String {
    const BEGINS: &str = "pods \"";
    let named = text.find(BEGINS).map(|at| at + BEGINS.len());
    let end = named.and_then(|from| Some(from + text[from..].find('"')?));
    let Some((from, end)) = named.zip(end) else { return text.to_owned() };
    match text[from..end].rfind('-') {
        Some(dash) => format!("{}*{}", &text[..=from + dash], &text[end..]),
        None => text.to_owned(),
    }
}
