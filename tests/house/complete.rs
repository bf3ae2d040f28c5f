//! What no compiler asks for when a gate or a cause is added: a rule, a test, a row of the document.

use std::path::{Path, PathBuf};

use super::root;

/// Where the rules of gates are carried out.
const RULES: &[&str] = &["src/engine/act", "src/engine/assess", "src/engine/machine", "src/engine/rules"];

/// The Rust files below a folder, or the file itself.
fn files(place: &str) -> Vec<PathBuf> {
    fn below(path: &Path, files: &mut Vec<PathBuf>) {
        if path.is_dir() {
            std::fs::read_dir(path).unwrap().for_each(|entry| below(&entry.unwrap().path(), files));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path.to_owned());
        }
    }
    let mut files = Vec::new();
    below(&root().join(place), &mut files);
    files
}

/// Their texts: with `tests` what is compiled for tests only, otherwise the rest.
fn texts(places: &[&str], tests: bool) -> String {
    let mut texts = String::new();
    for file in places.iter().flat_map(|place| files(place)) {
        let text = std::fs::read_to_string(&file).unwrap();
        let is_test = file.components().any(|part| part.as_os_str().to_string_lossy().starts_with("tests"));
        let (code, tested) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        texts.push_str(match (is_test, tests) {
            (true, true) => &text,
            (true, false) => "",
            (false, true) => tested,
            (false, false) => code,
        });
    }
    texts
}

/// Whether the word stands there, other than as a field that a pattern leaves out.
fn has(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let after = &text[at + word.len()..];
        !text[..at].ends_with(is_part) && !after.starts_with(is_part) && !after.starts_with(": _")
    })
}

/// The lines of a block of code, from the line that has `head` to the first that is `end`.
fn block<'t>(text: &'t str, head: &str, end: &str) -> Vec<&'t str> {
    let lines = text.lines().skip_while(|line| !line.contains(head)).skip(1);
    lines.take_while(|line| *line != end).map(str::trim).collect()
}

fn gates() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("src/engine/model/settings.rs")).unwrap();
    let entry = |line: &&str| Some(line.split_once(" => ")?.1.split_once(": ")?.0.to_owned());
    let gates: Vec<String> = block(&text, "pub struct Gates in gates {", "    }").iter().filter_map(entry).collect();
    assert!(gates.len() > 5 && gates.contains(&"soak_secs".to_owned()), "{gates:?}");
    gates
}

fn causes() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("src/engine/model/cause.rs")).unwrap();
    let lines = block(&text, "pub enum CauseKind {", "}");
    let causes: Vec<String> = lines.iter().filter_map(|line| Some(line.strip_suffix(',')?.to_owned())).collect();
    assert!(causes.len() > 20 && causes.contains(&"CrashLoop".to_owned()), "{causes:?}");
    causes
}

#[test]
fn every_gate_has_a_rule_and_a_test() {
    let (rules, tests) = (texts(RULES, false), texts(&["src/engine", "src/engine/tests.rs"], true));
    let mut missing = Vec::new();
    for gate in gates() {
        for (there, what) in [
            (has(&rules, &gate), "no rule reads it (`act`, `assess`, `machine` or `rules` of the engine)"),
            (has(&tests, &gate), "no test of the engine names it"),
        ] {
            missing.extend((!there).then(|| format!("`{gate}`: {what}")));
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_cause_has_a_test_and_a_row_in_the_document() {
    // The tests of the words that tell causes apart name every cause, of which most are told by other means.
    let of_words = "src/engine/rules/recognise.rs";
    let tests = texts(&["src/engine"], true).replace(&texts(&[of_words], true), "");
    let document = std::fs::read_to_string(root().join("docs/kubernetes.md")).unwrap();
    let rows = block(&document, "## Why a pod is not healthy", "## Logs").join("\n");
    let mut missing = Vec::new();
    for cause in causes() {
        for (there, what) in [
            (has(&tests, &cause), "no test of the engine names it"),
            (rows.contains(&format!("`{cause}`")), "docs/kubernetes.md, *Why a pod is not healthy*, does not name it"),
        ] {
            missing.extend((!there).then(|| format!("`{cause}`: {what}")));
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn a_field_that_a_pattern_leaves_out_is_not_read() {
    assert!(!has("let Gates { soak_secs: _, .. }", "soak_secs"));
    assert!(!has("old_soak_secs", "soak_secs"));
    assert!(has("let Gates { soak_secs: _ } = gates; gates.soak_secs", "soak_secs"));
}
