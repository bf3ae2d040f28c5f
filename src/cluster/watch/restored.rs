//! Detects an API server whose state went back to an earlier one, for example after etcd was restored from a backup.
//!
//! ```text
//!   live at 900 ─▶ down ─▶ the server answers: its newest version is 500 ─┬─▶ every watch of the session lists anew
//!                                                                         └─▶ every rollout begins anew, and nobody drives (`driver/run.rs`)
//! ```
//!
//! Versions of one kind only grow (KEP-5504), and a list that comes from no cache is as new as the server's state. An API
//! server sends nothing on a watch from a version that it does not know yet. Without this check such a watch would be
//! silent, and would show objects that no longer exist.
//!
//! A restore may also raise the version of the state, so that watches notice that they have to list anew (`etcdutl snapshot restore --bump-revision`). The objects
//! keep the versions that they had in the backup. So the DaemonSet and its Lease, which change all the time, are compared with what was seen of them before: where
//! they are listed, and where a watch that was down goes on. `write.rs` compares the Lease where a write of it meets a conflict.

use std::time::Duration;

use super::replay::Replay;
use super::{Listing, Subject, Watch, WatchEnd, parse};
use crate::cluster::failure::Failure;
use crate::cluster::http::Call;
use crate::engine::model::version::is_older;

/// How long the request for the newest version may take.
const TIMEOUT: Duration = Duration::from_secs(20);

impl<S: Subject> Watch<S> {
    /// Asks how far the server's state has come, before a watch that was down, or whose server was away, continues from `version`. Returns how the watch
    /// begins.
    ///
    /// # Errors
    /// [`WatchEnd::Restored`] if the server's state is older than that.
    pub(super) async fn check_version(&mut self, version: &str) -> Result<Replay, WatchEnd> {
        if !self.was_away && !self.missed {
            return Ok(Replay::SHORT);
        }
        let path = self.path(&[("limit", "1")]);
        let body = self.http.call(Call::get(&path, TIMEOUT)).await?;
        let parse::ListPage { objects, end } = parse::page(&body)?;
        (self.was_away, self.missed) = (false, false);
        // Other writes may have raised the version of the restored state past what was seen, while this process was away.
        let went_back = |wire: S::Wire<'_>| self.subject.went_back(&wire);
        let older = objects.into_iter().filter_map(|object| parse::object(object).ok()).any(went_back);
        match older || is_older(&end.version, version) {
            true => Err(WatchEnd::Restored),
            false => Ok(Replay::Runs(end.version.parse().ok())),
        }
    }

    /// Checks the version at which a listing ends.
    ///
    /// # Errors
    /// [`WatchEnd::Restored`] if this watch has seen a newer version before, and the list comes from no cache.
    pub(super) fn check_listed(&self, version: &str) -> Result<(), WatchEnd> {
        let cached = self.listing == Some(Listing::Whole);
        let went_back = self.reached.as_ref().is_some_and(|reached| is_older(version, reached));
        if went_back && !cached { Err(WatchEnd::Restored) } else { Ok(()) }
    }

    /// Checks an object of a listing, or of the list with which a watch begins.
    ///
    /// # Errors
    /// [`WatchEnd::Restored`] if a newer version of it was seen before, and the list comes from no cache.
    pub(super) fn check_object(&self, wire: &S::Wire<'_>) -> Result<(), WatchEnd> {
        let lists = self.version.is_none() && self.listing != Some(Listing::Whole);
        if lists && self.subject.went_back(wire) { Err(WatchEnd::Restored) } else { Ok(()) }
    }

    /// Forgets the version, so that everything is listed anew. Returns whether there was one.
    pub(super) fn forget_version(&mut self) -> bool {
        let known = self.version.take();
        let was_known = known.is_some();
        self.reached = known.or_else(|| self.reached.take());
        was_known
    }

    /// Forgets all versions, so that everything is listed anew, also from an older state.
    pub(super) fn begin_anew(&mut self) {
        (self.version, self.incomplete, self.reached) = (None, None, None);
        self.subject.forget_versions();
    }
}

/// Whether the server did not answer, or a proxy or load balancer answered in its place.
pub(super) fn is_away(failure: &Failure) -> bool {
    match failure {
        Failure::Connect(_) | Failure::Tls(_) | Failure::Proxy(_) | Failure::Timeout(_) => true,
        Failure::Refused { code, .. } => *code >= 500,
        Failure::Credentials(_)
        | Failure::TooLate
        | Failure::Broken(_)
        | Failure::TooLong { .. }
        | Failure::MutatedByAdmission(_)
        | Failure::HandedBackByAdmission
        | Failure::Malformed(_) => false,
    }
}
