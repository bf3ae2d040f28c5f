//! P7: a process that drove, and after which another one has driven, takes down nothing more unless somebody asks it to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::context::Broken;
use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;
use crate::sim::attack::api_client::Deletion;

/// Who deleted pods of the rollout last, and whom operators asked for something since.
#[derive(Debug, Default)]
pub(super) struct DrivesAgain {
    /// The process that made the last deletion.
    last: Option<Str>,
    /// Processes that were given a command since their last deletion.
    commanded: BTreeSet<Str>,
    /// Processes that deleted and were given no command since, each with the time at which another one deleted after it.
    followed: BTreeMap<Str, Timestamp>,
}

impl DrivesAgain {
    /// Notes that an operator gave a command to the process `who`.
    pub(super) fn command_given(&mut self, who: &Str) {
        self.commanded.insert(who.clone());
        self.followed.remove(who);
    }

    /// Takes in a deletion. It breaks the promise if another process has deleted since this one did, more than `slack` ago: a request that was
    /// on its way when the other one took over could not be called back.
    pub(super) fn deleted(&mut self, deletion: &Deletion, slack: Duration) -> Broken {
        let Deletion { at, by, node, .. } = deletion;
        let broken = self.followed.get(by).filter(|since| **since + slack < *at).map(|since| {
            let ago = at.since(*since).as_secs();
            ("P7", format!("{by} deleted a pod on {node}, and another process has driven since {ago} s ago; nobody asked {by} again"))
        });
        if self.last.as_ref() != Some(by)
            && let Some(before) = self.last.replace(by.clone())
            && !self.commanded.contains(&before)
        {
            self.followed.insert(before, *at);
        }
        self.commanded.remove(by);
        broken
    }
}
