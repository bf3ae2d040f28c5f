//! Updated nodes that go down, alone or with their site, once or again, for a moment or for good; and an image that is ready
//! for a while before it crashes.

use std::time::Duration;

use super::Maker;
use crate::engine::Str;
use crate::engine::command::{Command, Step, Takeover};
use crate::engine::image::ImageRef;
use crate::engine::quantity::IntOrPercent;
use crate::engine::tuning::Tuning;
use crate::sim::attack::case::Act;
use crate::sim::world::scenario::{FleetFault, Image};

/// It is pulled, ready, and crashes a while later, again and again.
pub(super) const UNSTEADY: &str = "agent:unsteady";

impl Maker {
    /// An image that crashes after it has been ready for a while.
    pub(super) fn unsteady(&mut self) -> Image {
        let mut unsteady = Image::new(UNSTEADY, 1_000_000);
        unsteady.ready_in = Duration::from_secs(1);
        unsteady.crashes_after = Some(self.secs(8..40));
        unsteady
    }

    /// Nodes go down after their update: the first in line, or a whole site, right after or in the middle of the rest.
    pub(super) fn suspects(&mut self, names: &[Str], node_grace: Duration) -> Vec<(Duration, Act)> {
        self.calm = self.calm.max(Duration::from_secs(300));
        let at = self.secs(4..12);
        let grace = self.secs(10..90);
        let gate = Tuning { suspect_grace_secs: u32::try_from(grace.as_secs()).ok(), ..Tuning::default() };
        let few = self.rng.u32(1..4);
        let image: Option<ImageRef> = "agent:v2".parse().ok();
        let image = Command::SetImage(image.into_iter().map(|image| ("agent".to_owned(), image)).collect());
        let first = Command::Step(Step::Updated(IntOrPercent::Int(few)));
        let all = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        let cut_at = at + self.secs(20..60);
        // In the order in which they are updated, as a rule.
        let mut nodes = names.to_vec();
        nodes.sort_by(|a, b| natord::compare(a, b));
        let many = if self.one_in(4) { nodes.len().div_ceil(2) } else { self.rng.usize(1..=few as usize) };
        let blinks = node_grace + self.secs(5..15);
        let lasts = if self.one_in(2) { blinks } else { node_grace + grace + self.secs(20..60) };
        let again_at = self.one_in(3).then(|| cut_at + lasts + self.secs(15..60));
        let others = if self.one_in(3) { nodes.last().cloned() } else { None };
        for node in nodes.into_iter().take(many).chain(others) {
            self.goes_down(node.clone(), cut_at, lasts);
            if let Some(again_at) = again_at {
                self.goes_down(node, again_at, blinks);
            }
        }
        let rest_at = cut_at + self.secs(0..120);
        [
            (at, Act::Ask(0, Command::Drive(Takeover::Ask))),
            (at, Act::Ask(0, Command::Tune(gate))),
            (at, Act::Ask(0, image)),
            (at + Duration::from_secs(1), Act::Ask(0, first)),
            (rest_at, Act::Ask(0, all)),
        ]
        .into()
    }

    fn goes_down(&mut self, node: Str, at: Duration, lasts: Duration) {
        let until = (at + lasts).min(self.calm);
        if at < until {
            self.turn(at, until, FleetFault::Cut(node.clone()), FleetFault::Restore(node));
        }
    }

    /// An image that is ready for a while and crashes, and a step that comes between two of its crashes.
    pub(super) fn restarts(&mut self) -> Vec<(Duration, Act)> {
        self.calm = self.calm.max(Duration::from_secs(240));
        let at = self.secs(4..20);
        let image: Option<ImageRef> = UNSTEADY.parse().ok();
        let image = Command::SetImage(image.into_iter().map(|image| ("agent".to_owned(), image)).collect());
        let first = Command::Step(Step::Updated(IntOrPercent::Int(1)));
        let all = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        let more_at = at + self.secs(20..120);
        [(at, Act::Ask(0, image)), (at + Duration::from_secs(1), Act::Ask(0, first)), (more_at, Act::Ask(0, all))]
            .into()
    }
}
