//! Messages that the engine gives once, outside the snapshot.

use super::Str;
use super::command::{CommandId, Unsettled};
use super::rollout_event::RolloutEvent;

/// A message that the engine gives once, outside the snapshot.
#[derive(Clone, PartialEq, Debug)]
pub enum Notice {
    /// A command is done: the change that it asked for is written, or could not be written.
    Settled {
        /// Which command.
        id: CommandId,
        /// What was written, in words, or why it was not written.
        result: Result<String, Unsettled>,
    },
    /// Something happened that belongs in the audit log.
    Happened {
        /// What happened.
        event: Box<RolloutEvent>,
        /// The uid of the DaemonSet that it happened to; `None` if the DaemonSet was not there.
        uid: Option<Str>,
    },
}
