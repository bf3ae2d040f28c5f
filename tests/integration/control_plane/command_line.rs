//! The command line as a script uses it on real controllers: one process for each step, and users without the rights.

use std::time::Instant;

use super::fixture::{DS, GOOD, NODES, READS, RolloutFixture, assert_within_budget, replaced};
use crate::support::control_plane::{Grant, daemon_set, sandbox};
use crate::support::program::{Operator, text};

#[test]
fn a_driver_for_each_step_updates_exactly_what_was_promised() {
    let Some(fixture) = RolloutFixture::new("script-steps") else { return };
    let operator = fixture.operator();
    let began = Instant::now();
    operator.ok(&["set-image", DS, &format!("agent={}", GOOD[1]), "--yes"]);
    let mut before = fixture.witness.pods();
    for (keep, until) in [(18, "held"), (10, "held"), (0, "complete")] {
        operator.ok(&["drive", DS, "--partition", &keep.to_string(), "--until", until, "--timeout", "120s"]);
        fixture.until(&format!("{keep} nodes are left at v1, all serve"), |witness| {
            witness.serving(":v1").len() == keep && witness.serving(":v2").len() == NODES - keep
        });
        let after = fixture.witness.pods();
        let earlier = before.values().filter(|pod| pod.image == GOOD[1]).count();
        assert_eq!(replaced(&before, &after).len(), NODES - keep - earlier, "nothing but the step was touched");
        before = after;
    }
    assert_within_budget(&fixture, began);
    assert_eq!(fixture.witness.deletes_since(began).len(), NODES);
}

#[test]
fn missing_rights_are_named() {
    let Some(sandbox) = sandbox("rights") else { return };
    sandbox.nodes(1);
    sandbox.create_daemon_set(daemon_set("agent", GOOD[0]));
    let reader = sandbox.user("restricted", &[Grant::within(sandbox.namespace(), "get,list,watch", READS)]);
    let operator = Operator::new(reader.kubeconfig(), sandbox.namespace());
    let output = operator.run(&["pause", DS]);
    assert_eq!(output.status.code(), Some(6), "{}", text(&output));
    assert!(text(&output).contains("not permitted: `patch` on daemonsets.apps"), "{}", text(&output));
    let output = text(&operator.run(&["status", DS]));
    assert!(output.contains("nodes n/a (forbidden)"), "{output}");
    assert!(!output.contains("panicked"), "{output}");

    let stranger = Operator::new(sandbox.stranger().kubeconfig(), sandbox.namespace());
    let output = stranger.run(&["status", DS]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("credentials"), "{}", text(&output));
}
