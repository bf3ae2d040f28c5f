//! The operator after the calm, who chooses the next command from the snapshot so that the rollout ends.

use crate::engine::model::Str;
use crate::engine::model::command::{Command, Early, PrewarmCommand, Step, Takeover};
use crate::engine::model::driver::DriverView;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Setting, SettingRole, Settings, Tuning};
use crate::engine::report::snapshot::Alarm;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::Snapshot;
use crate::sim::world::policy::tag_of;

/// The command that this operator gives next.
pub(super) fn next_command(snapshot: &Snapshot, bad: &[Str]) -> Option<Command> {
    let is_bad = |images: &[(Str, Str)]| images.iter().any(|(_, image)| bad.iter().any(|bad| **bad == *tag_of(image)));
    let current_is_bad = snapshot.to.as_ref().is_some_and(|revision| is_bad(&revision.images));
    let good = snapshot.revisions.iter().find(|revision| revision.number.is_some() && !is_bad(&revision.images));
    let goes_to_bad = current_is_bad && !matches!(snapshot.phase, Phase::Loading | Phase::Releasing(_));
    // A DaemonSet that surges has no budget of its own, so no Pod is deleted before an operator has set one.
    let lacks_budget = snapshot.surge.is_some() && snapshot.settings.budgets.max_unavailable.is_default();
    let budget = Tuning { max_unavailable: Some(Limit::At(IntOrPercent::Int(2))), ..Tuning::default() };
    // A record is begun anew in the place of one that cannot be read.
    if snapshot.unreadable_record().is_some() {
        return Some(if lacks_budget { Command::Adopt.under(budget) } else { Command::Adopt });
    }
    if let Some(revision) = good.filter(|_| goes_to_bad) {
        let undo = Command::Undo { to: revision.number };
        return Some(if lacks_budget { undo.under(budget) } else { undo });
    }
    let recorded = !matches!(snapshot.phase, Phase::Loading | Phase::Idle | Phase::Native | Phase::Releasing(_));
    if lacks_budget && (snapshot.adopted || recorded) {
        return Some(Command::Tune(budget));
    }
    if let Some(tuning) = lifted(&snapshot.settings) {
        return Some(Command::Tune(tuning));
    }
    let drives =
        matches!(snapshot.driver, DriverView::You { .. } | DriverView::Unconfirmed { .. } | DriverView::Other { .. });
    // The record belongs to a DaemonSet that was deleted.
    if snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::ForeignRecord { .. })) {
        return Some(Command::Release(Early::Accept));
    }
    if let Some(prewarm) = &snapshot.prewarm {
        match prewarm.request.cancelled {
            None => return Some(Command::Prewarm(PrewarmCommand::Cancel)),
            Some(_) if !drives => return Some(Command::Drive(Takeover::Ask)),
            Some(_) => {}
        }
    }
    match &snapshot.phase {
        // The process that released is gone, so another one has to finish the release.
        Phase::Releasing(_) if !drives => Some(Command::Drive(Takeover::Ask)),
        Phase::Loading | Phase::Releasing(_) => None,
        // The record is gone, but the DaemonSet still has the strategy that the rollout saved.
        Phase::Idle | Phase::Native if !snapshot.adopted && snapshot.original_strategy.is_some() => {
            Some(Command::Release(Early::Accept))
        }
        Phase::Idle if !snapshot.adopted => None,
        Phase::Paused(_) | Phase::Halted => Some(Command::Resume),
        Phase::Native if snapshot.adopted || !snapshot.alarms.is_empty() => Some(Command::Pause { why: None }),
        Phase::Native => None,
        Phase::Idle => Some(Command::Release(Early::Accept)),
        // A driver would have paused the rollout, but nobody drives.
        _ if snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::TemplateChanged { .. })) => {
            Some(Command::Resume)
        }
        _ if !drives && snapshot.plan.allowed == snapshot.counts.nodes => Some(Command::Drive(Takeover::Ask)),
        _ if snapshot.plan.selector.is_some() => Some(Command::Select(None)),
        _ if snapshot.plan.allowed < snapshot.counts.nodes => {
            Some(Command::Step(Step::Updated(IntOrPercent::Percent(100))))
        }
        _ if !drives => Some(Command::Drive(Takeover::Ask)),
        Phase::Complete if snapshot.release_waits() => Some(Command::Release(Early::Accept)),
        _ => None,
    }
}

/// The change that sets all settings that may hold nodes for ever to their defaults; `None` if no such setting is changed.
///
/// [`next_command`] deals with everything else that may stop a rollout: halts, drifts and pauses, steps, pre-warming and a missing budget.
fn lifted(settings: &Settings) -> Option<Tuning> {
    let holds = Setting::ALL.iter().filter(|setting| setting.about().role == SettingRole::Holds);
    let off = holds.filter(|setting| setting.is_changed_in(settings));
    off.filter_map(|setting| setting.read(&setting.value(&Settings::default())).ok()).reduce(Tuning::and)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};
    use std::mem::{Discriminant, discriminant};

    use super::*;
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
    use crate::engine::tests::gates::halted_by;
    use crate::sim::attack::case::{Act, Case};

    /// The values that cases set this setting to.
    fn drawn(setting: Setting) -> BTreeSet<String> {
        fn value(act: &Act, setting: Setting) -> Option<String> {
            match act {
                Act::Ask(_, command) | Act::OneShot(command) => setting.value_in(&command.tuning()),
                Act::Upon { act, .. } => value(act, setting),
                _ => None,
            }
        }
        let acts = (0..1_000).flat_map(|seed| Case::random(seed).acts);
        acts.filter_map(|(_, act)| value(&act, setting)).collect()
    }

    /// Lets this operator give commands until the rollout is released. `None`: it never is; else how many halts it was resumed past.
    fn resumes(fake: &mut FakeCluster, console: &mut FakeConsole, bad: &[Str]) -> Option<usize> {
        let mut resumes = 0;
        for _ in 0..240 {
            let snapshot = console.snapshot(fake);
            if !snapshot.adopted && snapshot.started_at.is_none() {
                return Some(resumes);
            }
            if let Some(command) = next_command(&snapshot, bad) {
                resumes += usize::from(command == Command::Resume);
                let _ = console.ask(fake, command);
            }
            console.run_for(fake, 15);
        }
        None
    }

    /// The commands that cases give, at most six of each kind.
    fn commands() -> Vec<Command> {
        fn given(act: Act) -> Option<Command> {
            match act {
                Act::Ask(_, command) | Act::OneShot(command) => Some(command),
                Act::Upon { act, .. } => given(*act),
                _ => None,
            }
        }
        let mut commands: Vec<Command> = Vec::new();
        let acts = (0..400).flat_map(|seed| Case::random(seed).acts);
        for command in acts.filter_map(|(_, act)| given(act)) {
            if commands.iter().filter(|known| kind(known) == kind(&command)).count() < 6 {
                commands.push(command);
            }
        }
        commands
    }

    fn kind(command: &Command) -> Discriminant<Command> {
        discriminant(command.inner())
    }

    /// A command that leaves what no move of this operator ends would make the attack accuse every case that gives it.
    #[test]
    fn a_rollout_that_any_command_has_changed_ends() {
        let commands = commands();
        let mut tried = HashSet::new();
        for before in [None, Some(Command::Pause { why: None }), Some(Command::StopDriving)] {
            let mut tried_here = HashSet::new();
            for command in &commands {
                if tried_here.contains(&kind(command)) {
                    continue;
                }
                let mut fake = FakeCluster::rolling(6, 2);
                let mut console = FakeConsole::open(&fake, "ops");
                console.set_image(&mut fake, "agent:v2");
                console.partition(&mut fake, 3);
                console.run_for(&mut fake, 20);
                if let Some(before) = before.clone() {
                    console.ask(&mut fake, before).unwrap();
                }
                if console.engine.command(command.clone(), fake.now).is_err() {
                    continue;
                }
                let ends = resumes(&mut fake, &mut console, &[]);
                assert!(ends.is_some(), "{command:?} after {before:?}: never ends");
                tried_here.insert(kind(command));
            }
            tried.extend(tried_here);
        }
        let refused = commands.iter().find(|command| !tried.contains(&kind(command)));
        assert_eq!(refused, None, "whatever was given before");
    }

    /// After the calm nothing fails any more. So a rollout that a gate has halted ends, whether this operator resumes it or, where its image is bad,
    /// goes back. One that would halt again and again has to be taken off in [`lifted`].
    #[test]
    fn a_rollout_that_any_gate_has_halted_ends_under_each_value_that_is_drawn() {
        for setting in Setting::gates() {
            let SettingRole::Halts(gate) = setting.about().role else { continue };
            let drawn = drawn(setting);
            assert!(drawn.len() > 1, "{setting:?}: {drawn:?}");
            for value in drawn {
                for bad in [Vec::new(), vec![Str::from("agent:bad")]] {
                    let (mut fake, mut console) = halted_by(gate);
                    console.engine.command(Command::Tune(setting.read(&value).unwrap()), fake.now).unwrap();
                    // The image is there from now on, and the pods that lack it are made anew.
                    fake.broken.clear();
                    for node in console.snapshot(&fake).halt.iter().flat_map(|halt| halt.named()) {
                        fake.remove_pod(node);
                    }
                    let resumes = resumes(&mut fake, &mut console, &bad);
                    let resumes =
                        resumes.unwrap_or_else(|| panic!("{setting:?} {value}, bad images {bad:?}: never ends"));
                    assert_eq!(resumes > 0, bad.is_empty(), "{setting:?} {value}: {resumes} times resumed");
                }
            }
        }
    }
}
