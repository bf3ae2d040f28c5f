//! A ControllerRevision of a DaemonSet.

use serde_json::Value;

use super::{controller_of, instant_of, str_of, take, words_of};
use crate::cluster::clip;
use crate::engine::model::Str;
use crate::engine::model::facts::RevisionFact;
use crate::engine::model::template::Template;

/// The annotation in which kubectl users give the cause of a change.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// The fact in a ControllerRevision.
pub(crate) fn revision_fact(mut object: Value) -> RevisionFact {
    let template = take(&mut object, "/data/spec/template");
    let metadata = &object["metadata"];
    let name = str_of(&metadata["name"]).unwrap_or_default();
    RevisionFact {
        // The controller falls back to the name itself if the label is missing.
        hash: str_of(&metadata["labels"]["controller-revision-hash"]).unwrap_or_else(|| Str::clone(&name)),
        name,
        number: object["revision"].as_i64().unwrap_or(0),
        owner: controller_of(metadata),
        created_at: instant_of(&metadata["creationTimestamp"]).unwrap_or_default(),
        change_cause: words_of(&metadata["annotations"][CHANGE_CAUSE], clip::CHANGE_CAUSE),
        template: Template::from_json(template),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeps_the_template_verbatim() {
        let revision = revision_fact(json!({
            "kind": "ControllerRevision",
            "metadata": {
                "name": "agent-7d9f8c6b5",
                "creationTimestamp": "2026-11-20T08:00:00Z",
                "labels": {"app": "agent", "controller-revision-hash": "7d9f8c6b5"},
                "annotations": {"kubernetes.io/change-cause": "v2 for all"},
                "ownerReferences": [{"kind": "DaemonSet", "uid": "ds-uid", "controller": true}],
            },
            "data": {"spec": {"template": {
                "$patch": "replace",
                "metadata": {"creationTimestamp": null, "labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "agent", "image": "agent:v2"}], "fieldOfTheFuture": {"a": [1]}},
            }}},
            "revision": 3,
        }));
        assert_eq!((&*revision.hash, revision.number, revision.owner.as_deref()), ("7d9f8c6b5", 3, Some("ds-uid")));
        assert_eq!(revision.change_cause.as_deref(), Some("v2 for all"));
        assert_eq!(revision.template.json()["spec"]["fieldOfTheFuture"], json!({"a": [1]}));
        assert_eq!(revision.template.images(), [Str::from("agent:v2")]);
    }

    #[test]
    fn without_a_label_the_name_is_the_hash() {
        let revision = revision_fact(json!({"metadata": {"name": "handmade"}, "revision": 1}));
        assert_eq!(&*revision.hash, "handmade");
    }
}
