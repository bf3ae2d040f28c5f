//! What becomes of a record while a rollout is driven.

use super::*;
use crate::engine::record::Record;

/// The record as it stands on the Lease.
fn saved(lab: &Lab) -> Record {
    lab.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()).unwrap()
}

#[test]
fn a_rollout_driven_by_an_older_rolldeck_keeps_what_a_newer_one_wrote() {
    let mut lab = Lab::rolling(6, 1);
    let mut newer = Console::open(&lab, "newer");
    newer.set_image(&mut lab, "agent:v2");
    let mut record = serde_json::to_value(saved(&lab)).unwrap();
    record["intent"]["quorum"] = 2.into();
    record["progress"]["sites"] = json!({"north": {"since": 5}});
    let lease = lab.lease.as_mut().unwrap();
    lease.record = Ok(Some(Record::parse(&record.to_string()).unwrap()));
    let mut older = Console::open(&lab, "older");
    drop(newer);
    lab.wait(20);
    older.partition(&mut lab, 3);
    older.run_for(&mut lab, 30);
    assert_eq!(lab.at("hash2"), 3, "it was driven by the older one");
    let now = serde_json::to_value(saved(&lab)).unwrap();
    assert_eq!(now["intent"]["quorum"], 2);
    assert_eq!(now["progress"]["sites"], json!({"north": {"since": 5}}));
}
