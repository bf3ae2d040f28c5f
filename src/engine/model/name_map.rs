//! A map by name for what is kept of thousands of objects: the entries stand side by side in a vector, without free room between them, as a hash map
//! has it for more than half of its entries just after it has grown.

use super::Str;
use super::name_index::NameIndex;

/// Values by name, in no particular order.
#[derive(Debug)]
pub(crate) struct NameMap<T> {
    entries: Vec<(Str, T)>,
    index: NameIndex,
}

impl<T> Default for NameMap<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: NameIndex::default() }
    }
}

impl<T> NameMap<T> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.index.find(name, |place| &self.entries[place].0)
    }

    /// The value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        Some(&self.entries[self.place(name)?].1)
    }

    /// The name as it is stored.
    pub(crate) fn name(&self, name: &str) -> Option<&Str> {
        Some(&self.entries[self.place(name)?].0)
    }

    /// The value of a name, to be changed.
    #[cfg(any(test, feature = "console"))]
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        let place = self.place(name)?;
        Some(&mut self.entries[place].1)
    }

    /// The value of a name, which is the default one until it is changed.
    pub(crate) fn get_or_default(&mut self, name: &Str) -> &mut T
    where
        T: Default,
    {
        let place = self.place(name).unwrap_or_else(|| self.add(name.clone(), T::default()));
        &mut self.entries[place].1
    }

    /// Sets the value of a name.
    #[cfg(any(test, feature = "console"))]
    pub(crate) fn insert(&mut self, name: Str, value: T) {
        match self.get_mut(&name) {
            Some(known) => *known = value,
            None => {
                self.add(name, value);
            }
        }
    }

    fn add(&mut self, name: Str, value: T) -> usize {
        let place = self.entries.len();
        self.entries.push((name, value));
        self.index.add(place, |place| &self.entries[place].0);
        place
    }

    /// Removes a name; returns its value.
    pub(crate) fn remove(&mut self, name: &str) -> Option<T> {
        let place = self.index.remove(name, |place| &self.entries[place].0)?;
        // The last entry takes the place.
        let last = self.entries.len() - 1;
        if place != last {
            self.index.remove(&self.entries[last].0, |place| &self.entries[place].0);
        }
        let (_, removed) = self.entries.swap_remove(place);
        if place != last {
            self.index.add(place, |place| &self.entries[place].0);
        }
        Some(removed)
    }

    /// Keeps the names that pass the test.
    pub(crate) fn retain(&mut self, test: impl Fn(&Str) -> bool) {
        self.entries.retain(|(name, _)| test(name));
        self.index = NameIndex::default();
        (0..self.entries.len()).for_each(|place| self.index.add(place, |place| &self.entries[place].0));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn does_what_a_hash_map_does() {
        let mut state = 3_u64;
        // Throws dice: a number below `most`.
        let mut dice = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let (mut map, mut wanted) = (NameMap::<u32>::default(), HashMap::<Str, u32>::new());
        for turn in 0..10_000 {
            let name = Str::from(format!("node-{}", dice(300)));
            match dice(4) {
                0 => {
                    map.insert(name.clone(), turn);
                    wanted.insert(name, turn);
                }
                1 => {
                    *map.get_or_default(&name) += 1;
                    *wanted.entry(name).or_default() += 1;
                }
                2 => assert_eq!(map.remove(&name), wanted.remove(&name)),
                _ if turn % 500 == 3 => {
                    map.retain(|name| !name.ends_with('7'));
                    wanted.retain(|name, _| !name.ends_with('7'));
                }
                _ => {
                    assert_eq!((map.get(&name), map.name(&name)), {
                        let known = wanted.get_key_value(&name);
                        (known.map(|(_, value)| value), known.map(|(name, _)| name))
                    });
                }
            }
            assert_eq!(map.len(), wanted.len());
        }
        assert!(wanted.iter().all(|(name, value)| map.get(name) == Some(value)) && wanted.len() > 50);
    }
}
