//! The report of a rollout for somebody else: its facts, its causes, its progress over time and its events, as text, as one
//! HTML page and as JSON. Both front ends write it: `rolldeck report`, and `ctrl-s` in the console.
//!
//! ```text
//!  Snapshot ─┬─▶ what it is, what is wrong, every node, who did what
//!  Story ────┼─▶ node by node, how far it was when                   ──▶ Handover ──▶ text · html (graph) · json
//!  audit log ┴─▶ who did what (`rolldeck report` only)
//! ```
//!
//! No text of the report contains recognisable secrets or characters that steer a terminal.

mod graph;
mod html;
mod json;
mod others;
mod past;
mod text;

use std::sync::Arc;

use crate::engine::model::Str;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::Severity;
use crate::engine::model::node::NodeState;
use crate::engine::model::printable::printable;
use crate::engine::model::rollout_event::{EventFacts, RolloutEvent, with_present_numbers};
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::report::diagnosis::{Diagnosis, Finding};
use crate::engine::report::node_story::clock_time;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::engine::report::story::{ControllerMoment, NodeMoment, ProgressPoint, Story};
use crate::scrub::scrub;

/// The version of every JSON shape that programs read.
pub(crate) const API_VERSION: &str = "rolldeck.io/v1";

/// Two events that say the same and are at most this far apart count as one: both the audit log and an Event report it.
const SAME_MILLIS: i64 = 5_000;

/// A rollout, ready to be written.
pub(crate) struct Handover {
    context: String,
    snapshot: Arc<Snapshot>,
    diagnosis: Diagnosis,
    /// The events, oldest first.
    lines: Vec<StoryLine>,
    progress: Vec<ProgressPoint>,
    /// The sources of the report, and the facts that cannot be known.
    notes: Vec<String>,
    /// The content of the screen.
    screen: Option<String>,
    /// How it can go on.
    next: Vec<NextStep>,
}

/// One way in which the rollout can go on.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NextStep {
    /// The command, with what it does: `rolldeck resume --context prod -n edge ds/agent   (lifts the pause)`.
    pub(crate) line: String,
    /// The same for a program.
    pub(crate) json: serde_json::Value,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StoryLine {
    /// The time.
    pub(crate) at: Timestamp,
    /// The person or process that did it; `None`: it happened by itself.
    pub(crate) who: Option<Str>,
    /// The node, if the event is about one.
    pub(crate) node: Option<Str>,
    /// The event in words.
    pub(crate) text: String,
    /// Whether it is bad news.
    pub(crate) severity: Severity,
    /// What it tells of the template and of the record.
    pub(crate) facts: EventFacts,
}

impl StoryLine {
    /// An event of the whole rollout.
    pub(crate) fn of_event(event: &RolloutEvent) -> Self {
        let who = event.by.clone().or_else(|| Some(event.reporter_in_words()?.into()));
        Self {
            at: event.at,
            who,
            node: None,
            text: event.to_string(),
            severity: event.severity(),
            facts: event.facts(),
        }
    }

    /// An action of the DaemonSet's own controller.
    fn of_controller(moment: &ControllerMoment) -> Self {
        let ControllerMoment { at, change } = moment;
        let who = Some("controller".into());
        Self {
            at: *at,
            who,
            node: None,
            text: change.to_string(),
            severity: change.severity(),
            facts: EventFacts::default(),
        }
    }

    /// An event of one node.
    fn of_node(moment: &NodeMoment) -> Self {
        let NodeMoment { at, node, change, .. } = moment;
        Self {
            at: *at,
            who: None,
            node: Some(node.clone()),
            text: change.to_string(),
            severity: change.severity(),
            facts: EventFacts::default(),
        }
    }
}

/// `44 earlier events are left out, as only the newest 256 are kept: …`, where there were more than a timeline keeps.
fn events_left_out(snapshot: &Snapshot) -> Option<String> {
    let are = match snapshot.earlier_events {
        0 => return None,
        1 => "1 earlier event is".to_owned(),
        left => format!("{left} earlier events are"),
    };
    let kept = snapshot.timeline.len();
    Some(format!(
        "{are} left out, as only the newest {kept} are kept: `rolldeck log` has those of each account that took part."
    ))
}

impl Handover {
    /// The sentence for a rollout without findings. Such a rollout may still not progress.
    fn nothing_wrong(&self) -> String {
        match self.snapshot.guidance() {
            Some(guidance) => format!("nothing now; {}", clean(&guidance.waits)),
            None => "nothing now".to_owned(),
        }
    }

    /// The report of `snapshot` with the events of `story`. `audited` holds the lines of this account's audit log about the
    /// rollout; `None` if the log was not read. An event that the log and an Event both report is listed once.
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
        notes.extend(events_left_out(&snapshot));
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
        // Events from before the rollout began belong to another rollout. If no rollout is under way, the first line of the
        // audit log or of the Events counts as the beginning.
        let first_told = audited.iter().chain(&reported).map(|line| line.at).min();
        let began = snapshot.started_at.or(first_told);
        // A record that replaced a lost one continues the same rollout, so moments from before it are kept.
        let of_it =
            |moment: &&NodeMoment| snapshot.begun_anew.is_some() || began.is_none_or(|began| moment.at >= began);
        let moments = story.moments().filter(of_it).map(StoryLine::of_node);
        // Earlier actions of the controller are kept: they are the reason why somebody took over.
        let controllers = story.of_controller().iter().map(StoryLine::of_controller);
        // Among events of the same instant, nodes come first: events of the whole rollout follow from them.
        let mut lines: Vec<StoryLine> = moments.chain(controllers).chain(reported).chain(audited).collect();
        notes.extend(others::undated_changes(&snapshot, &lines));
        lines.extend(others::between_changes(&lines));
        if let Some(known_from) = began {
            lines.extend(others::template_changes(&snapshot, &lines, known_from));
        }
        let earlier = snapshot.all_earlier_numbers();
        // Revision numbers in older events may belong to an earlier DaemonSet of the same name.
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
        let lines = told_once(lines);
        Self {
            context: clean(context),
            diagnosis: Diagnosis::of(&snapshot),
            snapshot,
            lines,
            progress: since_it_began(story.progress(), began),
            notes: notes.iter().map(|note| clean(note)).collect(),
            screen: None,
            next: Vec::new(),
        }
    }

    /// Adds the content of the screen.
    pub(crate) fn with_screen(mut self, screen: &str) -> Self {
        self.screen = Some(screen.lines().map(clean).collect::<Vec<_>>().join("\n"));
        self
    }

    /// Adds the commands by which it can go on. The console, which has keys for them, gives none.
    pub(crate) fn with_next(mut self, next: impl IntoIterator<Item = NextStep>) -> Self {
        self.next = next.into_iter().map(|NextStep { line, json }| NextStep { line: clean(&line), json }).collect();
        self
    }

    /// The facts of the rollout, each as name and value.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let snapshot = &*self.snapshot;
        let counts = snapshot.counts;
        let mut facts = vec![
            ("state", format!("{}, {} of {} updated", snapshot.doing(), counts.updated, counts.nodes)),
            ("change", format!("{}, {}{}", snapshot.change(), snapshot.numbers(), snapshot.target_renumbered())),
        ];
        if let Some(last) = snapshot.last_rollout() {
            let by = snapshot.last_rolled_back_by().map(|by| format!(", {by}")).unwrap_or_default();
            facts
                .push(("before", format!("{last} {} ago, {}{by}", ShortDuration(snapshot.at.since(last.at)), last.at)));
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

    /// Who drives. The reader is another person, so the text never says `you`.
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

    /// The time until which nobody watched, and the progress that is therefore unknown; `None` if the rollout was watched from the beginning.
    fn unwatched(&self) -> Option<String> {
        self.progress.first().filter(|point| point.unavailable().is_none())?;
        let watched = self.progress.iter().find(|point| point.unavailable().is_some());
        let until = watched.map_or(self.snapshot.at, |point| point.at);
        Some(format!(
            "Until {} it was not watched: present pods tell since when they are ready, and nothing tells how many nodes were unavailable.",
            clock_time(until)
        ))
    }

    /// The nodes by site. Sites and nodes are in the order of their names.
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

    /// The reason for a node's state, in one line.
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

/// The points since the rollout began, one per second, with the point in force at the beginning. All points if no beginning is recorded.
fn since_it_began(points: &[ProgressPoint], began: Option<Timestamp>) -> Vec<ProgressPoint> {
    let Some(began) = began else { return points.to_vec() };
    let first = points.iter().rposition(|point| point.at <= began).unwrap_or(0);
    let mut kept: Vec<ProgressPoint> = Vec::new();
    for point in points[first..].iter().map(|point| ProgressPoint { at: point.at.max(began), ..*point }) {
        match kept.last_mut() {
            // Of several points within one second, the last is kept.
            Some(last) if last.at.secs() == point.at.secs() => *last = point,
            _ => kept.push(point),
        }
    }
    kept
}

/// The name of the report's file, without extension: `rolldeck-edge-agent-20261123T143005Z`.
pub(crate) fn file_stem(snapshot: &Snapshot) -> String {
    let time: String = snapshot.at.to_rfc3339().chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let fit = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let name = |name: &str| name.chars().filter(fit).take(100).collect::<String>();
    format!("rolldeck-{}-{}-{time}", name(&snapshot.namespace), name(&snapshot.name))
}

/// The sign of a node, and the CSS class that colours it on the page.
fn look(node: &NodeView) -> (char, &'static str) {
    match node.state {
        _ if node.counts_as_failed() => ('✗', "failed"),
        NodeState::Updated => ('■', "updated"),
        NodeState::Outdated => ('□', "outdated"),
        NodeState::Failed => ('✗', "failed"),
        NodeState::NodeDown => ('!', "down"),
        NodeState::Terminating
        | NodeState::Creating
        | NodeState::Pulling
        | NodeState::PullFailed
        | NodeState::Starting
        | NodeState::Soaking => ('◐', "moving"),
        NodeState::Unknown => ('=', "ineligible"),
        NodeState::Ineligible => ('-', "ineligible"),
    }
}

/// The meaning of each sign.
pub(crate) const LEGEND: &str =
    "■ updated  □ outdated  ◐ on its way  ✗ failed  ! node down  = not known  - not eligible";

/// The finding in one line, without its nodes.
fn headline(finding: &Finding, at: Timestamp) -> String {
    let mut text = finding.title.clone();
    match finding.nodes.len() {
        0 => {}
        1 => text.push_str(", 1 node"),
        count => text.push_str(&format!(", {count} nodes")),
    }
    if let Some(age) = finding.age(at).filter(|_| !finding.nodes.is_empty()) {
        text.push_str(&format!(" for {}", ShortDuration(age)));
    }
    clean(&text)
}

/// Whether one of `lines` has the text of `event`, at about the same time.
fn is_told(lines: &[StoryLine], event: &StoryLine) -> bool {
    let near = |line: &&StoryLine| (line.at.millis() - event.at.millis()).abs() <= SAME_MILLIS;
    lines.iter().filter(near).any(|line| event.text.contains(&line.text) || line.text.contains(&event.text))
}

/// `lines` in the order of their times, without those that repeat what another line says of the same subject at about the same time: several observers
/// write what they see.
fn told_once(lines: Vec<StoryLine>) -> Vec<StoryLine> {
    let mut kept: Vec<StoryLine> = Vec::with_capacity(lines.len());
    for line in lines {
        let same = |told: &&StoryLine| {
            told.text == line.text && told.node == line.node && (told.who == line.who || line.who.is_none())
        };
        let near = |told: &&StoryLine| line.at.millis() - told.at.millis() <= SAME_MILLIS;
        if !kept.iter().rev().take_while(near).any(|told| same(&told)) {
            kept.push(line);
        }
    }
    kept
}

/// One line without secrets and without characters that steer a terminal.
fn clean(text: &str) -> String {
    printable(&scrub(text)).into_owned()
}

#[cfg(test)]
mod tests;
