//! The program itself, as a script runs it: its output, its exit code, and a driver that goes on beside the test.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rolldeck::driver::Access;
use rolldeck::engine::model::settings::Tuning;
use rolldeck::engine::model::settings::value::Secs;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Access to the cluster of this kubeconfig. Rollouts on it do not soak: pods of these tests serve for good or never, and are created within tenths
/// of a second.
pub(crate) fn access(kubeconfig: impl Into<PathBuf>) -> Access {
    let defaults = Tuning { soak_secs: Some(Secs(0)), ..Tuning::default() };
    Access { kubeconfig: Some(kubeconfig.into()), defaults, ..Access::default() }
}

/// A user of the program: a home of their own, and a kubeconfig.
#[derive(Debug)]
pub(crate) struct Operator {
    home: TempDir,
    kubeconfig: PathBuf,
    namespace: String,
}

impl Operator {
    /// An operator whose rollouts do not soak, as with [`access`].
    pub(crate) fn new(kubeconfig: impl Into<PathBuf>, namespace: &str) -> Self {
        let operator = Self::without_config(kubeconfig, namespace);
        let config = operator.home().join(".config/rolldeck");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("config.toml"), "[defaults]\nsoak = \"0s\"\n").unwrap();
        operator
    }

    /// An operator whose rollouts begin with the built-in defaults.
    pub(crate) fn without_config(kubeconfig: impl Into<PathBuf>, namespace: &str) -> Self {
        Self { home: TempDir::new().unwrap(), kubeconfig: kubeconfig.into(), namespace: namespace.to_owned() }
    }

    /// The operator's own home directory, empty at first.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The lines of the operator's audit log.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let log = self.home().join(".local/state/rolldeck/audit.jsonl");
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    }

    pub(crate) fn use_kubeconfig(&mut self, file: PathBuf) {
        self.kubeconfig = file;
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The program with `line`, in the operator's namespace unless the line names one.
    pub(crate) fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rolldeck"));
        command.env_clear().env("HOME", self.home()).env("PATH", "/usr/bin:/bin").env("USER", "tester");
        command.env("KUBECONFIG", &self.kubeconfig).stdin(Stdio::null()).args(line);
        if !line.contains(&"-n") && !line.is_empty() {
            command.args(["-n", &self.namespace]);
        }
        command
    }

    pub(crate) fn run(&self, line: &[&str]) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs a command that must succeed, and returns its standard output.
    pub(crate) fn ok(&self, line: &[&str]) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(0), "{line:?}: {}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The command's standard output, whatever its exit code.
    pub(crate) fn ok_or_not(&self, line: &[&str]) -> String {
        String::from_utf8(self.run(line).stdout).unwrap()
    }

    pub(crate) fn json(&self, line: &[&str]) -> Value {
        let output = self.run(line);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line:?}: {error}: {}", text(&output)))
    }

    /// The DaemonSet's status with its nodes.
    pub(crate) fn status(&self, daemonset: &str) -> Status {
        Status(self.json(&["status", daemonset, "--nodes", "-o", "json"]))
    }

    /// The DaemonSet's status once `holds` is true of it; panics with the last status if that takes longer than `within`.
    #[track_caller]
    pub(crate) fn until_status(
        &self,
        daemonset: &str,
        what: &str,
        within: Duration,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        let deadline = Instant::now() + within;
        loop {
            let status = self.status(daemonset).0;
            if holds(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "not within {within:?}: {what}; the status is {status:#}");
            // Each status starts the program and reads the whole rollout.
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Starts a headless driver that goes on beside the test.
    pub(crate) fn drive(&self, daemonset: &str, flags: &[&str]) -> Driving {
        self.start(&[&["drive", daemonset, "--yes", "--timeout", "600s"], flags].concat())
    }

    /// Starts a command that goes on beside the test.
    pub(crate) fn start(&self, line: &[&str]) -> Driving {
        let mut child = self.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Driving { child, lines, seen: String::new() }
    }
}

/// The output of `status -o json --nodes`.
#[derive(Clone, Debug)]
pub(crate) struct Status(pub(crate) Value);

impl Status {
    /// The names of the nodes for which `holds` is true.
    pub(crate) fn nodes(&self, holds: impl Fn(&Value) -> bool) -> Vec<String> {
        let nodes = self.0["nodes"].as_array().unwrap_or_else(|| panic!("no nodes in {}", self.0));
        nodes.iter().filter(|node| holds(node)).map(|node| node["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The name of a node's pod.
    pub(crate) fn pod(&self, node: &str) -> Option<&str> {
        let nodes = self.0["nodes"].as_array()?;
        nodes.iter().find(|entry| entry["name"] == node)?["pod"].as_str()
    }

    /// The nodes whose pod is at the revision that is rolled out.
    pub(crate) fn at_target(&self) -> Vec<String> {
        self.nodes(|node| node["atTarget"] == true)
    }
}

/// A node of such an output, by its name.
#[track_caller]
pub(crate) fn node_of<'a>(status: &'a Value, name: &str) -> &'a Value {
    let nodes = status["nodes"].as_array().unwrap_or_else(|| panic!("no nodes in {status}"));
    nodes.iter().find(|node| node["name"] == *name).unwrap_or_else(|| panic!("no {name} in {status}"))
}

/// A headless driver that goes on beside the test; killed when dropped.
#[derive(Debug)]
pub(crate) struct Driving {
    child: Child,
    lines: BufReader<ChildStdout>,
    seen: String,
}

impl Driving {
    /// Reads on until a line contains `words`.
    #[track_caller]
    pub(crate) fn until(&mut self, words: &str) {
        self.until_line(words, |line| line.contains(words));
    }

    /// Reads on until a line reports a node as updated and at least `count` in all: several may be updated at once.
    #[track_caller]
    pub(crate) fn until_updated(&mut self, count: usize) {
        let updated = |line: &str| line.split_once(": updated, ")?.1.split_once(" of ")?.0.parse::<usize>().ok();
        self.until_line(&format!("updated, {count} of"), |line| updated(line).is_some_and(|printed| printed >= count));
    }

    #[track_caller]
    fn until_line(&mut self, what: &str, is_it: impl Fn(&str) -> bool) {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).unwrap();
            self.seen.push_str(&line);
            assert!(read > 0, "it ended before it said `{what}`:\n{}", self.seen);
            if is_it(&line) {
                return;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Reads the rest of the output, so that the program never waits for the test, and waits for its end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            self.seen.push_str(&line);
            line.clear();
        }
        self.child.wait().unwrap()
    }

    /// The program's standard error, once it has ended.
    pub(crate) fn errors(&mut self) -> String {
        let mut said = String::new();
        self.child.stderr.as_mut().map(|stderr| stderr.read_to_string(&mut said));
        said
    }

    /// The standard output that was read so far.
    pub(crate) fn seen(&self) -> &str {
        &self.seen
    }
}

impl Drop for Driving {
    /// Kills the program. If the test fails, prints the program's output.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let mut rest = String::new();
            let _ = self.lines.read_to_string(&mut rest);
            if let Some(stderr) = &mut self.child.stderr {
                let _ = stderr.read_to_string(&mut rest);
            }
            eprintln!("a program that this test had started said:\n{}{rest}", self.seen);
        }
    }
}

/// A program's standard output and standard error.
pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
