//! The signals that end a process. Tasks that listen are told, so that they can end in order; the process ends in any case.
//!
//! ```text
//!  first signal ──▶ told to all who listen ──▶ they stop driving and return ──▶ the process ends
//!              └──▶ 4.5 s later, if it has not: it is ended
//!  second signal ──▶ it is ended at once, unless it comes together with the first
//! ```
//!
//! One event often sends several signals. `timeout` signals its child and then the process group that the child is in. When a
//! terminal is closed, the kernel sends SIGHUP to the processes in front, and so does the shell that it belonged to.
//!
//! A thread of its own waits for them. It depends on no runtime, on no lock that a writer holds, and on no output.

use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::watch;

/// How long an orderly end may take: of the 5 s that are promised, the rest is for the end itself.
pub(crate) const LEAVE_WITHIN: Duration = Duration::from_millis(4_500);

/// How much of that may be spent on giving a Lease back, so that there is time left to say what is left behind.
pub(crate) const STOP_WITHIN: Duration = Duration::from_secs(4);

/// Signals that come so soon after the first belong to it. Who presses ctrl-c again, because it takes too long, is slower.
const TOGETHER: Duration = Duration::from_millis(300);

static ENDING: OnceLock<watch::Receiver<Option<EndSignal>>> = OnceLock::new();
static LAST: OnceLock<fn()> = OnceLock::new();

/// A signal that ends the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndSignal {
    /// SIGHUP: the terminal is gone.
    Hangup,
    /// SIGINT: ctrl-c, where the terminal does not make it a key.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl EndSignal {
    fn of(signal: i32) -> Option<Self> {
        match signal {
            SIGHUP => Some(Self::Hangup),
            SIGINT => Some(Self::Interrupt),
            SIGTERM => Some(Self::Terminate),
            _ => None,
        }
    }

    /// The exit code; a lost terminal counts as an interrupt.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Hangup | Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

impl fmt::Display for EndSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hangup => "SIGHUP",
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        })
    }
}

/// Waits for the signals. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Listener(watch::Receiver<Option<EndSignal>>);

impl Listener {
    /// Whether a signal has come.
    pub(crate) fn has_come(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Waits for the first signal; returns at once if it has come.
    pub(crate) async fn ended(&mut self) -> EndSignal {
        match self.0.wait_for(Option::is_some).await.map(|ending| *ending) {
            Ok(Some(ending)) => ending,
            // The thread never ends.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

/// Handles the signals from now on, for good. Before the first call they end the process by default.
///
/// # Errors
/// When there is no thread to be had, or the system refuses.
pub(crate) fn listen() -> io::Result<Listener> {
    if let Some(listening) = listening() {
        return Ok(listening);
    }
    let (sent, ending) = watch::channel(None);
    if ENDING.set(ending).is_ok() {
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            let mut first: Option<Instant> = None;
            for ending in signals.forever().filter_map(EndSignal::of) {
                match first {
                    Some(first) if first.elapsed() < TOGETHER => continue,
                    Some(_) => end(ending),
                    None => first = Some(Instant::now()),
                }
                sent.send_replace(Some(ending));
                // Without a thread that waits, the process could not be ended later, so it is ended at once.
                let late = std::thread::Builder::new().name("leave".into()).spawn(move || {
                    std::thread::sleep(LEAVE_WITHIN);
                    end(ending);
                });
                if late.is_err() {
                    end(ending);
                }
            }
        })?;
    }
    listening().ok_or_else(|| io::Error::other("nobody listens to signals"))
}

/// The signals, if somebody listens to them already.
pub(crate) fn listening() -> Option<Listener> {
    ENDING.get().cloned().map(Listener)
}

/// Calls `last` before this module ends the process. It may take less than half a second.
pub(crate) fn at_the_end(last: fn()) {
    let _ = LAST.set(last);
}

/// Ends the process without running destructors or flushing buffers, which could block.
fn end(ending: EndSignal) -> ! {
    if let Some(last) = LAST.get() {
        last();
    }
    signal_hook::low_level::exit(ending.code())
}
