//! The resources held by a node's pods, of those that another pod lacks there: the sum of their requests, as a scheduler computes it.

use serde_json::Value;

use super::str_of;
use crate::cluster::clip::clip_name;
use crate::engine::model::Str;
use crate::engine::model::amount::Amount;
use crate::engine::model::inspection::{NodeInspection, PodInspection};
use crate::engine::model::occupancy::{HeldResource, NodeOccupancy, ResourceHolder, lacking_resources};

/// The most resources that are considered.
const RESOURCES: usize = 6;
/// The most pods that are kept per resource.
const HOLDERS: usize = 50;

/// The resources that a pod lacks on its node, from the scheduler's message.
pub(in crate::cluster) fn lacking(pod: &PodInspection) -> Vec<Str> {
    let refused = |kind: &str, status: &str| kind == "PodScheduled" && status == "False";
    let condition = pod.conditions.iter().find(|condition| refused(&condition.kind, &condition.status));
    let message = condition.and_then(|condition| condition.message.as_deref()).unwrap_or_default();
    lacking_resources(message)
}

/// The resources held by the pods of `list`, the node's pods, of those that `pod` lacks.
pub(in crate::cluster) fn node_occupancy(
    list: &Value,
    pod: &PodInspection,
    node: Option<&NodeInspection>,
) -> NodeOccupancy {
    let pods = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let resource = |name: Str| {
        let request = |pod| (requested(pod, &name), pod);
        let mut holders: Vec<(Amount, &Value)> =
            pods.iter().map(request).filter(|(request, _)| !request.is_zero()).collect();
        holders.sort_by_key(|(request, _)| std::cmp::Reverse(*request));
        let amount = |node: &NodeInspection| {
            let known = node.allocatable.iter().find(|(resource, _)| *resource == name);
            known.and_then(|(_, amount)| Amount::parse(amount)).unwrap_or_default()
        };
        HeldResource {
            request: requested(&pod.raw, &name),
            allocatable: node.map(amount),
            requested: holders.iter().map(|(request, _)| *request).sum(),
            holders: holders.iter().take(HOLDERS).map(|(request, other)| holder(other, *request, &pod.raw)).collect(),
            name,
        }
    };
    NodeOccupancy {
        resources: lacking(pod).into_iter().take(RESOURCES).map(resource).collect(),
        pods: u32::try_from(pods.len()).unwrap_or(u32::MAX),
        is_cut: str_of(&list["metadata"]["continue"]).is_some_and(|more| !more.is_empty()),
    }
}

fn holder(other: &Value, request: Amount, pod: &Value) -> ResourceHolder {
    let priority = |pod: &Value| pod["spec"]["priority"].as_i64().unwrap_or_default();
    let text = |key: &str| clip_name(other["metadata"][key].as_str().unwrap_or_default()).into();
    ResourceHolder {
        namespace: text("namespace"),
        name: text("name"),
        request,
        higher_priority: Some(priority(other)).filter(|higher| *higher > priority(pod)),
    }
}

/// A pod's request for a resource (`PodRequests` of `k8s.io/component-helpers`): the sum of its containers and those init
/// containers that keep running, or the largest need of an init container if that is more. A request of the pod itself
/// replaces this value. The pod's overhead is added.
fn requested(pod: &Value, resource: &str) -> Amount {
    if resource == "pods" {
        return Amount::whole(1);
    }
    let of = |resources: &Value| resources[resource].as_str().and_then(Amount::parse);
    let request = |container: &Value| of(&container["resources"]["requests"]).unwrap_or_default();
    let spec = &pod["spec"];
    let containers = |key: &str| spec[key].as_array().into_iter().flatten();
    let (mut stays, mut most_at_start) = (Amount::default(), Amount::default());
    for container in containers("initContainers") {
        let its = request(container);
        most_at_start = most_at_start.max(stays + its);
        if container["restartPolicy"] == "Always" {
            stays = stays + its;
        }
    }
    let together = stays + containers("containers").map(request).sum();
    let needed = of(&spec["resources"]["requests"]).unwrap_or(together.max(most_at_start));
    needed + of(&spec["overhead"]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::partial::{node_inspection, pod_inspection};

    fn cpu(amount: &str) -> Value {
        json!({"resources": {"requests": {"cpu": amount}}})
    }

    #[test]
    fn requests_are_summed_up_as_a_scheduler_does() {
        let told = |spec: Value| requested(&json!({"spec": spec}), "cpu").of("cpu").to_string();
        assert_eq!(told(json!({"containers": [cpu("100m"), cpu("1"), {}]})), "1100m");
        assert_eq!(told(json!({"containers": [cpu("100m")], "initContainers": [cpu("2"), cpu("1")]})), "2");
        let mut stays = cpu("500m");
        stays["restartPolicy"] = json!("Always");
        let init = json!([stays, cpu("300m")]);
        assert_eq!(
            told(json!({"containers": [cpu("100m")], "initContainers": init})),
            "800m",
            "one after the one that stays"
        );
        assert_eq!(told(json!({"containers": [cpu("400m")], "initContainers": init})), "900m");
        assert_eq!(told(json!({"containers": [cpu("1")], "resources": {"requests": {"cpu": "3"}}})), "3");
        assert_eq!(told(json!({"containers": [cpu("1")], "overhead": {"cpu": "250m"}})), "1250m");
        assert_eq!(told(json!({"containers": [cpu("nonsense")]})), "0");
        assert_eq!(requested(&json!({}), "pods"), Amount::whole(1));
    }

    #[test]
    fn the_largest_holders_of_what_is_scarce_come_first() {
        let pod = pod_inspection(json!({
            "metadata": {"name": "agent-x"}, "spec": {"priority": 100, "containers": [cpu("200m")]},
            "status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                "message": "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector."}]},
        }));
        let node = node_inspection(&json!({"status": {"allocatable": {"cpu": "1", "memory": "1Gi"}}}));
        let other = |name: &str, amount: &str, priority: i64| {
            json!({"metadata": {"namespace": "kube-system", "name": name},
                "spec": {"priority": priority, "containers": [cpu(amount)]}})
        };
        let list = json!({"metadata": {"continue": ""},
            "items": [other("small", "50m", 0), other("big", "800m", 1_000), other("none", "0", 0)]});
        let occupancy = node_occupancy(&list, &pod, Some(&node));
        assert_eq!(
            occupancy.lines("ipc-1"),
            [
                "cpu of ipc-1: 1 allocatable, 850m requested by 3 pods, this pod asks for 200m",
                "held by kube-system/big 800m (higher priority: 1000), kube-system/small 50m",
            ]
        );
        let cut = json!({"metadata": {"continue": "abc"}, "items": list["items"]});
        assert!(node_occupancy(&cut, &pod, None).is_cut);
        assert!(lacking(&pod_inspection(json!({}))).is_empty());
        assert!(node_occupancy(&json!(null), &pod, None).resources[0].holders.is_empty());
    }
}
