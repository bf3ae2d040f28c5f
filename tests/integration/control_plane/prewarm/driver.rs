//! Drivers: one in the test's own process, and one in a process that can be killed.

use std::process::{Child, Stdio};
use std::sync::Arc;

use rolldeck::driver::{ClusterSession, Rollout, Session};
use rolldeck::engine::model::command::{Command, Takeover};
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::driver::DriverView;
use rolldeck::engine::model::prewarm::PrewarmMethod;
use rolldeck::engine::report::snapshot::Snapshot;
use tokio::runtime::Runtime;

use super::super::fixture::{RolloutFixture, SOON};
use crate::support::program::{Operator, access};

/// A driver in this process.
pub(super) struct DriverHere {
    rollout: Rollout,
    runtime: Runtime,
}

impl DriverHere {
    pub(super) fn of(operator: &Operator, fixture: &RolloutFixture) -> Self {
        Self::open(operator.kubeconfig(), fixture.sandbox.namespace())
    }

    fn open(kubeconfig: &std::path::Path, namespace: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let access = access(kubeconfig);
        let rollout = runtime.block_on(async {
            let session = ClusterSession::open(&access).await.unwrap();
            session.open(namespace, "agent", Role::Driver)
        });
        let driver = Self { rollout, runtime };
        driver.until("all is loaded", |snapshot| {
            snapshot.watches.iter().all(|watch| watch.health == rolldeck::engine::model::event::WatchHealth::Live)
                && !snapshot.rights.is_empty()
        });
        driver
    }

    /// Gives a command; panics when it is not carried out.
    pub(super) fn does(&self, command: Command) {
        let what = format!("{command:?}");
        let done = self.runtime.block_on(async { tokio::time::timeout(SOON, self.rollout.command(command)).await });
        done.unwrap_or_else(|_| panic!("not within {SOON:?}: {what}")).unwrap_or_else(|why| panic!("{what}: {why}"));
    }

    /// Begins to drive, also after another driver died.
    pub(super) fn drive_on(&self) {
        self.does(Command::Drive(Takeover::Ask));
        self.until("it drives", |snapshot| matches!(snapshot.driver, DriverView::You { .. }));
    }

    /// Gives `command`, and drives.
    pub(super) fn drive(&self, command: Command) {
        self.does(command);
        self.drive_on();
    }

    #[track_caller]
    pub(super) fn until(&self, what: &str, is: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let mut snapshots = self.rollout.snapshots.clone();
        let found = self.runtime.block_on(async {
            tokio::time::timeout(SOON, snapshots.wait_for(|snapshot| is(snapshot)))
                .await
                .map(|found| found.unwrap().clone())
        });
        found.unwrap_or_else(|_| {
            let last = self.rollout.snapshot();
            let nodes: Vec<String> = last.nodes.iter().map(|it| format!("{}: {:?}", it.name, it.prewarm)).collect();
            panic!(
                "not within {SOON:?}: {what}; {:?} {:?} {:?}\n{:#?}\n{nodes:#?}",
                last.driver, last.alarms, last.watches, last.prewarm
            )
        })
    }

    /// The current snapshot.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.rollout.snapshot()
    }

    /// Stops driving, which gives the Lease back.
    pub(super) fn close(self) {
        self.does(Command::StopDriving);
        self.until("it drives no more", |snapshot| !matches!(snapshot.driver, DriverView::You { .. }));
        let Self { rollout, runtime } = self;
        runtime.block_on(rollout.close());
        runtime.shutdown_background();
    }
}

/// The driver's image, kubeconfig, namespace and method, in the environment of its process.
const ENVIRONMENT: [&str; 4] =
    ["ROLLDECK_TEST_IMAGE", "ROLLDECK_TEST_KUBECONFIG", "ROLLDECK_TEST_NAMESPACE", "ROLLDECK_TEST_METHOD"];
/// The value of `ROLLDECK_TEST_METHOD` that stands for pre-warming by StatefulSet.
const BY_SETS: &str = "statefulset";
/// The name of the test that runs as the driver's process.
const PROCESS: &str = "control_plane::prewarm::a_driver_in_a_process_of_its_own";

/// A driver in a process of its own; killed when dropped.
pub(super) struct DriverProcess(Child);

impl DriverProcess {
    /// Starts a driver that pre-warms `image`.
    pub(super) fn start(operator: &Operator, fixture: &RolloutFixture, image: &str, method: PrewarmMethod) -> Self {
        let kubeconfig = operator.kubeconfig().to_str().unwrap();
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", PROCESS, "--ignored"]).stdin(Stdio::null()).stdout(Stdio::null());
        let method = if method == PrewarmMethod::StatefulSet { BY_SETS } else { "pods" };
        for (key, value) in ENVIRONMENT.into_iter().zip([image, kubeconfig, fixture.sandbox.namespace(), method]) {
            command.env(key, value);
        }
        Self(command.spawn().unwrap())
    }

    /// Kills the process (SIGKILL).
    pub(super) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for DriverProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Drives until the process is killed; returns at once in a process that [`DriverProcess`] did not start.
pub(super) fn be_a_process() {
    let [Ok(image), Ok(kubeconfig), Ok(namespace), Ok(method)] = ENVIRONMENT.map(std::env::var) else { return };
    let driver = DriverHere::open(kubeconfig.as_ref(), &namespace);
    driver.drive(if method == BY_SETS { super::statefulset::start(&image, None) } else { super::start(&image) });
    loop {
        std::thread::park();
    }
}
