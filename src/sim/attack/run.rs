//! Plays a case to its end and reports the result.

use std::collections::BTreeSet;
use std::time::Duration;

use super::api_client::AcceptedWrites;
use super::case::{Act, Case, DAEMON_SET, LeaseEdit, Trigger};
use super::console::{RequestsInFlight, SimulatedConsole};
use super::faults::{FaultKind, Faults, of_world};
use super::finish::next_command;
use super::lease_edits::edit_lease;
use super::network::{Network, NetworkProfile};
use super::observer::{Observer, SitePulls, Violation};
use super::one_shot::OneShotRun;
use super::surge::surge_stands_still;
use super::trace::trace_of;
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::command::{Command, CommandId, Refusal, Takeover};
use crate::engine::model::config::RateLimit;
use crate::engine::model::config::Role;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::{ORIGINAL_STRATEGY, lease_name};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::words::Why;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::scenario::{ClusterFault, Fault, FleetFault};

/// How long after the calm a rollout may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(3600);
/// The time between two commands of the operator after the calm.
const COMMAND_EVERY: Duration = Duration::from_secs(15);
/// The time between two checks of the screens.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// At one of this many checks, each console is also checked for changes that only time made. That check costs as much as several decisions.
const ANNOUNCED_EVERY: u64 = 4;
/// How long a proof of the record is valid near the API server, including the time until its deletion is sent and an allowance for
/// rounding. [`OLDEST_PROOF`] is the most for a console that is far away.
const PROOF: Duration = Duration::from_millis(1050);
const OLDEST_PROOF: Duration = Duration::from_millis(3550);
/// The longest delay of messages with which a console counts as near.
const NEAR: Duration = Duration::from_millis(100);

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed of its case.
    pub seed: u64,
    /// The broken promises.
    pub violations: Vec<Violation>,
    /// How many pods rolldeck deleted.
    pub deletions: u64,
    /// The faults of the world, of consoles and of their networks, by kind.
    pub faults: Faults,
    /// The causes of trouble that some console showed on some node.
    pub causes: BTreeSet<CauseKind>,
    /// The largest number of nodes that rolldeck had taken down at once.
    pub worst_down: usize,
    /// How many pulls were judged by the limit of a site.
    pub site_pulls: SitePulls,
    /// How long the run took, in the world's time.
    pub took: Duration,
    /// A digest of all changes; the same case always gives the same digest.
    pub digest: u64,
    /// The events of the run, a line each; empty with [`TraceMode::Dropped`].
    pub trace: Vec<String>,
}

/// Whether a run keeps its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceMode {
    /// The trace is kept.
    Kept,
    /// The trace is dropped, for millions of runs.
    Dropped,
}

/// Runs the case of a seed.
pub fn run(seed: u64) -> Report {
    run_case(&Case::random(seed), TraceMode::Dropped)
}

/// Plays a case.
pub fn run_case(case: &Case, trace: TraceMode) -> Report {
    let mut run = Run::new(case, trace);
    run.run_acts();
    run.finish();
    for console in run.consoles.iter().flatten() {
        run.faults.add(&console.faults());
    }
    run.faults.add(run.observer.faults());
    Report {
        seed: case.seed,
        violations: run.observer.violations().to_vec(),
        deletions: run.observer.deletions(),
        faults: run.faults,
        causes: run.causes,
        worst_down: run.observer.worst_down(),
        site_pulls: run.observer.site_pulls(),
        took: run.world.now().since(run.began_at),
        digest: run.world.digest(),
        trace: run.trace,
    }
}

struct Run<'a> {
    case: &'a Case,
    world: World,
    observer: Observer,
    consoles: [Option<SimulatedConsole>; 3],
    one_shots: Vec<OneShotRun>,
    in_flight: Vec<RequestsInFlight>,
    /// Acts that wait for a moment, each with the number of such moments at which it is performed.
    triggers: Vec<(Trigger, u64, &'a Act)>,
    /// Consoles that are to be opened again, each with its time.
    reopened: Vec<(Timestamp, usize)>,
    /// Unsettled pauses, each with its console and the time at which it was given.
    pauses: Vec<(Str, CommandId, Timestamp)>,
    accepted: AcceptedWrites,
    began_at: Timestamp,
    checked_at: Timestamp,
    /// How many checks of the screens there were.
    checks: u64,
    /// The time until which a console that has since been killed did not see everything.
    blind_until: Timestamp,
    network: NetworkProfile,
    opened: u64,
    faults: Faults,
    causes: BTreeSet<CauseKind>,
    trace_mode: TraceMode,
    trace: Vec<String>,
    reported: u64,
}

impl<'a> Run<'a> {
    fn new(case: &'a Case, trace_mode: TraceMode) -> Self {
        let world = World::new(&case.scenario, case.seed);
        let late = case.acts.iter().map(|(_, act)| act.delay().lateness).max().unwrap_or_default();
        let longest = case.network.longest();
        let slack = if longest <= NEAR { PROOF } else { OLDEST_PROOF } + late + 2 * longest;
        let wrong = case.scenario.faults.iter().filter_map(|(_, fault)| match fault {
            Fault::Fleet(FleetFault::Clock { node, .. }) => Some(node.clone()),
            _ => None,
        });
        let wrong = wrong.collect();
        let missed = case.acts.iter().any(|(_, act)| act.delay().hides_record);
        let observer = Observer::new(&world, DAEMON_SET, slack).with_wrong_clocks(wrong);
        let apart =
            case.skews.iter().max().zip(case.skews.iter().min()).map_or(0, |(most, least)| most.abs_diff(*least));
        let observer = observer.with_missed_versions(missed).with_network(case.network);
        let observer = observer.with_clocks_apart(Duration::from_millis(apart) + slack);
        let now = world.now();
        Self {
            case,
            world,
            observer,
            consoles: [const { None }; 3],
            one_shots: Vec::new(),
            in_flight: Vec::new(),
            triggers: Vec::new(),
            reopened: Vec::new(),
            pauses: Vec::new(),
            accepted: AcceptedWrites::default(),
            began_at: now,
            checked_at: now,
            checks: 0,
            blind_until: Timestamp::default(),
            network: case.network,
            opened: 0,
            faults: case.certain_faults(),
            causes: BTreeSet::new(),
            trace_mode,
            trace: Vec::new(),
            reported: 0,
        }
    }

    /// Plays the acts of the case until the calm.
    fn run_acts(&mut self) {
        for (after, act) in &self.case.acts {
            self.run_until(self.began_at + *after);
            self.perform(act);
        }
        self.run_until(self.began_at + self.case.calm_after);
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        if self.trace_mode == TraceMode::Kept {
            let after = self.world.now().since(self.began_at).as_secs_f64();
            self.trace.push(format!("{after:9.3}  {}", what()));
        }
    }

    /// Adds the changes of the world to the trace.
    fn note_changes(&mut self) {
        if self.trace_mode == TraceMode::Dropped {
            return;
        }
        let mut lines = Vec::new();
        for kind in [Kind::DaemonSet, Kind::Lease, Kind::Node, Kind::Pod] {
            for change in self.world.store().changes_since(kind, self.reported).into_iter().flatten() {
                lines.extend(trace_of(change).map(|line| (change.object.meta.resource_version, line)));
            }
        }
        self.reported = self.world.store().revision();
        lines.sort();
        for (_, line) in lines {
            self.note(|| line);
        }
    }

    /// Collects the reports of consoles, and checks the results of their commands.
    fn collect_results(&mut self) {
        let now = self.world.now();
        let mut said = Vec::new();
        for console in self.consoles.iter_mut().flatten().chain(self.one_shots.iter_mut().map(OneShotRun::console_mut))
        {
            let who = console.identity().clone();
            said.extend(console.take_rollout_events().into_iter().map(|what| format!("{who} says: {what}")));
            for (id, result) in console.take_settled() {
                match result {
                    Ok(_) => self.observer.settled((&who, id), now),
                    Err(_) => self.observer.given_up((&who, id)),
                }
                let pause = self.pauses.iter().position(|(by, pause, _)| *by == who && *pause == id);
                if let Some((.., asked_at)) = pause.map(|pause| self.pauses.swap_remove(pause))
                    && result.is_ok()
                {
                    // A console that was blind cannot know that the strategy was set back meanwhile.
                    let blind = console.blind_until() > asked_at;
                    self.observer.pause_is_settled(&who, if blind { asked_at } else { now }, now);
                }
                said.push(format!("{who} settled {id:?}: {result:?}"));
            }
        }
        for line in said {
            self.note(|| line);
        }
    }

    fn perform(&mut self, act: &'a Act) {
        let now = self.world.now();
        self.note(|| format!("act: {act:?}"));
        match act {
            Act::Open(who) if self.consoles[*who].is_none() => self.open(*who),
            Act::Open(_) => {}
            Act::Ask(who, command) => {
                if self.consoles[*who].is_some() {
                    // A refused command is no violation: an operator may give any command.
                    let refused = self.ask(*who, command).err();
                    self.note(|| refused.map(|refused| format!("refused: {refused}")).unwrap_or_default());
                }
            }
            Act::OneShot(command) => self.run_one_shot(command),
            Act::Kill(who) => {
                if let Some(console) = self.consoles[*who].take() {
                    self.faults.count(FaultKind::Killed);
                    self.retire(console);
                }
            }
            Act::Crash(who, nth, crash_point) => {
                self.with(*who, |console, _| console.set_crash_point(*nth, *crash_point));
            }
            Act::BreakWatch(who, watched, span) => {
                self.with(*who, |console, world| console.break_watch(*watched, now + *span, world));
            }
            Act::DelayWatch { who, watched, by, lasts } => {
                self.with(*who, |console, _| console.delay_watch(*watched, *by, now + *lasts));
            }
            Act::BookmarksOnly { who, watched, lasts } => {
                self.with(*who, |console, _| console.bookmarks_only(*watched, now + *lasts));
            }
            Act::ReplayWatch { who, watched, back } => {
                self.with(*who, |console, world| console.replay_watch(*watched, *back, world.now()));
            }
            Act::StaleList { who, watched, back, lasts } => {
                self.with(*who, |console, world| console.list_stale(*watched, *back, *lasts, world));
            }
            Act::StickWatch { who, watched, lasts } => {
                self.with(*who, |console, world| console.stick_watch(*watched, world.now() + *lasts, world));
            }
            Act::Upon { trigger, after, act } => {
                let count = self.count(*trigger) + u64::from(*after) + 1;
                self.triggers.push((*trigger, count, act));
            }
            Act::World(fault) => {
                self.world.inject(fault);
                if let Some(kind) = of_world(fault) {
                    self.faults.count(kind);
                }
            }
            Act::Compact => self.world.inject(&ClusterFault::Compact.into()),
            Act::EditLease(how) => {
                if let Some(kind) = edit_lease(*how, &mut self.world) {
                    self.faults.count(kind);
                    if matches!(how, LeaseEdit::Delete | LeaseEdit::Garble) {
                        self.observer.record_is_lost(now);
                    }
                }
            }
        }
    }

    /// How many such moments there have been.
    fn count(&self, trigger: Trigger) -> u64 {
        let faults = self.observer.faults();
        match trigger {
            Trigger::Deletion => self.observer.deletions(),
            Trigger::Failure => faults.of(FaultKind::PullFailed) + faults.of(FaultKind::CrashLoop),
            Trigger::Suspension => self.consoles.iter().flatten().map(SimulatedConsole::suspensions).sum(),
        }
    }

    /// Performs the acts whose moment has come.
    fn fire_triggers(&mut self) {
        while let Some(due) = self.triggers.iter().position(|(trigger, count, _)| self.count(*trigger) >= *count) {
            let (_, _, act) = self.triggers.swap_remove(due);
            self.perform(act);
            self.observe();
        }
    }

    fn with(&mut self, who: usize, what: impl FnOnce(&mut SimulatedConsole, &World)) {
        if let Some(console) = &mut self.consoles[who] {
            what(console, &self.world);
        }
    }

    fn network(&mut self) -> (Network, RateLimit) {
        self.opened += 1;
        let rate = self.case.rate.map(|(per_sec, burst)| RateLimit { per_sec, burst }).unwrap_or_default();
        (Network::new(self.network, self.case.seed ^ (self.opened << 32)), rate)
    }

    fn open(&mut self, who: usize) {
        let network = self.network();
        let name = format!("{}{}", ["ops", "eve", "sam"][who], self.opened);
        let console = SimulatedConsole::open(&self.world, DAEMON_SET, &name, Role::Driver, network);
        self.consoles[who] = Some(console.with_skew(self.case.skews[who]));
    }

    fn ask(&mut self, who: usize, command: &Command) -> Result<(), Refusal> {
        let now = self.world.now();
        // A suspended process receives no command.
        let awake = self.consoles[who].as_mut().filter(|console| console.is_running());
        let Some(console) = awake else { return Ok(()) };
        let id = console.command(command.clone(), now)?;
        self.observer.command_given((console.identity(), id), command, now);
        match command.inner() {
            Command::Pause { .. } => self.pauses.push((console.identity().clone(), id, now)),
            Command::Drive(Takeover::Ask) => self.faults.count(FaultKind::Takeover),
            Command::Drive(Takeover::IfFree)
            | Command::Adopt
            | Command::SetImage(_)
            | Command::Step(_)
            | Command::Select(_)
            | Command::Resume
            | Command::Undo { .. }
            | Command::Release(_)
            | Command::Tune(_)
            | Command::Tuned { .. }
            | Command::Prewarm(_)
            | Command::StopDriving
            | Command::EndDriving { .. }
            | Command::GiveUpDriving { .. } => {}
        }
        Ok(())
    }

    fn run_one_shot(&mut self, command: &Command) {
        self.faults.count(FaultKind::OneShot);
        let network = self.network();
        let name = format!("cli{}", self.opened);
        let console = SimulatedConsole::open(&self.world, DAEMON_SET, &name, Role::OneShot, network);
        self.one_shots.push(OneShotRun::new(console, command.clone(), self.world.now()));
    }

    fn retire(&mut self, console: SimulatedConsole) {
        self.blind_until = self.blind_until.max(console.blind_until().min(self.world.now()));
        self.faults.add(&console.faults());
        self.in_flight.push(console.kill());
    }

    /// Lets the world and all processes go on until `end`.
    fn run_until(&mut self, end: Timestamp) {
        loop {
            let known = self.world.store().revision();
            self.step();
            let now = self.world.now();
            // Processes that were stepped before the writer of this step have not been sent its write yet.
            let unsent = (self.world.store().revision() != known).then_some(now);
            let consoles = self.consoles.iter().flatten().filter_map(SimulatedConsole::next_at);
            let one_shots = self.one_shots.iter().filter_map(OneShotRun::next_at);
            let in_flight = self.in_flight.iter().filter_map(RequestsInFlight::next_at);
            let reopened = self.reopened.iter().map(|(at, _)| *at);
            let ours = consoles.chain(one_shots).chain(in_flight).chain(reopened);
            let next = ours.chain(unsent).chain(self.world.next_at()).min();
            match next {
                Some(next) if next < end => {
                    // Time advances by a millisecond at least, so that the loop ends.
                    self.world.advance(next.max(now + Duration::from_millis(u64::from(next <= now))));
                }
                _ if now >= end => return,
                _ => self.world.advance(end),
            }
        }
    }

    fn observe(&mut self) {
        for console in self.consoles.iter().flatten() {
            if let Some(until) = console.unaware_until() {
                self.observer.note_stale_watch(console.identity(), until);
            }
        }
        let blind_until = self.consoles.iter().flatten().map(SimulatedConsole::blind_until);
        self.observer.blind_until(blind_until.fold(self.blind_until, Timestamp::max));
        let now = self.world.now();
        for console in self.consoles.iter().flatten() {
            self.observer.note_pause_delay(console.identity(), console.sends_after_a_pause(now));
        }
        self.observer.observe_changes(&self.world, &mut self.accepted);
    }

    /// Steps all processes at the world's present time, and lets the observer check what changed.
    fn step(&mut self) {
        let now = self.world.now();
        for who in 0..self.consoles.len() {
            let Some(console) = &mut self.consoles[who] else { continue };
            console.step(&mut self.world, &mut self.accepted);
            if let Some(again) = console.reopens_after() {
                self.reopened.push((now + again, who));
                if let Some(console) = self.consoles[who].take() {
                    self.retire(console);
                }
            }
        }
        for one_shot in &mut self.one_shots {
            let given = one_shot.step(&mut self.world, &mut self.accepted);
            if let Some((id, command)) = given {
                let who = one_shot.console_mut().identity().clone();
                self.observer.command_given((&who, id), &command, now);
                if matches!(command.inner(), Command::Pause { .. }) {
                    self.pauses.push((who, id, now));
                }
            }
        }
        for requests in &mut self.in_flight {
            requests.step(&mut self.world, &mut self.accepted);
        }
        self.in_flight.retain(|requests| requests.next_at().is_some());
        self.note_changes();
        self.observe();
        self.fire_triggers();
        self.collect_results();
        while let Some(over) = self.one_shots.iter().position(|one_shot| one_shot.is_over(now)) {
            let one_shot = self.one_shots.swap_remove(over);
            self.retire(one_shot.into_console());
        }
        let due = self.reopened.iter().filter(|(at, _)| *at <= now).map(|(_, who)| *who).collect::<Vec<_>>();
        self.reopened.retain(|(at, _)| *at > now);
        for who in due {
            if self.consoles[who].is_none() {
                self.open(who);
            }
        }
        self.check_what_is_shown();
    }

    /// P8: every node that does not move says why. P10: everything that is shown as fact is true.
    fn check_what_is_shown(&mut self) {
        let now = self.world.now();
        if now < self.checked_at + CHECK_EVERY {
            return;
        }
        self.checked_at = now;
        self.checks += 1;
        self.observer.check_drift(now);
        for console in self.consoles.iter_mut().flatten().filter(|console| console.is_running()) {
            let snapshot = console.snapshot(now);
            if snapshot.phase == Phase::Loading {
                continue;
            }
            self.causes.extend(snapshot.nodes.iter().filter_map(|node| Some(node.cause.as_ref()?.kind)));
            self.observer.check_reasons(console.identity(), &snapshot, now);
            self.observer.check_waits(console.identity(), &snapshot, &self.world, now);
            self.observer.check_next(console.identity(), &snapshot, now);
            let unaware = console.unaware_until().is_some_and(|until| now < until);
            let outdated_at = if unaware { Some(now) } else { console.outdated_at() };
            self.observer.check_shown(console.identity(), &snapshot, outdated_at, now);
            if self.checks.is_multiple_of(ANNOUNCED_EVERY)
                && let Some(what) = console.changed_unannounced(&snapshot, now)
            {
                let by = console.identity();
                self.observer.report_violation("P10", now, format!("{by} would have noticed too late that it {what}"));
            }
        }
    }

    /// Plays the calm: everything works again, and an operator brings the rollout to its end.
    fn finish(&mut self) {
        self.network = self.network.calm();
        self.triggers.clear();
        for console in self.consoles.iter_mut().flatten().chain(self.one_shots.iter_mut().map(OneShotRun::console_mut))
        {
            console.calm_down();
        }
        let deadline = self.world.now() + ENDS_WITHIN;
        while !self.is_over() {
            if self.world.now() >= deadline {
                let words = self.describe();
                self.observer.report_violation("P8", deadline, format!("it never ended: {words}"));
                return;
            }
            self.give_next_command();
            self.run_until(self.world.now() + COMMAND_EVERY);
        }
        let now = self.world.now();
        self.observer.check_nothing_is_left_of_prewarming(now);
    }

    /// Whether the rollout has ended: there is no record, the strategy is the operators' own, and every node serves the current revision,
    /// unless the DaemonSet's own controller stands still on the way there.
    fn is_over(&self) -> bool {
        let store = self.world.store();
        let Some(daemon_set) = store.get(Kind::DaemonSet, DAEMON_SET.0, DAEMON_SET.1) else { return true };
        let lease = store.get(Kind::Lease, DAEMON_SET.0, &lease_name(DAEMON_SET.1));
        let recorded = lease.and_then(|lease| lease.lease_fact()).is_some_and(|lease| lease.record != Ok(None));
        let Some(fact) = daemon_set.daemon_set_fact() else { return true };
        let counters = fact.counters;
        // What was asked for of a DaemonSet that was deleted says nothing about this one, and no console shows it.
        let warm = lease.and_then(|lease| lease.lease_fact()).is_some_and(|lease| match lease.prewarm {
            Ok(asked) => asked.is_some_and(|asked| asked.daemonset_uid == fact.uid),
            Err(_) => true,
        });
        !recorded
            && !warm
            && !self.observer.sees_warm_pods()
            && fact.annotations.get(ORIGINAL_STRATEGY).is_none()
            && fact.observed_generation >= fact.generation
            && ((counters.updated == counters.desired && counters.available == counters.desired)
                || surge_stands_still(&self.world, DAEMON_SET))
    }

    /// Gives the next command of the operator who ends the rollout after the calm.
    fn give_next_command(&mut self) {
        let now = self.world.now();
        if self.consoles[0].is_none() {
            self.open(0);
            return;
        }
        let Some(console) = &mut self.consoles[0] else { return };
        let snapshot = console.snapshot(now);
        let Some(command) = next_command(&snapshot, &self.case.bad_images) else { return };
        let refused = self.ask(0, &command).err();
        self.note(|| format!("operator: {command:?} {refused:?}"));
    }

    fn describe(&mut self) -> String {
        let now = self.world.now();
        let Some(console) = &mut self.consoles[0] else { return "no console".to_owned() };
        let snapshot = console.snapshot(now);
        let nodes: Vec<String> = snapshot
            .nodes
            .iter()
            .filter(|node| node.state != NodeState::Updated)
            .map(|node| format!("{} {} ({})", node.name, node.state, Why { node, at: snapshot.at }))
            .collect();
        format!("{} · {} · {:?} · {}", snapshot.doing(), snapshot.driving(), snapshot.alarms, nodes.join(", "))
    }
}
