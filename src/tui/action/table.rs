//! Every action: its name, its keys, its help, and what it needs.

mod change;
mod node;

use crossterm::event::KeyCode;

use self::change::CHANGES;
use self::node::ON_NODES;
use super::arguments::{
    contexts, copyable_names, daemonsets, glyph_names, namespaces, node_labels, nothing, revisions, sort_names,
    theme_names,
};
use super::condition::{always, filtered, listing_revisions, no_timeline, not_absent};
use super::entry::{Action, ActionId, ActionScope, Argument, Group, Guard};
use crate::tui::key::Key;

/// Every action, in the order of the help, which is the order of [`ActionId`].
pub(crate) static ACTIONS: [Action; ActionId::ALL.len()] = joined([CHANGES, ON_NODES, OTHERS]);

/// Actions that look at one rollout or several, actions that move, and actions on the console itself.
const OTHERS: &[Action] = &[
    Action {
        name: "back",
        keys: &[plain(KeyCode::Esc)],
        label: "back",
        help: "back one level: a refusal that is shown, dialog, filter, page (never quits)",
        footer: Some(14),
        ..look(ActionId::Back)
    },
    Action {
        name: "filter",
        keys: &[char('/')],
        label: "filter",
        help: "show only rows that match: words, !word, state=failed, rst>0, zone=a, /regex/, -l selector (more below); \
               on a node: find",
        argument: Some(Argument { hint: "text, column=text …", known: nothing }),
        footer: Some(12),
        ..look(ActionId::Filter)
    },
    Action {
        name: "next-hit",
        keys: &[char('n')],
        label: "next hit",
        help: "the next row that passes the filter, on the map too; after the last the first",
        when: filtered,
        ..look(ActionId::NextHit)
    },
    Action {
        name: "previous-hit",
        keys: &[char('b')],
        help: "the row before that passes the filter (N is another key here: canary)",
        when: filtered,
        ..look(ActionId::PreviousHit)
    },
    Action {
        name: "sort",
        keys: &[char('s')],
        label: "sort",
        help: "sort by the next column",
        argument: Some(Argument { hint: "column", known: sort_names }),
        footer: Some(28),
        when: no_timeline,
        ..look(ActionId::Sort)
    },
    Action {
        name: "freeze",
        keys: &[char('f')],
        label: "freeze",
        help: "freeze the list while you read: a frozen list says so, and the lines above stay live",
        scope: ActionScope::Rollout,
        when: no_timeline,
        ..look(ActionId::Freeze)
    },
    Action {
        name: "watches",
        keys: &[char('w')],
        label: "watches",
        help: "how old the view is, watch by watch, and whose clock is off",
        scope: ActionScope::Rollout,
        ..look(ActionId::Watches)
    },
    Action {
        name: "diagnose",
        aliases: &["wrong"],
        keys: &[char('i')],
        label: "diagnose",
        help: "what is wrong, cause by cause: on which nodes, what the cluster says of it, what to do",
        scope: ActionScope::Rollout,
        footer: Some(20),
        when: not_absent,
        ..look(ActionId::Diagnose)
    },
    Action {
        name: "timeline",
        aliases: &["events"],
        keys: &[char('T')],
        label: "timeline",
        help: "what happened lately: who did what, here and in other consoles; again: the nodes",
        scope: ActionScope::Rollout,
        argument: Some(Argument { hint: "text or !text", known: nothing }),
        footer: Some(16),
        ..look(ActionId::Timeline)
    },
    Action {
        name: "steps",
        keys: &[char('a')],
        label: "each step",
        help: "on the timeline: each step of each node, or only what matters",
        scope: ActionScope::Timeline,
        footer: Some(13),
        ..look(ActionId::AllSteps)
    },
    Action {
        name: "history",
        aliases: &["revisions"],
        keys: &[char('v')],
        label: "revisions",
        help: "the revisions: which are on how many nodes, what they change; again: the nodes",
        scope: ActionScope::Rollout,
        footer: Some(30),
        ..look(ActionId::History)
    },
    Action {
        name: "diff",
        keys: &[char('d')],
        label: "diff",
        help: "what differs: from what most nodes run to the target; on the revisions: to the selected one",
        scope: ActionScope::Rollout,
        argument: Some(Argument { hint: "revision revision", known: revisions }),
        ..look(ActionId::Diff)
    },
    Action {
        name: "template",
        keys: &[char('y')],
        label: "template",
        help: "the whole template as YAML: of the target; on the revisions: of the selected one",
        scope: ActionScope::Rollout,
        argument: Some(Argument { hint: "revision", known: revisions }),
        footer: Some(22),
        ..look(ActionId::Template)
    },
    Action {
        name: "mark",
        keys: &[char('m')],
        label: "mark",
        help: "compare all other revisions with this one; again: with what most nodes run",
        scope: ActionScope::Revisions,
        footer: Some(23),
        when: listing_revisions,
        ..look(ActionId::Mark)
    },
    Action {
        name: "mark-node",
        keys: &[char(' ')],
        label: "mark",
        help: "mark the node, or take its mark away; /@marked shows the marked ones, ctrl-y copies their names",
        scope: ActionScope::NodeRows,
        ..look(ActionId::MarkNode)
    },
    Action {
        name: "unmark",
        label: "unmark",
        help: "take all marks away",
        scope: ActionScope::NodeRows,
        ..look(ActionId::Unmark)
    },
    Action {
        name: "map",
        aliases: &["grid"],
        keys: &[char('m')],
        label: "map",
        help: "all nodes as cells, a block for each site; arrows move, enter opens the node",
        scope: ActionScope::Rollout,
        footer: Some(29),
        ..look(ActionId::Map)
    },
    Action {
        name: "site",
        label: "site label",
        help: "the label by which map and table tell sites apart; without one: the rollout's site label",
        scope: ActionScope::Rollout,
        argument: Some(Argument { hint: "label key", known: node_labels }),
        ..look(ActionId::Site)
    },
    Action {
        name: "nodes",
        aliases: &["no", "node", "po", "pod", "pods"],
        label: "nodes",
        help: "back to the list of nodes; each row is a node and its pod",
        ..look(ActionId::Nodes)
    },
    Action {
        name: "ds",
        aliases: &["daemonset", "daemonsets"],
        label: "go to",
        help: "open another DaemonSet; without a name: all DaemonSets",
        argument: Some(Argument { hint: "namespace/name", known: daemonsets }),
        ..look(ActionId::GoTo)
    },
    Action {
        name: "fleet",
        label: "fleet",
        help: "all DaemonSets",
        argument: Some(Argument { hint: "namespace", known: nothing }),
        ..look(ActionId::Fleet)
    },
    Action {
        name: "ns",
        aliases: &["namespace", "namespaces"],
        label: "namespace",
        help: "the DaemonSets of one namespace, or of `all`; what you drive goes on",
        argument: Some(Argument { hint: "name or all", known: namespaces }),
        ..look(ActionId::Namespace)
    },
    Action {
        name: "ctx",
        aliases: &["context", "contexts"],
        label: "context",
        help: "go to another cluster: a context of the kubeconfig; asks first while you drive",
        argument: Some(Argument { hint: "context", known: contexts }),
        ..look(ActionId::Context)
    },
    Action { name: "up", keys: &[char('k'), plain(KeyCode::Up)], help: "up", ..movement(ActionId::Up) },
    Action { name: "down", keys: &[char('j'), plain(KeyCode::Down)], help: "down", ..movement(ActionId::Down) },
    Action { name: "half-up", keys: &[Key::ctrl('u')], help: "half a page up", ..movement(ActionId::HalfUp) },
    Action { name: "half-down", keys: &[Key::ctrl('d')], help: "half a page down", ..movement(ActionId::HalfDown) },
    Action {
        name: "page-up",
        keys: &[plain(KeyCode::PageUp), Key::ctrl('b')],
        help: "a page up",
        ..movement(ActionId::PageUp)
    },
    Action {
        name: "page-down",
        keys: &[plain(KeyCode::PageDown), Key::ctrl('f'), char(' ')],
        help: "a page down",
        ..movement(ActionId::PageDown)
    },
    Action { name: "top", keys: &[char('g'), plain(KeyCode::Home)], help: "to the top", ..movement(ActionId::Top) },
    Action {
        name: "bottom",
        keys: &[char('G'), plain(KeyCode::End)],
        help: "to the bottom",
        ..movement(ActionId::Bottom)
    },
    Action {
        name: "left",
        keys: &[plain(KeyCode::Left)],
        help: "folds a group of nodes; in what differs and in a template: back to the beginning of long lines",
        scope: ActionScope::Rollout,
        ..movement(ActionId::Left)
    },
    Action {
        name: "right",
        keys: &[plain(KeyCode::Right)],
        help: "opens a group of nodes; in what differs and in a template: to the end of long lines",
        scope: ActionScope::Rollout,
        ..movement(ActionId::Right)
    },
    Action {
        name: "copy",
        keys: &[char('c')],
        label: "copy",
        help: "copy the name of what is selected, by the terminal (OSC 52)",
        argument: Some(Argument { hint: "what", known: copyable_names }),
        ..look(ActionId::Copy)
    },
    Action {
        name: "copy-what",
        keys: &[Key::ctrl('y')],
        label: "copy …",
        help: "choose what to copy: name, why, message, pod, kubectl commands; tab goes through them",
        ..look(ActionId::CopyWhat)
    },
    Action {
        name: "help",
        aliases: &["aliases"],
        keys: &[char('?'), plain(KeyCode::F(1)), char('h')],
        label: "help",
        help: "this help",
        footer: Some(31),
        ..console(ActionId::Help)
    },
    Action {
        name: "palette",
        keys: &[char(':')],
        label: "command",
        help: "type a command; tab completes, up recalls",
        ..console(ActionId::Palette)
    },
    Action {
        name: "theme",
        keys: &[char('t')],
        label: "theme",
        help: "the next theme",
        argument: Some(Argument { hint: "name", known: theme_names }),
        ..console(ActionId::Theme)
    },
    Action {
        name: "glyphs",
        label: "glyphs",
        help: "signs beyond ASCII, or ASCII only",
        argument: Some(Argument { hint: "unicode or ascii", known: glyph_names }),
        ..console(ActionId::Glyphs)
    },
    Action {
        name: "save",
        aliases: &["report"],
        keys: &[Key::ctrl('s')],
        help: "save the screen and the story of the rollout: text, JSON and a page",
        ..console(ActionId::Save)
    },
    Action {
        name: "repaint",
        aliases: &["refresh", "reload"],
        keys: &[Key::ctrl('l'), Key::ctrl('r'), Key::plain(KeyCode::F(5))],
        help: "paint the screen again: what it shows is live, nothing has to be loaded anew",
        ..console(ActionId::Repaint)
    },
    Action {
        name: "suspend",
        keys: &[Key::ctrl('z')],
        help: "back to the shell; fg returns",
        ..console(ActionId::Suspend)
    },
    Action {
        name: "quit",
        aliases: &["q", "q!", "quit!", "qa", "exit"],
        keys: &[char('q'), Key::ctrl('c')],
        label: "quit",
        help: "quit; asks first while you drive (ctrl-c twice: at once)",
        footer: Some(15),
        ..console(ActionId::Quit)
    },
];

/// Joins the three tables into one.
const fn joined<const N: usize>(parts: [&[Action]; 3]) -> [Action; N] {
    let mut all = [look(ActionId::Back); N];
    let (mut part, mut at) = (0, 0);
    while part < parts.len() {
        let mut row = 0;
        while row < parts[part].len() {
            all[at] = parts[part][row];
            (row, at) = (row + 1, at + 1);
        }
        part += 1;
    }
    assert!(at == N, "an action is missing");
    all
}

const _: () = {
    let mut at = 0;
    while at < ACTIONS.len() {
        assert!(ACTIONS[at].id as usize == at, "the table is not in the order of the ids");
        at += 1;
    }
};

const fn plain(code: KeyCode) -> Key {
    Key::plain(code)
}

const fn char(c: char) -> Key {
    Key::char(c)
}

/// The fields that actions which only look have in common.
const fn look(id: ActionId) -> Action {
    Action {
        id,
        name: "",
        aliases: &[],
        keys: &[],
        label: "",
        help: "",
        group: Group::Look,
        scope: ActionScope::Anywhere,
        guard: Guard::Read,
        looks: |_| false,
        argument: None,
        footer: None,
        when: always,
    }
}

const fn movement(id: ActionId) -> Action {
    Action { group: Group::Move, ..look(id) }
}

const fn console(id: ActionId) -> Action {
    Action { group: Group::Console, ..look(id) }
}
