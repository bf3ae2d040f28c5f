//! The state of a DaemonSet as the list of all of them shows it.

use std::fmt;

/// A DaemonSet's state in a fleet list, worst first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FleetState {
    /// Its rollout halted; the words say why.
    Halted(String),
    /// Adopted, and somebody set the strategy back: its own controller replaces pods, outside the plan.
    StrategyDrifted,
    /// It is being deleted: its controller makes no more pods, and none is replaced.
    BeingDeleted,
    /// Adopted, and no record is left that says for which rollout and with which limits.
    RecordMissing,
    /// Its record cannot be read, so that nothing is started.
    RecordUnreadable,
    /// Unavailable pods, with no rollout under way: how many.
    Degraded(u32),
    /// All pods that should run are available, with no rollout under way. This many pods are on nodes that should not run them, or that
    /// are down.
    Misscheduled(u32),
    /// Its partition lets nodes go, or another template or a release was asked for, but nobody drives, so that nothing moves.
    Undriven,
    /// What its rollout does depends on its record or on who drives, and neither is known, because Leases cannot be seen now.
    Unseen,
    /// Its rollout is paused; the words say by whom.
    Paused(String),
    /// Its rollout goes back to an earlier revision.
    RollingBack,
    /// Pods are being replaced, by rolldeck or by the DaemonSet's controller.
    Rolling,
    /// A rollout is recorded, but no node may be updated under its partition and selector.
    Held,
    /// Adopted, with no rollout under way.
    Adopted,
    /// Everything is at its current revision and available.
    UpToDate,
}

impl FleetState {
    /// Its place in a list that shows first what an operator has to look at first: 0 for the worst.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Halted(_) => 0,
            Self::StrategyDrifted => 1,
            Self::BeingDeleted => 2,
            Self::RecordMissing => 3,
            Self::RecordUnreadable => 4,
            Self::Degraded(_) => 5,
            Self::Misscheduled(_) => 6,
            Self::Undriven => 7,
            Self::Unseen => 8,
            Self::Paused(_) => 9,
            Self::RollingBack => 10,
            Self::Rolling => 11,
            Self::Held => 12,
            Self::Adopted => 13,
            Self::UpToDate => 14,
        }
    }
}

impl fmt::Display for FleetState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Halted(why) => write!(f, "halted: {why}"),
            Self::StrategyDrifted => f.write_str("strategy set back: its controller rolls"),
            Self::BeingDeleted => f.write_str("held, being deleted"),
            Self::RecordMissing => f.write_str("no record is left"),
            Self::RecordUnreadable => f.write_str("its record cannot be read"),
            Self::Degraded(unavailable) => write!(f, "{unavailable} unavailable"),
            Self::Misscheduled(pods) => write!(f, "{pods} misscheduled"),
            Self::Undriven => f.write_str("held, nobody drives"),
            Self::Unseen => f.write_str("not known: leases not seen"),
            Self::Paused(by) => write!(f, "paused {by}"),
            Self::RollingBack => f.write_str("rolling back"),
            Self::Rolling => f.write_str("running"),
            Self::Held => f.write_str("held"),
            Self::Adopted => f.write_str("adopted"),
            Self::UpToDate => f.write_str("idle"),
        }
    }
}
