//! The reasons why writes fail, in the API server's words. The operator is shown them while they last.

use crate::engine::model::Str;
use crate::engine::model::effect::EffectError;
use crate::engine::model::record::RefusedWrite;
use crate::engine::model::record::size::clipped;
use crate::engine::model::time::Timestamp;

/// Why the last writes failed.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// The failure of a write of the DaemonSet.
    daemonset: Option<WriteFailure>,
    /// The failure of the deletion of a pod.
    deletion: Option<WriteFailure>,
    /// The failure of a write of the Lease.
    lease: Option<LeaseFailure>,
}

/// What is written beside the Lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// The DaemonSet is patched.
    DaemonSet,
    /// A pod is deleted.
    Pod,
}

#[derive(Debug)]
struct WriteFailure {
    /// The attempted write and the last answer.
    why: Str,
    /// Since when the API server has refused it; `None`: it failed otherwise, and may succeed when it is tried again.
    refused_since: Option<Timestamp>,
}

/// Why the last write of the Lease failed.
#[derive(Debug)]
pub(crate) struct LeaseFailure {
    /// The attempted write and the API server's answer.
    pub(crate) why: Str,
    /// The API server answered, and refused it: for want of a right or of valid credentials, or by a policy. Trying again will not change that.
    pub(crate) refused: bool,
}

impl Failures {
    /// Notes that a write failed.
    pub(crate) fn write_failed(&mut self, written: Written, error: &EffectError, now: Timestamp) {
        let slot = self.slot(written);
        let refused_before = slot.as_ref().and_then(|failure| failure.refused_since);
        let refused_since = error.kind.is_refusal().then(|| refused_before.unwrap_or(now));
        *slot = Some(WriteFailure { why: error.message.clone(), refused_since });
    }

    /// Notes that a write succeeded, or that there is none to make any more.
    pub(crate) fn forget_write(&mut self, written: Written) {
        *self.slot(written) = None;
    }

    /// Whether the last such write failed.
    pub(crate) fn has_failed(&self, written: Written) -> bool {
        match written {
            Written::DaemonSet => self.daemonset.is_some(),
            Written::Pod => self.deletion.is_some(),
        }
    }

    /// Notes why a write of the Lease failed; `None`: it succeeded.
    pub(crate) fn set_lease(&mut self, failure: Option<LeaseFailure>) {
        self.lease = failure;
    }

    /// Why the last write of the DaemonSet, else the last deletion of a pod, failed.
    pub(crate) fn of_write(&self) -> Option<&Str> {
        self.writes().map(|failure| &failure.why).next()
    }

    /// The refusal of the last write of the DaemonSet, else of the last deletion of a pod, as the record tells it.
    pub(crate) fn refused_write(&self) -> Option<RefusedWrite> {
        self.writes()
            .find_map(|failure| Some(RefusedWrite { since: failure.refused_since?, why: clipped(&failure.why) }))
    }

    /// Why the last write of the Lease failed.
    pub(crate) fn of_lease(&self) -> Option<&LeaseFailure> {
        self.lease.as_ref()
    }

    fn writes(&self) -> impl Iterator<Item = &WriteFailure> {
        self.daemonset.iter().chain(&self.deletion)
    }

    fn slot(&mut self, written: Written) -> &mut Option<WriteFailure> {
        match written {
            Written::DaemonSet => &mut self.daemonset,
            Written::Pod => &mut self.deletion,
        }
    }
}
