//! The nodes that need a look and that a filter hides.

use std::fmt;

use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::NodeView;
use crate::engine::report::trouble::is_in_trouble;

/// Nodes that need a look and do not pass the filter: the list does not show them, but counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HiddenNodes {
    trouble: usize,
    down: usize,
}

impl HiddenNodes {
    pub(crate) fn of<'a>(hidden: impl Iterator<Item = &'a NodeView>) -> Self {
        hidden.fold(Self::default(), |mut counts, node| {
            if is_in_trouble(node) {
                counts.trouble += 1;
            } else if node.state == NodeState::NodeDown {
                counts.down += 1;
            }
            counts
        })
    }
}

/// `hidden: 1 in trouble, 2 down`; empty where none is.
impl fmt::Display for HiddenNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.trouble, self.down) {
            (0, 0) => Ok(()),
            (trouble, 0) => write!(f, "hidden: {trouble} in trouble"),
            (0, down) => write!(f, "hidden: {down} down"),
            (trouble, down) => write!(f, "hidden: {trouble} in trouble, {down} down"),
        }
    }
}
