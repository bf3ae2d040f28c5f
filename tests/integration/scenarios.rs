//! What a rollout is judged by, in the simulated world under virtual time: twenty nodes, and the seven things that an
//! operator does with them. The same seven are judged on a real control plane elsewhere.

use std::collections::BTreeMap;

use rolldeck::engine::model::command::{Command, Early, Step, Takeover};
use rolldeck::engine::model::driver::DriverView;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::engine::model::record::Finish;
use rolldeck::engine::snapshot::Phase;
use rolldeck::sim::world::scenario::built_in;

use crate::support::stage::{TerminalFixture, V1, V2};

/// Twenty nodes on good links, and a console.
fn small() -> TerminalFixture {
    let mut stage = TerminalFixture::new(&built_in("small").unwrap(), 7);
    stage.open("ops");
    stage.run_for(2);
    stage
}

#[test]
fn partitions_are_kept_to_the_pod_within_the_budget() {
    let mut stage = small();
    stage.set_image(0, V2);
    for keep in [20_usize, 18, 10] {
        let before = stage.pods();
        stage.partition(0, u32::try_from(keep).unwrap());
        stage.held(0);
        assert_eq!(stage.at(V1), keep);
        let kept = stage.pods().into_iter().filter(|(_, (_, image))| image == V1);
        assert!(kept.into_iter().all(|(node, pod)| before[&node] == pod), "the rest is untouched");
    }
    stage.partition(0, 0);
    stage.over(V2);
    assert_eq!(stage.worst_down, 2, "the budget was used, and never exceeded");
}

#[test]
fn only_canaries_change_until_the_selector_is_lifted() {
    let mut stage = small();
    stage.set_image(0, V2);
    stage.ask(0, Command::Select(Some("canary=true".parse().unwrap())));
    stage.partition(0, 0);
    stage.held(0);
    let changed: Vec<String> =
        stage.pods().into_iter().filter(|(_, (_, image))| image == V2).map(|(node, _)| node).collect();
    assert_eq!(changed, ["node-a-01", "node-b-01", "node-b-02"]);
    stage.ask(0, Command::Select(None));
    stage.over(V2);
    assert!(stage.worst_down <= 2);
}

#[test]
fn after_a_pause_nothing_is_deleted_whoever_paused() {
    for who in [0, 1] {
        let mut stage = small();
        stage.open("eve");
        stage.set_image(0, V2);
        stage.partition(0, 0);
        stage.run_for(9);
        assert!(matches!(stage.consoles[1].snapshot(stage.world.now()).driver, DriverView::Other { .. }));
        stage.ask(who, Command::Pause { why: Some("the line is busy".into()) });
        let deleted = stage.deletions.len();
        assert!(deleted > 0, "in the middle");
        stage.run_for(120);
        assert_eq!(stage.deletions.len(), deleted);
        assert!(matches!(stage.phase(0), Phase::Paused(_)) && matches!(stage.phase(1), Phase::Paused(_)));
        stage.ask(who, Command::Resume);
        stage.over(V2);
    }
}

#[test]
fn a_killed_driver_is_succeeded_within_the_budget() {
    let mut stage = small();
    stage.set_image(0, V2);
    stage.partition(0, 0);
    stage.run_for(7);
    let killed = stage.consoles.remove(0).kill();
    stage.orphans.push(killed);
    stage.run_for(1);
    let deleted = stage.deletions.len();
    stage.run_for(60);
    assert_eq!(stage.deletions.len(), deleted, "nobody drives, nobody deletes");
    assert!(stage.at(V1) > 10, "in the middle");
    stage.open("eve");
    stage.run_for(2);
    stage.ask(0, Command::Drive(Takeover::Ask));
    stage.over(V2);
    assert!(stage.worst_down <= 2, "{} down", stage.worst_down);
}

#[test]
fn a_roll_back_ends_on_the_old_revision_and_keeps_pods_that_never_left_it() {
    let mut stage = small();
    stage.set_image(0, V2);
    stage.partition(0, 12);
    stage.held(0);
    let untouched: BTreeMap<_, _> = stage.pods().into_iter().filter(|(_, (_, image))| image == V1).collect();
    assert_eq!(untouched.len(), 12);
    stage.ask(0, Command::Undo { to: None });
    stage.over(V1);
    let now = stage.pods();
    assert!(untouched.iter().all(|(node, pod)| now[node] == *pod));
    assert!(stage.worst_down <= 2);
}

#[test]
fn a_release_restores_the_strategy_to_the_byte() {
    let mut stage = small();
    let original = stage.strategy();
    stage.set_image(0, V2);
    stage.ask(0, Command::Tune(Finish::Keep.into()));
    stage.partition(0, 0);
    assert!(stage.run_until(600, |stage| stage.phase(0) == Phase::Complete));
    assert!(stage.strategy().contains("OnDelete"));
    stage.ask(0, Command::Release(Early::Refuse));
    assert_eq!(stage.strategy(), original);
    stage.run_for(60);
    assert_eq!(stage.at(V2), 20);
}

#[test]
fn a_second_console_observes_and_takes_over_after_asking() {
    let mut stage = small();
    stage.set_image(0, V2);
    stage.partition(0, 10);
    let second = stage.open("eve");
    stage.run_for(2);
    let now = stage.world.now();
    let DriverView::Other { holder, .. } = stage.consoles[second].snapshot(now).driver else { panic!("not observing") };
    assert!(holder.starts_with("ops@"), "{holder}");
    let refused = stage.consoles[second].command(Command::Drive(Takeover::IfFree), now).unwrap_err();
    assert!(refused.to_string().contains("take over first"), "{refused}");
    stage.ask(second, Command::Drive(Takeover::Ask));
    stage.run_for(1);
    let now = stage.world.now();
    assert!(stage.consoles[second].snapshot(now).driver.is_you());
    assert!(matches!(stage.consoles[0].snapshot(now).driver, DriverView::Other { .. }));
    stage.partition(second, 0);
    stage.over(V2);
    assert!(stage.worst_down <= 2);
}

/// A hundred and twenty nodes behind thin uplinks, some of which drop off the network again and again, updated ones too:
/// all steps, and nobody there to continue it.
#[test]
fn a_rollout_on_nodes_that_drop_off_the_network_ends_without_a_halt() {
    const AGENT: (&str, &str) = ("factory", "agent");
    let mut stage = TerminalFixture::of(&built_in("factory").unwrap(), AGENT, 7);
    stage.open("ops");
    stage.run_for(2);
    stage.set_image(0, "registry.factory.example/agent:v2");
    stage.ask(0, Command::Step(Step::Updated(IntOrPercent::Percent(100))));
    let began = stage.world.now();
    let (mut halts, mut suspects) = (0, 0);
    let ended = stage.run_until(6 * 3_600, |stage| {
        let shown = stage.shown(0);
        halts += u32::from(shown.halt.is_some());
        suspects = suspects.max(shown.budget.suspect);
        shown.phase == Phase::Idle
    });
    let took = stage.since(began);
    println!("factory: all steps in {} min, halts: {halts}, suspects at once: {suspects}", took.as_secs() / 60);
    assert!(ended, "{:?}\n{}", stage.phase(0), stage.ledger.describe());
    assert_eq!((halts, stage.at("registry.factory.example/agent:v2")), (0, 120));
    assert!(suspects > 0, "updated nodes did drop off the network");
}
