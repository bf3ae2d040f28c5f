//! The one table of everything that a person can do here.
//!
//! Dispatch, footer, `?` help and the `:` palette are derived from it; nothing else knows a key. An action that is not
//! possible right now says why, and which key would make it possible. What an action does is in `commands`.

pub(crate) mod condition;
mod table;

pub(crate) use self::table::ACTIONS;
use super::key::Key;
use super::model::{Model, Page};
use crate::engine::model::event::{Permission, Right};
use crate::engine::model::presence::Presence;
use crate::engine::snapshot::Snapshot;

/// Something that a person can do.
#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) id: ActionId,
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
    /// What may be typed after its name.
    pub(crate) argument: Option<Argument>,
    /// Its place in the footer, where it has one.
    pub(crate) footer: Option<u8>,
    /// Why it makes no sense now, beyond its guard.
    pub(crate) when: fn(&Model) -> Result<(), String>,
}

/// Declares [`ActionId`], and all of them in their order.
macro_rules! action_ids {
    ($($id:ident),+ $(,)?) => {
        /// Tells actions apart. [`ACTIONS`] has an entry for each, `commands::run` does each.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum ActionId { $($id,)+ }

        impl ActionId {
            const ALL: &'static [Self] = &[$(Self::$id,)+];
        }
    };
}

action_ids! {
    Pause, Arm, Step, Partition, Canary, Resume, Image, Drive, StopDriving, Undo, Release, Adopt, Tune, ReadOnly, Open, Back, Filter, Sort, Freeze, Watches, Timeline, GoTo, Fleet, Up, Down, HalfUp, HalfDown, PageUp, PageDown, Top, Bottom, Help, Palette, Theme, Glyphs, Repaint, Suspend, Quit,
}

impl ActionId {
    pub(crate) fn action(self) -> &'static Action {
        &ACTIONS[self as usize]
    }

    /// Its first key, or its name where it has none.
    pub(crate) fn key(self) -> String {
        self.action().key()
    }
}

/// What may be typed after an action's name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) hint: &'static str,
    /// What it could be, for completion; nothing where it is free text.
    pub(crate) known: fn(&Model) -> Vec<String>,
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
    /// It changes the cluster: only while armed, and where the API server permits this.
    Write(&'static [Right]),
}

impl Action {
    pub(crate) fn in_scope(&self, model: &Model) -> bool {
        match (self.scope, &model.page) {
            (ActionScope::Anywhere, _) | (ActionScope::Rollout, Page::Rollout(_)) => true,
            (ActionScope::Rollout, Page::Fleet) => false,
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
        let Guard::Write(rights) = self.guard else { return Ok(()) };
        let denied = |right: &&Right| {
            snapshot.rights.iter().any(|(known, permission)| known == *right && *permission == Permission::Denied)
        };
        match rights.iter().find(denied) {
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crossterm::event::KeyCode;

    use super::*;

    #[test]
    fn no_key_and_no_name_means_two_things() {
        let mut keys = HashSet::new();
        let mut names = HashSet::new();
        for action in &ACTIONS {
            assert!(action.keys.iter().all(|key| keys.insert(*key)), "{}: a key twice", action.name);
            assert!(names.insert(action.name), "{} twice", action.name);
            assert!(action.aliases.iter().all(|alias| names.insert(alias)), "{}: an alias twice", action.name);
            assert!(!action.help.is_empty(), "{} has no help", action.name);
        }
    }

    #[test]
    fn writes_are_capital_letters_or_commands_and_reads_are_not() {
        for action in &ACTIONS {
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
