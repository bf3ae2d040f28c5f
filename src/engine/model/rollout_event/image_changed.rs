//! The images that differ between two templates.

use serde::Serialize;

use crate::engine::model::Str;
use crate::engine::model::image::without_user;
use crate::engine::model::template::NeededImage;

/// One container's image, before and after.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageChanged {
    /// The container.
    pub container: Str,
    /// The image before, if the container was there.
    pub from: Option<Str>,
    /// The image now, if the container still is.
    pub to: Option<Str>,
}

impl ImageChanged {
    /// The images that differ between two templates, by container: first those that the second template needs, then those of the containers that it no
    /// longer has.
    pub(crate) fn between(before: &[NeededImage], after: &[NeededImage]) -> Vec<Self> {
        let was = |name: &Str| before.iter().find(|known| known.user == *name).map(|known| known.image.clone());
        let mut changed: Vec<Self> = after
            .iter()
            .map(|needed| Self {
                container: needed.user.clone(),
                from: was(&needed.user).map(|image| without_user(&image).into()),
                to: Some(without_user(&needed.image).into()),
            })
            .filter(|change| change.from != change.to)
            .collect();
        let gone = before.iter().filter(|known| !after.iter().any(|needed| needed.user == known.user));
        changed.extend(gone.map(|known| Self {
            container: known.user.clone(),
            from: Some(without_user(&known.image).into()),
            to: None,
        }));
        changed
    }
}
