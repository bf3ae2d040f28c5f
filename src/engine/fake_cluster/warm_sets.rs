//! StatefulSets for pre-warming, and their controller and scheduler.

use serde_json::Value;

use super::FakeCluster;
use crate::engine::model::Str;
use crate::engine::model::effect::{Done, EffectError, EffectErrorKind, Outcome};
use crate::engine::model::event::Event;
use crate::engine::model::facts::{ConditionStatus, ContainerState, PodPhase, WarmSetFact};
use crate::engine::model::prewarm::{PREWARM, PREWARM_IMAGES, PREWARM_REQUEST};
use crate::engine::rules::warm_set::nodes_of;

/// A StatefulSet.
#[derive(Debug)]
pub(crate) struct FakeSet {
    pub(crate) fact: WarmSetFact,
    template: Value,
    pub(crate) replicas: usize,
}

impl FakeCluster {
    pub(super) fn list_sets(&mut self) -> Done {
        self.sets_listed += 1;
        Done::WarmSets(self.sets.values().map(|set| set.fact.clone()).collect())
    }

    pub(super) fn make_set(&mut self, name: Str, set: &Value) -> Outcome {
        if self.sets.contains_key(&name) {
            return Err(EffectError { kind: EffectErrorKind::Conflict, message: "it is there".into(), dry_run: false });
        }
        if let Some(said) = &self.refuses_sets {
            return Err(EffectError { kind: EffectErrorKind::Forbidden, message: said.clone(), dry_run: false });
        }
        self.sets_made += 1;
        let label = |key: &str| Str::from(set["metadata"]["labels"][key].as_str().unwrap());
        let fact = WarmSetFact {
            name: name.clone(),
            uid: format!("set{}", self.sets_made).into(),
            daemonset: label(PREWARM),
            images: label(PREWARM_IMAGES),
            request: label(PREWARM_REQUEST),
            nodes: nodes_of(set),
            deleting: false,
            refused: None,
        };
        let replicas = usize::try_from(set["spec"]["replicas"].as_u64().unwrap()).unwrap();
        let uid = Some(fact.uid.clone());
        self.sets.insert(name, FakeSet { fact, template: set["spec"]["template"].clone(), replicas });
        self.step_sets();
        Ok(Done::WarmSetCreated { uid })
    }

    pub(super) fn delete_set(&mut self, name: &Str, uid: &Str) -> Outcome {
        if self.sets.remove(name).filter(|set| set.fact.uid == *uid).is_none() {
            return Err(EffectError {
                kind: EffectErrorKind::NotFound,
                message: "it is not there".into(),
                dry_run: false,
            });
        }
        // The garbage collector.
        let owned = self.warm.iter().filter(|(_, warm)| warm.set.as_ref() == Some(name));
        let owned: Vec<Str> = owned.map(|(uid, _)| uid.clone()).collect();
        owned.iter().for_each(|uid| self.take_warm_pod(uid));
        Ok(Done::WarmSetDeleted)
    }

    /// Each makes its next pod, if all that it has are ready. The scheduler takes the first node that it may.
    pub(crate) fn step_sets(&mut self) {
        let names: Vec<Str> = self.sets.keys().cloned().collect();
        for name in names {
            let set = &self.sets[&name];
            let pods: Vec<_> = self.warm.values().filter(|warm| warm.set.as_ref() == Some(&name)).collect();
            let (there, ready) = (pods.len(), pods.iter().all(|warm| warm.pod.ready));
            if there >= set.replicas || !ready {
                continue;
            }
            if let Some(said) = self.refuses_warm.clone() {
                self.sets.get_mut(&name).unwrap().fact.refused = Some(said);
                continue;
            }
            let taken = |node: &Str| self.warm.values().any(|warm| warm.pod.node.as_ref() == Some(node));
            let up = |node: &Str| self.nodes.get(node).is_some_and(|node| node.ready == ConditionStatus::True);
            let node = set.fact.nodes.iter().find(|node| !taken(node) && up(node)).cloned();
            let (pod, template) = (format!("{name}-{there}"), set.template.clone());
            let unscheduled = node.is_none();
            let fact = self.make_warm_pod(pod.into(), node, &template);
            if unscheduled {
                let warm = self.warm.get_mut(&fact.pod.uid).unwrap();
                warm.pod.reason = Some("Unschedulable".into());
                warm.pod.message = Some("0/20 nodes are available".into());
                let fact = warm.clone();
                self.log.push(Event::WarmPod(Box::new(fact)));
            }
        }
    }

    /// The images have arrived, and the pod sleeps.
    pub(crate) fn warm_sleeps(&mut self, node: &str) {
        self.change_warm_pod(node, |pod| {
            for container in &mut pod.containers {
                container.image_present = true;
                container.ready = true;
                container.state = ContainerState::Running { since: None };
            }
            (pod.phase, pod.ready) = (PodPhase::Running, true);
        });
        self.step_sets();
    }

    /// The images have arrived, and there is no `sleep` in one of them.
    pub(crate) fn warm_crashes(&mut self, node: &str) {
        self.change_warm_pod(node, |pod| {
            for container in &mut pod.containers {
                container.image_present = true;
                container.state = ContainerState::Waiting {
                    reason: "CrashLoopBackOff".into(),
                    message: Some("back-off 10s restarting failed container".into()),
                };
            }
        });
    }
}
