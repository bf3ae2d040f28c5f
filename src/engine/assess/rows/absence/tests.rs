//! Replacements that are refused, or that nobody creates.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::command::{Command, Takeover};
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Gates, OnFailure, Tuning};
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

const QUOTA: &str = "Error creating: pods \"agent-8x2lq\" is forbidden: exceeded quota: edge, requested: pods=1";
const POLICY: &str = "Error creating: pods \"agent-8x2lq\" is forbidden: ValidatingAdmissionPolicy 'no' with binding \
                      'no' denied request: no";

/// A rollout to v2 over `nodes` nodes with a budget of 2, up to the first deletions, whose pods then are `refuses`d.
fn rollout(nodes: usize, refuses: Option<&str>) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(nodes, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.refuses = refuses.map(Into::into);
    (fake, console)
}

fn cause(snapshot: &Snapshot, node: &str) -> Option<(CauseKind, Option<String>)> {
    let cause = snapshot.nodes.iter().find(|view| &*view.name == node)?.cause.as_ref()?;
    Some((cause.kind, cause.message.as_deref().map(str::to_owned)))
}

#[test]
fn refused_replacements_halt_after_the_grace_of_a_missing_image() {
    for (said, kind, words) in [
        (QUOTA, CauseKind::QuotaExceeded, "quota exceeded on 1 node"),
        (POLICY, CauseKind::AdmissionRefused, "admission refused on 1 node"),
    ] {
        let (mut fake, mut console) = rollout(10, Some(said));
        console.partition(&mut fake, 9);
        console.run_for(&mut fake, 2);
        assert_eq!(console.state(&fake, "n1").0, NodeState::Creating);
        assert_eq!(cause(&console.snapshot(&fake), "n1"), Some((kind, Some(said.to_owned()))), "as the server said it");
        // A later step takes nothing meanwhile.
        console.partition(&mut fake, 0);
        assert_eq!(fake.deleted.len(), 1);
        assert_eq!(
            console.snapshot(&fake).nodes[1].hold,
            Some(Hold::Unproven { node: "n1".into(), cause: Some(kind) })
        );
        console.run_for(&mut fake, 5);
        let snapshot = console.snapshot(&fake);
        assert_eq!((snapshot.phase, snapshot.counts.failed), (Phase::Halted, 1));
        assert_eq!(snapshot.halt.unwrap().why.as_ref(), words);
        assert_eq!(console.state(&fake, "n1").0, NodeState::Failed);
        let mut other = FakeConsole::open(&fake, "eve");
        assert_eq!(other.state(&fake, "n1").0, NodeState::Failed, "who has just come is told by the record");
        // It lasts as long as it lasts, though nothing is said of it any more.
        console.run_for(&mut fake, 3_600);
        assert_eq!(cause(&console.snapshot(&fake), "n1").map(|(kind, _)| kind), Some(kind));
        assert_eq!(fake.deleted.len(), 1, "and nothing else was taken");
        // Until pods are created again.
        fake.refuses = None;
        console.run_for(&mut fake, 2);
        assert_eq!(console.state(&fake, "n1").0, NodeState::Updated);
        console.ask(&mut fake, Command::Resume).unwrap();
        console.run_for(&mut fake, 30);
        assert_eq!(fake.at("hash2"), 10);
    }
}

#[test]
fn refused_replacements_roll_back_where_the_gates_say_so() {
    let (mut fake, mut console) = rollout(10, Some(QUOTA));
    let gates = Gates { on_failure: OnFailure::RollBack, ..Gates::default() };
    console.ask(&mut fake, Command::Tune(gates.into())).unwrap();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 8);
    assert_eq!(fake.deleted.len(), 2, "the budget was used before anything was known");
    fake.refuses = None;
    console.run_for(&mut fake, 20);
    assert_eq!((fake.at("hash1"), fake.deleted.len()), (10, 2), "back, without touching any other");
}

#[test]
fn below_the_threshold_a_refusal_holds_what_serves_all_the_same() {
    let (mut fake, mut console) = rollout(10, Some(QUOTA));
    let threshold = Tuning { failure_threshold: Some(IntOrPercent::Int(3)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(threshold)).unwrap();
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 10);
    assert_eq!(console.state(&fake, "n1").0, NodeState::Failed);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    assert_eq!((fake.deleted.len(), console.snapshot(&fake).phase), (1, Phase::Running));
    assert_eq!(console.state(&fake, "n2").1, "trouble on n1: quota exceeded");
}

#[test]
fn who_goes_on_past_a_refusal_is_not_held_by_it_again() {
    let (mut fake, mut console) = rollout(10, Some(QUOTA));
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 10);
    console.ask(&mut fake, Command::Resume).unwrap();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 10);
    assert_eq!(fake.deleted.len(), 2, "one more, by the budget of two");
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.phase, Phase::Halted, "which is a failure of its own");
    assert_eq!(snapshot.halt.unwrap().named(), ["n2".into()]);
}

#[test]
fn a_refusal_outlives_the_driver_that_heard_it() {
    let (mut fake, mut console) = rollout(10, Some(QUOTA));
    let threshold = Tuning { failure_threshold: Some(IntOrPercent::Int(3)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(threshold)).unwrap();
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 3);
    drop(console);
    fake.wait(600);
    let mut next = FakeConsole::open(&fake, "eve");
    assert_eq!(next.state(&fake, "n1").0, NodeState::Creating, "it is counted since we look");
    assert_eq!(cause(&next.snapshot(&fake), "n1").map(|(kind, _)| kind), Some(CauseKind::QuotaExceeded));
    let _ = next.ask(&mut fake, Command::Drive(Takeover::IfFree));
    next.run_for(&mut fake, 20);
    assert_eq!(next.state(&fake, "n1").0, NodeState::Failed);
}

#[test]
fn what_was_refused_once_says_nothing_of_what_is_missing_now() {
    let (mut fake, mut console) = rollout(10, Some(QUOTA));
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 2);
    fake.refuses = None;
    console.run_for(&mut fake, 3);
    assert_eq!(console.state(&fake, "n1").0, NodeState::Updated);
    // A slow cluster: the next pod takes a while.
    fake.idle = true;
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 30);
    assert_eq!(cause(&console.snapshot(&fake), "n2").map(|(kind, _)| kind), Some(CauseKind::NotCreated));
    assert_eq!(console.snapshot(&fake).phase, Phase::Running);
    fake.idle = false;
    console.run_for(&mut fake, 3);
    assert_eq!(console.state(&fake, "n2").0, NodeState::Updated);
}

#[test]
fn a_controller_that_does_nothing_is_said_and_fails_at_the_deadline() {
    let (mut fake, mut console) = rollout(10, None);
    console.partition(&mut fake, 9);
    console.run(&mut fake);
    fake.idle = true;
    console.run_for(&mut fake, 39);
    assert!(console.snapshot(&fake).alarms.is_empty(), "a busy controller takes its time");
    console.run_for(&mut fake, 4);
    let snapshot = console.snapshot(&fake);
    let [alarm @ Alarm::ControllerIdle { missing: 1, unobserved: false, .. }] = &*snapshot.alarms else {
        panic!("{:?}", snapshot.alarms)
    };
    assert_eq!(
        alarm.to_string(),
        "no controller has acted for 40 s: is kube-controller-manager running? 1 node has no pod"
    );
    assert_eq!(console.state(&fake, "n1"), (NodeState::Creating, "controller idle".into()));
    // A console that was opened just now has it from the driver's record.
    let mut other = FakeConsole::open(&fake, "eve");
    assert!(matches!(&*other.snapshot(&fake).alarms, [Alarm::ControllerIdle { .. }]));
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 500);
    assert_eq!((fake.deleted.len(), console.snapshot(&fake).phase), (1, Phase::Running), "nothing else is taken");
    console.run_for(&mut fake, 70);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.phase, console.state(&fake, "n1").0), (Phase::Halted, NodeState::Failed));
    fake.idle = false;
    console.run_for(&mut fake, 2);
    let alarms = console.snapshot(&fake).alarms;
    assert!(!alarms.iter().any(|alarm| matches!(alarm, Alarm::ControllerIdle { .. })), "{alarms:?}");
}

#[test]
fn a_spec_that_is_not_observed_is_said() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    fake.idle = true;
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    console.ask(&mut fake, Command::SetImage(images)).unwrap_err();
    console.run_for(&mut fake, 45);
    let snapshot = console.snapshot(&fake);
    assert!(matches!(&*snapshot.alarms, [Alarm::ControllerIdle { missing: 0, unobserved: true, .. }]));
    fake.idle = false;
    fake.reconcile();
    console.run_for(&mut fake, 5);
    assert!(console.snapshot(&fake).alarms.is_empty());
}

#[test]
fn a_node_that_is_down_or_not_eligible_misses_no_pod() {
    let (mut fake, mut console) = rollout(10, None);
    console.partition(&mut fake, 8);
    console.run(&mut fake);
    fake.idle = true;
    fake.set_node_ready("n1", false);
    console.run_for(&mut fake, 100);
    assert_eq!(console.state(&fake, "n1").0, NodeState::NodeDown);
    assert_eq!(cause(&console.snapshot(&fake), "n2").map(|(kind, _)| kind), Some(CauseKind::ControllerIdle));
    let [Alarm::ControllerIdle { missing, .. }] = *console.snapshot(&fake).alarms else { panic!("no alarm") };
    assert_eq!(missing, 1, "only the one that is up");
}

/// The quota refuses the pods of the earlier revision as well, so a roll back brings nothing back. A policy may refuse the new revision only.
#[test]
fn what_helps_where_a_quota_refuses_the_pods_is_offered_first() {
    let first = |said: &str| {
        let (mut fake, mut console) = rollout(10, Some(said));
        console.partition(&mut fake, 9);
        console.run_for(&mut fake, 10);
        let snapshot = console.snapshot(&fake);
        assert_eq!(snapshot.phase, Phase::Halted);
        snapshot.remedies()[0]
    };
    assert_eq!((first(QUOTA), first(POLICY)), (Remedy::ResumeWithQuota, Remedy::Undo));
    assert!(Remedy::ResumeWithQuota.to_string().contains("first raise the namespace's ResourceQuota"));
    // Below the threshold nobody has to resume.
    let (mut fake, mut console) = rollout(10, Some(QUOTA));
    let threshold = Tuning { failure_threshold: Some(IntOrPercent::Int(3)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(threshold)).unwrap();
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 10);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.remedies(), []);
    let guidance = snapshot.guidance().unwrap();
    assert!(
        guidance.waits.contains("raise the ResourceQuota, which an earlier revision needs as well"),
        "{}",
        guidance.waits
    );
    fake.refuses = None;
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 10, "it goes on by itself");
}
