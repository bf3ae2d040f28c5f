//! Pull slots of pre-warming: who keeps one while nodes go away, and while nobody drives.

use super::prewarm::{image, start, state, warming};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind};
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::facts::ContainerState;
use crate::engine::model::prewarm::{PrewarmNodes, PrewarmState, PrewarmWait};
use crate::engine::model::template::TaintEffect;

/// A machine that is switched off while it pulls gives its place to another one, though not at once: a node that pulls may be NotReady because of that.
#[test]
fn a_node_that_stays_down_does_not_keep_its_pull_slot() {
    let (mut fake, mut console) = warming();
    fake.warm_pulls("n1");
    fake.warm_pulls("n2");
    fake.set_node_ready("n1", false);
    console.run_for(&mut fake, 300);
    assert_eq!(fake.warm_nodes(), ["n1", "n2"]);
    console.run_for(&mut fake, 310);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"]);
    assert_eq!(state(&mut console, &fake, "n1"), PrewarmState::Waiting(PrewarmWait::NodeDown));

    fake.set_node_ready("n1", true);
    console.run_for(&mut fake, 10);
    fake.warm_arrives("n2");
    console.run_for(&mut fake, 10);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"], "it pulls again: two of two");
}

/// A kubelet does not break off the pull of a pod that is being deleted.
#[test]
fn a_pod_that_is_deleted_keeps_its_pull_slot_until_its_kubelet_has_ended_it() {
    let (mut fake, mut console) = warming();
    fake.hung = true;
    fake.warm_pulls("n2");
    let uid = fake.warm_on("n1");
    fake.warm_fails("n1", "dial tcp 10.0.0.1:443: i/o timeout");
    console.run_for(&mut fake, 60);
    assert!(fake.warm[&uid].pod.deletion_at.is_some());
    assert_eq!((fake.warm_nodes(), fake.warm_made), (vec!["n1".into(), "n2".into()], 2), "it may still be pulling");
    let PrewarmState::Waiting(wait) = state(&mut console, &fake, "n1") else { panic!() };
    assert_eq!(wait.to_string(), "its last pod is deleted and has not ended yet");
    fake.take_warm_pod(&uid);
    console.run_for(&mut fake, 2);
    assert_eq!(fake.warm_nodes(), ["n2", "n3"]);
}

/// Nothing pulls for these pods, so that their ends wait for no kubelet.
#[test]
fn what_is_cancelled_ends_also_while_kubelets_do_not_end_pods() {
    let (mut fake, mut console) = warming();
    fake.hung = true;
    fake.warm_arrives("n2");
    fake.set_node_ready("n1", false);
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::Prewarm(PrewarmCommand::Cancel)).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n1", "n3"], "of n2 the image is there; n1 and n3 may pull");
    let uid = fake.warm_on("n3");
    fake.take_warm_pod(&uid);
    console.run_for(&mut fake, 500);
    assert_eq!(fake.warm_nodes(), ["n1"], "a node that is down may pull for a while");
    console.run_for(&mut fake, 120);
    assert!(fake.warm_nodes().is_empty());
    assert!(console.snapshot(&fake).prewarm.is_none(), "nothing is left to do");
}

#[test]
fn a_pod_that_only_a_finalizer_keeps_does_not_keep_its_pull_slot() {
    // Its kubelet has told how its containers ended, or nothing tells of them.
    for (told, after) in [(true, 5), (false, 610)] {
        let (mut fake, mut console) = warming();
        fake.hung = true;
        fake.warm_pulls("n2");
        fake.warm_fails("n1", "dial tcp 10.0.0.1:443: i/o timeout");
        console.run_for(&mut fake, 40);
        assert_eq!(fake.warm_nodes(), ["n1", "n2"]);
        fake.change_warm_pod("n1", |pod| {
            pod.finalizers = ["example.com/audit".into()].into();
            pod.deletion_grace_secs = Some(0);
            if told {
                let reason = "ContainerStatusUnknown".into();
                pod.containers[0].state = ContainerState::Terminated { reason, exit_code: 137, message: None };
            }
        });
        console.run_for(&mut fake, after);
        assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"], "{told}");
        let PrewarmState::Waiting(wait) = state(&mut console, &fake, "n1") else { panic!() };
        assert_eq!(wait.to_string(), "its last pod has ended and is kept by finalizer example.com/audit");
    }
}

/// Its kubelet does not break off the pull, and it is on the same link.
#[test]
fn a_node_that_leaves_the_fleet_while_it_pulls_keeps_its_pull_slot() {
    let (mut fake, mut console) = warming();
    let now = fake.now;
    fake.set_taints("n1", &[("dedicated", "", TaintEffect::NoExecute)]);
    fake.remove_pod("n1");
    fake.change_warm_pod("n1", |pod| pod.deletion_at = Some(now));
    console.run_for(&mut fake, 60);
    assert_eq!(fake.warm_nodes(), ["n1", "n2"]);
}

/// The answers to two creations are lost with the connection. The watch goes on where it stood, and tells a moment later what it missed.
#[test]
fn creations_whose_answers_were_lost_keep_their_slots_until_the_watch_has_caught_up() {
    for away in [70, 700] {
        let mut fake = FakeCluster::rolling(20, 1);
        fake.holds_images = false;
        let mut console = FakeConsole::open(&fake, "ops");
        console.engine.command(start(image("v2"), PrewarmNodes::All, 2), fake.now).unwrap();
        console.mute(Watched::WarmPods);
        console.lose_creations = true;
        console.run(&mut fake);
        assert_eq!(fake.warm_made, 2);
        console.lose_creations = false;
        let down = WatchHealth::Down { since: fake.now, why: "connection refused".into() };
        console.engine.observe(Event::Watch(Watched::WarmPods, down), fake.now);
        console.run_for(&mut fake, away);
        console.engine.observe(Event::Watch(Watched::WarmPods, WatchHealth::Live), fake.now);
        console.run(&mut fake);
        fake.wait(1);
        console.run(&mut fake);
        console.unmute(&fake, Watched::WarmPods);
        console.run_for(&mut fake, 70);
        assert_eq!((fake.warm_nodes(), fake.warm_made), (vec!["n1".into(), "n2".into()], 2), "{away}");
    }
}

/// None of the two has arrived.
#[test]
fn creations_that_did_not_arrive_are_sent_again() {
    let mut fake = FakeCluster::rolling(20, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(image("v2"), PrewarmNodes::All, 2), fake.now).unwrap();
    console.engine.observe(Event::Heard(Watched::WarmPods, None), fake.now);
    let sent = fake.now;
    console.hear(&fake);
    while fake.warm_made == 0 && fake.now.since(sent).as_secs() < 5 {
        let effects = console.engine.decide(fake.now);
        for (id, effect) in effects {
            let lost = matches!(effect, Effect::CreateWarmPod { .. });
            let error = EffectError { kind: EffectErrorKind::Unknown, message: "no answer".into(), dry_run: false };
            let outcome = if lost { Err(error) } else { fake.apply(effect) };
            console.engine.outcome(id, outcome, fake.now);
        }
        console.hear(&fake);
        fake.wait(1);
    }
    console.run_for(&mut fake, 62);
    assert_eq!(
        fake.warm_made, 0,
        "an API server that stood still may make them yet, and the watch was not heard since"
    );
    console.engine.observe(Event::Heard(Watched::WarmPods, None), fake.now);
    console.run_for(&mut fake, 3);
    assert_eq!(fake.warm_made, 2);
}

/// A kubelet pulls one image after the other. A node that is being updated would be down for longer by it.
#[test]
fn another_image_comes_last_to_nodes_that_are_being_updated() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 3);
    assert_eq!(fake.deleted.iter().map(|node| &**node).collect::<Vec<_>>(), ["n1"]);
    fake.change_pod("n1", |pod| pod.containers[0].image_present = true);
    console.ask(&mut fake, start(image("v3"), PrewarmNodes::All, 3)).unwrap();
    console.run_for(&mut fake, 1);
    let mut begun = fake.warm_nodes();
    assert_eq!(begun, ["n2", "n3", "n4"]);
    for _ in 0..6 {
        fake.warm_nodes().iter().for_each(|node| fake.warm_arrives(node));
        console.run_for(&mut fake, 1);
        begun.extend(fake.warm_nodes());
    }
    assert!(begun.contains(&"n1".to_owned()), "it is brought there, too: {begun:?}");
}

/// Nodes that are next take no slot before somebody makes their pods.
#[test]
fn pull_slots_are_those_of_nodes_that_pull_while_nobody_drives() {
    let (mut fake, _killed) = warming();
    ["n1", "n2"].into_iter().for_each(|node| fake.warm_arrives(node));
    let mut onlooker = FakeConsole::open(&fake, "bob");
    let prewarm = onlooker.snapshot(&fake).prewarm.unwrap();
    assert_eq!(prewarm.to_string(), "pre-warming: 2 of 20 present, 18 waiting; pull slots 0 of 2");
    fake.wait(60);
    let snapshot = onlooker.snapshot(&fake);
    assert!(snapshot.driving().to_string().starts_with("its controller drives: ops@"), "{}", snapshot.driving());
}
