//! What a preview says of pre-warming where each node that it is about has the images already.

use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::image::normalized;
use crate::engine::model::prewarm::{PrewarmNodes, PrewarmSource};
use crate::engine::rules::warm_pod::images_key;

impl Engine {
    /// `All 20 nodes have agent:v2 already: there is nothing to pull now.`; `None` if a node is not known to have them, or if there is no node.
    pub(super) fn nothing_to_prewarm_in_words(&self, source: &PrewarmSource, nodes: &PrewarmNodes) -> Option<String> {
        let template = self.template_to_prewarm(source).ok()?;
        let images = template.images();
        let (key, names) = (images_key(&images), images.iter().map(|image| normalized(image)).collect::<Vec<_>>());
        let meant: Vec<&Row> = self.meant(nodes).collect();
        let has_them = |row: &&Row| {
            self.view.is_warm(&self.view.entry(row.node).name, &key) || self.has_images(row, &template, &names)
        };
        if meant.is_empty() || !meant.iter().all(has_them) {
            return None;
        }
        let what = if images.len() == 1 { images[0].to_string() } else { "the images".to_owned() };
        let who = match meant.as_slice() {
            [one] => format!("{} has {what} already", self.view.entry(one.node).name),
            [_, _] => format!("Both nodes have {what} already"),
            all => format!("All {} nodes have {what} already", all.len()),
        };
        Some(format!("{who}: there is nothing to pull now."))
    }
}
