//! Which action carries out what is offered to an operator. The header names its key, and the footer puts it first.

use super::ActionId;
use crate::engine::report::remedies::Remedy;

impl ActionId {
    /// The console's action for a remedy.
    pub(crate) fn of_remedy(remedy: Remedy) -> Self {
        match remedy {
            Remedy::Drive => Self::Drive,
            Remedy::Step(_) | Remedy::StepForRevision => Self::Step,
            Remedy::Select | Remedy::LiftSelector { .. } => Self::Canary,
            Remedy::SetImage => Self::Image,
            Remedy::Brake | Remedy::RestoreOnDelete => Self::Pause,
            Remedy::Resume
            | Remedy::LiftPause
            | Remedy::ResumeUnderOnDelete
            | Remedy::ResumeWithTemplate
            | Remedy::ResumePastFailures
            | Remedy::ResumeWithQuota => Self::Resume,
            Remedy::Undo | Remedy::UndoTo { .. } | Remedy::BackToTarget { .. } => Self::Undo,
            // Setting limits begins a record.
            Remedy::RecordAnew => Self::Tune,
            Remedy::SetLimits { .. }
            | Remedy::EnforceOnDelete
            | Remedy::PauseOnDrift
            | Remedy::RaiseBudget { .. }
            | Remedy::LimitPulls { .. } => Self::Tune,
            Remedy::PrewarmTarget { .. } | Remedy::CancelPrewarm => Self::Prewarm,
            Remedy::RetryPrewarm => Self::RetryPrewarm,
            Remedy::ResumePrewarm => Self::PausePrewarm,
            Remedy::Release | Remedy::ReleaseEarly | Remedy::DropUnreadableRecord | Remedy::DropForeignRecord => {
                Self::Release
            }
        }
    }
}
