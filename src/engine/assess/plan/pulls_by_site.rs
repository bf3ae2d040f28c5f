//! Pull slots that each site has of its own: by `max-pulling-per-site`, or by the pace that its pulls showed.

use std::collections::HashMap;

use super::{Limits, NodeLookup};
use crate::engine::assess::rows::{Assessment, Row};
use crate::engine::model::Str;
use crate::engine::model::quantity::Rounding;

/// How many nodes pull in each site, and how many may; empty where no site has a limit of its own.
#[derive(Debug, Default)]
pub(super) struct PullsBySite {
    /// By site: how many pull, and how many may.
    pulling: HashMap<Str, (u32, u32)>,
}

impl PullsBySite {
    /// Counts them in `assessment`.
    pub(super) fn of(assessment: &Assessment, limits: &Limits, nodes: &NodeLookup<'_>) -> Self {
        if nodes.pace.is_none() && limits.max_pulling_per_site.is_default() {
            return Self::default();
        }
        let mut sizes: HashMap<Str, (u32, u32)> = HashMap::new();
        for row in assessment.rows() {
            let (used, size) = sizes.entry((nodes.site)(row)).or_default();
            *used += u32::from(row.pulls || row.warm_pulls);
            *size += u32::from(row.in_fleet);
        }
        let of_site = |(site, (used, size)): (Str, (u32, u32))| {
            let set = limits.max_pulling_per_site.at().map(|limit| limit.of(size, Rounding::Up));
            let paced = nodes.pace.and_then(|pace| pace(&site, set.unwrap_or(limits.max_pulling)));
            let limit = paced.or(set)?;
            Some((site, (used, limit)))
        };
        Self { pulling: sizes.into_iter().filter_map(of_site).collect() }
    }

    /// The row's site, how many of its nodes pull, and how many may; `None` if another one may pull.
    pub(super) fn full(&self, row: &Row, nodes: &NodeLookup<'_>) -> Option<(Str, u32, u32)> {
        let site = (nodes.site)(row);
        let (used, limit) = self.pulling.get(&site).copied()?;
        (used >= limit).then_some((site, used, limit))
    }

    /// Takes a place in the row's site for its pull.
    pub(super) fn take(&mut self, row: &Row, nodes: &NodeLookup<'_>) {
        if let Some((used, _)) = self.pulling.get_mut(&(nodes.site)(row)) {
            *used += 1;
        }
    }
}
