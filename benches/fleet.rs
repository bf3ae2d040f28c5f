//! Measures, from outside the process, what rolldeck needs to load a fleet, to keep it and to draw it. It prints the figures beside
//! their budgets.
//!
//! ```text
//!   rolldeck demo --serve --nodes N  ◀──HTTP──  this program again, as a client    load, memory
//!         (one process)              ◀──HTTP──  rolldeck ds/agent under script(1)  first frame, bytes to the terminal
//!                                    ◀──HTTP──  one patch of one pod, and keys for the console
//! ```
//!
//! Loading is measured twice more over a line of 20 Mbit/s and 25 ms each way (`fleet/slow_line.rs`): once with streamed lists and
//! once with compressed pages.
//!
//! Run it with `cargo bench --bench fleet`, or for one size with `cargo bench --bench fleet -- 15000`. The bench `engine` measures
//! the engine itself. No figure makes the bench fail, because the figures depend on the machine.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "it prints, and ends where it cannot measure"
)]

#[path = "fleet/slow_line.rs"]
mod slow_line;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rolldeck::driver::{Access, ClusterSession, ServerPath, Session};
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::event::WatchHealth;
use rolldeck::engine::report::snapshot::{Phase, Snapshot};
use slow_line::SlowLine;

const ROLLDECK: &str = env!("CARGO_BIN_EXE_rolldeck");
/// The environment variable with the kubeconfig that the client process uses. A process in which it is set is the client.
const CLIENT: &str = "ROLLDECK_BENCH_CLIENT";
/// The environment variable with the kind of path to the server that the client process assumes: `loopback` or `network`.
const REACH: &str = "ROLLDECK_BENCH_REACH";
/// The bandwidth of the far line in bits a second, and its delay one way.
const FAR: (u64, Duration) = (20_000_000, Duration::from_millis(25));
/// The longest time that the server may take to set up a generated fleet of thousands of nodes.
const PATIENCE: Duration = Duration::from_secs(300);
/// A frame is complete this long after its first byte. Changed ages are drawn in later frames.
const FRAME: Duration = Duration::from_millis(300);

fn main() {
    if let Some(kubeconfig) = std::env::var_os(CLIENT) {
        return client(PathBuf::from(kubeconfig));
    }
    let asked: Vec<u32> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let only_loading = std::env::args().any(|argument| argument == "load");
    let sizes = if asked.is_empty() { vec![5_000, 15_000] } else { asked };
    for nodes in sizes {
        let server = Server::start(nodes);
        println!("\n{nodes} nodes, served by another process");
        load(&server, nodes);
        distance(&server, nodes);
        if !only_loading {
            console(&server);
        }
    }
}

fn figure(what: &str, value: impl std::fmt::Display, budget: &str) {
    println!("  {what:<44} {value:>12}   {budget}");
}

fn millis(span: Duration) -> String {
    format!("{:.1} ms", span.as_secs_f64() * 1e3)
}

// ── Load and memory ───────────────────────────────────────────────────────────────────────────────────────────────────

fn load(server: &Server, nodes: u32) {
    let Loaded { secs, resident, peak, .. } = Loaded::by(&server.kubeconfig, "loopback", nodes);
    let budget = |text: &'static str| if nodes == 15_000 { text } else { "" };
    figure("load: connect to complete snapshot", format!("{secs:.2} s"), budget("budget 2 s"));
    figure("resident once loaded", format!("{:.1} MB", resident / 1e3), budget("budget 60 MB"));
    figure("resident at most", format!("{:.1} MB", peak / 1e3), "");
}

/// Prints the bytes and seconds that loading takes from near and from far, with streamed lists and with compressed pages.
fn distance(server: &Server, nodes: u32) {
    for (lists, server_path) in [("streamed lists", "loopback"), ("compressed pages", "network")] {
        let near = Loaded::by(&server.kubeconfig, server_path, nodes);
        let near_mb = format!("{:.2} MB", near.bytes / 1e6);
        figure(&format!("near, {lists}: all watches live"), format!("{:.2} s", near.all_secs), &near_mb);
        figure(&format!("near, {lists}: resident at most"), format!("{:.1} MB", near.peak / 1e3), "");
        let line = SlowLine::to(&server.address, FAR.0, FAR.1);
        let text = std::fs::read_to_string(&server.kubeconfig).expect("the kubeconfig is there");
        let kubeconfig = server.home.path().join("far");
        std::fs::write(&kubeconfig, text.replace(&server.address, &line.address().to_string())).expect("it is ours");
        let far = Loaded::by(&kubeconfig, server_path, nodes);
        let budget = if nodes == 5_000 && server_path == "network" { "; budget 3 s, 6 MB" } else { "" };
        let far_mb = format!("{:.2} MB on the wire{budget}", line.carried() as f64 / 1e6);
        figure(&format!("far, {lists}: complete snapshot"), format!("{:.2} s", far.secs), "");
        figure(&format!("far, {lists}: all watches live"), format!("{:.2} s", far.all_secs), &far_mb);
    }
}

/// The figures that a client process prints about its loading.
struct Loaded {
    /// Seconds until DaemonSet, pods and nodes were complete.
    secs: f64,
    /// Seconds until all watches were live.
    all_secs: f64,
    /// Bytes of answers and watches, without headers.
    bytes: f64,
    /// Resident memory in kB, after loading.
    resident: f64,
    peak: f64,
}

impl Loaded {
    fn by(kubeconfig: &Path, server_path: &str, nodes: u32) -> Self {
        let client = Command::new(std::env::current_exe().expect("our own path"))
            .env(CLIENT, kubeconfig)
            .env(REACH, server_path)
            .stderr(Stdio::inherit())
            .output()
            .expect("the client runs");
        let told = String::from_utf8_lossy(&client.stdout);
        let fields: Vec<f64> = told.split_whitespace().filter_map(|text| text.parse().ok()).collect();
        let [secs, loaded, all_secs, bytes, resident, peak] = fields[..] else { panic!("the client said: {told}") };
        assert_eq!(loaded, f64::from(nodes), "all nodes are loaded");
        Self { secs, all_secs, bytes, resident, peak }
    }
}

/// Runs the client process: it loads the fleet and prints the time, the traffic and the memory that this took.
fn client(kubeconfig: PathBuf) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server_path = if std::env::var(REACH).is_ok_and(|server_path| server_path == "network") {
        ServerPath::Network
    } else {
        ServerPath::Loopback
    };
    let began = Instant::now();
    let snapshot = runtime.block_on(async {
        let access = Access { kubeconfig: Some(kubeconfig), server_path, ..Access::default() };
        let session = ClusterSession::open(&access).await.expect("the kubeconfig is good");
        let rollout = session.open("edge", "agent", Role::OneShot);
        let mut snapshots = rollout.snapshots.clone();
        let complete = |snapshot: &Arc<Snapshot>| snapshot.phase != Phase::Loading;
        let snapshot = snapshots.wait_for(complete).await.expect("the driver lives").clone();
        println!("{} {}", began.elapsed().as_secs_f64(), snapshot.counts.nodes);
        let live = |snapshot: &Arc<Snapshot>| snapshot.watches.iter().all(|watch| watch.health == WatchHealth::Live);
        let snapshot = snapshots.wait_for(live).await.expect("the driver lives").clone();
        let traffic = session.traffic();
        println!("{} {}", began.elapsed().as_secs_f64(), traffic.streamed + traffic.answered);
        // After this pause the process has returned the memory that only loading needed, as far as it ever returns it.
        tokio::time::sleep(Duration::from_secs(2)).await;
        (snapshot, rollout)
    });
    println!("{} {}", resident("VmRSS:"), resident("VmHWM:"));
    drop(snapshot);
}

/// A field of our own `/proc/self/status`, in kB.
fn resident(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()).and_then(|text| text.parse().ok()).unwrap_or(0)
}

// ── The console ───────────────────────────────────────────────────────────────────────────────────────────────────────

fn console(server: &Server) {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        figure("console: needs script(1) of util-linux", "skipped", "");
        return;
    }
    let mut console = Terminal::open(server, 120, 40);
    let first = console.wait_for_bytes(1);
    figure("console: process start to first byte", millis(first), "budget 50 ms to the first frame");
    console.figures(server, "list, 120x40", 1);
    drop(console);

    let mut console = Terminal::open(server, 200, 50);
    console.wait_for_bytes(1);
    console.wait_until_quiet();
    console.press(b"m");
    console.figures(server, "map, 200x50", 3);
}

/// How many key presses are measured; the median and the slowest are printed.
const PRESSES: usize = 20;

impl Terminal {
    /// Prints the cost of showing `page` while nothing changes, while a pod restarts and while keys are pressed. The first pod is given
    /// `restarts` and then `restarts + 1` restarts; both must be more than it has so far.
    fn figures(&mut self, server: &Server, page: &str, restarts: u64) {
        self.wait_until_quiet();
        let before = self.count();
        std::thread::sleep(Duration::from_secs(10));
        let idle = self.written_since(before);
        figure(&format!("{page}: ten idle seconds"), format!("{} bytes", idle.len()), "budget 0");
        if !idle.is_empty() {
            println!("    {}", idle.escape_ascii());
        }
        self.restart_a_pod(server, page, restarts);
        self.restart_a_pod(server, page, restarts + 1);
        let mut took: Vec<Duration> =
            (0..PRESSES).map(|nth| self.key_to_frame(if nth % 2 == 0 { b"j" } else { b"k" })).collect();
        took.sort_unstable();
        let (usual, slowest) = (millis(took[PRESSES / 2]), millis(took[PRESSES - 1]));
        figure(&format!("{page}: from a key to the terminal"), usual, &format!("at most {slowest}; budget 16 ms"));
        let mb = |field| format!("{:.1} MB", self.console_status(field) / 1_000.0);
        figure(
            &format!("{page}: resident"),
            mb("VmRSS:"),
            &format!("at most {}; budget 60 MB at 15,000 nodes", mb("VmHWM:")),
        );
    }

    fn restart_a_pod(&self, server: &Server, page: &str, restarts: u64) {
        let (console, pod) = (self, server.first_pod());
        let before = console.count();
        let began = Instant::now();
        server.patch_restarts(&pod, restarts);
        console.wait_past(before);
        let after = began.elapsed();
        std::thread::sleep(FRAME);
        let frame = console.written_since(before);
        console.wait_until_quiet();
        let ages = console.count() - before - frame.len();
        figure(&format!("{page}: a pod restarts"), format!("{} bytes", frame.len()), "budget 200, one frame");
        if frame.len() > 200 {
            println!("    {}", frame.escape_ascii());
        }
        figure(&format!("{page}: ages in minutes that change after it"), format!("{ages} bytes"), "every 5 s at most");
        figure(&format!("{page}: from that patch to the terminal"), millis(after), "");
    }

    /// Measures the time from a key press to the first byte of the frame that answers it.
    fn key_to_frame(&mut self, key: &[u8]) -> Duration {
        std::thread::sleep(FRAME);
        let before = self.count();
        let began = Instant::now();
        self.press(key);
        self.wait_past(before);
        began.elapsed()
    }

    fn press(&mut self, key: &[u8]) {
        let input = self.script.stdin.as_mut().expect("it is piped");
        input.write_all(key).and_then(|()| input.flush()).expect("script(1) reads it");
    }

    /// A field of `/proc/PID/status` of the console, in kB.
    fn console_status(&self, field: &str) -> f64 {
        let script = self.script.id();
        let children = std::fs::read_to_string(format!("/proc/{script}/task/{script}/children")).unwrap_or_default();
        let status = std::fs::read_to_string(format!("/proc/{}/status", children.trim())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|rest| rest.split_whitespace().next()).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
    }
}

/// A console in a terminal, whose output is counted.
struct Terminal {
    script: Child,
    began: Instant,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn open(server: &Server, cols: u16, rows: u16) -> Self {
        let run = format!(
            "stty cols {cols} rows {rows}; exec {ROLLDECK} --kubeconfig {} -n edge ds/agent",
            server.kubeconfig.display()
        );
        let began = Instant::now();
        let mut script = Command::new("script")
            .args(["-qfec", &run, "/dev/null"])
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script(1) runs");
        let written = Arc::new(Mutex::new(Vec::new()));
        let keeps = Arc::clone(&written);
        let mut output = script.stdout.take().expect("it is piped");
        std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                keeps.lock().expect("nobody panics with it").extend_from_slice(&buffer[..read]);
            }
        });
        Self { script, began, written }
    }

    /// How many bytes the console has written.
    fn count(&self) -> usize {
        self.written.lock().expect("its reader does not panic").len()
    }

    fn written_since(&self, count: usize) -> Vec<u8> {
        self.written.lock().expect("its reader does not panic")[count..].to_vec()
    }

    fn wait_for_bytes(&self, bytes: usize) -> Duration {
        self.wait_past(bytes - 1);
        self.began.elapsed()
    }

    fn wait_past(&self, bytes: usize) {
        let patience = Instant::now() + PATIENCE;
        while self.count() <= bytes {
            assert!(Instant::now() < patience, "the console says nothing");
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn wait_until_quiet(&self) {
        let patience = Instant::now() + PATIENCE;
        while self.bytes_within(Duration::from_secs(6)) > 0 {
            assert!(Instant::now() < patience, "the console never comes to rest");
        }
    }

    fn bytes_within(&self, span: Duration) -> usize {
        let before = self.count();
        std::thread::sleep(span);
        self.count() - before
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The console ends by itself when its terminal is gone.
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

// ── The server ────────────────────────────────────────────────────────────────────────────────────────────────────────

/// A generated fleet, served by a process of its own.
struct Server {
    process: Child,
    home: tempfile::TempDir,
    kubeconfig: PathBuf,
    address: String,
}

impl Server {
    fn start(nodes: u32) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let kubeconfig = home.path().join("kubeconfig");
        let process = Command::new(ROLLDECK)
            .args(["demo", "--serve", "--nodes", &nodes.to_string(), "--write-kubeconfig"])
            .arg(&kubeconfig)
            .stdout(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut server = Self { process, home, kubeconfig, address: String::new() };
        server.wait_for(|server| server.kubeconfig.exists());
        let config = std::fs::read_to_string(&server.kubeconfig).expect("the kubeconfig is there");
        let url = config.lines().find_map(|line| line.trim().strip_prefix("server: http://"));
        server.address = url.expect("it names a server").to_owned();
        // Once every pod is available, the world changes only on request.
        let ready = format!("\"numberAvailable\":{nodes}");
        server.wait_for(|server| server.get("/apis/apps/v1/namespaces/edge/daemonsets/agent").contains(&ready));
        server
    }

    fn wait_for(&self, ready: impl Fn(&Self) -> bool) {
        let patience = Instant::now() + PATIENCE;
        while !ready(self) {
            assert!(
                Instant::now() < patience,
                "the fleet is not ready; it is served from {}",
                self.home.path().display()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The pod of the node that a console shows first.
    fn first_pod(&self) -> String {
        let nodes = run(&self.kubeconfig, &["status", "ds/agent", "-n", "edge", "--nodes", "-o", "json"]);
        let status: serde_json::Value = serde_json::from_str(&nodes).expect("status answers JSON");
        status["nodes"][0]["pod"].as_str().expect("its pod").to_owned()
    }

    /// Sets the restart count of the pod's first container, as its kubelet would.
    fn patch_restarts(&self, pod: &str, restarts: u64) {
        let path = format!("/api/v1/namespaces/edge/pods/{pod}");
        let pod: serde_json::Value = serde_json::from_str(&self.get(&path)).expect("a pod");
        let mut statuses = pod["status"]["containerStatuses"].clone();
        statuses[0]["restartCount"] = restarts.into();
        let patch = serde_json::json!({"status": {"containerStatuses": statuses}}).to_string();
        let head = format!(
            "PATCH {path}/status HTTP/1.1\r\nContent-Type: application/merge-patch+json\r\nContent-Length: {}",
            patch.len()
        );
        self.ask(&head, &patch);
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1"), "")
    }

    /// Sends one request on a connection of its own and returns the body of the answer.
    fn ask(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        let host = &self.address;
        write!(stream, "{head}\r\nHost: {host}\r\nAccept: application/json\r\nConnection: close\r\n\r\n{body}")
            .expect("it reads");
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status).expect("it answers");
        assert!(status.contains(" 200 "), "{head}: {status}");
        let mut answer = String::new();
        lines.read_to_string(&mut answer).expect("it answers in text");
        answer.split_once("\r\n\r\n").map(|(_, body)| unchunked(body)).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Removes the chunk lengths from a body that came in chunks.
fn unchunked(body: &str) -> String {
    if body.starts_with('{') {
        return body.to_owned();
    }
    let mut whole = String::new();
    let mut rest = body;
    while let Some((length, after)) = rest.split_once("\r\n") {
        let Ok(length @ 1..) = usize::from_str_radix(length.trim(), 16) else { break };
        whole.push_str(&after[..length]);
        rest = after[length..].trim_start_matches("\r\n");
    }
    whole
}

fn run(kubeconfig: &Path, line: &[&str]) -> String {
    let output = Command::new(ROLLDECK).env("KUBECONFIG", kubeconfig).args(line).output().expect("rolldeck runs");
    String::from_utf8(output.stdout).expect("it answers in text")
}
