//! The watches of all DaemonSets that the user may see, of their revisions and starting pods, and of rolldeck's Leases.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::http::{Call, Http, with_query};
use super::partial::{
    EventWire, FleetRevisionWire, FleetWire, Interner, PartialDaemonSet, PartialRevision, PodWire, lease_fact, text,
};
use super::watch::{NotUnderstood, OnUnreadable, Subject, WatchSource, watch as follow, watch_with_first_page};
use super::workload::Workload;
use crate::engine::model::Str;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::facts::LeaseFact;
use crate::engine::model::record::MANAGED_BY;
use crate::engine::model::starting_pod::StartingPodFact;

/// Pods that a kubelet has to start. Their number is limited by the kubelets, however many pods wait for a node.
const STARTING: &str = "spec.nodeName!=,status.phase=Pending";
/// The Events with which kubelets report the beginning of a pull.
const PULLS: &str = "involvedObject.kind=Pod,reason=Pulling";

/// How often it is asked whether the DaemonSets of all namespaces may be listed by now.
const ASK_EVERY: Duration = Duration::from_secs(60);
/// How long the answer to that may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// A change in a fleet.
#[derive(Clone, PartialEq, Debug)]
pub enum FleetEvent {
    /// A listing of the DaemonSets begins. A DaemonSet that the listing does not name is gone.
    DaemonSetsListing,
    /// The listing of the DaemonSets is complete.
    DaemonSetsListed,
    /// The present content of a DaemonSet.
    DaemonSet(Box<PartialDaemonSet>),
    /// The DaemonSet is gone: namespace and name.
    DaemonSetGone(Str, Str),
    /// The health of the watch of DaemonSets.
    DaemonSetsHealth(WatchHealth),
    /// DaemonSets cannot be seen in all namespaces, so only this one is shown; the second text is the server's message.
    OnlyNamespace(Str, Str),
    /// The DaemonSets that were listed are those of all namespaces that were asked for.
    AllNamespaces,
    /// A listing of our Leases begins.
    LeasesListing,
    /// The listing of our Leases is complete.
    LeasesListed,
    /// The present content of a Lease of rolldeck: namespace, name.
    Lease(Str, Str, Box<LeaseFact>),
    /// A Lease of ours is gone: namespace, name.
    LeaseGone(Str, Str),
    /// The health of the watch of Leases.
    LeasesHealth(WatchHealth),
    /// A listing of the ControllerRevisions begins.
    RevisionsListing,
    /// The listing of the ControllerRevisions is complete.
    RevisionsListed,
    /// The present content of a revision of a DaemonSet: namespace, name.
    Revision(Str, Str, Box<PartialRevision>),
    /// A revision is gone: namespace, name.
    RevisionGone(Str, Str),
    /// The health of the watch of ControllerRevisions.
    RevisionsHealth(WatchHealth),
    /// A listing of the starting pods begins.
    StartingPodsListing,
    /// The listing of the starting pods is complete.
    StartingPodsListed,
    /// A pod of a DaemonSet, or a pod that pre-warms its images, is bound and in phase Pending.
    StartingPod(Box<StartingPodFact>),
    /// A pod is no longer starting, because it runs, has ended or is gone: its uid.
    StartingPodGone(Str),
    /// The health of the watch of starting pods.
    StartingPodsHealth(WatchHealth),
    /// A kubelet begins to pull an image for the pod with this uid. Of earlier pulls only one page of Events is reported.
    PullBegun(Str),
}

/// The watches of a fleet; they end when this value is dropped.
#[derive(Debug)]
pub struct FleetWatches(JoinHandle<()>);

impl Drop for FleetWatches {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(super) fn watch(
    http: Http,
    workload: &dyn Workload,
    namespace: Option<&str>,
    fallback: &Arc<str>,
    out: mpsc::Sender<FleetEvent>,
) -> FleetWatches {
    let scope = |namespace: Option<&str>| FleetContext {
        daemonsets: WatchSource { path: workload.collection(namespace), labels: None, fields: None },
        leases: WatchSource {
            path: match namespace {
                Some(namespace) => format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"),
                None => "/apis/coordination.k8s.io/v1/leases".to_owned(),
            },
            labels: Some(format!("{}={}", MANAGED_BY.0, MANAGED_BY.1)),
            fields: None,
        },
        revisions: WatchSource {
            path: match namespace {
                Some(namespace) => format!("/apis/apps/v1/namespaces/{namespace}/controllerrevisions"),
                None => "/apis/apps/v1/controllerrevisions".to_owned(),
            },
            labels: None,
            fields: None,
        },
        starting_pods: WatchSource {
            path: match namespace {
                Some(namespace) => format!("/api/v1/namespaces/{namespace}/pods"),
                None => "/api/v1/pods".to_owned(),
            },
            labels: None,
            fields: Some(STARTING.to_owned()),
        },
        pulls: WatchSource {
            path: match namespace {
                Some(namespace) => format!("/api/v1/namespaces/{namespace}/events"),
                None => "/api/v1/events".to_owned(),
            },
            labels: None,
            fields: Some(PULLS.to_owned()),
        },
    };
    let narrow = namespace.is_none().then(|| (fallback.clone(), scope(Some(fallback))));
    FleetWatches(tokio::spawn(run(http, scope(namespace), narrow, ASK_EVERY, out)))
}

/// The sources of the watches of a fleet.
#[derive(Clone)]
struct FleetContext {
    daemonsets: WatchSource,
    leases: WatchSource,
    revisions: WatchSource,
    starting_pods: WatchSource,
    pulls: WatchSource,
}

impl FleetContext {
    /// Starts the watches of all kinds. `narrowing` receives the refusal if the DaemonSets may not be listed.
    fn spawn(
        &self,
        tasks: &mut JoinSet<()>,
        http: &Http,
        narrowing: Option<mpsc::Sender<Str>>,
        out: &mpsc::Sender<FleetEvent>,
    ) {
        let Self { daemonsets, leases, revisions, starting_pods, pulls } = self.clone();
        let subject = FleetDaemonSets { narrowing, ..FleetDaemonSets::default() };
        tasks.spawn(follow(http.clone(), daemonsets, subject, out.clone()));
        tasks.spawn(follow(http.clone(), leases, FleetLeases, out.clone()));
        tasks.spawn(follow(http.clone(), revisions, FleetRevisions, out.clone()));
        tasks.spawn(follow(http.clone(), starting_pods, FleetStartingPods::default(), out.clone()));
        tasks.spawn(watch_with_first_page(http.clone(), pulls, FleetPullEvents, out.clone()));
    }
}

/// Watches `wide`. If that is forbidden from the beginning, watches `narrow` until `wide` is permitted, which is asked every `ask_every`.
async fn run(
    http: Http,
    wide: FleetContext,
    narrow: Option<(Str, FleetContext)>,
    ask_every: Duration,
    out: mpsc::Sender<FleetEvent>,
) {
    let mut tasks = JoinSet::new();
    let Some((namespace, narrow)) = narrow else {
        wide.spawn(&mut tasks, &http, None, &out);
        while tasks.join_next().await.is_some() {}
        return;
    };
    loop {
        let (refused, mut refusals) = mpsc::channel::<Str>(1);
        wide.spawn(&mut tasks, &http, Some(refused), &out);
        let why = tokio::select! {
            why = refusals.recv() => why.unwrap_or_default(),
            () = out.closed() => return,
        };
        tasks.shutdown().await;
        if out.send(FleetEvent::OnlyNamespace(namespace.clone(), why)).await.is_err() {
            return;
        }
        narrow.spawn(&mut tasks, &http, None, &out);
        tokio::select! {
            () = until_permitted(&http, &wide.daemonsets, ask_every) => {}
            () = out.closed() => return,
        }
        tasks.shutdown().await;
    }
}

/// Asks every `ask_every` for one object of `source`, until that is answered.
async fn until_permitted(http: &Http, source: &WatchSource, ask_every: Duration) {
    let path = with_query(&source.path, &[("limit", "1")]);
    loop {
        tokio::time::sleep(ask_every).await;
        if http.call(Call::get(&path, ANSWERS_WITHIN)).await.is_ok() {
            return;
        }
    }
}

#[derive(Default)]
struct FleetDaemonSets {
    /// Receives the refusal if there is a narrower source to watch.
    narrowing: Option<mpsc::Sender<Str>>,
    /// The DaemonSets were listed once. A refusal after that is one of an API server that starts, or rights were taken away: the watch tries again
    /// by itself.
    was_listed: bool,
}

impl Subject for FleetDaemonSets {
    type Wire<'a> = FleetWire<'a>;
    type Out = FleetEvent;

    fn version<'a>(wire: &'a FleetWire<'_>) -> &'a str {
        text(&wire.metadata.resource_version)
    }

    fn applied(&mut self, wire: FleetWire<'_>) -> Result<Option<FleetEvent>, NotUnderstood> {
        Ok(Some(FleetEvent::DaemonSet(Box::new(wire.partial()))))
    }

    fn deleted(&mut self, wire: FleetWire<'_>) -> Option<FleetEvent> {
        let (namespace, name) = wire.key();
        Some(FleetEvent::DaemonSetGone(namespace, name))
    }

    fn listing(&mut self) -> Option<FleetEvent> {
        Some(FleetEvent::DaemonSetsListing)
    }

    fn listed(&mut self, _version: Option<u64>) -> Vec<FleetEvent> {
        self.was_listed = true;
        // While one namespace is watched instead of all, there is nothing narrower.
        match self.narrowing {
            Some(_) => vec![FleetEvent::DaemonSetsListed, FleetEvent::AllNamespaces],
            None => vec![FleetEvent::DaemonSetsListed],
        }
    }

    fn health(&mut self, health: WatchHealth) -> Option<FleetEvent> {
        if let (Some(narrowing), WatchHealth::Forbidden { why }, false) = (&self.narrowing, &health, self.was_listed) {
            // One refusal is enough, so the channel has room for one.
            let _ = narrowing.try_send(why.clone());
            return None;
        }
        Some(FleetEvent::DaemonSetsHealth(health))
    }
}

struct FleetLeases;

impl Subject for FleetLeases {
    type Wire<'a> = serde_json::Value;
    type Out = FleetEvent;

    fn version(wire: &serde_json::Value) -> &str {
        wire["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    }

    fn applied(&mut self, wire: serde_json::Value) -> Result<Option<FleetEvent>, NotUnderstood> {
        let (namespace, name) = key(&wire);
        Ok(Some(FleetEvent::Lease(namespace, name, Box::new(lease_fact(&wire)))))
    }

    fn deleted(&mut self, wire: serde_json::Value) -> Option<FleetEvent> {
        let (namespace, name) = key(&wire);
        Some(FleetEvent::LeaseGone(namespace, name))
    }

    fn listing(&mut self) -> Option<FleetEvent> {
        Some(FleetEvent::LeasesListing)
    }

    fn listed(&mut self, _version: Option<u64>) -> Vec<FleetEvent> {
        vec![FleetEvent::LeasesListed]
    }

    fn health(&mut self, health: WatchHealth) -> Option<FleetEvent> {
        Some(FleetEvent::LeasesHealth(health))
    }
}

struct FleetRevisions;

impl Subject for FleetRevisions {
    type Wire<'a> = FleetRevisionWire<'a>;
    type Out = FleetEvent;

    fn version<'a>(wire: &'a FleetRevisionWire<'_>) -> &'a str {
        text(&wire.metadata.resource_version)
    }

    fn applied(&mut self, wire: FleetRevisionWire<'_>) -> Result<Option<FleetEvent>, NotUnderstood> {
        let (namespace, name) = wire.key();
        Ok(wire.partial().map(|revision| FleetEvent::Revision(namespace, name, Box::new(revision))))
    }

    fn deleted(&mut self, wire: FleetRevisionWire<'_>) -> Option<FleetEvent> {
        let (namespace, name) = wire.key();
        Some(FleetEvent::RevisionGone(namespace, name))
    }

    fn listing(&mut self) -> Option<FleetEvent> {
        Some(FleetEvent::RevisionsListing)
    }

    fn listed(&mut self, _version: Option<u64>) -> Vec<FleetEvent> {
        vec![FleetEvent::RevisionsListed]
    }

    fn health(&mut self, health: WatchHealth) -> Option<FleetEvent> {
        Some(FleetEvent::RevisionsHealth(health))
    }
}

#[derive(Default)]
struct FleetStartingPods {
    interner: Interner,
}

impl Subject for FleetStartingPods {
    type Wire<'a> = PodWire<'a>;
    type Out = FleetEvent;

    fn version<'a>(wire: &'a PodWire<'_>) -> &'a str {
        text(&wire.metadata.resource_version)
    }

    fn applied(&mut self, wire: PodWire<'_>) -> Result<Option<FleetEvent>, NotUnderstood> {
        Ok(wire.starting_fact(&mut self.interner).map(|fact| FleetEvent::StartingPod(Box::new(fact))))
    }

    fn deleted(&mut self, wire: PodWire<'_>) -> Option<FleetEvent> {
        Some(FleetEvent::StartingPodGone(text(&wire.metadata.uid).into()))
    }

    fn listing(&mut self) -> Option<FleetEvent> {
        Some(FleetEvent::StartingPodsListing)
    }

    fn listed(&mut self, _version: Option<u64>) -> Vec<FleetEvent> {
        vec![FleetEvent::StartingPodsListed]
    }

    fn health(&mut self, health: WatchHealth) -> Option<FleetEvent> {
        Some(FleetEvent::StartingPodsHealth(health))
    }
}

struct FleetPullEvents;

impl Subject for FleetPullEvents {
    type Wire<'a> = EventWire<'a>;
    type Out = FleetEvent;
    const ON_UNREADABLE: OnUnreadable = OnUnreadable::Skip;

    fn version<'a>(wire: &'a EventWire<'_>) -> &'a str {
        wire.metadata.version()
    }

    fn applied(&mut self, wire: EventWire<'_>) -> Result<Option<FleetEvent>, NotUnderstood> {
        Ok(Some(FleetEvent::PullBegun(wire.about().into())))
    }

    fn deleted(&mut self, _wire: EventWire<'_>) -> Option<FleetEvent> {
        None
    }

    fn listing(&mut self) -> Option<FleetEvent> {
        None
    }

    fn listed(&mut self, _version: Option<u64>) -> Vec<FleetEvent> {
        Vec::new()
    }

    /// Without these Events, pulls are known only from newer kubelets, by the pod conditions that precede a pull.
    fn health(&mut self, _health: WatchHealth) -> Option<FleetEvent> {
        None
    }
}

fn key(object: &serde_json::Value) -> (Str, Str) {
    let part = |field: &str| Str::from(object["metadata"][field].as_str().unwrap_or_default());
    (part("namespace"), part("name"))
}

#[cfg(test)]
mod tests;
