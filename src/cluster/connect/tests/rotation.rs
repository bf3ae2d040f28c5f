//! Client certificates that are replaced while the program runs, in files and by a plugin.

use rcgen::CertifiedKey;

use super::proxies::authority;
use super::*;
use crate::cluster::tls_server::{Speaking, TlsServer};
use crate::engine::model::effect::EffectErrorKind;

/// A certificate with its key, in PEM, and the certificate in DER.
pub(super) struct Pair {
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) der: Vec<u8>,
}

impl Pair {
    pub(super) fn new(name: &str) -> Self {
        let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        Self { certificate: cert.pem(), key: signing_key.serialize_pem(), der: cert.der().to_vec() }
    }

    fn write(&self, directory: &Path) {
        replace(directory, "ada.crt", &self.certificate);
        replace(directory, "ada.key", &self.key);
    }
}

/// As kubelets do it: a new file takes the place of the old one.
fn replace(directory: &Path, name: &str, text: &str) {
    let beside = directory.join("beside");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, directory.join(name)).unwrap();
}

/// So long that files are looked at again.
const LATER: Duration = Duration::from_millis(1_200);

pub(super) async fn call(cluster: &Cluster) -> Result<bytes::Bytes, Failure> {
    cluster.http.call(Call::get("/call", PROBE_TIMEOUT)).await
}

pub(super) async fn connect(dir: &Path, server: &TlsServer, user: &str) -> Cluster {
    let target = write_kubeconfig(dir, &server.url(), &authority(&[server.certificate()]), user);
    Cluster::connect(&target).await.unwrap()
}

fn files(dir: &Path) -> String {
    format!("{{client-certificate: '{0}/ada.crt', client-key: '{0}/ada.key'}}", dir.display())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_in_files_rotates_without_an_error_and_half_of_it_is_never_sent() {
    let (dir, one, two) = (tempfile::tempdir().unwrap(), Pair::new("one"), Pair::new("two"));
    one.write(dir.path());
    let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
    let cluster = connect(dir.path(), &server, &files(dir.path())).await;
    call(&cluster).await.unwrap();
    let mut watch = cluster.http.lines("/one?watch=true", PROBE_TIMEOUT).await.unwrap();
    assert!(watch.next(PROBE_TIMEOUT).await.unwrap().is_some());

    // The certificate of the new, the key of the old; then half of a file; then none.
    for (name, text) in [("ada.crt", &*two.certificate), ("ada.crt", &two.certificate[..200]), ("ada.key", "")] {
        replace(dir.path(), name, text);
        tokio::time::sleep(LATER).await;
        call(&cluster).await.unwrap();
        cluster.http.lines("/half?watch=true", PROBE_TIMEOUT).await.unwrap();
    }
    assert!(server.presented().iter().all(|presented| presented.as_ref() == Some(&one.der)));

    two.write(dir.path());
    tokio::time::sleep(LATER).await;
    call(&cluster).await.unwrap();
    cluster.http.lines("/two?watch=true", PROBE_TIMEOUT).await.unwrap();
    let presented = server.presented();
    assert!(presented[presented.len() - 2..].iter().all(|presented| presented.as_ref() == Some(&two.der)));
    // What was open stays open.
    assert!(matches!(watch.next(Duration::from_millis(200)).await, Err(Failure::Timeout(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_not_accepted_any_more_is_read_again_at_once() {
    let (dir, one, two) = (tempfile::tempdir().unwrap(), Pair::new("one"), Pair::new("two"));
    one.write(dir.path());
    let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
    let cluster = connect(dir.path(), &server, &files(dir.path())).await;
    call(&cluster).await.unwrap();
    server.accept_only(&two.der);
    // Nothing else to try: it is a refusal, and not asked again.
    let asked = server.seen().len();
    assert_eq!(call(&cluster).await.unwrap_err().code(), Some(401));
    assert_eq!(server.seen().len(), asked + 1);
    // Half of it is there: there is nothing to send a request with.
    replace(dir.path(), "ada.crt", &two.certificate);
    let failure = call(&cluster).await.unwrap_err();
    assert_eq!(failure.kind(), EffectErrorKind::NotSent, "{failure:?}");
    assert!(
        failure.to_string().contains("ada.crt and ")
            && failure.to_string().contains("the key belongs to another certificate"),
        "{failure}"
    );
    replace(dir.path(), "ada.key", &two.key);
    // Several at once, of which one reads the files.
    let calls = (0..6).map(|_| {
        let cluster = cluster.clone();
        tokio::spawn(async move { call(&cluster).await })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
}

/// A load balancer ends the connection where an API server answers 401. Under TLS 1.3 the request was written by then.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_tls_refuses_means_that_nothing_was_done() {
    let (dir, one, two) = (tempfile::tempdir().unwrap(), Pair::new("one"), Pair::new("two"));
    one.write(dir.path());
    let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
    server.refuse(&one.der);
    let cluster = connect(dir.path(), &server, &files(dir.path())).await;
    let mut known = 0;
    for _ in 0..8 {
        for failure in [
            call(&cluster).await.unwrap_err(),
            cluster.http.lines("/one?watch=true", PROBE_TIMEOUT).await.err().unwrap(),
        ] {
            // The alert may be lost with the connection, or on a busy machine come too late: then the answer counts as lost, which is the safe side.
            if let Failure::Broken(_) | Failure::Timeout(_) = failure {
                continue;
            }
            known += 1;
            assert_eq!(failure.kind(), EffectErrorKind::NotSent, "{failure:?}");
            // The connection may have ended before the request was written to it.
            let why =
                ["credentials: the server does not accept the client certificate: it has expired", "cannot connect: "];
            assert!(why.iter().any(|why| failure.to_string().starts_with(why)), "{failure}");
        }
    }
    assert!(known > 0, "not one of sixteen alerts was read");
    two.write(dir.path());
    tokio::time::sleep(LATER).await;
    call(&cluster).await.unwrap();
    assert_eq!(server.presented(), [Some(two.der)]);
}

/// A plugin that prints what is in the file `credential` beside it.
fn issuing(dir: &Path) -> PathBuf {
    plugin(dir, r#"cat "$(dirname "$0")/credential""#)
}

fn credential(certificate: &Pair, key: &Pair, life: Duration) -> String {
    let expires = jiff::Timestamp::now() + jiff::SignedDuration::try_from(life).unwrap();
    serde_json::json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {
        "clientCertificateData": certificate.certificate, "clientKeyData": key.key,
        "expirationTimestamp": expires.to_string(),
    }})
    .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_a_plugin_rotates_and_one_without_its_key_is_never_sent() {
    let (dir, one, two) = (tempfile::tempdir().unwrap(), Pair::new("one"), Pair::new("two"));
    let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
    let issue = |text: String| replace(dir.path(), "credential", &text);
    // Instants count from here, and leave seconds in between: a busy machine takes one to run a plugin.
    let issued = tokio::time::Instant::now();
    issue(credential(&one, &one, Duration::from_secs(15)));
    let user = exec(&issuing(dir.path()));
    let cluster = connect(dir.path(), &server, &user).await;
    call(&cluster).await.unwrap();
    // It is renewed after four fifths of its life; what comes cannot be used, and the old one is good for three seconds more.
    issue(credential(&two, &one, Duration::from_secs(60)));
    tokio::time::sleep_until(issued + Duration::from_millis(12_600)).await;
    call(&cluster).await.unwrap();
    tokio::time::sleep_until(issued + Duration::from_millis(15_200)).await;
    let failure = call(&cluster).await.unwrap_err();
    assert_eq!(failure.kind(), EffectErrorKind::NotSent, "{failure:?}");
    assert!(failure.to_string().contains("the key belongs to another certificate"), "{failure}");
    assert!(server.presented().iter().all(|presented| presented.as_ref() == Some(&one.der)));
    assert_eq!(runs(dir.path()), 2, "a plugin that failed is not run for each request");

    issue(credential(&two, &two, Duration::from_secs(600)));
    let again = async {
        while call(&cluster).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), again).await.unwrap();
    assert_eq!(server.presented().last().unwrap().as_ref(), Some(&two.der));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_a_plugin_while_what_it_issued_is_good() {
    let (dir, one) = (tempfile::tempdir().unwrap(), Pair::new("one"));
    let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
    let issued = tokio::time::Instant::now();
    replace(dir.path(), "credential", &credential(&one, &one, Duration::from_secs(20)));
    // The first run is quick, and those that renew it hang.
    let script = r#"[ $(wc -l < "$(dirname "$0")/runs") -gt 1 ] && sleep 60; cat "$(dirname "$0")/credential""#;
    let cluster = connect(dir.path(), &server, &exec(&plugin(dir.path(), script))).await;
    tokio::time::sleep_until(issued + Duration::from_millis(16_700)).await;
    let began = std::time::Instant::now();
    call(&cluster).await.unwrap();
    // The plugin hangs for a minute.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let running = async {
        while runs(dir.path()) < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), running).await.unwrap();
}
