//! Carries out the writes of a process on the world as an API server would. It reads and writes the record as the cluster adapter does.

use serde_json::{Value, json};

use crate::engine::model::Str;
use crate::engine::model::effect::{
    DaemonSetPatch, Done, Effect, EffectError, EffectErrorKind, LeaseWrite, MustStay, Outcome,
};
use crate::engine::model::event::Event;
use crate::engine::model::facts::{LeaseFact, UpdateStrategy, WarmSetFact};
use crate::engine::model::failing_nodes::{FAILING, failing_text};
use crate::engine::model::labels::{Labels, Selector};
use crate::engine::model::pace::{PACE, pace_text};
use crate::engine::model::prewarm::PREWARM;
use crate::engine::model::record::{CHANGE, MANAGED_BY, ORIGINAL_STRATEGY, RECORD, Record, lease_name};
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::error::{ApiError, Reason};
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{Body, EventBody, Lease, Object, Owner, Pod};
use crate::sim::world::store::DeleteOptions;
use crate::sim::world::write::{Mode, WriteOptions, WrittenPart};

/// The field manager under which the world knows a process's writes.
pub const MANAGER: &str = "rolldeck";

/// A deletion of a pod by a console that the API server accepted; the observer judges it.
#[derive(Clone, Debug, PartialEq)]
pub struct Deletion {
    /// The time at which the deletion was accepted, by the world's clock.
    pub at: Timestamp,
    /// The identity of the process that deleted.
    pub by: Str,
    /// The pod's uid.
    pub uid: Str,
    /// The pod's node.
    pub node: Str,
}

/// The writes of consoles that the API server accepted since the list was last emptied.
#[derive(Debug, Default)]
pub struct AcceptedWrites {
    /// Deletions of pods.
    pub deletions: Vec<Deletion>,
    /// Writes of the Lease: the resource version that each made, and the identity of its writer.
    pub leases: Vec<(Str, Str)>,
}

/// The process that writes, and the DaemonSet and Lease that it writes to.
#[derive(Debug)]
pub(super) struct ApiClient {
    pub(super) identity: Str,
    pub(super) namespace: Str,
    pub(super) name: Str,
    pub(super) lease_name: String,
    /// The DaemonSet's selector, by which its pods are watched; `None` until the DaemonSet was seen.
    selector: Option<Selector>,
    /// The last record that was read or written, with its text. It is kept because most writes of a Lease only renew it.
    record: Option<(Str, Record)>,
}

impl ApiClient {
    pub(super) fn new(identity: Str, namespace: &str, name: &str) -> Self {
        let lease_name = lease_name(name);
        Self { identity, namespace: namespace.into(), name: name.into(), lease_name, selector: None, record: None }
    }

    /// Looks up the DaemonSet's selector; keeps the known one if there is no DaemonSet.
    pub(super) fn learn_selector(&mut self, world: &World) {
        let daemon_set = world.store().get(Kind::DaemonSet, &self.namespace, &self.name);
        let selector = daemon_set.and_then(|object| Some(object.daemon_set()?.spec.selector.clone()));
        self.selector = selector.or(self.selector.take());
    }

    /// Whether the process watches this pod.
    pub(super) fn selects(&self, pod: &Object) -> bool {
        self.selector.as_ref().is_none_or(|selector| selector.matches(&pod.meta.labels))
    }

    /// The fact about a Lease that the engine is given.
    pub(super) fn lease(&mut self, object: &Object) -> Option<LeaseFact> {
        let known = &mut self.record;
        object.lease_fact_by(|text| match known {
            Some((known, record)) if **known == *text => Ok(record.clone()),
            _ => {
                let record = Record::parse(text).map_err(Str::from)?;
                *known = Some((text.into(), record.clone()));
                Ok(record)
            }
        })
    }

    /// The text of a record.
    fn text_of(&mut self, record: &Record) -> Option<Str> {
        if let Some((text, _)) = self.record.as_ref().filter(|(_, known)| known == record) {
            return Some(text.clone());
        }
        let text = Str::from(serde_json::to_string(record).ok()?);
        self.record = Some((text.clone(), record.clone()));
        Some(text)
    }

    /// Carries out an effect as an API server would. Returns its outcome and, after a conflict, the current object.
    pub(super) fn apply(
        &mut self,
        effect: &Effect,
        world: &mut World,
        accepted: &mut AcceptedWrites,
    ) -> (Outcome, Option<Event>) {
        match effect {
            Effect::DeletePod { name, uid, node, .. } => {
                let options = DeleteOptions { uid: Some(uid.clone()), ..DeleteOptions::default() };
                let done = world.delete((Kind::Pod, &self.namespace, name), &options, WriteOptions::named(MANAGER));
                if done.is_ok() {
                    let (at, by) = (world.now(), self.identity.clone());
                    accepted.deletions.push(Deletion { at, by, uid: uid.clone(), node: node.clone() });
                }
                (done.map(|_| Done::PodDeleted).map_err(|error| failure(&error)), None)
            }
            Effect::TryPod { pod } => (self.try_pod(pod, world), None),
            Effect::CreateWarmPod { name, node, pod, .. } => (self.create_warm_pod((name, node), pod, world), None),
            Effect::DeleteWarmPod { name, uid, grace_secs, .. } => {
                let (uid, grace_secs) = (Some(uid.clone()), Some(*grace_secs));
                let options = DeleteOptions { uid, grace_secs, ..DeleteOptions::default() };
                let done = world.delete((Kind::Pod, &self.namespace, name), &options, WriteOptions::named(MANAGER));
                (done.map(|_| Done::WarmPodDeleted).map_err(|error| failure(&error)), None)
            }
            Effect::ListWarmSets => (Ok(Done::WarmSets(self.warm_sets(world))), None),
            Effect::CreateWarmSet { name, set, .. } => (self.create_warm_set(name, set, world), None),
            Effect::DeleteWarmSet { name, uid } => {
                let options = DeleteOptions { uid: Some(uid.clone()), ..DeleteOptions::default() };
                let key = (Kind::StatefulSet, &*self.namespace, &**name);
                let done = world.delete(key, &options, WriteOptions::named(MANAGER));
                (done.map(|_| Done::WarmSetDeleted).map_err(|error| failure(&error)), None)
            }
            Effect::PatchDaemonSet { resource_version, patch } => self.patch(resource_version, patch, world),
            Effect::WriteLease { resource_version, lease } => {
                let written = self.write_lease(resource_version.as_ref(), lease, world);
                if let (Ok(Done::Lease(fact)), _) = &written {
                    accepted.leases.push((fact.resource_version.clone(), self.identity.clone()));
                }
                written
            }
        }
    }

    fn try_pod(&self, pod: &Value, world: &mut World) -> Outcome {
        let body = Pod { template: Template::from_json(json!({"spec": pod["spec"]})), ..Pod::default() };
        let mut object = Object::new(&self.namespace, "trial", Body::Pod(body));
        object.meta.labels = Labels::from_json(&pod["metadata"]["labels"]);
        object.meta.owners = self.owner(world).into_iter().collect();
        let tried = world.create(object, WriteOptions { mode: Mode::DryRun, ..WriteOptions::named(MANAGER) });
        tried.map(|_admitted| Done::PodAdmitted).map_err(|error| failure(&error))
    }

    fn create_warm_pod(&self, (name, node): (&Str, &Str), pod: &Value, world: &mut World) -> Outcome {
        let mut spec = pod["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("nodeName");
        }
        let template = Template::from_json(json!({"spec": spec}));
        let body = Pod { template, node: Some(node.clone()), ..Pod::default() };
        let mut object = Object::new(&self.namespace, name, Body::Pod(body));
        object.meta.labels = Labels::from_json(&pod["metadata"]["labels"]);
        object.meta.owners = self.owner(world).into_iter().collect();
        let unseen = || EffectError { kind: EffectErrorKind::Unknown, message: "no pod".into(), dry_run: false };
        let made = world.create(object, WriteOptions::named(MANAGER)).map_err(|error| failure(&error))?;
        Ok(Done::WarmPodCreated(Box::new(made.warm_pod_fact().ok_or_else(unseen)?)))
    }

    fn create_warm_set(&self, name: &Str, set: &Value, world: &mut World) -> Outcome {
        let body = json!({"spec": set["spec"]});
        let mut object = Object::new(&self.namespace, name, Body::Other(Kind::StatefulSet, body.into()));
        object.meta.labels = Labels::from_json(&set["metadata"]["labels"]);
        object.meta.owners = self.owner(world).into_iter().collect();
        let made = world.create(object, WriteOptions::named(MANAGER));
        made.map(|made| Done::WarmSetCreated { uid: Some(made.meta.uid.clone()) }).map_err(|error| failure(&error))
    }

    fn warm_sets(&self, world: &World) -> Vec<WarmSetFact> {
        let store = world.store();
        let refusal = |set: &WarmSetFact| {
            let about = |event: &&EventBody| event.involved.uid == set.uid && &*event.reason == "FailedCreate";
            let events = store.list_in(Kind::Event, &self.namespace).filter_map(|object| object.event());
            events.filter(about).max_by_key(|event| event.last_at).map(|event| event.message.clone())
        };
        let sets = store.list_in(Kind::StatefulSet, &self.namespace).filter_map(|object| object.warm_set_fact());
        sets.map(|set| WarmSetFact { refused: refusal(&set), ..set }).collect()
    }

    fn patch(&self, version: &str, patch: &DaemonSetPatch, world: &mut World) -> (Outcome, Option<Event>) {
        let key = (Kind::DaemonSet, &*self.namespace, &*self.name);
        let mut write = |mode| {
            world.modify(key, WrittenPart::Main, WriteOptions { mode, ..WriteOptions::named(MANAGER) }, |object| {
                object.meta.resource_version = version.parse().unwrap_or(u64::MAX);
                change_daemon_set(object, patch);
            })
        };
        if let Some(part) = patch.must_stay()
            && let Ok(answer) = write(Mode::DryRun)
            && answer.daemon_set_fact().is_some_and(|stored| !part.holds_in(&stored))
        {
            let message = match part {
                MustStay::Template(_) => "admission would change the template",
                MustStay::OnDelete => "admission would set another update strategy",
            };
            return (Err(EffectError { kind: EffectErrorKind::Invalid, message: message.into(), dry_run: true }), None);
        }
        match write(Mode::Commit) {
            Ok(object) => {
                let fact = object.daemon_set_fact().unwrap_or_default();
                (Ok(Done::DaemonSet(Box::new(fact))), None)
            }
            Err(error) => {
                let fresh = world.store().get(Kind::DaemonSet, &self.namespace, &self.name);
                let fact = fresh.and_then(|object| object.daemon_set_fact());
                (Err(failure(&error)), fact.map(|fact| Event::DaemonSet(Box::new(fact))))
            }
        }
    }

    fn write_lease(
        &mut self,
        version: Option<&Str>,
        write: &LeaseWrite,
        world: &mut World,
    ) -> (Outcome, Option<Event>) {
        let record = write.record.as_ref().and_then(|record| self.text_of(record));
        let owner = self.owner(world);
        let of_record = write.record.as_ref().and_then(|record| record.daemonset_uid.clone());
        let name = &self.lease_name;
        let by = WriteOptions::named(MANAGER);
        let written = match version {
            None => {
                let mut object = Object::new(&self.namespace, name, Body::Lease(Lease::default()));
                object.meta.owners = owner.into_iter().collect();
                object.meta.set_label(MANAGED_BY.0, Some(MANAGED_BY.1));
                fill_lease(&mut object, write, record.as_deref());
                world.create(object, by)
            }
            Some(version) => world.modify((Kind::Lease, &self.namespace, name), WrittenPart::Main, by, |object| {
                object.meta.resource_version = version.parse().unwrap_or(u64::MAX);
                fill_lease(object, write, record.as_deref());
                // A Lease owned by an earlier DaemonSet of this name would be deleted together with that DaemonSet.
                if let Some(owner) = owner.filter(|owner| Some(&owner.uid) == of_record.as_ref()) {
                    object.meta.owners = [owner].into();
                }
            }),
        };
        match written {
            Ok(object) => match self.lease(&object) {
                Some(fact) => (Ok(Done::Lease(Box::new(fact))), None),
                None => (
                    Err(EffectError { kind: EffectErrorKind::Unknown, message: "no lease".into(), dry_run: false }),
                    None,
                ),
            },
            Err(error) => {
                let fresh = world.store().get(Kind::Lease, &self.namespace, name).cloned();
                let fact = fresh.and_then(|object| self.lease(&object));
                (Err(failure(&error)), fact.map(|fact| Event::Lease(Box::new(fact))))
            }
        }
    }

    fn owner(&self, world: &World) -> Option<Owner> {
        let daemon_set = world.store().get(Kind::DaemonSet, &self.namespace, &self.name)?;
        Some(Owner { controller: false, block_owner_deletion: false, ..daemon_set.as_controller() })
    }
}

fn change_daemon_set(object: &mut Object, patch: &DaemonSetPatch) {
    match patch {
        DaemonSetPatch::Adopt { original, .. } => object.meta.set_annotation(ORIGINAL_STRATEGY, Some(original)),
        DaemonSetPatch::Release { .. } => {
            object.meta.set_annotation(ORIGINAL_STRATEGY, None);
            object.meta.set_annotation(CHANGE, None);
        }
        DaemonSetPatch::Template { change, .. } => {
            if let Some(change) = change {
                object.meta.set_annotation(CHANGE, Some(change));
            }
        }
        DaemonSetPatch::ForgetChange => object.meta.set_annotation(CHANGE, None),
    }
    let Body::DaemonSet(daemon_set) = &mut object.body else { return };
    let spec = std::sync::Arc::make_mut(&mut daemon_set.spec);
    match patch {
        DaemonSetPatch::Adopt { .. } => {
            let mut raw = spec.strategy.raw.clone();
            raw["type"] = "OnDelete".into();
            spec.strategy = UpdateStrategy::from_json(raw);
        }
        DaemonSetPatch::Release { original, .. } => spec.strategy = UpdateStrategy::from_json(original.clone()),
        DaemonSetPatch::Template { template, .. } => spec.template = Template::from_json(template.clone()),
        DaemonSetPatch::ForgetChange => {}
    }
}

fn fill_lease(object: &mut Object, write: &LeaseWrite, record: Option<&str>) {
    let keeps = |is_none: bool| is_none && write.keeps_unreadable;
    if object.meta.annotations.get(RECORD).map(|text| &**text) != record && !keeps(record.is_none()) {
        object.meta.set_annotation(RECORD, record);
    }
    let prewarm = write.prewarm.as_ref().and_then(|prewarm| serde_json::to_string(prewarm).ok());
    if object.meta.annotations.get(PREWARM).map(|text| &**text) != prewarm.as_deref() && !keeps(prewarm.is_none()) {
        object.meta.set_annotation(PREWARM, prewarm.as_deref());
    }
    let pace = pace_text(&write.pace);
    if object.meta.annotations.get(PACE).map(|text| &**text) != pace.as_deref() {
        object.meta.set_annotation(PACE, pace.as_deref());
    }
    let failing = failing_text(write.failing.as_ref());
    if object.meta.annotations.get(FAILING).map(|text| &**text) != failing.as_deref() {
        object.meta.set_annotation(FAILING, failing.as_deref());
    }
    if let Body::Lease(lease) = &mut object.body {
        lease.holder = Some(write.holder.clone().unwrap_or_default());
        lease.duration_secs = Some(write.duration_secs);
        lease.acquired_at = write.acquired_at;
        lease.renewed_at = write.renewed_at;
        lease.transitions = Some(write.transitions);
    }
}

fn failure(error: &ApiError) -> EffectError {
    let kind = match error.reason {
        Reason::Conflict | Reason::AlreadyExists => EffectErrorKind::Conflict,
        Reason::NotFound => EffectErrorKind::NotFound,
        Reason::Unauthorized => EffectErrorKind::Unauthorized,
        Reason::Forbidden => EffectErrorKind::Forbidden,
        Reason::TooManyRequests => {
            EffectErrorKind::Throttled { retry_after_millis: u64::from(error.retry_after_secs.unwrap_or(1)) * 1000 }
        }
        Reason::InternalError | Reason::ServiceUnavailable | Reason::Timeout => EffectErrorKind::Unknown,
        Reason::BadRequest | Reason::MethodNotAllowed | Reason::Expired | Reason::Invalid => EffectErrorKind::Invalid,
    };
    EffectError { kind, message: error.message.as_str().into(), dry_run: false }
}
