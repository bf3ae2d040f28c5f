//! The promises, one readable test each, on the fake cluster. The attack tests them at scale.

mod adopted_at_rest;
mod back_between_crashes;
mod back_to_failing;
mod braked;
mod by_hand;
mod causes;
mod crash_loops;
mod defaults;
mod diagnosis;
mod drive_previews;
mod ends;
mod estimates;
mod evictions;
mod failing;
mod first_target;
pub(crate) mod gates;
mod halts;
mod image_volumes;
mod images_on_nodes;
mod kept;
mod lease_refused;
mod lifted;
mod lost_limits;
mod moved_tag;
mod node_agents;
mod node_restarts;
mod order;
mod overtaken;
mod pace;
mod pending_release;
mod plan;
mod prewarm;
mod prewarm_calls;
mod prewarm_clocks;
mod prewarm_failures;
mod prewarm_labels;
mod prewarm_previews;
mod prewarm_registry;
mod prewarm_sidecars;
mod prewarm_silent;
mod prewarm_sites;
mod prewarm_slots;
mod prewarm_statefulset;
mod prewarm_step;
mod pull_policy;
mod pull_slots_kept;
mod pulls;
mod put_back;
mod quarantine;
mod record;
mod recreated;
mod rejected;
mod relabelled;
mod renumbered;
mod resumed_template;
mod roll_back_by_itself;
mod roll_back_previews;
mod room;
mod said_before;
mod selected;
mod sidecars;
mod sizes;
mod step_totals;
mod steps;
mod story;
mod story_order;
mod tainted;
mod template_changes;
mod three_revisions;
mod told;
mod tuned;
mod unanswered;
mod unauthorized;
mod undriven;
mod unreadable;
mod unready;
mod unready_fleet;
mod unrecorded;
mod unseen;
mod vanished;
mod waits;

use serde_json::json;

use super::fake_cluster::{FakeCluster, FakeConsole, template};
use super::model::cause::CauseKind;
use super::model::command::{Command, Early, Step, Takeover};
use super::model::config::Role;
use super::model::danger::Danger;
use super::model::driver::DriverView;
use super::model::event::{Event, Permission, Right, WatchHealth, Watched};
use super::model::facts::ContainerState;
use super::model::hold::Hold;
use super::model::node::{Blame, NodeState};
use super::model::quantity::IntOrPercent;
use super::model::record::ORIGINAL_STRATEGY;
use super::model::settings::Tuning;
use super::model::time::Timestamp;
use super::report::snapshot::{Alarm, Phase};

#[test]
fn a_rollout_goes_step_by_step_and_hands_back() {
    let mut fake = FakeCluster::rolling(20, 2);
    let original = fake.daemonset.strategy.raw.clone();
    let mut console = FakeConsole::open(&fake, "ops");
    assert_eq!(console.snapshot(&fake).phase, Phase::Idle);
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 10);
    assert_eq!(fake.at("hash2"), 0, "nothing moves before the first step");
    assert_eq!(console.snapshot(&fake).phase, Phase::Held);
    for keep in [18, 10] {
        console.partition(&mut fake, keep);
        console.run_for(&mut fake, 30);
        assert_eq!(fake.at("hash1"), keep as usize);
        assert_eq!(console.snapshot(&fake).phase, Phase::Held);
    }
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 20);
    assert_eq!(fake.worst_down, 2, "the budget was used, and never exceeded");
    assert_eq!(fake.daemonset.strategy.raw.to_string(), original.to_string(), "handed back as it was");
    assert_eq!(fake.daemonset.annotations.get(ORIGINAL_STRATEGY), None);
    let lease = fake.lease.as_ref().unwrap();
    assert_eq!((&lease.holder, &lease.record), (&None, &Ok(None)));
    assert_eq!(console.snapshot(&fake).phase, Phase::Idle);
}

#[test]
fn nodes_go_in_natural_order() {
    let mut fake = FakeCluster::rolling(12, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    let names: Vec<&str> = fake.deleted.iter().map(|name| &**name).collect();
    assert_eq!(names, ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11", "n12"]);
}

#[test]
fn only_selected_nodes_change() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Select(Some("zone=canary".parse().unwrap()))).unwrap();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.deleted.len(), 3);
    assert_eq!(console.state(&fake, "n9"), (NodeState::Outdated, "not in selector".into()));
    console.ask(&mut fake, Command::Select(None)).unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 20);
}

#[test]
fn paused_means_paused_whoever_said_it() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut driver = FakeConsole::open(&fake, "ops");
    driver.set_image(&mut fake, "agent:v2");
    driver.partition(&mut fake, 0);
    driver.run_for(&mut fake, 3);
    let mut watcher = FakeConsole::open(&fake, "eve");
    assert!(matches!(watcher.snapshot(&fake).driver, DriverView::Unconfirmed { .. }), "it has not seen it renew yet");
    watcher.ask(&mut fake, Command::Pause { why: Some("link down".into()) }).unwrap();
    let deleted = fake.deleted.len();
    // The driver has not heard of it: its next deletion is fenced by a write that must conflict.
    driver.deaf = true;
    fake.wait(1);
    fake.kubelets();
    driver.run(&mut fake);
    driver.deaf = false;
    driver.run_for(&mut fake, 30);
    assert_eq!(fake.deleted.len(), deleted);
    let Phase::Paused(paused) = driver.snapshot(&fake).phase else { panic!("not paused") };
    assert_eq!((&*paused.by, paused.why.as_deref()), ("eve@bastion", Some("link down")));
    driver.ask(&mut fake, Command::Resume).unwrap();
    driver.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 20);
}

#[test]
fn a_killed_driver_is_succeeded_after_its_lease() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut first = FakeConsole::open(&fake, "ops");
    first.set_image(&mut fake, "agent:v2");
    first.partition(&mut fake, 0);
    first.run_for(&mut fake, 3);
    drop(first);
    let deleted = fake.deleted.len();
    let mut second = FakeConsole::open(&fake, "eve");
    second.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap_err();
    second.run_for(&mut fake, 14);
    assert_eq!(fake.deleted.len(), deleted, "the lease has not run out");
    second.run_for(&mut fake, 40);
    assert_eq!(fake.at("hash2"), 20);
    assert!(fake.worst_down <= 2, "{}", fake.worst_down);
}

#[test]
fn a_living_driver_hands_over_when_asked() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut first = FakeConsole::open(&fake, "ops");
    first.set_image(&mut fake, "agent:v2");
    first.partition(&mut fake, 10);
    first.run_for(&mut fake, 20);
    let mut second = FakeConsole::open(&fake, "eve");
    let refused = second.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap_err();
    assert!(refused.contains("ops@bastion"), "{refused}");
    let _waits = second.ask(&mut fake, Command::Drive(Takeover::Ask));
    first.run(&mut fake);
    second.run(&mut fake);
    first.run(&mut fake);
    assert!(second.snapshot(&fake).driver.is_you());
    assert!(matches!(first.snapshot(&fake).driver, DriverView::Other { .. }));
    second.partition(&mut fake, 0);
    for _ in 0..30 {
        first.run(&mut fake);
        second.run_for(&mut fake, 1);
    }
    assert_eq!(fake.at("hash2"), 20);
    assert!(fake.worst_down <= 2);
}

#[test]
fn rolling_back_keeps_the_pods_that_never_left() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 12);
    console.run_for(&mut fake, 30);
    let untouched: Vec<_> =
        fake.pods.values().filter(|pod| pod.revision.as_deref() == Some("hash1")).map(|pod| pod.uid.clone()).collect();
    assert_eq!(untouched.len(), 12);
    let preview = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
    assert_eq!((preview.nodes.len(), preview.danger), (8, Danger::Serious));
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash1"), 20);
    assert!(untouched.iter().all(|uid| fake.pods.contains_key(uid)));
    assert_eq!(fake.daemonset.strategy.raw["type"], "RollingUpdate", "and it is handed back");
    assert!(fake.worst_down <= 2);
    let refused = console.ask(&mut fake, Command::Undo { to: Some(1) }).unwrap_err();
    assert_eq!(refused, "the template already is that of revision 3");
}

#[test]
fn a_node_that_goes_down_after_its_update_is_suspect_and_halts_if_it_stays_down() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    fake.set_node_ready("n9", false);
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 10);
    assert_eq!(fake.at("hash2"), 2);
    fake.set_node_ready("n1", false);
    console.run_for(&mut fake, 301);
    let all = Command::Step(Step::Partition(IntOrPercent::Int(0)));
    let refused = console.ask(&mut fake, all).unwrap_err();
    assert!(refused.contains("halted: node stays down with the new pod"), "{refused}");
    console.run_for(&mut fake, 30);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.phase, Phase::Halted);
    assert_eq!(fake.at("hash2"), 2, "nothing more was started");
    let blame = |name: &str| snapshot.nodes.iter().find(|node| &*node.name == name).unwrap().blame;
    assert_eq!((blame("n1"), blame("n9")), (Some(Blame::Suspect), Some(Blame::PreExisting)));
    assert_eq!((snapshot.budget.charged, snapshot.budget.suspect, snapshot.budget.pre_existing), (1, 1, 1));
    console.ask(&mut fake, Command::Resume).unwrap();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 9, "the operator accepted it; the node that is down waits");
    assert_eq!(console.state(&fake, "n9").0, NodeState::NodeDown);
}

#[test]
fn pause_is_the_emergency_brake_of_a_native_rollout() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    fake.change_node("n2", |node| node.unschedulable = true);
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    assert_eq!(console.snapshot(&fake).phase, Phase::Native);
    for node in ["n1", "n2"] {
        assert_eq!(console.state(&fake, node).1, "its controller decides", "a cordon does not keep it from that");
    }
    let said = console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert!(said.contains("OnDelete"), "{said}");
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    assert_eq!(fake.daemonset.strategy.raw["rollingUpdate"]["maxUnavailable"], 2, "the budget stays for whoever comes");
    assert!(matches!(console.snapshot(&fake).phase, Phase::Paused(_)));
}

#[test]
fn an_effect_that_is_not_seen_yet_counts() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.deaf = true;
    for _ in 0..5 {
        console.run(&mut fake);
        fake.wait(1);
    }
    assert_eq!(fake.deleted.len(), 2, "two were sent, none was seen");
}

#[test]
fn a_blind_driver_starts_nothing() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let down = WatchHealth::Down { since: fake.now, why: "connection refused".into() };
    console.engine.observe(Event::Watch(Watched::Nodes, down), fake.now);
    let refused = console.ask(&mut fake, Command::Step(Step::Next)).unwrap_err();
    assert!(refused.contains("nodes not seen for 0s (connection refused)"), "{refused}");
    // Somebody who sees well asks for it.
    let mut other = FakeConsole::open(&fake, "eve");
    other.partition(&mut fake, 0);
    console.run_for(&mut fake, 10);
    assert_eq!(fake.deleted.len(), 0);
    assert!(matches!(console.snapshot(&fake).alarms.as_slice(), [Alarm::ViewStale { .. }]));
    console.engine.observe(Event::Watch(Watched::Nodes, WatchHealth::Live), fake.now);
    console.run(&mut fake);
    assert_eq!(fake.deleted.len(), 0, "what was missed may be on its way");
    fake.wait(2);
    console.run(&mut fake);
    assert_eq!(fake.deleted.len(), 2);
}

#[test]
fn a_deploy_in_the_middle_pauses() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 10);
    console.run_for(&mut fake, 20);
    fake.daemonset.owners.template = Some("argocd-controller".into());
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    let refused = console.ask(&mut fake, Command::Step(Step::Partition(IntOrPercent::Int(0)))).unwrap_err();
    assert!(refused.contains("somebody else changed the template in the middle of the rollout"), "{refused}");
    console.run_for(&mut fake, 10);
    assert_eq!(fake.at("hash2") + fake.at("hash1"), 20, "nothing was started");
    let snapshot = console.snapshot(&fake);
    let Phase::Paused(paused) = &snapshot.phase else { panic!("{:?}", snapshot.phase) };
    assert!(paused.why.as_deref().unwrap().contains("argocd-controller"));
    console.ask(&mut fake, Command::Resume).unwrap();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 40);
    assert_eq!(fake.at("hash3"), 20, "accepted, it is what is rolled out");
}

/// Who only removes a field leaves no entry in `managedFields`: then the newest entry is rolldeck's own, or older than the rollout, and names nobody.
#[test]
fn who_changed_the_template_is_not_told_by_an_entry_of_something_else() {
    for (manager, secs, told) in
        [("kubectl-edit", 15, Some("kubectl-edit")), ("rolldeck", 15, None), ("kubectl-set", -60, None)]
    {
        let mut fake = FakeCluster::rolling(20, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 10);
        let began = fake.now;
        console.run_for(&mut fake, 10);
        let owners = &mut fake.daemonset.owners;
        owners.template = Some(manager.into());
        owners.template_at = Some(Timestamp::from_millis(began.millis() + secs * 1000));
        fake.set_template(template("agent:v3"));
        fake.reconcile();
        console.run_for(&mut fake, 5);
        let alarms = console.snapshot(&fake).alarms;
        let by = alarms.iter().find_map(|alarm| match alarm {
            Alarm::TemplateChanged { by, .. } => Some(by.clone()),
            _ => None,
        });
        let by = by.unwrap_or_else(|| panic!("{alarms:?}"));
        assert_eq!(by.as_deref(), told);
    }
}

#[test]
fn a_strategy_drifted_back_is_said_and_not_fought_over() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 10);
    console.run_for(&mut fake, 5);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}));
    fake.reconcile();
    let deleted = fake.deleted.len();
    console.run_for(&mut fake, 10);
    assert_eq!(fake.deleted.len(), deleted);
    assert!(matches!(console.snapshot(&fake).alarms.as_slice(), [Alarm::StrategyDrifted { .. }]));
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete", "the brake works at any time");
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 10);
}

#[test]
fn releasing_early_must_be_meant() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 15);
    console.run_for(&mut fake, 20);
    let refused = console.ask(&mut fake, Command::Release(Early::Refuse)).unwrap_err();
    assert!(refused.contains("15 pods"), "{refused}");
    let preview = console.engine.preview(&Command::Release(Early::Accept), fake.now).unwrap();
    assert_eq!(preview.danger, Danger::ExceedsBudget);
    console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    assert_eq!(fake.daemonset.strategy.raw["type"], "RollingUpdate");
}

#[test]
fn adopting_alone_moves_and_ends_nothing() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 20);
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    assert_eq!((fake.deleted.len(), console.snapshot(&fake).phase), (0, Phase::Idle));
}

#[test]
fn steps_climb_the_ladder_and_back_reverts_nothing() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.keep(&mut fake);
    let mut climbed = Vec::new();
    while console.ask(&mut fake, Command::Step(Step::Next)).is_ok() {
        console.run_for(&mut fake, 30);
        climbed.push(fake.at("hash2"));
    }
    assert_eq!(climbed, [1, 2, 10, 20]);
    console.ask(&mut fake, Command::Step(Step::Back)).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!((fake.at("hash2"), console.snapshot(&fake).plan.keep), (20, 10));
    assert_eq!(console.snapshot(&fake).phase, Phase::Complete, "and kept, as was asked");
}

#[test]
fn a_preview_is_what_happens() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let step = Command::Step(Step::Updated(IntOrPercent::Percent(25)));
    let preview = console.engine.preview(&step, fake.now).unwrap();
    console.ask(&mut fake, step).unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!(preview.nodes.as_ref(), fake.deleted.as_slice());
}

#[test]
fn what_is_not_permitted_is_refused_before_it_is_tried() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.observe(Event::Rights(vec![(Right::PatchDaemonSet, Permission::Denied)]), fake.now);
    let refused = console.ask(&mut fake, Command::Adopt).unwrap_err();
    assert!(refused.contains("daemonsets.apps"), "{refused}");
}

#[test]
fn every_node_that_does_not_move_says_why() {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 10);
    console.run_for(&mut fake, 3);
    let snapshot = console.snapshot(&fake);
    for node in snapshot.nodes.iter().filter(|node| node.state == NodeState::Outdated) {
        assert!(node.hold.is_some(), "{} does not say why", node.name);
    }
    let held = |hold: &Hold| snapshot.nodes.iter().filter(|node| node.hold.as_ref() == Some(hold)).count();
    assert_eq!(held(&Hold::Partition { keep: 10 }), 10);
    assert_eq!(held(&Hold::Budget { used: 2, next: 0, limit: 2 }), 8);
}
