//! What can be done now, as commands that can be copied: a rollout that stands still says how it goes on.

use serde::Serialize;

use crate::engine::snapshot::{Alarm, Phase, Snapshot};

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WayOut {
    /// The whole command.
    pub(crate) command: String,
    /// What it does.
    pub(crate) does: &'static str,
}

impl WayOut {
    pub(crate) fn line(&self) -> String {
        format!("{}   ({})", self.command, self.does)
    }
}

const UNDO: (&str, &str) = ("undo", "roll back: broken nodes first, untouched nodes keep their pod");

/// A command about this rollout, whole: copied later, in another shell, it still means the same cluster.
pub(crate) fn whole(verb: &str, context: &str, snapshot: &Snapshot) -> String {
    format!("rolldeck {verb} --context {context} -n {} ds/{}", snapshot.namespace, snapshot.name)
}

/// What an operator can do about what stands in the way; empty when nothing does.
pub(crate) fn ways_out(context: &str, snapshot: &Snapshot) -> Vec<WayOut> {
    let mut verbs: Vec<(&str, &str)> = Vec::new();
    for alarm in &snapshot.alarms {
        match alarm {
            Alarm::Cascade { .. } => {
                verbs.push(("pause", "emergency brake: sets OnDelete at once, nothing else changes"));
            }
            Alarm::StrategyFlipped { .. } => verbs.push(("pause", "brake: sets OnDelete again")),
            Alarm::TemplateChanged { .. } => {
                verbs.extend([("resume", "roll out the template as it is now"), UNDO]);
            }
            Alarm::RecordUnreadable { .. } => verbs.push(("release", "drop the record and restore the strategy")),
            Alarm::Halted { .. } | Alarm::Blind { .. } | Alarm::WriteFailing { .. } => {}
        }
    }
    match &snapshot.phase {
        Phase::Halted => verbs.extend([UNDO, ("resume", "go on, the failures so far accepted")]),
        Phase::Paused(_) => {
            verbs.push(("resume", "go on"));
            if snapshot.counts.failed > 0 {
                verbs.push(UNDO);
            }
        }
        Phase::Held => verbs.push(("step", "let more nodes be updated")),
        _ => {}
    }
    let mut ways: Vec<WayOut> = Vec::new();
    for (verb, does) in verbs {
        let command = whole(verb, context, snapshot);
        if ways.iter().all(|known| known.command != command) {
            ways.push(WayOut { command, does });
        }
    }
    ways
}
