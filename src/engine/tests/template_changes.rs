//! Changes of the template: what previews say of those that a command asks for, and what follows from those of somebody else.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::lease::edit::Edit;
use crate::engine::model::command::{Command, Step, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::template::Template;
use crate::engine::report::snapshot::Phase;

/// Five nodes whose template got other tolerations and arguments after its first image, and a console.
fn changed() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(5, 5);
    let mut raw = fake.daemonset.template.json().clone();
    raw["spec"]["hostNetwork"] = true.into();
    raw["spec"]["containers"][0]["args"] = vec!["--level=debug"].into();
    fake.set_template(Template::from_json(raw));
    fake.reconcile();
    let mut console = FakeConsole::open(&fake, "ada");
    console.run(&mut fake);
    (fake, console)
}

fn changes(fake: &FakeCluster, console: &mut FakeConsole, command: &Command) -> Vec<String> {
    let preview = console.engine.preview(command, fake.now).unwrap();
    preview.changes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_new_image_and_a_roll_back_say_what_they_change() {
    let (mut fake, mut console) = changed();
    let image = Command::SetImage([("agent".to_owned(), "agent:v9".parse().unwrap())].into());
    let now = fake.daemonset.template.containers()[0].image.clone();
    assert_eq!(changes(&fake, &mut console, &image), [format!("containers[agent].image: {now} → agent:v9")]);
    let undo = Command::Undo { to: Some(1) };
    let back =
        ["containers[agent].args: removed [\"--level=debug\"]".to_owned(), "hostNetwork: removed true".to_owned()];
    assert_eq!(changes(&fake, &mut console, &undo), back);
    // Not the target of the rollout but the template in force is what changes.
    console.ask(&mut fake, image).unwrap();
    let all = [vec![format!("containers[agent].image: agent:v9 → {now}")], back.to_vec()].concat();
    assert_eq!(changes(&fake, &mut console, &undo), all);
    assert_eq!(changes(&fake, &mut console, &Command::Step(Step::Next)), [""; 0], "it leaves the template as it is");
}

#[test]
fn the_snapshot_shares_the_template_that_the_watch_told() {
    let (fake, mut console) = changed();
    let revisions = console.snapshot(&fake).revisions;
    assert_eq!(revisions.len(), 2);
    for revision in revisions.iter() {
        let told = fake.revisions.iter().find(|fact| fact.hash == revision.hash).unwrap();
        assert!(std::ptr::eq(revision.template.as_ref().unwrap().json(), told.template.json()), "it is not copied");
    }
}

/// Three of six nodes are updated when somebody else puts the template back.
fn put_back_by_others() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(6, 2);
    let before = fake.daemonset.template.clone();
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 3);
    fake.set_template(before);
    fake.reconcile();
    console.run_for(&mut fake, 5);
    (fake, console)
}

/// A colleague puts the template back with `kubectl rollout undo`, in the middle of a rollout: what `undo` leads to is where the rollout
/// came from, not the newest other revision, which is the one that was given up.
#[test]
fn after_a_template_that_somebody_else_put_back_a_roll_back_leads_to_where_the_rollout_came_from() {
    let (mut fake, mut console) = put_back_by_others();
    let alarm = console.snapshot(&fake).alarms[0].to_string();
    let words = "the template was changed in the middle of the rollout: agent v2 → v1, where the rollout came from";
    assert_eq!(alarm, words);
    // To resume is to roll out what somebody else asked for, from before its first step.
    let resume = console.engine.preview(&Command::Resume, fake.now).unwrap();
    let says = "Rolls out the template as somebody else changed it: agent v2 → v1, where the rollout came from.";
    assert!(resume.effects.contains(&says.to_owned()), "{:?}", resume.effects);
    assert_eq!(resume.nodes.len(), 0, "{resume:?}");
    let undo = Command::Undo { to: None };
    let preview = console.engine.preview(&undo, fake.now).unwrap();
    assert_eq!(preview.nodes.iter().map(|node| &**node).collect::<Vec<_>>(), ["n1", "n2", "n3"], "{preview:?}");
    assert!(!preview.calls.iter().any(|call| call.contains("(template)")), "it is there already: {:?}", preview.calls);
    console.ask(&mut fake, undo).unwrap();
    console.run_for(&mut fake, 120);
    assert_eq!((fake.at("hash1"), fake.at("hash2")), (6, 0));
    assert_eq!(fake.deleted.len(), 6, "three went to v2, and these three went back");
    let timeline: Vec<String> = console.snapshot(&fake).timeline.iter().map(ToString::to_string).collect();
    assert!(timeline.contains(&"rolled back: all 6 nodes are at revision 3".to_owned()), "{timeline:?}");
}

/// Nobody drives when a colleague changes the template: who asks for a step is told of it, and who resumes need not drive first.
#[test]
fn a_step_does_not_let_go_what_somebody_else_made_of_the_template_before_that_is_resumed() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 60);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    let mut late = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    let snapshot = late.snapshot(&fake);
    let role = |number: i64| {
        snapshot.role_of(snapshot.revisions.iter().find(|revision| revision.number == Some(number)).unwrap())
    };
    assert_eq!((role(1), role(2), role(3)), (None, Some("target of the rollout"), Some("current")));
    let (from, to) = snapshot.compared_by_default().unwrap();
    assert_eq!((from.number, to.number), (Some(2), Some(3)), "what somebody else made of it");
    let Some(Err(none)) = &snapshot.plan.next else { panic!("{:?}", snapshot.plan.next) };
    let says = none.to_string();
    assert!(says.contains("somebody else changed the template in the middle of the rollout: agent v2 → v3"), "{says}");
    for step in [Step::Next, Step::Updated(Int(6))] {
        let refused = late.ask(&mut fake, Command::Step(step)).unwrap_err();
        assert!(refused.contains(&says), "{refused}");
    }
    late.ask(&mut fake, Command::Step(Step::Updated(Int(0)))).unwrap();
    late.ask(&mut fake, Command::Step(Step::Updated(Int(2)))).unwrap_err();

    let resume = late.engine.preview(&Command::Resume, fake.now).unwrap();
    assert!(resume.effects.contains(&"Rolls out the template as somebody else changed it: agent v2 → v3.".to_owned()));
    assert!(!resume.effects.iter().any(|line| line.contains("Every node is updated")), "{:?}", resume.effects);
    late.ask(&mut fake, Command::Resume).unwrap();
    late.ask(&mut fake, Command::Step(Step::Updated(Int(6)))).unwrap();
    let mut next = FakeConsole::open(&fake, "ada");
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.run_for(&mut fake, 200);
    assert_eq!(fake.at("hash3"), 6);
}

/// A step says how many nodes may have the template that its operator saw. Another template, which no node has tried, is not let go on as many at
/// once: its steps begin anew, whoever asks, and however often the same request is written.
#[test]
fn who_resumes_with_the_template_of_somebody_else_begins_before_its_first_step() {
    let mut fake = FakeCluster::rolling(12, 2);
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 4);
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    console.run_for(&mut fake, 5);
    fake.slow = false;
    fake.deleted.clone().iter().for_each(|node| fake.set_ready(node, true));
    console.run_for(&mut fake, 60);
    // Pods that were being made then got the new template, outside of the plan.
    let (deleted, leaked) = (fake.deleted.len(), fake.at("hash3"));
    assert!(deleted < 8, "the step is not over");
    let preview = console.engine.preview(&Command::Resume, fake.now).unwrap();
    let anew = "Its steps begin anew: no pod is replaced before the first one.";
    assert!(preview.effects.contains(&anew.to_owned()) && preview.nodes.is_empty(), "{preview:?}");
    let said = console.ask(&mut fake, Command::Resume).unwrap();
    assert_eq!(
        said,
        "resumed; revision 3, which somebody else made after 2 (agent v2 → v3), is now rolled out; no pod is replaced before the first step"
    );
    console.run_for(&mut fake, 60);
    assert_eq!((fake.deleted.len(), fake.at("hash3")), (deleted, leaked));
    assert_eq!(console.engine.intent().partition, crate::engine::model::quantity::IntOrPercent::Percent(100));
    // Written again after an answer that was lost, it leaves a step that was taken since as it is.
    let target = console.engine.intent().target;
    let edit = Edit::Resume { acknowledged: 0, accepted: [].into(), target };
    console.ask(&mut fake, Command::Step(Step::Updated(Int(u32::try_from(leaked).unwrap() + 1)))).unwrap();
    let mut intent = Some(std::borrow::Cow::Owned(console.engine.intent()));
    edit.apply(&mut intent);
    assert_eq!(intent.unwrap().partition, console.engine.intent().partition);
    console.run_for(&mut fake, 60);
    assert_eq!((fake.deleted.len(), fake.at("hash3")), (deleted + 1, leaked + 1));
}

/// What a roll back costs, and where it leads, is said before it is asked for; so is the way back to the target, where that costs less.
#[test]
fn beside_the_template_of_somebody_else_the_ways_back_are_named_with_what_they_cost() {
    let (fake, mut console) = put_back_by_others();
    let words = |console: &mut FakeConsole, fake: &FakeCluster| -> Vec<String> {
        console.snapshot(fake).remedies().iter().map(ToString::to_string).collect()
    };
    let offered = words(&mut console, &fake);
    assert!(offered.contains(&"rolls back to revision 3, 3 nodes are not at it".to_owned()), "{offered:?}");
    assert!(!offered.iter().any(|words| words.starts_with("goes back")), "it would cost as much: {offered:?}");

    let changed_at = |updated: u32| {
        let mut fake = FakeCluster::rolling(6, 2);
        let mut console = FakeConsole::open(&fake, "ada");
        console.keep(&mut fake);
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 6 - updated);
        console.run_for(&mut fake, 200);
        fake.set_template(template("agent:v3"));
        fake.reconcile();
        console.run_for(&mut fake, 5);
        (fake, console)
    };
    let (fake, mut console) = changed_at(5);
    let offered = words(&mut console, &fake);
    let expected = [
        "rolls out the template as it is now, from before its first step",
        "rolls back to revision 1, 5 nodes are not at it",
        "goes back to the target of the rollout: 1 node is not at it, and goes whatever the steps say",
    ];
    assert_eq!(offered[..3], expected, "{offered:?}");
    // And so it is.
    let back = console.engine.preview(&Command::Undo { to: Some(2) }, fake.now).unwrap();
    assert_eq!(back.nodes.len(), 1, "{back:?}");
    // Where every node had been updated, the target is what a roll back leads to.
    let (fake, mut console) = changed_at(6);
    let offered = words(&mut console, &fake);
    assert_eq!(offered[1..], ["rolls back to revision 2, every node is at it", "resumes"], "{offered:?}");
}

/// A colleague sets v3 while a roll back from v2 is under way: it stands, and goes back nowhere. `undo` lets it go on to where it went.
#[test]
fn an_undo_goes_on_with_the_roll_back_into_which_somebody_else_set_another_template() {
    let mut fake = FakeCluster::rolling(10, 1);
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 200);
    fake.slow = true;
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 8);
    assert!((1..6).contains(&fake.at("hash2")), "{}", fake.at("hash2"));
    let refused = console.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
    let says = "it goes back to revision 3 (the template of 1) already, and ";
    let ends = " not at it yet; to go to another one, name its revision";
    assert!(refused.starts_with(says) && refused.ends_with(ends), "{refused}");
    // Who names it by the number that it had reads the same.
    let refused = console.ask(&mut fake, Command::Undo { to: Some(1) }).unwrap_err();
    assert!(refused.starts_with(says) && refused.ends_with(" not at it yet"), "{refused}");
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    fake.slow = false;
    for node in fake.nodes.keys().cloned().collect::<Vec<_>>() {
        fake.set_ready(&node, true);
    }
    console.run_for(&mut fake, 30);
    let snapshot = console.snapshot(&fake);
    assert!(matches!(snapshot.phase, Phase::Paused(_)), "{:?}", snapshot.phase);
    assert_eq!(snapshot.roll_back, Ok("hash1".into()));
    let left = 10 - fake.at("hash1");
    let offered: Vec<String> = snapshot.remedies().iter().map(ToString::to_string).collect();
    let back = match left {
        1 => "rolls back to revision 3, 1 node is not at it".to_owned(),
        _ => format!("rolls back to revision 3, {left} nodes are not at it"),
    };
    assert_eq!(offered[..2], [back.as_str(), "rolls out the template as it is now, from before its first step"]);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 200);
    assert_eq!((fake.at("hash1"), console.engine.intent().paused), (10, None));
}

/// Where the cluster does not keep the revision any more to which the roll back went, none is guessed.
#[test]
fn a_roll_back_whose_revision_is_gone_asks_for_another_one() {
    let (mut fake, mut console) = put_back_by_others();
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    console.run_for(&mut fake, 5);
    let gone = fake.delete_revision("agent:v1").name;
    console.engine.observe(Event::RevisionGone(gone), fake.now);
    let refused = console.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
    let says = "it went back to revision hash1, which the cluster does not keep any more";
    assert!(refused.contains(says) && refused.contains("name another revision"), "{refused}");
}

/// Every node has what the rollout led to, and a colleague has changed the template since: that is what is still to be rolled out.
#[test]
fn who_resumes_with_the_template_of_somebody_else_is_not_told_that_every_node_is_updated() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut console = FakeConsole::open(&fake, "ada");
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 5);
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    console.run_for(&mut fake, 5);
    let resume = console.engine.preview(&Command::Resume, fake.now).unwrap();
    let last = resume.effects.iter().find(|line| line.contains("No node is in line"));
    assert!(last.is_some(), "{:?}", resume.effects);
}

/// The colleague's change was accepted: what the rollout leads to is where it came from, and no other revision goes without saying.
#[test]
fn once_somebody_elses_roll_back_is_resumed_an_undo_needs_a_revision() {
    let (mut fake, mut console) = put_back_by_others();
    console.ask(&mut fake, Command::Resume).unwrap();
    let refused = console.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
    assert!(
        refused.contains("leads to where it came from, revision 3") && refused.contains("name its revision"),
        "{refused}"
    );
    // A change of one's own after that says nothing of what the colleague changed.
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 60);
    let told: Vec<String> = console.snapshot(&fake).timeline.iter().map(ToString::to_string).collect();
    let others =
        "paused: the template was changed in the middle of the rollout: agent v2 → v1, where the rollout came from";
    assert!(told.contains(&others.to_owned()), "{told:?}");
    let last = told.iter().rfind(|line| line.starts_with("template changed")).unwrap();
    assert!(last.starts_with("template changed to that of revision ") && !last.contains("agent"), "{told:?}");
}

/// Somebody changes the template while the rollout is paused, because they changed it before, or by an operator: that is told, too.
#[test]
fn a_template_that_is_changed_again_while_it_is_paused_is_told_and_the_pause_of_a_person_keeps_its_reason() {
    for by_ada in [false, true] {
        let mut fake = FakeCluster::rolling(6, 2);
        let mut console = FakeConsole::open(&fake, "ada");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 3);
        console.run_for(&mut fake, 60);
        if by_ada {
            console.ask(&mut fake, Command::Pause { why: Some("lunch".into()) }).unwrap();
        }
        for image in ["agent:v3", "agent:v4", "agent:v2"] {
            fake.set_template(template(image));
            fake.reconcile();
            console.run_for(&mut fake, 30);
            let paused = console.engine.intent().paused.unwrap();
            let put_back = if image == "agent:v2" { ", and put back to the target of the rollout" } else { "" };
            let why = format!("the template was changed{put_back}");
            assert_eq!(paused.why.as_deref(), Some(if by_ada { "lunch" } else { why.as_str() }), "{image}");
            assert_eq!(paused.template.as_deref(), Some(&*fake.current().hash), "{image}");
        }
        let told: Vec<String> = console
            .snapshot(&fake)
            .timeline
            .iter()
            .map(ToString::to_string)
            .filter(|words| words.contains("the template was") && words.contains("paused"))
            .collect();
        let first = if by_ada {
            "stays paused: the template was changed meanwhile: agent v2 → v3"
        } else {
            "paused: the template was changed in the middle of the rollout: agent v2 → v3"
        };
        let expected = [
            first,
            "stays paused: the template was changed meanwhile: agent v2 → v4",
            "stays paused: the template was put back to the target of the rollout",
        ];
        assert_eq!(told, expected, "each once");
        assert_eq!(fake.at("hash2"), 3, "nothing moved meanwhile");
        console.ask(&mut fake, Command::Resume).unwrap();
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 120);
        assert_eq!(fake.at("hash2"), 6);
    }
}

/// Who drives a rollout whose template somebody else has changed meanwhile does not move it: it pauses.
#[test]
fn who_would_drive_a_template_of_others_is_told_that_it_pauses_at_once() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    let moves = |console: &mut FakeConsole, fake: &FakeCluster| {
        let preview = console.engine.preview(&Command::Drive(Takeover::IfFree), fake.now).unwrap();
        preview.effects.join("\n")
    };
    let before = moves(&mut console, &fake);
    assert!(before.contains("the rollout moves while it runs"), "{before}");
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    console.run_for(&mut fake, 2);
    let after = moves(&mut console, &fake);
    assert_eq!(
        after,
        "This process becomes the driver, and pauses the rollout at once: the template was changed in the middle of it: agent v2 → v3. \
         Nothing moves before `resume`, which rolls that out, or `undo`."
    );
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.doing().to_string(), "template changed by others");
    assert_eq!(snapshot.guidance().unwrap().waits, "template changed by others; nobody drives");
}

/// Two of ten nodes are updated when a colleague narrows the node selector: the controller deletes seven pods at once.
fn narrowed() -> (FakeCluster, FakeConsole) {
    let placed = |image: &str, zone: Option<&str>| {
        let mut spec = serde_json::json!({"containers": [{"name": "agent", "image": image}]});
        if let Some(zone) = zone {
            spec["nodeSelector"] = serde_json::json!({"zone": zone});
        }
        Template::from_json(serde_json::json!({"spec": spec}))
    };
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 2);
    fake.set_template(placed("agent:v2", Some("canary")));
    fake.reconcile();
    let left_out: Vec<crate::engine::model::Str> = fake
        .pods
        .values()
        .filter(|pod| pod.node.as_ref().is_some_and(|node| !["n1", "n2", "n3"].contains(&&**node)))
        .map(|pod| pod.uid.clone())
        .collect();
    left_out.iter().for_each(|uid| fake.take_pod(uid));
    // No time passes: the controller of this cluster makes a pod on every node.
    console.run(&mut fake);
    (fake, console)
}

/// Nothing but the node selector differs, and its controller has emptied seven nodes: the alarm, the refused step, the dialog of a resume and the
/// timeline say the value and the nodes.
#[test]
fn a_node_selector_that_somebody_else_narrows_is_told_with_its_value_and_the_nodes_that_are_no_longer_meant() {
    let (fake, mut console) = narrowed();
    let snapshot = console.snapshot(&fake);
    let change = ": nodeSelector.zone: added canary; 7 nodes no longer run it: n4, n5, n6, … (node selector \
                  zone=canary does not match)";
    let alarm = snapshot.alarms[0].to_string();
    assert_eq!(alarm, format!("the template was changed in the middle of the rollout{change}"));
    let resume = console.engine.preview(&Command::Resume, fake.now).unwrap();
    let says = format!("Rolls out the template as somebody else changed it{change}.");
    assert!(resume.effects.contains(&says), "{:?}", resume.effects);
    let Some(Err(none)) = &snapshot.plan.next else { panic!("{:?}", snapshot.plan.next) };
    assert!(none.to_string().contains(change), "{none}");
    let told: Vec<String> = snapshot.timeline.iter().map(ToString::to_string).collect();
    let entries: Vec<&String> = told.iter().filter(|line| line.contains("no longer run it")).collect();
    assert_eq!(
        entries,
        [&format!("paused: the template was changed in the middle of the rollout{change}")],
        "{told:?}"
    );
}

/// A way back from the narrower template makes the pods again, on all of these nodes at once.
#[test]
fn a_roll_back_from_a_narrower_node_selector_says_that_the_controller_makes_the_pods_at_once() {
    let (mut fake, mut console) = narrowed();
    let offered: Vec<String> = console.snapshot(&fake).remedies().iter().map(ToString::to_string).collect();
    let undo = "rolls back to revision 1, 2 nodes are not at it; its controller makes pods on 7 nodes at once";
    assert!(offered.contains(&undo.to_owned()), "{offered:?}");
    let target = "goes back to the target of the rollout: 1 node is not at it, and goes whatever the steps say; its \
                  controller makes pods on 7 nodes at once";
    assert!(offered.contains(&target.to_owned()), "{offered:?}");
    // The other way round: the template in force is wider than those of the rollout.
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run(&mut fake);
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    console.run(&mut fake);
    let snapshot = console.snapshot(&fake);
    let alarm = snapshot.alarms[0].to_string();
    assert!(alarm.contains("; 7 nodes more run it: n4, n5, n6, …"), "{alarm}");
}

/// A process takes over whose watch of the DaemonSet is behind: what the record tells and its watch does not show yet was changed by no stranger.
#[test]
fn who_takes_over_with_a_watch_that_is_behind_takes_nobodys_change_for_one_by_others() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.ask(&mut fake, Command::StopDriving).unwrap();
    ops.run_for(&mut fake, 5);
    drop(ops);
    // It waits for the lease, which a command takes first; and its watch of the DaemonSet is down.
    let mut late = FakeConsole::open(&fake, "late");
    late.engine.command(Command::Drive(Takeover::IfFree), fake.now).unwrap();
    late.mute(Watched::DaemonSet);
    let down = WatchHealth::Down { since: fake.now, why: "429".into() };
    late.engine.observe(Event::Watch(Watched::DaemonSet, down), fake.now);
    let mut ci = FakeConsole::open_as(&fake, "ci", Role::OneShot);
    ci.set_image(&mut fake, "agent:v3");
    ci.run_for(&mut fake, 5);
    drop(ci);
    late.run_for(&mut fake, 30);
    assert!(late.engine.lock.holds(), "{:?}", late.snapshot(&fake).driver);
    assert_eq!(late.engine.intent().paused, None);
    late.unmute(&fake, Watched::DaemonSet);
    late.engine.observe(Event::Watch(Watched::DaemonSet, WatchHealth::Live), fake.now);
    late.partition(&mut fake, 3);
    late.run_for(&mut fake, 60);
    assert_eq!((late.engine.intent().paused, fake.at("hash3")), (None, 3));
    let told = late.snapshot(&fake).timeline;
    assert!(!told.iter().any(|event| event.to_string().contains("was changed")), "{told:?}");
}

#[test]
fn who_takes_over_with_a_watch_that_is_behind_takes_no_adoption_for_a_drift() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut late = FakeConsole::open(&fake, "late");
    late.run(&mut fake);
    late.mute(Watched::DaemonSet);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.partition(&mut fake, 6);
    ops.run_for(&mut fake, 5);
    ops.ask(&mut fake, Command::StopDriving).unwrap();
    ops.run_for(&mut fake, 5);
    drop(ops);
    // What it saw last of the DaemonSet is from before the adoption.
    late.run(&mut fake);
    late.engine.command(Command::Drive(Takeover::IfFree), fake.now).unwrap();
    let down = WatchHealth::Down { since: fake.now, why: "429".into() };
    late.engine.observe(Event::Watch(Watched::DaemonSet, down), fake.now);
    late.run_for(&mut fake, 30);
    assert!(late.engine.lock.holds(), "{:?}", late.snapshot(&fake).driver);
    assert_eq!(late.engine.intent().paused, None);
    late.unmute(&fake, Watched::DaemonSet);
    late.engine.observe(Event::Watch(Watched::DaemonSet, WatchHealth::Live), fake.now);
    late.partition(&mut fake, 3);
    late.run_for(&mut fake, 60);
    assert_eq!((late.engine.intent().paused, fake.at("hash2")), (None, 3));
}
