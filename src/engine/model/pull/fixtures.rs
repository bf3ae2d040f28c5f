//! Images as the front ends' tests show them.

use std::time::Duration;

use super::{ImagePull, PeerScope, PullState, UsualPull};
use crate::engine::model::template::ImageUse;

/// An image of the target: of its main container, or of the one that prepares it.
pub(crate) fn image(usage: ImageUse, state: PullState) -> ImagePull {
    let (container, image) = match usage {
        ImageUse::Init => ("setup", "registry.example/setup:v3"),
        ImageUse::Sidecar => ("proxy", "registry.example/proxy:v2"),
        ImageUse::Main => ("agent", "registry.example/agent:v1.9.0"),
        ImageUse::Volume => ("volume/models", "registry.example/models:v7"),
    };
    ImagePull { container: container.into(), usage, image: image.into(), state }
}

/// The usual pull of `peers` nodes: a median of a minute, with quartiles of 48 s and 75 s.
pub(crate) fn a_minute(peers: u32, scope: PeerScope) -> UsualPull {
    let secs = Duration::from_secs;
    UsualPull { median: secs(60), quartiles: (secs(48), secs(75)), peers, scope }
}
