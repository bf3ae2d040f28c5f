//! A change of the template: its identifier, what it is called, and the template that it asks for.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::record::Change;
use crate::engine::model::template::Template;
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

    /// The template that a change asks for.
    pub(crate) fn template_wanted(&self, change: &Change) -> Result<Template, String> {
        let daemonset = self.view.daemonset.as_ref().ok_or("the DaemonSet is gone")?;
        match change {
            Change::Images(images) => {
                daemonset.template.with_images(images.iter().map(|(name, image)| (name.as_str(), image.as_str())))
            }
            Change::Revision(hash) => self
                .view
                .revision(hash)
                .map(|revision| revision.template.clone())
                .ok_or_else(|| format!("revision {hash} is not in the history any more")),
        }
    }
}
