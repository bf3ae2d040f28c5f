//! What stays in sight on small screens: what matters most is not cut, and no line is left empty.

use super::console::TestConsole;
use super::fixtures::{self, ago, running, target};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::command::Refusal;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{Blame, DownBy, NodeState, RestartsView, RunEnd};
use crate::engine::model::record::{Direction, Paused};
use crate::engine::model::settings::Setting;
use crate::engine::model::step_ahead::NoStep;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Counts, NodeView, Phase, PodRevision, Snapshot};
use crate::tui::message::{ConsoleEffect, Msg};
use crate::tui::model::Overlay;
use crate::tui::status::StatusSeverity;
use ratatui::layout::Size;

/// A rollout that halted, and that somebody paused besides.
fn halted_and_paused() -> Snapshot {
    let paused = Paused::new("ops@bastion-2.munich.factory.example/7f".into(), ago(60), None);
    Snapshot { paused: Some(paused), ..fixtures::halted() }
}

#[test]
fn what_a_rollout_that_halted_changes_is_not_cut() {
    for (width, said) in [
        (80, "adopted   ✗ HALTED 2m, paused"),
        (120, "adopted   ✗ HALTED 2m ago, paused by ops@bastion-2.munich.factory.example"),
    ] {
        let screen = TestConsole::on(halted_and_paused(), width, 24).screen();
        let line = screen.lines().nth(1).unwrap_or_default();
        assert!(line.starts_with(" v1.8.2 → v1.9.0   rev 14 → 15   step 2 of 4 "), "{line}");
        assert!(line.contains(said) && !line.contains('…'), "{line}");
        assert!(screen.contains("halted: 1 of 120 nodes failed (threshold 1): image not found on ipc-017"), "{screen}");
    }
    let screen = TestConsole::on(halted_and_paused(), 40, 12).screen();
    assert!(screen.contains("✗ HALTED 2m, paused 31/120 down 2/2\n"), "{screen}");
}

#[test]
fn what_the_chosen_limit_comes_to_is_not_cut_where_cells_are_few() {
    let console = TestConsole::on(running(), 40, 12).typed("A<enter>");
    let mut console = if console.model.armed_for().is_some() { console } else { console.typed("<enter>") };
    console.type_keys("L");
    let screen = console.screen();
    assert!(
        screen.contains("> max-unavailable      default ") && screen.contains("│   as the DaemonSet says: 2 "),
        "{screen}"
    );
    // Three of them at least, and how many there are.
    let settings = Setting::ALL.len();
    assert!(screen.contains(&format!("┌ Limits, 1 of {settings} ─")), "{screen}");
    assert!(screen.contains("  max-pulling          default") && screen.contains("  max-pulling-per-site"), "{screen}");
    console.type_keys("<down>");
    let screen = console.screen();
    assert!(screen.contains(&format!("┌ Limits, 2 of {settings} ─")), "{screen}");
    assert!(
        screen.contains("> max-pulling          default") && screen.contains("as many as may be down "),
        "{screen}"
    );
    // A value that is cut on the left says so.
    let label = |screen: &str| screen.lines().find(|line| line.contains("  site-label")).map(str::to_owned);
    let mut said = None;
    for _ in 0..settings {
        console.type_keys("<down>");
        said = said.or(label(&console.screen()));
    }
    assert!(said.as_ref().is_some_and(|line| line.contains(" …") && line.contains("io/zone")), "{said:?}");
}

#[test]
fn the_exit_code_of_a_container_that_restarts_is_not_cut() {
    let exit = Some(137);
    let restarted = Some(Box::new(RestartsView {
        times: 3,
        evictions: 0,
        end: exit.map(RunEnd::Exit),
        until: Timestamp::default(),
    }));
    let node = NodeView { restarted, pod_created_at: Some(ago(60)), ..target("ipc-018", NodeState::Soaking, 20) };
    let snapshot = Snapshot { nodes: [node].into(), ..running() };
    for (width, height, said) in
        [(40, 12, " exit 137, …"), (80, 24, "exit 137, 3 restarts in 1m "), (120, 40, "in 1m ")]
    {
        let screen = TestConsole::on(snapshot.clone(), width, height).screen();
        assert!(screen.contains(said), "{screen}");
    }
}

#[test]
fn the_roll_back_goes_before_the_step_while_something_fails() {
    let cause = Some(Box::new(Cause { kind: CauseKind::CrashLoop, container: None, message: None }));
    for (stopped, base) in [(false, running()), (true, fixtures::paused())] {
        let fails = NodeView { cause: cause.clone(), ..target("ipc-018", NodeState::Failed, 20) };
        let snapshot = Snapshot { nodes: [fails].into(), ..base };
        for (width, height) in [(40, 12), (60, 20), (80, 24), (120, 40), (200, 50)] {
            let screen = TestConsole::on(snapshot.clone(), width, height).typed("A").screen();
            let footer = screen.lines().last().unwrap_or_default();
            let (back, step) = (footer.find("U roll back"), footer.find("S step"));
            assert!(back.is_some() && back < step.or(Some(usize::MAX)), "{width}x{height}, {stopped}: {footer}");
            assert!(!stopped || footer.contains("C resume"), "{footer}");
        }
    }
}

#[test]
fn the_page_of_a_node_says_how_a_halt_is_ended() {
    for (width, height) in [(40, 12), (80, 24), (120, 40)] {
        let screen = TestConsole::on(fixtures::halted(), width, height).typed("A<enter>").screen();
        let footer = screen.lines().last().unwrap_or_default();
        assert!(footer.contains("C resume") && footer.contains("U roll back"), "{width}x{height}: {footer}");
    }
}

#[test]
fn the_key_that_stops_driving_says_so_before_it_is_armed() {
    let screen = TestConsole::on(running(), 200, 50).screen();
    assert!(screen.contains("D stop driving"), "{screen}");
}

#[test]
fn one_node_is_updated_and_two_are() {
    for (updated, words) in [(1, "1 of 120 nodes is updated already"), (2, "2 of 120 nodes are updated already")] {
        let base = running();
        let mut plan = base.plan.clone();
        plan.allowed = 0;
        let snapshot = Snapshot { counts: Counts { updated, ..base.counts }, plan, ..base };
        let screen = TestConsole::on(snapshot, 120, 40).typed("AS").screen();
        assert!(in_one_line(&screen).contains(words), "{screen}");
    }
}

#[test]
fn the_age_beside_nodes_that_restart_says_of_what_it_is() {
    let restarted = Some(Box::new(RestartsView {
        times: 2,
        evictions: 0,
        end: Some(RunEnd::Exit(1)),
        until: Timestamp::default(),
    }));
    let node = NodeView { restarted, cause: None, ..target("ipc-018", NodeState::Soaking, 20) };
    let screen = TestConsole::on(Snapshot { nodes: [node].into(), ..running() }, 80, 24).screen();
    assert!(screen.contains("1 restarted since update (ipc-018, soaking for 20s)"), "{screen}");
}

/// A record may cover several rollouts: what counts is the present one.
#[test]
fn the_end_of_a_rollout_is_counted_from_its_own_beginning() {
    for (direction, retargeted, words) in [
        (Direction::Back, None, "rolled back, 1m after the roll back began: 1 of 120 nodes is back at"),
        (Direction::Back, Some(60), "rolled back, 1m after the roll back began: 1 of 120 nodes is back at"),
        (Direction::Back, Some(20), "rolled back, 20s after the roll back began: 1 of 120 nodes is back at"),
        (Direction::Forward, Some(20), "the rollout is complete, 20s after it began: 1 of 120 nodes is updated"),
    ] {
        let (started_at, retargeted_at) = (Some(ago(60)), retargeted.map(ago));
        let before = Snapshot { started_at, retargeted_at, direction, ..running() };
        let mut after = Snapshot { phase: Phase::Complete, ..before.clone() };
        after.counts.updated = 1;
        let mut console = TestConsole::on(before, 120, 40);
        console.see(after);
        assert!(in_one_line(&console.screen()).contains(words), "{retargeted:?}: {}", console.screen());
    }
}

/// No node was updated yet: no snapshot shows that it leads back, to whoever looks on.
#[test]
fn a_roll_back_that_is_complete_at_once_is_not_told_as_a_complete_rollout() {
    let before = Snapshot { started_at: Some(ago(60)), ..running() };
    let handed_back = Snapshot { started_at: None, phase: Phase::Idle, adopted: false, from: None, ..before.clone() };
    for (to, words) in [
        (before.from.clone(), "rolled back, 1m after the rollout began: all 120 nodes are back at v1.8.2"),
        (before.to.clone(), "the rollout is complete, 1m after it began: all 120 nodes are updated"),
    ] {
        let mut after = Snapshot { to, ..handed_back.clone() };
        (after.counts.updated, after.counts.nodes) = (120, 120);
        let mut console = TestConsole::on(before.clone(), 120, 40);
        console.see(after);
        assert!(in_one_line(&console.screen()).contains(words), "{words}: {}", console.screen());
    }
}

/// Its update had begun: it has the pod of an earlier target.
#[test]
fn a_pod_of_an_earlier_target_is_none_that_was_untouched() {
    let cause = Some(Box::new(Cause { kind: CauseKind::CrashLoop, container: None, message: None }));
    let from = running().from.map(|from| from.hash);
    for (hash, words) in [
        (Some("of-an-earlier-target".into()), "by the rollout, when it led to another revision"),
        (from, "before its update began"),
    ] {
        let base = fixtures::node("ipc-018");
        let revision = hash.map(|hash| PodRevision { hash, number: Some(14) });
        let (state, blame, committed) = (NodeState::Outdated, Some(Blame::Rollout), false);
        let node = NodeView { state, blame, committed, revision, cause: cause.clone(), at_target: false, ..base };
        let console = TestConsole::on(Snapshot { nodes: [node].into(), ..running() }, 160, 50).typed("<enter>");
        assert!(in_one_line(&console.screen()).contains(words), "{words}: {}", console.screen());
    }
}

/// The header counts it, and the node says the same.
#[test]
fn a_node_whose_pod_somebody_took_away_says_so() {
    for (down_by, words) in [
        (None, "by the rollout: charged to the budget"),
        (Some(DownBy::Others), "by somebody else: charged to the budget"),
        (Some(DownBy::ControllerOrOthers), "by its controller or others: charged to the budget"),
        (Some(DownBy::Unrecorded), "not recorded by whom: charged to the budget"),
    ] {
        let node = NodeView { down_by, ..target("ipc-018", NodeState::Starting, 20) };
        let snapshot = Snapshot { nodes: [node].into(), ..running() };
        for keys in ["", "<enter>"] {
            let screen = TestConsole::on(snapshot.clone(), 200, 50).typed(keys).screen();
            assert!(in_one_line(&screen).contains(words), "{words}, {keys}: {screen}");
        }
    }
}

const REASON: &str = "the uplink of hall C is being replaced by the network team, back at 14:00";

/// All words of a screen, whatever line they are on.
pub(super) fn in_one_line(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn why_it_is_paused_is_told_in_full_before_the_keys() {
    let paused = Paused::new("ops@bastion-2/7f".into(), ago(180), Some(REASON.into()));
    let alone = Snapshot { phase: Phase::Paused(paused.clone()), paused: Some(paused.clone()), ..fixtures::paused() };
    let beside_a_halt = Snapshot { paused: Some(paused), ..fixtures::halted() };
    for size in [(40, 12), (60, 20), (80, 24), (120, 40), (200, 50)] {
        for (snapshot, keys) in [(&alone, "C resumes"), (&beside_a_halt, "C resumes pas")] {
            let screen = TestConsole::on(snapshot.clone(), size.0, size.1).screen();
            let words = in_one_line(&screen);
            assert!(words.contains("paused by ops"), "{size:?}:\n{screen}");
            assert!(words.contains(&in_one_line(REASON)) || size.0 == 40, "{size:?}:\n{screen}");
            assert!(words.contains("the uplink of hall C is being replaced by the net"), "{size:?}:\n{screen}");
            assert!(words.contains(keys), "{size:?}:\n{screen}");
        }
    }
    let lowest = TestConsole::on(alone, 40, 10).screen();
    assert!(lowest.contains(" paused by ops: the uplink of hall C i…"), "{lowest}");
}

#[test]
fn of_a_file_that_was_saved_the_name_is_in_sight() {
    let name = "edge-ipc-agent-20261121-120000.txt";
    let directory = "/home/operator/a-directory-with-a-long-name/another-one/state/rolldeck/saved";
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut console = TestConsole::on(running(), size.0, size.1);
        console.tell(Msg::Said(StatusSeverity::Plain, format!("saved {directory}/{name}, .json, .html")));
        let screen = console.screen();
        assert!(screen.contains(name), "{size:?}:\n{screen}");
    }
}

#[test]
fn a_dialog_on_a_small_screen_has_no_empty_line_and_cuts_nothing() {
    for keys in ["AI", "AP", "AD", "Aq", "AR"] {
        let console = TestConsole::on(running(), 40, 12).typed(keys);
        assert!(matches!(console.model.overlay, Overlay::Dialog(_)), "{keys}");
        let screen = console.answered(fixtures::preview(crate::engine::model::danger::Danger::Bounded)).screen();
        let inside = |line: &&str| line.starts_with('│') && line.trim_matches(['│', ' ']).is_empty();
        assert_eq!(screen.lines().filter(inside).count(), 0, "{keys}:\n{screen}");
    }
    let screen = TestConsole::on(running(), 40, 12).typed("AI").screen();
    assert!(screen.contains("│   on drift report "), "{screen}");
    let screen = TestConsole::on(running(), 40, 12).typed("AI<down>").screen();
    assert!(screen.contains("│ > on drift report   "), "{screen}");
}

/// What it leads to stays in sight while it stands still, and why it does has a line of its own, with the key that tells all of it.
#[test]
fn a_rollout_that_stands_still_says_where_it_leads_and_why() {
    let lines = |snapshot: Snapshot, height: u16| {
        let screen = TestConsole::on(snapshot, 40, height).screen();
        screen.lines().skip(1).take(3).map(str::to_owned).collect::<Vec<_>>()
    };
    let done = lines(fixtures::canary_done(), 12);
    assert_eq!(done[0].trim_end(), " · held 3/120 down 0/2 v1.8.2 → v1.9.0");
    assert_eq!(done[1].trim_end(), " canary done, 3 of 3 (canary=true)");
    assert!(done[2].starts_with(" A arms: N lifts the selector"), "{done:?}");
    let mut long = fixtures::canary_done();
    if let Some(Err(NoStep::SelectionDone(done))) = &mut long.plan.next {
        done.selector = "topology.kubernetes.io/zone=munich".parse().unwrap();
    }
    let long = lines(long, 12);
    assert!(long[0].ends_with("v1.8.2 → v1.9.0") && long[1].ends_with("…   i: all"), "{long:?}");
    assert_eq!(long[1].chars().count(), 40, "{long:?}");
    let node = TestConsole::on(fixtures::canary_done(), 40, 12).typed("<enter>").screen();
    assert!(node.lines().nth(1).is_some_and(|line| line.ends_with("v1.8.2 → v1.9.0")), "{node}");
    let low = lines(fixtures::canary_done(), 11);
    assert!(low[0].contains("canary"), "no row to spare: {low:?}");
}

#[test]
fn what_a_rollout_waits_for_is_told_in_full_where_one_asks_what_is_wrong() {
    let words = |width, height| {
        let screen = TestConsole::on(fixtures::canary_done(), width, height).typed("i").screen();
        // Below the title, above the keys.
        let below = screen.lines().skip_while(|line| !line.contains("What it waits for")).skip(1);
        let inside = below.take_while(|line| !line.contains('└') && !line.contains("P pause"));
        inside.map(|line| line.trim_matches(['│', ' '])).flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
    };
    let (small, wide) = (words(40, 24), words(120, 40));
    assert_eq!(small, wide);
    assert!(small.contains("A arms: N lifts the selector, which frees 9 nodes"), "{small}");
}

/// What halted it is told once, and what it rolls out beside it.
#[test]
fn of_a_halt_no_line_is_wasted() {
    let screen = TestConsole::on(fixtures::halted(), 40, 12).screen();
    let lines: Vec<&str> = screen.lines().collect();
    assert!(
        lines[1].starts_with(" ✗ HALTED 2m 31/120 down 2/2 → v1.9.0")
            && lines[2].starts_with(" ! 1 of 120 nodes failed"),
        "{screen}"
    );
}

#[test]
fn pods_that_soak_are_said_to_count_as_down() {
    let console = || TestConsole::on(running(), 80, 24);
    let page = console().typed("/ipc-019<enter><enter>").screen();
    assert!(page.contains("Budget     charged until its pod has soaked"), "{page}");
    let diagnosis = TestConsole::on(running(), 120, 40).typed("i").screen();
    assert!(diagnosis.contains("ready, and counted as down until it has soaked"), "{diagnosis}");
    assert!(diagnosis.contains("(esc closes, other keys work)"), "{diagnosis}");
}

#[test]
fn what_the_filter_hides_of_nodes_that_need_a_look_is_said() {
    for (size, said) in [
        ((40, 12), "\n hidden: 2 in trouble, 1 down · filter …\n"),
        ((80, 24), "1 of 120 pass · hidden: 2 in trouble, 1 down · filter ipc-018 "),
        ((120, 40), "1 of 120 pass · hidden: 2 in trouble, 1 down · filter ipc-018 (esc"),
    ] {
        let mut console = TestConsole::on(running(), size.0, size.1).typed("/ipc-018<enter>");
        console.model.status = None;
        let screen = console.screen();
        assert!(screen.contains(said), "{size:?}:\n{screen}");
        let screen = console.typed("<esc>").screen();
        assert!(!screen.contains("hidden:"), "{size:?}:\n{screen}");
    }
    let screen = TestConsole::on(running(), 80, 24).typed("/ipc-0<enter>").screen();
    assert!(!screen.contains("hidden:"), "{screen}");
}

#[test]
fn nodes_that_went_down_by_themselves_are_named_above_the_list() {
    let said = "○ 1 down by itself (ipc-044, 2d)";
    for size in [(120, 40), (200, 50)] {
        let screen = TestConsole::on(running(), size.0, size.1).screen();
        assert!(screen.contains(&format!("(ipc-031, 1m)   {said}\n")), "{size:?}:\n{screen}");
    }
    // Where nothing else is wrong, on a line of its own; not where that would be a second one.
    let screen = TestConsole::on(running(), 80, 24).screen();
    assert!(!screen.contains("by itself (ipc"), "{screen}");
    let nodes = running().nodes.iter().filter(|node| &*node.name == "ipc-044").cloned().collect();
    let screen = TestConsole::on(Snapshot { nodes, ..running() }, 80, 24).screen();
    assert!(screen.contains(&format!("\n {said}\n")), "{screen}");
}

#[test]
fn what_a_dialog_refuses_is_seen_in_it_where_it_covers_the_line_for_that() {
    let image = "<backspace>".repeat(60);
    for (size, said) in
        [((40, 12), "nothing is done: something is"), ((80, 16), "nothing is done: something is missing")]
    {
        let console = TestConsole::on(running(), size.0, size.1).typed(&format!("AI{image}<enter>"));
        let screen = console.screen();
        let inside = screen.lines().filter(|line| line.contains('│')).collect::<Vec<_>>().join("\n");
        assert!(inside.contains(said) && inside.contains("> agent"), "{size:?}:\n{screen}");
        assert_eq!(screen.matches("nothing is done").count(), 1, "{size:?}:\n{screen}");
    }
}

#[test]
fn a_log_has_the_lines_of_a_small_screen() {
    let lines = |snapshot: Snapshot| {
        let screen = TestConsole::on(snapshot, 40, 12).typed("l").screen();
        let tabs = screen.lines().position(|line| line.contains("[2 log]")).unwrap_or_default();
        (tabs, screen)
    };
    for snapshot in [running(), halted_and_paused()] {
        // Two lines that say whether it is safe, the tabs, and the keys below: the rest is the log's.
        let (tabs, screen) = lines(snapshot);
        assert_eq!(tabs, 2, "{screen}");
        assert!(!screen.contains("prod-eu/edge"), "{screen}");
    }
}

#[test]
fn what_is_read_over_a_page_leaves_the_keys_in_sight_and_needs_no_frame_on_small_screens() {
    for size in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        for keys in ["i", "w", "?", "T<enter>"] {
            let screen = TestConsole::on(halted_and_paused(), size.0, size.1).typed(keys).screen();
            let last = screen.lines().last().unwrap_or_default();
            assert!(last.contains("? help"), "{size:?} {keys}:\n{screen}");
            assert_eq!(screen.contains('│'), size.0 > 40, "{size:?} {keys}:\n{screen}");
        }
    }
}

#[test]
fn the_timeline_has_one_name_at_all_widths() {
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let screen = TestConsole::on(running(), width, height).screen();
        let last = screen.lines().last().unwrap_or_default();
        assert!(last.contains("T timeline"), "{width}: {last}");
    }
}

#[test]
fn the_pause_is_in_the_last_line_of_every_page_of_a_rollout() {
    for size in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        for keys in ["", "l", "<enter>", "m", "T", "v", "W"] {
            let console = TestConsole::on(running(), size.0, size.1).typed(keys);
            let screen = console.screen();
            assert!(screen.lines().last().unwrap_or_default().contains("P pause"), "{size:?} {keys}:\n{screen}");
            assert!(matches!(console.typed("P").model.overlay, Overlay::Dialog(_)), "{size:?} {keys}");
        }
    }
}

/// What is cut in the row is told below the list, and what is cut there too has a key.
#[test]
fn why_a_node_is_where_it_is_can_be_read_to_its_end() {
    let last_rule = |console: &TestConsole| console.screen().lines().rev().nth(1).unwrap_or_default().to_owned();
    let long = Hold::DeletionRefused { why: "admission webhook \"pods.example\" denied it".into() };
    let longest = Hold::DeletionRefused { why: "denied ".repeat(20).into() };
    let with = |hold: Hold| Snapshot { nodes: [fixtures::held("ipc-020", hold)].into(), ..running() };
    let console = TestConsole::on(with(long), 80, 24).typed("j");
    let whole = "── deletion refused: admission webhook \"pods.example\" denied it ";
    assert!(last_rule(&console).starts_with(whole), "{}", console.screen());
    let console = TestConsole::on(with(longest), 80, 24).typed("j");
    assert!(last_rule(&console).ends_with("… (enter: all) ───"), "{}", console.screen());
    // What is in the row is not said twice, nor while another screen is open.
    let console = TestConsole::on(with(Hold::Next), 80, 24).typed("j");
    assert!(!last_rule(&console).contains("next"), "{}", console.screen());
    // Where lines are short, why it halts goes before at how many.
    let screen = TestConsole::on(fixtures::halted(), 40, 12).screen();
    assert!(screen.contains("! 1 of 120 nodes failed: image not f"), "{screen}");
}

/// Nothing of what is refused is shown as if it came.
#[test]
fn images_that_are_refused_are_said_to_be_refused() {
    let mut console = TestConsole::on(running(), 80, 24).typed("AI-missing");
    let asked = |console: &TestConsole| console.screen();
    assert!(asked(&console).contains("v1.9.0 → v1.9.0-missing"), "{}", asked(&console));
    assert!(!asked(&console).contains("refused"), "{}", asked(&console));
    let why = Refusal::NotNow("admission denied it".to_owned());
    console.tell(Msg::Previewed(console.model.serial, Err(why.into())));
    assert!(asked(&console).contains("refused: v1.9.0 → v1.9.0-missing"), "{}", asked(&console));
    assert!(asked(&console).contains("It would be refused: admission denied it"), "{}", asked(&console));
}

/// Where the terminal is too small for a form or a preview, no key writes, and `q` quits as the sentence says.
#[test]
fn without_room_no_key_does_what_cannot_be_seen() {
    for (width, height) in [(39, 12), (60, 9), (36, 9)] {
        let mut console = TestConsole::on(running(), 80, 24).typed("P");
        assert!(matches!(console.model.overlay, Overlay::Dialog(_)));
        console.tell(Msg::Resize(Size::new(width, height)));
        console.type_keys("<enter>y<tab><enter>SI");
        assert!(!console.effects.iter().any(|effect| matches!(effect, ConsoleEffect::Do { .. })), "{width}x{height}");
        console.tell(Msg::Resize(Size::new(80, 24)));
        assert!(matches!(console.model.overlay, Overlay::Dialog(_)), "it waits until there is room");
        console.tell(Msg::Resize(Size::new(width, height)));
        let quits =
            |console: &TestConsole| console.effects.iter().any(|effect| matches!(effect, ConsoleEffect::Quit(_)));
        console.type_keys("q");
        assert!(!quits(&console) && console.screen().contains("q again quits"), "{}", console.screen());
        console.type_keys("q");
        assert!(quits(&console));
        let mut idle = TestConsole::on(fixtures::observed(), width, height);
        idle.type_keys("/q");
        assert!(quits(&idle));
    }
}
