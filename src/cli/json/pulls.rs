//! Image pulls: one by one on a node, and all pulls of a rollout.

use serde::Serialize;

use crate::engine::model::Str;
use crate::engine::model::pace::PacedSite;
use crate::engine::model::pull::{
    Evidence, FinishedPull, ImagePull, ImageSummary, NodePull, PeerScope, PrewarmPulls, PullCounts, PullFailure,
    PullState, PullSummary, SlowPull, UsualPull,
};
use crate::engine::model::template::ImageUse;
use crate::engine::model::time::Timestamp;

/// One image on one node. Fields that do not apply to `state` are absent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImagePullJson<'a> {
    container: &'a str,
    /// Whether that is an init container, a sidecar among them.
    init: bool,
    /// Whether that is a sidecar: an init container with `restartPolicy` Always. Absent for any other container.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sidecar: bool,
    image: &'a str,
    /// `unknown`, `absent`, `queued`, `pulling`, `present` or `failed`.
    state: String,
    /// The beginning of the running pull.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    /// The evidence that the image is present.
    #[serde(skip_serializing_if = "Option::is_none")]
    known_by: Option<Evidence>,
    /// The duration of the pull, including waits for other pulls on the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    took_millis: Option<u128>,
    /// The duration without these waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer_millis: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// The reason why it could not be pulled.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<PullFailure>,
    /// The kubelet's message for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<'a> ImagePullJson<'a> {
    pub(super) fn new(pull: &'a ImagePull) -> Self {
        let (mut since, mut known_by, mut finished, mut failed) = (None, None, None, None);
        match &pull.state {
            PullState::Unknown | PullState::Absent | PullState::Queued => {}
            PullState::Pulling { since: at } => since = Some(*at),
            PullState::Present { by, pull } => (known_by, finished) = (Some(*by), *pull),
            PullState::Failed { why, message } => failed = Some((*why, message.as_deref())),
        }
        Self {
            container: &pull.container,
            init: match pull.usage {
                ImageUse::Init | ImageUse::Sidecar => true,
                ImageUse::Main | ImageUse::Volume => false,
            },
            sidecar: pull.usage == ImageUse::Sidecar,
            image: &pull.image,
            state: pull.state.to_string(),
            since,
            known_by,
            took_millis: finished.map(|pull| pull.took.as_millis()),
            transfer_millis: finished.map(|pull| pull.transfer.as_millis()),
            bytes: finished.and_then(|pull| pull.bytes),
            failure: failed.map(|(why, _)| why),
            message: failed.and_then(|(_, message)| message),
        }
    }
}

/// The duration of an image's pull on nodes that have finished: an estimate from `peers` nodes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsualPullJson {
    median_millis: u128,
    /// A quarter of the nodes were faster than the first value, a quarter slower than the second.
    quartiles_millis: [u128; 2],
    peers: u32,
    scope: PeerScope,
}

impl UsualPullJson {
    pub(super) fn new(usual: UsualPull) -> Self {
        let UsualPull { median, quartiles: (low, high), peers, scope } = usual;
        Self { median_millis: median.as_millis(), quartiles_millis: [low.as_millis(), high.as_millis()], peers, scope }
    }
}

/// The number of nodes of a site that may pull at once, if it follows the capacity of the site's link, with the reason.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PacedSiteJson<'a> {
    site: &'a str,
    limit: u32,
    /// `raised: 3 finished, 11 MB/s`.
    why: String,
}

impl<'a> PacedSiteJson<'a> {
    pub(super) fn new(paced: &'a PacedSite) -> Self {
        let PacedSite { site, limit, why } = paced;
        Self { site, limit: *limit, why: why.to_string() }
    }
}

/// All pulls of the target's images.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PullsJson<'a> {
    /// The numbers of nodes by the state of their images.
    nodes: PullCounts,
    images: Vec<ImagePullsJson<'a>>,
    /// Finished pulls that took much longer than those of their peers, the slowest first.
    slow: Vec<SlowPullJson<'a>>,
}

#[derive(Serialize)]
struct ImagePullsJson<'a> {
    image: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usual: Option<UsualPullJson>,
    sites: Vec<SitePullsJson<'a>>,
}

#[derive(Serialize)]
struct SitePullsJson<'a> {
    site: &'a str,
    usual: UsualPullJson,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SlowPullJson<'a> {
    node: &'a str,
    image: &'a str,
    took_millis: u128,
    /// The factor by which the pull was slower than the median of its peers.
    times: u32,
    scope: PeerScope,
}

impl<'a> PullsJson<'a> {
    pub(super) fn new(summary: &'a PullSummary) -> Self {
        let PullSummary { counts, images, slow } = summary;
        let (images, slow) = (images.iter().map(ImagePullsJson::new), slow.iter().map(SlowPullJson::new));
        Self { nodes: *counts, images: images.collect(), slow: slow.collect() }
    }
}

/// The pulls of images that are pre-warmed and that the target does not need.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PrewarmPullsJson<'a> {
    images: Vec<ImagePullsJson<'a>>,
    /// Finished pulls that took much longer than those of their peers, the slowest first.
    slow: Vec<SlowPullJson<'a>>,
    /// All finished pulls, by node.
    finished: Vec<FinishedPullJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FinishedPullJson<'a> {
    node: &'a str,
    image: &'a str,
    took_millis: u128,
    transfer_millis: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

impl<'a> PrewarmPullsJson<'a> {
    pub(super) fn new(pulls: &'a PrewarmPulls) -> Self {
        let PrewarmPulls { images, slow, finished } = pulls;
        let finished = finished.iter().map(|NodePull { node, image, pull }| {
            let FinishedPull { took, transfer, bytes } = *pull;
            FinishedPullJson {
                node,
                image,
                took_millis: took.as_millis(),
                transfer_millis: transfer.as_millis(),
                bytes,
            }
        });
        Self {
            images: images.iter().map(ImagePullsJson::new).collect(),
            slow: slow.iter().map(SlowPullJson::new).collect(),
            finished: finished.collect(),
        }
    }
}

impl<'a> ImagePullsJson<'a> {
    fn new(known: &'a ImageSummary) -> Self {
        let site = |(site, usual): &'a (Str, UsualPull)| SitePullsJson { site, usual: UsualPullJson::new(*usual) };
        Self {
            image: &known.image,
            bytes: known.bytes,
            usual: known.fleet.map(UsualPullJson::new),
            sites: known.sites.iter().map(site).collect(),
        }
    }
}

impl<'a> SlowPullJson<'a> {
    fn new(slow: &'a SlowPull) -> Self {
        let SlowPull { node, image, took, times, scope } = slow;
        Self { node, image, took_millis: took.as_millis(), times: *times, scope: *scope }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::pull::fixtures::image;

    #[test]
    fn a_sidecar_is_an_init_container_and_says_so() {
        let told = |usage| {
            let json = serde_json::to_value(ImagePullJson::new(&image(usage, PullState::Queued))).unwrap();
            (json["init"].as_bool(), json.get("sidecar").and_then(serde_json::Value::as_bool))
        };
        let want = [
            (ImageUse::Init, (Some(true), None)),
            (ImageUse::Sidecar, (Some(true), Some(true))),
            (ImageUse::Main, (Some(false), None)),
            (ImageUse::Volume, (Some(false), None)),
        ];
        for (usage, fields) in want {
            assert_eq!(told(usage), fields, "{usage:?}");
        }
    }
}
