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
    /// The length of the window, in seconds.
    pub window_secs: u32,
}

/// `2 of 6 nodes went down after their update, 1 of 114 before it, in 10m`, with the site where there are several. A node that went down
/// and was updated later counts among those before it, so the words say when a node went down, not what it runs now.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { site, updated_down, updated, others_down, others, window_secs } = self;
        let nodes = if *updated == 1 { "node went down after its" } else { "nodes went down after their" };
        write!(f, "{updated_down} of {updated} {nodes} update")?;
        if *others > 0 {
            write!(f, ", {others_down} of {others} before it,")?;
        }
        write!(f, " in {}", Secs(*window_secs))?;
        if site.is_empty() { Ok(()) } else { write!(f, " ({site})") }
    }
}
