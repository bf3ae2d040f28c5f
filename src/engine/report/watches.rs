//! How well each watched kind can be seen, for the snapshot.

use super::snapshot::{Snapshot, WatchView};
use crate::engine::machine::Engine;
use crate::engine::model::event::{WatchHealth, Watched};

impl Engine {
    /// How well each kind is seen and when it was last heard of, in the order in which they are shown.
    pub(super) fn watch_views(&self) -> Vec<WatchView> {
        let view = |watched| WatchView {
            watched,
            health: self.health(watched),
            heard_at: self.view.watches().heard_at(watched),
            skipped: self.view.watches().skipped(watched).cloned(),
        };
        Watched::ALL.map(view).into()
    }
}

impl Snapshot {
    /// `nodes are forbidden: …`: a kind that may not be read and without which nothing is started; `None` if each may be read.
    pub fn forbidden_view(&self) -> Option<String> {
        let forbidden = |view: &WatchView| match &view.health {
            WatchHealth::Forbidden { why } if view.watched.is_needed() => {
                Some(format!("{} are forbidden: {why}", view.watched))
            }
            _ => None,
        };
        self.watches.iter().find_map(forbidden)
    }

    /// Whether Leases were seen and are not any more, so that a holder who is not seen to renew may drive all the same.
    pub(crate) fn misses_leases(&self) -> bool {
        self.watches.iter().any(|view| {
            view.watched == Watched::Lease && !matches!(view.health, WatchHealth::Live | WatchHealth::Loading)
        })
    }

    /// Whether pods, or the revisions that they are of, may not be read: what is said of single nodes tells little then.
    pub(super) fn is_counted_by_its_controller(&self) -> bool {
        self.is_forbidden(Watched::Pods) || self.is_forbidden(Watched::Revisions)
    }

    /// Whether this kind may not be read.
    pub(super) fn is_forbidden(&self, watched: Watched) -> bool {
        let forbidden = |view: &WatchView| matches!(view.health, WatchHealth::Forbidden { .. });
        self.watches.iter().any(|view| view.watched == watched && forbidden(view))
    }
}
