//! The progress of pre-warming.

use serde::Serialize;

use super::pulls::PrewarmPullsJson;
use crate::engine::model::Str;
use crate::engine::model::estimate::TimeRange;
use crate::engine::model::prewarm::{
    Prewarm, PrewarmCounts, PrewarmLeftover, PrewarmMethod, PrewarmNodes, PrewarmSite, PrewarmSource, PrewarmView,
    StuckSet,
};
use crate::engine::model::record::By;
use crate::engine::model::settings::{Limit, Pace};
use crate::engine::model::site::SiteLabel;

/// Pre-warming as a whole; the nodes have their own. `text` is the line that the console shows.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrewarmJson<'a> {
    text: String,
    /// The requested images or revision.
    source: &'a PrewarmSource,
    nodes: &'a PrewarmNodes,
    max_pulling: Limit,
    max_pulling_per_site: Limit,
    #[serde(skip_serializing_if = "Option::is_none")]
    site_label: Option<&'a SiteLabel>,
    pace: Pace,
    method: PrewarmMethod,
    by: &'a By,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<&'a By>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled: Option<&'a By>,
    /// On how many nodes the images were, if it ends because all have them. `cancelled` is there as well then, by rolldeck itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retried: Option<&'a By>,
    images: &'a [Str],
    /// The reason why pre-warming is not possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    counts: PrewarmCounts,
    /// Of those that failed, the number of which it is not recorded which they are. Their nodes are told as waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_unrecorded: Option<u32>,
    /// The number of nodes that pull, updates included; `limit` is the number that may.
    pulling: u32,
    limit: u32,
    sites: Vec<PrewarmSiteJson<'a>>,
    /// The remaining time, estimated from finished pulls.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<TimeRange>,
    /// The present rate of pulls, estimated from finished pulls.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_second: Option<u64>,
    /// The node on which the API server last refused a pod, and the server's message.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<RefusedWarmPodJson<'a>>,
    /// The reason why no more pods are made, if the registry does not give the image to anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    unobtainable: Option<String>,
    /// The StatefulSets that do not proceed to their next node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stuck: Vec<StuckSetJson<'a>>,
    /// The durations of pulls, if the images are others than the target's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pulls: Option<PrewarmPullsJson<'a>>,
    /// The number of unneeded pods that still have to be deleted, and the last failed deletion.
    left_over: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    deletion_refusal: Option<RefusedWarmPodJson<'a>>,
    /// Whether nothing more will happen by itself.
    done: bool,
}

/// A StatefulSet that waits for this pod or is not allowed to make one; `text` names the reason and the remedy.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StuckSetJson<'a> {
    stateful_set: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
    text: String,
}

#[derive(Serialize)]
struct RefusedWarmPodJson<'a> {
    node: &'a str,
    message: &'a str,
}

/// One site. Without its own `limit` the overall limit holds.
#[derive(Serialize)]
struct PrewarmSiteJson<'a> {
    name: &'a str,
    counts: PrewarmCounts,
    pulling: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<TimeRange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_second: Option<u64>,
}

impl<'a> PrewarmJson<'a> {
    pub(crate) fn new(prewarm: &'a PrewarmView) -> Self {
        let PrewarmView {
            request,
            images,
            error,
            counts,
            failed_elsewhere,
            limit,
            pulling,
            sites,
            estimate,
            throughput,
            refusal,
            unobtainable,
            stuck,
            leftover: PrewarmLeftover { pods: left_over, ending: _, undriven: _, refusal: deletion_refusal },
            pulls,
        } = prewarm;
        // Its DaemonSet is known, the identifiers of writes are ours, and the driver of the rollout is told beside it.
        let Prewarm {
            daemonset_uid: _,
            source,
            nodes,
            limits,
            method,
            stateful_sets: _,
            paused,
            cancelled,
            complete,
            retried,
            by,
            handover: _,
            // Failures are contained in the nodes.
            failures: _,
            unrecorded: _,
            write_ids: _,
        } = request;
        Self {
            text: prewarm.to_string(),
            source,
            nodes,
            max_pulling: limits.max_pulling,
            max_pulling_per_site: limits.max_pulling_per_site,
            site_label: limits.site_label.as_ref(),
            pace: limits.pace,
            method: *method,
            by,
            paused: paused.as_ref(),
            cancelled: cancelled.as_ref(),
            complete: *complete,
            retried: retried.as_ref(),
            images,
            error: error.as_deref(),
            counts: *counts,
            failed_unrecorded: Some(*failed_elsewhere).filter(|failed| *failed > 0),
            pulling: *pulling,
            limit: *limit,
            sites: sites.iter().map(PrewarmSiteJson::new).collect(),
            estimate: *estimate,
            bytes_per_second: *throughput,
            refusal: refusal.as_ref().map(|(node, message)| RefusedWarmPodJson { node, message }),
            unobtainable: unobtainable.map(|why| why.to_string()),
            stuck: stuck
                .iter()
                .zip(prewarm.stuck_in_words().map(|advice| advice.to_string()))
                .map(StuckSetJson::new)
                .collect(),
            pulls: (!pulls.images.is_empty()).then(|| PrewarmPullsJson::new(pulls)),
            left_over: *left_over,
            deletion_refusal: deletion_refusal.as_ref().map(|(node, message)| RefusedWarmPodJson { node, message }),
            done: prewarm.is_done(),
        }
    }
}

impl<'a> StuckSetJson<'a> {
    fn new((stuck, text): (&'a StuckSet, String)) -> Self {
        let StuckSet { name, pod, node, why: _ } = stuck;
        Self { stateful_set: name, pod: pod.as_deref(), node: node.as_deref(), text }
    }
}

impl<'a> PrewarmSiteJson<'a> {
    fn new(site: &'a PrewarmSite) -> Self {
        let PrewarmSite { name, counts, pulling, limit, estimate, throughput } = site;
        Self {
            name,
            counts: *counts,
            pulling: *pulling,
            limit: *limit,
            estimate: *estimate,
            bytes_per_second: *throughput,
        }
    }
}
