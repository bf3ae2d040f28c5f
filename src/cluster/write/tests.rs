use serde_json::Value;

use super::super::native::Native;
use super::super::scripted::{Says, ScriptedServer};
use super::*;
use crate::engine::model::prewarm::PREWARM;
use crate::engine::model::record::Record;

async fn writer(script: Vec<Says>) -> (Writer, ScriptedServer) {
    let server = ScriptedServer::new(script).await;
    let writer = Writer::new(server.http.clone(), Arc::new(Native), LastObserved::new(), "edge".into(), "agent".into());
    (writer, server)
}

fn status(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason})
}

fn delete(writer: &Writer) -> Effect {
    let not_after = writer.http.clock().now() + Duration::from_secs(5);
    Effect::DeletePod { name: "agent-1".into(), uid: "u1".into(), node: "ipc-1".into(), not_after }
}

fn kind(executed: &Executed) -> EffectErrorKind {
    executed.outcome.as_ref().expect_err("it failed").kind
}

fn daemonset(version: &str) -> Value {
    json!({"metadata": {"name": "agent", "namespace": "edge", "uid": "ds-uid", "resourceVersion": version}})
}

fn lease(version: &str) -> Value {
    json!({
        "metadata": {"name": "rolldeck-agent", "uid": "lease-1", "resourceVersion": version, "labels": {"team": "edge"}},
        "spec": {"holderIdentity": "eve"},
    })
}

fn lease_write() -> LeaseWrite {
    LeaseWrite {
        holder: Some("ada@host/1".into()),
        duration_secs: 15,
        acquired_at: None,
        renewed_at: None,
        transitions: 0,
        record: Some(Record { version: 1, ..Record::default() }),
        prewarm: None,
        pace: Default::default(),
        failing: None,
        keeps_unreadable: false,
    }
}

#[tokio::test]
async fn a_delete_names_the_pod_it_means() {
    let terminating = json!({"metadata": {"name": "agent-1", "uid": "u1", "resourceVersion": "9",
        "deletionTimestamp": "2026-11-21T10:00:30Z"}});
    let (writer, server) = writer(vec![Says::Json(200, terminating)]).await;
    let executed = writer.execute(&delete(&writer)).await;
    assert_eq!(executed.outcome, Ok(Done::PodDeleted));
    assert!(matches!(&executed.events[..], [Event::Pod(pod)] if pod.deletion_at.is_some()), "{:?}", executed.events);
    let asked = &server.requests()[0];
    assert_eq!(asked.line, "DELETE /api/v1/namespaces/edge/pods/agent-1");
    assert_eq!(asked.body["preconditions"], json!({"uid": "u1"}));
    assert_eq!(asked.body.get("gracePeriodSeconds"), None, "the pod's own grace");
}

#[tokio::test]
async fn a_pre_warm_pod_is_deleted_with_the_grace_that_is_asked_for() {
    for grace_secs in [0, 1] {
        let (writer, server) = writer(vec![Says::Json(200, json!({"kind": "Status"}))]).await;
        let effect = Effect::DeleteWarmPod { name: "w".into(), uid: "u1".into(), node: "ipc-1".into(), grace_secs };
        assert_eq!(writer.execute(&effect).await.outcome, Ok(Done::WarmPodDeleted));
        let asked = &server.requests()[0];
        assert_eq!(
            (&asked.body["gracePeriodSeconds"], &asked.body["preconditions"]["uid"]),
            (&json!(grace_secs), &json!("u1"))
        );
    }
}

#[tokio::test]
async fn a_delete_that_comes_too_late_is_not_sent() {
    let (writer, server) = writer(vec![]).await;
    let not_after = writer.http.clock().now() - Duration::from_millis(1);
    let effect = Effect::DeletePod { name: "agent-1".into(), uid: "u1".into(), node: "ipc-1".into(), not_after };
    let executed = writer.execute(&effect).await;
    assert_eq!(kind(&executed), EffectErrorKind::TooLate);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_delete_without_an_answer_may_have_happened_and_is_not_repeated() {
    let (writer, server) = writer(vec![Says::HangsUp, Says::Json(503, status(503, "ServiceUnavailable"))]).await;
    assert_eq!(kind(&writer.execute(&delete(&writer)).await), EffectErrorKind::Unknown);
    assert_eq!(kind(&writer.execute(&delete(&writer)).await), EffectErrorKind::Unknown);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_refused_delete_says_what_was_attempted() {
    let (writer, _server) = writer(vec![
        Says::Json(409, status(409, "Conflict")),
        Says::Json(404, status(404, "NotFound")),
        Says::Json(403, status(403, "Forbidden")),
    ])
    .await;
    let kinds = [EffectErrorKind::Conflict, EffectErrorKind::NotFound, EffectErrorKind::Forbidden];
    for expected in kinds {
        let executed = writer.execute(&delete(&writer)).await;
        assert_eq!(kind(&executed), expected);
        assert!(executed.outcome.unwrap_err().message.starts_with("delete pod agent-1 on ipc-1: "));
    }
}

/// A 401 says nothing of the write. The words are those that the audit log keeps, which removes what follows `credentials:`.
#[tokio::test]
async fn a_write_whose_credentials_are_not_accepted_is_no_refusal() {
    let (writer, _server) = writer(vec![Says::Json(401, status(401, "Unauthorized"))]).await;
    let executed = writer.execute(&delete(&writer)).await;
    assert_eq!(kind(&executed), EffectErrorKind::Unauthorized);
    let said = executed.outcome.unwrap_err().message;
    let words = "delete pod agent-1 on ipc-1: 401 Unauthorized: the API server does not accept the credentials";
    assert_eq!((&*said, crate::scrub::scrub(&said).as_ref()), (words, words));
}

#[tokio::test]
async fn a_patch_whose_test_fails_is_a_conflict_and_brings_the_object_as_it_is() {
    let (writer, server) = writer(vec![
        Says::Json(200, on_delete("7")),
        Says::Json(422, status(422, "Invalid")),
        Says::Json(200, daemonset("8")),
        Says::Json(200, on_delete("8")),
        Says::Json(422, status(422, "Invalid")),
        Says::Json(200, daemonset("8")),
    ])
    .await;
    let patch = template_patch;
    let outdated = writer.execute(&patch("7")).await;
    assert_eq!(kind(&outdated), EffectErrorKind::Conflict);
    assert!(matches!(&outdated.events[..], [Event::DaemonSet(fresh)] if &*fresh.resource_version == "8"));
    let nonsense = writer.execute(&patch("8")).await;
    assert_eq!(kind(&nonsense), EffectErrorKind::Invalid, "it did not change: the patch itself is refused");
    let asked = &server.requests()[1];
    assert_eq!(asked.line, "PATCH /apis/apps/v1/namespaces/edge/daemonsets/agent?fieldManager=rolldeck");
    assert_eq!(asked.content_type, "application/json-patch+json");
}

fn on_delete(version: &str) -> Value {
    let mut object = daemonset(version);
    object["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    object
}

fn template_patch(version: &str) -> Effect {
    Effect::PatchDaemonSet {
        resource_version: version.into(),
        patch: DaemonSetPatch::Template { template: json!({"spec": {}}), change: None },
    }
}

/// Its controller would roll the template out, without the budget.
#[tokio::test]
async fn a_template_is_not_sent_where_its_dry_run_shows_another_strategy() {
    let mut rolling = daemonset("7");
    rolling["spec"]["updateStrategy"] = json!({"type": "RollingUpdate"});
    let (writer, server) = writer(vec![Says::Json(200, rolling), Says::Json(200, on_delete("7"))]).await;
    let executed = writer.execute(&template_patch("7")).await;
    assert_eq!(kind(&executed), EffectErrorKind::Invalid);
    let error = executed.outcome.unwrap_err();
    assert!(error.message.contains("would set another update strategy with it") && error.dry_run, "{error:?}");
    let asked: Vec<String> = server.requests().into_iter().map(|asked| asked.line).collect();
    let path = "/apis/apps/v1/namespaces/edge/daemonsets/agent";
    assert_eq!(asked, [format!("PATCH {path}?dryRun=All&fieldManager=rolldeck"), format!("GET {path}")]);
}

#[tokio::test]
async fn a_lease_is_created_in_the_name_of_its_daemonset() {
    let (writer, server) = writer(vec![Says::Json(200, daemonset("7")), Says::Json(201, lease("1"))]).await;
    let executed = writer.execute(&Effect::WriteLease { resource_version: None, lease: Box::new(lease_write()) }).await;
    assert!(matches!(executed.outcome, Ok(Done::Lease(lease)) if &*lease.resource_version == "1"));
    let asked = &server.requests()[1];
    assert_eq!(asked.line, "POST /apis/coordination.k8s.io/v1/namespaces/edge/leases?fieldManager=rolldeck");
    assert_eq!(
        asked.body["metadata"]["ownerReferences"],
        json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "ds-uid"}])
    );
    assert_eq!(asked.body["metadata"]["labels"]["app.kubernetes.io/managed-by"], "rolldeck");
}

#[tokio::test]
async fn a_lease_that_somebody_else_created_first_is_a_conflict() {
    let script = vec![
        Says::Json(200, daemonset("7")),
        Says::Json(409, status(409, "AlreadyExists")),
        Says::Json(200, lease("3")),
    ];
    let (writer, _server) = writer(script).await;
    let executed = writer.execute(&Effect::WriteLease { resource_version: None, lease: Box::new(lease_write()) }).await;
    assert_eq!(kind(&executed), EffectErrorKind::Conflict);
    assert!(matches!(&executed.events[..], [Event::Lease(lease)] if lease.holder.as_deref() == Some("eve")));
}

#[tokio::test]
async fn replacing_a_lease_keeps_what_others_put_on_it() {
    let (writer, server) = writer(vec![Says::Json(200, lease("6")), Says::Json(200, lease("6"))]).await;
    writer.shared.lease_is(Some(lease("5")));
    let write =
        |version: &str| Effect::WriteLease { resource_version: Some(version.into()), lease: Box::new(lease_write()) };
    assert!(writer.execute(&write("5")).await.outcome.is_ok());
    let asked = &server.requests()[0];
    assert!(asked.line.starts_with("PUT /apis/coordination.k8s.io/v1/namespaces/edge/leases/rolldeck-agent?"));
    assert_eq!(asked.body["metadata"]["resourceVersion"], "5");
    assert_eq!(asked.body["metadata"]["labels"]["team"], "edge");
    assert_eq!(asked.body["spec"]["holderIdentity"], "ada@host/1");

    // Decided on a version that we do not have any more: it is read again, and seen to be another.
    let executed = writer.execute(&write("4")).await;
    assert_eq!(kind(&executed), EffectErrorKind::Conflict);
    let lines = server.lines();
    assert_eq!(lines.len(), 2);
    assert!(lines[1].starts_with("GET "), "nothing is written over what changed");
}

/// The state of the cluster went back, and its versions have grown past what was seen: a watch that goes on tells nothing of that.
#[tokio::test]
async fn a_lease_that_is_older_than_it_was_tells_that_the_state_went_back() {
    for (now, went_back) in [("4", true), ("6", false)] {
        let script = vec![Says::Json(409, status(409, "Conflict")), Says::Json(200, lease(now))];
        let (writer, server) = writer(script).await;
        writer.shared.lease_is(Some(lease("5")));
        let restored = server.http.news().restored();
        let write = Effect::WriteLease { resource_version: Some("5".into()), lease: Box::new(lease_write()) };
        assert_eq!(kind(&writer.execute(&write).await), EffectErrorKind::Conflict);
        assert_eq!(restored.has_changed().unwrap(), went_back, "{now}");
    }
}

fn with_image(version: &str, image: &str) -> Value {
    let mut object = daemonset(version);
    object["spec"] = json!({"template": {"spec": {"containers": [{"name": "agent", "image": image}]}}});
    object
}

fn release(image: &str) -> Effect {
    let template = with_image("7", image)["spec"]["template"].clone();
    let expected_template = Some(Template::from_json(template));
    let original = json!({"type": "RollingUpdate"});
    Effect::PatchDaemonSet {
        resource_version: "7".into(),
        patch: DaemonSetPatch::Release { original, expected_template },
    }
}

#[tokio::test]
async fn a_release_is_not_sent_where_its_dry_run_shows_another_template() {
    let says =
        vec![Says::Json(200, with_image("7", "agent:v2@sha256:aa")), Says::Json(200, with_image("7", "agent:v2"))];
    let (writer, server) = writer(says).await;
    let executed = writer.execute(&release("agent:v2")).await;
    assert_eq!(kind(&executed), EffectErrorKind::Invalid);
    let why = executed.outcome.unwrap_err().message;
    assert!(why.contains("agent: agent:v2 → agent:v2@sha256:aa"), "{why}");
    let path = "/apis/apps/v1/namespaces/edge/daemonsets/agent";
    let asked: Vec<String> = server.requests().into_iter().map(|asked| asked.line).collect();
    assert_eq!(asked, [format!("PATCH {path}?dryRun=All&fieldManager=rolldeck"), format!("GET {path}")]);
}

#[tokio::test]
async fn a_release_is_sent_where_its_dry_run_changes_nothing_or_is_not_supported() {
    let refuses = status(400, "admission webhook \"a.example\" does not support dry run");
    for dry_run in [Says::Json(200, with_image("7", "agent:v2")), Says::Json(400, refuses)] {
        let (writer, server) = writer(vec![dry_run, Says::Json(200, with_image("8", "agent:v2"))]).await;
        let executed = writer.execute(&release("agent:v2")).await;
        assert!(matches!(executed.outcome, Ok(Done::DaemonSet(_))), "{executed:?}");
        let asked = server.requests();
        assert_eq!(asked.len(), 2);
        assert!(asked[0].line.contains("?dryRun=All&") && !asked[1].line.contains("dryRun"));
        assert_eq!(asked[0].body, asked[1].body);
    }
}

#[tokio::test]
async fn a_dry_run_without_an_answer_has_done_nothing() {
    let (writer, _server) = writer(vec![Says::HangsUp]).await;
    assert_eq!(kind(&writer.execute(&release("agent:v2")).await), EffectErrorKind::NotSent);
}

/// The audit log has it from the answer.
#[tokio::test]
async fn a_statefulset_that_was_made_is_known_by_its_uid() {
    let answer = json!({"metadata": {"name": "warm", "uid": "set-1"}});
    let (writer, _server) = writer(vec![Says::Json(201, answer)]).await;
    let set = json!({"metadata": {"labels": {PREWARM: "ds-1"}}, "spec": {}});
    let effect =
        Effect::CreateWarmSet { name: "warm".into(), set: set.into(), not_after: Timestamp::from_millis(i64::MAX) };
    let made = writer.execute(&effect).await;
    assert_eq!(made.outcome, Ok(Done::WarmSetCreated { uid: Some("set-1".into()) }));
}
