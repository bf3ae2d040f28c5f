//! An operator's own plan, by which images are brought one step ahead: set by the command line, on real controllers.

use std::time::Instant;

use super::*;

#[test]
fn a_plan_brings_images_one_step_ahead_and_a_node_is_down_for_a_restart_only() {
    let Some(fixture) = RolloutFixture::with("prewarm-plan", with_images_to_wait_for()) else { return };
    let operator = fixture.operator();
    let warm = witness_of_warm_pods(&fixture);
    let began = Instant::now();
    let image = format!("agent={FULL}");
    let plan = ["--steps", "3,50%,100%", "--prewarm", "step", "--max-pulling", "3", "--require-image"];
    operator.ok(&[&["set-image", DS, &image, "--yes"], &plan[..]].concat());
    let status = operator.ok_or_not(&["status", DS]);
    assert!(status.contains("images are pre-warmed one step ahead"), "{status}");

    let driver = DriverHere::of(&operator, &fixture);
    driver.drive_on();
    warm.until("the nodes of the first step have the image", SOON, |warm| warm.pulled().len() == 3);
    let first = warm.pulled();
    assert!(fixture.witness.deletes_since(began).is_empty(), "no step was taken yet");

    operator.ok(&["step", DS, "--yes"]);
    fixture.until("the first step is done", |witness| witness.serving(":full").len() == 3);
    let updated = fixture.witness.serving(":full");
    assert_eq!(updated, first, "those that had it went");
    warm.until("the nodes of the second step have the image", SOON, |warm| warm.pulled().len() == NODES / 2 - 3);
    let second = warm.pulled();
    println!("{} and {} nodes got the image ahead of their steps; {:.1?}", first.len(), second.len(), began.elapsed());
    assert_eq!(fixture.witness.serving(":full").len(), 3, "and none of them was updated");

    operator.ok(&["step", DS, "--yes"]);
    fixture.until("the second step is done", |witness| witness.serving(":full").len() == NODES / 2);
    let updated = fixture.witness.serving(":full");
    assert_eq!(updated, first.union(&second).cloned().collect::<std::collections::BTreeSet<_>>());

    operator.ok(&["step", DS, "--yes"]);
    fixture.until("all are updated", |witness| witness.serving(":full").len() == NODES);
    assert!(fixture.witness.worst_since(began) <= BUDGET);
    assert!(warm.most_pulling() <= LIMIT, "{}", warm.most_pulling());
    driver.until("it is released", |snapshot| !snapshot.adopted && snapshot.prewarm.is_none());
    driver.close();
    eventually("nothing of pre-warming is left", SOON, || (!fixture.sandbox.pods().iter().any(is_warm)).then_some(()));
    println!("rolled out by three steps in {:.1?}", began.elapsed());
}
