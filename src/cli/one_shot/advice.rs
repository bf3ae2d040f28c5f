//! What is said after a command that was carried out: how the rollout stands, and the next commands.

use std::borrow::Cow;

use super::super::suggested_commands::{CommandPlace, CommandTarget, SuggestedCommand, suggested_commands};
use super::halted_on;
use crate::engine::model::command::NOBODY_DRIVES;
use crate::engine::model::driver::DriverView;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

/// The state after a command in sentences, and the operator's next commands, as `status` offers them.
pub(super) fn advice(place: &CommandPlace, snapshot: &Snapshot) -> (Vec<String>, Vec<SuggestedCommand>) {
    // A process that carried out the command itself is about to end.
    let ends = matches!(snapshot.driver, DriverView::You { .. });
    let left = ends.then(|| Snapshot { driver: DriverView::Nobody, ..snapshot.clone() });
    let snapshot = left.as_ref().unwrap_or(snapshot);
    // The command left nothing to do: the DaemonSet is adopted and every node has the template, or it is released except for its record.
    let is_done = match snapshot.phase {
        Phase::Preparing => snapshot.requested_change.is_none() && snapshot.counts.updated >= snapshot.counts.nodes,
        Phase::Releasing(_) => !snapshot.adopted,
        _ => false,
    };
    let mut next = suggested_commands(place, &without_rollout(snapshot, is_done));
    next.retain(|command| !is_done || !command.drives());
    let is_template_changed = |alarm: &&Alarm| matches!(alarm, Alarm::TemplateChanged { .. });
    let mut lines: Vec<String> =
        snapshot.alarms.iter().filter(is_template_changed).map(|alarm| format!("{alarm}.")).collect();
    match (&snapshot.phase, &snapshot.halt) {
        (Phase::Halted, Some(halt)) => {
            let places = halted_on(halt, snapshot);
            lines.extend((!places.is_empty()).then(|| format!("halted: {}.", places.join(", "))));
        }
        (Phase::Loading, _) => {}
        _ if is_done => {}
        _ => lines.extend(snapshot.guidance().map(|guidance| format!("{}.", guidance.waits))),
    }
    let is_under_way = matches!(
        snapshot.phase,
        Phase::Preparing | Phase::Held | Phase::Running | Phase::Releasing(_) if !is_done
    );
    match &snapshot.driver {
        DriverView::Unconfirmed { .. } if is_under_way => lines.push(format!(
            "{}: if it is alive it carries it out, if not {} does.",
            snapshot.driving(),
            CommandTarget::new(place, snapshot).named("drive")
        )),
        DriverView::Other { holder, .. } if is_under_way => lines.push(format!("{holder} drives and carries it out.")),
        DriverView::Nobody | DriverView::Lost { .. } => {
            let says_so = lines.iter().any(|line| line.contains("nobody drives") || line.contains("somebody"));
            if next.iter().any(SuggestedCommand::drives) && !says_so {
                lines.push(NOBODY_DRIVES.to_owned());
            }
            if next.iter().any(SuggestedCommand::prewarms) {
                lines.push("Nobody drives: no pre-warming pod is made before somebody drives.".to_owned());
            }
        }
        _ => {}
    }
    (lines, next)
}

/// What is to be seen of a DaemonSet that is adopted and has nothing to roll out: it is shown as being prepared until its watch shows that it is done, and
/// what comes next is known before.
fn without_rollout(snapshot: &Snapshot, is_done: bool) -> Cow<'_, Snapshot> {
    match snapshot.phase {
        Phase::Preparing if is_done => Cow::Owned(Snapshot { phase: Phase::Idle, ..snapshot.clone() }),
        _ => Cow::Borrowed(snapshot),
    }
}
