//! `diagnose`: what is wrong, cause by cause.

use insta::assert_snapshot;

use super::script::{Script, rollout};
use crate::engine::model::amount::Amount;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::inspection::{Inspection, Reading};
use crate::engine::model::node::NodeState;
use crate::engine::model::occupancy::{HeldResource, NodeOccupancy};
use crate::engine::model::record::HaltingGate;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

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
    let output = Script::of(snapshot).run("diagnose ds/agent").await;
    assert_eq!(output.code, 0);
    assert!(output.text.contains("nothing is wrong, and nothing waits"), "{}", output.text);
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
    let resource = HeldResource { name: "cpu".into(), asked: Amount::whole(2), ..HeldResource::default() };
    let occupancy = NodeOccupancy { resources: vec![resource], pods: 3, is_cut: false };
    let reading = |occupancy| Inspection { occupancy, ..Inspection::default() };
    let script = Script::of(snapshot).reads(reading(Reading::Read(occupancy)));
    let words = format!("cpu of {name}: ? allocatable, 0 requested by 3 pods, this pod asks for 2");
    let text = script.run("diagnose ds/agent").await.text;
    assert!(text.contains(&words), "{text}");
    let json: serde_json::Value = serde_json::from_str(&script.json("diagnose ds/agent -o json").await).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["cause"] == "unschedulable").unwrap();
    assert_eq!((&finding["held"][0], finding.get("commands")), (&words.into(), None));
    let script = script.reads(reading(Reading::Failed("pods is forbidden".into())));
    let text = script.run("diagnose ds/agent").await.text;
    assert!(text.contains("cannot be read: pods is forbidden"), "{text}");
    assert!(text.contains(&format!("describe node {name}")), "{text}");
}
