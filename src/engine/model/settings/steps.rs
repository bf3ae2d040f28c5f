//! The steps of a plan: how many nodes are updated in total after each.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::value::SettingValue;
use crate::engine::model::quantity::IntOrPercent;

/// More steps than that nobody takes by hand, and the record has room for.
const MOST: usize = 50;

/// The steps of a plan, in order: counts, and percentages of all nodes, rounded up. The last is all nodes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Steps(Vec<IntOrPercent>);

impl Default for Steps {
    /// One node, then a tenth, a half, all.
    fn default() -> Self {
        Self(vec![
            IntOrPercent::Int(1),
            IntOrPercent::Percent(10),
            IntOrPercent::Percent(50),
            IntOrPercent::Percent(100),
        ])
    }
}

impl Steps {
    /// Whether nothing else was set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// How many of `fleet` nodes are updated in total after each step.
    pub(crate) fn totals(&self, fleet: u32) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator {
        self.0.iter().map(move |step| step.nodes_of(fleet))
    }
}

impl std::ops::Deref for Steps {
    type Target = [IntOrPercent];

    fn deref(&self) -> &[IntOrPercent] {
        &self.0
    }
}

impl FromIterator<IntOrPercent> for Steps {
    fn from_iter<I: IntoIterator<Item = IntOrPercent>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, step) in self.0.iter().enumerate() {
            write!(f, "{}{step}", if nth == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl SettingValue for Steps {
    const NAME: &'static str = "STEPS";

    /// Reads `1,10%,50%,100%`.
    fn read(text: &str) -> Result<Self, String> {
        let example = "write for example `1,10%,50%,100%`";
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        if words.len() > MOST {
            return Err(format!("{} steps are more than {MOST}", words.len()));
        }
        let mut steps: Vec<IntOrPercent> = Vec::new();
        for word in words {
            let step: IntOrPercent = word.parse().map_err(|why: String| format!("step `{word}`: {why}; {example}"))?;
            let last_alike = steps.iter().rev().find(|other| is_count(other) == is_count(&step));
            if step.is_zero() {
                return Err(format!("step `{step}` updates no node: a step is one node or more; {example}"));
            }
            if last_alike.is_some_and(|other| number(other) >= number(&step)) {
                let before = last_alike.map_or_else(|| "0".to_owned(), ToString::to_string);
                return Err(format!("step `{step}` is no more than `{before}` before it; {example}"));
            }
            steps.push(step);
        }
        match steps.last() {
            Some(IntOrPercent::Percent(100)) => Ok(Self(steps)),
            _ => Err(format!("the last step must be `100%`, or nodes would be left over; {example}")),
        }
    }
}

fn is_count(step: &IntOrPercent) -> bool {
    matches!(step, IntOrPercent::Int(_))
}

fn number(step: &IntOrPercent) -> u32 {
    match step {
        IntOrPercent::Int(count) => *count,
        IntOrPercent::Percent(percent) => u32::from(*percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_they_are_written() {
        for text in ["1,10%,50%,100%", "100%", "2,5,20,100%", "3,25%,100%"] {
            let steps = Steps::read(text).unwrap();
            assert_eq!(steps.to_string(), text);
            let json = serde_json::to_string(&steps).unwrap();
            assert_eq!(serde_json::from_str::<Steps>(&json).unwrap(), steps);
        }
        assert_eq!(Steps::read(" 1, 10% ,50%,100%"), Ok(Steps::default()));
        assert_eq!(serde_json::to_string(&Steps::default()).unwrap(), r#"[1,"10%","50%","100%"]"#);
    }

    #[test]
    fn what_is_no_plan_is_refused_with_what_would_be_one() {
        for (text, why) in [
            ("", "step ``"),
            ("1,ten,100%", "step `ten`"),
            ("1,10%", "the last step must be `100%`"),
            ("10", "the last step must be `100%`"),
            ("0,100%", "step `0` updates no node: a step is one node or more"),
            ("10%,5%,100%", "step `5%` is no more than `10%` before it"),
            ("3,10%,2,100%", "step `2` is no more than `3` before it"),
            ("10%,10%,100%", "step `10%` is no more than `10%` before it"),
            ("10%,110%", "at most `100%`"),
            (&["1"; 51].join(","), "51 steps are more than 50"),
        ] {
            let said = Steps::read(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
