//! A driver's process stands still for longer than its Lease lasts, and another one drives meanwhile. It has a random generator of its own, so that
//! the rest of a seed's case stays as it was.

use std::time::Duration;

use super::Generator;
use crate::engine::model::command::{Command, Takeover};
use crate::sim::attack::case::{Act, CrashPoint};

/// Mixed into the seed, so that this random generator differs from the others.
const DICE: u64 = 0x7374_696c;

impl Generator {
    /// Adds to one case of twenty: the first console is suspended, the second one drives, steps and is told to stop, and the first one goes on.
    pub(super) fn stood_still(&mut self, seed: u64, nodes: usize, acts: &mut Vec<(Duration, Act)>) {
        let mut dice = Self { rng: fastrand::Rng::with_seed(seed ^ DICE), faults: Vec::new(), ..*self };
        if !dice.one_in(20) {
            return;
        }
        let at = dice.secs(8..dice.calm.as_secs().max(24) / 2);
        let lasts = dice.secs(20..60);
        let drives_at = at + dice.secs(1..25);
        let steps_at = drives_at + dice.secs(1..12);
        let stops_at = steps_at + dice.secs(2..20);
        let stops = Act::Crash(0, dice.rng.u32(0..3), CrashPoint::Suspend { lasts });
        let asks = [
            (drives_at, Command::Drive(Takeover::Ask)),
            (steps_at, dice.step(nodes)),
            (stops_at, Command::StopDriving),
        ];
        acts.push((at, stops));
        acts.extend(asks.map(|(at, command)| (at, Act::Ask(1, command))));
        acts.sort_by_key(|(at, _)| *at);
        self.calm = self.calm.max(at + lasts).max(stops_at) + Duration::from_secs(10);
    }
}
