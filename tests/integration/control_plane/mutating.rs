//! Policies that change new pods, as webhooks of sidecars and of signatures do.

use serde_json::json;

use crate::control_plane::fixture::RolloutFixture;

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

/// A policy that changes new pods of the fixture's namespace; dropping it deletes the policy.
pub(crate) struct MutatingPolicy<'a>(&'a RolloutFixture, String);

impl<'a> MutatingPolicy<'a> {
    /// `condition`: the pods that the policy changes; `patch`: the change; both in CEL.
    pub(crate) fn set(fixture: &'a RolloutFixture, name: &str, condition: &str, patch: &str) -> Self {
        let name = format!("{name}-{}", fixture.sandbox.namespace());
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
        let policy = json!({
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": fixture.sandbox.namespace()}},
                    "resourceRules": [rule],
                },
                "matchConditions": [{"name": "these", "expression": condition}],
                "reinvocationPolicy": "Never",
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
            },
        });
        let admin = fixture.sandbox.admin();
        admin.post(&format!("{ADMISSION}/mutatingadmissionpolicies"), &policy).ok();
        let binding = json!({"metadata": {"name": name}, "spec": {"policyName": name}});
        admin.post(&format!("{ADMISSION}/mutatingadmissionpolicybindings"), &binding).ok();
        Self(fixture, name)
    }
}

impl Drop for MutatingPolicy<'_> {
    fn drop(&mut self) {
        for kind in ["mutatingadmissionpolicybindings", "mutatingadmissionpolicies"] {
            self.0.sandbox.admin().delete(&format!("{ADMISSION}/{kind}/{}", self.1));
        }
    }
}
