//! Who asks: a token, what it may do, and the three ways of asking with it (kubeconfig, kubectl, HTTP).

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

/// The names a test may ask for: the token file is read once, so they are all in it beforehand.
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
    /// In the whole cluster (a ClusterRole and its binding).
    ///
    /// Both are comma-separated; a resource is written as kubectl writes it: `nodes`, `daemonsets.apps`, `pods/status`.
    pub(crate) fn everywhere(verbs: &str, resources: &str) -> Self {
        Self { namespace: None, verbs: words(verbs), resources: words(resources) }
    }

    /// In one namespace (a Role and its binding).
    pub(crate) fn within(namespace: &str, verbs: &str, resources: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::everywhere(verbs, resources) }
    }

    /// Reading all that a rollout looks at, everywhere.
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

/// `daemonsets.apps/status` is the resource `daemonsets/status` of the group `apps`.
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

    /// The name the API server knows, as in `managedFields` and audit: `alice-1`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The bearer token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The file to point `KUBECONFIG` at: one context, called `test`, without a default namespace.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig.clone()
    }

    /// Lets this user do more, and waits until the API server honours it.
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
            // Grants that were taken back and are given again: the role is there still, and its binding is not.
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

    /// Takes every grant back, as happens to a console in the middle of a rollout. The API server follows within a second.
    pub(crate) fn revoke(&self, admin: &User) {
        for binding in self.bindings.lock().unwrap().drain(..) {
            admin.delete(&binding).ok();
        }
    }

    /// The API server's authorizer learns of roles through a watch of its own.
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

    /// Runs kubectl as this user and returns what it printed.
    ///
    /// # Panics
    ///
    /// With what it complained about, when it fails.
    #[track_caller]
    pub(crate) fn kubectl_ok<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> String {
        printed(&self.kubectl(args))
    }

    /// `kubectl apply -f -` with `manifest`, YAML or JSON, as its input; returns what it printed.
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

    /// One request, or what went wrong on the way to an answer. A `PATCH` is a JSON merge patch.
    pub(crate) fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, reqwest::Error> {
        self.client.request(method, path, &self.token, body)
    }

    /// One request whose body is of the media type `content`, to a path or to a whole URL.
    #[track_caller]
    pub(crate) fn request_as(&self, content: &str, method: Method, path: &str, body: &Value) -> Answer {
        let answer = self.client.request_as(content, method, path, &self.token, Some(body));
        answer.expect("the API server should answer")
    }

    /// Reads `path`, or says why there is no answer at all.
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
