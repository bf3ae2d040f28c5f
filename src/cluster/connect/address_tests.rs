//! Servers that are named by an IPv6 address.

use base64::Engine as _;
use tokio::sync::mpsc;

use super::*;
use crate::cluster::tls_server::{Speaking, TlsServer};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_reached_over_tls_by_its_ipv6_address() {
    let server = TlsServer::start("[::1]:0", Speaking::Both).await;
    assert!(server.url().starts_with("https://[::1]:"), "{}", server.url());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    let pem = format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        base64::engine::general_purpose::STANDARD.encode(server.certificate())
    );
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "factory",
        "clusters": [{"name": "c", "cluster": {
            "server": server.url(),
            "certificate-authority-data": base64::engine::general_purpose::STANDARD.encode(pem),
        }}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "factory", "context": {"cluster": "c", "user": "u"}}],
    });
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    let target = ClusterTarget { kubeconfig: Some(path), ..ClusterTarget::default() };
    let cluster = Cluster::connect(&target).await.unwrap();
    assert_eq!(cluster.probe().await, Ok(String::new()), "it answers, and does not say which version it is");

    // Watches too, which have connections of their own.
    let (events, _heard) = mpsc::channel(64);
    let _watches = cluster.fleet(None, events);
    let watched = async {
        while !server.seen().iter().any(|(_, path)| path == "/apis/apps/v1/daemonsets") {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(std::time::Duration::from_secs(10), watched).await;
    assert!(in_time.is_ok(), "{:?}", server.seen());
}
