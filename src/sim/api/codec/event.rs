//! Events.

use std::sync::Arc;

use serde_json::Value;

use crate::engine::model::time::Timestamp;
use crate::sim::world::object::{EventBody, EventType, ObjectRef};

use super::super::json::ObjectWriter;
use super::super::status::Answer;
use super::fields::FieldReader;

/// Reads an event.
pub(super) fn parse(mut fields: FieldReader) -> Answer<EventBody> {
    let mut involved = fields.object("involvedObject")?;
    let involved = ObjectRef {
        api_version: involved.text("apiVersion")?.unwrap_or_default(),
        kind: involved.text("kind")?.unwrap_or_default(),
        namespace: involved.text("namespace")?.unwrap_or_default(),
        name: involved.text("name")?.unwrap_or_default(),
        uid: involved.text("uid")?.unwrap_or_default(),
        field_path: involved.text("fieldPath")?,
    };
    let severity = match fields.text("type")?.as_deref() {
        Some("Warning") => EventType::Warning,
        _ => EventType::Normal,
    };
    let mut source = fields.object("source")?;
    let reporter = fields.text("reportingComponent")?.filter(|name| !name.is_empty());
    let instance = fields.text("reportingInstance")?.filter(|name| !name.is_empty());
    // Writers of events.k8s.io/v1 leave both timestamps empty and set only `eventTime`, which also stays in the rest.
    let event_time = fields.map.get("eventTime").and_then(Value::as_str).and_then(|at| Timestamp::parse(at).ok());
    let first_at = fields.time("firstTimestamp")?.or(event_time).unwrap_or_default();
    let (component, host) = (source.text("component")?, source.text("host")?);
    // An event that names a source component has a reporter of its own only if the reporter differs; kubelets write the same names twice.
    let same = (component.clone().unwrap_or_default(), host.clone().unwrap_or_default());
    let apart = (reporter.clone().unwrap_or_default(), instance.clone().unwrap_or_default());
    let apart = (component.is_some() && apart != same).then_some(apart);
    let host = host.or(instance.filter(|_| apart.is_none()));
    Ok(EventBody {
        involved,
        severity,
        reason: fields.text("reason")?.unwrap_or_default(),
        message: fields.text("message")?.unwrap_or_default(),
        component: component.or(reporter).unwrap_or_default(),
        host,
        reporter: apart,
        first_at,
        last_at: fields.time("lastTimestamp")?.unwrap_or(first_at),
        count: fields.count("count")?.unwrap_or(1),
        rest: Arc::new(fields.rest()),
    })
}

/// Writes an event, but for its `metadata`.
pub(super) fn render(o: &mut ObjectWriter<'_>, event: &EventBody) {
    o.object("involvedObject", |o| {
        o.put_text("kind", &event.involved.kind);
        o.put_text("namespace", &event.involved.namespace);
        o.put_text("name", &event.involved.name);
        o.put_text("uid", &event.involved.uid);
        o.put_text("apiVersion", &event.involved.api_version);
        o.put_some("fieldPath", event.involved.field_path.as_deref());
    });
    o.put("reason", &*event.reason);
    o.put("message", &*event.message);
    o.object("source", |o| {
        o.put_text("component", &event.component);
        o.put_some("host", event.host.as_deref());
    });
    o.put("firstTimestamp", &event.first_at.to_rfc3339());
    o.put("lastTimestamp", &event.last_at.to_rfc3339());
    o.put("count", &event.count);
    o.put("type", severity(event.severity));
    let (reporter, instance) = match &event.reporter {
        Some((reporter, instance)) => (&**reporter, &**instance),
        None => (&*event.component, event.host.as_deref().unwrap_or_default()),
    };
    o.put("reportingComponent", reporter);
    o.put("reportingInstance", instance);
    o.spread(&event.rest);
}

/// An event type's name.
pub(in crate::sim::api) fn severity(severity: EventType) -> &'static str {
    match severity {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    }
}
