//! What a story told until its view was closed, for the one that begins when the same rollout is opened again.

use std::collections::{HashMap, HashSet, VecDeque};

use super::controller::ControllerMoment;
use super::{LastNode, NodeMoment, Story, changes, moment};
use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;

/// The part of a [`Story`] that stays true after nobody watches the rollout any more.
#[derive(Clone, PartialEq, Debug)]
pub struct EarlierStory {
    moments: VecDeque<NodeMoment>,
    dropped: u64,
    controllers: Vec<ControllerMoment>,
    /// The nodes that something was told to be wrong with, and not yet that they are well again.
    troubled: HashMap<Str, LastNode>,
    /// When the last snapshot was taken in.
    until: Timestamp,
}

impl Story {
    /// What it told; `None` if there is nothing. One that has not begun hands on what it goes on from.
    pub fn into_earlier(self) -> Option<EarlierStory> {
        let Some(until) = self.seen_until else { return self.earlier.map(|earlier| *earlier) };
        let Self { moments, dropped, controllers, mut last_nodes, .. } = self;
        last_nodes.retain(|_, was| was.troubled);
        Some(EarlierStory { moments, dropped, controllers, troubled: last_nodes, until })
    }

    /// A story that goes on from an earlier one of the same DaemonSet. What happened in between is read off the pods of the first
    /// snapshot.
    pub fn after(earlier: EarlierStory) -> Self {
        Self { earlier: Some(Box::new(earlier)), ..Self::default() }
    }

    /// Takes in what the earlier story told, and how the nodes stand now that were in trouble then. Returns when that one ended, and the nodes
    /// of which something is told since: neither the time before nor those nodes are read off the pods once more.
    pub(super) fn take_earlier(&mut self, snapshot: &Snapshot) -> Option<(Timestamp, HashSet<Str>)> {
        let EarlierStory { moments, dropped, controllers, troubled, until } = *self.earlier.take()?;
        (self.moments, self.dropped, self.controllers) = (moments, dropped, controllers);
        let mut told = HashSet::new();
        for node in snapshot.nodes.iter() {
            let next = LastNode::of(node, snapshot.at);
            // Of another pod its own times tell.
            let Some(was) = troubled.get(&node.name).filter(|was| was.pod == next.pod) else { continue };
            let at = if next.since > was.since { next.since } else { snapshot.at };
            for change in changes(was, &next, node) {
                self.keep(moment(at.max(until), node, change));
                told.insert(node.name.clone());
            }
        }
        Some((until, told))
    }
}
