//! Containers that crash some seconds after their start. Without a readiness probe they are ready until then.

use std::time::{Duration, Instant};

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::sim::world::scenario::RegistryImage;

use super::fixture::{BUDGET, DS, RolloutFixture, SPEED, grants, quick, scenario};
use crate::support::program::Operator;

const CRASHING: &str = "registry.test/agent:crashing";

/// The default soak time keeps the budget: a node whose pod is ready for three seconds does not let the next one go.
#[test]
fn what_crashes_seconds_after_its_start_takes_down_no_more_than_the_budget() {
    let crashes_after = Some(Duration::from_secs(3).mul_f64(SPEED));
    let crashing = RegistryImage { crashes_after, ..quick(CRASHING) };
    let Some(fixture) = RolloutFixture::with("soaking", scenario(StrategyKind::RollingUpdate).with_image(crashing))
    else {
        return;
    };
    let sandbox = &fixture.sandbox;
    let user = sandbox.user("alice", &grants(sandbox.namespace()));
    let operator = Operator::without_config(user.kubeconfig(), sandbox.namespace());
    let begun = Instant::now();
    let mut driver = operator.drive(DS, &["--image", &format!("agent={CRASHING}"), "--to", "100%"]);
    assert_eq!(driver.end().code(), Some(4), "it halts: {}", driver.seen());
    let worst = fixture.witness.worst_since(begun);
    assert!((1..=BUDGET).contains(&worst), "{worst} of {BUDGET} were down: {}", driver.seen());
    let failed = operator.status(DS).nodes(|node| node["state"] == "failed");
    assert!((1..=BUDGET).contains(&failed.len()), "{failed:?}");
}
