//! Notes each write that goes out, so that it counts until its outcome is known.

use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::effect::EffectId;
use crate::engine::model::rollout_event::EventOutcome;
use crate::engine::writes::daemonset::{PatchPurpose, Patching};
use crate::engine::writes::effects::Sent;

impl Engine {
    pub(super) fn send_delete(&mut self, pod: &Str, uid: &Str, node: &Str) -> EffectId {
        self.deletions.sent(uid);
        self.view.touch_pod(uid);
        self.sending.sent(uid, self.now);
        self.tell_delete(node, pod, uid, EventOutcome::Sent, None);
        self.effects.send(Sent::Delete { uid: uid.clone(), node: node.clone(), pod: pod.clone() })
    }

    pub(super) fn send_patch(&mut self, kind: PatchPurpose, resource_version: Str) -> EffectId {
        self.tell_patch(kind, (EventOutcome::Sent, false), None, false);
        let id = self.effects.send(Sent::DaemonSet);
        let request = self.lock.record().and_then(|record| record.intent.request());
        self.daemonset.sent(Patching {
            id,
            kind,
            resource_version,
            request,
            sent_at: self.now,
            reported_by_command: false,
        });
        id
    }

    pub(super) fn send_lease(&mut self) -> EffectId {
        self.effects.send(Sent::Lease)
    }
}
