//! Finds the entry of a vector by its name. Names are only in the entries themselves: a map from thousands of names to places is a megabyte, and a
//! table of places an eighth of it.

use std::hash::{BuildHasher as _, RandomState};

/// A slot without an entry.
const FREE: u32 = u32::MAX;
/// The fewest slots of a table that is not empty. The number of slots is a power of two.
const FEWEST: usize = 16;

/// The places of entries, found by hash. Whoever calls says what the name of the entry at a place is; it has to be the same for as long as the
/// entry is in the index.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    /// Places of entries, each in the first slot that was free from that of its hash on.
    slots: Vec<u32>,
    used: usize,
    hasher: RandomState,
}

impl NameIndex {
    /// The place of the entry with this name.
    pub(crate) fn find<'a>(&self, name: &str, name_at: impl Fn(usize) -> &'a str) -> Option<usize> {
        let slot = self.slot_of(name, name_at)?;
        Some(self.slots[slot] as usize)
    }

    /// Adds the entry at `place`, whose name no other entry has.
    pub(crate) fn add<'a>(&mut self, place: usize, name_at: impl Fn(usize) -> &'a str) {
        let Some(place) = u32::try_from(place).ok().filter(|place| *place != FREE) else { return };
        // A quarter of the slots is free, so that a search soon meets one.
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            let slots = (self.slots.len() * 2).max(FEWEST);
            let known = std::mem::replace(&mut self.slots, vec![FREE; slots]);
            known.into_iter().filter(|known| *known != FREE).for_each(|known| self.put(known, &name_at));
        }
        self.put(place, &name_at);
        self.used += 1;
    }

    /// Removes the entry with this name, which is still in its vector; returns its place.
    pub(crate) fn remove<'a>(&mut self, name: &str, name_at: impl Fn(usize) -> &'a str) -> Option<usize> {
        let mut hole = self.slot_of(name, &name_at)?;
        let place = self.slots[hole] as usize;
        // An entry after the hole that was put there because the hole was taken comes back to it.
        let mut slot = self.after(hole);
        while self.slots[slot] != FREE {
            let from_its_own = self.distance(self.slot_for(name_at(self.slots[slot] as usize)), slot);
            if from_its_own >= self.distance(hole, slot) {
                self.slots[hole] = self.slots[slot];
                hole = slot;
            }
            slot = self.after(slot);
        }
        self.slots[hole] = FREE;
        self.used -= 1;
        Some(place)
    }

    fn put<'a>(&mut self, place: u32, name_at: &impl Fn(usize) -> &'a str) {
        let mut slot = self.slot_for(name_at(place as usize));
        while self.slots[slot] != FREE {
            slot = self.after(slot);
        }
        self.slots[slot] = place;
    }

    fn slot_of<'a>(&self, name: &str, name_at: impl Fn(usize) -> &'a str) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mut slot = self.slot_for(name);
        while self.slots[slot] != FREE {
            if name_at(self.slots[slot] as usize) == name {
                return Some(slot);
            }
            slot = self.after(slot);
        }
        None
    }

    #[allow(clippy::cast_possible_truncation, reason = "only the lowest bits are used")]
    fn slot_for(&self, name: &str) -> usize {
        self.hasher.hash_one(name) as usize & (self.slots.len() - 1)
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// How many slots further `to` is.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.slots.len() - 1)
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
            assert_eq!(index.used, wanted.len());
        }
        assert!(wanted.len() > 100, "{}", wanted.len());
    }

    #[test]
    fn an_index_of_thousands_of_names_takes_few_bytes() {
        let names: Vec<String> = (0..15_000).map(|number| format!("node-{number}")).collect();
        let mut index = NameIndex::default();
        (0..names.len()).for_each(|place| index.add(place, |place| &names[place]));
        assert_eq!(names.iter().filter(|name| index.find(name, |place| &names[place]).is_some()).count(), names.len());
        assert!(index.slots.capacity() * size_of::<u32>() <= 131_072, "{} slots", index.slots.capacity());
    }
}
