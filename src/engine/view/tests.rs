use serde_json::json;

use super::*;
use crate::engine::template::Template;

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
