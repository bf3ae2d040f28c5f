//! Why writes fail, in the API server's words: what the operator is shown while it lasts.

use crate::engine::model::Str;

/// Why the last writes failed.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// Of the DaemonSet, or the deletion of a pod.
    write: Option<Str>,
    /// Of the Lease.
    lease: Option<Str>,
}

impl Failures {
    /// A write of the DaemonSet or the deletion of a pod failed, or (`None`) succeeded.
    pub(crate) fn set_write(&mut self, why: Option<&Str>) {
        self.write = why.cloned();
    }

    /// A write of the Lease failed, or (`None`) succeeded.
    pub(crate) fn set_lease(&mut self, why: Option<&Str>) {
        self.lease = why.cloned();
    }

    /// Why the last write of the DaemonSet or deletion of a pod failed.
    pub(crate) fn of_write(&self) -> Option<&Str> {
        self.write.as_ref()
    }

    /// Why the last write of the Lease failed.
    pub(crate) fn of_lease(&self) -> Option<&Str> {
        self.lease.as_ref()
    }
}
