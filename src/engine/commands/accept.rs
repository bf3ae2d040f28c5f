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
use crate::engine::model::person_of;
use crate::engine::model::record::{ACCEPTED_LIMIT, Paused, Progress, TunedSince};
use crate::engine::model::time::UtcTime;
use crate::engine::writes::pending::Needs;

/// The most nodes that are named.
const NAMED: usize = 5;
/// How many of `count` nodes are named: all, if only one would be left out, because its name needs no more room than `and 1 more`.
fn named_of(count: usize) -> usize {
    if count == NAMED + 1 { count } else { count.min(NAMED) }
}

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
            target: _,
            origin: _,
            down_before: _,
            left_out_since: _,
            in_progress: _,
            refused: _,
            acknowledged_failures: _,
            suspects: _,
            others_down: _,
            evicted: _,
            marks: _,
            // These are about the DaemonSet, its controller and the driver.
            adopted: _,
            drifted: _,
            drifts: _,
            refused_write: _,
            tried: _,
            idle_since: _,
            driver: _,
            driver_stopped: _,
            completed: _,
            original_strategy: _,
        } = &record.progress;
        let halt = halt.as_ref().map_or(0, |halt| halt.number);
        let made = self.made_by_others(&record.intent);
        let retarget = made.as_ref().and_then(|_| self.view.current().cloned());
        let halted = halt > record.intent.acknowledged_halt;
        // If nobody has driven since somebody else changed the template, nobody has paused the rollout for it.
        if record.intent.paused.is_none() && !halted && !self.is_template_of_others(&record.intent) {
            return Err(Refusal::NotNow("it is neither paused nor halted".into()));
        }
        // A resume after a strategy drift sets `OnDelete` without waiting for a driver: until then the DaemonSet's controller replaces
        // pods.
        let brake = self.takes_back(&Command::Resume);
        let tuned = self.tuned_by_others();
        let mut says = if brake { "OnDelete is set again; resumed" } else { "resumed" }.to_owned();
        if self.only_adopted() {
            says.push_str("; nothing is rolled out now");
        }
        if halted && retarget.is_none() {
            says.push_str(&format!("; accepted: {}", self.accepted_in_a_line()));
        }
        if !tuned.is_empty() {
            says.push_str(&format!("; changed since the pause: {}", tuned.join(", ")));
        }
        if let Some((made, change)) = made {
            says.push_str(&made.goes_on(&change));
            says.push_str(BEFORE_THE_FIRST_STEP);
        }
        let accepted = if halted && retarget.is_none() { self.failed_since_halt() } else { Vec::new() };
        let accepted = accepted.into_iter().take(ACCEPTED_LIMIT).collect();
        let edit = Edit::Resume { acknowledged: halt, accepted, target: retarget };
        let danger = if halted { Danger::Serious } else { Danger::Bounded };
        let needs = if brake { Needs::Braked } else { Needs::Saved };
        Ok(Resolved { brake, ..Resolved::new(vec![edit], needs, says, danger) })
    }

    /// The settings that others have changed since the pause, each as `max unavailable: 2 → 5 (ben, 4m ago)`.
    pub(super) fn tuned_by_others(&self) -> Vec<String> {
        let intent = self.intent();
        let (settings, me) = (intent.settings(), self.actor());
        let paused = intent.paused.iter().flat_map(Paused::tuned_since);
        paused
            .filter(|(_, tuned)| tuned.changed.by != me)
            .map(|(setting, TunedSince { before, changed })| {
                let (name, is) = (setting.name().replace('-', " "), setting.value(&settings));
                let at = UtcTime { at: changed.at, now: self.now };
                format!("{name}: {before} → {is} ({}, {at})", person_of(&changed.by))
            })
            .collect()
    }

    /// Whether resuming goes on past a halt.
    pub(super) fn resumes_past_a_halt(&self) -> bool {
        self.is_halted(&self.intent())
    }

    /// The failed nodes that `command` accepts.
    pub(super) fn accepted_by(&self, command: &Command) -> Vec<Str> {
        match command {
            Command::Resume if self.resumes_past_a_halt() && self.made_by_others(&self.intent()).is_none() => {
                let failures = self.failures().into_iter().filter(|(_, cause)| cause != WELL);
                failures.map(|(node, _)| node).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The lines of a preview on what a resume accepts.
    pub(super) fn accepted_in_words(&self) -> Vec<String> {
        match self.progress.halt.as_ref().filter(|_| self.resumes_past_a_halt()) {
            None => Vec::new(),
            Some(_) if self.made_by_others(&self.intent()).is_some() => vec![format!(
                "It goes on past the halt: {}. That was at the revision before, and nothing is accepted of the one that is rolled out now.",
                self.halt_why()
            )],
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
        lines.extend(failures.iter().take(named_of(count)).map(|(node, cause)| match later > 0 && !at_halt(node) {
            true => format!("{node}: {cause}, after the halt"),
            false => format!("{node}: {cause}"),
        }));
        if let more @ 1.. = count - named_of(count) {
            lines.push(format!("and {more} more"));
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
            let first = named_of(well.len());
            let named = well.iter().take(first).map(|(node, _)| &**node).collect::<Vec<_>>().join(" ");
            let more = if well.len() > first { format!(" and {} more", well.len() - first) } else { String::new() };
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
                let first = named_of(nodes.len());
                let named = nodes.iter().take(first).copied().collect::<Vec<_>>().join(", ");
                let more =
                    if nodes.len() > first { format!(" and {} more", nodes.len() - first) } else { String::new() };
                format!("{cause} on {named}{more}")
            })
            .collect();
        if words.is_empty() { self.halt_why().to_string() } else { words.join("; ") }
    }

    pub(super) fn halt_why(&self) -> Str {
        let stands = self.halt_as_it_stands(&self.intent()).map(|halt| halt.why);
        stands.or_else(|| self.progress.halt.as_ref().map(|halt| halt.why.clone())).unwrap_or_default()
    }

    /// The nodes that had failed at the halt, and those that have failed since, each with its trouble, in natural order.
    fn failures(&self) -> Vec<(Str, String)> {
        let named = self.progress.failed_at_halt().iter().cloned();
        named
            .chain(self.failed_since_halt())
            .map(|name| {
                let row = self.view.node(&name).and_then(|node| self.assessment.row(node));
                let crash_loop = row.and_then(|row| row.crash_loop);
                let cause = row.and_then(|row| row.cause.as_ref());
                // Of a pod that crashes again and again, the statuses tell nothing but that it starts, for as long as it is up.
                let cause = cause.filter(|cause| crash_loop.is_none() || !cause.kind.is_ordinary_at_start());
                let cause = match (row.map(|row| row.blame), cause, crash_loop) {
                    (Some(Some(Blame::Suspect)), _, _) => "node went down after its update".to_owned(),
                    (_, Some(cause), _) => cause.to_string(),
                    (Some(None), None, Some(crash_loop)) => format!("{}, up for the moment", crash_loop.cause),
                    (_, None, Some(crash_loop)) => crash_loop.cause.to_string(),
                    (Some(None), None, None) => WELL.to_owned(),
                    // Between two attempts, its kubelet may report nothing.
                    (Some(Some(_)), None, None) => format!("not available; it halted with {}", self.halt_why()),
                    (None, None, None) => "gone".to_owned(),
                };
                (name, cause)
            })
            .collect()
    }

    /// Nodes that fail and that the halt does not name, because nobody drove when they failed, or because their pods, which crash again and
    /// again, did not count as failed then: they were up between two crashes. Their next crash is no new failure.
    fn failed_since_halt(&self) -> Vec<Str> {
        let known = |name: &Str| self.progress.has_failed(name);
        let fails = |row: &&Row| self.has_failed(row) || row.in_fleet && row.crash_loop.is_some();
        let mut failed: Vec<&Row> = self.assessment.rows().filter(fails).collect();
        failed.sort_by_key(|row| self.natural_ranks().get(row.node));
        failed.into_iter().map(|row| self.name(row)).filter(|name| !known(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_says_that_there_is_one_more() {
        assert_eq!([0, 1, 5, 6, 7, 20].map(named_of), [0, 1, 5, 6, 5, 5]);
    }
}
