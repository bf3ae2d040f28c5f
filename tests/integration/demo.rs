//! The founding scenario on a practice cluster: the console in a terminal, driven by keys.

use crate::support::program::Operator;
use crate::support::terminal::Terminal;

/// The controller rolls v2 out, the console raises the alarm, the brake stops the controller, and the operator rolls back to v1.
#[test]
fn the_practice_cascade_is_braked_and_rolled_back_by_keys() {
    let newcomer = Operator::new("/nowhere", "edge");
    for size in [(80, 24), (120, 40)] {
        let line = ["demo", "cascade-native", "--speed", "20"];
        let Some(console) = Terminal::open(&newcomer, &line, size) else { return };
        console.until("losing nodes: ");
        assert!(console.screen().contains("P brakes: sets OnDelete at once"), "{}", console.screen());
        assert!(console.screen().contains("READ-ONLY"), "the brake needs no arming: {}", console.screen());
        console.press(&["P"]);
        console.confirm("[ Pause now ]");
        console.until("PAUSED");
        // The command's answer is shown beside the alarms.
        console.until("✓ agent: ");
        console.press(&["A"]);
        console.until("ARMED");
        console.press(&["U"]);
        console.choose("Roll back");
        console.until("20 of 20 available");
        console.until("its controller drives");
        console.press(&["q"]);
        console.until("it ended with 0");
    }
}
