//! Pre-warming by keys, in a console that is killed in the middle (`kill -9`), on the smallest and on a wide terminal.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::support::terminal::Terminal;

/// The names of the namespace's objects, by kind.
type Everything = BTreeMap<String, BTreeSet<(String, String)>>;

/// Presses a key until the screen shows these words.
#[track_caller]
fn press_until(console: &Terminal, key: &str, words: &str) {
    for _ in 0..12 {
        if console.screen().contains(words) {
            return;
        }
        console.press(&[key]);
        std::thread::sleep(Duration::from_millis(300));
    }
    panic!("no `{words}` on\n{}", console.screen());
}

/// Arms the console and begins to pre-warm the image [`FULL`].
fn start_by_keys(console: &Terminal, method: PrewarmMethod) {
    console.until("20 of 20 available");
    console.press(&["A"]);
    console.until("ARMED");
    console.press(&["W"]);
    console.until("Pre-warm");
    console.until("> agent         registry.test/agent:v1");
    console.press(&["BSpace", "BSpace"]);
    console.write("full");
    if method == PrewarmMethod::StatefulSet {
        press_until(console, "Down", "> method");
        console.press(&["Right"]);
        console.until("method        statefulset");
    }
    console.choose("Pre-warm");
}

/// Arms a console on a DaemonSet whose driver is gone, and drives.
fn take_over(console: &Terminal) {
    console.press(&["A"]);
    console.until("ARMED");
    // A key is refused while the console does not know yet what it may do, as on a busy machine.
    console.press_until("D", "Take over");
    console.choose("Take over");
}

/// Ends a console that shows the list of nodes. Afterwards the namespace holds the objects that it held before, and the Lease.
#[track_caller]
fn quit_and_leave_nothing(
    console: &Terminal,
    fixture: &RolloutFixture,
    (application_before, before): (&Value, &Everything),
) {
    console.until("── updated 20");
    // It drives until the lease is given back, and asks before it leaves as long as it does. Once its pre-warming is over, it says `you drive`.
    console.until_gone("you pre-warm");
    console.until_gone("you drive");
    // In between it gives the lease back, and a question that `q` asks then is gone with its reason. Beside a slow API server the header is short.
    console.until_its_controller_drives();
    console.press(&["q"]);
    console.until("it ended with 0");
    let mut after = everything(fixture);
    after.remove("leases.coordination.k8s.io");
    assert_eq!(after, *before);
    assert_eq!(application(fixture), *application_before);
}

#[test]
fn a_console_killed_while_it_makes_pods_is_carried_on_by_the_next() {
    let Some(fixture) = RolloutFixture::with("prewarm-keys", with_images_to_wait_for()) else { return };
    let operator = fixture.operator();
    let (before, all) = (application(&fixture), everything(&fixture));
    let warm = witness_of_warm_pods(&fixture);
    let Some(first) = Terminal::open(&operator, &[DS], (80, 24)) else { return };
    start_by_keys(&first, PrewarmMethod::Pods);
    warm.until("four have it", SOON, |warm| warm.pulled().len() >= 4);
    first.kill();
    // The witness may see a pod after the kill whose creation the console sent before it.
    std::thread::sleep(Duration::from_secs(1));
    let made = warm.made();
    assert!(made < NODES, "it came too late to prove anything: {made}");
    println!("killed with {} of {NODES} present, {made} pods made", warm.pulled().len());
    // Pulls that were under way end, and nobody makes another pod.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!((warm.made(), warm.pulled().len()), (made, made), "{}", warm.describe());

    let Some(second) = Terminal::open(&operator, &[DS], (200, 50)) else { return };
    second.until("its controller drives: ");
    second.until(" pre-warmed until ");
    take_over(&second);
    warm.until("all have it", SOON, |warm| warm.pulled().len() == NODES);
    assert_eq!(warm.made(), NODES, "no node got a second pod");
    assert!(warm.most_pulling() <= BUDGET, "as many as the rollout may: {}", warm.most_pulling());
    assert_eq!(application(&fixture), before);
    // The operator cancels pre-warming on its screen.
    second.press(&["W"]);
    second.until("20 of 20");
    second.press(&["x"]);
    second.choose("Cancel pre-warm");
    eventually("all pods are deleted", SOON, || warm.pods().is_empty().then_some(()));
    second.until("its controller drives");
    second.press(&["Escape"]);
    quit_and_leave_nothing(&second, &fixture, (&before, &all));
}

#[test]
fn a_console_killed_while_statefulsets_pull_is_not_missed() {
    let Some(fixture) = RolloutFixture::with("prewarm-set-keys", with_images_to_wait_for()) else { return };
    let operator = fixture.operator();
    let (before, all) = (application(&fixture), everything(&fixture));
    let warm = witness_of_warm_pods(&fixture);
    let Some(first) = Terminal::open(&operator, &[DS], (200, 50)) else { return };
    start_by_keys(&first, PrewarmMethod::StatefulSet);
    warm.until("three have it", SOON, |warm| warm.pulled().len() >= 3);
    first.kill();
    let made = warm.made();
    assert!(made < NODES - 3, "it came too late to prove anything: {made}");
    println!("killed with {} of {NODES} present, {made} pods made", warm.pulled().len());
    warm.until("all have it, with every console closed", SOON, |warm| warm.pulled().len() == NODES);
    assert_eq!((warm.made(), warm.most_pulling()), (NODES, 1), "one at a time");

    // The next console that drives finds every node done, and deletes what is left of it.
    let Some(second) = Terminal::open(&operator, &[DS], (80, 24)) else { return };
    second.until("20 of 20");
    take_over(&second);
    eventually("nothing of it is left", SOON, || warm.pods().is_empty().then_some(()));
    quit_and_leave_nothing(&second, &fixture, (&before, &all));
}
