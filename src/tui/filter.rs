//! Filters: `text`, several words that must all be there, `!text` for the rest, `-l selector` for labels.

use crate::engine::model::labels::{Labels, Selector};

/// What rows are shown.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Filter {
    /// As it was typed.
    text: String,
    test: Test,
}

#[derive(Clone, PartialEq, Debug, Default)]
enum Test {
    #[default]
    All,
    /// Each word, in lower case, and whether it must be absent.
    Words(Vec<(String, FilterTerm)>),
    Labels(Selector),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FilterTerm {
    Present,
    Absent,
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// Says what is wrong with a selector.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let test = if trimmed == "-l" {
            Test::All
        } else if let Some(selector) = trimmed.strip_prefix("-l").filter(|rest| rest.starts_with([' ', '='])) {
            Test::Labels(selector.trim_start_matches(['=', ' ']).parse()?)
        } else {
            let words = trimmed.split_whitespace().filter_map(|word| match word.strip_prefix('!') {
                Some("") => None,
                Some(word) => Some((word.to_lowercase(), FilterTerm::Absent)),
                None => Some((word.to_lowercase(), FilterTerm::Present)),
            });
            let words: Vec<_> = words.collect();
            if words.is_empty() { Test::All } else { Test::Words(words) }
        };
        Ok(Self { text: trimmed.to_owned(), test })
    }

    /// As it was typed; empty when it lets everything through.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether everything passes.
    pub(crate) fn is_all(&self) -> bool {
        self.test == Test::All
    }

    /// Whether a row with these labels passes; `words` is asked for the row's words only when they matter.
    pub(crate) fn passes(&self, labels: Option<&Labels>, words: impl FnOnce() -> String) -> bool {
        match &self.test {
            Test::All => true,
            Test::Labels(selector) => labels.is_some_and(|labels| selector.matches(labels)),
            Test::Words(wanted) => {
                let row = words().to_lowercase();
                wanted.iter().all(|(word, want)| row.contains(word.as_str()) == (*want == FilterTerm::Present))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_exclusions_and_labels() {
        let labels: Labels = [("zone", "wien")].into_iter().collect();
        for (text, want) in [
            ("", true),
            ("ipc", true),
            ("IPC failed", true),
            ("ipc pulling", false),
            ("!failed", false),
            ("!pulling ipc", true),
            ("!", true),
            ("-l", true),
            ("-l zone=wien", true),
            ("-l zone!=wien", false),
            ("-l zone in (brno, wien)", true),
        ] {
            let filter = Filter::parse(text).unwrap();
            assert_eq!(filter.passes(Some(&labels), || "ipc-017 Failed image not found".into()), want, "{text}");
        }
        assert!(Filter::parse("-l zone in (").unwrap_err().contains("zone in ("));
    }
}
