use serde_json::json;

use super::*;
use crate::engine::model::facts::{ClusterEvent, ConditionStatus, PodFact};
use crate::engine::model::template::Template;

const NOW: Timestamp = Timestamp::from_millis(0);

fn template(image: &str) -> Template {
    Template::from_json(json!({"spec": {"containers": [{"name": "agent", "image": image}]}}))
}

fn daemonset(generation: i64, image: &str) -> Event {
    Event::DaemonSet(Box::new(DaemonSetFact {
        uid: "ds".into(),
        resource_version: generation.to_string().into(),
        generation,
        observed_generation: generation,
        template: template(image),
        ..DaemonSetFact::default()
    }))
}

fn revision(number: i64, template: Template) -> Event {
    let hash: Str = format!("hash{number}").into();
    Event::Revision(Box::new(RevisionFact { name: hash.clone(), hash, number, template, ..RevisionFact::default() }))
}

#[test]
fn a_new_revision_that_is_late_is_waited_for() {
    let mut view = View::default();
    view.observe(daemonset(1, "agent:v1"), NOW);
    view.observe(revision(1, template("agent:v1")), NOW);
    assert_eq!(view.current.as_deref(), Some("hash1"));
    view.observe(daemonset(2, "agent:v2"), NOW);
    assert_eq!(view.current, None, "the old revision is not taken for the new one");
    view.observe(revision(2, template("agent:v2")), NOW);
    assert_eq!(view.current.as_deref(), Some("hash2"));
}

#[test]
fn a_revision_in_another_form_is_still_the_newest() {
    let mut view = View::default();
    view.observe(daemonset(1, "agent:v1"), NOW);
    view.observe(revision(1, template("agent:v1")), NOW);
    view.observe(daemonset(2, "agent:v2"), NOW);
    let defaulted = json!({"spec": {"dnsPolicy": "Default", "containers": [{"name": "agent", "image": "agent:v2"}]}});
    view.observe(revision(2, Template::from_json(defaulted)), NOW);
    assert_eq!(view.current, None, "it may be anybody's");
    let at = view.guesses_current_at().unwrap();
    view.guess_current(at);
    assert_eq!(view.current.as_deref(), Some("hash2"), "but nothing better came");
}

/// A watch tells every text anew with each change. Where it is the same as before, or as that of the node, the one that is known already is kept.
#[test]
fn texts_that_stay_the_same_are_kept_once_however_often_something_changes() {
    let mut view = View::default();
    let node = |ready| {
        let labels = [("host", "n1"), ("site", "hamburg")].into_iter().collect();
        Event::Node(Box::new(NodeFact { name: "n1".into(), labels, ready, ..NodeFact::default() }))
    };
    let pod = |version: &str| {
        let (uid, name, node) = (Str::from("uid"), Str::from("agent-1"), Some(Str::from("n1")));
        let resource_version = version.into();
        Event::Pod(Box::new(PodFact { uid, name, node, resource_version, ..PodFact::default() }))
    };
    view.observe(pod("1"), NOW);
    view.observe(node(ConditionStatus::True), NOW);
    let before = (view.pods[0].as_ref().unwrap().fact.clone(), view.nodes[0].fact.clone().unwrap());
    view.observe(pod("2"), NOW);
    view.observe(node(ConditionStatus::False), NOW);
    let (pod, node) = (&view.pods[0].as_ref().unwrap().fact, view.nodes[0].fact.as_ref().unwrap());
    assert_eq!((&*pod.resource_version, node.ready), ("2", ConditionStatus::False), "both changed");
    assert!(Arc::ptr_eq(&pod.uid, &before.0.uid) && Arc::ptr_eq(&pod.name, &before.0.name));
    assert!(
        Arc::ptr_eq(pod.node.as_ref().unwrap(), &view.nodes[0].name) && Arc::ptr_eq(&node.name, &view.nodes[0].name)
    );
    let label = |fact: &NodeFact| fact.labels.get("host").unwrap().clone();
    assert!(Arc::ptr_eq(&label(node), &label(&before.1)));
}

/// An Event tells the uid of its pod anew, too, and comes before the pod or after it.
#[test]
fn a_pods_uid_is_kept_once_with_what_events_tell_of_its_pulls() {
    let pod = || {
        let (uid, resource_version, node) = (Str::from("uid"), Str::from("1"), Some(Str::from("n1")));
        Event::Pod(Box::new(PodFact { uid, resource_version, node, ..PodFact::default() }))
    };
    let pulling = || {
        let (object, container, reason) = (Str::from("uid"), Some(Str::from("agent")), Str::from("Pulling"));
        Event::Cluster(Box::new(ClusterEvent { object, container, reason, ..ClusterEvent::default() }))
    };
    for events in [[pod(), pulling()], [pulling(), pod()]] {
        let mut view = View::default();
        view.observe(daemonset(1, "agent:v1"), NOW);
        events.into_iter().for_each(|event| view.observe(event, NOW));
        let kept = &view.pods[0].as_ref().unwrap().fact.uid;
        assert!(Arc::ptr_eq(kept, view.pulls.uid_of("uid").unwrap()));
    }
}

#[test]
fn a_node_keeps_its_pods_however_they_come_and_go() {
    let mut pods = PodsOnNode::default();
    for (pod, comes, left) in [
        (1, true, &[1][..]),
        (2, true, &[1, 2]),
        (3, true, &[1, 2, 3]),
        (2, false, &[1, 3]),
        (1, false, &[3]),
        (3, false, &[]),
    ] {
        if comes {
            pods.add(pod);
        } else {
            pods.remove(pod);
        }
        assert_eq!(pods.as_slice(), left);
    }
    assert!(matches!(pods, PodsOnNode::AtMostOne(None)));
}

/// Only bookmarks come on the watch of revisions: what was just left is never taken for what is there now.
#[test]
fn a_revision_that_was_left_is_never_taken_for_the_new_one() {
    let mut view = View::default();
    view.observe(Event::Watch(Watched::Revisions, WatchHealth::Live), NOW);
    view.observe(daemonset(1, "agent:v1"), NOW);
    view.observe(revision(1, template("agent:v1")), NOW);
    view.observe(daemonset(2, "agent:v2"), NOW);
    assert_eq!(view.guesses_current_at(), None);
    let later = NOW + std::time::Duration::from_secs(3600);
    view.guess_current(later);
    assert_eq!(view.current, None);
    assert_eq!(view.revision_due_since(), Some(NOW), "the watch owes it");
    view.observe(revision(2, template("agent:v2")), later);
    assert_eq!((view.current.as_deref(), view.revision_due_since()), (Some("hash2"), None));
}

/// The new revision comes by its own watch before the template that it is of, and in another form.
#[test]
fn a_revision_that_comes_before_its_template_is_new_all_the_same() {
    let mut view = View::default();
    view.observe(daemonset(1, "agent:v1"), NOW);
    view.observe(revision(1, template("agent:v1")), NOW);
    let defaulted = json!({"spec": {"dnsPolicy": "Default", "containers": [{"name": "agent", "image": "agent:v2"}]}});
    view.observe(revision(2, Template::from_json(defaulted)), NOW);
    view.observe(daemonset(2, "agent:v2"), NOW);
    view.guess_current(view.guesses_current_at().unwrap());
    assert_eq!(view.current.as_deref(), Some("hash2"));
}

/// A roll back raises the number of the revision that it goes to.
#[test]
fn a_revision_whose_number_was_raised_is_new() {
    let mut view = View::default();
    let other = json!({"spec": {"dnsPolicy": "Default", "containers": [{"name": "agent", "image": "agent:v1"}]}});
    view.observe(daemonset(1, "agent:v2"), NOW);
    let hash1 = |number| {
        let fact = RevisionFact { name: "hash1".into(), hash: "hash1".into(), number, ..RevisionFact::default() };
        Event::Revision(Box::new(RevisionFact { template: Template::from_json(other.clone()), ..fact }))
    };
    view.observe(hash1(1), NOW);
    view.observe(revision(2, template("agent:v2")), NOW);
    view.observe(daemonset(2, "agent:v1"), NOW);
    assert_eq!(view.guesses_current_at(), None);
    view.observe(hash1(3), NOW);
    view.guess_current(view.guesses_current_at().unwrap());
    assert_eq!(view.current.as_deref(), Some("hash1"));
}

/// A console that comes later knows no more than what is listed; the controller's own count and its pods tell it better.
#[test]
fn a_guess_is_checked_against_what_the_controller_made_and_counts() {
    let pod = |uid: &str, hash: &str, generation: i64| {
        Event::Pod(Box::new(PodFact {
            uid: uid.into(),
            name: uid.into(),
            owner: Some("ds".into()),
            node: Some(uid.into()),
            revision: Some(hash.into()),
            template_generation: Some(generation),
            ..PodFact::default()
        }))
    };
    let seen = |updated: u32| {
        let mut view = View::default();
        let Event::DaemonSet(mut fact) = daemonset(2, "agent:v2") else { panic!() };
        fact.counters.updated = updated;
        fact.annotations = [("deprecated.daemonset.template.generation", "2")].into_iter().collect();
        view.observe(Event::DaemonSet(fact), NOW);
        view.observe(revision(1, template("agent:v1")), NOW);
        view.observe(pod("a", "hash1", 1), NOW);
        view
    };
    assert_eq!(seen(0).guesses_current_at(), None, "it counts none as updated, and one has it");
    let mut view = seen(1);
    view.guess_current(view.guesses_current_at().unwrap());
    assert_eq!(view.current.as_deref(), Some("hash1"));
    assert!(!view.current_is_certain(), "a guess, which nothing may end on");
    let mut right = seen(1);
    right.guess_current(right.guesses_current_at().unwrap());
    right.observe(pod("b", "hash1", 2), NOW);
    assert!(right.current_is_certain());
    view.observe(pod("b", "hash2", 2), NOW);
    view.guess_current(NOW);
    assert_eq!(view.current, None, "a pod made from the template has another one");
}

/// Nodes that list the same images share the list; one that comes to list others has its own.
#[test]
fn nodes_that_list_the_same_images_share_the_list() {
    let mut view = View::default();
    let node = |name: &str, bytes| {
        let images = [ListedImage { name: "agent:v1".into(), bytes }].into();
        Event::Node(Box::new(NodeFact { name: name.into(), images, ..NodeFact::default() }))
    };
    [node("n1", 7), node("n2", 7), node("n3", 8)].into_iter().for_each(|event| view.observe(event, NOW));
    let images = |ix: usize| &view.nodes[ix].fact.as_ref().unwrap().images;
    assert!(Arc::ptr_eq(images(0), images(1)) && !Arc::ptr_eq(images(1), images(2)));
    assert_eq!((images(1)[0].bytes, images(2)[0].bytes), (7, 8));
}

#[test]
fn a_watch_that_lagged_has_to_catch_up_unless_it_was_listed_just_now() {
    let pods = Watched::Pods;
    for (lagged, list_takes, waits) in
        [(true, None, true), (true, Some(1), false), (true, Some(5), true), (false, None, false)]
    {
        let mut view = View::default();
        let now = NOW + Duration::from_secs(list_takes.unwrap_or(0));
        if list_takes.is_some() {
            // It lags from the beginning of its list to the end.
            view.watch_was_heard(&Event::Listing(pods), false, NOW);
            view.watch_was_heard(&Event::Listed(pods, None), lagged, now);
        } else {
            view.watch_was_heard(&Event::Heard(pods, None), lagged, now);
        }
        assert_eq!(view.watches().catches_up_until(pods, now).is_some(), waits, "{lagged} {list_takes:?}");
    }
}

#[test]
fn a_daemonset_that_a_write_was_answered_with_is_known_at_once_and_its_watch_owes_it() {
    let late = NOW + watch_states::SHOWN_WITHIN;
    let lags = |view: &View| view.watches().lag(Watched::DaemonSet, None, late).is_some();
    let Event::DaemonSet(answer) = daemonset(7, "agent:v2") else { panic!("it makes a DaemonSet") };
    let mut view = View::default();
    view.watch_was_heard(&daemonset(6, "agent:v1"), false, NOW);
    view.observe(daemonset(6, "agent:v1"), NOW);
    assert!(!lags(&view));
    view.daemonset_was_written(answer, NOW);
    assert_eq!(view.daemonset().map(|known| &known.template), Some(&template("agent:v2")));
    assert!(lags(&view), "the answer is no proof that the watch works");
    view.watch_was_heard(&daemonset(7, "agent:v2"), false, NOW);
    assert!(!lags(&view));
}
