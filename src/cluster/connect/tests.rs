//! Credentials against servers of a few lines, with plugins that are shell scripts.

mod proxies;
mod renewed_certificate;
mod renewed_token;
mod rotation;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// An API server that knows `/version` and accepts some tokens.
struct VersionServer {
    address: String,
    /// The `Authorization` headers that it was sent.
    requests: Arc<Mutex<Vec<String>>>,
    accepts: Arc<Mutex<Vec<String>>>,
}

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let (mut text, mut byte) = (Vec::new(), [0; 1]);
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap_or(0) == 1 {
        text.push(byte[0]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

impl VersionServer {
    async fn start(accepts: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let accepts = Arc::new(Mutex::new(accepts.iter().map(|token| format!("Bearer {token}")).collect::<Vec<_>>()));
        let (seen, known) = (requests.clone(), accepts.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (seen, known) = (seen.clone(), known.clone());
                tokio::spawn(async move {
                    loop {
                        let head = head(&mut stream).await;
                        if head.is_empty() {
                            return;
                        }
                        let sent =
                            head.lines().find_map(|line| line.strip_prefix("authorization: ")).unwrap_or_default();
                        let accepted = known.lock().unwrap().iter().any(|token| token == sent);
                        seen.lock().unwrap().push(sent.to_owned());
                        let (status, body) = if accepted {
                            ("200 OK", r#"{"gitVersion":"v1.36.3"}"#)
                        } else {
                            ("401 Unauthorized", r#"{"kind":"Status","message":"Unauthorized","code":401}"#)
                        };
                        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                        if stream.write_all(answer.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, requests, accepts }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// A kubeconfig with this user, and this in its cluster beside the address, which is one of `http` where it does not say.
fn write_kubeconfig(dir: &Path, server: &str, cluster: &str, user: &str) -> ClusterTarget {
    let path = dir.join("config");
    let server = if server.contains("://") { server.to_owned() } else { format!("http://{server}") };
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: factory\n\
         clusters: [{{name: c, cluster: {{server: '{server}'{cluster}}}}}]\n\
         users: [{{name: u, user: {user}}}]\n\
         contexts: [{{name: factory, context: {{cluster: c, user: u}}}}]\n"
    );
    std::fs::write(&path, text).unwrap();
    ClusterTarget { kubeconfig: Some(path), ..ClusterTarget::default() }
}

/// A plugin that counts its runs in the file `runs` beside it.
fn plugin(dir: &Path, script: &str) -> PathBuf {
    let (written, path, runs) = (dir.join("get-token.sh"), dir.join("get-token"), dir.join("runs"));
    std::fs::write(&written, format!("#!/bin/sh\necho run >> {}\n{script}\n", runs.display())).unwrap();
    // The program `install` writes the file that is run. If this process wrote it, a child that another test starts at the same time would inherit
    // the file open for writing until its own exec, and Linux refuses to run a file that is open for writing (ETXTBSY).
    let installed = std::process::Command::new("install").args(["-m", "755"]).args([&written, &path]).status();
    assert!(installed.unwrap().success());
    path
}

fn runs(dir: &Path) -> usize {
    std::fs::read_to_string(dir.join("runs")).map_or(0, |text| text.lines().count())
}

fn exec(plugin: &Path) -> String {
    format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: '{}', args: ['--role', 'arn-of-the-operator'], \
         env: [{{name: PASSPHRASE, value: correct-horse}}], interactiveMode: IfAvailable}}}}",
        plugin.display()
    )
}

/// A script that prints a credential whose token is `t` and the number of runs so far.
fn prints(expires: &str) -> String {
    format!(
        r#"n=$(wc -l < "$(dirname "$0")/runs" | tr -d ' ')
printf '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"token-number-%s"{expires}}}}}' "$n""#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_runs_once_however_many_requests_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let server = VersionServer::start(&["token-number-1"]).await;
    let target = write_kubeconfig(dir.path(), &server.address, "", &exec(&plugin(dir.path(), &prints(""))));
    let cluster = Cluster::connect(&target).await.unwrap();
    let probes = (0..8).map(|_| {
        let cluster = cluster.clone();
        tokio::spawn(async move { cluster.probe().await })
    });
    for probe in probes.collect::<Vec<_>>() {
        assert_eq!(probe.await.unwrap(), Ok("v1.36.3".to_owned()));
    }
    assert_eq!(runs(dir.path()), 1);
    // What it was given, and what it gave, is never to be shown.
    for secret in ["token-number-1", "correct-horse", "arn-of-the-operator"] {
        assert!(cluster.credentials().secrets().iter().any(|known| known == secret), "{secret}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_are_refused_are_obtained_anew_once() {
    let dir = tempfile::tempdir().unwrap();
    let server = VersionServer::start(&["token-number-1"]).await;
    let target = write_kubeconfig(dir.path(), &server.address, "", &exec(&plugin(dir.path(), &prints(""))));
    let cluster = Cluster::connect(&target).await.unwrap();
    assert_eq!(cluster.probe().await, Ok("v1.36.3".to_owned()));
    // The server forgets the token before it has expired.
    *server.accepts.lock().unwrap() = vec!["Bearer token-number-2".into()];
    assert_eq!(cluster.probe().await, Ok("v1.36.3".to_owned()));
    assert_eq!(runs(dir.path()), 2);
    assert_eq!(
        server.requests().len(),
        3,
        "asked with the first, refused, asked with the second: {:?}",
        server.requests()
    );
    // One that is refused whatever it presents is refused, and not asked in a loop.
    server.accepts.lock().unwrap().clear();
    assert!(matches!(cluster.probe().await, Err(ConnectError::Unauthorized { .. })));
    assert_eq!((runs(dir.path()), server.requests().len()), (3, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn short_lived_credentials_are_used_until_late_in_their_life() {
    let dir = tempfile::tempdir().unwrap();
    let server = VersionServer::start(&["token-number-1", "token-number-2", "token-number-3"]).await;
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(30);
    let script = prints(&format!(r#","expirationTimestamp":"{soon}""#));
    let target = write_kubeconfig(dir.path(), &server.address, "", &exec(&plugin(dir.path(), &script)));
    let cluster = Cluster::connect(&target).await.unwrap();
    assert_eq!(cluster.probe().await, Ok("v1.36.3".to_owned()));
    assert_eq!(server.requests(), ["Bearer token-number-1"], "30 s are used for 24 s, and not for none");
    assert_eq!(runs(dir.path()), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_plugin_is_named_and_nothing_of_it_leaks() {
    for (script, says) in [
        (
            "echo '{\"token\":\"s3cr3t-of-stdout\"}'; echo 'expired: correct-horse' >&2; exit 3",
            "failed (exit status: 3): expired: ***",
        ),
        (
            "echo 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln is over' >&2; exit 1",
            "failed (exit status: 1): *** is over",
        ),
        ("echo s3cr3t-of-stdout", "did not print an ExecCredential"),
        ("echo '{}'", "without a status"),
        ("echo '{\"status\":{}}'", "neither a token nor a client certificate"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let server = VersionServer::start(&[]).await;
        let target = write_kubeconfig(dir.path(), &server.address, "", &exec(&plugin(dir.path(), script)));
        let error = Cluster::connect(&target).await.unwrap_err();
        let said = format!("{error} {:?} {error:?}", error.hints());
        assert!(said.contains("credential plugin `get-token`") && said.contains(says), "{said}");
        for secret in ["s3cr3t", "correct-horse", "arn-of-the-operator", "PASSPHRASE"] {
            assert!(!said.contains(secret), "{secret} in {said}");
        }
        assert_eq!(server.requests(), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_may_not_ask_says_where_to_log_in_and_cannot_read_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let server = VersionServer::start(&[]).await;
    // Its process group is not ours: the kernel stops it when it reads our terminal.
    let script = "[ \"$(ps -o pgid= -p $$ | tr -d ' ')\" = $$ ] && echo 'apart' >&2; exit 1";
    let target = write_kubeconfig(dir.path(), &server.address, "", &exec(&plugin(dir.path(), script)));
    let said = Cluster::connect(&target).await.unwrap_err().to_string();
    let file = target.kubeconfig.unwrap();
    let login = format!("`kubectl --kubeconfig {} --context factory version`", file.display());
    assert!(said.contains(&format!("apart; log in again outside of rolldeck: {login}")), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_is_refused_with_401_is_opened_once_more_with_new_credentials() {
    let dir = tempfile::tempdir().unwrap();
    let server = VersionServer::start(&["token-number-1"]).await;
    let target = write_kubeconfig(dir.path(), &server.address, "", &exec(&plugin(dir.path(), &prints(""))));
    let cluster = Cluster::connect(&target).await.unwrap();
    *server.accepts.lock().unwrap() = vec!["Bearer token-number-2".into()];
    let lines = cluster.http.lines("/watch?watch=true", Duration::from_secs(5)).await;
    assert!(lines.is_ok(), "{:?}", lines.err());
    assert_eq!(server.requests(), ["Bearer token-number-1", "Bearer token-number-2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_repeats_of_the_credentials_is_not_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let sent = head(&mut stream).await;
            let body = serde_json::json!({"kind": "Status", "message": format!("bad request: {sent}"), "code": 400});
            let body = body.to_string();
            let answer = format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let target = write_kubeconfig(dir.path(), &address, "", "{token: s3cr3t-t0ken}");
    let error = Cluster::connect(&target).await.unwrap().probe().await.unwrap_err();
    assert!(error.to_string().contains("Bearer ***") && !format!("{error:?}").contains("s3cr3t"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_and_password_in_the_servers_address_are_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = write_kubeconfig(dir.path(), &format!("joe:hunter2-pass@{free}"), "", "{token: t0}");
    let cluster = Cluster::connect(&target).await.unwrap();
    assert_eq!(cluster.server(), format!("http://{free}"));
    let error = cluster.probe().await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_takes_as_long_as_the_operator_allows() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Takes connections and never answers.
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            open.push(stream);
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let target = ClusterTarget {
        request_timeout: Some(Duration::from_millis(300)),
        ..write_kubeconfig(dir.path(), &address, "", "{token: t0}")
    };
    let cluster = Cluster::connect(&target).await.unwrap();
    let failure = cluster.http.call(Call::get("/version", PROBE_TIMEOUT)).await.unwrap_err();
    assert_eq!(failure, Failure::Timeout(Duration::from_millis(300)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_that_fails_or_hangs_is_not_sent_and_never_a_lost_answer() {
    use crate::engine::model::effect::EffectErrorKind;
    for later in ["exit 1", "sleep 30"] {
        let dir = tempfile::tempdir().unwrap();
        let server = VersionServer::start(&["token-number-1"]).await;
        let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(1);
        let script = format!(
            "[ -e {0}/later ] && {later}\n{1}",
            dir.path().display(),
            prints(&format!(r#","expirationTimestamp":"{soon}""#))
        );
        let target = write_kubeconfig(dir.path(), &server.address, "", &exec(&plugin(dir.path(), &script)));
        let cluster = Cluster::connect(&target).await.unwrap();
        std::fs::write(dir.path().join("later"), "").unwrap();
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        let timeout = Duration::from_millis(1_500);
        let failure = cluster.http.call(Call::get("/version", timeout)).await.unwrap_err();
        assert_eq!(failure.kind(), EffectErrorKind::NotSent, "{failure:?}");
        assert_eq!(server.requests(), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_file_may_end_with_a_newline_and_change() {
    let dir = tempfile::tempdir().unwrap();
    let server = VersionServer::start(&["first-token"]).await;
    let token = dir.path().join("token");
    std::fs::write(&token, "first-token\n").unwrap();
    let user = format!("{{tokenFile: '{}'}}", token.display());
    let target = write_kubeconfig(dir.path(), &server.address, "", &user);
    let cluster = Cluster::connect(&target).await.unwrap();
    assert_eq!(cluster.probe().await, Ok("v1.36.3".to_owned()));
    // It rotates: the old one is refused, and the file is read at once.
    std::fs::write(&token, "second-token\n").unwrap();
    *server.accepts.lock().unwrap() = vec!["Bearer second-token".into()];
    assert_eq!(cluster.probe().await, Ok("v1.36.3".to_owned()));
    assert_eq!(server.requests(), ["Bearer first-token", "Bearer first-token", "Bearer second-token"]);
}
