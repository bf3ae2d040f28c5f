//! What is told of a pre-warming that is over.

use super::super::console::TestConsole;
use super::{by, prewarming, request};
use crate::engine::model::prewarm::{Prewarm, PrewarmCounts};
use crate::engine::model::record::OURSELVES;

/// Nobody has to look at the numbers to learn that it is over.
#[test]
fn the_end_of_a_pre_warming_is_told() {
    let with = |present: u32, failed: u32, asked: Prewarm| {
        let mut snapshot = prewarming(asked, None);
        let view = snapshot.prewarm.as_mut().unwrap();
        let pulling = 12 - present - failed;
        view.counts = PrewarmCounts { nodes: 12, present, pulling, waiting: 0, failed, retrying: 0 };
        (view.unobtainable, view.stuck) = (None, Vec::new());
        snapshot
    };
    let status = |console: &TestConsole| console.model.status.as_ref().map(|status| status.text.clone());
    let mut console = TestConsole::on(with(10, 0, request()), 80, 24);
    console.see(with(12, 0, request()));
    assert_eq!(status(&console).as_deref(), Some("ipc-agent: pre-warmed 12 of 12 nodes"));
    console.model.status = None;
    console.see(with(12, 0, request()));
    assert_eq!(status(&console), None, "it is told once");
    let mut failed = TestConsole::on(with(10, 1, request()), 80, 24);
    failed.see(with(11, 1, request()));
    assert_eq!(status(&failed).as_deref(), Some("ipc-agent: pre-warmed 11 of 12 nodes; it failed on 1"));
    let mut cancelled = TestConsole::on(with(10, 0, request()), 80, 24);
    cancelled.see(with(10, 2, Prewarm { cancelled: Some(by("ada", 1)), ..request() }));
    assert_eq!(status(&cancelled), None);
    let mut complete = TestConsole::on(with(10, 0, request()), 80, 24);
    complete.see(with(4, 0, Prewarm { cancelled: Some(by(OURSELVES, 1)), complete: Some(12), ..request() }));
    assert_eq!(status(&complete).as_deref(), Some("ipc-agent: pre-warmed 12 of 12 nodes"));
}
