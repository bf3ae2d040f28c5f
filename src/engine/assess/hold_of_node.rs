//! What holds a node by itself, whatever the rest of the fleet does. The plan and the next step that is offered ask the same rule.

use super::rows::Row;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::Direction;

/// What holds a node whose pod is to be replaced. `selected`: the selector of the rollout lets it go; on the way back that is not asked.
/// `None` also where nothing is to be done: it is not in the fleet, at the target, or on its way.
pub(crate) fn hold_of_node(row: &Row, direction: Direction, selected: bool) -> Option<Hold> {
    let on_its_way = matches!(row.state, NodeState::Terminating | NodeState::Creating | NodeState::Failed);
    if !row.in_fleet || row.at_target || on_its_way {
        return None;
    }
    let forward = direction == Direction::Forward;
    match row.state {
        NodeState::NodeDown => Some(Hold::NodeDown),
        _ if !row.should_run => Some(Hold::NodeDown),
        _ if forward && !selected => Some(Hold::Selector),
        _ if forward && row.cordoned => Some(Hold::Cordoned),
        _ if row.other_goes => Some(Hold::OtherPodGoes),
        NodeState::Outdated if row.crowded => Some(Hold::SeveralPods),
        _ => None,
    }
}

/// Whether the old pod of a node could be deleted now, as far as the node itself and the selector are concerned.
pub(crate) fn may_go(row: &Row, direction: Direction, selected: bool) -> bool {
    row.replaceable && hold_of_node(row, direction, selected).is_none()
}
