//! When a drive is over, and with which result.

use std::time::Duration;

use tokio::time::Instant;

use super::step_result;
use crate::cli::args::DriveUntil;
use crate::cli::error::{CliError, CliErrorKind, Exit, SAYS_WHERE};
use crate::cli::prewarm::{BROUGHT_LATER, DOWN_FOR, only_down};
use crate::cli::status::{deleted, some_of};
use crate::engine::model::driver::DriverView;
use crate::engine::model::presence::Presence;
use crate::engine::model::prewarm::{Prewarm, PrewarmLeftover};
use crate::engine::model::record::Direction;
use crate::engine::model::rollout_event::RolloutEventKind;
use crate::engine::model::settings::Finish;
use crate::engine::model::time::Timestamp;
use crate::engine::model::unsent::UnsentKind;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

/// How long to wait for the deletion of unneeded pre-warming pods while none of them disappears.
const CLEANS_UP_WITHIN: Duration = Duration::from_secs(30);

/// If a namespace is deleted, the DaemonSet may be deleted this long after its Lease.
const GOES_WITHIN: Duration = Duration::from_secs(10);

/// How long another process must hold the Lease before it counts as a takeover. A one-shot command holds it only for its own
/// write; a driver that stood still meanwhile sees that afterwards, and continues.
pub(in crate::cli) const HELD_FOR: Duration = Duration::from_secs(2);

/// How long the API server must refuse to have the Lease renewed, after it ran out, until the drive ends: a policy may be put right meanwhile. So long, too,
/// it must refuse to delete what is left of a step that is waited for, and nodes that do not come back must use up the budget.
pub(in crate::cli) const REFUSED_FOR: Duration = Duration::from_secs(60);

/// Judges from each snapshot whether the drive is over.
pub(in crate::cli) struct DriveEnd {
    until: DriveUntil,
    /// Whether this process has held the Lease. From then on, a Lease of another process means a takeover.
    pub(super) drove: bool,
    /// The direction of the rollout when this process began to drive it, and its present direction, as far as they are
    /// recorded. A rollout that was rolled back during the drive does not count as done: a script would continue and take it
    /// for a success.
    course: Option<(Direction, Direction)>,
    /// When the first snapshot of that rollout was made.
    began_at: Timestamp,
    /// How many nodes had the new revision in it.
    began_with: u32,
    /// The time since when the Lease is missing because somebody else deleted it.
    record_gone: Option<Instant>,
    /// The time since when another process holds the Lease.
    held_by_other: Option<Instant>,
    /// The time since when this process cannot drive, because the API server refuses to have its Lease renewed.
    renewal_refused: Option<Instant>,
    /// The time since when no node is updated: the API server refuses to delete all pods that are left, or nodes that do not come back use up the budget.
    stands_still: Option<Instant>,
    /// The time since when only pre-warming is left to do, and only on nodes that are down.
    warms_only_down: Option<Instant>,
    /// The leftover of pre-warming that the end waits for, and since when it has this size.
    cleaning: Option<(PrewarmLeftover, Instant)>,
}

impl DriveEnd {
    pub(in crate::cli) fn new(until: DriveUntil) -> Self {
        Self {
            until,
            drove: false,
            course: None,
            began_at: Timestamp::default(),
            began_with: 0,
            record_gone: None,
            held_by_other: None,
            renewal_refused: None,
            stands_still: None,
            warms_only_down: None,
            cleaning: None,
        }
    }

    /// The result of the drive, if it is over.
    pub(in crate::cli) fn end(&mut self, snapshot: &Snapshot, now: Instant) -> Option<Result<Exit, CliError>> {
        if snapshot.daemonset == Presence::Absent {
            return Some(Err(deleted(snapshot)));
        }
        // When the namespace is deleted, the Lease may go before the DaemonSet. The drive is over when the DaemonSet is gone.
        let is_told = snapshot.timeline.iter().any(|event| event.kind == RolloutEventKind::RecordDeleted);
        let on_lease = || snapshot.timeline.iter().rev().find(|event| event.loses_the_record());
        // With a namespace the whole Lease goes, and not only its record.
        if let Some(error) = on_lease().filter(|_| self.drove).and_then(|lost| record_lost(&lost.kind)) {
            return Some(Err(error));
        }
        // A process that stood still meanwhile was not there to see the Lease go.
        let is_gone = is_told || snapshot.alarms.contains(&Alarm::RecordMissing);
        if snapshot.alarms.contains(&Alarm::BeingDeleted) {
            self.record_gone = None;
        } else if self.drove && is_gone {
            let since = *self.record_gone.get_or_insert(now);
            return (since + GOES_WITHIN <= now).then(|| Err(record_deleted()));
        }
        if let Some(holder) = handed_over_to(snapshot).filter(|_| self.drove) {
            return Some(Err(taken_over(holder).asked_for()));
        }
        if let Some(meanwhile) = drove_meanwhile(snapshot).filter(|_| self.drove) {
            return Some(Err(overtaken(&meanwhile)));
        }
        match &snapshot.driver {
            DriverView::Other { holder, .. } if self.drove => {
                let since = *self.held_by_other.get_or_insert(now);
                return (since + HELD_FOR <= now).then(|| Err(taken_over(holder)));
            }
            DriverView::You { .. } => self.drove = true,
            _ => {}
        }
        self.held_by_other = None;
        match renewal_refused(snapshot).filter(|_| self.drove) {
            Some(why) => {
                let since = *self.renewal_refused.get_or_insert(now);
                if since + REFUSED_FOR <= now {
                    return Some(Err(cannot_renew(why)));
                }
            }
            None => self.renewal_refused = None,
        }
        let stands = || deletions_refused(snapshot).map(cannot_delete).or_else(|| step_result::stands_still(snapshot));
        match stands().filter(|_| self.drove && self.until == DriveUntil::Held && at_rest(snapshot)) {
            Some(error) => {
                let since = *self.stands_still.get_or_insert(now);
                if since + REFUSED_FOR <= now {
                    return Some(Err(error));
                }
            }
            None => self.stands_still = None,
        }
        match self.only_down_left(snapshot) {
            Some(error) => {
                let since = *self.warms_only_down.get_or_insert(now);
                if since + DOWN_FOR <= now {
                    return Some(Err(error));
                }
            }
            None => self.warms_only_down = None,
        }
        if self.drove && snapshot.started_at.is_some() {
            if self.course.is_none() {
                self.began_at = snapshot.at;
                self.began_with = snapshot.counts.committed;
            }
            let began = self.course.map_or(snapshot.direction, |(began, _)| began);
            self.course = Some((began, snapshot.direction));
        }
        let went_back = self.course.is_some_and(|(began, is)| {
            began == Direction::Forward && (is == Direction::Back || snapshot.was_rolled_back_since(self.began_at))
        });
        // The step is not done: no node of it may be updated.
        if snapshot.phase == Phase::Held
            && self.over(snapshot) == Some(Exit::Done)
            && let Some(why) = snapshot.forbidden_view()
        {
            let error = CliError::new(CliErrorKind::Refused, format!("driving ends, as no node can be updated: {why}"));
            return Some(Err(error.hinted("ask for a role that may `list` and `watch` them")));
        }
        if snapshot.phase == Phase::Held
            && self.over(snapshot) == Some(Exit::Done)
            && let Some(error) = step_result::not_done(snapshot, self.began_with)
        {
            return Some(Err(error));
        }
        let end = self.over(snapshot).map(|end| if end == Exit::Done && went_back { Exit::Halted } else { end });
        if end.is_none() || !has_leftovers(snapshot) || !matches!(snapshot.driver, DriverView::You { .. }) {
            self.cleaning = None;
            return end.map(Ok);
        }
        let left = snapshot.prewarm.as_ref().map(|prewarm| prewarm.leftover.clone()).unwrap_or_default();
        let as_much = |(known, _): &(PrewarmLeftover, Instant)| (known.pods, known.ending) == (left.pods, left.ending);
        if !self.cleaning.as_ref().is_some_and(as_much) {
            self.cleaning = Some((left, now));
        }
        self.gives_up_at().filter(|at| *at <= now).and(end).map(Ok)
    }

    /// The time at which the drive may be over even if nothing changes.
    pub(in crate::cli) fn looks_again_at(&self) -> Option<Instant> {
        let is_gone = self.record_gone.map(|since| since + GOES_WITHIN);
        let is_held = self.held_by_other.map(|since| since + HELD_FOR);
        let refused = [self.renewal_refused, self.stands_still].into_iter().flatten();
        let is_refused = refused.map(|since| since + REFUSED_FOR);
        let is_down = self.warms_only_down.map(|since| since + DOWN_FOR);
        is_gone.into_iter().chain(is_held).chain(is_refused).chain(is_down).min().or_else(|| self.gives_up_at())
    }

    /// The error of a drive that has nothing left to do but to pre-warm nodes that are down, as `prewarm` ends then.
    fn only_down_left(&self, snapshot: &Snapshot) -> Option<CliError> {
        let over = matches!(snapshot.phase, Phase::Idle | Phase::Complete | Phase::Native);
        if !(self.drove && over && still_prewarms(snapshot)) {
            return None;
        }
        let down = only_down(snapshot);
        let nodes = match down.len() {
            0 => return None,
            1 => "1 node is".to_owned(),
            nodes => format!("{nodes} nodes are"),
        };
        let why = format!(
            "driving ends, as only pre-warming is left, and only on nodes that do not come back: {nodes} down: {}",
            some_of(&down)
        );
        let error = CliError::new(CliErrorKind::Incomplete, why);
        Some(error.hinted(BROUGHT_LATER))
    }

    /// The time at which the wait for the leftover ends.
    fn gives_up_at(&self) -> Option<Instant> {
        self.cleaning.as_ref().map(|(_, since)| *since + CLEANS_UP_WITHIN)
    }

    /// The result of the rollout, apart from its leftover.
    pub(super) fn over(&self, snapshot: &Snapshot) -> Option<Exit> {
        match &snapshot.phase {
            // Pre-warming needs no rollout.
            Phase::Idle | Phase::Complete | Phase::Native if still_prewarms(snapshot) => None,
            // `--on-failure rollback`: the roll back that this halt asks for is not recorded yet.
            Phase::Halted if snapshot.unsent.iter().any(|unsent| unsent.kind == UnsentKind::RollBack) => None,
            Phase::Halted => Some(Exit::Halted),
            // As after a halt, nothing moves before an operator decides. After a pause by a person, that person decides when
            // the rollout continues.
            Phase::Paused(paused) if paused.is_by_rolldeck() => Some(Exit::Halted),
            Phase::Idle => Some(Exit::Done),
            Phase::Complete if snapshot.settings.policies.finish == Finish::Keep => Some(Exit::Done),
            // Somebody changed the strategy back: the driver stays, to report it or to set it again.
            Phase::Native if snapshot.is_set_back() => None,
            Phase::Native if snapshot.counts.updated == snapshot.counts.nodes => Some(Exit::Done),
            // Somebody released the rollout before its end, so the DaemonSet's controller continues it.
            Phase::Native => Some(Exit::Incomplete),
            // The step that is to be waited for does not come to its end, and nothing has failed on a node.
            Phase::Held
                if self.until == DriveUntil::Held && self.drove && snapshot.stands_for_images_that_nobody_brings() =>
            {
                Some(Exit::Incomplete)
            }
            // As after a pause of the rollout by a person.
            Phase::Held if snapshot.stands_for_lack_of_images() => None,
            Phase::Held if self.until == DriveUntil::Held && self.drove && at_rest(snapshot) => Some(Exit::Done),
            _ => None,
        }
    }
}

/// Whether images are still to be brought onto nodes, which needs a driver.
pub(super) fn prewarms_besides(snapshot: &Snapshot) -> bool {
    let goes_on = |asked: &Prewarm| asked.cancelled.is_none() && asked.paused.is_none();
    snapshot.prewarm.as_ref().is_some_and(|prewarm| goes_on(&prewarm.request) && !prewarm.is_done())
}

/// Whether this process drives and there is still something to pre-warm.
fn still_prewarms(snapshot: &Snapshot) -> bool {
    matches!(snapshot.driver, DriverView::You { .. }) && prewarms_besides(snapshot)
}

/// Whether pre-warming has left pods that nobody needs any more. A released rollout deletes all of them.
pub(super) fn has_leftovers(snapshot: &Snapshot) -> bool {
    snapshot.prewarm.as_ref().is_some_and(|prewarm| prewarm.request.cancelled.is_some() || prewarm.leftover.pods > 0)
}

/// Why the API server refuses to delete each pod that is left, without which a step does not come to its end.
fn deletions_refused(snapshot: &Snapshot) -> Option<&str> {
    snapshot.alarms.iter().find_map(|alarm| match alarm {
        Alarm::DeletionRefused { why, others: false, .. } | Alarm::DeletionsRefused { why } => Some(&**why),
        _ => None,
    })
}

fn cannot_delete(why: &str) -> CliError {
    let error = CliError::new(
        CliErrorKind::Refused,
        format!("driving ends, as the API server refuses to delete the pods that are left: {why}"),
    );
    error.hinted("once it permits that, the same command carries on; `undo` goes back, `release` hands back")
}

/// Whether no node is on its way.
pub(super) fn at_rest(snapshot: &Snapshot) -> bool {
    !snapshot.nodes.iter().any(|node| node.state.is_moving())
}

fn record_deleted() -> CliError {
    CliError::failed(
        "the Lease of the rollout was deleted, and with it what was asked for; nothing more is started from here",
    )
    .where_recorded_anew()
}

/// The error of a record that is lost while its Lease is there.
fn record_lost(kind: &RolloutEventKind) -> Option<CliError> {
    match kind {
        RolloutEventKind::RecordRemoved => {
            let why = "the record of the rollout was taken off its Lease, and with it what was asked for; nothing more is started from here";
            Some(CliError::failed(why).where_recorded_anew())
        }
        RolloutEventKind::RecordUnreadable { why } => {
            let why =
                format!("the rollout's record cannot be read any more, so nothing more is started from here: {why}");
            Some(CliError::failed(why).where_unreadable())
        }
        _ => None,
    }
}

/// Who received the Lease on request, after this process had it last.
fn handed_over_to(snapshot: &Snapshot) -> Option<&str> {
    snapshot.timeline.iter().rev().find_map(|event| match &event.kind {
        RolloutEventKind::LeaseGivenBack { to } => Some(to.as_deref()),
        RolloutEventKind::LeaseAcquired | RolloutEventKind::LeaseTakenOver { .. } => Some(None),
        _ => None,
    })?
}

/// What has happened since the lease of this process ran out, if this process drives no more for that reason.
fn drove_meanwhile(snapshot: &Snapshot) -> Option<String> {
    snapshot.timeline.iter().rev().find_map(|event| match &event.kind {
        RolloutEventKind::DroveMeanwhile { by: Some(by) } => Some(Some(format!("{by} has driven since"))),
        RolloutEventKind::DroveMeanwhile { by: None } => Some(Some("another rollout has begun since".to_owned())),
        RolloutEventKind::LeaseAcquired | RolloutEventKind::LeaseTakenOver { .. } => Some(None),
        _ => None,
    })?
}

/// Why this process cannot drive any more, if its Lease has run out and the API server refuses to have it renewed.
fn renewal_refused(snapshot: &Snapshot) -> Option<&str> {
    let lapsed = matches!(snapshot.driver, DriverView::You { lapsed: true, .. });
    let refused = snapshot.alarms.iter().find_map(|alarm| match alarm {
        Alarm::WriteFailing { why, lease_refused: true } => Some(&**why),
        _ => None,
    });
    refused.filter(|_| lapsed)
}

fn cannot_renew(why: &str) -> CliError {
    CliError::failed(format!(
        "driving ends: the lease has run out, and the API server refuses to have it renewed: {why}"
    ))
    .hinted("nodes that are being updated go on; nothing more is started from here")
    .hinted("log in again, or have the role or the policy put right; then the same command carries on")
}

fn overtaken(meanwhile: &str) -> CliError {
    let why =
        format!("this process could not renew its lease in time, and {meanwhile}; nothing more is started from here");
    CliError::new(CliErrorKind::DrivenByOther, why)
        .command_helps("status", SAYS_WHERE)
        .command_helps("drive", "drives on")
}

fn taken_over(holder: &str) -> CliError {
    CliError::new(CliErrorKind::DrivenByOther, format!("{holder} took over; nothing more is started from here"))
}
