//! The update strategy from before the adoption: what the DaemonSet's annotation says, else what the record noted. Somebody may remove the annotation, alone
//! or with the strategy (`kubectl replace`), and who set the DaemonSet up has agreed to no other limit for that.

use super::View;
use crate::engine::model::Str;
use crate::engine::model::facts::UpdateStrategy;
use crate::engine::model::record::ORIGINAL_STRATEGY;

/// A strategy as it was saved, and what it says; `None` where it cannot be read.
#[derive(Debug)]
pub(super) struct SavedStrategy {
    text: Str,
    strategy: Option<UpdateStrategy>,
}

impl SavedStrategy {
    fn read(text: &Str) -> Self {
        let strategy = serde_json::from_str(text).ok().map(UpdateStrategy::from_json);
        Self { text: text.clone(), strategy }
    }
}

impl View {
    /// The update strategy from before the adoption; `None` where none was saved, or it cannot be read.
    pub(crate) fn original_strategy(&self) -> Option<&UpdateStrategy> {
        let saved = self.saved_strategies.iter().flatten();
        saved.filter_map(|saved| saved.strategy.as_ref()).next()
    }

    /// Takes over what is saved. `noted`: what the record has.
    pub(crate) fn follow_original(&mut self, noted: Option<&Str>) {
        let annotated = self.daemonset.as_ref().and_then(|daemonset| daemonset.annotations.get(ORIGINAL_STRATEGY));
        for (known, text) in self.saved_strategies.iter_mut().zip([annotated, noted]) {
            if known.as_ref().map(|known| &known.text) != text {
                *known = text.map(SavedStrategy::read);
            }
        }
    }
}
