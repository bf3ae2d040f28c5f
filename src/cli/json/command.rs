//! What a one-shot command would do, or did.

use serde::Serialize;

use super::{TypeMeta, kinds};
use crate::engine::model::Str;
use crate::engine::model::command::Preview;
use crate::engine::model::template::diff::FieldChange;

/// What a one-shot write would do, or did: `settled` is absent after `--dry-run`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandResult<'a> {
    #[serde(flatten)]
    pub(crate) meta: TypeMeta,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) preview: PreviewLines<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) next: Vec<String>,
}

/// The preview of a command.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreviewLines<'a> {
    title: &'a str,
    effects: &'a [String],
    /// What it changes in the template, as `diff` has it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    changes: &'a [FieldChange],
    /// What else manages the DaemonSet and may set it back.
    warnings: &'a [String],
    nodes: &'a [Str],
    calls: &'a [String],
    /// `none`, `bounded`, `serious` or `beyond`
    danger: &'static str,
}

impl<'a> PreviewLines<'a> {
    pub(crate) fn new(preview: &'a Preview) -> Self {
        Self {
            title: &preview.title,
            effects: &preview.effects,
            changes: &preview.changes,
            warnings: &preview.warnings,
            nodes: &preview.nodes,
            calls: &preview.calls,
            danger: kinds::danger(preview.danger),
        }
    }
}
