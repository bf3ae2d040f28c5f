//! An alarm, as `status` and the change feed print it.

use serde::Serialize;

use super::kinds;
use crate::engine::report::snapshot::Alarm;

/// An alarm: its kind for a script, and its words for people.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AlarmJson {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
    /// The command that suspends the tool behind the alarm, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    suspend_hint: Option<String>,
}

impl AlarmJson {
    pub(super) fn new(alarm: &Alarm) -> Self {
        Self {
            kind: kinds::alarm(alarm),
            text: alarm.to_string(),
            suspend_hint: alarm.suspend_hint().map(str::to_owned),
        }
    }
}
