//! Going on past a halt, and what is refused until somebody did.

use std::time::Duration;

use super::gates::{halted_by, strikes_again};
use super::*;
use crate::engine::lease::lock::Want;
use crate::engine::model::Str;
use crate::engine::model::event::Event;
use crate::engine::model::facts::{ClusterEvent, ReportedBy, Severity};
use crate::engine::model::record::{Direction, HaltingGate};
use crate::engine::model::settings::{Gates, Limit, OnFailure};
use crate::engine::model::template::TaintEffect;
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::Snapshot;

/// Twenty nodes on their way to an image that is not there.
fn halted() -> (FakeCluster, FakeConsole) {
    halted_by(HaltingGate::FailureThreshold)
}

/// Whoever resumes past a halt accepts what halted it, and no failure that did not. What comes after that halts it once more.
#[test]
fn past_the_halt_of_any_gate_it_goes_on_and_only_failures_are_acknowledged() {
    for gate in HaltingGate::ALL {
        let (mut fake, mut console) = halted_by(gate);
        let halt = console.snapshot(&fake).halt.unwrap();
        assert_eq!(halt.gate, gate);
        let acknowledged = halt.failed().iter().cloned().collect();
        // A node that is well would be acknowledged for an instant only, which nobody sees here: so none is well while it is resumed.
        let named = halt.named();
        named.iter().for_each(|node| fake.set_ready(node, false));
        console.ask(&mut fake, Command::Resume).unwrap();
        console.run_for(&mut fake, 2);
        assert_eq!(console.engine.progress.acknowledged_failures, acknowledged, "{gate:?}: as soon as it is resumed");
        named.iter().filter(|node| !acknowledged.contains(*node)).for_each(|node| fake.set_ready(node, true));
        // Longer than a grace and than the progress deadline: whatever the gate counts by is counted again meanwhile.
        for minute in 0..10 {
            console.run_for(&mut fake, 60);
            assert_eq!(console.snapshot(&fake).halt, None, "{gate:?}: {minute} minutes after it was resumed");
            assert_eq!(console.engine.progress.acknowledged_failures, acknowledged, "{gate:?}");
        }
        // A gate that accepts for good whatever there was to accept once would guard nothing from then on.
        strikes_again(gate, &mut fake, named);
        console.run_for(&mut fake, 120);
        let again = console.snapshot(&fake).halt.unwrap_or_else(|| panic!("{gate:?} does not halt a second time"));
        assert_eq!(again.gate, gate);
        assert!(again.number > halt.number, "{gate:?}: {again:?}");
    }
}

/// The driver is killed after its halt, and an operator resumes without driving. Until somebody drives, nobody is told that it would halt again;
/// then it goes on.
#[test]
fn past_the_halt_of_any_gate_whoever_drives_next_goes_on_as_well() {
    for gate in HaltingGate::ALL {
        let (mut fake, mut console) = halted_by(gate);
        let halt = console.snapshot(&fake).halt.unwrap();
        let acknowledged = halt.failed().iter().cloned().collect();
        halt.named().iter().for_each(|node| fake.set_ready(node, false));
        console.run_for(&mut fake, 2);
        drop(console);
        let waits = |snapshot: &Snapshot| snapshot.alarms.iter().any(|it| matches!(it, Alarm::HaltWaits { .. }));
        let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
        eve.ask(&mut fake, Command::Resume).unwrap();
        for second in 0..60 {
            let snapshot = eve.snapshot(&fake);
            assert!(!waits(&snapshot), "{gate:?}, {second} s after the resume: {:?}", snapshot.alarms);
            eve.run_for(&mut fake, 1);
        }

        // This one drives before it has seen a pod. Commands are refused until then, so that its wish is set by hand here.
        let mut next = FakeConsole::restored(&fake, "kim");
        next.load_all_but(&fake, Some(Watched::Pods));
        next.mute(Watched::Pods);
        let refused = next.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap_err();
        assert!(refused.contains("still loading"), "{refused}");
        next.engine.lock.ask_to_drive(Want::Ask);
        next.run_for(&mut fake, 40);
        assert!(next.engine.lock.holds(), "{gate:?}");
        assert_eq!(
            next.engine.progress.acknowledged_failures, acknowledged,
            "{gate:?}: what the record names, no more"
        );
        assert_eq!(next.snapshot(&fake).halt, None, "{gate:?}: before it sees pods");
        next.unmute(&fake, Watched::Pods);
        next.load(&fake);
        for minute in 0..10 {
            next.run_for(&mut fake, 60);
            assert_eq!(next.snapshot(&fake).halt, None, "{gate:?}: {minute} minutes after it sees pods");
        }
        // Nothing but what was accepted goes without a halt.
        let named = halt.named();
        named.iter().filter(|node| !halt.failed().contains(*node)).for_each(|node| fake.set_ready(node, true));
        strikes_again(gate, &mut fake, named);
        next.run_for(&mut fake, 120);
        let again = next.snapshot(&fake).halt.unwrap_or_else(|| panic!("{gate:?} does not halt a second time"));
        assert!(again.gate == gate && again.number > halt.number, "{gate:?}: {again:?}");
    }
}

#[test]
fn nothing_more_is_let_go_while_it_is_halted() {
    let (mut fake, mut console) = halted();
    let allowed = console.snapshot(&fake).plan.allowed;
    let remedy = "`resume` goes on past it, `undo` goes back";
    for command in [
        Command::Step(Step::Next),
        Command::Step(Step::Updated(IntOrPercent::Percent(100))),
        Command::Step(Step::Partition(IntOrPercent::Int(0))),
        Command::Select(None),
    ] {
        let refused = console.ask(&mut fake, command.clone()).unwrap_err();
        assert!(refused.starts_with("halted: image not found on "), "{command:?}: {refused}");
        assert!(refused.contains(remedy), "{command:?}: {refused}");
    }
    assert_eq!(console.snapshot(&fake).plan.allowed, allowed);
    // What only holds more is not refused.
    console.ask(&mut fake, Command::Step(Step::Back)).unwrap();
    console.ask(&mut fake, Command::Select(Some("zone=none".parse().unwrap()))).unwrap();
}

#[test]
fn going_on_says_which_failures_are_accepted_and_asks() {
    let (mut fake, mut console) = halted();
    let failed: Vec<String> = console.snapshot(&fake).halt.unwrap().named().iter().map(ToString::to_string).collect();
    let preview = console.engine.preview(&Command::Resume, fake.now).unwrap();
    assert_eq!((preview.danger, &*preview.title), (Danger::Serious, "Resume past the halt"));
    for node in &failed {
        assert!(preview.effects.contains(&format!("{node}: image not found")), "{:?}", preview.effects);
    }
    let said = console.ask(&mut fake, Command::Resume).unwrap();
    assert!(said.contains("accepted: image not found on n"), "{said}");
    assert_ne!(console.snapshot(&fake).phase, Phase::Halted);

    // A pause alone is no more than a key.
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert_eq!(console.engine.preview(&Command::Resume, fake.now).unwrap().danger, Danger::Bounded);
}

/// A registry that cannot be reached says nothing of the image: that holds what serves, and halts only at the progress deadline.
#[test]
fn an_image_that_the_network_keeps_away_holds_the_rollout_and_it_goes_on_by_itself() {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 5);
    assert_eq!(fake.deleted.len(), 2, "{:?}", fake.deleted);
    let node = fake.deleted[0].clone();
    let timeout = "failed to do request: Head \"https://r/v2/agent/manifests/v2\": dial tcp: i/o timeout";
    let state = ContainerState::Waiting { reason: "ErrImagePull".into(), message: Some(timeout.into()) };
    let present = fake.pods.values().find(|pod| pod.node.as_ref() == Some(&node)).unwrap().containers.clone();
    fake.change_pod(&node, |pod| {
        pod.containers[0].image_present = false;
        pod.containers[0].state = state;
    });
    // The other one is ready: there is room for one more.
    let other = fake.deleted[1].clone();
    fake.set_ready(&other, true);
    console.run_for(&mut fake, 300);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.phase, fake.deleted.len()), (Phase::Running, 2), "{:?}", snapshot.halt);
    assert!(snapshot.nodes.iter().any(|view| view.name == node && view.cause.is_some()), "it says why");
    fake.change_pod(&node, |pod| pod.containers = present);
    fake.set_ready(&node, true);
    console.run_for(&mut fake, 10);
    assert_eq!(fake.deleted.len(), 4, "it goes on by itself");

    let third = fake.deleted[2].clone();
    let state = ContainerState::Waiting { reason: "ErrImagePull".into(), message: Some(timeout.into()) };
    fake.change_pod(&third, |pod| {
        pod.containers[0].image_present = false;
        pod.containers[0].state = state;
    });
    console.run_for(&mut fake, 610);
    let halt = console.snapshot(&fake).halt.unwrap();
    assert!(halt.why.contains("progress deadline"), "{halt:?}");
}

/// How long a pod has been in trouble is seen only by watching it. A console that is opened later takes it from the record.
#[test]
fn a_node_that_halted_the_rollout_is_failed_for_whoever_looks_later() {
    let (mut fake, mut console) = halted();
    let named = console.snapshot(&fake).halt.unwrap().named().to_vec();
    assert!(!named.is_empty());
    let failed = |fake: &FakeCluster, role: Role| {
        let snapshot = FakeConsole::open_as(fake, "eve", role).snapshot(fake);
        let failed = snapshot.nodes.iter().filter(|node| node.state == NodeState::Failed);
        let failed: Vec<_> = failed.map(|node| (node.name.clone(), node.cause.clone().unwrap().to_string())).collect();
        assert_eq!(usize::try_from(snapshot.counts.failed).unwrap(), failed.len());
        failed
    };
    let expected: Vec<_> = named.iter().map(|node| (node.clone(), "image not found".to_owned())).collect();
    for role in [Role::OneShot, Role::Driver] {
        assert_eq!(failed(&fake, role), expected);
    }
    // A failure that was acknowledged is still a failure.
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 2);
    assert_eq!(failed(&fake, Role::OneShot), expected);
    // Once the image is there, the node is not failed any more.
    for node in &named {
        fake.change_pod(node, |pod| {
            pod.containers[0].state = ContainerState::Running { since: None };
            pod.containers[0].image_present = true;
        });
        fake.set_ready(node, true);
    }
    assert_eq!(failed(&fake, Role::OneShot), []);
}

#[test]
fn of_many_failures_a_few_are_named_and_all_are_counted() {
    let mut fake = FakeCluster::rolling(20, 10);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    let failed = console.snapshot(&fake).halt.unwrap().named().len();
    assert!(failed > 5, "{failed}");
    let preview = console.engine.preview(&Command::Resume, fake.now).unwrap();
    let text = preview.effects.join("\n");
    assert!(text.starts_with(&format!("It goes on past the halt, and accepts these {failed} failures:")), "{text}");
    assert_eq!(text.matches(": image not found").count(), 5, "{text}");
    assert!(text.contains(&format!("and {} more", failed - 5)), "{text}");
}

/// It went to v2, and goes to v1 again, where it came from; by now v1 cannot be pulled any more.
#[test]
fn what_fails_is_not_gone_back_to() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash1"), fake.at("hash2")), (3, 3));
    let gates = Gates { on_failure: OnFailure::RollBack, ..Gates::default() };
    let to_v1 = Command::SetImage([("agent".to_owned(), "agent:v1".parse().unwrap())].into());
    console.ask(&mut fake, to_v1.under(Tuning::from(gates))).unwrap();
    fake.broken.push("agent:v1".into());
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 120);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.phase, snapshot.direction), (Phase::Halted, Direction::Forward));
    let why = snapshot.halt.unwrap().why;
    assert!(why.ends_with("so that there is nothing to roll back to"), "{why}");
    assert!(fake.at("hash2") >= 1, "the other nodes keep what they have");
}

/// A node that nobody may update keeps asking the registry for an image that is not there.
#[test]
fn a_pod_that_pulls_in_vain_outside_the_fleet_holds_no_pull_slot() {
    let mut fake = FakeCluster::rolling(4, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    let one = Tuning { max_pulling: Some(Limit::At(IntOrPercent::Int(1))), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(one)).unwrap();
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 60);
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
    fake.set_taints("n1", &[("reserved", "", TaintEffect::NoSchedule)]);
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Resume).unwrap_or_default();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    assert_eq!(console.state(&fake, "n1").0, NodeState::Ineligible);
    assert_eq!(fake.at("hash3"), 3, "{:?}", console.snapshot(&fake).counts);
}

/// The record forgets a halt with its rollout. Who asks to go to that revision again is told, by the timeline or by the Events of others.
#[test]
fn going_back_to_a_revision_at_which_it_halted_is_warned_of() {
    let (mut fake, mut console) = halted();
    let bad = console.snapshot(&fake).to.and_then(|to| to.number).unwrap();
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 120);
    assert_eq!(console.snapshot(&fake).started_at, None, "it is over");
    let warned = |console: &mut FakeConsole, fake: &FakeCluster| {
        let preview = console.engine.preview(&Command::Undo { to: Some(bad) }, fake.now).unwrap();
        preview.warnings.into_iter().find(|line| line.contains("halted at revision"))
    };
    let says = warned(&mut console, &fake).unwrap();
    assert!(says.starts_with(&format!("The rollout halted at revision {bad}, at ")), "{says}");
    assert!(says.contains(" UTC: image not found on "), "{says}");

    let mut other = FakeConsole::open(&fake, "eve");
    assert_eq!(warned(&mut other, &fake), None, "it was not there");
    let told: Vec<_> = console.snapshot(&fake).timeline.to_vec();
    for (nth, told) in told.into_iter().enumerate() {
        let (reason, message) = (told.reason().to_owned(), told.to_string());
        let reported_by = Some(Box::new(ReportedBy {
            event: format!("e{nth}").into(),
            identity: "ops@bastion/1".into(),
            severity: Severity::Normal,
            revision: told.revision,
        }));
        let at = fake.now + Duration::from_secs(nth as u64);
        let event = ClusterEvent {
            object: "ds".into(),
            reason: reason.into(),
            message: message.into(),
            at,
            reported_by,
            ..ClusterEvent::default()
        };
        other.engine.observe(Event::Cluster(Box::new(event)), fake.now);
    }
    let says = warned(&mut other, &fake).unwrap();
    assert!(says.starts_with(&format!("As an Event says, the rollout halted at revision {bad}, at ")), "{says}");
}

/// Its controller rolls out an image that is not there: nobody adopted it, and the brake is offered as soon as a node has failed.
#[test]
fn where_its_controller_rolls_out_what_fails_the_brake_is_offered() {
    let mut fake = FakeCluster::rolling(4, 1);
    fake.broken = vec!["agent:v2".into()];
    let mut console = FakeConsole::open(&fake, "ops");
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    fake.remove_pod("n1");
    fake.create_pod("n1");
    console.run(&mut fake);
    assert_eq!(console.snapshot(&fake).guidance(), None, "it may still come");
    console.run_for(&mut fake, 60);
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.phase, snapshot.counts.failed), (&Phase::Native, 1));
    let guidance = snapshot.guidance().unwrap();
    assert_eq!(guidance.waits, "its controller goes on, whatever fails");
    assert_eq!(guidance.remedies, [Remedy::Brake]);
}

#[test]
fn another_image_ends_the_halt_begins_anew_and_says_so_beforehand() {
    let (mut fake, mut console) = halted();
    let image = Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into());
    let preview = console.engine.preview(&image, fake.now).unwrap();
    assert!(preview.effects.iter().any(|line| line.starts_with("The halt ends")), "{:?}", preview.effects);
    fake.wait(100);
    let set_at = fake.now;
    console.ask(&mut fake, image).unwrap();
    console.run_for(&mut fake, 2);
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.halt.is_none());
    assert!(snapshot.started_at < Some(set_at), "it is the same record");
    assert!(snapshot.target_began() >= Some(set_at), "{:?}", snapshot.target_began());
    // An image whose revision is in the history already: that was made long before. A node that does not have it is outdated since now.
    fake.wait(100);
    let again_at = fake.now;
    console.set_image(&mut fake, "agent:bad");
    console.run_for(&mut fake, 2);
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.target_began() >= Some(again_at), "{:?}", snapshot.target_began());
    let outdated = snapshot.nodes.iter().filter(|node| node.state == NodeState::Outdated && node.cause.is_none());
    let since: Vec<_> = outdated.map(|node| node.since).collect();
    assert!(!since.is_empty() && since.iter().all(|since| *since >= Some(again_at)), "{since:?} {again_at:?}");
}

/// The kubelet of this node finds no such image.
fn fail(fake: &mut FakeCluster, node: &str) {
    let not_found = "rpc error: code = NotFound desc = failed to pull and unpack image \"agent:bad\": not found";
    let state = ContainerState::Waiting { reason: "ErrImagePull".into(), message: Some(not_found.into()) };
    fake.change_pod(node, |pod| {
        pod.containers[0].image_present = false;
        pod.containers[0].state = state;
    });
}

/// A rollout that has taken its first three of twenty nodes, whose pods get ready only when told to.
fn three_on_their_way() -> (FakeCluster, FakeConsole, [Str; 3]) {
    let mut fake = FakeCluster::rolling(20, 3);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 5);
    let taken = fake.deleted.clone().try_into().unwrap();
    (fake, console, taken)
}

/// The driver ends when it halts. A second node that it had on its way fails after that, and nobody names it in the halt. `status` counts
/// it as failed, so whoever resumes accepts it as well.
#[test]
fn going_on_accepts_what_failed_while_nobody_drove() {
    let (mut fake, mut console, [first, second, _]) = three_on_their_way();
    fail(&mut fake, &first);
    console.run_for(&mut fake, 60);
    assert_eq!(console.snapshot(&fake).halt.unwrap().named(), std::slice::from_ref(&first));
    console.ask(&mut fake, Command::StopDriving).unwrap();
    fail(&mut fake, &second);

    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    eve.run_for(&mut fake, 60);
    assert_eq!(eve.snapshot(&fake).counts.failed, 2);
    let preview = eve.engine.preview(&Command::Resume, fake.now).unwrap();
    assert_eq!(
        preview.effects[..4],
        [
            // The halt says `on 1 node`.
            "It goes on past the halt, and accepts these 2 failures, 1 of which came after it:".to_owned(),
            format!("{first}: image not found"),
            format!("{second}: image not found, after the halt"),
            "It halts again only for a new failure: on another node, or on one of these once it was well.".to_owned(),
        ]
    );
    eve.ask(&mut fake, Command::Resume).unwrap();
    let accepted = eve.snapshot(&fake).alarms;
    let waits = |alarm: &Alarm| matches!(alarm, Alarm::HaltWaits { .. });
    assert!(!accepted.iter().any(waits), "no driver has taken it in yet, and none will halt: {accepted:?}");
    let five = Tuning { failure_threshold: Some(IntOrPercent::Int(5)), ..Tuning::default() };
    let lines = eve.engine.preview(&Command::Tune(five), fake.now).unwrap().effects;
    let counts = "No node has failed by now, besides 2 that somebody accepted; it halts at 5.".to_owned();
    assert!(lines.contains(&counts), "{lines:?}");

    let mut next = FakeConsole::open(&fake, "kim");
    next.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap();
    next.run_for(&mut fake, 60);
    assert_eq!(next.snapshot(&fake).halt, None, "what the operator saw fail halts it no more");
    assert_eq!(next.engine.progress.acknowledged_failures, [first, second].into());
}

#[test]
fn what_fails_without_a_driver_is_told_the_same_until_somebody_drives() {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 5);
    let [first, second] = fake.deleted.clone().try_into().unwrap();
    // It is killed: nobody renews the lease any more.
    drop(console);
    fail(&mut fake, &first);
    fail(&mut fake, &second);
    let waits = |snapshot: &Snapshot| {
        let why = format!("image not found on 2 nodes ({first}, {second})");
        snapshot.alarms == [Alarm::HaltWaits { gate: HaltingGate::FailureThreshold, why: why.into() }]
            && snapshot.remedies() == [Remedy::Undo, Remedy::Drive]
    };

    fake.wait(60);
    let mut looks = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    looks.run_for(&mut fake, 8);
    let at_once = looks.snapshot(&fake);
    assert!(waits(&at_once), "{:?} {:?}", at_once.alarms, at_once.remedies());
    assert!(matches!(at_once.driver, DriverView::Unconfirmed { .. }), "{:?}", at_once.driver);
    looks.run_for(&mut fake, 30);
    let later = looks.snapshot(&fake);
    assert!(matches!(later.driver, DriverView::Lost { .. }), "{:?}", later.driver);
    assert!(waits(&later), "{:?} {:?}", later.alarms, later.remedies());

    let mut next = FakeConsole::open(&fake, "kim");
    // It waits until the lease has run out before its eyes.
    next.run_for(&mut fake, 20);
    next.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap();
    next.run_for(&mut fake, 10);
    let halted = next.snapshot(&fake);
    assert_eq!(halted.halt.as_ref().map(|halt| halt.named().to_vec()), Some(vec![first.clone(), second.clone()]));
    let asked = next.engine.preview(&Command::Resume, fake.now).unwrap().effects;
    next.ask(&mut fake, Command::Resume).unwrap();
    next.ask(&mut fake, Command::StopDriving).unwrap();
    next.run_for(&mut fake, 5);
    let resumed = next.snapshot(&fake);
    assert_eq!(resumed.driver, DriverView::Nobody);
    assert_eq!(resumed.alarms, [Alarm::BudgetUsedUp { used: 2, limit: 2, waiting: 18, failed: 2 }]);
    assert_eq!(resumed.remedies(), [Remedy::Undo, Remedy::SetImage, Remedy::Drive]);
    // The preview of the resume gives the same hint.
    let hint =
        "once one of those is well again. A larger budget would only give the revision that failed to more nodes";
    let said = resumed.alarms[0].to_string();
    let waits = "18 nodes wait: 2 are down, 2 may be, 2 failed at the new revision. The next goes ";
    assert_eq!(said, format!("{waits}{hint}"));
    assert!(asked.iter().any(|line| line.contains(hint)), "{asked:#?}");
}

/// The driver is gone since its halt, and more nodes fail. Whoever looks counts all of them, in each place.
#[test]
fn a_halt_is_counted_alike_wherever_it_is_told() {
    let mut fake = FakeCluster::rolling(20, 4);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    let threshold = Tuning { failure_threshold: Some(IntOrPercent::Int(4)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(threshold)).unwrap();
    console.partition(&mut fake, 16);
    console.run_for(&mut fake, 60);
    assert_eq!(console.snapshot(&fake).halt.unwrap().failed().len(), 4);
    drop(console);
    // Somebody deletes two more pods: under OnDelete they come with the new revision.
    for node in ["n11", "n12"] {
        fake.remove_pod(node);
        fake.create_pod(node);
    }
    fake.wait(60);
    let mut ben = FakeConsole::open_as(&fake, "ben", Role::OneShot);
    ben.run_for(&mut fake, 60);
    let snapshot = ben.snapshot(&fake);
    let halt = snapshot.halt.clone().unwrap();
    assert_eq!((halt.failed().len(), &*halt.why), (6, "image not found on 6 nodes"));
    let told =
        |alarm: &Alarm| matches!(alarm, Alarm::Halted { why, .. } if why.starts_with("image not found on 6 nodes ("));
    assert!(snapshot.alarms.iter().any(told), "{:?}", snapshot.alarms);
    assert!(snapshot.doing().to_string().contains("image not found on 6 nodes"), "{}", snapshot.doing());
    let refused = ben.ask(&mut fake, Command::Step(Step::Next)).unwrap_err();
    assert!(refused.starts_with("halted: image not found on 6 nodes"), "{refused}");
}

/// The node that halted it stays the first one that is named, whatever its name, and whoever tells it.
#[test]
fn the_node_that_halted_it_is_named_first() {
    let (mut fake, mut console, [first, second, third]) = three_on_their_way();
    fail(&mut fake, &third);
    console.run_for(&mut fake, 60);
    for node in [&first, &second] {
        fail(&mut fake, node);
        console.run_for(&mut fake, 60);
    }
    let mut other = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    for console in [&mut console, &mut other] {
        assert_eq!(console.snapshot(&fake).halt.unwrap().named(), [third.clone(), first.clone(), second.clone()]);
    }
}

/// On the way back two nodes fail again: a larger budget takes the bad revision from further nodes, and `set-image` would begin another rollout.
#[test]
fn on_the_way_back_a_larger_budget_is_offered_although_the_nodes_that_use_it_up_have_failed() {
    let mut fake = FakeCluster::rolling(8, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash2"), 8);
    console.set_image(&mut fake, "agent:v3");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 120);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    while fake.at("hash2") < 2 {
        console.run_for(&mut fake, 1);
    }
    fake.broken.push("agent:v2".into());
    console.run_for(&mut fake, 900);
    assert_eq!(fake.at("hash3"), 4, "the others wait");
    let alarms = console.snapshot(&fake).alarms;
    let used_up =
        alarms.iter().find(|alarm| matches!(alarm, Alarm::BudgetUsedUp { .. })).unwrap_or_else(|| panic!("{alarms:?}"));
    assert_eq!(used_up.remedies(), [Remedy::RaiseBudget { to: 3 }], "{used_up}");
    assert!(!used_up.to_string().contains("failed at the new revision"), "{used_up}");
}
