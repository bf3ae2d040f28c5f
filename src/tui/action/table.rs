//! Every action: its name, its keys, its help, and what it needs.

use crossterm::event::KeyCode;

use super::arguments::{
    contexts, copyable_names, daemonsets, glyph_names, namespaces, node_labels, nothing, revisions, sort_names,
    step_names, theme_names,
};
use super::condition::{
    adopted, always, driving, filtered, has_limits, has_log, has_other_revision, has_prewarm_to_show, has_work,
    listing_revisions, no_timeline, not_adopted, not_paused, opens, prewarm_failed, prewarming, recorded, searches,
    stopped,
};
use super::entry::{Action, ActionId, ActionScope, Argument, Group, Guard};
use crate::engine::model::event::Right;
use crate::tui::key::Key;

/// Every action, in the order of the help, which is the order of [`ActionId`].
pub(crate) static ACTIONS: [Action; ActionId::ALL.len()] = [
    Action {
        name: "pause",
        aliases: &["brake"],
        keys: &[char('P'), char('B')],
        label: "pause",
        help: "start no update from now on; where its controller rolls, stop that too",
        argument: Some(Argument { hint: "why", known: nothing }),
        scope: ActionScope::OneDaemonSet,
        footer: Some(0),
        when: not_paused,
        ..change(ActionId::Pause, Guard::Safety)
    },
    Action {
        name: "write",
        aliases: &["arm"],
        keys: &[char('A')],
        label: "arm",
        help: "allow writes for 10 minutes; again: back to read-only",
        scope: ActionScope::Anywhere,
        footer: Some(1),
        ..change(ActionId::Arm, Guard::Read)
    },
    Action {
        name: "step",
        keys: &[char('S')],
        label: "step",
        help: "let more nodes be updated: the next step, a number, a percentage; or back",
        argument: Some(Argument { hint: "next, back, 60 or 50%", known: step_names }),
        footer: Some(3),
        when: recorded,
        ..change(ActionId::Step, Guard::Write(&[Right::UpdateLease, Right::DeletePods]))
    },
    Action {
        name: "partition",
        help: "keep this many pods at the old revision",
        label: "partition",
        argument: Some(Argument { hint: "82 or 30%", known: nothing }),
        when: recorded,
        ..change(ActionId::Partition, Guard::Write(&[Right::UpdateLease, Right::DeletePods]))
    },
    Action {
        name: "canary",
        aliases: &["select"],
        keys: &[char('N')],
        label: "canary",
        help: "restrict the rollout to nodes that match a label selector, or lift that again",
        argument: Some(Argument { hint: "selector", known: nothing }),
        footer: Some(5),
        when: recorded,
        ..change(ActionId::Canary, Guard::Write(&[Right::UpdateLease]))
    },
    Action {
        name: "resume",
        aliases: &["continue"],
        keys: &[char('C')],
        label: "continue",
        help: "go on after a pause or a halt; past a halt it says what that accepts",
        footer: Some(2),
        when: stopped,
        ..change(ActionId::Resume, Guard::Write(&[Right::UpdateLease]))
    },
    Action {
        name: "image",
        aliases: &["set-image"],
        keys: &[char('I')],
        label: "image",
        help: "give it a new image; moves no pod by itself",
        argument: Some(Argument { hint: "container=image", known: nothing }),
        footer: Some(6),
        ..change(ActionId::Image, Guard::Write(&[Right::PatchDaemonSet, Right::CreateLease]))
    },
    Action {
        name: "drive",
        keys: &[char('D')],
        label: "drive",
        help: "become the driver, or take over from another console; while you drive: stop driving",
        footer: Some(7),
        when: has_work,
        ..change(ActionId::Drive, Guard::Write(&[Right::UpdateLease]))
    },
    Action {
        name: "stop-driving",
        label: "stop driving",
        help: "stop driving, give the lease back: nothing moves until somebody drives",
        when: driving,
        ..change(ActionId::StopDriving, Guard::Safety)
    },
    Action {
        name: "undo",
        aliases: &["rollback", "roll-back"],
        keys: &[char('U')],
        label: "undo",
        help: "roll back to an earlier revision, broken nodes first; W in its dialog pre-warms that one",
        argument: Some(Argument { hint: "revision", known: revisions }),
        footer: Some(4),
        when: has_other_revision,
        ..change(ActionId::Undo, Guard::Write(&[Right::PatchDaemonSet]))
    },
    Action {
        name: "release",
        keys: &[char('R')],
        label: "release",
        help: "hand it back to its controller, with its original update strategy; shows which pods that replaces",
        footer: Some(9),
        when: adopted,
        ..change(ActionId::Release, Guard::Write(&[Right::PatchDaemonSet]))
    },
    Action {
        name: "adopt",
        keys: &[char('O')],
        label: "adopt",
        help: "take over pod replacement from its controller (OnDelete); moves no pod",
        footer: Some(8),
        when: not_adopted,
        ..change(ActionId::Adopt, Guard::Write(&[Right::PatchDaemonSet]))
    },
    Action {
        name: "tune",
        aliases: &["set", "limits", "budget"],
        keys: &[char('L')],
        label: "limits",
        help: "budgets and gates: how many may be down, when it has failed, what strategy drift does",
        argument: Some(Argument { hint: "max-unavailable=5 …", known: nothing }),
        footer: Some(8),
        when: has_limits,
        ..change(ActionId::Tune, Guard::Write(&[Right::UpdateLease]))
    },
    Action {
        name: "prewarm",
        aliases: &["pre-warm"],
        keys: &[char('W')],
        label: "pre-warm",
        help: "bring images onto nodes before their pods are replaced; while that goes on: how far it is",
        argument: Some(Argument { hint: "container=image", known: nothing }),
        footer: Some(10),
        looks: has_prewarm_to_show,
        ..change(ActionId::Prewarm, Guard::Write(&[Right::UpdateLease, Right::CreatePods]))
    },
    Action {
        name: "prewarm-pause",
        aliases: &["prewarm-resume"],
        keys: &[char('p')],
        label: "pause pre-warm",
        help: "make no more pods for pre-warming, what is being pulled goes on; again: go on",
        footer: Some(17),
        when: prewarming,
        ..on_prewarm(ActionId::PausePrewarm, Guard::Safety)
    },
    Action {
        name: "prewarm-retry",
        keys: &[char('r')],
        label: "retry",
        help: "pre-warm again at once where it failed",
        footer: Some(18),
        when: prewarm_failed,
        ..on_prewarm(ActionId::RetryPrewarm, Guard::Write(&[Right::UpdateLease, Right::CreatePods]))
    },
    Action {
        name: "prewarm-cancel",
        keys: &[char('x')],
        label: "cancel",
        help: "delete the pods that pre-warm; images that were pulled stay for a while",
        footer: Some(19),
        when: prewarming,
        ..on_prewarm(ActionId::CancelPrewarm, Guard::Write(&[Right::UpdateLease, Right::DeletePods]))
    },
    Action {
        name: "readonly",
        label: "read-only",
        help: "no more writes until armed again",
        scope: ActionScope::Anywhere,
        ..change(ActionId::ReadOnly, Guard::Read)
    },
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
        footer: Some(13),
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
        when: has_log,
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
        help: "the next line with what / searches for",
        footer: Some(26),
        when: searches,
        ..on_node(ActionId::FindNext)
    },
    Action {
        name: "find-previous",
        keys: &[char('N'), char('b')],
        help: "the line before with what / searches for",
        when: searches,
        ..on_node(ActionId::FindPrevious)
    },
    Action {
        name: "kubectl",
        keys: &[char('x')],
        label: "kubectl",
        help: "the kubectl command that prints what this tab shows, to copy",
        footer: Some(27),
        ..on_node(ActionId::LogCommand)
    },
    Action {
        name: "back",
        keys: &[plain(KeyCode::Esc)],
        label: "back",
        help: "back one level: dialog, filter, page (never quits)",
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
        help: "keep the list as it is while you read; the lines above stay live",
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
        help: "the label by whose value the map tells nodes apart; without one: the rollout's site label",
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
        keys: &[Key::ctrl('l'), Key::ctrl('r')],
        help: "paint the screen again",
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

/// What actions that only look have in common.
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

const fn change(id: ActionId, guard: Guard) -> Action {
    Action { group: Group::Change, scope: ActionScope::Rollout, guard, ..look(id) }
}

/// What only looks at the page of a node.
const fn on_node(id: ActionId) -> Action {
    Action { scope: ActionScope::Node, ..look(id) }
}

/// What can be done on the pre-warm screen.
const fn on_prewarm(id: ActionId, guard: Guard) -> Action {
    Action { scope: ActionScope::Prewarm, ..change(id, guard) }
}
