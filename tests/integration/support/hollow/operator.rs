//! An operator's writes in a scenario: deploys, drains, taints, and the DaemonSets that exist at the beginning.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::sim::world::scenario::{ClusterFault, DaemonSetPlan, Scenario};

use super::client::{BodyKind, Client, ClientError};
use super::partial::{PartialList, PartialMeta};
use super::wire;

/// How often [`deploy`] looks whether the controller has seen a template.
const LOOK: Duration = Duration::from_millis(50);

/// The name of the quota that refuses pods.
const NO_MORE_PODS: &str = "no-more-pods";

/// Makes the writes of one fault. A missing object is left alone.
pub(super) async fn carry_out(client: &Client, fault: &ClusterFault) -> Result<(), ClientError> {
    let done = match fault {
        ClusterFault::Label { node, labels } => {
            let value = |value: &String| if value.is_empty() { Value::Null } else { Value::from(value.as_str()) };
            let labels: Map<_, _> = labels.iter().map(|(key, text)| (key.clone(), value(text))).collect();
            patch(client, BodyKind::Merge, &node_path(node), &json!({"metadata": {"labels": labels}})).await
        }
        ClusterFault::Cordon(node) => cordon(client, node, Some(true)).await,
        ClusterFault::Uncordon(node) => cordon(client, node, None).await,
        ClusterFault::Taint { node, taint } => {
            let added = wire::taint(taint);
            change_taints(client, node, |taints| {
                taints.retain(|other| other["key"] != added["key"] || other["effect"] != added["effect"]);
                taints.push(added.clone());
            })
            .await
        }
        ClusterFault::Untaint { node, key } => {
            change_taints(client, node, |taints| taints.retain(|taint| taint["key"] != **key)).await
        }
        ClusterFault::DeleteNode(node) => patch(client, BodyKind::Delete, &node_path(node), &json!({})).await,
        ClusterFault::DeletePods { daemon_set, node } => {
            patch_pods(client, BodyKind::Delete, (daemon_set, node), &json!({})).await
        }
        ClusterFault::AddFinalizer { daemon_set, node, finalizer } => {
            let change = json!({"metadata": {"finalizers": [&**finalizer]}});
            patch_pods(client, BodyKind::Strategic, (daemon_set, node), &change).await
        }
        ClusterFault::RemoveFinalizer { daemon_set, node, finalizer } => {
            let change = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [&**finalizer]}});
            patch_pods(client, BodyKind::Strategic, (daemon_set, node), &change).await
        }
        ClusterFault::SetImages { daemon_set, images } => {
            let containers: Vec<_> = images.iter().map(|(name, image)| json!({"name": name, "image": image})).collect();
            let change = json!({"spec": {"template": {"spec": {"containers": containers}}}});
            patch(client, BodyKind::Strategic, &daemon_set_path(daemon_set), &change).await
        }
        ClusterFault::SetStrategy { daemon_set, kind, max_unavailable } => {
            let strategy = strategy(*kind, *max_unavailable, None);
            let change = json!({"spec": {"updateStrategy": strategy}});
            patch(client, BodyKind::Merge, &daemon_set_path(daemon_set), &change).await
        }
        ClusterFault::RefusePods { namespace, .. } => {
            let quota = json!({
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": NO_MORE_PODS, "namespace": &**namespace},
                "spec": {"hard": {"pods": "0"}},
            });
            patch(client, BodyKind::Create, &quotas_path(namespace), &quota).await
        }
        ClusterFault::AdmitPods { namespace } => {
            let path = format!("{}/{NO_MORE_PODS}", quotas_path(namespace));
            patch(client, BodyKind::Delete, &path, &json!({})).await
        }
        // Policies that refuse templates or change written objects are the cluster's own. A test that plays such a scenario on a real cluster
        // installs them first (`control_plane/templates.rs`, `control_plane/mutating.rs`).
        ClusterFault::RefuseTemplates { .. }
        | ClusterFault::AdmitTemplates { .. }
        | ClusterFault::PinImages { .. }
        | ClusterFault::UnpinImages { .. }
        | ClusterFault::SetRollingInWrites { .. }
        | ClusterFault::AdmitStrategies { .. }
        | ClusterFault::InjectContainer { .. }
        | ClusterFault::StopInjecting { .. } => Ok(()),
        ClusterFault::RefuseDeletion { namespace, node, why } => refuse_deletion(client, namespace, node, why).await,
        ClusterFault::AdmitDeletion { namespace, node } => {
            let name = deletion_policy(namespace, node);
            patch(client, BodyKind::Delete, &format!("{BINDINGS}/{name}"), &json!({})).await?;
            patch(client, BodyKind::Delete, &format!("{POLICIES}/{name}"), &json!({})).await
        }
        ClusterFault::LabelPods { daemon_set, node, labels } => label_pods(client, daemon_set, node, labels).await,
        ClusterFault::HoldDaemonSet { daemon_set, held } => {
            let finalizers = if *held { json!(["example.com/backup"]) } else { Value::Null };
            let change = json!({"metadata": {"finalizers": finalizers}});
            patch(client, BodyKind::Merge, &daemon_set_path(daemon_set), &change).await
        }
        ClusterFault::DeleteDaemonSet { daemon_set, orphan } => {
            let policy = if *orphan { "Orphan" } else { "Background" };
            let options = json!({"propagationPolicy": policy});
            patch(client, BodyKind::Delete, &daemon_set_path(daemon_set), &options).await
        }
        ClusterFault::CreateDaemonSet(plan) => {
            let collection = format!("/apis/apps/v1/namespaces/{}/daemonsets", plan.namespace);
            existing(client.write(BodyKind::Create, &collection, &manifest(plan, &plan.images)).await)
        }
        // A client cannot make an API server cut its log, nor make a controller stand still.
        ClusterFault::Compact | ClusterFault::StopController | ClusterFault::StartController => Ok(()),
    };
    match done {
        Err(ClientError::NotFound) => Ok(()),
        Err(ClientError::Conflict) => Err(ClientError::Later { after: None, why: "it changed meanwhile".to_owned() }),
        done => done,
    }
}

async fn patch(client: &Client, write: BodyKind, path: &str, body: &Value) -> Result<(), ClientError> {
    client.write(write, path, body).await.map(drop)
}

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

fn deletion_policy(namespace: &str, node: &str) -> String {
    format!("keep-{namespace}-{node}")
}

/// Creates a policy by which only the cluster's own components may delete the pods of a namespace on a node.
async fn refuse_deletion(client: &Client, namespace: &str, node: &str, why: &str) -> Result<(), ClientError> {
    let name = deletion_policy(namespace, node);
    let expression = format!("oldObject.spec.nodeName != '{node}' || request.userInfo.username.startsWith('system:')");
    let policy = json!({
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]},
                ],
            },
            "validations": [{"expression": expression, "message": why}],
        },
    });
    let binding = json!({
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    patch(client, BodyKind::Create, POLICIES, &policy).await?;
    patch(client, BodyKind::Create, BINDINGS, &binding).await
}

fn node_path(node: &str) -> String {
    format!("/api/v1/nodes/{node}")
}

fn quotas_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/resourcequotas")
}

/// The path of a DaemonSet that is called `namespace/name`.
fn daemon_set_path(named: &str) -> String {
    let (namespace, name) = named.split_once('/').unwrap_or(("default", named));
    format!("/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}")
}

async fn cordon(client: &Client, node: &str, unschedulable: Option<bool>) -> Result<(), ClientError> {
    patch(client, BodyKind::Merge, &node_path(node), &json!({"spec": {"unschedulable": unschedulable}})).await
}

/// Changes a node's taints. They are one list, which the node lifecycle controller changes too, so the write names the version.
async fn change_taints(client: &Client, node: &str, change: impl FnOnce(&mut Vec<Value>)) -> Result<(), ClientError> {
    let path = node_path(node);
    let mut present: Value = client.get(&path).await?;
    let mut taints = match present["spec"]["taints"].take() {
        Value::Array(taints) => taints,
        _ => Vec::new(),
    };
    change(&mut taints);
    let version = &present["metadata"]["resourceVersion"];
    let change = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": taints}});
    patch(client, BodyKind::Merge, &path, &change).await
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owned {
    metadata: OwnedMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnedMeta {
    name: String,
    #[serde(default)]
    owner_references: Vec<OwnerJson>,
}

#[derive(Deserialize)]
struct OwnerJson {
    uid: String,
}

#[derive(Deserialize)]
struct NamedItem {
    metadata: PartialMeta,
}

/// Sets labels of those pods on a node that belong to the DaemonSet, or have no owner any more.
async fn label_pods(
    client: &Client,
    daemon_set: &str,
    node: &str,
    labels: &BTreeMap<String, String>,
) -> Result<(), ClientError> {
    let owner: NamedItem = client.get(&daemon_set_path(daemon_set)).await?;
    let pods = format!("/api/v1/namespaces/{}/pods", owner.metadata.namespace);
    let list: PartialList<Owned> = client.get(&format!("{pods}?fieldSelector=spec.nodeName%3D{node}")).await?;
    let of = |value: &String| if value.is_empty() { Value::Null } else { value.as_str().into() };
    let labels: serde_json::Map<String, Value> = labels.iter().map(|(key, value)| (key.clone(), of(value))).collect();
    let change = json!({"metadata": {"labels": labels}});
    for pod in list.items.unwrap_or_default() {
        let owners = &pod.metadata.owner_references;
        if owners.is_empty() || owners.iter().any(|of| *of.uid == *owner.metadata.uid) {
            match patch(client, BodyKind::Merge, &format!("{pods}/{}", pod.metadata.name), &change).await {
                Ok(()) | Err(ClientError::NotFound) => {}
                Err(trouble) => return Err(trouble),
            }
        }
    }
    Ok(())
}

/// Writes to the pods of a DaemonSet on a node.
async fn patch_pods(
    client: &Client,
    write: BodyKind,
    (daemon_set, node): (&str, &str),
    body: &Value,
) -> Result<(), ClientError> {
    let owner: NamedItem = client.get(&daemon_set_path(daemon_set)).await?;
    let pods = format!("/api/v1/namespaces/{}/pods", owner.metadata.namespace);
    let list: PartialList<Owned> = client.get(&format!("{pods}?fieldSelector=spec.nodeName%3D{node}")).await?;
    for pod in list.items.unwrap_or_default() {
        let is_ours = pod.metadata.owner_references.iter().any(|of| *of.uid == *owner.metadata.uid);
        if is_ours {
            match patch(client, write, &format!("{pods}/{}", pod.metadata.name), body).await {
                Ok(()) | Err(ClientError::NotFound) => {}
                Err(trouble) => return Err(trouble),
            }
        }
    }
    Ok(())
}

/// Creates a scenario's DaemonSets, oldest template first, so that each is a revision to roll back to.
///
/// Has to run before nodes exist: then all pods begin at the newest revision.
pub(super) async fn deploy(client: &Client, scenario: &Scenario) -> Result<(), ClientError> {
    for plan in &scenario.daemon_sets {
        let namespace = json!({"metadata": {"name": &*plan.namespace}});
        existing(client.write(BodyKind::Create, "/api/v1/namespaces", &namespace).await)?;
        let collection = format!("/apis/apps/v1/namespaces/{}/daemonsets", plan.namespace);
        let path = format!("{collection}/{}", plan.name);
        let mut templates = plan.history.iter().chain([&plan.images]);
        let Some(first) = templates.next() else { continue };
        existing(client.write(BodyKind::Create, &collection, &manifest(plan, first)).await)?;
        until_observed(client, &path).await?;
        for images in templates {
            let change = ClusterFault::SetImages {
                daemon_set: format!("{}/{}", plan.namespace, plan.name).into(),
                images: images.clone(),
            };
            carry_out(client, &change).await?;
            until_observed(client, &path).await?;
        }
    }
    Ok(())
}

fn existing<T>(created: Result<T, ClientError>) -> Result<(), ClientError> {
    match created {
        Ok(_) | Err(ClientError::Conflict) => Ok(()),
        Err(trouble) => Err(trouble),
    }
}

async fn until_observed(client: &Client, path: &str) -> Result<(), ClientError> {
    loop {
        let present: Value = client.get(path).await?;
        if present["status"]["observedGeneration"] == present["metadata"]["generation"] {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The manifest of the DaemonSet with which the simulated world would begin.
fn manifest(plan: &DaemonSetPlan, images: &BTreeMap<String, String>) -> Value {
    json!({
        "metadata": {"name": &*plan.name, "labels": {"app": &*plan.name}},
        "spec": {
            "selector": {"matchLabels": {"app": &*plan.name}},
            "updateStrategy": strategy(plan.strategy, Some(plan.max_unavailable), Some(plan.max_surge)),
            "minReadySeconds": plan.min_ready_secs,
            "revisionHistoryLimit": plan.history_limit,
            "template": plan.template(images).json(),
        },
    })
}

fn strategy(kind: StrategyKind, max_unavailable: Option<IntOrPercent>, max_surge: Option<IntOrPercent>) -> Value {
    let mut rolling = Map::new();
    for (field, limit) in [("maxUnavailable", max_unavailable), ("maxSurge", max_surge)] {
        let limit = match limit {
            Some(IntOrPercent::Int(count)) => json!(count),
            Some(IntOrPercent::Percent(percent)) => json!(format!("{percent}%")),
            None => continue,
        };
        rolling.insert(field.to_owned(), limit);
    }
    let kind = match kind {
        StrategyKind::RollingUpdate => "RollingUpdate",
        StrategyKind::OnDelete => "OnDelete",
    };
    if rolling.is_empty() { json!({"type": kind}) } else { json!({"type": kind, "rollingUpdate": rolling}) }
}
