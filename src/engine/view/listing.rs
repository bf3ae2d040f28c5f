//! Lists: an object that a complete list does not name is gone, unless the list is older than what is known already.

use super::View;
use crate::engine::model::Str;
use crate::engine::model::event::Watched;
use crate::engine::model::time::Timestamp;
use crate::engine::model::version::is_behind;

impl View {
    pub(super) fn begin_listing(&mut self, watched: Watched) {
        match watched {
            Watched::Nodes => self.nodes.iter_mut().for_each(|entry| entry.listed = false),
            Watched::Pods => self.pods.iter_mut().flatten().for_each(|entry| entry.listed = false),
            Watched::Revisions => self.listed_revisions.clear(),
            Watched::WarmPods => self.begin_warm_listing(),
            Watched::DaemonSet | Watched::Events | Watched::Lease => {}
        }
    }

    /// Removes what a complete list of this version did not name.
    pub(super) fn end_listing(&mut self, watched: Watched, version: Option<u64>, now: Timestamp) {
        match watched {
            Watched::Nodes if !is_behind(version, self.newest_node) => {
                for ix in 0..self.nodes.len() {
                    if !self.nodes[ix].listed {
                        self.forget_node(ix, now);
                    }
                }
            }
            Watched::Pods if !is_behind(version, self.newest_pod) => {
                let missing = self.pods.iter().flatten().filter(|entry| !entry.listed);
                let missing: Vec<Str> = missing.map(|entry| entry.fact.uid.clone()).collect();
                missing.iter().for_each(|uid| self.forget_pod(uid));
            }
            Watched::Revisions => {
                let listed = std::mem::take(&mut self.listed_revisions);
                self.revisions.retain(|revision| listed.contains(&revision.name));
                self.touched.all = true;
                self.settle_current(now);
            }
            Watched::WarmPods if !is_behind(version, self.warm.newest()) => self.end_warm_listing(now),
            // There is one object of each of these: `Engine::observe` handles them.
            Watched::DaemonSet | Watched::Lease => {}
            Watched::Nodes | Watched::Pods | Watched::WarmPods | Watched::Events => {}
        }
    }
}
