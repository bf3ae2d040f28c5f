//! Since when a node pulls what is pre-warmed, told by clocks that differ.

use std::time::Duration;

use super::prewarm::{state, warming};
use crate::engine::model::event::Event;
use crate::engine::model::facts::ClusterEvent;
use crate::engine::model::prewarm::PrewarmState;

/// Since when n1 pulls, counted in milliseconds from the request, after its kubelet, whose clock is off by so much, has dated the beginning.
fn pulls_since(clock: Option<i64>, dated: i64) -> i64 {
    let (mut fake, mut console) = warming();
    let asked = console.snapshot(&fake).prewarm.unwrap().request.by.at;
    console.run_for(&mut fake, 10);
    fake.change_node("n1", |fact| fact.clock_skew_millis = clock);
    console.run_for(&mut fake, 1);
    let warm = fake.warm.values().find(|warm| warm.pod.node.as_deref() == Some("n1")).unwrap();
    let at = match u64::try_from(dated) {
        Ok(after) => asked + Duration::from_millis(after),
        Err(_) => asked - Duration::from_millis(dated.unsigned_abs()),
    };
    let event = ClusterEvent {
        version: Some(1),
        object: warm.pod.uid.clone(),
        node: Some("n1".into()),
        container: Some(warm.pod.containers[0].name.clone()),
        reason: "Pulling".into(),
        message: "Pulling image \"agent:v2\"".into(),
        at,
        count: 1,
        ..ClusterEvent::default()
    };
    console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
    console.run_for(&mut fake, 1);
    match state(&mut console, &fake, "n1") {
        PrewarmState::Pulling { since } => since.millis() - asked.millis(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pull_is_not_older_than_the_request_for_it() {
    assert_eq!(pulls_since(None, 1_000), 1_000);
    assert_eq!(pulls_since(None, -1_400), 0, "the times of the cluster are in whole seconds");
    assert_eq!(pulls_since(Some(-90_000), -89_000), 1_000, "its node's clock is slow");
    assert_eq!(pulls_since(None, -60_000), -60_000, "what was pulled before for another request is older");
}
