//! How many updated nodes of a site went down, and how many others.

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
    /// Other nodes that went down.
    pub others_down: u32,
    /// Other nodes.
    pub others: u32,
    /// Within how many seconds.
    pub window_secs: u32,
}

/// `2 of 6 nodes with the new revision, 1 of 114 others went down in 10m`, with the site where there are several.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { site, updated_down, updated, others_down, others, window_secs } = self;
        let nodes = if *updated == 1 { "node" } else { "nodes" };
        write!(f, "{updated_down} of {updated} {nodes} with the new revision")?;
        if *others > 0 {
            write!(f, ", {others_down} of {others} others")?;
        }
        write!(f, " went down in {}", Secs(*window_secs))?;
        if site.is_empty() { Ok(()) } else { write!(f, " ({site})") }
    }
}
