//! As in clouds, a load balancer in front of the API server closes idle connections.
//!
//! Watches are closed first, because they are quiet for a minute. Writes share a connection that is idle between two of them: a write on a connection
//! that is being closed would get no answer, and nobody could tell whether the write was done.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rolldeck::driver::{ClusterSession, Session};
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::event::WatchHealth;
use rolldeck::engine::report::snapshot::Phase;

use super::rollout::{Cluster, NODES, image, loaded, until, updated};
use crate::support::line::server_of;
use crate::support::program::access;

/// The load balancer closes a connection that is idle for this long. Leases are renewed every few seconds, so their connection is closed between two
/// writes.
const IDLE: Duration = Duration::from_millis(700);

/// How the load balancer closes a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Closing {
    /// It closes both sides in order.
    Fin,
    /// It resets the connection, as if it had forgotten it.
    Reset,
}

/// The load balancer.
struct LoadBalancer {
    address: SocketAddr,
    closed: Arc<AtomicUsize>,
}

impl LoadBalancer {
    fn to(server: &str, closing: Closing) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, server) = (listener.local_addr().unwrap(), server.to_owned());
        let closed = Arc::new(AtomicUsize::new(0));
        let count = closed.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(&server) else { continue };
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                let last = Arc::new(Mutex::new(Instant::now()));
                carry(near.try_clone().unwrap(), far.try_clone().unwrap(), last.clone());
                carry(far.try_clone().unwrap(), near.try_clone().unwrap(), last.clone());
                let count = count.clone();
                std::thread::spawn(move || {
                    loop {
                        let idle = last.lock().unwrap().elapsed();
                        if idle >= IDLE {
                            break;
                        }
                        std::thread::sleep(IDLE - idle);
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                    if closing == Closing::Reset {
                        // Without lingering the kernel resets the connection when it is closed.
                        let _ = socket2::SockRef::from(&near).set_linger(Some(Duration::ZERO));
                        let _ = far.shutdown(Shutdown::Both);
                        // The carrying threads hold copies of the stream: the connection is closed when the last copy is dropped.
                        let _ = near.shutdown(Shutdown::Read);
                        return;
                    }
                    let _ = (near.shutdown(Shutdown::Both), far.shutdown(Shutdown::Both));
                });
            }
        });
        Self { address, closed }
    }

    fn closed(&self) -> usize {
        self.closed.load(Ordering::Relaxed)
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, last: Arc<Mutex<Instant>>) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            *last.lock().unwrap() = Instant::now();
            if to.write_all(&buffer[..read]).is_err() {
                return;
            }
        }
    });
}

async fn rolls_out_behind(closing: Closing) {
    let cluster = Cluster::start().await;
    let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let server = server_of(cluster.kubeconfig());
    let balancer = LoadBalancer::to(&server, closing);
    let kubeconfig = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(kubeconfig.path(), text.replace(&server, &balancer.address.to_string())).unwrap();
    let session = ClusterSession::open(&access(kubeconfig.path())).await.unwrap();
    let rollout = session.open("edge", "agent", Role::Driver);
    until(&rollout, "everything is loaded", |is| loaded(is)).await;

    rollout.command(image("registry.example/agent:v2")).await.unwrap();
    until(&rollout, "held", |is| is.phase == Phase::Held).await;
    for step in [2, 5, 8] {
        tokio::time::sleep(3 * IDLE).await;
        rollout.command(updated(step)).await.unwrap();
        until(&rollout, "the step is done", |is| is.counts.updated >= step).await;
    }
    let last = until(&rollout, "all are updated and seen", |is| {
        is.counts.updated as usize == NODES
            && is.counts.available as usize == NODES
            && is.watches.iter().all(|watch| watch.health == WatchHealth::Live)
    })
    .await;
    let traffic = session.traffic();
    println!("{closing:?}: {} connections closed, {traffic:?}", balancer.closed());
    assert!(balancer.closed() > 20, "it did close connections: {}", balancer.closed());
    assert!(traffic.watches > 20, "watches were opened again: {traffic:?}");
    assert!(traffic.writes > 10, "{traffic:?}");
    assert_eq!(traffic.failed, 0, "a request got no answer: {traffic:?}");
    assert!(cluster.most_down() <= 2, "{} were down", cluster.most_down());
    assert!(last.alarms.is_empty(), "{:?}", last.alarms);
    rollout.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_goes_on_where_idle_connections_are_closed() {
    rolls_out_behind(Closing::Fin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_goes_on_where_idle_connections_are_reset() {
    rolls_out_behind(Closing::Reset).await;
}
