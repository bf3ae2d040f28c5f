//! The status line: what came of the last thing that was done.

/// What came of the last thing that was done; it stays until the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Status {
    pub(crate) tone: StatusTone,
    pub(crate) text: String,
}

/// How good the news is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatusTone {
    Good,
    Busy,
    Plain,
    Refused,
}
