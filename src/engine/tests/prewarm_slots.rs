//! Nodes that go away while they pull for pre-warming: who keeps the pull slot.

use super::prewarm::{state, warming};
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::facts::ContainerState;
use crate::engine::model::prewarm::{PrewarmState, PrewarmWait};
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
