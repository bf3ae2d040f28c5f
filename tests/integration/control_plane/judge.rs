//! The tests judge rolldeck's promises on real controllers, with twenty hollow nodes and a budget of two.
//!
//! ```text
//!   rolldeck drive ──┐                                 ┌── kubelets (hollow)
//!   rolldeck step ───┼──→ real API server, controllers ┤
//!   rolldeck pause ──┘                                 └── witness: every change of every pod, on a watch of its own
//! ```
//!
//! Each test runs the program with no more than an operator's rights, and asks the witness what happened.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::sim::world::scenario::FleetFault;
use rustix::process::Signal;
use serde_json::json;

use super::fixture::{BUDGET, DS, GOOD, MISSING, NODES, RolloutFixture, assert_within_budget, replaced, scenario};
use crate::support::control_plane::{PodState, eventually};
use crate::support::program::{Operator, text};

const V2: &str = "agent=registry.test/agent:v2";
/// How long the test watches for something that must not happen.
const QUIET: Duration = Duration::from_secs(3);
const SOON: Duration = Duration::from_secs(120);

/// Partition 20 → 18 → 10 → 0.
#[test]
fn each_step_updates_exactly_what_was_promised() {
    let Some((fixture, operator)) = fixture("judge-steps") else { return };
    let began = Instant::now();
    let mut driver = operator.drive(DS, &["--image", V2, "--partition", "20"]);
    // The driver has written its own partition by now, so it cannot overwrite the partition of the first `step`.
    driver.until("you drive it now");
    let mut before = fixture.witness.pods();
    for keep in [20, 18, 10, 0] {
        let step_began = Instant::now();
        operator.ok(&["step", DS, "--partition", &keep.to_string(), "--yes"]);
        fixture.until(&format!("{keep} nodes are left at v1, all serve"), |witness| {
            witness.serving(":v1").len() == keep && witness.serving(":v2").len() == NODES - keep
        });
        if keep > 0 {
            std::thread::sleep(QUIET / 3);
        }
        let after = fixture.witness.pods();
        let new: BTreeSet<&String> = after.values().filter(|pod| pod.image == GOOD[1]).map(|pod| &pod.node).collect();
        assert_eq!(new.len(), NODES - keep, "with partition {keep}");
        let replaced = replaced(&before, &after);
        let earlier = before.values().filter(|pod| pod.image == GOOD[1]).count();
        assert_eq!(replaced.len(), NODES - keep - earlier, "the step to {keep} replaced {replaced:?}");
        assert_eq!(fixture.witness.deletes_since(step_began).len(), replaced.len(), "each was deleted once");
        before = after;
    }
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_within_budget(&fixture, began);
    assert_eq!(fixture.witness.deletes_since(began).len(), NODES);
}

/// The operator sets a canary selector for three nodes, then none.
#[test]
fn a_canary_selector_keeps_all_others_as_they_are() {
    let Some((fixture, operator)) = fixture("judge-canary") else { return };
    let canaries: BTreeSet<String> = [3, 11, 17].into_iter().map(|nth| fixture.nodes[nth].clone()).collect();
    for node in &canaries {
        fixture.label(node, &json!({"canary": "true"}));
    }
    let (began, before) = (Instant::now(), fixture.witness.pods());
    let mut driver = operator.drive(DS, &["--image", V2, "--selector", "canary=true", "--to", "100%"]);
    fixture.until("the canaries serve v2", |witness| witness.serving(":v2") == canaries);
    std::thread::sleep(QUIET);
    let after = fixture.witness.pods();
    assert_eq!(replaced(&before, &after), canaries, "nobody but the canaries");
    assert_eq!(fixture.witness.deletes_since(began).len(), canaries.len());

    operator.ok(&["select", DS, "--clear"]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    assert_eq!(replaced(&after, &fixture.witness.pods()).len(), NODES - canaries.len(), "the canaries were left alone");
    assert_within_budget(&fixture, began);
}

/// A process that does not drive pauses the rollout in the middle.
#[test]
fn after_a_pause_nothing_is_deleted() {
    let Some((fixture, operator)) = fixture("judge-pause") else { return };
    let began = Instant::now();
    let mut driver = operator.drive(DS, &["--image", V2, "--to", "100%"]);
    fixture.until("four nodes serve v2", |witness| witness.serving(":v2").len() >= 4);
    operator.ok(&["pause", DS, "--reason", "the link is down"]);
    let paused = Instant::now();
    driver.until("the link is down");
    let noticed = Instant::now();
    std::thread::sleep(QUIET);
    assert_eq!(deleted_since(&fixture, noticed), 0, "paused means paused");
    assert!(deleted_since(&fixture, paused) <= BUDGET, "what was on its way when the pause was written, and no more");
    fixture.until("what was taken down is up again", |witness| witness.unavailable() == 0);
    let before = fixture.witness.pods();

    operator.ok(&["resume", DS, "--yes"]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    let old = before.values().filter(|pod| pod.image == GOOD[0]).count();
    assert_eq!(replaced(&before, &fixture.witness.pods()).len(), old);
    assert_within_budget(&fixture, began);
}

/// A pause as the emergency brake, on a DaemonSet that its own controller rolls out.
#[test]
fn a_pause_stops_the_native_controller_too() {
    let Some((fixture, operator)) = fixture("judge-brake") else { return };
    fixture.deploy(GOOD[1]);
    fixture.until("two nodes serve v2", |witness| witness.serving(":v2").len() >= 2);
    operator.ok(&["pause", DS, "--yes"]);
    eventually("the controller has seen the brake", SOON, || {
        let daemon_set = fixture.daemon_set();
        let braked = daemon_set["spec"]["updateStrategy"]["type"] == "OnDelete";
        (braked && daemon_set["status"]["observedGeneration"] == daemon_set["metadata"]["generation"]).then_some(())
    });
    let braked = Instant::now();
    std::thread::sleep(QUIET);
    assert_eq!(deleted_since(&fixture, braked), 0);
    assert!(fixture.witness.serving(":v2").len() < NODES, "it came too late to prove anything");
    fixture.until("all serve again", |witness| witness.unavailable() == 0);
}

/// The driver is killed (`kill -9`) in the middle of a rollout.
#[test]
fn a_killed_driver_deletes_nothing_more_and_the_next_one_finishes() {
    let Some((fixture, operator)) = fixture("judge-killed") else { return };
    let began = Instant::now();
    let mut driver = operator.drive(DS, &["--image", V2, "--to", "100%"]);
    fixture.until("four nodes serve v2", |witness| witness.serving(":v2").len() >= 4);
    driver.signal(Signal::KILL);
    driver.end();
    let killed = Instant::now();
    // The witness may see a deletion after the kill that the driver sent before it.
    fixture.until("all serve again", |witness| witness.unavailable() == 0);
    std::thread::sleep(QUIET);
    assert!(deleted_since(&fixture, killed) <= BUDGET, "only what was on its way");
    let settled = Instant::now();
    let before = fixture.witness.pods();
    std::thread::sleep(QUIET);
    assert_eq!(deleted_since(&fixture, settled), 0, "nobody drives, nobody deletes");
    assert!(before.values().any(|pod| pod.image == GOOD[0]), "it came too late to prove anything");

    let mut next = operator.drive(DS, &["--take-over"]);
    assert_eq!(next.end().code(), Some(0), "{}", next.seen());
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    let old = before.values().filter(|pod| pod.image == GOOD[0]).count();
    assert_eq!(replaced(&before, &fixture.witness.pods()).len(), old, "what was at v2 was left alone");
    assert_within_budget(&fixture, began);
}

/// An interrupted driver gives its Lease back, so the next driver need not wait until the Lease runs out.
#[test]
fn an_interrupted_driver_gives_the_lease_back() {
    let Some((fixture, operator)) = fixture("judge-interrupt") else { return };
    let began = Instant::now();
    let mut driver = operator.drive(DS, &["--image", V2, "--to", "100%"]);
    fixture.until("two nodes serve v2", |witness| witness.serving(":v2").len() >= 2);
    driver.signal(Signal::INT);
    assert_eq!(driver.end().code(), Some(130), "{}", driver.seen());
    let ended = Instant::now();
    std::thread::sleep(QUIET);
    assert_eq!(deleted_since(&fixture, ended), 0);
    assert_eq!(operator.status(DS).0["driver"]["state"], "nobody");
    let mut next = operator.drive(DS, &[]);
    assert_eq!(next.end().code(), Some(0), "{}", next.seen());
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    assert_within_budget(&fixture, began);
}

/// The operator rolls back in the middle of a rollout.
#[test]
fn a_roll_back_replaces_only_pods_that_left_the_old_revision() {
    let Some((fixture, operator)) = fixture("judge-undo") else { return };
    let (began, before) = (Instant::now(), fixture.witness.pods());
    let mut driver = operator.drive(DS, &["--image", V2, "--to", "50%"]);
    fixture.until("six nodes serve v2", |witness| witness.serving(":v2").len() >= 6);
    operator.ok(&["undo", DS, "--yes"]);
    assert_eq!(driver.end().code(), Some(4), "it was rolled back while it drove: {}", driver.seen());
    let after = fixture.witness.pods();
    assert_eq!(fixture.witness.serving(":v1").len(), NODES);
    let replaced = replaced(&before, &after);
    let left: BTreeSet<String> = fixture.witness.deletes_since(began).into_iter().map(|it| it.pod.node).collect();
    assert!((6..NODES).contains(&left.len()), "some left and some did not: {left:?}");
    assert_eq!(replaced, left, "who never left keeps their pod");
    let revision =
        |pods: &BTreeMap<String, PodState>| pods.values().map(|pod| pod.revision.clone()).collect::<BTreeSet<_>>();
    assert_eq!(revision(&after), revision(&before), "the old revision itself, not a copy");
    assert_within_budget(&fixture, began);
}

/// A release restores the update strategy, also where `maxUnavailable` is a percentage.
#[test]
fn release_restores_the_update_strategy_to_the_byte() {
    let mut percent = scenario(StrategyKind::RollingUpdate);
    percent.daemon_sets[0].max_unavailable = IntOrPercent::Percent(10);
    let Some(fixture) = RolloutFixture::with("judge-release", percent) else { return };
    let operator = fixture.operator();
    let strategy = || fixture.daemon_set()["spec"]["updateStrategy"].to_string();
    let before = strategy();
    assert_eq!(before, r#"{"rollingUpdate":{"maxSurge":0,"maxUnavailable":"10%"},"type":"RollingUpdate"}"#);

    let pods = fixture.witness.pods();
    operator.ok(&["adopt", DS]);
    let adopted = fixture.daemon_set();
    assert_eq!(adopted["spec"]["updateStrategy"]["type"], "OnDelete");
    assert_eq!(adopted["metadata"]["annotations"]["rolldeck.io/original-update-strategy"], before);
    operator.ok(&["release", DS]);
    let released = fixture.daemon_set();
    assert_eq!(released["spec"]["updateStrategy"].to_string(), before);
    assert!(released["metadata"]["annotations"]["rolldeck.io/original-update-strategy"].is_null());
    assert_eq!(replaced(&pods, &fixture.witness.pods()), BTreeSet::new(), "nothing moved");

    // At its end a rollout restores the update strategy by itself.
    let began = Instant::now();
    let mut driver = operator.drive(DS, &["--image", V2, "--to", "100%"]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(strategy(), before);
    let annotations = fixture.daemon_set()["metadata"]["annotations"].to_string();
    assert!(!annotations.contains("rolldeck.io"), "{annotations}");
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    assert_within_budget(&fixture, began);
}

/// An early release is refused without confirmation; with it the controller rolls out the rest.
#[test]
fn an_early_release_needs_confirmation() {
    let Some((fixture, operator)) = fixture("judge-early") else { return };
    operator.ok(&["set-image", DS, V2, "--yes"]);
    let refused = operator.run(&["release", DS]);
    assert_eq!(refused.status.code(), Some(6), "{}", text(&refused));
    assert_eq!(fixture.daemon_set()["spec"]["updateStrategy"]["type"], "OnDelete");
    assert_eq!(fixture.witness.serving(":v1").len(), NODES);
    operator.ok(&["release", DS, "--early", "--yes"]);
    fixture.until("the controller has rolled out the rest", |witness| witness.serving(":v2").len() == NODES);
}

/// A second driver is refused with the name of the first, and takes over when the operator asks for it.
#[test]
fn a_second_console_says_who_drives_and_takes_over() {
    let Some((fixture, operator)) = fixture("judge-second") else { return };
    let began = Instant::now();
    let mut first = operator.drive(DS, &["--image", V2, "--to", "6"]);
    fixture.until("six nodes serve v2", |witness| witness.serving(":v2").len() == 6);
    let status = operator.status(DS);
    // The state is "unconfirmed" until `status` has seen the other driver renew its Lease; that may happen while `status` lists.
    let state = status.0["driver"]["state"].as_str().unwrap_or_default();
    assert!(["unconfirmed", "other"].contains(&state), "{}", status.0["driver"]);
    let holder = status.0["driver"]["holder"].as_str().unwrap_or_default().to_owned();
    assert!(holder.starts_with("tester@"), "{holder}");
    let said = text(&operator.run(&["status", DS]));
    assert!(said.contains(" drives"), "{said}");

    let refused = operator.run(&["drive", DS]);
    assert_eq!(refused.status.code(), Some(7), "{}", text(&refused));
    assert!(text(&refused).contains(&holder), "{}", text(&refused));

    let mut second = operator.drive(DS, &["--take-over", "--to", "100%"]);
    assert_eq!(first.end().code(), Some(7), "{}", first.seen());
    assert_eq!(second.end().code(), Some(0), "{}", second.seen());
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    assert_eq!(fixture.witness.deletes_since(began).len(), NODES, "nothing was deleted twice");
    assert_within_budget(&fixture, began);
}

/// The founding story of this project: an image that cannot be pulled, and nodes that flap. With the native controller all twenty nodes go down (see
/// `hollow`). Here eighteen serve, and the nodes that flapped come back with the pods they had.
#[test]
fn flapping_nodes_and_an_image_that_cannot_be_pulled_take_nothing_more_down() {
    let Some((fixture, operator)) = fixture("judge-cascade") else { return };
    let before = fixture.witness.pods();
    let mut driver = operator.drive(DS, &["--image", &format!("agent={MISSING}"), "--to", "100%"]);
    fixture.until("the image is tried", |witness| witness.pods().values().any(|pod| pod.pull_failed));
    let flapping: Vec<String> = fixture.witness.serving(":v1").into_iter().take(12).collect();
    for nodes in flapping.chunks(6) {
        for node in nodes {
            fixture.hollow.fault(FleetFault::ProbesFail(node.as_str().into()));
        }
        fixture.until("they are not ready", |witness| nodes.iter().all(|node| !witness.serving(":v1").contains(node)));
        for node in nodes {
            fixture.hollow.fault(FleetFault::ProbesPass(node.as_str().into()));
        }
        fixture.until("they are ready again", |witness| nodes.iter().all(|node| witness.serving(":v1").contains(node)));
    }
    assert_eq!(driver.end().code(), Some(4), "it halts: {}", driver.seen());
    let after = fixture.witness.pods();
    let replaced = replaced(&before, &after);
    assert!((1..=BUDGET).contains(&replaced.len()), "replaced: {replaced:?}");
    assert!(flapping.iter().all(|node| !replaced.contains(node)), "a pod that merely flapped is not lost");
    assert_eq!(fixture.witness.unavailable(), replaced.len());

    // The roll back replaces only the pods that were updated.
    operator.ok(&["undo", DS, "--yes"]);
    let mut driver = operator.drive(DS, &[]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(fixture.witness.serving(":v1").len(), NODES);
}

/// A fixture, and an operator of its DaemonSet.
fn fixture(name: &str) -> Option<(RolloutFixture, Operator)> {
    let fixture = RolloutFixture::new(name)?;
    let operator = fixture.operator();
    Some((fixture, operator))
}

fn deleted_since(fixture: &RolloutFixture, from: Instant) -> usize {
    fixture.witness.deletes_since(from).len()
}
