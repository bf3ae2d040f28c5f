//! A console that is far away from the fake cluster: its writes, their answers and its watch events arrive late.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{FakeCluster, FakeConsole};
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind, EffectId, Outcome};
use crate::engine::model::event::Event;
use crate::engine::model::time::Timestamp;

/// How finely time passes.
const TICK: Duration = Duration::from_millis(25);

/// The console, and what is on its way to and from it.
pub(crate) struct Far<D> {
    pub(crate) console: FakeConsole,
    /// How long a message takes that is sent at this instant.
    one_way: D,
    mail: BTreeMap<(Timestamp, u64), Mail>,
    posted: u64,
    /// What is told comes in its order.
    told_at: Timestamp,
    /// When each deletion arrived, in order.
    pub(crate) arrived: Vec<Timestamp>,
}

enum Mail {
    Request(EffectId, Effect),
    Answer(EffectId, Outcome),
    Fact(Event),
}

impl<D: FnMut(Timestamp) -> Duration> Far<D> {
    pub(crate) fn new(console: FakeConsole, one_way: D) -> Self {
        let told_at = Timestamp::default();
        Self { console, one_way, mail: BTreeMap::new(), posted: 0, told_at, arrived: Vec::new() }
    }

    fn post(&mut self, at: Timestamp, mail: Mail) {
        self.posted += 1;
        self.mail.insert((at, self.posted), mail);
    }

    /// Lets time pass: kubelets and controllers at work once a second, `meanwhile` at every tick.
    pub(crate) fn run_for(
        &mut self,
        fake: &mut FakeCluster,
        span: Duration,
        mut meanwhile: impl FnMut(&mut Self, &mut FakeCluster),
    ) {
        let end = fake.now + span;
        while fake.now < end {
            self.tick(fake);
            meanwhile(self, fake);
            fake.now = fake.now + TICK;
            if fake.now.millis() % 1_000 < 25 {
                fake.reconcile();
                fake.kubelets();
            }
        }
    }

    fn tick(&mut self, fake: &mut FakeCluster) {
        let now = fake.now;
        let news: Vec<_> = fake.log.iter().skip(self.console.log_read).cloned().collect();
        for event in news {
            self.told_at = self.told_at.max(now + (self.one_way)(now));
            self.post(self.told_at, Mail::Fact(event));
        }
        self.console.log_read = fake.log.len();
        while let Some(entry) = self.mail.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                Mail::Fact(event) => self.console.engine.observe(event, now),
                Mail::Answer(id, outcome) => self.console.engine.outcome(id, outcome, now),
                Mail::Request(id, effect) => {
                    let outcome = fake.apply(effect);
                    let arrives = now + (self.one_way)(now);
                    self.post(arrives, Mail::Answer(id, outcome));
                }
            }
        }
        for (id, mut effect) in self.console.engine.decide(now) {
            let arrives = now + (self.one_way)(now);
            if let Effect::DeletePod { not_after, .. } = &mut effect {
                if now > *not_after {
                    let error =
                        EffectError { kind: EffectErrorKind::TooLate, message: "too late".into(), dry_run: false };
                    self.post(now, Mail::Answer(id, Err(error)));
                    continue;
                }
                // It was sent in time. The fake cluster checks `not_after` when it arrives, so that is moved to then.
                *not_after = arrives + TICK;
                self.arrived.push(arrives);
            }
            self.post(arrives, Mail::Request(id, effect));
        }
        self.console.listen();
    }
}
