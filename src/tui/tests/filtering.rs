//! Filters on the screens where they are typed.

use std::sync::Arc;

use insta::assert_snapshot;
use ratatui::style::Modifier;

use super::console::TestConsole;
use super::events::with_events;
use super::fixtures::{self, fleet, held, running, target};
use crate::config::Bookmark;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::columns::fleet::FLEET_COLUMNS;
use crate::tui::columns::nodes::NODE_COLUMNS;
use crate::tui::message::{ConsoleEffect, Msg};
use crate::tui::theme::Glyphs;
use crate::tui::view;

/// A rollout in which one container restarted.
fn on_running() -> TestConsole {
    let mut nodes = running().nodes.to_vec();
    nodes.iter_mut().filter(|node| &*node.name == "ipc-018").for_each(|node| node.restarts = 5);
    TestConsole::on(Snapshot { nodes: nodes.into(), ..running() }, 80, 24)
}

fn on_fleet() -> TestConsole {
    let mut console = TestConsole::on_fleet(80, 24);
    console.tell(Msg::Fleet(Arc::new(fleet())));
    console
}

/// The nodes that the list shows.
fn shown(console: &TestConsole) -> Vec<String> {
    let page = console.model.rollout().unwrap();
    page.nodes.indices().map(|index| page.shown_nodes()[index as usize].name.to_string()).collect()
}

fn status(console: &TestConsole) -> String {
    console.model.status.as_ref().map(|status| status.text.clone()).unwrap_or_default()
}

/// The texts that stand out as hits, line by line.
fn hits(console: &TestConsole) -> Vec<String> {
    let frame = console.frame();
    let mut hits = Vec::new();
    for y in 0..frame.area.height {
        let mut hit = String::new();
        for x in 0..=frame.area.width {
            let cell = frame.cell((x, y)).filter(|cell| cell.modifier.contains(Modifier::UNDERLINED));
            match cell {
                Some(cell) => hit.push_str(cell.symbol()),
                None if hit.is_empty() => {}
                None => hits.push(std::mem::take(&mut hit)),
            }
        }
    }
    hits
}

#[test]
fn every_column_of_the_nodes_can_be_asked_for() {
    for (typed, want) in [
        ("name=ipc-017", vec!["ipc-017"]),
        ("node==ipc-017", vec!["ipc-017"]),
        ("state=failed", vec!["ipc-017"]),
        ("why=\"image not\"", vec!["ipc-017"]),
        ("image=pulling", vec!["ipc-018"]),
        ("img=failed", vec!["ipc-017"]),
        ("pod=agent-017", vec!["ipc-017"]),
        ("rev=15 state==pulling", vec!["ipc-018"]),
        ("rst>0", vec!["ipc-018"]),
        ("restarts>=5 rst<lt>6", vec!["ipc-018"]),
        ("age<lt>30s state=pulling", vec!["ipc-018"]),
        ("zone=munich !state=updated !state=outdated name~1[78]", vec!["ipc-017", "ipc-018"]),
        ("site=munich name=ipc-017", vec!["ipc-017"]),
        ("hostname=ipc-017", vec!["ipc-017"]),
    ] {
        let console = on_running().typed(&format!("/{typed}<enter>"));
        assert_eq!(shown(&console), want, "{typed}\n{}", console.screen());
    }
}

/// A column that is added to a table can be asked for without another line anywhere.
#[test]
fn no_column_is_left_out() {
    for column in NODE_COLUMNS {
        for name in column.headers.iter().map(|heading| heading.to_lowercase()).chain([column.name.to_owned()]) {
            assert_eq!(status(&on_running().typed(&format!(":filter {name}=<enter>"))), "", "{name}");
        }
    }
    for column in FLEET_COLUMNS {
        assert_eq!(status(&on_fleet().typed(&format!(":filter {}=<enter>", column.name))), "", "{}", column.name);
    }
}

#[test]
fn the_fleet_the_timeline_and_the_revisions_have_columns_too() {
    let rows = |typed: &str| on_fleet().typed(&format!("/{typed}<enter>")).model.fleet.unwrap().rows.len();
    assert_eq!((rows("ns=edge"), rows("namespace=edge"), rows("new<lt>100"), rows("state=halted")), (2, 2, 3, 1));
    let entries = |typed: &str| {
        let console = TestConsole::on(with_events(), 80, 24).typed(&format!("T/{typed}<enter>"));
        console.model.rollout().unwrap().timeline().unwrap().len()
    };
    assert!(entries("who=ops") > 0 && entries("who=ops") < entries("ops what~.") + 12);
    assert_eq!(entries("what=halted"), 1);
    let revisions = |typed: &str| {
        let console = on_running().typed(&format!("v/{typed}<enter>"));
        console.model.rollout().unwrap().revisions().unwrap().len()
    };
    assert_eq!((revisions("rev=14"), revisions("rev<lt>15 rev>14")), (1, 0));
}

#[test]
fn a_filter_that_cannot_be_read_leaves_the_last_one_in_force() {
    let console = on_running().typed("/state=failed /(");
    assert_eq!(shown(&console), ["ipc-017"]);
    let screen = console.screen();
    assert!(screen.contains("the regular expression `(`: unclosed group"), "{screen}");
    assert!(
        screen.contains("1 of 120 pass") && screen.contains("filter state=failed "),
        "what is in force is said: {screen}"
    );
    assert_snapshot!("filter_wrong", screen);
    assert_snapshot!("filter_wrong_column", on_running().typed("/rts>0").screen());
    // It cannot be kept, and esc clears all of it.
    assert!(on_running().typed("/rts>0<enter>").screen().contains("did you mean"));
    assert!(on_running().typed("/rts>0<esc>").model.rollout().unwrap().filter.is_all());
    assert!(status(&on_running().typed(":filter rts>0<enter>")).contains("did you mean `rst`?"));
}

#[test]
fn completions_are_shown_and_taken() {
    let console = on_running().typed("/st");
    assert_snapshot!("filter_completions", console.screen());
    let text = |console: &TestConsole| console.screen().lines().last().unwrap_or_default().to_owned();
    assert_eq!(text(&on_running().typed("/stat<tab>")), "/state=");
    assert_eq!(text(&on_running().typed("/state=fai<tab>")), "/state=failed");
    let cycled = on_running().typed("/state=<tab><tab>");
    let other = on_running().typed("/state=<tab><tab><s-tab>");
    assert_ne!(text(&cycled), text(&other));
    assert_eq!(text(&other), text(&on_running().typed("/state=<tab>")));
    assert!(!shown(&other).is_empty(), "what tab puts there is in force");
    assert_eq!(text(&on_running().typed("/zon<tab>mu<tab>")), "/zone=munich");
}

#[test]
fn hits_stand_out_while_a_filter_is_set() {
    assert_eq!(hits(&on_running()), [""; 0]);
    assert_eq!(hits(&on_running().typed("/017<enter>")), ["017", "017"], "in the name and in the pod's");
    assert_eq!(hits(&on_running().typed("/state=failed<enter>")), ["failed"]);
    assert_eq!(hits(&on_running().typed("/rst>0<enter>")), ["5"]);
    assert_eq!(hits(&on_running().typed("/!failed name=018<enter>")), ["018"]);
    assert_eq!(hits(&on_fleet().typed("/shipp<enter>")), ["shipp"]);
    assert_eq!(hits(&TestConsole::on(with_events(), 80, 24).typed("T/halted<enter>")), ["halted"]);
}

#[test]
fn the_node_that_was_looked_for_stays_selected_when_the_filter_goes() {
    let console = on_running().typed("/ipc-118<enter><esc>");
    let page = console.model.rollout().unwrap();
    assert!(page.filter.is_all());
    assert_eq!(page.current().map(|node| &*node.name), Some("ipc-118"));
    assert!(console.screen().contains("ipc-118"), "{}", console.screen());
}

#[test]
fn n_and_b_go_from_hit_to_hit() {
    let selected = |keys: &str| {
        let console = on_running().typed(keys);
        let name = console.model.rollout().unwrap().current().unwrap().name.to_string();
        (name, status(&console))
    };
    let go = |keys: &str| selected(&format!("/name~01[78]$<enter>{keys}"));
    assert_eq!(go("n").0, "ipc-018");
    assert_eq!(go("nb"), ("ipc-017".to_owned(), String::new()));
    assert_eq!(go("nn"), ("ipc-017".to_owned(), "after the last hit: the first again".to_owned()));
    assert_eq!(go("b").0, "ipc-018");
    assert_eq!(go("mn").0, "ipc-018", "on the map, too");
    assert!(selected("n").1.contains("/ asks for what to look for"));
    let none = on_running().typed("/nobody<enter>n");
    assert!(status(&none).contains("no row passes"), "{}", status(&none));
    // N is what it was: a write, which is refused while read-only.
    assert!(status(&on_running().typed("/ipc<enter>N")).contains("read-only"));
}

#[test]
fn time_alone_changes_who_passes_an_age() {
    let nodes = vec![target("ipc-001", NodeState::Soaking, 20), held("ipc-002", Hold::Selector)];
    let mut console =
        TestConsole::on(Snapshot { nodes: nodes.into(), ..running() }, 80, 24).typed("/age<lt>40s<enter>");
    assert_eq!(shown(&console), ["ipc-001"]);
    assert!(view::draw(&console.model).1.wake.is_some_and(|wake| wake.as_secs() <= 5));
    console.wait(15);
    assert_eq!(shown(&console), ["ipc-001"]);
    console.wait(10);
    assert_eq!(shown(&console), [""; 0]);
    console.type_keys("<esc>");
    assert_eq!(shown(&console).len(), 2);
}

#[test]
fn filtered_screens_at_all_sizes() {
    for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        let console = TestConsole::on(running(), width, height).typed("/state=outdated rst=0 !why=partition<enter>");
        assert_snapshot!(format!("filtered_by_column_{width}x{height}"), console.screen());
    }
    let mut absent = TestConsole::on(fixtures::absent(), 80, 24);
    absent.type_keys("/zone=a");
    assert!(!absent.screen().contains("neither"), "no label is known yet: {}", absent.screen());
}

/// `cargo test --release --lib what_a_filter_costs -- --ignored --nocapture`
#[test]
#[ignore = "prints figures"]
fn what_a_filter_costs() {
    let nodes: Vec<NodeView> = (0..15_000)
        .map(|nth| match nth % 3 {
            0 => target(&format!("ipc-{nth:05}.site-{:02}.factory.example", nth / 750), NodeState::Updated, nth),
            1 => held(&format!("ipc-{nth:05}.site-{:02}.factory.example", nth / 750), Hold::Partition { keep: 60 }),
            _ => held(
                &format!("ipc-{nth:05}.site-{:02}.factory.example", nth / 750),
                Hold::Budget { used: 2, next: 0, limit: 2 },
            ),
        })
        .collect();
    for typed in
        ["failed ipc", "state=failed", "zone=munich rst>0", "/ipc-0[12]+7.*/ !why=budget", "age<5m", "why=\"budget: 2"]
    {
        let mut console = TestConsole::on(Snapshot { nodes: nodes.clone().into(), ..running() }, 120, 40).typed("/");
        let mut worst = std::time::Duration::ZERO;
        for c in typed.chars() {
            let began = std::time::Instant::now();
            console.tell(Msg::Key(crate::tui::key::Key::char(c)));
            let _ = view::draw(&console.model);
            worst = worst.max(began.elapsed());
        }
        println!("15000 nodes, 120x40, `{typed}`: the slowest key press took {worst:?} (budget 16 ms)");
    }
}

/// What a word is looked for in is kept from one key press to the next, and no longer than the snapshot.
#[test]
fn what_changed_is_searched_anew() {
    let mut console = on_running().typed("/pulling<enter>");
    assert_eq!(shown(&console), ["ipc-018"]);
    let before = running();
    let changed = before.nodes.iter().map(|node| match &*node.name {
        "ipc-018" => target("ipc-018", NodeState::Starting, 0),
        "ipc-020" => target("ipc-020", NodeState::Pulling, 0),
        _ => node.clone(),
    });
    console.see(Snapshot { nodes: changed.collect::<Vec<_>>().into(), ..before.clone() });
    assert_eq!(shown(&console), ["ipc-020"]);
}

#[test]
fn a_filter_with_a_name_is_used_by_it() {
    let bookmark = |name: &str, filter: &str| Bookmark { name: name.to_owned(), filter: filter.to_owned() };
    let mut console = TestConsole::on(running(), 120, 40);
    console.model.bookmarks = vec![bookmark("bad", "state=failed"), bookmark("hall", "-l line=line3")];
    console.type_keys("/@");
    assert!(console.screen().contains("tab:  @bad  @hall"), "{}", console.screen());
    console.type_keys("b<tab><enter>");
    assert!(console.screen().contains("ipc-017") && !console.screen().contains("ipc-018"), "{}", console.screen());
    console.type_keys("/<c-u>@bda");
    assert!(console.screen().contains("there is no bookmark `@bda`: did you mean `@bad`?"), "{}", console.screen());
    console.type_keys("<c-u>@nothing");
    assert!(
        console.screen().contains("there is no bookmark `@nothing`; there are @bad, @hall"),
        "{}",
        console.screen()
    );
    console.type_keys("<c-u>@hall");
    assert!(!console.screen().contains("no bookmark"), "{}", console.screen());
}

#[test]
fn marked_nodes_are_found_again_and_their_names_copied() {
    let mut console = TestConsole::on(running(), 120, 40).typed("/@marked");
    assert!(console.screen().contains("no node is marked: space marks one"), "{}", console.screen());
    assert!(console.screen().contains("ipc-017"), "nothing is filtered out: {}", console.screen());
    console.type_keys("<esc> jjj ");
    assert!(console.screen().contains("2 nodes marked: /@marked shows them"), "{}", console.screen());
    let marks =
        |console: &TestConsole| console.screen().lines().filter(|line| line.chars().nth(2) == Some('*')).count();
    assert_eq!(marks(&console), 2);
    console.type_keys("/@mar<tab><enter>");
    let screen = console.screen();
    assert!(screen.contains("ipc-017") && screen.contains("ipc-018") && !screen.contains("ipc-031 "), "{screen}");
    assert!(
        screen.contains("2 of 120 pass") && screen.contains("filter @marked ") && !screen.contains("name~"),
        "as it was typed: {screen}"
    );
    console.type_keys(":copy marked<enter>");
    let copied = console.effects.iter().find_map(|effect| match effect {
        ConsoleEffect::Copy(text) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(copied, Some("ipc-017 ipc-018"));
    console.type_keys(" ");
    assert!(console.screen().contains("1 of 120 pass"), "it follows the marks: {}", console.screen());
    console.type_keys(":unmark<enter>");
    assert!(!console.screen().contains("filter @marked"), "where none is marked all are shown: {}", console.screen());
    assert_eq!(marks(&console), 0, "{}", console.screen());
}

/// Both are signs where there are no colours.
#[test]
fn the_mark_of_the_selected_row_leaves_the_cursor_in_sight() {
    for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
        let mut console = TestConsole::on(running(), 80, 24).typed(" ");
        console.model.glyphs = glyphs;
        let screen = console.screen();
        let row = screen.lines().find(|line| line.starts_with('>')).unwrap_or_default();
        assert!(row.contains("*ipc-017"), "{screen}");
    }
}

/// A bookmark is used in one rollout after the other, and numbers of revisions are other ones then.
#[test]
fn a_bookmark_that_asks_for_the_old_revision_follows_the_target() {
    let passing = |console: &TestConsole| {
        let page = console.model.rollout().expect("a rollout is open");
        let nodes = &page.live.as_ref().expect("it is seen").snapshot.nodes;
        page.nodes.indices().map(|index| nodes[index as usize].at_target).collect::<Vec<_>>()
    };
    let mut console = TestConsole::on(fixtures::running(), 80, 24);
    console.model.bookmarks = vec![Bookmark { name: "left".to_owned(), filter: "rev=old".to_owned() }];
    console.type_keys("/@left<enter>");
    assert_eq!(passing(&console), [false; 85], "{}", console.screen());
    console.type_keys("<esc>/rev==NEW<enter>");
    assert_eq!(passing(&console), [true; 35], "{}", console.screen());
    // The next rollout goes back: the nodes that had the new revision have the old one.
    let mut next = fixtures::running();
    let turned = |node: &NodeView| NodeView { at_target: !node.at_target, ..node.clone() };
    next.nodes = next.nodes.iter().map(turned).collect::<Vec<_>>().into();
    console.see(next);
    assert_eq!(passing(&console), [true; 85], "{}", console.screen());
    console.type_keys("<esc>/@left<enter>");
    assert_eq!(passing(&console), [false; 35], "{}", console.screen());
    console.type_keys("<esc>/rev=older<enter>");
    assert!(console.screen().contains("`older` is not a number, nor new or old"), "{}", console.screen());
}
