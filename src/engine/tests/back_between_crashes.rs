//! A roll back that is asked for while the pod that fails is up for a moment.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Step};
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::settings::Tuning;
use crate::engine::report::snapshot::Phase;

/// Every pod of the third revision crashes five seconds after it was ready, and is up again eight seconds later.
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
        fake.crash_and_restart_all("hash3");
    }
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
    for _ in 0..secs {
        console.run_for(&mut fake, 1);
        fake.crash_and_restart_all("hash3");
    }
    fake.worst_down = 0;
    console.engine.command(Command::Undo { to: None }, fake.now).unwrap();
    for _ in 0..60 {
        console.run_for(&mut fake, 1);
        fake.crash_and_restart_all("hash3");
    }
    assert_eq!(fake.at("hash1"), 20);
    fake.worst_down
}

#[test]
fn it_keeps_to_the_budget_whenever_it_is_asked_for() {
    let worst: Vec<usize> = (0..16).map(worst_where_undone_after).collect();
    assert!(worst.iter().all(|worst| *worst <= 2), "{worst:?}");
}
