//! One node, as `status --nodes` and the change feed print it.

use serde::Serialize;

use super::kinds;
use super::pulls::{ImagePullJson, UsualPullJson};
use crate::engine::model::node::{Blame, DownBy, RestartsView};
use crate::engine::model::node_details::NodeDetails;
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::time::Timestamp;
use crate::engine::report::prewarm_words::PrewarmWords;
use crate::engine::report::snapshot::NodeView;
use crate::engine::report::snapshot::words::Why;

/// One node. `why` is the line that the console shows.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeJson<'a> {
    name: &'a str,
    state: String,
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blame: Option<Blame>,
    /// Who took it down, where `blame` is `rollout` and the rollout is not known to have done it: `others` or `unrecorded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    down_by: Option<DownBy>,
    since: Option<Timestamp>,
    revision: Option<&'a str>,
    revision_number: Option<i64>,
    at_target: bool,
    image: String,
    /// Each of the target's images, in the order of its containers.
    images: Vec<ImagePullJson<'a>>,
    /// The usual duration of its running pull.
    #[serde(skip_serializing_if = "Option::is_none")]
    usual_pull: Option<UsualPullJson>,
    /// The progress of pre-warming on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    prewarm: Option<String>,
    pod: Option<&'a str>,
    pod_created_at: Option<Timestamp>,
    restarts: u32,
    /// The restarts for which it is watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarted: Option<RestartsView>,
    /// Whether its pod at the target was ready and has lost readiness.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lost_readiness: bool,
    /// Whether it fails, and an operator accepted that by resuming past a halt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    accepted: bool,
    /// Its assessment, if it went down after its update.
    #[serde(skip_serializing_if = "Option::is_none")]
    suspect: Option<Suspect>,
    /// The reason why the node should not run the pod, if it should not.
    #[serde(skip_serializing_if = "Option::is_none")]
    ineligible: Option<String>,
    /// Whether its pod is Ready on a Ready node.
    serves: bool,
    selected: bool,
    /// Empty if the node does not have the label that names its site.
    site: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure: Option<&'a str>,
    #[serde(flatten)]
    details: &'a NodeDetails,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_skew_millis: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_unavailable_until: Option<Timestamp>,
}

impl<'a> NodeJson<'a> {
    pub(crate) fn new(node: &'a NodeView, at: Timestamp) -> Self {
        // All fields are named here, so that the compiler asks of every new field whether it belongs in the JSON.
        let NodeView {
            name,
            state,
            hold,
            cause,
            blame,
            down_by,
            since,
            revision,
            revision_number,
            at_target,
            image,
            images,
            usual_pull,
            prewarm,
            pod,
            pod_created_at,
            restarts,
            restarted,
            lost_readiness,
            accepted,
            suspect,
            ineligible,
            serves,
            // Contained in `state` and `why`.
            crash_loop: _,
            committed: _,
            selected,
            site,
            clock_skew_millis,
            counted_unavailable_until,
            pressure,
            details,
            // Contained in `state`.
            eligible: _,
            // Contained in the findings of `diagnose`.
            cause_since: _,
            // Contained in `why`.
            pod_wait: _,
            // The cluster has them.
            labels: _,
            // This value changes whenever another node goes.
            rank: _,
        } = node;
        Self {
            name,
            state: state.to_string(),
            why: Why { node, at }.to_string(),
            hold: hold.as_ref().map(ToString::to_string),
            cause: cause.as_ref().map(ToString::to_string),
            message: cause.as_ref().and_then(|cause| cause.message.as_deref()),
            blame: *blame,
            down_by: *down_by,
            since: *since,
            revision: revision.as_deref(),
            revision_number: *revision_number,
            at_target: *at_target,
            image: image.to_string(),
            images: images.iter().map(ImagePullJson::new).collect(),
            usual_pull: usual_pull.as_deref().copied().map(UsualPullJson::new),
            prewarm: prewarm.as_ref().map(|state| PrewarmWords { state, at }.to_string()),
            pod: pod.as_deref(),
            pod_created_at: *pod_created_at,
            restarts: *restarts,
            restarted: *restarted,
            lost_readiness: *lost_readiness,
            accepted: *accepted,
            suspect: suspect.map(|suspect| Suspect::new(suspect, at)),
            ineligible: ineligible.as_ref().map(ToString::to_string),
            serves: *serves,
            selected: *selected,
            site,
            pressure: pressure.as_deref(),
            details,
            clock_skew_millis: *clock_skew_millis,
            counted_unavailable_until: *counted_unavailable_until,
        }
    }
}

/// A node that went down after its update: `state` is `waits` (it counts as failed from `until` on), `siteOutage` or
/// `failed`.
#[derive(Serialize)]
struct Suspect {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    text: String,
}

impl Suspect {
    fn new(suspect: SuspectView, at: Timestamp) -> Self {
        let until = match suspect {
            SuspectView::Waits { until } => Some(until),
            SuspectView::Outage | SuspectView::Stays | SuspectView::Again | SuspectView::Compared => None,
        };
        Self { state: kinds::suspect(suspect), until, text: suspect.words(at).to_string() }
    }
}
