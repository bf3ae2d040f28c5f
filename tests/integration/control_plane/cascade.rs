//! The founding scenario (see `founding.rs`) with Kubernetes' own controllers, three times beside each other on one control plane with twenty nodes
//! each: with nobody but the DaemonSet controller, with its brake pressed when nodes are lost, and with `rolldeck drive`.
//!
//! The kubelets' clock runs ten times as fast as the real one, so the control plane's grace for silent nodes is a tenth. Controllers and rolldeck run
//! in real time: a second of rolldeck's is ten of the scenario's.

use std::time::{Duration, Instant};

use crate::support::hollow::{Hollow, HollowOptions, Workloads};
use rolldeck::sim::world::scenario::{BUILT_IN, Scenario};
use serde_json::Value;

use super::fixture::{BUDGET, DS, SOON, SPEED, operator};
use crate::support::control_plane::{ControlPlane, Options, Witness};
use crate::support::figures::{Figures, MINUTES, NODES, table};
use crate::support::program::Operator;

const V2: &str = "agent=registry.example/agent:v2";
/// The operator presses the brake this long after the alarm: ten seconds of the scenario.
const REACTION: Duration = Duration::from_secs(1);

/// Who rolls out, and who intervenes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Driver {
    /// The DaemonSet controller, by itself.
    Controller,
    /// The DaemonSet controller, until an operator presses the brake because more nodes are lost than allowed.
    Braked,
    /// rolldeck.
    Rolldeck,
}

impl Driver {
    const ALL: [Self; 3] = [Self::Controller, Self::Braked, Self::Rolldeck];

    /// The driver's name, which is also the name of its namespace.
    fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Braked => "brake",
            Self::Rolldeck => "rolldeck",
        }
    }

    /// The scenario with nodes and a namespace of this driver's own.
    fn scenario(self) -> Scenario {
        let (_, text) = BUILT_IN.iter().find(|(name, _)| *name == "cascade").expect("it is built in");
        let text =
            text.replace("ipc-", &format!("{}-", self.name())).replace("\"edge\"", &format!("\"{}\"", self.name()));
        let mut scenario = Scenario::parse("cascade", &text).expect("a scenario");
        for node in &mut scenario.nodes {
            node.labels = [("driver", self.name())].into_iter().collect();
        }
        scenario.daemon_sets[0].node_selector = [("driver".to_owned(), self.name().to_owned())].into();
        scenario
    }
}

#[test]
fn the_controller_loses_every_node_the_brake_saves_most_and_rolldeck_loses_two() {
    let node_monitor_grace = Driver::Rolldeck.scenario().node_grace.div_f64(SPEED);
    let Ok(plane) = ControlPlane::start_with(&Options { node_monitor_grace, ..Options::default() }) else { return };
    let runs = std::thread::scope(|scope| {
        let runs = Driver::ALL.map(|driver| {
            let plane = &plane;
            scope.spawn(move || Run::new(plane, driver).run())
        });
        runs.map(|run| run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    println!("{}", table(&runs));
    let [native, braked, rolldeck] = &runs;
    assert_eq!((native.worst.lost, native.replaced), (NODES, NODES));
    assert_eq!(native.serving.last(), Some(&0));
    // At most the six nodes that were cut off when the brake was pressed, and the two before them, are lost.
    assert!(braked.worst.lost <= BUDGET + 6, "{braked:?}");
    assert!((1..=BUDGET).contains(&rolldeck.replaced) && rolldeck.worst.lost <= BUDGET, "{rolldeck:?}");
    assert!(rolldeck.stopped_after.is_some(), "{rolldeck:?}");
}

/// Checks the last output of a driver that halted.
fn says_why_where_and_what_next(said: &str) {
    let halted: Vec<&str> = said.lines().skip_while(|line| !line.contains(" halted ")).collect();
    println!("{}", halted.join("\n"));
    for words in [
        "image not found on ",
        "failed on rolldeck-",
        "`rolldeck undo --context test -n rolldeck ds/agent` rolls back",
        "`rolldeck resume --context test -n rolldeck ds/agent` goes on past it",
    ] {
        assert!(halted.iter().any(|line| line.contains(words)), "`{words}` is not in what it said last:\n{said}");
    }
}

/// One driver's run: its nodes, the witness of its pods, and its operator.
struct Run<'a> {
    driver: Driver,
    plane: &'a ControlPlane,
    hollow: Hollow,
    witness: Witness,
    operator: Operator,
}

impl<'a> Run<'a> {
    /// Starts the nodes, and returns when all pods run.
    fn new(plane: &'a ControlPlane, driver: Driver) -> Self {
        let scenario = driver.scenario();
        let options = HollowOptions { speed: SPEED, workloads: Workloads::Create, ..HollowOptions::default() };
        let hollow = Hollow::start(&plane.target(), &scenario, options).expect("hollow nodes");
        plane.until_exists(&format!("/api/v1/namespaces/{}", driver.name()));
        let nodes: Vec<String> = scenario.nodes.iter().map(|node| node.name.to_string()).collect();
        let witness = Witness::watch(plane, driver.name(), "agent", &nodes);
        witness.until("everything runs at the beginning", SOON, |witness| witness.unavailable() == 0);
        let operator = operator(plane, driver.name());
        Self { driver, plane, hollow, witness, operator }
    }

    fn run(self) -> Figures {
        let original = self.daemon_set()["spec"]["updateStrategy"].to_string();
        self.witness.start_over();
        let began = Instant::now();
        self.hollow.resume();
        let stopped_after = self.roll_out().then(|| began.elapsed());
        let minute = |nth: usize| began + Duration::from_secs(60 * nth as u64).div_f64(SPEED);
        std::thread::sleep(minute(MINUTES).saturating_duration_since(Instant::now()));
        let serving = (0..=MINUTES).map(|nth| self.witness.serving_at(minute(nth))).collect();
        let untouched = self.witness.ledger(|ledger| ledger.untouched());
        let (worst, undone) = (self.witness.worst_unserved_since(began), Instant::now());
        let back_after = self.take_back(undone);

        assert_eq!(self.daemon_set()["spec"]["updateStrategy"].to_string(), original, "{:?}: to the byte", self.driver);
        let annotations = self.daemon_set()["metadata"]["annotations"].to_string();
        assert!(!annotations.contains("rolldeck.io"), "{annotations}");
        let now = self.witness.ledger(|ledger| ledger.untouched());
        assert_eq!(now, untouched, "{:?}: whoever never left v1 keeps the pod", self.driver);
        assert_eq!(self.witness.worst_unserved_since(began).lost, worst.lost, "nothing more is lost on the way back");
        assert_eq!(self.hollow.refusals(), Vec::<String>::new());
        let replaced = NODES - untouched.len();
        Figures { driver: self.driver.name(), worst, replaced, stopped_after, serving, back_after }
    }

    /// Rolls v2 out until somebody stops it; returns whether somebody did.
    fn roll_out(&self) -> bool {
        match self.driver {
            Driver::Controller => {
                self.kubectl(&["set", "image", "daemonset/agent", V2]);
                self.names_what_its_controller_took();
                false
            }
            Driver::Braked => {
                self.kubectl(&["set", "image", "daemonset/agent", V2]);
                let lost = |witness: &Witness| witness.ledger(|ledger| ledger.unserved()).lost;
                self.witness.until("more nodes are lost than allowed", SOON, |witness| lost(witness) > BUDGET);
                std::thread::sleep(REACTION);
                self.operator.ok(&["pause", DS, "--yes"]);
                let after = self.operator.status(DS);
                assert_eq!(after.0["budget"]["replacedBy"], "controller", "the brake replaced nothing: {}", after.0);
                true
            }
            Driver::Rolldeck => {
                let mut driver = self.operator.drive(DS, &["--image", V2, "--to", "100%"]);
                assert_eq!(driver.end().code(), Some(4), "it halts: {}", driver.seen());
                let errors = driver.errors();
                says_why_where_and_what_next(&format!("{}{errors}", driver.seen()));
                true
            }
        }
    }

    /// The controller deletes old pods on nodes that are down, outside of every budget. `status` says of each of these nodes that its pod is deleted,
    /// and blames the rollout for it.
    fn names_what_its_controller_took(&self) {
        let deleted = || -> Vec<String> {
            let pods = self.plane.admin().get(&format!("/api/v1/namespaces/{}/pods", self.driver.name())).ok();
            let nodes = self.plane.admin().get("/api/v1/nodes").ok();
            let is_ready = |node: &Value| {
                let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
                conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
            };
            let nodes = nodes["items"].as_array().cloned().unwrap_or_default();
            let down: Vec<&Value> =
                nodes.iter().filter(|node| !is_ready(node)).map(|node| &node["metadata"]["name"]).collect();
            let pods = pods["items"].as_array().cloned().unwrap_or_default();
            let goes = |pod: &&Value| {
                pod["metadata"]["deletionTimestamp"].is_string() && down.contains(&&pod["spec"]["nodeName"])
            };
            pods.iter()
                .filter(goes)
                .map(|pod| pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let until = Instant::now() + SOON;
        let (before, said) = loop {
            let (before, said) = (deleted(), self.operator.status(DS));
            if before.len() > 2 && deleted() == before {
                break (before, said);
            }
            assert!(Instant::now() < until, "no three pods were being deleted on nodes that are down");
            std::thread::sleep(Duration::from_millis(100));
        };
        let says_so = said.nodes(|node| {
            let why = node["why"].as_str().unwrap_or_default();
            node["state"] == "node down" && node["blame"] == "rollout" && why.ends_with("; pod deleted, not ended yet")
        });
        for name in before {
            assert!(says_so.contains(&name), "{name} of {says_so:?} in {}", said.0);
        }
    }

    /// Rolls back to v1 and waits until the DaemonSet is released; returns how long it took until all nodes served again.
    fn take_back(&self, undone: Instant) -> Duration {
        let all_serve = |witness: &Witness| witness.serving(":v1").len() == NODES;
        if self.driver == Driver::Controller {
            self.kubectl(&["rollout", "undo", "daemonset/agent"]);
            self.witness.until("all serve v1", SOON, all_serve);
            return undone.elapsed();
        }
        self.operator.ok(&["undo", DS, "--yes"]);
        let mut driver = self.operator.drive(DS, &[]);
        self.witness.until("all serve v1", SOON, all_serve);
        let back_after = undone.elapsed();
        assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
        back_after
    }

    fn daemon_set(&self) -> Value {
        self.plane.admin().get(&format!("/apis/apps/v1/namespaces/{}/daemonsets/agent", self.driver.name())).ok()
    }

    fn kubectl(&self, words: &[&str]) {
        self.plane.admin().kubectl_ok(words.iter().copied().chain(["-n", self.driver.name()]));
    }
}
