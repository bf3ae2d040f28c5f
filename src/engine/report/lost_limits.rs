//! The limits of a record that was lost, as far as they are known: the command that begins or confirms its successor names them.

use super::remedies::Remedy;
use super::snapshot::{Alarm, Snapshot};
use crate::engine::machine::lost_record::limits_it_had;
use crate::engine::model::settings::Tuning;

impl Snapshot {
    /// The limits that a lost record had beside the defaults, which the command of this remedy sets; empty where it had none, and where nothing is known.
    /// They are read from words, which may come from Events that anybody may write: only values that a flag takes are among them.
    pub fn lost_limits(&self, remedy: Remedy) -> Tuning {
        let known = match remedy {
            Remedy::RecordAnew => self.lost_record.as_deref(),
            Remedy::SetLimits { .. } => self.alarms.iter().find_map(|alarm| match alarm {
                Alarm::LimitsLost { before, .. } => before.as_deref(),
                _ => None,
            }),
            _ => None,
        };
        known.map(limits_it_had).unwrap_or_default()
    }
}
