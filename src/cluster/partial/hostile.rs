//! Tests that objects with arbitrary strings are read without a panic, and that texts shown to people are bounded.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::cluster::clip::tests::{hostile, is_bounded};
use crate::cluster::clip::{CHANGE_CAUSE, MESSAGE, NAME};
use crate::engine::model::facts::{ClusterEvent, ControllerRef, DaemonSetFact, LeaseFact, ReportedBy, RevisionFact};
use crate::engine::model::node_details::NodeDetail;

/// A text for people, and the most bytes that it may have.
type Shown = (Str, usize);

fn shown(texts: impl IntoIterator<Item = Str>, limit: usize) -> impl Iterator<Item = Shown> {
    texts.into_iter().map(move |text| (text, limit))
}

/// Every field of the other facts is named here, so that the author of a new field decides whether people see it. Fields that
/// identify, are compared or are written back are whole.
fn of_event(fact: ClusterEvent) -> Vec<Shown> {
    let ClusterEvent {
        version: _,
        object: _,
        node,
        container: _,
        reason,
        message,
        at: _,
        first_at: _,
        count: _,
        reported_by,
    } = fact;
    let ours = reported_by
        .map(|ours| *ours)
        .map(|ReportedBy { event, identity, severity: _, revision }| [event, identity].into_iter().chain(revision));
    let names = node.into_iter().chain([reason]).chain(ours.into_iter().flatten());
    shown(names, NAME).chain(shown([message], MESSAGE)).collect()
}

/// The fields of pods, containers and nodes whose texts identify something, are compared or are written by this program, and so are whole.
const WHOLE: [&str; 11] = [
    "uid",
    "name",
    "resource_version",
    "node",
    "owner",
    "revision",
    "always_pulled",
    "labels",
    "taints",
    "pressure",
    "images",
];

/// All texts of a pod or of a node but those, so that a new one is bounded or named there.
fn of_fact(fact: impl serde::Serialize) -> Vec<Shown> {
    let mut texts = Vec::new();
    texts_within("", &serde_json::to_value(fact).unwrap(), &mut texts);
    texts
}

/// Gathers the texts of the field of that name, and of those within it.
fn texts_within(field: &str, value: &Value, texts: &mut Vec<Shown>) {
    match value {
        _ if WHOLE.contains(&field) => {}
        Value::String(text) => texts.push((text.as_str().into(), if field == "message" { MESSAGE } else { NAME })),
        Value::Array(items) => items.iter().for_each(|item| texts_within(field, item, texts)),
        Value::Object(fields) => fields.iter().for_each(|(field, value)| texts_within(field, value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn of_lease(fact: LeaseFact) -> Vec<Shown> {
    let LeaseFact {
        uid: _,
        resource_version: _,
        holder,
        duration_secs: _,
        acquired_at: _,
        renewed_at: _,
        transitions: _,
        record,
        prewarm,
        pace: _,
        failing,
    } = fact;
    let causes = failing.into_iter().flat_map(|failing| failing.causes).map(|cause| cause.cause);
    let errors = record.err().into_iter().chain(prewarm.err());
    shown(holder, NAME).chain(shown(errors, MESSAGE)).chain(shown(causes, NAME)).collect()
}

fn of_revision(fact: RevisionFact) -> Vec<Shown> {
    let RevisionFact { name: _, hash: _, number: _, owner: _, created_at: _, change_cause, template: _ } = fact;
    shown(change_cause, CHANGE_CAUSE).collect()
}

fn of_daemonset(fact: DaemonSetFact) -> Vec<Shown> {
    let DaemonSetFact {
        namespace: _,
        name: _,
        uid: _,
        resource_version: _,
        generation: _,
        observed_generation: _,
        annotations: _,
        labels: _,
        selector: _,
        strategy: _,
        min_ready_secs: _,
        revision_history_limit: _,
        template: _,
        counters: _,
        owners: _,
        controller,
        deleting: _,
    } = fact;
    let names = controller.map(|ControllerRef { api_version, kind, name }| [api_version, kind, name]);
    shown(names.into_iter().flatten(), NAME).collect()
}

/// Reads an object of every kind, in which each string is replaced by `text` or kept.
fn read_all(text: &str, keeps: impl Fn(&str) -> bool) -> Vec<Shown> {
    let infested = |object: &Value| {
        let mut object = object.clone();
        infest(&mut object, "", text, &keeps);
        object.to_string()
    };
    let mut interner = Interner::default();
    let mut texts = Vec::new();
    for event in [event("rolldeck"), event("kubelet")] {
        let event = infested(&event);
        texts.extend(of_event(serde_json::from_str::<EventWire<'_>>(&event).unwrap().fact(&mut interner)));
    }
    for pod in [
        &pod(),
        &fixture(include_str!("fixtures/pod-running.json")),
        &fixture(include_str!("fixtures/pod-pending.json")),
    ] {
        let pod = infested(pod);
        let wire = serde_json::from_str::<PodWire<'_>>(&pod).unwrap();
        texts.extend(of_fact(wire.fact(&mut interner)));
        texts.extend(wire.warm_fact(&mut interner).map(|warm| of_fact(warm.pod)).into_iter().flatten());
    }
    let node = infested(&fixture(include_str!("fixtures/node.json")));
    let mut wanted = Wanted::default();
    wanted.add([&Str::from(text)]);
    texts.extend(of_fact(serde_json::from_str::<NodeWire<'_>>(&node).unwrap().fact(&wanted, &mut interner)));
    let daemonset = infested(&fixture(include_str!("fixtures/daemonset.json")));
    // A quantity that is none is an error, whose words are bounded as those of every failure are.
    let _ = serde_json::from_str::<FleetWire<'_>>(&daemonset).map(|wire| wire.partial());
    let daemonset: Value = serde_json::from_str(&daemonset).unwrap();
    texts.extend(daemonset_fact(daemonset).map(of_daemonset).into_iter().flatten());
    texts.extend(of_lease(lease_fact(&serde_json::from_str(&infested(&lease())).unwrap())));
    texts.extend(of_revision(revision_fact(serde_json::from_str(&infested(&revision())).unwrap())));
    texts
}

fn fixture(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// Replaces every string by `text`, unless `keeps` returns true for its field.
fn infest(value: &mut Value, field: &str, text: &str, keeps: &impl Fn(&str) -> bool) {
    match value {
        Value::String(old) if !keeps(field) => text.clone_into(old),
        Value::Array(items) => items.iter_mut().for_each(|item| infest(item, field, text, keeps)),
        Value::Object(fields) => fields.iter_mut().for_each(|(field, value)| infest(value, field, text, keeps)),
        _ => {}
    }
}

fn event(component: &str) -> Value {
    json!({"metadata": {"name": "agent.1", "resourceVersion": "7", "creationTimestamp": "2026-11-20T08:00:00Z"},
        "type": "Warning", "involvedObject": {"name": "agent-1", "uid": "u", "fieldPath": "spec.containers{agent}"},
        "source": {"component": component}, "reportingInstance": "eve@host/1", "reason": "RolloutHalted",
        "message": "halted", "count": 1})
}

fn pod() -> Value {
    let container = |state: Value| json!({"name": "agent", "imageID": "x", "state": state, "lastState": state});
    let statuses = [
        container(json!({"waiting": {"reason": "ErrImagePull", "message": "not found"}})),
        container(json!({"terminated": {"reason": "Error", "exitCode": 1, "message": "panic"}})),
    ];
    json!({"metadata": {"name": "p", "uid": "u", "resourceVersion": "7", "deletionTimestamp": "2026-11-20T08:00:00Z",
            "finalizers": ["example.com/hold"],
            "labels": {"rolldeck.io/prewarm": "u", "rolldeck.io/prewarm-images": "x", "rolldeck.io/prewarm-set": "s"}},
        "status": {"phase": "Failed", "reason": "Evicted", "message": "DiskPressure", "containerStatuses": statuses}})
}

fn lease() -> Value {
    json!({"metadata": {"uid": "u", "resourceVersion": "7",
            "annotations": {"rolldeck.io/rollout": "{", "rolldeck.io/prewarm": "{", "rolldeck.io/pace": "{"}},
        "spec": {"holderIdentity": "eve@host/1", "renewTime": "2026-11-20T08:00:00.000000Z"}})
}

fn revision() -> Value {
    json!({"metadata": {"name": "agent-1", "annotations": {"kubernetes.io/change-cause": "kubectl set image"}},
        "revision": 3, "data": {"spec": {"template": {"spec": {"containers": [{"name": "agent", "image": "agent:v1"}]}}}}})
}

/// Fields that determine the object's subject and state; they have to stay.
fn keeps_its_state(field: &str) -> bool {
    matches!(field, "component" | "type" | "status" | "phase" | "deletionTimestamp" | "operator")
}

/// Otherwise a bound is tried of nothing.
#[test]
fn a_node_has_every_text_that_is_read_of_it() {
    let node = include_str!("fixtures/node.json");
    let wire = serde_json::from_str::<NodeWire<'_>>(node).unwrap();
    let fact = serde_json::to_value(wire.fact(&Wanted::default(), &mut Interner::default())).unwrap();
    // The fact is made here without its version and its clock; both are numbers.
    let is_number = |field: &str| field == "clock_skew_millis" || field == "version";
    let missing = fact.as_object().unwrap().iter().filter(|(field, value)| value.is_null() && !is_number(field));
    assert_eq!(missing.map(|(field, _)| field).collect::<Vec<_>>(), [""; 0], "not in fixtures/node.json");
    for detail in NodeDetail::ALL {
        let text = &fact["details"][detail.reported()];
        assert!(
            text.as_str().is_some_and(|text| !text.is_empty()),
            "{} is not in fixtures/node.json",
            detail.reported()
        );
    }
}

#[test]
fn floods_are_cut_where_they_come_in() {
    for flood in ["x".repeat(50_000), "word ".repeat(10_000), "e\u{301}".repeat(20_000), "\u{301}".repeat(25_000)] {
        let texts = read_all(&flood, keeps_its_state);
        assert!(texts.len() > 20, "{texts:?}");
        for (text, limit) in texts {
            assert!(is_bounded(&text, limit), "{} bytes, at most {limit}", text.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_string_may_be_anything(text in hostile(), keeps in any::<bool>()) {
        for (text, limit) in read_all(&text, |field| keeps && keeps_its_state(field)) {
            prop_assert!(is_bounded(&text, limit), "{text:?}, at most {limit}");
        }
    }
}
