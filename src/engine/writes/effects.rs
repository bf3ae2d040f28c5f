//! Writes that are not answered yet: each has an identifier by which its outcome is recognised.

use std::collections::BTreeMap;

use crate::engine::model::Str;
use crate::engine::model::effect::EffectId;

/// A write that is not answered yet.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    /// The deletion of a pod.
    Delete { uid: Str, node: Str, pod: Str },
    /// The trial of a pod of this revision.
    TryPod { revision: Str },
    /// The creation of a pod for pre-warming.
    CreateWarm { node: Str, pod: Str },
    /// The deletion of a pod for pre-warming.
    DeleteWarm { uid: Str },
    /// A list of the StatefulSets for pre-warming.
    ListSets,
    /// The creation of a StatefulSet for pre-warming.
    CreateSet { name: Str },
    /// The deletion of a StatefulSet for pre-warming.
    DeleteSet { name: Str, uid: Str },
    /// A patch of the DaemonSet.
    DaemonSet,
    /// A write of the Lease.
    Lease,
}

/// The writes that are not answered yet.
#[derive(Debug, Default)]
pub(crate) struct EffectsInFlight {
    sent: BTreeMap<EffectId, Sent>,
    next: u64,
}

impl EffectsInFlight {
    /// Notes a write that is sent now.
    pub(crate) fn send(&mut self, sent: Sent) -> EffectId {
        let id = EffectId(self.next);
        self.next += 1;
        self.sent.insert(id, sent);
        id
    }

    /// The number of the next write; no other write of this engine has it.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Takes in that a write was answered; `None` if the write is not known, or was answered before.
    pub(crate) fn answered(&mut self, id: EffectId) -> Option<Sent> {
        self.sent.remove(&id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Whether anything but a trial, which changes nothing, is not answered yet.
    pub(crate) fn has_write(&self) -> bool {
        self.sent.values().any(|sent| !matches!(sent, Sent::TryPod { .. }))
    }

    /// Whether the creation or deletion of a pod for pre-warming is not answered yet.
    pub(crate) fn has_warm(&self) -> bool {
        self.sent.values().any(|sent| matches!(sent, Sent::CreateWarm { .. } | Sent::DeleteWarm { .. }))
    }

    /// Whether the creation of a pod or of a StatefulSet for pre-warming is not answered yet.
    pub(crate) fn has_creation(&self) -> bool {
        self.sent.values().any(|sent| matches!(sent, Sent::CreateWarm { .. } | Sent::CreateSet { .. }))
    }

    /// Whether the deletion of a pod is not answered yet.
    pub(crate) fn has_deletion(&self) -> bool {
        self.sent.values().any(|sent| matches!(sent, Sent::Delete { .. }))
    }
}
