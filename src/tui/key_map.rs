//! Keys of the user's own, beside those that the table of actions has.

use super::key::Key;

/// Which keys the user gave to which actions.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyMap(Vec<(Key, &'static str)>);

impl KeyMap {
    /// Gives a key to the action of this name.
    pub(crate) fn give(&mut self, key: Key, action: &'static str) {
        self.0.push((key, action));
    }

    /// The actions that this key was given to.
    pub(crate) fn actions(&self, key: Key) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter(move |(known, _)| *known == key).map(|(_, action)| *action)
    }

    /// The keys that this action was given.
    pub(crate) fn keys<'a>(&'a self, action: &'a str) -> impl Iterator<Item = Key> + 'a {
        self.0.iter().filter(move |(_, known)| *known == action).map(|(key, _)| *key)
    }
}
