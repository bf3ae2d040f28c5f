//! A DaemonSet that is being deleted, or was deleted and made anew under the same name.

use super::*;
use crate::engine::model::record::Record;
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::Snapshot;

fn rolling() -> serde_json::Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}})
}

/// The record on the Lease, whoever it is about.
fn saved(fake: &FakeCluster) -> Option<Record> {
    fake.lease.as_ref().and_then(|lease| lease.record.clone().unwrap())
}

fn is_foreign(snapshot: &Snapshot) -> bool {
    snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::ForeignRecord { .. }))
}

#[test]
fn nothing_is_taken_from_under_a_daemonset_that_is_being_deleted() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 0);
    fake.kubelets();
    let in_progress = fake.deleted.clone();
    assert_eq!(in_progress.len(), 2);
    fake.begin_deletion();
    in_progress.iter().for_each(|node| fake.set_ready(node, true));
    console.run_for(&mut fake, 60);
    assert_eq!(
        fake.deleted, in_progress,
        "there is room in the budget, but a pod that is deleted now does not come back"
    );
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.alarms.contains(&Alarm::BeingDeleted), "{:?}", snapshot.alarms);
    assert_eq!(snapshot.phase, Phase::Held);
    let held = snapshot.nodes.iter().find(|node| node.state == NodeState::Outdated).unwrap();
    assert_eq!(held.hold, Some(Hold::BeingDeleted));
    let refused = console.ask(&mut fake, Command::Step(Step::Next)).unwrap_err();
    assert!(refused.contains("being deleted"), "{refused}");
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
}

/// `--cascade=orphan`, held by a finalizer: the pods run on without an owner, and their nodes have none of the DaemonSet's.
#[test]
fn nodes_without_a_pod_are_held_while_their_daemonset_is_being_deleted() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 10);
    fake.begin_deletion();
    let held = console.snapshot(&fake).nodes.iter().filter(|node| node.hold == Some(Hold::BeingDeleted)).count();
    assert_eq!(held, 3, "those that the partition would keep, too");
    for nth in 1..=4 {
        fake.change_pod(&format!("n{nth}"), |pod| pod.owner = None);
    }
    console.run_for(&mut fake, 120);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.nodes.len(), 4);
    for node in snapshot.nodes.iter() {
        assert_eq!((&node.hold, &node.pod_wait), (&Some(Hold::BeingDeleted), &None), "{node:?}");
        assert_eq!(console.state(&fake, &node.name), (NodeState::Creating, "its DaemonSet is being deleted".into()));
    }
    assert!(
        !snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::ControllerIdle { .. })),
        "{:?}",
        snapshot.alarms
    );
}

#[test]
fn a_record_says_nothing_about_another_daemonset_of_the_same_name() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 10);
    assert_eq!(fake.at("hash2"), 1);
    fake.slow = true;
    console.partition(&mut fake, 0);
    fake.kubelets();
    fake.slow = false;
    assert_eq!(fake.deleted.len(), 3, "three more are to go");
    let first = saved(&fake).unwrap();
    assert_eq!(first.daemonset_uid.as_deref(), Some("ds"));

    fake.recreate(rolling());
    let in_progress = fake.deleted.len();
    // Both the console that drove it and one that is opened now.
    let mut other = FakeConsole::open(&fake, "eve");
    for _ in 0..30 {
        console.run_for(&mut fake, 1);
        other.run_for(&mut fake, 1);
    }
    assert_eq!(fake.deleted.len(), in_progress, "it was another DaemonSet that this was asked for");
    assert_eq!(fake.daemonset.strategy.kind, crate::engine::model::facts::StrategyKind::RollingUpdate);
    for console in [&mut console, &mut other] {
        let snapshot = console.snapshot(&fake);
        assert!(is_foreign(&snapshot), "{:?}", snapshot.alarms);
        assert_eq!(snapshot.started_at, None);
    }
    assert_eq!(saved(&fake).unwrap().daemonset_uid, first.daemonset_uid, "nobody drops it by himself");

    // What is refused says what the alarm says.
    let mut one_shot = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    let of_another = "the rollout that is recorded was of an earlier DaemonSet of this name, so there is ";
    let select = Command::Select(Some("zone=a".parse().unwrap()));
    let tune = Command::Tune(Tuning { strict: Some(true), ..Tuning::default() });
    for command in [Command::Resume, Command::Drive(Takeover::IfFree), select, tune] {
        let said = one_shot.ask(&mut fake, command.clone()).unwrap_err();
        assert!(said.starts_with(of_another), "{command:?}: {said}");
    }

    // A new rollout replaces it.
    other.set_image(&mut fake, "agent:v3");
    let second = saved(&fake).unwrap();
    assert_eq!(second.daemonset_uid, Some(fake.daemonset.uid.clone()));
    assert_eq!(second.intent.partition, IntOrPercent::Percent(100), "nothing moves before its first step");
    other.partition(&mut fake, 0);
    other.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash3"), 6);
    assert!(!is_foreign(&other.snapshot(&fake)));
}

#[test]
fn a_release_drops_the_record_of_an_earlier_daemonset() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.recreate(rolling());
    console.run_for(&mut fake, 5);
    assert!(saved(&fake).is_some());
    // Nothing is promised that it does not do: this one has no other strategy to restore.
    let preview = console.engine.preview(&Command::Release(Early::Refuse), fake.now).unwrap();
    let effects = [
        "Drops the record of the earlier DaemonSet of this name.",
        "This DaemonSet is not changed: its update strategy stays RollingUpdate, and no pod is replaced for it.",
        "This process holds the lease until the record is dropped.",
    ];
    assert_eq!(
        (preview.effects, preview.calls),
        (effects.map(Into::into).into(), vec!["PUT leases/rolldeck-agent (record)".into()])
    );
    assert_eq!(preview.warnings, Vec::<String>::new());
    console.ask(&mut fake, Command::Release(Early::Refuse)).unwrap();
    assert_eq!(saved(&fake), None);
    assert_eq!(fake.daemonset.strategy.raw, rolling(), "and changes nothing else");
    let told: Vec<String> = console.snapshot(&fake).timeline.iter().map(ToString::to_string).collect();
    assert!(!told.iter().any(|line| line.contains("is restored")), "{told:?}");
    let dropped = "the record is dropped: the DaemonSet was not adopted, and its update strategy stays";
    let logged: Vec<String> = console.happened.iter().map(ToString::to_string).collect();
    assert!(
        logged.iter().any(|line| line == dropped) && !logged.iter().any(|line| line.contains("restored")),
        "{logged:?}"
    );
}

/// The pause had set `OnDelete`; whoever made the DaemonSet anew did not.
#[test]
fn of_a_pause_of_an_earlier_daemonset_it_is_said_that_it_does_not_hold() {
    for (strategy, then) in [
        (rolling(), "the update strategy is RollingUpdate: its controller replaces pods"),
        (json!({"type": "OnDelete"}), "the update strategy is OnDelete: its controller replaces no pod by itself"),
    ] {
        let mut fake = FakeCluster::rolling(4, 1);
        FakeConsole::open_as(&fake, "ben", Role::OneShot).ask(&mut fake, Command::Pause { why: None }).unwrap();
        fake.recreate(strategy);
        let mut eve = FakeConsole::open(&fake, "eve");
        eve.run_for(&mut fake, 5);
        let alarms: Vec<String> = eve.snapshot(&fake).alarms.iter().map(ToString::to_string).collect();
        let want = "the rollout that is recorded was of an earlier DaemonSet of this name: its limits do not count, the pause by ben@bastion does \
                    not hold, and nothing is driven by it; ";
        assert_eq!(alarms, [format!("{want}{then}")]);
    }
}

/// What is advised about it is carried out as it stands, and ends the alarm: by whichever command somebody is told of it.
#[test]
fn what_is_advised_about_the_record_of_an_earlier_daemonset_works() {
    for saved_strategy in [false, true] {
        let mut fake = FakeCluster::rolling(6, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 5);
        console.run_for(&mut fake, 20);
        console.ask(&mut fake, Command::StopDriving).unwrap();
        let original = fake.daemonset.annotations.get(ORIGINAL_STRATEGY).map(ToString::to_string);
        match saved_strategy {
            // Its manifest is applied again as it was exported in the middle of the rollout.
            true => {
                fake.recreate(json!({"type": "OnDelete"}));
                fake.set_original(original);
            }
            false => fake.recreate(rolling()),
        }
        let mut one_shot = FakeConsole::open_as(&fake, "bob", Role::OneShot);
        one_shot.run_for(&mut fake, 5);
        let snapshot = one_shot.snapshot(&fake);
        assert!(snapshot.counts.updated < snapshot.counts.nodes, "pods are outdated: {:?}", snapshot.counts);
        let foreign = snapshot.alarms.iter().find(|alarm| matches!(alarm, Alarm::ForeignRecord { .. })).unwrap();
        let remedies = snapshot.remedies_of(foreign);
        let commands: Vec<Command> = remedies
            .iter()
            .filter_map(|remedy| match remedy {
                Remedy::RecordAnew => Some(Command::Adopt),
                Remedy::DropForeignRecord => Some(Command::Release(Early::Refuse)),
                _ => None,
            })
            .collect();
        assert_eq!(commands.len(), 1, "{remedies:?}");
        if saved_strategy {
            for command in [Command::Drive(Takeover::IfFree), Command::Resume] {
                let refused = one_shot.ask(&mut fake, command).unwrap_err();
                assert!(refused.contains("`adopt` records it anew"), "{refused}");
            }
        }
        one_shot.ask(&mut fake, commands[0].clone()).unwrap();
        one_shot.run_for(&mut fake, 5);
        let snapshot = one_shot.snapshot(&fake);
        assert!(!is_foreign(&snapshot), "{:?}", snapshot.alarms);
    }
}

#[test]
fn a_record_without_a_uid_is_believed_and_gets_it() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    drop(console);
    let mut lease = fake.lease.clone().unwrap();
    lease.record = Ok(Some(Record { daemonset_uid: None, ..saved(&fake).unwrap() }));
    fake.lease = Some(lease);
    let mut console = FakeConsole::open(&fake, "eve");
    fake.wait(20);
    console.partition(&mut fake, 0);
    assert_eq!(saved(&fake).unwrap().daemonset_uid.as_deref(), Some("ds"));
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 4);
}

/// What was asked of the one that is gone is not done to the other; a pause is, as it can do no harm.
#[test]
fn a_command_that_is_under_way_is_not_carried_over() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    let id = console.engine.command(Command::SetImage(images), fake.now).unwrap();
    fake.recreate(rolling());
    console.run_for(&mut fake, 10);
    let answer = console.settled.iter().find(|(settled, _)| *settled == id).map(|(_, answer)| answer.clone());
    let why = answer.unwrap().unwrap_err();
    assert!(why.contains("made anew"), "{why}");
    assert_eq!((fake.lease.is_none(), fake.daemonset.strategy.raw.clone()), (true, rolling()));
}

/// A watch that is late tells of the old one after the new one was seen.
#[test]
fn a_daemonset_that_is_gone_is_not_brought_back_by_what_is_late() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let old = fake.daemonset.clone();
    fake.recreate(rolling());
    console.run(&mut fake);
    let uid = |console: &FakeConsole| console.engine.view.daemonset().map(|daemonset| daemonset.uid.clone());
    assert_eq!(uid(&console), Some(fake.daemonset.uid.clone()));
    console.engine.observe(Event::DaemonSet(Box::new(old.clone())), fake.now);
    assert_eq!(uid(&console), Some(fake.daemonset.uid.clone()));
    console.engine.observe(Event::DaemonSetGone(None), fake.now);
    console.engine.observe(Event::DaemonSet(Box::new(old)), fake.now);
    assert_eq!(uid(&console), None);
}
