//! The attack gets its facts from `Object::…_fact`, the product from the cluster adapter. Both must give the same facts of the same object: if only
//! one of them read a field, the attack would test a field that the product does not know, or the other way round.

// The dice of the world's own tests draw its faults.
#[path = "../../../src/sim/world/tests/misfortune.rs"]
mod misfortune;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rolldeck::cluster::{Cluster, ClusterTarget};
use rolldeck::engine::model::Str;
use rolldeck::engine::model::event::{Event, Watched};
use rolldeck::engine::model::facts::{DaemonSetFact, NodeFact, StrategyKind};
use rolldeck::engine::model::image::repository_of;
use rolldeck::engine::model::record::{RECORD, Record};
use rolldeck::sim::api::{ApiOptions, serve};
use rolldeck::sim::world::World;
use rolldeck::sim::world::kind::Kind;
use rolldeck::sim::world::object::Object;
use rolldeck::sim::world::scenario::built_in;
use rolldeck::sim::world::scenario::{ClusterFault, Fault, FleetFault, PullQuota};
use serde_json::json;
use tokio::sync::mpsc;

use self::misfortune::misfortune;
use super::support::Api;

/// The facts that each side gives of each object, by kind and name. Where kinds cannot be compared in whole, the values are cut to the fields that
/// both sides read.
type Facts = BTreeMap<(Watched, String), String>;

/// The adapter keeps only those of a node's images that are in the DaemonSet's repositories.
fn of_node(mut node: NodeFact, wanted: &BTreeSet<String>) -> String {
    let mut images: Vec<_> =
        node.images.iter().filter(|image| wanted.contains(repository_of(&image.name))).cloned().collect();
    images.sort_by(|a, b| a.name.cmp(&b.name));
    node.images = images.into();
    format!("{node:#?}")
}

/// The world knows a tool's ownership, but not the `managedFields` from which the adapter derives it: the owners are left out.
fn of_daemonset(mut set: DaemonSetFact) -> String {
    set.owners = Default::default();
    format!("{set:#?}")
}

fn told_by_the_model(world: &World, wanted: &BTreeSet<String>) -> Facts {
    let mut facts = Facts::new();
    let mut add = |watched, object: &Object, fact: String| {
        facts.insert((watched, object.meta.name.to_string()), fact);
    };
    for node in world.store().list(Kind::Node) {
        add(Watched::Nodes, node, of_node(node.node_fact().unwrap(), wanted));
    }
    for pod in world.store().list_in(Kind::Pod, "edge") {
        match pod.warm_pod_fact() {
            Some(warm) => add(Watched::WarmPods, pod, format!("{warm:#?}")),
            None => add(Watched::Pods, pod, format!("{:#?}", pod.pod_fact().unwrap())),
        }
    }
    let set = world.store().find(Kind::DaemonSet, "edge", "agent").unwrap();
    add(Watched::DaemonSet, set, of_daemonset(set.daemon_set_fact().unwrap()));
    for revision in world.store().list_in(Kind::ControllerRevision, "edge") {
        add(Watched::Revisions, revision, format!("{:#?}", revision.revision_fact().unwrap()));
    }
    let lease = world.store().find(Kind::Lease, "edge", "rolldeck-agent").unwrap();
    add(Watched::Lease, lease, format!("{:#?}", lease.lease_fact().unwrap()));
    facts
}

/// Reads until every listing has come.
async fn told_by_the_adapter(cluster: &Cluster, wanted: &BTreeSet<String>) -> Facts {
    let (events, mut heard) = mpsc::channel(64);
    let attachment = cluster.attach("edge", "agent", events);
    let mut missing: BTreeSet<Watched> = Watched::ALL.into();
    let mut facts = Facts::new();
    while !missing.is_empty() {
        let event = tokio::time::timeout(Duration::from_secs(60), heard.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("no listing of {missing:?}")).unwrap();
        let (name, fact) = match &event {
            Event::Listed(watched, _) => {
                missing.remove(watched);
                continue;
            }
            Event::Node(node) => (&node.name, of_node((**node).clone(), wanted)),
            Event::Pod(pod) => (&pod.name, format!("{pod:#?}")),
            Event::WarmPod(pod) => (&pod.pod.name, format!("{pod:#?}")),
            Event::DaemonSet(set) => (&set.name, of_daemonset((**set).clone())),
            Event::Revision(revision) => (&revision.name, format!("{revision:#?}")),
            Event::Lease(lease) => (&"rolldeck-agent".into(), format!("{lease:#?}")),
            _ => continue,
        };
        facts.insert((event.watched().unwrap(), name.to_string()), fact);
    }
    drop(attachment);
    facts
}

/// Creates a pre-warming pod and a Lease with a record, as rolldeck makes them.
async fn add_ours(api: &Api) {
    let labels = json!({"rolldeck.io/prewarm": "agent", "rolldeck.io/prewarm-images": "abc"});
    let pod = json!({"metadata": {"name": "agent-prewarm-1", "labels": labels}, "spec": {
        "nodeName": "node-a-03", "containers": [{"name": "agent", "image": "registry.example/agent:v2"}]}});
    let (code, answer) = api.post("/api/v1/namespaces/edge/pods", &pod).await;
    assert_eq!(code, 201, "{answer}");
    let record = serde_json::to_string(&Record::default()).unwrap();
    let lease = json!({"metadata": {"name": "rolldeck-agent", "annotations": {RECORD: record}},
        "spec": {"holderIdentity": "ops@bastion/1", "leaseDurationSeconds": 30, "leaseTransitions": 2,
            "acquireTime": "2026-11-20T08:00:00.000000Z", "renewTime": "2026-11-20T09:00:00.000000Z"}});
    let (code, answer) = api.post("/apis/coordination.k8s.io/v1/namespaces/edge/leases", &lease).await;
    assert_eq!(code, 201, "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_adapter_reads_of_every_object_what_the_attack_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let wanted: BTreeSet<String> = ["registry.example/agent".to_owned()].into();
    for seed in 1..=4 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut world = World::new(&built_in("small").unwrap(), seed);
        let nodes: Vec<Str> = world.store().list(Kind::Node).map(|node| node.meta.name.clone()).collect();
        for _ in 0..40 {
            world.inject(&misfortune(nodes[dice.usize(..nodes.len())].clone(), &mut dice));
            world.advance_by(Duration::from_millis(dice.u64(0..20_000)));
        }
        // The world stands still while both sides read it.
        let options = ApiOptions { speed: 1e-6, ..ApiOptions::default() };
        let api = Api::over(serve(world, options).await.unwrap());
        add_ours(&api).await;
        let path = dir.path().join(format!("kubeconfig-{seed}"));
        std::fs::write(&path, api.server.kubeconfig()).unwrap();
        let target = ClusterTarget { kubeconfig: Some(path), ..ClusterTarget::default() };
        let cluster = Cluster::connect(&target).await.unwrap();
        let read = told_by_the_adapter(&cluster, &wanted).await;
        let told = api.server.with_world(|world| told_by_the_model(world, &wanted));
        let names = |facts: &Facts| facts.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&read), names(&told), "seed {seed}");
        let differ: Vec<String> =
            told.iter().filter_map(|(object, told)| difference(object, &read[object], told)).collect();
        assert!(differ.is_empty(), "seed {seed}:\n{}", differ.join("\n"));
    }
}

/// The first pair of lines that differ.
fn difference((watched, name): &(Watched, String), read: &str, told: &str) -> Option<String> {
    let (read, told) = read.lines().zip(told.lines()).find(|(read, told)| read != told).or_else(|| {
        let longer = read.lines().count() != told.lines().count();
        longer.then_some(("(lines of one are missing in the other)", ""))
    })?;
    Some(format!("{watched} {name}: the adapter reads `{}`, the model tells `{}`", read.trim(), told.trim()))
}
