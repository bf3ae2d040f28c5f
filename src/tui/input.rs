//! The thread that reads the terminal.
//!
//! ```text
//!   tty ──┐
//!         ├─ poll ─► decode ─► keys ─► the loop
//!   wake ─┘     └─ HUP, ERR, end of file ─► gone ─► the process ends within a second, whatever the loop does
//! ```
//!
//! It sleeps until there is something to read; a terminal that went away is one event, not a busy loop (crossterm#793). It
//! never waits for the loop: when the loop is stuck, a second ctrl-c still ends the process.

pub(crate) mod decode;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;

use self::decode::{Decoder, TerminalInput};
use super::key::Key;
use super::terminal;

/// The time after which an `ESC` without a continuation is the key: longer than the gaps inside one sequence over a slow link.
const ESCAPE_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// The time that the loop has to end after the terminal went away, before the process is ended.
const GRACE: Duration = Duration::from_millis(800);
/// The most inputs that may wait for the loop: more than a person types while a frame is drawn.
const QUEUE: usize = 1024;
/// The exit code of a process that ended on SIGHUP, as shells count.
const EXIT_HANGUP: i32 = 128 + 1;
/// The exit code of a process that ended on SIGINT.
const EXIT_INTERRUPT: i32 = 128 + 2;

/// A message of the thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TerminalEvent {
    /// The terminal sent something.
    Input(TerminalInput),
    /// The terminal is gone.
    Gone,
}

/// The thread. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Reader {
    events: mpsc::Receiver<TerminalEvent>,
    interrupted: Arc<AtomicBool>,
    _wake: OwnedFd,
}

impl Reader {
    /// Starts reading `tty`.
    ///
    /// # Errors
    /// No pipe or no thread can be created.
    pub(crate) fn start(tty: OwnedFd) -> io::Result<Self> {
        let (woken, wake) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (sender, events) = mpsc::channel(QUEUE);
        let interrupted = Arc::new(AtomicBool::new(false));
        let thread = Thread { tty, woken, sender, interrupted: interrupted.clone() };
        std::thread::Builder::new().name("terminal input".into()).spawn(move || thread.run())?;
        Ok(Self { events, interrupted, _wake: wake })
    }

    /// The next event of the terminal.
    pub(crate) async fn next(&mut self) -> TerminalEvent {
        let event = self.events.recv().await.unwrap_or(TerminalEvent::Gone);
        self.note(&event);
        event
    }

    /// The next event that has already arrived, if any.
    pub(crate) fn try_next(&mut self) -> Option<TerminalEvent> {
        let event = self.events.try_recv().ok()?;
        self.note(&event);
        Some(event)
    }

    /// Notes that the loop is alive: it handles an interrupt itself.
    fn note(&self, event: &TerminalEvent) {
        if *event == TerminalEvent::Input(TerminalInput::Key(Key::ctrl('c'))) {
            self.interrupted.store(false, Ordering::Relaxed);
        }
    }
}

struct Thread {
    tty: OwnedFd,
    woken: OwnedFd,
    sender: mpsc::Sender<TerminalEvent>,
    interrupted: Arc<AtomicBool>,
}

/// The result of one read.
enum Read {
    Bytes(usize),
    Quiet,
    Gone,
    Dropped,
}

impl Thread {
    fn run(self) {
        let (mut decoder, mut inputs) = (Decoder::default(), Vec::new());
        let mut buffer = [0_u8; 4096];
        loop {
            match self.read(&mut buffer, decoder.pending().then_some(&ESCAPE_WAIT)) {
                Read::Bytes(count) => decoder.feed(&buffer[..count], &mut inputs),
                Read::Quiet => decoder.settle(&mut inputs),
                Read::Dropped => return,
                Read::Gone => return self.gone(),
            }
            for input in inputs.drain(..) {
                self.pass_on(input);
            }
        }
    }

    fn read(&self, buffer: &mut [u8], timeout: Option<&Timespec>) -> Read {
        loop {
            let mut fds = [PollFd::new(&self.tty, PollFlags::IN), PollFd::new(&self.woken, PollFlags::IN)];
            match poll(&mut fds, timeout) {
                Ok(0) => return Read::Quiet,
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return Read::Gone,
            }
            if !fds[1].revents().is_empty() {
                return Read::Dropped;
            }
            let ready = fds[0].revents();
            if ready.contains(PollFlags::IN) {
                match rustix::io::read(self.tty.as_fd(), &mut *buffer) {
                    Ok(0) => return Read::Gone,
                    Ok(count) => return Read::Bytes(count),
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    Err(_) => return Read::Gone,
                }
            } else if ready.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                return Read::Gone;
            }
        }
    }

    fn pass_on(&self, input: TerminalInput) {
        if input == TerminalInput::Key(Key::ctrl('c')) && self.interrupted.swap(true, Ordering::Relaxed) {
            terminal::restore();
            std::process::exit(EXIT_INTERRUPT);
        }
        // A full queue means that the loop is stuck: keys typed from then on are dropped, so that they do not act later.
        let _ = self.sender.try_send(TerminalEvent::Input(input));
    }

    /// Tells the loop that the terminal is gone, and ends the process if the loop does not end in time.
    fn gone(self) {
        let _ = self.sender.try_send(TerminalEvent::Gone);
        let deadline = std::time::Instant::now() + GRACE;
        while std::time::Instant::now() < deadline {
            if self.sender.is_closed() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        std::process::exit(EXIT_HANGUP);
    }
}
