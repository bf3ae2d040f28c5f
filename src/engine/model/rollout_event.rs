//! What happened in a rollout, as data: who did what, when, and what came of it.
//!
//! ```text
//!  the engine says ──▶ RolloutEvent ──▶ Visibility::Log    the local log only (every pod, every write)
//!                                       Visibility::Timeline and this console's timeline
//!                                       Visibility::Cluster  and an Event on the DaemonSet
//! ```
//!
//! The machine names (`kind`, `outcome`) are stable: they are read by programs. The words are for people; both are made from
//! the same fields. Each rollout event is made once, by one engine: an operator's command by the one that it was given to, what a
//! rollout does by itself by the one that drives. So two consoles never report the same event twice.
//!
//! A rollout event never contains a template, environment or annotation. Texts of servers in `said` are scrubbed before they
//! are written anywhere.

mod command_reason;
mod driver_reason;
mod halts;
mod phrases;
mod renumbered;
mod taken_away;
mod words;

use serde::Serialize;

use self::command_reason::CommandReason;
use self::driver_reason::DriverReason;
pub use self::halts::RevisionHalt;
pub(crate) use self::halts::halts;
pub use self::renumbered::with_present_numbers;
pub(crate) use self::renumbered::{ROLLED_BACK, earlier_numbers, template_of, with_earlier};
use self::taken_away::TAKEN_AWAY;
pub(crate) use self::taken_away::TOLD_TO_ALL;
pub use self::taken_away::taken_away_together;
use super::Str;
use super::command::{Command, CommandId};
use super::effect::EffectErrorKind;
use super::facts::Severity;
use super::person_of;
use super::time::Timestamp;

/// One thing that happened.
#[derive(Clone, PartialEq, Debug)]
pub struct RolloutEvent {
    /// When, by the clock that the engine is handed.
    pub at: Timestamp,
    /// Which person did it, as the record names them (`ada@console-3`); `None` when the rollout did it by itself.
    pub by: Option<Str>,
    /// What.
    pub kind: RolloutEventKind,
    /// What came of it.
    pub outcome: EventOutcome,
    /// Ties what was asked to what came of it, within one process.
    pub command: Option<CommandId>,
    /// What was written, or why not, in words.
    pub said: Option<Str>,
    /// Where it is written.
    pub visibility: Visibility,
}

/// Where a rollout event is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Visibility {
    /// The local log only: intermediate steps, and events that come by the thousand.
    Log,
    /// Also the timeline of this console: events that other processes write themselves, and those that changed nothing.
    Timeline,
    /// Also an Event on the DaemonSet, for everybody.
    Cluster,
}

/// What happened.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RolloutEventKind {
    /// Pod replacement was taken over from the DaemonSet's own controller.
    Adopted,
    /// The template was changed, as somebody asked; a rollout to the new revision is recorded.
    TemplateChanged {
        /// The revision before.
        from: Option<i64>,
        /// The revision now.
        to: Option<i64>,
        /// What differs, image by image.
        images: Vec<ImageChanged>,
    },
    /// Somebody else changed the template in the middle of the rollout: it is paused.
    TemplateChangedByOthers {
        /// Who, if managedFields tell.
        manager: Option<Str>,
        /// What became of it, in words without values: `: agent v2 → v1`; empty where that is not known.
        how: Str,
        /// What was done about it.
        then: TemplateResponse,
    },
    /// A change of the template was refused, or cannot be made: nothing was changed, and the rollout paused.
    ChangeRefused {
        /// What was refused, what the server said, and what to do.
        why: Str,
    },
    /// Somebody changed the update strategy back while the rollout ran.
    StrategyDrifted {
        /// Who, if managedFields tell.
        manager: Option<Str>,
        /// What was done about it.
        then: DriftResponse,
        /// How often `OnDelete` was set again lately, this time included.
        enforced: u32,
    },
    /// Too many nodes failed at the new revision: nothing more is started.
    Halted {
        /// Counts the halts of this rollout, from 1.
        number: u32,
        /// The revision that was rolled out, by its number then; `None` where its ControllerRevision was not there.
        revision: Option<i64>,
        /// What failed, in our words.
        why: Str,
        /// Where; at most [`NODES_NAMED`] are named.
        nodes: Vec<Str>,
    },
    /// The rollout goes back to the revision it came from, as its gates say.
    RollingBack {
        /// That revision, by its number; by its hash where its ControllerRevision was not there.
        to: Str,
    },
    /// Every node is at the target.
    Complete {
        /// How many nodes.
        nodes: u32,
        /// The target was an earlier revision, to which it was rolled back.
        back: bool,
        /// The target, by its number then; `None` where its ControllerRevision was not there.
        revision: Option<i64>,
    },
    /// Every node that was to be pre-warmed by StatefulSets has the images: they are deleted, and what was asked for ends.
    PrewarmComplete {
        /// How many nodes.
        nodes: u32,
    },
    /// The DaemonSet was handed back to its controller.
    Released,
    /// This process drives now: nobody did.
    LeaseAcquired,
    /// This process drives now: somebody else did before.
    LeaseTakenOver {
        /// Who.
        from: Str,
        /// How it came.
        succession: Succession,
    },
    /// This process does not drive any more, though it meant to.
    LeaseLost {
        /// Who holds the lease now; `None`: it could not be renewed in time.
        to: Option<Str>,
    },
    /// This process stopped driving and gave the lease back.
    LeaseGivenBack {
        /// Who had asked for it.
        to: Option<Str>,
    },
    /// Somebody deleted the Lease while this process held it: what was asked for is gone with its record.
    RecordDeleted,
    /// The pod of a node that the rollout had not let go was taken away by somebody else: its next pod is at the target.
    PodTakenAway {
        /// Its node.
        node: Str,
        /// Its name.
        pod: Str,
        /// Its uid.
        uid: Str,
        /// Why it had failed, in one word of its kubelet, such as `Evicted`: its controller replaces such pods. `None` where it was deleted,
        /// evicted through the API or relabelled.
        failed: Option<Str>,
    },
    /// Another process drove before our eyes, and has not renewed its lease for so long that it has run out.
    DriverSilent {
        /// Who.
        holder: Str,
    },
    /// It renewed its lease after all.
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
        /// What it changes.
        change: PatchChange,
        /// It failed as a dry run, which comes first: the patch itself was not sent.
        #[serde(rename = "dryRun", skip_serializing_if = "std::ops::Not::not")]
        dry_run: bool,
    },
    /// An Event on the DaemonSet says it, and that a rolldeck process wrote it. Anybody who may create Events can claim that.
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

/// The reasons of Events that tell what ends a rollout, or what it does by itself, and a pause with that.
const ROLLING_BACK: &str = "RolloutRollingBack";
const COMPLETE: &str = "RolloutComplete";
const RECORD_DELETED: &str = "RolloutRecordDeleted";

/// How many nodes are named in one rollout event at most; the snapshot has them all.
pub const NODES_NAMED: usize = 50;

/// One container's image, before and after.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageChanged {
    /// The container.
    pub container: Str,
    /// The image before, if the container was there.
    pub from: Option<Str>,
    /// The image now, if the container still is.
    pub to: Option<Str>,
}

/// What was done about a strategy that was changed back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DriftResponse {
    /// The rollout paused.
    Paused,
    /// `OnDelete` is set again at once, as the operator chose.
    Enforced,
    /// Nothing: it was paused already.
    Noted,
}

/// What was done about a template that somebody else changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TemplateResponse {
    /// The rollout paused.
    Paused,
    /// Nothing: it was paused already.
    Noted,
    /// Nothing: it is that of the rollout's target again, and the rollout stays paused.
    PutBack,
}

/// How the lease came from somebody else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Succession {
    /// They were asked, and gave it back.
    HandedOver,
    /// They had stopped renewing it.
    Expired,
}

/// What a patch of the DaemonSet changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PatchChange {
    /// `OnDelete`, the original strategy saved.
    Adopt,
    /// The template.
    Template,
    /// The annotation of a change that is over removed.
    ForgetChange,
    /// The original strategy restored.
    Release,
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EventOutcome {
    /// A command was accepted and is on its way.
    Requested,
    /// A command was refused; nothing was changed.
    Refused,
    /// A write was sent.
    Sent,
    /// It is done.
    Done,
    /// A command could not be carried out.
    Failed,
    /// 409: the object had changed. Nothing was done.
    Conflict,
    /// 404: it was gone already.
    NotFound,
    /// 401 or 403.
    Forbidden,
    /// Another refusal of the server.
    Invalid,
    /// The server asked to wait.
    Throttled,
    /// It was not sent after all.
    NotSent,
    /// No answer came: it may have been done.
    LostAnswer,
}

impl EventOutcome {
    /// Whether it is bad news, whatever was done.
    fn severity(self) -> Severity {
        match self {
            Self::Failed | Self::Forbidden | Self::Invalid => Severity::Warning,
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
            EffectErrorKind::Forbidden => Self::Forbidden,
            EffectErrorKind::Invalid => Self::Invalid,
            EffectErrorKind::Throttled { .. } => Self::Throttled,
            EffectErrorKind::NotSent | EffectErrorKind::TooLate => Self::NotSent,
            EffectErrorKind::Unknown => Self::LostAnswer,
        }
    }
}

impl RolloutEvent {
    /// Whether it is bad news.
    pub fn severity(&self) -> Severity {
        match &self.kind {
            RolloutEventKind::Reported { severity, .. } => *severity,
            RolloutEventKind::Halted { .. }
            | RolloutEventKind::RollingBack { .. }
            | RolloutEventKind::TemplateChangedByOthers { .. }
            | RolloutEventKind::ChangeRefused { .. }
            | RolloutEventKind::StrategyDrifted { .. }
            | RolloutEventKind::LeaseLost { .. }
            | RolloutEventKind::RecordDeleted
            | RolloutEventKind::PodTakenAway { .. }
            | RolloutEventKind::DriverSilent { .. } => Severity::Warning,
            RolloutEventKind::Adopted
            | RolloutEventKind::TemplateChanged { .. }
            | RolloutEventKind::Complete { .. }
            | RolloutEventKind::PrewarmComplete { .. }
            | RolloutEventKind::Released
            | RolloutEventKind::LeaseAcquired
            | RolloutEventKind::LeaseTakenOver { .. }
            | RolloutEventKind::LeaseGivenBack { .. }
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
                | Command::StopDriving => self.outcome.severity(),
            },
        }
    }

    /// The reason of the Kubernetes Event that tells of it: short, CamelCase, and the same in every version.
    pub fn reason(&self) -> &str {
        if self.outcome == EventOutcome::Failed {
            return "RolloutCommandFailed";
        }
        match &self.kind {
            RolloutEventKind::Adopted => "RolloutAdopted",
            RolloutEventKind::TemplateChanged { .. } => "RolloutTemplateChanged",
            RolloutEventKind::TemplateChangedByOthers { .. } => "RolloutTemplateChangedByOthers",
            RolloutEventKind::ChangeRefused { .. } => "RolloutChangeRefused",
            RolloutEventKind::StrategyDrifted { .. } => "RolloutStrategyDrifted",
            RolloutEventKind::Halted { .. } => "RolloutHalted",
            RolloutEventKind::RollingBack { .. } => ROLLING_BACK,
            RolloutEventKind::Complete { .. } => COMPLETE,
            RolloutEventKind::PrewarmComplete { .. } => "RolloutPrewarmComplete",
            RolloutEventKind::Released => "RolloutReleased",
            RolloutEventKind::LeaseAcquired => DriverReason::Driven.word(),
            RolloutEventKind::LeaseTakenOver { .. } => DriverReason::TakenOver.word(),
            RolloutEventKind::LeaseLost { .. } => DriverReason::Lost.word(),
            RolloutEventKind::LeaseGivenBack { .. } => DriverReason::Left.word(),
            RolloutEventKind::RecordDeleted => RECORD_DELETED,
            RolloutEventKind::PodTakenAway { .. } => TAKEN_AWAY,
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

impl RolloutEvent {
    /// Whether another process reports by an Event that it carried out a command which changes where the rollout goes or stands.
    pub fn reports_a_command(&self) -> bool {
        let moves = |reason: &CommandReason| reason.moves_the_rollout() && reason.word() == self.reason();
        self.reported_by().is_some() && CommandReason::ALL.iter().any(moves)
    }

    /// Whether it tells what ends a pause: a command that lifts it, a roll back by itself, or the end of the rollout or of its record.
    pub fn ends_a_pause(&self) -> bool {
        let reason = self.reason();
        let lifts = |command: &CommandReason| command.lifts_a_pause() && command.word() == reason;
        self.outcome == EventOutcome::Done
            && (CommandReason::ALL.iter().any(lifts) || [ROLLING_BACK, COMPLETE, RECORD_DELETED].contains(&reason))
    }

    /// Whether it tells that the rollout goes back, as somebody asked or by itself.
    pub fn rolls_back(&self) -> bool {
        self.outcome == EventOutcome::Done && [CommandReason::Undone.word(), ROLLING_BACK].contains(&self.reason())
    }

    /// Whether it tells that the DaemonSet was handed back.
    pub(crate) fn releases(&self) -> bool {
        self.outcome == EventOutcome::Done && self.reason() == CommandReason::Released.word()
    }

    /// Which person did it, as far as known: by the word of an Event, where it is known from an Event only. `None` where the rollout did it by
    /// itself.
    pub fn person(&self) -> Option<String> {
        let reported = || self.reporter_in_words().filter(|by| !by.starts_with('('));
        self.by.as_deref().map(str::to_owned).or_else(reported)
    }

    /// Whether it is about who drives, or that nobody does.
    pub fn is_about_the_driver(&self) -> bool {
        DriverReason::ALL.iter().any(|reason| reason.word() == self.reason())
    }

    /// Who did it by the word of an Event, where it is known from an Event only; in brackets, as in `rolldeck log`, the process in which the
    /// rollout did it by itself.
    pub fn reporter_in_words(&self) -> Option<String> {
        let person = person_of(self.reported_by()?);
        let by_itself = self.said.as_deref().is_some_and(|said| said.ends_with(&format!("by {person})")));
        Some(if by_itself { format!("({person})") } else { person.to_owned() })
    }

    /// The process that an Event claims to be from, where it is known from an Event only.
    pub fn reported_by(&self) -> Option<&Str> {
        match &self.kind {
            RolloutEventKind::Reported { identity, .. } => Some(identity),
            _ => None,
        }
    }
}
