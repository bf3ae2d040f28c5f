//! The trial of a pod: whether the API server has been asked, as a dry run, to admit a pod of the target's template.

use crate::engine::model::Str;

/// The last trial of this process.
#[derive(Debug, Default)]
pub(crate) struct PodTrial {
    /// The revision whose pod was tried, by its hash.
    of: Option<Str>,
    is_answered: bool,
}

impl PodTrial {
    /// Notes that a pod of this revision is tried now.
    pub(crate) fn asked(&mut self, revision: &Str) {
        (self.of, self.is_answered) = (Some(revision.clone()), false);
    }

    /// Notes the answer, whatever it says. Whether it is about the revision that was tried last.
    pub(crate) fn answered(&mut self, revision: &Str) -> bool {
        let is_last = self.of.as_ref() == Some(revision);
        self.is_answered |= is_last;
        is_last
    }

    /// Whether a pod of this revision was tried: `Some(true)` once that is answered.
    pub(crate) fn of(&self, revision: &Str) -> Option<bool> {
        (self.of.as_ref() == Some(revision)).then_some(self.is_answered)
    }
}
