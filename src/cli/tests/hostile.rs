//! Whatever a cluster says of itself can be printed: nothing panics, and what is printed grows with the text and not faster.

use proptest::prelude::*;

use super::script::Script;
use crate::engine::fake_cluster::hostile_snapshots;

const LINES: [&str; 5] = [
    "status ds/agent --nodes",
    "status ds/agent --images",
    "status ds/agent --nodes -o json",
    "history ds/agent",
    "history ds/agent -o json",
];

/// Prints everything of both rollouts; says how many bytes the longest output has.
fn print_all(text: &str) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut longest = 0;
    for snapshot in hostile_snapshots(text) {
        let script = Script::of(snapshot);
        for line in LINES {
            let output = runtime.block_on(script.run(line));
            assert!(output.error.is_empty(), "{line}: {}", output.error);
            assert!(output.text.contains("agent"), "{line} prints {:?}", output.text);
            if line.ends_with("json") {
                serde_json::from_str::<serde_json::Value>(&output.text).unwrap();
            }
            longest = longest.max(output.text.len());
        }
    }
    longest
}

/// A text stands in a few places of each of eight nodes, cells of a table are as wide as the widest, and JSON writes one byte as six.
fn allowance(text: &str) -> usize {
    8 * 6 * 10 * text.len() + 40_000
}

#[test]
fn floods_are_printed_once() {
    for piece in ["word ", "e\u{301}", "\u{200b}", "\n", "\u{1}"] {
        let text = piece.repeat(20_000 / piece.len());
        let (printed, allowed) = (print_all(&text), allowance(&text));
        assert!(printed > text.len() && printed <= allowed, "{piece:?}: {printed} bytes, {allowed} allowed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_text_can_be_printed(text in "[ -~]{0,9}(\\PC|\\p{Cc}|\\p{Mn}|\\p{Cf}){0,40}") {
        prop_assert!(print_all(&text) <= allowance(&text));
    }
}
