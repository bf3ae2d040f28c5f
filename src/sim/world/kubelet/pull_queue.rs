//! A node's pulls: the waiting ones, the ones under way, and the back-offs.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

use super::super::scenario::PullError;
use super::env::Env;

/// A node's pulls.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    pub(super) queue: VecDeque<WantedPull>,
    pub(super) active: Vec<Active>,
    /// The back-off per pod and image: a pod that is created anew starts without one.
    pub(super) back_off: BTreeMap<(Str, Str), Duration>,
}

#[derive(Clone, Debug)]
pub(super) struct WantedPull {
    pub(super) pod: Str,
    pub(super) container: usize,
    pub(super) image: Str,
    pub(super) requested_at: Timestamp,
}

#[derive(Debug)]
pub(super) struct Active {
    pub(super) wanted: WantedPull,
    pub(super) serial: u64,
    pub(super) began_at: Timestamp,
    pub(super) stage: PullStage,
}

#[derive(Debug)]
pub(super) enum PullStage {
    /// The registry has not answered yet; this will be its answer.
    Asking(Result<RegistryEntry, PullError>),
    /// Bytes come; the link identifies the pull by `ends`.
    Fetching { ends: u128, served: RegistryEntry },
}

/// The image that the registry has under a name.
#[derive(Clone, Debug)]
pub(super) struct RegistryEntry {
    pub(super) id: Str,
    pub(super) bytes: u64,
}

impl Pulls {
    /// The next pull. An image that is being pulled is not pulled a second time; once it is there, all containers that want it have it.
    pub(super) fn next(&mut self) -> Option<WantedPull> {
        let is_new = |wanted: &WantedPull| self.active.iter().all(|active| active.wanted.image != wanted.image);
        let at = self.queue.iter().position(is_new)?;
        self.queue.remove(at)
    }
}

impl Active {
    pub(super) fn leave_link(&self, link: usize, env: &mut Env) {
        if let PullStage::Fetching { ends, .. } = self.stage {
            env.links[link].give_up(ends, self.serial, env.now);
        }
    }
}
