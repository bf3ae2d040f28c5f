//! A DaemonSet's pod template: the raw JSON, kept verbatim, and the few parts of it that rules read.
//!
//! The raw form is what a roll back writes; it never goes through a typed struct, so that no field is lost.

pub mod diff;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Str;
use super::image::{is_by_digest, version_of};
use super::labels::{Labels, Requirement};

/// A taint's effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods preferably stay away; never counts for DaemonSets.
    PreferNoSchedule,
    /// Running pods are evicted too.
    NoExecute,
}

/// Why there is no template with what was asked for. The callers word it, because a change of the template and pre-warming do so differently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoTemplate {
    /// The DaemonSet is not there, or not loaded yet.
    DaemonSetUnknown,
    /// The revision with this hash is not among those of the DaemonSet.
    RevisionGone(Str),
    /// The template does not have a container that was named, in words.
    Container(String),
}

/// The part of a container in the life of its pod (docs/kubernetes.md, *Sidecars*).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(test, derive(Serialize))]
pub enum ContainerRole {
    /// One of `spec.initContainers`: runs to its end before the next container starts.
    Init,
    /// One of `spec.initContainers` with `restartPolicy` Always: the next container starts once it has started, and it goes on beside the main ones.
    Sidecar,
    /// One of `spec.containers`.
    Main,
}

impl ContainerRole {
    /// The role of one of `spec.initContainers` with this `restartPolicy`.
    pub fn of_init_container(restart_policy: Option<&str>) -> Self {
        if restart_policy == Some("Always") { Self::Sidecar } else { Self::Init }
    }

    /// Whether it runs for as long as its pod does, so that its kubelet starts it again after each end, and its readiness is a part of the pod's.
    pub fn keeps_running(self) -> bool {
        match self {
            Self::Sidecar | Self::Main => true,
            Self::Init => false,
        }
    }

    /// Whether it is one of `spec.initContainers`, and its status one of `status.initContainerStatuses`.
    pub fn is_init_container(self) -> bool {
        match self {
            Self::Init | Self::Sidecar => true,
            Self::Main => false,
        }
    }
}

/// One container of a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemplateContainer {
    /// Its name.
    pub name: Str,
    /// Its image.
    pub image: Str,
    /// Its part in the life of a pod.
    pub role: ContainerRole,
    /// Whether the kubelet pulls the image even if it has one of that name, and may then get another image: `imagePullPolicy` Always
    /// with a tag, which may have been moved. A digest never names another image.
    pub pulls_again: bool,
}

/// The beginning of [`NeededImage::user`] if the user is a volume.
pub const VOLUME: &str = "volume/";

/// The user of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ImageUse {
    /// One of `spec.initContainers` that runs to its end.
    Init,
    /// One of `spec.initContainers` that goes on beside the main containers.
    Sidecar,
    /// One of `spec.containers`.
    Main,
    /// One of `spec.volumes` with an `image`: a kubelet pulls these before it starts a container (docs/kubernetes.md, *Image pulls*).
    Volume,
}

/// An image that the pods of a template need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NeededImage {
    /// The container's name; for a volume, [`VOLUME`] and the volume's name, which no container can have.
    pub user: Str,
    /// The kind of user.
    pub usage: ImageUse,
    /// The image.
    pub image: Str,
    /// As [`TemplateContainer::pulls_again`].
    pub pulls_again: bool,
}

/// A toleration of the template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Toleration {
    /// The taint key; `None` with [`TolerationOperator::Exists`] tolerates every key.
    pub key: Option<Str>,
    /// How the value is compared.
    pub operator: TolerationOperator,
    /// The value, for `Equal`.
    pub value: Str,
    /// The effect; `None` tolerates every effect.
    pub effect: Option<TaintEffect>,
}

/// How a toleration compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TolerationOperator {
    /// Same value.
    Equal,
    /// Any value.
    Exists,
    /// An operator that this version does not know: tolerates nothing.
    Unknown,
}

/// One `nodeSelectorTerm`: all its requirements must hold; an empty one matches nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeTerm {
    /// On labels.
    pub expressions: Vec<Requirement>,
    /// On fields; Kubernetes has `metadata.name` only.
    pub fields: Vec<Requirement>,
}

/// A pod template.
#[derive(Clone, Debug, Default)]
pub struct Template {
    raw: Arc<Value>,
    parts: Arc<TemplateParts>,
}

#[derive(Debug, Default, PartialEq)]
struct TemplateParts {
    containers: Vec<TemplateContainer>,
    needed_images: Vec<NeededImage>,
    node_selector: Labels,
    node_terms: Option<Vec<NodeTerm>>,
    tolerations: Vec<Toleration>,
    host_network: bool,
    node_name: Option<Str>,
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.raw, &other.raw) || self.raw == other.raw
    }
}

impl Template {
    /// Reads a pod template (`spec.template`, or `data.spec.template` of a ControllerRevision).
    ///
    /// `$patch` and an empty `metadata.creationTimestamp` are dropped: the same template has them or not, depending on the version of
    /// the server that stored it (docs/kubernetes.md, *ControllerRevisions*). A field that does not have Kubernetes' own shape is
    /// passed over.
    pub fn from_json(mut raw: Value) -> Self {
        if let Some(object) = raw.as_object_mut() {
            object.remove("$patch");
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
                && metadata.get("creationTimestamp").is_some_and(|at| at.is_null() || at.as_str() == Some(""))
            {
                metadata.remove("creationTimestamp");
            }
        }
        let parts = TemplateParts::read(&raw["spec"]);
        Self { raw: Arc::new(raw), parts: Arc::new(parts) }
    }

    /// The template as JSON, without `$patch`.
    pub fn json(&self) -> &Value {
        &self.raw
    }

    /// Its containers: init containers, sidecars among them, first; each group in its own order.
    pub fn containers(&self) -> &[TemplateContainer] {
        &self.parts.containers
    }

    /// The images that its pods need, in the order in which a kubelet asks for them: those of image volumes, of init containers, of
    /// main containers.
    pub fn needed_images(&self) -> &[NeededImage] {
        &self.parts.needed_images
    }

    /// The distinct images it needs, in the order of [`Template::needed_images`].
    pub fn images(&self) -> Vec<Str> {
        let mut images: Vec<Str> = Vec::with_capacity(self.parts.needed_images.len());
        for needed in &self.parts.needed_images {
            if !images.contains(&needed.image) {
                images.push(needed.image.clone());
            }
        }
        images
    }

    /// `spec.nodeSelector`.
    pub fn node_selector(&self) -> &Labels {
        &self.parts.node_selector
    }

    /// `requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`: one of them must match; `None` when absent.
    pub fn node_terms(&self) -> Option<&[NodeTerm]> {
        self.parts.node_terms.as_deref()
    }

    /// `spec.tolerations`, without the automatic ones.
    pub fn tolerations(&self) -> &[Toleration] {
        &self.parts.tolerations
    }

    /// `spec.hostNetwork`.
    pub fn host_network(&self) -> bool {
        self.parts.host_network
    }

    /// Whether the nodes for it are chosen as for `other`: by the same name, labels, affinity and tolerations.
    pub fn is_placed_as(&self, other: &Self) -> bool {
        let (own, other) = (&*self.parts, &*other.parts);
        (&own.node_name, &own.node_selector, &own.node_terms)
            == (&other.node_name, &other.node_selector, &other.node_terms)
            && (&own.tolerations, own.host_network) == (&other.tolerations, other.host_network)
    }

    /// `spec.nodeName`.
    pub fn node_name(&self) -> Option<&Str> {
        self.parts.node_name.as_ref()
    }

    /// This template with other images: each pair is a container's name (or `*` for all main containers) and its new image.
    ///
    /// # Errors
    /// The text names the container that the template does not have.
    pub fn with_images<'a>(&self, changes: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut raw = (*self.raw).clone();
        for (name, image) in changes {
            let mut found = false;
            for group in ["containers", "initContainers"] {
                // Not by index: on a mutable value, an index would leave a null behind if the group is missing.
                let group_of = raw.get_mut("spec").and_then(|spec| spec.get_mut(group));
                for container in group_of.and_then(Value::as_array_mut).into_iter().flatten() {
                    let named = container["name"].as_str() == Some(name);
                    if named || (name == "*" && group == "containers") {
                        container["image"] = Value::from(image);
                        found = true;
                    }
                }
            }
            if !found {
                let known: Vec<&str> = self.parts.containers.iter().map(|container| &*container.name).collect();
                return Err(format!("no container `{name}` in the template; it has {}", known.join(", ")));
            }
        }
        Ok(Self::from_json(raw))
    }
}

impl TemplateParts {
    fn read(spec: &Value) -> Self {
        let mut containers = Vec::new();
        for group in ["initContainers", "containers"] {
            for container in spec[group].as_array().into_iter().flatten() {
                let role = match group {
                    "initContainers" => ContainerRole::of_init_container(container["restartPolicy"].as_str()),
                    _ => ContainerRole::Main,
                };
                containers.push(TemplateContainer {
                    name: text(&container["name"]),
                    image: text(&container["image"]),
                    role,
                    pulls_again: pulls_again(&container["image"], &container["imagePullPolicy"]),
                });
            }
        }
        let of_container = |container: &TemplateContainer| NeededImage {
            user: container.name.clone(),
            usage: match container.role {
                ContainerRole::Init => ImageUse::Init,
                ContainerRole::Sidecar => ImageUse::Sidecar,
                ContainerRole::Main => ImageUse::Main,
            },
            image: container.image.clone(),
            pulls_again: container.pulls_again,
        };
        let needed_images = image_volumes(spec).chain(containers.iter().map(of_container)).collect();
        let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        let terms = required["nodeSelectorTerms"].as_array();
        Self {
            containers,
            needed_images,
            node_selector: Labels::from_json(&spec["nodeSelector"]),
            node_terms: terms.map(|terms| terms.iter().map(NodeTerm::read).collect()),
            tolerations: spec["tolerations"].as_array().into_iter().flatten().map(Toleration::read).collect(),
            host_network: spec["hostNetwork"].as_bool().unwrap_or(false),
            node_name: spec["nodeName"].as_str().filter(|name| !name.is_empty()).map(Str::from),
        }
    }
}

/// The images of `spec.volumes[].image`. A volume without a reference needs no image here: whoever makes the pod adds one later.
fn image_volumes(spec: &Value) -> impl Iterator<Item = NeededImage> {
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    volumes.filter_map(|volume| {
        let (image, policy) = (&volume["image"]["reference"], &volume["image"]["pullPolicy"]);
        let reference = image.as_str().filter(|reference| !reference.is_empty())?;
        Some(NeededImage {
            user: format!("{VOLUME}{}", text(&volume["name"])).into(),
            usage: ImageUse::Volume,
            image: reference.into(),
            pulls_again: pulls_again(image, policy),
        })
    })
}

/// Whether the registry is asked for the image each time: policy `Always`. Without a policy, `Always` holds for the tag `latest` and
/// for no tag (docs/kubernetes.md, *Image pulls*); API servers store the policy spelt out.
fn pulls_again(image: &Value, policy: &Value) -> bool {
    let image = image.as_str().unwrap_or_default();
    let always = match policy.as_str() {
        None | Some("") => version_of(image) == "latest",
        Some(policy) => policy == "Always",
    };
    always && !is_by_digest(image)
}

impl NodeTerm {
    /// An expression that does not parse makes the whole term match nothing, as in Kubernetes.
    fn read(term: &Value) -> Self {
        let read = |group: &str| -> Result<Vec<Requirement>, String> {
            term[group].as_array().into_iter().flatten().map(Requirement::from_json).collect()
        };
        match (read("matchExpressions"), read("matchFields")) {
            (Ok(expressions), Ok(fields)) => Self { expressions, fields },
            _ => Self::default(),
        }
    }
}

impl Toleration {
    fn read(toleration: &Value) -> Self {
        Self {
            key: toleration["key"].as_str().filter(|key| !key.is_empty()).map(Str::from),
            operator: match toleration["operator"].as_str() {
                None | Some("" | "Equal") => TolerationOperator::Equal,
                Some("Exists") => TolerationOperator::Exists,
                Some(_) => TolerationOperator::Unknown,
            },
            value: text(&toleration["value"]),
            effect: match toleration["effect"].as_str() {
                Some("NoSchedule") => Some(TaintEffect::NoSchedule),
                Some("PreferNoSchedule") => Some(TaintEffect::PreferNoSchedule),
                Some("NoExecute") => Some(TaintEffect::NoExecute),
                _ => None,
            },
        }
    }
}

fn text(value: &Value) -> Str {
    value.as_str().unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template() -> Template {
        Template::from_json(json!({
            "$patch": "replace",
            "metadata": {"creationTimestamp": null, "labels": {"app": "agent"}},
            "spec": {
                "initContainers": [{"name": "prepare", "image": "busybox:1"}],
                "containers": [{"name": "agent", "image": "agent:v1"}, {"name": "side", "image": "side:v1"}],
                "tolerations": [{"operator": "Exists"}],
            },
        }))
    }

    #[test]
    fn reads_the_same_template_whatever_the_server_stored() {
        let mut plain = template().json().clone();
        assert_eq!(template(), Template::from_json(plain.clone()));
        plain["metadata"]["creationTimestamp"] = Value::Null;
        assert_eq!(template(), Template::from_json(plain));
    }

    #[test]
    fn an_init_container_that_is_always_restarted_is_a_sidecar() {
        let container =
            |name: &str, policy: Option<&str>| json!({"name": name, "image": "x:1", "restartPolicy": policy});
        let template = Template::from_json(json!({"spec": {
            "restartPolicy": "Always",
            "initContainers": [
                container("setup", None), container("proxy", Some("Always")), container("check", Some("OnFailure"))],
            "containers": [container("agent", Some("Always"))],
        }}));
        let roles: Vec<_> = template.containers().iter().map(|container| (&*container.name, container.role)).collect();
        let (init, sidecar, main) = (ContainerRole::Init, ContainerRole::Sidecar, ContainerRole::Main);
        assert_eq!(roles, [("setup", init), ("proxy", sidecar), ("check", init), ("agent", main)]);
        let usages: Vec<_> = template.needed_images().iter().map(|needed| needed.usage).collect();
        assert_eq!(usages, [ImageUse::Init, ImageUse::Sidecar, ImageUse::Init, ImageUse::Main]);
    }

    #[test]
    fn a_tag_that_is_always_pulled_may_be_another_image_by_now() {
        let digest = format!("r.example/agent:v1@sha256:{}", "0f".repeat(32));
        for (image, policy, again) in [
            ("r.example/agent:v1", Some("Always"), true),
            ("r.example/agent:v1", Some("IfNotPresent"), false),
            ("r.example/agent:v1", None, false),
            ("r.example/agent:latest", Some("Always"), true),
            ("r.example/agent:latest", Some("IfNotPresent"), false),
            ("r.example/agent:latest", None, true),
            ("r.example:5000/agent", None, true),
            ("r.example:5000/agent", Some("Never"), false),
            (&*digest, Some("Always"), false),
            (&*digest, None, false),
        ] {
            let mut container = json!({"name": "agent", "image": image});
            container["imagePullPolicy"] = policy.into();
            let template = Template::from_json(json!({"spec": {"containers": [container]}}));
            assert_eq!(template.needed_images()[0].pulls_again, again, "{image} {policy:?}");
        }
    }

    #[test]
    fn changes_images_by_container() {
        let changed = template().with_images([("agent", "agent:v2"), ("prepare", "busybox:2")]).unwrap();
        let images: Vec<_> = changed.images().iter().map(ToString::to_string).collect();
        assert_eq!(images, ["busybox:2", "agent:v2", "side:v1"]);
        let all = template().with_images([("*", "x:1")]).unwrap();
        assert_eq!(all.images().len(), 2, "init containers keep theirs");
        let bare = Template::from_json(json!({"spec": {"containers": [{"name": "agent", "image": "agent:v1"}]}}));
        let there_and_back = bare.with_images([("agent", "agent:v2")]).unwrap().with_images([("agent", "agent:v1")]);
        assert_eq!(there_and_back.unwrap(), bare, "nothing but the image changes");
        let why = template().with_images([("agnet", "x:1")]).unwrap_err();
        assert!(why.contains("agnet") && why.contains("prepare, agent, side"), "{why}");
    }
}
