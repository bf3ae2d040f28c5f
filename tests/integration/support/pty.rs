//! The program on a pty whose other end the test reads or not: a terminal that can stop taking output.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::program::Operator;

/// The time limit for steps that take seconds on an idle machine.
const SOON: Duration = Duration::from_secs(90);

/// The program at its terminal; killed when dropped.
#[derive(Debug)]
pub(crate) struct PtyTerminal {
    child: Child,
    keyboard: File,
    shared: Arc<Shared>,
}

struct Shared {
    screen: Mutex<vt100::Parser>,
    /// The program's output that the terminal has taken so far.
    bytes: Mutex<Vec<u8>>,
    /// Whether the terminal takes output.
    takes: AtomicBool,
    closed: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("takes", &self.takes).finish_non_exhaustive()
    }
}

impl PtyTerminal {
    /// Opens the program with `line` in a window of that size.
    pub(crate) fn open(operator: &Operator, line: &[&str], (columns, rows): (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        tcsetwinsize(&slave, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let mut command = operator.command(line);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keyboard = File::from(master.try_clone().unwrap());
        let shared = Arc::new(Shared {
            screen: Mutex::new(vt100::Parser::new(rows, columns, 0)),
            bytes: Mutex::default(),
            takes: AtomicBool::new(true),
            closed: AtomicBool::new(false),
        });
        let (mut output, taker) = (File::from(master), shared.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while !taker.closed.load(Ordering::SeqCst) {
                if !taker.takes.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                }
                match output.read(&mut bytes) {
                    Ok(0) | Err(_) => return,
                    Ok(count) => {
                        taker.bytes.lock().unwrap().extend_from_slice(&bytes[..count]);
                        taker.screen.lock().unwrap().process(&bytes[..count]);
                    }
                }
            }
        });
        Self { child, keyboard, shared }
    }

    /// Types.
    pub(crate) fn write(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn screen(&self) -> String {
        self.shared.screen.lock().unwrap().screen().contents()
    }

    /// The program's output that the terminal has taken so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.shared.bytes.lock().unwrap().clone()
    }

    /// Waits until the screen shows these words.
    #[track_caller]
    pub(crate) fn until(&self, words: &str) {
        let deadline = Instant::now() + SOON;
        while !self.screen().contains(words) {
            assert!(Instant::now() < deadline, "no `{words}` within {SOON:?} on\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops taking output, and makes the program paint so often that the system's buffers fill up.
    pub(crate) fn hang(&mut self, paints: u32) {
        self.shared.takes.store(false, Ordering::SeqCst);
        for _ in 0..paints {
            self.write("\u{c}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Takes output again.
    pub(crate) fn go_on(&self) {
        self.shared.takes.store(true, Ordering::SeqCst);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// How much memory the program holds, according to `/proc`.
    pub(crate) fn resident_kilobytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse().unwrap()
    }

    pub(crate) fn is_there(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the program's end.
    #[track_caller]
    pub(crate) fn gone(&mut self) -> ExitStatus {
        let deadline = Instant::now() + SOON;
        while self.is_there() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child.wait().unwrap()
    }
}

impl Drop for PtyTerminal {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
