//! The store answers as an API server would.

use std::time::Duration;

use serde_json::json;

use super::super::error::Reason;
use super::super::object::{DAEMONSET_TEMPLATE_GENERATION, DaemonSet, DaemonSetSpec, Meta, Pod};
use super::*;
use crate::engine::model::facts::UpdateStrategy;
use crate::engine::model::labels::Selector;
use crate::engine::model::template::Template;

const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const BY: WriteOptions<'static> = WriteOptions::named("test");

fn store() -> Store {
    let mut store = Store::new(7);
    let namespace = Object::new("", "edge", Body::Other(Kind::Namespace, Arc::default()));
    store.create(namespace, START, BY).unwrap();
    store
}

fn template(image: &str) -> Template {
    Template::from_json(json!({
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"containers": [{"name": "agent", "image": image}], "terminationGracePeriodSeconds": 10},
    }))
}

fn daemon_set(image: &str) -> Object {
    let selector_json = json!({"matchLabels": {"app": "agent"}});
    let spec = DaemonSetSpec {
        selector: Selector::from_label_selector(&selector_json).unwrap(),
        selector_json,
        template: template(image),
        strategy: UpdateStrategy::default(),
        ..DaemonSetSpec::default()
    };
    Object::new("edge", "agent", Body::DaemonSet(DaemonSet { spec: Arc::new(spec), ..DaemonSet::default() }))
}

fn pod(node: Option<&str>) -> Object {
    let pod = Pod { template: template("agent:v1"), node: node.map(Str::from), ..Pod::default() };
    let meta = Meta { namespace: "edge".into(), generate_name: Some("agent-".into()), ..Meta::default() };
    Object { meta, body: Body::Pod(pod) }
}

fn spec_mut(object: &mut Object) -> &mut DaemonSetSpec {
    match &mut object.body {
        Body::DaemonSet(daemon_set) => Arc::make_mut(&mut daemon_set.spec),
        _ => panic!("not a DaemonSet"),
    }
}

#[test]
fn every_change_has_a_version_and_none_is_logged_for_nothing() {
    let mut store = store();
    let made = store.create(daemon_set("agent:v1"), START, BY).unwrap();
    let again = store.update(Object::clone(&made), WrittenPart::Main, START, BY).unwrap();
    assert_eq!(made.meta.resource_version, again.meta.resource_version);
    let gone = store.delete(Kind::DaemonSet, "edge", "agent", &DeleteOptions::default(), START, BY).unwrap();
    assert!(gone.object().meta.resource_version > made.meta.resource_version, "DELETED carries a new version");
    let kinds: Vec<_> = store.changes_since(Kind::DaemonSet, 0).unwrap().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::Added, ChangeKind::Deleted]);
}

#[test]
fn stale_writers_and_wrong_uids_are_refused() {
    let mut store = store();
    let first = store.create(daemon_set("agent:v1"), START, BY).unwrap();
    let mut newer = Object::clone(&first);
    newer.meta.set_label("tier", Some("edge"));
    store.update(newer.clone(), WrittenPart::Main, START, BY).unwrap();
    newer.meta.set_label("tier", Some("core"));
    assert_eq!(store.update(newer.clone(), WrittenPart::Main, START, BY).unwrap_err().reason, Reason::Conflict);
    newer.meta.resource_version = 0;
    store.update(newer.clone(), WrittenPart::Main, START, BY).unwrap();
    newer.meta.uid = "other".into();
    assert_eq!(store.update(newer, WrittenPart::Main, START, BY).unwrap_err().reason, Reason::Conflict);
    let wrong = DeleteOptions { uid: Some("other".into()), ..DeleteOptions::default() };
    let refused = store.delete(Kind::DaemonSet, "edge", "agent", &wrong, START, BY).unwrap_err();
    assert_eq!((refused.reason, refused.reason.code()), (Reason::Conflict, 409));
}

#[test]
fn generations_count_what_kubernetes_counts() {
    let mut store = store();
    let made = store.create(daemon_set("agent:v1"), START, BY).unwrap();
    let counts = |object: &Object| {
        (object.meta.generation, object.meta.annotations.get(DAEMONSET_TEMPLATE_GENERATION).unwrap().to_string())
    };
    assert_eq!(counts(&made), (1, "1".into()));
    let mut labelled = Object::clone(&made);
    labelled.meta.set_label("tier", Some("edge"));
    let labelled = store.update(labelled, WrittenPart::Main, START, BY).unwrap();
    assert_eq!(counts(&labelled), (1, "1".into()), "metadata counts for nothing");
    let mut slower = Object::clone(&labelled);
    spec_mut(&mut slower).min_ready_secs = 5;
    let slower = store.update(slower, WrittenPart::Main, START, BY).unwrap();
    assert_eq!(counts(&slower), (2, "1".into()));
    let mut newer = Object::clone(&slower);
    spec_mut(&mut newer).template = template("agent:v2");
    let newer = store.update(newer, WrittenPart::Main, START, WriteOptions::named("argocd")).unwrap();
    assert_eq!(counts(&newer), (3, "2".into()));
    assert_eq!(newer.daemon_set().unwrap().owners.template.as_deref(), Some("argocd"));
    assert_eq!(newer.daemon_set().unwrap().owners.strategy.as_deref(), Some("test"));
}

#[test]
fn a_selector_is_for_ever_and_must_match() {
    let mut store = store();
    let made = store.create(daemon_set("agent:v1"), START, BY).unwrap();
    let mut other = Object::clone(&made);
    let spec = spec_mut(&mut other);
    spec.selector_json = json!({"matchLabels": {"app": "agent", "x": "y"}});
    let refused = store.update(other, WrittenPart::Main, START, BY).unwrap_err();
    assert_eq!(refused.reason, Reason::Invalid);
    assert!(refused.message.starts_with("DaemonSet.apps \"agent\" is invalid: spec.selector: "), "{refused}");
    let mut stray = daemon_set("agent:v1");
    stray.meta.name = "stray".into();
    spec_mut(&mut stray).selector = "app=other".parse().unwrap();
    assert_eq!(store.create(stray, START, BY).unwrap_err().causes[0].field, "spec.template.metadata.labels");
}

#[test]
fn a_bound_pod_is_given_time_and_a_second_delete_only_shortens_it() {
    let mut store = store();
    let made = store.create(pod(Some("ipc-1")), START, BY).unwrap();
    let name = made.meta.name.clone();
    assert!(name.starts_with("agent-") && name.len() == "agent-".len() + 5, "{name}");
    let delete = |store: &mut Store, grace: Option<u32>| {
        let options = DeleteOptions { grace_secs: grace, ..DeleteOptions::default() };
        store.delete(Kind::Pod, "edge", &name, &options, START + Duration::from_secs(1), BY).unwrap()
    };
    let first = delete(&mut store, None);
    let deletion = first.object().meta.deletion.unwrap();
    assert_eq!((deletion.at, deletion.grace_secs), (START + Duration::from_secs(11), 10));
    assert_eq!(delete(&mut store, Some(60)).object().meta.deletion.unwrap(), deletion, "never longer");
    assert_eq!(delete(&mut store, Some(3)).object().meta.deletion.unwrap().at, START + Duration::from_secs(4));
    assert!(matches!(delete(&mut store, Some(0)), Deleted::Gone(_)));
    assert!(store.get(Kind::Pod, "edge", &name).is_none());
}

#[test]
fn an_unbound_pod_goes_at_once_unless_a_finalizer_holds_it() {
    let mut store = store();
    let loose = store.create(pod(None), START, BY).unwrap();
    let options = DeleteOptions::default();
    assert!(matches!(
        store.delete(Kind::Pod, "edge", &loose.meta.name, &options, START, BY).unwrap(),
        Deleted::Gone(_)
    ));
    let mut held = pod(None);
    held.meta.finalizers = ["example.com/hold".into()].into();
    let held = store.create(held, START, BY).unwrap();
    let deleted = store.delete(Kind::Pod, "edge", &held.meta.name, &options, START, BY).unwrap();
    assert!(matches!(deleted, Deleted::Terminating(_)));
    let mut freed = Object::clone(deleted.object());
    freed.meta.finalizers = [].into();
    store.update(freed, WrittenPart::Main, START, BY).unwrap();
    assert!(store.get(Kind::Pod, "edge", &held.meta.name).is_none());
}

#[test]
fn a_log_that_was_cut_says_expired() {
    let mut store = store();
    store.keep(2);
    for _ in 0..4 {
        store.create(pod(None), START, BY).unwrap();
    }
    let refused = store.changes_since(Kind::Pod, 1).unwrap_err();
    assert_eq!((refused.reason, refused.reason.code()), (Reason::Expired, 410));
    assert!(refused.message.starts_with("too old resource version: 1 ("), "{refused}");
    assert_eq!(store.changes_since(Kind::Pod, store.revision() - 2).unwrap().count(), 2);
}

#[test]
fn a_dry_run_answers_and_leaves_nothing() {
    let mut store = store();
    let before = store.revision();
    let dry = WriteOptions { manager: "test", mode: Mode::DryRun };
    let made = store.create(daemon_set("agent:v1"), START, dry).unwrap();
    assert_eq!(made.meta.generation, 1);
    assert_eq!((store.revision(), store.count(Kind::DaemonSet)), (before, 0));
}

#[test]
fn a_pods_images_can_change_and_nothing_else_of_its_spec() {
    let mut store = store();
    let made = store.create(pod(Some("ipc-1")), START, BY).unwrap();
    let edited = |template: Template| {
        let mut object = Object::clone(&made);
        object.meta.resource_version = 0;
        if let Body::Pod(pod) = &mut object.body {
            pod.template = template;
        }
        object
    };
    store.update(edited(template("agent:v2")), WrittenPart::Main, START, BY).unwrap();
    let mut other = template("agent:v2").json().clone();
    other["spec"]["hostNetwork"] = true.into();
    let refused = store.update(edited(Template::from_json(other)), WrittenPart::Main, START, BY).unwrap_err();
    assert_eq!((refused.reason, refused.causes[0].reason), (Reason::Invalid, "FieldValueForbidden"));
}
