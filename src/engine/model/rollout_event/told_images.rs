//! The images that revisions have, as events tell them: a change of the template names them with the numbers that both revisions had then. No other revision
//! ever gets such a number, so that a revision with other images is not the one that is meant.

use std::collections::BTreeMap;

use super::phrases::{CHANGED, THAT_OF, number_at_the_beginning};
use super::{RolloutEvent, RolloutEventKind};
use crate::engine::model::image::version_of;
use crate::engine::model::template::Template;

/// What events tell of the images of revisions, by the number that a revision had then: container, and image or its version.
#[derive(Debug, Default)]
pub(crate) struct ToldImages(BTreeMap<i64, Vec<(String, String)>>);

impl ToldImages {
    /// What these events tell.
    pub(crate) fn of<'a>(events: impl Iterator<Item = &'a RolloutEvent>) -> Self {
        let mut told = Self::default();
        for event in events {
            match &event.kind {
                RolloutEventKind::TemplateChanged { .. } => told.read(&event.kind.to_string()),
                RolloutEventKind::Reported { .. } => told.read(event.said.as_deref().unwrap_or_default()),
                _ => None,
            };
        }
        told
    }

    /// Reads `template changed: revision 2 → 3, agent v2 → v3`.
    fn read(&mut self, said: &str) -> Option<()> {
        let (from, to) = said.strip_prefix(CHANGED)?.split_once(" → ")?;
        let (from, to) = (from.parse().ok()?, to.strip_prefix(THAT_OF).unwrap_or(to));
        let to_number = number_at_the_beginning(to)?;
        for change in to.split(", ").skip(1) {
            let named =
                change.split_once(' ').and_then(|(container, images)| Some((container, images.split_once(" → ")?)));
            let Some((container, (was, is))) = named else { continue };
            for (number, image) in [(from, was), (to_number, is)] {
                self.0.entry(number).or_default().push((container.to_owned(), image.to_owned()));
            }
        }
        Some(())
    }

    /// Whether a revision with this template may have had this number.
    pub(crate) fn allow_template(&self, number: i64, template: &Template) -> bool {
        let needed = template.needed_images();
        self.allow(number, |name| needed.iter().find(|it| &*it.user == name).map(|it| &*it.image))
    }

    /// The same of one with these images. `image_of`: its image by container, if it has such a container.
    fn allow<'a>(&self, number: i64, image_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.get(&number).into_iter().flatten().all(|(container, told)| match image_of(container) {
            Some(image) => image == told || version_of(image) == told,
            None => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_with_another_image_is_not_the_one_that_had_the_number() {
        let mut told = ToldImages::default();
        told.read("template changed: revision 2 → 3, agent v2 → missing, log 1.0 → 1.1").unwrap();
        told.read(
            "template changed: revision 3 → that of revision 2, which its controller numbers anew, agent missing → v2",
        )
        .unwrap();
        for (number, image, allowed) in [
            (3, "registry.example/agent:missing", true),
            (3, "registry.example/agent:v2", false),
            (2, "registry.example/agent:v2", true),
            (2, "registry.example/agent:missing", false),
            (7, "registry.example/agent:v2", true),
        ] {
            let image_of = |container: &str| (container == "agent").then_some(image);
            assert_eq!(told.allow(number, image_of), allowed, "{number} {image}");
        }
        assert_eq!(told.read("halted at revision 3: crash loop"), None);
    }
}
