//! What a preview of another template, or of a roll back, says of pre-warming that goes on.

use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::image::normalized;
use crate::engine::model::person_of;
use crate::engine::model::prewarm::{Prewarm, PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::counted;
use crate::engine::model::record::{Change, Intent};
use crate::engine::model::settings::Finish;

impl Engine {
    /// A warning that nodes pull the images of the new template which no step lets go, because somebody had the template's images pre-warmed and that goes
    /// on: also where all nodes had the former ones.
    pub(super) fn prewarming_follows(&self, intent: &Intent) -> Option<String> {
        let request = self.prewarming_that_goes_on()?;
        // What follows the steps begins with the new ones.
        let follows_steps = matches!(request.nodes, PrewarmNodes::LetGo | PrewarmNodes::StepAhead);
        if request.source != PrewarmSource::Template || follows_steps {
            return None;
        }
        let (pulls, listed) = self.pulls_for_the_change(request, intent.change.as_ref()?)?;
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

    /// What becomes of pre-warming when the rollout goes back: that of the template's images goes on with those of the revision that it goes back to, and that
    /// of images which were named goes on with these. None of it is cancelled before the DaemonSet is handed back, which is at once where no pod is to be
    /// replaced.
    pub(super) fn prewarming_on_the_way_back(&self, intent: &Intent) -> Option<String> {
        let request = self.prewarming_that_goes_on()?;
        let whose = match request.by.is_rolldeck() {
            true => "of the rollout itself".to_owned(),
            false => format!("that {} asked for", person_of(&request.by.by)),
        };
        let back = self.going_back(intent);
        let mut rows = back.rows().filter(|row| row.in_fleet).peekable();
        let is_there = rows.peek().is_some() && rows.all(|row| row.is_settled());
        if is_there && intent.finish == Finish::Release {
            return Some(format!(
                "Pre-warming {whose} ends with it: no pod is to be replaced, so that the DaemonSet is handed back at once."
            ));
        }
        if request.source != PrewarmSource::Template {
            let images = self.template_to_prewarm(&request.source).map(|template| template.images()).ok()?;
            let images = listed(&images);
            return Some(match self.warming.job.as_ref()?.unobtainable() {
                Some(why) => {
                    format!("Pre-warming {whose} brings nothing more: {images} cannot be had ({}).", why.cause)
                }
                None => format!("Pre-warming {whose} goes on with {images}, {}.", until(intent)),
            });
        }
        let (pulls, images) = self.pulls_for_the_change(request, intent.change.as_ref()?)?;
        Some(match pulls {
            0 => format!("Pre-warming {whose} has nothing left to bring: its nodes have {images} already."),
            _ => format!(
                "Pre-warming {whose} goes on with the images of that revision, {}: {} {} {images}.",
                until(intent),
                counted(pulls, "node"),
                if pulls == 1 { "pulls" } else { "pull" },
            ),
        })
    }

    /// The request for pre-warming, unless it is paused or cancelled.
    fn prewarming_that_goes_on(&self) -> Option<&Prewarm> {
        let request = &self.warming.job.as_ref()?.request;
        (request.paused.is_none() && request.cancelled.is_none()).then_some(request)
    }

    /// On how many nodes of a request the images of the template after `change` are not there, and these images.
    fn pulls_for_the_change(&self, request: &Prewarm, change: &Change) -> Option<(usize, String)> {
        let template = self.view.template_with(change).ok()?;
        let images = template.images();
        let names: Vec<String> = images.iter().map(|image| normalized(image)).collect();
        let lacks = |row: &&Row| !self.has_images(row, &template, &names);
        Some((self.meant(&request.nodes).filter(lacks).count(), listed(&images)))
    }
}

/// When pre-warming ends that a roll back leaves as it is.
fn until(intent: &Intent) -> &'static str {
    match intent.finish {
        Finish::Release => "until it is cancelled, or this roll back is complete and the DaemonSet is handed back",
        Finish::Keep => "until it is cancelled or the DaemonSet is handed back",
    }
}

fn listed(images: &[Str]) -> String {
    images.iter().map(Str::to_string).collect::<Vec<_>>().join(", ")
}
