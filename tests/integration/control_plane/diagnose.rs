//! `rolldeck diagnose`: one DaemonSet on two dozen nodes, each node with a cause of its own. Every cause is found with its evidence, and `kubectl
//! describe` shows the same.
//!
//! The scheduler, the DaemonSet controller, quota, finalizers and rights are the real ones. The test writes those statuses and Events that only a
//! kubelet can write.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rolldeck::engine::model::cause::CauseKind;
use serde_json::{Value, json};

use super::fixture::{grants, operator};
use crate::support::control_plane::{Grant, Sandbox, daemon_set, sandbox};
use crate::support::program::{Operator, text};

/// `rolldeck diagnose` counts a pod as stuck once it is still there 45 s after its grace period.
const SOON: Duration = Duration::from_secs(120);
const IMAGE: &str = "registry.test/agent:v9";

/// The status of a container as a kubelet writes it: its state, how it ended before, and how often it was restarted.
fn status_of(name: &str, state: &Value, last: Option<&Value>, restarts: u32) -> Value {
    json!([{
        "name": name, "image": IMAGE, "imageID": "", "ready": false, "started": false, "restartCount": restarts,
        "state": state, "lastState": last.map(|last| json!({"terminated": last})).unwrap_or_else(|| json!({})),
    }])
}

fn container(state: &Value, last: Option<&Value>, restarts: u32) -> Value {
    status_of("agent", state, last, restarts)
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

/// One node's fault: the cause that `rolldeck diagnose` has to find, the statuses that the kubelet writes, and the words that the evidence has to
/// contain.
struct Case {
    cause: &'static str,
    containers: Value,
    /// The status of the init container `setup`; `None`: it ended well.
    init: Option<Value>,
    /// The reason and the message of a Warning about the pod.
    event: Option<(&'static str, &'static str)>,
    words: &'static str,
}

impl Case {
    /// The words by which `kubectl describe` shows the fault: the message of the Event, or else the reason in the status, whose message kubectl
    /// leaves out.
    fn shown_by_kubectl(&self) -> &str {
        let init = self.init.as_ref().filter(|_| self.event.is_none());
        match self.event {
            Some((_, message)) => message,
            None => {
                let state = &init.unwrap_or(&self.containers)[0]["state"];
                let known = [&state["waiting"]["reason"], &state["terminated"]["reason"]];
                known.into_iter().find_map(Value::as_str).unwrap()
            }
        }
    }
}

/// A pod whose init container `setup` fails.
fn init(state: &Value, last: Option<&Value>, restarts: u32, words: &'static str) -> Case {
    let init = Some(status_of("setup", state, last, restarts));
    Case { cause: "init container fails: setup", containers: waiting("PodInitializing", ""), init, event: None, words }
}

/// A pod whose kubelet says in an Event why the pod does not start.
fn told(cause: &'static str, reason: &'static str, words: &'static str) -> Case {
    let init = Some(status_of("setup", &json!({"waiting": {"reason": "PodInitializing"}}), None, 0));
    Case { cause, containers: waiting("PodInitializing", ""), init, event: Some((reason, words)), words }
}

fn cases() -> Vec<Case> {
    let case = |cause, containers, words| Case { cause, containers, init: None, event: None, words };
    let back_off =
        json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container=setup"}});
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
        case("registry network error", waiting("ErrImagePull", "dial tcp 10.0.0.1:443: i/o timeout"), "i/o timeout"),
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
        init(&back_off, Some(&ended("Error", 139)), 2, "setup ended with exit 139 (SIGSEGV), 2 restarts: back-off 40s"),
        init(&json!({"terminated": ended("Error", 3)}), None, 0, "setup ended with exit 3"),
        told(
            "volume not mounted",
            "FailedMount",
            "MountVolume.SetUp failed for volume \"config\" : configmap \"agent\" not found",
        ),
        told(
            "volume not mounted",
            "FailedAttachVolume",
            "Multi-Attach error for volume \"data\" Volume is already exclusively attached to one node",
        ),
        told(
            "pod sandbox fails",
            "NetworkNotReady",
            "network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady \
             message:Network plugin returns error: cni plugin not initialized",
        ),
        told(
            "pod sandbox fails",
            "FailedCreatePodSandBox",
            "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox \"4f\": plugin \
             type=\"host-local\" failed (add): failed to allocate for range 0: no IP addresses available in range set",
        ),
        told(
            "pod sandbox fails",
            "FailedCreatePodSandBox",
            "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to reserve sandbox name \"agent_1\": name \
             \"agent_1\" is reserved for \"8c\"",
        ),
    ]
}

/// The causes on the nodes after those of [`Case`], where no container's status names a cause.
const OF_NO_KUBELET: [&str; 8] = [
    "unschedulable",
    "unschedulable",
    "unschedulable",
    "node not ready",
    "quota exceeded",
    "kept by finalizers",
    "stuck terminating",
    "readiness gate not met",
];

/// Why no node in this test has the cause; `None`: a node has it.
fn not_here(cause: CauseKind) -> Option<&'static str> {
    match cause {
        CauseKind::ImageNotFound
        | CauseKind::ImageDenied
        | CauseKind::ImageRateLimited
        | CauseKind::ImagePlatform
        | CauseKind::ImageName
        | CauseKind::ImageNetwork
        | CauseKind::VolumeMount
        | CauseKind::PodSandbox
        | CauseKind::Config
        | CauseKind::ContainerStart
        | CauseKind::CrashLoop
        | CauseKind::InitFailure
        | CauseKind::OutOfMemory
        | CauseKind::ReadinessGate
        | CauseKind::Unschedulable
        | CauseKind::QuotaExceeded
        | CauseKind::StuckTerminating
        | CauseKind::HeldByFinalizers
        | CauseKind::NodeDown => None,
        CauseKind::ImageNeverPull | CauseKind::ImageDisk | CauseKind::ImagePull => {
            Some("told by other words in the same places as the other images")
        }
        CauseKind::NotReady => Some("a pod that starts has it, too"),
        CauseKind::SchedulerIdle => Some("it is one for all pods: `outage.rs` lets it stand still"),
        CauseKind::Rejected => Some("its controller deletes such a pod at once"),
        CauseKind::Evicted => Some("the same: `evictions.rs` evicts pods"),
        CauseKind::NodeShutdown => Some("the same: `node_restarts.rs` shuts a node down"),
        CauseKind::AdmissionRefused
        | CauseKind::CreationForbidden
        | CauseKind::PodInvalid
        | CauseKind::NotCreated
        | CauseKind::ControllerIdle => Some("of all pods that are to be created, and here only one is: the quota"),
        CauseKind::Deadline => Some("takes longer than the test"),
    }
}

#[test]
fn every_cause_is_here_or_says_why_not() {
    let cases = cases();
    let here: Vec<&str> = cases.iter().map(|case| case.cause).chain(OF_NO_KUBELET).collect();
    for cause in CauseKind::ALL {
        let found = here.iter().any(|title| title.starts_with(&cause.to_string()));
        assert_eq!(found, not_here(cause).is_none(), "{cause:?} ({cause})");
    }
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

/// The pods by node; a pod that is not bound belongs to the node that its affinity names.
fn pods(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let term = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    let pod = |pod: &Value| {
        let node = pod.pointer(term).or(pod.pointer("/spec/nodeName"))?.as_str()?.to_owned();
        Some((node, pod["metadata"]["name"].as_str()?.to_owned()))
    };
    sandbox.pods().iter().filter_map(pod).collect()
}

/// Another owner's pod, which takes room on a node.
fn hog(name: &str, node: &str, class: &str, requests: &Value) -> Value {
    let containers = json!([{"name": "hog", "image": IMAGE, "resources": {"requests": requests}}]);
    json!({"metadata": {"name": name}, "spec": {"nodeName": node, "priorityClassName": class, "containers": containers}})
}

fn finding<'a>(found: &'a Value, node: &str) -> Vec<&'a Value> {
    let is_on = |finding: &&Value| finding["nodes"].as_array().unwrap().iter().any(|name| name == node);
    found["findings"].as_array().unwrap().iter().filter(is_on).collect()
}

#[test]
fn every_cause_is_found_with_its_evidence() {
    let Some(sandbox) = sandbox("diagnose") else { return };
    let (admin, namespace) = (sandbox.admin(), sandbox.namespace().to_owned());
    let cases = cases();
    // Nine nodes more than there are kubelet cases.
    let nodes = sandbox.nodes(cases.len() + 9);
    let [small, full, crowded, down, unmade, held, stuck, well, gated] = nodes[cases.len()..].as_array::<9>().unwrap();
    let allocatable = |node: &str, amounts: Value| {
        admin.patch(&format!("/api/v1/nodes/{node}/status"), &json!({"status": {"allocatable": amounts}})).ok();
    };
    allocatable(small, json!({"cpu": "100m"}));
    allocatable(full, json!({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}));
    allocatable(crowded, json!({"pods": "1"}));
    let most = json!({"cpu": "800m", "memory": "900Mi", "ephemeral-storage": "1000Mi"});
    let others = "/api/v1/namespaces/default/pods";
    let hogs = [
        hog(&format!("{namespace}-large"), full, "system-node-critical", &most),
        hog(&format!("{namespace}-little"), full, "", &json!({"cpu": "50m"})),
        hog(&format!("{namespace}-alone"), crowded, "", &json!({})),
    ];
    hogs.iter().for_each(|hog| drop(admin.post(others, hog).ok()));
    let mut set = daemon_set("agent", IMAGE);
    let spec = &mut set["spec"]["template"]["spec"];
    spec["initContainers"] = json!([{"name": "setup", "image": IMAGE}]);
    spec["containers"][0]["resources"] =
        json!({"requests": {"cpu": "200m", "memory": "200Mi", "ephemeral-storage": "200Mi"}});
    sandbox.create_daemon_set(set);
    let made = until("a pod on every node", || Some(pods(&sandbox)).filter(|pods| pods.len() == nodes.len()));
    until("all are bound but those without room", || {
        let bound = sandbox.pods().iter().filter(|pod| pod["spec"]["nodeName"].is_string()).count();
        (bound == nodes.len() - 3).then_some(())
    });
    let path = |node: &str| format!("/api/v1/namespaces/{namespace}/pods/{}", made[node]);
    let delete = |node: &str, grace: u32| {
        admin.request(reqwest::Method::DELETE, &path(node), Some(&json!({"gracePeriodSeconds": grace}))).unwrap().ok();
    };
    let finalizers = |names: Value| admin.patch(&path(held), &json!({"metadata": {"finalizers": names}})).ok();
    finalizers(json!(["example.com/unmount", "hooks.example.org/drain"]));
    delete(held, 0);
    // No kubelet runs here, so this pod stays.
    delete(stuck, 1);
    let status = |node: &str, status: Value| {
        admin.patch(&format!("{}/status", path(node)), &json!({"status": status})).ok();
    };
    let done = status_of("setup", &json!({"terminated": ended("Completed", 0)}), None, 0);
    for (node, case) in nodes.iter().zip(&cases) {
        let conditions = json!([{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]);
        let init = case.init.as_ref().unwrap_or(&done);
        status(
            node,
            json!({"phase": "Pending", "initContainerStatuses": init, "containerStatuses": case.containers,
                "conditions": conditions}),
        );
        if let Some((reason, message)) = case.event {
            let pod = admin.get(&path(node)).ok();
            let now = pod["metadata"]["creationTimestamp"].clone();
            let about = json!({"kind": "Pod", "apiVersion": "v1", "namespace": namespace, "name": made[node],
                "uid": pod["metadata"]["uid"]});
            let event = json!({"metadata": {"name": format!("{}.1", made[node])}, "involvedObject": about, "type": "Warning",
                "reason": reason, "message": message, "source": {"component": "kubelet", "host": node},
                "firstTimestamp": now, "lastTimestamp": now, "count": 1});
            admin.post(&sandbox.path("events", ""), &event).ok();
        }
    }
    let runs = container(&json!({"running": {"startedAt": "2026-11-23T07:00:00Z"}}), None, 0);
    for node in [down, well, gated] {
        let mut runs = runs.clone();
        (runs[0]["ready"], runs[0]["imageID"]) = (json!(true), json!("registry.test/agent@sha256:1"));
        let ready = json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-23T07:00:00Z"}]);
        status(node, json!({"phase": "Running", "containerStatuses": runs, "conditions": ready}));
    }
    let says = "corresponding condition of pod readiness gate \"example.com/serves\" does not exist.";
    let gate = json!([{"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": says}]);
    status(gated, json!({"conditions": gate}));
    let unready =
        json!([{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "PLEG is not healthy"}]);
    admin.patch(&format!("/api/v1/nodes/{down}/status"), &json!({"status": {"conditions": unready}})).ok();
    // The quota allows no further pod, so a deleted pod is not replaced. The quota controller does not run here, so the test writes the count.
    let (quotas, hard) = (sandbox.path("resourcequotas", ""), json!({"pods": "0"}));
    admin.post(&quotas, &json!({"metadata": {"name": "full"}, "spec": {"hard": hard}})).ok();
    admin.patch(&format!("{quotas}/full/status"), &json!({"status": {"hard": hard, "used": hard}})).ok();
    delete(unmade, 0);

    let operator = operator(&sandbox, &namespace);
    let wanted = cases.iter().zip(&nodes).map(|(case, node)| (node, case.cause));
    let wanted = wanted.chain([small, full, crowded, down, unmade, held, stuck, gated].into_iter().zip(OF_NO_KUBELET));
    let wanted: BTreeMap<&String, &str> = wanted.collect();
    let mut missing = Vec::new();
    let diagnosis = until("every cause is found", || {
        let output = operator.run(&["diagnose", "ds/agent", "-o", "json"]);
        let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
        // The exit codes are those of `status`: not complete (3), or something failed (4).
        assert!(matches!(output.status.code(), Some(3 | 4)), "{:?}", output.status);
        let says = |(node, cause): (&&String, &&str)| {
            let of_node = finding(&found, node);
            let title = |finding: &Value| finding["title"].as_str().unwrap().starts_with(cause);
            matches!(&of_node[..], [only] if title(only) && only["wrong"] == true)
        };
        let now: Vec<String> = wanted.iter().filter(|one| !says(*one)).map(|one| format!("{one:?}")).collect();
        if now != missing {
            println!("not found yet: {now:?}");
            missing = now;
        }
        if !missing.is_empty() {
            return None;
        }
        assert!(finding(&found, well).is_empty(), "{found}");
        assert_eq!((found["nodes"].as_u64(), found["atGoal"].as_u64()), (Some(nodes.len() as u64), Some(1)));
        Some(found)
    });
    println!("{}", operator.ok_or_not(&["diagnose", "ds/agent"]));
    for finding in diagnosis["findings"].as_array().unwrap() {
        assert!(!finding["remedies"].as_array().unwrap().is_empty(), "nothing to do: {finding}");
    }
    let of = |node: &str| finding(&diagnosis, node)[0].clone();
    // Side by side with kubectl.
    for (node, case) in nodes.iter().zip(&cases) {
        let described = admin.kubectl_ok(["describe", "pod", "-n", &namespace, &made[node]]);
        let shown = case.shown_by_kubectl();
        assert!(described.contains(shown), "kubectl does not say `{shown}`:\n{described}");
        let evidence = of(node)["evidence"].to_string().replace("\\\"", "\"");
        assert!(evidence.contains(case.words), "`{}` is not in {evidence}", case.words);
    }
    let described = admin.kubectl_ok(["describe", "daemonset", "-n", &namespace, "agent"]);
    assert!(described.contains("exceeded quota: full"), "{described}");
    assert!(of(unmade)["evidence"].to_string().contains("exceeded quota: full"));
    let unscheduled = of(small)["evidence"].to_string();
    assert!(unscheduled.contains("1 Insufficient cpu") && !unscheduled.contains("ffinity"), "{unscheduled}");
    assert!(of(stuck)["evidence"].to_string().contains("within its grace of 1s"));
    assert!(of(gated)["evidence"].to_string().contains("example.com/serves"), "{}", of(gated));
    let described = admin.kubectl_ok(["describe", "pod", "-n", &namespace, &made[held]]);
    assert!(described.contains("Terminating"), "{described}");
    let words = of(held).to_string();
    for name in ["finalizers example.com/unmount, hooks.example.org/drain", "the controller of example.com takes"] {
        assert!(words.contains(name), "{name}: {words}");
    }

    // A command that a finding offers does what it says. No kubelet serves logs here, so the log command is only compared.
    let offered = |node: &str| of(node)["commands"][0]["command"].as_str().unwrap().to_owned();
    let log = offered(&nodes[cases.iter().position(|case| case.cause.starts_with("init")).unwrap()]);
    assert!(log.starts_with("kubectl ") && log.contains(" logs ") && log.contains(" -c setup"), "{log}");
    let patch = offered(held);
    let patch = shlex::split(&patch).unwrap();
    let begins = patch.iter().position(|word| word == "patch").unwrap();

    // The diagnosis names the pods that hold a scarce resource only for users who may list pods in all namespaces. A user with no more than the
    // rights for a rollout is told which right is missing.
    let text_of = |operator: &Operator| operator.ok_or_not(&["diagnose", "ds/agent"]);
    let no = text_of(&operator);
    for words in ["takes the right to list pods in all namespaces", &format!("describe node {full}")] {
        assert!(no.contains(words), "{words}: {no}");
    }
    let mut rights = grants(&namespace).to_vec();
    rights.push(Grant::everywhere("list", "pods"));
    let reader = Operator::new(sandbox.user("bob", &rights).kubeconfig(), &namespace);
    let yes = text_of(&reader);
    let described = admin.kubectl_ok(["describe", "node", full]);
    let large = format!("{namespace}-large");
    assert!(described.contains(&large) && described.contains("850m"), "kubectl sums up something else: {described}");
    for words in [
        format!("cpu of {full}: 1 allocatable, 850m requested by 2 pods, this pod asks for 200m"),
        format!("held by default/{large} 800m (higher priority: 2000001000), default/{namespace}-little 50m"),
        format!("memory of {full}: 1Gi allocatable, 900Mi requested by 2 pods, this pod asks for 200Mi"),
        format!("ephemeral-storage of {full}: 1Gi allocatable, 1000Mi requested by 2 pods, this pod asks for 200Mi"),
        format!("cpu of {small}: 100m allocatable, 0 requested by 0 pods, this pod asks for 200m"),
        format!("pods of {crowded}: 1 allocatable, 1 requested by 1 pod, this pod asks for 1"),
        format!("held by default/{namespace}-alone 1"),
    ] {
        assert!(yes.contains(&words), "{words}: {yes}");
    }

    admin.kubectl_ok(patch[begins..].iter().map(String::as_str));
    until("the pod that only finalizers kept is gone", || {
        pods(&sandbox).values().all(|pod| *pod != made[held]).then_some(())
    });
    for hog in &hogs {
        let path = format!("{others}/{}", hog["metadata"]["name"].as_str().unwrap());
        admin.request(reqwest::Method::DELETE, &path, Some(&json!({"gracePeriodSeconds": 0}))).unwrap().ok();
    }
}
