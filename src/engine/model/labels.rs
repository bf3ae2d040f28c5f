//! Labels and label selectors, with Kubernetes' own matching rules and `kubectl -l` syntax.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::Str;

/// A set of labels (or annotations): sorted by key, cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Labels(Arc<[(Str, Str)]>);

impl Default for Labels {
    fn default() -> Self {
        Self(Arc::from(Vec::new()))
    }
}

impl Labels {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Str> {
        let found = self.0.binary_search_by(|(candidate, _)| (**candidate).cmp(key)).ok()?;
        self.0.get(found).map(|(_, value)| value)
    }

    /// All pairs, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Str, &Str)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a JSON object of strings; anything else in it is passed over.
    pub fn from_json(value: &Value) -> Self {
        value
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((Str::from(key.as_str()), Str::from(value.as_str()?))))
            .collect()
    }
}

impl<K: Into<Str>, V: Into<Str>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut pairs: Vec<(Str, Str)> = pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1.clone();
            }
            same
        });
        Self(pairs.into())
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(BTreeMap::<Str, Str>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// The condition of a [`Requirement`] on its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operator {
    /// The label is one of these values.
    In(Vec<Str>),
    /// The label is none of these values, or is absent.
    NotIn(Vec<Str>),
    /// The label is there, whatever its value.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is an integer greater than this (node affinity only).
    Gt(i64),
    /// The label is an integer less than this (node affinity only).
    Lt(i64),
}

/// One condition of a selector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// The label key.
    pub key: Str,
    /// The condition on its value.
    pub operator: Operator,
}

impl Requirement {
    /// Whether `labels` meet it. Absent keys satisfy `NotIn` and `DoesNotExist`, as in Kubernetes.
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.contains(value)),
            Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt(bound) => number().is_some_and(|number| number > *bound),
            Operator::Lt(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// A label selector: all its requirements must hold. The empty selector matches everything.
///
/// Written and read as `kubectl -l` does: `zone=a,disk in (ssd,nvme),!gpu,tier!=edge`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selector {
    /// The conditions, all of which must hold.
    pub requirements: Vec<Requirement>,
}

impl Selector {
    /// Whether `labels` meet every requirement.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether it has no requirement.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// `no node has a label `zone`: is `topology.kubernetes.io/zone` meant?`, for the first key that no node has but that a node has
    /// behind a prefix, because filters take such a short name and selectors do not, or that is one letter off. `no node has zone=moon: the
    /// values of that label are earth, mars`, for the first label that has none of the values.
    pub fn meant<'a>(&self, nodes: &(impl Iterator<Item = &'a Labels> + Clone)) -> Option<String> {
        self.requirements.iter().find_map(|requirement| {
            let key = &requirement.key;
            let keys = || nodes.clone().flat_map(|labels| labels.iter().map(|(known, _)| known));
            if keys().any(|known| known == key) {
                return values_instead(requirement, nodes.clone());
            }
            let name = |known: &Str| known.rsplit_once('/').map_or_else(|| known.clone(), |(_, name)| name.into());
            let meant = keys().find(|known| known.contains('/') && name(known) == *key);
            let near = || keys().find(|known| is_one_letter_off(known, key) || is_one_letter_off(&name(known), key));
            let meant = meant.or_else(near)?;
            Some(format!("no node has a label `{key}`: is `{meant}` meant?"))
        })
    }

    /// Reads a Kubernetes `LabelSelector` (`matchLabels` and `matchExpressions`).
    ///
    /// # Errors
    /// If an operator is missing or not one of Kubernetes, or if the first value of `Gt` or `Lt` is missing or not an integer; the text names it. A
    /// missing key is read as empty, missing values of `In` and `NotIn` as none; values that are not strings are skipped.
    pub fn from_label_selector(value: &Value) -> Result<Self, String> {
        let mut requirements: Vec<Requirement> = Labels::from_json(&value["matchLabels"])
            .iter()
            .map(|(key, value)| Requirement { key: key.clone(), operator: Operator::In(vec![value.clone()]) })
            .collect();
        for expression in value["matchExpressions"].as_array().into_iter().flatten() {
            requirements.push(Requirement::from_json(expression)?);
        }
        Ok(Self { requirements })
    }
}

/// How many values of a label are named.
const VALUES_NAMED: usize = 5;

/// That no node has the label with one of the values that are asked for, and which values it has.
fn values_instead<'a>(requirement: &Requirement, nodes: impl Iterator<Item = &'a Labels>) -> Option<String> {
    let Operator::In(asked) = &requirement.operator else { return None };
    let known: BTreeSet<&Str> = nodes.filter_map(|labels| labels.get(&requirement.key)).collect();
    if known.is_empty() || asked.iter().any(|asked| known.contains(asked)) {
        return None;
    }
    let is_near = |value: &Str| asked.iter().any(|asked| is_one_letter_off(value, asked));
    // Those that may have been meant come first.
    let (near, others): (Vec<&Str>, Vec<&Str>) = known.into_iter().partition(|value| is_near(value));
    let values: Vec<&str> = near.into_iter().chain(others).map(|value| &**value).collect();
    let shown = |value: &&str| if value.is_empty() { "an empty one".to_owned() } else { (*value).to_owned() };
    let named: Vec<String> = values.iter().take(VALUES_NAMED).map(shown).collect();
    let more = match values.len().saturating_sub(VALUES_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let are = if values.len() == 1 { "the value of that label is" } else { "the values of that label are" };
    Some(format!("no node has {requirement}: {are} {}{more}", named.join(", ")))
}

/// Whether one letter that is left out, added, changed or swapped with its neighbour makes one text of the other.
fn is_one_letter_off(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let at_end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&a[..a.len() - at_end], &b[..b.len() - at_end]) {
        ([], [_]) | ([_], [] | [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

impl Requirement {
    /// Reads one `matchExpressions` entry: `{key, operator, values}`.
    ///
    /// # Errors
    /// The text names the operator that Kubernetes does not have, or the bound that is not an integer.
    pub fn from_json(expression: &Value) -> Result<Self, String> {
        let key = Str::from(expression["key"].as_str().unwrap_or_default());
        let values = || -> Vec<Str> {
            expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str).map(Str::from).collect()
        };
        let bound = || -> Result<i64, String> {
            let values = values();
            let text = values.first().map(|text| &**text).unwrap_or_default();
            text.parse().map_err(|error| format!("selector on `{key}`: `{text}` is not an integer: {error}"))
        };
        let operator = match expression["operator"].as_str().unwrap_or_default() {
            "In" => Operator::In(values()),
            "NotIn" => Operator::NotIn(values()),
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::Gt(bound()?),
            "Lt" => Operator::Lt(bound()?),
            other => return Err(format!("selector on `{key}`: unknown operator `{other}`")),
        };
        Ok(Self { key, operator })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, operator } = self;
        match operator {
            Operator::In(values) if values.len() == 1 => write!(f, "{key}={}", values[0]),
            Operator::NotIn(values) if values.len() == 1 => write!(f, "{key}!={}", values[0]),
            Operator::In(values) => write!(f, "{key} in ({})", values.join(",")),
            Operator::NotIn(values) => write!(f, "{key} notin ({})", values.join(",")),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::Gt(bound) => write!(f, "{key}>{bound}"),
            Operator::Lt(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, requirement) in self.requirements.iter().enumerate() {
            if nth > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

impl Serialize for Selector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl FromStr for Selector {
    type Err = String;

    /// Parses `kubectl -l` syntax; the empty text is the empty selector.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for clause in clauses(text)? {
            requirements.push(parse_clause(clause).map_err(|why| format!("selector `{text}`: {why}"))?);
        }
        Ok(Self { requirements })
    }
}

/// Splits at the commas that are not inside parentheses.
fn clauses(text: &str) -> Result<Vec<&str>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut clauses = Vec::new();
    let (mut depth, mut start) = (0_u32, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => {
                depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| format!("selector `{text}`: `)` without `(` at column {}", at + 1))?;
            }
            ',' if depth == 0 => {
                clauses.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(format!("selector `{text}`: `(` is never closed"));
    }
    clauses.push(&text[start..]);
    Ok(clauses)
}

fn parse_clause(clause: &str) -> Result<Requirement, String> {
    let clause = clause.trim();
    if clause.is_empty() {
        return Err(
            "an empty condition; write `key=value`, `key in (a,b)`, `key` or `!key`, with commas between".into()
        );
    }
    if let Some(open) = clause.find('(') {
        return parse_set(clause, open);
    }
    let comparison = |operator: fn(Vec<Str>) -> Operator, key: &str, value: &str| {
        Ok(Requirement { key: label_key(key)?, operator: operator(vec![label_value(value)?]) })
    };
    if let Some((key, value)) = clause.split_once("!=") {
        return comparison(Operator::NotIn, key, value);
    }
    if let Some((key, value)) = clause.split_once("==").or_else(|| clause.split_once('=')) {
        return comparison(Operator::In, key, value);
    }
    if let Some(key) = clause.strip_prefix('!') {
        return Ok(Requirement { key: label_key(key)?, operator: Operator::DoesNotExist });
    }
    Ok(Requirement { key: label_key(clause)?, operator: Operator::Exists })
}

fn parse_set(clause: &str, open: usize) -> Result<Requirement, String> {
    let inside = clause[open + 1..]
        .strip_suffix(')')
        .ok_or_else(|| format!("`{clause}`: nothing may follow the closing `)` but a comma"))?;
    let mut words = clause[..open].split_whitespace();
    let (key, verb, rest) = (words.next(), words.next(), words.next());
    let (Some(key), Some(verb), None) = (key, verb, rest) else {
        return Err(format!("`{clause}`: write `key in (a,b)` or `key notin (a,b)`"));
    };
    let values = inside.split(',').map(label_value).collect::<Result<Vec<_>, _>>()?;
    let operator = match verb {
        "in" => Operator::In(values),
        "notin" => Operator::NotIn(values),
        other => return Err(format!("`{clause}`: `{other}` is neither `in` nor `notin`")),
    };
    Ok(Requirement { key: label_key(key)?, operator })
}

/// A label name: at most 63 of letters, digits, `-`, `_`, `.`, with a letter or digit at both ends.
fn is_label_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63 && edge(text.chars().next()) && edge(text.chars().last()) && text.chars().all(inner)
}

pub(super) fn label_key(text: &str) -> Result<Str, String> {
    let key = text.trim();
    let (prefix, name) = key.rsplit_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefix_fits =
        prefix.is_none_or(|prefix| !prefix.is_empty() && prefix.len() <= 253 && prefix.split('.').all(is_label_name));
    if is_label_name(name) && prefix_fits {
        Ok(key.into())
    } else {
        Err(format!("`{key}` is not a label key (letters, digits, `-`, `_`, `.`, optionally `domain/` before it)"))
    }
}

fn label_value(text: &str) -> Result<Str, String> {
    let value = text.trim();
    if value.is_empty() || is_label_name(value) {
        Ok(value.into())
    } else {
        Err(format!("`{value}` is not a label value (at most 63 letters, digits, `-`, `_`, `.`)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().copied().collect()
    }

    #[test]
    fn a_short_name_of_a_label_is_told_by_its_key() {
        let nodes = [labels(&[("topology.kubernetes.io/zone", "a")]), labels(&[("gpu", "yes")])];
        let meant = |text: &str| text.parse::<Selector>().unwrap().meant(&nodes.iter());
        let zone = "no node has a label `zone`: is `topology.kubernetes.io/zone` meant?";
        assert_eq!(meant("gpu,zone=a").as_deref(), Some(zone));
        for known in ["gpu!=yes", "gpu in (no,yes)", "hall=7", "", "gpu,topology.kubernetes.io/zone"] {
            assert_eq!(meant(known), None, "{known}");
        }
        assert_eq!(meant("gqu=yes").as_deref(), Some("no node has a label `gqu`: is `gpu` meant?"));
        assert_eq!(meant("gup").as_deref(), Some("no node has a label `gup`: is `gpu` meant?"));
        let near = "no node has a label `zon`: is `topology.kubernetes.io/zone` meant?";
        assert_eq!(meant("zon=a").as_deref(), Some(near));
        assert_eq!(meant("gpu=no").as_deref(), Some("no node has gpu=no: the value of that label is yes"));
        let zones: Vec<Labels> = ["a", "b", "c", "d", "e", "west"].map(|zone| labels(&[("zone", zone)])).into();
        let meant = |text: &str| text.parse::<Selector>().unwrap().meant(&zones.iter());
        let values = "no node has zone=wets: the values of that label are west, a, b, c, d and 1 more";
        assert_eq!(meant("zone=wets").as_deref(), Some(values));
    }

    #[test]
    fn matches_as_kubectl_does() {
        let node = labels(&[("zone", "a"), ("disk", "ssd"), ("kubernetes.io/hostname", "ipc-1")]);
        for (text, want) in [
            ("", true),
            ("zone=a", true),
            ("zone==a,disk in (ssd, nvme)", true),
            ("zone!=a", false),
            ("gpu!=yes", true),
            ("!gpu", true),
            ("disk", true),
            ("zone notin (b,c),kubernetes.io/hostname=ipc-1", true),
            ("zone in (b)", false),
        ] {
            assert_eq!(text.parse::<Selector>().unwrap().matches(&node), want, "{text}");
        }
    }

    #[test]
    fn prints_what_it_parsed() {
        for text in ["zone=a,disk in (ssd,nvme),!gpu,tier!=edge", "canary", ""] {
            assert_eq!(text.parse::<Selector>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_with_the_reason() {
        for (text, hint) in [
            ("zone=a,,b", "empty condition"),
            ("zone in (a", "never closed"),
            ("zone)", "without"),
            ("zone of (a)", "neither `in` nor `notin`"),
            ("-bad-=x", "not a label key"),
            ("zone=a b", "not a label value"),
        ] {
            let why = text.parse::<Selector>().unwrap_err();
            assert!(why.contains(hint), "{text}: {why}");
        }
    }

    #[test]
    fn later_labels_win() {
        assert_eq!(labels(&[("a", "1"), ("a", "2")]).get("a").map(|value| &**value), Some("2"));
    }
}
