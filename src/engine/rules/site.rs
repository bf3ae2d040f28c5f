//! Sites: nodes that share a link, a switch and a power line, and so go down together.

use crate::engine::model::Str;
use crate::engine::model::labels::Labels;
use crate::engine::model::site::SiteLabel;

/// The site that a node with these labels belongs to. Nodes without the label are one site, whose name is empty: in a
/// fleet where no node has it, that is the whole fleet.
pub fn site_of(labels: &Labels, label: &SiteLabel) -> Str {
    labels.get(label.key()).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::site::ZONE;

    #[test]
    fn a_site_is_the_value_of_the_label_and_nodes_without_one_are_one_site() {
        let labels: Labels = [(ZONE, "hall-a"), ("rack", "r7")].into_iter().collect();
        assert_eq!(&*site_of(&labels, &SiteLabel::default()), "hall-a");
        assert_eq!(&*site_of(&labels, &"rack".parse().unwrap()), "r7");
        assert_eq!(&*site_of(&labels, &"line".parse().unwrap()), "");
    }
}
