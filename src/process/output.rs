//! One writer thread for each stream. It writes what it is sent, in order; senders do not wait for it unless they ask to.
//!
//! The sender bounds the queue: the console sends a frame only when the one before it is written in full, the command line waits
//! for [`StreamWriter::room`] before it prints more. A stream that took not a byte for [`STUCK_AFTER`] is stuck. The time in
//! which this process itself stood still (`SIGSTOP`, a suspended machine) does not count: its reader may have waited for it.
//!
//! This is the only file that writes to standard output or standard error, and it writes [`Printable`] only.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::printable::Printable;

/// A stream that has bytes to write and takes none for this long is stuck; a driver that prints to it then stops driving.
pub(crate) const STUCK_AFTER: Duration = Duration::from_secs(10);
/// A waiting stream is looked at this often. From one look to the next the process is taken to have run for at most twice as long.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The most bytes per `write`: each piece that is taken shows that the stream is not stuck.
const PIECE: usize = 4096;
/// [`StreamWriter::room`] waits while more bytes than this are not written yet.
const ROOM: usize = 64 * 1024;

/// Writes to one stream on a thread of its own. Cheap to clone; the thread ends when the last clone is dropped and all is
/// written.
#[derive(Clone, Debug)]
pub(crate) struct StreamWriter {
    shared: Arc<OutputShared>,
    _alive: Arc<Alive>,
}

/// What the thread and its users share.
#[derive(Debug)]
struct OutputShared {
    state: Mutex<OutputState>,
    /// Wakes the thread.
    sent: Condvar,
    /// Wakes whoever waits on a thread until all is written.
    written: Condvar,
    /// Wakes whoever waits in a task: something was written, something new is waiting, or the stream failed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct OutputState {
    queue: VecDeque<Vec<u8>>,
    /// Bytes that are not written yet.
    waiting: usize,
    /// Present while something waits.
    idle: Option<Idle>,
    /// How long the last bytes waited, from when they were sent to an empty queue.
    took: Duration,
    begun_at: Option<Instant>,
    failed: Option<io::ErrorKind>,
    closed: bool,
}

/// How long a stream took nothing although something waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Idle {
    since: Instant,
    /// For how long this process has run meanwhile, up to the last look.
    ran: Duration,
    looked_at: Instant,
}

impl Idle {
    fn from(now: Instant) -> Self {
        Self { since: now, ran: Duration::ZERO, looked_at: now }
    }

    /// The same, looked at `now`.
    fn looked_at(self, now: Instant) -> Self {
        let ran = now.saturating_duration_since(self.looked_at).min(2 * LOOK_EVERY);
        Self { ran: self.ran + ran, looked_at: now, ..self }
    }
}

/// Tells the thread that nobody will send any more.
#[derive(Debug)]
struct Alive(Arc<OutputShared>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.sent.notify_all();
    }
}

impl OutputShared {
    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamWriter {
    /// Starts writing to `stream`.
    ///
    /// # Errors
    /// When there is no thread to be had.
    fn start(stream: impl Into<OwnedFd>) -> io::Result<Self> {
        let shared = Arc::new(OutputShared {
            state: Mutex::default(),
            sent: Condvar::new(),
            written: Condvar::new(),
            changed: Notify::new(),
        });
        let (stream, thread) = (File::from(stream.into()), shared.clone());
        std::thread::Builder::new().name("output".into()).spawn(move || thread.write_all_to(&stream))?;
        let alive = Arc::new(Alive(shared.clone()));
        Ok(Self { shared, _alive: alive })
    }

    /// A writer to standard output.
    ///
    /// # Errors
    /// When there is no thread or no file descriptor to be had.
    pub(crate) fn stdout() -> io::Result<Self> {
        Self::start(io::stdout().as_fd().try_clone_to_owned()?)
    }

    /// A writer to standard error.
    ///
    /// # Errors
    /// When there is no thread or no file descriptor to be had.
    pub(crate) fn stderr() -> io::Result<Self> {
        Self::start(io::stderr().as_fd().try_clone_to_owned()?)
    }

    /// Has `text` written after all that was sent before. Returns at once.
    ///
    /// # Errors
    /// When the stream has failed.
    pub(crate) fn send(&self, text: Printable) -> io::Result<()> {
        let bytes = text.into_bytes();
        let mut state = self.shared.lock();
        if let Some(failed) = state.failed {
            return Err(failed.into());
        }
        if bytes.is_empty() {
            return Ok(());
        }
        if state.waiting == 0 {
            let now = Instant::now();
            (state.idle, state.begun_at) = (Some(Idle::from(now)), Some(now));
        }
        state.waiting += bytes.len();
        state.queue.push_back(bytes);
        drop(state);
        self.shared.sent.notify_one();
        self.shared.changed.notify_waiters();
        Ok(())
    }

    /// Whether all that was sent is written.
    pub(crate) fn is_idle(&self) -> bool {
        self.shared.lock().waiting == 0
    }

    /// Why the stream takes nothing any more.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.shared.lock().failed.map(io::Error::from)
    }

    /// How long what was sent last to an idle writer took to be written.
    pub(crate) fn took(&self) -> Duration {
        self.shared.lock().took
    }

    /// For how long the stream has taken nothing although something waits. Zero if nothing waits. The time in which this process
    /// stood still does not count.
    pub(crate) fn idle_for(&self) -> Duration {
        self.look(Instant::now()).map_or(Duration::ZERO, |idle| idle.ran)
    }

    fn look(&self, now: Instant) -> Option<Idle> {
        let mut state = self.shared.lock();
        state.idle = state.idle.map(|idle| idle.looked_at(now));
        state.idle
    }

    /// Waits until all is written, or the stream has failed.
    pub(crate) async fn drained(&self) {
        self.until(|state| state.waiting == 0).await;
    }

    /// Waits until there is room for more, or the stream has failed.
    pub(crate) async fn room(&self) {
        self.until(|state| state.waiting <= ROOM).await;
    }

    /// Waits until the stream has failed.
    pub(crate) async fn failed(&self) {
        self.until(|_| false).await;
    }

    /// Waits until the stream is stuck; returns since when. Never returns for one that has failed.
    pub(crate) async fn stuck(&self) -> Instant {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self.look(Instant::now()) {
                Some(idle) if idle.ran >= STUCK_AFTER => return idle.since,
                // Only time makes it stuck; bytes written meanwhile are seen after the wait.
                Some(idle) => sleep((STUCK_AFTER - idle.ran).min(LOOK_EVERY)).await,
                None => changed.await,
            }
        }
    }

    async fn until(&self, holds: impl Fn(&OutputState) -> bool) {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let done = {
                let state = self.shared.lock();
                holds(&state) || state.failed.is_some()
            };
            if done {
                return;
            }
            changed.await;
        }
    }

    /// Waits on this thread until all is written or the stream has failed, for at most `patience`. Whether all is written.
    pub(crate) fn drain(&self, patience: Duration) -> bool {
        let state = self.shared.lock();
        let waits = |state: &mut OutputState| state.waiting > 0 && state.failed.is_none();
        let waited = self.shared.written.wait_timeout_while(state, patience, waits);
        waited.unwrap_or_else(PoisonError::into_inner).0.waiting == 0
    }
}

impl OutputShared {
    /// The thread.
    fn write_all_to(&self, stream: &File) {
        loop {
            let mut state = self.lock();
            let bytes = loop {
                match state.queue.pop_front() {
                    Some(bytes) => break bytes,
                    None if state.closed => return,
                    None => state = self.sent.wait(state).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(state);
            if let Err(error) = self.write(stream, &bytes) {
                self.fail(&error);
                return;
            }
        }
    }

    /// Writes `bytes`, however long that takes.
    fn write(&self, stream: &File, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece = &rest[..rest.len().min(PIECE)];
            match rustix::io::write(stream, piece) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    rest = &rest[written..];
                    self.took_bytes(written);
                }
                Err(Errno::INTR) => {}
                // The stream is non-blocking, because another process that shares it has set that.
                Err(Errno::AGAIN) => wait_for(stream)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn took_bytes(&self, written: usize) {
        let mut state = self.lock();
        state.waiting -= written;
        let now = Instant::now();
        if state.waiting == 0 {
            state.took = state.begun_at.take().map(|begun| now - begun).unwrap_or_default();
            state.idle = None;
        } else {
            state.idle = Some(Idle::from(now));
        }
        drop(state);
        self.written.notify_all();
        self.changed.notify_waiters();
    }

    fn fail(&self, error: &io::Error) {
        let mut state = self.lock();
        state.failed = Some(error.kind());
        state.queue.clear();
        (state.waiting, state.idle, state.begun_at) = (0, None, None);
        drop(state);
        self.written.notify_all();
        self.changed.notify_waiters();
    }
}

/// Writes `text` to standard error and waits for that. A closed standard error cannot be reported anywhere.
pub(crate) fn say_on_stderr(text: &Printable) {
    let mut stderr = io::stderr().lock();
    drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
}

/// From now on the message of a panic is printable too: it may quote what came from elsewhere.
pub(crate) fn print_panics() {
    std::panic::set_hook(Box::new(|info| say_on_stderr(&Printable::panic(info))));
}

fn wait_for(stream: &File) -> io::Result<()> {
    let fd = stream.as_fd();
    match poll(&mut [PollFd::new(&fd, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// A pipe that takes 4 KiB before somebody reads.
    fn pipe() -> (File, StreamWriter) {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        #[cfg(target_os = "linux")]
        rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
        (File::from(reader), StreamWriter::start(writer).unwrap())
    }

    #[tokio::test]
    async fn what_is_sent_is_written_in_order_and_nobody_waits() {
        let (mut reader, writer) = pipe();
        let text: Vec<u8> = (0..200_000_u32).flat_map(|nth| nth.to_string().into_bytes()).collect();
        text.chunks(1_000).for_each(|piece| writer.send(Printable::control_sequences(piece.to_vec())).unwrap());
        assert!(!writer.is_idle() && !writer.idle_for().is_zero(), "nobody reads");
        let read = std::thread::spawn(move || {
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            read
        });
        writer.drained().await;
        assert!(writer.is_idle() && writer.idle_for().is_zero());
        drop(writer);
        assert!(read.join().unwrap() == text);
    }

    #[tokio::test]
    async fn there_is_room_again_once_somebody_reads() {
        let (mut reader, writer) = pipe();
        writer.send(Printable::control_sequences(vec![b'.'; ROOM + 8192])).unwrap();
        let waited = tokio::time::timeout(Duration::from_millis(50), writer.room()).await;
        assert!(waited.is_err(), "nobody reads");
        assert!(!writer.drain(Duration::from_millis(50)));
        std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        writer.room().await;
        assert!(writer.drain(Duration::from_secs(30)));
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_is_a_failure_for_whoever_waits_and_whoever_sends() {
        let (reader, writer) = pipe();
        drop(reader);
        writer.send(Printable::control_sequences(b"to nobody".to_vec())).unwrap();
        writer.failed().await;
        assert_eq!(writer.failure().unwrap().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(
            writer.send(Printable::control_sequences(b"more".to_vec())).unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );
        writer.drained().await;
    }

    #[tokio::test]
    async fn a_stream_is_stuck_when_it_takes_nothing_not_when_it_is_slow() {
        let (mut reader, writer) = pipe();
        writer.send(Printable::control_sequences(vec![b'.'; 3 * 4096])).unwrap();
        let since = |writer: &StreamWriter| writer.look(Instant::now()).unwrap().since;
        let filled = since(&writer);
        let slowly = std::thread::spawn(move || {
            let mut page = [0; 4096];
            std::thread::sleep(Duration::from_millis(50));
            reader.read_exact(&mut page).unwrap();
            reader
        });
        let _reader = slowly.join().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while since(&writer) <= filled + Duration::from_millis(50) {
            assert!(Instant::now() < deadline, "what was read made room");
            std::thread::sleep(Duration::from_millis(5));
        }
        let stuck = tokio::time::timeout(Duration::from_millis(50), writer.stuck()).await;
        assert!(stuck.is_err(), "it took something a moment ago");
    }

    #[test]
    fn the_time_in_which_the_process_stood_still_does_not_make_a_stream_stuck() {
        let begun = Instant::now();
        let idle = (1..=8).fold(Idle::from(begun), |idle, second| idle.looked_at(begun + second * LOOK_EVERY));
        assert_eq!(idle.ran, Duration::from_secs(8));
        let stopped = idle.looked_at(begun + Duration::from_secs(60));
        assert_eq!(
            (stopped.ran, stopped.since),
            (Duration::from_secs(10), begun),
            "at most two seconds from one look to the next"
        );
        let early = Idle::from(begun).looked_at(begun + Duration::from_secs(34));
        assert!(early.ran < STUCK_AFTER, "what was sent in the moment in which it stopped gets its time: {early:?}");
    }
}
