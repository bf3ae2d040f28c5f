//! Each test plays the same scenario in two worlds: with the modelled controllers under a virtual clock, and with Kubernetes' own controllers in real
//! time on hollow nodes. The order of events on each node has to be the same in both; where it differs, the model is wrong.
//!
//! ```text
//!   scenarios/x.toml ──┬──→ World (virtual time) ───────────────────────┐
//!                      └──→ Hollow ──→ kube-apiserver, controllers … ───┴──→ Ledger = Ledger ?
//! ```
//!
//! Where chance decides in Kubernetes which of several nodes goes first, the test compares how many nodes went through each story. It does not
//! compare instants and names of pods. Where the controller replaces one pod after the other, it does not compare how many nodes were down at once
//! either: now and then Kubernetes takes the end of one pod for the deletion of the next, and exceeds its budget.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::support::hollow::{Hollow, HollowOptions, Workloads};
use rolldeck::sim::world::World;
use rolldeck::sim::world::scenario::Scenario;

use super::fixture::SPEED;
use crate::support::control_plane::{ControlPlane, Ledger, Options, Sandbox, Step, Witness, sandbox};
use crate::support::modelled::{follow, ledger_of};

/// The real world must reach the modelled world's end within this time, on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(300);
/// The model is played once with each of these seeds.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

#[test]
fn a_rolling_update_goes_as_in_the_simulation() {
    agree(&Case {
        text: include_str!("scenarios/rolling.toml"),
        lasts: Duration::from_secs(60),
        nodes: Nodes::AnyOfThem,
        worst: Worst::ByChance,
        silence: Silence::Unnoticed,
        done: |ledger| everywhere(ledger, "v2"),
        tells: &["10 nodes: deleted, unready, gone, created at v2, pulled, ready"],
    });
}

#[test]
fn a_rolling_update_that_surges() {
    agree(&Case {
        text: include_str!("scenarios/surge.toml"),
        lasts: Duration::from_secs(60),
        nodes: Nodes::AnyOfThem,
        worst: Worst::Same,
        silence: Silence::Unnoticed,
        done: |ledger| everywhere(ledger, "v2"),
        tells: &["10 nodes: created at v2, pulled, ready, deleted, unready, gone", "at most 0 down at once"],
    });
}

#[test]
fn pods_deleted_by_hand_under_on_delete() {
    agree(&Case {
        text: include_str!("scenarios/on-delete.toml"),
        lasts: Duration::from_secs(100),
        nodes: Nodes::EachOfThem,
        worst: Worst::Same,
        silence: Silence::Unnoticed,
        done: |ledger| ledger.without_service() == 0,
        tells: &[
            "on-delete-01 on-delete-03 on-delete-04 on-delete-06 on-delete-07 on-delete-08 on-delete-10: nothing",
            "on-delete-02 on-delete-05 on-delete-09: deleted, unready, gone, created at v2, pulled, ready",
            "at most 3 down at once",
        ],
    });
}

#[test]
fn a_strategy_that_is_handed_back() {
    agree(&Case {
        text: include_str!("scenarios/handed-back.toml"),
        lasts: Duration::from_secs(60),
        nodes: Nodes::AnyOfThem,
        worst: Worst::ByChance,
        silence: Silence::Unnoticed,
        done: |ledger| everywhere(ledger, "v2"),
        tells: &["10 nodes: deleted, unready, gone, created at v2, pulled, ready"],
    });
}

#[test]
fn an_image_that_cannot_be_pulled() {
    agree(&Case {
        text: include_str!("scenarios/unpullable.toml"),
        lasts: Duration::from_secs(60),
        nodes: Nodes::AnyOfThem,
        worst: Worst::Same,
        silence: Silence::Unnoticed,
        done: |ledger| failing(ledger) == 2,
        tells: &[
            "2 nodes: deleted, unready, gone, created at missing, pull failed",
            "8 nodes: nothing",
            "at most 2 down at once",
        ],
    });
}

#[test]
fn an_image_that_cannot_be_pulled_and_pods_that_flap() {
    agree(&Case {
        text: include_str!("scenarios/flapping.toml"),
        lasts: Duration::from_secs(240),
        nodes: Nodes::AnyOfThem,
        worst: Worst::Same,
        silence: Silence::Unnoticed,
        done: |ledger| failing(ledger) == 10,
        tells: &[
            "2 nodes: deleted, unready, gone, created at missing, pull failed",
            "8 nodes: unready, deleted, gone, created at missing, pull failed",
            "at most 10 down at once",
        ],
    });
}

#[test]
fn a_roll_back_goes_as_in_the_simulation() {
    agree(&Case {
        text: include_str!("scenarios/rollback.toml"),
        lasts: Duration::from_secs(160),
        nodes: Nodes::AnyOfThem,
        worst: Worst::Same,
        silence: Silence::Unnoticed,
        done: |ledger| everywhere(ledger, "v1"),
        tells: &[
            "2 nodes: deleted, unready, gone, created at missing, pull failed, deleted, gone, created at v1, pulled, ready",
            "8 nodes: nothing",
            "at most 2 down at once",
        ],
    });
}

#[test]
fn nodes_that_fall_silent_in_the_middle_of_an_update() {
    agree(&Case {
        text: include_str!("scenarios/silence.toml"),
        lasts: Duration::from_secs(220),
        nodes: Nodes::EachOfThem,
        worst: Worst::ByChance,
        silence: Silence::Noticed,
        done: |ledger| everywhere(ledger, "v2"),
        tells: &[
            "silence-01 silence-02 silence-04 silence-05 silence-06 silence-08 silence-09 silence-10: \
             deleted, unready, gone, created at v2, pulled, ready",
            "silence-03 silence-07: unready, deleted, gone, created at v2, pulled, ready",
        ],
    });
}

/// The founding scenario. Chance decides which two nodes go first and when each other node falls, but all nodes fall.
#[test]
fn the_founding_scenario_goes_as_in_the_simulation() {
    agree(&Case {
        text: include_str!("../../../scenarios/cascade-native.toml"),
        lasts: Duration::from_secs(600),
        nodes: Nodes::AnyOfThem,
        worst: Worst::Same,
        silence: Silence::Noticed,
        done: |ledger| failing(ledger) == 20,
        tells: &[
            "18 nodes: unready, deleted, gone, created at v2, pull failed",
            "2 nodes: deleted, unready, gone, created at v2, pull failed",
            "at most 20 down at once",
        ],
    });
}

/// A scenario that is played in both worlds.
struct Case {
    text: &'static str,
    /// The scenario is played for at least this long, by its own clock.
    lasts: Duration,
    nodes: Nodes,
    worst: Worst,
    silence: Silence,
    /// Whether the scenario has reached its end.
    done: fn(&Ledger) -> bool,
    /// The lines that [`in_words`] has to give in both worlds.
    tells: &'static [&'static str],
}

/// Whether the scenario says which node goes through which story.
#[derive(Clone, Copy, PartialEq)]
enum Nodes {
    EachOfThem,
    AnyOfThem,
}

/// Whether the most nodes that were down at once are the same in both worlds.
#[derive(Clone, Copy, PartialEq)]
enum Worst {
    Same,
    ByChance,
}

/// Whether nodes fall silent. If so, a control plane of its own is started that notices silent nodes within the scenario's grace period.
#[derive(Clone, Copy, PartialEq)]
enum Silence {
    Noticed,
    Unnoticed,
}

fn everywhere(ledger: &Ledger, tag: &str) -> bool {
    ledger.without_service() == 0 && ledger.staying().all(|pod| tag_of(&pod.image) == tag)
}

fn failing(ledger: &Ledger) -> usize {
    ledger.staying().filter(|pod| pod.pull_failed).count()
}

#[track_caller]
fn agree(case: &Case) {
    let scenario = Scenario::parse("differential", case.text).expect("a scenario");
    for seed in SEEDS {
        assert_eq!(modelled(case, &scenario, seed), case.tells, "the modelled world, seed {seed}");
    }
    let Some(real) = really(case, &scenario) else { return };
    assert_eq!(real, case.tells, "the real one, which is right by definition");
}

/// One line for each story, with the nodes that went through it or their number; then, if it is compared, how many nodes were down at once.
fn in_words(ledger: &Ledger, case: &Case, worst: usize) -> Vec<String> {
    let mut stories: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for node in ledger.nodes() {
        let steps = ledger.steps().get(node).map(Vec::as_slice).unwrap_or_default();
        let story: Vec<String> = steps.iter().map(step_in_words).collect();
        let story = if story.is_empty() { "nothing".to_owned() } else { story.join(", ") };
        stories.entry(story).or_default().push(node);
    }
    let mut lines: Vec<String> = stories
        .into_iter()
        .map(|(story, who)| match case.nodes {
            Nodes::EachOfThem => format!("{}: {story}", who.join(" ")),
            Nodes::AnyOfThem => format!("{} nodes: {story}", who.len()),
        })
        .collect();
    lines.sort();
    if case.worst == Worst::Same {
        lines.push(format!("at most {worst} down at once"));
    }
    lines
}

fn step_in_words(step: &Step) -> String {
    match step {
        Step::Created(image) => format!("created at {}", tag_of(image)),
        Step::Pulled => "pulled".to_owned(),
        Step::PullFailed => "pull failed".to_owned(),
        Step::Ready => "ready".to_owned(),
        Step::Unready => "unready".to_owned(),
        Step::Deleting => "deleted".to_owned(),
        Step::Gone => "gone".to_owned(),
    }
}

fn tag_of(image: &str) -> &str {
    image.rsplit_once(':').map_or(image, |(_, tag)| tag)
}

/// Plays the case in the modelled world, under its virtual clock.
fn modelled(case: &Case, scenario: &Scenario, seed: u64) -> Vec<String> {
    let mut world = World::new(scenario, seed);
    let mut ledger = ledger_of(&world, scenario);
    assert_eq!(ledger.without_service(), 0, "everything runs at the beginning");
    ledger.start_over();
    let (mut version, mut worst) = (world.store().revision(), 0);
    let (end, limit) = (world.began_at() + case.lasts, world.began_at() + case.lasts + Duration::from_secs(3600));
    while world.now() < end || !(case.done)(&ledger) {
        assert!(world.now() < limit, "seed {seed}: the model does not come to the end:\n{}", ledger.describe());
        let next = world.next_at().unwrap_or(end).min(limit);
        world.advance(next.max(world.now() + Duration::from_millis(1)));
        version = follow(&world, version, &mut ledger, |ledger| worst = worst.max(ledger.without_service()));
    }
    in_words(&ledger, case, worst)
}

/// The shared control plane, or one that this case started for itself.
enum Plane {
    Shared(Sandbox),
    Own(Box<ControlPlane>),
}

impl Plane {
    fn of(case: &Case, scenario: &Scenario) -> Option<Self> {
        match case.silence {
            Silence::Unnoticed => sandbox(&scenario.name).map(Self::Shared),
            Silence::Noticed => {
                let node_monitor_grace = scenario.node_grace.div_f64(SPEED);
                ControlPlane::start_with(&Options { node_monitor_grace, ..Options::default() })
                    .ok()
                    .map(|plane| Self::Own(Box::new(plane)))
            }
        }
    }

    fn plane(&self) -> &ControlPlane {
        match self {
            Self::Shared(sandbox) => sandbox,
            Self::Own(plane) => plane,
        }
    }
}

/// Plays the case with Kubernetes' own controllers in real time; the kubelets' clock runs [`SPEED`] times as fast.
fn really(case: &Case, scenario: &Scenario) -> Option<Vec<String>> {
    let plane = Plane::of(case, scenario)?;
    let plane = plane.plane();
    let options = HollowOptions { speed: SPEED, workloads: Workloads::Create, ..HollowOptions::default() };
    let hollow = Hollow::start(&plane.target(), scenario, options).expect("hollow nodes");
    let namespace = &scenario.daemon_sets[0].namespace;
    plane.until_exists(&format!("/api/v1/namespaces/{namespace}"));
    let nodes: Vec<String> = scenario.nodes.iter().map(|node| node.name.to_string()).collect();
    let witness = Witness::watch(plane, namespace, "agent", &nodes);
    witness.until("everything runs at the beginning", SOON, |witness| witness.unavailable() == 0);
    witness.forget_steps();
    let began = Instant::now();
    hollow.resume();
    std::thread::sleep(case.lasts.div_f64(SPEED));
    let ended = |ledger: &Ledger| (case.done)(ledger) && !ledger.has_pods_in_deletion();
    witness.until("it comes to the end", SOON, |witness| witness.ledger(ended));
    assert_eq!(hollow.refusals(), Vec::<String>::new());
    let worst = witness.worst_since(began);
    Some(witness.ledger(|ledger| in_words(ledger, case, worst)))
}
