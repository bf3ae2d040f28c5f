//! The title of a finding about a cause: the cause with the image or the container that it concerns.

use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::image::normalized;
use crate::engine::model::pull::PullState;
use crate::engine::report::snapshot::{NodeView, RevisionView, Snapshot};
use crate::engine::rules::injected::injected_container;
use crate::engine::rules::pulls::image_in;

/// The container that the cause of a node concerns, if the template of its pod does not name it.
pub(super) fn injected<'a>(cause: &'a Cause, node: &NodeView, snapshot: &Snapshot) -> Option<&'a Str> {
    injected_container(cause, revision_of(node, snapshot)?.template.as_ref()?)
}

/// The revision of a node's pod.
pub(super) fn revision_of<'a>(node: &NodeView, snapshot: &'a Snapshot) -> Option<&'a RevisionView> {
    snapshot.revisions.iter().find(|revision| Some(&revision.hash) == node.revision_hash())
}

/// The cause, with the image if it concerns one.
pub(super) fn title(cause: &Cause, node: &NodeView, snapshot: &Snapshot) -> String {
    if let Some(container) = injected(cause, node, snapshot) {
        return format!("{cause}: {container}, which is not in the template");
    }
    if let (CauseKind::InitFailure, Some(container)) = (cause.kind, &cause.container) {
        return format!("{cause}: {container}");
    }
    match image_of(cause, node, snapshot) {
        Some(image) => match pulled_instead(cause, image) {
            Some(other) => format!("{cause}: {image}, pulled as {other}"),
            None => format!("{cause}: {image}"),
        },
        None => cause.to_string(),
    }
}

/// The image that a cause is about, as the template names it; `None` if it is not about an image, or not known which.
pub(super) fn image_of<'a>(cause: &Cause, node: &'a NodeView, snapshot: &'a Snapshot) -> Option<&'a Str> {
    if !cause.kind.is_about_the_image() {
        return None;
    }
    // The image states of a node are those of the target. A pod at another revision fails because of an image of its own revision.
    if !node.at_target {
        let images = revision_of(node, snapshot).map(|revision| &revision.images);
        let image = images.into_iter().flatten().find(|(container, _)| Some(container) == cause.container.as_ref());
        return image.map(|(_, image)| image);
    }
    // While an image is pulled again no pull has state `Failed`; the cause still concerns the image of its container.
    let failed = node.images.iter().find(|pull| matches!(pull.state, PullState::Failed { .. }));
    let failed = failed.or_else(|| node.images.iter().find(|pull| Some(&pull.container) == cause.container.as_ref()));
    failed.map(|pull| &pull.image)
}

/// The image that the kubelet pulls, by its words, if that is not the one of the template: admission has changed it in the pod, so that it comes from a
/// mirror.
pub(super) fn pulled_instead<'a>(cause: &'a Cause, image: &str) -> Option<&'a str> {
    let named = image_in(cause.message.as_deref()?)?;
    (normalized(named) != normalized(image)).then_some(named)
}
