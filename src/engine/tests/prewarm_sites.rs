//! Pre-warming keeps to the limits of each site.

use super::prewarm::image;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::hold::Hold;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::Intent;
use crate::engine::model::settings::{Limit, Pace, Tuning};
use crate::engine::model::site::ZONE;

/// Twenty nodes in two sites of ten.
pub(super) fn two_sites() -> FakeCluster {
    let mut fake = FakeCluster::rolling(20, 10);
    for (nth, node) in fake.nodes.values_mut().enumerate() {
        node.labels = [(ZONE, if nth < 10 { "hall-a" } else { "hall-b" })].into_iter().collect();
    }
    fake.holds_images = false;
    fake.slow = true;
    fake
}

fn pulling_by_site(fake: &FakeCluster, names: &[String]) -> [usize; 2] {
    ["hall-a", "hall-b"].map(|site| {
        let here = |name: &&String| fake.nodes[name.as_str()].labels.get(ZONE).is_some_and(|it| **it == *site);
        names.iter().filter(here).count()
    })
}

#[test]
fn each_site_has_a_limit_of_its_own() {
    let mut fake = two_sites();
    let mut console = FakeConsole::open(&fake, "ops");
    let limits = PrewarmLimits {
        site_label: None,
        pace: Pace::Fixed,
        max_pulling: Limit::At(IntOrPercent::Int(10)),
        max_pulling_per_site: Limit::At(IntOrPercent::Percent(20)),
    };
    let start =
        PrewarmCommand::Start { source: image("v2"), nodes: PrewarmNodes::All, limits, method: PrewarmMethod::Pods };
    console.engine.command(Command::Prewarm(start), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(pulling_by_site(&fake, &fake.warm_nodes()), [2, 2], "a fifth of ten nodes each");
    let sites = console.snapshot(&fake).prewarm.unwrap().sites;
    let reported: Vec<_> = sites.iter().map(|site| (&*site.name, site.pulling, site.limit)).collect();
    assert_eq!(reported, [("hall-a", 2, Some(2)), ("hall-b", 2, Some(2))]);
}

/// The same, told apart by racks: every other node is in rack r0, the others have no such label.
fn in_racks(fake: &mut FakeCluster) {
    for node in fake.nodes.values_mut().step_by(2) {
        let zone = node.labels.get(ZONE).cloned().unwrap();
        node.labels = [(ZONE, &*zone), ("rack", "r0")].into_iter().collect();
    }
}

fn start_with(limits: PrewarmLimits) -> Command {
    Command::Prewarm(PrewarmCommand::Start {
        source: image("v2"),
        nodes: PrewarmNodes::All,
        limits,
        method: PrewarmMethod::Pods,
    })
}

fn one_per_site(label: Option<&str>) -> PrewarmLimits {
    PrewarmLimits {
        max_pulling: Limit::At(IntOrPercent::Int(10)),
        max_pulling_per_site: Limit::At(IntOrPercent::Int(1)),
        site_label: label.map(|key| key.parse().unwrap()),
        pace: Pace::Fixed,
    }
}

fn site_names(console: &mut FakeConsole, fake: &FakeCluster) -> Vec<String> {
    console.snapshot(fake).prewarm.unwrap().sites.iter().map(|site| site.name.to_string()).collect()
}

#[test]
fn sites_are_told_apart_by_the_label_that_is_named() {
    let mut fake = two_sites();
    in_racks(&mut fake);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, start_with(one_per_site(Some("rack")))).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes().len(), 2, "one in the rack, one of those without");
    assert_eq!(site_names(&mut console, &fake), ["", "r0"]);
    let seen = console.snapshot(&fake);
    let shown = seen.nodes.iter().filter(|node| &*node.site == "r0").count();
    assert_eq!((shown, seen.site_label.key()), (10, "rack"));

    // Now it is the rollout's, which names none.
    console.set_image(&mut fake, "agent:v2");
    assert_eq!(console.snapshot(&fake).site_label.key(), ZONE);
    assert_eq!(site_names(&mut console, &fake), ["hall-a", "hall-b"]);
    let refused = console.ask(&mut fake, start_with(one_per_site(Some("rack")))).unwrap_err();
    assert!(refused.contains("tells sites apart by topology.kubernetes.io/zone"), "{refused}");
    assert!(refused.contains("`tune --site-label rack`"), "{refused}");
    let tuning = Tuning { site_label: Some("rack".parse().unwrap()), ..Tuning::default() };
    let preview = console.engine.preview(&Command::Tune(tuning.clone()), fake.now).unwrap();
    let says = "By the label rack there is one site; 10 nodes without it are one more.";
    assert!(preview.effects.iter().any(|line| line == says), "{:?}", preview.effects);
    console.ask(&mut fake, Command::Tune(tuning)).unwrap();
    console.ask(&mut fake, start_with(one_per_site(Some("rack")))).unwrap();
    assert_eq!(site_names(&mut console, &fake), ["", "r0"]);
}

#[test]
fn what_an_earlier_version_recorded_has_the_default_label() {
    let limits: PrewarmLimits = serde_json::from_str(r#"{"maxPulling":2}"#).unwrap();
    assert_eq!(limits.site_label, None);
    let intent: Intent = serde_json::from_str(r#"{"budgets":{"maxPulling":2,"strict":false}}"#).unwrap();
    assert!(intent.budgets.site_label.is_default());
    let written = serde_json::to_string(&intent.budgets).unwrap();
    assert!(!written.contains("siteLabel"), "an earlier version reads what is written: {written}");
}

#[test]
fn updates_keep_to_the_limit_of_each_site_too() {
    let mut fake = two_sites();
    let mut console = FakeConsole::open(&fake, "ops");
    let tuning = Tuning { max_pulling_per_site: Some(Limit::At(IntOrPercent::Int(1))), ..Tuning::default() };
    console.engine.command(Command::Tune(tuning), fake.now).unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    let deleted: Vec<String> = fake.deleted.iter().map(ToString::to_string).collect();
    assert_eq!(pulling_by_site(&fake, &deleted), [1, 1], "{deleted:?}");
    let snapshot = console.snapshot(&fake);
    let held = |hold: &Hold| matches!(hold, Hold::SitePullLimit { used: 1, limit: 1, .. });
    assert!(snapshot.nodes.iter().filter_map(|node| node.hold.as_ref()).any(held));
}

/// As a selector that matches no node, a label that no node has is probably misspelt.
#[test]
fn a_site_label_that_no_node_has_is_warned_of() {
    let mut fake = two_sites();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let warned = |console: &mut FakeConsole, label: &str, fake: &FakeCluster| {
        let tuning = Tuning { site_label: Some(label.parse().unwrap()), ..Tuning::default() };
        console.engine.preview(&Command::Tune(tuning), fake.now).unwrap().warnings
    };
    let end = "all of them are one site, to which limits per site then apply.";
    assert_eq!(warned(&mut console, "hall", &fake), [format!("No node has the label hall: {end}")]);
    let meant = "is `topology.kubernetes.io/zone` meant?";
    assert_eq!(warned(&mut console, "zone", &fake), [format!("No node has the label zone ({meant}): {end}")]);
    assert!(warned(&mut console, ZONE, &fake).is_empty());
    let fake = two_sites();
    let prewarms = FakeConsole::open(&fake, "ops").engine.preview(&start_with(one_per_site(Some("hall"))), fake.now);
    assert_eq!(prewarms.unwrap().warnings, [format!("No node has the label hall: {end}")]);
}

/// Pulls follow the budget unless they have a limit of their own, and whoever raises the budget is told.
#[test]
fn a_budget_says_that_pulls_follow_it() {
    let mut fake = two_sites();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let budget = |nodes: &str| Tuning { max_unavailable: Some(nodes.parse().unwrap()), ..Tuning::default() };
    let follows = "max pulling is not set: it follows max unavailable";
    let preview = console.engine.preview(&Command::Tune(budget("5")), fake.now).unwrap();
    let line = "pull limit: 10 → 5 (follows max unavailable)".to_owned();
    assert!(preview.effects.contains(&line), "{:?}", preview.effects);
    let said = console.ask(&mut fake, Command::Tune(budget("5"))).unwrap();
    assert!(said.ends_with(&format!("; {follows}")), "{said}");
    assert_eq!(console.snapshot(&fake).budget.max_pulling, 5);
    let own = Tuning { max_pulling: Some(Limit::At(IntOrPercent::Int(2))), ..budget("6") };
    assert!(!console.ask(&mut fake, Command::Tune(own)).unwrap().contains(follows));
    assert!(
        !console.ask(&mut fake, Command::Tune(budget("7"))).unwrap().contains(follows),
        "it has a limit of its own"
    );
}
