//! `drive`: a driver without a console. The same engine, the same words; one sentence per change.
//!
//! ```text
//! open as Driver → view complete → edits (image, selector, budgets, partition) → Drive
//!                → tell changes ─┬─ complete, or held with --until held      0
//!                                ├─ halted                                   4
//!                                ├─ lease taken over, or not free            7
//!                                ├─ --timeout, or handed back early          3
//!                                └─ SIGINT, SIGTERM, SIGHUP: stand down      130, 143
//! ```
//!
//! All edits are settled before the lease is asked for, so that nothing moves under half of what was said. Whatever the
//! end, we stand down before we leave; if that fails too, the lease runs out and nothing was lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::args::{DriveArgs, OutputFormat, Until, by_container};
use super::errand::{self, CLOSE_WITHIN, Consent};
use super::error::{CliError, Exit, Kind};
use super::load::{self, Place};
use super::output::Output;
use super::status::{deleted, out_of_time, tell};
use super::story::{Change, Story, Topic};
use crate::driver::{Rollout, Session};
use crate::engine::Role;
use crate::engine::command::{Command, Step, Takeover};
use crate::engine::record::{Budgets, Finish};
use crate::engine::snapshot::{DriverView, NodeState, Phase, Presence, Snapshot};

/// How long a complete view may take; a driver may be started before its cluster's link is up.
const LOAD_WITHIN: Duration = Duration::from_secs(120);

/// Drives the rollout of the DaemonSet `name` until it ends.
pub(crate) async fn run(
    session: &dyn Session,
    namespace: &str,
    args: &DriveArgs,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let mut interrupted = Interrupts::listen()?;
    let rollout = session.open(namespace, &args.name.0, Role::Driver);
    let place = Place { context: session.context(), namespace: Some(namespace) };
    let mut drive = Drive { rollout: rollout.clone(), args, output, story: Story::default() };
    let end = tokio::select! {
        end = drive.carry_on(place) => end,
        exit = interrupted.next() => Ok(exit),
        () = patience(args.timeout) => {
            Err(out_of_time(&rollout.snapshot(), args.timeout.unwrap_or_default()))
        }
    };
    if let Ok(exit @ (Exit::Interrupted | Exit::Terminated)) = end {
        drive.say(Topic::Command, format!("{}: standing down", exit.word()))?;
    }
    let Drive { rollout: ours, mut story, output, .. } = drive;
    drop(ours);
    tokio::select! {
        () = stand_down(rollout, &mut story, output) => end,
        // Asked twice, we leave at once; the lease runs out by itself.
        exit = interrupted.next() => Ok(exit),
    }
}

impl Exit {
    fn word(self) -> &'static str {
        match self {
            Self::Terminated => "terminated",
            _ => "interrupted",
        }
    }
}

async fn patience(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

/// Gives the lease back, tells what that changed, and leaves.
async fn stand_down(rollout: Rollout, story: &mut Story, output: &mut Output) {
    if matches!(rollout.snapshot().driver, DriverView::You { .. } | DriverView::Waiting { .. }) {
        // Refused or failed, there is nothing more that we could do: the lease runs out.
        let _ = tokio::time::timeout(CLOSE_WITHIN, rollout.command(Command::StandDown)).await;
        let _ = tell(story, &rollout.snapshot(), output);
    }
    let _ = tokio::time::timeout(CLOSE_WITHIN, rollout.close()).await;
}

struct Drive<'a> {
    rollout: Rollout,
    args: &'a DriveArgs,
    output: &'a mut Output,
    story: Story,
}

impl Drive<'_> {
    async fn carry_on(&mut self, place: Place<'_>) -> Result<Exit, CliError> {
        let patience = self.args.timeout.unwrap_or(LOAD_WITHIN);
        let snapshot = load::rollout(&self.rollout, place, patience).await?;
        self.tell(&snapshot)?;
        if let (DriverView::Other { holder, .. }, false) = (&snapshot.driver, self.args.take_over) {
            return Err(driven_by(holder));
        }
        for command in edits(self.args, snapshot.budgets) {
            self.settle(command).await?;
        }
        let takeover = if self.args.take_over { Takeover::Ask } else { Takeover::IfFree };
        self.settle(Command::Drive(takeover)).await?;
        self.follow().await
    }

    /// Previews, confirms and makes one edit.
    async fn settle(&mut self, command: Command) -> Result<(), CliError> {
        let preview = self.rollout.preview(command.clone()).await?;
        let snapshot = self.rollout.snapshot();
        let consent = Consent::from_flag(self.args.yes);
        if self.output.format() == OutputFormat::Text && errand::asks(&preview, consent) {
            errand::show(&preview, self.output)?;
        }
        errand::confirm(&preview, &snapshot, consent).await?;
        let settled = self.rollout.command(command).await?;
        self.say(Topic::Command, settled)?;
        let snapshot = self.rollout.snapshot();
        self.tell(&snapshot)
    }

    /// Tells changes until it is over.
    async fn follow(&mut self) -> Result<Exit, CliError> {
        let mut snapshots = self.rollout.snapshots.clone();
        let mut course = Course::new(self.args.until);
        loop {
            let snapshot = snapshots.borrow_and_update().clone();
            self.tell(&snapshot)?;
            if let Some(end) = course.end(&snapshot) {
                return end;
            }
            snapshots.changed().await.map_err(|_gone| CliError::failed("the driver has stopped"))?;
        }
    }

    fn tell(&mut self, snapshot: &Arc<Snapshot>) -> Result<(), CliError> {
        Ok(tell(&mut self.story, snapshot, self.output)?)
    }

    fn say(&mut self, topic: Topic, text: String) -> Result<(), CliError> {
        let change = Change { at: self.rollout.snapshot().at, topic, text };
        match self.output.format() {
            OutputFormat::Text => self.output.line(change.line())?,
            OutputFormat::Json => self.output.json(&change.json())?,
        }
        Ok(())
    }
}

/// What the flags ask for, in the order in which it is written: what limits comes before what lets go.
///
/// Budgets that are not named stay as they were.
fn edits(args: &DriveArgs, were: Budgets) -> Vec<Command> {
    let mut commands = Vec::new();
    if !args.images.is_empty() {
        commands.push(Command::SetImage(by_container(&args.images)));
    }
    let budgets = Budgets {
        max_unavailable: args.max_unavailable.or(were.max_unavailable),
        max_pulling: args.max_pulling.or(were.max_pulling),
        ..were
    };
    let budgets = (args.max_unavailable.is_some() || args.max_pulling.is_some()).then_some(budgets);
    let finish = args.keep.then_some(Finish::Keep);
    if budgets.is_some() || finish.is_some() {
        commands.push(Command::Tune { budgets, gates: None, finish });
    }
    if let Some(selector) = &args.selector {
        commands.push(Command::Select((!selector.is_empty()).then(|| selector.clone())));
    }
    match (args.to, args.partition) {
        (Some(updated), _) => commands.push(Command::Step(Step::Updated(updated))),
        (None, Some(partition)) => commands.push(Command::Step(Step::Partition(partition))),
        (None, None) => {}
    }
    commands
}

fn driven_by(holder: &str) -> CliError {
    CliError::new(Kind::DrivenByOther, format!("{holder} drives this rollout"))
        .hinted("`--take-over` asks them to hand over, and succeeds a console that is gone")
}

/// Judges snapshot by snapshot whether the drive is over.
struct Course {
    until: Until,
    /// Whether we have held the lease: from then on, somebody else's lease means that ours was taken over.
    drove: bool,
}

impl Course {
    fn new(until: Until) -> Self {
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
            Phase::Halted => Some(Ok(Exit::Halted)),
            Phase::Idle => Some(Ok(Exit::Done)),
            Phase::Complete if snapshot.finish == Finish::Keep => Some(Ok(Exit::Done)),
            Phase::Native if snapshot.counts.updated == snapshot.counts.nodes => Some(Ok(Exit::Done)),
            // Somebody released it before the end: its controller goes on without us.
            Phase::Native => Some(Ok(Exit::Incomplete)),
            Phase::Held if self.until == Until::Held && self.drove && at_rest(snapshot) => Some(Ok(Exit::Done)),
            _ => None,
        }
    }
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
    CliError::new(Kind::DrivenByOther, format!("{holder} took over; nothing more is started from here"))
}

/// The signals that end a drive.
struct Interrupts {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Interrupts {
    fn listen() -> Result<Self, CliError> {
        let listen = |kind| signal(kind).map_err(|error| CliError::failed(format!("listening for signals: {error}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.hangup.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }
}
