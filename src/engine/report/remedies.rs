//! What an operator can do about a rollout that does not move and about alarms: [`Remedy`]. [`guidance`](super::guidance) says what such a
//! rollout waits for. Only remedies that have an effect are offered: a step after which no further node could go is not.

use std::borrow::Cow;
use std::fmt;

use super::snapshot::alarm::AtOnce;
use super::snapshot::{Alarm, NodeView, Phase, Snapshot};
use crate::engine::model::Str;
use crate::engine::model::record::Direction;
use crate::engine::model::settings::OnDrift;
use crate::engine::model::step_ahead::{NoStep, StepAhead};

/// Something that an operator can do. The command line writes each as a command, the console as a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// Drive.
    Drive,
    /// Take the next step.
    Step(StepAhead),
    /// Let one node be updated: its pod then tells which revision the template has.
    StepForRevision,
    /// Choose canaries.
    Select,
    /// Lift the selector.
    LiftSelector {
        /// How many more nodes may be updated at once then.
        frees: u32,
    },
    /// Give the DaemonSet another image, which begins a new rollout.
    SetImage,
    /// Stop the DaemonSet's own controller.
    Brake,
    /// Stop the DaemonSet's own controller again after a strategy drift. A paused rollout stays paused.
    RestoreOnDelete,
    /// Go on after a pause.
    Resume,
    /// Lift the pause of a DaemonSet that was stopped while no rollout was recorded.
    LiftPause,
    /// Go on after a strategy drift, under `OnDelete`.
    ResumeUnderOnDelete,
    /// Go on with a template that somebody else has changed.
    ResumeWithTemplate,
    /// Go on past a halt.
    ResumePastFailures,
    /// Go on past a halt that the namespace's quota has caused, once that has room for the pods: it refuses those of the earlier revision as well.
    ResumeWithQuota,
    /// Roll back.
    Undo,
    /// Roll back to where the rollout came from, which is this revision.
    UndoTo {
        /// The number of the revision.
        revision: i64,
        /// How many nodes are not at it.
        left: u32,
        /// What its controller does at once, where it is placed elsewhere.
        at_once: AtOnce,
    },
    /// Go back from somebody else's template to the target of the rollout, which is this revision.
    BackToTarget {
        /// The number of the revision.
        revision: i64,
        /// How many nodes are not at it.
        left: u32,
        /// What its controller does at once, where it is placed elsewhere.
        at_once: AtOnce,
    },
    /// Set `OnDelete` again at each strategy drift from now on.
    EnforceOnDelete,
    /// Pause at the next strategy drift.
    PauseOnDrift,
    /// Raise the budget.
    RaiseBudget {
        /// To how many nodes.
        to: u32,
    },
    /// Lower how many nodes pull at once.
    LimitPulls {
        /// To how many nodes.
        to: u32,
    },
    /// Pre-warm the images of the rollout in place of what is pre-warmed now.
    PrewarmTarget {
        /// On all nodes, as the rollout's setting says, and not only on those that may be updated.
        all: bool,
    },
    /// Pull again where pre-warming failed and is not tried again by itself.
    RetryPrewarm,
    /// Let pre-warming go on that is paused.
    ResumePrewarm,
    /// Cancel what is pre-warmed now. The rollout then brings the images that it requires.
    CancelPrewarm,
    /// Hand the DaemonSet back to its controller.
    Release,
    /// Hand the DaemonSet back although its controller then removes serving pods.
    ReleaseEarly,
    /// Begin a new record for a rollout whose record is gone.
    RecordAnew,
    /// Set the limits of a record that was begun anew. The values given here are the present ones, so the command confirms them.
    SetLimits {
        /// How many nodes may be down at once.
        max_unavailable: u32,
        /// For how many seconds a new pod soaks.
        soak: u64,
    },
    /// Drop a record that cannot be read, and hand the DaemonSet back.
    DropUnreadableRecord,
    /// Drop the record of an earlier DaemonSet of the same name.
    DropForeignRecord,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drive => f.write_str("drives it"),
            Self::Step(StepAhead { frees: Some(1), allowed, .. }) => write!(f, "lets 1 node go, {allowed} in total"),
            Self::Step(StepAhead { frees: Some(frees), allowed, .. }) => {
                write!(f, "lets {frees} nodes go, {allowed} in total")
            }
            Self::Step(StepAhead { frees: None, allowed, .. }) => write!(f, "lets {allowed} in total be updated"),
            Self::StepForRevision => f.write_str("lets a node be updated: its pod tells"),
            Self::Select => f.write_str("chooses canaries"),
            Self::LiftSelector { frees: 0 } => {
                f.write_str("lifts the selector, which moves nothing before the next step")
            }
            Self::LiftSelector { frees: 1 } => f.write_str("lifts the selector, which frees 1 node"),
            Self::LiftSelector { frees } => write!(f, "lifts the selector, which frees {frees} nodes"),
            Self::SetImage => f.write_str("begins a new rollout"),
            Self::Brake => f.write_str("brakes: sets OnDelete at once, nothing else changes"),
            Self::RestoreOnDelete => f.write_str("sets OnDelete again at once, and nothing else"),
            Self::Resume => f.write_str("resumes"),
            Self::LiftPause => f.write_str("lifts the pause, and moves nothing before a step or a release"),
            Self::ResumeUnderOnDelete => f.write_str("sets OnDelete again and resumes"),
            Self::ResumeWithTemplate => f.write_str("rolls out the template as it is now, from before its first step"),
            Self::ResumePastFailures => f.write_str("resumes, the failures so far accepted"),
            Self::ResumeWithQuota => f.write_str(
                "resumes; first raise the namespace's ResourceQuota, which refuses the pods of the earlier revision as well",
            ),
            Self::Undo => f.write_str("rolls back"),
            Self::UndoTo { revision, left, at_once } => {
                write!(f, "rolls back to revision {revision}, {}{at_once}", not_at_it(*left))
            }
            Self::BackToTarget { left: 0, at_once, .. } => {
                write!(
                    f,
                    "goes back to the target of the rollout: every node is at it, and no pod is replaced{at_once}"
                )
            }
            Self::BackToTarget { left, at_once, .. } => {
                let go = if *left == 1 { "goes" } else { "go" };
                write!(
                    f,
                    "goes back to the target of the rollout: {}, and {go} whatever the steps say{at_once}",
                    not_at_it(*left)
                )
            }
            Self::EnforceOnDelete => f.write_str("sets OnDelete again at each drift from now on"),
            Self::PauseOnDrift => f.write_str("pauses at the next drift instead"),
            Self::RaiseBudget { to } => write!(f, "raises the budget to {to}, so that the next node may go"),
            Self::LimitPulls { to } => write!(f, "limits how many pull at once, to {to} for example"),
            Self::PrewarmTarget { .. } => f.write_str("pre-warms the rollout's images in place of that"),
            Self::RetryPrewarm => f.write_str("pulls again what failed"),
            Self::ResumePrewarm => f.write_str("lets pre-warming go on"),
            Self::CancelPrewarm => f.write_str("cancels that; the rollout then brings its images by itself"),
            Self::Release => f.write_str("hands it back to its controller"),
            Self::ReleaseEarly => f.write_str("releases all the same: these pods are removed"),
            Self::RecordAnew => {
                f.write_str("begins a new record: name its limits where it had others than the defaults")
            }
            Self::SetLimits { .. } => f.write_str("confirms these limits: where it had others, name those"),
            Self::DropUnreadableRecord => f.write_str("drops the record, which is lost then, and hands it back"),
            Self::DropForeignRecord => f.write_str("drops the record of the earlier DaemonSet"),
        }
    }
}

/// `; its controller makes pods on 90 nodes at once`, to be put behind a way back; empty where it does nothing.
impl fmt::Display for AtOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |count: u32| if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") };
        match (self.makes, self.deletes) {
            (0, 0) => Ok(()),
            (makes, 0) => write!(f, "; its controller makes pods on {} at once", on(makes)),
            (0, deletes) => write!(f, "; its controller deletes the pods on {} at once", on(deletes)),
            (makes, deletes) => {
                write!(f, "; its controller makes pods on {} and deletes those on {} at once", on(makes), on(deletes))
            }
        }
    }
}

/// `105 nodes are not at it`.
fn not_at_it(left: u32) -> String {
    match left {
        0 => "every node is at it".to_owned(),
        1 => "1 node is not at it".to_owned(),
        left => format!("{left} nodes are not at it"),
    }
}

impl Remedy {
    /// Whether it is a roll back, named or not.
    pub fn is_undo(self) -> bool {
        matches!(self, Self::Undo | Self::UndoTo { .. })
    }
}

impl Alarm {
    /// The remedies for this alarm, most fitting first; empty where only time or work outside of rolldeck helps.
    pub fn remedies(&self) -> Vec<Remedy> {
        match self {
            Self::Cascade { .. } => vec![Remedy::Brake],
            Self::StrategyDrifted { .. } => {
                vec![Remedy::RestoreOnDelete, Remedy::ResumeUnderOnDelete, Remedy::EnforceOnDelete]
            }
            Self::OnDeleteEnforced { .. } => vec![Remedy::PauseOnDrift],
            Self::TemplateChanged { .. } => vec![Remedy::ResumeWithTemplate, Remedy::Undo],
            Self::TargetUncertain { .. } => vec![Remedy::StepForRevision, Remedy::Release],
            Self::BudgetUsedUp { used, failed: 0, .. } => vec![Remedy::RaiseBudget { to: used.saturating_add(1) }],
            // A larger budget would give the failed revision to more nodes.
            Self::BudgetUsedUp { .. } => vec![Remedy::Undo, Remedy::SetImage],
            Self::ReleaseWaits { .. } => vec![Remedy::ReleaseEarly],
            Self::Halted { gate, .. } => {
                let undo = gate.offers_undo().then_some(Remedy::Undo);
                let resume = if gate.names_what_failed() { Remedy::ResumePastFailures } else { Remedy::Resume };
                undo.into_iter().chain([resume]).collect()
            }
            // There is no halt yet that an operator could resume past.
            Self::HaltWaits { gate, .. } => gate.offers_undo().then_some(Remedy::Undo).into_iter().collect(),
            Self::RecordUnreadable { .. } => vec![Remedy::RecordAnew, Remedy::DropUnreadableRecord],
            Self::ForeignRecord { .. } => vec![Remedy::RecordAnew, Remedy::SetImage, Remedy::DropForeignRecord],
            Self::RecordMissing => vec![Remedy::RecordAnew, Remedy::Undo],
            Self::LimitsLost { max_unavailable, soak, .. } => {
                vec![Remedy::SetLimits { max_unavailable: *max_unavailable, soak: soak.as_secs() }]
            }
            Self::StateRestored { .. } => vec![Remedy::Drive],
            Self::OwnLimitChanged { .. }
            | Self::DeletionRefused { .. }
            | Self::DeletionsRefused { .. }
            | Self::ControllerIdle { .. }
            | Self::SiteOutage(_)
            | Self::NoAnswer
            | Self::ApiLatencyTooHigh { .. }
            | Self::ViewStale { .. }
            | Self::ViewForbidden { .. }
            | Self::WriteFailing { .. }
            | Self::WriteRefused { .. }
            | Self::BeingDeleted => Vec::new(),
        }
    }
}

impl Snapshot {
    /// The remedies now: first for the alarms, then for the obstacle to the rollout.
    pub fn remedies(&self) -> Vec<Remedy> {
        let about_alarms = self.alarms.iter().flat_map(|alarm| self.remedies_of(alarm));
        let about_waits = self.guidance().into_iter().flat_map(|guidance| guidance.remedies);
        let mut remedies: Vec<Remedy> = about_alarms.chain(about_waits).collect();
        // It is no way on: it only changes what the next drift does.
        remedies.sort_by_key(|remedy| *remedy == Remedy::PauseOnDrift);
        remedies
    }

    /// The remedies for one of the alarms, without those that do not apply now. A rollout that goes back is not rolled back, and one that is not
    /// paused is not resumed: without a driver, nobody pauses after a strategy drift. Without a record there is nothing to drive.
    pub fn remedies_of(&self, alarm: &Alarm) -> Vec<Remedy> {
        let mut remedies = alarm.remedies();
        if self.fails_by_quota() {
            remedies = match alarm {
                Alarm::Halted { .. } => vec![Remedy::ResumeWithQuota, Remedy::Undo],
                // Nothing but room in the quota brings the pods.
                Alarm::HaltWaits { .. } | Alarm::BudgetUsedUp { .. } => Vec::new(),
                _ => remedies,
            };
        }
        remedies.retain(|remedy| match remedy {
            // Without a record a roll back begins one. It is offered only while nodes fail.
            Remedy::Undo if *alarm == Alarm::RecordMissing => self.undo_is_free() && self.counts.failed > 0,
            // Where somebody else changed the template, a rollout that went back stands: an `undo` lets it go on.
            Remedy::Undo if matches!(alarm, Alarm::TemplateChanged { .. }) => self.roll_back.is_ok(),
            Remedy::Undo => self.undo_is_free(),
            Remedy::ResumeUnderOnDelete => matches!(self.phase, Phase::Paused(_)),
            Remedy::EnforceOnDelete => self.settings.policies.on_drift != OnDrift::EnforceOnDelete,
            Remedy::Drive => self.started_at.is_some() || self.prewarm.is_some(),
            // Its controller would replace the outdated pods by itself: such a release is refused.
            Remedy::DropUnreadableRecord => {
                self.original_strategy.is_none() || self.counts.updated == self.counts.nodes
            }
            // Where a strategy is saved, a release is refused while pods are outdated. Where none is saved, nothing is adopted, and stays so.
            Remedy::RecordAnew => self.original_strategy.is_some(),
            Remedy::SetImage | Remedy::DropForeignRecord if matches!(alarm, Alarm::ForeignRecord { .. }) => {
                self.original_strategy.is_none()
            }
            _ => true,
        });
        if let Alarm::TemplateChanged { elsewhere, .. } = alarm {
            // Who was going back wants the earlier revision, and not what somebody else set meanwhile.
            if self.direction == Direction::Back {
                remedies.sort_by_key(|remedy| !remedy.is_undo());
            }
            remedies = remedies.into_iter().flat_map(|remedy| self.ways_back(remedy, elsewhere)).collect();
        }
        remedies
    }

    /// A roll back from a template of somebody else, with the revision to which it leads. Where fewer nodes have to move for it, the way back to
    /// the target of the rollout is offered, too.
    fn ways_back(&self, remedy: Remedy, elsewhere: &[(Str, AtOnce)]) -> Vec<Remedy> {
        let number = |hash: &Str| self.revisions.iter().find(|revision| revision.hash == *hash)?.number;
        let not_at = |hash: &Str| {
            let nodes = self.nodes.iter().filter(|node| node.eligible && node.revision_hash() != Some(hash));
            u32::try_from(nodes.count()).unwrap_or(u32::MAX)
        };
        let at_once = |hash: &Str| {
            let known = elsewhere.iter().find(|(placed, _)| placed == hash);
            known.map(|(_, at_once)| *at_once).unwrap_or_default()
        };
        let back = self.roll_back.as_ref().ok().filter(|_| remedy == Remedy::Undo);
        let Some((hash, revision)) = back.and_then(|hash| Some((hash, number(hash)?))) else { return vec![remedy] };
        let undo = Remedy::UndoTo { revision, left: not_at(hash), at_once: at_once(hash) };
        let target =
            self.to.as_ref().filter(|to| to.hash != *hash && self.template_revision.as_ref() != Some(&to.hash));
        let to_target = target.and_then(|to| {
            let (left, at_once) = (not_at(&to.hash), at_once(&to.hash));
            Some(Remedy::BackToTarget { revision: number(&to.hash)?, left, at_once })
        });
        let fewer =
            to_target.filter(|remedy| matches!(remedy, Remedy::BackToTarget { left, .. } if *left < not_at(hash)));
        [Some(undo), fewer].into_iter().flatten().collect()
    }

    /// The effect of a remedy in words: of a roll back that names no revision with the one to which it leads now.
    pub fn effect_of(&self, remedy: Remedy) -> String {
        match remedy {
            Remedy::Undo => self.rolls_back_in_words(),
            Remedy::Drive => match self.nothing_moves_before() {
                Some(before) => format!("{remedy}, and moves nothing {before}"),
                None => remedy.to_string(),
            },
            Remedy::LiftPause if self.is_only_adopted() => "lifts the pause; nothing is rolled out now".to_owned(),
            Remedy::RecordAnew if !self.lost_limits(remedy).is_empty() => {
                "begins a new record, with the limits that the lost one had as far as is known".to_owned()
            }
            Remedy::SetLimits { .. } if !self.lost_limits(remedy).is_empty() => {
                "sets the limits that the lost record had, as far as is known".to_owned()
            }
            remedy => remedy.to_string(),
        }
    }

    /// Whether no rollout has begun of what is adopted, and each node has the present template.
    fn is_only_adopted(&self) -> bool {
        self.adopted
            && self.started_at.is_none()
            && self.requested_change.is_none()
            && self.counts.updated == self.counts.nodes
            && !self.alarms.iter().any(|alarm| matches!(alarm, Alarm::TemplateChanged { .. }))
    }

    /// What has to come before a driver moves anything in a rollout that is held; `None` where a driver has something to do.
    fn nothing_moves_before(&self) -> Option<Cow<'static, str>> {
        let has_work = |node: &NodeView| node.waits_for_driver() || node.state.is_moving();
        let halts = self.alarms.iter().any(|alarm| matches!(alarm, Alarm::HaltWaits { .. }));
        if self.phase != Phase::Held || halts || self.prewarm.is_some() || self.nodes.iter().any(has_work) {
            return None;
        }
        Some(match &self.plan.next {
            Some(Ok(_)) => "before a step".into(),
            Some(Err(NoStep::SelectionDone(done))) => format!("while the selector {} stands", done.selector).into(),
            Some(Err(_)) | None => "as things stand".into(),
        })
    }

    /// `rolls back to revision 14`, the revision to which a roll back leads that names none; without it where it has no number.
    pub fn rolls_back_in_words(&self) -> String {
        let number = |hash: &Str| self.revisions.iter().find(|revision| revision.hash == *hash)?.number;
        match self.roll_back.as_ref().ok().and_then(number) {
            Some(number) => format!("rolls back to revision {number}"),
            None => Remedy::Undo.to_string(),
        }
    }

    /// The remedy that leads away from a failing revision: another image if an `undo` without a revision would be refused, because the
    /// rollout goes back already or there is no revision to go back to.
    pub(super) fn away(&self) -> Remedy {
        if self.undo_is_free() { Remedy::Undo } else { Remedy::SetImage }
    }
}
