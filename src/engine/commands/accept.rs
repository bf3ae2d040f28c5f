//! Resuming past a halt, and what an operator accepts by it, such as failed nodes. The preview lists them before anything is written.

use std::collections::BTreeMap;

use super::resolved::Resolved;
use crate::engine::assess::rows::Row;
use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{BEFORE_THE_FIRST_STEP, Command, Refusal};
use crate::engine::model::danger::Danger;
use crate::engine::model::node::Blame;
use crate::engine::model::record::{ACCEPTED_LIMIT, Progress};
use crate::engine::writes::pending::Needs;

/// The most nodes that are named.
const NAMED: usize = 5;
/// The words for a node that had failed at the halt and that has recovered.
const WELL: &str = "well again by now";

impl Engine {
    pub(super) fn resolve_resume(&self) -> Result<Resolved, Refusal> {
        let record = self.record().ok_or_else(|| {
            let nothing = self.nothing_recorded();
            match nothing.remedy_or("") {
                "" => Refusal::NotNow(format!("{nothing}, so there is nothing to resume")),
                how => Refusal::NotNow(format!("{nothing}, so there is nothing to resume: {how}")),
            }
        })?;
        let Progress {
            // The halt is acknowledged; the driver then accepts what caused it (`go_on_past_halt` in `act/halt.rs`).
            halt,
            // These stay as they are, even if somebody else's template is rolled out from now on: its steps begin anew, the rollout does not.
            started_at: _,
            origin: _,
            down_before: _,
            left_out_since: _,
            in_progress: _,
            refused: _,
            acknowledged_failures: _,
            suspects: _,
            others_down: _,
            marks: _,
            // These are about the DaemonSet, its controller and the driver.
            adopted: _,
            drifted: _,
            drifts: _,
            idle_since: _,
            driver: _,
            driver_stopped: _,
            completed: _,
            original_strategy: _,
        } = &record.progress;
        let halt = halt.as_ref().map_or(0, |halt| halt.number);
        let retarget = self.view.current.clone().filter(|current| {
            record.intent.change.is_none() && record.intent.target.as_ref().is_some_and(|target| target != current)
        });
        let halted = halt > record.intent.acknowledged_halt;
        // If nobody has driven since somebody else changed the template, nobody has paused the rollout for it.
        if record.intent.paused.is_none() && !halted && !self.is_template_of_others(&record.intent) {
            return Err(Refusal::NotNow("it is neither paused nor halted".into()));
        }
        // A resume after a strategy drift sets `OnDelete` without waiting for a driver: until then the DaemonSet's controller replaces
        // pods.
        let brake = self.takes_back(&Command::Resume);
        let mut says = if brake { "OnDelete is set again; resumed" } else { "resumed" }.to_owned();
        if halted {
            says.push_str(&format!("; accepted: {}", self.accepted_in_a_line()));
        }
        if retarget.is_some() {
            says.push_str("; the template as changed by somebody else is now rolled out");
            says.push_str(BEFORE_THE_FIRST_STEP);
        }
        let accepted = if halted { self.failed_since_halt() } else { Vec::new() };
        let accepted = accepted.into_iter().take(ACCEPTED_LIMIT).collect();
        let edit = Edit::Resume { acknowledged: halt, accepted, target: retarget };
        let danger = if halted { Danger::Serious } else { Danger::Bounded };
        let needs = if brake { Needs::Braked } else { Needs::Saved };
        Ok(Resolved { brake, ..Resolved::new(vec![edit], needs, says, danger) })
    }

    /// Whether resuming goes on past a halt.
    pub(super) fn resumes_past_a_halt(&self) -> bool {
        self.is_halted(&self.intent())
    }

    /// The lines of a preview on what a resume accepts.
    pub(super) fn accepted_in_words(&self) -> Vec<String> {
        match self.progress.halt.as_ref().filter(|_| self.resumes_past_a_halt()) {
            None => Vec::new(),
            Some(halt) if halt.gate.names_what_failed() => self.accepted_failures_in_words(),
            Some(halt) => vec![format!(
                "It goes on past the halt ({}), and accepts {}.",
                self.halt_why(),
                halt.gate.accepted_in_words()
            )],
        }
    }

    /// The failures that a resume accepts, one line each, the worst first.
    fn accepted_failures_in_words(&self) -> Vec<String> {
        let (well, failures): (Vec<_>, Vec<_>) = self.failures().into_iter().partition(|(_, cause)| cause == WELL);
        let count = failures.len();
        // The halt's own words count those that it names.
        let at_halt = |node: &Str| self.progress.failed_at_halt().contains(node);
        let later = failures.iter().filter(|(node, _)| !at_halt(node)).count();
        let since = match (count, later) {
            (_, 0) => "",
            (1, _) => ", which came after it",
            (_, 1) => ", 1 of which came after it",
            (_, later) if later == count => ", all of which came after it",
            (_, later) => &format!(", {later} of which came after it"),
        };
        let mut lines = vec![match count {
            0 if !well.is_empty() => "It goes on past the halt; no node counts as failed any more.".to_owned(),
            0 => format!("It goes on past the halt: {}.", self.halt_why()),
            1 => format!("It goes on past the halt, and accepts this failure{since}:"),
            _ => format!("It goes on past the halt, and accepts these {count} failures{since}:"),
        }];
        lines.extend(failures.iter().take(NAMED).map(|(node, cause)| match later > 0 && !at_halt(node) {
            true => format!("{node}: {cause}, after the halt"),
            false => format!("{node}: {cause}"),
        }));
        if count > NAMED {
            lines.push(format!("and {} more", count - NAMED));
        }
        if count > 0 {
            lines.push(match count {
                1 => "It halts again only for a new failure: on another node, or on this one once it was well."
                    .to_owned(),
                _ => "It halts again only for a new failure: on another node, or on one of these once it was well."
                    .to_owned(),
            });
        }
        if !well.is_empty() {
            let named = well.iter().take(NAMED).map(|(node, _)| &**node).collect::<Vec<_>>().join(" ");
            let more = if well.len() > NAMED { format!(" and {} more", well.len() - NAMED) } else { String::new() };
            lines.push(format!("Well again by now: {named}{more}. Where one fails again, that halts it."));
        }
        lines
    }

    /// `3 failures (ipc-017 image not found, …)`.
    fn accepted_in_a_line(&self) -> String {
        let failures = self.failures();
        let mut causes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (node, cause) in &failures {
            causes.entry(cause).or_default().push(node);
        }
        let words: Vec<String> = causes
            .into_iter()
            .map(|(cause, nodes)| {
                let named = nodes.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
                let more =
                    if nodes.len() > NAMED { format!(" and {} more", nodes.len() - NAMED) } else { String::new() };
                format!("{cause} on {named}{more}")
            })
            .collect();
        if words.is_empty() { self.halt_why().to_string() } else { words.join("; ") }
    }

    pub(super) fn halt_why(&self) -> Str {
        self.progress.halt.as_ref().map(|halt| halt.why.clone()).unwrap_or_default()
    }

    /// The nodes that had failed at the halt, and those that have failed since, each with its trouble, in natural order.
    fn failures(&self) -> Vec<(Str, String)> {
        let named = self.progress.failed_at_halt().iter().cloned();
        named
            .chain(self.failed_since_halt())
            .map(|name| {
                let row = self.view.node(&name).and_then(|node| self.assessment.row(node));
                let cause = match row.map(|row| (row.blame, &row.cause)) {
                    Some((Some(Blame::Suspect), _)) => "node went down after its update".to_owned(),
                    Some((_, Some(cause))) => cause.to_string(),
                    Some((None, None)) => WELL.to_owned(),
                    // Between two attempts, its kubelet may report nothing.
                    Some((Some(_), None)) => format!("not available; it halted with {}", self.halt_why()),
                    None => "gone".to_owned(),
                };
                (name, cause)
            })
            .collect()
    }

    /// Nodes that count as failed and that the halt does not name, because nobody drove when they failed.
    fn failed_since_halt(&self) -> Vec<Str> {
        let known = |name: &Str| self.progress.has_failed(name);
        let mut failed: Vec<&Row> = self.assessment.rows().filter(|row| self.has_failed(row)).collect();
        failed.sort_by_key(|row| self.natural_ranks().get(row.node));
        failed.into_iter().map(|row| self.name(row)).filter(|name| !known(name)).collect()
    }
}
