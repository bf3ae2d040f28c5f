//! What one session has seen of the holders of Leases. A page that is opened again, and the list of all DaemonSets beside a page, begin
//! with what another watch of the same session knows: whether a driver is alive does not depend on where one looks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::model::Str;
use crate::engine::rules::holder::SeenHolder;

/// Namespace and name of a Lease.
pub(super) type LeaseKey = (Str, Str);

/// The Leases that were seen, each as it was last, by the session's clock.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenHolders(Arc<Mutex<HashMap<LeaseKey, SeenHolder>>>);

impl SeenHolders {
    /// How it was seen last.
    pub(super) fn last(&self, key: &LeaseKey) -> Option<SeenHolder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Keeps how it is seen now.
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
