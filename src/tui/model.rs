//! What the console knows: which page is open, what was typed, what the cluster last told.
//!
//! Nothing here waits, draws or reads a clock. [`update`](super::update) is the only one that changes it.

use std::sync::Arc;
use std::time::Duration;

use ratatui::layout::Size;

use super::dialog::Dialog;
use super::filter::Filter;
use super::list::List;
use super::palette::Prompt;
use super::theme::{Glyphs, Theme, Themes};
use super::timeline::Timeline;
use super::words::common_domain;
use crate::driver::Fleet;
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::driver::DriverView;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::presence::Presence;
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Snapshot};

/// How long writes stay possible once they are.
pub(crate) const ARMED_FOR: Duration = Duration::from_secs(600);
/// Ages below a minute are told in steps of this, so that a screen does not change each second.
pub(crate) const GRID_MILLIS: i64 = 5_000;

/// A DaemonSet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct DaemonSetRef {
    pub(crate) namespace: Str,
    pub(crate) name: Str,
}

/// An instant by the console's own clock: how long it has been running.
pub(crate) type Uptime = Duration;

/// Everything.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) context: Str,
    pub(crate) default_namespace: Str,
    pub(crate) size: Size,
    pub(crate) now: Uptime,
    pub(crate) themes: Themes,
    pub(crate) glyphs: Glyphs,
    pub(crate) access: WriteAccess,
    pub(crate) page: Page,
    pub(crate) fleet: Option<FleetPage>,
    /// The rollout that is open, and others that we drive in the background.
    pub(crate) rollouts: Vec<RolloutPage>,
    pub(crate) overlay: Overlay,
    pub(crate) status: Option<Status>,
    /// What was typed after `:`, oldest first.
    pub(crate) history: Vec<String>,
    /// Tells one question to a driver from another.
    pub(crate) serial: u64,
}

/// Whether writes are possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WriteAccess {
    ReadOnly,
    Armed { until: Uptime },
}

/// What is on screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Page {
    Fleet,
    Rollout(DaemonSetRef),
}

/// What lies over the page and has the keyboard.
#[derive(Debug, Default)]
pub(crate) enum Overlay {
    #[default]
    None,
    Help {
        top: usize,
    },
    /// One node, in full.
    Details {
        top: usize,
    },
    /// How old the view is, watch by watch.
    Watches {
        top: usize,
    },
    Palette(Prompt),
    Filter(Prompt),
    Dialog(Box<Dialog>),
}

/// What came of the last thing that was done; it stays until the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Status {
    pub(crate) tone: StatusTone,
    pub(crate) text: String,
}

/// How good the news is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatusTone {
    Good,
    Busy,
    Plain,
    Refused,
}

/// The list of all DaemonSets.
#[derive(Debug)]
pub(crate) struct FleetPage {
    /// The one namespace that is shown, or all.
    pub(crate) namespace: Option<Str>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) list: List<DaemonSetRef>,
    pub(crate) filter: Filter,
    /// The rows that pass the filter, as indices.
    pub(crate) rows: Vec<usize>,
}

impl FleetPage {
    pub(crate) fn new(namespace: Option<Str>) -> Self {
        let fleet = Arc::default();
        Self { namespace, fleet, list: List::default(), filter: Filter::default(), rows: Vec::new() }
    }

    pub(crate) fn target(&self, row: usize) -> Option<DaemonSetRef> {
        let row = self.fleet.rows.get(*self.rows.get(row)?)?;
        Some(DaemonSetRef { namespace: row.namespace.clone(), name: row.name.clone() })
    }

    /// Recomputes which rows are shown: worst first, then by name.
    pub(crate) fn arrange(&mut self) {
        let rows = &self.fleet.rows;
        let words = |index: usize| {
            let row = &rows[index];
            format!("{}/{} {} {} {}", row.namespace, row.name, row.strategy, row.state, row.driven_by)
        };
        self.rows = (0..rows.len()).filter(|index| self.filter.passes(None, || words(*index))).collect();
        self.rows.sort_by(|a, b| {
            let key = |index: usize| (rows[index].state.rank(), &rows[index].namespace, &rows[index].name);
            key(*a).cmp(&key(*b))
        });
    }
}

/// One rollout.
#[derive(Debug)]
pub(crate) struct RolloutPage {
    pub(crate) target: DaemonSetRef,
    /// What the driver last said.
    pub(crate) live: Option<ShownSnapshot>,
    /// What the list shows while it is frozen.
    pub(crate) frozen: Option<ShownSnapshot>,
    /// The driver has ended by itself.
    pub(crate) stopped: bool,
    pub(crate) list: List<Str>,
    pub(crate) filter: Filter,
    pub(crate) sort: Sort,
    /// The nodes that pass the filter, in order, as indices.
    pub(crate) rows: Vec<u32>,
    /// What was worked out once for the live snapshot.
    pub(crate) digest: TroubleSummary,
    /// What happened lately, while that is looked at instead of the nodes.
    pub(crate) timeline: Option<Timeline>,
    /// Which complaints about the audit log or Events were shown already.
    pub(crate) unaudited: Vec<Str>,
}

/// A snapshot, and when it came.
#[derive(Clone, Debug)]
pub(crate) struct ShownSnapshot {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) at: Uptime,
}

impl ShownSnapshot {
    /// The snapshot's clock as of `now`, on a coarse grid.
    pub(crate) fn clock(&self, now: Uptime) -> Timestamp {
        let exact = self.snapshot.at + now.saturating_sub(self.at);
        Timestamp::from_millis(exact.millis().div_euclid(GRID_MILLIS) * GRID_MILLIS)
    }

    /// When [`Seen::clock`] next tells another time, by the console's clock.
    pub(crate) fn next_tick(&self, now: Uptime) -> Uptime {
        let exact = self.snapshot.at + now.saturating_sub(self.at);
        let left = GRID_MILLIS - exact.millis().rem_euclid(GRID_MILLIS);
        now + Duration::from_millis(u64::try_from(left).unwrap_or(1))
    }
}

/// By what the nodes are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Sort {
    /// Trouble, then moving, then next in line: the engine's order.
    #[default]
    Trouble,
    Name,
    State,
    Revision,
    Restarts,
    Age,
}

impl Sort {
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Trouble, "trouble"),
        (Self::Name, "name"),
        (Self::State, "state"),
        (Self::Revision, "revision"),
        (Self::Restarts, "restarts"),
        (Self::Age, "age"),
    ];

    pub(crate) fn next(self) -> Self {
        let at = Self::ALL.iter().position(|(sort, _)| *sort == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()].0
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(sort, _)| *sort == self).map_or("", |(_, name)| name)
    }
}

/// What a snapshot comes to, for the lines above the list.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct TroubleSummary {
    /// What is wrong, grouped by cause, worst first.
    pub(crate) trouble: Vec<Trouble>,
    /// The domain that all nodes share, which the list leaves out.
    pub(crate) domain: String,
    /// The longest node name without it, in cells.
    pub(crate) name_width: usize,
}

/// Nodes that are wrong for the same reason.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Trouble {
    pub(crate) kind: TroubleKind,
    pub(crate) nodes: u32,
    /// One of them: the one that has been so the longest.
    pub(crate) example: Str,
    pub(crate) since: Option<Timestamp>,
}

/// What kind of wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum TroubleKind {
    /// Failed at the target revision.
    Failed(Option<CauseKind>),
    /// Went down after the update.
    Suspect,
    /// Restarted after it had been ready, and is watched for that.
    Restarted,
    /// Not failed yet, but something is in its way.
    Struggling(CauseKind),
}

impl TroubleSummary {
    fn of(snapshot: &Snapshot) -> Self {
        let domain = common_domain(snapshot.nodes.iter().map(|node| &*node.name));
        let short = |node: &NodeView| super::words::width(node.name.strip_suffix(&domain).unwrap_or(&node.name));
        let name_width = snapshot.nodes.iter().map(short).max().unwrap_or(0);
        let mut trouble: Vec<Trouble> = Vec::new();
        for node in snapshot.nodes.iter() {
            let Some(kind) = TroubleKind::of(node) else { continue };
            let older = |since: Option<Timestamp>| match (node.since, since) {
                (Some(this), Some(other)) => this < other,
                (this, other) => this.is_some() && other.is_none(),
            };
            match trouble.iter_mut().find(|trouble| trouble.kind == kind) {
                Some(group) => {
                    group.nodes += 1;
                    if older(group.since) {
                        (group.since, group.example) = (node.since, node.name.clone());
                    }
                }
                None => trouble.push(Trouble { kind, nodes: 1, example: node.name.clone(), since: node.since }),
            }
        }
        trouble.sort_by_key(|trouble| (trouble.kind.rank(), std::cmp::Reverse(trouble.nodes)));
        Self { trouble, domain, name_width }
    }
}

impl TroubleKind {
    fn of(node: &NodeView) -> Option<Self> {
        let cause = node.cause.as_ref().map(|cause| cause.kind);
        match (node.state, node.blame, cause) {
            (NodeState::Failed, _, cause) => Some(Self::Failed(cause)),
            (_, Some(Blame::Suspect), _) => Some(Self::Suspect),
            _ if node.suspect.is_some_and(SuspectView::has_failed) => Some(Self::Suspect),
            (NodeState::Soaking, _, None) if node.restarted.is_some() => Some(Self::Restarted),
            (NodeState::NodeDown | NodeState::Outdated | NodeState::Ineligible, _, _) => None,
            // A pod that starts is not ready, and nothing is wrong with that.
            (NodeState::Starting | NodeState::Soaking, _, Some(cause)) if cause.is_ordinary_at_start() => None,
            (_, Some(Blame::Rollout), Some(cause)) => Some(Self::Struggling(cause)),
            _ => None,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Failed(_) => 0,
            Self::Suspect => 1,
            Self::Restarted => 2,
            Self::Struggling(_) => 3,
        }
    }
}

impl RolloutPage {
    pub(crate) fn new(target: DaemonSetRef) -> Self {
        Self {
            target,
            live: None,
            frozen: None,
            stopped: false,
            list: List::default(),
            filter: Filter::default(),
            sort: Sort::default(),
            rows: Vec::new(),
            digest: TroubleSummary::default(),
            timeline: None,
            unaudited: Vec::new(),
        }
    }

    /// What the list shows.
    pub(crate) fn shown(&self) -> Option<&ShownSnapshot> {
        self.frozen.as_ref().or(self.live.as_ref())
    }

    /// The latest snapshot.
    pub(crate) fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.live.as_ref().map(|seen| &seen.snapshot)
    }

    /// Whether this console drives it.
    pub(crate) fn driven_by_us(&self) -> bool {
        !self.stopped && self.snapshot().is_some_and(|snapshot| matches!(snapshot.driver, DriverView::You { .. }))
    }

    /// Takes in a new snapshot.
    pub(crate) fn see(&mut self, seen: ShownSnapshot) {
        self.digest = TroubleSummary::of(&seen.snapshot);
        if let Some(timeline) = &mut self.timeline {
            timeline.see(&seen.snapshot.timeline);
        }
        self.live = Some(seen);
        if self.frozen.is_none() {
            self.arrange();
        }
    }

    /// Recomputes which nodes are shown, in which order.
    pub(crate) fn arrange(&mut self) {
        let Some(ShownSnapshot { snapshot, .. }) = self.shown() else { return };
        let snapshot = snapshot.clone();
        let passes = |node: &NodeView| self.filter.passes(Some(&node.labels), || node_words(node, snapshot.at));
        // Of a DaemonSet that is gone nothing is left to show.
        let gone = snapshot.daemonset == Presence::Absent;
        let len = if gone { 0 } else { u32::try_from(snapshot.nodes.len()).unwrap_or(u32::MAX) };
        let node = |index: u32| &snapshot.nodes[index as usize];
        let mut rows: Vec<u32> = (0..len).filter(|index| passes(node(*index))).collect();
        let by_name = |a: &NodeView, b: &NodeView| natord::compare(&a.name, &b.name);
        // Every sort is stable: within equals the engine's order stays.
        match self.sort {
            Sort::Trouble => {}
            Sort::Name => rows.sort_by(|a, b| by_name(node(*a), node(*b))),
            Sort::State => rows.sort_by_key(|index| node(*index).state),
            Sort::Revision => rows.sort_by_key(|index| node(*index).revision_number),
            Sort::Restarts => rows.sort_by_key(|index| std::cmp::Reverse(node(*index).restarts)),
            Sort::Age => rows.sort_by_key(|index| std::cmp::Reverse(node(*index).since)),
        }
        self.rows = rows;
    }

    /// The node in this row.
    pub(crate) fn node(&self, row: usize) -> Option<&NodeView> {
        self.shown()?.snapshot.nodes.get(*self.rows.get(row)? as usize)
    }

    /// The node that is selected.
    pub(crate) fn selected(&self) -> Option<&NodeView> {
        self.node(self.list.cursor()?)
    }
}

/// All words of a node's row, for the filter.
fn node_words(node: &NodeView, at: Timestamp) -> String {
    let pod = node.pod.as_deref().unwrap_or_default();
    let blame = node.blame.map(|blame| blame.to_string()).unwrap_or_default();
    format!("{} {} {} {pod} image:{} {blame}", node.name, node.state, Why { node, at }, node.image)
}

impl Model {
    pub(crate) fn theme(&self) -> &Theme {
        self.themes.current()
    }

    /// The rollout that is on screen.
    pub(crate) fn rollout(&self) -> Option<&RolloutPage> {
        match &self.page {
            Page::Rollout(target) => self.rollouts.iter().find(|page| page.target == *target),
            Page::Fleet => None,
        }
    }

    pub(crate) fn rollout_mut(&mut self) -> Option<&mut RolloutPage> {
        match &self.page {
            Page::Rollout(target) => self.rollouts.iter_mut().find(|page| page.target == *target),
            Page::Fleet => None,
        }
    }

    /// How long writes stay possible.
    pub(crate) fn armed_for(&self) -> Option<Duration> {
        match self.access {
            WriteAccess::Armed { until } => until.checked_sub(self.now).filter(|left| !left.is_zero()),
            WriteAccess::ReadOnly => None,
        }
    }

    /// The rollouts that stop moving when this console ends.
    pub(crate) fn driven(&self) -> impl Iterator<Item = &RolloutPage> {
        self.rollouts.iter().filter(|page| page.driven_by_us())
    }

    pub(crate) fn say(&mut self, tone: StatusTone, text: impl Into<String>) {
        self.status = Some(Status { tone, text: text.into() });
    }

    /// A number that no other question has.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }
}
