//! An independent observer: its own connection, its own watch, no code in common with what is judged.
//!
//! It folds the pods of one DaemonSet into what an auditor wants to know: on how many nodes nobody serves, at every
//! single change; which pods were deleted, when; and what happened to each node, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::{Certificate, Client};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{ControlPlane, eventually};

/// One pod as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// Its uid.
    pub(crate) uid: String,
    /// Its name.
    pub(crate) name: String,
    /// Its node, bound or not.
    pub(crate) node: String,
    /// The image of its first container.
    pub(crate) image: String,
    /// Label `controller-revision-hash`.
    pub(crate) revision: String,
    /// Its `Ready` condition is `True`.
    pub(crate) ready: bool,
    /// Its first container's image is on the node.
    pub(crate) pulled: bool,
    /// Its first container waits because the image cannot be pulled.
    pub(crate) pull_failed: bool,
    /// It is to end.
    pub(crate) deleting: bool,
}

/// What happened to a pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Step {
    /// It was made, with this image.
    Created(String),
    /// Its image is there.
    Pulled,
    /// Its image could not be pulled.
    PullFailed,
    /// It serves.
    Ready,
    /// It does not serve any more.
    Unready,
    /// It was deleted: it is to end.
    Deleting,
    /// It is gone.
    Gone,
}

/// A delete.
#[derive(Clone, Debug)]
pub(crate) struct Delete {
    /// When it was seen.
    pub(crate) at: Instant,
    /// The pod as it was before.
    pub(crate) pod: Seen,
}

/// What happened so far.
#[derive(Debug, Default)]
struct Log {
    listed: bool,
    nodes: BTreeSet<String>,
    pods: BTreeMap<String, Seen>,
    /// How many nodes had nobody serving, from each instant on.
    unavailable: Vec<(Instant, usize)>,
    deletes: Vec<Delete>,
    steps: BTreeMap<String, Vec<Step>>,
    broken: Option<String>,
}

/// The observer; stops observing when dropped.
#[derive(Debug)]
pub(crate) struct Witness {
    log: Arc<Mutex<Log>>,
    runtime: Option<Runtime>,
}

impl Drop for Witness {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Witness {
    /// Watches the pods of the DaemonSet `name` (by its label `app`), which should run on `nodes`.
    pub(crate) fn watch(plane: &ControlPlane, namespace: &str, name: &str, nodes: &[String]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = Certificate::from_pem(plane.authority().as_bytes()).expect("our own certificate");
        let http = Client::builder().tls_certs_only([authority]).no_proxy().build().expect("an HTTP client");
        let url = format!("{}/api/v1/namespaces/{namespace}/pods?labelSelector=app%3D{name}", plane.url());
        let token = plane.admin().token().to_owned();
        let log = Arc::new(Mutex::new(Log { nodes: nodes.iter().cloned().collect(), ..Log::default() }));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let told = Arc::clone(&log);
        runtime.spawn(async move {
            // It must not miss a change, so it does not try again: a broken watch fails the test.
            if let Err(why) = observe(http, url, token, &told).await {
                told.lock().unwrap().broken = Some(why);
            }
        });
        let witness = Self { log, runtime: Some(runtime) };
        eventually("the witness sees", Duration::from_secs(20), || witness.look().listed.then_some(()));
        witness
    }

    #[track_caller]
    fn look(&self) -> std::sync::MutexGuard<'_, Log> {
        let log = self.log.lock().unwrap();
        if let Some(why) = &log.broken {
            let why = why.clone();
            drop(log);
            panic!("the witness lost sight: {why}");
        }
        log
    }

    /// The pods that are there and not about to end, by node.
    pub(crate) fn pods(&self) -> BTreeMap<String, Seen> {
        let log = self.look();
        let staying = log.pods.values().filter(|pod| !pod.deleting);
        staying.map(|pod| (pod.node.clone(), pod.clone())).collect()
    }

    /// The nodes whose pod has an image that ends like this, and is ready.
    pub(crate) fn serving(&self, image: &str) -> BTreeSet<String> {
        let serves = |pod: &&Seen| pod.ready && pod.image.ends_with(image);
        self.pods().values().filter(serves).map(|pod| pod.node.clone()).collect()
    }

    /// On how many nodes nobody serves now.
    pub(crate) fn unavailable(&self) -> usize {
        self.look().without_service()
    }

    /// On how many nodes at most nobody served at one instant since `from`.
    pub(crate) fn worst_since(&self, from: Instant) -> usize {
        let log = self.look();
        // What held at `from` began to hold before.
        let before = log.unavailable.iter().rev().find(|(at, _)| *at <= from).map(|(_, count)| *count);
        let after = log.unavailable.iter().filter(|(at, _)| *at > from).map(|(_, count)| *count);
        before.into_iter().chain(after).max().unwrap_or_default()
    }

    /// The deletes that were seen since `from`.
    pub(crate) fn deletes_since(&self, from: Instant) -> Vec<Delete> {
        self.look().deletes.iter().filter(|delete| delete.at > from).cloned().collect()
    }

    /// What happened on each node, in order.
    pub(crate) fn steps(&self) -> BTreeMap<String, Vec<Step>> {
        self.look().steps.clone()
    }

    /// Forgets what happened so far, not what is.
    pub(crate) fn forget_steps(&self) {
        self.look().steps.clear();
    }

    /// Waits until `holds`; says what there is when it does not.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, within: Duration, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + within;
        while !holds(self) {
            if Instant::now() > deadline {
                panic!("not within {within:?}: {what}; there is\n{}", self.describe());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A line a pod.
    pub(crate) fn describe(&self) -> String {
        let log = self.look();
        let line = |pod: &Seen| {
            let ready = if pod.ready { "ready" } else { "not ready" };
            let ending = if pod.deleting { ", ending" } else { "" };
            format!("  {}: {} {} {ready}{ending}\n", pod.node, pod.name, pod.image)
        };
        let pods: String = log.pods.values().map(line).collect();
        format!("{pods}  {} of {} nodes without service\n", log.without_service(), log.nodes.len())
    }
}

impl Log {
    fn without_service(&self) -> usize {
        let serving: BTreeSet<&String> =
            self.pods.values().filter(|pod| pod.ready && !pod.deleting).map(|pod| &pod.node).collect();
        self.nodes.iter().filter(|node| !serving.contains(node)).count()
    }

    fn is(&mut self, pod: Seen) {
        let before = self.pods.insert(pod.uid.clone(), pod.clone());
        let steps = self.steps.entry(pod.node.clone()).or_default();
        let was = |flag: fn(&Seen) -> bool| before.as_ref().is_some_and(flag);
        if before.is_none() {
            steps.push(Step::Created(pod.image.clone()));
        }
        if pod.deleting && !was(|pod| pod.deleting) {
            steps.push(Step::Deleting);
            self.deletes.push(Delete { at: Instant::now(), pod: before.clone().unwrap_or_else(|| pod.clone()) });
        }
        let turns: [(fn(&Seen) -> bool, Step); 3] = [
            (|pod| pod.pull_failed, Step::PullFailed),
            (|pod| pod.pulled, Step::Pulled),
            (|pod| pod.ready, Step::Ready),
        ];
        for (flag, step) in turns {
            if flag(&pod) && !was(flag) {
                steps.push(step);
            }
        }
        if !pod.ready && was(|pod| pod.ready) {
            steps.push(Step::Unready);
        }
    }

    fn gone(&mut self, pod: &Seen) {
        let Some(before) = self.pods.remove(&pod.uid) else { return };
        let steps = self.steps.entry(pod.node.clone()).or_default();
        if !before.deleting {
            steps.push(Step::Deleting);
            self.deletes.push(Delete { at: Instant::now(), pod: before });
        }
        steps.push(Step::Gone);
    }

    fn count(&mut self) {
        self.unavailable.push((Instant::now(), self.without_service()));
    }
}

async fn observe(http: Client, url: String, token: String, log: &Mutex<Log>) -> Result<(), String> {
    let wrong = |error: reqwest::Error| error.to_string();
    let list = http.get(&url).bearer_auth(&token).send().await.map_err(wrong)?.text().await.map_err(wrong)?;
    let list: Value = serde_json::from_str(&list).map_err(|error| format!("{error}: {list}"))?;
    {
        let mut log = log.lock().unwrap();
        list["items"].as_array().ok_or("no list")?.iter().for_each(|pod| log.is(seen(pod)));
        log.count();
        log.listed = true;
    }
    let mut version = text(&list["metadata"]["resourceVersion"]);
    let mut rest = Vec::new();
    loop {
        let watch = format!("{url}&watch=1&allowWatchBookmarks=true&resourceVersion={version}");
        let mut response = http.get(watch).bearer_auth(&token).send().await.map_err(wrong)?;
        while let Some(chunk) = response.chunk().await.map_err(wrong)? {
            rest.extend_from_slice(&chunk);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
                let object = &event["object"];
                let mut log = log.lock().unwrap();
                match event["type"].as_str().unwrap_or_default() {
                    "ADDED" | "MODIFIED" => log.is(seen(object)),
                    "DELETED" => log.gone(&seen(object)),
                    "BOOKMARK" => {}
                    _ => return Err(event.to_string()),
                }
                log.count();
                version = text(&object["metadata"]["resourceVersion"]);
            }
        }
    }
}

fn seen(pod: &Value) -> Seen {
    let terms = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let pinned = &terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0];
    let conditions = pod["status"]["conditions"].as_array();
    let ready =
        conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let container = &pod["status"]["containerStatuses"][0];
    let waiting = container["state"]["waiting"]["reason"].as_str().unwrap_or_default();
    Seen {
        uid: text(&pod["metadata"]["uid"]),
        name: text(&pod["metadata"]["name"]),
        node: pod["spec"]["nodeName"].as_str().or(pinned.as_str()).unwrap_or_default().to_owned(),
        image: text(&pod["spec"]["containers"][0]["image"]),
        revision: text(&pod["metadata"]["labels"]["controller-revision-hash"]),
        ready,
        pulled: container["imageID"].as_str().is_some_and(|id| !id.is_empty()),
        pull_failed: ["ErrImagePull", "ImagePullBackOff"].contains(&waiting),
        deleting: pod["metadata"]["deletionTimestamp"].is_string(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
