//! The reasons by which Events report commands.

use super::driver_reason::DriverReason;
use crate::engine::model::command::Command;
use crate::engine::model::with_all::with_all;

with_all! {
/// The reason of an Event that reports a command; see [`RolloutEvent::reason`].
#[derive(Clone, Copy, PartialEq)]
pub(super) enum CommandReason {
    Adopted,
    ImageSet,
    Stepped,
    Selected,
    Paused,
    Resumed,
    Undone,
    Released,
    Tuned,
    Prewarmed,
    Driven,
    DriverLeft,
}
}

impl CommandReason {
    /// The reason for a command, without the settings that it is `Tuned` with.
    pub(super) fn of(command: &Command) -> Self {
        match command {
            Command::Adopt => Self::Adopted,
            Command::SetImage(_) => Self::ImageSet,
            Command::Step(_) => Self::Stepped,
            Command::Select(_) => Self::Selected,
            Command::Pause { .. } => Self::Paused,
            Command::Resume => Self::Resumed,
            Command::Undo { .. } => Self::Undone,
            Command::Release(_) => Self::Released,
            Command::Tune(_) | Command::Tuned { .. } => Self::Tuned,
            Command::Prewarm(_) => Self::Prewarmed,
            Command::Drive(_) => Self::Driven,
            Command::StopDriving | Command::EndDriving { .. } | Command::GiveUpDriving { .. } => Self::DriverLeft,
        }
    }

    /// The reason as it is written.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Adopted => "RolloutAdopted",
            Self::ImageSet => "RolloutImageSet",
            Self::Stepped => "RolloutStepped",
            Self::Selected => "RolloutSelected",
            Self::Paused => "RolloutPaused",
            Self::Resumed => "RolloutResumed",
            Self::Undone => "RolloutUndone",
            Self::Released => "RolloutReleased",
            Self::Tuned => "RolloutTuned",
            Self::Prewarmed => "RolloutPrewarmed",
            Self::Driven => DriverReason::Driven.word(),
            Self::DriverLeft => DriverReason::Left.word(),
        }
    }

    /// Whether the command lifts a pause that is in force.
    pub(super) fn lifts_a_pause(self) -> bool {
        match self {
            Self::ImageSet | Self::Resumed | Self::Undone | Self::Released => true,
            Self::Adopted
            | Self::Stepped
            | Self::Selected
            | Self::Paused
            | Self::Tuned
            | Self::Prewarmed
            | Self::Driven
            | Self::DriverLeft => false,
        }
    }

    /// Whether there is a record once the command is carried out.
    pub(super) fn writes_the_record(self) -> bool {
        self == Self::Adopted || (self.moves_the_rollout() && self != Self::Released)
    }

    /// Whether nodes may be updated because of the command that were not before it.
    pub(super) fn may_let_nodes_go(self) -> bool {
        match self {
            Self::Adopted
            | Self::ImageSet
            | Self::Stepped
            | Self::Selected
            | Self::Resumed
            | Self::Undone
            | Self::Released
            | Self::Tuned
            | Self::Driven => true,
            Self::Paused | Self::Prewarmed | Self::DriverLeft => false,
        }
    }

    /// Whether the command changes where the rollout goes or stands.
    pub(super) fn moves_the_rollout(self) -> bool {
        match self {
            Self::ImageSet
            | Self::Stepped
            | Self::Selected
            | Self::Paused
            | Self::Resumed
            | Self::Undone
            | Self::Released
            | Self::Tuned => true,
            Self::Adopted | Self::Prewarmed | Self::Driven | Self::DriverLeft => false,
        }
    }
}
