//! Decides what to write next, in this order: bring the record up to what was observed, write the Lease, change the
//! DaemonSet, delete pods. A later step is taken only if the earlier ones allow it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::engine::assess::plan::RolloutHold;
use crate::engine::assess::rows::Row;
use crate::engine::lease::edit::Edit;
use crate::engine::lease::lock::{InFlight, KnownLease, Want};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, CommandId, Takeover, Unsettled};
use crate::engine::model::config::Role;
use crate::engine::model::effect::{DaemonSetPatch, Effect, EffectId};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::node::{NodeIx, NodeState};
use crate::engine::model::presence::Presence;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::size::clipped;
use crate::engine::model::record::{
    By, Direction, EXCEPTIONS_LIMIT, Finish, Gates, Halt, Intent, ORIGINAL_STRATEGY, OURSELVES, OnFailure, Paused,
    Progress,
};
use crate::engine::model::rollout_event::{RolloutEventKind, Visibility};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::change::change_annotation;
use crate::engine::writes::daemonset::PatchKind;
use crate::engine::writes::pending::Needs;

impl Engine {
    pub(crate) fn decide_now(&mut self, now: Timestamp) -> Vec<(EffectId, Effect)> {
        let mut effects = Vec::new();
        self.watch_the_lease(now);
        self.brake_for_pauses();
        self.drop_stale_answers();
        self.steer(now);
        self.fit_progress(now);
        effects.extend(self.write_lease(now));
        effects.extend(self.write_daemonset(now));
        self.note_waits(now);
        effects.extend(self.replace_pods(now));
        self.settle(now);
        effects
    }

    /// If somebody sets the strategy back while a pause is not settled yet, that pause also has to set `OnDelete`.
    fn brake_for_pauses(&mut self) {
        if self.strategy() != StrategyKind::RollingUpdate {
            return;
        }
        for pending in self.pending.iter_mut() {
            if matches!(pending.command.inner(), Command::Pause { .. }) {
                pending.needs = Needs::Adopted;
                self.daemonset.set_brake(true);
            }
        }
    }

    /// Drops the edits that we decided on as the driver, once somebody else drives or the record is gone.
    fn drop_stale_answers(&mut self) {
        let elsewhere = self.lock.holder().is_some() && !self.lock.holds();
        if elsewhere || self.lock.record().is_none() {
            self.edits.drop_our_own(|edit| matches!(edit, Edit::Handover(_)));
        }
    }

    // ── The record ────────────────────────────────────────────────────────────────────────────────────────────────

    /// Brings the record up to what was observed. Only the holder does.
    fn steer(&mut self, now: Timestamp) {
        if self.config().role == Role::OneShot && self.pending.is_empty() {
            self.lock.want = Want::No;
        }
        if self.lock.want == Want::Ask {
            self.ask_for_the_lease(now);
        }
        if !self.lock.may_act(now) || self.view.presence != Presence::Present {
            return;
        }
        let Some(intent) = self.recorded_intent().map(Cow::into_owned) else { return };
        let handover = intent.handover.as_ref();
        if handover.is_some_and(|handover| handover.by != self.config().identity) {
            self.lock.want = Want::No;
        }
        if self.is_being_deleted() {
            return;
        }
        if intent.releasing.is_some() && self.release_is_done() {
            self.tell_released();
            self.edit(None, Edit::End);
            // A rollout that is begun before this is written starts with empty progress.
            self.progress = Progress::default();
            self.lock.want = Want::No;
            return;
        }
        self.call_off_release(&intent);
        self.forget_who_stopped();
        self.notice_adoption(&intent, now);
        self.follow_template(&intent, now);
        if self.config().role == Role::Driver {
            self.note_idle(now);
            self.note_refused();
        }
        if self.config().role == Role::Driver && intent.releasing.is_none() {
            self.keep_exceptions();
            self.halt_on_failure(&intent, now);
            self.finish(&intent, now);
        }
    }

    /// Asks the living holder for the lease through the record, once.
    fn ask_for_the_lease(&mut self, now: Timestamp) {
        let asked = self.intent().handover.is_some_and(|handover| handover.by == self.config().identity);
        if self.lock.living_other(now).is_some() && !asked {
            let by = By { by: self.config().identity.clone(), at: now };
            self.edit(None, Edit::Handover(by));
        }
    }

    pub(crate) fn pause(&mut self, why: String, now: Timestamp) {
        self.edit(None, Edit::Hold(Paused { by: OURSELVES.into(), at: now, why: Some(why.into()) }));
    }

    /// The rollout begins now, and earlier halts do not count any more. If it is the first one under this record, nodes that are
    /// down already are noted as down before it. A later rollout under the same record keeps that list, and nodes that an
    /// earlier one took down stay blamed on the rollout.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.progress.acknowledged_failures.clear();
        self.progress.halt = None;
        self.progress.suspects.clear();
        self.progress.others_down.clear();
        self.progress.compared_since = Some(self.view.server_time(now));
        if self.progress.started_at.is_some() {
            return;
        }
        self.progress.started_at = Some(now);
        self.progress.origin = self.majority_revision(self.view.current.as_ref());
        let down = self.assessment.rows().filter(|row| row.in_fleet && !row.available);
        let before = down.filter(|row| row.state == NodeState::NodeDown || row.state == NodeState::Outdated);
        let mut before: Vec<_> = before.collect();
        // First those nodes that could not be told from nodes that the rollout took down if they were not named.
        before.sort_by_key(|row| !self.looks_like_ours(row));
        self.progress.left_out_since = (before.len() > EXCEPTIONS_LIMIT).then(|| self.began_for_sure(now));
        self.progress.down_before =
            before.into_iter().take(EXCEPTIONS_LIMIT).map(|row| (self.name(row), row.since.unwrap_or(now))).collect();
    }

    /// Drops names of nodes to which an exception does not apply any more.
    fn keep_exceptions(&mut self) {
        let progress = &self.progress;
        if progress.down_before.is_empty()
            && progress.acknowledged_failures.is_empty()
            && progress.in_progress.is_empty()
        {
            return;
        }
        let there: std::collections::BTreeSet<Str> =
            self.assessment.rows().filter(|row| row.available && row.at_target).map(|row| self.name(row)).collect();
        let view = &self.view;
        let sees_nodes = self.health(Watched::Nodes) == WatchHealth::Live && !self.catches_up();
        let exists = |name: &Str| {
            let ix = view.node(name);
            ix.is_some_and(|ix| view.nodes[ix].fact.is_some() || view.pods_on(ix).next().is_some())
        };
        // The name of a node that is gone is dropped: a node of that name that comes again gets a pod of the present template.
        self.progress.in_progress.retain(|name| !there.contains(name) && (!sees_nodes || exists(name)));
        let well: std::collections::BTreeSet<Str> =
            self.assessment.rows().filter(|row| row.available).map(|row| self.name(row)).collect();
        self.progress.down_before.retain(|name, _| !well.contains(name));
        self.progress.acknowledged_failures.retain(|name| !well.contains(name));
    }

    /// Halts, or goes back, when too many nodes failed at the new revision.
    fn halt_on_failure(&mut self, intent: &Intent, now: Timestamp) {
        if let Some(halt) = &self.progress.halt
            && halt.number <= intent.acknowledged_halt
        {
            if !halt.nodes.is_empty() {
                // Nodes that went down until now are accepted as well: they are not compared any more.
                self.progress.compared_since = Some(self.view.server_time(now));
                let accepted = &halt.nodes;
                self.progress.suspects.retain(|name, _| !accepted.contains(name));
            }
            self.progress.acknowledged_failures.extend(halt.nodes.iter().cloned());
            if let Some(halt) = &mut self.progress.halt {
                halt.nodes.clear();
            }
        }
        if intent.direction() == Direction::Back || intent.target.is_none() || intent.change.is_some() {
            return;
        }
        // Gates on single nodes are carried out in `assess.rs`, `assess/absence.rs` and `suspects.rs`.
        let Gates {
            failure_threshold,
            on_failure,
            progress_deadline_secs: _,
            max_restarts: _,
            soak_secs: _,
            suspect_grace_secs: _,
        } = intent.gates;
        let acknowledged_failures = &self.progress.acknowledged_failures;
        let failed: Vec<_> = self
            .assessment
            .rows()
            .filter(|row| self.has_failed(row) && !acknowledged_failures.contains(&self.name(row)))
            .collect();
        let threshold = failure_threshold.of(self.assessment.desired, Rounding::Up).max(1);
        let halted = self.is_halted(intent);
        // As long as any node is failed, the halt that stands keeps naming the nodes that are failed now.
        let stands = halted && !failed.is_empty();
        if u32::try_from(failed.len()).unwrap_or(u32::MAX) < threshold && !stands {
            return;
        }
        let nodes: Vec<Str> = failed.iter().take(EXCEPTIONS_LIMIT).map(|row| self.name(row)).collect();
        let why = clipped(&failure_words(&failed, |row| self.suspect_words(row))).to_string();
        if halted {
            if let Some(halt) = self.progress.halt.as_mut().filter(|halt| halt.nodes != nodes) {
                halt.why = why.into();
                halt.nodes = nodes;
            }
            return;
        }
        // While it is paused nothing goes back by itself: that waits until an operator resumes.
        let goes_back = on_failure == OnFailure::RollBack && intent.paused.is_none();
        let before = self.revision_before(intent);
        let why = match before {
            None if goes_back => {
                format!("{why}; it leads to where it came from, so that there is nothing to roll back to")
            }
            _ => why,
        };
        let number = self.progress.halt.as_ref().map_or(0, |halt| halt.number).max(intent.acknowledged_halt) + 1;
        self.tell_halted(number, &why, &nodes);
        self.progress.halt = Some(Halt { number, at: now, why: why.into(), nodes });
        if let Some(from) = before.filter(|_| goes_back) {
            self.happened(RolloutEventKind::RollingBack { to: from.clone() }, Visibility::Cluster);
            let id = self.new_change_id(self.edits.next_serial(), now);
            self.edit(None, Edit::GoBack { to: from, failed: intent.target.clone(), id });
        }
    }

    /// The revision that the rollout came from, to which a roll back leads. `None` if the rollout itself leads to that
    /// revision: then it is the one that fails, and of no other revision is it known that it works.
    fn revision_before(&self, intent: &Intent) -> Option<Str> {
        match &self.progress.origin {
            Some(origin) => Some(origin.clone()).filter(|origin| Some(origin) != intent.target.as_ref()),
            None => self.majority_revision(intent.target.as_ref()),
        }
    }

    /// Hands the DaemonSet back when every node is at the target.
    fn finish(&mut self, intent: &Intent, now: Timestamp) {
        if !self.is_complete(intent) || !self.saved_progress_began() {
            return;
        }
        if intent.finish == Finish::Keep {
            // The next rollout starts from this revision.
            self.progress.origin.clone_from(&intent.target);
        } else {
            let by = By { by: OURSELVES.into(), at: now };
            if !self.release_must_wait(&by) {
                self.tell_complete();
                self.edit(None, Edit::Complete { target: intent.target.clone(), by });
            }
        }
    }

    fn saved_progress_began(&self) -> bool {
        self.lock.record().is_some_and(|record| record.progress.started_at.is_some())
    }

    // ── The lease ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// One write of the lease at a time: it carries the lock, all edits and the progress.
    pub(crate) fn write_lease(&mut self, now: Timestamp) -> Option<(EffectId, Effect)> {
        if !self.lock.can_write(now) || self.lock.record_error().is_some() {
            return None;
        }
        let write = if self.lock.holds() {
            self.holders_write(now)?
        } else if self.lock.want != Want::No && self.lock.is_free(now) && self.is_recorded() {
            let cleared = self.record().map(|mut record| {
                record.intent.handover = None;
                record
            });
            self.lock.hold(cleared, now)
        } else if self.edits.is_empty() {
            return None;
        } else {
            self.lock.keep_holder(self.record())
        };
        self.sending.proof_is_on_its_way();
        let mark = self.write_id();
        let id = self.send_lease();
        let resource_version = self.lock.resource_version();
        let against = resource_version.clone();
        let edits_before = self.edits.next_serial();
        let good_for = self.sending.distance.proof_age();
        self.lock.in_flight =
            Some(InFlight { id, sent_at: now, write: write.clone(), against, edits_before, write_id: mark, good_for });
        Some((id, Effect::WriteLease { resource_version, lease: Box::new(write) }))
    }

    fn holders_write(&self, now: Timestamp) -> Option<crate::engine::model::effect::LeaseWrite> {
        let intent = self.recorded_intent();
        let over = intent.is_none();
        if (self.lock.want == Want::No || over) && !self.effects.has_deletion() && !self.daemonset.is_patching() {
            return Some(self.lock.give_back(self.record_to_write()));
        }
        let news = match (self.lock.record(), intent) {
            (Some(saved), Some(intent)) => saved.intent != *intent || saved.progress != self.progress,
            (saved, intent) => saved.is_some() != intent.is_some(),
        };
        (news || self.sending.needs_proof() || self.lock.renewal_due(now)).then(|| self.lock.hold(self.record(), now))
    }

    // ── The DaemonSet ─────────────────────────────────────────────────────────────────────────────────────────────

    /// One patch of the DaemonSet at a time.
    fn write_daemonset(&mut self, now: Timestamp) -> Option<(EffectId, Effect)> {
        let daemonset = self.view.daemonset.as_ref().filter(|daemonset| !daemonset.deleting)?;
        if !self.daemonset.may_send(&daemonset.resource_version, now) {
            return None;
        }
        let rolling = daemonset.strategy.kind == StrategyKind::RollingUpdate;
        if !rolling {
            self.daemonset.is_on_delete();
        }
        let (kind, patch) = if self.daemonset.brakes() {
            (PatchKind::Adopt, self.adoption())
        } else if self.lock.may_act(now) {
            self.holders_patch()?
        } else {
            return None;
        };
        let resource_version = self.view.daemonset.as_ref()?.resource_version.clone();
        let id = self.send_patch(kind, resource_version.clone());
        Some((id, Effect::PatchDaemonSet { resource_version, patch }))
    }

    fn holders_patch(&self) -> Option<(PatchKind, DaemonSetPatch)> {
        let daemonset = self.view.daemonset.as_ref()?;
        let intent = self.lock.record()?.intent.clone();
        if intent.handover.is_some() || self.lock.want == Want::No {
            return None;
        }
        if let Some(by) = &intent.releasing {
            // An edit that calls the release off may be waiting to be saved.
            let stands = self.recorded_intent().is_some_and(|intent| intent.releasing.is_some());
            if !stands || self.release_must_wait(by) {
                return None;
            }
            let Some(saved) = Self::original_strategy(daemonset) else { return self.tidying() };
            // If somebody has set a rolling strategy meanwhile, theirs stays.
            let rolling = daemonset.strategy.kind == StrategyKind::RollingUpdate;
            let original = if rolling { daemonset.strategy.raw.clone() } else { saved };
            let rolls = original["type"].as_str() != Some("OnDelete");
            let expected_template = rolls.then(|| daemonset.template.clone());
            return Some((PatchKind::Release, DaemonSetPatch::Release { original, expected_template }));
        }
        if !self.is_adopted() {
            // A strategy that somebody set back after the adoption is handled as a drift (`strategy_drift.rs`), not here. Where
            // somebody set `OnDelete` by hand, only the annotation with the original strategy is missing: that is written.
            let fought = self.progress.adopted && daemonset.strategy.kind == StrategyKind::RollingUpdate;
            return (!fought).then(|| (PatchKind::Adopt, self.adoption()));
        }
        let Some(request) = intent.request() else { return self.tidying() };
        // A change that was made or refused is about to be removed from the record: it is not sent again.
        let stands = self.recorded_intent().is_some_and(|intent| intent.request().as_ref() == Some(&request));
        if !stands || !self.is_observed() || !self.is_to_be_sent(&request) {
            return None;
        }
        let wanted = self.template_wanted(&request.change).ok()?;
        let differs = wanted != daemonset.template;
        let change = request.id.as_ref().map(|id| change_annotation(id, daemonset.generation + 1).into());
        let patch = || DaemonSetPatch::Template { template: wanted.json().clone(), change };
        differs.then(|| (PatchKind::Template, patch()))
    }

    /// The patch that adopts. It saves the present strategy as the original one, unless this rollout has saved one already: then
    /// that one stays the original, whoever drives or brakes by now. An annotation left behind by a rollout whose record is gone
    /// is overwritten, because somebody may have set another strategy since. As long as the Lease has not been seen, so that
    /// it is not known whether there is a record, a saved strategy is kept.
    fn adoption(&self) -> DaemonSetPatch {
        let daemonset = self.view.daemonset.as_ref();
        let began = |progress: &Progress| progress.adopted || progress.drifted;
        let recorded =
            self.lock.known == KnownLease::Nothing || self.lock.record().is_some_and(|it| began(&it.progress));
        let ours = recorded || began(&self.progress) || self.strategy() == StrategyKind::OnDelete;
        let saved = daemonset.filter(|_| ours).and_then(|daemonset| daemonset.annotations.get(ORIGINAL_STRATEGY));
        let original = saved.map_or_else(
            || daemonset.map(|daemonset| daemonset.strategy.raw.to_string()).unwrap_or_default(),
            ToString::to_string,
        );
        DaemonSetPatch::Adopt { original }
    }

    // ── The pods ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// Deletes the pods that the plan lets go next, if we may start anything at all.
    fn replace_pods(&mut self, now: Timestamp) -> Vec<(EffectId, Effect)> {
        let intent = self.intent();
        if !self.may_start(&intent, now) || self.plan.next.is_empty() {
            return Vec::new();
        }
        if self.progress.started_at.is_none() {
            self.begin(now);
            return self.write_lease(now).into_iter().collect();
        }
        if !self.saved_progress_began() {
            return Vec::new();
        }
        let next: Vec<NodeIx> = self.plan.next.clone();
        // If deletions are refused for all pods, one deletion is tried to find out whether that is still so.
        let tried = if self.refusals.are_general() { 1 } else { usize::MAX };
        let next = next
            .into_iter()
            .take(tried)
            .filter(|node| self.deletions.node_held_until(*node).is_none_or(|at| at <= now));
        let next: Vec<(NodeIx, Str)> = next.map(|node| (node, self.view.nodes[node].name.clone())).collect();
        self.send_deletions(next, now)
    }

    /// Whether anything may be started now: we drive, the record says what we think it says, and we see enough.
    fn may_start(&self, intent: &Intent, now: Timestamp) -> bool {
        self.config().role == Role::Driver
            && self.lock.may_act(now)
            && self.lock.want != Want::No
            && self.edits.is_empty()
            && intent.handover.is_none()
            && now >= self.deletions.retry.at
            && !self.catches_up()
            && self.rollout_hold(intent, now) == RolloutHold::None
    }

    // ── The commands ──────────────────────────────────────────────────────────────────────────────────────────────

    /// Tells which commands are done.
    fn settle(&mut self, now: Timestamp) {
        let pending = self.pending.take();
        let called_off = |engine: &Self| {
            engine.recorded_intent().is_some_and(|intent| intent.releasing.is_none()) && engine.is_adopted()
        };
        for pending in pending {
            let saved = !self.edits.has_any_of(pending.id);
            if pending.needs == Needs::Changed {
                match self.change_result(&pending).filter(|_| saved) {
                    Some(result) => self.settled(pending, result),
                    None => self.pending.add(pending),
                }
                continue;
            }
            match self.is_done(pending.id, pending.needs, saved, now) {
                Some(by_whom) => {
                    let result = Ok(format!("{}{by_whom}", pending.says));
                    self.settled(pending, result);
                }
                None if saved && pending.needs == Needs::Released && called_off(self) => {
                    let why = "called off: somebody asked for something else meanwhile".to_owned();
                    self.settled(pending, Err(Unsettled::Failed(why)));
                }
                None => self.pending.add(pending),
            }
        }
    }

    /// `Some` when the command is done, with a remark on who carries it out where that is not us.
    fn is_done(&self, _id: CommandId, needs: Needs, saved: bool, now: Timestamp) -> Option<String> {
        let ours = String::new;
        if !saved {
            return None;
        }
        let elsewhere = || self.lock.living_other(now).map(|holder| format!(" (recorded; {holder} carries it out)"));
        match needs {
            Needs::Saved => Some(ours()),
            Needs::Adopted if self.strategy() == StrategyKind::OnDelete && !self.daemonset.brakes() => Some(ours()),
            Needs::Adopted if self.daemonset.brakes() => None,
            Needs::Released if !self.is_recorded() && !self.is_adopted() => Some(ours()),
            Needs::Changed => None,
            Needs::Adopted | Needs::Released => elsewhere(),
            Needs::Driving(_) if self.lock.holds() => Some(ours()),
            Needs::Driving(Takeover::IfFree | Takeover::Ask) => None,
            Needs::DriverStopped => (!self.lock.holds() && self.lock.in_flight.is_none()).then(ours),
        }
    }

    /// The release is recorded and done on the DaemonSet: the record may go.
    fn release_is_done(&self) -> bool {
        let recorded = self.lock.record().is_some_and(|record| record.intent.releasing.is_some());
        let annotations = self.view.daemonset.as_ref().map(|daemonset| &daemonset.annotations);
        let annotated = annotations.is_some_and(|annotations| annotations.get(ORIGINAL_STRATEGY).is_some());
        recorded && !annotated && self.tidying().is_none() && !self.daemonset.is_patching()
    }
}

/// What failed and where, most frequent cause first: `image not found on ipc-017, ipc-018 and 3 more`.
fn failure_words(failed: &[&Row], suspect: impl Fn(&Row) -> Option<String>) -> String {
    let mut causes: BTreeMap<String, u32> = BTreeMap::new();
    for row in failed {
        let words = match (suspect(row), &row.cause) {
            (Some(words), _) => words,
            (None, Some(cause)) => cause.to_string(),
            (None, None) => "failed".to_owned(),
        };
        *causes.entry(words).or_default() += 1;
    }
    let mut causes: Vec<(String, u32)> = causes.into_iter().collect();
    causes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let words: Vec<String> = causes
        .into_iter()
        .map(
            |(words, count)| {
                if count == 1 { format!("{words} on 1 node") } else { format!("{words} on {count} nodes") }
            },
        )
        .collect();
    words.join(", ")
}
