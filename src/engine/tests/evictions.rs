//! Pods at the new revision that their kubelets evict, because the node is short of memory or of disk space. Their controller makes new ones at once.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::command::{Command, Step};
use crate::engine::model::event::Watched;
use crate::engine::model::node::NodeState;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Secs, Tuning};
use crate::engine::report::diagnosis::Diagnosis;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};
use crate::engine::report::story::Story;
use crate::engine::report::trouble::TroubleKind;

/// What a kubelet says of a pod that it evicts for its memory use.
const MEMORY: &str = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 42932Ki. Container agent was using 912Mi, \
                      request is 64Mi, has larger consumption of memory.";
/// What a kubelet says of a pod that it does not admit.
const DISK: &str = "The node had condition: [DiskPressure].";

/// Nodes of which one is updated; all may be.
fn one_updated(nodes: usize) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(nodes, 2);
    fake.defaults = Tuning::default();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, u32::try_from(nodes - 1).unwrap());
    console.run_for(&mut fake, 150);
    assert_eq!(console.state(&fake, "n1").0, NodeState::Updated);
    (fake, console)
}

fn n1(snapshot: &Snapshot) -> &NodeView {
    snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap()
}

/// The pod of the updated node is evicted, and the next one is made.
fn evict_n1(fake: &mut FakeCluster, console: &mut FakeConsole) {
    fake.evict("n1", MEMORY);
    console.run_for(fake, 2);
    fake.replace_failed();
    console.run_for(fake, 2);
}

/// Each pod serves for two minutes, which is longer than any soak by default: without a count of the evictions all nodes would be updated.
#[test]
fn a_revision_whose_pods_are_evicted_again_and_again_does_not_go_on_to_all_nodes() {
    let (mut fake, mut console) = one_updated(80);
    console.partition(&mut fake, 0);
    for _ in 0..120 {
        for node in fake.nodes_that_serve("hash2", 120) {
            fake.evict(&node, MEMORY);
        }
        console.run_for(&mut fake, 2);
        fake.replace_failed();
        console.run_for(&mut fake, 3);
    }
    let snapshot = console.snapshot(&fake);
    let halt = snapshot.halt.as_ref().expect("the rollout halts");
    assert!(halt.why.starts_with("evicted by kubelet on "), "{}", halt.why);
    assert!(fake.at("hash2") < 60, "{}", fake.at("hash2"));
}

#[test]
fn an_eviction_counts_as_a_restart_of_the_next_pod() {
    let (mut fake, mut console) = one_updated(20);
    evict_n1(&mut fake, &mut console);
    let snapshot = console.snapshot(&fake);
    let node = n1(&snapshot);
    assert_eq!((node.restarts, node.counted_restarts(), node.evictions()), (0, 1, 1));
    assert_eq!(console.state(&fake, "n1"), (NodeState::Soaking, "1 eviction; ready for 2s of 10s".into()));
    assert_eq!(snapshot.at_restarts_in_words(node).as_deref(), Some("halts at 3 evictions (1 now)"));
    assert_eq!(TroubleKind::of(node), Some(TroubleKind::Struggling(CauseKind::Evicted)));
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    let one_holds_nothing_up = fake.at("hash2");
    assert!(one_holds_nothing_up > 5, "{one_holds_nothing_up}");

    evict_n1(&mut fake, &mut console);
    let node = n1(&console.snapshot(&fake)).clone();
    let found = Diagnosis::of(&console.snapshot(&fake)).findings;
    let found = found.iter().find(|finding| finding.nodes.contains(&node.name)).unwrap();
    let advice = format!("{:?}", found.remedies);
    assert!(advice.contains("free what its node is short of"), "{advice}");
    let commands = format!("{:?}", found.commands);
    assert!(!commands.contains("Log"), "no log is left of an evicted pod: {commands}");
    let deleted = fake.deleted.len();
    console.run_for(&mut fake, 50);
    assert_eq!(fake.deleted.len(), deleted, "after two within ten minutes no serving pod is replaced");

    evict_n1(&mut fake, &mut console);
    let snapshot = console.snapshot(&fake);
    let cause = n1(&snapshot).cause.clone().unwrap();
    assert_eq!((snapshot.phase.clone(), cause.kind), (Phase::Halted, CauseKind::Evicted));
    assert_eq!(&*cause.message.unwrap(), format!("3 evictions (max 2); {MEMORY}"));
    let why = Why { node: n1(&snapshot), at: snapshot.at };
    assert_eq!(why.to_string(), "3 evictions; evicted by kubelet");
    assert_eq!(
        why.with_message(),
        format!("3 evictions (max 2); evicted by kubelet: {MEMORY}"),
        "how often is said once"
    );
}

/// A soak that is longer than the ten minutes is what is waited for, and what is said.
#[test]
fn where_the_soak_is_longer_the_pod_has_to_stay_up_for_that_time() {
    let (mut fake, mut console) = one_updated(20);
    let longer = Tuning { soak_secs: Some(Secs(1200)), progress_deadline_secs: Some(Secs(3600)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(longer)).unwrap();
    evict_n1(&mut fake, &mut console);
    console.run_for(&mut fake, 20);
    evict_n1(&mut fake, &mut console);
    console.run_for(&mut fake, 700);
    assert!(n1(&console.snapshot(&fake)).restarted.is_some(), "it is watched for longer than ten minutes");
    assert_eq!(console.snapshot(&fake).restarts_watched_for().as_secs(), 1200);
    let step = Command::Step(Step::Partition(IntOrPercent::Int(0)));
    let preview = console.engine.preview(&step, fake.now).unwrap();
    let lines: Vec<&String> = preview.effects.iter().chain(&preview.warnings).collect();
    let says =
        "the pods of n1 were evicted 2× since its update: no serving pod is replaced until it has stayed up for 20m.";
    assert!(lines.iter().any(|line| *line == says), "{lines:?}");
}

#[test]
fn evictions_that_are_far_apart_do_not_add_up() {
    let (mut fake, mut console) = one_updated(20);
    for _ in 0..5 {
        evict_n1(&mut fake, &mut console);
        let snapshot = console.snapshot(&fake);
        assert_eq!((n1(&snapshot).evictions(), &snapshot.halt), (1, &None));
        console.run_for(&mut fake, 700);
        assert_eq!(console.state(&fake, "n1").0, NodeState::Updated, "it has stayed up for ten minutes");
    }
}

#[test]
fn evictions_and_crashes_of_one_node_add_up() {
    let (mut fake, mut console) = one_updated(20);
    evict_n1(&mut fake, &mut console);
    for _ in 0..2 {
        fake.crash("n1");
        console.run_for(&mut fake, 5);
        fake.restart("n1");
        console.run_for(&mut fake, 5);
    }
    let snapshot = console.snapshot(&fake);
    let cause = n1(&snapshot).cause.clone().unwrap();
    assert_eq!((snapshot.phase.clone(), cause.kind), (Phase::Halted, CauseKind::CrashLoop));
    assert_eq!(&*cause.message.unwrap(), "3 restarts and evictions (max 2); agent ended with exit 1");
    let why = Why { node: n1(&snapshot), at: snapshot.at };
    assert_eq!(why.to_string(), "exit 1, 3 restarts and evictions; crash loop");
    assert_eq!(why.with_message(), "exit 1, 3 restarts and evictions (max 2); crash loop", "nor how it ended");
}

/// Its controller replaces an evicted pod within moments, so that nobody may see the pod that failed.
#[test]
fn an_eviction_is_told_once_whether_its_pod_was_seen_or_not() {
    let (mut fake, mut console) = one_updated(20);
    let mut story = Story::default();
    story.observe(&console.snapshot(&fake));
    fake.evict("n1", MEMORY);
    fake.replace_failed();
    for _ in 0..3 {
        console.run_for(&mut fake, 1);
        story.observe(&console.snapshot(&fake));
    }
    fake.evict("n1", MEMORY);
    for _ in 0..3 {
        console.run_for(&mut fake, 1);
        story.observe(&console.snapshot(&fake));
        fake.replace_failed();
    }
    let told: Vec<String> = story.of_node("n1").map(|moment| moment.change.to_string()).collect();
    let evicted: Vec<&String> = told.iter().filter(|told| told.contains("evicted")).collect();
    assert_eq!(evicted.len(), 2, "{told:?}");
    assert_eq!(evicted[0], "its kubelet evicted its pod (eviction 1)");
    assert!(evicted[1].contains("evicted by kubelet"), "{told:?}");
}

/// The kubelet of the updated node evicts the pod, because its disk is full, and then admits none for a while. It is tried again and again.
fn disk_is_full(fake: &mut FakeCluster, console: &mut FakeConsole, secs: u64) {
    fake.evict("n1", "The node was low on resource: ephemeral-storage.");
    fake.rejecting.insert("n1".into());
    for _ in 0..secs / 10 {
        console.run_for(fake, 4);
        fake.replace_failed();
        console.run_for(fake, 1);
        fake.evict("n1", DISK);
        console.run_for(fake, 5);
    }
}

#[test]
fn a_node_short_of_disk_space_holds_the_rollout_and_does_not_halt_it() {
    let (mut fake, mut console) = one_updated(20);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 15);
    let deleted = fake.deleted.len();
    disk_is_full(&mut fake, &mut console, 400);
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.phase, &snapshot.halt), (&Phase::Running, &None));
    let node = n1(&snapshot);
    assert_eq!(node.cause.as_ref().map(|cause| cause.kind), Some(CauseKind::Evicted));
    let ages = [node.since, node.cause_since].map(|since| snapshot.at.since(since.unwrap()).as_secs());
    assert!(ages.iter().all(|age| (395..=402).contains(age)), "as old as the first of these pods: {ages:?}");
    assert!(
        fake.deleted.len() <= deleted + 2,
        "no serving pod is replaced meanwhile: {}",
        fake.deleted.len() - deleted
    );
    // Its kubelet has made room.
    fake.rejecting.clear();
    fake.replace_failed();
    console.run_for(&mut fake, 900);
    assert_eq!(fake.at("hash2"), 20);
}

/// Each pod is young: the deadline runs from the first one.
#[test]
fn a_node_that_stays_short_of_disk_space_fails_at_the_deadline() {
    let (mut fake, mut console) = one_updated(20);
    disk_is_full(&mut fake, &mut console, 580);
    assert_eq!(console.snapshot(&fake).halt, None);
    disk_is_full(&mut fake, &mut console, 60);
    let snapshot = console.snapshot(&fake);
    let cause = n1(&snapshot).cause.clone().unwrap();
    assert_eq!((snapshot.phase, cause.kind), (Phase::Halted, CauseKind::Deadline));
    assert_eq!(&*cause.message.unwrap(), format!("evicted by kubelet: {DISK}"));
}

/// What is said of n1, and what is found out about it and about the rollout.
fn judged(console: &mut FakeConsole, fake: &FakeCluster) -> (String, Vec<String>, Vec<String>) {
    let snapshot = console.snapshot(fake);
    let (state, words) = console.state(fake, "n1");
    let found = Diagnosis::of(&snapshot).findings.iter().map(|finding| format!("{finding:?}")).collect();
    let step = Command::Step(Step::Partition(IntOrPercent::Int(0)));
    let preview = console.engine.preview(&step, fake.now).unwrap();
    let says_who_drives = |line: &&String| line.starts_with("ops@");
    let lines =
        preview.effects.iter().chain(&preview.warnings).filter(|line| !says_who_drives(line)).cloned().collect();
    (format!("{state:?}: {words}"), found, lines)
}

/// The pods that were evicted are gone: who begins to look later knows of them by the record alone.
#[test]
fn who_begins_to_look_after_evictions_judges_as_the_driver_does() {
    let (mut fake, mut console) = one_updated(20);
    for times in 1..=2 {
        evict_n1(&mut fake, &mut console);
        console.run_for(&mut fake, 20);
        let mut other = FakeConsole::open(&fake, "eve");
        // Until it has seen the pod ready for the soak time, as the driver has.
        other.run_for(&mut fake, 20);
        console.run_for(&mut fake, 1);
        other.run_for(&mut fake, 1);
        let (driver, newcomer) = (judged(&mut console, &fake), judged(&mut other, &fake));
        assert!(driver.0.contains(&format!("{times} eviction")), "{driver:?}");
        assert_eq!(newcomer, driver, "after {times}");
    }
    console.run_for(&mut fake, 660);
    assert_eq!(console.state(&fake, "n1").0, NodeState::Updated);
    let record = fake.lease.as_ref().unwrap().record.clone().unwrap().unwrap();
    assert!(record.progress.evicted.is_empty(), "nothing of it is recorded once it does not count");
}

#[test]
fn the_next_driver_counts_on_from_the_evictions_that_the_last_one_saw() {
    let (mut fake, mut console) = one_updated(20);
    for _ in 0..2 {
        evict_n1(&mut fake, &mut console);
        console.run_for(&mut fake, 10);
    }
    drop(console);
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 60);
    let deleted = fake.deleted.len();
    next.partition(&mut fake, 0);
    next.run_for(&mut fake, 60);
    assert_eq!(fake.deleted.len(), deleted, "after two within ten minutes no serving pod is replaced");
    evict_n1(&mut fake, &mut next);
    let snapshot = next.snapshot(&fake);
    let cause = n1(&snapshot).cause.clone().unwrap();
    assert_eq!((snapshot.phase, cause.kind), (Phase::Halted, CauseKind::Evicted));
    assert_eq!(&*cause.message.unwrap(), format!("3 evictions (max 2); {MEMORY}"));
    // Who drives after the halt reads the same.
    drop(next);
    let mut third = FakeConsole::open(&fake, "ops");
    third.run_for(&mut fake, 60);
    let snapshot = third.snapshot(&fake);
    let cause = n1(&snapshot).cause.clone().unwrap();
    assert_eq!((snapshot.phase, cause.kind), (Phase::Halted, CauseKind::Evicted));
    assert_eq!(&*cause.message.unwrap(), format!("3 evictions (max 2); {MEMORY}"));
}

/// What is recorded is about the pod that is there, and not about one that somebody deleted it for.
#[test]
fn a_pod_that_somebody_deletes_takes_the_recorded_evictions_with_it() {
    let (mut fake, mut console) = one_updated(20);
    for _ in 0..2 {
        evict_n1(&mut fake, &mut console);
        console.run_for(&mut fake, 10);
    }
    fake.remove_pod("n1");
    fake.create_pod("n1");
    console.run_for(&mut fake, 30);
    assert_eq!(n1(&console.snapshot(&fake)).evictions(), 0);
    let mut other = FakeConsole::open(&fake, "eve");
    other.run_for(&mut fake, 5);
    assert_eq!(n1(&other.snapshot(&fake)).evictions(), 0);
}

/// The uids of the pods for which evictions are recorded, and how many.
fn recorded(fake: &FakeCluster) -> Vec<(String, u32)> {
    let record = fake.lease.as_ref().unwrap().record.clone().unwrap().unwrap();
    record.progress.evicted.iter().map(|(node, before)| (node.to_string(), before.times)).collect()
}

/// Of a silent kubelet, or between two pods, nothing is heard that ends what counts.
#[test]
fn what_is_recorded_outlives_a_silent_kubelet_and_the_gap_between_two_pods() {
    let (mut fake, mut console) = one_updated(20);
    for _ in 0..2 {
        evict_n1(&mut fake, &mut console);
        console.run_for(&mut fake, 10);
    }
    let twice = vec![("n1".to_owned(), 2)];
    assert_eq!(recorded(&fake), twice);
    fake.set_node_ready("n1", false);
    console.run_for(&mut fake, 30);
    assert_eq!(recorded(&fake), twice, "its kubelet is silent");
    fake.set_node_ready("n1", true);
    console.run_for(&mut fake, 30);
    fake.evict("n1", MEMORY);
    console.run_for(&mut fake, 10);
    assert!(recorded(&fake).iter().any(|(node, times)| node == "n1" && *times >= 2), "the next pod is not there");
    fake.replace_failed();
    console.run_for(&mut fake, 5);
    assert_eq!(recorded(&fake), [("n1".to_owned(), 3)]);
}

/// Who drives next may get the Lease before it has seen a pod.
#[test]
fn a_driver_that_cannot_see_pods_yet_forgets_no_evictions() {
    let (mut fake, mut console) = one_updated(20);
    for _ in 0..2 {
        evict_n1(&mut fake, &mut console);
        console.run_for(&mut fake, 10);
    }
    drop(console);
    let mut next = FakeConsole::open_all_but(&fake, "eve", Watched::Pods);
    next.run_for(&mut fake, 90);
    assert_eq!(recorded(&fake), [("n1".to_owned(), 2)]);
    next.load(&fake);
    next.run_for(&mut fake, 30);
    assert_eq!(n1(&next.snapshot(&fake)).evictions(), 2);
}
