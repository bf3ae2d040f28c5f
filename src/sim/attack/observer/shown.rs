//! P10: everything that a screen shows as fact is true.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::state::fails_to_pull;
use super::{ObservedPod, Observer};
use crate::engine::model::Str;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::node::NodeState;
use crate::engine::model::presence::Presence;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Snapshot};

impl Observer {
    /// Compares a console's snapshot with the facts that have been true for longer than the slack. A console with a watch that is not live
    /// claims nothing. A console that just received past events gets the slack to receive the rest.
    pub fn check_shown(&mut self, by: &Str, snapshot: &Snapshot, outdated_at: Option<Timestamp>, now: Timestamp) {
        self.check_taken_away(by, snapshot, now);
        // Without the DaemonSet, or with another one in its place, a console shows other pods or none.
        if snapshot.daemonset != Presence::Present || self.daemon_set_goes_since.is_some() {
            self.shown.remove(by);
            return;
        }
        self.check_memory(by, snapshot, now);
        let live = snapshot.watches.iter().all(|watch| watch.health == WatchHealth::Live);
        let settled = |since: Timestamp| since + self.slack < now;
        if !live || outdated_at.is_some_and(|at| !settled(at)) || self.daemon_set.is_none() {
            return;
        }
        let mut wrong: Vec<String> = self.wrong_target(snapshot, now).into_iter().collect();
        for (name, node) in self.nodes.iter().filter(|(_, node)| settled(node.changed_at)) {
            let shown = snapshot.nodes.iter().find(|shown| shown.name == *name);
            let pods: Vec<&ObservedPod> =
                self.pods.values().filter(|pod| pod.fact.node.as_ref() == Some(name)).collect();
            match (shown, pods.as_slice()) {
                (None, []) => {}
                (None, _) => wrong.push(format!("{name} is not shown")),
                (Some(shown), pods) => {
                    wrong.extend(differs(shown, node.ready, pods));
                    wrong.extend(self.restarts_unseen(shown, pods, snapshot, now));
                }
            }
        }
        if let Some(what) = wrong.first() {
            self.report_violation("P10", now, format!("{by} shows what is not so: {what}"));
        }
        self.check_intent_shown(by, snapshot, now);
    }
}

impl Observer {
    /// Says that a console shows a node as updated although its pod restarted again and again after it had been ready.
    fn restarts_unseen(
        &self,
        shown: &NodeView,
        pods: &[&ObservedPod],
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Option<String> {
        let [pod] = pods else { return None };
        let known = pod.restarted.last + self.slack < now && self.blind_until + self.slack < pod.fact.created_at;
        let lately = now.since(pod.restarted.last) < LATELY;
        // A console dates the beginning of the rollout by its own clock.
        let began = snapshot.started_at.is_some_and(|began| began + self.clocks < pod.fact.created_at);
        // If the pod lost its label and got it back, a console begins to count restarts only then.
        let stayed = pod.there_since <= pod.fact.created_at + self.slack;
        let restarts =
            pod.restarted.times >= 2 && known && lately && began && stayed && !self.wrong_clocks.contains(&shown.name);
        // Evicted pods are gone: a console that is opened later does not know of them.
        let restarts = restarts && pod.restarted.evictions.is_none();
        (restarts && shown.state == NodeState::Updated)
            .then(|| format!("{} is shown as updated, and restarted {} times", shown.name, pod.restarted.times))
    }
}

/// Consoles remember a restart for longer than this.
const LATELY: Duration = Duration::from_secs(300);

/// The screen of a console at one time.
#[derive(Debug)]
pub(super) struct ShownScreen {
    at: Timestamp,
    /// The pod of each node.
    pods: BTreeMap<Str, Str>,
    /// Nodes that are shown as not Ready.
    down: BTreeSet<Str>,
    /// Nodes that are shown as Ready and may have the pod.
    up: BTreeSet<Str>,
}

impl Observer {
    /// Checks that a console still shows facts that it showed before and that are still true, even if a watch sends past events again.
    fn check_memory(&mut self, by: &Str, snapshot: &Snapshot, now: Timestamp) {
        let pods = snapshot.nodes.iter().filter_map(|node| Some((node.name.clone(), node.pod.clone()?))).collect();
        let (mut down, mut up) = (BTreeSet::new(), BTreeSet::new());
        for node in snapshot.nodes.iter().filter(|node| node.state != NodeState::Ineligible) {
            if node.state == NodeState::NodeDown { &mut down } else { &mut up }.insert(node.name.clone());
        }
        let shown = ShownScreen { at: now, pods, down, up };
        if let Some(before) = self.shown.get(by)
            && let Some(what) = self.forgotten(before, &shown)
        {
            self.report_violation("P10", now, format!("{by} forgot what it had shown: {what}"));
        }
        self.shown.insert(by.clone(), shown);
    }

    fn forgotten(&self, before: &ShownScreen, shown: &ShownScreen) -> Option<String> {
        // A console may show a removed pod until it can know of the removal.
        let lately = |(gone_at, _): &&(Timestamp, Str)| *gone_at + self.slack >= shown.at;
        let there: BTreeSet<&Str> = self.pods.values().map(|pod| &pod.fact.name).collect();
        let there: BTreeSet<&Str> =
            there.into_iter().chain(self.gone_pods.iter().filter(lately).map(|(_, name)| name)).collect();
        let lost_pod = before.pods.iter().find(|(node, pod)| {
            let other = shown.pods.get(*node);
            // A watch that was down reports a pod that was away and is back as removed and then as added.
            let always = |it: &ObservedPod| it.there_since <= it.fact.created_at + self.slack;
            let is_it = |it: &ObservedPod| it.fact.name == **pod && it.there_since + self.slack < before.at;
            let stayed = self.pods.values().any(|it| is_it(it) && always(it));
            self.nodes.contains_key(*node) && stayed && other.is_none_or(|other| !there.contains(other))
        });
        let risen = before.down.iter().find(|name| {
            let still = self.nodes.get(*name).is_some_and(|node| !node.ready && node.ready_since <= before.at);
            still && shown.up.contains(*name)
        });
        let pod = lost_pod.map(|(node, pod)| format!("{pod} is on {node}"));
        pod.or_else(|| risen.map(|node| format!("{node} is down")))
    }
}

fn differs(shown: &NodeView, ready: bool, pods: &[&ObservedPod]) -> Option<String> {
    let name = &shown.name;
    if shown.state == NodeState::Ineligible {
        return None;
    }
    if ready == (shown.state == NodeState::NodeDown) {
        return Some(format!("{name} is shown as {}, and its Ready condition says {ready}", shown.state));
    }
    let [pod] = pods else {
        let none = pods.is_empty() && shown.pod.is_some();
        return none.then(|| format!("{name} has no pod, and {:?} is shown", shown.pod));
    };
    let fact = &pod.fact;
    if shown.pod.as_ref() != Some(&fact.name) {
        return Some(format!("{name} has pod {}, and {:?} is shown", fact.name, shown.pod));
    }
    let revision = |hash: Option<&Str>| hash.map_or("none", |hash| hash).to_owned();
    if shown.revision_hash() != fact.revision.as_ref() {
        let (is, said) = (revision(fact.revision.as_ref()), revision(shown.revision_hash()));
        return Some(format!("the pod of {name} is at {is}, and {said} is shown"));
    }
    if shown.state == NodeState::NodeDown && fact.deletion_at.is_some() && shown.pod_wait.is_none() {
        return Some(format!("the pod of {name} is being deleted, and {name} is only shown as down"));
    }
    if shown.state == NodeState::PullFailed && !fact.containers.iter().any(fails_to_pull) {
        return Some(format!("{name} is shown with a pull that failed, and no container of its pod says so"));
    }
    (shown.state == NodeState::Updated && !fact.ready).then(|| format!("{name} is shown as updated, and is not ready"))
}
