//! Single lines of `status` and of its table of nodes.

use super::script::{Script, at, cause, minutes, node, rollout};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::estimate::RolloutEstimate;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::report::snapshot::{NodeView, Snapshot};

/// As in the console: what needs a look is on top, whatever the engine's order is.
#[tokio::test]
async fn nodes_that_need_a_look_are_on_top() {
    let blamed = |name: &str, state, blame| NodeView { blame: Some(blame), ..node(name, state) };
    let starts = Cause { kind: CauseKind::NotReady, container: None, message: None };
    let nodes = [
        NodeView { cause: Some(starts.into()), ..blamed("begins", NodeState::Starting, Blame::Rollout) },
        node("waits", NodeState::Outdated),
        blamed("down", NodeState::NodeDown, Blame::Node),
        NodeView { blame: Some(Blame::PreExisting), ..cause(node("old-fails", NodeState::Outdated)) },
        node("updated", NodeState::Updated),
        blamed("suspect", NodeState::NodeDown, Blame::Suspect),
        cause(node("pull-fails", NodeState::PullFailed)),
        node("failed", NodeState::Failed),
    ];
    let script = Script::of(Snapshot { nodes: nodes.into(), ..rollout() });
    for line in ["status ds/agent --nodes", "status ds/agent -o wide"] {
        let text = script.run(line).await.text;
        let table = text.lines().skip_while(|line| !line.starts_with("NODE "));
        let names: Vec<&str> = table.skip(1).filter_map(|line| line.split(' ').next()).collect();
        let pinned = ["suspect", "pull-fails", "failed", "old-fails", "down"];
        assert_eq!(names, [&pinned[..], &["begins", "waits", "updated"]].concat(), "{text}");
    }
}
