//! Commands of an operator to a rollout, their previews, and the reasons for which they are refused.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Str;
use super::event::Right;
use super::image::ImageRef;
use super::labels::Selector;
use super::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use super::quantity::IntOrPercent;
use super::record::Paused;
use super::settings::Tuning;
use super::template::diff::FieldChange;

use super::danger::Danger;

/// Tells one command from another; never used twice by one engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Serialize)]
pub struct CommandId(pub u64);

/// A command of an operator.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Command {
    /// Take over pod replacement from the native controller: `OnDelete`, original strategy saved. Moves no pod.
    Adopt,
    /// Give the DaemonSet new images, by container name (`*`: all main containers). Adopts first. Moves no pod by itself.
    SetImage(BTreeMap<String, ImageRef>),
    /// Change how many nodes may be updated.
    Step(Step),
    /// Restrict the rollout to nodes that match, or to none in particular.
    Select(Option<Selector>),
    /// Start no update from now on. On a DaemonSet that its own controller rolls, this is the emergency brake: it adopts.
    Pause {
        /// Why, in the operator's words.
        why: Option<String>,
    },
    /// Go on after a pause or a halt.
    Resume,
    /// Roll back to the revision with this number, or to the one before the current.
    Undo {
        /// `ControllerRevision.revision`.
        to: Option<i64>,
    },
    /// Hand the DaemonSet back to its controller: original strategy restored, record dropped.
    Release(Early),
    /// Change budgets and gates, what a drift does, or what happens at the end.
    Tune(Tuning),
    /// Carry out `command` under these settings, which hold from its first write on.
    Tuned {
        /// The settings that change with it.
        tuning: Tuning,
        /// The command; never another `Tuned`.
        command: Box<Command>,
    },
    /// Bring images onto nodes before their pods are replaced. Replaces no pod.
    Prewarm(PrewarmCommand),
    /// Become the driver of this rollout.
    Drive(Takeover),
    /// Stop driving: finish what is in flight, give the lease back. Others carry on where it stood.
    StopDriving,
    /// Stop driving because this process is done with it, or is ended. The event by which the lease is given back says why.
    EndDriving {
        /// Why, in our words.
        why: String,
    },
    /// Stop driving because this process cannot go on with it. The record says why as well, until somebody drives again.
    GiveUpDriving {
        /// Why, in our words.
        why: String,
    },
}

impl Command {
    /// This command together with a change of settings; the command alone if `tuning` changes none.
    #[must_use]
    pub fn under(self, tuning: Tuning) -> Self {
        if tuning.is_empty() { self } else { Self::Tuned { tuning, command: Box::new(self) } }
    }

    /// The settings that the command changes.
    pub fn tuning(&self) -> Tuning {
        match self {
            Self::Tuned { tuning, command } => command.tuning().and(tuning.clone()),
            Self::Tune(tuning) => tuning.clone(),
            Self::Adopt
            | Self::SetImage(_)
            | Self::Step(_)
            | Self::Select(_)
            | Self::Pause { .. }
            | Self::Resume
            | Self::Undo { .. }
            | Self::Release(_)
            | Self::Prewarm(_)
            | Self::Drive(_)
            | Self::StopDriving
            | Self::EndDriving { .. }
            | Self::GiveUpDriving { .. } => Tuning::default(),
        }
    }

    /// The number by which the command names the revision to go to.
    pub fn names_revision(&self) -> Option<i64> {
        if let Self::Undo { to } = self.inner() { *to } else { None }
    }

    /// The command without the settings under which it is carried out.
    pub fn inner(&self) -> &Self {
        match self {
            Self::Tuned { command, .. } => command.inner(),
            command => command,
        }
    }
}

/// A command about pre-warming.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrewarmCommand {
    /// Pre-warm this, instead of what is being pre-warmed.
    Start {
        /// Which images.
        source: PrewarmSource,
        /// On which nodes.
        nodes: PrewarmNodes,
        /// How many nodes may pull at once.
        limits: PrewarmLimits,
        /// Who makes the pods.
        #[serde(default)]
        method: PrewarmMethod,
    },
    /// Make no more pods; what is being pulled goes on.
    Pause,
    /// Go on.
    Resume,
    /// Try again on the nodes where it failed.
    Retry,
    /// Delete its pods. Images that were pulled stay until they are collected as garbage.
    Cancel,
}

/// As one would say it: `pre-warm agent=agent:v2 on nodes with zone=a`.
impl fmt::Display for PrewarmCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { source, nodes, limits: _, method } => {
                f.write_str("pre-warm")?;
                match source {
                    PrewarmSource::Template => f.write_str(" the template's images")?,
                    PrewarmSource::Images(images) => {
                        images.iter().try_for_each(|(container, image)| write!(f, " {container}={image}"))?;
                    }
                    PrewarmSource::Revision(hash) => write!(f, " the images of revision {hash}")?,
                }
                match nodes {
                    PrewarmNodes::All => Ok(()),
                    PrewarmNodes::Selector(selector) => write!(f, " on nodes with {selector}"),
                    PrewarmNodes::LetGo => f.write_str(" on the nodes that may be updated now"),
                    PrewarmNodes::StepAhead => {
                        f.write_str(" on the nodes that may be updated now and those of the next step")
                    }
                    PrewarmNodes::Node(name) => write!(f, " on {name}"),
                }?;
                match method {
                    PrewarmMethod::Pods => Ok(()),
                    PrewarmMethod::StatefulSet => f.write_str(" by StatefulSet"),
                }
            }
            Self::Pause => f.write_str("pause pre-warming"),
            Self::Resume => f.write_str("go on pre-warming"),
            Self::Retry => f.write_str("pre-warm again what failed"),
            Self::Cancel => f.write_str("cancel pre-warming"),
        }
    }
}

/// The end of the answer to [`Command::SetImage`]. A command that lets nodes go at the same time leaves it out.
pub const BEFORE_THE_FIRST_STEP: &str = "; no pod is replaced before the first step";
/// The same at the end of a sentence of the preview, where no other command follows that lets nodes go.
pub const BEFORE_A_STEP: &str = " No pod is replaced before a step.";

/// The sentence of the preview of a command that lets nodes go where nobody drives. A command that drives afterwards leaves it out.
pub const NOBODY_DRIVES: &str = "Nobody drives: no pod is replaced before somebody does.";
/// The end of the line about its deletions in the preview of the same command.
pub const SENT_BY_THE_NEXT: &str = " (sent by whoever drives next: nobody does now)";

/// How far a rollout may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// To the next step of the plan.
    Next,
    /// To the step before. Reverts no node: it only stops more from being updated.
    Back,
    /// So that this many nodes are updated in total.
    Updated(IntOrPercent),
    /// So that this many pods stay at the old revision.
    Partition(IntOrPercent),
}

/// Whether a release may leave nodes at an old revision.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Early {
    /// Refuse while nodes are not at the target.
    Refuse,
    /// Release all the same: the controller will then replace the rest by itself.
    Accept,
}

/// Whether to ask the present driver for the lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Takeover {
    /// Drive only if nobody else does.
    IfFree,
    /// Ask the present driver to hand over; a dead one is succeeded when its lease has run out.
    Ask,
}

/// What a command would do, before it is done.
#[derive(Clone, PartialEq, Debug)]
pub struct Preview {
    /// The command in one line.
    pub title: String,
    /// What will happen, a sentence a line: how many nodes, under which budget, what is not undone by itself.
    pub effects: Vec<String>,
    /// Other managers of the DaemonSet that may set it back, and how to hold them meanwhile.
    pub warnings: Vec<String>,
    /// The nodes that would be updated, in the order in which they would go.
    pub nodes: Arc<[Str]>,
    /// The nodes on which images are pulled for pre-warming, in the order in which they go, as far as there is one.
    pub pulls_on: Arc<[Str]>,
    /// The changes to the template; empty if the template stays as it is.
    pub changes: Arc<[FieldChange]>,
    /// The API calls it makes, in `kubectl`-like words.
    pub calls: Vec<String>,
    /// How much it can break.
    pub danger: Danger,
    /// Whether it is dangerous because its own budget lets every node be down at once, and nothing goes beyond that budget.
    pub all_may_be_down: bool,
    /// Whether it is an `undo` that begins a rollout to a later revision, and rolls nothing back.
    pub leads_later: bool,
    /// The warning, also among [`Self::warnings`], that the rollout halted at the revision to which the command leads.
    pub halted_before: Option<String>,
    /// The pause by a person that the command lifts beside its own purpose, and that has to be agreed to: anybody's pause if the image
    /// changes, somebody else's if the rollout is rolled back.
    pub lifts_pause: Option<Paused>,
    /// The failed nodes that the command accepts.
    pub accepts: Arc<[Str]>,
    /// The command with the number in it to which it was resolved, if that number follows from the state of the rollout: who confirms this one
    /// gets what this preview shows, whatever others have changed meanwhile.
    pub pinned: Option<Box<Command>>,
}

impl Preview {
    /// What is agreed to by the DaemonSet's name, as what the command does; `None` if it needs no name.
    pub fn beyond_in_words(&self) -> Option<&'static str> {
        match (self.danger, self.all_may_be_down) {
            (Danger::ExceedsBudget, true) => Some("lets every node be down at once"),
            (Danger::ExceedsBudget, false) => Some("can take down more nodes than the budget allows"),
            _ => None,
        }
    }
}

/// Why a command was refused. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The DaemonSet is not there, or not loaded yet.
    #[error("the DaemonSet is not loaded: {0}")]
    NotLoaded(Str),
    /// The facts that the judgement needs cannot be seen, or are too old.
    #[error("the view is too stale to judge: {0}")]
    Stale(Str),
    /// The API server would refuse it.
    #[error("not permitted: {0}; ask for a role that allows it")]
    NotPermitted(Right),
    /// Somebody else drives.
    #[error("{holder} drives this rollout; take over first")]
    DrivenBy {
        /// Who.
        holder: Str,
    },
    /// The record, or the request for pre-warming, cannot be read.
    #[error("the rollout's record cannot be read, and nothing is started before it can: {why}")]
    RecordUnreadable {
        /// Why it cannot be read.
        why: Str,
    },
    /// The command makes no sense in the present state; the text says why and what to try.
    #[error("{0}")]
    NotNow(String),
    /// An object that the command names is not there; the text says what there is.
    #[error("{0}")]
    NotThere(String),
    /// The command could not be understood; the text says what, where and what to try.
    #[error("{0}")]
    Invalid(String),
}

/// Why a command that was accepted was not carried out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsettled {
    /// The API server refused a write that the command takes, or the change cannot be made: nothing was changed, or the text says what stays. After a refused
    /// change of the template the rollout is paused.
    #[error("{0}")]
    Refused(String),
    /// Somebody else has changed the fields that the command sets since it was given; nothing was changed.
    #[error("{0}")]
    Overtaken(String),
    /// The API server does not accept the credentials, or does not accept them any more: nothing was changed, or the text says what stays.
    #[error("{0}")]
    Unauthorized(String),
    /// The change could not be written, or was called off.
    #[error("{0}")]
    Failed(String),
}
