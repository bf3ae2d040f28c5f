//! Handing a DaemonSet back, and what its controller then does with the pods that are there (docs/kubernetes.md,
//! *RollingUpdate*).
//!
//! A controller that rolls deletes every pod that is not at the current revision: one after the other within its budget,
//! unavailable ones at once. On a node that should run the DaemonSet's pod it makes a new one. On a node that should not
//! (tainted `NoSchedule` after the pod had started) it makes none: under `OnDelete` such a pod goes on serving, and once
//! released it is gone for good. Pods at the current revision are left alone, wherever they run.
//!
//! A pod that lost its readiness only a moment ago still counts as serving for [`LATELY`].
//!
//! ```text
//! old pod on a node that … should run it           replaced
//!                          would, if it were Ready  removed now, made anew when the node is Ready
//!                          should not run it        removed for good: where it serves, a release that nobody asked for waits
//!                          must not run it          its controller removes it anyway, whatever the strategy
//! ```

use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::record::Intent;

impl Engine {
    /// Takes back a release that was decided without an operator, and that would now cost serving pods. Not while a patch
    /// of the DaemonSet may be on its way: what it does is not known yet.
    pub(super) fn call_off_release(&mut self, intent: &Intent) {
        let Some(by) = intent.releasing.as_ref().filter(|by| self.release_must_wait(by)) else { return };
        if !self.daemonset.is_patching() && !self.daemonset.retry.is_retrying() && self.is_adopted() {
            self.edit(None, Edit::CallOffRelease(by.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
