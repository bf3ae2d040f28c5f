//! The history of each node and of the progress, found by comparing each snapshot with the one before.
//!
//! ```text
//! 14:30:05 ipc-017 its pod is going
//! 14:30:09 ipc-017 pulls the image
//! 14:30:23 ipc-017 pulled in 14s
//! 14:30:40 ipc-017 failed: crash loop
//! ```
//!
//! It works for rollouts that others drive as well. The time before the first snapshot is read off the pods that exist now (`story/before.rs`); pods
//! that are gone tell nothing. `story/words.rs` has the words.

mod before;
mod controller;
mod earlier;
mod images;
mod news;
pub mod order;
mod speed;
mod words;

use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

use self::controller::LastController;
pub use self::controller::{ControllerChange, ControllerMoment};
pub use self::earlier::EarlierStory;
pub use self::speed::UpdateSpeed;
use super::snapshot::{Counterparts, NodeView, Phase, Snapshot, WatchView};
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::facts::Severity;
use crate::engine::model::node::{ImageState, NodeState, RunEnd};
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::presence::Presence;
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::time::Timestamp;

/// How many moments are kept; the oldest are dropped first.
const MOMENTS: usize = 4_096;
/// How many points of the progress are kept; beyond that, every second point is dropped.
const POINTS: usize = 2_048;

/// The story of one rollout.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Story {
    /// In the order of the last snapshot.
    last_nodes: Vec<LastNode>,
    moments: VecDeque<NodeMoment>,
    progress: Vec<ProgressPoint>,
    seen_since: Option<Timestamp>,
    /// The time of the last snapshot.
    seen_until: Option<Timestamp>,
    /// The story from before the view was closed, until the first snapshot is there.
    earlier: Option<Box<EarlierStory>>,
    dropped: u64,
    /// The revision by which nodes were counted last, and when it changed.
    target: Option<Str>,
    retargeted_at: Option<Timestamp>,
    controller: LastController,
    controllers: Vec<ControllerMoment>,
}

const DELETED_WHILE_DOWN: &str = "its pod is deleted, and stays until the node is back";

/// Something that happened to one node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeMoment {
    /// When it happened, as far as the cluster tells; otherwise when it was seen.
    pub at: Timestamp,
    /// When it was seen; `None` if it is read off a pod later.
    pub seen_at: Option<Timestamp>,
    /// The node.
    pub node: Str,
    /// The change.
    pub change: NodeChange,
}

/// What happened to a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeChange {
    /// Its state changed.
    State {
        /// The state before; `None` if that is not known.
        from: Option<NodeState>,
        /// The state now.
        to: NodeState,
        /// How long it was in the state before.
        after: Option<Duration>,
        /// For how long it was unavailable; only where that ends now.
        down: Option<Duration>,
        /// The reason, if something is wrong.
        why: Option<Str>,
        /// Whether the node is well again after trouble was reported.
        recovers: bool,
        /// Whether this pod had been ready before and lost that: a time until it is ready then counts from the loss, and not from its start.
        again: bool,
        /// Whether the node goes down, or comes back, in the course of its update, and its kubelet says so itself: that is no trouble.
        in_update: bool,
    },
    /// Its pod, which nobody watched becoming ready, has been ready since this time. The pod may have been ready earlier, with a break.
    ReadySince,
    /// New trouble in the same state.
    Trouble {
        /// The trouble.
        why: Str,
    },
    /// The pod of a node that is still to be updated is not ready any more, or is again.
    Readiness {
        /// Whether it is ready now.
        ready: bool,
    },
    /// Its pod's containers restarted.
    Restarted {
        /// How often since the pod was made.
        times: u32,
        /// How the container that ended last did, where its kubelet told.
        end: Option<RunEnd>,
    },
    /// Its kubelet evicted its pod, which was not seen before the next pod was there.
    Evicted {
        /// How many evictions of its pods count.
        times: u32,
    },
    /// The node should not run the pod any more, or is gone.
    Gone,
}

/// The progress of the rollout at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressPoint {
    /// The instant.
    pub at: Timestamp,
    /// The number of nodes in each position.
    #[serde(flatten)]
    pub figures: ProgressFigures,
    /// Nodes that should run the pod.
    pub nodes: u32,
}

/// The number of nodes in each position at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum ProgressFigures {
    /// Counted while the rollout was watched.
    Watched {
        /// Nodes at the target revision and available.
        updated: u32,
        /// Nodes that should run the pod and are not available.
        unavailable: u32,
    },
    /// Read off the pods that exist now, as nobody watched. They do not tell how many nodes were unavailable.
    ReadOff {
        /// Nodes whose present pod is at the target revision and has been ready since. There may have been more: a pod that became ready again tells
        /// only the later time.
        ready_at_least: u32,
    },
}

impl ProgressPoint {
    /// How many nodes are known to have had the new pod.
    pub fn done(&self) -> u32 {
        match self.figures {
            ProgressFigures::Watched { updated, .. } => updated,
            ProgressFigures::ReadOff { ready_at_least } => ready_at_least,
        }
    }

    /// How many nodes were unavailable, if the rollout was watched.
    pub fn unavailable(&self) -> Option<u32> {
        match self.figures {
            ProgressFigures::Watched { unavailable, .. } => Some(unavailable),
            ProgressFigures::ReadOff { .. } => None,
        }
    }
}

/// The last known state of a node.
#[derive(Clone, PartialEq, Debug)]
struct LastNode {
    name: Str,
    state: NodeState,
    cause: Option<CauseKind>,
    /// The last cause that was reported of this pod: a cause that goes and comes back is reported once.
    reported: Option<CauseKind>,
    restarts: u32,
    evictions: u32,
    since: Timestamp,
    down_since: Option<Timestamp>,
    pod: Option<Str>,
    /// Its pod is deleted, and the node is down.
    stays: bool,
    /// Its node is not Ready in the course of its update, and its kubelet says so itself.
    in_update: bool,
    /// Whether trouble was reported since the node was last well.
    troubled: bool,
    /// Its pod is ready.
    ready: bool,
    /// Its pod was ready, lost that, and has not been ready since.
    lost_readiness: bool,
    /// Why its images could not be brought before its update, as it was reported last.
    no_images: Option<CauseKind>,
}

impl LastNode {
    fn of(node: &NodeView, now: Timestamp) -> Self {
        let since = node.since.unwrap_or(now).min(now);
        let in_update = node.suspect.is_some_and(SuspectView::is_in_update);
        Self {
            name: node.name.clone(),
            state: node.state,
            cause: node.cause.as_ref().map(|cause| cause.kind),
            reported: node.cause.as_ref().map(|cause| cause.kind),
            restarts: node.restarts,
            evictions: node.evictions(),
            since,
            down_since: node.blame.map(|_| since),
            pod: node.pod.clone(),
            stays: node.pod_wait.as_deref() == Some(&PodWait::NodeBack),
            in_update,
            troubled: is_trouble(node.state) && !in_update,
            ready: node.serves,
            lost_readiness: false,
            no_images: images::failed(node),
        }
    }

    /// Whether its pod serves. A pod whose state changed only because it is counted differently, as after a roll back is asked for, does not count.
    fn serves(&self) -> bool {
        is_well(self.state) && self.down_since.is_none()
    }
}

impl Story {
    /// A story that begins with the time before `snapshot`, as the pods in it tell it. `deleted_at` gives the time at which the old pod of a node
    /// was deleted, if known from elsewhere: the pods do not tell it.
    pub fn reconstructed(snapshot: &Snapshot, deleted_at: impl Fn(&str) -> Option<Timestamp>) -> Self {
        let mut story = Self::default();
        if is_loaded(snapshot) {
            story.begin(snapshot, deleted_at);
        }
        story
    }

    fn begin(&mut self, snapshot: &Snapshot, deleted_at: impl Fn(&str) -> Option<Timestamp>) {
        let (moments, progress) = before::reconstruct(snapshot, deleted_at);
        let told_until = self.take_earlier(snapshot);
        let is_untold = |moment: &NodeMoment| {
            told_until.as_ref().is_none_or(|(until, told)| moment.at > *until && !told.contains(&moment.node))
        };
        let untold = moments.into_iter().filter(is_untold);
        untold.for_each(|moment| self.keep(moment));
        self.progress = progress;
        self.seen_since = Some(snapshot.at);
        self.seen_until = Some(snapshot.at);
        self.last_nodes = snapshot.nodes.iter().map(|node| LastNode::of(node, snapshot.at)).collect();
        self.mark_progress(snapshot);
        self.watch_the_controller(snapshot);
    }

    /// Takes in a snapshot that is later than all before it. From the first one, the time before is read off its pods.
    pub fn observe(&mut self, snapshot: &Snapshot) {
        if !is_loaded(snapshot) {
            // Objects that appear while a view is loaded did not appear in the cluster then.
            return;
        }
        if self.seen_since.is_none() {
            return self.begin(snapshot, |_| None);
        }
        self.seen_until = Some(snapshot.at);
        self.compare(snapshot);
        self.mark_progress(snapshot);
        self.watch_the_controller(snapshot);
    }

    fn compare(&mut self, snapshot: &Snapshot) {
        let now = snapshot.at;
        let mut found = Vec::new();
        let last = std::mem::take(&mut self.last_nodes);
        let mut before = Counterparts::of(&last, |node| &node.name);
        let mut stay = vec![false; last.len()];
        self.last_nodes.reserve_exact(snapshot.nodes.len());
        for (place, node) in snapshot.nodes.iter().enumerate() {
            let mut next = LastNode::of(node, now);
            let Some(place) = before.find(place, &node.name) else {
                self.last_nodes.push(next);
                found.push(moment(now, &node.name, joined(node)));
                continue;
            };
            stay[place] = true;
            let was = &last[place];
            if is_deletion_open(node) && was.pod == node.pod {
                // Nothing has happened to the node yet, as far as is known.
                self.last_nodes.push(was.clone());
                continue;
            }
            // A pod that lost its readiness tells since when it runs, not since when it is unready. A pod that is going tells its time by its
            // deletion.
            let is_told = next.state == NodeState::Terminating;
            if next.state != was.state && next.since <= was.since && !is_told {
                next.since = now;
            }
            next.down_since = next.down_since.map(|_| was.down_since.unwrap_or(next.since));
            let lost = was.lost_readiness || loses_readiness(Some(was.state), next.state);
            next.lost_readiness = lost && was.pod == next.pod && !next.ready;
            // A roll back, or an outage beside it, ends the judgement and not the update.
            let goes_beyond = node.suspect.is_some_and(SuspectView::goes_beyond_its_update);
            let stays = was.pod == next.pod && next.state == NodeState::NodeDown;
            next.in_update |= was.in_update && stays && !goes_beyond;
            let changes = changes(was, &next, node);
            let says_why = |change: &NodeChange| {
                matches!(change, NodeChange::State { why: Some(_), .. } | NodeChange::Trouble { .. })
            };
            if !changes.iter().any(says_why) {
                next.reported = was.reported.filter(|_| was.pod == next.pod);
            }
            // The arrival of the image is reported once it is known.
            if changes.is_empty() && was.pod == next.pod && images::may_have_pulled(was.state, next.state) {
                (next.state, next.since) = (was.state, was.since);
            }
            next.no_images = images::remembered(was.no_images, node);
            if next.no_images != was.no_images {
                found.extend(images::trouble(snapshot, node).map(|change| moment(now, &node.name, change)));
            }
            next.troubled |= was.troubled && !next.serves();
            let fails = next.state == NodeState::Failed && was.state != NodeState::Failed;
            for change in changes {
                next.troubled |= change.severity() == Severity::Warning;
                let at = match change {
                    // The node has been in trouble for longer. It counts as failed from now on, or since it halted the rollout. A restart that is
                    // seen together with the failure led to it.
                    NodeChange::State { to: NodeState::Failed, .. } | NodeChange::Restarted { .. } if fails => {
                        let halt = snapshot.halt.as_ref().filter(|halt| halt.failed().contains(&node.name));
                        halt.map_or(now, |halt| halt.at.clamp(was.since.min(now), now))
                    }
                    // The deletion tells its time, though the node may be outdated only since later: since the target was given.
                    NodeChange::State { to: NodeState::Terminating, .. } => next.since,
                    // The time since which it waits, or is in trouble, does not tell when its node came back.
                    NodeChange::State { from: Some(NodeState::NodeDown), to: NodeState::Outdated, .. } => now,
                    NodeChange::State { .. } if next.since > was.since => next.since,
                    _ => now,
                };
                found.push(moment(at, &node.name, change));
            }
            self.last_nodes.push(next);
        }
        let gone = last.iter().zip(&stay).filter(|(_, stays)| !**stays);
        found.extend(gone.map(|(was, _)| moment(now, &was.name, NodeChange::Gone)));
        for nth in 1..found.len() {
            found[nth].at = not_before(found[nth].at, &found[nth].node, &found[nth - 1]);
        }
        found.sort_by(|a, b| (a.at, &a.node).cmp(&(b.at, &b.node)));
        found.into_iter().for_each(|moment| self.keep(NodeMoment { seen_at: Some(now), ..moment }));
    }

    fn keep(&mut self, mut moment: NodeMoment) {
        let mut after_it = self.moments.iter().rev().take_while(|known| known.at > moment.at);
        if let Some(latest) = after_it.find(|known| known.node == moment.node) {
            moment.at = not_before(moment.at, &moment.node, latest);
        }
        let later = self.moments.iter().rev().take_while(|known| known.at > moment.at).count();
        self.moments.insert(self.moments.len() - later, moment);
        if self.moments.len() > MOMENTS {
            self.moments.pop_front();
            self.dropped += 1;
        }
    }

    fn mark_progress(&mut self, snapshot: &Snapshot) {
        let target = snapshot.to.as_ref().map(|to| to.hash.clone());
        if self.target != target {
            // Nodes that are at the new target already were not updated now.
            self.retargeted_at = Some(snapshot.at).filter(|_| self.target.is_some());
            self.target = target;
        }
        let counts = snapshot.counts;
        let unavailable = counts.nodes.saturating_sub(counts.available);
        let figures = ProgressFigures::Watched { updated: counts.updated, unavailable };
        let point = ProgressPoint { at: snapshot.at, figures, nodes: counts.nodes };
        let what = |point: &ProgressPoint| (point.figures, point.nodes);
        if self.progress.last().is_some_and(|last| what(last) == what(&point) || last.at > point.at) {
            return;
        }
        self.progress.push(point);
        if self.progress.len() > POINTS {
            let mut nth = 0;
            let last = self.progress.len() - 1;
            self.progress.retain(|_| {
                nth += 1;
                (nth - 1) % 2 == 0 || nth - 1 == last
            });
        }
    }

    /// The moments of all nodes, oldest first.
    pub fn moments(&self) -> impl DoubleEndedIterator<Item = &NodeMoment> {
        self.moments.iter()
    }

    /// The actions of the DaemonSet's own controller on the whole rollout, oldest first.
    pub fn of_controller(&self) -> &[ControllerMoment] {
        &self.controllers
    }

    /// The moments of one node, oldest first.
    pub fn of_node<'a>(&'a self, node: &'a str) -> impl DoubleEndedIterator<Item = &'a NodeMoment> {
        self.moments.iter().filter(move |moment| &*moment.node == node)
    }

    /// The progress over time, oldest first: each point holds until the next.
    pub fn progress(&self) -> &[ProgressPoint] {
        &self.progress
    }

    /// Since when the rollout was watched. Earlier moments are read off the pods.
    pub fn seen_since(&self) -> Option<Timestamp> {
        self.seen_since
    }

    /// The number of moments so far, dropped ones included.
    pub fn moments_so_far(&self) -> u64 {
        self.dropped + self.moments.len() as u64 + self.controllers.len() as u64
    }

    /// The number of moments that are not kept any more.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

fn is_loaded(snapshot: &Snapshot) -> bool {
    let needed = |watch: &&WatchView| watch.watched.is_needed();
    let loading = snapshot.watches.iter().filter(needed).any(|watch| watch.health == WatchHealth::Loading);
    snapshot.daemonset == Presence::Present && snapshot.phase != Phase::Loading && !loading
}

/// Whether the deletion of its pod was sent, and neither an answer nor a watch has told that it was made. It may not be.
fn is_deletion_open(node: &NodeView) -> bool {
    let waits = node.pod_wait.as_deref();
    node.state == NodeState::Terminating
        && matches!(waits, Some(PodWait::DeletionAnswer | PodWait::DeletionLost { .. }))
}

fn moment(at: Timestamp, node: &Str, change: NodeChange) -> NodeMoment {
    NodeMoment { at, seen_at: None, node: node.clone(), change }
}

fn joined(node: &NodeView) -> NodeChange {
    NodeChange::State {
        from: None,
        to: node.state,
        after: None,
        down: None,
        why: why(node),
        recovers: false,
        again: false,
        in_update: false,
    }
}

fn why(node: &NodeView) -> Option<Str> {
    let cause = node.cause.as_deref()?;
    match cause.kind {
        // The state already says that the node is not Ready.
        CauseKind::NodeDown => cause.message.clone(),
        _ => Some(cause.to_string().into()),
    }
}

/// The changes worth reporting, in order: a restart may be seen together with its consequence.
fn changes(was: &LastNode, is: &LastNode, node: &NodeView) -> Vec<NodeChange> {
    let restarted = is.restarts > was.restarts && was.pod == is.pod;
    let restarted = restarted.then(|| {
        let end = node.restarted.as_ref().and_then(|restarted| restarted.end);
        NodeChange::Restarted { times: is.restarts, end }
    });
    let evicted = is.evictions > was.evictions && was.cause != Some(CauseKind::Evicted);
    let evicted = evicted.then_some(NodeChange::Evicted { times: is.evictions });
    evicted.into_iter().chain(restarted).chain(changed(was, is, node)).collect()
}

/// The change besides restarts. If only the plan calls the same pod outdated instead of updated, or the reverse, the node has not changed.
fn changed(was: &LastNode, is: &LastNode, node: &NodeView) -> Option<NodeChange> {
    let serves = is_well(was.state) && is_well(is.state);
    let trouble = is.cause.filter(|kind| !kind.is_ordinary_at_start());
    if is.stays && !was.stays && was.state == is.state {
        return Some(NodeChange::Trouble { why: DELETED_WHILE_DOWN.into() });
    }
    if was.pod == is.pod && goes_on_trying(was.state, is.state, trouble.is_some() || node.image != ImageState::Present)
    {
        // Trouble is reported once. A cause that fails the node within seconds is reported with the failure.
        return new_trouble(was, trouble.filter(|kind| kind.is_told_at_once()), node);
    }
    // If two snapshots are far apart, the later one may show the next pod at work already.
    let replaced = serves && was.pod != is.pod;
    if was.state != is.state && !serves || replaced {
        let after = Some(is.since.since(was.since)).filter(|_| is.since >= was.since);
        let down = was.down_since.filter(|_| is.down_since.is_none()).map(|since| is.since.since(since));
        // A cause that fails the node within seconds is reported with the failure, but at once if its pod would be gone by then.
        let at_once = trouble.is_some_and(CauseKind::is_told_at_once);
        let why = why(node).filter(|_| is_trouble(is.state) || at_once && is_news(was, trouble));
        // Between two snapshots the node went down and its pod was deleted.
        let why = if is.stays && !was.stays { Some(DELETED_WHILE_DOWN.into()) } else { why };
        let recovers = was.troubled && is.serves();
        let again = was.lost_readiness && was.pod == is.pod;
        let is_next = was.pod != is.pod;
        let from = Some(was.state).filter(|from| match from {
            // A pod that goes on after all, as its deletion never arrived, is not the next one.
            NodeState::Terminating => is_next,
            // The next pod starts, and has lost nothing.
            NodeState::Updated | NodeState::Soaking => !(is_next && is.state == NodeState::Starting),
            _ => true,
        });
        let in_update = is.in_update || was.in_update && was.state == NodeState::NodeDown;
        return Some(NodeChange::State { from, to: is.state, after, down, why, recovers, again, in_update });
    }
    if was.in_update && !is.in_update && is.state == NodeState::NodeDown {
        // Its kubelet fell silent, or it has taken too long.
        let why = why(node).map(|why| format!(": {why}")).unwrap_or_default();
        return Some(NodeChange::Trouble { why: format!("node is still not Ready{why}").into() });
    }
    new_trouble(was, trouble, node).or_else(|| readiness(was, is))
}

/// The loss or return of the readiness of a pod that is still to be updated. Other states tell that themselves.
fn readiness(was: &LastNode, is: &LastNode) -> Option<NodeChange> {
    let same = was.pod == is.pod && (was.state, is.state) == (NodeState::Outdated, NodeState::Outdated);
    // A pod that was not ready since its update began, because the target changed meanwhile, is not well again.
    let told = !is.ready || was.troubled;
    (same && told && was.ready != is.ready).then_some(NodeChange::Readiness { ready: is.ready })
}

/// Whether a kubelet that could not pull an image tries again, or is about to. It does so often, so this is not reported. `lacks_image`: the pod is
/// in trouble, or its images are not known to be there.
fn goes_on_trying(was: NodeState, is: NodeState, lacks_image: bool) -> bool {
    match (was, is) {
        (NodeState::PullFailed, NodeState::Pulling) | (NodeState::Pulling, NodeState::PullFailed) => true,
        (NodeState::Pulling | NodeState::PullFailed, NodeState::Creating | NodeState::Starting) => lacks_image,
        _ => false,
    }
}

/// The trouble, unless it was reported before.
fn new_trouble(was: &LastNode, trouble: Option<CauseKind>, node: &NodeView) -> Option<NodeChange> {
    let is_down = node.cause.as_ref().is_some_and(|cause| cause.kind == CauseKind::NodeDown);
    let in_update = node.suspect.is_some_and(SuspectView::is_in_update);
    let why = why(node).filter(|_| is_news(was, trouble) && !(is_down && in_update))?;
    let why = match node.state {
        NodeState::PullFailed => format!("{}: {why}", node.state).into(),
        // A reason of its Ready condition says nothing by itself.
        _ if is_down => format!("node is not Ready: {why}").into(),
        _ => why,
    };
    Some(NodeChange::Trouble { why })
}

/// Whether the trouble was not reported of this pod before.
fn is_news(was: &LastNode, trouble: Option<CauseKind>) -> bool {
    trouble.is_some_and(|kind| Some(kind) != was.cause && Some(kind) != was.reported)
}

/// Whether its pod is one that serves, at whichever revision.
fn is_well(state: NodeState) -> bool {
    matches!(state, NodeState::Outdated | NodeState::Updated)
}

/// When a moment of `node` happened that was seen after another. Servers and kubelets tell whole seconds, and some moments are dated by when they were
/// seen: of one node none happened earlier than the one before, or the start of a pod would stand before the end of the one that it replaces.
fn not_before(at: Timestamp, node: &Str, earlier: &NodeMoment) -> Timestamp {
    if *node == earlier.node { at.max(earlier.at) } else { at }
}

/// Whether a pod that was ready lost its readiness.
fn loses_readiness(from: Option<NodeState>, to: NodeState) -> bool {
    to == NodeState::Starting && matches!(from, Some(NodeState::Updated | NodeState::Soaking))
}

fn is_trouble(state: NodeState) -> bool {
    match state {
        NodeState::Failed | NodeState::NodeDown => true,
        NodeState::Terminating
        | NodeState::Creating
        | NodeState::Pulling
        | NodeState::PullFailed
        | NodeState::Starting
        | NodeState::Soaking
        | NodeState::Outdated
        | NodeState::Updated
        | NodeState::Unknown
        | NodeState::Ineligible => false,
    }
}
