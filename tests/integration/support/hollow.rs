//! Hollow nodes: the simulated world's kubelets, links and faults are clients of a real API server.
//!
//! ```text
//!   real API server ──watch pods, nodes──→ ┌────────────────────────────────┐
//!        ▲                                 │ stage: Fleet, the scenario's   │ ←── Hollow::fault, Hollow::resume
//!        │                                 │ faults, and a clock            │
//!        │                                 └───────────────┬────────────────┘
//!        └── statuses, Leases, events, final deletes ── outbox: in order per object, bounded, tried again
//! ```
//!
//! The [`Fleet`](rolldeck::sim::world::kubelet::Fleet) that the simulated world runs under a virtual clock runs here in real time, or faster: at
//! speed 10 a kubelet's ten seconds pass in one, and its writes bear the real time. So one scenario plays in two worlds, with modelled controllers
//! and with real ones.
//!
//! The hollow nodes have an HTTP client of their own and use no other Kubernetes library. A failed request is tried again where a kubelet would try
//! (connection lost, 429, 5xx), and given up where a kubelet would give up (the object is gone, or another object has its name). Requests that the
//! server refuses for good are kept for [`Hollow::refusals`].

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
    /// The address: `https://127.0.0.1:6443`.
    pub url: String,
    /// The bearer token of a user who may act as every kubelet; empty sends none.
    pub token: String,
    /// The certificate of the authority that signed the server's certificate, in PEM; `None` over plain HTTP.
    pub authority: Option<String>,
    /// The pods and nodes that the hollow nodes watch; `None`: all.
    pub scope: Option<Scope>,
}

/// The pods and nodes of one test on a shared cluster. The hollow nodes need not read other tests' objects, which are nearly all where many tests run
/// beside each other.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The namespace of all their pods.
    pub namespace: String,
    /// The label of all the nodes.
    pub node_label: (&'static str, String),
}

impl fmt::Debug for ApiEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("url", &self.url).finish_non_exhaustive()
    }
}

/// How hollow nodes run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct HollowOptions {
    /// The seed of the random numbers.
    pub seed: u64,
    /// How much faster than real time the kubelets run.
    pub speed: f64,
    /// Whether the scenario's DaemonSets are created first.
    pub workloads: Workloads,
    /// Whether nodes renew their Leases.
    pub leases: LeaseRenewal,
    /// The name of kubelets in `managedFields` of nodes, where the times of their writes serve to measure their clocks. Distributions that are one program
    /// have its name there, such as `k3s`.
    pub manager: &'static str,
    /// The most requests at once.
    pub in_flight: usize,
    /// The most requests a second.
    pub per_second: u32,
}

impl Default for HollowOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            speed: 1.0,
            workloads: Workloads::Leave,
            leases: LeaseRenewal::Renewed,
            manager: "kubelet",
            in_flight: 64,
            per_second: 1_000,
        }
    }
}

/// Whether the hollow nodes create a scenario's DaemonSets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Workloads {
    /// The hollow nodes do not create them: they exist already, or somebody else creates them.
    #[default]
    Leave,
    /// The hollow nodes create them with their history, in their namespaces, before the nodes register.
    Create,
}

/// Whether nodes renew their Leases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LeaseRenewal {
    /// Each node renews its Lease every ten seconds of the kubelets' clock.
    #[default]
    Renewed,
    /// No Lease is written: for a control plane whose grace for silent nodes is so long that it never misses them. At ten times the speed, the Leases
    /// of twenty nodes are twenty writes a second.
    NotWritten,
}

/// Why hollow nodes could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HollowError {
    /// The HTTP client could not be made: most often the authority's text is no certificate.
    #[error("cannot make an HTTP client for {url}: {source}")]
    Client {
        /// The API server's address.
        url: String,
        /// The reason.
        source: reqwest::Error,
    },
    /// No thread could be started.
    #[error("cannot start the threads of hollow nodes: {0}")]
    Threads(#[from] std::io::Error),
}

/// Running hollow nodes; they stop when this is dropped. Their node objects and pods stay.
#[derive(Debug)]
pub(crate) struct Hollow {
    runtime: Option<Runtime>,
    shared: Arc<StageShared>,
}

/// The state that the handle and the stage share.
#[derive(Debug, Default)]
struct StageShared {
    asked: Mutex<Vec<HollowRequest>>,
    bell: Notify,
    refusals: Mutex<VecDeque<String>>,
}

/// A request to the stage.
#[derive(Debug)]
enum HollowRequest {
    /// Begin the scenario's own faults.
    Resume,
    /// Let the fault happen after this time, by the kubelets' clock.
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
    /// Registers the scenario's nodes and runs their kubelets. The scenario's faults wait for [`Hollow::resume`].
    ///
    /// Returns at once; the stage waits for a server that does not answer yet.
    ///
    /// # Errors
    /// When the client or a thread cannot be made.
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

    /// Lets the scenario's faults happen; their times count from now.
    pub(crate) fn resume(&self) {
        self.ask(HollowRequest::Resume);
    }

    /// Makes a fault happen now.
    pub(crate) fn fault(&self, fault: impl Into<Fault>) {
        self.fault_after(Duration::ZERO, fault);
    }

    /// Makes a fault happen after this time, by the kubelets' clock.
    pub(crate) fn fault_after(&self, after: Duration, fault: impl Into<Fault>) {
        self.ask(HollowRequest::Fault(after, Box::new(fault.into())));
    }

    /// Takes a node off the network for `lasts`, by the kubelets' clock.
    pub(crate) fn cut(&self, node: &str, lasts: Duration) {
        self.fault(FleetFault::Cut(Str::from(node)));
        self.fault_after(lasts, FleetFault::Restore(Str::from(node)));
    }

    /// The last requests that the server refused for good, with its messages: there should be none.
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
        // Dropping a runtime waits for its threads, which is not allowed in asynchronous code.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
