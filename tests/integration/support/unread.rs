//! A headless driver whose output nobody reads: its full pipe stays full until somebody reads it.

use std::fs::File;
use std::io::Read;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::program::Operator;

/// The time limit for steps that take seconds on an idle machine.
const SOON: Duration = Duration::from_secs(90);
/// The process ends 5 s after the first signal; a busy machine adds some time.
pub(crate) const GONE_WITHIN: Duration = Duration::from_secs(8);
/// A pipe of one page that is this full takes no line of JSON any more.
const FULL: u64 = 3_000;

/// The driver; killed when dropped.
#[derive(Debug)]
pub(crate) struct Unread<'a> {
    child: Child,
    output: File,
    operator: &'a Operator,
}

impl<'a> Unread<'a> {
    /// Starts the driver, with standard output and standard error on the same pipe of one page.
    pub(crate) fn drive(operator: &'a Operator, daemonset: &str, flags: &[&str]) -> Self {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
        let line = [&["drive", daemonset, "--yes", "-o", "json"], flags].concat();
        let mut command = operator.command(&line);
        let child = command.stdout(Stdio::from(writer.try_clone().unwrap())).stderr(Stdio::from(writer)).spawn();
        Self { child: child.unwrap(), output: File::from(reader), operator }
    }

    /// Waits until the pipe is full and one more pod has been deleted.
    #[track_caller]
    pub(crate) fn until_stuck(&mut self) {
        self.eventually("the pipe is full", |unread| rustix::io::ioctl_fionread(&unread.output).unwrap() >= FULL);
        let deleted = self.deletions();
        // Each replaced pod takes several lines.
        self.eventually("another pod is deleted", |unread| unread.deletions() > deleted);
    }

    /// How many pods the driver has deleted.
    pub(crate) fn deletions(&self) -> usize {
        self.operator.audit().iter().filter(|line| is_deletion(line)).count()
    }

    /// Waits until the driver's audit log has a line of that kind.
    #[track_caller]
    pub(crate) fn until_told(&mut self, what: &str) {
        self.eventually(what, |unread| unread.operator.audit().iter().any(|line| line["event"] == what));
    }

    /// Waits until the driver has given the Lease back for good; returns how many pods were deleted before and after that.
    ///
    /// A drive that sets an image takes the Lease for the image and gives it back, before it takes it again to drive.
    #[track_caller]
    pub(crate) fn until_given_back(&mut self) -> (usize, usize) {
        let last = |lines: &[Value]| lines.iter().rposition(|line| line["event"] == "leaseGivenBack");
        let driven = |lines: &[Value]| lines.iter().rposition(|line| line["event"] == "leaseAcquired");
        let given_back = |lines: &[Value]| last(lines).zip(driven(lines)).is_some_and(|(back, driven)| back > driven);
        self.eventually("the lease is given back", |unread| given_back(&unread.operator.audit()));
        let lines = self.operator.audit();
        let at = last(&lines).unwrap();
        let deletions = |lines: &[Value]| lines.iter().filter(|line| is_deletion(line)).count();
        (deletions(&lines[..at]), deletions(&lines[at..]))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn is_there(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the driver's end without reading its output.
    #[track_caller]
    pub(crate) fn gone(&mut self) -> ExitStatus {
        self.eventually("it ends", |unread| !unread.is_there());
        self.child.wait().unwrap()
    }

    /// Reads the driver's output to its end.
    pub(crate) fn read(&mut self) -> (String, ExitStatus) {
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        (said, self.child.wait().unwrap())
    }

    #[track_caller]
    fn eventually(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + SOON;
        while !holds(self) {
            assert!(Instant::now() < deadline, "not within {SOON:?}: {what}; {:#?}", self.operator.audit().last());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn is_deletion(line: &Value) -> bool {
    line["event"] == "deletePod" && line["outcome"] == "sent"
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
