//! Nodes that go away while they pull for pre-warming: who keeps the pull slot.

use super::prewarm::{state, warming};
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
