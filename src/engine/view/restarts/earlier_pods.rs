//! Pods of the same revision that a kubelet ended before the present one: evicted for what its node is short of, or not admitted at all.
//!
//! A pod that was ready and is evicted counts as a restart of the next one, if the last eviction or restart before it was less than [`WATCHED`] ago: a
//! revision that takes more memory or disk space than its nodes have is evicted again and again, and its pods are ready in between. Where none of them
//! was ready, the progress deadline runs from the first one.
//!
//! Who begins to look later sees the present pod only. The record says how many evictions count ([`EvictedBefore`]), so that a second console, a one-shot command
//! and the next driver count them as the driver does. Since when a kubelet admits no pod is not recorded: for who looks later, the deadline runs from the present pod.

use std::collections::BTreeMap;

use super::{Ended, Restarts, WATCHED};
use crate::engine::model::Str;
use crate::engine::model::record::EvictedBefore;
use crate::engine::model::time::Timestamp;
use crate::engine::view::View;
use crate::engine::view::observed_at::ObservedAt;

/// What is known of the pods before the present one.
#[derive(Clone, Debug, Default)]
pub(super) struct EarlierPods {
    /// How many evictions of them count.
    evictions: u32,
    /// What the kubelet said of the last of these.
    said: Option<Str>,
    /// When the first of them was seen that was not ready before it ended, and neither was a later one; and when it was created.
    tried_since: Option<(ObservedAt, Timestamp)>,
}

impl EarlierPods {
    pub(super) fn are_known(&self) -> bool {
        self.evictions > 0 || self.tried_since.is_some()
    }
}

impl Restarts {
    /// How many evictions of earlier pods count as restarts of this one.
    pub(crate) fn evictions(&self) -> u32 {
        self.ended.as_ref().map_or(0, |ended| ended.earlier.evictions)
    }

    /// What the kubelet said of the last of these evictions.
    pub(crate) fn evicted_because(&self) -> Option<&Str> {
        self.ended.as_ref()?.earlier.said.as_ref()
    }

    /// When the first and the last of these evictions were seen, or the last restart after them.
    pub(crate) fn evicted_between(&self) -> Option<(Timestamp, Timestamp)> {
        let ended = self.ended.as_ref().filter(|ended| ended.earlier.evictions > 0)?;
        Some((ended.began?.0.seen_at(), ended.last?.0.seen_at()))
    }

    /// When its kubelet was first given a pod of this revision, if it ended that one, and each one since, before it was ready.
    pub(crate) fn tried_since(&self) -> Option<(ObservedAt, Timestamp)> {
        self.ended.as_ref()?.earlier.tried_since.filter(|_| !self.was_ready)
    }

    /// What the next pod begins with, where these are the restarts of a pod that its kubelet ended. `made`: when that one was seen first, and when it was
    /// created; `evicted`: when it was evicted, by our clock, and what its kubelet said, if that is why it ended.
    pub(in crate::engine::view) fn of_next_pod(
        &self,
        made: (ObservedAt, Timestamp),
        evicted: Option<(Timestamp, Option<Str>)>,
    ) -> Self {
        let known = self.ended();
        let tried_since = if self.was_ready { None } else { self.tried_since().or(Some(made)) };
        let ended = match evicted.filter(|_| self.was_ready) {
            Some((at, said)) => {
                let is_next = self.last().is_some_and(|(last, _)| at.since(last.seen_at()) < WATCHED);
                let known = if is_next { known } else { Ended::default() };
                let last = Some((ObservedAt::Happen(at), None));
                let earlier = EarlierPods { evictions: known.earlier.evictions + 1, said, tried_since };
                let (began, first_end) = (known.began.or(last), known.first_end.or(last));
                Ended { last, began, first_end, earlier, ..Ended::default() }
            }
            // One more try. The evictions before it go on to count, and nothing else of it.
            None => {
                let known = if known.earlier.evictions > 0 { known } else { Ended::default() };
                let Ended { last, began, first_end, earlier, .. } = known;
                Ended { last, began, first_end, earlier: EarlierPods { tried_since, ..earlier }, ..Ended::default() }
            }
        };
        Self { was_ready: false, since_ready: ended.earlier.evictions, ended: ended.boxed() }
    }

    /// Takes in what the record says of the pods before this one, where less of them was seen here. Returns whether that was so. `since` and `last_at`: when the
    /// first and the last of the evictions were, by our clock.
    fn is_told(&mut self, told: &EvictedBefore, (since, last_at): (Timestamp, Timestamp)) -> bool {
        let Some(unseen) = told.times.checked_sub(self.evictions()).filter(|unseen| *unseen > 0) else { return false };
        let mut ended = self.ended();
        self.since_ready += unseen;
        let (first, last) = ((ObservedAt::Happen(since), None), (ObservedAt::Happen(last_at), None));
        ended.last = ended.last.filter(|(seen, _)| seen.seen_at() > last_at).or(Some(last));
        (ended.began, ended.first_end) = (Some(first), Some(first));
        (ended.earlier.evictions, ended.earlier.said) = (told.times, told.said.clone());
        self.ended = ended.boxed();
        true
    }

    /// Adds what the pods before it left, to a pod that is new.
    pub(in crate::engine::view) fn begin_after(&mut self, earlier: &Self) {
        let (known, mut ended) = (earlier.ended(), self.ended());
        self.since_ready += earlier.since_ready;
        ended.last = ended.last.or(known.last);
        (ended.began, ended.first_end) = (known.began.or(ended.began), known.first_end.or(ended.first_end));
        ended.earlier = known.earlier;
        self.ended = ended.boxed();
    }
}

impl View {
    /// Takes in what the record says, by node, of evictions before the pods that are there now. Where the API server's clock is not known, they count from `now`
    /// on.
    pub(crate) fn is_told_of_evictions(&mut self, told: &BTreeMap<Str, EvictedBefore>, now: Timestamp) {
        for told in told.values() {
            let last_at = self.skew_millis.map_or(now, |_| self.our_time(told.last_at).min(now));
            let span = (self.our_time(told.since).min(last_at), last_at);
            let Some(pod) = self.pod_mut(&told.pod) else { continue };
            if pod.restarts.is_told(told, span) {
                self.touch_pod(&told.pod);
            }
        }
    }
}
