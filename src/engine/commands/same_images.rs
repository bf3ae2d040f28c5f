//! A request for images that the template has already: nothing is changed, so that a script may ask again.

use std::borrow::Cow;
use std::sync::Arc;

use super::resolved::Resolved;
use crate::engine::assess::plan::Limits;
use crate::engine::machine::Engine;
use crate::engine::model::command::{Command, Preview, Refusal};
use crate::engine::model::danger::Danger;
use crate::engine::model::record::{Change, Direction};
use crate::engine::model::time::Timestamp;
use crate::engine::writes::pending::Needs;

impl Engine {
    /// The answer to a request for images that the template has already: nothing is changed, so that a script may ask again.
    ///
    /// # Errors
    /// Refuses while another change of the template is recorded: what was asked for last is not what the template has.
    pub(super) fn has_images_already(&self) -> Result<Resolved, Refusal> {
        let intent = self.intent();
        let template = self.view.daemonset().map(|daemonset| &daemonset.template);
        let leads_away = |change: &Change| self.view.template_with(change).ok().as_ref() != template;
        if intent.change.as_ref().is_some_and(leads_away) {
            let why = "the template has these images still, and another change of it is recorded: wait for that, or `undo` it";
            return Err(Refusal::NotNow(why.into()));
        }
        let left = self.count_rows(|row| row.in_fleet && !row.at_target);
        let stands = match &intent.paused {
            _ if self.is_halted(&intent) => format!("; the rollout is halted ({})", self.halt_why()),
            Some(paused) => format!("; the rollout is paused by {}", paused.by),
            None if left == 0 => ", and every node is at it".to_owned(),
            None if intent.direction() == Direction::Back => "; it rolls back to them on every node".to_owned(),
            None => "; `step` rolls it out".to_owned(),
        };
        let says = format!("nothing to do: the template has these images already{stands}");
        Ok(Resolved { drive: false, ..Resolved::new(Vec::new(), Needs::Saved, says, Danger::None) })
    }

    /// The preview of a request for images that the template has already: at most settings change.
    pub(super) fn preview_without_another_image(
        &self,
        command: &Command,
        resolved: &Resolved,
        now: Timestamp,
    ) -> Preview {
        let mut intent = self.recorded_intent();
        resolved.edits.iter().for_each(|edit| edit.apply(&mut intent));
        let limits = Limits::of(&self.view, &intent.map(Cow::into_owned).unwrap_or_default(), &self.assessment);
        let first = match resolved.edits.is_empty() {
            true => "Nothing changes: the template has these images already.",
            false => "The template stays as it is: it has these images already.",
        };
        let tuning = self.tuning_in_words(&command.tuning(), &limits);
        let tuning = tuning.into_iter().filter(|_| !resolved.edits.is_empty());
        Preview {
            title: "Set image".to_owned(),
            effects: std::iter::once(first.to_owned()).chain(tuning).collect(),
            warnings: Vec::new(),
            nodes: Arc::default(),
            pulls_on: Arc::default(),
            changes: Arc::default(),
            calls: self.calls_in_words(command.inner(), resolved, &[], &limits, now),
            danger: resolved.danger,
            all_may_be_down: resolved.danger == Danger::ExceedsBudget,
            leads_later: false,
            halted_before: None,
            lifts_pause: None,
            accepts: Arc::default(),
            pinned: None,
        }
    }
}
