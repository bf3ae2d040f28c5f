//! Cases as files: a case that found a defect is kept as a file, and replays even after the generator has changed.
//!
//! A file is JSON, laid out for people: one line for each node, image, fault and act.

use serde_json::Value;

use super::case::Case;

/// The depth down to which every member has a line of its own.
const OPEN: usize = 3;
/// The fields that come first in a file; the others follow by name.
const FIRST: [&str; 3] = ["found", "seed", "calmAfter"];

impl Case {
    /// The case as a file.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // This cannot fail: a case has only numbers, strings, lists and maps with strings as keys.
        write(&serde_json::to_value(self).unwrap_or_default(), 0, &mut text);
        text.push('\n');
        text
    }

    /// Reads a case.
    ///
    /// # Errors
    /// Says what is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let case: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match case.scenario.nodes.is_empty() {
            true => Err("a case needs a node".into()),
            false => Ok(case),
        }
    }
}

/// Writes `value` at this depth of the file. Lists of lists or objects, and maps near the top, have a line for each member.
fn write(value: &Value, depth: usize, text: &mut String) {
    let mut members: Vec<(Option<&str>, &Value)> = match value {
        Value::Object(map) if depth < OPEN - 1 => map.iter().map(|(key, value)| (Some(&**key), value)).collect(),
        Value::Array(list) if depth < OPEN && list.iter().any(|member| member.is_object() || member.is_array()) => {
            list.iter().map(|value| (None, value)).collect()
        }
        _ => Vec::new(),
    };
    if members.is_empty() {
        text.push_str(&value.to_string());
        return;
    }
    let place = |key: Option<&str>| FIRST.iter().position(|first| Some(*first) == key).unwrap_or(FIRST.len());
    members.sort_by_key(|(key, _)| place(*key));
    let brackets = if value.is_array() { ('[', ']') } else { ('{', '}') };
    let indent = |depth: usize| format!("\n{}", "  ".repeat(depth));
    text.push(brackets.0);
    for (nth, (key, value)) in members.into_iter().enumerate() {
        if nth > 0 {
            text.push(',');
        }
        text.push_str(&indent(depth + 1));
        if let Some(key) = key {
            text.push_str(&format!("{}: ", Value::from(key)));
        }
        // A member of a list is written as one line.
        if brackets.0 == '[' { text.push_str(&value.to_string()) } else { write(value, depth + 1, text) }
    }
    text.push_str(&indent(depth));
    text.push(brackets.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_comes_back_as_it_was() {
        for seed in 0..200 {
            let case = Case::random(seed);
            let text = case.to_text();
            assert!(text.starts_with("{\n  \"seed\""), "{text}");
            assert_eq!(Case::parse(&text).as_ref(), Ok(&case), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let text = Case::random(1).to_text().replace("\"controller\": \"", "\"controller\": \"other");
        let why = Case::parse(&text).unwrap_err();
        assert!(why.contains("line "), "{why}");
    }
}
