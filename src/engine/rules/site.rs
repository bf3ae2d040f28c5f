//! Sites: nodes that share a link, a switch and a power line, and so go down together.

use crate::engine::model::Str;
use crate::engine::model::labels::Labels;

/// The label by whose value nodes are told apart into sites.
pub const SITE_LABEL: &str = "topology.kubernetes.io/zone";

/// The site that a node with these labels belongs to. Nodes without the label are one site, whose name is empty: in a
/// fleet where no node has it, that is the whole fleet.
pub fn site_of(labels: &Labels) -> Str {
    labels.get(SITE_LABEL).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_the_zone_and_nodes_without_one_are_one_site() {
        let labels: Labels = [(SITE_LABEL, "hall-a"), ("zone", "other")].into_iter().collect();
        assert_eq!(&*site_of(&labels), "hall-a");
        assert_eq!(&*site_of(&Labels::default()), "");
    }
}
