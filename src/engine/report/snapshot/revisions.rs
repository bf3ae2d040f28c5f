//! The names of revisions, and which revision an operator means.

use std::collections::BTreeMap;

use super::{RevisionView, Snapshot};
use crate::engine::model::rollout_event::{NumberedRevision, earlier_numbers, template_of, with_earlier};
use crate::engine::model::template::diff::changes;
use crate::engine::rules::revision_numbers::present_number;

/// This many characters of a hash are enough, if no other revision's hash begins with them.
const ENOUGH: usize = 2;

impl RevisionView {
    /// Its name: its number, or its hash where the number is not known.
    pub fn called(&self) -> String {
        match self.number {
            Some(number) => format!("revision {number}"),
            None => format!("revision {}", self.hash),
        }
    }

    /// How many fields other than images differ from an earlier revision: two revisions with the same images look alike. `None` where the template of
    /// one of them is not known.
    pub fn other_fields(&self, before: &Self) -> Option<usize> {
        let (from, to) = before.template.as_ref().zip(self.template.as_ref())?;
        Some(changes(from, to).iter().filter(|change| !change.is_image()).count())
    }

    fn numbered(&self) -> Option<NumberedRevision<'_>> {
        Some(NumberedRevision { hash: &self.hash, number: self.number?, seen: &self.seen_numbers })
    }
}

impl Snapshot {
    /// The numbers that revisions had before roll backs, by those that they have now.
    pub(crate) fn all_earlier_numbers(&self) -> BTreeMap<i64, Vec<i64>> {
        let revisions: Vec<_> = self.revisions.iter().filter_map(RevisionView::numbered).collect();
        earlier_numbers(self.timeline.iter(), &revisions)
    }

    /// The numbers that a revision had before roll backs, the last one first, as far as the events of the rollout tell.
    pub fn earlier_numbers(&self, revision: &RevisionView) -> Vec<i64> {
        let mut known = self.all_earlier_numbers();
        revision.number.and_then(|number| known.remove(&number)).unwrap_or_default()
    }

    /// The earlier numbers of a revision that a roll back renumbered: `the template of 2`.
    pub fn renumbered_in_words(&self, revision: &RevisionView) -> Option<String> {
        template_of(&self.earlier_numbers(revision))
    }

    /// The same in a sentence: `the template of 2, which came back`. A revision that is older than one with a lower number came back as
    /// well, even where nothing tells the number that it had.
    pub fn came_back_in_words(&self, revision: &RevisionView) -> Option<String> {
        if let Some(words) = self.renumbered_in_words(revision) {
            return Some(format!("{words}, which came back"));
        }
        let is_younger =
            |other: &RevisionView| other.number < revision.number && other.created_at > revision.created_at;
        let known = revision.number.and(revision.created_at);
        let is_back = known.is_some() && self.revisions.iter().any(|other| other.number.is_some() && is_younger(other));
        is_back.then(|| "its template came back; which number it had before is not known".to_owned())
    }

    /// The earlier numbers of the target, to be put behind its number: ` (the template of 2)`. Empty where none is known.
    pub fn target_renumbered(&self) -> String {
        let words = self.to.as_ref().and_then(|target| self.renumbered_in_words(target));
        words.map(|words| format!(" ({words})")).unwrap_or_default()
    }

    /// The role of a revision for the DaemonSet and its rollout. `current` is the revision of the template, which new pods get. The rollout leads to
    /// another one if somebody else has changed the template since.
    pub fn role_of(&self, revision: &RevisionView) -> Option<&'static str> {
        let is_target = self.to.as_ref().is_some_and(|to| to.hash == revision.hash);
        match &self.template_revision {
            Some(current) if *current == revision.hash => Some("current"),
            // Another revision than that of the template is the target of a record only, whether its rollout began or not.
            Some(_) => is_target.then_some("target of the rollout"),
            None if is_target && self.started_at.is_some() => Some("target of the rollout"),
            None => is_target.then_some("current"),
        }
    }

    /// The revision that `text` names: by its number, by one that it had before a roll back, by its hash or the beginning of it, or by its
    /// ControllerRevision's name. Where both a number and a hash fit, the number counts: see [`Self::called_ambiguously`].
    ///
    /// # Errors
    /// If no revision fits, the text names those that exist. If the hashes of several begin with `text`, the text says so.
    pub fn revision_called(&self, text: &str) -> Result<&RevisionView, String> {
        if let Some(revision) = text.parse().ok().and_then(|number| self.revision_numbered(number)) {
            return Ok(revision);
        }
        let hash = text.strip_prefix(&*self.name).and_then(|rest| rest.strip_prefix('-')).unwrap_or(text);
        if let Some(revision) = self.revisions.iter().find(|one| *one.hash == *hash) {
            return Ok(revision);
        }
        let mut beginning = self.revisions.iter().filter(|one| hash.len() >= ENOUGH && one.hash.starts_with(hash));
        match (beginning.next(), beginning.next()) {
            (Some(revision), None) => Ok(revision),
            (Some(_), Some(_)) => Err(format!("more than one revision's hash begins with `{hash}`")),
            (None, _) => Err(format!("there is no revision `{text}`; {}", self.known_revisions())),
        }
    }

    /// The revision with this number, now or earlier.
    pub(crate) fn revision_numbered(&self, number: i64) -> Option<&RevisionView> {
        let numbers = self.revisions.iter().filter_map(|one| one.number);
        let now = present_number(number, numbers, &self.all_earlier_numbers())?;
        self.revisions.iter().find(|one| one.number == Some(now))
    }

    /// The revision that is meant by digits that could mean another one as well, or that are no number of any.
    pub fn called_ambiguously(&self, text: &str) -> Option<String> {
        let number: i64 = text.parse().ok()?;
        let begins = |one: &&RevisionView| text.len() >= ENOUGH && one.hash.starts_with(text);
        let by_hash = self.revisions.iter().find(begins);
        match (self.revision_numbered(number), by_hash) {
            (Some(meant), Some(other)) if meant.hash != other.hash => Some(format!(
                "`{text}` is taken for the number of a revision; the hash of {}, {}, begins with it, too",
                other.called(),
                other.hash
            )),
            (Some(meant), _) if meant.number != Some(number) => {
                let now = with_earlier(meant.number?, &self.all_earlier_numbers());
                Some(format!("there is no revision {number} any more: it is revision {now}"))
            }
            (None, Some(meant)) => Some(format!(
                "there is no revision {number}: `{text}` begins the hash of {}, {}",
                meant.called(),
                meant.hash
            )),
            _ => None,
        }
    }

    /// The revision of the template; while it is not known, the one that is rolled out.
    ///
    /// # Errors
    /// If neither is known.
    pub fn current_revision(&self) -> Result<&RevisionView, String> {
        let current = self.template_revision.as_ref();
        let current = current.and_then(|hash| self.revisions.iter().find(|one| one.hash == *hash));
        current.or(self.to.as_ref()).ok_or_else(|| {
            format!("which revision is the DaemonSet's current one is not known; {}", self.known_revisions())
        })
    }

    /// The two revisions to compare if none is named. The second is the target. The first is the revision of most nodes that are not at the target;
    /// if all are at it, the one before.
    ///
    /// # Errors
    /// When the template's revision is not known, when the revision that most other nodes run is not in the history any more, or when there is
    /// only one revision.
    pub fn compared_by_default(&self) -> Result<(&RevisionView, &RevisionView), String> {
        let target = self.current_revision()?;
        // The template that somebody else made in the middle of the rollout.
        if let Some(to) = self.to.as_ref().filter(|to| to.hash != target.hash && to.template.is_some()) {
            return Ok((to, target));
        }
        if let Some(from) = &self.from {
            return match from.template {
                Some(_) => Ok((from, target)),
                None => Err(format!(
                    "most nodes not at the target run {}, which is not in the history any more; {}",
                    from.called(),
                    self.known_revisions()
                )),
            };
        }
        let others = || self.revisions.iter().filter(|one| one.number.is_some() && one.hash != target.hash);
        let before = others().filter(|one| one.number < target.number).max_by_key(|one| one.number);
        let other = before.or_else(|| others().max_by_key(|one| one.number));
        other
            .map(|from| (from, target))
            .ok_or_else(|| "there is only one revision: nothing to compare it with".to_owned())
    }

    /// The target, if there is no other revision to compare it with.
    pub fn only_revision(&self) -> Option<&RevisionView> {
        let target = self.current_revision().ok().filter(|_| self.from.is_none())?;
        self.revisions.iter().all(|one| one.number.is_none() || one.hash == target.hash).then_some(target)
    }

    /// The revisions that exist, by their numbers and earlier ones: `there are 5 (the template of 3), 4, 2`.
    pub(crate) fn known_revisions(&self) -> String {
        let earlier = self.all_earlier_numbers();
        let known: Vec<String> =
            self.revisions.iter().filter_map(|one| Some(with_earlier(one.number?, &earlier))).collect();
        match known.as_slice() {
            [] => "none is known".to_owned(),
            [only] => format!("there is only {only}"),
            known => format!("there are {}", known.join(", ")),
        }
    }
}
