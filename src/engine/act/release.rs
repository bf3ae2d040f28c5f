//! Calls off a release: one that nobody asked for where the controller would remove serving pods, and any where the template has changed since it was decided
//! (`machine/release.rs`).

use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::record::Intent;

impl Engine {
    /// Takes back a release that would now cost pods which nobody meant to give up. A release is not taken back while a patch of the DaemonSet may be on its
    /// way, because the effect of the patch is not known yet. Where somebody else has changed the template, the rollout is paused once it is taken back.
    pub(super) fn call_off_release(&mut self, intent: &Intent) {
        let Some(by) = intent.releasing.as_ref().filter(|_| !self.daemonset.is_patching() && self.is_adopted()) else {
            return;
        };
        // A patch that was sent before the template changed is not carried out any more: it names an earlier resource version.
        let costs_pods = self.release_must_wait(by) && !self.daemonset.retry.is_unsure();
        if costs_pods || self.releases_another_template(intent) {
            self.edit(None, Edit::CallOffRelease(by.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
