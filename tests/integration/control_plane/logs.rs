//! The page of a node on a real API server: its details of a pod, and the logs that the API server passes on from a kubelet.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rolldeck::cluster::{Cluster, ClusterTarget};
use rolldeck::engine::model::container_log::{LogNews, LogRun, LogSource, LogState};
use rolldeck::engine::model::inspection::{Inspection, Reading};
use rolldeck::engine::report::node_story::node_story;
use serde_json::json;
use tokio::sync::mpsc::Receiver;

use super::fixture::{grants, operator};
use crate::support::control_plane::{Grant, Sandbox, daemon_set, sandbox};
use crate::support::kubelet::{KubeletLog, KubeletServer};
use crate::support::program::Operator;
use crate::support::pty::PtyTerminal;

const SOON: Duration = Duration::from_secs(60);

/// A DaemonSet on one node, whose kubelet the test plays; the pod's container keeps ending.
struct CrashFixture {
    sandbox: Sandbox,
    kubelet: KubeletServer,
    node: String,
    pod: String,
}

impl CrashFixture {
    async fn new(name: &str) -> Option<Self> {
        let sandbox = sandbox(name)?;
        let kubelet = KubeletServer::start().await;
        let node = sandbox.nodes(1).remove(0);
        let status = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
        }});
        sandbox.admin().patch(&format!("/api/v1/nodes/{node}/status"), &status).ok();
        sandbox.create_daemon_set(daemon_set("agent", "registry.test/agent:1"));
        let deadline = Instant::now() + SOON;
        let (pod, uid) = loop {
            if let Some(pod) = sandbox.pods().iter().find(|pod| pod["spec"]["nodeName"] == *node) {
                break (pod["metadata"]["name"].as_str().unwrap().to_owned(), pod["metadata"]["uid"].clone());
            }
            assert!(Instant::now() < deadline, "no pod is bound");
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let container = json!({
            "name": "agent", "image": "registry.test/agent:1", "imageID": "registry.test/agent@sha256:1", "ready": false,
            "restartCount": 3, "started": false,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "no device",
                "startedAt": "2026-11-23T07:00:00Z", "finishedAt": "2026-11-23T07:00:04Z"}},
        });
        let status = json!({"status": {"phase": "Running", "qosClass": "BestEffort", "containerStatuses": [container],
            "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]}});
        sandbox.admin().patch(&format!("/api/v1/namespaces/{}/pods/{pod}/status", sandbox.namespace()), &status).ok();
        let event = json!({
            "metadata": {"name": "crash", "namespace": sandbox.namespace()},
            "involvedObject": {"kind": "Pod", "name": pod, "uid": uid, "namespace": sandbox.namespace()},
            "type": "Warning",
            "reason": "BackOff", "message": "Back-off restarting failed container agent", "count": 4,
            "firstTimestamp": "2026-11-23T07:00:05Z", "lastTimestamp": "2026-11-23T07:01:05Z",
            "source": {"component": "kubelet", "host": node},
        });
        sandbox.admin().post(&format!("/api/v1/namespaces/{}/events", sandbox.namespace()), &event).ok();
        Some(Self { sandbox, kubelet, node, pod })
    }

    fn source(&self, run: LogRun) -> LogSource {
        let (namespace, pod) = (self.sandbox.namespace().into(), self.pod.as_str().into());
        LogSource { namespace, pod, container: "agent".into(), run }
    }

    fn container(&self, run: &str) -> String {
        format!("{}/agent{run}", self.pod)
    }

    /// An operator with the rights of `deploy/rbac.yaml`, with or without the right to read logs.
    fn operator(&self, logs: bool) -> Operator {
        if !logs {
            return operator(&self.sandbox, self.sandbox.namespace());
        }
        let namespace = self.sandbox.namespace();
        let mut grants = grants(namespace).to_vec();
        grants.push(Grant::within(namespace, "get", "pods/log"));
        Operator::new(self.sandbox.user("bob", &grants).kubeconfig(), namespace)
    }
}

async fn cluster(kubeconfig: &Path) -> Cluster {
    Cluster::connect(&ClusterTarget { kubeconfig: Some(kubeconfig.to_owned()), ..ClusterTarget::default() })
        .await
        .unwrap()
}

/// Reads the log until `done`; returns its lines and its last state.
async fn until(read: &mut Receiver<LogNews>, done: impl Fn(&[String], &LogState) -> bool) -> (Vec<String>, LogState) {
    let mut lines: Vec<String> = Vec::new();
    let mut state = LogState::Opening;
    let reading = async {
        while !done(&lines, &state) {
            let Some(news) = read.recv().await else { break };
            lines.extend(news.lines.iter().map(|line| line.text.to_string()));
            state = news.state;
        }
    };
    tokio::time::timeout(SOON, reading).await.unwrap_or_else(|_| panic!("not within {SOON:?}"));
    (lines, state)
}

fn dated(texts: &[&str]) -> Vec<String> {
    let line = |(nth, text): (usize, &&str)| format!("2026-11-23T07:00:0{nth}.123456789Z {text}");
    texts.iter().enumerate().map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_kubelet_gives_out_is_read_line_by_line() {
    let Some(fixture) = CrashFixture::new("logs").await else { return };
    let cluster = cluster(fixture.operator(true).kubeconfig()).await;
    fixture.kubelet.write(&fixture.container(""), KubeletLog::Running(dated(&["one", "two", "three"])));
    let mut read = cluster.read_log(fixture.source(LogRun::Current));
    let (lines, state) = until(&mut read, |lines, _| lines.len() == 3).await;
    assert_eq!((lines, state), (vec!["one".into(), "two".into(), "three".into()], LogState::Following));

    // The log of the previous run, which has ended.
    fixture.kubelet.write(&fixture.container("?previous"), KubeletLog::Ended(dated(&["starting", "no device"])));
    let mut read = cluster.read_log(fixture.source(LogRun::Previous));
    let (lines, state) = until(&mut read, |_, state| *state == LogState::Ended).await;
    assert_eq!((lines, state), (vec!["starting".into(), "no device".into()], LogState::Ended));

    // The reader waits for a container that has not started; once the container runs, its lines come by themselves.
    let words = format!("container \"agent\" in pod \"{}\" is waiting to start: ContainerCreating", fixture.pod);
    fixture.kubelet.write(&fixture.container(""), KubeletLog::Refused(words.clone()));
    let mut read = cluster.read_log(fixture.source(LogRun::Current));
    let (_, state) = until(&mut read, |_, state| matches!(state, LogState::Waiting(_))).await;
    println!("not started: {state:?}");
    assert!(
        matches!(&state, LogState::Waiting(why) if why.contains("waiting to start: ContainerCreating")),
        "{state:?}"
    );
    fixture.kubelet.write(&fixture.container(""), KubeletLog::Ended(dated(&["starting"])));
    assert_eq!(until(&mut read, |lines, _| !lines.is_empty()).await.0, ["starting"]);
    // The container's log ended. The reader reads the lines that are written afterwards, and no line twice.
    fixture.kubelet.write(&fixture.container(""), KubeletLog::Running(dated(&["starting", "again"])));
    assert_eq!(until(&mut read, |lines, _| !lines.is_empty()).await.0, ["again"]);
    let asked = fixture.kubelet.requests();
    assert!(
        asked.iter().any(|path| path.contains("tailLines=2000")) && asked.last().unwrap().contains("sinceTime="),
        "{asked:?}"
    );

    // The container has no previous run.
    let words = format!("previous terminated container \"agent\" in pod \"{}\" not found", fixture.pod);
    fixture.kubelet.write(&fixture.container("?previous"), KubeletLog::Refused(words));
    let mut read = cluster.read_log(fixture.source(LogRun::Previous));
    let (_, state) = until(&mut read, |_, state| *state != LogState::Opening).await;
    assert!(matches!(&state, LogState::Waiting(why) if why.contains("not found")), "{state:?}");
    fixture.kubelet.write(&fixture.container("?previous"), KubeletLog::Ended(dated(&["its last words"])));
    assert_eq!(until(&mut read, |lines, _| !lines.is_empty()).await.0, ["its last words"]);

    // The reader waits for a kubelet that does not answer.
    let nobody = json!({"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}});
    fixture.sandbox.admin().patch(&format!("/api/v1/nodes/{}/status", fixture.node), &nobody).ok();
    let mut read = cluster.read_log(fixture.source(LogRun::Current));
    let (_, state) = until(&mut read, |_, state| *state != LogState::Opening).await;
    println!("no kubelet: {state:?}");
    assert!(matches!(&state, LogState::Waiting(why) if why.contains("connection refused")), "{state:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_logs_is_told_so_and_reads_all_else() {
    let Some(fixture) = CrashFixture::new("nologs").await else { return };
    let cluster = cluster(fixture.operator(false).kubeconfig()).await;
    let mut read = cluster.read_log(fixture.source(LogRun::Current));
    let (_, state) = until(&mut read, |_, state| *state != LogState::Opening).await;
    assert!(matches!(&state, LogState::Forbidden(why) if why.contains("pods/log")), "{state:?}");

    let mut read = cluster.inspect(fixture.sandbox.namespace(), &fixture.node, Some(&fixture.pod));
    tokio::time::timeout(SOON, read.wait_for(|known: &Arc<Inspection>| known.pod.read().is_some()))
        .await
        .unwrap()
        .unwrap();
    let known = read.borrow().clone();
    let pod = known.pod.read().unwrap();
    let container = pod.telling_container().unwrap();
    assert_eq!((container.restarts, container.ended().unwrap().to_string()), (3, "exit 1".to_owned()));
    let events = known.events.read().unwrap();
    assert_eq!(events.iter().find(|event| &*event.reason == "BackOff").map(|event| event.count), Some(4), "{events:?}");
    let Reading::Read(node) = &known.node else { panic!("{:?}", known.node) };
    assert_eq!(node.addresses.len(), 1);
    let story: Vec<String> = node_story(&known).into_iter().map(|moment| moment.text).collect();
    println!("{story:#?}");
    assert!(story.iter().any(|what| what == "agent ended: exit 1 after 4s"), "{story:?}");
    // `kubectl describe` says the same of the pod.
    let namespace = fixture.sandbox.namespace();
    let described = fixture.sandbox.admin().kubectl_ok(["describe", "pod", "-n", namespace, &fixture.pod]);
    for words in ["CrashLoopBackOff", "Exit Code:    1", "Back-off restarting failed container agent"] {
        assert!(described.contains(words), "{words}: {described}");
    }
}

/// Two keys lead from the rollout to the log. After 100 MB of lines the console still takes little memory and still answers keys.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_lines_leaves_memory_and_keys_as_they_are() {
    const FLOOD: u64 = 100_000_000;
    let Some(fixture) = CrashFixture::new("flood").await else { return };
    let last = dated(&["the last line"]);
    fixture.kubelet.write(&fixture.container(""), KubeletLog::Flood(FLOOD, last));
    let operator = fixture.operator(true);
    let flooded = fixture.kubelet.port;
    let (before, after, held) = tokio::task::block_in_place(|| {
        let mut console = PtyTerminal::open(&operator, &["ds/agent"], (120, 30));
        console.until("crash loop");
        let before = console.resident_kilobytes();
        let began = Instant::now();
        console.write("l");
        console.until("the last line");
        let took = began.elapsed();
        let after = console.resident_kilobytes();
        console.write("?");
        let asked = Instant::now();
        console.until("/ finds, esc closes");
        let help = asked.elapsed();
        console.write("x");
        console.write("5");
        console.until("Last state");
        console.write("\u{1b}");
        console.until("NODE ");
        console.write("q");
        assert!(console.gone().success());
        println!(
            "{FLOOD} bytes of log in {took:?}; help {help:?} later; resident {before} kB before, {after} kB after"
        );
        (before, after, took)
    });
    assert!(fixture.kubelet.sent() >= FLOOD, "port {flooded}: {} of {FLOOD} bytes were read", fixture.kubelet.sent());
    assert!(after < before + 30_000, "{before} kB before, {after} kB after, in {held:?}");
}
