//! The status line: the result of the last command.

use std::time::Duration;

use crate::engine::model::Str;

/// The message on the status line. It stays until the next message, or until it is [old](StatusLine::is_old) and the screen has changed since.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StatusLine {
    pub(crate) severity: StatusSeverity,
    pub(crate) text: String,
    /// The time of the message, as the console's uptime.
    pub(crate) at: Duration,
    /// The target of the open rollout at that time, if it was known: the message may be about it.
    pub(crate) target: Option<Str>,
    /// Whether a key was pressed or news were shown since: the message goes as soon as it is old.
    pub(crate) is_overtaken: bool,
    /// Whether something went wrong since, or another driver took over, that speaks against this success: the message goes as soon as it could be read.
    pub(crate) is_contradicted: bool,
    /// The name of the action that this message refuses: once it is not refused any more, or for another reason, the message has been read and goes.
    pub(crate) refused: Option<&'static str>,
}

/// The time for which a message stays whatever happens meanwhile: the user learns what became of a command, and reads what is beside it.
pub(crate) const ANSWERED: Duration = Duration::from_secs(5);

impl StatusLine {
    /// Whether the message is so old that the present screen may contradict it. A message about a pending command is never old.
    pub(crate) fn is_old(&self, now: Duration) -> bool {
        self.ages_at().is_some_and(|at| at <= now)
    }

    /// When it is old; `None` for a message about a pending command.
    fn ages_at(&self) -> Option<Duration> {
        let stays = match self.severity {
            StatusSeverity::Busy => return None,
            StatusSeverity::Good | StatusSeverity::Plain | StatusSeverity::UntilKey => Duration::from_secs(10),
            // A user may have to read a refusal twice.
            StatusSeverity::Refused | StatusSeverity::KeyRefused => Duration::from_secs(60),
        };
        Some(self.at + stays)
    }

    /// Whether it was there long enough to be read.
    pub(crate) fn was_read(&self, now: Duration) -> bool {
        now.saturating_sub(self.at) >= ANSWERED
    }

    /// The next instant after `now` at which it may go although nothing else happens.
    pub(crate) fn may_go_at(&self, now: Duration) -> Option<Duration> {
        let read = (self.refused.is_some() || self.is_contradicted).then(|| self.at + ANSWERED);
        let old = self.ages_at().filter(|_| self.is_overtaken);
        read.into_iter().chain(old).filter(|at| *at > now).min()
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
