//! The promises under attack: random clusters, rollouts and faults, judged by an independent observer. `rolldeck simulate`
//! runs as many as you like; here are as many as a test may take, and every seed that ever found something.

use rolldeck::sim::attack::case::Case;
use rolldeck::sim::attack::run::{Story, play, run};

/// How many seeds the test tries from its own fixed beginning.
const RUNS: u64 = 60;

/// Seeds that once found something, and what. They replay for as long as cases are made as they were then.
const FOUND: [(u64, &str); 8] = [
    (14, "the old revision was taken for the new one while that was late"),
    (17, "what the rollout broke waited for a proof that could only come from it"),
    (44, "what an earlier image broke was taken for down before the rollout began"),
    (1531, "a flip of the strategy outlived its rollout, and the next was never adopted"),
    (1583, "a pod that served, but not for long enough, was replaced beyond the budget"),
    (100_734, "a request for the lease outlived its fulfilment"),
    (100_765, "a node that went down after it was rolled back was not charged"),
    (102_246, "the same, after a deploy by somebody else"),
];

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
    for (seed, what) in FOUND {
        let report = run(seed);
        assert!(report.violations.is_empty(), "seed {seed} ({what}): {:?}", report.violations);
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
