//! What becomes of images that a node needs before its update, as pre-warming stands.

use super::PrewarmJob;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::hold::ImageWait;
use crate::engine::model::node::NodeIx;
use crate::engine::model::prewarm::{PrewarmNodes, PrewarmState, PrewarmWait};
use crate::engine::model::template::Template;

impl PrewarmJob {
    /// What becomes of `images` on a node. What nobody asked for by name begins again with other images or nodes by itself.
    pub(crate) fn brings(&self, images: &[Str], node: NodeIx) -> ImageWait {
        let asked = &self.request;
        if asked.cancelled.is_some() {
            return ImageWait::Coming;
        }
        let brought = self.template.as_ref().map(Template::images).unwrap_or_default();
        let state = self.states.get(node).and_then(Option::as_ref);
        let has_all = images.iter().all(|image| brought.contains(image));
        let state = state.filter(|_| has_all);
        // Such a request comes to each node that the plan lets go, though it leaves out the node now.
        let follows_the_plan = has_all && matches!(asked.nodes, PrewarmNodes::LetGo | PrewarmNodes::StepAhead);
        match state {
            None if asked.by.is_rolldeck() || follows_the_plan => ImageWait::Coming,
            None => ImageWait::NotRequested { by: asked.by.by.clone(), done: self.has_nothing_left_to_do() },
            Some(failed @ PrewarmState::Failed { cause, .. }) => match failed.is_retried() {
                true if asked.paused.is_some() => ImageWait::Paused,
                retried => ImageWait::Failed { cause: cause.kind, retried },
            },
            Some(PrewarmState::Waiting(PrewarmWait::Unobtainable(why))) => ImageWait::NotTried { cause: why.cause },
            Some(PrewarmState::Waiting(PrewarmWait::Paused)) => ImageWait::Paused,
            Some(
                PrewarmState::Waiting(_)
                | PrewarmState::Queued
                | PrewarmState::Silent { .. }
                | PrewarmState::Pulling { .. }
                | PrewarmState::Present,
            ) => ImageWait::Coming,
        }
    }

    /// Whether each of its nodes has the images or has finally failed.
    fn has_nothing_left_to_do(&self) -> bool {
        let is_over = |state: &PrewarmState| match state {
            PrewarmState::Present | PrewarmState::Waiting(PrewarmWait::Unobtainable(_)) => true,
            PrewarmState::Failed { again_at, .. } => again_at.is_none(),
            PrewarmState::Waiting(_)
            | PrewarmState::Queued
            | PrewarmState::Silent { .. }
            | PrewarmState::Pulling { .. } => false,
        };
        self.template.is_ok() && self.states.iter().flatten().all(is_over)
    }
}

impl Engine {
    /// Says of each node that waits for its images what becomes of them.
    pub(super) fn tell_of_absent_images(&mut self) {
        let (Some(job), Some(daemonset)) = (&self.warming.job, self.view.daemonset()) else { return };
        let images = daemonset.template.images();
        self.plan.tell_of_images(|node| job.brings(&images, node));
    }
}
