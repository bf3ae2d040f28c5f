//! Edits of the record that are not saved yet.

use super::edit::Edit;
use crate::engine::model::command::CommandId;
use crate::engine::model::time::Timestamp;

/// An edit of the record that is not saved yet.
#[derive(Debug)]
pub(crate) struct Unsaved {
    /// Counts the edits of this engine.
    pub(crate) serial: u64,
    /// The command it belongs to; `None` for the driver's own.
    pub(crate) command: Option<CommandId>,
    pub(crate) edit: Edit,
    /// When it was made.
    pub(crate) made_at: Timestamp,
}
