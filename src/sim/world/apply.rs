//! Carries out the kubelets' actions and the scenarios' faults on the store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::UpdateStrategy;
use crate::engine::model::prewarm::PREWARM;
use crate::engine::model::time::Timestamp;

use super::World;
use super::admission::strategy_json;
use super::error::{ApiError, Reason};
use super::kind::Kind;
use super::kubelet::{AssignedPod, KubeletAction, LEASE_NAMESPACE, LEASE_SECS};
use super::object::{Body, Condition, DaemonSetSpec, EventBody, Lease, Node, Object, Owner, Pod, PodStatus};
use super::policy::INJECTED;
use super::scenario::{ClusterFault, Fault, FleetFault};
use super::store::{DEFAULT_LOG, DeleteOptions, Propagation};
use super::write::{WriteOptions, WrittenPart};

/// The finalizer by which somebody holds a DaemonSet.
const HOLD: &str = "example.com/backup";
/// The time until a refused write is tried again.
const RETRY: Duration = Duration::from_secs(10);
const KUBELET: WriteOptions<'static> = WriteOptions::named("kubelet");
const SOMEBODY: WriteOptions<'static> = WriteOptions::named("kubectl");
/// The field manager that sets an update strategy back.
const GITOPS: WriteOptions<'static> = WriteOptions::named("argocd-controller");

impl World {
    /// Carries out a kubelet's action. An action that the store refuses is lost, as for a real kubelet, which tries again by itself.
    pub(super) fn apply(&mut self, action: KubeletAction) {
        let now = self.now;
        let _ = match action {
            KubeletAction::Register(object) => self.register(*object),
            KubeletAction::NodeStatus { node, conditions, images } => {
                let at = (Kind::Node, "", &*node);
                let written = self.store.modify(at, WrittenPart::Status, now, KUBELET, |object| {
                    if let Body::Node(node) = &mut object.body {
                        node.conditions = merged(&conditions, &node.conditions);
                        node.images = images;
                        node.reported_at = Some(now);
                    }
                });
                written.map(drop)
            }
            KubeletAction::RenewLease { node, at } => {
                self.renew(&node, at);
                Ok(())
            }
            KubeletAction::PodStatus { namespace, name, uid, status } => {
                let at = (Kind::Pod, &*namespace, &*name);
                let written = self.store.modify(at, WrittenPart::Status, now, KUBELET, |object| {
                    if let Body::Pod(pod) = &mut object.body
                        && object.meta.uid == uid
                    {
                        pod.status = with_own(*status, &pod.status);
                    }
                });
                written.map(drop)
            }
            KubeletAction::RemovePod { namespace, name, uid } => {
                let options = DeleteOptions { grace_secs: Some(0), uid: Some(uid), ..DeleteOptions::default() };
                self.store.delete(Kind::Pod, &namespace, &name, &options, now, KUBELET).map(drop)
            }
            KubeletAction::Event { namespace, name, body } => self.record(&namespace, &name, *body),
        };
    }

    /// Registers a node. A known node keeps the fields that others set; its kubelet's own fields are written again.
    fn register(&mut self, mut object: Object) -> Result<(), ApiError> {
        let (now, name) = (self.now, object.meta.name.clone());
        if let Body::Node(own) = &mut object.body {
            own.reported_at = Some(now);
        }
        if self.store.get(Kind::Node, "", &name).is_none() {
            return self.store.create(object, now, KUBELET).map(drop);
        }
        let at = (Kind::Node, "", &*name);
        let Body::Node(own) = object.body else { return Ok(()) };
        let written = self.store.modify(at, WrittenPart::Status, now, KUBELET, |object| {
            if let Body::Node(node) = &mut object.body {
                node.conditions = merged(&own.conditions, &node.conditions);
                node.images = own.images;
                node.reported_at = own.reported_at;
                node.status_rest = own.status_rest;
            }
        });
        written.map(drop)
    }

    fn renew(&mut self, node: &Str, renewed_at: Timestamp) {
        let now = self.now;
        let at = (Kind::Lease, LEASE_NAMESPACE, &**node);
        let renewed = self.store.modify(at, WrittenPart::Main, now, KUBELET, |object| {
            if let Body::Lease(lease) = &mut object.body {
                lease.renewed_at = Some(renewed_at);
            }
        });
        if renewed.is_ok() {
            return;
        }
        let Some(owner) = self.store.get(Kind::Node, "", node).cloned() else { return };
        let lease = Lease {
            holder: Some(node.clone()),
            duration_secs: Some(LEASE_SECS),
            renewed_at: Some(renewed_at),
            ..Lease::default()
        };
        let mut object = Object::new(LEASE_NAMESPACE, node, Body::Lease(lease));
        object.meta.owners = [Owner { controller: false, block_owner_deletion: false, ..owner.as_controller() }].into();
        let _ = self.store.create(object, now, KUBELET);
    }

    fn record(&mut self, namespace: &str, name: &str, body: EventBody) -> Result<(), ApiError> {
        let now = self.now;
        if self.store.get(Kind::Event, namespace, name).is_some() {
            let at = (Kind::Event, namespace, name);
            return self
                .store
                .modify(at, WrittenPart::Main, now, KUBELET, |object| object.body = Body::Event(body))
                .map(drop);
        }
        self.store.create(Object::new(namespace, name, Body::Event(body)), now, KUBELET).map(drop)
    }

    /// Makes a fault happen.
    pub(super) fn strike(&mut self, fault: &Fault) {
        match fault {
            Fault::Fleet(fault) => {
                self.fleet.inject(fault, self.now);
                if let FleetFault::Join(setup) = fault {
                    self.introduce_pods(&setup.spec.name);
                }
            }
            Fault::Cluster(fault) => self.strike_cluster(fault),
        }
    }

    /// Tells a machine that joins of the pods that are bound to a node of its name.
    fn introduce_pods(&mut self, node: &Str) {
        for object in self.store.list(Kind::Pod) {
            if let Some(seen) = AssignedPod::of(object).filter(|seen| seen.node == *node) {
                self.fleet.pod_changed(seen, self.now);
            }
        }
    }

    /// Makes the writes of a fault; a refused write (the object may be gone) is left out.
    fn strike_cluster(&mut self, fault: &ClusterFault) {
        match fault {
            ClusterFault::Label { node, labels } => self.edit_node(node, |object| {
                for (key, value) in labels {
                    object.meta.set_label(key, Some(value.as_str()).filter(|value| !value.is_empty()));
                }
            }),
            ClusterFault::Cordon(node) => self.edit_node(node, |object| set_unschedulable(object, Cordon::On)),
            ClusterFault::Uncordon(node) => self.edit_node(node, |object| set_unschedulable(object, Cordon::Off)),
            ClusterFault::Taint { node, taint } => self.edit_node(node, |object| {
                if let Body::Node(node) = &mut object.body {
                    let others =
                        node.taints.iter().filter(|other| (&other.key, other.effect) != (&taint.key, taint.effect));
                    node.taints = others.cloned().chain([taint.clone()]).collect();
                }
            }),
            ClusterFault::Untaint { node, key } => self.edit_node(node, |object| {
                if let Body::Node(node) = &mut object.body {
                    node.taints = node.taints.iter().filter(|taint| taint.key != *key).cloned().collect();
                }
            }),
            ClusterFault::DeleteNode(node) => {
                let _ = self.store.delete(Kind::Node, "", node, &DeleteOptions::default(), self.now, SOMEBODY);
            }
            ClusterFault::DeletePods { daemon_set, node } => self.delete_pods(daemon_set, node),
            ClusterFault::LabelPods { daemon_set, node, labels } => self.label_pods(daemon_set, node, labels),
            ClusterFault::HoldDaemonSet { daemon_set, held } => {
                let Some((namespace, name)) = daemon_set.split_once('/') else { return };
                let at = (Kind::DaemonSet, namespace, name);
                let done = self.store.modify(at, WrittenPart::Main, self.now, SOMEBODY, |object| {
                    let others = object.meta.finalizers.iter().filter(|finalizer| &***finalizer != HOLD).cloned();
                    object.meta.finalizers = others.chain(held.then(|| HOLD.into())).collect();
                });
                // The finalizer's owner tries again until the finalizer is removed, as controllers do: a policy may refuse that write too, because it
                // refuses the template.
                if !held && done.is_err_and(|refused| refused.reason != Reason::NotFound) {
                    self.inject_at(self.now + RETRY, fault.clone());
                }
            }
            ClusterFault::DeleteDaemonSet { daemon_set, orphan } => {
                let Some((namespace, name)) = daemon_set.split_once('/') else { return };
                let propagation = if *orphan { Propagation::Orphan } else { Propagation::Background };
                let options = DeleteOptions { propagation, ..DeleteOptions::default() };
                let _ = self.store.delete(Kind::DaemonSet, namespace, name, &options, self.now, SOMEBODY);
            }
            ClusterFault::CreateDaemonSet(plan) => {
                let _ = self.store.create(plan.object(&plan.images), self.now, SOMEBODY);
            }
            ClusterFault::AddFinalizer { daemon_set, node, finalizer } => {
                self.edit_pods(daemon_set, node, |object| {
                    // A pod that is being deleted takes no new finalizer.
                    let there = object.meta.finalizers.contains(finalizer) || object.meta.is_deleting();
                    let added = (!there).then(|| finalizer.clone());
                    object.meta.finalizers = object.meta.finalizers.iter().cloned().chain(added).collect();
                });
            }
            ClusterFault::RemoveFinalizer { daemon_set, node, finalizer } => {
                // Pods without a controller, or with another DaemonSet's by now, are included.
                let namespace = daemon_set.split_once('/').map_or("", |(namespace, _)| namespace);
                let held = self.store.list_in(Kind::Pod, namespace).filter(|object| {
                    object.meta.finalizers.contains(finalizer)
                        && object.pod_fact().is_some_and(|pod| pod.node.as_ref() == Some(node))
                });
                let held: Vec<Str> = held.map(|object| object.meta.name.clone()).collect();
                for name in held {
                    let at = (Kind::Pod, namespace, &*name);
                    let _ = self.store.modify(at, WrittenPart::Main, self.now, SOMEBODY, |object| {
                        object.meta.finalizers =
                            object.meta.finalizers.iter().filter(|it| *it != finalizer).cloned().collect();
                    });
                }
            }
            ClusterFault::SetImages { daemon_set, images } => self.edit_set(daemon_set, SOMEBODY, |spec| {
                let pairs = images.iter().map(|(name, image)| (name.as_str(), image.as_str()));
                if let Ok(template) = spec.template.with_images(pairs) {
                    spec.template = template;
                }
            }),
            ClusterFault::SetStrategy { daemon_set, kind, max_unavailable } => {
                self.edit_set(daemon_set, GITOPS, |spec| {
                    let kept = &spec.strategy;
                    let strategy = UpdateStrategy {
                        kind: *kind,
                        max_unavailable: max_unavailable.or(kept.max_unavailable),
                        ..kept.clone()
                    };
                    spec.strategy = UpdateStrategy { raw: strategy_json(&strategy), ..strategy };
                });
            }
            ClusterFault::RefusePods { namespace, why } => self.store.refuse_pods(namespace, Some(why.clone())),
            ClusterFault::AdmitPods { namespace } => self.store.refuse_pods(namespace, None),
            ClusterFault::RefuseTemplates { namespace, image, why } => {
                self.store.policies.refuse(namespace, image.clone(), why);
            }
            ClusterFault::AdmitTemplates { namespace } => self.store.policies.admit(namespace),
            ClusterFault::PinImages { namespace } => self.store.policies.pin(namespace),
            ClusterFault::UnpinImages { namespace } => self.store.policies.unpin(namespace),
            ClusterFault::SetRollingInWrites { namespace } => self.store.policies.set_rolling_only(namespace),
            ClusterFault::AdmitStrategies { namespace } => self.store.policies.admit_strategies(namespace),
            ClusterFault::InjectContainer { namespace, image } => self.store.policies.inject(namespace, image),
            ClusterFault::StopInjecting { namespace } => {
                self.store.policies.stop_injecting(namespace);
                if !self.delete_injected(namespace) {
                    self.inject_at(self.now + RETRY, fault.clone());
                }
            }
            ClusterFault::RefuseDeletion { namespace, node, why } => {
                self.store.refuse_deletion(namespace, node, Some(why.clone()));
            }
            ClusterFault::AdmitDeletion { namespace, node } => self.store.refuse_deletion(namespace, node, None),
            ClusterFault::StopController => self.daemon_sets.stop(),
            ClusterFault::StartController => self.daemon_sets.start(),
            ClusterFault::Compact => {
                self.store.keep(0);
                self.store.keep(DEFAULT_LOG);
            }
        }
    }

    fn edit_node(&mut self, node: &str, edit: impl FnOnce(&mut Object)) {
        let at = (Kind::Node, "", node);
        let _ = self.store.modify(at, WrittenPart::Main, self.now, SOMEBODY, edit);
    }

    fn edit_set(&mut self, daemon_set: &str, by: WriteOptions<'static>, edit: impl FnOnce(&mut DaemonSetSpec)) {
        let Some((namespace, name)) = daemon_set.split_once('/') else { return };
        let at = (Kind::DaemonSet, namespace, name);
        let _ = self.store.modify(at, WrittenPart::Main, self.now, by, |object| {
            if let Body::DaemonSet(set) = &mut object.body {
                edit(Arc::make_mut(&mut set.spec));
            }
        });
    }

    fn label_pods(&mut self, daemon_set: &str, node: &Str, labels: &BTreeMap<String, String>) {
        let Some((namespace, name)) = daemon_set.split_once('/') else { return };
        let owner = self.store.get(Kind::DaemonSet, namespace, name).map(|set| set.meta.uid.clone());
        let of_it = |object: &&Arc<Object>| {
            let there =
                &*object.meta.namespace == namespace && object.pod().is_some_and(|pod| pod.node.as_ref() == Some(node));
            // A pod for pre-warming does not become a pod of the application.
            let application = object.meta.labels.get(PREWARM).is_none();
            there && application && object.meta.controller().is_none_or(|controller| Some(controller) == owner.as_ref())
        };
        let pods: Vec<Str> = self.store.list(Kind::Pod).filter(of_it).map(|pod| pod.meta.name.clone()).collect();
        for pod in pods {
            let _ = self.store.modify((Kind::Pod, namespace, &pod), WrittenPart::Main, self.now, SOMEBODY, |object| {
                for (key, value) in labels {
                    object.meta.set_label(key, Some(value.as_str()).filter(|value| !value.is_empty()));
                }
            });
        }
    }

    fn edit_pods(&mut self, daemon_set: &str, node: &Str, edit: impl Fn(&mut Object)) {
        let Some((namespace, name)) = daemon_set.split_once('/') else { return };
        for pod in self.pods_of(namespace, name).remove(node).unwrap_or_default() {
            let at = (Kind::Pod, namespace, &*pod.meta.name);
            let _ = self.store.modify(at, WrittenPart::Main, self.now, SOMEBODY, &edit);
        }
    }

    /// Deletes the application's pods that have the injected container; returns whether all deletions were admitted. Pods for pre-warming are left
    /// out.
    fn delete_injected(&mut self, namespace: &str) -> bool {
        let has_it = |object: &&Arc<Object>| {
            let of_application = object.meta.labels.get(PREWARM).is_none() && !object.meta.is_deleting();
            let names = |pod: &Pod| pod.template.containers().iter().any(|container| &*container.name == INJECTED);
            of_application && object.pod().is_some_and(names)
        };
        let pods: Vec<(Str, Str)> = self
            .store
            .list_in(Kind::Pod, namespace)
            .filter(has_it)
            .map(|object| (object.meta.name.clone(), object.meta.uid.clone()))
            .collect();
        let mut all = true;
        for (name, uid) in pods {
            let options = DeleteOptions { uid: Some(uid), ..DeleteOptions::default() };
            all &= self.store.delete(Kind::Pod, namespace, &name, &options, self.now, SOMEBODY).is_ok();
        }
        all
    }

    fn delete_pods(&mut self, daemon_set: &str, node: &Str) {
        let Some((namespace, name)) = daemon_set.split_once('/') else { return };
        for pod in self.pods_of(namespace, name).remove(node).unwrap_or_default() {
            let options = DeleteOptions { uid: Some(pod.meta.uid.clone()), ..DeleteOptions::default() };
            let _ = self.store.delete(Kind::Pod, namespace, &pod.meta.name, &options, self.now, SOMEBODY);
        }
    }
}

/// Whether a node is cordoned.
#[derive(Clone, Copy)]
enum Cordon {
    On,
    Off,
}

fn set_unschedulable(object: &mut Object, cordon: Cordon) {
    if let Body::Node(Node { unschedulable, .. }) = &mut object.body {
        *unschedulable = matches!(cordon, Cordon::On);
    }
}

/// The kubelet's conditions, then the conditions that others set.
fn merged(own: &Arc<[Condition]>, present: &[Condition]) -> Arc<[Condition]> {
    let others: Vec<&Condition> =
        present.iter().filter(|condition| Condition::find(own, &condition.kind).is_none()).collect();
    if others.is_empty() { Arc::clone(own) } else { own.iter().chain(others).cloned().collect() }
}

fn with_own(own: PodStatus, present: &PodStatus) -> PodStatus {
    PodStatus { conditions: merged(&own.conditions, &present.conditions), rest: Arc::clone(&present.rest), ..own }
}
