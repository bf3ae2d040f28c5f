//! Whether the last assessment still holds.

use super::inputs::{BeforeBegin, Inputs};
use crate::engine::model::Str;
use crate::engine::model::record::{Intent, Progress};
use crate::engine::model::time::Timestamp;

/// Whether the last assessment still holds, and what it depended on.
#[derive(Debug)]
pub(crate) struct Freshness {
    /// Something happened since the last assessment.
    dirty: bool,
    /// The assessment holds until then, if nothing happens.
    until: Option<Timestamp>,
    inputs: Option<Inputs>,
}

impl Default for Freshness {
    fn default() -> Self {
        Self { dirty: true, until: None, inputs: None }
    }
}

impl Freshness {
    /// Notes that something happened, so that everything has to be assessed again.
    pub(crate) fn touch(&mut self) {
        self.dirty = true;
    }

    /// Whether the last assessment still holds at `now`.
    pub(crate) fn holds(&self, now: Timestamp) -> bool {
        !self.dirty && self.until.is_none_or(|until| now < until)
    }

    /// The inputs on which the rows depend now, and whether they differ from the inputs before.
    pub(crate) fn depends_on(
        &mut self,
        target: Option<&Str>,
        intent: &Intent,
        progress: &Progress,
        before_begin: &BeforeBegin,
    ) -> (&Inputs, bool) {
        let same = self.inputs.as_ref().is_some_and(|inputs| inputs.is_of(target, intent, progress, before_begin));
        let known = self.inputs.take().filter(|_| same);
        let inputs = known.unwrap_or_else(|| Inputs::of(target, intent, progress, before_begin));
        (self.inputs.insert(inputs), !same)
    }

    /// Notes that an assessment was made, which holds until `until` if nothing happens.
    pub(crate) fn assessed(&mut self, until: Option<Timestamp>) {
        self.dirty = false;
        self.until = until;
    }
}
