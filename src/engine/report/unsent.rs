//! Requests made in this process that have not reached the cluster: intentions, not facts.
//!
//! While an edit is not saved, this process starts nothing. Another driver, or the native controller, does not know of the edit and goes on. Screens
//! therefore show the state of the cluster, and beside it the unsaved requests and since when they wait.

use crate::engine::lease::edit::Edit;
use crate::engine::lease::edits::Unsaved;
use crate::engine::machine::Engine;
use crate::engine::model::command;
use crate::engine::model::command::Command;
use crate::engine::model::record::Change;
use crate::engine::model::time::Timestamp;
use crate::engine::model::unsent::{LATE, Unsent, UnsentKind};

impl UnsentKind {
    fn of_command(command: &Command) -> Option<Self> {
        match command.inner() {
            Command::Pause { .. } => Some(Self::Pause),
            Command::Resume => Some(Self::Resume),
            Command::Undo { .. } => Some(Self::RollBack),
            Command::SetImage(_) => Some(Self::Image),
            Command::Step(_) => Some(Self::Step),
            Command::Select(_) => Some(Self::Selector),
            Command::Tune(_) | Command::Tuned { .. } => Some(Self::Settings),
            Command::Prewarm(_) => Some(Self::Prewarm),
            Command::Adopt => Some(Self::Adoption),
            Command::Release(_) => Some(Self::Release),
            Command::Drive(command::Takeover::Ask) => Some(Self::Takeover),
            Command::Drive(command::Takeover::IfFree)
            | Command::StopDriving
            | Command::EndDriving { .. }
            | Command::GiveUpDriving { .. } => None,
        }
    }

    /// The kind of an edit that a driver decided on by itself; `None` for edits that only record what the cluster shows anyway.
    fn of_edit(edit: &Edit) -> Option<Self> {
        match edit {
            Edit::Hold(_) | Edit::HoldTemplate(_) | Edit::HoldPutBack(_) => Some(Self::Pause),
            Edit::GoBack { .. } => Some(Self::RollBack),
            Edit::Complete { .. } => Some(Self::Release),
            Edit::Handover(_) => Some(Self::Takeover),
            Edit::Begin
            | Edit::BeginWith { .. }
            | Edit::ReplaceUnreadable(_)
            | Edit::Change { .. }
            | Edit::Target { .. }
            | Edit::FirstTarget(_)
            | Edit::Refuse { .. }
            | Edit::CallOffRelease(_)
            | Edit::Partition { .. }
            | Edit::Select(_)
            | Edit::Pause(_)
            | Edit::Resume { .. }
            | Edit::Release { .. }
            | Edit::Tune { .. }
            | Edit::Prewarm(_)
            | Edit::End => None,
        }
    }
}

impl Engine {
    /// The requests and decisions on their way to the cluster: first those asked for, then those that the driver decided on.
    pub(super) fn unsent(&self, now: Timestamp) -> Vec<Unsent> {
        let late = |since: Timestamp| now.since(since) >= LATE;
        let asked = self.pending.iter().filter_map(|pending| {
            let leads_later = |unsaved: &Unsaved| {
                let leads_later = matches!(unsaved.edit, Edit::Change { change: Change::LaterRevision(_), .. });
                unsaved.command == Some(pending.id) && leads_later
            };
            let kind = match UnsentKind::of_command(&pending.command)? {
                UnsentKind::RollBack if self.edits.iter().any(leads_later) => UnsentKind::LaterRevision,
                kind => kind,
            };
            let unsaved = self.edits.has_any_of(pending.id);
            // A pause that is a brake has no effect before `OnDelete` is set, so it counts as unsent until then.
            let brakes = kind == UnsentKind::Pause && self.daemonset.brakes();
            let why = self.failures.of_lease().map(|failure| &failure.why).filter(|_| unsaved);
            let why = why.or(self.failures.of_daemonset().filter(|_| brakes)).cloned();
            let since = pending.requested_at;
            (unsaved || brakes).then(|| Unsent { kind, since, late: late(since), why })
        });
        let decided = self.edits.iter().filter(|unsaved| unsaved.command.is_none()).filter_map(|unsaved| {
            let (kind, since) = (UnsentKind::of_edit(&unsaved.edit)?, unsaved.made_at);
            Some(Unsent {
                kind,
                since,
                late: late(since),
                why: self.failures.of_lease().map(|failure| &failure.why).cloned(),
            })
        });
        asked.chain(decided).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
    use crate::engine::model::command::Step;
    use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind};
    use crate::engine::model::hold::Hold;
    use crate::engine::model::quantity::IntOrPercent;
    use crate::engine::report::snapshot::Phase;

    const REFUSED: &str = "writing the lease: connection refused";

    /// Lets time pass while writes of that kind do not arrive.
    fn cut_off(console: &mut FakeConsole, fake: &mut FakeCluster, secs: u64, lost: fn(&Effect) -> bool) {
        for _ in 0..secs {
            console.hear(fake);
            for (id, effect) in console.engine.decide(fake.now) {
                let refused = EffectError { kind: EffectErrorKind::NotSent, message: REFUSED.into(), dry_run: false };
                let outcome = if lost(&effect) { Err(refused) } else { fake.apply(effect) };
                console.engine.outcome(id, outcome, fake.now);
            }
            fake.reconcile();
            fake.wait(1);
        }
    }

    fn driving(fake: &mut FakeCluster) -> FakeConsole {
        let mut console = FakeConsole::open(fake, "ops");
        console.set_image(fake, "agent:v2");
        console.partition(fake, 10);
        console.run_for(fake, 3);
        console
    }

    #[test]
    fn a_pause_that_is_not_saved_is_no_pause_and_yet_nothing_starts_here() {
        let mut fake = FakeCluster::rolling(20, 2);
        let mut console = driving(&mut fake);
        console.engine.command(Command::Pause { why: None }, fake.now).unwrap();
        let before = fake.deleted.len();
        cut_off(&mut console, &mut fake, 1, |_| true);
        let snapshot = console.snapshot(&fake);
        assert!(matches!(snapshot.unsent.as_slice(), [Unsent { kind: UnsentKind::Pause, late: false, .. }]));
        assert_eq!(snapshot.not_sent(), None, "it may arrive yet");
        cut_off(&mut console, &mut fake, 47, |_| true);
        let snapshot = console.snapshot(&fake);
        assert!(!matches!(snapshot.phase, Phase::Paused(_)), "{:?}", snapshot.phase);
        let words = snapshot.doing().to_string();
        assert!(words.ends_with("; pause NOT SENT 48s, retrying"), "{words}");
        assert_eq!(snapshot.not_sent().and_then(|unsent| unsent.why.as_deref()), Some(REFUSED));
        let holds: Vec<_> = snapshot.nodes.iter().filter_map(|node| node.hold.clone()).collect();
        assert!(holds.contains(&Hold::NotSent), "{holds:?}");
        assert!(holds.iter().all(|hold| matches!(hold, Hold::NotSent | Hold::Partition { .. })), "{holds:?}");
        assert_eq!(fake.deleted.len(), before, "nothing is started from here");
        console.run_for(&mut fake, 10);
        let snapshot = console.snapshot(&fake);
        assert!(matches!(snapshot.phase, Phase::Paused(_)) && snapshot.unsent.is_empty(), "{:?}", snapshot.phase);
        assert_eq!(fake.deleted.len(), before);
    }

    #[test]
    fn a_brake_is_no_pause_before_its_controller_is_stopped() {
        let mut fake = FakeCluster::rolling(20, 2);
        fake.set_template(crate::engine::fake_cluster::template("agent:v2"));
        fake.reconcile();
        let mut console = FakeConsole::open(&fake, "ops");
        console.engine.command(Command::Pause { why: None }, fake.now).unwrap();
        cut_off(&mut console, &mut fake, 5, |effect| matches!(effect, Effect::PatchDaemonSet { .. }));
        let snapshot = console.snapshot(&fake);
        assert!(fake.lease.as_ref().unwrap().record.as_ref().unwrap().is_some(), "the record has it");
        assert_eq!(snapshot.phase, Phase::Native, "and its controller does not know of it");
        assert_eq!(snapshot.not_sent().map(|unsent| unsent.kind), Some(UnsentKind::Pause));
        console.run_for(&mut fake, 40);
        let snapshot = console.snapshot(&fake);
        assert!(matches!(snapshot.phase, Phase::Paused(_)) && snapshot.not_sent().is_none(), "{:?}", snapshot.phase);
    }

    #[test]
    fn plan_numbers_are_those_that_are_saved() {
        let mut fake = FakeCluster::rolling(20, 2);
        let mut driver = driving(&mut fake);
        driver.run_for(&mut fake, 30);
        let mut watcher = FakeConsole::open(&fake, "eve");
        for console in [&mut driver, &mut watcher] {
            let before = console.snapshot(&fake).plan;
            console.engine.command(Command::Step(Step::Partition(IntOrPercent::Int(0))), fake.now).unwrap();
            cut_off(console, &mut fake, 4, |_| true);
            let snapshot = console.snapshot(&fake);
            assert_eq!((snapshot.plan.keep, snapshot.plan.allowed), (before.keep, before.allowed));
            assert_eq!(snapshot.not_sent().map(|unsent| unsent.kind), Some(UnsentKind::Step));
        }
        let held: Vec<_> = watcher.snapshot(&fake).nodes.iter().filter_map(|node| node.hold.clone()).collect();
        assert!(
            held.iter().all(|hold| matches!(hold, Hold::Partition { .. })),
            "whoever drives goes by the old plan: {held:?}"
        );
    }
}
