//! Remedies as commands that can be copied.

use serde::Serialize;

use crate::engine::model::driver::DriverView;
use crate::engine::model::prewarm::{Prewarm, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::report::guidance::Remedy;
use crate::engine::report::snapshot::{RevisionView, Snapshot};

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
        Remedy::RestoreOnDelete => ("restoreOnDelete", "adopt"),
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
    suggested.extend(prewarming(context, snapshot));
    suggested
}

/// What can be done about pre-warming that stands still, or that failed somewhere.
fn prewarming(context: &str, snapshot: &Snapshot) -> Option<SuggestedCommand> {
    let prewarm = snapshot.prewarm.as_ref().filter(|prewarm| prewarm.request.cancelled.is_none())?;
    let nobody = matches!(snapshot.driver, DriverView::Nobody | DriverView::Lost { .. });
    let missing = prewarm.counts.present < prewarm.counts.nodes;
    let goes_on = prewarm.request.method == PrewarmMethod::StatefulSet && prewarm.error.is_none();
    let (remedy, command, text) = if prewarm.error.is_some() {
        ("prewarmCancel", "prewarm --cancel".to_owned(), "deletes the pods that were made for it")
    } else if prewarm.request.paused.is_some() {
        ("prewarmResume", "prewarm --resume".to_owned(), "goes on pre-warming")
    } else if nobody && missing && !goes_on {
        ("prewarm", prewarm_command(&prewarm.request, &snapshot.revisions), "carries pre-warming on")
    } else if nobody && goes_on && prewarm.has_all() {
        ("prewarmCancel", "prewarm --cancel".to_owned(), "deletes its StatefulSets, which have nothing left to do")
    } else if prewarm.counts.failed > prewarm.counts.retrying {
        ("prewarmRetry", "prewarm --retry".to_owned(), "pulls again what failed")
    } else {
        return None;
    };
    Some(SuggestedCommand { remedy, command: whole(&command, context, snapshot), text: text.to_owned() })
}

/// The command that asks for the same again, without the DaemonSet: `prewarm --image agent=agent:v2 --max-pulling 2`.
pub(crate) fn prewarm_command(asked: &Prewarm, revisions: &[RevisionView]) -> String {
    let mut words = vec!["prewarm".to_owned()];
    match &asked.source {
        PrewarmSource::Template => {}
        PrewarmSource::Images(images) => {
            words.extend(images.iter().map(|(name, image)| format!("--image {}", quoted(&format!("{name}={image}")))));
        }
        PrewarmSource::Revision(hash) => {
            let number = revisions.iter().find(|revision| revision.hash == *hash).and_then(|it| it.number);
            words.extend(number.map(|number| format!("--revision {number}")));
        }
    }
    match &asked.nodes {
        PrewarmNodes::All => {}
        PrewarmNodes::Selector(selector) => words.push(format!("-l {}", quoted(&selector.to_string()))),
        PrewarmNodes::NextStep | PrewarmNodes::StepAhead => words.push("--next-step".to_owned()),
        PrewarmNodes::Node(name) => words.push(format!("--node {name}")),
    }
    let PrewarmLimits { max_pulling, max_pulling_per_site, site_label, pace } = &asked.limits;
    for (flag, limit) in [("--max-pulling", max_pulling), ("--max-pulling-per-site", max_pulling_per_site)] {
        words.extend(limit.at().map(|limit| format!("{flag} {limit}")));
    }
    words.extend(site_label.iter().map(|label| format!("--site-label {label}")));
    words.extend((!pace.is_fixed()).then(|| format!("--pace {pace}")));
    if asked.method == PrewarmMethod::StatefulSet {
        words.push("--method statefulset".to_owned());
    }
    words.join(" ")
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
