//! What previews say of the template that a command asks for.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Step};
use crate::engine::model::template::Template;

/// Five nodes whose template got other tolerations and arguments after its first image, and a console.
fn changed() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(5, 5);
    let mut raw = fake.daemonset.template.json().clone();
    raw["spec"]["hostNetwork"] = true.into();
    raw["spec"]["containers"][0]["args"] = vec!["--level=debug"].into();
    fake.set_template(Template::from_json(raw));
    fake.reconcile();
    let mut console = FakeConsole::open(&fake, "ada");
    console.run(&mut fake);
    (fake, console)
}

fn changes(fake: &FakeCluster, console: &mut FakeConsole, command: &Command) -> Vec<String> {
    let preview = console.engine.preview(command, fake.now).unwrap();
    preview.changes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_new_image_and_a_roll_back_say_what_they_change() {
    let (mut fake, mut console) = changed();
    let image = Command::SetImage([("agent".to_owned(), "agent:v9".parse().unwrap())].into());
    let now = fake.daemonset.template.containers()[0].image.clone();
    assert_eq!(changes(&fake, &mut console, &image), [format!("containers[agent].image: {now} → agent:v9")]);
    let undo = Command::Undo { to: Some(1) };
    let back =
        ["containers[agent].args: removed [\"--level=debug\"]".to_owned(), "hostNetwork: removed true".to_owned()];
    assert_eq!(changes(&fake, &mut console, &undo), back);
    // Not the target of the rollout but the template in force is what changes.
    console.ask(&mut fake, image).unwrap();
    let all = [vec![format!("containers[agent].image: agent:v9 → {now}")], back.to_vec()].concat();
    assert_eq!(changes(&fake, &mut console, &undo), all);
    assert_eq!(changes(&fake, &mut console, &Command::Step(Step::Next)), [""; 0], "it leaves the template as it is");
}

#[test]
fn the_snapshot_shares_the_template_that_the_watch_told() {
    let (fake, mut console) = changed();
    let revisions = console.snapshot(&fake).revisions;
    assert_eq!(revisions.len(), 2);
    for revision in revisions.iter() {
        let told = fake.revisions.iter().find(|fact| fact.hash == revision.hash).unwrap();
        assert!(std::ptr::eq(revision.template.as_ref().unwrap().json(), told.template.json()), "it is not copied");
    }
}
