//! A halt that names no node is shown without a place, and nothing is left open where places would stand.

use super::console::TestConsole;
use crate::engine::fake_cluster::{HALTED, halted_without_nodes};

/// Words that introduce or enclose something that is not there.
const OPEN: [&str; 6] = ["Where", "()", "( )", ": (", " on \n", ", ,"];

#[test]
fn a_halt_without_nodes_is_shown_without_a_place() {
    let (snapshot, preview) = halted_without_nodes();
    assert!(snapshot.halt.as_ref().is_some_and(|halt| halt.named().is_empty()), "{:?}", snapshot.halt);
    for (width, height) in [(120, 40), (80, 24), (60, 20)] {
        let shown = || TestConsole::on(snapshot.clone(), width, height);
        for keys in ["", "T", "T<enter>"] {
            let screen = shown().typed(keys).screen();
            assert!(screen.contains(HALTED), "after {keys:?}:\n{screen}");
            assert!(OPEN.iter().all(|open| !screen.contains(open)), "after {keys:?}:\n{screen}");
        }
        let screen = shown().typed("AC").answered(preview.clone()).screen();
        assert!(screen.contains(&format!("past the halt: {HALTED}.")), "{screen}");
        assert!(OPEN.iter().all(|open| !screen.contains(open)), "{screen}");
    }
}
