//! The reasons why writes fail, in the API server's words. The operator is shown them while they last.

use crate::engine::model::Str;
use crate::engine::model::effect::EffectError;
use crate::engine::model::record::size::clipped;
use crate::engine::model::record::{Intent, RefusedWrite, RequestedChange};
use crate::engine::model::time::Timestamp;

/// Why the last writes failed.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// The failure of a write of the DaemonSet.
    daemonset: Option<WriteFailure>,
    /// What the record asked of the DaemonSet when that was written.
    asked: Option<AskedOfDaemonSet>,
    /// The failure of the deletion of a pod.
    deletion: Option<WriteFailure>,
    /// The failure of a write of the Lease.
    lease: Option<LeaseFailure>,
}

/// What a record asks of the DaemonSet: which change of the template, and whether it is to be handed back.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AskedOfDaemonSet {
    change: Option<RequestedChange>,
    releases: bool,
}

impl AskedOfDaemonSet {
    pub(crate) fn by(intent: &Intent) -> Self {
        Self { change: intent.requested_change.clone(), releases: intent.releasing.is_some() }
    }
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

    /// Forgets a failed write of the DaemonSet once something else is asked for: nobody tries that one again. Returns whether something else is.
    pub(crate) fn follow_what_is_asked(&mut self, asked: Option<AskedOfDaemonSet>) -> bool {
        let differs = self.asked != asked;
        if differs {
            // Whatever is released deletes no pod any more.
            self.deletion.take_if(|_| asked.as_ref().is_some_and(|asked| asked.releases));
            (self.asked, self.daemonset) = (asked, None);
        }
        differs
    }

    /// Notes why a write of the Lease failed; `None`: it succeeded.
    pub(crate) fn set_lease(&mut self, failure: Option<LeaseFailure>) {
        self.lease = failure;
    }

    /// Why the last write of the DaemonSet failed.
    pub(crate) fn of_daemonset(&self) -> Option<&Str> {
        self.daemonset.as_ref().map(|failure| &failure.why)
    }

    /// Why the last deletion of a pod failed.
    pub(crate) fn of_deletion(&self) -> Option<&Str> {
        self.deletion.as_ref().map(|failure| &failure.why)
    }

    /// The refusal of the last write of the DaemonSet, else of the last deletion of a pod, as the record tells it.
    pub(crate) fn refused_write(&self) -> Option<RefusedWrite> {
        let writes = self.daemonset.iter().chain(&self.deletion);
        writes
            .into_iter()
            .find_map(|failure| Some(RefusedWrite { since: failure.refused_since?, why: clipped(&failure.why) }))
    }

    /// Why the last write of the Lease failed.
    pub(crate) fn of_lease(&self) -> Option<&LeaseFailure> {
        self.lease.as_ref()
    }

    fn slot(&mut self, written: Written) -> &mut Option<WriteFailure> {
        match written {
            Written::DaemonSet => &mut self.daemonset,
            Written::Pod => &mut self.deletion,
        }
    }
}
