//! What the attack found, in a test tube: each once broke a promise.

use super::lab::Lab;
use super::record::Record;

mod daemonset;
mod lease;
mod nodes;
mod view;

fn record(lab: &Lab) -> Record {
    lab.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()).unwrap()
}
