//! The part of a pod that rollouts need.

use std::fmt;
use std::sync::Arc;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Clamped, Interner, Text, instant, text, words};
use crate::cluster::clip::{MESSAGE, NAME};
use crate::engine::model::Str;
use crate::engine::model::disruption::{DISRUPTION_TARGET, PodDisruption};
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
    /// Of an init container, the only sure sign of a sidecar: statuses do not tell both apart before they have started.
    #[serde(borrow)]
    restart_policy: Option<Text<'a>>,
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
    started: Option<bool>,
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
    #[serde(borrow)]
    started_at: Option<Text<'a>>,
    #[serde(borrow)]
    finished_at: Option<Text<'a>>,
}

impl Terminated<'_> {
    /// For how many seconds it ran. `None`: its kubelet does not know when it began or ended, and writes no time or that of year 1.
    fn ran_secs(&self) -> Option<u32> {
        let known = |at: &Option<Text<'_>>| instant(at).filter(|at| *at > Timestamp::default());
        let ran = known(&self.finished_at)?.since(known(&self.started_at)?);
        Some(u32::try_from(ran.as_secs()).unwrap_or(u32::MAX))
    }
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
            containers: status.containers(self.spec.as_ref(), interner),
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
            disruption: status
                .condition(DISRUPTION_TARGET)
                .filter(|target| text(&target.status) == "True")
                .and_then(|target| PodDisruption::of_reason(text(&target.reason))),
            reason,
            message,
            containers: status.containers(self.spec.as_ref(), interner),
            always_pulled: self.spec.as_ref().map(|spec| spec.always_pulled(interner)).unwrap_or_default(),
        }
    }
}

impl Spec<'_> {
    /// The role of the init container of this name.
    fn init_role(&self, name: &str) -> ContainerRole {
        let named = self.init_containers.iter().flatten().find(|container| text(&container.name) == name);
        let policy = named.and_then(|container| container.restart_policy.as_deref());
        ContainerRole::of_init_container(policy)
    }

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

    fn containers(&self, spec: Option<&Spec<'_>>, interner: &mut Interner) -> Vec<ContainerFact> {
        let init = self.init_container_statuses.iter().flatten();
        let init =
            init.map(|status| (spec.map_or(ContainerRole::Init, |spec| spec.init_role(text(&status.name))), status));
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
            last_ran_secs: last.and_then(Terminated::ran_secs),
            restarts: self.restart_count.unwrap_or_default().0,
            ready: self.ready.unwrap_or(false),
            started: self.started.unwrap_or(false),
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
mod tests;
