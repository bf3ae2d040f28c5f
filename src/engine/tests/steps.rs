//! Steps that would move nothing, and selectors that let many nodes go at one key.

use super::*;
use crate::engine::model::hold::Hold;
use crate::engine::model::quantity::IntOrPercent::{Int, Percent};
use crate::engine::model::settings::Steps;
use crate::engine::model::settings::value::SettingValue;
use crate::engine::model::step_ahead::{NoStep, StepAhead};
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::Snapshot;

/// A hundred and twenty nodes, three of which are canaries, with a new image asked for.
fn with_canaries() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(120, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Select(Some("zone=canary".parse().unwrap()))).unwrap();
    (fake, console)
}

fn step(console: &mut FakeConsole, fake: &mut FakeCluster) -> Result<String, String> {
    let said = console.ask(fake, Command::Step(Step::Next));
    console.run_for(fake, 20);
    said
}

fn waits(snapshot: &Snapshot) -> String {
    snapshot.guidance().map(|guidance| guidance.waits).unwrap_or_default()
}

#[test]
fn a_step_under_a_selector_raises_nothing_that_only_lifting_it_would_use() {
    let (mut fake, mut console) = with_canaries();
    let said = step(&mut console, &mut fake).unwrap();
    assert!(said.contains("; of these only those with zone=canary, which 3 nodes have"), "{said}");
    assert_eq!(fake.at("hash2"), 1);
    // The plan's next step is 10 %: 12 nodes. The selector has 3.
    let ahead = StepAhead { step: Percent(10), allowed: 3, frees: Some(2), cut_by_selector: true };
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.plan.next, Some(Ok(ahead)));
    assert_eq!(snapshot.guidance().unwrap().remedies, [Remedy::Step(ahead)]);
    let preview = console.engine.preview(&Command::Step(Step::Next), fake.now).unwrap();
    assert!(preview.effects[0].starts_with("2 nodes more may be updated (3 in total)"), "{:?}", preview.effects);
    // Whoever confirms this preview gets these three, whatever the next step is by then.
    assert_eq!(preview.pinned.as_deref(), Some(&Command::Step(Step::Updated(Int(3)))));
    step(&mut console, &mut fake).unwrap();
    assert_eq!((fake.at("hash2"), console.snapshot(&fake).plan.allowed), (3, 3));

    for _ in 0..3 {
        let refused = step(&mut console, &mut fake).unwrap_err();
        assert!(refused.contains("moves nothing: canary done, 3 of 3 (zone=canary); lift the selector"), "{refused}");
    }
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.phase.clone(), snapshot.plan.allowed), (Phase::Held, 3), "nothing was raised in silence");
    assert_eq!(waits(&snapshot), "canary done, 3 of 3 (zone=canary)");
    assert_eq!(snapshot.guidance().unwrap().remedies, [Remedy::LiftSelector { frees: 0 }]);
    console.ask(&mut fake, Command::Select(None)).unwrap();
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), 3, "lifting it frees no more than was allowed");
    step(&mut console, &mut fake).unwrap();
    assert_eq!(fake.at("hash2"), 12);
}

/// The list of nodes has those that are in line already, too, and says so.
#[test]
fn a_selector_that_is_lifted_frees_other_nodes_than_those_in_line() {
    let (mut fake, mut console) = with_canaries();
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.ask(&mut fake, Command::Step(Step::Updated(Int(10)))).unwrap();
    let preview = console.engine.preview(&Command::Select(None), fake.now).unwrap();
    assert_eq!(preview.nodes.len(), 10);
    assert!(preview.effects[0].starts_with("Frees 7 nodes at once: 10 of 120 may"), "{:?}", preview.effects);
    assert_eq!(preview.effects[1], "Besides, 3 nodes are in line already.");
}

#[test]
fn lifting_a_selector_says_how_many_nodes_that_frees_and_asks() {
    let (mut fake, mut console) = with_canaries();
    let all = Command::Step(Step::Updated(Percent(100)));
    let preview = console.engine.preview(&all, fake.now).unwrap();
    assert!(preview.effects[0].starts_with("3 nodes more may be updated (120 in total)"), "{:?}", preview.effects);
    assert_eq!(preview.effects[1], "When zone=canary is lifted, 117 nodes more may go at once.");
    console.ask(&mut fake, all.clone()).unwrap();
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), 3);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.guidance().unwrap().remedies, [Remedy::LiftSelector { frees: 117 }]);
    let preview = console.engine.preview(&Command::Select(None), fake.now).unwrap();
    assert_eq!((preview.danger, preview.nodes.len()), (Danger::Serious, 117));
    assert!(
        preview.effects[0].starts_with("Frees 117 nodes at once: 120 of 120 may be updated"),
        "{:?}",
        preview.effects
    );
    // One that lets no more go than before is no more than a key.
    let narrower = Command::Select(Some("zone=canary,zone!=rest".parse().unwrap()));
    assert_eq!(console.engine.preview(&narrower, fake.now).unwrap().danger, Danger::Bounded);
}

#[test]
fn a_canary_that_cannot_go_is_not_said_to_be_done() {
    let (mut fake, mut console) = with_canaries();
    fake.set_node_ready("n2", false);
    step(&mut console, &mut fake).unwrap();
    step(&mut console, &mut fake).unwrap();
    assert_eq!(fake.at("hash2"), 2);
    let snapshot = console.snapshot(&fake);
    assert_eq!(waits(&snapshot), "canary: 2 of 3 updated, 1 cannot go now (zone=canary): 1 down (n2)");
    assert!(snapshot.waits_for_cordoned().is_empty());
    fake.set_node_ready("n2", true);
    fake.change_node("n2", |node| node.unschedulable = true);
    console.run_for(&mut fake, 30);
    let snapshot = console.snapshot(&fake);
    assert_eq!(waits(&snapshot), "canary: 2 of 3 updated, 1 cannot go now (zone=canary): 1 cordoned (n2)");
    let cordoned: Vec<&str> = snapshot.waits_for_cordoned().iter().map(|node| &*node.name).collect();
    assert_eq!(cordoned, ["n2"]);
    console.ask(&mut fake, Command::Select(Some("zone=none".parse().unwrap()))).unwrap();
    assert_eq!(waits(&console.snapshot(&fake)), "no node matches zone=none");
}

#[test]
fn where_only_nodes_are_left_that_are_down_no_step_is_offered() {
    let mut fake = FakeCluster::rolling(20, 2);
    for node in ["n5", "n6", "n7"] {
        fake.set_node_ready(node, false);
    }
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    for (keep, refused) in [(3, "the 3 nodes that are left are down or cordoned"), (0, "this is the last step")] {
        console.partition(&mut fake, keep);
        console.run_for(&mut fake, 40);
        assert_eq!(fake.at("hash2"), 17);
        let snapshot = console.snapshot(&fake);
        assert_eq!(snapshot.phase, Phase::Held);
        assert_eq!(waits(&snapshot), "waits for 3 nodes: down (n5, n6, n7)", "their number is said once");
        assert_eq!(snapshot.guidance().unwrap().remedies, []);
        let said = step(&mut console, &mut fake).unwrap_err();
        assert!(said.contains(refused), "{said}");
    }
    fake.set_node_ready("n5", true);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), 18, "what was waited for goes");
}

#[test]
fn a_step_that_moves_nothing_says_so_where_it_is_asked_for_by_number() {
    let (mut fake, mut console) = with_canaries();
    console.ask(&mut fake, Command::Step(Step::Updated(Int(3)))).unwrap();
    console.run_for(&mut fake, 20);
    let preview = console.engine.preview(&Command::Step(Step::Updated(Int(60))), fake.now).unwrap();
    assert_eq!(
        preview.effects[..2],
        [
            "Moves nothing now: canary done, 3 of 3 (zone=canary).",
            "When zone=canary is lifted, 57 nodes more may go at once.",
        ]
    );
    let preview = console.engine.preview(&Command::Step(Step::Back), fake.now).unwrap();
    assert_eq!(preview.effects[0], "3 nodes are updated already or on the way: no other is started.");
}

/// What is offered is what is done: whatever state a rollout is in, the step on screen is there, and frees what it says.
#[test]
fn the_step_on_screen_is_the_step_that_is_taken() {
    for seed in 0..40 {
        let mut random = seed * 7919 + 1_u32;
        let mut of = |count: u32| {
            random = random.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (random >> 16) % count
        };
        let mut fake = FakeCluster::rolling(12, 1 + of(3));
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        for _ in 0..8 {
            let _ = match of(6) {
                0 => console.ask(&mut fake, Command::Select(Some("zone=canary".parse().unwrap()))),
                1 => console.ask(&mut fake, Command::Select(None)),
                2 => {
                    let node = format!("n{}", 1 + of(12));
                    let up = fake.nodes[&*node].ready == crate::engine::model::facts::ConditionStatus::True;
                    fake.set_node_ready(&node, !up);
                    Ok(String::new())
                }
                3 => console.ask(&mut fake, Command::Step(Step::Updated(Int(of(13))))),
                _ => console.ask(&mut fake, Command::Step(Step::Next)),
            };
            console.run_for(&mut fake, u64::from(of(12)));
            let snapshot = console.snapshot(&fake);
            let next = snapshot.plan.next.clone().unwrap();
            let preview = console.engine.preview(&Command::Step(Step::Next), fake.now);
            match (&next, preview) {
                // It has come to its end meanwhile: what a step would do is not known before the next image.
                (Ok(StepAhead { frees: None, .. }), Ok(_)) => {}
                // Nodes whose site is down at large are let go by the partition, and are not next.
                (Ok(_), Ok(_)) if snapshot.nodes.iter().any(|node| matches!(node.hold, Some(Hold::SiteOutage(_)))) => {}
                (Ok(ahead), Ok(preview)) => {
                    let frees = preview.nodes.len() - snapshot.counts.next as usize;
                    assert_eq!(ahead.frees.map(|frees| frees as usize), Some(frees), "seed {seed}: {ahead:?}");
                    assert!(frees > 0, "seed {seed}: a step that moves nothing is offered: {ahead:?}");
                }
                (Err(none), Err(refused)) => assert_eq!(none.to_string(), refused.to_string()),
                (next, preview) => panic!("seed {seed}: {next:?} is shown, and {preview:?} is done"),
            }
            if let Err(NoStep::SelectionDone(done)) = next {
                let lifted = console.engine.preview(&Command::Select(None), fake.now).unwrap();
                let outage = snapshot.nodes.iter().any(|node| matches!(node.hold, Some(Hold::SiteOutage(_))));
                let frees = lifted.nodes.len() - snapshot.counts.next as usize;
                assert!(outage || done.lifting_frees as usize == frees, "seed {seed}: {frees} {done:?}");
            }
        }
    }
}

/// Without a soak time a node counts as updated when its pod is ready: the next step says for how short a time it has been.
#[test]
fn a_step_says_that_the_last_updated_nodes_have_been_ready_for_a_moment_only() {
    let (mut fake, mut console) = with_canaries();
    console.ask(&mut fake, Command::Step(Step::Next)).unwrap();
    let next = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.engine.preview(&Command::Step(Step::Next), fake.now).unwrap().effects
    };
    while fake.at("hash2") < 1 || console.snapshot(&fake).counts.updated < 1 {
        console.run_for(&mut fake, 1);
    }
    let said = next(&mut console, &fake);
    assert!(
        said[1]
            .ends_with(": what crashes after its start may not have done so yet. A longer soak time waits for that."),
        "{said:?}"
    );
    console.run_for(&mut fake, 40);
    let said = next(&mut console, &fake);
    assert!(said.iter().all(|line| !line.contains("what crashes after its start")), "{said:?}");
}

#[test]
fn where_nothing_is_rolled_out_no_step_is_recorded() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    for step in [Step::Next, Step::Updated(Int(3)), Step::Partition(Int(2)), Step::Back] {
        let refused = console.ask(&mut fake, Command::Step(step)).unwrap_err();
        assert!(refused.contains("no rollout is recorded, so there is no step to take"), "{refused}");
    }
    // Who would begin one for it learns before that that there are not so many nodes.
    for step in [Step::Updated(Int(7)), Step::Partition(Int(7))] {
        let refused = console.ask(&mut fake, Command::Step(step)).unwrap_err();
        assert!(refused.contains("7 nodes are more than the 6 that there are"), "{refused}");
    }
    console.run_for(&mut fake, 20);
    assert!(fake.lease.is_none(), "nothing is left behind that says it is being prepared");
}

#[test]
fn the_last_nodes_on_their_way_still_tell_where_the_rollout_came_from() {
    let mut fake = FakeCluster::rolling(4, 4);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Updated(Percent(100)))).unwrap();
    console.run(&mut fake);
    assert_eq!(fake.deleted.len(), 4, "no pod of the old revision is left");
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.counts.updated < 4, "they are on their way");
    assert_eq!(snapshot.from.map(|from| from.hash), Some("hash1".into()));
}

/// Found by the attack (seed 128): whoever asked for the adoption was killed before it. The record stands, so a step goes on with it.
#[test]
fn a_step_goes_on_with_a_record_whose_adoption_was_not_made() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.rolling_only = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap_err();
    assert!(console.snapshot(&fake).phase == Phase::Preparing && fake.lease.is_some());
    fake.rolling_only = false;
    console.ask(&mut fake, Command::Step(Step::Updated(Percent(100)))).unwrap();
    console.run_for(&mut fake, 60);
    assert!(console.snapshot(&fake).adopted);
}

#[test]
fn a_selection_of_which_no_node_goes_says_why_and_what_lets_one_go() {
    let mut fake = FakeCluster::rolling(120, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Updated(Int(2)))).unwrap();
    console.run_for(&mut fake, 30);
    let others: Vec<_> = (60..64).map(|nth| format!("n{nth}")).collect();
    others.iter().for_each(|name| {
        fake.change_node(name, |node| node.labels = [("zone", "late")].into_iter().collect());
    });
    console.run_for(&mut fake, 2);
    assert_eq!(fake.at("hash2"), 2);
    let select = Command::Select(Some("zone=late".parse().unwrap()));
    let lines = console.engine.preview(&select, fake.now).unwrap().effects;
    assert_eq!(
        lines[..2],
        [
            "4 of 120 nodes match zone=late.",
            "Moves nothing now: 2 may be updated, 2 nodes are updated already or on the way. The next step lets 4 nodes of the selection go."
        ]
    );
    console.ask(&mut fake, select.clone()).unwrap();
    let all = console.engine.preview(&Command::Step(Step::Updated(Int(60))), fake.now).unwrap();
    assert_eq!(all.title, "Step: 60 nodes may be updated in total, 4 are selected");
    console.ask(&mut fake, Command::Step(Step::Next)).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 6, "and so it does");
    // The same again changes nothing, and is not recorded as if it did.
    let again = console.engine.preview(&select, fake.now).unwrap();
    assert_eq!(again.effects, ["4 of 120 nodes match zone=late.", "It is selected already: nothing changes."]);
    assert_eq!((again.calls, again.danger), (Vec::<String>::new(), Danger::None));
    let before = fake.lease.as_ref().unwrap().record.clone().unwrap().unwrap().intent;
    assert_eq!(console.ask(&mut fake, select).unwrap(), "zone=late is selected already: nothing changes");
    assert_eq!(fake.lease.as_ref().unwrap().record.clone().unwrap().unwrap().intent, before);
}

/// Preview, answer and plan count the same nodes of a selector that takes the place of another, and those that were updated under that one.
#[test]
fn a_selector_in_place_of_another_counts_its_own_nodes_and_those_that_are_updated_beside_it() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    for (node, zone) in [("n1", "a"), ("n2", "a"), ("n3", "b"), ("n4", "b"), ("n5", "b")] {
        fake.change_node(node, |fact| fact.labels = [("zone", zone)].into_iter().collect());
    }
    let select = |zone: &str| Command::Select(Some(format!("zone={zone}").parse().unwrap()));
    assert_eq!(console.ask(&mut fake, select("a")).unwrap(), "only nodes with zone=a are updated, 2 of 6 match");
    console.ask(&mut fake, Command::Step(Step::Updated(Int(2)))).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(
        console.snapshot(&fake).plan_in_words(),
        "step 3 of 4: 2 may be updated, partition 4, only zone=a (2 nodes)"
    );
    let effects = console.engine.preview(&select("b"), fake.now).unwrap().effects;
    let beside = "2 nodes that do not match are updated already or on the way: none goes back, and steps count them.";
    assert_eq!((&*effects[0], effects.last().map(|line| &**line)), ("3 of 6 nodes match zone=b.", Some(beside)));
    assert_eq!(
        console.ask(&mut fake, select("b")).unwrap(),
        "only nodes with zone=b are updated, 3 of 6 match; 2 nodes are updated already or on the way, and not selected"
    );
    let plan = "2 by hand, no step of the plan: 2 may be updated, partition 4, only zone=b (3 nodes); 2 of those updated are not selected";
    assert_eq!(console.snapshot(&fake).plan_in_words(), plan);
}

/// Before the first step, too, it is said how many nodes a selector matches.
#[test]
fn a_selector_says_how_many_nodes_match_before_the_first_step() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.change_node("n7", |node| node.labels = [("canary", "true")].into_iter().collect());
    console.run_for(&mut fake, 2);
    let select = Command::Select(Some("canary=true".parse().unwrap()));
    let lines = console.engine.preview(&select, fake.now).unwrap().effects;
    assert_eq!(
        lines,
        [
            "1 of 20 nodes matches canary=true.",
            "Moves nothing by itself: no node may be updated before the first step."
        ]
    );
}

/// Adopted, and every node has the present template: it is idle, whether a driver has recorded the target or not, and there is no step.
#[test]
fn where_nothing_is_to_be_rolled_out_it_is_idle_and_no_step_is_taken() {
    for role in [Role::OneShot, Role::Driver] {
        let mut fake = FakeCluster::rolling(6, 1);
        let mut console = FakeConsole::open_as(&fake, "ops", role);
        console.ask(&mut fake, Command::Adopt).unwrap();
        console.run_for(&mut fake, 3);
        let snapshot = console.snapshot(&fake);
        assert_eq!(snapshot.phase, Phase::Idle, "{role:?}");
        assert!(snapshot.guidance().unwrap().waits.starts_with("adopted: its controller replaces no pod"));
        let refused = console.engine.preview(&Command::Step(Step::Next), fake.now).unwrap_err().to_string();
        assert_eq!(refused, "a step moves nothing: every node is updated, or on its way");
        // What is asked for by number is recorded. It counts for no template that comes later, whoever deploys that.
        let all = Command::Step(Step::Updated(IntOrPercent::Int(4)));
        let effects = console.engine.preview(&all, fake.now).unwrap().effects;
        assert_eq!(
            effects,
            [
                "Moves nothing: every node is updated, or on its way.",
                "`set-image` begins with every node kept, whatever is set here. So does a template that is deployed in another way, once it is \
                 resumed.",
            ]
        );
        console.ask(&mut fake, all).unwrap();
        // And so it is.
        console.ask(&mut fake, Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into())).unwrap();
        console.run_for(&mut fake, 1);
        assert_eq!(console.snapshot(&fake).plan.allowed, 0, "{role:?}");
    }
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.ask(&mut fake, Command::Step(Step::Updated(IntOrPercent::Int(4)))).unwrap();
    console.ask(&mut fake, Command::StopDriving).unwrap();
    fake.set_template(template("agent:v2"));
    fake.wait(30);
    let mut driver = FakeConsole::open(&fake, "ops");
    driver.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    driver.run_for(&mut fake, 5);
    assert!(matches!(driver.snapshot(&fake).phase, Phase::Paused(_)));
    driver.ask(&mut fake, Command::Resume).unwrap();
    driver.run_for(&mut fake, 120);
    assert_eq!((fake.deleted.len(), driver.snapshot(&fake).plan.allowed), (0, 0), "its first step is still to come");
}

/// Pods that are lost come back with the new template: the next step is then the first of the plan that moves something, and says which it leaves out.
#[test]
fn the_next_step_says_which_steps_it_leaves_out() {
    let mut fake = FakeCluster::rolling(120, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.remove_pod("n7");
    fake.kubelets();
    console.run_for(&mut fake, 30);
    let preview = console.engine.preview(&Command::Step(Step::Next), fake.now).unwrap();
    assert!(preview.title.starts_with("Step: 12 nodes"), "{}", preview.title);
    let said = "Leaves out the plan's step to 1 node: 1 node is updated already or on the way, so it allows no further node to be updated.";
    assert!(preview.effects.contains(&said.to_owned()), "{:?}", preview.effects);
}

/// Under an `OnDelete` that is not ours nothing is recorded, and somebody has replaced pods by hand: the next step is above these.
#[test]
fn beside_pods_that_were_replaced_by_hand_no_step_below_them_is_offered() {
    let mut fake = FakeCluster::rolling(120, 2);
    fake.set_strategy(serde_json::json!({"type": "OnDelete"}));
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    for node in 1..=5 {
        fake.remove_pod(&format!("n{node}"));
    }
    fake.kubelets();
    let mut console = FakeConsole::open(&fake, "ops");
    console.run_for(&mut fake, 30);
    let next = console.snapshot(&fake).plan.next.unwrap().unwrap();
    assert_eq!((next.step, next.allowed), (Percent(10), 12), "5 nodes are updated already");
}

#[test]
fn a_threshold_that_cannot_be_reached_is_warned_of() {
    let mut fake = FakeCluster::rolling(12, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let mut warnings = |threshold: IntOrPercent| {
        let tuning = Tuning { failure_threshold: Some(threshold), ..Tuning::default() };
        console.engine.preview(&Command::Tune(tuning), fake.now).unwrap().warnings
    };
    let never = "The failure threshold 500 is more than the 12 nodes that there are: it never halts the rollout.";
    assert_eq!(warnings(Int(500)), [never]);
    assert_eq!((warnings(Int(12)).len(), warnings(Percent(100)).len()), (0, 0));
}

#[test]
fn an_early_release_warns_of_what_its_controller_does_then() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let preview = console.engine.preview(&Command::Release(Early::Accept), fake.now).unwrap();
    let says =
        "Its controller replaces 6 pods by itself: the budget and the gates of the rollout do not hold for that.";
    assert_eq!(preview.warnings, [says]);
}

/// While canaries are on their way nothing advises to let the other nodes go before these are proven.
#[test]
fn a_step_while_canaries_are_on_their_way_says_to_wait() {
    let (mut fake, mut console) = with_canaries();
    fake.slow = true;
    console.ask(&mut fake, Command::Step(Step::Updated(Int(3)))).unwrap();
    console.run_for(&mut fake, 3);
    let refused = console.engine.preview(&Command::Step(Step::Next), fake.now).unwrap_err().to_string();
    assert!(refused.contains("on the way (zone=canary); wait until they are updated"), "{refused}");
    assert!(!refused.contains("lift"), "{refused}");
}

/// Who only asks is told that nothing moves before somebody drives.
#[test]
fn a_step_that_nobody_carries_out_says_so() {
    let (mut fake, mut console) = with_canaries();
    let said = |console: &mut FakeConsole, fake: &FakeCluster| {
        let effects = console.engine.preview(&Command::Step(Step::Updated(Int(1))), fake.now).unwrap().effects;
        effects.iter().any(|line| line == "Nobody drives: no pod is replaced before somebody does.")
    };
    assert!(!said(&mut console, &fake), "it drives itself");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    drop(console);
    let mut one_shot = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    one_shot.run(&mut fake);
    assert!(said(&mut one_shot, &fake));
    let mut other = FakeConsole::open(&fake, "eve");
    other.run(&mut fake);
    assert!(!said(&mut other, &fake), "it becomes the driver");
}

#[test]
fn a_budget_that_is_free_is_not_waited_for() {
    let (mut fake, mut console) = with_canaries();
    step(&mut console, &mut fake).unwrap();
    let snapshot = console.snapshot(&fake);
    let mut node = snapshot.nodes.iter().find(|node| node.state == NodeState::Outdated).cloned().unwrap();
    let next = crate::engine::report::snapshot::NodeView { hold: Some(Hold::Next), ..node.clone() };
    node.hold = Some(Hold::Budget { used: 2, next: 0, limit: 2 });
    let with = |charged| {
        let budget = crate::engine::model::budget::BudgetView { charged, max_unavailable: 2, ..snapshot.budget };
        let phase = Phase::Running;
        Snapshot { phase, budget, alarms: Vec::new(), nodes: [node.clone(), next.clone()].into(), ..snapshot.clone() }
    };
    assert!(waits(&with(2)).starts_with("1 node waits, as 2 are down and 2 may be"), "{}", waits(&with(2)));
    assert!(!waits(&with(0)).contains("may be"), "{}", waits(&with(0)));
}

/// A selected node that may go already waits for the pause to end: lifting the selector, which frees others, is not what helps.
#[test]
fn a_step_while_paused_says_that_what_may_go_waits() {
    let mut fake = FakeCluster::rolling(12, 1);
    for node in ["n1", "n2", "n3"] {
        fake.change_node(node, |fact| fact.labels = [("canary", "true")].into_iter().collect());
    }
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Select(Some("canary=true".parse().unwrap()))).unwrap();
    console.partition(&mut fake, 0);
    while fake.deleted.len() < 2 {
        console.run_for(&mut fake, 1);
    }
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.run_for(&mut fake, 30);
    let refused = console.ask(&mut fake, Command::Step(Step::Next)).unwrap_err();
    let says = "a step moves nothing: canary: 2 of 3 updated, 1 in line (canary=true); what is in line needs none, and its row says what it waits for";
    assert_eq!(refused, says);
}

/// A step to fewer nodes than are updated moves nothing, and its answer says how one goes back.
#[test]
fn a_step_below_what_is_updated_says_that_it_reverts_nothing() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let none = console.ask(&mut fake, Command::Step(Step::Updated(Int(0)))).unwrap();
    assert_eq!(none, "0 of 20 nodes may be updated, partition keeps 20");
    console.ask(&mut fake, Command::Step(Step::Updated(Int(3)))).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 3);
    let back = ", and none goes back: that is `undo`";
    // What was allowed before is told where a step lowers it.
    for (to, before, keeps, then) in
        [(2, " instead of 3", 18, back), (0, " instead of 2", 20, back), (3, "", 17, ": it moves nothing")]
    {
        let said = console.ask(&mut fake, Command::Step(Step::Updated(Int(to)))).unwrap();
        let want = format!(
            "{to} of 20 nodes may be updated{before}, partition keeps {keeps}; 3 nodes are updated already or on the way{then}"
        );
        assert_eq!(said, want);
    }
}

/// Where as many nodes may go as no step of the plan says, the rollout is on its way to the next step that lets as many go.
#[test]
fn the_step_of_the_plan_is_the_one_that_the_rollout_is_on_its_way_to() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    // The plan is 1, 10%, 50%, 100%.
    let cases = [(0, None), (1, Some(0)), (2, Some(1)), (3, Some(2)), (10, Some(2)), (11, Some(3)), (20, Some(3))];
    for (allowed, step) in cases {
        console.partition(&mut fake, 20 - allowed);
        assert_eq!(console.snapshot(&fake).plan.step, step, "{allowed}");
    }
}

/// Counts and percentages may be mixed, so that a later step allows fewer nodes: a step back goes to the next smaller total, whatever its place.
#[test]
fn a_step_back_goes_to_the_next_smaller_total() {
    let mut fake = FakeCluster::rolling(8, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let steps = Steps::read("3,25%,100%").unwrap();
    console.ask(&mut fake, Command::Tune(Tuning { steps: Some(steps), ..Tuning::default() })).unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.partition(&mut fake, 0);
    for total in [3, 2, 0] {
        console.ask(&mut fake, Command::Step(Step::Back)).unwrap();
        let intent = console.engine.intent();
        assert_eq!(8 - intent.kept_of(8), total);
    }
}
