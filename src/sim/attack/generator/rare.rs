//! Rare faults: pods that lose their DaemonSet's label, a DaemonSet that is deleted and made anew, a watch that stands still without
//! an error.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Generator;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Step};
use crate::engine::model::event::Watched;
use crate::engine::model::quantity::IntOrPercent;
use crate::sim::attack::case::{Act, DAEMON_SET, Trigger};
use crate::sim::world::scenario::{ClusterFault, FleetFault, RegistryImage, Scenario};

/// The number of seconds after which a console certainly notices that its watch of nodes stands still: 11 minutes, plus the time until
/// the next bookmark shows it.
const FOUND_OUT: u64 = 13 * 60;

impl Generator {
    /// Adds rare faults of the world, each healed before the calm.
    pub(super) fn rare_faults(&mut self, scenario: &Scenario) {
        if self.one_in(8) {
            for _ in 0..self.rng.u32(1..4) {
                self.quarantine(scenario);
            }
        }
        if self.one_in(12) {
            self.recreated_daemon_set(scenario);
        }
        let always = scenario.always_pull_images || scenario.daemon_sets.iter().any(|plan| plan.pulls_always);
        if self.one_in(if always { 2 } else { 24 }) {
            self.moved_tag(scenario);
        }
    }

    /// Somebody pushes another image under a name that is in use.
    fn moved_tag(&mut self, scenario: &Scenario) {
        let name = self.pick(&["agent:v1", "agent:v2", "agent:v3"]);
        let Some(image) = scenario.images.iter().find(|image| *image.name == *name) else { return };
        let moved = RegistryImage { bytes: self.rng.u64(1..60) * 1_000_000, ..image.clone() };
        let at = self.secs(2..self.calm.as_secs());
        self.add(at, FleetFault::Publish(Box::new(moved)));
    }

    /// Somebody removes a pod's label and puts it back: at once, or after the controller has released the pod and made another.
    fn quarantine(&mut self, scenario: &Scenario) {
        let node = self.pick(&scenario.nodes).name;
        let daemon_set = Str::from(format!("{}/{}", DAEMON_SET.0, DAEMON_SET.1));
        let labelled = |value: &str| ClusterFault::LabelPods {
            daemon_set: daemon_set.clone(),
            node: node.clone(),
            labels: BTreeMap::from([("app".to_owned(), value.to_owned())]),
        };
        let at = self.secs(2..self.calm.as_secs() - 1);
        let away = if self.one_in(2) { Duration::from_millis(self.rng.u64(1..400)) } else { self.secs(1..90) };
        self.add_until(at, (at + away).min(self.calm), labelled(""), labelled(DAEMON_SET.1));
    }

    /// The DaemonSet is deleted, with its pods or without them, and its manifest is applied again. Sometimes a finalizer keeps the deleted
    /// DaemonSet for a while.
    fn recreated_daemon_set(&mut self, scenario: &Scenario) {
        let Some(mut plan) = scenario.daemon_sets.first().cloned() else { return };
        // The manifest has either the image of the rollout or the one before.
        let image = self.pick(&["agent:v1", "agent:v2"]);
        plan.images.values_mut().for_each(|it| image.clone_into(it));
        let daemon_set = Str::from(format!("{}/{}", DAEMON_SET.0, DAEMON_SET.1));
        // In most cases the rollout has begun and is seldom complete.
        let at = if self.one_in(3) { self.secs(4..self.calm.as_secs() / 2) } else { self.secs(6..30) };
        let held_for = if self.one_in(2) { self.secs(15..60) } else { Duration::ZERO };
        let gone_at = (at + held_for).min(self.calm - Duration::from_secs(10));
        let orphan = !self.one_in(3);
        if !held_for.is_zero() {
            let hold = |held| ClusterFault::HoldDaemonSet { daemon_set: daemon_set.clone(), held };
            self.add_until(at - Duration::from_secs(1), gone_at, hold(true), hold(false));
        }
        self.add(at, ClusterFault::DeleteDaemonSet { daemon_set, orphan });
        let again = gone_at + self.secs(1..9);
        self.add(again, ClusterFault::CreateDaemonSet(Box::new(plan)));
    }

    /// The DaemonSet is deleted while its pods are being replaced, and a finalizer keeps it while they become ready.
    pub(super) fn deleted_in_the_middle(&mut self, scenario: &Scenario) -> Vec<(Duration, Act)> {
        let Some(plan) = scenario.daemon_sets.first().cloned() else { return Vec::new() };
        let daemon_set = Str::from(format!("{}/{}", DAEMON_SET.0, DAEMON_SET.1));
        let hold = |held| ClusterFault::HoldDaemonSet { daemon_set: daemon_set.clone(), held };
        let begins = self.secs(1..3);
        let gone_at = self.calm - Duration::from_secs(20);
        self.add(begins, hold(true));
        self.add(gone_at, hold(false));
        let again = gone_at + self.secs(1..5);
        self.add(again, ClusterFault::CreateDaemonSet(Box::new(plan)));
        let delete = Box::new(Act::World(ClusterFault::DeleteDaemonSet { daemon_set, orphan: true }.into()));
        vec![(begins, Act::Upon { trigger: Trigger::Deletion, after: self.rng.u32(1..5), act: delete })]
    }

    /// A driver's watch of nodes stands still. Around the time at which the driver must know this, a node is cut off and all nodes are allowed.
    pub(super) fn stuck_watch(&mut self, names: &[Str]) -> Vec<(Duration, Act)> {
        let at = self.secs(4..30);
        let known_at = at + Duration::from_secs(FOUND_OUT);
        let lasts = Duration::from_secs(FOUND_OUT) + self.secs(180..600);
        self.calm = self.calm.max(at + lasts + Duration::from_secs(60));
        let node = self.pick(names);
        let cut_at = known_at.saturating_sub(self.secs(0..90));
        self.add_until(cut_at, at + lasts, FleetFault::Cut(node.clone()), FleetFault::Restore(node));
        let all = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        let begins = known_at + self.secs(60..120);
        vec![
            (at, Act::StickWatch { who: 0, watched: Watched::Nodes, lasts }),
            (begins, Act::OneShot(self.new_image())),
            (begins + self.secs(3..8), Act::OneShot(all)),
        ]
    }
}
