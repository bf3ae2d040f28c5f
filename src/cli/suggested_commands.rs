//! What can be done now, as commands that can be copied: a rollout that stands still says how it goes on.

use serde::Serialize;

use crate::engine::report::guidance::Remedy;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuggestedCommand {
    /// The whole command.
    pub(crate) command: String,
    /// What it does.
    pub(crate) does: String,
}

impl SuggestedCommand {
    pub(crate) fn line(&self) -> String {
        format!("{}   ({})", self.command, self.does)
    }
}

const UNDO: (&str, &str) = ("undo", "roll back: broken nodes first, untouched nodes keep their pod");

/// A command about this rollout, whole: copied later, in another shell, it still means the same cluster.
pub(crate) fn whole(verb: &str, context: &str, snapshot: &Snapshot) -> String {
    format!("rolldeck {verb} --context {context} -n {} ds/{}", snapshot.namespace, snapshot.name)
}

/// The command for what an operator can do.
pub(crate) fn verb(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Drive => "drive",
        Remedy::Step(_) => "step",
        Remedy::Select => "select",
        Remedy::LiftSelector { .. } => "select --clear",
        Remedy::Resume => "resume",
        Remedy::Undo => "undo",
    }
}

/// What an operator can do about what stands in the way; empty when nothing does.
pub(crate) fn suggested_commands(context: &str, snapshot: &Snapshot) -> Vec<SuggestedCommand> {
    let mut verbs: Vec<(String, String)> = Vec::new();
    let mut offer = |verb: &str, does: &str| verbs.push((verb.to_owned(), does.to_owned()));
    for alarm in &snapshot.alarms {
        match alarm {
            Alarm::Cascade { .. } => {
                offer("pause", "emergency brake: sets OnDelete at once, nothing else changes");
            }
            Alarm::StrategyDrifted { .. } => offer("adopt", "set OnDelete again at once; the rollout stays paused"),
            Alarm::TemplateChanged { .. } => {
                offer("resume", "roll out the template as it is now");
                offer(UNDO.0, UNDO.1);
            }
            Alarm::BudgetUsedUp { used, .. } => {
                offer(&format!("tune --max-unavailable {}", used + 1), "raise the budget: the next node may go");
            }
            Alarm::ReleaseWaits { .. } => offer("release --early", "release all the same: these pods are removed"),
            Alarm::RecordUnreadable { .. } => offer("release", "drop the record and restore the strategy"),
            Alarm::OnDeleteEnforced { .. } => offer("tune --on-drift report", "pause at the next drift instead"),
            Alarm::TargetUncertain { .. } => offer("step", "let a node be updated: its pod tells"),
            Alarm::ForeignRecord => offer("release", "drop the record of the earlier DaemonSet"),
            Alarm::DeletionRefused { .. }
            | Alarm::ControllerIdle { .. }
            | Alarm::Halted { .. }
            | Alarm::SiteOutage(_)
            | Alarm::TooFar { .. }
            | Alarm::Blind { .. }
            | Alarm::WriteFailing { .. }
            | Alarm::BeingDeleted => {}
        }
    }
    match &snapshot.phase {
        Phase::Halted => {
            offer(UNDO.0, UNDO.1);
            offer("resume", "go on, the failures so far accepted");
        }
        _ => {
            for remedy in snapshot.guidance().iter().flat_map(|guidance| &guidance.remedies) {
                match remedy {
                    Remedy::Undo => offer(UNDO.0, UNDO.1),
                    // Whoever drives stays; that is said beside the driver.
                    Remedy::Drive | Remedy::Select => {}
                    remedy => offer(verb(*remedy), &remedy.to_string()),
                }
            }
        }
    }
    let mut ways: Vec<SuggestedCommand> = Vec::new();
    for (verb, does) in verbs {
        let command = whole(&verb, context, snapshot);
        if ways.iter().all(|known| known.command != command) {
            ways.push(SuggestedCommand { command, does });
        }
    }
    ways
}
