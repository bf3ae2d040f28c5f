//! The trial of a pod: whether the API server has been asked, as a dry run, to admit a pod of the target's template.

use crate::engine::model::Str;

/// The trial that is not answered yet.
#[derive(Debug, Default)]
pub(crate) struct PodTrial {
    /// The revision whose pod is tried, by its hash.
    of: Option<Str>,
}

impl PodTrial {
    /// Notes that a pod of this revision is tried now.
    pub(crate) fn asked(&mut self, revision: &Str) {
        self.of = Some(revision.clone());
    }

    /// Notes the answer, whatever it says.
    pub(crate) fn answered(&mut self, revision: &Str) {
        self.of.take_if(|of| of == revision);
    }

    /// Whether the answer about this revision is still awaited.
    pub(crate) fn is_awaited(&self, revision: &Str) -> bool {
        self.of.as_ref() == Some(revision)
    }
}
