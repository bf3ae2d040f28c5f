//! The promises under attack: random clusters, rollouts and faults, judged by an independent observer. `rolldeck simulate`
//! runs as many as you like; here are as many as a test may take, and every seed that ever found something.

use rolldeck::sim::attack::case::Case;
use rolldeck::sim::attack::run::{Story, play, run};

/// How many seeds the test tries from its own fixed beginning.
const RUNS: u64 = 60;

/// Where cases are kept that once found something.
const FOUND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attack");

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn the_promises_hold() {
    let first = from_env("ROLLDECK_SEED", 1);
    let runs = from_env("ROLLDECK_RUNS", RUNS);
    let threads = u64::try_from(std::thread::available_parallelism().map_or(1, usize::from)).unwrap();
    let began = std::time::Instant::now();
    let mut reports: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                scope.spawn(move || {
                    (first + worker..first + runs).step_by(threads as usize).map(run).collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    reports.sort_by_key(|report| report.seed);
    let deletions: u64 = reports.iter().map(|report| report.deletions).sum();
    let faults: u64 = reports.iter().map(|report| report.faults).sum();
    println!("{} rollouts, {deletions} deletions, {faults} faults in {:.1?}", reports.len(), began.elapsed());
    let mut broken = 0;
    for report in reports.iter().filter(|report| !report.violations.is_empty()) {
        broken += 1;
        if broken <= 20 {
            println!("seed {}:", report.seed);
            report.violations.iter().take(3).for_each(|violation| println!("    {violation}"));
        }
    }
    assert_eq!(broken, 0, "{broken} of {} runs broke a promise", reports.len());
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
        let report = play(&case, Story::Dropped);
        assert!(report.violations.is_empty(), "{} ({}): {:?}", file.display(), case.found, report.violations);
    }
}

/// `ROLLDECK_SEED=44 cargo test --test attack -- --ignored --nocapture tells`
#[test]
#[ignore = "prints the story of one seed"]
fn tells_the_story_of_a_seed() {
    let case = Case::random(from_env("ROLLDECK_SEED", 1));
    case.scenario.faults.iter().for_each(|(at, fault)| println!("{:9.3}  {fault:?}", at.as_secs_f64()));
    let report = play(&case, Story::Kept);
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
