//! The user's own keys, in addition to those of the table of actions.

use super::key::Key;

/// The assignment of the user's keys to actions.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyMap(Vec<(Key, &'static str)>);

impl KeyMap {
    /// Gives a key to the action of this name.
    pub(crate) fn give(&mut self, key: Key, action: &'static str) {
        self.0.push((key, action));
    }

    /// The actions to which this key was given.
    pub(crate) fn actions(&self, key: Key) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter(move |(known, _)| *known == key).map(|(_, action)| *action)
    }

    /// The keys that were given to this action.
    pub(crate) fn keys<'a>(&'a self, action: &'a str) -> impl Iterator<Item = Key> + 'a {
        self.0.iter().filter(move |(_, known)| *known == action).map(|(key, _)| *key)
    }
}
