//! The report as text: for a terminal, a mail, a ticket.

use std::fmt::Write as _;

use super::{Handover, LEGEND, StoryLine, clean, events_left_out, headline, look};
use crate::engine::model::facts::Severity;
use crate::engine::report::node_story::clock_time;
use crate::engine::report::story::{ProgressFigures, ProgressPoint};

/// How many nodes of a finding are listed by name.
const NAMED: usize = 20;
/// How many nodes one line of the map shows.
const CELLS: usize = 60;
/// How many points of the progress are printed at most.
const POINTS: usize = 16;

impl Handover {
    /// The whole report as text, with line feeds.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let snapshot = &*self.snapshot;
        let mut line = |text: &str| {
            out.push_str(text.trim_end());
            out.push('\n');
        };
        let of = clean(&format!("{}/{} on {}", snapshot.namespace, snapshot.name, self.context));
        line(&format!("Rollout of {of}, {}", snapshot.at));
        self.facts().iter().for_each(|(name, value)| line(&format!("  {name:<8} {value}")));

        line("\nWhat is wrong");
        let wrong = || self.diagnosis.findings.iter().filter(|finding| finding.severity == Severity::Warning);
        for finding in wrong() {
            line(&format!("  ✗ {}", headline(finding, snapshot.at)));
            if !finding.nodes.is_empty() {
                let named: Vec<&str> = finding.nodes.iter().take(NAMED).map(|name| &**name).collect();
                let more = finding.nodes.len().saturating_sub(NAMED);
                let more = if more > 0 { format!(" … ({more} more)") } else { String::new() };
                line(&format!("      {}{more}", clean(&named.join(" "))));
            }
            finding.evidence.iter().for_each(|evidence| line(&format!("      {}", clean(&evidence.to_string()))));
            finding.held.iter().for_each(|held| line(&format!("      {}", clean(held))));
            finding.remedies.iter().for_each(|remedy| line(&format!("      → {}", clean(&remedy.to_string()))));
        }
        if wrong().next().is_none() {
            line(&format!("  {}", self.nothing_wrong()));
        }
        self.went_wrong().iter().for_each(|past| line(&format!("  {past}")));
        if !self.next.is_empty() {
            line("\nHow it can go on");
            self.next.iter().for_each(|next| line(&format!("  {}", next.line)));
        }

        line(&format!("\nMap    {LEGEND}"));
        for (site, nodes) in self.sites() {
            let cells: Vec<char> = nodes.iter().map(|node| look(node).0).collect();
            for (nth, cells) in cells.chunks(CELLS).enumerate() {
                let name = match nth {
                    0 if site.is_empty() => "no site".to_owned(),
                    0 => clean(&site),
                    _ => String::new(),
                };
                line(&format!("  {name:<16} {}", cells.iter().collect::<String>()));
            }
        }

        line("\nProgress");
        if self.progress.is_empty() {
            line("  nothing is known of it");
        }
        if let Some(unwatched) = self.unwatched() {
            line(&format!("  {unwatched}"));
        }
        for ProgressPoint { at, figures, nodes } in thinned(&self.progress) {
            line(&match figures {
                ProgressFigures::Watched { updated, unavailable } => {
                    format!("  {at}  {updated:>5} of {nodes} updated, {unavailable:>4} unavailable")
                }
                ProgressFigures::ReadOff { ready_at_least } => {
                    format!("  {at}  {ready_at_least:>5} of {nodes} had the new pod ready, or more")
                }
            });
        }

        line("\nWhat happened");
        if self.lines.is_empty() {
            line("  nothing is known of it");
        }
        if let Some(left) = events_left_out(&self.snapshot) {
            line(&format!("  … {left}"));
        }
        let mut day = String::new();
        for StoryLine { at, who, node, text, severity, facts: _ } in &self.lines {
            let date: String = at.to_rfc3339().chars().take(10).collect();
            if date != day {
                line(&format!("  {date}"));
                day = date;
            }
            let bad = if *severity == Severity::Warning { '!' } else { ' ' };
            let subject = node.as_ref().or(who.as_ref()).map(|subject| format!("{subject}  ")).unwrap_or_default();
            line(&format!("  {bad} {}  {subject}{text}", clock_time(*at)));
        }

        line("\nAbout this report");
        self.notes.iter().for_each(|note| line(&format!("  {note}")));
        if let Some(screen) = &self.screen {
            let _ = write!(out, "\nThe screen\n{screen}\n");
        }
        out
    }
}

/// At most [`POINTS`] points: the first, the last, and some in between at even distances.
fn thinned(points: &[ProgressPoint]) -> impl Iterator<Item = &ProgressPoint> {
    let every = points.len().div_ceil(POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points.iter().enumerate().filter(move |(nth, _)| nth % every == 0 || *nth == last).map(|(_, point)| point)
}
