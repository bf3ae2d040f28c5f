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

/// A colleague puts the template back with `kubectl rollout undo`, in the middle of a rollout: what `undo` leads to is where the rollout
/// came from, not the newest other revision, which is the one that was given up.
#[test]
fn after_a_template_that_somebody_else_put_back_a_roll_back_leads_to_where_the_rollout_came_from() {
    let mut fake = FakeCluster::rolling(6, 2);
    let before = fake.daemonset.template.clone();
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 3);
    fake.set_template(before);
    fake.reconcile();
    console.run_for(&mut fake, 5);
    let alarm = console.snapshot(&fake).alarms[0].to_string();
    let words = "the template was changed in the middle of the rollout: agent v2 → v1, where the rollout came from";
    assert_eq!(alarm, words);
    // To resume is to roll out what somebody else asked for, held by the same partition.
    let resume = console.engine.preview(&Command::Resume, fake.now).unwrap();
    let says = "Rolls out the template as somebody else changed it: agent v2 → v1, where the rollout came from.";
    assert!(resume.effects.contains(&says.to_owned()), "{:?}", resume.effects);
    let undo = Command::Undo { to: None };
    let preview = console.engine.preview(&undo, fake.now).unwrap();
    assert_eq!(preview.nodes.iter().map(|node| &**node).collect::<Vec<_>>(), ["n1", "n2", "n3"], "{preview:?}");
    assert!(!preview.calls.iter().any(|call| call.contains("(template)")), "it is there already: {:?}", preview.calls);
    console.ask(&mut fake, undo).unwrap();
    console.run_for(&mut fake, 120);
    assert_eq!((fake.at("hash1"), fake.at("hash2")), (6, 0));
    assert_eq!(fake.deleted.len(), 6, "three went to v2, and these three went back");
    let timeline: Vec<String> = console.snapshot(&fake).timeline.iter().map(ToString::to_string).collect();
    assert!(timeline.contains(&"rolled back: all 6 nodes are at the revision before".to_owned()), "{timeline:?}");
}
