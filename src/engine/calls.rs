//! The calls by which the engine is used: it takes in facts and commands, and returns the writes to send and the snapshot to show.

use super::assess::images_on_nodes::images_of_revision;
use super::lease::lock::{Lock, Want};
use super::machine::Engine;
use super::model::Str;
use super::model::command::{Command, CommandId, Preview, Refusal, Takeover};
use super::model::config::Role;
use super::model::effect::{Effect, EffectId};
use super::model::event::{Event, WatchHealth, Watched};
use super::model::facts::{LeaseFact, RevisionFact};
use super::model::images_on_nodes::ImagesOnNodes;
use super::model::notice::Notice;
use super::model::record::Progress;
use super::model::record::size::clipped;
use super::model::rollout_event::RolloutEvent;
use super::model::time::Timestamp;
use super::report::snapshot::{NodeViews, Snapshot};
use super::rules::holder::SeenHolder;
use super::writes::pending::{Needs, Pending};

impl Engine {
    /// How many commands were accepted so far.
    pub(crate) fn commands(&self) -> u64 {
        self.pending.accepted()
    }

    /// Takes in an earlier observation of the Lease by another watch of this process, by the same clock. If the Lease is then observed
    /// unchanged, the engine knows at once whether its holder is alive, and need not wait for a renewal.
    pub fn remember_holder(&mut self, seen: SeenHolder) {
        self.lock.remember(seen);
    }

    /// Takes in what another engine of this process told of the same DaemonSet.
    pub fn remember_event(&mut self, event: RolloutEvent) {
        self.event_log.keep(RolloutEvent { command: None, ..event });
    }

    /// The Lease as this engine sees it, and whether its holder is alive.
    pub fn seen_holder(&self) -> Option<SeenHolder> {
        self.lock.seen_holder()
    }

    /// Takes in one fact. This is cheap: rows are assessed when [`Engine::decide`] or [`Engine::snapshot`] is called.
    pub fn observe(&mut self, event: Event, now: Timestamp) {
        self.now = self.now.max(now);
        if let Event::Heard(watched, _) = event {
            // A bookmark changes an assessment only if the watch lagged, or if a deletion has to be shown by it.
            let believed = self.health(watched) == WatchHealth::Live;
            self.hear(&event, now);
            let still = self.health(watched) == WatchHealth::Live;
            if !believed || !still || !self.deletions.is_empty() {
                self.freshness.touch();
            }
            return;
        }
        self.freshness.touch();
        self.hear(&event, now);
        self.note_taken_away(&event);
        self.note_labels(&event);
        match event {
            Event::Lease(fact) => self.lease_is(*fact, Lock::observe, now),
            Event::LeaseGone(version) => self.lock.observe_gone(version, now),
            Event::Listed(Watched::Lease, version) if self.is_gone_by(Watched::Lease, version) => {
                self.lock.observe_absent(now);
            }
            Event::Listed(Watched::DaemonSet, version) if self.is_gone_by(Watched::DaemonSet, version) => {
                self.view.observe(Event::DaemonSetGone(version), now);
            }
            Event::Pod(fact) => {
                if fact.deletion_at.is_some() {
                    self.deletions.forget(&fact.uid);
                }
                self.view.observe(Event::Pod(fact), now);
            }
            Event::PodGone(uid, version) => {
                self.view.observe(Event::PodGone(uid.clone(), version), now);
                // An unanswered deletion still counts: the pod may only have lost its label, come back, and be deleted then.
                if !self.view.has_pod(&uid) && !self.deletions.is_unanswered(&uid) {
                    self.deletions.forget(&uid);
                }
            }
            Event::Listed(Watched::Pods, _) => {
                self.view.observe(event, now);
                // A pod that the list does not name is gone, whoever deleted it.
                let view = &self.view;
                self.deletions.forget_answered(|uid| view.has_pod(uid));
            }
            Event::Cluster(fact) if fact.reported_by.is_some() => self.hear_of(&fact),
            Event::RoundTrip(took) => self.sending.distance.reported_at(now, took),
            Event::DaemonSet(_)
            | Event::DaemonSetGone(_)
            | Event::Revision(_)
            | Event::RevisionGone(_)
            | Event::Node(_)
            | Event::NodeGone(_)
            | Event::WarmPod(_)
            | Event::WarmPodGone(..)
            | Event::Cluster(_)
            | Event::Listing(_)
            | Event::Listed(..)
            | Event::Watch(..)
            | Event::Heard(..)
            | Event::Skipped(..)
            | Event::Rights(_)
            | Event::Skew(_) => self.view.observe(event, now),
        }
    }

    /// Takes in a fact from the answer to a request. It is true as of now, but does not show that the watch of its kind works.
    pub fn learn(&mut self, event: Event, now: Timestamp) {
        self.now = self.now.max(now);
        self.freshness.touch();
        match event {
            Event::Lease(fact) => self.lease_is(*fact, Lock::learn, now),
            Event::LeaseGone(version) => self.lock.observe_gone(version, now),
            Event::DaemonSet(_)
            | Event::DaemonSetGone(_)
            | Event::Revision(_)
            | Event::RevisionGone(_)
            | Event::Node(_)
            | Event::NodeGone(_)
            | Event::Pod(_)
            | Event::PodGone(..)
            | Event::WarmPod(_)
            | Event::WarmPodGone(..)
            | Event::Cluster(_)
            | Event::Listing(_)
            | Event::Listed(..)
            | Event::Watch(..)
            | Event::Heard(..)
            | Event::Skipped(..)
            | Event::Rights(_)
            | Event::Skew(_)
            | Event::RoundTrip(_) => self.view.observe(event, now),
        }
    }

    /// Takes in the Lease, and notes which writes of ours it shows.
    fn lease_is(&mut self, fact: LeaseFact, take_in: fn(&mut Lock, LeaseFact, Timestamp), now: Timestamp) {
        let written = self.lock.recognize(&fact);
        take_in(&mut self.lock, fact, now);
        self.note_outcome();
        if let Some(written) = written {
            self.lease_is_written(&written);
        }
    }

    /// Takes in a command of an operator. A [`Notice::Settled`] follows once it is carried out, or could not be.
    ///
    /// # Errors
    /// Refuses a command that makes no sense, is not permitted, or cannot be judged now. Then nothing has changed.
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
        self.freshness.touch();
        let id = self.pending.next_id();
        let of_note = self.tell_asked(id, &command);
        let is_so_already = resolved.edits.is_empty()
            && matches!(command.inner(), Command::SetImage(_) | Command::Tune(_) | Command::Select(_));
        resolved.edits.into_iter().for_each(|edit| self.edit(Some(id), edit));
        if resolved.brake {
            // An operator who brakes does not wait for an earlier patch to be tried again.
            self.daemonset.retry.succeeded();
            self.daemonset.set_brake(self.sees_daemonset());
        }
        match &command {
            Command::Drive(Takeover::Ask) => self.lock.ask_to_drive(Want::Ask),
            Command::StopDriving => self.lock.want_no_more(),
            Command::EndDriving { why } => {
                self.lock.want_no_more();
                self.lock.leave_because(clipped(why));
            }
            Command::GiveUpDriving { why } => {
                self.lock.leave_because(clipped(why));
                self.stop_driving(why, now);
            }
            Command::Adopt
            | Command::SetImage(_)
            | Command::Step(_)
            | Command::Select(_)
            | Command::Pause { .. }
            | Command::Resume
            | Command::Undo { .. }
            | Command::Release(_)
            | Command::Tune(_)
            | Command::Tuned { .. }
            | Command::Prewarm(_)
            | Command::Drive(Takeover::IfFree) => {
                // A one-shot command takes the Lease if the driver goes away before it has carried the change out.
                let free = self.lock.living_other(now).is_none() || self.config.role == Role::OneShot;
                if free && self.takes_lease(resolved.drive, resolved.needs) {
                    self.lock.ask_to_drive(Want::IfFree);
                }
            }
        }
        let change = resolved.change;
        let (needs, says) = (resolved.needs, resolved.says);
        let outcome = None;
        self.pending.add(Pending {
            id,
            command,
            of_note,
            needs,
            says,
            is_so_already,
            change,
            outcome,
            requested_at: now,
            refused_before: self.progress.refused_write.clone(),
        });
        Ok(id)
    }

    /// A one-shot command takes the Lease only for its own writes of the DaemonSet.
    fn takes_lease(&self, drive: bool, needs: Needs) -> bool {
        match self.config.role {
            Role::Driver => drive,
            Role::OneShot => match needs {
                Needs::Adopted | Needs::Braked | Needs::Changed | Needs::Released => drive,
                Needs::Saved | Needs::Driving(_) | Needs::DriverStopped => false,
            },
        }
    }

    /// The nodes that have the images of each revision, by the revision's hash.
    pub fn images_on_nodes(&mut self, now: Timestamp) -> Vec<(Str, ImagesOnNodes)> {
        self.refresh(now);
        let images = |revision: &RevisionFact| {
            (revision.hash.clone(), images_of_revision(&self.view, &self.assessment, revision))
        };
        self.view.own_revisions().map(images).collect()
    }

    /// Says what a command would do, without carrying it out.
    ///
    /// # Errors
    /// As [`Engine::command`].
    pub fn preview(&mut self, command: &Command, now: Timestamp) -> Result<Preview, Refusal> {
        self.refresh(now);
        self.preview_of(command, now)
    }

    /// Records that a command was refused before it was given, because its preview was refused or nobody agreed to its effects. This is not
    /// for a dry run.
    pub fn refused(&mut self, command: &Command, why: &str, now: Timestamp) {
        self.refresh(now);
        self.tell_refused(command, why);
    }

    /// Decides what to write next. Every returned effect counts against the budget from here on, until its outcome is seen.
    pub fn decide(&mut self, now: Timestamp) -> Vec<(EffectId, Effect)> {
        let (effects, changed) = self.decide_once(now);
        // A change that was made here without a write may let something go, and nothing else would make anybody ask again.
        if effects.is_empty() && changed { self.decide_once(now).0 } else { effects }
    }

    /// Decides once. Returns also whether the inputs of the assessment have changed.
    fn decide_once(&mut self, now: Timestamp) -> (Vec<(EffectId, Effect)>, bool) {
        self.refresh(now);
        // Only the holder of the lease changes the progress.
        let progress = self.lock.holds().then(|| self.progress.clone());
        let unsaved = self.edits.iter().count();
        let effects = self.decide_now(now);
        // Adding an edit touches the freshness by itself, so that only dropped edits are noticed here.
        let dropped = self.edits.iter().count() < unsaved;
        if !effects.is_empty() || dropped || progress.is_some_and(|before| before != self.progress) {
            self.freshness.touch();
        }
        (effects, !self.freshness.holds(now))
    }

    /// Makes the next call assess everything again, as if something had happened, unless the answer to a write is awaited. Returns whether
    /// it does. Before the instant that [`Engine::wake_at`] returns, a new assessment changes nothing; tests and the attack check this.
    pub fn assess_anew(&mut self) -> bool {
        let rests = self.effects.is_empty();
        if rests {
            self.freshness.touch();
        }
        rests
    }

    /// Takes the notices that were collected since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Whether the process may end without waiting: it holds no Lease, and no write is unanswered.
    pub fn is_at_rest(&self) -> bool {
        !self.effects.has_write() && !self.lock.holds()
    }

    /// The instant at which [`Engine::decide`] or [`Engine::snapshot`] would answer otherwise although nothing was observed. Estimates are
    /// left out: they change with every second, and are made anew whenever something is observed.
    pub fn wake_at(&self) -> Option<Timestamp> {
        // Every part reports the instants at which time alone changes its results.
        let Self {
            view,
            lock,
            pending,
            edits,
            progress,
            deletions,
            daemonset,
            refusals,
            sending,
            assessment,
            suspects,
            warming,
            now,
            config: _,
            effects: _,
            failures: _,
            budget: _,
            plan: _,
            pacing: _,
            blocked_since: _,
            freshness: _,
            notices: _,
            event_log: _,
            reported_driver: _,
            taken_away: _,
        } = self;
        let silent_from = lock.view(*now).silent_from().map(|at| view.our_time(at));
        let of_several_parts =
            [self.watch_health_changes_at(), self.lease_write_is_shown_at(), silent_from, self.record_missed_at()];
        let judged = [assessment.changes_at, suspects.changes_at()];
        judged
            .into_iter()
            .chain(of_several_parts)
            .flatten()
            .chain(self.proofs_change_at().into_iter().flatten())
            .chain(view.changes_at())
            .chain(lock.changes_at())
            .chain(pending.changes_at())
            .chain(edits.changes_at())
            .chain(progress_changes_at(progress))
            .chain(progress.marks.strikes_at(&self.intent().gates).map(|at| view.our_time(at)))
            .chain(self.suspects_are_forgotten_at())
            .chain(deletions.changes_at())
            .chain(daemonset.changes_at())
            .chain(refusals.changes_at(*now))
            .chain(sending.changes_at())
            .chain(warming.writes.changes_at())
            .chain(view.watches().catches_up_until(Watched::WarmPods, *now))
            .chain(warming.sets.changes_at())
            .filter(|at| at > now)
            .min()
    }

    /// Everything that a front end shows. The snapshot of an engine that knows nothing yet says so.
    pub fn snapshot(&mut self, now: Timestamp) -> Snapshot {
        self.snapshot_sharing(&NodeViews::default(), now)
    }

    /// As [`Engine::snapshot`]. A node that is the same in an earlier snapshot, whose nodes are `last`, is not stored a second time.
    pub fn snapshot_sharing(&mut self, last: &NodeViews, now: Timestamp) -> Snapshot {
        self.refresh(now);
        let timeline = self.event_log.shown();
        Snapshot { timeline, ..self.report(last, now) }
    }
}

/// The instants at which time alone changes what follows from the progress. Changes of single nodes are reported by their rows, changes of
/// the controller by the view, and the moment at which a gate strikes by its mark.
fn progress_changes_at(progress: &Progress) -> impl Iterator<Item = Timestamp> {
    let Progress {
        drifts,
        started_at: _,
        target: _,
        origin: _,
        adopted: _,
        drifted: _,
        down_before: _,
        left_out_since: _,
        in_progress: _,
        refused: _,
        refused_write: _,
        tried: _,
        idle_since: _,
        halt: _,
        acknowledged_failures: _,
        suspects: _,
        others_down: _,
        evicted: _,
        marks: _,
        driver: _,
        driver_stopped: _,
        completed: _,
        original_strategy: _,
    } = progress;
    drifts.changes_at()
}
