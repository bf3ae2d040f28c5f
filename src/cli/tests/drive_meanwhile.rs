//! What changes of a rollout while `drive` waits or drives: what others ask for, and what holds it.

use super::script;
use super::script::{Script, at};
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::engine::model::driver::DriverView;
use crate::engine::model::node::{NodeState, RestartsView, RunEnd};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::Paused;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};

/// Flags that were given before somebody changed the rollout would undo that unseen: while the drive waits for the lease of a driver that has died, others
/// ask for something else.
#[tokio::test]
async fn a_drive_does_not_undo_what_others_asked_for_while_it_waited() {
    let holder = Str::from("ops@bastion-2/7");
    let mut named = script::held_by_nobody();
    named.driver = DriverView::Unconfirmed { holder: holder.clone(), renewed_at: Some(at(581)) };
    let lost = DriverView::Lost { holder, renewal_observed_at: at(0), renewed_at: None };
    let lost = Snapshot { driver: lost, ..named.clone() };
    let with = |change: fn(&mut Snapshot)| {
        let mut snapshot = lost.clone();
        change(&mut snapshot);
        snapshot
    };
    for (changed, what) in [
        (with(|it| it.plan.partition = Some(IntOrPercent::Int(117))), "how many nodes may be updated"),
        (with(|it| it.plan.selector = Some("line=line3".parse().unwrap())), "which nodes may be updated"),
        (with(|it| it.settings.gates.max_restarts = 7), "limits or gates"),
        (with(|it| it.requested_change = Some("agent=registry.example/agent:v3".into())), "another template"),
        (with(|it| it.to.as_mut().unwrap().hash = "hash16".into()), "another template"),
        (with(|it| it.paused = Some(Paused::new("eve@bastion".into(), at(590), None))), "a pause"),
    ] {
        assert!(changed != lost, "{what}");
        let script = Script::of(named.clone()).then(changed);
        let output = script.run("drive ds/agent --to 100%").await;
        assert_eq!((output.code, script.requests().len()), (6, 0), "{what}: {}", output.text);
        assert!(output.error.contains(&format!("somebody asked for {what}; now")), "{}", output.error);
        assert!(matches!(script.refused().as_slice(), [(Command::Step(_), _)]), "{:?}", script.refused());
    }
    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    let script = Script::of(named).then(lost.clone()).then(lost).then(halted);
    let output = script.run("drive ds/agent --to 100%").await;
    assert!(matches!(script.requests().first(), Some(Command::Step(_))), "{}{}", output.text, output.error);
}

/// A script that goes on after 0 expects on every node the image that it asked for.
#[tokio::test]
async fn a_drive_whose_image_was_replaced_by_somebody_does_not_end_as_done() {
    let now = |image: &str, snapshot: Snapshot| {
        let mut snapshot = snapshot;
        snapshot.to.as_mut().unwrap().images[0].1 = image.into();
        snapshot
    };
    let (ours, theirs) = ("registry.example/agent:v2.0.0", "registry.example/agent:v3.0.0");
    let idle = || Snapshot { phase: Phase::Idle, ..script::node_moves("ipc-020", NodeState::Updated) };
    for (last, code) in [(ours, 0), (theirs, 4)] {
        let script = Script::of(script::held_by_nobody())
            .then(now(ours, script::driving()))
            .then(now(last, script::node_moves("ipc-020", NodeState::Terminating)))
            .then(now(last, idle()));
        let output = script.run(&format!("drive ds/agent --image agent={ours} --to 100%")).await;
        assert_eq!(output.code, code, "{last}: {}", output.error);
        let told = format!("agent={ours} was asked for, and somebody has set another image since");
        assert_eq!(output.error.contains(&told), code == 4, "{}", output.error);
    }
}

/// A pod that restarted twice is watched for ten minutes, in which nothing else happens.
#[tokio::test]
async fn a_drive_says_for_how_long_a_pod_that_restarts_holds_the_others() {
    let restarted = |times| {
        let mut moved = script::node_moves("ipc-020", NodeState::Soaking);
        let node = |node: &NodeView| match &*node.name {
            "ipc-020" => NodeView {
                at_target: true,
                hold: None,
                restarted: Some(Box::new(RestartsView {
                    times,
                    evictions: times,
                    end: Some(RunEnd::Evicted),
                    until: Timestamp::default(),
                })),
                ..node.clone()
            },
            _ => node.clone(),
        };
        moved.nodes = moved.nodes.iter().map(node).collect();
        moved
    };
    let idle = Snapshot { phase: Phase::Idle, ..restarted(2) };
    let script = Script::of(script::held_by_nobody()).then(script::driving()).then(restarted(1)).then(restarted(2));
    let output = script.then(idle).run("drive ds/agent").await;
    let told: Vec<&str> = output.text.lines().filter(|line| line.contains("evict")).collect();
    let holds = "; no serving pod is replaced before it has been up for 10m";
    assert!(told.len() == 2 && !told[0].contains(holds) && told[1].ends_with(holds), "{}", output.text);
}
