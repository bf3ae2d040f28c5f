//! What a release does to pods on nodes that should not run them any more, and when it waits.

use serde_json::json;

use crate::engine::command::{Command, Danger, Early};
use crate::engine::facts::TaintEffect;
use crate::engine::lab::{Console, Lab};
use crate::engine::record::ORIGINAL_STRATEGY;
use crate::engine::snapshot::{Alarm, NodeState, Phase};

const DEDICATED: (&str, &str, TaintEffect) = ("m", "x", TaintEffect::NoSchedule);

/// Ten nodes, of which n8 to n10 are tainted when a rollout of v2 has begun; all others are brought to v2.
fn tainted() -> (Lab, Console) {
    let mut lab = Lab::rolling(10, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    for node in ["n8", "n9", "n10"] {
        lab.set_taints(node, &[DEDICATED]);
    }
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 30);
    (lab, console)
}

fn is_released(lab: &Lab) -> bool {
    lab.daemonset.annotations.get(ORIGINAL_STRATEGY).is_none()
}

#[test]
fn a_release_that_nobody_asked_for_waits_while_it_would_cost_serving_pods() {
    let (lab, mut console) = tainted();
    let snapshot = console.snapshot(&lab);
    assert_eq!((snapshot.counts.nodes, snapshot.counts.updated), (7, 7));
    assert_eq!((snapshot.counts.misscheduled, snapshot.counts.removed_by_release), (3, 3));
    assert_eq!(
        (snapshot.phase.clone(), snapshot.doing().to_string()),
        (Phase::Complete, "complete, the release waits".into())
    );
    assert_eq!(
        snapshot.alarms.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["every node is updated, the release waits: it would remove 3 serving pods for good, on n8, n9, n10 \
          (taint m=x:NoSchedule not tolerated)"]
    );
    assert!(!is_released(&lab));
    assert_eq!(
        console.state(&lab, "n9"),
        (NodeState::Ineligible, "taint m=x:NoSchedule not tolerated; its old pod serves".into())
    );
    assert_eq!((lab.deleted.len(), lab.at("hash1")), (7, 3), "and they are left alone");
}

#[test]
fn it_goes_on_by_itself_once_they_are_tolerated_again_and_updates_them_first() {
    let (mut lab, mut console) = tainted();
    for node in ["n8", "n9", "n10"] {
        lab.set_taints(node, &[]);
    }
    console.run_for(&mut lab, 20);
    assert_eq!((lab.at("hash2"), is_released(&lab)), (10, true));
    assert!(lab.worst_down <= 2);
}

#[test]
fn it_goes_on_by_itself_once_they_do_not_serve() {
    let (mut lab, mut console) = tainted();
    for node in ["n8", "n9", "n10"] {
        lab.set_ready(node, false);
    }
    console.run_for(&mut lab, 290);
    assert!(!is_released(&lab), "what flaps is not given up for that");
    assert!(console.snapshot(&lab).alarms[0].to_string().contains("3 pods that serve or did within 5m for good"));
    console.run_for(&mut lab, 20);
    assert!(is_released(&lab));
}

#[test]
fn an_operator_is_told_which_pods_a_release_removes_and_has_the_last_word() {
    let (mut lab, mut console) = tainted();
    lab.set_ready("n8", false);
    console.run_for(&mut lab, 301);
    let refused = console.ask(&mut lab, Command::Release(Early::Refuse)).unwrap_err();
    assert!(
        refused.contains("nodes that should not run them any more have 2 serving pods: n9, n10 (taint"),
        "{refused}"
    );
    let preview = console.engine.preview(&Command::Release(Early::Accept), lab.now).unwrap();
    assert_eq!(preview.danger, Danger::Beyond);
    assert_eq!(
        preview.effects,
        [
            "Restores the original update strategy and drops the rollout's record.",
            "The controller deletes 2 serving pods on nodes that should not run them any more, and makes none there: n9, \
             n10 (taint m=x:NoSchedule not tolerated).",
            "It deletes 1 pod that does not serve there too: n8 (taint m=x:NoSchedule not tolerated).",
        ]
    );
    console.ask(&mut lab, Command::Release(Early::Accept)).unwrap();
    assert!(is_released(&lab));
}

#[test]
fn what_was_decided_before_the_taint_was_seen_is_called_off() {
    let mut lab = Lab::rolling(4, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    lab.set_taints("n4", &[DEDICATED]);
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 10);
    assert!(!is_released(&lab));
    // The record says that it is handed back, as a driver wrote who did not see the taint.
    let lease = lab.lease.as_mut().unwrap();
    let record = lease.record.as_mut().unwrap().as_mut().unwrap();
    record.intent.releasing = Some(crate::engine::record::By { by: "rolldeck".into(), at: lab.now });
    lab.tell_lease();
    console.run_for(&mut lab, 10);
    assert!(!is_released(&lab));
    assert!(console.snapshot(&lab).release_waits());
    lab.set_taints("n4", &[]);
    console.run_for(&mut lab, 10);
    assert_eq!((lab.at("hash2"), is_released(&lab)), (4, true));
}

#[test]
fn where_the_original_strategy_is_on_delete_nothing_is_removed_and_nothing_waits() {
    let mut lab = Lab::new(4, json!({"type": "OnDelete"}));
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    lab.set_taints("n4", &[DEDICATED]);
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 10);
    assert!(is_released(&lab));
    assert_eq!(lab.at("hash1"), 1);
}

#[test]
fn pods_at_the_current_revision_stay_whatever_their_node_says() {
    let mut lab = Lab::rolling(4, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 2);
    console.run_for(&mut lab, 10);
    lab.set_taints("n1", &[DEDICATED]);
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 10);
    assert!(is_released(&lab), "{:?}", console.snapshot(&lab).alarms);
    assert!(!console.snapshot(&lab).alarms.iter().any(|alarm| matches!(alarm, Alarm::ReleaseWaits { .. })));
}

#[test]
fn a_node_that_is_down_holds_the_release_as_before() {
    let mut lab = Lab::rolling(4, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    lab.set_node_ready("n4", false);
    let down = "node.kubernetes.io/unreachable";
    lab.set_taints("n4", &[(down, "", TaintEffect::NoSchedule), (down, "", TaintEffect::NoExecute)]);
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 10);
    assert!(!is_released(&lab));
    let preview = console.engine.preview(&Command::Release(Early::Accept), lab.now).unwrap();
    assert_eq!(
        preview.effects[1..],
        [
            "1 pod is not at the current revision: the controller replaces them by itself then.",
            "Of these 1 pod is on nodes that are down: deleted, and made anew once the node is Ready: n4.",
        ]
    );
}

/// A policy that came into force since the template was written would rewrite it with the release, and the controller would
/// roll that out by itself.
#[test]
fn a_release_is_not_made_where_admission_would_change_the_template_with_it() {
    let mut lab = Lab::rolling(6, 2);
    let original = lab.daemonset.strategy.raw.clone();
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    lab.pins_images = true;
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 60);
    let snapshot = console.snapshot(&lab);
    assert_eq!((lab.at("hash2"), is_released(&lab)), (6, false));
    assert_eq!(snapshot.phase, Phase::Releasing);
    let failing = |alarm: &Alarm| matches!(alarm, Alarm::WriteFailing { why } if why.contains("admission"));
    assert!(snapshot.alarms.iter().any(failing), "{:?}", snapshot.alarms);
    let taken = lab.deleted.len();

    // What it makes of the template is rolled out first, as every other change is.
    let pinned = format!("agent:v2@sha256:{:064x}", "agent:v2".len());
    let images = [("agent".to_owned(), pinned.parse().unwrap())].into();
    console.engine.command(Command::SetImage(images), lab.now).unwrap();
    console.run_for(&mut lab, 60);
    assert_eq!(
        (&*lab.daemonset.template.images()[0], lab.deleted.len()),
        (&*pinned, taken),
        "not before its first step"
    );
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 60);
    assert_eq!((lab.deleted.len(), lab.worst_down), (taken + 6, 2));
    assert!(is_released(&lab));
    assert_eq!(lab.daemonset.strategy.raw, original);
}
