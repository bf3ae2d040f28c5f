//! What an operator has read of a preview, and what others have changed of it since: the next enter acknowledges the change and writes nothing.
//!
//! Only what lets more or something else happen counts. A running rollout changes the rest with every node: nodes in line are updated by and by,
//! and the nodes that a roll back takes with it grow in number.

use std::sync::Arc;

use super::form::Form;
use super::preview_inputs::PreviewInputs;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::danger::Danger;
use crate::engine::model::quantity::counted;
use crate::engine::model::template::diff::FieldChange;

/// The part of a preview that an operator agrees to.
#[derive(Debug)]
pub(crate) struct PreviewRead {
    title: String,
    nodes: usize,
    accepts: Arc<[Str]>,
    changes: Arc<[FieldChange]>,
    warnings: Vec<String>,
    danger: Danger,
    inputs: PreviewInputs,
}

impl PreviewRead {
    /// `inputs`: the state under which the preview was asked for.
    pub(crate) fn of(preview: &Preview, danger: Danger, inputs: PreviewInputs) -> Self {
        Self {
            title: preview.title.clone(),
            nodes: preview.nodes.len(),
            accepts: Arc::clone(&preview.accepts),
            changes: Arc::clone(&preview.changes),
            warnings: preview.warnings.clone(),
            danger,
            inputs,
        }
    }

    /// Whether the state `now` is another one than that under which this was read, and not only further on.
    pub(crate) fn others_changed(&self, now: &PreviewInputs) -> bool {
        !self.inputs.changed_to(now, true).is_empty()
    }

    /// What `now` lets happen that this did not, each in a few words; empty if it is no more and nothing else.
    pub(crate) fn changed_to(&self, now: &Self, form: &Form) -> Vec<String> {
        let mut changed = Vec::new();
        let takes_back = matches!(form, Form::Undo(_));
        if self.title != now.title {
            changed.push(format!("{} (it was: {})", now.title, after_colon(&self.title)));
        } else if now.nodes > self.nodes && !takes_back {
            changed.push(format!("{} would go (it was {})", counted(now.nodes, "node"), self.nodes));
        }
        let more: Vec<&str> =
            now.accepts.iter().filter(|node| !self.accepts.contains(node)).map(|node| &**node).collect();
        if !more.is_empty() {
            changed.push(format!("it also accepts the failure of {}", more.join(", ")));
        }
        if self.changes != now.changes {
            changed.push("the template changes in another way".to_owned());
        }
        changed.extend(self.inputs.changed_to(&now.inputs, is_for_a_part(form)));
        let is_new =
            |warning: &&String| !self.warnings.iter().any(|known| without_digits(known) == without_digits(warning));
        if now.warnings.iter().any(|warning| is_new(&warning)) {
            changed.push("there is a warning that was not there".to_owned());
        }
        if changed.is_empty() && now.danger > self.danger {
            changed.push("it can break more than before".to_owned());
        }
        changed
    }
}

/// Whether the nodes of the form depend on how many may be updated, without being counted in the title.
fn is_for_a_part(form: &Form) -> bool {
    matches!(form, Form::Prewarm(_) | Form::Plain { command: Command::Resume | Command::Drive(_), .. })
}

/// `Step: 12 nodes updated` → `12 nodes updated`.
fn after_colon(title: &str) -> &str {
    title.split_once(": ").map_or(title, |(_, after)| after)
}

/// Times and numbers in a warning run on by themselves.
fn without_digits(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
