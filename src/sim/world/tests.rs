//! Whole clusters in virtual time: how they begin, fail, recover and replay. Helpers of other tests of clusters are here too.

mod misfortune;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::misfortune::{drawn_as, misfortune};
use super::object::{Body, Owner, Pod, PodStatus};
use super::scenario::{ClusterFault, ControllerVariant, FleetFault, PullQuota, built_in};
use super::*;
use crate::engine::model::facts::{DaemonSetCounters, StrategyKind};
use crate::engine::model::template::Template;

pub(super) const BY: WriteOptions<'static> = WriteOptions::named("test");
pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const AGENT: (Kind, &str, &str) = (Kind::DaemonSet, "edge", "agent");

pub(super) fn small() -> World {
    World::new(&built_in("small").unwrap(), 1)
}

pub(super) fn image(version: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("agent".to_owned(), format!("registry.example/agent:{version}"))])
}

pub(super) fn set_image(world: &mut World, version: &str) {
    let fault = ClusterFault::SetImages { daemon_set: "edge/agent".into(), images: image(version) };
    world.inject(&fault.into());
}

pub(super) fn set_strategy(world: &mut World, kind: StrategyKind) {
    let fault = ClusterFault::SetStrategy { daemon_set: "edge/agent".into(), kind, max_unavailable: None };
    world.inject(&fault.into());
}

pub(super) fn counters(world: &World) -> DaemonSetCounters {
    world.store().find(AGENT.0, AGENT.1, AGENT.2).unwrap().daemon_set().unwrap().status.counters
}

/// The hash and the uid of each node's pod, without terminating pods.
pub(super) fn pods(world: &World) -> BTreeMap<Str, (Str, Str)> {
    let live = |pods: Vec<Arc<Object>>| pods.into_iter().find(|pod| !pod.meta.is_deleting());
    let of = |pod: Arc<Object>| (pod.meta.revision_hash().unwrap().clone(), pod.meta.uid.clone());
    world.pods_of("edge", "agent").into_iter().filter_map(|(node, pods)| Some((node, of(live(pods)?)))).collect()
}

pub(super) fn revisions(world: &World) -> Vec<(i64, Str)> {
    let mut all: Vec<_> = world
        .store()
        .list(Kind::ControllerRevision)
        .map(|object| (object.revision().unwrap().number, object.meta.name.clone()))
        .collect();
    all.sort();
    all
}

pub(super) fn run(world: &mut World, minutes: u32) {
    world.advance_by(MINUTE * minutes);
}

/// Lets time pass, and returns the greatest number of nodes that did not serve at one instant.
pub(super) fn worst(world: &mut World, span: Duration) -> usize {
    let mut worst = 0;
    let nodes = world.store().count(Kind::Node);
    world.advance_until(span, |world| {
        worst = worst.max(nodes - world.serving("edge", "agent"));
        false
    });
    worst
}

#[test]
fn a_scenario_begins_with_everything_running() {
    let world = small();
    assert_eq!(world.serving("edge", "agent"), 20);
    let set = world.store().find(AGENT.0, AGENT.1, AGENT.2).unwrap();
    let want = DaemonSetCounters { desired: 20, current: 20, ready: 20, updated: 20, available: 20, misscheduled: 0 };
    assert_eq!(counters(&world), want);
    assert_eq!(set.daemon_set().unwrap().status.observed_generation, set.meta.generation);
    for node in world.store().list(Kind::Node) {
        let fact = node.node_fact().unwrap();
        assert!(fact.ready == ConditionStatus::True && fact.taints.is_empty(), "{fact:?}");
        assert!(fact.images.iter().any(|image| &*image.name == "registry.example/agent:v1"), "{fact:?}");
    }
    let fact = world.pods_of("edge", "agent").into_values().next().unwrap()[0].pod_fact().unwrap();
    assert!(fact.ready && fact.containers[0].image_present, "{fact:?}");
}

#[test]
fn a_history_is_there_to_go_back_to() {
    let world = World::new(&built_in("factory").unwrap(), 1);
    let numbers: Vec<i64> = revisions(&world)
        .into_iter()
        .filter(|(_, name)| name.starts_with("agent-"))
        .map(|(number, _)| number)
        .collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(world.serving("factory", "agent"), 120);
}

#[test]
fn a_finalizer_keeps_a_pod_that_has_ended() {
    let mut world = small();
    let (node, daemon_set) = (Str::from("node-a-01"), Str::from("edge/agent"));
    let finalizer = Str::from("example.com/hold");
    let there =
        |world: &World| world.pods_of("edge", "agent")[&node].iter().map(|pod| pod.pod_fact().unwrap()).collect();
    let add =
        ClusterFault::AddFinalizer { daemon_set: daemon_set.clone(), node: node.clone(), finalizer: finalizer.clone() };
    world.inject(&add.into());
    let before: Vec<crate::engine::model::facts::PodFact> = there(&world);
    assert!(before[0].finalizers.is_empty(), "they are of note once it is to go");
    world.inject(&ClusterFault::DeletePods { daemon_set: daemon_set.clone(), node: node.clone() }.into());
    run(&mut world, 2);
    let kept: Vec<crate::engine::model::facts::PodFact> = there(&world);
    assert_eq!((kept.len(), &kept[0].uid, kept[0].deletion_grace_secs), (1, &before[0].uid, Some(0)));
    assert_eq!(*kept[0].finalizers, *std::slice::from_ref(&finalizer));
    world.inject(&ClusterFault::RemoveFinalizer { daemon_set, node: node.clone(), finalizer }.into());
    run(&mut world, 1);
    let after: Vec<crate::engine::model::facts::PodFact> = there(&world);
    assert!(after[0].uid != before[0].uid && after[0].ready && after[0].bound);
}

#[test]
fn a_node_that_loses_power_restarts_its_containers() {
    let mut world = small();
    let node: Str = "node-a-02".into();
    let before = pods(&world);
    world.inject(&FleetFault::PowerOff(node.clone()).into());
    run(&mut world, 3);
    assert_eq!(world.serving("edge", "agent"), 19);
    world.inject(&FleetFault::PowerOn(node.clone()).into());
    run(&mut world, 2);
    assert_eq!((world.serving("edge", "agent"), pods(&world)), (20, before), "the same pod");
    let fact = world.pods_of("edge", "agent")[&node][0].pod_fact().unwrap();
    assert_eq!(fact.containers[0].restarts, 1);
}

#[test]
fn power_and_network_may_come_and_go_in_any_order() {
    let mut world = small();
    let node: Str = "node-a-02".into();
    let ready = |world: &World| world.store().find(Kind::Node, "", &node).unwrap().node_fact().unwrap().ready;
    // The network comes back while the node boots.
    for fault in [FleetFault::Cut(node.clone()), FleetFault::PowerOff(node.clone())] {
        world.inject(&fault.into());
    }
    run(&mut world, 3);
    world.inject(&FleetFault::PowerOn(node.clone()).into());
    world.advance_by(Duration::from_secs(5));
    world.inject(&FleetFault::Restore(node.clone()).into());
    run(&mut world, 2);
    assert_eq!((ready(&world), world.serving("edge", "agent")), (ConditionStatus::True, 20));
    // The node loses power again while it boots.
    world.inject(&FleetFault::PowerOff(node.clone()).into());
    run(&mut world, 2);
    world.inject(&FleetFault::PowerOn(node.clone()).into());
    world.advance_by(Duration::from_secs(5));
    world.inject(&FleetFault::PowerOff(node.clone()).into());
    run(&mut world, 5);
    assert_eq!((ready(&world), world.serving("edge", "agent")), (ConditionStatus::Unknown, 19));
}

#[test]
fn a_machine_that_is_replaced_takes_over_the_pods_of_its_name() {
    let mut world = small();
    let node: Str = "node-a-02".into();
    let before = pods(&world);
    world.inject(&FleetFault::Leave(node.clone()).into());
    run(&mut world, 2);
    assert_eq!(world.serving("edge", "agent"), 19);
    let spec = scenario::NodeSpec { name: node, site: "a".into(), ..Default::default() };
    world.join(&NodeSetup { spec, images: Vec::new() });
    run(&mut world, 1);
    assert_eq!((world.serving("edge", "agent"), pods(&world)), (20, before));
}

#[test]
fn a_full_disk_refuses_pods_until_there_is_room() {
    let mut world = small();
    let began = world.store().revision();
    let node: Str = "node-a-02".into();
    world.inject(&FleetFault::DiskFull(node.clone()).into());
    world.inject(&FleetFault::EvictAll(node.clone()).into());
    run(&mut world, 2);
    let made = world.store().changes_since(Kind::Pod, began).unwrap();
    let made = made.filter(|change| change.kind == store::ChangeKind::Added).count();
    assert!((4..12).contains(&made), "the controller tries again and again, at longer and longer intervals: {made}");
    assert_eq!(world.serving("edge", "agent"), 19);
    world.inject(&FleetFault::DiskFree(node).into());
    run(&mut world, 4);
    assert_eq!(world.serving("edge", "agent"), 20);
}

#[test]
fn a_crashing_image_restarts_at_longer_and_longer_intervals() {
    let mut world = small();
    set_image(&mut world, "crash");
    let restarts = |world: &World| -> u32 {
        let facts = world.pods_of("edge", "agent").into_values().flatten().map(|pod| pod.pod_fact().unwrap());
        facts.map(|fact| fact.containers.first().map_or(0, |container| container.restarts)).max().unwrap()
    };
    run(&mut world, 1);
    let after_one = restarts(&world);
    assert!((2..=4).contains(&after_one), "{after_one}");
    run(&mut world, 9);
    assert!((5..=9).contains(&restarts(&world)), "{}", restarts(&world));
    let last_end =
        |fact: crate::engine::model::facts::PodFact| fact.containers.first().and_then(|one| one.last_end.clone());
    let ends: Vec<_> = world
        .pods_of("edge", "agent")
        .into_values()
        .flatten()
        .filter_map(|pod| last_end(pod.pod_fact().unwrap()))
        .collect();
    assert!(!ends.is_empty() && ends.iter().all(|end| &**end == "Error"), "{ends:?}");
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let run_with = |seed: u64| {
        let mut world = World::new(&built_in("cascade").unwrap(), seed);
        world.inject(&ClusterFault::SetImages { daemon_set: "edge/agent".into(), images: image("v2") }.into());
        run(&mut world, 15);
        (world.digest(), world.store().revision())
    };
    assert_eq!(run_with(7), run_with(7));
    assert_ne!(run_with(7).0, run_with(8).0);
}

#[test]
fn how_time_is_cut_makes_no_difference() {
    let mut in_one = small();
    let mut in_many = small();
    for world in [&mut in_one, &mut in_many] {
        set_image(world, "v2");
    }
    run(&mut in_one, 2);
    for _ in 0..1200 {
        in_many.advance_by(Duration::from_millis(100));
    }
    assert_eq!(in_one.digest(), in_many.digest());
}

/// After any faults of machines, network, disks and objects are over, everything runs again.
#[test]
fn every_world_recovers() {
    for seed in 0..18 {
        let variants = [ControllerVariant::V1_20, ControllerVariant::V1_21Bug, ControllerVariant::Current];
        let scenario = built_in("small").unwrap().with_controller(variants[seed as usize % 3]);
        let mut world = World::new(&scenario, seed);
        let mut rng = fastrand::Rng::with_seed(seed);
        let nodes: Vec<Str> = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        let (mut faults, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..40 {
            let fault = misfortune(nodes[rng.usize(..nodes.len())].clone(), &mut rng);
            faults.push(format!("{:?} {fault:?}", world.now()));
            world.inject(&fault);
            ends.extend(drawn_as(&fault).and_then(|drawn| drawn.ended_by));
            world.advance_by(Duration::from_millis(rng.u64(0..40_000)));
        }
        for end in &ends {
            world.inject(end);
        }
        run(&mut world, 30);
        let counters = counters(&world);
        let well = world.serving("edge", "agent") == 20 && counters.updated == 20 && counters.available == 20;
        assert!(well, "seed {seed}: {counters:?}\n{}", faults.join("\n"));
        for node in world.store().list(Kind::Node) {
            let fact = node.node_fact().unwrap();
            assert!(fact.ready == ConditionStatus::True && fact.taints.is_empty(), "seed {seed}: {fact:?}");
        }
    }
}

/// A pod that a client created itself, as for pulling an image beforehand: bound from the beginning, and without a controller.
fn bound_pod(world: &World, name: &str, node: &str, spec: &Value) -> Object {
    let set = world.store().find(AGENT.0, AGENT.1, AGENT.2).unwrap();
    let template = Template::from_json(json!({"metadata": {"labels": {"app": "other"}}, "spec": spec}));
    let pod = Pod { template, node: Some(node.into()), ..Pod::default() };
    let mut object = Object::new("edge", name, Body::Pod(pod));
    object.meta.set_label("app", Some("other"));
    object.meta.owners = [Owner { controller: false, block_owner_deletion: false, ..set.as_controller() }].into();
    object
}

fn status(world: &World, name: &str) -> PodStatus {
    world.store().find(Kind::Pod, "edge", name).unwrap().pod().unwrap().status.clone()
}

#[test]
fn a_pod_without_a_controller_runs_where_it_is_bound() {
    const V2: &str = "registry.example/agent:v2";
    let spec = json!({"containers": [{"name": "pull", "image": V2}]});
    let (mut world, node) = (small(), "node-a-02");
    let before = pods(&world);
    // Neither a cordon nor a NoSchedule taint keeps away a pod that no scheduler places.
    world.inject(&ClusterFault::Cordon(node.into()).into());
    world.create(bound_pod(&world, "pull-1", node, &spec), BY).unwrap();
    run(&mut world, 2);
    let pulled = status(&world, "pull-1");
    assert_eq!(Condition::status(&pulled.conditions, conditions::READY), ConditionStatus::True);
    assert!(pulled.containers[0].image_id.is_some() && world.fleet().has_image(node, V2));
    assert!(!world.fleet().has_image("node-a-01", V2), "the others have not");
    let fact = world.store().find(Kind::Node, "", node).unwrap().node_fact().unwrap();
    assert!(fact.images.iter().any(|image| *image.name == *V2), "its node reports it: {:?}", fact.images);
    assert_eq!((pods(&world), counters(&world).desired), (before, 20), "it is neither adopted nor counted");

    world.delete((Kind::Pod, "edge", "pull-1"), &DeleteOptions::default(), BY).unwrap();
    run(&mut world, 2);
    assert!(world.store().get(Kind::Pod, "edge", "pull-1").is_none());
    assert!(world.fleet().has_image(node, V2), "its image stays");

    // The pod is deleted with the DaemonSet that owns it, although the DaemonSet is not its controller.
    world.create(bound_pod(&world, "pull-2", node, &spec), BY).unwrap();
    run(&mut world, 1);
    world.delete(AGENT, &DeleteOptions::default(), BY).unwrap();
    run(&mut world, 2);
    assert_eq!(world.store().count(Kind::Pod), 0);
}

#[test]
fn a_pod_on_a_node_that_is_not_there_is_collected() {
    let mut world = small();
    let spec = json!({"containers": [{"name": "pull", "image": "registry.example/agent:v2"}]});
    world.create(bound_pod(&world, "pull-1", "node-x-99", &spec), BY).unwrap();
    run(&mut world, 3);
    assert!(world.store().get(Kind::Pod, "edge", "pull-1").is_none());
}

/// An operator who practises on this scenario sees the registry refuse pulls, and all of them served in the end.
#[test]
fn the_registry_of_the_built_in_scenario_refuses_pulls_and_serves_them_later() {
    let mut world = World::new(&built_in("registry").unwrap(), 1);
    run(&mut world, 5);
    set_image(&mut world, "v2");
    let mut refused = 0;
    for _ in 0..180 {
        world.advance_by(Duration::from_secs(10));
        let pods = world.store().list_in(Kind::Pod, "edge").filter_map(|pod| pod.pod_fact());
        refused =
            refused.max(pods.filter(|pod| format!("{:?}", pod.containers).contains("429 Too Many Requests")).count());
    }
    assert!(refused > 0, "no pull was refused");
    let DaemonSetCounters { desired, updated, ready, .. } = counters(&world);
    assert_eq!((desired, updated, ready), (24, 24, 24));
}
