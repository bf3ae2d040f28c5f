//! A command that is not settled: its time is over, or a signal ends the process. Says what is recorded of it by then.

use std::time::Duration;

use super::super::audit::Warnings;
use super::super::error::{CliError, CliErrorKind, Exit};
use super::super::output::Streams;
use super::super::suggested_commands::{CommandPlace, CommandTarget};
use crate::driver::Rollout;
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::config::LEASE;
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::whole_secs;
use crate::engine::model::time::ShortDuration;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::process::signals::{EndSignal, STOP_WITHIN};

/// The error for a command that is not settled in time. If the command is recorded, the driver will carry it out; otherwise it may be lost.
pub(super) fn out_of_time(place: &CommandPlace, snapshot: &Snapshot, preview: &Preview, timeout: Duration) -> CliError {
    let secs = whole_secs(timeout).as_secs();
    let driving = snapshot.driving();
    if matches!(snapshot.phase, Phase::Releasing(_)) && snapshot.not_sent().is_none() {
        let target = CommandTarget::new(place, snapshot);
        let message = format!("the release is recorded, and not carried out yet after {secs} s ({driving})");
        let next = format!("{} carries it out, {} calls it off", target.named("drive"), target.named("pause"));
        return CliError::new(CliErrorKind::TimedOut, message).hinted(next);
    }
    let message = match &snapshot.requested_change {
        Some(asked) if snapshot.change_is_written => {
            let waits = snapshot.blocked.as_ref().map(|blocked| format!("waits {}", blocked.by)).unwrap_or_default();
            format!("{asked} is written to the template, and after {secs} s still {waits}")
        }
        Some(asked) => format!("{asked} is recorded, and not carried out yet after {secs} s ({driving})"),
        None => {
            let unsent = snapshot.not_sent().map(|unsent| {
                let why = unsent.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                format!("; the {} was not sent{why}", unsent.kind)
            });
            format!("`{}` was not settled after {secs} s{}", preview.title, unsent.unwrap_or_default())
        }
    };
    CliError::new(CliErrorKind::TimedOut, message)
        .command_helps("status", "says whether it was done")
        .hinted("`--timeout` waits longer")
}

/// Ends a command at a signal: gives the Lease back if this process holds it, within [`STOP_WITHIN`], closes the rollout, and returns the line that says what is left.
/// `given` is the title of the command if the driver has it already.
pub(super) async fn leave(rollout: Rollout, signal: EndSignal, given: Option<&str>, streams: &Streams) -> String {
    let snapshots = rollout.snapshots.clone();
    let leaving = async {
        let driver = rollout.snapshot().driver.clone();
        let stops = match driver {
            DriverView::You { .. } => Some(Command::EndDriving { why: format!("ended by {signal}") }),
            DriverView::Waiting { .. } => Some(Command::StopDriving),
            _ => None,
        };
        if let Some(command) = stops {
            // If it is refused or fails, the Lease expires.
            let _ = rollout.command(command).await;
        }
        Warnings::default().close(rollout, streams).await;
    };
    let _ = tokio::time::timeout(STOP_WITHIN, leaving).await;
    let last = snapshots.borrow().clone();
    interrupted(signal, given, &last)
}

/// `Interrupted: the new image is recorded, and not carried out yet (nobody drives); …`.
fn interrupted(signal: EndSignal, given: Option<&str>, last: &Snapshot) -> String {
    let end = match Exit::from(signal) {
        Exit::Terminated => "Terminated",
        _ => "Interrupted",
    };
    let Some(title) = given else { return format!("{end}: nothing was changed") };
    let driving = last.driving();
    let left = match (last.unsent.first(), &last.requested_change) {
        (Some(unsent), _) => {
            let why = unsent.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            format!("the {} is not recorded as far as this process has seen{why}", unsent.kind)
        }
        (None, _) if matches!(last.phase, Phase::Releasing(_)) => {
            format!("the release is recorded, and not carried out yet ({driving})")
        }
        (None, Some(asked)) if last.change_is_written => format!("{asked} is written to the template"),
        (None, Some(asked)) => format!("{asked} is recorded, and not carried out yet ({driving})"),
        (None, None) => format!("`{title}` is recorded, and may not be carried out yet ({driving})"),
    };
    let lease = match last.driver {
        DriverView::You { .. } => {
            format!("; the lease could not be given back, and runs out within {}", ShortDuration(LEASE))
        }
        _ => String::new(),
    };
    format!("{end}: {left}{lease}; `rolldeck status` says where it stands")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::rollout;
    use crate::engine::model::time::Timestamp;
    use crate::engine::model::unsent::{Unsent, UnsentKind};

    #[test]
    fn who_interrupts_a_command_reads_what_is_recorded_of_it() {
        let nobody = || Snapshot { driver: DriverView::Nobody, ..rollout() };
        let asked = Snapshot { requested_change: Some("a new image".into()), ..nobody() };
        let why = Some("no route to host".into());
        let unsent = Unsent { kind: UnsentKind::Pause, since: Timestamp::default(), late: false, why };
        let unsent = Snapshot { unsent: vec![unsent], ..nobody() };
        let holds = DriverView::You { renewed_at: Timestamp::default(), lapsed: false };
        let holds = Snapshot { driver: holds, ..nobody() };
        for (signal, given, last, says) in [
            (EndSignal::Interrupt, None, nobody(), "Interrupted: nothing was changed"),
            (
                EndSignal::Terminate,
                Some("Set image"),
                asked,
                "Terminated: a new image is recorded, and not carried out yet (nobody drives); ",
            ),
            (
                EndSignal::Hangup,
                Some("Pause"),
                unsent,
                "Interrupted: the pause is not recorded as far as this process has seen (no route to host); ",
            ),
            (
                EndSignal::Interrupt,
                Some("Adopt"),
                nobody(),
                "Interrupted: `Adopt` is recorded, and may not be carried out yet (nobody drives); ",
            ),
            (
                EndSignal::Interrupt,
                Some("Adopt"),
                holds,
                "; the lease could not be given back, and runs out within 15s; `rolldeck status` ",
            ),
        ] {
            let said = interrupted(signal, given, &last);
            assert!(said.contains(says) && !said.contains('\n'), "{said}");
        }
    }
}
