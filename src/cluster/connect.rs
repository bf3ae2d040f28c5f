//! Makes a connection from a kubeconfig, which `connect/kubeconfig.rs` reads. An error names the attempt, the address and the next thing to try.

mod error;
mod kubeconfig;
mod renewed;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::{mpsc, watch};

pub use error::ConnectError;
pub use kubeconfig::{IN_CLUSTER, context_names, host_and_port, server_of_context};

use self::kubeconfig::{Loaded, can_be_a_namespace, file_of_context, load, shown_url};
use self::renewed::Pinned;
use super::clock::Clock;
use super::failure::{Failure, proxy_cause, root_cause, tls_cause};
use super::feed::{self, Attachment};
use super::fleet;
use super::http::{Call, Http, ListTransfer, Traffic};
use super::inspect::{Inspected, inspect};
use super::kubectl_place::{KubectlPlace, kubeconfig_flag};
use super::log;
use super::native::Native;
use super::transport::{Credential, Hidden, ReadInline, Transport, proxy};
use super::workload::Workload;
use crate::engine::model::container_log::{LogNews, LogSource};
use crate::engine::model::event::Event;
use crate::engine::model::inspection::Inspection;
use crate::engine::model::shell::shell_flag;

/// How long a connection may take, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a first answer may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The cluster to connect to, and the identity to use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClusterTarget {
    /// A kubeconfig file; `None`: the places of kubectl (`$KUBECONFIG`, `~/.kube/config`), then the pod of this process.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; `None`: the current one.
    pub context: Option<String>,
    /// The namespace of requests that name none; `None`: the context's namespace.
    pub namespace: Option<String>,
    /// A user to impersonate.
    pub as_user: Option<String>,
    /// Groups to impersonate.
    pub as_groups: Vec<String>,
    /// A uid to impersonate.
    pub as_uid: Option<String>,
    /// How long the answer to a read may take; `None`: each read has its own limit; zero: no limit. Writes have limits of
    /// their own, which follow from the Lease.
    pub request_timeout: Option<Duration>,
    /// Whether the server's certificate is not checked, whatever the kubeconfig says.
    pub insecure: bool,
    /// The kind of path to the API server.
    pub server_path: ServerPath,
}

impl ClusterTarget {
    /// The flags of the command line that select the cluster and the identity, except context and namespace. Only flags that
    /// were given are listed, quoted for a shell. `None` if a flag cannot be quoted safely.
    pub fn given_flags(&self) -> Option<String> {
        let Self {
            kubeconfig,
            context: _,
            namespace: _,
            as_user,
            as_groups,
            as_uid,
            request_timeout: _,
            insecure,
            server_path: _,
        } = self;
        let file = kubeconfig.as_deref().map(kubeconfig_flag);
        let user = as_user.iter().map(|user| shell_flag("--as", user));
        let groups = as_groups.iter().map(|group| shell_flag("--as-group", group));
        let uid = as_uid.iter().map(|uid| shell_flag("--as-uid", uid));
        let insecure = insecure.then(|| Some("--insecure-skip-tls-verify".to_owned()));
        let flags: Option<Vec<String>> =
            file.into_iter().chain(user).chain(groups).chain(uid).chain(insecure).collect();
        Some(flags?.join(" "))
    }
}

/// The kind of path to an API server. It decides how lists are transferred: compressed over a network, where bytes take
/// time, and streamed on this machine, where compressing takes longer than sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ServerPath {
    /// The server's address decides. A loopback address belongs to this machine or to a tunnel; the server's answer time
    /// distinguishes the two. Any other address counts as a network.
    #[default]
    ByAddress,
    /// The server runs on this machine, whatever the address says.
    Loopback,
    /// The server is reached over a network, whatever the address says: a tunnel may end at a loopback address.
    Network,
}

impl ServerPath {
    /// The transfer of lists; `None` if it is to be measured.
    fn lists(self, server: &http::Uri) -> Option<ListTransfer> {
        let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
        let loopback =
            || host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
        match self {
            Self::Loopback => Some(ListTransfer::Streamed),
            Self::ByAddress if loopback() => None,
            Self::ByAddress | Self::Network => Some(ListTransfer::Compressed),
        }
    }
}

/// A connection to one cluster. Cheap to clone.
#[derive(Clone)]
pub struct Cluster {
    http: Http,
    context: Arc<str>,
    contexts: Arc<[String]>,
    place: KubectlPlace,
    namespace: Arc<str>,
    server: Arc<str>,
    credentials: Credentials,
}

/// The credentials in use: their names, and the secrets that must never be shown.
#[derive(Clone, Default)]
pub struct Credentials {
    /// The kubeconfig's name of the credentials.
    pub user: Option<String>,
    /// The impersonated user, with uid and groups if they are given.
    pub impersonates: Option<String>,
    /// Whether the server's certificate is not checked.
    pub insecure: bool,
    hidden: Hidden,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { user, impersonates, insecure, hidden: _ } = self;
        let mut shown = f.debug_struct("Credentials");
        shown
            .field("user", user)
            .field("impersonates", impersonates)
            .field("insecure", insecure)
            .finish_non_exhaustive()
    }
}

impl Credentials {
    fn of(user: Option<String>, config: &kube::Config, proxy: Option<&str>) -> Self {
        let auth = &config.auth_info;
        // Secrets are `secrecy::SecretString`s; without that crate only serialization gives their values.
        let fields = serde_json::to_value(auth).unwrap_or_default();
        let hidden = Hidden::default();
        for secret in ["token", "password", "client-key-data"].iter().filter_map(|name| fields[*name].as_str()) {
            hidden.add(secret);
        }
        let proxies = proxy.map(str::to_owned).into_iter().chain(proxy::ProxyEnvironment::of_process().urls());
        proxies.flat_map(|url| proxy::secrets_of(&url)).for_each(|secret| hidden.add(secret));
        if let Some((userinfo, _)) = config.cluster_url.authority().and_then(|at| at.as_str().rsplit_once('@')) {
            hidden.add(userinfo);
        }
        Self { user, impersonates: impersonated(auth), insecure: config.accept_invalid_certs, hidden }
    }

    /// Values that must never be shown and are removed from texts. The list grows during a session, because tokens are renewed.
    pub fn secrets(&self) -> Vec<String> {
        self.hidden.all()
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { context, namespace, server, .. } = self;
        f.debug_struct("Cluster")
            .field("context", context)
            .field("namespace", namespace)
            .field("server", server)
            .finish_non_exhaustive()
    }
}

/// The part of `/version` that is read.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ServerVersion {
    git_version: String,
}

impl Cluster {
    /// Reads the configuration and prepares a connection. Sends no request, so that a slow network causes no delay. A
    /// credential plugin is run if the kubeconfig names one.
    ///
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(target: &ClusterTarget) -> Result<Self, ConnectError> {
        // An error means that a provider is installed already, which has the same effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Loaded { mut config, context, contexts, user, proxy: in_kubeconfig, kubeconfig } =
            load(target.kubeconfig.as_deref(), target.context.as_deref()).await?;
        match &target.namespace {
            Some(namespace) => config.default_namespace.clone_from(namespace),
            None if config.default_namespace.is_empty() => "default".clone_into(&mut config.default_namespace),
            None if kubeconfig.is_some() && !can_be_a_namespace(&config.default_namespace) => {
                let file = file_of_context(target.kubeconfig.as_deref(), &context);
                return Err(ConnectError::BadNamespace { context, file, namespace: config.default_namespace });
            }
            None => {}
        }
        if let Some(user) = &target.as_user {
            config.auth_info.impersonate = Some(user.clone());
        }
        if !target.as_groups.is_empty() {
            config.auth_info.impersonate_groups = Some(target.as_groups.clone());
        }
        if let Some(uid) = &target.as_uid {
            config.auth_info.impersonate_uid = Some(uid.clone());
        }
        if target.insecure {
            // As in kubectl: if the certificate is not checked, no certificate authority is needed.
            config.accept_invalid_certs = true;
            (config.root_cert, config.root_cert_file) = (None, None);
        }
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        // The engine decides whether a write is repeated.
        config.default_retry = false;
        let environment = proxy::ProxyEnvironment::of_process();
        let through = proxy::proxy_for(&config.cluster_url, in_kubeconfig.as_deref(), &environment)
            .map_err(|why| ConnectError::Proxy { context: context.clone(), why })?;
        config.proxy_url = None;
        let credentials = Credentials::of(user, &config, in_kubeconfig.as_deref());
        let server: Arc<str> = shown_url(&config.cluster_url).into();
        let namespace: Arc<str> = config.default_namespace.as_str().into();
        let lists = target.server_path.lists(&config.cluster_url);
        let place = KubectlPlace { kubeconfig: target.kubeconfig.clone(), context: context.clone() };
        let no_credentials = |why: String| ConnectError::Credentials { place: place.clone(), why };
        let pinned = kubeconfig.map(|kubeconfig| Pinned::of(&kubeconfig, target.kubeconfig.as_deref(), &context));
        let read_inline = pinned.map(|pinned| -> ReadInline { Box::new(move || pinned.credentials()) });
        let credential = Credential::take(&mut config.auth_info, &credentials.hidden, &place, read_inline)
            .map_err(no_credentials)?;
        let first = credential.first().await.map_err(|failure| match failure {
            Failure::Credentials(why) => no_credentials(why),
            failure => no_credentials(failure.to_string()),
        })?;
        let transport =
            Transport::new(config, through, credential, &first, credentials.hidden.clone()).map_err(|error| {
                let server = || server.to_string();
                match (proxy_cause(&error), tls_cause(&error)) {
                    (Some(failure), _) => ConnectError::ThroughProxy { server: server(), failure: failure.clone() },
                    (None, Some(why)) => ConnectError::Tls { server: server(), why },
                    (None, None) => no_credentials(root_cause(&error)),
                }
            })?;
        let http = Http::new(transport, Clock::start()).with_read_timeout(target.request_timeout).with_lists(lists);
        Ok(Self { http, context: context.into(), contexts: contexts.into(), place, namespace, server, credentials })
    }

    /// Asks the server for its version, to find out whether it answers at all.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn probe(&self) -> Result<String, ConnectError> {
        let server = || self.server.to_string();
        match self.http.call(Call::get("/version", PROBE_TIMEOUT)).await {
            Ok(body) => Ok(serde_json::from_slice::<ServerVersion>(&body).unwrap_or_default().git_version),
            // 403 is an answer too: the credentials were accepted.
            Err(failure) if failure.is_forbidden() => Ok(String::new()),
            Err(failure @ Failure::Refused { code: 401, .. }) => {
                let (context, why) = (self.context.to_string(), failure.to_string());
                Err(ConnectError::Unauthorized { server: server(), context, why })
            }
            Err(Failure::Tls(why)) => Err(ConnectError::Tls { server: server(), why }),
            Err(Failure::Proxy(failure)) => Err(ConnectError::ThroughProxy { server: server(), failure }),
            Err(Failure::Credentials(why)) => Err(ConnectError::Credentials { place: self.place.clone(), why }),
            Err(failure @ Failure::Refused { .. }) => {
                Err(ConnectError::Refused { server: server(), why: failure.to_string() })
            }
            Err(failure) => Err(ConnectError::Unreachable { server: server(), why: failure.to_string() }),
        }
    }

    /// The kubeconfig context's name; [`IN_CLUSTER`] in a pod.
    pub fn context(&self) -> &str {
        &self.context
    }

    /// All contexts of the kubeconfig, in its order; empty in a pod.
    pub fn contexts(&self) -> &[String] {
        &self.contexts
    }

    /// The namespace of requests that name none.
    pub fn default_namespace(&self) -> &str {
        &self.namespace
    }

    /// The API server's address.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The credentials in use.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The clock by which events and snapshots of this connection are dated.
    pub fn clock(&self) -> Clock {
        self.http.clock()
    }

    /// Changes when the state of the cluster is found to have gone back to an earlier one, for example after a restore from a backup.
    pub fn restored(&self) -> watch::Receiver<u64> {
        self.http.news().restored()
    }

    /// Counts of the requests so far.
    pub fn traffic(&self) -> &Traffic {
        self.http.traffic()
    }

    /// Watches one DaemonSet and the objects that belong to it. Sends their changes to `events`, and gives the writer for its changes.
    pub fn attach(&self, namespace: &str, name: &str, events: mpsc::Sender<Event>) -> Attachment {
        let workload: Arc<dyn Workload> = Arc::new(Native);
        feed::attach(self.http.clone(), workload, namespace, name, events)
    }

    /// Watches all DaemonSets of `namespace`, or of all namespaces, and the Leases of rolldeck there.
    pub fn fleet(&self, namespace: Option<&str>, events: mpsc::Sender<fleet::FleetEvent>) -> fleet::FleetWatches {
        fleet::watch(self.http.clone(), &Native, namespace, &self.namespace, events)
    }

    /// Reads a node, its pod and the Events on it repeatedly, until every receiver is dropped.
    pub fn inspect(&self, namespace: &str, node: &str, pod: Option<&str>) -> watch::Receiver<Arc<Inspection>> {
        let what = Inspected { namespace: namespace.into(), node: node.into(), pod: pod.map(Into::into) };
        inspect(self.http.clone(), what)
    }

    /// Reads the log of a container, until the receiver is dropped.
    pub fn read_log(&self, source: LogSource) -> mpsc::Receiver<LogNews> {
        log::read(self.http.clone(), source)
    }
}

/// The impersonated user in words.
fn impersonated(auth: &kube::config::AuthInfo) -> Option<String> {
    let mut words: Vec<String> = auth.impersonate.iter().cloned().collect();
    words.extend(auth.impersonate_uid.iter().map(|uid| format!("uid {uid}")));
    words.extend(auth.impersonate_groups.iter().flatten().map(|group| format!("group {group}")));
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod address_tests;
#[cfg(test)]
mod tests;

#[cfg(test)]
mod target_tests {
    use super::*;

    #[test]
    fn lists_come_compressed_from_anything_but_this_machine() {
        let lists = |server: &str, server_path: ServerPath| server_path.lists(&server.parse().unwrap());
        for near in ["https://127.0.0.1:6443", "https://127.8.0.1", "https://[::1]:6443", "http://localhost:8001"] {
            assert_eq!(lists(near, ServerPath::ByAddress), None, "{near}: it may be a tunnel");
            assert_eq!(lists(near, ServerPath::Network), Some(ListTransfer::Compressed), "{near}");
        }
        for far in
            ["https://10.0.0.1:6443", "https://[2001:db8::1]:6443", "https://api.example", "https://localhost.example"]
        {
            assert_eq!(lists(far, ServerPath::ByAddress), Some(ListTransfer::Compressed), "{far}");
            assert_eq!(lists(far, ServerPath::Loopback), Some(ListTransfer::Streamed), "{far}");
        }
    }

    #[test]
    fn flags_that_were_given_are_told_and_no_others() {
        assert_eq!(ClusterTarget::default().given_flags().as_deref(), Some(""));
        let target = ClusterTarget {
            kubeconfig: Some("/etc/my edge".into()),
            context: Some("prod".into()),
            namespace: Some("edge".into()),
            as_user: Some("-jane doe".into()),
            as_groups: vec!["sre".into(), "it's".into()],
            as_uid: Some("7".into()),
            request_timeout: Some(Duration::from_secs(3)),
            insecure: true,
            server_path: ServerPath::Network,
        };
        let flags = "--kubeconfig '/etc/my edge' --as='-jane doe' --as-group sre --as-group \"it's\" --as-uid 7 --insecure-skip-tls-verify";
        assert_eq!(target.given_flags().as_deref(), Some(flags));
        let hostile = ClusterTarget { as_user: Some("a\u{1b}[2J".into()), ..target };
        assert_eq!(hostile.given_flags(), None);
    }
}
