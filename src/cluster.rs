//! The cluster adapter: watches become engine events, engine effects become API calls.
//!
//! ```text
//!            kubeconfig ── connect ──▶ Cluster ── attach(namespace, name) ──┐
//!                                                                           │
//!   API server ══ watch lines ══▶ partial types ─ Subject ──▶ engine::Event ══╪══▶ bounded channel
//!              ◀═ one request ══ Workload (native) ◀──────── engine::Effect ╧══◀ Writer::execute ── Outcome
//! ```
//!
//! Only this module knows `kube`, and uses only its authentication and transport of requests. Objects are read from the wire
//! into our own partial types, which borrow from the received line, and are converted to facts at once. The adapter keeps no
//! copy of the cluster and has no rules: the engine decides what a fact means.
//!
//! Its files are layers; each uses only those below it:
//!
//! ```text
//!   connect                                      kubeconfig, Cluster
//!   feed · fleet                                 which watches run, for one DaemonSet or for all
//!   inspect · log                                what is read while somebody looks at a node
//!   write · subjects · recorder · rights         effects, watched kinds, Events, access reviews
//!   watch · last_seen · native                   one watch; what was seen last; one kind of DaemonSet
//!   http                                         one request
//!   transport                                    connections, credentials, proxies
//!   failure · departure · partial · workload · backoff · clock
//!   clip · kubectl_place                         bounds texts for people; commands to paste
//! ```
//!
//! [`Recorder`] writes Events on the DaemonSet; nothing waits for them.
//!
//! This adapter never repeats a write. The engine decides whether to try again, because only the engine knows the cost of a
//! write that may already have happened.

mod backoff;
mod clip;
mod clock;
mod connect;
mod departure;
mod failure;
mod feed;
mod fleet;
mod http;
mod inspect;
mod kubectl_place;
mod last_observed;
mod log;
mod native;
mod partial;
mod recorder;
mod rights;
#[cfg(test)]
mod scripted;
mod server_news;
mod subjects;
#[cfg(test)]
mod tls_server;
mod transport;
mod watch;
mod workload;
mod write;

pub use clock::Clock;
pub use connect::{
    Cluster, ClusterTarget, ConnectError, Credentials, IN_CLUSTER, ServerPath, context_names, host_and_port,
    server_of_context,
};
pub use failure::{ProxyFailure, ProxyTrouble};
pub use feed::{Attachment, Feed};
pub use fleet::{FleetEvent, FleetWatches};
pub use http::{Traffic, TrafficCount};
pub use kubectl_place::KubectlPlace;
pub use partial::{PartialDaemonSet, PartialRevision};
pub use recorder::{EventNote, Recorder};
pub use write::{Executed, Writer};
