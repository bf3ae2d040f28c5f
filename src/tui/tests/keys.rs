//! Keys in, effects and words out.

use super::console::TestConsole;
use super::fixtures::{self, preview, running, the_target};
use crate::config::KeyChoice;
use crate::driver::CommandError;
use crate::engine::model::command::{Command, Early, Refusal, Step, Takeover};
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{OnDrift, Secs, Tuning};
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::action::own_keys;
use crate::tui::message::ConsoleEffect;
use crate::tui::message::Msg;
use crate::tui::model::Overlay;
use crate::tui::status::StatusSeverity;

/// What the console asked the driver to do.
pub(super) fn done(console: &TestConsole) -> Vec<Command> {
    let commands = console.effects.iter().filter_map(|effect| match effect {
        ConsoleEffect::Do { command, .. } => Some(command.clone()),
        _ => None,
    });
    commands.collect()
}

/// What it asked about.
fn asked(console: &TestConsole) -> Option<Command> {
    console.effects.iter().rev().find_map(|effect| match effect {
        ConsoleEffect::Ask { command, .. } => Some(command.clone()),
        _ => None,
    })
}

pub(super) fn status(console: &TestConsole) -> String {
    console.model.status.as_ref().map(|status| status.text.clone()).unwrap_or_default()
}

pub(super) fn on_running() -> TestConsole {
    TestConsole::on(running(), 80, 24)
}

#[test]
fn writes_ask_first_and_are_confirmed_in_proportion() {
    let undo = Command::Undo { to: Some(14) };
    for (keys, danger, confirm, want) in [
        // The present step is not done: 31 of 38 nodes are updated.
        ("AS", Danger::Bounded, "<enter>", None),
        ("AS", Danger::Bounded, "<tab><enter>", Some(Command::Step(Step::Next))),
        ("AS", Danger::None, "<enter>", None),
        ("AS<down>", Danger::Bounded, "<enter>", Some(Command::Step(Step::Back))),
        ("AS60", Danger::Bounded, "<enter>", Some(Command::Step(Step::Updated(IntOrPercent::Int(60))))),
        (
            ":write<enter>:step 50%<enter>",
            Danger::Bounded,
            "<enter>",
            Some(Command::Step(Step::Updated(IntOrPercent::Percent(50)))),
        ),
        (
            "A:partition 30%<enter>",
            Danger::Bounded,
            "<enter>",
            Some(Command::Step(Step::Partition(IntOrPercent::Percent(30)))),
        ),
        ("AN<c-u>line!=line4", Danger::Bounded, "<enter>", Some(Command::Select(Some("line!=line4".parse().unwrap())))),
        ("AN<c-u>", Danger::Bounded, "<enter>", Some(Command::Select(None))),
        // Serious: enter on the form says what to press. The first tab reaches the action.
        ("AU", Danger::Serious, "<enter>", None),
        ("AU", Danger::Serious, "<enter><enter>", None),
        ("AU", Danger::Serious, "<enter><enter><tab><enter>", Some(undo.clone())),
        ("AU", Danger::Serious, "<tab><enter>", Some(undo.clone())),
        ("AU", Danger::Serious, "<tab><tab><enter>", None),
        ("AU", Danger::Serious, "<esc>", None),
        // Beyond: only the DaemonSet's name will do.
        ("AU", Danger::ExceedsBudget, "<enter><enter>", None),
        ("AU", Danger::ExceedsBudget, "<enter>ipc<enter>", None),
        ("AU", Danger::ExceedsBudget, "<enter>ipc-agent<enter>", Some(undo)),
        // Without fields the focus begins where it is safe.
        ("AR", Danger::Bounded, "<enter>", None),
        ("AD", Danger::None, "<enter>", None),
        ("AD", Danger::None, "<left><enter>", Some(Command::StopDriving)),
        ("AR", Danger::Bounded, "<tab><enter>", Some(Command::Release(Early::Accept))),
        ("AR", Danger::Serious, "<enter>", None),
        ("AR", Danger::Serious, "<left><enter>", Some(Command::Release(Early::Accept))),
        ("AR", Danger::ExceedsBudget, "ipc-agent<enter>", Some(Command::Release(Early::Accept))),
    ] {
        let console = on_running().typed(keys).answered(preview(danger)).typed(confirm);
        assert_eq!(done(&console), want.into_iter().collect::<Vec<_>>(), "{keys} {danger:?} {confirm}");
    }
}

/// What is typed into a number stays as it was typed: `1.5%` without its point would be ten times as much.
#[test]
fn a_number_of_a_step_that_is_none_is_refused_as_it_was_typed() {
    for (keys, typed) in
        [("AS<down><down>1.5%", "1.5%"), ("AS<down><down>-5", "-5"), ("AS1e1", "1e1"), ("AS6<down>4k", "4k")]
    {
        let console = on_running().typed(keys).answered(preview(Danger::Bounded)).typed("<enter>");
        assert_eq!(done(&console), [], "{keys}");
        let screen = console.screen();
        assert!(screen.contains(&format!("`{typed}` is ")), "{keys}\n{screen}");
    }
    // On a line without a number yet these are keys.
    let console = on_running().typed("AS<down><down>jkk").answered(preview(Danger::Bounded)).typed("<enter>");
    assert_eq!(done(&console), [Command::Step(Step::Back)]);
}

#[test]
fn going_on_past_a_halt_begins_on_cancel() {
    let halted = || TestConsole::on(fixtures::halted(), 80, 24).typed("AC").answered(preview(Danger::Serious));
    assert!(halted().screen().contains("[ Accept and resume ]  [>Cancel<]"), "{}", halted().screen());
    assert_eq!(done(&halted().typed("<enter>")), []);
    assert_eq!(done(&halted().typed("<left><enter>")), [Command::Resume]);
    let paused = TestConsole::on(fixtures::paused(), 80, 24).typed("AC").answered(preview(Danger::Bounded));
    assert_eq!(done(&paused.typed("<left><enter>")), [Command::Resume]);
}

#[test]
fn the_selector_is_lifted_where_it_has_nothing_left() {
    let console = || TestConsole::on(fixtures::canary_done(), 80, 24).typed("AN<c-u>");
    assert_eq!(asked(&console()), Some(Command::Select(None)));
    // It frees many nodes: enter on the form does nothing, and drops nothing that was typed.
    let answered = || console().answered(preview(Danger::Serious));
    let twice = answered().typed("<enter><enter>");
    assert_eq!(done(&twice), []);
    assert!(twice.screen().contains("look at what it would do: tab, then enter does it"), "{}", twice.screen());
    assert_eq!(done(&answered().typed("<enter><tab><enter>")), [Command::Select(None)]);
    let early = console().typed("<enter>");
    assert!(early.screen().contains("what it would do is not known yet"), "{}", early.screen());
    assert_eq!(
        asked(&on_running().typed("AN<backspace>4")),
        Some(Command::Select(Some("line=line4".parse().unwrap())))
    );
}

#[test]
fn limits_change_what_was_changed_and_nothing_else() {
    let tune = |tuning: Tuning| vec![Command::Tune(tuning)];
    let five = Tuning { max_unavailable: Some("5".parse().unwrap()), ..Tuning::default() };
    let enforce = Tuning { on_drift: Some(OnDrift::EnforceOnDelete), ..Tuning::default() };
    for (keys, want) in [
        // What is typed first replaces what is there.
        ("AL5<enter>", tune(five.clone())),
        ("AL5<down><down><down><down><down><right><enter>", tune(Tuning { strict: Some(true), ..five.clone() })),
        ("A:tune max-unavailable=5<enter><enter>", tune(five)),
        ("A:set --on-drift=enforce<enter><enter>", tune(enforce.clone())),
        ("A:tune on-drift<enter> <enter>", tune(enforce)),
        ("A:tune soak<enter>90s<enter>", tune(Tuning { soak_secs: Some(Secs(90)), ..Tuning::default() })),
        // Typed and taken back: nothing is left to ask for.
        ("A:tune on-drift<enter>  <enter>", vec![]),
        ("ALmany<enter>", vec![]),
    ] {
        assert_eq!(
            done(
                &on_running()
                    .typed(keys.strip_suffix("<enter>").unwrap())
                    .answered(preview(Danger::Bounded))
                    .typed("<enter>")
            ),
            want,
            "{keys}"
        );
    }
    assert!(
        status(&on_running().typed("A:tune speed=9<enter>")).contains("there is no `speed` to tune; there are max-")
    );
    let idle = TestConsole::on(fixtures::idle(), 80, 24).typed("AL");
    assert!(status(&idle).contains("no rollout is recorded"), "{}", status(&idle));
}

#[test]
fn what_a_drift_does_is_chosen_where_it_is_adopted() {
    let enforce = Tuning { on_drift: Some(OnDrift::EnforceOnDelete), ..Tuning::default() };
    let idle = || TestConsole::on(fixtures::idle(), 80, 24);
    assert_eq!(asked(&idle().typed("AO")), Some(Command::Adopt));
    assert_eq!(asked(&idle().typed("AO<right>")), Some(Command::Adopt.under(enforce.clone())));
    let image = Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into());
    assert_eq!(asked(&idle().typed("AI<c-u>agent:v3<down><right>")), Some(image.clone().under(enforce.clone())));
    assert_eq!(asked(&idle().typed("AI<down><right><left><up><c-u>agent:v3")), Some(image));
    let console = idle().typed("AO<right>").answered(preview(Danger::Bounded)).typed("<enter>");
    assert_eq!(done(&console), [Command::Adopt.under(enforce)]);
}

#[test]
fn the_brake_is_at_hand_when_a_paused_rollout_was_set_back() {
    let mut drifted = fixtures::paused();
    drifted.strategy = StrategyKind::RollingUpdate;
    drifted.adopted = false;
    assert_eq!(done(&TestConsole::on(drifted, 80, 24).typed("P<enter>")), [Command::Pause { why: None }]);
}

#[test]
fn nothing_but_a_pause_is_done_before_it_is_known_what_it_does() {
    assert_eq!(done(&on_running().typed("AS<enter>")), []);
    assert_eq!(done(&on_running().typed("AR<left><enter>")), []);
    assert_eq!(done(&on_running().typed("P<enter>")), [Command::Pause { why: None }]);
}

#[test]
fn a_late_answer_to_an_overtaken_question_is_dropped() {
    let mut console = on_running().typed("AS");
    let first = console.model.serial;
    console.type_keys("5");
    console.tell(Msg::Previewed(first, Ok(Box::new(preview(Danger::Bounded)))));
    console.type_keys("<enter>");
    assert_eq!(done(&console), []);
}

/// What a dialog counts and fills in is not known before everything was listed. A pause waits for nothing.
#[test]
fn what_writes_opens_no_dialog_before_everything_is_listed() {
    let watches = |awaited: Watched| {
        let mut watches = running().watches;
        watches
            .iter_mut()
            .filter(|watch| watch.watched == awaited)
            .for_each(|watch| watch.health = WatchHealth::Loading);
        watches
    };
    for (awaited, said) in [(Watched::Pods, "still loading: waits for pods"), (Watched::Lease, "waits for lease")] {
        let phase = if awaited == Watched::Pods { Phase::Loading } else { Phase::Running };
        let half = Snapshot { phase, watches: watches(awaited), ..running() };
        for keys in ["U", "S", "I", "L", "N", "R"] {
            let console = TestConsole::on(half.clone(), 80, 24).typed("A").typed(keys);
            assert!(!matches!(console.model.overlay, Overlay::Dialog(_)), "{keys}: {}", console.screen());
            assert!(status(&console).contains(said), "{keys}: {}", status(&console));
        }
        let paused = TestConsole::on(half, 80, 24).typed("P<enter>");
        assert!(matches!(done(&paused)[..], [Command::Pause { .. }]), "{}", paused.screen());
    }
    // What only tells more is not waited for.
    let half = Snapshot { watches: watches(Watched::Events), ..running() };
    let mut console = TestConsole::on(half, 80, 24).typed("AU");
    assert!(matches!(console.model.overlay, Overlay::Dialog(_)), "{}", console.screen());
    // Pods are counted as they are now.
    let mut revisions = running().revisions.to_vec();
    revisions[1].pods = 77;
    console.see(Snapshot { revisions: revisions.clone().into(), ..running() });
    assert!(console.screen().contains("    77  v1.8.2"), "{}", console.screen());
    console.see(Snapshot { revisions: revisions.into(), phase: Phase::Loading, ..running() });
    assert!(console.screen().contains("     …  v1.8.2"), "{}", console.screen());
}

/// What was still loading when a dialog was opened is there by now: a refusal is not the last word.
#[test]
fn what_would_be_refused_is_asked_again_when_something_changed() {
    let questions = |console: &TestConsole| {
        console.effects.iter().filter(|effect| matches!(effect, ConsoleEffect::Ask { .. })).count()
    };
    let refusal = || Err(CommandError::Refused(Refusal::Stale("nodes still loading".into())));
    let mut console = on_running().typed("AU");
    console.tell(Msg::Previewed(console.model.serial, refusal()));
    assert!(console.screen().contains("nodes still loading"), "{}", console.screen());
    console.type_keys("<tab><enter>");
    assert_eq!((done(&console), questions(&console)), (vec![], 1), "what is refused cannot be confirmed");

    console.see(running());
    console.see(running());
    assert_eq!(questions(&console), 2, "once, until there is an answer");
    assert!(console.screen().contains("nodes still loading"), "it is said until then: {}", console.screen());
    console.tell(Msg::Previewed(console.model.serial, refusal()));
    console.see(running());
    let console = console.answered(preview(Danger::Bounded));
    assert_eq!(questions(&console), 3);
    assert!(!console.screen().contains("nodes still loading"), "{}", console.screen());
    let mut console = console;
    console.see(running());
    assert_eq!(questions(&console), 3, "what was granted is not asked again");
    // Who was about to answer the refusal has not read what took its place.
    let not_read = done(&console);
    console.type_keys("<enter>");
    assert_eq!(done(&console), not_read);
    assert!(status(&console).starts_with("it is not refused any more"), "{}", status(&console));

    // Unless others changed what it depends on. The focus is on what confirms: enter must not confirm what is worse than what was read.
    let gone = DriverView::Lost { holder: "uid0@vm/1".into(), renewal_observed_at: running().at, renewed_at: None };
    console.see(Snapshot { driver: gone, ..running() });
    assert_eq!(questions(&console), 4, "its driver is gone");
    let before = done(&console);
    let mut console = console.answered(preview(Danger::Serious));
    console.type_keys("<enter>");
    assert_eq!(done(&console), before, "{}", console.screen());
}

#[test]
fn pausing_works_while_read_only_with_one_enter_and_a_reason_if_there_is_one() {
    let console = on_running().typed("Pflaky link<enter>");
    assert_eq!(done(&console), [Command::Pause { why: Some("flaky link".into()) }]);
    assert_eq!(done(&TestConsole::on(fixtures::cascade(), 80, 24).typed("B<enter>")), [Command::Pause { why: None }]);
    assert_eq!(done(&on_running().typed("?P<enter>")), [Command::Pause { why: None }], "from the help, too");
}

#[test]
fn writes_are_refused_until_armed_and_the_refusal_names_the_key() {
    for (key, word) in
        [("S", "step"), ("N", "canary"), ("I", "image"), ("U", "roll back"), ("R", "release"), ("D", "drive")]
    {
        let console = TestConsole::on(fixtures::observed(), 80, 24).typed(key);
        assert_eq!(status(&console), format!("read-only: A arms for 10 minutes, then {key} {word}"));
        assert!(asked(&console).is_none() && matches!(console.model.overlay, Overlay::None));
    }
}

#[test]
fn armed_runs_out() {
    let mut console = on_running().typed("A:partition 30%<enter>").answered(preview(Danger::Bounded));
    console.wait(601);
    assert!(status(&console).contains("read-only again"), "{}", status(&console));
    console.type_keys("<enter>");
    assert_eq!(done(&console), []);
    assert!(status(&console).contains("nothing was done"), "{}", status(&console));
    assert_eq!(done(&on_running().typed("AAS<enter>")), [], "a second A disarms");
}

#[test]
fn what_the_server_would_refuse_is_refused_before() {
    let console = TestConsole::on(fixtures::forbidden(), 80, 24).typed("AU");
    assert!(status(&console).contains("not permitted: `patch` on daemonsets.apps"), "{}", status(&console));
    let idle = TestConsole::on(fixtures::idle(), 80, 24).typed("AS");
    assert!(status(&idle).contains("I sets a new image"), "{}", status(&idle));
    let absent = TestConsole::on(fixtures::absent(), 80, 24).typed("AI");
    assert_eq!(status(&absent), "there is no DaemonSet edge/ipc-agent");
}

#[test]
fn driving_is_asked_for_taken_over_and_given_back() {
    let nobody = Snapshot { driver: DriverView::Nobody, ..running() };
    assert_eq!(asked(&TestConsole::on(nobody, 80, 24).typed("AD")), Some(Command::Drive(Takeover::IfFree)));
    assert_eq!(asked(&TestConsole::on(fixtures::observed(), 80, 24).typed("AD")), Some(Command::Drive(Takeover::Ask)));
    assert_eq!(asked(&on_running().typed("AD")), Some(Command::StopDriving));
    assert_eq!(done(&on_running().typed(":stop-driving<enter><left><enter>")), [Command::StopDriving]);
}

#[test]
fn images_and_selectors_are_judged_as_they_are_typed() {
    let screen = on_running().typed("AI").screen();
    assert!(screen.contains("the same image as now"), "{screen}");
    let screen = on_running().typed("AI:x").screen();
    assert!(screen.contains("is not an image"), "{screen}");
    let want = Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    assert_eq!(asked(&on_running().typed("AI<c-u>agent:v2")), Some(want.clone()));
    assert_eq!(asked(&on_running().typed("A:image agent=agent:v2<enter>")), Some(want));
    let tag =
        Command::SetImage([("agent".to_owned(), "registry.factory.example/edge/agent:v2.0.1".parse().unwrap())].into());
    for typed in ["A:image v2.0.1<enter>", "A:image agent=v2.0.1<enter>", "A:image *=v2.0.1<enter>"] {
        assert_eq!(asked(&on_running().typed(typed)), Some(tag.clone()), "a tag of the present repository");
    }
    let none = on_running().typed("A:image agent=<enter>");
    assert_eq!(status(&none), "`agent=` names no image: write `:image agent=IMAGE`");
    let unknown = on_running().typed("A:image proxy=x:v2<enter>");
    assert_eq!(status(&unknown), "there is no container `proxy`; there are agent");
    for (typed, why) in [
        ("A:image agent<enter>", "`agent` is a container: `:image agent=REPOSITORY:TAG`"),
        ("A:prewarm agent<enter>", "`agent` is a container: `:prewarm agent=REPOSITORY:TAG`"),
        ("A:prewarm agent=<enter>", "`agent=` names no image: write `:prewarm agent=IMAGE`"),
    ] {
        assert_eq!(status(&on_running().typed(typed)), why);
    }
    let screen = on_running().typed("AN<c-u>line in (").screen();
    assert!(screen.contains("selector `line in (`"), "{screen}");
    let screen = on_running().typed("AN<c-u>kubernetes.io/hostname=ipc-017").screen();
    assert!(screen.contains("1 of 120 nodes match:"), "{screen}");
}

#[test]
fn right_completes_labels_and_their_values() {
    let console = on_running().typed("AN<c-u>topo<right>");
    let Overlay::Dialog(dialog) = &console.model.overlay else { panic!("no dialog") };
    let crate::tui::dialog::Form::Canary(form) = &dialog.form else { panic!("another form") };
    assert_eq!(form.input.value(), "topology.kubernetes.io/zone=");
    let console = console.typed("<right>");
    assert_eq!(asked(&console), Some(Command::Select(Some("topology.kubernetes.io/zone=munich".parse().unwrap()))));
}

#[test]
fn commands_are_typed_completed_recalled_and_guessed() {
    let console = on_running().typed(":paritition<enter>");
    assert!(status(&console).contains("did you mean :partition?"), "{}", status(&console));
    let console = on_running().typed(":free<tab><enter>");
    assert!(console.model.rollout().unwrap().frozen.is_some());
    let console = on_running().typed(":sort name<enter>:<up><enter>");
    assert_eq!(console.model.history, ["sort name"]);
    assert!(status(&on_running().typed(":sort nme<enter>")).contains("there are trouble, name"));
    assert!(status(&on_running().typed(":theme mon<enter>")).contains("there is no theme `mon`"));
}

#[test]
fn the_screen_and_the_story_are_saved_from_anywhere() {
    for keys in ["<c-s>", "?<c-s>", "T<c-s>", ":<c-s>", "A<c-s>"] {
        let console = TestConsole::on(running(), 80, 24).typed(keys);
        let saved: Vec<_> = console
            .effects
            .iter()
            .filter_map(|effect| match effect {
                ConsoleEffect::Save { screen, rollout } => Some((screen, rollout)),
                _ => None,
            })
            .collect();
        let [(screen, Some(rollout))] = saved.as_slice() else { panic!("{keys}: {:?}", console.effects) };
        assert_eq!(screen.lines().count(), 24, "{keys}");
        assert!(screen.contains("ipc-agent") || screen.contains("agent"), "{keys}: {screen}");
        assert_eq!(rollout.0.name, running().name);
    }
}

#[test]
fn what_is_not_audited_is_said_once_and_hides_nothing() {
    let complaint = "no Events on the DaemonSet: events is forbidden";
    let mute = || Snapshot { unaudited: vec![complaint.into()], ..running() };
    let mut console = on_running().typed("P<enter>");
    assert!(status(&console).starts_with("asked"), "{}", status(&console));
    console.see(mute());
    assert!(!status(&console).contains(complaint), "what is waited for comes first: {}", status(&console));
    console.tell(Msg::Done(the_target(), Ok("paused".into())));
    assert_eq!(status(&console), format!("ipc-agent: paused ({complaint})"));
    console.type_keys("A");
    console.see(mute());
    assert!(!status(&console).contains(complaint), "once: {}", status(&console));
}

#[test]
fn a_dialog_that_is_cancelled_says_that_nothing_was_changed() {
    for keys in ["AI<esc>", "AI<tab><tab><enter>", "P<esc>", "ASx<esc>"] {
        let console = on_running().typed(keys);
        let cancelled = matches!(console.model.overlay, Overlay::None) && done(&console).is_empty();
        assert_eq!(cancelled, status(&console) == "cancelled, nothing changed", "{keys}: {}", status(&console));
    }
    assert_eq!(status(&on_running().typed("P<esc>")), "cancelled, nothing changed");
}

#[test]
fn pasted_text_is_never_taken_for_keys() {
    let mut console = on_running().typed("A");
    console.tell(Msg::Paste("S\rPq".into()));
    assert!(asked(&console).is_none() && done(&console).is_empty());
    console.type_keys("AAI<c-u>");
    console.tell(Msg::Paste("agent:v3\n".into()));
    assert_eq!(asked(&console), Some(Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into())));
}

#[test]
fn every_key_of_the_table_does_something_or_says_why_not() {
    for action in &crate::tui::action::ACTIONS {
        for key in action.keys {
            let mut console = TestConsole::on(fixtures::idle(), 80, 24);
            let available = action.available(&console.model);
            // A key of a screen may do something else on the others.
            if crate::tui::action::bound(&console.model, *key).is_none_or(|bound| bound.id != action.id) {
                continue;
            }
            console.tell(Msg::Key(*key));
            if let Err(why) = available {
                assert_eq!(status(&console), why, "{key}");
            }
        }
    }
}

#[test]
fn keys_of_the_users_own_work_beside_the_others_and_are_in_footer_and_help() {
    let choice = |action: &str, key: &str| {
        (KeyChoice { action: action.to_owned(), key: key.to_owned(), line: 1 }, "config.toml:1".to_owned())
    };
    let mut console = TestConsole::on(running(), 120, 40);
    console.model.keys = own_keys(&[choice("map", "M"), choice("pause", "alt-p"), choice("timeline", "s")]).unwrap();
    console.type_keys("M");
    assert!(console.screen().contains("map of"), "{}", console.screen());
    console.type_keys("m");
    assert!(!console.screen().contains("map of"), "{}", console.screen());
    assert!(console.screen().contains("M map"), "{}", console.screen());
    console.type_keys("s");
    assert!(
        console.model.rollout().is_some_and(|page| page.timeline().is_some()),
        "what the table had there gives way"
    );
    console.type_keys("<esc>?/alt-p<enter>");
    assert!(console.screen().contains("alt-p P B"), "{}", console.screen());
}

/// As in k9s and lazygit: what is not needed here says so.
#[test]
fn who_wants_to_load_all_anew_is_told_that_nothing_has_to_be() {
    for keys in ["<f5>", "<c-r>", ":refresh<enter>"] {
        for mut console in [TestConsole::on(running(), 80, 24), TestConsole::on_fleet(80, 24).with_fleet()] {
            console.type_keys(keys);
            let screen = console.screen();
            assert!(screen.contains("nothing to reload: changes are shown as they come"), "{keys}:\n{screen}");
        }
    }
}

/// A message of the time of another target could be read as one about the present one.
#[test]
fn what_was_said_of_an_earlier_target_goes() {
    let refused = || {
        let mut console = on_running();
        console.tell(Msg::Said(StatusSeverity::Refused, "halted: resume it first".into()));
        console
    };
    let other = Snapshot { to: running().from, from: running().to, ..running() };
    let mut console = refused();
    console.wait(2);
    console.see(other.clone());
    assert!(status(&console).contains("halted"), "it can be read");
    console.wait(4);
    console.see(other);
    assert!(console.model.status.is_none(), "{}", console.screen());
    let mut console = refused();
    console.wait(6);
    console.see(running());
    assert!(status(&console).contains("halted"), "the same target");
}

/// The rollout was over before the question whether to quit was answered: it would say of nobody that they drive.
#[test]
fn the_question_to_quit_goes_with_the_last_rollout_that_is_driven() {
    let mut console = on_running().typed("q");
    assert!(console.screen().contains("You drive edge/ipc-agent"), "{}", console.screen());
    console.see(running());
    assert!(console.screen().contains("You drive edge/ipc-agent"), "{}", console.screen());
    console.see(Snapshot { driver: DriverView::Nobody, ..running() });
    assert!(!console.screen().contains("You drive"), "{}", console.screen());
    assert_eq!(status(&console), "nothing is driven any more: q quits");
    console.type_keys("q");
    assert!(console.effects.iter().any(|effect| matches!(effect, ConsoleEffect::Quit(driven) if driven.is_empty())));
}

/// While what is typed cannot be read, the list is as it was before, and not as the beginning of the word would have it.
#[test]
fn a_filter_that_cannot_be_read_leaves_the_one_from_before() {
    let all = on_running().typed("/foo");
    assert!(all.screen().contains("no node passes"), "{}", all.screen());
    let unread = all.typed("=bar");
    let screen = unread.screen();
    assert!(screen.contains("neither a column nor a node label `foo`"), "{screen}");
    assert!(!screen.contains("pass · filter"), "{screen}");
    let kept = on_running().typed("/ipc-04<enter>").typed("/=x");
    assert!(kept.screen().contains("filter ipc-04 "), "{}", kept.screen());
}

/// To stop driving is as safe as a pause: the key that drives does that without arming.
#[test]
fn who_drives_stops_without_arming() {
    let ours = Snapshot { driver: DriverView::You { renewed_at: fixtures::ago(1), lapsed: false }, ..running() };
    let screen = TestConsole::on(ours.clone(), 80, 24).typed("D").screen();
    assert!(screen.contains("┌ Stop driving "), "{screen}");
    let console = TestConsole::on(ours, 80, 24).typed("D").answered(preview(Danger::None)).typed("<tab><enter>");
    assert_eq!(done(&console), [Command::StopDriving]);
    let nobodys = Snapshot { driver: DriverView::Nobody, ..running() };
    let console = TestConsole::on(nobodys, 80, 24).typed("D");
    assert_eq!(status(&console), "read-only: A arms for 10 minutes, then D drive");
}
