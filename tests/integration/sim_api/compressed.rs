//! The API compresses lists if the client accepts it, and never watches. The adapter reads the same from both.

use std::time::Duration;

use reqwest::Method;
use rolldeck::cluster::ServerPath;
use rolldeck::sim::api::{ApiOptions, serve};
use rolldeck::sim::world::World;
use rolldeck::sim::world::scenario::Scenario;

use super::support::Api;
use crate::support::line::{Line, server_of};
use crate::support::reading::read_all;

const FLEET: &str = r#"
name = "six hundred"
about = "more nodes than a page has"

[[sites]]
name = "a"
link = "10Gbit/s"
nodes = [{ prefix = "node-", count = 600 }]

[[images]]
name = "registry.example/agent:v1"
size = "1MB"

[[daemonsets]]
namespace = "edge"
name = "agent"
images = { agent = "registry.example/agent:v1" }
max-unavailable = 2
"#;

async fn six_hundred() -> Api {
    let mut world = World::new(&Scenario::parse("six-hundred.toml", FLEET).unwrap(), 7);
    assert!(world.advance_until(Duration::from_secs(120), |world| world.serving("edge", "agent") == 600));
    // The world stands still between the two readings.
    Api::over(serve(world, ApiOptions { speed: 1e-6, ..ApiOptions::default() }).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_long_lists_are_compressed_and_only_on_demand() {
    let api = six_hundred().await;
    let gzip = [("accept-encoding", "gzip")];
    for (path, headers, compressed) in [
        ("/api/v1/nodes", &gzip[..], true),
        ("/api/v1/nodes?limit=500", &gzip[..], true),
        ("/api/v1/nodes", &[("accept-encoding", "identity")][..], false),
        ("/api/v1/nodes", &[][..], false),
        ("/api/v1/nodes?limit=2", &gzip[..], false),
        ("/api/v1/nodes?watch=true&timeoutSeconds=1", &gzip[..], false),
        ("/api/v1/nodes/node-001", &gzip[..], false),
    ] {
        let answer = api.raw(Method::GET, path, headers, Vec::new()).await;
        let encoding = answer.headers().get("content-encoding").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(encoding.as_deref(), compressed.then_some("gzip"), "{path} {headers:?}");
        let bytes = answer.bytes().await.unwrap();
        if compressed {
            assert_eq!(bytes[..2], [0x1f, 0x8b], "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_pages_bring_what_streamed_lists_bring_in_a_fraction_of_the_bytes() {
    let api = six_hundred().await;
    let kubeconfig = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(kubeconfig.path(), api.server.kubeconfig()).unwrap();
    let streamed = read_all(kubeconfig.path(), ServerPath::Loopback, "edge", "agent").await;
    let paged = read_all(kubeconfig.path(), ServerPath::Network, "edge", "agent").await;
    assert_eq!(streamed.objects.len(), 1_200);
    assert_eq!(paged.objects, streamed.objects);
    // A tunnel ends at a loopback address; the adapter finds that out.
    let line = Line::to(&server_of(kubeconfig.path()), Duration::from_millis(20));
    let tunnelled = read_all(&line.kubeconfig(kubeconfig.path()), ServerPath::ByAddress, "edge", "agent").await;
    assert_eq!(tunnelled.objects, streamed.objects);
    println!("streamed {:?}, paged {:?}, tunnelled {:?}", streamed.traffic, paged.traffic, tunnelled.traffic);
    let bytes = |traffic: rolldeck::cluster::TrafficCount| traffic.streamed + traffic.answered;
    assert!(streamed.traffic.streamed > 20 * streamed.traffic.answered, "{:?}", streamed.traffic);
    assert!(10 * bytes(paged.traffic) < bytes(streamed.traffic), "{:?} {:?}", paged.traffic, streamed.traffic);
    assert!(10 * bytes(tunnelled.traffic) < bytes(streamed.traffic), "{:?}", tunnelled.traffic);
}
