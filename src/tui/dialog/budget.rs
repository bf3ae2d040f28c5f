//! How many nodes may be down, asked where a DaemonSet surges: under its own controller none ever is.

use tui_input::Input;

use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::tuning::{Limit, Tuning};
use crate::engine::report::snapshot::Snapshot;

/// The field; not asked for where the DaemonSet does not surge, or somebody has named a budget.
#[derive(Debug, Default)]
pub(crate) struct BudgetField {
    pub(crate) asked: bool,
    pub(crate) input: Input,
}

impl BudgetField {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let asked = snapshot.surge.is_some() && snapshot.budgets.max_unavailable.is_none();
        Self { asked, input: Input::default() }
    }

    /// What it asks for.
    ///
    /// # Errors
    /// Where it is asked for and not filled in.
    pub(crate) fn tuning(&self) -> Result<Tuning, String> {
        if !self.asked {
            return Ok(Tuning::default());
        }
        let text = self.input.value().trim();
        if text.is_empty() {
            return Err("it surges, which OnDelete cannot: type how many nodes may be down at once".into());
        }
        Ok(Tuning { max_unavailable: Some(Limit::At(text.parse::<IntOrPercent>()?)), ..Tuning::default() })
    }
}
