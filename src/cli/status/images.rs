//! `status --images`: the state of images on each node, of the target's images and of pre-warmed ones.

use crate::engine::model::image::version_of;
use crate::engine::model::prewarm::PrewarmState;
use crate::engine::model::pull::{PrewarmPulls, PullState};
use crate::engine::model::template::ImageUse;
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::report::prewarm_words::PrewarmWords;
use crate::engine::report::snapshot::{NodeView, Snapshot};

const IMAGE_HEAD: [&str; 6] = ["NODE", "IMAGE", "IMAGES", "FOR", "EXPECTED", "WHY"];

/// The state of the target's images on each node.
pub(super) fn image_table(snapshot: &Snapshot) -> Vec<Vec<String>> {
    let cells = snapshot.nodes.iter().map(|node| image_cells(node, snapshot.at).to_vec());
    std::iter::once(IMAGE_HEAD.map(str::to_owned).to_vec()).chain(cells).collect()
}

/// The cells of a node's images, in the order of [`IMAGE_HEAD`].
fn image_cells(node: &NodeView, at: Timestamp) -> [String; IMAGE_HEAD.len()] {
    let each = node.images.iter().map(|pull| {
        let init = if pull.usage == ImageUse::Init { " (init)" } else { "" };
        format!("{}={} {}{init}", pull.container, version_of(&pull.image), pull.state)
    });
    let why = node.telling_image().filter(|pull| pull.state != PullState::Unknown);
    [
        node.name.to_string(),
        node.image.to_string(),
        each.collect::<Vec<_>>().join(", "),
        node.pulling_for(at).map_or_else(|| "-".to_owned(), |span| ShortDuration(span).to_string()),
        node.usual_pull.as_ref().map_or_else(|| "-".to_owned(), |usual| usual.to_string()),
        why.map_or_else(String::new, |pull| pull.words(at, node.usual_pull.as_deref().copied())),
    ]
}

/// The state of pre-warmed images that the target does not need, on each node.
pub(super) fn prewarm_table(snapshot: &Snapshot, pulls: &PrewarmPulls) -> Vec<Vec<String>> {
    let head = ["NODE", "PRE-WARM", "FOR", "EXPECTED", "WHY"];
    let none = || "-".to_owned();
    let cells = |node: &NodeView| {
        let state = node.prewarm.as_deref()?;
        let (elapsed, usual) = match state {
            PrewarmState::Pulling { since } => {
                let elapsed = ShortDuration(snapshot.at.since(*since)).to_string();
                (elapsed, pulls.usual(&node.name, &node.site).map(|usual| usual.to_string()))
            }
            _ => (none(), None),
        };
        let why = match state {
            PrewarmState::Pulling { .. } | PrewarmState::Present => pulls.words(node, snapshot.at).unwrap_or_default(),
            _ => PrewarmWords { state, at: snapshot.at }.to_string(),
        };
        Some(vec![node.name.to_string(), state.word().to_owned(), elapsed, usual.unwrap_or_else(none), why])
    };
    let rows = snapshot.nodes.iter().filter_map(cells);
    std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
}
