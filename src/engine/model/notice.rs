//! What the engine says once, outside the snapshot.

use super::Str;
use super::command::{CommandId, Unsettled};
use super::rollout_event::RolloutEvent;

/// Something that the engine has to say once, outside the snapshot.
#[derive(Clone, PartialEq, Debug)]
pub enum Notice {
    /// A command is done: what it asked for is written, or could not be written.
    Settled {
        /// Which.
        id: CommandId,
        /// What was written, or why not.
        result: Result<String, Unsettled>,
    },
    /// Something happened that belongs in the audit log.
    Happened {
        /// What.
        event: Box<RolloutEvent>,
        /// To which DaemonSet, by its uid; `None` where it was not there.
        uid: Option<Str>,
    },
}
