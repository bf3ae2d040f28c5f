//! Nodes that go down after their update: what each of them comes to.

use crate::engine::command::{Command, Takeover};
use crate::engine::event::Event;
use crate::engine::facts::{ConditionStatus, NodeFact};
use crate::engine::lab::{Console, Lab};
use crate::engine::record::{Gates, SITES_LIMIT, SUSPECTS_LIMIT};
use crate::engine::site::SITE_LABEL;
use crate::engine::snapshot::{Alarm, Hold, Phase, Snapshot, SuspectView};
use crate::engine::tuning::Tuning;

/// Twenty nodes, budget 2, and a rollout that has updated `updated` of them and may go on to `allowed`.
fn rollout(lab: &mut Lab, updated: u32, allowed: u32) -> Console {
    let nodes = u32::try_from(lab.nodes.len()).unwrap();
    let mut console = Console::open(lab, "ops");
    console.set_image(lab, "agent:v2");
    console.partition(lab, nodes - updated);
    console.run_for(lab, 30);
    assert_eq!(lab.at("hash2"), updated as usize);
    console.ask(lab, Command::Tune(Tuning { soak_secs: Some(5), ..Tuning::default() })).unwrap();
    if allowed > updated {
        console.partition(lab, nodes - allowed);
    }
    console
}

/// Puts nodes into zones, so many each.
fn zones(lab: &mut Lab, size: usize) {
    for nth in 1..=lab.nodes.len() {
        let node = lab.nodes.get_mut(format!("n{nth}").as_str()).unwrap();
        node.labels = [(SITE_LABEL, format!("z{:03}", (nth - 1) / size))].into_iter().collect();
    }
}

fn ready(lab: &mut Lab, nodes: &[&str], ready: bool) {
    nodes.iter().for_each(|node| lab.set_node_ready(node, ready));
}

fn suspect(snapshot: &Snapshot, name: &str) -> Option<SuspectView> {
    snapshot.nodes.iter().find(|node| &*node.name == name).unwrap().suspect
}

fn hold(snapshot: &Snapshot, name: &str) -> Option<Hold> {
    snapshot.nodes.iter().find(|node| &*node.name == name).unwrap().hold.clone()
}

#[test]
fn an_updated_node_that_blinks_is_charged_and_halts_nothing() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = rollout(&mut lab, 4, 4);
    ready(&mut lab, &["n2"], false);
    console.partition(&mut lab, 0);
    for _ in 0..60 {
        console.run_for(&mut lab, 1);
        assert!(lab.down() <= 2, "its slot is not given to another");
    }
    let snapshot = console.snapshot(&lab);
    assert_eq!((&snapshot.phase, snapshot.budget.suspect, snapshot.counts.failed), (&Phase::Running, 1, 0));
    assert!(matches!(suspect(&snapshot, "n2"), Some(SuspectView::Waits { .. })));
    assert_eq!(console.state(&lab, "n2").1, "NotReady since 1m, after its update; counts as failed in 4m");
    assert!(lab.at("hash2") > 4, "the rest of the budget goes on");
    ready(&mut lab, &["n2"], true);
    console.run_for(&mut lab, 120);
    assert_eq!(lab.at("hash2"), 20);
    assert_eq!(console.snapshot(&lab).phase, Phase::Idle, "it ended by itself");
}

#[test]
fn the_last_node_that_blinks_does_not_make_it_look_held() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = rollout(&mut lab, 4, 4);
    ready(&mut lab, &["n2"], false);
    console.run_for(&mut lab, 10);
    assert_eq!(console.snapshot(&lab).phase, Phase::Running);
    ready(&mut lab, &["n2"], true);
    console.run_for(&mut lab, 10);
    assert_eq!(console.snapshot(&lab).phase, Phase::Held);
}

#[test]
fn an_updated_node_that_stays_down_past_the_grace_halts() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = rollout(&mut lab, 4, 4);
    ready(&mut lab, &["n2"], false);
    console.run_for(&mut lab, 299);
    assert_eq!(console.snapshot(&lab).phase, Phase::Running);
    console.run_for(&mut lab, 2);
    let snapshot = console.snapshot(&lab);
    assert_eq!((&snapshot.phase, snapshot.counts.failed), (&Phase::Halted, 1));
    let halt = snapshot.halt.unwrap();
    assert_eq!(halt.nodes, ["n2".into()]);
    let why = "node stays down after its update (1 of 4 updated, 0 of 16 others went down in 10m) on 1 node";
    assert_eq!(&*halt.why, why);
    assert_eq!(console.state(&lab, "n2").1, "NotReady since 5m, after its update; failed: it stays down");
    // Accepted, it is one that is down; and the rest goes on.
    console.ask(&mut lab, Command::Resume).unwrap();
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 400);
    assert_eq!((lab.at("hash2"), &console.snapshot(&lab).halt), (20, &None));
}

#[test]
fn the_grace_is_a_gate() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = rollout(&mut lab, 4, 4);
    console.ask(&mut lab, Command::Tune(Gates { suspect_grace_secs: 20, ..Gates::default() }.into())).unwrap();
    ready(&mut lab, &["n2"], false);
    console.run_for(&mut lab, 19);
    assert_eq!(console.snapshot(&lab).phase, Phase::Running);
    console.run_for(&mut lab, 2);
    assert_eq!(console.snapshot(&lab).phase, Phase::Halted);
}

#[test]
fn an_updated_node_that_goes_down_again_halts() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = rollout(&mut lab, 8, 8);
    for (up, down) in [(0, 20), (60, 35)] {
        console.run_for(&mut lab, up);
        assert!(console.snapshot(&lab).halt.is_none());
        ready(&mut lab, &["n2"], false);
        console.run_for(&mut lab, down);
        ready(&mut lab, &["n2"], true);
    }
    let halt = console.snapshot(&lab).halt.unwrap();
    assert!(halt.why.starts_with("node went down again after its update (1 of 8 updated"), "{}", halt.why);
    assert_eq!(suspect(&console.snapshot(&lab), "n2"), Some(SuspectView::Again));
    // What was accepted does not halt it again; what happens from then on does.
    console.ask(&mut lab, Command::Resume).unwrap();
    console.run_for(&mut lab, 60);
    assert!(console.snapshot(&lab).halt.is_none());
    for _ in 0..2 {
        ready(&mut lab, &["n2"], false);
        console.run_for(&mut lab, 40);
        ready(&mut lab, &["n2"], true);
        console.run_for(&mut lab, 10);
    }
    assert!(console.snapshot(&lab).halt.is_some());
}

/// Where nodes flap they do so all day: that one goes down again a while later says nothing.
#[test]
fn again_is_within_ten_minutes() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = rollout(&mut lab, 8, 8);
    for _ in 0..3 {
        ready(&mut lab, &["n2"], false);
        console.run_for(&mut lab, 90);
        ready(&mut lab, &["n2"], true);
        console.run_for(&mut lab, 610);
        assert_eq!(console.snapshot(&lab).halt, None);
    }
}

#[test]
fn updated_nodes_that_go_down_more_often_than_others_halt_before_the_grace() {
    let mut lab = Lab::rolling(120, 2);
    let mut console = rollout(&mut lab, 6, 6);
    ready(&mut lab, &["n2", "n3", "n77"], false);
    console.run_for(&mut lab, 25);
    assert!(console.snapshot(&lab).halt.is_none(), "the first of many, for all that is known");
    console.run_for(&mut lab, 10);
    let snapshot = console.snapshot(&lab);
    let halt = snapshot.halt.unwrap();
    assert_eq!(halt.nodes, ["n2".into(), "n3".into()]);
    assert_eq!(&*halt.why, "updated nodes go down (2 of 6 updated, 1 of 114 others went down in 10m) on 2 nodes");
    assert_eq!(snapshot.counts.failed, 2);
    // They are back, and it is accepted: it is not held against them again.
    ready(&mut lab, &["n2", "n3", "n77"], true);
    console.run_for(&mut lab, 10);
    assert_eq!(console.snapshot(&lab).counts.failed, 2, "what happened has happened");
    console.ask(&mut lab, Command::Resume).unwrap();
    console.run_for(&mut lab, 60);
    let snapshot = console.snapshot(&lab);
    assert_eq!((snapshot.halt, snapshot.counts.failed), (None, 0));
}

#[test]
fn nodes_that_go_down_with_others_of_their_site_are_waited_for() {
    let mut lab = Lab::rolling(30, 6);
    zones(&mut lab, 15);
    let mut console = rollout(&mut lab, 4, 4);
    let cut = ["n2", "n3", "n9", "n10", "n11"];
    for node in cut {
        ready(&mut lab, &[node], false);
        console.run_for(&mut lab, 3);
    }
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 900);
    let snapshot = console.snapshot(&lab);
    assert_eq!((&snapshot.phase, &snapshot.halt, snapshot.counts.failed), (&Phase::Running, &None, 0));
    let said = hold(&snapshot, "n12").unwrap().to_string();
    assert_eq!(said, "site outage: 5 of 15 nodes of z000 are down");
    assert_eq!(suspect(&snapshot, "n2"), Some(SuspectView::Outage));
    assert!(snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::SiteOutage(_))), "{:?}", snapshot.alarms);
    assert_eq!(lab.at("hash2"), 4 + 15, "the other site went on");
    // One is slower than the rest: it has its grace from then on.
    ready(&mut lab, &["n3", "n9", "n10", "n11"], true);
    console.run_for(&mut lab, 60);
    assert_eq!(console.snapshot(&lab).halt, None);
    ready(&mut lab, &["n2"], true);
    console.run_for(&mut lab, 120);
    assert_eq!((lab.at("hash2"), console.snapshot(&lab).phase), (30, Phase::Idle), "by itself");
}

#[test]
fn who_does_not_come_back_with_its_site_has_failed() {
    let mut lab = Lab::rolling(20, 6);
    let mut console = rollout(&mut lab, 4, 4);
    ready(&mut lab, &["n2", "n9", "n10"], false);
    console.run_for(&mut lab, 600);
    assert_eq!(console.snapshot(&lab).halt, None);
    ready(&mut lab, &["n9", "n10"], true);
    console.run_for(&mut lab, 299);
    assert_eq!(console.snapshot(&lab).halt, None);
    console.run_for(&mut lab, 2);
    assert_eq!(console.snapshot(&lab).halt.unwrap().nodes, ["n2".into()]);
}

/// Nodes are back a moment before their pods are ready.
#[test]
fn others_that_come_back_went_down_though_their_pods_are_not_ready_yet() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = rollout(&mut lab, 2, 2);
    ready(&mut lab, &["n1", "n2", "n3", "n4", "n5", "n6"], false);
    console.run_for(&mut lab, 60);
    for node in ["n3", "n4", "n5", "n6"] {
        lab.set_node_ready(node, true);
        lab.set_ready(node, false);
    }
    console.run_for(&mut lab, 5);
    let snapshot = console.snapshot(&lab);
    assert_eq!(snapshot.comparisons[0].to_string(), "2 of 2 updated, 4 of 18 others went down in 10m");
    assert_eq!(snapshot.halt, None);
}

/// One old node among a hundred is down with it: it is not held to be the site's fault that the site is taken for.
#[test]
fn a_site_of_which_little_is_down_goes_on() {
    let mut lab = Lab::rolling(60, 4);
    let mut console = rollout(&mut lab, 8, 60);
    ready(&mut lab, &["n2", "n60"], false);
    console.run_for(&mut lab, 40);
    let snapshot = console.snapshot(&lab);
    assert_eq!(suspect(&snapshot, "n2"), Some(SuspectView::Outage));
    assert!(lab.at("hash2") > 20, "{}", lab.at("hash2"));
    assert_eq!(snapshot.alarms, []);
}

/// Its site goes down twice: neither was its own doing.
#[test]
fn what_went_down_with_its_site_did_not_go_down_by_itself() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = rollout(&mut lab, 4, 4);
    for _ in 0..3 {
        ready(&mut lab, &["n2", "n9"], false);
        console.run_for(&mut lab, 60);
        ready(&mut lab, &["n2", "n9"], true);
        console.run_for(&mut lab, 60);
    }
    assert_eq!(console.snapshot(&lab).halt, None);
}

#[test]
fn the_next_driver_knows_who_went_down_when_and_how_often() {
    let mut lab = Lab::rolling(120, 2);
    let mut ops = rollout(&mut lab, 6, 6);
    ready(&mut lab, &["n2", "n77"], false);
    ops.run_for(&mut lab, 40);
    ready(&mut lab, &["n2", "n77"], true);
    ops.run_for(&mut lab, 130);
    ready(&mut lab, &["n3"], false);
    ops.run_for(&mut lab, 20);
    ready(&mut lab, &["n3"], true);
    ops.run_for(&mut lab, 10);
    drop(ops);
    lab.wait(60);
    let mut eve = Console::open(&lab, "eve");
    // Three others went down at the time, as far as the record knows one.
    let comparison = |console: &mut Console, lab: &Lab| console.snapshot(lab).comparisons[0].to_string();
    assert_eq!(comparison(&mut eve, &lab), "2 of 6 updated, 1 of 114 others went down in 10m");
    eve.run_for(&mut lab, 20);
    let _waits = eve.ask(&mut lab, Command::Drive(Takeover::IfFree));
    eve.run_for(&mut lab, 2);
    let halt = eve.snapshot(&lab).halt.unwrap();
    assert!(halt.why.contains("updated nodes go down (2 of 6 updated, 1 of 114 others"), "{}", halt.why);

    // And who is down has been so for as long as it was.
    let mut lab = Lab::rolling(20, 2);
    let mut ops = rollout(&mut lab, 4, 4);
    ready(&mut lab, &["n2"], false);
    ops.run_for(&mut lab, 200);
    drop(ops);
    let mut eve = Console::open(&lab, "eve");
    eve.run_for(&mut lab, 60);
    assert_eq!(eve.snapshot(&lab).halt, None);
    let _drives = eve.ask(&mut lab, Command::Drive(Takeover::IfFree));
    assert!(eve.snapshot(&lab).driver.is_you());
    eve.run_for(&mut lab, 42);
    assert!(eve.snapshot(&lab).halt.is_some());
}

#[test]
fn a_node_that_vanishes_is_compared_and_not_waited_for() {
    let mut lab = Lab::rolling(120, 2);
    let mut console = rollout(&mut lab, 6, 6);
    ready(&mut lab, &["n2"], false);
    console.run_for(&mut lab, 10);
    console.engine.observe(Event::NodeGone("n2".into()), lab.now);
    console.run_for(&mut lab, 400);
    assert_eq!(console.snapshot(&lab).halt, None, "rented machines come and go");
    ready(&mut lab, &["n3", "n4"], false);
    console.run_for(&mut lab, 40);
    let halt = console.snapshot(&lab).halt.unwrap();
    assert!(halt.why.contains("3 of 6 updated, 0 of 114 others"), "{}", halt.why);
}

#[test]
fn the_record_stays_small_though_the_whole_fleet_flaps() {
    let mut lab = Lab::rolling(300, 300);
    for (nth, node) in lab.nodes.values_mut().enumerate() {
        node.labels = [(SITE_LABEL, format!("z{:03}", nth % 30))].into_iter().collect();
    }
    let mut console = rollout(&mut lab, 150, 150);
    console
        .ask(&mut lab, Command::Tune(Gates { failure_threshold: "100%".parse().unwrap(), ..Gates::default() }.into()))
        .unwrap();
    for round in 0..6_usize {
        for ready in [ConditionStatus::Unknown, ConditionStatus::True] {
            for node in lab.nodes.values().skip(round % 3).step_by(2) {
                let node = NodeFact { ready, ready_since: Some(lab.now), ..node.clone() };
                console.engine.observe(Event::Node(Box::new(node)), lab.now);
            }
            console.run_for(&mut lab, 45);
        }
    }
    let record = lab.lease.as_ref().unwrap().record.clone().unwrap().unwrap();
    let progress = &record.progress;
    assert_eq!((progress.suspects.len(), progress.others_down.len()), (SUSPECTS_LIMIT, SITES_LIMIT));
    let size = serde_json::to_string(&(&progress.suspects, &progress.others_down)).unwrap().len();
    assert!(size < 16 * 1024, "{size} bytes");
}

#[test]
fn looking_on_judges_nobody() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = Console::open(&lab, "ops");
    ready(&mut lab, &["n2", "n3"], false);
    console.run_for(&mut lab, 400);
    let snapshot = console.snapshot(&lab);
    assert_eq!((snapshot.counts.failed, snapshot.comparisons.len(), snapshot.halt), (0, 0, None));
}
