//! One-shot commands: flags and arguments of each, and the engine's command that it stands for.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::tuning::TuningFlags;
use super::values::{ContainerImage, DaemonSetName, by_container, patience, revision, words};
use crate::engine::model::command::{Command, Early, Step};
use crate::engine::model::labels::Selector;
use crate::engine::model::quantity::IntOrPercent;

/// One-shot writes.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum OneShot {
    /// Take over pod replacement from the DaemonSet's controller; moves no pod
    ///
    /// Sets `OnDelete` and saves the original update strategy, which `release` restores.
    Adopt(AdoptArgs),
    /// Give the DaemonSet a new image; moves no pod until the first step
    SetImage(SetImageArgs),
    /// Set how many nodes may be updated: as many as the next step of the plan says, or a number of your own
    ///
    /// Whoever drives the rollout then updates nodes until that many have the new pod. A smaller number takes the new pod from no node:
    /// `undo` does that. The next step is refused if it would update no node: because all nodes that the selector matches are updated, or
    /// because those that are left are down.
    Step(StepArgs),
    /// Restrict the rollout to nodes that match a label selector
    ///
    /// Says how many nodes it frees at once, and asks where it frees any.
    Select(SelectArgs),
    /// Change budgets and gates of a rollout, also while it runs
    #[command(visible_alias = "set", after_help = TUNE_EXAMPLES)]
    Tune(TuneArgs),
    /// Start no more updates; on a DaemonSet that its own controller rolls: the emergency brake
    Pause(PauseArgs),
    /// Go on after a pause or a halt
    ///
    /// Past a halt it says what that accepts, and asks; where nobody can be asked, it needs `--yes`.
    Resume(OneShotArgs),
    /// Roll back to the revision before, or to a given one
    Undo(UndoArgs),
    /// Hand the DaemonSet back to its controller, its update strategy as it was
    Release(ReleaseArgs),
}

impl OneShot {
    pub(crate) fn name(&self) -> &DaemonSetName {
        match self {
            Self::Adopt(args) => &args.name,
            Self::SetImage(args) => &args.name,
            Self::Step(args) => &args.name,
            Self::Select(args) => &args.name,
            Self::Tune(args) => &args.name,
            Self::Pause(args) => &args.name,
            Self::Resume(args) => &args.name,
            Self::Undo(args) => &args.name,
            Self::Release(args) => &args.name,
        }
    }

    /// Whether it may change the cluster, and is no pause.
    pub(crate) fn writes(&self) -> bool {
        let (_, how, command) = self.clone().into_parts();
        !how.dry_run && !matches!(command, Command::Pause { .. })
    }

    pub(crate) fn how_mut(&mut self) -> &mut How {
        match self {
            Self::Adopt(args) => &mut args.how,
            Self::SetImage(args) => &mut args.how,
            Self::Step(args) => &mut args.how,
            Self::Select(args) => &mut args.how,
            Self::Tune(args) => &mut args.how,
            Self::Pause(args) => &mut args.how,
            Self::Resume(args) => &mut args.how,
            Self::Undo(args) => &mut args.how,
            Self::Release(args) => &mut args.how,
        }
    }

    /// On which DaemonSet, how, and what is asked of the engine.
    pub(crate) fn into_parts(self) -> (DaemonSetName, How, Command) {
        match self {
            Self::Adopt(args) => (args.name, args.how, Command::Adopt.under(args.tuning.tuning())),
            Self::SetImage(args) => {
                let image = Command::SetImage(by_container(&args.images));
                (args.name, args.how, image.under(args.tuning.tuning()))
            }
            Self::Tune(args) => (args.name, args.how, Command::Tune(args.tuning.tuning())),
            Self::Step(args) => {
                let step = match (args.to, args.partition, args.back) {
                    (Some(updated), ..) => Step::Updated(updated),
                    (_, Some(partition), _) => Step::Partition(partition),
                    (_, _, true) => Step::Back,
                    _ => Step::Next,
                };
                (args.name, args.how, Command::Step(step))
            }
            Self::Select(args) => (args.name, args.how, Command::Select(args.selector)),
            Self::Pause(PauseArgs { name, why, reason, how }) => {
                let why = if why.is_empty() { reason } else { Some(why.join(" ")) };
                let why = why.filter(|why| !why.trim().is_empty());
                (name, how, Command::Pause { why })
            }
            Self::Resume(args) => (args.name, args.how, Command::Resume),
            Self::Undo(args) => (args.name, args.how, Command::Undo { to: args.to_revision }),
            Self::Release(args) => {
                let early = if args.early { Early::Accept } else { Early::Refuse };
                (args.name, args.how, Command::Release(early))
            }
        }
    }
}

const TUNE_EXAMPLES: &str = "\
Examples:
  rolldeck tune ds/agent --max-unavailable 10%   let more nodes be down at once
  rolldeck tune ds/agent --on-drift enforce      when Argo CD sets the strategy back: OnDelete again
  rolldeck tune ds/agent --soak 1m               a new pod counts after a minute";

/// What every one-shot write takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct OneShotArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct AdoptArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct TuneArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

/// How a write is confirmed, and how long it may take.
#[derive(Args, Clone, Debug)]
pub(crate) struct How {
    /// Say what it would do, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// How long to wait for the cluster
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = patience)]
    pub(crate) timeout: Duration,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct SetImageArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// The new image, by container; `*=IMAGE` means all main containers
    #[arg(value_name = "CONTAINER=IMAGE", required = true)]
    pub(crate) images: Vec<ContainerImage>,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

#[derive(Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("where").multiple(false))]
pub(crate) struct StepArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// How many nodes may be updated in total: a count, or a percentage of all nodes, rounded up [default: as the next step of the plan says]
    #[arg(long, value_name = "N|N%", allow_negative_numbers = true, group = "where")]
    pub(crate) to: Option<IntOrPercent>,
    /// How many nodes keep their old pod, all others may be updated: a count, or a percentage of all nodes, rounded down
    #[arg(long, value_name = "N|N%", allow_negative_numbers = true, group = "where")]
    pub(crate) partition: Option<IntOrPercent>,
    /// Let only as many nodes be updated as the step before; a node that is updated already stays so
    #[arg(long, group = "where")]
    pub(crate) back: bool,
    #[command(flatten)]
    pub(crate) how: How,
}

/// A selector that says something: an empty one, as of a variable that is not set, would lift the restriction.
fn not_empty(text: &str) -> Result<Selector, String> {
    match text.trim().is_empty() {
        true => Err("it is empty and would select every node: `--clear` removes the selector".to_owned()),
        false => text.parse(),
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct SelectArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// Which nodes may be updated, as `kubectl get nodes -l` has it
    #[arg(value_name = "SELECTOR", required_unless_present = "clear", conflicts_with = "clear", value_parser = not_empty)]
    pub(crate) selector: Option<Selector>,
    /// Remove the restriction
    #[arg(long)]
    pub(crate) clear: bool,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct PauseArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// Why, for those who find it paused
    #[arg(value_name = "WHY", value_parser = words(), conflicts_with = "reason")]
    pub(crate) why: Vec<String>,
    /// The same, as a flag
    #[arg(long, value_name = "WHY", value_parser = words())]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct UndoArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// The revision to go back to, by its number in `history`, or one that it had before [default: the one before];
    /// to one that was made after the present one a rollout begins, with steps and gates
    #[arg(long, value_name = "N", value_parser = revision)]
    pub(crate) to_revision: Option<i64>,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ReleaseArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// Release although the controller then replaces or removes pods by itself: those that are not at the target, and
    /// serving ones on nodes that should not run them any more
    #[arg(long)]
    pub(crate) early: bool,
    #[command(flatten)]
    pub(crate) how: How,
}
