//! P4: no serving pod is replaced while another node's pod is refused, or missing for long. P8: a node without a pod says why, and a
//! node that is next is updated in time.

use std::collections::BTreeMap;
use std::time::Duration;

use super::causes::{CauseSign, sign_of};
use super::context::{Broken, DeletionContext};
use super::{Observer, ROUNDED};
use crate::engine::model::Str;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Body;

/// The time after which a refused pod counts as failed; the same as for a missing image.
const REFUSED: Duration = Duration::from_secs(5);
/// The time after which a missing pod counts as failed, for whatever reason it is missing.
const MISSING: Duration = Duration::from_secs(60);
/// The time for which a console need not say why a pod is missing.
const UNEXPLAINED: Duration = Duration::from_secs(30);
/// The time within which a node that is next must be updated, if its driver sees everything. A driver waits 30 s for the answer to a
/// deletion that was lost.
const NEXT: Duration = Duration::from_secs(100);

/// By console: nodes that it shows in some state, each with the time since when it does so without a break.
type ShownSince = BTreeMap<Str, BTreeMap<Str, Timestamp>>;

/// The observer's knowledge of missing pods, and of the driver that has to see them.
#[derive(Debug, Default)]
pub(super) struct Absent {
    /// When the newest pod was created.
    newest_pod_at: Timestamp,
    template_since: Timestamp,
    /// The holder of the Lease, and since when it holds it.
    holder: Option<(Str, Timestamp)>,
    /// The nodes that each console shows as next.
    next: ShownSince,
    /// The nodes that each console shows as being created and refused.
    refused: ShownSince,
}

impl Absent {
    pub(super) fn pod_was_created(&mut self, at: Timestamp) {
        self.newest_pod_at = self.newest_pod_at.max(at);
    }

    pub(super) fn template_changed(&mut self, at: Timestamp) {
        self.template_since = at;
    }

    pub(super) fn holder_is(&mut self, holder: Option<Str>, at: Timestamp) {
        self.holder = holder.map(|holder| match self.holder.take() {
            Some((known, since)) if known == holder => (known, since),
            _ => (holder, at),
        });
    }
}

impl Observer {
    /// P4: a serving pod is replaced although another node's pod was refused or missing for so long that the driver must have known.
    pub(super) fn check_absent(&self, context: &DeletionContext<'_>, forward: &[&Intent], world: &World) -> Broken {
        let untouched = forward.iter().all(|intent| intent.acknowledged_halt == 0 && intent.target.is_some());
        if !untouched || !self.serves_for_sure(context.pod, context.at) {
            return None;
        }
        let looks_since = self.looks_since(context.at);
        let nodes = self.nodes.iter().filter(|(name, node)| {
            node.ready
                && self.may_run_on(name, context.at)
                && !self.pods.values().any(|pod| pod.fact.node.as_ref() == Some(*name))
        });
        for (name, node) in nodes {
            let since = node.changed_at.max(node.tainted_since).max(self.absent.template_since).max(looks_since);
            let absent_for = context.at.since(since + self.slack + ROUNDED);
            if absent_for > MISSING {
                let what = format!(
                    "replaced a serving pod on {} while {name} misses its own for {absent_for:?}",
                    context.node
                );
                return Some(("P4", what));
            }
            let refused = self.refused_since(world, since).map(|at| context.at.since(at + self.slack + ROUNDED));
            if refused.is_some_and(|refused_for| refused_for > REFUSED) {
                return Some((
                    "P4",
                    format!("replaced a serving pod on {} while one is refused on {name}", context.node),
                ));
            }
        }
        None
    }

    /// Since when the holder of the Lease is known to look; `at` where nobody holds it.
    pub(super) fn looks_since(&self, at: Timestamp) -> Timestamp {
        self.absent.holder.as_ref().map_or(at, |(_, since)| *since).max(self.blind_until)
    }

    /// The time of the controller's first event from `since` on that it could not create a pod; `None` if a pod was created after it.
    fn refused_since(&self, world: &World, since: Timestamp) -> Option<Timestamp> {
        let said = world.store().list_in(Kind::Event, &self.namespace).filter_map(|object| match &object.body {
            Body::Event(event) if &*event.reason == "FailedCreate" => Some(event.last_at),
            _ => None,
        });
        let created_at = self.absent.newest_pod_at + ROUNDED;
        said.filter(|at| *at >= since && *at > created_at).min()
    }

    /// P8: checks what a console shows about nodes that wait.
    pub fn check_waits(&mut self, by: &Str, snapshot: &Snapshot, world: &World, now: Timestamp) {
        let live = snapshot.watches.iter().all(|watch| watch.health == WatchHealth::Live);
        let unexplained = snapshot.nodes.iter().find(|node| {
            let missing = node.state == NodeState::Creating && node.pod.is_none() && node.cause.is_none();
            missing && node.age(snapshot.at).is_some_and(|age| age > UNEXPLAINED)
        });
        if let Some(node) = unexplained.filter(|_| live) {
            self.report_violation("P8", now, format!("{by} does not say why {} has no pod", node.name));
        }
        let refused = snapshot.nodes.iter().filter(|node| {
            let kind = node.cause.as_ref().map(|cause| cause.kind);
            live && node.state == NodeState::Creating && kind.map(sign_of) == Some(CauseSign::CreationRefused)
        });
        let shown = self.absent.refused.entry(by.clone()).or_default();
        let refused: BTreeMap<Str, Timestamp> =
            refused.map(|node| (node.name.clone(), shown.get(&node.name).copied().unwrap_or(now))).collect();
        // A pod of the next template may be admitted, so a new template begins the grace anew.
        let template_since = self.absent.template_since;
        let too_long = |since: Timestamp| {
            now.since(since.max(template_since)) > REFUSED + self.slack + ROUNDED && since >= self.blind_until
        };
        let counted_unavailable = refused.iter().find(|(_, since)| too_long(**since)).map(|(name, _)| name.clone());
        *shown = refused;
        if let Some(name) = counted_unavailable {
            self.report_violation(
                "P4",
                now,
                format!("{by} shows for long that the pod on {name} is refused, and does not count it"),
            );
        }
        // Nodes that are next may wait for long while pods may not be deleted, or while a bad network loses answers.
        let may_go = live && snapshot.driver.is_you() && snapshot.phase == Phase::Running && self.network_is_fine;
        let blind = snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::ViewStale { .. }));
        let shown = self.absent.next.entry(by.clone()).or_default();
        if !may_go || blind || world.store().undeletable() > 2 {
            shown.clear();
            return;
        }
        let next = snapshot.nodes.iter().filter(|node| node.hold == Some(Hold::Next));
        *shown = next.map(|node| (node.name.clone(), shown.get(&node.name).copied().unwrap_or(now))).collect();
        let stuck = shown.iter().find(|(_, since)| now.since(**since) > NEXT).map(|(name, _)| name.clone());
        if let Some(name) = stuck {
            self.report_violation("P8", now, format!("{by} shows {name} as next for {NEXT:?}, and nothing happens"));
        }
    }
}
