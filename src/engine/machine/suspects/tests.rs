//! Nodes that go down after their update: what each of them comes to.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, Takeover};
use crate::engine::model::event::Event;
use crate::engine::model::facts::{ConditionStatus, NodeFact, PodPhase};
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::record::{SITES_LIMIT, SUSPECTS_LIMIT};
use crate::engine::model::settings::{Gates, Secs, Tuning};
use crate::engine::model::site::ZONE;
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::template::TaintEffect;
use crate::engine::model::time::ShortDuration;
use crate::engine::report::diagnosis::Diagnosis;
use crate::engine::report::snapshot::words::{COUNTS_ALTHOUGH_BACK, Why};
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};
use crate::engine::rules::suspects::WINDOW;

/// Twenty nodes, budget 2, and a rollout that has updated `updated` of them and may go on to `allowed`.
fn rollout(fake: &mut FakeCluster, updated: u32, allowed: u32) -> FakeConsole {
    let nodes = u32::try_from(fake.nodes.len()).unwrap();
    let mut console = FakeConsole::open(fake, "ops");
    console.set_image(fake, "agent:v2");
    console.partition(fake, nodes - updated);
    console.run_for(fake, 30);
    assert_eq!(fake.at("hash2"), updated as usize);
    console.ask(fake, Command::Tune(Tuning { soak_secs: Some(Secs(5)), ..Tuning::default() })).unwrap();
    if allowed > updated {
        console.partition(fake, nodes - allowed);
    }
    console
}

/// Puts nodes into zones, so many each.
fn zones(fake: &mut FakeCluster, size: usize) {
    for nth in 1..=fake.nodes.len() {
        let node = fake.nodes.get_mut(format!("n{nth}").as_str()).unwrap();
        node.labels = [(ZONE, format!("z{:03}", (nth - 1) / size))].into_iter().collect();
    }
}

fn ready(fake: &mut FakeCluster, nodes: &[&str], ready: bool) {
    nodes.iter().for_each(|node| fake.set_node_ready(node, ready));
}

fn suspect(snapshot: &Snapshot, name: &str) -> Option<SuspectView> {
    snapshot.nodes.iter().find(|node| &*node.name == name).unwrap().suspect
}

fn hold(snapshot: &Snapshot, name: &str) -> Option<Hold> {
    snapshot.nodes.iter().find(|node| &*node.name == name).unwrap().hold.clone()
}

#[test]
fn an_updated_node_that_blinks_is_charged_and_halts_nothing() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 4, 4);
    ready(&mut fake, &["n2"], false);
    console.partition(&mut fake, 0);
    for _ in 0..60 {
        console.run_for(&mut fake, 1);
        assert!(fake.down() <= 2, "its slot is not given to another");
    }
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.phase, snapshot.budget.suspect, snapshot.counts.failed), (&Phase::Running, 1, 0));
    assert!(matches!(suspect(&snapshot, "n2"), Some(SuspectView::Waits { .. })));
    assert_eq!(console.state(&fake, "n2").1, "NotReady for 1m, after its update; counts as failed in 4m");
    assert!(fake.at("hash2") > 4, "the rest of the budget goes on");
    ready(&mut fake, &["n2"], true);
    console.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash2"), 20);
    assert_eq!(console.snapshot(&fake).phase, Phase::Idle, "it ended by itself");
}

#[test]
fn the_last_node_that_blinks_does_not_make_it_look_held() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 4, 4);
    ready(&mut fake, &["n2"], false);
    console.run_for(&mut fake, 10);
    assert_eq!(console.snapshot(&fake).phase, Phase::Running);
    ready(&mut fake, &["n2"], true);
    console.run_for(&mut fake, 10);
    assert_eq!(console.snapshot(&fake).phase, Phase::Held);
}

#[test]
fn an_updated_node_that_stays_down_past_the_grace_halts() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 4, 4);
    ready(&mut fake, &["n2"], false);
    console.run_for(&mut fake, 299);
    assert_eq!(console.snapshot(&fake).phase, Phase::Running);
    console.run_for(&mut fake, 2);
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.phase, snapshot.counts.failed), (&Phase::Halted, 1));
    let halt = snapshot.halt.unwrap();
    assert_eq!(halt.named(), ["n2".into()]);
    let why = "node stays down with the new pod on 1 node";
    assert_eq!(&*halt.why, why);
    assert_eq!(console.state(&fake, "n2").1, "NotReady for 5m, after its update; failed: it stays down");
    // Accepted, it is one that is down; and the rest goes on.
    console.ask(&mut fake, Command::Resume).unwrap();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 400);
    assert_eq!((fake.at("hash2"), &console.snapshot(&fake).halt), (20, &None));
}

#[test]
fn the_grace_is_a_gate() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 4, 4);
    console.ask(&mut fake, Command::Tune(Gates { suspect_grace_secs: Secs(20), ..Gates::default() }.into())).unwrap();
    ready(&mut fake, &["n2"], false);
    console.run_for(&mut fake, 19);
    assert_eq!(console.snapshot(&fake).phase, Phase::Running);
    console.run_for(&mut fake, 2);
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
}

/// Of the nodes that went down after their update only those that count as failed are failures: the halt counts no others.
#[test]
fn a_halt_does_not_count_nodes_that_may_still_come_back() {
    let mut fake = FakeCluster::rolling(20, 4);
    let mut console = rollout(&mut fake, 8, 8);
    for (up, down) in [(0, 20), (60, 35)] {
        console.run_for(&mut fake, up);
        ready(&mut fake, &["n2"], false);
        console.run_for(&mut fake, down);
        ready(&mut fake, &["n2"], true);
    }
    ready(&mut fake, &["n3"], false);
    console.run_for(&mut fake, 5);
    let snapshot = console.snapshot(&fake);
    assert!(matches!(suspect(&snapshot, "n3"), Some(SuspectView::Waits { .. })), "{:?}", suspect(&snapshot, "n3"));
    let diagnosis = Diagnosis::of(&snapshot);
    assert_eq!(diagnosis.findings[0].title, "halted: 1 node failed");
    let of = |title: &str| {
        let found = diagnosis.findings.iter().find(|finding| finding.title == title);
        found.map(|finding| finding.nodes.iter().map(|node| &**node).collect::<Vec<_>>())
    };
    assert_eq!(of("its node went down after the update, and counts as failed"), Some(vec!["n2"]));
    assert_eq!(of("its node went down after the update"), Some(vec!["n3"]));
}

#[test]
fn an_updated_node_that_goes_down_again_halts() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 8, 8);
    for (up, down) in [(0, 20), (60, 35)] {
        console.run_for(&mut fake, up);
        assert!(console.snapshot(&fake).halt.is_none());
        ready(&mut fake, &["n2"], false);
        console.run_for(&mut fake, down);
        ready(&mut fake, &["n2"], true);
    }
    let halt = console.snapshot(&fake).halt.unwrap();
    assert!(halt.why.starts_with("node went down again with the new pod on "), "{}", halt.why);
    let snapshot = console.snapshot(&fake);
    assert_eq!(suspect(&snapshot, "n2"), Some(SuspectView::Again));
    // It is back and its pod is available: it is called failed all the same, by every list, until somebody resumes.
    console.run_for(&mut fake, 5);
    let snapshot = console.snapshot(&fake);
    let called = |snapshot: &Snapshot| {
        let node = snapshot.nodes.iter().find(|node| &*node.name == "n2").unwrap();
        (node.state, node.state_words(), node.is_updated_and_well(), Why { node, at: snapshot.at }.to_string())
    };
    let why = format!("went down after its update; failed: it went down again; {COUNTS_ALTHOUGH_BACK}");
    assert!(COUNTS_ALTHOUGH_BACK.contains(&format!(" {} ", ShortDuration(WINDOW))));
    assert_eq!(called(&snapshot), (NodeState::Updated, "failed".to_owned(), false, why));
    let diagnosis = Diagnosis::of(&snapshot);
    assert_eq!(diagnosis.how_many(&snapshot), "8 of 20 nodes updated, 7 of them well, 20 serve");
    let said = diagnosis.findings.iter().flat_map(|finding| &finding.evidence).map(ToString::to_string);
    assert!(said.into_iter().any(|text| text == "failed: it went down again; it is back"));
    // What was accepted does not halt it again; what happens from then on does.
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 60);
    assert!(console.snapshot(&fake).halt.is_none());
    assert_eq!(called(&console.snapshot(&fake)), (NodeState::Updated, "updated".to_owned(), true, String::new()));
    for _ in 0..2 {
        ready(&mut fake, &["n2"], false);
        console.run_for(&mut fake, 40);
        ready(&mut fake, &["n2"], true);
        console.run_for(&mut fake, 10);
    }
    assert!(console.snapshot(&fake).halt.is_some());
}

/// A node behind a bad link went down before its update as it does after it: the update is not to blame. It is one that is down all the
/// same, and if it stays down that counts.
#[test]
fn a_node_that_flapped_before_its_update_too_does_not_halt() {
    for before in [0, 1, 2, 4] {
        let mut fake = FakeCluster::rolling(20, 2);
        let mut console = rollout(&mut fake, 6, 6);
        for _ in 0..before {
            ready(&mut fake, &["n7", "n8"], false);
            console.run_for(&mut fake, 60);
            ready(&mut fake, &["n7", "n8"], true);
            console.run_for(&mut fake, 600);
        }
        console.partition(&mut fake, 12);
        console.run_for(&mut fake, 600);
        assert_eq!(fake.at("hash2"), 8);
        for _ in 0..3 {
            ready(&mut fake, &["n7", "n8"], false);
            console.run_for(&mut fake, 60);
            ready(&mut fake, &["n7", "n8"], true);
            console.run_for(&mut fake, 200);
        }
        let halted = console.snapshot(&fake).halt.is_some();
        assert_eq!(halted, before < 2, "it went down {before} times before its update");
        if halted {
            continue;
        }
        // Who comes later has not seen how it was before the update: the record tells.
        let mut later = FakeConsole::open(&fake, "eve");
        let snapshot = later.snapshot(&fake);
        assert_eq!((suspect(&snapshot, "n7"), snapshot.counts.failed), (None, 0));
        console.ask(&mut fake, Command::StopDriving).unwrap();
        later.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap();
        later.run_for(&mut fake, 60);
        assert!(later.snapshot(&fake).halt.is_none(), "nor does a new driver halt");
        later.ask(&mut fake, Command::StopDriving).unwrap();
        console.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap();
        ready(&mut fake, &["n7"], false);
        console.run_for(&mut fake, 600);
        let halt = console.snapshot(&fake).halt.unwrap();
        assert!(halt.why.starts_with("node stays down with the new pod on "), "{}", halt.why);
    }
}

/// The API server's clock is set an hour ahead: what it dates lies an hour further back for us from then on, and what we saw does not.
#[test]
fn a_clock_that_is_set_does_not_move_an_update_before_a_fall() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 6, 6);
    console.engine.observe(Event::Skew(0), fake.now);
    ready(&mut fake, &["n7", "n8"], false);
    console.run_for(&mut fake, 60);
    ready(&mut fake, &["n7", "n8"], true);
    console.run_for(&mut fake, 20);
    console.partition(&mut fake, 12);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 8);
    console.engine.observe(Event::Skew(3_600_000), fake.now);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.comparisons.len(), snapshot.halt), (0, None), "they went down as old ones");
}

/// Somebody else's template lies between the two falls, and no node was updated to that: the falls are those of the same target.
#[test]
fn a_node_that_goes_down_again_halts_though_the_same_image_was_set_again_meanwhile() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 8, 8);
    ready(&mut fake, &["n2"], false);
    console.run_for(&mut fake, 20);
    ready(&mut fake, &["n2"], true);
    console.run_for(&mut fake, 5);
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    console.run_for(&mut fake, 5);
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 30);
    ready(&mut fake, &["n2"], false);
    console.run_for(&mut fake, 35);
    let halt = console.snapshot(&fake).halt.expect("it is halted");
    assert!(halt.why.starts_with("node went down again with the new pod on "), "{}", halt.why);
}

/// A node joins and never becomes Ready. Its controller made a pod there, which no kubelet has taken up: that is not why the node is down.
#[test]
fn a_node_that_joins_and_never_becomes_ready_is_no_suspect() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 4, 4);
    fake.add_nodes(["late1".into(), "late2".into()]);
    for node in ["late1", "late2"] {
        fake.set_node_ready(node, false);
        fake.change_pod(node, |pod| {
            (pod.phase, pod.ready, pod.ready_since) = (PodPhase::Pending, false, None);
            pod.containers.clear();
        });
    }
    console.run_for(&mut fake, 400);
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.halt, snapshot.budget.charged), (&None, 0), "{:?}", snapshot.budget);
    assert_eq!(suspect(&snapshot, "late1"), None);
    let node = snapshot.nodes.iter().find(|node| &*node.name == "late1").unwrap();
    assert_eq!((node.state, node.blame), (NodeState::NodeDown, Some(Blame::Node)));
    assert!(snapshot.comparisons.is_empty(), "{:?}", snapshot.comparisons);
    // A console that opens now sees the same.
    let snapshot = FakeConsole::open(&fake, "eve").snapshot(&fake);
    assert_eq!((suspect(&snapshot, "late1"), snapshot.comparisons.len()), (None, 0));
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 200);
    assert_eq!(fake.at("hash2"), 22, "the others are updated");
}

/// Where nodes flap they do so all day: that one goes down again a while later says nothing.
#[test]
fn again_is_within_ten_minutes() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 8, 8);
    for _ in 0..3 {
        ready(&mut fake, &["n2"], false);
        console.run_for(&mut fake, 90);
        ready(&mut fake, &["n2"], true);
        console.run_for(&mut fake, 610);
        assert_eq!(console.snapshot(&fake).halt, None);
    }
}

#[test]
fn updated_nodes_that_go_down_more_often_than_others_halt_before_the_grace() {
    let mut fake = FakeCluster::rolling(120, 2);
    let mut console = rollout(&mut fake, 6, 6);
    ready(&mut fake, &["n2", "n3", "n77"], false);
    console.run_for(&mut fake, 25);
    assert!(console.snapshot(&fake).halt.is_none(), "the first of many, for all that is known");
    console.run_for(&mut fake, 10);
    let snapshot = console.snapshot(&fake);
    let halt = snapshot.halt.unwrap();
    assert_eq!(halt.named(), ["n2".into(), "n3".into()]);
    assert_eq!(
        &*halt.why,
        "updated nodes go down (2 of 6 nodes went down after their update, 1 of 114 before it, in 1m) on 2 nodes"
    );
    assert_eq!(snapshot.counts.failed, 2);
    // They are back, and it is accepted: it is not held against them again.
    ready(&mut fake, &["n2", "n3", "n77"], true);
    console.run_for(&mut fake, 10);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.counts.failed, 2, "what happened has happened");
    // They halted it, so they come first, although they serve by now.
    assert_eq!(snapshot.nodes.iter().take(2).map(|node| &*node.name).collect::<Vec<_>>(), ["n2", "n3"]);
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 60);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.halt, snapshot.counts.failed), (None, 0));
}

#[test]
fn nodes_that_go_down_with_others_of_their_site_are_waited_for() {
    let mut fake = FakeCluster::rolling(30, 6);
    zones(&mut fake, 15);
    let mut console = rollout(&mut fake, 4, 4);
    let cut = ["n2", "n3", "n9", "n10", "n11"];
    for node in cut {
        ready(&mut fake, &[node], false);
        console.run_for(&mut fake, 3);
    }
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 900);
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.phase, &snapshot.halt, snapshot.counts.failed), (&Phase::Running, &None, 0));
    let said = hold(&snapshot, "n12").unwrap().to_string();
    assert_eq!(said, "site outage: 5 of 15 nodes of z000 are down");
    assert_eq!(suspect(&snapshot, "n2"), Some(SuspectView::Outage));
    assert!(snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::SiteOutage(_))), "{:?}", snapshot.alarms);
    assert_eq!(fake.at("hash2"), 4 + 15, "the other site went on");
    // One is slower than the rest: it has its grace from then on.
    ready(&mut fake, &["n3", "n9", "n10", "n11"], true);
    console.run_for(&mut fake, 60);
    assert_eq!(console.snapshot(&fake).halt, None);
    ready(&mut fake, &["n2"], true);
    console.run_for(&mut fake, 120);
    assert_eq!((fake.at("hash2"), console.snapshot(&fake).phase), (30, Phase::Idle), "by itself");
}

#[test]
fn who_does_not_come_back_with_its_site_has_failed() {
    let mut fake = FakeCluster::rolling(20, 6);
    let mut console = rollout(&mut fake, 4, 4);
    ready(&mut fake, &["n2", "n9", "n10"], false);
    console.run_for(&mut fake, 600);
    assert_eq!(console.snapshot(&fake).halt, None);
    ready(&mut fake, &["n9", "n10"], true);
    console.run_for(&mut fake, 299);
    assert_eq!(console.snapshot(&fake).halt, None);
    console.run_for(&mut fake, 2);
    assert_eq!(console.snapshot(&fake).halt.unwrap().named(), ["n2".into()]);
}

/// Nodes are back a moment before their pods are ready.
#[test]
fn others_that_come_back_went_down_though_their_pods_are_not_ready_yet() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 2, 2);
    ready(&mut fake, &["n1", "n2", "n3", "n4", "n5", "n6"], false);
    console.run_for(&mut fake, 60);
    for node in ["n3", "n4", "n5", "n6"] {
        fake.set_node_ready(node, true);
        fake.set_ready(node, false);
    }
    console.run_for(&mut fake, 5);
    let snapshot = console.snapshot(&fake);
    assert_eq!(
        snapshot.comparisons[0].to_string(),
        "2 of 2 nodes went down after their update, 4 of 18 before it, in 2m"
    );
    assert_eq!(snapshot.halt, None);
}

/// One old node among a hundred is down with it: it is not held to be the site's fault that the site is taken for.
#[test]
fn a_site_of_which_little_is_down_goes_on() {
    let mut fake = FakeCluster::rolling(60, 4);
    let mut console = rollout(&mut fake, 8, 60);
    ready(&mut fake, &["n2", "n60"], false);
    console.run_for(&mut fake, 40);
    let snapshot = console.snapshot(&fake);
    assert_eq!(suspect(&snapshot, "n2"), Some(SuspectView::Outage));
    assert!(fake.at("hash2") > 20, "{}", fake.at("hash2"));
    assert_eq!(snapshot.alarms, []);
}

/// Its site goes down twice: neither was its own doing.
#[test]
fn what_went_down_with_its_site_did_not_go_down_by_itself() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 4, 4);
    for _ in 0..3 {
        ready(&mut fake, &["n2", "n9"], false);
        console.run_for(&mut fake, 60);
        ready(&mut fake, &["n2", "n9"], true);
        console.run_for(&mut fake, 60);
    }
    assert_eq!(console.snapshot(&fake).halt, None);
}

#[test]
fn the_next_driver_knows_who_went_down_when_and_how_often() {
    let mut fake = FakeCluster::rolling(120, 2);
    let mut ops = rollout(&mut fake, 6, 6);
    ready(&mut fake, &["n2", "n77"], false);
    ops.run_for(&mut fake, 40);
    ready(&mut fake, &["n2", "n77"], true);
    ops.run_for(&mut fake, 130);
    ready(&mut fake, &["n3"], false);
    ops.run_for(&mut fake, 20);
    ready(&mut fake, &["n3"], true);
    ops.run_for(&mut fake, 10);
    drop(ops);
    fake.wait(60);
    let mut eve = FakeConsole::open(&fake, "eve");
    // Three others went down at the time, as far as the record knows one.
    let comparison = |console: &mut FakeConsole, fake: &FakeCluster| console.snapshot(fake).comparisons[0].to_string();
    assert_eq!(comparison(&mut eve, &fake), "2 of 6 nodes went down after their update, 1 of 114 before it, in 5m");
    eve.run_for(&mut fake, 20);
    let _waits = eve.ask(&mut fake, Command::Drive(Takeover::IfFree));
    eve.run_for(&mut fake, 2);
    let halt = eve.snapshot(&fake).halt.unwrap();
    assert!(
        halt.why.contains("updated nodes go down (2 of 6 nodes went down after their update, 1 of 114 before it"),
        "{}",
        halt.why
    );

    // And who is down has been so for as long as it was.
    let mut fake = FakeCluster::rolling(20, 2);
    let mut ops = rollout(&mut fake, 4, 4);
    ready(&mut fake, &["n2"], false);
    ops.run_for(&mut fake, 200);
    drop(ops);
    let mut eve = FakeConsole::open(&fake, "eve");
    eve.run_for(&mut fake, 60);
    assert_eq!(eve.snapshot(&fake).halt, None);
    let _drives = eve.ask(&mut fake, Command::Drive(Takeover::IfFree));
    assert!(eve.snapshot(&fake).driver.is_you());
    eve.run_for(&mut fake, 42);
    assert!(eve.snapshot(&fake).halt.is_some());
}

#[test]
fn a_node_that_vanishes_is_compared_and_not_waited_for() {
    let mut fake = FakeCluster::rolling(120, 2);
    let mut console = rollout(&mut fake, 6, 6);
    ready(&mut fake, &["n2"], false);
    console.run_for(&mut fake, 10);
    console.engine.observe(Event::NodeGone("n2".into()), fake.now);
    console.run_for(&mut fake, 400);
    assert_eq!(console.snapshot(&fake).halt, None, "rented machines come and go");
    ready(&mut fake, &["n3", "n4"], false);
    console.run_for(&mut fake, 40);
    let halt = console.snapshot(&fake).halt.unwrap();
    assert!(halt.why.contains("3 of 6 nodes went down after their update, 0 of 114 before it"), "{}", halt.why);
}

/// Somebody deletes the object of an old node at the time when an updated one goes down: that is no outage of their site.
#[test]
fn who_goes_down_beside_a_node_that_vanishes_went_down_by_itself() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 4, 4);
    console.engine.observe(Event::NodeGone("n9".into()), fake.now);
    ready(&mut fake, &["n2"], false);
    console.run_for(&mut fake, 10);
    assert!(matches!(suspect(&console.snapshot(&fake), "n2"), Some(SuspectView::Waits { .. })));
    console.run_for(&mut fake, 289);
    assert_eq!(console.snapshot(&fake).halt, None);
    console.run_for(&mut fake, 2);
    assert_eq!(suspect(&console.snapshot(&fake), "n2"), Some(SuspectView::Stays));

    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 4, 4);
    console.engine.observe(Event::NodeGone("n9".into()), fake.now);
    for (up, down) in [(0, 20), (60, 35)] {
        console.run_for(&mut fake, up);
        assert_eq!(console.snapshot(&fake).halt, None);
        ready(&mut fake, &["n2"], false);
        console.run_for(&mut fake, down);
        assert_eq!(console.snapshot(&fake).halt.is_some(), up > 0, "neither fall was its site's");
        ready(&mut fake, &["n2"], true);
    }
    assert_eq!(suspect(&console.snapshot(&fake), "n2"), Some(SuspectView::Again));
}

#[test]
fn the_record_stays_small_though_the_whole_fleet_flaps() {
    let mut fake = FakeCluster::rolling(300, 300);
    for (nth, node) in fake.nodes.values_mut().enumerate() {
        node.labels = [(ZONE, format!("z{:03}", nth % 30))].into_iter().collect();
    }
    let mut console = rollout(&mut fake, 150, 150);
    console
        .ask(&mut fake, Command::Tune(Gates { failure_threshold: "100%".parse().unwrap(), ..Gates::default() }.into()))
        .unwrap();
    for round in 0..6_usize {
        for ready in [ConditionStatus::Unknown, ConditionStatus::True] {
            for node in fake.nodes.values().skip(round % 3).step_by(2) {
                let node = NodeFact { ready, ready_since: Some(fake.now), ..node.clone() };
                console.engine.observe(Event::Node(Box::new(node)), fake.now);
            }
            console.run_for(&mut fake, 45);
        }
    }
    let record = fake.lease.as_ref().unwrap().record.clone().unwrap().unwrap();
    let progress = &record.progress;
    assert_eq!((progress.suspects.len(), progress.others_down.len()), (SUSPECTS_LIMIT, SITES_LIMIT));
    let size = serde_json::to_string(&(&progress.suspects, &progress.others_down)).unwrap().len();
    assert!(size < 16 * 1024, "{size} bytes");
}

#[test]
fn looking_on_judges_nobody() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    ready(&mut fake, &["n2", "n3"], false);
    console.run_for(&mut fake, 400);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.counts.failed, snapshot.comparisons.len(), snapshot.halt), (0, 0, None));
}

/// A machine that registers and never becomes Ready gets no pod where the template does not tolerate everything: its controller waits for it. It uses no budget.
#[test]
fn a_node_that_joins_without_getting_a_pod_is_not_charged() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.add_nodes(["n7".into()]);
    fake.set_node_ready("n7", false);
    fake.remove_pod("n7");
    fake.set_taints("n7", &[("node.kubernetes.io/not-ready", "", TaintEffect::NoSchedule)]);
    console.run_for(&mut fake, 5);
    let blame = |console: &mut FakeConsole, fake: &FakeCluster| {
        let snapshot = console.snapshot(fake);
        snapshot.nodes.iter().find(|node| &*node.name == "n7").unwrap().blame
    };
    assert_eq!(blame(&mut console, &fake), Some(Blame::Node));
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 200);
    assert_eq!((fake.at("hash2"), blame(&mut console, &fake)), (6, Some(Blame::Node)));
}

/// It is back before it is clear that it went down alone: no serving pod is taken in that time.
#[test]
fn nothing_is_taken_while_a_second_fall_is_not_judged() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = rollout(&mut fake, 8, 8);
    for _ in 0..2 {
        ready(&mut fake, &["n2"], false);
        console.run_for(&mut fake, 15);
        ready(&mut fake, &["n2"], true);
        console.run_for(&mut fake, 5);
    }
    let deleted = fake.deleted.len();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.deleted.len(), deleted);
    assert!(console.snapshot(&fake).halt.is_some(), "{:?}", console.snapshot(&fake).nodes);
}
