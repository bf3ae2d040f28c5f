//! How rows look, and how wide their columns are.

use std::collections::BTreeSet;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::console::TestConsole;
use super::fixtures::{self, ago, failed, held, node, noon, running};
use crate::driver::Fleet;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::event::WatchHealth;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{Blame, CrashLoopView, NodeState};
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::message::Msg;
use crate::tui::theme::{Depth, Theme, ThemeRole, Themes};

const THEMES: [&str; 7] = ["default", "mono", "high-contrast", "deuteranopia", "tritanopia", "light", "dark"];

type Look = (Color, Color, Modifier);

fn look(cell: &Cell) -> Look {
    (cell.fg, cell.bg, cell.modifier)
}

/// How a word in this role looks.
fn role(theme: &Theme, role: ThemeRole) -> Look {
    let mut cell = Cell::default();
    cell.set_style(theme.style(ThemeRole::Text));
    cell.set_style(theme.style(role));
    look(&cell)
}

/// The cells of the first row that has these words, as far as the list goes.
fn row<'b>(frame: &'b Buffer, words: &str, cells: usize) -> &'b [Cell] {
    let width = usize::from(frame.area.width);
    let says = |row: &&[Cell]| row.iter().map(Cell::symbol).collect::<String>().contains(words);
    let row = frame.content().chunks(width).find(says);
    &row.unwrap_or_else(|| panic!("no row with `{words}`"))[..cells]
}

/// The looks of all that is not blank.
fn looks(cells: &[Cell]) -> BTreeSet<String> {
    cells.iter().filter(|cell| cell.symbol() != " ").map(|cell| format!("{:?}", look(cell))).collect()
}

/// The backgrounds that a terminal may tell, and none.
const BACKGROUNDS: [Option<[u8; 3]>; 3] = [None, Some([0x1e; 3]), Some([255; 3])];

fn every_theme() -> impl Iterator<Item = (&'static str, Option<[u8; 3]>)> {
    THEMES.into_iter().flat_map(|name| BACKGROUNDS.map(|background| (name, background)))
}

/// The console on a terminal with 256 colours and this background.
fn in_theme(mut console: TestConsole, name: &str, background: Option<[u8; 3]>) -> TestConsole {
    console.model.themes = Themes::load(None, Depth::Indexed).0;
    console.model.themes.choose(name).unwrap();
    if let Some(colour) = background {
        console.tell(Msg::Background(colour));
    }
    console
}

/// Where a terminal does not say what its background is, words stay in its own foreground; signs and bars have colours everywhere.
#[test]
fn words_are_coloured_only_where_the_background_is_known() {
    for (name, background, coloured) in [
        ("default", None, false),
        ("deuteranopia", None, false),
        ("default", Some([0x1e; 3]), true),
        ("default", Some([255; 3]), true),
        ("light", None, true),
        ("dark", None, true),
    ] {
        let frame = in_theme(TestConsole::on(running(), 120, 40), name, background).frame();
        let failed: BTreeSet<String> =
            row(&frame, "! ipc-031 suspect", 120)[3..20].iter().map(|cell| format!("{:?}", cell.fg)).collect();
        let plain = BTreeSet::from([format!("{:?}", Color::Reset)]);
        assert_eq!(failed != plain, coloured, "{name} {background:?}: {failed:?}");
        let sign = row(&frame, "! ipc-031 suspect", 120)[1].fg;
        assert_ne!(sign, Color::Reset, "{name} {background:?}");
        let bar = row(&frame, "31 of 120 updated", 120).iter().find(|cell| cell.symbol() == "■").map(|cell| cell.fg);
        assert_ne!(bar, Some(Color::Reset), "{name} {background:?}");
    }
    // The 16 colours are the terminal's own: nothing is known of them, whatever the background.
    let mut console = TestConsole::on(running(), 120, 40);
    console.tell(Msg::Background([0; 3]));
    let frame = console.frame();
    assert!(row(&frame, "! ipc-031 suspect", 120)[3..20].iter().all(|cell| cell.fg == Color::Reset));
    // A theme with a background of its own has it everywhere.
    let frame = in_theme(TestConsole::on(running(), 120, 40).typed("AS"), "high-contrast", None).frame();
    assert!(frame.content().iter().all(|cell| cell.bg == Color::Indexed(16)));
}

#[test]
fn a_row_that_waits_is_quiet_as_a_whole() {
    for (name, background) in every_theme() {
        let console = in_theme(TestConsole::on(running(), 120, 40), name, background);
        let frame = console.frame();
        let held = row(&frame, "ipc-021 outdated", 120);
        let quiet = format!("{:?}", role(console.model.theme(), ThemeRole::Held));
        assert_eq!(looks(held), BTreeSet::from([quiet]), "{name}");
    }
    let frame = TestConsole::on(running(), 120, 40).frame();
    assert!(looks(row(&frame, "ipc-018 pulling", 120)).len() > 1, "what moves is not quiet");
}

#[test]
fn the_selected_row_is_one_bar() {
    for (name, background) in every_theme() {
        for (keys, words) in [("", "ipc-017 failed"), ("j", "ipc-031 suspect"), ("jjjjjj", "ipc-020 outdated")] {
            let console = in_theme(TestConsole::on(running(), 120, 40).typed(keys), name, background);
            let frame = console.frame();
            let bar = row(&frame, words, 120);
            let one: BTreeSet<String> = bar.iter().map(|cell| format!("{:?}", look(cell))).collect();
            assert_eq!(
                one,
                BTreeSet::from([format!("{:?}", role(console.model.theme(), ThemeRole::Selection))]),
                "{name} {words}"
            );
        }
    }
}

#[test]
fn rows_that_are_not_seen_any_more_are_grey() {
    for (snapshot, grey) in [(fixtures::stale(), true), (fixtures::lagging(), true), (running(), false)] {
        let console = TestConsole::on(snapshot, 120, 40).typed("jj");
        let frame = console.frame();
        let muted = BTreeSet::from([format!("{:?}", role(console.model.theme(), ThemeRole::Muted))]);
        for words in ["ipc-017 failed", "ipc-031 suspect", "updated: 31 nodes"] {
            assert_eq!(looks(row(&frame, words, 120)) == muted, grey, "{words}");
        }
    }
    let fleet = |health| {
        let mut console = TestConsole::on_fleet(120, 40);
        console.tell(Msg::Fleet(Fleet { health, ..fixtures::fleet() }.into()));
        console
    };
    let down = WatchHealth::Down { since: fixtures::ago(35), why: "connection refused".into() };
    for (health, grey) in [(down, true), (WatchHealth::Live, false)] {
        let console = fleet(health);
        let muted = BTreeSet::from([format!("{:?}", role(console.model.theme(), ThemeRole::Muted))]);
        assert_eq!(looks(row(&console.frame(), "node-exporter", 120)) == muted, grey);
    }
}

/// Where WHY begins, and where the column after it.
fn columns(screen: &str) -> [usize; 2] {
    let head = screen.lines().find(|line| line.contains(" NODE ")).expect("the heads of the columns");
    let why = head.find("WHY").expect("WHY");
    let blank = head[why + 3..].find(|c: char| c != ' ').expect("another column");
    [why, why + 3 + blank]
}

#[test]
fn why_has_room_for_what_there_is_to_say_and_wide_screens_show_more() {
    for (width, height) in [(120, 40), (139, 40), (140, 40), (170, 50), (200, 50), (300, 60)] {
        let screen = TestConsole::on(running(), width, height).screen();
        let [why, next] = columns(&screen);
        assert!((40..=52).contains(&(next - why)), "{} cells at {width}:\n{screen}", next - why);
        let full = screen.contains(" ipc-agent-017 ");
        assert!(full || (120..=170).contains(&width), "the pod's whole name at {width}:\n{screen}");
    }
    let side = |width| {
        let screen = TestConsole::on(running(), width, 50).screen();
        let head = screen.lines().find(|line| line.contains(" NODE ")).expect("the heads of the columns");
        usize::from(width) - head.chars().position(|c| c == '│').expect("a side pane")
    };
    assert!(side(200) > 70, "{} cells", side(200));
    assert!(side(300) > 170, "{} cells", side(300));
}

/// A node that says more than fits moves no column: the end is cut off, and the pane of the node has it.
#[test]
fn a_long_reason_moves_no_column() {
    let message = "Back-off pulling image: failed to resolve reference, and more that a registry says about it";
    let mut long = running();
    let mut nodes = long.nodes.to_vec();
    nodes[4] = held("ipc-020", Hold::DeletionRefused { why: message.into() });
    long.nodes = nodes.into();
    for (width, height) in [(80, 24), (120, 40), (200, 50), (300, 60)] {
        let mut console = TestConsole::on(running(), width, height);
        let before = columns(&console.screen());
        console.see(long.clone());
        assert_eq!(columns(&console.screen()), before);
    }
    let pane = TestConsole::on(long, 300, 60).typed("/ipc-020<enter>").screen();
    assert!(pane.contains(message), "{pane}");
}

/// A container that crashes is `starting` for a few seconds each time: row, page and header tell since when the node is in this trouble.
#[test]
fn trouble_that_has_not_failed_yet_has_one_age_everywhere() {
    let kind = CauseKind::CrashLoop;
    let troubled = NodeView {
        state: NodeState::Starting,
        hold: None,
        at_target: true,
        blame: Some(Blame::Rollout),
        cause: Some(Box::new(Cause { kind, container: None, message: None })),
        crash_loop: Some(CrashLoopView { cause: kind, since: ago(95) }),
        cause_since: Some(ago(95)),
        since: Some(ago(7)),
        ..node("ipc-018")
    };
    let snapshot = Snapshot { nodes: vec![troubled].into(), ..running() };
    let screen = TestConsole::on(snapshot.clone(), 140, 40).screen();
    let row = screen.lines().find(|line| line.contains("◐ ipc-018") || line.contains("↻ ipc-018")).unwrap_or_default();
    assert!(screen.contains("(ipc-018, 1m)") && row.contains(" 1m ") && !screen.contains(" 7s"), "{screen}");
    let page = TestConsole::on(snapshot, 80, 24).typed("<enter>").screen();
    assert!(page.contains("crash loop, 1m") && !page.contains("7s"), "{page}");
}

/// What the reason is called stays first: filters, groups and scripts go by it.
#[test]
fn the_message_of_the_cluster_stands_behind_the_reason_as_far_as_it_fits() {
    let said = |node: &NodeView| Why { node, at: noon() }.with_message();
    let bad = failed("n1", CauseKind::CrashLoop, "agent: cannot open /dev/plc0\nat main.c:7", 60);
    assert_eq!(said(&bad), "crash loop: agent: cannot open /dev/plc0");
    let cordoned = NodeView { hold: Some(Hold::Cordoned), ..bad.clone() };
    assert_eq!(said(&cordoned), "crash loop; cordoned; agent: cannot open /dev/plc0");
    let unexplained =
        NodeView { cause: Some(Box::new(Cause { message: None, ..*bad.cause.clone().unwrap() })), ..bad.clone() };
    assert_eq!(said(&unexplained), "crash loop");
    let starts = failed("n1", CauseKind::NotReady, "Readiness probe failed: 503", 60);
    assert_eq!(
        said(&starts),
        Why { node: &starts, at: noon() }.to_string(),
        "a pod that starts says no more than before"
    );
    let uncreated = failed("n1", CauseKind::QuotaExceeded, "Error creating: pods \"agent-8x2vq\" is forbidden", 60);
    assert_eq!(said(&uncreated), "quota exceeded", "no name of a pod that is another one each time");
    for (cells, shown) in [(200, "crash loop: agent: cannot open /dev/plc0"), (60, "crash loop: agent: ")] {
        let screen = TestConsole::on(Snapshot { nodes: [bad.clone()].into(), ..running() }, cells, 40).screen();
        let row = screen.lines().find(|line| line.starts_with(">✗ n1")).unwrap_or_default();
        assert!(row.contains(shown) && row.contains('…') == (cells == 60), "{row}");
    }
}
