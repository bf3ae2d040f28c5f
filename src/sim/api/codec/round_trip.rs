//! Tests that a rendered object is parsed as the same object, for objects whose fields are all made at random.
//!
//! The literals name every field and use no `..default()`. So a new field of the world's objects does not compile until it is made
//! here, and the test then fails until both `parse` and `render` know the field.

use std::sync::Arc;

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::{parse, to_value};
use crate::engine::model::Str;
use crate::engine::model::facts::{
    ConditionStatus, ContainerFact, ContainerState, DaemonSetCounters, FieldOwners, PodPhase, StrategyKind, Taint,
    UpdateStrategy,
};
use crate::engine::model::labels::{Labels, Selector};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::template::{ContainerRole, TaintEffect, Template};
use crate::engine::model::time::Timestamp;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{
    Body, Condition, ContainerStatus, ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetStatus, DeletionMark,
    EventBody, EventType, LastExit, Lease, Meta, Node, NodeImage, Object, ObjectRef, Owner, Pod, PodStatus,
};

#[test]
fn every_field_that_is_rendered_is_parsed_as_it_was() {
    let bodies = [node, pod, daemon_set, revision, lease, event, config_map];
    for seed in 0..300 {
        let rng = &mut Rng::with_seed(seed);
        for body in bodies {
            let object = Object { meta: meta(rng), body: body(rng) };
            let shown = to_value(&object, None);
            let read = parse(object.kind(), shown.clone(), Some(&object)).unwrap();
            assert_eq!(read, object, "seed {seed}: {shown}");
        }
    }
}

fn config_map(rng: &mut Rng) -> Body {
    Body::Other(Kind::ConfigMap, rest(rng).into())
}

// ── Values ────────────────────────────────────────────────────────────────────────────────────────────────────────────

fn one_of<T: Clone>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.usize(..all.len())].clone()
}

fn maybe<T>(rng: &mut Rng, make: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    rng.bool().then(|| make(rng))
}

fn list<T, L: FromIterator<T>>(rng: &mut Rng, mut make: impl FnMut(&mut Rng) -> T) -> L {
    (0..rng.usize(..3)).map(|_| make(rng)).collect()
}

/// Text that is not empty.
fn word(rng: &mut Rng) -> Str {
    let odd = one_of(rng, &["a", "Ready", "\"quoted\"\n", "ä\u{1f600}", "True"]);
    format!("{odd}{}", rng.u8(..)).into()
}

fn text(rng: &mut Rng) -> Str {
    maybe(rng, word).unwrap_or_default()
}

fn second(rng: &mut Rng) -> Timestamp {
    Timestamp::from_millis(1_000 * rng.i64(0..4_000_000_000))
}

/// A `metav1.MicroTime`; the world counts in milliseconds.
fn fraction(rng: &mut Rng) -> Timestamp {
    Timestamp::from_millis(rng.i64(0..4_000_000_000_000))
}

fn labels(rng: &mut Rng) -> Labels {
    list::<_, Vec<_>>(rng, |rng| (word(rng), text(rng))).into_iter().collect()
}

/// Fields that no type has: none of these names is a field of Kubernetes.
fn rest(rng: &mut Rng) -> Value {
    let values = [json!("text"), json!(-7), json!(false), json!([null, {"a": null}]), json!({"b": {"c": []}})];
    let fields: Map<_, _> = list(rng, |rng| (format!("other{}", rng.u8(..)), one_of(rng, &values)));
    if fields.is_empty() { Value::Null } else { Value::Object(fields) }
}

// ── Objects ───────────────────────────────────────────────────────────────────────────────────────────────────────────

fn meta(rng: &mut Rng) -> Meta {
    Meta {
        namespace: text(rng),
        name: text(rng),
        generate_name: maybe(rng, word),
        uid: text(rng),
        resource_version: maybe(rng, |rng| rng.u64(..)).unwrap_or_default(),
        generation: maybe(rng, |rng| rng.i64(..)).unwrap_or_default(),
        created_at: second(rng),
        deletion: maybe(rng, |rng| DeletionMark { at: second(rng), grace_secs: rng.u32(..) }),
        labels: labels(rng),
        annotations: labels(rng),
        owners: list(rng, |rng| Owner {
            api_version: text(rng),
            kind: text(rng),
            name: text(rng),
            uid: text(rng),
            controller: rng.bool(),
            block_owner_deletion: rng.bool(),
        }),
        finalizers: list(rng, text),
    }
}

fn condition(rng: &mut Rng) -> Condition {
    Condition {
        kind: text(rng).to_string().into(),
        status: one_of(rng, &[ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown]),
        since: second(rng),
        heartbeat_at: maybe(rng, second),
        reason: maybe(rng, text),
        message: maybe(rng, text),
    }
}

fn node(rng: &mut Rng) -> Body {
    let effects = [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute];
    Body::Node(Node {
        unschedulable: rng.bool(),
        taints: list(rng, |rng| Taint { key: text(rng), value: text(rng), effect: one_of(rng, &effects) }),
        spec_rest: rest(rng).into(),
        conditions: list(rng, condition),
        images: list(rng, |rng| NodeImage { names: list(rng, text), bytes: rng.u64(..) >> 1 }),
        reported_at: maybe(rng, second),
        status_rest: rest(rng).into(),
    })
}

fn template(rng: &mut Rng) -> Value {
    let mut spec = json!({"containers": [{"name": text(rng), "image": text(rng), "resources": null}]});
    let terms = json!([{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]);
    let affinities = [
        json!({"podAntiAffinity": {}}),
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}),
    ];
    let tolerations = [
        json!([{"operator": "Exists"}]),
        json!([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]),
    ];
    for (key, values) in
        [("affinity", affinities), ("tolerations", tolerations), ("hostNetwork", [true.into(), false.into()])]
    {
        if rng.bool() {
            spec[key] = one_of(rng, &values);
        }
    }
    json!({"metadata": {"labels": {"app": text(rng)}}, "spec": spec})
}

fn pod(rng: &mut Rng) -> Body {
    let mut template = template(rng);
    let pinned = maybe(rng, word);
    if pinned.is_some() && rng.bool() {
        template["spec"]["nodeName"] = "another".into();
    }
    // The statuses of init containers and of sidecars are in one list, which keeps its order.
    let inits = if rng.bool() { ContainerRole::Init } else { ContainerRole::Sidecar };
    let roles = [inits, ContainerRole::Main];
    let mut containers = Vec::new();
    for role in roles {
        containers.extend(list::<_, Vec<_>>(rng, |rng| container(rng, role)));
    }
    let is_sidecar = |container: &&ContainerStatus| container.fact.role == ContainerRole::Sidecar;
    let sidecars = containers.iter().filter(is_sidecar);
    template["spec"]["initContainers"] = sidecars
        .map(|sidecar| json!({"name": &*sidecar.fact.name, "image": &*sidecar.image, "restartPolicy": "Always"}))
        .collect();
    let phases = [PodPhase::Pending, PodPhase::Running, PodPhase::Succeeded, PodPhase::Failed, PodPhase::Unknown];
    Body::Pod(Pod {
        template: Template::from_json(template),
        pinned,
        node: maybe(rng, word),
        status: PodStatus {
            phase: one_of(rng, &phases),
            conditions: list(rng, condition),
            containers: containers.into(),
            reason: maybe(rng, text),
            message: maybe(rng, text),
            started_at: maybe(rng, second),
            host_ip: maybe(rng, text),
            pod_ip: maybe(rng, text),
            rest: rest(rng).into(),
        },
    })
}

fn container(rng: &mut Rng, role: ContainerRole) -> ContainerStatus {
    let image_id = maybe(rng, word);
    let last_exit = maybe(rng, |rng| LastExit { code: rng.i32(..), started_at: second(rng), finished_at: second(rng) });
    let states = [
        ContainerState::Waiting { reason: text(rng), message: maybe(rng, text) },
        ContainerState::Running { since: maybe(rng, second) },
        ContainerState::Terminated { reason: text(rng), exit_code: rng.i32(..), message: maybe(rng, text) },
    ];
    ContainerStatus {
        fact: ContainerFact {
            name: text(rng),
            role,
            image_present: image_id.is_some(),
            state: one_of(rng, &states),
            last_end: last_exit.and_then(|_| maybe(rng, text)),
            last_exit: last_exit.map(|exit| exit.code),
            last_ran_secs: last_exit.map(|exit| exit.ran_secs()),
            restarts: rng.u32(..),
            ready: rng.bool(),
            started: rng.bool(),
        },
        image: text(rng),
        image_id,
        last_exit,
    }
}

fn strategy(rng: &mut Rng) -> UpdateStrategy {
    let amount = |rng: &mut Rng| {
        maybe(
            rng,
            |rng| if rng.bool() { IntOrPercent::Int(rng.u32(..)) } else { IntOrPercent::Percent(rng.u8(..=100)) },
        )
    };
    let kind = one_of(rng, &[StrategyKind::RollingUpdate, StrategyKind::OnDelete]);
    let (max_unavailable, max_surge) = (amount(rng), amount(rng));
    let raw = json!({
        "type": format!("{kind:?}"),
        "rollingUpdate": {"maxUnavailable": max_unavailable, "maxSurge": max_surge},
    });
    UpdateStrategy { kind, max_unavailable, max_surge, raw }
}

fn daemon_set(rng: &mut Rng) -> Body {
    let selector_json = json!({"matchLabels": {"app": text(rng)}});
    Body::DaemonSet(DaemonSet {
        spec: Arc::new(DaemonSetSpec {
            selector: Selector::from_label_selector(&selector_json).unwrap(),
            selector_json,
            template: Template::from_json(template(rng)),
            strategy: strategy(rng),
            min_ready_secs: maybe(rng, |rng| rng.u32(..)).unwrap_or_default(),
            history_limit: rng.u32(..),
            rest: rest(rng),
        }),
        status: DaemonSetStatus {
            observed_generation: maybe(rng, |rng| rng.i64(..)).unwrap_or_default(),
            counters: DaemonSetCounters {
                desired: rng.u32(..),
                current: rng.u32(..),
                ready: rng.u32(..),
                updated: maybe(rng, |rng| rng.u32(..)).unwrap_or_default(),
                available: maybe(rng, |rng| rng.u32(..)).unwrap_or_default(),
                misscheduled: rng.u32(..),
            },
            unavailable: maybe(rng, |rng| rng.u32(..)).unwrap_or_default(),
            collision_count: maybe(rng, |rng| rng.u32(..)),
        },
        // The store keeps the owners; no client writes them.
        owners: FieldOwners::default(),
    })
}

fn revision(rng: &mut Rng) -> Body {
    Body::ControllerRevision(ControllerRevision { number: rng.i64(..), template: Template::from_json(template(rng)) })
}

fn lease(rng: &mut Rng) -> Body {
    Body::Lease(Lease {
        holder: maybe(rng, text),
        duration_secs: maybe(rng, |rng| rng.u32(..)),
        acquired_at: maybe(rng, fraction),
        renewed_at: maybe(rng, fraction),
        transitions: maybe(rng, |rng| rng.u32(..)),
        rest: rest(rng).into(),
    })
}

fn event(rng: &mut Rng) -> Body {
    let (component, host) = (text(rng), maybe(rng, word));
    let same = (component.clone(), host.clone().unwrap_or_default());
    // A reporter of its own survives the round trip only if the source has a name and differs from the reporter.
    let reporter = maybe(rng, |rng| (text(rng), text(rng))).filter(|apart| !component.is_empty() && *apart != same);
    Body::Event(EventBody {
        involved: ObjectRef {
            api_version: text(rng),
            kind: text(rng),
            namespace: text(rng),
            name: text(rng),
            uid: text(rng),
            field_path: maybe(rng, text),
        },
        severity: one_of(rng, &[EventType::Normal, EventType::Warning]),
        reason: text(rng),
        message: text(rng),
        component,
        host,
        reporter,
        first_at: second(rng),
        last_at: second(rng),
        count: rng.u32(..),
        rest: rest(rng).into(),
    })
}
