//! Rollouts whose nodes need their images before an update (`require_image`), where nothing brings these images.

use super::remedies::Remedy;
use super::snapshot::{NodeView, Phase, Snapshot};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::hold::{Hold, ImageWait};
use crate::engine::model::node::NodeState;
use crate::engine::model::prewarm::{PrewarmState, PrewarmView, PrewarmWait};
use crate::engine::model::record::Direction;
use crate::engine::model::settings::PrewarmAhead;

impl NodeView {
    /// What becomes of the images that its update waits for.
    pub fn image_wait(&self) -> Option<&ImageWait> {
        match &self.hold {
            Some(Hold::ImageAbsent(wait)) => Some(wait),
            _ => None,
        }
    }
}

impl Snapshot {
    /// Whether no node that may be updated can be before an operator acts, because some need images whose pull failed and is not tried again by
    /// itself. Nothing is taken down for that, so it is no halt.
    pub fn stands_for_lack_of_images(&self) -> bool {
        self.stands_for_images(|wait| wait.failure().is_some())
    }

    /// Whether nothing is on its way, and each node that may be updated waits for images that do not arrive by themselves, as `counts` says, or cannot
    /// be updated by itself: it is cordoned, down, or failed.
    pub fn stands_for_images(&self, counts: impl Fn(&ImageWait) -> bool) -> bool {
        let may_go = |node: &&NodeView| {
            let kept = matches!(node.hold, Some(Hold::Partition { .. } | Hold::Selector));
            node.eligible && node.state != NodeState::Updated && !kept
        };
        let waits = |node: &NodeView| node.image_wait().is_some_and(&counts);
        let is_out = |node: &NodeView| {
            let held = matches!(node.hold, Some(Hold::Cordoned | Hold::NodeDown));
            held || (node.hold.is_none() && matches!(node.state, NodeState::NodeDown | NodeState::Failed))
        };
        let mut left = self.nodes.iter().filter(may_go).peekable();
        let any = self.nodes.iter().filter(may_go).any(waits);
        self.phase == Phase::Running && left.peek().is_some() && any && left.all(|node| waits(node) || is_out(node))
    }

    /// Whether a node that may be updated needs images whose pull failed and is not tried again by itself, also while nobody drives.
    pub fn waits_for_missing_images(&self) -> bool {
        self.nodes.iter().any(|node| node.image_wait().is_some_and(|wait| wait.failure().is_some()))
            || self.missing_undriven().next().is_some()
    }

    /// Why images that the rollout requires did not arrive, by node, of the nodes that may be updated while nobody drives.
    fn missing_undriven(&self) -> impl Iterator<Item = CauseKind> + '_ {
        let required = self.prewarm.as_ref().is_some_and(|prewarm| self.requires_what_it_prewarms(prewarm));
        let may_go = move |node: &&NodeView| required && node.hold == Some(Hold::NobodyDrives);
        self.nodes.iter().filter(may_go).filter_map(|node| match node.prewarm.as_deref() {
            Some(failed @ PrewarmState::Failed { cause, .. }) if !failed.is_retried() => Some(cause.kind),
            Some(PrewarmState::Waiting(PrewarmWait::Unobtainable(why))) => Some(why.cause),
            _ => None,
        })
    }

    /// `; 2 of them have no image: image not found`; empty where no pull of images that the rollout requires failed.
    pub(super) fn missing_undriven_in_words(&self) -> String {
        let causes: Vec<CauseKind> = self.missing_undriven().collect();
        let has = if causes.len() == 1 { "has" } else { "have" };
        let first = causes.first().map(|cause| format!("; {} of them {has} no image: {cause}", causes.len()));
        first.unwrap_or_default()
    }

    /// The remedies for nodes that wait for images that do not arrive by themselves. Pre-warming that failed is tried again by a remedy of its own.
    pub(super) fn ways_to_images(&self) -> Vec<Remedy> {
        let mut waits = self.nodes.iter().filter_map(|node| node.image_wait());
        if self.waits_for_missing_images() {
            let undo = self.undo_is_free().then_some(Remedy::Undo);
            return [Remedy::SetImage].into_iter().chain(undo).collect();
        }
        if waits.any(|wait| matches!(wait, ImageWait::NotAsked { .. })) {
            let all = self.settings.policies.prewarm == PrewarmAhead::All;
            return vec![Remedy::PrewarmTarget { all }, Remedy::CancelPrewarm];
        }
        Vec::new()
    }

    /// Whether pre-warming of the same images begins again after it is cancelled, because the rollout requires them.
    pub fn requires_what_it_prewarms(&self, prewarm: &PrewarmView) -> bool {
        let images = self.to.as_ref().map(|to| to.images.as_slice()).unwrap_or_default();
        self.settings.gates.require_image
            && self.started_at.is_some()
            && self.direction == Direction::Forward
            && images.iter().all(|(_, image)| prewarm.images.iter().any(|known| **known == **image))
    }
}
