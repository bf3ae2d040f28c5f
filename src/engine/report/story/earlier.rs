//! The part of a story that is kept when its view is closed, for the story that begins when the same rollout is opened again.

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
    /// The nodes for which trouble was reported and recovery was not.
    troubled: HashMap<Str, LastNode>,
    /// When the last snapshot was taken in.
    until: Timestamp,
}

impl Story {
    /// The kept part of this story; `None` if there is nothing. A story that has not begun hands on the part it was to go on from.
    pub fn into_earlier(self) -> Option<EarlierStory> {
        let Some(until) = self.seen_until else { return self.earlier.map(|earlier| *earlier) };
        let Self { moments, dropped, controllers, last_nodes, .. } = self;
        let troubled = last_nodes.into_iter().filter(|was| was.troubled).map(|was| (was.name.clone(), was)).collect();
        Some(EarlierStory { moments, dropped, controllers, troubled, until })
    }

    /// A story that goes on from an earlier one of the same DaemonSet. The time in between is read off the pods of the first snapshot.
    pub fn after(earlier: EarlierStory) -> Self {
        Self { earlier: Some(Box::new(earlier)), ..Self::default() }
    }

    /// Takes in the earlier story, and the present state of the nodes that were in trouble then. Returns the time at which that story ended, and the
    /// nodes of which a change is reported since: neither that time nor those nodes are read off the pods again.
    pub(super) fn take_earlier(&mut self, snapshot: &Snapshot) -> Option<(Timestamp, HashSet<Str>)> {
        let EarlierStory { moments, dropped, controllers, troubled, until } = *self.earlier.take()?;
        (self.moments, self.dropped, self.controllers) = (moments, dropped, controllers);
        let mut told = HashSet::new();
        for node in snapshot.nodes.iter() {
            let next = LastNode::of(node, snapshot.at);
            // Another pod tells by its own times.
            let Some(was) = troubled.get(&node.name).filter(|was| was.pod == next.pod) else { continue };
            let at = if next.since > was.since { next.since } else { snapshot.at };
            for change in changes(was, &next, node) {
                self.keep(moment(at.max(until), &node.name, change));
                told.insert(node.name.clone());
            }
        }
        Some((until, told))
    }
}
