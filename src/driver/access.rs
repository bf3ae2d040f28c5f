//! Which cluster is meant, as whom, and why it could not be opened.
//!
//! Set by `--context`, `--kubeconfig`, `-n` and `--as`. Opening reads configuration only: whether the server
//! answers is told by the health of the watches, so that a console can draw its first frame before the network.

use std::path::PathBuf;

use crate::audit::AuditLog;
pub use crate::cluster::Reach;

/// Which cluster is meant, and as whom; what is left out comes from the kubeconfig.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// A kubeconfig file; otherwise `KUBECONFIG`, then `~/.kube/config`, then the pod's own service account.
    pub kubeconfig: Option<PathBuf>,
    /// A context in it; otherwise its current one.
    pub context: Option<String>,
    /// The namespace that is meant when none is named; otherwise the context's.
    pub namespace: Option<String>,
    /// A user to impersonate.
    pub impersonate: Option<String>,
    /// Where the audit log is written.
    pub audit: AuditLog,
    /// Over which kind of way the API server is reached; otherwise its address tells.
    pub reach: Reach,
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
