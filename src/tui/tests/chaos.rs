//! Whatever is typed, whatever comes, at whatever size: nothing panics, and the screen stays whole.

use std::time::Duration;

use proptest::prelude::*;
use ratatui::layout::Size;

use super::console::TestConsole;
use super::fixtures::{self, fleet, preview, the_target};
use crate::driver::CommandError;
use crate::engine::model::command::Refusal;
use crate::engine::model::danger::Danger;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::key::Key;
use crate::tui::message::Msg;
use crate::tui::terminal::{HIGHEST, WIDEST};
use crate::tui::theme::Glyphs;
use crossterm::event::{KeyCode, KeyModifiers};

#[derive(Clone, Debug)]
enum Input {
    Key(Key),
    Paste(String),
    Resize(u16, u16),
    Snapshot(usize),
    Answer(u8),
    Done(bool),
    Fleet,
    Stopped,
    Wait(u64),
    Ascii,
}

fn keys() -> impl Strategy<Value = Key> {
    let named = prop::sample::select(vec![
        KeyCode::Enter,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::F(1),
    ]);
    let letter = prop::sample::select("ABCDINOPRSUjkgGsftq?:/h -=%,!()12ä界".chars().collect::<Vec<_>>());
    prop_oneof![
        3 => letter.prop_map(Key::char),
        2 => named.prop_map(Key::plain),
        1 => (prop::sample::select("abcdefkluwz".chars().collect::<Vec<_>>()), any::<bool>()).prop_map(|(c, alt)| {
            let modifiers = if alt { KeyModifiers::ALT } else { KeyModifiers::CONTROL };
            Key { code: KeyCode::Char(c), modifiers }
        }),
    ]
}

fn acts() -> impl Strategy<Value = Input> {
    prop_oneof![
        12 => keys().prop_map(Input::Key),
        1 => ".{0,40}".prop_map(Input::Paste),
        2 => (0_u16..=200, 0_u16..=60).prop_map(|(width, height)| Input::Resize(width, height)),
        3 => (0_usize..10).prop_map(Input::Snapshot),
        3 => (0_u8..5).prop_map(Input::Answer),
        1 => any::<bool>().prop_map(Input::Done),
        1 => Just(Input::Fleet),
        1 => Just(Input::Stopped),
        1 => (0_u64..700).prop_map(Input::Wait),
        1 => Just(Input::Ascii),
    ]
}

fn snapshot(index: usize) -> Snapshot {
    match index {
        0 => fixtures::loading(),
        1 => fixtures::idle(),
        2 => fixtures::cascade(),
        3 => fixtures::paused(),
        4 => fixtures::halted(),
        5 => fixtures::observed(),
        6 => fixtures::forbidden(),
        7 => fixtures::stale(),
        8 => fixtures::absent(),
        _ => fixtures::running(),
    }
}

fn perform(console: &mut TestConsole, act: Input) {
    match act {
        Input::Key(key) => console.tell(Msg::Key(key)),
        Input::Paste(text) => console.tell(Msg::Paste(text)),
        Input::Resize(width, height) => console.tell(Msg::Resize(Size::new(width, height))),
        Input::Snapshot(index) => console.see(snapshot(index)),
        Input::Answer(kind) => {
            let serial = console.model.serial;
            let dangers = [Danger::None, Danger::Bounded, Danger::Serious, Danger::ExceedsBudget];
            let answer = match dangers.get(usize::from(kind)) {
                Some(danger) => Ok(preview(*danger)),
                None => Err(CommandError::Refused(Refusal::NotNow("nothing is being rolled out".into()))),
            };
            console.tell(Msg::Previewed(serial, answer.map(Box::new)));
        }
        Input::Done(well) => {
            let result =
                if well { Ok("60 of 120 nodes may be updated".to_owned()) } else { Err(CommandError::Stopped) };
            console.tell(Msg::Done(the_target(), result));
        }
        Input::Fleet => console.tell(Msg::Fleet(fleet().into())),
        Input::Stopped => console.tell(Msg::Stopped(the_target())),
        Input::Wait(secs) => {
            console.now += Duration::from_secs(secs);
            console.tell(Msg::Tick);
        }
        Input::Ascii => console.model.glyphs = Glyphs::Ascii,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(acts in prop::collection::vec(acts(), 1..60), width in 0_u16..=200, height in 0_u16..=60) {
        let mut console = TestConsole::on(fixtures::running(), width, height);
        for act in acts {
            perform(&mut console, act);
            let (frame, drawn) = crate::tui::view::draw(&console.model);
            prop_assert_eq!((frame.area.width, frame.area.height), (console.model.size.width, console.model.size.height));
            if console.model.glyphs == Glyphs::Ascii {
                prop_assert!(frame.content().iter().all(|cell| cell.symbol().is_ascii()));
            }
            prop_assert!(drawn.wake.is_none_or(|wake| wake > console.model.now), "time that has passed wakes nobody");
        }
    }
}

/// A terminal may be told any size (`stty`, a pseudo-terminal of a script), and none may end the program.
#[test]
fn no_size_is_too_small_or_too_large() {
    let mut console = TestConsole::on(snapshot(9), 80, 24);
    let sizes =
        [(0, 0), (0, 24), (80, 0), (1, 1), (1, u16::MAX), (u16::MAX, 1), (WIDEST, HIGHEST), (u16::MAX, u16::MAX)];
    for (width, height) in sizes {
        console.tell(Msg::Resize(Size::new(width, height)));
        let area = console.frame().area;
        assert_eq!((area.width, area.height), (width.min(WIDEST), height.min(HIGHEST)));
        for keys in ["?", "<esc>T", "<enter>", "<esc>T<down><enter>", "<esc>P", "<esc>"] {
            console.type_keys(keys);
            console.frame();
        }
    }
}

#[test]
fn every_size_can_be_drawn() {
    for index in [2, 9] {
        let mut console = TestConsole::on(snapshot(index), 80, 24).typed("A");
        for width in 0..=200 {
            for height in [0, 1, 4, 9, 10, 16, 24] {
                console.tell(Msg::Resize(Size::new(width, height)));
                for keys in ["", "P", "<esc>?"] {
                    console.type_keys(keys);
                    console.frame();
                }
                console.type_keys("<esc>");
            }
        }
    }
}
