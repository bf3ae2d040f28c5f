//! Pre-warming: one pod per node, a few at a time, kept until its node is updated.

use serde_json::json;

use super::prewarm_sites::two_sites;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Early, PrewarmCommand, Refusal, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::event::{Event, Watched};
use crate::engine::model::facts::{ClusterEvent, StrategyKind};
use crate::engine::model::node::ImageState;
use crate::engine::model::prewarm::{
    PrewarmLeftover, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource, PrewarmState, PrewarmWait,
};
use crate::engine::model::pull::PrewarmPulls;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Tuning};
use crate::engine::report::diagnosis::{Diagnosis, Finding, FindingKind};

pub(super) fn start(source: PrewarmSource, nodes: PrewarmNodes, most: u32) -> Command {
    let limits = PrewarmLimits { max_pulling: Limit::At(IntOrPercent::Int(most)), ..PrewarmLimits::default() };
    Command::Prewarm(PrewarmCommand::Start { source, nodes, limits, method: PrewarmMethod::Pods })
}

pub(super) fn image(tag: &str) -> PrewarmSource {
    PrewarmSource::Images([("agent".to_owned(), format!("agent:{tag}").parse().unwrap())].into())
}

/// Twenty nodes, whose images have still to be pulled, and a console that pre-warms `agent:v2` on two at a time.
pub(super) fn warming() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(image("v2"), PrewarmNodes::All, 2), fake.now).unwrap();
    console.run(&mut fake);
    (fake, console)
}

pub(super) fn state(console: &mut FakeConsole, fake: &FakeCluster, node: &str) -> PrewarmState {
    let snapshot = console.snapshot(fake);
    snapshot.nodes.iter().find(|it| *it.name == *node).unwrap().prewarm.as_deref().unwrap().clone()
}

#[test]
fn no_more_nodes_pull_than_may_and_the_next_follows_when_one_is_done() {
    let (mut fake, mut console) = warming();
    assert_eq!(fake.warm_nodes(), ["n1", "n2"]);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.warm_nodes(), ["n1", "n2"], "a pull may take long");
    assert_eq!(
        state(&mut console, &fake, "n3"),
        PrewarmState::Waiting(PrewarmWait::Limit { used: 2, limit: 2 }),
        "it says what it waits for"
    );
    fake.warm_arrives("n2");
    console.run_for(&mut fake, 2);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"], "the pod of n2 stays: its image is not to be collected");
    assert_eq!(state(&mut console, &fake, "n2"), PrewarmState::Present, "a container that cannot start has its image");
    let prewarm = console.snapshot(&fake).prewarm.unwrap();
    assert_eq!(prewarm.to_string(), "pre-warming: 1 of 20 present, 2 pulling, 17 waiting; pull slots 2 of 2");
}

#[test]
fn it_needs_no_rollout_and_begins_none() {
    let (mut fake, mut console) = warming();
    console.run_for(&mut fake, 30);
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::RollingUpdate, "it adopts nothing");
    let lease = fake.lease.as_ref().unwrap();
    assert!(matches!(lease.record, Ok(None)), "and records no rollout");
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.started_at.is_none() && snapshot.alarms.is_empty(), "{:?}", snapshot.alarms);
    assert!(fake.deleted.is_empty());
}

#[test]
fn whoever_drives_next_carries_on_with_the_pods_that_are_there() {
    let (mut fake, console) = warming();
    drop(console);
    fake.wait(20);
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 20);
    next.engine.command(Command::Drive(crate::engine::model::command::Takeover::IfFree), fake.now).unwrap();
    next.run_for(&mut fake, 20);
    assert_eq!((fake.warm_nodes().len(), fake.warm_made), (2, 2), "nothing is made twice");
    fake.warm_arrives("n1");
    next.run_for(&mut fake, 2);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"]);
}

#[test]
fn a_driver_that_is_asked_for_the_lease_hands_over_and_no_rollout_begins() {
    let (mut fake, mut console) = warming();
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 1);
    console.run_for(&mut fake, 3);
    next.run(&mut fake);
    next.engine.command(Command::Drive(Takeover::Ask), fake.now).unwrap();
    for _ in 0..10 {
        next.run_for(&mut fake, 1);
        console.run_for(&mut fake, 1);
    }
    let lease = fake.lease.as_ref().unwrap();
    assert!(lease.holder.as_ref().is_some_and(|holder| holder.starts_with("eve")), "{lease:?}");
    assert!(matches!(lease.record, Ok(None)), "{lease:?}");
    assert!(lease.prewarm.as_ref().unwrap().as_ref().unwrap().handover.is_none(), "the request is settled");
    assert_eq!((fake.daemonset.strategy.kind, fake.warm_made), (StrategyKind::RollingUpdate, 2));
    fake.warm_arrives("n1");
    next.run_for(&mut fake, 2);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"]);
}

#[test]
fn an_evicted_pod_keeps_no_image_and_is_made_again() {
    let (mut fake, mut console) = warming();
    fake.warm_arrives("n1");
    console.run_for(&mut fake, 2);
    assert_eq!(state(&mut console, &fake, "n1"), PrewarmState::Present);
    fake.change_warm_pod("n1", |pod| {
        pod.reason = Some("Evicted".into());
        pod.message = Some("The node was low on resource: ephemeral-storage. ".into());
    });
    console.run_for(&mut fake, 2);
    let PrewarmState::Failed { cause, again_at: Some(_), .. } = state(&mut console, &fake, "n1") else { panic!() };
    assert!(cause.message.unwrap().contains("ephemeral-storage"));
    assert!(!fake.warm_nodes().iter().any(|node| **node == *"n1"));
}

#[test]
fn an_update_of_a_warm_node_takes_no_pull_slot_and_ends_its_pod() {
    let (mut fake, mut console) = warming();
    fake.warm_arrives("n1");
    fake.warm_arrives("n2");
    console.run_for(&mut fake, 2);
    console.engine.command(Command::Prewarm(PrewarmCommand::Pause), fake.now).unwrap();
    console.set_image(&mut fake, "agent:v2");
    let snapshot = console.snapshot(&fake);
    let image_of = |name: &str| snapshot.nodes.iter().find(|node| *node.name == *name).unwrap().image;
    assert_eq!((image_of("n1"), image_of("n5")), (ImageState::Present, ImageState::Unknown));
    fake.holds_images = true;
    console.partition(&mut fake, 18);
    console.run_for(&mut fake, 30);
    assert_eq!(
        fake.deleted.iter().map(|node| &**node).collect::<Vec<_>>(),
        ["n1", "n2"],
        "those that have it go first"
    );
    assert_eq!(fake.warm_nodes(), ["n3", "n4"], "what their own pods use needs no other to keep it");
}

/// `drive --until held` waits for what this tells.
#[test]
fn pods_that_nobody_needs_any_more_are_counted_until_they_are_gone() {
    let (mut fake, mut console) = warming();
    fake.warm_arrives("n1");
    fake.warm_arrives("n2");
    console.run_for(&mut fake, 2);
    let leftover = |console: &mut FakeConsole, fake: &FakeCluster| console.snapshot(fake).prewarm.unwrap().leftover;
    assert_eq!(leftover(&mut console, &fake), PrewarmLeftover::default(), "all are needed");
    console.engine.command(Command::Prewarm(PrewarmCommand::Pause), fake.now).unwrap();
    console.set_image(&mut fake, "agent:v2");
    (fake.holds_images, fake.keeps_warm_pods) = (true, true);
    console.partition(&mut fake, 19);
    console.run_for(&mut fake, 30);
    let left = leftover(&mut console, &fake);
    assert_eq!((fake.deleted.len(), left.pods, left.ending), (1, 1, 0));
    let (node, said) = left.refusal.unwrap();
    assert_eq!(&*node, "n1");
    let prewarm = console.snapshot(&fake).prewarm.unwrap();
    assert_eq!(
        prewarm.left_over().unwrap(),
        format!("1 pod for pre-warming that nobody needs any more is left (n1: {said})")
    );
    assert!(prewarm.refused().unwrap().to_string().contains("its deletion failed"), "{:?}", prewarm.refused());
    fake.keeps_warm_pods = false;
    console.run_for(&mut fake, 10);
    assert_eq!(leftover(&mut console, &fake), PrewarmLeftover::default());
    assert!(!fake.warm_nodes().contains(&"n1".to_owned()), "{:?}", fake.warm_nodes());

    fake.keeps_warm_pods = true;
    let there = u32::try_from(fake.warm_nodes().len()).unwrap();
    assert!(there > 0);
    console.engine.command(Command::Prewarm(PrewarmCommand::Cancel), fake.now).unwrap();
    console.run_for(&mut fake, 2);
    assert_eq!(leftover(&mut console, &fake).pods, there, "nobody needs any of those that are cancelled");
}

/// The images of these nodes have arrived after so many seconds.
pub(super) fn pulled(fake: &mut FakeCluster, console: &mut FakeConsole, took: &[(&str, u32)]) {
    for (node, secs) in took {
        let warm = fake.warm.values().find(|warm| warm.pod.node.as_deref() == Some(*node)).unwrap();
        let message = format!(
            "Successfully pulled image \"agent:v2\" in {secs}s ({secs}s including waiting). Image size: 50000000 bytes."
        );
        let event = ClusterEvent {
            version: Some(1),
            object: warm.pod.uid.clone(),
            node: Some((*node).into()),
            container: Some(warm.pod.containers[0].name.clone()),
            reason: "Pulled".into(),
            message: message.into(),
            at: fake.now,
            first_at: None,
            count: 1,
            ..ClusterEvent::default()
        };
        console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
        fake.warm_arrives(node);
    }
    console.run_for(fake, 2);
}

#[test]
fn pulls_of_an_image_that_is_named_by_hand_are_compared() {
    let mut fake = two_sites();
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(image("v2"), PrewarmNodes::All, 6), fake.now).unwrap();
    console.run_for(&mut fake, 2);
    let nodes = fake.warm_nodes();
    let took: Vec<(&str, u32)> =
        nodes.iter().zip([10, 10, 10, 10, 10, 60]).map(|(node, secs)| (&**node, secs)).collect();
    pulled(&mut fake, &mut console, &took);
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.pulls.slow.is_empty(), "the target needs another image");
    let pulls = snapshot.prewarm.unwrap().pulls;
    assert_eq!(
        pulls.lines(),
        ["agent:v2, 50 MB, took ~10s on 6 nodes: hall-b ~10s", "slow: n6: 6× the median of its site (60s for v2)"]
    );
    let words = |name: &str| {
        let node = snapshot.nodes.iter().find(|node| *node.name == *name).unwrap();
        pulls.words(node, snapshot.at).unwrap_or_default()
    };
    assert_eq!(words("n1"), "pulled in 10s, 50 MB");
    assert_eq!(words("n6"), "pulled in 60s, 50 MB, 6× the median of its site");
    assert_eq!(words("n7"), "", "it has not begun, as far as its kubelet tells");

    console.engine.command(Command::Prewarm(PrewarmCommand::Cancel), fake.now).unwrap();
    console.set_image(&mut fake, "agent:v2");
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.pulls.slow.len(), 1, "now the target needs it");
    let findings = Diagnosis::of(&snapshot).findings;
    let is_slow = |found: &Finding| found.kind == FindingKind::SlowPull;
    assert!(!findings.iter().any(is_slow), "its old pod serves, and the image is there: {findings:?}");
    assert!(snapshot.prewarm.is_none_or(|prewarm| prewarm.pulls == PrewarmPulls::default()));
}

#[test]
fn updates_and_pre_warming_share_the_limit() {
    let (mut fake, mut console) = warming();
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    fake.slow = true;
    for _ in 0..30 {
        console.run_for(&mut fake, 1);
        let pulling = console.snapshot(&fake).budget.pulling;
        assert!(pulling <= 2, "{pulling} pull");
    }
    assert_eq!(fake.deleted.len(), 1, "a node that is being pre-warmed holds its slot already");
}

#[test]
fn a_pull_that_failed_is_tried_again_within_the_limits_and_does_not_block_the_others() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", "failed to pull and unpack image: dial tcp 10.0.0.1:443: i/o timeout");
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n2", "n3"], "another takes its place");
    let PrewarmState::Failed { times, again_at, .. } = state(&mut console, &fake, "n1") else { panic!() };
    assert!(times == 1 && again_at.is_some());
    for node in ["n2", "n3"] {
        fake.warm_arrives(node);
    }
    console.run_for(&mut fake, 40);
    assert_eq!(fake.warm_nodes(), ["n2", "n3", "n4", "n5"], "it is last in line");
}

#[test]
fn a_pause_makes_no_more_and_a_cancellation_leaves_nothing() {
    let (mut fake, mut console) = warming();
    console.engine.command(Command::Prewarm(PrewarmCommand::Pause), fake.now).unwrap();
    console.run(&mut fake);
    fake.warm_arrives("n1");
    console.run_for(&mut fake, 60);
    assert_eq!(fake.warm_nodes(), ["n1", "n2"]);
    assert_eq!(state(&mut console, &fake, "n9"), PrewarmState::Waiting(PrewarmWait::Paused));
    console.engine.command(Command::Prewarm(PrewarmCommand::Resume), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"]);
    console.engine.command(Command::Prewarm(PrewarmCommand::Cancel), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert!(fake.warm_nodes().is_empty());
    let lease = fake.lease.as_ref().unwrap();
    assert_eq!((&lease.prewarm, &lease.holder), (&Ok(None), &None), "the lease is given back");
    assert!(console.snapshot(&fake).prewarm.is_none());
    let refused = console.engine.command(Command::Prewarm(PrewarmCommand::Pause), fake.now).unwrap_err();
    assert!(matches!(refused, Refusal::NotNow(_)), "{refused}");
}

/// Whoever only records the cancellation deletes no pod, and does not say so.
#[test]
fn what_is_cancelled_while_nobody_drives_says_that_its_pods_stay() {
    let (mut fake, console) = warming();
    drop(console);
    fake.wait(60);
    let mut ada = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    ada.run_for(&mut fake, 20);
    let said = ada.ask(&mut fake, Command::Prewarm(PrewarmCommand::Cancel)).unwrap();
    assert_eq!(said, "pre-warming is cancelled: its pods are deleted once somebody drives");
    ada.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n1", "n2"]);
    let prewarm = ada.snapshot(&fake).prewarm.unwrap();
    let stays = "pre-warming cancelled by ada@bastion, its pods stay until somebody drives";
    assert_eq!(prewarm.to_string(), stays, "how many have the images is not counted any more");
    drop(ada);
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 20);
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.run_for(&mut fake, 5);
    assert!(fake.warm_nodes().is_empty());
}

#[test]
fn a_release_ends_it() {
    let (mut fake, mut console) = warming();
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 5);
    console.engine.command(Command::Release(Early::Accept), fake.now).unwrap();
    console.run_for(&mut fake, 60);
    assert!(fake.warm_nodes().is_empty());
    let lease = fake.lease.as_ref().unwrap();
    assert_eq!((&lease.prewarm, &lease.record), (&Ok(None), &Ok(None)));
}

#[test]
fn pods_that_are_refused_are_tried_one_at_a_time_and_say_why() {
    let mut fake = FakeCluster::rolling(20, 1);
    fake.refuses_warm = Some("exceeded quota: pods".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(image("v2"), PrewarmNodes::All, 5), fake.now).unwrap();
    console.run_for(&mut fake, 100);
    let prewarm = console.snapshot(&fake).prewarm.unwrap();
    assert_eq!(prewarm.refusal.unwrap().1.as_ref(), "exceeded quota: pods");
    fake.refuses_warm = None;
    console.run_for(&mut fake, 40);
    assert_eq!(fake.warm_nodes().len(), 5);
    assert!(console.snapshot(&fake).prewarm.unwrap().refusal.is_none());
}

#[test]
fn it_can_be_about_some_nodes_only() {
    let mut fake = FakeCluster::rolling(20, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let canaries = PrewarmNodes::Selector("zone=canary".parse().unwrap());
    console.engine.command(start(image("v2"), canaries, 10), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"]);
    console.engine.command(start(image("v2"), PrewarmNodes::Node("n7".into()), 10), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n7"], "the others are not meant any more");
    let nowhere = PrewarmNodes::Selector("zone=moon".parse().unwrap());
    let refused = console.engine.command(start(image("v2"), nowhere, 1), fake.now).unwrap_err();
    assert_eq!(refused.to_string(), "no node has zone=moon: the values of that label are canary, rest");
    let unknown = PrewarmSource::Images([("side".to_owned(), "x:1".parse().unwrap())].into());
    let refused = console.engine.command(start(unknown, PrewarmNodes::All, 1), fake.now).unwrap_err();
    assert!(refused.to_string().contains("no container `side`"), "{refused}");
}

#[test]
fn another_image_replaces_the_pods_of_the_one_before() {
    let (mut fake, mut console) = warming();
    fake.warm_arrives("n1");
    console.engine.command(start(image("v3"), PrewarmNodes::All, 2), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes().len(), 2);
    assert!(fake.warm.values().all(|warm| !warm.pod.containers[0].image_present), "those of v2 are gone");
}

#[test]
fn nothing_is_pulled_that_is_there() {
    let mut fake = FakeCluster::rolling(20, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(PrewarmSource::Template, PrewarmNodes::All, 5), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_made, 0, "each node's own pod uses it");
    assert_eq!(console.snapshot(&fake).prewarm.unwrap().counts.present, 20);
}

#[test]
fn it_is_done_when_nothing_is_tried_again() {
    let mut fake = FakeCluster::rolling(2, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(image("v2"), PrewarmNodes::All, 2), fake.now).unwrap();
    console.run(&mut fake);
    fake.warm_arrives("n1");
    fake.warm_fails("n2", "failed to pull and unpack image: dial tcp 10.0.0.1:443: i/o timeout");
    for _ in 0..5 {
        let prewarm = console.snapshot(&fake).prewarm.unwrap();
        assert!(!prewarm.is_done(), "the network may be back soon: {prewarm}");
        console.run_for(&mut fake, 1);
    }
    console.run_for(&mut fake, 60);
    fake.warm_fails("n2", "failed to resolve reference \"agent:v2\": agent:v2: not found");
    console.run_for(&mut fake, 5);
    let prewarm = console.snapshot(&fake).prewarm.unwrap();
    assert_eq!((prewarm.counts.present, prewarm.counts.failed, prewarm.counts.retrying), (1, 1, 0));
    assert!(prewarm.is_done());
    let diagnosis = Diagnosis::of(&console.snapshot(&fake));
    let [finding] = diagnosis.findings.as_slice() else { panic!("{:?}", diagnosis.findings) };
    assert_eq!(finding.nodes, ["n2".into()]);
    assert!(finding.evidence[0].text.starts_with("image not found: failed to resolve"), "{:?}", finding.evidence);
}

#[test]
fn a_node_goes_only_once_its_images_are_there() {
    let mut fake = FakeCluster::rolling(20, 3);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    let tuning = Tuning { require_image: Some(true), ..Tuning::default() };
    console.engine.command(Command::Tune(tuning), fake.now).unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 10);
    assert!(fake.warm_nodes().is_empty(), "nothing may be updated yet");
    console.partition(&mut fake, 15);
    console.run_for(&mut fake, 10);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"], "as many as may pull, of those that may be updated");
    assert!(fake.deleted.is_empty(), "{:?}", fake.deleted);
    let (_, why) = console.state(&fake, "n1");
    assert_eq!(why, "image not on the node yet");
    fake.warm_arrives("n2");
    fake.holds_images = true;
    console.run_for(&mut fake, 10);
    assert_eq!(fake.deleted.iter().map(|node| &**node).collect::<Vec<_>>(), ["n2"]);
    // Its image is collected again: its pod was evicted before its turn came.
    fake.warm_arrives("n1");
    let uid = fake.warm.values().find(|warm| warm.pod.node.as_deref() == Some("n1")).unwrap().pod.uid.clone();
    fake.take_warm_pod(&uid);
    console.run_for(&mut fake, 3);
    assert!(!fake.deleted.iter().any(|node| &**node == "n1"), "{:?}", fake.deleted);
}

/// A rollout that requires its images, with three nodes that may be updated and may pull, and none of which has the images.
pub(super) fn requiring(command: Option<Command>) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 3);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    let tuning = Tuning { require_image: Some(true), ..Tuning::default() };
    console.engine.command(Command::Tune(tuning), fake.now).unwrap();
    console.set_image(&mut fake, "agent:v2");
    if let Some(command) = command {
        console.engine.command(command, fake.now).unwrap();
    }
    console.run_for(&mut fake, 3);
    console.partition(&mut fake, 17);
    console.run_for(&mut fake, 3);
    (fake, console)
}

#[test]
fn going_back_waits_for_no_image() {
    let mut fake = FakeCluster::rolling(5, 5);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 20);
    let tuning = Tuning { require_image: Some(true), ..Tuning::default() };
    console.engine.command(Command::Tune(tuning), fake.now).unwrap();
    console.run_for(&mut fake, 2);
    let before = fake.deleted.len();
    let undone = console.ask(&mut fake, Command::Undo { to: Some(1) });
    console.run_for(&mut fake, 20);
    assert!(fake.deleted.len() > before || fake.at("v1") > 0, "{undone:?}");
}

#[test]
fn pods_that_nobody_asks_for_any_more_are_told_of_and_deleted_on_request() {
    let (mut fake, mut console) = warming();
    fake.lease = None;
    console.engine.observe(Event::LeaseGone(None), fake.now);
    console.run_for(&mut fake, 30);
    let left = console.snapshot(&fake).prewarm.unwrap();
    assert_eq!(left.to_string(), "pre-warming: pods of an earlier pre-warming are left; cancel it to delete them");
    console.engine.command(Command::Prewarm(PrewarmCommand::Cancel), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert!(fake.warm_nodes().is_empty() && console.snapshot(&fake).prewarm.is_none());
}

/// Found by the attack (seed 222002823).
#[test]
fn an_update_and_a_pod_for_pre_warming_do_not_take_the_same_slot_at_once() {
    let mut fake = FakeCluster::rolling(20, 1);
    fake.holds_images = false;
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.engine.command(start(PrewarmSource::Template, PrewarmNodes::Node("n9".into()), 1), fake.now).unwrap();
    console.partition(&mut fake, 0);
    for _ in 0..10 {
        console.run_for(&mut fake, 1);
        assert!(fake.deleted.len() + fake.warm_nodes().len() <= 1, "{:?} {:?}", fake.deleted, fake.warm_nodes());
    }
    assert_eq!(fake.deleted.len() + fake.warm_nodes().len(), 1);
}

/// Found by the attack (seed 333005922).
#[test]
fn pre_warming_a_daemonset_that_surges_is_driven_without_a_budget() {
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
    let mut fake = FakeCluster::new(5, strategy);
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(image("v2"), PrewarmNodes::All, 2), fake.now).unwrap();
    console.run(&mut fake);
    drop(console);
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 20);
    next.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap();
    next.ask(&mut fake, Command::Prewarm(PrewarmCommand::Cancel)).unwrap();
    next.run_for(&mut fake, 5);
    assert!(fake.warm_nodes().is_empty());
}

/// Found by the attack (seed 444008840).
#[test]
fn an_old_list_does_not_free_the_slot_of_a_pod_that_was_made_since() {
    let (mut fake, mut console) = warming();
    console.run_for(&mut fake, 5);
    let old = fake.warm.values().map(|warm| warm.pod.resource_version.parse::<u64>().unwrap()).min().unwrap() - 1;
    console.engine.observe(Event::Listing(Watched::WarmPods), fake.now);
    console.engine.observe(Event::Listed(Watched::WarmPods, Some(old)), fake.now);
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n1", "n2"]);
}

#[test]
fn an_image_that_nobody_gets_is_not_tried_on_every_node() {
    let (mut fake, mut console) = warming();
    for round in 0..10 {
        for node in fake.warm_nodes() {
            fake.warm_fails(&node, "failed to resolve reference \"agent:v2\": agent:v2: not found");
        }
        console.run_for(&mut fake, 10);
        assert!(fake.warm_nodes().len() <= 4, "{round}: {:?}", fake.warm_nodes());
    }
    let prewarm = console.snapshot(&fake).prewarm.unwrap();
    assert!(prewarm.is_done(), "{prewarm}");
    let said = prewarm.refused().unwrap().to_string();
    assert!(
        said.starts_with("image not found on 4 nodes, and no node got it: no more is tried; correct the image"),
        "{said}"
    );
    let waits = state(&mut console, &fake, "n9");
    assert!(matches!(waits, PrewarmState::Waiting(PrewarmWait::Unobtainable(_))), "{waits:?}");
    // Mended: those that failed are tried again, and the first that gets it lets the others go on.
    console.engine.command(Command::Prewarm(PrewarmCommand::Retry), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    for _ in 0..30 {
        for node in fake.warm_nodes() {
            fake.warm_arrives(&node);
        }
        console.run_for(&mut fake, 2);
    }
    assert_eq!(fake.warm_nodes().len(), 20);
}

/// Found by the attack (seed 1000260).
#[test]
fn a_deletion_that_is_refused_is_tried_again_after_a_while() {
    let (mut fake, mut console) = warming();
    fake.keeps_warm_pods = true;
    console.engine.command(Command::Prewarm(PrewarmCommand::Cancel), fake.now).unwrap();
    fake.sent.clear();
    console.run_for(&mut fake, 30);
    let tried = fake.sent.iter().filter(|sent| **sent == "DELETE pre-warm pods").count();
    assert!((10..=16).contains(&tried), "two pods for 30 s, every 5 s: {tried}");
    fake.keeps_warm_pods = false;
    console.run_for(&mut fake, 10);
    assert!(fake.warm_nodes().is_empty());
}

/// Once all nodes have the images nobody pulls any more: who pre-warmed holds the lease for nodes that may join, and is not said to pre-warm still.
#[test]
fn pre_warming_that_has_ended_is_told_as_the_past() {
    let (mut fake, mut console) = warming();
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    assert_eq!(console.snapshot(&fake).driving().to_string(), "you pre-warm, its controller drives");
    for _ in 0..40 {
        fake.warm_nodes().iter().for_each(|node| fake.warm_arrives(node));
        console.run_for(&mut fake, 1);
        eve.run(&mut fake);
    }
    let ended = console.snapshot(&fake);
    assert!(ended.has_prewarmed(), "{:?}", ended.prewarm);
    assert_eq!(ended.driving().to_string(), "you pre-warmed, its controller drives");
    let said = format!("{} pre-warmed, its controller drives", ended.identity);
    assert_eq!(eve.snapshot(&fake).driving().to_string(), said);
}
