//! DaemonSets and their ControllerRevisions.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::model::facts::{DaemonSetCounters, StrategyKind, UpdateStrategy};
use crate::engine::model::labels::Selector;
use crate::engine::model::template::Template;
use crate::sim::world::error::{ApiError, FieldError};
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetStatus};

use super::super::json::ObjectWriter;
use super::super::status::{Answer, ApiRefusal};
use super::fields::FieldReader;

/// Reads the DaemonSet called `name`.
pub(super) fn parse(fields: &mut FieldReader, name: &str) -> Answer<DaemonSet> {
    let mut spec = fields.object("spec")?;
    let selector_json = spec.take("selector").unwrap_or_default();
    let selector = Selector::from_label_selector(&selector_json)
        .map_err(|error| ApiRefusal::bad_request(format!("spec.selector: {error}")))?;
    let strategy = spec.take("updateStrategy").unwrap_or_default();
    let read = DaemonSetSpec {
        selector,
        selector_json,
        template: Template::from_json(spec.take("template").unwrap_or_default()),
        strategy: parse_strategy(name, strategy)?,
        min_ready_secs: spec.count("minReadySeconds")?.unwrap_or_default(),
        history_limit: spec.count("revisionHistoryLimit")?.unwrap_or(10),
        rest: spec.rest(),
    };
    let mut status = fields.object("status")?;
    let mut count = |key| Ok::<_, ApiRefusal>(status.count(key)?.unwrap_or_default());
    let counters = DaemonSetCounters {
        desired: count("desiredNumberScheduled")?,
        current: count("currentNumberScheduled")?,
        ready: count("numberReady")?,
        updated: count("updatedNumberScheduled")?,
        available: count("numberAvailable")?,
        misscheduled: count("numberMisscheduled")?,
    };
    let status = DaemonSetStatus {
        observed_generation: status.integer("observedGeneration")?.unwrap_or_default(),
        counters,
        unavailable: status.count("numberUnavailable")?.unwrap_or_default(),
        collision_count: status.count("collisionCount")?,
    };
    Ok(DaemonSet { spec: Arc::new(read), status, ..DaemonSet::default() })
}

fn parse_strategy(name: &str, raw: Value) -> Answer<UpdateStrategy> {
    let kind = match raw.get("type").and_then(Value::as_str) {
        None | Some("" | "RollingUpdate") => StrategyKind::RollingUpdate,
        Some("OnDelete") => StrategyKind::OnDelete,
        Some(other) => {
            let message = format!("Unsupported value: \"{other}\": supported values: \"RollingUpdate\", \"OnDelete\"");
            let reason = "FieldValueNotSupported";
            return Err(invalid(name, FieldError { reason, ..FieldError::invalid("spec.updateStrategy", message) }));
        }
    };
    let amount = |key: &str| match raw.get("rollingUpdate").and_then(|rolling| rolling.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(amount) => serde_json::from_value(amount.clone()).map(Some).map_err(|error| {
            let field = format!("spec.updateStrategy.rollingUpdate.{key}");
            invalid(name, FieldError::invalid(&field, format!("Invalid value: {amount}: {error}")))
        }),
    };
    Ok(UpdateStrategy { kind, max_unavailable: amount("maxUnavailable")?, max_surge: amount("maxSurge")?, raw })
}

fn invalid(name: &str, cause: FieldError) -> ApiRefusal {
    ApiError::invalid(Kind::DaemonSet, name, vec![cause]).into()
}

/// Writes `spec` and `status` of a DaemonSet.
pub(super) fn render(o: &mut ObjectWriter<'_>, daemon_set: &DaemonSet) {
    let spec = &daemon_set.spec;
    o.object("spec", |o| {
        o.put("selector", &spec.selector_json);
        o.put("template", spec.template.json());
        if spec.strategy.raw.is_null() {
            let kind = match spec.strategy.kind {
                StrategyKind::RollingUpdate => "RollingUpdate",
                StrategyKind::OnDelete => "OnDelete",
            };
            o.put("updateStrategy", &json!({"type": kind}));
        } else {
            o.put("updateStrategy", &spec.strategy.raw);
        }
        if spec.min_ready_secs != 0 {
            o.put("minReadySeconds", &spec.min_ready_secs);
        }
        o.put("revisionHistoryLimit", &spec.history_limit);
        o.spread(&spec.rest);
    });
    let status = &daemon_set.status;
    o.object("status", |o| {
        o.put("currentNumberScheduled", &status.counters.current);
        o.put("numberMisscheduled", &status.counters.misscheduled);
        o.put("desiredNumberScheduled", &status.counters.desired);
        o.put("numberReady", &status.counters.ready);
        if status.observed_generation != 0 {
            o.put("observedGeneration", &status.observed_generation);
        }
        // These three fields are `omitempty` in Kubernetes' types: a 0 is left out.
        let counts = [
            ("updatedNumberScheduled", status.counters.updated),
            ("numberAvailable", status.counters.available),
            ("numberUnavailable", status.unavailable),
        ];
        for (key, count) in counts.into_iter().filter(|(_, count)| *count != 0) {
            o.put(key, &count);
        }
        o.put_some("collisionCount", status.collision_count);
    });
}

/// Reads a ControllerRevision.
pub(super) fn parse_revision(fields: &mut FieldReader) -> Answer<ControllerRevision> {
    let mut data = fields.take("data").unwrap_or_default();
    let template = data.pointer_mut("/spec/template").map(Value::take).unwrap_or_default();
    Ok(ControllerRevision {
        number: fields.integer("revision")?.unwrap_or_default(),
        template: Template::from_json(template),
    })
}

/// Writes a ControllerRevision.
pub(super) fn render_revision(o: &mut ObjectWriter<'_>, revision: &ControllerRevision) {
    let mut template = revision.template.json().clone();
    if let Some(template) = template.as_object_mut() {
        template.insert("$patch".into(), "replace".into());
    }
    o.put("data", &json!({"spec": {"template": template}}));
    o.put("revision", &revision.number);
}
