//! Objects of a watch whose present version cannot be read.
//!
//! Such an object must not end the watch: the server would send the same version again and again. Nor may it be passed over
//! where the engine acts on what it knows: its last readable version would be taken for the present one, and in a list it would
//! be taken to be gone. So the watch is read on and counts as down, with the object named, until a version of it that can be
//! read, or its deletion, has come. A list is complete only then.

use std::collections::BTreeMap;

use super::parse::{UnreadableObject, object_of};
use crate::cluster::failure::Failure;
use crate::engine::model::Str;

/// What becomes of a watch when one of its objects cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cluster) enum OnUnreadable {
    /// It counts as down until a version of the object that can be read comes, or its deletion.
    Down,
    /// The object is skipped, and that is reported. For objects that only tell more: nothing is started or shown as fact
    /// because of what they do not say.
    Skip,
}

/// With more of them than this it is not single objects that cannot be read: the watch fails.
const MOST: usize = 1_000;

/// The objects that cannot be read at present.
#[derive(Debug, Default)]
pub(super) struct UnreadableObjects(BTreeMap<String, String>);

impl UnreadableObjects {
    /// Takes in one.
    ///
    /// # Errors
    /// When it has no name, so that nobody could tell whether a later object is the same one, or there are too many.
    pub(super) fn add(&mut self, key: String, why: String) -> Result<(), Failure> {
        if key.is_empty() {
            return Err(Failure::Malformed(format!("an object without a name cannot be read: {why}")));
        }
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            return Err(Failure::Malformed(format!("more than {MOST} objects cannot be read; {key}: {why}")));
        }
        self.0.insert(key, why);
        Ok(())
    }

    /// It is gone.
    pub(super) fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// The object of this line of the watch was read.
    pub(super) fn read_at_last(&mut self, line: &[u8]) {
        if !self.0.is_empty()
            && let Ok(object) = object_of(line)
        {
            self.remove(&UnreadableObject::new(object, "").key);
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Why the watch counts as down, if it does: the first of them, and how many more there are.
    pub(super) fn words(&self) -> Option<Str> {
        let (key, why) = self.0.first_key_value()?;
        let more = match self.0.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        Some(format!("{key} cannot be read: {why}{more}").into())
    }
}
