//! The fleet list and the rollout itself say the same of a DaemonSet: one from its controller's counters and its record,
//! the other from every node.

use super::*;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, Takeover};
use crate::engine::model::facts::DaemonSetCounters;
use crate::engine::model::node::Blame;
use crate::engine::model::record::ORIGINAL_STRATEGY;
use crate::engine::model::template::TaintEffect;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::engine::rules::eligibility::eligibility;
use crate::engine::rules::fleet_state::FleetState;

/// The DaemonSet as a fleet view sees it, with the counters that its controller would write (docs/kubernetes.md, *Status*).
fn seen(lab: &FakeCluster) -> PartialDaemonSet {
    let current = lab.revisions.iter().find(|revision| revision.template == lab.daemonset.template);
    let mut counters = DaemonSetCounters::default();
    for node in lab.nodes.values() {
        let pods = lab.pods.values().filter(|pod| pod.node.as_ref() == Some(&node.name));
        let first = pods.min_by_key(|pod| (pod.created_at, pod.name.clone()));
        if !eligibility(node, &lab.daemonset.template).should_run {
            counters.misscheduled += u32::from(first.is_some());
            continue;
        }
        counters.desired += 1;
        let Some(pod) = first else { continue };
        counters.current += 1;
        counters.updated += u32::from(current.is_some_and(|current| pod.revision.as_ref() == Some(&current.hash)));
        counters.ready += u32::from(pod.ready);
        counters.available += u32::from(pod.ready);
    }
    let strategy = &lab.daemonset.strategy;
    PartialDaemonSet {
        namespace: lab.daemonset.namespace.clone(),
        name: lab.daemonset.name.clone(),
        uid: lab.daemonset.uid.clone(),
        strategy: strategy.kind,
        max_unavailable: strategy.max_unavailable,
        max_surge: strategy.max_surge,
        adopted: lab.daemonset.annotations.get(ORIGINAL_STRATEGY).is_some(),
        observed: lab.daemonset.observed_generation >= lab.daemonset.generation,
        counters,
    }
}

/// What the fleet says, as an operator who watches it for a while sees it.
fn listed(lab: &FakeCluster) -> FleetState {
    let daemonset = seen(lab);
    let lease = lab.lease.as_ref();
    let record = lease.and_then(|lease| lease.record.as_ref().ok()?.as_ref());
    let driven = lease.is_some_and(|lease| lease.holder.is_some());
    fleet_state(&brief(&daemonset), record, driven)
}

fn agree(what: &str, lab: &FakeCluster, console: &mut FakeConsole) -> Snapshot {
    let snapshot = console.snapshot(lab);
    let (counts, counters, listed) = (snapshot.counts, seen(lab).counters, listed(lab));
    let same = match (&snapshot.phase, &listed) {
        (Phase::Idle | Phase::Complete, FleetState::UpToDate | FleetState::Adopted) => {
            counts.available == counts.nodes && counts.misscheduled == 0
        }
        (Phase::Idle | Phase::Complete, FleetState::Degraded(unavailable)) => {
            *unavailable + counters.misscheduled == counts.nodes - counts.available + counts.misscheduled
        }
        // Nodes that are down leave the controller's `desired` where the template does not tolerate that.
        (Phase::Idle | Phase::Complete, FleetState::Misscheduled(pods)) => {
            *pods == counts.nodes - counts.available + counts.misscheduled
        }
        (Phase::Native | Phase::Running | Phase::Preparing, FleetState::Rolling) => true,
        (Phase::Held, FleetState::Held) => true,
        // What is left is on nodes that are down, which its controller does not count.
        (Phase::Held, FleetState::Misscheduled(pods)) => *pods == counts.nodes - counts.updated + counts.misscheduled,
        (Phase::Paused(_), FleetState::Paused(_)) => true,
        (Phase::Halted, FleetState::Halted(why)) => snapshot.halt.as_ref().is_some_and(|halt| *halt.why == **why),
        _ => false,
    };
    assert!(same, "{what}: the rollout says {}, {:?}; the fleet says {listed}, {counters:?}", snapshot.doing(), counts);
    assert_eq!(counts.nodes + counts.misscheduled, counters.desired + counters.misscheduled, "{what}");
    assert_eq!(counts.available, counters.available, "{what}");
    // And the sum says what the rows say.
    let rows = |blame: Blame| snapshot.nodes.iter().filter(|node| node.blame == Some(blame)).count() as u32;
    let budget = snapshot.budget;
    assert_eq!(
        [budget.rollout, budget.suspect, budget.node, budget.pre_existing],
        [Blame::Rollout, Blame::Suspect, Blame::Node, Blame::PreExisting].map(rows),
        "{what}"
    );
    snapshot
}

const DOWN: &str = "node.kubernetes.io/unreachable";

/// A node loses the network, as its lifecycle controller sees it.
fn cut(lab: &mut FakeCluster, node: &str) {
    lab.set_node_ready(node, false);
    lab.set_taints(node, &[(DOWN, "", TaintEffect::NoSchedule), (DOWN, "", TaintEffect::NoExecute)]);
}

#[test]
fn nobody_rolls_out_and_three_nodes_lose_the_network() {
    for tolerates in [false, true] {
        let mut lab = FakeCluster::rolling(20, 2);
        if tolerates {
            let mut json = template("agent:v1").json().clone();
            json["spec"]["tolerations"] = serde_json::json!([{"operator": "Exists"}]);
            lab = FakeCluster::rolling_with(20, 2, crate::engine::model::template::Template::from_json(json));
        }
        let mut console = FakeConsole::open(&lab, "ops");
        agree("all is well", &lab, &mut console);
        for node in ["n3", "n4", "n5"] {
            cut(&mut lab, node);
        }
        let snapshot = agree("three are down", &lab, &mut console);
        assert_eq!(snapshot.phase, Phase::Idle);
        assert_eq!(
            (snapshot.doing().to_string(), snapshot.progress()),
            ("idle, 3 nodes down".into(), "17 of 20 available".into())
        );
        assert_eq!(snapshot.budget.to_string(), "down 0 of 2 + 3 down by themselves");
        assert_eq!(snapshot.counts.failed, 0);
        assert_eq!(listed(&lab).to_string(), if tolerates { "3 unavailable" } else { "3 misscheduled" });

        // And under a rollout that is recorded, and has nothing to do.
        console.ask(&mut lab, Command::Adopt).unwrap();
        let snapshot = agree("adopted, three are down", &lab, &mut console);
        assert_eq!((snapshot.phase, snapshot.budget.to_string()), (Phase::Idle, "down 0 of 2 + 3 not ours".into()));
    }
}

#[test]
fn a_node_that_fell_before_the_rollout_began_stays_what_it_was() {
    let mut lab = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&lab, "ops");
    cut(&mut lab, "n3");
    console.set_image(&mut lab, "agent:v2");
    agree("held before the first step", &lab, &mut console);
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 30);
    let snapshot = agree("all but the one that is down", &lab, &mut console);
    assert_eq!(snapshot.nodes.iter().find(|node| &*node.name == "n3").unwrap().blame, Some(Blame::PreExisting));
}

#[test]
fn a_rollout_from_its_beginning_to_its_end() {
    let mut lab = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    agree("before the first step", &lab, &mut console);
    console.partition(&mut lab, 8);
    agree("the first step", &lab, &mut console);
    console.run_for(&mut lab, 20);
    agree("after the first step", &lab, &mut console);
    lab.slow = true;
    console.partition(&mut lab, 4);
    lab.kubelets();
    console.run(&mut lab);
    agree("two on their way", &lab, &mut console);
    console.ask(&mut lab, Command::Pause { why: None }).unwrap();
    agree("paused", &lab, &mut console);
    lab.slow = false;
    for node in ["n3", "n4"] {
        lab.set_ready(node, true);
    }
    console.ask(&mut lab, Command::Resume).unwrap();
    console.run_for(&mut lab, 30);
    lab.set_taints("n10", &[("m", "x", TaintEffect::NoSchedule)]);
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 30);
    let snapshot = agree("the release waits", &lab, &mut console);
    assert!(snapshot.release_waits());
    lab.set_taints("n10", &[]);
    console.run_for(&mut lab, 30);
    agree("handed back", &lab, &mut console);
}

#[test]
fn nobody_drives_and_a_halt() {
    let mut lab = FakeCluster::rolling(10, 2);
    lab.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&lab, "ops");
    console.set_image(&mut lab, "agent:bad");
    console.partition(&mut lab, 5);
    console.ask(&mut lab, Command::StopDriving).unwrap();
    lab.kubelets();
    console.run(&mut lab);
    agree("nobody drives", &lab, &mut console);
    console.ask(&mut lab, Command::Drive(Takeover::IfFree)).unwrap();
    console.run_for(&mut lab, 60);
    agree("halted", &lab, &mut console);
}

#[test]
fn its_own_controller_rolls() {
    let mut lab = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&lab, "ops");
    lab.set_template(template("agent:v2"));
    agree("its controller has not seen the template", &lab, &mut console);
    lab.reconcile();
    let snapshot = agree("nothing is replaced yet", &lab, &mut console);
    assert_eq!(snapshot.phase, Phase::Native);
    for node in ["n1", "n2"] {
        lab.change_pod(node, |pod| pod.revision = Some("hash2".into()));
    }
    cut(&mut lab, "n1");
    let snapshot = agree("one that was updated goes down", &lab, &mut console);
    assert_eq!(snapshot.budget.to_string(), "down 1 of 2: 1 suspect", "somebody rolls out: it may be that");
    for node in ["n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10"] {
        lab.change_pod(node, |pod| pod.revision = Some("hash2".into()));
    }
    let snapshot = agree("all are updated", &lab, &mut console);
    assert_eq!((snapshot.doing().to_string(), snapshot.budget.suspect), ("idle, 1 node down".into(), 0));
}
