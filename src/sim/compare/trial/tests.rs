//! Plays every method on a plant that is small enough for a unit test. `tests/attack/compare.rs` plays the factory.

use super::*;

const PLANT: &str = r#"
name = "plant"

[[sites]]
name = "hall"
link = "20Mbit/s"
floor-per-pull = "4Mbit/s"
nodes = [{ prefix = "ipc-a-", count = 4 }]

[[sites]]
name = "yard"
link = "10Mbit/s"
floor-per-pull = "4Mbit/s"
nodes = [{ prefix = "ipc-b-", count = 8 }]

[[images]]
name = "registry.example/agent:v1"
size = "20MB"

[[images]]
name = "registry.example/agent:v2"
size = "25MB"

[[daemonsets]]
namespace = "edge"
name = "agent"
images = { agent = "registry.example/agent:v1" }
max-unavailable = 2
tolerates = "everything"

[[faults]]
at = "10s"
do = "node-cut"
nodes = ["ipc-a-01"]
for = "1h"

[rollout]
daemonset = "edge/agent"
images = { agent = "registry.example/agent:v2" }
"#;

fn plant() -> Trial {
    Trial::new(&Scenario::parse("plant", PLANT).unwrap(), 1).unwrap()
}

#[test]
fn every_method_comes_to_its_end() {
    let trial = plant();
    let comparison = trial.compare(Method::ALL.map(|method| trial.run(method)).into()).unwrap();
    assert_eq!((comparison.nodes, comparison.bytes_per_node), (12, 25_000_000));
    // 8 nodes, 25 MB each, over 1.25 MB a second.
    assert_eq!(comparison.bound, Bound { site: "yard".into(), span: Duration::from_secs(160) });
    for run in &comparison.runs {
        let method = run.method;
        assert!(run.total.is_some_and(|total| total > comparison.bound.span), "{method}: {:?}", run.total);
        assert!(run.offline > Duration::ZERO && run.peak_offline > 0, "{method}: {run:?}");
    }
    let [native, _, by_hand, pulls_first, rolldeck, prewarmed, paced] = &*comparison.runs else {
        panic!("{comparison}")
    };
    assert_eq!((native.peak_offline, rolldeck.peak_offline), (2, 2), "both keep their budget where nothing goes wrong");
    assert!(by_hand.peak_offline >= 10, "a whole batch: {by_hand:?}");
    assert!(pulls_first.peak_pulls.values().all(|most| *most == 1), "one after the other: {pulls_first:?}");
    for run in [pulls_first, prewarmed, paced] {
        assert!(run.offline * 2 < native.offline, "nothing is pulled while a node is offline: {run:?}");
    }
    assert!(prewarmed.peak_offline <= 2 && prewarmed.peak_pulls.values().all(|most| *most <= 2), "{prewarmed:?}");
    // One pull fills these links: two at once were tried, and were no faster.
    assert!(paced.peak_offline <= 2 && paced.peak_pulls.values().all(|most| *most <= 2), "{paced:?}");
    assert!(prewarmed.total < pulls_first.total, "sites pull beside each other: {comparison}");
    assert!(by_hand.peak_pulls["yard"] > 2 && rolldeck.peak_pulls["yard"] <= 2, "{comparison}");
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let trial = plant();
    for method in [Method::RollingUpdate(IntOrPercent::Percent(10)), Method::Rolldeck] {
        assert_eq!(trial.run(method), trial.run(method));
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let mut scenario = Scenario::parse("plant", PLANT).unwrap();
    scenario.rollout.as_mut().unwrap().images = [("agent".into(), "registry.example/agent:v1".into())].into();
    let trial = Trial::new(&scenario, 1).unwrap();
    assert_eq!(trial.compare(Vec::new()), Err(NotComparable::NothingToPull));
    scenario.rollout = None;
    assert_eq!(Trial::new(&scenario, 1).map(drop), Err(NotComparable::NoRollout));
}
