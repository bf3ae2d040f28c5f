//! The rows of the list of nodes, in parts that stay in place while states change.
//!
//! ```text
//!  ── trouble 1 · down 1 · moving 2 ───────   pinned: what needs a look, always in sight
//!   ✗ ipc-017  failed                         what is the rollout's own trouble
//!   ○ ipc-044  node down                      what is not; many of them in a group that is folded
//!   ◐ ipc-018  pulling                        what moves, and below it what has just been updated
//!  ── waiting 79 · updated 38 ─────────────   the rest, which scrolls by itself
//!   ▾ next in line: 22 nodes                  a group; its nodes follow while it is open
//!   · ipc-020  outdated
//!   ▸ partition keeps 60: 57 nodes            a group that is folded
//! ```
//!
//! A filtered list, or one sorted by a column, is flat: its rows are nodes only.

mod groups;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use self::groups::GroupFold;
pub(crate) use self::groups::{GroupKey, NodeGroup};
use super::list::{List, Move, Viewport};
use crate::engine::model::Str;
use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::NodeView;
use crate::engine::report::trouble::is_in_trouble;

/// The time for which a node that was just updated stays pinned.
const LINGERS: Duration = Duration::from_secs(5);
/// The time for which a key still concerns the node that was current before, when another one has become the first.
const READ_ANEW: Duration = Duration::from_secs(1);
/// The most nodes that are pinned after their update: those that were updated last.
const MOST_DONE: usize = 6;
/// The most nodes of a kind that are pinned one by one while they are down, or while their Pod is not ready; if there are
/// more, as when a site is out, they are pinned as a group.
const MOST_UNWELL: usize = 3;
/// The number of a group's nodes that are remembered, to recognise the group when its reason changes.
const SAMPLE: usize = 9;
/// The number of lines of the pinned part that stay empty between one node and the next, so that the rest does not move up and down.
const KEPT: usize = 3;
/// The number of lines of both parts below which no line is left empty.
const KEPT_FROM: usize = 10;

/// The number of lines of the pinned part from which one is kept for the node in the worst trouble, wherever the cursor is.
const KEEPS_THE_WORST_FROM: usize = 3;

/// The list of nodes: its rows, the selection, and the folded groups.
#[derive(Debug, Default)]
pub(crate) struct NodeList {
    list: List<RowKey>,
    rows: Vec<NodeRow>,
    groups: Vec<NodeGroup>,
    /// The groups as they were before a filter or an order of its own showed rows without groups: they are no new ones afterwards.
    unfiltered: Vec<NodeGroup>,
    /// The number of pinned rows.
    pinned: usize,
    counts: PartCounts,
    /// For each group that ever existed, whether it is folded.
    folds: Vec<(GroupKey, GroupFold)>,
    /// The number of nodes that the plan allows to be updated, as it was last shown.
    allowed: Option<u32>,
    /// The places of the pinned nodes at the last arrangement: nodes that still move keep that order, and a node that left
    /// trouble or movement is recognised as updated.
    places: HashMap<Str, usize>,
    /// The pinned nodes that were down: a node that comes back with its earlier Pod was not updated now.
    down: HashSet<Str>,
    /// The nodes that were just updated, and the instant at which this was seen, by the console's clock.
    just_done: HashMap<Str, Duration>,
    /// The selected node, if it is pinned only because it is selected: neither it nor the rest moves before somebody moves the cursor.
    kept: Option<Str>,
    /// The node that is current while none is selected.
    front: Option<Front>,
    /// The number of lines of the pinned part. It grows at once and shrinks seldom, so that the rest stays in place.
    pinned_lines: usize,
    /// The visible rows of the rest, while it is scrolled: they stay in place when rows above them appear and disappear.
    anchors: Vec<RowKey>,
    /// The last number of lines for both parts.
    height: usize,
    /// The row that was selected when the typing of a filter began: a part of the filter may hide it although the whole filter does not.
    home: Option<RowKey>,
}

/// The node that is current while none is selected, and the one that was current before it.
#[derive(Debug)]
struct Front {
    node: Str,
    since: Duration,
    before: Option<Str>,
}

/// The content of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeRow {
    /// A node, as an index of the snapshot's nodes.
    Node(u32),
    /// The heading of a group, as an index of the groups.
    Group(usize),
}

/// The identity of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
enum RowKey {
    Node(Str),
    Group(GroupKey),
}

/// The number of nodes in each part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PartCounts {
    pub(crate) trouble: usize,
    /// Nodes whose Pods are not ready, for reasons other than the rollout.
    pub(crate) not_ready: usize,
    /// Nodes that are not Ready, for reasons other than the rollout.
    pub(crate) down: usize,
    pub(crate) moving: usize,
    pub(crate) just_done: usize,
    /// The node that is pinned only because it is selected.
    pub(crate) kept: usize,
    /// Outdated nodes, whatever they wait for.
    pub(crate) waiting: usize,
    /// Nodes at the target revision, without those that were just updated.
    pub(crate) updated: usize,
    /// Nodes of which nothing is known, as pods may not be read.
    pub(crate) unknown: usize,
    pub(crate) ineligible: usize,
}

/// The part of the list that a node belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ListPart {
    Trouble,
    /// In trouble that the rollout has not caused.
    Unwell(GroupKey),
    Moving,
    JustDone,
    Rest(GroupKey),
}

impl NodeList {
    /// Shows these nodes, indices of `nodes`, in the given order: for a list that is filtered or sorted by a column.
    pub(crate) fn arrange_flat(&mut self, shown: Vec<u32>) {
        self.rows = shown.into_iter().map(NodeRow::Node).collect();
        if !self.groups.is_empty() {
            self.unfiltered = std::mem::take(&mut self.groups);
        }
        (self.pinned, self.counts) = (0, PartCounts::default());
    }

    /// Shows all `nodes`, which are in the engine's order: nodes in trouble or moving first, the others by group. `now` is
    /// the instant at which they were seen.
    pub(crate) fn arrange(&mut self, nodes: &[Arc<NodeView>], now: Duration) {
        self.note_done(nodes, now);
        if self.groups.is_empty() {
            self.groups = std::mem::take(&mut self.unfiltered);
        }
        let selected = match self.list.selected() {
            Some(RowKey::Node(name)) => Some(name.clone()),
            _ => None,
        };
        let (mut trouble, mut moving, mut just_done) = (Vec::new(), Vec::new(), Vec::new());
        let was_kept = self.kept.take();
        let mut groups: Vec<NodeGroup> = Vec::new();
        let mut counts = PartCounts::default();
        for (index, node) in (0u32..).zip(nodes) {
            let key = match self.place(node) {
                ListPart::Trouble => {
                    trouble.push(index);
                    continue;
                }
                ListPart::Moving => {
                    moving.push(index);
                    continue;
                }
                ListPart::JustDone => {
                    just_done.push(index);
                    continue;
                }
                ListPart::Rest(_) if self.stays(&node.name, was_kept.as_ref()) => {
                    self.kept = Some(node.name.clone());
                    counts.kept = 1;
                    just_done.push(index);
                    continue;
                }
                ListPart::Unwell(key) | ListPart::Rest(key) => key,
            };
            match key {
                GroupKey::NotReady => counts.not_ready += 1,
                GroupKey::Down => counts.down += 1,
                GroupKey::InLine | GroupKey::Held(_) | GroupKey::Outdated => counts.waiting += 1,
                GroupKey::Updated => counts.updated += 1,
                GroupKey::Unknown => counts.unknown += 1,
                GroupKey::Ineligible => counts.ineligible += 1,
            }
            match groups.iter_mut().find(|group| group.key == key) {
                Some(group) => group.nodes.push(index),
                None => groups.push(NodeGroup { key, nodes: vec![index], is_open: true, sample: Vec::new() }),
            }
        }
        (counts.trouble, counts.moving) = (trouble.len(), moving.len());
        counts.just_done = just_done.len() - counts.kept;
        // The sort is stable, so groups of one rank stay in the engine's order.
        groups.sort_by_key(|group| group.key.rank());
        let few = |group: &mut NodeGroup| group.key.is_pinned() && group.nodes.len() <= MOST_UNWELL;
        trouble.extend(groups.extract_if(.., few).flat_map(|group| group.nodes));
        let headings = groups.iter().filter(|group| group.key.is_pinned()).count();
        // A node that begins to move goes below those that already move: no row moves because another node changes its state.
        moving.sort_by_key(|index| self.places.get(&nodes[*index as usize].name).copied().unwrap_or(usize::MAX));
        // Moving nodes stand above those that are done. Done nodes are in the order of their updates, so that the next one
        // moves none of them.
        let done_at = |index: &u32| self.just_done.get(&nodes[*index as usize].name).copied().unwrap_or_default();
        just_done.sort_by_key(done_at);
        moving.append(&mut just_done);
        let is_pinned_one_by_one = || trouble.iter().chain(&moving).map(|index| &nodes[*index as usize]);
        self.places = is_pinned_one_by_one().enumerate().map(|(place, node)| (node.name.clone(), place)).collect();
        let down = is_pinned_one_by_one().filter(|node| node.state == NodeState::NodeDown);
        self.down = down.map(|node| node.name.clone()).collect();
        let is_inherited = self.inherit(&groups, nodes);
        self.fold(&mut groups, nodes.len(), trouble.is_empty() && moving.is_empty() && !is_inherited);
        for group in &mut groups {
            let step = group.nodes.len().div_ceil(SAMPLE);
            let names = group.nodes.iter().step_by(step).map(|index| nodes[*index as usize].name.clone());
            group.sample = names.collect();
        }
        self.rows = trouble.into_iter().map(NodeRow::Node).collect();
        let lone = groups.len() - headings == 1;
        let mut moving = Some(moving);
        for (at, group) in groups.iter().enumerate() {
            let is_selected = |index: &&u32| selected.as_ref() == Some(&nodes[**index as usize].name);
            if !group.key.is_pinned()
                && let Some(moving) = moving.take()
            {
                self.rows.extend(moving.into_iter().map(NodeRow::Node));
                self.pinned = self.rows.len();
            }
            if group.has_heading(lone, nodes.len()) {
                self.rows.push(NodeRow::Group(at));
            }
            match group.is_open {
                true => self.rows.extend(group.nodes.iter().copied().map(NodeRow::Node)),
                // A selected node of a folded group stays visible.
                false => self.rows.extend(group.nodes.iter().find(is_selected).copied().map(NodeRow::Node)),
            }
        }
        if let Some(moving) = moving {
            self.rows.extend(moving.into_iter().map(NodeRow::Node));
            self.pinned = self.rows.len();
        }
        (self.groups, self.counts) = (groups, counts);
    }

    /// Whether this node is selected and was pinned at the last arrangement: it stays where it is read, and what is below it stays in place.
    fn stays(&self, name: &Str, was_kept: Option<&Str>) -> bool {
        self.is_node_selected(name) && (was_kept == Some(name) || self.places.contains_key(name))
    }

    fn is_node_selected(&self, name: &Str) -> bool {
        matches!(self.list.selected(), Some(RowKey::Node(selected)) if selected == name)
    }

    /// Notes the nodes that were updated since the last arrangement, and forgets those of long ago.
    fn note_done(&mut self, nodes: &[Arc<NodeView>], now: Duration) {
        self.expire(now);
        if self.places.is_empty() {
            return;
        }
        let is_done = |node: &&Arc<NodeView>| {
            let was_pinned = self.places.contains_key(&node.name) && self.kept.as_ref() != Some(&node.name);
            node.state == NodeState::Updated && was_pinned && !self.down.contains(&node.name)
        };
        for node in nodes.iter().filter(is_done) {
            self.just_done.entry(node.name.clone()).or_insert(now);
        }
        // If many nodes are updated at a time, they would displace the moving ones.
        let surplus = self.just_done.len().saturating_sub(MOST_DONE);
        if surplus > 0 {
            let mut oldest: Vec<(Duration, Str)> =
                self.just_done.iter().map(|(name, at)| (*at, name.clone())).collect();
            oldest.sort_unstable();
            for (_, name) in oldest.into_iter().take(surplus) {
                self.just_done.remove(&name);
                self.places.remove(&name);
                if self.is_node_selected(&name) {
                    self.kept = Some(name);
                }
            }
        }
    }

    /// Forgets earlier states: the present state of each node is treated as its first.
    pub(crate) fn forget_changes(&mut self) {
        self.places.clear();
        self.down.clear();
        self.just_done.clear();
        (self.kept, self.front) = (None, None);
    }

    /// Forgets the nodes that were updated long ago, and one that is not selected any more; returns whether there was one.
    pub(crate) fn expire(&mut self, now: Duration) -> bool {
        let is_over = |at: &Duration| now >= *at + LINGERS;
        let over: Vec<Str> =
            self.just_done.iter().filter(|(_, at)| is_over(at)).map(|(name, _)| name.clone()).collect();
        let left = self.kept.take_if(|kept| !matches!(self.list.selected(), Some(RowKey::Node(name)) if name == kept));
        if let Some(left) = &left {
            self.places.remove(left);
        }
        for name in &over {
            self.just_done.remove(name);
            self.places.remove(name);
            if self.is_node_selected(name) {
                self.kept = Some(name.clone());
            }
        }
        !over.is_empty() || left.is_some()
    }

    /// Notes which node is current while none is selected.
    pub(crate) fn note_front(&mut self, nodes: &[Arc<NodeView>], now: Duration) {
        let current = self.current_node().filter(|_| self.list.selected().is_none());
        let Some(node) = current.and_then(|index| nodes.get(index as usize)) else {
            self.front = None;
            return;
        };
        if self.front.as_ref().is_none_or(|front| front.node != node.name) {
            let before = self.front.take().map(|front| front.node);
            self.front = Some(Front { node: node.name.clone(), since: now, before });
        }
    }

    /// Selects the node that was current a moment ago, if another one has become the first since: a key that is pressed now was meant for it.
    pub(crate) fn select_what_was_read(&mut self, nodes: &[Arc<NodeView>], now: Duration) {
        let read = self.front.take_if(|front| now < front.since + READ_ANEW).and_then(|front| front.before);
        let Some(name) = read.filter(|_| self.list.selected().is_none()) else { return };
        let is_it = |row: &NodeRow| matches!(row, NodeRow::Node(index) if nodes.get(*index as usize).is_some_and(|node| node.name == name));
        if let Some(row) = self.rows.iter().position(is_it) {
            self.list.select(row, RowKey::Node(name));
        }
    }

    /// The instant at which the next node has been pinned for long enough after its update.
    pub(crate) fn expires_at(&self) -> Option<Duration> {
        self.just_done.values().map(|at| *at + LINGERS).min()
    }

    fn place(&self, node: &NodeView) -> ListPart {
        if is_in_trouble(node) {
            return ListPart::Trouble;
        }
        match node.state {
            NodeState::Failed => ListPart::Trouble,
            NodeState::Terminating
            | NodeState::Creating
            | NodeState::Pulling
            | NodeState::PullFailed
            | NodeState::Starting
            | NodeState::Soaking => ListPart::Moving,
            NodeState::Updated if self.just_done.contains_key(&node.name) => ListPart::JustDone,
            NodeState::NodeDown
            | NodeState::Outdated
            | NodeState::Updated
            | NodeState::Unknown
            | NodeState::Ineligible => {
                let key = GroupKey::of(node);
                if key.is_pinned() { ListPart::Unwell(key) } else { ListPart::Rest(key) }
            }
        }
    }

    /// Selects the node of this name; the next arrangement shows it if it is in a folded group.
    pub(crate) fn select_node(&mut self, name: &Str) {
        let row = self.current().unwrap_or(0);
        self.list.select(row, RowKey::Node(name.clone()));
    }

    /// Remembers the selected row while a filter is typed.
    pub(crate) fn set_home(&mut self) {
        self.home = self.list.selected().cloned();
    }

    /// The filter is no longer being typed: the present selection stays.
    pub(crate) fn forget_home(&mut self) {
        self.home = None;
    }

    /// Selects again the row that was selected when the typing of the filter began. The next arrangement shows it if it is a
    /// node of a folded group.
    pub(crate) fn go_home(&mut self) {
        if let Some(home) = self.home.clone() {
            let row = self.current().unwrap_or(0);
            self.list.select(row, home);
        }
    }

    /// The selected node, if no row shows it.
    pub(crate) fn hidden_selection(&self, nodes: &[Arc<NodeView>]) -> Option<u32> {
        let Some(RowKey::Node(name)) = self.list.selected() else { return None };
        let index = u32::try_from(nodes.iter().position(|node| node.name == *name)?).ok()?;
        self.indices().all(|shown| shown != index).then_some(index)
    }

    /// Whether the user has selected a row.
    pub(crate) fn is_selected(&self) -> bool {
        self.list.selected().is_some()
    }

    /// The nodes that the rows show, as indices of the snapshot's nodes.
    pub(crate) fn indices(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().filter_map(|row| match row {
            NodeRow::Node(index) => Some(*index),
            NodeRow::Group(_) => None,
        })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The pinned rows that are visible, then the others from the first visible one on, each with its place.
    pub(crate) fn visible(&self) -> (impl Iterator<Item = (usize, NodeRow)>, impl Iterator<Item = (usize, NodeRow)>) {
        let rows = || self.rows.iter().copied().enumerate();
        let kept = usize::from(self.keeps_the_worst());
        let scrolled = rows().take(self.pinned).skip(self.pinned_from());
        let pinned = rows().take(kept).chain(scrolled).take(self.pinned_lines);
        (pinned, rows().skip(self.pinned + self.list.top()))
    }

    /// Whether the first row is visible although the pinned part is scrolled: it is the one in the worst trouble, and the cursor may have come to the last
    /// pinned rows before there was any.
    pub(crate) fn keeps_the_worst(&self) -> bool {
        self.list.pinned_top() > 0 && self.counts.trouble > 0 && self.pinned_lines >= KEEPS_THE_WORST_FROM
    }

    /// The first pinned row that is visible, not counting one that [is kept](Self::keeps_the_worst). The kept one takes a line, but never that of the current row.
    fn pinned_from(&self) -> usize {
        let top = self.list.pinned_top();
        top + usize::from(self.keeps_the_worst() && self.current() != Some(top))
    }

    /// The current row's place. Until the operator selects a row, it is the place of the first node. It is not the heading
    /// of a group: the console has nothing to show for a heading, and the heading would become the current row as soon as no
    /// node is pinned above it.
    pub(crate) fn current(&self) -> Option<usize> {
        let node = || self.rows.iter().position(|row| matches!(row, NodeRow::Node(_)));
        let first = self.list.selected().is_none().then(node).flatten();
        first.or_else(|| self.list.current(self.len()))
    }

    fn current_row(&self) -> Option<NodeRow> {
        self.rows.get(self.current()?).copied()
    }

    /// The node of the current row, as an index of the snapshot's nodes; `None` on the heading of a group.
    pub(crate) fn current_node(&self) -> Option<u32> {
        match self.current_row()? {
            NodeRow::Node(index) => Some(index),
            NodeRow::Group(_) => None,
        }
    }

    /// The group whose heading is the current row.
    pub(crate) fn current_group(&self) -> Option<&NodeGroup> {
        match self.current_row()? {
            NodeRow::Group(at) => self.groups.get(at),
            NodeRow::Node(_) => None,
        }
    }

    pub(crate) fn group(&self, at: usize) -> Option<&NodeGroup> {
        self.groups.get(at)
    }

    pub(crate) fn counts(&self) -> PartCounts {
        self.counts
    }

    /// The number of pinned rows, visible or not.
    pub(crate) fn pinned(&self) -> usize {
        self.pinned
    }

    /// How many pinned rows are hidden above the visible ones.
    pub(crate) fn hidden_above(&self) -> usize {
        self.pinned_from() - usize::from(self.keeps_the_worst())
    }

    /// The number of lines of the pinned part, without the rule below it.
    pub(crate) fn pinned_lines(&self) -> usize {
        self.pinned_lines
    }

    /// How many of the first `rows` rows of the rest are headings of groups.
    pub(crate) fn headings(&self, rows: usize) -> usize {
        let rest = self.rows.iter().skip(self.pinned).take(rows);
        rest.filter(|row| matches!(row, NodeRow::Group(_))).count()
    }

    /// The first visible row of the rest, counted from the first row of the rest.
    pub(crate) fn top(&self) -> usize {
        self.list.top()
    }

    /// Moves the selection, with `height` lines for both parts.
    pub(crate) fn go(&mut self, movement: Move, height: usize, nodes: &[Arc<NodeView>]) {
        let viewport = self.viewport(height);
        let current = self.current().filter(|_| self.list.selected().is_none());
        let mut list = std::mem::take(&mut self.list);
        if let Some(row) = current {
            list.select(row, self.key(row, nodes));
        }
        list.go(movement, self.rows.len(), viewport, |row| self.key(row, nodes));
        self.list = list;
        self.drop_anchors(viewport, nodes);
    }

    /// Finds the selected row again, with `height` lines for both parts.
    pub(crate) fn follow(&mut self, height: usize, nodes: &[Arc<NodeView>]) {
        self.height = height;
        let most = self.most_pinned(self.rows.len() - self.pinned);
        let need = self.pinned.min(most);
        let is_over = need == 0 && (self.groups.len() < 2 || height < KEPT_FROM);
        let far_too_many = self.pinned_lines > KEPT && need * 3 <= self.pinned_lines;
        if need > self.pinned_lines || self.pinned_lines > most || is_over || far_too_many {
            self.pinned_lines = need;
        }
        let viewport = self.viewport(height);
        let mut list = std::mem::take(&mut self.list);
        let is_in = |row: usize, wanted: &RowKey| match (self.rows.get(row), wanted) {
            (Some(NodeRow::Node(index)), RowKey::Node(name)) => nodes[*index as usize].name == *name,
            (Some(NodeRow::Group(at)), RowKey::Group(key)) => self.groups[*at].key == *key,
            _ => false,
        };
        let position = |near: Option<usize>, wanted: &RowKey| {
            let same = near.filter(|row| is_in(*row, wanted));
            same.or_else(|| (0..self.rows.len()).find(|row| is_in(*row, wanted)))
        };
        for (line, anchor) in self.anchors.iter().enumerate() {
            let near = self.pinned + list.top() + line;
            if let Some(at) = position(Some(near), anchor).filter(|at| *at >= self.pinned) {
                list.show_from((at - self.pinned).saturating_sub(line));
                break;
            }
        }
        let known = list.cursor();
        let position = |wanted: &RowKey| position(known, wanted);
        list.follow(self.rows.len(), viewport, position, |row| self.key(row, nodes));
        self.list = list;
        self.drop_anchors(viewport, nodes);
    }

    /// The most lines that can be pinned above so many rows: half of the lines, or those that the rest leaves; the rule
    /// below the pinned part takes one of the others.
    fn most_pinned(&self, rest: usize) -> usize {
        (self.height / 2).max(self.height.saturating_sub(rest + 1))
    }

    /// Notes the visible rows.
    fn drop_anchors(&mut self, viewport: Viewport, nodes: &[Arc<NodeView>]) {
        self.anchors.clear();
        // At the top no rows are noted: the list shows its first rows, whichever they are.
        if self.list.top() > 0 {
            let first = self.pinned + self.list.top();
            let visible = first..self.rows.len().min(first + viewport.height);
            self.anchors = visible.map(|row| self.key(row, nodes)).collect();
        }
    }

    fn key(&self, row: usize, nodes: &[Arc<NodeView>]) -> RowKey {
        match self.rows[row] {
            NodeRow::Node(index) => RowKey::Node(nodes[index as usize].name.clone()),
            NodeRow::Group(at) => RowKey::Group(self.groups[at].key),
        }
    }

    fn viewport(&self, height: usize) -> Viewport {
        let rule = usize::from(self.pinned_lines > 0);
        Viewport {
            pinned: self.pinned,
            pinned_height: self.pinned_lines,
            height: height.saturating_sub(self.pinned_lines + rule),
        }
    }
}
