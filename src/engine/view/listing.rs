//! Lists: what one does not name is gone, unless it comes from a cache that is behind what is known.

use super::View;
use crate::engine::Str;
use crate::engine::event::Watched;
use crate::engine::snapshot::Presence;

/// A listing that is coming in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Listing {
    /// None is.
    #[default]
    None,
    /// One is, and as far as can be told it is not older than what is known.
    Fresh,
    /// One is, and it names something that is known to be older, or gone: it comes from a cache that is behind.
    Behind,
}

impl Listing {
    pub(super) fn is_behind(&mut self) {
        if *self == Self::Fresh {
            *self = Self::Behind;
        }
    }
}

impl View {
    pub(super) fn begin_listing(&mut self, watched: Watched) {
        match watched {
            Watched::Nodes => self.nodes.iter_mut().for_each(|entry| entry.listed = false),
            Watched::Pods => {
                self.pods_listing = Listing::Fresh;
                self.pods.iter_mut().flatten().for_each(|entry| entry.listed = false);
            }
            Watched::Revisions => self.listed_revisions.clear(),
            Watched::DaemonSet | Watched::Events | Watched::Lease => {}
        }
    }

    pub(super) fn end_listing(&mut self, watched: Watched) {
        match watched {
            Watched::Nodes => {
                for ix in 0..self.nodes.len() {
                    if !self.nodes[ix].listed {
                        self.forget_node(ix);
                    }
                }
            }
            Watched::Pods => {
                // What a listing from a cache that is behind us does not name may be newer than it; its watch will tell.
                if std::mem::take(&mut self.pods_listing) != Listing::Behind {
                    let missing = self.pods.iter().flatten().filter(|entry| !entry.listed);
                    let missing: Vec<Str> = missing.map(|entry| entry.fact.uid.clone()).collect();
                    missing.iter().for_each(|uid| self.forget_pod(uid));
                }
            }
            Watched::Revisions => {
                let listed = std::mem::take(&mut self.listed_revisions);
                self.revisions.retain(|revision| listed.contains(&revision.name));
                self.touched.all = true;
                self.settle_current();
            }
            Watched::DaemonSet => {
                if self.presence == Presence::Loading {
                    self.presence = Presence::Absent;
                }
            }
            Watched::Events | Watched::Lease => {}
        }
    }
}
