//! An independent observer: its own connection, its own watch, no code in common with what is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use reqwest::{Certificate, Client};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{ControlPlane, Delete, Ledger, ServingPods, Toll, eventually};

/// What the observer has seen so far.
#[derive(Debug)]
struct Log {
    listed: bool,
    ledger: Ledger,
    /// On how many nodes nobody served, from each instant on.
    tolls: Vec<(Instant, Toll)>,
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
        let log = Arc::new(Mutex::new(Log {
            listed: false,
            ledger: Ledger::new(nodes.iter().cloned()),
            tolls: Vec::new(),
            broken: None,
        }));
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
    fn look(&self) -> MutexGuard<'_, Log> {
        let log = self.log.lock().unwrap();
        if let Some(why) = &log.broken {
            let why = why.clone();
            drop(log);
            panic!("the witness lost sight: {why}");
        }
        log
    }

    /// The pods that are there and not about to end, by node; of several on one node, one.
    pub(crate) fn pods(&self) -> BTreeMap<String, ServingPods> {
        self.ledger(|ledger| ledger.staying().map(|pod| (pod.node.clone(), pod.clone())).collect())
    }

    /// The nodes with a pod whose image ends like this, and that is ready.
    pub(crate) fn serving(&self, image: &str) -> BTreeSet<String> {
        self.nodes_with(|pod| pod.ready && pod.image.ends_with(image))
    }

    /// The nodes with a pod whose image could not be pulled.
    pub(crate) fn pull_failed(&self) -> BTreeSet<String> {
        self.nodes_with(|pod| pod.pull_failed)
    }

    fn nodes_with(&self, test: impl Fn(&ServingPods) -> bool) -> BTreeSet<String> {
        self.ledger(|ledger| ledger.staying().filter(|pod| test(pod)).map(|pod| pod.node.clone()).collect())
    }

    /// On how many nodes nobody serves now.
    pub(crate) fn unavailable(&self) -> usize {
        self.ledger(Ledger::without_service)
    }

    /// On how many nodes at most nobody served at one instant since `from`.
    pub(crate) fn worst_since(&self, from: Instant) -> usize {
        self.tolls_since(from).into_iter().map(Toll::down).max().unwrap_or_default()
    }

    /// The most nodes that were lost at one instant since `from`, and the most that were out of sight.
    pub(crate) fn worst_toll_since(&self, from: Instant) -> Toll {
        self.tolls_since(from).into_iter().fold(Toll::default(), Toll::worst)
    }

    /// What held at `from`, and everything since.
    fn tolls_since(&self, from: Instant) -> Vec<Toll> {
        let log = self.look();
        let first = log.tolls.partition_point(|(at, _)| *at <= from).saturating_sub(1);
        log.tolls[first..].iter().map(|(_, toll)| *toll).collect()
    }

    /// On how many nodes somebody served at that instant.
    pub(crate) fn serving_at(&self, at: Instant) -> usize {
        let log = self.look();
        let later = log.tolls.partition_point(|(since, _)| *since <= at);
        let down = later.checked_sub(1).map_or(0, |known| log.tolls[known].1.down());
        log.ledger.nodes().len() - down
    }

    /// The deletes that were seen since `from`.
    pub(crate) fn deletes_since(&self, from: Instant) -> Vec<Delete> {
        self.ledger(|ledger| ledger.deletes().iter().filter(|delete| delete.at > from).cloned().collect())
    }

    /// What is in the books now.
    pub(crate) fn ledger<T>(&self, read: impl FnOnce(&Ledger) -> T) -> T {
        read(&self.look().ledger)
    }

    /// Forgets what happened so far, not what is.
    pub(crate) fn forget_steps(&self) {
        self.look().ledger.forget_steps();
    }

    /// Opens the books anew: from now on a node is lost when the pod that it has now is taken away.
    pub(crate) fn open_books(&self) {
        let mut log = self.look();
        log.ledger.open();
        log.count();
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
        self.ledger(Ledger::describe)
    }
}

impl Log {
    fn count(&mut self) {
        self.tolls.push((Instant::now(), self.ledger.toll()));
    }
}

async fn observe(http: Client, url: String, token: String, log: &Mutex<Log>) -> Result<(), String> {
    let wrong = |error: reqwest::Error| error.to_string();
    let list = http.get(&url).bearer_auth(&token).send().await.map_err(wrong)?.text().await.map_err(wrong)?;
    let list: Value = serde_json::from_str(&list).map_err(|error| format!("{error}: {list}"))?;
    {
        let mut log = log.lock().unwrap();
        list["items"].as_array().ok_or("no list")?.iter().for_each(|pod| log.ledger.is(seen(pod)));
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
                    "ADDED" | "MODIFIED" => log.ledger.is(seen(object)),
                    "DELETED" => log.ledger.gone(&seen(object).uid),
                    "BOOKMARK" => {}
                    _ => return Err(event.to_string()),
                }
                log.count();
                version = text(&object["metadata"]["resourceVersion"]);
            }
        }
    }
}

fn seen(pod: &Value) -> ServingPods {
    let terms = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let pinned = &terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0];
    let conditions = pod["status"]["conditions"].as_array();
    let ready =
        conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let container = &pod["status"]["containerStatuses"][0];
    let waiting = container["state"]["waiting"]["reason"].as_str().unwrap_or_default();
    ServingPods {
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
