//! The images on a node's disk, and which of them go when the disk is full.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

use super::super::object::NodeImage;
use super::env::image_id;

/// Kubelets report no more images than this, the largest first.
const REPORTED: usize = 50;
/// A younger image is kept (`imageMinimumGCAge`): the pod that pulled it is about to use it.
const MIN_AGE: Duration = Duration::from_secs(120);

/// The images on a disk.
#[derive(Debug, Default)]
pub(super) struct Images {
    on_disk: BTreeMap<Str, StoredImage>,
    /// Counts the images that came and went.
    pub(super) changes: u32,
}

#[derive(Debug)]
struct StoredImage {
    /// The runtime's id of the image: the tag may have moved since.
    id: Str,
    bytes: u64,
    /// When it came; `None`: it was there from the beginning.
    came_at: Option<Timestamp>,
}

impl Images {
    /// Images that are there from the beginning, with their sizes.
    pub(super) fn of(images: impl Iterator<Item = (Str, u64)>) -> Self {
        let on_disk =
            images.map(|(name, bytes)| (name.clone(), StoredImage { id: image_id(&name, 0), bytes, came_at: None }));
        Self { on_disk: on_disk.collect(), changes: 0 }
    }

    pub(super) fn has(&self, image: &str) -> bool {
        self.on_disk.contains_key(image)
    }

    /// The runtime's id of the image that the disk has under this name.
    pub(super) fn id(&self, image: &str) -> Option<&Str> {
        self.on_disk.get(image).map(|on_disk| &on_disk.id)
    }

    /// Adds an image, in place of the one that the disk had under this name.
    pub(super) fn add(&mut self, image: &Str, id: &Str, bytes: u64, now: Timestamp) {
        if self.id(image) != Some(id) {
            self.changes += 1;
            self.on_disk.insert(image.clone(), StoredImage { id: id.clone(), bytes, came_at: Some(now) });
        }
    }

    /// Removes the images that no container uses.
    pub(super) fn collect(&mut self, in_use: &BTreeSet<Str>, now: Timestamp) {
        let is_young = |image: &StoredImage| image.came_at.is_some_and(|at| now.since(at) < MIN_AGE);
        let before = self.on_disk.len();
        self.on_disk.retain(|name, image| in_use.contains(name) || is_young(image));
        self.changes += u32::from(self.on_disk.len() != before);
    }

    /// `status.images`.
    pub(super) fn reported(&self) -> Vec<NodeImage> {
        let mut images: Vec<(&Str, &StoredImage)> = self.on_disk.iter().collect();
        images.sort_by_key(|(_, image)| std::cmp::Reverse(image.bytes));
        images.truncate(REPORTED);
        let listed = |(name, image): (&Str, &StoredImage)| NodeImage {
            names: vec![image.id.clone(), name.clone()],
            bytes: image.bytes,
        };
        images.into_iter().map(listed).collect()
    }
}
