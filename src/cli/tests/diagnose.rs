//! `diagnose`: what is wrong, cause by cause.

use insta::assert_snapshot;

use super::script::{Script, node, rollout};
use crate::engine::model::amount::Amount;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::inspection::{Inspection, Reading};
use crate::engine::model::node::NodeState;
use crate::engine::model::occupancy::{HeldResource, NodeOccupancy};
use crate::engine::model::record::{By, HaltingGate, OURSELVES, Paused};
use crate::engine::report::snapshot::{Alarm, NodeView, Phase, Snapshot};

#[tokio::test]
async fn a_diagnosis_tells_each_cause_once() {
    let mut snapshot = rollout();
    let output = Script::of(snapshot.clone()).run("diagnose ds/agent").await;
    assert_eq!(output.code, 4, "something is wrong");
    assert_snapshot!(output.text);
    let json = Script::of(snapshot.clone()).json("diagnose ds/agent -o json").await;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["kind"], &json["findings"][0]["wrong"]), (&"Diagnosis".into(), &true.into()));
    // Where it can be rolled back, each arrow that says so has the command.
    let why = "image not found on 1 node".into();
    let halted = Snapshot {
        alarms: vec![Alarm::Halted { gate: HaltingGate::default(), why }],
        phase: Phase::Halted,
        ..snapshot.clone()
    };
    let text = Script::of(halted).run("diagnose ds/agent").await.text;
    for remedy in ["give the DaemonSet an image that is there, or roll back", "roll back if others follow it"] {
        let arrow = format!("    → {remedy}: rolldeck undo --context prod-eu -n edge ds/agent\n");
        assert!(text.contains(&arrow), "{text}");
    }
    let mut nodes = snapshot.nodes.to_vec();
    nodes.retain(|node| node.state == NodeState::Updated);
    (snapshot.nodes, snapshot.alarms) = (nodes.into(), Vec::new());
    (snapshot.counts.failed, snapshot.phase) = (0, Phase::Complete);
    let output = Script::of(snapshot).run("diagnose ds/agent").await;
    assert_eq!(output.code, 0);
    assert!(output.text.contains("nothing is wrong, and nothing waits"), "{}", output.text);
}

/// How a rollout stands has one exit code, by whichever command somebody looks.
#[tokio::test]
async fn a_diagnosis_ends_as_the_status_does() {
    let now = rollout().at;
    let by_rolldeck = Paused::new(OURSELVES.into(), now, None);
    let phases = [
        (Phase::Idle, 3),
        (Phase::Native, 3),
        (Phase::Preparing, 3),
        (Phase::Held, 3),
        (Phase::Running, 3),
        (Phase::Paused(Paused::new("ada@bastion-3".into(), now, None)), 3),
        (Phase::Paused(by_rolldeck), 4),
        (Phase::Halted, 4),
        (Phase::Complete, 0),
        (Phase::Releasing(By { by: "ada@bastion-3".into(), at: now }), 3),
    ];
    for (phase, code) in phases {
        for failed in [0, 1] {
            let mut snapshot = Snapshot { phase: phase.clone(), ..rollout() };
            snapshot.counts.failed = failed;
            let script = Script::of(snapshot);
            let (status, diagnose) = (script.run("status ds/agent").await, script.run("diagnose ds/agent").await);
            let code = if failed > 0 { 4 } else { code };
            assert_eq!((status.code, diagnose.code), (code, code), "{phase:?}, {failed} failed");
        }
    }
}

/// Each cause comes with a command that shows more of it, also as the words that a program passes on; and with the way back.
#[tokio::test]
async fn each_cause_has_a_command_to_look_further() {
    let mut snapshot = Snapshot { namespace: "edge one".into(), ..rollout() };
    let crashing = |name: &str, kind| {
        let cause = Cause { kind, container: Some("agent".into()), message: None };
        NodeView {
            pod: Some("agent-x".into()),
            restarts: 2,
            cause: Some(cause.into()),
            ..node(name, NodeState::Failed)
        }
    };
    snapshot.nodes = [crashing("n1", CauseKind::CrashLoop), crashing("n2", CauseKind::VolumeMount)].into();
    let script = Script::of(snapshot);
    let text = script.run("diagnose ds/agent").await.text;
    for command in [
        "what agent wrote on n1: kubectl --context prod-eu logs -n 'edge one' agent-x -c agent --previous",
        "more of the pod of n1, with its Events: kubectl --context prod-eu describe pod -n 'edge one' agent-x",
        "more of the pod of n2, with its Events: kubectl --context prod-eu describe pod -n 'edge one' agent-x",
        "roll back: rolldeck undo --context prod-eu -n 'edge one' ds/agent",
    ] {
        assert!(text.contains(command), "{command}\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&script.json("diagnose ds/agent -o json").await).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let crash = findings.iter().find(|finding| finding["cause"] == "crash loop").unwrap();
    let argv = |nth: usize| crash["commands"][nth]["argv"].clone();
    assert_eq!(argv(0), serde_json::json!(["rolldeck", "undo", "--context", "prod-eu", "-n", "edge one", "ds/agent"]));
    let log = ["kubectl", "--context", "prod-eu", "logs", "-n", "edge one", "agent-x", "-c", "agent", "--previous"];
    assert_eq!(argv(1), serde_json::json!(log));
}

#[tokio::test]
async fn a_diagnosis_names_the_pods_that_hold_what_is_scarce() {
    let mut snapshot = rollout();
    let mut nodes = snapshot.nodes.to_vec();
    let message = Some("0/9 nodes are available: 1 Insufficient cpu".into());
    nodes[0].cause = Some(Cause { kind: CauseKind::Unschedulable, container: None, message }.into());
    nodes[0].pod = Some("agent-x".into());
    let name = nodes[0].name.clone();
    snapshot.nodes = nodes.into();
    let resource = HeldResource { name: "cpu".into(), request: Amount::whole(2), ..HeldResource::default() };
    let occupancy = NodeOccupancy { resources: vec![resource], pods: 3, is_cut: false };
    let reading = |occupancy| Inspection { occupancy, ..Inspection::default() };
    let script = Script::of(snapshot).reads(reading(Reading::Read(occupancy)));
    let words = format!("cpu of {name}: ? allocatable, 0 requested by 3 pods, this pod asks for 2");
    let text = script.run("diagnose ds/agent").await.text;
    assert!(text.contains(&words), "{text}");
    let json: serde_json::Value = serde_json::from_str(&script.json("diagnose ds/agent -o json").await).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["cause"] == "unschedulable").unwrap();
    assert_eq!(&finding["held"][0], &words);
    let script = script.reads(reading(Reading::Failed("pods is forbidden".into())));
    let text = script.run("diagnose ds/agent").await.text;
    assert!(text.contains("cannot be read: pods is forbidden"), "{text}");
    assert!(text.contains(&format!("describe node {name}")), "{text}");
}

/// What stands above the findings as text is in the JSON, in the words of `status`.
#[tokio::test]
async fn the_json_of_a_diagnosis_has_the_obstacle_and_what_is_next_as_status_has() {
    let script = Script::of(crate::cli::tests::script::held_by_nobody());
    let json = async |line: &str| -> serde_json::Value { serde_json::from_str(&script.json(line).await).unwrap() };
    let (diagnose, status) = (json("diagnose ds/agent -o json").await, json("status ds/agent -o json").await);
    let waits = diagnose["blocker"].as_str().unwrap();
    assert!(script.run("diagnose ds/agent").await.text.contains(waits), "{waits}");
    assert_eq!((&diagnose["blocker"], &diagnose["next"]), (&status["blocker"], &status["next"]));
    assert!(!diagnose["next"].as_array().unwrap().is_empty());
}
