//! Hollow nodes: the simulated world's kubelets, links and faults as clients of somebody else's API server.
//!
//! ```text
//!   real API server ──watch pods, nodes──→ ┌────────────────────────────────┐
//!        ▲                                 │ stage: Fleet, the scenario's   │ ←── Hollow::fault, Hollow::play
//!        │                                 │ faults, and a clock            │
//!        │                                 └───────────────┬────────────────┘
//!        └── statuses, Leases, events, final deletes ── outbox: in order per object, bounded, tried again
//! ```
//!
//! The same [`Fleet`](rolldeck::sim::world::kubelet::Fleet) that the simulated world runs under a virtual clock runs here
//! in real time, or faster: at speed 10 a kubelet's ten seconds pass in one, and what it writes bears the real time. So
//! one scenario plays in two worlds, with modelled controllers and with real ones.
//!
//! It has an HTTP client of its own and no other Kubernetes library. What fails is tried again where a kubelet would
//! (connection lost, 429, 5xx) and given up where it would not (the object is gone, or another of that name); what the
//! server refuses for good is kept for [`Hollow::refusals`].

mod client;
mod clock;
mod deliver;
mod operator;
mod outbox;
mod partial;
mod stage;
mod watch;
mod wire;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use rolldeck::engine::model::Str;
use rolldeck::sim::world::scenario::{Fault, FleetFault, Scenario};

use client::Client;
use clock::FastClock;
use stage::HollowWorld;

/// The API server that hollow nodes belong to.
#[derive(Clone)]
pub(crate) struct ApiEndpoint {
    /// Its address: `https://127.0.0.1:6443`.
    pub url: String,
    /// The bearer token of somebody who may act as every kubelet; empty sends none.
    pub token: String,
    /// The authority that signed its certificate, in PEM; `None` over plain HTTP.
    pub authority: Option<String>,
    /// What the nodes watch; `None` is all that there is.
    pub scope: Option<Scope>,
}

/// The part of a shared cluster that concerns the hollow nodes of one test. What others do there they need not read: with many
/// tests beside each other that is nearly all of it.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The namespace that all their pods are in.
    pub namespace: String,
    /// The label that all the nodes have.
    pub node_label: (&'static str, String),
}

impl fmt::Debug for ApiEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("url", &self.url).finish_non_exhaustive()
    }
}

/// How hollow nodes play.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct HollowOptions {
    /// The same seed gives the same random numbers.
    pub seed: u64,
    /// How much faster than real time the kubelets run.
    pub speed: f64,
    /// Whether the scenario's DaemonSets are created first.
    pub workloads: Workloads,
    /// Whether nodes renew their Leases.
    pub leases: LeaseRenewal,
    /// At most so many requests at once.
    pub in_flight: usize,
    /// At most so many requests a second.
    pub per_second: u32,
}

impl Default for HollowOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            speed: 1.0,
            workloads: Workloads::Leave,
            leases: LeaseRenewal::Renewed,
            in_flight: 64,
            per_second: 1_000,
        }
    }
}

/// What becomes of a scenario's DaemonSets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Workloads {
    /// The DaemonSets exist already, or somebody else creates them.
    #[default]
    Leave,
    /// They are created with their history, in their namespaces, before the nodes register.
    Create,
}

/// What becomes of the nodes' Leases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LeaseRenewal {
    /// Each node renews its own, every ten seconds of the kubelets' clock.
    #[default]
    Renewed,
    /// None is written: for a control plane that waits so long for silent nodes that it never misses them. At ten times
    /// the speed, the Leases of twenty nodes are twenty writes a second.
    NotWritten,
}

/// Why hollow nodes could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HollowError {
    /// The HTTP client could not be made: most often the authority is no certificate.
    #[error("cannot make an HTTP client for {url}: {source}")]
    Client {
        /// The API server.
        url: String,
        /// What is wrong.
        source: reqwest::Error,
    },
    /// No thread could be started.
    #[error("cannot start the threads of hollow nodes: {0}")]
    Threads(#[from] std::io::Error),
}

/// Running hollow nodes; they stop when this is dropped. Node objects and pods stay.
#[derive(Debug)]
pub(crate) struct Hollow {
    runtime: Option<Runtime>,
    shared: Arc<StageShared>,
}

/// What the handle and the stage share.
#[derive(Debug, Default)]
struct StageShared {
    asked: Mutex<Vec<HollowRequest>>,
    bell: Notify,
    refusals: Mutex<VecDeque<String>>,
}

/// What is asked of the stage.
#[derive(Debug)]
enum HollowRequest {
    /// The scenario's own faults begin.
    Resume,
    /// This happens after so long, by the kubelets' clock.
    Fault(Duration, Box<Fault>),
}

/// How many refusals are kept.
const REFUSALS: usize = 100;

impl StageShared {
    fn refused(&self, what: String) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() == REFUSALS {
            refusals.pop_front();
        }
        refusals.push_back(what);
    }
}

impl Hollow {
    /// Registers the scenario's nodes and runs their kubelets. Its faults wait for [`Hollow::play`].
    ///
    /// Returns at once. A server that is not there yet is waited for.
    ///
    /// # Errors
    /// When there is no client or no thread to be had.
    pub(crate) fn start(
        target: &ApiEndpoint,
        scenario: &Scenario,
        options: HollowOptions,
    ) -> Result<Self, HollowError> {
        let client = Arc::new(Client::new(target)?);
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("hollow").enable_all().build()?;
        let shared = Arc::new(StageShared::default());
        let clock = FastClock::new(options.speed);
        runtime.spawn(HollowWorld::run(
            client,
            target.scope.clone(),
            scenario.clone(),
            options,
            clock,
            Arc::clone(&shared),
        ));
        Ok(Self { runtime: Some(runtime), shared })
    }

    /// Lets the scenario's faults happen, counted from now.
    pub(crate) fn resume(&self) {
        self.ask(HollowRequest::Resume);
    }

    /// Makes something happen now.
    pub(crate) fn fault(&self, fault: impl Into<Fault>) {
        self.fault_after(Duration::ZERO, fault);
    }

    /// Makes something happen after so long, by the kubelets' clock.
    pub(crate) fn fault_after(&self, after: Duration, fault: impl Into<Fault>) {
        self.ask(HollowRequest::Fault(after, Box::new(fault.into())));
    }

    /// Takes a node off the network for so long, by the kubelets' clock.
    pub(crate) fn cut(&self, node: &str, lasts: Duration) {
        self.fault(FleetFault::Cut(Str::from(node)));
        self.fault_after(lasts, FleetFault::Restore(Str::from(node)));
    }

    /// The last requests that the server refused for good, with its words: there should be none.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn ask(&self, asked: HollowRequest) {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        self.shared.bell.notify_one();
    }
}

impl Drop for Hollow {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which asynchronous code may not.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
