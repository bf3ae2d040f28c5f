use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::Command;
use crate::engine::model::config::Role;
use crate::engine::model::printable::is_printable;
use crate::engine::model::printable::tests::HOSTILE;
use crate::engine::model::record::By;
use crate::engine::report::snapshot::Alarm;

const SECRET: &str = "Authorization: Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJ4In0.c2lnbmF0dXJl";

/// Six nodes, one of which cannot get the image.
fn failed() -> (Arc<Snapshot>, Story) {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    console.run_for(&mut fake, 2);
    story.observe(&console.snapshot(&fake));
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 0);
    for _ in 0..60 {
        console.run_for(&mut fake, 1);
        story.observe(&console.snapshot(&fake));
    }
    console.ask(&mut fake, Command::Pause { why: Some("the link is down".into()) }).unwrap();
    console.run_for(&mut fake, 2);
    (Arc::new(console.snapshot(&fake)), story)
}

#[test]
fn the_text_says_what_it_is_what_is_wrong_and_what_happened() {
    let (snapshot, story) = failed();
    let text = Handover::new("prod-eu", snapshot, &story, None).text();
    insta::assert_snapshot!(text);
}

/// A timeline keeps a number of events: who reads a report that begins later than the rollout has to know that it does.
#[test]
fn a_report_says_how_many_earlier_events_are_left_out() {
    let (snapshot, story) = failed();
    let report = |earlier_events| {
        let snapshot = Snapshot { earlier_events, ..Snapshot::clone(&snapshot) };
        Handover::new("prod-eu", Arc::new(snapshot), &story, None)
    };
    let text = report(44).text();
    let happened = text.split("\nWhat happened\n").nth(1).unwrap();
    assert!(happened.starts_with("  … 44 earlier events are left out, as only the newest "), "{happened}");
    assert!(report(1).html().contains("1 earlier event is left out"), "the page says so, too");
    assert!(!report(0).text().contains("left out"));
}

/// A rollout in which every node is well by now says what went wrong in it, and what under the record before.
#[test]
fn a_report_says_what_went_wrong_until_now_and_under_which_record() {
    let (snapshot, story) = failed();
    let well = {
        let mut well = Snapshot::clone(&snapshot);
        let mut nodes = well.nodes.to_vec();
        for node in nodes.iter_mut().filter(|node| node.cause.is_some()) {
            (node.state, node.cause, node.at_target) = (NodeState::Updated, None, true);
        }
        (well.nodes, well.halt, well.paused) = (nodes.into(), None, None);
        well.alarms.clear();
        well
    };
    let report = |snapshot: &Snapshot| Handover::new("prod-eu", Arc::new(snapshot.clone()), &story, None);
    let text = report(&well).text();
    let wrong = text.split("What is wrong\n").nth(1).unwrap().split("\n\n").next().unwrap().to_owned();
    assert!(wrong.starts_with("  nothing now"), "{wrong}");
    assert!(wrong.contains("  Since it began: 1 node was in trouble (n1); "), "{wrong}");
    assert!(wrong.contains(" halted at revision 2: image not found on 1 node"), "{wrong}");
    assert!(report(&well).html().contains("Since it began: 1 node was in trouble (n1); "));
    // The record is lost after that, and begun anew.
    let at = well.at;
    let by = By { by: "ben@bastion".into(), at };
    let anew = Snapshot { begun_anew: Some(by.clone()), started_at: Some(at + Duration::from_secs(1)), ..well.clone() };
    let json = serde_json::to_value(report(&anew).json()).unwrap();
    let told: Vec<&str> = json["wentWrong"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    let unbegun = report(&Snapshot { started_at: None, ..anew }).went_wrong();
    assert_eq!(unbegun, told, "before anybody drives, too");
    assert!(
        told[0].starts_with("Before its record was begun anew at ")
            && told[0].contains(", under the record that was lost: 1 node"),
        "{told:?}"
    );
    // Begun anew before any of it.
    let first = By { at: well.started_at.unwrap() - Duration::from_secs(60), ..by };
    let later = report(&Snapshot { begun_anew: Some(first), ..well }).went_wrong();
    assert!(later[0].starts_with("Since its record was begun anew at ") && later[0].contains("(n1)"), "{later:?}");
    assert!(later[1].starts_with("What went wrong before its record was begun anew at "), "{later:?}");
}

/// What others changed while nobody drove is told as far as objects tell, and not more.
#[test]
fn what_others_changed_is_told_as_far_as_it_is_known() {
    let (snapshot, story) = failed();
    let text = |snapshot: &Snapshot| Handover::new("prod-eu", Arc::new(snapshot.clone()), &story, None).text();
    let before = text(&snapshot);
    assert!(!before.contains("not by a rolldeck"), "each change was made by a rolldeck: {before}");
    assert!(!before.contains("The record of the rollout"), "{before}");
    let by = By { by: "ben@bastion".into(), at: snapshot.at };
    let anew = text(&Snapshot { begun_anew: Some(by), ..Snapshot::clone(&snapshot) });
    assert!(anew.contains("The record of the rollout was lost before 08:01:0"), "{anew}");
    assert!(anew.contains("when ben@bastion began it anew: what was recorded before is not known."), "{anew}");
    // `kubectl set image`, and a Lease that is gone.
    let mut changed = Snapshot::clone(&snapshot);
    let mut revisions = changed.revisions.to_vec();
    let mut newest = revisions.iter().max_by_key(|revision| revision.number).unwrap().clone();
    let at = changed.at - Duration::from_secs(20);
    (newest.hash, newest.number, newest.created_at) = ("hash3".into(), Some(3), Some(at));
    newest.images = vec![("agent".into(), "agent:v7".into())];
    revisions.push(newest);
    changed.revisions = revisions.into();
    changed.alarms.push(Alarm::RecordMissing);
    let words = "the template became that of revision 3, v7: not by a rolldeck that is known of, by whom is not known";
    let told = text(&changed);
    assert!(told.contains(words) && told.contains("The record of the rollout is gone with its Lease"), "{told}");
    changed.template_revision = Some("hash3".into());
    // An entry of before the change is of another one.
    let writer = |at| Some(By { by: "kubectl-set".into(), at });
    changed.template_writer = writer(at - Duration::from_secs(60));
    assert!(text(&changed).contains(words), "{}", text(&changed));
    changed.template_writer = writer(at);
    assert!(text(&changed).contains("known of, by kubectl-set, as managedFields tell"), "{}", text(&changed));
    // After `kubectl rollout undo` the earlier template keeps the time at which it was first recorded, so that time does not tell when it
    // was put back.
    let mut put_back = Snapshot::clone(&snapshot);
    let mut revisions = put_back.revisions.to_vec();
    let oldest = revisions.iter_mut().min_by_key(|revision| revision.created_at).unwrap();
    oldest.number = Some(3);
    put_back.revisions = revisions.into();
    let words = "Revision 3 is an earlier template that was put back, not by a rolldeck that is known of: when and by whom is not known.";
    assert!(text(&put_back).contains(words), "{}", text(&put_back));
    // managedFields tell no more than when that manager wrote last.
    put_back.template_revision = put_back.revisions.iter().max_by_key(|one| one.number).map(|one| one.hash.clone());
    put_back.template_writer = writer(put_back.at);
    let told = text(&put_back);
    assert!(
        told.contains("known of: by kubectl-set, at 08:0") && told.contains(" or before, as managedFields tell."),
        "{told}"
    );
}

/// While nobody drives, only the answer to the command that goes on with somebody else's template, or that replaces it, tells who made it. Another
/// change some seconds before it is not taken for it.
#[test]
fn what_others_made_of_the_template_is_told_after_a_resume_and_after_a_roll_back() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    let pass = |fake: &mut FakeCluster, console: &mut FakeConsole, secs| {
        fake.reconcile();
        console.run_for(fake, secs);
    };
    let report = |fake: &FakeCluster, console: &mut FakeConsole| {
        Handover::new("prod-eu", Arc::new(console.snapshot(fake)), &Story::default(), None).text()
    };
    let by_kubectl = |fake: &mut FakeCluster, image: &str, manager: &str| {
        (fake.daemonset.owners.template, fake.daemonset.owners.template_at) = (Some(manager.into()), Some(fake.now));
        fake.set_template(template(image));
    };
    console.set_image(&mut fake, "agent:v2");
    pass(&mut fake, &mut console, 8);
    by_kubectl(&mut fake, "agent:v3", "kubectl-set");
    pass(&mut fake, &mut console, 2);
    let told = report(&fake, &mut console);
    assert!(
        told.contains(
            "the template became that of revision 3, v3: not by a rolldeck that is known of, by kubectl-set, as "
        ),
        "{told}"
    );
    pass(&mut fake, &mut console, 30);
    let said = console.ask(&mut fake, Command::Resume).unwrap();
    assert!(
        said.starts_with("resumed; revision 3, which kubectl-set made after 2 (agent v2 → v3), is now rolled out; "),
        "{said}"
    );
    pass(&mut fake, &mut console, 30);
    by_kubectl(&mut fake, "agent:v4", "kubectl-edit");
    pass(&mut fake, &mut console, 30);
    let said = console.ask(&mut fake, Command::Undo { to: Some(3) }).unwrap();
    assert!(said.ends_with("; it replaces revision 4, which kubectl-edit made after 3 (agent v3 → v4)"), "{said}");
    fake.daemonset.owners.template = Some("rolldeck".into());
    pass(&mut fake, &mut console, 30);
    let told = report(&fake, &mut console);
    for by in [
        "revision 3 (now 5), v3: not by a rolldeck that is known of, by kubectl-set",
        "revision 4, v4: not by a rolldeck that is known of, by kubectl-edit",
    ] {
        assert!(told.contains(by), "{by}: {told}");
    }
    assert!(!told.contains("is not known") && !told.contains("was put back"), "{told}");
}

/// A change that leads away from a revision which no change before led to: somebody else had put that template there.
#[test]
fn a_template_that_only_the_next_change_tells_of_is_told() {
    let line = |secs: i64, from, to| StoryLine {
        at: Timestamp::from_millis(secs * 1000),
        who: None,
        node: None,
        text: String::new(),
        severity: Severity::Normal,
        facts: EventFacts { change: Some((from, to)), ..EventFacts::default() },
    };
    // Of the third, its nodes have an earlier revision yet: that says nothing of its template.
    let told = [line(60, 2, 3), line(120, 3, 4), line(180, 3, 5), line(3600, 7, 8)];
    let found = others::between_changes(&told);
    let found: Vec<&str> = found.iter().map(|line| &*line.text).collect();
    let words = "the template had become that of revision 7 since 00:03:00: not by a rolldeck that is known of, by whom is not known";
    assert_eq!(found, [words]);
    // A roll back names the number that its revision had, and the change after it the one that it got.
    assert!(others::between_changes(&[line(60, 2, 3), line(120, 3, 2), line(180, 4, 5)]).is_empty());
}

#[test]
fn the_page_needs_nothing_else_and_runs_nothing() {
    let (snapshot, story) = failed();
    let html = Handover::new("prod-eu", snapshot, &story, None).with_screen("a screen").html();
    for word in ["<script", "http://", "https://", "@import", "url(", "<iframe", "<link"] {
        assert!(!html.contains(word), "{word}");
    }
    assert!(html.contains("default-src 'none'") && html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>"));
    assert_eq!(html.matches("<svg").count(), 2);
    assert_eq!(html.matches("<i class=").count(), 6, "a cell a node");
    assert_eq!(html.matches("<i class=\"failed\"").count(), 1);
    assert!(html.contains("image not found") && html.contains("a screen") && html.contains("ops"));
}

#[test]
fn the_json_has_all_of_it() {
    let (snapshot, story) = failed();
    let handover = Handover::new("prod-eu", snapshot, &story, None);
    let json = serde_json::to_value(handover.json()).unwrap();
    assert_eq!((&json["apiVersion"], &json["kind"]), (&"rolldeck.io/v1".into(), &"RolloutReport".into()));
    assert_eq!(json["nodes"].as_array().unwrap().len(), 6);
    let failures: Vec<&Value> =
        json["timeline"].as_array().unwrap().iter().filter(|line| line["text"] == "failed: image not found").collect();
    assert_eq!(failures.len(), 1);
    assert!(failures[0]["wrong"] == true && failures[0]["node"].is_string());
    assert!(json["findings"][0]["wrong"].as_bool().unwrap());
    assert_eq!(json["progress"].as_array().unwrap().len(), story.progress().len());
    assert!(
        json["timeline"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line["who"].as_str().is_some_and(|who| who.starts_with("ops")))
    );
}

/// Whoever takes over finds in the cluster only the number that the revision has now.
#[test]
fn a_revision_that_was_gone_back_to_is_told_by_its_present_number() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 30);
    let text = Handover::new("prod-eu", Arc::new(console.snapshot(&fake)), &Story::default(), None).text();
    assert!(text.contains("roll back: template is that of revision 1 (now 3);"), "{text}");
}

/// Names, messages and reasons come from whoever may write to the cluster.
#[test]
fn no_text_steers_a_terminal_or_a_browser_and_no_secret_is_handed_over() {
    let (snapshot, story) = failed();
    let mut snapshot = Arc::unwrap_or_clone(snapshot);
    let hostile: Str = format!("{HOSTILE}</title><script>alert(1)</script><img src=x onerror=y> {SECRET}").into();
    let mut nodes = snapshot.nodes.to_vec();
    for node in &mut nodes {
        node.name = format!("{}{hostile}", node.name).into();
        node.site = hostile.clone();
        if let Some(cause) = &mut node.cause {
            cause.message = Some(hostile.clone());
        }
    }
    snapshot.nodes = nodes.into();
    snapshot.namespace = hostile.clone();
    let line = StoryLine {
        at: snapshot.at,
        who: Some(hostile.clone()),
        node: None,
        text: hostile.to_string(),
        severity: Severity::Warning,
        facts: EventFacts::default(),
    };
    let handover = Handover::new(&hostile, Arc::new(snapshot), &story, Some(vec![line])).with_screen(&hostile);
    let json = serde_json::to_string(&handover.json()).unwrap();
    for (kind, written) in [("text", handover.text()), ("html", handover.html()), ("json", json)] {
        assert!(written.chars().all(|c| c == '\n' || is_printable(c)), "{kind}");
        assert!(!written.contains("eyJhbGciOi"), "{kind}");
        if kind == "html" {
            assert!(
                !written.contains("<script") && !written.contains("<img") && written.contains("&lt;script"),
                "{kind}"
            );
        }
    }
}

#[test]
fn what_the_audit_log_and_an_event_both_say_is_said_once() {
    let line = |secs: i64, text: &str| StoryLine {
        at: Timestamp::from_millis(secs * 1000),
        who: None,
        node: None,
        text: text.into(),
        severity: Severity::Normal,
        facts: EventFacts::default(),
    };
    let audited = [line(100, "paused: no update starts")];
    assert!(is_told(&audited, &line(102, "ada@b: paused: no update starts (from b)")));
    assert!(!is_told(&audited, &line(120, "paused: no update starts")));
    assert!(!is_told(&audited, &line(100, "resumed")));
}

#[test]
fn what_two_observers_write_of_the_same_is_told_once_and_only_since_the_start() {
    let (snapshot, story) = failed();
    let started = snapshot.target_began().unwrap();
    let line = |at: Timestamp| StoryLine {
        at,
        who: None,
        node: None,
        text: "nobody drives any more: the lease ran out".into(),
        severity: Severity::Warning,
        facts: EventFacts::default(),
    };
    let (before, after) = (started - Duration::from_secs(300), started + Duration::from_secs(30));
    let second = |at: Timestamp| at + Duration::from_secs(2);
    // The record is older than the rollout to the present target.
    let recorded = snapshot.started_at.map(|at| at - Duration::from_secs(600));
    let older = Snapshot { started_at: recorded, retargeted_at: Some(started), ..Snapshot::clone(&snapshot) };
    let told = vec![line(before), line(second(before)), line(after), line(second(after))];
    let report = Handover::new("prod-eu", Arc::new(older), &story, Some(told));
    let said = |text: &str| text.matches("nobody drives any more").count();
    let since = report.went_wrong();
    assert!(since[0].starts_with("Since it began: ") && said(&since[0]) == 1, "{since:?}");
    let text = report.text();
    assert_eq!(said(text.split("What happened").nth(1).unwrap()), 2, "{text}");
}

#[test]
fn the_name_of_a_file_leads_nowhere_else() {
    let (snapshot, _) = failed();
    let mut snapshot = Arc::unwrap_or_clone(snapshot);
    snapshot.at = Timestamp::parse("2026-11-21T14:30:05Z").unwrap();
    snapshot.namespace = "../../etc".into();
    snapshot.name = "a/b\u{202e}c".into();
    assert_eq!(file_stem(&snapshot), "rolldeck-....etc-abc-20261121T143005Z");
}

/// Who reads a report is not who wrote it.
#[test]
fn the_driver_is_named_and_nobody_is_called_you() {
    let (snapshot, story) = failed();
    let driven_as = |driver: DriverView| {
        let snapshot = Snapshot { driver, identity: "ada@bastion-3/1f00c3a9".into(), ..(*snapshot).clone() };
        let handover = Handover::new("prod-eu", Arc::new(snapshot), &story, None);
        handover.facts().into_iter().find(|(name, _)| *name == "driver").unwrap().1
    };
    let renewed_at = snapshot.at;
    let us = "ada@bastion-3/1f00c3a9";
    assert_eq!(driven_as(DriverView::You { renewed_at, lapsed: false }), format!("{us} drives"));
    assert_eq!(driven_as(DriverView::You { renewed_at, lapsed: true }), format!("{us} drove: the lease ran out"));
    let holder = Some("eve@b/1".into());
    assert_eq!(driven_as(DriverView::Waiting { holder }), format!("{us} waits for eve@b/1 to hand over"));
    assert_eq!(driven_as(DriverView::Nobody), "nobody drives");
}
