//! A kubelet does not take the new pod, and the controller makes another one each time: no serving pod is taken in between.

use super::*;
use crate::engine::model::facts::PodPhase;

fn reject(fake: &mut FakeCluster, node: &str) {
    fake.change_pod(node, |pod| {
        pod.phase = PodPhase::Failed;
        (pod.ready, pod.ready_since) = (false, None);
        pod.reason = Some("OutOfcpu".into());
        pod.message = Some("Pod was rejected: Node didn't have enough resource: cpu".into());
        pod.containers.clear();
    });
}

#[test]
fn nothing_is_taken_while_the_pod_of_a_kubelet_that_rejects_it_is_made_anew() {
    let mut fake = FakeCluster::rolling(12, 3);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 2);
    let first = fake.deleted.clone();
    assert_eq!(first.len(), 3);
    reject(&mut fake, &first[0]);
    fake.rejecting.insert(first[0].clone());
    console.run_for(&mut fake, 1);
    first[1..].iter().for_each(|node| fake.set_ready(node, true));
    let mut halted_after = None;
    for second in 1..60 {
        // The controller deletes the pod that has ended, which is seen to be going, and makes another one, which has no status yet for a moment.
        let now = fake.now;
        fake.change_pod(&first[0], |pod| (pod.deletion_at, pod.deletion_grace_secs) = (Some(now), Some(0)));
        console.run(&mut fake);
        assert_eq!(fake.deleted.len(), 3, "after {second} s, while it goes");
        fake.remove_pod(&first[0]);
        console.run(&mut fake);
        fake.kubelets();
        console.run(&mut fake);
        reject(&mut fake, &first[0]);
        console.run_for(&mut fake, 1);
        if console.snapshot(&fake).halt.is_some() {
            halted_after.get_or_insert(second);
        }
        assert_eq!(fake.deleted.len(), 3, "after {second} s: {:?}", console.snapshot(&fake).nodes);
    }
    assert!(
        halted_after.is_some_and(|after| after <= 22),
        "the trouble is as old as the first rejection: {halted_after:?}"
    );
}

/// A kubelet that takes the pod at last ends the trouble.
#[test]
fn a_pod_that_is_taken_up_at_last_lets_the_others_go() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 2);
    let first = fake.deleted[0].clone();
    assert_eq!(console.snapshot(&fake).budget.slots_in_words(), "0 of 2", "both have the image");
    reject(&mut fake, &first);
    console.run_for(&mut fake, 5);
    assert_eq!(console.snapshot(&fake).budget.slots_in_words(), "1 of 2 (1 waits for its next pod)");
    fake.slow = false;
    fake.set_ready(&fake.deleted[1].clone(), true);
    fake.remove_pod(&first);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 6, "{:?}", console.snapshot(&fake).alarms);
}
