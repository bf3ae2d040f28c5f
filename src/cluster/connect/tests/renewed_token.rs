//! A token that stands in the kubeconfig itself and is renewed there.

use super::*;

fn token(token: &str) -> String {
    format!("{{token: {token}}}")
}

/// Writes the kubeconfig again, as a login does, and accepts only `accepted` from then on.
fn log_in(server: &VersionServer, accepted: &str) {
    *server.accepts.lock().unwrap() = vec![format!("Bearer {accepted}")];
}

async fn write(cluster: &Cluster) -> Result<bytes::Bytes, Failure> {
    let call = Call { method: http::Method::PUT, body: b"{}".to_vec(), ..Call::get("/x", Duration::from_secs(5)) };
    cluster.http.call(call).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_a_login_wrote_into_the_kubeconfig_is_used_after_a_401() {
    let dir = tempfile::tempdir().unwrap();
    let server = VersionServer::start(&["first-token"]).await;
    let target = write_kubeconfig(dir.path(), &server.address, "", &token("first-token"));
    let cluster = Cluster::connect(&target).await.unwrap();
    assert_eq!(cluster.probe().await, Ok("v1.36.3".to_owned()));
    log_in(&server, "second-token");
    // Nobody has logged in yet.
    let refused = write(&cluster).await.unwrap_err();
    assert_eq!((refused.code(), refused.to_string().as_str()), (Some(401), "Unauthorized"));
    write_kubeconfig(dir.path(), &server.address, "", &token("second-token"));
    write(&cluster).await.unwrap();
    assert_eq!(cluster.probe().await, Ok("v1.36.3".to_owned()));
    let sent: Vec<String> = server.requests().iter().map(|sent| sent.replace("Bearer ", "")).collect();
    assert_eq!(sent, ["first-token", "first-token", "first-token", "second-token", "second-token"]);
    assert!(cluster.credentials().secrets().iter().any(|secret| secret == "second-token"), "it is never to be shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_another_cluster_or_user_is_never_sent() {
    let elsewhere = VersionServer::start(&["other-token"]).await;
    for (says, change) in [
        ("another server", "server"),
        ("another certificate authority or proxy", "authority"),
        ("another user", "user"),
        ("no context `factory` any more", "context"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let server = VersionServer::start(&["first-token"]).await;
        let target = write_kubeconfig(dir.path(), &server.address, "", &token("first-token"));
        let cluster = Cluster::connect(&target).await.unwrap();
        log_in(&server, "other-token");
        let address = if change == "server" { &elsewhere.address } else { &server.address };
        let authority = if change == "authority" { ", certificate-authority: other.crt" } else { "" };
        write_kubeconfig(dir.path(), address, authority, &token("other-token"));
        let path = target.kubeconfig.as_deref().unwrap();
        let mut text = std::fs::read_to_string(path).unwrap();
        if change == "user" {
            text = text.replace("user: u}", "user: v}").replace("{name: u,", "{name: v,");
        }
        if change == "context" {
            text = text.replace("factory", "plant");
        }
        std::fs::write(path, text).unwrap();
        let refused = write(&cluster).await.unwrap_err();
        assert!(refused.code() == Some(401) && refused.to_string().contains(says), "{change}: {refused}");
        assert_eq!(server.requests(), ["Bearer first-token"], "{change}");
        let unauthorized = cluster.probe().await.unwrap_err();
        assert!(
            matches!(&unauthorized, ConnectError::Unauthorized { why, .. } if why.contains(says)),
            "{unauthorized}"
        );
    }
    assert_eq!(elsewhere.requests(), Vec::<String>::new());
}
