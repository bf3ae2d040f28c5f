//! An operator's rollout in the simulated cluster under virtual time: seven scenarios with twenty nodes. `control_plane/judge.rs` plays the same
//! seven on a real control plane.

use std::collections::BTreeMap;
use std::time::Duration;

use rolldeck::engine::model::command::{Command, Early, Step, Takeover};
use rolldeck::engine::model::driver::DriverView;
use rolldeck::engine::model::prewarm::{PrewarmState, PrewarmWait};
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::engine::model::settings::{Finish, Limit, Pace, Tuning};
use rolldeck::engine::report::snapshot::{NodeView, Phase};
use rolldeck::sim::world::kind::Kind;
use rolldeck::sim::world::object::Body;
use rolldeck::sim::world::scenario::{Scenario, built_in};

use crate::support::simulated_fixture::{SimulatedFixture, V1, V2};

/// Twenty nodes on good links, and a console.
fn small() -> SimulatedFixture {
    let mut fixture = SimulatedFixture::new(&built_in("small").unwrap(), 7);
    fixture.open("ops");
    fixture.run_for(2);
    fixture
}

#[test]
fn partitions_are_kept_to_the_pod_within_the_budget() {
    let mut fixture = small();
    fixture.set_image(0, V2);
    for keep in [20_usize, 18, 10] {
        let before = fixture.pods();
        fixture.partition(0, u32::try_from(keep).unwrap());
        fixture.held(0);
        assert_eq!(fixture.at(V1), keep);
        let kept = fixture.pods().into_iter().filter(|(_, (_, image))| image == V1);
        assert!(kept.into_iter().all(|(node, pod)| before[&node] == pod), "the rest is untouched");
    }
    fixture.partition(0, 0);
    fixture.over(V2);
    assert_eq!(fixture.worst_down, 2, "the budget was used, and never exceeded");
}

#[test]
fn only_canaries_change_until_the_selector_is_lifted() {
    let mut fixture = small();
    fixture.set_image(0, V2);
    fixture.ask(0, Command::Select(Some("canary=true".parse().unwrap())));
    fixture.partition(0, 0);
    fixture.held(0);
    let changed: Vec<String> =
        fixture.pods().into_iter().filter(|(_, (_, image))| image == V2).map(|(node, _)| node).collect();
    assert_eq!(changed, ["node-a-01", "node-b-01", "node-b-02"]);
    fixture.ask(0, Command::Select(None));
    fixture.over(V2);
    assert!(fixture.worst_down <= 2);
}

#[test]
fn after_a_pause_nothing_is_deleted_whoever_paused() {
    for who in [0, 1] {
        let mut fixture = small();
        fixture.open("eve");
        fixture.set_image(0, V2);
        fixture.partition(0, 0);
        fixture.run_for(9);
        assert!(matches!(fixture.consoles[1].snapshot(fixture.world.now()).driver, DriverView::Other { .. }));
        fixture.ask(who, Command::Pause { why: Some("the line is busy".into()) });
        let deleted = fixture.accepted.deletions.len();
        assert!(deleted > 0, "in the middle");
        fixture.run_for(120);
        assert_eq!(fixture.accepted.deletions.len(), deleted);
        assert!(matches!(fixture.phase(0), Phase::Paused(_)) && matches!(fixture.phase(1), Phase::Paused(_)));
        fixture.ask(who, Command::Resume);
        fixture.over(V2);
    }
}

#[test]
fn a_killed_driver_is_succeeded_within_the_budget() {
    let mut fixture = small();
    fixture.set_image(0, V2);
    fixture.partition(0, 0);
    fixture.run_for(7);
    let killed = fixture.consoles.remove(0).kill();
    fixture.in_flight.push(killed);
    fixture.run_for(1);
    let deleted = fixture.accepted.deletions.len();
    fixture.run_for(60);
    assert_eq!(fixture.accepted.deletions.len(), deleted, "nobody drives, nobody deletes");
    assert!(fixture.at(V1) > 10, "in the middle");
    fixture.open("eve");
    fixture.run_for(2);
    fixture.ask(0, Command::Drive(Takeover::Ask));
    fixture.over(V2);
    assert!(fixture.worst_down <= 2, "{} down", fixture.worst_down);
}

#[test]
fn a_roll_back_ends_on_the_old_revision_and_keeps_pods_that_never_left_it() {
    let mut fixture = small();
    fixture.set_image(0, V2);
    fixture.partition(0, 12);
    fixture.held(0);
    let untouched: BTreeMap<_, _> = fixture.pods().into_iter().filter(|(_, (_, image))| image == V1).collect();
    assert_eq!(untouched.len(), 12);
    fixture.ask(0, Command::Undo { to: None });
    fixture.over(V1);
    let now = fixture.pods();
    assert!(untouched.iter().all(|(node, pod)| now[node] == *pod));
    assert!(fixture.worst_down <= 2);
}

#[test]
fn a_release_restores_the_strategy_to_the_byte() {
    let mut fixture = small();
    let original = fixture.strategy();
    fixture.set_image(0, V2);
    fixture.ask(0, Command::Tune(Tuning { finish: Some(Finish::Keep), ..Tuning::default() }));
    fixture.partition(0, 0);
    assert!(fixture.run_until(600, |fixture| fixture.phase(0) == Phase::Complete));
    assert!(fixture.strategy().contains("OnDelete"));
    fixture.ask(0, Command::Release(Early::Refuse));
    assert_eq!(fixture.strategy(), original);
    fixture.run_for(60);
    assert_eq!(fixture.at(V2), 20);
}

#[test]
fn a_second_console_observes_and_takes_over_after_asking() {
    let mut fixture = small();
    fixture.set_image(0, V2);
    fixture.partition(0, 10);
    let second = fixture.open("eve");
    fixture.run_for(2);
    let now = fixture.world.now();
    let DriverView::Other { holder, .. } = fixture.consoles[second].snapshot(now).driver else {
        panic!("not observing")
    };
    assert!(holder.starts_with("ops@"), "{holder}");
    let refused = fixture.consoles[second].command(Command::Drive(Takeover::IfFree), now).unwrap_err();
    assert!(refused.to_string().contains("take over first"), "{refused}");
    fixture.ask(second, Command::Drive(Takeover::Ask));
    fixture.run_for(1);
    let now = fixture.world.now();
    assert!(fixture.consoles[second].snapshot(now).driver.is_you());
    assert!(matches!(fixture.consoles[0].snapshot(now).driver, DriverView::Other { .. }));
    fixture.partition(second, 0);
    fixture.over(V2);
    assert!(fixture.worst_down <= 2);
}

/// A registry that serves six pulls in five minutes, and twenty nodes.
const COUNTED: &str = r#"
name = "counted"
[[sites]]
name = "hall"
link = "100Mbit/s"
nodes = [{ prefix = "node-", count = 20 }]
[[images]]
name = "registry.example/agent:v1"
size = "20MB"
[[images]]
name = "registry.example/agent:v2"
size = "20MB"
[[registries]]
name = "registry.example"
pulls = 6
per = "5m"
[[daemonsets]]
namespace = "edge"
name = "agent"
images = { agent = "registry.example/agent:v1" }
max-unavailable = 2
"#;

/// The number of pulls that the registry refused because its quota was used up.
fn refused_pulls(fixture: &SimulatedFixture) -> usize {
    let events = fixture.world.store().list(Kind::Event);
    let said = events.filter_map(|event| match &event.body {
        Body::Event(event) => Some(event.message.contains("toomanyrequests").then_some(event.count)),
        _ => None,
    });
    said.flatten().map(|count| usize::try_from(count).unwrap()).sum()
}

#[test]
fn a_registry_that_limits_pulls_delays_a_rollout_behind_the_gate_and_takes_nothing_down() {
    for pace in [Pace::Fixed, Pace::Auto] {
        let mut fixture = SimulatedFixture::new(&Scenario::parse("counted", COUNTED).unwrap(), 7);
        fixture.open("ops");
        fixture.run_for(2);
        fixture.set_image(0, V2);
        let gate = Tuning {
            require_image: Some(true),
            max_pulling: Some(Limit::At(IntOrPercent::Int(4))),
            pace: Some(pace),
            ..Tuning::default()
        };
        fixture.ask(0, Command::Tune(gate));
        fixture.partition(0, 0);
        let (mut met, mut halved) = (false, false);
        let began = fixture.world.now();
        let ended = fixture.run_until(3 * 3_600, |fixture| {
            let shown = fixture.shown(0);
            assert!(shown.halt.is_none(), "{:?}", shown.halt);
            let limited = |node: &NodeView| {
                matches!(node.prewarm.as_deref(), Some(PrewarmState::Waiting(PrewarmWait::RateLimited { .. })))
            };
            met |= shown.nodes.iter().any(limited);
            halved |= shown.pace.iter().any(|paced| paced.why.to_string().contains("rate limit"));
            shown.phase == Phase::Idle
        });
        let (took, refused) = (fixture.since(began), refused_pulls(&fixture));
        println!(
            "{pace:?}: {} min, {refused} pulls were refused, {} down at most",
            took.as_secs() / 60,
            fixture.worst_down
        );
        assert!(ended, "{:?}\n{}", fixture.phase(0), fixture.ledger.describe());
        assert!(met && halved == (pace == Pace::Auto), "{pace:?}: the limit is on screen: {met}, {halved}");
        assert_eq!(fixture.at(V2), 20);
        assert!(fixture.worst_down <= 2, "{} down", fixture.worst_down);
        // The rollout waits for three quota spans. A node tries again after 30 s, and each time after twice as long; each failure is one refusal.
        assert!((3..=24).contains(&refused), "{refused} pulls were refused");
    }
}

/// A hundred and twenty nodes behind thin uplinks; some of them drop off the network again and again, updated ones too. The rollout takes all steps
/// with nobody there to resume it.
#[test]
fn a_rollout_on_nodes_that_drop_off_the_network_ends_without_a_halt() {
    const AGENT: (&str, &str) = ("factory", "agent");
    let mut fixture = SimulatedFixture::of(&built_in("factory").unwrap(), AGENT, 7);
    fixture.open("ops");
    fixture.run_for(2);
    fixture.set_image(0, "registry.factory.example/agent:v2");
    fixture.ask(0, Command::Step(Step::Updated(IntOrPercent::Percent(100))));
    let began = fixture.world.now();
    let (mut halts, mut suspects) = (0, 0);
    // Nobody resumes, so a halt would be seen; a suspect node is one for seconds, so the test looks every second.
    let mut look_at = began;
    let ended = fixture.run_until(6 * 3_600, |fixture| {
        if fixture.world.now() < look_at {
            return false;
        }
        look_at = fixture.world.now() + Duration::from_secs(1);
        let shown = fixture.shown(0);
        halts += u32::from(shown.halt.is_some());
        suspects = suspects.max(shown.budget.suspect);
        shown.phase == Phase::Idle
    });
    let took = fixture.since(began);
    println!("factory: all steps in {} min, halts: {halts}, suspects at once: {suspects}", took.as_secs() / 60);
    assert!(ended, "{:?}\n{}", fixture.phase(0), fixture.ledger.describe());
    assert_eq!((halts, fixture.at("registry.factory.example/agent:v2")), (0, 120));
    assert!(suspects > 0, "updated nodes did drop off the network");
}
