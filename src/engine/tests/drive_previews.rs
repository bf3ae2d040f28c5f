//! What the previews of `Drive` and `StopDriving` say of nodes.

use super::*;

fn effects(console: &mut FakeConsole, fake: &FakeCluster, command: &Command) -> Vec<String> {
    console.hear(fake);
    console.engine.preview(command, fake.now).unwrap().effects
}

#[test]
fn who_begins_to_drive_is_told_how_many_nodes_go_and_that_a_step_is_needed_where_none_does() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 5);
    let drive = Command::Drive(Takeover::IfFree);
    let mut eve = FakeConsole::open(&fake, "eve");
    let said = effects(&mut eve, &fake, &drive);
    assert_eq!(said[0], "No node is in line: a step lets the next one go.", "{said:?}");
    FakeConsole::open_as(&fake, "bea", Role::OneShot).ask(&mut fake, all()).unwrap();
    let said = effects(&mut eve, &fake, &drive);
    assert_eq!(said[0], "20 nodes are in line, at most 2 down and 2 pulling at a time.", "{said:?}");
}

#[test]
fn who_would_drive_what_its_controller_rolls_is_told_what_stops_that() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.slow = true;
    fake.set_template(crate::engine::fake_cluster::template("agent:v2"));
    fake.reconcile();
    let mut console = FakeConsole::open(&fake, "ops");
    console.run_for(&mut fake, 5);
    let refused = console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap_err();
    assert_eq!(
        refused,
        "no rollout is recorded, so there is nothing to drive: its controller replaces pods: `pause` stops that, `step` takes it over"
    );
}

/// A step is refused then, so the preview does not name one.
#[test]
fn who_begins_to_drive_a_canary_that_is_done_is_told_that_its_selector_holds_the_others() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.change_node("n1", |fact| fact.labels = [("canary", "true")].into_iter().collect());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Select(Some("canary=true".parse().unwrap()))).unwrap();
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 120);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 5);
    let mut eve = FakeConsole::open(&fake, "eve");
    let said = effects(&mut eve, &fake, &Command::Drive(Takeover::IfFree));
    assert_eq!(said[0], "No node is in line: none moves while the selector canary=true stands.", "{said:?}");
}

#[test]
fn who_stops_driving_is_told_which_nodes_go_on_and_how_many_stay() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let stays = "It stays adopted (OnDelete): its controller only makes pods that are missing, with the new template.";
    let nothing = "Nothing more is replaced until somebody drives again.";
    let said = effects(&mut console, &fake, &Command::StopDriving);
    assert_eq!(said, [nothing, "20 nodes keep the revision that they run.", stays]);
    fake.slow = true;
    console.ask(&mut fake, all()).unwrap();
    console.run_for(&mut fake, 5);
    let said = effects(&mut console, &fake, &Command::StopDriving);
    let moving = "n1, n2 are being updated now. They go on without a driver, and nothing halts the rollout until somebody drives.";
    assert_eq!(said, [nothing, moving, "18 nodes keep the revision that they run.", stays]);
}

/// A one-shot command deletes no pod: its preview says who does.
#[test]
fn the_calls_of_a_preview_say_who_sends_those_that_this_process_does_not() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let deletions = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.hear(fake);
        let calls = console.engine.preview(&all(), fake.now).unwrap().calls;
        calls.into_iter().find(|call| call.starts_with("DELETE pods, one by one, uid-guarded")).unwrap()
    };
    assert!(deletions(&mut console, &fake).ends_with("uid-guarded"), "it drives");
    let mut bea = FakeConsole::open_as(&fake, "bea", Role::OneShot);
    let said = deletions(&mut bea, &fake);
    assert!(said.ends_with("(sent by ops@bastion, who holds the lease)"), "{said}");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run(&mut fake);
    let said = deletions(&mut bea, &fake);
    assert!(said.ends_with("(sent by whoever drives next: nobody does now)"), "{said}");
}

fn all() -> Command {
    Command::Step(Step::Partition(IntOrPercent::Int(0)))
}
