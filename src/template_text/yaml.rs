//! JSON as YAML.

use std::fmt::Write as _;

use serde_json::Value;

use crate::engine::model::printable::is_printable;

/// `value` as YAML, its fields by name, with line breaks. Texts of several lines stand as such, so that they can be compared line by
/// line. Characters that a terminal would not show are escaped.
pub(crate) fn yaml(value: &Value) -> String {
    let mut text = String::new();
    document(&mut text, value);
    text
}

fn document(text: &mut String, value: &Value) {
    match value {
        Value::Object(fields) if !fields.is_empty() => mapping(text, value, 0),
        Value::Array(elements) if !elements.is_empty() => sequence(text, elements, 0),
        _ => {
            scalar(text, value, 0);
            text.push('\n');
        }
    }
}

/// The fields of an object, each on a line of its own; the first where the text ends now.
fn mapping(text: &mut String, object: &Value, indent: usize) {
    let mut fields: Vec<(&String, &Value)> = object.as_object().into_iter().flatten().collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    for (nth, (name, value)) in fields.into_iter().enumerate() {
        if nth > 0 {
            blanks(text, indent);
        }
        string(text, name, None);
        text.push(':');
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                text.push('\n');
                blanks(text, indent + 2);
                mapping(text, value, indent + 2);
            }
            // As kubectl writes them: no deeper than the field.
            Value::Array(elements) if !elements.is_empty() => {
                text.push('\n');
                blanks(text, indent);
                sequence(text, elements, indent);
            }
            _ => {
                text.push(' ');
                scalar(text, value, indent + 2);
                text.push('\n');
            }
        }
    }
}

fn sequence(text: &mut String, elements: &[Value], indent: usize) {
    for (nth, element) in elements.iter().enumerate() {
        if nth > 0 {
            blanks(text, indent);
        }
        text.push_str("- ");
        match element {
            Value::Object(fields) if !fields.is_empty() => mapping(text, element, indent + 2),
            Value::Array(elements) if !elements.is_empty() => sequence(text, elements, indent + 2),
            _ => {
                scalar(text, element, indent + 2);
                text.push('\n');
            }
        }
    }
}

fn blanks(text: &mut String, indent: usize) {
    text.extend(std::iter::repeat_n(' ', indent));
}

/// A value without parts of its own.
fn scalar(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(value) => string(text, value, Some(indent)),
        Value::Array(_) => text.push_str("[]"),
        Value::Object(_) => text.push_str("{}"),
        // JSON's words for null, booleans and numbers are YAML's.
        other => text.push_str(&other.to_string()),
    }
}

/// A string: plain where it reads as a string, else with quotes; as a block of lines where `block` says how deep they stand.
fn string(text: &mut String, value: &str, block: Option<usize>) {
    if let Some(indent) = block.filter(|_| is_block(value)) {
        text.push_str(if value.ends_with('\n') { "|" } else { "|-" });
        for line in value.lines() {
            text.push('\n');
            if !line.is_empty() {
                blanks(text, indent);
                text.push_str(line);
            }
        }
        return;
    }
    // What can be read as something else, in YAML 1.1 too, is known there.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let plain = value.chars().all(is_printable).then(|| serde_saphyr::to_string_with_options(&value, options).ok());
    match plain.flatten() {
        Some(written) => text.push_str(written.trim_end_matches('\n')),
        None => quoted(text, value),
    }
}

/// Whether a text can stand as a block of lines: several, the first neither empty nor indented, with no blanks at their ends.
fn is_block(value: &str) -> bool {
    let lines = || value.split('\n');
    value.trim_end_matches('\n').contains('\n')
        && !value.ends_with("\n\n")
        && !value.starts_with([' ', '\n'])
        && lines().all(|line| line.chars().all(is_printable) && line.trim_end() == line)
}

fn quoted(text: &mut String, value: &str) {
    text.push('"');
    for c in value.chars() {
        let code = u32::from(c);
        // Writing to a string cannot fail.
        let _ = match c {
            '"' | '\\' => write!(text, "\\{c}"),
            '\n' => write!(text, "\\n"),
            '\t' => write!(text, "\\t"),
            '\r' => write!(text, "\\r"),
            c if is_printable(c) => write!(text, "{c}"),
            _ if code < 0x100 => write!(text, "\\x{code:02x}"),
            _ if code < 0x1_0000 => write!(text, "\\u{code:04x}"),
            _ => write!(text, "\\U{code:08x}"),
        };
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::engine::model::printable::tests::HOSTILE;

    fn read(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn it_reads_as_kubectl_writes_it() {
        let value = json!({
            "spec": {
                "containers": [{"name": "a", "args": ["-x", "--y=1"], "env": [], "resources": {}}, {"name": "b"}],
                "command": ["sh", "-c", "set -e\n\nexec agent\n"],
                "nested": [[1, 2], []],
            },
            "metadata": {"labels": {"on": "yes", "version": "1.10", "n": "012"}, "creationTimestamp": null},
        });
        assert_eq!(
            yaml(&value),
            "metadata:\n  creationTimestamp: null\n  labels:\n    \"n\": \"012\"\n    \"on\": \"yes\"\n    version: \"1.10\"\nspec:\n  \
             command:\n  - sh\n  - -c\n  - |\n    set -e\n\n    exec agent\n  containers:\n  - args:\n    - -x\n    - --y=1\n    \
             env: []\n    name: a\n    resources: {}\n  - name: b\n  nested:\n  - - 1\n    - 2\n  - []\n"
        );
        assert_eq!(read(&yaml(&value)), value);
    }

    #[test]
    fn what_steers_a_terminal_is_escaped_and_reads_the_same() {
        let value = json!({HOSTILE: HOSTILE, "b": format!("one\n{HOSTILE}\n"), "c": "a\u{200b}b", "d": "tab\there", "e": "🚀 é"});
        let text = yaml(&value);
        assert!(text.chars().all(|c| c == '\n' || is_printable(c)), "{text:?}");
        assert!(text.contains("🚀 é"), "{text}");
        assert_eq!(read(&text), value);
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~]{0,12}",
            "([a-c ]{0,3}\n){0,4}[a-c ]{0,3}",
            "\\PC{0,8}",
            any::<String>(),
            Just("null".to_owned()),
            Just("1e3".to_owned()),
            Just("0x1f".to_owned()),
            Just("2026-01-01".to_owned()),
            Just("~".to_owned()),
            Just("- a".to_owned()),
            Just("a: b".to_owned()),
            Just("a #b".to_owned()),
            Just("---".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn whatever_it_is_it_reads_the_same(
            value in prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), any::<i64>().prop_map(Value::from),
                any_text().prop_map(Value::from)]
                .prop_recursive(4, 24, 4, |inner| prop_oneof![
                    proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                    proptest::collection::btree_map(any_text(), inner, 0..4)
                        .prop_map(|fields| Value::Object(fields.into_iter().collect())),
                ])
        ) {
            let text = yaml(&value);
            prop_assert!(text.chars().all(|c| c == '\n' || is_printable(c)), "{:?}", text);
            let read: Value = serde_saphyr::from_str(&text).map_err(|error| TestCaseError::fail(format!("{error}: {text:?}")))?;
            prop_assert_eq!(read, value, "{:?}", text);
        }
    }
}
