//! The real API server compresses the pages of a list, but not a streamed list; the adapter reads the same objects from both.

use rolldeck::cluster::ServerPath;
use serde_json::json;

use crate::support::control_plane::{daemon_set, sandbox};
use crate::support::reading::read_all;

const NODES: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_asked_for_compressed_comes_compressed_and_is_read_correctly() {
    let Some(sandbox) = sandbox("compressed") else { return };
    // The annotation makes the nodes as large as real ones, by a field that the adapter does not read.
    let merge =
        json!({"metadata": {"annotations": {"test.rolldeck.io/filler": "what it takes to be large ".repeat(300)}}});
    for node in sandbox.nodes(NODES) {
        sandbox.admin().request(reqwest::Method::PATCH, &format!("/api/v1/nodes/{node}"), Some(&merge)).ok();
    }
    sandbox.create_daemon_set(daemon_set("agent", "registry.test/agent:1"));
    let kubeconfig = sandbox.admin().kubeconfig();
    let ours = |objects: &std::collections::BTreeMap<String, String>| {
        let prefix = format!("node {}-", sandbox.namespace());
        let ours = objects.iter().filter(|(name, _)| name.starts_with(&prefix));
        ours.map(|(name, told)| (name.clone(), told.clone())).collect::<Vec<_>>()
    };

    let streamed = read_all(&kubeconfig, ServerPath::Loopback, sandbox.namespace(), "agent").await;
    let paged = read_all(&kubeconfig, ServerPath::Network, sandbox.namespace(), "agent").await;
    println!("streamed {:?}, paged {:?}", streamed.traffic, paged.traffic);
    assert_eq!(ours(&streamed.objects).len(), NODES);
    assert_eq!(ours(&paged.objects), ours(&streamed.objects));
    // The annotations alone are this long.
    let filler = NODES as u64 * 7_500;
    assert!(streamed.traffic.streamed > filler, "{:?}", streamed.traffic);
    // Other tests' nodes are listed too, and changes meanwhile are streamed: so only the bytes of lists are compared.
    assert!(paged.traffic.answered < streamed.traffic.streamed / 2, "{:?}", paged.traffic);
}
