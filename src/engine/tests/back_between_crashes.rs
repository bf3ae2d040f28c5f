//! A roll back that is asked for while the pod that fails is up for a moment.

use std::time::Duration;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Step};
use crate::engine::model::facts::{ContainerState, PodFact};
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::settings::Tuning;
use crate::engine::report::snapshot::Phase;

/// Every pod of the third revision crashes five seconds after it was ready, and is up again eight seconds later.
fn crash_and_restart(fake: &mut FakeCluster) {
    let now = fake.now;
    let lasts = |pod: &PodFact, secs| pod.ready_since.is_some_and(|at| now.since(at) >= Duration::from_secs(secs));
    let of_it = |pod: &&PodFact| pod.revision.as_deref() == Some("hash3") && pod.deletion_at.is_none();
    let named = |pod: &PodFact| pod.node.clone();
    let pods: Vec<&PodFact> = fake.pods.values().filter(of_it).collect();
    let ends: Vec<Str> = pods.iter().filter(|pod| pod.ready && lasts(pod, 5)).filter_map(|pod| named(pod)).collect();
    let begins: Vec<Str> = pods.iter().filter(|pod| !pod.ready && lasts(pod, 8)).filter_map(|pod| named(pod)).collect();
    for node in ends {
        fake.change_pod(&node, |pod| {
            let container = &mut pod.containers[0];
            (container.ready, container.last_end, container.last_exit) = (false, Some("Error".into()), Some(1));
            container.state = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: None };
            (pod.ready, pod.ready_since) = (false, Some(now));
        });
    }
    for node in begins {
        fake.change_pod(&node, |pod| {
            let container = &mut pod.containers[0];
            (container.ready, container.restarts) = (true, container.restarts + 1);
            container.state = ContainerState::Running { since: Some(now) };
            (pod.ready, pod.ready_since) = (true, Some(now));
        });
    }
}

fn worst_where_undone_after(secs: u64) -> usize {
    let mut fake = FakeCluster::rolling(20, 2);
    // With the soak time that a rollout has where nobody names one.
    fake.defaults = Tuning::default();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Updated(Int(8)))).unwrap();
    console.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash2"), 8);
    console.set_image(&mut fake, "agent:bad");
    console.ask(&mut fake, Command::Step(Step::Updated(Int(1)))).unwrap();
    for _ in 0..300 {
        if console.snapshot(&fake).phase == Phase::Halted {
            break;
        }
        console.run_for(&mut fake, 1);
        crash_and_restart(&mut fake);
    }
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
    for _ in 0..secs {
        console.run_for(&mut fake, 1);
        crash_and_restart(&mut fake);
    }
    fake.worst_down = 0;
    console.engine.command(Command::Undo { to: None }, fake.now).unwrap();
    for _ in 0..60 {
        console.run_for(&mut fake, 1);
        crash_and_restart(&mut fake);
    }
    assert_eq!(fake.at("hash1"), 20);
    fake.worst_down
}

#[test]
fn it_keeps_to_the_budget_whenever_it_is_asked_for() {
    let worst: Vec<usize> = (0..16).map(worst_where_undone_after).collect();
    assert!(worst.iter().all(|worst| *worst <= 2), "{worst:?}");
}
