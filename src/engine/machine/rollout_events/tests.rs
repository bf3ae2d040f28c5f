//! Who is said to have done what, and how often.

use serde_json::json;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, PrewarmCommand, Step, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::event::Event;
use crate::engine::model::facts::{ClusterEvent, ReportedBy, Severity};
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::rollout_event::{EventOutcome, PatchChange, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::model::settings::{Gates, OnFailure};
use crate::engine::model::time::Timestamp;

/// What everybody is told of it, a line each: `ops: …` or `-: …` for what happened by itself.
pub(super) fn said(console: &FakeConsole) -> Vec<String> {
    let said = console.happened.iter().filter(|rollout_event| rollout_event.visibility == Visibility::Cluster);
    said.map(|rollout_event| {
        let who = rollout_event.by.as_deref().map_or("-", |by| by.split('@').next().unwrap_or(by));
        format!("{who}: {rollout_event}")
    })
    .collect()
}

fn assert_told(console: &FakeConsole, want: &[&str]) {
    let said = said(console);
    assert_eq!(said, want, "told:\n{}", said.join("\n"));
}

#[test]
fn a_whole_rollout_is_told_in_a_few_lines() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Next)).unwrap();
    console.run_for(&mut fake, 10);
    console.ask(&mut fake, Command::Pause { why: Some("lunch".into()) }).unwrap();
    console.ask(&mut fake, Command::Resume).unwrap();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 40);
    assert_told(
        &console,
        &[
            "ops: drives the rollout now, with soak=0s and the other defaults",
            "-: adopted: its controller replaces no pod any more",
            "-: template changed: revision 1 → 2, agent v1 → v2",
            "ops: template has agent=agent:v2; no pod is replaced before the first step",
            "ops: step to the next: 1 of 20 nodes may be updated, partition keeps 19",
            "ops: paused: no update starts: lunch",
            "ops: resumed",
            "ops: step to partition 0: 20 of 20 nodes may be updated, partition keeps 0",
            "-: complete: all 20 nodes are at the target",
            "-: released: the original update strategy is restored",
            "ops: drives no more, gave the lease back: handed back",
        ],
    );
    let deletions = |result| {
        let of = |what: &RolloutEventKind| matches!(what, RolloutEventKind::DeletePod { .. });
        console.happened.iter().filter(|known| of(&known.kind) && known.outcome == result).count()
    };
    assert_eq!((deletions(EventOutcome::Sent), deletions(EventOutcome::Done)), (20, 20), "each pod is in the log");
    let timeline = console.engine.snapshot(fake.now).timeline;
    assert!(timeline.len() < 15 && timeline.is_sorted_by_key(|known| known.at), "and none is on the timeline");
}

#[test]
fn a_driver_that_ends_without_a_word_is_told_on_the_timeline_of_who_looks_on() {
    let mut fake = FakeCluster::rolling(20, 1);
    let mut driver = FakeConsole::open(&fake, "ops");
    driver.set_image(&mut fake, "agent:v2");
    driver.partition(&mut fake, 10);
    let mut looks_on = FakeConsole::open_as(&fake, "eve", Role::Driver);
    let told = |console: &mut FakeConsole, fake: &FakeCluster| -> Vec<String> {
        let timeline = console.snapshot(fake).timeline;
        let of_driver = |event: &&RolloutEvent| {
            matches!(event.kind, RolloutEventKind::DriverSilent { .. } | RolloutEventKind::DriverBack { .. })
        };
        timeline.iter().filter(of_driver).map(ToString::to_string).collect()
    };
    for _ in 0..10 {
        driver.run_for(&mut fake, 1);
        looks_on.run(&mut fake);
    }
    looks_on.run_for(&mut fake, 10);
    assert_eq!(told(&mut looks_on, &fake), Vec::<String>::new(), "it may still renew its lease");
    let mut comes_later = FakeConsole::open_as(&fake, "bob", Role::Driver);
    looks_on.run_for(&mut fake, 20);
    comes_later.run_for(&mut fake, 1);
    let holder = fake.lease.as_ref().unwrap().holder.clone().unwrap();
    let silent = format!("nobody drives any more: {holder} has stopped renewing its lease");
    assert_eq!(told(&mut looks_on, &fake), std::slice::from_ref(&silent), "once");
    assert!(told(&mut comes_later, &fake).is_empty(), "who comes later did not see it drive");

    driver.run_for(&mut fake, 5);
    looks_on.run_for(&mut fake, 1);
    assert_eq!(told(&mut looks_on, &fake), [silent, format!("{holder} renews its lease again, and drives")]);
}

#[test]
fn the_timeline_lists_a_command_by_when_it_was_asked_for() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let listed = |console: &mut FakeConsole, fake: &FakeCluster| {
        let timeline = console.snapshot(fake).timeline;
        timeline.iter().rfind(|event| matches!(event.kind, RolloutEventKind::Command(_))).unwrap().at
    };
    console.set_image(&mut fake, "agent:v2");
    for (answered_after, in_time) in [(1, true), (5, false)] {
        fake.wait(60);
        console.run(&mut fake);
        let asked_at = fake.now;
        console.engine.command(Command::Step(Step::Next), asked_at).unwrap();
        fake.wait(answered_after);
        console.run(&mut fake);
        let settled_at = fake.now;
        assert_eq!(listed(&mut console, &fake), if in_time { asked_at } else { settled_at });
        let logged = console.happened.iter().rfind(|event| matches!(event.kind, RolloutEventKind::Command(_)));
        assert_eq!(
            logged.unwrap().at,
            settled_at,
            "the audit log tells what was asked for and what came of it one by one"
        );
        // Other consoles read it from its Event, and list it at the same place.
        let is_command = |event: &RolloutEvent| matches!(event.kind, RolloutEventKind::Command(_));
        let at = console.happened.iter().rposition(is_command).unwrap();
        assert_eq!(console.happened_listed_at[at], if in_time { asked_at } else { settled_at });
    }
}

#[test]
fn every_command_is_in_the_log_with_what_came_of_it() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Release(crate::engine::model::command::Early::Refuse)).unwrap_err();
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run(&mut fake);
    let commands: Vec<_> =
        console.happened.iter().filter(|known| matches!(known.kind, RolloutEventKind::Command(_))).collect();
    let results: Vec<_> = commands.iter().map(|known| (known.outcome, known.visibility)).collect();
    assert_eq!(
        results,
        [
            (EventOutcome::Refused, Visibility::Timeline),
            (EventOutcome::Requested, Visibility::Log),
            (EventOutcome::Done, Visibility::Cluster)
        ]
    );
    assert_eq!(commands[1].command, commands[2].command);
    assert!(commands[0].to_string().starts_with("refused: release: it is not adopted"), "{}", commands[0]);
    assert_eq!(serde_json::to_value(&commands[2].kind).unwrap(), json!("adopt"));
    // The answer says `you`; the log names who it was.
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    console.run(&mut fake);
    let drive = |known: &&RolloutEvent| {
        matches!(known.kind, RolloutEventKind::Command(Command::Drive(_))) && known.outcome == EventOutcome::Done
    };
    assert_eq!(console.happened.iter().find(drive).unwrap().to_string(), "drives it now");
}

#[test]
fn two_consoles_never_tell_the_same_twice() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut driver = FakeConsole::open(&fake, "ops");
    driver.set_image(&mut fake, "agent:v2");
    let mut watcher = FakeConsole::open(&fake, "eve");
    watcher.ask(&mut fake, Command::Step(Step::Next)).unwrap();
    driver.run_for(&mut fake, 10);
    watcher.ask(&mut fake, Command::Pause { why: None }).unwrap();
    driver.run(&mut fake);
    watcher.run(&mut fake);
    assert_told(
        &watcher,
        &["eve: step to the next: 1 of 20 nodes may be updated, partition keeps 19", "eve: paused: no update starts"],
    );
    assert!(
        !said(&driver).iter().any(|line| line.contains("may be updated") || line.contains("paused")),
        "{:?}",
        said(&driver)
    );
}

#[test]
fn who_drives_is_told_by_who_takes_over() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut first = FakeConsole::open(&fake, "ops");
    first.set_image(&mut fake, "agent:v2");
    let mut second = FakeConsole::open(&fake, "eve");
    second.engine.command(Command::Drive(Takeover::Ask), fake.now).unwrap();
    for _ in 0..3 {
        second.run(&mut fake);
        first.run(&mut fake);
    }
    let last = said(&first).pop().unwrap();
    assert!(last.starts_with("ops: drives no more, gave the lease back for eve@bastion"), "{last}");
    let in_progress = said(&second).pop().unwrap();
    assert!(in_progress.starts_with("eve: drives the rollout now, handed over by ops@bastion"), "{in_progress}");

    // The second is killed; whoever comes next says in whose place it drives.
    fake.wait(1);
    let mut third = FakeConsole::open(&fake, "kim");
    third.engine.command(Command::Drive(Takeover::Ask), fake.now).unwrap();
    third.run_for(&mut fake, 20);
    let in_progress = said(&third).pop().unwrap();
    assert!(in_progress.starts_with("kim: drives the rollout now, in place of eve@bastion"), "{in_progress}");
    second.run(&mut fake);
    let lost = second.happened.iter().rfind(|known| matches!(known.kind, RolloutEventKind::LeaseLost { .. })).unwrap();
    assert!(lost.to_string().starts_with("does not drive any more: kim@bastion"), "{lost}");
    assert_eq!(lost.visibility, Visibility::Timeline, "the others know it from the one who took over");
}

#[test]
fn a_halt_names_the_nodes_and_is_told_once() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    let halts: Vec<_> =
        console.happened.iter().filter(|known| matches!(known.kind, RolloutEventKind::Halted { .. })).collect();
    assert_eq!(halts.len(), 1);
    assert_eq!(halts[0].to_string(), "halted at revision 2: image not found on 2 nodes (n1, n2)");
    assert_eq!((halts[0].reason(), halts[0].severity()), ("RolloutHalted", Severity::Warning));
    assert_eq!(
        serde_json::to_value(&halts[0].kind).unwrap(),
        json!({"halted": {"number": 1, "revision": 2, "why": "image not found on 2 nodes", "nodes": ["n1", "n2"]}})
    );
}

#[test]
fn a_roll_back_by_the_gates_is_told_as_the_rollouts_own_doing() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    let gates = Gates { on_failure: OnFailure::RollBack, ..Gates::default() };
    console.ask(&mut fake, Command::Tune(gates.into())).unwrap();
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    let said = said(&console);
    let at = said.iter().position(|line| line == "-: rolling back to revision 1, as the gates say").unwrap();
    assert_eq!(said[at - 1], "-: halted at revision 2: image not found on 2 nodes (n1, n2)");
    assert_eq!(said[at + 1], "-: template changed: revision 2 → 3, agent bad → v1");
}

#[test]
fn what_others_do_to_the_daemonset_is_told_with_their_name() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 10);
    console.run_for(&mut fake, 20);
    fake.daemonset.owners.template = Some("argocd-controller".into());
    fake.daemonset.owners.strategy = Some("flux".into());
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    console.run_for(&mut fake, 3);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}));
    fake.reconcile();
    console.run_for(&mut fake, 60);
    let said = said(&console);
    assert_eq!(
        said[said.len() - 2..],
        [
            "-: paused: the template was changed by argocd-controller in the middle of the rollout: agent v2 → v3",
            "-: paused already: the update strategy was changed back by flux"
        ]
    );
}

#[test]
fn an_one_shot_that_takes_the_lease_for_its_one_command_does_not_tell_so() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut one_shot = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    one_shot.set_image(&mut fake, "agent:v2");
    one_shot.run_for(&mut fake, 2);
    assert_told(
        &one_shot,
        &[
            "-: adopted: its controller replaces no pod any more",
            "-: template changed: revision 1 → 2, agent v1 → v2",
            "ops: template has agent=agent:v2; no pod is replaced before the first step",
        ],
    );
}

#[test]
fn a_console_that_only_looked_leaves_no_trace() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    assert!(console.happened.is_empty(), "{:?}", console.happened);
}

#[test]
fn the_timeline_is_made_anew_only_when_it_grew() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap();
    let before = console.engine.snapshot(fake.now).timeline;
    fake.wait(1);
    console.run(&mut fake);
    assert!(std::sync::Arc::ptr_eq(&before, &console.engine.snapshot(fake.now).timeline));
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert_eq!(console.engine.snapshot(fake.now).timeline.len(), before.len() + 1);
}

/// An Event of another process, as the watch shows it.
fn event(fake: &FakeCluster, name: &str, identity: &str, message: &str) -> Event {
    event_because(fake, name, "RolloutPaused", identity, message)
}

pub(super) fn event_because(fake: &FakeCluster, name: &str, reason: &str, identity: &str, message: &str) -> Event {
    Event::Cluster(Box::new(ClusterEvent {
        object: "ds".into(),
        reason: reason.into(),
        message: message.into(),
        at: fake.now,
        reported_by: Some(Box::new(ReportedBy {
            event: name.into(),
            identity: identity.into(),
            severity: Severity::Normal,
            revision: None,
        })),
        ..ClusterEvent::default()
    }))
}

#[test]
fn what_other_consoles_told_is_on_the_timeline_once_and_not_told_again() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap();
    let ours = console.engine.config().identity.clone();
    let said = console.happened.len();
    fake.wait(5);
    for _ in 0..2 {
        // A watch that broke lists everything again, our own included.
        console.engine.observe(event(&fake, "e1", "eve@bastion/1", "eve@bastion: paused: link down"), fake.now);
        console.engine.observe(event(&fake, "e2", "kim@bastion/2", "halted: n1 (driven by kim@bastion)"), fake.now);
        console.engine.observe(event(&fake, "e3", &ours, "ops@bastion: adopted"), fake.now);
        let mut earlier = event(&fake, "e4", "joe@bastion/3", "joe@bastion: adopted");
        if let Event::Cluster(fact) = &mut earlier {
            fact.object = "an-earlier-daemonset-of-this-name".into();
        }
        console.engine.observe(earlier, fake.now);
        console.run(&mut fake);
    }
    let timeline = console.engine.snapshot(fake.now).timeline;
    let claimed: Vec<_> = timeline.iter().filter_map(|it| it.reported_by().map(|by| &**by)).collect();
    assert_eq!(claimed, ["eve@bastion/1", "kim@bastion/2"], "whoever may create Events can claim that");
    let who: Vec<_> = timeline.iter().filter_map(RolloutEvent::reporter_in_words).collect();
    assert_eq!(who, ["eve@bastion", "(kim@bastion)"], "in brackets is what the rollout did by itself, as in the log");
    let lines: Vec<_> = timeline.iter().rev().take(2).rev().map(|it| (it.by.as_deref(), it.to_string())).collect();
    assert_eq!(
        lines,
        [
            (None, "reported: paused: link down".to_owned()),
            (None, "reported: halted: n1 (driven by kim@bastion)".to_owned())
        ]
    );
    assert_eq!(timeline.iter().filter(|it| matches!(it.kind, RolloutEventKind::Reported { .. })).count(), 2);
    assert_eq!(console.happened.len(), said, "nothing of it is told again");
}

/// The audit log of an account outlives DaemonSets, and is of several clusters.
#[test]
fn what_happened_is_told_with_the_uid_of_its_daemonset() {
    let mut fake = FakeCluster::rolling(2, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 2);
    assert_eq!(console.snapshot(&fake).uid.as_deref(), Some("ds"));
    assert!(!console.happened_to.is_empty());
    assert!(console.happened_to.iter().all(|uid| uid.as_deref() == Some("ds")), "{:?}", console.happened_to);
    fake.recreate(json!({"type": "RollingUpdate"}));
    console.run_for(&mut fake, 2);
    let before = console.happened_to.len();
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 2);
    let uid = console.snapshot(&fake).uid;
    assert_ne!(uid.as_deref(), Some("ds"));
    assert_eq!(
        console.happened_to[before..].iter().find(|told| **told != uid),
        None,
        "another object of the same name"
    );
}

/// The watch shows the adoption before the answer to its patch comes: the operator who asked for it is named, and it is told once.
#[test]
fn an_adoption_that_is_seen_before_it_is_answered_is_told_once() {
    for (command, words) in [
        (Command::Adopt, "ops: adopted: its controller replaces no pod any more"),
        (Command::Pause { why: None }, "ops: OnDelete is set: its controller replaces no pod any more; paused"),
    ] {
        let mut fake = FakeCluster::rolling(2, 1);
        let mut console = FakeConsole::open(&fake, "ops");
        console.run_for(&mut fake, 2);
        console.engine.command(command, fake.now).unwrap();
        let mut effects = console.engine.decide(fake.now);
        while !effects.is_empty() {
            let (id, effect) = effects.remove(0);
            let outcome = fake.apply(effect);
            // It decides again on what it sees, and has the answer only then.
            console.hear(&fake);
            effects.extend(console.engine.decide(fake.now));
            console.engine.outcome(id, outcome, fake.now);
            effects.extend(console.engine.decide(fake.now));
        }
        console.run_for(&mut fake, 2);
        let told = said(&console);
        let adoptions: Vec<&String> = told.iter().filter(|told| told.contains("replaces no pod")).collect();
        assert_eq!(adoptions, [words], "{told:#?}");
    }
}

/// A one-shot command holds the lease for its own write: the log does not say that it drives.
#[test]
fn what_a_one_shot_command_does_with_the_lease_is_no_driving() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 2);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 2);
    let of_lease = |event: &&RolloutEvent| {
        matches!(event.kind, RolloutEventKind::LeaseAcquired | RolloutEventKind::LeaseGivenBack { .. })
    };
    let said: Vec<String> = console.happened.iter().filter(of_lease).map(ToString::to_string).collect();
    assert_eq!(said, ["took the lease for one write", "gave the lease back"]);
    assert!(!console.happened.iter().any(|event| event.to_string().contains("drives")), "{:?}", console.happened);
}

/// A dry run comes before a write of the DaemonSet: where it is refused, nothing was sent.
#[test]
fn a_patch_that_failed_as_a_dry_run_is_told_as_one() {
    let kind = |dry_run| RolloutEventKind::PatchDaemonSet { change: PatchChange::Template, dry_run };
    let refused = |dry_run| RolloutEvent {
        at: Timestamp::from_millis(0),
        by: None,
        kind: kind(dry_run),
        outcome: EventOutcome::Invalid,
        command: None,
        said: Some("denied".into()),
        visibility: Visibility::Log,
        revision: None,
    };
    assert_eq!(refused(true).to_string(), "change the template (dry run): refused by the server, not done: denied");
    assert_eq!(refused(false).to_string(), "change the template: refused by the server, not done: denied");
    let json = |dry_run| serde_json::to_string(&kind(dry_run)).unwrap();
    assert_eq!(json(true), r#"{"patchDaemonSet":{"change":"template","dryRun":true}}"#);
    assert_eq!(json(false), r#"{"patchDaemonSet":{"change":"template"}}"#);

    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap();
    fake.refused_images.push("agent:v2".into());
    let _ = console.ask(&mut fake, Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into()));
    let dry = |event: &RolloutEvent| matches!(event.kind, RolloutEventKind::PatchDaemonSet { dry_run: true, .. });
    assert!(console.happened.iter().any(dry), "{:?}", console.happened);
}

/// The watch tells that the lease is ours before the write is answered: whose it was until then, and that it ran out, is told all the same.
#[test]
fn in_whose_place_one_drives_is_told_also_where_the_watch_is_faster_than_the_answer() {
    for takeover in [Takeover::IfFree, Takeover::Ask] {
        let mut fake = FakeCluster::rolling(3, 1);
        let mut killed = FakeConsole::open(&fake, "ops");
        killed.set_image(&mut fake, "agent:v2");
        drop(killed);
        let mut next = FakeConsole::open(&fake, "eve");
        next.run_for(&mut fake, 20);
        next.engine.command(Command::Drive(takeover), fake.now).unwrap();
        let effects = next.engine.decide(fake.now);
        assert_eq!(effects.len(), 1, "{effects:?}");
        for (id, effect) in effects {
            let answer = fake.apply(effect);
            next.hear(&fake);
            next.engine.decide(fake.now);
            next.engine.outcome(id, answer, fake.now);
        }
        next.run(&mut fake);
        let told = said(&next).into_iter().find(|line| line.contains("drives the rollout now")).unwrap();
        let in_place = told.starts_with("eve: drives the rollout now, in place of ops@bastion/");
        assert!(in_place && told.contains(", which stopped renewing its lease, with "), "{takeover:?}: {told}");
    }
}

/// Where no rollout is recorded, whoever drives drives the pre-warming only.
#[test]
fn who_drives_a_pre_warming_only_is_not_said_to_drive_a_rollout() {
    let mut fake = FakeCluster::rolling(5, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    let image = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    let start = Command::Prewarm(PrewarmCommand::Start {
        source: PrewarmSource::Images(image),
        nodes: PrewarmNodes::All,
        limits: PrewarmLimits::default(),
        method: PrewarmMethod::Pods,
    });
    console.ask(&mut fake, start).unwrap();
    console.run_for(&mut fake, 2);
    let told: Vec<String> = console.happened.iter().map(ToString::to_string).collect();
    assert!(told.contains(&"drives the pre-warm now".to_owned()), "{told:?}");
    let which = "pre-warming agent:v2 on 5 nodes, at most 1 pulling";
    assert!(told.contains(&which.to_owned()), "which image, where and how fast: {told:?}");
    assert!(!told.iter().any(|line| line.contains("drives the rollout")), "{told:?}");

    console.set_image(&mut fake, "agent:v2");
    drop(console);
    let mut eve = FakeConsole::open(&fake, "eve");
    eve.run_for(&mut fake, 20);
    eve.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    let told: Vec<String> = eve.happened.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|line| line.starts_with("drives the rollout now, in place of ops@bastion")), "{told:?}");
}
