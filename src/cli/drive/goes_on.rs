//! Which command goes on from where a drive has ended: the last line on standard error.

use std::borrow::Cow;

use crate::cli::suggested_commands::{CommandPlace, CommandTarget, SuggestedCommand, suggested_commands};
use crate::engine::model::driver::DriverView;
use crate::engine::model::presence::Presence;
use crate::engine::report::snapshot::{Phase, Snapshot};

/// The rollout as whoever reads the offered commands finds it: a process that is about to end carries out no more what is asked of whoever drives.
pub(super) fn left_behind(snapshot: &Snapshot, ends: bool) -> Cow<'_, Snapshot> {
    match ends && snapshot.driver.is_you() {
        true => Cow::Owned(Snapshot { driver: DriverView::Nobody, ..snapshot.clone() }),
        false => Cow::Borrowed(snapshot),
    }
}

/// The one command that goes on from here, with what it does; `None` where nothing of the rollout is left. `to_other`: the drive ended because another
/// process drives, which may not be seen yet.
pub(super) fn goes_on_with(place: &CommandPlace, snapshot: &Snapshot, to_other: bool) -> Option<String> {
    if snapshot.daemonset == Presence::Absent {
        return None;
    }
    let target = CommandTarget::new(place, snapshot);
    let told = |words, does| target.command(words).map(|command| format!("{command}   ({does})"));
    let by_other = to_other || matches!(snapshot.driver, DriverView::Other { .. } | DriverView::Unconfirmed { .. });
    match &snapshot.phase {
        Phase::Loading | Phase::Unknown | Phase::Idle | Phase::Native => None,
        _ if by_other => told("status", "says who drives, and how far it is"),
        Phase::Halted => told("diagnose", "says why it halted, and what can be done"),
        Phase::Preparing | Phase::Running | Phase::Releasing(_) => told("drive", "drives it on"),
        Phase::Held | Phase::Paused(_) | Phase::Complete => {
            let suggested = suggested_commands(place, &left_behind(snapshot, true));
            let by_a_person = matches!(&snapshot.phase, Phase::Paused(paused) if !paused.is_by_rolldeck());
            let resume = suggested.iter().find(|command| by_a_person && command.name() == Some("resume"));
            // What has an image to be filled in, or a name that cannot be quoted, is no command to go on with.
            let next = resume.or(suggested.first()).filter(|command| command.name().is_some());
            next.map(SuggestedCommand::line)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{place, rollout};
    use crate::engine::model::record::Paused;
    use crate::engine::model::time::Timestamp;

    fn left(phase: Phase, driver: DriverView) -> Snapshot {
        Snapshot { phase, driver, ..rollout() }
    }

    fn you() -> DriverView {
        DriverView::You { renewed_at: Timestamp::default(), lapsed: false }
    }

    #[test]
    fn each_end_names_the_one_command_that_goes_on_from_there() {
        let paused = || Phase::Paused(Paused::new("ops@a".into(), Timestamp::default(), Some("link down".into())));
        let other = || DriverView::Other { holder: "ben@bastion/9".into(), renewal_observed_at: Timestamp::default() };
        let place = place();
        for (phase, driver, to_other, command) in [
            (Phase::Running, DriverView::Nobody, false, Some("drive")),
            (Phase::Running, you(), false, Some("drive")),
            (paused(), you(), false, Some("resume")),
            (Phase::Halted, you(), false, Some("diagnose")),
            (Phase::Halted, other(), false, Some("status")),
            (Phase::Running, other(), false, Some("status")),
            (Phase::Running, DriverView::Nobody, true, Some("status")),
            (Phase::Idle, DriverView::Nobody, false, None),
            (Phase::Native, you(), false, None),
        ] {
            let said = goes_on_with(&place, &left(phase.clone(), driver), to_other);
            let begins = command.map(|command| format!("rolldeck {command} --context prod-eu -n edge ds/agent   ("));
            let fits = match (&said, &begins) {
                (Some(said), Some(begins)) => said.starts_with(begins) && said.lines().count() == 1,
                (said, begins) => said.is_none() && begins.is_none(),
            };
            assert!(fits, "{phase:?}: {said:?}, not {begins:?}");
        }
        let gone = Snapshot { daemonset: Presence::Absent, ..left(Phase::Running, DriverView::Nobody) };
        assert_eq!(goes_on_with(&place, &gone, false), None);
    }
}
