//! Messages that the engine gives once, outside the snapshot.

use super::Str;
use super::command::{CommandId, Unsettled};
use super::rollout_event::RolloutEvent;
use super::time::Timestamp;

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
        /// When the timeline lists it: a command that was done in time when it was asked for, before what follows from it.
        listed_at: Timestamp,
        /// The uid of the DaemonSet that it happened to; `None` if the DaemonSet was not there.
        uid: Option<Str>,
    },
}
