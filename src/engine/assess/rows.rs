//! Where every node stands: its state, what is wrong with it, whose fault it is, and what it costs.
//!
//! A pure function of three inputs: what was observed, the record, and which deletions were sent and not seen yet. Holds are
//! not decided here: a row says how a node is, [`super::plan`] says what may happen to it next.

mod absence;
mod availability;
mod controllers_rollout;
mod image;
pub(super) mod restarts;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use self::controllers_rollout::ControllersRollout;
use self::image::SharedImages;
use self::restarts::watched_state;
use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::{ConditionStatus, ContainerFact, ContainerState, NodeFact, PodPhase};
use crate::engine::model::node::{Blame, ImageState, NodeIx, NodeState, RestartsView};
use crate::engine::model::pull::ImagePull;
use crate::engine::model::record::size::bytes_of_name;
use crate::engine::model::record::{Direction, Intent, Progress};
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::by_server;
use crate::engine::rules::pulls::images_present;
use crate::engine::rules::warm_pod::images_key;
use crate::engine::view::{NodeEntry, ObservedAt, PodEntry, PodIx, PodTrouble, Touched, View};

/// What an assessment is made of, beside the view.
pub(crate) struct AssessmentInput<'a> {
    pub(crate) target: Option<&'a Str>,
    pub(crate) intent: &'a Intent,
    pub(crate) progress: &'a Progress,
    /// Whether anything is being rolled out: where nothing is, nobody is unavailable because of it.
    pub(crate) under_way: bool,
    /// Pods whose deletion was sent and is not yet seen, by uid.
    pub(crate) deleting: &'a dyn Fn(&str) -> bool,
    /// Nodes on which a pod for pre-warming is being made that no watch has shown, by name.
    pub(crate) warming: &'a dyn Fn(&str) -> bool,
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
    /// It pulls the target's images: an update of the node adds no pull to that.
    pub(crate) warms_target: bool,
    /// A pod that was made for pre-warming has brought the target's images there, and keeps them.
    pub(crate) is_warm: bool,
    /// It failed at the target revision, and no operator resumed past that. Suspects are judged in [`crate::engine::machine::suspects`].
    pub(crate) failure: bool,
    /// Its pod is refused, or missing for too long, and nobody resumed past it.
    pub(crate) unreplaced: bool,
    /// The rollout put its pod there, whatever the target is by now.
    pub(crate) updated: bool,
    /// Its pod came with the target and has never been Ready: see [`Assessor::waits_for_target`].
    pub(super) waits_for_target: bool,
    /// Its node is not Ready.
    pub(crate) is_down: bool,
    /// When its node went down last and came back, as far as known, by our clock.
    pub(crate) fell_at: Option<Timestamp>,
    pub(crate) back_at: Option<Timestamp>,
    /// Its pod restarted lately, after it had been ready.
    pub(crate) restarted: Option<RestartsView>,
    pub(crate) image: ImageState,
    /// Of each of the target's images; nodes that have the same to say share it.
    pub(crate) images: Arc<[ImagePull]>,
    /// Bytes that it takes to name it in the record as in progress; none where it is named already.
    pub(crate) bytes_to_name: usize,
    /// How many seconds its ready pod has to be ready in all, and when it will have been, by our clock; `None` once it is
    /// available, and for a pod that is not ready.
    pub(crate) available_at: Option<(u32, Timestamp)>,
    /// Until when the controller counts its available pod as unavailable, by the API server's clock.
    pub(crate) counted_unavailable_until: Option<Timestamp>,
    /// When the passing of time alone changes it.
    changes_at: Option<Timestamp>,
}

/// All nodes, assessed. Kept from one decision to the next: only nodes that something happened to, or whose time has come,
/// are assessed again.
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
}

impl Row {
    /// Whether it is where the rollout wants it, and stays there as far as can be seen.
    pub(crate) fn is_settled(&self) -> bool {
        self.at_target && self.available && self.restarted.is_none()
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

    /// The rows, each changed by `change`.
    pub(crate) fn with(&self, change: impl Fn(&mut Row)) -> Self {
        let mut changed = self.clone();
        changed.rows.iter_mut().flatten().for_each(change);
        changed
    }

    /// Assesses what was touched or whose time has come.
    pub(crate) fn refresh(&mut self, view: &View, touched: &Touched, question: &AssessmentInput<'_>) {
        let template = question.target.and_then(|hash| view.revision(hash)).map(|revision| &revision.template);
        let mut assessor = Assessor {
            view,
            question,
            nodes_visible: matches!(view.health(Watched::Nodes), WatchHealth::Live | WatchHealth::Down { .. }),
            server_now: view.server_time(question.now),
            template,
            shared_images: HashMap::new(),
            pulls: Vec::new(),
            last_pulls: Arc::default(),
            target_images: template.map_or_else(Str::default, |template| images_key(&template.images())),
            replacements_need_others: view
                .daemonset
                .as_ref()
                .zip(template)
                .is_some_and(|(daemonset, target)| daemonset.template.images() != target.images()),
            available_at: None,
            changes_at: None,
        };
        self.rows.resize(view.nodes.len(), None);
        if touched.all {
            for (ix, entry) in view.nodes.iter().enumerate() {
                self.rows[ix] = assessor.row(ix, entry);
            }
        } else {
            let due = |row: &Row| row.changes_at.is_some_and(|at| at <= question.now);
            let ripe = self.changes_at.is_some_and(|at| at <= question.now);
            let due: Vec<NodeIx> =
                if ripe { self.rows().filter(|row| due(row)).map(|row| row.node).collect() } else { Vec::new() };
            for ix in touched.nodes.iter().copied().chain(due) {
                self.rows[ix] = assessor.row(ix, &view.nodes[ix]);
            }
        }
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
    /// The target's.
    template: Option<&'a Template>,
    /// By revision hash: which of the target's images it has.
    shared_images: HashMap<Str, Option<SharedImages>>,
    /// Of the row being assessed.
    pulls: Vec<ImagePull>,
    /// Of the row that was assessed last.
    last_pulls: Arc<[ImagePull]>,
    /// What tells its images from others.
    target_images: Str,
    /// The DaemonSet's template was changed since: what is created next has other images than the target.
    replacements_need_others: bool,
    /// Of the row being assessed.
    available_at: Option<(u32, Timestamp)>,
    /// Of the row being assessed.
    changes_at: Option<Timestamp>,
}

/// The pods of one node, sorted out.
struct OnNode<'a> {
    live: Option<&'a PodEntry>,
    going: Option<&'a PodEntry>,
    /// A new one beside it, while a controller that surges waits for that to be available (docs/kubernetes.md,
    /// *RollingUpdate*).
    coming: Option<&'a PodEntry>,
    /// There is more than one live pod: its controller deletes all but one.
    surplus: bool,
    /// The one that counts: the live one, else the one that goes.
    counts: Option<PodIx>,
    being_deleted: bool,
}

impl<'a> Assessor<'a> {
    fn row(&mut self, ix: NodeIx, entry: &NodeEntry) -> Option<Row> {
        (self.changes_at, self.available_at) = (None, None);
        let clock = entry.fact.as_ref().and_then(|fact| fact.clock_skew_millis);
        let pods = self.sort_out(ix, clock);
        // `sort_out` sets it too, where it compares several pods; only the pod that counts is to set it.
        self.available_at = None;
        let any_pod = pods.live.or(pods.going);
        let in_fleet = if self.nodes_visible { entry.eligibility.in_fleet } else { any_pod.is_some() };
        if !in_fleet && any_pod.is_none() {
            return None;
        }
        let fact = entry.fact.as_ref();
        let down = fact.is_some_and(|fact| fact.ready != ConditionStatus::True);
        let replaced = pods.being_deleted || pods.live.is_none();
        let at_target = !replaced && pods.live.is_some_and(|pod| self.is_at_target(pod));
        let available = !down && !replaced && pods.live.is_some_and(|pod| self.is_available(pod, at_target, clock));
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
        let put_there = self.put_there(at_target, pods.live);
        let blame = (in_fleet && !available).then(|| match (self.question.under_way || pods.being_deleted, down) {
            (true, _) => self.blame((&entry.name, fact), (down, at_target, replaced, put_there), pods.live),
            (false, true) => Blame::Node,
            (false, false) => Blame::PreExisting,
        });
        let restarted = if at_target && !down { self.restarted(pods.live, put_there, clock) } else { None };
        let state = watched_state(state, restarted);
        let image = self.image(entry, shown.live, shown_at_target, replaced);
        let images = self.pulls_of(entry, shown.live, shown_at_target, replaced);
        let unreplaced = absence.as_ref().is_some_and(|absence| absence.trouble);
        let cause = failed.or(absence.and_then(|absence| absence.cause)).or_else(|| self.cause(fact, down, &shown));
        let acknowledged_failures = self.question.progress.acknowledged_failures.contains(&entry.name);
        let selected = self
            .question
            .intent
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
            since: self.since(state, entry, &shown),
            pod: pods.counts,
            restarts: any_pod.map_or(0, restarts),
            in_fleet,
            should_run: if self.nodes_visible { entry.eligibility.should_run } else { in_fleet },
            at_target,
            old: any_pod.is_some_and(|pod| self.question.target.is_some() && !self.is_at_target(pod)),
            available,
            ready: !down && !replaced && pods.live.is_some_and(|pod| pod.fact.ready),
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
            pulls: self.pulls(in_fleet, blame, shown_at_target, replaced, image, (shown.live, pods.going)),
            warm_pulls: (self.question.warming)(&entry.name)
                || self.view.warm.all_on(&entry.name).any(|warm| self.view.warm_state(warm).takes_a_slot()),
            warms_target: self
                .view
                .warm
                .on(&entry.name)
                .any(|warm| warm.fact.images == self.target_images && self.view.warm_state(warm).takes_a_slot()),
            is_warm: self.view.is_warm(&entry.name, &self.target_images),
            failure: !acknowledged_failures && state == NodeState::Failed,
            unreplaced: !acknowledged_failures && unreplaced,
            waits_for_target: in_fleet && at_target && self.waits_for_target(fact, pods.live),
            updated: put_there || blame == Some(Blame::Suspect),
            is_down: down,
            fell_at: entry.fell_at(self.question.now, self.server_now),
            back_at: entry.back_at(),
            restarted,
            image,
            images,
            bytes_to_name: match self.question.progress.in_progress.contains(&entry.name) {
                true => 0,
                false => bytes_of_name(&entry.name),
            },
        })
    }

    /// Of several live pods the newest counts; but as long as it is not available, the oldest that is: that one serves.
    fn sort_out(&mut self, ix: NodeIx, clock: Option<i64>) -> OnNode<'a> {
        let view = self.view;
        let mut live: Option<(PodIx, &PodEntry)> = None;
        let mut going = live;
        let mut alive = 0;
        for (at, pod) in view.pods_on(ix) {
            let slot = if pod.fact.deletion_at.is_none() { &mut live } else { &mut going };
            // Pods that have ended do not count as surplus: the controller creates new ones beside them.
            let ended = matches!(pod.fact.phase, PodPhase::Failed | PodPhase::Succeeded);
            alive += u32::from(pod.fact.deletion_at.is_none() && !ended);
            let newer =
                |known: &PodEntry| (known.fact.created_at, &known.fact.uid) < (pod.fact.created_at, &pod.fact.uid);
            if slot.is_none_or(|(_, known)| newer(known)) {
                *slot = Some((at, pod));
            }
        }
        let mut coming = None;
        if let Some((_, newest)) = live.filter(|_| alive > 1) {
            let at_target = self.is_at_target(newest);
            if !self.is_available(newest, at_target, clock)
                && let Some(serving) = self.oldest_available(ix, clock)
            {
                coming = Some(newest).filter(|_| at_target);
                live = Some(serving);
            }
        }
        let being_deleted = live.is_some_and(|(_, pod)| (self.question.deleting)(&pod.fact.uid));
        OnNode {
            counts: live.or(going).map(|(at, _)| at),
            live: live.map(|(_, pod)| pod),
            going: going.map(|(_, pod)| pod),
            coming,
            surplus: alive > 1,
            being_deleted,
        }
    }

    pub(super) fn our_time(&self, at: Timestamp) -> Timestamp {
        self.view.our_time(at)
    }

    fn is_at_target(&self, pod: &PodEntry) -> bool {
        self.question.target.is_some() && pod.fact.revision.as_ref() == self.question.target
    }

    pub(super) fn wake_after(&mut self, needed: Duration, elapsed: Duration) {
        if elapsed < needed {
            let at = self.question.now + (needed - elapsed);
            self.changes_at = Some(self.changes_at.map_or(at, |known| known.min(at)));
        }
    }

    /// Since when a pod is in trouble, by our own clock: who has just begun to look takes it from what its kubelet told.
    fn troubled_since(&self, pod: &PodEntry, trouble: &PodTrouble, clock: Option<i64>) -> Timestamp {
        let told = Some(&pod.fact).filter(|_| trouble.cause.kind.is_about_the_image());
        let told = told.and_then(|fact| self.view.pull_failed_since(fact));
        // Events tell whole seconds, so it was at the latest at the end of that one; and not before there was a pod, whatever the clock of
        // its node says.
        let told = told.map(|at| (by_server(at, clock) + Duration::from_secs(1)).max(pod.fact.created_at));
        let told = told.map(|at| self.view.our_time(at));
        told.map_or(trouble.since, |told| told.min(trouble.since))
    }

    /// Why the pod at the target counts as failed, if it does.
    fn failure_of(&mut self, pod: &PodEntry, available: bool, clock: Option<i64>, entry: &NodeEntry) -> Option<Cause> {
        let gates = &self.question.intent.gates;
        if let Some(trouble) = &pod.trouble
            && let Some(grace) = trouble.cause.kind.grace()
        {
            let elapsed = self.question.now.since(self.troubled_since(pod, trouble, clock));
            self.wake_after(grace, elapsed);
            if elapsed >= grace || self.question.progress.has_failed(&entry.name) {
                return Some(trouble.cause.clone());
            }
        }
        let deadline = Duration::from(gates.progress_deadline_secs);
        let ready_for = pod.ready_observed.map(|observed| self.ready_for(pod, observed, true, clock));
        if restarts(pod) > gates.max_restarts && ready_for.is_none_or(|ready_for| ready_for < deadline) {
            let ended = last_end(pod).map(|ended| format!("; {ended}")).unwrap_or_default();
            let words = format!("{} restarts, more than {}{ended}", restarts(pod), gates.max_restarts);
            let known =
                pod.trouble.as_ref().map(|trouble| &trouble.cause).filter(|known| known.kind.says_why_it_restarts());
            let kind = known.map_or(CauseKind::CrashLoop, |known| known.kind);
            let container = known.map_or_else(|| ended_last(pod), |known| known.container.clone());
            return Some(Cause { kind, container, message: Some(words.into()) });
        }
        if available {
            return None;
        }
        let elapsed = self.expected_for(pod, entry.back_at(), clock);
        self.wake_after(deadline, elapsed);
        (elapsed >= deadline).then(|| {
            let message = pod.trouble.as_ref().map(|trouble| match &trouble.cause.message {
                Some(message) => Str::from(format!("{}: {message}", trouble.cause.kind)),
                None => Str::from(trouble.cause.kind.to_string()),
            });
            let container = pod.trouble.as_ref().and_then(|trouble| trouble.cause.container.clone());
            Cause { kind: CauseKind::Deadline, container, message }
        })
    }

    /// For how long a pod that is not available has had the chance to become available: since it was created, since it was last
    /// available, or since its node came back, whichever is latest. A pod that was available once gets the whole deadline again;
    /// otherwise every short unreadiness of an older pod would be a failure.
    fn expected_for(&self, pod: &PodEntry, back_at: Option<Timestamp>, clock: Option<i64>) -> Duration {
        let (now, server_now) = (self.question.now, self.server_now);
        let made = pod.first_observed.elapsed(Some(pod.fact.created_at), now, server_now);
        let needed = Duration::from_secs(self.soak_secs(true).into());
        let served = pod.served.as_ref().filter(|served| served.lasted >= needed).map(|served| {
            let said = served.said.map(|at| by_server(at, clock));
            served.ended.elapsed(said, now, server_now)
        });
        let back = back_at.map(|at| now.since(at));
        [served, back].into_iter().flatten().fold(made, Duration::min)
    }

    fn state(
        &self,
        in_fleet: bool,
        down: bool,
        at_target: bool,
        available: bool,
        failed: bool,
        pods: &OnNode<'_>,
    ) -> NodeState {
        match pods.live {
            _ if !in_fleet => NodeState::Ineligible,
            _ if down => NodeState::NodeDown,
            Some(_) if pods.being_deleted => NodeState::Terminating,
            None if pods.going.is_some() => NodeState::Terminating,
            None => NodeState::Creating,
            Some(_) if !at_target => NodeState::Outdated,
            Some(_) if failed => NodeState::Failed,
            Some(_) if available => NodeState::Updated,
            Some(pod) if pod.fact.ready => NodeState::Soaking,
            Some(pod) => self.starting_state(pod),
        }
    }

    fn starting_state(&self, pod: &PodEntry) -> NodeState {
        let image_trouble = pod.trouble.as_ref().is_some_and(|trouble| trouble.cause.kind.is_about_the_image());
        let pulling = self.view.pulling_since(&pod.fact).is_some() && !images_present(&pod.fact);
        // A kubelet that does not say any more that the pull failed is at it again, also where no Event tells.
        let says_so = |container: &ContainerFact| {
            crate::engine::rules::diagnose::diagnose_container(container)
                .is_some_and(|cause| cause.kind.is_about_the_image())
        };
        if image_trouble && !pulling && pod.fact.containers.iter().any(says_so) {
            return NodeState::PullFailed;
        }
        if pulling || image_trouble {
            return NodeState::Pulling;
        }
        let begun = pod.fact.containers.iter().any(|container| {
            container.image_present
                || !matches!(container.state, ContainerState::Waiting { .. })
                || container.restarts > 0
        });
        if begun { NodeState::Starting } else { NodeState::Creating }
    }

    /// Whether the rollout put a pod there, whatever the target is by now.
    fn put_there(&self, at_target: bool, pod: Option<&PodEntry>) -> bool {
        let progress = self.question.progress;
        let revision = pod.and_then(|pod| pod.fact.revision.as_ref());
        let began = progress.started_at.filter(|_| at_target);
        let made_since = |began| pod.is_some_and(|pod| self.view.our_time(pod.fact.created_at) > began);
        match (&progress.origin, revision, began) {
            // On the way back pods that never left the revision are there as well: only their age tells them from those that are put back.
            (_, Some(_), Some(began)) if self.question.intent.direction() == Direction::Back => made_since(began),
            // Where a rollout goes forward to the revision that it came from it is the same.
            (Some(origin), Some(revision), began) => revision != origin || began.is_some_and(made_since),
            _ => at_target,
        }
    }

    /// Whose fault it is that a node of the fleet is unavailable.
    fn blame(
        &self,
        (name, node): (&Str, Option<&NodeFact>),
        (down, at_target, replaced, put_there): (bool, bool, bool, bool),
        pod: Option<&PodEntry>,
    ) -> Blame {
        let progress = self.question.progress;
        if progress.down_before.contains_key(name) || self.was_down_before(name, node, at_target, pod) {
            return Blame::PreExisting;
        }
        let in_progress = progress.in_progress.contains(name);
        match (down, replaced) {
            (_, true) => Blame::Rollout,
            (true, false) if put_there || (in_progress && at_target) => Blame::Suspect,
            (true, false) if in_progress => Blame::Rollout,
            (true, false) => Blame::Node,
            // A node that the rollout took down is blamed on it until it is available again, even if the target has changed.
            (false, false) if put_there || in_progress => Blame::Rollout,
            // On the way back pods that never left the revision are at the target: nobody touched them.
            (false, false) if at_target && self.question.intent.direction() == Direction::Forward => Blame::Rollout,
            (false, false) => Blame::PreExisting,
        }
    }

    /// Whether the cluster shows that a node was down before the rollout began. It is asked only if the record had no room for
    /// the names of all nodes that were down before, and never of a node that the record names as in progress.
    ///
    /// A node that has not been Ready since before then was never acted on; an old pod that was made before then was not
    /// made by the rollout.
    fn was_down_before(&self, name: &Str, node: Option<&NodeFact>, at_target: bool, pod: Option<&PodEntry>) -> bool {
        let progress = self.question.progress;
        let Some(began_at) = progress.left_out_since.filter(|_| !progress.in_progress.contains(name)) else {
            return false;
        };
        let going = pod.is_some_and(|pod| (self.question.deleting)(&pod.fact.uid));
        let not_ready_since = node.and_then(|fact| match fact.ready {
            ConditionStatus::True => None,
            ConditionStatus::False => fact.ready_since.map(|at| by_server(at, fact.clock_skew_millis)),
            ConditionStatus::Unknown => fact.ready_since,
        });
        let is_ready = node.is_some_and(|fact| fact.ready == ConditionStatus::True);
        let old = pod.is_some_and(|pod| !at_target && pod.fact.created_at < began_at);
        !going && (not_ready_since.is_some_and(|since| since < began_at) || (is_ready && old))
    }

    fn cause(&mut self, fact: Option<&NodeFact>, down: bool, pods: &OnNode<'_>) -> Option<Cause> {
        if down {
            let words = fact.and_then(|fact| fact.ready_reason.clone());
            return Some(Cause { kind: CauseKind::NodeDown, container: None, message: words });
        }
        let any_pod = pods.live.or(pods.going);
        if let Some(ends_at) = any_pod.and_then(|pod| pod.fact.deletion_at).filter(|at| *at >= self.server_now) {
            let left = ends_at.since(self.server_now) + Duration::from_millis(1);
            self.wake_after(left, Duration::ZERO);
        }
        if let Some(stuck_at) = any_pod.and_then(|pod| crate::engine::rules::diagnose::stuck_at(&pod.fact))
            && stuck_at >= self.server_now
        {
            let left = stuck_at.since(self.server_now) + Duration::from_millis(1);
            self.wake_after(left, Duration::ZERO);
        }
        let known = pods.live.and_then(|pod| pod.trouble.as_ref()).map(|trouble| trouble.cause.clone());
        let says = any_pod.and_then(|pod| crate::engine::rules::diagnose::diagnose(&pod.fact, self.server_now));
        // What was said before of the pull says more.
        let says_less = |says: &Cause| {
            let told = known.as_ref().is_some_and(|known| known.kind.leaves_the_image_open());
            told && says.kind == CauseKind::ImagePull
        };
        says.filter(|says| !says_less(says)).or(known)
    }

    /// Of a pod that was in trouble when we first looked: since when it has not been Ready. Its trouble is as old as that at least. What is
    /// known of images is in [`Self::troubled_since`].
    fn unready_when_first_seen(&self, pod: &PodEntry, trouble: &PodTrouble, clock: Option<i64>) -> Option<Timestamp> {
        let ObservedAt::Already(at, _) = pod.first_observed else { return None };
        let counts = !pod.fact.ready && trouble.since == at && !trouble.cause.kind.is_about_the_image();
        pod.fact.ready_since.filter(|_| counts).map(|at| by_server(at, clock).max(pod.fact.created_at))
    }

    fn since(&self, state: NodeState, entry: &NodeEntry, pods: &OnNode<'_>) -> Option<Timestamp> {
        let (live, fact) = (pods.live, entry.fact.as_ref());
        if let (NodeState::Creating | NodeState::Failed, None, Some(missing_since)) = (state, live, entry.missing_since)
        {
            return Some(self.view.server_time(missing_since));
        }
        let clock = fact.and_then(|fact| fact.clock_skew_millis);
        match state {
            // Unknown is written by the node lifecycle controller, whose clock is taken to be the API server's.
            NodeState::NodeDown => fact.and_then(|fact| match fact.ready {
                ConditionStatus::False => Some(by_server(fact.ready_since?, clock)),
                ConditionStatus::True | ConditionStatus::Unknown => fact.ready_since,
            }),
            NodeState::Terminating => pods.going.and_then(|pod| {
                let grace = Duration::from_secs(pod.fact.deletion_grace_secs.unwrap_or(0).into());
                Some(pod.fact.deletion_at? - grace)
            }),
            NodeState::Failed | NodeState::PullFailed => live.map(|pod| {
                let since = |trouble: &PodTrouble| {
                    let known = self.view.server_time(self.troubled_since(pod, trouble, clock));
                    self.unready_when_first_seen(pod, trouble, clock).map_or(known, |unready| unready.min(known))
                };
                let since = pod.trouble.as_deref().map_or(pod.fact.created_at, since);
                // In a crash loop it is up in between, and its trouble begins anew each time.
                let began = pod.restarts.began.filter(|_| state == NodeState::Failed).map(|(observed, said)| {
                    let said = said.map(|at| by_server(at, clock));
                    self.server_now - observed.elapsed(said, self.question.now, self.server_now)
                });
                began.map_or(since, |began| began.min(since))
            }),
            NodeState::Pulling => {
                let since = |pod: &PodEntry| Some(by_server(self.view.pulling_since(&pod.fact)?, clock));
                live.map(|pod| since(pod).unwrap_or(pod.fact.created_at))
            }
            NodeState::Creating => live.map(|pod| pod.fact.created_at),
            NodeState::Starting => live.map(|pod| {
                let run = |container: &ContainerFact| match container.state {
                    ContainerState::Running { since } => since.map(|at| by_server(at, clock)),
                    ContainerState::Waiting { .. } | ContainerState::Terminated { .. } => None,
                };
                pod.fact.containers.iter().filter_map(run).max().unwrap_or(pod.fact.created_at)
            }),
            NodeState::Soaking | NodeState::Updated | NodeState::Outdated | NodeState::Ineligible => {
                live.map(|pod| pod.fact.ready_since.map_or(pod.fact.created_at, |at| by_server(at, clock)))
            }
        }
    }
}

/// How a container of the pod ended last: `agent ended with exit 137 (OOMKilled)`. Of one that ended with an error, if any did.
fn last_end(pod: &PodEntry) -> Option<String> {
    let (exit, container) = ended_container(pod)?;
    let reason = container.last_end.as_deref().filter(|reason| !matches!(*reason, "" | "Error" | "Completed"));
    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    Some(format!("{} ended with exit {exit}{reason}", container.name))
}

/// The container that ended last, as [`last_end`] means it.
fn ended_last(pod: &PodEntry) -> Option<Str> {
    ended_container(pod).map(|(_, container)| container.name.clone())
}

fn ended_container(pod: &PodEntry) -> Option<(i32, &ContainerFact)> {
    let ended = pod.fact.containers.iter().filter_map(|container| Some((container.last_exit?, container)));
    ended.max_by_key(|(exit, _)| *exit != 0)
}

fn restarts(pod: &PodEntry) -> u32 {
    crate::engine::view::restarts::total(&pod.fact)
}
