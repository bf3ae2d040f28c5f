//! What is waited for, said in words: by each node that moves, and by the rollout before any can.

use super::*;
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::facts::{ClusterEvent, PodPhase, Severity};
use crate::engine::model::settings::Secs;
use crate::engine::report::diagnosis::Diagnosis;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::rules::recognise::told_of_starts;

/// Four nodes, the first of which was just taken; its replacement gets ready only when it is told to.
pub(super) fn one_taken() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(4, 1);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run(&mut fake);
    assert_eq!(fake.deleted.len(), 1);
    (fake, console)
}

/// The pod that was taken from the first node is gone, and its kubelet has the next one, which has not begun: its uid.
pub(super) fn replaced_and_not_begun(fake: &mut FakeCluster, console: &mut FakeConsole) -> Str {
    let gone: Vec<_> = fake.pods.values().filter(|pod| pod.deletion_at.is_some()).cloned().collect();
    fake.take_pod(&gone[0].uid);
    console.run(fake);
    fake.create_pod("n1");
    fake.change_pod("n1", |pod| {
        (pod.bound, pod.phase) = (true, PodPhase::Pending);
        pod.containers[0].image_present = false;
        pod.containers[0].state = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
    });
    fake.pods.values().find(|pod| pod.node.as_deref() == Some("n1")).unwrap().uid.clone()
}

#[test]
fn a_pod_that_ends_says_how_long_it_has_and_what_keeps_it() {
    let (mut fake, mut console) = one_taken();
    let now = fake.now;
    fake.change_pod("n1", |pod| {
        pod.deletion_at = Some(now + std::time::Duration::from_secs(30));
        pod.deletion_grace_secs = Some(30);
    });
    assert_eq!(console.state(&fake, "n1"), (NodeState::Terminating, "grace 30s, 30s left".into()));
    fake.wait(18);
    assert_eq!(console.state(&fake, "n1").1, "grace 30s, 12s left");
    fake.wait(20);
    assert_eq!(console.state(&fake, "n1").1, "grace over for 8s, its kubelet has not ended it");
    fake.wait(60);
    assert_eq!(
        console.state(&fake, "n1").1,
        "stuck terminating; grace over for 1m, its kubelet has not ended it",
        "past its grace and the time to clean up"
    );
    fake.change_pod("n1", |pod| {
        pod.finalizers = ["example.com/hold".into()].into();
        pod.deletion_grace_secs = Some(0);
    });
    assert_eq!(console.state(&fake, "n1").1, "kept by finalizer example.com/hold");
    let cause = |console: &mut FakeConsole, fake: &FakeCluster| {
        let snapshot = console.snapshot(fake);
        snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap().cause.clone().unwrap()
    };
    let found = cause(&mut console, &fake);
    assert_eq!(
        (found.kind, found.message.as_deref()),
        (CauseKind::HeldByFinalizers, Some("finalizer example.com/hold"))
    );
    fake.change_pod("n1", |pod| pod.deletion_grace_secs = Some(30));
    console.state(&fake, "n1");
    assert_eq!(cause(&mut console, &fake).kind, CauseKind::StuckTerminating, "its kubelet has not ended it");
}

/// The DaemonSet's own controller deletes old pods that lose readiness with their node: nobody there ends them.
#[test]
fn a_pod_that_is_deleted_on_a_node_that_is_down_is_not_called_down_by_itself() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    fake.set_template(super::super::fake_cluster::template("agent:v2"));
    fake.reconcile();
    fake.set_node_ready("n1", false);
    fake.set_node_ready("n2", false);
    fake.set_ready("n1", false);
    fake.set_ready("n2", false);
    assert_eq!(console.state(&fake, "n1"), (NodeState::NodeDown, "NotReady, by itself".into()));
    let now = fake.now;
    fake.change_pod("n1", |pod| pod.deletion_at = Some(now));
    fake.wait(70);
    let why = "NotReady for 1m; pod deleted, not ended yet";
    assert_eq!(console.state(&fake, "n1"), (NodeState::NodeDown, why.into()));
    assert_eq!(console.state(&fake, "n2").1, "NotReady for 1m, by itself");
    let snapshot = console.snapshot(&fake);
    let blamed = |name: &str| snapshot.nodes.iter().find(|node| &*node.name == name).unwrap().blame;
    assert_eq!(blamed("n1"), Some(Blame::Rollout), "its controller took the pod");
    assert_eq!(blamed("n2"), Some(Blame::Node));
}

/// What only Events tell is a cause until the pod begins, and not a moment longer.
#[test]
fn a_volume_or_a_sandbox_is_the_cause_until_the_pod_begins() {
    let (mut fake, mut console) = one_taken();
    let uid = replaced_and_not_begun(&mut fake, &mut console);
    let tell = |console: &mut FakeConsole, fake: &FakeCluster, version: u64, reason: &str| {
        let event = ClusterEvent {
            version: Some(version),
            object: uid.clone(),
            reason: reason.into(),
            message: format!("{reason}: Pulling image \"agent:v2\"").into(),
            at: fake.now,
            first_at: None,
            count: 1,
            ..ClusterEvent::default()
        };
        console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
    };
    let cause = |console: &mut FakeConsole, fake: &FakeCluster| {
        let snapshot = console.snapshot(fake);
        let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap().clone();
        node.cause.map(|cause| cause.kind)
    };
    tell(&mut console, &fake, 7, "FailedMount");
    assert_eq!(cause(&mut console, &fake), Some(CauseKind::VolumeMount));
    tell(&mut console, &fake, 8, "SuccessfulAttachVolume");
    assert_eq!(cause(&mut console, &fake), None, "it is attached");
    tell(&mut console, &fake, 9, "FailedCreatePodSandBox");
    tell(&mut console, &fake, 9, "SuccessfulAttachVolume");
    assert_eq!(cause(&mut console, &fake), Some(CauseKind::PodSandbox), "the later one");
    tell(&mut console, &fake, 8, "FailedMount");
    assert_eq!(cause(&mut console, &fake), Some(CauseKind::PodSandbox), "it came late");
    tell(&mut console, &fake, 10, "Pulling");
    assert_eq!(cause(&mut console, &fake), None, "it pulls, so the sandbox is there");
    tell(&mut console, &fake, 9, "FailedCreatePodSandBox");
    assert_eq!(cause(&mut console, &fake), None, "it came late");
    tell(&mut console, &fake, 11, "FailedCreatePodSandBox");
    assert_eq!(cause(&mut console, &fake), Some(CauseKind::PodSandbox), "the sandbox was made anew");
    fake.change_pod("n1", |pod| {
        pod.phase = PodPhase::Running;
        pod.containers[0].image_present = true;
        pod.containers[0].state = ContainerState::Running { since: None };
    });
    assert_ne!(cause(&mut console, &fake), Some(CauseKind::PodSandbox));
    tell(&mut console, &fake, 12, "FailedMount");
    assert_ne!(cause(&mut console, &fake), Some(CauseKind::VolumeMount), "a pod that runs has its volumes");
}

/// Each word by which a cause is recognised in Events of a pod that has not begun is read off such an Event.
#[test]
fn whatever_events_tell_of_a_start_is_the_cause_of_a_pod_that_does_not_begin() {
    let told: Vec<_> = told_of_starts().collect();
    assert!(told.len() >= 5, "{told:?}");
    // Each, and the words of each message under every other reason, which stands for what it stands for by itself.
    let mut events: Vec<_> = told.iter().map(|words| (words.reason, words.message, words.cause)).collect();
    for words in told.iter().filter(|words| !words.message.is_empty()) {
        let alone = told.iter().filter(|other| other.message.is_empty() && other.reason != words.reason);
        let alone =
            alone.filter(|other| !told.iter().any(|it| it.message == words.message && it.reason == other.reason));
        events.extend(alone.map(|other| (other.reason, words.message, other.cause)));
    }
    for (reason, message, kind) in events {
        let (mut fake, mut console) = one_taken();
        let uid = replaced_and_not_begun(&mut fake, &mut console);
        let message = if message.is_empty() { "it does not start" } else { message };
        let event = ClusterEvent {
            version: Some(7),
            object: uid,
            reason: reason.into(),
            message: message.into(),
            at: fake.now,
            first_at: None,
            count: 1,
            ..ClusterEvent::default()
        };
        console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
        let snapshot = console.snapshot(&fake);
        let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
        let cause = node.cause.as_ref().map(|cause| (cause.kind, cause.message.as_deref()));
        assert_eq!(cause, Some((kind, Some(message))), "{reason}: {message}");
    }
}

#[test]
fn a_new_pod_says_what_it_waits_for_until_it_is_available() {
    let (mut fake, mut console) = one_taken();
    fake.daemonset.min_ready_secs = 0;
    let gone: Vec<_> = fake.pods.values().filter(|pod| pod.deletion_at.is_some()).cloned().collect();
    fake.take_pod(&gone[0].uid);
    console.run(&mut fake);
    fake.wait(14);
    assert_eq!(
        console.state(&fake, "n1"),
        (NodeState::Creating, "no pod for 14s: its controller has created none".into())
    );
    fake.create_pod("n1");
    let begun = fake.pods.values().find(|pod| pod.node.as_deref() == Some("n1")).unwrap().containers.clone();
    let mut as_reported = |fake: &mut FakeCluster,
                           bound: bool,
                           containers: &[crate::engine::model::facts::ContainerFact],
                           want: &str| {
        fake.change_pod("n1", |pod| {
            (pod.bound, pod.phase) = (bound, PodPhase::Pending);
            pod.containers = containers.to_vec();
        });
        let at_once = want.split_once(" for ").map_or(want, |(words, _)| words);
        assert!(console.state(fake, "n1").1.starts_with(at_once) && !console.state(fake, "n1").1.contains("for 0s"));
        fake.wait(12);
        assert_eq!(console.state(fake, "n1").1, want);
    };
    as_reported(&mut fake, false, &[], "not scheduled for 12s: its scheduler says nothing of it");
    as_reported(&mut fake, true, &[], "its kubelet has not begun it for 24s");
    let mut waiting = begun.clone();
    waiting[0].image_present = false;
    waiting[0].state = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
    as_reported(&mut fake, true, &waiting, "ContainerCreating (agent)");
    waiting[0].state = ContainerState::Waiting { reason: "PodInitializing".into(), message: None };
    as_reported(&mut fake, true, &waiting, "PodInitializing (agent)");
    let mut running = begun;
    running[0].state = ContainerState::Running { since: Some(fake.now) };
    fake.change_pod("n1", |pod| pod.phase = PodPhase::Running);
    as_reported(&mut fake, true, &running, "agent runs for 12s, not ready");
}

#[test]
fn a_pod_that_soaks_says_how_far_it_is() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let soak = Tuning { soak_secs: Some(Secs(30)), ..Default::default() };
    console.ask(&mut fake, Command::Tune(soak)).unwrap();
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 1);
    assert_eq!(console.state(&fake, "n1"), (NodeState::Soaking, "ready for 0s of 30s".into()));
    fake.wait(12);
    assert_eq!(console.state(&fake, "n1").1, "ready for 12s of 30s");
    // Who looks for the first time knows it only by the kubelet's clock, once that was measured.
    let late = |fake: &FakeCluster| FakeConsole::open(fake, "late").state(fake, "n1").1;
    // Whoever drives has counted before, or begins once it drives: who looks only cannot say when.
    assert_eq!(late(&fake), "ready since an unknown time: available once whoever drives has seen it so for 30s");
    fake.change_node("n1", |node| node.clock_skew_millis = Some(0));
    assert_eq!(late(&fake), "ready for 12s of 30s");
    fake.change_node("n1", |node| node.clock_skew_millis = None);
    let written_at = fake.now;
    fake.change_pod("n1", |pod| pod.status_written_at = Some(written_at));
    fake.wait(18);
    assert_eq!(console.state(&fake, "n1"), (NodeState::Updated, String::new()));
    // The API server dates the last write of the status itself, in whole seconds.
    let late = |fake: &FakeCluster| {
        let mut console = FakeConsole::open(fake, "late");
        console.engine.observe(Event::Skew(0), fake.now);
        console.state(fake, "n1").0
    };
    fake.wait(12);
    assert_eq!(late(&fake), NodeState::Soaking, "30 s after the write");
    fake.wait(1);
    assert_eq!(late(&fake), NodeState::Updated);
}

#[test]
fn what_is_being_prepared_says_what_it_waits_for() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let waits = |console: &mut FakeConsole, fake: &FakeCluster| {
        let guidance = console.snapshot(fake).guidance();
        guidance.map(|guidance| guidance.waits).unwrap_or_default()
    };
    // The controller does not follow.
    fake.lazy = true;
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    let _unsettled = console.ask(&mut fake, Command::SetImage(images));
    fake.wait(14);
    console.run(&mut fake);
    let adopted =
        format!("preparing for 14s: waits for its controller to observe generation {}", fake.daemonset.generation);
    assert_eq!(
        waits(&mut console, &fake),
        format!("{adopted} (at {})", fake.daemonset.observed_generation),
        "who waits for the controller says so"
    );
    fake.lazy = false;
    fake.reconcile();
    console.run_for(&mut fake, 3);
    assert_eq!(waits(&mut console, &fake), "held: no node may be updated yet");
}

/// An operator answers a failure with another image. The node is outdated then, and what is said of it is what it fails of: that has not
/// just begun.
#[test]
fn another_target_does_not_make_a_trouble_younger() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 120);
    let failed = console.snapshot(&fake).nodes.iter().find(|node| node.state == NodeState::Failed).cloned().unwrap();
    console.set_image(&mut fake, "agent:v3");
    console.run_for(&mut fake, 5);
    let snapshot = console.snapshot(&fake);
    let now = snapshot.nodes.iter().find(|node| node.name == failed.name).unwrap();
    assert_eq!((now.state, now.since), (NodeState::Outdated, failed.cause_since), "{:?}", now.cause);
}

/// A new version loses its readiness after the soak. That is no start in the ordinary course: it is told, counted from when the pod ceased to
/// be ready, and the node says nothing any more of how long an update takes.
#[test]
fn a_pod_that_was_ready_and_is_not_any_more_is_in_trouble() {
    let mut fake = FakeCluster::rolling(6, 3);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 120);
    let node = fake.deleted[0].clone();
    fake.set_ready(&node, false);
    let lost_at = fake.now;
    console.run_for(&mut fake, 30);
    let snapshot = console.snapshot(&fake);
    let view = snapshot.nodes.iter().find(|view| view.name == node).unwrap();
    assert_eq!((view.state, view.lost_readiness), (NodeState::Starting, true));
    let age = view.since.map(|since| since.since(lost_at));
    assert!(age.is_some_and(|after| after.as_secs() <= 1), "{:?}", view.since);
    let found = Diagnosis::of(&snapshot).findings;
    assert!(
        found.iter().any(|finding| finding.severity == Severity::Warning && finding.nodes.contains(&node)),
        "{found:?}"
    );
    // The others start for the first time.
    assert!(snapshot.nodes.iter().filter(|view| view.name != node).all(|view| !view.lost_readiness));
}

/// Between a command that drives and the lease for it nobody drives: that is said, also where nodes that may come back are all that moves.
/// Found by the attack (seed 1001540).
#[test]
fn what_waits_for_the_lease_says_so() {
    let fake = FakeCluster::rolling(3, 1);
    let snapshot = FakeConsole::open(&fake, "ops").snapshot(&fake);
    let waiting =
        |holder| Snapshot { phase: Phase::Running, driver: DriverView::Waiting { holder }, ..snapshot.clone() };
    let said = waiting(None).guidance().expect("it waits");
    assert_eq!((&*said.waits, said.remedies.len()), ("nobody drives yet: waits for the lease", 0));
    assert_eq!(waiting(Some("ada".into())).guidance(), None, "ada drives still");
}

/// A scheduler that stands still: what is said of the pod, and that none is taken down beside it then, although the budget would allow one more.
#[test]
fn a_pod_that_no_scheduler_looks_at_holds_the_others_after_a_while() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 2);
    let node = fake.deleted[0].clone();
    fake.change_pod(&node, |pod| {
        (pod.bound, pod.phase) = (false, PodPhase::Pending);
        pod.containers.clear();
    });
    console.run_for(&mut fake, 40);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 5);
    let snapshot = console.snapshot(&fake);
    let late = snapshot.nodes.iter().find(|known| *known.name == *node).unwrap();
    assert_eq!(late.cause.as_ref().map(|cause| cause.kind), Some(CauseKind::SchedulerIdle));
    assert!(console.state(&fake, &node).1.ends_with("its scheduler says nothing of it"));
    assert_eq!(fake.deleted.len(), 1);
}
