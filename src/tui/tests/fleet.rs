//! The list of all DaemonSets: what is sorted and selected, a pause from its row, namespaces, other contexts.

use std::sync::Arc;
use std::time::Duration;

use super::console::TestConsole;
use super::fixtures::{self, MINUTE, ago, fleet, preview, running, the_target};
use crate::driver::{Fleet, FleetPrewarm, FleetPulls, FleetRow};
use crate::engine::model::command::Command;
use crate::engine::model::danger::Danger;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::failing_nodes::{FailingCause, FailingNodes};
use crate::engine::model::fleet_state::FleetState;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::action::{ACTIONS, ActionId, Group};
use crate::tui::columns::fleet::sign;
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::message::{ConsoleEffect, Msg};
use crate::tui::model::{Overlay, Page};
use crate::tui::theme::{Glyph, Glyphs, ThemeRole};
use insta::assert_snapshot;

fn listing(width: u16, height: u16) -> TestConsole {
    let mut console = TestConsole::on_fleet(width, height);
    console.tell(Msg::Fleet(fleet().into()));
    console
}

fn names(console: &TestConsole) -> Vec<String> {
    let page = console.model.fleet.as_ref().unwrap();
    (0..page.rows.len()).map(|row| page.target(row).unwrap().name.to_string()).collect()
}

fn status(console: &TestConsole) -> String {
    console.model.status.as_ref().map(|status| status.text.clone()).unwrap_or_default()
}

fn selected(console: &TestConsole) -> String {
    console.model.fleet.as_ref().unwrap().current().unwrap().name.to_string()
}

fn done(console: &TestConsole) -> Vec<(DaemonSetRef, Command)> {
    let done = |effect: &ConsoleEffect| match effect {
        ConsoleEffect::Do { target, command } => Some((target.clone(), command.clone())),
        _ => None,
    };
    console.effects.iter().filter_map(done).collect()
}

/// A console that drives `edge/ipc-agent` and shows the list.
fn driving(width: u16, height: u16) -> TestConsole {
    let mut console = TestConsole::on(running(), width, height).typed("<esc>");
    assert_eq!(console.model.page, Page::Fleet);
    console.tell(Msg::Fleet(fleet().into()));
    console
}

#[test]
fn the_worst_comes_first_and_other_orders_are_chosen_as_on_the_nodes() {
    let mut console = listing(80, 24);
    assert_eq!(names(&console), ["ipc-agent", "log-shipper", "cilium", "node-exporter"]);
    console.type_keys("s");
    assert_eq!(names(&console), ["ipc-agent", "log-shipper", "cilium", "node-exporter"], "by namespace");
    console.type_keys("s");
    assert_eq!(names(&console), ["cilium", "ipc-agent", "log-shipper", "node-exporter"], "by name");
    console.type_keys(":sort up-to-date<enter>");
    assert_eq!(names(&console), ["log-shipper", "ipc-agent", "cilium", "node-exporter"]);
    assert!(console.screen().contains("1-4 of 4 · sorted by up-to-date"));
    console.type_keys(":sort images<enter>");
    let known = "trouble, namespace, name, up-to-date, available, since, driver";
    assert_eq!(status(&console), format!("cannot sort by `images`; there are {known}"));
    console.type_keys(":sort trouble<enter>");
    assert_eq!(names(&console)[0], "ipc-agent");
}

#[test]
fn the_selection_stays_on_its_daemonset_whatever_moves() {
    let mut console = listing(80, 24).typed("jj");
    assert_eq!(selected(&console), "cilium");
    let mut worse = fleet();
    worse.rows[1].state = FleetState::Halted("2 failed".into());
    console.tell(Msg::Fleet(Arc::new(worse)));
    assert_eq!((names(&console)[0].as_str(), selected(&console).as_str()), ("ipc-agent", "cilium"));
    assert_eq!(names(&console)[1], "cilium", "it moved up, and took the selection along");
    console.type_keys("s");
    assert_eq!(selected(&console), "cilium");
    console.tell(Msg::Fleet(fleet().into()));
    assert_eq!(selected(&console), "cilium");
}

#[test]
fn ages_go_on_while_nothing_else_happens_and_unknown_ones_are_said_to_be() {
    let mut console = listing(80, 24);
    let row = |console: &TestConsole, name: &str| {
        console.screen().lines().find(|line| line.contains(name)).unwrap_or_default().to_owned()
    };
    assert!(row(&console, "ipc-agent").contains(" 2m you"));
    assert!(row(&console, "cilium").contains(" ? controller"));
    console.wait(10 * MINUTE);
    assert!(row(&console, "ipc-agent").contains(" 12m you"));
    let mut seen = fleet();
    seen.rows[1].since = Some(ago(20));
    let mut console = TestConsole::on_fleet(80, 24);
    console.tell(Msg::Fleet(seen.into()));
    assert!(row(&console, "cilium").contains(" 20s controller"));
}

#[test]
fn a_pause_on_a_row_opens_its_daemonset_and_names_it() {
    let mut console = listing(80, 24).typed("jj").typed("P");
    let cilium = DaemonSetRef { namespace: "kube-system".into(), name: "cilium".into() };
    assert_eq!(console.model.page, Page::Rollout(cilium));
    assert!(console.screen().contains("prod-eu · kube-system/cilium"), "{}", console.screen());
    assert_snapshot!("fleet_pause_loading", console.screen());
    // Nothing is known of it yet: enter does nothing, and nothing is done later either.
    console.type_keys("<enter>");
    assert!(matches!(console.model.overlay, Overlay::Dialog(_)));
    assert_eq!(done(&console), []);
    let mut console = listing(80, 24).typed("P");
    console.see(fixtures::loading());
    console.see(running());
    let asked = |effect: &ConsoleEffect| matches!(effect, ConsoleEffect::Ask { command: Command::Pause { .. }, .. });
    assert!(console.effects.iter().any(asked), "the driver is asked as soon as it is there");
    // It may turn out to be an emergency brake: enter does nothing before that is known.
    let mut console = console.typed("<enter>");
    assert_eq!(done(&console), []);
    assert!(console.screen().contains("asking what it would do"), "{}", console.screen());
    console = console.answered(preview(Danger::None));
    console.type_keys("<enter>");
    assert_eq!(done(&console), [(the_target(), Command::Pause { why: None })], "though the console is read-only");
}

/// The list calls a state, its sign and its key as the page does.
#[test]
fn what_its_controller_rolls_and_what_has_no_record_is_called_as_on_the_page() {
    let mut console = listing(120, 40).typed("jj");
    let screen = console.screen();
    let cilium = screen.lines().find(|line| line.contains("cilium")).unwrap();
    assert!(cilium.contains("rolled by its controller"), "{screen}");
    assert!(screen.contains("P brake") && !screen.contains("P pause"), "{screen}");
    console.type_keys("kk");
    assert!(console.screen().contains("P pause"), "{}", console.screen());
    let missing = FleetRow { state: FleetState::RecordMissing, pulls: None, failing: None, ..fleet().rows[3].clone() };
    assert_eq!(sign(&missing), (Glyph::Outdated, ThemeRole::Warn), "held, as the page has it: nobody paused it");
}

/// As kubectl calls them, and `:sort up-to-date`. On the page of a rollout a node is updated only once its pod is well: no heading of the list
/// says so of pods that may not be.
#[test]
fn pods_of_the_new_revision_are_not_called_updated_in_any_width() {
    for (width, height, heading) in [(40, 12, " NEW "), (80, 24, " NEW "), (120, 40, " UP-TO-DATE ")] {
        let mut fleet = fleet();
        let screen = |fleet: &Fleet| {
            let mut console = TestConsole::on_fleet(width, height);
            console.tell(Msg::Fleet(fleet.clone().into()));
            console.screen()
        };
        assert!(screen(&fleet).contains(heading) && !screen(&fleet).contains("UPDATED"), "{}", screen(&fleet));
        // Of few nodes, too.
        fleet.rows.iter_mut().for_each(|row| (row.counters.desired, row.counters.updated) = (3, 3));
        assert!(screen(&fleet).contains(heading), "{}", screen(&fleet));
    }
}

/// The list shows every DaemonSet that there is: one that it does not show is probably misspelt.
#[test]
fn a_misspelt_daemonset_is_opened_and_the_one_that_was_meant_is_named() {
    for (typed, said) in [
        ("ipc-agnt", "no DaemonSet default/ipc-agnt was seen; did you mean :ds edge/ipc-agent?"),
        ("edge/ipc-agnt", "no DaemonSet edge/ipc-agnt was seen; did you mean :ds edge/ipc-agent?"),
        ("edge/cilum", "no DaemonSet edge/cilum was seen; did you mean :ds kube-system/cilium?"),
    ] {
        let console = listing(80, 24).typed(&format!(":ds {typed}<enter>"));
        assert_eq!(status(&console), said);
    }
    for typed in ["ipc-agent", "edge/ipc-agent", "edge/something-else"] {
        let console = listing(80, 24).typed(&format!(":ds {typed}<enter>"));
        assert_eq!(status(&console), "", "{typed}");
    }
}

#[test]
fn what_needs_an_open_daemonset_says_which_one_enter_would_open() {
    let console = listing(80, 24).typed("j").typed("S");
    assert_eq!(status(&console), "S step works on an open DaemonSet: enter opens edge/log-shipper first");
    assert_eq!(console.model.page, Page::Fleet);
    let console = listing(80, 24).typed("m");
    assert_eq!(status(&console), "m map works on an open DaemonSet: enter opens edge/ipc-agent first");
    let limits = listing(80, 24).typed("L");
    assert_eq!(status(&limits), "L limits works on an open DaemonSet: enter opens edge/ipc-agent first");
    // A word that begins only commands of that page.
    let begun = listing(80, 24).typed(":can<tab><enter>");
    let canary =
        "did you mean :canary? N canary works on an open DaemonSet: enter opens edge/ipc-agent first  (? lists all)";
    assert_eq!(status(&begun), canary);
    let console = listing(80, 24).typed(" ");
    assert_eq!(status(&console), "space does nothing here; ? lists what does");
}

/// Where no DaemonSet is listed, what needs one says why there is none.
#[test]
fn the_list_tells_what_a_rollout_that_is_open_knows() {
    let mut console = TestConsole::on(fixtures::idle(), 160, 40).with_fleet();
    let mut held =
        Snapshot { phase: Phase::Held, at: fixtures::noon() + Duration::from_secs(60), ..fixtures::running() };
    held.prewarm = Some(super::prewarm::complete());
    console.see(held);
    console.type_keys("<esc>");
    let mut fleet = fixtures::fleet();
    let row = &mut fleet.rows[2];
    (row.state, row.since, row.prewarm) = (FleetState::Held, None, Some(FleetPrewarm::Requested));
    row.counters.available = row.counters.desired;
    fleet.at = fixtures::noon() + Duration::from_secs(70);
    console.tell(Msg::Fleet(fleet.into()));
    let screen = console.screen();
    let row = screen.lines().find(|line| line.contains(" ipc-agent ")).unwrap_or_default();
    assert!(row.contains("held, pre-warmed") && row.contains(" 10s "), "{screen}");
}

/// A node that failed is named in the record as in progress, and holds the others: whether anything moves only the page knows.
#[test]
fn the_list_calls_a_rollout_that_is_open_held_as_its_page_does() {
    let mut console = TestConsole::on(running(), 80, 24).with_fleet();
    console.type_keys("<esc>");
    let row = |console: &TestConsole| console.model.fleet.as_ref().unwrap().fleet.rows[2].clone();
    let mut listed = fleet();
    (listed.rows[2].state, listed.rows[2].since) = (FleetState::Rolling, Some(ago(9 * MINUTE)));
    console.tell(Msg::Fleet(listed.clone().into()));
    assert_eq!((row(&console).state, row(&console).since), (FleetState::Rolling, Some(ago(9 * MINUTE))));
    console.see(Snapshot { phase: Phase::Held, ..running() });
    assert_eq!((row(&console).state, row(&console).since), (FleetState::Held, Some(fixtures::noon())));
    console.tell(Msg::Fleet(listed.clone().into()));
    assert_eq!(row(&console).state, FleetState::Held, "whichever of both arrives last");
    console.see(running());
    assert_eq!(row(&console).state, FleetState::Rolling);
    listed.rows[2].state = FleetState::Paused("by ops".into());
    console.tell(Msg::Fleet(listed.into()));
    assert_eq!(row(&console).state, FleetState::Paused("by ops".into()), "what is recorded is not overruled");
}

#[test]
fn where_there_is_little_room_the_state_and_what_fails_come_before_who_did_it() {
    let mut listed = fleet();
    let row = &mut listed.rows[3];
    row.state = FleetState::Paused("by somebody-with-a-long-name@bastion-2".into());
    let causes = vec![FailingCause { cause: "crash loop".into(), nodes: 2 }];
    row.failing = Some(FailingNodes { nodes: 2, causes, ..FailingNodes::default() });
    for (width, height, words) in [
        (40, 12, "paused, 2 failing"),
        (80, 24, "paused, 2 fail"),
        (120, 40, "paused, 2 failing: crash"),
        (200, 50, "paused, 2 failing: crash loop, by somebody"),
    ] {
        let mut console = TestConsole::on_fleet(width, height);
        console.tell(Msg::Fleet(listed.clone().into()));
        assert!(console.screen().contains(words), "{width}x{height}: {}", console.screen());
    }
    listed.rows[3].state = FleetState::RecordMissing;
    listed.rows[3].failing = None;
    let mut console = TestConsole::on_fleet(40, 12);
    console.tell(Msg::Fleet(listed.into()));
    assert!(console.screen().contains("no record is left"), "{}", console.screen());
}

/// All pods are of one revision, and none of them is well: as on its page nothing of the bar is full, and the sign is that of failed nodes.
#[test]
fn a_fleet_whose_pods_all_fail_is_the_worst_of_the_list() {
    let mut failing = fleet();
    failing.rows.iter_mut().for_each(|row| row.state = FleetState::UpToDate);
    let row = &mut failing.rows[1];
    (row.state, row.from) = (FleetState::Degraded(120), None);
    (row.counters.updated, row.counters.available) = (120, 0);
    let listed = |failing: &Fleet| {
        let mut console = TestConsole::on_fleet(120, 40);
        console.tell(Msg::Fleet(failing.clone().into()));
        console.screen().lines().nth(3).unwrap_or_default().to_owned()
    };
    failing.rows[1].pulls = Some(FleetPulls { failed: 120, ..FleetPulls::default() });
    let failed = listed(&failing);
    assert!(failed.starts_with(">✗ kube-system cilium") && failed.contains("[▒▒▒▒▒▒▒▒▒▒] 120/120"), "{failed}");
    failing.rows[1].pulls = Some(FleetPulls::default());
    assert!(listed(&failing).starts_with(">✗ "), "they crash: {}", listed(&failing));
    failing.rows[1].pulls = Some(FleetPulls { pulling: 120, ..FleetPulls::default() });
    assert!(listed(&failing).starts_with(">○ "), "they may be well soon: {}", listed(&failing));
    failing.rows[1].pulls = None;
    assert!(listed(&failing).starts_with(">○ "), "whether they are on their way is not known: {}", listed(&failing));
}

/// Both keys are those of logs, which are a node's.
#[test]
fn the_keys_of_logs_say_on_the_list_what_they_show() {
    for (key, name) in [("l", "log"), ("p", "previous log")] {
        let console = TestConsole::on_fleet(80, 24).with_fleet().typed("j").typed(key);
        let said = status(&console);
        assert!(
            said.starts_with(&format!("{key} {name} works on a node of an open DaemonSet: enter opens ")),
            "{key}: {said}"
        );
    }
}

/// Since when is not known until it was seen to begin, in whichever state.
#[test]
fn no_cell_for_how_long_is_blank() {
    let mut listed = fleet();
    listed.rows.iter_mut().for_each(|row| (row.since, row.state) = (None, FleetState::UpToDate));
    listed.rows[0].state = FleetState::Adopted;
    let mut console = TestConsole::on_fleet(120, 40);
    console.tell(Msg::Fleet(listed.clone().into()));
    let screen = console.screen();
    let rows = screen.lines().filter(|line| !line.contains("help") && line.split_whitespace().any(|word| word == "?"));
    assert_eq!(rows.count(), listed.rows.len(), "{screen}");
}

#[test]
fn on_a_list_without_a_row_every_command_is_answered() {
    let forbidden = WatchHealth::Forbidden { why: "no".into() };
    let down = WatchHealth::Down { since: ago(5), why: "connection refused".into() };
    for (health, why) in [
        (WatchHealth::Loading, "the list is still loading; enter opens one of it then"),
        (WatchHealth::Live, "there is none here; :ns all lists all namespaces"),
        (forbidden, "you may not list them here; :ns NAME lists one namespace"),
        (down, "the list cannot be read now; it is tried again"),
    ] {
        let empty = || {
            let mut console = TestConsole::on_fleet(80, 24);
            console.tell(Msg::Fleet(Fleet { health: health.clone(), rows: Vec::new(), ..fleet() }.into()));
            console
        };
        assert_eq!(status(&empty().typed("P")), format!("P pause works on a DaemonSet of the list: {why}"));
        let guess = "there is no command `p`: did you mean :pause or :previous-hit?  (? lists all)";
        assert_eq!(status(&empty().typed(":p<enter>")), guess);
        assert_eq!(
            status(&empty().typed(":previous<enter>")),
            format!("p previous log works on a node of an open DaemonSet: {why}")
        );
        for action in ACTIONS.iter().filter(|action| action.group == Group::Change && action.id != ActionId::Arm) {
            let console = empty().typed(&format!(":{}<enter>", action.name));
            assert!(!status(&console).is_empty(), ":{} at {health:?}", action.name);
            assert_eq!(console.model.page, Page::Fleet, ":{}", action.name);
        }
    }
    let none = listing(80, 24).typed("/nothing-is-called-so<enter>P");
    assert_eq!(status(&none), "P pause works on a DaemonSet of the list: none passes the filter; esc clears it");
}

#[test]
fn namespaces_are_switched_in_the_words_of_k9s() {
    let mut console = listing(80, 24).typed(":ns <tab>");
    assert!(matches!(&console.model.overlay, Overlay::Palette(prompt) if prompt.text() == "ns all"));
    console.type_keys("<esc>:ns ed<tab><enter>");
    let asked = |console: &TestConsole| {
        console.effects.iter().rev().find_map(|effect| match effect {
            ConsoleEffect::Fleet(namespace) => Some(namespace.as_deref().map(str::to_owned)),
            _ => None,
        })
    };
    assert_eq!(asked(&console), Some(Some("edge".to_owned())));
    assert!(console.screen().contains("namespace edge"));
    console.type_keys(":ns all<enter>");
    assert_eq!(asked(&console), Some(None));
    console.type_keys(":ns edg<enter>");
    assert_eq!(status(&console), "namespace edg: no DaemonSet was seen there; did you mean :ns edge?");
    console.effects.clear();
    console.type_keys(":ns ../../nodes<enter>");
    assert!(status(&console).starts_with("`../../nodes` cannot be the name of a namespace"), "{}", status(&console));
    assert_eq!(asked(&console), None);
    console.type_keys(":ns<enter>");
    assert!(matches!(&console.model.overlay, Overlay::Palette(prompt) if prompt.text() == "ns "));
}

#[test]
fn what_is_driven_goes_on_when_another_namespace_is_listed() {
    let mut console = driving(80, 24).typed(":ns monitoring<enter>");
    assert_eq!(status(&console), "namespace monitoring; you go on driving edge/ipc-agent");
    let closed = |effect: &ConsoleEffect| matches!(effect, ConsoleEffect::Close(_) | ConsoleEffect::Do { .. });
    assert!(!console.effects.iter().any(closed));
    let rows = fleet().rows.into_iter().filter(|row| &*row.namespace == "monitoring").collect();
    console.tell(Msg::Fleet(Arc::new(Fleet { rows, ..fleet() })));
    assert_snapshot!("fleet_of_a_namespace", console.screen());
}

fn connects(console: &TestConsole) -> Option<&str> {
    console.effects.iter().rev().find_map(|effect| match effect {
        ConsoleEffect::Connect(context) => Some(&**context),
        _ => None,
    })
}

fn switched(console: &TestConsole) -> Option<&[DaemonSetRef]> {
    console.effects.iter().rev().find_map(|effect| match effect {
        ConsoleEffect::Switch { driven, .. } => Some(driven.as_slice()),
        _ => None,
    })
}

#[test]
fn another_context_is_gone_to_once_it_answers() {
    let mut console = listing(80, 24).typed(":ctx prod-us<enter>");
    assert_eq!(connects(&console), Some("prod-us"));
    assert_eq!(status(&console), "connecting to prod-us … (still on prod-eu)");
    console.tell(Msg::Connected("staging".into(), Ok(())));
    assert_eq!(switched(&console), None, "that is not the one that was asked for last");
    console.tell(Msg::Connected("prod-us".into(), Ok(())));
    assert_eq!(switched(&console), Some([].as_slice()));
}

#[test]
fn a_context_that_does_not_answer_leaves_everything_as_it_was() {
    let mut console = listing(80, 24).typed(":ctx staging<enter>");
    console.tell(Msg::Connected("staging".into(), Err("cannot reach https://10.0.0.1: timed out".into())));
    assert_eq!(switched(&console), None);
    let want = "still on prod-eu, nothing changed; staging: cannot reach https://10.0.0.1: timed out";
    assert_eq!(status(&console), want);
    console.tell(Msg::Connected("staging".into(), Ok(())));
    assert_eq!(switched(&console), None, "nobody waits for it any more");
}

#[test]
fn a_context_that_is_not_there_is_guessed() {
    let mut console = listing(80, 24).typed(":ctx stagnig<enter>");
    assert_eq!(status(&console), "the kubeconfig has no context `stagnig`: did you mean :ctx staging?");
    console.type_keys(":ctx prod-eu<enter>");
    assert_eq!(status(&console), "this console is on context prod-eu already");
    console.type_keys(":ctx<enter>");
    assert!(console.screen().contains("tab:  prod-us  staging"), "{}", console.screen());
    console.type_keys("<esc>");
    console.model.contexts.clear();
    console.type_keys(":ctx staging<enter>");
    assert!(status(&console).starts_with("there is no other context"), "{}", status(&console));
    console.model.contexts.push("prod-eu".into());
    console.type_keys(":ctx<enter>");
    assert_eq!(status(&console), "there is no other context: the kubeconfig has prod-eu alone");
    assert_eq!(connects(&console), None);
}

#[test]
fn leaving_what_is_driven_for_another_cluster_asks_first() {
    let mut console = driving(80, 24).typed(":ctx prod-us<enter>");
    assert_eq!(connects(&console), None);
    assert_snapshot!("dialog_other_cluster", console.screen());
    console.type_keys("<enter>");
    assert_eq!((connects(&console), status(&console).as_str()), (None, "cancelled, nothing changed"));
    console.type_keys(":ctx prod-us<enter><tab><enter>");
    assert_eq!(connects(&console), Some("prod-us"));
    assert_eq!(done(&console), [], "not before it answers");
    console.tell(Msg::Connected("prod-us".into(), Ok(())));
    assert_eq!(switched(&console), Some([the_target()].as_slice()));
}

#[test]
fn what_was_begun_meanwhile_keeps_the_console_here() {
    // The driver's first snapshot comes after the question was not asked.
    let mut console = TestConsole::on(fixtures::observed(), 80, 24).typed(":ctx prod-us<enter>");
    assert_eq!(connects(&console), Some("prod-us"));
    console.see(running());
    console.tell(Msg::Connected("prod-us".into(), Ok(())));
    assert_eq!(switched(&console), None);
    let want = "prod-us answers, but you drive edge/ipc-agent by now: `:ctx prod-us` asks again";
    assert_eq!(status(&console), want);
    let mut console = TestConsole::on(fixtures::observed(), 80, 24).typed(":ctx prod-us<enter>P");
    console.tell(Msg::Connected("prod-us".into(), Ok(())));
    assert_eq!(switched(&console), None, "a dialog is not taken away from under the hands");
}

#[test]
fn a_protected_context_says_so_and_arms_only_by_its_name() {
    let protected = |width, height| {
        let mut console = TestConsole::on(running(), width, height);
        console.model.protected = true;
        console
    };
    for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        assert_snapshot!(format!("protected_{width}x{height}"), protected(width, height).screen());
        let list = protected(width, height).typed("<esc>").with_fleet();
        assert_snapshot!(format!("protected_fleet_{width}x{height}"), list.screen());
    }
    let mut console = protected(80, 24).typed("A");
    assert_snapshot!("dialog_arm_protected", console.screen());
    console.type_keys("prod<enter>");
    assert!(console.model.armed_for().is_none(), "that is not its name");
    console.type_keys("-eu<enter>");
    assert!(console.model.armed_for().is_some());
    assert!(matches!(console.model.overlay, Overlay::None));
    console.type_keys("A");
    assert!(console.model.armed_for().is_none(), "back to read-only without a question");
    let console = protected(80, 24).typed("A<esc>");
    assert!(console.model.armed_for().is_none());
    // A pause takes nothing down: it works at once.
    let console = protected(80, 24).typed("P").answered(preview(Danger::None)).typed("<enter>");
    assert_eq!(done(&console).len(), 1);
}

#[test]
fn the_banner_is_told_in_words_without_colours_and_beyond_ascii() {
    let mut console = listing(80, 24);
    console.model.protected = true;
    console.model.glyphs = Glyphs::Ascii;
    console.model.themes.choose("mono").unwrap();
    let frame = console.frame();
    let banner = (0..80).find(|x| frame[(*x, 0)].symbol() == "P").unwrap();
    assert!(console.screen().lines().next().unwrap().contains("PROTECTED prod-eu"));
    let style = frame[(banner, 0)].style();
    assert!(style.add_modifier.contains(ratatui::style::Modifier::REVERSED), "{style:?}");
    assert_eq!(style.fg.unwrap_or_default(), ratatui::style::Color::Reset);
}

#[test]
fn the_cursor_stays_on_the_daemonset_when_rows_are_put_in_another_order() {
    let mut console = listing(80, 24);
    assert_eq!((names(&console)[0].as_str(), selected(&console).as_str()), ("ipc-agent", "ipc-agent"));
    let with = |name: &str, state: FleetState| {
        let mut fleet = fleet();
        fleet.rows.iter_mut().for_each(|row| match &*row.name {
            of if of == name => row.state = state.clone(),
            "ipc-agent" => row.state = FleetState::UpToDate,
            _ => {}
        });
        Msg::Fleet(fleet.into())
    };
    // Nothing was selected by hand.
    console.tell(with("cilium", FleetState::Halted("1 failed".into())));
    assert_eq!((names(&console)[0].as_str(), selected(&console).as_str()), ("cilium", "ipc-agent"));
    // Where not all rows are in sight, the worst stay there until one is selected.
    let mut long = TestConsole::on_fleet(80, 24);
    let many = |worst: usize| {
        let row = fleet().rows[0].clone();
        let row = |nth: usize| FleetRow {
            name: format!("agent-{nth:02}").into(),
            state: if nth == worst { FleetState::Halted("1 failed".into()) } else { FleetState::UpToDate },
            ..row.clone()
        };
        Msg::Fleet(Arc::new(Fleet { rows: (0..60).map(row).collect(), ..fleet() }))
    };
    long.tell(many(7));
    long.tell(many(50));
    assert_eq!(selected(&long), "agent-50");
}

#[test]
fn the_cursor_is_on_the_daemonset_that_one_comes_back_from() {
    let mut console = listing(80, 24).typed("jj");
    let other = selected(&console);
    assert_ne!(other, "ipc-agent");
    console.type_keys(":ds edge/ipc-agent<enter><esc>");
    assert_eq!((&console.model.page, selected(&console).as_str()), (&Page::Fleet, "ipc-agent"));
    // The list is opened for the first time, and the DaemonSet is not the first of it.
    let mut first = TestConsole::on(running(), 80, 24).typed("<esc>");
    let mut fleet = fleet();
    fleet.rows.iter_mut().filter(|row| &*row.name == "ipc-agent").for_each(|row| row.state = FleetState::UpToDate);
    assert_ne!(&*fleet.rows[0].name, "ipc-agent");
    first.tell(Msg::Fleet(Arc::new(Fleet { rows: Vec::new(), health: WatchHealth::Loading, ..fleet.clone() })));
    first.tell(Msg::Fleet(fleet.into()));
    assert_ne!(names(&first)[0], "ipc-agent");
    assert_eq!(selected(&first), "ipc-agent");
}

/// As in k9s: the first `esc` leads back, whatever row is selected.
#[test]
fn esc_leads_back_and_the_last_line_says_so() {
    let console = TestConsole::on(running(), 80, 24).typed("jj");
    assert!(console.screen().contains("esc back"), "{}", console.screen());
    assert_eq!(console.typed("<esc>").model.page, Page::Fleet);
    assert!(!listing(80, 24).screen().contains("esc back"), "{}", listing(80, 24).screen());
}
