//! The status line: the result of the last command.

use std::time::Duration;

use crate::engine::model::Str;

/// The message on the status line. It stays until the next message, or, once it is [old](StatusLine::is_old), until the screen changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StatusLine {
    pub(crate) severity: StatusSeverity,
    pub(crate) text: String,
    /// The time of the message, as the console's uptime.
    pub(crate) at: Duration,
    /// The target of the open rollout at that time, if it was known: the message may be about it.
    pub(crate) target: Option<Str>,
}

impl StatusLine {
    /// Whether the message is so old that the present screen may contradict it. A message about a pending command is never old.
    pub(crate) fn is_old(&self, now: Duration) -> bool {
        let stays = match self.severity {
            StatusSeverity::Busy => return false,
            StatusSeverity::Good | StatusSeverity::Plain | StatusSeverity::UntilKey => Duration::from_secs(10),
            // A user may have to read a refusal twice.
            StatusSeverity::Refused | StatusSeverity::KeyRefused => Duration::from_secs(60),
        };
        now.saturating_sub(self.at) > stays
    }
}

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatusSeverity {
    Good,
    Busy,
    Plain,
    /// A command was refused, or something failed.
    Refused,
    /// A key does nothing now: the message stays until the next key that does something.
    KeyRefused,
    /// The message is about the last key: the next key removes it, whatever that key does.
    UntilKey,
}
