//! A session on a real cluster, which front ends open.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::access::{Access, AccessError, Impersonate, ServerPath};
use super::audit_sink::AuditSink;
use super::handle::{Fleet, IdentityInUse, Rollout, Session, SessionOpening};
use super::identity::Identity;
use super::own_events::OwnEvents;
use super::seen_holders::SeenHolders;
use super::{fleet, run};
use crate::audit::{AuditedCluster, EntrySubject, Log, Origin, Place, Secrets};
use crate::cluster::{Attachment, Cluster, ClusterTarget, ConnectError, TrafficCount, host_and_port};
use crate::engine::model::Str;
use crate::engine::model::config::RateLimit;
use crate::engine::model::config::{Config, Role, Timing};
use crate::engine::model::container_log::{LogNews, LogSource};
use crate::engine::model::inspection::Inspection;
use crate::engine::model::settings::Tuning;
use crate::engine::model::time::Timestamp;

/// A session on a cluster, reached through its API.
#[derive(Clone, Debug)]
pub struct ClusterSession {
    cluster: Cluster,
    runtime: tokio::runtime::Handle,
    identity: Identity,
    timing: Timing,
    origin: Arc<Origin>,
    secrets: Secrets,
    log: Option<Log>,
    given_flags: Option<String>,
    defaults: Tuning,
    seen_holders: SeenHolders,
    own_events: OwnEvents,
    /// The access that the session was opened with; `None` if the session cannot be opened anew for another context.
    access: Option<Access>,
}

impl ClusterSession {
    /// Reads the configuration that `access` names. No request is sent yet: the health of the watches tells whether the
    /// server answers. Must be called inside a tokio runtime, on which everything runs.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn open(access: &Access) -> Result<Self, AccessError> {
        let Access {
            kubeconfig,
            context,
            namespace,
            impersonate,
            request_timeout,
            insecure,
            audit,
            defaults,
            server_path,
        } = access.clone();
        let Impersonate { user: as_user, uid: as_uid, groups: as_groups } = impersonate;
        let target = ClusterTarget {
            kubeconfig,
            context,
            namespace,
            as_user,
            as_groups,
            as_uid,
            request_timeout,
            insecure,
            server_path,
        };
        let given_flags = target.given_flags();
        let cluster = Cluster::connect(&target).await?;
        let runtime = tokio::runtime::Handle::current();
        let origin = Arc::new(origin_on(&cluster));
        let credentials = cluster.credentials().clone();
        let identity = Identity::new(credentials.impersonates.as_deref());
        let secrets = Secrets::new(move || credentials.secrets());
        let log = audit.path().map(|path| Log::to(path.to_owned()));
        let access = Some(access.clone());
        let timing = Timing::default();
        let (seen_holders, own_events) = (SeenHolders::default(), OwnEvents::default());
        Ok(Self {
            cluster,
            runtime,
            identity,
            timing,
            origin,
            secrets,
            log,
            given_flags,
            defaults,
            seen_holders,
            own_events,
            access,
        })
    }

    /// Asks the server for its version, to find out whether it answers at all.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn probe(&self) -> Result<String, AccessError> {
        Ok(self.cluster.probe().await?)
    }

    /// The same session with another timing of the Lease.
    #[must_use]
    pub fn with_timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// The same session, marked as one on a practice cluster in the audit log.
    #[must_use]
    pub(super) fn in_practice(mut self) -> Self {
        Arc::make_mut(&mut self.origin).cluster.practice = true;
        // The kubeconfig of a practice cluster is removed once it is read.
        self.given_flags = Some(String::new());
        self.access = None;
        self
    }

    /// Counts of the requests to the API server so far.
    pub fn traffic(&self) -> TrafficCount {
        self.cluster.traffic().count()
    }
}

impl Session for ClusterSession {
    fn context(&self) -> &str {
        self.cluster.context()
    }

    fn server(&self) -> &str {
        &self.origin.cluster.server
    }

    fn now(&self) -> Timestamp {
        self.cluster.clock().now()
    }

    fn default_namespace(&self) -> &str {
        self.cluster.default_namespace()
    }

    fn identity_in_use(&self) -> IdentityInUse {
        let credentials = self.cluster.credentials();
        IdentityInUse { impersonates: credentials.impersonates.clone(), insecure: credentials.insecure }
    }

    fn is_practice(&self) -> bool {
        self.origin.cluster.practice
    }

    fn given_flags(&self) -> Option<String> {
        self.given_flags.clone()
    }

    fn contexts(&self) -> Vec<String> {
        self.access.as_ref().map(|_| self.cluster.contexts().to_vec()).unwrap_or_default()
    }

    fn on_context(&self, context: &str) -> SessionOpening {
        let Some(access) = self.access.clone() else {
            let message = format!("there is no kubeconfig to find context `{context}` in");
            return Box::pin(async move { Err(AccessError { message, hints: Vec::new() }) });
        };
        // The namespace and the unchecked certificate were chosen for the previous cluster and are dropped. The impersonated
        // user stays: without it the session would have more rights than intended.
        let (context, timing, runtime) = (Some(context.to_owned()), self.timing, self.runtime.clone());
        let access = Access { context, namespace: None, insecure: false, server_path: ServerPath::default(), ..access };
        let opening = runtime.spawn(async move {
            let session = Self::open(&access).await?.with_timing(timing);
            session.probe().await?;
            Ok(Arc::new(session) as Arc<dyn Session>)
        });
        Box::pin(async move {
            opening.await.unwrap_or_else(|error| Err(AccessError { message: error.to_string(), hints: Vec::new() }))
        })
    }

    fn open(&self, namespace: &str, name: &str, role: Role) -> Rollout {
        let _on = self.runtime.enter();
        let (namespace, name): (Str, Str) = (namespace.into(), name.into());
        let attach = {
            let (cluster, identity) = (self.cluster.clone(), self.identity.clone());
            let (namespace, name) = (namespace.clone(), name.clone());
            let (origin, secrets, log) = (self.origin.clone(), self.secrets.clone(), self.log.clone());
            move || {
                let (sender, events) = mpsc::channel(run::EVENTS);
                let Attachment { feed, writer } = cluster.attach(&namespace, &name, sender);
                let identity = identity.next();
                let subject = EntrySubject {
                    origin: origin.clone(),
                    secrets: secrets.clone(),
                    namespace: namespace.clone(),
                    name: name.clone(),
                    identity: identity.clone(),
                    role,
                };
                let audit_sink = AuditSink::new(subject, log.clone(), writer.recorder(identity.clone()));
                run::Attached { identity, events, executor: writer, feed, audit_sink }
            }
        };
        let attached = attach();
        let config = Config {
            namespace,
            name,
            identity: attached.identity.clone(),
            role,
            timing: self.timing,
            rate: RateLimit::default(),
            defaults: self.defaults.clone(),
            restored_at: None,
        };
        let cluster = run::Surroundings {
            clock: self.cluster.clock(),
            restored: self.cluster.restored(),
            seen_holders: self.seen_holders.clone(),
            own_events: self.own_events.clone(),
        };
        run::spawn(config, cluster, attached, attach)
    }

    fn fleet(&self, namespace: Option<&str>) -> watch::Receiver<Arc<Fleet>> {
        let _on = self.runtime.enter();
        fleet::spawn(&self.cluster, namespace, self.identity.clone(), self.seen_holders.clone())
    }

    fn inspect(&self, namespace: &str, node: &str, pod: Option<&str>) -> watch::Receiver<Arc<Inspection>> {
        let _on = self.runtime.enter();
        self.cluster.inspect(namespace, node, pod)
    }

    fn read_log(&self, source: LogSource) -> mpsc::Receiver<LogNews> {
        let _on = self.runtime.enter();
        self.cluster.read_log(source)
    }
}

/// The place of this process and its identity on this cluster.
fn origin_on(cluster: &Cluster) -> Origin {
    let credentials = cluster.credentials();
    Origin {
        from: Place::here(),
        cluster: AuditedCluster {
            context: cluster.context().into(),
            server: host_and_port(cluster.server()).unwrap_or_default().into(),
            user: credentials.user.as_deref().map(Into::into),
            impersonates: credentials.impersonates.as_deref().map(Into::into),
            practice: false,
        },
    }
}

impl From<ConnectError> for AccessError {
    fn from(error: ConnectError) -> Self {
        Self { message: error.to_string(), hints: error.hints() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::audit::AuditLog;
    use crate::driver::practice::{Practice, PracticeCluster, PracticeOptions};

    async fn serve() -> Practice {
        let options = PracticeOptions { cluster: PracticeCluster::Fleet(2), speed: 20.0, seed: Some(1) };
        Practice::start(&options).await.unwrap()
    }

    fn server_of(practice: &Practice) -> String {
        let text = practice.kubeconfig();
        text.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap().to_owned()
    }

    /// A kubeconfig with a context for each of these servers, named `one`, `two` and `nobody`.
    fn write(file: &Path, servers: [&str; 3]) {
        let mut text = "apiVersion: v1\nkind: Config\ncurrent-context: one\nusers: [{name: u, user: {}}]\n".to_owned();
        let names = ["one", "two", "nobody"];
        let clusters = names
            .iter()
            .zip(servers)
            .map(|(name, server)| format!("{{name: {name}, cluster: {{server: '{server}'}}}}"));
        text += &format!("clusters: [{}]\n", clusters.collect::<Vec<_>>().join(", "));
        let contexts =
            names.map(|name| format!("{{name: {name}, context: {{cluster: {name}, user: u, namespace: {name}}}}}"));
        text += &format!("contexts: [{}]\n", contexts.join(", "));
        std::fs::write(file, text).unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn another_context_is_opened_if_its_server_answers() {
        let (one, two) = (serve().await, serve().await);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        write(&file, [&server_of(&one), &server_of(&two), &format!("http://{free}")]);
        let impersonate = Impersonate { user: Some("jane".into()), ..Impersonate::default() };
        let access = Access {
            kubeconfig: Some(file.clone()),
            namespace: Some("edge".into()),
            impersonate,
            insecure: true,
            audit: AuditLog::Nowhere,
            ..Access::default()
        };
        let session = ClusterSession::open(&access).await.unwrap();
        assert_eq!(session.contexts(), ["one", "two", "nobody"]);
        assert_eq!((session.context(), session.default_namespace()), ("one", "edge"));
        let there = session.on_context("two").await.unwrap();
        assert_eq!((there.context(), there.default_namespace()), ("two", "two"), "its own namespace");
        let want = IdentityInUse { impersonates: Some("jane".into()), insecure: false };
        assert_eq!(there.identity_in_use(), want, "as the same user, and certificates are checked again");
        let error = session.on_context("nobody").await.err().unwrap();
        assert!(error.message.contains(&free.to_string()), "{error}");
        let error = session.on_context("nowhere").await.err().unwrap();
        assert!(error.message.contains("no context `nowhere`"), "{error}");
        let practice = one.session(AuditLog::Nowhere).await.unwrap();
        assert_eq!(practice.contexts(), [""; 0], "the file that it was opened with is gone");
        assert!(practice.on_context("two").await.is_err());
    }
}
