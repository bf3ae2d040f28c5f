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

/// The length of a DER element's header, and the length of the element.
fn extent(der: &[u8]) -> (usize, usize) {
    match usize::from(der[1]) {
        short @ 0..=127 => (2, 2 + short),
        long => {
            let count = long & 0x7f;
            let length = der[2..2 + count].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            (2 + count, 2 + count + length)
        }
    }
}

/// The elements in a DER sequence.
fn elements(sequence: &[u8]) -> Vec<&[u8]> {
    let (header, end) = extent(sequence);
    let (mut rest, mut found) = (&sequence[header..end], Vec::new());
    while !rest.is_empty() {
        let (element, after) = rest.split_at(extent(rest).1);
        found.push(element);
        rest = after;
    }
    found
}

fn sequence(elements: &[&[u8]]) -> Vec<u8> {
    let content = elements.concat();
    let header = match u16::try_from(content.len()).unwrap().to_be_bytes() {
        [0, short @ 0..=127] => vec![0x30, short],
        [0, length] => vec![0x30, 0x81, length],
        [high, low] => vec![0x30, 0x82, high, low],
    };
    [header, content].concat()
}

/// The certificate without the number of its version and without extensions, as `openssl x509 -req` makes one. Its issuer's signature does not fit any more,
/// which is for servers to check.
fn of_version_1(der: &[u8]) -> Vec<u8> {
    let parts = elements(der);
    let [_version, fields @ .., _extensions] = &elements(parts[0])[..] else { panic!("no extensions") };
    sequence(&[&sequence(fields), parts[1], parts[2]])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_x509_version_1_is_presented_like_any_other() {
    let (dir, one) = (tempfile::tempdir().unwrap(), Pair::new("one"));
    let der = of_version_1(&one.der);
    let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(&der));
    let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
    let in_files = format!("{{client-certificate: '{0}/ada.crt', client-key: '{0}/ada.key'}}", dir.path().display());
    for user in [inline(&pem, &one.key), in_files] {
        std::fs::write(dir.path().join("ada.crt"), &pem).unwrap();
        std::fs::write(dir.path().join("ada.key"), &one.key).unwrap();
        let cluster = connect(dir.path(), &server, &user).await;
        call(&cluster).await.unwrap();
        assert_eq!(server.presented().last(), Some(&Some(der.clone())), "{user}");
    }
}

/// What is wrong with a client certificate is not said of the server.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_cannot_be_used_is_named_before_anything_is_sent() {
    let (dir, one, two) = (tempfile::tempdir().unwrap(), Pair::new("one"), Pair::new("two"));
    let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
    for (user, said) in [
        (inline(&one.certificate, &two.key), "client certificate: the key belongs to another certificate"),
        (inline("no PEM", &two.key), "client certificate: the certificate is no PEM"),
        (inline(&one.certificate, "no PEM"), "client certificate: the key is no PEM of a key"),
        ("{client-certificate-data: '%%', client-key-data: '%%'}".to_owned(), "client-certificate-data is no base64"),
        ("{client-certificate-data: eA==}".to_owned(), "names no key (`client-key`) for it"),
        (
            "{client-certificate: absent.crt, client-key: absent.key}".to_owned(),
            "absent.crt: No such file or directory",
        ),
    ] {
        let target = write_kubeconfig(dir.path(), &server.url(), &authority(&[server.certificate()]), &user);
        let error = Cluster::connect(&target).await.unwrap_err();
        assert!(matches!(&error, ConnectError::Credentials { why, .. } if why.contains(said)), "{user}: {error}");
    }
    assert_eq!(server.seen().len(), 0);
}
