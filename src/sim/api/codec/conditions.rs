//! The conditions of nodes and pods.

use std::borrow::Cow;
use std::sync::Arc;

use crate::engine::model::facts::ConditionStatus;
use crate::engine::model::time::Timestamp;
use crate::sim::world::object::Condition;

use super::super::json::ObjectWriter;
use super::super::status::Answer;
use super::fields::FieldReader;

/// Reads the conditions in `status`.
pub(super) fn parse(status: &mut FieldReader) -> Answer<Arc<[Condition]>> {
    let conditions = status.list("conditions")?.into_iter().map(|mut condition| {
        let kind = condition.text("type")?.unwrap_or_default();
        let status = match condition.text("status")?.as_deref() {
            Some("True") => ConditionStatus::True,
            Some("False") => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        };
        Ok(Condition {
            kind: Cow::Owned(kind.to_string()),
            status,
            since: condition.time("lastTransitionTime")?.unwrap_or_default(),
            heartbeat_at: condition.time("lastHeartbeatTime")?,
            reason: condition.text("reason")?,
            message: condition.text("message")?,
        })
    });
    Ok(conditions.collect::<Answer<Vec<_>>>()?.into())
}

/// Writes the conditions into `status`.
pub(super) fn render(o: &mut ObjectWriter<'_>, conditions: &[Condition]) {
    o.objects("conditions", conditions, |condition, o| {
        o.put("type", &*condition.kind);
        o.put("status", status_name(condition.status));
        o.put_some("lastHeartbeatTime", condition.heartbeat_at.map(Timestamp::to_rfc3339));
        o.put("lastTransitionTime", &condition.since.to_rfc3339());
        o.put_some("reason", condition.reason.as_deref());
        o.put_some("message", condition.message.as_deref());
    });
}

fn status_name(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}
