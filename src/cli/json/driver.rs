//! Who drives, and what else manages the DaemonSet.

use serde::Serialize;

use super::kinds;
use crate::engine::model::driver::DriverView;
use crate::engine::model::gitops_owner::{GitOpsOwner, Returns};
use crate::engine::model::time::Timestamp;

/// Who drives: `state` is `you`, `other`, `lost`, `waiting`, `nobody`, `unknown`, or `named` where the Lease names somebody
/// whom we have not seen renew it: then `renewedAt` is when they did last, by their clock.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renewed_at: Option<Timestamp>,
}

impl<'a> Driver<'a> {
    pub(super) fn new(driver: &'a DriverView) -> Self {
        let (holder, seen_at) = match driver {
            DriverView::Unknown | DriverView::Nobody => (None, None),
            DriverView::You { renewed_at } => (None, Some(*renewed_at)),
            DriverView::Waiting { holder } => (holder.as_deref(), None),
            DriverView::Named { holder, .. } => (Some(&**holder), None),
            DriverView::Other { holder, seen_at } | DriverView::Lost { holder, seen_at } => {
                (Some(&**holder), Some(*seen_at))
            }
        };
        let renewed_at = match driver {
            DriverView::Named { renewed_at, .. } => *renewed_at,
            _ => None,
        };
        Self { state: kinds::driver(driver), holder, seen_at, renewed_at }
    }
}

/// Something else that manages the DaemonSet. `returns` is `byItself`, `onRequest`, `never` or `unknown`: when it sets back
/// what a rollout changes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ManagedBy<'a> {
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<String>,
    returns: Returns,
    expects: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    holding: Option<String>,
    evidence: &'a [String],
}

impl<'a> ManagedBy<'a> {
    pub(super) fn new(gitops_owner: &'a GitOpsOwner) -> Self {
        Self {
            tool: gitops_owner.tool.to_string(),
            application: gitops_owner.application.as_ref().map(ToString::to_string),
            returns: gitops_owner.returns,
            expects: gitops_owner.expects(),
            holding: gitops_owner.holding(),
            evidence: &gitops_owner.evidence,
        }
    }
}
