//! Keeps the record within its size while a rollout is driven. A command whose edits do not fit is refused. Progress is cut until it fits.
//! A node whose name does not fit into the record is not updated ([`crate::engine::model::record::size`]).

use std::time::Duration;

use crate::engine::assess::rows::Row;
use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::command::Refusal;
use crate::engine::model::record::size::{INTENT_LIMIT, bytes_of};
use crate::engine::model::record::{Intent, RECORD_LIMIT, Record};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::UNMEASURED;

/// The margin within which the API server's clock is known, once it was measured.
const MEASURED: Duration = Duration::from_secs(5);
/// With at most this many nodes in progress, the record has room for their names in any case.
const FEW: usize = 64;

impl Engine {
    /// How many bytes of the record are left for names of nodes in progress, if `max_unavailable` further nodes may be in progress at once.
    pub(crate) fn room_for_names(&self, intent: &Intent, max_unavailable: u32) -> usize {
        let few = self.progress.in_progress.len() + max_unavailable as usize <= FEW && bytes_of(intent) <= INTENT_LIMIT;
        if few {
            return usize::MAX;
        }
        self.progress.room_for_names(self.room_for_progress(intent))
    }

    fn room_for_progress(&self, intent: &Intent) -> usize {
        let none = Record::default();
        self.lock.record().unwrap_or(&none).room_beside(intent)
    }

    /// Leaves out the part of the progress for which the record has no room.
    pub(super) fn fit_progress(&mut self, now: Timestamp) {
        let Some(intent) = self.recorded_intent().filter(|_| self.lock.holds()) else { return };
        let room = self.room_for_progress(&intent);
        let began_at = self.began_for_sure(self.progress.started_at.unwrap_or_else(|| self.view.server_time(now)));
        self.progress.fit(room, began_at);
    }

    /// An instant before which a rollout that began at `started_at` cannot have done anything. Both are by the API server's clock, which the driver that began may
    /// not have known exactly.
    pub(super) fn began_for_sure(&self, started_at: Timestamp) -> Timestamp {
        let margin = if self.view.skew_millis().is_some() { MEASURED } else { UNMEASURED };
        started_at - margin
    }

    /// Whether a node that is down would be taken for one that the rollout took down, if its name were not known.
    pub(super) fn looks_like_ours(&self, row: &Row) -> bool {
        let pod = row.pod.and_then(|pod| self.view.pod(pod)).filter(|pod| pod.fact.deletion_at.is_none());
        pod.is_none_or(|pod| row.at_target || pod.fact.revision != self.progress.origin)
    }

    /// Refuses edits that would make the record too large.
    pub(crate) fn check_size(&self, edits: &[Edit]) -> Result<(), Refusal> {
        let mut intent = self.recorded_intent();
        let edits = edits.iter().cloned().map(Edit::with_short_reasons);
        edits.for_each(|edit| edit.apply(&mut intent));
        let size = intent.as_deref().map_or(0, bytes_of);
        let grows = size > self.recorded_intent().as_deref().map_or(0, bytes_of);
        if size > INTENT_LIMIT && grows {
            return Err(Refusal::Invalid(format!(
                "with this the rollout's record would ask for {size} bytes, of which there may be {INTENT_LIMIT} (all of it may \
                 take {RECORD_LIMIT}): a shorter selector, or fewer images and steps at once"
            )));
        }
        Ok(())
    }
}
