//! The console's actions in one table: everything that a person can do in it.
//!
//! Dispatch, footer, `?` help and the `:` palette are derived from the table; nothing else knows a key. An action that is
//! not possible right now says why, and names the key that would make it possible. The module `commands` does the actions.

mod arguments;
pub(crate) mod condition;
mod entry;
mod in_keys;
mod of_remedy;
mod own_keys;
mod table;

pub(crate) use self::entry::{Action, ActionId, ActionScope, Group, Guard, unreadable_in_keys};
pub(crate) use self::in_keys::in_keys;
pub(crate) use self::own_keys::own_keys;
pub(crate) use self::table::ACTIONS;
use super::key::Key;
use crate::tui::model::{Model, Page};

impl ActionId {
    pub(crate) fn action(self) -> &'static Action {
        &ACTIONS[self as usize]
    }

    /// The action's first key, or its name if it has no key.
    pub(crate) fn key(self) -> String {
        self.action().key()
    }
}

/// All keys of an action: the user's own keys come first.
pub(crate) fn keys_of(model: &Model, action: &'static Action) -> Vec<Key> {
    model.keys.keys(action.name).chain(action.keys.iter().copied()).collect()
}

/// The first key of an action, or its name if it has no key.
pub(crate) fn key_of(model: &Model, action: &'static Action) -> String {
    keys_of(model, action).first().map_or_else(|| action.key(), ToString::to_string)
}

/// The action bound to `key` on this page: the user's own keys take precedence over those of the table.
pub(crate) fn bound(model: &Model, key: Key) -> Option<&'static Action> {
    let own = || model.keys.actions(key).filter_map(named);
    if let Some(action) = own().find(|action| action.in_scope(model)) {
        return Some(action);
    }
    let here = || ACTIONS.iter().filter(|action| action.keys.contains(&key) && action.in_scope(model));
    // Where there is no other container, the key copies as everywhere else.
    let goes_on = |action: &&Action| action.id != ActionId::NextContainer || action.available(model).is_ok();
    here()
        .filter(goes_on)
        .find(|action| action.scope.is_screen())
        .or_else(|| here().find(goes_on))
        .or_else(|| own().next())
        .or_else(|| {
            let elsewhere = || ACTIONS.iter().filter(|action| action.keys.contains(&key));
            // On the list of DaemonSets, the action on a rollout comes before an action on one of the rollout's screens.
            let of_rollout = || elsewhere().find(|action| model.page == Page::Fleet && !action.scope.is_screen());
            // The action on nodes (`l` and `p` show logs) comes next, before actions on screens that have to be opened first.
            let of_nodes =
                || elsewhere().find(|action| model.page == Page::Fleet && action.scope == ActionScope::Nodes);
            let elsewhere = of_rollout().or_else(of_nodes).or_else(|| elsewhere().next());
            elsewhere.filter(|action| {
                let is_told = match action.scope {
                    ActionScope::Rollout | ActionScope::Revisions => true,
                    ActionScope::Nodes => model.page == Page::Fleet,
                    _ => false,
                };
                action.guard != Guard::Read || is_told
            })
        })
}

/// The action called `name`.
pub(crate) fn named(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.name == name || action.aliases.contains(&name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crossterm::event::KeyCode;

    use super::*;

    #[test]
    fn no_key_and_no_name_means_two_things() {
        // An action bound to the key on a screen of a rollout takes precedence over an action bound to the same key elsewhere.
        let place = |action: &Action| action.scope.is_screen().then_some(action.scope as u8);
        let mut keys = HashSet::new();
        let mut names = HashSet::new();
        for action in &ACTIONS {
            assert!(action.keys.iter().all(|key| keys.insert((place(action), *key))), "{}: a key twice", action.name);
            assert!(names.insert(action.name), "{} twice", action.name);
            assert!(action.aliases.iter().all(|alias| names.insert(alias)), "{}: an alias twice", action.name);
            assert!(!action.help.is_empty(), "{} has no help", action.name);
        }
    }

    #[test]
    fn writes_are_capital_letters_or_commands_and_reads_are_not() {
        // Actions of the pre-warm screen concern only Pods that were made for pre-warming, and no action on the page of a node writes.
        let anywhere = |action: &&Action| !action.scope.is_screen();
        let on_node = |action: &Action| action.scope != ActionScope::Node || action.guard == Guard::Read;
        assert!(ACTIONS.iter().all(on_node));
        for action in ACTIONS.iter().filter(anywhere) {
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
