//! Admission policies. Three are on DaemonSets: one refuses images in templates (a ValidatingAdmissionPolicy, a webhook), one writes digests for tags
//! (a MutatingAdmissionPolicy, as image policies do), and one sets the update strategy. Two are on pods: the plugin `AlwaysPullImages`, and one that
//! adds a container, as webhooks of meshes do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::model::Str;
use crate::engine::model::facts::{StrategyKind, UpdateStrategy};
use crate::engine::model::template::Template;

use super::error::{ApiError, Reason};
use super::kind::Kind;
use super::object::{Body, DaemonSet, Object};

/// The name of the container that a policy adds to new pods.
pub const INJECTED: &str = "mesh-proxy";

/// The policies that are in force, by namespace.
#[derive(Debug, Default)]
pub(super) struct AdmissionPolicies {
    /// The image that no template may have (`None`: no template may change), and the message of the refusal.
    refused: BTreeMap<Str, (Option<Str>, Str)>,
    pinned: BTreeSet<Str>,
    /// The namespaces in which every written DaemonSet becomes `RollingUpdate`.
    rolling_only: BTreeSet<Str>,
    /// The image of the container that is added to new pods.
    injected: BTreeMap<Str, Str>,
    /// Whether new pods get the pull policy `Always`.
    pub(super) always_pull_images: bool,
}

impl AdmissionPolicies {
    pub(super) fn refuse(&mut self, namespace: &Str, image: Option<Str>, why: &Str) {
        self.refused.insert(namespace.clone(), (image, why.clone()));
    }

    pub(super) fn admit(&mut self, namespace: &Str) {
        self.refused.remove(namespace);
    }

    pub(super) fn pin(&mut self, namespace: &Str) {
        self.pinned.insert(namespace.clone());
    }

    pub(super) fn unpin(&mut self, namespace: &Str) {
        self.pinned.remove(namespace);
    }

    pub(super) fn set_rolling_only(&mut self, namespace: &Str) {
        self.rolling_only.insert(namespace.clone());
    }

    pub(super) fn admit_strategies(&mut self, namespace: &Str) {
        self.rolling_only.remove(namespace);
    }

    pub(super) fn inject(&mut self, namespace: &Str, image: &Str) {
        self.injected.insert(namespace.clone(), image.clone());
    }

    pub(super) fn stop_injecting(&mut self, namespace: &Str) {
        self.injected.remove(namespace);
    }

    /// Rewrites an object that is updated, whoever writes it: also a template or a strategy that the writer did not mean to change.
    pub(super) fn mutate(&self, object: &mut Object) {
        let Body::DaemonSet(set) = &mut object.body else { return };
        if self.pinned.contains(&object.meta.namespace) {
            pin(set);
        }
        if self.rolling_only.contains(&object.meta.namespace) {
            set_rolling(set);
        }
    }

    /// Rewrites a new object.
    pub(super) fn mutate_new(&self, object: &mut Object) {
        match &mut object.body {
            Body::Pod(pod) => {
                if self.always_pull_images {
                    pod.template = always_pulled(&pod.template);
                }
                if let Some(image) = self.injected.get(&object.meta.namespace) {
                    pod.template = with_injected(&pod.template, image);
                }
            }
            Body::DaemonSet(set) if self.rolling_only.contains(&object.meta.namespace) => set_rolling(set),
            _ => {}
        }
    }

    /// Refuses an object that a policy forbids, before it is stored.
    pub(super) fn validate(&self, before: &Object, after: &Object) -> Result<(), ApiError> {
        let Some((image, why)) = self.refused.get(&after.meta.namespace) else { return Ok(()) };
        let (Body::DaemonSet(old), Body::DaemonSet(new)) = (&before.body, &after.body) else { return Ok(()) };
        if old.spec.template == new.spec.template {
            return Ok(());
        }
        match image {
            None => Err(ApiError::forbidden(Kind::DaemonSet, &after.meta.name, why)),
            Some(image) if new.spec.template.images().iter().any(|has| tag_of(has) == &**image) => {
                let name = &after.meta.name;
                Err(ApiError::new(Reason::Invalid, format!("daemonsets.apps \"{name}\" is forbidden: {why}")))
            }
            Some(_) => Ok(()),
        }
    }
}

/// Writes digests for the tags of a template.
fn pin(set: &mut DaemonSet) {
    let tagged = |image: &str| !image.is_empty() && !image.contains('@');
    let containers = set.spec.template.containers().iter().filter(|container| tagged(&container.image));
    let pinned: Vec<(Str, String)> =
        containers.map(|container| (container.name.clone(), with_digest(&container.image))).collect();
    let pairs = pinned.iter().map(|(name, image)| (&**name, image.as_str()));
    if !pinned.is_empty()
        && let Ok(template) = set.spec.template.with_images(pairs)
    {
        Arc::make_mut(&mut set.spec).template = template;
    }
}

/// Sets the type `RollingUpdate` instead of another one; the strategy's other fields stay.
fn set_rolling(set: &mut DaemonSet) {
    if set.spec.strategy.kind != StrategyKind::RollingUpdate {
        let mut raw = set.spec.strategy.raw.clone();
        raw["type"] = "RollingUpdate".into();
        Arc::make_mut(&mut set.spec).strategy = UpdateStrategy::from_json(raw);
    }
}

/// The template with the injected container.
fn with_injected(template: &Template, image: &str) -> Template {
    let mut json = template.json().clone();
    if let Some(containers) = json["spec"]["containers"].as_array_mut() {
        containers.push(json!({"name": INJECTED, "image": image}));
    }
    Template::from_json(json)
}

/// The template with the pull policy `Always` for every container and image volume.
fn always_pulled(template: &Template) -> Template {
    let mut json = template.json().clone();
    let spec = &mut json["spec"];
    for group in ["initContainers", "containers"] {
        for container in spec.get_mut(group).and_then(Value::as_array_mut).into_iter().flatten() {
            container["imagePullPolicy"] = "Always".into();
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(image) = volume.get_mut("image") {
            image["pullPolicy"] = "Always".into();
        }
    }
    Template::from_json(json)
}

/// An image by its tag, with the digest that it has in this world: `agent:v2@sha256:…`.
pub fn with_digest(image: &str) -> String {
    let digest = image
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{image}@sha256:{digest:064x}")
}

/// The image without its digest.
pub fn tag_of(image: &str) -> &str {
    image.split_once('@').map_or(image, |(tag, _)| tag)
}
