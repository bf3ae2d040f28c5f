//! Policies that change new pods, as webhooks of sidecars and of signatures do, or other objects.

use serde_json::{Value, json};

use crate::control_plane::fixture::RolloutFixture;

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

/// A policy that changes objects of the fixture's namespace; dropping it deletes the policy.
pub(crate) struct MutatingPolicy<'a>(&'a RolloutFixture, String);

impl<'a> MutatingPolicy<'a> {
    /// Changes new pods. `condition`: which of them; `patch`: the change; both in CEL.
    pub(crate) fn set(fixture: &'a RolloutFixture, name: &str, condition: &str, patch: &str) -> Self {
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
        Self::of(fixture, name, &rule, condition, patch)
    }

    /// The same for the writes that `rule` names.
    pub(crate) fn of(fixture: &'a RolloutFixture, name: &str, rule: &Value, condition: &str, patch: &str) -> Self {
        let name = format!("{name}-{}", fixture.sandbox.namespace());
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
