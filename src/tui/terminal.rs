//! The terminal: its modes are set once and always restored; each frame is one write.
//!
//! Every end of the process, a panic included, goes through [`restore`]. Ctrl-Z leaves the terminal, stops, and enters it
//! again. A frame is encoded into one buffer and handed over in one piece; an unchanged frame is not written at all. One that may reach the
//! terminal in several parts is wrapped in a synchronized update (DEC 2026) if the terminal says that it knows them.
//!
//! A separate thread writes, so that a terminal that takes no bytes blocks nothing else. At most one frame is being written;
//! the next is drawn from the newest model once that one is written.

pub(crate) mod encode;
pub(crate) mod osc;
mod shift;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crossterm::{cursor, event, queue, terminal as control};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};

use crate::process::output::StreamWriter;
use crate::process::printable::Printable;

/// The private mode of synchronized updates.
pub(crate) const SYNCHRONIZED: u16 = 2026;
/// A frame of at most this many bytes crosses a network in one packet, and the terminal reads it at once: there is no part of it that could be drawn alone,
/// so that the 16 bytes of a synchronized update are left out.
const IN_ONE_PART: usize = 512;
const ASK_SYNCHRONIZED: &[u8] = b"\x1b[?2026$p";
/// OSC 11: asks for the colour of the background. Terminals that do not know it ignore it.
const ASK_BACKGROUND: &[u8] = b"\x1b]11;?\x1b\\";
/// The time that the terminal has for its last bytes: a terminal that takes none is left as it is.
const LAST_BYTES: Duration = Duration::from_millis(400);

/// Whether there is something to restore.
static ENTERED: AtomicBool = AtomicBool::new(false);
/// Whether the title was changed, and the earlier one pushed.
static TITLED: AtomicBool = AtomicBool::new(false);
/// The writer to the terminal. Nobody holds the lock for longer than it takes to clone the writer.
static OUTPUT: Mutex<Option<StreamWriter>> = Mutex::new(None);

/// Restores the terminal, if it was entered. The function can be called at any time and from any thread, a panicking one
/// included; it takes no longer than [`LAST_BYTES`], whatever the terminal does.
pub(crate) fn restore() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let mut bytes = Vec::new();
        let _ = queue!(
            bytes,
            control::EndSynchronizedUpdate,
            event::DisableBracketedPaste,
            cursor::Show,
            control::LeaveAlternateScreen
        );
        if TITLED.swap(false, Ordering::SeqCst) {
            bytes.extend_from_slice(osc::POP_TITLE);
        }
        let output = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(output) = output
            && output.send(Printable::control_sequences(bytes)).is_ok()
        {
            output.drain(LAST_BYTES);
        }
        let _ = control::disable_raw_mode();
    }
}

/// The destination of frames.
pub(crate) trait Sink {
    /// Has all of `bytes` written, in one piece where that is possible.
    ///
    /// # Errors
    /// The terminal is gone.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Whether all bytes are written: only then is the next frame encoded, as the difference to the one on screen.
    fn is_ready(&self) -> bool;
}

impl Sink for StreamWriter {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        Self::send(self, Printable::control_sequences(bytes.to_vec()))
    }

    fn is_ready(&self) -> bool {
        self.is_idle()
    }
}

impl Sink for Vec<u8> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn is_ready(&self) -> bool {
        true
    }
}

/// Writes frames, each as the difference to the one before.
#[derive(Debug)]
pub(crate) struct Screen<S> {
    sink: S,
    /// The frame on the terminal; `None` if it is unknown.
    shown: Option<Buffer>,
    cursor: Option<Position>,
    synchronized: bool,
    bytes: Vec<u8>,
    /// Sequences that draw no cell (clipboard, bell, title), written with the next frame.
    beside: Vec<u8>,
}

impl<S: Sink> Screen<S> {
    pub(crate) fn new(sink: S) -> Self {
        Self { sink, shown: None, cursor: None, synchronized: false, bytes: Vec::new(), beside: Vec::new() }
    }

    /// Takes in the terminal's setting of synchronized updates: 1 and 2 mean that it knows them.
    pub(crate) fn set_synchronized(&mut self, setting: u16) {
        self.synchronized = matches!(setting, 1 | 2);
    }

    /// Forgets the frame on the terminal: the next frame is written in full.
    pub(crate) fn forget(&mut self) {
        self.shown = None;
    }

    /// Whether the last frame is written, so that the next one can be encoded against it.
    pub(crate) fn is_ready(&self) -> bool {
        self.sink.is_ready()
    }

    /// Has the terminal put `text` into its clipboard, together with the next frame.
    pub(crate) fn copy(&mut self, text: &str) {
        self.beside.extend(osc::clipboard(text));
    }

    /// Has the terminal ring, together with the next frame.
    pub(crate) fn ring(&mut self) {
        self.beside.extend_from_slice(osc::BELL);
    }

    /// Sets the title of the terminal, together with the next frame. [`restore`] sets the earlier title.
    pub(crate) fn set_title(&mut self, text: &str) {
        if !TITLED.swap(true, Ordering::SeqCst) {
            self.beside.extend_from_slice(osc::PUSH_TITLE);
        }
        self.beside.extend(osc::title(text));
    }

    /// Shows `frame`, with the cursor at the text being typed; call it only when it [is ready](Self::is_ready). Returns the
    /// number of bytes.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn show(&mut self, mut frame: Buffer, cursor: Option<Position>) -> io::Result<usize> {
        self.bytes.clear();
        encode::mend(&mut frame);
        let known = self.shown.take().filter(|shown| shown.area == frame.area);
        let before = if let Some(shown) = known {
            shown
        } else {
            self.bytes.extend_from_slice(b"\x1b[m\x1b[H\x1b[2J\x1b[?25l");
            self.cursor = None;
            Buffer::empty(frame.area)
        };
        let begun = self.bytes.len();
        encode::encode(&before, &frame, &mut self.bytes);
        if self.bytes.len() - begun > shift::WORTHWHILE {
            let mut moving = Vec::new();
            if let Some(moved) = shift::shift(&before, &frame, &mut moving) {
                encode::encode_from(Some((0, moved.row)), &moved.shown, &frame, &mut moving);
                if moving.len() < self.bytes.len() - begun {
                    self.bytes.truncate(begun);
                    self.bytes.append(&mut moving);
                }
            }
        }
        let painted = self.bytes.len() > begun;
        match (self.cursor, cursor) {
            (Some(_), None) => queue!(self.bytes, cursor::Hide)?,
            (was, Some(at)) if painted || was != Some(at) => {
                queue!(self.bytes, cursor::MoveTo(at.x, at.y))?;
                if was.is_none() {
                    queue!(self.bytes, cursor::Show)?;
                }
            }
            _ => {}
        }
        self.cursor = cursor;
        self.shown = Some(frame);
        if self.bytes.is_empty() && self.beside.is_empty() {
            return Ok(0);
        }
        if self.synchronized && self.bytes.len() > IN_ONE_PART {
            self.bytes.splice(0..0, *b"\x1b[?2026h");
            self.bytes.extend_from_slice(b"\x1b[?2026l");
        }
        self.bytes.splice(0..0, self.beside.drain(..));
        self.sink.send(&self.bytes)?;
        Ok(self.bytes.len())
    }

    #[cfg(test)]
    pub(crate) fn take_written(&mut self) -> S
    where
        S: Default,
    {
        std::mem::take(&mut self.sink)
    }
}

/// The reason why there is no console.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TerminalError {
    /// Standard output is not a terminal.
    #[error(
        "the console needs a terminal, and standard output is none; `rolldeck status` prints the same in plain text"
    )]
    NotATerminal,
    /// The terminal cannot be used.
    #[error("cannot {what}: {error}")]
    Io {
        /// What was attempted.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

fn attempt<T, E: Into<io::Error>>(what: &'static str, result: Result<T, E>) -> Result<T, TerminalError> {
    result.map_err(|error| TerminalError::Io { what, error: error.into() })
}

/// The terminal that this process was started from.
#[derive(Debug)]
pub(crate) struct Tty {
    input: OwnedFd,
    /// The writer that sends frames to the terminal.
    writer: StreamWriter,
}

impl Tty {
    /// Finds the terminal; changes nothing yet.
    ///
    /// # Errors
    /// There is no terminal.
    pub(crate) fn find() -> Result<Self, TerminalError> {
        if !rustix::termios::isatty(io::stdout()) {
            return Err(TerminalError::NotATerminal);
        }
        let input = if rustix::termios::isatty(io::stdin()) {
            attempt("read standard input", io::stdin().as_fd().try_clone_to_owned())?
        } else {
            attempt("open /dev/tty", File::open("/dev/tty"))?.into()
        };
        let writer = attempt("write to standard output", StreamWriter::stdout())?;
        Ok(Self { input, writer })
    }

    /// A separate descriptor to read the terminal's keys from.
    ///
    /// # Errors
    /// There are no more file descriptors.
    pub(crate) fn input(&self) -> Result<OwnedFd, TerminalError> {
        attempt("read the terminal", self.input.try_clone())
    }

    /// The writer to the terminal.
    pub(crate) fn writer(&self) -> StreamWriter {
        self.writer.clone()
    }

    /// The size in cells, at most [`WIDEST`] by [`HIGHEST`]; 80x24 if it is unknown.
    pub(crate) fn size(&self) -> Size {
        match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => clamped(Size::new(size.ws_col, size.ws_row)),
            _ => Size::new(80, 24),
        }
    }

    /// Takes over the terminal. [`restore`] gives it back.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn enter(&mut self) -> Result<(), TerminalError> {
        *OUTPUT.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.writer.clone());
        ENTERED.store(true, Ordering::SeqCst);
        attempt("switch the terminal to raw mode", control::enable_raw_mode())?;
        let mut bytes = Vec::new();
        let entered = queue!(bytes, control::EnterAlternateScreen, cursor::Hide, event::EnableBracketedPaste);
        attempt("write to the terminal", entered)?;
        // A terminal that does not know the question may print it: the first frame overwrites the print.
        bytes.extend_from_slice(ASK_SYNCHRONIZED);
        bytes.extend_from_slice(ASK_BACKGROUND);
        attempt("write to the terminal", self.writer.send(Printable::control_sequences(bytes)))
    }

    /// Gives the terminal back, prints `farewell` if there is one, stops this process as Ctrl-Z does, and takes over the
    /// terminal again once the process continues.
    ///
    /// # Errors
    /// The terminal is gone by then.
    pub(crate) fn suspend(&mut self, farewell: Option<&str>) -> Result<(), TerminalError> {
        restore();
        if let Some(farewell) = farewell {
            self.say(Printable::line(farewell));
        }
        let stopped = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
        attempt("stop this process", stopped)?;
        self.enter()
    }

    /// Prints a text on the terminal after it was given back, if it takes bytes.
    pub(crate) fn say(&mut self, text: Printable) {
        if self.writer.send(text).is_ok() {
            self.writer.drain(LAST_BYTES);
        }
    }
}

/// Whether a shell with job control started this process: without such a shell nobody would continue a stopped process.
///
/// Such a shell gives each job a process group of its own, which is never that of its session.
pub(crate) fn under_job_control() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session != rustix::process::getpgrp())
}

/// The most columns and rows that are drawn, more than any screen has. A terminal may claim 65,535 of each, for which a
/// frame would take 200 GB; only the upper left part of such a terminal is used.
pub(crate) const WIDEST: u16 = 1_000;
/// See [`WIDEST`].
pub(crate) const HIGHEST: u16 = 500;

/// `size`, at most [`WIDEST`] by [`HIGHEST`].
pub(crate) fn clamped(size: Size) -> Size {
    Size::new(size.width.min(WIDEST), size.height.min(HIGHEST))
}

/// The whole terminal as a rectangle.
pub(crate) fn area(size: Size) -> Rect {
    Rect::new(0, 0, size.width, size.height)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Buffer {
        Buffer::with_lines([text])
    }

    #[test]
    fn an_unchanged_frame_writes_nothing() {
        let mut screen = Screen::new(Vec::new());
        screen.show(frame("hello"), None).unwrap();
        screen.take_written();
        assert_eq!(screen.show(frame("hello"), None).unwrap(), 0);
        assert!(screen.take_written().is_empty());
    }

    #[test]
    fn large_frames_are_synchronized_once_the_terminal_says_that_it_can() {
        let is_synchronized = |written: &[u8]| written.windows(5).any(|bytes| bytes == b"?2026");
        let large = |letter: &str| frame(&letter.repeat(IN_ONE_PART));
        let mut screen = Screen::new(Vec::new());
        screen.show(large("a"), None).unwrap();
        assert!(!is_synchronized(&screen.take_written()));
        screen.set_synchronized(2);
        screen.show(large("b"), None).unwrap();
        let written = screen.take_written();
        assert!(written.starts_with(b"\x1b[?2026h") && written.ends_with(b"\x1b[?2026l"));
        screen.show(frame(&format!("c{}", "b".repeat(IN_ONE_PART - 1))), None).unwrap();
        assert!(!is_synchronized(&screen.take_written()));
    }

    #[test]
    fn the_cursor_shows_only_where_text_is_typed() {
        let mut screen = Screen::new(Vec::new());
        screen.show(frame("type: "), Some(Position::new(6, 0))).unwrap();
        let mut terminal = vt100::Parser::new(1, 6, 0);
        terminal.process(&screen.take_written());
        assert!(!terminal.screen().hide_cursor());
        screen.show(frame("type: "), None).unwrap();
        terminal.process(&screen.take_written());
        assert!(terminal.screen().hide_cursor());
    }

    #[test]
    fn a_resized_frame_is_written_in_full() {
        let mut screen = Screen::new(Vec::new());
        screen.show(frame("one"), None).unwrap();
        screen.take_written();
        screen.show(frame("four"), None).unwrap();
        assert!(screen.take_written().windows(4).any(|bytes| bytes == b"\x1b[2J"));
    }
}
