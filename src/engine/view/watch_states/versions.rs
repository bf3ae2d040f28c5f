//! How far each watch has come, by resource version: one that goes on sending bookmarks while it stands still.
//!
//! Everything that an API server keeps in one etcd has one counter of versions, so those of different kinds compare
//! (KEP-5504). A quiet kind's bookmark need not be recent: what the server knows of a kind it learns from its changes, and
//! else from etcd, which tells a quiet watch every ten minutes how far it has come (`--watch-progress-notify-interval`), and
//! skips the first time. Measured on 1.36: within two minutes, bookmarks of quiet kinds were up to 70 s behind, and some
//! kinds had sent none. So what is too far behind follows from those ten minutes, and for nodes from their kubelets, which
//! write a status every five minutes at least (`nodeStatusReportFrequency`).
//!
//! ```text
//!   another watch   ──●────────────●──────▶     two of them have shown versions beyond V since then
//!   this watch      V ·····♪·····♪·····♪──▶     and it was heard that much later, still at V: it stands still
//! ```
//!
//! A kind may live in an etcd of its own (`--etcd-servers-overrides`), whose counter is another: Events often do, and prove
//! nothing here. Two others are compared only where their first lists, which are made at about the same time, were of
//! about the same version; and one alone proves nothing.

use std::collections::VecDeque;
use std::time::Duration;

use crate::engine::model::event::{Event, Watched};
use crate::engine::model::time::Timestamp;

/// A quiet watch may be behind by this much: etcd's interval, twice, a bookmark every minute, and a minute to spare.
pub(super) const BEHIND: Duration = Duration::from_secs(22 * 60);
/// The watch of nodes may be behind by this much: the kubelets' interval, twice, a bookmark every minute.
pub(super) const NODES_BEHIND: Duration = Duration::from_secs(11 * 60);
/// How exactly it is remembered when a watch had shown what.
const GRAIN: Duration = Duration::from_secs(10);
/// Versions of first lists that are further apart than this are not of one counter: a busy cluster makes a thousand a second.
const NEAR: u64 = 10_000;
/// This many other watches must have advanced.
const WITNESSES: usize = 2;

/// By how much a watch may be behind; `None` if its kind may be kept in an etcd of its own, so that its versions prove nothing.
fn may_be_behind(watched: Watched) -> Option<Duration> {
    match watched {
        Watched::DaemonSet | Watched::Revisions | Watched::Pods | Watched::Lease => Some(BEHIND),
        Watched::Nodes => Some(NODES_BEHIND),
        // Nothing is replaced because of what these show.
        Watched::Events | Watched::WarmPods => None,
    }
}

/// What each watch has shown, and when.
#[derive(Debug, Default)]
pub(super) struct Versions([ShownVersions; Watched::ALL.len()]);

#[derive(Debug, Default)]
struct ShownVersions {
    /// The version of its first list.
    first: Option<u64>,
    newest: Option<u64>,
    /// Versions that it had come to, each with when, oldest first.
    recent: VecDeque<(Timestamp, u64)>,
}

impl Versions {
    /// Takes in what an event by a watch says of how far that has come.
    pub(super) fn hear(&mut self, watched: Watched, event: &Event, now: Timestamp) {
        let version = match event {
            Event::Pod(fact) => fact.resource_version.parse().ok(),
            Event::DaemonSet(fact) => fact.resource_version.parse().ok(),
            Event::Lease(fact) => fact.resource_version.parse().ok(),
            Event::Node(fact) => fact.version,
            Event::WarmPod(fact) => fact.pod.resource_version.parse().ok(),
            Event::PodGone(_, version)
            | Event::WarmPodGone(_, version)
            | Event::DaemonSetGone(version)
            | Event::LeaseGone(version)
            | Event::Listed(_, version)
            | Event::Heard(_, version) => *version,
            Event::Revision(_)
            | Event::RevisionGone(_)
            | Event::NodeGone(_)
            | Event::Cluster(_)
            | Event::Listing(_)
            | Event::Watch(..)
            | Event::Skipped(..)
            | Event::Rights(_)
            | Event::Skew(_)
            | Event::RoundTrip(_) => None,
        };
        let shown = &mut self.0[watched as usize];
        if let Event::Listed(_, Some(version)) = event {
            shown.first.get_or_insert(*version);
        }
        let Some(version) = version.filter(|version| shown.newest.is_none_or(|newest| newest < *version)) else {
            return;
        };
        shown.newest = Some(version);
        if shown.recent.back().is_none_or(|(at, _)| now >= *at + GRAIN) {
            shown.recent.push_back((now, version));
        }
        while shown.recent.front().is_some_and(|(at, _)| *at + BEHIND + BEHIND < now) {
            shown.recent.pop_front();
        }
    }

    /// Since when a watch that was last heard at `heard_at` stands still, if that is for longer than it can be.
    pub(super) fn stands_still(&self, watched: Watched, heard_at: Timestamp) -> Option<Timestamp> {
        let may_be = may_be_behind(watched)?;
        let newest = self.0[watched as usize].newest?;
        let first = self.0[watched as usize].first?;
        let near = |other: &Watched| self.0[*other as usize].first.is_some_and(|it| it.abs_diff(first) <= NEAR);
        let one_counter = |other: &Watched| *other != watched && may_be_behind(*other).is_some();
        let others = Watched::ALL.into_iter().filter(one_counter).filter(near);
        let mut passed: Vec<Timestamp> = others
            .filter_map(|other| {
                let recent = &self.0[other as usize].recent;
                let passed = recent.partition_point(|(_, version)| *version <= newest);
                recent.get(passed).map(|(at, _)| *at)
            })
            .collect();
        passed.sort_unstable();
        let since = *passed.get(WITNESSES - 1)?;
        (heard_at >= since + may_be).then_some(since)
    }
}
