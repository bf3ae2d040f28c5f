//! Notes each write that goes out, so that it counts until its outcome is known.

use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::effect::EffectId;
use crate::engine::model::rollout_event::EventOutcome;
use crate::engine::writes::sent::{Deletion, PatchKind, Patching, Sent};

impl Engine {
    pub(crate) fn send_delete(&mut self, pod: &Str, uid: &Str, node: &Str) -> EffectId {
        self.deletions.insert(uid.clone(), Deletion::Sent);
        self.view.touch_pod(uid);
        self.sending.sent.insert(uid.clone(), self.now);
        self.tell_delete(node, pod, uid, EventOutcome::Sent, None);
        self.send(Sent::Delete { uid: uid.clone(), node: node.clone(), pod: pod.clone() })
    }

    pub(crate) fn send_patch(&mut self, kind: PatchKind, resource_version: Str) -> EffectId {
        self.tell_patch(kind, EventOutcome::Sent, None);
        let id = self.send(Sent::DaemonSet);
        self.conflicted = None;
        let request = self.lock.record().and_then(|record| record.intent.request());
        self.patching = Some(Patching { id, kind, resource_version, request, sent_at: self.now });
        id
    }

    pub(crate) fn send_lease(&mut self) -> EffectId {
        self.send(Sent::Lease)
    }

    fn send(&mut self, sent: Sent) -> EffectId {
        let id = EffectId(self.next_effect);
        self.next_effect += 1;
        self.effects.insert(id, sent);
        id
    }

    /// Whether a deletion was sent and its answer is still out.
    pub(crate) fn deletions_unanswered(&self) -> bool {
        self.effects.values().any(|sent| matches!(sent, Sent::Delete { .. }))
    }
}
