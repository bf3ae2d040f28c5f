//! The objects of one kind that a watch has reported so far.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Objects by their key, each with the number of the last listing that named it. An object that a complete listing does not name is removed.
#[derive(Debug)]
pub(super) struct Listed<K, T> {
    listing: u32,
    entries: BTreeMap<K, (u32, T)>,
}

impl<K, T> Default for Listed<K, T> {
    fn default() -> Self {
        Self { listing: 0, entries: BTreeMap::new() }
    }
}

impl<K: Ord, T> Listed<K, T> {
    /// A listing begins.
    pub(super) fn listing(&mut self) {
        self.listing += 1;
    }

    /// The listing is complete.
    pub(super) fn listed(&mut self) {
        self.entries.retain(|_, (listing, _)| *listing == self.listing);
    }

    /// Stores the present content of the object.
    pub(super) fn insert(&mut self, key: K, what: T) {
        self.entries.insert(key, (self.listing, what));
    }

    /// The object is gone.
    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.entries.remove(key);
    }

    /// The object, if it is there.
    pub(super) fn get(&self, key: &K) -> Option<&T> {
        self.entries.get(key).map(|(_, what)| what)
    }

    /// All objects, in the order of their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &T)> {
        self.entries.iter().map(|(key, (_, what))| (key, what))
    }
}
