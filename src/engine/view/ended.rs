//! Pods that are gone. A watch that is late tells of them again, and must not bring them back.

use std::collections::{HashMap, VecDeque};

use crate::engine::model::Str;

/// How many ended pods are remembered.
const MOST: usize = 4096;

/// Pods that are gone, the last [`MOST`] of them.
#[derive(Debug, Default)]
pub(super) struct EndedPods {
    /// By uid: the resource version as of which the pod is gone, if that is known and a number.
    gone: HashMap<Str, Option<u64>>,
    /// The same uids, oldest first.
    order: VecDeque<Str>,
}

impl EndedPods {
    /// Whether a pod is gone, so that news of it at this resource version is late. News newer than its end shows that the pod exists: somebody
    /// removed the label by which it is selected, and put it back.
    pub(super) fn is_late(&mut self, uid: &str, version: Option<u64>) -> bool {
        let Some(gone_at) = self.gone.get(uid) else { return false };
        let late = version.zip(*gone_at).is_none_or(|(version, gone_at)| version <= gone_at);
        if !late {
            self.gone.remove(uid);
        }
        late
    }

    /// Notes the end of a pod.
    pub(super) fn add(&mut self, uid: &Str, version: Option<u64>) {
        let before = self.gone.get(uid).copied();
        self.gone.insert(uid.clone(), version.max(before.flatten()));
        if before.is_none() {
            self.order.push_back(uid.clone());
            if self.order.len() > MOST
                && let Some(oldest) = self.order.pop_front()
            {
                self.gone.remove(&oldest);
            }
        }
    }

    /// Whether a pod is gone.
    pub(super) fn contains(&self, uid: &str) -> bool {
        self.gone.contains_key(uid)
    }
}
