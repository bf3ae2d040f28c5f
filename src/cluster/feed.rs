//! All the watches of one rollout, kept running.
//!
//! ```text
//!   daemonset ─┬─ selector ──▶ pods, revisions     (watched again under another selector)
//!              └─ images ────▶ nodes               (which of their images are kept)
//!   lease, events, rights, skew                    (need only the name)
//! ```

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::http::Http;
use super::last_observed::LastObserved;
use super::partial::SOURCE;
use super::rights;
use super::subjects::{ClusterEvents, LeaseSubject, Nodes, Pods, Revisions, TheDaemonSet, WatchedWarmPods};
use super::watch::{Subject, WatchSource, watch};
use super::workload::SharedWorkload;
use super::write::Writer;
use crate::engine::model::Str;
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::prewarm::PREWARM;
use crate::engine::model::record::lease_name;
use crate::engine::model::time::Timestamp;

/// How long the watch of nodes waits for the DaemonSet: the DaemonSet's images decide which images of a node are kept.
const NODES_WAIT: Duration = Duration::from_secs(3);
/// The wait before a watch that panicked is started again.
const AFTER_PANIC: Duration = Duration::from_secs(5);

/// Access to one DaemonSet: its watches and its writer.
#[derive(Debug)]
pub struct Attachment {
    /// The watches of the DaemonSet; they end when this value is dropped.
    pub feed: Feed,
    /// Carries out writes on the DaemonSet.
    pub writer: Writer,
}

/// The watches of one rollout; they end when this value is dropped.
#[derive(Debug)]
pub struct Feed(JoinHandle<()>);

impl Drop for Feed {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The values that every watch of a rollout needs.
#[derive(Clone)]
struct WatchContext {
    http: Http,
    workload: SharedWorkload,
    shared: Arc<LastObserved>,
    namespace: Str,
    name: Str,
    out: mpsc::Sender<Event>,
}

pub(super) fn attach(
    http: Http,
    workload: SharedWorkload,
    namespace: &str,
    name: &str,
    out: mpsc::Sender<Event>,
) -> Attachment {
    let shared = LastObserved::new();
    let scope = WatchContext { http, workload, shared, namespace: namespace.into(), name: name.into(), out };
    let writer = Writer::new(
        scope.http.clone(),
        scope.workload.clone(),
        scope.shared.clone(),
        scope.namespace.clone(),
        scope.name.clone(),
    );
    Attachment { feed: Feed(tokio::spawn(scope.run())), writer }
}

impl WatchContext {
    async fn run(self) {
        let mut tasks = JoinSet::new();
        for watched in Watched::ALL {
            let context = self.clone();
            match watched {
                Watched::DaemonSet => tasks.spawn(context.kept(watched, Self::daemonset)),
                Watched::Revisions => tasks.spawn(context.kept(watched, Self::revisions)),
                Watched::Pods => tasks.spawn(context.kept(watched, Self::pods)),
                Watched::Nodes => tasks.spawn(context.kept(watched, Self::nodes)),
                Watched::Events => tasks.spawn(context.kept(watched, Self::events)),
                Watched::Lease => tasks.spawn(context.kept(watched, Self::lease)),
                Watched::WarmPods => tasks.spawn(context.kept(watched, Self::warm_pods)),
            };
        }
        tasks.spawn(rights::watch(
            self.http.clone(),
            self.workload.clone(),
            self.namespace.clone(),
            self.name.clone(),
            self.out.clone(),
        ));
        tasks.spawn(skew(self.http.clone(), self.out.clone()));
        tasks.spawn(round_trip(self.http.clone(), self.out.clone()));
        while tasks.join_next().await.is_some() {}
    }

    /// Runs a watch until nobody listens. A panic is reported as the health of the watch, and the watch is started again.
    async fn kept<F: Future<Output = ()> + Send>(self, watched: Watched, run: fn(Self) -> F) {
        while AssertUnwindSafe(run(self.clone())).catch_unwind().await.is_err() {
            let since = self.http.clock().now();
            let why = Str::from(format!("the watch of {watched} stopped by a fault in rolldeck; please report it"));
            let down = Event::Watch(watched, WatchHealth::Down { since, why });
            if self.out.send(down).await.is_err() {
                return;
            }
            tokio::time::sleep(AFTER_PANIC).await;
        }
    }

    async fn daemonset(self) {
        let source = WatchSource {
            path: self.workload.collection(Some(&self.namespace)),
            labels: None,
            fields: Some(format!("metadata.name={}", self.name)),
        };
        let subject = TheDaemonSet::new(self.shared, self.workload);
        watch(self.http, source, subject, self.out).await;
    }

    async fn lease(self) {
        let source = WatchSource {
            path: format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace),
            labels: None,
            fields: Some(format!("metadata.name={}", lease_name(&self.name))),
        };
        watch(self.http, source, LeaseSubject::new(self.shared), self.out).await;
    }

    async fn warm_pods(self) {
        let source = WatchSource {
            path: format!("/api/v1/namespaces/{}/pods", self.namespace),
            labels: Some(PREWARM.to_owned()),
            fields: None,
        };
        watch(self.http, source, WatchedWarmPods::default(), self.out).await;
    }

    async fn pods(self) {
        let path = format!("/api/v1/namespaces/{}/pods", self.namespace);
        // The server's clock decides how long a pod has been ready. The clock was measured with the answer that brought the
        // DaemonSet, and the engine has to know it before the first pod.
        let mut known = self.shared.daemonset.subscribe();
        tokio::select! {
            _ = known.wait_for(Option::is_some) => {}
            () = self.out.closed() => return,
        }
        let skew = *self.http.skew().borrow();
        if let Some(millis) = skew
            && self.out.send(Event::Skew(millis)).await.is_err()
        {
            return;
        }
        self.selected(&path, |_| Pods::default()).await;
    }

    async fn revisions(self) {
        let path = format!("/apis/apps/v1/namespaces/{}/controllerrevisions", self.namespace);
        self.selected(&path, |shared| Revisions::new(shared.clone())).await;
    }

    /// Watches the objects that the DaemonSet's selector selects, once it is known. Starts again when the selector changes.
    async fn selected<S: Subject<Out = Event>>(self, path: &str, subject: impl Fn(&Arc<LastObserved>) -> S) {
        let mut known = self.shared.daemonset.subscribe();
        loop {
            let selector = known.borrow_and_update().as_ref().map(|daemonset| daemonset.selector.to_string());
            let Some(selector) = selector else {
                // The DaemonSet is gone: wait for another one of the same name.
                tokio::select! {
                    _ = known.changed() => continue,
                    () = self.out.closed() => return,
                }
            };
            let source = WatchSource { path: path.to_owned(), labels: Some(selector.clone()), fields: None };
            let another = known.wait_for(|daemonset| {
                daemonset.as_ref().is_some_and(|daemonset| daemonset.selector.to_string() != selector)
            });
            tokio::select! {
                () = watch(self.http.clone(), source, subject(&self.shared), self.out.clone()) => return,
                _ = another => {}
            }
        }
    }

    async fn nodes(self) {
        let mut known = self.shared.daemonset.subscribe();
        // If the DaemonSet arrives later than that, its images are missing on the nodes until kubelets report them again, every five minutes.
        let _ = tokio::time::timeout(NODES_WAIT, known.wait_for(Option::is_some)).await;
        let source = WatchSource { path: "/api/v1/nodes".to_owned(), labels: None, fields: None };
        let (clock, skew) = (self.http.clock(), self.http.skew());
        let server_now = move || {
            let skew = (*skew.borrow())?;
            Some(Timestamp::from_millis(clock.now().millis().saturating_add(skew)))
        };
        let subject = Nodes::new(self.shared.wanted.subscribe(), Box::new(server_now));
        watch(self.http, source, subject, self.out).await;
    }

    async fn events(self) {
        let path = format!("/api/v1/namespaces/{}/events", self.namespace);
        let (_, kind) = self.workload.api_kind();
        let of_pods =
            WatchSource { path: path.clone(), labels: None, fields: Some("involvedObject.kind=Pod".to_owned()) };
        // The controller writes thousands of Events about the DaemonSet. Only Events that report failures and Events of
        // rolldeck processes are watched.
        let of_daemonset = |which: &str| WatchSource {
            path: path.clone(),
            labels: None,
            fields: Some(format!("involvedObject.kind={kind},involvedObject.name={},{which}", self.name)),
        };
        let (failures, reported) = (of_daemonset("reason=FailedCreate"), of_daemonset(&format!("source={SOURCE}")));
        tokio::join!(
            watch(self.http.clone(), of_pods, ClusterEvents::of_pods(&self.name), self.out.clone()),
            watch(self.http.clone(), failures, ClusterEvents::of_daemonset(), self.out.clone()),
            watch(self.http, reported, ClusterEvents::of_daemonset(), self.out),
        );
    }
}

/// Reports the distance of the server whenever it changes.
async fn round_trip(http: Http, out: mpsc::Sender<Event>) {
    let mut distance = http.round_trip();
    distance.mark_changed();
    loop {
        tokio::select! {
            changed = distance.changed() => if changed.is_err() { return },
            () = out.closed() => return,
        }
        let known = *distance.borrow_and_update();
        if let Some(took) = known
            && out.send(Event::RoundTrip(took)).await.is_err()
        {
            return;
        }
    }
}

/// Reports the server's clock whenever its measured difference changes.
async fn skew(http: Http, out: mpsc::Sender<Event>) {
    let mut skew = http.skew();
    skew.mark_changed();
    loop {
        tokio::select! {
            changed = skew.changed() => if changed.is_err() { return },
            () = out.closed() => return,
        }
        let known = *skew.borrow_and_update();
        if let Some(millis) = known
            && out.send(Event::Skew(millis)).await.is_err()
        {
            return;
        }
    }
}
