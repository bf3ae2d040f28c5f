//! Actions that open the page of a node, and actions on that page.

use crossterm::event::KeyCode;

use super::super::condition::{has_log, has_other_container, kubectl_reaches, opens, searches};
use super::super::entry::{Action, ActionId, ActionScope};
use super::{char, look, plain};

/// The actions on nodes, beginning with the one that opens the page.
pub(super) const ON_NODES: &[Action] = &[
    Action {
        name: "open",
        keys: &[plain(KeyCode::Enter)],
        label: "open",
        help: "open the DaemonSet; on a rollout: all about the node",
        footer: Some(11),
        when: opens,
        ..look(ActionId::Open)
    },
    Action {
        name: "logs",
        aliases: &["log"],
        keys: &[char('l'), char('2')],
        label: "log",
        help: "what the node's container writes: of one that failed first; follows as it is written",
        scope: ActionScope::Nodes,
        footer: Some(32),
        ..look(ActionId::NodeLog)
    },
    Action {
        name: "previous",
        keys: &[char('p'), char('3')],
        label: "previous log",
        help: "what the container wrote in the run before",
        scope: ActionScope::Nodes,
        ..look(ActionId::NodePrevious)
    },
    Action {
        name: "node-events",
        keys: &[char('e'), char('4')],
        label: "events",
        help: "the Events on the node's pod",
        scope: ActionScope::Nodes,
        ..look(ActionId::NodeEvents)
    },
    Action {
        name: "describe",
        keys: &[char('d'), char('5')],
        label: "describe",
        help: "the node's pod, its containers and conditions, and the node",
        scope: ActionScope::Nodes,
        ..look(ActionId::NodeDescribe)
    },
    Action {
        name: "yaml",
        keys: &[char('y'), char('6')],
        label: "yaml",
        help: "the node's pod as the API server has it",
        scope: ActionScope::Nodes,
        ..look(ActionId::NodeYaml)
    },
    Action {
        name: "why",
        keys: &[char('1')],
        label: "why",
        help: "why the node is where it is, and what happened on it",
        ..on_node(ActionId::NodeWhy)
    },
    Action {
        name: "next-tab",
        keys: &[plain(KeyCode::Tab), plain(KeyCode::Right)],
        label: "next tab",
        help: "the next tab",
        footer: Some(21),
        ..on_node(ActionId::NextTab)
    },
    Action {
        name: "previous-tab",
        keys: &[plain(KeyCode::BackTab), plain(KeyCode::Left)],
        help: "the tab before",
        ..on_node(ActionId::PreviousTab)
    },
    Action {
        name: "container",
        keys: &[char('c')],
        label: "container",
        help: "the log of the next container",
        footer: Some(23),
        when: has_other_container,
        ..on_node(ActionId::NextContainer)
    },
    Action {
        name: "follow",
        keys: &[char('f')],
        label: "follow",
        help: "show lines as they come, or stay where you are",
        footer: Some(22),
        when: has_log,
        ..on_node(ActionId::Follow)
    },
    Action {
        name: "wrap",
        keys: &[char('w')],
        label: "wrap",
        help: "break long lines, or cut them",
        footer: Some(25),
        ..on_node(ActionId::Wrap)
    },
    Action {
        name: "timestamps",
        keys: &[char('t')],
        label: "times",
        help: "when each line of a log was written (UTC)",
        footer: Some(24),
        when: has_log,
        ..on_node(ActionId::Timestamps)
    },
    Action {
        name: "find-next",
        keys: &[char('n')],
        label: "next",
        help: "the next line that contains the text searched for with /",
        footer: Some(26),
        when: searches,
        ..on_node(ActionId::FindNext)
    },
    Action {
        name: "find-previous",
        keys: &[char('N'), char('b')],
        help: "the previous line that contains the text searched for with /",
        when: searches,
        ..on_node(ActionId::FindPrevious)
    },
    Action {
        name: "kubectl",
        keys: &[char('x')],
        label: "kubectl",
        help: "the kubectl command that prints what this tab shows, to copy",
        footer: Some(27),
        when: kubectl_reaches,
        ..on_node(ActionId::LogCommand)
    },
];

/// The fields that actions on the page of a node have in common, which only look.
const fn on_node(id: ActionId) -> Action {
    Action { scope: ActionScope::Node, ..look(id) }
}
