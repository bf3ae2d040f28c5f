//! A template as text: YAML as kubectl writes it, and the lines in which two templates differ. Both front ends show it.
//!
//! Every line is free of characters that steer a terminal: YAML escapes them, so whoever parses the text reads the same value.

mod lines;
mod yaml;

pub(crate) use self::lines::{DiffLine, DiffSign, Hunk, TextDiff};
pub(crate) use self::yaml::yaml;
use crate::engine::model::template::Template;

/// The template as YAML, with line breaks.
pub(crate) fn template_yaml(template: &Template) -> String {
    yaml(template.json())
}

/// The lines in which the YAML of two templates differs.
pub(crate) fn template_diff(from: &Template, to: &Template) -> TextDiff {
    TextDiff::of(&template_yaml(from), &template_yaml(to))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As large as an object of Kubernetes can be, with something new in every field, or in one.
    #[test]
    fn a_template_of_a_megabyte_is_compared_or_says_that_it_is_too_large() {
        let template = |new: &dyn Fn(usize) -> usize| {
            let env = (0..30_000).map(|nth| json!({"name": format!("NAME_{nth}"), "value": format!("{}", new(nth))}));
            Template::from_json(json!({"spec": {"containers": [{"name": "a", "env": env.collect::<Vec<_>>()}]}}))
        };
        let plain = template(&|nth| nth);
        let (one, all) = (template(&|nth| nth + usize::from(nth == 700)), template(&|nth| nth + 1));
        assert!(plain.json().to_string().len() > 1_000_000);
        assert!(matches!(template_diff(&plain, &one), TextDiff::Hunks(hunks) if hunks.len() == 1));
        // But for the first line and the last.
        assert_eq!(template_diff(&plain, &all), TextDiff::TooLarge { from: 59_999, to: 59_999 });
    }
}
