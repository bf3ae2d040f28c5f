//! Whatever a cluster says of itself can be shown: nothing panics, no cell is flooded, and the work grows with the text and not
//! faster. The cluster adapter bounds such texts; here they come as they are.

use proptest::prelude::*;
use ratatui::layout::Size;
use unicode_width::UnicodeWidthStr;

use super::console::TestConsole;
use crate::engine::fake_cluster::{PLACES, hostile_snapshots};
use crate::tui::message::Msg;
use crate::tui::words::{CELL_BYTES, amount_read};

/// Each screen, by the keys that lead to it.
const SCREENS: [&str; 21] = [
    "",
    "<down>",
    "<down><down><enter>",
    "<enter>j  ",
    "T",
    "T<down>",
    "T<down><enter>",
    "T/x<enter>",
    "?",
    "w",
    "p",
    "AS",
    "U",
    "L",
    "P",
    "v",
    "vm",
    "d",
    "d<right><right>",
    "d/x<enter>",
    "vy",
];

/// Draws every screen of both consoles at this size; says how much text was read for the one that took most.
fn draw_all(text: &str, (width, height): (u16, u16)) -> usize {
    let mut most = 0;
    for snapshot in hostile_snapshots(text) {
        for keys in SCREENS {
            let mut console = TestConsole::on(snapshot.clone(), 80, 24);
            let ((), work) = amount_read(|| {
                console.tell(Msg::Resize(Size::new(width, height)));
                console.type_keys(keys);
            });
            assert!(console.model.rollout().is_some(), "{keys:?} leads away from the rollout");
            let (frame, drawing) = amount_read(|| console.frame());
            most = most.max(work).max(drawing);
            for (at, cell) in frame.content().iter().enumerate() {
                let symbol = cell.symbol();
                assert!(symbol.len() <= CELL_BYTES, "{} bytes in cell {at} after {keys:?}", symbol.len());
                assert!(!symbol.contains(char::is_control), "{symbol:?} in cell {at} after {keys:?}");
                let last = (at + 1).is_multiple_of(usize::from(width));
                assert!(symbol.width() <= if last { 1 } else { 2 }, "{symbol:?} in cell {at} after {keys:?}");
            }
        }
    }
    most
}

/// What may be read of texts for one screen: each where it stands once, and every cell a few times.
fn allowance(text: &str, (width, height): (u16, u16)) -> usize {
    PLACES * text.len() + 50 * usize::from(width) * usize::from(height) + 20_000
}

#[test]
fn floods_are_drawn_with_work_that_grows_as_they_do() {
    // Invisible characters: no part of a screen is full, however many there are.
    for times in [50, 100, 600] {
        let (text, size) = ("\u{202e}".repeat(times), (80, 24));
        let (work, allowed) = (draw_all(&text, size), allowance(&text, size));
        println!("{times}: {work} read, {allowed} allowed");
        assert!(work <= allowed, "{times}: {work} read, {allowed} allowed");
    }
    for piece in ["word ", "e\u{301}", "\u{200b}", "\n"] {
        let text = piece.repeat(20_000 / piece.len());
        let size = (120, 30);
        let (work, allowed) = (draw_all(&text, size), allowance(&text, size));
        assert!(work <= allowed, "{piece:?}: {work} read, {allowed} allowed");
    }
}

fn texts() -> impl Strategy<Value = String> {
    let pieces = vec![
        "a",
        " ",
        "word ",
        "\n",
        "\t",
        "\u{0}",
        "\u{9b}31m",
        "\u{1b}[2J",
        "\u{1b}]0;x\u{7}",
        "\u{301}",
        "\u{200d}",
        "👩\u{200d}",
        "🇦",
        "界",
        "\u{1100}",
        "\u{600}",
        "\u{202e}",
        "\u{200b}",
        "{}",
        "%s",
        "@",
        "/",
        ": ",
        ".",
    ];
    let times = prop_oneof![6 => 1_usize..4, 2 => 4_usize..100, 1 => Just(600_usize)];
    let run = (prop::sample::select(pieces), times).prop_map(|(piece, times)| piece.repeat(times));
    prop_oneof![1 => ".{0,30}", 3 => prop::collection::vec(run, 1..8).prop_map(|runs| runs.concat())]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn every_text_can_be_drawn(text in texts(), width in 0_u16..=200, height in 0_u16..=60) {
        for size in [(80, 24), (width, height)] {
            let (work, allowed) = (draw_all(&text, size), allowance(&text, size));
            prop_assert!(work <= allowed, "{size:?}: {work} read, {allowed} allowed");
        }
    }
}
