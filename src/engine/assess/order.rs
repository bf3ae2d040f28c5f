//! The order in which nodes go, as far as their sites decide it. It depends on which nodes there are and not on how far the
//! rollout is, so that the order that a preview shows is the one that is followed.

use std::collections::HashMap;

use super::rows::{Assessment, Row};
use crate::engine::model::Str;
use crate::engine::model::settings::NodeOrder;

/// By node: the place that the node's site gives it, smaller first. All places are the same if there is one site only, or if sites do not
/// count.
///
/// `natural` is each node's place in natural name order, which decides between equals.
pub(crate) fn site_places(
    assessment: &Assessment,
    order: NodeOrder,
    natural: &[u32],
    site: &dyn Fn(&Row) -> Str,
) -> Vec<u64> {
    let mut places = vec![0; natural.len()];
    if order == NodeOrder::Name {
        return places;
    }
    let mut rows: Vec<(u32, Str, &Row)> = assessment
        .rows()
        .filter(|row| row.in_fleet)
        .map(|row| (natural.get(row.node).copied().unwrap_or(u32::MAX), site(row), row))
        .collect();
    if rows.windows(2).all(|pair| matches!(pair, [(_, a, _), (_, b, _)] if a == b)) {
        return places;
    }
    rows.sort_unstable_by_key(|(natural, _, row)| (*natural, row.node));
    let mut sites: HashMap<&Str, SitePlaces> = HashMap::new();
    for (natural, site, _) in &rows {
        sites.entry(site).or_insert(SitePlaces { first: *natural, size: 0, seen: 0 }).size += 1;
    }
    for (_, name, row) in &rows {
        let Some(site) = sites.get_mut(name) else { continue };
        places[row.node] = match order {
            // The middle of its share: of a site with two nodes the first is at one quarter, of one with four at one eighth.
            NodeOrder::Spread => ((2 * site.seen + 1) << 32) / (2 * site.size),
            NodeOrder::BySite => u64::from(site.first),
            NodeOrder::Name => 0,
        };
        site.seen += 1;
    }
    places
}

/// One site, while places are given to its nodes.
struct SitePlaces {
    /// Place of its first node in natural name order.
    first: u32,
    /// How many nodes it has.
    size: u64,
    /// How many of them have a place.
    seen: u64,
}
