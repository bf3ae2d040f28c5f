//! The last observations of one rollout's watches that other parts need: for selectors, for writes, and for the selection of node data.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use super::partial::Wanted;
use crate::engine::model::Str;
use crate::engine::model::facts::DaemonSetFact;
use crate::engine::model::template::Template;

/// The data that the watches of one rollout share with each other and with its writer.
#[derive(Debug)]
pub(super) struct LastObserved {
    /// The DaemonSet as last seen. The selector and the owner of the Lease come from it.
    pub(super) daemonset: watch::Sender<Option<Arc<DaemonSetFact>>>,
    /// The Lease as last seen, whole, so that a write keeps what others put on it.
    lease: Mutex<Option<Value>>,
    /// The images of a node that are kept.
    pub(super) wanted: watch::Sender<Arc<Wanted>>,
}

impl LastObserved {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            daemonset: watch::Sender::new(None),
            lease: Mutex::new(None),
            wanted: watch::Sender::new(Arc::default()),
        })
    }

    /// Stores the DaemonSet. A repeated or late observation does no harm: only writers use it, and each write states the
    /// version that it was decided on.
    pub(super) fn daemonset_is(&self, fact: &DaemonSetFact) {
        self.want(&fact.template);
        self.daemonset.send_replace(Some(Arc::new(fact.clone())));
    }

    pub(super) fn lease_is(&self, lease: Option<Value>) {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner) = lease;
    }

    /// The Lease, if it was last seen at `resource_version`.
    pub(super) fn lease_at(&self, resource_version: &str) -> Option<Value> {
        let lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        lease.clone().filter(|lease| lease["metadata"]["resourceVersion"] == resource_version)
    }

    /// Keeps the images of `template` from now on.
    pub(super) fn want(&self, template: &Template) {
        let images: Vec<Str> = template.images();
        self.wanted.send_if_modified(|wanted| Arc::make_mut(wanted).add(&images));
    }
}
