//! Finds the entry of a vector by its name. Names are only in the entries themselves: a map from thousands of names to places is a megabyte, and a
//! table of places an eighth of it.

use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;

/// The places of entries, found by hash. Whoever calls says what the name of the entry at a place is; it has to be the same for as long as the
/// entry is in the index.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    places: HashTable<u32>,
    hasher: RandomState,
}

impl NameIndex {
    /// The place of the entry with this name.
    pub(crate) fn find<'a>(&self, name: &str, name_at: impl Fn(usize) -> &'a str) -> Option<usize> {
        let place = self.places.find(self.hasher.hash_one(name), |place| name_at(*place as usize) == name)?;
        Some(*place as usize)
    }

    /// Adds the entry at `place`, whose name no other entry has.
    pub(crate) fn add<'a>(&mut self, place: usize, name_at: impl Fn(usize) -> &'a str) {
        let Self { places, hasher } = self;
        let hash_at = |place: &u32| hasher.hash_one(name_at(*place as usize));
        if let Ok(place) = u32::try_from(place) {
            places.insert_unique(hash_at(&place), place, hash_at);
        }
    }

    /// Removes the entry with this name, which is still in its vector; returns its place.
    pub(crate) fn remove<'a>(&mut self, name: &str, name_at: impl Fn(usize) -> &'a str) -> Option<usize> {
        let hash = self.hasher.hash_one(name);
        let entry = self.places.find_entry(hash, |place| name_at(*place as usize) == name).ok()?;
        Some(entry.remove().0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map of the standard library, and entries that are added and removed in many orders, say the same.
    #[test]
    fn finds_what_is_there_and_nothing_else() {
        let mut state = 7_u64;
        // Throws dice: a number below `most`.
        let mut dice = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let mut names: Vec<Option<String>> = Vec::new();
        let mut index = NameIndex::default();
        let mut wanted = std::collections::HashMap::new();
        for _ in 0..20_000 {
            let name = format!("node-{}", dice(600));
            let name_at = |place: usize| names[place].as_deref().expect("only what is there is asked for");
            assert_eq!(index.find(&name, name_at), wanted.get(&name).copied());
            match wanted.get(&name) {
                Some(_) if dice(2) == 0 => {
                    let place = index.remove(&name, name_at).expect("it is there");
                    assert_eq!(wanted.remove(&name), Some(place));
                    names[place] = None;
                }
                Some(_) => {}
                None => {
                    assert_eq!(index.remove(&name, name_at), None);
                    names.push(Some(name.clone()));
                    index.add(names.len() - 1, |place| names[place].as_deref().expect("it is there"));
                    wanted.insert(name, names.len() - 1);
                }
            }
            assert_eq!(index.places.len(), wanted.len());
        }
        assert!(wanted.len() > 100, "{}", wanted.len());
    }

    #[test]
    fn an_index_of_thousands_of_names_takes_few_bytes() {
        let names: Vec<String> = (0..15_000).map(|number| format!("node-{number}")).collect();
        let mut index = NameIndex::default();
        (0..names.len()).for_each(|place| index.add(place, |place| &names[place]));
        assert_eq!(names.iter().filter(|name| index.find(name, |place| &names[place]).is_some()).count(), names.len());
        assert!(index.places.allocation_size() <= 164_000, "{} bytes", index.places.allocation_size());
    }
}
