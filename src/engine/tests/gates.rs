//! What each gate does, by its role in the table of settings: a gate that no rule carries out fails here.

use super::*;
use crate::engine::model::record::HaltingGate;
use crate::engine::model::settings::{Secs, Setting, SettingRole};
use crate::engine::report::snapshot::Snapshot;

/// A rollout of six nodes, one at a time, in which something happens that the gate is about: with this value of it, after some minutes.
fn play(gate: Setting, value: &str) -> (FakeCluster, Snapshot) {
    let mut fake = FakeCluster::rolling(6, 1);
    match gate {
        // What is pulled is not there.
        Setting::FailureThreshold | Setting::OnFailure => fake.broken.push("agent:v2".into()),
        // A new pod does not become ready.
        Setting::ProgressDeadline => fake.slow = true,
        // Images are not on the nodes, and do not come.
        Setting::RequireImage => fake.holds_images = false,
        _ => {}
    }
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.engine.command(Command::Tune(gate.read(value).unwrap()), fake.now).unwrap();
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 30);
    let first = fake.deleted.first().cloned();
    match (gate, first) {
        // It crashes again and again, and is up in between.
        (Setting::MaxRestarts, Some(node)) => {
            fake.change_pod(&node, |pod| pod.containers[0].restarts = 4);
            fake.set_ready(&node, false);
        }
        // It goes down after its update.
        (Setting::SuspectGrace, Some(node)) => fake.set_node_ready(&node, false),
        _ => {}
    }
    console.run_for(&mut fake, 120);
    let snapshot = console.snapshot(&fake);
    (fake, snapshot)
}

/// Two values of the gate, the second of which is the stricter one.
fn values(gate: Setting) -> [&'static str; 2] {
    match gate {
        Setting::FailureThreshold => ["100%", "1"],
        Setting::ProgressDeadline => ["30m", "1m"],
        Setting::MaxRestarts => ["9", "2"],
        Setting::Soak => ["0s", "5m"],
        Setting::SuspectGrace => ["30m", "20s"],
        Setting::RequireImage => ["false", "true"],
        Setting::OnFailure => ["halt", "rollback"],
        other => panic!("{other:?}: which values of this gate differ, and what happens in `play`?"),
    }
}

#[test]
fn every_gate_does_what_its_role_says_and_only_where_it_is_strict() {
    for gate in Setting::gates() {
        let [lax, strict] = values(gate);
        let ((idle, lax), (busy, strict)) = (play(gate, lax), play(gate, strict));
        let role = gate.about().role;
        let does = match role {
            SettingRole::Halts(halts) => {
                let halted = strict.halt.as_ref().map(|halt| halt.gate);
                lax.halt.is_none() && strict.phase == Phase::Halted && halted == Some(halts)
            }
            SettingRole::FailsANode => lax.counts.failed == 0 && strict.counts.failed > 0,
            SettingRole::Holds => !idle.deleted.is_empty() && busy.deleted.is_empty(),
            SettingRole::Delays => {
                !busy.deleted.is_empty() && lax.counts.updated > strict.counts.updated && strict.counts.failed == 0
            }
            SettingRole::Decides => lax.direction != strict.direction || lax.phase != strict.phase,
            SettingRole::Limits => panic!("{gate:?} is a gate"),
        };
        assert!(does, "{gate:?} is {role:?}: {:?} {:?}, {:?} {:?}", lax.phase, lax.counts, strict.phase, strict.counts);
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
