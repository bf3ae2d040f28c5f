//! Finding each node of a snapshot among the nodes of the one before.

use std::collections::HashMap;

use crate::engine::model::Str;

/// The nodes of the snapshot before, in its order, with whatever is kept of each. Most nodes keep their place from one snapshot to the next: names
/// are indexed only once one has moved, and never kept indexed, because an index of thousands of names is a megabyte.
pub struct Counterparts<'a, T> {
    known: &'a [T],
    name: fn(&T) -> &Str,
    by_name: Option<HashMap<&'a Str, usize>>,
}

impl<'a, T> Counterparts<'a, T> {
    /// `name` gives the name of the node.
    pub fn of(known: &'a [T], name: fn(&T) -> &Str) -> Self {
        Self { known, name, by_name: None }
    }

    /// Where the node that is at `place` now was before.
    pub fn find(&mut self, place: usize, node: &Str) -> Option<usize> {
        let (known, name) = (self.known, self.name);
        match known.get(place) {
            Some(here) if name(here) == node => Some(place),
            _ if known.is_empty() => None,
            _ => self
                .by_name
                .get_or_insert_with(|| known.iter().enumerate().map(|(place, known)| (name(known), place)).collect())
                .get(node)
                .copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_stayed_is_found_without_an_index() {
        let known = ["a", "b", "c"].map(Str::from);
        let mut counterparts = Counterparts::of(&known, |name| name);
        assert_eq!((counterparts.find(0, &"a".into()), counterparts.find(2, &"c".into())), (Some(0), Some(2)));
        assert!(counterparts.by_name.is_none());
        let found = [(1, "c"), (0, "b"), (2, "new"), (7, "a")].map(|(at, name)| counterparts.find(at, &name.into()));
        assert_eq!(found, [Some(2), Some(1), None, Some(0)]);
        assert_eq!(Counterparts::of(&[], |name: &Str| name).find(0, &"a".into()), None);
    }
}
