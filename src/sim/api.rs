//! The simulated world as a Kubernetes API: plain HTTP on a loopback address, for kubectl and any client library.
//!
//! ```text
//!   kubectl, kube-rs ─▶ http ── access (who may) ── faults (what goes wrong)
//!                        ├─ discovery, openapi, review          what is served, who am I
//!                        ├─ read, watch ── select ── view ── codec, table       typed objects → bytes
//!                        └─ write ── patch (strategic, …) ── codec              JSON → typed objects
//!                                 └─ managed, managed_fields                           whose fields are whose
//!   shared: the world under one lock, its clock in real time (or faster)
//! ```
//!
//! The rules of an API server are in the world and its store; this module adds only HTTP and JSON. Typed objects are written straight
//! into bytes, piece by piece, so that a list of 15,000 nodes needs no second copy of the world.

mod access;
mod codec;
mod compress;
mod defaults;
mod discovery;
mod faults;
mod fieldset;
mod http;
mod json;
mod log;
mod managed;
mod managed_fields;
mod openapi;
mod patch;
mod protobuf;
mod read;
mod request;
mod review;
mod schema;
mod select;
mod served_time;
mod shared;
mod status;
mod strategic;
mod table;
mod view;
mod watch;
mod write;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::world::World;

pub use access::{Rule, User, Users};
pub use faults::{ApiFailure, ApiFault};
use shared::{Cut, Shared};

/// The options with which [`serve`] serves a world.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    /// The address to listen on; port 0 means any free port.
    pub address: SocketAddr,
    /// How many seconds of the world's time pass in one real second; more than 0.
    pub speed: f64,
    /// The users and what each of them may do.
    pub users: Users,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self { address: SocketAddr::from(([127, 0, 0, 1], 0)), speed: 1.0, users: Users::default() }
    }
}

/// A world that is being served. Dropping this value stops the server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    end: CancellationToken,
}

/// Serves `world` from now on, in tasks of the current tokio runtime.
///
/// # Errors
/// When the address cannot be listened on.
pub async fn serve(world: World, options: ApiOptions) -> io::Result<Server> {
    let listener = TcpListener::bind(options.address).await?;
    let address = listener.local_addr()?;
    let shared = Arc::new(Shared::new(world, options.speed.max(f64::MIN_POSITIVE), options.users));
    let end = CancellationToken::new();
    let router = axum::Router::new().fallback(http::handle).with_state(Arc::clone(&shared));
    let ended = end.clone();
    tokio::spawn(async move {
        // Connections with open watches end together with this task; it does not wait for their clients.
        tokio::select! {
            () = ended.cancelled() => {}
            served = axum::serve(listener, router).into_future() => drop(served),
        }
    });
    let (ended, clock) = (end.clone(), Arc::clone(&shared));
    tokio::spawn(async move {
        tokio::select! {
            () = ended.cancelled() => {}
            () = clock.run_clock() => {}
        }
    });
    Ok(Server { address, shared, end })
}

impl Server {
    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The text of a kubeconfig with which kubectl and other clients reach the server.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_with("", None)
    }

    /// The same with the namespace of requests that name none.
    pub fn kubeconfig_in(&self, namespace: Option<&str>) -> String {
        self.kubeconfig_with("", namespace)
    }

    /// A kubeconfig for one of the [`Users`]; `None` when there is no user of that name.
    pub fn kubeconfig_for(&self, user: &str) -> Option<String> {
        let user = self.shared.users.known.iter().find(|known| known.name == user)?;
        Some(self.kubeconfig_with(&user.token, None))
    }

    fn kubeconfig_with(&self, token: &str, namespace: Option<&str>) -> String {
        let url = self.url();
        let namespace = namespace.map(|name| format!("    namespace: {name:?}\n")).unwrap_or_default();
        let user = if token.is_empty() { "{}".to_owned() } else { format!("\n    token: {token:?}") };
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             clusters:\n\
             - name: rolldeck-demo\n  cluster:\n    server: {url}\n\
             users:\n\
             - name: rolldeck-demo\n  user: {user}\n\
             contexts:\n\
             - name: rolldeck-demo\n  context:\n    cluster: rolldeck-demo\n    user: rolldeck-demo\n{namespace}\
             current-context: rolldeck-demo\n"
        )
    }

    /// Lets `act` read or change the world as it is now, under the lock that requests take too. Watches report the changes.
    pub fn with_world<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        self.shared.with_world(|access| act(access.world))
    }

    /// Adds a fault: from now on the requests that it names fail.
    pub fn inject(&self, fault: ApiFault) {
        self.shared.faults.inject(fault);
    }

    /// Removes all injected faults.
    pub fn clear_faults(&self) {
        self.shared.faults.clear();
    }

    /// Cuts off all open watches, in the middle of their stream.
    pub fn cut_watches(&self) {
        self.shared.cut_watches(Cut::Broken);
    }

    /// Stalls the watches of exactly these kinds from now on: they stay open and send no changes.
    pub fn stall_watches(&self, kinds: &[super::world::kind::Kind]) {
        self.shared.stall_watches(kinds);
    }

    /// Forgets all changes so far: open watches end with an error that their version expired, and so does a watch that a client resumes
    /// from an older version.
    pub fn expire_watches(&self) {
        self.shared.with_world(|access| {
            access.world.keep_changes(0);
            access.world.keep_changes(super::world::store::DEFAULT_LOG);
        });
        self.shared.cut_watches(Cut::Expired);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.cancel();
        self.shared.cut_watches(Cut::Broken);
    }
}
