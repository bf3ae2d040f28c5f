//! Whether somebody changed the strategy back, and who.

use std::time::Duration;

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::{By, Intent};
use crate::engine::rules::ownership::{FIELD_MANAGER, writer_words};

/// The times in `managedFields` are cut to whole seconds.
const WHOLE_SECOND: Duration = Duration::from_secs(1);

impl Engine {
    /// Whether somebody else has changed the strategy back to `RollingUpdate` in an adopted rollout, and it still is.
    pub(crate) fn has_drifted(&self, intent: &Intent) -> bool {
        let there = self.view.daemonset().is_some();
        there && self.progress.adopted && intent.releasing.is_none() && self.strategy() == StrategyKind::RollingUpdate
    }

    /// Whether this command sets `OnDelete` again after a drift, so that it does not wait for the holder of the lease. A template that is written before
    /// that would go to all nodes by their controller.
    pub(crate) fn takes_back(&self, command: &Command) -> bool {
        matches!(command, Command::Adopt | Command::Resume | Command::SetImage(_) | Command::Undo { .. })
            && self.recorded_intent().is_some_and(|intent| self.has_drifted(&intent))
    }

    /// Who changed the update strategy last, with the tool behind the name.
    pub(crate) fn who_set_the_strategy(&self) -> Option<Str> {
        self.who(self.view.daemonset()?.owners.strategy.as_ref()?)
    }

    /// Who changed `maxUnavailable` of the DaemonSet last, with the tool behind the name; `None` if it was a release of rolldeck, or is not known.
    pub(crate) fn who_set_the_limit(&self) -> Option<Str> {
        self.who(self.view.daemonset()?.owners.limit.as_ref().filter(|manager| ***manager != *FIELD_MANAGER)?)
    }

    /// Who changed the template to what it is, where somebody else than rolldeck did; with the tool behind the name.
    pub(crate) fn who_set_the_template(&self) -> Option<Str> {
        self.who(self.writer_of_the_template()?)
    }

    /// The field manager that changed the template to what it is, where somebody else than rolldeck did. `None` where `managedFields` do not tell: who only
    /// removed a field leaves no entry. Then the newest entry is ours, or is older than the rollout.
    pub(crate) fn writer_of_the_template(&self) -> Option<&Str> {
        let owners = &self.view.daemonset()?.owners;
        let began = self.progress.marks.began();
        let is_older = owners.template_at.zip(began).is_some_and(|(at, began)| at + WHOLE_SECOND <= began);
        owners.template.as_ref().filter(|manager| ***manager != *FIELD_MANAGER && !is_older)
    }

    /// Who wrote the template last where that is not rolldeck, in this rollout or before it, and when it last wrote anything. It need not be who made the
    /// template what it is: who only removed a field leaves no entry.
    pub(crate) fn template_writer(&self) -> Option<By> {
        let owners = &self.view.daemonset()?.owners;
        let manager = owners.template.as_ref().filter(|manager| ***manager != *FIELD_MANAGER)?;
        Some(By { by: self.who(manager)?, at: owners.template_at? })
    }

    pub(crate) fn who(&self, manager: &Str) -> Option<Str> {
        Some(writer_words(manager, self.view.gitops_owners()).into())
    }
}
