//! A line of limited bandwidth, as a TCP proxy: all connections share the bandwidth of each direction, and every byte arrives after
//! a fixed delay. A connection carries data only after one round trip. Slow start, loss and TLS are not modelled.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// How many bytes are read at once. At 20 Mbit/s a piece of this size takes 6.5 ms.
const PIECE: usize = 16 * 1024;

/// The line; it is open until the process ends.
pub(crate) struct SlowLine {
    address: SocketAddr,
    carried: Arc<AtomicU64>,
}

/// One direction, shared by all connections.
struct Direction {
    bits_per_second: u64,
    one_way: Duration,
    /// The instant at which the line has sent all bytes given to it so far.
    free_at: Mutex<Instant>,
    carried: Arc<AtomicU64>,
}

impl Direction {
    /// Gives `bytes` more to the line, and returns the instant at which it has sent them.
    fn leave_at(&self, bytes: usize) -> Instant {
        let takes = Duration::from_secs_f64(bytes as f64 * 8.0 / self.bits_per_second as f64);
        let mut free_at = self.free_at.lock().expect("nobody panics with it");
        *free_at = (*free_at).max(Instant::now()) + takes;
        *free_at
    }
}

impl SlowLine {
    /// A line to `server` (`127.0.0.1:6443`) with this bandwidth in each direction; a byte arrives `one_way` after it has left.
    pub(crate) fn to(server: &str, bits_per_second: u64, one_way: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let carried = Arc::new(AtomicU64::new(0));
        let direction = || {
            let (free_at, carried) = (Mutex::new(Instant::now()), carried.clone());
            Arc::new(Direction { bits_per_second, one_way, free_at, carried })
        };
        let (up, down, server) = (direction(), direction(), server.to_owned());
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(&server) else { continue };
                let opened = Instant::now() + 2 * one_way;
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { continue };
                carry(near, far, opened, up.clone());
                carry(far_too, near_too, opened, down.clone());
            }
        });
        Self { address, carried }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Bytes carried so far, both ways, headers included.
    pub(crate) fn carried(&self) -> u64 {
        self.carried.load(Ordering::Relaxed)
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, opened: Instant, direction: Arc<Direction>) {
    let (sender, pieces) = mpsc::channel::<(Instant, Vec<u8>)>();
    let one_way = direction.one_way;
    std::thread::spawn(move || {
        let mut buffer = vec![0; PIECE];
        loop {
            let read = from.read(&mut buffer).unwrap_or(0);
            direction.carried.fetch_add(read as u64, Ordering::Relaxed);
            std::thread::sleep(opened.saturating_duration_since(Instant::now()));
            let left = direction.leave_at(read);
            if sender.send((left + one_way, buffer[..read].to_vec())).is_err() || read == 0 {
                return;
            }
            // The next piece is read only after this one has left, so that the sender feels the bandwidth.
            std::thread::sleep(left.saturating_duration_since(Instant::now()));
        }
    });
    std::thread::spawn(move || {
        for (due, piece) in pieces {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if piece.is_empty() || to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
