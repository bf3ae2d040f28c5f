//! A kubelet's events, counted as by client-go's recorder: the same message on the same object is one event.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

use super::super::object::{EventBody, EventType, ObjectRef};
use super::env::Env;
use super::{AssignedPod, KubeletAction};

/// The events of each object, by the object's uid and a hash of the words.
#[derive(Debug, Default)]
pub(super) struct Notes(BTreeMap<(Str, u64), Noted>);

#[derive(Debug)]
struct Noted {
    name: Str,
    body: EventBody,
}

/// An event to record.
pub(super) struct Note<'a> {
    pub(super) severity: EventType,
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// The container that the event concerns, if any, as `spec.containers{name}`.
    pub(super) field_path: Option<String>,
    pub(super) pod: &'a AssignedPod,
}

impl Notes {
    /// Records a note, dated by the kubelet's clock.
    pub(super) fn record(&mut self, note: Note<'_>, host: &Str, dated: Timestamp, env: &mut Env) {
        let pod = note.pod;
        let mut hasher = DefaultHasher::new();
        (note.reason, &note.message, &note.field_path).hash(&mut hasher);
        let noted = self.0.entry((pod.uid.clone(), hasher.finish())).or_insert_with(|| Noted {
            name: format!("{}.{:016x}", pod.name, env.rng.u64(..)).into(),
            body: EventBody {
                involved: ObjectRef {
                    api_version: "v1".into(),
                    kind: "Pod".into(),
                    namespace: pod.namespace.clone(),
                    name: pod.name.clone(),
                    uid: pod.uid.clone(),
                    field_path: note.field_path.map(Str::from),
                },
                severity: note.severity,
                reason: note.reason.into(),
                message: note.message.into(),
                component: "kubelet".into(),
                host: Some(host.clone()),
                first_at: dated,
                ..EventBody::default()
            },
        });
        noted.body.count += 1;
        noted.body.last_at = dated;
        env.actions.push(KubeletAction::Event {
            namespace: pod.namespace.clone(),
            name: noted.name.clone(),
            body: Box::new(noted.body.clone()),
        });
    }

    /// Forgets the events of an object that is gone.
    pub(super) fn forget(&mut self, uid: &Str) {
        let gone: Vec<_> =
            self.0.range((uid.clone(), 0)..=(uid.clone(), u64::MAX)).map(|(key, _)| key.clone()).collect();
        for key in gone {
            self.0.remove(&key);
        }
    }
}
