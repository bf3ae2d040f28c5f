//! A long line: a TCP proxy that delays data both ways, and can fill up or stall.
//!
//! Opening a connection takes as long as over a real line of that length: nothing goes through before a round trip is over.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The line; it is cut when dropped.
#[derive(Debug)]
pub(crate) struct Line {
    state: Arc<LineState>,
    address: SocketAddr,
    directory: TempDir,
}

/// The state that the carrying threads read.
#[derive(Debug, Default)]
struct LineState {
    /// The round trip in microseconds.
    round_trip: AtomicU64,
    holds: AtomicBool,
    closed: AtomicBool,
    /// The servers that new connections lead to, in turn.
    servers: Mutex<Vec<String>>,
    /// How many connections were made.
    connections: AtomicUsize,
}

impl LineState {
    fn next_server(&self) -> String {
        let servers = self.servers.lock().unwrap();
        servers[self.connections.fetch_add(1, Ordering::Relaxed) % servers.len()].clone()
    }
}

impl Line {
    /// A line to `server` (`127.0.0.1:6443`) on which an answer takes at least `round_trip`.
    pub(crate) fn to(server: &str, round_trip: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let line = Self { state: Arc::default(), address, directory: TempDir::new().unwrap() };
        line.set_round_trip(round_trip);
        line.lead_to(&[server]);
        let state = line.state.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if state.closed.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(far) = TcpStream::connect(state.next_server()) else { continue };
                let opened = Instant::now() + Duration::from_micros(state.round_trip.load(Ordering::Relaxed));
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { continue };
                carry(near, far, opened, state.clone());
                carry(far_too, near_too, opened, state.clone());
            }
        });
        line
    }

    /// Sets the round trip from now on; data that is under way is not overtaken.
    pub(crate) fn set_round_trip(&self, round_trip: Duration) {
        self.state.round_trip.store(u64::try_from(round_trip.as_micros()).unwrap(), Ordering::Relaxed);
    }

    /// While `holds` is true, nothing arrives: neither data under way nor what follows.
    pub(crate) fn hold(&self, holds: bool) {
        self.state.holds.store(holds, Ordering::Relaxed);
    }

    /// From now on each new connection leads to the next of these servers, as behind a load balancer.
    pub(crate) fn lead_to(&self, servers: &[&str]) {
        *self.state.servers.lock().unwrap() = servers.iter().map(|server| (*server).to_owned()).collect();
    }

    /// The address of the line's near end: `127.0.0.1:40404`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// A copy of `kubeconfig` that reaches its server through the line.
    pub(crate) fn kubeconfig(&self, kubeconfig: &Path) -> PathBuf {
        let text = std::fs::read_to_string(kubeconfig).unwrap();
        let mut config: Value = serde_saphyr::from_str(&text).unwrap();
        let server = &mut config["clusters"][0]["cluster"]["server"];
        let scheme = server.as_str().unwrap().split_once("://").unwrap().0.to_owned();
        *server = format!("{scheme}://{}", self.address).into();
        let path = self.directory.path().join("kubeconfig");
        std::fs::write(&path, config.to_string()).unwrap();
        path
    }
}

/// The host and port of the server that a kubeconfig names.
pub(crate) fn server_of(kubeconfig: &Path) -> String {
    let config: Value = serde_saphyr::from_str(&std::fs::read_to_string(kubeconfig).unwrap()).unwrap();
    let server = config["clusters"][0]["cluster"]["server"].as_str().unwrap();
    server.split_once("://").unwrap().1.trim_end_matches('/').to_owned()
}

impl Drop for Line {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::Relaxed);
        // The listener ends only after one more connection.
        let _ = TcpStream::connect(self.address);
    }
}

/// Carries one direction of a connection in order: each piece arrives half a round trip later, and none before the connection is open.
fn carry(mut from: TcpStream, mut to: TcpStream, opened: Instant, state: Arc<LineState>) {
    let (sender, pieces) = mpsc::channel::<(Instant, Vec<u8>)>();
    let here = state.clone();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = from.read(&mut buffer).unwrap_or(0);
            let one_way = Duration::from_micros(here.round_trip.load(Ordering::Relaxed) / 2);
            let due = Instant::now().max(opened) + one_way;
            if sender.send((due, buffer[..read].to_vec())).is_err() || read == 0 {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, piece) in pieces {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let is_closed = || state.closed.load(Ordering::Relaxed);
            while state.holds.load(Ordering::Relaxed) && !is_closed() {
                std::thread::sleep(Duration::from_millis(10));
            }
            if piece.is_empty() || is_closed() || to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
