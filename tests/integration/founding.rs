//! The founding scenario in the simulated cluster under virtual time: 20 nodes, `maxUnavailable: 2`, an
//! image that cannot be pulled, and nodes that drop off the network.
//!
//! ```text
//!   minute   0              2          5          8        10
//!            v2 is deployed  6 nodes    6 nodes    8 nodes  v2 is taken back
//!                            cut off    cut off    cut off
//! ```
//!
//! The scenario is played with nobody but the DaemonSet controller, with its brake pressed at the first alarm, and with rolldeck driving. The ledger
//! is filled from the changes of pods alone, whoever drives. `control_plane/cascade.rs` plays the scenario with Kubernetes' own controllers. `cargo
//! test --test integration -- --nocapture founding` prints the figures.

use std::time::Duration;

use rolldeck::engine::model::command::Command;
use rolldeck::engine::model::hold::Hold;
use rolldeck::engine::model::node::NodeState;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::engine::model::settings::Gates;
use rolldeck::engine::model::time::Timestamp;
use rolldeck::engine::report::snapshot::{Alarm, Phase};
use rolldeck::sim::world::scenario::{ControllerVariant, built_in};

use crate::support::figures::{Figures, MINUTES, NODES, table};
use crate::support::simulated_fixture::{SimulatedFixture, V1, V2};

const VARIANTS: [(&str, ControllerVariant); 2] =
    [("the controller of 1.20", ControllerVariant::V1_20), ("the current controller", ControllerVariant::Current)];
const BUDGET: usize = 2;
const SEED: u64 = 1;

/// Who rolls out, and who intervenes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Driver {
    /// The DaemonSet controller, by itself.
    Controller,
    /// The DaemonSet controller, until an operator presses the brake at the alarm.
    Braked,
    /// rolldeck.
    Rolldeck,
}

impl Driver {
    const ALL: [Self; 3] = [Self::Controller, Self::Braked, Self::Rolldeck];

    fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Braked => "brake",
            Self::Rolldeck => "rolldeck",
        }
    }
}

fn cascade(variant: ControllerVariant, seed: u64) -> SimulatedFixture {
    let fixture = SimulatedFixture::new(&built_in("cascade").unwrap().with_controller(variant), seed);
    assert_eq!(fixture.serving(V1), NODES, "everything runs at the beginning");
    fixture
}

/// The operator presses the brake this long after the alarm.
const REACTION: Duration = Duration::from_secs(10);

/// Runs the cascade once, until all nodes serve v1 and the DaemonSet is released.
fn run(driver: Driver, variant: ControllerVariant) -> Figures {
    let mut fixture = cascade(variant, SEED);
    let original = fixture.strategy();
    let began = fixture.world.now();
    if driver != Driver::Controller {
        fixture.open("ops");
    }
    match driver {
        Driver::Controller | Driver::Braked => fixture.deploy(V2),
        Driver::Rolldeck => roll_out(&mut fixture),
    }
    let (mut serving, mut stopped_after, mut alarmed_at) = (vec![NODES], None, None);
    for minute in 1..=MINUTES {
        let full = began + Duration::from_secs(60 * minute as u64);
        fixture.run_until(60, |fixture| {
            if driver == Driver::Braked {
                brake(fixture, &mut alarmed_at);
            }
            if stopped_after.is_none() && has_stopped(driver, fixture) {
                stopped_after = Some(fixture.since(began));
            }
            fixture.world.now() >= full
        });
        serving.push(NODES - fixture.ledger.without_service());
    }
    if driver == Driver::Rolldeck {
        says_why_where_and_since_when(&mut fixture, stopped_after);
    }
    let (worst, untouched, undone) = (fixture.worst, fixture.ledger.untouched(), fixture.world.now());
    match driver {
        Driver::Controller => fixture.deploy(V1),
        Driver::Braked | Driver::Rolldeck => drop(fixture.ask(0, Command::Undo { to: None })),
    }
    assert!(fixture.run_until(600, |fixture| fixture.serving(V1) == NODES), "{}", fixture.ledger.describe());
    let back_after = fixture.since(undone);
    fixture.run_for(60);
    assert_eq!(fixture.strategy(), original, "{driver:?}: to the byte");
    assert_eq!(fixture.ledger.untouched(), untouched, "{driver:?}: whoever never left v1 keeps the pod");
    assert_eq!(fixture.worst.lost, worst.lost, "{driver:?}: nothing more is lost on the way back");
    let replaced = NODES - untouched.len();
    Figures { driver: driver.name(), worst, replaced, stopped_after, serving, back_after }
}

/// rolldeck sets v2 and allows all nodes.
fn roll_out(fixture: &mut SimulatedFixture) {
    assert!(fixture.run_until(10, |fixture| !matches!(fixture.phase(0), Phase::Loading)));
    fixture.set_image(0, V2);
    fixture.partition(0, 0);
}

/// Presses the brake [`REACTION`] after the console showed that the DaemonSet loses nodes.
fn brake(fixture: &mut SimulatedFixture, alarmed_at: &mut Option<Timestamp>) {
    let shown = fixture.shown(0);
    let alarmed = shown.alarms.iter().any(|alarm| matches!(alarm, Alarm::Cascade { .. }));
    match alarmed_at {
        None if alarmed => *alarmed_at = Some(shown.at),
        Some(since) if !shown.adopted && shown.at >= *since + REACTION => {
            // The command is repeated until the brake holds, as by an operator who presses the key again.
            let _ = fixture.consoles[0].command(Command::Pause { why: None }, shown.at);
        }
        _ => {}
    }
}

fn has_stopped(driver: Driver, fixture: &mut SimulatedFixture) -> bool {
    match driver {
        Driver::Controller => false,
        Driver::Braked => fixture.strategy().contains("OnDelete"),
        Driver::Rolldeck => fixture.phase(0) == Phase::Halted,
    }
}

/// Checks what a halted rollout shows: why, where and since when, and the state of each node.
fn says_why_where_and_since_when(fixture: &mut SimulatedFixture, stopped_after: Option<Duration>) {
    let (began, shown) = (fixture.world.began_at(), fixture.shown(0));
    assert_eq!(shown.phase, Phase::Halted);
    let halt = shown.halt.clone().unwrap();
    assert!(halt.why.contains("image not found"), "{}", halt.why);
    assert!(halt.at.since(began) <= stopped_after.unwrap());
    let untouched = fixture.ledger.untouched();
    let lost: Vec<&str> =
        shown.nodes.iter().map(|node| &*node.name).filter(|name| !untouched.contains(*name)).collect();
    let mut named: Vec<&str> = halt.named().iter().map(|node| &**node).collect();
    named.sort_unstable();
    assert_eq!(named, lost, "it names every node that it lost, and no other");
    for node in shown.nodes.iter() {
        let failed = node.state == NodeState::Failed;
        assert_eq!(failed, lost.contains(&&*node.name), "{}: {}", node.name, node.state);
        assert!(failed || node.hold == Some(Hold::Halted), "{}: {:?}", node.name, node.hold);
    }
}

#[test]
fn the_controller_loses_every_node_the_brake_saves_most_and_rolldeck_loses_two() {
    for (name, variant) in VARIANTS {
        let runs = Driver::ALL.map(|driver| run(driver, variant));
        println!("{name}\n{}", table(&runs));
        if variant == ControllerVariant::Current {
            let readme = include_str!("../../README.md");
            assert!(readme.contains(&table(&runs)), "README.md tells the story with other figures than these");
        }
        let [native, braked, rolldeck] = &runs;
        assert_eq!((native.worst.lost, native.replaced, native.stopped_after), (NODES, NODES, None), "{name}");
        assert_eq!(native.serving.last(), Some(&0), "{name}");
        // At most the six nodes that were cut off when the alarm came, and the two before them, are lost.
        assert!(braked.worst.lost <= BUDGET + 6, "{name}: {braked:?}");
        assert!(braked.serving.last() >= Some(&(NODES - BUDGET - 6)), "{name}: {braked:?}");
        assert_eq!((rolldeck.worst.lost, rolldeck.replaced), (BUDGET, BUDGET), "{name}");
        assert!(rolldeck.stopped_after < Some(Duration::from_secs(30)), "{name}: {rolldeck:?}");
        assert_eq!(rolldeck.serving.last(), Some(&(NODES - BUDGET)), "{name}");
        assert!(rolldeck.back_after < Duration::from_secs(60), "{name}: {rolldeck:?}");
    }
}

/// The rollout begins before, between and during the cuts, with several seeds, and is rolled back while nodes are cut off.
#[test]
fn whenever_it_begins_no_more_than_the_budget_is_lost() {
    for (name, variant) in VARIANTS {
        for (seed, begins) in (10..).zip([0, 60, 115, 125, 150, 175, 185, 200, 310, 345, 370, 500, 530, 555]) {
            let mut fixture = cascade(variant, seed);
            fixture.run_for(begins);
            fixture.open("ops");
            roll_out(&mut fixture);
            let halted = fixture.run_until(900, |fixture| fixture.phase(0) == Phase::Halted);
            assert!(halted, "{name}, begun at {begins} s: {:?}", fixture.phase(0));
            fixture.run_for(20);
            let (replaced, untouched) = (NODES - fixture.ledger.untouched().len(), fixture.ledger.untouched());
            fixture.ask(0, Command::Undo { to: None });
            fixture.run_for(1_200);
            assert!(
                fixture.worst.lost <= BUDGET && replaced <= BUDGET,
                "{name}, begun at {begins} s: {:?}",
                fixture.worst
            );
            assert_eq!(fixture.serving(V1), NODES, "{name}, begun at {begins} s:\n{}", fixture.ledger.describe());
            assert_eq!(fixture.ledger.untouched(), untouched, "{name}, begun at {begins} s");
            assert!(
                fixture.strategy().contains("RollingUpdate"),
                "{name}, begun at {begins} s: {}",
                fixture.strategy()
            );
        }
    }
}

/// The budget does not depend on the halt: two nodes are lost as well with a failure threshold that nothing reaches, and with an operator who resumes
/// after every halt.
#[test]
fn the_budget_holds_without_a_halt() {
    for (name, variant) in VARIANTS {
        let mut fixture = cascade(variant, SEED);
        fixture.open("ops");
        roll_out(&mut fixture);
        let gates = Gates { failure_threshold: IntOrPercent::Percent(100), ..Gates::default() };
        fixture.ask(0, Command::Tune(gates.into()));
        for _ in 0..90 {
            fixture.run_for(10);
            if fixture.phase(0) == Phase::Halted {
                fixture.ask(0, Command::Resume);
            }
        }
        assert_eq!(fixture.worst.lost, BUDGET, "{name}");
        assert_eq!(fixture.ledger.untouched().len(), NODES - BUDGET, "{name}");
        fixture.ask(0, Command::Undo { to: None });
        fixture.over(V1);
        assert!(fixture.run_until(60, |fixture| fixture.serving(V1) == NODES), "{name}");
        assert_eq!(fixture.worst.lost, BUDGET, "{name}");
    }
}

/// An image can be pulled, is ready for a second, and crashes, again and again. If the DaemonSet sets `minReadySeconds`, two nodes are lost as well;
/// if not, one more batch is replaced within that second.
#[test]
fn an_image_that_crashes_is_found_out_by_min_ready_seconds() {
    for (name, variant) in VARIANTS {
        for (min_ready, lost) in [(10, BUDGET), (0, 2 * BUDGET)] {
            let mut scenario = built_in("cascade").unwrap().with_controller(variant);
            scenario.daemon_sets[0].min_ready_secs = min_ready;
            let v2 = scenario.images.iter_mut().find(|image| *image.name == *V2).unwrap();
            (v2.error, v2.crashes_after) = (None, Some(Duration::from_secs(3)));
            let mut native = SimulatedFixture::new(&scenario, SEED);
            native.deploy(V2);
            native.run_for(600);
            assert_eq!((native.worst.lost, native.at(V2)), (NODES, NODES), "{name}, minReadySeconds {min_ready}");

            let mut fixture = SimulatedFixture::new(&scenario, SEED);
            fixture.open("ops");
            roll_out(&mut fixture);
            fixture.run_for(600);
            let halt = fixture.shown(0).halt.unwrap();
            assert!(halt.why.contains("crash loop"), "{name}, minReadySeconds {min_ready}: {}", halt.why);
            assert!(fixture.worst.lost <= lost, "{name}, minReadySeconds {min_ready}: {:?}", fixture.worst);
            assert!(fixture.at(V2) <= lost, "{name}, minReadySeconds {min_ready}: {}", fixture.at(V2));
            fixture.ask(0, Command::Undo { to: None });
            fixture.over(V1);
            assert!(
                fixture.run_until(60, |fixture| fixture.serving(V1) == NODES),
                "{name}, minReadySeconds {min_ready}"
            );
        }
    }
}
