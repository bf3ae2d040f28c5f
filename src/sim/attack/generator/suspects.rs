//! Updated nodes that go down, alone or with their site, once or again, for a moment or for good; and an image that is ready
//! for a while before it crashes.

use std::time::Duration;

use super::Generator;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Step, Takeover};
use crate::engine::model::image::ImageRef;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Secs, Tuning};
use crate::sim::attack::case::Act;
use crate::sim::world::scenario::{FleetFault, RegistryImage};

/// The image of a container that becomes ready and crashes a while later, again and again.
pub(super) const UNSTEADY: &str = "agent:unsteady";

/// The number of nodes from which on two updated nodes that go down alone count as no accident.
const MANY: usize = 15;

impl Generator {
    /// An image that crashes after it has been ready for a while.
    pub(super) fn unsteady(&mut self) -> RegistryImage {
        let mut unsteady = RegistryImage::new(UNSTEADY, 1_000_000);
        unsteady.ready_in = Duration::from_secs(1);
        unsteady.crashes_after = Some(self.secs(8..40));
        unsteady
    }

    /// Nodes go down after their update, and meanwhile an operator allows the other nodes.
    pub(super) fn suspects(&mut self, names: &[Str], node_grace: Duration) -> Vec<(Duration, Act)> {
        self.calm = self.calm.max(Duration::from_secs(400));
        let at = self.secs(4..12);
        let cut_at = at + self.secs(20..60);
        // Sorted in the usual order of updates.
        let mut nodes = names.to_vec();
        nodes.sort_by(|a, b| natord::compare(a, b));
        let few = self.rng.usize(1..5);
        let long = Duration::from_secs(300);
        let noticed_at = cut_at + node_grace + Duration::from_secs(5);
        let mut gate = Tuning::default();
        // A comparison needs nodes that are not updated, and a budget that several failed nodes do not use up.
        let mode = if nodes.len() >= MANY { self.rng.u32(0..6) } else { self.rng.u32(0..2) };
        let (grace, rest_at) = match mode {
            0 => self.stay_away(nodes, few, cut_at, node_grace),
            1 => {
                // The node goes down, comes back, and goes down again long enough to show that no other node does.
                let (again_at, blinks) = (noticed_at + self.secs(20..40), node_grace + self.secs(8..14));
                for node in nodes.into_iter().take(1) {
                    self.goes_down(node.clone(), cut_at, blinks);
                    self.goes_down(node, again_at, node_grace + Duration::from_secs(120));
                }
                (long, again_at + node_grace + self.secs(40..70))
            }
            _ => {
                gate.max_unavailable = Some(Limit::At(IntOrPercent::Int(8)));
                // Only updated nodes go down, so the comparison with the others blames the update.
                nodes.into_iter().take(few).for_each(|node| self.goes_down(node, cut_at, node_grace + long));
                (long, noticed_at + self.secs(35..70))
            }
        };
        gate.suspect_grace_secs = u32::try_from(grace.as_secs()).ok().map(Secs);
        let image: Option<ImageRef> = "agent:v2".parse().ok();
        let image = Command::SetImage(image.into_iter().map(|image| ("agent".to_owned(), image)).collect());
        let first = Command::Step(Step::Updated(IntOrPercent::Int(u32::try_from(few).unwrap_or(1))));
        let all = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        [
            (at, Act::Ask(0, Command::Drive(Takeover::Ask))),
            (at, Act::Ask(0, Command::Tune(gate))),
            (at, Act::Ask(0, image)),
            (at + Duration::from_secs(1), Act::Ask(0, first)),
            (rest_at, Act::Ask(0, all)),
        ]
        .into()
    }

    /// Nodes are away for a moment or for longer than the grace, alone or with others. Returns the grace, and the time at which the operator
    /// allows the other nodes.
    fn stay_away(
        &mut self,
        nodes: Vec<Str>,
        few: usize,
        cut_at: Duration,
        node_grace: Duration,
    ) -> (Duration, Duration) {
        let grace = self.secs(10..90);
        let many = if self.one_in(4) { nodes.len().div_ceil(2) } else { self.rng.usize(1..=few) };
        let blinks = node_grace + self.secs(5..15);
        let lasts = if self.one_in(2) { blinks } else { node_grace + grace + self.secs(20..60) };
        let others = if self.one_in(3) { nodes.last().cloned() } else { None };
        for node in nodes.into_iter().take(many).chain(others) {
            self.goes_down(node, cut_at, lasts);
        }
        (grace, cut_at + self.secs(0..120))
    }

    fn goes_down(&mut self, node: Str, at: Duration, lasts: Duration) {
        let until = (at + lasts).min(self.calm);
        if at < until {
            self.add_until(at, until, FleetFault::Cut(node.clone()), FleetFault::Restore(node));
        }
    }

    /// A rollout of an image that is ready for a while and then crashes, and a step that may come between two of its crashes.
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
