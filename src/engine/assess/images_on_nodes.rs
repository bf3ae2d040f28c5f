//! Whether the nodes still have the images of the revisions that they may go back to. This is computed on request, not for every snapshot.
//!
//! ```text
//!   a container of the node's pods has its imageID ─┐
//!   its kubelet said that it came, or was there ────┼─▶ present
//!   a pod for pre-warming brought it ───────────────┤
//!   the node lists it ──────────────────────────────┘
//!   the node lists all that it has, among them others of the repository ─┬─▶ would pull
//!   it could not be pulled there ────────────────────────────────────────┘
//!   anything else, and a list that lacks what has come a moment ago ─▶ not known
//! ```

use std::collections::HashMap;

use super::rows::{Assessment, Row};
use crate::engine::model::Str;
use crate::engine::model::facts::RevisionFact;
use crate::engine::model::image::normalized;
use crate::engine::model::images_on_nodes::ImagesOnNodes;
use crate::engine::model::template::NeededImage;
use crate::engine::rules::pulls::{has_image_of, images_present};
use crate::engine::rules::warm_pod::images_key;
use crate::engine::view::{LastPullEvent, PodEntry, View};

/// The revision whose images are looked for on the nodes.
struct WantedRevision<'a> {
    hash: &'a Str,
    /// Identifies the set of images; pods for pre-warming carry it.
    key: Str,
    needed: &'a [NeededImage],
    /// The images as nodes list them.
    listed: Vec<String>,
    /// By revision: for each wanted image, what of that revision needs it, too.
    shared: HashMap<&'a Str, Vec<Option<&'a NeededImage>>>,
}

/// What is known of images on a node, from worst to best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Absent,
    Unknown,
    Present,
}

/// Where the images of a revision are: how many nodes of the fleet have them, lack them, or are not known to have them.
pub(crate) fn images_of_revision(view: &View, assessment: &Assessment, revision: &RevisionFact) -> ImagesOnNodes {
    let wanted = images_to_look_for(view, revision);
    let images = revision.template.images().into();
    let mut counts = ImagesOnNodes { images, nodes: 0, present: 0, absent: 0, unknown: 0 };
    for row in assessment.rows().filter(|row| row.in_fleet) {
        counts.nodes += 1;
        let count = match on_node(view, row, &wanted) {
            Known::Present => &mut counts.present,
            Known::Absent => &mut counts.absent,
            Known::Unknown => &mut counts.unknown,
        };
        *count += 1;
    }
    counts
}

/// Whether some node of the fleet has the images of this revision.
pub(crate) fn has_images_somewhere(view: &View, assessment: &Assessment, revision: &RevisionFact) -> bool {
    let wanted = images_to_look_for(view, revision);
    assessment.rows().filter(|row| row.in_fleet).any(|row| on_node(view, row, &wanted) == Known::Present)
}

fn images_to_look_for<'a>(view: &'a View, revision: &'a RevisionFact) -> WantedRevision<'a> {
    let needed = revision.template.needed_images();
    let sharing = |other: &'a RevisionFact| {
        let same = |need: &NeededImage| other.template.needed_images().iter().find(|have| have.image == need.image);
        (&other.hash, needed.iter().map(same).collect())
    };
    WantedRevision {
        hash: &revision.hash,
        key: images_key(&revision.template.images()),
        needed,
        listed: needed.iter().map(|needed| normalized(&needed.image)).collect(),
        shared: view.own_revisions().map(sharing).collect(),
    }
}

fn on_node(view: &View, row: &Row, wanted: &WantedRevision<'_>) -> Known {
    let entry = view.entry(row.node);
    // A pod of this revision that is not being deleted.
    let stays = |pod: &PodEntry| {
        let fact = &pod.fact;
        fact.revision.as_ref() == Some(wanted.hash) && fact.deletion_at.is_none()
    };
    let mut own = view.pods_on(row.node).map(|(_, pod)| pod).filter(|pod| stays(pod));
    let brought = || {
        let again = wanted.needed.iter().any(|needed| view.pulls_again(needed));
        !again && view.is_warm(&entry.name, &wanted.key)
    };
    if own.any(|pod| images_present(&pod.fact)) || brought() {
        return Known::Present;
    }
    let each = (0..wanted.needed.len()).map(|nth| image_on_node(view, row, wanted, nth));
    each.min().unwrap_or(Known::Unknown)
}

fn image_on_node(view: &View, row: &Row, wanted: &WantedRevision<'_>, nth: usize) -> Known {
    let entry = view.entry(row.node);
    let needed = &wanted.needed[nth];
    // A tag that is pulled again may be another image by now.
    if view.pulls_again(needed) {
        return Known::Unknown;
    }
    let uses = |pod: &PodEntry| {
        let shared = pod.fact.revision.as_ref().and_then(|hash| wanted.shared.get(hash));
        let Some(its) = shared.and_then(|shared| shared[nth]) else { return false };
        has_image_of(&pod.fact, &its.user) || view.last_pull_event(&pod.fact, its).is_some_and(says_present)
    };
    if view.pods_on(row.node).any(|(_, pod)| uses(pod)) {
        return Known::Present;
    }
    let last_event = view.last_warm_pull_event(&entry.name, &needed.image);
    if last_event.is_some_and(says_present) {
        return Known::Present;
    }
    let Some(fact) = &entry.fact else { return Known::Unknown };
    let long = &wanted.listed[nth];
    if fact.images.iter().any(|image| normalized(&image.name) == *long) {
        return Known::Present;
    }
    let failed = matches!(last_event, Some(LastPullEvent::Failed(..)));
    let may_have = || view.may_still_have(&entry.name, &wanted.key) || view.has_just_come(&entry.name, &needed.image);
    let lacks = || view.lacks_image(entry, &needed.image) && !may_have();
    if failed || lacks() { Known::Absent } else { Known::Unknown }
}

fn says_present(last_event: LastPullEvent<'_>) -> bool {
    matches!(last_event, LastPullEvent::Came(_) | LastPullEvent::WasThere)
}
