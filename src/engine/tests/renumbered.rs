//! A template that comes back gets another number, whoever brings it: what is known of its revision stays known.

use std::time::Duration;

use super::*;
use crate::engine::fake_cluster::template;
use crate::engine::model::event::{Event, Watched};
use crate::engine::model::facts::{ClusterEvent, ReportedBy, RevisionFact, Severity};
use crate::engine::model::rollout_event::with_present_numbers;
use crate::engine::report::snapshot::{RevisionView, Snapshot};

/// Six nodes: the rollout to revision 2 halted, and an operator went back, which made 3 of 1.
fn went_back() -> (FakeCluster, FakeConsole) {
    let (mut fake, mut console) = super::ends::halted();
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 60);
    (fake, console)
}

/// As `kubectl set image` does.
fn by_kubectl(fake: &mut FakeCluster, image: &str) {
    fake.set_template(template(image));
    fake.reconcile();
}

fn with_number(snapshot: &Snapshot, number: i64) -> &RevisionView {
    snapshot.revisions.iter().find(|revision| revision.number == Some(number)).unwrap()
}

/// The numbers that the revisions have now at which the rollout halted.
fn halts(snapshot: &Snapshot) -> Vec<i64> {
    snapshot.revisions.iter().filter(|revision| revision.halted.is_some()).filter_map(|one| one.number).collect()
}

fn warned(console: &mut FakeConsole, fake: &FakeCluster, image: &str) -> Option<String> {
    let command = Command::SetImage([("agent".to_owned(), image.parse().unwrap())].into());
    let warnings = console.engine.preview(&command, fake.now).unwrap().warnings;
    warnings.into_iter().find(|line| line.contains("halted at revision"))
}

/// Another process, which has seen nothing and reads the Events that `console` wrote.
fn that_reads_events(fake: &FakeCluster, console: &mut FakeConsole) -> FakeConsole {
    let mut other = FakeConsole::open(fake, "eve");
    for (nth, told) in console.snapshot(fake).timeline.iter().enumerate() {
        let reported_by = Some(Box::new(ReportedBy {
            event: format!("e{nth}").into(),
            identity: "ops@bastion/1".into(),
            severity: Severity::Normal,
            revision: told.revision.clone(),
        }));
        let (reason, message) = (told.reason().into(), told.to_string().into());
        let event =
            ClusterEvent { object: "ds".into(), reason, message, at: told.at, reported_by, ..ClusterEvent::default() };
        other.engine.observe(Event::Cluster(Box::new(event)), fake.now);
    }
    other
}

#[test]
fn a_halt_stays_with_the_template_that_comes_back_by_other_hands() {
    let (mut fake, mut console) = went_back();
    assert_eq!(halts(&console.snapshot(&fake)), [2]);
    let mut numbers = Vec::new();
    for (image, number) in [("agent:bad", 4), ("agent:v3", 5), ("agent:bad", 6)] {
        by_kubectl(&mut fake, image);
        console.run_for(&mut fake, 5);
        numbers.push(fake.current().number);
        assert_eq!(fake.current().number, number);
        let bad = if number == 5 { 4 } else { number };
        let snapshot = console.snapshot(&fake);
        assert_eq!(halts(&snapshot), [bad], "{numbers:?}");
        let words = |number| snapshot.renumbered_in_words(with_number(&snapshot, number));
        assert_eq!(words(3).as_deref(), Some("the template of 1"), "{numbers:?}");
        let of_bad = if bad == 4 { "the template of 2" } else { "the template of 4" };
        assert_eq!(words(bad).as_deref(), Some(of_bad));
        if number == 5 {
            let says = warned(&mut console, &fake, "agent:bad").unwrap();
            assert!(says.starts_with("The rollout halted at revision 4, at "), "{says}");
        }
    }
}

/// The words of Events name the number that a revision had then. They name its ControllerRevision, too: whoever brings it back, its marks follow it.
#[test]
fn who_only_reads_events_knows_the_revision_that_halted_by_any_number() {
    let (mut fake, mut console) = went_back();
    console.run_for(&mut fake, 60);
    for image in ["agent:bad", "agent:v3", "agent:bad", "agent:v3"] {
        fake.now = fake.now + Duration::from_secs(30);
        by_kubectl(&mut fake, image);
    }
    assert_eq!(fake.current().number, 7);
    let mut other = that_reads_events(&fake, &mut console);
    let snapshot = other.snapshot(&fake);
    assert_eq!(halts(&snapshot), [6], "2 became 4, and then 6");
    for (number, had) in [(3, Some("the template of 1")), (6, Some("the template of 2")), (7, None)] {
        let words = snapshot.renumbered_in_words(with_number(&snapshot, number));
        assert_eq!(words.as_deref(), had, "{number}: no event tells what others made of it");
    }
    let says = warned(&mut other, &fake, "agent:bad").unwrap();
    assert!(says.starts_with("As an Event says, the rollout halted at revision 6, at "), "{says}");
    assert_eq!(warned(&mut other, &fake, "agent:v1"), None);
}

/// The lines about roll backs, as a timeline shows them.
fn rolled_back(snapshot: &Snapshot) -> Vec<String> {
    let earlier = snapshot.all_earlier_numbers();
    let told = snapshot.timeline.iter().map(|event| with_present_numbers(&event.to_string(), &earlier));
    let of_it =
        |text: String| text.find("roll back: ").map(|at| text[at..].split(';').next().unwrap_or_default().to_owned());
    told.filter_map(of_it).collect()
}

/// The console that drives lists a roll back by when it was asked for, which is before the change that it led to: that the change before
/// led to the revision that was asked for must not follow from it.
#[test]
fn past_roll_backs_keep_their_numbers_in_each_console() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    for image in ["agent:v2", "agent:v3", "agent:v4", "agent:bad"] {
        console.set_image(&mut fake, image);
        console.run_for(&mut fake, 60);
    }
    assert_eq!(fake.current().number, 5);
    let told = |fake: &mut FakeCluster, console: &mut FakeConsole, to: i64, lines: &[&str]| {
        console.ask(fake, Command::Undo { to: Some(to) }).unwrap();
        console.run_for(fake, 60);
        assert_eq!(rolled_back(&console.snapshot(fake)), lines, "the console that drives");
        let mut other = that_reads_events(fake, console);
        assert_eq!(rolled_back(&other.snapshot(fake)), lines, "another");
    };
    told(&mut fake, &mut console, 2, &["roll back: template is that of revision 2 (now 6)"]);
    for image in ["agent:v5", "agent:v6"] {
        console.set_image(&mut fake, image);
        console.run_for(&mut fake, 60);
    }
    told(
        &mut fake,
        &mut console,
        6,
        &["roll back: template is that of revision 2 (now 9)", "roll back: template is that of revision 6 (now 9)"],
    );
}

/// A revision that has the number by now at which another one halted is not taken for that one, nor one that got its number in between.
#[test]
fn who_only_reads_events_takes_no_revision_with_another_image_for_the_one_that_halted() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    for image in ["agent:v2", "agent:bad"] {
        console.set_image(&mut fake, image);
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 300);
    }
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 300);
    for image in ["agent:bad", "agent:v2"] {
        fake.now = fake.now + Duration::from_secs(30);
        by_kubectl(&mut fake, image);
    }
    assert_eq!(fake.current().number, 6, "v2 was 2 and 4 before, and the other one 3 and 5");
    let mut other = that_reads_events(&fake, &mut console);
    assert_eq!(halts(&other.snapshot(&fake)), [5]);
}

/// Measured after a restart of the API server: the controller, whose cache of revisions was behind, gave the new revision the number 1, which the old one had,
/// and made it 2 after three seconds.
#[test]
fn a_new_revision_with_the_number_of_another_one_is_not_said_to_be_that_one() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut ada = FakeConsole::open(&fake, "ada");
    ada.mute(Watched::Revisions);
    let v2 = Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    assert_eq!(ada.ask(&mut fake, v2), Err("not settled".into()), "its revision is not seen");
    let new = fake.current();
    ada.engine.observe(Event::Revision(Box::new(RevisionFact { number: 1, ..new })), fake.now);
    ada.run(&mut fake);
    ada.unmute(&fake, Watched::Revisions);
    ada.run(&mut fake);
    let told: Vec<String> = ada.snapshot(&fake).timeline.iter().map(ToString::to_string).collect();
    let told: Vec<&String> = told.iter().filter(|told| told.starts_with("template changed")).collect();
    assert_eq!(told, ["template changed: revision 1 → ?, agent v1 → v2"]);
}

/// Found by a newcomer: the image that a rollout halted with was set again, waited for its image, and was given up before any node went.
#[test]
fn a_revision_stays_marked_though_its_template_was_set_again_and_given_up() {
    let (mut fake, mut console) = went_back();
    assert_eq!(halts(&console.snapshot(&fake)), [2]);
    console.set_image(&mut fake, "agent:bad");
    console.run_for(&mut fake, 10);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 60);
    let seen = console.snapshot(&fake);
    assert_eq!(halts(&seen), [4], "{:?}", seen.timeline);
    let mut eve = that_reads_events(&fake, &mut console);
    assert_eq!(halts(&eve.snapshot(&fake)), [4]);
}

/// Whoever remembers the number that a revision had before means that revision, also for a roll back, and is told its present number.
#[test]
fn a_roll_back_may_name_a_revision_by_a_number_that_it_had_before() {
    let (mut fake, mut console) = went_back();
    by_kubectl(&mut fake, "agent:v3");
    console.run_for(&mut fake, 5);
    let preview = console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap();
    assert_eq!(preview.title, "Roll back to revision 3");
    let says = "There is no revision 1 any more: it is revision 3 (the template of 1).";
    assert!(preview.effects.iter().any(|line| line == says), "{:?}", preview.effects);
    let by_its_own = console.engine.preview(&Command::Undo { to: Some(3) }, fake.now).unwrap();
    assert!(!by_its_own.effects.iter().any(|line| line == says), "{:?}", by_its_own.effects);
    let refused = console.engine.preview(&Command::Undo { to: Some(9) }, fake.now).unwrap_err().to_string();
    assert!(refused.contains("no revision 9; there are 4, 3 (the template of 1), 2"), "{refused}");
    console.ask(&mut fake, Command::Undo { to: Some(1) }).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.current().template, template("agent:v1"));
}
