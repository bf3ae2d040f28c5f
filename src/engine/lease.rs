//! The lock and the record, both on one Lease: who drives, and edits of the record as compare-and-swap.

pub(super) mod edit;
pub(super) mod edits;
pub(super) mod lock;
mod overtaken;
pub(crate) mod put_back;
mod record_on_lease;
mod tenure;
