//! Every file that the documents and the comments of the code name exists, every link of a document leads somewhere, and every name of the code in
//! `ARCHITECTURE.md` is in the code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::root;

/// The documents: those at these places, and all of `docs`.
const DOCUMENTS: &[&str] = &["ARCHITECTURE.md", "README.md", "tests/attack/README.md"];
/// The folders of the files that the documents name.
const FOLDERS: &[&str] = &["src", "tests", "benches", "docs", "deploy", ".ci", ".cargo"];

#[test]
fn files_that_documents_name_are_there() {
    let files = files();
    let missing = |name: &str| {
        let name = Path::new(name.trim_end_matches('/'));
        !files.iter().any(|file| file.ends_with(name) || file.parent().is_some_and(|folder| folder.ends_with(name)))
    };
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let named: Vec<&str> =
            in_backticks(&text).filter(|name| is_path(name) && !NOT_OF_HERE.contains(name)).collect();
        let document = document.display();
        assert!(
            named.len() > 100 || !document.to_string().ends_with("ARCHITECTURE.md"),
            "it names {} files",
            named.len()
        );
        let gone: Vec<&str> = named.into_iter().filter(|name| missing(name)).collect();
        assert!(gone.is_empty(), "{document} names files that are not there: {gone:?}");
    }
}

#[test]
fn links_of_documents_lead_somewhere() {
    let mut seen = 0;
    let mut dead = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for target in links(&text).filter(|target| !target.starts_with("http")) {
            seen += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            let leads = file.exists()
                && (heading.is_empty()
                    || headings(&std::fs::read_to_string(&file).unwrap()).any(|slug| slug == heading));
            if !leads {
                dead.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(seen > 50, "{seen} links only");
    assert!(dead.is_empty(), "links that lead nowhere: {dead:#?}");
}

/// Paths in comments that are no files of this repository: of a user's machine, or an example.
const NOT_OF_HERE: [&str; 4] = [
    "/home/ada/.config/rolldeck/config.toml",
    "~/.config/rolldeck/config.toml",
    "scenarios/x.toml",
    "src/engine/plan.rs",
];

/// A path is what has a folder: a name without one may be of any file.
#[test]
fn files_that_comments_name_are_there() {
    let files = files();
    let is_source = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "rs");
    let mut gone = Vec::new();
    let mut seen = 0;
    for file in files.iter().filter(is_source) {
        let text = std::fs::read_to_string(file).unwrap();
        let comments = text.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
        let named = comments.flat_map(|comment| comment.split(|c: char| !is_part_of_path(c)));
        let paths = named.map(|word| word.trim_start_matches('/').trim_end_matches('.')).filter(|word| {
            let ending = Path::new(word).extension().and_then(|extension| extension.to_str());
            word.contains('/') && matches!(ending, Some("rs" | "toml"))
        });
        for path in paths.filter(|path| !NOT_OF_HERE.iter().any(|other| other.ends_with(path))) {
            seen += 1;
            if !files.iter().any(|file| file.ends_with(path)) {
                gone.push(format!("{}: {path}", file.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(seen > 50, "comments name {seen} paths only");
    assert!(gone.is_empty(), "comments name files that are not there: {gone:#?}");
}

#[test]
fn names_of_the_code_in_the_architecture_are_in_the_code() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let is_code = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "rs" || extension == "toml");
    let code: Vec<String> =
        files().iter().filter(|file| is_code(file)).map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let words: BTreeSet<&str> = code.iter().flat_map(|text| text.split(|c: char| !is_part_of_word(c))).collect();
    let named: BTreeSet<&str> = in_backticks(&text).flat_map(names_of_code).collect();
    assert!(named.len() > 100, "only {} names: {named:?}", named.len());
    let gone: Vec<&&str> = named.iter().filter(|name| !words.contains(**name)).collect();
    assert!(gone.is_empty(), "ARCHITECTURE.md names what the code does not have: {gone:?}");
}

fn documents() -> Vec<PathBuf> {
    let of_docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let all: Vec<PathBuf> = DOCUMENTS.iter().map(|name| root().join(name)).chain(of_docs).collect();
    assert!(all.len() > DOCUMENTS.len() + 5, "{all:?}");
    all
}

/// The targets of the links of a document; blocks of code are left out.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|text| text.split("](").skip(1)).filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// The headings of a document, as links name them: in lower case, without punctuation, with `-` for each blank.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let lines = text.split("```").step_by(2).flat_map(str::lines);
    lines.filter(|line| line.starts_with('#')).map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// All files of these folders, and the files at the root.
fn files() -> Vec<PathBuf> {
    fn below(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { below(&path, files) } else { files.push(path) }
        }
    }
    let mut files: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "Cargo.toml"].map(|name| root().join(name)).into();
    FOLDERS.iter().for_each(|folder| below(&root().join(folder), &mut files));
    files
}

/// The texts in single backticks; blocks of code are left out.
fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    let lines = prose.flat_map(str::lines);
    lines.flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Whether the name is a path: `model/cause.rs`, `tests/house/`; but not `src/`, where everything is, and no pattern.
fn is_path(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let ending = Path::new(name).extension().and_then(|extension| extension.to_str());
    let ends = matches!(ending, Some("rs" | "toml" | "md" | "json" | "yaml")) || name.ends_with('/') && name != "src/";
    ends && name.chars().all(letters) && !name.starts_with('.')
}

/// The words of a name of the code, such as `PodFact`, `ARROWS`, `Engine::decide` or `wake_at`; none of other text.
fn names_of_code(text: &str) -> impl Iterator<Item = &str> {
    let path = text.trim_end_matches("()");
    let is_code = path.contains(|c: char| c == '_' || c.is_ascii_uppercase()) || path.contains("::");
    let is_name = path.split("::").all(|part| !part.is_empty() && part.chars().all(is_part_of_word));
    path.split("::").filter(move |_| is_code && is_name)
}

fn is_part_of_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-/~".contains(c)
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
