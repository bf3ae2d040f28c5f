//! Remedies as commands that can be copied.

use serde::Serialize;

use crate::engine::report::guidance::Remedy;
use crate::engine::report::snapshot::Snapshot;

/// A remedy as JSON: its kind for a script, the command that carries it out, and what that does in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct SuggestedCommand {
    remedy: &'static str,
    /// The whole command.
    command: String,
    text: String,
}

impl SuggestedCommand {
    /// `rolldeck resume --context prod -n edge ds/agent   (continues)`.
    pub(crate) fn line(&self) -> String {
        format!("{}   ({})", self.command, self.text)
    }
}

/// A whole command about this rollout. It names the cluster, so it means the same in another shell.
pub(crate) fn whole(command: &str, context: &str, snapshot: &Snapshot) -> String {
    format!("rolldeck {command} --context {context} -n {} ds/{}", snapshot.namespace, snapshot.name)
}

/// The kind of a remedy in JSON, and its command with flags. There is no command where it needs an argument that only the
/// operator knows.
fn spelled(remedy: Remedy) -> (&'static str, Option<String>) {
    let (kind, command) = match remedy {
        Remedy::Drive => ("drive", "drive"),
        Remedy::Step(_) => ("step", "step"),
        Remedy::StepForRevision => ("stepForRevision", "step"),
        Remedy::Select => return ("select", None),
        Remedy::LiftSelector { .. } => ("liftSelector", "select --clear"),
        Remedy::SetImage => return ("setImage", None),
        Remedy::Brake => ("brake", "pause"),
        Remedy::BrakeAgain => ("brakeAgain", "adopt"),
        Remedy::Resume => ("resume", "resume"),
        Remedy::ResumeUnderOnDelete => ("resumeUnderOnDelete", "resume"),
        Remedy::ResumeWithTemplate => ("resumeWithTemplate", "resume"),
        Remedy::ResumePastFailures => ("resumePastFailures", "resume"),
        Remedy::Undo => ("undo", "undo"),
        Remedy::EnforceOnDelete => ("enforceOnDelete", "tune --on-drift enforce"),
        Remedy::PauseOnDrift => ("pauseOnDrift", "tune --on-drift report"),
        Remedy::RaiseBudget { to } => return ("raiseBudget", Some(format!("tune --max-unavailable {to}"))),
        Remedy::Release => ("release", "release"),
        Remedy::ReleaseEarly => ("releaseEarly", "release --early"),
        Remedy::DropUnreadableRecord => ("dropUnreadableRecord", "release"),
        Remedy::DropForeignRecord => ("dropForeignRecord", "release"),
    };
    (kind, Some(command.to_owned()))
}

/// The command for a remedy, without the DaemonSet; `None` where it needs an argument that only the operator knows.
pub(crate) fn command_of(remedy: Remedy) -> Option<String> {
    spelled(remedy).1
}

/// What an operator can do about what stands in the way; empty when nothing does. Each command is offered once.
pub(crate) fn suggested_commands(context: &str, snapshot: &Snapshot) -> Vec<SuggestedCommand> {
    let mut suggested: Vec<SuggestedCommand> = Vec::new();
    // That nobody drives, and the command for it, is said beside the driver.
    for remedy in snapshot.remedies().into_iter().filter(|remedy| *remedy != Remedy::Drive) {
        let (kind, Some(command)) = spelled(remedy) else { continue };
        let command = whole(&command, context, snapshot);
        if suggested.iter().all(|known| known.command != command) {
            suggested.push(SuggestedCommand { remedy: kind, command, text: remedy.to_string() });
        }
    }
    suggested
}
