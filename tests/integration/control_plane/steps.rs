//! Steps, selectors and `resume`, on real controllers: a step that allows no further node is refused, lifting a selector
//! allows no further node, and resuming past a halt needs confirmation.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::{DS, MISSING, NODES, RolloutFixture};
use crate::support::line::{Line, server_of};
use crate::support::program::{Operator, text};

const V2: &str = "agent=registry.test/agent:v2";
/// How long the test watches for something that must not happen.
const QUIET: Duration = Duration::from_secs(3);
const SOON: Duration = Duration::from_secs(120);

#[test]
fn lifting_a_selector_updates_no_node_before_the_next_step() {
    let Some(fixture) = RolloutFixture::new("letting-go") else { return };
    let operator = fixture.operator();
    let canaries: BTreeSet<String> = [3, 11, 17].into_iter().map(|nth| fixture.nodes[nth].clone()).collect();
    for node in &canaries {
        fixture.label(node, &json!({"canary": "true"}));
    }
    operator.ok(&["set-image", DS, V2, "--yes"]);
    operator.ok(&["select", DS, "canary=true", "--yes"]);
    let driver = operator.drive(DS, &[]);
    until_status(&operator, "somebody drives", |status| status["driver"]["state"] != "nobody");
    assert_eq!(blocker(&operator), "held: no node may be updated yet");

    operator.ok(&["step", DS, "--yes"]);
    fixture.until("one canary serves v2", |witness| witness.serving(":v2").len() == 1);
    // The plan's next step is 10 %: 2 of 20 nodes; the one after it 50 %, of which the selector leaves 3.
    operator.ok(&["step", DS, "--yes"]);
    fixture.until("two canaries serve v2", |witness| witness.serving(":v2").len() == 2);
    let output = operator.ok(&["step", DS, "--yes"]);
    assert!(output.contains("1 node more may be updated (3 in total)"), "{output}");
    assert!(
        output.contains("of which canary=true lets only 3 be updated; the others wait until it is lifted"),
        "{output}"
    );
    fixture.until("the canaries serve v2", |witness| witness.serving(":v2") == canaries);
    until_status(&operator, "it is held", |status| status["phase"] == "held");

    let done = "canary done, 3 of 3 (canary=true)";
    assert_eq!(blocker(&operator), done);
    for _ in 0..3 {
        let refused = operator.run(&["step", DS, "--yes"]);
        assert_eq!(refused.status.code(), Some(6), "{}", text(&refused));
        assert!(text(&refused).contains("a step moves nothing: canary done, 3 of 3"), "{}", text(&refused));
    }
    let status = operator.status(DS).0;
    assert_eq!((&status["plan"]["allowed"], &status["plan"]["keep"]), (&json!(3), &json!(NODES - 3)));
    let offered: Vec<&str> =
        status["next"].as_array().unwrap().iter().filter_map(|it| it["command"].as_str()).collect();
    assert!(offered.iter().any(|command| command.contains("select --clear")), "{offered:?}");
    assert!(!offered.iter().any(|command| command.contains(" step ")), "{offered:?}");

    operator.ok(&["select", DS, "--clear", "--yes"]);
    std::thread::sleep(QUIET);
    assert_eq!(fixture.witness.serving(":v2"), canaries, "lifting the selector frees nothing by itself");
    let output = operator.ok(&["step", DS, "--yes"]);
    assert!(output.contains("7 nodes more may be updated (10 in total)"), "{output}");
    fixture.until("ten nodes serve v2", |witness| witness.serving(":v2").len() == 10);
    drop(driver);
}

/// Ada's requests take four seconds. While her step is on its way, Bob takes a smaller step: her step is then refused.
#[test]
fn a_step_that_arrives_late_does_not_undo_a_later_one() {
    let Some(fixture) = RolloutFixture::new("late-step") else { return };
    let (bob, mut ada) = (fixture.operator(), fixture.operator());
    bob.ok(&["set-image", DS, V2, "--yes"]);
    let line = Line::to(&server_of(ada.kubeconfig()), Duration::from_secs(4));
    ada.use_kubeconfig(line.kubeconfig(ada.kubeconfig()));
    let mut late = ada.start(&["step", DS, "--partition", "0", "--yes"]);
    late.until("leases/rolldeck-agent");
    // Her write is held back until his is done, however long that takes on a busy machine.
    line.hold(true);
    bob.ok(&["step", DS, "--partition", "15", "--yes"]);
    line.hold(false);
    assert_eq!(late.end().code(), Some(6), "{}", late.seen());
    let why = "the partition was set to 15 since this was asked for: look, and ask again if it is still wanted";
    let audited = ada.audit();
    assert!(audited.iter().any(|line| line.to_string().contains(why)), "{audited:#?}");
    let plan = &bob.status(DS).0["plan"];
    assert_eq!((&plan["allowed"], &plan["keep"]), (&json!(5), &json!(15)), "{plan}");
}

#[test]
fn resuming_past_a_halt_needs_confirmation() {
    let Some(fixture) = RolloutFixture::new("past-a-halt") else { return };
    let operator = fixture.operator();
    let missing = format!("agent={MISSING}");
    let mut driver = operator.drive(DS, &["--image", &missing, "--to", "2"]);
    assert_eq!(driver.end().code(), Some(4), "{}", driver.seen());

    let allowed = operator.status(DS).0["plan"]["allowed"].clone();
    for line in [["step", DS, "--yes"].as_slice(), &["step", DS, "--to", "100%", "--yes"]] {
        let refused = operator.run(line);
        assert_eq!(refused.status.code(), Some(6), "{}", text(&refused));
        assert!(text(&refused).contains("halted: image not found on "), "{}", text(&refused));
        assert!(text(&refused).contains("`resume` goes on past it, `undo` goes back"), "{}", text(&refused));
    }
    assert_eq!(operator.status(DS).0["plan"]["allowed"], allowed);

    // Another node may fail before the next command.
    let failed = operator.status(DS).nodes(|node| node["state"] == "failed");
    let output = operator.ok(&["resume", DS, "--dry-run"]);
    let accepts = |node: &String| {
        let mut lines = output.lines().filter_map(|line| line.trim().strip_prefix(&format!("{node}: ")));
        lines.any(|why| why.contains("image not found"))
    };
    assert!(!failed.is_empty() && accepts(&failed[0]), "{failed:?}: {output}");
    let refused = operator.run(&["resume", DS]);
    assert_eq!(refused.status.code(), Some(6), "{}", text(&refused));
    assert!(text(&refused).contains(" --yes` confirms it"), "{}", text(&refused));
    assert_eq!(operator.status(DS).0["phase"], "halted");
    let output = operator.ok(&["resume", DS, "--yes"]);
    assert!(output.contains("resumed; accepted: image not found on "), "{output}");
    assert_ne!(operator.status(DS).0["phase"], "halted");
}

fn blocker(operator: &Operator) -> String {
    operator.status(DS).0["blocker"].as_str().unwrap_or_default().to_owned()
}

fn until_status(operator: &Operator, what: &str, holds: impl Fn(&Value) -> bool) {
    operator.until_status(DS, what, SOON, holds);
}
