//! The snapshot that front ends show: the whole rollout as plain values, with a reason on every node.
//!
//! The words are here, as `Display`, so that console, command line and JSON use the same ones. Glyphs and colours are not.

pub mod alarm;
mod counterparts;
mod node_view;
mod node_views;
pub mod pull_words;
mod revisions;
pub mod words;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::engine::model::Str;
use crate::engine::model::budget::BudgetView;
use crate::engine::model::clocks::NodeClocks;
use crate::engine::model::comparison::Comparison;
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::{RolloutEstimate, UpdateTimes};
use crate::engine::model::event::{Permission, Right, SkippedObjects, WatchHealth, Watched};
use crate::engine::model::facts::{DaemonSetCounters, StrategyKind};
use crate::engine::model::gitops_owner::GitOpsOwner;
use crate::engine::model::labels::Selector;
use crate::engine::model::pace::PacedSite;
use crate::engine::model::pod_wait::Blocked;
use crate::engine::model::presence::Presence;
use crate::engine::model::prewarm::PrewarmView;
use crate::engine::model::pull::PullSummary;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{By, Direction, DriverStopped, Halt, Paused};
use crate::engine::model::roll_back::{NoRollBack, RollBackAsks};
use crate::engine::model::rollout_event::{RevisionHalt, RolloutEvent};
use crate::engine::model::settings::Settings;
use crate::engine::model::site::SiteLabel;
use crate::engine::model::step_ahead::{NoStep, StepAhead};
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::engine::model::unsent::Unsent;
use crate::engine::model::wait::{DistanceView, Wait};

pub use alarm::Alarm;
pub use counterparts::Counterparts;
pub(super) use node_view::keeps_restarting;
pub use node_view::{NodeView, PodRevision};
pub use node_views::NodeViews;

/// Everything about one rollout, as of one instant.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    /// The instant it describes, by the clock that the engine is handed.
    pub at: Timestamp,
    /// The DaemonSet's namespace.
    pub namespace: Str,
    /// The DaemonSet's name.
    pub name: Str,
    /// The DaemonSet's uid, by which it is told apart from others of the same name, here and in other clusters; `None` while it is not there.
    pub uid: Option<Str>,
    /// The DaemonSet, once it is loaded.
    pub daemonset: Presence,
    /// The update strategy in force.
    pub strategy: StrategyKind,
    /// `maxSurge` as its owner wrote it, where it surges; under `OnDelete` it cannot.
    pub surge: Option<IntOrPercent>,
    /// Whether rolldeck has taken over pod replacement (`OnDelete` with the original strategy saved).
    pub adopted: bool,
    /// The original strategy as it was saved, in words. It is set while adopted, and also where an adoption had no effect or a rollout lost its
    /// record.
    pub original_strategy: Option<Str>,
    /// The other managers of the DaemonSet; those that act by themselves come first.
    pub gitops_owners: Arc<[GitOpsOwner]>,
    /// The DaemonSet controller's own counters.
    pub counters: DaemonSetCounters,
    /// Who drives.
    pub driver: DriverView,
    /// The identity of this process, as a Lease names it. A process that reads the snapshot elsewhere has another one.
    pub identity: Str,
    /// The health of the watch of each kind, in the order of [`Watched::ALL`].
    pub watches: Vec<WatchView>,
    /// The permissions of this process.
    pub rights: Vec<(Right, Permission)>,
    /// The present activity of the rollout.
    pub phase: Phase,
    /// Whether the rollout leads forward or back.
    pub direction: Direction,
    /// A change of the template that is asked for and not rolled out yet, in words: `the roll back to revision 1`.
    pub requested_change: Option<Str>,
    /// Whether the template has that change already: its controller has still to make a revision of it, or a driver to note that as the target.
    pub change_is_written: bool,
    /// When the rollout began; `None` when none is recorded.
    pub started_at: Option<Timestamp>,
    /// By whom and when the record was begun anew after an earlier one was lost; `None` if it was not.
    pub begun_anew: Option<By>,
    /// What is known of a record that is gone, in words, and how it is known.
    pub lost_record: Option<Str>,
    /// When the rollout to the present target began, where the record tells that apart: the record may have begun with another target.
    pub retargeted_at: Option<Timestamp>,
    /// The revision of most nodes that are not at the target.
    pub from: Option<RevisionView>,
    /// The hash of the revision of the DaemonSet's present template, which new pods get; `None` while it is not known.
    pub template_revision: Option<Str>,
    /// Who wrote the template last, according to `managedFields`, where that is not rolldeck.
    pub template_writer: Option<By>,
    /// The revision being rolled out; without a rollout, the revision of the template.
    pub to: Option<RevisionView>,
    /// The images that differ between `from` and `to`.
    pub image_changes: Vec<ImageChange>,
    /// All revisions, newest first.
    pub revisions: Arc<[RevisionView]>,
    /// The hash of the revision to which a roll back without a named revision leads, or why there is none.
    pub roll_back: Result<Str, NoRollBack>,
    /// Whether a roll back has to be agreed to.
    pub roll_back_asks: RollBackAsks,
    /// The number of nodes in each position.
    pub counts: Counts,
    /// The pulls of the target's images.
    pub pulls: PullSummary,
    /// The budget, term by term.
    pub budget: BudgetView,
    /// When the rollout will be done.
    pub estimate: RolloutEstimate,
    /// How long pulls and starts took so far.
    pub times: UpdateTimes,
    /// The plan and where it stands.
    pub plan: PlanView,
    /// The settings in force, as operators wrote them; [`Snapshot::budget`] has the budgets in nodes.
    pub settings: Settings,
    /// The label that assigns nodes to sites.
    pub site_label: SiteLabel,
    /// The obstacle that the rollout waits for while it is prepared or released.
    pub blocked: Option<Blocked>,
    /// The pause that an operator asked for, also where [`Snapshot::phase`] is `Halted`.
    pub paused: Option<Paused>,
    /// The halt that stands.
    pub halt: Option<Halt>,
    /// For each site where an updated node went down lately: the comparison of updated nodes with others.
    pub comparisons: Vec<Comparison>,
    /// The alarms, which need the operator's attention now, worst first.
    pub alarms: Vec<Alarm>,
    /// Requests made in this process that have not reached the cluster, oldest first. The rest of the snapshot does not reflect them.
    pub unsent: Vec<Unsent>,
    /// Why the last driver stopped by itself, until somebody drives again.
    pub driver_stopped: Option<DriverStopped>,
    /// Recent events, newest last; only those by which people decide.
    pub timeline: Arc<[RolloutEvent]>,
    /// How many earlier events this process knew that the timeline has no room for.
    pub earlier_events: usize,
    /// The parts of the audit log or of the Events that are not written, and why; filled in by the driver.
    pub unaudited: Vec<Str>,
    /// The wait of the next node in line, or of a command; `None` if neither waits, or not for long.
    pub waits: Option<Wait>,
    /// The progress of pre-warming; `None` where nothing is pre-warmed.
    pub prewarm: Option<PrewarmView>,
    /// The limits of sites that follow the capacity of their links, with the reasons; empty where limits are fixed, or nobody drives.
    pub pace: Arc<[PacedSite]>,
    /// How far away the API server is.
    pub distance: DistanceView,
    /// The API server's clock minus ours, in milliseconds, once measured.
    pub skew_millis: Option<i64>,
    /// The state of the nodes' clocks.
    pub node_clocks: NodeClocks,
    /// When the DaemonSet's controller last said that it could not create a pod, by our clock, if no pod was created since.
    pub creation_refused_at: Option<Timestamp>,
    /// One entry for each node that runs, should run or ran a pod: nodes in trouble first, then moving ones, then those next in line, then the rest.
    /// Empty while pods, nodes or revisions are still loading.
    pub nodes: NodeViews,
}

/// The health of the watch of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchView {
    /// The kind.
    pub watched: Watched,
    /// Its health.
    pub health: WatchHealth,
    /// When the watch was last heard, by our clock. A change, a bookmark and the opening of the watch count.
    pub heard_at: Option<Timestamp>,
    /// Objects that the watch brought and that could not be read, so that they are not shown.
    pub skipped: Option<SkippedObjects>,
}

/// The present activity of the rollout.
#[derive(Clone, PartialEq, Debug)]
pub enum Phase {
    /// Not loaded yet.
    Loading,
    /// It is adopted, and what its rollout does is not known: the Lease with the record, or the revisions, may not be read.
    Unknown,
    /// Every node is at the current revision and nothing is recorded.
    Idle,
    /// The native controller rolls by itself; rolldeck only looks on.
    Native,
    /// A rollout is recorded, but the DaemonSet is not adopted or the template not changed yet.
    Preparing,
    /// No further node may be updated under the present partition and selector, or those that may be need images that cannot be pulled.
    Held,
    /// Nodes are being updated.
    Running,
    /// An operator paused it, or rolldeck did, because somebody else changed the template or the strategy, or because a change was refused.
    Paused(Paused),
    /// It halted by itself.
    Halted,
    /// Every node is at the target.
    Complete,
    /// The DaemonSet is being handed back, at the request named here.
    Releasing(By),
}

/// A revision.
#[derive(Clone, PartialEq, Debug)]
pub struct RevisionView {
    /// Its hash, as pods carry it.
    pub hash: Str,
    /// Its number; `None` when its ControllerRevision is not there (any more).
    pub number: Option<i64>,
    /// Its images: container name, image.
    pub images: Vec<(Str, Str)>,
    /// Its whole template, shared with the fact from the watch; `None` when its ControllerRevision is not there (any more).
    pub template: Option<Template>,
    /// The numbers that this process saw it have before, the earliest first.
    pub seen_numbers: Vec<i64>,
    /// When its ControllerRevision was created. A template that comes back keeps that, and gets another number.
    pub created_at: Option<Timestamp>,
    /// Its change-cause annotation.
    pub change_cause: Option<Str>,
    /// How many pods are at it.
    pub pods: u32,
    /// The last rollout to it that halted and did not complete afterwards, as far as known.
    pub halted: Option<RevisionHalt>,
}

/// One container's image, before and after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageChange {
    /// The container.
    pub container: Str,
    /// The image at the old revision, if the container was there.
    pub from: Option<Str>,
    /// The image at the new revision, if the container still exists.
    pub to: Option<Str>,
}

/// The number of nodes in each position. Nodes that should not run the pod are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Nodes that should run the pod, those that are down for the moment included.
    pub nodes: u32,
    /// At the target revision and available.
    pub updated: u32,
    /// At the target revision, available or not, or on the way to it.
    pub committed: u32,
    /// Available, at any revision.
    pub available: u32,
    /// At the target revision outside the plan: not matching the selector.
    pub leaked: u32,
    /// How many of the `leaked` nodes are among the `updated` ones.
    pub leaked_updated: u32,
    /// Failed at the target revision, or down since their update for longer than they may be.
    pub failed: u32,
    /// Outdated, with nothing in their way but the budget.
    pub next: u32,
    /// Nodes that should not run the pod and have one: `numberMisscheduled` without those that are only down.
    pub misscheduled: u32,
    /// How many of the `misscheduled` nodes serve at an old revision, or did within five minutes: a release removes their pods for good.
    pub removed_by_release: u32,
}

/// The plan and where it stands.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PlanView {
    /// The steps: how many nodes are updated in total after each.
    pub steps: Vec<IntOrPercent>,
    /// Index into `steps` of the present step: the first one that allows as many nodes as the partition does. `None` before the first step.
    pub step: Option<usize>,
    /// The partition as it was written.
    pub partition: Option<IntOrPercent>,
    /// How many pods the partition keeps at the old revision.
    pub keep: u32,
    /// Whether the partition keeps more nodes than there are, as some have left since it was set.
    pub keeps_more_than_there_are: bool,
    /// How many nodes the partition lets be updated in total.
    pub allowed: u32,
    /// The selector of the nodes that may be updated.
    pub selector: Option<Selector>,
    /// How many nodes match the selector.
    pub selected: u32,
    /// How many nodes match the selector, or are updated already or on the way: a step of the plan that a selector cuts short lets so many be updated.
    pub selectable: u32,
    /// The next step, or why there is none; `None` while nothing is loaded.
    pub next: Option<Result<StepAhead, NoStep>>,
}

/// The time at which a watch was heard has to move by this much before that is worth a new snapshot.
const HEARD_GRAIN: Duration = Duration::from_secs(15);

impl WatchView {
    fn shows_the_same_as(&self, other: &Self) -> bool {
        let near = match (self.heard_at, other.heard_at) {
            (Some(ours), Some(theirs)) => ours.since(theirs).max(theirs.since(ours)) < HEARD_GRAIN,
            (ours, theirs) => ours == theirs,
        };
        near && self.watched == other.watched && self.health == other.health && self.skipped == other.skipped
    }
}

impl Snapshot {
    /// Whether the record of the rollout is gone, or cannot be read.
    pub fn lacks_its_record(&self) -> bool {
        self.alarms.iter().any(|alarm| matches!(alarm, Alarm::RecordMissing | Alarm::RecordUnreadable { .. }))
    }

    /// Why the record cannot be read, if there is one that cannot.
    pub fn unreadable_record(&self) -> Option<&Str> {
        self.alarms.iter().find_map(|alarm| match alarm {
            Alarm::RecordUnreadable { why } => Some(why),
            _ => None,
        })
    }

    /// Whether the limits of an earlier record of this rollout are lost, and nobody has set any since.
    pub fn limits_are_lost(&self) -> bool {
        self.alarms.iter().any(|alarm| {
            matches!(
                alarm,
                Alarm::RecordMissing
                    | Alarm::RecordUnreadable { .. }
                    | Alarm::ForeignRecord { .. }
                    | Alarm::LimitsLost { .. }
            )
        })
    }

    /// The nodes that match `selector`, in order of [`Snapshot::nodes`], among those that may run the pod.
    pub fn matching<'a>(&'a self, selector: &'a Selector) -> impl Iterator<Item = &'a NodeView> {
        self.nodes.iter().filter(|node| node.eligible && selector.matches(&node.labels))
    }

    /// Whether it shows the same as `other`. The instant of the snapshot is ignored, and so are small differences in when watches were heard.
    pub fn shows_the_same_as(&self, other: &Self) -> bool {
        let hears_the_same = self.watches.len() == other.watches.len()
            && self.watches.iter().zip(&other.watches).all(|(ours, theirs)| ours.shows_the_same_as(theirs));
        let (at, watches) = (other.at, other.watches.clone());
        // All fields that grow with the fleet are shared, so this copy is cheap.
        hears_the_same && *other == Self { at, watches, ..self.clone() }
    }

    /// The same snapshot without estimates, which change every second.
    pub fn without_estimates(mut self) -> Self {
        if matches!(self.estimate, RolloutEstimate::Known { .. }) {
            self.estimate = RolloutEstimate::None;
        }
        if let Some(prewarm) = &mut self.prewarm {
            prewarm.estimate = None;
            prewarm.sites.iter_mut().for_each(|site| site.estimate = None);
        }
        self
    }

    /// Whether the DaemonSet is not handed back at the end because that would remove serving pods.
    pub fn release_waits(&self) -> bool {
        self.alarms.iter().any(|alarm| matches!(alarm, Alarm::ReleaseWaits { .. }))
    }

    /// The request to show among those that have been unsaved for [`LATE`](crate::engine::model::unsent::LATE) or longer: a pause first, then by the
    /// order of the kinds, the oldest first. `None` if there is none.
    pub fn not_sent(&self) -> Option<&Unsent> {
        self.unsent.iter().filter(|unsent| unsent.late).min_by_key(|unsent| (unsent.kind, unsent.since))
    }

    /// The health of one watch.
    pub fn watch(&self, watched: Watched) -> Option<&WatchHealth> {
        self.watches.iter().find(|view| view.watched == watched).map(|view| &view.health)
    }
}
