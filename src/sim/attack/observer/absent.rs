//! P4: no serving pod is replaced while another node's pod is refused, or missing for long. P8: what waits says why, and
//! waits for nothing that it could do.

use std::collections::BTreeMap;
use std::time::Duration;

use super::context::{Broken, DeletionContext};
use super::{Observer, ROUNDED};
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Body;

/// A refused pod has failed by then: what a missing image is given.
const REFUSED: Duration = Duration::from_secs(5);
/// A pod that is missing for so long counts as a failure, whatever is known of it.
const MISSING: Duration = Duration::from_secs(60);
/// As long as nothing need be said of a pod that is missing.
const UNEXPLAINED: Duration = Duration::from_secs(30);
/// Who is next, and sees all it needs, goes within that time: a deletion whose answer was lost is waited for 30 s.
const NEXT: Duration = Duration::from_secs(100);

/// By console: nodes that it shows in some way, since when without a break.
type ShownSince = BTreeMap<Str, BTreeMap<Str, Timestamp>>;

/// What is known of pods that are missing, and of whoever has to see it.
#[derive(Debug, Default)]
pub(super) struct Absent {
    /// When the newest pod was created.
    newest_pod_at: Timestamp,
    template_since: Timestamp,
    /// Who holds the lease, and since when.
    holder: Option<(Str, Timestamp)>,
    /// By console: nodes that it shows as next, since when without a break.
    next: ShownSince,
    /// By console: nodes that it shows as being created and refused, since when without a break.
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
    /// P4: the nodes whose pod was refused or missing for so long that whoever drives must have known.
    pub(super) fn check_absent(&self, context: &DeletionContext<'_>, forward: &[&Intent], world: &World) -> Broken {
        let untouched = forward.iter().all(|intent| intent.acknowledged_halt == 0 && intent.target.is_some());
        if !untouched || !self.serves_for_sure(context.pod, context.at) {
            return None;
        }
        let looks_since = self.absent.holder.as_ref().map_or(context.at, |(_, since)| *since).max(self.blind_until);
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

    /// When the controller first said, from `since` on, that it could not create a pod, if none was created after that.
    fn refused_since(&self, world: &World, since: Timestamp) -> Option<Timestamp> {
        let said = world.store().list_in(Kind::Event, &self.namespace).filter_map(|object| match &object.body {
            Body::Event(event) if &*event.reason == "FailedCreate" => Some(event.last_at),
            _ => None,
        });
        let created_at = self.absent.newest_pod_at + ROUNDED;
        said.filter(|at| *at >= since && *at > created_at).min()
    }

    /// P8: what a console shows of nodes that wait.
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
            let known = [CauseKind::AdmissionRefused, CauseKind::QuotaExceeded, CauseKind::CreationForbidden];
            live && node.state == NodeState::Creating && kind.is_some_and(|kind| known.contains(&kind))
        });
        let shown = self.absent.refused.entry(by.clone()).or_default();
        let refused: BTreeMap<Str, Timestamp> =
            refused.map(|node| (node.name.clone(), shown.get(&node.name).copied().unwrap_or(now))).collect();
        // What is refused of one template may be admitted of the next: with the template the grace begins anew.
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
        // Where no pod may be deleted, everything waits for that; where the network fails, for its answers.
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
