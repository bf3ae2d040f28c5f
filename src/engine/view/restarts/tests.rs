//! Pods that crash after they were ready.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Step};
use crate::engine::model::facts::ContainerState;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::settings::Tuning;
use crate::engine::model::settings::value::Secs;
use crate::engine::report::snapshot::Phase;

/// Twenty nodes, budget 2, one of them updated.
fn canary(fake: &mut FakeCluster) -> FakeConsole {
    let mut console = FakeConsole::open(fake, "ops");
    console.set_image(fake, "agent:v2");
    console.partition(fake, 19);
    console.run_for(fake, 20);
    assert_eq!(console.state(fake, "n1").0, NodeState::Updated);
    console
}

/// How many nodes are down at once, at most, where every new pod crashes five seconds after it was ready.
fn worst_where_new_pods_crash(defaults: Tuning) -> usize {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.defaults = defaults;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    for _ in 0..120 {
        console.run_for(&mut fake, 1);
        fake.crash_all("hash2");
    }
    assert!(fake.at("hash2") > 0);
    fake.worst_down
}

/// Without a readiness probe a container is ready from its start until it crashes. The default soak time is for that.
#[test]
fn what_crashes_seconds_after_it_was_ready_takes_down_no_more_than_the_budget() {
    assert_eq!(worst_where_new_pods_crash(Tuning::default()), 2);
    let without = Tuning { soak_secs: Some(Secs(0)), ..Tuning::default() };
    assert!(worst_where_new_pods_crash(without) > 2, "without a soak time the next nodes are taken down meanwhile");
}

/// Who goes back has nothing to find out, and is in a hurry.
#[test]
fn going_back_does_not_soak() {
    let mut fake = FakeCluster::rolling(4, 1);
    fake.defaults = Tuning { soak_secs: Some(Secs(100)), ..Tuning::default() };
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 350);
    assert_eq!(fake.at("hash2"), 4);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    // The first of all has to show for as long that the revision works; the others do not.
    console.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash1"), 4);
}

#[test]
fn a_crash_loop_does_not_count_as_updated_between_its_crashes() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = canary(&mut fake);
    let mut counted = Vec::new();
    for _ in 0..2 {
        fake.crash("n1");
        console.run_for(&mut fake, 20);
        counted.push(console.snapshot(&fake).counts.updated);
        fake.restart("n1");
        console.run_for(&mut fake, 40);
        counted.push(console.snapshot(&fake).counts.updated);
    }
    assert_eq!(counted, [0, 0, 0, 0], "it does not go up and down");
    let snapshot = console.snapshot(&fake);
    assert_eq!(&*snapshot.nodes[0].name, "n1", "it stays on top");
    assert_eq!(snapshot.counts.available, 20, "it serves now, and costs the budget nothing");
    assert_eq!(
        console.state(&fake, "n1"),
        (NodeState::Soaking, "exit 1, 2 restarts in 2m; watched for 9m more".into())
    );
    let step = console.engine.preview(&Command::Step(Step::Next), fake.now).unwrap();
    assert!(step.effects.iter().any(|line| line.contains("n1 restarted 2× since its update")), "{:?}", step.effects);
    // It speaks against the next step.
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 1, "no serving pod is replaced");
    let held = console.snapshot(&fake).nodes.iter().find(|node| &*node.name == "n9").unwrap().hold.clone();
    assert_eq!(held, Some(Hold::Unproven { node: "n1".into(), cause: None }));
    // And is a failure at the third, as it always was.
    fake.crash("n1");
    fake.restart("n1");
    console.run_for(&mut fake, 1);
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
}

#[test]
fn a_restart_that_was_the_last_holds_nothing_for_ever() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = canary(&mut fake);
    for _ in 0..2 {
        fake.crash("n1");
        console.run_for(&mut fake, 1);
        fake.restart("n1");
        console.run_for(&mut fake, 1);
    }
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 580);
    assert_eq!((fake.at("hash2"), console.snapshot(&fake).counts.updated), (1, 0));
    console.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash2"), console.snapshot(&fake).phase), (20, Phase::Idle));
}

/// One restart stalls nobody; but it is not over before it was watched.
#[test]
fn one_restart_is_watched_and_holds_nobody() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = canary(&mut fake);
    fake.crash("n1");
    console.run_for(&mut fake, 1);
    fake.restart("n1");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 120);
    let snapshot = console.snapshot(&fake);
    assert_eq!((fake.at("hash2"), snapshot.counts.updated, snapshot.phase), (20, 19, Phase::Running));
    assert_eq!(console.state(&fake, "n1").1, "exit 1, 1 restart in 2m; watched for 8m more");
    console.run_for(&mut fake, 500);
    assert_eq!(console.snapshot(&fake).phase, Phase::Idle);
}

/// Programs that end until what they wait for is there do so before they are ever ready.
#[test]
fn restarts_at_the_start_are_no_news() {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 18);
    console.run_for(&mut fake, 5);
    for node in ["n1", "n2"] {
        for _ in 0..2 {
            fake.crash(node);
            console.run_for(&mut fake, 3);
            fake.change_pod(node, |pod| {
                pod.containers[0].restarts += 1;
                pod.containers[0].state = ContainerState::Running { since: None };
            });
        }
        fake.set_ready(node, true);
        console.run_for(&mut fake, 1);
    }
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.counts.updated, snapshot.phase), (2, Phase::Held));
}

/// A console that comes later sees the restarts, and when the last one was.
#[test]
fn the_next_console_watches_on() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = canary(&mut fake);
    for _ in 0..2 {
        fake.crash("n1");
        console.run_for(&mut fake, 1);
        fake.restart("n1");
        console.run_for(&mut fake, 100);
    }
    let mut eve = FakeConsole::open(&fake, "eve");
    assert_eq!(eve.state(&fake, "n1"), (NodeState::Soaking, "exit 1, 2 restarts in 3m; watched for 8m more".into()));
    fake.wait(501);
    let mut sam = FakeConsole::open(&fake, "sam");
    assert_eq!(sam.state(&fake, "n1").0, NodeState::Updated);
}

/// What was there before the rollout may restart as it likes.
#[test]
fn old_pods_are_not_watched() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = canary(&mut fake);
    fake.crash("n9");
    console.run_for(&mut fake, 1);
    fake.restart("n9");
    assert_eq!(console.state(&fake, "n9").0, NodeState::Outdated);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!(console.snapshot(&fake).phase, Phase::Idle);
}

/// The console is opened while the cluster has lost the node: the pod's Ready condition is False, its containers' statuses are
/// the last that the kubelet told. Found by the attack (seed 77001057).
#[test]
fn crashes_on_a_lost_node_count_for_who_opened_meanwhile() {
    let mut fake = FakeCluster::rolling(20, 2);
    let console = canary(&mut fake);
    fake.set_node_ready("n1", false);
    drop(console);
    let mut console = FakeConsole::open(&fake, "other");
    console.run_for(&mut fake, 20);
    // The kubelet tells everything that happened meanwhile at once.
    let now = fake.now;
    fake.change_pod("n1", |pod| {
        pod.containers[0].restarts = 2;
        pod.containers[0].state = ContainerState::Running { since: Some(now) };
        (pod.ready, pod.ready_since) = (true, Some(now));
    });
    fake.set_node_ready("n1", true);
    console.run_for(&mut fake, 5);
    let (state, note) = console.state(&fake, "n1");
    assert_eq!(state, NodeState::Soaking, "{note}");
    assert!(note.contains("2 restarts in"), "{note}");
}

/// The console is opened between two crashes, while the pod runs and is not ready. Found by the attack (seed 99017895).
#[test]
fn a_pod_that_had_crashed_before_it_was_seen_is_counted_on_while_its_probes_fail() {
    let mut fake = FakeCluster::rolling(20, 2);
    drop(canary(&mut fake));
    fake.crash("n1");
    fake.restart("n1");
    fake.set_ready("n1", false);
    let mut console = FakeConsole::open(&fake, "other");
    console.run_for(&mut fake, 10);
    let now = fake.now;
    fake.change_pod("n1", |pod| {
        pod.containers[0].restarts += 1;
        pod.containers[0].state = ContainerState::Running { since: Some(now) };
    });
    console.run_for(&mut fake, 2);
    let snapshot = console.snapshot(&fake);
    let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
    assert_eq!(node.restarted.as_ref().map(|restarted| restarted.times), Some(2));
}

/// Between two crashes the pod serves for a while, which does not end the acceptance.
#[test]
fn a_crash_loop_that_was_accepted_does_not_halt_again() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = canary(&mut fake);
    for _ in 0..10 {
        fake.crash("n1");
        console.run_for(&mut fake, 20);
        if console.snapshot(&fake).phase == Phase::Halted {
            break;
        }
        fake.restart("n1");
        console.run_for(&mut fake, 5);
    }
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
    console.ask(&mut fake, Command::Resume).unwrap();
    for round in 0..4 {
        fake.restart("n1");
        console.run_for(&mut fake, 5);
        fake.crash("n1");
        console.run_for(&mut fake, 20);
        assert_ne!(console.snapshot(&fake).phase, Phase::Halted, "round {round}: it is the same pod");
    }
    // The next pod is another matter.
    fake.remove_pod("n1");
    fake.create_pod("n1");
    console.run_for(&mut fake, 20);
    for _ in 0..10 {
        fake.crash("n1");
        console.run_for(&mut fake, 20);
        fake.restart("n1");
        console.run_for(&mut fake, 5);
    }
    fake.crash("n1");
    console.run_for(&mut fake, 20);
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
}
