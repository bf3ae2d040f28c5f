//! The state of a DaemonSet as the list of all of them shows it: from its controller's counters and its record, without its
//! pods and nodes.

use std::fmt;

use crate::engine::model::facts::{DaemonSetCounters, StrategyKind};
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::{Direction, Record};

/// What is known of a DaemonSet in a list.
#[derive(Clone, Copy, Debug)]
pub struct Brief {
    /// Its controller's counters.
    pub counters: DaemonSetCounters,
    /// Its update strategy.
    pub strategy: StrategyKind,
    /// It has annotation [`crate::engine::model::record::ORIGINAL_STRATEGY`].
    pub adopted: bool,
    /// Its controller has observed its present generation.
    pub observed: bool,
}

/// A DaemonSet's state in a fleet list, worst first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FleetState {
    /// Its rollout halted; the words say why.
    Halted(String),
    /// Unavailable pods, with no rollout under way: how many.
    Degraded(u32),
    /// All that should run are available, with no rollout under way; so many pods are on nodes that should not run them,
    /// or that are down.
    Misscheduled(u32),
    /// Its rollout is paused; the words say by whom.
    Paused(String),
    /// Pods are being replaced, by us or by its controller.
    Rolling,
    /// A rollout is recorded, nothing may move under its partition and selector.
    Held,
    /// Adopted, with no rollout under way.
    Adopted,
    /// Everything is at its current revision and available.
    UpToDate,
}

impl FleetState {
    /// How much it wants to be looked at: the worst first, from 0.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Halted(_) => 0,
            Self::Degraded(_) => 1,
            Self::Misscheduled(_) => 2,
            Self::Paused(_) => 3,
            Self::Rolling => 4,
            Self::Held => 5,
            Self::Adopted => 6,
            Self::UpToDate => 7,
        }
    }
}

impl fmt::Display for FleetState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Halted(why) => write!(f, "halted: {why}"),
            Self::Degraded(unavailable) => write!(f, "{unavailable} unavailable"),
            Self::Misscheduled(pods) => write!(f, "{pods} misscheduled"),
            Self::Paused(by) => write!(f, "paused {by}"),
            Self::Rolling => f.write_str("rolling out"),
            Self::Held => f.write_str("held"),
            Self::Adopted => f.write_str("adopted"),
            Self::UpToDate => f.write_str("up to date"),
        }
    }
}

/// A DaemonSet's state, from its controller's counters and its record. It agrees with the rollout's own view as far as
/// counters allow (tested in `driver/fleet/agreement.rs`): in neither does a pod that is missing or not available count as outdated.
///
/// `driven`: somebody alive holds its Lease.
pub fn fleet_state(daemonset: &Brief, record: Option<&Record>, driven: bool) -> FleetState {
    let DaemonSetCounters { desired, current, updated, available, misscheduled, .. } = daemonset.counters;
    let unavailable = desired.saturating_sub(available);
    // `updated` leaves out nodes without a pod; these are missing, not outdated.
    let outdated = current.saturating_sub(updated);
    let at_rest = |idle: FleetState| match (unavailable, misscheduled) {
        (0, 0) => idle,
        (0, misscheduled) => FleetState::Misscheduled(misscheduled),
        (unavailable, _) => FleetState::Degraded(unavailable),
    };
    let Some(record) = record else {
        return match (daemonset.strategy, daemonset.adopted) {
            (StrategyKind::RollingUpdate, _) if outdated > 0 || !daemonset.observed => FleetState::Rolling,
            (StrategyKind::OnDelete, _) if outdated > 0 => FleetState::Held,
            (StrategyKind::OnDelete, true) => at_rest(FleetState::Adopted),
            _ => at_rest(FleetState::UpToDate),
        };
    };
    let intent = &record.intent;
    if let Some(halt) = record.progress.halt.as_ref().filter(|halt| halt.number > intent.acknowledged_halt) {
        return FleetState::Halted(halt.why.to_string());
    }
    if let Some(paused) = &intent.paused {
        return FleetState::Paused(format!("by {}", paused.by));
    }
    let keep = match intent.direction() {
        Direction::Forward => intent.partition.of(desired, Rounding::Down).min(desired),
        Direction::Back => 0,
    };
    // Counters do not tell which nodes a selector leaves out. Nodes that are being updated are named in the record; an old pod
    // that is unavailable by itself may stay so for good, and does not mean that anything moves.
    let may_move = outdated.saturating_sub(unavailable) > keep
        && driven
        && (intent.selector.is_none() || intent.direction() == Direction::Back);
    let moves = !record.progress.in_progress.is_empty() || intent.change.is_some();
    match outdated {
        _ if may_move || moves => FleetState::Rolling,
        0 => at_rest(FleetState::Adopted),
        _ => FleetState::Held,
    }
}
