//! The event log: makes a `RolloutEvent` of what happens, hands it to the audit sink, and keeps the latest for the timeline.
//!
//! The timeline keeps what people decide by: commands, halts, who drives. A pod that is replaced goes to the audit log only:
//! the node list shows it, the DaemonSet controller writes an Event for it, and in a fleet of 15,000 nodes such entries would
//! push everything else out of the timeline.

mod left;
#[cfg(test)]
mod tests;
mod values;

use self::values::Values;
use super::Engine;
use super::lost_record::IT_HAD;
use crate::engine::lease::lock::KnownLease;
use crate::engine::model::command::{Command, CommandId, Unsettled};
use crate::engine::model::config::Role;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::{ClusterEvent, DaemonSetFact};
use crate::engine::model::notice::Notice;
use crate::engine::model::presence::Presence;
use crate::engine::model::record::{Direction, Intent};
use crate::engine::model::released_strategy::ReleasedStrategy;
use crate::engine::model::rollout_event::{
    DriftResponse, EventOutcome, NODES_NAMED, PatchChange, RolloutEvent, RolloutEventKind, Succession,
    TemplateResponse, Visibility,
};
use crate::engine::model::time::Timestamp;
use crate::engine::model::unsent::LATE;
use crate::engine::model::{Str, is_same_process, person_of};
use crate::engine::rules::commands::Reporting;
use crate::engine::writes::daemonset::PatchPurpose;
use crate::engine::writes::pending::{Needs, Pending};

/// The process that the events last named as the driver.
#[derive(Debug, Default)]
pub(crate) struct ReportedDriver {
    /// We drove at the last look.
    driving: bool,
    /// The last other process that held the lease.
    other: Option<Str>,
    /// At the last look, `other` held the lease.
    held_by_other: bool,
    /// We hold the lease, but could not renew it in time.
    lapsed: bool,
    /// The other process whose renewals were seen.
    witness: Witness,
}

/// Another process that drives, as far as it was seen to.
#[derive(Debug, Default)]
enum Witness {
    #[default]
    Nobody,
    /// It renewed its lease before our eyes.
    Renewing(Str),
    /// It renewed its lease before our eyes, until that ran out.
    Silent(Str),
}

impl Engine {
    /// Reports an action that the rollout took by itself. The same event is reported again only after [`REPEAT`].
    pub(crate) fn happened(&mut self, kind: RolloutEventKind, visibility: Visibility) {
        if !self.event_log.reported_lately(&kind, self.now) {
            self.log_event(None, kind, EventOutcome::Done, visibility, None, None);
        }
    }

    /// Tells what an operator of this process did with the lease. A one-shot command holds it for its own write, and drives nothing.
    fn did(&mut self, kind: RolloutEventKind, visibility: Visibility) {
        let by = Some(self.actor());
        let said = match self.config().role {
            Role::OneShot => kind.by_one_shot(),
            Role::Driver if kind == (RolloutEventKind::LeaseGivenBack { to: None }) => {
                self.why_it_drives_no_more().map(|why| format!("{kind}: {why}"))
            }
            Role::Driver if self.is_recorded() || self.recorded_prewarm().is_none() => self.drives_with(&kind),
            Role::Driver => kind.by_who_only_prewarms(),
        };
        self.log_event(by, kind, EventOutcome::Done, visibility, None, said.map(Into::into));
    }

    fn log_event(
        &mut self,
        by: Option<Str>,
        kind: RolloutEventKind,
        result: EventOutcome,
        visibility: Visibility,
        command: Option<CommandId>,
        said: Option<Str>,
    ) {
        let revision = self.revision_of(&kind, result);
        let event = RolloutEvent { at: self.now, by, kind, outcome: result, command, said, visibility, revision };
        self.log_as_of(self.now, event);
    }

    /// The revision that an event is about which is logged now.
    fn revision_of(&self, kind: &RolloutEventKind, outcome: EventOutcome) -> Option<Str> {
        let intent = self.intent();
        match kind {
            RolloutEventKind::Halted { .. } | RolloutEventKind::Complete { .. } => intent.target,
            RolloutEventKind::TemplateChanged { .. } => self.view.current().cloned(),
            RolloutEventKind::RollingBack { .. } => self.revision_before(&intent),
            RolloutEventKind::Command(command) if outcome == EventOutcome::Done => {
                match (command.inner(), intent.change) {
                    (Command::Undo { .. }, Some(change)) => change.revision().cloned(),
                    (Command::Undo { .. }, None) => intent.target,
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Logs what happened now. Timelines list it by `listed_at`, those of other processes, which read it from its Event, too.
    fn log_as_of(&mut self, listed_at: Timestamp, mut rollout_event: RolloutEvent) {
        rollout_event.said = rollout_event.said.map(|said| self.without_values(&said));
        if rollout_event.visibility >= Visibility::Timeline {
            self.event_log.keep(RolloutEvent { at: listed_at, ..rollout_event.clone() });
        }
        let uid = self.view.daemonset().map(|daemonset| daemonset.uid.clone());
        self.say(Notice::Happened { event: Box::new(rollout_event), listed_at, uid });
    }

    /// A server's message, without values from the template that may be secret: environment, arguments, annotations.
    pub(crate) fn without_values(&self, said: &str) -> Str {
        let mut values = Values::default();
        if let Some(daemonset) = self.view.daemonset() {
            values.add_template(daemonset.template.json());
            daemonset.annotations.iter().for_each(|(_, value)| values.add(value));
        }
        self.view.own_revisions().for_each(|revision| values.add_template(revision.template.json()));
        values.add_name(&self.config().namespace);
        values.add_name(&self.config().name);
        values.taken_out_of(said).into()
    }

    // ── Other rolldecks ───────────────────────────────────────────────────────────────────────────────────────────

    /// An Event that another rolldeck wrote, as it says itself: whoever may create Events can write one like it. It goes on the
    /// timeline as reported, with nobody as its author, and is not written again.
    pub(crate) fn hear_of(&mut self, fact: &ClusterEvent) {
        let Some(reported) = &fact.reported_by else { return };
        let known = |known: &RolloutEvent| matches!(&known.kind, RolloutEventKind::Reported { event, .. } if *event == reported.event);
        // What this process told itself is known without its Events.
        if is_same_process(&reported.identity, &self.config().identity) || self.event_log.has(known) {
            return;
        }
        // Events outlive a DaemonSet: of an earlier one of this name they tell nothing of this one.
        let of_another = |daemonset: &DaemonSetFact| !fact.object.is_empty() && fact.object != daemonset.uid;
        if self.view.daemonset().is_some_and(of_another) {
            return;
        }
        let person = person_of(&reported.identity);
        let theirs = fact.message.strip_prefix(person).and_then(|rest| rest.strip_prefix(": "));
        self.event_log.keep(RolloutEvent {
            at: self.view.our_time(fact.at),
            by: None,
            kind: RolloutEventKind::Reported {
                reason: fact.reason.clone(),
                identity: reported.identity.clone(),
                event: reported.event.clone(),
                severity: reported.severity,
            },
            outcome: EventOutcome::Done,
            command: None,
            said: Some(theirs.map_or_else(|| fact.message.clone(), Into::into)),
            visibility: Visibility::Timeline,
            revision: reported.revision.clone(),
        });
    }

    // ── Commands ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// A command was accepted. Its outcome is recorded when it is settled.
    ///
    /// `StopDriving` is not recorded where we do not drive: every console that closes asks for it, and so does every one-shot
    /// command, which may hold the lease for its own write.
    pub(crate) fn tell_asked(&mut self, id: CommandId, command: &Command) -> bool {
        let of_note = self.is_of_note(command);
        if of_note {
            let by = Some(self.actor());
            self.log_event(
                by,
                RolloutEventKind::Command(command.clone()),
                EventOutcome::Requested,
                Visibility::Log,
                Some(id),
                None,
            );
        }
        of_note
    }

    fn is_of_note(&self, command: &Command) -> bool {
        match command.reporting() {
            Reporting::Whole | Reporting::ByTheLease => true,
            Reporting::ByTheLeaseWhereDriving => self.reported_driver.driving && self.config().role == Role::Driver,
        }
    }

    /// A command was refused.
    pub(crate) fn tell_refused(&mut self, command: &Command, why: &str) {
        if self.is_of_note(command) {
            let by = Some(self.actor());
            let kind = RolloutEventKind::Command(command.clone());
            self.log_event(by, kind, EventOutcome::Refused, Visibility::Timeline, None, Some(why.into()));
        }
    }

    /// A command is done, or failed.
    pub(crate) fn settled(&mut self, pending: Pending, result: Result<String, Unsettled>) {
        let id = pending.id;
        if pending.of_note {
            self.tell_settled(pending, &result);
        }
        self.say(Notice::Settled { id, result });
    }

    /// The timeline lists a command that was done in time by when it was asked for: it is settled only when the API server has
    /// answered, and the first pod that it lets go may be deleted just before that.
    fn tell_settled(&mut self, pending: Pending, result: &Result<String, Unsettled>) {
        let (outcome, said) = match result {
            // An answer speaks to who asked; the log names them.
            Ok(said) if matches!(pending.command.inner(), Command::Drive(_)) => {
                (EventOutcome::Done, said.replacen("you drive", "drives", 1))
            }
            Ok(said) => (EventOutcome::Done, said.clone()),
            Err(why) => (EventOutcome::Failed, why.to_string()),
        };
        let visibility = match pending.command.reporting() {
            // Nothing has happened that others have to know.
            _ if pending.is_so_already && result.is_ok() => Visibility::Log,
            Reporting::ByTheLease | Reporting::ByTheLeaseWhereDriving if result.is_ok() => Visibility::Log,
            Reporting::Whole | Reporting::ByTheLease | Reporting::ByTheLeaseWhereDriving => Visibility::Cluster,
        };
        let in_time = result.is_ok() && self.now.since(pending.requested_at) <= LATE;
        let kind = RolloutEventKind::Command(pending.command);
        let done = RolloutEvent {
            at: self.now,
            by: Some(self.actor()),
            revision: self.revision_of(&kind, outcome),
            kind,
            outcome,
            command: Some(pending.id),
            said: Some(said.as_str().into()),
            visibility,
        };
        self.log_as_of(if in_time { pending.requested_at } else { self.now }, done);
    }

    // ── The rollout ───────────────────────────────────────────────────────────────────────────────────────────────

    /// The template is as somebody asked.
    pub(crate) fn tell_template_changed(&mut self, intent: &Intent, current: &Str) {
        // Where the target has this template already, somebody else had changed it in between: what it was then is not known any more.
        let from = match &intent.target {
            Some(target) => Some(target.clone()).filter(|target| target != current),
            None => self.majority_revision(Some(current)),
        };
        // A controller whose cache is behind, as after a restart of the API server, gives a new revision the number of an earlier one, and corrects that.
        let is_taken =
            |number: i64| self.view.own_revisions().any(|other| other.number == number && other.hash != *current);
        let number = |hash: &Str| self.view.revision(hash).map(|revision| revision.number);
        let images = from.as_ref().map(|from| self.view.images_changed(Some(from), Some(current))).unwrap_or_default();
        let (from, to) = (from.as_ref().and_then(number), number(current).filter(|to| !is_taken(*to)));
        self.happened(RolloutEventKind::TemplateChanged { from, to, images }, Visibility::Cluster);
    }

    /// Somebody else changed the template.
    pub(crate) fn tell_template_changed_by_others(&mut self, intent: &Intent, then: TemplateResponse) {
        let manager = self.writer_of_the_template().cloned();
        let how = self.template_of_others_in_words(intent).into();
        self.happened(RolloutEventKind::TemplateChangedByOthers { manager, how, then }, Visibility::Cluster);
    }

    /// Somebody changed the strategy back.
    pub(crate) fn tell_drifted(&mut self, then: DriftResponse) {
        let manager = self.view.daemonset().and_then(|daemonset| daemonset.owners.strategy.clone());
        let enforced = self.progress.drifts.rounds(self.now);
        self.happened(RolloutEventKind::StrategyDrifted { manager, then, enforced }, Visibility::Cluster);
    }

    pub(crate) fn tell_halted(&mut self, number: u32, why: &str, nodes: &[Str]) {
        let nodes = nodes.iter().take(NODES_NAMED).cloned().collect();
        let target = self.intent().target;
        let revision = target.and_then(|hash| self.view.revision(&hash)).map(|revision| revision.number);
        self.happened(RolloutEventKind::Halted { number, revision, why: why.into(), nodes }, Visibility::Cluster);
    }

    pub(crate) fn tell_complete(&mut self) {
        let intent = self.intent();
        let back = intent.direction() == Direction::Back;
        let revision = intent.target.and_then(|hash| self.view.revision(&hash)).map(|revision| revision.number);
        let kind = RolloutEventKind::Complete { nodes: self.assessment.fleet, back, revision };
        self.happened(kind, Visibility::Cluster);
    }

    /// The strategy is restored. Nothing is recorded if an operator of this process asked for it: then the command is.
    pub(crate) fn tell_released(&mut self) {
        let visibility = self.unless_waited_for(&[Needs::Released]);
        // A process that died may have sent the release: its original strategy is there then, and what it had replaced is not known. A
        // DaemonSet that was never seen adopted has no original strategy: what is dropped is the record of an earlier one of this name.
        let unsent = if self.progress.adopted { ReleasedStrategy::Original } else { ReleasedStrategy::NotAdopted };
        let strategy = self.daemonset.released.take().unwrap_or(unsent);
        self.happened(RolloutEventKind::Released { strategy }, visibility);
    }

    fn unless_waited_for(&self, needs: &[Needs]) -> Visibility {
        let waited_for = self.pending.iter().any(|pending| needs.contains(&pending.needs));
        if waited_for { Visibility::Log } else { Visibility::Cluster }
    }

    // ── Writes ────────────────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) fn tell_delete(&mut self, node: &Str, pod: &Str, uid: &Str, result: EventOutcome, said: Option<Str>) {
        let kind = RolloutEventKind::DeletePod { node: node.clone(), pod: pod.clone(), uid: uid.clone() };
        self.log_event(None, kind, result, Visibility::Log, None, said);
    }

    /// A pod for pre-warming is made, or deleted where it is named by its `uid`.
    pub(crate) fn tell_warm_pod(
        &mut self,
        (node, pod): (&Str, &Str),
        uid: Option<&Str>,
        result: EventOutcome,
        said: Option<Str>,
    ) {
        let (node, pod) = (node.clone(), pod.clone());
        let kind = match uid {
            None => RolloutEventKind::CreateWarmPod { node, pod, uid: None },
            Some(uid) => RolloutEventKind::DeleteWarmPod { node, pod, uid: uid.clone() },
        };
        self.log_event(None, kind, result, Visibility::Log, None, said);
    }

    /// A StatefulSet for pre-warming is made, or deleted where it is named by its `uid`.
    pub(crate) fn tell_warm_set(&mut self, set: &Str, uid: Option<&Str>, result: EventOutcome, said: Option<Str>) {
        let set = set.clone();
        let kind = match uid {
            None => RolloutEventKind::CreateWarmSet { set, uid: None },
            Some(uid) => RolloutEventKind::DeleteWarmSet { set, uid: uid.clone() },
        };
        self.log_event(None, kind, result, Visibility::Log, None, said);
    }

    /// A pod for pre-warming was made: what its line has is found in the cluster by its uid, like that of each deletion.
    pub(crate) fn tell_warm_pod_made(&mut self, (node, pod): (&Str, &Str), uid: &Str) {
        let kind = RolloutEventKind::CreateWarmPod { node: node.clone(), pod: pod.clone(), uid: Some(uid.clone()) };
        self.log_event(None, kind, EventOutcome::Done, Visibility::Log, None, None);
    }

    /// The same of a StatefulSet.
    pub(crate) fn tell_warm_set_made(&mut self, set: &Str, uid: Option<Str>) {
        let kind = RolloutEventKind::CreateWarmSet { set: set.clone(), uid };
        self.log_event(None, kind, EventOutcome::Done, Visibility::Log, None, None);
    }

    /// The DaemonSet is patched, or that failed as a dry run already. `told`: a command of this process said already what the patch does.
    pub(crate) fn tell_patch(
        &mut self,
        kind: PatchPurpose,
        (result, dry_run): (EventOutcome, bool),
        said: Option<Str>,
        told: bool,
    ) {
        let change = match kind {
            PatchPurpose::Adopt => PatchChange::Adopt,
            PatchPurpose::Template => PatchChange::Template,
            PatchPurpose::ForgetChange => PatchChange::ForgetChange,
            PatchPurpose::Release => PatchChange::Release,
        };
        self.log_event(None, RolloutEventKind::PatchDaemonSet { change, dry_run }, result, Visibility::Log, None, said);
        if kind == PatchPurpose::Adopt && result == EventOutcome::Done {
            let visibility =
                if told { Visibility::Log } else { self.unless_waited_for(&[Needs::Adopted, Needs::Braked]) };
            self.happened(RolloutEventKind::Adopted, visibility);
        }
    }

    // ── The lease ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// Records when we begin or cease to drive. For a one-shot command nothing is recorded: it holds the lease only for as
    /// long as its one command takes.
    pub(crate) fn watch_the_lease(&mut self, now: Timestamp) {
        let loss = self.record_loss();
        let drives = self.lock.may_act(now) && loss.is_none();
        let holder = self.lock.holder().cloned();
        let visibility = if self.config().role == Role::OneShot { Visibility::Log } else { Visibility::Cluster };
        match (self.reported_driver.driving, drives) {
            (false, true) if std::mem::take(&mut self.reported_driver.lapsed) => {
                // It was ours all the time: nobody else needs to know.
                self.did(RolloutEventKind::LeaseAcquired, visibility.min(Visibility::Timeline));
            }
            (false, true) => {
                let from = self.reported_driver.other.take();
                let kind = match from {
                    Some(from) if self.reported_driver.held_by_other => {
                        RolloutEventKind::LeaseTakenOver { from, succession: Succession::Expired }
                    }
                    Some(from) if self.lock.wants_a_handover() => {
                        RolloutEventKind::LeaseTakenOver { from, succession: Succession::HandedOver }
                    }
                    _ => RolloutEventKind::LeaseAcquired,
                };
                self.did(kind, visibility);
            }
            (true, false) if loss.is_some() && (self.lock.holds() || holder.is_none()) => {
                loss.into_iter().for_each(|loss| self.tell_record_lost(loss, visibility));
            }
            (true, false) if self.lock.holds() => {
                // Nobody hears us, or we would have renewed it.
                self.reported_driver.lapsed = true;
                self.did(RolloutEventKind::LeaseLost { to: None }, visibility.min(Visibility::Timeline));
            }
            (true, false) => match holder.clone() {
                // The process that took it records that.
                Some(to) => {
                    self.did(RolloutEventKind::LeaseLost { to: Some(to) }, visibility.min(Visibility::Timeline));
                }
                None => {
                    let of_rollout = self.lock.record().and_then(|record| record.intent.handover.as_ref());
                    let to = of_rollout.or_else(|| self.lock.prewarm().and_then(|prewarm| prewarm.handover.as_ref()));
                    let to = to.filter(|handover| handover.by != self.config().identity).map(|by| by.by.clone());
                    self.did(RolloutEventKind::LeaseGivenBack { to }, visibility);
                }
            },
            _ => {}
        }
        self.reported_driver.driving = drives;
        self.reported_driver.lapsed &= self.lock.holds();
        let other = holder.filter(|holder| *holder != self.config().identity);
        // The news that the lease is ours may come before the answer from which on we drive: whose it was until then is still to be told.
        let about_to_drive = !drives && self.lock.holds();
        self.reported_driver.held_by_other = other.is_some() || (about_to_drive && self.reported_driver.held_by_other);
        if other.is_some() {
            self.reported_driver.other = other;
        }
        self.watch_the_other_driver(now);
    }

    /// The record is lost. What it had is told to everybody: nothing else in the cluster tells it any more.
    fn tell_record_lost(&mut self, kind: RolloutEventKind, visibility: Visibility) {
        if !self.event_log.reported_lately(&kind, self.now) {
            let said = self.lost_record_as_seen().map(|had| format!("{kind}{IT_HAD}{had}").into());
            self.log_event(None, kind, EventOutcome::Done, visibility, None, said);
        }
    }

    /// Whether the record by which this process drives, or is to drive, is lost.
    pub(crate) fn has_lost_its_record(&self) -> bool {
        let drives = self.reported_driver.driving || self.lock.record_error().is_some();
        drives && self.record_loss().is_some()
    }

    /// Why there is no record to drive by, of a DaemonSet that is there: with a DaemonSet that is deleted its Lease goes by itself. A record that was
    /// taken off its Lease is no loss while that asks for pre-warming. `None` if there is one, or if its rollout has ended.
    pub(crate) fn record_loss(&self) -> Option<RolloutEventKind> {
        if self.view.presence() != Presence::Present || self.is_being_deleted() {
            return None;
        }
        match (self.lock.known(), self.lock.record_error()) {
            (KnownLease::Absent, _) => Some(RolloutEventKind::RecordDeleted),
            (_, Some(why)) => Some(RolloutEventKind::RecordUnreadable { why: why.clone() }),
            (_, None) => {
                let is_lost = self.lock.lost_intent().is_some() && !self.has_work();
                is_lost.then_some(RolloutEventKind::RecordRemoved)
            }
        }
    }

    /// Records for the timeline when another process that drove before our eyes stops renewing its lease, and when it renews it
    /// after all. Nothing is recorded of one that was gone when we came, nor while the Lease cannot be seen.
    fn watch_the_other_driver(&mut self, now: Timestamp) {
        if self.health(Watched::Lease) != WatchHealth::Live {
            return;
        }
        let before = std::mem::take(&mut self.reported_driver.witness);
        self.reported_driver.witness = match (self.lock.view(now), before) {
            (DriverView::Lost { holder, .. }, Witness::Renewing(known)) if known == holder => {
                self.happened(RolloutEventKind::DriverSilent { holder: holder.clone() }, Visibility::Timeline);
                Witness::Silent(holder)
            }
            (DriverView::Other { holder, .. }, Witness::Silent(known)) if known == holder => {
                self.happened(RolloutEventKind::DriverBack { holder: holder.clone() }, Visibility::Timeline);
                Witness::Renewing(holder)
            }
            (DriverView::Other { holder, .. }, _) => Witness::Renewing(holder),
            // Who asked for the lease waits until it runs out, and knows.
            (DriverView::Lost { .. } | DriverView::Waiting { .. } | DriverView::Unconfirmed { .. }, before) => before,
            (DriverView::Unknown | DriverView::Nobody | DriverView::You { .. }, _) => Witness::Nobody,
        };
    }
}
