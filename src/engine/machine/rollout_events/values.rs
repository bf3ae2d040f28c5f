//! The confidential values of a template (environment values, arguments, annotations), which are taken out of texts in which a server echoes them.

use std::collections::BTreeSet;

use serde_json::Value;

/// Shorter values are not taken out: they give nothing away.
const SHORTEST: usize = 5;
/// A part of a value that is at least this long may be a secret by itself.
const PART: usize = 8;

/// The values of one DaemonSet and its revisions.
#[derive(Debug, Default)]
pub(super) struct Values<'a> {
    values: BTreeSet<&'a str>,
    /// Names that are shown anyway, so that an equal value is not taken out.
    names: BTreeSet<&'a str>,
}

impl<'a> Values<'a> {
    /// Adds what a pod template holds.
    pub(super) fn add_template(&mut self, template: &'a Value) {
        self.add_annotations(&template["metadata"]["annotations"]);
        let spec = &template["spec"];
        let lists = ["initContainers", "containers", "ephemeralContainers"].map(|list| spec[list].as_array());
        for container in lists.into_iter().flatten().flatten() {
            self.names.extend(["name", "image"].iter().filter_map(|field| container[*field].as_str()));
            let env = container["env"].as_array().into_iter().flatten();
            env.filter_map(|env| env["value"].as_str()).for_each(|value| self.add(value));
            let lines = ["command", "args"].map(|list| container[list].as_array());
            let words = lines.into_iter().flatten().flatten();
            words.filter_map(Value::as_str).for_each(|value| self.add(value));
        }
    }

    fn add_annotations(&mut self, annotations: &'a Value) {
        let annotations = annotations.as_object().into_iter().flatten();
        annotations.filter_map(|(_, value)| value.as_str()).for_each(|value| self.add(value));
    }

    /// Adds a value, and the parts of it that may be quoted by themselves.
    pub(super) fn add(&mut self, value: &'a str) {
        let value = value.trim();
        if value.len() >= SHORTEST {
            self.values.insert(value);
        }
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '=' | ':' | ',' | ';' | '@' | '/');
        self.values.extend(value.split(ends).filter(|part| part.len() >= PART));
    }

    /// Adds a name that may be said.
    pub(super) fn add_name(&mut self, name: &'a str) {
        self.names.insert(name);
    }

    /// `text` with each of the values replaced by `***`.
    pub(super) fn taken_out_of(&self, text: &str) -> String {
        let mut found: Vec<&str> =
            self.values.difference(&self.names).copied().filter(|value| text.contains(value)).collect();
        // One value may be part of another, so the longest are replaced first.
        found.sort_by_key(|value| std::cmp::Reverse(value.len()));
        found.into_iter().fold(text.to_owned(), |text, value| text.replace(value, "***"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_template_holds_is_taken_out_and_its_names_stay() {
        let template = json!({
            "metadata": {"annotations": {"example.com/key": "annotated-1"}},
            "spec": {
                "initContainers": [{"name": "setup", "image": "a/setup:v1", "args": ["--password=from-args-2"]}],
                "containers": [{"name": "agent", "image": "a/agent:v1", "env": [
                    {"name": "DB", "value": "postgres://joe:in-a-url-3@db/x"},
                    {"name": "SELF", "value": "agent"},
                    {"name": "LEVEL", "value": "info"},
                    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                ]}],
            },
        });
        let mut values = Values::default();
        values.add_template(&template);
        for (text, kept) in [
            ("env: Invalid value: annotated-1", "env: Invalid value: ***"),
            ("saw from-args-2 and in-a-url-3", "saw *** and ***"),
            ("agent says info of a/agent:v1", "agent says info of a/agent:v1"),
        ] {
            assert_eq!(values.taken_out_of(text), kept);
        }
    }
}
