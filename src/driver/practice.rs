//! A practice cluster: the simulated cluster, served in this process, with a session like on any other cluster.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::{Access, AccessError, ClusterSession, ServerPath, private_file};
use crate::audit::AuditLog;
use crate::engine::model::Str;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::value::Secs;
use crate::engine::model::settings::{Gates, Tuning};
use crate::engine::model::time::Timestamp;
use crate::sim::api::{self, Server};
use crate::sim::world::World;
use crate::sim::world::scenario::{self, DaemonSetPlan, RegistryImage, Scenario, ScenarioError};

/// The default seed, so that the course of events is the same for everybody.
const SEED: u64 = 1;

/// The content of a practice cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PracticeCluster {
    /// A scenario: the name of a built-in one, or a TOML file.
    Scenario(String),
    /// A generated fleet with this number of nodes, a hundred per site, and one DaemonSet.
    Fleet(u32),
}

/// How the practice cluster runs.
#[derive(Clone, PartialEq, Debug)]
pub struct PracticeOptions {
    /// The content of the cluster.
    pub cluster: PracticeCluster,
    /// How much faster than real time it runs.
    pub speed: f64,
    /// The same seed gives the same course of events, and the same uids. `None`: the default course, with uids of its own, so that what is
    /// kept of one practice cluster is not taken for what happened on another.
    pub seed: Option<u64>,
}

/// A practice cluster that is being served. Dropping this value stops the server.
#[derive(Debug)]
pub struct Practice {
    server: Server,
    speed: f64,
    daemonset: Option<(Str, Str)>,
}

impl Practice {
    /// Serves a practice cluster on a free loopback port. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When there is no such scenario, it cannot be read, or nothing can be listened on.
    pub async fn start(wanted: &PracticeOptions) -> Result<Self, AccessError> {
        let mut scenario = match &wanted.cluster {
            PracticeCluster::Scenario(named) => read_scenario(named)?,
            PracticeCluster::Fleet(nodes) => fleet(*nodes),
        };
        // The world starts at the present wall time, so that ages on a screen are right.
        scenario.start = now();
        let daemonset = scenario.daemon_sets.first().map(|plan| (plan.namespace.clone(), plan.name.clone()));
        let world = match wanted.seed {
            Some(seed) => World::new(&scenario, seed),
            None => World::with_uids_of_its_own(&scenario, SEED, uid_mark()),
        };
        let options = api::ApiOptions { speed: wanted.speed, ..api::ApiOptions::default() };
        let server =
            api::serve(world, options).await.map_err(|error| failed("serving the practice cluster", &error))?;
        Ok(Self { server, speed: wanted.speed, daemonset })
    }

    /// A kubeconfig, as text, with which kubectl and other consoles reach the cluster. Its namespace is that of the DaemonSet to roll out.
    pub fn kubeconfig(&self) -> String {
        self.server.kubeconfig_in(self.daemonset().map(|(namespace, _)| namespace))
    }

    /// The DaemonSet to roll out: namespace and name.
    pub fn daemonset(&self) -> Option<(&str, &str)> {
        self.daemonset.as_ref().map(|(namespace, name)| (&**namespace, &**name))
    }

    /// Opens a session on the practice cluster, as on any other cluster. The audit log marks its lines as practice.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn session(&self, audit: AuditLog) -> Result<ClusterSession, AccessError> {
        // A session is opened from a kubeconfig file, which is read once.
        let file = private_file::temporary(&self.server.kubeconfig())
            .map_err(|error| failed("writing the practice kubeconfig", &error))?;
        let defaults = defaults_at(self.speed);
        let access = Access {
            kubeconfig: Some(file.clone()),
            audit,
            defaults,
            server_path: ServerPath::Loopback,
            ..Access::default()
        };
        let session = ClusterSession::open(&access).await;
        // If the file cannot be removed, it names a port on which nothing will listen any more.
        let _ = std::fs::remove_file(&file);
        session.map(ClusterSession::in_practice)
    }
}

/// The default settings on a cluster that runs `speed` times faster than real time. Rollouts soak by the clock of this
/// process, so the default soak time is shortened by that factor.
fn defaults_at(speed: f64) -> Tuning {
    let soak = Gates::default().soak_secs;
    let faster = (1..=soak.0).find(|secs| f64::from(*secs) * speed >= f64::from(soak.0));
    Tuning { soak_secs: faster.map(Secs).filter(|faster| *faster < soak), ..Tuning::default() }
}

/// A mark that no other practice cluster has: each `RandomState` has other keys, also in another process.
fn uid_mark() -> u128 {
    let half = || u128::from(RandomState::new().hash_one((std::process::id(), now().millis())));
    half() << 64 | half()
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or_default())
}

/// The built-in scenarios: name and description.
pub fn scenarios() -> Vec<(&'static str, String)> {
    let about = |name| scenario::built_in(name).map(|scenario| scenario.about).unwrap_or_default();
    scenario::BUILT_IN.iter().map(|(name, _)| (*name, about(name))).collect()
}

/// The built-in scenario with this name, or the scenario in this file.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn read_scenario(named: &str) -> Result<Scenario, AccessError> {
    Scenario::parse(named, &scenario_text(named)?).map_err(|error| unreadable(&error))
}

/// What is wrong with a name that is neither that of a file nor that of a built-in scenario; `None` where it may be read.
pub fn unknown_scenario(named: &str) -> Option<String> {
    let file = Path::new(named);
    let error = scenario::built_in_text(named).err().filter(|_| file.extension().is_none() && !file.exists())?;
    Some(unreadable(&error).message)
}

/// The text of the built-in scenario with this name, or of this file.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn scenario_text(named: &str) -> Result<String, AccessError> {
    let file = Path::new(named);
    if file.extension().is_none() && !file.exists() {
        return scenario::built_in_text(named).map(str::to_owned).map_err(|error| unreadable(&error));
    }
    std::fs::read_to_string(file).map_err(|error| failed(&format!("reading the scenario {named}"), &error))
}

/// A scenario file that lists and explains every key.
pub fn scenario_reference() -> &'static str {
    scenario::REFERENCE
}

/// A fleet of `nodes`, a hundred per site, on fast links.
fn fleet(nodes: u32) -> Scenario {
    const SITE: u32 = 100;
    const LINK: u64 = 1_250_000_000;
    const IMAGE: u64 = 20_000_000;
    let mut plan = DaemonSetPlan::new("edge", "agent", "registry.example/agent:v1");
    plan.max_unavailable = IntOrPercent::Percent(1);
    let mut scenario = Scenario::new("fleet").with_daemon_set(plan);
    for version in ["v1", "v2"] {
        scenario = scenario.with_image(RegistryImage::new(&format!("registry.example/agent:{version}"), IMAGE));
    }
    for site in 0..nodes.div_ceil(SITE) {
        let count = SITE.min(nodes - site * SITE) as usize;
        scenario = scenario.with_site(&format!("site-{site:03}"), LINK, &format!("node-{site:03}-"), count);
    }
    scenario
}

fn failed(what: &str, error: &io::Error) -> AccessError {
    AccessError { message: format!("{what}: {error}"), hints: Vec::new() }
}

fn unreadable(error: &ScenarioError) -> AccessError {
    AccessError { message: format!("scenario {}: {}", error.file, error.message), hints: Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    #[test]
    fn a_name_that_is_no_scenario_is_told_before_anything_is_read() {
        let unknown = super::unknown_scenario("nope").unwrap_or_default();
        assert!(unknown.starts_with("scenario nope: there is no such scenario; there are factory"), "{unknown}");
        assert_eq!((super::unknown_scenario("small"), super::unknown_scenario("plant.toml")), (None, None));
    }

    use super::*;
    use crate::driver::Session;
    use crate::engine::model::command::Command;
    use crate::engine::model::config::Role;
    use crate::engine::model::presence::Presence;
    use crate::engine::report::snapshot::Phase;
    use crate::sim::world::kind::Kind;

    #[test]
    fn on_a_faster_cluster_a_rollout_soaks_for_less() {
        let soak = |speed: f64| defaults_at(speed).soak_secs.map(|secs| secs.0);
        assert_eq!(
            [1.0, 1.1, 2.0, 4.0, 12.0, 10_000.0, 0.01].map(soak),
            [None, None, Some(5), Some(3), Some(1), Some(1), None]
        );
    }

    /// README's commands name no namespace: whoever serves a practice cluster types them as they stand.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_served_cluster_is_used_without_naming_its_namespace() {
        let wanted = PracticeOptions { cluster: PracticeCluster::Fleet(2), speed: 1.0, seed: Some(1) };
        let practice = Practice::start(&wanted).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        std::fs::write(&file, practice.kubeconfig()).unwrap();
        let session = ClusterSession::open(&Access { kubeconfig: Some(file), ..Access::default() }).await.unwrap();
        assert_eq!(Some(session.default_namespace()), practice.daemonset().map(|(namespace, _)| namespace));
    }

    /// What identifies a cluster (`kube-system`), a DaemonSet and a pod.
    async fn uids(seed: Option<u64>) -> Vec<Str> {
        let wanted = PracticeOptions { cluster: PracticeCluster::Fleet(3), speed: 1.0, seed };
        let practice = Practice::start(&wanted).await.unwrap();
        practice.server.with_world(|world| {
            let uid = |kind, namespace, name| world.store().get(kind, namespace, name).unwrap().meta.uid.clone();
            let pod =
                world.store().list(Kind::Pod).find(|pod| &*pod.meta.namespace == "edge").unwrap().meta.uid.clone();
            vec![uid(Kind::Namespace, "", "kube-system"), uid(Kind::DaemonSet, "edge", "agent"), pod]
        })
    }

    /// The audit log and reports tell clusters apart by these uids.
    #[tokio::test]
    async fn every_practice_cluster_has_uids_of_its_own_unless_a_seed_is_asked_for() {
        let (one, another) = (uids(None).await, uids(None).await);
        assert!(one.iter().zip(&another).all(|(one, another)| one != another), "{one:?} {another:?}");
        assert_eq!(uids(Some(7)).await, uids(Some(7)).await);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_logged_in_practice_says_so() {
        let wanted = PracticeOptions { cluster: PracticeCluster::Fleet(3), speed: 20.0, seed: Some(1) };
        let practice = Practice::start(&wanted).await.unwrap();
        let (namespace, name) = practice.daemonset().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("audit.jsonl");
        let session = practice.session(AuditLog::File(file.clone())).await.unwrap();
        let mut rollout = session.open(namespace, name, Role::Driver);
        let loaded = |snapshot: &std::sync::Arc<crate::engine::report::snapshot::Snapshot>| {
            snapshot.daemonset == Presence::Present
                && snapshot.phase != Phase::Loading
                && snapshot.freshness().to_string() == "live"
        };
        tokio::time::timeout(Duration::from_secs(30), rollout.snapshots.wait_for(loaded)).await.unwrap().unwrap();
        rollout.command(Command::Adopt).await.unwrap();
        let last = rollout.snapshots.clone();
        rollout.close().await;
        assert_eq!(last.borrow().unaudited, Vec::<Str>::new(), "it takes Events as a real cluster does");
        let log = std::fs::read_to_string(&file).unwrap();
        assert!(log.contains(r#""event":"adopt""#) && log.contains(r#""event":"leaseGivenBack""#), "{log}");
        assert!(log.lines().all(|line| line.contains(r#""practice":true"#)), "{log}");
    }
}
