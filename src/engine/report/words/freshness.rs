//! How fresh the view is.

use std::fmt;

use crate::engine::model::event::{SkippedObjects, WatchHealth};
use crate::engine::model::time::ShortDuration;
use crate::engine::report::snapshot::{Snapshot, WatchView};

/// See [`Snapshot::freshness`].
#[derive(Clone, Copy, Debug)]
pub struct FreshnessWords<'a>(pub(super) &'a Snapshot);

impl fmt::Display for FreshnessWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        let mut said = false;
        for WatchView { watched, health, .. } in &snapshot.watches {
            let comma = if said { "; " } else { "" };
            match health {
                WatchHealth::Live => continue,
                WatchHealth::Loading => write!(f, "{comma}{watched} loading")?,
                WatchHealth::Down { since, why } => {
                    write!(f, "{comma}{watched} not seen for {}: {why}", ShortDuration(snapshot.at.since(*since)))?;
                }
                WatchHealth::Lagging { since, why } => {
                    write!(f, "{comma}{watched} as of {} ago: {why}", ShortDuration(snapshot.at.since(*since)))?;
                }
                WatchHealth::Forbidden { .. } => write!(f, "{comma}{watched} n/a (forbidden)")?,
            }
            said = true;
        }
        if said { Ok(()) } else { f.write_str("live") }
    }
}

impl fmt::Display for SkippedObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, first } = self;
        match count {
            0 | 1 => write!(f, "1 skipped: {first}"),
            count => write!(f, "{count} skipped; the first: {first}"),
        }
    }
}
