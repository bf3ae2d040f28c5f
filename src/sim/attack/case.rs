//! Cases: a cluster, a rollout, the acts of operators, and the faults. A case can be kept in a file and replays exactly.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::faults::{FaultKind, Faults, of_world};
use super::network::NetworkProfile;
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::engine::model::event::Watched;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::template::VOLUME;
use crate::sim::world::scenario::{DaemonSetPlan, Fault, Scenario, seconds};

/// The DaemonSet that every case is about.
pub const DAEMON_SET: (&str, &str) = ("edge", "agent");

/// The complete input of one run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// For a kept case, the defect that it found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// The seed that the case was made from. Chance in the world and on the network comes from it too.
    pub seed: u64,
    /// The world and its faults.
    pub scenario: Scenario,
    /// The acts of operators and the faults of their consoles, each with its time since the beginning, in order of time.
    #[serde(with = "seconds::timeline")]
    pub acts: Vec<(Duration, Act)>,
    /// The network of consoles until `calm_after`.
    pub network: NetworkProfile,
    /// How many pods a console may delete, each second and at once; `None`: the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<(u32, u32)>,
    /// The time after which no more faults happen and an operator brings the rollout to its end.
    #[serde(with = "seconds")]
    pub calm_after: Duration,
    /// Images that will never work.
    pub bad_images: Vec<Str>,
    /// The error of each console's clock in milliseconds, by the console's number.
    pub skews: Vec<i64>,
}

impl Case {
    /// The faults that the case certainly has. Faults that depend on how the run goes are counted when they happen.
    pub(super) fn certain_faults(&self) -> Faults {
        let mut faults = Faults::default();
        let surges = |plan: &DaemonSetPlan| plan.max_surge != IntOrPercent::Int(0);
        if self.scenario.daemon_sets.iter().any(surges) {
            faults.count(FaultKind::Surges);
        }
        if self.scenario.always_pull_images || self.scenario.daemon_sets.iter().any(|plan| plan.pulls_always) {
            faults.count(FaultKind::PullsAlways);
        }
        let has_volume = |plan: &DaemonSetPlan| plan.images.keys().any(|name| name.starts_with(VOLUME));
        if self.scenario.daemon_sets.iter().any(has_volume) {
            faults.count(FaultKind::ImageVolume);
        }
        for kind in self.scenario.faults.iter().filter_map(|(_, fault)| of_world(fault)) {
            faults.count(kind);
        }
        faults
    }
}

/// Something that an operator does, or that happens to a console.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Act {
    /// A console is opened.
    Open(usize),
    /// An operator gives a command on a console; ignored while that console is not open.
    Ask(usize, Command),
    /// A one-shot command runs and ends.
    OneShot(Command),
    /// A console is killed. Requests that it has sent may still arrive.
    Kill(usize),
    /// A console is killed or suspended at one of its writes: the one with this number, counted from 0 from now on.
    Crash(usize, u32, CrashPoint),
    /// A watch of a console breaks for a while.
    BreakWatch(usize, Watched, #[serde(with = "seconds")] Duration),
    /// A watch of a console is late for a while.
    DelayWatch {
        /// The number of the console.
        who: usize,
        /// The kind of watch.
        watched: Watched,
        /// The delay.
        #[serde(with = "seconds")]
        by: Duration,
        /// How long this lasts.
        #[serde(with = "seconds")]
        lasts: Duration,
    },
    /// A watch of a console stays open but passes on only bookmarks for a while.
    BookmarksOnly {
        /// The number of the console.
        who: usize,
        /// The kind of watch.
        watched: Watched,
        /// How long this lasts.
        #[serde(with = "seconds")]
        lasts: Duration,
    },
    /// A watch of a console resumes from an older version, so it sends past events again.
    ReplayWatch {
        /// The number of the console.
        who: usize,
        /// The kind of watch.
        watched: Watched,
        /// How many batches of events it sends again.
        back: usize,
    },
    /// A watch of a console is lost, and its objects are listed anew from a cache that is behind.
    StaleList {
        /// The number of the console.
        who: usize,
        /// The kind of watch.
        watched: Watched,
        /// How many batches of events the cache is behind.
        back: usize,
        /// For how long the cache stays behind.
        #[serde(default, with = "seconds")]
        lasts: Duration,
    },
    /// A watch of a console stands still for a while: it sends bookmarks, but they do not advance.
    StickWatch {
        /// The number of the console.
        who: usize,
        /// The kind of watch.
        watched: Watched,
        /// How long this lasts.
        #[serde(with = "seconds")]
        lasts: Duration,
    },
    /// A fault of the world that an [`Act::Upon`] triggers.
    World(Fault),
    /// The log of changes is cut, so broken watches have to list anew.
    Compact,
    /// Somebody edits the lease.
    EditLease(LeaseEdit),
    /// An act whose moment depends on how the run goes.
    Upon {
        /// The kind of moment.
        trigger: Trigger,
        /// How many such moments pass before the one that counts.
        after: u32,
        /// The act at that moment.
        act: Box<Act>,
    },
}

/// A moment that triggers an act.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trigger {
    /// The API server accepted the deletion of a pod by rolldeck.
    Deletion,
    /// A pull failed, or a container crashed again and again.
    Failure,
    /// A process has just been suspended before it sent a write.
    Suspension,
}

/// A fault of a console at one of its writes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CrashPoint {
    /// The console is killed before it sends the write, and opened again after a while.
    KillBefore {
        /// How long after the kill the console is opened again.
        #[serde(with = "seconds")]
        again: Duration,
    },
    /// The console is killed just after it has sent the write, and opened again after a while.
    KillAfter {
        /// How long after the kill the console is opened again.
        #[serde(with = "seconds")]
        again: Duration,
    },
    /// The console is suspended between the decision and the write. It sends the write when it goes on.
    Suspend {
        /// How long this lasts.
        #[serde(with = "seconds")]
        lasts: Duration,
    },
}

/// A change of the Lease by hand.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeaseEdit {
    /// Deletes the Lease.
    Delete,
    /// Makes the record unreadable.
    Garble,
    /// Pauses the rollout.
    Pause,
    /// Sets the rollout's partition.
    Partition(IntOrPercent),
    /// Sets the rollout's `maxUnavailable`.
    Budget(u32),
    /// Makes the record ask that a strategy that drifted back is adopted again.
    Enforce,
}

impl CrashPoint {
    /// The kind of fault that is counted when it happens.
    pub(super) fn kind(self) -> FaultKind {
        match self {
            Self::KillBefore { .. } => FaultKind::KilledBefore,
            Self::KillAfter { .. } => FaultKind::KilledAfter,
            Self::Suspend { .. } => FaultKind::Suspended,
        }
    }
}

/// The effect of an act on the knowledge of consoles, for which the observer allows: how late or incomplete this knowledge is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Delay {
    /// How much later a watch may report a change, on top of the delay of the network.
    pub(super) lateness: Duration,
    /// Whether some console may miss versions of the record.
    pub(super) hides_record: bool,
}

impl Act {
    /// How the act delays the knowledge of consoles.
    pub(super) fn delay(&self) -> Delay {
        let of = |watched: Watched, lateness: Duration| Delay { lateness, hides_record: watched == Watched::Lease };
        match self {
            Self::DelayWatch { watched, by, .. } => of(*watched, *by),
            Self::StaleList { watched, lasts, .. } => of(*watched, *lasts),
            // No promise depends on when a console knew the revision of a template.
            Self::BookmarksOnly { watched: watched @ Watched::Revisions, .. } => of(*watched, Duration::ZERO),
            Self::BookmarksOnly { watched, lasts, .. } => of(*watched, *lasts),
            // A console knows that its watch is broken, so late knowledge is no excuse for it.
            Self::BreakWatch(_, watched, _) => of(*watched, Duration::ZERO),
            Self::Upon { act, .. } => act.delay(),
            // The console itself keeps what it cannot know: `SimulatedConsole::unaware_until` and `outdated_at`.
            Self::ReplayWatch { .. } | Self::StickWatch { .. } => Delay::default(),
            Self::Open(_)
            | Self::Ask(..)
            | Self::OneShot(_)
            | Self::Kill(_)
            | Self::Crash(..)
            | Self::World(_)
            | Self::Compact
            | Self::EditLease(_) => Delay::default(),
        }
    }
}
