//! P4 on the way back: as long as no pod shows that the revision works, rolldeck replaces no more serving pods than may be down.

use std::collections::BTreeSet;
use std::time::Duration;

use super::change::is_rolling_back;
use super::context::{Broken, DeletionContext};
use super::{ObservedPod, Observer};
use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

/// The time for which a pod must be ready to show that its revision works. The engine waits at least a second longer.
const SHOWS: Duration = Duration::from_secs(9);

/// The revision that the rollout goes back to, and the nodes whose serving pods were replaced for it.
#[derive(Debug, Default)]
pub(super) struct TakenBack {
    target: Option<Str>,
    nodes: BTreeSet<Str>,
}

impl TakenBack {
    /// Notes that a serving pod on this node was replaced on the way back to `target`.
    pub(super) fn note(&mut self, target: &Str, node: &Str) {
        if self.target.as_ref() != Some(target) {
            *self = Self { target: Some(target.clone()), nodes: BTreeSet::new() };
        }
        self.nodes.insert(node.clone());
    }

    /// Forgets the way back, because the rollout goes forward or is over.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Observer {
    /// Notes an accepted deletion, after it was judged.
    pub(super) fn note_taken_back(&mut self, uid: &Str, node: &Str, at: Timestamp) {
        let target = self.records.now().and_then(Option::as_ref).map(|record| &record.intent);
        let target = target.filter(|intent| is_rolling_back(intent)).and_then(|intent| intent.target.clone());
        match target {
            Some(target) if self.pods.get(uid).is_some_and(|pod| self.serves_for_sure(pod, at)) => {
                self.taken_back.note(&target, node);
            }
            Some(_) => {}
            None => self.taken_back.forget(),
        }
    }

    /// The revision that all records in force go back to; `None` if they do not agree or one goes forward.
    pub(super) fn leads_back_to<'a>(&self, context: &DeletionContext<'a>) -> Option<&'a Str> {
        let mut targets = context.intents().map(|intent| intent.target.as_ref().filter(|_| is_rolling_back(intent)));
        let first = targets.next()??;
        targets.all(|target| target == Some(first)).then_some(first)
    }

    pub(super) fn check_back(&self, context: &DeletionContext<'_>) -> Broken {
        let target = self.leads_back_to(context)?;
        let serves = self.serves_for_sure(context.pod, context.at);
        if !serves
            || self.taken_back.target.as_ref() != Some(target)
            || self.pods.values().any(|pod| self.may_show(pod, target, context))
        {
            return None;
        }
        let there = |node: &&Str| *node != context.node && self.may_run_on(node, context.at);
        let taken = self.taken_back.nodes.iter().filter(there).count();
        (taken >= context.limit.max(1) as usize).then(|| {
            let node = context.node;
            ("P4", format!("replaced a pod that serves on {node} after those on {taken} others, and none shows that {target} works"))
        })
    }

    /// Whether a console may take this pod as a sign that `target` works.
    fn may_show(&self, pod: &ObservedPod, target: &Str, context: &DeletionContext<'_>) -> bool {
        let of_target = pod.fact.revision.as_ref() == Some(target) && pod.fact.deletion_at.is_none();
        let began = context.records.iter().filter_map(|record| record.progress.started_at).max();
        let apart = self.slack;
        let before = began.is_none_or(|began| pod.fact.created_at <= began + apart);
        // By a wrong clock the pod may seem ready for longer.
        let wrong_clock = pod.fact.node.as_ref().is_none_or(|node| self.wrong_clocks.contains(node));
        let long = pod.ready_since.is_some_and(|since: Timestamp| since + SHOWS <= context.at);
        of_target && pod.ready_since.is_some() && (before || wrong_clock || long)
    }
}
