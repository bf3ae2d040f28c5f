//! The map of the nodes: one cell a node, one block a site. A node keeps its cell when its state changes.
//!
//! If there are more nodes than cells, a cell stands for several nodes with neighbouring names, and shows the worst of them.

pub(crate) mod layout;

use std::collections::HashMap;
use std::sync::Arc;

use self::layout::MapLayout;
use crate::engine::model::Str;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Counterparts, NodeView, Snapshot};
use crate::engine::report::trouble::TroubleKind;

/// The places of the nodes on the map.
#[derive(Debug, Default)]
pub(crate) struct NodeMap {
    /// Whether the map is shown in place of the list.
    pub(crate) is_open: bool,
    /// The first visible row of the map, if not all of it fits.
    pub(crate) top: usize,
    /// The label chosen for the blocks; `None`: the label by which the rollout tells sites apart.
    label: Option<String>,
    /// The label that was in force before one was chosen while the labels of nodes were not known; `None`: there is no such choice to check.
    pub(crate) before_unchecked: Option<Option<String>>,
    /// The sites, ordered by name.
    sites: Vec<MapSite>,
    /// The instant and the address of the nodes that were taken in last: if both are unchanged, the nodes need not be taken in again.
    seen: Option<(Timestamp, usize)>,
    /// For each node its name, its site, and its place in the site, in the order of the snapshot that was taken in last.
    places: Vec<MapPlace>,
}

/// The place of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
struct MapPlace {
    name: Str,
    site: u32,
    place: u32,
}

/// The nodes that have the same value of the label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MapSite {
    /// The value; empty for nodes without the label.
    pub(crate) name: Str,
    /// Ordered by name; indices of the snapshot's nodes.
    pub(crate) nodes: Vec<u32>,
}

/// The number of nodes of a site by progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SiteCounts {
    /// Nodes that should run the Pod.
    pub(crate) nodes: u32,
    pub(crate) updated: u32,
    pub(crate) moving: u32,
    /// The moving nodes that are in trouble and have not failed yet.
    pub(crate) struggling: u32,
    /// Nodes in trouble, as in the list.
    pub(crate) trouble: u32,
    /// The nodes in trouble that have failed.
    pub(crate) failed: u32,
    /// Nodes that are not Ready, for reasons other than the rollout.
    pub(crate) down: u32,
}

/// The room for the cells of the map, in cells and lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct MapArea {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// The height that is left in this terminal however many lines stand above the map; at most `height`.
    pub(crate) steady_height: usize,
}

impl MapArea {
    /// A room whose height does not change while the terminal keeps its size.
    pub(crate) fn of(width: u16, height: u16) -> Self {
        let height = usize::from(height);
        Self { width: usize::from(width), height, steady_height: height }
    }
}

/// A movement on the map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MapMove {
    Left,
    Right,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

impl NodeMap {
    /// Takes in the nodes of a snapshot, unless they were taken in last.
    pub(crate) fn see(&mut self, snapshot: &Snapshot) {
        let nodes = &snapshot.nodes;
        let this = (snapshot.at, nodes.as_ptr() as usize);
        if self.seen.replace(this) == Some(this) {
            return;
        }
        let mut before = Counterparts::of(&self.places, |known| &known.name);
        let places = nodes.iter().enumerate().map(|(index, node)| {
            let known = &self.places[before.find(index, &node.name)?];
            (*self.sites[known.site as usize].name == *self.site_of(node)).then(|| known.clone())
        });
        let places: Option<Vec<MapPlace>> = places.collect();
        match places.filter(|places| places.len() == self.places.len()) {
            Some(places) => {
                self.places = places;
                for (index, known) in (0u32..).zip(&self.places) {
                    self.sites[known.site as usize].nodes[known.place as usize] = index;
                }
            }
            None => self.lay_out_anew(nodes),
        }
    }

    fn lay_out_anew(&mut self, nodes: &[Arc<NodeView>]) {
        let mut named: HashMap<&str, Vec<u32>> = HashMap::new();
        for (index, node) in (0u32..).zip(nodes) {
            named.entry(self.site_of(node)).or_default().push(index);
        }
        let name = |index: &u32| &nodes[*index as usize].name;
        let mut sites: Vec<MapSite> =
            named.into_iter().map(|(site, nodes)| MapSite { name: site.into(), nodes }).collect();
        // The nodes without the label come last.
        sites.sort_by(|a, b| {
            (a.name.is_empty().cmp(&b.name.is_empty())).then_with(|| natord::compare(&a.name, &b.name))
        });
        self.places = nodes.iter().map(|node| MapPlace { name: node.name.clone(), site: 0, place: 0 }).collect();
        for (site, at) in sites.iter_mut().zip(0u32..) {
            site.nodes.sort_by(|a, b| natord::compare(name(a), name(b)).then_with(|| name(a).cmp(name(b))));
            for (index, place) in site.nodes.iter().zip(0u32..) {
                let known = &mut self.places[*index as usize];
                (known.site, known.place) = (at, place);
            }
        }
        self.sites = sites;
    }

    fn site_of<'a>(&self, node: &'a NodeView) -> &'a str {
        match &self.label {
            Some(label) => node.labels.get(label).map_or("", |value| value),
            None => &node.site,
        }
    }

    /// Forgets the places of the nodes, for as long as the map is not drawn.
    pub(crate) fn forget(&mut self) {
        (self.sites, self.places, self.seen) = (Vec::new(), Vec::new(), None);
    }

    /// Makes the values of this label the blocks; `None`: the label by which the rollout tells sites apart.
    pub(crate) fn choose(&mut self, label: Option<String>) {
        self.label = label;
        self.top = 0;
        self.forget();
    }

    /// The chosen label.
    pub(crate) fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    pub(crate) fn sites(&self) -> &[MapSite] {
        &self.sites
    }

    /// The places of the cells in this room. They stay as they are while lines come and go above the map, except where the map needs every line of it.
    pub(crate) fn layout(&self, room: MapArea) -> MapLayout {
        let sizes: Vec<usize> = self.sites.iter().map(|site| site.nodes.len()).collect();
        let longest = self.sites.iter().map(|site| super::words::width(&site.name)).max().unwrap_or(0);
        let steady = MapLayout::of(&sizes, longest, room.width, room.steady_height);
        if steady.height <= room.height {
            return steady;
        }
        MapLayout::of(&sizes, longest, room.width, room.height)
    }

    /// Scrolls so that the cell of this node is visible in this room.
    pub(crate) fn scroll_to(&mut self, name: Option<&str>, room: MapArea) {
        let (layout, height) = (self.layout(room), room.height);
        let place = name.and_then(|name| self.place_of(name));
        let row = place.and_then(|(site, place)| Some(layout.blocks.get(site)?.position(place / layout.per_cell).1));
        self.top = layout.scrolled(self.top, row, height);
    }

    /// The site and the place of a node.
    pub(crate) fn place_of(&self, name: &str) -> Option<(usize, usize)> {
        // Asked once for a key or a frame: that is soon done without an index by name.
        let known = self.places.iter().find(|known| *known.name == *name)?;
        Some((known.site as usize, known.place as usize))
    }

    /// The site and the place of every node, by its name: the order of the map.
    pub(crate) fn places(&self) -> HashMap<&Str, (u32, u32)> {
        self.places.iter().map(|known| (&known.name, (known.site, known.place))).collect()
    }

    /// The nodes that share a cell, as indices of the snapshot's nodes.
    pub(crate) fn cell(&self, layout: &MapLayout, site: usize, cell: usize) -> &[u32] {
        let nodes = self.sites.get(site).map_or(&[][..], |site| &site.nodes);
        let first = (cell * layout.per_cell).min(nodes.len());
        &nodes[first..nodes.len().min(first + layout.per_cell)]
    }

    /// Moves from the cell of this node, and returns the worst node of the cell reached.
    pub(crate) fn step(
        &self,
        layout: &MapLayout,
        from: Option<&str>,
        movement: MapMove,
        page: usize,
        nodes: &[Arc<NodeView>],
    ) -> Option<Str> {
        let at = from.and_then(|name| self.place_of(name)).map(|(site, place)| (site, place / layout.per_cell));
        let (site, cell) = layout.step(at, movement, page)?;
        worst(self.cell(layout, site, cell), nodes).map(|node| node.name.clone())
    }
}

/// The worst of these nodes; the first of equally bad ones.
pub(crate) fn worst<'a>(indices: &[u32], nodes: &'a [Arc<NodeView>]) -> Option<&'a NodeView> {
    indices.iter().filter_map(|index| Some(&**nodes.get(*index as usize)?)).min_by_key(|node| badness(node))
}

/// How urgently a node needs a look: a lower number is more urgent. Done nodes have the highest, so that a cell looks done
/// only when all its nodes are.
fn badness(node: &NodeView) -> u8 {
    match (node.state, node.blame) {
        (NodeState::Failed, _) => 0,
        _ if node.counts_as_failed() => 0,
        (_, Some(Blame::Suspect)) => 1,
        _ if TroubleKind::of(node).is_some() => 2,
        (NodeState::NodeDown, _) => 3,
        (
            NodeState::Terminating
            | NodeState::Creating
            | NodeState::Pulling
            | NodeState::PullFailed
            | NodeState::Starting
            | NodeState::Soaking,
            _,
        ) => 4,
        (NodeState::Outdated, _) if node.failed_image_is_retried().is_some() || node.waits_for_an_operator_at_it() => 5,
        (NodeState::Outdated, _) if node.is_next() => 6,
        (NodeState::Outdated, _) => 7,
        (NodeState::Unknown, _) => 7,
        (NodeState::Updated, _) => 8,
        (NodeState::Ineligible, _) => 9,
    }
}

impl SiteCounts {
    pub(crate) fn of(indices: &[u32], nodes: &[Arc<NodeView>]) -> Self {
        let mut counts = Self::default();
        for node in indices.iter().filter_map(|index| nodes.get(*index as usize)) {
            let trouble = TroubleKind::of(node);
            // A node in trouble that has not failed yet still moves, and has a sign of its own, as in its row.
            let still_moves = matches!(trouble, Some(TroubleKind::Restarted | TroubleKind::Struggling(_)));
            let is_trouble = trouble.is_some() && !still_moves;
            counts.nodes += u32::from(node.state != NodeState::Ineligible);
            counts.updated += u32::from(node.is_updated_and_well());
            counts.trouble += u32::from(is_trouble);
            counts.failed += u32::from(matches!(trouble, Some(TroubleKind::Failed(_))));
            counts.down += u32::from(node.state == NodeState::NodeDown && !is_trouble);
            counts.struggling += u32::from(still_moves);
            counts.moving += u32::from(still_moves || badness(node) == 4);
        }
        counts
    }
}

/// The keys of labels that tell the nodes apart into blocks: several values, and fewer than nodes; the fewest values first.
pub(crate) fn block_labels(nodes: &[Arc<NodeView>]) -> Vec<String> {
    let mut values: HashMap<&Str, HashMap<&Str, u32>> = HashMap::new();
    for (key, value) in nodes.iter().flat_map(|node| node.labels.iter()) {
        *values.entry(key).or_default().entry(value).or_default() += 1;
    }
    let mut keys: Vec<(usize, &Str)> = values
        .iter()
        .filter(|(_, values)| values.len() > 1 && values.values().any(|nodes| *nodes > 1))
        .map(|(key, values)| (values.len(), *key))
        .collect();
    keys.sort();
    keys.into_iter().map(|(_, key)| key.to_string()).collect()
}
