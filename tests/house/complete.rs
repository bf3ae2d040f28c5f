//! What no compiler requires: of a new cause a test, and a row in the document; of a new hold, alarm or rollout event the place that raises it.
//! `engine/tests/gates.rs` requires more of gates.

use std::path::{Path, PathBuf};

use super::root;

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

/// The texts of the files in these places, as far as they are compiled for tests only.
fn tests_in(places: &[&str]) -> String {
    texts_in(places).1
}

/// The texts of the files in these places: what is always compiled, and what is compiled for tests only.
fn texts_in(places: &[&str]) -> (String, String) {
    let (mut code, mut tests) = (String::new(), String::new());
    for file in places.iter().flat_map(|place| files(place)) {
        let text = std::fs::read_to_string(&file).unwrap();
        let is_test = file.components().any(|part| part.as_os_str().to_string_lossy().starts_with("tests"));
        let (_, tested) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        let (always, _) = text.split_once("mod tests {").unwrap_or((&text, ""));
        code.push_str(if is_test { "" } else { always });
        tests.push_str(if is_test { &text } else { tested });
    }
    (code, tests)
}

/// Whether the text has the word as a whole.
fn has(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let after = &text[at + word.len()..];
        !text[..at].ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// The lines of a block of code, from the line after the one that contains `head` to the line before `end`.
fn block<'t>(text: &'t str, head: &str, end: &str) -> Vec<&'t str> {
    let lines = text.lines().skip_while(|line| !line.contains(head)).skip(1);
    lines.take_while(|line| *line != end).map(str::trim).collect()
}

fn causes() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("src/engine/model/cause.rs")).unwrap();
    let lines = block(&text, "pub enum CauseKind {", "}");
    let causes: Vec<String> = lines.iter().filter_map(|line| Some(line.strip_suffix(',')?.to_owned())).collect();
    assert!(causes.len() > 20 && causes.contains(&"CrashLoop".to_owned()), "{causes:?}");
    causes
}

#[test]
fn every_cause_has_a_test_and_a_row_in_the_document() {
    // The tests of these files name causes in lists of all of them, and play none: they do not count.
    let lists = ["src/engine/rules/recognise.rs", "src/engine/rules/causes.rs"];
    let tests = lists.iter().fold(tests_in(&["src/engine"]), |tests, file| tests.replace(&tests_in(&[file]), ""));
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

/// The variants of an enum that stands at the margin of a file.
fn variants(file: &str, of: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with(&format!("pub enum {of} {{"))).skip(1);
    let variants = lines.take_while(|line| *line != "}").filter_map(|line| line.strip_prefix("    "));
    let variants = variants.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    variants.map(|line| line.chars().take_while(char::is_ascii_alphanumeric).collect()).collect()
}

/// A front end has words for each of these, and nothing shows them if no rule raises them.
#[test]
fn every_hold_alarm_and_rollout_event_is_raised() {
    for (of, file, places) in [
        ("Hold", "src/engine/model/hold.rs", &["src/engine/machine", "src/engine/assess", "src/engine/report.rs"][..]),
        ("Alarm", "src/engine/report/snapshot/alarm.rs", &["src/engine/report/alarms.rs"][..]),
        (
            "RolloutEventKind",
            "src/engine/model/rollout_event.rs",
            &["src/engine/machine", "src/engine/act", "src/engine/event_log.rs"][..],
        ),
    ] {
        let (code, _) = texts_in(places);
        let variants = variants(file, of);
        assert!(variants.len() > 15, "{of}: {variants:?}");
        let missing: Vec<_> = variants.iter().filter(|variant| !has(&code, &format!("{of}::{variant}"))).collect();
        assert_eq!(missing, Vec::<&String>::new(), "nothing in {places:?} raises these of `{of}`");
    }
}
