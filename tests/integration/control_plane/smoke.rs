//! The control plane itself: its controllers act, its users are kept to their rights, and it ends when the test says so.

use std::time::Duration;

use serde_json::json;

use crate::support::control_plane::{Component, ControlPlane, Grant, Options, daemon_set, eventually, sandbox};

const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_daemon_set_gets_its_pods_bound_to_its_nodes() {
    let Some(sandbox) = sandbox("smoke") else { return };
    let namespace = sandbox.namespace();
    let admin = sandbox.admin();

    let nodes = sandbox.nodes(2);
    sandbox.create_daemon_set(daemon_set("agent", "registry.test/agent:1"));

    let mut bound = eventually("two pods bound to two nodes", SOON, || {
        let bound: Vec<_> =
            sandbox.pods().iter().filter_map(|pod| pod["spec"]["nodeName"].as_str().map(str::to_owned)).collect();
        (bound.len() == 2).then_some(bound)
    });
    bound.sort();
    assert_eq!(bound, nodes);

    let revisions = admin.get(&sandbox.path("controllerrevisions.apps", "")).items();
    assert_eq!(revisions.len(), 1);
    assert_eq!(revisions[0]["revision"], 1);

    sandbox.run_pods();
    let status = admin.kubectl_ok(["rollout", "status", "daemonset/agent", "-n", namespace, "--timeout=20s"]);
    assert!(status.ends_with("daemon set \"agent\" successfully rolled out\n"), "{status}");
}

#[test]
fn kubectl_reads_and_writes() {
    let Some(sandbox) = sandbox("kubectl") else { return };
    let namespace = sandbox.namespace();
    let admin = sandbox.admin();

    let name = format!("{namespace}-a");
    let node =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": sandbox.node_selector()}});
    assert_eq!(admin.apply(&node.to_string()), format!("node/{name} created\n"));
    let names = admin.kubectl_ok(["get", "nodes", "-o", "name", "-l", &sandbox.node_labels()]);
    assert_eq!(names, format!("node/{name}\n"));
    let version = admin.kubectl_ok(["version"]);
    assert!(version.contains("Server Version: v1.36.3"), "{version}");
}

#[test]
fn a_user_may_do_what_was_granted_and_nothing_else() {
    let Some(sandbox) = sandbox("users") else { return };
    let namespace = sandbox.namespace();
    let pods = sandbox.path("pods", "");

    let restricted = sandbox.user("restricted", &[Grant::within(namespace, "get,list,watch", "pods,daemonsets.apps")]);
    assert_eq!(restricted.get(&pods).status, 200);
    assert_eq!(restricted.get("/api/v1/pods").status, 403);
    let forbidden = restricted.get("/api/v1/nodes");
    assert_eq!(forbidden.status, 403);
    assert_eq!(
        forbidden.body["message"],
        format!(
            "nodes is forbidden: User \"{}\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
            restricted.name()
        )
    );
    assert!(!restricted.kubectl(["get", "nodes"]).status.success());

    let observer = sandbox.user("observer", &[Grant::read_only()]);
    assert_eq!(observer.get("/api/v1/nodes").status, 200);
    assert_eq!(observer.post(&pods, &json!({"metadata": {"name": "a"}})).status, 403);

    observer.revoke(sandbox.admin());
    eventually("the observer's rights are gone", SOON, || (observer.get("/api/v1/nodes").status == 403).then_some(()));

    assert_eq!(sandbox.stranger().get("/api/v1/nodes").status, 401);
    let refused = sandbox.stranger().kubectl(["get", "nodes"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("You must be logged in"), "{refused:?}");
}

/// This test has a control plane of its own, because it stops and freezes components and its nodes fall silent.
#[test]
fn components_stop_freeze_and_come_back() {
    let options = Options { node_monitor_grace: Duration::from_secs(2), ..Options::default() };
    let Ok(plane) = ControlPlane::start_with(&options) else { return };
    let directory = plane.directory().to_owned();
    let admin = plane.admin();

    plane.stop(Component::ControllerManager);
    assert!(plane.pid(Component::ControllerManager).is_none());
    admin.post("/apis/apps/v1/namespaces/default/daemonsets", &daemon_set("agent", "registry.test/agent:1")).ok();
    let path = "/apis/apps/v1/namespaces/default/daemonsets/agent";
    assert!(admin.get(path).ok()["status"]["observedGeneration"].is_null());

    plane.restart(Component::ControllerManager);
    plane.until_healthy(Component::ControllerManager).unwrap();
    eventually("the controller observes the DaemonSet", SOON, || {
        admin.get(path).ok()["status"]["observedGeneration"].as_i64()
    });

    let ready = json!({"type": "Ready", "status": "True"});
    admin.post("/api/v1/nodes", &json!({"metadata": {"name": "n1"}, "status": {"conditions": [ready]}})).ok();
    eventually("a node that renews no lease turns Unknown", SOON, || {
        let node = admin.get("/api/v1/nodes/n1").ok();
        let conditions = node["status"]["conditions"].as_array()?;
        conditions.iter().any(|is| is["type"] == "Ready" && is["status"] == "Unknown").then_some(())
    });

    plane.pause(Component::ApiServer);
    let mut ask = plane.admin().kubectl(["get", "--raw", "/readyz", "--request-timeout=1s"]);
    assert!(!ask.status.success());
    plane.resume(Component::ApiServer);
    ask = plane.admin().kubectl(["get", "--raw", "/readyz", "--request-timeout=10s"]);
    assert_eq!(ask.stdout, b"ok");

    drop(plane);
    assert!(!directory.exists(), "{} should be gone", directory.display());
}
