//! The interface of front ends to a running driver: it receives snapshots and sends commands.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot, watch};

use super::access::AccessError;
use crate::cluster::IN_CLUSTER;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Preview, Refusal, Unsettled};
use crate::engine::model::config::Role;
use crate::engine::model::container_log::{LogNews, LogSource};
use crate::engine::model::facts::DaemonSetCounters;
use crate::engine::model::failing_nodes::FailingNodes;
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::images_on_nodes::ImagesOnNodes;
use crate::engine::model::inspection::Inspection;
use crate::engine::model::person_of;
use crate::engine::model::shell::shell_flag;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;

/// A front end's hold on one rollout. Cheap to clone.
///
/// The driver ends when no sender of requests is left, and drops its end of the snapshots when it has stopped driving.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// The latest snapshot. It changes only when something in it changed.
    pub snapshots: watch::Receiver<Arc<Snapshot>>,
    /// Where commands and previews are asked for.
    pub requests: mpsc::Sender<Request>,
}

/// What a front end asks of a driver.
#[derive(Debug)]
pub enum Request {
    /// Carry this out. Answered, in words, once it is written and the snapshots show it, or when it is refused.
    Command(Command, oneshot::Sender<Result<String, CommandError>>),
    /// Say what this would do. Answered at once.
    Preview(Command, oneshot::Sender<Result<Preview, Refusal>>),
    /// Record that this was refused before it was given, and why.
    Refused(Command, String),
    /// Say where the images of each revision are, by its hash. Answered at once.
    ImagesOnNodes(oneshot::Sender<Vec<(Str, ImagesOnNodes)>>),
}

/// Why a command did not come to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommandError {
    /// The engine refused it; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The API server refused what it takes; nothing was changed, and the rollout is paused.
    #[error("{0}")]
    NotAdmitted(String),
    /// Somebody else has changed what it sets since it was asked for; nothing was changed.
    #[error("{0}")]
    Overtaken(String),
    /// It was accepted, but could not be written; the text says what was attempted and what the server said.
    #[error("{0}")]
    Failed(String),
    /// The driver is gone.
    #[error("the rollout's driver has stopped")]
    Stopped,
}

impl From<Unsettled> for CommandError {
    fn from(unsettled: Unsettled) -> Self {
        match unsettled {
            Unsettled::Refused(why) => Self::NotAdmitted(why),
            Unsettled::Overtaken(why) => Self::Overtaken(why),
            Unsettled::Failed(why) => Self::Failed(why),
        }
    }
}

impl Rollout {
    /// Asks for `command` and waits until it is written or refused.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn command(&self, command: Command) -> Result<String, CommandError> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::Command(command, answer)).await.map_err(|_gone| CommandError::Stopped)?;
        answered.await.unwrap_or(Err(CommandError::Stopped))
    }

    /// Asks what `command` would do.
    ///
    /// # Errors
    /// As the command itself would be refused.
    pub async fn preview(&self, command: Command) -> Result<Preview, CommandError> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::Preview(command, answer)).await.map_err(|_gone| CommandError::Stopped)?;
        Ok(answered.await.map_err(|_gone| CommandError::Stopped)??)
    }

    /// As [`Rollout::preview`]. For `patience` at most it is asked again while the view is too stale to judge: a connection that breaks is
    /// made again within moments.
    ///
    /// # Errors
    /// As [`Rollout::preview`].
    pub(crate) async fn preview_once_seen(
        &self,
        command: &Command,
        patience: Duration,
    ) -> Result<Preview, CommandError> {
        let deadline = tokio::time::Instant::now() + patience;
        let mut snapshots = self.snapshots.clone();
        loop {
            match self.preview(command.clone()).await {
                Err(CommandError::Refused(Refusal::Stale(_))) if tokio::time::Instant::now() < deadline => {
                    let _ = tokio::time::timeout_at(deadline, snapshots.changed()).await;
                }
                preview => return preview,
            }
        }
    }

    /// Has it recorded that a command was refused before it was given, and why. Nothing is recorded where the driver is gone.
    pub async fn refused(&self, command: Command, why: &str) {
        let _ = self.requests.send(Request::Refused(command, why.to_owned())).await;
    }

    /// Asks where the images of each revision are, by its hash.
    ///
    /// # Errors
    /// When the driver is gone.
    pub async fn images_on_nodes(&self) -> Result<Vec<(Str, ImagesOnNodes)>, CommandError> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::ImagesOnNodes(answer)).await.map_err(|_gone| CommandError::Stopped)?;
        answered.await.map_err(|_gone| CommandError::Stopped)
    }

    /// Closes this handle and waits until the driver has ended and given its lease back. The driver ends when every clone of the
    /// handle is gone, so the caller has to bound the wait.
    pub async fn close(self) {
        let Self { mut snapshots, requests } = self;
        drop(requests);
        while snapshots.changed().await.is_ok() {}
    }

    /// The snapshot as of now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }
}

/// A connection to one cluster, from which rollouts are opened. Implemented over the cluster adapter; front ends know
/// only this.
pub trait Session: Send + Sync + 'static {
    /// The kubeconfig context's name.
    fn context(&self) -> &str;
    /// The API server's host and port, as the audit log names them; empty where they are not known.
    fn server(&self) -> &str {
        ""
    }
    /// The namespace that is meant when none is named.
    fn default_namespace(&self) -> &str;
    /// What of the connection an operator has to know of whatever they do.
    fn identity_in_use(&self) -> IdentityInUse {
        IdentityInUse::default()
    }
    /// The flags of the command line that say which cluster is meant and as whom, beside the context and the namespace: those that were
    /// given, quoted for a shell. `None` where one cannot be quoted safely: then no command may be offered for pasting.
    fn given_flags(&self) -> Option<String> {
        Some(String::new())
    }
    /// `--kubeconfig /etc/edge --as jane --context prod`: the flags, of this program and of kubectl, that lead to the same cluster as the same
    /// user. `None` where one of them cannot be quoted safely.
    fn cluster_flags(&self) -> Option<String> {
        let context = match self.context() {
            IN_CLUSTER => None,
            context => Some(shell_flag("--context", context)?),
        };
        let given = Some(self.given_flags()?).filter(|given| !given.is_empty());
        Some(given.into_iter().chain(context).collect::<Vec<_>>().join(" "))
    }
    /// Whether the cluster is one to practise on that runs in this process, and ends with it.
    fn is_practice(&self) -> bool {
        false
    }
    /// The contexts that the operator can switch to, in the kubeconfig's order, the present one among them. Empty if the session has no kubeconfig of the
    /// operator: in a pod, and on a practice cluster.
    fn contexts(&self) -> Vec<String> {
        Vec::new()
    }
    /// Opens a session on the cluster of another context of the same kubeconfig, as the same user if one is impersonated, and asks its
    /// server whether it answers. This session stays as it is.
    fn on_context(&self, context: &str) -> SessionOpening {
        let message = format!("there is no kubeconfig to find context `{context}` in");
        Box::pin(async move { Err(AccessError { message, hints: Vec::new() }) })
    }
    /// Opens the rollout of one DaemonSet: watches it, drives it when told to. Returns at once; the snapshots tell how
    /// far loading has come. A [`Role::OneShot`] carries out commands that need no driver and never replaces a pod.
    fn open(&self, namespace: &str, name: &str, role: Role) -> Rollout;
    /// Watches all DaemonSets that we may see, in one namespace or in all.
    fn fleet(&self, namespace: Option<&str>) -> watch::Receiver<Arc<Fleet>>;
    /// Reads a node, its pod in `namespace` and the Events on it every few seconds, until every receiver is dropped.
    fn inspect(&self, namespace: &str, node: &str, pod: Option<&str>) -> watch::Receiver<Arc<Inspection>>;
    /// Reads what a container writes, at most ten deliveries a second, until the receiver is dropped.
    fn read_log(&self, source: LogSource) -> mpsc::Receiver<LogNews>;
}

/// A session that is being opened.
pub type SessionOpening = Pin<Box<dyn Future<Output = Result<Arc<dyn Session>, AccessError>> + Send>>;

/// As whom requests are made, where that is somebody else, and whether it is known to whom.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IdentityInUse {
    /// Who is impersonated, in words: `jane, group sre`.
    pub impersonates: Option<String>,
    /// The server's certificate is not checked: anybody between us and it can read and change everything.
    pub insecure: bool,
}

impl IdentityInUse {
    /// What is in force, for people: `as jane, group sre`, `TLS NOT VERIFIED`. Empty where nothing is unusual.
    pub fn warnings(&self) -> Vec<String> {
        let tls = self.insecure.then(|| "TLS NOT VERIFIED".to_owned());
        self.impersonates.iter().map(|who| format!("as {who}")).chain(tls).collect()
    }
}

/// All DaemonSets that we may see.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// How well they can be seen; loading until the first listing is complete.
    pub health: crate::engine::model::event::WatchHealth,
    /// How well the Leases can be seen, from which "driven by" comes.
    pub leases: crate::engine::model::event::WatchHealth,
    /// How well ControllerRevisions can be seen, from which the numbers of revisions come, and the images before the present ones.
    pub revisions: crate::engine::model::event::WatchHealth,
    /// How well pods that start can be seen, from which counts of pulls come.
    pub starting_pods: crate::engine::model::event::WatchHealth,
    /// The instant of this view, by the cluster's clock.
    pub at: Timestamp,
    /// One entry a DaemonSet, by namespace and name.
    pub rows: Vec<FleetRow>,
}

/// One DaemonSet in the fleet.
#[derive(Clone, PartialEq, Debug)]
pub struct FleetRow {
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// What its controller counts.
    pub counters: DaemonSetCounters,
    /// The update strategy in words: `RollingUpdate 1`, `OnDelete (ours)`.
    pub strategy: String,
    /// Its state in words: `idle`, `running`, `paused 2h`, `halted: …`, `held`, `preparing`.
    pub state: FleetState,
    /// Since when it is in this state: as its record dates it, or as it was seen to begin here. `None` where neither tells.
    pub since: Option<Timestamp>,
    /// The revision that its rollout leads to, as the record says; with none recorded that of its present template.
    pub to: FleetRevision,
    /// While some of its pods are not at `to`: the revision that its pods had before. The record tells which that was; without a
    /// record it is the one whose number comes before.
    pub from: Option<FleetRevision>,
    /// Its template is not the one that its rollout leads to: somebody else changed it. Its controller then counts how many pods are
    /// at that template, and not how many are at `to`.
    pub template_of_others: bool,
    /// The images that its pods wait for, and those that were made to pre-warm it. `None`: not known.
    pub pulls: Option<FleetPulls>,
    /// The nodes that fail, as whoever drives tells it in its Lease. `None`: not known, also where nobody drives.
    pub failing: Option<FailingNodes>,
    /// What is asked for of pre-warming, as its Lease says.
    pub prewarm: Option<FleetPrewarm>,
    /// Who drives: an identity, `controller`, or nobody.
    pub driven_by: DrivenBy,
    /// When whoever the lease names renewed it last, by their own clock, where they should have done so since and were not seen to: they may
    /// have ended.
    pub silent_since: Option<Timestamp>,
}

/// A revision of a DaemonSet in the fleet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FleetRevision {
    /// Its number; `None` where it is not known.
    pub number: Option<i64>,
    /// Its images, of init containers none: container name, image. Empty where they are not known.
    pub images: Vec<(Str, Str)>,
}

/// On how many nodes pods of a DaemonSet wait for images, or pods that were made to pre-warm it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FleetPulls {
    /// An image is pulled, or waits for its turn on its node.
    pub pulling: u32,
    /// An image could not be pulled; its kubelet tries again.
    pub failed: u32,
    /// An image may be pulled: its kubelet does not tell that from what comes before a pull.
    pub starting: u32,
}

impl fmt::Display for FleetPulls {
    /// `2 pulling, 1 pull failed`; nothing where no pod waits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = if self.failed == 1 { "pull failed" } else { "pulls failed" };
        let mut between = "";
        for (count, words) in [(self.pulling, "pulling"), (self.starting, "starting"), (self.failed, failed)] {
            if count > 0 {
                write!(f, "{between}{count} {words}")?;
                between = ", ";
            }
        }
        Ok(())
    }
}

/// Pre-warming of a DaemonSet in the fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FleetPrewarm {
    /// Its images are brought onto nodes, or are there already.
    Requested,
    /// The same, and nobody drives: no pod is made for it.
    NobodyDrives,
    /// All nodes have its images. The list does not count them: it is known of a rollout that is open.
    Done,
    /// Somebody paused it.
    Paused,
    /// It was cancelled, and its pods are not deleted yet.
    Cancelled,
}

impl fmt::Display for FleetPrewarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requested => "pre-warm",
            Self::NobodyDrives => "pre-warm, nobody drives",
            Self::Done => "pre-warmed",
            Self::Paused => "pre-warm paused",
            Self::Cancelled => "pre-warm cancelled",
        })
    }
}

impl FleetRow {
    /// Its state, and as its own page says it that who drives it is silent.
    pub fn doing(&self) -> String {
        match &self.state {
            FleetState::Rolling | FleetState::RollingBack if self.silent_since.is_some() => {
                format!("{}, its driver is silent", self.state)
            }
            FleetState::Undriven if self.template_of_others => "template changed by others, nobody drives".to_owned(),
            state if self.template_of_others => format!("{state}, template changed by others"),
            state => state.to_string(),
        }
    }

    /// Of how many nodes it is known that they are at the revision that its rollout leads to, and of how many at most; `None`: its
    /// controller counts another revision. It counts pods of the template whether they are well or not, and a rollout only those that
    /// are, so that while some are down both differ.
    pub fn updated(&self) -> Option<(u32, u32)> {
        let DaemonSetCounters { desired, updated, available, .. } = self.counters;
        let down = desired.saturating_sub(available);
        (!self.template_of_others).then(|| (updated.saturating_sub(down), updated))
    }

    /// Its nodes that fail, its state, what is pulled, and that it is pre-warmed: what asks to be looked at first, so that what is cut off where
    /// there is little room is what matters least. `2 failing: crash loop, running`, `2 pulling, running`, `pre-warm, 3 pulling, held`,
    /// `2 unavailable, 1 pull failed, pre-warm paused`.
    pub fn standing(&self) -> String {
        // Why it halted says what failed.
        let failing = self.failing.as_ref().filter(|_| !matches!(self.state, FleetState::Halted(_)));
        let failing_nodes = failing.map_or(0, |failing| failing.nodes);
        let failing = failing.filter(|failing| failing.nodes > 0).map(ToString::to_string);
        let words = |pulls: FleetPulls| Some(pulls.to_string()).filter(|words| !words.is_empty());
        let failed = self.pulls.map(|pulls| FleetPulls { failed: pulls.failed, ..FleetPulls::default() });
        // They are among the nodes that fail.
        let failed = failed.filter(|pulls| pulls.failed > failing_nodes).and_then(words);
        let pulls = self.pulls.map(|pulls| FleetPulls { failed: 0, ..pulls }).and_then(words);
        let (state, prewarm) = (Some(self.doing()), self.prewarm.map(|prewarm| prewarm.to_string()));
        let down = self.counters.desired.saturating_sub(self.counters.available);
        let unavailable = Some(down).filter(|down| *down > failing_nodes).map(|down| format!("{down} unavailable"));
        let parts = match &self.state {
            FleetState::Held => [failing, failed, prewarm, pulls, state, unavailable],
            FleetState::Adopted | FleetState::UpToDate => [failing, failed, prewarm, pulls, state, None],
            FleetState::Undriven | FleetState::Paused(_) => [failing, failed, state, pulls, prewarm, unavailable],
            FleetState::Halted(_) | FleetState::StrategyDrifted => [state, failing, failed, pulls, prewarm, None],
            FleetState::Degraded(_) | FleetState::Misscheduled(_) => [failing, state, failed, pulls, prewarm, None],
            FleetState::Rolling | FleetState::RollingBack => [failing, failed, pulls, state, prewarm, None],
        };
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Who replaces a DaemonSet's pods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DrivenBy {
    /// Its own controller.
    Controller,
    /// Nobody: `OnDelete` and no live lease.
    Nobody,
    /// This process.
    You,
    /// Somebody's console.
    Other(Str),
    /// The holder that the lease names, who has not been seen renewing it yet.
    Unconfirmed(Str),
    /// Not known: leases cannot be seen.
    Unknown,
}

impl fmt::Display for DrivenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            // Without the process part, so that narrow columns still show the question mark.
            Self::Unconfirmed(holder) => {
                return write!(f, "{}?", person_of(holder));
            }
            Self::Controller => "controller",
            Self::Nobody => "nobody",
            Self::You => "you",
            Self::Other(holder) => holder,
            Self::Unknown => "unknown",
        })
    }
}
