//! The estimates of the time left are compared with the time that was left, in rollouts of the factory.
//! `cargo test --lib compare::tests -- --ignored --nocapture` prints one line for each way of rolling out.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::model::command::{Command, Step};
use crate::engine::model::config::{RateLimit, Role};
use crate::engine::model::estimate::RolloutEstimate;
use crate::engine::model::image::ImageRef;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Setting, Tuning};
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::sim::attack::api_client::AcceptedWrites;
use crate::sim::attack::console::SimulatedConsole;
use crate::sim::attack::network::{Network, NetworkProfile};
use crate::sim::world::World;
use crate::sim::world::scenario::{Scenario, built_in};

/// How often the estimate is compared.
const LOOK: Duration = Duration::from_secs(20);
/// A rollout that takes longer is given up.
const LIMIT: Duration = Duration::from_secs(12 * 3_600);
/// Estimates are rounded: one that is wrong by no more than this counts as right.
const TOLERANCE: Duration = Duration::from_secs(15);

/// The operator's act in the middle of a rollout.
#[derive(Clone, Debug)]
enum Midway {
    Nothing,
    /// Pauses for this many minutes (second) when this many nodes are updated (first).
    Pause(u32, u64),
    /// Changes these settings when this many nodes are updated.
    Set(u32, SettingValues),
}

/// A rollout from its beginning to its end.
struct RolloutRun {
    /// For each look: its time, the number of updated nodes, and the estimate.
    looks: Vec<(Timestamp, u32, RolloutEstimate)>,
    ended: Timestamp,
}

/// Settings with their values, as an operator would type them.
type SettingValues = &'static [(Setting, &'static str)];

/// A command, with the condition under which it is given.
type Scripted = (Box<dyn Fn(&Snapshot, Timestamp) -> bool>, Command);

fn run_rollout(scenario: &Scenario, image: &str, settings: &[(Setting, &str)], midway: &Midway) -> RolloutRun {
    let mut world = World::new(scenario, 1);
    let plan = scenario.rollout.clone().unwrap();
    let (namespace, name) = &plan.daemon_set;
    let network = (Network::new(NetworkProfile::FINE, 1), RateLimit::default());
    let mut console = SimulatedConsole::open(&world, (namespace, name), "ops", Role::Driver, network);
    let mut accepted = AcceptedWrites::default();
    let images: BTreeMap<String, ImageRef> = [("agent".to_owned(), image.parse().unwrap())].into_iter().collect();
    let tuning = |settings: &[(Setting, &str)]| {
        let mut tuning = Tuning::default();
        for (setting, value) in settings {
            tuning = tuning.and(setting.read(value).unwrap());
        }
        tuning
    };
    let mut script: Vec<Scripted> = Vec::new();
    script
        .push((Box::new(|shown, _| shown.phase != Phase::Loading), Command::SetImage(images).under(tuning(settings))));
    script.push((
        Box::new(|shown, _| shown.phase == Phase::Held),
        Command::Step(Step::Updated(IntOrPercent::Percent(100))),
    ));
    match midway.clone() {
        Midway::Nothing => {}
        Midway::Pause(at, minutes) => {
            script.push((
                Box::new(move |shown, _| shown.counts.updated >= at),
                Command::Pause { why: Some("lunch".into()) },
            ));
            let since = Cell::new(None::<Timestamp>);
            script.push((
                Box::new(move |shown, now| {
                    if matches!(shown.phase, Phase::Paused(_)) && since.get().is_none() {
                        since.set(Some(now));
                    }
                    since.get().is_some_and(|since| now.since(since) >= Duration::from_secs(minutes * 60))
                }),
                Command::Resume,
            ));
        }
        Midway::Set(at, settings) => {
            script.push((Box::new(move |shown, _| shown.counts.updated >= at), Command::Tune(tuning(settings))));
        }
    }
    script.reverse();
    let end = world.now() + LIMIT;
    let mut looks_at = world.now();
    let mut operator_at = world.now();
    let mut looks = Vec::new();
    let mut began = false;
    while world.now() < end {
        console.step(&mut world, &mut accepted);
        let now = world.now();
        if now >= operator_at {
            operator_at = now + Duration::from_secs(2);
            let shown = console.snapshot(now);
            began |= shown.phase == Phase::Running;
            if script.last().is_some_and(|(when, _)| when(&shown, now)) {
                let (_, command) = script.last().unwrap();
                if console.command(command.clone(), now).is_ok() {
                    script.pop();
                    operator_at = now + Duration::from_secs(5);
                }
            }
            if began && shown.counts.updated == shown.counts.nodes {
                break;
            }
            if now >= looks_at && began {
                looks_at = now + LOOK;
                looks.push((now, shown.counts.updated, shown.estimate));
            }
        }
        let next = console.next_at().into_iter().chain([operator_at]).chain(world.next_at()).min().unwrap_or(end);
        world.advance(next.max(now + Duration::from_millis(u64::from(next <= now))));
    }
    RolloutRun { looks, ended: world.now() }
}

/// How many estimates were right, and how many too short or too long.
#[derive(Debug, Default)]
struct EstimateStatistics {
    known: u32,
    right: u32,
    short: u32,
    long: u32,
    none: u32,
    /// The time left divided by the estimate's upper end.
    of_most: Vec<f64>,
    /// The estimate's upper end divided by its lower end.
    widths: Vec<f64>,
}

impl RolloutRun {
    fn statistics(&self) -> EstimateStatistics {
        let mut statistics = EstimateStatistics::default();
        for (at, _, estimate) in &self.looks {
            let left = self.ended.since(*at);
            let RolloutEstimate::Known { rollout, .. } = estimate else {
                statistics.none += 1;
                continue;
            };
            statistics.known += 1;
            let is = match (left > rollout.most + TOLERANCE, left + TOLERANCE < rollout.least) {
                (true, _) => &mut statistics.short,
                (_, true) => &mut statistics.long,
                (false, false) => &mut statistics.right,
            };
            *is += 1;
            if left > Duration::from_secs(60) {
                statistics.of_most.push(left.as_secs_f64() / rollout.most.as_secs_f64().max(1.0));
                statistics.widths.push(rollout.most.as_secs_f64() / rollout.least.as_secs_f64().max(10.0));
            }
        }
        statistics
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

const V2: &str = "registry.factory.example/agent:v2";
const WIDE: SettingValues = &[
    (Setting::MaxUnavailable, "12"),
    (Setting::MaxPulling, "8"),
    (Setting::MaxPullingPerSite, "2"),
    (Setting::Order, "spread"),
];

/// The yard's link is the slowest: its nodes are left when all others are done.
#[test]
fn three_of_four_estimates_of_a_rollout_over_unequal_links_are_true() {
    let statistics = run_rollout(&built_in("factory").unwrap(), V2, WIDE, &Midway::Nothing).statistics();
    assert!(statistics.known > 50 && statistics.right * 4 >= statistics.known * 3, "{statistics:?}");
}

#[test]
#[ignore = "prints figures"]
fn estimates_against_what_took_place() {
    use Setting::{MaxPulling, MaxPullingPerSite, MaxUnavailable, Order, Soak};
    let factory = built_in("factory").unwrap();
    let one_a_site: SettingValues = &[(MaxUnavailable, "12"), (MaxPullingPerSite, "1"), (Order, "site")];
    let soaking: SettingValues = &[(MaxUnavailable, "12"), (MaxPullingPerSite, "2"), (Order, "spread"), (Soak, "60s")];
    let cases: [(&str, SettingValues, Midway); 9] = [
        ("2 at once, by name", &[], Midway::Nothing),
        ("12 at once, 2 a site, spread", WIDE, Midway::Nothing),
        ("the same, paused for 5 min at 60", WIDE, Midway::Pause(60, 5)),
        ("the same, paused for 30 min at 60", WIDE, Midway::Pause(60, 30)),
        ("12 at once, 2 a site, by name", &[(MaxUnavailable, "12"), (MaxPullingPerSite, "2")], Midway::Nothing),
        ("12 at once, 1 a site, by site", one_a_site, Midway::Nothing),
        (
            "2 at once, then 12 at 30",
            &[(Order, "spread")],
            Midway::Set(30, &[(MaxUnavailable, "12"), (MaxPulling, "8"), (MaxPullingPerSite, "2")]),
        ),
        ("12 at once, then 2 at 40", WIDE, Midway::Set(40, &[(MaxUnavailable, "2"), (MaxPulling, "2")])),
        ("with a soak of 60 s", soaking, Midway::Nothing),
    ];
    for (what, settings, midway) in cases {
        let run = run_rollout(&factory, V2, settings, &midway);
        let EstimateStatistics { known, right, short, long, none, mut of_most, mut widths } = run.statistics();
        let worst = of_most.iter().copied().fold(0.0, f64::max);
        let took = run.looks.first().map(|(at, ..)| run.ended.since(*at)).unwrap_or_default();
        println!(
            "{what:<34} {:>6}: of {known} estimates {right} true, {short} too short, {long} too long; none {none}; left/most {:.2}, at worst {worst:.2}; most/least {:.2}",
            ShortDuration(took).to_string(),
            median(&mut of_most),
            median(&mut widths),
        );
    }
}
