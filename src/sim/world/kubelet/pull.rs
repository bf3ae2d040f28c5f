//! Pulls images from a queue that all pods of the node share, as many at once as the node is configured for (one by default).
//!
//! ```text
//!   container waits ──Pulling──→ queue ──→ active: registry answers, then bytes come over the link ──→ Pulled
//!                                                └─ refused, or the network goes ──→ Failed, back-off 10 s … 300 s
//! ```

use std::time::Duration;

use crate::engine::model::Str;

use super::super::object::EventType;
use super::super::scenario::PullError;
use super::env::{Env, WakeReason};
use super::machine::{Connectivity, Kubelet};
use super::pull_queue::{Active, PullStage, RegistryEntry, WantedPull};
use super::{BACK_OFF, words};

/// How long a runtime waits for a registry that does not answer.
const TIMEOUT: (u64, u64) = (15_000, 30_000);
/// How long a registry takes to answer.
const ANSWER: (u64, u64) = (200, 900);

/// How a pull ended, for the container that wanted it.
#[derive(Clone, Debug)]
pub(super) enum Pulled {
    /// The image is there.
    Done,
    /// The image is not there.
    Failed {
        /// The runtime's message.
        error: Str,
        /// No new pull begins before this time is over.
        back_off: Duration,
    },
}

impl Kubelet {
    pub(super) fn is_pulling(&self) -> bool {
        self.pulls.active.iter().any(|active| matches!(active.stage, PullStage::Fetching { .. }))
    }

    /// Requests an image for a container.
    pub(super) fn want_image(&mut self, pod: &Str, container: usize, image: &Str, env: &mut Env) {
        let wanted = WantedPull { pod: pod.clone(), container, image: image.clone(), requested_at: env.now };
        self.pulls.queue.push_back(wanted);
        self.next_pulls(env);
    }

    fn next_pulls(&mut self, env: &mut Env) {
        while self.pulls.active.len() < self.parallel_pulls() {
            let Some(wanted) = self.pulls.next() else { return };
            self.begin_pull(wanted, env);
        }
    }

    fn parallel_pulls(&self) -> usize {
        self.spec.parallel_pulls.map_or(1, |most| usize::from(most.get()))
    }

    fn begin_pull(&mut self, wanted: WantedPull, env: &mut Env) {
        let answer = match env.image(&wanted.image) {
            _ if self.network == Connectivity::Cut => Err(PullError::Network),
            None => Err(PullError::NotFound),
            Some(known) => match known.image.error {
                Some(error) => Err(error),
                None => {
                    let id = env.id_of(&wanted.image).unwrap_or_else(|| known.id.clone());
                    Ok(RegistryEntry { id, bytes: known.image.bytes })
                }
            },
        };
        let answer = answer.and_then(|served| match env.quotas.serves(&wanted.image, env.now) {
            true => Ok(served),
            false => Err(PullError::PullQuota),
        });
        let after = match answer {
            Err(PullError::Network) => env.millis(TIMEOUT.0, TIMEOUT.1),
            _ => env.millis(ANSWER.0, ANSWER.1),
        };
        let serial = env.next_serial();
        env.wake_in(after, self.index, WakeReason::PullEnds { serial });
        self.pulls.active.push(Active { wanted, serial, began_at: env.now, stage: PullStage::Asking(answer) });
    }

    /// Ends a step of a pull: the registry has answered, or the last byte has come.
    pub(super) fn end_pull(&mut self, serial: u64, env: &mut Env) {
        let Some(at) = self.pulls.active.iter().position(|active| active.serial == serial) else { return };
        let mut active = self.pulls.active.remove(at);
        match active.stage {
            PullStage::Asking(Ok(served)) if self.images.id(&active.wanted.image) != Some(&served.id) => {
                let ends = env.links[self.link].begin(serial, self.index, served.bytes, env.now);
                active.stage = PullStage::Fetching { ends, served };
                self.pulls.active.push(active);
            }
            PullStage::Asking(Ok(ref served)) | PullStage::Fetching { ref served, .. } => {
                self.pull_succeeded(&active, served, env);
            }
            PullStage::Asking(Err(error)) => self.pull_failed(&active.wanted, error, env),
        }
        self.next_pulls(env);
    }

    fn pull_succeeded(&mut self, active: &Active, served: &RegistryEntry, env: &mut Env) {
        let wanted = &active.wanted;
        self.images.add(&wanted.image, &served.id, served.bytes, env.now);
        self.pulls.back_off.remove(&(wanted.pod.clone(), wanted.image.clone()));
        let message = words::pulled(
            &wanted.image,
            env.now.since(active.began_at),
            env.now.since(wanted.requested_at),
            served.bytes,
        );
        self.note_container(&wanted.pod, wanted.container, EventType::Normal, "Pulled", message, env);
        self.pulled(&wanted.pod, wanted.container, &Pulled::Done, env);
    }

    fn pull_failed(&mut self, wanted: &WantedPull, error: PullError, env: &mut Env) {
        let key = (wanted.pod.clone(), wanted.image.clone());
        let back_off = self.pulls.back_off.get(&key).map_or(BACK_OFF.0, |last| (*last * 2).min(BACK_OFF.1));
        self.pulls.back_off.insert(key, back_off);
        let error = words::pull_error(&wanted.image, error);
        let failed = words::failed(&wanted.image, &error);
        self.note_container(&wanted.pod, wanted.container, EventType::Warning, "Failed", failed, env);
        let short = "Error: ErrImagePull".to_owned();
        self.note_container(&wanted.pod, wanted.container, EventType::Warning, "Failed", short, env);
        self.pulled(&wanted.pod, wanted.container, &Pulled::Failed { error: error.into(), back_off }, env);
    }

    /// Stalls all pulls, because the network is gone: the runtime notices after a while.
    pub(super) fn stall_pulls(&mut self, env: &mut Env) {
        for active in &mut self.pulls.active {
            active.leave_link(self.link, env);
            active.stage = PullStage::Asking(Err(PullError::Network));
            active.serial = env.next_serial();
            let after = env.millis(TIMEOUT.0, TIMEOUT.1);
            env.wake_in(after, self.index, WakeReason::PullEnds { serial: active.serial });
        }
    }

    /// Cancels the pulls of a pod that is to end.
    pub(super) fn cancel_pulls(&mut self, pod: &Str, env: &mut Env) {
        self.pulls.queue.retain(|wanted| wanted.pod != *pod);
        self.pulls.back_off.retain(|(uid, _), _| uid != pod);
        let link = self.link;
        self.pulls.active.retain(|active| {
            let stays = active.wanted.pod != *pod;
            if !stays {
                active.leave_link(link, env);
            }
            stays
        });
        self.next_pulls(env);
    }

    /// Drops all pulls, because the machine stops.
    pub(super) fn drop_pulls(&mut self, env: &mut Env) {
        self.pulls.queue.clear();
        self.pulls.back_off.clear();
        for active in self.pulls.active.drain(..) {
            active.leave_link(self.link, env);
        }
    }
}
