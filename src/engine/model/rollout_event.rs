//! Events of a rollout as data: who did what, when, and with which outcome.
//!
//! ```text
//!  the engine says ──▶ RolloutEvent ──▶ Visibility::Log    the local log only (every pod, every write)
//!                                       Visibility::Timeline and this console's timeline
//!                                       Visibility::Cluster  and an Event on the DaemonSet
//! ```
//!
//! The machine names (`kind`, `outcome`) are stable, because programs read them. The words are for people; both are made from the
//! same fields. Each rollout event is made once, by one engine: an operator's command by the engine that it was given to, an action
//! of the rollout by the engine that drives. So two consoles never report the same event twice.
//!
//! A rollout event never contains a template, environment or annotation. Texts of servers in `said` are scrubbed before they
//! are written anywhere.

mod by_others;
mod command_reason;
mod driver_reason;
mod facts;
mod halts;
mod image_changed;
mod phrases;
mod questions;
mod renumbered;
mod taken_away;
mod words;

use serde::Serialize;

pub use self::by_others::MadeByOthers;
use self::command_reason::CommandReason;
use self::driver_reason::DriverReason;
pub use self::facts::EventFacts;
#[cfg(test)]
pub(crate) use self::facts::tests::telling;
pub use self::halts::RevisionHalt;
pub(crate) use self::halts::{halts, last_rolled_back_to};
pub use self::image_changed::ImageChanged;
pub use self::renumbered::with_present_numbers;
pub(crate) use self::renumbered::{NumberedRevision, ROLLED_BACK, WENT_TO, earlier_numbers, template_of, with_earlier};
use self::taken_away::TAKEN_AWAY;
pub use self::taken_away::taken_away_together;
pub(crate) use self::taken_away::{TOLD_TO_ALL, is_after_update};
use super::Str;
use super::command::{Command, CommandId};
use super::disruption::PodDisruption;
use super::effect::EffectErrorKind;
use super::facts::Severity;
use super::released_strategy::ReleasedStrategy;
use super::time::Timestamp;

/// One event of a rollout.
#[derive(Clone, PartialEq, Debug)]
pub struct RolloutEvent {
    /// When, by the clock that the engine is handed.
    pub at: Timestamp,
    /// Which person did it, as the record names them (`ada@console-3`); `None` if the rollout did it by itself.
    pub by: Option<Str>,
    /// The kind of event.
    pub kind: RolloutEventKind,
    /// The outcome.
    pub outcome: EventOutcome,
    /// Ties a command to its outcome, within one process.
    pub command: Option<CommandId>,
    /// The written change in words, or why it was not written.
    pub said: Option<Str>,
    /// Where the event is written.
    pub visibility: Visibility,
    /// The hash of the revision that the event is about: where the rollout halted, where every node is, or what the template is changed to. Numbers change
    /// when a template comes back, hashes do not. `None` for events that are about no revision, and where it was not known.
    pub revision: Option<Str>,
}

/// Where a rollout event is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Visibility {
    /// The local log only: intermediate steps, requests for what is so already, and events that come by the thousand.
    Log,
    /// Also the timeline of this console: events that other processes write themselves, and those that changed nothing.
    Timeline,
    /// Also an Event on the DaemonSet, for everybody.
    Cluster,
}

/// The kind of a rollout event.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RolloutEventKind {
    /// Pod replacement was taken over from the DaemonSet's own controller.
    Adopted,
    /// The template was changed at somebody's request; a rollout to the new revision is recorded.
    TemplateChanged {
        /// The revision before.
        from: Option<i64>,
        /// The revision now.
        to: Option<i64>,
        /// The differences, image by image.
        images: Vec<ImageChanged>,
    },
    /// Somebody else changed the template in the middle of the rollout: it is paused.
    TemplateChangedByOthers {
        /// Who, if managedFields tell.
        manager: Option<Str>,
        /// How somebody changed it, in words without values: `: agent v2 → v1`; empty if that is not known.
        how: Str,
        /// The response to it.
        then: TemplateResponse,
    },
    /// A change of the template was refused, or cannot be made: nothing was changed, and the rollout paused.
    ChangeRefused {
        /// The refused change, the server's answer, and what to do.
        why: Str,
    },
    /// The API server would not admit a pod of the target's template: no pod is replaced, and the rollout paused.
    PodNotAdmitted {
        /// Which revision's, and the server's answer.
        why: Str,
    },
    /// Somebody changed the update strategy back while the rollout ran.
    StrategyDrifted {
        /// Who, if managedFields tell.
        manager: Option<Str>,
        /// The response to it.
        then: DriftResponse,
        /// How often `OnDelete` was set again lately, this time included.
        enforced: u32,
    },
    /// Too many nodes failed at the new revision: nothing more is started.
    Halted {
        /// Counts the halts of this rollout, from 1.
        number: u32,
        /// The revision that was rolled out, by its number at that time; `None` if its ControllerRevision was not there.
        revision: Option<i64>,
        /// What failed, in our words.
        why: Str,
        /// The failed nodes; at most [`NODES_NAMED`] are named.
        nodes: Vec<Str>,
    },
    /// The rollout goes back to the revision it came from, as its gates say.
    RollingBack {
        /// That revision, by its number; by its hash if its ControllerRevision was not there.
        to: Str,
    },
    /// Every node is at the target.
    Complete {
        /// How many nodes.
        nodes: u32,
        /// Whether the target was an earlier revision, to which the rollout went back.
        back: bool,
        /// The target, by its number at that time; `None` if its ControllerRevision was not there.
        revision: Option<i64>,
    },
    /// Every node that was to be pre-warmed by StatefulSets has the images: the StatefulSets are deleted, and the request ends.
    PrewarmComplete {
        /// How many nodes were to be pre-warmed.
        nodes: u32,
    },
    /// The DaemonSet was handed back to its controller.
    Released {
        /// The update strategy that the DaemonSet has now.
        strategy: ReleasedStrategy,
    },
    /// This process drives now; nobody drove before.
    LeaseAcquired,
    /// This process drives now; somebody else drove before.
    LeaseTakenOver {
        /// Who drove before.
        from: Str,
        /// How the lease came to this process.
        succession: Succession,
    },
    /// This process does not drive any more, although it meant to.
    LeaseLost {
        /// Who holds the lease now; `None`: it could not be renewed in time.
        to: Option<Str>,
    },
    /// This process could not renew the lease in time, and another process has driven since: this one does not drive again by itself.
    DroveMeanwhile {
        /// Who has driven since; `None`: another rollout has begun since, which nobody has driven yet.
        by: Option<Str>,
    },
    /// This process stopped driving and gave the lease back.
    LeaseGivenBack {
        /// Who had asked for the lease.
        to: Option<Str>,
    },
    /// Somebody deleted the Lease while this process held it: the operators' intent is gone with its record.
    RecordDeleted,
    /// Somebody took the record off the Lease while this process held it.
    RecordRemoved,
    /// The record became unreadable while this process held the Lease.
    RecordUnreadable {
        /// Why it cannot be read.
        why: Str,
    },
    /// Somebody put an older copy of the Lease back while this process held it: what was asked for since is gone. The rollout pauses.
    RecordPutBack,
    /// Somebody else took away the pod of a node that the rollout had not let go, or had updated: its next pod is at the target.
    PodTakenAway {
        /// Its node.
        node: Str,
        /// The pod was at the target already.
        updated: bool,
        /// Its name.
        pod: Str,
        /// Its uid.
        uid: Str,
        /// Why it had failed, in one word of its kubelet, such as `Evicted`: its controller replaces such pods. `None` if it was
        /// deleted, evicted through the API or relabelled.
        failed: Option<Str>,
        /// Who announced that it takes the pod away; `None` if nobody did.
        disruption: Option<PodDisruption>,
    },
    /// The labels of a node were changed, so that the rollout's selector means the node, or does so no more.
    Selected {
        /// The node.
        node: Str,
        /// The selector.
        selector: Str,
        /// Whether it means the node now.
        means: bool,
    },
    /// This process saw another one drive, which has not renewed its lease for so long that the lease has run out.
    DriverSilent {
        /// Who.
        holder: Str,
    },
    /// The other process renewed its lease after all.
    DriverBack {
        /// Who.
        holder: Str,
    },
    /// A pod was replaced: its deletion was sent, or answered.
    DeletePod {
        /// Its node.
        node: Str,
        /// Its name.
        pod: Str,
        /// Its uid, which the deletion carries as precondition.
        uid: Str,
    },
    /// A pod for pre-warming was made: its creation was sent, or answered.
    CreateWarmPod {
        /// The node it is pinned to.
        node: Str,
        /// Its name.
        pod: Str,
        /// Its uid, once the server has answered with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        uid: Option<Str>,
    },
    /// A pod for pre-warming was deleted: its deletion was sent, or answered.
    DeleteWarmPod {
        /// Its node.
        node: Str,
        /// Its name.
        pod: Str,
        /// Its uid, which the deletion carries as precondition.
        uid: Str,
    },
    /// A StatefulSet for pre-warming was made: its creation was sent, or answered.
    CreateWarmSet {
        /// Its name.
        set: Str,
        /// Its uid, once the server has answered with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        uid: Option<Str>,
    },
    /// A StatefulSet for pre-warming was deleted: its deletion was sent, or answered.
    DeleteWarmSet {
        /// Its name.
        set: Str,
        /// Its uid, which the deletion carries as precondition.
        uid: Str,
    },
    /// The DaemonSet was patched: the patch was sent, or answered.
    PatchDaemonSet {
        /// The change that the patch makes.
        change: PatchChange,
        /// Whether it failed as a dry run, which comes first: the patch itself was not sent.
        #[serde(rename = "dryRun", skip_serializing_if = "std::ops::Not::not")]
        dry_run: bool,
    },
    /// An Event on the DaemonSet tells this, and that a rolldeck process wrote the Event. Anybody who may create Events can claim that.
    Reported {
        /// The Event's reason.
        reason: Str,
        /// The process that wrote it, as the Event claims: as a Lease would name it.
        identity: Str,
        /// The Event's name.
        event: Str,
        /// Whether it is bad news.
        severity: Severity,
    },
    /// An operator gave a command.
    #[serde(untagged)]
    Command(Command),
}

/// The reasons of Events about the end of a rollout or its own actions, which also end a pause.
const ROLLING_BACK: &str = "RolloutRollingBack";
const TEMPLATE_CHANGED: &str = "RolloutTemplateChanged";
const COMPLETE: &str = "RolloutComplete";
/// How the words of that event begin where the rollout led back.
const ALL_ROLLED_BACK: &str = "rolled back: ";
/// How the words of an event begin by which a process begins to drive.
const DRIVES_NOW: &str = "drives the rollout now";
pub(crate) const RECORD_DELETED: &str = "RolloutRecordDeleted";
pub(crate) const RECORD_UNREADABLE: &str = "RolloutRecordUnreadable";

/// The most nodes that one rollout event names; the snapshot has them all.
pub const NODES_NAMED: usize = 50;

/// The response to a strategy that was changed back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DriftResponse {
    /// The rollout paused.
    Paused,
    /// `OnDelete` is set again at once, as the operator chose.
    Enforced,
    /// None: the rollout was paused already.
    Noted,
}

/// The response to a template that somebody else changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TemplateResponse {
    /// The rollout paused.
    Paused,
    /// None: the rollout was paused already.
    Noted,
    /// None: the template is that of the rollout's target again, and the rollout stays paused.
    PutBack,
}

/// How the lease came from somebody else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Succession {
    /// The other process was asked, and gave it back.
    HandedOver,
    /// The other process had stopped renewing it.
    Expired,
}

/// The change that a patch of the DaemonSet makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PatchChange {
    /// `OnDelete` is set, and the original strategy saved.
    Adopt,
    /// The template.
    Template,
    /// The annotation of a change that is over is removed.
    ForgetChange,
    /// The original strategy is restored.
    Release,
}

/// The outcome of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EventOutcome {
    /// A command was accepted and is on its way.
    Requested,
    /// A command was refused; nothing was changed.
    Refused,
    /// A write was sent.
    Sent,
    /// The command or the write is done.
    Done,
    /// A command could not be carried out.
    Failed,
    /// 409: the object had changed. Nothing was done.
    Conflict,
    /// 404: the object was gone already.
    NotFound,
    /// 401: the credentials were not accepted.
    Unauthorized,
    /// 403.
    Forbidden,
    /// Another refusal of the server.
    Invalid,
    /// The server asked to wait.
    Throttled,
    /// The write was not sent after all.
    NotSent,
    /// No answer came: the write may have taken effect.
    LostAnswer,
}

impl EventOutcome {
    /// Whether the outcome is bad news, whatever the kind of event.
    fn severity(self) -> Severity {
        match self {
            Self::Failed | Self::Unauthorized | Self::Forbidden | Self::Invalid => Severity::Warning,
            Self::Requested
            | Self::Refused
            | Self::Sent
            | Self::Done
            | Self::Conflict
            | Self::NotFound
            | Self::Throttled
            | Self::NotSent
            | Self::LostAnswer => Severity::Normal,
        }
    }
}

impl From<EffectErrorKind> for EventOutcome {
    fn from(kind: EffectErrorKind) -> Self {
        match kind {
            EffectErrorKind::Conflict => Self::Conflict,
            EffectErrorKind::NotFound => Self::NotFound,
            EffectErrorKind::Unauthorized => Self::Unauthorized,
            EffectErrorKind::Forbidden => Self::Forbidden,
            EffectErrorKind::Invalid => Self::Invalid,
            EffectErrorKind::Throttled { .. } => Self::Throttled,
            EffectErrorKind::NotSent | EffectErrorKind::TooLate => Self::NotSent,
            EffectErrorKind::Unknown => Self::LostAnswer,
        }
    }
}

impl RolloutEvent {
    /// Whether the event is bad news.
    pub fn severity(&self) -> Severity {
        match &self.kind {
            RolloutEventKind::Reported { severity, .. } => *severity,
            RolloutEventKind::Halted { .. }
            | RolloutEventKind::RollingBack { .. }
            | RolloutEventKind::TemplateChangedByOthers { .. }
            | RolloutEventKind::ChangeRefused { .. }
            | RolloutEventKind::PodNotAdmitted { .. }
            | RolloutEventKind::StrategyDrifted { .. }
            | RolloutEventKind::LeaseLost { .. }
            | RolloutEventKind::DroveMeanwhile { .. }
            | RolloutEventKind::RecordDeleted
            | RolloutEventKind::RecordRemoved
            | RolloutEventKind::RecordUnreadable { .. }
            | RolloutEventKind::RecordPutBack
            | RolloutEventKind::PodTakenAway { .. }
            | RolloutEventKind::DriverSilent { .. } => Severity::Warning,
            RolloutEventKind::Adopted
            | RolloutEventKind::TemplateChanged { .. }
            | RolloutEventKind::Complete { .. }
            | RolloutEventKind::PrewarmComplete { .. }
            | RolloutEventKind::Released { .. }
            | RolloutEventKind::LeaseAcquired
            | RolloutEventKind::LeaseTakenOver { .. }
            | RolloutEventKind::LeaseGivenBack { .. }
            | RolloutEventKind::Selected { .. }
            | RolloutEventKind::DriverBack { .. }
            | RolloutEventKind::DeletePod { .. }
            | RolloutEventKind::CreateWarmPod { .. }
            | RolloutEventKind::DeleteWarmPod { .. }
            | RolloutEventKind::CreateWarmSet { .. }
            | RolloutEventKind::DeleteWarmSet { .. }
            | RolloutEventKind::PatchDaemonSet { .. } => self.outcome.severity(),
            RolloutEventKind::Command(command) => match command {
                Command::GiveUpDriving { .. } => Severity::Warning,
                Command::Adopt
                | Command::SetImage(_)
                | Command::Step(_)
                | Command::Select(_)
                | Command::Pause { .. }
                | Command::Resume
                | Command::Undo { .. }
                | Command::Release(_)
                | Command::Prewarm(_)
                | Command::Tune(_)
                | Command::Tuned { .. }
                | Command::Drive(_)
                | Command::EndDriving { .. }
                | Command::StopDriving => self.outcome.severity(),
            },
        }
    }

    /// The reason of the Kubernetes Event about it: short, CamelCase, and the same in every version.
    pub fn reason(&self) -> &str {
        if self.outcome == EventOutcome::Failed {
            return "RolloutCommandFailed";
        }
        match &self.kind {
            RolloutEventKind::Adopted => "RolloutAdopted",
            RolloutEventKind::TemplateChanged { .. } => TEMPLATE_CHANGED,
            RolloutEventKind::TemplateChangedByOthers { .. } => "RolloutTemplateChangedByOthers",
            RolloutEventKind::ChangeRefused { .. } => "RolloutChangeRefused",
            RolloutEventKind::PodNotAdmitted { .. } => "RolloutPodNotAdmitted",
            RolloutEventKind::StrategyDrifted { .. } => "RolloutStrategyDrifted",
            RolloutEventKind::Halted { .. } => "RolloutHalted",
            RolloutEventKind::RollingBack { .. } => ROLLING_BACK,
            RolloutEventKind::Complete { .. } => COMPLETE,
            RolloutEventKind::PrewarmComplete { .. } => "RolloutPrewarmComplete",
            RolloutEventKind::Released { .. } => "RolloutReleased",
            RolloutEventKind::LeaseAcquired => DriverReason::Driven.word(),
            RolloutEventKind::LeaseTakenOver { .. } => DriverReason::TakenOver.word(),
            RolloutEventKind::LeaseLost { .. } | RolloutEventKind::DroveMeanwhile { .. } => DriverReason::Lost.word(),
            RolloutEventKind::LeaseGivenBack { .. } => DriverReason::Left.word(),
            RolloutEventKind::RecordDeleted | RolloutEventKind::RecordRemoved => RECORD_DELETED,
            RolloutEventKind::RecordUnreadable { .. } => RECORD_UNREADABLE,
            RolloutEventKind::RecordPutBack => "RolloutRecordPutBack",
            RolloutEventKind::PodTakenAway { .. } => TAKEN_AWAY,
            RolloutEventKind::Selected { .. } => "RolloutNodeSelected",
            RolloutEventKind::DriverSilent { .. } => DriverReason::Silent.word(),
            RolloutEventKind::DriverBack { .. } => DriverReason::Back.word(),
            RolloutEventKind::DeletePod { .. } => "RolloutPodDeleted",
            RolloutEventKind::CreateWarmPod { .. } => "RolloutPrewarmPodCreated",
            RolloutEventKind::DeleteWarmPod { .. } => "RolloutPrewarmPodDeleted",
            RolloutEventKind::CreateWarmSet { .. } => "RolloutPrewarmStatefulSetCreated",
            RolloutEventKind::DeleteWarmSet { .. } => "RolloutPrewarmStatefulSetDeleted",
            RolloutEventKind::PatchDaemonSet { .. } => "RolloutDaemonSetPatched",
            RolloutEventKind::Reported { reason, .. } => reason,
            RolloutEventKind::Command(command) => CommandReason::of(command.inner()).word(),
        }
    }
}
