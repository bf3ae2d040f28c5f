//! The nodes of a snapshot. Snapshots share a node for as long as it is the same.
//!
//! A snapshot of thousands of nodes is megabytes, and several live at once: the one that is published, the one that a console
//! shows, and the one that is being made. Between two of them a handful of nodes differ.

use std::ops::Deref;
use std::sync::Arc;

use super::{Counterparts, NodeView};

/// All nodes of a snapshot, in its order; cheap to clone.
#[derive(Clone, Debug)]
pub struct NodeViews(Arc<[Arc<NodeView>]>);

impl Default for NodeViews {
    fn default() -> Self {
        Self(Arc::from(Vec::new()))
    }
}

impl Deref for NodeViews {
    type Target = [Arc<NodeView>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl PartialEq for NodeViews {
    fn eq(&self, other: &Self) -> bool {
        let same = |(ours, theirs): (&Arc<NodeView>, &Arc<NodeView>)| Arc::ptr_eq(ours, theirs) || ours == theirs;
        Arc::ptr_eq(&self.0, &other.0) || (self.len() == other.len() && self.0.iter().zip(&*other.0).all(same))
    }
}

impl FromIterator<NodeView> for NodeViews {
    fn from_iter<I: IntoIterator<Item = NodeView>>(nodes: I) -> Self {
        Self(nodes.into_iter().map(Arc::new).collect())
    }
}

impl From<Vec<NodeView>> for NodeViews {
    fn from(nodes: Vec<NodeView>) -> Self {
        nodes.into_iter().collect()
    }
}

impl<const N: usize> From<[NodeView; N]> for NodeViews {
    fn from(nodes: [NodeView; N]) -> Self {
        nodes.into_iter().collect()
    }
}

impl NodeViews {
    /// Each node.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &NodeView> + ExactSizeIterator + Clone {
        self.0.iter().map(|node| &**node)
    }

    /// The given nodes; each that is the same in `last` is shared with it.
    pub(crate) fn sharing(last: &Self, nodes: impl ExactSizeIterator<Item = NodeView>) -> Self {
        let mut before = Counterparts::of(&last.0, |node| &node.name);
        let shared =
            nodes.enumerate().map(|(place, node)| match before.find(place, &node.name).map(|place| &last.0[place]) {
                Some(known) if **known == node => Arc::clone(known),
                _ => Arc::new(node),
            });
        let nodes = Self(shared.collect());
        if nodes.is_shared_with(last) { last.clone() } else { nodes }
    }

    /// Whether the nodes are those of `other`, unchanged and in the same order, and share one storage.
    pub fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.len() == other.len()
                && self.0.iter().zip(&*other.0).all(|(ours, theirs)| Arc::ptr_eq(ours, theirs)))
    }

    /// A copy of each node.
    pub fn to_vec(&self) -> Vec<NodeView> {
        self.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};

    /// How many nodes of the one are stored in the other as well.
    fn shared(one: &NodeViews, other: &NodeViews) -> usize {
        one.0.iter().filter(|node| other.0.iter().any(|known| Arc::ptr_eq(node, known))).count()
    }

    #[test]
    fn a_node_that_did_not_change_is_shared_wherever_it_stands() {
        let fake = FakeCluster::rolling(20, 2);
        let nodes = FakeConsole::open(&fake, "ops").snapshot(&fake).nodes;
        let again = NodeViews::sharing(&nodes, nodes.to_vec().into_iter());
        assert!(Arc::ptr_eq(&again.0, &nodes.0), "not even the list is stored again");

        let mut moved = nodes.to_vec();
        moved.rotate_left(7);
        moved[3].restarts += 1;
        let after = NodeViews::sharing(&nodes, moved.clone().into_iter());
        assert_eq!((shared(&after, &nodes), after.to_vec() == moved), (19, true));

        moved.remove(0);
        let fewer = NodeViews::sharing(&after, moved.clone().into_iter());
        assert_eq!((shared(&fewer, &after), fewer.to_vec() == moved), (19, true));
        assert_eq!(shared(&NodeViews::sharing(&NodeViews::default(), moved.into_iter()), &after), 0);
    }

    #[test]
    fn the_next_snapshot_shares_what_it_shows_unchanged() {
        let mut fake = FakeCluster::rolling(20, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.run_for(&mut fake, 10);
        let before = console.snapshot(&fake).nodes;
        let after = console.engine.snapshot_sharing(&before, fake.now).nodes;
        assert_eq!((shared(&after, &before), after == before), (20, true));
    }
}
