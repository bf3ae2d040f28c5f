//! Reads everything through the cluster adapter, and counts what came over the wire.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rolldeck::cluster::{Cluster, ClusterTarget, ServerPath, TrafficCount};
use rolldeck::engine::model::event::{Event, Watched};
use tokio::sync::mpsc;

/// The nodes and pods that a listing named, and what that took.
pub(crate) struct Reading {
    /// By name, as told.
    pub(crate) objects: BTreeMap<String, String>,
    pub(crate) traffic: TrafficCount,
}

/// Attaches to a DaemonSet, whose API server is reached like this, until every listing has come.
///
/// # Panics
/// When they do not come within a minute.
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
                // The clock of a node is known from some listings and not from others.
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
