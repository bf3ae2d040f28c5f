//! Pods that have to stay ready for the rollout's soak time while nobody drives.

use super::*;
use crate::engine::model::settings::Secs;
use crate::engine::report::remedies::Remedy;

/// Their controller counts them as available, and nothing follows from the soak time before somebody drives: no page calls that running.
#[test]
fn while_the_last_pods_of_a_step_soak_and_nobody_drives_it_is_held_everywhere() {
    for (min_ready, soaks) in [(0, true), (60, false)] {
        let mut fake = FakeCluster::rolling(10, 2);
        fake.daemonset.min_ready_secs = min_ready;
        let mut console = FakeConsole::open(&fake, "ops");
        let soak = Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() };
        console.ask(&mut fake, Command::Tune(soak)).unwrap();
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 8);
        let state = |snapshot: &Snapshot| snapshot.nodes.iter().filter(|it| it.state == NodeState::Soaking).count();
        for _ in 0..40 {
            console.run_for(&mut fake, 1);
            if state(&console.snapshot(&fake)) == 2 {
                break;
            }
        }
        let driven = console.snapshot(&fake);
        assert_eq!((state(&driven) > 0, driven.phase, listed(&fake)), (true, Phase::Running, FleetState::Rolling));
        console.ask(&mut fake, Command::StopDriving).unwrap();
        let left = console.snapshot(&fake);
        assert_eq!((state(&left) > 0, left.phase == Phase::Held), (true, soaks), "{:?}", left.phase);
        if soaks {
            assert_eq!((listed(&fake), left.doing().to_string().as_str()), (FleetState::Held, "held"));
            let guidance = left.guidance().unwrap();
            let why = "nobody drives; held: 2 new pods have to stay ready for 60s before their nodes count as updated";
            assert_eq!((guidance.waits.as_str(), guidance.remedies), (why, vec![Remedy::Drive]));
            FakeConsole::open_as(&fake, "eve", Role::OneShot).partition(&mut fake, 4);
            console.run(&mut fake);
            let more = console.snapshot(&fake);
            assert_eq!((listed(&fake), more.phase), (FleetState::Undriven, Phase::Held));
        }
        console.run_for(&mut fake, 120);
        agree("they have soaked", &fake, &mut console);
    }
}
