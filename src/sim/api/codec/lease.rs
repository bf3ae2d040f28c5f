//! Leases.

use std::sync::Arc;

use crate::engine::model::time::Timestamp;
use crate::sim::world::object::Lease;

use super::super::json::ObjectWriter;
use super::super::status::Answer;
use super::fields::FieldReader;

/// Reads `spec` of a Lease.
pub(super) fn parse(mut spec: FieldReader) -> Answer<Lease> {
    Ok(Lease {
        holder: spec.text("holderIdentity")?,
        duration_secs: spec.count("leaseDurationSeconds")?,
        acquired_at: spec.time("acquireTime")?,
        renewed_at: spec.time("renewTime")?,
        transitions: spec.count("leaseTransitions")?,
        rest: Arc::new(spec.rest()),
    })
}

/// Writes `spec` of a Lease.
pub(super) fn render(o: &mut ObjectWriter<'_>, lease: &Lease) {
    o.put_some("holderIdentity", lease.holder.as_deref());
    o.put_some("leaseDurationSeconds", lease.duration_secs);
    o.put_some("acquireTime", lease.acquired_at.map(Timestamp::to_rfc3339_micros));
    o.put_some("renewTime", lease.renewed_at.map(Timestamp::to_rfc3339_micros));
    o.put_some("leaseTransitions", lease.transitions);
    o.spread(&lease.rest);
}
