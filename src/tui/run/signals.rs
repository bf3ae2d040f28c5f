//! Signals, and panics of other threads.
//!
//! Ctrl-C is a key here, because the terminal is raw: a SIGINT comes from another process, and ends the program like SIGTERM.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::Signal;
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};
use tokio::sync::Notify;

use crate::process::output::print_panics;
use crate::process::signals::{self, EndSignal, Listener as Endings};
use crate::tui::terminal;

/// The messages of panics on other threads: they are kept, because they must not be written across the screen.
#[derive(Clone, Debug)]
pub(super) struct Crashes {
    said: Arc<Mutex<Vec<String>>>,
    pub(super) news: Arc<Notify>,
}

impl Crashes {
    /// From now on a panic on this thread restores the terminal before it is reported, and a panic on another thread is kept.
    pub(super) fn watch() -> Self {
        let crashes = Self { said: Arc::default(), news: Arc::default() };
        let here = std::thread::current().id();
        let (previous, remembered) = (std::panic::take_hook(), crashes.clone());
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == here {
                terminal::restore();
                previous(info);
            } else {
                remembered.said.lock().unwrap_or_else(PoisonError::into_inner).push(info.to_string());
                remembered.news.notify_one();
            }
        }));
        crashes
    }

    pub(super) fn unwatch() {
        if !std::thread::panicking() {
            print_panics();
        }
    }

    /// The number of panics.
    pub(super) fn count(&self) -> usize {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn last(&self) -> Option<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The signals that a program with a terminal handles.
pub(super) struct Signals {
    endings: Endings,
    resize: Listener,
    stop: Listener,
    go_on: Listener,
}

/// One of the handled signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Caught {
    End(&'static str),
    Resize,
    Stop,
    GoOn,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        signals::at_the_end(terminal::restore);
        Ok(Self {
            endings: signals::listen()?,
            resize: signal(SignalKind::window_change())?,
            stop: signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
            go_on: signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
        })
    }

    pub(super) async fn next(&mut self) -> Caught {
        tokio::select! {
            ending = self.endings.ended() => Caught::End(match ending {
                EndSignal::Hangup => "SIGHUP",
                EndSignal::Interrupt => "SIGINT",
                EndSignal::Terminate => "SIGTERM",
            }),
            _ = self.resize.recv() => Caught::Resize,
            _ = self.stop.recv() => Caught::Stop,
            _ = self.go_on.recv() => Caught::GoOn,
        }
    }
}
