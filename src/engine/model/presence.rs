//! Whether the DaemonSet is there.

/// Whether the DaemonSet is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Not known yet.
    Loading,
    /// It is there.
    Present,
    /// It is not there, or not any more.
    Absent,
}
