//! An alarm, as `status` and the change feed print it.

use serde::Serialize;

use super::kinds;
use crate::engine::report::snapshot::Alarm;

/// Something that needs attention: its kind for a script, its words for people.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AlarmLine {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
    /// How to suspend the tool behind it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    suspend_hint: Option<String>,
}

impl AlarmLine {
    pub(super) fn new(alarm: &Alarm) -> Self {
        Self {
            kind: kinds::alarm(alarm),
            text: alarm.to_string(),
            suspend_hint: alarm.suspend_hint().map(str::to_owned),
        }
    }
}
