//! Which cluster is meant, as whom, and why it could not be opened.
//!
//! Set by `--context`, `--kubeconfig`, `-n`, `--as` and what goes with it, `--request-timeout` and `--insecure-skip-tls-verify`. Opening reads configuration only: whether the server
//! answers is told by the health of the watches, so that a console can draw its first frame before the network.

use std::path::PathBuf;
use std::time::Duration;

use crate::audit::AuditLog;
pub use crate::cluster::ServerPath;
use crate::engine::model::settings::Tuning;

/// Which cluster is meant, and as whom; what is left out comes from the kubeconfig.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// A kubeconfig file; otherwise `KUBECONFIG`, then `~/.kube/config`, then the pod's own service account.
    pub kubeconfig: Option<PathBuf>,
    /// A context in it; otherwise its current one.
    pub context: Option<String>,
    /// The namespace that is meant when none is named; otherwise the context's.
    pub namespace: Option<String>,
    /// Whom to impersonate.
    pub impersonate: Impersonate,
    /// How long the answer to a read may take; `None` leaves that to each read, zero is without limit.
    pub request_timeout: Option<Duration>,
    /// Whether the server's certificate is not checked.
    pub insecure: bool,
    /// Where the audit log is written.
    pub audit: AuditLog,
    /// With which settings a rollout begins that is not recorded yet.
    pub defaults: Tuning,
    /// Over which kind of way the API server is reached; otherwise its address tells.
    pub server_path: ServerPath,
}

/// Whom to impersonate; nobody without a user.
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
    /// What was attempted, on what, and what went wrong.
    pub message: String,
    /// What to try next, a sentence each.
    pub hints: Vec<String>,
}
