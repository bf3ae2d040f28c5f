//! `-o`: how an answer is printed.

use std::fmt;
use std::str::FromStr;

use super::super::jsonpath::JsonPathTemplate;
use crate::config::nearest;

/// What `-o` asks for.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct OutputAs {
    pub(crate) format: OutputFormat,
    pub(crate) shape: OutputShape,
}

/// The output format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum OutputFormat {
    /// Sentences and tables
    #[default]
    Text,
    /// One JSON document, indented; from `log` and from commands that keep printing one object a line
    Json,
    /// The same as YAML, or one document after the other
    Yaml,
}

/// How much of an answer is printed.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) enum OutputShape {
    /// All of it.
    #[default]
    Whole,
    /// Tables with more columns.
    Wide,
    /// Only the DaemonSets' names: `daemonset.apps/agent`.
    Names,
    /// What a template says of the JSON.
    Template(JsonPathTemplate),
}

/// As it is written behind `-o`.
impl fmt::Display for OutputShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "text",
            Self::Wide => "wide",
            Self::Names => "name",
            Self::Template(_) => "jsonpath",
        })
    }
}

const WORDS: [&str; 5] = ["text", "wide", "json", "yaml", "name"];

impl FromStr for OutputAs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let of = |format, shape| Ok(Self { format, shape });
        match text.split_once('=').map_or((text, None), |(word, rest)| (word, Some(rest))) {
            ("text", None) => of(OutputFormat::Text, OutputShape::Whole),
            ("wide", None) => of(OutputFormat::Text, OutputShape::Wide),
            ("json", None) => of(OutputFormat::Json, OutputShape::Whole),
            ("yaml", None) => of(OutputFormat::Yaml, OutputShape::Whole),
            ("name", None) => of(OutputFormat::Json, OutputShape::Names),
            ("jsonpath", template) => {
                of(OutputFormat::Json, OutputShape::Template(template.unwrap_or_default().parse()?))
            }
            (word @ ("go-template" | "custom-columns" | "jsonpath-file" | "jsonpath-as-json"), _) => Err(format!(
                "rolldeck has no `{word}`; write `jsonpath={{.items[*].name}}`, or `json` for another program"
            )),
            (word, _) => Err(match nearest(word, WORDS) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("there are {} and jsonpath=TEMPLATE", WORDS.join(", ")),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_of_kubectl() {
        for (text, format) in [
            ("text", OutputFormat::Text),
            ("wide", OutputFormat::Text),
            ("yaml", OutputFormat::Yaml),
            ("name", OutputFormat::Json),
        ] {
            let read: OutputAs = text.parse().unwrap();
            assert_eq!(read.format, format);
            assert!(read.shape == OutputShape::Whole || read.shape.to_string() == text);
        }
        assert!(matches!("jsonpath={.name}".parse(), Ok(OutputAs { shape: OutputShape::Template(_), .. })));
        for (text, why) in [
            ("yml", "did you mean `yaml`?"),
            ("josn", "did you mean `json`?"),
            ("table", "there are text, wide, json, yaml, name and jsonpath=TEMPLATE"),
            ("jsonpath", "a path is missing"),
            ("custom-columns=A:.a", "rolldeck has no `custom-columns`"),
        ] {
            assert!(text.parse::<OutputAs>().unwrap_err().contains(why), "{text}");
        }
    }
}
