//! Objects of which there are thousands: pods, nodes, Events. They are read partially, in place.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use indexmap::IndexMap;
use tokio::sync::watch;

use super::super::partial::{EventWire, Interner, NodeWire, PodWire, Wanted, text};
use super::super::watch::{NotUnderstood, OnUnreadable, Subject};
use crate::engine::model::Str;
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::facts::NodeFact;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::clock_skew;
use crate::engine::rules::warm_set::set_names_begin;

/// The pods under the DaemonSet's selector.
#[derive(Default)]
pub(crate) struct Pods {
    interner: Interner,
}

impl Subject for Pods {
    type Wire<'a> = PodWire<'a>;
    type Out = Event;

    fn version<'a>(wire: &'a PodWire<'_>) -> &'a str {
        text(&wire.metadata.resource_version)
    }

    fn applied(&mut self, wire: PodWire<'_>) -> Result<Option<Event>, NotUnderstood> {
        Ok(Some(Event::Pod(Box::new(wire.fact(&mut self.interner)))))
    }

    fn deleted(&mut self, wire: PodWire<'_>) -> Option<Event> {
        let version = Self::version(&wire).parse().ok();
        Some(Event::PodGone(text(&wire.metadata.uid).into(), version))
    }

    fn listing(&mut self) -> Option<Event> {
        Some(Event::Listing(Watched::Pods))
    }

    fn listed(&mut self, version: Option<u64>) -> Vec<Event> {
        vec![Event::Listed(Watched::Pods, version)]
    }

    fn health(&mut self, health: WatchHealth) -> Option<Event> {
        Some(Event::Watch(Watched::Pods, health))
    }

    fn heard(&mut self, version: Option<u64>) -> Option<Event> {
        Some(Event::Heard(Watched::Pods, version))
    }
}

/// The pods for pre-warming, for any DaemonSet of the namespace.
#[derive(Default)]
pub(crate) struct WatchedWarmPods {
    interner: Interner,
}

impl Subject for WatchedWarmPods {
    type Wire<'a> = PodWire<'a>;
    type Out = Event;

    fn version<'a>(wire: &'a PodWire<'_>) -> &'a str {
        text(&wire.metadata.resource_version)
    }

    fn applied(&mut self, wire: PodWire<'_>) -> Result<Option<Event>, NotUnderstood> {
        Ok(wire.warm_fact(&mut self.interner).map(|fact| Event::WarmPod(Box::new(fact))))
    }

    fn deleted(&mut self, wire: PodWire<'_>) -> Option<Event> {
        let version = text(&wire.metadata.resource_version).parse().ok();
        Some(Event::WarmPodGone(text(&wire.metadata.uid).into(), version))
    }

    fn listing(&mut self) -> Option<Event> {
        Some(Event::Listing(Watched::WarmPods))
    }

    fn listed(&mut self, version: Option<u64>) -> Vec<Event> {
        vec![Event::Listed(Watched::WarmPods, version)]
    }

    fn health(&mut self, health: WatchHealth) -> Option<Event> {
        Some(Event::Watch(Watched::WarmPods, health))
    }

    fn heard(&mut self, version: Option<u64>) -> Option<Event> {
        Some(Event::Heard(Watched::WarmPods, version))
    }
}

/// All nodes, without their heartbeats.
pub(crate) struct Nodes {
    wanted: watch::Receiver<Arc<Wanted>>,
    interner: Interner,
    last_sent: IndexMap<Str, LastSent>,
    server_now: ServerNow,
    /// During a listing, objects show the state of nodes and no recent change.
    listing: bool,
}

/// The last fact that was sent about a node, and the heartbeat that came with it.
struct LastSent {
    fingerprint: u64,
    clock_skew_millis: Option<i64>,
    heartbeat_at: Option<Timestamp>,
}

/// The present time of the API server's clock, once it is measured.
pub(crate) type ServerNow = Box<dyn Fn() -> Option<Timestamp> + Send>;

impl Nodes {
    pub(crate) fn new(wanted: watch::Receiver<Arc<Wanted>>, server_now: ServerNow) -> Self {
        Self { wanted, interner: Interner::default(), last_sent: IndexMap::default(), server_now, listing: false }
    }

    /// The deviation of the node's clock, from the time in `managedFields` of the write that brought its heartbeat. Without
    /// that time, a heartbeat that arrives now counts as written now.
    fn clock_skew(&self, wire: &NodeWire<'_>, known: Option<&LastSent>) -> Option<i64> {
        let before = known.and_then(|known| known.clock_skew_millis);
        let heartbeat_at = wire.heartbeat_at()?;
        let fresh = || !self.listing && known.is_some_and(|known| known.heartbeat_at != Some(heartbeat_at));
        let written_at = wire.written_at().or_else(|| if fresh() { (self.server_now)() } else { None });
        written_at.map(|written_at| clock_skew(heartbeat_at, written_at, before)).or(before)
    }
}

/// A hash that is equal for equal facts within this process.
fn fingerprint_of(fact: &NodeFact) -> u64 {
    let mut hasher = DefaultHasher::new();
    fact.hash(&mut hasher);
    hasher.finish()
}

impl Subject for Nodes {
    type Wire<'a> = NodeWire<'a>;
    type Out = Event;

    fn version<'a>(wire: &'a NodeWire<'_>) -> &'a str {
        text(&wire.metadata.resource_version)
    }

    fn applied(&mut self, wire: NodeWire<'_>) -> Result<Option<Event>, NotUnderstood> {
        let wanted = Arc::clone(&self.wanted.borrow());
        let mut fact = wire.fact(&wanted, &mut self.interner);
        let heartbeat_at = wire.heartbeat_at();
        let clock_skew_millis = self.clock_skew(&wire, self.last_sent.get(&fact.name));
        fact.clock_skew_millis = clock_skew_millis;
        let fingerprint = fingerprint_of(&fact);
        if let Some(last) = self.last_sent.get_mut(&fact.name) {
            last.heartbeat_at = heartbeat_at;
            if last.fingerprint == fingerprint {
                return Ok(None);
            }
        }
        // The version is set after the comparison: a heartbeat changes only the version, and is not sent.
        fact.version = Self::version(&wire).parse().ok();
        let sent = LastSent { fingerprint, clock_skew_millis, heartbeat_at };
        self.last_sent.insert(fact.name.clone(), sent);
        Ok(Some(Event::Node(Box::new(fact))))
    }

    fn deleted(&mut self, wire: NodeWire<'_>) -> Option<Event> {
        let name = text(&wire.metadata.name);
        self.last_sent.swap_remove(name);
        Some(Event::NodeGone(name.into()))
    }

    fn listing(&mut self) -> Option<Event> {
        // During a listing everything is sent, also unchanged facts, because a node that is not named is gone.
        self.last_sent = IndexMap::default();
        self.listing = true;
        Some(Event::Listing(Watched::Nodes))
    }

    fn listed(&mut self, version: Option<u64>) -> Vec<Event> {
        self.listing = false;
        vec![Event::Listed(Watched::Nodes, version)]
    }

    fn health(&mut self, health: WatchHealth) -> Option<Event> {
        Some(Event::Watch(Watched::Nodes, health))
    }

    fn heard(&mut self, version: Option<u64>) -> Option<Event> {
        Some(Event::Heard(Watched::Nodes, version))
    }
}

/// Events about the pods of the DaemonSet, or about the DaemonSet itself.
pub(crate) struct ClusterEvents {
    about: EventsAbout,
    interner: Interner,
}

/// The objects of the watched Events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EventsAbout {
    /// Pods whose names begin with one of the prefixes. The server cannot select by prefix, so the selection is made here,
    /// before anything is kept.
    PodsOf {
        /// `<daemonset>-`, and the prefix of the names of its StatefulSets for pre-warming.
        prefixes: [String; 2],
    },
    /// The DaemonSet. The health of this watch is not sent, because it equals that of the watch of the pods' Events.
    TheDaemonSet,
}

impl ClusterEvents {
    pub(crate) fn of_pods(daemonset: &str) -> Self {
        let prefixes = [format!("{daemonset}-"), set_names_begin(daemonset)];
        Self { about: EventsAbout::PodsOf { prefixes }, interner: Interner::default() }
    }

    pub(crate) fn of_daemonset() -> Self {
        Self { about: EventsAbout::TheDaemonSet, interner: Interner::default() }
    }

    fn unless_of_daemonset(&self, event: Event) -> Option<Event> {
        (self.about != EventsAbout::TheDaemonSet).then_some(event)
    }
}

impl Subject for ClusterEvents {
    type Wire<'a> = EventWire<'a>;
    type Out = Event;
    // An Event only adds details; the pod itself shows everything that an unreadable Event leaves out.
    const ON_UNREADABLE: OnUnreadable = OnUnreadable::Skip;

    fn version<'a>(wire: &'a EventWire<'_>) -> &'a str {
        wire.metadata.version()
    }

    fn applied(&mut self, wire: EventWire<'_>) -> Result<Option<Event>, NotUnderstood> {
        let ours = match &self.about {
            EventsAbout::PodsOf { prefixes } => {
                let name = text(&wire.involved_object.name);
                prefixes.iter().any(|prefix| name.starts_with(prefix))
            }
            EventsAbout::TheDaemonSet => true,
        };
        Ok(ours.then(|| Event::Cluster(Box::new(wire.fact(&mut self.interner)))))
    }

    fn deleted(&mut self, _wire: EventWire<'_>) -> Option<Event> {
        // Events expire. Their expiry has no meaning for the reported facts.
        None
    }

    fn listing(&mut self) -> Option<Event> {
        self.unless_of_daemonset(Event::Listing(Watched::Events))
    }

    fn listed(&mut self, version: Option<u64>) -> Vec<Event> {
        self.unless_of_daemonset(Event::Listed(Watched::Events, version)).into_iter().collect()
    }

    fn skipped(&mut self, why: Str) -> Option<Event> {
        Some(Event::Skipped(Watched::Events, why))
    }

    fn health(&mut self, health: WatchHealth) -> Option<Event> {
        self.unless_of_daemonset(Event::Watch(Watched::Events, health))
    }

    fn heard(&mut self, version: Option<u64>) -> Option<Event> {
        self.unless_of_daemonset(Event::Heard(Watched::Events, version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = include_str!("../partial/fixtures/node.json");

    const HEARTBEAT: &str = "2026-11-20T08:59:00Z";

    /// Told by a server whose clock shows this.
    fn nodes(wanted: &watch::Sender<Arc<Wanted>>, server_now: &'static str) -> Nodes {
        Nodes::new(wanted.subscribe(), Box::new(move || Timestamp::parse(server_now).ok()))
    }

    fn skew_of(event: Option<Event>) -> Option<i64> {
        match event {
            Some(Event::Node(node)) => node.clock_skew_millis,
            other => panic!("not a node: {other:?}"),
        }
    }

    fn apply(nodes: &mut Nodes, json: &str) -> Option<Event> {
        nodes.applied(serde_json::from_str(json).unwrap()).unwrap()
    }

    #[test]
    fn heartbeats_end_here_and_changes_do_not() {
        let wanted = watch::Sender::new(Arc::<Wanted>::default());
        let mut nodes = nodes(&wanted, HEARTBEAT);
        assert!(nodes.listing().is_some());
        assert!(apply(&mut nodes, NODE).is_some());
        let beat = NODE.replace("2026-11-20T08:59:00Z", "2026-11-20T09:04:00Z");
        assert_eq!(apply(&mut nodes, &beat), None);
        let uncordoned = beat.replace(r#""unschedulable":true,"#, "");
        assert!(matches!(apply(&mut nodes, &uncordoned), Some(Event::Node(node)) if !node.unschedulable));
        nodes.listing();
        assert!(apply(&mut nodes, &uncordoned).is_some(), "a listing names everything");
    }

    /// The fixture with this time as its kubelet's last write.
    fn written_at(at: &str) -> String {
        let managed = format!(
            r#""managedFields": [
                {{"manager": "kubectl-label", "operation": "Update", "apiVersion": "v1", "time": "2026-11-20T09:30:00Z",
                  "fieldsType": "FieldsV1", "fieldsV1": {{"f:metadata": {{"f:labels": {{"f:factory": {{}}}}}}}}}},
                {{"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
                  "fieldsType": "FieldsV1", "fieldsV1": {{}}}},
                {{"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": "{at}",
                  "fieldsType": "FieldsV1", "fieldsV1": {{"f:status": {{}}}}, "subresource": "status"}}]"#
        );
        NODE.replace(r#""managedFields":[]"#, &managed)
    }

    #[test]
    fn what_the_kubelet_and_the_server_say_of_one_write_tells_the_nodes_clock() {
        let wanted = watch::Sender::new(Arc::<Wanted>::default());
        let skew = |written: &str| {
            let mut nodes = nodes(&wanted, HEARTBEAT);
            nodes.listing();
            skew_of(apply(&mut nodes, &written_at(written)))
        };
        assert_eq!(skew("2026-11-20T08:54:00Z"), Some(300_000), "it dates five minutes ahead");
        assert_eq!(skew("2026-11-20T09:00:00Z"), Some(-60_000));
        assert_eq!(skew("2026-11-20T08:59:02Z"), Some(0), "whole seconds and a slow write are no skew");
        assert_eq!(skew("never"), None);
        // A node that has just registered wrote its status together with itself.
        let managed = r#""managedFields":[{"manager":"kubelet","time":"2026-11-20T08:00:00Z","fieldsV1":{}}]"#;
        let registered = NODE.replace(r#""managedFields":[]"#, managed).replace("2026-01-20T07:59:50Z", HEARTBEAT);
        let mut nodes = nodes(&wanted, HEARTBEAT);
        nodes.listing();
        assert_eq!(skew_of(apply(&mut nodes, &registered)), Some(0));
    }

    #[test]
    fn a_heartbeat_of_a_wrong_clock_is_a_heartbeat() {
        let wanted = watch::Sender::new(Arc::<Wanted>::default());
        let mut nodes = nodes(&wanted, HEARTBEAT);
        nodes.listing();
        assert_eq!(skew_of(apply(&mut nodes, &written_at("2026-11-20T08:54:00Z"))), Some(300_000));
        nodes.listed(None);
        for (heartbeat, written) in [("09:04:00", "08:59:01"), ("09:09:00", "09:03:59"), ("09:14:00", "09:09:02")] {
            let at = |time: &str| format!("2026-11-20T{time}Z");
            let beat = written_at(&at(written)).replace(HEARTBEAT, &at(heartbeat));
            assert_eq!(apply(&mut nodes, &beat), None, "a second more or less is nothing new");
        }
        let set_right = written_at("2026-11-20T09:20:00Z").replace(HEARTBEAT, "2026-11-20T09:20:00Z");
        assert_eq!(skew_of(apply(&mut nodes, &set_right)), Some(0));
    }

    #[test]
    fn without_managed_fields_only_a_heartbeat_that_comes_now_tells() {
        let wanted = watch::Sender::new(Arc::<Wanted>::default());
        let mut nodes = nodes(&wanted, "2026-11-20T09:00:00Z");
        nodes.listing();
        assert_eq!(skew_of(apply(&mut nodes, NODE)), None, "it may be minutes old");
        nodes.listed(None);
        let uncordoned = NODE.replace(r#""unschedulable":true,"#, "");
        assert_eq!(skew_of(apply(&mut nodes, &uncordoned)), None, "a change that is no heartbeat");
        let beat = uncordoned.replace(HEARTBEAT, "2026-11-20T09:05:00Z");
        assert_eq!(skew_of(apply(&mut nodes, &beat)), Some(300_000));
    }

    #[test]
    fn a_new_image_is_looked_for_from_the_next_report_on() {
        let wanted = watch::Sender::new(Arc::<Wanted>::default());
        let mut nodes = nodes(&wanted, HEARTBEAT);
        apply(&mut nodes, NODE);
        wanted.send_modify(|wanted| {
            Arc::make_mut(wanted).add([&Str::from("registry.example/agent:v2")]);
        });
        assert!(matches!(apply(&mut nodes, NODE), Some(Event::Node(node)) if node.images.len() == 2));
    }

    #[test]
    fn events_of_other_pods_are_not_ours() {
        let mut events = ClusterEvents::of_pods("agent");
        let mut of = |pod: &str| {
            let json = format!(r#"{{"involvedObject":{{"name":"{pod}","uid":"u"}},"reason":"Pulled"}}"#);
            events.applied(serde_json::from_str(&json).unwrap()).unwrap()
        };
        assert!(of("agent-x7k2p").is_some());
        assert!(of("agents-x7k2p").is_none());
    }
}
