//! What a preview says of nodes that are on their way or down already, and what a one-shot command waits for.

use super::*;
use crate::engine::model::command::Early;

fn effects(console: &mut FakeConsole, fake: &FakeCluster, step: Step) -> Vec<String> {
    console.hear(fake);
    console.engine.preview(&Command::Step(step), fake.now).unwrap().effects
}

fn all() -> Step {
    Step::Partition(IntOrPercent::Int(0))
}

fn says(effects: &[String], words: &str) -> bool {
    effects.iter().any(|line| line.contains(words))
}

#[test]
fn a_step_says_that_nothing_is_updated_yet_and_which_steps_it_leaves_out() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let unproven = "No node is updated yet (n1 is on its way): nothing shows whether the new revision works.";
    let first = console.engine.preview(&Command::Step(all()), fake.now).unwrap();
    // It is a warning, which is shown first also where there are few lines.
    assert_eq!(first.warnings, ["Leaves out the plan's steps to 1 node, 10% and 50%: waits at none of them."]);
    assert!(!says(&first.effects, "No node is updated yet"), "none is on its way: {first:?}");
    let to_half = console.engine.preview(&Command::Step(Step::Updated(IntOrPercent::Int(2))), fake.now).unwrap();
    assert_eq!(to_half.warnings, ["Leaves out the plan's step to 1 node: does not wait at it."]);
    fake.slow = true;
    // Nobody drives: the node of the first step is in line, and the second step is no less blind.
    console.ask(&mut fake, Command::StopDriving).unwrap();
    let mut late = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    late.ask(&mut fake, Command::Step(Step::Next)).unwrap();
    let preview = late.engine.preview(&Command::Step(Step::Next), fake.now).unwrap();
    let in_line = "No node is updated yet (1 is in line): nothing shows whether the new revision works.";
    assert!(says(&preview.effects, in_line), "{preview:?}");
    assert_eq!(preview.danger, Danger::Serious);
    console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    console.run_for(&mut fake, 5);
    let next = effects(&mut console, &fake, Step::Next);
    assert!(says(&next, unproven) && !says(&next, "Leaves out"), "{next:?}");
    let danger = |console: &mut FakeConsole, fake: &FakeCluster, step| {
        console.engine.preview(&Command::Step(step), fake.now).unwrap().danger
    };
    assert_eq!(danger(&mut console, &fake, Step::Next), Danger::Serious, "it is asked about");
    assert_eq!(danger(&mut console, &fake, Step::Back), Danger::None);
    fake.set_ready("n1", true);
    console.run_for(&mut fake, 5);
    let next = effects(&mut console, &fake, Step::Next);
    assert!(!says(&next, "No node is updated yet"), "{next:?}");
    assert_eq!(danger(&mut console, &fake, Step::Next), Danger::Bounded);
}

/// The ordinary way out of a missing image: those that it took down are the first to get the right one.
#[test]
fn nodes_that_are_down_already_do_not_wait_for_the_budget() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    let two = Tuning { failure_threshold: Some(IntOrPercent::Int(2)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(two)).unwrap();
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 60);
    assert_eq!((fake.down(), console.snapshot(&fake).phase), (2, Phase::Halted));
    let undo = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap().effects;
    let back = "2 nodes are not at that revision, and they are down already (n1, n2), so that they wait for no other node. Their pods are replaced";
    assert!(undo[0].starts_with(back), "a roll back says it in the words of a resume: {undo:?}");
    console.set_image(&mut fake, "agent:v2");
    let both = effects(&mut console, &fake, Step::Partition(IntOrPercent::Int(8)));
    assert!(says(&both, "and they are down already (n1, n2), so that they wait for no other node."), "{both:?}");
    let more = effects(&mut console, &fake, Step::Partition(IntOrPercent::Int(5)));
    let others = "and n1, n2 go at once, the others wait: 2 nodes are down already (n1, n2), and 2 may be. These move";
    assert!(says(&more, others), "{more:?}");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    FakeConsole::open_as(&fake, "eve", Role::OneShot).partition(&mut fake, 5);
    let alarms = console.snapshot(&fake).alarms;
    assert!(!alarms.iter().any(|alarm| matches!(alarm, Alarm::BudgetUsedUp { .. })), "{alarms:?}");
    let deleted = fake.deleted.len();
    console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    console.run(&mut fake);
    assert_eq!(fake.deleted.len(), deleted + 2, "and so it is");
}

/// Nobody knows at first whether the driver that was killed lives: what only it could do is not said to be done.
#[test]
fn a_release_beside_a_driver_that_was_killed_is_carried_out_by_the_command() {
    let mut fake = FakeCluster::rolling(10, 2);
    let original = fake.daemonset.strategy.raw.clone();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 10);
    drop(console);
    let mut once = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    once.hear(&fake);
    let preview = once.engine.preview(&Command::Release(Early::Accept), fake.now).unwrap().effects;
    assert!(says(&preview, "if not, this command does, once its lease has run out"), "{preview:?}");
    // Nothing is replaced by a release, and a roll back makes only the template's change without a driver.
    let replaces = "and whoever drives next replaces the pods";
    assert!(!says(&preview, replaces), "{preview:?}");
    let undo = once.engine.preview(&Command::Undo { to: None }, fake.now).unwrap().effects;
    assert!(says(&undo, replaces), "{undo:?}");
    once.engine.command(Command::Release(Early::Accept), fake.now).unwrap();
    once.run_for(&mut fake, 5);
    assert!(once.settled.is_empty(), "{:?}", once.settled);
    once.run_for(&mut fake, 15);
    let [(_, Ok(said))] = &once.settled[..] else { panic!("{:?}", once.settled) };
    assert_eq!(said, "released: the original update strategy is restored; early, with 8 pods left to its controller");
    assert_eq!(fake.daemonset.strategy.raw, original);
}

#[test]
fn what_is_asked_for_beside_a_halt_says_that_it_is_halted() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 60);
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
    let why = "halted (image not found on 2 nodes)";
    for (command, then) in [
        (Command::Select(Some("zone=a".parse().unwrap())), "nothing moves until it is resumed"),
        (Command::Release(Early::Accept), "the controller goes on all the same, and no gate stops it"),
    ] {
        let said = console.engine.preview(&command, fake.now).unwrap().effects;
        assert!(said.iter().any(|line| line.contains(why) && line.contains(then)), "{said:?}");
    }
}

/// While it is paused, a step says that the nodes wait for a resume, and nothing of what they would wait for without the pause.
#[test]
fn a_step_under_a_pause_does_not_say_what_nodes_would_wait_for_without_it() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    let ten = Tuning { failure_threshold: Some(IntOrPercent::Int(10)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(ten)).unwrap();
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.down(), 2);
    let step = Step::Partition(IntOrPercent::Int(5));
    let waits = effects(&mut console, &fake, step);
    assert!(says(&waits, "and wait: ") || says(&waits, "the others wait"), "{waits:?}");
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    let paused = effects(&mut console, &fake, step);
    assert!(says(&paused, "(5 in total), at most 2 down and 2 pulling at a time."), "{paused:?}");
    assert!(
        says(&paused, "It is paused: nothing moves until it is resumed.") && !says(&paused, "once one of"),
        "{paused:?}"
    );
}
