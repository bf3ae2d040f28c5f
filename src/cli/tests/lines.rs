//! Single lines of `status` and of its table of nodes.

use std::time::Duration;

use super::script::{Script, cause, node, rollout};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::record::{By, Paused};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};
use serde_json::json;

/// A DaemonSet that was handed back before all nodes were updated: no partition keeps anything from its controller.
#[tokio::test]
async fn nothing_is_kept_where_no_rollout_is_recorded() {
    let plan = async |snapshot| {
        let json: serde_json::Value =
            serde_json::from_str(&Script::of(snapshot).run("status ds/agent -o json").await.text).unwrap();
        let plan = &json["plan"];
        json!([plan["partition"], plan["keep"], plan["allowed"]])
    };
    let handed_back = Snapshot {
        phase: Phase::Native,
        strategy: StrategyKind::RollingUpdate,
        started_at: None,
        adopted: false,
        ..rollout()
    };
    assert_eq!(plan(handed_back).await, json!([null, null, null]));
    let releasing =
        Snapshot { phase: Phase::Releasing(By { by: "ada".into(), at: Timestamp::default() }), ..rollout() };
    let text = Script::of(releasing.clone()).run("status ds/agent").await.text;
    assert!(!text.contains("  plan ") && !text.contains("  gates "), "{text}");
    assert_eq!(plan(releasing).await, json!([null, null, null]));
    assert_eq!(plan(rollout()).await, json!(["50%", 60, 60]));
}

/// Without a record the limits are those that a rollout begins with: said as such, and marked in the JSON.
#[tokio::test]
async fn limits_that_nobody_set_are_said_to_be_defaults() {
    let idle = Snapshot { phase: Phase::Idle, started_at: None, adopted: false, ..rollout() };
    let mut set = idle.clone();
    set.settings.budgets.max_pulling = "3".parse().unwrap();
    let most = idle.budget.max_pulling;
    let budget = async |snapshot: &Snapshot| {
        let text = Script::of(snapshot.clone()).run("status ds/agent").await.text;
        text.lines().find(|line| line.starts_with("  budget ")).unwrap().to_owned()
    };
    let line = budget(&idle).await;
    assert!(line.contains(&format!(", pull slots {most} by default once a rollout begins")), "{line}");
    let line = budget(&set).await;
    assert!(line.contains(&format!(", pull slots {most} once a rollout begins")), "{line}");
    let by_default = async |snapshot: Snapshot| -> Vec<String> {
        let json: serde_json::Value =
            serde_json::from_str(&Script::of(snapshot).run("status ds/agent -o json").await.text).unwrap();
        serde_json::from_value(json["byDefault"].clone()).unwrap()
    };
    let all = by_default(Snapshot { settings: Default::default(), ..idle }).await;
    for name in ["budgets.maxUnavailable", "budgets.maxPulling", "gates.onFailure", "onDrift"] {
        assert!(all.contains(&name.to_owned()), "{name}: {all:?}");
    }
    assert!(!by_default(set).await.contains(&"budgets.maxPulling".to_owned()));
}

/// A template that was just changed has no revision before its controller makes one; pods that are outdated by it have not changed.
#[tokio::test]
async fn a_change_of_the_template_is_told_without_numbers_that_are_not_known() {
    let mut before = Snapshot { phase: Phase::Running, ..rollout() };
    before.counts.failed = 0;
    let mut after = Snapshot { to: None, image_changes: Vec::new(), ..before.clone() };
    let mut nodes = after.nodes.to_vec();
    nodes.iter_mut().filter(|node| node.state == NodeState::Updated).for_each(|node| node.state = NodeState::Outdated);
    (after.nodes, after.counts.updated) = (nodes.into(), 0);
    let complete = Snapshot { phase: Phase::Complete, ..after.clone() };
    let text = Script::of(before).then(after).then(complete).run("status ds/agent --watch").await.text;
    let words = "edge/agent: the template changed; its controller has not made a revision of it yet";
    assert_eq!(text.lines().filter(|line| line.contains(words)).count(), 1, "{text}");
    assert!(!text.contains(" → outdated") && !text.contains("rev ?") && !text.contains(": outdated"), "{text}");
}

/// Whoever looks once cannot see whether a driver lives that should have renewed its lease: the command is offered for the case that not.
#[tokio::test]
async fn a_driver_that_is_silent_is_followed_by_the_command_that_drives() {
    let driven = |renewed_at| {
        let driver = DriverView::Unconfirmed { holder: "ops@bastion-2/7".into(), renewed_at: Some(renewed_at) };
        Snapshot { phase: Phase::Running, driver, ..rollout() }
    };
    let of = async |snapshot: Snapshot| Script::of(snapshot).run("status ds/agent").await.text;
    let now = rollout().at;
    let silent = of(driven(now - Duration::from_secs(20))).await;
    assert!(
        silent.contains("renewed its lease 20s ago by its clock; if it has ended, nothing more is started\n"),
        "{silent}"
    );
    assert_eq!(silent.matches("rolldeck drive ").count(), 1, "{silent}");
    assert!(
        silent.contains("  next     rolldeck drive --context prod-eu -n edge ds/agent   (drives it)\n"),
        "{silent}"
    );
    let paused = Paused::new("ada".into(), now, None);
    let paused = Snapshot { phase: Phase::Paused(paused), ..driven(now - Duration::from_secs(20)) };
    let paused = of(paused).await;
    assert!(
        paused.contains("if it has ended, `rolldeck drive --context prod-eu -n edge ds/agent` is to follow a resume"),
        "{paused}"
    );
    let lives = of(driven(now - Duration::from_secs(3))).await;
    assert!(!lives.contains("if it has ended"), "{lives}");
    // In a diagnosis what can be done about it stands below it, not above every cause.
    let diagnosed = Script::of(driven(now - Duration::from_secs(20))).run("diagnose ds/agent").await.text;
    let lines: Vec<&str> = diagnosed.lines().collect();
    let below = |pair: &[&str]| pair[0].contains("renewed its lease 20s ago") && pair[1].contains("→ rolldeck drive");
    assert!(lines.windows(2).any(below), "{diagnosed}");
}

/// As in the console: what needs a look is on top, whatever the engine's order is.
#[tokio::test]
async fn nodes_that_need_a_look_are_on_top() {
    let blamed = |name: &str, state, blame| NodeView { blame: Some(blame), ..node(name, state) };
    let starts = Cause { kind: CauseKind::NotReady, container: None, message: None };
    let nodes = [
        NodeView { cause: Some(starts.into()), ..blamed("begins", NodeState::Starting, Blame::Rollout) },
        node("waits", NodeState::Outdated),
        blamed("down", NodeState::NodeDown, Blame::Node),
        NodeView { blame: Some(Blame::PreExisting), ..cause(node("old-fails", NodeState::Outdated)) },
        node("updated", NodeState::Updated),
        blamed("suspect", NodeState::NodeDown, Blame::Suspect),
        cause(node("pull-fails", NodeState::PullFailed)),
        node("failed", NodeState::Failed),
    ];
    let script = Script::of(Snapshot { nodes: nodes.into(), ..rollout() });
    for line in ["status ds/agent --nodes", "status ds/agent -o wide"] {
        let text = script.run(line).await.text;
        let table = text.lines().skip_while(|line| !line.starts_with("NODE "));
        let names: Vec<&str> = table.skip(1).filter_map(|line| line.split(' ').next()).collect();
        let pinned = ["suspect", "pull-fails", "failed", "old-fails", "down"];
        assert_eq!(names, [&pinned[..], &["begins", "waits", "updated"]].concat(), "{text}");
    }
}

/// No alarm names a failure past which an operator resumed: the line that counts it says so.
#[tokio::test]
async fn a_failure_that_was_accepted_has_a_line_of_its_own() {
    let failed = |name: &str, accepted| NodeView { accepted, ..cause(node(name, NodeState::Failed)) };
    let nodes = [failed("ipc-001", true), failed("ipc-002", false)].into();
    let text = Script::of(Snapshot { nodes, ..rollout() }).run("status ds/agent").await.text;
    let lines: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("failed ")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines.iter().any(|line| line.ends_with(", accepted: ipc-001")), "{lines:?}");
    assert!(lines.iter().any(|line| line.ends_with(": ipc-002") && !line.contains("accepted")), "{lines:?}");
}
