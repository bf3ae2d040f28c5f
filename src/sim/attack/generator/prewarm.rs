//! Pre-warming: the commands of operators, at any time, and the gate that needs it. It has a random generator of its own, so that the
//! rest of a seed's case stays as it was.

use std::time::Duration;

use super::Generator;
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Pace, Tuning};
use crate::engine::model::site::SiteLabel;
use crate::sim::attack::case::Act;

/// Mixed into the seed, so that this random generator differs from the others.
const DICE: u64 = 0x7761_726d;
/// The same for the random generator of the method.
const SETS: u64 = 0x7365_7473;

impl Generator {
    /// Adds commands for pre-warming to one case of three.
    pub(super) fn prewarming(&mut self, seed: u64, acts: &mut Vec<(Duration, Act)>) {
        let mut dice = Self { rng: fastrand::Rng::with_seed(seed ^ DICE), faults: Vec::new(), ..*self };
        if !dice.one_in(3) {
            return;
        }
        for (_, act) in acts.iter_mut() {
            let Act::Ask(_, Command::Tune(tuning) | Command::Tuned { tuning, .. }) = act else { continue };
            dice.vary_gate(tuning);
        }
        let end = dice.calm.as_secs().max(20);
        for _ in 0..dice.rng.u32(1..6) {
            let at = dice.secs(2..end);
            let command = dice.prewarm_command();
            acts.push((at, Act::Ask(dice.rng.usize(0..3), Command::Prewarm(command))));
        }
        acts.sort_by_key(|(at, _)| *at);
        // The method has a random generator of its own, so that cases without StatefulSets stay as they were.
        dice.rng = fastrand::Rng::with_seed(seed ^ SETS);
        for (_, act) in acts.iter_mut() {
            let Act::Ask(_, Command::Prewarm(PrewarmCommand::Start { method, limits, .. })) = act else { continue };
            if dice.one_in(3) {
                *method = PrewarmMethod::StatefulSet;
                // The command would be refused if it had a limit for each site; some are left so.
                if !dice.one_in(8) {
                    limits.max_pulling_per_site = Limit::Default;
                }
            }
        }
    }

    fn vary_gate(&mut self, tuning: &mut Tuning) {
        if self.one_in(2) {
            tuning.require_image = Some(self.one_in(2));
        }
        if self.one_in(2) {
            tuning.max_pulling_per_site = Some(self.few());
        }
        tuning.site_label = self.site_label();
        tuning.pace = Some(self.pace());
    }

    fn prewarm_command(&mut self) -> PrewarmCommand {
        match self.rng.u32(0..10) {
            0 => PrewarmCommand::Pause,
            1 => PrewarmCommand::Resume,
            2 => PrewarmCommand::Retry,
            3 => PrewarmCommand::Cancel,
            _ => PrewarmCommand::Start {
                source: match self.new_image() {
                    Command::SetImage(images) if self.one_in(2) => PrewarmSource::Images(images),
                    _ => PrewarmSource::Template,
                },
                nodes: match self.rng.u32(0..4) {
                    0 => "canary=true".parse().map_or(PrewarmNodes::All, PrewarmNodes::Selector),
                    1 => PrewarmNodes::LetGo,
                    _ => PrewarmNodes::All,
                },
                limits: PrewarmLimits {
                    max_pulling: self.few(),
                    max_pulling_per_site: self.few(),
                    site_label: self.site_label(),
                    pace: self.pace(),
                },
                method: PrewarmMethod::Pods,
            },
        }
    }

    /// The label that makes sites: in one case of four `canary`, so that the nodes updated first are one site and the others another.
    fn site_label(&mut self) -> Option<SiteLabel> {
        if self.one_in(4) { "canary".parse().ok() } else { None }
    }

    fn pace(&mut self) -> Pace {
        if self.one_in(3) { Pace::Auto } else { Pace::Fixed }
    }

    fn few(&mut self) -> Limit {
        if self.one_in(2) { Limit::Default } else { Limit::At(IntOrPercent::Int(self.rng.u32(1..4))) }
    }
}
