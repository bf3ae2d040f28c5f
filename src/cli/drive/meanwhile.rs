//! What others change of a rollout while `drive` waits or drives, and what becomes of what was asked for.

use super::super::error::{CliError, CliErrorKind};
use super::super::status::how_it_stands;
use super::has_images;
use crate::cli::args::ContainerImage;
use crate::engine::report::snapshot::Snapshot;

/// What somebody has changed of the rollout between two looks at it, of which nobody drove in between; `None` if nothing. Flags that were given before that
/// change would undo it unseen.
pub(super) fn changed_meanwhile(before: &Snapshot, now: &Snapshot) -> Option<String> {
    let is_other_target = match (&before.to, &now.to) {
        (Some(before), Some(now)) => before.hash != now.hash,
        (None, _) | (_, None) => false,
    };
    // A change that was asked for at the first look may have been made since.
    let is_made = before.requested_change.is_some() && now.requested_change.is_none();
    let is_other_template = is_other_target || now.requested_change != before.requested_change;
    let (plan, its_plan) = (&now.plan, &before.plan);
    let changes = [
        (is_other_template && !is_made, "another template"),
        (now.direction != before.direction, "another direction"),
        (plan.partition != its_plan.partition || plan.steps != its_plan.steps, "how many nodes may be updated"),
        (plan.selector != its_plan.selector, "which nodes may be updated"),
        (now.paused != before.paused, if now.paused.is_some() { "a pause" } else { "an end of the pause" }),
        (now.settings != before.settings, "limits or gates"),
    ];
    let changed: Vec<&str> = changes.into_iter().filter(|(is_changed, _)| *is_changed).map(|(_, what)| what).collect();
    (!changed.is_empty()).then(|| {
        format!(
            "nothing was written, and nothing is driven: while this command waited for the lease somebody asked for {}; now {}",
            changed.join(", "),
            how_it_stands(now)
        )
    })
}

/// Whether the target has the images that were asked for, as far as a drive has seen.
#[derive(Debug, Default)]
pub(super) struct AskedImages {
    was_target: bool,
}

impl AskedImages {
    pub(super) fn see(&mut self, snapshot: &Snapshot, images: &[ContainerImage]) {
        self.was_target |= !images.is_empty() && has_images(snapshot, images);
    }

    /// The error for a drive that came to its end with other images than those that were asked for: whoever asked expects them on every node.
    pub(super) fn replaced(&self, snapshot: &Snapshot, images: &[ContainerImage]) -> Option<CliError> {
        let is_replaced = self.was_target && snapshot.to.is_some() && !has_images(snapshot, images);
        is_replaced.then(|| {
            let asked: Vec<String> =
                images.iter().map(|wanted| format!("{}={}", wanted.container, wanted.image.as_str())).collect();
            let why = format!(
                "{} was asked for, and somebody has set another image since, which was rolled out instead: {}; now {}",
                asked.join(" "),
                snapshot.change(),
                how_it_stands(snapshot)
            );
            CliError::new(CliErrorKind::Halted, why)
        })
    }
}
