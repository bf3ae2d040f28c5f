//! Calls off a release that nobody asked for, where the controller would remove serving pods (`machine/release.rs`).

use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::record::Intent;

impl Engine {
    /// Takes back a release that was decided without an operator and that would now cost serving pods. A release is not taken back while a
    /// patch of the DaemonSet may be on its way, because the effect of the patch is not known yet.
    pub(super) fn call_off_release(&mut self, intent: &Intent) {
        let Some(by) = intent.releasing.as_ref().filter(|by| self.release_must_wait(by)) else { return };
        if !self.daemonset.is_patching() && !self.daemonset.retry.is_retrying() && self.is_adopted() {
            self.edit(None, Edit::CallOffRelease(by.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
