//! The tests check the promises of `judge.rs` at the console: an operator presses keys in a terminal.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;

use super::fixture::{BUDGET, DS, GOOD, NODES, RolloutFixture, assert_within_budget, replaced};
use crate::support::terminal::Terminal;

const SIZE: (u16, u16) = (100, 40);
const QUIET: Duration = Duration::from_secs(3);

/// Arms the console and gives the DaemonSet v2, as the README says.
fn set_image(console: &Terminal) {
    console.until("20 of 20 available");
    console.press(&["A"]);
    console.until("ARMED");
    console.press(&["I"]);
    console.until("> agent         registry.test/agent:v1");
    console.press(&["BSpace"]);
    console.write("2");
    console.until("→ registry.test/agent:v2");
    console.choose("Set image");
    console.until("partition keeps 20");
}

fn keep(console: &Terminal, old: usize) {
    console.write(&format!(":partition {old}"));
    console.press(&["Enter"]);
    console.confirm("[ Start step ]");
}

/// Partition 20 → 18 → 10 → 0.
#[test]
fn steps_by_keys_update_exactly_what_was_allowed() {
    let Some(fixture) = RolloutFixture::new("console-steps") else { return };
    let began = Instant::now();
    let Some(console) = Terminal::open(&fixture.operator(), &[DS], SIZE) else { return };
    let mut before = fixture.witness.pods();
    set_image(&console);
    std::thread::sleep(QUIET / 3);
    assert_eq!(fixture.witness.deletes_since(began).len(), 0, "nothing moves before the first step");
    for old in [18, 10, 0] {
        keep(&console, old);
        fixture.until(&format!("{old} nodes are left at v1, all serve"), |witness| {
            witness.serving(":v1").len() == old && witness.serving(":v2").len() == NODES - old
        });
        if old > 0 {
            console.until(&format!("{} of 20 updated, {0} allowed", NODES - old));
            std::thread::sleep(QUIET / 3);
        }
        let after = fixture.witness.pods();
        let earlier = before.values().filter(|pod| pod.image == GOOD[1]).count();
        assert_eq!(after.values().filter(|pod| pod.image == GOOD[1]).count(), NODES - old);
        assert_eq!(replaced(&before, &after).len(), NODES - old - earlier, "the rest was left alone");
        before = after;
    }
    console.until_its_controller_drives();
    assert_eq!(fixture.daemon_set()["spec"]["updateStrategy"]["type"], "RollingUpdate");
    assert_eq!(fixture.witness.deletes_since(began).len(), NODES);
    assert_within_budget(&fixture, began);
    console.press(&["q"]);
    console.until("it ended with 0");
}

/// A second console shows who drives, pauses although it is read-only, and takes over when it is told to.
#[test]
fn a_second_console_observes_pauses_and_takes_over() {
    let Some(fixture) = RolloutFixture::new("console-second") else { return };
    let began = Instant::now();
    let operator = fixture.operator();
    let Some(first) = Terminal::open(&operator, &[DS], SIZE) else { return };
    set_image(&first);
    let Some(second) = Terminal::open(&operator, &[DS], SIZE) else { return };
    second.until("tester@");
    assert!(second.screen().contains("READ-ONLY"), "{}", second.screen());
    keep(&first, 0);
    fixture.until("four nodes serve v2", |witness| witness.serving(":v2").len() >= 4);

    second.press(&["P"]);
    second.confirm("[ Pause now ]");
    first.until("paused");
    let paused = Instant::now();
    std::thread::sleep(QUIET);
    // A deletion may be under way when the first console shows that it is paused.
    let after = fixture.witness.deletes_since(paused + Duration::from_millis(200));
    assert!(after.is_empty(), "deleted while paused: {after:?}");
    assert!(fixture.witness.serving(":v2").len() + BUDGET < NODES, "it came too late to prove anything");

    second.press(&["A"]);
    second.until("ARMED");
    second.press(&["D"]);
    second.until("Take over");
    second.choose("Take over");
    second.until("you drive");
    first.until("tester@");
    second.press(&["C"]);
    second.choose("Resume");
    fixture.until("all serve v2", |witness| witness.serving(":v2").len() == NODES);
    assert_within_budget(&fixture, began);
    assert_eq!(fixture.witness.deletes_since(began).len(), NODES, "nothing was deleted twice");
}

/// The operator sets a canary selector by keys, then none. At the end the DaemonSet's update strategy is what it was, to the byte.
#[test]
fn a_canary_selector_by_keys_keeps_all_others_as_they_are() {
    let Some(fixture) = RolloutFixture::new("console-canary") else { return };
    let canaries: BTreeSet<String> = [2, 9, 15].into_iter().map(|nth| fixture.nodes[nth].clone()).collect();
    for node in &canaries {
        fixture.label(node, &json!({"canary": "true"}));
    }
    let (began, before) = (Instant::now(), fixture.witness.pods());
    let original = fixture.daemon_set()["spec"]["updateStrategy"].to_string();
    let Some(console) = Terminal::open(&fixture.operator(), &[DS], SIZE) else { return };
    set_image(&console);
    console.write(":canary canary=true");
    console.press(&["Enter"]);
    console.confirm("[ Select ]");
    console.until("canary=true");
    keep(&console, 0);
    fixture.until("the canaries serve v2", |witness| witness.serving(":v2") == canaries);
    std::thread::sleep(QUIET / 3);
    assert_eq!(replaced(&before, &fixture.witness.pods()), canaries, "nobody but the canaries");
    console.press(&["N"]);
    console.until("ctrl-u empties the field to lift it");
    console.press(&["C-u"]);
    console.until("[ Lift selector ]");
    console.choose("Lift selector");
    fixture.until("all serve v2", |witness| witness.serving(":v2").len() == NODES);
    console.until_its_controller_drives();
    assert_eq!(fixture.daemon_set()["spec"]["updateStrategy"].to_string(), original);
    assert_within_budget(&fixture, began);
}

/// The operator rolls back by keys, in the middle of a rollout. Nodes that never left the old revision keep their pods.
#[test]
fn a_roll_back_by_keys_replaces_only_pods_that_left_the_old_revision() {
    let Some(fixture) = RolloutFixture::new("console-undo") else { return };
    let (began, before) = (Instant::now(), fixture.witness.pods());
    let Some(console) = Terminal::open(&fixture.operator(), &[DS], SIZE) else { return };
    set_image(&console);
    keep(&console, 12);
    fixture.until("eight nodes serve v2", |witness| witness.serving(":v2").len() == NODES - 12);
    let changed = replaced(&before, &fixture.witness.pods());
    console.press(&["U"]);
    console.until("[ Roll back ]");
    console.choose("Roll back");
    fixture.until("all serve v1", |witness| witness.serving(":v1").len() == NODES);
    console.until_its_controller_drives();
    assert_eq!(replaced(&before, &fixture.witness.pods()), changed, "who never left keeps its pod");
    assert_within_budget(&fixture, began);
}

/// A console is killed (`kill -9`) in the middle of a rollout. No further pod is deleted, and the next console carries on where the rollout stood.
#[test]
fn a_killed_console_deletes_nothing_more_and_the_next_one_carries_on() {
    let Some(fixture) = RolloutFixture::new("console-killed") else { return };
    let began = Instant::now();
    let operator = fixture.operator();
    let Some(first) = Terminal::open(&operator, &[DS], SIZE) else { return };
    set_image(&first);
    keep(&first, 4);
    fixture.until("four nodes serve v2", |witness| witness.serving(":v2").len() >= 4);
    first.kill();
    let killed = Instant::now();
    // The witness may see a deletion after the kill that the console sent before it.
    fixture.until("all serve again", |witness| witness.unavailable() == 0);
    std::thread::sleep(QUIET);
    assert!(fixture.witness.deletes_since(killed).len() <= BUDGET, "only what was on its way");
    let (settled, before) = (Instant::now(), fixture.witness.pods());
    let updated = before.values().filter(|pod| pod.image == GOOD[1]).count();
    assert!((4..NODES - 4).contains(&updated), "it came too late to prove anything: {updated}");

    // A console that is opened while nobody drives shows how far the rollout is.
    let Some(second) = Terminal::open(&operator, &[DS], SIZE) else { return };
    second.until(&format!("{updated} of 20 updated, 16 allowed"));
    std::thread::sleep(QUIET);
    assert!(fixture.witness.deletes_since(settled).is_empty(), "nobody drives, nobody deletes");
    second.until("tester@");
    second.press(&["A"]);
    second.until("ARMED");
    second.press(&["D"]);
    second.choose("Take over");
    second.until("you drive");
    fixture.until("it carries on to where it was to go", |witness| {
        witness.serving(":v1").len() == 4 && witness.serving(":v2").len() == NODES - 4
    });
    let expected: BTreeSet<String> =
        before.values().filter(|pod| pod.image == GOOD[0]).map(|pod| pod.node.clone()).collect();
    let replaced = replaced(&before, &fixture.witness.pods());
    assert!(replaced.is_subset(&expected), "what was at v2 was left alone: {replaced:?}");
    keep(&second, 0);
    fixture.until("all serve v2", |witness| witness.serving(":v2").len() == NODES);
    second.until_its_controller_drives();
    assert_eq!(fixture.witness.deletes_since(began).len(), NODES, "nothing was deleted twice");
    assert_within_budget(&fixture, began);
}
