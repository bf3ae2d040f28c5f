//! The gates and policies in one sentence.

use std::fmt;

use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{Direction, HaltingGate};
use crate::engine::model::settings::{
    Finish, NodeOrder, OnDrift, OnFailure, Policies, PrewarmAhead, Secs, Setting, SettingRole, Settings,
};
use crate::engine::report::snapshot::Snapshot;

/// The gates for which [`Gating`] has words of its own. Any other gate is told by its name.
const IN_OTHER_WORDS: [Setting; 7] = [
    Setting::FailureThreshold,
    Setting::ProgressDeadline,
    Setting::MaxRestarts,
    Setting::Soak,
    Setting::SuspectGrace,
    Setting::RequireImage,
    Setting::OnFailure,
];

/// See [`Snapshot::gating`].
#[derive(Clone, Copy, Debug)]
pub struct Gating<'a>(pub(super) &'a Snapshot);

impl fmt::Display for Gating<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every setting is told here or shown elsewhere: the budgets have a line of their own.
        let Settings { budgets: _, gates, policies } = &self.0.settings;
        // The steps are on a line of their own.
        let Policies { steps: _, prewarm, on_drift, order, finish } = *policies;
        if self.0.direction == Direction::Back {
            return f.write_str("none on the way back: nothing soaks, and nothing halts it");
        }
        HaltsWhen(self.0).fmt(f)?;
        // Gates without words of their own here are told if they differ from the default; those that halt are told by `HaltsWhen`.
        let halts = |gate: &Setting| matches!(gate.about().role, SettingRole::Halts(_));
        let others = Setting::gates().filter(|gate| !IN_OTHER_WORDS.contains(gate) && !halts(gate));
        for gate in others.filter(|gate| gate.is_changed_in(&self.0.settings)) {
            write!(f, "; {}", gate.in_words(&self.0.settings))?;
        }
        if gates.require_image {
            f.write_str("; images are brought to a node first")?;
        }
        f.write_str(match prewarm {
            PrewarmAhead::Off => "",
            PrewarmAhead::Step => "; images are pre-warmed one step ahead",
            PrewarmAhead::All => "; images are pre-warmed on all nodes, whatever the steps",
        })?;
        if gates.soak_secs > Secs(0) {
            write!(f, "; a new pod has to stay ready for {}", gates.soak_secs)?;
        }
        f.write_str(match on_drift {
            OnDrift::Report => "; pauses where somebody changes the update strategy",
            OnDrift::EnforceOnDelete => "; sets OnDelete again where somebody changes the update strategy",
        })?;
        f.write_str(match order {
            NodeOrder::Name => "",
            NodeOrder::BySite => "; one site after the other",
            NodeOrder::Spread => "; a node of each site in turn",
        })?;
        match finish {
            Finish::Release => Ok(()),
            Finish::Keep => f.write_str("; kept at the end"),
        }
    }
}

/// See [`Snapshot::halts_when`].
#[derive(Clone, Copy, Debug)]
pub struct HaltsWhen<'a>(pub(super) &'a Snapshot);

impl fmt::Display for HaltsWhen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gates = &self.0.settings.gates;
        if self.0.direction == Direction::Back {
            return f.write_str("does not halt on the way back, whatever fails");
        }
        let then = match gates.on_failure {
            OnFailure::Halt => "halts",
            OnFailure::RollBack => "rolls back",
        };
        let failed = match gates.failure_threshold {
            IntOrPercent::Int(1) => "1 node has failed".to_owned(),
            IntOrPercent::Int(nodes) => format!("{nodes} nodes have failed"),
            IntOrPercent::Percent(_) => format!("{} of the nodes have failed", gates.failure_threshold),
        };
        write!(f, "{then} once {failed} (pod not available in {}", gates.progress_deadline_secs)?;
        write!(f, ", more than {} restarts, or node down for {})", gates.max_restarts, gates.suspect_grace_secs)?;
        let goes_back = |halts: HaltingGate| halts.goes_back(gates);
        for gate in Setting::gates().filter(|gate| !IN_OTHER_WORDS.contains(gate)) {
            let SettingRole::Halts(halts) = gate.about().role else { continue };
            // One that is on is named, also where that is its default; one that is off only where that was set.
            if halts.is_off(gates) {
                if gate.is_changed_in(&self.0.settings) {
                    write!(f, "; not halted by {}", gate.in_words(&self.0.settings))?;
                }
            } else {
                let same = goes_back(halts) == goes_back(HaltingGate::FailureThreshold);
                let at = match (same, goes_back(halts)) {
                    (true, _) => "or at",
                    (false, true) => "rolls back at",
                    (false, false) => "halts at",
                };
                write!(f, "; {at} {}", gate.in_words(&self.0.settings))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};

    /// Where a setting is told that the sentence about gates leaves out; `None`: the sentence tells it.
    fn told_elsewhere(setting: Setting) -> Option<&'static str> {
        match (setting, setting.about().role) {
            (Setting::Steps, _) => Some("the plan has a line of its own"),
            (_, SettingRole::Limits) => Some("the budgets have lines of their own"),
            _ => None,
        }
    }

    #[test]
    fn a_setting_that_is_not_as_by_default_is_seen_in_the_sentence_about_gates() {
        let fake = FakeCluster::rolling(1, 1);
        let mut snapshot = FakeConsole::open(&fake, "ops").snapshot(&fake);
        snapshot.settings = Settings::default();
        let usual = snapshot.gating().to_string();
        let usual_halt = snapshot.halts_when().to_string();
        for setting in Setting::ALL {
            snapshot.settings = Settings::default();
            setting.another().apply_to(&mut snapshot.settings);
            let said = snapshot.gating().to_string();
            assert_eq!(said == usual, told_elsewhere(*setting).is_some(), "{setting:?}: {said}");
            // Whoever drives is asked with these words alone.
            let halts = snapshot.halts_when().to_string();
            let is_in_it = matches!(setting.about().role, SettingRole::Halts(_) | SettingRole::FailsANode)
                || *setting == Setting::OnFailure;
            assert_eq!(halts != usual_halt, is_in_it, "{setting:?}: {halts}");
            let named = setting.in_words(&snapshot.settings);
            assert!(said.matches(&*named).count() <= 1, "{setting:?} is told twice: {said}");
        }
    }
}
