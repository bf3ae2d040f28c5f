//! A task in the foreground: it may drive, reports changes until it ends, and can be interrupted at any time.
//!
//! ```text
//! task ─┬─ by itself                                  as the task says
//!       ├─ --timeout                                  3
//!       ├─ its output is stuck: stop driving          1
//!       └─ SIGINT, SIGTERM, SIGHUP: stop driving      130, 143
//! ```
//!
//! However the task ends, the Lease is released first; if that fails, it expires. While the task drives it never waits for
//! its output. If the output is stuck, the task first stops driving and then waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::args::{OutputFormat, exit_code_meaning};
use super::audit::{CLOSE_WITHIN, Warnings};
use super::change_feed::{ChangeFeed, ChangeTopic, FeedEntry};
use super::error::{CliError, CliErrorKind, Exit, SAYS_WHERE};
use super::json::{TaskEnding, TaskResultJson};
use super::load::{self, LoadPlace};
use super::one_shot::{self, Consent, SEEN_WITHIN};
use super::output::{Output, Streams};
use super::status::tell;
use super::suggested_commands::CommandPlace;
use crate::driver::{CommandError, Rollout, Session};
use crate::engine::model::command::{BEFORE_A_STEP, Command, NOBODY_DRIVES, Preview, SENT_BY_THE_NEXT};
use crate::engine::model::config::Role;
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::whole_secs;
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};
use crate::process::signals::{self, EndSignal, Listener, STOP_WITHIN};

/// How long a complete view may take to load if no `--timeout` is given. It is generous because a driver may be started before the link of its cluster
/// is up.
const LOAD_WITHIN: Duration = Duration::from_secs(120);

/// If the last snapshot is younger than this, sentences about the present have its time; otherwise that of the clock.
const SAME_TIME: Duration = Duration::from_secs(1);

/// How long the last line on standard error waits for the output before it.
const SAYS_LAST: Duration = Duration::from_millis(200);

/// The text between a command and the reason of its refusal, in the engine's words.
const REFUSED: &str = " was refused: ";

/// A task that runs in the foreground.
pub(crate) trait Task {
    /// The word that is typed for it.
    fn command(&self) -> &'static str;

    /// Runs the task to its end.
    async fn whole(&mut self, foreground: &mut Foreground<'_>) -> Result<Exit, CliError>;

    /// Whether the task ends when the rollout halts.
    fn ends_at_a_halt(&self) -> bool;

    /// Why the task stops driving if it has ended by itself without an error, for the record.
    fn why_it_ends(&self, snapshot: &Snapshot) -> String;

    /// The error when the time is over.
    fn out_of_time(&self, place: &CommandPlace, snapshot: &Snapshot, timeout: Duration) -> CliError;

    /// The lines after an interruption: the unfinished work, and how to continue.
    fn left(&self, place: &CommandPlace, snapshot: &Snapshot) -> Vec<String>;

    /// Whether the same command carries on after an interruption, in words; `None` where nothing is left for it.
    fn carries_on(&self, _snapshot: &Snapshot) -> Option<String> {
        None
    }

    /// The one command that goes on from where the task has ended, with what it does: the last line on standard error. `to_other`: it has ended because
    /// another process drives.
    fn next(&self, _place: &CommandPlace, _snapshot: &Snapshot, _to_other: bool) -> Option<String> {
        None
    }
}

/// The arguments of a task: the DaemonSet and the options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskArgs<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) consent: Consent,
    /// The time limit; `None`: no limit.
    pub(crate) timeout: Option<Duration>,
}

/// The preview of an edit after which this process drives: it replaces the pods itself.
pub(crate) fn drives_afterwards(preview: &mut Preview) {
    if let Some(effect) = preview.effects.iter_mut().find(|effect| **effect == NOBODY_DRIVES) {
        *effect = "This process becomes the driver, and replaces their pods.".to_owned();
    }
    for call in &mut preview.calls {
        if let Some(own) = call.strip_suffix(SENT_BY_THE_NEXT) {
            *call = own.to_owned();
        }
    }
}

/// Runs a task.
pub(crate) async fn run(
    session: &dyn Session,
    args: TaskArgs<'_>,
    mut task: impl Task,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let mut interrupted = Interrupts::listen()?;
    let (streams, place) = (output.streams(), CommandPlace::of(session));
    let mut foreground = Foreground {
        session,
        args,
        feed: ChangeFeed::new(&place)
            .counting(output.format() != OutputFormat::Text)
            .ending_at_a_halt(output.format() == OutputFormat::Text && task.ends_at_a_halt()),
        output,
        streams: streams.clone(),
        open: None,
        place: place.clone(),
        warnings: Warnings::default(),
        has_changed: false,
        last: None,
        is_dry_run: false,
    };
    let end = end_of(&mut foreground, &mut task, &mut interrupted).await;
    foreground.print_result(task.command(), &end);
    let to_other = end.as_ref().is_err_and(CliError::is_driven_by_other);
    let next =
        foreground.left().and_then(|last| Some((task.next(&place, &last, to_other)?, last.phase == Phase::Halted)));
    match (next, end) {
        (Some((next, _)), Ok(exit)) => {
            // After all that was reported, unless nobody takes that.
            let _ = tokio::time::timeout(SAYS_LAST, streams.drained()).await;
            streams.complain(&format!("Hint: {next}"));
            Ok(exit)
        }
        // The hints of a halt name what decides about it; those of other ends, how they go on.
        (Some((next, halted)), Err(error)) if halted || !error.names_a_command() => Err(error.hinted(next)),
        (_, end) => end,
    }
}

/// Runs the task until it ends by itself, its time is over, its output is stuck or a signal comes, and gives the Lease back.
async fn end_of(
    foreground: &mut Foreground<'_>,
    task: &mut impl Task,
    interrupted: &mut Interrupts,
) -> Result<Exit, CliError> {
    let (args, streams, place) = (foreground.args, foreground.streams.clone(), foreground.place.clone());
    let end = tokio::select! {
        biased;
        signal = interrupted.signal() => TaskEnd::Signal(signal),
        since = streams.stuck() => TaskEnd::Stuck(since),
        error = streams.failed() => TaskEnd::Itself(Err(error.into())),
        end = task.whole(foreground) => TaskEnd::Itself(end),
        timeout = patience(args.timeout) => TaskEnd::TimedOut(timeout),
    };
    match end {
        TaskEnd::Itself(end) => {
            let why = match (&end, &foreground.open) {
                (Ok(_), Some(rollout)) => task.why_it_ends(&rollout.snapshot()),
                (Ok(_), None) => "its work was done".to_owned(),
                (Err(error), _) => error.why_it_ends(),
            };
            stopped(foreground.stop_driving(why), interrupted).await.map_or(end, Ok)
        }
        TaskEnd::TimedOut(timeout) => {
            let secs = whole_secs(timeout).as_secs();
            let error = match &foreground.open {
                Some(rollout) => {
                    let last = rollout.snapshot();
                    // The ages that are told are those of the present.
                    let at = foreground.present(Some(last.at));
                    task.out_of_time(&place, &Snapshot { at, ..Snapshot::clone(&last) }, timeout)
                }
                None => CliError::new(CliErrorKind::TimedOut, format!("not finished after {secs} s")),
            };
            let why = format!("its --timeout of {secs}s had passed");
            stopped(foreground.stop_because(why), interrupted).await.ok_or(error)
        }
        TaskEnd::Signal(signal) => {
            let exit = Exit::from(signal);
            let then = if foreground.has_changed { "stopping" } else { "nothing was changed" };
            let said = foreground.say(ChangeTopic::Command, format!("this process was {}: {then}", exit.word()));
            let before = foreground.open.as_ref().map(Rollout::snapshot);
            // A second signal ends the process at once, unless it comes together with the first.
            let last = tokio::time::timeout(STOP_WITHIN, foreground.stop_driving(format!("ended by {signal}"))).await;
            said?;
            if let Some(last) = last.unwrap_or(before).filter(|_| foreground.has_changed) {
                let at = foreground.present(Some(last.at));
                let left = |text| FeedEntry { at, topic: ChangeTopic::Advice, text };
                task.left(&place, &last)
                    .into_iter()
                    .chain(task.carries_on(&last))
                    .try_for_each(|text| foreground.print(&left(text)))?;
            }
            Ok(exit)
        }
        TaskEnd::Stuck(since) => foreground.stuck(since, interrupted).await,
    }
}

/// The error after the cluster's state went back: earlier facts are no longer true, and only a person can tell whether the task is still wanted.
fn restored() -> CliError {
    CliError::failed("the state of the cluster went back to an earlier one: nothing more is started from here")
        .hinted("was it restored from a backup? Look at the nodes before you drive again")
        .command_helps("status", SAYS_WHERE)
}

/// Waits until the task has stopped driving. A signal meanwhile cuts that short, and its exit is returned: only after a while,
/// because the last observations, such as the reason of a halt, are written with the Lease.
async fn stopped(stopping: impl Future<Output = Option<Arc<Snapshot>>>, interrupted: &mut Interrupts) -> Option<Exit> {
    let mut stopping = std::pin::pin!(stopping);
    tokio::select! {
        _ = &mut stopping => None,
        exit = interrupted.next() => {
            let _ = tokio::time::timeout(STOP_WITHIN, stopping).await;
            Some(exit)
        }
    }
}

/// How a task ends.
enum TaskEnd {
    /// By itself, or because its output is closed.
    Itself(Result<Exit, CliError>),
    /// Because its time limit has passed.
    TimedOut(Duration),
    /// By a signal.
    Signal(EndSignal),
    /// Because its output is stuck since this instant.
    Stuck(Instant),
}

/// Ends when the time is over.
async fn patience(timeout: Option<Duration>) -> Duration {
    match timeout {
        Some(timeout) => {
            tokio::time::sleep(timeout).await;
            timeout
        }
        None => std::future::pending().await,
    }
}

/// The open rollout, and what was reported about it.
pub(crate) struct Foreground<'a> {
    session: &'a dyn Session,
    args: TaskArgs<'a>,
    output: &'a mut Output,
    streams: Streams,
    /// The open rollout. However the task ends, the rollout stops driving.
    open: Option<Rollout>,
    place: CommandPlace,
    feed: ChangeFeed,
    warnings: Warnings,
    /// Whether a command was carried out.
    has_changed: bool,
    /// The last snapshot of a rollout that is closed.
    last: Option<Arc<Snapshot>>,
    /// Only the effect of the command is printed, as one document.
    is_dry_run: bool,
}

/// What the commands do that follow one about which the operator is asked.
pub(crate) struct NextCommands {
    /// In a sentence.
    pub(crate) effect: String,
    /// Their API calls, as a preview has them.
    pub(crate) calls: Vec<String>,
    /// Whether they let nodes go.
    pub(crate) lets_go: bool,
}

impl NextCommands {
    /// Adds it to the preview of the command before. Where it lets nodes go, that one does not leave this to a step.
    pub(crate) fn join(self, preview: &mut Preview) {
        for line in preview.effects.iter_mut().filter(|_| self.lets_go) {
            line.truncate(line.strip_suffix(BEFORE_A_STEP).unwrap_or(line).len());
        }
        preview.effects.push(self.effect);
        preview.calls.extend(self.calls);
    }
}

impl Foreground<'_> {
    /// Opens the rollout and waits until its view is complete.
    pub(crate) async fn open(&mut self, role: Role) -> Result<(Rollout, Arc<Snapshot>), CliError> {
        let TaskArgs { namespace, name, timeout, .. } = self.args;
        let rollout = self.session.open(namespace, name, role);
        self.open = Some(rollout.clone());
        let place = LoadPlace { commands: &self.place, namespace: Some(namespace) };
        let snapshot = load::rollout(&rollout, place, timeout.unwrap_or(LOAD_WITHIN)).await?;
        Ok((rollout, snapshot))
    }

    /// Closes the open rollout.
    pub(crate) async fn close(&mut self) {
        if let Some(rollout) = self.open.take() {
            let snapshots = rollout.snapshots.clone();
            self.warnings.close(rollout, &self.streams).await;
            self.last = Some(snapshots.borrow().clone());
        }
    }

    /// Releases the Lease, reports the resulting changes, and closes the rollout. The event by which the Lease is given back says why.
    async fn stop_driving(&mut self, why: String) -> Option<Arc<Snapshot>> {
        let command = if self.drives() { Command::EndDriving { why } } else { Command::StopDriving };
        self.give_up(command).await
    }

    /// The same. If this process drives, the record has the reason as well, and it is shown until somebody drives again.
    async fn stop_because(&mut self, why: String) -> Option<Arc<Snapshot>> {
        let command = if self.drives() { Command::GiveUpDriving { why } } else { Command::StopDriving };
        self.give_up(command).await
    }

    fn drives(&self) -> bool {
        self.open.as_ref().is_some_and(|open| matches!(open.snapshot().driver, DriverView::You { .. }))
    }

    /// Releases the Lease and closes the open rollout. Returns the last snapshot, because a closed rollout has no new ones.
    async fn give_up(&mut self, command: Command) -> Option<Arc<Snapshot>> {
        if let Some(rollout) = self.open.clone()
            && rollout.snapshot().driver.is_ours()
        {
            // If it is refused or fails, the lease expires.
            let _ = tokio::time::timeout(CLOSE_WITHIN, rollout.command(command)).await;
            let _ = self.tell(&rollout.snapshot());
        }
        let last = self.open.as_ref().map(Rollout::snapshot);
        self.close().await;
        last
    }

    /// Stops driving because nobody reads the output, waits until somebody does, and then reports what happened.
    async fn stuck(&mut self, since: Instant, interrupted: &mut Interrupts) -> Result<Exit, CliError> {
        let drove =
            self.open.as_ref().is_some_and(|rollout| matches!(rollout.snapshot().driver, DriverView::You { .. }));
        let why = "nobody took its output".to_owned();
        self.stop_because(why).await;
        let streams = self.streams.clone();
        tokio::select! {
            () = streams.drained() => {}
            exit = interrupted.next() => return Ok(exit),
        }
        let stood = ShortDuration(since.elapsed());
        let then = if drove { ": driving was stopped, and nothing was started since" } else { "" };
        let said = format!("nobody took the output for {stood}{then}");
        self.say(ChangeTopic::Command, said)?;
        let error = CliError::failed("nobody took the output for too long");
        Err(error.command_helps("status", SAYS_WHERE).hinted("the same command line carries on"))
    }

    /// Previews, confirms and carries out one edit.
    pub(crate) async fn settle(&mut self, rollout: &Rollout, command: Command) -> Result<(), CliError> {
        self.settle_before(rollout, command, None, None).await
    }

    /// The same for a command that others follow, for which nobody is asked again. `next` says what they do: it is shown where the first one is asked about.
    /// `end`: left out where the answer ends with it.
    pub(crate) async fn settle_before(
        &mut self,
        rollout: &Rollout,
        command: Command,
        next: Option<NextCommands>,
        end: Option<&str>,
    ) -> Result<(), CliError> {
        let mut preview = self.preview(rollout, &command).await?;
        drives_afterwards(&mut preview);
        if let Some(next) = next {
            next.join(&mut preview);
        }
        if one_shot::asks(&preview, self.args.consent) {
            self.show(&preview)?;
        }
        self.agreed(rollout, &command, &preview).await?;
        let settled = self.settled(rollout, command).await?;
        let said = end.and_then(|end| settled.strip_suffix(end)).unwrap_or(&settled);
        self.say(ChangeTopic::Command, said.to_owned())
    }

    /// The same, but always prints the effect of the command.
    pub(crate) async fn settle_shown(&mut self, rollout: &Rollout, command: Command) -> Result<(), CliError> {
        let preview = self.preview(rollout, &command).await?;
        self.show(&preview)?;
        self.agreed(rollout, &command, &preview).await?;
        let settled = self.settled(rollout, command).await?;
        self.say(ChangeTopic::Command, settled)
    }

    /// Previews a command that is about to be given. A refusal names its commands in full.
    async fn preview(&self, rollout: &Rollout, command: &Command) -> Result<Preview, CliError> {
        let preview = one_shot::preview(rollout, command).await;
        preview.map_err(|error| one_shot::named_in_full(&self.place, &rollout.snapshot(), error, false))
    }

    /// Asks for consent if that is needed; a refusal is recorded.
    async fn agreed(&self, rollout: &Rollout, command: &Command, preview: &Preview) -> Result<(), CliError> {
        let agreed = one_shot::confirm(command, preview, &rollout.snapshot(), self.args.consent, &self.streams).await;
        let agreed = if self.has_changed { agreed.map_err(CliError::after_others) } else { agreed };
        one_shot::recorded(rollout, command, agreed).await
    }

    /// Carries out a command and reports changes meanwhile. If the changes have reported an error in full, only its beginning is repeated.
    async fn settled(&mut self, rollout: &Rollout, command: Command) -> Result<String, CliError> {
        let error = match self.telling(rollout, rollout.command(command)).await? {
            Ok(settled) => {
                self.has_changed = true;
                return Ok(settled);
            }
            Err(error) => error,
        };
        let snapshot = rollout.snapshot();
        self.tell(&snapshot)?;
        let told = match (&error, &snapshot.phase) {
            (CommandError::NotAdmitted(why), Phase::Paused(paused)) if paused.why.as_deref() == Some(why) => why,
            _ => return Err(error.into()),
        };
        let what = told.split_once(REFUSED).map(|(what, _)| format!("{what} was refused"));
        let brief = what.unwrap_or_else(|| "it was refused".to_owned());
        Err(CliError::new(CliErrorKind::Refused, format!("{brief}, and the rollout is paused")))
    }

    /// This task cancels pre-warming: what that did not bring is no news.
    pub(crate) fn set_cancels_prewarming(&mut self, cancels: bool) {
        self.feed.set_cancels_prewarming(cancels);
    }

    /// Prints the effect of a command, and that nothing was changed.
    pub(crate) async fn dry_run(&mut self, rollout: &Rollout, command: Command) -> Result<Exit, CliError> {
        self.is_dry_run = true;
        let preview = rollout.preview_once_seen(&command, SEEN_WITHIN).await?;
        self.show(&preview)?;
        one_shot::report(&self.place, &rollout.snapshot(), &preview, None, self.output)
    }

    fn show(&mut self, preview: &Preview) -> Result<(), CliError> {
        match self.output.format() {
            OutputFormat::Text => Ok(one_shot::show(preview, self.output)?),
            OutputFormat::Json | OutputFormat::Yaml => Ok(()),
        }
    }

    /// Reports changes until `waiting` is done, which takes as long as the DaemonSet's controller does not react.
    pub(crate) async fn telling<T>(
        &mut self,
        rollout: &Rollout,
        waiting: impl Future<Output = T>,
    ) -> Result<T, CliError> {
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

    /// Whether to leave out the steps that lead to driving.
    pub(crate) fn set_about_to_drive(&mut self, is_about_to_drive: bool) {
        self.feed.set_about_to_drive(is_about_to_drive);
    }

    /// Notes that the text output has reported that this process drives. JSON output still contains every change of the driver.
    pub(crate) fn has_told_driving(&mut self) {
        if self.output.format() == OutputFormat::Text {
            self.feed.has_told_driving();
        }
    }

    /// Waits until there is room in the output. Changes that happen meanwhile are reported as one.
    pub(crate) async fn room(&self) {
        self.streams.room().await;
    }

    /// The cluster that offered commands are for.
    pub(crate) fn place(&self) -> &CommandPlace {
        &self.place
    }

    /// Reports the changes since the last snapshot.
    pub(crate) fn tell(&mut self, snapshot: &Arc<Snapshot>) -> Result<(), CliError> {
        self.warnings.say(snapshot, &self.streams);
        // Earlier facts cannot be compared with those that are read anew.
        if snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::StateRestored { .. })) {
            return Err(restored());
        }
        Ok(tell(&mut self.feed, snapshot, self.output)?)
    }

    /// Reports one sentence on `topic`.
    pub(crate) fn say(&mut self, topic: ChangeTopic, text: String) -> Result<(), CliError> {
        let shown_at = self.open.as_ref().map(|rollout| rollout.snapshot().at);
        self.print(&FeedEntry { at: self.present(shown_at), topic, text })
    }

    /// Says something beside the answer, on standard error.
    pub(crate) fn complain(&self, text: &str) {
        self.streams.complain(text);
    }

    /// The present time: that of the last snapshot, which the lines about its changes have, or the clock's if nothing has changed for
    /// [`SAME_TIME`].
    fn present(&self, shown_at: Option<Timestamp>) -> Timestamp {
        let now = self.session.now();
        shown_at.filter(|at| now.since(*at) < SAME_TIME).unwrap_or(now)
    }

    /// Prints how the task ended, as the last line of JSON or document of YAML but for the error, if it ended with one.
    fn print_result(&mut self, command: &'static str, end: &Result<Exit, CliError>) {
        let unread = end.as_ref().is_err_and(CliError::is_broken_pipe);
        if unread || self.is_dry_run || self.output.format() == OutputFormat::Text || !self.output.is_whole() {
            return;
        }
        let (outcome, exit_code) = match end {
            Ok(exit) => (exit.outcome(), exit.code()),
            Err(error) => (error.reason(), error.code()),
        };
        let ending = TaskEnding { outcome, exit_code, meaning: exit_code_meaning(exit_code) };
        let last = self.open.as_ref().map(Rollout::snapshot).or_else(|| self.last.clone());
        let last = last.filter(|last| last.phase != Phase::Loading);
        let at = self.present(last.as_ref().map(|last| last.at));
        let daemonset = (self.args.namespace, self.args.name);
        let result = TaskResultJson::new(command, daemonset, at, ending, last.as_deref());
        // An output that cannot be written is reported by whoever waits for it.
        let _ = self.output.record(&result);
    }

    /// The rollout as this task leaves it, if that changed anything and people read the output.
    fn left(&self) -> Option<Arc<Snapshot>> {
        let tells = self.has_changed && self.output.format() == OutputFormat::Text && self.output.is_whole();
        self.open.as_ref().map(Rollout::snapshot).or_else(|| self.last.clone()).filter(|_| tells)
    }

    fn print(&mut self, change: &FeedEntry) -> Result<(), CliError> {
        match self.output.format() {
            OutputFormat::Text => self.output.line(change.line())?,
            OutputFormat::Json | OutputFormat::Yaml => self.output.record(&change.json())?,
        }
        Ok(())
    }
}

/// The signals that end a task.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts(Listener);

impl Interrupts {
    pub(crate) fn listen() -> Result<Self, CliError> {
        let listening = signals::listen();
        listening.map(Self).map_err(|error| CliError::failed(format!("listening for signals: {error}")))
    }

    /// Waits for the first signal. The second one ends the process.
    async fn signal(&mut self) -> EndSignal {
        self.0.ended().await
    }

    /// The same, as the exit of the process.
    pub(crate) async fn next(&mut self) -> Exit {
        self.signal().await.into()
    }
}
