//! What this process itself did and told in one session. A page that is opened again begins with it: by the Events in the cluster alone it would only
//! be known as reported, since anybody may write an Event.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::seen_holders::LeaseKey;
use crate::engine::model::Str;
use crate::engine::model::rollout_event::{RolloutEvent, Visibility};

/// How many events are kept of one rollout: as many as its timeline has.
const KEPT: usize = 256;

/// An event with the uid of its DaemonSet.
type OwnEvent = (Str, RolloutEvent);

/// By the Lease of their rollout, the events that timelines show, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnEvents(Arc<Mutex<HashMap<LeaseKey, VecDeque<OwnEvent>>>>);

impl OwnEvents {
    /// Stores an event of the DaemonSet with this uid, as timelines list it.
    pub(super) fn note(&self, key: &LeaseKey, uid: &Str, event: RolloutEvent) {
        if event.visibility < Visibility::Timeline {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let events = all.entry(key.clone()).or_default();
        events.push_back((uid.clone(), event));
        if events.len() > KEPT {
            events.pop_front();
        }
    }

    /// The events of the DaemonSet with this uid.
    pub(super) fn of(&self, key: &LeaseKey, uid: &Str) -> Vec<RolloutEvent> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let events = all.get(key).into_iter().flatten();
        events.filter(|(known, _)| known == uid).map(|(_, event)| event.clone()).collect()
    }
}
