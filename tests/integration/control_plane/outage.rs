//! The control plane itself fails in the middle of a rollout: its API server is restarted, its etcd stands still, or is restored from a backup.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rolldeck::engine::model::facts::StrategyKind;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::fixture::{DS, GOOD, NODES, SOON, SPEED, operator, scenario};
use crate::support::control_plane::{Component, ControlPlane, eventually};
use crate::support::hollow::{Hollow, HollowOptions, LeaseRenewal, Workloads};
use crate::support::program::{Operator, text};

const PODS: &str = "/api/v1/namespaces/edge/pods";

/// A control plane with twenty hollow nodes, where somebody rolls out.
pub(super) struct OutageFixture {
    pub(super) operator: Operator,
    _hollow: Hollow,
    pub(super) plane: Arc<ControlPlane>,
}

impl OutageFixture {
    pub(super) fn new() -> Option<Self> {
        let plane = Arc::new(ControlPlane::start().ok()?);
        let leases = LeaseRenewal::NotWritten;
        let options = HollowOptions { speed: SPEED, workloads: Workloads::Create, leases, ..HollowOptions::default() };
        let hollow = Hollow::start(&plane.target(), &scenario(StrategyKind::RollingUpdate), options).expect("nodes");
        plane.until_exists("/api/v1/namespaces/edge");
        let operator = operator(&plane, "edge");
        let fixture = Self { operator, _hollow: hollow, plane };
        eventually("the agent serves everywhere", SOON, || (fixture.serving("") == NODES).then_some(()));
        Some(fixture)
    }

    /// The data directory of etcd.
    fn etcd(&self) -> PathBuf {
        self.plane.directory().join("etcd")
    }

    /// Sends a request to etcd itself, by the HTTP side of its API. Returns the revision of its state.
    fn etcd_call(&self, what: &str, body: &Value) -> u64 {
        let (host, body) = (self.plane.etcd(), body.to_string());
        let mut stream = TcpStream::connect(&host).expect("etcd listens");
        let head = format!(
            "POST /v3/{what} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let revision = answer.split("\"revision\":\"").nth(1).and_then(|rest| rest.split('"').next());
        revision.and_then(|revision| revision.parse().ok()).unwrap_or_default()
    }

    /// Writes to etcd until its revision is at least this. Returns the revision.
    fn raise_revision(&self, least: u64) -> u64 {
        let key = json!({"key": "L2J1bXA=", "value": "MQ=="});
        let mut revision = 0;
        while revision < least {
            revision = self.etcd_call("kv/put", &key);
        }
        revision
    }

    /// Starts these again, one after the other.
    fn start(&self, components: &[Component]) {
        for component in components {
            self.plane.restart(*component);
            self.plane.until_healthy(*component).expect("it comes up");
        }
    }

    /// The number of nodes with a ready pod whose image ends with `image`.
    pub(super) fn serving(&self, image: &str) -> usize {
        serving(&self.plane, image).expect("an answer")
    }
}

fn serving(plane: &ControlPlane, image: &str) -> Option<usize> {
    let pods = plane.admin().try_get(PODS).ok()?;
    if pods.status != 200 {
        return None;
    }
    let ready = |pod: &&Value| {
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().any(|is| is["type"] == "Ready" && is["status"] == "True");
        let is = pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default().ends_with(image);
        ready && is && pod["metadata"]["deletionTimestamp"].is_null()
    };
    let items = pods.items();
    let nodes: BTreeSet<&str> = items.iter().filter(ready).filter_map(|pod| pod["spec"]["nodeName"].as_str()).collect();
    Some(nodes.len())
}

/// A thread of its own that counts the nodes that are down, and keeps the greatest number.
pub(super) struct Worst {
    stop: Arc<AtomicBool>,
    worst: Arc<AtomicUsize>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Worst {
    pub(super) fn watch(plane: &Arc<ControlPlane>) -> Self {
        let (stop, worst) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let thread = std::thread::spawn({
            let (plane, stop, worst) = (Arc::clone(plane), Arc::clone(&stop), Arc::clone(&worst));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    if let Some(up) = serving(&plane, "") {
                        worst.fetch_max(NODES - up, Ordering::Relaxed);
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        });
        Self { stop, worst, thread: Some(thread) }
    }

    pub(super) fn end(mut self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(std::thread::JoinHandle::join);
        self.worst.load(Ordering::Relaxed)
    }
}

/// Rolls out while `fails` stops a part of the control plane and starts it again. The rollout takes longer, and no more nodes are down than the
/// budget allows.
fn goes_on_after(fails: impl FnOnce(&OutageFixture)) {
    let Some(fixture) = OutageFixture::new() else { return };
    let worst = Worst::watch(&fixture.plane);
    fixture.operator.ok(&["set-image", DS, &format!("agent={}", GOOD[1]), "--yes"]);
    let mut drive = fixture.operator.drive(DS, &["--to", "100%"]);
    drive.until_updated(4);
    fails(&fixture);
    let end = drive.end();
    let errors = drive.errors();
    println!("{}{errors}", drive.seen());
    println!("{}", text(&fixture.operator.run(&["log", DS])));
    assert!(end.success(), "{end}");
    assert_eq!((fixture.serving(GOOD[1]), worst.end() <= 2), (NODES, true));
}

#[test]
fn an_api_server_that_is_restarted_delays_a_rollout_and_no_more() {
    goes_on_after(|fixture| {
        fixture.plane.stop(Component::ApiServer);
        std::thread::sleep(Duration::from_secs(10));
        println!("{}", text(&fixture.operator.run(&["status", DS, "--timeout", "5s"])));
        fixture.start(&[Component::ApiServer]);
    });
}

#[test]
fn a_scheduler_that_stands_still_delays_a_rollout_and_is_named() {
    goes_on_after(|yard| {
        yard.plane.pause(Component::Scheduler);
        let diagnosis = eventually("it is said who has to look at it", SOON, || {
            // The second node may have been taken a second later than the first.
            let diagnosis = text(&yard.operator.run(&["diagnose", DS]));
            let is_named = diagnosis.contains("look at kube-scheduler") && diagnosis.contains("not scheduled, 2 nodes");
            is_named.then_some(diagnosis)
        });
        println!("{diagnosis}");
        assert!(yard.serving("") >= NODES - 2);
        yard.plane.resume(Component::Scheduler);
    });
}

/// etcd stands still first. Then it has no room: nothing can be written, and everything can be read.
#[test]
fn an_etcd_that_stands_still_or_has_no_room_delays_a_rollout_and_no_more() {
    goes_on_after(|fixture| {
        fixture.plane.pause(Component::Etcd);
        std::thread::sleep(Duration::from_secs(12));
        println!("{}", text(&fixture.operator.run(&["status", DS, "--timeout", "5s"])));
        fixture.plane.resume(Component::Etcd);
        fixture.operator.until_status(DS, "it goes on", SOON, |status| status["counts"]["updated"].as_u64() >= Some(6));

        fixture.etcd_call("maintenance/alarm", &json!({"action": "ACTIVATE", "alarm": "NOSPACE"}));
        let pause = text(&fixture.operator.run(&["pause", DS, "--yes", "--timeout", "5s"]));
        println!("{pause}");
        assert!(pause.contains("the pause was not sent") && pause.contains("database space exceeded"), "{pause}");
        fixture.etcd_call("maintenance/alarm", &json!({"action": "DEACTIVATE", "alarm": "NOSPACE"}));
    });
}

/// The same where the revision of the restored state is raised above all that was ever seen, and all before is compacted: what `etcdutl snapshot restore
/// --bump-revision --mark-compacted` does, so that watches list anew.
#[test]
fn a_backup_that_is_restored_with_a_raised_revision_is_recognised_as_well() {
    // Kubelets list anew, too, and start the eight pods again that they had ended since the backup.
    restored_from_a_backup(8, CutOff::ByTheServer, |fixture, seen| {
        let revision = fixture.raise_revision(seen + 100);
        fixture.etcd_call("kv/compaction", &json!({"revision": revision.to_string()}));
    });
}

/// The same where the driver's process stands still meanwhile, and other writes have raised the revision past what it saw before it goes on: its watches could go
/// on from there, and would tell nothing of what the backup took back.
#[test]
fn a_backup_that_is_restored_while_the_driver_stands_still_is_recognised_as_well() {
    restored_from_a_backup(0, CutOff::ByItself, |_, _| {});
}

/// What cuts the driver off from the cluster while a backup is restored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CutOff {
    /// No API server is there.
    ByTheServer,
    /// Its process is suspended until the revision is above all that it saw.
    ByItself,
}

/// After etcd is restored from a backup, the driver's knowledge is out of date: the driver ends, `status` shows the restored state, and nothing moves
/// until somebody drives again.
#[test]
fn an_etcd_that_is_restored_from_a_backup_ends_the_driving_and_everything_is_read_anew() {
    restored_from_a_backup(0, CutOff::ByTheServer, |_, _| {});
}

/// `starts_again`: the most pods that do not serve for a moment after that; `restored`: what is done to the restored etcd before an API server reads it. It is told
/// the revision of the state before.
fn restored_from_a_backup(starts_again: usize, cut_off: CutOff, restored: impl Fn(&OutageFixture, u64)) {
    let Some(fixture) = OutageFixture::new() else { return };
    fixture.operator.ok(&["set-image", DS, &format!("agent={}", GOOD[1]), "--yes"]);
    let mut drive = fixture.operator.drive(DS, &["--to", "4"]);
    drive.until_updated(4);
    let backup = fixture.plane.directory().join("backup");
    fixture.plane.stop(Component::Etcd);
    copy(&fixture.etcd(), &backup);
    fixture.start(&[Component::Etcd]);
    fixture.operator.until_status(DS, "it is driven again", SOON, |status| status["driver"]["state"] == "other");
    fixture.operator.ok(&["step", DS, "--to", "12", "--yes"]);
    drive.until_updated(12);

    if cut_off == CutOff::ByItself {
        drive.signal(Signal::STOP);
    }
    fixture.plane.stop(Component::ApiServer);
    let seen = fixture.etcd_call("kv/range", &json!({"key": "L2J1bXA="}));
    fixture.plane.stop(Component::Etcd);
    copy(&backup, &fixture.etcd());
    fixture.start(&[Component::Etcd]);
    restored(&fixture, seen);
    fixture.start(&[Component::ApiServer, Component::ControllerManager, Component::Scheduler]);
    let worst = Worst::watch(&fixture.plane);
    if cut_off == CutOff::ByItself {
        fixture.raise_revision(seen + 500);
        // The API server learns of it by a sign of life of etcd, every 5 s.
        std::thread::sleep(Duration::from_secs(8));
        drive.signal(Signal::CONT);
    }
    let end = drive.end();
    let errors = drive.errors();
    println!("{}{errors}", drive.seen());
    assert_eq!(end.code(), Some(1));
    assert!(errors.contains("the state of the cluster went back to an earlier one"), "{errors}");

    fixture
        .operator
        .until_status(DS, "it is seen as it was", SOON, |status| status["counts"]["updated"].as_u64() == Some(4));
    assert_eq!(fixture.serving(GOOD[1]), 4, "what it says is so");
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(fixture.serving(GOOD[1]), 4, "nothing moves until somebody drives again");
    let worst = worst.end();
    assert!(worst <= starts_again, "{worst} did not serve");
}

fn copy(from: &Path, to: &Path) {
    std::fs::remove_dir_all(to).ok();
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().expect("cp runs").success());
}
