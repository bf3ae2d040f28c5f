//! The field for the number of nodes that may be down. A DaemonSet that surges has no such number: under its own controller
//! no node is without a Pod, but under `OnDelete` nodes are.

use tui_input::Input;

use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::Limit;
use crate::engine::model::settings::Tuning;
use crate::engine::report::snapshot::Snapshot;

/// The field; required if the DaemonSet surges and nobody has named a budget.
#[derive(Debug, Default)]
pub(crate) struct BudgetField {
    pub(crate) required: bool,
    pub(crate) input: Input,
}

impl BudgetField {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let required = snapshot.surge.is_some() && snapshot.settings.budgets.max_unavailable.is_default();
        Self { required, input: Input::default() }
    }

    /// The setting that the field asks for.
    ///
    /// # Errors
    /// The field is required and empty.
    pub(crate) fn tuning(&self) -> Result<Tuning, String> {
        if !self.required {
            return Ok(Tuning::default());
        }
        let text = self.input.value().trim();
        if text.is_empty() {
            return Err("it surges, which OnDelete cannot: type how many nodes may be down at once".into());
        }
        Ok(Tuning { max_unavailable: Some(Limit::At(text.parse::<IntOrPercent>()?)), ..Tuning::default() })
    }
}
