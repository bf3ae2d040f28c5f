//! The status line: the result of the last command.

use std::time::Duration;

/// The message on the status line. It stays until the next one, or until the screen changes when it is [old](StatusLine::is_old).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StatusLine {
    pub(crate) severity: StatusSeverity,
    pub(crate) text: String,
    /// When it was said, as the console has been up.
    pub(crate) at: Duration,
}

impl StatusLine {
    /// Whether it was said so long ago that what the screen shows now may contradict it. What is being waited for stays.
    pub(crate) fn is_old(&self, now: Duration) -> bool {
        let stays = match self.severity {
            StatusSeverity::Busy => return false,
            StatusSeverity::Good | StatusSeverity::Plain | StatusSeverity::UntilKey => Duration::from_secs(10),
            // Whoever was refused may have to read it twice.
            StatusSeverity::Refused | StatusSeverity::KeyRefused => Duration::from_secs(60),
        };
        now.saturating_sub(self.at) > stays
    }
}

/// How good the news is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatusSeverity {
    Good,
    Busy,
    Plain,
    /// A command was refused, or something failed.
    Refused,
    /// A key does nothing now: it says so until the next key that does something.
    KeyRefused,
    /// It is about the key before: the next one puts it away, whatever it does.
    UntilKey,
}
