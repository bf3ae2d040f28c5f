//! The write for which the rollout waits because the API server refuses it: of the DaemonSet, or deletions in general. The record names it, so that whoever looks
//! once its driver has ended learns why the rollout stands still.

use crate::engine::machine::Engine;
use crate::engine::writes::failures::AskedOfDaemonSet;

impl Engine {
    /// Records the refused write. What is asked for instead of it is written at once, and not when that one would have been tried again. A driver that leaves has nothing more to write, and leaves what it has recorded.
    pub(super) fn note_refused_write(&mut self) {
        if !self.lock.wants_to_drive() {
            return;
        }
        let asked = self.recorded_intent().map(|intent| AskedOfDaemonSet::by(&intent));
        if self.failures.follow_what_is_asked(asked) {
            self.daemonset.retry.something_else_is_asked();
        }
        self.progress.refused_write = self.failures.refused_write();
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
    use crate::engine::model::command::{Command, Takeover};
    use crate::engine::model::effect::EffectErrorKind;
    use crate::engine::report::snapshot::Alarm;

    /// A driver that ends while what it waits for is refused leaves the reason in the record: whoever looks next would see a rollout that stands still for no reason.
    #[test]
    fn the_record_says_which_write_is_refused_until_it_succeeds() {
        let mut fake = FakeCluster::rolling(6, 1);
        fake.undeletable = (1..=6).map(|nth| (format!("n{nth}").into(), EffectErrorKind::Forbidden)).collect();
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 0);
        let began = fake.now;
        console.run_for(&mut fake, 60);
        console.ask(&mut fake, Command::StopDriving).unwrap();
        console.run_for(&mut fake, 60);
        drop(console);
        let told = |console: &mut FakeConsole, fake: &FakeCluster| {
            let alarms = console.snapshot(fake).alarms;
            alarms.into_iter().find_map(|alarm| match alarm {
                Alarm::WriteRefused { since, why } => Some((since, why)),
                _ => None,
            })
        };
        let mut eve = FakeConsole::open(&fake, "eve");
        let (since, why) = told(&mut eve, &fake).expect("the record names it");
        assert!(why.contains("denied by policy"), "{why}");
        assert!(since.since(began).as_secs() < 10, "{since:?}");

        fake.undeletable.clear();
        let mut next = FakeConsole::open(&fake, "next");
        next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
        next.run_for(&mut fake, 10);
        eve.run(&mut fake);
        assert_eq!(told(&mut eve, &fake), None, "a pod was deleted since");
    }
}
