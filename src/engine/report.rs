//! Makes the snapshot: puts the assessment and the plan into plain values for a front end.

mod absent_images;
pub mod advice;
mod alarms;
mod budget;
pub mod clocks;
pub mod diagnosis;
mod estimates;
mod failing_nodes;
pub mod guidance;
pub mod last_rollout;
mod lost_limits;
pub mod node_story;
mod not_known;
mod prewarm_images;
pub mod prewarm_words;
pub mod remedies;
mod running_revisions;
mod sending;
pub mod snapshot;
pub mod step_back;
pub mod story;
pub mod trouble;
pub mod undriven;
mod unsent;
mod update_times;
pub(super) mod waits;
mod watches;
pub mod words;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use self::snapshot::{Counts, ImageChange, NodeViews, Phase, PlanView, RevisionView, Snapshot};
use super::assess::plan::{Limits, RolloutHold};
use super::assess::rows::Row;
use super::machine::Engine;
use super::model::Str;
use super::model::clocks::NodeClocks;
use super::model::driver::DriverView;
use super::model::event::{Right, Watched};
use super::model::facts::{DaemonSetCounters, StrategyKind};
use super::model::hold::Hold;
use super::model::node::{Blame, ImageState, NodeState};
use super::model::presence::Presence;
use super::model::pull::{PullCounts, PullSummary};
use super::model::record::Intent;
use super::model::time::Timestamp;
use super::rules::holds::HoldToldBy;
use super::rules::saved_strategy::saved_json;

impl Engine {
    /// The snapshot; nodes that are the same in `last` are shared with it.
    pub(crate) fn report(&self, last: &NodeViews, now: Timestamp) -> Snapshot {
        // The intent that is saved in the cluster; edits that are not saved yet are shown beside it.
        let saved = self.saved_intent();
        let recorded = saved.is_some();
        let intent = saved.map_or_else(|| self.intent_to_begin_with(), Cow::into_owned);
        let daemonset = self.view.daemonset();
        let limits = Limits::of(&self.view, &intent, &self.assessment);
        let counts = self.counts(&intent);
        let phase = self.phase(recorded, &intent, now);
        let revisions = self.revisions();
        let to_hash = intent.target.clone().or_else(|| self.view.current().cloned());
        let find = |hash: &Str| revisions.iter().find(|revision| revision.hash == *hash).cloned();
        let to = to_hash.as_ref().and_then(find);
        // Once the last nodes are on their way no pod has the old revision any more, but the record still names it.
        let by_rolldeck = recorded && phase != Phase::Native;
        let before = || self.revision_before(&intent).or_else(|| self.given_up_by(&intent)).filter(|_| by_rolldeck);
        let left = self.majority_revision(to_hash.as_ref()).or_else(before);
        let from = left.as_ref().and_then(find);
        let nodes = self.node_views(last, &phase, now);
        Snapshot {
            at: now,
            namespace: self.config().namespace.clone(),
            name: self.config().name.clone(),
            uid: daemonset.map(|daemonset| daemonset.uid.clone()),
            daemonset: self.view.presence(),
            strategy: self.strategy(),
            surge: self.surge(),
            adopted: self.is_adopted(),
            original_strategy: daemonset.and_then(saved_json).map(|saved| strategy_words(&saved).into()),
            gitops_owners: self.view.gitops_owners().clone(),
            counters: daemonset.map(|daemonset| daemonset.counters).unwrap_or_default(),
            driver: self.driver_view(now),
            identity: self.config().identity.clone(),
            watches: self.watch_views(),
            rights: self.rights(),
            direction: intent.direction(),
            change_is_written: self.change_is_written(&intent),
            requested_change: intent.change.as_ref().map(|change| self.change_words(change).into()),
            started_at: self.progress.started_at.filter(|_| recorded).map(|at| self.view.our_time(at)),
            begun_anew: intent.begun_anew.as_ref().map(|anew| anew.begun.clone()),
            lost_record: self.record_is_missing().then(|| self.lost_record()).flatten().map(Into::into),
            retargeted_at: self.progress.marks.began().filter(|_| recorded).map(|at| self.view.our_time(at)),
            image_changes: image_changes(from.as_ref(), to.as_ref()),
            from,
            template_writer: self.template_writer().filter(|_| self.is_observed()),
            template_revision: self.view.current().cloned().filter(|_| self.is_observed()),
            to,
            revisions: revisions.into(),
            roll_back: self.usual_roll_back().map(|revision| revision.hash.clone()),
            roll_back_asks: self.roll_back_asks(&intent, now),
            counts,
            pulls: PullSummary { counts: self.pull_counts(), ..self.view.pull_summary().clone() },
            budget: self.budget_view(&intent, &nodes),
            estimate: self.rollout_estimate(&phase, &intent, &limits, now),
            times: self.update_times(),
            plan: self.plan_view(&intent, &limits),
            settings: intent.settings(),
            site_label: self.view.site_label().clone(),
            comparisons: self.suspects.judgement().comparisons.clone(),
            blocked: self.blocked(&intent, now),
            paused: intent.paused.clone(),
            halt: self.halt_as_it_stands(&intent),
            alarms: self.alarms(recorded, &intent, now),
            unsent: self.unsent(now),
            driver_stopped: self.progress.driver_stopped.clone().filter(|_| recorded),
            timeline: Arc::default(),
            earlier_events: self.event_log.dropped(),
            unaudited: Vec::new(),
            waits: self.waits_for(now).filter(|_| self.view.presence() == Presence::Present),
            prewarm: self.prewarm_view(),
            pace: self.pacing.view(),
            distance: self.distance_view(now),
            skew_millis: self.view.skew_millis(),
            node_clocks: NodeClocks::of(&nodes),
            creation_refused_at: self.view.creation().refusal().map(|refusal| refusal.said_at),
            nodes,
            phase,
        }
    }

    fn rights(&self) -> Vec<(Right, super::model::event::Permission)> {
        Right::ALL.map(|right| (right, self.view.permission(right))).to_vec()
    }

    fn driver_view(&self, now: Timestamp) -> DriverView {
        let ends = self.view.presence() == Presence::Absent || self.is_being_deleted();
        match self.lock.view(now) {
            _ if self.lock.is_unseen() => DriverView::Unknown,
            // The Lease is deleted with the DaemonSet or with its namespace, and nobody takes it again.
            DriverView::Waiting { holder: None } if ends => DriverView::Nobody,
            view => view,
        }
    }

    fn phase(&self, recorded: bool, intent: &Intent, now: Timestamp) -> Phase {
        let loaded = self.view.presence() == Presence::Present && !self.is_loading();
        if self.view.presence() == Presence::Loading || (self.view.presence() == Presence::Present && !loaded) {
            return Phase::Loading;
        }
        if self.view.presence() == Presence::Absent {
            return Phase::Idle;
        }
        if self.is_being_deleted() {
            return Phase::Held;
        }
        let rows = || self.assessment.rows();
        let settled = rows().filter(|row| row.in_fleet).all(Row::is_settled);
        let current_is_known = self.is_observed() && self.view.current().is_some();
        let nothing_to_do = current_is_known && !self.is_under_way();
        if !recorded {
            // Without revisions no pod is known to be updated, but its controller counts those that are.
            let counts_all = |counters: &DaemonSetCounters| counters.updated >= counters.desired;
            let all_by_counters = self.view.is_forbidden(Watched::Revisions)
                && self.is_observed()
                && self.view.daemonset().is_some_and(|daemonset| counts_all(&daemonset.counters));
            return match self.strategy() {
                _ if self.view.is_forbidden(Watched::Lease) && self.is_adopted() => Phase::Unknown,
                _ if all_by_counters => Phase::Idle,
                _ if settled || (nothing_to_do && !self.assessment.controller_rolls_out()) => Phase::Idle,
                StrategyKind::RollingUpdate => Phase::Native,
                StrategyKind::OnDelete => Phase::Held,
            };
        }
        if let Some(by) = &intent.releasing {
            return Phase::Releasing(by.clone());
        }
        // A halt stands until the roll back after it is made, but is not shown any more once that roll back is asked for.
        if self.is_halted(intent) && intent.change.is_none() {
            return Phase::Halted;
        }
        if self.daemonset.brakes() && self.strategy() == StrategyKind::RollingUpdate {
            // Whoever paused, the controller replaces pods until `OnDelete` is set.
            return Phase::Native;
        }
        if let Some(paused) = &intent.paused {
            return Phase::Paused(self.pause_as_it_stands(paused, intent));
        }
        if !self.is_ready_to_update(intent) {
            if self.view.is_forbidden(Watched::Revisions) && self.is_adopted() {
                return Phase::Unknown;
            }
            // Nothing is prepared if nothing is to be rolled out: only a driver records the revision of all nodes as the target.
            if self.has_nothing_to_roll(intent) {
                return Phase::Idle;
            }
            return if self.strategy() == StrategyKind::RollingUpdate && self.progress.adopted {
                Phase::Native
            } else {
                Phase::Preparing
            };
        }
        let crowded = self.is_crowded();
        let awaits = self.awaits_vanished_nodes();
        let began = self.progress.started_at.is_some();
        let is_at_rest = (settled && !crowded && !awaits) || (nothing_to_do && intent.change.is_none());
        if is_at_rest && !(began && self.keeps_more_than_there_are(intent)) {
            return match began {
                true if !self.view.current_is_certain() => Phase::Preparing,
                true => Phase::Complete,
                false => Phase::Idle,
            };
        }
        let comes = |row: &Row| {
            row.state.is_moving() && !self.only_soaks_undriven(row, now)
                || self.suspects.judgement().may_come_back(row.node)
        };
        // What may not be seen may move.
        let unseen = self.view.is_forbidden(Watched::Pods);
        let moving = unseen || crowded || rows().any(|row| row.in_fleet && comes(row));
        let in_line = self.plan.in_line > 0 && !self.stands_for_lack_of_images();
        let held = match self.rollout_hold(intent, now) {
            RolloutHold::Held(hold) => hold.told_by() == HoldToldBy::Held,
            RolloutHold::None => false,
        };
        if moving || (in_line && !held) { Phase::Running } else { Phase::Held }
    }

    /// Whether a pod only has to stay ready for the rollout's soak time, and nobody drives: its controller counts it as available, and nothing follows
    /// from the rest of that time before somebody drives. The list of all DaemonSets sees no soak, and says the same.
    fn only_soaks_undriven(&self, row: &Row, now: Timestamp) -> bool {
        let driver = self.driver_view(now);
        let min_ready = self.view.daemonset().map_or(0, |daemonset| daemonset.min_ready_secs);
        row.state == NodeState::Soaking
            && (driver.is_nobody() || driver.is_silent(self.view.server_time(now)))
            && row.available_at.is_none_or(|soaks| soaks.is_over_with(min_ready, now))
    }

    /// Whether a first listing on which the rows depend is still missing, and may yet come.
    fn is_loading(&self) -> bool {
        let rows_need = |watched: &Watched| match watched {
            Watched::Pods | Watched::Nodes | Watched::Revisions => true,
            Watched::DaemonSet | Watched::Events | Watched::Lease | Watched::WarmPods => false,
        };
        Watched::ALL
            .iter()
            .filter(|watched| rows_need(watched))
            .any(|watched| self.view.watches().is_unlisted(*watched))
    }

    fn counts(&self, intent: &Intent) -> Counts {
        let count = |test: &dyn Fn(&Row) -> bool| {
            u32::try_from(self.assessment.rows().filter(|row| row.in_fleet && test(row)).count()).unwrap_or(u32::MAX)
        };
        // What its controller counts is known where its pods, or their revisions, may not be read.
        let unseen = [Watched::Pods, Watched::Revisions].into_iter().any(|watched| self.view.is_forbidden(watched));
        if let Some(counters) = self.view.daemonset().map(|daemonset| daemonset.counters).filter(|_| unseen) {
            return Counts {
                nodes: counters.desired,
                updated: counters.updated.min(counters.available),
                committed: counters.updated,
                available: counters.available,
                misscheduled: counters.misscheduled,
                ..Counts::default()
            };
        }
        let forward = intent.direction() == super::model::record::Direction::Forward;
        Counts {
            nodes: self.assessment.fleet,
            updated: count(&Row::is_settled),
            committed: count(&|row| row.committed),
            available: count(&|row| row.available),
            leaked: count(&|row| forward && row.at_target && !row.selected),
            leaked_updated: count(&|row| forward && row.is_settled() && !row.selected),
            failed: count(&|row| row.state == NodeState::Failed || self.suspects.judgement().has_failed(row.node)),
            next: self.plan.in_line,
            misscheduled: u32::try_from(
                self.assessment.rows().filter(|row| !row.in_fleet && row.pod.is_some()).count(),
            )
            .unwrap_or(u32::MAX),
            removed_by_release: u32::try_from(self.removed_by_release().len()).unwrap_or(u32::MAX),
        }
    }

    fn pull_counts(&self) -> PullCounts {
        let mut counts = PullCounts::default();
        for row in self.assessment.rows().filter(|row| row.in_fleet) {
            let count = match self.shown_image(row) {
                ImageState::Present => &mut counts.present,
                ImageState::Pulling { .. } => &mut counts.pulling,
                ImageState::Failed => &mut counts.failed,
                ImageState::Absent => &mut counts.absent,
                ImageState::Unknown => &mut counts.unknown,
            };
            *count += 1;
        }
        counts
    }

    fn plan_view(&self, intent: &Intent, limits: &Limits) -> PlanView {
        let fleet = self.assessment.fleet;
        let totals = || intent.steps.totals(fleet);
        let within = totals().rposition(|total| total > 0 && total <= limits.allowed);
        // A step that a selector cuts short allows only as many nodes as there are: the current step is the first one that would allow
        // more.
        let selectable = self.count_rows(|row| row.in_fleet && (row.committed || row.selected));
        let cut_short = intent.selector.as_ref().and_then(|_| {
            let passes = within.and_then(|at| totals().nth(at)).is_some_and(|total| total < limits.allowed);
            totals().position(|total| total > limits.allowed).filter(|_| passes && selectable <= limits.allowed)
        });
        // If no step allows exactly as many nodes as may go, the rollout is on its way to the next step that allows as many.
        let on_the_way = || totals().position(|total| total >= limits.allowed).or(intent.steps.len().checked_sub(1));
        let step = if limits.allowed > 0 { cut_short.or(within).max(on_the_way()) } else { cut_short.or(within) };
        let selected = self.assessment.rows().filter(|row| row.in_fleet && row.selected).count();
        PlanView {
            steps: intent.steps.to_vec(),
            step,
            partition: Some(intent.partition),
            keep: limits.keep,
            keeps_more_than_there_are: self.keeps_more_than_there_are(intent),
            allowed: limits.allowed,
            selector: intent.selector.clone(),
            selected: u32::try_from(selected).unwrap_or(u32::MAX),
            selectable,
            next: (self.view.presence() == Presence::Present).then(|| self.next_step(intent)),
        }
    }

    fn revisions(&self) -> Vec<RevisionView> {
        let mut halted = self.halted_revisions();
        let mut pods: HashMap<&Str, u32> = HashMap::new();
        for row in self.assessment.rows() {
            let pod = row.pod.and_then(|pod| self.view.pod(pod));
            if let Some(revision) = pod.and_then(|pod| pod.fact.revision.as_ref()) {
                *pods.entry(revision).or_default() += 1;
            }
        }
        let mut views: Vec<RevisionView> = self
            .view
            .own_revisions()
            .map(|revision| RevisionView {
                hash: revision.hash.clone(),
                number: Some(revision.number),
                images: revision
                    .template
                    .containers()
                    .iter()
                    .map(|container| (container.name.clone(), container.image.clone()))
                    .collect(),
                template: Some(revision.template.clone()),
                seen_numbers: self.view.seen_numbers(&revision.hash).to_vec(),
                created_at: Some(self.view.our_time(revision.created_at)),
                change_cause: revision.change_cause.clone(),
                pods: pods.remove(&revision.hash).unwrap_or(0),
                halted: halted.remove(&revision.hash),
            })
            .collect();
        // The rest are pods of revisions that are not in the history (any more).
        let mut unknown: Vec<RevisionView> = pods
            .into_iter()
            .map(|(hash, pods)| RevisionView {
                hash: hash.clone(),
                number: None,
                images: Vec::new(),
                template: None,
                seen_numbers: Vec::new(),
                created_at: None,
                change_cause: None,
                pods,
                halted: halted.remove(hash),
            })
            .collect();
        unknown.sort_by(|a, b| a.hash.cmp(&b.hash));
        views.sort_by_key(|view| std::cmp::Reverse(view.number));
        views.append(&mut unknown);
        views
    }

    fn node_views(&self, last: &NodeViews, phase: &Phase, now: Timestamp) -> NodeViews {
        // Nothing true can be said of nodes whose pods are still to be listed. The views of thousands of nodes are also made only once.
        if *phase == Phase::Loading {
            return NodeViews::default();
        }
        let waits = self.waits_for(now);
        let natural = self.natural_ranks();
        let mut order: Vec<(u8, u32, &Row)> = self
            .assessment
            .rows()
            .map(|row| {
                let rank = self.plan.rank(row.node);
                let natural = natural.get(row.node).copied().unwrap_or(u32::MAX);
                // Those that count as failed are the worst, whatever their state is by now.
                let group = if self.has_failed(row) { 0 } else { group(row, rank.is_some()) };
                (group, rank.unwrap_or(natural), row)
            })
            .collect();
        order.sort_unstable_by_key(|(group, rank, row)| (*group, *rank, row.node));
        let numbers: HashMap<&Str, i64> =
            self.view.own_revisions().map(|revision| (&revision.hash, revision.number)).collect();
        let views = order.into_iter().map(|(_, _, row)| {
            let mut view = self.node_view(row, &numbers);
            view.down_by = self.down_by(&view);
            match (&view.hold, &waits) {
                // The plan is not in force any more.
                (Some(Hold::Partition { .. } | Hold::Selector), _) if matches!(phase, Phase::Releasing(_)) => {
                    view.hold = Some(Hold::Preparing);
                }
                (Some(_), _) if *phase == Phase::Unknown => view.hold = Some(Hold::NotKnown),
                (Some(Hold::Next), Some(waits)) => view.hold = Some(Hold::Waits(waits.clone())),
                (None, _) => {
                    let pod = row.pod.and_then(|pod| self.view.pod(pod));
                    view.hold = pod.and_then(|pod| self.waits_for_deletion(&pod.fact.uid, now)).map(Hold::Waits);
                }
                _ => {}
            }
            view
        });
        NodeViews::sharing(last, views)
    }
}

/// The group of a row: trouble first, then nodes that move, then nodes that are next in line, then the rest.
fn group(row: &Row, in_line: bool) -> u8 {
    match (row.state, row.blame) {
        (NodeState::Failed, _) => 0,
        (NodeState::NodeDown, Some(Blame::Suspect | Blame::Rollout)) => 1,
        _ if row.restarted.is_some() => 1,
        (state, _) if state.is_moving() && row.in_fleet => 2,
        (NodeState::Outdated, _) if in_line => 3,
        (NodeState::NodeDown, _) => 4,
        (NodeState::Outdated, _) => 5,
        (NodeState::Updated, _) => 6,
        _ => 7,
    }
}

fn image_changes(from: Option<&RevisionView>, to: Option<&RevisionView>) -> Vec<ImageChange> {
    let (Some(from), Some(to)) = (from, to) else { return Vec::new() };
    let image = |images: &[(Str, Str)], container: &Str| {
        images.iter().find(|(name, _)| name == container).map(|(_, image)| image.clone())
    };
    let mut containers: Vec<&Str> = to.images.iter().map(|(name, _)| name).collect();
    containers.extend(from.images.iter().map(|(name, _)| name).filter(|name| image(&to.images, name).is_none()));
    containers
        .into_iter()
        .map(|container| ImageChange {
            container: container.clone(),
            from: image(&from.images, container),
            to: image(&to.images, container),
        })
        .filter(|change| change.from != change.to)
        .collect()
}

/// A strategy in words: `RollingUpdate, maxUnavailable 2`, `RollingUpdate, maxSurge 1`, `OnDelete`.
fn strategy_words(strategy: &serde_json::Value) -> String {
    let kind = strategy["type"].as_str().unwrap_or("RollingUpdate");
    if kind != "RollingUpdate" {
        return kind.to_owned();
    }
    let mut words = kind.to_owned();
    for field in ["maxUnavailable", "maxSurge"] {
        match &strategy["rollingUpdate"][field] {
            serde_json::Value::String(percent) if percent != "0%" => words.push_str(&format!(", {field} {percent}")),
            serde_json::Value::Number(count) if count.as_u64() != Some(0) => {
                words.push_str(&format!(", {field} {count}"));
            }
            _ => {}
        }
    }
    words
}
