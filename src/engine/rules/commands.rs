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
    /// It begins to take down nodes, or prepares that: where a DaemonSet surges it is refused until somebody says how many may be down, and its preview
    /// says that each node is down while its pod is replaced.
    takes_down: bool,
    /// It notes the present template as the target, where the record has none.
    notes_target: bool,
    begins_record: BeginsRecord,
    replaces_record: ReplacesRecord,
    /// The process that is given it drives no more.
    stops_driving: bool,
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

/// The record that a command begins where none is left of a rollout, or where the record is of an earlier DaemonSet. Its preview warns of the limits that count
/// then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BeginsRecord {
    /// It begins none, or names the settings that it is to have.
    No,
    /// One of a rollout, in which nodes soak.
    Forward,
    /// One of a roll back, in which nothing soaks.
    Back,
}

/// Whether a command replaces a record that cannot be read. What does not is refused then, but for the brake and what stops driving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReplacesRecord {
    /// It does not.
    No,
    /// It does.
    Yes,
    /// It does in a console, where the dialog with the limits begins a record.
    InConsole,
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
            takes_down: false,
            notes_target: false,
            begins_record: BeginsRecord::No,
            replaces_record: ReplacesRecord::No,
            stops_driving: false,
        };
        // What begins a record of a rollout, or goes on with one.
        let forward = |writes: Writes, lets_go: LetsGo| Consequences {
            begins_record: BeginsRecord::Forward,
            takes_down: true,
            ..of(writes, lets_go)
        };
        match self {
            Self::Adopt => Consequences {
                replaces_record: ReplacesRecord::Yes,
                notes_target: true,
                ..forward(Writes::OnDelete, LetsGo::None)
            },
            // It asks for a template of its own.
            Self::SetImage(_) => forward(Writes::Template, LetsGo::None),
            Self::Step(_) | Self::Resume => {
                Consequences { notes_target: true, ..forward(Writes::Record, LetsGo::Forward) }
            }
            Self::Select(_) => Consequences { takes_down: false, ..forward(Writes::Record, LetsGo::Forward) },
            Self::Pause { .. } => Consequences {
                works_blind: true,
                outlives_daemonset: true,
                notes_target: true,
                takes_down: false,
                ..forward(Writes::Record, LetsGo::None)
            },
            Self::Undo { .. } => Consequences {
                begins_record: BeginsRecord::Back,
                takes_down: true,
                ..of(Writes::Template, LetsGo::Back)
            },
            Self::Release(_) => {
                Consequences { replaces_record: ReplacesRecord::Yes, ..of(Writes::OriginalStrategy, LetsGo::None) }
            }
            Self::Tune(_) => {
                Consequences { replaces_record: ReplacesRecord::InConsole, ..of(Writes::Record, LetsGo::None) }
            }
            Self::Prewarm(_) => of(Writes::Prewarm, LetsGo::None),
            // The settings that are changed with the command are recorded in any case.
            Self::Tuned { command, .. } => Consequences { reporting: Reporting::Whole, ..command.consequences() },
            // A driver notes the target itself.
            Self::Drive(_) => {
                Consequences { reporting: Reporting::ByTheLease, ..of(Writes::WholeRollout, LetsGo::None) }
            }
            Self::StopDriving | Self::EndDriving { .. } => Consequences {
                reporting: Reporting::ByTheLeaseWhereDriving,
                outlives_daemonset: true,
                works_blind: true,
                stops_driving: true,
                ..of(Writes::Nothing, LetsGo::None)
            },
            Self::GiveUpDriving { .. } => {
                Consequences { works_blind: true, stops_driving: true, ..of(Writes::Nothing, LetsGo::None) }
            }
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

    /// Whether it begins to take down nodes, or prepares that.
    pub(crate) fn takes_down(&self) -> bool {
        self.consequences().takes_down
    }

    /// Whether it notes the present template as the target, where the record has none.
    pub(crate) fn notes_target(&self) -> bool {
        self.consequences().notes_target
    }

    /// The record that it begins where none is left of a rollout.
    pub(crate) fn begins_record(&self) -> BeginsRecord {
        self.consequences().begins_record
    }

    /// Whether it replaces a record that cannot be read.
    pub(crate) fn replaces_record(&self) -> ReplacesRecord {
        self.consequences().replaces_record
    }

    /// Whether the process that is given it drives no more.
    pub(crate) fn stops_driving(&self) -> bool {
        self.consequences().stops_driving
    }
}
