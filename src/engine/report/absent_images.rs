//! Rollouts whose nodes need their images before an update (`require_image`), where nothing brings these images.

use super::advice::Advice;
use super::remedies::Remedy;
use super::snapshot::{NodeView, Phase, Snapshot};
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::hold::{Hold, ImageWait};
use crate::engine::model::node::{ImageState, NodeState};
use crate::engine::model::prewarm::{PrewarmState, PrewarmView, PrewarmWait};
use crate::engine::model::pull::PullState;
use crate::engine::model::settings::PrewarmAhead;
use crate::engine::model::template::Template;

impl NodeView {
    /// What becomes of the images that its update waits for.
    pub fn image_wait(&self) -> Option<&ImageWait> {
        match &self.hold {
            Some(Hold::ImageAbsent(wait)) => Some(wait),
            _ => None,
        }
    }

    /// Whether an image that its update waits for, and that could not be pulled, here or on other nodes, is pulled again without any action of an
    /// operator; `None` if no pull failed.
    pub fn failed_image_is_retried(&self) -> Option<bool> {
        match self.image_wait()? {
            ImageWait::Failed { retried, .. } => Some(*retried),
            ImageWait::NotTried { .. } => Some(false),
            ImageWait::Coming | ImageWait::NotRequested { .. } | ImageWait::Paused => None,
        }
    }
}

impl Engine {
    /// The state of the target's images on a node, as everything that is shown counts it: for a node that does not have the pod yet also what pulls
    /// of pre-warming came to, which `Row::image` leaves out because no pod at the target is there.
    pub(super) fn shown_image(&self, row: &Row) -> ImageState {
        if !matches!(row.image, ImageState::Absent | ImageState::Unknown) {
            return row.image;
        }
        // The node's list of images is older than the Event by which a kubelet tells that one came: the whole says nothing else than its parts.
        let has = |is: fn(&PullState) -> bool| row.images.iter().filter(|pull| is(&pull.state)).count();
        let present = has(|state| matches!(state, PullState::Present { .. }));
        let known = match row.image {
            _ if present > 0 && present == row.images.len() => return ImageState::Present,
            ImageState::Absent if present > 0 && has(|state| *state == PullState::Absent) == 0 => ImageState::Unknown,
            known => known,
        };
        let of_event = row.images.iter().find_map(|pull| match pull.state {
            PullState::Pulling { since } => Some(ImageState::Pulling { since }),
            PullState::Failed { .. } => Some(ImageState::Failed),
            _ => None,
        });
        let of_pod = || match self.prewarm_state(row.node).filter(|_| self.prewarms_the_target())? {
            PrewarmState::Pulling { since } => Some(ImageState::Pulling { since }),
            PrewarmState::Failed { .. } => Some(ImageState::Failed),
            PrewarmState::Waiting(_) | PrewarmState::Queued | PrewarmState::Silent { .. } | PrewarmState::Present => {
                None
            }
        };
        of_pod().or(of_event).unwrap_or(known)
    }

    /// Whether what is pre-warmed are the images of the target.
    fn prewarms_the_target(&self) -> bool {
        let (Some(job), Some(daemonset)) = (&self.warming.job, self.view.daemonset()) else { return false };
        let brought = job.template.as_ref().map(Template::images).unwrap_or_default();
        daemonset.template.images().iter().all(|image| brought.contains(image))
    }

    /// The same rule as [`Snapshot::stands_for_lack_of_images`]: such a rollout is held.
    pub(super) fn stands_for_lack_of_images(&self) -> bool {
        let rows = self.assessment.rows().filter(|row| row.in_fleet);
        stand_for_images(rows.map(|row| (row.state, self.plan.hold(row.node))), ImageWait::needs_an_operator)
    }
}

/// Whether of nodes with these states and holds each that may be updated waits for images in a way that `counts`, or cannot be updated by itself; and
/// at least one waits.
fn stand_for_images<'a>(
    nodes: impl Iterator<Item = (NodeState, Option<&'a Hold>)>,
    counts: impl Fn(&ImageWait) -> bool,
) -> bool {
    let mut any = false;
    for (state, hold) in nodes {
        match (state, hold) {
            (NodeState::Updated, _) | (_, Some(Hold::Partition { .. } | Hold::Selector)) => {}
            (_, Some(Hold::ImageAbsent(wait))) if counts(wait) => any = true,
            (_, Some(held)) if held.is_ended_at_the_node() => {}
            (NodeState::NodeDown | NodeState::Failed, None) => {}
            _ => return false,
        }
    }
    any
}

impl Snapshot {
    /// Whether no node that may be updated can be before an operator acts, because some need images whose pull failed and is not tried again by
    /// itself, whose pre-warming is paused, or which what is pre-warmed does not bring and has nothing left to do. Nothing is taken down for that, so it is no halt.
    pub fn stands_for_lack_of_images(&self) -> bool {
        self.stands_for_images(ImageWait::needs_an_operator)
    }

    /// The same, but for a pause of pre-warming: the operator who paused it decides when it goes on.
    pub fn stands_for_images_that_nobody_brings(&self) -> bool {
        self.stands_for_images(|wait| wait.needs_an_operator() && *wait != ImageWait::Paused)
    }

    /// Whether nothing is on its way, and each node that may be updated waits for images that do not arrive by themselves, as `counts` says, or cannot
    /// be updated by itself: it is cordoned, down, or failed.
    pub fn stands_for_images(&self, counts: impl Fn(&ImageWait) -> bool) -> bool {
        let nodes = self.nodes.iter().filter(|node| node.eligible).map(|node| (node.state, node.hold.as_ref()));
        matches!(self.phase, Phase::Running | Phase::Held) && stand_for_images(nodes, counts)
    }

    /// Whether a node that may be updated needs images whose pull failed and is not tried again by itself, also while nobody drives.
    pub fn waits_for_missing_images(&self) -> bool {
        self.nodes.iter().any(|node| node.image_wait().is_some_and(|wait| wait.failure().is_some()))
            || self.missing_undriven().next().is_some()
    }

    /// Why images that the rollout requires did not arrive, by node, of the nodes that may be updated while nobody drives.
    fn missing_undriven(&self) -> impl Iterator<Item = CauseKind> + '_ {
        let required = self.prewarm.as_ref().is_some_and(|prewarm| self.requires_what_it_prewarms(prewarm));
        let may_go = move |node: &&NodeView| required && node.waits_for_driver();
        self.nodes.iter().filter(may_go).filter_map(|node| match node.prewarm.as_deref() {
            Some(failed @ PrewarmState::Failed { cause, .. }) if !failed.is_retried() => Some(cause.kind),
            Some(PrewarmState::Waiting(PrewarmWait::Unobtainable(why))) => Some(why.cause),
            _ => None,
        })
    }

    /// Whether a driver would update no node before an operator acts: each that only waits for a driver needs images that the rollout requires and that could
    /// not be pulled, there or anywhere.
    pub fn is_driven_in_vain(&self) -> bool {
        let Some(prewarm) = self.prewarm.as_ref().filter(|prewarm| self.requires_what_it_prewarms(prewarm)) else {
            return false;
        };
        let failed = |node: &NodeView| {
            node.prewarm
                .as_deref()
                .is_some_and(|state| matches!(state, PrewarmState::Failed { .. }) && !state.is_retried())
        };
        let lacks =
            |node: &NodeView| node.image != ImageState::Present && (prewarm.unobtainable.is_some() || failed(node));
        let mut in_line = self.nodes.iter().filter(|node| node.waits_for_driver()).peekable();
        in_line.peek().is_some() && in_line.all(lacks) && !self.nodes.iter().any(|node| node.state.is_moving())
    }

    /// `; 2 of them have no image: image not found`; empty where no pull of images that the rollout requires failed.
    pub(super) fn missing_undriven_in_words(&self) -> String {
        let causes: Vec<CauseKind> = self.missing_undriven().collect();
        let has = if causes.len() == 1 { "has" } else { "have" };
        let first = causes.first().map(|cause| format!("; {} of them {has} no image: {cause}", causes.len()));
        first.unwrap_or_default()
    }

    /// The remedies for nodes that wait for images that do not arrive by themselves.
    pub(super) fn ways_to_images(&self) -> Vec<Remedy> {
        let mut waits = self.nodes.iter().filter_map(|node| node.image_wait());
        let is_paused = |prewarm: &PrewarmView| prewarm.request.paused.is_some() && prewarm.request.cancelled.is_none();
        let goes_on = self.prewarm.as_ref().filter(|prewarm| is_paused(prewarm)).map(|_| Remedy::ResumePrewarm);
        if self.waits_for_missing_images() {
            let undo = self.undo_is_free().then_some(Remedy::Undo);
            // Without a driver nothing is pulled.
            let is_driven = !self.driver.is_nobody();
            let failed = |prewarm: &PrewarmView| prewarm.counts.failed > prewarm.counts.retrying;
            let retry = self.prewarm.as_ref().filter(|prewarm| is_driven && failed(prewarm));
            let retry = goes_on.or(retry.map(|_| Remedy::RetryPrewarm));
            return [Remedy::SetImage].into_iter().chain(undo).chain(retry).collect();
        }
        if waits.clone().any(|wait| *wait == ImageWait::Paused) {
            return goes_on.into_iter().collect();
        }
        if waits.any(|wait| matches!(wait, ImageWait::NotRequested { .. })) {
            let all = self.settings.policies.prewarm == PrewarmAhead::All;
            return vec![Remedy::PrewarmTarget { all }, Remedy::CancelPrewarm];
        }
        Vec::new()
    }

    /// Why pre-warming as a whole stands, with the remedy ([`PrewarmView::refused`]). A cancellation is left out where the rollout would begin it anew.
    pub fn prewarm_refused(&self) -> Option<Advice> {
        let prewarm = self.prewarm.as_ref()?;
        match prewarm.unobtainable.filter(|_| self.requires_what_it_prewarms(prewarm)) {
            Some(unobtainable) => Some(unobtainable.advice()),
            None => prewarm.refused(),
        }
    }

    /// Whether pre-warming of the same images begins again after it is cancelled, because the rollout requires them.
    pub fn requires_what_it_prewarms(&self, prewarm: &PrewarmView) -> bool {
        let images = self.to.as_ref().map(|to| to.images.as_slice()).unwrap_or_default();
        self.direction.requires_images(&self.settings.gates)
            && self.started_at.is_some()
            && images.iter().all(|(_, image)| prewarm.images.iter().any(|known| **known == **image))
    }
}
