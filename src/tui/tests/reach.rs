//! What reaches beyond the console's own screen: words from k9s, the clipboard, the bell and the title; and the search in the help.

use std::sync::Arc;

use insta::assert_snapshot;

use super::console::TestConsole;
use super::events::{rollout_event, with_events};
use super::fixtures::{self, MINUTE, ago, fleet, noon, running};
use crate::engine::model::driver::DriverView;
use crate::engine::model::node::NodeState;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEventKind};
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::message::{ConsoleEffect, Msg};
use crate::tui::model::{Overlay, Page};
use crate::tui::notify;
use crate::tui::terminal::Screen;
use crate::tui::theme::{Glyph, Glyphs};
use crate::tui::view;

fn on_running() -> TestConsole {
    TestConsole::on(running(), 80, 24)
}

fn on_fleet() -> TestConsole {
    let mut console = TestConsole::on_fleet(80, 24);
    console.tell(Msg::Fleet(Arc::new(fleet())));
    console
}

fn status(console: &TestConsole) -> String {
    console.model.status.as_ref().map(|status| status.text.clone()).unwrap_or_default()
}

fn copied(console: &TestConsole) -> Option<String> {
    console.effects.iter().rev().find_map(|effect| match effect {
        ConsoleEffect::Copy(text) => Some(text.clone()),
        _ => None,
    })
}

#[test]
fn words_from_k9s_lead_somewhere() {
    for word in ["pods", "po", "no", "nodes"] {
        let console = TestConsole::on(with_events(), 80, 24).typed(&format!("T:{word}<enter>"));
        assert!(console.model.rollout().unwrap().timeline().is_none(), "{word} leads back to the nodes");
        let from_fleet = on_fleet().typed(&format!(":{word}<enter>"));
        assert!(status(&from_fleet).contains("open a DaemonSet first"), "{word}: {}", status(&from_fleet));
    }
    for word in ["ds", "daemonsets", "dss"] {
        assert_eq!(on_running().typed(&format!(":{word}<enter>")).model.page, Page::Fleet, "{word}");
    }
    let events = on_running().typed(":events<enter>");
    assert!(events.model.rollout().unwrap().timeline().is_some());
    assert!(on_running().typed(":logs<enter>").model.node_page().is_some());
    for word in ["help", "aliases"] {
        assert!(matches!(on_running().typed(&format!(":{word}<enter>")).model.overlay, Overlay::Help { .. }), "{word}");
    }
    for word in ["q", "q!", "quit", "qa"] {
        let mut console = on_fleet();
        console.type_keys(&format!(":{word}<enter>"));
        assert!(console.effects.iter().any(|effect| matches!(effect, ConsoleEffect::Quit(_))), "{word}");
    }
    for (word, said) in [
        ("deploy", "kubectl or k9s show the rest"),
        ("shell", "opens a shell"),
        ("delete", "no pod is deleted by hand"),
        ("edit", "I sets an image"),
        ("frobnicate", "there is no command `frobnicate`"),
    ] {
        assert!(status(&on_running().typed(&format!(":{word}<enter>"))).contains(said), "{word}");
    }
    // A verb from elsewhere asks for nothing, even while armed.
    let armed = on_running().typed("A:delete<enter>");
    assert!(!armed.effects.iter().any(|effect| matches!(effect, ConsoleEffect::Ask { .. } | ConsoleEffect::Do { .. })));
}

/// A command that leads to where one is already says so.
#[test]
fn a_command_that_leads_nowhere_else_is_answered() {
    for word in ["po", "nodes"] {
        let there = on_running().typed(&format!(":{word}<enter>"));
        assert!(status(&there).starts_with("these are the nodes"), "{word}: {}", status(&there));
        let from_map = on_running().typed(&format!("m:{word}<enter>"));
        assert_eq!(status(&from_map), "", "{word}: the nodes take the place of the map");
    }
    for word in ["fleet", "ds"] {
        let there = on_fleet().typed(&format!(":{word}<enter>"));
        assert!(status(&there).starts_with("this is the list of DaemonSets"), "{word}: {}", status(&there));
        assert_eq!(status(&on_running().typed(&format!(":{word}<enter>"))), "", "{word}");
    }
}

#[test]
fn completions_of_commands_are_gone_through() {
    let last = |console: &TestConsole| console.screen().lines().last().unwrap_or_default().to_owned();
    let first = last(&on_running().typed(":s<tab>"));
    let second = last(&on_running().typed(":s<tab><tab>"));
    assert!(first.starts_with(":s") && second.starts_with(":s") && first != second, "{first} {second}");
    assert_eq!(last(&on_running().typed(":s<tab><tab><s-tab>")), first);
    assert_eq!(last(&on_running().typed(":them<tab>")), ":theme", "with a blank, for its argument");
    assert_eq!(last(&on_running().typed(":them<tab>mon<tab>")), ":theme mono");
    assert_snapshot!("palette_completed", on_running().typed(":s<tab><tab>").screen());
}

#[test]
fn names_words_and_commands_are_copied() {
    let node = |keys: &str| {
        let console = on_running().typed(keys);
        (copied(&console), status(&console))
    };
    assert_eq!(node("c"), (Some("ipc-017".into()), "sent to the terminal's clipboard: ipc-017".into()));
    assert_eq!(node("jc").0.as_deref(), Some("ipc-031"));
    for (what, want) in [
        ("name", "ipc-017"),
        ("pod", "ipc-agent-017"),
        ("logs", "kubectl --context prod-eu logs -n edge ipc-agent-017 -c agent"),
        ("previous", "kubectl --context prod-eu logs -n edge ipc-agent-017 -c agent --previous"),
        ("describe", "kubectl --context prod-eu -n edge describe pod ipc-agent-017"),
        ("yaml", "kubectl --context prod-eu -n edge get -o yaml pod ipc-agent-017"),
        ("describe-node", "kubectl --context prod-eu describe node ipc-017"),
    ] {
        assert_eq!(node(&format!(":copy {what}<enter>")).0.as_deref(), Some(want));
    }
    assert!(node(":copy why<enter>").0.is_some_and(|why| why.contains("image not found")));
    assert!(node(":copy everything<enter>").1.contains("there are name, why,"));
    assert_eq!(copied(&on_fleet().typed("c")).as_deref(), Some("ipc-agent"));
    let describe = copied(&on_fleet().typed(":copy describe<enter>"));
    assert_eq!(describe.as_deref(), Some("kubectl --context prod-eu -n edge describe daemonset ipc-agent"));
    assert!(copied(&TestConsole::on(with_events(), 80, 24).typed("T:copy why<enter>")).is_some());
    assert_eq!(copied(&on_running().typed("vc")), running().revisions.first().map(|one| one.hash.to_string()));
    // On the page of a node `c` is the next container, ctrl-y copies there too.
    assert_eq!(copied(&on_running().typed("<enter><c-y><tab><enter>")).as_deref(), Some("ipc-017"));
    assert_eq!(copied(&on_running().typed("<c-y><tab><tab><tab><enter>")), node(":copy message<enter>").0);
    assert_snapshot!("copy_choice", on_running().typed("<c-y>").screen());
    assert!(status(&TestConsole::on_fleet(80, 24).typed("c")).contains("nothing to copy"));
}

#[test]
fn no_command_is_copied_where_none_may_be_offered() {
    let mut console = on_running();
    console.model.cluster_flags = None;
    console.type_keys(":copy describe<enter>");
    assert_eq!(copied(&console), None);
    assert!(status(&console).contains("there is no `describe`"), "{}", status(&console));
    let mut nodes = running().nodes.to_vec();
    nodes[0].pod = Some("x\u{1b}]0;a\u{7}; rm -rf ~".into());
    let hostile = TestConsole::on(Snapshot { nodes: nodes.into(), ..running() }, 80, 24).typed(":copy describe<enter>");
    assert_eq!(copied(&hostile), None);
}

/// The server of `rolldeck demo` is named in no kubeconfig, and its context exists nowhere.
#[test]
fn no_command_for_a_shell_is_offered_on_a_practice_cluster() {
    let mut console = on_running();
    console.model.practice = true;
    let said = "kubectl cannot reach this practice cluster; `rolldeck demo --serve` serves one";
    console.type_keys(":copy describe<enter>");
    let (copied_text, answer) = (copied(&console), status(&console));
    assert!(copied_text.is_none() && answer.contains("there is no `describe`"), "{answer}");
    assert!(answer.ends_with(said), "{answer}");
    console.type_keys(":copy why<enter>");
    assert!(copied(&console).is_some(), "what is no command is copied");
    console.type_keys("<enter>");
    assert!(!console.screen().contains("x kubectl"), "{}", console.screen());
    console.type_keys("x");
    assert!(status(&console).contains(said), "{}", status(&console));
    // The keys that show the same stay, and what has no key says why it is no command.
    let mut wrong = on_running();
    wrong.model.practice = true;
    let screen = wrong.typed("i").screen();
    assert!(screen.contains("on the row of") && !screen.contains("--context"), "{screen}");
}

/// What was copied, rung or set as title goes out with the next frame, in one write; without that nothing is written.
#[test]
fn the_clipboard_the_bell_and_the_title_go_out_with_a_frame() {
    let mut screen = Screen::new(Vec::new());
    let console = on_running();
    let show = |screen: &mut Screen<Vec<u8>>| {
        let (frame, drawn) = view::draw(&console.model);
        screen.show(frame, drawn.cursor).unwrap()
    };
    show(&mut screen);
    screen.take_written();
    screen.copy("ipc-017");
    assert_eq!(show(&mut screen), b"\x1b]52;c;aXBjLTAxNw==\x07".len());
    assert_eq!(screen.take_written(), b"\x1b]52;c;aXBjLTAxNw==\x07");
    screen.ring();
    show(&mut screen);
    assert_eq!(screen.take_written(), b"\x07");
    screen.set_title("rolldeck: ds/agent halted");
    show(&mut screen);
    let written = String::from_utf8(screen.take_written()).unwrap();
    assert!(written.ends_with("\x1b]2;rolldeck: ds/agent halted\x1b\\"), "{written:?}");
    assert_eq!((show(&mut screen), screen.take_written()), (0, Vec::new()), "said once");
}

/// How often the console called while it saw these snapshots, and the title then.
fn called(snapshots: Vec<Snapshot>) -> (usize, String) {
    let mut snapshots = snapshots.into_iter();
    let mut console = TestConsole::on(snapshots.next().unwrap(), 80, 24);
    snapshots.for_each(|snapshot| console.see(snapshot));
    let calls = console.effects.iter().filter(|effect| matches!(effect, ConsoleEffect::Call)).count();
    (calls, notify::title(&console.model))
}

/// Somebody else took over from this console.
fn taken_over() -> Snapshot {
    let holder = "ada@workstation-17/1f00c3a9";
    let lost = RolloutEventKind::LeaseLost { to: Some(holder.into()) };
    let event = rollout_event(5 * MINUTE, Some("ops@bastion-2"), lost, EventOutcome::Done, "");
    let timeline = running().timeline.iter().cloned().chain([event]).collect();
    let driver = DriverView::Other { holder: holder.into(), renewal_observed_at: ago(2) };
    Snapshot { driver, timeline, started_at: Some(ago(20 * MINUTE)), ..running() }
}

#[test]
fn a_call_comes_once_for_what_happens_while_the_console_is_open() {
    let complete = || Snapshot { phase: Phase::Complete, ..running() };
    let halted = fixtures::halted;
    assert_eq!(called(vec![running(), running()]), (0, "rolldeck: ds/ipc-agent".into()));
    assert_eq!(called(vec![running(), halted(), halted(), halted()]), (1, "rolldeck: ds/ipc-agent halted".into()));
    assert_eq!(called(vec![running(), complete(), complete()]), (1, "rolldeck: ds/ipc-agent done".into()));
    assert_eq!(called(vec![running(), taken_over(), taken_over()]), (1, "rolldeck: ds/ipc-agent taken over".into()));
    assert_eq!(called(vec![running(), halted(), running(), halted()]).0, 2, "a halt after a halt");
    assert_eq!(called(vec![halted(), halted()]).0, 0, "it was so when it was opened");
    let loading = Snapshot { phase: Phase::Loading, ..running() };
    assert_eq!(called(vec![loading, halted()]).0, 0, "it is only loaded");
    assert_eq!(notify::title(&TestConsole::on_fleet(80, 24).model), "rolldeck: prod-eu");
}

#[test]
fn a_console_that_was_taken_over_says_so() {
    for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        let console = TestConsole::on(taken_over(), width, height);
        let screen = console.screen();
        assert!(screen.contains("taken over by") && screen.contains("D takes "), "{width}: {screen}");
        assert_snapshot!(format!("taken_over_{width}x{height}"), screen);
    }
    let says = |snapshot: Snapshot| TestConsole::on(snapshot, 80, 24).screen().contains("taken over by");
    assert!(!says(running()));
    // Who drove before us is not who took it from us; nor is somebody who drives after nobody did.
    let other = |holder: &str| DriverView::Other { holder: holder.into(), renewal_observed_at: ago(2) };
    assert!(!says(Snapshot { driver: other("ada@workstation-17/1f00c3a9"), ..running() }));
    assert!(!says(Snapshot { driver: other("eve@elsewhere/1"), ..taken_over() }));
    assert!(!says(Snapshot { driver: DriverView::Nobody, ..taken_over() }));
    // What was taken over is over: what the same driver does now was never this console's.
    for phase in [Phase::Complete, Phase::Idle] {
        assert!(!says(Snapshot { phase, prewarm: None, ..taken_over() }));
    }
    assert!(!says(Snapshot { retargeted_at: Some(ago(60)), prewarm: None, ..taken_over() }), "another rollout");
    let again = rollout_event(MINUTE, None, RolloutEventKind::LeaseAcquired, EventOutcome::Done, "");
    let timeline = taken_over().timeline.iter().cloned().chain([again]).collect();
    assert!(!says(Snapshot { driver: DriverView::You { renewed_at: noon(), lapsed: false }, ..taken_over() }));
    assert!(!says(Snapshot { timeline, ..taken_over() }));
}

#[test]
fn the_help_is_searched() {
    let console = || on_running().typed("?/selector");
    let first = console().screen();
    assert!(first.contains("/selector"), "{first}");
    let kept = console().typed("<enter>");
    assert!(kept.screen().contains("`selector` is in "), "{}", kept.screen());
    let top = |console: &TestConsole| match console.model.overlay {
        Overlay::Help { top, .. } => Some(top),
        _ => None,
    };
    let (here, next, back) = (top(&kept), top(&console().typed("<enter>n")), top(&console().typed("<enter>nN")));
    assert!(here < next, "{here:?} {next:?}");
    assert_eq!(back, here);
    // The first esc ends the search, the second closes the help.
    let ended = console().typed("<enter><esc>");
    assert!(top(&ended).is_some() && !ended.screen().contains("is in "), "{}", ended.screen());
    assert_eq!(top(&ended.typed("<esc>")), None);
    assert!(top(&on_running().typed("?/xyzzy<enter>n")).is_some());
    // A pause needs no esc, but a letter of a search is no pause.
    assert!(matches!(on_running().typed("?P").model.overlay, Overlay::Dialog(_)));
    assert!(matches!(on_running().typed("?/P").model.overlay, Overlay::Help { .. }));
}

#[test]
fn the_legend_has_every_sign_in_the_signs_in_use() {
    for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
        let mut console = TestConsole::on(running(), 200, 250);
        console.model.glyphs = glyphs;
        console.type_keys("?");
        let screen = console.screen();
        let legend: Vec<&str> = screen.lines().skip_while(|line| !line.contains(" Signs")).collect();
        for glyph in [Glyph::Updated, Glyph::Ineligible, Glyph::Paused, Glyph::Folded, Glyph::Alarm, Glyph::BarMoving] {
            let sign = console.model.theme().glyph(glyph, glyphs);
            let is_there = legend.iter().any(|line| line.trim_start_matches(['│', '|', ' ']).starts_with(sign));
            assert!(is_there, "{glyph:?} {sign}: {screen}");
        }
        for state in [NodeState::Soaking, NodeState::Ineligible, NodeState::NodeDown] {
            assert!(legend.iter().any(|line| line.contains(&state.to_string())), "{state}");
        }
        assert!(legend.iter().any(|line| line.contains("rst>0 for<5m")));
    }
}
