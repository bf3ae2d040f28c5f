//! `apps/v1` DaemonSets.
//!
//! Every patch carries the resource version that it was decided on. A merge patch carries it in the metadata, where the
//! server compares it; a JSON patch tests it first.

use serde_json::{Value, json};

use super::partial::daemonset_fact;
use super::workload::{PatchRequest, Workload};
use crate::engine::model::effect::DaemonSetPatch;
use crate::engine::model::facts::DaemonSetFact;
use crate::engine::model::record::{CHANGE, ORIGINAL_STRATEGY};

/// `apps/v1` DaemonSets.
#[derive(Debug)]
pub(super) struct Native;

impl Workload for Native {
    fn group(&self) -> &'static str {
        "apps"
    }

    fn plural(&self) -> &'static str {
        "daemonsets"
    }

    fn api_kind(&self) -> (&'static str, &'static str) {
        ("apps/v1", "DaemonSet")
    }

    fn collection(&self, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) => format!("/apis/apps/v1/namespaces/{namespace}/daemonsets"),
            None => "/apis/apps/v1/daemonsets".to_owned(),
        }
    }

    fn fact(&self, object: Value) -> Result<DaemonSetFact, String> {
        daemonset_fact(object)
    }

    fn patch(&self, resource_version: &str, patch: &DaemonSetPatch, known: Option<&DaemonSetFact>) -> PatchRequest {
        let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": resource_version});
        match patch {
            // The patch does not mention `rollingUpdate`, so the field stays: it is legal under OnDelete, and is needed when
            // the strategy is restored.
            DaemonSetPatch::Adopt { original, .. } => PatchRequest {
                content_type: "application/merge-patch+json",
                body: json!({
                    "metadata": {
                        "resourceVersion": resource_version,
                        "annotations": {ORIGINAL_STRATEGY: original},
                    },
                    "spec": {"updateStrategy": {"type": "OnDelete"}},
                }),
            },
            DaemonSetPatch::Template { template, change } => {
                let mut steps = vec![test, json!({"op": "replace", "path": "/spec/template", "value": template})];
                // The annotations exist: an adopted DaemonSet has its original strategy in one.
                if let Some(change) = change {
                    steps.push(json!({"op": "add", "path": annotation(CHANGE), "value": change}));
                }
                PatchRequest { content_type: "application/json-patch+json", body: Value::Array(steps) }
            }
            DaemonSetPatch::ForgetChange => PatchRequest {
                content_type: "application/merge-patch+json",
                body: json!({"metadata": {"resourceVersion": resource_version, "annotations": {CHANGE: null}}}),
            },
            DaemonSetPatch::Release { original, .. } => {
                let mut steps = vec![test, json!({"op": "replace", "path": "/spec/updateStrategy", "value": original})];
                // Removing an absent field would fail the whole patch.
                let known = known.filter(|known| &*known.resource_version == resource_version);
                if known.is_none_or(|known| known.annotations.get(ORIGINAL_STRATEGY).is_some()) {
                    steps.push(json!({"op": "remove", "path": annotation(ORIGINAL_STRATEGY)}));
                }
                if known.is_some_and(|known| known.annotations.get(CHANGE).is_some()) {
                    steps.push(json!({"op": "remove", "path": annotation(CHANGE)}));
                }
                PatchRequest { content_type: "application/json-patch+json", body: Value::Array(steps) }
            }
        }
    }
}

/// The JSON pointer of an annotation.
fn annotation(name: &str) -> String {
    format!("/metadata/annotations/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::Str;

    #[test]
    fn adopting_is_one_patch_that_keeps_rolling_update() {
        let patch = Native.patch("7", &DaemonSetPatch::Adopt { original: "{}".into(), on_delete: false }, None);
        assert_eq!(patch.content_type, "application/merge-patch+json");
        assert_eq!(
            patch.body,
            json!({
                "metadata": {"resourceVersion": "7", "annotations": {"rolldeck.io/original-update-strategy": "{}"}},
                "spec": {"updateStrategy": {"type": "OnDelete"}},
            })
        );
    }

    #[test]
    fn releasing_replaces_the_strategy_as_a_whole() {
        let original = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}});
        let release = DaemonSetPatch::Release { original: original.clone(), expected_template: None };
        let patch = Native.patch("7", &release, None);
        assert_eq!(
            patch.body,
            json!([
                {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
                {"op": "replace", "path": "/spec/updateStrategy", "value": original},
                {"op": "remove", "path": "/metadata/annotations/rolldeck.io~1original-update-strategy"},
            ])
        );
        let unmarked = DaemonSetFact { resource_version: "7".into(), ..DaemonSetFact::default() };
        assert_eq!(Native.patch("7", &release, Some(&unmarked)).body.as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn a_template_is_replaced_verbatim() {
        let template = json!({"spec": {"fieldOfTheFuture": 1}});
        let patch = |change: Option<Str>| {
            Native.patch("7", &DaemonSetPatch::Template { template: template.clone(), change }, None).body
        };
        assert_eq!(patch(None)[1], json!({"op": "replace", "path": "/spec/template", "value": template}));
        let named = patch(Some("00c0ffee/8".into()));
        let path = "/metadata/annotations/rolldeck.io~1change";
        assert_eq!(named[2], json!({"op": "add", "path": path, "value": "00c0ffee/8"}));
    }

    #[test]
    fn a_release_leaves_nothing_of_ours() {
        let annotations = [(ORIGINAL_STRATEGY, "{}"), (CHANGE, "00c0ffee/8")].into_iter().collect();
        let known = DaemonSetFact { resource_version: "7".into(), annotations, ..DaemonSetFact::default() };
        let release = DaemonSetPatch::Release { original: json!({"type": "RollingUpdate"}), expected_template: None };
        let body = Native.patch("7", &release, Some(&known)).body;
        let removed: Vec<_> = body.as_array().unwrap()[2..].iter().map(|step| step["path"].as_str().unwrap()).collect();
        let path = |name: &str| format!("/metadata/annotations/rolldeck.io~1{name}");
        assert_eq!(removed, [path("original-update-strategy"), path("change")]);
    }
}
