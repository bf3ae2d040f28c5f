//! The present activity of a rollout, its waits, and who drives.

use std::fmt;
use std::time::Duration;

use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::node::NodeState;
use crate::engine::model::person_of;
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::model::wait::Wait;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::engine::report::undriven::NOBODY_SEEN_DRIVING;

/// See [`Snapshot::doing`].
#[derive(Clone, Copy, Debug)]
pub struct Doing<'a>(pub(super) &'a Snapshot);

impl fmt::Display for Doing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        f.write_str(snapshot.way())?;
        match &snapshot.phase {
            Phase::Paused(_) => {
                f.write_str(&snapshot.pause_in_words().unwrap_or_default())?;
                f.write_str(snapshot.beside_its_stop())?;
            }
            Phase::Halted => {
                match &snapshot.halt {
                    Some(halt) => write!(f, "halted {} ago: {}", ShortDuration(snapshot.at.since(halt.at)), halt.why)?,
                    None => f.write_str("halted")?,
                }
                if let Some(paused) = snapshot.pause_in_words() {
                    write!(f, "; {paused}")?;
                }
                f.write_str(snapshot.beside_its_stop())?;
            }
            Phase::Running => {
                f.write_str(&snapshot.phase_word())?;
                snapshot.undriven_in_words().map_or(Ok(()), |undriven| write!(f, ", {undriven}"))?;
            }
            Phase::Preparing => match (&snapshot.requested_change, snapshot.template_of_others()) {
                (Some(asked), _) if snapshot.change_is_written => write!(f, "preparing: {asked} is written")?,
                (Some(asked), _) => write!(f, "preparing: {asked} is asked for, not made yet")?,
                (None, Some(changed)) => f.write_str(&changed)?,
                (None, None) => f.write_str("preparing")?,
            },
            Phase::Releasing(by) if !by.is_rolldeck() => {
                write!(f, "releasing, as {} asked {} ago", by.by, ShortDuration(snapshot.at.since(by.at)))?;
                if snapshot.has_silent_driver() {
                    write!(f, ", {NOBODY_SEEN_DRIVING}")?;
                }
            }
            Phase::Complete if snapshot.release_waits() => f.write_str("complete, the release waits")?,
            Phase::Idle => {
                let down = snapshot.nodes.iter().filter(|node| node.state == NodeState::NodeDown).count();
                let unavailable = snapshot.counts.nodes.saturating_sub(snapshot.counts.available) as usize;
                let nodes = |count: usize| if count == 1 { "node" } else { "nodes" };
                f.write_str("idle")?;
                if down > 0 {
                    write!(f, ", {down} {} down", nodes(down))?;
                }
                match (down, unavailable.saturating_sub(down)) {
                    (_, 0) => {}
                    (0, others) => write!(f, ", {others} {} unavailable", nodes(others))?,
                    (_, others) => write!(f, ", {others} more unavailable")?,
                }
            }
            phase => {
                write!(f, "{phase}")?;
                if let Some(why) = snapshot.unknown_because() {
                    write!(f, ": {why}")?;
                }
            }
        }
        match snapshot.not_sent() {
            Some(unsent) => {
                write!(f, "; {} NOT SENT {}, retrying", unsent.kind, ShortDuration(snapshot.at.since(unsent.since)))
            }
            None => Ok(()),
        }
    }
}

/// See [`Snapshot::waiting`].
#[derive(Clone, Copy, Debug)]
pub struct WaitingWords<'a>(pub(super) Timestamp, pub(super) &'a Wait);

impl fmt::Display for WaitingWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(now, wait) = self;
        write!(f, "{wait}")?;
        if let Wait::Rate { waiting, .. } = wait {
            write!(f, ", {waiting} {}", if *waiting == 1 { "waits" } else { "wait" })?;
        }
        match (wait.since(), wait.until()) {
            (Some(since), _) => write!(f, ", for {}", ShortDuration(now.since(since))),
            // The second that has begun counts.
            (_, Some(until)) => write!(f, ", {} left", ShortDuration(until.since(*now) + Duration::from_millis(999))),
            (None, None) => Ok(()),
        }
    }
}

/// What the holder of the lease does, or did, who only pre-warms.
fn prewarms(snapshot: &Snapshot) -> &'static str {
    if snapshot.has_prewarmed() { "pre-warmed" } else { "pre-warms" }
}

/// See [`Snapshot::driving`].
#[derive(Clone, Copy, Debug)]
pub struct DrivingWords<'a>(pub(super) &'a Snapshot);

impl fmt::Display for DrivingWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        let ago = |at: &Timestamp| ShortDuration(snapshot.at.since(*at));
        match &snapshot.driver {
            DriverView::Unknown => f.write_str("who drives is not known"),
            DriverView::Nobody if snapshot.strategy == StrategyKind::RollingUpdate => {
                f.write_str("its controller drives")
            }
            DriverView::Nobody => match &snapshot.driver_stopped {
                Some(stopped) => {
                    write!(f, "nobody drives: {} stopped {} ago: {}", stopped.by, ago(&stopped.at), stopped.why)
                }
                None => f.write_str("nobody drives"),
            },
            DriverView::You { lapsed: true, .. } => f.write_str("you drove: the lease ran out"),
            DriverView::You { lapsed: false, .. } if snapshot.only_prewarms() => {
                write!(f, "you pre-warm{}, its controller drives", if snapshot.has_prewarmed() { "ed" } else { "" })
            }
            DriverView::You { lapsed: false, .. } => f.write_str("you drive"),
            DriverView::Waiting { holder: Some(holder) } => {
                write!(f, "waiting for {holder} to hand over, or for its lease to run out")
            }
            DriverView::Waiting { holder: None } => f.write_str("waiting for the lease"),
            DriverView::Unconfirmed { holder, renewed_at } => {
                // The part of the name that tells processes apart is left out: the time matters more, and headers are narrow.
                let person = person_of(holder);
                match renewed_at {
                    // Whether it has ended or its clock is behind is not known: the process that looks has not waited to see.
                    Some(at) if snapshot.has_silent_driver() && snapshot.only_prewarms() => {
                        let ago = ago(at);
                        write!(
                            f,
                            "its controller drives: {person} pre-warmed, and renewed its lease {ago} ago by its clock"
                        )
                    }
                    Some(at) if snapshot.has_silent_driver() => {
                        write!(f, "{NOBODY_SEEN_DRIVING}: {person} renewed its lease {} ago by its clock", ago(at))
                    }
                    Some(at) if snapshot.only_prewarms() => {
                        let warms = prewarms(snapshot);
                        write!(f, "its controller drives; {person} {warms}, as of {} ago by its clock", ago(at))
                    }
                    // Not seen renewing yet, so how it was then is all that is known.
                    Some(at) => write!(f, "{person} drives, as of {} ago by its clock", ago(at)),
                    None => write!(f, "{person} drives, or did"),
                }
            }
            DriverView::Other { holder, .. } if snapshot.only_prewarms() => {
                write!(f, "{holder} {}, its controller drives", prewarms(snapshot))
            }
            DriverView::Other { holder, .. } => write!(f, "{holder} drives"),
            // What is not heard of is no sign that nobody drives.
            DriverView::Lost { holder, renewal_observed_at, .. } if snapshot.misses_leases() => {
                write!(f, "who drives is not known: {holder} drove, last seen {} ago", ago(renewal_observed_at))
            }
            DriverView::Lost { holder, renewal_observed_at, .. } if snapshot.only_prewarms() => {
                write!(f, "its controller drives: {holder} pre-warmed until {} ago", ago(renewal_observed_at))
            }
            DriverView::Lost { holder, renewed_at: Some(at), .. } => {
                write!(f, "nobody drives: {holder} drove last, {} ago by its clock", ago(at))
            }
            DriverView::Lost { holder, renewal_observed_at, renewed_at: None } => {
                write!(f, "nobody drives: {holder} was last seen {} ago", ago(renewal_observed_at))
            }
        }
    }
}
