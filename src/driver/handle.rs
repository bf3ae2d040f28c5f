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
use crate::engine::model::failing_nodes::{FailingNodes, LastFailing};
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::images_on_nodes::ImagesOnNodes;
use crate::engine::model::inspection::Inspection;
use crate::engine::model::person_of;
use crate::engine::model::shell::shell_flag;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::engine::report::undriven::{NOBODY_DRIVES, NOBODY_SEEN_DRIVING};

/// A front end's hold on one rollout. Cheap to clone.
///
/// The driver ends when no sender of requests is left. It drops its end of the snapshots when it has stopped driving.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// The latest snapshot. The receiver is notified only when the content of the snapshot has changed.
    pub snapshots: watch::Receiver<Arc<Snapshot>>,
    /// The channel for commands and previews.
    pub requests: mpsc::Sender<Request>,
}

/// A request of a front end to a driver.
#[derive(Debug)]
pub enum Request {
    /// Carries out the command. The answer, in words, comes once the command is written and the snapshots show it, or when it is refused.
    Command(Command, oneshot::Sender<Result<String, CommandError>>),
    /// Computes what the command would do. Answered at once.
    Preview(Command, oneshot::Sender<Result<Preview, Refusal>>),
    /// Records that the command was refused before it was sent to the driver, and why.
    Refused(Command, String),
    /// Reports on which nodes the images of each revision are, by the revision's hash. Answered at once.
    ImagesOnNodes(oneshot::Sender<Vec<(Str, ImagesOnNodes)>>),
}

/// The reason why a command was not completed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommandError {
    /// The engine refused the command; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The API server refused a write that the command needs: nothing was changed, or the text says what stays. After a refused change of the template the
    /// rollout is paused.
    #[error("{0}")]
    NotAdmitted(String),
    /// Somebody else has changed the same settings since the command was asked for; nothing was changed.
    #[error("{0}")]
    Overtaken(String),
    /// The API server does not accept the credentials: nothing was changed, or the text says what stays.
    #[error("{0}")]
    Unauthorized(String),
    /// The command was accepted but could not be written. The text names the attempt and the server's answer.
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
            Unsettled::Unauthorized(why) => Self::Unauthorized(why),
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

    /// Asks for the effect of `command` without carrying it out.
    ///
    /// # Errors
    /// The errors with which the command itself would be refused.
    pub async fn preview(&self, command: Command) -> Result<Preview, CommandError> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::Preview(command, answer)).await.map_err(|_gone| CommandError::Stopped)?;
        Ok(answered.await.map_err(|_gone| CommandError::Stopped)??)
    }

    /// As [`Rollout::preview`], but asks again for up to `patience` while the view is too stale to judge: a broken
    /// connection is usually restored within moments.
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

    /// Records that a command was refused before it was sent to the driver, and why. Nothing is recorded if the driver is gone.
    pub async fn refused(&self, command: Command, why: &str) {
        let _ = self.requests.send(Request::Refused(command, why.to_owned())).await;
    }

    /// Asks on which nodes the images of each revision are, by the revision's hash.
    ///
    /// # Errors
    /// When the driver is gone.
    pub async fn images_on_nodes(&self) -> Result<Vec<(Str, ImagesOnNodes)>, CommandError> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::ImagesOnNodes(answer)).await.map_err(|_gone| CommandError::Stopped)?;
        answered.await.map_err(|_gone| CommandError::Stopped)
    }

    /// Closes this handle and waits until the driver has ended and released its Lease. The driver ends when every clone of
    /// the handle is gone, so the caller has to bound the wait.
    pub async fn close(self) {
        let Self { mut snapshots, requests } = self;
        drop(requests);
        while snapshots.changed().await.is_ok() {}
    }

    /// The latest snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }
}

/// A connection to one cluster, from which rollouts are opened. Front ends know only this trait; the driver implements it
/// with the cluster adapter.
pub trait Session: Send + Sync + 'static {
    /// The kubeconfig context's name.
    fn context(&self) -> &str;
    /// The API server's host and port, as the audit log names them; empty if they are not known.
    fn server(&self) -> &str {
        ""
    }
    /// The namespace of requests that name none.
    fn default_namespace(&self) -> &str;
    /// The present instant, by the clock of the snapshots. A snapshot keeps its time for as long as nothing changes.
    fn now(&self) -> Timestamp;
    /// The unusual properties of the connection that an operator has to know before any action.
    fn identity_in_use(&self) -> IdentityInUse {
        IdentityInUse::default()
    }
    /// The flags of the command line that select the cluster and the identity, except context and namespace. Only flags that were
    /// given are listed, quoted for a shell. `None` if one cannot be quoted safely: then no command may be offered for pasting.
    fn given_flags(&self) -> Option<String> {
        Some(String::new())
    }
    /// The flags of this program and of kubectl that lead to the same cluster as the same user: `--kubeconfig /etc/edge --as
    /// jane --context prod`. `None` if one of them cannot be quoted safely.
    fn cluster_flags(&self) -> Option<String> {
        let context = match self.context() {
            IN_CLUSTER => None,
            context => Some(shell_flag("--context", context)?),
        };
        let given = Some(self.given_flags()?).filter(|given| !given.is_empty());
        Some(given.into_iter().chain(context).collect::<Vec<_>>().join(" "))
    }
    /// Whether this is a practice cluster, which runs in this process and ends with it.
    fn is_practice(&self) -> bool {
        false
    }
    /// The contexts that the operator can switch to, in the kubeconfig's order, with the present one. Empty if the session
    /// has no kubeconfig of the operator: in a pod, and on a practice cluster.
    fn contexts(&self) -> Vec<String> {
        Vec::new()
    }
    /// Opens a session on another context of the same kubeconfig, with the same impersonated user if there is one, and asks
    /// its server whether it answers. This session stays as it is.
    fn on_context(&self, context: &str) -> SessionOpening {
        let message = format!("there is no kubeconfig to find context `{context}` in");
        Box::pin(async move { Err(AccessError { message, hints: Vec::new() }) })
    }
    /// Opens the rollout of one DaemonSet: watches it, and drives it when told to. Returns at once; the snapshots show the
    /// progress of loading. A [`Role::OneShot`] carries out commands that need no driver and never replaces a pod.
    fn open(&self, namespace: &str, name: &str, role: Role) -> Rollout;
    /// Watches all DaemonSets that the user may see, in one namespace or in all.
    fn fleet(&self, namespace: Option<&str>) -> watch::Receiver<Arc<Fleet>>;
    /// Reads a node, its pod in `namespace` and the Events on it every few seconds, until every receiver is dropped.
    fn inspect(&self, namespace: &str, node: &str, pod: Option<&str>) -> watch::Receiver<Arc<Inspection>>;
    /// Reads the log of a container, at most ten deliveries a second, until the receiver is dropped.
    fn read_log(&self, source: LogSource) -> mpsc::Receiver<LogNews>;
}

/// A session that is being opened, as a future.
pub type SessionOpening = Pin<Box<dyn Future<Output = Result<Arc<dyn Session>, AccessError>> + Send>>;

/// The impersonated user of requests, if there is one, and whether the identity of the server is checked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IdentityInUse {
    /// The impersonated user in words: `jane, group sre`.
    pub impersonates: Option<String>,
    /// Whether the server's certificate is not checked. If so, anybody between this host and the server can read and change everything.
    pub insecure: bool,
}

impl IdentityInUse {
    /// Warnings about the identity in words: `as jane, group sre`, `TLS NOT VERIFIED`. Empty if nothing is unusual.
    pub fn warnings(&self) -> Vec<String> {
        let tls = self.insecure.then(|| "TLS NOT VERIFIED".to_owned());
        self.impersonates.iter().map(|who| format!("as {who}")).chain(tls).collect()
    }
}

/// All DaemonSets that the user may see.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// The health of the watch of DaemonSets; loading until the first listing is complete.
    pub health: crate::engine::model::event::WatchHealth,
    /// The health of the watch of Leases, from which "driven by" comes.
    pub leases: crate::engine::model::event::WatchHealth,
    /// The health of the watch of ControllerRevisions, from which the numbers of revisions and the earlier images come.
    pub revisions: crate::engine::model::event::WatchHealth,
    /// The health of the watch of starting pods, from which counts of pulls come.
    pub starting_pods: crate::engine::model::event::WatchHealth,
    /// The instant of this view, by the cluster's clock.
    pub at: Timestamp,
    /// One row per DaemonSet, ordered by namespace and name.
    pub rows: Vec<FleetRow>,
}

/// One DaemonSet in the fleet.
#[derive(Clone, PartialEq, Debug)]
pub struct FleetRow {
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// The counters of its controller.
    pub counters: DaemonSetCounters,
    /// The update strategy in words: `RollingUpdate 1`, `OnDelete (ours)`.
    pub strategy: String,
    /// Its state: `idle`, `running`, `paused 2h`, `halted: …`, `held`, `preparing`.
    pub state: FleetState,
    /// The time at which this state began: from the record, or as this process saw it begin. `None` if neither is known.
    pub since: Option<Timestamp>,
    /// The target revision of its rollout, from the record. Without a record, the revision of the present template.
    pub to: FleetRevision,
    /// The revision that its pods had before, while some of its pods are not at `to`. It comes from the record; without a
    /// record it is the revision with the next lower number.
    pub from: Option<FleetRevision>,
    /// How many revisions its pods run besides `from` and `to`, as the driver reports; 0 where nobody does.
    pub more_revisions: u32,
    /// Whether somebody else changed the template, so that it is not the target of the rollout. The controller then counts
    /// the pods at that template, and not those at `to`.
    pub template_of_others: bool,
    /// Whether its recorded rollout goes back to an earlier revision, and is neither over nor being handed back.
    pub goes_back: bool,
    /// The images that its pods and its pre-warming pods wait for; `None`: not known.
    pub pulls: Option<FleetPulls>,
    /// The failing nodes, as the driver writes them to the Lease; `None`: not known, or nobody drives. The time of the report
    /// is left out, so that a report that is only repeated leaves the row unchanged.
    pub failing: Option<FailingNodes>,
    /// The nodes that failed at the target as last reported, while pods are unavailable and no driver is known to look at them.
    pub last_failing: Option<LastFailing>,
    /// The pre-warming that its Lease asks for.
    pub prewarm: Option<FleetPrewarm>,
    /// Who replaces its pods: an identity, `controller`, or nobody.
    pub driven_by: DrivenBy,
    /// Who holds the lease and only pre-warms, while its controller replaces pods; `None` where nobody does.
    pub prewarmed_by: Option<DrivenBy>,
    /// The time of the last renewal, by the holder's own clock, if the holder of the Lease missed its renewals. The holder may have ended.
    pub silent_since: Option<Timestamp>,
}

/// A revision of a DaemonSet in the fleet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FleetRevision {
    /// Its number; `None` where it is not known.
    pub number: Option<i64>,
    /// The images of its containers without init containers: container name, image. Empty if they are not known.
    pub images: Vec<(Str, Str)>,
}

/// The numbers of nodes on which pods of a DaemonSet, or pods that pre-warm it, wait for images.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FleetPulls {
    /// Nodes on which an image is pulled, or waits for its turn.
    pub pulling: u32,
    /// Nodes on which an image could not be pulled; the kubelet tries again.
    pub failed: u32,
    /// Nodes on which an image may be pulled: the kubelet does not distinguish a pull from the steps before it.
    pub starting: u32,
}

impl fmt::Display for FleetPulls {
    /// `2 pulling, 1 pull failed`; empty if no pod waits.
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
    /// The images are brought onto nodes, or are already there.
    Requested,
    /// Pre-warming is requested, and nobody drives, so no further pod is made for it. Whether every node has the images by now is not known here.
    NobodyDrives,
    /// Pre-warming is requested. Whether somebody drives, so that pods are made for it, is not known, because Leases cannot be seen now.
    DriverUnknown,
    /// All nodes have the images. The list does not count nodes: only an open rollout knows them.
    Done,
    /// Somebody paused pre-warming.
    Paused,
    /// Pre-warming was cancelled, and its pods are not deleted yet.
    Cancelled,
}

impl fmt::Display for FleetPrewarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requested => "pre-warm",
            Self::NobodyDrives => "pre-warm, not driven now",
            Self::DriverUnknown => "pre-warm, driver unknown",
            Self::Done => "pre-warmed",
            Self::Paused => "pre-warm paused",
            Self::Cancelled => "pre-warm cancelled",
        })
    }
}

/// The template is another one than that of the rollout.
const BY_OTHERS: &str = "template changed by others";

impl FleetRow {
    /// Its state. If nobody drives, or is seen driving, the text says so as the rollout's page does.
    pub fn doing(&self) -> String {
        let way = self.way();
        match &self.state {
            FleetState::Rolling | FleetState::RollingBack if let Some(undriven) = self.undriven() => {
                format!("{}, {undriven}", self.state)
            }
            // As the page of the rollout says it.
            FleetState::Rolling if self.driven_by == DrivenBy::Controller => Phase::Native.to_string(),
            FleetState::Undriven if self.template_of_others => format!("{BY_OTHERS}, {NOBODY_DRIVES}"),
            FleetState::Undriven if let Some(undriven) = self.undriven() => {
                format!("{way}{}, {undriven}", FleetState::Held)
            }
            // No rollout goes on, whatever the template is.
            FleetState::BeingDeleted => self.state.to_string(),
            state if self.template_of_others => format!("{way}{state}, {BY_OTHERS}"),
            state => format!("{way}{state}"),
        }
    }

    /// `roll back `, to be put before the word for a rollout that stands still, as the rollout's page says it; empty where that leads forward.
    fn way(&self) -> &'static str {
        let stands = matches!(self.state, FleetState::Paused(_) | FleetState::Held | FleetState::Undriven);
        if stands && self.goes_back { "roll back " } else { "" }
    }

    /// That nobody drives, or that nobody is seen driving, as the rollout's page says it.
    pub fn undriven(&self) -> Option<&'static str> {
        match (self.silent_since, &self.driven_by) {
            (Some(_), _) => Some(NOBODY_SEEN_DRIVING),
            (None, DrivenBy::Nobody) => Some(NOBODY_DRIVES),
            (None, _) => None,
        }
    }

    /// How many nodes are at the target revision, as bounds: the least number (at the target and available) and the greatest (at
    /// the target). A rollout counts only available pods, but the controller's count includes others, so the bounds differ
    /// while pods are down. `None` if the controller counts another revision.
    pub fn updated(&self) -> Option<(u32, u32)> {
        let DaemonSetCounters { desired, updated, available, .. } = self.counters;
        let down = desired.saturating_sub(available);
        (!self.template_of_others).then(|| (updated.saturating_sub(down), updated))
    }

    /// Its state, its failing nodes, its pulls and its pre-warming, most important first, so that a narrow column cuts off the
    /// least important part: the word of the state stands first, then what fails, then details of the state.
    /// `running, 2 failing: crash loop`, `paused, 2 failing: crash loop, by ada`, `running, 2 pulling`, `held, pre-warm, 3 pulling`,
    /// `2 unavailable, 1 pull failed, pre-warm paused`, `held, 2 unavailable, 5m ago 2 failing: crash loop`.
    pub fn standing(&self) -> String {
        // The reason of a halt already names the failure.
        let is_halted = matches!(self.state, FleetState::Halted(_));
        let failing = self.failing.as_ref().filter(|_| !is_halted);
        let failing_nodes = failing.map_or(0, |failing| failing.nodes);
        let failing = failing.filter(|failing| failing.nodes > 0).map(ToString::to_string);
        let last = self.last_failing.as_ref().filter(|_| !is_halted).map(ToString::to_string);
        let words = |pulls: FleetPulls| Some(pulls.to_string()).filter(|words| !words.is_empty());
        let failed = self.pulls.map(|pulls| FleetPulls { failed: pulls.failed, ..FleetPulls::default() });
        // Nodes with failed pulls are among the failing nodes.
        let failed = failed.filter(|pulls| pulls.failed > failing_nodes).and_then(words);
        let pulls = self.pulls.map(|pulls| FleetPulls { failed: 0, ..pulls }).and_then(words);
        let warms = self.prewarmed_by.as_ref().filter(|_| self.prewarm == Some(FleetPrewarm::Requested));
        let by = warms.map(|by| match by {
            DrivenBy::Other(holder) => format!(" by {}", person_of(holder)),
            by => format!(" by {by}"),
        });
        let prewarm = self.prewarm.map(|prewarm| format!("{prewarm}{}", by.unwrap_or_default()));
        let down = self.counters.desired.saturating_sub(self.counters.available);
        let unavailable = Some(down).filter(|down| *down > failing_nodes).map(|down| format!("{down} unavailable"));
        let state = Some(self.doing());
        let parts = match &self.state {
            // Its pods go with it: which of them fail or wait for images says nothing any more.
            FleetState::BeingDeleted => vec![state, unavailable],
            FleetState::Held | FleetState::Unseen | FleetState::RecordMissing | FleetState::RecordUnreadable => {
                vec![state, failing, failed, unavailable, last, prewarm, pulls]
            }
            FleetState::Undriven | FleetState::Paused(_) => {
                let details = self.word_and_details().filter(|_| failing.is_some() || failed.is_some());
                let (word, details) = match details {
                    Some((word, details)) => (Some(word), Some(details)),
                    None => (state, None),
                };
                vec![word, failing, failed, details, unavailable, last, pulls, prewarm]
            }
            // So many words that what fails would be cut off behind them.
            FleetState::Rolling if self.driven_by == DrivenBy::Controller => {
                vec![failing, failed, state, last, pulls, prewarm]
            }
            // Nodes that are being updated are unavailable, too.
            // The record tells a halt as its driver saw it last: what fails since then is only seen to be unavailable.
            FleetState::Halted(_) if self.undriven().is_some() => {
                let pulls_failed = self.pulls.map_or(0, |pulls| pulls.failed);
                vec![state, failing, failed, unavailable.filter(|_| down > pulls_failed), last, pulls, prewarm]
            }
            FleetState::Rolling | FleetState::RollingBack | FleetState::Halted(_) | FleetState::StrategyDrifted => {
                vec![state, failing, failed, last, pulls, prewarm]
            }
            FleetState::Adopted | FleetState::UpToDate => vec![failing, failed, prewarm, pulls, state],
            FleetState::Degraded(_) | FleetState::Misscheduled(_) => vec![failing, state, failed, last, pulls, prewarm],
        };
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The word for its state, and what more [`Self::doing`] says of it: `paused`, `by ada`. `None` where it is one expression.
    fn word_and_details(&self) -> Option<(String, String)> {
        let (word, details) = match &self.state {
            FleetState::Paused(by) if self.template_of_others => ("paused", format!("{by}, {BY_OTHERS}")),
            FleetState::Paused(by) => ("paused", by.clone()),
            FleetState::Undriven if self.template_of_others => ("held", format!("{BY_OTHERS}, {NOBODY_DRIVES}")),
            FleetState::Undriven => ("held", self.undriven().unwrap_or(NOBODY_DRIVES).to_owned()),
            _ => return None,
        };
        Some((format!("{}{word}", self.way()), details))
    }
}

/// Who replaces a DaemonSet's pods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DrivenBy {
    /// Its own controller.
    Controller,
    /// Nobody: the strategy is `OnDelete` and no Lease is alive. It is said only while Leases are seen.
    Nobody,
    /// This process.
    You,
    /// Another process, by its identity.
    Other(Str),
    /// The holder that the lease names, who has not been seen renewing it yet.
    Unconfirmed(Str),
    /// Not known: Leases cannot be seen now, and nobody was seen to hold this one last.
    Unknown,
}

impl fmt::Display for DrivenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            // Only the person is written, so that the question mark stays visible in narrow columns.
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
