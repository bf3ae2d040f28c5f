//! Single objects: the DaemonSet, its revisions, its Lease. They are read whole.

use std::sync::Arc;

use serde_json::Value;

use super::super::last_observed::LastObserved;
use super::super::partial::{lease_fact, revision_fact};
use super::super::watch::{NotUnderstood, Subject};
use super::super::workload::SharedWorkload;
use crate::engine::model::Str;
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::version::is_older;

fn version(object: &Value) -> &str {
    text(&object["metadata"]["resourceVersion"])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether any object was named since the listing began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SeenSinceList {
    Nothing,
    Something,
}

/// The version at which a single object was seen last, with its uid.
#[derive(Default)]
struct SeenVersion(Option<(Str, Str)>);

impl SeenVersion {
    fn is(&mut self, object: &Value) {
        self.0 = Some((text(&object["metadata"]["uid"]).into(), version(object).into()));
    }

    /// Whether the same object was seen at a newer version.
    fn is_newer_than(&self, object: &Value) -> bool {
        let same = |uid: &Str| !uid.is_empty() && **uid == *text(&object["metadata"]["uid"]);
        self.0.as_ref().is_some_and(|(uid, seen)| same(uid) && is_older(version(object), seen))
    }
}

/// The DaemonSet itself.
pub(crate) struct TheDaemonSet {
    shared: Arc<LastObserved>,
    workload: SharedWorkload,
    seen_since_list: SeenSinceList,
    seen: SeenVersion,
}

impl TheDaemonSet {
    pub(crate) fn new(shared: Arc<LastObserved>, workload: SharedWorkload) -> Self {
        Self { shared, workload, seen_since_list: SeenSinceList::Nothing, seen: SeenVersion::default() }
    }
}

impl Subject for TheDaemonSet {
    type Wire<'a> = Value;
    type Out = Event;

    fn version(wire: &Value) -> &str {
        version(wire)
    }

    fn went_back(&self, wire: &Value) -> bool {
        self.seen.is_newer_than(wire)
    }

    fn forget_versions(&mut self) {
        self.seen = SeenVersion::default();
    }

    fn applied(&mut self, wire: Value) -> Result<Option<Event>, NotUnderstood> {
        self.seen.is(&wire);
        let key = format!("{}/{}", text(&wire["metadata"]["namespace"]), text(&wire["metadata"]["name"]));
        let fact = self.workload.fact(wire).map_err(|why| NotUnderstood { key, why })?;
        self.seen_since_list = SeenSinceList::Something;
        self.shared.daemonset_is(&fact);
        Ok(Some(Event::DaemonSet(Box::new(fact))))
    }

    fn deleted(&mut self, wire: Value) -> Option<Event> {
        self.shared.daemonset.send_replace(None);
        Some(Event::DaemonSetGone(version(&wire).parse().ok()))
    }

    fn listing(&mut self) -> Option<Event> {
        self.seen_since_list = SeenSinceList::Nothing;
        Some(Event::Listing(Watched::DaemonSet))
    }

    fn listed(&mut self, version: Option<u64>) -> Vec<Event> {
        if self.seen_since_list == SeenSinceList::Nothing {
            self.shared.daemonset.send_replace(None);
        }
        vec![Event::Listed(Watched::DaemonSet, version)]
    }

    fn health(&mut self, health: WatchHealth) -> Option<Event> {
        Some(Event::Watch(Watched::DaemonSet, health))
    }

    fn heard(&mut self, version: Option<u64>) -> Option<Event> {
        Some(Event::Heard(Watched::DaemonSet, version))
    }
}

/// Its ControllerRevisions.
pub(crate) struct Revisions {
    shared: Arc<LastObserved>,
}

impl Revisions {
    pub(crate) fn new(shared: Arc<LastObserved>) -> Self {
        Self { shared }
    }
}

impl Subject for Revisions {
    type Wire<'a> = Value;
    type Out = Event;

    fn version(wire: &Value) -> &str {
        version(wire)
    }

    fn applied(&mut self, wire: Value) -> Result<Option<Event>, NotUnderstood> {
        let fact = revision_fact(wire);
        self.shared.want(&fact.template);
        Ok(Some(Event::Revision(Box::new(fact))))
    }

    fn deleted(&mut self, wire: Value) -> Option<Event> {
        wire["metadata"]["name"].as_str().map(|name| Event::RevisionGone(Str::from(name)))
    }

    fn listing(&mut self) -> Option<Event> {
        Some(Event::Listing(Watched::Revisions))
    }

    fn listed(&mut self, version: Option<u64>) -> Vec<Event> {
        vec![Event::Listed(Watched::Revisions, version)]
    }

    fn health(&mut self, health: WatchHealth) -> Option<Event> {
        Some(Event::Watch(Watched::Revisions, health))
    }

    fn heard(&mut self, version: Option<u64>) -> Option<Event> {
        Some(Event::Heard(Watched::Revisions, version))
    }
}

/// The Lease with lock and record.
pub(crate) struct LeaseSubject {
    shared: Arc<LastObserved>,
    seen_since_list: SeenSinceList,
    seen: SeenVersion,
}

impl LeaseSubject {
    pub(crate) fn new(shared: Arc<LastObserved>) -> Self {
        Self { shared, seen_since_list: SeenSinceList::Nothing, seen: SeenVersion::default() }
    }
}

impl Subject for LeaseSubject {
    type Wire<'a> = Value;
    type Out = Event;

    fn version(wire: &Value) -> &str {
        version(wire)
    }

    fn went_back(&self, wire: &Value) -> bool {
        self.seen.is_newer_than(wire)
    }

    fn forget_versions(&mut self) {
        self.seen = SeenVersion::default();
    }

    fn applied(&mut self, wire: Value) -> Result<Option<Event>, NotUnderstood> {
        self.seen_since_list = SeenSinceList::Something;
        self.seen.is(&wire);
        let fact = lease_fact(&wire);
        self.shared.lease_is(Some(wire));
        Ok(Some(Event::Lease(Box::new(fact))))
    }

    fn deleted(&mut self, wire: Value) -> Option<Event> {
        self.shared.lease_is(None);
        Some(Event::LeaseGone(version(&wire).parse().ok()))
    }

    fn listing(&mut self) -> Option<Event> {
        self.seen_since_list = SeenSinceList::Nothing;
        Some(Event::Listing(Watched::Lease))
    }

    fn listed(&mut self, version: Option<u64>) -> Vec<Event> {
        if self.seen_since_list == SeenSinceList::Nothing {
            self.shared.lease_is(None);
        }
        vec![Event::Listed(Watched::Lease, version)]
    }

    fn health(&mut self, health: WatchHealth) -> Option<Event> {
        Some(Event::Watch(Watched::Lease, health))
    }

    fn heard(&mut self, version: Option<u64>) -> Option<Event> {
        Some(Event::Heard(Watched::Lease, version))
    }
}
