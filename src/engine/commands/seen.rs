//! The template that an operator saw when giving a command.
//!
//! A record that a one-shot command begins has no target: nobody has asked for another template, and no driver has looked at the
//! present one.
//!
//! ```text
//!  bob: step --to 12 ── the template is v2 ─▶ the target is v2
//!  eve: kubectl set image v3
//!  bob: drive ─────────────────────────────▶ paused: the template was changed; without a target v3 would be rolled out, which nobody saw
//! ```

use super::super::lease::edit::Edit;
use super::super::machine::Engine;
use super::super::model::Str;
use super::super::model::command::Command;

impl Engine {
    /// The edit that notes the present template as the target. There is one if `command` adopts the DaemonSet, lets nodes go or pauses, the
    /// record has no target, and the revision of the template is certain.
    pub(super) fn first_target(&self, command: &Command) -> Option<Edit> {
        if !command.notes_target() {
            return None;
        }
        let intent = self.intent();
        let has_none = intent.target.is_none() && intent.change.is_none();
        let seen: Option<&Str> = self.view.current();
        let certain = self.is_observed() && self.view.current_is_certain();
        seen.filter(|_| has_none && certain).cloned().map(Edit::FirstTarget)
    }
}
