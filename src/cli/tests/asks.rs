//! What is said of an offered command, that it asks first, is what the command does: through the states of a rollout, for whoever looks.

use std::ffi::OsString;

use serde_json::json;

use crate::cli::args::{CliCommand, OnCluster};
use crate::cli::one_shot::accepted;
use crate::cli::suggested_commands::{CommandPlace, suggested_commands};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, Early, PrewarmCommand};
use crate::engine::model::config::Role;
use crate::engine::model::event::Event;
use crate::engine::model::settings::Tuning;
use crate::engine::model::template::Template;

use super::script::{Script, rollout};

/// What a command line asks of the engine. `None` for what is no command of ours.
fn asked(argv: &[String]) -> Option<Command> {
    let (first, rest) = argv.split_first()?;
    if first != "rolldeck" {
        return None;
    }
    let line = std::iter::once("rolldeck").chain(rest.iter().map(String::as_str)).map(OsString::from);
    match crate::cli::parse(line).unwrap().typed().command? {
        CliCommand::OnCluster(OnCluster::OneShot(one_shot)) => Some(one_shot.into_parts().2),
        CliCommand::OnCluster(OnCluster::Prewarm(args)) => args.control().map(Command::Prewarm),
        _ => None,
    }
}

/// Compares what is offered to `who` with what the commands ask of them, and returns how many were compared as `kind asks`.
fn compare(fake: &mut FakeCluster, who: &str, state: &str) -> Vec<String> {
    let mut console = FakeConsole::open_as(fake, who, Role::OneShot);
    console.run(fake);
    let snapshot = console.snapshot(fake);
    let place = CommandPlace::of(&Script::of(rollout()));
    let mut compared = Vec::new();
    for offered in suggested_commands(&place, &snapshot) {
        let (Some(argv), says) = offered.as_told() else { continue };
        let Some(command) = asked(argv) else { continue };
        if matches!(command, Command::Prewarm(PrewarmCommand::Cancel)) {
            continue;
        }
        let preview = match console.engine.preview(&command, fake.now) {
            Ok(preview) => preview,
            Err(refusal) => panic!("{state}, {who}: offered and refused: {argv:?}: {refusal}"),
        };
        let refused = accepted(&command, &snapshot, &preview).err();
        assert_eq!(says, refused.is_some(), "{state}, {who}: {argv:?}: {refused:?}");
        compared.push(format!("{} {says}", argv[1]));
    }
    compared
}

/// A template that runs only on nodes with this label.
fn placed(image: &str) -> Template {
    let mut raw = template(image).json().clone();
    raw["spec"]["nodeSelector"] = json!({"pool": "edge"});
    Template::from_json(raw)
}

type State = (&'static str, fn() -> FakeCluster);

fn begun(nodes: usize) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(nodes, 2);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.partition(&mut fake, 2);
    (fake, ops)
}

fn ask(console: &mut FakeConsole, fake: &mut FakeCluster, command: Command) {
    console.ask(fake, command).unwrap();
}

/// Some nodes crash with the new image, which halts the rollout.
fn halted() -> (FakeCluster, FakeConsole) {
    let (mut fake, mut ops) = begun(6);
    for _ in 0..20 {
        ops.run_for(&mut fake, 30);
        let new = fake.current().hash.to_string();
        fake.crash_and_restart_all(&new);
    }
    ops.run_for(&mut fake, 60);
    (fake, ops)
}

fn paused_by(fake: &mut FakeCluster, who: &str) {
    let mut by = FakeConsole::open_as(fake, who, Role::OneShot);
    ask(&mut by, fake, Command::Pause { why: Some("link down".into()) });
}

const STATES: &[State] = &[
    ("not begun", || {
        let mut fake = FakeCluster::rolling(6, 2);
        let mut ops = FakeConsole::open(&fake, "ops");
        ops.set_image(&mut fake, "agent:v2");
        ask(&mut ops, &mut fake, Command::StopDriving);
        fake
    }),
    ("running", || begun(6).0),
    ("its controller rolls it and fails", || {
        let mut fake = FakeCluster::rolling(6, 2);
        fake.set_template(template("agent:v2"));
        fake.slow = true;
        fake.reconcile();
        fake.wait(700);
        fake
    }),
    ("its controller rolls it, and the brake was pressed", || {
        let mut fake = FakeCluster::rolling(6, 2);
        fake.set_template(template("agent:v2"));
        fake.slow = true;
        fake.reconcile();
        fake.wait(30);
        paused_by(&mut fake, "bob");
        fake
    }),
    ("paused", || {
        let (mut fake, _) = begun(6);
        paused_by(&mut fake, "bob");
        fake
    }),
    ("paused, and its template changed by others", || {
        let (mut fake, mut ops) = begun(6);
        ops.run_for(&mut fake, 60);
        paused_by(&mut fake, "bob");
        fake.set_template(template("agent:v3"));
        fake.reconcile();
        ops.run_for(&mut fake, 5);
        fake
    }),
    ("its template changed by others, and paused by rolldeck", || {
        let (mut fake, mut ops) = begun(6);
        ops.run_for(&mut fake, 60);
        fake.set_template(template("agent:v3"));
        fake.reconcile();
        ops.run_for(&mut fake, 5);
        fake
    }),
    ("its template changed by others to another placement", || {
        let mut fake = FakeCluster::rolling_with(6, 2, placed("agent:v1"));
        let mut ops = FakeConsole::open(&fake, "ops");
        ops.set_image(&mut fake, "agent:v2");
        fake.set_template(template("agent:v3"));
        fake.reconcile();
        ops.run_for(&mut fake, 60);
        fake
    }),
    ("halted", || halted().0),
    ("halted and paused", || {
        let (mut fake, _) = halted();
        paused_by(&mut fake, "bob");
        fake
    }),
    ("halted, and another image set", || {
        let (mut fake, mut ops) = halted();
        ops.set_image(&mut fake, "agent:v3");
        ops.partition(&mut fake, 0);
        ops.run_for(&mut fake, 60);
        paused_by(&mut fake, "ops");
        fake
    }),
    ("a halt was accepted", || {
        let (mut fake, mut ops) = halted();
        ask(&mut ops, &mut fake, Command::Resume);
        ops.run_for(&mut fake, 60);
        fake
    }),
    ("rolls back", || {
        let (mut fake, mut ops) = begun(6);
        ops.run_for(&mut fake, 60);
        ask(&mut ops, &mut fake, Command::StopDriving);
        ask(&mut ops, &mut fake, Command::Undo { to: None });
        fake
    }),
    ("its record is lost", || {
        let (mut fake, mut ops) = begun(6);
        ops.run_for(&mut fake, 60);
        fake.lease = None;
        ops.engine.observe(Event::LeaseGone(None), fake.now);
        fake
    }),
    ("every node is updated and kept", || {
        let (mut fake, mut ops) = begun(4);
        ops.keep(&mut fake);
        ops.partition(&mut fake, 0);
        ops.run_for(&mut fake, 200);
        ask(&mut ops, &mut fake, Command::StopDriving);
        fake
    }),
    ("a release waits", || {
        let (mut fake, mut ops) = begun(6);
        ops.run_for(&mut fake, 60);
        ask(&mut ops, &mut fake, Command::StopDriving);
        ask(&mut FakeConsole::open_as(&fake, "bob", Role::OneShot), &mut fake, Command::Release(Early::Accept));
        fake
    }),
    ("few nodes, and the budget is used up by nodes that are down", || {
        let mut fake = FakeCluster::rolling(3, 2);
        let mut ops = FakeConsole::open(&fake, "ops");
        ops.set_image(&mut fake, "agent:v2");
        let tuning = Tuning { max_unavailable: Some("1".parse().unwrap()), ..Tuning::default() };
        ask(&mut ops, &mut fake, Command::Tune(tuning));
        ops.partition(&mut fake, 0);
        ops.run_for(&mut fake, 5);
        let node = fake.nodes.keys().next().unwrap().to_string();
        fake.set_node_ready(&node, false);
        ops.run_for(&mut fake, 900);
        fake
    }),
];

#[test]
fn what_is_offered_says_whether_it_asks_first() {
    let mut compared = Vec::new();
    for (state, reach) in STATES {
        let mut fake = reach();
        for who in ["bob", "ops", "eve"] {
            compared.extend(compare(&mut fake, who, state).into_iter().map(|what| format!("{state}, {who}: {what}")));
        }
    }
    let undo = |says: bool| compared.iter().filter(|what| what.ends_with(&format!("undo {says}"))).count();
    assert!(undo(true) > 2 && undo(false) > 2, "{compared:#?}");
    assert!(compared.iter().any(|what| what.ends_with("resume true")), "{compared:#?}");
}

/// Images that the rollout requires are missing: `drive` would end at once, and what pulls them again drives as well. Before it is known that they are
/// missing, and where a driver tries again by itself, `drive` is offered.
#[test]
fn a_drive_that_would_update_no_node_is_not_offered() {
    let not_found = "failed to resolve reference \"agent:v2\": agent:v2: not found";
    for (fails_with, drive) in
        [(None, true), (Some(not_found), false), (Some("dial tcp 10.0.0.1:443: i/o timeout"), true)]
    {
        let mut fake = FakeCluster::rolling(6, 2);
        fake.holds_images = false;
        let mut ops = FakeConsole::open(&fake, "ops");
        ask(&mut ops, &mut fake, Command::Tune(Tuning { require_image: Some(true), ..Tuning::default() }));
        ops.set_image(&mut fake, "agent:v2");
        ops.partition(&mut fake, 4);
        ops.run_for(&mut fake, 3);
        for node in fails_with.map(|_| fake.warm_nodes()).unwrap_or_default() {
            fake.warm_fails(&node, fails_with.unwrap_or_default());
        }
        ops.run_for(&mut fake, 5);
        ask(&mut ops, &mut fake, Command::StopDriving);
        drop(ops);
        fake.wait(20);
        let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
        bob.run_for(&mut fake, 20);
        let place = CommandPlace::of(&Script::of(rollout()));
        let offered = suggested_commands(&place, &bob.snapshot(&fake));
        let lines: Vec<String> = offered.iter().map(|offered| offered.line()).collect();
        assert_eq!(offered.iter().any(|offered| offered.drives()), drive, "{fails_with:?}: {lines:#?}");
        let again = lines.iter().any(|line| line.contains("pulls again what failed"));
        assert_eq!(again, fails_with == Some(not_found), "{lines:#?}");
    }
}
