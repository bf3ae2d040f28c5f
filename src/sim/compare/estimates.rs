//! How estimates of the time left compare with the time that was left, in rollouts of the factory. `cargo test --lib
//! compare::estimates -- --ignored --nocapture` prints one line for each way of rolling out.

use std::time::Duration;

use crate::engine::model::command::{Command, Step};
use crate::engine::model::config::{RateLimit, Role};
use crate::engine::model::estimate::RolloutEstimate;
use crate::engine::model::image::ImageRef;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::Setting;
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::sim::attack::api_client::AcceptedWrites;
use crate::sim::attack::console::SimulatedConsole;
use crate::sim::attack::network::{Network, NetworkProfile};
use crate::sim::world::World;
use crate::sim::world::scenario::{Scenario, built_in};

/// How often the estimate is compared.
const LOOK: Duration = Duration::from_secs(20);
/// What is given up.
const LIMIT: Duration = Duration::from_secs(12 * 3_600);
/// An estimate is rounded; what is that close is right.
const TOLERANCE: Duration = Duration::from_secs(15);

/// What an operator does in the middle of a rollout.
#[derive(Clone, Debug)]
enum Midway {
    Nothing,
    /// Pauses for so many minutes when so many nodes are updated.
    Pause(u32, u64),
    /// Sets this when so many nodes are updated.
    Set(u32, &'static [(Setting, &'static str)]),
}

struct Played {
    /// When, how many were updated, what was estimated.
    looks: Vec<(Timestamp, u32, RolloutEstimate)>,
    ended: Timestamp,
}

fn play(scenario: &Scenario, image: &str, settings: &[(Setting, &str)], midway: &Midway) -> Played {
    let mut world = World::new(scenario, 1);
    let plan = scenario.rollout.clone().unwrap();
    let (namespace, name) = &plan.daemon_set;
    let network = (Network::new(NetworkProfile::FINE, 1), RateLimit::default());
    let mut console = SimulatedConsole::open(&world, (namespace, name), "ops", Role::Driver, network);
    let mut accepted = AcceptedWrites::default();
    let images: std::collections::BTreeMap<String, ImageRef> =
        [("agent".to_owned(), image.parse().unwrap())].into_iter().collect();
    let tuning = |settings: &[(Setting, &str)]| {
        let mut tuning = crate::engine::model::settings::Tuning::default();
        for (setting, value) in settings {
            tuning = tuning.and(setting.read(value).unwrap());
        }
        tuning
    };
    let mut script: Vec<(Box<dyn Fn(&Snapshot, Timestamp) -> bool>, Command)> = Vec::new();
    script.push((
        Box::new(|shown, _| shown.phase != Phase::Loading),
        Command::SetImage(images).under(tuning(settings)),
    ));
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
            let since = std::cell::Cell::new(None::<Timestamp>);
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
    Played { looks, ended: world.now() }
}

#[test]
#[ignore = "prints figures"]
fn estimates_against_what_took_place() {
    use Setting::{MaxPulling, MaxPullingPerSite, MaxUnavailable, Order, Soak};
    const V2: &str = "registry.factory.example/agent:v2";
    let factory = built_in("factory").unwrap();
    let wide: &[(Setting, &str)] =
        &[(MaxUnavailable, "12"), (MaxPulling, "8"), (MaxPullingPerSite, "2"), (Order, "spread")];
    let cases: Vec<(&str, &[(Setting, &str)], Midway)> = vec![
        ("2 at once, by name", &[], Midway::Nothing),
        ("12 at once, 2 a site, spread", wide, Midway::Nothing),
        ("the same, paused for 5 min at 60", wide, Midway::Pause(60, 5)),
        ("the same, paused for 30 min at 60", wide, Midway::Pause(60, 30)),
        ("12 at once, 2 a site, by name", &[(MaxUnavailable, "12"), (MaxPullingPerSite, "2")], Midway::Nothing),
        ("12 at once, 1 a site, by site", &[(MaxUnavailable, "12"), (MaxPullingPerSite, "1"), (Order, "site")], Midway::Nothing),
        ("2 at once, then 12 at 30", &[(Order, "spread")], Midway::Set(30, &[(MaxUnavailable, "12"), (MaxPulling, "8")])),
        ("12 at once, then 2 at 40", wide, Midway::Set(40, &[(MaxUnavailable, "2"), (MaxPulling, "2")])),
        ("with a soak of 60 s", &[(MaxUnavailable, "12"), (MaxPullingPerSite, "2"), (Order, "spread"), (Soak, "60s")], Midway::Nothing),
    ];
    let only = std::env::var("ROLLDECK_ESTIMATE").ok();
    for (what, settings, midway) in cases {
        if only.as_ref().is_some_and(|only| !what.contains(only.as_str())) {
            continue;
        }
        let Played { looks, ended } = play(&factory, V2, settings, &midway);
        let (mut known, mut within, mut short, mut long, mut none) = (0_u32, 0_u32, 0_u32, 0_u32, 0_u32);
        let (mut ratios, mut widths) = (Vec::new(), Vec::new());
        for (at, updated, estimate) in &looks {
            let left = ended.since(*at);
            if only.is_some() {
                let said = match estimate {
                    RolloutEstimate::Known { rollout, unmeasured_sites, .. } => format!("{rollout} +{unmeasured_sites}"),
                    other => format!("{other:?}"),
                };
                println!("   {updated:>3} updated, {} left: {said}", ShortDuration(left));
            }
            let RolloutEstimate::Known { rollout, .. } = estimate else {
                none += 1;
                continue;
            };
            known += 1;
            if left > rollout.most + TOLERANCE {
                short += 1;
            } else if left + TOLERANCE < rollout.least {
                long += 1;
            } else {
                within += 1;
            }
            if left > Duration::from_secs(60) {
                ratios.push(left.as_secs_f64() / rollout.most.as_secs_f64().max(1.0));
                widths.push(rollout.most.as_secs_f64() / rollout.least.as_secs_f64().max(10.0));
            }
        }
        let median = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        let (ratio, width) = (median(&mut ratios), median(&mut widths));
        let took = looks.first().map(|(at, ..)| ended.since(*at)).unwrap_or_default();
        println!(
            "{what:<36} took {:>6}: of {known} estimates {within} true, {short} too short, {long} too long; none {none}; left/most median {ratio:.2} worst {worst:.2}; most/least {width:.2}",
            ShortDuration(took).to_string(),
        );
    }
}
