//! Argo CD sets the strategy back, and the template: what is done about it, and what is said.

use std::time::Duration;

use serde_json::json;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, Step};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::node::NodeState;
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::record::ORIGINAL_STRATEGY;
use crate::engine::model::settings::{OnDrift, Pace, Secs, Tuning};
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

const ARGO_CD: &str = "argocd-controller";
const WHO: &str = "argocd-controller of Argo CD (application edge-agents)";
const HOLDING: &str = "argocd app set edge-agents --sync-policy none";

/// Twenty nodes under Argo CD, half of them on their way to `agent:v2` under the control of `ops`.
fn under_way(on_drift: OnDrift) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.daemonset.labels = [("argocd.argoproj.io/instance", "edge-agents")].into_iter().collect();
    fake.daemonset.owners.template = Some(ARGO_CD.into());
    let mut console = FakeConsole::open(&fake, "ops");
    let image = Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    console.ask(&mut fake, image.under(Tuning { on_drift: Some(on_drift), ..Tuning::default() })).unwrap();
    console.partition(&mut fake, 10);
    console.run_for(&mut fake, 3);
    (fake, console)
}

fn drift(fake: &mut FakeCluster) {
    fake.daemonset.owners.strategy = Some(ARGO_CD.into());
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}));
    fake.reconcile();
}

fn on_delete(fake: &FakeCluster) -> bool {
    fake.daemonset.strategy.kind == StrategyKind::OnDelete
}

fn said(snapshot: &Snapshot) -> Vec<String> {
    snapshot.alarms.iter().map(ToString::to_string).collect()
}

#[test]
fn a_drift_is_reported_with_who_it_was_and_how_to_hold_them() {
    let (mut fake, mut console) = under_way(OnDrift::Report);
    drift(&mut fake);
    console.run_for(&mut fake, 5);
    assert!(!on_delete(&fake), "nobody chose to fight");
    let snapshot = console.snapshot(&fake);
    assert_eq!(
        said(&snapshot),
        [format!("the update strategy was changed back by {WHO}: its controller replaces pods by itself")]
    );
    assert!(snapshot.alarms[0].suspend_hint().unwrap().starts_with(HOLDING), "{:?}", snapshot.alarms[0]);
    let Phase::Paused(paused) = &snapshot.phase else { panic!("{:?}", snapshot.phase) };
    assert_eq!(paused.why.as_deref(), Some(format!("the update strategy was changed back by {WHO}").as_str()));
    let doing = snapshot.doing().to_string();
    assert!(doing.ends_with("; its controller goes on replacing pods"), "{doing}");
}

/// A halt holds rolldeck, too, and not the DaemonSet's controller. Once every pod is at the target that has nothing left to replace.
#[test]
fn what_goes_on_beside_a_halt_or_a_pause_is_said_until_nothing_is_left() {
    const GOES_ON: &str = "; its controller goes on replacing pods";
    let (mut fake, mut console) = under_way(OnDrift::Report);
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    let snapshot = console.snapshot(&fake);
    assert!(!snapshot.doing().to_string().contains(GOES_ON), "{}", snapshot.doing());
    drift(&mut fake);
    console.run(&mut fake);
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.doing().to_string().ends_with(GOES_ON), "whoever paused: {}", snapshot.doing());
    for node in 1..=20 {
        let node = format!("n{node}");
        fake.remove_pod(&node);
        fake.create_pod(&node);
    }
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 20);
    let snapshot = console.snapshot(&fake);
    assert!(matches!(snapshot.phase, Phase::Paused(_)) && snapshot.is_set_back(), "{:?}", snapshot.phase);
    assert!(!snapshot.doing().to_string().contains(GOES_ON), "{}", snapshot.doing());

    let (mut fake, mut console) = under_way(OnDrift::Report);
    fake.broken.push("agent:v2".into());
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 1_000);
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
    drift(&mut fake);
    console.run(&mut fake);
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.phase == Phase::Halted && snapshot.doing().to_string().ends_with(GOES_ON), "{}", snapshot.doing());
}

/// Whose doing each pod is that is down then, nobody can tell: neither by the record, nor by the pods.
#[test]
fn what_is_down_while_its_controller_is_let_loose_is_not_called_ours() {
    let (mut fake, mut console) = under_way(OnDrift::Report);
    drift(&mut fake);
    console.run_for(&mut fake, 5);
    fake.remove_pod("n19");
    fake.slow = true;
    fake.create_pod("n19");
    console.run(&mut fake);
    assert_eq!(console.snapshot(&fake).budget.to_string(), "down 1 of 2: 1 ours or its controller's");
    console.ask(&mut fake, Command::Adopt).unwrap();
    assert_eq!(console.snapshot(&fake).budget.to_string(), "down 1 of 2: 1 by its controller or others");
}

#[test]
fn going_on_after_a_drift_adopts_again_first() {
    let (mut fake, mut console) = under_way(OnDrift::Report);
    let original = fake.daemonset.annotations.get(ORIGINAL_STRATEGY).cloned();
    drift(&mut fake);
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::Resume).unwrap();
    assert!(on_delete(&fake));
    assert_eq!(fake.daemonset.annotations.get(ORIGINAL_STRATEGY).cloned(), original, "what was saved first is kept");
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 10);
}

/// `kubectl patch` to a `maxUnavailable` of 100 %: the figure stays in the object under `OnDelete`.
#[test]
fn what_a_drift_leaves_behind_is_no_budget_of_the_rollout() {
    let (mut fake, mut console) = under_way(OnDrift::Report);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "100%"}}));
    fake.reconcile();
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::Resume).unwrap();
    assert!(on_delete(&fake));
    assert_eq!(console.snapshot(&fake).budget.max_unavailable, 2);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 20);
    assert!(fake.worst_down <= 2, "{} were down at once", fake.worst_down);
}

/// A one-shot command does not wait for somebody who drives: until then the controller would replace pods.
#[test]
fn resuming_after_a_drift_sets_on_delete_at_once_whoever_drives() {
    let (mut fake, mut driver) = under_way(OnDrift::Report);
    drift(&mut fake);
    driver.run_for(&mut fake, 5);
    driver.ask(&mut fake, Command::StopDriving).unwrap();
    let mut other = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    let preview = other.engine.preview(&Command::Resume, fake.now).unwrap();
    assert_eq!(&*preview.title, "Resume");
    assert!(preview.effects[0].starts_with("Lifts the pause by rolldeck at "), "{preview:?}");
    assert!(preview.effects[1].contains("OnDelete again at once"), "{preview:?}");
    assert_eq!(other.ask(&mut fake, Command::Resume), Ok("OnDelete is set again; resumed".into()));
    assert!(on_delete(&fake));
    let snapshot = other.snapshot(&fake);
    assert_eq!((snapshot.phase, snapshot.alarms), (Phase::Held, Vec::new()), "until somebody drives");
}

/// Nobody drives, so nobody pauses: there is nothing to resume.
#[test]
fn a_drift_that_nobody_answered_is_not_to_be_resumed() {
    let (mut fake, mut driver) = under_way(OnDrift::Report);
    driver.ask(&mut fake, Command::StopDriving).unwrap();
    drift(&mut fake);
    let mut other = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    let snapshot = other.snapshot(&fake);
    assert_eq!(snapshot.phase, Phase::Native);
    assert_eq!(snapshot.remedies(), [Remedy::RestoreOnDelete, Remedy::EnforceOnDelete]);
    assert!(other.ask(&mut fake, Command::Resume).is_err());
    other.ask(&mut fake, Command::Adopt).unwrap();
    assert!(on_delete(&fake));
}

/// Nobody drives, so nobody pauses for the drift: a step is written, and the controller goes on.
#[test]
fn a_step_after_a_drift_promises_no_on_delete_and_says_who_replaces_pods() {
    let (mut fake, console) = under_way(OnDrift::Report);
    drop(console);
    drift(&mut fake);
    fake.wait(20);
    let mut other = FakeConsole::open_as(&fake, "ben", Role::OneShot);
    let step = Command::Step(Step::Updated(Int(18)));
    let preview = other.engine.preview(&step, fake.now).unwrap();
    assert!(!preview.calls.iter().any(|call| call.contains("OnDelete")), "{:?}", preview.calls);
    let warns = |warning: &String| warning.contains("its controller replaces pods by itself, whatever is let go here");
    assert!(preview.warnings.iter().any(warns), "{:?}", preview.warnings);
    other.ask(&mut fake, step).unwrap();
    assert!(!on_delete(&fake));
    let adopt = other.engine.preview(&Command::Adopt, fake.now).unwrap();
    assert!(adopt.calls.iter().any(|call| call.contains("OnDelete")), "{:?}", adopt.calls);
    assert!(!adopt.warnings.iter().any(warns), "{:?}", adopt.warnings);
}

#[test]
fn adopting_after_a_drift_sets_on_delete_again_and_stays_paused() {
    for role in [Role::Driver, Role::OneShot] {
        let (mut fake, mut driver) = under_way(OnDrift::Report);
        drift(&mut fake);
        driver.run_for(&mut fake, 5);
        let mut other = FakeConsole::open_as(&fake, "eve", role);
        let preview = other.engine.preview(&Command::Adopt, fake.now).unwrap();
        assert!(preview.effects[0].contains("OnDelete again at once"), "{preview:?}");
        let settled = other.ask(&mut fake, Command::Adopt).unwrap();
        assert!(settled.contains("OnDelete is set again"), "{settled}");
        assert!(on_delete(&fake), "{role:?}: at once, whoever drives");
        driver.run_for(&mut fake, 5);
        let snapshot = driver.snapshot(&fake);
        assert!(matches!(snapshot.phase, Phase::Paused(_)), "{:?}", snapshot.phase);
        assert_eq!(said(&snapshot), Vec::<String>::new());
    }
}

#[test]
fn a_drift_is_enforced_at_once_counted_and_said() {
    let (mut fake, mut console) = under_way(OnDrift::EnforceOnDelete);
    let worst = fake.worst_down;
    for round in 1..=3 {
        drift(&mut fake);
        console.run(&mut fake);
        assert!(on_delete(&fake), "round {round}: before anything else happens");
        console.run_for(&mut fake, 8);
        let times = if round == 1 { "once".to_owned() } else { format!("{round} times") };
        assert_eq!(
            said(&console.snapshot(&fake)),
            [format!("the update strategy was changed back by {WHO} {times} lately: OnDelete is set again")]
        );
    }
    let timeline: Vec<String> = console.snapshot(&fake).timeline.iter().map(ToString::to_string).collect();
    let shown = timeline.iter().filter(|line| line.starts_with("OnDelete is set again"));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            "OnDelete is set again: the update strategy was changed back by argocd-controller",
            "OnDelete is set again: the update strategy was changed back by argocd-controller; set again 2 times lately",
            "OnDelete is set again: the update strategy was changed back by argocd-controller; set again 3 times lately",
        ]
    );
    console.run_for(&mut fake, 30);
    assert_eq!((fake.at("hash2"), fake.worst_down), (10, worst), "it went on meanwhile");
    assert_eq!(console.snapshot(&fake).phase, Phase::Held);
    console.run_for(&mut fake, 600);
    assert_eq!(said(&console.snapshot(&fake)), Vec::<String>::new(), "what was ten minutes ago is past");
}

/// The DaemonSet's status changes all the time: a brake that conflicts does not wait.
#[test]
fn a_brake_that_conflicts_is_tried_again_as_soon_as_the_change_is_seen() {
    let (mut fake, mut console) = under_way(OnDrift::EnforceOnDelete);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}));
    console.snapshot(&fake);
    let effects = console.engine.decide(fake.now);
    fake.reconcile();
    for (id, effect) in effects {
        let outcome = fake.apply(effect);
        console.engine.outcome(id, outcome, fake.now);
    }
    assert!(!on_delete(&fake), "it came too late");
    console.run(&mut fake);
    assert!(on_delete(&fake), "at the same instant, no back-off between");
}

#[test]
fn who_set_it_back_again_and_again_is_not_fought() {
    let (mut fake, mut console) = under_way(OnDrift::EnforceOnDelete);
    for _ in 0..5 {
        drift(&mut fake);
        console.run_for(&mut fake, 5);
        assert!(on_delete(&fake));
    }
    drift(&mut fake);
    console.run_for(&mut fake, 60);
    assert!(!on_delete(&fake), "more than five times in ten minutes is a fight");
    let snapshot = console.snapshot(&fake);
    assert_eq!(
        said(&snapshot),
        [format!(
            "the update strategy was changed back by {WHO}, 5 times after OnDelete was set again: its controller replaces pods \
             by itself"
        )]
    );
    assert!(snapshot.alarms[0].suspend_hint().unwrap().starts_with(HOLDING));
    assert!(!snapshot.remedies().contains(&Remedy::EnforceOnDelete), "that is set already: {:?}", snapshot.remedies());
    let Phase::Paused(paused) = &snapshot.phase else { panic!("{:?}", snapshot.phase) };
    assert!(paused.why.as_deref().unwrap().ends_with("though OnDelete was set again 5 times"), "{paused:?}");

    // The next driver knows what went before; and once they are held, an operator goes on.
    drop(console);
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 20);
    assert!(!on_delete(&fake), "a new console is no reason to begin again");
    next.ask(&mut fake, Command::Resume).unwrap();
    next.run_for(&mut fake, 30);
    assert!(on_delete(&fake));
    assert_eq!(fake.at("hash2"), 10);
    drift(&mut fake);
    next.run_for(&mut fake, 5);
    assert!(!on_delete(&fake) && matches!(next.snapshot(&fake).phase, Phase::Paused(_)), "it is the same fight still");
}

#[test]
fn drifts_that_are_far_apart_are_no_fight() {
    let (mut fake, mut console) = under_way(OnDrift::EnforceOnDelete);
    for round in 0..12 {
        drift(&mut fake);
        console.run_for(&mut fake, 5);
        assert!(on_delete(&fake), "round {round}");
        console.run_for(&mut fake, 120);
    }
}

#[test]
fn a_paused_rollout_is_enforced_too() {
    let (mut fake, mut console) = under_way(OnDrift::EnforceOnDelete);
    console.ask(&mut fake, Command::Pause { why: Some("link down".into()) }).unwrap();
    drift(&mut fake);
    console.run_for(&mut fake, 5);
    assert!(on_delete(&fake), "paused means that its controller replaces nothing either");
    let Phase::Paused(paused) = console.snapshot(&fake).phase else { panic!("not paused") };
    assert_eq!(paused.why.as_deref(), Some("link down"), "the operator's own reason stands");
}

#[test]
fn the_choice_can_be_made_when_it_has_happened() {
    let (mut fake, mut console) = under_way(OnDrift::Report);
    drift(&mut fake);
    console.run_for(&mut fake, 5);
    assert!(!on_delete(&fake));
    let enforce = Tuning { on_drift: Some(OnDrift::EnforceOnDelete), ..Tuning::default() };
    assert_eq!(console.ask(&mut fake, Command::Tune(enforce)), Ok("on drift: report → enforce".into()));
    console.run(&mut fake);
    assert!(on_delete(&fake));
    assert!(matches!(console.snapshot(&fake).phase, Phase::Paused(_)), "it goes on when an operator says so");
}

/// An operator of the kind that reconciles within milliseconds: quicker than the controller observes anything.
#[test]
fn who_is_quicker_than_the_controller_is_counted_as_well() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console
        .ask(&mut fake, Command::Adopt.under(Tuning { on_drift: Some(OnDrift::EnforceOnDelete), ..Tuning::default() }))
        .unwrap();
    let mut adoptions = 0;
    for _ in 0..20 {
        adoptions += usize::from(on_delete(&fake));
        drift(&mut fake);
        console.run(&mut fake);
    }
    assert_eq!(adoptions, 6, "once as it was asked, five times in defence");
}

#[test]
fn a_template_that_is_set_back_in_the_middle_says_who_it_was_and_what_to_do() {
    let (mut fake, mut console) = under_way(OnDrift::EnforceOnDelete);
    fake.set_template(template("agent:v1"));
    fake.reconcile();
    console.run_for(&mut fake, 30);
    let snapshot = console.snapshot(&fake);
    assert_eq!(
        said(&snapshot),
        [format!(
            "the template was changed by {WHO} in the middle of the rollout: agent v2 → v1, where the rollout came from"
        )]
    );
    assert!(snapshot.alarms[0].suspend_hint().unwrap().starts_with(HOLDING));
    let Phase::Paused(paused) = &snapshot.phase else { panic!("{:?}", snapshot.phase) };
    assert_eq!(paused.why.as_deref(), Some(format!("the template was changed by {WHO}").as_str()));
}

#[test]
fn what_else_manages_it_is_said_before_anything_is_changed() {
    let (fake, mut console) = under_way(OnDrift::Report);
    let sets_back = |warnings: &[String]| warnings.iter().any(|warning| warning.contains("Argo CD (application edge"));
    let image = Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into());
    for (command, warns) in [
        (Command::Adopt, true),
        (image, true),
        (Command::Undo { to: None }, true),
        (Command::Release(crate::engine::model::command::Early::Accept), true),
        (Command::Step(crate::engine::model::command::Step::Next), false),
        // It is on OnDelete: pausing changes nothing that is anybody else's.
        (Command::Pause { why: None }, false),
    ] {
        let preview = console.engine.preview(&command, fake.now).unwrap();
        assert_eq!(sets_back(&preview.warnings), warns, "{command:?}: {:?}", preview.warnings);
    }
    let mut fake = FakeCluster::rolling(20, 2);
    fake.daemonset.labels = [("argocd.argoproj.io/instance", "edge-agents")].into_iter().collect();
    let mut console = FakeConsole::open(&fake, "ops");
    let brake = console.engine.preview(&Command::Pause { why: None }, fake.now).unwrap();
    assert!(sets_back(&brake.warnings), "the brake is a change: {:?}", brake.warnings);
}

#[test]
fn tuning_names_what_changes_and_what_it_comes_to() {
    let (mut fake, mut console) = under_way(OnDrift::Report);
    let ask = |text: &str| Tuning { max_unavailable: Some(text.parse().unwrap()), ..Tuning::default() };
    let preview = console.engine.preview(&Command::Tune(ask("25%")), fake.now).unwrap();
    assert_eq!(
        preview.effects,
        [
            "From now on at most 5 down and 5 pulling at a time.",
            "2 nodes more go at once: n9, n10.",
            "Pods are deleted, not evicted, as its own controller does: PodDisruptionBudgets are bypassed.",
            "max unavailable: default → 25% (5 of 20 nodes may be down)",
            "pull limit: 2 → 5 (follows max unavailable)"
        ]
    );
    assert_eq!(preview.danger, Danger::Bounded);
    let auto = Tuning { pace: Some(Pace::Auto), ..Tuning::default() };
    assert_eq!(
        console.engine.preview(&Command::Tune(auto), fake.now).unwrap().effects,
        [
            "From now on at most 2 down and 2 pulling at a time, of each site no more than its link bears (pace auto).",
            "pace: fixed → auto (as many as each site's link bears)",
        ]
    );
    // Gates say nothing of limits, which stay.
    let gates = Tuning {
        soak_secs: Some(Secs(30)),
        failure_threshold: Some(crate::engine::model::quantity::IntOrPercent::Int(3)),
        ..Tuning::default()
    };
    assert_eq!(
        console.engine.preview(&Command::Tune(gates), fake.now).unwrap().effects,
        [
            "failure threshold: 1 → 3 (3 failed of 20 nodes)",
            "soak: 0s → 30s (ready before it counts as available)",
            "2 nodes are on their way now, and judged by it as well.",
            "6 updated nodes have been ready for less than 30s: they soak again, and count as down until then.",
            "No node has failed by now; it halts at 3.",
        ]
    );
    let all = console.engine.preview(&Command::Tune(ask("100%")), fake.now).unwrap();
    assert_eq!(all.danger, Danger::ExceedsBudget, "a typing error must not take the whole fleet down");
    assert!(all.effects.contains(&"Every one of the 20 nodes may be down at once.".to_owned()), "{:?}", all.effects);
    let step = Command::Step(crate::engine::model::command::Step::Updated(
        crate::engine::model::quantity::IntOrPercent::Int(3),
    ));
    let with_a_step = console.engine.preview(&step.clone().under(ask("100%")), fake.now).unwrap();
    assert_eq!(with_a_step.danger, Danger::ExceedsBudget, "whichever command the budget comes with");
    assert_eq!(console.engine.preview(&step.under(ask("25%")), fake.now).unwrap().danger, Danger::Bounded);
    let refused = console.ask(&mut fake, Command::Tune(ask("0"))).unwrap_err();
    assert!(refused.contains("write 1 or more, or pause"), "{refused}");

    // Two operators who change different things do not undo each other.
    let mut other = FakeConsole::open(&fake, "eve");
    console.ask(&mut fake, Command::Tune(ask("4"))).unwrap();
    other.ask(&mut fake, Command::Tune(Tuning { soak_secs: Some(Secs(30)), ..Tuning::default() })).unwrap();
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.budget.max_unavailable, snapshot.settings.gates.soak_secs), (4, Secs(30)));
}

#[test]
fn an_one_shot_leaves_no_record_of_nothing() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut one_shot = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    let enforce = Tuning { on_drift: Some(OnDrift::EnforceOnDelete), ..Tuning::default() };
    let refused = one_shot.ask(&mut fake, Command::Tune(enforce.clone())).unwrap_err();
    assert!(refused.contains("`set-image`"), "{refused}");
    assert!(fake.lease.is_none());
    one_shot.ask(&mut fake, Command::Adopt.under(enforce)).unwrap();
    let record = fake.lease.clone().unwrap().record.unwrap().unwrap();
    assert_eq!(record.intent.on_drift, OnDrift::EnforceOnDelete);
}

/// A roll back whose budget is used up by nodes that went down: nothing gives it back but an operator.
#[test]
fn a_rollback_that_waits_for_budget_says_that_raising_it_is_the_way_out() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let patient = Tuning { failure_threshold: Some("50%".parse().unwrap()), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(patient)).unwrap();
    console.partition(&mut fake, 14);
    console.run_for(&mut fake, 20);
    for node in ["n1", "n2", "n3"] {
        fake.set_node_ready(node, false);
    }
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 20);
    let snapshot = console.snapshot(&fake);
    let stuck = Alarm::BudgetUsedUp { used: 3, limit: 2, waiting: 3, failed: 0 };
    assert_eq!(snapshot.alarms, std::slice::from_ref(&stuck));
    assert_eq!(
        stuck.to_string(),
        "3 nodes wait: 3 are down, 2 may be, and none of them is on its way up; a budget of 4 lets the next one go"
    );
    let enough =
        Tuning { max_unavailable: Some(stuck.enough().unwrap().to_string().parse().unwrap()), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(enough)).unwrap();
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash1"), 17, "all but those that are down");
    assert_eq!(console.snapshot(&fake).alarms, []);
}

/// `kubectl replace` takes the annotation away together with `OnDelete`. The record has the strategy that the rollout began with: its limit holds on, and it is
/// what the release restores.
#[test]
fn who_replaces_the_daemonset_raises_no_budget_and_loses_no_strategy() {
    let (mut fake, mut console) = under_way(OnDrift::EnforceOnDelete);
    let before = console.snapshot(&fake).budget.max_unavailable;
    let original = fake.daemonset.annotations.get(ORIGINAL_STRATEGY).cloned().unwrap();
    fake.set_original(None);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 5}}));
    assert_eq!(console.snapshot(&fake).budget.max_unavailable, before, "while it has drifted");
    console.run_for(&mut fake, 30);
    assert!(on_delete(&fake));
    assert_eq!(fake.daemonset.annotations.get(ORIGINAL_STRATEGY), Some(&original));
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.budget.max_unavailable, before);
    let changed = |alarm: &Alarm| matches!(alarm, Alarm::OwnLimitChanged { .. });
    assert!(snapshot.alarms.iter().any(changed), "{:?}", snapshot.alarms);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 600);
    let restored = serde_json::from_str::<serde_json::Value>(&original).unwrap();
    assert_eq!((fake.daemonset.strategy.raw.clone(), fake.worst_down), (restored, before as usize));
}

/// The same within the moment in which the record has the strategy, and not yet that the DaemonSet is adopted.
#[test]
fn who_replaces_the_daemonset_as_soon_as_it_is_adopted_loses_no_strategy() {
    let (mut fake, mut console) = under_way(OnDrift::EnforceOnDelete);
    let original = fake.daemonset.annotations.get(ORIGINAL_STRATEGY).cloned().unwrap();
    let lease = fake.lease.as_mut().unwrap();
    let Ok(Some(record)) = &mut lease.record else { panic!("there is a record") };
    record.progress.adopted = false;
    fake.tell_lease();
    fake.set_original(None);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 5}}));
    console.run_for(&mut fake, 30);
    assert!(on_delete(&fake));
    assert_eq!(fake.daemonset.annotations.get(ORIGINAL_STRATEGY), Some(&original));
}

/// Somebody sets the strategy back while nobody drives, and the controller rolls out the new revision. What an operator asks for then comes first: `OnDelete`,
/// and the template. A pause for what was seen only now would leave the controller to it.
#[test]
fn who_changes_the_template_after_a_drift_that_nobody_saw_stops_the_controller_first() {
    let commands =
        [Command::Undo { to: None }, Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into())];
    for (role, command) in
        [Role::OneShot, Role::Driver].into_iter().flat_map(|role| commands.clone().map(|it| (role, it)))
    {
        let (mut fake, mut console) = under_way(OnDrift::Report);
        console.ask(&mut fake, Command::StopDriving).unwrap();
        console.run_for(&mut fake, 5);
        drop(console);
        drift(&mut fake);
        let mut other = FakeConsole::open_as(&fake, "eve", role);
        other.run(&mut fake);
        let preview = other.engine.preview(&command, fake.now).unwrap();
        assert_ne!(preview.title, "Emergency brake");
        assert!(
            preview.effects.iter().any(|line| line.starts_with("Sets OnDelete again at once")),
            "{:?}",
            preview.effects
        );
        other.engine.command(command.clone(), fake.now).unwrap();
        other.run_for(&mut fake, 2);
        assert_eq!(fake.daemonset.strategy.kind, StrategyKind::OnDelete, "{role:?} {command:?}");
        let image = fake.daemonset.template.images()[0].to_string();
        assert_eq!(image, if command == (Command::Undo { to: None }) { "agent:v1" } else { "agent:v3" }, "{role:?}");
        assert_eq!(other.engine.intent().paused, None, "{role:?} {command:?}");
    }
}

/// What a drift is to do next time is no way on: whatever moves the rollout comes before it.
#[test]
fn that_a_drift_may_pause_next_time_is_offered_last() {
    let (mut fake, mut console) = under_way(OnDrift::EnforceOnDelete);
    drift(&mut fake);
    console.run_for(&mut fake, 5);
    console.run_for(&mut fake, 120);
    let snapshot = console.snapshot(&fake);
    assert!(
        snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::OnDeleteEnforced { .. })),
        "{:?}",
        snapshot.alarms
    );
    let remedies = snapshot.remedies();
    assert!(matches!(remedies.as_slice(), [Remedy::Step(_), .., Remedy::PauseOnDrift]), "{remedies:?}");
}

/// The controller took more nodes down than may be down. Once it is stopped, those are still its own and not rolldeck's, while they come up and while they
/// soak, whoever drives then. What somebody deletes later is not.
#[test]
fn what_the_controller_took_down_stays_its_own_once_it_is_stopped() {
    let budget = |console: &mut FakeConsole, fake: &FakeCluster| console.snapshot(fake).budget.to_string();
    let replace = |fake: &mut FakeCluster, nodes: &[&str]| {
        for node in nodes {
            fake.remove_pod(node);
            fake.create_pod(node);
        }
    };
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    let image = Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    console.ask(&mut fake, image.under(Tuning { soak_secs: Some(Secs(300)), ..Tuning::default() })).unwrap();
    fake.slow = true;
    console.partition(&mut fake, 10);
    console.run_for(&mut fake, 3);
    assert_eq!(budget(&mut console, &fake), "down 2 of 2: 2 ours");
    drift(&mut fake);
    console.run_for(&mut fake, 3);
    replace(&mut fake, &["n11", "n12", "n13"]);
    console.run_for(&mut fake, 3);
    assert_eq!(budget(&mut console, &fake), "down 5 of 2: 5 ours or its controller's");
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.run_for(&mut fake, 3);
    assert!(on_delete(&fake));
    assert_eq!(budget(&mut console, &fake), "down 5 of 2: 2 ours, 3 by its controller or others");
    let view = console.snapshot(&fake).budget;
    assert_eq!((view.rollout, view.by_controller_or_others, view.by_others), (5, 3, 0));
    fake.slow = false;
    for node in ["n1", "n2", "n11", "n12", "n13"] {
        fake.set_ready(node, true);
    }
    console.run_for(&mut fake, 60);
    assert_eq!(budget(&mut console, &fake), "down 5 of 2 (5 up, soaking): 2 ours, 3 by its controller or others");
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 120);
    assert_eq!(budget(&mut console, &fake), "down 5 of 2 (5 up, soaking): 2 ours, 3 by its controller or others");
    // Another process reads it in the record.
    let mut late = FakeConsole::open(&fake, "late");
    let since = "(2 ready since an unknown time)";
    assert_eq!(
        budget(&mut late, &fake),
        format!("down 5 of 2 (5 up, soaking): 2 ours {since}, 3 by its controller or others")
    );
    fake.slow = true;
    replace(&mut fake, &["n20"]);
    console.run_for(&mut fake, 3);
    assert_eq!(
        budget(&mut console, &fake),
        "down 6 of 2 (5 up, soaking): 2 ours, 3 by its controller or others, 1 by others"
    );
}

/// Nobody drives when the pods are made that the controller deleted, and nobody sees it stopped: the pause tells when that was.
#[test]
fn what_somebody_deletes_long_after_the_controller_was_stopped_is_not_its_own() {
    let (mut fake, mut console) = under_way(OnDrift::Report);
    console.run_for(&mut fake, 120);
    drift(&mut fake);
    console.run_for(&mut fake, 3);
    drop(console);
    let mut other = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    other.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert!(on_delete(&fake));
    fake.slow = true;
    for (secs, by) in [(20, "1 by its controller or others"), (300, "1 by others")] {
        other.run_for(&mut fake, secs);
        fake.remove_pod("n19");
        fake.create_pod("n19");
        other.run_for(&mut fake, 2);
        assert_eq!(other.snapshot(&fake).budget.to_string(), format!("down 1 of 2: {by}"), "after {secs} s");
    }
}

/// A pod that the controller deleted before it was stopped takes its time to end, and so does the next one.
#[test]
fn a_pod_that_the_controller_deleted_before_it_was_stopped_is_not_called_ours_while_it_ends() {
    let (mut fake, mut console) = under_way(OnDrift::Report);
    console.run_for(&mut fake, 120);
    drift(&mut fake);
    console.run_for(&mut fake, 3);
    let ends_at = fake.now + Duration::from_secs(30);
    fake.hung = true;
    fake.change_pod("n19", |pod| pod.deletion_at = Some(ends_at));
    console.run(&mut fake);
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert!(on_delete(&fake));
    fake.slow = true;
    for secs in [1, 10, 60] {
        console.run_for(&mut fake, secs);
        let ends = console.snapshot(&fake).nodes.iter().any(|node| node.state == NodeState::Terminating);
        assert_eq!(ends, fake.hung);
        fake.hung = false;
        let budget = console.snapshot(&fake).budget.to_string();
        assert_eq!(budget, "down 1 of 2: 1 by its controller or others", "after {secs} s more");
    }
}
