//! Brings everything that follows from the facts up to date: rows, suspects, budget, plan.

use std::borrow::Cow;

use super::assess::plan::{Limits, budget};
use super::assess::rows::{Assessment, AssessmentInput};
use super::machine::Engine;
use super::model::event::{WatchHealth, Watched};
use super::model::record::{Intent, Progress};
use super::model::time::Timestamp;

impl Engine {
    /// Assesses the fleet as of `now`, if anything happened or if the time of the next change has come.
    pub(crate) fn refresh(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        if self.freshness.holds(now) {
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
        self.view.follow_original(self.lock.record().and_then(|record| record.progress.original_strategy.as_ref()));
        self.view.guess_current(now);
        self.view.give_up_warm_pods(now);
        self.forget_lost_answers(now);
        self.deletions.let_nodes_go(now);
        let intent = self.assessed_intent().map_or_else(|| self.intent_to_begin_with(), Cow::into_owned);
        self.follow_refusals(&intent, now);
        let target = intent.target.clone().or_else(|| self.view.current().cloned());
        let images =
            target.as_ref().and_then(|hash| self.view.revision(hash)).map(|revision| revision.template.images());
        self.view.confirm_images(images.unwrap_or_default());
        let site_label = self.site_label();
        self.view.tell_sites_apart_by(&site_label);
        let warmed = self.recorded_prewarm().and_then(|asked| self.template_to_prewarm(&asked.source).ok());
        self.view.prewarms(&warmed.map(|template| template.images()).unwrap_or_default());
        self.view.sum_up_pulls();
        self.view.natural_ranks();
        self.view.is_told_of_evictions(&self.progress.evicted, now);
        let mut touched = self.view.take_touched();
        self.view.follow_missing(&mut touched, now);
        self.note_who_left();
        let looks_on = self.progress.started_at.is_none();
        let controller_replaces = self.controller_replaces();
        let is_under_way = |engine: &Self| engine.is_under_way() || engine.assessment.controller_rolls_out();
        let mut under_way = is_under_way(self);
        let pods_seen_until = match self.health(Watched::Pods) {
            WatchHealth::Down { since, .. } | WatchHealth::Lagging { since, .. } => {
                Some(self.assessment.seen_until(since))
            }
            // What was seen before that was forbidden is shown on, and gets no older.
            WatchHealth::Forbidden { .. } if !self.view.is_forbidden(Watched::Pods) => {
                let heard_at = self.view.watches().heard_at(Watched::Pods);
                heard_at.map(|heard_at| self.assessment.seen_until(heard_at))
            }
            WatchHealth::Loading | WatchHealth::Live | WatchHealth::Forbidden { .. } => None,
        };
        let mut before_begin = self.before_begin();
        loop {
            let (target, progress) = (target.as_ref(), &self.progress);
            let (inputs, differ) = self.freshness.depends_on(target, &intent, progress, &before_begin);
            touched.all |= differ;
            let deletions = &self.deletions;
            let deleting = |uid: &str| deletions.contains(uid);
            let warming = &self.warming.writes;
            let warming = |node: &str| warming.is_creating(node);
            let question =
                AssessmentInput { inputs, under_way, deleting: &deleting, warming: &warming, pods_seen_until, now };
            self.assessment.refresh(&self.view, &touched, &question);
            let view = &self.view;
            let max_unavailable = |rows: &Assessment| Limits::of(view, &Intent::default(), rows).max_unavailable;
            self.assessment.follow_controller(target, (looks_on, controller_replaces), max_unavailable);
            // Both values follow from the rows, and blame follows from both: the rows are assessed again if one has changed.
            let (now_under_way, now_before_begin) = (is_under_way(self), self.before_begin());
            if now_under_way == under_way && now_before_begin == before_begin {
                break;
            }
            (under_way, before_begin, touched.all) = (now_under_way, now_before_begin, true);
        }
        self.judge_suspects(&intent, now);
        self.keep_evictions(&intent);
        let mut limits = Limits::of(&self.view, &intent, &self.assessment);
        limits.room_for_names = self.room_for_names(&intent, limits.max_unavailable);
        self.budget = budget(&self.assessment, &limits, intent.budgets.strict);
        self.budget.replaced_by = self.replaced_by();
        self.pace_sites(&intent, &limits, now);
        self.plan =
            self.plan_of(&self.assessment, &limits, &self.budget, &intent, &self.rollout_hold(&intent, now), now);
        self.assess_prewarming(&limits);
        self.note_blocker(&intent, now);
        self.freshness.assessed(self.wake_at());
    }
}
