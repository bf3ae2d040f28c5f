//! The state of the console: the open page, typed text, the last snapshots.
//!
//! Nothing here waits, draws or reads a clock. Only [`update`](super::update) changes the state.

mod filtering;
pub(crate) mod summary;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem::discriminant;
use std::sync::Arc;
use std::time::Duration;

use ratatui::layout::Size;

use self::filtering::{SearchTexts, fleet_row};
use self::summary::SnapshotSummary;
use super::columns::fleet::{FleetSort, rank, sort_rows};
use super::columns::nodes::{NodeColumn, Sort};
use super::daemonset_ref::DaemonSetRef;
use super::dialog::{Dialog, Form};
use super::filter::Filter;
use super::hidden_nodes::HiddenNodes;
use super::key_map::KeyMap;
use super::list::List;
use super::node_list::NodeList;
use super::node_map::NodeMap;
use super::node_page::{NodePage, NodeReading};
use super::prewarm::PrewarmList;
use super::prompt::Prompt;
use super::revisions::RevisionScreen;
use super::status::{StatusLine, StatusSeverity};
use super::theme::{Glyphs, Theme, Themes};
use super::timeline::{LiftedPauses, Timeline};
use crate::config::Bookmark;
use crate::driver::{Fleet, FleetRow};
use crate::engine::model::Str;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};
use crate::engine::report::story::{EarlierStory, Story};

/// How long the console stays armed.
pub(crate) const ARMED_FOR: Duration = Duration::from_secs(600);
/// The step in which ages above a minute change, so that a screen full of them is not drawn every second.
pub(crate) const COARSE_MILLIS: i64 = 5_000;
/// The step in which ages below a minute and remaining times change: a second.
pub(crate) const FINE_MILLIS: i64 = 1_000;

/// An instant by the console's own clock: the time since the console started.
pub(crate) type Uptime = Duration;

/// The state of the console.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) context: Str,
    /// The flags that lead to the cluster, quoted; `None` if one cannot be quoted safely. See [`shell_flags`](Self::shell_flags).
    pub(crate) cluster_flags: Option<String>,
    /// Properties of the connection that have to stay visible: `as jane`, `TLS NOT VERIFIED`.
    pub(crate) warnings: Vec<String>,
    pub(crate) default_namespace: Str,
    /// The namespaces in which DaemonSets were seen.
    pub(crate) namespaces: BTreeSet<Str>,
    /// The contexts of the kubeconfig; empty if there is none to go to.
    pub(crate) contexts: Vec<String>,
    /// The context is protected: the screen says so, and arming asks for its name.
    pub(crate) protected: bool,
    /// The cluster is a practice cluster that ends with this process.
    pub(crate) practice: bool,
    /// The cluster to which the console is connecting.
    pub(crate) connecting: Option<Connecting>,
    pub(crate) size: Size,
    pub(crate) now: Uptime,
    pub(crate) themes: Themes,
    pub(crate) glyphs: Glyphs,
    /// The columns of the list of nodes, from left to right, as far as there is room.
    pub(crate) node_columns: Vec<NodeColumn>,
    /// Keys of the user's own.
    pub(crate) keys: KeyMap,
    /// Filters with names.
    pub(crate) bookmarks: Vec<Bookmark>,
    pub(crate) access: WriteAccess,
    pub(crate) page: Page,
    pub(crate) fleet: Option<FleetPage>,
    /// The open rollout, and the others that this console drives in the background.
    pub(crate) rollouts: Vec<RolloutPage>,
    pub(crate) overlay: Overlay,
    pub(crate) status: Option<StatusLine>,
    /// The labels chosen with `:site`, by which the maps of DaemonSets tell nodes apart.
    pub(crate) chosen_sites: HashMap<DaemonSetRef, String>,
    /// The stories of the rollouts that were closed last, for reopening them: the latest at the end.
    pub(crate) closed_stories: Vec<(DaemonSetRef, EarlierStory)>,
    /// The rollouts that this console has driven, including those that it no longer drives.
    pub(crate) have_been_driven: Vec<DaemonSetRef>,
    /// The lines typed after `:`, oldest first.
    pub(crate) history: Vec<String>,
    /// The number of the last question to a driver.
    pub(crate) serial: u64,
}

/// The cluster to which the console is connecting, while it still shows this one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Connecting {
    pub(crate) context: Str,
    /// The rollouts that may be given up for the switch.
    pub(crate) giving_up: Vec<DaemonSetRef>,
}

/// Whether writes are possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WriteAccess {
    ReadOnly,
    Armed { until: Uptime },
}

/// The page on screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Page {
    Fleet,
    Rollout(DaemonSetRef),
}

/// The overlay that is drawn over the page and receives the keys.
#[derive(Debug, Default)]
pub(crate) enum Overlay {
    #[default]
    None,
    Help {
        top: usize,
        find: HelpFind,
        /// The dialog in which it was opened: it is shown again once the help is closed.
        dialog: Option<Box<Dialog>>,
    },
    /// An event of the timeline, in full.
    Details {
        top: usize,
    },
    /// The age of the view, watch by watch.
    Watches {
        top: usize,
    },
    /// The problems, cause by cause.
    Diagnosis {
        top: usize,
        /// The data read of the nodes that lack something.
        readings: Vec<NodeReading>,
    },
    Palette(Prompt),
    Filter(Prompt),
    Dialog(Box<Dialog>),
}

/// The search in the help.
#[derive(Debug, Default)]
pub(crate) struct HelpFind {
    /// The line of the search while it is being typed.
    pub(crate) prompt: Option<Prompt>,
    /// The searched text; empty if there is no search.
    pub(crate) text: String,
}

/// The list of all DaemonSets.
#[derive(Debug)]
pub(crate) struct FleetPage {
    /// The namespace that is listed; `None`: all.
    pub(crate) namespace: Option<Str>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) list: List<DaemonSetRef>,
    pub(crate) filter: Filter,
    pub(crate) sort: FleetSort,
    /// When `fleet` arrived.
    pub(crate) at: Uptime,
    /// The rows that pass the filter, as indices.
    pub(crate) rows: Vec<usize>,
}

impl FleetPage {
    pub(crate) fn new(namespace: Option<Str>) -> Self {
        Self {
            namespace,
            fleet: Arc::default(),
            list: List::default(),
            filter: Filter::default(),
            sort: FleetSort::default(),
            at: Uptime::ZERO,
            rows: Vec::new(),
        }
    }

    /// The DaemonSet of the current row: the selected one, or else the first of the list.
    pub(crate) fn current(&self) -> Option<DaemonSetRef> {
        match self.awaited() {
            Some(awaited) => Some(awaited.clone()),
            None => self.target(self.list.current(self.rows.len())?),
        }
    }

    /// The selected DaemonSet while it is not listed yet: the one that the user came back from, as long as the list is loading.
    pub(crate) fn awaited(&self) -> Option<&DaemonSetRef> {
        let selected = self.list.selected().filter(|_| self.fleet.health == WatchHealth::Loading)?;
        let is_listed = (0..self.rows.len()).any(|row| self.target(row).as_ref() == Some(selected));
        (!is_listed).then_some(selected)
    }

    pub(crate) fn current_row(&self) -> Option<&FleetRow> {
        if self.awaited().is_some() {
            return None;
        }
        self.fleet.rows.get(*self.rows.get(self.list.current(self.rows.len())?)?)
    }

    /// Selects the current row, so that it stays current when rows are reordered: only once the list is complete, and if
    /// every row is visible wherever it moves. In a longer list the top stays visible until a row is selected.
    pub(crate) fn hold_current(&mut self, height: usize) {
        let is_listed = [&self.fleet.health, &self.fleet.leases, &self.fleet.revisions]
            .iter()
            .all(|health| **health == WatchHealth::Live);
        if is_listed
            && self.rows.len() <= height
            && self.list.selected().is_none()
            && let Some(current) = self.current()
        {
            self.list.select(0, current);
        }
    }

    /// The cluster's clock at the arrival of the list.
    pub(crate) fn clock(&self) -> ClockReading {
        ClockReading { cluster: self.fleet.at, at: self.at, is_stopped: false }
    }

    pub(crate) fn target(&self, row: usize) -> Option<DaemonSetRef> {
        let row = self.fleet.rows.get(*self.rows.get(row)?)?;
        Some(DaemonSetRef { namespace: row.namespace.clone(), name: row.name.clone() })
    }

    /// Recomputes the rows that are shown: worst first, then by name, unless another order was chosen.
    pub(crate) fn arrange(&mut self) {
        let (fleet, rows) = (&*self.fleet, &self.fleet.rows);
        let passes = |index: &usize| self.filter.passes(&fleet_row(&rows[*index], fleet));
        self.rows = (0..rows.len()).filter(passes).collect();
        self.rows.sort_by(|a, b| {
            let key = |index: usize| (rank(&rows[index]), &rows[index].namespace, &rows[index].name);
            key(*a).cmp(&key(*b))
        });
        sort_rows(self.sort, &mut self.rows, &self.fleet.rows);
    }
}

/// One rollout.
#[derive(Debug)]
pub(crate) struct RolloutPage {
    pub(crate) target: DaemonSetRef,
    /// The driver's last snapshot.
    pub(crate) live: Option<ShownSnapshot>,
    /// The beginning of the rollout's phase, if this console saw it begin.
    pub(crate) phase_since: Option<Timestamp>,
    /// The snapshot that the list shows while it is frozen.
    pub(crate) frozen: Option<ShownSnapshot>,
    /// The driver has ended by itself.
    pub(crate) stopped: bool,
    /// The list of nodes.
    pub(crate) nodes: NodeList,
    /// The map of the nodes, in place of the list or beside it.
    pub(crate) map: NodeMap,
    /// The nodes that the user has marked.
    pub(crate) marked: BTreeSet<Str>,
    pub(crate) filter: Filter,
    /// Nodes that need a look and do not pass the filter.
    pub(crate) hidden: HiddenNodes,
    /// The instant for which the filter computed ages, if it asks about them.
    pub(crate) filtered_as_of: Option<Timestamp>,
    pub(crate) search_texts: SearchTexts,
    pub(crate) sort: Sort,
    /// The values that are computed once for the live snapshot.
    pub(crate) summary: SnapshotSummary,
    /// The events since the rollout was opened, and those that its Pods report of the time before.
    pub(crate) story: Story,
    /// The pauses that were lifted since the rollout was opened.
    pub(crate) pauses: LiftedPauses,
    /// The screen below the header.
    pub(crate) screen: RolloutScreen,
    /// The page of one node, while it is shown in place of the screen; `screen` is what it was opened from.
    pub(crate) node_page: Option<NodePage>,
    /// The complaints about the audit log or Events that were shown already.
    pub(crate) unaudited: Vec<Str>,
}

/// The screen below the header of a rollout.
#[derive(Debug, Default)]
pub(crate) enum RolloutScreen {
    /// The list of nodes, or the map.
    #[default]
    Nodes,
    Timeline(Box<Timeline>),
    Prewarm(Box<PrewarmList>),
    Revisions(Box<RevisionScreen>),
}

/// A snapshot, and the instant of its arrival.
#[derive(Clone, Debug)]
pub(crate) struct ShownSnapshot {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) at: Uptime,
    /// The list is frozen: its ages are as of the moment of freezing.
    pub(crate) is_frozen: bool,
}

/// A reading of the cluster's clock, taken at an instant of the console's own clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClockReading {
    pub(crate) cluster: Timestamp,
    pub(crate) at: Uptime,
    /// The clock stands still at the reading.
    pub(crate) is_stopped: bool,
}

impl ShownSnapshot {
    /// The cluster's clock at the arrival of the snapshot.
    pub(crate) fn reading(&self) -> ClockReading {
        ClockReading { cluster: self.snapshot.at, at: self.at, is_stopped: self.is_frozen }
    }

    /// The same snapshot frozen at `now`: its ages stand still from then on.
    pub(crate) fn frozen(&self, now: Uptime) -> Self {
        let snapshot = Snapshot { at: self.reading().exact(now), ..Snapshot::clone(&self.snapshot) };
        Self { snapshot: Arc::new(snapshot), at: now, is_frozen: true }
    }

    /// The snapshot's clock as of `now`, on a coarse grid.
    pub(crate) fn coarse_clock(&self, now: Uptime) -> Timestamp {
        self.reading().clock(now, COARSE_MILLIS)
    }
}

impl ClockReading {
    fn exact(&self, now: Uptime) -> Timestamp {
        if self.is_stopped { self.cluster } else { self.cluster + now.saturating_sub(self.at) }
    }

    /// The cluster's clock as of `now`, rounded down to a multiple of `grid` milliseconds.
    pub(crate) fn clock(&self, now: Uptime, grid: i64) -> Timestamp {
        Timestamp::from_millis(self.exact(now).millis().div_euclid(grid) * grid)
    }

    /// The first instant after `now`, by the console's clock, at which [`Self::clock`] returns `at` or later; `None` if the
    /// clock is stopped.
    pub(crate) fn reaches(&self, now: Uptime, at: Timestamp, grid: i64) -> Option<Uptime> {
        if self.is_stopped {
            return None;
        }
        let exact = self.exact(now).millis();
        let next = exact.div_euclid(grid).saturating_add(1).saturating_mul(grid);
        let at = at.millis().saturating_add(grid - 1).div_euclid(grid).saturating_mul(grid).max(next);
        Some(now + Duration::from_millis(u64::try_from(at.saturating_sub(exact)).unwrap_or(1)))
    }
}

impl RolloutPage {
    /// Whether the list of nodes or the map is shown.
    pub(crate) fn lists_nodes(&self) -> bool {
        self.node_page.is_none() && matches!(self.screen, RolloutScreen::Nodes)
    }

    /// What the page of a node covers, in one word: where `esc` leads from it.
    pub(crate) fn behind_the_node(&self) -> &'static str {
        match self.screen {
            RolloutScreen::Nodes => self.nodes_shown_as(),
            RolloutScreen::Timeline(_) => "timeline",
            RolloutScreen::Revisions(_) => "revisions",
            RolloutScreen::Prewarm(_) => "pre-warm",
        }
    }

    /// How the nodes are shown where no other screen covers them.
    pub(crate) fn nodes_shown_as(&self) -> &'static str {
        if self.map.is_open { "map" } else { "nodes" }
    }

    pub(crate) fn new(target: DaemonSetRef) -> Self {
        Self {
            target,
            live: None,
            phase_since: None,
            pauses: LiftedPauses::default(),
            frozen: None,
            hidden: HiddenNodes::default(),
            stopped: false,
            nodes: NodeList::default(),
            map: NodeMap::default(),
            marked: BTreeSet::new(),
            filter: Filter::default(),
            filtered_as_of: None,
            search_texts: SearchTexts::default(),
            sort: Sort::default(),
            summary: SnapshotSummary::default(),
            story: Story::default(),
            screen: RolloutScreen::default(),
            node_page: None,
            unaudited: Vec::new(),
        }
    }

    /// Tells sites apart by this label, on the map and in the table; `None`: by the rollout's own label.
    pub(crate) fn choose_site(&mut self, label: Option<String>) {
        self.map.choose(label.clone());
        self.summary.table.tell_sites_apart_by(label);
        self.search_texts = SearchTexts::default();
        self.arrange();
    }

    /// The snapshot that the list shows.
    pub(crate) fn shown(&self) -> Option<&ShownSnapshot> {
        self.frozen.as_ref().or(self.live.as_ref())
    }

    /// The latest snapshot.
    pub(crate) fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.live.as_ref().map(|shown| &shown.snapshot)
    }

    /// Whether this console drives the rollout.
    pub(crate) fn driven_by_us(&self) -> bool {
        !self.stopped && self.snapshot().is_some_and(|snapshot| matches!(snapshot.driver, DriverView::You { .. }))
    }

    /// Takes in a new snapshot.
    pub(crate) fn see(&mut self, shown: ShownSnapshot) {
        let before = std::mem::take(&mut self.summary.table);
        self.summary = SnapshotSummary::of(&shown.snapshot);
        self.summary.table = std::mem::take(&mut self.summary.table).no_narrower_than(&before);
        self.story.observe(&shown.snapshot);
        self.pauses.observe(&shown.snapshot);
        // A rollout that turns back in the middle runs in another direction from then on.
        let state = |snapshot: &Snapshot| (discriminant(&snapshot.phase), snapshot.direction);
        let before = self.snapshot().filter(|before| before.phase != Phase::Loading).map(|before| state(before));
        if before.is_none_or(|before| before != state(&shown.snapshot)) {
            self.phase_since = before.map(|_| shown.snapshot.at);
        }
        match &mut self.screen {
            RolloutScreen::Nodes => {}
            RolloutScreen::Timeline(timeline) => timeline.see(&shown.snapshot, &self.story, &self.pauses),
            RolloutScreen::Prewarm(prewarm) => prewarm.see(&shown.snapshot),
            RolloutScreen::Revisions(revisions) => revisions.see(&shown.snapshot),
        }
        self.live = Some(shown);
        if self.frozen.is_none() {
            self.arrange();
        }
    }

    /// The nodes that the list shows.
    pub(crate) fn shown_nodes(&self) -> &[Arc<NodeView>] {
        self.shown().map_or(&[], |shown| &shown.snapshot.nodes)
    }

    /// The nodes that pass the filter, as indices; `None` while all pass.
    pub(crate) fn passing(&self) -> Option<HashSet<u32>> {
        (!self.filter.is_all()).then(|| self.nodes.indices().collect())
    }

    /// The node that is selected.
    pub(crate) fn selected(&self) -> Option<&NodeView> {
        match &self.screen {
            RolloutScreen::Prewarm(prewarm) => prewarm.selected(),
            RolloutScreen::Nodes | RolloutScreen::Timeline(_) | RolloutScreen::Revisions(_) => {
                self.nodes.is_selected().then(|| self.current()).flatten()
            }
        }
    }

    /// The node of the current row: the selected one, or else the first of the list.
    pub(crate) fn current(&self) -> Option<&NodeView> {
        match &self.screen {
            RolloutScreen::Prewarm(prewarm) => prewarm.current(),
            RolloutScreen::Nodes | RolloutScreen::Timeline(_) | RolloutScreen::Revisions(_) => {
                self.shown_nodes().get(self.nodes.current_node()? as usize).map(|node| &**node)
            }
        }
    }

    /// The timeline, if it is the screen.
    pub(crate) fn timeline(&self) -> Option<&Timeline> {
        if let RolloutScreen::Timeline(timeline) = &self.screen { Some(timeline) } else { None }
    }

    pub(crate) fn timeline_mut(&mut self) -> Option<&mut Timeline> {
        if let RolloutScreen::Timeline(timeline) = &mut self.screen { Some(timeline) } else { None }
    }

    /// Pre-warming, if it is the screen.
    pub(crate) fn prewarm(&self) -> Option<&PrewarmList> {
        if let RolloutScreen::Prewarm(prewarm) = &self.screen { Some(prewarm) } else { None }
    }

    /// The revisions, if they are the screen.
    pub(crate) fn revisions(&self) -> Option<&RevisionScreen> {
        if let RolloutScreen::Revisions(revisions) = &self.screen { Some(revisions) } else { None }
    }

    pub(crate) fn revisions_mut(&mut self) -> Option<&mut RevisionScreen> {
        if let RolloutScreen::Revisions(revisions) = &mut self.screen { Some(revisions) } else { None }
    }
}

impl Model {
    /// Whether the open dialog asks whether to quit while rollouts are driven.
    pub(crate) fn asks_to_quit(&self) -> bool {
        matches!(&self.overlay, Overlay::Dialog(dialog) if matches!(dialog.form, Form::Quit(_)))
    }

    /// The flags that lead another shell to the cluster, for commands that are offered for pasting. `None`: no command may be offered, as a name in
    /// it cannot be quoted safely, or as no kubeconfig leads to the cluster, which is one of practice.
    pub(crate) fn shell_flags(&self) -> Option<&str> {
        self.cluster_flags.as_deref().filter(|_| !self.practice)
    }

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

    /// The page of a node that is on screen.
    pub(crate) fn node_page(&self) -> Option<&NodePage> {
        self.rollout()?.node_page.as_ref()
    }

    pub(crate) fn node_page_mut(&mut self) -> Option<&mut NodePage> {
        self.rollout_mut()?.node_page.as_mut()
    }

    /// Whether the data read under this number is still shown.
    pub(crate) fn reads(&self, serial: u64) -> bool {
        let log = |page: &NodePage| page.log.as_ref().map(|log| log.serial);
        let diagnosed = match &self.overlay {
            Overlay::Diagnosis { readings, .. } => readings.iter().any(|reading| reading.serial == serial),
            _ => false,
        };
        diagnosed || self.node_page().is_some_and(|page| page.serial == serial || log(page) == Some(serial))
    }

    /// The time for which writes stay possible.
    pub(crate) fn armed_for(&self) -> Option<Duration> {
        match self.access {
            WriteAccess::Armed { until } => until.checked_sub(self.now).filter(|left| !left.is_zero()),
            WriteAccess::ReadOnly => None,
        }
    }

    /// The rollouts that this console drives.
    pub(crate) fn driven(&self) -> impl Iterator<Item = &RolloutPage> {
        self.rollouts.iter().filter(|page| page.driven_by_us())
    }

    pub(crate) fn say(&mut self, severity: StatusSeverity, text: impl Into<String>) {
        let target = self.rollout().and_then(|page| page.snapshot()?.to.as_ref()).map(|to| to.hash.clone());
        self.status = Some(StatusLine {
            severity,
            text: text.into(),
            at: self.now,
            target,
            is_overtaken: false,
            is_contradicted: false,
            refused: None,
        });
    }

    /// A new number for a question to a driver.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }
}
