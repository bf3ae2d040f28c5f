//! A client certificate that stands in the kubeconfig itself and is renewed there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::proxies::authority;
use super::rotation::{Pair, call, connect};
use super::*;
use crate::cluster::tls_server::{Speaking, TlsServer};

fn inline(certificate: &str, key: &str) -> String {
    let encoded = |pem: &str| STANDARD.encode(pem);
    format!("{{client-certificate-data: {}, client-key-data: {}}}", encoded(certificate), encoded(key))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_a_login_wrote_into_the_kubeconfig_is_used_after_a_401() {
    let (dir, one, two) = (tempfile::tempdir().unwrap(), Pair::new("one"), Pair::new("two"));
    let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
    let cluster = connect(dir.path(), &server, &inline(&one.certificate, &one.key)).await;
    call(&cluster).await.unwrap();
    assert_eq!(server.presented(), [Some(one.der.clone())]);
    server.accept_only(&two.der);
    // Nobody has logged in yet: it is a refusal, and not asked again.
    let asked = server.seen().len();
    let refused = call(&cluster).await.unwrap_err();
    assert_eq!((refused.code(), server.seen().len()), (Some(401), asked + 1), "{refused}");
    let write = |certificate: &str, key: &str| {
        write_kubeconfig(dir.path(), &server.url(), &authority(&[server.certificate()]), &inline(certificate, key))
    };
    // The key of another certificate.
    write(&two.certificate, &one.key);
    let refused = call(&cluster).await.unwrap_err();
    let said = "what the kubeconfig has by now cannot be used: the key belongs to another certificate";
    assert!(refused.code() == Some(401) && refused.to_string().contains(said), "{refused}");
    write(&two.certificate, &two.key);
    call(&cluster).await.unwrap();
    let mut watch = cluster.http.lines("/two?watch=true", PROBE_TIMEOUT).await.unwrap();
    assert!(watch.next(PROBE_TIMEOUT).await.unwrap().is_some());
    assert!(server.presented().iter().all(|shown| [Some(&one.der), Some(&two.der)].contains(&shown.as_ref())));
    assert_eq!(server.presented().last(), Some(&Some(two.der)));
    let hidden = cluster.credentials().secrets();
    assert!(hidden.contains(&STANDARD.encode(&two.key)), "the key is never to be shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificate_of_another_user_is_never_presented() {
    let (dir, one, two) = (tempfile::tempdir().unwrap(), Pair::new("one"), Pair::new("two"));
    let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
    let cluster = connect(dir.path(), &server, &inline(&one.certificate, &one.key)).await;
    server.accept_only(&two.der);
    let authority = authority(&[server.certificate()]);
    let target = write_kubeconfig(dir.path(), &server.url(), &authority, &inline(&two.certificate, &two.key));
    let path = target.kubeconfig.as_deref().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, text.replace("user: u}", "user: v}").replace("{name: u,", "{name: v,")).unwrap();
    let refused = call(&cluster).await.unwrap_err();
    assert!(refused.code() == Some(401) && refused.to_string().contains("another user"), "{refused}");
    assert_eq!(server.presented(), [Some(one.der)]);
}
