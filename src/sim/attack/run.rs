//! Plays a case to its end, and says what came of it.

use std::time::Duration;

use super::author::Deletion;
use super::case::{Act, Case, DAEMON_SET};
use super::console::{Console, Orphans};
use super::network::{Network, Weather};
use super::observer::{Observer, Violation};
use crate::engine::command::{Command, Step, Takeover};
use crate::engine::quantity::IntOrPercent;
use crate::engine::record::ORIGINAL_STRATEGY;
use crate::engine::snapshot::{DriverView, NodeState, Phase, Snapshot};
use crate::engine::time::Timestamp;
use crate::engine::{Role, Str};
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::scenario::ClusterFault;
use crate::sim::world::store::{Change, ChangeKind};

/// How long after the calm a rollout may take to end.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How often the closing operator looks.
const ROUND: Duration = Duration::from_secs(15);
/// How often what is shown is checked.
const LOOK: Duration = Duration::from_secs(5);
/// For how long a proof of the record is good, with a little for rounding.
const FENCE: Duration = Duration::from_millis(550);

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// What was broken.
    pub violations: Vec<Violation>,
    /// How many pods rolldeck deleted.
    pub deletions: u64,
    /// How many faults hit: of the world, of consoles, of their networks.
    pub faults: u64,
    /// The most nodes that rolldeck had taken down at once.
    pub worst_down: usize,
    /// How long it took, in the world's time.
    pub took: Duration,
    /// A digest of everything that changed: the same for the same seed.
    pub digest: u64,
    /// What happened, a line each; kept only where it was asked for.
    pub story: Vec<String>,
}

/// Whether a run keeps its story.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Story {
    /// It does.
    Kept,
    /// It does not: runs by the million.
    Dropped,
}

/// Runs the case of a seed.
pub fn run(seed: u64) -> Report {
    play(&Case::random(seed), Story::Dropped)
}

/// Plays a case.
pub fn play(case: &Case, story: Story) -> Report {
    let mut stage = Stage::new(case, story);
    stage.act();
    stage.close();
    let faults =
        stage.faults + stage.consoles.iter_mut().flatten().map(|console| console.network_mut().faults()).sum::<u64>();
    Report {
        seed: case.seed,
        violations: stage.observer.violations().to_vec(),
        deletions: stage.observer.deletions(),
        faults,
        worst_down: stage.observer.worst_down(),
        took: stage.world.now().since(stage.began_at),
        digest: stage.world.digest(),
        story: stage.story,
    }
}

struct Stage<'a> {
    case: &'a Case,
    world: World,
    observer: Observer,
    consoles: [Option<Console>; 3],
    orphans: Vec<Orphans>,
    deletions: Vec<Deletion>,
    began_at: Timestamp,
    looked_at: Timestamp,
    weather: Weather,
    opened: u64,
    faults: u64,
    kept: Story,
    story: Vec<String>,
    told: u64,
}

impl<'a> Stage<'a> {
    fn new(case: &'a Case, kept: Story) -> Self {
        let world = World::new(&case.scenario, case.seed);
        let slack = FENCE + Duration::from_millis(2 * case.weather.max_delay);
        let observer = Observer::new(&world, DAEMON_SET, slack);
        let now = world.now();
        Self {
            case,
            world,
            observer,
            consoles: [const { None }; 3],
            orphans: Vec::new(),
            deletions: Vec::new(),
            began_at: now,
            looked_at: now,
            weather: case.weather,
            opened: 0,
            faults: case.scenario.faults.len() as u64,
            kept,
            story: Vec::new(),
            told: 0,
        }
    }

    /// Plays what the case has until the calm.
    fn act(&mut self) {
        for (after, act) in &self.case.acts {
            self.run_until(self.began_at + *after);
            self.perform(act);
        }
        self.run_until(self.began_at + self.case.calm_after);
    }

    fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.kept == Story::Kept {
            let after = self.world.now().since(self.began_at).as_secs_f64();
            self.story.push(format!("{after:9.3}  {}", what()));
        }
    }

    /// Tells what changed in the world, and what consoles said.
    fn tell_changes(&mut self) {
        if self.kept == Story::Dropped {
            return;
        }
        let mut lines = Vec::new();
        for kind in [Kind::DaemonSet, Kind::Lease, Kind::Node, Kind::Pod] {
            for change in self.world.store().changes_since(kind, self.told).into_iter().flatten() {
                lines.extend(story_of(change).map(|line| (change.object.meta.resource_version, line)));
            }
        }
        self.told = self.world.store().revision();
        lines.sort();
        for (_, line) in lines {
            self.tell(|| line);
        }
        let mut said = Vec::new();
        for console in self.consoles.iter_mut().flatten() {
            let who = console.identity().clone();
            said.extend(console.take_said().into_iter().map(|what| format!("{who} says: {what}")));
            let settled = console.take_settled().into_iter();
            said.extend(settled.map(|(id, result)| format!("{who} settled {id:?}: {result:?}")));
        }
        for line in said {
            self.tell(|| line);
        }
    }

    fn perform(&mut self, act: &Act) {
        let now = self.world.now();
        self.tell(|| format!("act: {act:?}"));
        match act {
            Act::Open(who) if self.consoles[*who].is_none() => self.open(*who),
            Act::Ask(who, command) => {
                if let Some(console) = &mut self.consoles[*who] {
                    // What is refused is refused: an operator may ask for anything.
                    let refused = console.command(command.clone(), now).err();
                    self.tell(|| refused.map(|refused| format!("refused: {refused}")).unwrap_or_default());
                }
            }
            Act::Kill(who) => {
                self.faults += 1;
                self.orphans.extend(self.consoles[*who].take().map(Console::kill));
            }
            Act::BreakWatch(who, watched, span) => {
                self.faults += 1;
                if let Some(console) = &mut self.consoles[*who] {
                    console.break_watch(*watched, now + *span, now);
                }
            }
            Act::Compact => self.world.inject(&ClusterFault::Compact.into()),
            Act::Open(_) => {}
        }
    }

    fn open(&mut self, who: usize) {
        self.opened += 1;
        let network = Network::new(self.weather, self.case.seed ^ (self.opened << 32));
        let name = ["ops", "eve", "sam"][who];
        let console = Console::open(&self.world, DAEMON_SET, &format!("{name}{}", self.opened), Role::Driver, network);
        self.consoles[who] = Some(console.with_skew(self.case.skews[who]));
    }

    /// Lets the world and all processes go on until then.
    fn run_until(&mut self, end: Timestamp) {
        loop {
            for console in self.consoles.iter_mut().flatten() {
                console.step(&mut self.world, &mut self.deletions);
            }
            for orphans in &mut self.orphans {
                orphans.step(&mut self.world, &mut self.deletions);
            }
            self.tell_changes();
            self.observer.look(&self.world, &mut self.deletions);
            self.check_what_is_shown();
            let consoles = self.consoles.iter().flatten().filter_map(Console::next_at);
            let orphans = self.orphans.iter().filter_map(Orphans::next_at);
            let next = consoles.chain(orphans).chain(self.world.next_at()).min();
            let now = self.world.now();
            match next {
                Some(next) if next < end => {
                    // What is due at once is due a millisecond later at the latest: nothing spins.
                    self.world.advance(next.max(now + Duration::from_millis(u64::from(next <= now))));
                }
                _ if now >= end => return,
                _ => self.world.advance(end),
            }
        }
    }

    /// P8: every node that does not move says why.
    fn check_what_is_shown(&mut self) {
        let now = self.world.now();
        if now < self.looked_at + LOOK {
            return;
        }
        self.looked_at = now;
        for console in self.consoles.iter_mut().flatten() {
            let snapshot = console.snapshot(now);
            if snapshot.phase == Phase::Loading {
                continue;
            }
            let silent = snapshot.nodes.iter().find(|node| {
                let waits = matches!(node.state, NodeState::Outdated | NodeState::NodeDown);
                waits && !node.at_target && node.hold.is_none()
            });
            if let Some(node) = silent {
                self.observer.accuse("P8", now, format!("{} is {} and does not say why", node.name, node.state));
            }
        }
    }

    /// The calm: everything works again, and an operator brings the rollout to an end.
    fn close(&mut self) {
        self.weather = Weather::FINE;
        for console in self.consoles.iter_mut().flatten() {
            console.network_mut().weather = Weather::FINE;
        }
        let deadline = self.world.now() + PATIENCE;
        while !self.is_over() {
            if self.world.now() >= deadline {
                let words = self.words();
                self.observer.accuse("P8", deadline, format!("it never ended: {words}"));
                return;
            }
            self.tend();
            self.run_until(self.world.now() + ROUND);
        }
    }

    /// Nothing is recorded, the strategy is the operators' own, every node serves the current revision.
    fn is_over(&self) -> bool {
        let store = self.world.store();
        let Some(daemon_set) = store.get(Kind::DaemonSet, DAEMON_SET.0, DAEMON_SET.1) else { return true };
        let lease = crate::engine::record::lease_name(DAEMON_SET.1);
        let recorded = store.get(Kind::Lease, DAEMON_SET.0, &lease).and_then(|lease| lease.lease_fact());
        let recorded = recorded.is_some_and(|lease| lease.record != Ok(None));
        let Some(fact) = daemon_set.daemon_set_fact() else { return true };
        let counters = fact.counters;
        !recorded
            && fact.annotations.get(ORIGINAL_STRATEGY).is_none()
            && fact.observed_generation >= fact.generation
            && counters.updated == counters.desired
            && counters.available == counters.desired
    }

    /// What an operator who wants to go home does.
    fn tend(&mut self) {
        let now = self.world.now();
        if self.consoles[0].is_none() {
            self.open(0);
            return;
        }
        let bad = self.case.bad_images.clone();
        let Some(console) = &mut self.consoles[0] else { return };
        let snapshot = console.snapshot(now);
        let Some(command) = next_move(&snapshot, &bad) else { return };
        let refused = console.command(command.clone(), now).err();
        self.tell(|| format!("closing: {command:?} {refused:?}"));
    }

    fn words(&mut self) -> String {
        let now = self.world.now();
        let Some(console) = &mut self.consoles[0] else { return "no console".to_owned() };
        let snapshot = console.snapshot(now);
        let nodes: Vec<String> = snapshot
            .nodes
            .iter()
            .filter(|node| node.state != NodeState::Updated)
            .map(|node| {
                let why = crate::engine::snapshot::Why { node, at: snapshot.at };
                format!("{} {} ({why})", node.name, node.state)
            })
            .collect();
        format!("{} · {} · {:?} · {}", snapshot.doing(), snapshot.driving(), snapshot.alarms, nodes.join(", "))
    }
}

/// A change of the world in a line; `None` for what says nothing.
fn story_of(change: &Change) -> Option<String> {
    let (object, before) = (&change.object, change.before.as_deref());
    let name = &object.meta.name;
    if let Some(pod) = object.pod_fact() {
        let was = before.and_then(|before| before.pod_fact());
        let seen = |pod: &crate::engine::facts::PodFact| {
            let reasons: Vec<String> =
                pod.containers.iter().map(|container| format!("{:?}", container.state)).collect();
            (pod.ready, pod.deletion_at, reasons)
        };
        let changed = change.kind != ChangeKind::Modified || was.as_ref().map(seen) != Some(seen(&pod));
        let node = pod.node.as_deref().unwrap_or("?");
        let revision = pod.revision.as_deref().unwrap_or("?");
        return changed.then(|| {
            let (ready, deletion, reasons) = seen(&pod);
            format!(
                "pod {name} on {node} at {revision}: {:?} ready={ready} going={} {reasons:?}",
                change.kind,
                deletion.is_some()
            )
        });
    }
    if let Some(node) = object.node_fact() {
        let was = before.and_then(|before| before.node_fact()).map(|node| node.ready);
        return (was != Some(node.ready)).then(|| format!("node {name}: Ready {:?}", node.ready));
    }
    if let Some(fact) = object.daemon_set_fact() {
        let was = before.and_then(|before| before.daemon_set_fact());
        let spec = |fact: &crate::engine::facts::DaemonSetFact| (fact.strategy.kind, fact.template.images());
        let (strategy, images) = spec(&fact);
        return (was.as_ref().map(spec) != Some(spec(&fact))).then(|| format!("daemonset: {strategy:?} {images:?}"));
    }
    let lease = object.lease_fact().filter(|_| name.starts_with("rolldeck-"))?;
    let was = before.and_then(|before| before.lease_fact());
    let seen = |lease: &crate::engine::facts::LeaseFact| (lease.holder.clone(), lease.record.clone());
    (was.as_ref().map(seen) != Some(seen(&lease))).then(|| {
        let record = lease.record.as_ref().ok().and_then(|record| serde_json::to_string(record).ok());
        format!("lease: held by {:?}, {}", lease.holder, record.unwrap_or_default())
    })
}

fn next_move(snapshot: &Snapshot, bad: &[Str]) -> Option<Command> {
    let is_bad = |images: &[(Str, Str)]| images.iter().any(|(_, image)| bad.contains(image));
    let current_is_bad = snapshot.to.as_ref().is_some_and(|revision| is_bad(&revision.images));
    let good = snapshot.revisions.iter().find(|revision| revision.number.is_some() && !is_bad(&revision.images));
    let goes_to_bad = current_is_bad && !matches!(snapshot.phase, Phase::Loading | Phase::Releasing);
    if let Some(revision) = good.filter(|_| goes_to_bad) {
        return Some(Command::Undo { to: revision.number });
    }
    let drives = matches!(snapshot.driver, DriverView::You { .. } | DriverView::Other { .. });
    match &snapshot.phase {
        // Whoever released is gone: somebody has to bring it to its end.
        Phase::Releasing if !drives => Some(Command::Drive(Takeover::Ask)),
        Phase::Loading | Phase::Releasing => None,
        Phase::Idle if !snapshot.adopted => None,
        Phase::Paused(_) | Phase::Halted => Some(Command::Resume),
        Phase::Native if snapshot.adopted || !snapshot.alarms.is_empty() => Some(Command::Pause { why: None }),
        Phase::Native => None,
        Phase::Idle => Some(Command::Release(crate::engine::command::Early::Accept)),
        _ if !drives && snapshot.plan.allowed == snapshot.counts.nodes => Some(Command::Drive(Takeover::Ask)),
        _ if snapshot.plan.selector.is_some() => Some(Command::Select(None)),
        _ if snapshot.plan.allowed < snapshot.counts.nodes => {
            Some(Command::Step(Step::Updated(IntOrPercent::Percent(100))))
        }
        _ if !drives => Some(Command::Drive(Takeover::Ask)),
        _ => None,
    }
}
