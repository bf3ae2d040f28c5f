//! The part of a pod that rollouts need.

use std::fmt;
use std::sync::Arc;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Clamped, Interner, Text, instant, text, words};
use crate::cluster::clip::{MESSAGE, NAME};
use crate::engine::model::Str;
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact, PodPhase, READINESS_GATES, WarmPodFact};
use crate::engine::model::starting_pod::StartingPodFact;
use crate::engine::model::template::ContainerRole;
use crate::engine::model::time::Timestamp;

/// The most finalizers that are kept of a pod: enough to explain why the pod is not deleted.
const FINALIZERS: usize = 16;

/// A pod of the wire.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(crate) struct PodWire<'a> {
    #[serde(borrow)]
    pub(crate) metadata: PodMeta<'a>,
    #[serde(borrow)]
    spec: Option<Spec<'a>>,
    #[serde(borrow)]
    status: Option<Status<'a>>,
}

/// Metadata, with the fields that only pods need.
#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PodMeta<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) uid: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) resource_version: Option<Text<'a>>,
    #[serde(borrow)]
    creation_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    deletion_timestamp: Option<Text<'a>>,
    deletion_grace_period_seconds: Option<Clamped<u32>>,
    #[serde(borrow)]
    finalizers: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    labels: Option<PodLabels<'a>>,
    #[serde(borrow)]
    owner_references: Option<Vec<Owner<'a>>>,
    managed_fields: Option<StatusWrites>,
}

/// The time of the last write of the pod's status in `managedFields`, by the API server's clock, whoever wrote it.
#[derive(Debug, Default)]
struct StatusWrites {
    last: Option<Timestamp>,
}

/// One entry, without its list of fields.
#[derive(Deserialize, Default)]
#[serde(default)]
struct FieldsEntry<'a> {
    #[serde(borrow)]
    subresource: Option<Text<'a>>,
    #[serde(borrow)]
    time: Option<Text<'a>>,
}

impl<'de> Deserialize<'de> for StatusWrites {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfStatus;
        impl<'de> Visitor<'de> for OfStatus {
            type Value = StatusWrites;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of field managers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut writes = StatusWrites::default();
                while let Some(entry) = entries.next_element::<FieldsEntry<'de>>()? {
                    if text(&entry.subresource) == "status" {
                        writes.last = writes.last.max(instant(&entry.time));
                    }
                }
                Ok(writes)
            }
        }
        deserializer.deserialize_seq(OfStatus)
    }
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct PodLabels<'a> {
    #[serde(borrow, rename = "controller-revision-hash")]
    revision: Option<Text<'a>>,
    #[serde(borrow, rename = "pod-template-generation")]
    template_generation: Option<Text<'a>>,
    /// [`crate::engine::model::prewarm::PREWARM`].
    #[serde(borrow, rename = "rolldeck.io/prewarm")]
    prewarm: Option<Text<'a>>,
    /// [`crate::engine::model::prewarm::PREWARM_IMAGES`].
    #[serde(borrow, rename = "rolldeck.io/prewarm-images")]
    prewarm_images: Option<Text<'a>>,
    /// [`crate::engine::model::prewarm::PREWARM_ATTEMPT`].
    #[serde(borrow, rename = "rolldeck.io/prewarm-attempt")]
    prewarm_attempt: Option<Text<'a>>,
    /// [`crate::engine::model::prewarm::PREWARM_SET`].
    #[serde(borrow, rename = "rolldeck.io/prewarm-set")]
    prewarm_set: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Owner<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    uid: Option<Text<'a>>,
    controller: Option<bool>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow)]
    node_name: Option<Text<'a>>,
    #[serde(borrow)]
    affinity: Option<Affinity<'a>>,
    #[serde(borrow)]
    init_containers: Option<Vec<SpecContainer<'a>>>,
    #[serde(borrow)]
    containers: Option<Vec<SpecContainer<'a>>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct SpecContainer<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    image_pull_policy: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Affinity<'a> {
    #[serde(borrow)]
    node_affinity: Option<NodeAffinity<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct NodeAffinity<'a> {
    #[serde(borrow, rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<NodeSelector<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct NodeSelector<'a> {
    #[serde(borrow)]
    node_selector_terms: Option<Vec<Term<'a>>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Term<'a> {
    #[serde(borrow)]
    match_fields: Option<Vec<Field<'a>>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Field<'a> {
    #[serde(borrow)]
    key: Option<Text<'a>>,
    #[serde(borrow)]
    operator: Option<Text<'a>>,
    #[serde(borrow)]
    values: Option<Vec<Text<'a>>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow)]
    phase: Option<Text<'a>>,
    #[serde(borrow)]
    reason: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
    #[serde(borrow)]
    conditions: Option<Vec<Condition<'a>>>,
    #[serde(borrow)]
    init_container_statuses: Option<Vec<ContainerStatus<'a>>>,
    #[serde(borrow)]
    container_statuses: Option<Vec<ContainerStatus<'a>>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Condition<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    last_transition_time: Option<Text<'a>>,
    #[serde(borrow)]
    reason: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct ContainerStatus<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow, rename = "imageID")]
    image_id: Option<Text<'a>>,
    #[serde(borrow)]
    state: Option<State<'a>>,
    #[serde(borrow)]
    last_state: Option<State<'a>>,
    restart_count: Option<Clamped<u32>>,
    ready: Option<bool>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    waiting: Option<Waiting<'a>>,
    #[serde(borrow)]
    running: Option<Running<'a>>,
    #[serde(borrow)]
    terminated: Option<Terminated<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Waiting<'a> {
    #[serde(borrow)]
    reason: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Running<'a> {
    #[serde(borrow)]
    started_at: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Terminated<'a> {
    #[serde(borrow)]
    reason: Option<Text<'a>>,
    exit_code: Clamped<i32>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

impl PodWire<'_> {
    /// The fact in a pod for pre-warming; `None` for any other pod.
    pub(crate) fn warm_fact(&self, interner: &mut Interner) -> Option<WarmPodFact> {
        let labels = self.metadata.labels.as_ref()?;
        let (daemonset, images) = (interner.option(&labels.prewarm)?, interner.option(&labels.prewarm_images)?);
        let (attempt, set) = (interner.option(&labels.prewarm_attempt), interner.option(&labels.prewarm_set));
        Some(WarmPodFact { pod: self.fact(interner), daemonset, images, attempt, set })
    }

    /// The fact in a pod that was just made for pre-warming. A label that admission has removed is empty in it.
    pub(crate) fn made_warm_fact(&self, interner: &mut Interner) -> WarmPodFact {
        let (pod, none) = (self.fact(interner), Str::default());
        self.warm_fact(interner).unwrap_or_else(|| {
            let labels = self.metadata.labels.as_ref();
            let mut label = |label: Option<&Option<Text<'_>>>| label.and_then(|label| interner.option(label));
            let daemonset = label(labels.map(|labels| &labels.prewarm)).unwrap_or_else(|| none.clone());
            let images = label(labels.map(|labels| &labels.prewarm_images)).unwrap_or(none);
            WarmPodFact { pod, daemonset, images, attempt: None, set: None }
        })
    }

    /// The fact in a starting pod; `None` if it belongs to no DaemonSet.
    pub(crate) fn starting_fact(&self, interner: &mut Interner) -> Option<StartingPodFact> {
        let warms = self.metadata.labels.as_ref().and_then(|labels| interner.option(&labels.prewarm));
        let daemonset = warms.or_else(|| {
            let mut owners = self.metadata.owner_references.iter().flatten();
            let owner = owners.find(|owner| owner.controller == Some(true) && text(&owner.kind) == "DaemonSet")?;
            interner.option(&owner.uid)
        })?;
        let none = Status::default();
        let status = self.status.as_ref().unwrap_or(&none);
        let sandbox = status.condition("PodReadyToStartContainers");
        Some(StartingPodFact {
            uid: text(&self.metadata.uid).into(),
            daemonset,
            sandbox_ready: sandbox.map(|sandbox| text(&sandbox.status) == "True"),
            containers: status.containers(interner),
        })
    }

    pub(crate) fn fact(&self, interner: &mut Interner) -> PodFact {
        let meta = &self.metadata;
        let none = Status::default();
        let status = self.status.as_ref().unwrap_or(&none);
        let ready = status.condition("Ready");
        let unscheduled = status.condition("PodScheduled").filter(|scheduled| text(&scheduled.status) == "False");
        let gated = ready.filter(|ready| text(&ready.reason) == READINESS_GATES);
        let (reason, message) = match unscheduled.or(gated).filter(|_| text(&status.reason).is_empty()) {
            Some(condition) => (&condition.reason, &condition.message),
            None => (&status.reason, &status.message),
        };
        let (reason, message) = (interner.optional_words(reason, NAME), words(message, MESSAGE));
        let mut owners = meta.owner_references.iter().flatten();
        let owner = owners.find(|owner| owner.controller == Some(true)).and_then(|owner| interner.option(&owner.uid));
        PodFact {
            uid: text(&meta.uid).into(),
            name: text(&meta.name).into(),
            resource_version: text(&meta.resource_version).into(),
            // The view shares it with the node of that name.
            node: self.spec.as_ref().and_then(Spec::node).map(Str::from),
            bound: self.spec.as_ref().is_some_and(|spec| !text(&spec.node_name).is_empty()),
            owner,
            revision: meta.labels.as_ref().and_then(|labels| interner.option(&labels.revision)),
            template_generation: meta
                .labels
                .as_ref()
                .and_then(|labels| labels.template_generation.as_ref()?.parse().ok()),
            created_at: instant(&meta.creation_timestamp).unwrap_or_default(),
            deletion_at: instant(&meta.deletion_timestamp),
            deletion_grace_secs: meta.deletion_grace_period_seconds.map(|Clamped(secs)| secs),
            finalizers: match (&meta.deletion_timestamp, &meta.finalizers) {
                (Some(_), Some(finalizers)) => {
                    finalizers.iter().take(FINALIZERS).map(|finalizer| interner.words(finalizer, NAME)).collect()
                }
                _ => Arc::default(),
            },
            phase: status.phase(),
            ready: ready.is_some_and(|ready| text(&ready.status) == "True"),
            ready_since: ready.and_then(|ready| instant(&ready.last_transition_time)),
            status_written_at: meta.managed_fields.as_ref().and_then(|writes| writes.last),
            reason,
            message,
            containers: status.containers(interner),
            always_pulled: self.spec.as_ref().map(|spec| spec.always_pulled(interner)).unwrap_or_default(),
        }
    }
}

impl Spec<'_> {
    /// The containers with pull policy `Always`.
    fn always_pulled(&self, interner: &mut Interner) -> Arc<[Str]> {
        let containers = self.init_containers.iter().chain(&self.containers).flatten();
        let always = containers.filter(|container| text(&container.image_pull_policy) == "Always");
        let mut names = always.map(|container| interner.intern(text(&container.name))).peekable();
        if names.peek().is_none() { Arc::default() } else { names.collect() }
    }

    /// `nodeName`, else the one node that the required affinity names. Every term must name that node, and no other.
    fn node(&self) -> Option<&str> {
        let bound = text(&self.node_name);
        if !bound.is_empty() {
            return Some(bound);
        }
        let terms = self.affinity.as_ref()?.node_affinity.as_ref()?.required.as_ref()?.node_selector_terms.as_ref()?;
        let first = terms.first()?.node()?;
        terms.iter().all(|term| term.node() == Some(first)).then_some(first)
    }
}

impl Term<'_> {
    /// The one node that the term names.
    fn node(&self) -> Option<&str> {
        self.match_fields.iter().flatten().find_map(|field| {
            let names_it = text(&field.key) == "metadata.name" && text(&field.operator) == "In";
            match field.values.as_deref() {
                Some([only]) if names_it => Some(&**only),
                _ => None,
            }
        })
    }
}

impl Status<'_> {
    fn condition(&self, kind: &str) -> Option<&Condition<'_>> {
        self.conditions.iter().flatten().find(|condition| text(&condition.kind) == kind)
    }

    fn phase(&self) -> PodPhase {
        match text(&self.phase) {
            "Running" => PodPhase::Running,
            "Succeeded" => PodPhase::Succeeded,
            "Failed" => PodPhase::Failed,
            "Unknown" => PodPhase::Unknown,
            _ => PodPhase::Pending,
        }
    }

    fn containers(&self, interner: &mut Interner) -> Vec<ContainerFact> {
        let init = self.init_container_statuses.iter().flatten().map(|status| (ContainerRole::Init, status));
        let main = self.container_statuses.iter().flatten().map(|status| (ContainerRole::Main, status));
        let mut facts: Vec<ContainerFact> =
            init.chain(main).map(|(role, status)| status.fact(role, interner)).collect();
        // Nearly all pods have one or two of these facts, and there are as many vectors as pods.
        facts.shrink_to_fit();
        facts
    }
}

impl ContainerStatus<'_> {
    fn fact(&self, role: ContainerRole, interner: &mut Interner) -> ContainerFact {
        let last = self.last_state.as_ref().and_then(|state| state.terminated.as_ref());
        ContainerFact {
            name: interner.intern(text(&self.name)),
            role,
            image_present: !text(&self.image_id).is_empty(),
            state: self.state.as_ref().map_or_else(waiting, |state| state.fact(interner)),
            last_end: last.and_then(|last| interner.optional_words(&last.reason, NAME)),
            last_exit: last.map(|last| last.exit_code.0),
            restarts: self.restart_count.unwrap_or_default().0,
            ready: self.ready.unwrap_or(false),
        }
    }
}

impl State<'_> {
    fn fact(&self, interner: &mut Interner) -> ContainerState {
        match self {
            Self { running: Some(running), .. } => ContainerState::Running { since: instant(&running.started_at) },
            Self { terminated: Some(ended), .. } => ContainerState::Terminated {
                reason: interner.words(text(&ended.reason), NAME),
                exit_code: ended.exit_code.0,
                message: words(&ended.message, MESSAGE),
            },
            Self { waiting: Some(waiting), .. } => ContainerState::Waiting {
                reason: interner.words(text(&waiting.reason), NAME),
                message: words(&waiting.message, MESSAGE),
            },
            _ => waiting(),
        }
    }
}

/// The state of a container without a reported state: waiting, as the API defines it.
fn waiting() -> ContainerState {
    ContainerState::Waiting { reason: Str::from(""), message: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> PodFact {
        serde_json::from_str::<PodWire<'_>>(json).unwrap().fact(&mut Interner::default())
    }

    #[test]
    fn a_running_pod_as_the_api_server_writes_it() {
        let pod = read(include_str!("fixtures/pod-running.json"));
        assert_eq!((&*pod.name, &*pod.uid), ("agent-x7k2p", "0b6a4f0e-8c8e-4f5d-9a2e-0c9c6b2f1a11"));
        assert_eq!(pod.node.as_deref(), Some("ipc-a-07"));
        assert_eq!(pod.owner.as_deref(), Some("ds-uid"));
        assert_eq!(pod.revision.as_deref(), Some("7d9f8c6b5"));
        assert_eq!(pod.phase, PodPhase::Running);
        assert!(pod.ready && pod.reason.is_none() && pod.deletion_at.is_none());
        assert_eq!(pod.ready_since, Timestamp::parse("2026-11-20T08:00:05Z").ok());
        let [init, main] = &pod.containers[..] else { panic!("{:?}", pod.containers) };
        assert_eq!((init.role, main.role), (ContainerRole::Init, ContainerRole::Main));
        assert!(
            matches!(&init.state, ContainerState::Terminated { reason, exit_code: 0, .. } if &**reason == "Completed")
        );
        assert!(main.ready && main.image_present && main.restarts == 1);
        assert!(pod.always_pulled.is_empty());
        let always = include_str!("fixtures/pod-running.json").replace("IfNotPresent", "Always");
        assert_eq!(read(&always).always_pulled.to_vec(), [crate::engine::model::Str::from("agent")]);
        assert_eq!(main.last_end.as_deref(), Some("OOMKilled"));
    }

    #[test]
    fn the_last_write_of_the_status_is_dated_by_the_api_server_whoever_wrote_it() {
        let at = |entries: &str| {
            let json = format!(r#"{{"metadata": {{"managedFields": [{entries}]}}}}"#);
            read(&json).status_written_at.map(|at| at.to_rfc3339())
        };
        let entry = |manager: &str, more: &str, at: &str| {
            format!(
                r#"{{"manager": "{manager}", "operation": "Update"{more}, "time": "{at}", "fieldsV1": {{"f:status": {{}}}}}}"#
            )
        };
        let of_status = r#", "subresource": "status""#;
        let made = entry("kube-controller-manager", "", "2026-11-20T08:00:09Z");
        let ready = entry("k3s", of_status, "2026-11-20T08:00:07Z");
        let gate = entry("gate-writer", of_status, "2026-11-20T08:00:06Z");
        assert_eq!(at(&[made.clone(), ready, gate].join(", ")).as_deref(), Some("2026-11-20T08:00:07Z"));
        assert_eq!(at(&made), None);
        assert_eq!(at(""), None);
    }

    #[test]
    fn a_pod_of_another_node_adds_nothing_to_what_is_interned() {
        let json = include_str!("fixtures/pod-running.json");
        let mut interner = Interner::default();
        let mut read = |json: &str| {
            let fact = serde_json::from_str::<PodWire<'_>>(json).unwrap().fact(&mut interner);
            (fact.node, interner.len())
        };
        let (_, known) = read(json);
        assert_eq!(read(&json.replace("ipc-a-07", "ipc-a-08")), (Some("ipc-a-08".into()), known));
    }

    #[test]
    fn a_pod_that_waits_for_its_node_belongs_to_it_already() {
        let pod = read(include_str!("fixtures/pod-pending.json"));
        assert_eq!(pod.node.as_deref(), Some("ipc-b-01"));
        assert_eq!(pod.reason.as_deref(), Some("Unschedulable"));
        assert!(pod.message.is_some_and(|message| message.contains("Too many pods")));
        assert!(pod.containers.is_empty());
    }

    /// Every other reason of `Ready=False` only repeats the states of the containers.
    #[test]
    fn readiness_gates_that_are_not_met_are_its_reason() {
        let said = |reason: &str, status: &str| {
            let json = format!(
                r#"{{"metadata":{{"uid":"p"}},"status":{{"phase":"Running"{status},"conditions":[
                {{"type":"Ready","status":"False","reason":"{reason}","message":"gate"}}]}}}}"#
            );
            let pod = read(&json);
            (pod.reason.map(|reason| reason.to_string()), pod.message.map(|message| message.to_string()))
        };
        assert_eq!(said(READINESS_GATES, ""), (Some(READINESS_GATES.into()), Some("gate".into())));
        assert_eq!(said("ContainersNotReady", ""), (None, None));
        assert_eq!(said(READINESS_GATES, r#","reason":"Evicted""#), (Some("Evicted".into()), None));
    }

    #[test]
    fn a_starting_pod_belongs_to_a_daemonset_or_warms_its_images() {
        let read = |kind: &str, labels: &str, conditions: &str| {
            let json = format!(
                r#"{{"metadata":{{"uid":"p","labels":{{{labels}}},"ownerReferences":[{{"kind":"{kind}","uid":"owner",
                "controller":true}}]}},"status":{{"phase":"Pending","conditions":[{conditions}],"containerStatuses":[
                {{"name":"agent","state":{{"waiting":{{"reason":"ContainerCreating"}}}}}}]}}}}"#
            );
            serde_json::from_str::<PodWire<'_>>(&json).unwrap().starting_fact(&mut Interner::default())
        };
        let sandbox = |status: &str| format!(r#"{{"type":"PodReadyToStartContainers","status":"{status}"}}"#);
        let pod = read("DaemonSet", "", &sandbox("True")).unwrap();
        assert_eq!((&*pod.uid, &*pod.daemonset, pod.sandbox_ready), ("p", "owner", Some(true)));
        assert_eq!(pod.containers.len(), 1);
        assert_eq!(read("DaemonSet", "", &sandbox("False")).unwrap().sandbox_ready, Some(false));
        assert_eq!(read("DaemonSet", "", "").unwrap().sandbox_ready, None, "a kubelet before 1.29");
        let warm = read("StatefulSet", r#""rolldeck.io/prewarm":"daemonset""#, "").unwrap();
        assert_eq!(&*warm.daemonset, "daemonset");
        assert_eq!(read("ReplicaSet", "", ""), None);
    }

    #[test]
    fn no_more_finalizers_are_kept_than_are_read() {
        let names: Vec<String> = (0..500).map(|nth| format!(r#""example.com/{nth}""#)).collect();
        let pod = read(&format!(
            r#"{{"metadata":{{"name":"p","deletionTimestamp":"2026-11-21T10:00:30Z","finalizers":[{}]}}}}"#,
            names.join(",")
        ));
        assert_eq!((pod.finalizers.len(), &*pod.finalizers[0]), (FINALIZERS, "example.com/0"));
    }

    #[test]
    fn an_affinity_to_several_nodes_is_no_node() {
        let pod = read(
            r#"{"metadata":{"name":"p"},"spec":{"affinity":{"nodeAffinity":{
            "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[
            {"key":"metadata.name","operator":"In","values":["a","b"]}]}]}}}}}"#,
        );
        assert_eq!(pod.node, None);
        let term = |node: &str| {
            format!(r#"{{"matchFields":[{{"key":"metadata.name","operator":"In","values":["{node}"]}}]}}"#)
        };
        let of = |terms: &str| {
            read(&format!(
                r#"{{"metadata":{{"name":"p"}},"spec":{{"affinity":{{"nodeAffinity":{{
                "requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{terms}]}}}}}}}}}}"#
            ))
        };
        assert_eq!(of(&format!("{},{}", term("a"), term("b"))).node, None, "terms are alternatives");
        assert_eq!(of(&format!("{},{}", term("a"), term("a"))).node.as_deref(), Some("a"));
    }

    #[test]
    fn pull_trouble_keeps_the_kubelets_words() {
        let pod = read(
            r#"{"metadata":{"name":"p","deletionTimestamp":"2026-11-21T10:00:30Z","deletionGracePeriodSeconds":30},
            "status":{"phase":"Pending","containerStatuses":[{"name":"agent","ready":false,"imageID":"","restartCount":0,
            "state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image \"agent:v9\""}}}]}}"#,
        );
        let ContainerState::Waiting { reason, message } = &pod.containers[0].state else { panic!() };
        assert_eq!((&**reason, message.as_deref()), ("ImagePullBackOff", Some("Back-off pulling image \"agent:v9\"")));
        assert!(!pod.containers[0].image_present);
        assert_eq!((pod.deletion_grace_secs, pod.deletion_at.is_some()), (Some(30), true));
    }

    #[test]
    fn what_keeps_a_pod_is_of_note_once_it_is_to_go() {
        let held = r#""finalizers":["example.com/hold"]"#;
        let going = format!(r#"{{"metadata":{{"name":"p",{held},"deletionTimestamp":"2026-11-21T10:00:30Z"}}}}"#);
        assert_eq!(read(&going).finalizers.to_vec(), [crate::engine::model::Str::from("example.com/hold")]);
        assert!(read(&format!(r#"{{"metadata":{{"name":"p",{held}}}}}"#)).finalizers.is_empty());
        assert!(read(r#"{"metadata":{"name":"p"},"spec":{"nodeName":"n1"}}"#).bound);
        assert!(!read(include_str!("fixtures/pod-pending.json")).bound);
    }

    #[test]
    fn an_evicted_pod_says_so() {
        let pod = read(
            r#"{"metadata":{"name":"p"},"status":{"phase":"Failed","reason":"Evicted",
            "message":"The node had condition: [DiskPressure]. "}}"#,
        );
        assert_eq!((pod.phase, pod.reason.as_deref()), (PodPhase::Failed, Some("Evicted")));
    }
}
