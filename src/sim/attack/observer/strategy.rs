//! The update strategy: how rolldeck saves and restores it, and how it reacts when somebody sets it back.

use std::time::Duration;

use super::Observer;
use super::record::Driving;
use crate::engine::model::facts::{DaemonSetFact, StrategyKind};
use crate::engine::model::record::{ORIGINAL_STRATEGY, Record};
use crate::engine::model::settings::OnDrift;
use crate::engine::model::time::Timestamp;
use crate::sim::attack::api_client::MANAGER;
use crate::sim::world::object::Object;
use crate::sim::world::store::StoreChange;

/// The time within which the record must say that the strategy drifted. It is longer than the time for which a killed driver counts as
/// alive.
pub(super) const NOTICED: Duration = Duration::from_secs(9);
/// The same for a network that loses messages.
pub(super) const NOTICED_LATE: Duration = Duration::from_secs(20);

/// Whether the rollout of this record is adopted and goes on, and the record does not say that the strategy was set back.
fn knows_no_drift(record: &Record) -> bool {
    let (intent, progress) = (&record.intent, &record.progress);
    progress.adopted && !progress.drifted && intent.paused.is_none() && intent.releasing.is_none()
}

impl Observer {
    /// P9: rolldeck saves the strategy that the DaemonSet had, and restores exactly this one.
    pub(super) fn strategy_moves(&mut self, change: &StoreChange) {
        let Some(fact) = change.object.daemon_set_fact() else { return };
        let saved = |object: &Object| -> Option<serde_json::Value> {
            serde_json::from_str(object.meta.annotations.get(ORIGINAL_STRATEGY)?).ok()
        };
        let before = change.before.as_deref();
        let was = || before.and_then(Object::daemon_set_fact).map(|before| before.strategy.raw);
        let under_a_rollout = || {
            // The record of another DaemonSet of the same name is no rollout of this one.
            let is_ours = |record: &&Record| record.daemonset_uid.as_ref().is_none_or(|uid| *uid == fact.uid);
            let progress =
                |record: &Option<Record>| record.as_ref().filter(is_ours).map(|record| record.progress.clone());
            self.records.values().all(|record| progress(record).is_some_and(|past| past.adopted || past.drifted))
        };
        let is_left_alone = |fact: &DaemonSetFact| {
            fact.strategy.kind == StrategyKind::RollingUpdate && was().as_ref() == Some(&fact.strategy.raw)
        };
        // A DaemonSet of an adopted rollout was found with `OnDelete` and without the annotation: somebody removed the annotation, or set `OnDelete`
        // after a release that was called off. The record knows which strategy the rollout began with.
        let is_recorded = |original: &serde_json::Value| {
            let recorded = |record: &Option<Record>| {
                let text = record.as_ref().and_then(|record| record.progress.original_strategy.as_deref());
                text.and_then(|text| serde_json::from_str(text).ok())
            };
            let was_on_delete = was().is_some_and(|was| was["type"] == "OnDelete");
            was_on_delete && self.records.values().any(|record| recorded(record).as_ref() == Some(original))
        };
        match (before.and_then(saved), saved(&change.object)) {
            (None, Some(original)) if was().as_ref() != Some(&original) && !is_recorded(&original) => {
                let what = format!("saved {original} as the original strategy, which was {:?}", was());
                self.report_violation("P9", change.at, what);
            }
            // If somebody set the strategy back meanwhile, theirs stays.
            (Some(original), None) if fact.strategy.raw != original && !is_left_alone(&fact) => {
                let what = format!("left {} behind, the original strategy was {original}", fact.strategy.raw);
                self.report_violation("P9", change.at, what);
            }
            // During a rollout the saved strategy must not change. If the record is gone, the strategy that somebody set since may be saved.
            (Some(original), Some(now)) if original != now && (under_a_rollout() || was().as_ref() != Some(&now)) => {
                let what = format!("forgot that the original strategy was {original}: now it is said to be {now}");
                self.report_violation("P9", change.at, what);
            }
            _ => {}
        }
    }

    /// P3: if drifts are to be reported, rolldeck sets `OnDelete` again only when an operator requests it, and the record says so first.
    pub(super) fn check_enforcement(&mut self, change: &StoreChange) {
        let Some((was, now)) =
            change.before.as_deref().and_then(Object::daemon_set_fact).zip(change.object.daemon_set_fact())
        else {
            return;
        };
        let set_again = was.strategy.kind == StrategyKind::RollingUpdate && now.strategy.kind == StrategyKind::OnDelete;
        let ours = now.owners.strategy.as_deref() == Some(MANAGER);
        let quiet = self.last_command_at.max(self.blind_until) + self.slack + self.drift_takes < change.at;
        if !set_again || !ours || !quiet {
            return;
        }
        let in_silence = self.records.values().all(|record| {
            record.as_ref().is_some_and(|record| record.intent.on_drift == OnDrift::Report && knows_no_drift(record))
        });
        if in_silence {
            self.report_violation(
                "P3",
                change.at,
                "OnDelete was set again, and nobody is told that it had been set back".to_owned(),
            );
        }
    }

    /// P3: no write of rolldeck takes a DaemonSet that rolldeck still holds off `OnDelete`, whatever admission makes of the write.
    pub(super) fn check_kept(&mut self, change: &StoreChange) {
        let Some((was, now)) =
            change.before.as_deref().and_then(Object::daemon_set_fact).zip(change.object.daemon_set_fact())
        else {
            return;
        };
        let set_back = was.strategy.kind == StrategyKind::OnDelete && now.strategy.kind == StrategyKind::RollingUpdate;
        let ours = now.owners.strategy.as_deref() == Some(MANAGER);
        if set_back && ours && now.annotations.get(ORIGINAL_STRATEGY).is_some() {
            let what = "a write of rolldeck's set RollingUpdate, and it is not released";
            self.report_violation("P3", change.at, what.to_owned());
        }
    }

    /// P3: the driver notices that the strategy was set back, and the record says so, unless some console could not see everything.
    pub(in crate::sim::attack) fn check_drift(&mut self, now: Timestamp) {
        let noticed = self.slack + self.drift_takes;
        if now < self.blind_until + noticed {
            return;
        }
        let alive = |driver: &Driving| driver.since + noticed < now && driver.is_alive(now);
        let drifted = self.rolling_since.filter(|since| *since + noticed < now);
        let Some(since) = drifted.filter(|_| self.driver.as_ref().is_some_and(alive)) else { return };
        let unnoticed = self.records.values().all(|record| record.as_ref().is_some_and(knows_no_drift));
        // While the DaemonSet is being deleted, neither rolldeck nor its controller does anything more.
        if unnoticed && !self.is_being_deleted {
            let secs = now.since(since).as_secs();
            self.report_violation(
                "P3",
                now,
                format!("the strategy was set back {secs} s ago, and the record does not say so"),
            );
        }
    }
}
