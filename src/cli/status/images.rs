//! `status --images`: the state of images on each node, of the target's images and of pre-warmed ones.

use crate::engine::model::image::version_of;
use crate::engine::model::prewarm::PrewarmState;
use crate::engine::model::pull::{PrewarmPulls, PullState};
use crate::engine::model::template::ImageUse;
use crate::engine::model::time::Timestamp;
use crate::engine::report::prewarm_words::PrewarmWords;
use crate::engine::report::snapshot::pull_words::Span;
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
        let usage = match pull.usage {
            ImageUse::Init => " (init)",
            ImageUse::Sidecar => " (sidecar)",
            ImageUse::Main | ImageUse::Volume => "",
        };
        format!("{}={} {}{usage}", pull.container, version_of(&pull.image), pull.state)
    });
    let why = node.telling_image().filter(|pull| pull.state != PullState::Unknown);
    [
        node.name.to_string(),
        node.image.to_string(),
        each.collect::<Vec<_>>().join(", "),
        node.pulling_for(at).map_or_else(|| "-".to_owned(), |span| Span(span).to_string()),
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
                let elapsed = Span(snapshot.at.since(*since)).to_string();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::rollout;
    use crate::engine::model::node::NodeState;
    use crate::engine::model::pull::fixtures::image;

    /// The same pull is told in seconds in each of its columns.
    #[test]
    fn how_long_a_pull_runs_is_told_as_finely_as_how_long_it_usually_takes() {
        let snapshot = rollout();
        let since = snapshot.at - std::time::Duration::from_secs(125);
        let node = NodeView {
            state: NodeState::Pulling,
            images: [image(ImageUse::Main, PullState::Pulling { since })].into(),
            ..NodeView::unknown("ipc-001")
        };
        assert_eq!(image_cells(&node, snapshot.at)[3], "125s");
    }

    #[test]
    fn what_an_image_is_for_is_said_behind_its_state() {
        let images = [ImageUse::Init, ImageUse::Sidecar, ImageUse::Main].map(|usage| image(usage, PullState::Queued));
        let node = NodeView { images: images.into(), ..NodeView::unknown("ipc-001") };
        let words = "setup=v3 queued (init), proxy=v2 queued (sidecar), agent=v1.9.0 queued";
        assert_eq!(image_cells(&node, rollout().at)[2], words);
    }
}
