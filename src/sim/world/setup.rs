//! Sets a scenario's cluster up: a few minutes before the scenario begins, the same controllers and kubelets build it.
//!
//! A DaemonSet first gets the templates of its history, one after the other and without any node, so that each leaves a ControllerRevision. Then the
//! nodes join, with the DaemonSet's images on their disks, and its pods start.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::engine::model::facts::{StrategyKind, UpdateStrategy};
use crate::engine::model::labels::Selector;
use crate::engine::model::template::{Template, VOLUME};

use super::World;
use super::admission::strategy_json;
use super::controllers::collector::Collector;
use super::controllers::daemonset::DaemonSets;
use super::controllers::eviction::TaintEviction;
use super::controllers::lifecycle::NodeLifecycle;
use super::controllers::scheduler::Scheduler;
use super::controllers::statefulset::StatefulSets;
use super::kind::Kind;
use super::kubelet::{Kubelets, LEASE_NAMESPACE, setups};
use super::object::{Body, DaemonSet, DaemonSetSpec, Object};
use super::scenario::{DaemonSetPlan, Scenario, Tolerates};
use super::store::Store;
use super::write::{WriteOptions, WrittenPart};

const DEPLOY: WriteOptions<'static> = WriteOptions::named("kubectl-client-side-apply");
/// How long before the scenario's beginning its cluster is set up.
const BEFORE: Duration = Duration::from_secs(180);
/// How long each template of a history is the current one.
const REVISION: Duration = Duration::from_secs(1);

pub(super) fn build(scenario: &Scenario, seed: u64, uid_mark: u128) -> World {
    let now = scenario.start - BEFORE;
    let mut seeds = fastrand::Rng::with_seed(seed);
    let mut store = Store::with_uids_of_its_own(seeds.u64(..), uid_mark);
    store.remember_fresh();
    store.policies.always_pull_images = scenario.always_pull_images;
    let mut world = World {
        now,
        began_at: scenario.start,
        store,
        fleet: Kubelets::new(&scenario.sites, &scenario.images, seeds.u64(..), now),
        daemon_sets: DaemonSets::new(scenario.controller, seeds.u64(..)),
        stateful_sets: StatefulSets::default(),
        scheduler: Scheduler::new(seeds.u64(..)),
        lifecycle: NodeLifecycle::new(scenario.node_grace, seeds.u64(..), now),
        eviction: TaintEviction::default(),
        collector: Collector::new(now),
        spare: Vec::new(),
        faults: scenario.faults.iter().map(|(at, fault)| (scenario.start + *at, fault.clone())).collect(),
    };
    add_namespaces(&mut world, scenario);
    add_daemon_sets(&mut world, scenario);
    for setup in setups(scenario) {
        world.fleet.join(&setup, world.now);
    }
    world.settle();
    world.advance(scenario.start);
    world
}

fn add_namespaces(world: &mut World, scenario: &Scenario) {
    let own = scenario.daemon_sets.iter().map(|plan| &*plan.namespace);
    for name in ["default", "kube-system", "kube-public", LEASE_NAMESPACE].into_iter().chain(own) {
        if world.store.get(Kind::Namespace, "", name).is_none() {
            let body = json!({"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
            let mut namespace = Object::new("", name, Body::Other(Kind::Namespace, Arc::new(body)));
            namespace.meta.set_label("kubernetes.io/metadata.name", Some(name));
            // The names are fixed and distinct, so nothing refuses the namespaces.
            let _ = world.create(namespace, DEPLOY);
        }
    }
}

fn add_daemon_sets(world: &mut World, scenario: &Scenario) {
    let longest = scenario.daemon_sets.iter().map(|plan| plan.history.len()).max().unwrap_or(0);
    for nth in 0..=longest {
        for plan in &scenario.daemon_sets {
            let skip = longest - plan.history.len();
            match nth.checked_sub(skip) {
                Some(0) => drop(world.create(plan.object(plan.history.first().unwrap_or(&plan.images)), DEPLOY)),
                Some(later) => retemplate(world, plan, plan.history.get(later).unwrap_or(&plan.images)),
                None => {}
            }
        }
        if longest > 0 {
            world.advance(world.now + REVISION);
        }
    }
}

fn retemplate(world: &mut World, plan: &DaemonSetPlan, images: &BTreeMap<String, String>) {
    let template = plan.template(images);
    let _ = world.modify((Kind::DaemonSet, &plan.namespace, &plan.name), WrittenPart::Main, DEPLOY, |object| {
        if let Body::DaemonSet(set) = &mut object.body {
            Arc::make_mut(&mut set.spec).template = template;
        }
    });
}

impl DaemonSetPlan {
    /// The DaemonSet object, as a user would apply it.
    pub fn object(&self, images: &BTreeMap<String, String>) -> Object {
        let selector_json = json!({"matchLabels": {"app": &*self.name}});
        let strategy = UpdateStrategy {
            kind: self.strategy,
            max_unavailable: Some(self.max_unavailable),
            max_surge: (self.strategy == StrategyKind::RollingUpdate).then_some(self.max_surge),
            raw: Value::Null,
        };
        let spec = DaemonSetSpec {
            selector: Selector::from_label_selector(&selector_json).unwrap_or_default(),
            selector_json,
            template: self.template(images),
            strategy: UpdateStrategy { raw: strategy_json(&strategy), ..strategy },
            min_ready_secs: self.min_ready_secs,
            history_limit: self.history_limit,
            rest: Value::Null,
        };
        let body = Body::DaemonSet(DaemonSet { spec: Arc::new(spec), ..DaemonSet::default() });
        let mut object = Object::new(&self.namespace, &self.name, body);
        object.meta.set_label("app", Some(&self.name));
        object
    }

    /// The DaemonSet's pod template with these images.
    pub fn template(&self, images: &BTreeMap<String, String>) -> Template {
        let policy = if self.pulls_always { "Always" } else { "IfNotPresent" };
        let volumes: Vec<(&str, &String)> =
            images.iter().filter_map(|(name, image)| Some((name.strip_prefix(VOLUME)?, image))).collect();
        let mounts = volumes.iter().map(|(name, _)| json!({"name": name, "mountPath": format!("/{name}")}));
        let mounts: Vec<Value> = mounts.collect();
        let mut containers: Vec<Value> = images
            .iter()
            .filter(|(name, _)| !name.starts_with(VOLUME))
            .map(|(name, image)| {
                json!({
                    "name": name,
                    "image": image,
                    "imagePullPolicy": policy,
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                })
            })
            .collect();
        if !mounts.is_empty() {
            containers.iter_mut().for_each(|container| container["volumeMounts"] = mounts.clone().into());
        }
        let mut spec = json!({
            "containers": containers,
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": self.grace_secs,
        });
        if !volumes.is_empty() {
            let volume = |(name, image): &(&str, &String)| json!({"name": name, "image": {"reference": image, "pullPolicy": policy}});
            spec["volumes"] = volumes.iter().map(volume).collect();
        }
        if !self.node_selector.is_empty() {
            let selector = self.node_selector.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
            spec["nodeSelector"] = Value::Object(selector.collect::<Map<_, _>>());
        }
        if self.tolerates == Tolerates::Everything {
            spec["tolerations"] = json!([{"operator": "Exists"}]);
        }
        Template::from_json(json!({"metadata": {"labels": {"app": &*self.name}}, "spec": spec}))
    }
}
