//! Which revision is rolled out, and what of the nodes changes with that alone.

use super::{Telling, Topic};
use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::{NodeView, Snapshot};

impl Telling<'_> {
    pub(super) fn target(&mut self) {
        let Snapshot { namespace, name, .. } = self.snapshot;
        let text = match &self.snapshot.to {
            Some(_) => format!("{} {namespace}/{name}: {}", self.snapshot.numbers(), self.snapshot.change()),
            // Its number and what it changes are known once there is a ControllerRevision of it.
            None => {
                format!("{namespace}/{name}: the template changed; its controller has not made a revision of it yet")
            }
        };
        self.say(Topic::Target, text);
    }
}

/// Whether nothing changed but that the same pod is outdated now: another revision is the target.
pub(super) fn is_only_outdated(was: &NodeView, node: &NodeView) -> bool {
    let same_pod = was.pod == node.pod && was.revision == node.revision;
    was.state == NodeState::Updated && node.state == NodeState::Outdated && node.cause.is_none() && same_pod
}
