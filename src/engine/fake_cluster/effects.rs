//! What becomes of the effects of engines: an API server with its admission.

use std::time::Duration;

use serde_json::Value;

use super::FakeCluster;
use crate::engine::model::Str;
use crate::engine::model::effect::{
    DaemonSetPatch, Done, Effect, EffectError, EffectErrorKind, LeaseWrite, MustStay, Outcome,
};
use crate::engine::model::event::Event;
use crate::engine::model::facts::{LeaseFact, PodFact, WarmPodFact};
use crate::engine::model::record::{CHANGE, RECORD_LIMIT};
use crate::engine::model::template::Template;

impl FakeCluster {
    /// Carries out an effect, as an API server would, and measures how many nodes are down then.
    pub(crate) fn apply(&mut self, effect: Effect) -> Outcome {
        let outcome = self.carry_out(effect);
        if let Ok(Done::PodDeleted) = outcome {
            self.measure();
        }
        outcome
    }

    /// Carries out an effect, and leaves it to the caller to measure: after several at the same instant once is enough.
    pub(super) fn carry_out(&mut self, effect: Effect) -> Outcome {
        let refuse = |kind| Err(EffectError { kind, message: "refused".into(), dry_run: false });
        self.sent.push(match &effect {
            Effect::DeletePod { .. } => "DELETE pods",
            Effect::TryPod { .. } => "POST pods, dry run",
            Effect::CreateWarmPod { .. } => "POST pre-warm pods",
            Effect::DeleteWarmPod { .. } => "DELETE pre-warm pods",
            Effect::ListWarmSets => "GET statefulsets",
            Effect::CreateWarmSet { .. } => "POST statefulsets",
            Effect::DeleteWarmSet { .. } => "DELETE statefulsets",
            Effect::PatchDaemonSet { .. } => "PATCH daemonsets",
            Effect::WriteLease { resource_version: None, .. } => "POST leases",
            Effect::WriteLease { .. } => "PUT leases",
        });
        match effect {
            Effect::DeletePod { uid, node, not_after, .. } => {
                assert!(self.now <= not_after, "a deletion was sent too late");
                if let Some(kind) = self.undeletable.get(&node) {
                    self.denied.push((node.clone(), self.now));
                    let message = format!("delete pod agent on {node}: denied by policy").into();
                    return Err(EffectError { kind: *kind, message, dry_run: false });
                }
                let Some(pod) = self.pods.get_mut(&uid) else { return refuse(EffectErrorKind::NotFound) };
                pod.deletion_at = Some(self.now);
                pod.ready = false;
                self.version += 1;
                pod.resource_version = self.version.to_string().into();
                let pod = pod.clone();
                self.log.push(Event::Pod(Box::new(pod)));
                self.deleted.push(node);
                Ok(Done::PodDeleted)
            }
            Effect::TryPod { .. } => match &self.admits_no_pod {
                Some(said) => {
                    let (kind, message) = (EffectErrorKind::Forbidden, said.clone());
                    Err(EffectError { kind, message, dry_run: false })
                }
                None => Ok(Done::PodAdmitted),
            },
            Effect::CreateWarmPod { name, node, pod, not_after } => {
                assert!(self.now <= not_after, "a pod was sent too late");
                if let Some(said) = &self.refuses_warm {
                    return Err(EffectError {
                        kind: EffectErrorKind::Forbidden,
                        message: said.clone(),
                        dry_run: false,
                    });
                }
                if self.warm.values().any(|warm| warm.pod.name == name) {
                    return refuse(EffectErrorKind::Conflict);
                }
                if self.strips_warm_labels {
                    let uid = Str::from(format!("stripped{}", self.unlabelled.len()));
                    (self.warm_made, _) = (self.warm_made + 1, self.unlabelled.insert(uid.clone()));
                    let pod = PodFact { uid, name, node: Some(node), bound: true, ..PodFact::default() };
                    let (daemonset, images) = (Str::default(), Str::default());
                    let fact = WarmPodFact { pod, daemonset, images, attempt: None, set: None };
                    return Ok(Done::WarmPodCreated(Box::new(fact)));
                }
                Ok(Done::WarmPodCreated(Box::new(self.make_warm_pod(name, Some(node), &pod))))
            }
            Effect::DeleteWarmPod { .. } if self.keeps_warm_pods => refuse(EffectErrorKind::Forbidden),
            Effect::DeleteWarmPod { uid, grace_secs, .. } if self.hung && grace_secs > 0 => {
                let until = self.now + Duration::from_secs(grace_secs.into());
                let Some(warm) = self.warm.get_mut(&uid) else { return refuse(EffectErrorKind::NotFound) };
                self.version += 1;
                (warm.pod.deletion_at, warm.pod.deletion_grace_secs) = (Some(until), Some(grace_secs));
                warm.pod.resource_version = self.version.to_string().into();
                self.log.push(Event::WarmPod(Box::new(warm.clone())));
                Ok(Done::WarmPodDeleted)
            }
            Effect::DeleteWarmPod { uid, .. } if self.unlabelled.contains(&uid) => {
                self.unlabelled.remove(&uid);
                Ok(Done::WarmPodDeleted)
            }
            Effect::DeleteWarmPod { uid, .. } => {
                if self.warm.remove(&uid).is_none() {
                    return refuse(EffectErrorKind::NotFound);
                }
                self.log.push(Event::WarmPodGone(uid, None));
                Ok(Done::WarmPodDeleted)
            }
            Effect::ListWarmSets => Ok(self.list_sets()),
            Effect::CreateWarmSet { name, set, not_after } => {
                assert!(self.now <= not_after, "a StatefulSet was sent too late");
                self.make_set(name, &set)
            }
            Effect::DeleteWarmSet { name, uid } => self.delete_set(&name, &uid),
            Effect::PatchDaemonSet { resource_version, patch } => {
                if resource_version != self.daemonset.resource_version {
                    return refuse(EffectErrorKind::Conflict);
                }
                if let Some(refusal) = self.refuses_to_keep(&patch) {
                    return Err(EffectError { kind: EffectErrorKind::Invalid, message: refusal.into(), dry_run: true });
                }
                match patch {
                    DaemonSetPatch::Adopt { original, .. } => {
                        self.set_original(Some(original));
                        let mut raw = self.daemonset.strategy.raw.clone();
                        if !self.rolling_only {
                            raw["type"] = "OnDelete".into();
                        }
                        self.set_strategy(raw);
                    }
                    DaemonSetPatch::Template { template, change } => {
                        if let Some(refusal) = self.refuses_template(&template) {
                            // The dry run before it is refused already.
                            let message = refusal.into();
                            return Err(EffectError { kind: EffectErrorKind::Invalid, message, dry_run: true });
                        }
                        self.set_annotation(CHANGE, change.map(|change| change.to_string()));
                        let template = self.admitted(&Template::from_json(template));
                        if template == self.daemonset.template {
                            self.touch_metadata();
                        } else {
                            self.set_template(template);
                        }
                    }
                    DaemonSetPatch::ForgetChange => {
                        self.set_annotation(CHANGE, None);
                        self.touch_metadata();
                    }
                    DaemonSetPatch::Release { original, .. } => {
                        self.set_original(None);
                        self.set_annotation(CHANGE, None);
                        self.set_strategy(original);
                    }
                }
                Ok(Done::DaemonSet(Box::new(self.daemonset.clone())))
            }
            Effect::WriteLease { resource_version, lease } => {
                if let Some(said) = &self.refuses_lease {
                    let (kind, message) = (EffectErrorKind::Forbidden, said.clone());
                    return Err(EffectError { kind, message, dry_run: false });
                }
                if self.lease.is_none() && resource_version.is_some() {
                    return refuse(EffectErrorKind::NotFound);
                }
                if resource_version != self.lease.as_ref().map(|lease| lease.resource_version.clone()) {
                    return refuse(EffectErrorKind::Conflict);
                }
                Ok(Done::Lease(Box::new(self.write_lease(*lease))))
            }
        }
    }

    fn write_lease(&mut self, write: LeaseWrite) -> LeaseFact {
        let size = write.record.as_ref().map_or(0, |record| serde_json::to_string(record).unwrap().len());
        assert!(size <= RECORD_LIMIT, "a record of {size} bytes");
        self.largest_record = self.largest_record.max(size);
        self.version += 1;
        let known = self.lease.take().filter(|_| write.keeps_unreadable);
        let (kept, kept_prewarm) = known.map_or((Ok(None), Ok(None)), |known| (known.record, known.prewarm));
        let fact = LeaseFact {
            uid: "lease".into(),
            resource_version: self.version.to_string().into(),
            holder: write.holder,
            duration_secs: write.duration_secs,
            acquired_at: write.acquired_at,
            renewed_at: write.renewed_at,
            transitions: write.transitions,
            record: write.record.map_or(kept, |record| Ok(Some(record))),
            prewarm: write.prewarm.map_or(kept_prewarm, |prewarm| Ok(Some(prewarm))),
            pace: write.pace,
            failing: write.failing,
        };
        self.lease = Some(fact.clone());
        self.log.push(Event::Lease(Box::new(fact.clone())));
        fact
    }

    /// What a dry run of a patch tells that admission would change and that has to stay, if it would.
    fn refuses_to_keep(&self, patch: &DaemonSetPatch) -> Option<&'static str> {
        match patch.must_stay()? {
            MustStay::Template(template) if self.admitted(template) != *template => {
                Some("admission would change the template")
            }
            MustStay::OnDelete if self.rolling_only => Some("admission would set another update strategy"),
            MustStay::Template(_) | MustStay::OnDelete => None,
        }
    }

    /// Why admission refuses this template, if it does.
    fn refuses_template(&self, template: &Value) -> Option<&'static str> {
        let images = Template::from_json(template.clone()).images();
        let refused = images.iter().any(|image| self.refused_images.contains(image));
        refused.then_some("ValidatingAdmissionPolicy 'images' denied request: not this image")
    }

    /// What admission makes of a template.
    fn admitted(&self, template: &Template) -> Template {
        let image = template.images()[0].clone();
        if self.pins_images && !image.contains('@') {
            let pinned = format!("{image}@sha256:{:064x}", image.len());
            return template.with_images([("agent", &*pinned)]).unwrap();
        }
        template.clone()
    }
}
