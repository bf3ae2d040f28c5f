//! The preview or the result of a one-shot command.

use serde::Serialize;

use super::{TypeMetaJson, kinds};
use crate::cli::suggested_commands::SuggestedCommand;
use crate::engine::model::Str;
use crate::engine::model::command::Preview;
use crate::engine::model::image::change_warnings;
use crate::engine::model::record::Paused;
use crate::engine::model::template::diff::{FieldChange, FieldEdit};

/// The preview or the result of a one-shot write: `settled` is absent after `--dry-run`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandResultJson<'a> {
    #[serde(flatten)]
    pub(crate) meta: TypeMetaJson,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// Whether only a preview was asked for, by `--dry-run`.
    pub(crate) dry_run: bool,
    pub(crate) preview: PreviewJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<&'a str>,
    /// Whether anything was written; absent after `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed: Option<bool>,
    /// How it stands after the command, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) advice: Vec<String>,
    /// The next commands, as in `RolloutStatus`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) next: Vec<SuggestedCommand>,
}

/// Why a command was not completed: the last object on standard output. The exit code says the same for a shell.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorJson<'a> {
    #[serde(flatten)]
    pub(crate) meta: TypeMetaJson,
    pub(crate) reason: &'static str,
    pub(crate) message: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) hints: &'a [String],
    pub(crate) exit_code: u8,
    /// Whether a person asked for this end, so that it is no failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) asked_for: bool,
}

/// The preview of a command.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreviewJson<'a> {
    title: &'a str,
    effects: &'a [String],
    /// The changes in the template, as in `diff`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    changes: &'a [FieldChange],
    /// The texts that begin with `WARNING`: tools that may revert the change, and fields that are probably changed by mistake.
    warnings: Vec<String>,
    nodes: &'a [Str],
    /// The nodes on which images are pulled for pre-warming.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pulls_on: &'a [Str],
    calls: &'a [String],
    /// `none`, `bounded`, `serious` or `exceedsBudget`.
    danger: &'static str,
    /// Whether an `undo` begins a rollout to a later revision, and rolls nothing back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    leads_later: bool,
    /// The pause by a person that the command lifts in addition. Without a terminal this needs `--yes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    lifts_pause: Option<&'a Paused>,
}

/// Warnings about probably unintended changes in the images of containers.
pub(crate) fn image_warnings(preview: &Preview) -> impl Iterator<Item = String> {
    let warned = |(container, warning): (&str, String)| format!("{container}: {warning}");
    preview.changes.iter().flat_map(warnings_of).map(warned)
}

/// The same of one field, with the field that names the container.
fn warnings_of(change: &FieldChange) -> impl Iterator<Item = (&str, String)> {
    let container = change.path.strip_suffix(".image");
    let images = match &change.edit {
        FieldEdit::Changed { from, to } => from.as_str().zip(to.as_str()),
        FieldEdit::Added { .. } | FieldEdit::Removed { .. } | FieldEdit::Reordered { .. } => None,
    };
    let warned = container.zip(images);
    warned.into_iter().flat_map(|(container, (was, new))| {
        change_warnings(was, new, "→").into_iter().map(move |warning| (container, warning))
    })
}

impl<'a> PreviewJson<'a> {
    pub(crate) fn new(preview: &'a Preview) -> Self {
        Self {
            title: &preview.title,
            effects: &preview.effects,
            changes: &preview.changes,
            warnings: image_warnings(preview).chain(preview.warnings.iter().cloned()).collect(),
            nodes: &preview.nodes,
            pulls_on: &preview.pulls_on,
            calls: &preview.calls,
            danger: kinds::danger(preview.danger),
            leads_later: preview.leads_later,
            lifts_pause: preview.lifts_pause.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::engine::model::danger::Danger;

    #[test]
    fn another_repository_is_warned_of() {
        let change = |field: &str, from: &str, to: &str| FieldChange {
            path: field.to_owned(),
            edit: FieldEdit::Changed { from: from.into(), to: to.into() },
        };
        let preview = |change: FieldChange| Preview {
            title: String::new(),
            effects: Vec::new(),
            nodes: Default::default(),
            pulls_on: Default::default(),
            warnings: vec!["set back".to_owned()],
            changes: [change].into(),
            calls: Vec::new(),
            danger: Danger::None,
            all_may_be_down: false,
            leads_later: false,
            halted_before: None,
            lifts_pause: None,
            accepts: Arc::default(),
            pinned: None,
        };
        let image = |from: &str, to: &str| {
            image_warnings(&preview(change("containers[agent].image", from, to))).collect::<Vec<_>>()
        };
        assert_eq!(image("r.example/agent:v1", "r.example/agent:v2"), Vec::<String>::new());
        let warning = "containers[agent]: registry changes! r.example → docker.io";
        assert_eq!(image("r.example/agent:v1", "busybox:1"), [warning]);
        assert_eq!(image_warnings(&preview(change("containers[agent].command", "a", "b"))).count(), 0);
        // JSON has what the text has.
        let other = preview(change("containers[agent].image", "r.example/agent:v1", "busybox:1"));
        assert_eq!(PreviewJson::new(&other).warnings, [warning, "set back"]);
    }
}
