//! How well one watched kind can be seen.

use serde::Serialize;

use super::kinds;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::WatchView;

/// How well one watched kind can be seen: `state` is `loading`, `live`, `down`, `lagging` or `forbidden`; `heardAt` is
/// when its watch last gave a sign of life.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Watch<'a> {
    watched: String,
    state: &'static str,
    heard_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(view: &'a WatchView) -> Self {
        let (since, why) = match &view.health {
            WatchHealth::Loading | WatchHealth::Live => (None, None),
            WatchHealth::Down { since, why } | WatchHealth::Lagging { since, why } => (Some(*since), Some(&**why)),
            WatchHealth::Forbidden { why } => (None, Some(&**why)),
        };
        let state = kinds::watch_health(&view.health);
        Self { watched: view.watched.to_string(), state, heard_at: view.heard_at, since, why }
    }
}
