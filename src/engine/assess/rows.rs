//! Where every node stands: its state, what is wrong with it, whose fault it is, and what it costs.
//!
//! A pure function of three inputs: what was observed, the record, and which deletions were sent and not seen yet. Holds are
//! not decided here: a row says how a node is, [`super::plan`] says what may happen to it next.

mod absence;
mod availability;
mod blame;
mod cause;
mod controllers_rollout;
mod failure;
mod image;
mod pods_on_node;
pub(super) mod restarts;
mod since;
mod state;
mod state_ages;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::availability::{Soaks, proven_after};
use self::controllers_rollout::ControllersRollout;
use self::image::SharedImages;
use self::pods_on_node::OnNode;
use self::restarts::watched_state;
pub(crate) use self::state::lost_readiness;
use self::state_ages::InStateSince;
use crate::engine::assess::inputs::Inputs;
use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::{ConditionStatus, NodeFact};
use crate::engine::model::node::{Blame, CrashLoopView, ImageState, NodeIx, NodeState, RestartsView};
use crate::engine::model::pull::ImagePull;
use crate::engine::model::record::Direction;
use crate::engine::model::record::size::bytes_of_name;
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::warm_pod::images_key;
use crate::engine::view::{NodeEntry, PodEntry, PodIx, PodTrouble, Touched, View};

/// A pod that stopped serving less than this long ago may serve again, so that a release which would remove it for good waits.
pub(crate) const LATELY: Duration = Duration::from_secs(300);

/// The inputs of an assessment, beside the view.
pub(crate) struct AssessmentInput<'a> {
    /// What rows read of the record: nothing else of it, so that rows are assessed again whenever it changes.
    pub(crate) inputs: &'a Inputs,
    /// Whether anything is being rolled out. If not, no node is unavailable because of a rollout.
    pub(crate) under_way: bool,
    /// Pods whose deletion was sent and is not yet seen, by uid.
    pub(crate) deleting: &'a dyn Fn(&str) -> bool,
    /// Nodes on which a pod for pre-warming is being made that no watch has shown, by name.
    pub(crate) warming: &'a dyn Fn(&str) -> bool,
    /// Until when pods were seen, if they are not seen now. How long a pod has been ready since then is not known.
    pub(crate) pods_seen_until: Option<Timestamp>,
    pub(crate) now: Timestamp,
}

/// One node, assessed.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) node: NodeIx,
    pub(crate) state: NodeState,
    pub(crate) blame: Option<Blame>,
    pub(crate) cause: Option<Box<Cause>>,
    pub(crate) since: Option<Timestamp>,
    /// The pod that counts on this node.
    pub(crate) pod: Option<PodIx>,
    /// How often the containers of its pod were restarted, without the restarts that do not count because its node was restarted.
    pub(crate) restarts: u32,
    pub(crate) in_fleet: bool,
    pub(crate) should_run: bool,
    pub(crate) at_target: bool,
    /// It has a pod at another revision than the target, even if that one is terminating.
    pub(crate) old: bool,
    pub(crate) available: bool,
    /// Its pod is Ready, whether for long enough or not: it serves.
    pub(crate) ready: bool,
    pub(crate) selected: bool,
    pub(crate) cordoned: bool,
    /// Beside its pod there is another one of the DaemonSet, which is going.
    pub(crate) other_goes: bool,
    /// It has several live pods, of which its controller is to keep one.
    pub(crate) crowded: bool,
    /// Its old pod could be deleted as far as the node itself is concerned.
    pub(crate) replaceable: bool,
    /// Counts as updated for the partition: at the target, or on its way.
    pub(crate) committed: bool,
    /// Its image pull counts against `maxPulling`.
    pub(crate) pulls: bool,
    /// A pod that was made for pre-warming may be pulling there.
    pub(crate) warm_pulls: bool,
    /// A pod for pre-warming pulls the target's images there: an update of the node adds no further pull.
    pub(crate) warms_target: bool,
    /// A pod that was made for pre-warming has brought the target's images there, and keeps them.
    pub(crate) is_warm: bool,
    /// It failed at the target revision, and no operator resumed past that. Suspects are judged in [`crate::engine::machine::suspects`].
    pub(crate) failure: bool,
    /// Its pod is refused, or missing for too long, and nobody resumed past it.
    pub(crate) unreplaced: bool,
    /// The rollout put its pod there, whatever the target is by now.
    pub(crate) updated: bool,
    /// On the way back: its pod shows that the revision to which it goes works.
    pub(crate) proves: bool,
    /// Its pod came with a rollout of its revision and has never been Ready: see [`Assessor::never_served`].
    pub(crate) never_served: bool,
    /// Its node is not Ready.
    pub(crate) is_down: bool,
    /// When the node last went down, and when it last came back, as far as known, by our clock.
    pub(crate) fell_at: Option<Timestamp>,
    pub(crate) back_at: Option<Timestamp>,
    /// Its pod restarted lately, after it had been ready.
    pub(crate) restarted: Option<Box<RestartsView>>,
    /// Its pod at the target crashes again and again.
    pub(crate) crash_loop: Option<CrashLoopView>,
    pub(crate) image: ImageState,
    /// The state of each of the target's images. Nodes with equal contents share them.
    pub(crate) images: Arc<[ImagePull]>,
    /// Bytes that the node's name takes in the record as in progress; 0 if the record names the node already.
    pub(crate) bytes_to_name: usize,
    /// How long the pod has to be ready before it counts as available, and when it will have been, by our clock, if the watch of pods goes
    /// on until then. `None` once the pod is available, and while it is not ready.
    pub(crate) available_at: Option<Soaks>,
    /// Until when the controller counts its available pod as unavailable, by the API server's clock.
    pub(crate) counted_unavailable_until: Option<Timestamp>,
    /// When the passing of time alone changes the row.
    changes_at: Option<Timestamp>,
}

/// All nodes, assessed. Rows are kept from one decision to the next: a node is assessed again only if something happened to it, or if its
/// time has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assessment {
    /// By node index; `None` for nodes that have nothing to do with the DaemonSet.
    rows: Vec<Option<Row>>,
    /// Nodes that `status.desiredNumberScheduled` would count.
    pub(crate) desired: u32,
    /// Nodes of the fleet.
    pub(crate) fleet: u32,
    /// When the passing of time alone changes a row.
    pub(crate) changes_at: Option<Timestamp>,
    controllers_rollout: ControllersRollout,
    /// [`AssessmentInput::pods_seen_until`] of the last assessment.
    pods_seen_until: Option<Timestamp>,
    /// When the rows were last assessed while pods were seen.
    seen_at: Option<Timestamp>,
    /// Since when each node has been in its state, where that is not what its row tells.
    state_ages: InStateSince,
}

impl Row {
    /// Whether the node is where the rollout wants it, and stays there as far as can be seen.
    pub(crate) fn is_settled(&self) -> bool {
        self.at_target && self.available && self.restarted.is_none()
    }

    /// Whether the node waits for its images where they have to be there before its update. One that the rollout took down, and that does not serve yet,
    /// has nothing to lose by a download.
    pub(crate) fn lacks_required_images(&self) -> bool {
        let is_there = self.image == ImageState::Present || self.is_warm;
        !is_there && (self.ready || self.blame != Some(Blame::Rollout))
    }
}

impl Assessment {
    /// The rows, in no particular order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> + Clone {
        self.rows.iter().flatten()
    }

    /// The row of a node.
    pub(crate) fn row(&self, node: NodeIx) -> Option<&Row> {
        self.rows.get(node)?.as_ref()
    }

    /// Since when a node has been in the state of its row, by the API server's clock. The row tells since when it is in trouble, which may have begun
    /// in an earlier state.
    pub(crate) fn in_state_since(&self, row: &Row) -> Option<Timestamp> {
        self.state_ages.since(row)
    }

    /// The rows, each changed by `change`.
    pub(crate) fn with(&self, change: impl Fn(&mut Row)) -> Self {
        let mut changed = self.clone();
        changed.rows.iter_mut().flatten().for_each(change);
        changed
    }

    /// The moment until which pods count as seen, if nothing was heard of them since `heard_at`. Judgements that were made while pods
    /// counted as seen stay. Otherwise a node that had become updated would soak again as soon as the connection is found to be dead.
    pub(crate) fn seen_until(&self, heard_at: Timestamp) -> Timestamp {
        self.seen_at.map_or(heard_at, |seen_at| seen_at.max(heard_at))
    }

    /// For how long pods have not been seen.
    pub(crate) fn unseen_for(&self, now: Timestamp) -> Duration {
        self.pods_seen_until.map_or(Duration::ZERO, |until| now.since(until))
    }

    /// Assesses the nodes that were touched or whose time has come.
    pub(crate) fn refresh(&mut self, view: &View, touched: &Touched, question: &AssessmentInput<'_>) {
        let template =
            question.inputs.target.as_ref().and_then(|hash| view.revision(hash)).map(|revision| &revision.template);
        let mut assessor = Assessor {
            view,
            question,
            nodes_visible: match view.health(Watched::Nodes) {
                WatchHealth::Live | WatchHealth::Down { .. } | WatchHealth::Lagging { .. } => true,
                WatchHealth::Forbidden { .. } => !view.is_forbidden(Watched::Nodes),
                WatchHealth::Loading => false,
            },
            server_now: view.server_time(question.now),
            template,
            shared_images: HashMap::new(),
            pulls: Vec::new(),
            last_pulls: Arc::default(),
            target_images: template.map_or_else(Str::default, |template| images_key(&template.images())),
            replacements_need_others: view
                .daemonset()
                .zip(template)
                .is_some_and(|(daemonset, target)| daemonset.template.images() != target.images()),
            available_at: None,
            changes_at: None,
        };
        self.rows.resize(view.nodes().len(), None);
        if question.pods_seen_until.is_none() {
            self.seen_at = Some(question.now);
        }
        let as_seen_before = std::mem::replace(&mut self.pods_seen_until, question.pods_seen_until);
        if touched.all || as_seen_before != question.pods_seen_until {
            for (ix, entry) in view.nodes().iter().enumerate() {
                self.rows[ix] = assessor.row(ix, entry);
                self.state_ages.follow(ix, self.rows[ix].as_ref(), assessor.server_now);
            }
        } else {
            let due = |row: &Row| row.changes_at.is_some_and(|at| at <= question.now);
            let ripe = self.changes_at.is_some_and(|at| at <= question.now);
            let due: Vec<NodeIx> =
                if ripe { self.rows().filter(|row| due(row)).map(|row| row.node).collect() } else { Vec::new() };
            for ix in touched.nodes.iter().copied().chain(due) {
                self.rows[ix] = assessor.row(ix, view.entry(ix));
                self.state_ages.follow(ix, self.rows[ix].as_ref(), assessor.server_now);
            }
        }
        let are_live = [Watched::Pods, Watched::Nodes, Watched::DaemonSet, Watched::Revisions];
        self.state_ages.seen(are_live.iter().all(|watched| matches!(view.health(*watched), WatchHealth::Live)));
        let count =
            |test: fn(&Row) -> bool| u32::try_from(self.rows().filter(|row| test(row)).count()).unwrap_or(u32::MAX);
        (self.desired, self.fleet) = (count(|row| row.should_run), count(|row| row.in_fleet));
        self.changes_at = self.rows().filter_map(|row| row.changes_at).min();
    }
}

pub(crate) struct Assessor<'a> {
    view: &'a View,
    pub(super) question: &'a AssessmentInput<'a>,
    nodes_visible: bool,
    pub(super) server_now: Timestamp,
    /// The template of the target.
    template: Option<&'a Template>,
    /// By revision hash: which of the target's images it has.
    shared_images: HashMap<Str, Option<SharedImages>>,
    /// The image pulls of the row being assessed.
    pulls: Vec<ImagePull>,
    /// The image pulls of the row that was assessed last.
    last_pulls: Arc<[ImagePull]>,
    /// The key that tells the target's images from others.
    target_images: Str,
    /// The DaemonSet's template has other images than the target, so that pods that are created next do not have the target's images.
    replacements_need_others: bool,
    /// The soak of the row being assessed.
    available_at: Option<Soaks>,
    /// When the passing of time alone changes the row being assessed.
    changes_at: Option<Timestamp>,
}

impl<'a> Assessor<'a> {
    fn row(&mut self, ix: NodeIx, entry: &NodeEntry) -> Option<Row> {
        (self.changes_at, self.available_at) = (None, None);
        let clock = entry.fact.as_ref().and_then(|fact| fact.clock_skew_millis);
        let pods = self.sort_out(ix, clock);
        // `sort_out` sets it too, where it compares several pods; only the pod that counts is to set it.
        self.available_at = None;
        let any_pod = pods.live.or(pods.going);
        let in_fleet = match self.nodes_visible {
            true => entry.eligibility.in_fleet || self.is_tainted_meanwhile(entry, pods.live),
            false => any_pod.is_some(),
        };
        let fact = entry.fact.as_ref();
        let may_pull = self.may_pull(fact);
        let mut warm = self.view.warm().all_on(&entry.name);
        let warm_takes_a_slot = may_pull && warm.any(|warm| self.warm_takes_a_slot(warm));
        let warm_pulls = (self.question.warming)(&entry.name) || warm_takes_a_slot;
        let left = !in_fleet && self.left_while_it_was_updated(entry, any_pod.is_some());
        // A node that has left the fleet and goes on pulling is on the same link as the others.
        if !in_fleet && any_pod.is_none() && !warm_pulls && !left {
            return None;
        }
        let down = fact.is_some_and(|fact| fact.ready != ConditionStatus::True);
        let replaced = pods.being_deleted || pods.live.is_none();
        // A pod of the target is being deleted only if that was decided while another revision was the target. The deletion may never have arrived: the
        // node counts as not available, and if the pod fails, that counts as well.
        let at_target = pods.live.is_some_and(|pod| self.is_at_target(pod));
        let is_asked = !down && (at_target || !replaced);
        let serves = is_asked && pods.live.is_some_and(|pod| self.is_available(pod, at_target, clock));
        let available = serves && !replaced;
        // While a new pod starts beside the old one that serves, state and cause are those of the new one.
        let shown = OnNode { live: pods.coming.or(pods.live), ..pods };
        let shown_at_target = at_target || pods.coming.is_some();
        let shown_available = available && pods.coming.is_none();
        let failed = match shown.live.filter(|_| shown_at_target && !down) {
            Some(pod) => self.failure_of(pod, shown_available, clock, entry),
            None => None,
        };
        let counted_unavailable_until =
            pods.live.filter(|_| available).and_then(|pod| self.counted_unavailable_until(pod, clock));
        let absence = if in_fleet && !down && any_pod.is_none() { self.absence(entry) } else { None };
        let state = match &absence {
            Some(absence) if absence.failed => NodeState::Failed,
            _ => self.state(in_fleet, down, shown_at_target, shown_available, failed.is_some(), &shown),
        };
        let rejected = self.rejected_before(ix, entry, pods.live).filter(|_| in_fleet && !down);
        let not_taken = rejected.is_some_and(|rejected| rejected.cause.kind.speaks_against_revision());
        let unreplaced = absence.as_ref().is_some_and(|absence| absence.trouble) || (not_taken && replaced);
        let rejected_since = rejected.as_ref().map(|rejected| self.view.server_time(rejected.since));
        let cause = failed.or(absence.and_then(|absence| absence.cause)).or_else(|| self.cause(fact, down, &shown));
        let cause = match rejected {
            Some(rejected) if cause.as_ref().is_none_or(|cause| cause.kind.is_ordinary_at_start()) => {
                Some(rejected.cause.clone())
            }
            _ => cause,
        };
        let put_there = self.put_there(at_target, pods.live);
        let never_served = in_fleet && self.never_served(fact, pods.live);
        let is_known = !self.view.is_forbidden(Watched::Pods);
        let blame =
            (in_fleet && !available && is_known).then(|| match (self.question.under_way || pods.being_deleted, down) {
                (true, _) => self.blame(
                    (&entry.name, fact),
                    (down, at_target, replaced, put_there, any_pod.is_some()),
                    (pods.live, cause.as_ref(), never_served),
                ),
                (false, true) => Blame::Node,
                (false, false) => Blame::PreExisting,
            });
        let blame = blame.or_else(|| (left && !available).then_some(Blame::Rollout));
        // Of a node that is not Ready, and whose kubelet says so itself, the statuses of the pods are as they are now.
        let told = pods.live.filter(|_| at_target && !fact.is_some_and(NodeFact::is_silent));
        let restarted = self.restarted(told, put_there, clock);
        let state = watched_state(state, restarted);
        let crash_loop = told.and_then(|pod| self.crash_loop(pod, serves, restarted, clock));
        let back = self.question.inputs.direction == Direction::Back;
        let may_prove = back && in_fleet && at_target && available && restarted.is_none();
        let proves = pods.live.is_some_and(|pod| may_prove && self.proves_on_the_way_back(pod, put_there, clock));
        // The trouble is as old as the first of the pods that were not taken.
        let since = self.since(state, entry, &shown);
        let since = since.into_iter().chain(rejected_since).min();
        let ready = !down && !replaced && pods.live.is_some_and(|pod| pod.fact.ready);
        if let Some(since) = since.filter(|_| !in_fleet && !ready) {
            self.wake_after(LATELY, self.server_now.since(since));
        }
        let image = self.image(entry, shown.live, shown_at_target, replaced);
        let images = self.pulls_of(entry, shown.live, shown_at_target, replaced);
        let acknowledged_failures = self.question.inputs.acknowledged_failures.contains(&entry.name);
        let selected = self
            .question
            .inputs
            .selector
            .as_ref()
            .is_none_or(|selector| fact.is_some_and(|fact| selector.matches(&fact.labels)));
        Some(Row {
            node: ix,
            state,
            blame,
            cause: cause.map(Box::new),
            available_at: self.available_at,
            counted_unavailable_until,
            changes_at: self.changes_at,
            since,
            pod: pods.counts,
            restarts: any_pod.map_or(0, counted_restarts),
            in_fleet,
            should_run: if self.nodes_visible { entry.eligibility.should_run } else { in_fleet },
            at_target,
            old: any_pod.is_some_and(|pod| self.question.inputs.target.is_some() && !self.is_at_target(pod)),
            available,
            ready,
            selected,
            cordoned: fact.is_some_and(|fact| fact.unschedulable),
            other_goes: pods.live.is_some() && pods.going.is_some(),
            crowded: pods.surplus,
            replaceable: in_fleet
                && fact.is_some()
                && entry.eligibility.should_run
                && !down
                && !replaced
                && !at_target
                && !pods.surplus
                && pods.going.is_none(),
            committed: in_fleet && (shown_at_target || replaced || pods.going.is_some()),
            pulls: may_pull && self.pulls(in_fleet, blame, shown_at_target, replaced, image, (shown.live, pods.going)),
            warm_pulls,
            warms_target: self
                .view
                .warm()
                .on(&entry.name)
                .any(|warm| warm.fact.images == self.target_images && self.view.still_pulls(warm)),
            is_warm: self.view.is_warm(&entry.name, &self.target_images),
            failure: !acknowledged_failures && state == NodeState::Failed,
            unreplaced: !acknowledged_failures && unreplaced,
            never_served,
            updated: (put_there && blame::was_taken_up(pods.live)) || blame == Some(Blame::Suspect),
            proves,
            is_down: down,
            fell_at: entry.fell_at(self.question.now, self.server_now),
            back_at: entry.back_at(),
            restarted: restarted.map(Box::new),
            crash_loop,
            image,
            images,
            bytes_to_name: match self.question.inputs.in_progress.contains(&entry.name) {
                true => 0,
                false => bytes_of_name(&entry.name),
            },
        })
    }

    pub(super) fn our_time(&self, at: Timestamp) -> Timestamp {
        self.view.our_time(at)
    }

    /// Whether somebody, such as a controller that repairs machines, has tainted a node that the update has made unavailable: it had gone down with its new pod, or
    /// its new pod has never been available. It does not leave the fleet by that: it speaks against the revision, and its place in the budget is not
    /// given to another node. Once an operator has accepted it (`resume`), the taint takes it out. A node without a new pod leaves at once: its controller
    /// makes none while the taint stands.
    fn is_tainted_meanwhile(&self, entry: &NodeEntry, live: Option<&PodEntry>) -> bool {
        let inputs = self.question.inputs;
        let is_ready = entry.fact.as_ref().is_some_and(|fact| fact.ready == ConditionStatus::True);
        let unavailable = if is_ready { &inputs.in_progress } else { &inputs.suspects };
        entry.eligibility.is_placed
            && unavailable.contains(&entry.name)
            && !inputs.acknowledged_failures.contains(&entry.name)
            && live.is_some_and(|pod| self.is_at_target(pod))
    }

    /// The trouble in which the kubelet did not take the pod of the target that was there before, where another one is made for it and has not been taken up. Nobody has
    /// accepted it.
    fn rejected_before(&self, ix: NodeIx, entry: &NodeEntry, live: Option<&PodEntry>) -> Option<&'a PodTrouble> {
        let inputs = self.question.inputs;
        let target = inputs.target.as_ref();
        let counts = !inputs.acknowledged_failures.contains(&entry.name)
            && live.is_none_or(|pod| pod.fact.revision.as_ref() == target);
        self.view.rejected_before(ix, target).filter(|_| counts && target.is_some())
    }

    /// Whether a node has left the fleet since the rollout took its pod, and has not been well since then: its Node object was deleted, or its labels do not
    /// fit any more. It keeps its place in the budget while a pod of it is there, and as long as it may be back: it is as much down then as before.
    fn left_while_it_was_updated(&mut self, entry: &NodeEntry, has_pod: bool) -> bool {
        let inputs = self.question.inputs;
        let is_named = inputs.in_progress.contains(&entry.name) && !inputs.acknowledged_failures.contains(&entry.name);
        if !is_named || !self.nodes_visible || has_pod {
            return is_named && self.nodes_visible;
        }
        // Who did not see it leave does not know of it any more.
        let left = entry.may_be_back_until().map_or(Duration::ZERO, |until| until.since(self.question.now));
        self.wake_after(left, Duration::ZERO);
        left > Duration::ZERO
    }

    fn is_at_target(&self, pod: &PodEntry) -> bool {
        self.question.inputs.target.is_some() && pod.fact.revision == self.question.inputs.target
    }

    pub(super) fn wake_after(&mut self, needed: Duration, elapsed: Duration) {
        if elapsed < needed {
            let at = self.question.now + (needed - elapsed);
            self.changes_at = Some(self.changes_at.map_or(at, |known| known.min(at)));
        }
    }
}

/// The restarts of a pod that count.
fn counted_restarts(pod: &PodEntry) -> u32 {
    pod.restarts.counted(&pod.fact)
}
