//! What is told of a pre-warming that is over.

use super::super::console::TestConsole;
use super::{by, complete, prewarming, request, warm};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::prewarm::{Prewarm, PrewarmCounts};
use crate::engine::model::record::OURSELVES;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::model::Overlay;
use crate::tui::run::farewell::farewell;

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

/// What is done is not paused: nothing of it runs.
#[test]
fn a_pre_warming_that_every_node_has_is_not_offered_to_be_paused() {
    let mut done = warm();
    if let Some(view) = &mut done.prewarm {
        view.counts = PrewarmCounts { nodes: 5, present: 5, ..PrewarmCounts::default() };
        assert_eq!(view.to_string(), "pre-warmed: 5 of 5 present");
    }
    let console = TestConsole::on(done.clone(), 120, 40).typed("Wp");
    let said = console.model.status.as_ref().map(|status| status.text.clone());
    assert_eq!(said.as_deref(), Some("every node has the images: there is nothing to pause, x ends it"));
    assert!(matches!(console.model.overlay, Overlay::None));
    if let Some(view) = &mut done.prewarm {
        view.request.paused = Some(by("ada@bastion-3/1f00c3a9", 60));
    }
    let console = TestConsole::on(done, 120, 40).typed("AWp");
    assert!(matches!(console.model.overlay, Overlay::Dialog(_)), "one that is paused goes on");
}

/// Its own controller replaces pods, before and after: whoever quits stops the pre-warming and nothing else.
#[test]
fn who_quits_reads_what_becomes_of_pre_warming() {
    let only = |snapshot: Snapshot| Snapshot { strategy: StrategyKind::RollingUpdate, started_at: None, ..snapshot };
    let asked = |snapshot: Snapshot| {
        let screen = TestConsole::on(snapshot, 80, 24).typed("q").screen();
        screen.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
    };
    let stands = "Pre-warming: no further node gets a pod for it; what is being pulled goes on, and whoever drives next carries on.";
    let said = asked(only(warm()));
    assert!(said.contains("You pre-warm edge/ipc-agent on prod-eu."), "{said}");
    assert!(
        said.contains(stands) && said.contains("`rolldeck drive --context prod-eu -n edge ds/ipc-agent` goes on"),
        "{said}"
    );
    assert!(!said.contains("nothing more is updated"), "{said}");
    let rollout = Snapshot { prewarm: warm().prewarm, ..super::super::fixtures::running() };
    let said = asked(rollout);
    assert!(said.contains("You drive edge/ipc-agent") && said.contains("nothing more is updated"), "{said}");
    assert!(said.contains(stands), "{said}");
    let said = asked(only(Snapshot { prewarm: Some(complete()), ..warm() }));
    assert!(said.contains("Nothing is left that needs a driver.") && !said.contains("rolldeck drive"), "{said}");

    let end = farewell(&TestConsole::on(only(warm()), 80, 24).model).remove(0);
    assert!(!end.contains("nobody drives it now") && end.contains("; pre-warming stands at "), "{end}");
    let rollout = Snapshot { prewarm: warm().prewarm, ..super::super::fixtures::running() };
    let end = farewell(&TestConsole::on(rollout, 80, 24).model).remove(0);
    assert!(end.contains("; nobody drives it now; pre-warming stands at "), "{end}");
}
