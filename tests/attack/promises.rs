//! Plays random cases and the kept ones.

use std::time::{Duration, Instant};

use rolldeck::engine::model::cause::CauseKind;
use rolldeck::sim::attack::campaign::{self, Campaign, Until};
use rolldeck::sim::attack::case::{Act, Case, CrashPoint};
use rolldeck::sim::attack::run::{TraceMode, run, run_case};
use rolldeck::sim::attack::shrink::shrink;

/// The number of rollouts, unless `ROLLDECK_RUNS` is set.
const RUNS: u64 = 60;
/// The directory of the kept cases.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attack");

/// Whether the simulated kubelets, registries and API server produce this cause; the test fails if a console shows a cause that is not named here.
/// The consequences (`CauseKind::consequences`) of a cause that they do not produce also follow from causes that they produce, except for an image
/// that is unusable without a question to the registry (`ImageName`, `ImageNeverPull`).
fn is_met(cause: CauseKind) -> bool {
    match cause {
        CauseKind::ImageNotFound
        | CauseKind::ImageDenied
        | CauseKind::ImageRateLimited
        | CauseKind::ImageNetwork
        | CauseKind::CrashLoop
        | CauseKind::NotReady
        | CauseKind::Unschedulable
        | CauseKind::Evicted
        | CauseKind::AdmissionRefused
        | CauseKind::QuotaExceeded
        | CauseKind::CreationForbidden
        | CauseKind::NotCreated
        | CauseKind::ControllerIdle
        | CauseKind::StuckTerminating
        | CauseKind::HeldByFinalizers
        | CauseKind::Deadline
        | CauseKind::NodeDown => true,
        CauseKind::ImagePlatform
        | CauseKind::ImageName
        | CauseKind::ImageNeverPull
        | CauseKind::ImageDisk
        | CauseKind::ImagePull
        | CauseKind::VolumeMount
        | CauseKind::PodSandbox
        | CauseKind::Config
        | CauseKind::ContainerStart
        | CauseKind::InitFailure
        | CauseKind::OutOfMemory
        | CauseKind::ReadinessGate
        | CauseKind::SchedulerIdle
        | CauseKind::NodeShutdown
        | CauseKind::Rejected
        | CauseKind::PodInvalid => false,
    }
}

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The seeds that are known to break a promise (`open.txt`). They are played, counted and printed like all others; any other seed that breaks a
/// promise fails the test.
fn open_seeds() -> Vec<u64> {
    let text = std::fs::read_to_string(format!("{KEPT}/open.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty());
    lines.map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
}

fn on_all_cores(worker: &(dyn Fn() + Sync)) {
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
}

#[test]
fn the_promises_hold() {
    let (first, runs) = (from_env("ROLLDECK_SEED", 1), from_env("ROLLDECK_RUNS", RUNS));
    let until = if from_env("ROLLDECK_UNTIL_BROKEN", 0) > 0 { Until::OneIsBroken } else { Until::AllRan };
    let began = Instant::now();
    let statistics = campaign::random(first, runs).until(until).run(on_all_cores);
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
        assert!(
            statistics.site_pulls.by_label > 0,
            "no update began a pull under a limit of its site: {}",
            statistics.site_pulls
        );
    }
    // The rarest causes come once in 5,000 runs.
    if statistics.runs >= 20_000 {
        let met = CauseKind::ALL.map(|cause| (cause, statistics.causes.contains_key(&cause)));
        assert_eq!(met, CauseKind::ALL.map(|cause| (cause, is_met(cause))), "which causes consoles showed on any node");
    }
}

/// A driver is killed before and after each of its writes in turn, and opened again.
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
    let killed = Campaign::new(seeds * writes * 2, |nth| {
        let mut case = quiet(first + nth / (writes * 2));
        let again = Duration::from_secs(3);
        let crash = if nth % 2 == 0 { CrashPoint::KillBefore { again } } else { CrashPoint::KillAfter { again } };
        let write = u32::try_from(nth / 2 % writes).unwrap();
        case.acts.insert(1, (Duration::ZERO, Act::Crash(0, write, crash)));
        case
    });
    let statistics = killed.run(on_all_cores);
    println!("{statistics}");
    assert!(statistics.broken.is_empty(), "{} of {} runs broke a promise", statistics.broken.len(), statistics.runs);
}

#[test]
fn no_kept_case_breaks_a_promise_again() {
    let mut files: Vec<_> = std::fs::read_dir(KEPT).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(files.len() >= 8, "the cases are not where they were: {files:?}");
    for file in files {
        let case = Case::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert!(!case.found.is_empty(), "{} does not say what it found", file.display());
        let report = run_case(&case, TraceMode::Dropped);
        assert!(report.violations.is_empty(), "{} ({}): {:?}", file.display(), case.found, report.violations);
    }
}

/// `ROLLDECK_SEED=44 cargo test --test attack -- --ignored --nocapture tells`
#[test]
#[ignore = "prints the trace of one seed or case (ROLLDECK_CASE=file), or of what is left of it once it is shrunk (ROLLDECK_SHRINK=1)"]
fn prints_the_trace_of_a_seed() {
    let mut case = std::env::var("ROLLDECK_CASE").map_or_else(
        |_| Case::random(from_env("ROLLDECK_SEED", 1)),
        |file| Case::parse(&std::fs::read_to_string(file).unwrap()).unwrap(),
    );
    if from_env("ROLLDECK_SHRINK", 0) > 0 {
        case = shrink(&case).expect("a seed that breaks a promise");
    }
    println!("{}", case.to_text());
    let report = run_case(&case, TraceMode::Kept);
    report.trace.iter().for_each(|line| println!("{line}"));
    report.violations.iter().for_each(|violation| println!("{violation}"));
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 1..4 {
        let (first, second) = (run(seed), run(seed));
        assert_eq!((first.digest, first.took, first.deletions), (second.digest, second.took, second.deletions));
    }
}
