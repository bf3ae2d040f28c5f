//! The observations of Lease holders in one session. A page that is opened again, and the list beside a page, begin with the
//! observations of other watches of the session: whether a driver is alive must not depend on the view.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::model::Str;
use crate::engine::rules::holder::SeenHolder;

/// Namespace and name of a Lease.
pub(super) type LeaseKey = (Str, Str);

/// The Leases that were seen, each with its last observation by the session's clock.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenHolders(Arc<Mutex<HashMap<LeaseKey, SeenHolder>>>);

impl SeenHolders {
    /// The last observation of a Lease.
    pub(super) fn last(&self, key: &LeaseKey) -> Option<SeenHolder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Stores the present observation of a Lease.
    pub(super) fn note(&self, key: &LeaseKey, seen: SeenHolder) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(key) {
            Some(known) => *known = seen,
            None => {
                all.insert(key.clone(), seen);
            }
        }
    }
}
