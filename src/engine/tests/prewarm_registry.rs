//! Pre-warming from a registry that limits pulls, or that has no such image.

use std::time::Duration;

use super::prewarm::{state, warming};
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::prewarm::{PrewarmState, PrewarmWait};

const TOO_MANY_PULLS: &str =
    "429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit";

#[test]
fn a_registry_that_limits_pulls_is_asked_by_one_node_at_a_time_and_ever_more_seldom() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", TOO_MANY_PULLS);
    console.run_for(&mut fake, 1);
    fake.warm_fails("n2", TOO_MANY_PULLS);
    console.run_for(&mut fake, 25);
    assert!(fake.warm_nodes().is_empty(), "another would be refused as well: {:?}", fake.warm_nodes());
    let met = |again_at| PrewarmState::Waiting(PrewarmWait::RateLimited { node: "n1".into(), again_at });
    let PrewarmState::Waiting(PrewarmWait::RateLimited { again_at: Some(again), .. }) =
        state(&mut console, &fake, "n3")
    else {
        panic!("{:?}", state(&mut console, &fake, "n3"))
    };
    assert_eq!(state(&mut console, &fake, "n3"), met(Some(again)));
    assert!(again.since(fake.now) <= Duration::from_secs(5), "30 s after the refusal: {again:?}");
    console.run_for(&mut fake, 10);
    assert_eq!(fake.warm_nodes(), ["n3"], "one tries");
    assert_eq!(state(&mut console, &fake, "n4"), met(None));
    fake.warm_fails("n3", TOO_MANY_PULLS);
    console.run_for(&mut fake, 50);
    assert!(fake.warm_nodes().is_empty(), "{:?}", fake.warm_nodes());
    console.run_for(&mut fake, 15);
    assert_eq!(fake.warm_nodes(), ["n4"], "after twice as long");
    fake.warm_arrives("n4");
    console.run_for(&mut fake, 2);
    assert_eq!(fake.warm_nodes().len(), 3, "it serves again: two pull, as before");
}

#[test]
fn a_network_that_fails_is_not_taken_for_a_limit_of_the_registry() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", "dial tcp 10.0.0.1:443: i/o timeout");
    console.run_for(&mut fake, 2);
    assert_eq!(fake.warm_nodes(), ["n2", "n3"]);
}

#[test]
fn an_operator_who_asks_again_is_not_kept_waiting_by_the_limit_of_the_registry() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", TOO_MANY_PULLS);
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n2"]);
    console.engine.command(Command::Prewarm(PrewarmCommand::Retry), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes().len(), 2);
}

#[test]
fn a_verdict_of_the_registry_takes_no_slot_and_stays_until_somebody_says_again() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", "failed to resolve reference \"agent:v2\": agent:v2: not found");
    console.run_for(&mut fake, 300);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"], "its pod says why");
    let PrewarmState::Failed { again_at: None, .. } = state(&mut console, &fake, "n1") else { panic!() };
    let made = fake.warm_made;
    console.engine.command(Command::Prewarm(PrewarmCommand::Retry), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n2", "n3"], "it takes a slot again, so it waits for one");
    fake.warm_arrives("n2");
    console.run_for(&mut fake, 5);
    assert_eq!((fake.warm_nodes(), fake.warm_made), (vec!["n1".into(), "n2".into(), "n3".into()], made + 1));
}
