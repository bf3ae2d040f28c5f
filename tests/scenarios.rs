//! What a rollout is judged by, in the simulated world under virtual time: twenty nodes, and the seven things that an
//! operator does with them. The same seven are judged on a real control plane elsewhere.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::time::Duration;

use rolldeck::engine::Role;
use rolldeck::engine::command::{Command, Early, Step, Takeover};
use rolldeck::engine::quantity::IntOrPercent;
use rolldeck::engine::record::Finish;
use rolldeck::engine::snapshot::{DriverView, Phase};
use rolldeck::sim::attack::console::{Console, Deletion, Orphans};
use rolldeck::sim::attack::network::{Network, Weather};
use rolldeck::sim::world::World;
use rolldeck::sim::world::kind::Kind;
use rolldeck::sim::world::scenario::built_in;

const AGENT: (&str, &str) = ("edge", "agent");
const V1: &str = "registry.example/agent:v1";
const V2: &str = "registry.example/agent:v2";

/// A world, the consoles that are open on it, and a witness who counts.
struct Stage {
    world: World,
    consoles: Vec<Console>,
    orphans: Vec<Orphans>,
    deletions: Vec<Deletion>,
    /// The most of the twenty nodes that were without a ready pod at once.
    worst: usize,
}

impl Stage {
    fn new() -> Self {
        let scenario = built_in("small").unwrap();
        let world = World::new(&scenario, 7);
        let mut stage = Self { world, consoles: Vec::new(), orphans: Vec::new(), deletions: Vec::new(), worst: 0 };
        stage.open("ops");
        stage.run_for(2);
        stage
    }

    /// Opens a console; returns its number.
    fn open(&mut self, who: &str) -> usize {
        let network = Network::new(Weather::FINE, self.consoles.len() as u64);
        self.consoles.push(Console::open(&self.world, AGENT, who, Role::Driver, network));
        self.consoles.len() - 1
    }

    fn run_for(&mut self, secs: u64) {
        let end = self.world.now() + Duration::from_secs(secs);
        self.run_until(secs, |stage| stage.world.now() >= end);
    }

    /// Lets time pass until `done`, at most `secs`; says whether it came to that.
    fn run_until(&mut self, secs: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.world.now() + Duration::from_secs(secs);
        loop {
            for console in &mut self.consoles {
                console.step(&mut self.world, &mut self.deletions);
            }
            for orphans in &mut self.orphans {
                orphans.step(&mut self.world, &mut self.deletions);
            }
            self.worst = self.worst.max(20 - self.world.serving(AGENT.0, AGENT.1));
            if done(self) {
                return true;
            }
            let now = self.world.now();
            if now >= end {
                return false;
            }
            let consoles = self.consoles.iter().filter_map(Console::next_at);
            let orphans = self.orphans.iter().filter_map(Orphans::next_at);
            let next = consoles.chain(orphans).chain(self.world.next_at()).min().unwrap_or(end);
            self.world.advance(next.clamp(now + Duration::from_millis(1), end.max(now + Duration::from_millis(1))));
        }
    }

    fn ask(&mut self, who: usize, command: Command) -> String {
        let id = self.consoles[who].command(command, self.world.now()).unwrap();
        let mut answer = None;
        let settled = self.run_until(60, |stage| {
            answer = stage.consoles[who].take_settled().into_iter().find(|(settled, _)| *settled == id);
            answer.is_some()
        });
        assert!(settled, "{:?}", self.consoles[who].snapshot(self.world.now()).phase);
        answer.unwrap().1.unwrap()
    }

    fn set_image(&mut self, who: usize, image: &str) {
        self.ask(who, Command::SetImage([("agent".to_owned(), image.parse().unwrap())].into()));
    }

    fn partition(&mut self, who: usize, keep: u32) {
        self.ask(who, Command::Step(Step::Partition(IntOrPercent::Int(keep))));
    }

    fn phase(&mut self, who: usize) -> Phase {
        let now = self.world.now();
        self.consoles[who].snapshot(now).phase
    }

    /// Every node's pod: its uid and its image.
    fn pods(&self) -> BTreeMap<String, (String, String)> {
        let pods = self.world.pods_of(AGENT.0, AGENT.1).into_iter();
        pods.map(|(node, pods)| {
            let newest = pods.last().unwrap();
            let image = newest.pod().unwrap().template.images()[0].to_string();
            (node.to_string(), (newest.meta.uid.to_string(), image))
        })
        .collect()
    }

    /// How many nodes have a pod of this image.
    fn at(&self, image: &str) -> usize {
        self.pods().values().filter(|(_, has)| has == image).count()
    }

    fn strategy(&self) -> String {
        let daemon_set = self.world.store().get(Kind::DaemonSet, AGENT.0, AGENT.1).unwrap();
        daemon_set.daemon_set_fact().unwrap().strategy.raw.to_string()
    }

    fn held(&mut self, who: usize) {
        assert!(self.run_until(600, |stage| stage.phase(who) == Phase::Held), "{:?}", self.phase(who));
    }

    fn over(&mut self, image: &str) {
        let ended = self.run_until(1_200, |stage| stage.at(image) == 20 && stage.strategy().contains("RollingUpdate"));
        assert!(ended, "{} at {image}, {:?}", self.at(image), self.phase(0));
    }
}

#[test]
fn a_partitions_are_kept_to_the_pod_and_the_budget_holds() {
    let mut stage = Stage::new();
    stage.set_image(0, V2);
    for keep in [20_usize, 18, 10] {
        let before = stage.pods();
        stage.partition(0, u32::try_from(keep).unwrap());
        stage.held(0);
        assert_eq!(stage.at(V1), keep);
        let kept = stage.pods().into_iter().filter(|(_, (_, image))| image == V1);
        assert!(kept.into_iter().all(|(node, pod)| before[&node] == pod), "the rest is untouched");
    }
    stage.partition(0, 0);
    stage.over(V2);
    assert_eq!(stage.worst, 2, "the budget was used, and never exceeded");
}

#[test]
fn b_only_canaries_change_until_the_selector_goes() {
    let mut stage = Stage::new();
    stage.set_image(0, V2);
    stage.ask(0, Command::Select(Some("canary=true".parse().unwrap())));
    stage.partition(0, 0);
    stage.held(0);
    let changed: Vec<String> =
        stage.pods().into_iter().filter(|(_, (_, image))| image == V2).map(|(node, _)| node).collect();
    assert_eq!(changed, ["node-a-01", "node-b-01", "node-b-02"]);
    stage.ask(0, Command::Select(None));
    stage.over(V2);
    assert!(stage.worst <= 2);
}

#[test]
fn c_after_a_pause_nothing_is_deleted_whoever_paused() {
    for who in [0, 1] {
        let mut stage = Stage::new();
        stage.open("eve");
        stage.set_image(0, V2);
        stage.partition(0, 0);
        stage.run_for(9);
        assert!(matches!(stage.consoles[1].snapshot(stage.world.now()).driver, DriverView::Other { .. }));
        stage.ask(who, Command::Pause { why: Some("the line is busy".into()) });
        let deleted = stage.deletions.len();
        assert!(deleted > 0, "in the middle");
        stage.run_for(120);
        assert_eq!(stage.deletions.len(), deleted);
        assert!(matches!(stage.phase(0), Phase::Paused(_)) && matches!(stage.phase(1), Phase::Paused(_)));
        stage.ask(who, Command::Resume);
        stage.over(V2);
    }
}

#[test]
fn d_a_killed_driver_is_succeeded_within_the_budget() {
    let mut stage = Stage::new();
    stage.set_image(0, V2);
    stage.partition(0, 0);
    stage.run_for(7);
    let killed = stage.consoles.remove(0).kill();
    stage.orphans.push(killed);
    stage.run_for(1);
    let deleted = stage.deletions.len();
    stage.run_for(60);
    assert_eq!(stage.deletions.len(), deleted, "nobody drives, nobody deletes");
    assert!(stage.at(V1) > 10, "in the middle");
    stage.open("eve");
    stage.run_for(2);
    stage.ask(0, Command::Drive(Takeover::Ask));
    stage.over(V2);
    assert!(stage.worst <= 2, "{} down", stage.worst);
}

#[test]
fn e_rolling_back_ends_on_the_old_revision_and_spares_what_never_left_it() {
    let mut stage = Stage::new();
    stage.set_image(0, V2);
    stage.partition(0, 12);
    stage.held(0);
    let untouched: BTreeMap<_, _> = stage.pods().into_iter().filter(|(_, (_, image))| image == V1).collect();
    assert_eq!(untouched.len(), 12);
    stage.ask(0, Command::Undo { to: None });
    stage.over(V1);
    let now = stage.pods();
    assert!(untouched.iter().all(|(node, pod)| now[node] == *pod));
    assert!(stage.worst <= 2);
}

#[test]
fn f_release_restores_the_strategy_to_the_byte() {
    let mut stage = Stage::new();
    let original = stage.strategy();
    stage.set_image(0, V2);
    stage.ask(0, Command::Tune { budgets: None, gates: None, finish: Some(Finish::Keep) });
    stage.partition(0, 0);
    assert!(stage.run_until(600, |stage| stage.phase(0) == Phase::Complete));
    assert!(stage.strategy().contains("OnDelete"));
    stage.ask(0, Command::Release(Early::Refuse));
    assert_eq!(stage.strategy(), original);
    stage.run_for(60);
    assert_eq!(stage.at(V2), 20);
}

#[test]
fn g_a_second_console_observes_and_takes_over_after_asking() {
    let mut stage = Stage::new();
    stage.set_image(0, V2);
    stage.partition(0, 10);
    let second = stage.open("eve");
    stage.run_for(2);
    let now = stage.world.now();
    let DriverView::Other { holder, .. } = stage.consoles[second].snapshot(now).driver else { panic!("not observing") };
    assert!(holder.starts_with("ops@"), "{holder}");
    let refused = stage.consoles[second].command(Command::Drive(Takeover::IfFree), now).unwrap_err();
    assert!(refused.to_string().contains("take over first"), "{refused}");
    stage.ask(second, Command::Drive(Takeover::Ask));
    stage.run_for(1);
    let now = stage.world.now();
    assert!(stage.consoles[second].snapshot(now).driver.is_you());
    assert!(matches!(stage.consoles[0].snapshot(now).driver, DriverView::Other { .. }));
    stage.partition(second, 0);
    stage.over(V2);
    assert!(stage.worst <= 2);
}
