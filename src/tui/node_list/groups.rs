//! The groups of the list: the reasons by which waiting or healthy nodes are grouped, and the groups that are folded.

use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

use super::{NodeList, NodeRow, RowKey};
use crate::engine::model::Str;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::NodeView;

/// The most nodes of a list in which every group is open at first.
const FEW: usize = 30;

/// Nodes that are in their state for the same reason.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NodeGroup {
    pub(crate) key: GroupKey,
    /// Its nodes, in the engine's order, as indices of the snapshot's nodes; never empty.
    pub(crate) nodes: Vec<u32>,
    pub(crate) is_open: bool,
    /// Some of its nodes, by name.
    pub(super) sample: Vec<Str>,
}

/// The reason by which nodes are grouped that neither move nor are in trouble because of the rollout, in the order of the groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GroupKey {
    /// Their Pods are not ready, for reasons other than the rollout. Pinned.
    NotReady,
    /// The nodes are not Ready, for reasons other than the rollout. Pinned.
    Down,
    /// They are updated as soon as there is room: they wait for a limit, for another node, or for an answer.
    InLine,
    /// They wait until somebody does or changes something, which is the same for all of them.
    Held(Discriminant<Hold>),
    /// They are outdated for an unknown reason.
    Outdated,
    /// They run the target revision.
    Updated,
    /// Pods may not be read, so how they are is not known.
    Unknown,
    /// They should not run the Pod.
    Ineligible,
}

impl GroupKey {
    /// The group's place among the others.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::NotReady => 0,
            Self::Down => 1,
            Self::InLine => 2,
            Self::Held(_) => 3,
            Self::Outdated => 4,
            Self::Unknown => 5,
            Self::Updated => 6,
            Self::Ineligible => 7,
        }
    }

    /// Whether the group's nodes are in trouble, so that the group is pinned.
    pub(super) fn is_pinned(self) -> bool {
        matches!(self, Self::NotReady | Self::Down)
    }

    pub(super) fn of(node: &NodeView) -> Self {
        match (node.state, &node.hold) {
            (NodeState::NodeDown, _) => Self::Down,
            (NodeState::Outdated | NodeState::Ineligible, _) if node.cause.is_some() => Self::NotReady,
            (NodeState::Updated, _) => Self::Updated,
            (NodeState::Unknown, _) => Self::Unknown,
            (NodeState::Ineligible, _) => Self::Ineligible,
            (_, None) => Self::Outdated,
            (_, Some(_)) if node.goes_by_itself() => Self::InLine,
            (_, Some(hold)) => Self::Held(discriminant(hold)),
        }
    }
}

/// Whether a group is folded, and why it is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GroupFold {
    Folded,
    Open,
    /// It was opened because nothing else was to be seen. When the plan changes it is treated like a new group.
    OpenedByItself,
}

impl GroupFold {
    /// The fold of a group that is new, in a list of so many nodes: a group is open if its nodes go next, or if there are few
    /// nodes in all. A pinned group is never opened by itself.
    fn of_new(key: GroupKey, nodes: usize) -> Self {
        let is_open = (key == GroupKey::InLine || nodes <= FEW) && !key.is_pinned();
        if is_open { Self::Open } else { Self::Folded }
    }
}

impl NodeGroup {
    /// Whether the group has a heading in a list of so many nodes. The only group that is not pinned (`lone`) has none, except the
    /// waiting nodes of a rollout: as soon as some of them move, the others are folded.
    pub(super) fn has_heading(&self, lone: bool, nodes: usize) -> bool {
        self.key.is_pinned() || !lone || (matches!(self.key, GroupKey::Held(_)) && nodes > FEW)
    }
}

impl NodeList {
    /// A group that replaces another one, because only the reason changed, takes over whether that group was open and
    /// selected. Returns whether there is such a group.
    pub(super) fn inherit(&mut self, groups: &[NodeGroup], nodes: &[Arc<NodeView>]) -> bool {
        let is_in = |key: GroupKey, groups: &[NodeGroup]| groups.iter().any(|group| group.key == key);
        let gone: Vec<(GroupKey, GroupFold, Vec<Str>)> = self
            .groups
            .iter()
            .filter(|group| !is_in(group.key, groups))
            .map(|group| (group.key, self.fold_of(group.key).unwrap_or(GroupFold::Folded), group.sample.clone()))
            .collect();
        let mut is_inherited = false;
        for (before, fold, sample) in gone {
            let most_of = |group: &&NodeGroup| {
                let known = group.nodes.iter().filter(|index| sample.contains(&nodes[**index as usize].name)).count();
                known * 2 > sample.len()
            };
            let new = groups.iter().filter(|group| !is_in(group.key, &self.groups));
            let Some(key) = new.into_iter().find(most_of).map(|group| group.key) else { continue };
            self.set_fold(key, fold);
            is_inherited = true;
            if let (Some(RowKey::Group(selected)), Some(row)) = (self.list.selected(), self.list.cursor())
                && *selected == before
            {
                self.list.select(row, RowKey::Group(key));
            }
        }
        is_inherited
    }

    /// The number of nodes that the plan allows to be updated, as it is shown from now on. When it changes, the groups that opened by
    /// themselves are folded again, unless the user has selected a row or has scrolled.
    pub(crate) fn see_allowed(&mut self, allowed: u32) {
        let before = self.allowed.replace(allowed);
        let is_untouched = self.list.selected().is_none() && self.list.top() == 0;
        if before.is_some_and(|before| before != allowed) && is_untouched {
            self.folds.retain(|(_, fold)| *fold != GroupFold::OpenedByItself);
        }
    }

    /// Folds the groups as they were folded before. A group without a heading is open. If every group is folded and no node would
    /// be visible (`nothing_seen`), the first group that is not pinned is opened.
    pub(super) fn fold(&mut self, groups: &mut [NodeGroup], nodes: usize, nothing_seen: bool) {
        let headings = groups.iter().filter(|group| group.key.is_pinned()).count();
        let lone = groups.len() - headings == 1;
        for group in groups.iter() {
            let fold = self.fold_of(group.key).unwrap_or_else(|| GroupFold::of_new(group.key, nodes));
            let opens = fold == GroupFold::Folded && !group.has_heading(lone, nodes);
            self.set_fold(group.key, if opens { GroupFold::OpenedByItself } else { fold });
        }
        if nothing_seen && !groups.iter().any(|group| self.is_open(group.key)) {
            // If the user folds it, the fold is remembered, and the group is not opened again as long as the groups stay the same.
            let same =
                groups.len() == self.groups.len() && groups.iter().zip(&self.groups).all(|(a, b)| a.key == b.key);
            if let Some(first) = groups.get(headings).filter(|_| !same) {
                self.set_fold(first.key, GroupFold::OpenedByItself);
            }
        }
        for group in groups {
            group.is_open = self.is_open(group.key);
        }
    }

    fn fold_of(&self, key: GroupKey) -> Option<GroupFold> {
        self.folds.iter().find(|(known, _)| *known == key).map(|(_, fold)| *fold)
    }

    fn is_open(&self, key: GroupKey) -> bool {
        self.fold_of(key).is_some_and(|fold| fold != GroupFold::Folded)
    }

    fn set_fold(&mut self, key: GroupKey, fold: GroupFold) {
        self.folds.retain(|(known, _)| *known != key);
        self.folds.push((key, fold));
    }

    /// The user opens or folds a group.
    fn set_open(&mut self, key: GroupKey, open: bool) {
        self.set_fold(key, if open { GroupFold::Open } else { GroupFold::Folded });
    }

    /// Opens or folds the group whose heading is the current row; the rows have to be arranged again then.
    pub(crate) fn toggle(&mut self) {
        if let Some((key, open)) = self.current_group().map(|group| (group.key, group.is_open)) {
            let row = self.current().unwrap_or(0);
            self.list.select(row, RowKey::Group(key));
            self.set_open(key, !open);
        }
    }

    /// Opens (or folds) the group of the current row. From a node the heading of its group is selected and folded. Returns whether
    /// rows have to be arranged again.
    pub(crate) fn set_current_open(&mut self, open: bool) -> bool {
        let heading = match (self.current_row(), open) {
            (Some(NodeRow::Group(at)), _) => Some(at),
            (Some(NodeRow::Node(index)), false) => self.groups.iter().position(|group| group.nodes.contains(&index)),
            _ => None,
        };
        // Not every group has a heading.
        let found = heading.and_then(|at| Some((at, self.rows.iter().position(|row| *row == NodeRow::Group(at))?)));
        let Some((at, row)) = found else { return false };
        let key = self.groups[at].key;
        self.list.select(row, RowKey::Group(key));
        self.set_open(key, open);
        true
    }
}
