//! The state of a DaemonSet as the list of all of them shows it: from its controller's counters and its record, without its
//! pods and nodes.

use crate::engine::model::facts::{DaemonSetCounters, StrategyKind};
use crate::engine::model::failing_nodes::FailingNodes;
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::record::{Direction, Intent, Progress, Record};
use crate::engine::model::time::Timestamp;

/// The facts about a DaemonSet in a list.
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
    /// It is being deleted.
    pub deleting: bool,
    /// It has no record as far as is known, and its Lease cannot be seen now.
    pub record_is_unseen: bool,
    /// It is known that no record is left of the rollout for which it was adopted, by the same rule as in `Engine::record_is_missing`.
    pub record_is_missing: bool,
    /// Its Lease has a record that cannot be read.
    pub record_is_unreadable: bool,
    /// The number of nodes on which an image could not be pulled, as far as known: without a driver, nothing comes of those pulls.
    pub failed_pulls: u32,
    /// Its driver reports that no node goes before somebody acts, because images cannot be pulled ([`FailingNodes::lacks_images`]).
    pub lacks_images: bool,
}

/// Whether somebody alive holds the Lease of a DaemonSet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriverPresence {
    /// Somebody does; if Leases cannot be seen now, somebody did when they were seen last.
    Present,
    /// Nobody does. This is known only while Leases are seen.
    Absent,
    /// Leases cannot be seen now, and nobody held this one when they were seen last.
    Unknown,
}

/// A DaemonSet's state, from its controller's counters and its record. It agrees with the rollout's own view as far as
/// counters allow (tested in `driver/fleet/agreement.rs`): in neither does a pod that is missing or not available count as outdated.
pub fn fleet_state(daemonset: &Brief, record: Option<&Record>, driver: DriverPresence) -> FleetState {
    // As on the page, this comes before everything that is recorded.
    if daemonset.deleting {
        return FleetState::BeingDeleted;
    }
    let state = |driven: bool| state_if(daemonset, record, driven);
    match driver {
        DriverPresence::Present => state(true),
        DriverPresence::Absent => state(false),
        DriverPresence::Unknown => {
            Some(state(true)).filter(|known| *known == state(false)).unwrap_or(FleetState::Unseen)
        }
    }
}

/// The state of a DaemonSet that is not being deleted, if somebody alive holds its Lease (`driven`) or nobody does.
fn state_if(daemonset: &Brief, record: Option<&Record>, driven: bool) -> FleetState {
    let DaemonSetCounters { desired, current, updated, available, misscheduled, .. } = daemonset.counters;
    let unavailable = desired.saturating_sub(available);
    // `updated` does not count nodes without a pod, which are missing, not outdated.
    let outdated = current.saturating_sub(updated);
    let at_rest = |idle: FleetState| match (unavailable, misscheduled) {
        (0, 0) => idle,
        (0, misscheduled) => FleetState::Misscheduled(misscheduled),
        (unavailable, _) => FleetState::Degraded(unavailable),
    };
    let Some(record) = record else {
        return match (daemonset.strategy, daemonset.adopted) {
            _ if daemonset.record_is_unreadable => FleetState::RecordUnreadable,
            (StrategyKind::RollingUpdate, _) if outdated > 0 || !daemonset.observed => FleetState::Rolling,
            (StrategyKind::OnDelete, true) if daemonset.record_is_missing => FleetState::RecordMissing,
            (StrategyKind::OnDelete, true) if daemonset.record_is_unseen && outdated > 0 => FleetState::Unseen,
            (StrategyKind::OnDelete, _) if outdated > 0 => FleetState::Held,
            (StrategyKind::OnDelete, true) => at_rest(FleetState::Adopted),
            _ => at_rest(FleetState::UpToDate),
        };
    };
    let intent = &record.intent;
    // The fields are named one by one, so that a new field has to be judged: does it change what the list shows?
    let Intent {
        change,
        selector,
        paused,
        releasing,
        acknowledged_halt,
        // `kept_of` covers these, `direction` the next.
        partition: _,
        updated_in_total: _,
        back_to: _,
        // These tell how the rollout goes on, not whether it does.
        target: _,
        release_of: _,
        requested_change: _,
        accepted: _,
        outcome: _,
        steps: _,
        budgets: _,
        gates: _,
        finish: _,
        handover: _,
        on_drift: _,
        order: _,
        prewarm: _,
        begun_anew: _,
    } = intent;
    let Progress {
        halt,
        adopted,
        in_progress,
        started_at: _,
        target: _,
        origin: _,
        drifted: _,
        drifts: _,
        down_before: _,
        left_out_since: _,
        refused: _,
        refused_write: _,
        tried: _,
        idle_since: _,
        acknowledged_failures,
        suspects: _,
        others_down: _,
        evicted: _,
        marks: _,
        driver: _,
        driver_stopped: _,
        completed: _,
        original_strategy: _,
    } = &record.progress;
    // As on the page: what is asked for after a halt, another template or a release, is what an operator waits for from then on.
    let is_asked = change.is_some() || releasing.is_some();
    if let Some(halt) = halt.as_ref().filter(|halt| halt.number > *acknowledged_halt && !is_asked) {
        return FleetState::Halted(halt.why.to_string());
    }
    // The same rule as in `Engine::has_drifted`. The controller goes on while the rollout is paused.
    if *adopted && releasing.is_none() && daemonset.strategy == StrategyKind::RollingUpdate {
        return FleetState::StrategyDrifted;
    }
    if let Some(paused) = paused {
        return FleetState::Paused(format!("by {}", paused.by));
    }
    let keep = intent.kept_of(desired);
    // Counters do not tell which nodes a selector leaves out. Nodes being updated are named in the record. An old pod that is unavailable by itself
    // may stay so for good, so it does not show that anything moves. Nor does a node that an operator accepted as failed: it is unavailable at the
    // new revision.
    let accepted = u32::try_from(in_progress.intersection(acknowledged_failures).count()).unwrap_or(u32::MAX);
    let old_unavailable = unavailable.saturating_sub(accepted);
    let would_move = outdated.saturating_sub(old_unavailable) > keep
        && (selector.is_none() || intent.direction() == Direction::Back);
    let may_move = would_move && driven && !daemonset.lacks_images;
    // Without a driver nobody removes nodes from the record. So the updates under way are over once all nodes but those with failed pulls are
    // available. A node that an operator accepted as failed is not under way, with or without a driver.
    let is_under_way = !in_progress.is_subset(acknowledged_failures);
    let in_flight = is_under_way && (driven || unavailable > daemonset.failed_pulls);
    let moves = in_flight || change.is_some();
    match outdated {
        _ if is_asked && !driven => FleetState::Undriven,
        _ if may_move || moves => match intent.direction() {
            Direction::Forward => FleetState::Rolling,
            Direction::Back => FleetState::RollingBack,
        },
        // The rollout is not over while failed nodes are left.
        // Nodes have left since the partition was set: the rollout is not over.
        0 if record.progress.started_at.is_some() && intent.keeps_more_than(desired) => FleetState::Held,
        0 if accepted == 0 => at_rest(FleetState::Adopted),
        _ if would_move && !driven => FleetState::Undriven,
        _ => FleetState::Held,
    }
}

/// Since when a DaemonSet is in this state, as far as its record and the last report of its driver tell, by the clock of the process that wrote them.
/// `None` for a state that neither dates: only a process that watched it begin knows the time.
pub fn recorded_since(state: &FleetState, record: Option<&Record>, report: Option<&FailingNodes>) -> Option<Timestamp> {
    let record = record?;
    match state {
        FleetState::Halted(_) => record.progress.halt.as_ref().map(|halt| halt.at),
        FleetState::Paused(_) => record.intent.paused.as_ref().map(|paused| paused.at),
        // The record tells when the rollout began, and not whether it was held or paused since.
        FleetState::Rolling | FleetState::RollingBack => report.and_then(|report| report.runs_since),
        FleetState::StrategyDrifted
        | FleetState::BeingDeleted
        | FleetState::RecordMissing
        | FleetState::RecordUnreadable
        | FleetState::Degraded(_)
        | FleetState::Misscheduled(_)
        | FleetState::Undriven
        | FleetState::Unseen
        | FleetState::Held
        | FleetState::Adopted
        | FleetState::UpToDate => None,
    }
}
