//! A third image in the middle of a rollout: three revisions run, and each is named.

use std::time::Duration;

use super::*;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::engine::report::story::Story;

/// Ten nodes: two run agent:v3, two agent:v2, and six never left agent:v1.
fn three() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 6);
    console.run_for(&mut fake, 60);
    console.set_image(&mut fake, "agent:v3");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 60);
    (fake, console)
}

#[test]
fn all_revisions_that_run_are_named_with_their_pods() {
    let (mut fake, mut console) = three();
    let snapshot = console.snapshot(&fake);
    let named = snapshot.running_revisions();
    assert_eq!(named.as_deref(), Some("3 revisions run: rev 1 (v1) on 6, rev 2 (v2) on 2, rev 3 (v3) on 2"));
    let preview = console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap();
    let said = "Of these pods, 2 run revision 2, 2 run revision 3; 4 of them serve.";
    assert_eq!(preview.effects.get(1).map(String::as_str), Some(said), "{:#?}", preview.effects);
    console.ask(&mut fake, Command::Undo { to: Some(1) }).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(console.snapshot(&fake).running_revisions(), None, "one runs");
}

/// Where two run, it is said as well which one goes, and how many of its pods serve.
#[test]
fn a_roll_back_from_one_revision_names_it_with_its_pods() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    for (keep, said) in
        [(9, "Its pod runs revision 2 and serves."), (7, "These 3 pods run revision 2; all of them serve.")]
    {
        console.partition(&mut fake, keep);
        console.run_for(&mut fake, 60);
        let preview = console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap();
        assert_eq!(preview.effects.get(1).map(String::as_str), Some(said), "{:#?}", preview.effects);
    }
    fake.set_ready("n1", false);
    console.run_for(&mut fake, 1);
    let preview = console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap();
    let said = "These 3 pods run revision 2; 2 of them serve.";
    assert!(preview.effects.iter().any(|line| line == said), "{:#?}", preview.effects);
}

/// Kubelets tell whole seconds: what a new pod does is told after the end of the one before.
#[test]
fn the_story_of_a_node_does_not_run_backwards_within_a_second() {
    let fake = FakeCluster::rolling(1, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let known = console.snapshot(&fake);
    let second = Timestamp::from_millis(known.at.millis() / 1_000 * 1_000 + 5_000);
    let mut story = Story::default();
    story.observe(&known);
    let states = [(NodeState::Terminating, 600, 700), (NodeState::Pulling, 0, 900)];
    for (nth, (state, since, seen)) in states.into_iter().enumerate() {
        let node = NodeView {
            state,
            since: Some(second + Duration::from_millis(since)),
            pod: Some(format!("agent-{nth}").into()),
            ..NodeView::clone(&known.nodes[0])
        };
        story.observe(&Snapshot {
            at: second + Duration::from_millis(seen),
            nodes: vec![node].into(),
            ..known.clone()
        });
    }
    let told: Vec<String> = story.moments().map(|moment| moment.change.to_string()).collect();
    let nth = |words: &str| told.iter().position(|told| told.contains(words));
    assert!(nth("is going").is_some() && nth("is going") < nth("pulls"), "{told:#?}");
}

/// The image that somebody has just set is no change of others: the step that follows at once is made.
#[test]
fn a_step_right_after_ones_own_image_is_made() {
    for wait in [0, 1] {
        let (mut fake, mut console) = three();
        let images = [("agent".to_owned(), "agent:v4".parse().unwrap())].into();
        console.engine.command(Command::SetImage(images), fake.now).unwrap();
        if wait > 0 {
            console.run(&mut fake);
        }
        console.partition(&mut fake, 7);
        console.run_for(&mut fake, 60);
        assert_eq!(fake.at("hash4"), 3, "{wait}");
    }
}
