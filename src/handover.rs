//! A rollout as it is handed over: what it is, what is wrong, how far it was when, and what happened. As text, as one HTML page, and
//! as JSON. Both front ends write it: `rolldeck report`, and `ctrl-s` in the console.
//!
//! ```text
//!  Snapshot ─┬─▶ what it is, what is wrong, every node
//!  Story ────┼─▶ node by node, how far it was when         ──▶ Handover ──▶ text · html (graph) · json
//!  audit log ┴─▶ who did what
//! ```
//!
//! Every text in it is free of secrets that can be recognised, and of characters that steer a terminal.

mod graph;
mod html;
mod json;
mod others;
mod text;

use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::Severity;
use crate::engine::model::node::NodeState;
use crate::engine::model::printable::printable;
use crate::engine::model::rollout_event::{RolloutEvent, with_present_numbers};
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::report::diagnosis::{Diagnosis, Finding};
use crate::engine::report::node_story::clock_time;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::engine::report::story::{ControllerMoment, NodeMoment, ProgressPoint, Story};
use crate::scrub::scrub;

/// The version of all shapes that programs read.
pub(crate) const API_VERSION: &str = "rolldeck.io/v1";

/// Events that are nearer to each other than this, and say the same, are one: the audit log and an Event both tell it.
const SAME_MILLIS: i64 = 5_000;

/// What began no longer ago than this may only have been found then.
const FOUND: Duration = Duration::from_secs(5);

/// A rollout, ready to be written.
pub(crate) struct Handover {
    context: String,
    snapshot: Arc<Snapshot>,
    diagnosis: Diagnosis,
    /// What happened, oldest first.
    lines: Vec<StoryLine>,
    progress: Vec<ProgressPoint>,
    /// What it is made of, and what cannot be known.
    notes: Vec<String>,
    /// What was on screen.
    screen: Option<String>,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StoryLine {
    /// When.
    pub(crate) at: Timestamp,
    /// Who did it; `None`: it happened by itself.
    pub(crate) who: Option<Str>,
    /// On which node, if it is about one.
    pub(crate) node: Option<Str>,
    /// What.
    pub(crate) text: String,
    /// Whether it is bad news.
    pub(crate) severity: Severity,
}

impl StoryLine {
    /// Something that happened to the whole rollout.
    pub(crate) fn of_event(event: &RolloutEvent) -> Self {
        let who = event.by.clone().or_else(|| Some(event.reporter_in_words()?.into()));
        Self { at: event.at, who, node: None, text: event.to_string(), severity: event.severity() }
    }

    /// Something that the DaemonSet's own controller did.
    fn of_controller(moment: &ControllerMoment) -> Self {
        let ControllerMoment { at, change } = moment;
        let who = Some("controller".into());
        Self { at: *at, who, node: None, text: change.to_string(), severity: change.severity() }
    }

    /// Something that happened to a node.
    fn of_node(moment: &NodeMoment) -> Self {
        let NodeMoment { at, node, change } = moment;
        Self { at: *at, who: None, node: Some(node.clone()), text: change.to_string(), severity: change.severity() }
    }
}

impl Handover {
    /// What is said where nothing is wrong: it may stand still all the same.
    fn nothing_wrong(&self) -> String {
        match self.snapshot.guidance() {
            Some(guidance) => format!("nothing; {}", clean(&guidance.waits)),
            None => "nothing".to_owned(),
        }
    }

    /// The rollout of `snapshot`, with what happened in it by node. `audited` is what the audit log of this account says of it, where that
    /// was read; where an Event says the same, it is told once.
    pub(crate) fn new(context: &str, snapshot: Arc<Snapshot>, story: &Story, audited: Option<Vec<StoryLine>>) -> Self {
        let mut notes = vec![
            "Times are UTC. What happened to a node before it was watched is read off its present pod, which tells since when it \
             is ready: it may have been ready before. Pods that are gone tell nothing any more."
                .to_owned(),
        ];
        let us = &snapshot.identity;
        notes.push(match story.seen_since() {
            Some(since) if since < snapshot.at => {
                format!("It was watched from {since} to {} by {us}, which wrote this.", snapshot.at)
            }
            _ => format!("It was looked at once, at {}, by {us}, which wrote this.", snapshot.at),
        });
        if story.dropped() > 0 {
            notes.push(format!("{} earlier moments of nodes are left out.", story.dropped()));
        }
        let from = match &audited {
            None => {
                "Who did what is as far as this console saw it, and as Events on the DaemonSet tell, which a cluster usually keeps for \
                 an hour. `rolldeck report` adds what the audit log says."
            }
            Some(audited) if audited.is_empty() => {
                "No audit log of this account says anything of it: who did what is as far as Events on the DaemonSet tell, which \
                 a cluster usually keeps for an hour."
            }
            Some(_) => "Who did what is from the audit log of this account, and from Events on the DaemonSet.",
        };
        notes.push(from.to_owned());
        let audited = audited.unwrap_or_default();
        let freshness = snapshot.freshness().to_string();
        if freshness != "live" {
            notes.push(format!("The view was not complete: {freshness}."));
        }
        let reported = snapshot.timeline.iter().map(StoryLine::of_event);
        let reported: Vec<StoryLine> = reported.filter(|line| !is_told(&audited, line)).collect();
        // What was before it began is another story. Where none is under way, what is known of the last ones begins with who did what.
        let first_told = audited.iter().chain(&reported).map(|line| line.at).min();
        let began = snapshot.started_at.or(first_told);
        let of_it = |moment: &&NodeMoment| began.is_none_or(|began| moment.at >= began);
        let moments = story.moments().filter(of_it).map(StoryLine::of_node);
        // What its own controller did before is why somebody took over.
        let controllers = story.of_controller().iter().map(StoryLine::of_controller);
        // Of what is told of the same instant, nodes come first: what is done about the whole rollout follows from them.
        let mut lines: Vec<StoryLine> = moments.chain(controllers).chain(reported).chain(audited).collect();
        notes.extend(others::at_unknown_times(&snapshot, &lines));
        lines.extend(others::between_changes(&lines));
        if let Some(known_from) = began {
            lines.extend(others::template_changes(&snapshot, &lines, known_from));
        }
        let earlier = snapshot.all_earlier_numbers();
        // Before the events that tell of them, another DaemonSet of this name may have had revisions of these numbers.
        let known_from = snapshot.timeline.first().map(|event| event.at);
        for line in &mut lines {
            if known_from.is_some_and(|from| line.at >= from) {
                line.text = with_present_numbers(&line.text, &earlier);
            }
            line.text = clean(&line.text);
            line.who = line.who.as_ref().map(|who| clean(who).into());
            line.node = line.node.as_ref().map(|node| clean(node).into());
        }
        lines.sort_by_key(|line| line.at);
        Self {
            context: clean(context),
            diagnosis: Diagnosis::of(&snapshot),
            snapshot,
            lines,
            progress: since_it_began(story.progress(), began),
            notes: notes.iter().map(|note| clean(note)).collect(),
            screen: None,
        }
    }

    /// With what was on screen.
    pub(crate) fn with_screen(mut self, screen: &str) -> Self {
        self.screen = Some(screen.lines().map(clean).collect::<Vec<_>>().join("\n"));
        self
    }

    /// What it is, name and value.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let snapshot = &*self.snapshot;
        let counts = snapshot.counts;
        let mut facts = vec![
            ("state", format!("{}, {} of {} updated", snapshot.doing(), counts.updated, counts.nodes)),
            ("change", format!("{}, {}{}", snapshot.change(), snapshot.numbers(), snapshot.target_renumbered())),
        ];
        if let Some(last) = snapshot.last_rollout() {
            facts.push(("before", format!("{last} {} ago, {}", ShortDuration(snapshot.at.since(last.at)), last.at)));
        }
        if let Some(started) = snapshot.target_began() {
            facts.push(("started", format!("{started}, {} ago", ShortDuration(snapshot.at.since(started)))));
        }
        facts.push(("driver", self.driver()));
        if let Some(guidance) = snapshot.guidance() {
            facts.push(("waits", guidance.waits));
        }
        facts.push(("budget", snapshot.budget.to_string()));
        if snapshot.has_plan() {
            facts.push(("plan", snapshot.plan_in_words()));
            facts.push(("gates", snapshot.gating().to_string()));
        }
        facts.push(("view", snapshot.freshness().to_string()));
        facts.iter().map(|(name, value)| (*name, clean(value))).collect()
    }

    /// Who drives. Whoever reads it is somebody else, for whom nobody is `you`.
    fn driver(&self) -> String {
        let snapshot = &*self.snapshot;
        let us = &snapshot.identity;
        match &snapshot.driver {
            DriverView::You { lapsed: false, .. } => format!("{us} drives"),
            DriverView::You { lapsed: true, .. } => format!("{us} drove: the lease ran out"),
            DriverView::Waiting { holder: Some(holder) } => format!("{us} waits for {holder} to hand over"),
            DriverView::Waiting { holder: None } => format!("{us} waits for the lease"),
            DriverView::Unknown
            | DriverView::Nobody
            | DriverView::Unconfirmed { .. }
            | DriverView::Other { .. }
            | DriverView::Lost { .. } => snapshot.driving().to_string(),
        }
    }

    /// Until when nobody watched, and what is therefore not known of how far it was; `None` where it was watched from the beginning.
    fn unwatched(&self) -> Option<String> {
        self.progress.first().filter(|point| point.unavailable().is_none())?;
        let watched = self.progress.iter().find(|point| point.unavailable().is_some());
        let until = watched.map_or(self.snapshot.at, |point| point.at);
        Some(format!(
            "Until {} it was not watched: present pods tell since when they are ready, and nothing tells how many nodes were unavailable.",
            clock_time(until)
        ))
    }

    /// The nodes by site, in the order of names; the sites too.
    fn sites(&self) -> Vec<(Str, Vec<&NodeView>)> {
        let mut sites: std::collections::BTreeMap<Str, Vec<&NodeView>> = std::collections::BTreeMap::new();
        for node in self.snapshot.nodes.iter() {
            sites.entry(node.site.clone()).or_default().push(node);
        }
        for nodes in sites.values_mut() {
            nodes.sort_by(|a, b| natord::compare(&a.name, &b.name));
        }
        sites.into_iter().collect()
    }

    /// Why a node is where it is, in one line.
    fn why(&self, node: &NodeView) -> String {
        let why = Why { node, at: self.snapshot.at }.to_string();
        let message = node.cause.as_ref().and_then(|cause| cause.message.as_deref());
        clean(&match (why.as_str(), message) {
            ("", _) => node.state_words(),
            (why, None) => format!("{}: {why}", node.state_words()),
            (why, Some(message)) => format!("{}: {why} ({message})", node.state_words()),
        })
    }
}

/// The points from when the rollout began on, that in force then included, one a second. All of them where no rollout is recorded.
fn since_it_began(points: &[ProgressPoint], began: Option<Timestamp>) -> Vec<ProgressPoint> {
    let Some(began) = began else { return points.to_vec() };
    let first = points.iter().rposition(|point| point.at <= began).unwrap_or(0);
    let mut kept: Vec<ProgressPoint> = Vec::new();
    for point in points[first..].iter().map(|point| ProgressPoint { at: point.at.max(began), ..*point }) {
        match kept.last_mut() {
            // Of what is true within one second, the last holds.
            Some(last) if last.at.secs() == point.at.secs() => *last = point,
            _ => kept.push(point),
        }
    }
    kept
}

/// The name of a file for the rollout of this instant, without extension: `rolldeck-edge-agent-20261123T143005Z`.
pub(crate) fn file_stem(snapshot: &Snapshot) -> String {
    let time: String = snapshot.at.to_rfc3339().chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let fit = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let name = |name: &str| name.chars().filter(fit).take(100).collect::<String>();
    format!("rolldeck-{}-{}-{time}", name(&snapshot.namespace), name(&snapshot.name))
}

/// The sign that stands for this node, and the class of the page that colours it.
fn look(node: &NodeView) -> (char, &'static str) {
    match node.state {
        _ if node.counts_as_failed() => ('✗', "failed"),
        NodeState::Updated => ('■', "updated"),
        NodeState::Outdated => ('·', "outdated"),
        NodeState::Failed => ('✗', "failed"),
        NodeState::NodeDown => ('!', "down"),
        NodeState::Terminating
        | NodeState::Creating
        | NodeState::Pulling
        | NodeState::PullFailed
        | NodeState::Starting
        | NodeState::Soaking => ('◐', "moving"),
        NodeState::Ineligible => ('-', "ineligible"),
    }
}

/// What each sign means.
const LEGEND: &str = "■ updated  · outdated  ◐ on its way  ✗ failed  ! node down  - not eligible";

/// The finding in one line, without its nodes.
fn headline(finding: &Finding, at: Timestamp) -> String {
    let mut text = finding.title.clone();
    match finding.nodes.len() {
        0 => {}
        1 => text.push_str(", 1 node"),
        count => text.push_str(&format!(", {count} nodes")),
    }
    // Who looks only once finds some causes at that moment: that says nothing of how long they have been there.
    if let Some(age) =
        finding.since.map(|since| at.since(since)).filter(|age| *age > FOUND && !finding.nodes.is_empty())
    {
        text.push_str(&format!(" for {}", ShortDuration(age)));
    }
    clean(&text)
}

/// Whether one of `lines` says what `event` says, at about the same time.
fn is_told(lines: &[StoryLine], event: &StoryLine) -> bool {
    let near = |line: &&StoryLine| (line.at.millis() - event.at.millis()).abs() <= SAME_MILLIS;
    lines.iter().filter(near).any(|line| event.text.contains(&line.text) || line.text.contains(&event.text))
}

/// One line without secrets and without what steers a terminal.
fn clean(text: &str) -> String {
    printable(&scrub(text)).into_owned()
}

#[cfg(test)]
mod tests;
