//! The facts that the engine is told about each object: the same that the cluster adapter reads from a real API server.

use std::sync::Arc;

use crate::engine::model::Str;
use crate::engine::model::disruption::{DISRUPTION_TARGET, PodDisruption};
use crate::engine::model::facts::{
    ClusterEvent, ConditionStatus, ContainerFact, ContainerState, ControllerRef, DaemonSetFact, LeaseFact, ListedImage,
    NodeFact, PodFact, READINESS_GATES, REPORTED_IMAGES, RevisionFact, WarmPodFact, WarmSetFact,
};
use crate::engine::model::failing_nodes::{FAILING, parse_failing};
use crate::engine::model::labels::Labels;
use crate::engine::model::node_details::NodeDetails;
use crate::engine::model::pace::{PACE, parse_pace};
use crate::engine::model::prewarm::{PREWARM, PREWARM_ATTEMPT, PREWARM_IMAGES, PREWARM_REQUEST, PREWARM_SET, Prewarm};
use crate::engine::model::record::{RECORD, Record};
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::clock_skew;
use crate::engine::rules::warm_set::nodes_of;

use super::super::kind::Kind;
use super::body::conditions;
use super::{Body, Condition, LAST_APPLIED, NodeImage, Object, TEMPLATE_GENERATION};

/// `kubernetes.io/change-cause`.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// The time as `metav1.Time` writes it: without fractions of a second.
fn written(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.millis().div_euclid(1_000) * 1_000)
}

/// The containers for whose images a kubelet always asks the registry. Images by digest are left out: the engine need not know.
fn always_pulled(template: &Template) -> Arc<[Str]> {
    let mut always = template.containers().iter().filter(|container| container.pulls_again).peekable();
    if always.peek().is_none() { Arc::default() } else { always.map(|container| container.name.clone()).collect() }
}

/// The fact with its times as they are written.
fn container_fact(container: &ContainerFact) -> ContainerFact {
    let mut fact = container.clone();
    if let ContainerState::Running { since } = &mut fact.state {
        *since = since.map(written);
    }
    fact
}

fn listed(image: &NodeImage) -> impl Iterator<Item = ListedImage> {
    image.names.iter().map(|name| ListedImage { name: name.clone(), bytes: image.bytes })
}

impl Object {
    /// The engine's fact of this node; `None` when the object is no node.
    pub fn node_fact(&self) -> Option<NodeFact> {
        let node = self.node()?;
        let ready = Condition::find(&node.conditions, conditions::READY);
        let pressure = [conditions::DISK_PRESSURE, conditions::MEMORY_PRESSURE, conditions::PID_PRESSURE]
            .into_iter()
            .find(|kind| Condition::status(&node.conditions, kind) == ConditionStatus::True);
        let info =
            |key: &str| node.status_rest["nodeInfo"][key].as_str().filter(|text| !text.is_empty()).map(Str::from);
        Some(NodeFact {
            name: self.meta.name.clone(),
            version: Some(self.meta.resource_version),
            created_at: Some(written(self.meta.created_at)),
            labels: self.meta.labels.clone(),
            taints: node.taints.to_vec(),
            unschedulable: node.unschedulable,
            ready: ready.map_or(ConditionStatus::Unknown, |ready| ready.status),
            ready_since: ready.map(|ready| written(ready.since)),
            not_ready_why: ready.and_then(|ready| match ready.status {
                ConditionStatus::True => None,
                ConditionStatus::False => ready.message.clone().or_else(|| ready.reason.clone()),
                ConditionStatus::Unknown => ready.reason.clone(),
            }),
            pressure: pressure.map(Str::from),
            images: node.images.iter().flat_map(listed).collect(),
            lists_all_images: (1..REPORTED_IMAGES).contains(&node.images.len()),
            clock_skew_millis: ready.and_then(|ready| Some(clock_skew(ready.heartbeat_at?, node.reported_at?, None))),
            details: NodeDetails::of(|detail| info(detail.reported())),
        })
    }

    /// The engine's fact of this pod; `None` when the object is no pod.
    pub fn pod_fact(&self) -> Option<PodFact> {
        let pod = self.pod()?;
        let status = &pod.status;
        let ready = Condition::find(&status.conditions, conditions::READY);
        let unscheduled = Condition::find(&status.conditions, conditions::POD_SCHEDULED)
            .filter(|condition| condition.status == ConditionStatus::False);
        let gated = ready.filter(|ready| ready.reason.as_deref() == Some(READINESS_GATES));
        let (reason, message) = match (&status.reason, unscheduled.or(gated)) {
            (None, Some(condition)) => (condition.reason.clone(), condition.message.clone()),
            (reason, _) => (reason.clone(), status.message.clone()),
        };
        Some(PodFact {
            uid: self.meta.uid.clone(),
            name: self.meta.name.clone(),
            resource_version: self.version_text(),
            node: pod.target().cloned(),
            bound: pod.node.is_some(),
            owner: self.meta.controller().cloned(),
            revision: self.meta.revision_hash().cloned(),
            template_generation: self.meta.labels.get(TEMPLATE_GENERATION).and_then(|count| count.parse().ok()),
            created_at: written(self.meta.created_at),
            deletion_at: self.meta.deletion.map(|deletion| written(deletion.at)),
            deletion_grace_secs: self.meta.deletion.map(|deletion| deletion.grace_secs),
            finalizers: if self.meta.is_deleting() { self.meta.finalizers.clone() } else { Arc::default() },
            phase: status.phase,
            ready: ready.is_some_and(|ready| ready.status == ConditionStatus::True),
            ready_since: ready.map(|ready| written(ready.since)),
            // The simulated API server serves no `managedFields` of pods.
            status_written_at: None,
            disruption: Condition::find(&status.conditions, DISRUPTION_TARGET)
                .filter(|target| target.status == ConditionStatus::True)
                .and_then(|target| PodDisruption::of_reason(target.reason.as_deref()?)),
            reason,
            message,
            containers: status.containers.iter().map(|container| container_fact(&container.fact)).collect(),
            always_pulled: always_pulled(&pod.template),
        })
    }

    /// The engine's fact of this pod, if the pod was made for pre-warming.
    pub fn warm_pod_fact(&self) -> Option<WarmPodFact> {
        let label = |key| self.meta.labels.get(key).cloned();
        let (daemonset, images) = (label(PREWARM)?, label(PREWARM_IMAGES)?);
        let (attempt, set) = (label(PREWARM_ATTEMPT), label(PREWARM_SET));
        Some(WarmPodFact { pod: self.pod_fact()?, daemonset, images, attempt, set })
    }

    /// The engine's fact of this StatefulSet, if it was made for pre-warming.
    pub fn warm_set_fact(&self) -> Option<WarmSetFact> {
        let Body::Other(Kind::StatefulSet, body) = &self.body else { return None };
        let label = |key| self.meta.labels.get(key).cloned();
        Some(WarmSetFact {
            name: self.meta.name.clone(),
            uid: self.meta.uid.clone(),
            daemonset: label(PREWARM)?,
            images: label(PREWARM_IMAGES)?,
            request: label(PREWARM_REQUEST)?,
            nodes: nodes_of(body),
            deleting: self.meta.is_deleting(),
            refused: None,
        })
    }

    /// The engine's fact of this DaemonSet; `None` when the object is no DaemonSet.
    pub fn daemon_set_fact(&self) -> Option<DaemonSetFact> {
        let daemon_set = self.daemon_set()?;
        let spec = &daemon_set.spec;
        let annotations = &self.meta.annotations;
        let annotations = if annotations.get(LAST_APPLIED).is_some() {
            let kept = annotations.iter().filter(|(key, _)| &***key != LAST_APPLIED);
            kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Labels>()
        } else {
            annotations.clone()
        };
        Some(DaemonSetFact {
            namespace: self.meta.namespace.clone(),
            name: self.meta.name.clone(),
            uid: self.meta.uid.clone(),
            resource_version: self.version_text(),
            generation: self.meta.generation,
            observed_generation: daemon_set.status.observed_generation,
            annotations,
            labels: self.meta.labels.clone(),
            selector: spec.selector.clone(),
            strategy: spec.strategy.clone(),
            min_ready_secs: spec.min_ready_secs,
            revision_history_limit: Some(spec.history_limit),
            template: spec.template.clone(),
            counters: daemon_set.status.counters,
            owners: daemon_set.owners.clone(),
            controller: self.meta.owners.iter().find(|owner| owner.controller).map(|owner| ControllerRef {
                api_version: owner.api_version.clone(),
                kind: owner.kind.clone(),
                name: owner.name.clone(),
            }),
            deleting: self.meta.is_deleting(),
        })
    }

    /// The engine's fact of this ControllerRevision; `None` when the object is no ControllerRevision.
    pub fn revision_fact(&self) -> Option<RevisionFact> {
        let revision = self.revision()?;
        Some(RevisionFact {
            name: self.meta.name.clone(),
            hash: self.meta.revision_hash().unwrap_or(&self.meta.name).clone(),
            number: revision.number,
            owner: self.meta.controller().cloned(),
            created_at: written(self.meta.created_at),
            change_cause: self.meta.annotations.get(CHANGE_CAUSE).cloned(),
            template: revision.template.clone(),
        })
    }

    /// The engine's fact of this Lease; `None` when the object is no Lease.
    pub fn lease_fact(&self) -> Option<LeaseFact> {
        self.lease_fact_by(|text| Record::parse(text).map_err(Str::from))
    }

    /// The engine's fact of this Lease, with its record read by `read`: a caller that asks often may have read it already.
    pub fn lease_fact_by(&self, read: impl FnOnce(&str) -> Result<Record, Str>) -> Option<LeaseFact> {
        let lease = self.lease()?;
        Some(LeaseFact {
            uid: self.meta.uid.clone(),
            resource_version: self.version_text(),
            holder: lease.holder.clone().filter(|holder| !holder.is_empty()),
            duration_secs: lease.duration_secs.unwrap_or_default(),
            acquired_at: lease.acquired_at,
            renewed_at: lease.renewed_at,
            transitions: lease.transitions.unwrap_or_default(),
            record: self.meta.annotations.get(RECORD).map(|text| read(text)).transpose(),
            pace: parse_pace(self.meta.annotations.get(PACE).map(|text| &**text)),
            failing: parse_failing(self.meta.annotations.get(FAILING).map(|text| &**text)),
            prewarm: self.meta.annotations.get(PREWARM).map(|text| Prewarm::parse(text)).transpose().map_err(Str::from),
        })
    }

    /// The engine's fact of this event; `None` when the object is no event.
    pub fn event_fact(&self) -> Option<ClusterEvent> {
        let event = self.event()?;
        let container = event.involved.field_path.as_deref().and_then(|path| {
            let (_, named) = path.split_once('{')?;
            named.strip_suffix('}').map(Str::from)
        });
        Some(ClusterEvent {
            version: Some(self.meta.resource_version),
            node: event.host.clone(),
            object: event.involved.uid.clone(),
            container,
            reason: event.reason.clone(),
            message: event.message.clone(),
            at: written(event.last_at),
            first_at: Some(written(event.first_at)),
            count: event.count,
            reported_by: None,
        })
    }

    /// The `resourceVersion` as clients see it.
    pub fn version_text(&self) -> Str {
        self.meta.resource_version.to_string().into()
    }
}
