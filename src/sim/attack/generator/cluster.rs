//! The cluster of a case: nodes, sites, images, the DaemonSet, and the network between consoles and the API server.

use std::time::Duration;

use super::{Generator, LINKS};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::template::VOLUME;
use crate::sim::attack::case::DAEMON_SET;
use crate::sim::attack::network::NetworkProfile;
use crate::sim::world::scenario::{ControllerVariant, DaemonSetPlan, PullError, RegistryImage, Scenario, Tolerates};

const MB: u64 = 1_000_000;
/// The image of the image volume that some DaemonSets have.
const MODELS: &str = "models:v1";
/// Mixed into the seed for the random generator of image volumes, so that it differs from the others.
const OF_VOLUMES: u64 = 0x766f_6c75_6d65;
/// The same for the admission plugin `AlwaysPullImages`.
const OF_ADMISSION: u64 = 0x6164_6d69_7400;
/// The same for agents that make their node not ready for a moment when they start.
const OF_RUNTIMES: u64 = 0x7275_6e74_696d;

impl Generator {
    pub(super) fn cluster(&mut self) -> Scenario {
        let mut scenario = Scenario::new("attack");
        scenario = match self.rng.u32(0..6) {
            0 | 1 => scenario.with_controller(ControllerVariant::V1_20),
            2 => scenario.with_controller(ControllerVariant::V1_21Bug),
            _ => scenario,
        };
        // The comparison of updated nodes with the others needs many nodes in one site.
        let large = self.one_in(10);
        for site in 0..if large { 1 } else { self.rng.usize(1..=2) } {
            let name = ["a", "b"][site];
            let link = self.pick(&LINKS);
            let nodes = if large { self.rng.usize(15..=18) } else { self.rng.usize(2..=7) };
            scenario = scenario.with_site(name, link, &format!("n{name}-"), nodes);
        }
        for (nth, node) in scenario.nodes.iter_mut().enumerate() {
            if nth % 3 == 0 {
                node.labels = [("canary", "true")].into_iter().collect();
            }
        }
        for image in self.images() {
            scenario = scenario.with_image(image);
        }
        let mut plan = DaemonSetPlan::new(DAEMON_SET.0, DAEMON_SET.1, "agent:v1");
        plan.max_unavailable = match self.rng.u32(0..4) {
            0 => IntOrPercent::Percent(self.rng.u8(10..50)),
            _ => IntOrPercent::Int(self.rng.u32(1..4)),
        };
        plan.min_ready_secs = if self.one_in(3) { self.rng.u32(1..8) } else { 0 };
        plan.grace_secs = self.rng.u32(1..12);
        plan.strategy = if self.one_in(5) { StrategyKind::OnDelete } else { StrategyKind::RollingUpdate };
        plan.tolerates = if self.one_in(2) { Tolerates::Everything } else { Tolerates::Nothing };
        self.surge(&mut plan, scenario.controller);
        plan.pulls_always = self.one_in(12);
        // Image volumes have a random generator of their own, so that cases without them stay as they were.
        let mut rng = fastrand::Rng::with_seed(self.rng.get_seed() ^ OF_VOLUMES);
        if rng.u32(0..8) == 0 {
            let image = RegistryImage::new(MODELS, rng.u64(1..60) * MB);
            plan.images.insert(format!("{VOLUME}models"), MODELS.to_owned());
            scenario = scenario.with_image(image);
        }
        let mut rng = fastrand::Rng::with_seed(self.rng.get_seed() ^ OF_ADMISSION);
        scenario.always_pull_images = rng.u32(0..12) == 0;
        scenario.with_daemon_set(plan)
    }

    pub(super) fn images(&mut self) -> Vec<RegistryImage> {
        let ready_in = self.secs(0..6);
        let stops_in = if self.one_in(3) { self.secs(1..20) } else { Duration::from_secs(1) };
        let mut good = ["agent:v1", "agent:v2", "agent:v3"].map(|name| {
            let mut image = RegistryImage::new(name, self.rng.u64(1..60) * MB);
            image.ready_in = ready_in;
            image.stops_in = stops_in;
            image
        });
        let mut missing = RegistryImage::new("agent:missing", MB);
        missing.error = Some(PullError::NotFound);
        let mut denied = RegistryImage::new("agent:denied", MB);
        denied.error = Some(PullError::Denied);
        let mut crash = RegistryImage::new("agent:crash", MB);
        crash.crashes_after = Some(self.secs(1..8));
        let unsteady = self.unsteady();
        let mut rng = fastrand::Rng::with_seed(self.rng.get_seed() ^ OF_RUNTIMES);
        if rng.u32(0..8) == 0 {
            let lasts = Duration::from_secs(rng.u64(3..70));
            good.iter_mut().for_each(|image| image.node_not_ready_for = Some(lasts));
        }
        good.into_iter().chain([missing, denied, crash, unsteady]).collect()
    }

    pub(super) fn network(&mut self) -> NetworkProfile {
        NetworkProfile {
            min_delay: 1,
            max_delay: self.pick(&[10, 100, 1500]),
            distance: 0,
            swells: 0,
            lost_requests: self.rng.u32(0..60),
            lost_answers: self.rng.u32(0..60),
            throttled: self.rng.u32(0..60),
            not_sent: self.rng.u32(0..60),
            server_errors: self.rng.u32(0..60),
        }
    }
}
