//! Sites: nodes that share a link, a switch and a power line, told apart by the value of one of their labels.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Str;
use super::labels::label_key;

/// The label by whose value nodes are told apart into sites, unless operators name another.
pub const ZONE: &str = "topology.kubernetes.io/zone";

/// The label by whose value nodes are told apart into sites.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Str", into = "Str")]
pub struct SiteLabel(Str);

impl SiteLabel {
    /// The label's key.
    pub fn key(&self) -> &str {
        &self.0
    }

    /// Whether it is the default.
    pub fn is_default(&self) -> bool {
        &*self.0 == ZONE
    }
}

impl Default for SiteLabel {
    fn default() -> Self {
        Self(ZONE.into())
    }
}

impl fmt::Display for SiteLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SiteLabel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |why: String| {
            let key = text.split(['=', ' ']).next().unwrap_or_default();
            let hint = if text.contains('=') && label_key(key).is_ok() { key } else { ZONE };
            format!("{why}; write the key of a label that nodes have, such as `{hint}`")
        };
        label_key(text).map(Self).map_err(refuse)
    }
}

impl TryFrom<Str> for SiteLabel {
    type Error = String;

    fn try_from(key: Str) -> Result<Self, String> {
        key.parse().map_err(|why: String| format!("site label: {why}"))
    }
}

impl From<SiteLabel> for Str {
    fn from(label: SiteLabel) -> Self {
        label.0
    }
}

/// The name of a site; the site of nodes without the label is `no site`.
pub fn site_name(site: &str) -> &str {
    if site.is_empty() { "no site" } else { site }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        for key in [ZONE, "rack", "plant.example/hall_2"] {
            let label: SiteLabel = key.parse().unwrap();
            assert_eq!((label.to_string(), label.is_default()), (key.to_owned(), key == ZONE));
            let json = serde_json::to_string(&label).unwrap();
            assert_eq!(serde_json::from_str::<SiteLabel>(&json).unwrap(), label);
        }
    }

    #[test]
    fn what_is_no_key_is_refused_with_what_would_be_one() {
        for (text, hint) in [
            ("", "such as `topology.kubernetes.io/zone`"),
            ("rack=3", "such as `rack`"),
            ("-rack", "`-rack` is not a label key"),
            ("a/b/c", "`a/b/c` is not a label key"),
        ] {
            let why = text.parse::<SiteLabel>().unwrap_err();
            assert!(why.contains(hint), "{text}: {why}");
        }
        let recorded = serde_json::from_str::<SiteLabel>("\"no key\"").unwrap_err().to_string();
        assert!(recorded.contains("site label: `no key` is not a label key"), "{recorded}");
    }
}
