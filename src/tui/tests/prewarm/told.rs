//! What the screen of pre-warming tells of what cannot be paused, is cancelled, stands, or is not measured yet.

use std::time::Duration;

use super::super::console::TestConsole;
use super::{IMAGE, by, prewarming, request, warm};
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::TimeRange;
use crate::engine::model::prewarm::{Prewarm, PrewarmLeftover, PrewarmMethod, PrewarmState, PrewarmWait};
use crate::engine::model::pull::{ImageSummary, PeerScope, PullSummary, UsualPull};
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::model::Overlay;
use crate::tui::run::farewell::farewell;
use crate::tui::tests::fixtures::{ago, canary_done};

fn status(console: &TestConsole) -> String {
    console.model.status.as_ref().map(|status| status.text.clone()).unwrap_or_default()
}

/// StatefulSets go on by themselves: their pause is not offered, and its key says why it does nothing.
#[test]
fn stateful_sets_are_not_offered_to_be_paused() {
    let sets = || prewarming(Prewarm { method: PrewarmMethod::StatefulSet, ..request() }, None);
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let last = |snapshot: Snapshot| {
            TestConsole::on(snapshot, width, height).typed("AW").screen().lines().last().unwrap_or_default().to_owned()
        };
        // What cannot be done now is dim, and stands behind what can.
        let place = |line: &str, key: &str| line.find(key).unwrap_or(usize::MAX);
        let pods = last(warm());
        assert!(place(&pods, "p pause pre-warm") < place(&pods, "x cancel"), "{pods}");
        let line = last(sets());
        assert!(place(&line, "p pause pre-warm") > place(&line, "x cancel"), "{line}");
        let console = TestConsole::on(sets(), width, height).typed("AWp");
        assert!(
            status(&console).contains("a StatefulSet goes on by itself and cannot be paused"),
            "{}",
            status(&console)
        );
        assert!(matches!(console.model.overlay, Overlay::None));
    }
}

/// Its pods go, and nothing is pulled for it any more: neither figures nor nodes are shown as if it went on.
#[test]
fn what_is_cancelled_shows_no_figures() {
    let cancelled = Prewarm { cancelled: Some(by("ben@bastion-2/3f9a1c", 30)), ..request() };
    let mut snapshot = prewarming(cancelled, Some(&PrewarmWait::Cancelled));
    if let Some(view) = &mut snapshot.prewarm {
        view.leftover = PrewarmLeftover { pods: 2, ..PrewarmLeftover::default() };
    }
    for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        let goes_on = TestConsole::on(warm(), width, height).typed("W").screen();
        assert!(width < 80 || goes_on.contains("hamburg"), "{goes_on}");
        let screen = TestConsole::on(snapshot.clone(), width, height).typed("W").screen();
        for word in ["hamburg", "PRESENT", "waiting", "pulling", "not present"] {
            assert!(!screen.contains(word), "{word} at {width}:\n{screen}");
        }
        assert!(width < 80 || screen.contains("2 pods for pre-warming that"), "{screen}");
        assert!(width < 80 || screen.contains("cancelled by ben@bastion-2 30s ago"), "{screen}");
    }
}

/// Where some sites have no finished pull, all of them take as long as the longest that has, or more.
#[test]
fn all_sites_take_at_least_as_long_as_the_longest_that_is_measured() {
    let mut snapshot = warm();
    let all = |snapshot: &Snapshot| {
        let screen = TestConsole::on(snapshot.clone(), 120, 40).typed("W").screen();
        let line = screen.lines().find(|line| line.trim_start().starts_with("all ")).unwrap_or_default().to_owned();
        line.split_whitespace().last().unwrap_or_default().to_owned()
    };
    assert_eq!(all(&snapshot), "~12–18m");
    if let Some(view) = &mut snapshot.prewarm {
        view.estimate = None;
        let range = |secs: u64| TimeRange { least: Duration::from_secs(secs), most: Duration::from_secs(2 * secs) };
        (view.sites[0].estimate, view.sites[1].estimate, view.sites[2].estimate) =
            (Some(range(45)), Some(range(300)), None);
    }
    assert_eq!(all(&snapshot), "≥5m");
    if let Some(view) = &mut snapshot.prewarm {
        view.sites.iter_mut().for_each(|site| site.estimate = None);
    }
    assert_eq!(all(&snapshot), "–");
}

/// Once the template has the image, its pulls are among those of the target: a node goes on telling how long its pull takes.
#[test]
fn a_pull_keeps_its_estimate_once_the_template_has_the_image() {
    let median = Duration::from_secs(58);
    let usual = UsualPull { median, quartiles: (median, median), peers: 7, scope: PeerScope::Fleet };
    let mut snapshot = warm();
    let pulling = |node: &NodeView| match node.prewarm.as_deref() {
        Some(PrewarmState::Pulling { .. }) => PrewarmState::Pulling { since: ago(20) },
        _ => node.prewarm.as_deref().cloned().unwrap_or(PrewarmState::Present),
    };
    snapshot.nodes = snapshot
        .nodes
        .iter()
        .map(|node| NodeView { prewarm: Some(pulling(node).into()), ..NodeView::clone(node) })
        .collect();
    let screen = |snapshot: &Snapshot| TestConsole::on(snapshot.clone(), 120, 40).typed("W").screen();
    assert!(screen(&snapshot).contains("pulling for 20s"), "{}", screen(&snapshot));
    let image = ImageSummary { image: IMAGE.into(), bytes: None, fleet: Some(usual), sites: Vec::new() };
    snapshot.pulls = PullSummary { images: [image].into(), ..PullSummary::default() };
    assert!(screen(&snapshot).contains("pulling: 20s of est. 58s"), "{}", screen(&snapshot));
}

/// Whoever stops driving stops pre-warming too. The header offers the key once, beside the rollout, and says what stands.
#[test]
fn the_header_says_that_nobody_pre_warms() {
    let prewarm = prewarming(request(), Some(&PrewarmWait::NobodyDrives));
    let driven = Snapshot { prewarm: warm().prewarm, ..canary_done() };
    let left = Snapshot { driver: DriverView::Nobody, prewarm: prewarm.prewarm, nodes: prewarm.nodes, ..canary_done() };
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let header = |snapshot: &Snapshot| {
            let screen = TestConsole::on(snapshot.clone(), width, height).screen();
            screen.lines().take_while(|line| !line.starts_with('─')).collect::<Vec<_>>().join("\n")
        };
        assert!(!header(&driven).contains("nobody pre-warms"), "{}", header(&driven));
        assert_eq!(header(&left).matches("nobody pre-warms").count(), 1, "{}", header(&left));
    }
    // Whoever quits then is not asked again, so the shell is told.
    let farewell = |snapshot: Snapshot| farewell(&TestConsole::on(snapshot, 80, 24).model).join("\n");
    let told = farewell(left.clone());
    assert!(told.ends_with("; pre-warming stands at 12 of 120 nodes until somebody drives"), "{told}");
    let by_sets = prewarming(Prewarm { method: PrewarmMethod::StatefulSet, ..request() }, None).prewarm;
    let told = farewell(Snapshot { prewarm: by_sets, ..left });
    assert!(!told.contains("pre-warming"), "StatefulSets go on by themselves: {told}");
}
