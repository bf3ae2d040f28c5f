//! What becomes of a record while a rollout is driven.

use super::*;
use crate::engine::model::record::Record;

/// The record as it stands on the Lease.
fn saved(fake: &FakeCluster) -> Record {
    fake.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()).unwrap()
}

#[test]
fn a_rollout_driven_by_an_older_rolldeck_keeps_what_a_newer_one_wrote() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut newer = FakeConsole::open(&fake, "newer");
    newer.set_image(&mut fake, "agent:v2");
    let mut record = serde_json::to_value(saved(&fake)).unwrap();
    record["intent"]["quorum"] = 2.into();
    record["progress"]["sites"] = json!({"north": {"since": 5}});
    let lease = fake.lease.as_mut().unwrap();
    lease.record = Ok(Some(Record::parse(&record.to_string()).unwrap()));
    let mut older = FakeConsole::open(&fake, "older");
    drop(newer);
    fake.wait(20);
    older.partition(&mut fake, 3);
    older.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 3, "it was driven by the older one");
    let now = serde_json::to_value(saved(&fake)).unwrap();
    assert_eq!(now["intent"]["quorum"], 2);
    assert_eq!(now["progress"]["sites"], json!({"north": {"since": 5}}));
}
