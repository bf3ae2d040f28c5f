//! Counts in words, and Kubernetes' `IntOrString` where it means "a count, or a percentage of something".

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// `1 node`, `2 nodes`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A count, or a percentage of a total that is resolved later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum IntOrPercent {
    /// An absolute count.
    Int(u32),
    /// A percentage, 0..=100.
    Percent(u8),
}

/// Which way a percentage is rounded when it does not come out even.
///
/// Kubernetes rounds `maxUnavailable` up, OpenKruise rounds `partition` down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// Towards more.
    Up,
    /// Towards fewer.
    Down,
}

impl IntOrPercent {
    /// The count for `total`; an absolute count is returned as it is, even beyond `total`.
    pub fn of(self, total: u32, rounding: Rounding) -> u32 {
        match self {
            Self::Int(count) => count,
            Self::Percent(percent) => {
                let product = u64::from(percent) * u64::from(total);
                let rounded = match rounding {
                    Rounding::Up => product.div_ceil(100),
                    Rounding::Down => product / 100,
                };
                u32::try_from(rounded).unwrap_or(u32::MAX)
            }
        }
    }

    /// How many of `fleet` nodes a step means, in total: a percentage is rounded up, and there are no more than all of them.
    pub fn nodes_of(self, fleet: u32) -> u32 {
        self.of(fleet, Rounding::Up).min(fleet)
    }
}

impl fmt::Display for IntOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl FromStr for IntOrPercent {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || match text.trim().starts_with('-') {
            true => format!("`{text}` is negative: neither a count, from 0, nor a percentage, from `0%` to `100%`"),
            false => format!("`{text}` is neither a count (`3`) nor a percentage (`25%`, at most `100%`)"),
        };
        match text.trim().strip_suffix('%') {
            Some(percent) => match percent.trim().parse::<u8>() {
                Ok(percent) if percent <= 100 => Ok(Self::Percent(percent)),
                _ => Err(refuse()),
            },
            None => text.trim().parse().ok().map(Self::Int).ok_or_else(refuse),
        }
    }
}

impl Serialize for IntOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(count) => serializer.serialize_u32(*count),
            Self::Percent(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum QuantityJson {
            Int(u32),
            Text(String),
        }
        match QuantityJson::deserialize(deserializer)? {
            QuantityJson::Int(count) => Ok(Self::Int(count)),
            QuantityJson::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_as_kubernetes_and_kruise_do() {
        let one = IntOrPercent::Percent(1);
        assert_eq!((one.of(10, Rounding::Up), one.of(10, Rounding::Down)), (1, 0));
        assert_eq!(IntOrPercent::Percent(34).of(5, Rounding::Up), 2);
        assert_eq!(IntOrPercent::Percent(100).of(u32::MAX, Rounding::Up), u32::MAX);
        assert_eq!(IntOrPercent::Int(7).of(5, Rounding::Down), 7);
        assert_eq!([one, IntOrPercent::Int(7), IntOrPercent::Percent(100)].map(|step| step.nodes_of(5)), [1, 5, 5]);
    }

    #[test]
    fn refuses_what_is_neither() {
        for text in ["", "-1", "101%", "3.5", "%", "ten"] {
            assert!(text.parse::<IntOrPercent>().is_err(), "{text}");
        }
        assert_eq!(" 25% ".parse(), Ok(IntOrPercent::Percent(25)));
    }
}
