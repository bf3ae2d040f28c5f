//! `drive`: a driver without a console. The same engine, the same words; one sentence per change.
//!
//! ```text
//! open as Role::OneShot → edits (image, budgets, selector, partition) → close → open as Driver → Drive
//!                → tell changes ─┬─ complete, or held with --until held      0
//!                                ├─ halted                                   4
//!                                ├─ lease taken over, or not free            7
//!                                ├─ --timeout, or handed back early          3
//!                                ├─ its output is stuck: stop driving        1
//!                                └─ SIGINT, SIGTERM, SIGHUP: stop driving      130, 143
//! ```
//!
//! The flags are written by one-shot commands before a driver is opened, so that nothing moves while only some of them are in
//! force. However it ends, the lease is given back first; if that fails too, it runs out by itself. While it drives it never
//! waits for its output. If the output is stuck, it stops driving first and waits then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::args::{ContainerImage, DriveArgs, DriveUntil, OutputFormat, by_container};
use super::audit::CLOSE_WITHIN;
use super::audit::Warnings;
use super::change_feed::{ChangeFeed, FeedEntry, Topic};
use super::error::{CliError, CliErrorKind, Exit};
use super::load::{self, LoadPlace};
use super::one_shot::{self, Consent};
use super::output::{Output, Streams};
use super::status::{deleted, out_of_time, standing, tell};
use crate::driver::{Rollout, Session};
use crate::engine::model::command::{Command, Step, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::driver::DriverView;
use crate::engine::model::node::NodeState;
use crate::engine::model::presence::Presence;
use crate::engine::model::settings::{Finish, Tuning};
use crate::engine::model::time::ShortDuration;
use crate::engine::model::unsent::UnsentKind;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};
use crate::process::signals::{self, Listener};

/// How long stopping may take after a signal: the process is ended after [`signals::LEAVE_WITHIN`].
const LEAVE_WITHIN: Duration = Duration::from_secs(4);
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
    let streams = output.streams();
    let mut drive = Drive {
        session,
        namespace,
        args,
        output,
        streams: streams.clone(),
        open: None,
        feed: ChangeFeed::default(),
        warnings: Warnings::default(),
    };
    let end = tokio::select! {
        biased;
        exit = interrupted.next() => End::Signal(exit),
        since = streams.stuck() => End::Stuck(since),
        error = streams.failed() => End::Itself(Err(error.into())),
        end = drive.whole() => End::Itself(end),
        late = patience(args.timeout) => End::Late(late),
    };
    let end = match end {
        End::Late(late) => End::Itself(Err(drive.out_of_time(late))),
        end => end,
    };
    match end {
        End::Itself(end) => {
            tokio::select! {
                () = drive.stop_driving() => end,
                // A signal meanwhile ends the process at once; the lease expires.
                exit = interrupted.next() => Ok(exit),
            }
        }
        End::Signal(exit) => {
            let said = drive.say(Topic::Command, format!("{}: stopping", exit.word()));
            // A second signal ends the process at once.
            let _ = tokio::time::timeout(LEAVE_WITHIN, drive.stop_driving()).await;
            said.map(|()| exit)
        }
        End::Stuck(since) => drive.stuck(since, &mut interrupted).await,
        End::Late(late) => Err(late),
    }
}

/// How a drive comes to its end.
enum End {
    /// By itself, or because its output is closed.
    Itself(Result<Exit, CliError>),
    /// Because there is no more time.
    Late(CliError),
    /// By a signal.
    Signal(Exit),
    /// Because its output is stuck, since then.
    Stuck(Instant),
}

impl Exit {
    fn word(self) -> &'static str {
        match self {
            Self::Terminated => "terminated",
            _ => "interrupted",
        }
    }
}

/// Ends when there is no more time.
async fn patience(timeout: Option<Duration>) -> CliError {
    match timeout {
        Some(timeout) => {
            tokio::time::sleep(timeout).await;
            CliError::new(CliErrorKind::TimedOut, format!("not over after {} s", timeout.as_secs()))
        }
        None => std::future::pending().await,
    }
}

struct Drive<'a> {
    session: &'a dyn Session,
    namespace: &'a str,
    args: &'a DriveArgs,
    output: &'a mut Output,
    streams: Streams,
    /// The open rollout; however the drive ends, it stops driving.
    open: Option<Rollout>,
    feed: ChangeFeed,
    warnings: Warnings,
}

impl Drive<'_> {
    async fn whole(&mut self) -> Result<Exit, CliError> {
        let edits_first = asks_for_edits(self.args);
        let (rollout, snapshot) = self.open(if edits_first { Role::OneShot } else { Role::Driver }).await?;
        self.tell(&snapshot)?;
        let snapshot = if self.args.take_over { snapshot } else { self.proof_of_life(&rollout).await? };
        if let (DriverView::Other { holder, .. }, false) = (&snapshot.driver, self.args.take_over) {
            return Err(driven_by(holder));
        }
        if !edits_first {
            return self.drive(&rollout).await;
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
                self.settle(&rollout, command).await?;
            }
        }
        drop(rollout);
        self.close().await;
        let (rollout, _) = self.open(Role::Driver).await?;
        self.drive(&rollout).await
    }

    /// Waits until it is known whether the holder that the lease names is alive: they renew it every few seconds, or the lease
    /// runs out.
    async fn proof_of_life(&mut self, rollout: &Rollout) -> Result<Arc<Snapshot>, CliError> {
        let mut snapshots = rollout.snapshots.clone();
        loop {
            let snapshot = snapshots.borrow_and_update().clone();
            if !matches!(snapshot.driver, DriverView::Named { .. }) {
                self.tell(&snapshot)?;
                return Ok(snapshot);
            }
            snapshots.changed().await.map_err(|_gone| CliError::failed("the driver has stopped"))?;
        }
    }

    async fn drive(&mut self, rollout: &Rollout) -> Result<Exit, CliError> {
        let takeover = if self.args.take_over { Takeover::Ask } else { Takeover::IfFree };
        self.settle(rollout, Command::Drive(takeover)).await?;
        self.follow(rollout).await
    }

    /// Opens the rollout and waits until it can be seen.
    async fn open(&mut self, role: Role) -> Result<(Rollout, Arc<Snapshot>), CliError> {
        let rollout = self.session.open(self.namespace, &self.args.name.0, role);
        self.open = Some(rollout.clone());
        let place = LoadPlace { context: self.session.context(), namespace: Some(self.namespace) };
        let snapshot = load::rollout(&rollout, place, self.args.timeout.unwrap_or(LOAD_WITHIN)).await?;
        Ok((rollout, snapshot))
    }

    /// Closes what is open.
    async fn close(&mut self) {
        if let Some(rollout) = self.open.take() {
            self.warnings.close(rollout, &self.streams).await;
        }
    }

    /// Gives the lease back, tells what that changed, and closes.
    async fn stop_driving(&mut self) {
        self.give_up(Command::StopDriving).await;
    }

    async fn give_up(&mut self, command: Command) {
        if let Some(rollout) = self.open.clone()
            && matches!(rollout.snapshot().driver, DriverView::You { .. } | DriverView::Waiting { .. })
        {
            // If it is refused or fails, the lease expires.
            let _ = tokio::time::timeout(CLOSE_WITHIN, rollout.command(command)).await;
            let _ = self.tell(&rollout.snapshot());
        }
        self.close().await;
    }

    /// Stops driving, because nobody reads the output; then waits until somebody does, and says what happened.
    async fn stuck(&mut self, since: Instant, interrupted: &mut Interrupts) -> Result<Exit, CliError> {
        let drove =
            self.open.as_ref().is_some_and(|rollout| matches!(rollout.snapshot().driver, DriverView::You { .. }));
        let why = "nobody took its output".to_owned();
        self.give_up(Command::GiveUpDriving { why }).await;
        let streams = self.streams.clone();
        tokio::select! {
            () = streams.drained() => {}
            exit = interrupted.next() => return Ok(exit),
        }
        let stood = ShortDuration(since.elapsed());
        let then = if drove { ": driving was stopped, and nothing was started since" } else { "" };
        let said = format!("nobody took the output for {stood}{then}");
        self.say(Topic::Command, said.clone())?;
        let error = CliError::failed(said);
        Err(error.hinted("`rolldeck status` says where it stands; the same command line carries on"))
    }

    fn out_of_time(&self, late: CliError) -> CliError {
        match (&self.open, self.args.timeout) {
            (Some(rollout), Some(timeout)) => out_of_time(&rollout.snapshot(), timeout),
            _ => late,
        }
    }

    /// Previews, confirms and makes one edit.
    async fn settle(&mut self, rollout: &Rollout, command: Command) -> Result<(), CliError> {
        let preview = rollout.preview(command.clone()).await?;
        let consent = Consent::from_flag(self.args.yes);
        if self.output.format() == OutputFormat::Text && one_shot::asks(&preview, consent) {
            one_shot::show(&preview, self.output)?;
        }
        one_shot::confirm(&preview, &rollout.snapshot(), consent).await?;
        let settled = self.telling(rollout, rollout.command(command)).await??;
        self.say(Topic::Command, settled)
    }

    /// Prints changes while `waiting` is not done, which takes as long as the DaemonSet's controller does not react.
    async fn telling<T>(&mut self, rollout: &Rollout, waiting: impl Future<Output = T>) -> Result<T, CliError> {
        let mut snapshots = rollout.snapshots.clone();
        let mut waiting = std::pin::pin!(waiting);
        loop {
            tokio::select! {
                biased;
                done = &mut waiting => return Ok(done),
                changed = snapshots.changed() => {
                    changed.map_err(|_gone| CliError::failed("the driver has stopped"))?;
                    let snapshot = snapshots.borrow_and_update().clone();
                    self.tell(&snapshot)?;
                }
            }
        }
    }

    /// Tells changes until it is over.
    async fn follow(&mut self, rollout: &Rollout) -> Result<Exit, CliError> {
        let mut snapshots = rollout.snapshots.clone();
        let mut course = Course::new(self.args.until);
        loop {
            // Changes that happen while the output is slow are printed as one.
            self.streams.room().await;
            let snapshot = snapshots.borrow_and_update().clone();
            self.tell(&snapshot)?;
            if let Some(end) = course.end(&snapshot) {
                return end;
            }
            snapshots.changed().await.map_err(|_gone| CliError::failed("the driver has stopped"))?;
        }
    }

    fn tell(&mut self, snapshot: &Arc<Snapshot>) -> Result<(), CliError> {
        self.warnings.say(snapshot, &self.streams);
        Ok(tell(&mut self.feed, snapshot, self.output)?)
    }

    fn say(&mut self, topic: Topic, text: String) -> Result<(), CliError> {
        let at = self.open.as_ref().map(|rollout| rollout.snapshot().at).unwrap_or_default();
        let change = FeedEntry { at, topic, text };
        match self.output.format() {
            OutputFormat::Text => self.output.line(change.line())?,
            OutputFormat::Json => self.output.json(&change.json())?,
        }
        Ok(())
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
struct Course {
    until: DriveUntil,
    /// Whether we have held the lease: from then on, somebody else's lease means that ours was taken over.
    drove: bool,
}

impl Course {
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
            // `--on-failure rollback`: the roll back that this halt asks for is not recorded yet.
            Phase::Halted if snapshot.unsent.iter().any(|unsent| unsent.what == UnsentKind::RollBack) => None,
            Phase::Halted => Some(Ok(Exit::Halted)),
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

/// The signals that end what goes on by itself.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts(Listener);

impl Interrupts {
    pub(crate) fn listen() -> Result<Self, CliError> {
        let listening = signals::listen();
        listening.map(Self).map_err(|error| CliError::failed(format!("listening for signals: {error}")))
    }

    /// Waits for the first of them. The second ends the process by itself.
    pub(crate) async fn next(&mut self) -> Exit {
        self.0.ended().await.into()
    }
}
