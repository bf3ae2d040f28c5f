//! Which contexts are protected: by name, with `*` for any characters.

/// Whether `context` is one of those that `patterns` name.
pub fn is_protected(patterns: &[String], context: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, context))
}

/// Whether `text` is `pattern`, in which each `*` stands for any number of characters.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = tail.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        // The first place leaves the most for what comes after.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, context, want) in [
            ("factory", "factory", true),
            ("factory", "factory-2", false),
            ("prod-*", "prod-eu", true),
            ("prod-*", "prod-", true),
            ("prod-*", "preprod-eu", false),
            ("*", "anything", true),
            ("*prod*", "eu-prod-1", true),
            ("arn:*:cluster/prod", "arn:aws:eks:eu-1:1:cluster/prod", true),
            ("a*b*c", "abbc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("", "", true),
            ("ü*", "über", true),
        ] {
            assert_eq!(fits(pattern, context), want, "{pattern} {context}");
        }
        assert!(!is_protected(&[], "prod"));
    }
}
