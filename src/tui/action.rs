//! The one table of everything that a person can do here.
//!
//! Dispatch, footer, `?` help and the `:` palette are read off it; nothing else knows a key. An action that is not
//! possible right now says why, and which key would make it possible.

use crossterm::event::KeyCode;

use super::commands as run;
use super::key::Key;
use super::model::{Model, Page};
use super::update::Effect;
use crate::engine::model::command::Danger;
use crate::engine::model::event::{Permission, Right};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::presence::Presence;
use crate::engine::report::snapshot::{Phase, Snapshot};

/// Something that a person can do.
#[derive(Debug)]
pub(crate) struct Action {
    /// What is typed after `:`.
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) keys: &'static [Key],
    /// One or two words for the footer.
    pub(crate) label: &'static str,
    /// One line for the help.
    pub(crate) help: &'static str,
    pub(crate) group: Group,
    pub(crate) scope: ActionScope,
    pub(crate) guard: Guard,
    /// What the API server must permit.
    pub(crate) needs: &'static [Right],
    /// What may be typed after its name.
    pub(crate) argument: Option<&'static str>,
    /// Its place in the footer, where it has one.
    pub(crate) footer: Option<u8>,
    /// Why it makes no sense now, beyond its guard.
    pub(crate) when: fn(&Model) -> Result<(), String>,
    pub(crate) run: fn(&mut Model, &str) -> Vec<Effect>,
}

/// Sections of the help.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum Group {
    Move,
    Look,
    Change,
    Console,
}

impl Group {
    pub(crate) const ALL: [(Self, &'static str); 4] =
        [(Self::Change, "Change the rollout"), (Self::Look, "Look"), (Self::Move, "Move"), (Self::Console, "Console")];
}

/// Where an action makes sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ActionScope {
    Anywhere,
    Rollout,
}

/// What stands before an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guard {
    /// It changes nothing in the cluster.
    Read,
    /// It takes nothing down and makes things safer: it is confirmed, but works while read-only.
    Safety,
    /// It changes the cluster: only while armed. How much it can break at most, as a rule.
    Write(Danger),
}

impl Action {
    pub(crate) fn in_scope(&self, model: &Model) -> bool {
        match self.scope {
            ActionScope::Anywhere => true,
            ActionScope::Rollout => model.page != Page::Fleet,
        }
    }

    /// Whether it would work here and now.
    ///
    /// # Errors
    /// Says what is missing, and how to get it.
    pub(crate) fn available(&self, model: &Model) -> Result<(), String> {
        if !self.in_scope(model) {
            return Err(format!("`{}` works on a rollout: open a DaemonSet with enter", self.name));
        }
        if self.guard == Guard::Read {
            return (self.when)(model);
        }
        let page = model.rollout().ok_or("open a DaemonSet first, with enter")?;
        if page.stopped {
            return Err("the rollout's driver has stopped: go back with esc and open it again".into());
        }
        let snapshot = page.snapshot().ok_or("still loading: nothing is known yet")?;
        present(snapshot)?;
        if matches!(self.guard, Guard::Write(_)) && model.armed_for().is_none() {
            return Err(format!("read-only: A arms for 10 minutes, then {} {}", self.key(), self.label));
        }
        (self.when)(model)?;
        let denied = |right: &&Right| {
            snapshot.rights.iter().any(|(known, permission)| known == *right && *permission == Permission::Denied)
        };
        match self.needs.iter().find(denied) {
            Some(right) => Err(format!("not permitted: {right}; ask for a role that allows it")),
            None => Ok(()),
        }
    }

    /// Its first key, or its name where it has none.
    pub(crate) fn key(&self) -> String {
        self.keys.first().map_or_else(|| format!(":{}", self.name), Key::to_string)
    }
}

/// The action bound to `key` on this page.
pub(crate) fn bound(model: &Model, key: Key) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.keys.contains(&key) && action.in_scope(model)).or_else(|| {
        let elsewhere = ACTIONS.iter().find(|action| action.keys.contains(&key));
        elsewhere.filter(|action| action.guard != Guard::Read)
    })
}

/// The action called `name`.
pub(crate) fn named(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.name == name || action.aliases.contains(&name))
}

fn present(snapshot: &Snapshot) -> Result<(), String> {
    match snapshot.daemonset {
        Presence::Present => Ok(()),
        Presence::Loading => Err("still loading: nothing is known yet".into()),
        Presence::Absent => Err(format!("there is no DaemonSet {}/{}", snapshot.namespace, snapshot.name)),
    }
}

fn always(_: &Model) -> Result<(), String> {
    Ok(())
}

fn rollout_says(model: &Model, refuse: impl Fn(&Snapshot) -> Option<&'static str>) -> Result<(), String> {
    match model.rollout().and_then(|page| page.snapshot()).and_then(|snapshot| refuse(snapshot)) {
        Some(why) => Err(why.to_owned()),
        None => Ok(()),
    }
}

fn not_adopted(model: &Model) -> Result<(), String> {
    rollout_says(model, |snapshot| snapshot.adopted.then_some("already adopted: rolldeck replaces its pods"))
}

fn adopted(model: &Model) -> Result<(), String> {
    rollout_says(model, |snapshot| (!snapshot.adopted).then_some("not adopted: its own controller has it already"))
}

fn recorded(model: &Model) -> Result<(), String> {
    rollout_says(model, |snapshot| {
        (snapshot.started_at.is_none() && !snapshot.adopted)
            .then_some("no rollout yet: I sets a new image, U rolls back")
    })
}

fn not_paused(model: &Model) -> Result<(), String> {
    rollout_says(model, |snapshot| {
        // A paused rollout whose strategy was set back is rolled by its controller: then this is the brake.
        let stands = matches!(snapshot.phase, Phase::Paused(_)) && snapshot.strategy == StrategyKind::OnDelete;
        stands.then_some("already paused: C continues")
    })
}

fn stopped(model: &Model) -> Result<(), String> {
    rollout_says(model, |snapshot| {
        let stopped = matches!(snapshot.phase, Phase::Paused(_) | Phase::Halted);
        (!stopped).then_some("neither paused nor halted: there is nothing to continue")
    })
}

const fn plain(code: KeyCode) -> Key {
    Key::plain(code)
}

const fn char(c: char) -> Key {
    Key::char(c)
}

/// What most entries have in common.
const BASE: Action = Action {
    name: "",
    aliases: &[],
    keys: &[],
    label: "",
    help: "",
    group: Group::Look,
    scope: ActionScope::Anywhere,
    guard: Guard::Read,
    needs: &[],
    argument: None,
    footer: None,
    when: always,
    run: |_, _| Vec::new(),
};

const MOVE: Action = Action { group: Group::Move, ..BASE };
const CHANGE: Action =
    Action { group: Group::Change, scope: ActionScope::Rollout, guard: Guard::Write(Danger::Bounded), ..BASE };
const CONSOLE: Action = Action { group: Group::Console, ..BASE };

/// Everything, in the order of the help.
pub(crate) static ACTIONS: &[Action] = &[
    Action {
        name: "pause",
        aliases: &["brake"],
        keys: &[char('P'), char('B')],
        label: "pause",
        help: "start no update from now on; where its controller rolls, stop that too",
        guard: Guard::Safety,
        argument: Some("why"),
        footer: Some(0),
        when: not_paused,
        run: run::pause,
        ..CHANGE
    },
    Action {
        name: "write",
        aliases: &["arm"],
        keys: &[char('A')],
        label: "arm",
        help: "allow writes for 10 minutes; again: back to read-only",
        scope: ActionScope::Anywhere,
        guard: Guard::Read,
        footer: Some(1),
        run: run::arm,
        ..CHANGE
    },
    Action {
        name: "step",
        keys: &[char('S')],
        label: "step",
        help: "let more nodes be updated: the next step, a number, a percentage; or back",
        needs: &[Right::UpdateLease, Right::DeletePods],
        argument: Some("next, back, 60 or 50%"),
        footer: Some(2),
        when: recorded,
        run: run::step,
        ..CHANGE
    },
    Action {
        name: "partition",
        help: "keep this many pods at the old revision",
        label: "partition",
        needs: &[Right::UpdateLease, Right::DeletePods],
        argument: Some("82 or 30%"),
        when: recorded,
        run: run::partition,
        ..CHANGE
    },
    Action {
        name: "canary",
        aliases: &["select"],
        keys: &[char('N')],
        label: "canary",
        help: "restrict the rollout to nodes that match a label selector, or lift that again",
        needs: &[Right::UpdateLease],
        argument: Some("selector"),
        footer: Some(3),
        when: recorded,
        run: run::canary,
        ..CHANGE
    },
    Action {
        name: "resume",
        aliases: &["continue"],
        keys: &[char('C')],
        label: "continue",
        help: "go on after a pause or a halt; past a halt it says which failures that accepts",
        needs: &[Right::UpdateLease],
        footer: Some(0),
        when: stopped,
        run: run::resume,
        ..CHANGE
    },
    Action {
        name: "image",
        aliases: &["set-image"],
        keys: &[char('I')],
        label: "image",
        help: "give it a new image; moves no pod by itself",
        guard: Guard::Write(Danger::Serious),
        needs: &[Right::PatchDaemonSet, Right::CreateLease],
        argument: Some("container=image"),
        footer: Some(4),
        run: run::image,
        ..CHANGE
    },
    Action {
        name: "drive",
        keys: &[char('D')],
        label: "drive",
        help: "become the driver, or take over from another console; while you drive: stop driving",
        needs: &[Right::UpdateLease],
        footer: Some(5),
        run: run::drive,
        ..CHANGE
    },
    Action {
        name: "stop-driving",
        label: "stop driving",
        help: "stop driving, give the lease back: nothing moves until somebody drives",
        guard: Guard::Safety,
        when: run::driving,
        run: run::stop_driving,
        ..CHANGE
    },
    Action {
        name: "undo",
        aliases: &["rollback", "roll-back"],
        keys: &[char('U')],
        label: "undo",
        help: "roll back to an earlier revision, broken nodes first",
        guard: Guard::Write(Danger::Serious),
        needs: &[Right::PatchDaemonSet],
        argument: Some("revision"),
        footer: Some(6),
        run: run::undo,
        ..CHANGE
    },
    Action {
        name: "release",
        keys: &[char('R')],
        label: "release",
        help: "hand it back to its controller, with its original update strategy; names the pods that costs",
        guard: Guard::Write(Danger::Serious),
        needs: &[Right::PatchDaemonSet],
        footer: Some(8),
        when: adopted,
        run: run::release,
        ..CHANGE
    },
    Action {
        name: "adopt",
        keys: &[char('O')],
        label: "adopt",
        help: "take over pod replacement from its controller (OnDelete); moves no pod",
        needs: &[Right::PatchDaemonSet],
        footer: Some(7),
        when: not_adopted,
        run: run::adopt,
        ..CHANGE
    },
    Action {
        name: "tune",
        aliases: &["set", "limits", "budget"],
        keys: &[char('L')],
        label: "limits",
        help: "budgets and gates: how many may be down, when it has failed, what strategy drift does",
        needs: &[Right::UpdateLease],
        argument: Some("max-unavailable=5 …"),
        footer: Some(7),
        when: recorded,
        run: run::tune,
        ..CHANGE
    },
    Action {
        name: "readonly",
        label: "read-only",
        help: "no more writes until armed again",
        scope: ActionScope::Anywhere,
        guard: Guard::Read,
        run: run::read_only,
        ..CHANGE
    },
    Action {
        name: "open",
        keys: &[plain(KeyCode::Enter)],
        label: "open",
        help: "open the DaemonSet; on a rollout: all about the node",
        footer: Some(10),
        run: run::open,
        ..BASE
    },
    Action {
        name: "back",
        keys: &[plain(KeyCode::Esc)],
        label: "back",
        help: "back one level: dialog, filter, selection, page (never quits)",
        run: run::back,
        ..BASE
    },
    Action {
        name: "filter",
        keys: &[char('/')],
        label: "filter",
        help: "show only rows with these words; !word without; -l selector by node labels",
        argument: Some("text, !text or -l selector"),
        footer: Some(11),
        run: run::filter,
        ..BASE
    },
    Action {
        name: "sort",
        keys: &[char('s')],
        label: "sort",
        help: "sort by the next column: trouble, name, state, revision, restarts, age",
        scope: ActionScope::Rollout,
        argument: Some("column"),
        footer: Some(12),
        when: run::nodes_shown,
        run: run::sort,
        ..BASE
    },
    Action {
        name: "freeze",
        keys: &[char('f')],
        label: "freeze",
        help: "keep the list as it is while you read; the lines above stay live",
        scope: ActionScope::Rollout,
        when: run::nodes_shown,
        run: run::freeze,
        ..BASE
    },
    Action {
        name: "watches",
        keys: &[char('w')],
        label: "watches",
        help: "how old the view is, watch by watch, and whose clock is off",
        scope: ActionScope::Rollout,
        run: run::watches,
        ..BASE
    },
    Action {
        name: "timeline",
        aliases: &["log", "events"],
        keys: &[char('T')],
        label: "timeline",
        help: "what happened lately: who did what, here and in other consoles; again: the nodes",
        scope: ActionScope::Rollout,
        argument: Some("text or !text"),
        footer: Some(14),
        run: run::timeline,
        ..BASE
    },
    Action {
        name: "ds",
        aliases: &["daemonset"],
        label: "go to",
        help: "open another DaemonSet",
        argument: Some("namespace/name"),
        run: run::go_to,
        ..BASE
    },
    Action {
        name: "fleet",
        label: "fleet",
        help: "all DaemonSets",
        argument: Some("namespace"),
        run: run::fleet,
        ..BASE
    },
    Action { name: "up", keys: &[char('k'), plain(KeyCode::Up)], help: "up", run: run::up, ..MOVE },
    Action { name: "down", keys: &[char('j'), plain(KeyCode::Down)], help: "down", run: run::down, ..MOVE },
    Action { name: "half-up", keys: &[Key::ctrl('u')], help: "half a page up", run: run::half_up, ..MOVE },
    Action { name: "half-down", keys: &[Key::ctrl('d')], help: "half a page down", run: run::half_down, ..MOVE },
    Action {
        name: "page-up",
        keys: &[plain(KeyCode::PageUp), Key::ctrl('b')],
        help: "a page up",
        run: run::page_up,
        ..MOVE
    },
    Action {
        name: "page-down",
        keys: &[plain(KeyCode::PageDown), Key::ctrl('f'), char(' ')],
        help: "a page down",
        run: run::page_down,
        ..MOVE
    },
    Action { name: "top", keys: &[char('g'), plain(KeyCode::Home)], help: "to the top", run: run::top, ..MOVE },
    Action { name: "bottom", keys: &[char('G'), plain(KeyCode::End)], help: "to the bottom", run: run::bottom, ..MOVE },
    Action {
        name: "help",
        keys: &[char('?'), plain(KeyCode::F(1)), char('h')],
        label: "help",
        help: "this help",
        footer: Some(9),
        run: run::help,
        ..CONSOLE
    },
    Action {
        name: "palette",
        keys: &[char(':')],
        label: "command",
        help: "type a command; tab completes, up recalls",
        run: run::palette,
        ..CONSOLE
    },
    Action {
        name: "theme",
        keys: &[char('t')],
        label: "theme",
        help: "the next theme",
        argument: Some("name"),
        run: run::theme,
        ..CONSOLE
    },
    Action {
        name: "glyphs",
        label: "glyphs",
        help: "signs beyond ASCII, or not",
        argument: Some("unicode or ascii"),
        run: run::glyphs,
        ..CONSOLE
    },
    Action {
        name: "repaint",
        keys: &[Key::ctrl('l'), Key::ctrl('r')],
        help: "paint the screen again",
        run: run::repaint,
        ..CONSOLE
    },
    Action {
        name: "suspend",
        keys: &[Key::ctrl('z')],
        help: "back to the shell; fg returns",
        run: run::suspend,
        ..CONSOLE
    },
    Action {
        name: "quit",
        aliases: &["q", "q!", "exit"],
        keys: &[char('q'), Key::ctrl('c')],
        label: "quit",
        help: "quit; asks first while you drive (ctrl-c twice: at once)",
        footer: Some(13),
        run: run::quit,
        ..CONSOLE
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_key_and_no_name_means_two_things() {
        let mut keys = HashSet::new();
        let mut names = HashSet::new();
        for action in ACTIONS {
            assert!(action.keys.iter().all(|key| keys.insert(*key)), "{}: a key twice", action.name);
            assert!(names.insert(action.name), "{} twice", action.name);
            assert!(action.aliases.iter().all(|alias| names.insert(alias)), "{}: an alias twice", action.name);
            assert!(!action.help.is_empty(), "{} has no help", action.name);
        }
    }

    #[test]
    fn writes_are_capital_letters_or_commands_and_reads_are_not() {
        for action in ACTIONS {
            for key in action.keys {
                let capital = key.text().is_some_and(|c| c.is_ascii_uppercase());
                match action.guard {
                    Guard::Write(_) | Guard::Safety => assert!(capital, "{} on {key}", action.name),
                    Guard::Read => {
                        assert!(!capital || matches!(key.text(), Some('A' | 'G' | 'T')), "{} on {key}", action.name);
                    }
                }
                assert_ne!(key.code, KeyCode::Delete);
                assert_ne!(key.code, KeyCode::Backspace);
            }
        }
    }
}
