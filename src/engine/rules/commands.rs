//! The consequences of each command, in one table: a new command needs an entry for each, and the compiler asks for it.

use crate::engine::model::command::Command;

/// The consequences of a command.
#[derive(Clone, Copy, Debug)]
struct Consequences {
    writes: Writes,
    lets_go: LetsGo,
    reporting: Reporting,
    /// It is accepted although watches are out of date, or the DaemonSet is being deleted.
    works_blind: bool,
    /// It still holds if the DaemonSet is deleted and made anew before the command is carried out.
    outlives_daemonset: bool,
}

/// The objects that a command writes, in the process that it is given to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Writes {
    /// Nothing: the lease is given back.
    Nothing,
    /// The record only.
    Record,
    /// The Lease, and pods for pre-warming.
    Prewarm,
    /// The record, and `OnDelete` to the DaemonSet.
    OnDelete,
    /// The record, and another template to the DaemonSet.
    Template,
    /// The record, and the original strategy to the DaemonSet.
    OriginalStrategy,
    /// Everything that the record asks for: lease, DaemonSet, deletions.
    WholeRollout,
}

impl Writes {
    /// Whether the process that carries it out sets `OnDelete` if that is not set.
    pub(crate) fn may_adopt(self) -> bool {
        match self {
            Self::Prewarm | Self::OriginalStrategy => false,
            Self::Nothing | Self::Record | Self::OnDelete | Self::Template | Self::WholeRollout => true,
        }
    }
}

/// The nodes that a command lets be updated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LetsGo {
    /// None by itself.
    None,
    /// The nodes that are next by partition and selector.
    Forward,
    /// The nodes that are not at the revision that the rollout goes back to.
    Back,
}

/// How a command is recorded in the event log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reporting {
    /// Both the request and its outcome.
    Whole,
    /// Its success is a change of driver, which is recorded when the lease changes hands.
    ByTheLease,
    /// The same, but not recorded at all in a process that does not drive.
    ByTheLeaseWhereDriving,
}

impl Command {
    fn consequences(&self) -> Consequences {
        let of = |writes: Writes, lets_go: LetsGo| Consequences {
            writes,
            lets_go,
            reporting: Reporting::Whole,
            works_blind: false,
            outlives_daemonset: false,
        };
        match self {
            Self::Adopt => of(Writes::OnDelete, LetsGo::None),
            Self::SetImage(_) => of(Writes::Template, LetsGo::None),
            Self::Step(_) | Self::Select(_) | Self::Resume => of(Writes::Record, LetsGo::Forward),
            Self::Pause { .. } => {
                Consequences { works_blind: true, outlives_daemonset: true, ..of(Writes::Record, LetsGo::None) }
            }
            Self::Undo { .. } => of(Writes::Template, LetsGo::Back),
            Self::Release(_) => of(Writes::OriginalStrategy, LetsGo::None),
            Self::Tune(_) => of(Writes::Record, LetsGo::None),
            Self::Prewarm(_) => of(Writes::Prewarm, LetsGo::None),
            // The settings that are changed with the command are recorded in any case.
            Self::Tuned { command, .. } => Consequences { reporting: Reporting::Whole, ..command.consequences() },
            Self::Drive(_) => {
                Consequences { reporting: Reporting::ByTheLease, ..of(Writes::WholeRollout, LetsGo::None) }
            }
            Self::StopDriving | Self::EndDriving { .. } => Consequences {
                reporting: Reporting::ByTheLeaseWhereDriving,
                works_blind: true,
                outlives_daemonset: true,
                ..of(Writes::Nothing, LetsGo::None)
            },
            Self::GiveUpDriving { .. } => Consequences { works_blind: true, ..of(Writes::Nothing, LetsGo::None) },
        }
    }

    /// The objects that it writes. A pause that is a brake also writes `OnDelete`.
    pub(crate) fn writes(&self) -> Writes {
        self.consequences().writes
    }

    /// The nodes that it lets be updated.
    pub(crate) fn lets_go(&self) -> LetsGo {
        self.consequences().lets_go
    }

    /// How it is recorded in the event log.
    pub(crate) fn reporting(&self) -> Reporting {
        self.consequences().reporting
    }

    /// Whether it is accepted although watches are out of date, or the DaemonSet is being deleted.
    pub(crate) fn works_blind(&self) -> bool {
        self.consequences().works_blind
    }

    /// Whether it still holds if the DaemonSet is deleted and made anew before the command is carried out.
    pub(crate) fn outlives_daemonset(&self) -> bool {
        self.consequences().outlives_daemonset
    }
}
