//! Which nodes pull for pre-warming, and the API calls for it, as previews list them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::engine::assess::plan::Limits;
use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::machine::prewarm::PrewarmJob;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::config::Role;
use crate::engine::model::event::{Permission, Right, WatchHealth, Watched};
use crate::engine::model::facts::WarmSetFact;
use crate::engine::model::node::NodeIx;
use crate::engine::model::prewarm::{PrewarmMethod, PrewarmState, PrewarmWait};
use crate::engine::model::quantity::counted;
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::warm_set::request_key;

impl Engine {
    /// The calls about pods and StatefulSets that the driver then makes.
    pub(super) fn prewarming_calls(
        &self,
        command: &PrewarmCommand,
        edits: &[Edit],
        limits: &Limits,
        now: Timestamp,
    ) -> Vec<String> {
        let Some(job) = self.job_after(command, edits, limits) else { return Vec::new() };
        let renews = renews(command);
        let mut calls = Vec::new();
        if self.health(Watched::WarmPods) != WatchHealth::Live {
            calls
                .push("DELETE pods that were made for it and are not needed then (they cannot be seen yet)".to_owned());
        } else {
            match self.pods_to_delete(&job, renews) {
                0 => {}
                1 => calls.push("DELETE the pod that was made for it".to_owned()),
                pods => calls.push(format!("DELETE {pods} pods that were made for it")),
            }
        }
        if job.request.stateful_sets {
            calls.push("GET statefulsets; DELETE those that are not needed then, and their pods with them".to_owned());
        }
        let made = self.pods_to_make(command, &job).len();
        if job.request.method == PrewarmMethod::StatefulSet {
            calls.extend(sets_to_make(job.sets_at_once(), made));
        } else {
            calls.extend(pods_for(made));
        }
        let drives = self.lock.holds() || self.lock.living_other(now).is_some() || self.config().role == Role::Driver;
        if !drives {
            calls.iter_mut().for_each(|call| call.push_str(" (once somebody drives)"));
        }
        calls
    }

    /// How many pods are deleted at once, as things are, besides those that go with a StatefulSet. With `renews`, those whose pull
    /// failed count, too.
    pub(super) fn pods_to_delete(&self, job: &PrewarmJob, renews: bool) -> usize {
        let ours = self.view.warm().iter().filter(|warm| {
            let node = warm.fact.pod.node.as_ref().filter(|_| !self.is_of_a_set(warm));
            (renews && warm.cause().is_some())
                || self.is_tried_again(warm, &job.request)
                || node.is_some_and(|node| !self.is_needed(warm, node, job))
        });
        let goes_already = |uid: &Str| self.warming.writes.is_deleting(uid, self.now);
        ours.chain(self.view.warm().strays().filter(|warm| !self.is_of_a_set(warm)))
            .map(|warm| &warm.fact.pod)
            .filter(|pod| pod.node.is_some() && pod.deletion_at.is_none() && !goes_already(&pod.uid))
            .count()
    }

    /// The nodes on which images are pulled for pre-warming, sooner or later, in the order in which they go; StatefulSets keep none.
    pub(super) fn nodes_that_pull(&self, command: &Command, edits: &[Edit], limits: &Limits) -> Vec<Str> {
        let Command::Prewarm(command) = command else { return Vec::new() };
        let job = self.job_after(command, edits, limits).filter(|_| !edits.is_empty());
        let Some(job) = job else { return Vec::new() };
        let mut nodes = self.pods_to_make(command, &job);
        nodes.sort_by_key(|node| self.place_among_pulls(*node, &job.key));
        nodes.into_iter().map(|node| self.view.entry(node).name.clone()).collect()
    }

    /// Pre-warming as it stands once the edits of a command are saved; `None` where nothing is pulled then.
    fn job_after(&self, command: &PrewarmCommand, edits: &[Edit], limits: &Limits) -> Option<PrewarmJob> {
        let mut then = self.recorded_prewarm();
        edits.iter().for_each(|edit| edit.apply_to_prewarm(&mut then));
        let then = then.filter(|_| *command != PrewarmCommand::Pause).map(Cow::into_owned)?;
        let template = self.template_to_prewarm(&then.source);
        Some(self.job_of(then, template, limits))
    }

    /// The nodes on which a pod is made, sooner or later, as things are. By StatefulSet, only nodes that no StatefulSet covers yet
    /// count.
    fn pods_to_make(&self, command: &PrewarmCommand, job: &PrewarmJob) -> Vec<NodeIx> {
        // A retry without a failure makes no pod.
        if *command == PrewarmCommand::Retry && !self.prewarming_has_failed(job) {
            return Vec::new();
        }
        let renews = renews(command);
        let stands = job.request.paused.is_some() || job.request.cancelled.is_some();
        let by_sets = job.request.method == PrewarmMethod::StatefulSet;
        let right = if by_sets { Right::CreateStatefulSets } else { Right::CreatePods };
        if stands || self.view.permission(right) == Permission::Denied {
            return Vec::new();
        }
        let (key, request) = (&job.key, request_key(&job.request));
        let same = |set: &&WarmSetFact| by_sets && set.images == *key && set.request == request;
        let sets = self.warming.sets.known().into_iter().flatten().filter(same);
        let covered: BTreeSet<&Str> = sets.flat_map(|set| &set.nodes).collect();
        let is_made = |node: NodeIx, state: &PrewarmState| match state {
            PrewarmState::Waiting(wait) => match wait {
                PrewarmWait::Next
                | PrewarmWait::InLine
                | PrewarmWait::Limit { .. }
                | PrewarmWait::SiteLimit { .. }
                | PrewarmWait::NobodyDrives
                | PrewarmWait::TriedAgain
                | PrewarmWait::Ending(_)
                | PrewarmWait::Refused(_)
                | PrewarmWait::RateLimited { .. }
                | PrewarmWait::ViewStale(_) => true,
                PrewarmWait::Unobtainable(_) => renews,
                PrewarmWait::Paused
                | PrewarmWait::Cancelled
                | PrewarmWait::Complete
                | PrewarmWait::NodeDown
                | PrewarmWait::Pressure(_) => false,
                // A node whose own pod pulls other images has its turn once that pod is there.
                PrewarmWait::Updating => !self.own_pod_brings(node, job),
            },
            PrewarmState::Failed { again_at, .. } => !by_sets && (renews || again_at.is_some()),
            PrewarmState::Queued
            | PrewarmState::Silent { .. }
            | PrewarmState::Pulling { .. }
            | PrewarmState::Present => false,
        };
        let states = job.states.iter().enumerate().filter_map(|(node, state)| Some((node, state.as_ref()?)));
        let is_covered = |node: NodeIx| covered.contains(&self.view.entry(node).name);
        states.filter(|(node, state)| is_made(*node, state) && !is_covered(*node)).map(|(node, _)| node).collect()
    }

    /// Whether the pod of the DaemonSet that a node pulls for, or gets next, uses all of these images.
    fn own_pod_brings(&self, node: NodeIx, job: &PrewarmJob) -> bool {
        let row = self.assessment.row(node);
        let pod = row.filter(|row| row.at_target).and_then(|row| self.view.pod(row.pod?));
        let revision = pod.and_then(|pod| self.view.revision(pod.fact.revision.as_ref()?));
        // A pod that is being replaced is followed by one of the present template.
        let present = || self.view.daemonset().map(|daemonset| &daemonset.template);
        let template = revision.map(|revision| &revision.template).or_else(present);
        let has = template.map(Template::images).unwrap_or_default();
        job.template.as_ref().is_ok_and(|wanted| wanted.images().iter().all(|image| has.contains(image)))
    }
}

/// Whether a command has what failed tried again.
fn renews(command: &PrewarmCommand) -> bool {
    matches!(command, PrewarmCommand::Start { .. } | PrewarmCommand::Retry)
}

/// The call that makes pods on so many nodes.
fn pods_for(nodes: usize) -> Option<String> {
    match nodes {
        0 => None,
        1 => Some("POST pods, one on 1 node; DELETE it once its node is updated".to_owned()),
        nodes => {
            Some(format!("POST pods, one on each of {}; DELETE each once its node is updated", counted(nodes, "node")))
        }
    }
}

/// The call that makes StatefulSets for so many nodes, at most `at_once` of them.
fn sets_to_make(at_once: u32, nodes: usize) -> Option<String> {
    match usize::try_from(at_once).unwrap_or(usize::MAX).min(nodes) {
        0 => None,
        1 => {
            Some(format!("POST 1 StatefulSet for {}; DELETE it once every node has the images", counted(nodes, "node")))
        }
        sets => {
            let nodes = counted(nodes, "node");
            Some(format!("POST {sets} StatefulSets for {nodes}; DELETE them once every node has the images"))
        }
    }
}
