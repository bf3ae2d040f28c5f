//! The client of `tests/control-plane/supervise`, the shell script that ends the programs when this process is gone.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use rustix::process::Pid;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/control-plane/supervise");

/// A running supervisor. Dropping it ends every program and waits for that; the end of this process ends them too, without waiting.
#[derive(Debug)]
pub(super) struct Supervisor {
    child: Child,
    pipes: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

impl Supervisor {
    /// Runs a supervisor for the programs whose commands are in `directory`; the supervisor removes `directory` at its end.
    pub(super) fn run(directory: &Path) -> io::Result<Self> {
        let log = std::fs::File::create(directory.join("supervise.log"))?;
        let mut child = Command::new(SCRIPT)
            .arg(directory)
            // The programs collect their garbage less often, which saves about a tenth of their processor time.
            .env("GOGC", "400")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{SCRIPT}: {error}")))?;
        let pipes = child.stdin.take().zip(child.stdout.take().map(BufReader::new));
        Ok(Self { child, pipes: Mutex::new(pipes) })
    }

    /// Runs `DIRECTORY/NAME.sh`, after it has ended the program that this name ran before.
    pub(super) fn start(&self, name: &str) -> io::Result<Pid> {
        let answer = self.ask(&format!("start {name}"))?;
        answer
            .parse()
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other(format!("the supervisor answered {answer:?} instead of a process id")))
    }

    /// Kills a program; returns when it is gone.
    pub(super) fn stop(&self, name: &str) -> io::Result<()> {
        self.ask(&format!("stop {name}")).map(drop)
    }

    /// Keeps the directory.
    pub(super) fn keep(&self) -> io::Result<()> {
        self.ask("keep").map(drop)
    }

    fn ask(&self, line: &str) -> io::Result<String> {
        let mut pipes = self.pipes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (stdin, stdout) = pipes.as_mut().ok_or_else(|| io::Error::other("the supervisor has no pipes"))?;
        writeln!(stdin, "{line}")?;
        let mut answer = String::new();
        stdout.read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        *self.pipes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        let _ = self.child.wait();
    }
}

mod tests {
    use std::fs;
    use std::time::Duration;

    use rustix::process::{Signal, kill_process, test_kill_process};

    use super::super::eventually;
    use super::*;

    fn directory() -> std::path::PathBuf {
        let directory = tempfile::tempdir().unwrap().keep();
        fs::write(directory.join("sleeper.sh"), "exec sleep 1000\n").unwrap();
        directory
    }

    #[test]
    fn programs_end_with_the_supervisor_even_frozen_ones() {
        let directory = directory();
        let supervisor = Supervisor::run(&directory).unwrap();
        let first = supervisor.start("sleeper").unwrap();
        let second = supervisor.start("sleeper").unwrap();
        assert!(test_kill_process(first).is_err(), "starting again ends the one before");
        kill_process(second, Signal::STOP).unwrap();
        drop(supervisor);
        assert!(test_kill_process(second).is_err());
        assert!(!directory.exists());
    }

    #[test]
    fn a_kept_directory_stays() {
        let directory = directory();
        let supervisor = Supervisor::run(&directory).unwrap();
        supervisor.keep().unwrap();
        drop(supervisor);
        assert!(directory.join("sleeper.sh").exists());
        fs::remove_dir_all(directory).unwrap();
    }

    /// The pipe closes without a `Drop`, as when the test process is killed.
    #[test]
    fn programs_end_when_the_pipe_closes() {
        let directory = directory();
        let supervisor = Supervisor::run(&directory).unwrap();
        let sleeper = supervisor.start("sleeper").unwrap();
        *supervisor.pipes.lock().unwrap() = None;
        eventually("the program is gone", Duration::from_secs(10), || test_kill_process(sleeper).err());
    }
}
