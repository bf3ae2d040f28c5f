//! `drive`: a driver without a console, on the same engine and in the same words, with one sentence per change.
//!
//! ```text
//! open as Role::OneShot → edits (image, budgets, selector, partition) → close → open as Driver → Drive
//!                → tell changes ─┬─ complete, or held with --until held      0
//!                                ├─ halted, paused by rolldeck itself,
//!                                │  or rolled back while it drove            4
//!                                ├─ its Lease deleted                        1
//!                                ├─ lease taken over, or not free            7
//!                                ├─ handed back early                        3
//!                                ├─ a node of the step failed, --until held  4
//!                                └─ none of it can be updated, --until held  3
//! ```
//!
//! One-shot commands write the flags before a driver is opened, so that nothing moves while only some of them are in force.
//! `foreground` describes the interruption.
//!
//! Pods for pre-warming that nobody needs any more are deleted before the command ends. If their deletion fails, the command
//! reports the remaining pods.

mod end;
mod goes_on;
mod meanwhile;
mod step_result;
mod what_follows;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

pub(super) use self::end::DriveEnd;
#[cfg(test)]
pub(super) use self::end::{HELD_FOR, REFUSED_FOR};
use self::end::{at_rest, has_leftovers, prewarms_besides};
use self::goes_on::{goes_on_with, left_behind};
use self::meanwhile::{AskedImages, changed_meanwhile};
use self::what_follows::{waits_for_a_step, what_follows};
use super::args::{ContainerImage, DriveArgs, DriveUntil, by_container};
use super::change_feed::ChangeTopic;
use super::error::{CliError, CliErrorKind, Exit, TAKES_OVER};
use super::foreground::{self, Foreground, Task, TaskArgs};
use super::one_shot::{self, Consent, SEEN_WITHIN};
use super::output::Output;
use super::prewarm;
use super::status::{how_it_stands, out_of_time, standing, what_comes_next};
use super::suggested_commands::{CommandPlace, CommandTarget, SuggestedCommand, suggested_commands};
use crate::driver::{CommandError, Rollout, Session};
use crate::engine::model::Str;
use crate::engine::model::command::{BEFORE_THE_FIRST_STEP, Command, Refusal, Step, Takeover};
use crate::engine::model::config::{LEASE, Role};
use crate::engine::model::driver::DriverView;
use crate::engine::model::presence::Presence;
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::model::settings::Tuning;
use crate::engine::model::time::ShortDuration;
use crate::engine::report::snapshot::{Phase, Snapshot};

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
    fn command(&self) -> &'static str {
        "drive"
    }

    async fn whole(&mut self, foreground: &mut Foreground<'_>) -> Result<Exit, CliError> {
        let edits_first = asks_for_edits(self.args);
        let (rollout, snapshot) = foreground.open(if edits_first { Role::OneShot } else { Role::Driver }).await?;
        foreground.set_about_to_drive(true);
        foreground.tell(&snapshot)?;
        if let Some(why) = snapshot.unreadable_record() {
            let refusal = Refusal::RecordUnreadable { why: why.clone() };
            let drive = Command::Drive(self.takeover());
            return one_shot::recorded(&rollout, &drive, Err(refusal.into())).await;
        }
        let opened = snapshot.clone();
        let snapshot = if self.args.take_over { snapshot } else { proof_of_life(foreground, &rollout).await? };
        if let (DriverView::Other { holder, .. }, false) = (&snapshot.driver, self.args.take_over) {
            let drive = Command::Drive(Takeover::IfFree);
            return one_shot::recorded(&rollout, &drive, Err(driven_by(holder))).await;
        }
        if let Some(error) = may_not_see(&snapshot).filter(|_| edits_first || would_update(&snapshot)) {
            let drive = Command::Drive(self.takeover());
            return one_shot::recorded(&rollout, &drive, Err(error)).await;
        }
        if !edits_first {
            return self.drive(foreground, &rollout).await;
        }
        if let (Some(changed), [first, ..]) = (changed_meanwhile(&opened, &snapshot), edits(self.args).as_slice()) {
            let error = CliError::from(CommandError::Overtaken(changed));
            let hinted = error.hinted("look at it first; the same command once more asks for all of it again");
            return one_shot::recorded(&rollout, first, Err(hinted)).await;
        }
        let images = &self.args.images;
        let had = !images.is_empty() && has_images(&snapshot, images);
        let done = snapshot.started_at.is_none() && standing(&snapshot) == Exit::Done && !has_leftovers(&snapshot);
        if had {
            let images: Vec<String> =
                images.iter().map(|wanted| format!("{}={}", wanted.container, wanted.image.as_str())).collect();
            let then = match (done, snapshot.started_at) {
                (true, _) => ", and every node is at it: nothing is to be done",
                (false, Some(_)) => ": the rollout goes on",
                (false, None) => ": it is not written again",
            };
            foreground.say(ChangeTopic::Command, format!("the template has {} already{then}", images.join(" ")))?;
        }
        if had && done {
            return Ok(Exit::Done);
        }
        // A drive that was killed and is started again with the same arguments continues its rollout.
        let going_on = |command: Command| match command.inner() {
            Command::SetImage(_) if had => Command::Tune(command.tuning()),
            _ => command,
        };
        let edits = edits(self.args).into_iter().map(going_on).filter(|edit| *edit != Command::Tune(Tuning::default()));
        let edits: Vec<Command> = edits.collect();
        let checked = self.check(&rollout, &snapshot, &edits).await;
        checked.map_err(|error| one_shot::named_in_full(foreground.place(), &snapshot, error, false))?;
        let begins = edits.iter().any(|edit| matches!(edit.inner(), Command::SetImage(_)));
        if let (false, Some(why)) = (begins, is_stopped(foreground.place(), &snapshot)) {
            return Err(why);
        }
        let lets_go = self.args.to.is_some() || self.args.partition.is_some();
        let mut edits = edits.into_iter();
        while let Some(command) = edits.next() {
            let next = what_follows(edits.as_slice(), &snapshot);
            let target = CommandTarget::new(foreground.place(), &snapshot);
            let waits = || waits_for_a_step(&command, edits.as_slice(), &snapshot, target);
            let next = next.or_else(|| waits().filter(|_| !lets_go));
            foreground.settle_before(&rollout, command, next, lets_go.then_some(BEFORE_THE_FIRST_STEP)).await?;
        }
        drop(rollout);
        foreground.close().await;
        let (rollout, _) = foreground.open(Role::Driver).await?;
        self.drive(foreground, &rollout).await
    }

    fn ends_at_a_halt(&self) -> bool {
        true
    }

    fn why_it_ends(&self, snapshot: &Snapshot) -> String {
        match (&snapshot.phase, self.args.until) {
            (Phase::Held, DriveUntil::Held) => "its --until held was reached".to_owned(),
            _ => "nothing was left to do".to_owned(),
        }
    }

    fn out_of_time(&self, place: &CommandPlace, snapshot: &Snapshot, timeout: Duration) -> CliError {
        let error = out_of_time(place, snapshot, timeout);
        let error = match &snapshot.driver {
            DriverView::Unconfirmed { holder, .. }
            | DriverView::Other { holder, .. }
            | DriverView::Waiting { holder: Some(holder) } => {
                let error = error.hinted(format!("this process did not drive: {holder} holds the lease"));
                if self.args.take_over { error } else { error.again_with("--take-over", TAKES_OVER) }
            }
            DriverView::Unknown
            | DriverView::Nobody
            | DriverView::You { .. }
            | DriverView::Waiting { holder: None }
            | DriverView::Lost { .. } => self.carries_on(snapshot).into_iter().fold(error, CliError::hinted),
        };
        self.left(place, snapshot).into_iter().fold(error, CliError::hinted)
    }

    fn left(&self, place: &CommandPlace, snapshot: &Snapshot) -> Vec<String> {
        let moving = snapshot.nodes.iter().filter(|node| node.state.is_moving()).count();
        let moving = match moving {
            0 => None,
            1 => Some("1 node is being updated: its new pod starts without a driver, too".to_owned()),
            nodes => Some(format!("{nodes} nodes are being updated: their new pods start without a driver, too")),
        };
        let warms = snapshot.prewarm.as_ref().is_some_and(|prewarm| {
            prewarm.request.cancelled.is_none() && prewarm.without_a_driver().is_some() && !would_update(snapshot)
        });
        let prewarming = if warms { prewarm::left(place, snapshot) } else { Vec::new() };
        moving.into_iter().chain(leftovers(snapshot)).chain(prewarming).collect()
    }

    fn carries_on(&self, snapshot: &Snapshot) -> Option<String> {
        let goes_on = matches!(snapshot.phase, Phase::Preparing | Phase::Held | Phase::Running | Phase::Releasing(_));
        goes_on.then(|| "this process starts nothing more; the same command carries on".to_owned())
    }

    fn next(&self, place: &CommandPlace, snapshot: &Snapshot, to_other: bool) -> Option<String> {
        goes_on_with(place, snapshot, to_other)
    }
}

impl Drive<'_> {
    /// Refuses edits that would be refused later, before anything is written: otherwise the image would be written, and nothing would follow.
    ///
    /// A new image begins another rollout. An edit that the present rollout refuses may be accepted in that one, so it is
    /// judged when its turn comes.
    async fn check(&self, rollout: &Rollout, snapshot: &Snapshot, edits: &[Command]) -> Result<(), CliError> {
        for edit in edits {
            one_shot::recorded(rollout, edit, one_shot::accepted_match(edit, snapshot, self.args.yes)).await?;
        }
        let mut begins = false;
        for command in edits.iter().chain([&Command::Drive(self.takeover())]) {
            match rollout.preview_once_seen(command, SEEN_WITHIN).await {
                Err(CommandError::Refused(Refusal::NotNow(_))) if begins => {}
                Err(CommandError::Refused(refusal)) => {
                    rollout.refused(command.clone(), &refusal.to_string()).await;
                    return Err(refusal.into());
                }
                preview => drop(preview?),
            }
            begins |= matches!(command.inner(), Command::SetImage(_));
        }
        Ok(())
    }

    fn takeover(&self) -> Takeover {
        if self.args.take_over { Takeover::Ask } else { Takeover::IfFree }
    }

    async fn drive(&self, foreground: &mut Foreground<'_>, rollout: &Rollout) -> Result<Exit, CliError> {
        let takeover = self.takeover();
        if let Some(why) = is_stopped(foreground.place(), &rollout.snapshot()) {
            return Err(why);
        }
        if let Some((end, why)) = nothing_to_drive(foreground.place(), &rollout.snapshot(), self.args.until) {
            foreground.say(ChangeTopic::Advice, why)?;
            return Ok(end);
        }
        if let (Takeover::Ask, Some(waits)) = (takeover, waits_to_take_over(&rollout.snapshot())) {
            foreground.say(ChangeTopic::Driver, waits)?;
        }
        let mut snapshots = rollout.snapshots.clone();
        let drive = Command::Drive(takeover);
        tokio::select! {
            biased;
            settled = foreground.settle(rollout, drive.clone()) => settled?,
            // Another process that began to drive at the same moment was first.
            holder = held_by_other(&mut snapshots), if takeover == Takeover::IfFree => {
                return one_shot::recorded(rollout, &drive, Err(driven_by(&holder?))).await;
            }
        }
        foreground.set_about_to_drive(false);
        foreground.has_told_driving();
        self.follow(foreground, rollout).await
    }

    /// Reports changes until the drive is over.
    async fn follow(&self, foreground: &mut Foreground<'_>, rollout: &Rollout) -> Result<Exit, CliError> {
        let mut snapshots = rollout.snapshots.clone();
        let mut course = DriveEnd::new(self.args.until);
        let mut asked_images = AskedImages::default();
        let (mut was_held, mut was_paused, mut released_by) = (false, false, None);
        loop {
            foreground.room().await;
            let snapshot = snapshots.borrow_and_update().clone();
            foreground.tell(&snapshot)?;
            asked_images.see(&snapshot, &self.args.images);
            let end = course.end(&snapshot, Instant::now());
            if let Phase::Releasing(by) = &snapshot.phase {
                released_by = Some(by.by.clone());
            }
            if let (Some(Ok(_)), Some(left)) = (&end, leftovers(&snapshot)) {
                foreground.say(ChangeTopic::Advice, left)?;
            }
            // The remedy for a hold is printed once per hold, whether the drive waits or ends.
            let lacks_images = snapshot.stands_for_images(|wait| !wait.comes_by_itself());
            // Nobody is sure to come back where nodes that are down use up the budget, also where a halt for them was accepted.
            let stands_still = step_result::stands_still(&snapshot).is_some();
            let stands = snapshot.phase == Phase::Held || lacks_images || stands_still;
            let is_held = stands && course.drove && at_rest(&snapshot);
            let ends = end.is_some() || course.over(&snapshot).is_some();
            if is_held && !was_held {
                // Blocked nodes are named, because a step does not move them.
                let no_step = lacks_images || matches!(snapshot.plan.next, Some(Err(_)));
                if let Some(guidance) = snapshot.guidance().filter(|_| no_step) {
                    foreground.say(ChangeTopic::Advice, guidance.waits)?;
                }
                for next in suggested_commands(foreground.place(), &left_behind(&snapshot, ends)) {
                    foreground.say(ChangeTopic::Advice, format!("next: {}", next.line()))?;
                }
            }
            was_held = is_held;
            // A pause by a person does not end the drive, so it would wait without a word.
            let is_paused = end.is_none() && course.drove && matches!(snapshot.phase, Phase::Paused(_));
            if is_paused && !was_paused {
                foreground
                    .say(ChangeTopic::Advice, "waits until somebody resumes it: nothing is started before".into())?;
                for next in suggested_commands(foreground.place(), &snapshot) {
                    foreground.say(ChangeTopic::Advice, format!("next: {}", next.line()))?;
                }
            }
            was_paused = is_paused;
            match end {
                Some(Ok(exit)) => {
                    let why = why_it_ends(foreground.place(), &snapshot, exit, released_by.as_deref());
                    let why = why.or_else(|| asked_images.replaced(&snapshot, &self.args.images));
                    return why.map_or(Ok(exit), Err);
                }
                Some(Err(error)) if stands_still => {
                    let next = suggested_commands(foreground.place(), &left_behind(&snapshot, true));
                    return Err(next.iter().map(SuggestedCommand::line).fold(error, CliError::hinted));
                }
                Some(error) => return error,
                None => {}
            }
            let given_up = async {
                match course.looks_again_at() {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = snapshots.changed() => changed.map_err(|_gone| CliError::failed("the driver has stopped"))?,
                () = given_up => {}
            }
        }
    }
}

/// Waits until it is known whether the holder of the Lease is alive: the holder renews it every few seconds, or it expires.
async fn proof_of_life(foreground: &mut Foreground<'_>, rollout: &Rollout) -> Result<Arc<Snapshot>, CliError> {
    let mut snapshots = rollout.snapshots.clone();
    let mut told = false;
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        let DriverView::Unconfirmed { holder, .. } = &snapshot.driver else {
            foreground.tell(&snapshot)?;
            return Ok(snapshot);
        };
        if !told {
            told = true;
            let within = runs_out_within(&snapshot);
            let text = format!(
                "waits until {holder} renews its lease or the lease runs out, at most {within}; --take-over asks it to hand over at once"
            );
            foreground.say(ChangeTopic::Driver, text)?;
        }
        snapshots.changed().await.map_err(|_gone| CliError::failed("the driver has stopped"))?;
    }
}

/// Waits until another process is seen to hold the Lease, and returns its identity.
async fn held_by_other(snapshots: &mut watch::Receiver<Arc<Snapshot>>) -> Result<Str, CliError> {
    let by_other = |snapshot: &Arc<Snapshot>| matches!(snapshot.driver, DriverView::Other { .. });
    let snapshot = snapshots.wait_for(by_other).await.map_err(|_gone| CliError::failed("the driver has stopped"))?;
    match &snapshot.driver {
        DriverView::Other { holder, .. } => Ok(holder.clone()),
        _ => Err(CliError::failed("the driver has stopped")),
    }
}

/// Whether a driver without a command would find nothing to do: nobody else drives, and nothing is left to delete or to pre-warm.
fn finds_nothing(snapshot: &Snapshot) -> bool {
    let free = snapshot.driver.is_nobody();
    free && !has_leftovers(snapshot) && !prewarms_besides(snapshot) && snapshot.daemonset == Presence::Present
}

/// Whether a driver would have to update nodes, now or once they are let go.
fn would_update(snapshot: &Snapshot) -> bool {
    matches!(snapshot.phase, Phase::Preparing | Phase::Held | Phase::Running)
}

/// The error if a right is missing without which no node is updated.
fn may_not_see(snapshot: &Snapshot) -> Option<CliError> {
    let why = snapshot.forbidden_view()?;
    let error = CliError::new(CliErrorKind::Refused, format!("not driven, no node would be updated: {why}"));
    Some(error.hinted("ask for a role that may `list` and `watch` them"))
}

/// The error if a driver would end as soon as it began, because the rollout is halted or paused by rolldeck itself. It names the next step.
fn is_stopped(place: &CommandPlace, snapshot: &Snapshot) -> Option<CliError> {
    if !finds_nothing(snapshot) || DriveEnd::new(DriveUntil::Complete).over(snapshot) != Some(Exit::Halted) {
        return None;
    }
    let why = format!("not driven, nothing is started while it is {}", how_it_stands(snapshot));
    let comes_first = what_comes_next(place, snapshot).into_iter();
    let error = comes_first.fold(CliError::new(CliErrorKind::Halted, why), CliError::hinted);
    Some(error.hinted("run that first, then this command again"))
}

/// The result and a hint, if a driver would end as soon as it began because everything is done.
fn nothing_to_drive(place: &CommandPlace, snapshot: &Snapshot, until: DriveUntil) -> Option<(Exit, String)> {
    if !finds_nothing(snapshot) {
        return None;
    }
    let release = || CommandTarget::new(place, snapshot).named("release");
    let why = match &snapshot.phase {
        Phase::Idle if snapshot.adopted => {
            let release = release();
            format!(
                "nothing is to be rolled out: it stays adopted until a new image is set, or {release} hands it back"
            )
        }
        Phase::Complete => format!("every node is updated, and it is kept: {} hands it back", release()),
        _ => return None,
    };
    DriveEnd::new(until).over(snapshot).map(|end| (end, format!("not driven: {why}")))
}

/// The longest time until the present Lease expires without a renewal. It counts from the last seen renewal; without one,
/// from the first sight of the Lease.
fn runs_out_within(snapshot: &Snapshot) -> ShortDuration {
    let age = match &snapshot.driver {
        DriverView::Other { renewal_observed_at, .. } => snapshot.at.since(*renewal_observed_at),
        _ => Duration::ZERO,
    };
    ShortDuration(LEASE.saturating_sub(age))
}

/// Who is asked to hand over, and how long that takes at most if that process has ended; `None` if there is nobody to ask.
fn waits_to_take_over(snapshot: &Snapshot) -> Option<String> {
    let (DriverView::Unconfirmed { holder, .. } | DriverView::Other { holder, .. }) = &snapshot.driver else {
        return None;
    };
    let within = runs_out_within(snapshot);
    Some(format!(
        "asks {holder} to hand over; if it has ended, this process drives once its lease has run out, in {within} at most: until then it \
         may still be replacing pods"
    ))
}

/// Whether the flags ask for anything but driving.
fn asks_for_edits(args: &DriveArgs) -> bool {
    !edits(args).is_empty()
}

/// The edits of the flags in the order of writing: limits come before edits that let nodes go.
fn edits(args: &DriveArgs) -> Vec<Command> {
    // All flags are named here, so that the compiler asks of every new flag whether it is an edit.
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

/// Whether the target's template has these images already.
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
        .again_with("--take-over", TAKES_OVER)
}

/// The leftover of pre-warming, and who deletes it.
fn leftovers(snapshot: &Snapshot) -> Option<String> {
    let prewarm = snapshot.prewarm.as_ref()?;
    let cancelled = || prewarm.request.cancelled.is_some().then(|| prewarm.to_string());
    let left = prewarm.left_over().or_else(cancelled)?;
    Some(format!("{left}: whoever drives next deletes what is left"))
}

/// The reason why an unfinished drive ends, with the remedy; `None` if the drive is done. `released_by` is the author of the
/// last recorded release, if one was seen.
fn why_it_ends(place: &CommandPlace, snapshot: &Snapshot, exit: Exit, released_by: Option<&str>) -> Option<CliError> {
    let error = match (exit, &snapshot.phase) {
        (Exit::Done, _) => return None,
        (Exit::Halted, Phase::Paused(_) | Phase::Halted) => {
            CliError::new(CliErrorKind::Halted, format!("driving ends: {}", how_it_stands(snapshot)))
        }
        (Exit::Incomplete, Phase::Held) if snapshot.stands_for_images_that_nobody_brings() => {
            let waits = snapshot.guidance().map(|guidance| format!(": it {}", guidance.waits)).unwrap_or_default();
            CliError::new(CliErrorKind::Incomplete, format!("driving ends, as no node can be updated{waits}"))
        }
        (Exit::Halted, _) => {
            let back = snapshot.timeline.iter().rev().find(|event| event.rolls_back());
            match snapshot.rolled_back_by(snapshot.at).filter(|_| back.is_some_and(RolloutEvent::rolls_back_by_itself))
            {
                Some(by) => {
                    let now = how_it_stands(snapshot);
                    CliError::new(CliErrorKind::Halted, format!("driving ends: it was rolled back {by}; now {now}"))
                }
                None => {
                    let by = back.and_then(RolloutEvent::person);
                    called_off(CliErrorKind::Halted, "rolled back", by.as_deref(), "meanwhile", snapshot)
                }
            }
        }
        _ => called_off(CliErrorKind::Incomplete, "released", released_by, "before its end", snapshot),
    };
    Some(what_comes_next(place, snapshot).into_iter().fold(error, CliError::hinted))
}

/// The error for a drive that ended before its goal. If a person asked for that end, it does not count as a failure.
fn called_off(kind: CliErrorKind, what: &str, by: Option<&str>, when: &str, snapshot: &Snapshot) -> CliError {
    let now = how_it_stands(snapshot);
    match by {
        Some(by) => CliError::new(kind, format!("it was {what} by {by} {when}; now {now}")).asked_for(),
        None => CliError::new(kind, format!("driving ends: it was {what} {when}; now {now}")),
    }
}
