//! One-shot commands: preview the command, ask, carry it out, and print the next steps.
//!
//! ```text
//! open as Role::OneShot → view complete → preview → confirm → command → settled → advice → close
//! ```
//!
//! A signal ends it at any point: `unsettled` gives the Lease back, and says what is recorded by then.

mod advice;
mod unasked;
mod unsettled;

use std::io::{self, BufRead, IsTerminal};
use std::time::Duration;

use self::advice::advice;
#[cfg(test)]
pub(crate) use self::unasked::accepted;
pub(crate) use self::unasked::{CONFIRMS, accepted_match};
use self::unsettled::{leave, out_of_time};
use super::args::{How, OutputFormat};
use super::audit::Warnings;
use super::error::{CliError, CliErrorKind, Exit, NOTHING_CHANGED, SAYS_WHERE};
use super::json::{self, PreviewJson, TypeMetaJson};
use super::load::{self, LoadPlace};
use super::output::{Output, Streams};
use super::suggested_commands::{ASKS, CommandPlace, CommandTarget, SuggestedCommand, asks_first, suggested_commands};
use crate::driver::{CommandError, Rollout, Session};
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::config::{LEASE, Role};
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::record::{Direction, Halt, Paused};
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};
use crate::engine::report::trouble::TroubleKind;
use crate::process::output::say_on_stderr;
use crate::process::printable::Printable;
use crate::process::signals::{self, EndSignal};

/// How many node names a preview shows.
const FIRST_NODES: usize = 8;

/// How long a command waits while the view is too stale to judge by.
pub(crate) const SEEN_WITHIN: Duration = Duration::from_secs(10);

/// A command that takes longer prints what it waits for.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Whether a write needs a question to the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Consent {
    /// The user is asked, if there is a terminal.
    Ask,
    /// Given with `--yes`.
    Given,
}

impl Consent {
    pub(crate) fn from_flag(yes: bool) -> Self {
        if yes { Self::Given } else { Self::Ask }
    }
}

/// Carries out one command on the DaemonSet `name`.
pub(crate) async fn run(
    session: &dyn Session,
    namespace: &str,
    name: &str,
    command: Command,
    how: &How,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let mut signals = signals::listen().map_err(|error| CliError::failed(format!("listening for signals: {error}")))?;
    run_until(signals.ended(), session, (namespace, name), command, how, output).await
}

/// The same until `signal`: then it stops waiting, gives the Lease back where this process holds it, and says what is recorded.
pub(crate) async fn run_until(
    signal: impl Future<Output = EndSignal>,
    session: &dyn Session,
    (namespace, name): (&str, &str),
    command: Command,
    how: &How,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let rollout = session.open(namespace, name, Role::OneShot);
    let mut given = None;
    let done = tokio::select! {
        biased;
        signal = signal => Err(signal),
        done = carry_out(session, namespace, &rollout, command, how, output, &mut given) => Ok(done),
    };
    let streams = output.streams();
    let done = match done {
        Ok(done) => done,
        Err(signal) => {
            let said = leave(rollout, signal, given.as_deref(), &streams).await;
            streams.complain(&said);
            return Ok(signal.into());
        }
    };
    Warnings::default().close(rollout, &streams).await;
    let (said, settled) = done?;
    let Some(settled) = settled else { return said };
    // A separate thread writes the answers, so a failure is known only once it is done.
    streams.drained().await;
    match (said, streams.failure()) {
        (Ok(_), Some(error)) => Err(CliError::from(error).carried_out(&settled)),
        (said, _) => said.map_err(|error| error.carried_out(&settled)),
    }
}

/// Carries out the command and prints the answer. Returns the result of the printing, with the command's result unless nothing was changed. `given` becomes
/// the title of the command once the driver has it.
async fn carry_out(
    session: &dyn Session,
    namespace: &str,
    rollout: &Rollout,
    command: Command,
    how: &How,
    output: &mut Output,
    given: &mut Option<String>,
) -> Result<(Result<Exit, CliError>, Option<String>), CliError> {
    let commands = CommandPlace::of(session);
    let place = LoadPlace { commands: &commands, namespace: Some(namespace) };
    let before = load::rollout(rollout, place, how.timeout).await?;
    let before = load::with_revision(rollout, before, command.names_revision()).await;
    if let Some(alarm) = restored(&before) {
        output.streams().complain(&format!("Warning: {alarm}"));
    }
    let preview = match how.dry_run {
        true => rollout.preview_once_seen(&command, SEEN_WITHIN).await.map_err(CliError::from),
        false => preview(rollout, &command).await,
    };
    let preview = preview.map_err(|error| match command.inner() {
        Command::Resume if error.is_refusal() && before.started_at.is_some() => under_way(&commands, &before, error),
        inner => {
            // Whoever releases a rollout that halted may not know that there is a way back.
            let way_back = matches!(inner, Command::Release(_)) && before.phase == Phase::Halted;
            named_in_full(&commands, &before, error, way_back)
        }
    })?;
    if output.format() == OutputFormat::Text {
        let shown = show(&preview, output);
        // A pause is wanted, and so is what was agreed to beforehand, also where nobody reads on: `rolldeck pause ds/agent | head -1`.
        if how.dry_run || !(how.yes || preview.danger == Danger::None) {
            shown?;
        }
    }
    if how.dry_run {
        return report(&commands, &before, &preview, None, output).map(|exit| (Ok(exit), None));
    }
    let agreed = match how.yes || somebody_to_ask() {
        true => confirm(&command, &preview, &before, Consent::from_flag(how.yes), &output.streams()).await,
        false => unasked::accepted(&command, &before, &preview),
    };
    recorded(rollout, &command, agreed).await?;
    // What was agreed to holds no longer: the nodes and the record may be others by now.
    if restored(&before).is_none() && restored(&rollout.snapshot()).is_some() {
        return Err(went_back());
    }
    *given = Some(preview.title.clone());
    let (streams, driver) = (output.streams(), || rollout.snapshot().driver.clone());
    let say = |waits: String| streams.complain(&waits);
    let settling = saying_what_it_waits_for(driver, say, rollout.command(command.clone()));
    let settled = match tokio::time::timeout(how.timeout, settling).await {
        Ok(Ok(settled)) => settled,
        Ok(Err(error)) => return Err(unstopped(&command, &rollout.snapshot(), error)),
        Err(_late) => {
            return Err(out_of_time(&commands, &rollout.snapshot(), &preview, how.timeout));
        }
    };
    let said = report(&commands, &rollout.snapshot(), &preview, Some(&settled), output);
    Ok((said, Some(settled)))
}

/// The alarm that the cluster's state went back to an earlier one, as far as this process has seen that.
fn restored(snapshot: &Snapshot) -> Option<&Alarm> {
    snapshot.alarms.iter().find(|alarm| matches!(alarm, Alarm::StateRestored { .. }))
}

/// The error of a command that was previewed before the cluster's state went back.
fn went_back() -> CliError {
    let why =
        format!("the state of the cluster went back to an earlier one since this was previewed; {NOTHING_CHANGED}");
    CliError::failed(why)
        .hinted("was it restored from a backup? Look at the nodes; the same command then asks anew")
        .command_helps("status", SAYS_WHERE)
}

/// Adds to the error of a command that was to stop a driver, and could not be written, that the driver goes on and how it is stopped all the same.
fn unstopped(command: &Command, snapshot: &Snapshot, error: CommandError) -> CliError {
    let is_refused = matches!(error, CommandError::NotAdmitted(_) | CommandError::Unauthorized(_));
    let stops = matches!(command.inner(), Command::Pause { .. } | Command::Undo { .. } | Command::Release(_));
    let error = CliError::from(error);
    match &snapshot.driver {
        DriverView::Other { holder, .. } | DriverView::Unconfirmed { holder, .. } if is_refused && stops => error
            .hinted(format!(
                "{holder} may go on: an interrupt of that process (Ctrl-C, SIGINT) stops it without a write"
            )),
        _ => error,
    }
}

/// Adds to the error that nothing can be resumed: the present action of the rollout, and its remedy.
fn under_way(place: &CommandPlace, snapshot: &Snapshot, error: CliError) -> CliError {
    let does = match (&snapshot.phase, snapshot.direction, &snapshot.to) {
        (Phase::Held | Phase::Running | Phase::Preparing, Direction::Back, Some(to)) => {
            format!("rolling back to {}", to.called())
        }
        _ => snapshot.doing().to_string(),
    };
    let waits = snapshot.guidance().map_or_else(|| snapshot.driving().to_string(), |guidance| guidance.waits);
    let error = error.hinted(format!("it is {does}, {}; {waits}", snapshot.progress()));
    suggested_commands(place, snapshot).iter().map(SuggestedCommand::line).fold(error, CliError::hinted)
}

/// Adds to a refusal the commands that it names, whole, as far as `status` offers them now; with `way_back` the roll back, too.
pub(crate) fn named_in_full(place: &CommandPlace, snapshot: &Snapshot, error: CliError, way_back: bool) -> CliError {
    if !error.is_refusal() {
        return error;
    }
    let suggested = suggested_commands(place, snapshot);
    let is_named = |command: &&SuggestedCommand| {
        let name = command.name();
        name.is_some_and(|name| error.message().contains(&format!("`{name}`")) || (way_back && name == "undo"))
    };
    let named: Vec<String> = suggested.iter().filter(is_named).map(SuggestedCommand::line).collect();
    named.into_iter().fold(error, CliError::hinted)
}

/// If a command is not done at once, prints once the driver that it waits for.
async fn saying_what_it_waits_for<T>(
    driver: impl Fn() -> DriverView,
    say: impl FnOnce(String),
    settling: impl Future<Output = T>,
) -> T {
    let mut settling = std::pin::pin!(settling);
    tokio::select! {
        biased;
        settled = &mut settling => return settled,
        () = tokio::time::sleep(AT_ONCE) => {}
    }
    if let Some(waits) = waits_for_driver(&driver()) {
        say(waits);
    }
    settling.await
}

/// `waits until ada@bastion renews its lease or the lease runs out, at most 15s`.
fn waits_for_driver(driver: &DriverView) -> Option<String> {
    match driver {
        DriverView::Unconfirmed { holder, .. } => {
            let within = ShortDuration(LEASE);
            Some(format!("waits until {holder} renews its lease or the lease runs out, at most {within}"))
        }
        DriverView::Other { holder, .. } => Some(format!("waits for {holder}, who drives, to carry it out")),
        DriverView::Unknown
        | DriverView::Nobody
        | DriverView::You { .. }
        | DriverView::Waiting { .. }
        | DriverView::Lost { .. } => None,
    }
}

/// Previews a command that is about to be given. A refusal is recorded.
pub(crate) async fn preview(rollout: &Rollout, command: &Command) -> Result<Preview, CliError> {
    let refusal = match rollout.preview_once_seen(command, SEEN_WITHIN).await {
        Err(CommandError::Refused(refusal)) => refusal,
        preview => return Ok(preview?),
    };
    rollout.refused(command.clone(), &refusal.to_string()).await;
    Err(refusal.into())
}

/// Records a refusal before the command was given, for example by the person who was asked.
pub(crate) async fn recorded<T>(
    rollout: &Rollout,
    command: &Command,
    agreed: Result<T, CliError>,
) -> Result<T, CliError> {
    if let Some(error) = agreed.as_ref().err().filter(|error| error.is_refusal()) {
        rollout.refused(command.clone(), error.message()).await;
    }
    agreed
}

/// Prints the effect of a command.
pub(crate) fn show(preview: &Preview, output: &mut Output) -> io::Result<()> {
    output.line(&preview.title)?;
    for change in &*preview.changes {
        output.line(format!("  {change}"))?;
    }
    for warning in json::image_warnings(preview) {
        output.line(format!("  WARNING: {warning}"))?;
    }
    for effect in &preview.effects {
        output.line(format!("  {effect}"))?;
    }
    for (which, nodes) in [("nodes", &preview.nodes), ("pulls on", &preview.pulls_on)] {
        if let Some(names) = first_nodes(nodes) {
            output.line(format!("  {which}: {names}"))?;
        }
    }
    for warning in &preview.warnings {
        output.line(format!("  WARNING: {warning}"))?;
    }
    for call in &preview.calls {
        output.line(format!("  API: {call}"))?;
    }
    Ok(())
}

/// Prints the preview of a command, or its result `settled`.
pub(crate) fn report(
    place: &CommandPlace,
    snapshot: &Snapshot,
    preview: &Preview,
    settled: Option<&str>,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let (says, next) = if settled.is_some() { advice(place, snapshot) } else { Default::default() };
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => output.value(&json::CommandResultJson {
            meta: TypeMetaJson::new("CommandResult"),
            namespace: &snapshot.namespace,
            name: &snapshot.name,
            dry_run: settled.is_none(),
            preview: PreviewJson::new(preview),
            settled,
            changed: settled.map(|_| !preview.calls.is_empty()),
            advice: says,
            next,
        })?,
        OutputFormat::Text => {
            match settled {
                Some(settled) => output.line(settled)?,
                None => output.line("Nothing was changed (--dry-run).")?,
            }
            says.iter().try_for_each(|line| output.line(line))?;
            next.iter().try_for_each(|command| output.line(format!("next: {}", command.line())))?;
        }
    }
    Ok(Exit::Done)
}

/// The nodes on which a rollout halted, and the remedies; `None` if it is not halted.
pub(crate) fn halt_advice(place: &CommandPlace, snapshot: &Snapshot) -> Option<String> {
    let halt = snapshot.halt.as_ref().filter(|_| snapshot.phase == Phase::Halted)?;
    let target = CommandTarget::new(place, snapshot);
    let nodes = match halted_on(halt, snapshot).as_slice() {
        [] => String::new(),
        places => format!("{}: ", places.join(", ")),
    };
    if snapshot.fails_by_quota() {
        return Some(format!(
            "{nodes}raise the namespace's ResourceQuota, or free what it counts: it refuses the pods of the earlier revision as well; then {} goes on ({ASKS})",
            target.named("resume")
        ));
    }
    let asks = if asks_first(Remedy::Undo, snapshot) { format!(" ({ASKS})") } else { String::new() };
    let undo = match halt.gate.offers_undo() {
        true => format!("{} {}{asks}, ", target.named("undo"), snapshot.rolls_back_in_words()),
        false => String::new(),
    };
    Some(format!("{nodes}{undo}{} goes on past it ({ASKS})", target.named("resume")))
}

/// The nodes that halted the rollout or have failed since, and other nodes in trouble: `failed on n1 n2`, `in trouble on
/// n3`. At a halt, other nodes may have the same trouble without counting as failed yet.
fn halted_on(halt: &Halt, snapshot: &Snapshot) -> Vec<String> {
    let others = |is: fn(TroubleKind) -> bool| {
        let nodes = snapshot.nodes.iter().filter(move |node| TroubleKind::of(node).is_some_and(is));
        nodes.map(|node| &node.name).filter(|name| !halt.named().contains(name)).collect::<Vec<_>>()
    };
    let mut on: Vec<&Str> = halt.named().iter().collect();
    if !halt.failed().is_empty() {
        on.extend(others(|trouble| matches!(trouble, TroubleKind::Failed(_))));
    }
    let in_trouble =
        if on.is_empty() { Vec::new() } else { others(|trouble| matches!(trouble, TroubleKind::Struggling(_))) };
    let places = [(halt.gate.where_in_words(), on), ("in trouble on", in_trouble)];
    places
        .into_iter()
        .filter(|(_, nodes)| !nodes.is_empty())
        .map(|(words, nodes)| format!("{words} {}", first_of(&nodes)))
        .collect()
}

/// `n1 n2 n3 … and 5 more`; `None` without any.
fn first_nodes(nodes: &[Str]) -> Option<String> {
    let first = nodes.iter().take(FIRST_NODES).map(|node| &**node).collect::<Vec<_>>().join(" ");
    match nodes.len().saturating_sub(FIRST_NODES) {
        0 if first.is_empty() => None,
        0 => Some(first),
        more => Some(format!("{first} … and {more} more")),
    }
}

/// `n1 n2 n3 and 5 more`.
fn first_of(nodes: &[&Str]) -> String {
    let first = nodes.iter().take(FIRST_NODES).map(|node| &***node).collect::<Vec<_>>().join(" ");
    match nodes.len().saturating_sub(FIRST_NODES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn somebody_to_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether the operator is asked before the command is carried out.
pub(crate) fn asks(preview: &Preview, consent: Consent) -> bool {
    consent == Consent::Ask && preview.danger >= Danger::Serious && somebody_to_ask()
}

/// Asks in proportion to the risk: not at all within the budget, for `y` before a new template or a roll back, and for the
/// DaemonSet's name before a command that can take down more than the budget.
///
/// If nobody can be asked, commands of the last kind and commands that also lift a person's pause are refused without
/// `--yes`; all others are carried out. The question is asked only after all output to `streams` is written, so that the
/// user reads the preview first.
pub(crate) async fn confirm(
    command: &Command,
    preview: &Preview,
    snapshot: &Snapshot,
    consent: Consent,
    streams: &Streams,
) -> Result<(), CliError> {
    if consent == Consent::Given || preview.danger < Danger::Serious {
        return Ok(());
    }
    if !asks(preview, consent) {
        return unasked::accepted_preview(command, snapshot, preview);
    }
    let lifts = preview.lifts_pause.as_ref().map(|paused| lifts_in_words(paused, snapshot.at));
    let lifts = lifts.map(|lifts| format!("This {lifts}. ")).unwrap_or_default();
    let (question, wanted) = match preview.danger {
        Danger::ExceedsBudget => (
            format!(
                "{lifts}This {}. Type `{}` to go on: ",
                preview.beyond_in_words().unwrap_or_default(),
                snapshot.name
            ),
            &*snapshot.name,
        ),
        _ => (format!("{lifts}Go on? [y/N] "), "y"),
    };
    streams.drained().await;
    let answer = tokio::task::spawn_blocking(move || ask(&question))
        .await
        .map_err(|error| CliError::failed(format!("asking for confirmation: {error}")))??;
    let answer = answer.trim();
    if answer == wanted || (wanted == "y" && answer.eq_ignore_ascii_case("yes")) {
        Ok(())
    } else {
        Err(CliError::new(CliErrorKind::Refused, format!("declined; {NOTHING_CHANGED}")))
    }
}

/// `lifts the pause by bob@bastion 3m ago (the link is down)`.
fn lifts_in_words(paused: &Paused, now: Timestamp) -> String {
    let why = paused.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("lifts the pause by {} {} ago{why}", paused.by, ShortDuration(now.since(paused.at)))
}

fn ask(question: &str) -> io::Result<String> {
    say_on_stderr(&Printable::question(question));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_command_that_is_not_done_at_once_says_once_what_it_waits_for() {
        let gone = DriverView::Unconfirmed { holder: "ada@bastion/1".into(), renewed_at: None };
        let alive = DriverView::Other { holder: "ada@bastion/1".into(), renewal_observed_at: Timestamp::default() };
        let until = Some("waits until ada@bastion/1 renews its lease or the lease runs out, at most 15s");
        let for_them = Some("waits for ada@bastion/1, who drives, to carry it out");
        for (driver, takes_secs, want) in
            [(&gone, 14, until), (&gone, 0, None), (&alive, 2, for_them), (&DriverView::Nobody, 14, None)]
        {
            let said = RefCell::new(Vec::new());
            let settling = tokio::time::sleep(Duration::from_secs(takes_secs));
            saying_what_it_waits_for(|| driver.clone(), |waits| said.borrow_mut().push(waits), settling).await;
            assert_eq!(said.into_inner(), Vec::from_iter(want.map(str::to_owned)), "{driver:?}, {takes_secs} s");
        }
    }
}
