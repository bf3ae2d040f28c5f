//! Nodes whose clocks are wrong, under Kubernetes' own controllers.
//!
//! The DaemonSet controller compares its clock with the time at which a pod became Ready by its kubelet's clock. So a node whose clock is ahead holds
//! up every rolling update with `minReadySeconds`, and a node whose clock is behind is counted too soon.

use std::time::{Duration, Instant};

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::sim::world::scenario::FleetFault;
use serde_json::Value;

use super::fixture::{DS, GOOD, RolloutFixture, SOON, scenario};
use crate::support::control_plane::eventually;
use crate::support::program::Operator;

/// The error of the clocks of two nodes.
const OFF: Duration = Duration::from_secs(40);
const MIN_READY: u32 = 12;
const FEW: usize = 6;

/// In a distribution that is one program, such as k3s, no entry of `managedFields` is known to be the kubelet's, so that no look measures a node's clock. The API
/// server's own time of the last write of a pod's status tells at least since when the pod is ready.
#[test]
fn a_look_after_the_end_sees_it_complete_though_no_clock_can_be_measured() {
    let mut few = scenario(StrategyKind::RollingUpdate);
    few.nodes.truncate(FEW);
    let Some(fixture) = RolloutFixture::of_kubelets_named("k3s", "one-program", few) else { return };
    let operator = fixture.operator();
    let image = format!("agent={}", GOOD[1]);
    let mut drive = operator.drive(DS, &["--image", &image, "--to", "100%", "--max-unavailable", "3", "--keep"]);
    assert_eq!(drive.end().code(), Some(0), "{}", drive.seen());
    let ended = Instant::now();
    let status = operator.until_status(DS, "it is complete", SOON, |status| status["phase"] == "complete");
    // A heartbeat that comes during the look measures the clock of its node after all.
    let unmeasured = fixture.nodes.iter().filter(|name| node(&status, name)["clockSkewMillis"].is_null()).count();
    println!(
        "complete in one look {:.1?} after its driver said so, {unmeasured} of {FEW} clocks not measured",
        ended.elapsed()
    );
}

#[test]
fn a_clock_that_is_ahead_holds_up_the_controller_and_not_rolldeck() {
    let mut few = scenario(StrategyKind::RollingUpdate);
    few.nodes.truncate(FEW);
    few.daemon_sets[0].min_ready_secs = MIN_READY;
    few.daemon_sets[0].max_unavailable = IntOrPercent::Percent(100);
    let Some(fixture) = RolloutFixture::with("clocks", few) else { return };
    let operator = fixture.operator();
    let (ahead, behind) = (fixture.nodes[0].clone(), fixture.nodes[1].clone());
    set_clock(&fixture, &ahead, 1);
    set_clock(&fixture, &behind, -1);

    // A new console measures the clocks from the heartbeats in `managedFields`.
    let set_at = Instant::now();
    let measured = eventually("both clocks are measured", SOON, || {
        let status = operator.status(DS).0;
        let of = |name: &str| node(&status, name)["clockSkewMillis"].as_i64();
        let (fast, slow) = (of(&ahead)?, of(&behind)?);
        (fast > 30_000 && slow < -30_000).then_some((fast, slow))
    });
    println!("clocks {OFF:?} ahead and behind are measured as {measured:?} ms, {:.1?} after", set_at.elapsed());
    for (millis, want) in [(measured.0, 40_000), (measured.1, -40_000)] {
        assert!((millis - want).abs() <= 2_000, "{measured:?}");
    }
    let status = operator.status(DS).0;
    println!("clocks: {}", status["clocks"]);
    assert!(status["clocks"]["nodesOff"].as_u64() >= Some(2), "{}", status["clocks"]);
    let others = |name: &String| *name != ahead && *name != behind;
    // On a busy machine a heartbeat may wait, which makes its node's clock look behind by that time.
    let right =
        |name: &String| node(&status, name)["clockSkewMillis"].as_i64().is_some_and(|millis| millis.abs() < 8_000);
    assert!(fixture.nodes.iter().filter(|name| others(name)).all(right), "{}", status["nodes"]);

    fixture.deploy(GOOD[1]);
    fixture.until("all nodes serve v2", |witness| witness.serving(":v2").len() == FEW);
    let ready = Instant::now();
    let state = |operator: &Operator, name: &str| {
        let status = operator.status(DS).0;
        (node(&status, name)["state"].clone(), node(&status, name)["why"].to_string(), status["counts"].clone())
    };
    // By its node's clock this pod has been ready for 40 s; in truth it has just become ready.
    let (early, _, counts) = state(&operator, &behind);
    assert!(ready.elapsed() < Duration::from_secs(8), "too slow to tell: {:?}", ready.elapsed());
    assert_eq!(early, "soaking", "{counts}");

    let counted = |count: usize| (available(&fixture.daemon_set()) == count).then(Instant::now);
    let all_but_one = eventually("the controller counts all but one", SOON, || counted(FEW - 1));
    std::thread::sleep(Duration::from_secs(u64::from(MIN_READY)).saturating_sub(ready.elapsed()));
    let (late, why, counts) = eventually("rolldeck counts all", SOON, || {
        let output = state(&operator, &ahead);
        (output.2["available"] == FEW).then_some(output)
    });
    let ours = ready.elapsed();
    assert_eq!(available(&fixture.daemon_set()), FEW - 1, "the controller waits for a clock");
    assert_eq!((late, &counts["updated"]), (Value::from("updated"), &Value::from(FEW)));
    assert!(why.contains("s ahead: its controller counts it unavailable for"), "{why}");
    let text = operator.ok(&["status", DS]);
    assert!(text.contains("its controller counts 1 available pod as unavailable"), "{text}");
    let all = eventually("the controller counts it too", SOON, || counted(FEW));
    println!(
        "with minReadySeconds {MIN_READY}: rolldeck counted all {FEW} after {ours:.1?}; the controller all but {ahead} \
         after {:.1?}, and {ahead} after {:.1?}",
        all_but_one - ready,
        all - ready
    );
    let waited = all - ready;
    let least = OFF + Duration::from_secs(u64::from(MIN_READY)) - Duration::from_secs(4);
    assert!(waited >= least, "it was counted after {waited:?}");
}

fn set_clock(fixture: &RolloutFixture, node: &str, sign: i64) {
    let offset_millis = sign * i64::try_from(OFF.as_millis()).unwrap();
    fixture.hollow.fault(FleetFault::Clock { node: node.into(), offset_millis });
}

fn node<'a>(status: &'a Value, name: &str) -> &'a Value {
    let nodes = status["nodes"].as_array().expect("nodes are listed");
    nodes.iter().find(|node| node["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

fn available(daemon_set: &Value) -> usize {
    daemon_set["status"]["numberAvailable"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default()
}
