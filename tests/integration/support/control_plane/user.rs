//! A user of the API server: the user's token, rights, and three ways of asking with the token (kubeconfig, kubectl, HTTP).

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::eventually;
use super::files::Files;
use super::programs::Programs;

/// The names a test may ask for. The API server reads the token file once, so it has them all from the beginning.
pub(super) const NAMES: [&str; 6] = ["alice", "bob", "carol", "dave", "observer", "restricted"];

/// How many of each name a control plane has.
pub(super) const PER_NAME: usize = 256;

/// Something a user may do: verbs on resources, everywhere or in one namespace.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Grant {
    namespace: Option<String>,
    verbs: Vec<String>,
    resources: Vec<String>,
}

impl Grant {
    /// Rights in the whole cluster (a ClusterRole and its binding).
    ///
    /// `verbs` and `resources` are comma-separated; a resource is written as kubectl writes it: `nodes`, `daemonsets.apps`, `pods/status`.
    pub(crate) fn everywhere(verbs: &str, resources: &str) -> Self {
        Self { namespace: None, verbs: words(verbs), resources: words(resources) }
    }

    /// Rights in one namespace (a Role and its binding).
    pub(crate) fn within(namespace: &str, verbs: &str, resources: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::everywhere(verbs, resources) }
    }

    /// The right to read, in all namespaces, everything that a rollout reads.
    pub(crate) fn read_only() -> Self {
        Self::everywhere(
            "get,list,watch",
            "nodes,pods,events,namespaces,daemonsets.apps,controllerrevisions.apps,leases.coordination.k8s.io",
        )
    }

    fn rules(&self) -> Vec<Value> {
        self.resources
            .iter()
            .map(|resource| {
                let (group, resource) = split(resource);
                json!({"apiGroups": [group], "resources": [resource], "verbs": self.verbs})
            })
            .collect()
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(',').map(|word| word.trim().to_owned()).collect()
}

/// Splits a resource into its group and its name: `daemonsets.apps/status` is the resource `daemonsets/status` of the group `apps`.
fn split(resource: &str) -> (&str, String) {
    let (name, sub) = resource.split_once('/').map_or((resource, None), |(name, sub)| (name, Some(sub)));
    let (name, group) = name.split_once('.').unwrap_or((name, ""));
    (group, sub.map_or_else(|| name.to_owned(), |sub| format!("{name}/{sub}")))
}

/// A user of one control plane.
#[derive(Debug)]
pub(crate) struct User {
    name: String,
    token: String,
    client: Arc<Client>,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
    bindings: Mutex<Vec<String>>,
}

impl User {
    pub(super) fn new(name: &str, token: String, client: Arc<Client>, files: &Files, programs: &Programs) -> Self {
        let kubeconfig = files.write_kubeconfig(name, &token).expect("a kubeconfig should be written");
        let kubectl = programs.path("kubectl");
        Self { name: name.to_owned(), token, client, kubeconfig, kubectl, bindings: Mutex::default() }
    }

    pub(super) fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client)
    }

    /// The name by which the API server knows the user, as in `managedFields` and audit: `alice-1`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The bearer token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The value for `KUBECONFIG`: a file with one context, called `test`, without a default namespace.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig.clone()
    }

    /// Gives this user more rights, and waits until the API server honours them.
    pub(crate) fn grant(&self, admin: &User, grants: &[Grant]) {
        for grant in grants {
            let mut bindings = self.bindings.lock().unwrap();
            let (scope, kind) = match &grant.namespace {
                None => (String::new(), "ClusterRole"),
                Some(namespace) => (format!("/namespaces/{namespace}"), "Role"),
            };
            let api = format!("/apis/rbac.authorization.k8s.io/v1{scope}/{}", kind.to_lowercase());
            let name = format!("{}-{}", self.name, bindings.len());
            let role = json!({"metadata": {"name": name}, "rules": grant.rules()});
            // After a revoke the role is still there, but its binding is not: so 409 is accepted for the role.
            let answer = admin.post(&format!("{api}s"), &role);
            assert!(matches!(answer.status, 201 | 409), "{answer:?}");
            let binding = json!({
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": self.name}],
            });
            admin.post(&format!("{api}bindings"), &binding).ok();
            bindings.push(format!("{api}bindings/{name}"));
            drop(bindings);
            self.until_allowed(grant);
        }
    }

    /// Takes all rights back, as may happen in the middle of a rollout. The API server follows within a second.
    pub(crate) fn revoke(&self, admin: &User) {
        for binding in self.bindings.lock().unwrap().drain(..) {
            admin.delete(&binding).ok();
        }
    }

    /// Waits until the API server allows what `grant` grants: its authorizer learns of roles through a watch of its own.
    fn until_allowed(&self, grant: &Grant) {
        for (verb, resource) in grant.verbs.iter().flat_map(|verb| grant.resources.iter().map(move |to| (verb, to))) {
            let (group, resource) = split(resource);
            let (resource, sub) = resource.split_once('/').unwrap_or((&resource, ""));
            let review = json!({"spec": {"resourceAttributes": {
                "namespace": grant.namespace, "verb": verb, "group": group, "resource": resource, "subresource": sub,
            }}});
            eventually(&format!("{} may {verb} {resource}", self.name), Duration::from_secs(60), || {
                let answer = self.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review).ok();
                (answer["status"]["allowed"] == true).then_some(())
            });
        }
    }

    /// Runs kubectl as this user, with a discovery cache of its own beside the kubeconfig.
    pub(crate) fn kubectl<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Output {
        self.kubectl_command(args).output().expect("kubectl should run")
    }

    /// Runs kubectl as this user and returns its output.
    ///
    /// # Panics
    ///
    /// When kubectl fails, with its error output.
    #[track_caller]
    pub(crate) fn kubectl_ok<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> String {
        printed(&self.kubectl(args))
    }

    /// `kubectl apply -f -` with `manifest`, YAML or JSON, as its input; returns kubectl's output.
    #[track_caller]
    pub(crate) fn apply(&self, manifest: &str) -> String {
        let mut kubectl = self.kubectl_command(["apply", "-f", "-"]);
        kubectl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = kubectl.spawn().expect("kubectl should run");
        child.stdin.take().expect("a pipe").write_all(manifest.as_bytes()).expect("kubectl should read its input");
        printed(&child.wait_with_output().expect("kubectl should end"))
    }

    fn kubectl_command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut kubectl = Command::new(&self.kubectl);
        kubectl
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.kubeconfig.with_extension("cache"))
            .env("KUBERC", "off")
            .stdin(Stdio::null());
        kubectl
    }

    /// Sends a request; the error says why there was no answer. A `PATCH` is a JSON merge patch.
    pub(crate) fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, reqwest::Error> {
        self.client.request(method, path, &self.token, body)
    }

    /// Sends a request whose body has the media type `content`, to a path or to a whole URL.
    #[track_caller]
    pub(crate) fn request_as(&self, content: &str, method: Method, path: &str, body: &Value) -> Answer {
        let answer = self.client.request_as(content, method, path, &self.token, Some(body));
        answer.expect("the API server should answer")
    }

    /// Reads `path`; the error says why there was no answer.
    pub(crate) fn try_get(&self, path: &str) -> Result<Answer, reqwest::Error> {
        self.request(Method::GET, path, None)
    }

    /// Reads `path`.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.try_get(path).expect("the API server should answer")
    }

    /// Creates `object` in the collection `path`.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, object: &Value) -> Answer {
        self.request(Method::POST, path, Some(object)).expect("the API server should answer")
    }

    /// Merges `patch` into the object at `path`.
    #[track_caller]
    pub(crate) fn patch(&self, path: &str, patch: &Value) -> Answer {
        self.request(Method::PATCH, path, Some(patch)).expect("the API server should answer")
    }

    /// Deletes the object at `path`.
    #[track_caller]
    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.request(Method::DELETE, path, None).expect("the API server should answer")
    }
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "kubectl: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
