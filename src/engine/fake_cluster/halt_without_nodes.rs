//! A halt of the whole rollout, as one by time would be: it names no node.

use super::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::report::snapshot::Snapshot;

/// Why it halted.
pub(crate) const HALTED: &str = "it takes longer than 2h";

/// What a console shows of it that does not drive, with the halt on its timeline, and what going on would do.
pub(crate) fn halted_without_nodes() -> (Snapshot, Preview) {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.broken.push("agent:bad".into());
    let mut driver = FakeConsole::open(&fake, "ops");
    driver.set_image(&mut fake, "agent:bad");
    driver.partition(&mut fake, 3);
    driver.run_for(&mut fake, 60);
    // Nothing failed: time alone was the reason.
    fake.broken.clear();
    let nodes: Vec<_> = fake.nodes.keys().cloned().collect();
    nodes.iter().for_each(|node| fake.remove_pod(node));
    nodes.iter().for_each(|node| fake.create_pod(node));
    let lease = fake.lease.as_mut().unwrap();
    let halt = lease.record.as_mut().unwrap().as_mut().unwrap().progress.halt.as_mut().unwrap();
    halt.why = HALTED.into();
    halt.set_named(Vec::new());
    fake.tell_lease();
    let mut console = FakeConsole::open(&fake, "ada");
    let preview = console.engine.preview(&Command::Resume, fake.now).unwrap();
    let kind = RolloutEventKind::Halted { number: 1, revision: None, why: HALTED.into(), nodes: Vec::new() };
    let halted = RolloutEvent {
        at: fake.now,
        by: None,
        kind,
        outcome: EventOutcome::Done,
        command: None,
        said: None,
        visibility: Visibility::Cluster,
        revision: None,
    };
    (Snapshot { timeline: [halted].into(), ..console.snapshot(&fake) }, preview)
}
