//! `--timeout` covers all of a command, connecting included; how a connection is unusual is said.

use std::sync::Arc;
use std::time::Duration;

use super::super::{access, connect_within, refuse_unnamed};
use super::script::{Script, rollout};
use crate::cli::args::{Cli, CliCommand};
use crate::config::ConfigValues;
use crate::driver::{AccessError, Impersonate, Session};
use crate::engine::model::event::{WatchHealth, Watched};
use clap::Parser;

async fn connecting(takes: Duration) -> Result<Arc<dyn Session>, AccessError> {
    tokio::time::sleep(takes).await;
    Ok(Arc::new(Script::of(rollout())))
}

#[tokio::test(start_paused = true)]
async fn connecting_counts_toward_the_timeout() {
    let mut timeout = Duration::from_secs(30);
    let session = connect_within(Some(&mut timeout), connecting(Duration::from_secs(12))).await;
    assert!(session.is_ok());
    assert_eq!(timeout.as_secs(), 18);

    let late = connect_within(Some(&mut timeout), connecting(Duration::from_secs(300))).await;
    let error = late.err().unwrap();
    assert_eq!(error.code(), 1, "as where the credentials are not accepted");
    assert!(error.to_string().contains("no credentials for the cluster within"), "{error}");

    assert!(connect_within(None, connecting(Duration::from_secs(300))).await.is_ok());
}

/// Each of them would be sent to the API server as it is, or be left out without a word.
#[test]
fn a_value_that_names_nothing_is_not_valid() {
    for (line, says) in [
        ("status -n a/b", "a namespace's name is"),
        ("status -n ..", "a namespace's name is"),
        ("status -n=", "it names no namespace"),
        ("status --context=", "it names no context"),
        ("status --as=", "it names nobody"),
        ("status --as jane --as-group=", "it names nobody"),
        ("status --timeout 0s", "leaves no time at all"),
        ("pause ds/agent --timeout 0s", "leaves no time at all"),
        ("drive ds/agent --timeout 0s", "leaves no time at all"),
        ("status a/b/c", "write `ds/NAME`"),
        ("status ds/a/b", "it has a `/` too many"),
        ("status ..", "begins and ends with a letter or a digit"),
        ("status ds/agent --watch --nodes", "`--nodes` is for what is printed once"),
        ("status ds/agent --images --watch", "`--images` is for what is printed once"),
    ] {
        let words = std::iter::once("rolldeck").chain(line.split(' ')).map(std::ffi::OsString::from);
        let error = crate::cli::parse(words).expect_err(line);
        let said = error.to_string();
        assert!(error.exit_code() == 2 && said.contains(says), "{line}: {said}");
    }
}

/// A script takes the same refusal for the same one, whichever command meets it.
#[tokio::test]
async fn a_right_that_is_missing_is_a_refusal_whatever_is_asked_for() {
    let mut snapshot = super::script::loading();
    let why = "daemonsets.apps \"agent\" is forbidden";
    for watch in snapshot.watches.iter_mut().filter(|watch| watch.watched == Watched::DaemonSet) {
        watch.health = WatchHealth::Forbidden { why: why.into() };
    }
    let script = Script::of(snapshot).hides_other_namespaces();
    for line in [
        "status",
        "status ds/agent",
        "diagnose ds/agent",
        "history ds/agent",
        "diff ds/agent",
        "pause ds/agent",
        "undo ds/agent --yes",
        "drive ds/agent",
        "prewarm ds/agent --cancel",
    ] {
        let output = script.run(line).await;
        assert_eq!(output.code, 6, "{line}: {}", output.error);
        assert!(output.error.contains("you may not"), "{line}: {}", output.error);
    }
}

#[test]
fn whom_to_impersonate_and_how_to_connect_is_passed_on() {
    let line = "rolldeck status --as jane --as-group sre --as-group ops --as-uid 7 --request-timeout 90s \
                --insecure-skip-tls-verify";
    let cli = Cli::try_parse_from(line.split(' ').filter(|word| !word.is_empty())).unwrap();
    let access = access(&cli.global, &ConfigValues::default());
    let jane =
        Impersonate { user: Some("jane".into()), uid: Some("7".into()), groups: vec!["sre".into(), "ops".into()] };
    assert_eq!(access.impersonate, jane);
    assert_eq!((access.request_timeout, access.insecure), (Some(Duration::from_secs(90)), true));
    let refused = Cli::try_parse_from(["rolldeck", "status", "--as-group", "sre"]).unwrap_err().to_string();
    assert!(refused.contains("--as <USER>"), "{refused}");
}

#[test]
fn a_write_to_a_protected_context_has_to_name_it() {
    let mut values = ConfigValues::default();
    values.protected_contexts = Some(vec!["prod-*".to_owned()]);
    let refused = |line: &str, context: &str, values: &ConfigValues| {
        let cli = Cli::try_parse_from(["rolldeck"].into_iter().chain(line.split(' '))).unwrap();
        let Some(CliCommand::OnCluster(command)) = cli.command else { panic!("{line}") };
        refuse_unnamed(context, (&cli.global, &command), values).err()
    };
    for line in ["step ds/agent --yes", "adopt ds/agent", "undo ds/agent", "drive ds/agent", "prewarm ds/agent"] {
        let error = refused(line, "prod-eu", &values).expect(line);
        assert_eq!(error.code(), 6, "{line}");
        assert!(error.to_string().contains("`prod-eu` is protected"), "{error}");
        assert!(refused(&format!("{line} --context prod-eu"), "prod-eu", &values).is_none(), "{line}: it was named");
        assert!(refused(line, "staging", &values).is_none(), "{line}");
        assert!(refused(line, "prod-eu", &ConfigValues::default()).is_none(), "{line}");
    }
    for line in [
        "status",
        "diff ds/agent",
        "pause ds/agent",
        "step ds/agent --dry-run",
        "prewarm ds/agent --pause",
        "diagnose ds/agent",
    ] {
        assert!(refused(line, "prod-eu", &values).is_none(), "{line}");
    }
}
