//! The update strategy: what rolldeck saves and restores of it, and what it does about whoever sets it back.

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

/// A driver notices a drift at once, and has it in the record as soon as others let it. Longer than a driver that
/// was killed over it counts as alive.
pub(super) const NOTICED: Duration = Duration::from_secs(9);
/// The same where the network loses what it sends.
pub(super) const NOTICED_LATE: Duration = Duration::from_secs(20);

/// Whether a rollout was taken over by this record, goes on, and knows nothing of a strategy that was set back.
fn knows_no_drift(record: &Record) -> bool {
    let (intent, progress) = (&record.intent, &record.progress);
    progress.adopted && !progress.drifted && intent.paused.is_none() && intent.releasing.is_none()
}

impl Observer {
    /// P9: what rolldeck saves is what was there, and what it leaves behind is what it saved.
    pub(super) fn strategy_moves(&mut self, change: &StoreChange) {
        let Some(fact) = change.object.daemon_set_fact() else { return };
        let saved = |object: &Object| -> Option<serde_json::Value> {
            serde_json::from_str(object.meta.annotations.get(ORIGINAL_STRATEGY)?).ok()
        };
        let before = change.before.as_deref();
        let was = || before.and_then(Object::daemon_set_fact).map(|before| before.strategy.raw);
        let under_a_rollout = || {
            // What is recorded of another DaemonSet of that name is no rollout of this one.
            let is_ours = |record: &&Record| record.daemonset_uid.as_ref().is_none_or(|uid| *uid == fact.uid);
            let progress =
                |record: &Option<Record>| record.as_ref().filter(is_ours).map(|record| record.progress.clone());
            self.records.values().all(|record| progress(record).is_some_and(|past| past.adopted || past.drifted))
        };
        let is_left_alone = |fact: &DaemonSetFact| {
            fact.strategy.kind == StrategyKind::RollingUpdate && was().as_ref() == Some(&fact.strategy.raw)
        };
        match (before.and_then(saved), saved(&change.object)) {
            (None, Some(original)) if was().as_ref() != Some(&original) => {
                let what = format!("saved {original} as the original strategy, which was {:?}", was());
                self.report_violation("P9", change.at, what);
            }
            // Whoever set it back meanwhile is to have it as they set it.
            (Some(original), None) if fact.strategy.raw != original && !is_left_alone(&fact) => {
                let what = format!("left {} behind, the original strategy was {original}", fact.strategy.raw);
                self.report_violation("P9", change.at, what);
            }
            // Under one rollout the first original stays; where its record is gone, what somebody set since is it.
            (Some(original), Some(now)) if original != now && (under_a_rollout() || was().as_ref() != Some(&now)) => {
                let what = format!("forgot that the original strategy was {original}: now it is said to be {now}");
                self.report_violation("P9", change.at, what);
            }
            _ => {}
        }
    }

    /// P3: where a strategy that was set back is to be reported, it is not set again silently: `OnDelete` is set again when
    /// an operator asks for it, and the record says so first.
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

    /// P3: what rolldeck writes takes no DaemonSet off `OnDelete` that it goes on holding, whatever admission makes of the write.
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

    /// P3: who drives notices that the strategy was set back, and the record says so, unless some console could not see
    /// everything until then.
    pub(in crate::sim::attack) fn check_drift(&mut self, now: Timestamp) {
        let noticed = self.slack + self.drift_takes;
        if now < self.blind_until + noticed {
            return;
        }
        let alive = |driver: &Driving| driver.since + noticed < now && driver.is_alive(now);
        let drifted = self.rolling_since.filter(|since| *since + noticed < now);
        let Some(since) = drifted.filter(|_| self.driver.as_ref().is_some_and(alive)) else { return };
        let unnoticed = self.records.values().all(|record| record.as_ref().is_some_and(knows_no_drift));
        // Under one that is being deleted nothing is done any more, by its controller neither.
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
