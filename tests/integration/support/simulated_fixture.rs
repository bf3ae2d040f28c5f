//! A simulated cluster under virtual time, the consoles that are open on it, and the ledger.

use std::collections::BTreeMap;
use std::time::Duration;

use rolldeck::engine::model::command::{Command, Step};
use rolldeck::engine::model::config::RateLimit;
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::engine::model::time::Timestamp;
use rolldeck::engine::report::snapshot::{Phase, Snapshot};
use rolldeck::sim::attack::api_client::AcceptedWrites;
use rolldeck::sim::attack::console::{RequestsInFlight, SimulatedConsole};
use rolldeck::sim::attack::network::{Network, NetworkProfile};
use rolldeck::sim::world::World;
use rolldeck::sim::world::kind::Kind;
use rolldeck::sim::world::scenario::{ClusterFault, Scenario};

use super::ledger::{Ledger, Unserved};
use super::modelled::{follow, ledger_of};

/// The DaemonSet of most scenarios.
pub(crate) const AGENT: (&str, &str) = ("edge", "agent");
/// The image that the DaemonSet begins with.
pub(crate) const V1: &str = "registry.example/agent:v1";
/// The image that a rollout gives the DaemonSet.
pub(crate) const V2: &str = "registry.example/agent:v2";

/// A simulated cluster, the consoles that are open on it, and the ledger.
pub(crate) struct SimulatedFixture {
    pub(crate) world: World,
    pub(crate) consoles: Vec<SimulatedConsole>,
    pub(crate) in_flight: Vec<RequestsInFlight>,
    /// The writes of rolldeck that the world accepted.
    pub(crate) accepted: AcceptedWrites,
    pub(crate) ledger: Ledger,
    /// The most nodes that were lost at one instant, and the most that were out of sight, since the beginning.
    pub(crate) worst: Unserved,
    /// The most nodes without a serving pod at one instant since the beginning.
    pub(crate) worst_down: usize,
    known: u64,
    /// The DaemonSet that is rolled out.
    daemon_set: (&'static str, &'static str),
}

impl SimulatedFixture {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        Self::of(scenario, AGENT, seed)
    }

    /// A fixture for another DaemonSet than [`AGENT`].
    pub(crate) fn of(scenario: &Scenario, daemon_set: (&'static str, &'static str), seed: u64) -> Self {
        let world = World::new(scenario, seed);
        Self {
            ledger: ledger_of(&world, scenario),
            known: world.store().revision(),
            world,
            consoles: Vec::new(),
            in_flight: Vec::new(),
            accepted: AcceptedWrites::default(),
            worst: Unserved::default(),
            worst_down: 0,
            daemon_set,
        }
    }

    /// Opens a console; returns its number.
    pub(crate) fn open(&mut self, who: &str) -> usize {
        let network = Network::new(NetworkProfile::FINE, self.consoles.len() as u64);
        let network = (network, RateLimit::default());
        self.consoles.push(SimulatedConsole::open(&self.world, self.daemon_set, who, Role::Driver, network));
        self.consoles.len() - 1
    }

    pub(crate) fn run_for(&mut self, secs: u64) {
        let end = self.world.now() + Duration::from_secs(secs);
        self.run_until(secs, |fixture| fixture.world.now() >= end);
    }

    /// Lets time pass until `done`, at most `secs`; returns whether `done` was reached.
    pub(crate) fn run_until(&mut self, secs: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.world.now() + Duration::from_secs(secs);
        loop {
            for console in &mut self.consoles {
                console.step(&mut self.world, &mut self.accepted);
            }
            for requests in &mut self.in_flight {
                requests.step(&mut self.world, &mut self.accepted);
            }
            self.record_changes();
            if done(self) {
                return true;
            }
            let now = self.world.now();
            if now >= end {
                return false;
            }
            let consoles = self.consoles.iter().filter_map(SimulatedConsole::next_at);
            let in_flight = self.in_flight.iter().filter_map(RequestsInFlight::next_at);
            let next = consoles.chain(in_flight).chain(self.world.next_at()).min().unwrap_or(end);
            self.world.advance(next.clamp(now + Duration::from_millis(1), end.max(now + Duration::from_millis(1))));
        }
    }

    fn record_changes(&mut self) {
        let (worst, worst_down) = (&mut self.worst, &mut self.worst_down);
        self.known = follow(&self.world, self.known, &mut self.ledger, |ledger| {
            let unserved = ledger.unserved();
            *worst = worst.worst(unserved);
            *worst_down = unserved.down().max(*worst_down);
        });
    }

    /// Gives a console a command and waits until the console has settled it.
    pub(crate) fn ask(&mut self, who: usize, command: Command) -> String {
        let id = self.consoles[who].command(command, self.world.now()).unwrap();
        let mut answer = None;
        let settled = self.run_until(60, |fixture| {
            answer = fixture.consoles[who].take_settled().into_iter().find(|(settled, _)| *settled == id);
            answer.is_some()
        });
        assert!(settled, "{:?}", self.consoles[who].snapshot(self.world.now()).phase);
        answer.unwrap().1.unwrap()
    }

    pub(crate) fn set_image(&mut self, who: usize, image: &str) {
        self.ask(who, Command::SetImage([("agent".to_owned(), image.parse().unwrap())].into()));
    }

    /// Gives the DaemonSet another image without rolldeck.
    pub(crate) fn deploy(&mut self, image: &str) {
        let images = [("agent".to_owned(), image.to_owned())].into();
        self.world.inject(&ClusterFault::SetImages { daemon_set: "edge/agent".into(), images }.into());
    }

    pub(crate) fn partition(&mut self, who: usize, keep: u32) {
        self.ask(who, Command::Step(Step::Partition(IntOrPercent::Int(keep))));
    }

    /// The snapshot that a console shows now.
    pub(crate) fn shown(&mut self, who: usize) -> Snapshot {
        let now = self.world.now();
        self.consoles[who].snapshot(now)
    }

    pub(crate) fn phase(&mut self, who: usize) -> Phase {
        self.shown(who).phase
    }

    /// The time since `at`.
    pub(crate) fn since(&self, at: Timestamp) -> Duration {
        self.world.now().since(at)
    }

    /// Every node's pod: its uid and its image.
    pub(crate) fn pods(&self) -> BTreeMap<String, (String, String)> {
        let pods = self.world.pods_of(self.daemon_set.0, self.daemon_set.1).into_iter();
        pods.map(|(node, pods)| {
            let newest = pods.last().unwrap();
            let image = newest.pod().unwrap().template.images()[0].to_string();
            (node.to_string(), (newest.meta.uid.to_string(), image))
        })
        .collect()
    }

    /// How many nodes have a pod of this image.
    pub(crate) fn at(&self, image: &str) -> usize {
        self.pods().values().filter(|(_, has)| has == image).count()
    }

    /// How many nodes have a serving pod of this image.
    pub(crate) fn serving(&self, image: &str) -> usize {
        self.ledger.staying().filter(|pod| pod.ready && pod.image == image).count()
    }

    /// The update strategy as the DaemonSet has it.
    pub(crate) fn strategy(&self) -> String {
        let daemon_set = self.world.store().get(Kind::DaemonSet, self.daemon_set.0, self.daemon_set.1).unwrap();
        daemon_set.daemon_set_fact().unwrap().strategy.raw.to_string()
    }

    pub(crate) fn held(&mut self, who: usize) {
        assert!(self.run_until(600, |fixture| fixture.phase(who) == Phase::Held), "{:?}", self.phase(who));
    }

    pub(crate) fn over(&mut self, image: &str) {
        let ended =
            self.run_until(1_200, |fixture| fixture.at(image) == 20 && fixture.strategy().contains("RollingUpdate"));
        assert!(ended, "{} at {image}, {:?}", self.at(image), self.phase(0));
    }
}
