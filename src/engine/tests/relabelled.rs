//! Pods that get the label of another revision without being made anew (docs/kubernetes.md, *ControllerRevisions*).

use super::*;

/// The controller finds two revisions of equal content in the middle of a rollout, and labels every pod with the hash of the one that it keeps. What runs on the
/// nodes that were not updated is the old image all the same: they are updated, and the rollout is not complete before.
#[test]
fn a_pod_that_is_labelled_anew_is_not_taken_for_updated() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 30);
    assert_eq!((fake.at("hash2"), fake.deleted.len()), (2, 2));
    for node in ["n3", "n4", "n5", "n6"] {
        fake.change_pod(node, |pod| pod.revision = Some("hash2".into()));
    }
    console.run_for(&mut fake, 10);
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.phase, snapshot.counts.updated), (&Phase::Held, 2));
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    assert_eq!((fake.deleted.len(), console.snapshot(&fake).started_at), (6, None), "each of them was updated");
}

/// The label of a pod names an equal revision by another hash: nothing is replaced for that.
#[test]
fn a_pod_that_is_labelled_with_an_equal_revision_stays_updated() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut equal = fake.revisions[0].clone();
    (equal.name, equal.hash, equal.number) = ("hash9".into(), "hash9".into(), equal.number + 1);
    console.engine.observe(Event::Revision(Box::new(equal)), fake.now);
    for node in ["n1", "n2", "n3", "n4"] {
        fake.change_pod(node, |pod| pod.revision = Some("hash9".into()));
    }
    console.run_for(&mut fake, 5);
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.nodes.iter().all(|node| node.revision_hash().is_some_and(|hash| &**hash == "hash9")));
}
