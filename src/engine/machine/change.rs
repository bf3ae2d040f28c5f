//! A change of the template: its identifier, and what it is called.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::record::Change;
use crate::engine::model::time::Timestamp;

impl Engine {
    /// An identifier for a change that is asked for now.
    pub(crate) fn new_change_id(&self, counter: u64, now: Timestamp) -> Str {
        let mut hash = DefaultHasher::new();
        (&self.config().identity, counter, now.millis()).hash(&mut hash);
        format!("{:016x}", hash.finish()).into()
    }

    pub(crate) fn change_words(&self, change: &Change) -> String {
        match change {
            Change::Images(images) => {
                let words: Vec<String> = images.iter().map(|(name, image)| format!("{name}={image}")).collect();
                format!("the image {}", words.join(" "))
            }
            Change::Revision(hash) => match self.view.revision(hash) {
                Some(revision) => format!("the roll back to revision {}", revision.number),
                None => format!("the roll back to revision {hash}"),
            },
        }
    }
}
