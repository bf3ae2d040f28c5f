//! The rules that `tests/attack/mutations.rs` breaks quote lines of the engine. Whoever changes such a line reads it here, and not after the minutes
//! that the attack takes to compile.

use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize)]
struct Rules {
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    name: String,
    #[serde(flatten)]
    quote: Quote,
    also: Option<Quote>,
}

#[derive(Deserialize)]
struct Quote {
    file: PathBuf,
    from: String,
}

/// The text of each rule in the list is in its file exactly once.
#[test]
fn every_rule_to_break_is_in_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = std::fs::read_to_string(root.join("tests/attack/mutations.toml")).unwrap();
    let rules = toml::from_str::<Rules>(&list).unwrap().rule;
    assert!(!rules.is_empty());
    for rule in rules {
        for Quote { file, from } in std::iter::once(rule.quote).chain(rule.also) {
            let text = std::fs::read_to_string(root.join(&file)).unwrap();
            let found = text.matches(&from).count();
            assert_eq!(
                found,
                1,
                "tests/attack/mutations.toml, \"{}\": how often `{from}` is in {}",
                rule.name,
                file.display()
            );
        }
    }
}
