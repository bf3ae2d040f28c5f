//! The map of the nodes: its cells, its blocks, moving on it.

use insta::assert_snapshot;

use super::console::TestConsole;
use super::fixtures::{failed, held, idle, loading, node, running, target, the_target, updated};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::hold::{Hold, ImageWait};
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::columns::nodes::sign;
use crate::tui::message::ConsoleEffect;
use crate::tui::theme::{Glyph, Glyphs};
use crate::tui::view::Measures;

const SITES: [&str; 4] = ["munich", "hamburg", "wien", "brno"];

/// A rollout in four sites.
fn factory() -> Snapshot {
    let nodes = (0..120).map(|number| {
        let name = format!("ipc-{number:03}");
        let view = match number {
            17 | 63 => failed(&name, CauseKind::ImageNotFound, "manifest unknown", 180),
            31 => NodeView { blame: Some(Blame::Suspect), ..target(&name, NodeState::NodeDown, 65) },
            18 | 44 => target(&name, NodeState::Pulling, 20),
            100 => NodeView { blame: Some(Blame::Node), ..target(&name, NodeState::NodeDown, 7200) },
            0..50 => updated(&name, 900),
            _ => held(&name, Hold::Partition { keep: 60 }),
        };
        let rack = format!("rack-{}", number % 7);
        let site = SITES[number / 30];
        let labels = [("rack", rack.as_str()), ("topology.kubernetes.io/zone", site)].into_iter().collect();
        NodeView { site: site.into(), labels, ..view }
    });
    Snapshot { nodes: nodes.collect(), ..running() }
}

fn selected(console: &TestConsole) -> String {
    console.model.rollout().unwrap().selected().map(|node| node.name.to_string()).unwrap_or_default()
}

fn said(console: &TestConsole) -> &str {
    console.model.status.as_ref().map_or("", |status| &status.text)
}

#[test]
fn the_map_is_shown_at_all_sizes() {
    for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        let console = TestConsole::on(factory(), width, height).typed("m");
        assert_snapshot!(format!("map_{width}x{height}"), console.screen());
    }
    assert_snapshot!("map_beside_the_list", TestConsole::on(factory(), 200, 50).screen());
    assert_snapshot!("map_by_rack", TestConsole::on(factory(), 80, 24).typed("m:site rack<enter>").screen());
    assert_snapshot!("map_filtered", TestConsole::on(factory(), 80, 24).typed("m/failed<enter>").screen());
    let mut ascii = TestConsole::on(factory(), 80, 24).typed("m");
    ascii.model.glyphs = crate::tui::theme::Glyphs::Ascii;
    assert_snapshot!("map_ascii", ascii.screen());
}

/// What stands because of an image that cannot be pulled, or because its node is cordoned, has a sign of its own, on the map as in the list.
#[test]
fn a_node_that_cannot_get_its_image_or_is_cordoned_is_told_from_those_that_only_wait() {
    let cause = CauseKind::ImageNotFound;
    let holds = [
        (Hold::ImageAbsent(ImageWait::Failed { cause, retried: true }), Glyph::Struggling),
        (Hold::ImageAbsent(ImageWait::Failed { cause, retried: false }), Glyph::ImageFailed),
        (Hold::ImageAbsent(ImageWait::NotTried { cause }), Glyph::ImageFailed),
        (Hold::Cordoned, Glyph::Paused),
        (Hold::ImageAbsent(ImageWait::Coming), Glyph::Outdated),
        (Hold::Partition { keep: 60 }, Glyph::Outdated),
    ];
    for (hold, glyph) in &holds {
        assert_eq!(sign(&held("n", hold.clone())).0, *glyph, "{hold}");
    }
    let nodes: Vec<_> = holds.iter().map(|(hold, _)| held("n", hold.clone()).into()).collect();
    let worst = |indices: &[u32]| crate::tui::node_map::worst(indices, &nodes).and_then(|node| node.hold.clone());
    assert_eq!(worst(&[5, 3]), Some(Hold::Cordoned), "a cell of several nodes shows it");
    assert_eq!(worst(&[4, 5, 0]).as_ref(), Some(&holds[0].0));
    let snapshot = Snapshot {
        nodes: holds.iter().enumerate().map(|(at, (hold, _))| held(&format!("n{at}"), hold.clone())).collect(),
        ..running()
    };
    let screen = TestConsole::on(snapshot, 80, 24).typed("m").screen();
    assert!(screen.lines().any(|line| line.trim() == "↻✗✗‖··"), "{screen}");
}

#[test]
fn arrows_move_on_the_map_and_enter_opens_the_node() {
    // The first row of the list is the first of the failed nodes; on the map it is in the first block.
    let mut console = TestConsole::on(factory(), 120, 40).typed("mg");
    assert_eq!(selected(&console), "ipc-090", "brno comes first by name");
    for (keys, want) in [
        ("<right>", "ipc-091"),
        ("<left>", "ipc-090"),
        ("G", "ipc-089"),
        ("<left>", "ipc-088"),
        ("g<right><right>", "ipc-092"),
    ] {
        console.type_keys(keys);
        assert_eq!(selected(&console), want, "{keys}");
    }
    console.type_keys("<enter>");
    assert_eq!(&*console.model.node_page().unwrap().node, "ipc-092");
    assert!(console.screen().contains("esc: map"), "{}", console.screen());
    console.type_keys("<esc>");
    assert!(console.model.rollout().unwrap().map.is_open, "back on the map");
    console.type_keys("v");
    assert!(console.screen().contains("v: map"), "{}", console.screen());
    console.type_keys("v");
    assert!(console.model.rollout().unwrap().map.is_open, "back on the map");
    console.type_keys("<esc>");
    assert!(!console.model.rollout().unwrap().map.is_open);
    assert_eq!(selected(&console), "ipc-092", "the list shows the same node, though its group is folded");
    assert!(console.screen().contains("ipc-092"), "{}", console.screen());
}

#[test]
fn on_the_heading_of_a_group_the_last_line_says_what_enter_does_and_the_map_shows_its_first_node() {
    let last = |console: &TestConsole| console.screen().lines().last().unwrap_or_default().to_owned();
    let mut console = TestConsole::on(factory(), 120, 40);
    while console.model.rollout().unwrap().nodes.current_group().is_none() {
        console.type_keys("j");
    }
    let is_open = console.model.rollout().unwrap().nodes.current_group().unwrap().is_open;
    let words = |open| if open { "enter fold" } else { "enter open" };
    assert!(last(&console).contains(words(is_open)), "{}", last(&console));
    console.type_keys("<enter>");
    assert!(last(&console).contains(words(!is_open)), "{}", last(&console));
    let group = console.model.rollout().unwrap().nodes.current_group().unwrap().nodes[0];
    let first = factory().nodes[group as usize].name.to_string();
    console.type_keys("m");
    assert_eq!(selected(&console), first);
    assert!(last(&console).contains("enter node"), "{}", last(&console));
    console.type_keys("<enter>");
    assert_eq!(*console.model.node_page().unwrap().node, *first);
}

#[test]
fn of_how_many_nodes_of_a_site_is_said_and_a_long_name_is_cut_with_a_sign() {
    let mut snapshot = factory();
    let long = |node: &NodeView| {
        let site = format!("hall-of-the-north-wing-of-the-old-factory-{}", node.site);
        let labels = [("topology.kubernetes.io/zone", site.as_str())].into_iter().collect();
        NodeView { site: site.as_str().into(), labels, ..node.clone() }
    };
    snapshot.nodes = snapshot.nodes.iter().map(long).collect::<Vec<_>>().into();
    let screen = TestConsole::on(snapshot, 40, 24).typed("m").screen();
    for site in ["munich 28/30", "hamburg 18/30"] {
        assert!(screen.contains(site), "{site}: {screen}");
    }
    assert!(screen.contains(" hall-of-the-") && screen.contains('…'), "{screen}");
    // Where the name is whole and there is no room for how many there are, a sign says that something is left out.
    let screen = TestConsole::on(factory(), 40, 12).typed("m").screen();
    assert!(!screen.contains("hamburg 18 "), "{screen}");
}

#[test]
fn a_node_keeps_its_cell_whatever_becomes_of_it() {
    let mut console = TestConsole::on(factory(), 80, 24).typed("m");
    let before = console.screen();
    let mut next = factory();
    let mut nodes = next.nodes.to_vec();
    let moved = nodes.remove(70);
    nodes.insert(0, failed(&moved.name, CauseKind::CrashLoop, "exit 1", 5));
    nodes[0] = NodeView { site: moved.site.clone(), labels: moved.labels, ..nodes[0].clone() };
    next.nodes = nodes.into();
    console.see(next);
    let differs = |(before, after): (&str, &str)| {
        let both = before.chars().zip(after.chars());
        both.filter(|(before, after)| before != after)
            .map(|(before, after)| format!("{before}{after}"))
            .collect::<Vec<_>>()
    };
    let after = console.screen();
    // Below the titles, which count, one cell has changed.
    let cells = |line: &&str| line.contains("··") || line.contains("✓✓");
    let changed: Vec<_> = before.lines().filter(cells).zip(after.lines().filter(cells)).flat_map(differs).collect();
    assert_eq!(changed, ["·✗"], "{before}\n{after}");
}

/// Lines come and go above the map: cells keep their places to each other, and their number of nodes.
#[test]
fn cells_keep_their_places_while_lines_come_and_go_above_the_map() {
    let layout = |console: &TestConsole| {
        let room = Measures::of(&console.model).map;
        (room.height, console.model.rollout().unwrap().map.layout(room))
    };
    for (sites, nodes) in [(4, 30), (30, 100), (60, 100), (1, 65_000)] {
        let healthy: Vec<NodeView> = (0..sites * nodes)
            .map(|number| {
                let site = format!("site-{:03}", number / nodes);
                NodeView { site: site.as_str().into(), ..updated(&format!("ipc-{number:05}"), 900) }
            })
            .collect();
        let mut troubled = healthy.clone();
        let causes = [CauseKind::CrashLoop, CauseKind::ImageNotFound, CauseKind::OutOfMemory, CauseKind::VolumeMount];
        for (node, cause) in troubled.iter_mut().zip(causes) {
            *node = NodeView { site: node.site.clone(), ..failed(&node.name, cause, "exit 1", 5) };
        }
        for (width, height) in [(80, 24), (120, 40), (200, 50)] {
            let mut console =
                TestConsole::on(Snapshot { nodes: healthy.clone().into(), ..idle() }, width, height).typed("m");
            let (before, places) = layout(&console);
            console.see(Snapshot { nodes: troubled.clone().into(), ..idle() });
            let (after, then) = layout(&console);
            assert!(after < before, "lines were added above {sites} sites of {nodes} nodes at {width}x{height}");
            assert_eq!(then, places, "{sites} sites of {nodes} nodes at {width}x{height}");
            console.see(Snapshot { nodes: healthy.clone().into(), ..idle() });
            assert_eq!(layout(&console), (before, places), "{sites} sites of {nodes} nodes at {width}x{height}");
        }
    }
}

/// A node that fails elsewhere is shown above the map and by its cell; the cursor stays where it was.
#[test]
fn the_cursor_of_the_map_does_not_move_because_a_node_fails() {
    let healthy: Vec<NodeView> = (0..120).map(|number| updated(&format!("ipc-{number:03}"), 900)).collect();
    let mut troubled = healthy.clone();
    troubled[77] = failed("ipc-077", CauseKind::CrashLoop, "exit 1", 5);
    let mut console = TestConsole::on(Snapshot { nodes: healthy.into(), ..idle() }, 120, 40).typed("m");
    assert_eq!(selected(&console), "ipc-000");
    console.see(Snapshot { nodes: troubled.into(), ..idle() });
    assert_eq!(selected(&console), "ipc-000", "{}", console.screen());
}

#[test]
fn sites_are_chosen_by_label() {
    let console = |keys: &str| TestConsole::on(factory(), 80, 24).typed(keys);
    assert_eq!(
        said(&console(":site rack<enter>")),
        "map and table tell sites apart by rack; budgets go by topology.kubernetes.io/zone"
    );
    let unknown = console(":site rak<enter>");
    assert_eq!(
        said(&unknown),
        "no node has the label `rak`; labels that tell them apart: topology.kubernetes.io/zone, rack",
        "those that tell nodes apart"
    );
    assert!(said(&console(":site rack=1<enter>")).contains("write the key of a label that nodes have, such as `rack`"));
    // Before nodes are known, none is said to lack it.
    for known in [None, Some(loading())] {
        let mut console = TestConsole::on_fleet(80, 24).typed(":ds edge/ipc-agent<enter>");
        if let Some(known) = known {
            console.see(known);
        }
        console.type_keys(":site rack<enter>");
        assert_eq!(said(&console), "still loading: map and table tell sites apart by rack as soon as nodes are known");
        console.see(factory());
        console.type_keys("m");
        assert!(console.screen().contains("rack"), "{}", console.screen());
    }
    // Once they are known, a label that none has is refused as at any other time, and the one before is in force again.
    for known in [None, Some(loading())] {
        let mut console = TestConsole::on_fleet(80, 24).typed(":ds edge/ipc-agent<enter>");
        if let Some(known) = known {
            console.see(known);
        }
        console.type_keys(":site rak<enter>:site rack2<enter>");
        console.see(factory());
        assert_eq!(
            said(&console),
            "no node has the label `rack2`; labels that tell them apart: topology.kubernetes.io/zone, rack"
        );
        assert_eq!(console.model.chosen_sites.len(), 0);
        console.type_keys("m");
        assert!(!console.screen().contains("rack2 ") && console.screen().contains("munich"), "{}", console.screen());
    }
    // A label that some nodes have, and none with a value.
    let mut roles = factory();
    let with_role = |node: &NodeView| {
        let labels = node.labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        NodeView { labels: labels.chain([("role/press".to_owned(), String::new())]).collect(), ..node.clone() }
    };
    roles.nodes = roles.nodes.iter().map(with_role).collect::<Vec<_>>().into();
    let valueless = TestConsole::on(roles, 80, 24).typed(":site role/press<enter>");
    assert!(
        said(&valueless).starts_with("the label `role/press` has no value on any node; labels that tell them apart: "),
        "{}",
        said(&valueless)
    );
    let back = console(":site rack<enter>:site<enter>");
    assert!(said(&back).contains("by topology.kubernetes.io/zone"), "{}", said(&back));
    assert!(console(":site ra<tab>").screen().contains(":site rack"), "completed");
}

#[test]
fn the_label_that_is_chosen_for_sites_is_that_of_the_table_too() {
    let mut console = TestConsole::on(factory(), 120, 40).typed("/ipc-001<enter>");
    let row = |console: &TestConsole| {
        let screen = console.screen();
        screen.lines().find(|line| line.contains(" ipc-001 updated ")).unwrap_or_default().to_owned()
    };
    let node = factory().nodes.iter().find(|node| &*node.name == "ipc-001").unwrap().clone();
    let rack = node.labels.get("rack").unwrap().to_string();
    assert!(row(&console).contains(&format!(" {} ", node.site)), "{}", row(&console));
    console.type_keys(":site rack<enter>");
    assert!(row(&console).contains(&format!(" {rack} ")), "{}", row(&console));
    console.see(factory());
    assert!(row(&console).contains(&format!(" {rack} ")), "with the next snapshot too: {}", row(&console));
    console.type_keys(&format!("<esc>/site={rack}<enter>"));
    assert!(row(&console).contains(" ipc-001 "), "it is filtered by what is shown: {}", console.screen());
    console.type_keys(":site<enter><esc>/ipc-001<enter>");
    assert!(row(&console).contains(&format!(" {} ", node.site)), "{}", row(&console));
}

/// 65,000 nodes fit into 200x50, and the worst of a cell shows.
#[test]
fn where_nodes_outnumber_cells_the_worst_shows() {
    let mut nodes: Vec<NodeView> = (0..65_000).map(|number| updated(&format!("ipc-{number:05}"), 900)).collect();
    nodes[40_001] = failed("ipc-40001", CauseKind::CrashLoop, "exit 1", 5);
    let console = TestConsole::on(Snapshot { nodes: nodes.into(), ..running() }, 200, 50).typed("m");
    let screen = console.screen();
    let cells = screen.lines().filter(|line| line.contains("✓✓")).filter_map(|line| line.split('│').next());
    let failed: usize = cells.map(|cells| cells.matches('✗').count()).sum();
    assert_eq!(failed, 1, "{screen}");
    assert!(screen.contains("65000 nodes"), "{screen}");
    assert!(screen.contains("a cell is"), "{screen}");
}

/// 15,000 nodes in 150 sites: titles stand before the cells, so that all sites are seen at once.
#[test]
fn many_sites_fit_by_names_before_their_cells() {
    let nodes = (0..15_000).map(|number| {
        let name = format!("ipc-{number:05}");
        let view = match number {
            12_345 => failed(&name, CauseKind::CrashLoop, "exit 1", 5),
            800 => target(&name, NodeState::Pulling, 20),
            0..700 => updated(&name, 900),
            _ => held(&name, Hold::Partition { keep: 14_000 }),
        };
        NodeView { site: format!("site-{:03}", number / 100).as_str().into(), ..view }
    });
    let snapshot = Snapshot { nodes: nodes.collect(), ..running() };
    assert_snapshot!("map_many_sites_200x50", TestConsole::on(snapshot.clone(), 200, 50).typed("m").screen());
    assert_snapshot!("map_many_sites_80x24", TestConsole::on(snapshot.clone(), 80, 24).typed("m").screen());
    assert_snapshot!("map_many_sites_beside", TestConsole::on(snapshot, 200, 50).screen());
}

/// Random rollouts, sizes and keys: the map shows the selected node, and nothing panics.
#[test]
fn the_map_survives_whatever_is_typed() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let states =
            [NodeState::Updated, NodeState::Outdated, NodeState::Pulling, NodeState::NodeDown, NodeState::Failed];
        let nodes = (0..random.usize(0..400)).map(|number| NodeView {
            state: states[random.usize(0..states.len())],
            site: format!("site-{}", random.u8(0..6)).into(),
            ..node(&format!("n{number}"))
        });
        let nodes: Vec<NodeView> = nodes.collect();
        let (width, height) = (random.u16(1..220), random.u16(1..60));
        let mut console = TestConsole::on(Snapshot { nodes: nodes.into(), ..running() }, width, height);
        console.type_keys("m");
        for _ in 0..40 {
            let keys =
                ["j", "k", "<left>", "<right>", "<pgdn>", "<pgup>", "g", "G", "m", "<enter>", "<esc>", "/n1<enter>"];
            console.type_keys(keys[random.usize(0..keys.len())]);
            console.screen();
            if console.model.rollout().is_none() {
                break;
            }
        }
    }
}

#[test]
fn the_label_that_was_chosen_is_kept_for_the_daemonset() {
    let mut console = TestConsole::on(factory(), 80, 24);
    console.effects.clear();
    console = console.typed("m:site rack<enter>");
    let remembered =
        |label: Option<&str>| ConsoleEffect::RememberSite { target: the_target(), label: label.map(str::to_owned) };
    assert_eq!(console.effects, [remembered(Some("rack"))]);
    // The rollout is closed, and opened again.
    let label = |console: &TestConsole| console.model.rollout().unwrap().map.label().map(str::to_owned);
    console = console.typed("m<esc><esc>");
    assert!(console.model.rollout().is_none(), "{}", console.screen());
    crate::tui::commands::open_rollout(&mut console.model, the_target());
    assert_eq!(label(&console).as_deref(), Some("rack"));
    console.see(factory());
    console.effects.clear();
    console = console.typed(":site<enter>");
    assert_eq!((label(&console), &console.effects[..]), (None, &[remembered(None)][..]));
    // What is refused is not remembered.
    console.effects.clear();
    console = console.typed(":site rock<enter>");
    assert_eq!((label(&console), &console.effects[..]), (None, &[][..]));
}

/// A pull needs nobody, a crash loop does: where there is no colour, their signs tell them apart.
#[test]
fn a_node_in_trouble_that_has_not_failed_has_a_sign_of_its_own() {
    let loops = NodeView { state: NodeState::Starting, ..failed("ipc-1", CauseKind::CrashLoop, "exit 1", 30) };
    let mut snapshot = running();
    snapshot.nodes = vec![loops, target("ipc-2", NodeState::Pulling, 20)].into();
    let mut console = TestConsole::on(snapshot, 80, 24).typed("m");
    for (glyphs, signs, counts) in [(Glyphs::Unicode, "↻◐", "↻1 ◐1"), (Glyphs::Ascii, "%~", "%1 ~1")] {
        console.model.glyphs = glyphs;
        let screen = console.screen();
        assert!(screen.contains(signs) && screen.contains(counts), "{screen}");
        let legend = console.model.theme().glyph(Glyph::Struggling, glyphs).to_owned();
        let mut help = TestConsole::on(running(), 200, 250);
        help.model.glyphs = glyphs;
        help.type_keys("?");
        assert!(help.screen().contains(&format!("{legend}  in trouble, and not failed yet")), "{}", help.screen());
    }
}

/// The list has trouble first; the map has the sites by name, and in each its nodes.
#[test]
fn the_next_hit_on_the_map_is_the_next_one_in_its_order() {
    let mut console = TestConsole::on(factory(), 120, 40).typed("m/name~^ipc-(017|031|100)$<enter>");
    assert_eq!(selected(&console), "ipc-017", "in munich, the last of the three sites");
    let mut press = |key: &str| {
        console.type_keys(key);
        (selected(&console), said(&console).contains("hit: the "))
    };
    let seen: Vec<_> = ["n", "n", "n", "n", "b", "b"].map(&mut press).into();
    let want = [
        ("ipc-100", true),
        ("ipc-031", false),
        ("ipc-017", false),
        ("ipc-100", true),
        ("ipc-017", true),
        ("ipc-031", false),
    ];
    assert_eq!(seen, want.map(|(node, again)| (node.to_owned(), again)));
}
