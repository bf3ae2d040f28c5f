//! The reasons why writes fail, in the API server's words. The operator is shown them while they last.

use crate::engine::model::Str;

/// Why the last writes failed.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// The failure of a write of the DaemonSet or of the deletion of a pod.
    write: Option<Str>,
    /// The failure of a write of the Lease.
    lease: Option<LeaseFailure>,
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
    /// Notes why a write of the DaemonSet or the deletion of a pod failed; `None`: it succeeded.
    pub(crate) fn set_write(&mut self, why: Option<&Str>) {
        self.write = why.cloned();
    }

    /// Notes why a write of the Lease failed; `None`: it succeeded.
    pub(crate) fn set_lease(&mut self, failure: Option<LeaseFailure>) {
        self.lease = failure;
    }

    /// Why the last write of the DaemonSet or deletion of a pod failed.
    pub(crate) fn of_write(&self) -> Option<&Str> {
        self.write.as_ref()
    }

    /// Why the last write of the Lease failed.
    pub(crate) fn of_lease(&self) -> Option<&LeaseFailure> {
        self.lease.as_ref()
    }
}
