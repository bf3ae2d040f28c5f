//! Strategy drift: after the adoption somebody changes the strategy back to `RollingUpdate` while the rollout runs.
//!
//! ```text
//! adopted ──drifted──▶ report:  pause, say who it was and how to go on
//!                      enforce: OnDelete again at once, counted ──▶ too often: pause, say who it is and how to hold it
//! ```
//!
//! From the drift until `OnDelete` is set again the controller replaces pods by itself. With `enforce`, `OnDelete` is therefore
//! set at once and reported afterwards. If somebody sets the strategy back again and again, rolldeck stops doing so and pauses,
//! because every round costs pods.

use crate::engine::machine::Engine;
use crate::engine::model::record::{Intent, ORIGINAL_STRATEGY};
use crate::engine::model::rollout_event::DriftResponse;
use crate::engine::model::settings::OnDrift;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::ownership::FIELD_MANAGER;
use crate::engine::rules::saved_strategy::saved_json;

impl Engine {
    /// Notices that the DaemonSet is adopted, or that somebody changed the strategy back.
    pub(super) fn notice_adoption(&mut self, intent: &Intent, now: Timestamp) {
        if self.is_adopted() {
            if std::mem::take(&mut self.progress.drifted) {
                self.progress.drifts.ended(self.view.server_time(now));
            }
            self.progress.adopted = true;
            // Somebody may have written something else there: what the record knows then stays.
            let readable = self.view.daemonset().filter(|daemonset| saved_json(daemonset).is_some());
            if let Some(saved) = readable.and_then(|daemonset| daemonset.annotations.get(ORIGINAL_STRATEGY)) {
                self.progress.original_strategy = Some(saved.clone());
            }
            return;
        }
        // What a watch that is down showed last may be from before the adoption that the record tells of.
        if !self.has_drifted(intent) || self.daemonset.is_patching() || !self.sees_daemonset() {
            return;
        }
        // An operator has asked for `OnDelete`, perhaps with a change of the template: it is set again, and a pause would keep that change waiting.
        if self.daemonset.brakes() {
            return;
        }
        // Nobody set it back: a pause or another change called our own release off while its patch was on its way.
        let by_us = self.view.daemonset().and_then(|daemonset| daemonset.owners.strategy.as_ref());
        if by_us.is_none_or(|manager| **manager == *FIELD_MANAGER) && self.daemonset.may_have_released() {
            return self.daemonset.set_brake(true);
        }
        if !std::mem::replace(&mut self.progress.drifted, true) {
            return self.strategy_drifted(intent, now);
        }
        // An operator resumed, or chose `enforce` only now.
        let chosen = intent.on_drift == OnDrift::EnforceOnDelete && self.progress.drifts.may_enforce(now);
        if intent.paused.is_none() || chosen {
            self.daemonset.set_brake(true);
        }
    }

    fn strategy_drifted(&mut self, intent: &Intent, now: Timestamp) {
        self.progress.drifts.began(self.view.server_time(now));
        let drifts = &self.progress.drifts;
        match intent.on_drift {
            OnDrift::EnforceOnDelete if drifts.may_enforce(now) => {
                let by = self.view.daemonset().and_then(|daemonset| daemonset.owners.strategy.clone());
                self.progress.drifts.enforced(by, now);
                self.tell_drifted(DriftResponse::Enforced);
                self.daemonset.set_brake(true);
            }
            _ if intent.paused.is_some() => self.tell_drifted(DriftResponse::Noted),
            on_drift => {
                let who = self.who_set_the_strategy().map(|by| format!(" by {by}")).unwrap_or_default();
                let why = match on_drift {
                    OnDrift::Report => format!("the update strategy was changed back{who}"),
                    OnDrift::EnforceOnDelete => format!(
                        "the update strategy was changed back{who} though OnDelete was set again {} times",
                        drifts.rounds(now)
                    ),
                };
                self.tell_drifted(DriftResponse::Paused);
                self.pause(why, now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
