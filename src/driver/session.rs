//! A session on a real cluster: what front ends open.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::access::{Access, AccessError, Impersonate};
use super::audit_sink::AuditSink;
use super::handle::{Fleet, IdentityInUse, Rollout, Session};
use super::identity::Identity;
use super::{fleet, run};
use crate::audit::{AuditedCluster, EntrySubject, Log, Origin, Place, Secrets};
use crate::cluster::{Attachment, Cluster, ClusterTarget, ConnectError, TrafficCount};
use crate::engine::model::config::RateLimit;
use crate::engine::model::config::{Config, Role, Timing};
use crate::engine::model::container_log::{LogNews, LogSource};
use crate::engine::model::inspection::Inspection;
use crate::engine::model::settings::Tuning;

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
}

impl ClusterSession {
    /// Reads the configuration that `access` names. Nothing is sent yet: whether the server answers is told by the
    /// health of the watches. Must be called inside a tokio runtime, on which everything runs.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn open(access: &Access) -> Result<Self, AccessError> {
        let Access { kubeconfig, context, namespace, impersonate, request_timeout, insecure, audit, defaults, reach } =
            access.clone();
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
            reach,
        };
        let given_flags = target.given_flags();
        let cluster = Cluster::connect(&target).await?;
        let runtime = tokio::runtime::Handle::current();
        let origin = Arc::new(origin_on(&cluster));
        let credentials = cluster.credentials().clone();
        let secrets = Secrets::new(move || credentials.secrets());
        let log = audit.path().map(|path| Log::to(path.to_owned()));
        let identity = Identity::new();
        Ok(Self { cluster, runtime, identity, timing: Timing::default(), origin, secrets, log, given_flags, defaults })
    }

    /// Asks the server for its version, and so finds out whether it answers us at all.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn probe(&self) -> Result<String, AccessError> {
        Ok(self.cluster.probe().await?)
    }

    /// The same session with another lease timing.
    #[must_use]
    pub fn with_timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// The same session on a practice cluster: the log says that nothing of it is real.
    #[must_use]
    pub(super) fn in_practice(mut self) -> Self {
        Arc::make_mut(&mut self.origin).cluster.practice = true;
        // Its kubeconfig is gone once it is read.
        self.given_flags = Some(String::new());
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

    fn default_namespace(&self) -> &str {
        self.cluster.default_namespace()
    }

    fn identity_in_use(&self) -> IdentityInUse {
        let credentials = self.cluster.credentials();
        IdentityInUse { impersonates: credentials.impersonates.clone(), insecure: credentials.insecure }
    }

    fn given_flags(&self) -> Option<String> {
        self.given_flags.clone()
    }

    fn open(&self, namespace: &str, name: &str, role: Role) -> Rollout {
        let _on = self.runtime.enter();
        let (sender, events) = mpsc::channel(run::EVENTS);
        let Attachment { feed, writer } = self.cluster.attach(namespace, name, sender);
        let config = Config {
            namespace: namespace.into(),
            name: name.into(),
            identity: self.identity.next(),
            role,
            timing: self.timing,
            rate: RateLimit::default(),
            defaults: self.defaults.clone(),
        };
        let subject = EntrySubject {
            origin: self.origin.clone(),
            secrets: self.secrets.clone(),
            namespace: config.namespace.clone(),
            name: config.name.clone(),
            identity: config.identity.clone(),
        };
        let audit_sink = AuditSink::new(subject, self.log.clone(), writer.recorder(config.identity.clone()));
        run::spawn(config, self.cluster.clock(), events, writer, audit_sink, feed)
    }

    fn fleet(&self, namespace: Option<&str>) -> watch::Receiver<Arc<Fleet>> {
        let _on = self.runtime.enter();
        fleet::spawn(&self.cluster, namespace, self.identity.clone())
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

/// From where, and as whom, on this cluster.
fn origin_on(cluster: &Cluster) -> Origin {
    let credentials = cluster.credentials();
    // Host and port only: an address can also carry a user name and a password.
    let server = cluster.server().parse::<http::Uri>().ok().and_then(|server| {
        let host = server.host()?;
        Some(server.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
    });
    Origin {
        from: Place::here(),
        cluster: AuditedCluster {
            context: cluster.context().into(),
            server: server.unwrap_or_default().into(),
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
