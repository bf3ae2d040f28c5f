//! Nodes that pull in vain keep their pull slots for another image, as far as the limit allows.

use super::*;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Tuning};

/// Found by the attack (seed 8779): three nodes pull when the limit is lowered to one, and all have to pull another image.
#[test]
fn no_more_nodes_go_to_another_image_than_may_pull_though_each_has_a_slot() {
    let mut fake = FakeCluster::rolling(8, 3);
    (fake.slow, fake.holds_images) = (true, false);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.deleted.len(), 3);
    let one = Tuning { max_pulling: Some(Limit::At(IntOrPercent::Int(1))), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(one)).unwrap();
    console.set_image(&mut fake, "agent:v3");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.deleted.len(), 4, "{:?}", fake.deleted);
}
