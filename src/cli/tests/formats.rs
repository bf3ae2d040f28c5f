//! `-A` and `-o wide|name|jsonpath`, as people know them from kubectl.

use super::script::{Script, rollout};
use crate::cli::parse;
use crate::handover::API_VERSION;
use insta::assert_snapshot;

fn script() -> Script {
    Script::of(rollout()).also_in("factory")
}

#[tokio::test]
async fn a_list_is_of_one_namespace_or_of_all() {
    for (line, names) in [
        ("status -o name", "daemonset.apps/agent\ndaemonset.apps/log-shipper\ndaemonset.apps/agent\n"),
        ("status -n factory -o name", "daemonset.apps/agent\n"),
        ("status -n edge -o jsonpath={.items[*].name}", "agent log-shipper\n"),
        ("status -A -n edge -o jsonpath={.items[*].namespace}", "edge edge factory\n"),
        ("-A status -n edge -o jsonpath={.items[*].namespace}", "edge edge factory\n"),
        ("-A -n edge -o jsonpath={.items[*].namespace}", "edge edge factory\n"),
        ("status ds/agent -o name", "daemonset.apps/agent\n"),
        ("status ds/agent -o jsonpath={.phase}", "running\n"),
        // A template that names the nodes asks for them.
        ("status ds/agent -o jsonpath={.nodes[0:1].name}", "ipc-017\n"),
        ("history ds/agent -o jsonpath={.revisions[*].hash}", "hash15 hash14\n"),
    ] {
        let output = script().run(line).await;
        assert_eq!(output.text, names, "{line}: {}", output.error);
    }
}

#[tokio::test]
async fn wide_tables_have_more_columns() {
    assert_snapshot!(script().run("status -o wide").await.text);
    assert_snapshot!(script().run("status ds/agent -o wide").await.text);
    assert_snapshot!(script().run("history ds/agent -o wide").await.text);
}

#[test]
fn a_format_that_a_command_does_not_have_is_refused() {
    for (line, why) in [
        ("status -o yml", "did you mean `yaml`?"),
        ("status -o jsonpath={.items", "no closing brace"),
        ("diff agent -o wide", "`-o wide` is for tables: `status` and `history`"),
        ("history agent --revision 3 -o wide", "`-o wide` is for tables"),
        ("pause agent -o name", "`-o name` is for `status`"),
        ("agent -o wide", "`-o wide` is for what is printed once"),
        ("status agent --watch -o name", "`-o name` is for what is printed once"),
        ("completions bash -o jsonpath={.a}", "for commands that print JSON"),
        (
            "completions bash -o json",
            "`completions` prints a script for a shell, which is no data: leave `-o json` out",
        ),
        ("help drive -o yaml", "`help` prints text, which is no data: leave `-o yaml` out"),
        ("man -o json", "`man` prints a page for `man`, which is no data"),
        ("demo small --print -o json", "`demo --print` prints a scenario file, which is no data"),
        ("demo --reference -o json", "`demo --reference` prints a scenario file"),
        ("demo --serve -o yaml", "`demo --serve` prints a kubeconfig"),
        ("status agent -A", "cannot be used with"),
        ("-A agent", "cannot be used with"),
        ("-A pause agent", "`-A` is for lists"),
        ("-A status agent", "`-A` is for lists"),
    ] {
        let error = parse(std::iter::once("rolldeck").chain(line.split(' ')).map(Into::into)).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line}");
        assert!(error.to_string().contains(why), "{line}: {error}");
    }
}

/// As every document that rolldeck prints as JSON.
#[tokio::test]
async fn what_is_simulated_names_its_version_and_kind() {
    for (line, kind) in
        [("simulate --runs 1 --seed 1 -o json", "Simulation"), ("simulate --seed 1 --trace -o json", "SimulatedCase")]
    {
        let json: serde_json::Value = serde_json::from_str(&script().json(line).await).unwrap();
        assert_eq!((&json["apiVersion"], &json["kind"]), (&API_VERSION.into(), &kind.into()), "{line}");
        assert!(json["violations"].is_array(), "{line}: {json}");
    }
}
