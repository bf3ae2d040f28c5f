//! `drive`: a driver without a console. The same engine, the same words; one sentence per change.
//!
//! ```text
//! open as Role::OneShot → edits (image, budgets, selector, partition) → close → open as Driver → Drive
//!                → tell changes ─┬─ complete, or held with --until held      0
//!                                ├─ halted, or paused by rolldeck itself     4
//!                                ├─ lease taken over, or not free            7
//!                                └─ handed back early                        3
//! ```
//!
//! The flags are written by one-shot commands before a driver is opened, so that nothing moves while only some of them are in
//! force. How it is interrupted is said in `foreground`.

use std::sync::Arc;
use std::time::Duration;

use super::args::{ContainerImage, DriveArgs, DriveUntil, by_container};
use super::error::{CliError, CliErrorKind, Exit};
use super::foreground::{self, Foreground, Task, TaskArgs};
use super::one_shot::Consent;
use super::output::Output;
use super::status::{deleted, out_of_time, standing};
use super::suggested_commands::CommandPlace;
use crate::driver::{Rollout, Session};
use crate::engine::model::command::{Command, Step, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::driver::DriverView;
use crate::engine::model::node::NodeState;
use crate::engine::model::presence::Presence;
use crate::engine::model::settings::{Finish, Tuning};
use crate::engine::model::unsent::UnsentKind;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

/// Drives the rollout of the DaemonSet `name` until it ends.
pub(crate) async fn run(
    session: &dyn Session,
    namespace: &str,
    args: &DriveArgs,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let task = TaskArgs { namespace, name: &args.name.0, consent: Consent::from_flag(args.yes), timeout: args.timeout };
    foreground::run(session, task, Drive { args }, output).await
}

struct Drive<'a> {
    args: &'a DriveArgs,
}

impl Task for Drive<'_> {
    async fn whole(&mut self, foreground: &mut Foreground<'_>) -> Result<Exit, CliError> {
        let edits_first = asks_for_edits(self.args);
        let (rollout, snapshot) = foreground.open(if edits_first { Role::OneShot } else { Role::Driver }).await?;
        foreground.tell(&snapshot)?;
        let snapshot = if self.args.take_over { snapshot } else { proof_of_life(foreground, &rollout).await? };
        if let (DriverView::Other { holder, .. }, false) = (&snapshot.driver, self.args.take_over) {
            return Err(driven_by(holder));
        }
        if !edits_first {
            return self.drive(foreground, &rollout).await;
        }
        let images = &self.args.images;
        let had = !images.is_empty() && has_images(&snapshot, images);
        if had && snapshot.started_at.is_none() && standing(&snapshot) == Exit::Done {
            return Ok(Exit::Done);
        }
        for command in edits(self.args) {
            // A drive that was killed and is started again with the same arguments continues.
            let command = match command.inner() {
                Command::SetImage(_) if had => Command::Tune(command.tuning()),
                _ => command,
            };
            if command != Command::Tune(Tuning::default()) {
                foreground.settle(&rollout, command).await?;
            }
        }
        drop(rollout);
        foreground.close().await;
        let (rollout, _) = foreground.open(Role::Driver).await?;
        self.drive(foreground, &rollout).await
    }

    fn out_of_time(&self, _place: &CommandPlace, snapshot: &Snapshot, timeout: Duration) -> CliError {
        out_of_time(snapshot, timeout)
    }

    fn left(&self, _place: &CommandPlace, _snapshot: &Snapshot) -> Vec<String> {
        Vec::new()
    }
}

impl Drive<'_> {
    async fn drive(&self, foreground: &mut Foreground<'_>, rollout: &Rollout) -> Result<Exit, CliError> {
        let takeover = if self.args.take_over { Takeover::Ask } else { Takeover::IfFree };
        foreground.settle(rollout, Command::Drive(takeover)).await?;
        self.follow(foreground, rollout).await
    }

    /// Tells changes until it is over.
    async fn follow(&self, foreground: &mut Foreground<'_>, rollout: &Rollout) -> Result<Exit, CliError> {
        let mut snapshots = rollout.snapshots.clone();
        let mut course = DriveEnd::new(self.args.until);
        loop {
            foreground.room().await;
            let snapshot = snapshots.borrow_and_update().clone();
            foreground.tell(&snapshot)?;
            if let Some(end) = course.end(&snapshot) {
                return end;
            }
            snapshots.changed().await.map_err(|_gone| CliError::failed("the driver has stopped"))?;
        }
    }
}

/// Waits until it is known whether the holder that the lease names is alive: they renew it every few seconds, or the lease
/// runs out.
async fn proof_of_life(foreground: &mut Foreground<'_>, rollout: &Rollout) -> Result<Arc<Snapshot>, CliError> {
    let mut snapshots = rollout.snapshots.clone();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        if !matches!(snapshot.driver, DriverView::Unconfirmed { .. }) {
            foreground.tell(&snapshot)?;
            return Ok(snapshot);
        }
        snapshots.changed().await.map_err(|_gone| CliError::failed("the driver has stopped"))?;
    }
}

/// Whether the flags ask for anything but driving.
fn asks_for_edits(args: &DriveArgs) -> bool {
    !edits(args).is_empty()
}

/// What the flags ask for, in the order in which it is written: limits come before what lets nodes go.
fn edits(args: &DriveArgs) -> Vec<Command> {
    // All flags are named here, so that the compiler asks whether a new one is an edit.
    let DriveArgs {
        images,
        to,
        partition,
        selector,
        tuning: _,
        keep: _,
        name: _,
        take_over: _,
        until: _,
        yes: _,
        timeout: _,
    } = args;
    let mut commands = Vec::new();
    let tuning = args.tuning();
    if !images.is_empty() {
        commands.push(Command::SetImage(by_container(images)).under(tuning));
    } else if !tuning.is_empty() {
        commands.push(Command::Tune(tuning));
    }
    if let Some(selector) = selector {
        commands.push(Command::Select((!selector.is_empty()).then(|| selector.clone())));
    }
    match (to, partition) {
        (Some(updated), _) => commands.push(Command::Step(Step::Updated(*updated))),
        (None, Some(partition)) => commands.push(Command::Step(Step::Partition(*partition))),
        (None, None) => {}
    }
    commands
}

/// Whether the template that is being rolled out has these images already.
fn has_images(snapshot: &Snapshot, images: &[ContainerImage]) -> bool {
    snapshot.to.as_ref().is_some_and(|target| {
        let has = |wanted: &ContainerImage| {
            let named = |container: &str| wanted.container == "*" || wanted.container == container;
            let mut found = target.images.iter().filter(|(container, _)| named(container)).peekable();
            found.peek().is_some() && found.all(|(_, image)| **image == *wanted.image.as_str())
        };
        images.iter().all(has)
    })
}

fn driven_by(holder: &str) -> CliError {
    CliError::new(CliErrorKind::DrivenByOther, format!("{holder} drives this rollout"))
        .hinted("`--take-over` asks them to hand over, and succeeds a console that is gone")
}

/// Judges snapshot by snapshot whether the drive is over.
struct DriveEnd {
    until: DriveUntil,
    /// Whether we have held the lease: from then on, somebody else's lease means that ours was taken over.
    drove: bool,
}

impl DriveEnd {
    fn new(until: DriveUntil) -> Self {
        Self { until, drove: false }
    }

    fn end(&mut self, snapshot: &Snapshot) -> Option<Result<Exit, CliError>> {
        if snapshot.daemonset == Presence::Absent {
            return Some(Err(deleted(snapshot)));
        }
        match &snapshot.driver {
            DriverView::You { .. } => self.drove = true,
            DriverView::Other { holder, .. } if self.drove => return Some(Err(taken_over(holder))),
            _ => {}
        }
        match &snapshot.phase {
            // A released rollout takes its pods for pre-warming with it; and pre-warming needs no rollout.
            Phase::Idle | Phase::Complete | Phase::Native if still_prewarms(snapshot) => None,
            // `--on-failure rollback`: the roll back that this halt asks for is not recorded yet.
            Phase::Halted if snapshot.unsent.iter().any(|unsent| unsent.kind == UnsentKind::RollBack) => None,
            Phase::Halted => Some(Ok(Exit::Halted)),
            // As after a halt, nothing moves before an operator decides. One who paused it decides when it goes on.
            Phase::Paused(paused) if paused.is_by_rolldeck() => Some(Ok(Exit::Halted)),
            Phase::Idle => Some(Ok(Exit::Done)),
            Phase::Complete if snapshot.settings.policies.finish == Finish::Keep => Some(Ok(Exit::Done)),
            // Somebody changed the strategy back: the driver stays, to report it or to set it again.
            Phase::Native if is_set_back(snapshot) => None,
            Phase::Native if snapshot.counts.updated == snapshot.counts.nodes => Some(Ok(Exit::Done)),
            // Somebody released it before the end: its controller goes on.
            Phase::Native => Some(Ok(Exit::Incomplete)),
            Phase::Held if self.until == DriveUntil::Held && self.drove && at_rest(snapshot) => Some(Ok(Exit::Done)),
            _ => None,
        }
    }
}

/// Whether we drive, and there is still something to pre-warm or to clean up after it.
fn still_prewarms(snapshot: &Snapshot) -> bool {
    let drives = matches!(snapshot.driver, DriverView::You { .. });
    snapshot.prewarm.as_ref().is_some_and(|prewarm| {
        let asked = &prewarm.request;
        drives && (asked.cancelled.is_some() || (asked.paused.is_none() && !prewarm.is_done()))
    })
}

/// Whether somebody changed the update strategy back under the rollout.
fn is_set_back(snapshot: &Snapshot) -> bool {
    snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::StrategyDrifted { .. }))
}

/// Whether no node is on its way.
fn at_rest(snapshot: &Snapshot) -> bool {
    !snapshot.nodes.iter().any(|node| {
        matches!(
            node.state,
            NodeState::Terminating
                | NodeState::Creating
                | NodeState::Pulling
                | NodeState::Starting
                | NodeState::Soaking
        )
    })
}

fn taken_over(holder: &str) -> CliError {
    CliError::new(CliErrorKind::DrivenByOther, format!("{holder} took over; nothing more is started from here"))
}
