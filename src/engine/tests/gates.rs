//! What each gate does, by its role in the table of settings: a gate that no rule carries out fails here.

use super::*;
use crate::engine::model::Str;
use crate::engine::model::estimate::RolloutEstimate;
use crate::engine::model::record::HaltingGate;
use crate::engine::model::settings::{Secs, Setting, SettingRole};
use crate::engine::report::snapshot::Snapshot;

/// How a gate is tried.
struct GateTrial {
    /// Two values of it, the second of which is the stricter one.
    values: [&'static str; 2],
    /// What is so in the cluster before the rollout begins, under both values.
    before: fn(&mut FakeCluster),
    /// What happens after some seconds to the first node that was updated, under both values.
    then: fn(&mut FakeCluster, &str),
    /// Of a gate that holds.
    holds: Option<HoldTrial>,
}

/// What is tried of a gate that holds, beside that.
struct HoldTrial {
    /// Whether it held, by how many pods were deleted under each of the values.
    deletes: fn(lax: usize, strict: usize) -> bool,
    /// What happens in each second after what was so before the rollout begins, so that the hold does not end by itself.
    lasts: fn(&mut FakeCluster),
}

impl GateTrial {
    fn hold(&self, gate: Setting) -> &HoldTrial {
        self.holds.as_ref().unwrap_or_else(|| panic!("{gate:?}: how many pods does it let be deleted, and what lasts?"))
    }
}

/// How each gate is tried; of another setting nothing. All settings are named, so that the compiler asks for a new one.
fn trial(setting: Setting) -> Option<GateTrial> {
    let plain = GateTrial { values: [""; 2], before: |_| {}, then: |_, _| {}, holds: None };
    let nothing_to_pull = |fake: &mut FakeCluster| fake.broken.push("agent:v2".into());
    let trial = match setting {
        Setting::FailureThreshold => GateTrial { values: ["100%", "1"], before: nothing_to_pull, ..plain },
        Setting::OnFailure => GateTrial { values: ["halt", "rollback"], before: nothing_to_pull, ..plain },
        // A new pod does not become ready.
        Setting::ProgressDeadline => GateTrial { values: ["30m", "1m"], before: |fake| fake.slow = true, ..plain },
        // It crashes again and again, and is up in between.
        Setting::MaxRestarts => GateTrial {
            values: ["9", "2"],
            then: |fake, node| {
                fake.change_pod(node, |pod| pod.containers[0].restarts = 4);
                fake.set_ready(node, false);
            },
            ..plain
        },
        Setting::Soak => GateTrial { values: ["0s", "5m"], ..plain },
        // It goes down after its update.
        Setting::SuspectGrace => {
            GateTrial { values: ["30m", "20s"], then: |fake, node| fake.set_node_ready(node, false), ..plain }
        }
        // Images are not on the nodes, and do not come.
        Setting::RequireImage => GateTrial {
            values: ["false", "true"],
            before: |fake| fake.holds_images = false,
            holds: Some(HoldTrial {
                deletes: |_, strict| strict == 0,
                lasts: |fake| fake.warm_nodes().iter().for_each(|node| fake.warm_fails(node, "not found")),
            }),
            ..plain
        },
        Setting::MaxUnavailable
        | Setting::MaxPulling
        | Setting::MaxPullingPerSite
        | Setting::SiteLabel
        | Setting::Pace
        | Setting::Strict
        | Setting::Steps
        | Setting::Prewarm
        | Setting::OnDrift
        | Setting::Order
        | Setting::Finish => return None,
    };
    Some(trial)
}

/// A rollout that this gate has halted, after as many seconds as it takes.
///
/// `past_the_halt_of_any_gate_it_goes_on_and_only_failures_are_acknowledged` (`halts.rs`) resumes it, and demands that it does not halt for
/// 10 minutes after that, and that it halts within 120 seconds of [`strikes_again`]. So a gate that strikes by time is tried here with 10 to 12
/// minutes, and with a progress deadline that is longer than that.
pub(crate) fn halted_by(gate: HaltingGate) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 2);
    let seconds = match gate {
        HaltingGate::FailureThreshold => {
            // An image that is not there.
            fake.broken.push("agent:bad".into());
            60
        }
    };
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.ask(&mut fake, Command::Select(Some("zone=canary".parse().unwrap()))).unwrap();
    console.partition(&mut fake, 10);
    console.run_for(&mut fake, seconds);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.phase, snapshot.halt.map(|halt| halt.gate)), (Phase::Halted, Some(gate)), "after {seconds} s");
    (fake, console)
}

/// After an operator resumed past its halt, this makes that the same gate has to halt again, because of other nodes than those that were
/// accepted.
pub(super) fn strikes_again(gate: HaltingGate, fake: &mut FakeCluster, accepted: &[Str]) {
    match gate {
        // The image came to the nodes that were accepted. Their pods are well, so the next node of the selector is updated, and fails.
        HaltingGate::FailureThreshold => {
            for node in accepted {
                fake.change_pod(node, |pod| {
                    pod.containers[0].state = ContainerState::Running { since: None };
                    pod.containers[0].image_present = true;
                });
                fake.set_ready(node, true);
            }
        }
    }
}

/// A rollout of six nodes, one at a time, under this value of the gate, after some minutes.
fn play(gate: Setting, trial: &GateTrial, value: &str) -> (FakeCluster, Snapshot) {
    let (fake, mut console) = played(gate, trial, value);
    let snapshot = console.snapshot(&fake);
    (fake, snapshot)
}

/// The same, with the console that drives.
fn played(gate: Setting, trial: &GateTrial, value: &str) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(6, 1);
    (trial.before)(&mut fake);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.engine.command(Command::Tune(gate.read(value).unwrap()), fake.now).unwrap();
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 30);
    if let Some(node) = fake.deleted.first().cloned() {
        (trial.then)(&mut fake, &node);
    }
    console.run_for(&mut fake, 120);
    (fake, console)
}

/// A rollout that a stricter value of any gate would halt: the preview of that change says so, whether or not somebody drives.
#[test]
fn a_change_that_makes_a_gate_halt_at_once_says_so_beforehand() {
    for gate in Setting::gates() {
        let SettingRole::Halts(halts) = gate.about().role else { continue };
        let trial = trial(gate).unwrap();
        let [lax, strict] = trial.values;
        let (mut fake, mut console) = played(gate, &trial, lax);
        assert_eq!(console.snapshot(&fake).halt, None, "{gate:?} under {lax}");
        let tune = Command::Tune(gate.read(strict).unwrap());
        let says = |console: &mut FakeConsole, fake: &FakeCluster, words: &str| {
            let effects = console.engine.preview(&tune, fake.now).unwrap().effects;
            assert!(effects.iter().any(|line| line.contains(words)), "{gate:?} to {strict}, no `{words}`: {effects:?}");
        };
        says(&mut console, &fake, "it halts at once");
        console.ask(&mut fake, Command::StopDriving).unwrap();
        let mut looks = FakeConsole::open_as(&fake, "eve", Role::OneShot);
        // Who looks later has to see for itself for how long there has been trouble.
        looks.run_for(&mut fake, 60);
        says(&mut looks, &fake, "whoever drives next halts it at once");
        // It is as the preview says.
        console.ask(&mut fake, tune.clone()).unwrap();
        console.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap();
        console.run_for(&mut fake, 2);
        assert_eq!(console.snapshot(&fake).halt.map(|halt| halt.gate), Some(halts), "{gate:?} under {strict}");
        // While it is halted or goes back, no gate halts it.
        let tune = Command::Tune(gate.read(lax).unwrap());
        let lines = console.engine.preview(&tune, fake.now).unwrap().effects;
        assert!(lines.contains(&"It is halted, and stays so until it is resumed.".to_owned()), "{gate:?}: {lines:?}");
        console.ask(&mut fake, Command::Undo { to: None }).unwrap();
        let lines = console.engine.preview(&tune, fake.now).unwrap().effects;
        assert!(lines.contains(&"Nothing halts it on the way back.".to_owned()), "{gate:?}: {lines:?}");
    }
}

#[test]
fn every_gate_does_what_its_role_says_and_only_where_it_is_strict() {
    for gate in Setting::gates() {
        let trial = trial(gate).unwrap_or_else(|| panic!("{gate:?}: which values of this gate differ, and in what?"));
        let [lax, strict] = trial.values;
        let ((idle, lax), (busy, strict)) = (play(gate, &trial, lax), play(gate, &trial, strict));
        let role = gate.about().role;
        let does = match role {
            SettingRole::Halts(halts) => {
                let halted = strict.halt.as_ref().map(|halt| halt.gate);
                lax.halt.is_none() && strict.phase == Phase::Halted && halted == Some(halts)
            }
            SettingRole::FailsANode => lax.counts.failed == 0 && strict.counts.failed > 0,
            SettingRole::Holds => {
                let (lax, strict) = (idle.deleted.len(), busy.deleted.len());
                lax > strict && (trial.hold(gate).deletes)(lax, strict)
            }
            SettingRole::Delays => {
                !busy.deleted.is_empty() && lax.counts.updated > strict.counts.updated && strict.counts.failed == 0
            }
            SettingRole::Decides => lax.direction != strict.direction || lax.phase != strict.phase,
            SettingRole::Limits => panic!("{gate:?} is a gate"),
        };
        assert!(does, "{gate:?} is {role:?}: {:?} {:?}, {:?} {:?}", lax.phase, lax.counts, strict.phase, strict.counts);
    }
}

fn gates_that_hold() -> impl Iterator<Item = (Setting, GateTrial)> {
    let of_gate = |gate: Setting| (gate, trial(gate).unwrap_or_else(|| panic!("{gate:?}: how is it tried?")));
    Setting::gates().filter(|gate| gate.about().role == SettingRole::Holds).map(of_gate)
}

/// A rollout of eight nodes, two at a time, of which three were updated before this gate had a reason to hold, and a fourth is being updated if one
/// `moves`. Then it has, and all of them may be updated.
struct LateGate<'a> {
    gate: Setting,
    trial: &'a GateTrial,
    fake: FakeCluster,
    console: FakeConsole,
    /// How many pods were deleted before.
    deleted: usize,
}

impl<'a> LateGate<'a> {
    fn new(gate: Setting, trial: &'a GateTrial, moves: bool) -> Self {
        let mut fake = FakeCluster::rolling(8, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        let [lax, _] = trial.values;
        console.set_image(&mut fake, "agent:v2");
        for tuning in [gate.read(lax).unwrap(), Tuning { soak_secs: Some(Secs(10)), ..Tuning::default() }] {
            console.engine.command(Command::Tune(tuning), fake.now).unwrap();
        }
        console.partition(&mut fake, 5);
        console.run_for(&mut fake, 60);
        assert_eq!(console.snapshot(&fake).counts.updated, 3, "{gate:?} under {lax}");
        if moves {
            fake.slow = true;
            console.partition(&mut fake, 4);
            console.run_for(&mut fake, 5);
            let snapshot = console.snapshot(&fake);
            assert!(matches!(snapshot.estimate, RolloutEstimate::Known { .. }), "{gate:?}: {:?}", snapshot.estimate);
            assert_eq!((snapshot.guidance(), &*snapshot.alarms), (None, &[][..]), "{gate:?} under {lax}");
        }
        let deleted = fake.deleted.len();
        Self { gate, trial, fake, console, deleted }
    }

    /// Now it has a reason to hold, under this value, for a minute. How many pods are deleted.
    fn strikes(&mut self, value: &str) -> usize {
        let Self { gate, trial, fake, console, deleted } = self;
        (trial.before)(fake);
        console.engine.command(Command::Tune(gate.read(value).unwrap()), fake.now).unwrap();
        console.partition(fake, 0);
        for _ in 0..60 {
            console.run_for(fake, 1);
            (trial.hold(*gate).lasts)(fake);
        }
        fake.deleted.len() - *deleted
    }

    /// The same under its stricter value, which holds nodes.
    fn holds(&mut self) -> Snapshot {
        let [_, strict] = self.trial.values;
        assert_eq!(self.strikes(strict), 0, "{:?} under {strict} holds", self.gate);
        self.console.snapshot(&self.fake)
    }
}

/// Otherwise the comparison with it would show nothing: what is tried later holds under the stricter value alone.
#[test]
fn a_gate_that_holds_later_than_the_rollout_began_does_not_under_its_laxer_value() {
    for (gate, trial) in gates_that_hold() {
        for moves in [false, true] {
            let [lax, _] = trial.values;
            assert!(LateGate::new(gate, &trial, moves).strikes(lax) > 0, "{gate:?} under {lax}");
        }
    }
}

/// Whoever goes back wants to get rid of what was rolled out, whatever a gate demands of what is rolled out next.
#[test]
fn no_gate_that_holds_holds_a_roll_back() {
    for (gate, trial) in gates_that_hold() {
        let mut late = LateGate::new(gate, &trial, false);
        late.holds();
        let LateGate { fake, console, deleted, .. } = &mut late;
        console.ask(fake, Command::Undo { to: None }).unwrap();
        console.run_for(fake, 60);
        assert!(fake.deleted.len() > *deleted && fake.at("hash2") < 3, "{gate:?}: no updated node goes back");
    }
}

/// A hold says so in the rows alone, and of those hundreds are not on the screen.
#[test]
fn what_a_gate_holds_is_told_of_the_rollout_also_while_other_nodes_move() {
    for (gate, trial) in gates_that_hold() {
        for moves in [false, true] {
            let snapshot = LateGate::new(gate, &trial, moves).holds();
            assert_eq!(snapshot.nodes.iter().any(|node| node.state.is_moving()), moves, "{gate:?}");
            let (guidance, alarms) = (snapshot.guidance(), &snapshot.alarms);
            assert!(guidance.is_some() || !alarms.is_empty(), "{gate:?}, another node moves: {moves}: nothing says so");
        }
    }
}

/// Nobody knows when a hold that does not end by itself ends.
#[test]
fn what_a_gate_holds_is_not_estimated() {
    for (gate, trial) in gates_that_hold() {
        for moves in [false, true] {
            let RolloutEstimate::Blocked { .. } = LateGate::new(gate, &trial, moves).holds().estimate else {
                panic!("{gate:?}, another node moves: {moves}: an estimate without what it waits for")
            };
        }
    }
}

/// Where nothing fails no gate halts, however long a rollout waits for its next step or is paused: a clock that ran on while nothing may go
/// would strike here.
#[test]
fn no_gate_halts_a_healthy_rollout_that_waits() {
    for gate in Setting::gates().filter(|gate| matches!(gate.about().role, SettingRole::Halts(_))) {
        let strict = trial(gate).map(|trial| trial.values[1]).unwrap_or_default();
        let mut fake = FakeCluster::rolling(6, 1);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.engine.command(Command::Tune(gate.read(strict).unwrap()), fake.now).unwrap();
        let wait = |console: &mut FakeConsole, fake: &mut FakeCluster, minutes: u32, updated: u32| {
            for minute in 1..=minutes {
                console.run_for(fake, 60);
                let snapshot = console.snapshot(fake);
                assert_eq!(
                    snapshot.halt, None,
                    "{gate:?} under {strict}: {minute} minutes after the step to {updated}"
                );
            }
            assert_eq!(console.snapshot(fake).counts.updated, updated, "{gate:?}: the step is done");
        };
        console.partition(&mut fake, 4);
        wait(&mut console, &mut fake, 60, 2);
        console.ask(&mut fake, Command::Pause { why: None }).unwrap();
        wait(&mut console, &mut fake, 60, 2);
        console.ask(&mut fake, Command::Resume).unwrap();
        console.partition(&mut fake, 2);
        wait(&mut console, &mut fake, 2, 4);
    }
}

/// What the record calls a halt's gate is what operators set.
#[test]
fn every_gate_that_halts_is_a_setting() {
    for halts in HaltingGate::ALL {
        let settings = Setting::gates().filter(|gate| gate.about().role == SettingRole::Halts(halts)).count();
        assert_eq!(settings, 1, "{halts:?}");
    }
}

/// Two gates that have a reason to halt at the same instant, each tried in a test of its own beside this one.
const TRIED_AT_ONCE: [[HaltingGate; 2]; 0] = [];

#[test]
fn of_two_gates_that_halt_at_once_the_first_is_told() {
    for (nth, second) in HaltingGate::ALL.into_iter().enumerate() {
        for first in &HaltingGate::ALL[..nth] {
            let pair = [*first, second];
            assert!(
                TRIED_AT_ONCE.contains(&pair),
                "{pair:?}: test which of them halts, and name them in `TRIED_AT_ONCE`"
            );
        }
    }
}

/// What is under way when budgets and gates change goes on under them, and the preview says so.
#[test]
fn a_change_of_settings_says_what_it_means_for_what_is_under_way() {
    let mut fake = FakeCluster::rolling(20, 3);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 5);
    let mut lines = |tuning: Tuning| console.engine.preview(&Command::Tune(tuning), fake.now).unwrap().effects;
    assert_eq!(
        lines(Tuning { max_unavailable: Some("2".parse().unwrap()), ..Tuning::default() }),
        [
            "From now on at most 2 down and 2 pulling at a time.",
            "3 nodes are down now: what is under way goes on, and no further node is taken down before fewer than 2 are.",
            "max unavailable: default → 2 (2 of 20 nodes may be down)",
            "pull limit: 3 → 2 (follows max unavailable)",
        ]
    );
    // Whoever sets both is told of both as settings.
    let both = Tuning { max_pulling: Some("2".parse().unwrap()), ..Tuning::default() };
    let both = lines(Tuning { max_unavailable: Some("4".parse().unwrap()), ..both });
    assert!(!both.iter().any(|line| line.starts_with("pull limit:")), "{both:?}");
    assert_eq!(
        lines(Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() }),
        [
            "soak: 0s → 1m (ready before it counts as available)",
            "3 nodes are on their way now, and judged by it as well.",
        ]
    );
}
