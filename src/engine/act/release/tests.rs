//! What a release does to pods on nodes that should not run them any more, and when it waits.

use serde_json::json;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, Early, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::ORIGINAL_STRATEGY;
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind};
use crate::engine::model::template::TaintEffect;
use crate::engine::report::snapshot::{Alarm, Phase};

const DEDICATED: (&str, &str, TaintEffect) = ("m", "x", TaintEffect::NoSchedule);

/// Ten nodes, of which n8 to n10 are tainted when a rollout of v2 has begun; all others are brought to v2.
fn tainted() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    for node in ["n8", "n9", "n10"] {
        fake.set_taints(node, &[DEDICATED]);
    }
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    (fake, console)
}

fn is_released(fake: &FakeCluster) -> bool {
    fake.daemonset.annotations.get(ORIGINAL_STRATEGY).is_none()
}

#[test]
fn a_release_that_nobody_asked_for_waits_while_it_would_cost_serving_pods() {
    let (fake, mut console) = tainted();
    let snapshot = console.snapshot(&fake);
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
    assert!(!is_released(&fake));
    assert_eq!(
        console.state(&fake, "n9"),
        (NodeState::Ineligible, "taint m=x:NoSchedule not tolerated; its old pod serves".into())
    );
    assert_eq!((fake.deleted.len(), fake.at("hash1")), (7, 3), "and they are left alone");
}

#[test]
fn it_goes_on_by_itself_once_they_are_tolerated_again_and_updates_them_first() {
    let (mut fake, mut console) = tainted();
    for node in ["n8", "n9", "n10"] {
        fake.set_taints(node, &[]);
    }
    console.run_for(&mut fake, 20);
    assert_eq!((fake.at("hash2"), is_released(&fake)), (10, true));
    assert!(fake.worst_down <= 2);
}

#[test]
fn it_goes_on_by_itself_once_they_do_not_serve() {
    let (mut fake, mut console) = tainted();
    for node in ["n8", "n9", "n10"] {
        fake.set_ready(node, false);
    }
    console.run_for(&mut fake, 290);
    assert!(!is_released(&fake), "what flaps is not given up for that");
    assert!(console.snapshot(&fake).alarms[0].to_string().contains("3 pods that serve or did within 5m for good"));
    console.run_for(&mut fake, 20);
    assert!(is_released(&fake));
}

#[test]
fn an_operator_is_told_which_pods_a_release_removes_and_has_the_last_word() {
    let (mut fake, mut console) = tainted();
    fake.set_ready("n8", false);
    console.run_for(&mut fake, 301);
    let refused = console.ask(&mut fake, Command::Release(Early::Refuse)).unwrap_err();
    assert!(
        refused.contains("nodes that should not run them any more have 2 serving pods: n9, n10 (taint"),
        "{refused}"
    );
    let preview = console.engine.preview(&Command::Release(Early::Accept), fake.now).unwrap();
    assert_eq!(preview.danger, Danger::ExceedsBudget);
    assert_eq!(
        preview.effects,
        [
            "The controller deletes 2 serving pods on nodes that should not run them any more, and makes none there: n9, \
             n10 (taint m=x:NoSchedule not tolerated).",
            "It deletes 1 pod that does not serve there too: n8 (taint m=x:NoSchedule not tolerated).",
            "Restores the original update strategy and drops the rollout's record.",
        ]
    );
    console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    assert!(is_released(&fake));
}

#[test]
fn what_was_decided_before_the_taint_was_seen_is_called_off() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.set_taints("n4", &[DEDICATED]);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 10);
    assert!(!is_released(&fake));
    // The record says that it is handed back, as a driver wrote who did not see the taint.
    let lease = fake.lease.as_mut().unwrap();
    let record = lease.record.as_mut().unwrap().as_mut().unwrap();
    record.intent.releasing = Some(crate::engine::model::record::By { by: "rolldeck".into(), at: fake.now });
    fake.tell_lease();
    console.run_for(&mut fake, 10);
    assert!(!is_released(&fake));
    assert!(console.snapshot(&fake).release_waits());
    fake.set_taints("n4", &[]);
    console.run_for(&mut fake, 10);
    assert_eq!((fake.at("hash2"), is_released(&fake)), (4, true));
}

#[test]
fn where_the_original_strategy_is_on_delete_nothing_is_removed_and_nothing_waits() {
    let mut fake = FakeCluster::new(4, json!({"type": "OnDelete"}));
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.set_taints("n4", &[DEDICATED]);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 10);
    assert!(is_released(&fake));
    assert_eq!(fake.at("hash1"), 1);
}

#[test]
fn pods_at_the_current_revision_stay_whatever_their_node_says() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 2);
    console.run_for(&mut fake, 10);
    fake.set_taints("n1", &[DEDICATED]);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 10);
    assert!(is_released(&fake), "{:?}", console.snapshot(&fake).alarms);
    assert!(!console.snapshot(&fake).alarms.iter().any(|alarm| matches!(alarm, Alarm::ReleaseWaits { .. })));
}

#[test]
fn a_node_that_is_down_holds_the_release_as_before() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.set_node_ready("n4", false);
    let down = "node.kubernetes.io/unreachable";
    fake.set_taints("n4", &[(down, "", TaintEffect::NoSchedule), (down, "", TaintEffect::NoExecute)]);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 10);
    assert!(!is_released(&fake));
    let preview = console.engine.preview(&Command::Release(Early::Accept), fake.now).unwrap();
    assert_eq!(
        preview.effects[..1],
        [
            "1 pod is not at the current revision, on a node that is down: the controller deletes it, and makes it anew once the node \
             is Ready: n4.",
        ]
    );
}

/// A policy that came into force since the template was written would rewrite it with the release, and the controller would
/// roll that out by itself.
#[test]
fn a_release_is_not_made_where_admission_would_change_the_template_with_it() {
    let mut fake = FakeCluster::rolling(6, 2);
    let original = fake.daemonset.strategy.raw.clone();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.pins_images = true;
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    let snapshot = console.snapshot(&fake);
    assert_eq!((fake.at("hash2"), is_released(&fake)), (6, false));
    assert!(matches!(snapshot.phase, Phase::Releasing(_)));
    let failing = |alarm: &Alarm| matches!(alarm, Alarm::WriteFailing { why, .. } if why.contains("admission"));
    assert!(snapshot.alarms.iter().any(failing), "{:?}", snapshot.alarms);
    let in_progress = fake.deleted.len();

    // What it makes of the template is rolled out first, as every other change is.
    let pinned = format!("agent:v2@sha256:{:064x}", "agent:v2".len());
    let images = [("agent".to_owned(), pinned.parse().unwrap())].into();
    console.engine.command(Command::SetImage(images), fake.now).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(
        (&*fake.daemonset.template.images()[0], fake.deleted.len()),
        (&*pinned, in_progress),
        "not before its first step"
    );
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    assert_eq!((fake.deleted.len(), fake.worst_down), (in_progress + 6, 2));
    assert!(is_released(&fake));
    assert_eq!(fake.daemonset.strategy.raw, original);
}

/// Somebody sets another `maxUnavailable` while the DaemonSet is adopted. It does not raise the budget, and a release drops it. Alarm, preview and event say so.
#[test]
fn a_limit_that_somebody_has_set_since_is_said_not_to_be_kept() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 5);
    let says = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.engine.preview(&Command::Release(Early::Accept), fake.now).unwrap().effects.to_vec()
    };
    let not_kept =
        "The DaemonSet's maxUnavailable becomes 2 again: 3, as somebody has set it since, is not kept.".to_owned();
    assert!(!says(&mut console, &fake).contains(&not_kept));
    assert_eq!(console.snapshot(&fake).alarms, []);
    fake.set_strategy(serde_json::json!({"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 3}}));
    console.run_for(&mut fake, 1);
    assert!(says(&mut console, &fake).contains(&not_kept), "{:?}", says(&mut console, &fake));
    assert_eq!(
        console.snapshot(&fake).alarms.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "the DaemonSet's maxUnavailable was changed from 2 to 3: a release restores 2. At most 2 may be down in this rollout"
        ]
    );
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    assert_eq!((is_released(&fake), fake.worst_down), (true, 2));
    let released = |event: &&RolloutEvent| matches!(event.kind, RolloutEventKind::Released { .. });
    let said = console.happened.iter().find(released).map(|event| event.kind.to_string());
    assert_eq!(
        said.as_deref(),
        Some(
            "released: the original update strategy is restored, with maxUnavailable 2; 3, as somebody has set it since, is not kept"
        )
    );
}

/// Somebody sets a rolling strategy with another `maxUnavailable`: the alarm says what the controller follows now, and a release leaves it.
#[test]
fn a_strategy_that_somebody_has_set_since_stays_and_its_limit_is_said() {
    let mut fake = FakeCluster::rolling(8, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 5);
    let theirs = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}});
    fake.set_strategy(theirs.clone());
    console.run_for(&mut fake, 1);
    let alarm = console.snapshot(&fake).alarms[0].to_string();
    assert!(alarm.starts_with("the update strategy was changed back, with maxUnavailable 3 instead of 2"), "{alarm}");
    let effects = console.engine.preview(&Command::Release(Early::Accept), fake.now).unwrap().effects;
    let keeps = "Keeps the update strategy that somebody has set since, and drops the rollout's record.";
    assert!(effects.iter().any(|effect| effect == keeps), "{effects:?}");
    let said = console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    assert_eq!(
        said,
        "released: the update strategy that somebody has set since stays; early, with 8 pods left to its controller"
    );
    assert_eq!(fake.daemonset.strategy.raw, theirs);
}

/// The API server refuses the patch that hands the DaemonSet back, so the release is recorded and not made. Somebody then changes the template: once the patch is
/// accepted again, nothing is handed over that nobody has let go.
#[test]
fn a_release_does_not_hand_over_a_template_that_somebody_else_made_since() {
    for early in [Early::Refuse, Early::Accept] {
        let mut fake = FakeCluster::rolling(6, 1);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.keep(&mut fake);
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 60);
        assert_eq!(fake.at("hash2"), 6);
        fake.pins_images = true;
        let refused = console.ask(&mut fake, Command::Release(early)).unwrap_err();
        assert!(refused.contains("admission would change the template"), "{refused}");
        fake.set_template(template("agent:v3"));
        fake.reconcile();
        fake.pins_images = false;
        console.run_for(&mut fake, 120);
        assert_eq!((fake.at("hash3"), fake.daemonset.strategy.kind), (0, StrategyKind::OnDelete));
        let snapshot = console.snapshot(&fake);
        assert!(matches!(snapshot.phase, Phase::Paused(_)), "{:?}", snapshot.phase);
        // Who releases after that has seen what is handed over.
        console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
        console.run_for(&mut fake, 10);
        assert!(is_released(&fake));
    }
}

/// Somebody else sets the template and a rolling strategy while the release waits: the controller rolls already, and nothing is left to hand over but the annotation.
#[test]
fn a_release_ends_where_somebody_else_has_set_both_template_and_strategy() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let original = fake.daemonset.strategy.raw.clone();
    console.set_image(&mut fake, "agent:v2");
    console.keep(&mut fake);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    fake.pins_images = true;
    console.ask(&mut fake, Command::Release(Early::Refuse)).unwrap_err();
    fake.set_template(template("agent:v3"));
    fake.set_strategy(original);
    fake.reconcile();
    fake.pins_images = false;
    console.run_for(&mut fake, 120);
    assert!(is_released(&fake));
    assert_eq!(console.snapshot(&fake).started_at, None);
}

/// A release that is refused is tried again every half minute. An operator who goes back instead does not wait for that.
#[test]
fn what_is_asked_instead_of_a_refused_release_is_done_at_once() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 30);
    fake.pins_images = true;
    console.engine.command(Command::Release(Early::Accept), fake.now).unwrap();
    console.run_for(&mut fake, 10);
    let failing = |alarm: &Alarm| matches!(alarm, Alarm::WriteFailing { .. });
    assert!(console.snapshot(&fake).alarms.iter().any(failing));
    fake.pins_images = false;
    console.engine.command(Command::Undo { to: None }, fake.now).unwrap();
    console.run_for(&mut fake, 2);
    assert_eq!(&*fake.daemonset.template.images()[0], "agent:v1");
}

/// A command that has ended with an error leaves nothing behind that whoever drives next would carry out.
#[test]
fn a_release_that_is_refused_to_a_command_is_not_asked_for_any_more() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 5);
    drop(console);
    fake.pins_images = true;
    let mut ci = FakeConsole::open_as(&fake, "ci", Role::OneShot);
    let why = ci.ask(&mut fake, Command::Release(Early::Accept)).unwrap_err();
    assert!(why.contains("nothing is released, and it is not asked for any more"), "{why}");
    ci.run_for(&mut fake, 5);
    drop(ci);
    fake.pins_images = false;
    let mut next = FakeConsole::open(&fake, "next");
    assert_eq!(next.snapshot(&fake).phase, Phase::Held);
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.run_for(&mut fake, 30);
    assert!(!is_released(&fake));
}

/// Who reads the log later is told a release that left pods to the controller from one that left none.
#[test]
fn a_release_that_is_early_says_what_it_leaves_to_the_controller() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 7);
    console.run_for(&mut fake, 60);
    let said = console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    assert_eq!(said, "released: the original update strategy is restored; early, with 7 pods left to its controller");
}
