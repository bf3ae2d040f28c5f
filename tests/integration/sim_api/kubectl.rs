//! kubectl against the simulated cluster: what an operator would type, and what they would read.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rolldeck::engine::model::time::Timestamp;
use rolldeck::sim::api::{ApiOptions, Rule, Server, User, Users, serve};
use rolldeck::sim::world::World;
use rolldeck::sim::world::scenario::built_in;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::support::missing::skip;

/// The path of kubectl: `KUBECTL`, else the control plane's build, envtest's directory or `PATH`.
fn kubectl() -> Option<PathBuf> {
    let named = std::env::var_os("KUBECTL").map(PathBuf::from);
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/control-plane/bin/kubectl");
    let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(|assets| Path::new(&assets).join("kubectl"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|directory| directory.join("kubectl"));
    let found = named.into_iter().chain([built]).chain(assets).chain(on_path).find(|candidate| candidate.is_file());
    if found.is_none() {
        skip(&"there is no kubectl; set KUBECTL, or run tests/control-plane/build");
    }
    found
}

/// A cluster of the `small` scenario, faster than real time, and a kubectl for it.
struct KubectlFixture {
    kubectl: PathBuf,
    home: TempDir,
    _server: Server,
}

impl KubectlFixture {
    async fn open(users: Users) -> Option<Self> {
        let kubectl = kubectl()?;
        let mut scenario = built_in("small").unwrap();
        scenario.start = Timestamp::from_millis(jiff::Timestamp::now().as_millisecond());
        let options = ApiOptions { speed: 8.0, users, ..ApiOptions::default() };
        let server = serve(World::new(&scenario, 7), options).await.unwrap();
        let home = TempDir::new().unwrap();
        std::fs::write(home.path().join("config"), server.kubeconfig()).unwrap();
        Some(Self { kubectl, home, _server: server })
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.kubectl);
        command
            .args(line.split_whitespace())
            .env("KUBECONFIG", self.home.path().join("config"))
            .env("HOME", self.home.path())
            .env("NO_PROXY", "*")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// The output of a command, and whether it succeeds.
    async fn try_run(&self, line: &str) -> (bool, String) {
        let output = tokio::time::timeout(Duration::from_secs(60), self.command(line).output());
        let output = output.await.unwrap_or_else(|_| panic!("`kubectl {line}` hangs")).unwrap();
        let printed = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(printed).unwrap())
    }

    async fn run(&self, line: &str) -> String {
        let (succeeded, printed) = self.try_run(line).await;
        assert!(succeeded, "`kubectl {line}`:\n{printed}");
        printed
    }

    /// Runs a command whose output must hold all of `wanted`.
    async fn shows(&self, line: &str, wanted: &[&str]) -> String {
        let printed = self.run(line).await;
        for words in wanted {
            assert!(printed.contains(words), "`kubectl {line}` does not say `{words}`:\n{printed}");
        }
        printed
    }

    /// Runs a command that must fail and print all of `wanted`.
    async fn fails(&self, line: &str, wanted: &[&str]) {
        let (succeeded, printed) = self.try_run(line).await;
        assert!(!succeeded, "`kubectl {line}` succeeds:\n{printed}");
        for words in wanted {
            assert!(printed.contains(words), "`kubectl {line}` does not say `{words}`:\n{printed}");
        }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

/// The words of each line.
fn cells(printed: &str) -> Vec<Vec<&str>> {
    printed.lines().map(|line| line.split_whitespace().collect()).collect()
}

macro_rules! fixture {
    () => {
        match KubectlFixture::open(Users::default()).await {
            Some(fixture) => fixture,
            None => return,
        }
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_are_what_containers_write() {
    let fixture = fixture!();
    let pods = fixture.run("get pods -n edge -o name").await;
    let pod = pods.lines().next().unwrap();
    fixture.shows(&format!("logs -n edge {pod}"), &["msg=\"starting\" version=v1", "msg=\"listening\""]).await;
    let dated = fixture.run(&format!("logs -n edge {pod} --timestamps --tail 1")).await;
    assert_eq!(dated.lines().count(), 1, "{dated}");
    assert!(dated.split(' ').next().unwrap().ends_with("000000Z"), "{dated}");
    let none = "previous terminated container \"agent\" in pod";
    fixture.fails(&format!("logs -n edge {pod} --previous"), &[none, "not found"]).await;
    fixture.fails(&format!("logs -n edge {pod} -c nobody"), &["container nobody is not valid for pod"]).await;
    // A container keeps ending: `logs` shows its last lines, of the current run and with `--previous`.
    fixture.run("set image -n edge ds/agent agent=registry.example/agent:crash").await;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    let crashed = loop {
        let pods = fixture.run("get pods -n edge --no-headers").await;
        if let Some(pod) = pods.lines().find(|line| line.contains("CrashLoopBackOff")) {
            break pod.split_whitespace().next().unwrap().to_owned();
        }
        assert!(tokio::time::Instant::now() < deadline, "{pods}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let words = ["version=crash", "cannot open serial port", "giving up"];
    fixture.shows(&format!("logs -n edge {crashed}"), &words).await;
    fixture.shows(&format!("logs -n edge {crashed} --previous"), &words).await;
}

/// The right to read pods does not include the right to read their logs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_need_a_right_of_their_own() {
    let allow = vec![Rule::new(["get", "list"], ["pods"])];
    let viewer = User { name: "viewer".into(), token: "v".into(), allow, ..User::default() };
    let users = Users { known: vec![viewer], anonymous: Some("viewer".into()) };
    let Some(fixture) = KubectlFixture::open(users).await else { return };
    let pods = fixture.run("get pods -n edge -o name").await;
    let pod = pods.lines().next().unwrap();
    fixture.fails(&format!("logs -n edge {pod}"), &["cannot get resource \"pods/log\""]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_shows_tables() {
    let fixture = fixture!();
    let nodes = fixture.run("get nodes").await;
    assert_eq!(cells(&nodes)[0], ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]);
    assert_eq!(nodes.lines().filter(|line| line.contains(" Ready ")).count(), 20, "{nodes}");
    let sets = fixture.run("get daemonsets -n edge").await;
    assert_eq!(
        sets.lines().next().unwrap().split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>(),
        ["NAME", "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "NODE SELECTOR", "AGE"]
    );
    assert_eq!(cells(&sets)[1][..6], ["agent", "20", "20", "20", "20", "20"]);
    fixture.shows("get ds -n edge -o wide", &["CONTAINERS", "registry.example/agent:v1"]).await;
    let pods = fixture.run("get pods -n edge -o wide").await;
    assert_eq!(cells(&pods)[0][..5], ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    assert_eq!(pods.lines().filter(|line| line.contains("1/1     Running")).count(), 20, "{pods}");
    assert!(pods.contains("node-a-01"), "{pods}");
    let canaries = fixture.run("get nodes -l canary=true -o name").await;
    assert_eq!(canaries.lines().count(), 3, "{canaries}");
    let on_one = fixture.run("get pods -A --field-selector spec.nodeName=node-b-01 -o name").await;
    assert_eq!(on_one.lines().count(), 1, "{on_one}");
    fixture.shows("get controllerrevisions -n edge", &["daemonset.apps/agent", "REVISION"]).await;
    fixture.shows("get ns", &["edge", "Active"]).await;
    fixture.shows("get all -n edge", &["pod/agent-", "daemonset.apps/agent"]).await;
    fixture.shows("get ds agent -n edge -o yaml", &["kind: DaemonSet", "image: registry.example/agent:v1"]).await;
    let json = fixture.run("get pods -n edge -o json").await;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["items"].as_array().unwrap().len(), 20);
    assert_eq!(json["items"][0]["kind"], "Pod");
    fixture.fails("get ds nope -n edge", &["(NotFound)", "daemonsets.apps \"nope\" not found"]).await;
    fixture.fails("get pods -A --field-selector spec.x=y", &["field label not supported: spec.x"]).await;
    fixture.shows("version", &["Server Version: v1."]).await;
    fixture.shows("api-resources", &["daemonsets", "ds", "apps/v1", "DaemonSet"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_is_rolled_out_and_back() {
    let fixture = fixture!();
    fixture
        .shows("set image ds/agent agent=registry.example/agent:v2 -n edge", &["daemonset.apps/agent image updated"])
        .await;
    let status = fixture.run("rollout status ds/agent -n edge --timeout=50s").await;
    assert!(status.ends_with("daemon set \"agent\" successfully rolled out\n"), "{status}");
    assert!(status.contains("out of 20 new pods have been updated..."), "{status}");
    let image = "get pods -n edge -o jsonpath={.items[*].spec.containers[0].image}";
    assert_eq!(fixture.run(image).await, ["registry.example/agent:v2"; 20].join(" "));
    let history = fixture.run("rollout history ds/agent -n edge").await;
    assert_eq!(cells(&history)[2..4], [["1", "<none>"], ["2", "<none>"]], "{history}");
    let first = ["daemonset.apps/agent with revision #1", "registry.example/agent:v1"];
    fixture.shows("rollout history ds/agent -n edge --revision=1", &first).await;
    fixture.shows("rollout undo ds/agent -n edge --dry-run=server", &["daemonset.apps/agent rolled back"]).await;
    fixture.shows("rollout undo ds/agent -n edge", &["daemonset.apps/agent rolled back"]).await;
    fixture.run("rollout status ds/agent -n edge --timeout=50s").await;
    assert_eq!(fixture.run(image).await, ["registry.example/agent:v1"; 20].join(" "));
    let history = fixture.run("rollout history ds/agent -n edge").await;
    assert_eq!(cells(&history)[2..4], [["2", "<none>"], ["3", "<none>"]], "revision 1 is 3 now: {history}");
    fixture.shows("rollout restart ds/agent -n edge", &["daemonset.apps/agent restarted"]).await;
    fixture.run("rollout status ds/agent -n edge --timeout=50s").await;
    fixture.fails("rollout undo ds/agent -n edge --to-revision=99", &["unable to find specified revision 99"]).await;
    fixture.fails("set image ds/agent nope=x -n edge", &["unable to find container named \"nope\""]).await;
    let brake = r#"{"spec":{"updateStrategy":{"type":"OnDelete"}}}"#;
    fixture.shows(&format!("patch ds agent -n edge --type=merge -p {brake}"), &["patched"]).await;
    fixture.fails("rollout status ds/agent -n edge", &["only available for RollingUpdate strategy type"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn describe_tells_what_happened() {
    let fixture = fixture!();
    fixture.run("set image ds/agent agent=registry.example/agent:missing -n edge").await;
    let broken = loop {
        let pods = fixture.run("get pods -n edge").await;
        if let Some(line) = pods.lines().find(|line| line.contains("ErrImagePull") || line.contains("ImagePullBackOff"))
        {
            break line.split_whitespace().next().unwrap().to_owned();
        }
    };
    let pod =
        fixture.shows(&format!("describe pod {broken} -n edge"), &["Image:", "registry.example/agent:missing"]).await;
    for words in ["Failed to pull image", "ControlledBy", "Controlled By:  DaemonSet/agent"] {
        assert!(words == "ControlledBy" || pod.contains(words), "{pod}");
    }
    let set = fixture
        .shows("describe ds agent -n edge", &["Desired Number of Nodes Scheduled: 20", "SuccessfulCreate"])
        .await;
    assert!(set.contains("Created pod: agent-"), "{set}");
    let node = ["Name:               node-a-01", "Conditions:", "Ready", "Non-terminated Pods:", "agent-"];
    fixture.shows("describe node node-a-01", &node).await;
    fixture.shows("get events -n edge", &["LAST SEEN", "Pulling", "pod/agent-"]).await;
    fixture.shows(&format!("events -n edge --for pod/{broken}"), &["Pulling"]).await;
}

const OWN: &str = "apiVersion: apps/v1
kind: DaemonSet
metadata: {name: probe, namespace: edge}
spec:
  selector: {matchLabels: {app: probe}}
  template:
    metadata: {labels: {app: probe}}
    spec:
      containers: [{name: probe, image: \"registry.example/agent:v1\"}]
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apply_creates_and_changes_with_validation_on() {
    let fixture = fixture!();
    let first = fixture.file("first.yaml", OWN);
    let second = fixture.file("second.yaml", &OWN.replace(":v1", ":v2"));
    let apply = |file: &str| format!("apply -f {file}");
    assert_eq!(fixture.run(&apply(&first)).await, "daemonset.apps/probe created\n");
    assert_eq!(fixture.run(&apply(&first)).await, "daemonset.apps/probe unchanged\n");
    let (same, difference) = fixture.try_run(&format!("diff -f {second}")).await;
    assert!(!same && difference.contains("+      - image: registry.example/agent:v2"), "{difference}");
    assert_eq!(
        fixture.run(&format!("apply -f {second} --dry-run=server")).await,
        "daemonset.apps/probe configured (server dry run)\n"
    );
    assert_eq!(fixture.run(&apply(&second)).await, "daemonset.apps/probe configured\n");
    fixture.run("rollout status ds/probe -n edge --timeout=50s").await;
    fixture.run("set image ds/probe probe=registry.example/agent:v3 -n edge").await;
    let server_side = format!("apply -f {second} --server-side");
    fixture.fails(&server_side, &["Apply failed with 1 conflict: conflict with \"kubectl-set\" using apps/v1"]).await;
    let forced = fixture.run(&format!("{server_side} --force-conflicts")).await;
    assert_eq!(forced, "daemonset.apps/probe serverside-applied\n");
    let managers = "get ds probe -n edge --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}";
    assert!(fixture.run(managers).await.contains("kubectl"));
    assert_eq!(fixture.run("delete ds probe -n edge").await.lines().count(), 1);
    fixture.fails("get ds probe -n edge", &["NotFound"]).await;
    fixture.run("wait pod -n edge -l app=probe --for=delete --timeout=50s").await;
    let broken = fixture.file("broken.yaml", &OWN.replace("{app: probe}}\n  template", "{app: other}}\n  template"));
    fixture.fails(&apply(&broken), &["is invalid", "`selector` does not match template `labels`"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_writes_are_written() {
    let fixture = fixture!();
    fixture.shows("label ds agent -n edge tier=edge", &["labeled"]).await;
    fixture.shows("annotate node node-a-01 note=checked", &["annotated"]).await;
    fixture.shows("get ds -n edge -l tier=edge", &["agent"]).await;
    fixture.shows("cordon node-a-01", &["node/node-a-01 cordoned"]).await;
    fixture.shows("get node node-a-01", &["Ready,SchedulingDisabled"]).await;
    fixture.shows("drain node-a-01 --ignore-daemonsets", &["node/node-a-01 drained"]).await;
    fixture.shows("uncordon node-a-01", &["node/node-a-01 uncordoned"]).await;
    fixture.shows("taint node node-a-01 gpu=yes:NoSchedule", &["node/node-a-01 tainted"]).await;
    fixture.shows("create namespace other", &["namespace/other created"]).await;
    fixture.shows("create configmap settings -n other --from-literal=a=b", &["created"]).await;
    fixture.shows("get cm -n other", &["settings", "1"]).await;
    let test = r#"[{"op":"test","path":"/spec/minReadySeconds","value":9}]"#;
    fixture.fails(&format!("patch ds agent -n edge --type=json -p {test}"), &["invalid"]).await;
    let locked = "label ds agent -n edge tier=other --overwrite --resource-version=1";
    fixture.fails(locked, &["the object has been modified"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_pod_is_replaced_under_the_eyes_of_a_watch() {
    let fixture = fixture!();
    let mut watch =
        fixture.command("get pods -n edge -w --output-watch-events").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut added = 0;
    while added < 20 {
        let line = lines.next_line().await.unwrap().unwrap();
        added += usize::from(line.starts_with("ADDED"));
    }
    let victim =
        fixture.run("get pods -n edge --field-selector spec.nodeName=node-a-01 -o name").await.trim().to_owned();
    let deleted = fixture.run(&format!("delete {victim} -n edge")).await;
    assert!(deleted.contains("deleted"), "{deleted}");
    let mut seen = Vec::new();
    let watching = async {
        loop {
            let line = lines.next_line().await.unwrap().unwrap();
            let replaced = line.contains("Running") && line.starts_with("MODIFIED") && line.contains("1/1");
            seen.push(line);
            if replaced {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), watching).await.unwrap();
    let name = victim.trim_start_matches("pod/");
    let of_victim = |words: &str| seen.iter().any(|line| line.contains(name) && line.contains(words));
    assert!(of_victim("Terminating") && of_victim("DELETED"), "{seen:#?}");
    assert!(seen.iter().any(|line| line.starts_with("ADDED") && line.contains("Pending")), "{seen:#?}");
    let pod = fixture.run("get pods -n edge --field-selector spec.nodeName=node-a-01 -o name").await;
    assert_ne!(pod.trim(), victim);
    fixture
        .shows(&format!("wait {} -n edge --for=condition=Ready --timeout=20s", pod.trim()), &["condition met"])
        .await;
    fixture.shows(&format!("delete {} -n edge --grace-period=0 --force", pod.trim()), &["force deleted"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_are_told_and_kept() {
    let admin = User { name: "admin".into(), token: "a".into(), ..User::default() };
    let viewer = User {
        name: "viewer".into(),
        token: "v".into(),
        allow: vec![Rule::new(["get", "list", "watch"], ["pods", "daemonsets", "controllerrevisions"])],
        ..User::default()
    };
    let users = Users { known: vec![admin, viewer], anonymous: Some("admin".into()) };
    let Some(fixture) = KubectlFixture::open(users).await else { return };
    assert_eq!(fixture.run("auth can-i delete pods -n edge").await, "yes\n");
    fixture.shows("auth whoami", &["admin"]).await;
    fixture.shows("auth can-i --list", &["*.*"]).await;
    fixture.shows("get ds -n edge --as viewer", &["agent"]).await;
    fixture.fails("auth can-i delete pods -n edge --as viewer", &["no"]).await;
    fixture.fails(
        "get nodes --as viewer",
        &["nodes is forbidden: User \"viewer\" cannot list resource \"nodes\" in API group \"\" at the cluster scope"],
    )
    .await;
    fixture
        .fails(
            "label ds agent -n edge a=b --as viewer",
            &["cannot patch resource \"daemonsets\" in API group \"apps\" in the namespace \"edge\""],
        )
        .await;
}
