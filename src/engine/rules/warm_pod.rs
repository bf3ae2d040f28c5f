//! The pod that brings images to one node.
//!
//! It has the same images, namespace, service account, pull secrets and tolerations as the DaemonSet's own pod, so that its kubelet
//! pulls with the same rights, and lets it go on using what was pulled (docs/kubernetes.md, *Image pulls*). It takes nothing
//! else from the template: no volumes but those that are images, no ports, probes or host namespaces. It passes Pod Security *restricted* and requests
//! no resources.
//!
//! Each container is told to sleep. Whether it can does not matter: the pull comes before the start. A container that cannot
//! start has ended, and its pod stays: a kubelet does not collect the images of a pod that exists.

use serde_json::{Map, Value, json};

use super::eligibility::TOLERATED;
use crate::engine::model::Str;
use crate::engine::model::prewarm::{PREWARM, PREWARM_ATTEMPT, PREWARM_IMAGES, Prewarm};
use crate::engine::model::record::MANAGED_BY;
use crate::engine::model::template::{ImageUse, NeededImage, TaintEffect, Template};

/// The most characters of the DaemonSet's name in the name of such a pod: with the rest it stays below 253. Longer names are cut.
const NAME_LENGTH: usize = 230;
/// The command of the containers, which works if the image has it.
const SLEEP: [&str; 2] = ["sleep", "2147483647"];
/// The beginning of the names of containers that bring an image; a number follows.
const CONTAINER: &str = "image-";
/// Labels that tell injectors of sidecars to leave the pod alone.
const NO_SIDECAR_LABELS: [(&str, &str); 2] =
    [("sidecar.istio.io/inject", "false"), ("kuma.io/sidecar-injection", "disabled")];
/// Annotations that tell other injectors to leave the pod alone.
const NO_SIDECAR_ANNOTATIONS: [(&str, &str); 3] = [
    ("sidecar.istio.io/inject", "false"),
    ("linkerd.io/inject", "disabled"),
    ("consul.hashicorp.com/connect-inject", "false"),
];
/// The user `nobody`, who is not root and whom no image is likely to use.
const NOBODY: u32 = 65534;
/// Identifies a set of images, in whatever order: 16 hexadecimal digits, the same in every version of rolldeck (FNV-1a).
pub fn images_key(images: &[Str]) -> Str {
    let mut sorted: Vec<&Str> = images.iter().collect();
    sorted.sort();
    sorted.dedup();
    format!("{:016x}", fnv(sorted.into_iter().flat_map(|image| [image, "\n"]))).into()
}

/// Tells attempts at the same images apart: another one begins whenever an operator asks for them, or for what failed, again.
pub fn attempt_key(asked: &Prewarm) -> Str {
    let text = serde_json::to_string(&(&asked.by, &asked.retried)).unwrap_or_default();
    format!("{:016x}", fnv([&*text])).into()
}

/// The name of the pod that brings those images to a node. It is the same whoever makes the pod, so that the pod is made only once.
pub fn warm_pod_name(daemonset: &str, node: &str, images: &str) -> Str {
    let which = fnv([daemonset, "\n", node, "\n", images]) & 0xff_ffff_ffff;
    format!("{}{which:0DIGITS$x}", names_begin(daemonset)).into()
}

/// The beginning of the names of all such pods of a DaemonSet.
pub fn names_begin(daemonset: &str) -> String {
    let end = daemonset.char_indices().map(|(at, _)| at).find(|at| *at >= NAME_LENGTH).unwrap_or(daemonset.len());
    format!("{}-prewarm-", daemonset[..end].trim_end_matches(['.', '-']))
}

/// How many hexadecimal digits end such a name.
const DIGITS: usize = 10;

/// Whether the name of a pod is one of those, where its DaemonSet's begin with `names_begin`. Another DaemonSet may be called `agent-prewarm`: of the names of
/// its pods only the beginning is the same.
pub(crate) fn is_warm_pod_of(names_begin: &str, pod: &str) -> bool {
    let end = pod.strip_prefix(names_begin);
    end.is_some_and(|end| end.len() == DIGITS && end.chars().all(|digit| digit.is_ascii_hexdigit()))
}

pub(super) fn fnv<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = parts.into_iter().flat_map(str::bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Whether a container of such a pod brings one of the images. Other containers, such as sidecars, were added by admission.
pub(crate) fn brings_an_image(container: &str) -> bool {
    container.strip_prefix(CONTAINER).is_some_and(|nth| nth.parse::<usize>().is_ok())
}

/// Adds the labels and annotations that keep sidecars out: they would be pulled too, and some never let the containers start.
pub(super) fn without_sidecars(metadata: &mut Value) {
    let said = [("labels", NO_SIDECAR_LABELS.as_slice()), ("annotations", NO_SIDECAR_ANNOTATIONS.as_slice())];
    for (field, pairs) in said {
        for (key, value) in pairs {
            metadata[field][*key] = (*value).into();
        }
    }
}

/// The owner of such a pod.
#[derive(Clone, Copy, Debug)]
pub struct WarmPodOwner<'a> {
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.uid`.
    pub uid: &'a str,
}

/// The pod that brings the images of `template` to `node`, at this attempt ([`attempt_key`]).
///
/// It is pinned by `spec.nodeName`, as the node was judged by the DaemonSet's own rules before. As it has no label of the template,
/// no controller takes it for its own, and no Service sends it anything. The sender adds the owner reference, because
/// only the sender knows the workload's kind. The garbage collector then deletes the pod with the DaemonSet.
pub fn warm_pod(owner: &WarmPodOwner<'_>, node: &str, template: &Template, attempt: &str) -> Value {
    let key = images_key(&template.images());
    let mut spec = warm_spec(template, &TOLERATED);
    spec.insert("nodeName".into(), node.into());
    spec.insert("restartPolicy".into(), "Never".into());
    let mut metadata = json!({
        "name": &*warm_pod_name(owner.name, node, &key),
        "namespace": owner.namespace,
        "labels": {PREWARM: owner.uid, PREWARM_IMAGES: &*key, PREWARM_ATTEMPT: attempt, MANAGED_BY.0: MANAGED_BY.1},
    });
    without_sidecars(&mut metadata);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

/// The spec of a pod that brings the images of `template`, without its placement and its restart policy.
pub(super) fn warm_spec(template: &Template, tolerated: &[(&str, TaintEffect)]) -> Map<String, Value> {
    let images = template.images();
    let spec = &template.json()["spec"];
    let needed = |image: &str, holds: fn(&NeededImage) -> bool| {
        template.needed_images().iter().any(|needed| &*needed.image == image && holds(needed))
    };
    let policy = |image: &str| if needed(image, |it| it.pulls_again) { "Always" } else { "IfNotPresent" };
    // What only a volume needs may have nothing that could be started.
    let (of_containers, of_volumes): (Vec<&Str>, Vec<&Str>) =
        images.iter().partition(|image| needed(image, |it| it.usage != ImageUse::Volume));
    let volume = |(nth, image): (usize, &&Str)| json!({"name": format!("image-{nth}"), "image": {"reference": &***image, "pullPolicy": policy(image)}});
    let volumes: Vec<Value> = of_volumes.iter().enumerate().map(volume).collect();
    let containers: Vec<Value> = of_containers
        .iter()
        .enumerate()
        .map(|(nth, image)| container(nth, image, policy(image), of_volumes.len()))
        .collect();
    let mut pod = Map::new();
    for field in ["imagePullSecrets", "serviceAccountName", "runtimeClassName"] {
        if let Some(value) = spec.get(field).filter(|value| !value.is_null()) {
            pod.insert(field.into(), value.clone());
        }
    }
    pod.insert("containers".into(), containers.into());
    if !volumes.is_empty() {
        pod.insert("volumes".into(), volumes.into());
    }
    pod.insert("tolerations".into(), tolerations(spec, tolerated));
    pod.insert("terminationGracePeriodSeconds".into(), 0.into());
    pod.insert("automountServiceAccountToken".into(), false.into());
    pod.insert("enableServiceLinks".into(), false.into());
    pod.insert(
        "securityContext".into(),
        json!({
            "runAsNonRoot": true,
            "runAsUser": NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        }),
    );
    pod
}

/// A container with this image. It mounts every image volume, so the kubelet starts it, and reports its image, only once the images of the volumes
/// are there.
fn container(nth: usize, image: &str, policy: &str, volumes: usize) -> Value {
    let mount =
        |nth| json!({"name": format!("image-{nth}"), "mountPath": format!("/rolldeck/image-{nth}"), "readOnly": true});
    let mut container = json!({
        "name": format!("{CONTAINER}{nth}"),
        "image": image,
        "imagePullPolicy": policy,
        "command": SLEEP,
        "resources": {"requests": {"cpu": "0", "memory": "0"}},
        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
    });
    if volumes > 0 {
        container["volumeMounts"] = (0..volumes).map(mount).collect::<Vec<Value>>().into();
    }
    container
}

/// The template's tolerations, and of those that the DaemonSet controller adds to each pod, these. Without those of nodes that are
/// down, admission would add ones that end after five minutes.
fn tolerations(spec: &Value, tolerated: &[(&str, TaintEffect)]) -> Value {
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    for (key, effect) in tolerated {
        let effect = json!(effect);
        let there = |toleration: &Value| toleration["key"] == *key && toleration["effect"] == effect;
        if !tolerations.iter().any(there) {
            tolerations.push(json!({"key": key, "operator": "Exists", "effect": effect}));
        }
    }
    tolerations.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: WarmPodOwner<'_> = WarmPodOwner { namespace: "edge", name: "agent", uid: "0f-1" };

    fn template() -> Template {
        Template::from_json(json!({
            "metadata": {"labels": {"app": "agent"}},
            "spec": {
                "serviceAccountName": "agent",
                "imagePullSecrets": [{"name": "registry"}],
                "hostNetwork": true,
                "priorityClassName": "system-node-critical",
                "nodeSelector": {"role": "edge"},
                "tolerations": [{"key": "edge", "operator": "Exists", "effect": "NoExecute"}],
                "volumes": [{"name": "etc", "hostPath": {"path": "/etc"}}],
                "initContainers": [{"name": "prepare", "image": "busybox:1"}],
                "containers": [
                    {"name": "agent", "image": "agent:v1", "ports": [{"hostPort": 80}]},
                    {"name": "side", "image": "agent:v1"},
                    {"name": "moved", "image": "tool:latest", "imagePullPolicy": "Always"},
                ],
            },
        }))
    }

    #[test]
    fn it_pulls_what_the_daemonset_pulls_and_takes_nothing_else() {
        let pod = warm_pod(&OWNER, "ipc-1", &template(), "a1");
        let spec = &pod["spec"];
        let images: Vec<_> = spec["containers"].as_array().unwrap().iter().map(|it| it["image"].clone()).collect();
        assert_eq!(images, ["busybox:1", "agent:v1", "tool:latest"], "each image once, those of init containers too");
        assert_eq!(spec["containers"][2]["imagePullPolicy"], "Always", "a tag that moves is pulled again");
        assert_eq!((&spec["nodeName"], &spec["serviceAccountName"]), (&json!("ipc-1"), &json!("agent")));
        assert_eq!(spec["imagePullSecrets"], json!([{"name": "registry"}]));
        for absent in ["volumes", "hostNetwork", "initContainers", "nodeSelector", "priorityClassName", "affinity"] {
            assert_eq!(spec[absent], Value::Null, "{absent}");
        }
        assert_eq!(spec["tolerations"].as_array().unwrap().len(), 7);
    }

    #[test]
    fn an_image_volume_is_mounted_by_every_container() {
        let mut raw = template().json().clone();
        raw["spec"]["volumes"] = json!([
            {"name": "models", "image": {"reference": "models:v3", "pullPolicy": "IfNotPresent"}},
            {"name": "tools", "image": {"reference": "agent:v1"}},
            {"name": "unset", "image": {}},
        ]);
        let spec = &warm_pod(&OWNER, "ipc-1", &Template::from_json(raw), "a1")["spec"];
        let volume = json!([{"name": "image-0", "image": {"reference": "models:v3", "pullPolicy": "IfNotPresent"}}]);
        assert_eq!(spec["volumes"], volume, "what a container has needs no volume");
        for container in spec["containers"].as_array().unwrap() {
            assert_eq!(container["volumeMounts"][0]["name"], "image-0", "{container}");
        }
        assert_eq!(spec["containers"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn no_controller_and_no_service_can_take_it_for_the_application() {
        let pod = warm_pod(&OWNER, "ipc-1", &template(), "a1");
        let labels = pod["metadata"]["labels"].as_object().unwrap();
        assert!(!labels.contains_key("app"), "{labels:?}");
        assert_eq!(labels[PREWARM], "0f-1");
    }

    #[test]
    fn injectors_are_told_to_leave_it_alone() {
        let pod = warm_pod(&OWNER, "ipc-1", &template(), "a1");
        assert_eq!(pod["metadata"]["labels"]["sidecar.istio.io/inject"], "false");
        assert_eq!(pod["metadata"]["annotations"]["linkerd.io/inject"], "disabled");
        for (name, ours) in [("image-0", true), ("image-12", true), ("istio-proxy", false), ("image-puller", false)] {
            assert_eq!(brings_an_image(name), ours, "{name}");
        }
    }

    #[test]
    fn pods_of_a_daemonset_whose_name_only_begins_alike_are_not_taken_for_ours() {
        let of = |daemonset: &str| warm_pod_name(daemonset, "ipc-1", "k");
        assert!(is_warm_pod_of(&names_begin("agent"), &of("agent")));
        for other in ["agent-prewarm", "agent-prewarm-x", "agents"] {
            assert!(!is_warm_pod_of(&names_begin("agent"), &of(other)), "{other}");
        }
    }

    #[test]
    fn names_are_short_and_the_same_for_the_same_work() {
        let key = images_key(&["b:1".into(), "a:1".into()]);
        assert_eq!(key, images_key(&["a:1".into(), "b:1".into(), "a:1".into()]));
        assert_ne!(key, images_key(&["a:1b:1".into()]));
        let name = warm_pod_name(&"a".repeat(253), "ipc-1", &key);
        assert!(name.len() < 253, "{name}");
        assert_ne!(name, warm_pod_name(&"a".repeat(253), "ipc-2", &key));
        assert_eq!(
            &*warm_pod_name("agent.", "ipc-1", "k").replace(|it: char| it.is_ascii_hexdigit(), ""),
            "gnt-prwrm-"
        );
    }
}
