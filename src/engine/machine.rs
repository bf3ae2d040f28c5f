//! The struct [`Engine`]: its fields, and how facts and commands change it. What to write next is decided in
//! [`super::decide`], what became of writes is taken in by [`super::outcome`], what to show is made in [`super::report`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::assess::{Assessment, Question, Row};
use super::change::WrittenChange;
use super::edit::Edit;
use super::event_log::EventLog;
use super::lock::{Lock, Want};
use super::model::budget::{BudgetView, Replacer};
use super::model::change_request::ChangeRequest;
use super::model::command::{Command, CommandId, Preview, Refusal, Takeover};
use super::model::config::{Config, Role};
use super::model::effect::{Effect, EffectError, EffectId};
use super::model::event::{Event, WatchHealth, Watched};
use super::model::facts::{DaemonSetFact, LeaseFact, StrategyKind};
use super::model::labels::Selector;
use super::model::node::NodeIx;
use super::model::notice::Notice;
use super::model::pod_wait::Blocker;
use super::model::record::{By, ChangeOutcome, Direction, Gates, Intent, ORIGINAL_STRATEGY, Progress, Record};
use super::model::rollout_event::EventOutcome;
use super::model::time::Timestamp;
use super::model::{Str, person_of};
use super::outcome::{LOST_ANSWER, Retry};
use super::plan::{Limits, NodeLookup, Obstacles, Plan, RolloutHold, budget};
use super::refused::Refusals;
use super::sending::Sending;
use super::snapshot::Snapshot;
use super::suspects::Judgement;
use super::view::View;

/// The state machine of one rollout.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    pub(crate) view: View,
    pub(crate) lock: Lock,
    /// Commands that are not settled yet, oldest first.
    pub(crate) pending: Vec<Pending>,
    /// Edits of the record that are not saved yet, oldest first.
    pub(crate) edits: Vec<Unsaved>,
    /// Our copy of the progress. While we drive it is ahead of the record; otherwise it is the one in the record.
    pub(crate) progress: Progress,
    /// Deletions that were sent and are not seen yet, by pod uid.
    pub(crate) deletions: BTreeMap<Str, Deletion>,
    /// For each deletion whose answer was lost, by pod uid: its node, and what went wrong.
    pub(crate) unanswered: BTreeMap<Str, (Str, EffectError)>,
    /// The DaemonSet patch that was sent and is not answered yet.
    pub(crate) patching: Option<Patching>,
    pub(crate) daemonset_retry: Retry,
    /// The resource version at which a patch of the DaemonSet met a conflict. It is tried again once a newer one is seen.
    pub(crate) conflicted: Option<Str>,
    pub(crate) delete_retry: Retry,
    /// Nodes where a deletion failed, and until when none is tried there.
    pub(crate) node_retry: BTreeMap<NodeIx, Timestamp>,
    /// Deletions that were refused.
    pub(crate) refusals: Refusals,
    /// Set `OnDelete` at once, whoever drives.
    pub(crate) brake: bool,
    /// The brake was asked for while the DaemonSet could not be seen. `OnDelete` is then set even if the view shows it as set
    /// already, and only the answer to the patch ends it.
    pub(crate) brake_unseen: bool,
    /// The template change whose patch was answered since this process started, as long as the record asks for it.
    pub(crate) written: Option<WrittenChange>,
    /// The annotation of a change that is over and that the API server did not let us remove.
    pub(crate) untidy: Option<Str>,
    /// Deletions wait for a proof: a write of the Lease is needed even if there is nothing else to write.
    pub(crate) needs_proof: bool,
    /// How fast and how far away deletions are sent, and what they wait for.
    pub(crate) sending: Sending,
    /// Why the last write of the DaemonSet or deletion of a pod failed, in words.
    pub(crate) write_failure: Option<Str>,
    /// Why the last write of the Lease failed, in words.
    pub(crate) lease_failure: Option<Str>,
    pub(crate) assessment: Assessment,
    pub(crate) budget: BudgetView,
    pub(crate) plan: Plan,
    /// Which suspects count as failed, and which sites are down.
    pub(crate) judgement: Judgement,
    /// Nodes of the fleet whose object is gone, and whether they were updated.
    pub(crate) vanished: BTreeMap<NodeIx, bool>,
    /// What the rollout waits for while it is prepared or released, and since when.
    pub(crate) blocked_since: Option<(Blocker, Timestamp)>,
    /// Something happened since the last assessment.
    pub(crate) dirty: bool,
    /// The last assessment holds until then, if nothing happens.
    fresh_until: Option<Timestamp>,
    /// What the last assessment depended on, beside the facts.
    inputs: Option<Inputs>,
    pub(crate) now: Timestamp,
    notices: Vec<Notice>,
    pub(crate) event_log: EventLog,
    next_effect: u64,
    next_command: u64,
    pub(crate) next_edit: u64,
    pub(crate) effects: BTreeMap<EffectId, Sent>,
}

/// An edit of the record that is not saved yet.
#[derive(Debug)]
pub(crate) struct Unsaved {
    /// Counts the edits of this engine.
    pub(crate) serial: u64,
    /// The command it belongs to; `None` for the driver's own.
    pub(crate) command: Option<CommandId>,
    pub(crate) edit: Edit,
    /// When it was made.
    pub(crate) made_at: Timestamp,
}

/// A command on its way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) id: CommandId,
    pub(crate) command: Command,
    /// Whether it is recorded in the audit log.
    pub(crate) of_note: bool,
    pub(crate) needs: Needs,
    pub(crate) says: String,
    /// The change of the template that it asked for, and what became of that.
    pub(crate) change: Option<Str>,
    pub(crate) outcome: Option<ChangeOutcome>,
    /// When it was asked for.
    pub(crate) asked_at: Timestamp,
}

/// When a command is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// Its edits are saved.
    Saved,
    /// The DaemonSet is on `OnDelete`.
    Adopted,
    /// The template is changed.
    Changed,
    /// The strategy is restored and the record gone.
    Released,
    /// We hold the lease.
    Driving(Takeover),
    /// We do not hold it any more.
    DriverStopped,
}

/// A deletion that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deletion {
    /// No answer yet.
    Sent,
    /// The server confirmed it, then; the watch has not shown it yet.
    Confirmed(Timestamp),
    /// The answer was lost, then.
    Unknown(Timestamp),
}

impl Deletion {
    /// Whether its outcome is not known yet.
    pub(crate) fn is_unanswered(self) -> bool {
        matches!(self, Self::Sent | Self::Unknown(_))
    }
}

/// A DaemonSet patch that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Patching {
    pub(crate) id: EffectId,
    pub(crate) kind: PatchKind,
    pub(crate) resource_version: Str,
    /// The change that the record asked for when it was sent.
    pub(crate) request: Option<ChangeRequest>,
    pub(crate) sent_at: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PatchKind {
    Adopt,
    Template,
    ForgetChange,
    Release,
}

/// A write whose answer is still out.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    Delete { uid: Str, node: Str, pod: Str },
    DaemonSet,
    Lease,
}

/// What an assessment of all nodes depends on, beside what was observed of each.
#[derive(Debug, PartialEq)]
struct Inputs {
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
    /// An engine that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            lock: Lock::new(config.identity.clone(), config.timing),
            view: View::default(),
            pending: Vec::new(),
            edits: Vec::new(),
            progress: Progress::default(),
            deletions: BTreeMap::new(),
            unanswered: BTreeMap::new(),
            patching: None,
            daemonset_retry: Retry::default(),
            conflicted: None,
            delete_retry: Retry::default(),
            node_retry: BTreeMap::new(),
            refusals: Refusals::default(),
            brake: false,
            brake_unseen: false,
            written: None,
            untidy: None,
            needs_proof: false,
            sending: Sending::new(config.rate),
            write_failure: None,
            lease_failure: None,
            assessment: Assessment::default(),
            budget: BudgetView::default(),
            plan: Plan::default(),
            judgement: Judgement::default(),
            vanished: BTreeMap::new(),
            blocked_since: None,
            dirty: true,
            fresh_until: None,
            inputs: None,
            now: Timestamp::default(),
            notices: Vec::new(),
            event_log: EventLog::default(),
            next_effect: 0,
            next_command: 0,
            next_edit: 0,
            effects: BTreeMap::new(),
            config,
        }
    }

    /// What it was told when it was made.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How many commands were accepted so far.
    pub(crate) fn commands(&self) -> u64 {
        self.next_command
    }

    /// Takes in one fact. Cheap: rows are assessed when [`Engine::decide`] or [`Engine::snapshot`] is called.
    pub fn observe(&mut self, event: Event, now: Timestamp) {
        self.now = self.now.max(now);
        if let Event::Heard(watched, _) = event {
            // A bookmark changes an assessment only if the watch lagged, or if a deletion has to be shown by it.
            let believed = self.health(watched) == WatchHealth::Live;
            self.hear(&event, now);
            let still = self.health(watched) == WatchHealth::Live;
            self.dirty |= !believed || !still || !self.deletions.is_empty();
            return;
        }
        self.dirty = true;
        self.hear(&event, now);
        match event {
            Event::Lease(fact) => self.lease_is(*fact, Lock::observe, now),
            Event::LeaseGone => self.lock.observe_absent(),
            Event::Listed(Watched::Lease, version) if self.is_gone_by(Watched::Lease, version) => {
                self.lock.observe_absent();
            }
            Event::Listed(Watched::DaemonSet, version) if self.is_gone_by(Watched::DaemonSet, version) => {
                self.view.observe(Event::DaemonSetGone, now);
            }
            Event::Pod(fact) => {
                if fact.deletion_at.is_some() {
                    self.deletions.remove(&fact.uid);
                }
                self.view.observe(Event::Pod(fact), now);
            }
            Event::PodGone(uid, version) => {
                self.view.observe(Event::PodGone(uid.clone(), version), now);
                // An unanswered deletion still counts: the pod may only have lost its label, come back, and be deleted then.
                if !self.view.has_pod(&uid) && !self.is_unanswered(&uid) {
                    self.deletions.remove(&uid);
                }
            }
            Event::Listed(Watched::Pods, _) => {
                self.view.observe(event, now);
                // A pod that the list does not name is gone, whoever deleted it.
                let view = &self.view;
                self.deletions.retain(|uid, deletion| view.has_pod(uid) || deletion.is_unanswered());
            }
            Event::Cluster(fact) if fact.reported_by.is_some() => self.hear_of(&fact),
            Event::RoundTrip(took) => self.sending.distance.reported(took),
            other => self.view.observe(other, now),
        }
    }

    /// Takes in a fact from the answer to a request. It is true as of now, but does not show that the watch of its kind works.
    pub fn learn(&mut self, event: Event, now: Timestamp) {
        self.now = self.now.max(now);
        self.dirty = true;
        match event {
            Event::Lease(fact) => self.lease_is(*fact, Lock::learn, now),
            Event::LeaseGone => self.lock.observe_absent(),
            other => self.view.observe(other, now),
        }
    }

    /// Takes in the lease, and which writes of ours it shows.
    fn lease_is(&mut self, fact: LeaseFact, take_in: fn(&mut Lock, LeaseFact, Timestamp), now: Timestamp) {
        let written = self.lock.recognize(&fact);
        take_in(&mut self.lock, fact, now);
        self.note_outcome();
        if let Some(written) = written {
            self.lease_is_written(&written);
        }
    }

    /// Takes in what an operator asks. A [`Notice::Settled`] follows when it is written, or could not be.
    ///
    /// # Errors
    /// Refuses what makes no sense, is not permitted, or cannot be judged now; then nothing changed.
    pub fn command(&mut self, command: Command, now: Timestamp) -> Result<CommandId, Refusal> {
        self.refresh(now);
        let resolved = self.resolve(&command, now);
        let resolved = resolved.and_then(|resolved| self.check_size(&resolved.edits).map(|()| resolved));
        let resolved = match resolved {
            Ok(resolved) => resolved,
            Err(refusal) => {
                self.tell_refused(&command, &refusal.to_string());
                return Err(refusal);
            }
        };
        self.dirty = true;
        let id = CommandId(self.next_command);
        self.next_command += 1;
        let of_note = self.tell_asked(id, &command);
        resolved.edits.into_iter().for_each(|edit| self.edit(Some(id), edit));
        self.brake |= resolved.brake;
        self.brake_unseen |= resolved.brake && !self.sees_daemonset();
        match &command {
            Command::Drive(Takeover::Ask) => self.lock.want = Want::Ask,
            Command::StopDriving => self.lock.want = Want::No,
            Command::GiveUpDriving { why } => self.stop_driving(why, now),
            // A one-shot command takes the lease when the driver goes away before it carried the change out.
            _ if self.takes_lease(resolved.drive, resolved.needs)
                && (self.lock.living_other(now).is_none() || self.config.role == Role::OneShot) =>
            {
                self.lock.want = Want::IfFree;
            }
            _ => {}
        }
        let change = resolved.change;
        let (needs, says) = (resolved.needs, resolved.says);
        self.pending.push(Pending { id, command, of_note, needs, says, change, outcome: None, asked_at: now });
        Ok(id)
    }

    /// A one-shot command takes the lease only for what it has to write to the DaemonSet itself.
    fn takes_lease(&self, drive: bool, needs: Needs) -> bool {
        match self.config.role {
            Role::Driver => drive,
            Role::OneShot => drive && matches!(needs, Needs::Adopted | Needs::Changed | Needs::Released),
        }
    }

    /// Says what a command would do, without doing it.
    ///
    /// # Errors
    /// As [`Engine::command`].
    pub fn preview(&mut self, command: &Command, now: Timestamp) -> Result<Preview, Refusal> {
        self.refresh(now);
        let preview = self.preview_of(command, now);
        // A one-shot command previews what it is about to do, so a refused preview is recorded like a refused command.
        if let (Err(refusal), Role::OneShot) = (&preview, self.config.role) {
            self.tell_refused(command, &refusal.to_string());
        }
        preview
    }

    /// Decides what to write next. Every effect counts against the budget from here on, until its outcome is seen.
    pub fn decide(&mut self, now: Timestamp) -> Vec<(EffectId, Effect)> {
        self.refresh(now);
        // Only the holder of the lease changes the progress.
        let progress = self.lock.holds().then(|| self.progress.clone());
        let effects = self.decide_now(now);
        self.dirty |= !effects.is_empty() || progress.is_some_and(|before| before != self.progress);
        effects
    }

    /// Takes the notices that were collected since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Whether nothing is under way that the process should wait for before it ends: no lease held, no write unanswered.
    pub fn is_at_rest(&self) -> bool {
        self.effects.is_empty() && !self.lock.holds()
    }

    /// When [`Engine::decide`] or [`Engine::snapshot`] would answer otherwise although nothing was observed.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let patience = self.lock.retry_at;
        let lost = self.deletions.values().filter_map(|deletion| match deletion {
            Deletion::Unknown(at) => Some(*at + LOST_ANSWER),
            Deletion::Sent | Deletion::Confirmed(_) => None,
        });
        let seen = [self.view.guesses_current_at(), self.watch_health_changes_at(), self.turns_idle_at()];
        [self.assessment.changes_at, self.judgement.changes_at, Some(patience)]
            .into_iter()
            .chain(seen)
            .flatten()
            .chain(self.lock.wakes())
            .chain([self.daemonset_retry.at, self.delete_retry.at])
            .chain(self.node_retry.values().copied())
            .chain(self.refusals.turns_at(self.now))
            .chain(lost)
            .chain(self.progress.drifts.changes_at())
            .chain(self.sending_changes_at())
            .chain(self.unsent_changes_at())
            .filter(|at| *at > self.now)
            .min()
    }

    /// Everything a front end shows. An engine that knows nothing yet says so.
    pub fn snapshot(&mut self, now: Timestamp) -> Snapshot {
        self.refresh(now);
        let timeline = self.event_log.shown();
        Snapshot { timeline, ..self.report(now) }
    }

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

    /// Whether anything is being rolled out, by us or by the DaemonSet's own controller: a rollout has begun, or some node
    /// of the fleet has a pod that is not at the target.
    pub(crate) fn is_under_way(&self) -> bool {
        self.progress.started_at.is_some() || self.assessment.rows().any(|row| row.in_fleet && row.old)
    }

    /// The record as it will be once all edits are saved.
    pub(crate) fn record(&self) -> Option<Record> {
        let intent = self.recorded_intent()?.into_owned();
        let saved = self.lock.record().cloned().unwrap_or_default();
        let mut marks = saved.write_ids.clone();
        marks.extend(self.write_id());
        marks.drain(..marks.len().saturating_sub(Record::WRITE_IDS));
        let daemonset_uid = self.lock.daemonset.clone().or_else(|| saved.daemonset_uid.clone());
        let progress = self.progress.clone();
        Some(Record { version: Record::VERSION, daemonset_uid, intent, progress, write_ids: marks, ..saved })
    }

    /// An identifier for the next write of the Lease, if that carries any edit.
    pub(crate) fn write_id(&self) -> Option<Str> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut mark = DefaultHasher::new();
        (&self.config.identity, self.next_effect).hash(&mut mark);
        (!self.edits.is_empty()).then(|| format!("{:016x}", mark.finish()).into())
    }

    /// The intent as it will be once all edits are saved; the default where nothing is recorded.
    pub(crate) fn intent(&self) -> Intent {
        self.recorded_intent().map(Cow::into_owned).unwrap_or_default()
    }

    /// Whether there is a record, or will be once all edits are saved.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorded_intent().is_some()
    }

    /// The intent as it will be once all edits are saved; `None` where nothing is recorded.
    pub(crate) fn recorded_intent(&self) -> Option<Cow<'_, Intent>> {
        let mut intent = self.lock.record().map(|record| Cow::Borrowed(&record.intent));
        for unsaved in &self.edits {
            unsaved.edit.apply(&mut intent);
        }
        // We hold the lease now, so our own request for it is settled.
        let ours = |by: &By| by.by == self.config.identity;
        if self.lock.holds()
            && let Some(intent) = &mut intent
            && intent.handover.as_ref().is_some_and(ours)
        {
            intent.to_mut().handover = None;
        }
        intent
    }

    /// The intent by which nodes are assessed. The driver uses the intent that it is about to write; any other process uses
    /// the saved one, as the driver does not know of its unsaved edits.
    fn assessed_intent(&self) -> Option<Cow<'_, Intent>> {
        if self.lock.holds() { self.recorded_intent() } else { self.saved_intent() }
    }

    /// The intent as the cluster has it; `None` where nothing is recorded.
    pub(crate) fn saved_intent(&self) -> Option<Cow<'_, Intent>> {
        self.lock.record().map(|record| Cow::Borrowed(&record.intent))
    }

    /// The person in our identity: who is named in the record.
    pub(crate) fn actor(&self) -> Str {
        person_of(&self.config.identity).into()
    }

    pub(crate) fn strategy(&self) -> StrategyKind {
        self.view.daemonset.as_ref().map(|daemonset| daemonset.strategy.kind).unwrap_or_default()
    }

    /// Whether rolldeck has taken over: `OnDelete`, with the original strategy saved.
    pub(crate) fn is_adopted(&self) -> bool {
        self.view.daemonset.as_ref().is_some_and(|daemonset| {
            daemonset.strategy.kind == StrategyKind::OnDelete && daemonset.annotations.get(ORIGINAL_STRATEGY).is_some()
        })
    }

    /// Whether the controller has observed the present generation of the spec.
    pub(crate) fn is_observed(&self) -> bool {
        self.view.daemonset.as_ref().is_some_and(|daemonset| daemonset.observed_generation >= daemonset.generation)
    }

    /// Whether an original strategy is saved, even if it was by a rollout whose record is gone.
    pub(crate) fn has_saved_strategy(daemonset: &DaemonSetFact) -> bool {
        daemonset.annotations.get(ORIGINAL_STRATEGY).is_some()
    }

    /// The strategy that a release would restore, as it was saved.
    pub(crate) fn original_strategy(daemonset: &DaemonSetFact) -> Option<serde_json::Value> {
        serde_json::from_str(daemonset.annotations.get(ORIGINAL_STRATEGY)?).ok()
    }

    pub(crate) fn name(&self, row: &Row) -> Str {
        self.view.nodes.get(row.node).map(|entry| entry.name.clone()).unwrap_or_default()
    }

    pub(crate) fn natural_ranks(&self) -> &[u32] {
        self.view.natural()
    }

    /// Adds an edit of the record, to be saved with the next write of the Lease.
    pub(crate) fn edit(&mut self, command: Option<CommandId>, edit: Edit) {
        self.dirty = true;
        let edit = edit.with_short_reasons();
        self.edits.push(Unsaved { serial: self.next_edit, command, edit, made_at: self.now });
        self.next_edit += 1;
    }

    pub(crate) fn say(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    pub(crate) fn send_delete(&mut self, pod: &Str, uid: &Str, node: &Str) -> EffectId {
        self.deletions.insert(uid.clone(), Deletion::Sent);
        self.view.touch_pod(uid);
        self.sending.sent.insert(uid.clone(), self.now);
        self.tell_delete(node, pod, uid, EventOutcome::Sent, None);
        self.send(Sent::Delete { uid: uid.clone(), node: node.clone(), pod: pod.clone() })
    }

    pub(crate) fn send_patch(&mut self, kind: PatchKind, resource_version: Str) -> EffectId {
        self.tell_patch(kind, EventOutcome::Sent, None);
        let id = self.send(Sent::DaemonSet);
        self.conflicted = None;
        let request = self.lock.record().and_then(|record| record.intent.request());
        self.patching = Some(Patching { id, kind, resource_version, request, sent_at: self.now });
        id
    }

    pub(crate) fn send_lease(&mut self) -> EffectId {
        self.send(Sent::Lease)
    }

    fn send(&mut self, sent: Sent) -> EffectId {
        let id = EffectId(self.next_effect);
        self.next_effect += 1;
        self.effects.insert(id, sent);
        id
    }

    /// Whether a deletion was sent and its answer is still out.
    pub(crate) fn deletions_unanswered(&self) -> bool {
        self.effects.values().any(|sent| matches!(sent, Sent::Delete { .. }))
    }

    pub(crate) fn rollout_hold(&self, intent: &Intent, now: Timestamp) -> RolloutHold {
        use super::model::hold::Hold;
        let recorded = self.assessed_intent().is_some();
        let held = match self.strategy() {
            _ if self.view.daemonset.is_none() => Some(Hold::Preparing),
            _ if self.is_being_deleted() => Some(Hold::BeingDeleted),
            StrategyKind::RollingUpdate if !recorded || self.progress.adopted => Some(Hold::Native),
            StrategyKind::OnDelete if !recorded => Some(Hold::NoRollout),
            _ if self.is_halted(intent) => Some(Hold::Halted),
            _ if self.lock.holds() && self.is_late_with_edits(now) => Some(Hold::NotSent),
            _ if intent.paused.is_some() => Some(Hold::Paused),
            _ if self.blindness().is_some() => Some(Hold::Blind),
            _ if !self.is_ready_to_update(intent) => Some(Hold::Preparing),
            _ if !self.lock.holds() && self.lock.living_other(now).is_none() => Some(Hold::NobodyDrives),
            _ => self.too_far_to_drive(),
        };
        held.map_or(RolloutHold::None, RolloutHold::Held)
    }

    /// Adopted, template as it is to be, and its revision recorded.
    pub(crate) fn is_ready_to_update(&self, intent: &Intent) -> bool {
        self.is_adopted()
            && self.is_observed()
            && intent.change.is_none()
            && intent.releasing.is_none()
            && intent.target.is_some()
            && intent.target == self.view.current
    }

    pub(crate) fn is_halted(&self, intent: &Intent) -> bool {
        self.progress.halt.as_ref().is_some_and(|halt| halt.number > intent.acknowledged_halt)
    }
}
