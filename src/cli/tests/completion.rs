//! What a shell is told about how a line may go on.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::script::{Script, node, rollout};
use crate::audit::AuditLog;
use crate::cli::args::OutputFormat;
use crate::cli::complete::{self, LineToComplete};
use crate::cli::output::Charset;
use crate::cli::output::tests::Kept;
use crate::driver::{Access, AccessError, Session};
use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::{NodeView, Snapshot};

/// Fish needs nothing of the environment: a candidate a line, with its help behind a tab.
async fn completed(script: &Script, line: &str) -> (Vec<String>, Vec<Access>) {
    let words = ["rolldeck", "--", "rolldeck"].into_iter().chain(line.split(' ')).map(OsString::from);
    let line = LineToComplete::asked(Some("fish".into()), &words.collect::<Vec<_>>()).unwrap();
    let kept = Kept::default();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (note, session) = (asked.clone(), script.clone());
    let connect = async move |access: Access| {
        note.lock().unwrap().push(access);
        Ok(Arc::new(session.clone()) as Arc<dyn Session>)
    };
    complete::run(line, connect, &mut kept.output(OutputFormat::Text, Charset::Unicode)).await.unwrap();
    let lines = kept.text().lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect();
    let asked = asked.lock().unwrap().clone();
    (lines, asked)
}

fn script() -> Script {
    let labelled = |name: &str, zone: &str| NodeView {
        labels: [("zone", zone), ("canary", "true")].into_iter().collect(),
        ..node(name, NodeState::Outdated)
    };
    let nodes = [labelled("ipc-a-01", "a"), labelled("ipc-b-01", "b"), labelled("evil$(id)", "a b")];
    Script::of(Snapshot { nodes: nodes.into(), ..rollout() }).also_in("factory")
}

#[tokio::test]
async fn names_that_are_there_are_completed() {
    for (line, names) in [
        ("status ", vec!["ds/agent", "ds/log-shipper"]),
        ("status ds/a", vec!["ds/agent"]),
        ("ds/l", vec!["ds/log-shipper"]),
        ("status a", vec!["agent"]),
        ("step -n factory ds/", vec!["ds/agent"]),
        ("status -n ", vec!["edge", "factory"]),
        ("status --namespace f", vec!["factory"]),
        ("status --namespace=f", vec!["--namespace=factory"]),
        ("undo ds/agent --to-revision ", vec!["15", "14"]),
        ("diff agent ", vec!["15", "14"]),
        ("diff agent 14 1", vec!["15", "14"]),
        ("prewarm agent --node ", vec!["ipc-a-01", "ipc-b-01"]),
        ("prewarm agent -l z", vec!["zone="]),
        ("select agent zone=", vec!["zone=a", "zone=b"]),
        ("drive agent --selector canary=true,zone=", vec!["canary=true,zone=a", "canary=true,zone=b"]),
        ("tune agent --site-label c", vec!["canary"]),
        ("demo cascade", vec!["cascade", "cascade-native"]),
    ] {
        let (found, _) = completed(&script(), line).await;
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|one| !one.starts_with('-') || line.contains('=')).collect();
        assert_eq!(found, names, "{line}");
    }
}

#[tokio::test]
async fn the_cluster_is_that_of_the_line_and_is_asked_only_for_names() {
    let (found, asked) = completed(&script(), "--kubeconfig /a/b --context prod --as jane status ds/").await;
    assert_eq!(found, ["ds/agent", "ds/log-shipper"]);
    let [access] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!((access.kubeconfig.clone(), access.context.as_deref()), (Some(PathBuf::from("/a/b")), Some("prod")));
    assert_eq!((access.impersonate.user.as_deref(), &access.audit), (Some("jane"), &AuditLog::Nowhere));
    for line in ["stat", "status --wa", "completions ba", "tune agent --on-drift "] {
        let (found, asked) = completed(&script(), line).await;
        assert!(!found.is_empty(), "{line}");
        assert!(asked.is_empty(), "{line}: {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_says_nothing() {
    for fails in [true, false] {
        let line = LineToComplete::asked(
            Some("fish".into()),
            &["rolldeck", "--", "rolldeck", "status", "ds/"].map(OsString::from),
        )
        .unwrap();
        let kept = Kept::default();
        let connect = async move |_| match fails {
            true => Err(AccessError { message: "no such context".to_owned(), hints: Vec::new() }),
            false => std::future::pending::<Result<Arc<dyn Session>, AccessError>>().await,
        };
        let mut output = kept.output(OutputFormat::Text, Charset::Unicode);
        let began = tokio::time::Instant::now();
        complete::run(line, connect, &mut output).await.unwrap();
        assert_eq!(kept.text(), "");
        assert!(began.elapsed().as_secs_f32() < 2.5);
    }
}

#[test]
fn only_a_shell_that_asks_is_answered() {
    let line = ["rolldeck", "--", "rolldeck", ""].map(OsString::from);
    assert!(LineToComplete::asked(None, &line).is_none());
    assert!(LineToComplete::asked(Some("".into()), &line).is_none());
    assert!(LineToComplete::asked(Some("bash".into()), &["rolldeck".into(), "status".into()]).is_none());
    assert!(LineToComplete::asked(Some("bash".into()), &line).is_some());
}
