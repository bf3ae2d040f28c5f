//! Moves rows that the terminal shows already, instead of writing them again: one line more above the map moves all of it, and written again that
//! is thousands of bytes.
//!
//! Lines are deleted on one side of what moves, and inserted on the other: all terminals have had both since the VT102. That is shorter than a scrolling
//! region, and leaves the cursor where it is known to be.

use std::io::Write as _;
use std::ops::Range;

use ratatui::buffer::{Buffer, Cell};

/// A frame in fewer bytes than this is not worth the search.
pub(crate) const WORTHWHILE: usize = 300;
/// Rows are looked for at most so many rows away.
const FURTHEST: usize = 4;
/// At least so many rows have to have moved together.
const FEWEST: usize = 4;

/// Rows of a frame that stood elsewhere in the frame before.
struct Moved {
    /// The rows that have moved, or lie between such rows, at their new place.
    rows: Range<usize>,
    by: usize,
    down: bool,
    count: usize,
}

/// What the terminal shows once rows have moved.
pub(crate) struct Shifted {
    pub(crate) shown: Buffer,
    /// The row in whose first column the cursor is.
    pub(crate) row: u16,
}

/// Appends the bytes that move rows to where `after` has them; `None` if hardly any row has moved.
///
/// Both frames have the same area, and it begins at the terminal's first row. The terminal's pen has to be reset.
pub(crate) fn shift(before: &Buffer, after: &Buffer, out: &mut Vec<u8>) -> Option<Shifted> {
    let width = usize::from(after.area.width);
    let ways = (1..=FURTHEST).flat_map(|by| [(by, true), (by, false)]);
    let found = ways.filter_map(|(by, down)| Moved::of(before, after, by, down));
    let Moved { rows, by, down, .. } = found.max_by_key(|moved| moved.count).filter(|moved| moved.count >= FEWEST)?;
    // These are also the rows that go: those above the ones that move up, or below the ones that move down.
    let region = if down { rows.start - by..rows.end } else { rows.start..rows.end + by };
    let lines = if by > 1 { by.to_string() } else { String::new() };
    let (deleted, inserted) = if down { (region.end - by, region.start) } else { (region.start, region.end - by) };
    write!(out, "\x1b[{}H\x1b[{lines}M\x1b[{}H\x1b[{lines}L", deleted + 1, inserted + 1).ok()?;
    let mut shown = before.clone();
    let moved = &mut shown.content[region.start * width..region.end * width];
    let blank = by * width;
    if down {
        moved.rotate_right(blank);
        moved[..blank].fill(Cell::EMPTY);
    } else {
        moved.rotate_left(blank);
        let kept = moved.len() - blank;
        moved[kept..].fill(Cell::EMPTY);
    }
    Some(Shifted { shown, row: u16::try_from(inserted).ok()? })
}

impl Moved {
    /// The rows of `after` that stand `by` rows lower, or higher, than in `before`.
    fn of(before: &Buffer, after: &Buffer, by: usize, down: bool) -> Option<Self> {
        let (width, height) = (usize::from(after.area.width), usize::from(after.area.height));
        let row = |y: usize| y * width..(y + 1) * width;
        let same = |y: usize, was: usize| after.content.get(row(y)) == before.content.get(row(was));
        let has_moved = |y: &usize| {
            let was = if down { y.checked_sub(by) } else { Some(y + by).filter(|was| *was < height) };
            was.is_some_and(|was| same(*y, was)) && !same(*y, *y)
        };
        let mut moved = (0..height).filter(has_moved);
        let first = moved.next()?;
        let (count, last) = moved.fold((1, first), |(count, _), y| (count + 1, y));
        Some(Self { rows: first..last + 1, by, down, count })
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode::{encode, encode_from};
    use super::*;

    const SIZE: (u16, u16) = (40, 12);

    fn frame(rows: &[&str]) -> Buffer {
        let mut frame = Buffer::empty(ratatui::layout::Rect::new(0, 0, SIZE.0, SIZE.1));
        for (y, text) in (0u16..).zip(rows) {
            frame.set_string(0, y, text, ratatui::style::Style::new());
        }
        frame
    }

    /// What a terminal shows that showed `before` and is sent what leads to `after`, and how many bytes that were.
    fn shown(before: &Buffer, after: &Buffer) -> (Vec<String>, usize) {
        let mut terminal = vt100::Parser::new(SIZE.1, SIZE.0, 0);
        let mut bytes = Vec::new();
        encode(&frame(&[]), before, &mut bytes);
        terminal.process(&bytes);
        bytes.clear();
        let moved = shift(before, after, &mut bytes).expect("rows have moved");
        encode_from(Some((0, moved.row)), &moved.shown, after, &mut bytes);
        terminal.process(&bytes);
        (terminal.screen().rows(0, SIZE.0).map(|row| row.trim_end().to_owned()).collect(), bytes.len())
    }

    #[test]
    fn rows_that_move_up_or_down_are_not_written_again() {
        let above = ["title", "progress"];
        let map =
            ["hall-a ■■■■■■■■□□□□□□□□", "hall-b ■■■■■■■■■■■■■■■■", "hall-c ■■■", "hall-d ■□□□", "hall-e ■■■■■■■■"];
        let below = ["", "", "footer"];
        let less = frame(&[&above[..], &map, &below].concat());
        for trouble in [&["1 restarted"][..], &["1 restarted", "2 unseen"]] {
            let kept = &below[trouble.len()..];
            let more = frame(&[&above[..], trouble, &map, kept].concat());
            for (before, after) in [(&less, &more), (&more, &less)] {
                let (rows, bytes) = shown(before, after);
                let wanted: Vec<String> =
                    (0..usize::from(SIZE.1)).map(|y| row_of(after, y).trim_end().to_owned()).collect();
                assert_eq!(rows, wanted);
                let mut anew = Vec::new();
                encode(before, after, &mut anew);
                assert!(bytes < anew.len() && bytes < 90, "{bytes} bytes, written again {}", anew.len());
            }
        }
    }

    #[test]
    fn rows_that_stay_are_left_where_they_are() {
        let before = frame(&["one", "two", "three", "four", "five", "six"]);
        let mut bytes = Vec::new();
        let changed = frame(&["one", "two", "3", "four", "five", "six"]);
        assert!(shift(&before, &changed, &mut bytes).is_none() && shift(&before, &before, &mut bytes).is_none());
        assert!(bytes.is_empty());
    }

    fn row_of(frame: &Buffer, y: usize) -> String {
        let width = usize::from(SIZE.0);
        frame.content[y * width..(y + 1) * width].iter().map(Cell::symbol).collect()
    }
}
