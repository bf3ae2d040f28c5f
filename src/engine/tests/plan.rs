//! The steps of the plan are set by operators, and a plan can have images brought ahead of them.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Early, PrewarmCommand, Step};
use crate::engine::model::settings::value::SettingValue;
use crate::engine::model::settings::{PrewarmAhead, Steps, Tuning};
use crate::engine::report::snapshot::Phase;

/// Ten nodes without the image of `agent:v2`, two of which may pull at once, under this plan.
fn rollout(steps: &str, prewarm: PrewarmAhead) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    let tuning = Tuning { steps: Some(Steps::read(steps).unwrap()), prewarm: Some(prewarm), ..Tuning::default() };
    console.engine.command(Command::Tune(tuning), fake.now).unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 10);
    (fake, console)
}

/// Lets everything that is being pulled for pre-warming arrive, until nothing more is pulled; which nodes have got it.
fn bring(fake: &mut FakeCluster, console: &mut FakeConsole) -> Vec<String> {
    for _ in 0..20 {
        for node in fake.warm_nodes() {
            fake.warm_arrives(&node);
        }
        console.run_for(fake, 5);
    }
    fake.warm_nodes()
}

fn tune(fake: &mut FakeCluster, console: &mut FakeConsole, prewarm: PrewarmAhead) {
    let tuning = Tuning { prewarm: Some(prewarm), ..Tuning::default() };
    console.engine.command(Command::Tune(tuning), fake.now).unwrap();
    console.run_for(fake, 10);
}

#[test]
fn steps_are_taken_as_the_plan_has_them() {
    let (mut fake, mut console) = rollout("3,50%,100%", PrewarmAhead::Off);
    fake.holds_images = true;
    for updated in [3, 5, 10] {
        console.ask(&mut fake, Command::Step(Step::Next)).unwrap();
        console.run_for(&mut fake, 120);
        assert_eq!(fake.at("hash2"), updated);
    }
}

#[test]
fn a_changed_plan_moves_nothing_by_itself() {
    let (mut fake, mut console) = rollout("1,100%", PrewarmAhead::Off);
    fake.holds_images = true;
    console.ask(&mut fake, Command::Step(Step::Next)).unwrap();
    console.run_for(&mut fake, 60);
    let tuning = Tuning { steps: Some(Steps::read("4,100%").unwrap()), ..Tuning::default() };
    console.engine.command(Command::Tune(tuning), fake.now).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 1);
    console.ask(&mut fake, Command::Step(Step::Next)).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 4);
}

#[test]
fn images_are_brought_one_step_ahead_within_the_limits() {
    let (mut fake, mut console) = rollout("1,5,100%", PrewarmAhead::Step);
    assert_eq!(fake.warm_nodes(), ["n1"], "before the first step: its nodes");
    assert!(fake.deleted.is_empty());
    assert_eq!(bring(&mut fake, &mut console), ["n1"]);
    fake.holds_images = true;
    console.ask(&mut fake, Command::Step(Step::Next)).unwrap();
    console.run_for(&mut fake, 10);
    assert!(fake.warm_nodes().len() <= 3, "two may pull at once: {:?}", fake.warm_nodes());
    console.run_for(&mut fake, 60);
    assert_eq!(bring(&mut fake, &mut console), ["n2", "n3", "n4", "n5"], "the nodes of the next step, and no others");
    assert_eq!(fake.at("hash2"), 1, "nothing was updated that the partition keeps");
}

#[test]
fn images_are_brought_to_all_nodes_at_once_or_not_any_more_as_the_settings_say() {
    let (mut fake, mut console) = rollout("1,5,100%", PrewarmAhead::All);
    assert_eq!(fake.warm_nodes().len(), 2, "two may pull at once");
    assert_eq!(bring(&mut fake, &mut console).len(), 10);
    tune(&mut fake, &mut console, PrewarmAhead::Step);
    assert_eq!(fake.warm_nodes(), ["n1"], "what is not needed any more is deleted");
    tune(&mut fake, &mut console, PrewarmAhead::Off);
    assert!(fake.warm_nodes().is_empty(), "{:?}", fake.warm_nodes());
    console.run_for(&mut fake, 60);
    assert!(fake.warm_nodes().is_empty(), "it does not begin again");
}

#[test]
fn a_halt_or_a_pause_keeps_the_pods_that_were_brought_ahead() {
    let (mut fake, mut console) = rollout("1,5,100%", PrewarmAhead::Step);
    bring(&mut fake, &mut console);
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.warm_nodes(), ["n1"]);
}

#[test]
fn who_cancels_what_was_brought_ahead_ends_it_for_good() {
    let (mut fake, mut console) = rollout("1,5,100%", PrewarmAhead::All);
    assert!(!fake.warm_nodes().is_empty());
    let cancel = Command::Prewarm(PrewarmCommand::Cancel);
    let preview = console.engine.preview(&cancel, fake.now).unwrap();
    assert!(preview.effects.iter().any(|line| line.contains("`prewarm all` becomes `off`")), "{:?}", preview.effects);
    console.ask(&mut fake, cancel).unwrap();
    console.run_for(&mut fake, 60);
    assert!(fake.warm_nodes().is_empty(), "{:?}", fake.warm_nodes());
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.settings.policies.prewarm, snapshot.prewarm.is_none()), (PrewarmAhead::Off, true));
}

/// Handed back early, while admission does not let the strategy be restored: what waits does not wait for another step.
#[test]
fn no_node_is_said_to_be_kept_by_the_partition_while_it_is_handed_back() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.pins_images = true;
    assert_eq!(console.state(&fake, "n1").1, "partition keeps 6");
    console.engine.command(Command::Release(Early::Accept), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    let snapshot = console.snapshot(&fake);
    assert!(matches!(snapshot.phase, Phase::Releasing(_)) && !snapshot.has_plan(), "{:?}", snapshot.phase);
    assert_eq!(console.state(&fake, "n1").1, "preparing");
}

/// Whoever pauses a rollout because the link is full means the pulls that it began by itself, too.
#[test]
fn a_paused_rollout_makes_no_pod_for_its_own_pre_warming() {
    let (mut fake, mut console) = rollout("1,100%", PrewarmAhead::All);
    console.run_for(&mut fake, 10);
    let pulling = fake.warm_nodes();
    assert!(!pulling.is_empty(), "it pre-warms");
    console.ask(&mut fake, Command::Pause { why: Some("the link is full".into()) }).unwrap();
    pulling.iter().for_each(|node| fake.warm_arrives(node));
    console.run_for(&mut fake, 60);
    assert_eq!(fake.warm_nodes(), pulling, "no further node pulls");
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 10);
    assert!(fake.warm_nodes().len() > pulling.len(), "{:?}", fake.warm_nodes());
}
