//! The reasons by which Events say who drives.

use crate::engine::model::with_all::with_all;

with_all! {
/// The reason of an event about who drives; see [`RolloutEvent::reason`](super::RolloutEvent::reason).
#[derive(Clone, Copy)]
pub(super) enum DriverReason {
    Driven,
    TakenOver,
    Lost,
    Left,
    Silent,
    Back,
}
}

impl DriverReason {
    /// The reason as it is written.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Driven => "RolloutDriven",
            Self::TakenOver => "RolloutTakenOver",
            Self::Lost => "RolloutDriverLost",
            Self::Left => "RolloutDriverLeft",
            Self::Silent => "RolloutDriverSilent",
            Self::Back => "RolloutDriverBack",
        }
    }
}
