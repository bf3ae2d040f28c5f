//! A halt that names no node is printed without a place.

use super::script::Script;
use crate::engine::fake_cluster::{HALTED, halted_without_nodes};

#[tokio::test]
async fn a_halt_without_nodes_is_printed_without_a_place() {
    let script = Script::of(halted_without_nodes().0);
    let text = script.run("status ds/agent --nodes").await.text;
    assert!(text.contains(&format!("ago: {HALTED}, 6 of 6 updated")), "{text}");
    assert!(text.contains(&format!("ago  halted: {HALTED}\n")), "{text}");
    for open in ["()", "( )", " on \n", ", ,", ": \n"] {
        assert!(!text.contains(open), "{open:?} is in {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&script.json("status ds/agent -o json").await).unwrap();
    assert_eq!((&json["halt"]["why"], &json["halt"]["nodes"]), (&HALTED.into(), &serde_json::json!([])), "{json}");
}
