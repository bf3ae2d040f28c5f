//! The house holds: every arrow between rooms is in the drawing, every crate stays in its room, and every public type has a name
//! of its own.
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
//! Beside it stands `process`: streams and signals, for the front ends; it knows no other room.
//!
//! It reads the source itself: `use` trees, paths written out in the middle of an expression, `super` chains. What is
//! only a comment or a string does not count.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the source has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// Rooms, and the rooms that each may look into.
const ARROWS: &[(&str, &[&str])] = &[
    ("main", &["tui", "cli"]),
    ("tui", &["driver", "audit", ENGINE, "process"]),
    ("cli", &["driver", "audit", "sim::attack", "sim::compare", ENGINE, "process"]),
    ("process", &[]),
    ("audit", &[ENGINE]),
    ("driver", &["audit", "cluster", ENGINE, "sim::world", "sim::api"]),
    ("cluster", &[ENGINE]),
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
    ("sim::world", &[ENGINE]),
    ("sim::attack", &["sim::world", ENGINE]),
    ("sim::compare", &["sim::attack", "sim::world", ENGINE]),
    ("sim::api", &["sim::world", ENGINE]),
    ("sim::hollow", &["sim::world", ENGINE]),
];

/// The engine and every room in it.
const ENGINE: &str = "engine";
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

/// Rooms that do no IO, and all the crates that they may use.
const PURE: &[(&str, &[&str])] = &[
    ("engine", &["std", "serde", "serde_json", "jiff", "natord", "thiserror"]),
    ("sim::world", &["std", "serde", "serde_json", "jiff", "natord", "thiserror", "fastrand", "toml"]),
    ("sim::attack", &["std", "serde", "serde_json", "jiff", "natord", "thiserror", "fastrand", "toml"]),
    ("sim::compare", &["std", "serde", "serde_json", "jiff", "natord", "thiserror", "fastrand", "toml"]),
];

/// Crates that belong to some rooms only.
const GUARDED: &[(&str, &[&str])] = &[
    ("kube", &["cluster"]),
    ("k8s_openapi", &["cluster"]),
    ("ratatui", &["tui", "main"]),
    ("crossterm", &["tui", "main"]),
    ("tui_input", &["tui"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("axum", &["sim::api"]),
    ("reqwest", &["sim::hollow"]),
    ("anyhow", &["main"]),
];

/// Modules of `std` that a pure room has no use for.
const IMPURE_STD: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread"];

#[test]
fn every_arrow_is_in_the_drawing() {
    let house = House::of_this_crate();
    let broken: Vec<String> = house.files().iter().flat_map(|file| house.violations(file)).collect();
    assert!(broken.is_empty(), "arrows that are not in the drawing:\n  {}", broken.join("\n  "));
}

/// A checker that finds no arrow at all would be content with any house.
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
        ("src/sim/hollow.rs", "use crate::cluster::connect::Cluster;", "sim::hollow → cluster"),
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
            "use crate::driver::{Rollout, Session}; use crate::engine::Role; use super::error::CliError;",
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

/// A file and the files in its folder count as one.
#[test]
fn no_files_of_a_room_import_each_other_in_a_circle() {
    let files = House::of_this_crate().files();
    for (room, _) in ARROWS.iter().filter(|(room, _)| *room != "main") {
        assert_eq!(circles(&files, room), Vec::<Vec<String>>::new(), "circles in {room}");
    }
}

#[test]
fn a_circle_is_found() {
    let file = |name: &str, source: &str| File::new(format!("src/engine/model/{name}.rs"), source);
    let files = [
        file("facts", "use super::record::Record;"),
        file("record", "mod size; use crate::engine::model::time::Timestamp;"),
        file("record/size", "use super::Record; use crate::engine::model::facts::LeaseFact;"),
        file("time", "#[cfg(test)] mod tests { use super::super::record::Record; }"),
    ];
    assert_eq!(circles(&files, "engine::model"), [["facts", "record"]]);
    assert!(circles(&files[..2], "engine::model").is_empty());
}

/// The files of a room that can be reached from themselves, in groups.
fn circles(files: &[File], room: &str) -> Vec<Vec<String>> {
    let depth = room.split("::").count();
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.room().as_deref() == Some(room)) {
        let module = file.module();
        let Some(from) = module.get(depth).filter(|_| !module.iter().any(|part| part == "tests")) else { continue };
        let paths = file.paths().into_iter().filter(|path| !path.in_tests);
        let inside = paths.filter(|path| room_of_path(&path.absolute).as_deref() == Some(room));
        let to = inside.filter_map(|path| path.absolute.get(depth + 1).cloned());
        arrows.entry(from.clone()).or_default().extend(to.filter(|to| to != from));
    }
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(file) = next.pop() {
            next.extend(arrows.get(file).into_iter().flatten().filter(|to| seen.insert((*to).clone())));
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<String>> = arrows.keys().map(|file| (file, reached(file))).collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for (file, reached) in &reach {
        if reached.contains(*file) && !circles.iter().flatten().any(|known| known == *file) {
            let back = |other: &&String| reach.get(other).is_some_and(|reached| reached.contains(*file));
            circles.push(reached.iter().filter(back).cloned().collect());
        }
    }
    circles
}

/// Public types of the attack's observer that are called like another public type.
const SHARED_NAMES: &[&str] = &["Down", "Pod"];

#[test]
fn a_public_type_has_a_name_of_its_own() {
    let mut declared: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in House::of_this_crate().files() {
        for name in file.public_types() {
            declared.entry(name).or_default().push(file.path.clone());
        }
    }
    declared.retain(|name, files| files.len() > 1 && !SHARED_NAMES.contains(&name.as_str()));
    assert_eq!(declared, BTreeMap::new());
}

#[test]
fn public_types_are_found_however_visible() {
    let source =
        "pub struct A; pub(crate) enum B {} pub(in crate::engine) trait C {} struct D; pub fn e() {} pub type F = A;";
    assert_eq!(File::new("src/cli.rs", source).public_types(), ["A", "B", "C", "F"]);
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
            return vec![format!("{}: is in no room; draw it in tests/house.rs", file.path.display())];
        };
        // These only declare rooms.
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

    /// What is wrong with using this crate in this room.
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
        let room = if room.starts_with("engine::") { ENGINE } else { room };
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

/// Whether a room may use another. A unit test inside the engine may use all of the engine: it runs the whole of it.
fn may_use(room: &str, other: &str, in_tests: bool) -> bool {
    let is_engine = |room: &str| room == ENGINE || room.starts_with("engine::");
    let drawn = allowed(ARROWS, room).iter().any(|drawn| match *drawn {
        ENGINE => is_engine(other),
        PARTS => ROOMS_OF_PARTS.contains(&other),
        drawn => drawn == other,
    });
    drawn || in_tests && is_engine(room) && is_engine(other)
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

/// A source file.
struct File {
    path: PathBuf,
    tokens: Vec<Token>,
}

/// A path as it was found, made absolute: `crate::…`, or a crate's name first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    absolute: Vec<String>,
    line: usize,
    /// It stands in an inline `mod tests`.
    in_tests: bool,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.absolute.join("::"))
    }
}

impl File {
    fn new(path: impl AsRef<Path>, source: &str) -> Self {
        Self { path: path.as_ref().to_owned(), tokens: tokens(source) }
    }

    /// The modules that the file stands for: `src/engine/plan.rs` is `engine::plan`.
    fn module(&self) -> Vec<String> {
        let path = self.path.strip_prefix("src").unwrap_or(&self.path).with_extension("");
        path.iter().map(|part| part.to_string_lossy().into_owned()).collect()
    }

    fn room(&self) -> Option<String> {
        let module = self.module();
        let parts: Vec<&str> = module.iter().map(String::as_str).collect();
        let room = match parts.as_slice() {
            [only @ ("lib" | "sim")] => return Some((*only).to_owned()),
            ["sim", part, ..] => format!("sim::{part}"),
            ["engine", part, ..] if is_room(&format!("engine::{part}")) => format!("engine::{part}"),
            [room, ..] => (*room).to_owned(),
            [] => return None,
        };
        is_room(&room).then_some(room)
    }

    /// The names of the types and traits that the file declares for others.
    fn public_types(&self) -> Vec<String> {
        let word = |at: usize| match self.tokens.get(at).map(|token| &token.kind) {
            Some(Kind::Word(word)) => Some(word.as_str()),
            _ => None,
        };
        let mark = |at: usize| self.tokens.get(at).map(|token| &token.kind);
        let mut names = Vec::new();
        for at in (0..self.tokens.len()).filter(|at| word(*at) == Some("pub")) {
            let mut next = at + 1;
            if mark(next) == Some(&Kind::Mark('(')) {
                next += (next..self.tokens.len()).position(|at| mark(at) == Some(&Kind::Mark(')'))).unwrap_or(0) + 1;
            }
            if matches!(word(next), Some("struct" | "enum" | "trait" | "type" | "union")) {
                names.extend(word(next + 1).map(str::to_owned));
            }
        }
        names
    }

    /// All paths of the file, made absolute.
    fn paths(&self) -> Vec<Found> {
        let mut reader =
            Reader { tokens: &self.tokens, at: 0, module: self.module(), opened: Vec::new(), found: Vec::new() };
        reader.read();
        reader.found
    }
}

/// Walks over tokens and gathers paths, knowing in which inline module it is.
struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    module: Vec<String>,
    /// One entry per open brace: whether it opened an inline module.
    opened: Vec<Opened>,
    found: Vec<Found>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opened {
    Module,
    Block,
}

impl Reader<'_> {
    fn kind(&self, ahead: usize) -> Option<&Kind> {
        self.tokens.get(self.at + ahead).map(|token| &token.kind)
    }

    fn is(&self, ahead: usize, mark: char) -> bool {
        self.kind(ahead) == Some(&Kind::Mark(mark))
    }

    fn read(&mut self) {
        while let Some(kind) = self.kind(0).cloned() {
            match kind {
                Kind::Word(word) if word == "mod" && self.is(2, '{') => {
                    if let Some(Kind::Word(name)) = self.kind(1).cloned() {
                        self.module.push(name);
                    }
                    self.opened.push(Opened::Module);
                    self.at += 3;
                }
                Kind::Word(word) if word == "use" || word == "crate" && self.after_extern() => {
                    self.at += 1;
                    self.tree(&[]);
                }
                Kind::Mark('{') => {
                    self.opened.push(Opened::Block);
                    self.at += 1;
                }
                Kind::Mark('}') => {
                    if self.opened.pop() == Some(Opened::Module) {
                        self.module.pop();
                    }
                    self.at += 1;
                }
                Kind::Word(_) if self.kind(1) == Some(&Kind::Path) && !self.continues() => {
                    let path = self.chain();
                    self.keep(&path);
                }
                _ => self.at += 1,
            }
        }
    }

    /// Whether this word belongs to `a.word` or `a::word`.
    fn continues(&self) -> bool {
        self.at > 0 && matches!(self.tokens[self.at - 1].kind, Kind::Mark('.'))
    }

    fn after_extern(&self) -> bool {
        self.at > 0 && self.tokens[self.at - 1].kind == Kind::Word("extern".to_owned())
    }

    /// Reads `a::b::c`, and stands behind it.
    fn chain(&mut self) -> Vec<String> {
        let mut path = Vec::new();
        while let Some(Kind::Word(word)) = self.kind(0).cloned() {
            path.push(word);
            self.at += 1;
            let more = self.kind(0) == Some(&Kind::Path) && matches!(self.kind(1), Some(Kind::Word(_)));
            if !more {
                break;
            }
            self.at += 1;
        }
        path
    }

    /// Reads one use tree that hangs on `stem`.
    fn tree(&mut self, stem: &[String]) {
        if self.kind(0) == Some(&Kind::Path) {
            self.at += 1;
        }
        let mut path = stem.to_vec();
        path.extend(self.chain());
        if self.kind(0) == Some(&Kind::Path) {
            self.at += 1;
        }
        if self.is(0, '{') {
            self.at += 1;
            while !self.is(0, '}') && self.at < self.tokens.len() {
                self.tree(&path);
                while !(self.is(0, ',') || self.is(0, '}')) && self.at < self.tokens.len() {
                    self.at += 1;
                }
                if self.is(0, ',') {
                    self.at += 1;
                }
            }
            self.at += 1;
        } else {
            if self.is(0, '*') {
                self.at += 1;
            }
            self.keep(&path);
        }
    }

    /// Keeps a path that leaves the module, made absolute.
    fn keep(&mut self, path: &[String]) {
        let line = self.tokens.get(self.at.saturating_sub(1)).map_or(0, |token| token.line);
        let Some(first) = path.first() else { return };
        let absolute = match first.as_str() {
            "crate" => path.to_vec(),
            "rolldeck" => std::iter::once("crate".to_owned()).chain(path[1..].iter().cloned()).collect(),
            "self" | "super" => {
                let supers = path.iter().take_while(|part| *part == "super" || *part == "self");
                let up = supers.clone().filter(|part| *part == "super").count();
                let rest = path.iter().skip(supers.count());
                let base = self.module.len().saturating_sub(up);
                std::iter::once("crate".to_owned())
                    .chain(self.module[..base].iter().cloned())
                    .chain(rest.cloned())
                    .collect()
            }
            _ => path.to_vec(),
        };
        // `use super::*` from the root's own children names no room, and is refused as such.
        let in_tests = self.module.iter().any(|part| part == "tests");
        self.found.push(Found { absolute, line, in_tests });
    }
}

#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    line: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    Word(String),
    /// `::`
    Path,
    Mark(char),
}

/// Cuts Rust source into words and marks; comments, strings, characters and lifetimes fall away.
fn tokens(source: &str) -> Vec<Token> {
    let text: Vec<char> = source.chars().collect();
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(&c) = text.get(at) {
        let next = text.get(at + 1).copied().unwrap_or('\0');
        let end = match c {
            '/' if next == '/' => until(&text, at, |rest| rest.starts_with(&['\n'])),
            '/' if next == '*' => end_of_comment(&text, at),
            '"' => end_of_string(&text, at),
            'r' | 'b' | 'c' if starts_string(&text, at) => end_of_prefixed(&text, at),
            '\'' => end_of_quote(&text, at),
            c if c.is_alphabetic() || c == '_' => {
                let end = until(&text, at, |rest| !(rest[0].is_alphanumeric() || rest[0] == '_'));
                tokens.push(Token { kind: Kind::Word(text[at..end].iter().collect()), line });
                end
            }
            c if c.is_ascii_digit() => until(&text, at, |rest| !(rest[0].is_alphanumeric() || rest[0] == '_')),
            ':' if next == ':' => {
                tokens.push(Token { kind: Kind::Path, line });
                at + 2
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push(Token { kind: Kind::Mark(c), line });
                }
                at + 1
            }
        };
        line += text[at..end].iter().filter(|c| **c == '\n').count();
        at = end;
    }
    tokens
}

fn until(text: &[char], from: usize, stop: impl Fn(&[char]) -> bool) -> usize {
    (from..text.len()).find(|at| stop(&text[*at..])).unwrap_or(text.len())
}

fn end_of_comment(text: &[char], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0_u32);
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn end_of_string(text: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Whether `r"`, `r#"`, `b"`, `br#"`, `c"`, `b'` begins here, and not a word.
fn starts_string(text: &[char], from: usize) -> bool {
    let after_prefix = until(text, from, |rest| !matches!(rest[0], 'r' | 'b' | 'c'));
    let after_hashes = until(text, after_prefix, |rest| rest[0] != '#');
    let quoted = text.get(after_hashes) == Some(&'"') || (text[from] == 'b' && text.get(from + 1) == Some(&'\''));
    after_prefix - from <= 2 && quoted
}

fn end_of_prefixed(text: &[char], from: usize) -> usize {
    if text.get(from + 1) == Some(&'\'') {
        return end_of_quote(text, from + 1);
    }
    let after_prefix = until(text, from, |rest| !matches!(rest[0], 'r' | 'b' | 'c'));
    if !text[from..after_prefix].contains(&'r') {
        return end_of_string(text, after_prefix);
    }
    let quote = until(text, after_prefix, |rest| rest[0] != '#');
    let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', quote - after_prefix)).collect();
    (until(text, quote + 1, |rest| rest.starts_with(&closing)) + closing.len()).min(text.len())
}

/// The end of a character, or of a lifetime.
fn end_of_quote(text: &[char], from: usize) -> usize {
    match (text.get(from + 1), text.get(from + 2)) {
        (Some('\\'), _) => (until(text, from + 3, |rest| rest[0] == '\'') + 1).min(text.len()),
        (Some(_), Some('\'')) => from + 3,
        _ => until(text, from + 1, |rest| !(rest[0].is_alphanumeric() || rest[0] == '_')),
    }
}

#[test]
fn tokens_leave_out_what_is_not_code() {
    let words = |source: &str| -> Vec<String> {
        let mut kinds = BTreeMap::new();
        for (nth, token) in tokens(source).into_iter().enumerate() {
            if let Kind::Word(word) = token.kind {
                kinds.insert(nth, word);
            }
        }
        kinds.into_values().collect()
    };
    assert_eq!(words("a /* b /* c */ d */ e // f\n g"), ["a", "e", "g"]);
    assert_eq!(words(r##"a "b \" c" r#"d " e"# b"f" b'g' '\'' 'h' i"##), ["a", "i"]);
    assert_eq!(words("fn f<'life>(r: &'life str)"), ["fn", "f", "r", "str"]);
    assert_eq!(words("break r; cb"), ["break", "r", "cb"]);
}
