//! The recipe that people use by hand: a StatefulSet with the new image, anti-affinity and `OrderedReady` pulls node by
//! node; then the DaemonSet is deployed.
//!
//! The StatefulSet is modelled only as far as it counts here: its pods are made one after the other, each on a node that has none yet, and the next
//! one when the last is ready. The pods stay, because kubelets may collect an image that no container uses.

use serde_json::{Value, json};

use super::super::meter::Meter;
use super::{RolloutOperator, deploy};
use crate::engine::model::Str;
use crate::engine::model::template::Template;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{Body, Object, Pod};
use crate::sim::world::scenario::RolloutPlan;
use crate::sim::world::write::WriteOptions;

const BY: WriteOptions<'static> = WriteOptions::named("kube-controller-manager");

#[derive(Debug)]
pub(in crate::sim::compare) struct PullsFirst {
    rollout: RolloutPlan,
    template: Template,
    stage: SetStage,
}

#[derive(Debug)]
enum SetStage {
    /// This many pods are made.
    Pulls(usize),
    /// The DaemonSet has its new images.
    Deployed,
}

impl PullsFirst {
    pub(in crate::sim::compare) fn new(rollout: RolloutPlan) -> Self {
        let containers = rollout.images.iter().map(|(name, image)| {
            json!({"name": name, "image": image, "imagePullPolicy": "IfNotPresent", "command": ["sleep", "infinity"]})
        });
        let template = Template::from_json(json!({
            "metadata": {"labels": {"app": label(&rollout)}},
            "spec": {
                "containers": containers.collect::<Vec<Value>>(),
                "terminationGracePeriodSeconds": 0,
                "tolerations": [{"operator": "Exists"}],
            },
        }));
        Self { rollout, template, stage: SetStage::Pulls(0) }
    }

    fn name(&self, nth: usize) -> String {
        format!("{}-{nth}", label(&self.rollout))
    }

    fn is_ready(&self, nth: usize, world: &World) -> bool {
        let pod = world.store().get(Kind::Pod, &self.rollout.daemon_set.0, &self.name(nth));
        pod.is_some_and(|object| object.pod().is_some_and(|pod| pod.ready().is_some()))
    }

    fn create(&self, nth: usize, node: Str, world: &mut World) {
        let pod = Pod { template: self.template.clone(), node: Some(node), ..Pod::default() };
        let mut object = Object::new(&self.rollout.daemon_set.0, &self.name(nth), Body::Pod(pod));
        object.meta.set_label("app", Some(&label(&self.rollout)));
        // The pod's name is new, and nothing refuses pods.
        let _ = world.create(object, BY);
    }
}

/// The value of the label `app`: no other selector matches the pods.
fn label(rollout: &RolloutPlan) -> String {
    format!("{}-pull", rollout.daemon_set.1)
}

impl RolloutOperator for PullsFirst {
    fn act(&mut self, world: &mut World, progress: &Meter) {
        let SetStage::Pulls(made) = self.stage else { return };
        if made > 0 && !self.is_ready(made - 1, world) {
            return;
        }
        match progress.nodes().iter().nth(made).cloned() {
            Some(node) => {
                self.create(made, node, world);
                self.stage = SetStage::Pulls(made + 1);
            }
            None => {
                deploy(&self.rollout, world);
                self.stage = SetStage::Deployed;
            }
        }
    }
}
