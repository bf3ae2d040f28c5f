//! Acts that do harm together: something changes while a console cannot see it, and a command comes just then.

use std::time::Duration;

use super::Generator;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Step};
use crate::engine::model::event::Watched;
use crate::engine::model::image::ImageRef;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{OnFailure, Tuning};
use crate::sim::attack::case::{Act, CrashPoint, LeaseEdit, Trigger};
use crate::sim::world::scenario::FleetFault;

impl Generator {
    /// A process is suspended before it sends a write, and meanwhile another process pauses the rollout.
    pub(super) fn overtaken(&mut self) -> [Act; 2] {
        let (who, lasts) = (self.rng.usize(0..2), self.secs(1..9));
        let stops = if self.one_in(2) {
            Act::Crash(who, self.rng.u32(0..12), CrashPoint::Suspend { lasts })
        } else {
            // The process has decided its answer to a failure but does not send it.
            let act = Box::new(Act::Crash(who, self.rng.u32(0..4), CrashPoint::Suspend { lasts }));
            Act::Upon { trigger: Trigger::Failure, after: self.rng.u32(0..3), act }
        };
        let pause = Box::new(Act::OneShot(Command::Pause { why: None }));
        [stops, Act::Upon { trigger: Trigger::Suspension, after: 0, act: pause }]
    }

    /// A driver is suspended while it rolls back by itself, and somebody pauses.
    pub(super) fn unheard_pause(&mut self) -> Vec<(Duration, Act)> {
        let at = self.secs(6..self.calm.as_secs() / 2);
        let goes_back = Tuning { on_failure: Some(OnFailure::RollBack), ..Tuning::default() };
        let missing: Option<ImageRef> = "agent:missing".parse().ok();
        let image = Command::SetImage(missing.into_iter().map(|image| ("agent".to_owned(), image)).collect());
        let all = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        let stops = Act::Crash(0, self.rng.u32(0..3), CrashPoint::Suspend { lasts: self.secs(2..9) });
        let stops = Act::Upon { trigger: Trigger::Failure, after: 0, act: Box::new(stops) };
        let pause = Act::OneShot(Command::Pause { why: None });
        let pause = Act::Upon { trigger: Trigger::Suspension, after: 0, act: Box::new(pause) };
        let asks = [Command::Tune(goes_back), image, all].map(|command| (at, Act::Ask(0, command)));
        asks.into_iter().chain([stops, pause].map(|act| (at, act))).collect()
    }

    /// Somebody makes the record unreadable and then deletes it, as consoles advise. A console may get a command just before.
    pub(super) fn ruined_record(&mut self, nodes: usize) -> Vec<(Duration, Act)> {
        let at = self.secs(6..self.calm.as_secs().max(20));
        let deleted_at = at + if self.one_in(2) { self.secs(0..4) } else { self.secs(0..1) };
        let ruin = [(at, Act::EditLease(LeaseEdit::Garble)), (deleted_at, Act::EditLease(LeaseEdit::Delete))];
        let asked_at = at.saturating_sub(self.secs(0..2));
        let asks = self.one_in(2).then(|| (asked_at, Act::Ask(self.rng.usize(0..2), self.step(nodes))));
        ruin.into_iter().chain(asks).collect()
    }

    /// The Lease is deleted while a console cannot see it. The log of changes is cut, so the console learns of it only from a new list without
    /// the Lease.
    pub(super) fn unlisted_lease(&mut self) -> [(Duration, Act); 3] {
        let (at, lasts) = (self.secs(4..self.calm.as_secs() / 2), self.secs(5..30));
        let deleted_at = at + self.secs(2..5);
        [
            (at, Act::BreakWatch(self.rng.usize(0..2), Watched::Lease, lasts)),
            (at + self.secs(0..2), Act::Compact),
            (deleted_at, Act::EditLease(LeaseEdit::Delete)),
        ]
    }

    /// The strategy is set back while a console cannot see it, and somebody pauses on that console.
    pub(super) fn unseen_drift(&mut self) -> [(Duration, Act); 2] {
        let who = self.rng.usize(0..2);
        let at = self.secs(8..self.calm.as_secs() - 2);
        let drifts_at = at + self.secs(0..2);
        self.set_back(drifts_at, None);
        let pause = Act::Ask(who, Command::Pause { why: None });
        [(at, Act::BreakWatch(who, Watched::DaemonSet, self.secs(10..40))), (at + self.secs(2..12), pause)]
    }

    /// A node goes down while the driver cannot see it, and just then operators allow many nodes.
    pub(super) fn unseen_outage(&mut self, names: &[Str], node_grace: Duration) -> Vec<(Duration, Act)> {
        let at = self.secs(1..20);
        let node = self.pick(names);
        let until = (at + node_grace + self.secs(30..90)).min(self.calm);
        self.add_until(at, until, FleetFault::Cut(node.clone()), FleetFault::Restore(node));
        let blind_at = (at + node_grace).saturating_sub(self.secs(0..8));
        let all = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        vec![
            (blind_at, Act::BreakWatch(0, Watched::Nodes, self.secs(8..20))),
            (blind_at + self.secs(0..3), Act::OneShot(self.new_image())),
            (blind_at + self.secs(3..6), Act::OneShot(all)),
        ]
    }

    /// Pods are deleted while the deleting console sees it late, and just then it gets another selector.
    pub(super) fn unseen_deletion(&mut self) -> [(Duration, Act); 2] {
        let at = self.secs(4..self.calm.as_secs() / 2);
        let (by, lasts) = (self.secs(2..8), self.secs(20..60));
        let select = Box::new(Act::Ask(0, Command::Select("!canary".parse().ok())));
        let others = Act::Upon { trigger: Trigger::Deletion, after: self.rng.u32(0..3), act: select };
        [(at, Act::DelayWatch { who: 0, watched: Watched::Pods, by, lasts }), (at, others)]
    }
}
