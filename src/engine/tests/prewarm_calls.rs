//! The calls about pods that the preview of a pre-warming names are those that are made then.

use super::prewarm_previews::{TIMED_OUT, give, six, start, start_on, under_way};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, PrewarmCommand, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::prewarm::PrewarmNodes;

/// How often such a call was sent.
fn count(fake: &FakeCluster, call: &str) -> usize {
    fake.sent.iter().filter(|sent| **sent == call).count()
}

/// Lets every pull that is under way end well, until nothing more is made.
fn let_arrive(fake: &mut FakeCluster, console: &mut FakeConsole) {
    for _ in 0..20 {
        console.run_for(fake, 20);
        let missing = fake.warm.values().filter(|warm| !warm.pod.containers[0].image_present);
        let missing: Vec<String> = missing.map(|warm| warm.pod.node.as_ref().unwrap().to_string()).collect();
        missing.iter().for_each(|node| fake.warm_arrives(node));
    }
}

/// What a preview says, and what is sent: the first write of the Lease, pods deleted, pods made.
fn compare(fake: &mut FakeCluster, console: &mut FakeConsole, command: &PrewarmCommand) -> Vec<String> {
    let preview = console.engine.preview(&Command::Prewarm(command.clone()), fake.now).unwrap();
    fake.sent.clear();
    give(fake, console, command.clone());
    let verb = fake.sent.iter().find(|sent| sent.ends_with("leases")).unwrap().split(' ').next().unwrap();
    // What is deleted because of the command is deleted at once.
    let deleted = count(fake, "DELETE pre-warm pods");
    let_arrive(fake, console);
    let mut want = vec![format!("{verb} leases/rolldeck-agent (pre-warm)")];
    match deleted {
        0 => {}
        1 => want.push("DELETE the pod that was made for it".into()),
        pods => want.push(format!("DELETE {pods} pods that were made for it")),
    }
    match count(fake, "POST pre-warm pods") {
        0 => {}
        1 => want.push("POST pods, one on 1 node; DELETE it once its node is updated".into()),
        nodes => {
            want.push(format!("POST pods, one on each of {nodes} nodes; DELETE each once its node is updated"));
        }
    }
    assert_eq!(preview.calls, want, "{command:?}");
    preview.calls
}

#[test]
fn a_start_shows_what_would_be_pulled_and_where() {
    let (mut fake, mut console) = six();
    let calls = compare(&mut fake, &mut console, &start("v2"));
    assert!(calls[0].starts_with("POST leases") && calls[1].contains("6 nodes"), "{calls:?}");
    // The Lease is there now, and so are the images: nothing is left to do.
    let calls = compare(&mut fake, &mut console, &start("v2"));
    assert_eq!(calls, ["PUT leases/rolldeck-agent (pre-warm)"]);
}

#[test]
fn a_beginning_that_replaces_another() {
    let (mut fake, mut console) = under_way();
    let calls = compare(&mut fake, &mut console, &start("v3"));
    assert!(calls[1].contains("3 pods") && calls[2].contains("6 nodes"), "{calls:?}");
    let (mut fake, mut console) = under_way();
    let calls = compare(&mut fake, &mut console, &start_on("v2", PrewarmNodes::Node("n1".into())));
    assert!(calls[1].contains("2 pods") && calls.len() == 2, "{calls:?}");
}

#[test]
fn the_same_again_tries_again_what_failed() {
    let (mut fake, mut console) = under_way();
    let calls = compare(&mut fake, &mut console, &start("v2"));
    assert!(calls[1].contains("3 nodes") && calls.len() == 2, "{calls:?}");
}

#[test]
fn a_pause_makes_no_call_about_pods() {
    let (mut fake, mut console) = under_way();
    assert_eq!(compare(&mut fake, &mut console, &PrewarmCommand::Pause), ["PUT leases/rolldeck-agent (pre-warm)"]);
}

#[test]
fn going_on_makes_what_is_left() {
    let (mut fake, mut console) = under_way();
    give(&mut fake, &mut console, PrewarmCommand::Pause);
    let calls = compare(&mut fake, &mut console, &PrewarmCommand::Resume);
    assert!(calls[1].starts_with("POST pods, one on each of 2 nodes") && calls.len() == 2, "{calls:?}");
}

/// It goes on already: nothing is changed, and nobody is told that it was resumed.
#[test]
fn going_on_with_what_is_not_paused_says_so() {
    let (mut fake, mut console) = under_way();
    let resume = Command::Prewarm(PrewarmCommand::Resume);
    let preview = console.engine.preview(&resume, fake.now).unwrap();
    assert_eq!(preview.effects, ["It is not paused: nothing changes."]);
    assert_eq!((preview.calls, preview.danger), (Vec::<String>::new(), Danger::None));
    assert_eq!(console.ask(&mut fake, resume).unwrap(), "pre-warming is not paused: nothing changes");
}

#[test]
fn a_retry_makes_anew_what_failed() {
    let (mut fake, mut console) = under_way();
    let calls = compare(&mut fake, &mut console, &PrewarmCommand::Retry);
    // n2, beside n5 and n6, whose turn comes anyway.
    assert!(calls[1].contains("3 nodes") && calls.len() == 2, "{calls:?}");
    let (mut fake, mut console) = under_way();
    give(&mut fake, &mut console, PrewarmCommand::Pause);
    let refused = console.engine.preview(&Command::Prewarm(PrewarmCommand::Retry), fake.now).unwrap_err();
    assert!(refused.to_string().contains("has paused pre-warming"), "none would be made: {refused}");
}

#[test]
fn a_pull_that_is_tried_again_by_itself_is_a_call_of_going_on() {
    let (mut fake, mut console) = six();
    give(&mut fake, &mut console, start("v2"));
    fake.warm_fails("n1", TIMED_OUT);
    console.run_for(&mut fake, 3);
    give(&mut fake, &mut console, PrewarmCommand::Pause);
    let calls = compare(&mut fake, &mut console, &PrewarmCommand::Resume);
    assert!(calls[1].contains("4 nodes") && calls.len() == 2, "n1 and those that wait: {calls:?}");
}

#[test]
fn a_cancellation_deletes_them_all() {
    let (mut fake, mut console) = under_way();
    let calls = compare(&mut fake, &mut console, &PrewarmCommand::Cancel);
    assert!(calls[1].contains("3 pods") && calls.len() == 2, "{calls:?}");
    // A pause beforehand makes no difference: the same pods are deleted.
    let (mut fake, mut console) = under_way();
    give(&mut fake, &mut console, PrewarmCommand::Pause);
    let calls = compare(&mut fake, &mut console, &PrewarmCommand::Cancel);
    assert!(calls[1].contains("3 pods") && calls.len() == 2, "{calls:?}");
}

#[test]
fn where_nobody_drives_it_says_so() {
    let (mut fake, mut console) = under_way();
    console.ask(&mut fake, Command::StopDriving).unwrap();
    drop(console);
    fake.wait(30);
    let mut one_shot = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    one_shot.run(&mut fake);
    let preview = one_shot.engine.preview(&Command::Prewarm(PrewarmCommand::Cancel), fake.now).unwrap();
    assert_eq!(
        preview.calls,
        ["PUT leases/rolldeck-agent (pre-warm)", "DELETE 3 pods that were made for it (once somebody drives)"]
    );
    fake.sent.clear();
    give(&mut fake, &mut one_shot, PrewarmCommand::Cancel);
    one_shot.run_for(&mut fake, 20);
    assert_eq!(count(&fake, "DELETE pre-warm pods"), 0);
    let mut next = FakeConsole::open(&fake, "eve");
    let preview = next.engine.preview(&Command::Drive(Takeover::IfFree), fake.now).unwrap();
    assert_eq!(preview.effects, ["This process becomes the driver, and pre-warms while it runs."]);
    assert_eq!(preview.calls, Vec::<String>::new(), "without a rollout nothing is adopted");
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.run_for(&mut fake, 5);
    assert_eq!(fake.daemonset.strategy.raw["type"], "RollingUpdate");
    assert_eq!(count(&fake, "DELETE pre-warm pods"), 3);
}
