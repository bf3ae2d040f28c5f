//! Every check of the attack can fail: these tests break each rule of the engine in a copy of the source, and the attack must find it within the
//! 20,000 rollouts that CI runs. `mutations.toml` beside this file has the rules and what was found of each.
//! That the text of each rule is still in the source is a test of the house, which takes a second.
//!
//! Each rule compiles the pure half once, so the test runs only on request: `cargo test --test attack -- --ignored --nocapture every_broken_rule`;
//! `ROLLDECK_RULE=budget` picks the rules whose name contains `budget`.

use std::path::{Path, PathBuf};
use std::process::Command;

use rolldeck::engine::model::settings::Setting;
use serde::Deserialize;

/// How many rollouts CI runs.
const RUNS: u32 = 20_000;
/// A seed far from those that were used while the rules were written.
const SEED: &str = "1000000";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    found_after: u32,
    breaks: String,
    seen: String,
    #[serde(default)]
    settings: Vec<String>,
    file: PathBuf,
    from: String,
    to: String,
    also: Option<Edit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: PathBuf,
    from: String,
    to: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rules() -> Vec<Rule> {
    let text = std::fs::read_to_string(root().join("tests/attack/mutations.toml")).unwrap();
    toml::from_str::<Rules>(&text).unwrap().rule
}

impl Rule {
    fn edits(&self) -> impl Iterator<Item = (&Path, &str, &str)> {
        let also = self.also.iter().map(|edit| (&*edit.file, &*edit.from, &*edit.to));
        std::iter::once((&*self.file, &*self.from, &*self.to)).chain(also)
    }
}

/// Each rule says what was found of it, within the rollouts that CI runs.
#[test]
fn every_rule_says_how_it_was_found() {
    for Rule { name, found_after, breaks, seen, .. } in rules() {
        assert!((1..=RUNS).contains(&found_after), "{name}: found after {found_after}");
        let promise = breaks.strip_prefix('P').and_then(|number| number.parse::<u32>().ok());
        assert!(promise.is_some_and(|number| (1..=10).contains(&number)), "{name}: {breaks} is no promise");
        assert!(!seen.is_empty(), "{name}: what was seen?");
    }
}

/// The reason why no rule of a setting is broken; `None`: one is.
fn unbroken(setting: Setting) -> Option<&'static str> {
    match setting {
        Setting::Strict => Some("it only holds back more, which breaks no promise"),
        Setting::Order | Setting::Finish => Some("no promise depends on it"),
        Setting::SiteLabel => Some("the rules of sites are broken by their limits, whatever tells sites apart"),
        Setting::ProgressDeadline => Some("judged in `check_failing`, and nobody has broken its rule yet"),
        Setting::MaxRestarts => Some("judged in `check_restarts`, and nobody has broken its rule yet"),
        _ => None,
    }
}

/// Every setting has a broken rule, or a reason why not.
#[test]
fn every_setting_has_a_broken_rule_or_says_why_not() {
    let broken: Vec<String> = rules().into_iter().flat_map(|rule| rule.settings).collect();
    for name in &broken {
        assert!(Setting::ALL.iter().any(|setting| setting.name() == name), "`{name}` is no setting");
    }
    for setting in Setting::ALL {
        let is_broken = broken.iter().any(|name| name == setting.name());
        assert_eq!(
            is_broken,
            unbroken(*setting).is_none(),
            "`{}` in tests/attack/mutations.toml, or else in `unbroken`",
            setting.name()
        );
    }
}

#[test]
#[ignore = "compiles the pure half once for each rule"]
fn every_broken_rule_is_found() {
    let picked = std::env::var("ROLLDECK_RULE").unwrap_or_default();
    let tree = root().join("target/mutations");
    let mut missed = Vec::new();
    for rule in rules().into_iter().filter(|rule| rule.name.contains(&picked)) {
        copy_tree(&tree);
        for (file, from, to) in rule.edits() {
            let text = std::fs::read_to_string(tree.join(file)).unwrap();
            std::fs::write(tree.join(file), text.replacen(from, to, 1)).unwrap();
        }
        let found = attack(&tree);
        let known = format!("{}, {:>6} rollouts: {}: {}", rule.name, rule.found_after, rule.breaks, rule.seen);
        println!("{known}\n    now {}", found.as_deref().unwrap_or("NOT FOUND"));
        missed.extend(found.is_none().then_some(rule.name));
    }
    assert!(missed.is_empty(), "not found within {RUNS} rollouts: {missed:?}");
}

/// Copies the sources of the pure half over the broken ones.
fn copy_tree(tree: &Path) {
    for part in ["src", "tests", "benches", "scenarios", "Cargo.toml", "Cargo.lock"] {
        let (from, to) = (root().join(part), tree.join(part));
        let _ = std::fs::remove_dir_all(&to);
        copy(&from, &to);
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        // The file is written anew, so that it is newer than the last compilation.
        std::fs::write(to, std::fs::read(from).unwrap()).unwrap();
    }
}

/// Runs the attack in `tree`; returns the violation that it found, and after how many rollouts.
fn attack(tree: &Path) -> Option<String> {
    let done = Command::new(env!("CARGO"))
        .args([
            "test",
            "--profile",
            "attack",
            "--no-default-features",
            "--test",
            "attack",
            "promises::the_promises_hold",
        ])
        .args(["--", "--nocapture"])
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", tree.join("target"))
        .env("ROLLDECK_RUNS", RUNS.to_string())
        .env("ROLLDECK_SEED", SEED)
        .env("ROLLDECK_UNTIL_BROKEN", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let runs = said.lines().find_map(|line| line.split_once(" rollouts in ").map(|(runs, _)| runs.to_owned()));
    let runs = runs.unwrap_or_else(|| panic!("it did not run:\n{said}\n{}", String::from_utf8_lossy(&done.stderr)));
    let broken = said.lines().find(|line| line.starts_with("    P"))?;
    Some(format!("{runs:>6} rollouts: {}", broken.trim()))
}
