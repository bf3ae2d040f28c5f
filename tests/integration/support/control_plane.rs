//! A real control plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback, no kubelet.
//!
//! ```text
//!  test process ──stdin──▶ supervise ──▶ etcd ◀── kube-apiserver ◀── kube-controller-manager
//!       │                  (ends them when stdin does)    ▲   ▲────── kube-scheduler
//!       └── User: token, kubeconfig, HTTP, kubectl ───────┘
//! ```
//!
//! A test asks for a [`Sandbox`] on the control plane that all tests of the process share, or starts a [`ControlPlane`]
//! of its own when it stops components or needs other flags. Either answers "not here" in one line where the programs
//! are not built, and the test passes without having run; `ROLLDECK_CONTROL_PLANE=require` turns that into a failure.
//!
//! Invariants: nothing listens outside loopback; every program ends with the test process, however that ends
//! (`tests/control-plane/supervise`); the directory of a passed test is removed, that of a failed one is kept and named.

mod client;
mod files;
mod filter;
mod other_api_server;
mod programs;
mod sandbox;
mod supervisor;
mod user;
mod witness;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::hollow::ApiEndpoint;
use crate::support::missing::skip;
use rustix::process::{Pid, Signal, kill_process};

use client::Client;
use files::{Files, Ports};
use programs::Programs;
use supervisor::Supervisor;

pub(crate) use super::ledger::{Delete, Ledger, PodState, Step, Unserved};
pub(crate) use client::Answer;
pub(crate) use filter::WatchFilter;
pub(crate) use other_api_server::OtherApiServer;
pub(crate) use sandbox::{Sandbox, daemon_set, sandbox};
pub(crate) use user::{Grant, User};
pub(crate) use witness::Witness;

/// The time limit for a start on a busy machine; on an idle one it takes 5 s.
const START_WITHIN: Duration = Duration::from_secs(120);

/// One program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    /// `etcd`
    Etcd,
    /// `kube-apiserver`
    ApiServer,
    /// `kube-controller-manager`
    ControllerManager,
    /// `kube-scheduler`
    Scheduler,
}

impl Component {
    const ALL: [Self; 4] = [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler];

    /// The program's name.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
        }
    }
}

/// The programs of the control plane are not built here.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no control plane to test against ({missing}): {hint}")]
pub(crate) struct Unavailable {
    missing: String,
    hint: &'static str,
}

/// Why [`ControlPlane::start_with`] has no control plane to return.
#[derive(Clone, Debug, thiserror::Error)]
enum StartError {
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The programs are there, but the control plane did not come up.
    #[error("{0}")]
    Failed(String),
}

/// A test's choices that differ from the default.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// How long a node may be silent before the node lifecycle controller calls it NotReady. The default is an hour, since a node that a test made up
    /// renews no Lease; a test of that controller sets seconds.
    pub(crate) node_monitor_grace: Duration,
    /// Requests per second that the controller manager and the scheduler each allow themselves; the burst is 1.6 times that.
    pub(crate) qps: u32,
    /// Additional flags, put after the default ones, so that they win.
    pub(crate) flags: Vec<(Component, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self { node_monitor_grace: Duration::from_secs(3600), qps: 500, flags: Vec::new() }
    }
}

/// A control plane that runs until this is dropped or the process ends.
pub(crate) struct ControlPlane {
    supervisor: Supervisor,
    pids: Mutex<HashMap<&'static str, Pid>>,
    files: Files,
    programs: Programs,
    admin: User,
    users: Mutex<HashMap<String, usize>>,
}

impl ControlPlane {
    /// Starts a control plane with the default options and waits until it serves.
    ///
    /// # Panics
    ///
    /// When the control plane does not come up, and when the programs are missing although `ROLLDECK_CONTROL_PLANE=require`.
    pub(crate) fn start() -> Result<Self, Unavailable> {
        Self::start_with(&Options::default())
    }

    /// Starts a control plane with `options` and waits until it serves. Panics as [`ControlPlane::start`] does.
    pub(crate) fn start_with(options: &Options) -> Result<Self, Unavailable> {
        Self::try_start(options).map_err(|error| match error {
            StartError::Unavailable(unavailable) => {
                skip(&unavailable);
                unavailable
            }
            StartError::Failed(why) => panic!("{why}"),
        })
    }

    fn try_start(options: &Options) -> Result<Self, StartError> {
        let programs = Programs::find()?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            match Self::attempt(options, programs.clone()) {
                // Another process may take a free port before the program binds it.
                Err(why) if attempts < 3 && why.contains("address already in use") => {}
                Err(why) => return Err(StartError::Failed(why)),
                Ok(plane) => return Ok(plane),
            }
        }
    }

    fn attempt(options: &Options, programs: Programs) -> Result<Self, String> {
        let ports = Ports::free().map_err(|error| format!("cannot find free ports on loopback: {error}"))?;
        let files = Files::write(options, &programs, ports)
            .map_err(|error| format!("cannot write the control plane's files: {error}"))?;
        let client = Arc::new(Client::new(&files));
        let plane = Self {
            supervisor: Supervisor::run(files.directory()).map_err(|error| {
                let _ = std::fs::remove_dir_all(files.directory());
                format!("cannot run the supervisor: {error}")
            })?,
            pids: Mutex::default(),
            admin: User::new("admin", files.token("admin"), client, &files, &programs),
            files,
            programs,
            users: Mutex::default(),
        };
        plane.bring_up().inspect_err(|_| plane.keep())?;
        Ok(plane)
    }

    fn bring_up(&self) -> Result<(), String> {
        self.launch(Component::Etcd);
        self.launch(Component::ApiServer);
        self.until_healthy(Component::ApiServer)?;
        self.until_answers("/api/v1/namespaces/default")?;
        for component in [Component::ControllerManager, Component::Scheduler] {
            self.launch(component);
            self.until_healthy(component)?;
        }
        Ok(())
    }

    /// Waits until `component` reports that it is healthy; the error says why it does not.
    pub(crate) fn until_healthy(&self, component: Component) -> Result<(), String> {
        self.until_answers(&self.files.health(component))
    }

    fn until_answers(&self, url: &str) -> Result<(), String> {
        let deadline = Instant::now() + START_WITHIN;
        while !self.admin.try_get(url).is_ok_and(|answer| answer.status == 200) {
            self.all_alive()?;
            if Instant::now() > deadline {
                let directory = self.directory().display();
                return Err(format!("no answer from {url} within {START_WITHIN:?}: see the logs in {directory}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Fails if a program has ended by itself, with the end of its log.
    fn all_alive(&self) -> Result<(), String> {
        for component in Component::ALL {
            if self.pid(component).is_some_and(|pid| rustix::process::test_kill_process(pid).is_err()) {
                let log = std::fs::read_to_string(self.log(component)).unwrap_or_default();
                let lines: Vec<_> = log.lines().collect();
                let end = lines[lines.len().saturating_sub(15)..].join("\n");
                return Err(format!("{} ended; its log ends with\n{end}", component.program()));
            }
        }
        Ok(())
    }

    fn launch(&self, component: Component) {
        let pid = self.supervisor.start(component.program()).unwrap_or_else(|error| {
            panic!("cannot start {}: {error}", component.program());
        });
        self.pids.lock().unwrap().insert(component.program(), pid);
    }

    /// The address of the API server: `https://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> &str {
        self.files.url()
    }

    /// The certificate of the authority that signed the API server's, in PEM.
    pub(crate) fn authority(&self) -> &str {
        self.files.authority()
    }

    /// The API server's address and credentials for hollow nodes.
    pub(crate) fn target(&self) -> ApiEndpoint {
        ApiEndpoint {
            url: self.url().to_owned(),
            token: self.admin.token().to_owned(),
            authority: Some(self.authority().to_owned()),
            scope: None,
        }
    }

    /// The directory of certificates, kubeconfigs, commands and logs.
    pub(crate) fn directory(&self) -> &Path {
        self.files.directory()
    }

    /// Waits until there is an object at `path`.
    #[track_caller]
    pub(crate) fn until_exists(&self, path: &str) {
        eventually(path, START_WITHIN, || (self.admin.get(path).status == 200).then_some(()));
    }

    /// The file with all log lines of `component`.
    pub(crate) fn log(&self, component: Component) -> PathBuf {
        self.directory().join(format!("{}.log", component.program()))
    }

    /// The process id of `component`, unless it is stopped.
    pub(crate) fn pid(&self, component: Component) -> Option<Pid> {
        self.pids.lock().unwrap().get(component.program()).copied()
    }

    /// The user with all rights (`system:masters`).
    pub(crate) fn admin(&self) -> &User {
        &self.admin
    }

    /// A new user with the rights in `grants` and those of every authenticated user (discovery, asking what one may do).
    ///
    /// `name` is one of [`user::NAMES`]. Each call makes a new user, so that tests do not meet: the third alice is called `alice-3`.
    /// Returns once the API server honours the grants.
    pub(crate) fn user(&self, name: &str, grants: &[Grant]) -> User {
        let user = {
            let mut users = self.users.lock().unwrap();
            let count = users.entry(name.to_owned()).or_default();
            *count += 1;
            assert!(*count <= user::PER_NAME, "more than {} are called {name}", user::PER_NAME);
            let name = format!("{name}-{count}");
            User::new(&name, self.files.token(&name), self.admin.client(), &self.files, &self.programs)
        };
        user.grant(&self.admin, grants);
        user
    }

    /// A user whose token the API server does not know or no longer takes: every request is answered 401.
    pub(crate) fn stranger(&self) -> User {
        User::new("stranger", "expired".to_owned(), self.admin.client(), &self.files, &self.programs)
    }

    /// Freezes `component` (SIGSTOP): connections stay open and nothing answers.
    pub(crate) fn pause(&self, component: Component) {
        self.signal(component, Signal::STOP);
    }

    /// Lets a paused `component` run on (SIGCONT).
    pub(crate) fn resume(&self, component: Component) {
        self.signal(component, Signal::CONT);
    }

    fn signal(&self, component: Component, signal: Signal) {
        let pid = self.pid(component).unwrap_or_else(|| panic!("{} is stopped", component.program()));
        kill_process(pid, signal).unwrap_or_else(|error| panic!("cannot signal {}: {error}", component.program()));
    }

    /// Kills `component` (SIGKILL) and returns when it is gone.
    pub(crate) fn stop(&self, component: Component) {
        self.pids.lock().unwrap().remove(component.program());
        self.supervisor.stop(component.program()).expect("the supervisor should stop a component");
    }

    /// Starts `component` again with its flags and its port. Does not wait: see [`ControlPlane::until_healthy`].
    pub(crate) fn restart(&self, component: Component) {
        self.stop(component);
        self.launch(component);
    }

    /// Keeps the directory and prints where it is.
    pub(crate) fn keep(&self) {
        if self.supervisor.keep().is_ok() {
            eprintln!("the control plane's logs are kept in {}", self.directory().display());
        }
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.keep();
        }
    }
}

impl fmt::Debug for ControlPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlPlane").field("url", &self.url()).field("directory", &self.directory()).finish()
    }
}

/// Asks `look` every 50 ms until it answers, and returns the answer: a real control plane has no virtual clock.
///
/// # Panics
///
/// When there is no answer `within` that time; the message names `what` the test waited for.
pub(crate) fn eventually<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    loop {
        if let Some(answer) = look() {
            return answer;
        }
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
