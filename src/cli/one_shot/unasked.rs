//! What a command is refused for without `--yes` where no terminal can be asked.
//!
//! All of it goes by what is known beforehand: what the command asks for, how the rollout stands, and the preview. What is offered
//! (`suggested_commands`) says of each command whether that will be so, and a test compares both.

use super::lifts_in_words;
use crate::cli::error::{CliError, CliErrorKind, NOTHING_CHANGED};
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::danger::Danger;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

/// What `--yes` does.
pub(crate) const CONFIRMS: &str = "confirms it";

/// Whether the command may be carried out although nobody agreed to it.
pub(crate) fn accepted(command: &Command, snapshot: &Snapshot, preview: &Preview) -> Result<(), CliError> {
    accept_the_halt(command, snapshot, preview)?;
    accept_no_match(command, snapshot)?;
    accept_no_record(command, snapshot)?;
    accept_losing_the_record(command, snapshot)?;
    accepted_preview(command, snapshot, preview)?;
    accept_going_back(command, snapshot, preview)?;
    accept_halted_before(command, preview)
}

/// The same by the preview alone: commands that also lift a person's pause, and commands that can take down more than the budget, are refused.
pub(super) fn accepted_preview(command: &Command, snapshot: &Snapshot, preview: &Preview) -> Result<(), CliError> {
    // A command that is no danger is not asked about.
    if preview.danger < Danger::Serious {
        return Ok(());
    }
    let beyond = preview.beyond_in_words();
    let lifts = preview.lifts_pause.as_ref().map(|paused| lifts_in_words(paused, snapshot.at));
    let does: Vec<&str> = lifts.as_deref().into_iter().chain(beyond).collect();
    if does.is_empty() {
        return Ok(());
    }
    let why = format!("this {}", does.join(" and "));
    let refused = format!("{why}, and nobody can be asked (no terminal); {NOTHING_CHANGED}");
    let error = CliError::new(CliErrorKind::Refused, refused).again_with("--yes", CONFIRMS);
    // Whoever wants to go back does not want what a pause holds to go on.
    let goes_back = matches!(command.inner(), Command::Undo { .. });
    Err(match lifts {
        Some(_) if goes_back => error,
        Some(_) if snapshot.started_at.is_none() => error.command_helps("resume", "lifts the pause"),
        Some(_) => error.command_helps("resume", "lifts the pause: the rollout goes on as it is"),
        _ => error,
    })
}

/// [`accept_no_match`] for a command that others follow, unless `--yes` is given or somebody can be asked.
pub(crate) fn accepted_match(command: &Command, snapshot: &Snapshot, yes: bool) -> Result<(), CliError> {
    if yes || super::somebody_to_ask() { Ok(()) } else { accept_no_match(command, snapshot) }
}

/// Refuses to resume past a halt. A caller who resumes after a pause may
/// not know that the rollout has halted meanwhile.
fn accept_the_halt(command: &Command, snapshot: &Snapshot, preview: &Preview) -> Result<(), CliError> {
    let halted = snapshot.phase == Phase::Halted && *command.inner() == Command::Resume;
    if !halted {
        return Ok(());
    }
    let (gate, why) = snapshot.halt.as_ref().map(|halt| (halt.gate, &*halt.why)).unwrap_or_default();
    // More nodes may have failed than those that halted the rollout, so the reason of the halt is stated separately.
    let accepted = match preview.accepts.len() {
        0 => format!("and accepts {}", gate.accepted_in_words()),
        1 => "and the node that has failed by now does not halt it again".to_owned(),
        failed => format!("and the {failed} nodes that have failed by now do not halt it again"),
    };
    let refused = format!(
        "this goes on past the halt ({why}), {accepted}; nobody can be asked (no terminal); nothing was changed"
    );
    Err(CliError::new(CliErrorKind::Refused, refused).again_with("--yes", CONFIRMS))
}

/// Refuses a selector that matches no node. Such a selector is probably
/// misspelt, and stops the rollout.
fn accept_no_match(command: &Command, snapshot: &Snapshot) -> Result<(), CliError> {
    let Command::Select(Some(selector)) = command.inner() else { return Ok(()) };
    if selector.is_empty() || snapshot.matching(selector).next().is_some() {
        return Ok(());
    }
    let refused = format!(
        "no node matches {selector}: while it stands no node is updated, and nobody can be asked (no terminal); nothing was changed"
    );
    let error = CliError::new(CliErrorKind::Refused, refused);
    Err(match selector.meant(&snapshot.nodes.iter().map(|node| &node.labels)) {
        Some(meant) => error.hinted(meant),
        None => error,
    }
    .again_with("--yes", CONFIRMS))
}

/// Refuses commands that let nodes go without a record of their rollout.
/// The rollout may have been paused, halted or limited to a few nodes.
fn accept_no_record(command: &Command, snapshot: &Snapshot) -> Result<(), CliError> {
    let lets_go = matches!(command.inner(), Command::Step(_) | Command::Select(_) | Command::SetImage(_));
    if !lets_go || !snapshot.alarms.contains(&Alarm::RecordMissing) {
        return Ok(());
    }
    let refused = "no record is left of the rollout, which may have been paused or halted, and nobody can be asked (no terminal); nothing was changed";
    Err(CliError::new(CliErrorKind::Refused, refused)
        .command_helps("adopt", "records it anew, with the limits that its flags name")
        .again_with("--yes", "says that the defaults are meant"))
}

/// Refuses to drop a record that cannot be read: nothing brings it back.
fn accept_losing_the_record(command: &Command, snapshot: &Snapshot) -> Result<(), CliError> {
    let drops = matches!(command.inner(), Command::Adopt | Command::Release(_));
    if !drops || snapshot.unreadable_record().is_none() {
        return Ok(());
    }
    let refused = "this drops the record that cannot be read, with its limits, its steps, a pause or a halt and what another driver has in progress, \
                   and nobody can be asked (no terminal); nothing was changed";
    Err(CliError::new(CliErrorKind::Refused, refused)
        .again_with("--yes", CONFIRMS)
        .again_with("--dry-run", "says what is known of it")
        .hinted("a newer rolldeck may be able to read it"))
}

/// Refuses a roll back that names no revision if no rollout is under way. Such a roll back moves every
/// node away from the revision that the last rollout left it at, to one that may have run only briefly, or never.
fn accept_going_back(command: &Command, snapshot: &Snapshot, preview: &Preview) -> Result<(), CliError> {
    let unnamed = matches!(command.inner(), Command::Undo { to: None });
    let idle = snapshot.started_at.is_none() && snapshot.phase == Phase::Idle;
    if !unnamed || !idle || preview.nodes.is_empty() {
        return Ok(());
    }
    let nodes = preview.nodes.len();
    let pods = if nodes == 1 { "the pod of 1 node".to_owned() } else { format!("the pods of {nodes} nodes") };
    let refused = format!(
        "no rollout is under way that this would end: it replaces {pods}, and nobody can be asked (no terminal); nothing was changed"
    );
    Err(CliError::new(CliErrorKind::Refused, refused)
        .again_with("--yes", CONFIRMS)
        .hinted("`--to-revision NUMBER` says to which revision it goes"))
}

/// Refuses to go to a revision at which the rollout is known to have halted: the preview that warns of it
/// would be read by nobody.
fn accept_halted_before(command: &Command, preview: &Preview) -> Result<(), CliError> {
    let goes = matches!(command.inner(), Command::Undo { .. });
    let Some(warning) = preview.halted_before.as_ref().filter(|_| goes) else {
        return Ok(());
    };
    let refused =
        format!("{}, and nobody can be asked (no terminal); nothing was changed", warning.trim_end_matches('.'));
    Err(CliError::new(CliErrorKind::Refused, refused).again_with("--yes", CONFIRMS))
}
