//! The StatefulSet that brings images to nodes one after the other, with no process of rolldeck running.
//!
//! Its pods are those of [`super::warm_pod`], but for where they are placed: the scheduler does that, on one of the nodes that
//! they name, and no two of one pre-warming on one node. `OrderedReady`: the next pod is made once the last one is ready, so
//! that one node pulls at a time.
//!
//! A pod is ready once all of its containers run. A container whose image has no `sleep` never does, and nothing that a pod
//! template can say changes that: readiness is of containers that run, init containers have to end well, and a program of our
//! own would be another image to pull. Such a pod has brought its images, and the StatefulSet waits for it for ever.

use serde_json::{Value, json};

use super::eligibility::TOLERATED;
use super::warm_pod::{WarmPodOwner, fnv, images_key, warm_spec, without_sidecars};
use crate::engine::model::Str;
use crate::engine::model::prewarm::{PREWARM, PREWARM_IMAGES, PREWARM_REQUEST, PREWARM_SET, Prewarm};
use crate::engine::model::record::MANAGED_BY;
use crate::engine::model::template::Template;

/// The most characters of the DaemonSet's name in the name of a StatefulSet. That name, with what its controller adds, is a label
/// of its pods, of at most 63 characters, and part of their host names.
const NAME_LENGTH: usize = 30;
/// Digits at the end of the name.
const DIGITS: usize = 10;

/// The beginning of the names of all StatefulSets for the pre-warming of a DaemonSet.
pub fn set_names_begin(daemonset: &str) -> String {
    if daemonset.len() <= NAME_LENGTH && !daemonset.contains('.') {
        return format!("{daemonset}-prewarm-");
    }
    // A name that is cut, or whose dots are replaced, could be that of another DaemonSet, so a hash is added.
    let which = fnv([daemonset]) & 0xff_ffff;
    let cut: String = daemonset.chars().take(NAME_LENGTH - 7).collect();
    format!("{}-{which:06x}-prewarm-", cut.replace('.', "-").trim_end_matches('-'))
}

/// Whether a StatefulSet of this name is for the pre-warming of a DaemonSet of that name.
pub fn is_set_of(daemonset: &str, set: &str) -> bool {
    let end = set.strip_prefix(&*set_names_begin(daemonset));
    end.is_some_and(|end| end.len() == DIGITS && end.chars().all(|digit| digit.is_ascii_hexdigit()))
}

/// Tells requests for the same images apart that are for other nodes or with other limits. One of them replaces another.
pub fn request_key(asked: &Prewarm) -> Str {
    let text = serde_json::to_string(&(&asked.nodes, &asked.limits)).unwrap_or_default();
    format!("{:016x}", fnv([&*text])).into()
}

/// The StatefulSet that brings the images of `template` to `nodes`, and its name: the same for the same work.
///
/// It selects its pods by a label that has its name, so that no pod of anything else is ever taken for one of them. The owner
/// reference, by which it goes with the DaemonSet, is added by whoever sends it.
pub fn warm_set(owner: &WarmPodOwner<'_>, nodes: &[Str], template: &Template, request: &str) -> (Str, Value) {
    let key = images_key(&template.images());
    let parts =
        [owner.uid, &key, request].into_iter().chain(nodes.iter().map(|node| &**node)).flat_map(|part| [part, "\n"]);
    let which = fnv(parts) & 0xff_ffff_ffff;
    let name = Str::from(format!("{}{which:0DIGITS$x}", set_names_begin(owner.name)));
    // A kubelet under pressure would reject the pod, and the controller would make it anew, for ever: without a toleration the taint makes the
    // scheduler take another node.
    let tolerated = TOLERATED.into_iter().filter(|(key, _)| !key.ends_with("-pressure"));
    let mut spec = warm_spec(template, &tolerated.collect::<Vec<_>>());
    if let Some(selector) = template.json()["spec"].get("nodeSelector").filter(|selector| !selector.is_null()) {
        spec.insert("nodeSelector".into(), selector.clone());
    }
    let fields = |node: &Str| json!({"matchFields": [{"key": NODE_NAME, "operator": "In", "values": [&**node]}]});
    let terms: Vec<Value> = nodes.iter().map(fields).collect();
    let of_this = json!({PREWARM: owner.uid, PREWARM_IMAGES: &*key});
    spec.insert(
        "affinity".into(),
        json!({
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": of_this}}
            ]},
        }),
    );
    let labels = json!({
        PREWARM: owner.uid,
        PREWARM_IMAGES: &*key,
        PREWARM_SET: &*name,
        MANAGED_BY.0: MANAGED_BY.1,
    });
    let mut of_set = labels.clone();
    of_set[PREWARM_REQUEST] = request.into();
    let mut of_pods = json!({"labels": labels});
    without_sidecars(&mut of_pods);
    let set = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": &*name, "namespace": owner.namespace, "labels": of_set},
        "spec": {
            "replicas": nodes.len(),
            "serviceName": &*name,
            "podManagementPolicy": "OrderedReady",
            "updateStrategy": {"type": "OnDelete"},
            "revisionHistoryLimit": 0,
            "selector": {"matchLabels": {PREWARM_SET: &*name}},
            "template": {"metadata": of_pods, "spec": spec},
        },
    });
    (name, set)
}

/// The field of nodes by which terms name them.
const NODE_NAME: &str = "metadata.name";

/// The nodes that the pods of such a StatefulSet may be placed on.
pub fn nodes_of(set: &Value) -> Vec<Str> {
    let affinity = &set["spec"]["template"]["spec"]["affinity"]["nodeAffinity"];
    let terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"].as_array();
    let values = terms.into_iter().flatten().filter_map(|term| term["matchFields"][0]["values"][0].as_str());
    values.map(Str::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: WarmPodOwner<'_> = WarmPodOwner { namespace: "edge", name: "agent", uid: "0f-1" };

    fn template() -> Template {
        Template::from_json(json!({
            "metadata": {"labels": {"app": "agent"}},
            "spec": {
                "nodeSelector": {"role": "edge"},
                "tolerations": [{"key": "edge", "operator": "Exists", "effect": "NoExecute"}],
                "initContainers": [{"name": "prepare", "image": "busybox:1"}],
                "containers": [{"name": "agent", "image": "agent:v1", "ports": [{"hostPort": 80}]}],
            },
        }))
    }

    #[test]
    fn one_pod_per_node_one_after_the_other() {
        let nodes = [Str::from("ipc-1"), Str::from("ipc-2")];
        let (name, set) = warm_set(&OWNER, &nodes, &template(), "r");
        assert_eq!(set["spec"]["replicas"], 2);
        assert_eq!(set["spec"]["podManagementPolicy"], "OrderedReady");
        assert_eq!(nodes_of(&set), nodes);
        let pod = &set["spec"]["template"]["spec"];
        assert_eq!(pod["containers"].as_array().unwrap().len(), 2, "images of init containers, too");
        assert_eq!((&pod["nodeName"], &pod["restartPolicy"]), (&Value::Null, &Value::Null));
        assert_eq!(pod["nodeSelector"], json!({"role": "edge"}));
        let apart = &pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(apart["topologyKey"], "kubernetes.io/hostname");
        let labels = set["spec"]["template"]["metadata"]["labels"].as_object().unwrap();
        for (key, value) in apart["labelSelector"]["matchLabels"].as_object().unwrap() {
            assert_eq!(labels.get(key), Some(value), "two StatefulSets of one pre-warming keep apart");
        }
        assert!(!labels.contains_key("app"), "{labels:?}");
        assert_eq!(set["spec"]["selector"], json!({"matchLabels": {PREWARM_SET: &*name}}));
    }

    #[test]
    fn names_leave_room_for_what_the_controller_adds_and_are_of_one_daemonset() {
        for daemonset in ["agent", &"a".repeat(253), "a.b.c", &format!("{}.x", "b".repeat(30))] {
            let owner = WarmPodOwner { name: daemonset, ..OWNER };
            let (name, _) = warm_set(&owner, &["ipc-1".into()], &template(), "r");
            // `-` and the hash of a revision, of at most ten characters.
            assert!(name.len() + 11 <= 63 && !name.contains('.'), "{name}");
            assert!(is_set_of(daemonset, &name), "{name}");
            assert_ne!(name, warm_set(&owner, &["ipc-2".into()], &template(), "r").0);
        }
        let (long, longer) = ("a".repeat(40), "a".repeat(41));
        let (name, _) = warm_set(&WarmPodOwner { name: &long, ..OWNER }, &[], &template(), "r");
        assert!(!is_set_of(&longer, &name));
        let (name, _) = warm_set(&WarmPodOwner { name: "a-prewarm-b", ..OWNER }, &[], &template(), "r");
        assert!(!is_set_of("a", &name));
    }
}
