//! StatefulSets for pre-warming: the ones that were last listed, and the writes that are on their way.

use std::time::Duration;

use super::retry::LOST_ANSWER;
use crate::engine::model::Str;
use crate::engine::model::facts::WarmSetFact;
use crate::engine::model::time::Timestamp;

/// The StatefulSets are listed again after this time: somebody else may have deleted one, and events tell why one makes no pod.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// The wait after a list or a write that failed.
const RETRY: Duration = Duration::from_secs(5);
/// The wait after a StatefulSet was refused by a quota, by admission, or because a right is missing.
const REFUSED: Duration = Duration::from_secs(30);

/// The knowledge about the StatefulSets. Only the driver asks for them.
#[derive(Debug, Default)]
pub(crate) struct WarmSets {
    listed: Option<(Timestamp, Vec<WarmSetFact>)>,
    /// Whether the list is older than the last write.
    outdated: bool,
    /// How many requests are on their way.
    busy: u32,
    /// Nothing is sent before then.
    not_before: Option<Timestamp>,
    /// The object that the API server last refused to make, by name, and the server's words; kept until one is made.
    refusal: Option<(Str, Str)>,
}

impl WarmSets {
    /// The StatefulSets that are there; `None` if that is not known.
    pub(crate) fn known(&self) -> Option<&[WarmSetFact]> {
        self.listed.as_ref().map(|(_, sets)| &**sets)
    }

    /// The StatefulSets that are there, if nothing was written or is on its way since they were listed.
    pub(crate) fn settled(&self) -> Option<&[WarmSetFact]> {
        self.known().filter(|_| !self.outdated && self.busy == 0)
    }

    /// Whether the StatefulSet of that name is there, or may be.
    pub(crate) fn may_have(&self, name: &str) -> bool {
        self.known().is_none_or(|sets| sets.iter().any(|set| *set.name == *name)) || self.outdated || self.busy > 0
    }

    /// Whether a request may be sent now.
    pub(crate) fn is_free(&self, now: Timestamp) -> bool {
        self.busy == 0 && self.not_before.is_none_or(|at| now >= at)
    }

    /// Whether the StatefulSets are to be listed now.
    pub(crate) fn is_list_due(&self, now: Timestamp) -> bool {
        self.outdated || self.listed.as_ref().is_none_or(|(at, _)| now.since(*at) >= LOOK_AGAIN)
    }

    /// Drops all knowledge, because nothing is needed any more or somebody else drives.
    pub(crate) fn forget(&mut self) {
        let busy = self.busy;
        *self = Self { busy, ..Self::default() };
    }

    pub(crate) fn sent(&mut self) {
        self.busy += 1;
    }

    pub(crate) fn listed(&mut self, sets: Vec<WarmSetFact>, now: Timestamp) {
        self.busy = self.busy.saturating_sub(1);
        (self.outdated, self.not_before) = (false, None);
        self.listed = Some((now, sets));
    }

    /// Takes in that a StatefulSet was made or deleted, or was there or gone already.
    pub(crate) fn written(&mut self) {
        self.busy = self.busy.saturating_sub(1);
        self.outdated = true;
    }

    /// Takes in that a StatefulSet was made.
    pub(crate) fn accepted(&mut self) {
        self.refusal = None;
    }

    /// Takes in that a list or a deletion failed.
    pub(crate) fn failed(&mut self, now: Timestamp) {
        self.written();
        self.wait(now + RETRY);
    }

    /// Takes in that the answer to a creation was lost.
    pub(crate) fn lost(&mut self, now: Timestamp) {
        self.written();
        self.wait(now + LOST_ANSWER);
    }

    pub(crate) fn refused(&mut self, name: &Str, message: &Str, now: Timestamp) {
        self.written();
        self.refusal = Some((name.clone(), message.clone()));
        self.wait(now + REFUSED);
    }

    /// Ends all waits, because an operator asks for a retry or for something else.
    pub(crate) fn try_now(&mut self) {
        (self.refusal, self.not_before, self.outdated) = (None, None, true);
    }

    pub(crate) fn refusal(&self) -> Option<&(Str, Str)> {
        self.refusal.as_ref()
    }

    fn wait(&mut self, until: Timestamp) {
        self.not_before = self.not_before.max(Some(until));
    }

    /// When time alone lets something go on.
    pub(crate) fn changes_at(&self) -> Option<Timestamp> {
        let again = self.listed.as_ref().filter(|_| !self.outdated).map(|(at, _)| *at + LOOK_AGAIN);
        self.not_before.max(again)
    }
}
