//! Reads every listing through the cluster adapter, and counts the traffic.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rolldeck::cluster::{Cluster, ClusterTarget, ServerPath, TrafficCount};
use rolldeck::engine::model::event::{Event, Watched};
use tokio::sync::mpsc;

/// The nodes and pods of the listings, and the traffic that they took.
pub(crate) struct Reading {
    /// The nodes and pods by kind and name.
    pub(crate) objects: BTreeMap<String, String>,
    pub(crate) traffic: TrafficCount,
}

/// Attaches to a DaemonSet, whose API server is reached by `server_path`, and reads until every listing has come.
///
/// # Panics
/// When the listings do not come within a minute.
pub(crate) async fn read_all(kubeconfig: &Path, server_path: ServerPath, namespace: &str, name: &str) -> Reading {
    let target = ClusterTarget { kubeconfig: Some(kubeconfig.to_owned()), server_path, ..ClusterTarget::default() };
    let cluster = Cluster::connect(&target).await.unwrap();
    let (events, mut heard) = mpsc::channel(64);
    let _attachment = cluster.attach(namespace, name, events);
    let mut missing: BTreeSet<Watched> = Watched::ALL.into();
    let mut objects = BTreeMap::new();
    while !missing.is_empty() {
        let event = tokio::time::timeout(Duration::from_secs(60), heard.recv()).await;
        match event.unwrap_or_else(|_| panic!("no listing of {missing:?}")).unwrap() {
            Event::Listed(watched, _) => {
                missing.remove(&watched);
            }
            Event::Node(mut node) => {
                // Only some listings tell a node's clock.
                (node.clock_skew_millis, node.version) = (None, None);
                objects.insert(format!("node {}", node.name), format!("{node:?}"));
            }
            Event::Pod(pod) => {
                objects.insert(format!("pod {}", pod.name), format!("{pod:?}"));
            }
            _ => {}
        }
    }
    Reading { objects, traffic: cluster.traffic().count() }
}
