//! Policies, quotas or a controller manager that stands still keep pods from being created or deleted: the API server refuses the request, or nobody
//! sends it.

use std::time::{Duration, Instant};

use crate::support::hollow::{Hollow, HollowOptions, Workloads};
use rolldeck::engine::model::facts::StrategyKind;
use serde_json::{Value, json};

use super::fixture::{BUDGET, DS, GOOD, NODES, RolloutFixture, SOON, SPEED, operator, scenario};
use crate::support::control_plane::{Component, ControlPlane, User, Witness, eventually};
use crate::support::program::text;

/// The controller tries again within this time after it was refused for half a minute.
const TRIES_AGAIN: Duration = Duration::from_secs(100);

fn image(version: usize) -> String {
    format!("agent={}", GOOD[version])
}

/// A cluster-wide policy that denies `operation` on a namespace's pods for which `denies` is true; removed when dropped.
pub(crate) struct Policy<'a> {
    admin: &'a User,
    name: String,
}

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

impl<'a> Policy<'a> {
    /// Creates the policy. The API server enforces it a moment later.
    pub(crate) fn set(admin: &'a User, namespace: &str, operation: &str, denies: &str) -> Self {
        let name = format!("{namespace}-{}", operation.to_lowercase());
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": ["pods"]});
        let policy = json!({
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "resourceRules": [rule],
                },
                "validations": [{"expression": format!("!({denies})"), "message": "not today"}],
            },
        });
        let binding = json!({
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        });
        admin.post(POLICIES, &policy).ok();
        admin.post(BINDINGS, &binding).ok();
        Self { admin, name }
    }

    /// Waits until new pods of a namespace are refused.
    fn until_it_denies_new_pods(&self, namespace: &str) {
        let pod =
            json!({"metadata": {"generateName": "probe-"}, "spec": {"containers": [{"name": "p", "image": "p"}]}});
        let path = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
        eventually("the policy is followed", SOON, || (self.admin.post(&path, &pod).status == 422).then_some(()));
    }

    /// Waits until this pod may not be deleted.
    fn until_it_denies_deleting(&self, path: &str) {
        let dry = json!({"dryRun": ["All"]});
        eventually("the policy is followed", SOON, || {
            let answer = self.admin.request(reqwest::Method::DELETE, path, Some(&dry)).unwrap();
            (answer.status == 422).then_some(())
        });
    }
}

impl Drop for Policy<'_> {
    fn drop(&mut self) {
        for path in [BINDINGS, POLICIES] {
            let _ = self.admin.request(reqwest::Method::DELETE, &format!("{path}/{}", self.name), None);
        }
    }
}

/// The alarms of the status: the type and the text of each.
fn alarms(status: &Value) -> Vec<String> {
    let alarms = status["alarms"].as_array().into_iter().flatten();
    alarms.map(|alarm| format!("{}: {}", alarm["type"].as_str().unwrap_or("?"), alarm["text"])).collect()
}

#[test]
fn pods_denied_by_a_policy_halt_the_rollout_and_no_other_pod_is_deleted() {
    let Some(fixture) = RolloutFixture::new("denied") else { return };
    let operator = fixture.operator();
    operator.ok(&["set-image", DS, &image(1), "--yes"]);
    let policy = Policy::set(fixture.sandbox.admin(), fixture.sandbox.namespace(), "CREATE", "true");
    policy.until_it_denies_new_pods(fixture.sandbox.namespace());

    // A pod is tried first: no node is taken down for one that would not be made.
    let began = Instant::now();
    let mut drive = operator.drive(DS, &["--to", "1"]);
    assert_eq!(drive.end().code(), Some(4), "{}", drive.seen());
    let says = "a pod of revision 2 would not be admitted, so that its node would stay without one: ";
    assert!(drive.seen().contains(says) && drive.seen().contains("not today"), "{}", drive.seen());
    assert_eq!(fixture.witness.deletes_since(began).len(), 0, "no serving pod is replaced");
    let status = operator.ok_or_not(&["status", DS]);
    println!("{status}");
    assert!(status.contains("paused by rolldeck") && status.contains("(rolls back to revision 1)"), "{status}");
    // Policies may treat the controller otherwise than who drives: the operator may go on all the same.
    operator.ok(&["resume", DS, "--yes"]);

    let began = Instant::now();
    let mut drive = operator.drive(DS, &["--to", "1"]);
    let end = drive.end();
    println!("{}", drive.seen());
    assert_eq!(end.code(), Some(4), "it pauses or halts");

    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    for said in
        ["creating: admission refused (", "ValidatingAdmissionPolicy", "not today", "admission refused on 1 node"]
    {
        assert!(drive.seen().contains(said), "{said}");
    }
    // The budget of two would allow another pod, but a halted rollout takes no step.
    let step = operator.run(&["step", DS, "--to", "100%"]);
    assert_eq!(step.status.code(), Some(6), "{}", text(&step));
    let mut drive = operator.drive(DS, &[]);
    assert_eq!(drive.end().code(), Some(4), "{}", drive.seen());
    assert_eq!(fixture.witness.deletes_since(began).len(), 1, "no serving pod is replaced");
    let status = operator.status(DS);
    let failed = status.nodes(|node| node["state"] == "failed" && node["cause"] == "admission refused");
    assert_eq!(failed.len(), 1, "{}", status.0);

    drop(policy);
    let (witness, deadline) = (&fixture.witness, Instant::now() + TRIES_AGAIN);
    while witness.unavailable() > 0 {
        assert!(Instant::now() < deadline, "its controller tries again by itself");
        std::thread::sleep(Duration::from_millis(100));
    }
    operator.ok(&["resume", DS, "--yes"]);
    let mut drive = operator.drive(DS, &["--to", "100%"]);
    assert_eq!(drive.end().code(), Some(0), "{}", drive.seen());
    assert!(fixture.witness.worst_since(began) <= BUDGET);
}

/// No pod of the older revision would be made either, so that a roll back waits with what serves. The budget of two would let another one go.
#[test]
fn a_roll_back_replaces_nothing_that_serves_while_new_pods_are_refused() {
    let Some(fixture) = RolloutFixture::new("refused-back") else { return };
    let operator = fixture.operator();
    operator.ok(&["set-image", DS, &image(1), "--yes"]);
    let mut drive = operator.drive(DS, &["--to", "4", "--until", "held"]);
    assert_eq!(drive.end().code(), Some(0), "{}", drive.seen());
    assert_eq!(fixture.witness.serving(GOOD[1]).len(), 4);
    let policy = Policy::set(fixture.sandbox.admin(), fixture.sandbox.namespace(), "CREATE", "true");
    policy.until_it_denies_new_pods(fixture.sandbox.namespace());
    let mut drive = operator.drive(DS, &["--to", "5"]);
    assert_eq!(drive.end().code(), Some(4), "{}", drive.seen());

    let began = Instant::now();
    operator.ok(&["undo", DS, "--yes"]);
    let mut drive = operator.drive(DS, &[]);
    drive.until("admission refused (");
    std::thread::sleep(Duration::from_secs(20));
    assert_eq!(fixture.witness.deletes_since(began).len(), 0, "{}", drive.seen());
    let status = operator.status(DS);
    let waits = status.nodes(|node| node["hold"].as_str().is_some_and(|hold| hold.starts_with("trouble on ")));
    assert_eq!(waits.len(), 4, "they say why they wait: {}", status.0);

    drop(policy);
    let end = drive.end();
    println!("{}", drive.seen());
    assert_eq!(end.code(), Some(0), "{}", drive.seen());
    assert_eq!(fixture.witness.serving(GOOD[0]).len(), NODES);
}

#[test]
fn a_full_quota_rolls_back_with_on_failure_rollback() {
    let Some(fixture) = RolloutFixture::new("quota") else { return };
    let (operator, admin) = (fixture.operator(), fixture.sandbox.admin());
    let namespace = fixture.sandbox.namespace();
    operator.ok(&["set-image", DS, &image(1), "--yes"]);
    let quotas = format!("/api/v1/namespaces/{namespace}/resourcequotas");
    let hard = json!({"pods": "0"});
    admin.post(&quotas, &json!({"metadata": {"name": "full"}, "spec": {"hard": hard}})).ok();
    // The quota controller does not run in this control plane, so the test writes the count.
    admin.patch(&format!("{quotas}/full/status"), &json!({"status": {"hard": hard, "used": hard}})).ok();

    let began = Instant::now();
    let mut drive = operator.drive(DS, &["--to", "100%", "--on-failure", "rollback"]);
    drive.until("quota exceeded (");
    drive.until("rolling back");
    assert!(fixture.witness.deletes_since(began).len() <= BUDGET);
    admin.delete(&format!("{quotas}/full")).ok();
    let end = drive.end();
    println!("{}", drive.seen());
    assert_eq!(end.code(), Some(4), "it was rolled back: {}", drive.seen());
    assert!(fixture.witness.deletes_since(began).len() <= BUDGET, "no other was touched");
    assert_eq!(fixture.witness.serving(GOOD[0]).len(), NODES);
}

#[test]
fn a_frozen_controller_manager_is_reported_and_then_halts_the_rollout() {
    let Ok(plane) = ControlPlane::start() else { return };
    let scenario = scenario(StrategyKind::RollingUpdate);
    let options = HollowOptions { speed: SPEED, workloads: Workloads::Create, ..HollowOptions::default() };
    let _hollow = Hollow::start(&plane.target(), &scenario, options).expect("hollow nodes");
    plane.until_exists("/api/v1/namespaces/edge");
    let nodes: Vec<String> = scenario.nodes.iter().map(|node| node.name.to_string()).collect();
    let witness = Witness::watch(&plane, "edge", "agent", &nodes);
    witness.until("the agent serves everywhere", SOON, |witness| witness.unavailable() == 0);
    let operator = operator(&plane, "edge");
    operator.ok(&["set-image", DS, &image(1), "--yes"]);

    plane.pause(Component::ControllerManager);
    let began = Instant::now();
    let mut drive = operator.drive(DS, &["--to", "1", "--progress-deadline", "75s"]);
    drive.until("no controller has acted for 40 s: is kube-controller-manager running?");
    assert!((40..60).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    drive.until("creating: controller idle");
    let status = operator.status(DS);
    assert!(alarms(&status.0).iter().any(|alarm| alarm.starts_with("controllerIdle: ")), "{}", status.0);
    let output = text(&operator.run(&["status", DS]));
    assert!(output.contains("ALARM    no controller has acted for 40 s"), "{output}");
    operator.ok(&["step", DS, "--to", "100%"]);
    let end = drive.end();
    println!("{}", drive.seen());
    assert_eq!(end.code(), Some(4));
    assert!(drive.seen().contains("progress deadline on 1 node"));
    assert_eq!(witness.deletes_since(began).len(), 1, "no serving pod is replaced");

    // The idle controller is also reported while the new template waits to be observed.
    let mut drive = operator.drive(DS, &["--image", &image(2)]);
    drive.until("no controller has acted for 40 s");
    plane.resume(Component::ControllerManager);
    drive.until("of 20 updated");
}

/// The API server refuses new objects in the namespace, Leases and pods alike, as forbidden. The controller manager stands still: otherwise it would
/// soon delete the DaemonSet too.
#[test]
fn in_a_namespace_that_is_being_deleted_it_is_said_that_it_is() {
    let Ok(plane) = ControlPlane::start() else { return };
    let scenario = scenario(StrategyKind::RollingUpdate);
    let options = HollowOptions { speed: SPEED, workloads: Workloads::Create, ..HollowOptions::default() };
    let _hollow = Hollow::start(&plane.target(), &scenario, options).expect("hollow nodes");
    plane.until_exists("/api/v1/namespaces/edge");
    let nodes: Vec<String> = scenario.nodes.iter().map(|node| node.name.to_string()).collect();
    let witness = Witness::watch(&plane, "edge", "agent", &nodes);
    witness.until("the agent serves everywhere", SOON, |witness| witness.unavailable() == 0);
    let operator = operator(&plane, "edge");
    plane.pause(Component::ControllerManager);
    plane.admin().delete("/api/v1/namespaces/edge").ok();

    let says = "namespace edge is being deleted: ";
    for command in [&["set-image", DS, &image(1), "--yes"][..], &["adopt", DS], &["prewarm", DS, "--image", &image(1)]]
    {
        let output = operator.run(&[command, &["--timeout", "20s"]].concat());
        println!("{command:?}: {}", text(&output));
        assert!(!output.status.success() && text(&output).contains(says), "{command:?}: {}", text(&output));
    }
}

#[test]
fn a_script_is_told_after_a_minute_that_no_pod_may_be_deleted() {
    let Some(fixture) = RolloutFixture::new("undeletable-all") else { return };
    let (operator, admin) = (fixture.operator(), fixture.sandbox.admin());
    operator.ok(&["set-image", DS, &image(1), "--yes"]);
    let pod = operator.status(DS).pod(&fixture.nodes[0]).expect("it has a pod").to_owned();
    let policy = Policy::set(admin, fixture.sandbox.namespace(), "DELETE", "true");
    policy.until_it_denies_deleting(&fixture.sandbox.path("pods", &pod));

    let began = Instant::now();
    let mut drive = operator.drive(DS, &["--to", "100%", "--max-unavailable", "1", "--until", "held"]);
    drive.until("no node is updated: the API server refuses one after the other");
    let output = alarms(&operator.status(DS).0);
    assert!(
        output.iter().any(|alarm| alarm.starts_with("writeRefused: ") && alarm.contains("not today")),
        "{output:?}"
    );
    let end = drive.end();
    println!("{} after {:?}", drive.seen(), began.elapsed());
    assert_eq!(end.code(), Some(6), "{}", drive.seen());
    assert_eq!(fixture.witness.serving(GOOD[0]).len(), NODES, "none is replaced");
}

#[test]
fn one_pod_that_may_not_be_deleted_holds_its_node_and_no_other() {
    let Some(fixture) = RolloutFixture::new("undeletable") else { return };
    let (operator, admin) = (fixture.operator(), fixture.sandbox.admin());
    operator.ok(&["set-image", DS, &image(1), "--yes"]);
    let first = fixture.nodes[0].clone();
    let pod = operator.status(DS).pod(&first).expect("it has a pod").to_owned();
    let denies = format!("oldObject.metadata.name == '{pod}'");
    let policy = Policy::set(admin, fixture.sandbox.namespace(), "DELETE", &denies);
    policy.until_it_denies_deleting(&fixture.sandbox.path("pods", &pod));

    let began = Instant::now();
    let mut drive = operator.drive(DS, &["--to", "100%", "--max-unavailable", "1"]);
    drive.until_updated(NODES - 1);
    assert!(fixture.witness.worst_since(began) <= 1, "by the budget");
    let status = operator.status(DS);
    assert_eq!(status.nodes(|node| node["atTarget"] == false), std::slice::from_ref(&first));
    let says_why = |node: &Value| {
        let hold = node["hold"].as_str().unwrap_or_default();
        hold.starts_with("deletion refused: ") && hold.contains("not today")
    };
    assert_eq!(status.nodes(says_why), std::slice::from_ref(&first), "{}", status.0);
    assert_eq!(status.0["phase"], "running", "it is not complete: {}", status.0);
    let output = alarms(&status.0);
    let said =
        |alarm: &String| alarm.starts_with("deletionRefused: ") && alarm.contains("nothing else is left to update");
    assert!(output.iter().any(said), "{output:?}");

    drop(policy);
    operator.ok(&["pause", DS]);
    operator.ok(&["resume", DS, "--yes"]);
    let end = drive.end();
    println!("{}", drive.seen());
    assert_eq!(end.code(), Some(0), "{}", drive.seen());
    assert!(drive.seen().contains(&format!("deletion refused on {first}")));
    assert_eq!(fixture.witness.serving(GOOD[1]).len(), NODES);
}
