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
//! The world and its store know the rules of an API server; here is only what HTTP and JSON add to them. Answers are
//! made from typed objects straight into bytes, piece by piece, so that 15,000 nodes cost no second copy of the world.

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

/// How a world is served.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    /// Where to listen; port 0 takes any that is free.
    pub address: SocketAddr,
    /// How many seconds of the world's time pass in one of ours; more than 0.
    pub speed: f64,
    /// Who may do what.
    pub users: Users,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self { address: SocketAddr::from(([127, 0, 0, 1], 0)), speed: 1.0, users: Users::default() }
    }
}

/// A world that is being served; dropping it ends that.
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
        // Connections that still carry watches end with the task, not when their clients please.
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
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A kubeconfig, as text, with which kubectl and others reach it.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_with("")
    }

    /// A kubeconfig for one of the [`Users`]; `None` when there is no user of that name.
    pub fn kubeconfig_for(&self, user: &str) -> Option<String> {
        let user = self.shared.users.known.iter().find(|known| known.name == user)?;
        Some(self.kubeconfig_with(&user.token))
    }

    fn kubeconfig_with(&self, token: &str) -> String {
        let url = self.url();
        let user = if token.is_empty() { "{}".to_owned() } else { format!("\n    token: {token:?}") };
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             clusters:\n\
             - name: rolldeck-demo\n  cluster:\n    server: {url}\n\
             users:\n\
             - name: rolldeck-demo\n  user: {user}\n\
             contexts:\n\
             - name: rolldeck-demo\n  context:\n    cluster: rolldeck-demo\n    user: rolldeck-demo\n\
             current-context: rolldeck-demo\n"
        )
    }

    /// Reads or changes the world as it is now, under the lock that requests take too; watches see what changed.
    pub fn with_world<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        self.shared.with_world(|access| act(access.world))
    }

    /// Lets requests fail from now on.
    pub fn inject(&self, fault: ApiFault) {
        self.shared.faults.inject(fault);
    }

    /// Takes back all faults that were injected.
    pub fn clear_faults(&self) {
        self.shared.faults.clear();
    }

    /// Cuts off all open watches, in the middle of their stream.
    pub fn cut_watches(&self) {
        self.shared.cut_watches(Cut::Broken);
    }

    /// Lets watches of these kinds stand still from now on, and no others: they stay open and say nothing, whatever happens.
    pub fn stall_watches(&self, kinds: &[super::world::kind::Kind]) {
        self.shared.stall_watches(kinds);
    }

    /// Forgets all changes so far: open watches, and who resumes one from an older version, are told that it expired.
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
