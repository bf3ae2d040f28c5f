//! Brings everything that follows from the facts up to date: rows, suspects, budget, plan.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::assess::plan::{Limits, NodeLookup, Obstacles, Plan, budget};
use super::assess::rows::{Question, Row};
use super::machine::Engine;
use super::model::Str;
use super::model::budget::Replacer;
use super::model::facts::StrategyKind;
use super::model::labels::Selector;
use super::model::record::{Direction, Gates, Intent, Progress};
use super::model::time::Timestamp;

/// What an assessment of all nodes depends on, beside what was observed of each.
#[derive(Debug, PartialEq)]
pub(crate) struct Inputs {
    target: Option<Str>,
    direction: Direction,
    selector: Option<Selector>,
    gates: Gates,
    down_before: BTreeMap<Str, Timestamp>,
    left_out_since: Option<Timestamp>,
    acknowledged_failures: BTreeSet<Str>,
    halted_on: Vec<Str>,
    in_progress: BTreeSet<Str>,
    origin: Option<Str>,
    started_at: Option<Timestamp>,
}

impl Inputs {
    /// Whether this is what an assessment would depend on now.
    fn is_of(&self, target: Option<&Str>, intent: &Intent, progress: &Progress) -> bool {
        self.target.as_ref() == target
            && self.direction == intent.direction()
            && self.selector == intent.selector
            && self.gates == intent.gates
            && self.down_before == progress.down_before
            && self.left_out_since == progress.left_out_since
            && self.acknowledged_failures == progress.acknowledged_failures
            && self.halted_on == progress.halted_on()
            && self.in_progress == progress.in_progress
            && self.origin == progress.origin
            && self.started_at == progress.started_at
    }

    fn of(target: Option<&Str>, intent: &Intent, progress: &Progress) -> Self {
        Self {
            target: target.cloned(),
            direction: intent.direction(),
            selector: intent.selector.clone(),
            gates: intent.gates.clone(),
            down_before: progress.down_before.clone(),
            left_out_since: progress.left_out_since,
            acknowledged_failures: progress.acknowledged_failures.clone(),
            halted_on: progress.halted_on().to_vec(),
            in_progress: progress.in_progress.clone(),
            origin: progress.origin.clone(),
            started_at: progress.started_at,
        }
    }
}

impl Engine {
    /// Assesses the fleet as of `now`, if anything happened or its time has come.
    pub(crate) fn refresh(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        if !self.dirty && self.fresh_until.is_none_or(|until| now < until) {
            return;
        }
        self.follow_daemonset();
        if !self.lock.holds() {
            match self.lock.record() {
                Some(record) if record.progress == self.progress => {}
                Some(record) => self.progress.clone_from(&record.progress),
                None => self.progress = Progress::default(),
            }
        }
        self.view.guess_current(now);
        self.forget_lost_answers(now);
        self.node_retry.retain(|_, at| *at > now);
        let intent = self.assessed_intent().map(Cow::into_owned).unwrap_or_default();
        self.follow_refusals(&intent, now);
        let target = intent.target.clone().or_else(|| self.view.current.clone());
        let images =
            target.as_ref().and_then(|hash| self.view.revision(hash)).map(|revision| revision.template.images());
        self.view.confirm_images(images.unwrap_or_default());
        self.view.natural_ranks();
        let mut touched = self.view.take_touched();
        self.view.follow_missing(&mut touched, now);
        self.note_vanished();
        if !self.inputs.as_ref().is_some_and(|basis| basis.is_of(target.as_ref(), &intent, &self.progress)) {
            touched.all = true;
            self.inputs = Some(Inputs::of(target.as_ref(), &intent, &self.progress));
        }
        let mut under_way = self.is_under_way();
        loop {
            let deletions = &self.deletions;
            let deleting = |uid: &str| deletions.contains_key(uid);
            let (target, progress) = (target.as_ref(), &self.progress);
            let question = Question { target, intent: &intent, progress, under_way, deleting: &deleting, now };
            self.assessment.refresh(&self.view, &touched, &question);
            // `under_way` follows from the rows, and blame follows from `under_way`: assess again if it has changed.
            if self.is_under_way() == under_way {
                break;
            }
            (under_way, touched.all) = (!under_way, true);
        }
        self.judge_suspects(&intent, now);
        let mut limits = Limits::of(&self.view, &intent, &self.assessment);
        limits.room_for_names = self.room_for_names(&intent, limits.max_unavailable);
        self.budget = budget(&self.assessment, &limits, intent.budgets.strict);
        if self.strategy() == StrategyKind::RollingUpdate && self.lock.record().is_none() {
            self.budget.replaced_by = Replacer::Controller;
        }
        let standstill = self.rollout_hold(&intent, now);
        let refused = |row: &Row| self.refused_deletion(row, now);
        let obstacles = Obstacles { rollout_hold: &standstill, refused: &refused };
        let nodes = NodeLookup { name: &|row| self.name(row), outage: &|row| self.outage_of(row) };
        self.plan =
            Plan::of(&self.assessment, &limits, &self.budget, &intent, &obstacles, self.natural_ranks(), &nodes);
        self.note_blocker(&intent, now);
        self.dirty = false;
        self.fresh_until = self.wake_at();
    }
}
