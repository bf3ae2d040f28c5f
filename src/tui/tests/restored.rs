//! The page of a rollout whose cluster went back to an earlier state, as after a restore of etcd: what is known is forgotten and read again.

use super::console::TestConsole;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::Snapshot;

const WENT_BACK: &str = "the state of the cluster went back to an earlier one";

/// What the console that drove sees at first, and once all is read again.
fn restored(rolls: bool) -> [Snapshot; 2] {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut before = FakeConsole::open(&fake, "ops");
    if rolls {
        before.set_image(&mut fake, "agent:v2");
        before.partition(&mut fake, 3);
        before.run(&mut fake);
    }
    let mut console = FakeConsole::restored(&fake, "ops");
    let loading = console.snapshot(&fake);
    console.load(&fake);
    [loading, console.snapshot(&fake)]
}

#[test]
fn what_happened_is_said_while_everything_is_read_again_and_after() {
    for rolls in [false, true] {
        for snapshot in restored(rolls) {
            for (width, height) in [(40, 12), (80, 24), (120, 40)] {
                let screen = TestConsole::on(snapshot.clone(), width, height).screen();
                let said = if width == 40 { "! the state of the cluster went" } else { WENT_BACK };
                assert!(screen.contains(said), "{width}x{height}, {rolls}:\n{screen}");
            }
        }
    }
}

#[test]
fn to_drive_is_offered_where_something_is_recorded() {
    for rolls in [false, true] {
        let [loading, loaded] = restored(rolls);
        assert_eq!(loading.remedies(), [], "nothing is known yet");
        assert_eq!(loaded.remedies().contains(&Remedy::Drive), rolls, "{:?}", loaded.remedies());
        for snapshot in [loading, loaded] {
            let offers = snapshot.remedies().contains(&Remedy::Drive);
            let screen = TestConsole::on(snapshot, 80, 24).typed("A").screen();
            assert_eq!(screen.contains("D drives it"), offers, "{screen}");
        }
    }
}
