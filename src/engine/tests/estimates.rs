//! When a rollout and when pre-warming will be done, as far as what is done so far tells.

use std::time::Duration;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::config::Role;
use crate::engine::model::estimate::{EstimateBlocker, RolloutEstimate, TimeRange};
use crate::engine::model::event::Event;
use crate::engine::model::facts::{ClusterEvent, ContainerFact, ContainerState, ListedImage, NodeFact};
use crate::engine::model::node::NodeState;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource, PrewarmView};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Secs, Tuning};
use crate::engine::model::site::ZONE;
use crate::engine::model::template::ContainerRole;
use crate::engine::model::time::Timestamp;
use crate::engine::report::diagnosis::Diagnosis;

/// Thirty nodes, of which one may be down, and each has to be ready for twenty seconds.
fn rolling() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(30, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let soak = Tuning { soak_secs: Some(Secs(20)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(soak)).unwrap();
    console.set_image(&mut fake, "agent:v2");
    (fake, console)
}

fn estimate(console: &mut FakeConsole, fake: &FakeCluster) -> RolloutEstimate {
    console.snapshot(fake).estimate
}

fn between(range: TimeRange, least: u64, most: u64) {
    let ok = Duration::from_secs(least) <= range.least && range.most <= Duration::from_secs(most);
    assert!(ok && range.least <= range.most, "{range} is not within {least} to {most} s");
}

#[test]
fn nothing_is_told_before_three_nodes_are_done_and_then_the_step_and_the_rest() {
    let (mut fake, mut console) = rolling();
    console.partition(&mut fake, 20);
    let mut known_at = None;
    for _ in 0..110 {
        console.run_for(&mut fake, 1);
        let updated = console.snapshot(&fake).counts.updated;
        let known = matches!(estimate(&mut console, &fake), RolloutEstimate::Known { .. });
        assert!(!known || updated >= 3, "{updated} are done");
        known_at = known_at.or_else(|| known.then_some(updated));
    }
    assert_eq!(known_at, Some(3));
    let before = console.snapshot(&fake);
    let RolloutEstimate::Known { step: Some(step), rollout, of_selector: false, nodes, unmeasured_sites: 0 } =
        before.estimate
    else {
        panic!("{:?}", before.estimate)
    };
    assert_eq!(nodes, before.counts.updated);
    // A node takes 20 s, and a second or two to be made.
    let left = |total: u64| total - u64::from(before.counts.updated);
    between(step, left(10) * 20 - 25, left(10) * 26);
    between(rollout, left(30) * 20 - 60, left(30) * 26);
    // It comes true.
    let began = fake.now;
    while console.snapshot(&fake).counts.updated < 10 {
        console.run_for(&mut fake, 1);
    }
    let took = fake.now.since(began);
    // What takes minutes is told in minutes.
    let tolerance = Duration::from_secs(30);
    assert!(step.least <= took + tolerance && took <= step.most + tolerance, "{step}, and it took {took:?}");
}

/// The time in which the rollout will be done; nothing where it is not told.
fn in_all(console: &mut FakeConsole, fake: &FakeCluster) -> Option<TimeRange> {
    match estimate(console, fake) {
        RolloutEstimate::Known { rollout, .. } => Some(rollout),
        _ => None,
    }
}

/// A canary is done once the nodes of its selector are: the others do not go before it is lifted.
#[test]
fn nodes_that_the_selector_leaves_out_are_not_counted() {
    let (mut fake, mut console) = rolling();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 100);
    let all = in_all(&mut console, &fake).unwrap();
    for node in ["n1", "n2", "n3", "n4", "n5", "n6", "n7"] {
        let labels = [("zone", "press")].into_iter().collect();
        let node = NodeFact { labels, ..fake.nodes[node].clone() };
        fake.nodes.insert(node.name.clone(), node.clone());
        console.engine.observe(Event::Node(Box::new(node)), fake.now);
    }
    console.ask(&mut fake, Command::Select(Some("zone=press".parse().unwrap()))).unwrap();
    console.run_for(&mut fake, 1);
    let updated = console.snapshot(&fake).counts.updated;
    assert!((3..6).contains(&updated), "{updated}");
    let canary = in_all(&mut console, &fake).unwrap();
    between(canary, 1, u64::from(7 - updated) * 40);
    assert!(canary.most * 3 < all.least, "{canary}, and of all {all}");
    let said = estimate(&mut console, &fake).to_string();
    assert!(said.ends_with(&format!("all canaries in {canary}")), "they are not all nodes: {said}");
}

/// Nodes that kept the image from before are updated in no time, and tell nothing of those that have to pull it.
#[test]
fn nodes_that_had_the_image_are_no_measure_of_those_that_pull_it() {
    for all_lack_it in [false, true] {
        let (mut fake, mut console) = rolling();
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 100);
        assert!(in_all(&mut console, &fake).is_some());
        for pod in
            fake.pods.values().filter(|pod| pod.revision.as_deref() == Some("hash2")).cloned().collect::<Vec<_>>()
        {
            let event = ClusterEvent {
                object: pod.uid.clone(),
                node: pod.node.clone(),
                container: Some(pod.containers[0].name.clone()),
                reason: "Pulled".into(),
                message: "Container image \"agent:v2\" already present on machine".into(),
                at: fake.now,
                ..ClusterEvent::default()
            };
            console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
        }
        let old = |node: &&NodeFact| {
            let mut pods = fake.pods.values().filter(|pod| pod.node.as_ref() == Some(&node.name));
            pods.any(|pod| pod.revision.as_deref() == Some("hash1"))
        };
        let waiting: Vec<_> = fake.nodes.values().filter(old).cloned().collect();
        for node in waiting.into_iter().take(if all_lack_it { usize::MAX } else { 5 }) {
            let images = [ListedImage { name: "docker.io/library/agent:v1".into(), bytes: 400_000_000 }].into();
            let node = NodeFact { images, lists_all_images: true, ..node };
            console.engine.observe(Event::Node(Box::new(node)), fake.now);
        }
        assert_eq!(in_all(&mut console, &fake).is_none(), all_lack_it);
    }
}

/// The times of starts are those of pods that this rollout made and that are ready for the first time.
#[test]
fn starts_are_measured_from_the_last_container_until_the_pod_is_ready_for_the_first_time() {
    let (mut fake, mut console) = rolling();
    console.partition(&mut fake, 0);
    let done = |console: &mut FakeConsole, fake: &FakeCluster| console.snapshot(fake).counts.updated;
    while done(&mut console, &fake) < 5 {
        console.run_for(&mut fake, 1);
    }
    let updated: Vec<String> = {
        let nodes = console.snapshot(&fake).nodes;
        nodes.iter().filter(|node| node.state == NodeState::Updated).map(|node| node.name.to_string()).collect()
    };
    assert_eq!(updated.len(), 5);
    // They started 2, 3, 4, 5 and 6 s before they were ready.
    for (took, node) in (2..).zip(&updated) {
        fake.change_pod(node, |pod| {
            let ready = pod.ready_since.unwrap();
            pod.containers[0].state = ContainerState::Running { since: Some(ready - Duration::from_secs(took)) };
        });
    }
    let start = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.hear(fake);
        let times = console.snapshot(fake).times;
        assert_eq!(times.pull, None, "nothing was pulled that anybody told of");
        times.start.map(|start| (start.p50.as_secs(), start.p95.as_secs(), start.nodes))
    };
    assert_eq!(start(&mut console, &fake), Some((4, 6, 5)));
    // A sidecar started before the others. Once it was restarted, the pod was ready for the first time at another instant.
    let sidecar = |restarts: u32, since: Timestamp| ContainerFact {
        name: "proxy".into(),
        role: ContainerRole::Sidecar,
        restarts,
        ..ContainerFact::in_state(ContainerState::Running { since: Some(since) })
    };
    fake.change_pod(&updated[0], |pod| {
        pod.containers.insert(0, sidecar(0, pod.ready_since.unwrap() - Duration::from_secs(60)));
    });
    assert_eq!(start(&mut console, &fake), Some((4, 6, 5)));
    fake.change_pod(&updated[0], |pod| pod.containers[0].restarts = 1);
    assert_eq!(start(&mut console, &fake), Some((4, 6, 4)));
    fake.change_pod(&updated[0], |pod| drop(pod.containers.remove(0)));
    // One restarts: its start was another one. One loses its readiness and comes back: it did not start for so long.
    fake.change_pod(&updated[4], |pod| pod.containers[0].restarts = 1);
    assert_eq!(start(&mut console, &fake), Some((3, 5, 4)));
    fake.set_ready(&updated[3], false);
    console.run_for(&mut fake, 100);
    fake.set_ready(&updated[3], true);
    let later = start(&mut console, &fake).unwrap();
    assert!(later.1 <= 4, "{later:?}");
}

#[test]
fn what_does_not_move_says_why_there_is_no_estimate() {
    let (mut fake, mut console) = rolling();
    console.partition(&mut fake, 26);
    console.run_for(&mut fake, 120);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.estimate, RolloutEstimate::Blocked { by: EstimateBlocker::Held }, "{:?}", snapshot.counts);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 10);
    let said = estimate(&mut console, &fake);
    let RolloutEstimate::Known { step: None, .. } = said else { panic!("the step is all that is left: {said:?}") };
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.run_for(&mut fake, 60);
    let said = estimate(&mut console, &fake);
    assert_eq!(said, RolloutEstimate::Blocked { by: EstimateBlocker::Paused });
    assert_eq!(said.to_string(), "no estimate while it is paused");
}

/// Whoever looks once, as `status` does, cannot tell whether the driver is alive. One that was silent for longer than its lease lasts is
/// no reason for an estimate.
#[test]
fn from_a_driver_that_is_silent_nothing_is_estimated() {
    let (mut fake, mut console) = rolling();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 200);
    for (silent_for, known) in [(5, true), (30, false)] {
        fake.wait(silent_for);
        fake.kubelets();
        fake.nodes.values_mut().for_each(|node| node.clock_skew_millis = Some(0));
        let mut looks = FakeConsole::open_as(&fake, "eve", Role::OneShot);
        let found = Diagnosis::of(&looks.snapshot(&fake)).findings;
        let is_told = found.iter().any(|finding| finding.title.ends_with("if it has ended, nothing more is started"));
        assert_eq!(is_told, !known, "{found:?}");
        let said = estimate(&mut looks, &fake);
        // Nobody has seen whether its driver is gone.
        let unseen = RolloutEstimate::Blocked { by: EstimateBlocker::DriverUnseen };
        assert_eq!((matches!(said, RolloutEstimate::Known { .. }), said == unseen), (known, !known), "{said:?}");
    }
}

#[test]
fn a_hold_between_nodes_does_not_make_them_slower() {
    let (mut fake, mut console) = rolling();
    for keep in [29, 28, 27, 26] {
        console.partition(&mut fake, keep);
        console.run_for(&mut fake, 600);
    }
    console.partition(&mut fake, 16);
    console.run_for(&mut fake, 1);
    let said = estimate(&mut console, &fake);
    let RolloutEstimate::Known { step: Some(step), .. } = said else { panic!("{said:?}") };
    // Ten nodes of about twenty seconds.
    between(step, 180, 260);
}

/// Nothing tells how long nodes of a site take of which none is done. Of a site that has hardly any of them that makes no difference.
#[test]
fn what_is_left_in_sites_that_nobody_has_measured_is_said() {
    let (mut fake, mut console) = rolling();
    for (nth, site) in (1..=30).map(|nth| {
        (
            nth,
            if nth <= 15 {
                "hall-a"
            } else if nth < 30 {
                "hall-b"
            } else {
                "gate"
            },
        )
    }) {
        fake.change_node(&format!("n{nth}"), |node| node.labels = [(ZONE, site.to_owned())].into_iter().collect());
    }
    console.partition(&mut fake, 0);
    let mut said = Vec::new();
    while console.snapshot(&fake).counts.updated < 18 {
        console.run_for(&mut fake, 5);
        if let RolloutEstimate::Known { unmeasured_sites, .. } = estimate(&mut console, &fake) {
            said.push(unmeasured_sites);
        }
    }
    said.dedup();
    assert_eq!(said, [1, 0], "hall-b, until one of its nodes is done");
    let said = estimate(&mut console, &fake).to_string();
    assert!(said.starts_with("all in ~") && said.ends_with('m'), "{said}");
}

/// Twelve nodes in two halls, two of each may pull; twice, those that pull have pulled for a minute.
fn warming(bytes: bool) -> (FakeCluster, FakeConsole) {
    warming_where(bytes, |_| true)
}

/// The same, and only on such nodes pulls end.
fn warming_where(bytes: bool, ends: impl Fn(&str) -> bool) -> (FakeCluster, FakeConsole) {
    warming_within(4, bytes, ends)
}

/// The same, and at most so many pull at once.
fn warming_within(most: u32, bytes: bool, ends: impl Fn(&str) -> bool) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(12, 1);
    for (nth, node) in fake.nodes.values_mut().enumerate() {
        node.labels = [(ZONE, if nth < 6 { "hall-a" } else { "hall-b" })].into_iter().collect();
    }
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    let limits = PrewarmLimits {
        max_pulling: Limit::At(IntOrPercent::Int(most)),
        max_pulling_per_site: Limit::At(IntOrPercent::Int(2)),
        ..PrewarmLimits::default()
    };
    let start = PrewarmCommand::Start {
        source: PrewarmSource::Images(images),
        nodes: PrewarmNodes::All,
        limits,
        method: PrewarmMethod::Pods,
    };
    console.ask(&mut fake, Command::Prewarm(start)).unwrap();
    console.run_for(&mut fake, 1);
    for _ in 0..2 {
        let pulling = fake.warm_nodes();
        pulling.iter().for_each(|node| begins(&fake, &mut console, node));
        console.run_for(&mut fake, 60);
        for node in pulling.iter().filter(|node| ends(node)) {
            has_pulled(&mut fake, &mut console, node, bytes);
        }
        console.run_for(&mut fake, 1);
    }
    (fake, console)
}

/// What the kubelet of a node says of its pull.
fn says(fake: &FakeCluster, console: &mut FakeConsole, node: &str, version: u64, reason: &str, message: &str) {
    let pod = &fake.warm.values().find(|warm| warm.pod.node.as_deref() == Some(node)).unwrap().pod;
    let event = ClusterEvent {
        version: Some(version),
        object: pod.uid.clone(),
        node: Some(node.into()),
        container: Some(pod.containers[0].name.clone()),
        reason: reason.into(),
        message: message.into(),
        at: fake.now,
        first_at: None,
        count: 1,
        ..ClusterEvent::default()
    };
    console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
}

fn begins(fake: &FakeCluster, console: &mut FakeConsole, node: &str) {
    says(fake, console, node, 10, "Pulling", "Pulling image \"agent:v2\"");
}

/// The kubelet of a node has pulled the image within a minute.
fn has_pulled(fake: &mut FakeCluster, console: &mut FakeConsole, node: &str, bytes: bool) {
    has_pulled_in(fake, console, node, bytes, "1m0s");
}

fn has_pulled_in(fake: &mut FakeCluster, console: &mut FakeConsole, node: &str, bytes: bool, took: &str) {
    let size = if bytes { ". Image size: 600000000 bytes." } else { "" };
    let pulled = format!("Successfully pulled image \"agent:v2\" in {took} ({took} including waiting){size}");
    begins(fake, console, node);
    says(fake, console, node, 11, "Pulled", &pulled);
    fake.warm_arrives(node);
}

fn view(console: &mut FakeConsole, fake: &FakeCluster) -> PrewarmView {
    console.snapshot(fake).prewarm.unwrap()
}

#[test]
fn each_site_tells_how_fast_images_come_and_how_long_it_takes() {
    let (mut fake, mut console) = warming(true);
    let said = view(&mut console, &fake);
    assert_eq!((said.counts.present, said.counts.pulling), (8, 4), "{said}");
    let sites: Vec<_> = said.sites.iter().map(|site| (site.throughput, site.estimate.unwrap().to_string())).collect();
    // Two pulls of 10 MB a second each, and each site has two left, at once.
    assert_eq!(sites, [(Some(20_000_000), "~60s".to_owned()), (Some(20_000_000), "~60s".to_owned())]);
    assert_eq!((said.throughput, said.estimate.unwrap().to_string()), (Some(40_000_000), "~60s".to_owned()));
    console.ask(&mut fake, Command::Prewarm(PrewarmCommand::Cancel)).unwrap();
    if let Some(said) = console.snapshot(&fake).prewarm {
        assert_eq!(said.estimate, None);
    }
}

/// They took no node down, and the rollout makes none of them.
#[test]
fn the_times_of_a_rollout_leave_out_the_pulls_of_pods_for_pre_warming() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 5);
    let limits = PrewarmLimits { max_pulling: Limit::At(IntOrPercent::Int(6)), ..PrewarmLimits::default() };
    let start = PrewarmCommand::Start {
        source: PrewarmSource::Template,
        nodes: PrewarmNodes::All,
        limits,
        method: PrewarmMethod::Pods,
    };
    console.ask(&mut fake, Command::Prewarm(start)).unwrap();
    console.run_for(&mut fake, 1);
    for node in fake.warm_nodes() {
        has_pulled(&mut fake, &mut console, &node, true);
    }
    let snapshot = console.snapshot(&fake);
    let peers = snapshot.pulls.images[0].fleet.map(|usual| usual.peers);
    assert_eq!((peers, snapshot.times.pull), (Some(6), None), "they tell how long a pull may take");
}

/// Fewer may pull at once than there are sites: each site has its turn now and then only.
#[test]
fn sites_that_share_one_pull_take_as_long_as_all_of_them_together() {
    let (mut fake, mut console) = warming_within(1, true, |_| true);
    for _ in 0..2 {
        for node in fake.warm_nodes() {
            has_pulled(&mut fake, &mut console, &node, true);
        }
        console.run_for(&mut fake, 1);
    }
    let said = view(&mut console, &fake);
    let left = u64::from(said.counts.nodes - said.counts.present);
    let estimate = said.estimate.unwrap();
    assert!(
        left >= 6 && estimate.most >= Duration::from_secs((left - 1) * 60 - 60),
        "{estimate} for {left} nodes, a minute each"
    );
}

/// The sites go one after the other: the first is done as soon as all slots together let it, and the second, which is three times as slow, after it.
#[test]
fn a_site_whose_turn_it_is_has_all_the_slots_and_the_next_one_begins_after_it() {
    let (mut fake, mut console) = warming_within(2, true, |_| true);
    for nth in 1..=12 {
        let site = if nth <= 6 { "hall-a" } else { "hall-b" };
        fake.change_node(&format!("n{nth}"), |node| node.labels = [(ZONE, site)].into_iter().collect());
    }
    console.run_for(&mut fake, 1);
    let said = |console: &mut FakeConsole, fake: &FakeCluster| {
        let said = view(console, fake);
        let words = |range: Option<TimeRange>| range.map(|range| range.to_string()).unwrap_or_default();
        (said.sites.iter().map(|site| words(site.estimate)).collect::<Vec<_>>(), words(said.estimate))
    };
    assert_eq!(view(&mut console, &fake).sites[0].counts.present, 4);
    assert_eq!(said(&mut console, &fake), (vec!["~60s".to_owned(), String::new()], String::new()));
    let pull = |fake: &mut FakeCluster, console: &mut FakeConsole, minutes: u64| {
        let pulling = fake.warm_nodes();
        pulling.iter().for_each(|node| begins(fake, console, node));
        console.run_for(fake, minutes * 60);
        pulling.iter().for_each(|node| has_pulled_in(fake, console, node, true, &format!("{minutes}m0s")));
        console.run_for(fake, 1);
    };
    pull(&mut fake, &mut console, 1);
    assert_eq!(
        said(&mut console, &fake),
        (vec![String::new(); 2], String::new()),
        "nothing of the slow one is seen yet"
    );
    pull(&mut fake, &mut console, 3);
    assert_eq!(said(&mut console, &fake), (vec![String::new(), "~6m".to_owned()], "~6m".to_owned()));
}

/// A site with hardly any of the nodes is counted like the others until it is measured; of it alone nothing is told.
#[test]
fn a_small_site_that_is_not_measured_hides_no_estimate_of_all() {
    let (mut fake, mut console) = warming_within(2, true, |_| true);
    for nth in 1..=12 {
        let site = if nth == 12 { "gate" } else { "hall" };
        fake.change_node(&format!("n{nth}"), |node| node.labels = [(ZONE, site)].into_iter().collect());
    }
    console.run_for(&mut fake, 1);
    let said = view(&mut console, &fake);
    let site = |name: &str| said.sites.iter().find(|site| &*site.name == name).unwrap();
    assert_eq!((site("gate").counts.present, site("gate").estimate), (0, None), "{said:?}");
    assert_eq!(said.estimate.is_some(), site("gate").counts.waiting * 10 < said.counts.waiting, "{said:?}");
}

#[test]
fn of_a_link_that_is_thinner_than_the_others_nothing_is_told_before_it_has_brought_an_image() {
    let (mut fake, mut console) = warming_where(true, |node| ["n1", "n2", "n3", "n10", "n11", "n12"].contains(&node));
    let said = view(&mut console, &fake);
    // Nobody knows yet whether hall b is slower.
    let sites: Vec<_> = said.sites.iter().map(|site| (site.throughput, site.estimate.is_some())).collect();
    assert_eq!(sites, [(Some(20_000_000), true), (None, false)]);
    assert_eq!((said.throughput, said.estimate), (None, None), "{said:?}");
    console.run_for(&mut fake, 150);
    let said = view(&mut console, &fake);
    assert_eq!((said.sites[1].estimate, said.estimate), (None, None), "{said:?}");
}

#[test]
fn kubelets_that_do_not_tell_sizes_leave_the_throughput_unknown() {
    let (fake, mut console) = warming(false);
    let said = view(&mut console, &fake);
    assert_eq!((said.throughput, said.sites[0].throughput), (None, None));
    assert!(said.estimate.is_some(), "how long a pull takes they do tell");
}

#[test]
fn before_anything_was_pulled_nothing_is_told() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    let start = PrewarmCommand::Start {
        source: PrewarmSource::Template,
        nodes: PrewarmNodes::All,
        limits: PrewarmLimits::default(),
        method: PrewarmMethod::Pods,
    };
    console.ask(&mut fake, Command::Prewarm(start)).unwrap();
    let said = view(&mut console, &fake);
    assert_eq!((said.throughput, said.estimate), (None, None));
}

/// Some pods are not ready for minutes, long after they were updated. That says nothing of how long an update takes.
#[test]
fn readiness_that_is_lost_later_is_no_part_of_how_long_an_update_takes() {
    let (mut fake, mut console) = rolling();
    console.partition(&mut fake, 20);
    while console.snapshot(&fake).counts.updated < 8 {
        console.run_for(&mut fake, 1);
    }
    let lost: Vec<_> = fake.deleted[..4].to_vec();
    lost.iter().for_each(|node| fake.set_ready(node, false));
    console.run_for(&mut fake, 300);
    lost.iter().for_each(|node| fake.set_ready(node, true));
    console.run_for(&mut fake, 25);
    let snapshot = console.snapshot(&fake);
    let RolloutEstimate::Known { rollout, nodes, .. } = snapshot.estimate else { panic!("{:?}", snapshot.estimate) };
    assert!(nodes + 4 <= snapshot.counts.updated, "{nodes} of {}", snapshot.counts.updated);
    let left = 30 - u64::from(snapshot.counts.updated);
    assert!(rollout.most <= Duration::from_secs(left * 30 + 60), "{rollout} for {left}");
}

/// Where nobody drives, no further node begins to pull: how long it takes nobody knows. Whoever looks once sees only that the driver
/// should have renewed its lease.
#[test]
fn from_a_driver_that_is_silent_no_pre_warming_is_estimated() {
    let (mut fake, console) = warming_within(2, true, |_| true);
    drop(console);
    for (silent_for, known) in [(5, true), (30, false)] {
        fake.wait(silent_for);
        fake.nodes.values_mut().for_each(|node| node.clock_skew_millis = Some(0));
        let mut looks = FakeConsole::open_as(&fake, "eve", Role::OneShot);
        looks.run(&mut fake);
        let arrived: Vec<_> = fake.warm.values().filter(|warm| warm.pod.containers[0].image_present).collect();
        let arrived: Vec<String> = arrived.iter().map(|warm| warm.pod.node.as_ref().unwrap().to_string()).collect();
        assert!(arrived.len() >= 3, "{arrived:?}");
        for node in arrived {
            let pulled = "Successfully pulled image \"agent:v2\" in 1m0s (1m0s including waiting)";
            begins(&fake, &mut looks, &node);
            says(&fake, &mut looks, &node, 11, "Pulled", pulled);
        }
        let said = view(&mut looks, &fake);
        assert!(said.counts.waiting > 0, "{said}");
        assert_eq!(said.estimate.is_some(), known, "{silent_for} s: {said:?}");
        let waits = looks.snapshot(&fake).prewarming_waits();
        assert_eq!(waits.is_none(), known, "{waits:?}");
    }
}
