//! The status line: the result of the last command.

/// The message on the status line. It stays until the next one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Status {
    pub(crate) tone: StatusSeverity,
    pub(crate) text: String,
}

/// How good the news is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatusSeverity {
    Good,
    Busy,
    Plain,
    Refused,
}
