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

use std::time::Duration;

use super::machine::Engine;
use super::model::Str;
use super::model::command::Command;
use super::model::facts::StrategyKind;
use super::model::record::{Intent, OnDrift, StrategyDrifts};
use super::model::rollout_event::DriftResponse;
use super::model::time::Timestamp;
use super::ownership::{gitops_owner_of, writer_words};
use super::snapshot::Alarm;

/// Drifts within this long are one fight.
pub(crate) const FIGHT: Duration = Duration::from_secs(600);
/// How often `OnDelete` is set again in one fight.
pub(crate) const ROUNDS: u32 = 5;

impl StrategyDrifts {
    /// How often `OnDelete` was set again in the fight that is on at `now`.
    pub(crate) fn rounds(&self, now: Timestamp) -> u32 {
        let lately = self.lately.iter().filter(|at| now.since(**at) < FIGHT);
        u32::try_from(lately.count()).unwrap_or(u32::MAX)
    }

    fn may_enforce(&self, now: Timestamp) -> bool {
        self.rounds(now) < ROUNDS
    }

    fn enforced(&mut self, by: Option<Str>, now: Timestamp) {
        self.lately.retain(|at| now.since(*at) < FIGHT);
        self.lately.push(now);
        self.by = by;
    }

    /// When the oldest of them is no longer counted.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        self.lately.iter().map(|at| *at + FIGHT)
    }
}

impl Engine {
    /// Notices that the DaemonSet is adopted, or that somebody changed the strategy back.
    pub(crate) fn notice_adoption(&mut self, intent: &Intent, now: Timestamp) {
        if self.is_adopted() {
            self.progress.drifted = false;
            self.progress.adopted = true;
            return;
        }
        if !self.has_drifted(intent) || self.patching.is_some() {
            return;
        }
        if !std::mem::replace(&mut self.progress.drifted, true) {
            return self.strategy_drifted(intent, now);
        }
        // An operator resumed, or chose `enforce` only now.
        let chosen = intent.on_drift == OnDrift::EnforceOnDelete && self.progress.drifts.may_enforce(now);
        self.brake |= intent.paused.is_none() || chosen;
    }

    fn strategy_drifted(&mut self, intent: &Intent, now: Timestamp) {
        let drifts = &self.progress.drifts;
        match intent.on_drift {
            OnDrift::EnforceOnDelete if drifts.may_enforce(now) => {
                let by = self.view.daemonset.as_ref().and_then(|daemonset| daemonset.owners.strategy.clone());
                self.progress.drifts.enforced(by, now);
                self.tell_drifted(DriftResponse::Enforced);
                self.brake = true;
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

    /// Whether the strategy was changed back by somebody else, and still is.
    pub(crate) fn has_drifted(&self, intent: &Intent) -> bool {
        let there = self.view.daemonset.is_some();
        there && self.progress.adopted && intent.releasing.is_none() && self.strategy() == StrategyKind::RollingUpdate
    }

    /// Whether this command sets `OnDelete` again after a drift: then it does not wait for the holder of the lease.
    pub(crate) fn takes_back(&self, command: &Command) -> bool {
        *command == Command::Adopt && self.recorded_intent().is_some_and(|intent| self.has_drifted(&intent))
    }

    fn who_set_the_strategy(&self) -> Option<Str> {
        self.who(self.view.daemonset.as_ref()?.owners.strategy.as_ref()?)
    }

    /// Who changed the template last, with the tool behind the name.
    pub(crate) fn who_set_the_template(&self) -> Option<Str> {
        self.who(self.view.daemonset.as_ref()?.owners.template.as_ref()?)
    }

    fn who(&self, manager: &Str) -> Option<Str> {
        Some(writer_words(manager, &self.view.gitops_owners).into())
    }

    /// How to keep the tool behind this field manager from acting, where that is known.
    fn holding(&self, manager: Option<&Str>) -> Option<Str> {
        gitops_owner_of(manager?, &self.view.gitops_owners)?.holding().map(Str::from)
    }

    /// The alarm for a strategy that has drifted, or had until `OnDelete` was set again.
    pub(crate) fn drift_alarm(&self, intent: &Intent, now: Timestamp) -> Option<Alarm> {
        let drifts = &self.progress.drifts;
        let enforced = drifts.rounds(now);
        let owners = self.view.daemonset.as_ref().map(|daemonset| &daemonset.owners);
        if self.has_drifted(intent) {
            // It is not paused, so `OnDelete` is about to be set again.
            let enforced = enforced.saturating_sub(u32::from(intent.paused.is_none()));
            let holding = self.holding(owners.and_then(|owners| owners.strategy.as_ref()));
            return Some(Alarm::StrategyDrifted { by: self.who_set_the_strategy(), enforced, holding });
        }
        (enforced > 0).then(|| Alarm::OnDeleteEnforced {
            by: drifts.by.as_ref().and_then(|by| self.who(by)),
            times: enforced,
            holding: self.holding(drifts.by.as_ref()),
        })
    }

    /// The alarm for a template that somebody else changed.
    pub(crate) fn template_alarm(&self) -> Alarm {
        let owners = self.view.daemonset.as_ref().map(|daemonset| &daemonset.owners);
        let holding = self.holding(owners.and_then(|owners| owners.template.as_ref()));
        Alarm::TemplateChanged { by: self.who_set_the_template(), holding }
    }
}

#[cfg(test)]
mod tests;
