//! How well each watched kind can be seen, for the snapshot.

use super::snapshot::WatchView;
use crate::engine::machine::Engine;
use crate::engine::model::event::Watched;

impl Engine {
    /// How well each kind is seen and when it was last heard of, in the order in which they are shown.
    pub(super) fn watch_views(&self) -> Vec<WatchView> {
        let view = |watched| WatchView {
            watched,
            health: self.health(watched),
            heard_at: self.view.watches.heard_at(watched),
            skipped: self.view.watches.skipped(watched).cloned(),
        };
        Watched::ALL.map(view).into()
    }
}
