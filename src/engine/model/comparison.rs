//! How many nodes of a site went down after their update, and how many before it.

use std::fmt;

use serde::Serialize;

use super::Str;
use super::settings::Secs;

/// How many nodes of one site went down lately: those at the new revision, and the others.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The site; empty where the whole fleet is one.
    pub site: Str,
    /// Updated nodes that went down.
    pub updated_down: u32,
    /// Updated nodes.
    pub updated: u32,
    /// Nodes that went down and were not updated then, whether they are now or not.
    pub others_down: u32,
    /// The nodes of `others_down`, and the nodes that are not updated.
    pub others: u32,
    /// The length of the window, in seconds: whole minutes since the rollout began or was resumed past a halt, ten at most.
    pub window_secs: u32,
}

impl Comparison {
    /// The numbers alone, without window and site: `2 of 6 nodes went down after their update, 1 of 114 before it`.
    pub fn numbers(&self) -> String {
        let Self { updated_down, updated, others_down, others, .. } = self;
        let nodes = if *updated == 1 { "node went down after its" } else { "nodes went down after their" };
        let before = if *others > 0 { format!(", {others_down} of {others} before it") } else { String::new() };
        format!("{updated_down} of {updated} {nodes} update{before}")
    }
}

/// `2 of 6 nodes went down after their update, 1 of 114 before it, in 10m`, with the site where there are several. A node that went down
/// and was updated later counts among those before it, so the words say when a node went down, not what it runs now.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comma = if self.others > 0 { "," } else { "" };
        write!(f, "{}{comma} in {}", self.numbers(), Secs(self.window_secs))?;
        let site = &self.site;
        if site.is_empty() { Ok(()) } else { write!(f, " ({site})") }
    }
}
