//! Patches of the DaemonSet: the one that is not answered yet, the results of the last ones, and the brake.

use super::retry::Retry;
use super::sending::WORTH_A_WORD;
use crate::engine::model::Str;
use crate::engine::model::change_request::ChangeRequest;
use crate::engine::model::effect::EffectId;
use crate::engine::model::released_strategy::ReleasedStrategy;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::change::WrittenChange;

/// A DaemonSet patch that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Patching {
    pub(crate) id: EffectId,
    pub(crate) kind: PatchPurpose,
    pub(crate) resource_version: Str,
    /// The change that the record asked for when the patch was sent.
    pub(crate) request: Option<ChangeRequest>,
    pub(crate) sent_at: Timestamp,
    /// The watch showed the effect of the patch before its answer came, and the command that waited for it is done. The patch is reported
    /// with that command.
    pub(crate) reported_by_command: bool,
}

/// What a patch does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PatchPurpose {
    /// Sets `OnDelete` and saves the original strategy.
    Adopt,
    /// Changes the template.
    Template,
    /// Removes the annotation of a change that is over.
    ForgetChange,
    /// Restores the original strategy.
    Release,
}

/// Patches of the DaemonSet.
#[derive(Debug, Default)]
pub(crate) struct DaemonSetWrites {
    /// The patch that was sent and is not answered yet.
    patching: Option<Patching>,
    pub(crate) retry: Retry,
    /// The resource version at which a patch met a conflict. The patch is tried again once a newer version is seen.
    conflicted: Option<Str>,
    /// The template change whose patch was answered since this process started, as long as the record asks for it.
    pub(crate) written: Option<WrittenChange>,
    /// The annotation of a change that is over and that the API server did not let us remove.
    pub(crate) untidy: Option<Str>,
    /// The strategy that the last release was sent with.
    pub(crate) released: Option<ReleasedStrategy>,
    /// A release was sent. It may take effect, or have done so, until a later patch of ours is answered.
    release_is_out: bool,
    brake: Brake,
}

/// Whether `OnDelete` is to be set at once, whoever drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Brake {
    #[default]
    Off,
    /// Set until the view shows `OnDelete`.
    On,
    /// Set while the view of the DaemonSet was not believed. The patch is sent even if the view shows `OnDelete`, and the brake ends with
    /// the answer to the patch.
    Unseen,
}

impl DaemonSetWrites {
    pub(crate) fn sent(&mut self, patching: Patching) {
        self.conflicted = None;
        self.release_is_out |= patching.kind == PatchPurpose::Release;
        self.patching = Some(patching);
    }

    /// The patch that is not answered yet.
    pub(crate) fn patching(&self) -> Option<&Patching> {
        self.patching.as_ref()
    }

    /// Whether a patch is not answered yet, so that its effect is not known.
    pub(crate) fn is_patching(&self) -> bool {
        self.patching.is_some()
    }

    /// Notes that a command that waited for the patch is done.
    pub(crate) fn mark_reported_by_command(&mut self) {
        if let Some(patching) = &mut self.patching {
            patching.reported_by_command = true;
        }
    }

    /// Takes in the answer to a patch; `None` if it is not the one that is on its way.
    pub(crate) fn answered(&mut self, id: EffectId) -> Option<Patching> {
        self.patching.take_if(|patching| patching.id == id)
    }

    /// Takes in that a patch took effect. A release that was sent before it cannot any more: it names an earlier resource version.
    pub(crate) fn took_effect(&mut self, kind: PatchPurpose) {
        self.release_is_out = kind == PatchPurpose::Release;
    }

    /// Whether a release of ours is being sent.
    pub(crate) fn is_releasing(&self) -> bool {
        self.patching.as_ref().is_some_and(|patching| patching.kind == PatchPurpose::Release)
    }

    /// Whether a release of ours may have restored the strategy that is seen, although it was called off.
    pub(crate) fn may_have_released(&self) -> bool {
        self.release_is_out
    }

    /// Notes that a patch met a conflict at this resource version.
    pub(crate) fn met_conflict(&mut self, resource_version: Str) {
        self.conflicted = Some(resource_version);
    }

    /// Whether the next patch may be sent while the DaemonSet is at this resource version.
    pub(crate) fn may_send(&self, resource_version: &Str, now: Timestamp) -> bool {
        let newer = self.conflicted.as_ref().is_some_and(|conflicted| conflicted != resource_version);
        self.patching.is_none() && (now >= self.retry.at || newer)
    }

    /// When the next patch may be sent, and when the one on its way has taken so long that it is shown.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        let shown = self.patching.as_ref().map(|patching| patching.sent_at + WORTH_A_WORD);
        [self.retry.at].into_iter().chain(shown)
    }

    /// Asks for `OnDelete`. `visible`: the watch is believed to show the DaemonSet as it is.
    pub(crate) fn set_brake(&mut self, visible: bool) {
        self.brake = match self.brake {
            Brake::Off | Brake::On if visible => Brake::On,
            Brake::Off | Brake::On | Brake::Unseen => Brake::Unseen,
        };
    }

    /// Whether `OnDelete` is to be set at once.
    pub(crate) fn brakes(&self) -> bool {
        self.brake != Brake::Off
    }

    /// Takes in that the view shows the DaemonSet on `OnDelete`.
    pub(crate) fn is_on_delete(&mut self) {
        if self.brake == Brake::On {
            self.brake = Brake::Off;
        }
    }

    /// Ends the brake: `OnDelete` was set, or was refused for good.
    pub(crate) fn release_brake(&mut self) {
        self.brake = Brake::Off;
    }

    /// Takes in another DaemonSet of the same name. `brakes`: somebody still waits for `OnDelete`.
    pub(crate) fn begin_anew(&mut self, brakes: bool) {
        self.written = None;
        self.conflicted = None;
        self.brake = match self.brake {
            _ if !brakes => Brake::Off,
            Brake::Unseen => Brake::Unseen,
            Brake::Off | Brake::On => Brake::On,
        };
    }
}
