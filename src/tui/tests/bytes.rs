//! What a frame costs on the wire.

use std::time::Duration;

use super::console::{TestConsole, text_of};
use super::fixtures::{failed, held, idle, running, target, updated};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{NodeState, RestartsView, RunEnd};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Counts, NodeView, Snapshot};
use crate::tui::message::Msg;
use crate::tui::terminal::Screen;
use crate::tui::view;

/// Shows the console as it is. Tells how many bytes that took.
fn show(screen: &mut Screen<Vec<u8>>, console: &TestConsole) -> usize {
    let (frame, drawn) = view::draw(&console.model);
    screen.show(frame, drawn.cursor).unwrap()
}

#[test]
fn idle_costs_nothing() {
    let mut screen = Screen::new(Vec::new());
    let mut console = TestConsole::on(idle(), 120, 40);
    show(&mut screen, &console);
    for _ in 0..20 {
        console.now += Duration::from_millis(500);
        console.tell(Msg::Tick);
        assert_eq!(show(&mut screen, &console), 0);
    }
}

/// A bookmark a minute on each watch moves nothing on the screen.
#[test]
fn that_a_watch_is_alive_costs_nothing() {
    let mut screen = Screen::new(Vec::new());
    let mut console = TestConsole::on(idle(), 120, 40);
    show(&mut screen, &console);
    for _ in 0..6 {
        let mut snapshot = idle();
        snapshot.watches.iter_mut().for_each(|watch| watch.heard_at = Some(snapshot.at));
        console.see(snapshot);
        assert_eq!(show(&mut screen, &console), 0);
    }
}

#[test]
fn one_pod_that_changes_costs_at_most_200_bytes() {
    let mut screen = Screen::new(Vec::new());
    screen.set_synchronized(2);
    let mut console = TestConsole::on(running(), 120, 40);
    show(&mut screen, &console);
    let before = running();
    let changed = before.nodes.iter().map(|node| match &*node.name {
        "ipc-018" => target("ipc-018", NodeState::Starting, 0),
        _ => node.clone(),
    });
    console.see(Snapshot { nodes: changed.collect::<Vec<_>>().into(), ..before });
    let cost = show(&mut screen, &console);
    assert!((1..=200).contains(&cost), "{cost} bytes");
}

/// Pods that were made together are equally old: all of a screen's ages change at once. With what changes of one pod meanwhile that is no
/// more than 200 bytes.
#[test]
fn a_minute_that_passes_for_all_rows_costs_at_most_200_bytes_with_a_pod_that_changes() {
    for minutes in [1, 9, 10, 58] {
        let nodes: Vec<_> = (0..3_000).map(|number| updated(&format!("ipc-{number:05}"), 60 * minutes)).collect();
        let mut screen = Screen::new(Vec::new());
        let mut console = TestConsole::on(Snapshot { nodes: nodes.clone().into(), ..idle() }, 120, 40);
        show(&mut screen, &console);
        let changed =
            nodes.iter().enumerate().map(|(nth, node)| NodeView { restarts: u32::from(nth == 0), ..node.clone() });
        console.see(Snapshot { nodes: changed.collect(), ..idle() });
        let pod = show(&mut screen, &console);
        console.wait(60);
        let ages = show(&mut screen, &console);
        println!("after {minutes}m: {pod} bytes for the pod, {ages} for the ages");
        assert!(pod > 0 && ages > 60 && pod + ages <= 200, "after {minutes}m: {pod} and {ages} bytes");
    }
}

/// The first pod that restarts makes a line above the map, which moves all of it: the terminal moves its rows, and what a row more costs is no
/// matter of how much the map shows: at most 200 bytes. Where the cursor is on its node, the pane beside the map tells of it, too, and nothing in the
/// pane moves for that. The line that goes again costs no more.
#[test]
fn a_line_more_above_the_map_does_not_write_the_map_again() {
    let nodes: Vec<_> = (0..3_000)
        .map(|number| {
            let site = format!("site-{:02}", number / 150);
            NodeView { site: site.as_str().into(), ..updated(&format!("ipc-{number:05}"), 900) }
        })
        .collect();
    for (width, height, number, most) in [(120, 40, 0, 200), (200, 50, 0, 270), (200, 50, 2_856, 200)] {
        let mut watched = nodes.clone();
        let it = &mut watched[number];
        *it = NodeView {
            restarted: Some(Box::new(RestartsView {
                times: 1,
                evictions: 0,
                end: Some(RunEnd::Exit(1)),
                until: Timestamp::default(),
            })),
            restarts: 1,
            site: it.site.clone(),
            ..target(&it.name, NodeState::Soaking, 0)
        };
        let mut screen = Screen::new(Vec::new());
        let mut terminal = vt100::Parser::new(height, width, 0);
        screen.set_synchronized(2);
        let counts = Counts { updated: 3_000, nodes: 3_000, available: 3_000, ..idle().counts };
        let mut console =
            TestConsole::on(Snapshot { nodes: nodes.clone().into(), counts, ..idle() }, width, height).typed("m");
        show(&mut screen, &console);
        terminal.process(&screen.take_written());
        for (nodes, lines) in [(&watched, 1), (&nodes, 0)] {
            console.see(Snapshot { nodes: nodes.clone().into(), counts, ..idle() });
            let cost = show(&mut screen, &console);
            let written = screen.take_written();
            println!("{width}x{height}: {cost} bytes: {:?}", String::from_utf8_lossy(&written));
            terminal.process(&written);
            let rows: Vec<String> = terminal.screen().rows(0, width).map(|row| row.trim_end().to_owned()).collect();
            assert_eq!(rows.join("\n"), console.screen().trim_end_matches('\n'));
            assert_eq!(console.screen().matches("1 restarted").count(), lines, "{}", console.screen());
            assert!(cost <= most, "{width}x{height}: {cost} bytes");
        }
    }
}

/// The first node that fails makes a line above the map. Map and pane move as one, so that written is only what was nowhere on the screen before: at most
/// 200 bytes. If the cursor is on this node, the pane tells of the failure, too, but not again what it told of the node already.
#[test]
fn the_first_node_that_fails_with_the_map_open_writes_what_is_new() {
    let node = |number: u32| {
        let site = format!("site-{:02}", number / 100);
        NodeView { site: site.as_str().into(), restarts: 2, ..updated(&format!("ipc-{number:05}"), 180) }
    };
    let nodes: Vec<_> = (0..15_000).map(node).collect();
    let counts = Counts { updated: 15_000, nodes: 15_000, available: 15_000, ..idle().counts };
    for (number, most) in [(0, 200), (2_856, 140)] {
        let mut troubled = nodes.clone();
        let it = &mut troubled[number];
        // Its pod serves meanwhile: nothing is down.
        *it = NodeView {
            site: it.site.clone(),
            restarts: 3,
            image: it.image,
            blame: None,
            ..failed(&it.name, CauseKind::CrashLoop, "3 restarts (max 2)", 180)
        };
        let alarm = format!("1 crash loop ({}", it.name);
        for (width, height) in [(200, 50), (200, 51)] {
            let mut screen = Screen::new(Vec::new());
            screen.set_synchronized(2);
            let snapshot = |nodes: &[NodeView]| Snapshot { nodes: nodes.to_vec().into(), counts, ..idle() };
            let mut console = TestConsole::on(snapshot(&nodes), width, height).typed("m");
            show(&mut screen, &console);
            screen.take_written();
            console.see(snapshot(&troubled));
            let cost = show(&mut screen, &console);
            let written = screen.take_written();
            println!("{alarm}) at {width}x{height}: {cost} bytes: {:?}", String::from_utf8_lossy(&written));
            assert!(console.screen().contains(&alarm), "{}", console.screen());
            assert!(cost <= most, "{alarm}) at {width}x{height}: {cost} bytes");
        }
    }
}

/// A node of 15,000 goes through its update, with the list alone, with the map beside it, and on the map: each change of its state
/// costs at most 200 bytes, its update too.
#[test]
fn one_of_fifteen_thousand_nodes_costs_little_with_the_map_open() {
    let nodes: Vec<_> = (0..15_000)
        .map(|number| {
            let site = format!("site-{:02}", number / 750);
            let name = format!("ipc-{number:05}");
            let node = match number {
                // Some are updated from the start, so that there is a group of them.
                14_990.. => updated(&name, 900),
                _ => held(&name, Hold::Partition { keep: 15_000 }),
            };
            NodeView { site: site.as_str().into(), ..node }
        })
        .collect();
    for (width, height, keys) in [(80, 24, ""), (120, 40, ""), (200, 50, ""), (120, 40, "m"), (200, 50, "m")] {
        let mut screen = Screen::new(Vec::new());
        screen.set_synchronized(2);
        let mut console =
            TestConsole::on(Snapshot { nodes: nodes.clone().into(), ..running() }, width, height).typed(keys);
        show(&mut screen, &console);
        let mut costs = Vec::new();
        let mut all = nodes.clone();
        let mut go = |number: usize, view: NodeView, updated: u32| {
            let site = all[number].site.clone();
            all.remove(number);
            all.insert(if view.state == NodeState::Updated { all.len() } else { 0 }, NodeView { site, ..view });
            let counts = Counts { updated, nodes: 15_000, ..running().counts };
            console.see(Snapshot { nodes: all.clone().into(), counts, ..running() });
            show(&mut screen, &console)
        };
        // The first two make the pinned part; what comes after them is what a rollout costs from one node to the next.
        go(8_000, target("ipc-08000", NodeState::Terminating, 0), 31);
        go(7_001, target("ipc-07000", NodeState::Pulling, 0), 31);
        costs.push(go(0, target("ipc-07000", NodeState::Starting, 0), 31));
        costs.push(go(0, target("ipc-07000", NodeState::Soaking, 0), 31));
        costs.push(go(0, updated("ipc-07000", 0), 32));
        costs.push(go(0, target("ipc-08000", NodeState::Pulling, 0), 32));
        costs.push(go(0, target("ipc-08000", NodeState::Starting, 0), 32));
        // Five seconds after its update it goes to the others, and the next one is the current row.
        console.now += Duration::from_secs(5);
        console.tell(Msg::Tick);
        let next = show(&mut screen, &console);
        println!("{width}x{height} {keys:?}: {costs:?} bytes, then {next}");
        assert!(costs.iter().all(|cost| *cost <= 200), "{width}x{height} {keys:?}: {costs:?}");
        // The side pane tells of another node then.
        assert!(next <= 350, "{width}x{height} {keys:?}: {next}");
    }
}

/// How often the console at 120x40 draws within a minute in which nothing happens, and the bytes that this takes.
fn drawn_in_a_minute(snapshot: Snapshot) -> (u32, usize) {
    let mut screen = Screen::new(Vec::new());
    let mut console = TestConsole::on(snapshot, 120, 40);
    show(&mut screen, &console);
    let (mut frames, mut cost) = (0, 0);
    for _ in 0..60 {
        console.wait(1);
        let bytes = show(&mut screen, &console);
        frames += u32::from(bytes > 0);
        cost += bytes;
    }
    println!("{frames} frames and {cost} bytes in a minute");
    (frames, cost)
}

#[test]
fn time_alone_redraws_seldom_and_little() {
    let (frames, cost) = drawn_in_a_minute(running());
    assert!(frames <= 60, "{frames} frames in a minute");
    assert!(cost <= 1_500, "{cost} bytes in a minute");
}

/// Ages of seconds change at every second, longer ones seldom.
#[test]
fn an_hour_old_rollout_on_which_nothing_moves_is_drawn_a_few_times_in_a_minute() {
    let old =
        |node: &NodeView| NodeView { since: node.since.map(|at| at - Duration::from_secs(3_600)), ..node.clone() };
    let snapshot = running();
    let still = |node: &&NodeView| matches!(node.state, NodeState::Updated | NodeState::Outdated | NodeState::Failed);
    let nodes: Vec<NodeView> = snapshot.nodes.iter().filter(still).map(old).collect();
    let (frames, cost) = drawn_in_a_minute(Snapshot { nodes: nodes.into(), ..snapshot });
    assert!(frames <= 12, "{frames} frames in a minute");
    assert!(cost <= 600, "{cost} bytes in a minute");
}

#[test]
fn what_was_noted_as_the_next_change_is_the_next_change() {
    let mut console = TestConsole::on(running(), 120, 40).typed("A");
    for _ in 0..40 {
        let (before, drawn) = view::draw(&console.model);
        let wake = drawn.wake.expect("a rollout that runs shows the time");
        console.now = wake - Duration::from_millis(1);
        console.tell(Msg::Tick);
        assert_eq!(text_of(&before), console.screen(), "it changed before it said it would");
        console.now = wake;
        console.tell(Msg::Tick);
    }
}

#[test]
fn a_terminal_shows_what_was_drawn_whatever_was_typed() {
    let mut screen = Screen::new(Vec::new());
    let mut terminal = vt100::Parser::new(24, 80, 0);
    let mut console = TestConsole::on(running(), 80, 24);
    for key in
        ["", "j", "j", "s", "A", "S", "<esc>", "/fail", "<esc>", "?", "<esc>", "<end>", "t", "t", ":", "x", "<esc>"]
    {
        console.type_keys(key);
        show(&mut screen, &console);
        terminal.process(&screen.take_written());
        let rows: Vec<String> = terminal.screen().rows(0, 80).map(|row| row.trim_end().to_owned()).collect();
        assert_eq!(rows.join("\n"), console.screen().trim_end_matches('\n'), "after {key}");
    }
}

#[test]
fn fifteen_thousand_nodes_are_drawn_as_fast_as_a_screenful() {
    let nodes: Vec<_> =
        (0..15_000).map(|number| target(&format!("node-{number:05}"), NodeState::Updated, 900)).collect();
    let mut console = TestConsole::on(Snapshot { nodes: nodes.into(), ..running() }, 120, 40);
    console.type_keys("<end>");
    assert!(console.screen().contains("node-14999"));
    assert!(console.screen().contains("of 15000"));
}

/// `cargo test --lib --release what_a_frame_costs -- --ignored --nocapture`
#[test]
#[ignore = "prints figures"]
fn what_a_frame_costs() {
    for nodes in [5_000, 15_000] {
        let fleet: Vec<_> = (0..nodes).map(|nth| target(&format!("ipc-{nth:05}"), NodeState::Updated, nth)).collect();
        let mut screen = Screen::new(Vec::new());
        let mut console = TestConsole::on(Snapshot { nodes: fleet.into(), ..running() }, 120, 40);
        show(&mut screen, &console);
        let began = std::time::Instant::now();
        let frames = 200;
        for nth in 0..frames {
            console.type_keys(if nth % 2 == 0 { "j" } else { "k" });
            show(&mut screen, &console);
        }
        println!("{nodes:>6} nodes, 120x40: {:?} from key to frame (budget 16 ms)", began.elapsed() / frames);
    }
}
