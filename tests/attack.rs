//! The promises under attack: random clusters, rollouts and faults, judged by an independent observer. `rolldeck simulate`
//! runs as many as you like; here are as many as a test may take, and every case that ever found something.
//!
//! | variable | |
//! |---|---|
//! | `ROLLDECK_RUNS` | how many rollouts |
//! | `ROLLDECK_SEED` | the seed of the first |
//! | `ROLLDECK_UNTIL_BROKEN` | 1: stop at the first broken promise |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rolldeck::sim::attack::case::{Act, Case, CrashPoint};
use rolldeck::sim::attack::run::{StoryMode, play, run};
use rolldeck::sim::attack::statistics::Statistics;

/// How many rollouts the test tries from its own fixed beginning.
const RUNS: u64 = 60;
/// Where cases are kept that once found something.
const FOUND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attack");

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Seeds that break a promise as of now, with what is known of each: see `open.txt`. They are played and counted like all
/// others, and said; what is not on the list fails the test.
fn open_seeds() -> Vec<u64> {
    let text = std::fs::read_to_string(format!("{FOUND}/open.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty());
    lines.map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
}

/// Plays `count` cases on all cores; `stop` once a promise is broken, if that is all that is asked.
fn attack(count: u64, case: impl Fn(u64) -> Case + Sync, stop: Stop) -> Statistics {
    let (next, statistics) = (AtomicU64::new(0), Mutex::new(Statistics::default()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= count || (stop == Stop::AtTheFirst && !statistics.lock().unwrap().broken.is_empty()) {
                        return;
                    }
                    let report = play(&case(nth), StoryMode::Dropped);
                    statistics.lock().unwrap().add(&report);
                }
            });
        }
    });
    let mut statistics = statistics.into_inner().unwrap();
    statistics.broken.sort();
    statistics
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    AtTheEnd,
    AtTheFirst,
}

#[test]
fn the_promises_hold() {
    let (first, runs) = (from_env("ROLLDECK_SEED", 1), from_env("ROLLDECK_RUNS", RUNS));
    let stop = if from_env("ROLLDECK_UNTIL_BROKEN", 0) > 0 { Stop::AtTheFirst } else { Stop::AtTheEnd };
    let began = std::time::Instant::now();
    let statistics = attack(runs, |nth| Case::random(first + nth), stop);
    println!("{statistics}");
    println!("from seed {first} in {:.1?}", began.elapsed());
    let open = open_seeds();
    let (known, new): (Vec<u64>, Vec<u64>) =
        statistics.broken.iter().map(|(seed, _)| *seed).partition(|seed| open.contains(seed));
    println!("{} of them are known and open (tests/attack/open.txt): {known:?}", known.len());
    assert!(
        new.is_empty(),
        "{} of {} runs broke a promise that is not on the list: {new:?}",
        new.len(),
        statistics.runs
    );
    if statistics.runs >= 5_000 {
        let absent: Vec<_> =
            statistics.faults.by_kind().filter(|(_, count)| *count == 0).map(|(kind, _)| kind).collect();
        assert!(absent.is_empty(), "these faults were never injected: {absent:?}");
    }
}

/// A driver that is killed before and after each of its writes in turn, and opened again.
#[test]
fn a_driver_may_be_killed_between_any_two_writes() {
    let quiet = |seed: u64| {
        let mut case = Case::random(seed);
        case.scenario.faults.clear();
        case.acts.retain(|(_, act)| matches!(act, Act::Open(0) | Act::Ask(0, _)));
        case
    };
    let seeds = from_env("ROLLDECK_RUNS", RUNS).div_ceil(1000);
    let first = from_env("ROLLDECK_SEED", 1);
    let writes = 40;
    let statistics = attack(
        seeds * writes * 2,
        |nth| {
            let mut case = quiet(first + nth / (writes * 2));
            let again = Duration::from_secs(3);
            let crash_point =
                if nth % 2 == 0 { CrashPoint::KillBefore { again } } else { CrashPoint::KillAfter { again } };
            let write = u32::try_from(nth / 2 % writes).unwrap();
            case.acts.insert(1, (Duration::ZERO, Act::Crash(0, write, crash_point)));
            case
        },
        Stop::AtTheEnd,
    );
    println!("{statistics}");
    assert!(statistics.broken.is_empty(), "{} of {} runs broke a promise", statistics.broken.len(), statistics.runs);
}

#[test]
fn what_was_found_once_is_not_found_again() {
    let mut files: Vec<_> = std::fs::read_dir(FOUND).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(files.len() >= 8, "the cases are not where they were: {files:?}");
    for file in files {
        let case = Case::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert!(!case.found.is_empty(), "{} does not say what it found", file.display());
        let report = play(&case, StoryMode::Dropped);
        assert!(report.violations.is_empty(), "{} ({}): {:?}", file.display(), case.found, report.violations);
    }
}

/// `ROLLDECK_SEED=44 cargo test --test attack -- --ignored --nocapture tells`
#[test]
#[ignore = "prints the story of one seed or case (ROLLDECK_CASE=file), or of what is left of it once it is shrunk (ROLLDECK_SHRINK=1)"]
fn tells_the_story_of_a_seed() {
    let mut case = std::env::var("ROLLDECK_CASE").map_or_else(
        |_| Case::random(from_env("ROLLDECK_SEED", 1)),
        |file| Case::parse(&std::fs::read_to_string(file).unwrap()).unwrap(),
    );
    if from_env("ROLLDECK_SHRINK", 0) > 0 {
        case = rolldeck::sim::attack::shrink::shrink(&case).expect("a seed that breaks a promise");
    }
    println!("{}", case.to_text());
    let report = play(&case, StoryMode::Kept);
    report.story.iter().for_each(|line| println!("{line}"));
    report.violations.iter().for_each(|violation| println!("{violation}"));
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 1..4 {
        let (first, second) = (run(seed), run(seed));
        assert_eq!((first.digest, first.took, first.deletions), (second.digest, second.took, second.deletions));
    }
}
