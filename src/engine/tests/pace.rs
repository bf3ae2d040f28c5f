//! `--pace auto`: the limit of a site follows what its link bears, for pre-warming and updates together.

use super::*;
use crate::engine::model::Str;
use crate::engine::model::command::PrewarmCommand;
use crate::engine::model::facts::ClusterEvent;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::settings::{Limit, Pace};
use crate::engine::model::site::ZONE;
use crate::engine::report::snapshot::Snapshot;

/// Twenty nodes in two sites of ten, whose images have still to be pulled.
fn two_sites() -> FakeCluster {
    let mut fake = FakeCluster::rolling(20, 10);
    for (nth, node) in fake.nodes.values_mut().enumerate() {
        node.labels = [(ZONE, if nth < 10 { "hall-a" } else { "hall-b" })].into_iter().collect();
    }
    fake.holds_images = false;
    fake
}

/// Has everything pre-warmed, at most three nodes of a site at once.
fn warming(fake: &mut FakeCluster) -> FakeConsole {
    let mut console = FakeConsole::open(fake, "ops");
    let limits = PrewarmLimits {
        max_pulling: Limit::At(IntOrPercent::Int(20)),
        max_pulling_per_site: Limit::At(IntOrPercent::Int(3)),
        pace: Pace::Auto,
        ..PrewarmLimits::default()
    };
    let source = PrewarmSource::Images([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    let start = PrewarmCommand::Start { source, nodes: PrewarmNodes::All, limits, method: PrewarmMethod::Pods };
    console.ask(fake, Command::Prewarm(start)).unwrap();
    console
}

/// The nodes of a site that pull.
fn pulling(fake: &FakeCluster, site: &str) -> Vec<String> {
    let here = |name: &String| fake.nodes[name.as_str()].labels.get(ZONE).is_some_and(|it| **it == *site);
    let arrives = |name: &String| {
        let warm = fake.warm.values().find(|warm| warm.pod.node.as_deref() == Some(name)).unwrap();
        !warm.pod.containers[0].image_present
    };
    fake.warm_nodes().into_iter().filter(here).filter(arrives).collect()
}

/// All nodes of a site that pull have pulled, in ten seconds each.
fn a_round_ends(fake: &mut FakeCluster, console: &mut FakeConsole, site: &str) {
    console.run_for(fake, 10);
    for node in pulling(fake, site) {
        let warm = fake.warm.values().find(|warm| warm.pod.node.as_deref() == Some(&node)).unwrap();
        let event = ClusterEvent {
            version: Some(1),
            object: warm.pod.uid.clone(),
            node: Some(Str::from(node.as_str())),
            container: Some(warm.pod.containers[0].name.clone()),
            reason: "Pulled".into(),
            message:
                "Successfully pulled image \"agent:v2\" in 10s (10s including waiting). Image size: 50000000 bytes."
                    .into(),
            at: fake.now,
            first_at: None,
            count: 1,
            ..ClusterEvent::default()
        };
        console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
        fake.warm_arrives(&node);
    }
    console.run_for(fake, 2);
}

/// A node of the first site to which nothing is pulled.
fn does_not_pull(fake: &FakeCluster) -> Str {
    let pulls = fake.warm_nodes();
    let idle = fake.nodes.keys().find(|name| !pulls.iter().any(|warm| **warm == ***name)).cloned();
    idle.filter(|name| fake.nodes[name].labels.get(ZONE).is_some_and(|site| &**site == "hall-a")).unwrap()
}

/// Limit and why, of a site.
fn said(console: &mut FakeConsole, fake: &FakeCluster, site: &str) -> (u32, String) {
    let pace = console.snapshot(fake).pace;
    let said = pace.iter().find(|said| *said.site == *site).unwrap();
    (said.limit, said.why.to_string())
}

#[test]
fn a_site_begins_with_one_pull_and_has_more_as_its_link_bears_them() {
    let mut fake = two_sites();
    let mut console = warming(&mut fake);
    assert_eq!((pulling(&fake, "hall-a").len(), pulling(&fake, "hall-b").len()), (1, 1));
    assert_eq!(said(&mut console, &fake, "hall-a"), (1, "begins with one".to_owned()));
    a_round_ends(&mut fake, &mut console, "hall-a");
    assert_eq!(said(&mut console, &fake, "hall-a"), (2, "raised: 1 finished, 5.0 MB/s".to_owned()));
    assert_eq!((pulling(&fake, "hall-a").len(), pulling(&fake, "hall-b").len()), (2, 1), "each site by itself");
    a_round_ends(&mut fake, &mut console, "hall-a");
    a_round_ends(&mut fake, &mut console, "hall-a");
    assert_eq!(said(&mut console, &fake, "hall-a"), (3, "as many as are allowed, 15 MB/s".to_owned()));
    assert_eq!(pulling(&fake, "hall-a").len(), 3, "no more than an operator allows");
    let prewarm = console.snapshot(&fake).prewarm.unwrap();
    let limits: Vec<_> = prewarm.sites.iter().map(|site| (&*site.name, site.limit)).collect();
    assert_eq!(limits, [("hall-a", Some(3)), ("hall-b", Some(1))]);
}

#[test]
fn a_node_that_goes_down_while_others_pull_halves_it() {
    let mut fake = two_sites();
    let mut console = warming(&mut fake);
    (0..2).for_each(|_| a_round_ends(&mut fake, &mut console, "hall-a"));
    assert_eq!(pulling(&fake, "hall-a").len(), 3);
    let idle = does_not_pull(&fake);
    fake.set_node_ready(&idle, false);
    console.run_for(&mut fake, 2);
    assert_eq!(said(&mut console, &fake, "hall-a"), (1, format!("halved: {idle} is not Ready")));
    assert_eq!(said(&mut console, &fake, "hall-b").0, 1, "the other site is left alone");
    a_round_ends(&mut fake, &mut console, "hall-a");
    assert_eq!(pulling(&fake, "hall-a").len(), 1);
}

/// As of an agent that restarts the container runtime while other nodes of its site pull: its kubelet is heard, so the link bears what it bears.
#[test]
fn a_node_whose_kubelet_says_that_it_is_not_ready_halves_nothing() {
    let mut fake = two_sites();
    let mut console = warming(&mut fake);
    (0..2).for_each(|_| a_round_ends(&mut fake, &mut console, "hall-a"));
    let idle = does_not_pull(&fake);
    let before = said(&mut console, &fake, "hall-a");
    fake.kubelet_tells(&idle, Some("container runtime is down"));
    console.run_for(&mut fake, 2);
    fake.kubelet_tells(&idle, None);
    console.run_for(&mut fake, 2);
    assert_eq!((said(&mut console, &fake, "hall-a"), before.0), (before, 3));
    fake.kubelet_tells(&idle, Some("container runtime is down"));
    console.run_for(&mut fake, 2);
    fake.set_node_ready(&idle, false);
    console.run_for(&mut fake, 2);
    assert_eq!(said(&mut console, &fake, "hall-a"), (1, format!("halved: {idle} is not Ready")), "it fell silent");
}

#[test]
fn everybody_sees_it_and_the_next_driver_begins_anew() {
    let mut fake = two_sites();
    let mut console = warming(&mut fake);
    (0..2).for_each(|_| a_round_ends(&mut fake, &mut console, "hall-a"));
    console.run_for(&mut fake, 10);
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 1);
    assert_eq!(said(&mut next, &fake, "hall-a"), (3, "raised: 2 finished, 10 MB/s".to_owned()));
    let site = next.snapshot(&fake).prewarm.unwrap().sites.into_iter().find(|site| &*site.name == "hall-a");
    assert_eq!(site.unwrap().limit, Some(3), "what waits there waits for what the driver lets go");
    drop(console);
    fake.wait(20);
    next.run_for(&mut fake, 20);
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.run_for(&mut fake, 20);
    assert_eq!(said(&mut next, &fake, "hall-a"), (1, "begins with one".to_owned()));
    assert_eq!(fake.warm_nodes().len(), 7, "nothing is made until the three that pull are done");
}

#[test]
fn updates_keep_to_it_too() {
    let mut fake = two_sites();
    let mut console = FakeConsole::open(&fake, "ops");
    fake.slow = true;
    let auto = Tuning { pace: Some(Pace::Auto), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(auto)).unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.deleted.len(), 2, "one of each site, though ten may be down");
    let held = |snapshot: &Snapshot| {
        let holds = snapshot.nodes.iter().filter_map(|node| node.hold.clone());
        holds.filter(|hold| matches!(hold, Hold::SitePullLimit { used: 1, limit: 1, .. })).count()
    };
    assert_eq!(held(&console.snapshot(&fake)), 18);
}

#[test]
fn a_fixed_limit_is_told_as_it_is() {
    let mut fake = two_sites();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    assert!(console.snapshot(&fake).pace.is_empty());
    assert!(fake.lease.as_ref().unwrap().pace.is_empty());
}

#[test]
fn a_site_whose_registry_limits_pulls_is_halved() {
    let mut fake = two_sites();
    let mut console = warming(&mut fake);
    for _ in 0..3 {
        a_round_ends(&mut fake, &mut console, "hall-a");
    }
    let pace = |console: &mut FakeConsole, fake: &FakeCluster| {
        let paced = console.snapshot(fake).pace.iter().find(|paced| &*paced.site == "hall-a").cloned().unwrap();
        (paced.limit, paced.why.to_string())
    };
    assert_eq!(pace(&mut console, &fake).0, 3);
    let refused = pulling(&fake, "hall-a").remove(0);
    fake.warm_fails(&refused, "429 Too Many Requests - Server message: toomanyrequests");
    console.run_for(&mut fake, 1);
    let why = format!("halved: {refused} met the rate limit of its registry");
    assert_eq!(pace(&mut console, &fake), (1, why.clone()));
    console.run_for(&mut fake, 20);
    assert_eq!(pace(&mut console, &fake), (1, why), "once, and not with every look");
}

#[test]
fn that_the_pace_follows_the_links_is_said_before_it_begins() {
    let fake = two_sites();
    let mut console = FakeConsole::open(&fake, "ops");
    for (pace, said) in [(Pace::Fixed, false), (Pace::Auto, true)] {
        let limits = PrewarmLimits { pace, ..PrewarmLimits::default() };
        let source = PrewarmSource::Template;
        let start = PrewarmCommand::Start { source, nodes: PrewarmNodes::All, limits, method: PrewarmMethod::Pods };
        let lines = console.engine.preview(&Command::Prewarm(start), fake.now).unwrap().effects;
        let says = |line: &String| {
            line.ends_with("Each site begins with one, and gets as many as its link bears (pace auto).")
        };
        assert_eq!(lines.iter().any(says), said, "{lines:?}");
    }
}
