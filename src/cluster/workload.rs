//! The differences between kinds of DaemonSets: their path, their reading and their patches.

use std::sync::Arc;

use serde_json::Value;

use crate::engine::model::effect::DaemonSetPatch;
use crate::engine::model::facts::DaemonSetFact;

/// A kind of DaemonSet.
pub(super) trait Workload: Send + Sync + 'static {
    /// Its API group, as access reviews name it.
    fn group(&self) -> &'static str;
    /// The plural of its kind, as paths and access reviews name it.
    fn plural(&self) -> &'static str;
    /// `apiVersion` and `kind`, as owner references and events name it.
    fn api_kind(&self) -> (&'static str, &'static str);
    /// The path of its collection in one namespace, or in all.
    fn collection(&self, namespace: Option<&str>) -> String;
    /// Reads the fact from an object of this kind.
    ///
    /// # Errors
    /// Names the part that cannot be understood.
    fn fact(&self, object: Value) -> Result<DaemonSetFact, String>;
    /// The request for `patch`, which succeeds only if the object is still at `resource_version`. `known` is the object as last seen.
    fn patch(&self, resource_version: &str, patch: &DaemonSetPatch, known: Option<&DaemonSetFact>) -> PatchRequest;
}

/// A patch as it is sent.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PatchRequest {
    /// `application/merge-patch+json` or `application/json-patch+json`.
    pub(super) content_type: &'static str,
    /// Its body.
    pub(super) body: Value,
}

/// A kind of DaemonSet, shared by its watches and its writer.
pub(super) type SharedWorkload = Arc<dyn Workload>;
