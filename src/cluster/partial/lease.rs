//! The Lease that carries a rollout's lock and record.

use serde_json::{Map, Value, json};

use super::{count_of, instant_of, name_of, str_of};
use crate::cluster::clip::{MESSAGE, clip};
use crate::engine::model::effect::LeaseWrite;
use crate::engine::model::facts::LeaseFact;
use crate::engine::model::failing_nodes::{FAILING, failing_text, parse_failing};
use crate::engine::model::pace::{PACE, pace_text, parse_pace};
use crate::engine::model::prewarm::{PREWARM, Prewarm};
use crate::engine::model::record::{MANAGED_BY, RECORD, Record};
use crate::engine::model::time::Timestamp;

/// The fact in a Lease.
pub(crate) fn lease_fact(object: &Value) -> LeaseFact {
    let (metadata, spec) = (&object["metadata"], &object["spec"]);
    let record = metadata["annotations"][RECORD].as_str().filter(|text| !text.is_empty());
    let prewarm = metadata["annotations"][PREWARM].as_str().filter(|text| !text.is_empty());
    LeaseFact {
        uid: str_of(&metadata["uid"]).unwrap_or_default(),
        resource_version: str_of(&metadata["resourceVersion"]).unwrap_or_default(),
        holder: name_of(&spec["holderIdentity"]),
        duration_secs: count_of(&spec["leaseDurationSeconds"]),
        acquired_at: instant_of(&spec["acquireTime"]),
        renewed_at: instant_of(&spec["renewTime"]),
        transitions: count_of(&spec["leaseTransitions"]),
        record: record.map(Record::parse).transpose().map_err(|why| clip(&why, MESSAGE).into()),
        prewarm: prewarm.map(Prewarm::parse).transpose().map_err(|why| clip(&why, MESSAGE).into()),
        pace: parse_pace(metadata["annotations"][PACE].as_str()),
        failing: parse_failing(metadata["annotations"][FAILING].as_str()),
    }
}

/// Applies `write` to the existing Lease, so that labels, annotations and owners set by others stay.
///
/// # Errors
/// When the record cannot be written as JSON.
pub(crate) fn lease_object(mut object: Value, write: &LeaseWrite) -> Result<Value, serde_json::Error> {
    if !object.is_object() {
        object = json!({});
    }
    object["apiVersion"] = "coordination.k8s.io/v1".into();
    object["kind"] = "Lease".into();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object["metadata"]["labels"][MANAGED_BY.0] = MANAGED_BY.1.into();
    let record = write.record.as_ref().map(serde_json::to_string).transpose()?;
    let prewarm = write.prewarm.as_ref().map(serde_json::to_string).transpose()?;
    let (pace, failing) = (pace_text(&write.pace), failing_text(write.failing.as_ref()));
    for (key, text) in [(RECORD, record), (PREWARM, prewarm), (PACE, pace), (FAILING, failing)] {
        match text {
            Some(text) => object["metadata"]["annotations"][key] = text.into(),
            None if write.keeps_unreadable && [RECORD, PREWARM].contains(&key) => {}
            None => {
                if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                    annotations.remove(key);
                }
            }
        }
    }
    let micros = |at: Option<Timestamp>| at.map(|at| Value::from(at.to_rfc3339_micros()));
    let mut spec = match object["spec"].take() {
        Value::Object(spec) => spec,
        _ => Map::new(),
    };
    // The holder keeps the exact name that it wrote, although the engine knows the name only in its displayable form.
    let held = spec.get("holderIdentity").filter(|held| name_of(held) == write.holder).cloned();
    let holder = held.unwrap_or_else(|| write.holder.as_deref().unwrap_or_default().into());
    spec.insert("holderIdentity".into(), holder);
    // The API server refuses a duration of zero.
    spec.insert("leaseDurationSeconds".into(), write.duration_secs.max(1).into());
    spec.insert("leaseTransitions".into(), write.transitions.into());
    for (field, at) in [("acquireTime", micros(write.acquired_at)), ("renewTime", micros(write.renewed_at))] {
        match at {
            Some(at) => spec.insert(field.into(), at),
            None => spec.remove(field),
        };
    }
    object["spec"] = Value::Object(spec);
    Ok(object)
}

/// Makes the DaemonSet with this uid an owner of the Lease, so that both are deleted together. An earlier DaemonSet of the
/// same name is removed from the owners; other owners stay.
///
/// `controller` and `blockOwnerDeletion` are left out, because they need rights on the owner's finalizers.
pub(crate) fn set_owner(object: &mut Value, (api_version, kind): (&str, &str), name: &str, uid: &str) {
    let mut owners = match object["metadata"]["ownerReferences"].take() {
        Value::Array(owners) => owners,
        _ => Vec::new(),
    };
    let of_that_name = |owner: &Value| owner["kind"] == kind && owner["name"] == name;
    owners.retain(|owner| owner["uid"] == uid || !of_that_name(owner));
    if owners.iter().all(|owner| owner["uid"] != uid) {
        owners.push(json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}));
    }
    object["metadata"]["ownerReferences"] = owners.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write() -> LeaseWrite {
        LeaseWrite {
            holder: Some("ada@host/1".into()),
            duration_secs: 15,
            acquired_at: Timestamp::parse("2026-11-21T14:00:00Z").ok(),
            renewed_at: Timestamp::parse("2026-11-21T14:00:03.5Z").ok(),
            transitions: 2,
            record: Some(Record { version: 1, ..Record::default() }),
            prewarm: None,
            pace: Default::default(),
            keeps_unreadable: false,
            failing: None,
        }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let object = lease_object(Value::Null, &write()).unwrap();
        assert_eq!(object["spec"]["renewTime"], "2026-11-21T14:00:03.500000Z");
        let fact = lease_fact(&object);
        assert_eq!((fact.holder.as_deref(), fact.duration_secs, fact.transitions), (Some("ada@host/1"), 15, 2));
        assert_eq!((fact.acquired_at, fact.renewed_at), (write().acquired_at, write().renewed_at));
        assert_eq!(fact.record, Ok(write().record));
    }

    #[test]
    fn what_others_put_on_it_stays() {
        let before = json!({
            "metadata": {
                "name": "rolldeck-agent",
                "resourceVersion": "7",
                "labels": {"team": "edge"},
                "annotations": {"rolldeck.io/rollout": "old", "note": "keep"},
                "ownerReferences": [{"uid": "ds-uid"}],
                "managedFields": [{"manager": "x"}],
            },
            "spec": {"holderIdentity": "eve", "acquireTime": "x", "strategy": "OldestEmulationVersion"},
        });
        let released = LeaseWrite { holder: None, duration_secs: 0, acquired_at: None, record: None, ..write() };
        let after = lease_object(before, &released).unwrap();
        assert_eq!(after["metadata"]["labels"]["team"], "edge");
        assert_eq!(after["metadata"]["annotations"], json!({"note": "keep"}));
        assert_eq!(after["metadata"]["ownerReferences"][0]["uid"], "ds-uid");
        assert_eq!(after["metadata"]["resourceVersion"], "7");
        assert_eq!(after["metadata"].get("managedFields"), None);
        assert_eq!(after["spec"]["strategy"], "OldestEmulationVersion");
        assert_eq!((&after["spec"]["holderIdentity"], &after["spec"]["leaseDurationSeconds"]), (&json!(""), &json!(1)));
        assert_eq!(after["spec"].get("acquireTime"), None);
        assert_eq!(lease_fact(&after).holder, None);
    }

    #[test]
    fn it_belongs_to_the_daemonset_that_is_there() {
        let set = |object: &mut Value, uid: &str| set_owner(object, ("apps/v1", "DaemonSet"), "agent", uid);
        let uids = |object: &Value| {
            let owners = object["metadata"]["ownerReferences"].as_array().unwrap();
            owners.iter().map(|owner| owner["uid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let mut object =
            json!({"metadata": {"ownerReferences": [{"kind": "ConfigMap", "name": "agent", "uid": "other"}]}});
        set(&mut object, "first");
        set(&mut object, "first");
        assert_eq!(uids(&object), ["other", "first"]);
        set(&mut object, "second");
        assert_eq!(uids(&object), ["other", "second"]);
        let mut orphaned = json!({"metadata": {}});
        set(&mut orphaned, "second");
        assert_eq!(uids(&orphaned), ["second"]);
        assert_eq!(orphaned["metadata"]["ownerReferences"][0]["apiVersion"], "apps/v1");
    }

    /// The displayed name of a holder is bounded; the written name is the holder's own.
    #[test]
    fn a_holder_keeps_the_name_that_they_gave() {
        let held = |holder: &str| json!({"metadata": {}, "spec": {"holderIdentity": holder}});
        let (one, two) = ("x".repeat(100_000) + "1", "x".repeat(100_000) + "2");
        for name in ["eve@host/1", &one, "eve\u{202e}@host"] {
            let fact = lease_fact(&held(name));
            let kept = LeaseWrite { holder: fact.holder.clone(), ..write() };
            assert_eq!(lease_object(held(name), &kept).unwrap()["spec"]["holderIdentity"], name);
            let taken = lease_object(held(name), &write()).unwrap();
            assert_eq!(taken["spec"]["holderIdentity"], "ada@host/1");
        }
        assert_ne!(lease_fact(&held(&one)).holder, lease_fact(&held(&two)).holder, "another holder is another one");
    }

    #[test]
    fn an_unreadable_record_says_why() {
        let object = json!({"metadata": {"annotations": {"rolldeck.io/rollout": "{"}}});
        assert!(lease_fact(&object).record.is_err_and(|why| why.contains("rolldeck.io/rollout")));
    }
}
