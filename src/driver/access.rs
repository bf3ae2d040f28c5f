//! The choice of a cluster and an identity, and the reason why a cluster could not be opened.
//!
//! An [`Access`] is set by `--context`, `--kubeconfig`, `-n`, `--as` and its companions, `--request-timeout` and
//! `--insecure-skip-tls-verify`. Opening reads configuration only. The health of the watches tells whether the server
//! answers, so that a console can draw its first frame before the network responds.

use std::path::PathBuf;
use std::time::Duration;

use crate::audit::AuditLog;
pub use crate::cluster::ServerPath;
use crate::engine::model::settings::Tuning;

/// The cluster to open and the identity to use. The kubeconfig supplies what is left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// A kubeconfig file; `None`: `KUBECONFIG`, then `~/.kube/config`, then the pod's own service account.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; `None`: its current context.
    pub context: Option<String>,
    /// The namespace of requests that name none; `None`: the context's namespace.
    pub namespace: Option<String>,
    /// Whom to impersonate.
    pub impersonate: Impersonate,
    /// How long the answer to a read may take; `None`: each read has its own limit; zero: no limit.
    pub request_timeout: Option<Duration>,
    /// Whether the server's certificate is not checked.
    pub insecure: bool,
    /// Where the audit log is written.
    pub audit: AuditLog,
    /// The settings with which a rollout begins that has no record yet.
    pub defaults: Tuning,
    /// The kind of path to the API server; by default the address of the server tells.
    pub server_path: ServerPath,
}

/// Whom to impersonate. Without a user, nobody is impersonated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Impersonate {
    /// The user.
    pub user: Option<String>,
    /// Its uid.
    pub uid: Option<String>,
    /// Its groups.
    pub groups: Vec<String>,
}

/// Why a cluster could not be opened.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct AccessError {
    /// The attempt, its object and the failure.
    pub message: String,
    /// The next things to try, one sentence each.
    pub hints: Vec<String>,
}
