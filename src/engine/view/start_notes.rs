//! What kubelets told in Events of pods that do not start: a volume that is not mounted, a sandbox that is not set up. Statuses say
//! `ContainerCreating` all the while.
//!
//! A note ends where its pod begins: once a container has its image, runs or ended (`rules::diagnose::diagnose_start`), or once a newer
//! Event tells of a pull, because a kubelet pulls after the sandbox is there. A volume that is attached ends what was told of volumes (`StartPart` says what ends what); a
//! kubelet that cannot mount it all the same repeats that. Of two notes the one that was written later counts, in whatever order they come.

use std::collections::HashMap;

use super::View;
use super::pods::uid_at;
use super::pulls::EventStamp;
use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::facts::ClusterEvent;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::causes::StartPart;
use crate::engine::rules::recognise::{TextSource, recognise};

/// The reason of the Event that a volume is attached.
const ATTACHED: &str = "SuccessfulAttachVolume";
/// Of how many pods notes are kept.
const PODS: usize = 5_000;

/// The last report about a pod.
#[derive(Debug)]
struct StartNote {
    written: EventStamp,
    /// `None`: earlier reports are over.
    cause: Option<Cause>,
}

impl StartNote {
    /// The part of the start that it speaks of, if it is not over.
    fn part(&self) -> Option<StartPart> {
        self.cause.as_ref()?.kind.told_of()
    }
}

/// The newest note of each pod, by its uid.
#[derive(Debug, Default)]
pub(super) struct StartNotes {
    pods: HashMap<Str, StartNote>,
}

impl StartNotes {
    /// Takes in an Event about a pod that is not gone; says whether it was news.
    fn take_in(&mut self, event: &ClusterEvent, is_there: impl Fn(&str) -> bool) -> bool {
        let kind = recognise(TextSource::StartEvent, &event.reason, &event.message);
        if kind.is_none() && &*event.reason != ATTACHED {
            return false;
        }
        let written = EventStamp::of(event);
        let known = self.pods.get(&event.object);
        // An Event without a cause is the one that a volume is attached.
        let is_ended = |note: &StartNote| note.part().is_none_or(StartPart::ends_when_a_volume_is_attached);
        if known.is_some_and(|known| written.is_before(known.written) || (kind.is_none() && !is_ended(known))) {
            return false;
        }
        if known.is_none() && self.pods.len() >= PODS {
            // Events are kept for an hour, including those of pods that went before we looked.
            self.pods.retain(|uid, _| is_there(uid));
            if self.pods.len() >= PODS {
                return false;
            }
        }
        let cause = kind.map(|kind| Cause { kind, container: None, message: Some(event.message.clone()) });
        self.pods.insert(event.object.clone(), StartNote { written, cause });
        true
    }

    /// Forgets a pod that is gone.
    pub(super) fn forget_pod(&mut self, uid: &str) {
        self.pods.remove(uid);
    }
}

impl View {
    /// The last report of a kubelet about a pod that does not start, unless later news shows that it begins.
    pub(super) fn start_note(&self, uid: &str) -> Option<&Cause> {
        let note = self.start_notes.pods.get(uid)?;
        let begun = self.pulls.begun(uid).is_some_and(|begun| !begun.is_before(note.written));
        let is_over = begun && note.part().is_none_or(StartPart::ends_when_a_pull_begins);
        note.cause.as_ref().filter(|_| !is_over)
    }

    /// Takes in an Event about a pod that is not gone, and what follows from it for the pod.
    pub(super) fn note_start(&mut self, event: &ClusterEvent, now: Timestamp) {
        let is_there = |uid: &str| self.pod_index.find(uid, |ix| uid_at(&self.pods, ix)).is_some();
        if self.start_notes.take_in(event, is_there) || self.start_notes.pods.contains_key(&event.object) {
            self.judge_pod_again(&event.object, now);
        }
    }
}
