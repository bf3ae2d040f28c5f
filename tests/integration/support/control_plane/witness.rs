//! An independent observer, with its own connection and its own watch, and no code in common with the program under test.
//!
//! The witness's watch may be behind the watches of the program under test. So each question first lists the pods, and is answered once the watch has
//! told everything in that list: the answer is never older than the question.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::{Duration, Instant};

use reqwest::header::ACCEPT;
use reqwest::{Certificate, Client};
use serde::Deserialize;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{ControlPlane, Delete, Ledger, PodState, Step, Unserved, eventually};

/// The greatest time that the witness may be behind the API server.
const CATCHES_UP: Duration = Duration::from_secs(20);

/// The witness's record of what its watch told.
#[derive(Debug)]
struct Log {
    listed: bool,
    ledger: Ledger,
    /// The resource version of each existing pod, by its UID.
    versions: HashMap<String, u64>,
    /// The resource version of the last change that the watch told; 0 = none yet.
    last: u64,
    /// How many nodes had no serving pod, from each instant until the next.
    unserved: Vec<(Instant, Unserved)>,
    /// The most pods that waited for their image at one instant.
    most_pulling: usize,
    broken: Option<String>,
}

/// The witness; its watch ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Witness {
    log: Arc<Mutex<Log>>,
    pods: Pods,
    runtime: Option<Runtime>,
}

/// The request for the pods.
#[derive(Clone, Debug)]
struct Pods {
    http: Client,
    url: String,
    token: String,
}

/// A list of pods, reduced to resource versions and UIDs.
#[derive(Deserialize)]
struct Versions {
    metadata: Version,
    /// Go writes `null` for an empty list.
    items: Option<Vec<VersionOf>>,
}

#[derive(Deserialize)]
struct VersionOf {
    metadata: Version,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    #[serde(default)]
    uid: String,
    resource_version: String,
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
        Self::of_labels(plane, namespace, &format!("app={name}"), nodes)
    }

    /// Watches the pods that a label selector selects.
    pub(crate) fn of_labels(plane: &ControlPlane, namespace: &str, labels: &str, nodes: &[String]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = Certificate::from_pem(plane.authority().as_bytes()).expect("our own certificate");
        let http = Client::builder().tls_certs_only([authority]).no_proxy().build().expect("an HTTP client");
        let labels = labels.replace('=', "%3D").replace('/', "%2F");
        let url = format!("{}/api/v1/namespaces/{namespace}/pods?labelSelector={labels}", plane.url());
        let pods = Pods { http, url, token: plane.admin().token().to_owned() };
        let log = Arc::new(Mutex::new(Log {
            listed: false,
            ledger: Ledger::new(nodes.iter().cloned()),
            versions: HashMap::new(),
            last: 0,
            unserved: Vec::new(),
            most_pulling: 0,
            broken: None,
        }));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (output, asked) = (Arc::clone(&log), pods.clone());
        runtime.spawn(async move {
            // The witness must not miss a change, so it does not watch again: a broken watch fails the test.
            if let Err(why) = observe(&asked, &output).await {
                output.lock().unwrap().broken = Some(why);
            }
        });
        let witness = Self { log, pods, runtime: Some(runtime) };
        eventually("the witness sees", Duration::from_secs(20), || witness.so_far().listed.then_some(()));
        witness
    }

    /// The record, once it holds everything that a list of the pods holds now.
    #[track_caller]
    fn look(&self) -> MutexGuard<'_, Log> {
        let (answered, answer) = mpsc::sync_channel(1);
        let pods = self.pods.clone();
        self.runtime.as_ref().expect("a runtime until it is dropped").spawn(async move {
            let _ = answered.send(pods.list_versions().await);
        });
        let (listed_at, there) = answer.recv().expect("an answer or an error").expect("a list of the pods");
        let deadline = Instant::now() + CATCHES_UP;
        loop {
            let log = self.so_far();
            if log.has_seen(&there, listed_at) {
                return log;
            }
            drop(log);
            assert!(Instant::now() < deadline, "the witness's watch is more than {CATCHES_UP:?} behind");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The present record, however far the watch is behind.
    #[track_caller]
    fn so_far(&self) -> MutexGuard<'_, Log> {
        let log = self.log.lock().unwrap();
        if let Some(why) = &log.broken {
            let why = why.clone();
            drop(log);
            panic!("the witness lost sight: {why}");
        }
        log
    }

    /// Each node's pod that is not being deleted; where a node has several, one of them.
    pub(crate) fn pods(&self) -> BTreeMap<String, PodState> {
        self.ledger(|ledger| ledger.staying().map(|pod| (pod.node.clone(), pod.clone())).collect())
    }

    /// The nodes with a ready pod whose image ends with `image`.
    pub(crate) fn serving(&self, image: &str) -> BTreeSet<String> {
        self.nodes_with(|pod| pod.ready && pod.image.ends_with(image))
    }

    /// The nodes with a pod whose image could not be pulled.
    pub(crate) fn pull_failed(&self) -> BTreeSet<String> {
        self.nodes_with(|pod| pod.pull_failed)
    }

    /// The nodes with a pod whose image is on the node.
    pub(crate) fn pulled(&self) -> BTreeSet<String> {
        self.nodes_with(|pod| pod.pulled)
    }

    /// The most pods that waited for their image at one instant. A pod waits from its creation on.
    pub(crate) fn most_pulling(&self) -> usize {
        self.look().most_pulling
    }

    /// How many pods were created in all.
    pub(crate) fn made(&self) -> usize {
        let made = |steps: &Vec<Step>| steps.iter().filter(|step| matches!(step, Step::Created(_))).count();
        self.ledger(|ledger| ledger.steps().values().map(made).sum())
    }

    fn nodes_with(&self, test: impl Fn(&PodState) -> bool) -> BTreeSet<String> {
        self.ledger(|ledger| ledger.staying().filter(|pod| test(pod)).map(|pod| pod.node.clone()).collect())
    }

    /// How many nodes have no serving pod now.
    pub(crate) fn unavailable(&self) -> usize {
        self.ledger(Ledger::without_service)
    }

    /// The most nodes that had no serving pod at one instant since `from`.
    pub(crate) fn worst_since(&self, from: Instant) -> usize {
        self.unserved_since(from).into_iter().map(Unserved::down).max().unwrap_or_default()
    }

    /// The most nodes that were lost at one instant since `from`, and the most that were out of sight.
    pub(crate) fn worst_unserved_since(&self, from: Instant) -> Unserved {
        self.unserved_since(from).into_iter().fold(Unserved::default(), Unserved::worst)
    }

    /// The numbers that held at `from` and since.
    fn unserved_since(&self, from: Instant) -> Vec<Unserved> {
        let log = self.look();
        let first = log.unserved.partition_point(|(at, _)| *at <= from).saturating_sub(1);
        log.unserved[first..].iter().map(|(_, unserved)| *unserved).collect()
    }

    /// How many nodes had a serving pod at that instant.
    pub(crate) fn serving_at(&self, at: Instant) -> usize {
        let log = self.look();
        let later = log.unserved.partition_point(|(since, _)| *since <= at);
        let down = later.checked_sub(1).map_or(0, |known| log.unserved[known].1.down());
        log.ledger.nodes().len() - down
    }

    /// The deletes that were seen since `from`.
    pub(crate) fn deletes_since(&self, from: Instant) -> Vec<Delete> {
        self.ledger(|ledger| ledger.deletes().iter().filter(|delete| delete.at > from).cloned().collect())
    }

    /// Reads the ledger, once it is up to date.
    pub(crate) fn ledger<T>(&self, read: impl FnOnce(&Ledger) -> T) -> T {
        read(&self.look().ledger)
    }

    /// Forgets the steps on each node so far, but keeps the pods.
    pub(crate) fn forget_steps(&self) {
        self.look().ledger.forget_steps();
    }

    /// Starts over: from now on a node is lost when the pod that it has now is deleted.
    pub(crate) fn start_over(&self) {
        let mut log = self.look();
        log.ledger.start_over();
        log.count();
    }

    /// Waits until `holds` is true of the witness; panics with all pods if that takes longer than `within`.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, within: Duration, holds: impl Fn(&Self) -> bool) {
        if !self.holds_within(within, holds) {
            panic!("not within {within:?}: {what}; there is\n{}", self.describe());
        }
    }

    /// Waits until `holds` is true of the witness, at most `within`; returns whether it was.
    #[track_caller]
    pub(crate) fn holds_within(&self, within: Duration, holds: impl Fn(&Self) -> bool) -> bool {
        let deadline = Instant::now() + within;
        loop {
            let (asked, last) = (Instant::now(), self.so_far().last);
            if holds(self) {
                return true;
            }
            if Instant::now() > deadline {
                return false;
            }
            // Each question costs a list, so the witness asks again only after a change, or after half a second, since `holds` may depend on the
            // time.
            while self.so_far().last == last && asked.elapsed() < Duration::from_millis(500) {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// A line for each pod.
    pub(crate) fn describe(&self) -> String {
        self.ledger(Ledger::describe)
    }
}

impl Log {
    fn is(&mut self, pod: &Value) {
        let state = seen(pod);
        self.versions.insert(state.uid.clone(), version(pod));
        self.last = self.last.max(version(pod));
        self.ledger.is(state);
    }

    /// Enters that a pod is gone, or that the label selector no longer selects it.
    fn gone(&mut self, pod: &Value) {
        let uid = text(&pod["metadata"]["uid"]);
        self.versions.remove(&uid);
        self.last = self.last.max(version(pod));
        self.ledger.gone(&uid);
    }

    /// Whether the witness knows all pods of a list of this resource version.
    fn has_seen(&self, there: &HashMap<String, u64>, listed_at: u64) -> bool {
        // A watch tells of changes in the order of their resource versions.
        self.last >= listed_at || self.versions == *there
    }

    fn count(&mut self) {
        self.unserved.push((Instant::now(), self.ledger.unserved()));
        self.most_pulling = self.most_pulling.max(self.ledger.waiting_for_images());
    }
}

impl Pods {
    async fn answer(&self, accept: &str) -> Result<String, String> {
        let wrong = |error: reqwest::Error| error.to_string();
        let request = self.http.get(&self.url).bearer_auth(&self.token).timeout(CATCHES_UP);
        request.header(ACCEPT, accept).send().await.map_err(wrong)?.text().await.map_err(wrong)
    }

    /// The resource version of the list, and of each pod by its UID. Tests ask many times a second, so the request asks for no other fields.
    async fn list_versions(&self) -> Result<(u64, HashMap<String, u64>), String> {
        let list = self.answer("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").await?;
        let read: Versions = serde_json::from_str(&list).map_err(|error| format!("{error}: {list}"))?;
        let pods = read.items.into_iter().flatten();
        let of_pods = pods.map(|pod| (pod.metadata.uid, number(&pod.metadata.resource_version)));
        Ok((number(&read.metadata.resource_version), of_pods.collect()))
    }

    async fn list(&self) -> Result<Value, String> {
        let list = self.answer("application/json").await?;
        let list: Value = serde_json::from_str(&list).map_err(|error| format!("{error}: {list}"))?;
        if list["items"].is_array() { Ok(list) } else { Err(format!("no list: {list}")) }
    }
}

async fn observe(pods: &Pods, log: &Mutex<Log>) -> Result<(), String> {
    let wrong = |error: reqwest::Error| error.to_string();
    let list = pods.list().await?;
    {
        let mut log = log.lock().unwrap();
        items(&list).for_each(|pod| log.is(pod));
        log.count();
        log.listed = true;
    }
    let mut version = text(&list["metadata"]["resourceVersion"]);
    let mut rest = Vec::new();
    loop {
        let watch = format!("{}&watch=1&allowWatchBookmarks=true&resourceVersion={version}", pods.url);
        let mut response = pods.http.get(watch).bearer_auth(&pods.token).send().await.map_err(wrong)?;
        while let Some(chunk) = response.chunk().await.map_err(wrong)? {
            rest.extend_from_slice(&chunk);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
                let object = &event["object"];
                let mut log = log.lock().unwrap();
                match event["type"].as_str().unwrap_or_default() {
                    "ADDED" | "MODIFIED" => log.is(object),
                    "DELETED" => log.gone(object),
                    "BOOKMARK" => {}
                    _ => return Err(event.to_string()),
                }
                log.count();
                version = text(&object["metadata"]["resourceVersion"]);
            }
        }
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

/// The resource version of a pod or of a list; the API server's versions are numbers that only grow.
fn version(object: &Value) -> u64 {
    number(&text(&object["metadata"]["resourceVersion"]))
}

fn number(version: &str) -> u64 {
    version.parse().expect("a resource version is a number")
}

fn seen(pod: &Value) -> PodState {
    let terms = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    // The node of a pod that may go to several nodes is known once the pod is bound.
    let one = terms["nodeSelectorTerms"].as_array().is_some_and(|terms| terms.len() == 1);
    let pinned = if one { &terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0] } else { &Value::Null };
    let conditions = pod["status"]["conditions"].as_array();
    let ready =
        conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let container = &pod["status"]["containerStatuses"][0];
    let waiting = container["state"]["waiting"]["reason"].as_str().unwrap_or_default();
    PodState {
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
