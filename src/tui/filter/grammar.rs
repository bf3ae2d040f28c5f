//! Reads what is typed as a filter.
//!
//! ```text
//!  filter   = "-l" selector | term { blank term }
//!  term     = { "!" } ( regex | quoted | name operator value | word )
//!  regex    = "/" … "/" | "~" value
//!  operator = "=" | "==" | "!=" | "~" | ">" | ">=" | "<" | "<="
//!  value    = quoted | "/" … "/" | word
//!  quoted   = '"' … '"'
//! ```
//!
//! An unfinished term is applied as far as it goes, so that the list follows while the filter is typed: a quote or a `/`
//! without its end extends to the end of the text, and `state=` tests nothing yet.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use super::term::{FieldTest, FilterOperand, FilterTerm, NumberOrder, labels_called};
use super::{FieldKind, FilterSchema, FilterTest};
use crate::engine::model::labels::{Operator, Requirement, Selector};
use crate::engine::report::snapshot::NodeView;
use crate::tui::words::meant;

/// The most memory that a regular expression may take once it is read, in bytes.
const REGEX_BYTES: usize = 1 << 20;

/// Reads a filter that has no blanks around it.
pub(super) fn parse(text: &str, schema: &FilterSchema<'_>) -> Result<FilterTest, String> {
    if let Some(rest) = text.strip_prefix("-l").filter(|rest| rest.is_empty() || rest.starts_with([' ', '='])) {
        let selector = rest.trim_start_matches(['=', ' ']);
        return match (schema.labelled, selector) {
            (None, _) => Err("there are no labels here: -l works on the list of nodes".to_owned()),
            (Some(_), "") => Ok(FilterTest::All),
            (Some(nodes), selector) => known_labels(selector.parse()?, nodes).map(FilterTest::Labels),
        };
    }
    let mut cursor = FilterCursor { rest: text };
    let mut terms = Vec::new();
    while cursor.skip_blanks() {
        terms.extend(cursor.term(schema)?);
    }
    Ok(if terms.is_empty() { FilterTest::All } else { FilterTest::Terms(terms) })
}

/// The selector, if nodes have the labels that it asks for. While no node is known, any label may exist.
fn known_labels(selector: Selector, nodes: &[Arc<NodeView>]) -> Result<Selector, String> {
    let asks = |requirement: &&Requirement| matches!(requirement.operator, Operator::In(_) | Operator::Exists);
    let is_known = |key: &str| nodes.is_empty() || nodes.iter().any(|node| node.labels.get(key).is_some());
    match selector.requirements.iter().filter(asks).find(|requirement| !is_known(&requirement.key)) {
        None => Ok(selector),
        Some(Requirement { key, .. }) => {
            let meant = selector.meant(&nodes.iter().map(|node| &node.labels));
            Err(meant.unwrap_or_else(|| format!("no node has a label `{key}`")))
        }
    }
}

/// An operator between a name and a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FilterOperator {
    Contains,
    Is,
    Not,
    Matches,
    Order(NumberOrder),
}

impl FilterOperator {
    /// Longer ones first.
    const ALL: [(&'static str, Self); 8] = [
        ("==", Self::Is),
        ("!=", Self::Not),
        (">=", Self::Order(NumberOrder::AtLeast)),
        ("<=", Self::Order(NumberOrder::AtMost)),
        ("=", Self::Contains),
        ("~", Self::Matches),
        (">", Self::Order(NumberOrder::More)),
        ("<", Self::Order(NumberOrder::Less)),
    ];
}

/// `name operator rest`, if the word begins like that.
pub(super) fn name_and_operator(text: &str) -> Option<(&str, FilterOperator, &str)> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let end = text.find(|c| !inner(c))?;
    let (name, rest) = text.split_at(end);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()).then_some(())?;
    let (sign, operator) = FilterOperator::ALL.into_iter().find(|(sign, _)| rest.starts_with(sign))?;
    Some((name, operator, &rest[sign.len()..]))
}

/// The unread part of a filter's text.
struct FilterCursor<'a> {
    rest: &'a str,
}

impl<'a> FilterCursor<'a> {
    /// Skips blanks, and returns whether anything follows them.
    fn skip_blanks(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        !self.rest.is_empty()
    }

    /// The next term; `None` if the term tests nothing yet.
    fn term(&mut self, schema: &FilterSchema<'_>) -> Result<Option<FilterTerm>, String> {
        let mut negated = false;
        while let Some(rest) = self.rest.strip_prefix('!') {
            (self.rest, negated) = (rest, !negated);
        }
        let anywhere =
            |regex: Option<Regex>| regex.map(|regex| FilterTerm { negated, asks: FilterOperand::Anywhere(regex) });
        if self.rest.starts_with('/') {
            return Ok(anywhere(regular(&self.slashed())?));
        }
        if let Some(rest) = self.rest.strip_prefix('~') {
            self.rest = rest;
            return Ok(anywhere(regular(&self.value(false).text)?));
        }
        let has_names = !schema.fields.is_empty() || schema.labelled.is_some();
        match name_and_operator(self.rest).filter(|_| has_names) {
            Some((name, operator, rest)) => {
                let written = &self.rest[..self.rest.len() - rest.len()];
                self.rest = rest;
                let value = self.value(matches!(operator, FilterOperator::Contains | FilterOperator::Not));
                let asks = asked(name, operator, &value, schema).map_err(|why| match why {
                    Misread::Name(why) => why,
                    Misread::Value(why) => format!("`{written}{}`: {why}", value.text),
                })?;
                let negated = negated != (operator == FilterOperator::Not);
                Ok(asks.map(|asks| FilterTerm { negated, asks }))
            }
            None => {
                let value = self.value(false);
                // In a text, such as a log, a star is a star.
                let stars = has_names && value.has_stars();
                Ok(anywhere(if stars { regular(&with_stars(&value.text))? } else { literal(&value.text)? }))
            }
        }
    }

    /// A value: in quotes, a regular expression between slashes if `may_be_regex`, or up to the next blank.
    fn value(&mut self, may_be_regex: bool) -> FilterValue {
        if let Some(rest) = self.rest.strip_prefix('"') {
            let end = rest.find('"').unwrap_or(rest.len());
            self.rest = rest.get(end + 1..).unwrap_or_default();
            return FilterValue { text: rest[..end].to_owned(), form: ValueForm::Quoted };
        }
        if may_be_regex && self.rest.starts_with('/') {
            return FilterValue { text: self.slashed(), form: ValueForm::Regex };
        }
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        FilterValue { text: word.to_owned(), form: ValueForm::Word }
    }

    /// The text between two slashes; `\/` is a slash.
    fn slashed(&mut self) -> String {
        let inside: &'a str = self.rest.get(1..).unwrap_or_default();
        let mut escaped = false;
        let end = inside.find(|c| {
            let ends = c == '/' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let end = end.unwrap_or(inside.len());
        self.rest = inside.get(end + 1..).unwrap_or_default();
        inside[..end].replace("\\/", "/")
    }
}

/// The value after an operator.
struct FilterValue {
    text: String,
    form: ValueForm,
}

impl FilterValue {
    /// Whether it is a word in which `*` stands for any characters. In quotes it is a star.
    fn has_stars(&self) -> bool {
        self.form == ValueForm::Word && self.text.contains('*')
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ValueForm {
    Word,
    Quoted,
    Regex,
}

/// The error in `name operator value`.
enum Misread {
    Name(String),
    Value(String),
}

fn asked(
    name: &str,
    operator: FilterOperator,
    value: &FilterValue,
    schema: &FilterSchema<'_>,
) -> Result<Option<FilterOperand>, Misread> {
    let field = schema.field(name);
    if field.is_none() && !schema.has_label(name) {
        return Err(Misread::Name(unknown(name, schema)));
    }
    // No value is typed yet. An empty value in quotes tests whether a field is empty: `name=""`.
    if value.text.is_empty() && value.form != ValueForm::Quoted {
        return Ok(None);
    }
    let kind = field.map(|field| schema.fields[field].kind);
    let test = match (kind, at_target(operator, value)) {
        (Some(FieldKind::Revision), Some(is_new)) if schema.labelled.is_some() => Some(FieldTest::IsNew(is_new)),
        _ => field_test(kind, operator, value).map_err(|why| match (kind, number(&value.text)) {
            (Some(FieldKind::Revision), Err(why)) if schema.labelled.is_some() => {
                Misread::Value(format!("{why}, nor new or old"))
            }
            _ => Misread::Value(why),
        })?,
    };
    Ok(test.map(|test| match field {
        Some(field) => FilterOperand::Field(field, test),
        None => FilterOperand::Label(name.to_owned(), test),
    }))
}

/// `new` or `old`, which are compared with the revision that is the target whenever the filter is used.
fn at_target(operator: FilterOperator, value: &FilterValue) -> Option<bool> {
    let is = matches!(operator, FilterOperator::Contains | FilterOperator::Is | FilterOperator::Not);
    let is_called = |name: &str| is && value.text.eq_ignore_ascii_case(name);
    if is_called("new") { Some(true) } else { is_called("old").then_some(false) }
}

/// The test of a field of this kind, or of a label.
fn field_test(
    kind: Option<FieldKind>,
    operator: FilterOperator,
    value: &FilterValue,
) -> Result<Option<FieldTest>, String> {
    let text = &*value.text;
    let order = match operator {
        FilterOperator::Order(order) => Some(order),
        FilterOperator::Contains | FilterOperator::Is | FilterOperator::Not => Some(NumberOrder::Equal),
        FilterOperator::Matches => None,
    };
    let compares = matches!(operator, FilterOperator::Order(_));
    match (kind, order) {
        (Some(FieldKind::Number | FieldKind::Revision), Some(order)) => {
            Ok(Some(FieldTest::Counts(order, number(text)?)))
        }
        (Some(FieldKind::Age), Some(order)) => {
            let (secs, unit) = parse_age(text)
                .ok_or_else(|| format!("`{text}` is not an age: a number and a unit, as in 30s, 5m, 2h or 3d"))?;
            Ok(Some(FieldTest::Ages { order, secs, unit }))
        }
        (Some(FieldKind::Number | FieldKind::Revision | FieldKind::Age), None) => {
            Err("it is compared with = != > >= < <=, not with a regular expression".to_owned())
        }
        (Some(FieldKind::Text), _) if compares => Err("it is a text: = != == ~ ask about it".to_owned()),
        (None, Some(order)) if compares => Ok(Some(FieldTest::Counts(order, number(text)?))),
        _ if operator == FilterOperator::Is && value.has_stars() => {
            Ok(regular(&format!("^{}$", with_stars(text)))?.map(FieldTest::Matches))
        }
        _ if operator == FilterOperator::Is => Ok(Some(FieldTest::Is(text.to_lowercase()))),
        // An empty value in quotes tests whether the field is empty.
        _ if text.is_empty() => Ok(Some(FieldTest::Is(String::new()))),
        _ if operator == FilterOperator::Matches || value.form == ValueForm::Regex => {
            Ok(regular(text)?.map(FieldTest::Matches))
        }
        _ if value.has_stars() => Ok(regular(&with_stars(text))?.map(FieldTest::Matches)),
        _ => Ok(literal(text)?.map(FieldTest::Matches)),
    }
}

impl FilterSchema<'_> {
    /// Whether a node has a label of this name. While no node is known, any label may exist.
    fn has_label(&self, name: &str) -> bool {
        self.labelled.is_some_and(|nodes| {
            nodes.is_empty() || nodes.iter().any(|node| labels_called(&node.labels, name).next().is_some())
        })
    }

    /// The label keys of the first 100 nodes at most, which as a rule have all keys.
    pub(super) fn label_keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = Vec::new();
        for (key, _) in self.labelled.unwrap_or_default().iter().take(100).flat_map(|node| node.labels.iter()) {
            if !keys.contains(&&**key) {
                keys.push(key);
            }
        }
        keys
    }
}

/// The error for an unknown column: with the most similar name, or with all names.
fn unknown(name: &str, schema: &FilterSchema<'_>) -> String {
    let lower = name.to_lowercase();
    let names = schema.fields.iter().flat_map(|field| field.aliases.iter().chain([&field.name]).map(String::as_str));
    let labels = schema.label_keys();
    let short = labels.iter().map(|key| key.rsplit_once('/').map_or(*key, |(_, last)| last));
    let near = meant(&lower, names.chain(short).chain(labels.iter().copied()));
    let what = if schema.labelled.is_some() { "neither a column nor a node label" } else { "no column" };
    match near {
        Some(near) => format!("there is {what} `{name}`: did you mean `{near}`?"),
        None => {
            let all: Vec<&str> = schema.fields.iter().map(|field| &*field.name).collect();
            format!("there is {what} `{name}`; columns: {}; in quotes it is text", all.join(" "))
        }
    }
}

/// A text taken literally, in upper or lower case; `None` if it is empty.
fn literal(text: &str) -> Result<Option<Regex>, String> {
    regular(&regex::escape(text))
}

/// The regular expression of a word in which `*` stands for any characters.
fn with_stars(word: &str) -> String {
    word.split('*').map(regex::escape).collect::<Vec<_>>().join(".*")
}

/// A regular expression that ignores case; `^` and `$` are the ends of a column. `None` if it is empty.
fn regular(text: &str) -> Result<Option<Regex>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let mut builder = RegexBuilder::new(text);
    builder.case_insensitive(true).multi_line(true).size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES);
    match builder.build() {
        Ok(regex) => Ok(Some(regex)),
        Err(regex::Error::CompiledTooBig(_)) => Err(format!("the regular expression `{text}` is too large")),
        Err(error) => {
            let said = error.to_string();
            // The last line gives the reason; the lines before it draw the place.
            let why = said.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
            Err(format!("the regular expression `{text}`: {why}"))
        }
    }
}

fn number(text: &str) -> Result<f64, String> {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
    let number = text.parse().ok().filter(|_| text.chars().all(digits));
    number.ok_or_else(|| format!("`{text}` is not a number"))
}

/// A length of time in seconds, and its smallest unit: `90s`, `5m`, `1h30m`, `2d`.
pub(crate) fn parse_age(text: &str) -> Option<(f64, f64)> {
    let (mut secs, mut smallest, mut digits) = (0.0, f64::INFINITY, String::new());
    for c in text.chars() {
        let unit = match c.to_ascii_lowercase() {
            '0'..='9' => {
                digits.push(c);
                continue;
            }
            's' => 1.0,
            'm' => 60.0,
            'h' => 3_600.0,
            'd' => 86_400.0,
            _ => return None,
        };
        secs += std::mem::take(&mut digits).parse::<f64>().ok()? * unit;
        smallest = unit.min(smallest);
    }
    (digits.is_empty() && smallest.is_finite()).then_some((secs, smallest))
}
