//! Makes a connection from a kubeconfig. An error names the attempt, the address and the next thing to try.

mod error;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use serde::Deserialize;
use tokio::sync::{mpsc, watch};

pub use error::ConnectError;

use super::clock::Clock;
use super::failure::{Failure, proxy_cause, root_cause, tls_cause};
use super::feed::{self, Attachment};
use super::fleet;
use super::http::{Call, Http, ListTransfer, Traffic};
use super::inspect::{Inspected, inspect};
use super::kubectl_place::{KubectlPlace, kubeconfig_flag};
use super::log;
use super::native::Native;
use super::transport::{Credential, Hidden, Transport, proxy};
use super::workload::Workload;
use crate::engine::model::container_log::{LogNews, LogSource};
use crate::engine::model::event::Event;
use crate::engine::model::inspection::Inspection;
use crate::engine::model::shell::shell_flag;

/// How long a connection may take, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a first answer may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The name of the context in a pod without a kubeconfig. No command can name it as a context.
pub const IN_CLUSTER: &str = "in-cluster";

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
        let Loaded { mut config, context, contexts, user, proxy: in_kubeconfig } = load(target).await?;
        if let Some(namespace) = &target.namespace {
            config.default_namespace.clone_from(namespace);
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
        let credential =
            Credential::take(&mut config.auth_info, &credentials.hidden, &place).map_err(no_credentials)?;
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

/// The contexts of the given kubeconfig, or of the usual kubeconfigs. Files that cannot be read are left out.
pub fn context_names(kubeconfig: Option<&Path>) -> Vec<String> {
    let read = files(kubeconfig).into_iter().filter_map(|path| Kubeconfig::read_from(path).ok());
    read.flat_map(|kubeconfig| kubeconfig.contexts).map(|context| context.name).collect()
}

/// The host and port of the server of a context of the given kubeconfig, or of the usual ones; `None` if there is no such
/// context, or it cannot be read.
pub fn server_of_context(kubeconfig: Option<&Path>, context: &str) -> Option<String> {
    let read: Vec<Kubeconfig> =
        files(kubeconfig).into_iter().filter_map(|path| Kubeconfig::read_from(path).ok()).collect();
    // If several files define a name, the first definition counts.
    let named = read.iter().flat_map(|kubeconfig| &kubeconfig.contexts).find(|named| named.name == context)?;
    let cluster = &named.context.as_ref()?.cluster;
    let cluster = read.iter().flat_map(|kubeconfig| &kubeconfig.clusters).find(|named| named.name == *cluster)?;
    host_and_port(cluster.cluster.as_ref()?.server.as_deref()?)
}

/// Host and port of a server's address. The user name and password that the address may contain are left out.
pub fn host_and_port(server: &str) -> Option<String> {
    let server = server.parse::<http::Uri>().ok()?;
    let host = server.host()?;
    Some(server.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// The values that were read from the kubeconfig.
struct Loaded {
    config: kube::Config,
    /// The context's name.
    context: String,
    /// The names of all contexts.
    contexts: Vec<String>,
    /// The kubeconfig's name of the credentials.
    user: Option<String>,
    /// `proxy-url` of the cluster.
    proxy: Option<String>,
}

async fn load(target: &ClusterTarget) -> Result<Loaded, ConnectError> {
    let files = files(target.kubeconfig.as_deref());
    let present: Vec<&PathBuf> = files.iter().filter(|path| target.kubeconfig.is_some() || path.exists()).collect();
    if present.is_empty() {
        return match kube::Config::incluster() {
            Ok(config) => {
                Ok(Loaded { config, context: IN_CLUSTER.to_owned(), contexts: Vec::new(), user: None, proxy: None })
            }
            Err(_) if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() => {
                Err(ConnectError::NoKubeconfig { tried: files })
            }
            Err(error) => Err(ConnectError::InCluster { why: root_cause(&error) }),
        };
    }
    let mut kubeconfig = Kubeconfig::default();
    for path in present {
        kubeconfig = Kubeconfig::read_from(path)
            .and_then(|next| kubeconfig.merge(next))
            .map_err(|error| ConnectError::of_file(path, &error))?;
    }
    let context = pick_context(&kubeconfig, target.context.as_deref())?;
    let named = kubeconfig.contexts.iter().find(|known| known.name == context);
    let user = named.and_then(|named| named.context.as_ref()?.user.clone()).filter(|user| !user.is_empty());
    let cluster = named.and_then(|named| Some(&named.context.as_ref()?.cluster));
    let cluster = cluster.and_then(|name| kubeconfig.clusters.iter().find(|known| known.name == *name));
    let proxy = cluster.and_then(|cluster| cluster.cluster.as_ref()?.proxy_url.clone());
    let contexts = kubeconfig.contexts.iter().map(|known| known.name.clone()).collect();
    ignore_proxy_environment(&mut kubeconfig);
    let place = KubectlPlace { kubeconfig: target.kubeconfig.clone(), context: context.clone() };
    let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| match &error {
        KubeconfigError::LoadClientCertificate(_) | KubeconfigError::LoadClientKey(_) => {
            ConnectError::Credentials { place: place.clone(), why: root_cause(&error) }
        }
        _ => ConnectError::BrokenContext { place: place.clone(), why: error.to_string() },
    })?;
    if let Some(why) = refused_address(&config.cluster_url) {
        return Err(ConnectError::BrokenContext { place, why });
    }
    Ok(Loaded { config, context, contexts, user, proxy })
}

/// kube reads `HTTPS_PROXY` if a cluster has no `proxy-url`, and refuses the whole configuration if that variable is not a
/// URL, although this server may need no proxy. [`proxy::proxy_for`] decides on the proxy later, so any URL is good enough
/// here.
fn ignore_proxy_environment(kubeconfig: &mut Kubeconfig) {
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        cluster.proxy_url = Some("http://unused".to_owned());
    }
}

/// The impersonated user in words.
fn impersonated(auth: &kube::config::AuthInfo) -> Option<String> {
    let mut words: Vec<String> = auth.impersonate.iter().cloned().collect();
    words.extend(auth.impersonate_uid.iter().map(|uid| format!("uid {uid}")));
    words.extend(auth.impersonate_groups.iter().flatten().map(|group| format!("group {group}")));
    (!words.is_empty()).then(|| words.join(", "))
}

/// The server's address without user and password.
fn shown_url(url: &http::Uri) -> String {
    let text = url.to_string();
    let text = text.trim_end_matches('/');
    match (text.split_once("://"), url.authority().and_then(|at| at.as_str().rsplit_once('@'))) {
        (Some((scheme, rest)), Some((userinfo, _))) => {
            format!("{scheme}://{}", rest.strip_prefix(userinfo).map_or(rest, |rest| rest.trim_start_matches('@')))
        }
        _ => text.to_owned(),
    }
}

/// The paths at which a kubeconfig is looked for, as in kubectl.
fn files(given: Option<&Path>) -> Vec<PathBuf> {
    if let Some(given) = given {
        return vec![given.to_owned()];
    }
    let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let listed: Vec<PathBuf> = std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect();
    match std::env::home_dir() {
        Some(home) if listed.is_empty() => vec![home.join(".kube").join("config")],
        _ => listed,
    }
}

fn pick_context(kubeconfig: &Kubeconfig, asked: Option<&str>) -> Result<String, ConnectError> {
    let known = || kubeconfig.contexts.iter().map(|context| context.name.clone()).collect::<Vec<_>>();
    let current = kubeconfig.current_context.as_deref().filter(|name| !name.is_empty());
    let Some(name) = asked.or(current) else {
        return Err(ConnectError::NoCurrentContext { known: known() });
    };
    if kubeconfig.contexts.iter().any(|context| context.name == name) {
        Ok(name.to_owned())
    } else {
        Err(ConnectError::UnknownContext { asked: name.to_owned(), known: known() })
    }
}

#[cfg(test)]
mod address_tests;
#[cfg(test)]
mod tests;

/// The reason why no request can be sent to this address. `kube` panics on an address without a scheme.
fn refused_address(url: &http::Uri) -> Option<String> {
    let is_web = matches!(url.scheme_str(), Some("http" | "https"));
    (!is_web).then(|| format!("`server: {}` of its cluster is no address: write `https://HOST:PORT`", shown_url(url)))
}

#[cfg(test)]
mod kubeconfig_tests {
    use super::*;

    fn kubeconfig() -> Kubeconfig {
        Kubeconfig::from_yaml(
            "apiVersion: v1\nkind: Config\ncurrent-context: factory\n\
             clusters: [{name: c, cluster: {server: 'https://127.0.0.1:6443'}}]\n\
             users: [{name: u, user: {token: t}}]\n\
             contexts:\n\
             - {name: factory, context: {cluster: c, user: u, namespace: edge}}\n\
             - {name: staging, context: {cluster: c, user: u}}\n\
             - {name: broken, context: {cluster: gone, user: u}}\n",
        )
        .unwrap()
    }

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
    fn an_address_without_a_scheme_is_refused_with_how_one_is_written() {
        let refused = |server: &str| refused_address(&server.parse().unwrap());
        let said = "`server: notaurl` of its cluster is no address: write `https://HOST:PORT`";
        assert_eq!(refused("notaurl").as_deref(), Some(said));
        assert!(refused("10.0.0.1:6443").is_some() && refused("ftp://x").is_some());
        assert!(refused("https://10.0.0.1:6443").is_none() && refused("http://localhost:8001").is_none());
    }

    #[test]
    fn an_unknown_context_is_met_with_the_known_ones() {
        assert_eq!(pick_context(&kubeconfig(), None).unwrap(), "factory");
        assert_eq!(pick_context(&kubeconfig(), Some("staging")).unwrap(), "staging");
        let error = pick_context(&kubeconfig(), Some("stagnig")).unwrap_err();
        assert_eq!(error.to_string(), "the kubeconfig has no context `stagnig`");
        assert_eq!(error.hints(), ["did you mean `staging`?", "it has: factory, staging, broken"]);
        let error = pick_context(&kubeconfig(), Some("xyz")).unwrap_err();
        assert_eq!(error.hints(), ["it has: factory, staging, broken"]);
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

    #[tokio::test]
    async fn reads_context_and_namespace_from_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        std::fs::write(&path, serde_json::to_string(&kubeconfig()).unwrap()).unwrap();
        let target = ClusterTarget { kubeconfig: Some(path.clone()), ..ClusterTarget::default() };
        let cluster = Cluster::connect(&target).await.unwrap();
        assert_eq!((cluster.context(), cluster.default_namespace()), ("factory", "edge"));
        assert_eq!(cluster.contexts(), ["factory", "staging", "broken"]);
        assert_eq!(cluster.server(), "https://127.0.0.1:6443");

        let target = ClusterTarget { context: Some("broken".into()), ..target };
        let error = Cluster::connect(&target).await.unwrap_err().to_string();
        assert!(error.contains("`broken`") && error.contains("gone"), "{error}");
    }

    #[tokio::test]
    async fn says_which_file_is_missing_or_cannot_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let target = ClusterTarget { kubeconfig: Some(dir.path().join("nowhere")), ..ClusterTarget::default() };
        let error = Cluster::connect(&target).await.unwrap_err().to_string();
        assert!(error.contains("nowhere") && error.contains("No such file"), "{error}");

        let path = dir.path().join("bad");
        std::fs::write(&path, "contexts: {").unwrap();
        let target = ClusterTarget { kubeconfig: Some(path), ..ClusterTarget::default() };
        let error = Cluster::connect(&target).await.unwrap_err();
        assert!(matches!(&error, ConnectError::Invalid { path, .. } if path.ends_with("bad")), "{error:?}");
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_unreachable() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut kubeconfig = kubeconfig();
        kubeconfig.clusters[0].cluster.as_mut().unwrap().server = Some(format!("http://{free}"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        std::fs::write(&path, serde_json::to_string(&kubeconfig).unwrap()).unwrap();
        let target = ClusterTarget { kubeconfig: Some(path), ..ClusterTarget::default() };
        let cluster = Cluster::connect(&target).await.unwrap();
        let error = cluster.probe().await.unwrap_err();
        assert!(matches!(error, ConnectError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains("refused"), "{error}");
    }
}
