//! Halts the rollout, or goes back, when too many nodes failed at the new revision.

use std::collections::BTreeMap;

use crate::engine::assess::rows::Row;
use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::size::clipped;
use crate::engine::model::record::{Direction, EXCEPTIONS_LIMIT, Halt, Intent};
use crate::engine::model::rollout_event::{RolloutEventKind, Visibility};
use crate::engine::model::settings::{Gates, OnFailure};
use crate::engine::model::time::Timestamp;

impl Engine {
    /// Halts, or goes back, when too many nodes failed at the new revision.
    pub(super) fn halt_on_failure(&mut self, intent: &Intent, now: Timestamp) {
        if let Some(halt) = &self.progress.halt
            && halt.number <= intent.acknowledged_halt
        {
            if !halt.nodes.is_empty() {
                // Nodes that went down until now are accepted as well: they are not compared any more.
                self.progress.compared_since = Some(self.view.server_time(now));
                let accepted = &halt.nodes;
                self.progress.suspects.retain(|name, _| !accepted.contains(name));
            }
            self.progress.acknowledged_failures.extend(halt.nodes.iter().cloned());
            if let Some(halt) = &mut self.progress.halt {
                halt.nodes.clear();
            }
        }
        if intent.direction() == Direction::Back || intent.target.is_none() || intent.change.is_some() {
            return;
        }
        // Gates on single nodes are carried out in `assess/rows.rs`, `assess/rows/absence.rs` and `rules/suspects.rs`.
        let Gates {
            failure_threshold,
            on_failure,
            progress_deadline_secs: _,
            max_restarts: _,
            soak_secs: _,
            suspect_grace_secs: _,
            require_image: _,
        } = intent.gates;
        let acknowledged_failures = &self.progress.acknowledged_failures;
        let failed: Vec<_> = self
            .assessment
            .rows()
            .filter(|row| self.has_failed(row) && !acknowledged_failures.contains(&self.name(row)))
            .collect();
        let threshold = failure_threshold.of(self.assessment.desired, Rounding::Up).max(1);
        let halted = self.is_halted(intent);
        // As long as any node is failed, the halt that stands keeps naming the nodes that are failed now.
        let stands = halted && !failed.is_empty();
        if u32::try_from(failed.len()).unwrap_or(u32::MAX) < threshold && !stands {
            return;
        }
        let nodes: Vec<Str> = failed.iter().take(EXCEPTIONS_LIMIT).map(|row| self.name(row)).collect();
        let why = clipped(&failure_words(&failed, |row| self.suspect_words(row))).to_string();
        if halted {
            if let Some(halt) = self.progress.halt.as_mut().filter(|halt| halt.nodes != nodes) {
                halt.why = why.into();
                halt.nodes = nodes;
            }
            return;
        }
        // While it is paused nothing goes back by itself: that waits until an operator resumes.
        let goes_back = on_failure == OnFailure::RollBack && intent.paused.is_none();
        let before = self.revision_before(intent);
        let why = match before {
            None if goes_back => {
                format!("{why}; it leads to where it came from, so that there is nothing to roll back to")
            }
            _ => why,
        };
        let number = self.progress.halt.as_ref().map_or(0, |halt| halt.number).max(intent.acknowledged_halt) + 1;
        self.tell_halted(number, &why, &nodes);
        self.progress.halt = Some(Halt { number, at: now, why: why.into(), nodes });
        if let Some(from) = before.filter(|_| goes_back) {
            self.happened(RolloutEventKind::RollingBack { to: from.clone() }, Visibility::Cluster);
            let id = self.new_change_id(self.edits.next_serial(), now);
            self.edit(None, Edit::GoBack { to: from, failed: intent.target.clone(), id });
        }
    }

    /// The revision that the rollout came from, to which a roll back leads. `None` if the rollout itself leads to that
    /// revision: then it is the one that fails, and of no other revision is it known that it works.
    fn revision_before(&self, intent: &Intent) -> Option<Str> {
        match &self.progress.origin {
            Some(origin) => Some(origin.clone()).filter(|origin| Some(origin) != intent.target.as_ref()),
            None => self.majority_revision(intent.target.as_ref()),
        }
    }
}

/// What failed and where, most frequent cause first: `image not found on ipc-017, ipc-018 and 3 more`.
fn failure_words(failed: &[&Row], suspect: impl Fn(&Row) -> Option<String>) -> String {
    let mut causes: BTreeMap<String, u32> = BTreeMap::new();
    for row in failed {
        let words = match (suspect(row), &row.cause) {
            (Some(words), _) => words,
            (None, Some(cause)) => cause.to_string(),
            (None, None) => "failed".to_owned(),
        };
        *causes.entry(words).or_default() += 1;
    }
    let mut causes: Vec<(String, u32)> = causes.into_iter().collect();
    causes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let words: Vec<String> = causes
        .into_iter()
        .map(
            |(words, count)| {
                if count == 1 { format!("{words} on 1 node") } else { format!("{words} on {count} nodes") }
            },
        )
        .collect();
    words.join(", ")
}
