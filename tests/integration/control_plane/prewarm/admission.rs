//! Admission of the pods of pre-warming by a namespace with Pod Security, limits, policies or quotas.

use std::time::{Duration, Instant};

use rolldeck::engine::model::prewarm::{PREWARM, PrewarmState, PrewarmWait};
use rolldeck::engine::model::template::Template;
use rolldeck::engine::report::snapshot::Snapshot;
use rolldeck::engine::rules::warm_pod::{WarmPodOwner, warm_pod};
use serde_json::{Value, json};

use super::driver::DriverHere;
use super::{FULL, LIMIT, is_warm, present, start, with_images_to_wait_for, witness_of_warm_pods};
use crate::control_plane::fixture::{GOOD, NODES, RolloutFixture, SOON};
use crate::control_plane::mutating::MutatingPolicy;
use crate::control_plane::refused::Policy;
use crate::support::control_plane::{eventually, sandbox};

/// Pre-warming tries a refused pod again after 30 s; the test waits a little longer.
const TRIED_AGAIN: Duration = Duration::from_secs(40);
const DIGEST: &str = "@sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

/// The API server's answer to a dry run of this pod's creation.
fn said_to(fixture: &RolloutFixture, pod: &Value) -> (u16, String) {
    let path = format!("{}?dryRun=All", fixture.sandbox.path("pods", ""));
    let answer = fixture.sandbox.admin().post(&path, pod);
    (answer.status, answer.body.to_string())
}

fn plain_pod() -> Value {
    let labels = json!({PREWARM: "probe"});
    json!({"metadata": {"name": "probe", "labels": labels}, "spec": {"containers": [{"name": "p", "image": "p:1"}]}})
}

/// Makes the images of every new pod carry a digest, as tools that verify signatures do.
fn with_digests(fixture: &RolloutFixture) -> MutatingPolicy<'_> {
    let with_digest = format!("c.image.contains('@') ? c.image : c.image + '{DIGEST}'");
    let each = format!(
        "[JSONPatch{{op: 'replace', path: '/spec/containers/0/image', \
         value: object.spec.containers.map(c, {with_digest})[0]}}]"
    );
    MutatingPolicy::set(fixture, "digests", "true", &each)
}

/// For each node that waits because the API server refuses its pod, the API server's words.
fn refused(snapshot: &Snapshot) -> Vec<String> {
    let of = |state: &PrewarmState| match state {
        PrewarmState::Waiting(PrewarmWait::Refused(said)) => Some(said.to_string()),
        _ => None,
    };
    snapshot.nodes.iter().filter_map(|node| node.prewarm.as_deref().and_then(of)).collect()
}

#[test]
fn pods_pass_restricted_pod_security_with_limits_and_images_by_digest() {
    let Some(fixture) = RolloutFixture::with("prewarm-restricted", with_images_to_wait_for()) else { return };
    let (admin, namespace) = (fixture.sandbox.admin(), fixture.sandbox.namespace());
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    admin.patch(&format!("/api/v1/namespaces/{namespace}"), &json!({"metadata": {"labels": labels}})).ok();
    let defaults = json!({
        "type": "Container",
        "default": {"cpu": "500m", "memory": "256Mi"},
        "max": {"cpu": "2", "memory": "1Gi"},
    });
    let limits = json!({"metadata": {"name": "limits"}, "spec": {"limits": [defaults]}});
    admin.post(&fixture.sandbox.path("limitranges", ""), &limits).ok();
    let _policy = with_digests(&fixture);
    eventually("restricted, and by digest", SOON, || {
        let (status, said) = said_to(&fixture, &plain_pod());
        let mut allowed = plain_pod();
        allowed["metadata"]["labels"] = json!({});
        allowed["spec"]["securityContext"] =
            json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
        allowed["spec"]["containers"][0]["securityContext"] =
            json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
        let (created, object) = said_to(&fixture, &allowed);
        (status == 403 && said.contains("restricted") && created == 201 && object.contains(DIGEST)).then_some(())
    });

    // A volume that is an image comes with the pod, and is no reason to refuse it.
    let owner = WarmPodOwner { namespace, name: "agent", uid: "0f-1" };
    let spec = json!({
        "containers": [{"name": "agent", "image": FULL}],
        "volumes": [{"name": "models", "image": {"reference": "registry.test/models:v2"}}],
    });
    let with_volume = warm_pod(&owner, &fixture.nodes[0], &Template::from_json(json!({"spec": spec})), "a1");
    let (created, object) = said_to(&fixture, &with_volume);
    assert_eq!(created, 201, "{object}");
    assert!(object.contains(r#""reference":"registry.test/models:v2""#), "{object}");

    let warm = witness_of_warm_pods(&fixture);
    let driver = DriverHere::of(&fixture.operator(), &fixture);
    driver.drive(start(FULL));
    let snapshot = driver.until("all have it", |snapshot| present(snapshot) == NODES);
    println!("{}", snapshot.prewarm.as_ref().unwrap());
    assert!(snapshot.prewarm.as_ref().unwrap().refusal.is_none());
    assert_eq!((warm.pulled().len(), warm.made()), (NODES, NODES));
    assert!(warm.most_pulling() <= LIMIT);
    let pods: Vec<Value> = fixture.sandbox.pods().into_iter().filter(is_warm).collect();
    for container in pods.iter().map(|pod| &pod["spec"]["containers"][0]) {
        assert_eq!(container["image"], format!("{FULL}{DIGEST}"), "{container}");
        assert_eq!(container["resources"]["limits"], json!({"cpu": "500m", "memory": "256Mi"}));
        assert_eq!(
            container["resources"]["requests"],
            json!({"cpu": "0", "memory": "0"}),
            "nothing is taken from others"
        );
    }
}

#[test]
fn a_full_quota_is_told_and_it_goes_on_once_the_quota_is_raised() {
    let Some(fixture) = RolloutFixture::with("prewarm-quota", with_images_to_wait_for()) else { return };
    let admin = fixture.sandbox.admin();
    let path = fixture.sandbox.path("resourcequotas", "");
    // The quota controller does not run in this control plane, so the test writes the counts. Admission adds to them.
    let set = |pods: usize, used: usize| {
        let hard = json!({"pods": pods.to_string(), "requests.cpu": "1"});
        let used = json!({"pods": used.to_string(), "requests.cpu": "0"});
        admin.patch(&format!("{path}/few"), &json!({"spec": {"hard": hard}})).ok();
        admin.patch(&format!("{path}/few/status"), &json!({"status": {"hard": hard, "used": used}})).ok();
    };
    admin.post(&path, &json!({"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})).ok();
    set(NODES + 3, NODES);

    let warm = witness_of_warm_pods(&fixture);
    let operator = fixture.operator();
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive(start(FULL));
    let snapshot = driver.until("three have it, and the rest is refused", |snapshot| {
        present(snapshot) == 3 && refused(snapshot).len() == NODES - 3
    });
    let (node, said) = snapshot.prewarm.as_ref().unwrap().refusal.clone().expect("it is told once for all");
    println!("{node}: {said}");
    assert!(said.contains("exceeded quota: few") && said.contains("limited: pods=23"), "{said}");
    assert_eq!(warm.made(), 3);
    assert!(fixture.witness.unavailable() == 0);

    let raised = Instant::now();
    set(NODES + 100, NODES + 3);
    warm.until("it goes on by itself", TRIED_AGAIN, |warm| warm.made() > 3);
    driver.until("all have it", |snapshot| present(snapshot) == NODES);
    println!("went on and done {:.1?} after the quota was raised", raised.elapsed());
    assert!(driver.snapshot().prewarm.as_ref().unwrap().refusal.is_none());
    assert_eq!(warm.made(), NODES);
    assert!(warm.most_pulling() <= LIMIT);
}

#[test]
fn a_policy_against_them_is_told_and_nothing_else_suffers() {
    let Some(fixture) = RolloutFixture::with("prewarm-denied", with_images_to_wait_for()) else { return };
    let (admin, namespace) = (fixture.sandbox.admin(), fixture.sandbox.namespace());
    let denies = format!("has(object.metadata.labels) && '{PREWARM}' in object.metadata.labels");
    let policy = Policy::set(admin, namespace, "CREATE", &denies);
    eventually("the policy is followed", SOON, || (said_to(&fixture, &plain_pod()).0 == 422).then_some(()));
    let warm = witness_of_warm_pods(&fixture);
    let operator = fixture.operator();
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive(start(FULL));
    let snapshot = driver.until("all are refused", |snapshot| refused(snapshot).len() == NODES);
    let (_, said) = snapshot.prewarm.as_ref().unwrap().refusal.clone().unwrap();
    println!("{said}");
    assert!(said.contains("not today"), "{said}");
    assert!(snapshot.alarms.is_empty(), "{:?}", snapshot.alarms);
    driver.close();

    // The refused pods do not hold a rollout up.
    let image = format!("agent={}", GOOD[1]);
    operator.ok(&["drive", super::DS, "--image", &image, "--to", "3", "--until", "held", "--yes", "--timeout", "120s"]);
    assert_eq!(fixture.witness.serving(GOOD[1]).len(), 3);
    drop(policy);
    eventually("the policy is gone", SOON, || (said_to(&fixture, &plain_pod()).0 == 201).then_some(()));
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive_on();
    driver.until("all have it", |snapshot| present(snapshot) == NODES);
    assert_eq!(warm.made(), NODES);
}

/// The pod gives requests of zero and no limits: a quota of requests admits it, a quota of limits and a LimitRange with a minimum refuse it.
/// Operators see the words of the refusal.
#[test]
fn what_namespaces_with_limits_say_to_a_pod_that_requests_nothing() {
    let Some(sandbox) = sandbox("prewarm-limits") else { return };
    let admin = sandbox.admin();
    let template = Template::from_json(json!({"spec": {"containers": [{"name": "agent", "image": "agent:v1"}]}}));
    let owner = WarmPodOwner { namespace: sandbox.namespace(), name: "agent", uid: "0f-1" };
    let pod = warm_pod(&owner, "n1", &template, "a1");
    let answer = || {
        let answer = admin.post(&format!("{}?dryRun=All", sandbox.path("pods", "")), &pod);
        (answer.status, answer.body["message"].as_str().unwrap_or_default().to_owned())
    };
    let quotas = sandbox.path("resourcequotas", "");
    for (resource, refusal) in [("requests.cpu", None), ("limits.cpu", Some("must specify limits.cpu"))] {
        let hard = json!({resource: "1"});
        admin.post(&quotas, &json!({"metadata": {"name": "q"}, "spec": {"hard": hard}})).ok();
        let status = json!({"status": {"hard": hard, "used": {resource: "0"}}});
        admin.patch(&format!("{quotas}/q/status"), &status).ok();
        let said = eventually("the quota is followed", SOON, || {
            let (status, said) = answer();
            (refusal.is_some() == (status == 403)).then_some(said)
        });
        println!("{resource}: {said}");
        assert!(refusal.is_none_or(|words| said.contains(words)), "{said}");
        admin.delete(&format!("{quotas}/q")).ok();
        eventually("the quota is gone", SOON, || (answer().0 == 201).then_some(()));
    }
    let limits = json!({"limits": [{"type": "Container", "min": {"cpu": "50m"}}]});
    admin.post(&sandbox.path("limitranges", ""), &json!({"metadata": {"name": "l"}, "spec": limits})).ok();
    let said = eventually("the limit is followed", SOON, || Some(answer()).filter(|(status, _)| *status == 403)).1;
    println!("min: {said}");
    assert!(said.contains("minimum cpu usage per Container is 50m"), "{said}");
}
