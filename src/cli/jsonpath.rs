//! `-o jsonpath=TEMPLATE`: parts of an answer's JSON, in kubectl's dialect.
//!
//! ```text
//! {.items[*].name}
//! {range .items[*]}{.namespace}{"\t"}{.name}{"\n"}{end}
//! {.nodes[?(@.state=="failed")].name}
//! ```
//!
//! Text outside of braces is printed as it is. Braces contain a path, a quoted text, `range PATH` or `end`. A path begins
//! with `.` or `[`, or with `$` (the whole answer) or `@` (the present element). A template without braces is one path. Keys
//! follow RFC 9535 (by the crate `jsonpath-rust`): `.key`, `['key']`, `[0]`, `[-1]`, `[0:2]`, `[*]`, `..key`,
//! `[?(@.key=="text")]`; a `.` within a key is written `\.`. A path without a match prints nothing.

use std::str::FromStr;

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use serde_json::Value;

use crate::engine::model::printable::printable;

/// A parsed template.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct JsonPathTemplate(Vec<TemplatePart>);

#[derive(Clone, PartialEq, Debug)]
enum TemplatePart {
    Text(String),
    Path(TemplatePath),
    Range(TemplatePath, Vec<TemplatePart>),
}

#[derive(Clone, PartialEq, Debug)]
struct TemplatePath {
    /// Whether the path begins at the whole answer, also within `range`.
    from_root: bool,
    /// The key with which the path begins, if it begins with one.
    first_key: Option<String>,
    query: JpQuery,
}

impl FromStr for JsonPathTemplate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("a path is missing, as in `jsonpath={.items[*].name}`".to_owned());
        }
        if !text.contains(['{', '}']) {
            let dot = if text.starts_with(['.', '[', '$', '@']) { "" } else { "." };
            return Ok(Self(vec![TemplatePart::Path(path(&format!("{dot}{text}"))?)]));
        }
        let mut rest = text;
        let mut open: Vec<(TemplatePath, Vec<TemplatePart>)> = Vec::new();
        let mut parts = Vec::new();
        while !rest.is_empty() {
            let Some((literal, after)) = rest.split_once('{') else {
                parts.push(TemplatePart::Text(literal_of(rest)?));
                break;
            };
            if !literal.is_empty() {
                parts.push(TemplatePart::Text(literal_of(literal)?));
            }
            let end = closing(after).ok_or_else(|| format!("`{{{after}` has no closing brace"))?;
            let (inside, after) = (after[..end].trim(), &after[end + 1..]);
            rest = after;
            match inside {
                "end" => {
                    let (over, before) = open.pop().ok_or("`{end}` without `{range …}` before it")?;
                    let body = std::mem::replace(&mut parts, before);
                    parts.push(TemplatePart::Range(over, body));
                }
                quoted if quoted.starts_with(['"', '\'']) => parts.push(TemplatePart::Text(unquoted(quoted)?)),
                inside => match inside.strip_prefix("range").filter(|over| over.starts_with([' ', '.', '[', '$', '@']))
                {
                    Some(over) => open.push((path(over.trim())?, std::mem::take(&mut parts))),
                    None => parts.push(TemplatePart::Path(path(inside)?)),
                },
            }
        }
        match open.len() {
            0 => Ok(Self(parts)),
            _ => Err("`{range …}` without `{end}`".to_owned()),
        }
    }
}

impl JsonPathTemplate {
    /// The output for an answer. Texts of the answer are reduced to characters that may be shown on a terminal; line feeds
    /// and tabs come only from the template.
    pub(crate) fn render(&self, answer: &Value) -> String {
        let mut text = String::new();
        render(&self.0, (answer, answer), &mut text);
        text
    }

    /// Whether a path of the template leads to this key of the answer.
    pub(crate) fn asks_for(&self, key: &str) -> bool {
        asks_for(&self.0, key, true)
    }
}

/// `at_root`: outside of `range`, where each path begins at the whole answer.
fn asks_for(parts: &[TemplatePart], key: &str, at_root: bool) -> bool {
    let leads = |path: &TemplatePath| (at_root || path.from_root) && path.first_key.as_deref() == Some(key);
    parts.iter().any(|part| match part {
        TemplatePart::Text(_) => false,
        TemplatePart::Path(path) => leads(path),
        TemplatePart::Range(path, body) => leads(path) || asks_for(body, key, false),
    })
}

fn render(parts: &[TemplatePart], (root, here): (&Value, &Value), text: &mut String) {
    for part in parts {
        match part {
            TemplatePart::Text(literal) => text.push_str(literal),
            TemplatePart::Path(path) => {
                let found: Vec<String> = path.find(root, here).into_iter().map(shown).collect();
                text.push_str(&found.join(" "));
            }
            TemplatePart::Range(path, body) => {
                for element in path.find(root, here) {
                    render(body, (root, element), text);
                }
            }
        }
    }
}

impl TemplatePath {
    fn find<'v>(&self, root: &'v Value, here: &'v Value) -> Vec<&'v Value> {
        // The query was parsed before; a query without a match is no error.
        let found = js_path_process(&self.query, if self.from_root { root } else { here });
        found.unwrap_or_default().into_iter().map(|found| found.val).collect()
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => printable(text).into_owned(),
        other => printable(&other.to_string()).into_owned(),
    }
}

/// The position of the closing brace, which is not within quotes.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '}') => return Some(at),
            _ => {}
        }
    }
    None
}

fn literal_of(text: &str) -> Result<String, String> {
    match text.contains('}') {
        true => Err(format!("`{text}` has a closing brace without an opening one")),
        false => Ok(own(text)),
    }
}

/// Text of the template itself, in which line feeds and tabs stay.
fn own(text: &str) -> String {
    text.split_inclusive(['\n', '\t'])
        .map(|piece| match piece.strip_suffix(['\n', '\t']) {
            Some(line) => format!("{}{}", printable(line), &piece[line.len()..]),
            None => printable(piece).into_owned(),
        })
        .collect()
}

/// A text in quotes with its escapes resolved.
fn unquoted(quoted: &str) -> Result<String, String> {
    let quote = quoted.chars().next().unwrap_or('"');
    let inner = quoted.get(1..).and_then(|rest| rest.strip_suffix(quote));
    let inner = inner.ok_or_else(|| format!("`{quoted}` is no text in quotes"))?;
    let mut text = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => text.push('\n'),
            ('\\', Some('t')) => text.push('\t'),
            ('\\', Some(c)) | (c, _) => text.push(c),
        }
    }
    Ok(own(&text))
}

/// Converts a path of kubectl to one of RFC 9535.
fn path(text: &str) -> Result<TemplatePath, String> {
    let wrong = |why: &str| format!("`{text}` is no path{why}; write it as in `{{.items[*].name}}`");
    let from_root = text.starts_with('$');
    let mut rest = text.strip_prefix(['$', '@']).unwrap_or(text);
    if !rest.is_empty() && !rest.starts_with(['.', '[']) {
        return Err(wrong(": it begins with `.`, `[`, `$` or `@`"));
    }
    let mut query = "$".to_owned();
    let mut first_key = None;
    while let Some(first) = rest.chars().next() {
        match first {
            '[' => {
                let end = bracket_end(rest).ok_or_else(|| wrong(": a bracket is not closed"))?;
                query.push_str(&rest[..=end]);
                rest = &rest[end + 1..];
            }
            '.' => {
                let deep = rest.starts_with("..");
                rest = rest.trim_start_matches('.');
                query.push_str(if deep { ".." } else { "" });
                let (key, after) = key_of(rest);
                rest = after;
                if query == "$" && !key.is_empty() {
                    first_key = Some(key.clone());
                }
                match key.as_str() {
                    // `.` alone is the whole answer, and `.[0]` the same as `[0]`.
                    "" if !deep || rest.starts_with('[') => {}
                    "" => return Err(wrong("")),
                    "*" => query.push_str("[*]"),
                    key => query.push_str(&format!("[{}]", Value::from(key))),
                }
            }
            _ => return Err(wrong("")),
        }
    }
    let query = parse_json_path(&query).map_err(|_grammar| wrong(""))?;
    Ok(TemplatePath { from_root, first_key, query })
}

/// The key up to the next `.` or `[`, and the rest of the text. A backslash makes the following character a part of the key.
fn key_of(text: &str) -> (String, &str) {
    let mut key = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '.' | '[' => return (key, &text[at..]),
            '\\' => key.extend(chars.next().map(|(_, c)| c)),
            c => key.push(c),
        }
    }
    (key, "")
}

/// The position of the bracket that closes the first one of `text`, which is not within quotes.
fn bracket_end(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0_u32, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 1 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer() -> Value {
        json!({
            "kind": "Fleet",
            "items": [
                {"name": "agent", "namespace": "edge", "desired": 120, "state": "running", "labels": {"a.b/c": "yes"}},
                {"name": "shipper", "namespace": "logs", "desired": 3, "state": "idle", "prewarm": null},
            ],
        })
    }

    #[test]
    fn templates_are_those_of_kubectl() {
        for (template, printed) in [
            ("{.kind}", "Fleet"),
            (".kind", "Fleet"),
            ("kind", "Fleet"),
            ("{$.kind}", "Fleet"),
            ("{['kind']}", "Fleet"),
            ("{.items[*].name}", "agent shipper"),
            ("{.items[0].desired}", "120"),
            ("{.items[-1:].name}", "shipper"),
            ("{.items[0:1].name}", "agent"),
            ("{..namespace}", "edge logs"),
            ("{.items[?(@.state==\"idle\")].name}", "shipper"),
            ("{.items[?(@.desired>100)].name} of {.kind}", "agent of Fleet"),
            (r"{.items[0].labels.a\.b/c}", "yes"),
            ("{.items[1].prewarm}", "null"),
            ("{.items[0].labels}", "{\"a.b/c\":\"yes\"}"),
            ("{.nothing.at.all}", ""),
            (
                "{range .items[*]}{.namespace}/{.name}{\"\\t\"}{$.kind}{'\\n'}{end}",
                "edge/agent\tFleet\nlogs/shipper\tFleet\n",
            ),
            ("{range.items[*]}{@.name}{\"}\"}{end}", "agent}shipper}"),
            ("a{\"b\"}c", "abc"),
        ] {
            let read: JsonPathTemplate = template.parse().unwrap_or_else(|why| panic!("{template}: {why}"));
            assert_eq!(read.render(&answer()), printed, "{template}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused_in_words() {
        for (template, why) in [
            ("", "a path is missing"),
            ("{.items", "no closing brace"),
            ("items}", "closing brace without"),
            ("{items}", "it begins with `.`"),
            ("{.items[0}", "a bracket is not closed"),
            ("{.items[zero]}", "is no path"),
            ("{range .items[*]}{.name}", "without `{end}`"),
            ("{.name}{end}", "without `{range"),
            ("{\"a}", "no closing brace"),
        ] {
            let said = template.parse::<JsonPathTemplate>().unwrap_err();
            assert!(said.contains(why), "{template}: {said}");
        }
    }

    #[test]
    fn what_stands_in_an_answer_cannot_steer_the_terminal() {
        let hostile = json!({"why": "a\u{1b}[2J\nb\tc"});
        let read: JsonPathTemplate = "{.why}{\"\\n\"}".parse().unwrap();
        assert_eq!(read.render(&hostile).matches(['\n', '\t', '\u{1b}']).count(), 1);
    }
}
