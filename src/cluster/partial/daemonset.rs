//! A DaemonSet: read whole for one rollout, and partially for the list of all.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::fleet_revision::TemplateImages;
use super::{Clamped, Text, count_of, name_of, str_of, take, text};
use crate::engine::model::Str;
use crate::engine::model::facts::{
    ControllerRef, DaemonSetCounters, DaemonSetFact, FieldOwners, FieldWriter, Fields, StrategyKind, UpdateStrategy,
    WriteOperation,
};
use crate::engine::model::labels::{Labels, Selector};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::ownership::FIELD_MANAGER;

/// An annotation as large as the object itself. Only the fields that it names are read.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The fact in a DaemonSet.
///
/// # Errors
/// When the selector is not understood, because then nothing is known about the DaemonSet's pods.
pub(crate) fn daemonset_fact(mut object: Value) -> Result<DaemonSetFact, String> {
    let template = Template::from_json(take(&mut object, "/spec/template"));
    let strategy = UpdateStrategy::from_json(take(&mut object, "/spec/updateStrategy"));
    let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    let annotations = Labels::from_json(&metadata["annotations"]);
    Ok(DaemonSetFact {
        namespace: str_of(&metadata["namespace"]).unwrap_or_default(),
        name: str_of(&metadata["name"]).unwrap_or_default(),
        uid: str_of(&metadata["uid"]).unwrap_or_default(),
        resource_version: str_of(&metadata["resourceVersion"]).unwrap_or_default(),
        generation: metadata["generation"].as_i64().unwrap_or(0),
        observed_generation: status["observedGeneration"].as_i64().unwrap_or(0),
        annotations: annotations
            .iter()
            .filter(|(key, _)| &***key != LAST_APPLIED)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        labels: Labels::from_json(&metadata["labels"]),
        selector: Selector::from_label_selector(&spec["selector"])?,
        strategy,
        min_ready_secs: count_of(&spec["minReadySeconds"]),
        revision_history_limit: spec["revisionHistoryLimit"].as_u64().and_then(|limit| u32::try_from(limit).ok()),
        template,
        counters: DaemonSetCounters {
            desired: count_of(&status["desiredNumberScheduled"]),
            current: count_of(&status["currentNumberScheduled"]),
            ready: count_of(&status["numberReady"]),
            updated: count_of(&status["updatedNumberScheduled"]),
            available: count_of(&status["numberAvailable"]),
            misscheduled: count_of(&status["numberMisscheduled"]),
        },
        owners: FieldOwners { applied: applied(metadata), ..owners(&metadata["managedFields"]) },
        controller: controller(metadata),
        deleting: metadata["deletionTimestamp"].is_string(),
    })
}

fn kind(text: &str) -> StrategyKind {
    if text == "OnDelete" { StrategyKind::OnDelete } else { StrategyKind::RollingUpdate }
}

/// The owners of fields of the template and the strategy.
///
/// The manager that set the strategy's type owns that field as long as nobody else changes it. The last writer follows from
/// the entries' times, which are whole seconds. A field of ours that somebody else changed is not ours any more, so within
/// the same second the others count as later.
fn owners(managed: &Value) -> FieldOwners {
    let entries: Vec<&Value> =
        managed.as_array().into_iter().flatten().filter(|entry| is_of_the_object(entry)).collect();
    let newest = |path: &[&str]| {
        let owning = entries.iter().filter(|entry| owns(entry, path));
        owning.max_by_key(|entry| {
            (entry["time"].as_str().unwrap_or_default(), entry["manager"].as_str() != Some(FIELD_MANAGER))
        })
    };
    let last_template = newest(&["f:template"]);
    let last = |path: &[&str]| newest(path).and_then(|entry| str_of(&entry["manager"]));
    let writers = entries.iter().filter_map(|entry| {
        let fields = Fields { template: owns(entry, &["f:template"]), strategy: owns(entry, &["f:updateStrategy"]) };
        let operation = if entry["operation"] == "Apply" { WriteOperation::Apply } else { WriteOperation::Update };
        let manager = str_of(&entry["manager"])?;
        (fields != Fields::default()).then_some(FieldWriter { manager, operation, fields })
    });
    FieldOwners {
        template: last_template.and_then(|entry| str_of(&entry["manager"])),
        template_at: last_template.and_then(|entry| Timestamp::parse(entry["time"].as_str()?).ok()),
        strategy: last(&["f:updateStrategy", "f:type"]).or_else(|| last(&["f:updateStrategy"])),
        limit: last(&["f:updateStrategy", "f:rollingUpdate", "f:maxUnavailable"]),
        writers: writers.collect(),
        applied: None,
    }
}

fn is_of_the_object(entry: &Value) -> bool {
    entry["subresource"].as_str().unwrap_or_default().is_empty()
}

/// Whether an entry of `managedFields` owns something at this path below `spec`.
fn owns(entry: &Value, path: &[&str]) -> bool {
    let spec = entry["fieldsV1"].get("f:spec");
    path.iter().try_fold(spec, |at, step| at.map(|at| at.get(step))).flatten().is_some()
}

/// The fields named in the last manifest that was applied on the client's side.
fn applied(metadata: &Value) -> Option<Fields> {
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(default)]
        spec: Spec,
    }
    #[derive(Deserialize, Default)]
    #[serde(default, rename_all = "camelCase")]
    struct Spec {
        template: Option<IgnoredAny>,
        update_strategy: Option<IgnoredAny>,
    }
    let Manifest { spec } = serde_json::from_str(metadata["annotations"][LAST_APPLIED].as_str()?).ok()?;
    Some(Fields { template: spec.template.is_some(), strategy: spec.update_strategy.is_some() })
}

/// The owner that controls the DaemonSet.
fn controller(metadata: &Value) -> Option<ControllerRef> {
    let owner = metadata["ownerReferences"].as_array()?.iter().find(|owner| owner["controller"] == true)?;
    let text = |field: &str| name_of(&owner[field]).unwrap_or_default();
    Some(ControllerRef { api_version: text("apiVersion"), kind: text("kind"), name: text("name") })
}

/// A DaemonSet of the wire, with the fields of a fleet list.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(crate) struct FleetWire<'a> {
    #[serde(borrow)]
    pub(crate) metadata: FleetMeta<'a>,
    #[serde(borrow)]
    spec: Spec<'a>,
    status: Status,
}

/// Metadata, with the fields that only a fleet list needs.
#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct FleetMeta<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    namespace: Option<Text<'a>>,
    #[serde(borrow)]
    uid: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) resource_version: Option<Text<'a>>,
    generation: i64,
    #[serde(borrow)]
    deletion_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    annotations: Option<Annotations<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Annotations<'a> {
    #[serde(borrow, rename = "rolldeck.io/original-update-strategy")]
    original_strategy: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow)]
    update_strategy: Option<Strategy<'a>>,
    #[serde(borrow)]
    template: Option<TemplateImages<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Strategy<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    rolling_update: Option<RollingUpdate>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct RollingUpdate {
    max_unavailable: Option<IntOrPercent>,
    max_surge: Option<IntOrPercent>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    observed_generation: i64,
    desired_number_scheduled: Clamped<u32>,
    current_number_scheduled: Clamped<u32>,
    number_ready: Clamped<u32>,
    updated_number_scheduled: Clamped<u32>,
    number_available: Clamped<u32>,
    number_misscheduled: Clamped<u32>,
}

/// One DaemonSet of a fleet.
#[derive(Clone, PartialEq, Debug)]
pub struct PartialDaemonSet {
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// Its uid. The record of a DaemonSet with another uid does not apply to this one.
    pub uid: Str,
    /// The type of its update strategy.
    pub strategy: StrategyKind,
    /// `rollingUpdate.maxUnavailable`.
    pub max_unavailable: Option<IntOrPercent>,
    /// `rollingUpdate.maxSurge`.
    pub max_surge: Option<IntOrPercent>,
    /// Whether rolldeck took over the replacement of pods: an annotation holds the original strategy.
    pub adopted: bool,
    /// Whether its controller has observed its latest spec.
    pub observed: bool,
    /// Whether it is being deleted; its Lease is deleted with it.
    pub deleting: bool,
    /// The counters of its controller.
    pub counters: DaemonSetCounters,
    /// The images of its template: container name, image.
    pub images: Vec<(Str, Str)>,
}

impl FleetWire<'_> {
    pub(crate) fn partial(&self) -> PartialDaemonSet {
        let strategy = self.spec.update_strategy.as_ref();
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let status = &self.status;
        let annotations = self.metadata.annotations.as_ref();
        PartialDaemonSet {
            namespace: text(&self.metadata.namespace).into(),
            name: text(&self.metadata.name).into(),
            uid: text(&self.metadata.uid).into(),
            strategy: kind(strategy.map(|strategy| text(&strategy.kind)).unwrap_or_default()),
            max_unavailable: rolling.and_then(|rolling| rolling.max_unavailable),
            max_surge: rolling.and_then(|rolling| rolling.max_surge),
            adopted: annotations.is_some_and(|annotations| annotations.original_strategy.is_some()),
            observed: status.observed_generation >= self.metadata.generation,
            deleting: self.metadata.deletion_timestamp.is_some(),
            counters: DaemonSetCounters {
                desired: status.desired_number_scheduled.0,
                current: status.current_number_scheduled.0,
                ready: status.number_ready.0,
                updated: status.updated_number_scheduled.0,
                available: status.number_available.0,
                misscheduled: status.number_misscheduled.0,
            },
            images: self.spec.template.as_ref().map(TemplateImages::images).unwrap_or_default(),
        }
    }

    pub(crate) fn key(&self) -> (Str, Str) {
        (text(&self.metadata.namespace).into(), text(&self.metadata.name).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::record::ORIGINAL_STRATEGY;

    const DAEMONSET: &str = include_str!("fixtures/daemonset.json");

    #[test]
    fn the_annotation_is_the_one_that_the_engine_knows() {
        assert_eq!(ORIGINAL_STRATEGY, "rolldeck.io/original-update-strategy");
    }

    #[test]
    fn a_daemonset_as_the_api_server_writes_it() {
        let object: Value = serde_json::from_str(DAEMONSET).unwrap();
        let raw = object["spec"]["updateStrategy"].clone();
        let fact = daemonset_fact(object).unwrap();
        assert_eq!((&*fact.namespace, &*fact.name, &*fact.uid), ("edge", "agent", "ds-uid"));
        assert_eq!((fact.generation, fact.observed_generation, fact.min_ready_secs), (5, 5, 10));
        assert_eq!(fact.selector.to_string(), "app=agent,tier in (edge,core)");
        assert_eq!(fact.strategy.max_unavailable, Some(IntOrPercent::Percent(25)));
        assert_eq!(fact.strategy.max_surge, Some(IntOrPercent::Int(0)));
        assert_eq!(fact.strategy.raw, raw);
        assert_eq!(fact.template.images(), [Str::from("registry.example/agent:v1")]);
        assert_eq!((fact.counters.desired, fact.counters.available), (20, 19));
        assert_eq!(fact.annotations.get(LAST_APPLIED), None);
        assert!(fact.annotations.get("deprecated.daemonset.template.generation").is_some());
    }

    #[test]
    fn the_last_writer_of_each_field_is_known_by_name() {
        let fact = daemonset_fact(serde_json::from_str(DAEMONSET).unwrap()).unwrap();
        assert_eq!(fact.owners.template.as_deref(), Some("kubectl-set"), "the status writer owns nothing of it");
        assert!(fact.owners.template_at.is_some());
        assert_eq!(fact.owners.strategy.as_deref(), Some("argocd-controller"));
    }

    /// Somebody changes the limit alone: the type stays that of whoever adopted the DaemonSet.
    #[test]
    fn who_changed_the_limit_is_told_apart_from_who_set_the_type() {
        let mut object: Value = serde_json::from_str(DAEMONSET).unwrap();
        object["metadata"]["managedFields"] = serde_json::json!([
            {"manager": "rolldeck", "operation": "Update", "time": "2026-11-21T12:00:00Z", "fieldsV1": {"f:spec": {"f:updateStrategy": {"f:type": {}}}}},
            {"manager": "kubectl-edit", "operation": "Update", "time": "2026-11-21T12:05:00Z",
                "fieldsV1": {"f:spec": {"f:updateStrategy": {"f:rollingUpdate": {"f:maxUnavailable": {}}}}}},
        ]);
        let owners = daemonset_fact(object).unwrap().owners;
        assert_eq!((owners.strategy.as_deref(), owners.limit.as_deref()), (Some("rolldeck"), Some("kubectl-edit")));
    }

    /// The DaemonSet was adopted by rolldeck and set back by Argo CD within one second of `managedFields`. A field of ours
    /// that was changed is not ours any more.
    #[test]
    fn who_drifted_the_strategy_is_told_by_the_field_not_by_the_clock() {
        let entry = |manager: &str, operation: &str, spec: Value| {
            serde_json::json!({"manager": manager, "operation": operation, "time": "2026-11-21T12:00:00Z",
                "fieldsV1": {"f:metadata": {"f:annotations": {"f:rolldeck.io/original-update-strategy": {}}}, "f:spec": spec}})
        };
        let both = serde_json::json!({"f:template": {"f:spec": {}}, "f:updateStrategy": {".": {}, "f:type": {}}});
        let object = serde_json::json!({"metadata": {"managedFields": [
            entry("argocd-controller", "Apply", both),
            entry("rolldeck", "Update", serde_json::json!({"f:template": {"f:spec": {}}})),
        ]}, "spec": {"selector": {"matchLabels": {"app": "agent"}}}});
        let owners = daemonset_fact(object).unwrap().owners;
        assert_eq!(owners.strategy.as_deref(), Some("argocd-controller"));
        assert_eq!(owners.template.as_deref(), Some("argocd-controller"), "in the same second the other was later");
        let writers: Vec<_> =
            owners.writers.iter().map(|writer| (&*writer.manager, writer.operation, writer.fields.strategy)).collect();
        assert_eq!(
            writers,
            [("argocd-controller", WriteOperation::Apply, true), ("rolldeck", WriteOperation::Update, false)]
        );
    }

    #[test]
    fn what_was_applied_from_the_clients_side_and_who_controls_it_are_kept_in_brief() {
        let applied = |manifest: &str| {
            let object = serde_json::json!({
                "metadata": {"annotations": {LAST_APPLIED: manifest}, "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"},
                    {"apiVersion": "x.example/v1", "kind": "NodeAgent", "name": "agent", "uid": "2", "controller": true},
                ]},
                "spec": {"selector": {"matchLabels": {"app": "agent"}}},
            });
            daemonset_fact(object).unwrap()
        };
        let fact = applied(r#"{"spec":{"template":{"spec":{}},"updateStrategy":{"type":"RollingUpdate"}}}"#);
        assert_eq!(fact.owners.applied, Some(Fields { template: true, strategy: true }));
        let fact = applied(r#"{"spec":{"template":{"spec":{}},"selector":{}}}"#);
        assert_eq!(fact.owners.applied, Some(Fields { template: true, strategy: false }));
        assert_eq!(applied("not JSON").owners.applied, None);
        let controller = fact.controller.unwrap();
        assert_eq!((&*controller.kind, &*controller.name), ("NodeAgent", "agent"));
    }

    #[test]
    fn a_fleet_reads_only_what_it_shows() {
        let partial = serde_json::from_str::<FleetWire<'_>>(DAEMONSET).unwrap().partial();
        assert_eq!((&*partial.namespace, &*partial.name), ("edge", "agent"));
        assert_eq!(partial.strategy, StrategyKind::RollingUpdate);
        assert_eq!(partial.max_unavailable, Some(IntOrPercent::Percent(25)));
        assert!(!partial.adopted && partial.observed);
        assert_eq!(partial.counters.updated, 18);
        assert_eq!(partial.images, [(Str::from("agent"), Str::from("registry.example/agent:v1"))]);
    }

    #[test]
    fn a_selector_from_the_future_is_refused() {
        let object =
            serde_json::json!({"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}});
        assert!(daemonset_fact(object).unwrap_err().contains("Near"));
    }
}
