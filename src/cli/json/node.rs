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
    /// How many of them do not count, since its node was restarted.
    restarts_with_node: u32,
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
    suspect: Option<SuspectJson>,
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
        Self {
            name: &node.name,
            state: node.state.to_string(),
            why: Why { node, at }.to_string(),
            hold: node.hold.as_ref().map(ToString::to_string),
            cause: node.cause.as_ref().map(ToString::to_string),
            message: node.cause.as_ref().and_then(|cause| cause.message.as_deref()),
            blame: node.blame,
            down_by: node.down_by,
            since: node.shown_since(),
            revision: node.revision_hash().map(|hash| &**hash),
            revision_number: node.revision_number(),
            at_target: node.at_target,
            image: node.image.to_string(),
            images: node.images.iter().map(ImagePullJson::new).collect(),
            usual_pull: node.usual_pull.as_deref().copied().map(UsualPullJson::new),
            prewarm: node.prewarm.as_ref().map(|state| PrewarmWords { state, at }.to_string()),
            pod: node.pod.as_deref(),
            pod_created_at: node.pod_created_at,
            restarts: node.restarts,
            restarts_with_node: node.restarts_with_node,
            restarted: node.restarted.as_deref().copied(),
            lost_readiness: node.lost_readiness,
            accepted: node.accepted,
            suspect: node.suspect.map(|suspect| SuspectJson::new(suspect, at)),
            ineligible: node.ineligible.as_ref().map(ToString::to_string),
            serves: node.serves,
            selected: node.selected,
            site: &node.site,
            pressure: node.pressure.as_deref(),
            details: &node.details,
            clock_skew_millis: node.clock_skew_millis,
            counted_unavailable_until: node.counted_unavailable_until,
        }
    }
}

/// A node that went down after its update: `state` is `waits` (it counts as failed from `until` on), `inUpdate` (so does this one, and its kubelet says so itself while it is updated),
/// `siteOutage`, `allOver` or `failed`.
#[derive(Serialize)]
struct SuspectJson {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    text: String,
}

impl SuspectJson {
    fn new(suspect: SuspectView, at: Timestamp) -> Self {
        let until = match suspect {
            SuspectView::Waits { until } | SuspectView::InUpdate { until } => Some(until),
            SuspectView::Outage
            | SuspectView::AllOver
            | SuspectView::Stays
            | SuspectView::Again
            | SuspectView::Compared => None,
        };
        Self { state: kinds::suspect(suspect), until, text: suspect.words(at).to_string() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::engine::model::node_details::NodeDetail;

    /// The values of a node that have no name of their own in the JSON, and why.
    const UNNAMED: [(&str, &str); 7] = [
        ("pod_wait", "contained in `why`"),
        ("cause_since", "contained in the findings of `diagnose`"),
        ("crash_loop", "contained in `state` and `why`"),
        ("committed", "contained in `state` and `why`"),
        ("eligible", "contained in `state`"),
        ("labels", "the cluster has them"),
        ("rank", "it changes whenever another node goes"),
    ];

    fn told(node: &NodeView) -> Value {
        serde_json::to_value(NodeJson::new(node, Timestamp::from_millis(1_795_262_400_000))).unwrap()
    }

    /// The names under which the JSON tells a field.
    fn names_of(field: &str) -> BTreeSet<String> {
        if UNNAMED.iter().any(|(unnamed, _)| *unnamed == field) {
            return BTreeSet::new();
        }
        match field {
            "cause" => ["cause".to_owned(), "message".to_owned()].into(),
            "revision" => ["revision".to_owned(), "revisionNumber".to_owned()].into(),
            "details" => NodeDetail::ALL.map(|detail| detail.reported().to_owned()).into(),
            _ => {
                let mut words = field.split('_');
                let first = words.next().unwrap_or_default().to_owned();
                let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
                [words.fold(first, |name, word| name + &capital(word))].into()
            }
        }
    }

    /// A field that is missing here is told to nobody who reads the JSON; one under the name of another is told as that.
    #[test]
    fn every_value_of_a_node_is_told_under_its_own_name() {
        let known = NodeView::known(1);
        let all = told(&known);
        for (field, changed) in known.with_each_field_of(&NodeView::unknown("ipc")) {
            let without = told(&changed);
            let names = [&all, &without].into_iter().flat_map(|told| told.as_object().unwrap().keys());
            // `why` is a sentence about many of them.
            let other = names.filter(|name| *name != "why" && all[*name] != without[*name]);
            assert_eq!(other.cloned().collect::<BTreeSet<_>>(), names_of(field), "{field}");
        }
        insta::assert_snapshot!(serde_json::to_string_pretty(&all).unwrap());
    }
}
