//! What happened node by node, found by comparing snapshots.

use super::super::fake_cluster::template;
use super::*;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::effect::Effect;
use crate::engine::model::facts::{PodPhase, Severity};
use crate::engine::model::node::ImageState;
use crate::engine::model::record::{Halt, HaltingGate};
use crate::engine::model::settings::{Secs, Tuning};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::story::{NodeChange, NodeMoment, ProgressPoint, Story};

/// Runs for so long, and has `story` see each second.
pub(super) fn watch(story: &mut Story, console: &mut FakeConsole, fake: &mut FakeCluster, secs: u64) {
    for _ in 0..secs {
        console.run_for(fake, 1);
        story.observe(&console.snapshot(fake));
    }
}

pub(super) fn told(story: &Story, node: &str) -> Vec<String> {
    story.of_node(node).map(|moment| moment.change.to_string()).collect()
}

/// How many nodes were updated at `at`.
fn updated_at(progress: &[ProgressPoint], at: Timestamp) -> u32 {
    progress.iter().take_while(|point| point.at <= at).last().map_or(0, ProgressPoint::done)
}

#[test]
fn a_node_is_told_from_the_deletion_of_its_pod_to_its_update() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    assert_eq!(story.moments().count(), 0, "nothing happened yet");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    watch(&mut story, &mut console, &mut fake, 120);
    assert_eq!(fake.at("hash2"), 6);
    for node in 1..=6 {
        let told = told(&story, &format!("n{node}"));
        assert!(told.last().is_some_and(|last| last.contains("updated")), "n{node}: {told:?}");
    }
    assert!(story.moments().all(|moment| moment.change.severity() == Severity::Normal));
    assert!(story.moments().zip(story.moments().skip(1)).all(|(first, second)| first.at <= second.at));
    let progress = story.progress();
    assert!(progress.iter().all(|point| point.unavailable().unwrap() <= 1 && point.nodes == 6), "{progress:?}");
    assert_eq!(progress.last().unwrap().done(), 6);

    // How long a node was down is told where it ends.
    fake.set_ready("n1", false);
    watch(&mut story, &mut console, &mut fake, 7);
    assert_eq!(story.progress().last().map(|point| (point.done(), point.unavailable())), Some((5, Some(1))));
    fake.set_ready("n1", true);
    watch(&mut story, &mut console, &mut fake, 2);
    let told = told(&story, "n1");
    let again =
        told.last().and_then(|last| last.strip_prefix("well again, updated, ")?.strip_suffix(" after it went down"));
    assert!(again.is_some_and(|down| ["6s", "7s", "8s"].contains(&down)), "{told:?}");
    assert_eq!(story.progress().last().map(|point| (point.done(), point.unavailable())), Some((6, Some(0))));
}

#[test]
fn what_was_not_watched_is_read_off_the_pods() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.defaults = Tuning { soak_secs: Some(Secs(10)), ..Tuning::default() };
    let mut console = FakeConsole::open(&fake, "ops");
    let mut seen = Story::default();
    watch(&mut seen, &mut console, &mut fake, 2);
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 2);
    watch(&mut seen, &mut console, &mut fake, 120);
    let snapshot = console.snapshot(&fake);
    let read = Story::reconstructed(&snapshot, |_| None);
    assert_eq!(snapshot.counts.updated, 4);
    // Both agree on when how many nodes were updated, to two seconds: a watch tells a little later than it happens. A pod that is ready
    // soaks before its node counts as updated.
    let soak = snapshot.settings.gates.soak_secs;
    assert!(soak > Secs(0));
    let began = snapshot.started_at.unwrap();
    for secs in 1..120 {
        let at = began + std::time::Duration::from_secs(secs);
        let late = |late| at + std::time::Duration::from(soak) + std::time::Duration::from_secs(late);
        let near = [0, 1, 2].map(|secs| updated_at(seen.progress(), late(secs)));
        // Of the last look it is known how many are updated.
        let said = updated_at(read.progress(), at);
        assert!(near.contains(&said), "after {secs}s: {said}, seen {near:?}");
    }
    let (last, earlier) = read.progress().split_last().unwrap();
    assert_eq!((last.done(), last.unavailable(), last.nodes), (4, Some(0), 6));
    assert!(earlier.iter().all(|point| point.unavailable().is_none()), "nothing tells that: {earlier:?}");
    let ready = |moment: &&NodeMoment| moment.change == NodeChange::ReadySince;
    assert_eq!(read.moments().filter(ready).count(), 4);

    // Where the deletion of a pod is known, its node is down from then on.
    let node = read.moments().find(ready).unwrap().node.clone();
    let made = snapshot.nodes.iter().find(|known| known.name == node).unwrap().pod_created_at.unwrap();
    let earlier = made - std::time::Duration::from_secs(1);
    let with_log = Story::reconstructed(&snapshot, |name| (name == &*node).then_some(earlier));
    let first = with_log.of_node(&node).next().unwrap();
    assert_eq!((first.at, first.change.to_string().as_str()), (earlier, "its pod is going"));
    // What cannot be is not believed: a pod is not deleted after its successor was made.
    let wrong = Story::reconstructed(&snapshot, |_| Some(snapshot.at));
    assert_eq!(wrong.progress(), read.progress());
}

/// A pod that lost readiness and is ready again tells the later time only: that its node was down in between was never so.
#[test]
fn a_pod_that_became_ready_again_was_not_unavailable_all_the_time() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.run_for(&mut fake, 2);
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 200);
    for node in ["n1", "n2", "n3", "n4"] {
        fake.set_ready(node, false);
        console.run_for(&mut fake, 2);
        fake.set_ready(node, true);
        console.run_for(&mut fake, 20);
    }
    let read = Story::reconstructed(&console.snapshot(&fake), |_| None);
    let unavailable: Vec<u32> = read.progress().iter().filter_map(ProgressPoint::unavailable).collect();
    assert_eq!(unavailable, [0], "what is seen now");
    let words: Vec<String> = read.moments().map(|moment| moment.change.to_string()).collect();
    assert!(words.iter().all(|words| !words.contains("went down")), "{words:?}");
    // It was ready then, and may have been before.
    let since = console.snapshot(&fake).nodes.iter().find(|node| &*node.name == "n1").unwrap().since.unwrap();
    assert_eq!(read.of_node("n1").next_back().unwrap().at, since);
}

/// The soak is in the record, and the record goes with the end of the rollout.
#[test]
fn what_is_read_off_the_pods_is_the_same_before_and_after_the_end_of_a_rollout() {
    let mut fake = FakeCluster::rolling(4, 1);
    fake.defaults = Tuning { soak_secs: Some(Secs(10)), ..Tuning::default() };
    let mut console = FakeConsole::open(&fake, "ops");
    console.run_for(&mut fake, 2);
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 1);
    console.run_for(&mut fake, 120);
    let while_it_runs = console.snapshot(&fake);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 120);
    let afterwards = console.snapshot(&fake);
    assert!(while_it_runs.started_at.is_some() && afterwards.started_at.is_none());
    assert!(while_it_runs.settings.gates.soak_secs > Secs(0));
    let (before, after) = (Story::reconstructed(&while_it_runs, |_| None), Story::reconstructed(&afterwards, |_| None));
    let told = |story: &Story| story.moments().map(ToString::to_string).collect::<Vec<_>>();
    let (before, after) = (told(&before), told(&after));
    assert_eq!(before.len(), 6, "three nodes: {before:?}");
    assert_eq!(after[..6], before);
}

#[test]
fn a_story_goes_on_when_its_rollout_is_opened_again() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    let mut whole = Story::default();
    watch(&mut whole, &mut console, &mut fake, 2);
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 3);
    watch(&mut whole, &mut console, &mut fake, 60);
    assert!(whole.moments().any(|moment| moment.change.to_string() == "failed: image not found"));

    // The page is closed, opened, closed before a snapshot came, and opened again. While it is closed, a good image lets the rollout go on, and a
    // node that was down comes back.
    fake.set_node_ready("n6", false);
    watch(&mut whole, &mut console, &mut fake, 2);
    let before: Vec<_> = whole.moments().cloned().collect();
    assert_eq!(told(&whole, "n6").last().map(String::as_str), Some("node is not Ready"));
    let closed = Story::after(whole.into_earlier().unwrap()).into_earlier().unwrap();
    fake.set_node_ready("n6", true);
    console.set_image(&mut fake, "agent:v3");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 120);
    let mut again = Story::after(closed);
    watch(&mut again, &mut console, &mut fake, 1);
    let after: Vec<_> = again.moments().cloned().collect();
    assert_eq!(after[..before.len()], before, "what was seen is told as it was seen");
    let since = &after[before.len()..];
    assert_eq!(since.iter().filter(|moment| moment.change == NodeChange::ReadySince).count(), 3, "{since:?}");
    assert!(since.iter().all(|moment| moment.at > before.last().unwrap().at));
    assert!(
        told(&again, "n6").last().is_some_and(|last| last.starts_with("node is Ready again")),
        "{:?}",
        told(&again, "n6")
    );
}

#[test]
fn a_failure_and_a_restart_are_told_with_their_cause() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 0);
    watch(&mut story, &mut console, &mut fake, 60);
    let bad: Vec<String> = story
        .moments()
        .filter(|moment| moment.change.severity() == Severity::Warning)
        .map(|moment| moment.change.to_string())
        .collect();
    assert_eq!(bad, ["failed: image not found"]);
    // Those who open a console now are told the same.
    console.run_for(&mut fake, 60);
    let snapshot = console.snapshot(&fake);
    let later = Story::reconstructed(&snapshot, |_| None);
    let failed = later.moments().find(|moment| moment.change.to_string() == "failed: image not found").unwrap();
    assert!(failed.at <= snapshot.halt.unwrap().at, "not when it was looked at");
}

/// A new template makes every node outdated, and an undo makes them updated again: no pod has changed.
#[test]
fn a_change_of_the_plan_is_no_change_of_a_node() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    console.set_image(&mut fake, "agent:v2");
    watch(&mut story, &mut console, &mut fake, 10);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    watch(&mut story, &mut console, &mut fake, 10);
    let told: Vec<String> = story.moments().map(ToString::to_string).collect();
    assert_eq!(told, Vec::<String>::new());
}

#[test]
fn a_pull_that_failed_is_not_told_as_one_that_ended() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    let snapshot = console.snapshot(&fake);
    let mut see = |secs: u64, state: NodeState, cause: Option<CauseKind>| {
        let mut nodes = snapshot.nodes.to_vec();
        let at = snapshot.at + std::time::Duration::from_secs(secs);
        nodes[0].pod = Some("agent-next".into());
        (nodes[0].state, nodes[0].since) = (state, Some(at));
        nodes[0].cause = cause.map(|kind| Cause { kind, container: None, message: None }.into());
        story.observe(&Snapshot { at, nodes: nodes.into(), ..snapshot.clone() });
    };
    see(1, NodeState::Pulling, None);
    see(5, NodeState::Creating, Some(CauseKind::ImagePull));
    see(9, NodeState::Pulling, None);
    see(12, NodeState::Creating, Some(CauseKind::ImagePull));
    see(20, NodeState::Pulling, None);
    see(50, NodeState::Starting, None);
    let name = snapshot.nodes[0].name.clone();
    assert_eq!(
        told(&story, &name),
        ["pulls the image", "image pull fails", "pulls the image", "pulled in 30s"],
        "that it is tried again and again is told once"
    );
}

#[test]
fn a_node_that_leaves_is_told() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    let snapshot = console.snapshot(&fake);
    let fewer = snapshot.nodes.iter().filter(|node| &*node.name != "n1").cloned().collect();
    story.observe(&Snapshot { nodes: fewer, ..snapshot.clone() });
    assert_eq!(story.moments().map(|moment| &moment.change).collect::<Vec<_>>(), [&NodeChange::Gone]);
    story.observe(&snapshot);
    assert_eq!(story.of_node("n1").count(), 2, "and when it comes back");
}

#[test]
fn a_view_that_is_being_loaded_tells_nothing() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.run_for(&mut fake, 2);
    let loaded = console.snapshot(&fake);
    let loading = Snapshot { phase: Phase::Loading, nodes: [].into(), ..loaded.clone() };
    let mut story = Story::default();
    story.observe(&loading);
    assert_eq!((story.seen_since(), story.progress().len()), (None, 0));
    story.observe(&loaded);
    story.observe(&loading);
    story.observe(&loaded);
    assert_eq!(story.moments().count(), 0);
}

/// A node that flaps for a day leaves as much behind as one that flaps for an hour.
#[test]
fn it_keeps_no_more_than_it_has_room_for() {
    let mut fake = FakeCluster::rolling(2, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.run_for(&mut fake, 2);
    let calm = console.snapshot(&fake);
    let mut story = Story::default();
    for second in 0..20_000_u64 {
        let at = calm.at + std::time::Duration::from_secs(second);
        let mut nodes = calm.nodes.to_vec();
        if second % 2 == 1 {
            nodes[0].state = NodeState::NodeDown;
        }
        for node in &mut nodes {
            node.since = Some(at);
        }
        let counts =
            crate::engine::report::snapshot::Counts { available: 1 + u32::from(second % 2 == 0), ..calm.counts };
        story.observe(&Snapshot { at, nodes: nodes.into(), counts, ..calm.clone() });
    }
    assert_eq!(story.moments().count() as u64 + story.dropped(), 19_999);
    assert!(story.moments().count() <= 4_096 && story.progress().len() <= 2_048);
    assert_eq!(story.moments_so_far(), 19_999);
    let last = calm.at + std::time::Duration::from_secs(19_999);
    assert_eq!(story.moments().last().unwrap().at, last, "the newest stay");
    assert_eq!(story.progress().last().unwrap().at, last);
    assert!(story.progress().first().unwrap().at < calm.at + std::time::Duration::from_secs(60), "and the beginning");
}

/// Its own controller deletes old pods on nodes that are down: that is told when it happens, and that the node is back.
#[test]
fn what_is_deleted_on_a_node_that_is_down_is_told_at_once() {
    let mut fake = FakeCluster::rolling(3, 1);
    fake.set_template(super::super::fake_cluster::template("agent:v2"));
    fake.reconcile();
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    story.observe(&console.snapshot(&fake));
    let mut see = |fake: &FakeCluster| story.observe(&console.snapshot(fake));
    fake.wait(10);
    fake.set_node_ready("n1", false);
    fake.set_ready("n1", false);
    see(&fake);
    fake.wait(10);
    let now = fake.now;
    fake.change_pod("n1", |pod| {
        pod.deletion_at = Some(now + std::time::Duration::from_secs(30));
        pod.deletion_grace_secs = Some(30);
    });
    see(&fake);
    fake.wait(60);
    fake.set_node_ready("n1", true);
    see(&fake);
    fake.wait(4);
    fake.remove_pod("n1");
    see(&fake);
    let told: Vec<String> = story.of_node("n1").map(|moment| moment.change.to_string()).collect();
    assert_eq!(
        told,
        [
            "node is not Ready",
            "its pod is deleted, and stays until the node is back",
            "node is Ready again, its pod is going",
            "its old pod is gone after 1m, a new one is made",
        ]
    );
}

fn controllers(story: &Story) -> Vec<String> {
    story.of_controller().iter().map(|moment| moment.change.to_string()).collect()
}

/// Its controller replaces the pods of these nodes.
fn replaced_by_its_controller(fake: &mut FakeCluster, nodes: &[&str]) {
    for node in nodes {
        fake.remove_pod(node);
        fake.create_pod(node);
    }
}

#[test]
fn what_its_controller_does_is_told_from_the_beginning_to_the_end() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    assert_eq!(controllers(&story), Vec::<String>::new(), "nothing is rolled out");
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    watch(&mut story, &mut console, &mut fake, 2);
    let begins = "rolls out revision 2, agent v1 → v2";
    assert_eq!(controllers(&story), [begins]);
    // Old pods lose readiness, and its controller deletes them outside of its budget.
    for node in ["n1", "n2", "n3"] {
        fake.set_ready(node, false);
    }
    watch(&mut story, &mut console, &mut fake, 1);
    fake.broken.push("agent:v2".into());
    let now = fake.now;
    for node in ["n1", "n2", "n3"] {
        fake.change_pod(node, |pod| pod.deletion_at = Some(now));
    }
    watch(&mut story, &mut console, &mut fake, 5);
    let loses = "losing nodes: 3 down with maxUnavailable 2; 3 old pods were deleted while unready";
    assert_eq!(controllers(&story), [begins, loses], "once");
    fake.broken.clear();
    replaced_by_its_controller(&mut fake, &["n1", "n2", "n3", "n4", "n5", "n6"]);
    watch(&mut story, &mut console, &mut fake, 5);
    assert_eq!(controllers(&story), [begins, loses, "complete: all 6 nodes are at the revision"]);
    let severity: Vec<Severity> = story.of_controller().iter().map(|moment| moment.change.severity()).collect();
    assert_eq!(severity, [Severity::Normal, Severity::Warning, Severity::Normal]);
}

#[test]
fn the_end_of_what_went_wrong_is_told_to_who_follows_only_that() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    watch(&mut story, &mut console, &mut fake, 30);
    let noted = |story: &Story| -> Vec<String> {
        let noted = story.moments().filter(|moment| moment.change.is_of_note());
        noted.map(|moment| format!("{} {}", moment.node, moment.change)).collect()
    };
    assert_eq!(noted(&story), Vec::<String>::new(), "an update is no news by itself");
    fake.set_node_ready("n4", false);
    watch(&mut story, &mut console, &mut fake, 3);
    fake.set_node_ready("n4", true);
    watch(&mut story, &mut console, &mut fake, 3);
    let noted = noted(&story);
    assert_eq!(noted.len(), 2, "{noted:?}");
    assert!(noted[0].starts_with("n4 node is not Ready"), "{noted:?}");
    assert!(noted[1].starts_with("n4 node is Ready again, outdated"), "{noted:?}");
}

#[test]
fn a_brake_where_nothing_is_rolled_out_is_not_told_as_a_rollout() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    console.engine.command(Command::Pause { why: None }, fake.now).unwrap();
    // The record is written, and `OnDelete` is not set yet.
    for (id, effect) in console.engine.decide(fake.now) {
        if matches!(effect, Effect::WriteLease { .. }) {
            let outcome = fake.apply(effect);
            console.engine.outcome(id, outcome, fake.now);
        }
    }
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.phase, Phase::Native);
    story.observe(&snapshot);
    assert_eq!(controllers(&story), Vec::<String>::new());
}

#[test]
fn a_restart_is_told_beside_what_comes_of_it_and_a_failure_when_it_counts_as_one() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    let snapshot = console.snapshot(&fake);
    let began = snapshot.at + std::time::Duration::from_secs(4);
    let mut see = |secs: u64, restarts: u32, (state, since): (NodeState, Timestamp), cause: Option<CauseKind>| {
        let mut nodes = snapshot.nodes.to_vec();
        nodes[0].pod = Some("agent-next".into());
        (nodes[0].state, nodes[0].since, nodes[0].restarts) = (state, Some(since), restarts);
        nodes[0].cause = cause.map(|kind| Cause { kind, container: None, message: None }.into());
        let at = snapshot.at + std::time::Duration::from_secs(secs);
        story.observe(&Snapshot { at, nodes: nodes.into(), ..snapshot.clone() });
    };
    see(3, 0, (NodeState::Starting, began), None);
    see(5, 1, (NodeState::Starting, began), Some(CauseKind::CrashLoop));
    see(30, 3, (NodeState::Failed, began), Some(CauseKind::CrashLoop));
    let name = snapshot.nodes[0].name.clone();
    assert_eq!(
        told(&story, &name),
        ["starts", "restarted (restart 1)", "crash loop", "restarted (restart 3)", "failed: crash loop"]
    );
    let failed = story.moments().next_back().unwrap();
    assert_eq!(failed.at, snapshot.at + std::time::Duration::from_secs(30), "not since when it restarts");
}

/// Its controller deletes a pod that its kubelet ended long before that counts as a failure.
#[test]
fn why_its_kubelet_ended_a_pod_is_told_before_the_pod_is_gone() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    fake.change_pod("n1", |pod| {
        (pod.phase, pod.ready) = (PodPhase::Failed, false);
        (pod.reason, pod.message) = (Some("Evicted".into()), Some("The node was low on resource: memory.".into()));
    });
    watch(&mut story, &mut console, &mut fake, 1);
    fake.remove_pod("n1");
    watch(&mut story, &mut console, &mut fake, 2);
    let told = told(&story, "n1");
    assert_eq!(told.first().map(String::as_str), Some("is not ready any more: evicted by kubelet"), "{told:?}");
    assert_eq!(story.of_node("n1").next().unwrap().change.severity(), Severity::Warning);
    assert!(told.len() > 1 && told[1..].iter().all(|told| !told.contains("evicted")), "once: {told:?}");
}

/// The halt is noted before the snapshot that shows why: the timeline has the cause first.
#[test]
fn a_failure_that_halts_is_told_at_the_halt_and_after_the_restart_that_led_to_it() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    let snapshot = console.snapshot(&fake);
    let name = snapshot.nodes[0].name.clone();
    let after = |secs: u64| snapshot.at + std::time::Duration::from_secs(secs);
    let halt = Halt::new(1, HaltingGate::default(), after(29), "crash loop".into()).on(vec![name.clone()]);
    for (secs, restarts, state) in [(5, 2, NodeState::Starting), (30, 3, NodeState::Failed)] {
        let mut nodes = snapshot.nodes.to_vec();
        nodes[0].pod = Some("agent-next".into());
        (nodes[0].state, nodes[0].since, nodes[0].restarts) = (state, Some(after(4)), restarts);
        let halt = (state == NodeState::Failed).then(|| halt.clone());
        story.observe(&Snapshot { at: after(secs), nodes: nodes.into(), halt, ..snapshot.clone() });
    }
    let last: Vec<_> =
        story.of_node(&name).rev().take(2).map(|moment| (moment.at, moment.change.to_string())).collect();
    assert_eq!(last, [(after(29), "failed".to_owned()), (after(29), "restarted (restart 3)".to_owned())]);
}

/// A kubelet has the container created before it reports the image: that the image has come is told once it is known.
#[test]
fn the_end_of_a_pull_is_told_though_the_image_is_reported_later() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    let snapshot = console.snapshot(&fake);
    let mut see = |secs: u64, state: NodeState, image: ImageState| {
        let mut nodes = snapshot.nodes.to_vec();
        let at = snapshot.at + std::time::Duration::from_secs(secs);
        nodes[0].pod = Some("agent-next".into());
        (nodes[0].state, nodes[0].since, nodes[0].image) = (state, Some(at), image);
        story.observe(&Snapshot { at, nodes: nodes.into(), ..snapshot.clone() });
    };
    see(1, NodeState::Pulling, ImageState::Unknown);
    see(39, NodeState::Starting, ImageState::Unknown);
    see(40, NodeState::Starting, ImageState::Present);
    see(45, NodeState::Soaking, ImageState::Present);
    let name = snapshot.nodes[0].name.clone();
    assert_eq!(told(&story, &name), ["pulls the image", "pulled in 39s", "ready after 5s, soaks"]);
}

/// It is not updated yet, and the partition keeps it: nothing else would tell that a pod that served does not serve any more.
#[test]
fn the_pod_of_a_node_that_waits_is_told_to_be_ready_no_more_and_again() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 6);
    watch(&mut story, &mut console, &mut fake, 5);
    fake.set_ready("n6", false);
    watch(&mut story, &mut console, &mut fake, 5);
    assert_eq!(told(&story, "n6").last().map(String::as_str), Some("is not ready any more"));
    assert!(story.moments().last().unwrap().change.is_of_note());
    fake.set_ready("n6", true);
    watch(&mut story, &mut console, &mut fake, 5);
    assert_eq!(told(&story, "n6").last().map(String::as_str), Some("well again: its pod is ready"));
    assert!(story.moments().last().unwrap().change.is_of_note());
}

/// The target was changed in the middle of its update: its pod was never well before.
#[test]
fn a_pod_whose_target_changes_while_it_starts_is_not_told_to_be_well_again() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 5);
    watch(&mut story, &mut console, &mut fake, 5);
    let node = fake.deleted[0].clone();
    console.set_image(&mut fake, "agent:v3");
    watch(&mut story, &mut console, &mut fake, 5);
    fake.set_ready(&node, true);
    watch(&mut story, &mut console, &mut fake, 5);
    assert!(!told(&story, &node).iter().any(|moment| moment.contains("well again")), "{:?}", told(&story, &node));
}
