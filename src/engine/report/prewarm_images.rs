//! The names of what is pre-warmed, and whether the rollout needs it: where a pull of another image fails, the rollout goes on.

use crate::engine::model::image::without_user;
use crate::engine::model::prewarm::PrewarmView;
use crate::engine::report::snapshot::Snapshot;

/// The images of which the name is told; of more only the number is.
const NAMED: usize = 2;

impl PrewarmView {
    /// The images without their registries and folders: `agent:v3`, `agent:v3, proxy:v2`, `agent:v3 and 2 more`.
    pub fn images_in_brief(&self) -> String {
        let last = |image: &str| {
            let image = without_user(image);
            let (named, digest) = image.split_once('@').map_or((image, None), |(named, digest)| (named, Some(digest)));
            let named = named.rsplit('/').next().unwrap_or(named);
            // A digest is cut to the cells that tell digests apart.
            digest.map_or_else(|| named.to_owned(), |digest| format!("{named}@{}", digest.get(..15).unwrap_or(digest)))
        };
        let (named, more) = self.images.split_at(self.images.len().min(NAMED));
        match more.len() {
            0 => named.iter().map(|image| last(image)).collect::<Vec<_>>().join(", "),
            more => format!("{} and {} more", last(&self.images[0]), more + NAMED - 1),
        }
    }

    /// Whether the target needs none of the images.
    fn is_of_others(&self) -> bool {
        let is_other = |image: &str| self.pulls.images.iter().any(|other| *other.image == *image);
        !self.images.is_empty() && self.images.iter().all(|image| is_other(image))
    }
}

impl Snapshot {
    /// The images that are pre-warmed, in brief, where a rollout goes on that needs none of them.
    pub fn prewarms_beside_the_rollout(&self) -> Option<String> {
        let prewarm = self.prewarm.as_ref().filter(|_| self.started_at.is_some())?;
        prewarm.is_of_others().then(|| prewarm.images_in_brief())
    }

    /// The words behind `pre-warm` or `pre-warming`: ` of agent:v3, not needed by this rollout`. Empty where the target needs one of the
    /// images; without a rollout only the images are named.
    pub fn of_what_is_prewarmed(&self) -> String {
        let others = self.prewarm.as_ref().filter(|prewarm| prewarm.is_of_others());
        let Some(prewarm) = others else { return String::new() };
        let aside = if self.started_at.is_some() { ", not needed by this rollout" } else { "" };
        format!(" of {}{aside}", prewarm.images_in_brief())
    }

    /// The same as the subject of a sentence: `pre-warming of agent:v3, not needed by this rollout,`, or `pre-warming` alone.
    pub fn prewarming_as_subject(&self) -> String {
        let comma = if self.prewarms_beside_the_rollout().is_some() { "," } else { "" };
        format!("pre-warming{}{comma}", self.of_what_is_prewarmed())
    }
}
