//! The lines of a preview about a roll back that is under way already: where it leads, and which pods it still replaces.

use super::allowance::counted_are;
use crate::engine::assess::plan::Limits;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::image::version_of;
use crate::engine::model::record::{Direction, Intent};
use crate::engine::model::time::Timestamp;

impl Engine {
    /// The revision that the roll back leads to, if one is recorded and not over.
    pub(super) fn goal_of_the_roll_back<'i>(&self, intent: &'i Intent) -> Option<&'i Str> {
        let goes_back = intent.direction() == Direction::Back && !self.is_over();
        intent.back_to.as_ref().filter(|_| goes_back)
    }

    /// `revision 2 (v1)`: a revision with the versions of its images, as far as it is kept.
    pub(super) fn called_with_images(&self, hash: &Str) -> String {
        format!("revision {}", self.number_with_images(hash))
    }

    fn number_with_images(&self, hash: &Str) -> Str {
        let number = self.view.number_of(hash);
        let Some(revision) = self.view.revision(hash) else { return number };
        let images = revision.template.images();
        let versions: Vec<&str> = images.iter().map(|image| version_of(image)).collect();
        format!("{number} ({})", versions.join(", ")).into()
    }

    /// What is said of a roll back that is under way to who is about to drive it; `nodes` go then. `None` where nothing is rolled back.
    pub(super) fn roll_back_in_words(&self, intent: &Intent, nodes: &[Str], limits: &Limits) -> Option<Vec<String>> {
        let to = self.goal_of_the_roll_back(intent)?;
        let to = self.called_with_images(to);
        if nodes.is_empty() {
            let left = self.count_rows(|row| !row.at_target);
            return Some(vec![match left {
                0 => format!("It is a roll back to {to}: every node is at it."),
                left => format!("It is a roll back to {to}: {} not at it.", counted_are(left as usize)),
            }]);
        }
        let goes = [format!("It is a roll back to {to}."), self.going_back_in_words(intent, nodes, limits)];
        let runs = self.revisions_called(intent, nodes, |hash| self.number_with_images(hash));
        let later = self.goes_back_later(intent, nodes);
        let unproven = self.unproven_back_in_words(intent, nodes);
        let ignored = "Partition and selector are ignored.".to_owned();
        Some(goes.into_iter().chain(runs).chain(later).chain(unproven).chain([ignored]).collect())
    }

    /// Why there is nothing to stop: this process does not drive. `None` while it does.
    pub(super) fn drives_no_longer_because(&self, now: Timestamp) -> Option<String> {
        if self.lock.holds() {
            return None;
        }
        Some(match self.lock.living_other(now) {
            Some(holder) => format!("{holder} drives it"),
            None if !self.is_recorded() => "no rollout is recorded any more".to_owned(),
            None if self.is_over() => "the rollout is complete".to_owned(),
            None => "nobody drives it".to_owned(),
        })
    }
}
