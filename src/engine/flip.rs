//! Taking over, and somebody who takes it back: a strategy that is changed back to `RollingUpdate` while a rollout runs.
//!
//! ```text
//! adopted ──flipped──▶ report:  pause, say who it was and how to go on
//!                      rebrake: OnDelete again at once, counted ──▶ too often: pause, say who it is and how to hold it
//! ```
//!
//! From the flip until `OnDelete` is set again the controller replaces pods by itself. So a re-brake comes first and is
//! said afterwards; but whoever sets it back every few seconds is not fought: each round costs pods.

use std::time::Duration;

use super::Str;
use super::command::Command;
use super::facts::StrategyKind;
use super::happening::AfterFlip;
use super::machine::Engine;
use super::ownership::{keeper_of, writer_words};
use super::record::{Flips, Intent, OnFlip};
use super::snapshot::Alarm;
use super::time::Timestamp;

/// Flips within this long are one fight.
pub(crate) const FIGHT: Duration = Duration::from_secs(600);
/// So often in one fight `OnDelete` is set again.
pub(crate) const ROUNDS: u32 = 5;

impl Flips {
    /// How often `OnDelete` was set again in the fight that is on at `now`.
    pub(crate) fn rounds(&self, now: Timestamp) -> u32 {
        let lately = self.lately.iter().filter(|at| now.since(**at) < FIGHT);
        u32::try_from(lately.count()).unwrap_or(u32::MAX)
    }

    fn may_rebrake(&self, now: Timestamp) -> bool {
        self.rounds(now) < ROUNDS
    }

    fn rebraked(&mut self, by: Option<Str>, now: Timestamp) {
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
            self.progress.flipped = false;
            self.progress.adopted = true;
            return;
        }
        if !self.is_flipped(intent) || self.patching.is_some() {
            return;
        }
        if !std::mem::replace(&mut self.progress.flipped, true) {
            return self.strategy_was_flipped(intent, now);
        }
        // An operator goes on, or chose to re-brake only now.
        let chosen = intent.on_flip == OnFlip::Rebrake && self.progress.flips.may_rebrake(now);
        self.brake |= intent.paused.is_none() || chosen;
    }

    fn strategy_was_flipped(&mut self, intent: &Intent, now: Timestamp) {
        let flips = &self.progress.flips;
        match intent.on_flip {
            OnFlip::Rebrake if flips.may_rebrake(now) => {
                let by = self.view.daemonset.as_ref().and_then(|daemonset| daemonset.owners.strategy.clone());
                self.progress.flips.rebraked(by, now);
                self.tell_flipped(AfterFlip::Rebraked);
                self.brake = true;
            }
            _ if intent.paused.is_some() => self.tell_flipped(AfterFlip::Noted),
            on_flip => {
                let who = self.who_set_the_strategy().map(|by| format!(" by {by}")).unwrap_or_default();
                let why = match on_flip {
                    OnFlip::Report => format!("the update strategy was changed back{who}"),
                    OnFlip::Rebrake => format!(
                        "the update strategy was changed back{who} though it was re-braked {} times",
                        flips.rounds(now)
                    ),
                };
                self.tell_flipped(AfterFlip::Paused);
                self.pause(why, now);
            }
        }
    }

    /// Whether the strategy was changed back by somebody else, and still is.
    pub(crate) fn is_flipped(&self, intent: &Intent) -> bool {
        let there = self.view.daemonset.is_some();
        there && self.progress.adopted && intent.releasing.is_none() && self.strategy() == StrategyKind::RollingUpdate
    }

    /// Whether taking over means to take back: then it does not wait for whoever holds the lease.
    pub(crate) fn takes_back(&self, command: &Command) -> bool {
        *command == Command::Adopt && self.recorded_intent().is_some_and(|intent| self.is_flipped(&intent))
    }

    fn who_set_the_strategy(&self) -> Option<Str> {
        self.who(self.view.daemonset.as_ref()?.owners.strategy.as_ref()?)
    }

    /// Who changed the template last, with the tool behind the name.
    pub(crate) fn who_set_the_template(&self) -> Option<Str> {
        self.who(self.view.daemonset.as_ref()?.owners.template.as_ref()?)
    }

    fn who(&self, manager: &Str) -> Option<Str> {
        Some(writer_words(manager, &self.view.keepers).into())
    }

    /// How to hold whoever wrote under this field manager.
    fn holding(&self, manager: Option<&Str>) -> Option<Str> {
        keeper_of(manager?, &self.view.keepers)?.holding().map(Str::from)
    }

    /// What is to be said of a strategy that was changed back, or was until it was re-braked.
    pub(crate) fn flip_alarm(&self, intent: &Intent, now: Timestamp) -> Option<Alarm> {
        let flips = &self.progress.flips;
        let rebraked = flips.rounds(now);
        let owners = self.view.daemonset.as_ref().map(|daemonset| &daemonset.owners);
        if self.is_flipped(intent) {
            // Where nothing paused, this one is being answered already.
            let rebraked = rebraked.saturating_sub(u32::from(intent.paused.is_none()));
            let holding = self.holding(owners.and_then(|owners| owners.strategy.as_ref()));
            return Some(Alarm::StrategyFlipped { by: self.who_set_the_strategy(), rebraked, holding });
        }
        (rebraked > 0).then(|| Alarm::Rebraked {
            by: flips.by.as_ref().and_then(|by| self.who(by)),
            times: rebraked,
            holding: self.holding(flips.by.as_ref()),
        })
    }

    /// What is to be said of a template that somebody else changed.
    pub(crate) fn template_alarm(&self) -> Alarm {
        let owners = self.view.daemonset.as_ref().map(|daemonset| &daemonset.owners);
        let holding = self.holding(owners.and_then(|owners| owners.template.as_ref()));
        Alarm::TemplateChanged { by: self.who_set_the_template(), holding }
    }
}

#[cfg(test)]
mod tests;
