//! After the brake: what the DaemonSet's own controller did, a roll back of it, and a rollout that nobody drives.

use std::time::Duration;

use super::*;
use crate::engine::model::hold::Hold;
use crate::engine::model::quantity::IntOrPercent::{Int, Percent};
use crate::engine::model::time::UtcTime;
use crate::engine::report::remedies::Remedy;

/// Six nodes of which its controller gave two the new template; then the brake, and a roll back.
fn rolled_back_after_the_brake() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.set_template(super::super::fake_cluster::template("agent:v2"));
    fake.reconcile();
    for node in ["n1", "n2"] {
        fake.remove_pod(node);
        fake.create_pod(node);
    }
    fake.wait(30);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Pause { why: Some("lunch".into()) }).unwrap();
    fake.wait(30);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    (fake, console)
}

fn blamed(console: &mut FakeConsole, fake: &FakeCluster, name: &str) -> Option<Blame> {
    console.snapshot(fake).nodes.iter().find(|node| &*node.name == name).unwrap().blame
}

/// The partition is recorded with the brake, before a rollout has begun.
#[test]
fn what_the_brake_records_is_a_plan_before_the_first_step() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.set_template(super::super::fake_cluster::template("agent:v2"));
    fake.reconcile();
    let mut console = FakeConsole::open_as(&fake, "ops", crate::engine::model::config::Role::OneShot);
    assert!(!console.snapshot(&fake).has_plan(), "its controller knows no partition");
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.ask(&mut fake, Command::Resume).unwrap();
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.has_plan() && snapshot.started_at.is_none(), "{:?}", snapshot.phase);
    assert_eq!(snapshot.plan_in_words(), "0 may be updated, partition 6");
    let select = Command::Select(Some("zone=canary".parse().unwrap()));
    console.ask(&mut fake, select).unwrap();
    console.ask(&mut fake, Command::Step(Step::Updated(Int(3)))).unwrap();
    let preview = console.engine.preview(&Command::Step(Step::Updated(Int(5))), fake.now).unwrap();
    assert_eq!(preview.title, "Step: 5 nodes may be updated in total, 3 are selected");
    assert_eq!(preview.effects[0], "Moves nothing now: canary: 0 of 3 updated, 3 in line (zone=canary).");
}

/// Whoever rolled back, released, and asks for the revision before: that is the one that was rolled back from.
#[test]
fn an_undo_without_a_revision_does_not_lead_back_to_what_was_rolled_back_from() {
    let mut fake = FakeCluster::rolling(3, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    fake.wait(60);
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Updated(Int(3)))).unwrap();
    console.run_for(&mut fake, 200);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 200);
    let back = console.snapshot(&fake);
    assert_eq!((fake.at("hash1"), back.adopted), (3, false), "{:?}", back.phase);
    for who in ["ops", "late"] {
        let refused = FakeConsole::open(&fake, who).ask(&mut fake, Command::Undo { to: None }).unwrap_err();
        assert!(refused.contains("revision 2 is the one that was rolled back from"), "{refused}");
    }
    console.ask(&mut fake, Command::Undo { to: Some(2) }).unwrap();
}

/// Its controller has replaced one of six pods by one of v2, which crashes.
fn rolled_by_its_controller() -> FakeCluster {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.broken.push("agent:v2".into());
    fake.set_template(super::super::fake_cluster::template("agent:v2"));
    fake.reconcile();
    fake.remove_pod("n1");
    fake.create_pod("n1");
    fake
}

#[test]
fn what_its_controller_has_done_is_not_ours_after_the_brake() {
    let mut fake = rolled_by_its_controller();
    let mut console = FakeConsole::open(&fake, "ops");
    fake.wait(10);
    assert_eq!(console.snapshot(&fake).budget.to_string(), "down 1 of 2: 1 by its controller");
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert_eq!(console.snapshot(&fake).budget.to_string(), "down 1 of 2: 1 by its controller");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run(&mut fake);
    assert_eq!(console.snapshot(&fake).budget.to_string(), "down 1 of 2: 1 ours");
}

/// Its controller has replaced six of twenty pods when it is braked: two are not ready, four serve and soak from then on.
#[test]
fn nodes_that_serve_and_soak_after_the_brake_are_told_apart_from_those_that_are_down() {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.defaults.soak_secs = Some(crate::engine::model::settings::Secs(10));
    fake.wait(60);
    fake.set_template(super::super::fake_cluster::template("agent:v2"));
    fake.reconcile();
    let replace = |fake: &mut FakeCluster, nodes: std::ops::RangeInclusive<u32>| {
        for node in nodes.map(|nth| format!("n{nth}")) {
            fake.remove_pod(&node);
            fake.create_pod(&node);
        }
    };
    let mut console = FakeConsole::open(&fake, "ops");
    replace(&mut fake, 1..=4);
    fake.slow = true;
    replace(&mut fake, 5..=6);
    fake.wait(3);
    let before = console.snapshot(&fake);
    assert_eq!(
        (before.progress(), before.budget.to_string()),
        ("4 of 20 updated".into(), "down 2 of 2: 2 by its controller".into())
    );
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    let braked = console.snapshot(&fake);
    assert_eq!(braked.budget.to_string(), "down 6 of 2 (4 up, soaking): 6 by its controller");
    assert_eq!((braked.budget.charged, braked.budget.soaking, braked.counts.updated), (6, 4, 0));
    console.ask(&mut fake, Command::Step(Step::Partition(IntOrPercent::Int(0)))).unwrap();
    let resume = console.engine.preview(&Command::Resume, fake.now).unwrap().effects;
    let counted = "6 nodes are being updated (n1, n2, n3, …; 4 up, soaking), and 2 may be down at once.";
    assert!(resume.iter().any(|line| line.contains(counted)), "{resume:?}");
    // Nothing soaks on the way back.
    let undo = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap().effects;
    let waits = "6 nodes are not at that revision, and n5, n6 go at once, the others wait: 2 nodes are down already (n5, n6), and 2 may be.";
    assert!(undo[0].starts_with(waits), "{undo:?}");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    let back = console.snapshot(&fake);
    assert_eq!((back.budget.charged, back.budget.soaking), (2, 0), "{}", back.budget);
}

/// On the way back old pods are at the target, and the rollout did not put them there.
#[test]
fn a_node_that_kept_its_pod_is_no_suspect_of_the_roll_back() {
    let (mut fake, mut console) = rolled_back_after_the_brake();
    fake.wait(5);
    fake.set_node_ready("n5", false);
    assert_eq!(blamed(&mut console, &fake, "n5"), Some(Blame::Node), "it never left the revision");
    console.run_for(&mut fake, 40);
    assert_eq!(fake.at("hash1"), 6);
    fake.set_node_ready("n1", false);
    assert_eq!(blamed(&mut console, &fake, "n1"), Some(Blame::Suspect), "the roll back gave it its pod");
}

#[test]
fn a_second_pause_keeps_the_first_unless_it_has_a_reason_and_then_what_it_said() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let paused = |console: &mut FakeConsole, fake: &FakeCluster| match console.snapshot(fake).phase {
        Phase::Paused(paused) => (paused.at, paused.why.map(|why| why.to_string())),
        other => panic!("{other:?}"),
    };
    console.ask(&mut fake, Command::Pause { why: Some("lunch".into()) }).unwrap();
    let first = paused(&mut console, &fake);
    fake.wait(60);
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert_eq!(paused(&mut console, &fake), first);
    let said = console.ask(&mut fake, Command::Pause { why: Some("link down".into()) }).unwrap();
    assert_eq!(said, "it was paused already, the new reason is noted: no update starts");
    let both = Some("lunch; then: link down".to_owned());
    assert_eq!(paused(&mut console, &fake), (first.0, both.clone()), "since when nothing moves");
    let preview = console.engine.preview(&Command::Pause { why: Some("again".into()) }, fake.now).unwrap();
    // The text is made once, and read for a while: an age would stand still in it.
    let at = UtcTime { at: first.0, now: fake.now };
    let known = format!(
        "It is paused already, by ops@bastion at {at}: lunch; then: link down. That is kept with the new reason."
    );
    assert_eq!(preview.effects[0], known);
    let preview = console.engine.preview(&Command::Resume, fake.now).unwrap();
    assert_eq!(preview.effects[0], format!("Lifts the pause by ops@bastion at {at}: lunch; then: link down."));
    assert!(at.to_string().ends_with(" UTC") && !at.to_string().contains('-'), "{at}");
    let long_ago = UtcTime { at: first.0, now: fake.now + Duration::from_secs(86_400) }.to_string();
    assert!(long_ago.starts_with("20") && long_ago.contains('-'), "{long_ago}");
    console.run_for(&mut fake, 5);
    // It is written with the next renewal.
    let _ = console.ask(&mut fake, Command::Pause { why: Some("lunch".into()) });
    console.run_for(&mut fake, 10);
    assert!(console.settled.iter().all(|(_, result)| result.is_ok()), "{:?}", console.settled);
    assert_eq!(paused(&mut console, &fake).1, both, "it is said already");
    let preview = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
    assert!(
        preview
            .effects
            .iter()
            .any(|line| line.starts_with("The pause by ops@bastion 1m ago (lunch; then: link down) is lifted.")),
        "{:?}",
        preview.effects
    );
}

/// Anybody may lift a pause by rolldeck without a question. Who pauses on top of it wants nobody to do so.
#[test]
fn a_pause_on_top_of_one_by_rolldeck_is_the_operators_own_with_or_without_a_reason() {
    for why in [None, Some("link down".to_owned())] {
        let mut fake = FakeCluster::rolling(6, 2);
        let mut ada = FakeConsole::open(&fake, "ada");
        ada.set_image(&mut fake, "agent:v2");
        ada.partition(&mut fake, 3);
        ada.run_for(&mut fake, 60);
        fake.set_template(template("agent:v3"));
        fake.reconcile();
        ada.run_for(&mut fake, 30);
        let Phase::Paused(by_rolldeck) = ada.snapshot(&fake).phase else { panic!("not paused") };
        let pause = Command::Pause { why: why.clone() };
        let preview = ada.engine.preview(&pause, fake.now).unwrap();
        assert!(preview.effects[0].ends_with("It becomes your pause."), "{:?}", preview.effects);
        let said = ada.ask(&mut fake, pause).unwrap();
        assert_eq!(said, "rolldeck itself had paused it, the pause is yours now: no update starts");
        let Phase::Paused(paused) = ada.snapshot(&fake).phase else { panic!("not paused") };
        let own = why.map(|why| format!("{why}; ")).unwrap_or_default();
        let before =
            format!("before, rolldeck at {}: the template was changed", UtcTime { at: by_rolldeck.at, now: fake.now });
        let reason = format!("{own}{before}");
        assert_eq!((&*paused.by, paused.why.as_deref()), ("ada@bastion", Some(&*reason)));
        assert_eq!(paused.template.as_deref(), Some(&*fake.current().hash));
        // Only the operator's own words are quoted.
        let quoted = own.strip_suffix("; ").map(|own| format!(": \"{own}\"")).unwrap_or_default();
        let told = ada.snapshot(&fake).doing().to_string();
        assert!(told.ends_with(&format!("{quoted}; {before}")), "{told}");
        let mut bob = FakeConsole::open(&fake, "bob");
        let preview = bob.engine.preview(&Command::Resume, fake.now).unwrap();
        assert!(preview.effects[0].starts_with("Lifts the pause by ada@bastion at "), "{:?}", preview.effects);
    }
}

/// The name and the time of a pause belong together.
#[test]
fn a_reason_that_somebody_adds_stands_with_their_name_and_the_pause_with_that_of_who_paused() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.ask(&mut fake, Command::Pause { why: Some("lunch".into()) }).unwrap();
    let began = fake.now;
    let undo = Command::Undo { to: None };
    assert_eq!(ops.engine.preview(&undo, fake.now).unwrap().lifts_pause, None, "their own");
    fake.wait(20);
    let mut bob = FakeConsole::open_as(&fake, "bob", crate::engine::model::config::Role::OneShot);
    bob.ask(&mut fake, Command::Pause { why: Some("link down".into()) }).unwrap();
    let Phase::Paused(paused) = bob.snapshot(&fake).phase else { panic!() };
    assert_eq!((&*paused.by, paused.why.as_deref()), ("ops@bastion", Some("lunch; then bob@bastion: link down")));
    assert!(fake.now.since(paused.at) >= Duration::from_secs(20) && paused.at >= began, "{paused:?}");
    ops.run(&mut fake);
    let asks = ops.engine.preview(&undo, fake.now).unwrap().lifts_pause;
    assert_eq!(asks.as_ref(), Some(&paused), "bob needs it still");
}

/// A release drops the pause with the record: who paused has a reason for which nobody hands the DaemonSet back unasked.
#[test]
fn a_release_that_ends_a_pause_says_so_and_asks_where_somebody_else_paused() {
    for (early, costs) in [(Early::Accept, true), (Early::Refuse, false)] {
        let mut fake = FakeCluster::rolling(4, 1);
        let mut ops = FakeConsole::open(&fake, "ops");
        ops.keep(&mut fake);
        ops.set_image(&mut fake, "agent:v2");
        ops.partition(&mut fake, if costs { 3 } else { 0 });
        ops.run_for(&mut fake, 120);
        ops.ask(&mut fake, Command::Pause { why: Some("link down".into()) }).unwrap();
        let release = Command::Release(early);
        let own = ops.engine.preview(&release, fake.now).unwrap();
        let says = "The pause by ops@bastion 0s ago (link down) is lifted.";
        assert!(own.effects.iter().any(|line| line == says), "{:?}", own.effects);
        let danger = if costs { Danger::ExceedsBudget } else { Danger::Bounded };
        assert_eq!((own.lifts_pause, own.danger), (None, danger), "their own, which they may end");
        let mut bob = FakeConsole::open_as(&fake, "bob", crate::engine::model::config::Role::OneShot);
        bob.run(&mut fake);
        let preview = bob.engine.preview(&release, fake.now).unwrap();
        assert!(preview.effects.iter().any(|line| line == says), "{:?}", preview.effects);
        let lifts = preview.lifts_pause.and_then(|paused| paused.why);
        let danger = if costs { Danger::ExceedsBudget } else { Danger::Serious };
        assert_eq!((lifts.as_deref(), preview.danger), (Some("link down"), danger));
        let said = ops.ask(&mut fake, release).unwrap();
        let left = if costs { "; early, with 3 pods left to its controller" } else { "" };
        let restored = format!("released: the original update strategy is restored{left}");
        assert_eq!(said, format!("{restored}; the pause by ops@bastion 0s ago (link down) is lifted"));
    }
}

/// Whoever changes the image may not know of the pause; whoever rolls back may end their own at once.
#[test]
fn a_pause_that_ends_beside_has_to_be_agreed_to() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    let mut bob = FakeConsole::open_as(&fake, "bob", crate::engine::model::config::Role::OneShot);
    let image = || Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into());
    let (undo, step) = (Command::Undo { to: None }, Command::Step(Step::Updated(Int(1))));
    let lifts = |console: &mut FakeConsole, fake: &mut FakeCluster, command: &Command| {
        console.run(fake);
        let preview = console.engine.preview(command, fake.now).unwrap();
        preview.lifts_pause.map(|paused| (paused.by.to_string(), paused.why.map(|why| why.to_string())))
    };
    for command in [&image(), &undo] {
        assert_eq!(lifts(&mut bob, &mut fake, command), None, "{command:?}");
    }
    bob.ask(&mut fake, Command::Pause { why: Some("link down".into()) }).unwrap();
    let by_bob = Some(("bob@bastion".to_owned(), Some("link down".to_owned())));
    for (command, to_bob, to_ops) in
        [(&image(), &by_bob, &by_bob), (&undo, &None, &by_bob), (&Command::Resume, &None, &None), (&step, &None, &None)]
    {
        assert_eq!(lifts(&mut bob, &mut fake, command), *to_bob, "{command:?}");
        assert_eq!(lifts(&mut ops, &mut fake, command), *to_ops, "{command:?}");
    }
}

/// Another step would let more nodes go, and still nobody would update them.
#[test]
fn where_nobody_drives_no_step_is_offered() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    let mut shell = FakeConsole::open_as(&fake, "shell", crate::engine::model::config::Role::OneShot);
    shell.ask(&mut fake, Command::Step(Step::Updated(Int(3)))).unwrap();
    let snapshot = shell.snapshot(&fake);
    assert_eq!(snapshot.nodes.iter().filter(|node| node.hold == Some(Hold::NobodyDrives)).count(), 3);
    let guidance = snapshot.guidance().unwrap();
    assert_eq!(guidance.waits, "nobody drives: 3 nodes may be updated, and nothing moves");
    assert_eq!(guidance.remedies, [Remedy::Drive]);
}

#[test]
fn more_nodes_than_there_are_is_a_typing_error() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let refused = console.ask(&mut fake, Command::Step(Step::Updated(Int(21)))).unwrap_err();
    assert_eq!(refused, "21 nodes are more than the 20 that there are; for all of them say 100%");
    console.ask(&mut fake, Command::Step(Step::Updated(Percent(100)))).unwrap();
}

#[test]
fn a_selector_that_matches_no_node_says_so() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let select = Command::Select(Some("canary=maybe".parse().unwrap()));
    let preview = console.engine.preview(&select, fake.now).unwrap();
    assert_eq!(preview.effects[0], "No node matches canary=maybe: while it stands no node is updated.");
    assert_eq!(preview.danger, Danger::Serious, "it is asked about");
    console.ask(&mut fake, Command::Step(Step::Updated(Percent(100)))).unwrap();
    console.run_for(&mut fake, 10);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    let refused = console.engine.preview(&select, fake.now).unwrap_err().to_string();
    assert!(refused.contains("rolling back ignores the selector; it updates every node"), "{refused}");
    let preview = console.engine.preview(&Command::Select(None), fake.now).unwrap();
    assert_eq!(preview.effects[0], "Moves nothing: on the way back partition and selector are ignored.");
}

/// A brake that stops a rollout of the DaemonSet's own controller, whose new revision fails: going back is offered first.
#[test]
fn after_a_brake_the_way_back_comes_first_where_the_new_revision_fails() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    let remedies = |console: &mut FakeConsole, fake: &FakeCluster| console.snapshot(fake).remedies();
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert_eq!(remedies(&mut console, &fake), [Remedy::LiftPause], "nothing fails");
    let mut fake = rolled_by_its_controller();
    fake.wait(30);
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(remedies(&mut console, &fake), [Remedy::Undo, Remedy::LiftPause]);
    // Once the failure would halt it, an alarm says so with the way back: it is not offered twice.
    fake.wait(60);
    console.run_for(&mut fake, 60);
    let offered = remedies(&mut console, &fake);
    assert_eq!(offered.iter().filter(|remedy| **remedy == Remedy::Undo).count(), 1, "{offered:?}");
}

/// Where nobody drives, driving lets the nodes go that may be updated: they are named.
#[test]
fn driving_names_the_nodes_that_go() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut one_shot = FakeConsole::open_as(&fake, "script", Role::OneShot);
    one_shot.set_image(&mut fake, "agent:v2");
    one_shot.ask(&mut fake, Command::Step(Step::Updated(Int(1)))).unwrap();
    fake.wait(60);
    let preview = FakeConsole::open(&fake, "ops").engine.preview(&Command::Drive(Takeover::Ask), fake.now).unwrap();
    assert_eq!(preview.nodes, ["n1".into()].into(), "{:?}", preview.effects);
}

/// Whoever takes over a paused rollout moves nothing by it.
#[test]
fn driving_a_paused_rollout_lets_no_node_go() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Updated(Percent(100)))).unwrap();
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    let mut other = FakeConsole::open(&fake, "late");
    let preview = other.engine.preview(&Command::Drive(Takeover::Ask), fake.now).unwrap();
    assert!(preview.nodes.is_empty(), "{:?}", preview.nodes);
    let paused = "This process becomes the driver. The rollout is paused: nothing moves until it is resumed.";
    assert!(preview.effects.iter().any(|line| line == paused), "{:?}", preview.effects);
}

/// A step or a selector that says it already leaves it out of the words for who becomes the driver.
#[test]
fn a_preview_says_once_that_nothing_moves_until_it_is_resumed() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 20);
    let mut other = FakeConsole::open(&fake, "late");
    let canary = Command::Select(Some("zone=canary".parse().unwrap()));
    for command in [Command::Step(Step::Updated(Int(2))), canary, Command::Drive(Takeover::Ask)] {
        let effects = other.engine.preview(&command, fake.now).unwrap().effects;
        let says = effects.iter().filter(|line| line.contains("nothing moves until it is resumed")).count();
        let drives = effects.iter().any(|line| line.starts_with("This process becomes the driver."));
        assert_eq!((says, drives), (1, true), "{command:?}: {effects:#?}");
    }
}

/// A node that was updated and is down goes back later; one that never left the revision is not spoken of.
#[test]
fn a_roll_back_counts_nodes_that_are_down_and_no_node_that_stays() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 6);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 4);
    let undo = Command::Undo { to: None };
    let effects = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.hear(fake);
        console.engine.preview(&undo, fake.now).unwrap().effects
    };
    let all = effects(&mut console, &fake);
    assert!(all[0].starts_with("4 nodes are not at that revision") && !all[1].contains("more"), "{all:?}");
    fake.set_node_ready("n2", false);
    let effects = effects(&mut console, &fake);
    assert!(effects[0].starts_with("3 nodes are not at that revision"), "{effects:?}");
    assert_eq!(effects[1], "These 3 pods run revision 2; all of them serve.");
    assert_eq!(effects[2], "1 node more is not at it: it is down, or its pod is going. It follows.");
    for node in ["n1", "n3", "n4"] {
        fake.set_node_ready(node, false);
    }
    console.hear(&fake);
    let effects = console.engine.preview(&undo, fake.now).unwrap().effects;
    assert!(
        effects[0].starts_with("4 nodes are not at that revision: they are down"),
        "it does not say that all are there: {effects:?}"
    );
}
