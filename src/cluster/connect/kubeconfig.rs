//! Reads kubeconfigs, as kubectl does: which files, which context, which server.

use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::error::ConnectError;
use crate::cluster::failure::root_cause;
use crate::cluster::kubectl_place::KubectlPlace;

/// The name of the context in a pod without a kubeconfig. No command can name it as a context.
pub const IN_CLUSTER: &str = "in-cluster";

/// The values that were read from the kubeconfig.
pub(super) struct Loaded {
    pub(super) config: kube::Config,
    /// The context's name.
    pub(super) context: String,
    /// The names of all contexts.
    pub(super) contexts: Vec<String>,
    /// The kubeconfig's name of the credentials.
    pub(super) user: Option<String>,
    /// `proxy-url` of the cluster.
    pub(super) proxy: Option<String>,
    /// The kubeconfig as it was read; `None` in a pod without one.
    pub(super) kubeconfig: Option<Kubeconfig>,
}

/// Reads the given kubeconfig, or those at the places of kubectl; in a pod without one what the pod has. `asked` is a context; `None`: the
/// current one.
///
/// # Errors
/// See [`ConnectError`].
pub(super) async fn load(given: Option<&Path>, asked: Option<&str>) -> Result<Loaded, ConnectError> {
    let Some(mut kubeconfig) = merged(given)? else {
        return match kube::Config::incluster() {
            Ok(config) => {
                let (context, contexts) = (IN_CLUSTER.to_owned(), Vec::new());
                Ok(Loaded { config, context, contexts, user: None, proxy: None, kubeconfig: None })
            }
            Err(_) if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() => {
                Err(ConnectError::NoKubeconfig { tried: files(given) })
            }
            Err(error) => Err(ConnectError::InCluster { why: root_cause(&error) }),
        };
    };
    let context = pick_context(&kubeconfig, asked)?;
    let user = user_of(&kubeconfig, &context);
    let proxy = cluster_of(&kubeconfig, &context).and_then(|cluster| cluster.proxy_url.clone());
    let contexts = kubeconfig.contexts.iter().map(|known| known.name.clone()).collect();
    let as_read = kubeconfig.clone();
    ignore_proxy_environment(&mut kubeconfig);
    let place = KubectlPlace { kubeconfig: given.map(Path::to_owned), context: context.clone() };
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
    Ok(Loaded { config, context, contexts, user, proxy, kubeconfig: Some(as_read) })
}

/// The given kubeconfig, or those at the places of kubectl as one; `None` if there is none.
pub(super) fn merged(given: Option<&Path>) -> Result<Option<Kubeconfig>, ConnectError> {
    let files = files(given);
    let mut present = files.iter().filter(|path| given.is_some() || path.exists()).peekable();
    if present.peek().is_none() {
        return Ok(None);
    }
    let mut kubeconfig = Kubeconfig::default();
    for path in present {
        kubeconfig = Kubeconfig::read_from(path)
            .and_then(|next| kubeconfig.merge(next))
            .map_err(|error| ConnectError::of_file(path, &error))?;
    }
    Ok(Some(kubeconfig))
}

/// The name of the credentials of a context.
pub(super) fn user_of(kubeconfig: &Kubeconfig, context: &str) -> Option<String> {
    let named = kubeconfig.contexts.iter().find(|known| known.name == context)?;
    named.context.as_ref()?.user.clone().filter(|user| !user.is_empty())
}

/// The cluster of a context.
pub(super) fn cluster_of<'a>(kubeconfig: &'a Kubeconfig, context: &str) -> Option<&'a kube::config::Cluster> {
    let named = kubeconfig.contexts.iter().find(|known| known.name == context)?;
    let cluster = &named.context.as_ref()?.cluster;
    kubeconfig.clusters.iter().find(|known| known.name == *cluster)?.cluster.as_ref()
}

/// kube reads `HTTPS_PROXY` if a cluster has no `proxy-url`, and refuses the whole configuration if that variable is not a
/// URL, although this server may need no proxy. [`proxy::proxy_for`](crate::cluster::transport::proxy::proxy_for) decides on the proxy later, so any URL is good enough
/// here.
fn ignore_proxy_environment(kubeconfig: &mut Kubeconfig) {
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        cluster.proxy_url = Some("http://unused".to_owned());
    }
}

/// The contexts of the given kubeconfig, or of the usual kubeconfigs. Files that cannot be read are left out.
pub fn context_names(kubeconfig: Option<&Path>) -> Vec<String> {
    let read = files(kubeconfig).into_iter().filter_map(|path| Kubeconfig::read_from(path).ok());
    read.flat_map(|kubeconfig| kubeconfig.contexts).map(|context| context.name).collect()
}

/// The kubeconfig that defines a context, as in kubectl the first one that has it.
pub(super) fn file_of_context(given: Option<&Path>, context: &str) -> Option<PathBuf> {
    let has = |path: &PathBuf| {
        let read = Kubeconfig::read_from(path).ok();
        read.is_some_and(|kubeconfig| kubeconfig.contexts.iter().any(|named| named.name == context))
    };
    files(given).into_iter().find(has)
}

/// Whether a namespace can have this name. Any other text in the path of a request would ask for something else.
pub(super) fn can_be_a_namespace(name: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= 63 && edge(name.chars().next()) && edge(name.chars().last()) && name.chars().all(inner)
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

/// The server's address without user and password.
pub(super) fn shown_url(url: &http::Uri) -> String {
    let text = url.to_string();
    let text = text.trim_end_matches('/');
    match (text.split_once("://"), url.authority().and_then(|at| at.as_str().rsplit_once('@'))) {
        (Some((scheme, rest)), Some((userinfo, _))) => {
            format!("{scheme}://{}", rest.strip_prefix(userinfo).map_or(rest, |rest| rest.trim_start_matches('@')))
        }
        _ => text.to_owned(),
    }
}

/// The reason why no request can be sent to this address. `kube` panics on an address without a scheme.
fn refused_address(url: &http::Uri) -> Option<String> {
    let is_web = matches!(url.scheme_str(), Some("http" | "https"));
    (!is_web).then(|| format!("`server: {}` of its cluster is no address: write `https://HOST:PORT`", shown_url(url)))
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
        Err(ConnectError::UnknownContext { requested: name.to_owned(), known: known() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::connect::{Cluster, ClusterTarget};

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
    async fn a_namespace_that_cannot_be_one_is_refused_with_its_file_and_context() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        for bad in ["Edge", "edge/pods", "edge ", "-edge", "../kube-system"] {
            let text = serde_json::to_string(&kubeconfig()).unwrap().replace("edge", bad);
            std::fs::write(&path, text).unwrap();
            let target = ClusterTarget { kubeconfig: Some(path.clone()), ..ClusterTarget::default() };
            let error = Cluster::connect(&target).await.unwrap_err();
            let file = path.display();
            let says = format!(
                "context `factory` of the kubeconfig {file} has the namespace `{bad}`, and no namespace can be called that"
            );
            assert_eq!(error.to_string(), says);
            assert!(error.hints()[0].contains("`-n NAMESPACE`"));
            let named = ClusterTarget { namespace: Some("edge".into()), ..target.clone() };
            assert!(Cluster::connect(&named).await.is_ok(), "the one that was given counts");
            let other = ClusterTarget { context: Some("staging".into()), ..target };
            assert_eq!(Cluster::connect(&other).await.unwrap().default_namespace(), "default");
        }
        // As in kubectl.
        std::fs::write(&path, serde_json::to_string(&kubeconfig()).unwrap().replace("edge", "")).unwrap();
        let target = ClusterTarget { kubeconfig: Some(path), ..ClusterTarget::default() };
        assert_eq!(Cluster::connect(&target).await.unwrap().default_namespace(), "default");
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
