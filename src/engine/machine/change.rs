//! A change of the template: its identifier, its name in words, and the template that it asks for.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::Engine;
use super::placement::placing_field;
use crate::engine::model::Str;
use crate::engine::model::record::{Change, Intent, Paused};
use crate::engine::model::rollout_event::MadeByOthers;
use crate::engine::model::template::diff;
use crate::engine::model::time::Timestamp;

/// The greatest number of template fields that a sentence names.
const FIELDS_NAMED: usize = 3;

/// Why a rollout is paused once the template is that of its target again. The text names nobody: managedFields do not tell who removed a field.
pub(crate) const PUT_BACK: &str = "the template was changed, and put back to the target of the rollout";

impl Engine {
    /// An identifier for a change that is asked for now.
    pub(crate) fn new_change_id(&self, counter: u64, now: Timestamp) -> Str {
        let mut hash = DefaultHasher::new();
        (&self.config().identity, counter, now.millis()).hash(&mut hash);
        format!("{:016x}", hash.finish()).into()
    }

    /// Whether somebody else changed the template in the middle of the rollout: it differs from that of the recorded target, and nobody asked
    /// rolldeck for a change.
    pub(crate) fn is_template_of_others(&self, intent: &Intent) -> bool {
        intent.change.is_none()
            && self.is_observed()
            && intent.target.is_some()
            && self.view.current().is_some()
            && intent.target.as_ref() != self.view.current()
    }

    /// Why a rollout pauses after somebody else changed the template.
    pub(crate) fn template_changed_words(&self) -> String {
        let by = self.who_set_the_template();
        format!("the template was changed{}", by.map(|by| format!(" by {by}")).unwrap_or_default())
    }

    /// The recorded pause. Where rolldeck paused because somebody else had changed the template, its reason is brought up to what they made of the
    /// template since: while nobody drives, nobody records that.
    pub(crate) fn pause_as_it_stands(&self, paused: &Paused, intent: &Intent) -> Paused {
        let told = paused.template.as_ref().filter(|_| paused.is_by_rolldeck() && self.is_observed());
        let why = match (told, self.view.current()) {
            (Some(told), Some(current)) if told != current && intent.target.as_ref() == Some(current) => {
                PUT_BACK.to_owned()
            }
            (Some(told), Some(current)) if told != current => self.template_changed_words(),
            _ => return paused.clone(),
        };
        Paused { why: Some(why.into()), ..paused.clone() }
    }

    /// The change that somebody else made to the template, in words: `: agent v2 → v1, where the rollout came from`. Fields by which pods are placed
    /// are named with their values, and with the nodes that are no longer meant; other fields without: `: annotations[kubectl.kubernetes.io/restartedAt]`.
    /// Empty where the revision of the target is gone.
    pub(crate) fn template_of_others_in_words(&self, intent: &Intent) -> String {
        let images = self.view.images_changed(intent.target.as_ref(), self.view.current());
        let came_from = self.progress.origin.is_some() && self.progress.origin.as_ref() == self.view.current();
        let mut words: Vec<String> = images.iter().map(ToString::to_string).collect();
        let (target, current) = (intent.target.as_ref(), self.view.current());
        let template = |hash: &Str| self.view.revision(hash).map(|revision| &revision.template);
        if let (Some(from), Some(to)) = (target.and_then(template), current.and_then(template)) {
            let mut fields: Vec<String> = Vec::new();
            for change in diff::changes(from, to) {
                match placing_field(&change) {
                    Some(placing) => fields.push(placing),
                    None if images.is_empty() => fields.push(change.path),
                    None => {}
                }
            }
            let more = fields.len().saturating_sub(FIELDS_NAMED);
            words.extend(fields.into_iter().take(FIELDS_NAMED));
            words.extend((more > 0).then(|| format!("and {more} more")));
        }
        words.extend(came_from.then(|| "where the rollout came from".to_owned()));
        let placement = self.placement_of_others_in_words(intent);
        let words = Some(words.join(", ")).filter(|words| !words.is_empty());
        let parts: Vec<String> = words.into_iter().chain(placement).collect();
        if parts.is_empty() { String::new() } else { format!(": {}", parts.join("; ")) }
    }

    /// The template that somebody else made in the middle of the rollout, with its change in words, as
    /// [`template_of_others_in_words`](Self::template_of_others_in_words) has them.
    pub(crate) fn made_by_others(&self, intent: &Intent) -> Option<(MadeByOthers, String)> {
        let is_other = |current: &&Str| intent.target.as_ref().is_some_and(|target| target != *current);
        let current = self.view.current().filter(is_other).filter(|_| intent.change.is_none())?;
        let number = |hash: &Str| self.view.revision(hash).map(|revision| revision.number);
        let after = intent.target.as_ref().and_then(number);
        let made = MadeByOthers { number: number(current)?, by: self.who_set_the_template(), after };
        Some((made, self.template_of_others_in_words(intent)))
    }

    pub(crate) fn change_words(&self, change: &Change) -> String {
        match change {
            Change::Images(images) => {
                let words: Vec<String> = images.iter().map(|(name, image)| format!("{name}={image}")).collect();
                format!("the image {}", words.join(" "))
            }
            Change::Revision(hash) => format!("the roll back to revision {}", self.view.number_of(hash)),
            Change::LaterRevision(hash) => format!("the template of revision {}", self.view.number_of(hash)),
        }
    }
}
