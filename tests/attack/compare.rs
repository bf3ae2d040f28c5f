//! `rolldeck simulate factory --compare`: every method rolls out the image of 400 MB in the factory. The tests check relations that must hold; the
//! figures themselves are in docs/compared.md. `cargo test --profile attack --no-default-features --test attack -- --nocapture compare` prints them.

use rolldeck::sim::compare::method::Method;
use rolldeck::sim::compare::trial::Trial;
use rolldeck::sim::world::scenario::built_in;

const BUDGET: usize = 2;

#[test]
#[cfg_attr(debug_assertions, ignore = "minutes of processor time without optimisation; `.ci/run` runs it in release")]
fn rolldeck_keeps_its_budget_and_the_leases_where_others_lose_them() {
    let trial = &Trial::new(&built_in("factory").unwrap(), 1).unwrap();
    let runs = std::thread::scope(|scope| {
        Method::ALL.map(|method| scope.spawn(move || trial.run(method))).map(|run| run.join().unwrap())
    });
    let comparison = trial.compare(runs.to_vec()).unwrap();
    println!("{comparison}");
    assert_eq!((comparison.nodes, comparison.bytes_per_node), (120, 400_000_000));
    for run in &runs {
        let total = run.total.unwrap_or_else(|| panic!("{} did not end", run.method));
        assert!(comparison.over_bound(total) >= 1.0, "{} is faster than its link", run.method);
        if matches!(run.method, Method::Rolldeck | Method::Prewarmed(_) | Method::Paced(_)) {
            assert!(run.peak_offline <= BUDGET, "{comparison}");
            assert_eq!(run.lease_losses, 0, "{comparison}");
        }
    }
    let [two, ten_percent, by_hand, pulls_first, _, prewarmed, paced] = &runs;
    for run in [pulls_first, prewarmed, paced] {
        assert!(run.offline * 10 < two.offline, "nodes are offline for a restart, not for a download: {comparison}");
    }
    assert!(prewarmed.total.is_some_and(|total| comparison.over_bound(total) <= 1.10), "{comparison}");
    for crowd in [ten_percent, by_hand] {
        assert!(crowd.lease_losses > 0, "{comparison}");
        assert!(crowd.peak_offline > BUDGET && crowd.offline > two.offline, "{comparison}");
    }
}
