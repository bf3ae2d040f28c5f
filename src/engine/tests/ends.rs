//! What the preview of a command says about the halt, the pause or the roll back that it ends.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::Command;
use crate::engine::model::labels::Selector;
use crate::engine::model::prewarm::PrewarmNodes;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::Direction;
use crate::engine::model::rollout_event::Visibility;
use crate::engine::model::settings::{Limit, Setting, Tuning};
use crate::engine::report::diagnosis::Diagnosis;
use crate::engine::report::snapshot::{Alarm, Phase};

fn image(image: &str) -> Command {
    Command::SetImage([("agent".to_owned(), image.parse().unwrap())].into())
}

fn effects(console: &mut FakeConsole, fake: &FakeCluster, command: &Command) -> Vec<String> {
    console.engine.preview(command, fake.now).unwrap().effects
}

/// Six nodes, of which one failed at revision 2 and halted the rollout.
pub(super) fn halted() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    fake.broken = vec!["agent:bad".into()];
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 120);
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
    (fake, console)
}

#[test]
fn a_pause_beside_a_halt_says_that_a_resume_ends_both() {
    let (fake, mut console) = halted();
    let lines = effects(&mut console, &fake, &Command::Pause { why: None });
    let says = |line: &String| line.starts_with("It is halted already (") && line.contains("A resume ends both");
    assert!(lines.iter().any(says), "{lines:?}");
}

fn ends_a_roll_back(line: &str) -> bool {
    line.starts_with("The roll back to revision ")
}

#[test]
fn another_image_says_which_roll_back_it_ends() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.wait(60);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 2);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 4);
    let lines = effects(&mut console, &fake, &image("agent:v3"));
    assert!(!lines.iter().any(|line| ends_a_roll_back(line)), "it goes forward: {lines:?}");
    let ends = "The rollout until now ends (4 updated or on the way, 2 not): its partition and its steps begin anew, budgets and gates stay.";
    assert!(lines.iter().any(|line| line == ends), "{lines:?}");
    let selector: Selector = "zone=a".parse().unwrap();
    let selects = Command::Select(Some(selector));
    console.ask(&mut fake, selects).unwrap();
    let lines = effects(&mut console, &fake, &image("agent:v3"));
    let stay = "begin anew, budgets, gates and the selector `zone=a` stay.";
    assert!(lines.iter().any(|line| line.ends_with(stay)), "what still holds nodes back is told: {lines:?}");
    fake.slow = true;
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 3);
    let lines = effects(&mut console, &fake, &image("agent:v3"));
    let ends = "The roll back to revision 3 ends: 3 nodes are not back yet, and keep what they run until a step.";
    assert!(lines.iter().any(|line| line == ends), "{lines:?}");
}

/// Somebody else sets the template back: the rollout's own target counts, and every node is one or the other.
#[test]
fn a_rollout_whose_template_others_changed_ends_with_the_count_of_its_own_target() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.wait(60);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 2);
    console.run_for(&mut fake, 60);
    fake.set_template(template("agent:v1"));
    fake.reconcile();
    console.run_for(&mut fake, 5);
    let lines = effects(&mut console, &fake, &image("agent:v3"));
    let ends = |line: &&String| line.starts_with("The rollout until now ends (");
    let said = lines.iter().find(ends).unwrap();
    assert!(said.starts_with("The rollout until now ends (4 updated or on the way, 2 not)"), "{said}");
}

#[test]
fn an_image_at_which_it_halted_before_is_warned_of() {
    let (mut fake, mut console) = halted();
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 60);
    let preview = console.engine.preview(&image("agent:v3"), fake.now).unwrap();
    assert!(!preview.warnings.iter().any(|line| line.contains("halted at revision")), "{:?}", preview.warnings);
    assert!(!preview.effects.iter().any(|line| ends_a_roll_back(line)), "every node is back: {:?}", preview.effects);
    let again = console.engine.preview(&image("agent:bad"), fake.now).unwrap().warnings;
    let warns = |line: &String| {
        line.starts_with("The rollout halted at revision 2, at ") && line.ends_with(" It had this template.")
    };
    assert!(again.iter().any(warns), "{again:?}");
}

/// Whoever brings images that no node could pull is told so, as who sets them is; not where another revision has them, too, and did not halt.
#[test]
fn pre_warming_of_an_image_at_which_it_halted_before_is_warned_of() {
    let (mut fake, mut console) = halted();
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 60);
    let warnings = |console: &mut FakeConsole, fake: &FakeCluster, tag: &str| {
        let command = super::prewarm::start(super::prewarm::image(tag), PrewarmNodes::All, 2);
        console.engine.preview(&command, fake.now).unwrap().warnings
    };
    let again = warnings(&mut console, &fake, "bad");
    let warns = |line: &String| {
        line.starts_with("The rollout halted at revision 2, at ") && line.ends_with(" It had these images.")
    };
    assert!(again.iter().any(warns), "{again:?}");
    let other = warnings(&mut console, &fake, "v3");
    assert!(!other.iter().any(|line| line.contains("halted at revision")), "{other:?}");
}

/// `step` does not help there: a roll back ignores partition and steps.
#[test]
fn who_sets_the_image_that_the_rollout_goes_back_to_reads_what_carries_it_out() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 20);
    let mut ben = FakeConsole::open_as(&fake, "ben", crate::engine::model::config::Role::OneShot);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    ben.hear(&fake);
    let says = |ben: &mut FakeConsole, fake: &mut FakeCluster, tag: &str| {
        let preview = ben.engine.preview(&image(tag), fake.now).unwrap();
        assert_eq!((preview.calls, preview.nodes.len()), (Vec::new(), 0), "nothing is written, and no pod is replaced");
        ben.ask(fake, image(tag)).unwrap()
    };
    let said = says(&mut ben, &mut fake, "agent:v1");
    assert_eq!(said, "nothing to do: the template has these images already; it rolls back to them on every node");
}

/// A script that runs again cannot tell what is done from what is refused, if both are.
#[test]
fn images_that_are_there_already_are_no_refusal() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.run(&mut fake);
    let again = |console: &mut FakeConsole, fake: &mut FakeCluster, tag: &str| {
        let preview = console.engine.preview(&image(tag), fake.now).unwrap();
        assert!(preview.calls.is_empty(), "{preview:?}");
        console.ask(fake, image(tag)).unwrap()
    };
    let begins = "nothing to do: the template has these images already";
    assert_eq!(again(&mut console, &mut fake, "agent:v1"), format!("{begins}, and every node is at it"));
    assert!(fake.lease.is_none() && fake.daemonset.annotations.get("rolldeck.io/original-update-strategy").is_none());
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 20);
    let generation = fake.daemonset.generation;
    assert_eq!(again(&mut console, &mut fake, "agent:v2"), format!("{begins}; `step` rolls it out"));
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert_eq!(again(&mut console, &mut fake, "agent:v2"), format!("{begins}; the rollout is paused by ops@bastion"));
    console.run_for(&mut fake, 5);
    assert_eq!(console.snapshot(&fake).phase.to_string(), "paused", "it lifts no pause");
    let told = console.happened.iter().filter(|event| event.visibility > Visibility::Log);
    assert_eq!(told.filter(|event| event.to_string().contains("already")).count(), 0, "nothing has happened");
    assert_eq!(fake.daemonset.generation, generation);
}

#[test]
fn a_setting_that_is_in_force_already_is_not_written_again() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 5);
    let tune = || Command::Tune(Setting::MaxUnavailable.read("3").unwrap());
    let calls = console.engine.preview(&tune(), fake.now).unwrap().calls;
    assert!(calls.iter().any(|call| call.starts_with("PUT leases/")), "{calls:?}");
    console.ask(&mut fake, tune()).unwrap();
    assert!(console.engine.preview(&tune(), fake.now).unwrap().calls.is_empty());
    assert_eq!(console.ask(&mut fake, tune()).unwrap(), "nothing to change: it is so already");
}

/// The revision that was rolled back from is no earlier one: a rollout to it begins, with steps and gates, and an `undo` of it goes back.
#[test]
fn to_a_revision_that_was_made_later_a_rollout_begins() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.wait(60);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 5);
    let preview = |console: &mut FakeConsole, fake: &FakeCluster, to: i64| {
        console.engine.preview(&Command::Undo { to: Some(to) }, fake.now).unwrap()
    };
    let back = preview(&mut console, &fake, 1);
    assert_eq!((back.title.as_str(), back.leads_later), ("Roll back to revision 1", false));
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 60);
    let later = preview(&mut console, &fake, 2);
    assert_eq!((later.title.as_str(), later.leads_later), ("Roll out revision 2, by steps", true));
    assert!(later.nodes.is_empty(), "no step has let a node go");
    assert_eq!(
        later.effects[0],
        "Adopts the DaemonSet first, then changes its template. No pod is replaced before a step."
    );
    let said = console.ask(&mut fake, Command::Undo { to: Some(2) }).unwrap();
    assert_eq!(
        said,
        "go to a later revision: template is that of revision 2; no pod is replaced before the first step"
    );
    console.run_for(&mut fake, 60);
    let seen = console.snapshot(&fake);
    assert_eq!((seen.direction, seen.counts.updated), (Direction::Forward, 0));
    let last_back = seen.timeline.iter().rev().find(|event| event.rolls_back());
    assert!(last_back.is_some_and(|event| event.to_string().contains("revision 1")), "{:?}", seen.timeline);
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 120);
    assert_eq!(console.snapshot(&fake).counts.updated, 2, "as the step says");
    assert_eq!(preview(&mut console, &fake, 3).title, "Roll back to revision 3");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 120);
    let seen = console.snapshot(&fake);
    let image = seen.to.as_ref().map(|to| &*to.images[0].1);
    assert_eq!((image, seen.counts.updated), (Some("agent:v1"), 6), "all are back");
}

/// While nodes go back, some are at the revision that is given up: those that are back stay there until a step lets them go again.
#[test]
fn a_roll_back_that_is_taken_back_is_a_rollout_by_steps() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.wait(60);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 2);
    console.run_for(&mut fake, 200);
    assert_eq!(console.snapshot(&fake).counts.updated, 4);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    let back = |console: &mut FakeConsole, fake: &FakeCluster| console.snapshot(fake).counts.updated;
    for _ in 0..100 {
        if back(&mut console, &fake) < 4 {
            console.run_for(&mut fake, 1);
        }
    }
    console.ask(&mut fake, Command::Undo { to: Some(2) }).unwrap();
    console.run_for(&mut fake, 120);
    let seen = console.snapshot(&fake);
    assert_eq!((seen.direction, seen.counts.updated), (Direction::Forward, 2), "those that had not gone back");
}

/// Found by a newcomer: most nodes run revision 1, some 2, and the rollout halted at 3. For most nodes, 2 is no way back.
#[test]
fn to_a_revision_between_where_the_rollout_came_from_and_its_target_a_rollout_begins() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.broken = vec!["agent:bad".into()];
    let mut console = FakeConsole::open(&fake, "ops");
    for image in ["agent:v2", "agent:bad"] {
        fake.wait(60);
        console.run(&mut fake);
        console.set_image(&mut fake, image);
        console.partition(&mut fake, 4);
        console.run_for(&mut fake, 120);
    }
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
    let titled = |console: &mut FakeConsole, fake: &FakeCluster, to: i64| {
        console.engine.preview(&Command::Undo { to: Some(to) }, fake.now).unwrap().title
    };
    assert_eq!(titled(&mut console, &fake, 1), "Roll back to revision 1");
    assert_eq!(titled(&mut console, &fake, 2), "Roll out revision 2, by steps");
    console.ask(&mut fake, Command::Undo { to: Some(2) }).unwrap();
    console.run_for(&mut fake, 120);
    let seen = console.snapshot(&fake);
    assert_eq!((seen.direction, seen.counts.next), (Direction::Forward, 0), "no step has let a node go");
}

/// Once an operator has resumed past a failure, no alarm names it: what counts it says that it was accepted.
#[test]
fn an_accepted_failure_is_told_as_such() {
    let (mut fake, mut console) = halted();
    console.ask(&mut fake, Command::Resume).unwrap();
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 5);
    let snapshot = console.snapshot(&fake);
    assert!(!snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::Halted { .. })), "{:?}", snapshot.alarms);
    let waits = snapshot.guidance().unwrap().waits;
    assert!(waits.ends_with(", 1 failed, accepted"), "{waits}");
    let two = Some(Limit::At(IntOrPercent::Int(2)));
    console.ask(&mut fake, Command::Tune(Tuning { max_unavailable: two, ..Tuning::default() })).unwrap();
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 120);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.phase, Phase::Halted);
    let findings = Diagnosis::of(&snapshot).findings;
    assert_eq!(findings[0].title, "halted: 1 node failed (1 accepted before)");
}
