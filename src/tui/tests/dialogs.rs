//! What all dialogs have in common: where they are, where the focus goes, what they warn of. And the dialog for new images.

use insta::assert_snapshot;
use ratatui::layout::Rect;

use super::console::TestConsole;
use super::fixtures::{self, preview, running};
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::{Counts, PlanView, RevisionView, Snapshot};
use crate::tui::dialog::Focus;
use crate::tui::message::ConsoleEffect;
use crate::tui::model::Overlay;
use crate::tui::status::StatusSeverity;
use crate::tui::view;

/// The keys that open each of the dialogs.
const DIALOGS: [&str; 13] =
    ["S", "I", "N", "U", "L", "W", "P", "R", "D", "O", ":drive<enter>", "q", ":partition 30%<enter>"];

/// A console on which what other tools do to the DaemonSet allows every dialog that `keys` can open.
fn open(keys: &str, (width, height): (u16, u16)) -> TestConsole {
    let snapshot = if keys == "O" { fixtures::idle() } else { running() };
    let console = TestConsole::on(snapshot, width, height).typed(&format!("A{keys}"));
    assert!(matches!(console.model.overlay, Overlay::Dialog(_)), "{keys}: {}", console.screen());
    console
}

fn without_dialog(keys: &str, (width, height): (u16, u16)) -> TestConsole {
    let snapshot = if keys == "O" { fixtures::idle() } else { running() };
    TestConsole::on(snapshot, width, height).typed("A")
}

fn focus(console: &TestConsole) -> Focus {
    match &console.model.overlay {
        Overlay::Dialog(dialog) => dialog.focus,
        _ => panic!("no dialog on\n{}", console.screen()),
    }
}

/// Where the dialog is.
fn frame(console: &TestConsole) -> Rect {
    let screen = console.screen();
    let at = |corner: char| {
        let found = screen.lines().enumerate().find_map(|(y, line)| Some((y, line.chars().position(|c| c == corner)?)));
        found.map(|(y, x)| (x as u16, y as u16)).expect("a corner")
    };
    let ((left, top), (right, bottom)) = (at('┌'), at('┘'));
    Rect { x: left, y: top, width: right + 1 - left, height: bottom + 1 - top }
}

fn done(console: &TestConsole) -> Vec<&Command> {
    let commands = console.effects.iter().filter_map(|effect| match effect {
        ConsoleEffect::Do { command, .. } => Some(command),
        _ => None,
    });
    commands.collect()
}

#[test]
fn all_dialogs_have_one_place_below_the_header_and_one_width() {
    for size in [(40, 12), (60, 20), (80, 16), (80, 24), (120, 40), (200, 50)] {
        for keys in DIALOGS {
            let (before, with) = (without_dialog(keys, size).screen(), open(keys, size).screen());
            let top = with.lines().position(|line| line.contains('┌')).expect("a box");
            let header: Vec<&str> = with.lines().take(top).collect();
            assert_eq!(header, before.lines().take(top).collect::<Vec<_>>(), "{keys} at {size:?}");
            let covered = before.lines().nth(top).unwrap_or_default();
            assert!(covered.starts_with('─') || covered.contains("NODE "), "{keys} at {size:?} covers {covered}");
            // The budget stays in sight, wherever there is room for it: in two lines, or with the bar and what is down.
            assert!(keys == "O" || header.iter().any(|line| line.contains("down 2")), "{keys} at {size:?}:\n{with}");
        }
        // Another DaemonSet, another header.
        for keys in DIALOGS.iter().filter(|keys| **keys != "O") {
            let (frame, other) = (frame(&open(keys, size)), frame(&open("S", size)));
            assert_eq!((frame.x, frame.y, frame.width), (other.x, other.y, other.width), "{keys} at {size:?}");
        }
    }
}

#[test]
fn a_dialog_leaves_nodes_in_sight_and_does_not_jump() {
    for keys in ["P", "R", "C"] {
        let console = || match keys {
            "C" => TestConsole::on(fixtures::halted(), 80, 24).typed("AC"),
            keys => open(keys, (80, 24)),
        };
        let (asking, screen) = (frame(&console()), console().screen());
        assert!(
            screen.lines().skip(usize::from(asking.bottom())).any(|line| line.contains(" ipc-")),
            "{keys}:\n{screen}"
        );
        let answer = Preview { nodes: [].into(), ..preview(Danger::Bounded) };
        assert_eq!(asking, frame(&console().answered(answer)), "{keys}");
    }
    let inside = frame(&open("I", (80, 24)));
    for image in [":v", "registry.example.com/other/agent:v3", ""] {
        assert_eq!(inside, frame(&open(&format!("I{image}"), (80, 24))), "I{image}");
    }
}

/// What a dialog does is on its title, what is filled in and both buttons are in sight, and which key leaves it is in its frame.
#[test]
fn the_smallest_screen_shows_title_field_buttons_and_the_way_out_of_every_dialog() {
    let snapshots =
        [fixtures::running(), fixtures::halted(), fixtures::paused(), fixtures::cascade(), fixtures::idle()];
    for (nth, snapshot) in snapshots.iter().enumerate() {
        for keys in DIALOGS.iter().chain(&["C"]) {
            for danger in [Danger::Bounded, Danger::Serious, Danger::ExceedsBudget] {
                for is_refused in [false, true] {
                    let mut console = TestConsole::on(snapshot.clone(), 40, 12).typed("A").typed(keys);
                    let Overlay::Dialog(dialog) = &console.model.overlay else { continue };
                    let (verb, is_form) = (dialog.verb(), dialog.focus == Focus::Form);
                    console = console.answered(preview(danger));
                    if is_refused {
                        console.model.say(StatusSeverity::Refused, "it was refused, for a reason of some length");
                    }
                    let screen = console.screen();
                    let what = format!("{nth} {keys} {danger:?}:\n{screen}");
                    let has = |words: &str| screen.lines().any(|line| line.contains(words));
                    assert!(has("┌ ") && has(verb) && has(" esc: ") && has("─┘"), "{what}");
                    assert!(["[ Cancel ]", "[>Cancel<]", "[>Stay<]"].iter().any(|button| has(button)), "{what}");
                    // What enter does is told, where no button with the focus tells it.
                    let Overlay::Dialog(dialog) = &console.model.overlay else { continue };
                    let on_button = matches!(dialog.focus, Focus::Cancel | Focus::Go);
                    let waits = dialog.focus == Focus::Form && dialog.danger().is_none() && dialog.waits();
                    let told = has("enter") || has("its name first") || on_button || waits;
                    assert!(told, "{what}");
                    let typed = view::draw(&console.model).1.cursor.is_some();
                    assert!(!is_form || typed || has("│ > ") || has("│   "), "{what}");
                }
            }
        }
    }
}

/// What the chosen step does is not cut, and what needs attention has its key and its reason.
#[test]
fn on_the_smallest_screen_what_is_chosen_is_told_in_full() {
    let screen = TestConsole::on(fixtures::halted(), 40, 12).typed("AS").screen();
    assert!(screen.contains("> next     50%: lets 3 nodes go, 41") && screen.contains("│   in total "), "{screen}");
    let screen = TestConsole::on(fixtures::cascade(), 40, 12).screen();
    assert!(screen.contains("! losing nodes: 9 down, 2 may be\n P brakes: sets OnDelete at once\n"), "{screen}");
    // What goes wrong while its controller rolls, and is not an alarm.
    let native = Snapshot { alarms: Vec::new(), ..fixtures::cascade() };
    let screen = TestConsole::on(native, 40, 12).screen();
    assert!(screen.contains(" its controller goes on, whatever fails\n P brakes"), "{screen}");
}

#[test]
fn alarms_stay_in_sight() {
    for (width, height) in [(80, 24), (120, 40)] {
        let screen = TestConsole::on(fixtures::stale(), width, height).typed("P").screen();
        assert!(screen.contains("STALE pods") && screen.contains("nothing is started: pods and nodes"), "{screen}");
        assert!(screen.contains("[ Pause now ]"), "{screen}");
    }
    let screen = TestConsole::on(fixtures::halted(), 40, 12).typed("AC").screen();
    assert!(screen.contains("HALTED") || screen.contains("halted"), "{screen}");
}

#[test]
fn tab_reaches_the_action_then_cancel_then_the_fields() {
    for keys in DIALOGS {
        let mut console = open(keys, (80, 24));
        if focus(&console) != Focus::Form {
            continue;
        }
        for (key, want) in
            [("<tab>", Focus::Go), ("<tab>", Focus::Cancel), ("<tab>", Focus::Form), ("<shift-tab>", Focus::Cancel)]
        {
            console.type_keys(key);
            assert_eq!(focus(&console), want, "{keys}, {key}");
        }
    }
    // Whatever was filled in before, and wherever in the form.
    for keys in ["N<c-u>topo", "W<down><down>", "I<down>", "L<down><down>", "N<c-u>line=line3"] {
        assert_eq!(focus(&open(&format!("{keys}<tab>"), (80, 24))), Focus::Go, "{keys}");
    }
    // A name that has to be typed comes before the action.
    let mut beyond = open("U", (80, 24)).answered(preview(Danger::ExceedsBudget));
    for want in [Focus::Name, Focus::Go, Focus::Cancel, Focus::Form] {
        beyond.type_keys("<tab>");
        assert_eq!(focus(&beyond), want);
    }
}

#[test]
fn the_line_that_is_typed_on_is_seen_and_on_the_action_what_it_does() {
    for size in [(40, 10), (40, 12), (80, 24), (200, 50)] {
        let mut console = open("W", size).answered(preview(Danger::Bounded));
        for step in 0..9 {
            let screen = console.screen();
            assert!(screen.contains("│ > "), "line {step} at {size:?}:\n{screen}");
            console.type_keys("<down>");
        }
        console.type_keys("<tab>");
        assert!(console.screen().contains("22 nodes may be"), "at {size:?}:\n{}", console.screen());
    }
}

#[test]
fn a_selector_that_no_node_has_is_not_confirmed_by_enter_alone() {
    for keys in [
        "N<c-u>line=lime3",
        "N<c-u>canary",
        "W<down><right><right><right><down>line=lime3",
        "W<down><down><down><down>rack",
        ":tune site-label=rack<enter>",
    ] {
        let answered = || open(keys, (80, 24)).answered(preview(Danger::Bounded));
        let screen = answered().screen();
        assert!(screen.contains("matches 0 of 120 nodes"), "{keys}:\n{screen}");
        let names_a_label = keys.ends_with("rack") || keys.contains("=rack");
        assert_eq!(
            screen.contains("matches 0 of 120 nodes; nearest to it: line ("),
            names_a_label,
            "{keys}:\n{screen}"
        );
        assert!(done(&answered().typed("<enter>")).is_empty(), "{keys}");
        assert!(done(&answered().typed("<enter><enter>")).is_empty(), "{keys}: the focus is on cancel");
        assert_eq!(done(&answered().typed("<tab><enter>")).len(), 1, "{keys}: who wants it can have it");
    }
    for keys in ["N<c-u>line!=line4", "W<down><down><down><down>line", ":tune site-label=line<enter>"] {
        let console = open(keys, (80, 24)).answered(preview(Danger::Bounded));
        assert!(!console.screen().contains("matches 0"), "{keys}:\n{}", console.screen());
        assert_eq!(done(&console.typed("<enter>")).len(), 1, "{keys}");
    }
    // A node that joins is seen.
    let mut console = open("N<c-u>line=lime3", (80, 24)).answered(preview(Danger::Bounded));
    let mut nodes = running().nodes.to_vec();
    nodes[0].labels = [("line", "lime3")].into_iter().collect();
    console.see(Snapshot { nodes: nodes.into(), ..running() });
    assert!(!console.screen().contains("matches 0"), "{}", console.screen());
}

/// An empty field would look as if no selector were in force, also where all of its nodes are updated.
#[test]
fn the_form_for_a_selector_begins_with_the_one_in_force() {
    let console = TestConsole::on(fixtures::canary_done(), 80, 24).typed("AN");
    let screen = console.screen();
    assert!(screen.contains("Only nodes with: canary=true ") && screen.contains("[ Select ]"), "{screen}");
    let hint = "canary=true is in force: change it, or ctrl-u empties the field to lift it";
    assert!(screen.contains(hint), "{screen}");
    assert!(done(&console.typed("<enter>")).is_empty(), "what is in force is not written again");
}

/// Names of nodes of a cloud are longer than a line of a small dialog.
#[test]
fn no_name_of_a_node_is_torn_apart() {
    let names = ["ip-10-0-123-45.eu-central-1.compute.internal", "ip-10-0-7-1.eu-central-1.compute.internal"];
    let preview = Preview { nodes: names.map(Into::into).into(), ..preview(Danger::Bounded) };
    let screen = TestConsole::on(running(), 40, 30).typed("AS").answered(preview).screen();
    for (from, to) in [("│ ip-10-0-123-45.e", "compute.internal"), ("│ ip-10-0-7-1", "compute.internal")] {
        let line = screen.lines().find(|line| line.contains(from));
        assert!(line.is_some_and(|line| line.contains(to)), "{screen}");
    }
}

/// A DaemonSet with two containers.
fn with_proxy() -> Snapshot {
    let proxied = |revision: &RevisionView| {
        let version = revision.number.unwrap_or_default();
        let image = format!("registry.factory.example/edge/proxy:{version}");
        let mut images = revision.images.clone();
        images.push(("proxy".into(), image.into()));
        RevisionView { images, ..revision.clone() }
    };
    let running = running();
    Snapshot {
        to: running.to.as_ref().map(proxied),
        revisions: running.revisions.iter().map(proxied).collect(),
        ..running
    }
}

fn images(console: &TestConsole) -> Vec<(String, String)> {
    let asked = console.effects.iter().rev().find_map(|effect| match effect {
        ConsoleEffect::Ask { command: Command::SetImage(images), .. } => Some(images),
        _ => None,
    });
    let images = asked.expect("a question about images");
    images.iter().map(|(name, image)| (name.clone(), image.to_string())).collect()
}

#[test]
fn images_are_completed_with_what_is_known() {
    let agent = |version: &str| ("agent".to_owned(), format!("registry.factory.example/edge/agent:{version}"));
    let offered = TestConsole::on(running(), 80, 24).typed("AI<backspace><backspace><backspace><backspace><backspace>");
    let screen = offered.screen();
    assert!(screen.contains("right: agent:v1.9.0 (rev 15)  agent:v1.8.2 (rev 14)"), "{screen}");
    let console = TestConsole::on(running(), 80, 24).typed("AI<c-u>re<right>");
    assert_eq!(images(&console.typed("8.1")), [agent("v1.8.1")], "what all have in common");
    let console = TestConsole::on(running(), 80, 24).typed("AI<c-u>registry.factory.example/edge/agent:v1.8.2");
    assert_eq!(images(&console), [agent("v1.8.2")]);
    let unique = "AI<c-u>registry.factory.example/edge/agent:v1.9<right>";
    assert!(TestConsole::on(running(), 80, 24).typed(unique).screen().contains("the same image as now"));
    // In the middle of the text the arrow moves.
    let console = TestConsole::on(running(), 80, 24).typed("AI<c-u>re<left><right>x");
    assert!(console.screen().contains("rex"), "{}", console.screen());
    // The form for pre-warming has the same lines.
    let console = TestConsole::on(running(), 80, 24).typed("AW<right><down><c-u>re<right>8");
    assert!(console.screen().contains("registry.factory.example/edge/agent:v1.8"), "{}", console.screen());
}

/// What halted the rollout before is told where the same image is chosen again, and where it is offered.
#[test]
fn an_image_at_which_the_rollout_halted_is_not_offered_without_saying_so() {
    let went_back = || {
        let (running, revisions) = (running(), fixtures::halted().revisions);
        let snapshot = Snapshot { to: running.from.clone(), from: running.to.clone(), revisions, ..running };
        TestConsole::on(snapshot, 120, 40)
    };
    let offered = went_back().typed("AI<backspace><backspace><backspace><backspace>").screen();
    assert!(offered.contains("agent:v1.9.0 (rev 15, halted)  agent:v1.8.2 (rev 14)"), "{offered}");
    assert!(!offered.contains("halted at it"), "{offered}");
    let chosen = went_back().typed("AI<c-u>registry.factory.example/edge/agent:v1.9.0").screen();
    assert!(chosen.contains("! halted at it before (rev 15): 1 of 120 nodes failed (threshold 1): image "), "{chosen}");
    // The preview of the same change tells of the halt: it is not told twice.
    let warns = fixtures::halted().revisions[0].halted.clone().unwrap().why;
    let mut both = fixtures::preview(Danger::None);
    both.warnings = vec![format!("The rollout halted at revision 15, at 11:40 UTC: {warns}.")];
    let once = went_back().typed("AI<c-u>registry.factory.example/edge/agent:v1.9.0").answered(both).screen();
    assert!(once.contains("halted at revision 15") && !once.contains("halted at it before"), "{once}");
    // What a revision that did not halt has as well is not blamed.
    let shared = |revision: &RevisionView| {
        let images = [revision.images[0].clone(), ("proxy".into(), "registry.factory.example/edge/proxy:v7".into())];
        RevisionView { images: images.into(), ..revision.clone() }
    };
    let mut console = went_back();
    let revisions = fixtures::halted().revisions.iter().map(shared).collect::<Vec<_>>().into();
    console.see(Snapshot { revisions, to: running().from, ..running() });
    console.type_keys("AI<c-u>registry.factory.example/edge/proxy:v7");
    assert!(!console.screen().contains("halted at it"), "{}", console.screen());
}

#[test]
fn images_of_other_daemonsets_that_are_open_are_known() {
    let mut console = TestConsole::on(running(), 80, 24);
    let shipper = crate::tui::daemonset_ref::DaemonSetRef { namespace: "edge".into(), name: "log-shipper".into() };
    let mut other = crate::tui::model::RolloutPage::new(shipper);
    let mut snapshot = running();
    snapshot.name = "log-shipper".into();
    if let Some(to) = &mut snapshot.to {
        to.images = vec![("ship".into(), "ghcr.example/ship:7".into())];
    }
    other.live =
        Some(crate::tui::model::ShownSnapshot { snapshot: snapshot.into(), at: console.now, is_frozen: false });
    console.model.rollouts.push(other);
    console.type_keys("AI<c-u>gh");
    assert!(console.screen().contains("right: ship:7 (ds/edge/log-shipper)"), "{}", console.screen());
    console.type_keys("<right>");
    assert_eq!(images(&console), [("agent".to_owned(), "ghcr.example/ship:7".to_owned())]);
}

#[test]
fn old_and_new_image_are_shown_per_container_and_another_repository_is_warned_of() {
    let changed = "AI<backspace>1<down><c-u>ghcr.example/edge/proxy:16";
    for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        let console = TestConsole::on(with_proxy(), width, height).typed(changed).answered(Preview {
            title: "change 2 images".into(),
            nodes: [].into(),
            ..preview(Danger::Serious)
        });
        assert_snapshot!(format!("dialog_images_{width}x{height}"), console.screen());
    }
    let console = TestConsole::on(with_proxy(), 80, 24).typed(changed);
    let both = [
        ("agent".to_owned(), "registry.factory.example/edge/agent:v1.9.1".to_owned()),
        ("proxy".to_owned(), "ghcr.example/edge/proxy:16".to_owned()),
    ];
    assert_eq!(images(&console), both);
    let screen = console.screen();
    assert!(screen.contains("v1.9.0 → v1.9.1"), "{screen}");
    assert!(screen.contains("registry changes! registry.factory.example →"), "{screen}");
    let same = TestConsole::on(with_proxy(), 80, 24).typed("AI<backspace>1").screen();
    assert!(!same.contains("changes!"), "{same}");
}

#[test]
fn the_form_of_a_step_does_not_say_that_more_are_updated_than_may_be() {
    let said = |updated: u32, allowed: u32| {
        let running = running();
        let plan = PlanView { allowed, keep: 120 - allowed, ..running.plan.clone() };
        let counts = Counts { updated, committed: updated, ..running.counts };
        let console = TestConsole::on(Snapshot { plan, counts, ..running }, 80, 24).typed("AS");
        let screen = console.screen();
        screen
            .lines()
            .find(|line| line.contains("updated; ") || line.contains("already; "))
            .unwrap_or_default()
            .to_owned()
    };
    assert!(said(31, 38).contains("Now 38 of 120 nodes may be updated; 31 so far."), "{}", said(31, 38));
    let leaked = said(53, 0);
    assert!(leaked.contains("53 of 120 nodes are updated already; no further node may be."), "{leaked}");
}

/// What it costs is read beside the line on which the name is typed, and the rest is reached whatever has the focus.
#[test]
fn the_text_of_a_dialog_is_scrolled_whatever_has_the_focus() {
    let effects = ["120 pods are not at the current revision.", "Restores the original update strategy.", "The end."];
    let released =
        Preview { effects: effects.map(str::to_owned).to_vec(), nodes: [].into(), ..preview(Danger::ExceedsBudget) };
    let mut console = open("R", (40, 12)).answered(released).typed("ipc");
    let shows = |console: &TestConsole, words: &str| console.screen().contains(words);
    assert_eq!(focus(&console), Focus::Name);
    for words in ["more nodes than", "120 pods are not", "Type ipc-agent to confirm: ipc", "pgdn"] {
        assert!(shows(&console, words), "{words}:\n{}", console.screen());
    }
    console.type_keys("<pgdn><pgdn><pgdn><pgdn>");
    for words in ["The end.", "Type ipc-agent to confirm: ipc", "pgup"] {
        assert!(shows(&console, words), "{words}:\n{}", console.screen());
    }
    console.type_keys("<pgup><pgup><pgup>");
    assert!(shows(&console, "more nodes than"), "from its first line:\n{}", console.screen());
    console.type_keys("-agent");
    assert!(shows(&console, "confirm: …c-agent"), "it is still typed on:\n{}", console.screen());
    // Where the buttons take the whole line, the frame has the hint.
    let long = Preview { warnings: vec!["a long story ".repeat(30)], ..preview(Danger::Serious) };
    let halted = TestConsole::on(fixtures::halted(), 40, 12).typed("AC").answered(long);
    let screen = halted.screen();
    let line = |words: &str| screen.lines().find(|line| line.contains(words)).unwrap_or_default().to_owned();
    assert!(line("[ Accept and resume ]").ends_with("[>Cancel<]    │"), "{screen}");
    assert!(line("└").ends_with(" pgdn ─ esc: cancel ─┘"), "{screen}");
    assert!(screen.contains("┌ Accept and resume"), "{screen}");
    // The line of a form is typed on, and what it would do is below the fold.
    for (keys, typed) in [("S", ""), ("I", "x"), ("N", ""), ("U", ""), ("L", "5"), ("P", "why"), ("D", ""), ("R", "")] {
        let long = Preview { warnings: vec!["a long story ".repeat(30)], ..preview(Danger::Bounded) };
        let mut console = open(keys, (40, 12)).typed(typed).answered(long);
        let before = console.screen();
        console.type_keys("<pgdn>");
        let below = console.screen();
        assert_ne!(below, before, "{keys}");
        console.type_keys("<pgup><pgup>");
        assert_ne!(console.screen(), below, "{keys}");
    }
}

/// Nothing is typed in these dialogs: they are about as high as their text, which says what happens, what halts the rollout and which keys stop it.
#[test]
fn to_drive_and_to_stop_driving_say_what_happens_and_leave_few_lines_empty() {
    let said = |title: &str, effects: &[&str]| Preview {
        title: title.into(),
        effects: effects.iter().map(|effect| (*effect).to_owned()).collect(),
        nodes: Default::default(),
        calls: Vec::new(),
        ..preview(Danger::None)
    };
    let free = || Snapshot { driver: DriverView::Nobody, ..running() };
    let drives = said(
        "Drive",
        &[
            "7 nodes are in line, at most 2 down and 2 pulling at a time.",
            "This process becomes the driver; the rollout moves while it runs.",
        ],
    );
    let stops = said(
        "Stop driving",
        &["Nothing more is replaced until somebody drives again.", "82 nodes keep the revision that they run."],
    );
    for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        let drive = TestConsole::on(free(), width, height).typed("AD").answered(drives.clone());
        assert_snapshot!(format!("dialog_drive_{width}x{height}"), drive.screen());
        let stop = TestConsole::on(running(), width, height).typed("AD");
        let asking = frame(&stop);
        let stop = stop.answered(stops.clone());
        assert_snapshot!(format!("dialog_stop_driving_{width}x{height}"), stop.screen());
        assert_eq!(frame(&stop), asking, "it does not jump");
        let empty = |console: &TestConsole| {
            let line = format!("│{}│", " ".repeat(usize::from(frame(console).width) - 2));
            console.screen().lines().filter(|shown| shown.contains(&line)).count()
        };
        assert!(empty(&drive) <= 3 && empty(&stop) <= 3, "{}\n{}", drive.screen(), stop.screen());
    }
}

/// Limits that are only confirmed are not said to change; an ordinary form without a change says that nothing does.
#[test]
fn limits_without_a_change_are_not_said_to_change() {
    let unchanged = open("L", (120, 40)).screen();
    assert!(unchanged.contains("nothing changes: up and down choose a line"), "{unchanged}");
    let begun = crate::engine::model::record::By { by: "ben@bastion-1/2".into(), at: fixtures::ago(60) };
    let soak = std::time::Duration::from_secs(60);
    let lost = crate::engine::report::snapshot::Alarm::LimitsLost { begun, before: None, max_unavailable: 2, soak };
    let snapshot = Snapshot { alarms: vec![lost], ..running() };
    let mut console = TestConsole::on(snapshot, 120, 40).typed("AL").answered(preview(Danger::Bounded));
    let screen = console.screen();
    assert!(screen.contains("┌ Confirm the limits") && screen.contains("[ Confirm ]"), "{screen}");
    console.type_keys("7");
    let screen = console.screen();
    assert!(screen.contains("┌ Limits") && screen.contains("[ Change ]"), "{screen}");
}

/// Whatever the smaller step allows: no node that the selector leaves out goes.
#[test]
fn a_step_back_counts_the_nodes_that_the_selector_lets_go() {
    let back = |selected: u32| {
        let mut snapshot = fixtures::running();
        (snapshot.plan.allowed, snapshot.plan.selected, snapshot.counts.committed) = (120, selected, 35);
        TestConsole::on(snapshot, 120, 40).typed("AS").screen()
    };
    assert!(back(90).contains("50% (reverts no node, 25 more may go)"), "{}", back(90));
    assert!(back(41).contains("50% (reverts no node, 6 more may go)"), "{}", back(41));
    assert!(back(35).contains("50% (reverts no node, starts no more)"), "{}", back(35));
}

/// A roll back updates every node, whatever the steps: the dialog that would be refused says no number of nodes that may go.
#[test]
fn a_step_on_the_way_back_lets_no_nodes_go() {
    let mut snapshot = Snapshot { direction: Direction::Back, ..fixtures::running() };
    (snapshot.plan.allowed, snapshot.counts.committed) = (120, 35);
    let screen = TestConsole::on(snapshot, 120, 40).typed("AS").screen();
    assert!(screen.contains("50% (a roll back ignores it)"), "{screen}");
    assert!(!screen.contains("the present step is not done") && !screen.contains("may go"), "{screen}");
}

/// What a step warns of, such as steps of the plan that it leaves out, is seen on few lines, too.
#[test]
fn the_steps_that_are_left_out_are_seen_on_few_lines() {
    let said = "Leaves out the plan's steps to 10% and 50%: waits at none of them.";
    for (cells, lines) in [(40, 12), (80, 24), (120, 40)] {
        for keys in ["A:step 100%<enter>", "A:partition 0<enter>"] {
            let answer = Preview { warnings: vec![said.into()], ..preview(Danger::Bounded) };
            let screen = TestConsole::on(running(), cells, lines).typed(keys).answered(answer).screen();
            let words = screen.replace(['│', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(said), "{keys}: {screen}");
        }
    }
}
