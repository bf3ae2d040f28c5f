//! The driver, and other managers of the DaemonSet.

use serde::Serialize;

use super::kinds;
use crate::driver::DrivenBy;
use crate::engine::model::driver::DriverView;
use crate::engine::model::gitops_owner::{GitOpsOwner, RevertTrigger};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;

/// The driver: `state` is `you`, `other`, `lost`, `waiting`, `controller` (its own), `nobody`, `unknown` or `unconfirmed`.
/// `unconfirmed` means that this process has not seen the Lease's holder renew it yet; then `renewedAt` is the holder's last
/// renewal, by the holder's clock.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DriverJson<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renewal_observed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renewed_at: Option<Timestamp>,
}

impl<'a> DriverJson<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        let driver = &snapshot.driver;
        let (holder, renewal_observed_at) = match driver {
            DriverView::Unknown | DriverView::Nobody => (None, None),
            DriverView::You { renewed_at, .. } => (None, Some(*renewed_at)),
            DriverView::Waiting { holder } => (holder.as_deref(), None),
            DriverView::Unconfirmed { holder, .. } => (Some(&**holder), None),
            DriverView::Lost { holder, renewed_at: Some(_), .. } => (Some(&**holder), None),
            DriverView::Other { holder, renewal_observed_at }
            | DriverView::Lost { holder, renewal_observed_at, renewed_at: None } => {
                (Some(&**holder), Some(*renewal_observed_at))
            }
        };
        let renewed_at = match driver {
            DriverView::Unconfirmed { renewed_at, .. } | DriverView::Lost { renewed_at, .. } => *renewed_at,
            _ => None,
        };
        Self { state: kinds::driver(driver, snapshot.strategy), holder, renewal_observed_at, renewed_at }
    }
}

/// The driver of one DaemonSet of a list, in the words of [`DriverJson`].
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FleetDriverJson<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<&'a str>,
}

impl<'a> FleetDriverJson<'a> {
    pub(super) fn new(driven_by: &'a DrivenBy) -> Self {
        let (state, holder) = match driven_by {
            DrivenBy::Controller => ("controller", None),
            DrivenBy::Nobody => ("nobody", None),
            DrivenBy::You => ("you", None),
            DrivenBy::Other(holder) => ("other", Some(&**holder)),
            DrivenBy::Unconfirmed(holder) => ("unconfirmed", Some(&**holder)),
            DrivenBy::Unknown => ("unknown", None),
        };
        Self { state, holder }
    }
}

/// Another manager of the DaemonSet. `reverts` is `byItself`, `onRequest`, `never` or `unknown`: when the manager reverts
/// the changes of a rollout.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ManagedByJson<'a> {
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<String>,
    reverts: RevertTrigger,
    expects: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspend_hint: Option<String>,
    evidence: &'a [String],
}

impl<'a> ManagedByJson<'a> {
    pub(super) fn new(gitops_owner: &'a GitOpsOwner) -> Self {
        Self {
            tool: gitops_owner.tool.to_string(),
            application: gitops_owner.application.as_ref().map(ToString::to_string),
            reverts: gitops_owner.reverts,
            expects: gitops_owner.expects(),
            suspend_hint: gitops_owner.suspend_hint(),
            evidence: &gitops_owner.evidence,
        }
    }
}
