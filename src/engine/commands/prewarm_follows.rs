//! What a preview of another template says of pre-warming that brings the template's images, whichever they are.

use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::image::normalized;
use crate::engine::model::person_of;
use crate::engine::model::prewarm::{PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::counted;
use crate::engine::model::record::{Change, Intent};

impl Engine {
    /// A warning that nodes pull the images of the new template which no step lets go, because somebody had the template's images pre-warmed and that goes
    /// on: also where all nodes had the former ones.
    pub(super) fn prewarming_follows(&self, intent: &Intent) -> Option<String> {
        let change: &Change = intent.change.as_ref()?;
        let request = &self.warming.job.as_ref()?.request;
        let goes_on = request.paused.is_none() && request.cancelled.is_none();
        let is_whole = request.source == PrewarmSource::Template && request.nodes != PrewarmNodes::StepAhead;
        if !goes_on || !is_whole {
            return None;
        }
        let template = self.view.template_with(change).ok()?;
        let images = template.images();
        let names: Vec<String> = images.iter().map(|image| normalized(image)).collect();
        let lacks = |row: &&Row| !self.has_images(row, &template, &names);
        let pulls = self.meant(&request.nodes).filter(lacks).count();
        let listed = images.iter().map(Str::to_string).collect::<Vec<_>>().join(", ");
        let verb = if pulls == 1 { "pulls" } else { "pull" };
        (pulls > 0).then(|| {
            format!(
                "Pre-warming of the template's images, which {} asked for, goes on with the new ones: {} {verb} {listed}, \
                 whether a step lets {} go or not, until it is cancelled.",
                person_of(&request.by.by),
                counted(pulls, "node"),
                if pulls == 1 { "it" } else { "them" },
            )
        })
    }
}
