//! Tests that the fleet list and the rollout itself agree on a DaemonSet's state: the list derives it from the controller's
//! counters and the record, the rollout from every node.

mod prewarms;
mod reports;
mod soaks;
mod unseen;

use super::*;
use crate::driver::handle::DrivenBy;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, Early, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::DaemonSetCounters;
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::record::{Direction, ORIGINAL_STRATEGY};
use crate::engine::model::settings::Tuning;
use crate::engine::model::template::TaintEffect;
use crate::engine::report::snapshot::{Alarm, NodeView, Phase, Snapshot};
use crate::engine::report::trouble::TroubleKind;
use crate::engine::rules::eligibility::eligibility;

/// The DaemonSet as a fleet view sees it, with the counters that its controller would write (docs/kubernetes.md, *Status*).
fn daemonset_of(fake: &FakeCluster) -> PartialDaemonSet {
    let current = fake.revisions.iter().find(|revision| revision.template == fake.daemonset.template);
    let mut counters = DaemonSetCounters::default();
    for node in fake.nodes.values() {
        let pods = fake.pods.values().filter(|pod| pod.node.as_ref() == Some(&node.name));
        let first = pods.min_by_key(|pod| (pod.created_at, pod.name.clone()));
        if !eligibility(node, &fake.daemonset.template).should_run {
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
    let strategy = &fake.daemonset.strategy;
    PartialDaemonSet {
        namespace: fake.daemonset.namespace.clone(),
        name: fake.daemonset.name.clone(),
        uid: fake.daemonset.uid.clone(),
        strategy: strategy.kind,
        max_unavailable: strategy.max_unavailable,
        max_surge: strategy.max_surge,
        adopted: fake.daemonset.annotations.get(ORIGINAL_STRATEGY).is_some(),
        observed: fake.daemonset.observed_generation >= fake.daemonset.generation,
        deleting: fake.daemonset.deleting,
        counters,
        images: Vec::new(),
    }
}

/// The state in the fleet list, for an operator who watches the list for a while.
fn listed(fake: &FakeCluster) -> FleetState {
    let daemonset = daemonset_of(fake);
    let lease = fake.lease.as_ref();
    let record = lease.and_then(|lease| lease.record.as_ref().ok()?.as_ref());
    let driver = match lease.and_then(|lease| lease.holder.as_ref()) {
        Some(_) => DriverPresence::Present,
        None => DriverPresence::Absent,
    };
    fleet_state(&brief(&daemonset), record, driver)
}

fn agree(what: &str, fake: &FakeCluster, console: &mut FakeConsole) -> Snapshot {
    let snapshot = console.snapshot(fake);
    let (counts, counters, listed) = (snapshot.counts, daemonset_of(fake).counters, listed(fake));
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
        (Phase::Native | Phase::Running | Phase::Preparing, FleetState::Rolling) => {
            snapshot.direction == Direction::Forward
        }
        (Phase::Running | Phase::Preparing, FleetState::RollingBack) => snapshot.direction == Direction::Back,
        (Phase::Held, FleetState::Held) => true,
        (Phase::Held, FleetState::BeingDeleted) => snapshot.alarms.contains(&Alarm::BeingDeleted),
        (Phase::Held | Phase::Preparing | Phase::Releasing(_), FleetState::Undriven) => snapshot.driver.is_nobody(),
        // The remaining pods are on nodes that are down, which the controller does not count.
        (Phase::Held, FleetState::Misscheduled(pods)) => *pods == counts.nodes - counts.updated + counts.misscheduled,
        (Phase::Paused(_), FleetState::Paused(_)) => true,
        (Phase::Halted, FleetState::Halted(why)) => snapshot.halt.as_ref().is_some_and(|halt| *halt.why == **why),
        _ => false,
    };
    assert!(same, "{what}: the rollout says {}, {:?}; the fleet says {listed}, {counters:?}", snapshot.doing(), counts);
    assert_eq!(counts.nodes + counts.misscheduled, counters.desired + counters.misscheduled, "{what}");
    assert_eq!(counts.available, counters.available, "{what}");
    // The failing nodes that the driver has written to the Lease, if they are of the same instant.
    if matches!(snapshot.driver, DriverView::You { .. }) {
        let written = console.engine.kept().failing.map(|failing| failing.nodes);
        assert_eq!(written, Some(failing_on_its_page(&snapshot)), "{what}");
    }
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
fn cut(fake: &mut FakeCluster, node: &str) {
    fake.set_node_ready(node, false);
    fake.set_taints(node, &[(DOWN, "", TaintEffect::NoSchedule), (DOWN, "", TaintEffect::NoExecute)]);
}

/// The number of nodes that the rollout's page shows as failed or in trouble at the target.
fn failing_on_its_page(snapshot: &Snapshot) -> u32 {
    let fails =
        |node: &&NodeView| TroubleKind::of(node).is_some_and(|trouble| trouble.is_failure(node.counts_as_failed()));
    snapshot.nodes.iter().filter(|node| node.state != NodeState::Outdated && fails(node)).count() as u32
}

/// The list in a session that has just begun to watch.
fn list_of(fake: &FakeCluster) -> KnownFleet {
    let mut list = KnownFleet::default();
    let daemonset = daemonset_of(fake);
    let key = (daemonset.namespace.clone(), Str::from(lease_name(&daemonset.name)));
    list.daemonsets.insert((daemonset.namespace.clone(), daemonset.name.clone()), daemonset);
    if let Some(lease) = fake.lease.clone() {
        list.lease(key, lease, fake.now);
    }
    (list.leases_sight, list.revisions_sight) = (Sight::live(), Sight::live());
    list
}

/// The row of the list.
fn row_of(list: &KnownFleet, now: Timestamp) -> FleetRow {
    list.view(now, &Identity::for_tests("eve@host/1")).rows.remove(0)
}

/// The row of the list in a session that has just begun to watch.
fn listed_row(fake: &FakeCluster) -> FleetRow {
    row_of(&list_of(fake), fake.now)
}

/// Two of ten nodes are updated. The rollout is held, and halts only at five failures.
fn two_updated() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console
        .ask(&mut fake, Command::Tune(Tuning { failure_threshold: Some(IntOrPercent::Int(5)), ..Tuning::default() }))
        .unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 30);
    (fake, console)
}

/// The list watches no pods: whoever drives tells it in the Lease which nodes fail, with the writes that renew the lease anyway.
#[test]
fn what_fails_before_it_halts_is_told_by_whoever_drives() {
    let (mut fake, mut console) = two_updated();
    let told = listed_row(&fake).failing.map(|failing| failing.nodes);
    assert_eq!(told, Some(0), "it is known that none fails");

    let written = fake.lease.clone().unwrap().resource_version;
    let nodes = fake.deleted.clone();
    nodes.iter().for_each(|node| fake.crash(node));
    console.run(&mut fake);
    let snapshot = console.snapshot(&fake);
    assert_eq!(failing_on_its_page(&snapshot), 2, "{:?}", snapshot.counts);
    assert_eq!(fake.lease.clone().unwrap().resource_version, written, "no write more for that");
    console.run_for(&mut fake, 4);
    let row = listed_row(&fake);
    assert_eq!(row.standing(), "held, 2 failing: crash loop");
    assert_eq!(row.failing.map(|failing| (failing.nodes, failing.accepted)), Some((2, 0)));

    // Between two crashes it is no less in trouble.
    nodes.iter().for_each(|node| fake.restart(node));
    console.run_for(&mut fake, 4);
    assert_eq!(failing_on_its_page(&console.snapshot(&fake)), 2);
    assert_eq!(listed_row(&fake).standing(), "held, 2 failing: restarts");
    // From the second crash on it is said in the same words, whether the container waits or runs.
    for _ in 0..2 {
        nodes.iter().for_each(|node| fake.crash(node));
        console.run_for(&mut fake, 4);
        assert_eq!(listed_row(&fake).standing(), "held, 2 failing: crash loop");
        nodes.iter().for_each(|node| fake.restart(node));
        console.run_for(&mut fake, 4);
        assert_eq!(listed_row(&fake).standing(), "held, 2 failing: crash loop");
    }
    nodes.iter().for_each(|node| fake.crash(node));
    console.run_for(&mut fake, 4);

    // Writes of other processes keep the failing nodes. A new driver writes them anew. If nobody drives, they are not known.
    FakeConsole::open_as(&fake, "eve", Role::OneShot).partition(&mut fake, 7);
    assert_eq!(listed_row(&fake).failing.map(|failing| failing.nodes), Some(2));
    let holder = fake.lease.as_mut().unwrap().holder.replace("bob@host/2".into());
    assert_eq!(listed_row(&fake).failing, None, "what the driver before has seen");
    fake.lease.as_mut().unwrap().holder = holder;
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 4);
    let row = listed_row(&fake);
    assert_eq!(
        (row.failing.clone(), row.standing().as_str()),
        (None, "held, 2 unavailable, 0s ago 2 failing: crash loop")
    );
}

#[test]
fn nobody_rolls_out_and_three_nodes_lose_the_network() {
    for tolerates in [false, true] {
        let mut fake = FakeCluster::rolling(20, 2);
        if tolerates {
            let mut json = template("agent:v1").json().clone();
            json["spec"]["tolerations"] = serde_json::json!([{"operator": "Exists"}]);
            fake = FakeCluster::rolling_with(20, 2, crate::engine::model::template::Template::from_json(json));
        }
        let mut console = FakeConsole::open(&fake, "ops");
        agree("all is well", &fake, &mut console);
        for node in ["n3", "n4", "n5"] {
            cut(&mut fake, node);
        }
        let snapshot = agree("three are down", &fake, &mut console);
        assert_eq!(snapshot.phase, Phase::Idle);
        assert_eq!(
            (snapshot.doing().to_string(), snapshot.progress()),
            ("idle, 3 nodes down".into(), "17 of 20 available".into())
        );
        assert_eq!(snapshot.budget.to_string(), "down 0 of 2 + 3 by themselves");
        assert_eq!(snapshot.counts.failed, 0);
        assert_eq!(listed(&fake).to_string(), if tolerates { "3 unavailable" } else { "3 misscheduled" });

        // And under a rollout that is recorded, and has nothing to do.
        console.ask(&mut fake, Command::Adopt).unwrap();
        let snapshot = agree("adopted, three are down", &fake, &mut console);
        assert_eq!(
            (snapshot.phase, snapshot.budget.to_string()),
            (Phase::Idle, "down 0 of 2 + 3 by themselves".into())
        );
    }
}

#[test]
fn a_node_that_fell_before_the_rollout_began_stays_what_it_was() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    cut(&mut fake, "n3");
    console.set_image(&mut fake, "agent:v2");
    agree("held before the first step", &fake, &mut console);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    let snapshot = agree("all but the one that is down", &fake, &mut console);
    assert_eq!(snapshot.nodes.iter().find(|node| &*node.name == "n3").unwrap().blame, Some(Blame::PreExisting));
}

#[test]
fn a_rollout_from_its_beginning_to_its_end() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    agree("before the first step", &fake, &mut console);
    console.partition(&mut fake, 8);
    agree("the first step", &fake, &mut console);
    console.run_for(&mut fake, 20);
    agree("after the first step", &fake, &mut console);
    fake.slow = true;
    console.partition(&mut fake, 4);
    fake.kubelets();
    console.run(&mut fake);
    agree("two on their way", &fake, &mut console);
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    agree("paused", &fake, &mut console);
    fake.slow = false;
    for node in ["n3", "n4"] {
        fake.set_ready(node, true);
    }
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 30);
    fake.set_taints("n10", &[("m", "x", TaintEffect::NoSchedule)]);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    let snapshot = agree("the release waits", &fake, &mut console);
    assert!(snapshot.release_waits());
    fake.set_taints("n10", &[]);
    console.run_for(&mut fake, 30);
    agree("handed back", &fake, &mut console);
}

/// No node is updated because there is no driver; the partition is not the reason.
#[test]
fn nobody_drives_though_nodes_are_in_line() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 20);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    agree("what the partition lets go is done", &fake, &mut console);
    assert_eq!(listed(&fake), FleetState::Held);
    FakeConsole::open_as(&fake, "eve", Role::OneShot).partition(&mut fake, 4);
    agree("nodes may go", &fake, &mut console);
    assert_eq!(listed(&fake).to_string(), "held, nobody drives");
}

/// What a roll back gives up is told until it is over, also once no pod has it any more; and that it is a roll back, also while it stands.
#[test]
fn a_roll_back_is_called_one_and_names_both_revisions_until_it_is_over() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 60);
    fake.slow = true;
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 5);
    let both = |console: &mut FakeConsole, fake: &FakeCluster| (console.snapshot(fake), listed_row(fake));
    assert_eq!(fake.at("hash2"), 0, "the only pod of it is gone");
    let (page, row) = both(&mut console, &fake);
    assert_eq!((page.change().to_string(), row.doing()), ("v2 → v1".to_owned(), "rolling back".to_owned()));
    assert!(row.from.is_some(), "which it is, is told by the revisions, of which this list has none");
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    let (page, row) = both(&mut console, &fake);
    assert!(page.doing().to_string().starts_with("roll back paused by ops"), "{}", page.doing());
    assert!(row.doing().starts_with("roll back paused by ops"), "{}", row.doing());
}

#[test]
fn nobody_drives_and_a_halt() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 5);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    fake.kubelets();
    console.run(&mut fake);
    agree("nobody drives", &fake, &mut console);
    console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    console.run_for(&mut fake, 60);
    agree("halted", &fake, &mut console);
}

/// A roll back or a release is asked for after a halt, while the lease of a driver that was killed has not run out: nobody carries it out.
#[test]
fn what_is_asked_for_after_a_halt_is_what_nobody_carries_out() {
    for asked in [Command::Undo { to: None }, Command::Release(Early::Accept)] {
        let mut fake = FakeCluster::rolling(10, 2);
        fake.broken.push("agent:bad".into());
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:bad");
        console.partition(&mut fake, 5);
        fake.kubelets();
        console.run_for(&mut fake, 60);
        agree("halted", &fake, &mut console);
        let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
        eve.engine.command(asked.clone(), fake.now).unwrap();
        eve.run(&mut fake);
        let mut kim = FakeConsole::open(&fake, "kim");
        kim.hear(&fake);
        fake.wait(300);
        assert!(
            fake.lease.as_ref().is_some_and(|lease| lease.holder.is_some()),
            "the lease is that of the killed driver"
        );
        let daemonset = daemonset_of(&fake);
        let record = fake.lease.as_ref().and_then(|lease| lease.record.as_ref().ok()?.as_ref());
        let listed = fleet_state(&brief(&daemonset), record, DriverPresence::Absent);
        let page = kim.snapshot(&fake);
        assert!(matches!(page.driver, DriverView::Lost { .. }), "{:?}", page.driver);
        assert_eq!(listed, FleetState::Undriven, "{asked:?}: the page says {}", page.doing());
    }
}

/// Nodes whose failure an operator accepted do not count as on their way: list and page agree on that.
#[test]
fn failures_that_an_operator_accepted() {
    for (nodes, keep) in [(10, 8), (3, 0), (2, 0)] {
        let mut fake = FakeCluster::rolling(nodes, 2);
        fake.broken.push("agent:bad".into());
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:bad");
        console.partition(&mut fake, keep);
        fake.kubelets();
        console.run_for(&mut fake, 60);
        agree("halted", &fake, &mut console);
        for _ in 0..nodes {
            let _ = console.ask(&mut fake, Command::Resume);
            console.run_for(&mut fake, 60);
        }
        let snapshot = agree("accepted", &fake, &mut console);
        assert!(snapshot.counts.failed > 0, "{:?}", snapshot.counts);
        let row = listed_row(&fake);
        let told = row.failing.clone().map(|failing| (failing.nodes, failing.accepted));
        assert_eq!(told, Some((snapshot.counts.failed, snapshot.counts.failed)));
        assert!(row.standing().contains(" failing, accepted: "), "{}", row.standing());
    }
}

/// The controller replaces the pod of a node, and the new one serves.
fn replaced(fake: &mut FakeCluster, node: &str) {
    fake.remove_pod(node);
    fake.create_pod(node);
}

#[test]
fn its_own_controller_rolls() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    fake.set_template(template("agent:v2"));
    agree("its controller has not seen the template", &fake, &mut console);
    fake.reconcile();
    let snapshot = agree("nothing is replaced yet", &fake, &mut console);
    assert_eq!(snapshot.phase, Phase::Native);
    for node in ["n1", "n2"] {
        replaced(&mut fake, node);
    }
    cut(&mut fake, "n1");
    let snapshot = agree("one that was updated goes down", &fake, &mut console);
    assert_eq!(snapshot.budget.to_string(), "down 1 of 2: 1 suspect", "somebody rolls out: it may be that");
    for node in ["n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10"] {
        replaced(&mut fake, node);
    }
    let snapshot = agree("all are updated", &fake, &mut console);
    assert_eq!((snapshot.doing().to_string(), snapshot.budget.suspect), ("idle, 1 node down".into(), 0));
}

/// Whatever the rollout would do otherwise, and whether there is one.
#[test]
fn a_daemonset_that_is_being_deleted() {
    for (recorded, driven, paused) in
        [(false, false, false), (true, true, false), (true, false, false), (true, true, true), (true, false, true)]
    {
        let mut fake = FakeCluster::rolling(10, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        if recorded {
            console.set_image(&mut fake, "agent:v2");
            console.partition(&mut fake, 8);
            console.run_for(&mut fake, 20);
        }
        if paused {
            console.ask(&mut fake, Command::Pause { why: None }).unwrap();
        }
        if recorded && !driven {
            console.ask(&mut fake, Command::StopDriving).unwrap();
        }
        console.run_for(&mut fake, 4);
        let before = listed_row(&fake);
        assert_ne!(before.state, FleetState::BeingDeleted);
        fake.begin_deletion();
        let story = format!("recorded: {recorded}, driven: {driven}, paused: {paused}");
        let snapshot = agree(&story, &fake, &mut console);
        assert_eq!((snapshot.doing().to_string().as_str(), snapshot.phase), ("held", Phase::Held), "{story}");
        let row = listed_row(&fake);
        assert_eq!(row.state, FleetState::BeingDeleted, "{story}");
        assert_eq!(row.standing(), "held, being deleted", "{story}");
        assert!(row.state.rank() < FleetState::RecordMissing.rank(), "it is among the first of the list");
    }
}

/// An observation of the driver on one page or list is known to the next one.
#[test]
fn who_drives_is_known_wherever_the_session_has_seen_it() {
    let (us, seen_holders) = (Identity::for_tests("ada@host/1"), SeenHolders::default());
    let at = |secs: u64| Timestamp::default() + Duration::from_secs(secs);
    let (mut fake, lease) = (FakeCluster::rolling(3, 1), lease_name("agent"));
    fake.daemonset.name = "agent".into();
    let renewed = |millis: i64| LeaseFact {
        uid: "lease".into(),
        resource_version: "1".into(),
        holder: Some("bob@host/2".into()),
        duration_secs: 15,
        acquired_at: None,
        renewed_at: Some(Timestamp::from_millis(millis)),
        transitions: 0,
        record: Ok(None),
        prewarm: Ok(None),
        pace: Arc::default(),
        failing: None,
    };
    let daemonset = || PartialDaemonSet { strategy: StrategyKind::OnDelete, ..daemonset_of(&fake) };
    let key = || (daemonset().namespace, Str::from(lease.as_str()));
    let open = |now: Timestamp, fact: LeaseFact| {
        let mut list = KnownFleet { seen_holders: seen_holders.clone(), ..KnownFleet::default() };
        list.daemonsets.insert((daemonset().namespace, daemonset().name), daemonset());
        list.lease(key(), fact, now);
        list.leases_sight = Sight::live();
        list
    };
    let says = |list: &KnownFleet, now| list.view(now, &us).rows[0].driven_by.clone();
    let bob = || Str::from("bob@host/2");
    let mut first = open(at(0), renewed(1));
    assert_eq!(says(&first, at(0)), DrivenBy::Unconfirmed(bob()), "nobody has seen it renewed");
    first.lease(key(), renewed(2), at(10));
    assert_eq!(says(&first, at(10)), DrivenBy::Other(bob()));
    let second = open(at(12), renewed(2));
    assert_eq!(says(&second, at(12)), DrivenBy::Other(bob()), "seen to be alive two seconds ago");
    assert_eq!(says(&second, at(25)), DrivenBy::Nobody, "fifteen seconds after that");
    assert_eq!(says(&open(at(60), renewed(2)), at(60)), DrivenBy::Nobody, "known to be dead already");
    assert_eq!(says(&open(at(70), renewed(3)), at(70)), DrivenBy::Unconfirmed(bob()), "nobody saw when it was renewed");
}

/// A killed driver: list and page agree before its Lease has expired for the observer, and after that.
#[test]
fn a_driver_that_was_killed_is_silent_in_the_list_as_on_the_page() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.partition(&mut fake, 0);
    drop(ops);
    fake.now = fake.now + Duration::from_secs(40);
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    let us = Identity::for_tests("eve@host/1");
    let mut list = KnownFleet::default();
    let daemonset = daemonset_of(&fake);
    let key = (daemonset.namespace.clone(), Str::from(lease_name(&daemonset.name)));
    list.daemonsets.insert((daemonset.namespace.clone(), daemonset.name.clone()), daemonset);
    list.lease(key, fake.lease.clone().unwrap(), fake.now);
    list.leases_sight = Sight::live();
    let first = list.view(fake.now, &us).rows.remove(0);
    let page = eve.snapshot(&fake);
    assert_eq!(page.doing().to_string(), "running, nobody is seen driving");
    assert!(first.standing().ends_with("running, nobody is seen driving"), "{}", first.standing());
    assert!(matches!(page.driver, DriverView::Unconfirmed { renewed_at, .. } if renewed_at == first.silent_since));

    eve.run_for(&mut fake, 20);
    let later = list.view(fake.now, &us).rows.remove(0);
    assert_eq!(later.silent_since, None, "it is known that nobody drives");
    assert_eq!(later.driven_by, DrivenBy::Nobody);
    assert!(matches!(eve.snapshot(&fake).driver, DriverView::Lost { .. }));

    // And of one that is alive nothing of that is said, however long it has not renewed yet.
    let alive = LeaseFact { renewed_at: Some(fake.now), ..fake.lease.clone().unwrap() };
    let mut list = KnownFleet::default();
    let daemonset = daemonset_of(&fake);
    let key = (daemonset.namespace.clone(), Str::from(lease_name(&daemonset.name)));
    list.daemonsets.insert((daemonset.namespace.clone(), daemonset.name.clone()), daemonset);
    list.lease(key, alive, fake.now);
    list.leases_sight = Sight::live();
    assert_eq!(list.view(fake.now, &us).rows[0].silent_since, None);
}
