//! The effects of a change of settings: each setting that changes, and the consequences for nodes that are under way.

use std::borrow::Cow;
use std::time::Duration;

use super::allowance::counted_are;
use crate::engine::assess::plan::{Limits, RolloutHold, budget};
use crate::engine::assess::rows::{Assessment, Row};
use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::budget::BudgetView;
use crate::engine::model::command::Command;
use crate::engine::model::first_names::first_names;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::{Direction, HaltingGate, Intent};
use crate::engine::model::settings::{OnDrift, Setting, SettingRole, Tuning};
use crate::engine::model::step_ahead::NothingRecorded;
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::rules::strategy_drift::{FIGHT, ROUNDS};

/// Shown if another budget changes the limit of pulls.
pub(super) const PULLS_FOLLOW: &str = "max pulling is not set: it follows max unavailable";

/// Shown of a gate that a change of settings turns off.
const NO_HALT_BY_IT: &str = "It is off then: it halts nothing.";

impl Engine {
    /// The operator's own defaults, if these edits begin a record: those that have an effect on what is begun, and for a roll back those that have none.
    pub(super) fn begins_with_in_words(&self, edits: &[Edit], goes_back: bool) -> Vec<String> {
        let Some(defaults) = self.begins_with(edits) else { return Vec::new() };
        let counts = |setting: Setting| !goes_back || setting.counts_on_the_way_back();
        let (with, without) = (defaults.typed(counts), defaults.typed(|setting| !counts(setting)));
        let what = if goes_back { "roll back" } else { "rollout" };
        let begins = (!with.is_empty())
            .then(|| format!("The {what} begins with these defaults in place of rolldeck's own: {with}."));
        let is = if without.contains(' ') { "are" } else { "is" };
        let later = (!without.is_empty()).then(|| {
            format!(
                "A roll back has no steps, and no gate halts it: {without} {is} recorded for a rollout that follows."
            )
        });
        begins.into_iter().chain(later).collect()
    }

    /// The limits from now on, if a command changes them, and a note that nodes under way beyond a limit go on.
    pub(super) fn limits_from_now_on(&self, command: &Command, limits: &Limits) -> Vec<String> {
        let tuning = command.tuning();
        let before = self.intent().settings();
        let limits_it = |setting: &Setting| setting.about().role == SettingRole::Limits;
        if !tuning.changed(&before).any(|setting| limits_it(&setting)) {
            return Vec::new();
        }
        let mut lines = vec![format!("From now on {}.", limits.pace_in_words())];
        let under_way = [
            (self.budget.charged, limits.max_unavailable, "down", "no further node is taken down"),
            (self.budget.pulling, limits.max_pulling, "pulling", "no further node begins to pull"),
        ];
        for (now, most, what, waits) in under_way {
            if self.is_recorded() && now > most {
                let now = counted_are(now as usize);
                let few = if most <= 1 { "none is".to_owned() } else { format!("fewer than {most} are") };
                lines.push(format!("{now} {what} now: what is under way goes on, and {waits} before {few}."));
            }
        }
        lines
    }

    /// The nodes that go at once by a change of settings after which the intent is `after`, in order. A driver would not replace their pods
    /// yet under the settings until now.
    pub(super) fn more_go_at_once(&self, after: &Intent, now: Timestamp) -> Vec<Str> {
        if !self.is_recorded() {
            return Vec::new();
        }
        let soaked = self.soaked_by(after, now);
        let limits = Limits::of(&self.view, after, &soaked);
        let budget = budget(&soaked, &limits, after.budgets.strict);
        // A driver that is not seen may live all the same: what it would do is told before somebody agrees to it.
        let would_go = |assessment: &Assessment, limits: &Limits, budget: &BudgetView, intent: &Intent| {
            let hold = match self.rollout_hold(intent, now) {
                RolloutHold::Held(Hold::NobodySeenDriving) => RolloutHold::None,
                hold => hold,
            };
            self.plan_of(assessment, limits, budget, intent, &hold, now).next
        };
        let goes_anyway = match self.rollout_hold(&self.intent(), now) {
            RolloutHold::Held(Hold::NobodySeenDriving) => {
                let intent = self.intent();
                let limits = Limits::of(&self.view, &intent, &self.assessment);
                would_go(&self.assessment, &limits, &self.budget, &intent)
            }
            _ => self.plan.next.clone(),
        };
        let next = would_go(&soaked, &limits, &budget, after);
        let more = next.into_iter().filter(|node| !goes_anyway.contains(node));
        more.filter_map(|node| self.assessment.row(node)).map(|row| self.name(row)).collect()
    }

    /// The fleet as it is with the soak time of `after`: where that is shorter, nodes that soak now have soaked for long enough.
    fn soaked_by(&self, after: &Intent, now: Timestamp) -> Assessment {
        let min_ready = self.view.daemonset().map_or(0, |daemonset| daemonset.min_ready_secs);
        let needed = min_ready.max(after.soak_secs());
        self.assessment.with(|row| {
            let soaks = row.available_at.as_ref().filter(|_| row.at_target && row.state == NodeState::Soaking);
            let sooner = soaks.map(|soaks| (soaks.ends_at, soaks.secs.saturating_sub(needed)));
            if sooner.is_some_and(|(ends_at, sooner)| ends_at <= now + Duration::from_secs(sooner.into())) {
                (row.available, row.blame, row.state) = (true, None, NodeState::Updated);
            }
        })
    }

    /// `3 updated nodes soak anew, and count as updated once they have been ready for 10m`: the nodes that are at the new revision and ready, and
    /// for which the soak time of a record that is begun anew, with the intent `after`, is not over as far as is known.
    pub(super) fn soaking_anew_in_words(&self, after: &Intent) -> Option<String> {
        let known = self.assessed_intent().map_or_else(|| self.intent_to_begin_with(), Cow::into_owned);
        let longer = after.soak_secs() > known.soak_secs();
        let soaks = |row: &Row| row.at_target && row.ready && (longer || row.available_at.is_some());
        let soak = ShortDuration(Duration::from_secs(after.soak_secs().into()));
        match self.count_rows(soaks) {
            0 => None,
            1 => Some(format!("1 updated node soaks anew, and counts as updated once it has been ready for {soak}.")),
            nodes => Some(format!(
                "{nodes} updated nodes soak anew, and count as updated once they have been ready for {soak}."
            )),
        }
    }

    /// The lines about nodes that go at once by a change of settings, and about what is known of the revision that they get.
    pub(super) fn going_at_once_in_words(&self, nodes: &[Str]) -> Vec<String> {
        let go = match nodes {
            [] => return Vec::new(),
            [name] => format!("1 node more goes at once: {name}."),
            names => {
                format!("{} nodes more go at once: {}.", names.len(), first_names(names.iter().map(|name| &**name)))
            }
        };
        // Where a node has the new revision and others fail at it, the plan holds the nodes that serve.
        std::iter::once(go).chain(self.unproven_in_words()).collect()
    }

    /// The effects of a change of budgets and gates, one line each.
    pub(super) fn tuning_in_words(&self, tuning: &Tuning, limits: &Limits) -> Vec<String> {
        if tuning.is_empty() {
            return Vec::new();
        }
        let intent = self.intent();
        let before = intent.settings();
        let mut lines = tuning.changes_with_meaning(&before, self.assessment.fleet);
        if lines.is_empty() {
            let line = match (self.nothing_recorded(), self.is_recorded()) {
                (NothingRecorded::AnyMore | NothingRecorded::Readable | NothingRecorded::OfThisDaemonSet, false) => {
                    "Records the rollout anew with the settings that are shown."
                }
                _ if intent.has_lost_limits() => "No value changes.",
                _ => "Nothing changes: it is so already.",
            };
            lines.push(line.into());
        }
        lines.extend(self.confirmed_in_words(tuning).map(|confirmed| {
            format!(
                "The limits of the lost record are not known; with this the values in force are confirmed: {confirmed}."
            )
        }));
        // The pull limit changes as well, although nobody asked for that.
        let pulled = Limits::of(&self.view, &intent, &self.assessment).max_pulling;
        if self.pulls_follow(tuning) && pulled != limits.max_pulling {
            lines.push(format!("pull limit: {pulled} → {} (follows max unavailable)", limits.max_pulling));
        }
        lines.extend(tuning.site_label.as_ref().and_then(|label| self.sites_in_words(label)));
        let desired = self.assessment.desired;
        if tuning.max_unavailable.is_some() && self.may_all_be_down(limits) {
            lines.push(format!("Every one of the {desired} nodes may be down at once."));
        } else if self.may_most_be_down(tuning, limits) {
            let most = limits.max_unavailable;
            lines.push(format!("More than half of the nodes may be down at once: {most} of {desired}."));
        }
        lines.extend(self.gates_from_now_on(tuning, &intent));
        lines.extend(tuning.on_drift.map(|on_drift| self.drift_in_words(on_drift, &intent)));
        lines
    }

    /// What becomes of a strategy that somebody sets back, or has set back already. A driver does that: a one-shot command only records it.
    fn drift_in_words(&self, on_drift: OnDrift, intent: &Intent) -> String {
        let rounds = format!("{ROUNDS} times in {} at most", ShortDuration(FIGHT));
        match on_drift {
            OnDrift::EnforceOnDelete if self.has_drifted(intent) => {
                format!(
                    "The update strategy is changed back already: whoever drives sets OnDelete again at once, {rounds}."
                )
            }
            OnDrift::EnforceOnDelete => {
                format!("If the update strategy is changed back, whoever drives sets OnDelete again at once, {rounds}.")
            }
            OnDrift::Report => {
                "If the update strategy is changed back, whoever drives pauses the rollout and says who it was."
                    .to_owned()
            }
        }
    }

    /// That nothing is done about a strategy that is set back, because nobody drives.
    pub(super) fn undriven_drift_in_words(&self, tuning: &Tuning) -> Option<String> {
        Some(match tuning.on_drift? {
            OnDrift::EnforceOnDelete => "Nobody drives: OnDelete is not set again before somebody does.".to_owned(),
            OnDrift::Report => "Nobody drives: nothing is paused before somebody does.".to_owned(),
        })
    }

    /// The values that a change of settings leaves as they are, and confirms: those of a record that was begun anew, because one named
    /// value confirms all of them. `None` where nothing is to be confirmed.
    pub(super) fn confirmed_in_words(&self, tuning: &Tuning) -> Option<String> {
        let before = self.intent();
        if tuning.is_empty() || !before.has_lost_limits() {
            return None;
        }
        let mut after = before.clone();
        after.tune(tuning);
        let limits = Limits::of(&self.view, &after, &self.assessment);
        let (before, after) = (before.settings(), after.settings());
        let kept = Setting::ALL.iter().filter(|setting| setting.value(&before) == setting.value(&after));
        let words = kept.map(|setting| {
            let (name, value) = (setting.name().replace('-', " "), setting.value(&after));
            match setting {
                Setting::MaxUnavailable => format!("{name} {value} ({})", limits.max_unavailable),
                Setting::MaxPulling => format!("{name} {value} ({})", limits.max_pulling),
                _ => format!("{name} {value}"),
            }
        });
        Some(words.collect::<Vec<_>>().join(", "))
    }

    /// Whether another budget changes how many may pull at once, because no limit of pulls is set.
    pub(super) fn pulls_follow(&self, tuning: &Tuning) -> bool {
        let before = self.intent();
        let mut after = before.clone();
        after.tune(tuning);
        after.budgets.max_pulling.is_default() && after.budgets.max_unavailable != before.budgets.max_unavailable
    }

    /// The consequences of changed gates for nodes that are on their way, or that have failed.
    fn gates_from_now_on(&self, tuning: &Tuning, intent: &Intent) -> Vec<String> {
        if !self.is_recorded() {
            return Vec::new();
        }
        let moving = self.count_rows(|row| row.in_fleet && row.state.is_moving()) as usize;
        let roles: Vec<SettingRole> = tuning.changed(&intent.settings()).map(|setting| setting.about().role).collect();
        let judges = roles.iter().any(|role| matches!(role, SettingRole::FailsANode | SettingRole::Delays));
        let mut after = intent.clone();
        after.tune(tuning);
        let mut lines = Vec::new();
        let soaks = tuning.changed(&intent.settings()).any(|setting| setting == Setting::Soak);
        if soaks && intent.direction() == Direction::Back && !self.is_over() {
            lines.push(
                "No pod soaks on the way back: it counts from the next rollout on, where the record is kept."
                    .to_owned(),
            );
        }
        if judges && moving > 0 {
            lines.push(format!("{} on their way now, and judged by it as well.", counted_are(moving)));
        }
        if after.soak_secs() > intent.soak_secs() && after.direction() == Direction::Forward {
            lines.extend(self.soak_again_in_words(&after));
        }
        if roles.contains(&SettingRole::Holds) && moving > 0 {
            lines.push(format!("{} on their way now: it counts for those that follow.", counted_are(moving)));
        }
        let halting: Vec<HaltingGate> = roles
            .into_iter()
            .filter_map(|role| if let SettingRole::Halts(gate) = role { Some(gate) } else { None })
            .collect();
        if halting.is_empty() {
            return lines;
        }
        if after.direction() == Direction::Back {
            lines.push("Nothing halts it on the way back.".to_owned());
        } else if self.is_halted(intent) {
            lines.push("It is halted, and stays so until it is resumed.".to_owned());
        } else {
            lines.extend(halting.into_iter().map(|gate| match gate.is_off(&after.gates) {
                true => NO_HALT_BY_IT.to_owned(),
                false => self.halts_from_now_on(gate, &after),
            }));
        }
        lines
    }
}
