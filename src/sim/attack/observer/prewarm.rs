//! P6 and P9 for pre-warming: pre-warming and updates together keep to the pull limits, overall and per site; a node that must have its
//! images before its update has them; and nothing of pre-warming is left behind.

use std::collections::{BTreeMap, BTreeSet};

use super::context::{Broken, DeletionContext, listed};
use super::state::at_target;
use super::{ObservedPod, Observer, ROUNDED};
use crate::engine::model::Str;
use crate::engine::model::facts::WarmSetFact;
use crate::engine::model::prewarm::{PREWARM, PREWARM_SET, Prewarm, PrewarmMethod, PrewarmNodes};
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::{By, Direction, Intent, OURSELVES, Record};
use crate::engine::model::settings::{Limit, PrewarmAhead};
use crate::engine::model::site::SiteLabel;
use crate::engine::model::template::{NeededImage, Template};
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{Body, Object};
use crate::sim::world::policy::INJECTED;
use crate::sim::world::store::{ChangeKind, StoreChange};

/// The pods and StatefulSets for pre-warming, by uid.
#[derive(Debug, Default)]
pub(super) struct WarmPodsThere {
    pods: BTreeMap<Str, WarmPodThere>,
    /// StatefulSets; `false`: its Lease was deleted by hand, so no process can know of it as long as it has no pod.
    sets: BTreeMap<Str, bool>,
    /// While the rollout is being released: who had requested the pre-warming that ran when the release was recorded.
    released: Option<Option<By>>,
}

#[derive(Debug)]
struct WarmPodThere {
    node: Str,
    /// Whether a StatefulSet made the pod; then no process of rolldeck decides when it pulls.
    by_set: bool,
    /// Whether the registry has refused its image: the pod then loads no link, even while its kubelet tries again.
    refused: bool,
}

impl Observer {
    /// Takes in a change of a pod for pre-warming. Returns whether the pod is one.
    pub(super) fn warm_pod_changes(&mut self, change: &StoreChange, world: &World) -> bool {
        let object = &change.object;
        if object.meta.labels.get(PREWARM).is_none() {
            return false;
        }
        let by_set = object.meta.labels.get(PREWARM_SET).is_some();
        let Some(node) = object.pod().and_then(|pod| pod.node.clone().or_else(|| by_set.then(Str::default))) else {
            return true;
        };
        let there = WarmPodThere { node: node.clone(), by_set, refused: false };
        match change.kind {
            ChangeKind::Deleted => {
                self.throttle_begins(change, by_set);
                self.warm_pods.pods.remove(&object.meta.uid);
            }
            ChangeKind::Added => {
                self.warm_pods.pods.insert(object.meta.uid.clone(), there);
                if let Some((promise, what)) = self.check_warm_pod(object, &node, change.at, world) {
                    self.report_violation(promise, change.at, what);
                }
            }
            ChangeKind::Modified => {
                self.throttle_begins(change, by_set);
                let there = self.warm_pods.pods.entry(object.meta.uid.clone()).or_insert(there);
                there.node = node;
                there.refused |= is_in_trouble(object);
            }
        }
        true
    }

    /// Takes in a change of a StatefulSet for pre-warming.
    pub(super) fn warm_set_changes(&mut self, change: &StoreChange, world: &World) {
        let Some(set) = change.object.warm_set_fact() else { return };
        match change.kind {
            ChangeKind::Deleted => drop(self.warm_pods.sets.remove(&set.uid)),
            ChangeKind::Modified => {}
            ChangeKind::Added => {
                self.warm_pods.sets.insert(set.uid.clone(), true);
                if let Some((promise, what)) = self.check_warm_set(&set, change.at, world) {
                    self.report_violation(promise, change.at, what);
                }
            }
        }
    }

    /// P6: more StatefulSets are at work than nodes may pull, as far as the process that made this one could know. P3: nobody requested
    /// pre-warming by StatefulSets.
    fn check_warm_set(&self, set: &WarmSetFact, at: Timestamp, world: &World) -> Broken {
        let by_sets = |asked: &&Prewarm| asked.method == PrewarmMethod::StatefulSet && asked.cancelled.is_none();
        let asked: Vec<&Prewarm> = self.prewarms.at(at).flatten().filter(by_sets).collect();
        if asked.is_empty() {
            return Some(("P3", format!("StatefulSet {} was made, and nobody asked for any", set.name)));
        }
        let at_work = world.store().list_in(Kind::StatefulSet, &self.namespace).filter(|object| {
            let of_it = object.warm_set_fact().filter(|other| other.images == set.images && !other.deleting);
            of_it.is_some_and(|other| {
                // A tag that was moved since leaves no work: each pod of a StatefulSet pulls once.
                let images = template_of(object).images();
                other.nodes.iter().any(|node| images.iter().any(|image| !world.fleet().has_image(node, image)))
            })
        });
        // Without a limit of its own, only one StatefulSet may be at work, whatever the limit for updates.
        let desired = self.desired.at(at).copied().max().unwrap_or(0);
        let own = asked.iter().map(|asked| asked.limits.max_pulling.at().map_or(1, |it| it.of(desired, Rounding::Up)));
        let (at_work, limit) = (at_work.count(), own.max().unwrap_or(1).max(1));
        (at_work > limit as usize)
            .then(|| ("P6", format!("{at_work} StatefulSets pull with a limit of {limit}: {}", set.name)))
    }

    /// Takes in the request for pre-warming.
    pub(super) fn prewarm_is(&mut self, lease: &Object, gone: bool, at: Timestamp) {
        if gone {
            self.warm_pods.sets.values_mut().for_each(|known| *known = false);
        }
        let text = lease.meta.annotations.get(PREWARM).filter(|_| !gone);
        let prewarm = text.and_then(|text| Prewarm::parse(text).ok());
        self.prewarms.is(at, prewarm);
    }

    /// P9: the release of a rollout ends the pre-warming that ran when the release was recorded.
    pub(super) fn release_ends_prewarming(&mut self, record: Option<&Record>, released: bool, at: Timestamp) {
        let asked = self.prewarms.now().and_then(Option::as_ref);
        let goes_on = asked.filter(|asked| asked.cancelled.is_none()).map(|asked| asked.by.clone());
        let then = self.warm_pods.released.take();
        if released && goes_on.is_some() && then.as_ref() == Some(&goes_on) {
            self.report_violation("P9", at, "pre-warming goes on after the release of its rollout".to_owned());
        }
        let releasing = record.is_some_and(|record| record.intent.releasing.is_some());
        self.warm_pods.released = releasing.then(|| then.unwrap_or(goes_on));
    }

    /// P6: a pod for pre-warming begins a pull beyond the limits, as far as the process that made it could know. P3: nobody requested it.
    fn check_warm_pod(&self, pod: &Object, node: &Str, at: Timestamp, world: &World) -> Broken {
        let asked: Vec<&Prewarm> = self.prewarms.at(at).flatten().collect();
        if pod.meta.labels.get(PREWARM_SET).is_some() {
            return None;
        }
        // A process that was suspended sends writes that it had decided before.
        let suspended = self.blind_until + self.slack + ROUNDED >= at;
        if asked.is_empty() {
            let what = format!("a pod for pre-warming was made on {node}, and nobody asked for any");
            return (!suspended).then_some(("P3", what));
        }
        if !suspended && asked.iter().all(|asked| asked.paused.is_some() || asked.cancelled.is_some()) {
            return Some((
                "P3",
                format!("a pod for pre-warming was made on {node} while that was paused or cancelled"),
            ));
        }
        if let Some(what) = self.not_by_settings(&asked, at).filter(|_| !suspended) {
            return Some(("P2", format!("a pod for pre-warming was made on {node}: {what}")));
        }
        if let Some(what) = self.throttle.is_ignored(&asked, at).filter(|_| !suspended) {
            return Some(("P6", format!("a pod for pre-warming was made on {node}: {what}")));
        }
        // A console that cannot know yet that its watch is stuck acts on what it shows.
        if self.unaware.values().any(|until| at < *until) {
            return None;
        }
        if let Some(what) = self.not_of_the_step(&asked, node, at).filter(|_| !suspended) {
            return Some(("P2", format!("a pod for pre-warming was made on {node}: {what}")));
        }
        let seen = self.nodes.get(node);
        if seen.is_some_and(|seen| !seen.ready && seen.ready_since + self.slack < at) {
            return Some(("P5", format!("a pod for pre-warming was made on {node}, which was not Ready")));
        }
        if !lacks(pod, node, world) {
            return None;
        }
        let pulling = self.nodes_that_pull(at, world);
        let limit = self.pull_limit(&asked, at);
        if pulling.len() > limit as usize {
            let what = format!("{} pull with a limit of {limit}: {}", pulling.len(), listed(&pulling));
            return Some(("P6", format!("a pod for pre-warming on {node}: {what}")));
        }
        let over = |label| self.over_in_site(&asked, node, &pulling, &label, at);
        let over = self.site_labels(at).into_iter().map(over);
        let over = over.collect::<Option<Vec<String>>>()?.into_iter().next()?;
        Some(("P6", format!("a pod for pre-warming on {node}: {over}")))
    }

    /// rolldeck pre-warms by itself on other nodes than the settings of the rollout name.
    fn not_by_settings(&self, asked: &[&Prewarm], at: Timestamp) -> Option<String> {
        let by_itself = |asked: &&Prewarm| &*asked.by.by == OURSELVES && asked.cancelled.is_none();
        let records: Option<Vec<&Record>> = self.records.at(at).map(Option::as_ref).collect();
        let intents: Vec<&Intent> = records?.into_iter().map(|record| &record.intent).collect();
        // On the way back rolldeck neither begins pre-warming nor changes a request.
        if !asked.iter().all(by_itself) || intents.iter().any(|intent| intent.direction() == Direction::Back) {
            return None;
        }
        let meant: Vec<Option<PrewarmNodes>> = intents.iter().map(|intent| nodes_by_settings(intent)).collect();
        let wrong = |asked: &&Prewarm| !meant.contains(&Some(asked.nodes.clone()));
        asked
            .iter()
            .all(wrong)
            .then(|| format!("rolldeck brings images to {:?}, and is to bring them to {meant:?}", asked[0].nodes))
    }

    /// Only nodes of the step are to be pre-warmed, but this node has an old pod that serves and that the selector excludes.
    fn not_of_the_step(&self, asked: &[&Prewarm], node: &Str, at: Timestamp) -> Option<String> {
        let by_step = |asked: &&Prewarm| matches!(asked.nodes, PrewarmNodes::LetGo | PrewarmNodes::StepAhead);
        let records: Option<Vec<&Record>> = self.records.at(at).map(Option::as_ref).collect();
        let intents: Vec<&Intent> = records?.into_iter().map(|record| &record.intent).collect();
        let seen = self.nodes.get(node)?;
        let settled = seen.labels_since + self.slack + ROUNDED < at && self.template_since + self.slack < at;
        let forward = intents.iter().all(|intent| intent.direction() == Direction::Forward);
        if !asked.iter().all(by_step) || !settled || !forward {
            return None;
        }
        let may = |intent: &Intent| intent.selector.as_ref().is_none_or(|selector| selector.matches(&seen.labels));
        if intents.iter().any(|intent| may(intent)) {
            return None;
        }
        let mut here = self.pods.values().filter(|pod| pod.fact.node.as_ref() == Some(node));
        let stays = |pod: &ObservedPod| self.serves_for_sure(pod, at) && !at_target(pod, &intents);
        (here.clone().count() == 1 && here.all(stays)).then(|| "it is not in the selector of the step".to_owned())
    }

    /// The labels by which a process that acts at `at` may group nodes into sites.
    pub(super) fn site_labels(&self, at: Timestamp) -> Vec<SiteLabel> {
        let mut labels = Vec::new();
        for record in self.records.at(at) {
            let own = || self.prewarms.at(at).map(|it| it.as_ref().and_then(|it| it.limits.site_label.clone()));
            match record {
                Some(record) => labels.push(record.intent.budgets.site_label.clone()),
                None => labels.extend(own().map(Option::unwrap_or_default)),
            }
        }
        labels
    }

    /// Says that too many nodes pull in this node's site, with sites grouped by `label`.
    fn over_in_site(
        &self,
        asked: &[&Prewarm],
        node: &Str,
        pulling: &BTreeSet<Str>,
        label: &SiteLabel,
        at: Timestamp,
    ) -> Option<String> {
        let site = |node: &Str| self.nodes.get(node).map(|seen| seen.site(label)).unwrap_or_default();
        let here = site(node);
        let size = self.nodes.keys().filter(|other| site(other) == here).count();
        let of_site = |limit: Limit| limit.at().map(|it| it.of(u32::try_from(size).unwrap_or(1), Rounding::Up));
        let own = asked.iter().map(|asked| of_site(asked.limits.max_pulling_per_site).unwrap_or(u32::MAX)).max();
        let of_rollout = |record: &Option<Record>| {
            let limit = record.as_ref().map(|record| record.intent.budgets.max_pulling_per_site);
            limit.and_then(of_site).unwrap_or(u32::MAX)
        };
        let rollouts = self.records.at(at).map(of_rollout).max();
        let limit = own.into_iter().chain(rollouts).min().unwrap_or(u32::MAX);
        let there: BTreeSet<Str> = pulling.iter().filter(|other| site(other) == here).cloned().collect();
        (there.len() > limit as usize)
            .then(|| format!("{} pull in site {here:?} with a limit of {limit}: {}", there.len(), listed(&there)))
    }

    /// The nodes that have pulled for pre-warming for so long that every console can know it, and those among them where a process of
    /// rolldeck decided the pull.
    pub(super) fn nodes_that_warm(&self, at: Timestamp, world: &World) -> [BTreeSet<Str>; 2] {
        let pods = world.store().list_in(Kind::Pod, &self.namespace);
        let warm = pods.filter_map(|pod| Some((pod, self.warm_pods.pods.get(&pod.meta.uid)?)));
        // No process decides when the pod of a StatefulSet comes to a node, so such a node counts at once.
        let warm = warm.filter(|(pod, there)| there.by_set || pod.meta.created_at + self.slack + ROUNDED < at);
        let pulls = warm.filter(|(pod, there)| lacks(pod, &there.node, world) && !there.refused);
        let ready = |node: &Str| self.nodes.get(node).is_some_and(|seen| seen.ready);
        let pulls: Vec<&WarmPodThere> = pulls.map(|(_, there)| there).filter(|there| ready(&there.node)).collect();
        let nodes = |decided: bool| {
            pulls.iter().filter(|there| !decided || !there.by_set).map(|there| there.node.clone()).collect()
        };
        [nodes(false), nodes(true)]
    }

    /// The nodes that pull for pre-warming, or are known to pull for an update.
    fn nodes_that_pull(&self, at: Timestamp, world: &World) -> BTreeSet<Str> {
        let warm = self.warm_pods.pods.iter().filter(|(_, there)| !there.by_set).filter(|(uid, there)| {
            let pod = world.store().list_in(Kind::Pod, &self.namespace).find(|pod| pod.meta.uid == **uid);
            pod.is_some_and(|pod| lacks(pod, &there.node, world)) && !there.refused
        });
        let next = self.daemon_set.as_ref().map(|fact| fact.template.clone()).unwrap_or_default();
        // An existing pod needs the images of its own template, not those of the present template.
        let lacking = |node: &Str| {
            let pods = world.store().list_in(Kind::Pod, &self.namespace);
            let ours = pods.filter(|pod| self.is_ours(pod) && !pod.meta.is_deleting());
            let mut here = ours.filter(|pod| pod.pod().is_some_and(|pod| pod.node.as_ref() == Some(node)));
            let Some(own) = here.next() else { return lacks_any(&next, node, world) };
            // Of a pod that was made a moment ago, perhaps from a template already replaced, a console may know or not.
            let known = self.pods.get(&own.meta.uid).is_some_and(|known| known.fact.created_at + self.slack < at);
            let lacks_its_own = own.pod().is_some_and(|pod| lacks_any(&pod.template, node, world));
            lacks_its_own && (known || lacks_any(&next, node, world))
        };
        // A node does not pull for an update if its pod has all images or an image of it is refused.
        let has = |node: &Str| {
            self.pods
                .values()
                .any(|pod| pod.fact.node.as_ref() == Some(node) && (pod.images_since.is_some() || pod.refused))
        };
        let updating = self.pulling.iter().filter(|node| self.may_run_on(node, at) && lacking(node) && !has(node));
        let ready = |node: &&Str| self.nodes.get(*node).is_some_and(|seen| seen.ready);
        // A node that was removed pulls nothing.
        let warm = warm.map(|(_, there)| &there.node).filter(|node| self.nodes.contains_key(*node));
        warm.chain(updating.filter(ready)).cloned().collect()
    }

    /// The highest limit of pre-warming's own within the slack; 0 if it had none.
    pub(super) fn own_limit_of_prewarming(&self, at: Timestamp) -> u32 {
        let desired = self.desired.at(at).copied().max().unwrap_or(0);
        let named = self.prewarms.at(at).flatten().filter_map(|asked| asked.limits.max_pulling.at());
        named.map(|limit| limit.of(desired, Rounding::Up)).max().unwrap_or(0)
    }

    /// The highest limit that the process that made the pod could know of.
    fn pull_limit(&self, asked: &[&Prewarm], at: Timestamp) -> u32 {
        let desired = self.desired.at(at).copied().max().unwrap_or(0);
        let own = self.own_budget.at(at).map(|own| own.map_or(0, |own| own.of(desired, Rounding::Up))).max();
        let own = own.unwrap_or(0).max(1);
        let of_rollout = |intent: Option<&Intent>| {
            let budgets = intent.map(|intent| intent.budgets.clone()).unwrap_or_default();
            let down = budgets.max_unavailable.at().map_or(own, |limit| limit.of(desired, Rounding::Up));
            budgets.max_pulling.at().map_or(down, |limit| limit.of(desired, Rounding::Up))
        };
        let rollouts = self.records.at(at).map(|record| of_rollout(record.as_ref().map(|record| &record.intent)));
        let of_rollouts = rollouts.max().unwrap_or(own);
        let named = asked.iter().filter_map(|asked| asked.limits.max_pulling.at());
        named.map(|limit| limit.of(desired, Rounding::Up)).max().unwrap_or(0).max(of_rollouts)
    }

    /// The image gate: a serving pod is replaced although its node lacks an image that the node must have first.
    pub(super) fn check_image_gate(&self, context: &DeletionContext<'_>, forward: &[&Intent], world: &World) -> Broken {
        let gated = forward.iter().all(|intent| intent.gates.require_image);
        if !gated || !self.serves_for_sure(context.pod, context.at) || self.template_since + self.slack >= context.at {
            return None;
        }
        let needed = self.daemon_set.as_ref()?.template.needed_images();
        // No console can know that a tag was moved after its image came.
        let missing = &needed.iter().find(|needed| !world.fleet().has_image(context.node, &needed.image))?.image;
        Some(("P6", format!("replaced a pod on {}, which has to have {missing} first and has not", context.node)))
    }

    /// Whether pods or StatefulSets for pre-warming exist that a process can know of.
    pub(in crate::sim::attack) fn sees_warm_pods(&self) -> bool {
        !self.warm_pods.pods.is_empty() || self.warm_pods.sets.values().any(|known| *known)
    }

    /// P9: at the end no pod and no StatefulSet for pre-warming is left, unless the DaemonSet was deleted: then no process is there to delete
    /// them.
    pub(in crate::sim::attack) fn check_nothing_is_left_of_prewarming(&mut self, at: Timestamp) {
        if self.sees_warm_pods() && self.daemon_set.is_some() && self.daemon_set_goes_since.is_none() {
            let left: BTreeSet<Str> = self.warm_pods.pods.values().map(|there| there.node.clone()).collect();
            let sets = self.warm_pods.sets.len();
            let what = format!("{sets} StatefulSets and pods for pre-warming are left on {}", listed(&left));
            self.report_violation("P9", at, what);
        }
    }
}

/// The nodes that a rollout with these settings pre-warms before their update; `None`: none.
fn nodes_by_settings(intent: &Intent) -> Option<PrewarmNodes> {
    match intent.prewarm {
        PrewarmAhead::All => Some(PrewarmNodes::All),
        PrewarmAhead::Step => Some(PrewarmNodes::StepAhead),
        PrewarmAhead::Off => intent.gates.require_image.then_some(PrewarmNodes::LetGo),
    }
}

fn is_in_trouble(pod: &Object) -> bool {
    pod.pod_fact().is_some_and(|fact| super::state::trouble_of(&fact).is_some())
}

fn template_of(set: &Object) -> Template {
    let Body::Other(_, body) = &set.body else { return Template::default() };
    Template::from_json(body["spec"]["template"].clone())
}

fn lacks(pod: &Object, node: &Str, world: &World) -> bool {
    // A pod keeps the images that came for it, even if the tag was moved since.
    let came = pod.pod_fact().is_some_and(|fact| super::state::has_images(&fact));
    !came && pod.pod().is_some_and(|pod| lacks_any(&pod.template, node, world))
}

/// Whether a pod of this template would pull on a node. Images of containers that admission adds do not count: a process that makes or
/// replaces a pod cannot know of them (README: such a container decides nothing).
pub(super) fn lacks_any(template: &Template, node: &str, world: &World) -> bool {
    let needed = template.needed_images().iter().filter(|needed| *needed.user != *INJECTED);
    needed.into_iter().any(|needed| lacks_image(needed, node, world))
}

/// Whether the node lacks an image. With a pull at every start, the image that the tag names now counts.
fn lacks_image(needed: &NeededImage, node: &str, world: &World) -> bool {
    let fleet = world.fleet();
    !(if needed.pulls_again || world.always_pulls_images() {
        fleet.has_current_image(node, &needed.image)
    } else {
        fleet.has_image(node, &needed.image)
    })
}
