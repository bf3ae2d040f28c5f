//! The target revision, and the changes of nodes that follow from a new target alone.

use super::{ChangeTopic, Telling};
use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::{NodeView, Snapshot};

impl Telling<'_> {
    pub(super) fn target(&mut self) {
        let Snapshot { namespace, name, .. } = self.snapshot;
        let text = match &self.snapshot.to {
            Some(_) => format!("{} {namespace}/{name}: {}", self.snapshot.numbers(), self.snapshot.change()),
            // The number of the revision and its changes are known once it has a ControllerRevision.
            None => {
                format!("{namespace}/{name}: the template changed; its controller has not made a revision of it yet")
            }
        };
        self.say(ChangeTopic::Target, text);
    }
}

/// Whether the only change is that the same pod is outdated now, because another revision is the target.
pub(super) fn is_only_outdated(was: &NodeView, node: &NodeView) -> bool {
    let same_pod = was.pod == node.pod && was.revision_hash() == node.revision_hash();
    was.state == NodeState::Updated && node.state == NodeState::Outdated && node.cause.is_none() && same_pod
}
