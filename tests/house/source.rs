//! Source files as the tests of the house read them: the types in them, and all paths that leave a module.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::is_room;

/// A source file.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    tokens: Vec<Token>,
}

/// A path in the source, made absolute: it begins with `crate::…`, or with a crate's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) absolute: Vec<String>,
    pub(crate) line: usize,
    /// Whether the path is in an inline `mod tests`.
    pub(crate) in_tests: bool,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.absolute.join("::"))
    }
}

impl File {
    pub(crate) fn new(path: impl AsRef<Path>, source: &str) -> Self {
        Self { path: path.as_ref().to_owned(), tokens: tokens(source) }
    }

    /// The module of the file: `src/engine/plan.rs` is `engine::plan`.
    pub(crate) fn module(&self) -> Vec<String> {
        let path = self.path.strip_prefix("src").unwrap_or(&self.path).with_extension("");
        path.iter().map(|part| part.to_string_lossy().into_owned()).collect()
    }

    pub(crate) fn room(&self) -> Option<String> {
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

    /// The names of the types and traits that the file declares. Only public aliases are included: others look like associated types.
    pub(crate) fn types(&self) -> Vec<String> {
        let word = |at: usize| match self.tokens.get(at).map(|token| &token.kind) {
            Some(Kind::Word(word)) => Some(word.as_str()),
            _ => None,
        };
        let is_public = |at: usize| {
            let before = at.checked_sub(1).map(|before| &self.tokens[before].kind);
            matches!(before, Some(Kind::Mark(')'))) || matches!(before, Some(Kind::Word(word)) if word == "pub")
        };
        let declares = |at: usize| match word(at) {
            Some("struct" | "enum" | "trait" | "union") => true,
            Some("type") => is_public(at),
            _ => false,
        };
        (0..self.tokens.len()).filter(|at| declares(*at)).filter_map(|at| word(at + 1)).map(str::to_owned).collect()
    }

    /// The words and marks of the file, each with its line, without its unit tests, which stand last.
    pub(crate) fn code(&self) -> Vec<(String, usize)> {
        let text = |token: &Token| match &token.kind {
            Kind::Word(word) => word.clone(),
            Kind::Path => "::".to_owned(),
            Kind::Mark(mark) => mark.to_string(),
        };
        let code: Vec<(String, usize)> = self.tokens.iter().map(|token| (text(token), token.line)).collect();
        let tests = code.windows(3).position(|three| three[0].0 == "mod" && three[1].0 == "tests" && three[2].0 == "{");
        code[..tests.unwrap_or(code.len())].to_vec()
    }

    /// All paths of the file, made absolute.
    pub(crate) fn paths(&self) -> Vec<Found> {
        let mut reader =
            Reader { tokens: &self.tokens, at: 0, module: self.module(), opened: Vec::new(), found: Vec::new() };
        reader.read();
        reader.found
    }
}

/// Walks over tokens and gathers paths; it keeps track of the inline module in which it is.
struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    module: Vec<String>,
    /// One entry per open brace, which tells whether the brace opened an inline module.
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

    /// Reads a path such as `a::b::c` and moves behind it.
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

    /// Reads one use tree whose paths begin with `stem`.
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
        // `use super::*` in a child of the root names no room, and is refused for that.
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

/// Cuts Rust source into words and marks; comments, strings, characters and lifetimes are left out.
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

/// Whether a literal begins here with `r"`, `r#"`, `b"`, `br#"`, `c"` or `b'`.
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
