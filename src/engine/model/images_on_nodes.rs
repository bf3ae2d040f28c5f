//! On how many nodes the images of a revision still are to which nodes may go back.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::Str;
use super::image::version_of;

/// Where the images of a revision are. [`ImagesOnNodes::present`], [`ImagesOnNodes::absent`] and [`ImagesOnNodes::unknown`] add up
/// to [`ImagesOnNodes::nodes`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImagesOnNodes {
    /// The images.
    #[serde(skip)]
    pub images: Arc<[Str]>,
    /// Nodes of the fleet.
    pub nodes: u32,
    /// Nodes on which all of the images are.
    pub present: u32,
    /// Nodes on which one of the images is not: it would be pulled.
    pub absent: u32,
    /// Nodes of which this is not known.
    pub unknown: u32,
}

/// `14 of 20 nodes still have agent:v1, 3 would pull, 3 not known`.
impl fmt::Display for ImagesOnNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { images, nodes, present, .. } = self;
        let have = if *present == 1 { "has" } else { "have" };
        match self.only_image() {
            Some(image) => write!(f, "{present} of {nodes} nodes still {have} {image}")?,
            None => write!(f, "{present} of {nodes} nodes still {have} its {} images", images.len())?,
        }
        self.others(f)
    }
}

impl ImagesOnNodes {
    /// `agent:v1`; `None` where there are several.
    pub fn only_image(&self) -> Option<&str> {
        let [image] = self.images.as_ref() else { return None };
        let short = image.rsplit('/').next().unwrap_or(image);
        Some(if short.contains('@') { version_of(image) } else { short })
    }

    /// The same without the names of the images, for a column: `14 of 20, 3 would pull, 3 not known`.
    pub fn short(&self) -> String {
        struct ShortCount<'a>(&'a ImagesOnNodes);
        impl fmt::Display for ShortCount<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} of {}", self.0.present, self.0.nodes)?;
                self.0.others(f)
            }
        }
        ShortCount(self).to_string()
    }

    fn others(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        [(self.absent, "would pull"), (self.unknown, "not known")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .try_for_each(|(count, words)| write!(f, ", {count} {words}"))
    }
}
