//! Objects that come in thousands: pods, nodes, events. They are read lean, in place.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tokio::sync::watch;

use super::super::lean::{EventWire, Interner, NodeWire, PodWire, Wanted, text};
use super::super::watch::Subject;
use crate::engine::Str;
use crate::engine::event::{Event, WatchHealth, Watched};
use crate::engine::facts::NodeFact;
use crate::engine::labels::Labels;

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

    fn applied(&mut self, wire: PodWire<'_>) -> Result<Option<Event>, String> {
        Ok(Some(Event::Pod(Box::new(wire.fact(&mut self.interner)))))
    }

    fn deleted(&mut self, wire: PodWire<'_>) -> Option<Event> {
        Some(Event::PodGone(text(&wire.metadata.uid).into()))
    }

    fn listing(&mut self) -> Option<Event> {
        Some(Event::Listing(Watched::Pods))
    }

    fn listed(&mut self) -> Vec<Event> {
        vec![Event::Listed(Watched::Pods)]
    }

    fn health(&mut self, health: WatchHealth) -> Option<Event> {
        Some(Event::Watch(Watched::Pods, health))
    }

    fn heard(&mut self) -> Option<Event> {
        Some(Event::Heard(Watched::Pods))
    }
}

/// All nodes, without their heartbeats.
pub(crate) struct Nodes {
    wanted: watch::Receiver<Arc<Wanted>>,
    interner: Interner,
    /// A fingerprint of what the engine was told of each node, and its labels, which are shared with what it keeps.
    told: HashMap<Str, (u64, Labels)>,
}

impl Nodes {
    pub(crate) fn new(wanted: watch::Receiver<Arc<Wanted>>) -> Self {
        Self { wanted, interner: Interner::default(), told: HashMap::new() }
    }
}

/// The same for the same fact, within this process.
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

    fn applied(&mut self, wire: NodeWire<'_>) -> Result<Option<Event>, String> {
        let wanted = Arc::clone(&self.wanted.borrow());
        let mut fact = wire.fact(&wanted, &mut self.interner);
        let fingerprint = fingerprint_of(&fact);
        if let Some((told, labels)) = self.told.get(&fact.name) {
            if *told == fingerprint && *labels == fact.labels {
                return Ok(None);
            }
            if *labels == fact.labels {
                fact.labels = labels.clone();
            }
        }
        self.told.insert(fact.name.clone(), (fingerprint, fact.labels.clone()));
        Ok(Some(Event::Node(Box::new(fact))))
    }

    fn deleted(&mut self, wire: NodeWire<'_>) -> Option<Event> {
        let name = text(&wire.metadata.name);
        self.told.remove(name);
        Some(Event::NodeGone(name.into()))
    }

    fn listing(&mut self) -> Option<Event> {
        // In a listing everything is told, also what is known: what is not named is gone.
        self.told.clear();
        Some(Event::Listing(Watched::Nodes))
    }

    fn listed(&mut self) -> Vec<Event> {
        vec![Event::Listed(Watched::Nodes)]
    }

    fn health(&mut self, health: WatchHealth) -> Option<Event> {
        Some(Event::Watch(Watched::Nodes, health))
    }

    fn heard(&mut self) -> Option<Event> {
        Some(Event::Heard(Watched::Nodes))
    }
}

/// Events about the pods of the DaemonSet, or about the DaemonSet itself.
pub(crate) struct ClusterEvents {
    about: About,
    interner: Interner,
}

/// What events are about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum About {
    /// Pods whose name begins like this. The server cannot select by prefix, so it is done here, before anything is kept.
    PodsOf {
        /// `<daemonset>-`.
        prefix: String,
    },
    /// The DaemonSet. The health of this watch is not told: it comes and goes with the other one.
    TheDaemonSet,
}

impl ClusterEvents {
    pub(crate) fn of_pods(daemonset: &str) -> Self {
        Self { about: About::PodsOf { prefix: format!("{daemonset}-") }, interner: Interner::default() }
    }

    pub(crate) fn of_daemonset() -> Self {
        Self { about: About::TheDaemonSet, interner: Interner::default() }
    }

    fn told(&self, event: Event) -> Option<Event> {
        (self.about != About::TheDaemonSet).then_some(event)
    }
}

impl Subject for ClusterEvents {
    type Wire<'a> = EventWire<'a>;
    type Out = Event;

    fn version<'a>(wire: &'a EventWire<'_>) -> &'a str {
        wire.metadata.version()
    }

    fn applied(&mut self, wire: EventWire<'_>) -> Result<Option<Event>, String> {
        let ours = match &self.about {
            About::PodsOf { prefix } => text(&wire.involved_object.name).starts_with(prefix),
            About::TheDaemonSet => true,
        };
        Ok(ours.then(|| Event::Cluster(Box::new(wire.fact(&mut self.interner)))))
    }

    fn deleted(&mut self, _wire: EventWire<'_>) -> Option<Event> {
        // Events expire; what they told stays true.
        None
    }

    fn listing(&mut self) -> Option<Event> {
        self.told(Event::Listing(Watched::Events))
    }

    fn listed(&mut self) -> Vec<Event> {
        self.told(Event::Listed(Watched::Events)).into_iter().collect()
    }

    fn health(&mut self, health: WatchHealth) -> Option<Event> {
        self.told(Event::Watch(Watched::Events, health))
    }

    fn heard(&mut self) -> Option<Event> {
        self.told(Event::Heard(Watched::Events))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = include_str!("../lean/fixtures/node.json");

    fn apply(nodes: &mut Nodes, json: &str) -> Option<Event> {
        nodes.applied(serde_json::from_str(json).unwrap()).unwrap()
    }

    #[test]
    fn heartbeats_end_here_and_changes_do_not() {
        let wanted = watch::Sender::new(Arc::<Wanted>::default());
        let mut nodes = Nodes::new(wanted.subscribe());
        assert!(nodes.listing().is_some());
        assert!(apply(&mut nodes, NODE).is_some());
        let beat = NODE.replace("2026-11-20T08:59:00Z", "2026-11-20T09:04:00Z");
        assert_eq!(apply(&mut nodes, &beat), None);
        let uncordoned = beat.replace(r#""unschedulable":true,"#, "");
        assert!(matches!(apply(&mut nodes, &uncordoned), Some(Event::Node(node)) if !node.unschedulable));
        nodes.listing();
        assert!(apply(&mut nodes, &uncordoned).is_some(), "a listing names everything");
    }

    #[test]
    fn a_new_image_is_looked_for_from_the_next_report_on() {
        let wanted = watch::Sender::new(Arc::<Wanted>::default());
        let mut nodes = Nodes::new(wanted.subscribe());
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
