//! Objects of a watch whose present version cannot be read.
//!
//! Such an object must not end the watch: the server would send the same version again and again. It must not be ignored
//! either if the engine acts on it: its last readable version would count as the present one, and in a list it would count
//! as gone. Therefore the watch continues and counts as down, with the object named, until a readable version or its
//! deletion arrives. Only then is a list complete.

use std::collections::BTreeMap;

use super::parse::{UnreadableObject, object_of};
use crate::cluster::failure::Failure;
use crate::engine::model::Str;

/// The reaction of a watch to an object that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cluster) enum OnUnreadable {
    /// The watch counts as down until a readable version of the object or its deletion arrives.
    Down,
    /// The object is skipped, and that is reported. This is for objects that only add details: nothing is started or shown
    /// as fact because of their absence.
    Skip,
}

/// If more objects than this are unreadable, the fault is not in single objects: the watch fails.
const MOST: usize = 1_000;

/// The objects that cannot be read at present.
#[derive(Debug, Default)]
pub(super) struct UnreadableObjects(BTreeMap<String, String>);

impl UnreadableObjects {
    /// Takes in an unreadable object.
    ///
    /// # Errors
    /// When the object has no name, so that later versions of it could not be recognised, or there are too many.
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

    /// The object is gone.
    pub(super) fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Notes that the object in this line of the watch was read.
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

    /// The reason why the watch counts as down, if it does: the first object, and the number of others.
    pub(super) fn words(&self) -> Option<Str> {
        let (key, why) = self.0.first_key_value()?;
        let more = match self.0.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        Some(format!("{key} cannot be read: {why}{more}").into())
    }
}
