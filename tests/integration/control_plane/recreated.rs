//! In the middle of a rollout a DaemonSet is deleted and created anew, on Kubernetes' own garbage collector and controller.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use rolldeck::driver::Session;
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::driver::DriverView;
use rolldeck::engine::model::hold::Hold;
use rolldeck::engine::model::presence::Presence;
use rolldeck::engine::report::snapshot::{Alarm, Phase};
use serde_json::{Value, json};

use super::driving::{agent, image, loaded, session, until, updated};
use crate::support::control_plane::{Sandbox, daemon_set, eventually};

const SOON: Duration = Duration::from_secs(60);

fn delete(sandbox: &Sandbox, policy: &str) {
    let path = sandbox.path("daemonsets.apps", "agent");
    sandbox.admin().request(Method::DELETE, &path, Some(&json!({"propagationPolicy": policy}))).ok();
}

/// Sets another party's finalizers, which keep the DaemonSet; none lets it go.
fn hold(sandbox: &Sandbox, finalizers: &[&str]) {
    let patch = json!({"metadata": {"finalizers": finalizers}});
    sandbox.admin().patch(&sandbox.path("daemonsets.apps", "agent"), &patch).ok();
}

const HELD: &[&str] = &["example.com/backup"];

fn the_daemon_set(sandbox: &Sandbox) -> Option<Value> {
    let list = sandbox.admin().get(&sandbox.path("daemonsets.apps", "")).items();
    list.into_iter().find(|set| set["metadata"]["name"] == "agent")
}

fn the_lease(sandbox: &Sandbox) -> Option<Value> {
    let list = sandbox.admin().get(&sandbox.path("leases.coordination.k8s.io", "")).items();
    list.into_iter().find(|lease| lease["metadata"]["name"] == "rolldeck-agent")
}

/// Waits until the DaemonSet is gone, and applies the same manifest again; returns the new DaemonSet's uid.
fn make_anew(sandbox: &Sandbox) -> String {
    eventually("it is gone", SOON, || the_daemon_set(sandbox).is_none().then_some(()));
    let made = sandbox.create_daemon_set(daemon_set("agent", "registry.test/agent:v1"));
    made["metadata"]["uid"].as_str().unwrap().to_owned()
}

async fn on<T: Send + 'static>(
    sandbox: &std::sync::Arc<Sandbox>,
    what: impl FnOnce(&Sandbox) -> T + Send + 'static,
) -> T {
    let sandbox = sandbox.clone();
    tokio::task::spawn_blocking(move || what(&sandbox)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_does_not_go_on_with_another_daemonset_of_the_same_name() {
    let Some((sandbox, kubelet)) = agent("orphaned", 4).await else { return };
    let session = session(sandbox.admin()).await;
    let rollout = session.open(sandbox.namespace(), "agent", Role::Driver);
    until(&rollout, "four nodes run v1", |is| loaded(is) && is.counts.available == 4).await;
    rollout.command(image("registry.test/agent:v2")).await.unwrap();
    rollout.command(updated(1)).await.unwrap();
    until(&rollout, "one is updated", |is| is.counts.updated == 1 && is.phase == Phase::Held).await;

    // A finalizer keeps the DaemonSet for a while: it is being deleted, and its controller creates no pod any more.
    on(&sandbox, |sandbox| {
        hold(sandbox, HELD);
        delete(sandbox, "Orphan");
    })
    .await;
    let going = until(&rollout, "it is being deleted", |is| is.alarms.contains(&Alarm::BeingDeleted)).await;
    assert!(going.nodes.iter().any(|node| node.hold == Some(Hold::BeingDeleted)), "{:?}", going.nodes);
    let refused = rollout.command(updated(4)).await.unwrap_err().to_string();
    assert!(refused.contains("being deleted"), "{refused}");

    let uid = on(&sandbox, |sandbox| {
        hold(sandbox, &[]);
        make_anew(sandbox)
    })
    .await;
    let is_new = |pods: &[Value]| pods.iter().all(|pod| pod["metadata"]["ownerReferences"][0]["uid"] == *uid);
    let running: BTreeMap<_, _> = kubelet.running();
    until(&rollout, "what was recorded is not its own", |is| {
        is.daemonset == Presence::Present && is.started_at.is_none()
    })
    .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    // The garbage collector removes the owner from the Lease. A later renewal may set the owner again; then the Lease is deleted with its owner.
    let outlived = on(&sandbox, the_lease).await.is_some_and(|lease| lease["metadata"]["deletionTimestamp"].is_null());
    println!("the Lease outlived it: {outlived}");
    let seen = until(&rollout, "a record that is left is not its own", |is| {
        is.alarms.iter().any(|alarm| matches!(alarm, Alarm::ForeignRecord { .. })) == outlived
    });
    assert_eq!(seen.await.started_at, None);
    println!("adopted by the new one: {}", is_new(&on(&sandbox, Sandbox::pods).await));

    // A new rollout replaces the record; from then on the new DaemonSet owns the Lease.
    rollout.command(image("registry.test/agent:v3")).await.unwrap();
    let owners = on(&sandbox, |sandbox| the_lease(sandbox).unwrap()["metadata"]["ownerReferences"].clone()).await;
    println!("the Lease belongs to {owners}");
    assert_eq!((owners.as_array().map(Vec::len), owners[0]["uid"].as_str()), (Some(1), Some(&*uid)));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(on(&sandbox, the_lease).await.is_some(), "the garbage collector leaves it alone");
    assert_eq!(kubelet.running().len(), running.len());
    rollout.command(updated(4)).await.unwrap();
    until(&rollout, "all are updated and it is released", |is| is.counts.updated == 4 && !is.adopted).await;
    assert_eq!(kubelet.count("registry.test/agent:v3"), 4);
    rollout.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_daemonset_with_its_pods_ends_its_rollout() {
    let Some((sandbox, kubelet)) = agent("gone", 3).await else { return };
    let session = session(sandbox.admin()).await;
    let rollout = session.open(sandbox.namespace(), "agent", Role::Driver);
    until(&rollout, "three nodes run v1", |is| loaded(is) && is.counts.available == 3).await;
    rollout.command(image("registry.test/agent:v2")).await.unwrap();
    rollout.command(updated(1)).await.unwrap();
    until(&rollout, "one is updated", |is| is.counts.updated == 1).await;
    on(&sandbox, |sandbox| {
        delete(sandbox, "Background");
        make_anew(sandbox)
    })
    .await;
    let again = until(&rollout, "the new one runs v1 everywhere", |is| {
        is.daemonset == Presence::Present && is.counts.available == 3 && !is.adopted && is.started_at.is_none()
    })
    .await;
    println!("then: {} · {:?}", again.phase, again.alarms);
    assert_eq!(kubelet.count("registry.test/agent:v1"), 3);
    // Another rollout of the new DaemonSet is driven to its end.
    rollout.command(image("registry.test/agent:v2")).await.unwrap();
    rollout.command(updated(3)).await.unwrap();
    until(&rollout, "all are updated and it is released", |is| is.counts.updated == 3 && !is.adopted).await;
    assert_eq!(kubelet.count("registry.test/agent:v2"), 3);
    rollout.close().await;
}

/// The namespace controller deletes a namespace's objects in an order of its own, and the API server refuses new objects in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_deleted_ends_its_rollouts() {
    let Some((sandbox, kubelet)) = agent("namespace-gone", 4).await else { return };
    let session = session(sandbox.admin()).await;
    let rollout = session.open(sandbox.namespace(), "agent", Role::Driver);
    until(&rollout, "four nodes run v1", |is| loaded(is) && is.counts.available == 4).await;
    rollout.command(image("registry.test/agent:v2")).await.unwrap();
    rollout.command(updated(1)).await.unwrap();
    until(&rollout, "one is updated", |is| is.counts.updated == 1 && is.phase == Phase::Held).await;

    // A finalizer of somebody else holds the DaemonSet, and with it the namespace.
    on(&sandbox, |sandbox| {
        hold(sandbox, HELD);
        let namespace = format!("/api/v1/namespaces/{}", sandbox.namespace());
        sandbox.admin().request(Method::DELETE, &namespace, None).ok();
    })
    .await;
    let going = until(&rollout, "it is being deleted", |is| is.alarms.contains(&Alarm::BeingDeleted)).await;
    assert_eq!(going.remedies(), [], "nothing is offered that would be refused");
    let refused = rollout.command(updated(4)).await.unwrap_err().to_string();
    assert!(refused.contains("being deleted"), "{refused}");
    let no_lease = until(&rollout, "its Lease is gone", |is| matches!(is.driver, DriverView::Nobody)).await;
    println!("{} · {} · {:?}", no_lease.phase, no_lease.driving(), no_lease.alarms);
    until(&rollout, "its pods are gone", |is| is.nodes.iter().all(|node| node.pod.is_none())).await;
    assert_eq!(kubelet.running().len(), 0, "no pod is made in a namespace that is being deleted");

    on(&sandbox, |sandbox| hold(sandbox, &[])).await;
    let gone = until(&rollout, "it is gone", |is| is.daemonset == Presence::Absent).await;
    assert_eq!((&gone.phase, &gone.driver), (&Phase::Idle, &DriverView::Nobody));
    let refused = rollout.command(updated(4)).await.unwrap_err().to_string();
    assert!(refused.contains("no DaemonSet"), "{refused}");
    rollout.close().await;
}
