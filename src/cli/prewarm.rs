//! `prewarm`: brings images onto nodes, and follows until each node has them.
//!
//! ```text
//! --pause, --resume, --retry    one_shot
//! begin, --cancel               open as Role::Driver → command ─┬─ nobody drives: we do, if the preview named the nodes that go on
//!                                                               └─ somebody drives: they do, and we follow
//!                               → tell changes ─┬─ every node has the images; cleaned up      0
//!                                               ├─ some did not arrive                        4
//!                                               └─ cancelled, or other images were asked for  3
//!                                                  or only nodes that are down are left for minutes
//! ```
//!
//! The request and its pods are kept in the cluster: however this command ends, the next driver continues.

mod lacking;

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use self::lacking::lacking_in_words;
use super::args::{How, PrewarmArgs, by_container};
use super::change_feed::ChangeTopic;
use super::error::{CliError, CliErrorKind, Exit};
use super::foreground::{self, Foreground, Task, TaskArgs};
use super::load;
use super::one_shot::{self, Consent, SEEN_WITHIN};
use super::output::Output;
use super::status::{deleted, some_of};
use super::suggested_commands::{CommandPlace, CommandTarget, prewarm_named};
use crate::driver::{CommandError, Rollout, Session};
use crate::engine::model::command::{Command, PrewarmCommand, Refusal, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::whole_secs;
use crate::engine::model::person_of;
use crate::engine::model::presence::Presence;
use crate::engine::model::prewarm::{PrewarmMethod, PrewarmSource, PrewarmState, PrewarmView, PrewarmWait};
use crate::engine::model::rollout_event::RolloutEventKind;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Snapshot};

/// The default time limit of a one-shot edit.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the Lease must be vacant before this process drives. A shorter time could interfere with another process that is taking over.
const VACANT: Duration = Duration::from_secs(5);

/// How long the command waits for nodes that are down where nothing else is left to do. A node that is down for so long gives its pull slot up.
pub(in crate::cli) const DOWN_FOR: Duration = Duration::from_secs(10 * 60);
/// What becomes of nodes that are down after a command has ended without waiting for them.
pub(in crate::cli) const BROUGHT_LATER: &str =
    "whoever drives brings them the images once they are back; the same command waits for that";

/// Pre-warms, or changes what is being pre-warmed.
pub(crate) async fn run(
    session: &dyn Session,
    namespace: &str,
    args: &PrewarmArgs,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let name = &args.name.0;
    match args.control() {
        Some(edit @ (PrewarmCommand::Pause | PrewarmCommand::Resume | PrewarmCommand::Retry)) => {
            let timeout = args.timeout.unwrap_or(PATIENCE);
            let how = How { dry_run: args.dry_run, yes: args.yes, timeout };
            one_shot::run(session, namespace, name, Command::Prewarm(edit), &how, output).await
        }
        Some(PrewarmCommand::Cancel | PrewarmCommand::Start { .. }) | None => {
            let consent = Consent::from_flag(args.yes);
            let task = TaskArgs { namespace, name, consent, timeout: args.timeout };
            foreground::run(session, task, PrewarmTask { args }, output).await
        }
    }
}

struct PrewarmTask<'a> {
    args: &'a PrewarmArgs,
}

impl Task for PrewarmTask<'_> {
    fn command(&self) -> &'static str {
        "prewarm"
    }

    async fn whole(&mut self, foreground: &mut Foreground<'_>) -> Result<Exit, CliError> {
        let (rollout, snapshot) = foreground.open(Role::Driver).await?;
        let snapshot = load::with_revision(&rollout, snapshot, self.args.revision).await;
        let command = self.command(&snapshot)?;
        // A refusal comes before any other output.
        let previewed = Command::Prewarm(command.clone());
        let preview = match self.args.dry_run {
            true => rollout.preview_once_seen(&previewed, SEEN_WITHIN).await?,
            false => one_shot::preview(&rollout, &previewed).await?,
        };
        if let Some(which) = self.args.revision.and_then(|number| snapshot.called_ambiguously(&number.to_string())) {
            foreground.complain(&which);
        }
        if command == PrewarmCommand::Cancel && !preview.nodes.is_empty() {
            drop(rollout);
            return self.cancel_without_driving(foreground, preview.nodes.len()).await;
        }
        if self.args.dry_run {
            return foreground.dry_run(&rollout, Command::Prewarm(command)).await;
        }
        let carries_on = !preview.nodes.is_empty();
        if carries_on && !self.args.yes && !one_shot::asks(&preview, Consent::Ask) {
            let nodes = preview.nodes.len();
            let nodes = if nodes == 1 { "1 node is".to_owned() } else { format!("{nodes} nodes are") };
            let why = format!(
                "this also carries on the rollout, where {nodes} in line, and nobody can be asked (no terminal); nothing was changed"
            );
            let pause = CommandTarget::new(foreground.place(), &snapshot).named("pause");
            let refused = CliError::new(CliErrorKind::Refused, why)
                .again_with("--yes", one_shot::CONFIRMS)
                .hinted(format!("after {pause} it only pre-warms"));
            return one_shot::recorded(&rollout, &Command::Prewarm(command), Err(refused)).await;
        }
        foreground.set_cancels_prewarming(command == PrewarmCommand::Cancel);
        foreground.tell(&snapshot)?;
        foreground.settle_shown(&rollout, Command::Prewarm(command.clone())).await?;
        if matches!(rollout.snapshot().driver, DriverView::Unconfirmed { .. }) {
            let next = match command {
                PrewarmCommand::Cancel => "deletes the pods once its lease has run out",
                _ => "becomes the driver once its lease has run out",
            };
            let unless = match snapshot.started_at {
                Some(_) if !carries_on => ", unless that would carry on the rollout",
                _ => "",
            };
            let next = format!("whether the driver is alive is not known yet: if not, this process {next}{unless}");
            foreground.say(ChangeTopic::Advice, next)?;
        }
        follow(foreground, &rollout, &command, carries_on).await
    }

    fn ends_at_a_halt(&self) -> bool {
        false
    }

    fn why_it_ends(&self, snapshot: &Snapshot) -> String {
        match snapshot.prewarm.as_ref().is_some_and(PrewarmView::has_all) {
            true => "every node that it pre-warmed has the images".to_owned(),
            false => "its pre-warming was over".to_owned(),
        }
    }

    fn out_of_time(&self, place: &CommandPlace, snapshot: &Snapshot, timeout: Duration) -> CliError {
        let cancels = snapshot.prewarm.as_ref().is_some_and(|prewarm| prewarm.request.cancelled.is_some());
        let lacking = lacking_in_words(snapshot).filter(|_| !cancels);
        let stands = lacking.or_else(|| snapshot.prewarm.as_ref().map(ToString::to_string));
        let stands = stands.map(|stands| format!(": {stands}")).unwrap_or_default();
        let error = CliError::new(
            CliErrorKind::TimedOut,
            format!("not finished after {} s{stands}", whole_secs(timeout).as_secs()),
        );
        self.left(place, snapshot).into_iter().fold(error, CliError::hinted)
    }

    fn left(&self, place: &CommandPlace, snapshot: &Snapshot) -> Vec<String> {
        left(place, snapshot)
    }
}

/// What becomes of pre-warming once the process that drives it ends, and the commands that go on with it or give it up.
pub(super) fn left(place: &CommandPlace, snapshot: &Snapshot) -> Vec<String> {
    let Some(prewarm) = &snapshot.prewarm else { return Vec::new() };
    let target = CommandTarget::new(place, snapshot);
    let cancel = target.named("prewarm --cancel");
    if prewarm.request.cancelled.is_some() {
        return vec![format!("its pods are still being deleted: whoever drives next does it, or {cancel}")];
    }
    if prewarm.request.method == PrewarmMethod::StatefulSet {
        return vec![format!(
            "its StatefulSets go on by themselves; whoever drives deletes them once every node has the images, or {cancel}"
        )];
    }
    let goes_on = prewarm_named(target, &prewarm.request, &snapshot.revisions);
    if let DriverView::Other { holder, .. } = &snapshot.driver {
        return vec![format!("{holder} drives and carries it out; {cancel} ends it")];
    }
    vec![
        "its pods stay, and what is being pulled goes on; whoever drives next carries on".to_owned(),
        format!("{goes_on} goes on, {cancel} gives it up, and whoever drives deletes its pods"),
    ]
}

impl PrewarmTask<'_> {
    /// Cancels, and leaves the deletion of the pods to the next driver. Driving would also let `in_line` nodes of a rollout
    /// without a driver go, which a user who cancels does not expect.
    async fn cancel_without_driving(&self, foreground: &mut Foreground<'_>, in_line: usize) -> Result<Exit, CliError> {
        foreground.close().await;
        let (rollout, snapshot) = foreground.open(Role::OneShot).await?;
        let cancel = Command::Prewarm(PrewarmCommand::Cancel);
        if self.args.dry_run {
            return foreground.dry_run(&rollout, cancel).await;
        }
        foreground.settle_shown(&rollout, cancel).await?;
        leave_it(foreground, &snapshot, &PrewarmCommand::Cancel, in_line)
    }

    /// The engine's command for the flags.
    fn command(&self, snapshot: &Snapshot) -> Result<PrewarmCommand, CliError> {
        let PrewarmArgs { images, revision, .. } = self.args;
        if let Some(control) = self.args.control() {
            return Ok(control);
        }
        let source = match revision {
            Some(number) => {
                let named = snapshot.revision_numbered(*number);
                let hash = named.map(|revision| revision.hash.clone()).ok_or_else(|| {
                    let why = format!("no revision {number}; {}", snapshot.known_revisions());
                    CliError::new(CliErrorKind::NotFound, why)
                })?;
                PrewarmSource::Revision(hash)
            }
            None if images.is_empty() => PrewarmSource::Template,
            None => PrewarmSource::Images(by_container(images)),
        };
        Ok(PrewarmCommand::Start {
            source,
            nodes: self.args.nodes(),
            limits: self.args.limits(),
            method: self.args.method(),
        })
    }
}

/// Ends and leaves the work to the next driver, because driving would continue the rollout, in which this many nodes are in line.
fn leave_it(
    foreground: &mut Foreground<'_>,
    snapshot: &Snapshot,
    command: &PrewarmCommand,
    in_line: usize,
) -> Result<Exit, CliError> {
    let target = CommandTarget::new(foreground.place(), snapshot);
    let (pause, drive) = (target.named("pause"), target.named("drive"));
    let nodes = if in_line == 1 { "1 node is".to_owned() } else { format!("{in_line} nodes are") };
    let (next, only) = match command {
        PrewarmCommand::Cancel => ("its pods are deleted by whoever drives next", "deletes them"),
        _ => ("nobody drives, and whoever drives next carries it on", "pre-warms"),
    };
    let text = format!(
        "{next}; this command does not drive, as that would carry on the rollout, where {nodes} in line; {drive} does both, \
         after {pause} the same command only {only}"
    );
    foreground.say(ChangeTopic::Advice, text)?;
    Ok(Exit::Incomplete)
}

/// Reports changes until pre-warming is over. Drives if nobody does, unless that would continue the rollout and `carries_on`
/// is false: then the preview that the user accepted did not say so, because somebody drove or might have driven.
async fn follow(
    foreground: &mut Foreground<'_>,
    rollout: &Rollout,
    command: &PrewarmCommand,
    carries_on: bool,
) -> Result<Exit, CliError> {
    let mut snapshots = rollout.snapshots.clone();
    let began = rollout.snapshot().at;
    let (mut vacant_since, mut down_since) = (None, None);
    let mut arrived = false;
    let mut cancelled = None;
    loop {
        foreground.room().await;
        let snapshot = snapshots.borrow_and_update().clone();
        foreground.tell(&snapshot)?;
        let ends = snapshot.prewarm.as_ref().filter(|prewarm| prewarm.request.cancelled.is_some());
        cancelled = ends.and_then(|prewarm| prewarm.request.why_it_ends()).or(cancelled);
        let has_all = |prewarm: &PrewarmView| prewarm.request.complete.is_some() || prewarm.has_all();
        arrived |= snapshot.prewarm.as_ref().is_some_and(|prewarm| prewarm.error.is_none() && has_all(prewarm));
        match course(&snapshot, command) {
            // Pre-warming by StatefulSets ends by itself, and may be over before the last node was seen with the images.
            PrewarmEnd::Replaced(_) if snapshot.prewarm.is_none() && (arrived || was_completed(&snapshot, began)) => {
                return Ok(Exit::Done);
            }
            PrewarmEnd::GoesOn => {}
            PrewarmEnd::BegunAnew => {
                let off = CommandTarget::new(foreground.place(), &snapshot).named("tune --require-image=false");
                let text = format!(
                    "cancelled; the rollout's own pre-warming goes on, because it requires these images before an update: {off} ends that"
                );
                foreground.say(ChangeTopic::Advice, text)?;
                return Ok(Exit::Incomplete);
            }
            PrewarmEnd::Over(end) => {
                let Ok(Exit::Halted) = end else { return end };
                let failures = failures(foreground.place(), &snapshot);
                return Err(failures.into_iter().fold(not_arrived_everywhere(&snapshot), CliError::hinted));
            }
            PrewarmEnd::Replaced(why) => {
                let cancelled = cancelled.filter(|_| snapshot.prewarm.is_none());
                let cancelled = cancelled.map(|by| format!(": it was {by}")).unwrap_or_default();
                let why = format!("not followed any longer: {why}{cancelled}");
                return Err(CliError::new(CliErrorKind::Incomplete, why));
            }
        }
        let down = *command != PrewarmCommand::Cancel && !only_down(&snapshot).is_empty();
        down_since = down.then(|| down_since.unwrap_or_else(Instant::now));
        let given_up = async {
            match down_since {
                Some(since) => sleep_until(since + DOWN_FOR).await,
                None => std::future::pending().await,
            }
        };
        let vacant = snapshot.driver.is_nobody();
        vacant_since = vacant.then(|| vacant_since.unwrap_or_else(Instant::now));
        let vacated = async {
            match vacant_since {
                Some(since) => sleep_until(since + VACANT).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = snapshots.changed() => changed.map_err(|_gone| CliError::failed("the driver has stopped"))?,
            () = given_up => return Err(down_for_long(foreground.place(), &snapshot)),
            () = vacated => {
                // If driving is refused, the command itself reports the reason.
                let preview = rollout.preview(Command::Drive(Takeover::IfFree)).await;
                let in_line = preview.map_or(0, |preview| preview.nodes.len());
                if in_line > 0 && !carries_on {
                    return leave_it(foreground, &snapshot, command, in_line);
                }
                take_the_lease(foreground, rollout).await?;
                vacant_since = None;
            }
        }
    }
}

/// The nodes that are down, if no other node waits for its images: each has them or has finally failed.
pub(in crate::cli) fn only_down(snapshot: &Snapshot) -> Vec<&NodeView> {
    let Some(prewarm) = snapshot.prewarm.as_ref().filter(|prewarm| prewarm.request.cancelled.is_none()) else {
        return Vec::new();
    };
    let is_down =
        |node: &&NodeView| matches!(node.prewarm.as_deref(), Some(PrewarmState::Waiting(PrewarmWait::NodeDown)));
    let down: Vec<&NodeView> = snapshot.nodes.iter().filter(is_down).collect();
    let counts = &prewarm.counts;
    let goes_on = counts.pulling > 0 || counts.retrying > 0 || counts.waiting as usize > down.len();
    if goes_on || prewarm.error.is_some() { Vec::new() } else { down }
}

/// The error at the end if only nodes that are down are left.
fn down_for_long(place: &CommandPlace, snapshot: &Snapshot) -> CliError {
    let down = only_down(snapshot);
    let failed = failures(place, snapshot);
    let nodes = if down.len() == 1 { "1 node is".to_owned() } else { format!("{} nodes are", down.len()) };
    let why = format!(
        "pre-warming goes on without this command: {nodes} down, and everything else is done: {}",
        some_of(&down)
    );
    let error = CliError::new(CliErrorKind::Incomplete, why).hinted(BROUGHT_LATER);
    failed.into_iter().fold(error, CliError::hinted)
}

/// Whether pre-warming was complete at or after `began`, by the timeline.
fn was_completed(snapshot: &Snapshot, began: Timestamp) -> bool {
    let complete = |kind: &RolloutEventKind| matches!(kind, RolloutEventKind::PrewarmComplete { .. });
    snapshot.timeline.iter().any(|event| event.at >= began && complete(&event.kind))
}

/// Drives, because nobody does.
async fn take_the_lease(foreground: &mut Foreground<'_>, rollout: &Rollout) -> Result<(), CliError> {
    let drive = Command::Drive(Takeover::IfFree);
    match foreground.telling(rollout, rollout.command(drive)).await? {
        // Another process was faster.
        Err(CommandError::Refused(Refusal::DrivenBy { .. })) => Ok(()),
        Ok(settled) => foreground.say(ChangeTopic::Command, settled),
        Err(error) => Err(error.into()),
    }
}

/// The nodes on which images did not arrive, and the remedies: pull again, with or without driving, or delete the pods.
fn failures(place: &CommandPlace, snapshot: &Snapshot) -> Option<String> {
    let prewarm = snapshot.prewarm.as_ref()?;
    let failed = |node: &&NodeView| matches!(node.prewarm.as_deref(), Some(PrewarmState::Failed { .. }));
    let failed: Vec<&NodeView> = snapshot.nodes.iter().filter(failed).collect();
    if failed.is_empty() {
        return None;
    }
    let target = CommandTarget::new(place, snapshot);
    let again = prewarm_named(target, &prewarm.request, &snapshot.revisions);
    let (retry, cancel) = (target.named("prewarm --retry"), target.named("prewarm --cancel"));
    Some(format!(
        "failed on {}: {again} tries again, as does {retry} where somebody drives; {cancel} gives it up and deletes its pods",
        some_of(&failed)
    ))
}

/// The error at the end if some images did not arrive.
fn not_arrived_everywhere(snapshot: &Snapshot) -> CliError {
    let lacking = lacking_in_words(snapshot).unwrap_or_else(|| "some nodes did not get the images".to_owned());
    CliError::new(CliErrorKind::Halted, format!("pre-warming has ended, and {lacking}"))
}

/// The result of pre-warming, if it is over.
enum PrewarmEnd {
    GoesOn,
    Over(Result<Exit, CliError>),
    /// It was cancelled, and the rollout pre-warms by itself what it requires.
    BegunAnew,
    /// Pre-warming will not be completed, for this reason.
    Replaced(String),
}

fn course(snapshot: &Snapshot, command: &PrewarmCommand) -> PrewarmEnd {
    if snapshot.daemonset == Presence::Absent {
        return PrewarmEnd::Over(Err(deleted(snapshot)));
    }
    let Some(prewarm) = &snapshot.prewarm else {
        return match command {
            PrewarmCommand::Cancel if snapshot.nodes.iter().any(|node| node.image_wait().is_some()) => {
                PrewarmEnd::BegunAnew
            }
            PrewarmCommand::Start { .. } => PrewarmEnd::Replaced("nothing is being pre-warmed any more".into()),
            _ => PrewarmEnd::Over(Ok(Exit::Done)),
        };
    };
    let request = &prewarm.request;
    let same = match command {
        PrewarmCommand::Start { source, nodes, limits: _, method } => {
            (&request.source, &request.nodes, &request.method) == (source, nodes, method)
        }
        _ => request.cancelled.is_some(),
    };
    // The Lease and the pods are watched each by itself: whoever drives has seen the last pod go before this process has.
    if *command == PrewarmCommand::Cancel && request.stands_in() {
        return PrewarmEnd::GoesOn;
    }
    if !same && *command == PrewarmCommand::Cancel && request.by.is_rolldeck() {
        return PrewarmEnd::BegunAnew;
    }
    if !same {
        return PrewarmEnd::Replaced(format!("{} asked for something else meanwhile", person_of(&request.by.by)));
    }
    match &prewarm.error {
        Some(why) => PrewarmEnd::Over(Err(CliError::failed(format!("pre-warming is not possible: {why}")))),
        None if request.cancelled.is_some() || !prewarm.is_done() => PrewarmEnd::GoesOn,
        // The StatefulSets' leftovers are deleted first.
        None if request.method == PrewarmMethod::StatefulSet && prewarm.has_all() => PrewarmEnd::GoesOn,
        None if !prewarm.stuck.is_empty() => PrewarmEnd::Over(Ok(Exit::Halted)),
        None if prewarm.counts.failed > 0 => PrewarmEnd::Over(Ok(Exit::Halted)),
        None => PrewarmEnd::Over(Ok(Exit::Done)),
    }
}
