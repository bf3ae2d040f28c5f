//! The rules of the house: every arrow between rooms is in the drawing, every crate is used only in its rooms, and every type has a name of its own.
//!
//! ```text
//!             main ── parse, run, map error to exit code
//!            ┌──────┴──────┐
//!          tui            cli         front ends: view state and words; never import kube
//!            └──────┬──────┘
//!             driver, audit           the only room where async meets the engine · who did what
//!       ┌───────────┼───────────┐
//!    cluster      engine       sim    adapter · rules (pure) · a world to practise on (its own part pure)
//! ```
//!
//! ```text
//!        engine                        the calls by which the engine is used: observe, command, decide, outcome, snapshot, wake_at
//!    ┌───────┼────────┐
//! commands  act     report             what operators ask · what to write next, and what came of it · what a front end shows
//!    └───────┼────────┘
//!         machine                      the struct `Engine`: its parts, and questions that need several of them
//!    ┌───────┼────────┐
//! assess   lease   writes, event_log   rows, budget, plan · lock and record · what was sent and is not settled, what happened
//!    │       │        │
//!   view     │        │                what watches told
//!    └───────┼────────┘
//!          rules                       pure functions of model values
//!            │
//!          model                       values
//! ```
//!
//! Three more rooms stand beside these. `process` has streams and signals for the front ends, and knows no other room but `engine::model`. `scrub`
//! makes texts without secrets, for `audit` and `cluster`. `template_text` has templates as YAML and the lines in which they differ, for the front
//! ends.
//!
//! The tests read the source themselves: `use` trees, paths in the middle of an expression, `super` chains. Comments and strings do not count.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the source has failed")]

mod circles;
mod complete;
mod documents;
mod licences;
mod mutations;
mod names;
mod source;
mod terminal;

use std::collections::BTreeSet;
use std::path::Path;

use self::source::{File, Found};

/// The rooms, each with the rooms that it may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("main", &["tui", "cli"]),
    ("tui", &["driver", "audit", SHOWN, "process", "template_text", "handover", "config"]),
    (
        "cli",
        &["driver", "audit", "sim::attack", "sim::compare", SHOWN, "process", "template_text", "handover", "config"],
    ),
    ("process", &["engine::model"]),
    ("config", &["engine::model"]),
    ("template_text", &["engine::model"]),
    ("handover", &[SHOWN, "scrub"]),
    ("audit", &["engine::model", "scrub"]),
    ("scrub", &[]),
    ("driver", &["audit", "cluster", "engine", SHOWN, "engine::rules", "sim::world", "sim::api"]),
    ("cluster", &["engine::model", "engine::rules", "scrub"]),
    ("engine", &[ENGINE]),
    ("engine::commands", &[MACHINE, PARTS]),
    ("engine::act", &[MACHINE, PARTS]),
    ("engine::report", &[MACHINE, PARTS]),
    (MACHINE, &[PARTS]),
    ("engine::assess", &["engine::view", "engine::rules", "engine::model"]),
    ("engine::lease", &["engine::rules", "engine::model"]),
    ("engine::event_log", &["engine::model"]),
    ("engine::writes", &["engine::rules", "engine::model"]),
    ("engine::view", &["engine::rules", "engine::model"]),
    ("engine::rules", &["engine::model"]),
    ("engine::model", &[]),
    ("sim::world", &["engine::model", "engine::rules"]),
    ("sim::attack", &["sim::world", "engine", SHOWN]),
    ("sim::compare", &["sim::attack", "sim::world", SHOWN]),
    ("sim::api", &["sim::world", "engine::model"]),
];

/// The engine and every room in it.
const ENGINE: &str = "engine and its rooms";
/// The rooms for what a front end shows: values, and the words for them.
const SHOWN: &str = "what is shown";
const MACHINE: &str = "engine::machine";
/// The rooms below the struct `Engine`.
const PARTS: &str = "engine's parts";
const ROOMS_OF_PARTS: &[&str] = &[
    "engine::assess",
    "engine::event_log",
    "engine::lease",
    "engine::writes",
    "engine::view",
    "engine::rules",
    "engine::model",
];

/// The rooms that do no IO, each with all the crates that it may use.
const PURE: &[(&str, &[&str])] = &[
    ("engine", &["std", "serde", "serde_json", "hashbrown", "indexmap", "jiff", "natord", "shlex", "thiserror"]),
    ("sim::world", &["std", "serde", "serde_json", "jiff", "natord", "shlex", "thiserror", "fastrand", "toml"]),
    ("sim::attack", &["std", "serde", "serde_json", "jiff", "natord", "shlex", "thiserror", "fastrand", "toml"]),
    ("sim::compare", &["std", "serde", "serde_json", "jiff", "natord", "shlex", "thiserror", "fastrand", "toml"]),
];

/// The crates that only some rooms may use.
const GUARDED: &[(&str, &[&str])] = &[
    ("kube", &["cluster"]),
    ("k8s_openapi", &["cluster"]),
    ("ratatui", &["tui", "main"]),
    ("crossterm", &["tui", "main"]),
    ("tui_input", &["tui"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("axum", &["sim::api"]),
    ("similar", &["template_text"]),
    ("maud", &["handover"]),
];

/// The modules of `std` that a pure room may not use.
const IMPURE_STD: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread"];

#[test]
fn every_arrow_is_in_the_drawing() {
    let house = House::of_this_crate();
    let broken: Vec<String> = house.files().iter().flat_map(|file| house.violations(file)).collect();
    assert!(broken.is_empty(), "arrows that are not in the drawing:\n  {}", broken.join("\n  "));
}

/// A checker that finds no arrow at all would accept any house.
#[test]
fn the_arrows_that_carry_the_house_are_seen() {
    let house = House::of_this_crate();
    let seen: BTreeSet<(String, String)> = house
        .files()
        .iter()
        .flat_map(|file| {
            let room = file.room().unwrap_or_default();
            file.paths().into_iter().filter_map(move |path| Some((room.clone(), room_of_path(&path.absolute)?)))
        })
        .collect();
    for (from, to) in [("cli", "driver"), ("cli", "engine::report"), ("driver", "engine")] {
        assert!(seen.contains(&(from.to_owned(), to.to_owned())), "no arrow {from} → {to} among {seen:?}");
    }
}

#[test]
fn a_broken_arrow_is_found_however_it_is_written() {
    for (path, source, arrow) in [
        ("src/engine/plan.rs", "use crate::driver::Rollout;", "engine → driver"),
        ("src/engine/plan.rs", "fn f() { let x = crate::cluster::http::get(); }", "engine → cluster"),
        ("src/engine/plan.rs", "use super::super::sim::world::World;", "engine → sim::world"),
        ("src/engine.rs", "use super::sim::world::World;", "engine → sim::world"),
        ("src/engine/plan.rs", "use {super::time::Timestamp, crate::{tui, engine::Str}};", "engine → tui"),
        ("src/engine/plan.rs", "mod tests { use super::super::super::cli::run; }", "engine → cli"),
        ("src/engine/plan.rs", "fn f(at: tokio::time::Instant) {}", "engine uses tokio"),
        ("src/engine/plan.rs", "use std::{collections::BTreeMap, fs};", "engine uses std::fs"),
        (
            "src/engine/plan.rs",
            "fn f() { let now = std::time::SystemTime::now(); }",
            "engine uses std::time::SystemTime",
        ),
        ("src/engine/plan.rs", "fn f() { std::time::Instant::now(); }", "engine uses std::time::Instant"),
        ("src/engine/plan.rs", "fn f() { jiff::Timestamp::now(); }", "engine uses jiff::Timestamp::now"),
        ("src/sim/world/clock.rs", "use crate::sim::api::serve;", "sim::world → sim::api"),
        ("src/sim/world/clock.rs", "use super::super::api::serve;", "sim::world → sim::api"),
        ("src/sim/world/clock.rs", "extern crate rustls;", "sim::world uses rustls"),
        ("src/sim/attack/run.rs", "use crate::driver::Rollout;", "sim::attack → driver"),
        ("src/sim/attack/run.rs", "fn f() { std::thread::spawn(g); }", "sim::attack uses std::thread"),
        ("src/sim/api.rs", "use crate::cluster::connect::Cluster;", "sim::api → cluster"),
        ("src/tui/view.rs", "type P = kube::Api<()>;", "tui uses kube"),
        ("src/tui/view.rs", "use crate::cluster::Cluster;", "tui → cluster"),
        ("src/tui/view.rs", "use crate::cli::Next;", "tui → cli"),
        ("src/cli/drive.rs", "use ::ratatui::Frame;", "cli uses ratatui"),
        ("src/cli/drive.rs", "fn f() { super::super::sim::api::serve() }", "cli → sim::api"),
        ("src/driver/session.rs", "use k8s_openapi::api::apps::v1::DaemonSet;", "driver uses k8s_openapi"),
        ("src/driver/session.rs", "use crate::cli::CliError;", "driver → cli"),
        ("src/cluster/feed.rs", "use crate::driver;", "cluster → driver"),
        ("src/audit/log.rs", "use crate::cluster::Recorder;", "audit → cluster"),
        ("src/main.rs", "use rolldeck::engine::Engine;", "main → engine"),
        ("src/main.rs", "fn main() { rolldeck::cluster::connect(); }", "main → cluster"),
        ("src/cellar/wine.rs", "", "is in no room"),
        ("src/cli/drive.rs", "use crate::attic::Box;", "no room"),
        ("src/engine/plan.rs", "use crate::*;", "no room"),
    ] {
        let said = House::of_this_crate().violations(&File::new(path, source)).join("\n");
        assert!(said.contains(arrow), "{path}: `{source}` should break {arrow:?}; said: {said:?}");
    }
}

#[test]
fn an_allowed_arrow_passes() {
    for (path, source) in [
        (
            "src/engine/plan.rs",
            "use super::{Str, time::Timestamp}; use crate::engine::model::facts; use std::time::Duration;",
        ),
        ("src/engine/plan.rs", "//! use crate::driver;\n/* kube::Api /* tokio::spawn */ */ // crate::tui\nfn f() {}"),
        (
            "src/engine/plan.rs",
            r##"const S: &str = "crate::driver"; const R: &str = r#"kube::Api "x""#; const C: char = '"';"##,
        ),
        (
            "src/engine/plan.rs",
            "fn f<'a>(x: &'a str) -> char { 'k' } mod tests { use super::super::time; use super::*; }",
        ),
        ("src/engine/plan.rs", "fn f(http: u8) { let kube = http; kube.min(1); self.tokio(); }"),
        ("src/engine/plan.rs", "mod tests { use proptest::prelude::*; use insta::assert_snapshot; }"),
        (
            "src/cli/drive.rs",
            "use crate::driver::{Rollout, Session}; use crate::engine::model::config::Role; use super::error::CliError;",
        ),
        (
            "src/cluster/feed.rs",
            "use super::http::Call; use crate::engine::model::event::Event; type C = kube::Client;",
        ),
        ("src/sim/api/serve.rs", "use crate::sim::world::World; use super::super::world::kind; use axum::Router;"),
        ("src/driver/practice.rs", "use crate::sim::api::serve; use crate::cluster::Cluster;"),
        ("src/main.rs", "use rolldeck::{cli, tui}; fn main() { crossterm::terminal::size(); }"),
    ] {
        let said = House::of_this_crate().violations(&File::new(path, source));
        assert!(said.is_empty(), "{path}: `{source}`: {said:?}");
    }
}

/// The rules, with the crates that this package depends on.
struct House {
    dependencies: BTreeSet<String>,
    for_tests_only: BTreeSet<String>,
}

impl House {
    fn of_this_crate() -> Self {
        let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let names = |table: &str| -> BTreeSet<String> {
            manifest[table].as_table().unwrap().keys().map(|name| name.replace('-', "_")).collect()
        };
        let dependencies = names("dependencies");
        let for_tests_only = names("dev-dependencies").difference(&dependencies).cloned().collect();
        for (name, _) in GUARDED {
            assert!(dependencies.contains(*name), "`{name}` is guarded, but is no dependency any more");
        }
        Self { dependencies, for_tests_only }
    }

    fn files(&self) -> Vec<File> {
        let mut files = Vec::new();
        collect(&root().join("src"), &mut files);
        assert!(files.len() > 20, "only {} files under src/", files.len());
        files
    }

    fn violations(&self, file: &File) -> Vec<String> {
        let Some(room) = file.room() else {
            return vec![format!("{}: is in no room; draw it in tests/house/main.rs", file.path.display())];
        };
        // These files only declare rooms.
        if room == "lib" || room == "sim" {
            return Vec::new();
        }
        let says = |path: &Found, what: String| format!("{}:{}: {what}", file.path.display(), path.line);
        let mut said = Vec::new();
        for path in file.paths() {
            if path.absolute.first().is_some_and(|first| first == "crate") {
                match room_of_path(&path.absolute) {
                    Some(other) if other == room || may_use(&room, &other, path.in_tests) => {}
                    Some(other) => said.push(says(&path, format!("{room} → {other} ({path})"))),
                    None => said.push(says(&path, format!("`{path}` leads to no room"))),
                }
            } else if let Some(why) = self.foreign(&room, &path.absolute) {
                said.push(says(&path, format!("{room} uses {why} ({path})")));
            }
        }
        said.sort();
        said.dedup();
        said
    }

    /// The forbidden crate, module or function, if the room may not use this path.
    fn foreign(&self, room: &str, path: &[String]) -> Option<String> {
        let name = path.first()?.as_str();
        let known = ["std", "core", "alloc"].contains(&name) || self.dependencies.contains(name);
        if !known || self.for_tests_only.contains(name) {
            return None;
        }
        if let Some((_, rooms)) = GUARDED.iter().find(|(guarded, _)| *guarded == name)
            && !rooms.contains(&room)
        {
            return Some(name.to_owned());
        }
        let room = if room.starts_with("engine::") { "engine" } else { room };
        let (_, crates) = PURE.iter().find(|(pure, _)| *pure == room)?;
        let rest: Vec<&str> = path.iter().skip(1).map(String::as_str).collect();
        match (name, rest.as_slice()) {
            ("std", [module, ..]) if IMPURE_STD.contains(module) => Some(format!("std::{module}")),
            ("std", ["time", clock @ ("SystemTime" | "Instant"), ..]) => Some(format!("std::time::{clock}")),
            ("jiff", [kind, "now", ..]) => Some(format!("jiff::{kind}::now")),
            _ if crates.contains(&name) => None,
            _ => Some(name.to_owned()),
        }
    }
}

/// Whether a room may use another. A unit test may use all of the engine, because it runs the whole engine.
fn may_use(room: &str, other: &str, in_tests: bool) -> bool {
    let is_engine = |room: &str| room == "engine" || room.starts_with("engine::");
    let drawn = allowed(ARROWS, room).iter().any(|drawn| match *drawn {
        ENGINE => is_engine(other),
        SHOWN => ["engine::model", "engine::report"].contains(&other),
        PARTS => ROOMS_OF_PARTS.contains(&other),
        drawn => drawn == other,
    });
    drawn || in_tests && is_engine(other)
}

fn allowed<'a>(table: &'a [(&str, &'a [&'a str])], room: &str) -> &'a [&'a str] {
    table.iter().find(|(name, _)| *name == room).map_or(&[], |(_, rooms)| rooms)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn collect(directory: &Path, files: &mut Vec<File>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = std::fs::read_to_string(&path).unwrap();
            files.push(File::new(path.strip_prefix(root()).unwrap(), &source));
        }
    }
}

/// The room that `crate::…` leads to.
fn room_of_path(path: &[String]) -> Option<String> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let room = match parts.as_slice() {
        ["crate", "sim", part, ..] => format!("sim::{part}"),
        ["crate", "engine", part, ..] if is_room(&format!("engine::{part}")) => format!("engine::{part}"),
        ["crate", room, ..] => (*room).to_owned(),
        _ => return None,
    };
    is_room(&room).then_some(room)
}

fn is_room(name: &str) -> bool {
    ARROWS.iter().any(|(room, _)| *room == name)
}
