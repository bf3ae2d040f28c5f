//! StatefulSets for pre-warming: those that are there, as they were last listed, and what is on its way.

use std::time::Duration;

use super::retry::LOST_ANSWER;
use crate::engine::model::Str;
use crate::engine::model::facts::WarmSetFact;
use crate::engine::model::time::Timestamp;

/// After so long they are listed again: somebody else may have deleted one, and events tell why one makes no pod.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// The wait after a list or a write that failed.
const RETRY: Duration = Duration::from_secs(5);
/// The wait after one was refused: by a quota, by admission, for want of a right.
const REFUSED: Duration = Duration::from_secs(30);

/// What is known of them. Only whoever drives asks.
#[derive(Debug, Default)]
pub(crate) struct WarmSets {
    listed: Option<(Timestamp, Vec<WarmSetFact>)>,
    /// Whether the list is older than what was written since.
    outdated: bool,
    /// How much is on its way.
    busy: u32,
    /// Before that nothing is sent.
    not_before: Option<Timestamp>,
    /// What the API server last refused to make, by name, and what it said; until one is made.
    refusal: Option<(Str, Str)>,
}

impl WarmSets {
    /// Those that are there; `None`: that is not known.
    pub(crate) fn known(&self) -> Option<&[WarmSetFact]> {
        self.listed.as_ref().map(|(_, sets)| &**sets)
    }

    /// The same, if nothing was written or is on its way since they were listed.
    pub(crate) fn settled(&self) -> Option<&[WarmSetFact]> {
        self.known().filter(|_| !self.outdated && self.busy == 0)
    }

    /// Whether the one of that name is there, or may be.
    pub(crate) fn may_have(&self, name: &str) -> bool {
        self.known().is_none_or(|sets| sets.iter().any(|set| *set.name == *name)) || self.outdated || self.busy > 0
    }

    /// Whether something may be sent now.
    pub(crate) fn is_free(&self, now: Timestamp) -> bool {
        self.busy == 0 && self.not_before.is_none_or(|at| now >= at)
    }

    /// Whether they are to be listed now.
    pub(crate) fn is_list_due(&self, now: Timestamp) -> bool {
        self.outdated || self.listed.as_ref().is_none_or(|(at, _)| now.since(*at) >= LOOK_AGAIN)
    }

    /// Whatever was known is of no use any more: nothing is needed, or somebody else drives.
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

    /// One was made or deleted, or was there already, or gone.
    pub(crate) fn written(&mut self) {
        self.busy = self.busy.saturating_sub(1);
        self.outdated = true;
    }

    /// One was made.
    pub(crate) fn accepted(&mut self) {
        self.refusal = None;
    }

    /// A list or a deletion failed.
    pub(crate) fn failed(&mut self, now: Timestamp) {
        self.written();
        self.wait(now + RETRY);
    }

    /// The answer to a creation was lost.
    pub(crate) fn lost(&mut self, now: Timestamp) {
        self.written();
        self.wait(now + LOST_ANSWER);
    }

    pub(crate) fn refused(&mut self, name: &Str, message: &Str, now: Timestamp) {
        self.written();
        self.refusal = Some((name.clone(), message.clone()));
        self.wait(now + REFUSED);
    }

    /// An operator asks for another try, or for something else.
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
