//! Pre-warming by StatefulSets: makes one StatefulSet for each node that may pull at once, and deletes them.
//!
//! ```text
//!   list ──▶ one that is not wanted? ──▶ delete it, its pods go with it ──▶ list
//!        └─▶ nodes that none of them is for, and fewer at work than may be? ──▶ make more, each with its share ──▶ list
//! ```
//!
//! While the StatefulSets are at work nobody has to drive: their controller makes the next pod once the last one is ready. The next driver
//! finds them by their label. Once every node has the images, all StatefulSets are deleted, and pre-warming ends.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::lease::edit::{Edit, PrewarmEdit};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::effect::{Done, Effect, EffectError, EffectErrorKind, EffectId, Outcome};
use crate::engine::model::facts::WarmSetFact;
use crate::engine::model::prewarm::{PREWARM_SET_NODES, Prewarm, PrewarmMethod, PrewarmState};
use crate::engine::model::record::{By, OURSELVES};
use crate::engine::model::rollout_event::{EventOutcome, RolloutEventKind, Visibility};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::warm_pod::WarmPodOwner;
use crate::engine::rules::warm_set::{is_set_of, request_key, warm_set};
use crate::engine::view::WarmPod;
use crate::engine::writes::effects::Sent;

impl Engine {
    /// Ends pre-warming by StatefulSets once every node has the images.
    pub(super) fn end_with_the_last_node(&mut self, asked: &Prewarm, now: Timestamp) {
        let by_sets = asked.method == PrewarmMethod::StatefulSet && asked.cancelled.is_none();
        let Some(job) = self.warming.job.as_ref().filter(|job| by_sets && job.template.is_ok()) else { return };
        let mut meant = job.states.iter().flatten().peekable();
        let done = meant.peek().is_some() && meant.all(|state| *state == PrewarmState::Present);
        // The request is saved in the cluster, and the states belong to it.
        if done && job.request.by == asked.by && self.edits.is_empty() {
            let nodes = u32::try_from(job.states.iter().flatten().count()).unwrap_or(u32::MAX);
            self.happened(RolloutEventKind::PrewarmComplete { nodes }, Visibility::Cluster);
            let by = By { by: OURSELVES.into(), at: now };
            self.edit(None, Edit::Prewarm(PrewarmEdit::Complete { by, nodes }));
        }
    }

    /// Whether no StatefulSet for pre-warming is there, and none is on its way.
    pub(super) fn has_no_sets(&self, asked: &Prewarm) -> bool {
        !asked.stateful_sets
            || self.warming.sets.settled().is_some_and(|sets| !sets.iter().any(|set| self.is_ours(set)))
    }

    /// Whether a StatefulSet was made for this DaemonSet, or for an earlier one of its name.
    fn is_ours(&self, set: &WarmSetFact) -> bool {
        let daemonset = self.view.daemonset();
        daemonset.is_some_and(|daemonset| daemonset.uid == set.daemonset || is_set_of(&daemonset.name, &set.name))
    }

    /// Lists, makes and deletes StatefulSets, as far as each is due and may be sent now.
    pub(super) fn prewarm_by_sets(&mut self, not_after: Timestamp, now: Timestamp) -> Vec<(EffectId, Effect)> {
        let asked = self.recorded_prewarm().map(Cow::into_owned);
        let may_be_there = asked.as_ref().is_some_and(|asked| asked.stateful_sets);
        if !may_be_there && !self.view.warm().has_those_of_sets() {
            self.warming.sets.forget();
            return Vec::new();
        }
        if !self.warming.sets.is_free(now) {
            return Vec::new();
        }
        if self.warming.sets.is_list_due(now) {
            self.warming.sets.sent();
            return vec![(self.effects.send(Sent::ListSets), Effect::ListWarmSets)];
        }
        let deleted = self.delete_sets(asked.as_ref());
        if !deleted.is_empty() {
            return deleted;
        }
        match asked {
            Some(asked) if asked.method == PrewarmMethod::StatefulSet => self.make_sets(not_after),
            _ => Vec::new(),
        }
    }

    fn delete_sets(&mut self, asked: Option<&Prewarm>) -> Vec<(EffectId, Effect)> {
        let wanted = |set: &WarmSetFact| {
            let (Some(job), Some(asked)) = (&self.warming.job, asked) else { return false };
            let of_this = self.view.daemonset().is_some_and(|daemonset| daemonset.uid == set.daemonset);
            let by_sets = asked.method == PrewarmMethod::StatefulSet && asked.cancelled.is_none();
            of_this && by_sets && job.template.is_ok() && set.images == job.key && set.request == request_key(asked)
        };
        let sets = self.warming.sets.known().into_iter().flatten();
        let doomed = sets.filter(|set| !set.deleting && self.is_ours(set) && !wanted(set));
        let doomed: Vec<(Str, Str)> = doomed.map(|set| (set.name.clone(), set.uid.clone())).collect();
        let mut effects = Vec::with_capacity(doomed.len());
        for (name, uid) in doomed {
            self.warming.sets.sent();
            self.tell_warm_set(&name, Some(&uid), EventOutcome::Sent, None);
            let id = self.effects.send(Sent::DeleteSet { name: name.clone(), uid: uid.clone() });
            effects.push((id, Effect::DeleteWarmSet { name, uid }));
        }
        effects
    }

    /// Makes StatefulSets for the nodes that no StatefulSet covers, as many as may be at work.
    fn make_sets(&mut self, not_after: Timestamp) -> Vec<(EffectId, Effect)> {
        let (Some(job), Some(sets)) = (&self.warming.job, self.warming.sets.settled()) else { return Vec::new() };
        let (Ok(template), Some(daemonset)) = (&job.template, self.view.daemonset()) else { return Vec::new() };
        // The pods of a deleted StatefulSet have to be gone first: they may have the names of new ones.
        let left = |warm: &WarmPod| {
            warm.fact.set.as_ref().is_some_and(|name| !sets.iter().any(|set| set.name == *name && !set.deleting))
        };
        if sets.iter().any(|set| set.deleting && self.is_ours(set)) || self.view.warm().iter().any(left) {
            return Vec::new();
        }
        let ours: Vec<&WarmSetFact> = sets.iter().filter(|set| set.daemonset == daemonset.uid).collect();
        let covered: BTreeSet<&Str> = ours.iter().flat_map(|set| &set.nodes).collect();
        let names =
            job.for_sets.iter().map(|node| &self.view.entry(*node).name).filter(|name| !covered.contains(*name));
        let room = PREWARM_SET_NODES.saturating_sub(covered.len());
        let nodes: Vec<Str> = names.take(room).cloned().collect();
        let present = |name: &Str| {
            let state = self.view.node(name).and_then(|ix| job.states.get(ix)).and_then(Option::as_ref);
            state == Some(&PrewarmState::Present)
        };
        let at_work = ours.iter().filter(|set| !set.nodes.iter().all(present)).count();
        let free = usize::try_from(job.sets_at_once()).unwrap_or(usize::MAX).saturating_sub(at_work);
        let owner = WarmPodOwner { namespace: &self.config().namespace, name: &daemonset.name, uid: &daemonset.uid };
        let (shares, request) = (free.min(nodes.len()), request_key(&job.request));
        let made: Vec<(Str, serde_json::Value)> = (0..shares)
            .map(|nth| {
                let share: Vec<Str> = nodes.iter().skip(nth).step_by(shares).cloned().collect();
                warm_set(&owner, &share, template, &request)
            })
            .collect();
        let mut effects = Vec::with_capacity(made.len());
        for (name, set) in made {
            self.warming.sets.sent();
            self.tell_warm_set(&name, None, EventOutcome::Sent, None);
            let id = self.effects.send(Sent::CreateSet { name: name.clone() });
            effects.push((id, Effect::CreateWarmSet { name, set: Arc::new(set), not_after }));
        }
        effects
    }

    /// Takes in the list of StatefulSets, or the reason why they could not be listed.
    pub(super) fn warm_sets_outcome(&mut self, outcome: Outcome, now: Timestamp) {
        match outcome {
            Ok(Done::WarmSets(sets)) => self.warming.sets.listed(sets, now),
            Err(error) if error.kind == EffectErrorKind::Forbidden => {
                self.warming.sets.refused(&"StatefulSets".into(), &error.message, now);
            }
            Ok(_) | Err(_) => self.warming.sets.failed(now),
        }
    }

    /// Takes in the outcome of the creation of a StatefulSet.
    pub(super) fn warm_set_outcome(&mut self, name: &Str, outcome: Outcome, now: Timestamp) {
        match outcome {
            Ok(done) => {
                self.warming.sets.written();
                self.warming.sets.accepted();
                let uid = if let Done::WarmSetCreated { uid } = done { uid } else { None };
                self.tell_warm_set_made(name, uid);
            }
            // A StatefulSet of that name is there: the next list shows it.
            Err(EffectError { kind: EffectErrorKind::Conflict, .. }) => self.warming.sets.written(),
            Err(EffectError {
                kind: EffectErrorKind::TooLate | EffectErrorKind::NotSent | EffectErrorKind::Unauthorized,
                ..
            }) => {
                self.warming.sets.failed(now);
            }
            Err(EffectError { kind: EffectErrorKind::Unknown, .. }) => self.warming.sets.lost(now),
            Err(error) => {
                let (outcome, said) = (EventOutcome::from(error.kind), Some(error.message.clone()));
                self.tell_warm_set(name, None, outcome, said);
                self.warming.sets.refused(name, &error.message, now);
            }
        }
    }

    /// Takes in the outcome of the deletion of a StatefulSet.
    pub(super) fn warm_set_deletion_outcome(&mut self, (name, uid): (&Str, &Str), outcome: &Outcome, now: Timestamp) {
        match outcome {
            Ok(_) | Err(EffectError { kind: EffectErrorKind::NotFound | EffectErrorKind::Conflict, .. }) => {
                self.warming.sets.written();
            }
            Err(error) => {
                self.tell_warm_set(name, Some(uid), EventOutcome::from(error.kind), Some(error.message.clone()));
                self.warming.sets.failed(now);
            }
        }
    }
}
