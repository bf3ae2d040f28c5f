//! Argo CD sets the strategy back, and the template: what is done about it, and what is said.

use serde_json::json;

use crate::engine::Role;
use crate::engine::command::{Command, Danger};
use crate::engine::facts::StrategyKind;
use crate::engine::lab::{Console, Lab, template};
use crate::engine::record::{ORIGINAL_STRATEGY, OnFlip};
use crate::engine::snapshot::{Alarm, Phase, Snapshot};
use crate::engine::tuning::Tuning;

const ARGO_CD: &str = "argocd-controller";
const WHO: &str = "argocd-controller of Argo CD (application edge-agents)";
const HOLDING: &str = "argocd app set edge-agents --sync-policy none";

/// Twenty nodes under Argo CD, half of them on their way to `agent:v2` under the control of `ops`.
fn under_way(on_flip: OnFlip) -> (Lab, Console) {
    let mut lab = Lab::rolling(20, 2);
    lab.daemonset.labels = [("argocd.argoproj.io/instance", "edge-agents")].into_iter().collect();
    lab.daemonset.owners.template = Some(ARGO_CD.into());
    let mut console = Console::open(&lab, "ops");
    let image = Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    console.ask(&mut lab, image.under(Tuning { on_flip: Some(on_flip), ..Tuning::default() })).unwrap();
    console.partition(&mut lab, 10);
    console.run_for(&mut lab, 3);
    (lab, console)
}

fn flip(lab: &mut Lab) {
    lab.daemonset.owners.strategy = Some(ARGO_CD.into());
    lab.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}));
    lab.reconcile();
}

fn on_delete(lab: &Lab) -> bool {
    lab.daemonset.strategy.kind == StrategyKind::OnDelete
}

fn said(snapshot: &Snapshot) -> Vec<String> {
    snapshot.alarms.iter().map(ToString::to_string).collect()
}

#[test]
fn a_flip_is_reported_with_who_it_was_and_how_to_hold_them() {
    let (mut lab, mut console) = under_way(OnFlip::Report);
    flip(&mut lab);
    console.run_for(&mut lab, 5);
    assert!(!on_delete(&lab), "nobody chose to fight");
    let snapshot = console.snapshot(&lab);
    assert_eq!(
        said(&snapshot),
        [format!("the update strategy was changed back by {WHO}: its controller replaces pods by itself")]
    );
    assert!(snapshot.alarms[0].holding().unwrap().starts_with(HOLDING), "{:?}", snapshot.alarms[0]);
    let Phase::Paused(paused) = &snapshot.phase else { panic!("{:?}", snapshot.phase) };
    assert_eq!(paused.why.as_deref(), Some(format!("the update strategy was changed back by {WHO}").as_str()));
}

#[test]
fn going_on_after_a_flip_adopts_again_first() {
    let (mut lab, mut console) = under_way(OnFlip::Report);
    let original = lab.daemonset.annotations.get(ORIGINAL_STRATEGY).cloned();
    flip(&mut lab);
    console.run_for(&mut lab, 5);
    console.ask(&mut lab, Command::Resume).unwrap();
    assert!(on_delete(&lab));
    assert_eq!(lab.daemonset.annotations.get(ORIGINAL_STRATEGY).cloned(), original, "what was saved first is kept");
    console.run_for(&mut lab, 30);
    assert_eq!(lab.at("hash2"), 10);
}

#[test]
fn adopting_after_a_flip_sets_on_delete_again_and_stays_paused() {
    for role in [Role::Driver, Role::Errand] {
        let (mut lab, mut driver) = under_way(OnFlip::Report);
        flip(&mut lab);
        driver.run_for(&mut lab, 5);
        let mut other = Console::open_as(&lab, "eve", role);
        let preview = other.engine.preview(&Command::Adopt, lab.now).unwrap();
        assert!(preview.effects[0].contains("OnDelete again at once"), "{preview:?}");
        let settled = other.ask(&mut lab, Command::Adopt).unwrap();
        assert!(settled.contains("OnDelete is set again"), "{settled}");
        assert!(on_delete(&lab), "{role:?}: at once, whoever drives");
        driver.run_for(&mut lab, 5);
        let snapshot = driver.snapshot(&lab);
        assert!(matches!(snapshot.phase, Phase::Paused(_)), "{:?}", snapshot.phase);
        assert_eq!(said(&snapshot), Vec::<String>::new());
    }
}

#[test]
fn a_flip_is_rebraked_at_once_counted_and_said() {
    let (mut lab, mut console) = under_way(OnFlip::Rebrake);
    let worst = lab.worst_down;
    for round in 1..=3 {
        flip(&mut lab);
        console.run(&mut lab);
        assert!(on_delete(&lab), "round {round}: before anything else happens");
        console.run_for(&mut lab, 8);
        let times = if round == 1 { "once".to_owned() } else { format!("{round} times") };
        assert_eq!(
            said(&console.snapshot(&lab)),
            [format!("the update strategy was changed back by {WHO} {times} lately: OnDelete is set again")]
        );
    }
    let timeline: Vec<String> = console.snapshot(&lab).timeline.iter().map(ToString::to_string).collect();
    let told = timeline.iter().filter(|line| line.starts_with("OnDelete is set again"));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "OnDelete is set again: the update strategy was changed back by argocd-controller",
            "OnDelete is set again: the update strategy was changed back by argocd-controller; re-braked 2 times lately",
            "OnDelete is set again: the update strategy was changed back by argocd-controller; re-braked 3 times lately",
        ]
    );
    console.run_for(&mut lab, 30);
    assert_eq!((lab.at("hash2"), lab.worst_down), (10, worst), "it went on meanwhile");
    assert_eq!(console.snapshot(&lab).phase, Phase::Held);
    console.run_for(&mut lab, 600);
    assert_eq!(said(&console.snapshot(&lab)), Vec::<String>::new(), "what was ten minutes ago is past");
}

/// The DaemonSet's status changes all the time: a brake that conflicts does not wait.
#[test]
fn a_brake_that_conflicts_is_tried_again_as_soon_as_the_change_is_seen() {
    let (mut lab, mut console) = under_way(OnFlip::Rebrake);
    lab.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}));
    console.snapshot(&lab);
    let effects = console.engine.decide(lab.now);
    lab.reconcile();
    for (id, effect) in effects {
        let outcome = lab.apply(effect);
        console.engine.outcome(id, outcome, lab.now);
    }
    assert!(!on_delete(&lab), "it came too late");
    console.run(&mut lab);
    assert!(on_delete(&lab), "at the same instant, no back-off between");
}

#[test]
fn who_flips_it_back_again_and_again_is_not_fought() {
    let (mut lab, mut console) = under_way(OnFlip::Rebrake);
    for _ in 0..5 {
        flip(&mut lab);
        console.run_for(&mut lab, 5);
        assert!(on_delete(&lab));
    }
    flip(&mut lab);
    console.run_for(&mut lab, 60);
    assert!(!on_delete(&lab), "more than five times in ten minutes is a fight");
    let snapshot = console.snapshot(&lab);
    assert_eq!(
        said(&snapshot),
        [format!(
            "the update strategy was changed back by {WHO}, 5 times after it was re-braked: its controller replaces pods \
             by itself"
        )]
    );
    assert!(snapshot.alarms[0].holding().unwrap().starts_with(HOLDING));
    let Phase::Paused(paused) = &snapshot.phase else { panic!("{:?}", snapshot.phase) };
    assert!(paused.why.as_deref().unwrap().ends_with("though it was re-braked 5 times"), "{paused:?}");

    // The next driver knows what went before; and once they are held, an operator goes on.
    drop(console);
    let mut next = Console::open(&lab, "eve");
    next.run_for(&mut lab, 20);
    assert!(!on_delete(&lab), "a new console is no reason to begin again");
    next.ask(&mut lab, Command::Resume).unwrap();
    next.run_for(&mut lab, 30);
    assert!(on_delete(&lab));
    assert_eq!(lab.at("hash2"), 10);
    flip(&mut lab);
    next.run_for(&mut lab, 5);
    assert!(!on_delete(&lab) && matches!(next.snapshot(&lab).phase, Phase::Paused(_)), "it is the same fight still");
}

#[test]
fn flips_that_are_far_apart_are_no_fight() {
    let (mut lab, mut console) = under_way(OnFlip::Rebrake);
    for round in 0..12 {
        flip(&mut lab);
        console.run_for(&mut lab, 5);
        assert!(on_delete(&lab), "round {round}");
        console.run_for(&mut lab, 120);
    }
}

#[test]
fn a_paused_rollout_is_rebraked_too() {
    let (mut lab, mut console) = under_way(OnFlip::Rebrake);
    console.ask(&mut lab, Command::Pause { why: Some("link down".into()) }).unwrap();
    flip(&mut lab);
    console.run_for(&mut lab, 5);
    assert!(on_delete(&lab), "paused means that its controller replaces nothing either");
    let Phase::Paused(paused) = console.snapshot(&lab).phase else { panic!("not paused") };
    assert_eq!(paused.why.as_deref(), Some("link down"), "the operator's own reason stands");
}

#[test]
fn the_choice_can_be_made_when_it_has_happened() {
    let (mut lab, mut console) = under_way(OnFlip::Report);
    flip(&mut lab);
    console.run_for(&mut lab, 5);
    assert!(!on_delete(&lab));
    let rebrake = Tuning { on_flip: Some(OnFlip::Rebrake), ..Tuning::default() };
    assert_eq!(console.ask(&mut lab, Command::Tune(rebrake)), Ok("on flip report → rebrake".into()));
    console.run(&mut lab);
    assert!(on_delete(&lab));
    assert!(matches!(console.snapshot(&lab).phase, Phase::Paused(_)), "it goes on when an operator says so");
}

/// An operator of the kind that reconciles within milliseconds: quicker than the controller observes anything.
#[test]
fn who_is_quicker_than_the_controller_is_counted_as_well() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = Console::open(&lab, "ops");
    console
        .ask(&mut lab, Command::Adopt.under(Tuning { on_flip: Some(OnFlip::Rebrake), ..Tuning::default() }))
        .unwrap();
    let mut adoptions = 0;
    for _ in 0..20 {
        adoptions += usize::from(on_delete(&lab));
        flip(&mut lab);
        console.run(&mut lab);
    }
    assert_eq!(adoptions, 6, "once as it was asked, five times in defence");
}

#[test]
fn a_template_that_is_set_back_in_the_middle_says_who_it_was_and_what_to_do() {
    let (mut lab, mut console) = under_way(OnFlip::Rebrake);
    lab.set_template(template("agent:v1"));
    lab.reconcile();
    console.run_for(&mut lab, 30);
    let snapshot = console.snapshot(&lab);
    assert_eq!(said(&snapshot), [format!("the template was changed by {WHO} in the middle of the rollout")]);
    assert!(snapshot.alarms[0].holding().unwrap().starts_with(HOLDING));
    let Phase::Paused(paused) = &snapshot.phase else { panic!("{:?}", snapshot.phase) };
    assert_eq!(paused.why.as_deref(), Some(format!("the template was changed by {WHO}").as_str()));
}

#[test]
fn what_else_manages_it_is_said_before_anything_is_changed() {
    let (lab, mut console) = under_way(OnFlip::Report);
    let sets_back = |warnings: &[String]| warnings.iter().any(|warning| warning.contains("Argo CD (application edge"));
    let image = Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into());
    for (command, warns) in [
        (Command::Adopt, true),
        (image, true),
        (Command::Undo { to: None }, true),
        (Command::Release(crate::engine::command::Early::Accept), true),
        (Command::Step(crate::engine::command::Step::Next), false),
        // It is on OnDelete: pausing changes nothing that is anybody else's.
        (Command::Pause { why: None }, false),
    ] {
        let preview = console.engine.preview(&command, lab.now).unwrap();
        assert_eq!(sets_back(&preview.warnings), warns, "{command:?}: {:?}", preview.warnings);
    }
    let mut lab = Lab::rolling(20, 2);
    lab.daemonset.labels = [("argocd.argoproj.io/instance", "edge-agents")].into_iter().collect();
    let mut console = Console::open(&lab, "ops");
    let brake = console.engine.preview(&Command::Pause { why: None }, lab.now).unwrap();
    assert!(sets_back(&brake.warnings), "the brake is a change: {:?}", brake.warnings);
}

#[test]
fn tuning_names_what_changes_and_what_it_comes_to() {
    let (mut lab, mut console) = under_way(OnFlip::Report);
    let ask = |text: &str| Tuning { max_unavailable: Some(text.parse().unwrap()), ..Tuning::default() };
    let preview = console.engine.preview(&Command::Tune(ask("25%")), lab.now).unwrap();
    assert_eq!(
        preview.effects,
        ["From now on at most 5 down and 5 pulling at a time.", "max unavailable default → 25%"]
    );
    assert_eq!(preview.danger, Danger::Bounded);
    let all = console.engine.preview(&Command::Tune(ask("100%")), lab.now).unwrap();
    assert_eq!(all.danger, Danger::Serious);
    assert!(all.effects.contains(&"Every one of the 20 nodes may be down at once.".to_owned()), "{:?}", all.effects);
    let refused = console.ask(&mut lab, Command::Tune(ask("0"))).unwrap_err();
    assert!(refused.contains("write 1 or more, or pause"), "{refused}");

    // Two operators who change different things do not undo each other.
    let mut other = Console::open(&lab, "eve");
    console.ask(&mut lab, Command::Tune(ask("4"))).unwrap();
    other.ask(&mut lab, Command::Tune(Tuning { soak_secs: Some(30), ..Tuning::default() })).unwrap();
    let snapshot = console.snapshot(&lab);
    assert_eq!((snapshot.budget.max_unavailable, snapshot.gates.soak_secs), (4, 30));
}

#[test]
fn an_errand_leaves_no_record_of_nothing() {
    let mut lab = Lab::rolling(20, 2);
    let mut errand = Console::open_as(&lab, "ops", Role::Errand);
    let rebrake = Tuning { on_flip: Some(OnFlip::Rebrake), ..Tuning::default() };
    let refused = errand.ask(&mut lab, Command::Tune(rebrake)).unwrap_err();
    assert!(refused.contains("`set-image`"), "{refused}");
    assert!(lab.lease.is_none());
    errand.ask(&mut lab, Command::Adopt.under(rebrake)).unwrap();
    let record = lab.lease.clone().unwrap().record.unwrap().unwrap();
    assert_eq!(record.intent.on_flip, OnFlip::Rebrake);
}

/// A roll back whose budget is used up by nodes that went down: nothing gives it back but an operator.
#[test]
fn a_rollback_that_waits_for_budget_says_that_raising_it_is_the_way_out() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    let patient = Tuning { failure_threshold: Some("50%".parse().unwrap()), ..Tuning::default() };
    console.ask(&mut lab, Command::Tune(patient)).unwrap();
    console.partition(&mut lab, 14);
    console.run_for(&mut lab, 20);
    for node in ["n1", "n2", "n3"] {
        lab.set_node_ready(node, false);
    }
    console.ask(&mut lab, Command::Undo { to: None }).unwrap();
    console.run_for(&mut lab, 20);
    let snapshot = console.snapshot(&lab);
    let stuck = Alarm::BudgetUsedUp { used: 3, limit: 2, waiting: 3 };
    assert_eq!(snapshot.alarms, std::slice::from_ref(&stuck));
    assert_eq!(
        stuck.to_string(),
        "3 nodes wait: 3 are down, 2 may be, and none of them is on its way up; a budget of 4 lets the next one go"
    );
    let enough =
        Tuning { max_unavailable: Some(stuck.enough().unwrap().to_string().parse().unwrap()), ..Tuning::default() };
    console.ask(&mut lab, Command::Tune(enough)).unwrap();
    console.run_for(&mut lab, 20);
    assert_eq!(lab.at("hash1"), 17, "all but those that are down");
    assert_eq!(console.snapshot(&lab).alarms, []);
}
