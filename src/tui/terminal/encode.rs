//! Encodes the differences between two frames in few bytes.
//!
//! Over SSH the cost of a frame is its size in bytes. Unlike ratatui's stock encoder this one bridges small gaps instead of
//! moving, uses the short colour codes, merges them into one sequence, clears line ends, and writes nothing when nothing
//! changed. A property test compares it with a terminal emulator.

use std::borrow::Cow;
use std::io::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Position;
use ratatui::style::{Color, Modifier};

use crate::engine::model::printable::is_printable;

/// Unchanged gaps up to this many cells are written again instead of jumped over: a jump costs at least three bytes.
const BRIDGE: u16 = 4;
/// Runs of at least this many blanks are erased instead of written: erasing costs about eight bytes, including the move to the next cell.
const ERASE: u16 = 10;
/// Up to this many rows or columns the cursor goes one at a time: a longer way costs four bytes.
const FEW: u16 = 3;

/// Appends the bytes that change a terminal that shows `before` into one that shows `after`.
///
/// Both have the same area. The terminal's pen is reset before and after.
pub(crate) fn encode(before: &Buffer, after: &Buffer, out: &mut Vec<u8>) {
    encode_from(None, before, after, out);
}

/// The same where the terminal's cursor is at `at`, by column and row; `None`: it may be anywhere.
pub(crate) fn encode_from(at: Option<(u16, u16)>, before: &Buffer, after: &Buffer, out: &mut Vec<u8>) {
    let mut pen = Pen { out, after, at, style: PenStyle::default() };
    let mut cleared_row = None;
    let before = without_halves(before, after);
    let updates = before.diff(after);
    let mut rest = updates.as_slice();
    while let [(x, y, cell), tail @ ..] = rest {
        rest = tail;
        if cleared_row == Some(*y) {
            continue;
        }
        let in_row = 1 + tail.iter().take_while(|(_, row, _)| row == y).count();
        if in_row > 3 && pen.blank_from(*x, *y) {
            pen.clear_to_end(*x, *y);
            cleared_row = Some(*y);
            continue;
        }
        pen.go(*x, *y);
        let blanks = pen.blanks_from(*x, *y);
        let erased = in_row.min(1 + tail.iter().take_while(|(column, row, _)| row == y && column - x < blanks).count());
        let last = if erased > 1 { tail[erased - 2].0 } else { *x };
        if last - x + 1 >= ERASE {
            pen.erase(last - x + 1);
            rest = &tail[erased - 1..];
            continue;
        }
        pen.write(*x, *y, cell);
    }
    pen.finish();
}

/// `before` after its wide symbols are overwritten: terminals differ in what remains of their second halves.
fn without_halves<'a>(before: &'a Buffer, after: &Buffer) -> Cow<'a, Buffer> {
    let mut known = Cow::Borrowed(before);
    for (at, cell) in before.content.iter().enumerate() {
        if is_wide(cell.symbol()) && after.content.get(at) != Some(cell) && at + 1 < before.content.len() {
            known.to_mut().content[at + 1].set_symbol("\u{fffd}");
        }
    }
    known
}

fn is_wide(symbol: &str) -> bool {
    !symbol.is_ascii() && unicode_width::UnicodeWidthStr::width(symbol) > 1
}

/// Makes cells equal that look the same: only the background and the lines of a blank are visible. Also blanks wide symbols
/// whose second half was painted over, because a terminal cannot show both.
pub(crate) fn mend(frame: &mut Buffer) {
    let width = usize::from(frame.area.width);
    for at in 0..frame.content.len() {
        if is_blank(&frame.content[at]) {
            (frame.content[at].fg, frame.content[at].modifier) = (Color::Reset, Modifier::empty());
        }
        if !is_wide(frame.content[at].symbol()) {
            continue;
        }
        let last = (at + 1) % width == 0;
        if last || frame.content.get(at + 1).is_none_or(|next| next.symbol() != " ") {
            frame.content[at].set_symbol(" ");
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct PenStyle {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

struct Pen<'a> {
    out: &'a mut Vec<u8>,
    after: &'a Buffer,
    /// The position of the terminal's cursor; unknown at first and after the last column.
    at: Option<(u16, u16)>,
    style: PenStyle,
}

impl Pen<'_> {
    fn cell(&self, x: u16, y: u16) -> Option<&Cell> {
        self.after.cell(Position::new(x, y))
    }

    /// Whether everything from here to the end of the row is plain blank.
    fn blank_from(&self, x: u16, y: u16) -> bool {
        (x..self.after.area.right()).all(|x| self.cell(x, y).is_some_and(is_blank))
    }

    /// The number of plain blanks from here on.
    fn blanks_from(&self, x: u16, y: u16) -> u16 {
        let blanks = (x..self.after.area.right()).take_while(|x| self.cell(*x, y).is_some_and(is_blank));
        u16::try_from(blanks.count()).unwrap_or(0)
    }

    /// Makes this many cells from the cursor on blank, and leaves the cursor in place.
    fn erase(&mut self, cells: u16) {
        if !self.style.leaves_blanks() {
            self.restyle(PenStyle::default());
        }
        let _ = write!(self.out, "\x1b[{cells}X");
    }

    fn clear_to_end(&mut self, x: u16, y: u16) {
        self.go(x, y);
        self.restyle(PenStyle::default());
        self.out.extend_from_slice(b"\x1b[K");
    }

    fn go(&mut self, x: u16, y: u16) {
        let (left, top) = (self.after.area.x, self.after.area.y);
        let at = self.at;
        match at {
            Some(at) if at == (x, y) => return,
            Some((from, row)) if row == y && from < x && x - from <= BRIDGE && self.bridge(from, x, y) => {}
            at => {
                let there = place(y - top + 1, x - left + 1);
                let from_here = at.map(|(from, row)| steps((from, row), (x, y)));
                let by_return = at.and_then(|(_, row)| self.by_return(row, (x, y)));
                let ways = from_here.into_iter().chain(by_return).chain([there]);
                let shortest = ways.min_by_key(String::len).unwrap_or_default();
                self.out.extend_from_slice(shortest.as_bytes());
            }
        }
        self.at = Some((x, y));
    }

    /// The way down from a row by a carriage return, line feeds and the blanks at the left edge; `None` if there is none.
    fn by_return(&self, row: u16, (x, y): (u16, u16)) -> Option<String> {
        let (left, down) = (self.after.area.x, y.checked_sub(row)?);
        let blanks = usize::from(x.checked_sub(left)?);
        let is_short = (1..=FEW).contains(&down) && blanks <= usize::from(BRIDGE);
        let blank = |x: u16| self.cell(x, y).is_some_and(|cell| is_blank(cell) && self.has_look_of(cell));
        let is_way = is_short && (left..x).all(blank);
        is_way.then(|| format!("\r{}{}", "\n".repeat(usize::from(down)), " ".repeat(blanks)))
    }

    /// Writes the unchanged cells of a gap again, if they need no other pen.
    fn bridge(&mut self, from: u16, to: u16, y: u16) -> bool {
        let after = self.after;
        let same = |x: u16| {
            after
                .cell(Position::new(x, y))
                .is_some_and(|cell| self.has_look_of(cell) && cell.symbol().len() == 1 && cell.symbol() != "\t")
        };
        if !(from..to).all(same) {
            return false;
        }
        for x in from..to {
            if let Some(cell) = after.cell(Position::new(x, y)) {
                self.out.extend_from_slice(cell.symbol().as_bytes());
            }
        }
        true
    }

    /// Whether the pen writes in the look of this cell.
    fn has_look_of(&self, cell: &Cell) -> bool {
        self.style == style_of(cell) || is_blank(cell) && self.style.leaves_blanks()
    }

    fn write(&mut self, x: u16, y: u16, cell: &Cell) {
        if !self.has_look_of(cell) {
            self.restyle(style_of(cell));
        }
        let symbol = cell.symbol();
        let width = if symbol.is_empty() || symbol.contains(char::is_control) {
            self.out.push(b' ');
            1
        } else if !symbol.chars().all(is_printable) {
            // A visible character may be followed by invisible ones, which make a name look like another.
            let width = unicode_width::UnicodeWidthStr::width(symbol).max(1);
            self.out.extend(std::iter::repeat_n(b'?', width));
            u16::try_from(width).unwrap_or(1)
        } else {
            self.out.extend_from_slice(symbol.as_bytes());
            u16::try_from(unicode_width::UnicodeWidthStr::width(symbol)).unwrap_or(1).max(1)
        };
        // Terminals differ in the cursor's place after the last column, and in the width of wide symbols.
        let certain = symbol.is_ascii() || width == 1;
        self.at = (certain && x + width < self.after.area.right()).then_some((x + width, y));
    }

    fn restyle(&mut self, to: PenStyle) {
        if self.style == to {
            return;
        }
        let (from_now, from_reset) = (codes(self.style, to), codes_from_reset(to));
        let codes = if from_now.len() < from_reset.len() { from_now } else { from_reset };
        let _ = write!(self.out, "\x1b[{codes}m");
        self.style = to;
    }

    fn finish(&mut self) {
        self.restyle(PenStyle::default());
    }
}

fn style_of(cell: &Cell) -> PenStyle {
    PenStyle { fg: cell.fg, bg: cell.bg, modifier: cell.modifier }
}

impl PenStyle {
    /// Whether a blank written with this pen looks like a plain one.
    fn leaves_blanks(self) -> bool {
        self.bg == Color::Reset && !self.modifier.intersects(SHOWS)
    }
}

/// The modifiers that are visible on a blank.
const SHOWS: Modifier = Modifier::REVERSED.union(Modifier::UNDERLINED).union(Modifier::CROSSED_OUT);

fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && style_of(cell).leaves_blanks()
}

/// Moves the cursor to a row and column, counted from 1.
fn place(row: u16, column: u16) -> String {
    match (row, column) {
        (1, 1) => "\x1b[H".to_owned(),
        (row, 1) => format!("\x1b[{row}H"),
        (row, column) => format!("\x1b[{row};{column}H"),
    }
}

/// Moves the cursor from one column and row to another, by rows and then by columns.
fn steps((from, row): (u16, u16), (x, y): (u16, u16)) -> String {
    let sequence = |count: u16, last: char| match count {
        0 => String::new(),
        1 => format!("\x1b[{last}"),
        count => format!("\x1b[{count}{last}"),
    };
    // A line feed keeps the column: the terminal is raw, and adds no carriage return.
    let down = match y.saturating_sub(row) {
        few @ 1..=FEW => "\n".repeat(usize::from(few)),
        many => sequence(many, 'B'),
    };
    let up = sequence(row.saturating_sub(y), 'A');
    let right = sequence(x.saturating_sub(from), 'C');
    let left = match from.saturating_sub(x) {
        few @ 1..=FEW => "\x08".repeat(usize::from(few)),
        many => sequence(many, 'D'),
    };
    format!("{down}{up}{right}{left}")
}

const MODIFIERS: [(Modifier, &str, &str); 8] = [
    (Modifier::BOLD, "1", "22"),
    (Modifier::DIM, "2", "22"),
    (Modifier::ITALIC, "3", "23"),
    (Modifier::UNDERLINED, "4", "24"),
    (Modifier::SLOW_BLINK, "5", "25"),
    (Modifier::REVERSED, "7", "27"),
    (Modifier::HIDDEN, "8", "28"),
    (Modifier::CROSSED_OUT, "9", "29"),
];

/// The codes that change the pen from `from` to `to`.
fn codes(from: PenStyle, to: PenStyle) -> String {
    let mut codes = Codes::default();
    let removed = from.modifier - to.modifier;
    for (modifier, _, off) in MODIFIERS {
        if removed.contains(modifier) && !codes.0.ends_with(off) {
            codes.push(off);
        }
    }
    // Bold and dim can only be switched off together.
    let dropped = if removed.intersects(Modifier::BOLD | Modifier::DIM) {
        removed | Modifier::BOLD | Modifier::DIM
    } else {
        removed
    };
    for (modifier, on, _) in MODIFIERS {
        if to.modifier.contains(modifier) && (!from.modifier.contains(modifier) || dropped.contains(modifier)) {
            codes.push(on);
        }
    }
    if from.fg != to.fg {
        codes.colour(to.fg, ColourPlane::Fore);
    }
    if from.bg != to.bg {
        codes.colour(to.bg, ColourPlane::Back);
    }
    codes.0
}

/// The codes that set the pen to `to`, whatever it was.
fn codes_from_reset(to: PenStyle) -> String {
    let codes = codes(PenStyle::default(), to);
    // A parameter that is left out is 0: reset.
    if codes.is_empty() { codes } else { format!(";{codes}") }
}

#[derive(Clone, Copy)]
enum ColourPlane {
    Fore,
    Back,
}

#[derive(Default)]
struct Codes(String);

impl Codes {
    fn push(&mut self, code: &str) {
        if !self.0.is_empty() {
            self.0.push(';');
        }
        self.0.push_str(code);
    }

    fn colour(&mut self, colour: Color, ground: ColourPlane) {
        let back = match ground {
            ColourPlane::Fore => 0,
            ColourPlane::Back => 10,
        };
        let simple = |code: u8| (code + back).to_string();
        self.push(&match colour {
            Color::Reset => simple(39),
            Color::Black => simple(30),
            Color::Red => simple(31),
            Color::Green => simple(32),
            Color::Yellow => simple(33),
            Color::Blue => simple(34),
            Color::Magenta => simple(35),
            Color::Cyan => simple(36),
            Color::Gray => simple(37),
            Color::DarkGray => simple(90),
            Color::LightRed => simple(91),
            Color::LightGreen => simple(92),
            Color::LightYellow => simple(93),
            Color::LightBlue => simple(94),
            Color::LightMagenta => simple(95),
            Color::LightCyan => simple(96),
            Color::White => simple(97),
            Color::Indexed(index) => format!("{};5;{index}", simple(38)),
            Color::Rgb(red, green, blue) => format!("{};2;{red};{green};{blue}", simple(38)),
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    const SIZE: Rect = Rect { x: 0, y: 0, width: 24, height: 6 };

    fn blank() -> Buffer {
        Buffer::empty(SIZE)
    }

    fn bytes(before: &Buffer, after: &Buffer) -> Vec<u8> {
        let mut out = Vec::new();
        encode(before, after, &mut out);
        out
    }

    fn text(before: &Buffer, after: &Buffer) -> String {
        String::from_utf8(bytes(before, after)).unwrap().replace('\x1b', "^")
    }

    #[test]
    fn invisible_characters_behind_a_visible_one_are_not_written() {
        let mut frame = blank();
        frame.set_string(0, 0, "ad\u{200d}min \u{1f469}\u{200d}\u{1f680} x\u{e0041}y\u{202e}z", Style::new());
        let text = text(&blank(), &frame);
        assert!(text.chars().all(is_printable), "{text:?}");
        assert!(text.contains("a?min") && text.contains('y'), "{text:?}");
    }

    #[test]
    fn writes_nothing_when_nothing_changed() {
        let mut buffer = blank();
        buffer.set_string(3, 2, "steady", Style::new().fg(Color::Red));
        assert!(bytes(&buffer, &buffer).is_empty());
    }

    #[test]
    fn is_frugal() {
        let before = blank();
        let mut after = blank();
        after.set_string(0, 0, "ab", Style::new());
        assert_eq!(text(&before, &after), "^[Hab");
        let mut after = before.clone();
        after.set_string(4, 1, "x", Style::new().fg(Color::LightGreen).add_modifier(Modifier::BOLD));
        after.set_string(7, 1, "y", Style::new().fg(Color::LightGreen).add_modifier(Modifier::BOLD));
        assert_eq!(text(&before, &after), "^[2;5H^[1;92mx  y^[m");
        // The colour of a blank is not visible, and nearby cells are reached by steps.
        let mut after = before.clone();
        after.set_string(2, 1, "up down", Style::new().fg(Color::LightGreen));
        after.set_string(6, 2, " ", Style::new().fg(Color::LightCyan));
        after.set_string(8, 2, "x", Style::new().fg(Color::LightGreen));
        mend(&mut after);
        assert_eq!(text(&before, &after), "^[2;3H^[92mup down\n\u{8}x^[m");
        let mut before = blank();
        before.set_string(2, 3, "a long line", Style::new());
        assert_eq!(text(&before, &blank()), "^[4;3H^[K");
    }

    /// One stroke on the canvas: its place, its text, and its colours.
    fn strokes() -> impl Strategy<Value = Vec<(u16, u16, String, u8, u8, u8)>> {
        let stroke = (0_u16..24, 0_u16..6, "[ -~äé→✓■]{1,8}|[界語]{1,3}", 0_u8..20, 0_u8..20, 0_u8..16);
        prop::collection::vec(stroke, 0..12)
    }

    fn colour(index: u8) -> Color {
        match index {
            0..4 => Color::Reset,
            4 => Color::Indexed(200),
            5 => Color::Rgb(1, 2, 3),
            other => [Color::Red, Color::DarkGray, Color::LightCyan, Color::White][usize::from(other % 4)],
        }
    }

    fn paint(strokes: &[(u16, u16, String, u8, u8, u8)]) -> Buffer {
        let mut buffer = blank();
        for (x, y, text, fg, bg, modifier) in strokes {
            let all = [Modifier::BOLD, Modifier::UNDERLINED, Modifier::REVERSED, Modifier::ITALIC];
            let modifiers = all.iter().enumerate().filter(|(bit, _)| modifier & (1 << bit) != 0).map(|(_, one)| *one);
            let style = Style::new().fg(colour(*fg)).bg(colour(*bg)).add_modifier(modifiers.collect());
            buffer.set_string(*x, *y, text, style);
        }
        mend(&mut buffer);
        buffer
    }

    /// The screen of a terminal: for each cell its text and its look.
    fn screen(parser: &vt100::Parser) -> Vec<(String, String)> {
        let cell = |row, column| parser.screen().cell(row, column).cloned().unwrap();
        let look = |cell: &vt100::Cell| {
            let ctx = if cell.contents().trim().is_empty() && !cell.inverse() && !cell.underline() {
                String::new()
            } else {
                format!("{:?} {} {}", cell.fgcolor(), cell.bold(), cell.italic())
            };
            format!("{ctx} {:?} {} {}", cell.bgcolor(), cell.inverse(), cell.underline())
        };
        let cells = (0..SIZE.height).flat_map(|row| (0..SIZE.width).map(move |column| (row, column)));
        cells
            .map(|(row, column)| cell(row, column))
            .map(|cell| {
                let text = if cell.contents().is_empty() { " " } else { cell.contents() };
                (text.to_owned(), look(&cell))
            })
            .collect()
    }

    proptest! {
        #[test]
        fn a_terminal_shows_the_same_whichever_way_it_came(one in strokes(), two in strokes()) {
            let (one, two) = (paint(&one), paint(&two));
            let mut stepwise = vt100::Parser::new(SIZE.height, SIZE.width, 0);
            stepwise.process(&bytes(&blank(), &one));
            stepwise.process(&bytes(&one, &two));
            let mut at_once = vt100::Parser::new(SIZE.height, SIZE.width, 0);
            at_once.process(&bytes(&blank(), &two));
            prop_assert_eq!(screen(&stepwise), screen(&at_once));
            for y in 0..SIZE.height {
                let want: String = two.content()[usize::from(y) * 24..][..24].iter().map(|cell| cell.symbol()).collect();
                let got = at_once.screen().rows(0, SIZE.width).nth(usize::from(y)).unwrap_or_default();
                // A wide symbol covers the cell after it, where the buffer holds a blank.
                let plain = |text: &str| text.replace(' ', "");
                prop_assert_eq!(plain(&got), plain(&want));
            }
        }
    }
}
