//! The reasons why there is no connection.

use std::path::{Path, PathBuf};

use kube::config::KubeconfigError;

use super::super::failure::{ProxyFailure, root_cause};
use super::super::kubectl_place::KubectlPlace;

/// The reason why there is no connection: the attempt and its address. [`ConnectError::hints`] names the next things to try.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no kubeconfig, and this process does not run in a pod.
    #[error(
        "no kubeconfig found (looked for {})",
        tried.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NoKubeconfig {
        /// The paths that were tried.
        tried: Vec<PathBuf>,
    },
    /// A kubeconfig file cannot be read.
    #[error("cannot read the kubeconfig {}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's message.
        why: String,
    },
    /// The content of a kubeconfig file is not a valid kubeconfig.
    #[error("the kubeconfig {} is not valid: {why}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The error in the file.
        why: String,
    },
    /// The kubeconfig has no such context.
    #[error("the kubeconfig has no context `{requested}`")]
    UnknownContext {
        /// The requested context.
        requested: String,
        /// The existing contexts.
        known: Vec<String>,
    },
    /// The kubeconfig names no current context.
    #[error("the kubeconfig names no current context")]
    NoCurrentContext {
        /// The existing contexts.
        known: Vec<String>,
    },
    /// The context refers to a missing or invalid entry.
    #[error("context `{}` cannot be used: {why}", place.context)]
    BrokenContext {
        /// The context.
        place: KubectlPlace,
        /// The error in it.
        why: String,
    },
    /// No namespace can have the name that the context has for requests that name none.
    #[error("context `{context}` of the kubeconfig{} has the namespace `{namespace}`, and no namespace can be called that", of_file(file.as_deref()))]
    BadNamespace {
        /// The context.
        context: String,
        /// The file that defines the context, if it is known.
        file: Option<PathBuf>,
        /// The namespace.
        namespace: String,
    },
    /// This process seems to run in a pod, but the pod's service account cannot be used.
    #[error("the pod's service account cannot be used: {why}")]
    InCluster {
        /// The error.
        why: String,
    },
    /// The context's proxy cannot be used.
    #[error("the proxy of context `{context}` cannot be used: {why}")]
    Proxy {
        /// The context.
        context: String,
        /// The error.
        why: String,
    },
    /// The proxy does not make a connection to the API server.
    #[error("cannot reach the API server {server}: {failure}")]
    ThroughProxy {
        /// The API server's address.
        server: String,
        /// The proxy, and the failure.
        failure: ProxyFailure,
    },
    /// Credentials could not be obtained from a certificate, a token file or a credential plugin.
    #[error("no credentials for context `{}`: {why}", place.context)]
    Credentials {
        /// The context.
        place: KubectlPlace,
        /// The message of the failure.
        why: String,
    },
    /// The API server does not answer.
    #[error("cannot reach the API server {server}: {why}")]
    Unreachable {
        /// Its address.
        server: String,
        /// The network's message.
        why: String,
    },
    /// TLS with the API server fails.
    #[error("TLS with the API server {server} fails: {why}")]
    Tls {
        /// Its address.
        server: String,
        /// The error.
        why: String,
    },
    /// The API server does not accept the credentials.
    #[error("the API server {server} does not accept the credentials of context `{context}`: 401 {why}")]
    Unauthorized {
        /// Its address.
        server: String,
        /// The context of the credentials.
        context: String,
        /// The server's message.
        why: String,
    },
    /// The API server answers with a refusal.
    #[error("the API server {server} refuses: {why}")]
    Refused {
        /// Its address.
        server: String,
        /// The server's message.
        why: String,
    },
}

impl ConnectError {
    pub(super) fn of_file(path: &Path, error: &KubeconfigError) -> Self {
        let path = path.to_owned();
        match error {
            KubeconfigError::ReadConfig(error, _) => Self::Unreadable { path, why: error.to_string() },
            error => {
                let why = root_cause(error);
                Self::Invalid { path, why: why.lines().next().unwrap_or_default().to_owned() }
            }
        }
    }

    /// The next things to try, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoKubeconfig { .. } => {
                vec!["set KUBECONFIG, or pass --kubeconfig".to_owned(), "`rolldeck demo` needs no cluster".to_owned()]
            }
            Self::Unreadable { .. } => vec!["check the path and its permissions".to_owned()],
            Self::Invalid { .. } => vec!["`kubectl config view` reads the same file".to_owned()],
            Self::UnknownContext { requested, known } => suggestions(requested, known),
            Self::NoCurrentContext { known } if known.is_empty() => {
                vec!["it has no context at all: --kubeconfig or KUBECONFIG names another file".to_owned()]
            }
            Self::NoCurrentContext { known } => vec![format!("pass --context, one of: {}", listed(known))],
            Self::BrokenContext { place, .. } => {
                vec![format!("{} shows what it refers to", offered(place, "config view --minify"))]
            }
            Self::BadNamespace { .. } => vec![
                "correct `namespace` of that context, or pass `-n NAMESPACE`".to_owned(),
                "a namespace's name is lower case letters, digits and `-`, at most 63".to_owned(),
            ],
            Self::InCluster { .. } => {
                vec!["check automountServiceAccountToken of the pod, or pass --kubeconfig".to_owned()]
            }
            Self::Proxy { why, .. } if why.starts_with("proxy-url") => {
                vec!["remove `proxy-url` from its cluster where the API server can be reached directly".to_owned()]
            }
            Self::Proxy { .. } => {
                vec!["correct or unset that variable, or name the API server's host in NO_PROXY".to_owned()]
            }
            Self::ThroughProxy { failure, .. } => vec![failure.remedy()],
            Self::Credentials { place, .. } => {
                vec![format!("{} asks for the same credentials", offered(place, "version"))]
            }
            Self::Unreachable { .. } => {
                vec!["is the API server up, and is this the right context? `--context` picks another".to_owned()]
            }
            Self::Tls { .. } => {
                vec!["check `certificate-authority` and the server's address in the kubeconfig".to_owned()]
            }
            Self::Unauthorized { .. } => {
                vec!["the credentials are not accepted, or have expired: log in again".to_owned()]
            }
            Self::Refused { .. } => vec!["check the server's address in the kubeconfig".to_owned()],
        }
    }
}

/// The command in back quotes; without its flags if a name cannot be quoted safely.
fn offered(place: &KubectlPlace, words: &str) -> String {
    format!("`{}`", place.command(words).unwrap_or_else(|| format!("kubectl {words}")))
}

/// ` /home/ada/.kube/config`; empty if the file is not known.
fn of_file(file: Option<&Path>) -> String {
    file.map(|file| format!(" {}", file.display())).unwrap_or_default()
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "(it has none)".to_owned() } else { known.join(", ") }
}

/// A hint that names the most similar known name, if one is similar enough, and all known names.
fn suggestions(asked: &str, known: &[String]) -> Vec<String> {
    let nearest = known
        .iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(asked, name), name))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .filter(|(likeness, _)| *likeness > 0.6);
    let meant = nearest.map(|(_, name)| format!("did you mean `{name}`?"));
    meant.into_iter().chain([format!("it has: {}", listed(known))]).collect()
}
