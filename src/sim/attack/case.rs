//! Cases: a cluster, a rollout, what operators do, and what goes wrong. Each can be written down, and replays exactly.

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

/// One run, before it is run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// What it found, for a case that is kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// What it was made from; chance in the world and on the network comes from it too.
    pub seed: u64,
    /// The world and what goes wrong in it.
    pub scenario: Scenario,
    /// What operators do and what goes wrong around them, with how long after the beginning, in order.
    #[serde(with = "seconds::timeline")]
    pub acts: Vec<(Duration, Act)>,
    /// The network of consoles until the calm.
    pub network: NetworkProfile,
    /// How fast consoles may delete pods, a second and at once; as by default where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<(u32, u32)>,
    /// From then on nothing goes wrong any more, and an operator brings things to an end.
    #[serde(with = "seconds")]
    pub calm_after: Duration,
    /// Images that will never work.
    pub bad_images: Vec<Str>,
    /// How far each console's clock is off, in milliseconds, by its number.
    pub skews: Vec<i64>,
}

impl Case {
    /// The faults that it is certain to have; those that depend on how it goes are counted where they strike.
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
    /// Somebody asks for something on a console; ignored where it is not open.
    Ask(usize, Command),
    /// A one-shot command runs, and leaves.
    OneShot(Command),
    /// A console is killed; what it sent last may still arrive.
    Kill(usize),
    /// Something happens to a console at the write with this number from now on, counted from 0.
    Crash(usize, u32, CrashPoint),
    /// A watch of a console breaks for a while.
    BreakWatch(usize, Watched, #[serde(with = "seconds")] Duration),
    /// A watch of a console is late for a while.
    DelayWatch {
        /// Whose.
        who: usize,
        /// Which.
        watched: Watched,
        /// By how much.
        #[serde(with = "seconds")]
        by: Duration,
        /// For how long.
        #[serde(with = "seconds")]
        lasts: Duration,
    },
    /// A watch of a console stays open, and lets only bookmarks through for a while.
    BookmarksOnly {
        /// Whose.
        who: usize,
        /// Which.
        watched: Watched,
        /// For how long.
        #[serde(with = "seconds")]
        lasts: Duration,
    },
    /// A watch of a console resumes from an older version: it sends again what it has sent.
    ReplayWatch {
        /// Whose.
        who: usize,
        /// Which.
        watched: Watched,
        /// How many batches of events it sends again.
        back: usize,
    },
    /// A watch of a console is lost, and listed anew from a cache that is behind.
    StaleList {
        /// Whose.
        who: usize,
        /// Which.
        watched: Watched,
        /// By how many batches of events.
        back: usize,
        /// For how long the cache stays behind.
        #[serde(default, with = "seconds")]
        lasts: Duration,
    },
    /// A watch of a console stands still for a while, and goes on sending bookmarks that say so.
    StickWatch {
        /// Whose.
        who: usize,
        /// Which.
        watched: Watched,
        /// For how long.
        #[serde(with = "seconds")]
        lasts: Duration,
    },
    /// A fault of the world, for those that an [`Act::Upon`] triggers.
    World(Fault),
    /// The log of changes is cut: broken watches have to list anew.
    Compact,
    /// Somebody edits the lease.
    EditLease(LeaseEdit),
    /// Another act, at a moment that depends on how the run goes.
    Upon {
        /// Which moment.
        trigger: Trigger,
        /// How many more of them pass first.
        after: u32,
        /// What is done then.
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
    /// A process has just been suspended, with what it was about to send.
    Suspension,
}

/// What happens to a console around one of its writes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CrashPoint {
    /// It is killed before it sends it, and opened again after a while.
    KillBefore {
        /// How long after.
        #[serde(with = "seconds")]
        again: Duration,
    },
    /// It is killed when it has just sent it, and opened again after a while.
    KillAfter {
        /// How long after.
        #[serde(with = "seconds")]
        again: Duration,
    },
    /// It is suspended between the decision and the write, and sends the write when it goes on.
    Suspend {
        /// For how long.
        #[serde(with = "seconds")]
        lasts: Duration,
    },
}

/// What somebody does to the lease by hand.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeaseEdit {
    /// Deletes it.
    Delete,
    /// Writes something into the record that nobody can read.
    Garble,
    /// Pauses the rollout.
    Pause,
    /// Sets its partition.
    Partition(IntOrPercent),
    /// Sets its `maxUnavailable`.
    Budget(u32),
    /// Has it adopted again when the strategy is drifted back.
    Enforce,
}

impl CrashPoint {
    /// The kind of fault that it is once it strikes.
    pub(super) fn kind(self) -> FaultKind {
        match self {
            Self::KillBefore { .. } => FaultKind::KilledBefore,
            Self::KillAfter { .. } => FaultKind::KilledAfter,
            Self::Suspend { .. } => FaultKind::Suspended,
        }
    }
}

/// What the observer must allow for because of an act: what consoles cannot know in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Delay {
    /// How much later than the network makes it a watch may report a change.
    pub(super) lateness: Duration,
    /// Whether some console may miss versions of the record.
    pub(super) hides_record: bool,
}

impl Act {
    /// How it delays what consoles know.
    pub(super) fn delay(&self) -> Delay {
        let of = |watched: Watched, lateness: Duration| Delay { lateness, hides_record: watched == Watched::Lease };
        match self {
            Self::DelayWatch { watched, by, .. } => of(*watched, *by),
            Self::StaleList { watched, lasts, .. } => of(*watched, *lasts),
            // No promise is judged by when the revision of a template was known.
            Self::BookmarksOnly { watched: watched @ Watched::Revisions, .. } => of(*watched, Duration::ZERO),
            Self::BookmarksOnly { watched, lasts, .. } => of(*watched, *lasts),
            // While its watch is broken a console knows that it sees nothing, so nothing is excused for being late.
            Self::BreakWatch(_, watched, _) => of(*watched, Duration::ZERO),
            Self::Upon { act, .. } => act.delay(),
            // The console's own record of what it cannot know is `SimulatedConsole::unaware_until` and `outdated_at`.
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
