//! An operator quarantines a pod: removes its label, so that the DaemonSet no longer selects it, and puts the label back later.

use std::time::Duration;

use rolldeck::driver::Session;
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::node::NodeState;
use serde_json::{Value, json};

use super::driving::{agent, image, loaded, session, until, updated};
use crate::support::control_plane::{Sandbox, eventually};

const SOON: Duration = Duration::from_secs(60);

fn label(sandbox: &Sandbox, pod: &str, app: Option<&str>) {
    let path = sandbox.path("pods", pod);
    sandbox.admin().patch(&path, &json!({"metadata": {"labels": {"app": app}}})).ok();
}

/// The pods on a node that are not being deleted: the name, and whether the pod has the DaemonSet's label.
fn pods_on(sandbox: &Sandbox, node: &str) -> Vec<(String, bool)> {
    let here = |pod: &Value| pod["spec"]["nodeName"] == node && pod["metadata"]["deletionTimestamp"].is_null();
    let pods = sandbox.pods().into_iter().filter(here);
    pods.map(|pod| {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        (name, pod["metadata"]["labels"]["app"] == "agent")
    })
    .collect()
}

/// `kubectl label pod … app-` removes the label; it is put back before the controller has acted.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_label_is_put_back_at_once_is_updated_like_the_others() {
    let Some((sandbox, kubelet)) = agent("relabelled", 4).await else { return };
    let session = session(sandbox.admin()).await;
    let rollout = session.open(sandbox.namespace(), "agent", Role::Driver);
    until(&rollout, "four nodes run v1", |is| loaded(is) && is.counts.available == 4).await;
    rollout.command(image("registry.test/agent:v2")).await.unwrap();
    rollout.command(updated(1)).await.unwrap();
    let one = until(&rollout, "one is updated", |is| is.counts.updated == 1).await;
    let node = one.nodes.iter().find(|node| node.state == NodeState::Outdated).unwrap().clone();

    let (place, pod) = (sandbox.clone(), node.pod.clone().unwrap());
    tokio::task::spawn_blocking(move || {
        label(&place, &pod, None);
        label(&place, &pod, Some("agent"));
    })
    .await
    .unwrap();
    rollout.command(updated(4)).await.unwrap();
    until(&rollout, "all are updated and it is released", |is| is.counts.updated == 4 && !is.adopted).await;
    assert_eq!(kubelet.count("registry.test/agent:v2"), 4);
    assert!(kubelet.most_down() <= 1, "{} were down", kubelet.most_down());
    rollout.close().await;
}

/// The label is missing for so long that the controller lets the pod go and makes another one. When the label is back, two pods are on the node, and
/// the controller keeps the older.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_relabelled_after_its_replacement_is_the_one_that_is_kept() {
    let Some((sandbox, kubelet)) = agent("quarantine", 4).await else { return };
    let session = session(sandbox.admin()).await;
    let rollout = session.open(sandbox.namespace(), "agent", Role::Driver);
    until(&rollout, "four nodes run v1", |is| loaded(is) && is.counts.available == 4).await;
    rollout.command(image("registry.test/agent:v2")).await.unwrap();
    rollout.command(updated(1)).await.unwrap();
    let one = until(&rollout, "one is updated", |is| is.counts.updated == 1).await;
    let node = one.nodes.iter().find(|node| node.state == NodeState::Outdated).unwrap().clone();
    let (name, pod) = (node.name.clone(), node.pod.clone().unwrap());

    // Creation times are whole seconds. Of two pods with the same creation time the controller keeps the first by name.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let place = sandbox.clone();
    let away = tokio::task::spawn_blocking({
        let (name, pod) = (name.clone(), pod.clone());
        move || {
            label(&place, &pod, None);
            let both = || pods_on(&place, &name);
            eventually("the controller makes another pod beside it", SOON, || (both().len() == 2).then(both))
        }
    });
    let away = away.await.unwrap();
    println!("in quarantine: {away:?}");
    let shown =
        |is: &rolldeck::engine::report::snapshot::Snapshot| is.nodes.iter().find(|view| view.name == name).cloned();
    let other = |is: &rolldeck::engine::report::snapshot::Snapshot| {
        shown(is).is_some_and(|view| view.state == NodeState::Updated && view.pod.is_some_and(|other| other != pod))
    };
    until(&rollout, "its replacement is what the node has", other).await;

    let place = sandbox.clone();
    let left = tokio::task::spawn_blocking({
        let (name, pod) = (name.clone(), pod.clone());
        move || {
            label(&place, &pod, Some("agent"));
            let one = || Some(pods_on(&place, &name)).filter(|pods| pods.len() == 1);
            eventually("the controller keeps one of the two", SOON, one)
        }
    });
    let left = left.await.unwrap();
    println!("back from quarantine: {left:?}");
    assert_eq!(left, [(pod.to_string(), true)], "the older is kept");
    until(&rollout, "the node is outdated again", |is| {
        shown(is).is_some_and(|view| view.state == NodeState::Outdated && view.pod.as_deref() == Some(&*pod))
    })
    .await;
    rollout.command(updated(4)).await.unwrap();
    until(&rollout, "all are updated and it is released", |is| is.counts.updated == 4 && !is.adopted).await;
    assert_eq!(kubelet.count("registry.test/agent:v2"), 4);
    rollout.close().await;
}
