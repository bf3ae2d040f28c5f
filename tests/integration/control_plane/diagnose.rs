//! `rolldeck diagnose`: a dozen causes at once on one DaemonSet, each found with its evidence, beside what `kubectl describe` says.
//!
//! The scheduler, the DaemonSet controller and quota are the real ones; what only a kubelet can say is written as a kubelet writes it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fixture::operator;
use crate::support::control_plane::{Sandbox, daemon_set, sandbox};
use crate::support::program::text;

const SOON: Duration = Duration::from_secs(60);
const IMAGE: &str = "registry.test/agent:v9";

/// What a kubelet writes of the container `agent`: its state, how it ended before, and how often it was started again.
fn container(state: &Value, last: Option<&Value>, restarts: u32) -> Value {
    json!([{
        "name": "agent", "image": IMAGE, "imageID": "", "ready": false, "started": false, "restartCount": restarts,
        "state": state, "lastState": last.map(|last| json!({"terminated": last})).unwrap_or_else(|| json!({})),
    }])
}

fn waiting(reason: &str, message: &str) -> Value {
    container(&json!({"waiting": {"reason": reason, "message": message}}), None, 0)
}

fn ended(reason: &str, code: i32) -> Value {
    json!({"exitCode": code, "reason": reason, "startedAt": "2026-11-23T07:00:00Z", "finishedAt": "2026-11-23T07:00:04Z"})
}

fn crashed(reason: &str, code: i32) -> Value {
    let message = "back-off 40s restarting failed container=agent pod=agent";
    container(&json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}}), Some(&ended(reason, code)), 4)
}

/// What is wrong on a node: the cause that has to be found, what the kubelet says, and what both we and kubectl have to tell of it.
struct Case {
    cause: &'static str,
    containers: Value,
    words: &'static str,
}

fn cases() -> Vec<Case> {
    let case = |cause, containers, words| Case { cause, containers, words };
    vec![
        case(
            "image not found",
            waiting("ErrImagePull", "manifest for registry.test/agent:v9 not found: manifest unknown"),
            "manifest unknown",
        ),
        case(
            "image access denied",
            waiting(
                "ImagePullBackOff",
                "Back-off pulling image: ErrImagePull: pull access denied, authorization failed",
            ),
            "authorization failed",
        ),
        case(
            "registry rate limit",
            waiting("ErrImagePull", "toomanyrequests: You have reached your pull rate limit"),
            "toomanyrequests",
        ),
        case("image pull fails", waiting("ErrImagePull", "dial tcp 10.0.0.1:443: i/o timeout"), "i/o timeout"),
        case(
            "image not for this platform",
            waiting("ErrImagePull", "no match for platform in manifest: not found"),
            "no match for platform",
        ),
        case(
            "invalid image name",
            waiting("InvalidImageName", "Failed to apply default image tag: invalid reference format"),
            "invalid reference format",
        ),
        case(
            "configuration missing",
            waiting("CreateContainerConfigError", "configmap \"agent\" not found"),
            "configmap \"agent\" not found",
        ),
        case(
            "container does not start",
            waiting("CreateContainerError", "exec: \"agnet\": executable file not found in $PATH"),
            "executable file not found",
        ),
        case("crash loop", crashed("Error", 1), "agent ended with exit 1"),
        case("out of memory", crashed("OOMKilled", 137), "agent ended with exit 137 (OOMKilled)"),
    ]
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The pods by their nodes: by affinity where they are not bound.
fn pods(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let term = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    let pod = |pod: &Value| {
        let node = pod.pointer(term).or(pod.pointer("/spec/nodeName"))?.as_str()?.to_owned();
        Some((node, pod["metadata"]["name"].as_str()?.to_owned()))
    };
    sandbox.pods().iter().filter_map(pod).collect()
}

#[test]
fn a_dozen_causes_are_found_with_their_evidence() {
    let Some(sandbox) = sandbox("diagnose") else { return };
    let (admin, namespace) = (sandbox.admin(), sandbox.namespace().to_owned());
    let cases = cases();
    // Beyond those of the kubelets: one node is too small, one is down, one may have no pod, and one is well.
    let nodes = sandbox.nodes(cases.len() + 4);
    let [small, down, unmade, well] = nodes[cases.len()..].as_array::<4>().unwrap();
    admin.patch(&format!("/api/v1/nodes/{small}/status"), &json!({"status": {"allocatable": {"cpu": "100m"}}})).ok();
    let mut set = daemon_set("agent", IMAGE);
    set["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "200m"}});
    sandbox.create_daemon_set(set);
    let made = until("a pod on every node", || Some(pods(&sandbox)).filter(|pods| pods.len() == nodes.len()));
    until("all but one are bound", || {
        let bound = sandbox.pods().iter().filter(|pod| pod["spec"]["nodeName"].is_string()).count();
        (bound == nodes.len() - 1).then_some(())
    });
    let status = |node: &str, status: Value| {
        admin
            .patch(&format!("/api/v1/namespaces/{namespace}/pods/{}/status", made[node]), &json!({"status": status}))
            .ok();
    };
    for (node, case) in nodes.iter().zip(&cases) {
        let conditions = json!([{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]);
        status(node, json!({"phase": "Pending", "containerStatuses": case.containers, "conditions": conditions}));
    }
    let runs = container(&json!({"running": {"startedAt": "2026-11-23T07:00:00Z"}}), None, 0);
    for node in [down, well] {
        let mut runs = runs.clone();
        (runs[0]["ready"], runs[0]["imageID"]) = (json!(true), json!("registry.test/agent@sha256:1"));
        let ready = json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-23T07:00:00Z"}]);
        status(node, json!({"phase": "Running", "containerStatuses": runs, "conditions": ready}));
    }
    let unready =
        json!([{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "PLEG is not healthy"}]);
    admin.patch(&format!("/api/v1/nodes/{down}/status"), &json!({"status": {"conditions": unready}})).ok();
    // No pod more: one that goes does not come back. The quota controller does not run here, so the test writes the count.
    let (quotas, hard) = (sandbox.path("resourcequotas", ""), json!({"pods": "0"}));
    admin.post(&quotas, &json!({"metadata": {"name": "full"}, "spec": {"hard": hard}})).ok();
    admin.patch(&format!("{quotas}/full/status"), &json!({"status": {"hard": hard, "used": hard}})).ok();
    let path = format!("/api/v1/namespaces/{namespace}/pods/{}", made[unmade]);
    let now = json!({"gracePeriodSeconds": 0});
    admin.request(reqwest::Method::DELETE, &path, Some(&now)).unwrap().ok();

    let operator = operator(&sandbox, &namespace);
    let wanted = cases.iter().zip(&nodes).map(|(case, node)| (node, case.cause));
    let wanted = wanted.chain([(small, "unschedulable"), (down, "node not ready"), (unmade, "quota exceeded")]);
    let wanted: BTreeMap<&String, &str> = wanted.collect();
    let diagnosis = until("every cause is found", || {
        let output = operator.run(&["diagnose", "ds/agent", "-o", "json"]);
        let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
        assert_eq!(output.status.code(), Some(4));
        let finding = |node: &str| {
            let findings = found["findings"].as_array().unwrap().iter();
            findings
                .filter(|finding| finding["nodes"].as_array().unwrap().iter().any(|name| name == node))
                .collect::<Vec<_>>()
        };
        let says = |(node, cause): (&&String, &&str)| {
            let of_node = finding(node);
            of_node.len() == 1
                && of_node[0]["title"].as_str().unwrap().starts_with(cause)
                && of_node[0]["wrong"] == true
        };
        if !wanted.iter().all(says) {
            return None;
        }
        assert!(finding(well).is_empty(), "{found}");
        assert_eq!((found["nodes"].as_u64(), found["atGoal"].as_u64()), (Some(nodes.len() as u64), Some(1)));
        Some(found)
    });
    println!("{}", operator.ok_or_not(&["diagnose", "ds/agent"]));
    for finding in diagnosis["findings"].as_array().unwrap() {
        assert!(!finding["remedies"].as_array().unwrap().is_empty(), "nothing to do: {finding}");
    }
    // Side by side with kubectl.
    for (node, case) in nodes.iter().zip(&cases) {
        // kubectl tells the reason, and leaves the kubelet's words out.
        let described = admin.kubectl_ok(["describe", "pod", "-n", &namespace, &made[node]]);
        let reason = case.containers[0]["state"]["waiting"]["reason"].as_str().unwrap();
        assert!(described.contains(reason), "kubectl does not say `{reason}`:\n{described}");
        let finding =
            diagnosis["findings"].as_array().unwrap().iter().find(|finding| finding["nodes"][0] == **node).unwrap();
        let evidence = finding["evidence"].to_string().replace("\\\"", "\"");
        assert!(evidence.contains(case.words), "`{}` is not in {evidence}", case.words);
    }
    let described = admin.kubectl_ok(["describe", "daemonset", "-n", &namespace, "agent"]);
    assert!(described.contains("exceeded quota: full"), "{described}");
    let quota =
        diagnosis["findings"].as_array().unwrap().iter().find(|finding| finding["cause"] == "quota exceeded").unwrap();
    assert!(quota["evidence"].to_string().contains("exceeded quota: full"), "{quota}");
}
