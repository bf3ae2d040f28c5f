//! The list of nodes holds still: groups, pinned rows, what was selected.

use insta::assert_snapshot;

use super::console::TestConsole;
use super::fixtures::{ago, failed, halted, held, running, target, updated};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::report::snapshot::{NodeView, Phase, PlanView, Snapshot};

/// A rollout with these nodes, which are brought into the engine's order.
fn with(mut nodes: Vec<NodeView>) -> Snapshot {
    nodes.sort_by_key(|node| match node.state {
        NodeState::Failed => 0,
        NodeState::Outdated => 2,
        NodeState::Updated => 3,
        _ => 1,
    });
    Snapshot { nodes: nodes.into(), ..running() }
}

/// The rows of the list as the screen shows them, without the lines above and below.
fn list(console: &TestConsole) -> String {
    let screen = console.screen();
    let rows = screen.lines().skip_while(|line| !line.starts_with('─'));
    let rows: Vec<&str> = rows.take_while(|line| !line.contains(" P pause")).collect();
    rows[..rows.len() - 1].join("\n")
}

/// A line of the list that shows this node, as its place on the screen.
fn line_of(console: &TestConsole, name: &str) -> Option<usize> {
    let screen = console.screen();
    let mut lines = screen.lines();
    lines.position(|line| line.split_whitespace().nth(1) == Some(name))
}

fn selected(console: &TestConsole) -> Option<String> {
    console.model.rollout()?.selected().map(|node| node.name.to_string())
}

fn current(console: &TestConsole) -> Option<String> {
    console.model.rollout()?.current().map(|node| node.name.to_string())
}

#[test]
fn groups_are_opened_and_folded_by_keys() {
    let console = |keys: &str| TestConsole::on(running(), 80, 24).typed(keys);
    // From the first pinned row over four others and the two nodes that are next to the heading of the next group but one.
    let partition = "jjjjjjjjj";
    assert_snapshot!("nodes_group_selected", list(&console(partition)));
    let opened = list(&console(&format!("{partition}<enter>")));
    assert_snapshot!("nodes_group_opened", opened);
    assert_eq!(list(&console(&format!("{partition}<right>"))), opened, "right opens it, too");
    assert_eq!(list(&console(&format!("{partition}<enter><enter>"))), list(&console(partition)));
    assert_eq!(list(&console(&format!("{partition}<right><left>"))), list(&console(partition)));
    let from_within = console(&format!("{partition}<right>jjj<left>"));
    assert_eq!(list(&from_within), list(&console(partition)), "left on one of its nodes folds the group");
    let refused = console(&format!("{partition}l"));
    assert_eq!(refused.model.status.unwrap().text, "this is a group of nodes: enter opens and folds it");
}

#[test]
fn a_node_that_was_updated_lingers_before_it_goes_to_the_others() {
    let nodes = |state: fn(&str) -> NodeView| {
        let mut nodes = vec![state("ipc-018")];
        nodes.extend((20..60).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 40 })));
        with(nodes)
    };
    let mut console = TestConsole::on(nodes(|name| target(name, NodeState::Soaking, 20)), 80, 24);
    assert!(list(&console).contains("moving 1"), "{}", list(&console));
    console.wait(7);
    console.see(nodes(|name| updated(name, 30)));
    assert_snapshot!("nodes_just_updated", list(&console));
    console.wait(4);
    assert!(list(&console).contains("just updated 1"));
    console.wait(1);
    assert_snapshot!("nodes_updated_before", list(&console));
    // What was updated when the console opened is nothing new, even if its pod was listed later than its node.
    let half = Snapshot { phase: Phase::Loading, ..nodes(|name| target(name, NodeState::Creating, 20)) };
    let mut loading = TestConsole::on(half, 80, 24);
    loading.see(nodes(|name| updated(name, 900)));
    assert!(!list(&loading).contains("just updated"), "{}", list(&loading));
    let opened_later = TestConsole::on(nodes(|name| updated(name, 1)), 80, 24);
    assert!(!list(&opened_later).contains("just updated"));
}

#[test]
fn nodes_that_were_updated_leave_room_for_those_that_move() {
    let name = |number: u32| format!("ipc-{number:03}");
    let rollout = |done: u32| {
        let updated = (0..done).map(|number| updated(&name(number), 1));
        let moving = (done..done + 20).map(|number| target(&name(number), NodeState::Soaking, 20));
        let rest = (done + 20..120).map(|number| held(&name(number), Hold::Partition { keep: 40 }));
        with(moving.chain(rest).chain(updated).collect())
    };
    let mut console = TestConsole::on(rollout(0), 80, 24);
    console.see(rollout(20));
    let screen = list(&console);
    assert!(screen.contains("moving 20 · just updated 6"), "{screen}");
    assert!(screen.contains("soaking"), "{screen}");
}

#[test]
fn a_node_that_was_updated_goes_below_those_that_move_and_keeps_the_cursor() {
    let moving = |number: u32| target(&format!("ipc-{number:03}"), NodeState::Soaking, 20);
    let rest = || (20..60).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 40 }));
    let names = |console: &TestConsole| {
        let screen = list(console);
        let name = |line: &str| line.split_whitespace().find(|word| word.starts_with("ipc-")).map(str::to_owned);
        screen.lines().filter_map(name).take(4).collect::<Vec<_>>()
    };
    let mut console = TestConsole::on(with([11, 12, 13].map(moving).into_iter().chain(rest()).collect()), 80, 24);
    let done = |name: &str| updated(name, 1);
    console.type_keys("j");
    assert_eq!(selected(&console).as_deref(), Some("ipc-012"));
    console.see(with([moving(11), moving(13)].into_iter().chain(rest()).chain([done("ipc-012")]).collect()));
    assert_eq!(names(&console), ["ipc-011", "ipc-013", "ipc-012", "ipc-020"]);
    assert_eq!(selected(&console).as_deref(), Some("ipc-012"), "{}", console.screen());
    console.wait(2);
    // In the order in which they were updated, whatever their names are, and below what begins.
    let two = [done("ipc-011"), done("ipc-012")];
    console.see(with([moving(13), moving(14)].into_iter().chain(rest()).chain(two.clone()).collect()));
    assert_eq!(names(&console), ["ipc-013", "ipc-014", "ipc-012", "ipc-011"]);
    // What gets into trouble is above all of them.
    let trouble = failed("ipc-014", CauseKind::CrashLoop, "exit 1", 1);
    console.see(with([trouble, moving(13)].into_iter().chain(rest()).chain(two).collect()));
    assert_eq!(names(&console), ["ipc-014", "ipc-013", "ipc-012", "ipc-011"]);
    console.wait(3);
    assert_eq!(names(&console), ["ipc-014", "ipc-013", "ipc-012", "ipc-011"], "the selected one stays");
    assert!(list(&console).contains("just updated 1 · kept by the cursor 1"), "five seconds each: {}", list(&console));
    console.type_keys("G");
    assert_eq!(names(&console)[..3], ["ipc-014", "ipc-013", "ipc-011"]);
}

#[test]
fn what_is_selected_stays_in_sight_when_its_group_is_folded() {
    let nodes = |first: NodeView| {
        let mut nodes = vec![target("ipc-019", NodeState::Soaking, 20), first];
        nodes.extend((20..60).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 40 })));
        nodes.extend((60..80).map(|number| updated(&format!("ipc-{number:03}"), 900)));
        with(nodes)
    };
    let next = held("ipc-018", Hold::Budget { used: 2, next: 0, limit: 2 });
    let mut console = TestConsole::on(nodes(next), 80, 24).typed("jj");
    console.see(nodes(updated("ipc-018", 30)));
    assert_eq!(selected(&console).as_deref(), Some("ipc-018"));
    assert_snapshot!("nodes_selected_in_a_folded_group", list(&console));
}

/// Who watches a node until it is updated goes on reading where it was, and so does who reads the rows below.
#[test]
fn a_node_that_is_selected_stays_pinned_until_the_cursor_leaves_it() {
    type End = fn(&str) -> NodeView;
    let ends: [(End, &str); 2] = [
        (|name| updated(name, 30), "the update is done"),
        (|name| held(name, Hold::Partition { keep: 100 }), "its pod of before is back"),
    ];
    for (end, what) in ends {
        let nodes = |first: NodeView| {
            let waiting = (20..100).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 100 }));
            let updated = (100..120).map(|number| updated(&format!("ipc-{number:03}"), 900));
            with([first, target("ipc-019", NodeState::Soaking, 20)].into_iter().chain(waiting).chain(updated).collect())
        };
        let mut console = TestConsole::on(nodes(target("ipc-018", NodeState::Soaking, 20)), 80, 24).typed("g");
        let rest = |console: &TestConsole| {
            list(console)
                .lines()
                .skip_while(|line| !line.starts_with("── waiting"))
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let below = rest(&console);
        console.see(nodes(end("ipc-018")));
        console.wait(6);
        let line = line_of(&console, "ipc-018");
        for _ in 0..3 {
            console.see(nodes(end("ipc-018")));
            console.wait(6);
            assert_eq!(selected(&console).as_deref(), Some("ipc-018"), "{what}");
            assert_eq!(line_of(&console, "ipc-018"), line, "{what}: {}", console.screen());
            assert!(list(&console).starts_with("── moving 1 · kept by the cursor 1 ──"), "{what}: {}", list(&console));
            assert_eq!(rest(&console), below, "{what}");
        }
        console.type_keys("k");
        assert_eq!(selected(&console).as_deref(), Some("ipc-019"), "{what}");
        assert!(list(&console).starts_with("── moving 1 ──"), "{what}: {}", list(&console));
    }
}

/// Before anybody moves the cursor it is on the first row; that may have become another one while a finger was on its way.
#[test]
fn a_key_concerns_the_node_that_was_current_a_moment_ago() {
    let nodes = |first: Option<NodeView>| {
        let rest = (20..60).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 40 }));
        with(first.into_iter().chain([target("ipc-018", NodeState::Soaking, 20)]).chain(rest).collect())
    };
    let opened = |later: u64| {
        let mut console = TestConsole::on(nodes(None), 80, 24);
        console.wait(20);
        console.see(nodes(Some(failed("ipc-017", CauseKind::CrashLoop, "exit 1", 1))));
        assert_eq!(current(&console).as_deref(), Some("ipc-017"), "trouble is shown first");
        console.wait(later);
        let console = console.typed("<enter>");
        console.model.node_page().map(|page| page.node.to_string())
    };
    assert_eq!(opened(0).as_deref(), Some("ipc-018"), "nobody has read of the other one yet");
    assert_eq!(opened(2).as_deref(), Some("ipc-017"));
    // A key that is about no row selects none: the list goes on showing its top.
    for keys in ["P<esc>", "TT", "i<esc>"] {
        let mut console = TestConsole::on(nodes(None), 80, 24);
        console.wait(20);
        console.see(nodes(Some(failed("ipc-017", CauseKind::CrashLoop, "exit 1", 1))));
        let console = console.typed(keys);
        assert_eq!((selected(&console), current(&console).as_deref()), (None, Some("ipc-017")), "{keys}");
    }
}

#[test]
fn more_trouble_than_fits_scrolls_within_the_upper_half() {
    let mut nodes: Vec<NodeView> =
        (0..30).map(|number| failed(&format!("ipc-{number:03}"), CauseKind::CrashLoop, "exit 1", 60)).collect();
    nodes.extend((30..60).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 30 })));
    let console = TestConsole::on(with(nodes), 80, 24);
    assert_snapshot!("nodes_much_trouble", list(&console));
    let further = console.typed("jjjjjjjjjj");
    assert_eq!(selected(&further).as_deref(), Some("ipc-010"));
    assert_snapshot!("nodes_much_trouble_scrolled", list(&further));
}

/// A seeded rollout: at each step nodes change their state and now and then a key is pressed. Whatever changes, the selection stays on
/// its node, and that node stays in sight.
#[test]
fn states_that_change_move_neither_the_selection_nor_what_is_read() {
    let seeds = std::env::var("ROLLDECK_SEED").ok().map(|seed| seed.parse::<u64>().expect("a number"));
    let seeds: Vec<u64> = seeds.map_or_else(|| (0..60).collect(), |seed| vec![seed]);
    for seed in seeds {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = random.usize(1..150);
        let name = |number: usize| format!("ipc-{number:03}");
        let state = |random: &mut fastrand::Rng, number: usize| match random.u8(0..11) {
            0 => failed(&name(number), CauseKind::CrashLoop, "exit 1", 60),
            1 => target(&name(number), NodeState::Pulling, 20),
            2 => target(&name(number), NodeState::Soaking, 20),
            3 => held(&name(number), Hold::Budget { used: 2, next: 0, limit: 2 }),
            4 | 5 => held(&name(number), Hold::Partition { keep: 40 }),
            6 => held(&name(number), Hold::Selector),
            7 => down(&name(number)),
            8 => old_not_ready(&name(number)),
            _ => updated(&name(number), 900),
        };
        let mut nodes: Vec<NodeView> = (0..count).map(|number| state(&mut random, number)).collect();
        let size = [(40, 12), (80, 24), (120, 40)][random.usize(0..3)];
        let mut console = TestConsole::on(with(nodes.clone()), size.0, size.1);
        for step in 0..40 {
            if random.u8(0..3) == 0 {
                let keys = ["j", "k", "<pgdn>", "<pgup>", "G", "g", "<enter>", "<left>", "<right>", "<esc>"];
                let key = keys[random.usize(0..keys.len())];
                console.type_keys(key);
                // Enter and escape lead elsewhere, too.
                while console.model.node_page().is_some() {
                    console.type_keys("<esc>");
                }
                if console.model.rollout().is_none() {
                    break;
                }
            }
            let before = selected(&console);
            let number = random.usize(0..count);
            nodes[number] = state(&mut random, number);
            console.see(with(nodes.clone()));
            console.wait(random.u64(0..4));
            // The heading of a group goes when its last node leaves it: then its neighbour is selected.
            let Some(name) = before else { continue };
            let told = format!("seed {seed}, step {step}: {name}\n{}", console.screen());
            assert_eq!(selected(&console).as_ref(), Some(&name), "{told}");
            assert!(line_of(&console, &name).is_some(), "not in sight: {told}");
        }
    }
}

/// Before a rollout moves, its nodes are to be seen; a step folds those that wait on, and nothing else does.
#[test]
fn waiting_nodes_are_folded_when_the_plan_changes_and_not_because_a_node_changes_its_state() {
    let held = |number: usize| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 40 });
    let mut nodes: Vec<NodeView> = (0..40).map(held).collect();
    let allowing = |allowed, nodes: &[NodeView]| {
        let snapshot = with(nodes.to_vec());
        Snapshot { plan: PlanView { allowed, ..snapshot.plan }, ..snapshot }
    };
    for (keys, folds) in [("", true), ("j", false)] {
        let mut console = TestConsole::on(allowing(0, &nodes), 80, 24).typed(keys);
        assert!(list(&console).contains("▾ partition keeps 40"), "{}", list(&console));
        let place = line_of(&console, "ipc-005");
        assert!(place.is_some(), "{}", console.screen());
        nodes[39] = updated("ipc-039", 900);
        console.see(allowing(0, &nodes));
        assert_eq!(line_of(&console, "ipc-005"), place, "{}", console.screen());
        nodes[0] = target("ipc-000", NodeState::Soaking, 20);
        console.see(allowing(1, &nodes));
        assert_eq!(line_of(&console, "ipc-005").is_none(), folds, "{keys}: {}", console.screen());
        assert_eq!(list(&console).contains("▸ partition keeps 40"), folds, "{}", list(&console));
        (nodes[0], nodes[39]) = (held(0), held(39));
    }
}

#[test]
fn rows_above_that_come_and_go_do_not_move_what_is_read() {
    let mut nodes: Vec<NodeView> =
        (0..100).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 100 })).collect();
    let mut console = TestConsole::on(with(nodes.clone()), 80, 24).typed("<pgdn><pgdn><pgdn>jjj");
    let place = line_of(&console, "ipc-050");
    assert!(place.is_some(), "{}", console.screen());
    for number in [3, 7, 90] {
        nodes[number] = updated(&format!("ipc-{number:03}"), 900);
        console.see(with(nodes.clone()));
        // The heading of the group is one more row above at first; nothing moves by it.
        assert_eq!(line_of(&console, "ipc-050"), place, "{number}: {}", console.screen());
    }
}

/// A node that is down, and not because of the rollout.
fn down(name: &str) -> NodeView {
    let blame = Some(Blame::PreExisting);
    NodeView { state: NodeState::NodeDown, blame, serves: false, ..held(name, Hold::NodeDown) }
}

/// A node whose old pod is not ready, and not because of the rollout.
fn old_not_ready(name: &str) -> NodeView {
    let cause = Cause { kind: CauseKind::NotReady, container: None, message: None };
    let blame = Some(Blame::PreExisting);
    NodeView { cause: Some(Box::new(cause)), blame, serves: false, ..held(name, Hold::Partition { keep: 40 }) }
}

#[test]
fn nodes_that_are_down_and_old_pods_that_are_not_ready_are_on_top() {
    let rest = || (20..60).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 40 }));
    let first = [target("ipc-018", NodeState::Soaking, 20), down("ipc-044"), old_not_ready("ipc-045")];
    let console = TestConsole::on(with(first.into_iter().chain(rest()).collect()), 80, 24);
    let screen = list(&console);
    assert!(screen.starts_with("── pods not ready 1 · nodes down 1 · moving 1 ──"), "{screen}");
    // After what is the rollout's own trouble, before what moves; none of them is listed twice.
    let place = |name: &str| line_of(&console, name).unwrap_or_else(|| panic!("{name} is not seen: {screen}"));
    assert!(place("ipc-045") < place("ipc-044") && place("ipc-044") < place("ipc-018"), "{screen}");
    assert!(screen.contains("── waiting 40 ──"), "{screen}");
    // When nothing else is in trouble, it is not said that nothing is.
    let alone = TestConsole::on(with([down("ipc-044")].into_iter().chain(rest()).collect()), 80, 24);
    assert!(!list(&alone).contains("nothing in trouble"), "{}", list(&alone));
    assert!(line_of(&alone, "ipc-044").is_some(), "{}", list(&alone));
}

#[test]
fn a_site_that_is_out_is_one_group_on_top() {
    let rest = (100..160).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 60 }));
    let out = (0..40).map(|number| down(&format!("ipc-{number:03}")));
    let moving = target("ipc-200", NodeState::Soaking, 20);
    let console = TestConsole::on(with([moving].into_iter().chain(out).chain(rest).collect()), 80, 24);
    assert_snapshot!("nodes_site_out", list(&console));
    assert_snapshot!("nodes_site_out_opened", list(&console.typed("k<enter>")));
}

/// The engine lists nodes by name, whenever they began.
#[test]
fn a_node_that_begins_to_move_goes_below_those_that_move_already() {
    let moving = |number: u32, state: NodeState| target(&format!("ipc-{number:03}"), state, 20);
    let rest = || (20..60).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 40 }));
    let rollout = |moving: Vec<NodeView>| with(moving.into_iter().chain(rest()).collect());
    let mut console =
        TestConsole::on(rollout([11, 13].map(|number| moving(number, NodeState::Soaking)).to_vec()), 80, 24);
    let before = ["ipc-011", "ipc-013"].map(|name| line_of(&console, name));
    console.see(rollout([11, 12, 13].map(|number| moving(number, NodeState::Creating)).to_vec()));
    assert_eq!(["ipc-011", "ipc-013"].map(|name| line_of(&console, name)), before, "{}", list(&console));
    assert!(line_of(&console, "ipc-012") > line_of(&console, "ipc-013"), "{}", list(&console));
}

#[test]
fn where_there_is_no_room_for_all_what_moves_is_seen_before_what_was_just_updated() {
    let name = |number: u32| format!("ipc-{number:03}");
    let rollout = |done: u32| {
        let updated = (0..done).map(|number| updated(&name(number), 1));
        let moving = (done..done + 7).map(|number| target(&name(number), NodeState::Soaking, 20));
        let rest = (done + 7..120).map(|number| held(&name(number), Hold::Partition { keep: 40 }));
        with(moving.chain(rest).chain(updated).collect())
    };
    let mut console = TestConsole::on(rollout(0), 80, 24);
    console.see(rollout(6));
    let screen = list(&console);
    assert!(screen.contains("moving 7 · just updated 6"), "{screen}");
    assert!((6..12).all(|number| line_of(&console, &name(number)).is_some()), "{screen}");
}

/// The heading of a group is told nothing of: `enter` opens a node, and `l` its log, also after the only one that moved is done.
#[test]
fn before_a_row_is_selected_the_current_one_is_a_node() {
    let nodes = |first: NodeView| {
        let waiting = (2..=120).map(|nth| held(&format!("ipc-{nth:03}"), Hold::Partition { keep: 119 }));
        with([first].into_iter().chain(waiting).collect())
    };
    for (width, height) in [(40, 12), (80, 24), (200, 50)] {
        let mut console = TestConsole::on(nodes(target("ipc-001", NodeState::Soaking, 5)), width, height);
        assert_eq!(current(&console).as_deref(), Some("ipc-001"));
        console.see(nodes(updated("ipc-001", 0)));
        assert_eq!(current(&console).as_deref(), Some("ipc-001"), "it lingers");
        console.wait(6);
        console.see(nodes(updated("ipc-001", 6)));
        let screen = console.screen();
        assert!(!screen.contains("\n>▸") && !screen.contains("\n>▾"), "{screen}");
        let first = screen.lines().skip_while(|line| !line.starts_with("   NODE")).nth(1).unwrap_or_default();
        assert!(height > 12 || !first.is_empty(), "there is no line to spare: {screen}");
        let current = current(&console).unwrap_or_default();
        assert!(
            console.screen().lines().any(|line| line.starts_with(&format!(">· {current}"))),
            "{}",
            console.screen()
        );
        let opened = console.typed("<enter>");
        assert!(opened.model.node_page().is_some_and(|page| *page.node == *current), "{}", opened.screen());
    }
    // The heading is one row up.
    let mut held = TestConsole::on(nodes(updated("ipc-001", 900)), 80, 24);
    held.type_keys("k");
    assert!(list(&held).contains(">▾ partition keeps"), "{}", list(&held));
    // What was selected by hand stays, below the heading of its group.
    let mut chosen = TestConsole::on(nodes(target("ipc-001", NodeState::Soaking, 5)), 80, 24).typed("jk");
    chosen.see(nodes(updated("ipc-001", 0)));
    chosen.wait(6);
    chosen.see(nodes(updated("ipc-001", 6)));
    assert_eq!(selected(&chosen).as_deref(), Some("ipc-001"), "{}", chosen.screen());
}

#[test]
fn a_group_stays_open_when_only_its_reason_changes() {
    let nodes = |hold: Hold| {
        let next = (20..66).map(|number| held(&format!("ipc-{number:03}"), hold.clone()));
        let updated = (70..110).map(|number| updated(&format!("ipc-{number:03}"), 900));
        with(next.chain(updated).collect())
    };
    let driven = || nodes(Hold::Budget { used: 2, next: 0, limit: 2 });
    let mut console = TestConsole::on(driven(), 80, 24).typed("jj");
    assert!(list(&console).contains("\n>· ipc-022 "), "{}", list(&console));
    console.see(nodes(Hold::NobodyDrives));
    assert!(list(&console).contains("▾ nobody drives: 46 nodes"), "{}", list(&console));
    assert!(list(&console).contains("\n>· ipc-022 ") && list(&console).contains(" ipc-024 "), "{}", list(&console));
    // On its heading the selection goes along, and a group that was folded stays folded.
    let mut folded = TestConsole::on(driven(), 80, 24).typed("k<enter>");
    folded.see(nodes(Hold::NobodyDrives));
    assert!(list(&folded).contains(">▸ nobody drives: 46 nodes"), "{}", list(&folded));
    folded.see(driven());
    assert!(list(&folded).contains(">▸ next in line: 46 nodes"), "{}", list(&folded));
}

#[test]
fn a_group_that_was_folded_before_a_filter_is_folded_after_it() {
    let nodes = (20..66).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 46 }));
    let mut console = TestConsole::on(with(nodes.collect()), 80, 24);
    let opened = list(&console);
    assert!(opened.contains("▾ partition keeps 46: 46 nodes"), "nothing else is to be seen: {opened}");
    console.type_keys("g<left>");
    let folded = list(&console);
    assert!(folded.contains("▸ partition keeps 46: 46 nodes"), "{folded}");
    console.type_keys("/ipc-02<enter><esc>");
    let after = list(&console);
    assert!(after.contains("▸ partition keeps 46: 46 nodes"), "{after}");
}

/// A filter that is typed passes through texts that match other nodes than the whole of it.
#[test]
fn a_filter_leaves_the_cursor_on_its_node_while_that_matches() {
    let on = |console: &TestConsole| selected(console).unwrap_or_default();
    // On the way to this filter a column is searched that no node has the text in.
    let mut console = TestConsole::on(running(), 80, 24).typed("/ipc-052<enter><down><esc>");
    assert_eq!(on(&console), "ipc-052");
    console.type_keys("/state=outdated");
    assert_eq!(on(&console), "ipc-052");
    console.type_keys("<enter>");
    assert_eq!(on(&console), "ipc-052");
    // One that hides it: the next row in the order of the list, and back when the filter is given up.
    let mut console = TestConsole::on(running(), 80, 24).typed("j/ipc-02");
    let hidden = TestConsole::on(running(), 80, 24).typed("j");
    assert_eq!(on(&hidden), "ipc-031");
    assert_eq!(on(&console), "ipc-020", "{}", console.screen());
    console.type_keys("<backspace>31");
    assert_eq!(on(&console), "ipc-031", "it matches again");
    console.type_keys("<backspace><backspace>18");
    assert_eq!(on(&console), "ipc-018");
    console.type_keys("<esc>");
    assert_eq!(on(&console), "ipc-031", "{}", console.screen());
    // Whoever keeps the filter, or walks what it shows, is there now.
    let console = TestConsole::on(running(), 80, 24).typed("j/ipc-018<enter><esc>");
    assert_eq!(on(&console), "ipc-018");
    let console = TestConsole::on(running(), 80, 24).typed("j/ipc-02<down><esc>");
    assert_eq!(on(&console), "ipc-021");
    // In the order of the column by which the list is sorted.
    let console = TestConsole::on(running(), 80, 24).typed(":sort name<enter>gj/ipc-03<enter>");
    assert_eq!(on(&console), "ipc-030", "{}", console.screen());
}

/// The cursor is on one of the last pinned rows when nodes fail: the worst of them is in sight all the same, and it is said that there are more.
#[test]
fn the_worst_node_is_in_sight_wherever_the_cursor_is() {
    let name = |number: u32| format!("ipc-{number:03}");
    let rollout = |failing: u32| {
        let failing_nodes = (0..failing).map(|number| failed(&name(number), CauseKind::CrashLoop, "3 restarts", 5));
        let moving = (failing..16).map(|number| target(&name(number), NodeState::Pulling, 20));
        let rest = (16..60).map(|number| held(&name(number), Hold::Partition { keep: 44 }));
        with(failing_nodes.chain(moving).chain(rest).collect())
    };
    let mut console = TestConsole::on(rollout(0), 80, 24).typed("jjjjjjjjjjjjjj");
    let at = selected(&console).unwrap();
    assert_eq!(at, name(14));
    assert!(line_of(&console, &name(0)).is_none(), "{}", list(&console));
    console.see(rollout(3));
    let screen = list(&console);
    assert!(line_of(&console, &name(0)).is_some() && line_of(&console, &at).is_some(), "{screen}");
    assert!(screen.contains("2 more in trouble"), "{screen}");
    // Up to the first rows: they are as they were, each once.
    for _ in 0..14 {
        console.type_keys("k");
        let screen = list(&console);
        let current = selected(&console).unwrap();
        assert!(line_of(&console, &current).is_some(), "{current}: {screen}");
        assert_eq!(screen.matches(&name(0)).count(), 1, "{screen}");
    }
    assert!(!list(&console).contains("more in trouble") && line_of(&console, &name(2)).is_some(), "{}", list(&console));
}

/// The pod was in trouble before the node counted as failed. Row, pane and header tell since when it has failed, and the halt since when it halts.
#[test]
fn a_failure_has_one_age_wherever_it_is_told() {
    let node = NodeView { cause_since: Some(ago(300)), ..failed("ipc-017", CauseKind::CrashLoop, "exit 1", 180) };
    let snapshot = Snapshot { nodes: [node].into(), ..halted() };
    let screen = TestConsole::on(snapshot, 160, 40).screen();
    for told in ["(ipc-017, 3m)", "failed: crash loop: exit 1, 3m", "3m  │", "HALTED 2m ago"] {
        assert!(screen.contains(told), "{told}:\n{screen}");
    }
    assert!(!screen.contains("5m"), "{screen}");
}
