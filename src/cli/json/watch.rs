//! The health of the watch of one kind.

use serde::Serialize;

use super::kinds;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::WatchView;

/// How well one watched kind can be seen: `state` is `loading`, `live`, `down`, `lagging` or `forbidden`; `heardAt` is
/// when its watch last gave a sign of life.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WatchJson<'a> {
    watched: String,
    state: &'static str,
    heard_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<SkippedJson<'a>>,
}

/// Objects that could not be read and are therefore not shown: the number of failures, and the first one.
#[derive(Serialize)]
struct SkippedJson<'a> {
    count: u32,
    first: &'a str,
}

/// How well one watched kind of the list of all DaemonSets can be seen, in the words of [`WatchJson`]: `watched` is `daemonsets`, `leases`,
/// `revisions` or `pods`. While that of the leases is not `live`, states and drivers are those of before, as far as they were known.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FleetWatchJson<'a> {
    watched: &'static str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

impl<'a> FleetWatchJson<'a> {
    pub(super) fn new(watched: &'static str, health: &'a WatchHealth) -> Self {
        let (since, why) = since_and_why(health);
        Self { watched, state: kinds::watch_health(health), since, why }
    }
}

fn since_and_why(health: &WatchHealth) -> (Option<Timestamp>, Option<&str>) {
    match health {
        WatchHealth::Loading | WatchHealth::Live => (None, None),
        WatchHealth::Down { since, why } | WatchHealth::Lagging { since, why } => (Some(*since), Some(why)),
        WatchHealth::Forbidden { why } => (None, Some(why)),
    }
}

impl<'a> WatchJson<'a> {
    pub(super) fn new(view: &'a WatchView) -> Self {
        let (since, why) = since_and_why(&view.health);
        let state = kinds::watch_health(&view.health);
        let skipped = view.skipped.as_ref().map(|skipped| SkippedJson { count: skipped.count, first: &skipped.first });
        Self { watched: view.watched.to_string(), state, heard_at: view.heard_at, since, why, skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::event::{SkippedObjects, Watched};

    #[test]
    fn a_kind_of_the_list_that_is_not_seen_is_told_with_the_reason() {
        let (since, why) = (Timestamp::default(), "connection refused".into());
        let json = |health| serde_json::to_value(FleetWatchJson::new("leases", &health)).unwrap();
        let live = serde_json::json!({"watched": "leases", "state": "live"});
        assert_eq!(json(WatchHealth::Live), live);
        let down = json(WatchHealth::Down { since, why });
        let told = serde_json::json!({
            "watched": "leases", "state": "down", "since": "1970-01-01T00:00:00.000Z", "why": "connection refused"
        });
        assert_eq!(down, told);
        let forbidden = serde_json::json!({"watched": "leases", "state": "forbidden", "why": "no"});
        assert_eq!(json(WatchHealth::Forbidden { why: "no".into() }), forbidden);
    }

    #[test]
    fn what_could_not_be_read_is_said_with_its_number() {
        let skipped = SkippedObjects { count: 3, first: "edge/a cannot be read".into() };
        let view =
            WatchView { watched: Watched::Events, health: WatchHealth::Live, heard_at: None, skipped: Some(skipped) };
        let json = serde_json::to_value(WatchJson::new(&view)).unwrap();
        assert_eq!(json["skipped"], serde_json::json!({"count": 3, "first": "edge/a cannot be read"}));
        assert_eq!((&json["watched"], &json["state"]), (&"events".into(), &"live".into()));
        let json = serde_json::to_value(WatchJson::new(&WatchView { skipped: None, ..view })).unwrap();
        assert!(json.get("skipped").is_none());
    }
}
