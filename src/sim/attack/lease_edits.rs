//! Edits of the Lease by hand, as with `kubectl edit`.

use serde_json::{Value, json};

use super::case::{DAEMON_SET, LeaseEdit};
use super::faults::FaultKind;
use crate::engine::model::record::{RECORD, lease_name};
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::store::DeleteOptions;
use crate::sim::world::write::{WriteOptions, WrittenPart};

const BY: WriteOptions<'static> = WriteOptions::named("kubectl-edit");

/// Carries out the edit. Returns the kind of fault; `None` if the edit was not possible.
pub(super) fn edit_lease(how: LeaseEdit, world: &mut World) -> Option<FaultKind> {
    let name = lease_name(DAEMON_SET.1);
    let key = (Kind::Lease, DAEMON_SET.0, &*name);
    if how == LeaseEdit::Delete {
        return world.delete(key, &DeleteOptions::default(), BY).ok().map(|_| FaultKind::LeaseDeleted);
    }
    let text = world.store().get(Kind::Lease, DAEMON_SET.0, &name)?.meta.annotations.get(RECORD)?.clone();
    let (edited, kind) = match how {
        LeaseEdit::Garble => (format!("{text}}}"), FaultKind::RecordGarbled),
        _ => (edited(how, &text, world.now())?, FaultKind::RecordEdited),
    };
    let written = world.modify(key, WrittenPart::Main, BY, |object| object.meta.set_annotation(RECORD, Some(&edited)));
    written.ok().map(|_| kind)
}

fn edited(how: LeaseEdit, text: &str, now: Timestamp) -> Option<String> {
    let mut record: Value = serde_json::from_str(text).ok()?;
    let intent = record.get_mut("intent")?;
    match how {
        LeaseEdit::Pause => intent["paused"] = json!({"by": "somebody", "at": now, "why": "by hand"}),
        LeaseEdit::Partition(partition) => intent["partition"] = json!(partition),
        LeaseEdit::Budget(count) => intent["budgets"]["maxUnavailable"] = json!(count),
        LeaseEdit::Enforce => intent["onDrift"] = json!("enforce"),
        LeaseEdit::Delete | LeaseEdit::Garble => {}
    }
    Some(record.to_string())
}
