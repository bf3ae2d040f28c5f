//! The lines of a log that were read, and the part that is shown. Memory is bounded: the oldest lines are dropped.

use std::collections::VecDeque;

use super::list::Move;
use super::words::{is_wider, wrap};
use crate::engine::model::container_log::{ContainerLine, LogNews, LogSource, LogState};

/// The most bytes of text, and the most lines, that are kept.
const MOST_BYTES: usize = 4 * 1024 * 1024;
const MOST_LINES: usize = 20_000;
/// The width of `07:43:38 `.
pub(crate) const TIME: usize = 9;

/// The content of a line of the pane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LogEntry {
    /// A line of the log.
    Line(ContainerLine),
    /// A note about the lines around it.
    Note(String),
}

impl LogEntry {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Line(line) => &line.text,
            Self::Note(note) => note,
        }
    }
}

/// The lines that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LogTop {
    /// The last ones, as they arrive.
    #[default]
    Follow,
    /// From the line with this number on.
    At(u64),
}

/// How lines are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LogLayout {
    pub(crate) cells: usize,
    pub(crate) height: usize,
    pub(crate) wraps: bool,
    pub(crate) timestamps: bool,
}

/// A log while it is being read.
#[derive(Debug)]
pub(crate) struct LogPane {
    /// The number under which it is read.
    pub(crate) serial: u64,
    pub(crate) source: LogSource,
    pub(crate) state: LogState,
    pub(crate) top: LogTop,
    entries: VecDeque<LogEntry>,
    bytes: usize,
    /// The number of the first kept entry, counted from the first that arrived.
    first: u64,
}

impl LogPane {
    pub(crate) fn new(serial: u64, source: LogSource) -> Self {
        Self {
            serial,
            source,
            state: LogState::Opening,
            top: LogTop::Follow,
            entries: VecDeque::new(),
            bytes: 0,
            first: 0,
        }
    }

    /// Takes in what was read.
    pub(crate) fn take_in(&mut self, news: LogNews) {
        let LogNews { lines, skipped_bytes, state } = news;
        if skipped_bytes > 0 {
            let kilobytes = skipped_bytes.div_ceil(1_000);
            self.push(LogEntry::Note(format!(
                "{kilobytes} kB were left out here: they came faster than they can be shown"
            )));
        }
        for line in lines {
            self.push(LogEntry::Line(line));
        }
        // The note is shown once, however often the log is requested again.
        if let LogState::Waiting(why) = &state
            && let Some(last) = self.entries.back()
            && *last != LogEntry::Note(why.to_string())
        {
            self.push(LogEntry::Note(why.to_string()));
        }
        self.state = state;
        if let LogTop::At(top) = &mut self.top {
            *top = (*top).max(self.first);
        }
    }

    fn push(&mut self, entry: LogEntry) {
        self.bytes += entry.text().len();
        self.entries.push_back(entry);
        while self.bytes > MOST_BYTES || self.entries.len() > MOST_LINES {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.text().len();
            self.first += 1;
        }
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of lines that were read before the first kept one.
    pub(crate) fn forgotten(&self) -> u64 {
        self.first
    }

    /// The entries that are shown, from the first on.
    pub(crate) fn from(&self, first: usize) -> impl Iterator<Item = &LogEntry> {
        self.entries.range(first.min(self.entries.len())..)
    }

    /// Which entry is the first on screen.
    pub(crate) fn first_shown(&self, layout: LogLayout) -> usize {
        match self.top {
            LogTop::At(number) => {
                let at = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
                at.min(self.last_page(layout))
            }
            LogTop::Follow => self.last_page(layout),
        }
    }

    /// The first entry of the last page.
    fn last_page(&self, layout: LogLayout) -> usize {
        let mut left = layout.height;
        for (nth, entry) in self.entries.iter().enumerate().rev() {
            let rows = layout.rows(entry);
            if rows > left {
                return (nth + 1).min(self.entries.len().saturating_sub(1));
            }
            left -= rows;
        }
        0
    }

    /// Moves through the lines. Moving away from the last line stops following; moving to the end follows again.
    pub(crate) fn go(&mut self, movement: Move, layout: LogLayout) {
        let (page, half) = (layout.height.max(1), (layout.height / 2).max(1));
        let (at, last) = (self.first_shown(layout), self.last_page(layout));
        let to = match movement {
            Move::Up => at.saturating_sub(1),
            Move::Down => at + 1,
            Move::HalfUp => at.saturating_sub(half),
            Move::HalfDown => at + half,
            Move::PageUp => at.saturating_sub(page),
            Move::PageDown => at + page,
            Move::Top => 0,
            Move::Bottom => last,
        };
        self.top = if to >= last { LogTop::Follow } else { LogTop::At(self.first + to as u64) };
    }

    /// Shows the next line that contains `text`; `forward` is towards the newest. Returns whether there is one.
    pub(crate) fn find(&mut self, text: &str, forward: bool, layout: LogLayout) -> bool {
        let at = self.first_shown(layout);
        let hit = |nth: &usize| contains(self.entries[*nth].text(), text);
        let len = self.entries.len();
        let found = match forward {
            true => (at + 1..len).find(hit).or_else(|| (0..len.min(at + 1)).find(hit)),
            false => (0..at.min(len)).rev().find(hit).or_else(|| (at.min(len)..len).rev().find(hit)),
        };
        if let Some(found) = found {
            self.top = LogTop::At(self.first + found as u64);
        }
        found.is_some()
    }
}

impl LogLayout {
    /// The cells for the text of a line.
    pub(crate) fn text_cells(self) -> usize {
        self.cells.saturating_sub(if self.timestamps { TIME } else { 0 }).max(1)
    }

    /// The number of rows that an entry takes.
    fn rows(self, entry: &LogEntry) -> usize {
        let cells = self.text_cells();
        if !self.wraps || !is_wider(entry.text(), cells) { 1 } else { wrap(entry.text(), cells).count().max(1) }
    }
}

/// Whether `text` contains `wanted`, ignoring the case of ASCII letters.
pub(crate) fn contains(text: &str, wanted: &str) -> bool {
    !wanted.is_empty() && find(text, wanted).is_some()
}

/// The place where `wanted` begins in `text`, ignoring the case of ASCII letters.
pub(crate) fn find(text: &str, wanted: &str) -> Option<usize> {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    if wanted.is_empty() || wanted.len() > text.len() {
        return None;
    }
    text.windows(wanted.len()).position(|window| window.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::container_log::LogRun;

    const LAYOUT: LogLayout = LogLayout { cells: 20, height: 5, wraps: true, timestamps: false };

    fn pane() -> LogPane {
        let [namespace, pod, container] = ["edge", "agent-x", "agent"].map(Into::into);
        LogPane::new(1, LogSource { namespace, pod, container, run: LogRun::Current })
    }

    fn lines(texts: impl IntoIterator<Item = String>) -> LogNews {
        let lines = texts.into_iter().map(|text| ContainerLine { at: None, text: text.into() }).collect();
        LogNews { lines, skipped_bytes: 0, state: LogState::Following }
    }

    fn numbered(count: usize) -> LogPane {
        let mut pane = pane();
        pane.take_in(lines((0..count).map(|nth| format!("line {nth}"))));
        pane
    }

    fn shown(pane: &LogPane) -> Vec<String> {
        pane.from(pane.first_shown(LAYOUT)).take(2).map(|entry| entry.text().to_owned()).collect()
    }

    #[test]
    fn the_last_lines_are_followed_until_somebody_looks_back() {
        let mut pane = numbered(12);
        assert_eq!(shown(&pane), ["line 7", "line 8"]);
        pane.go(Move::PageUp, LAYOUT);
        pane.take_in(lines(["new".to_owned()]));
        assert_eq!(shown(&pane), ["line 2", "line 3"], "what is read does not run away");
        pane.go(Move::Bottom, LAYOUT);
        pane.take_in(lines(["newer".to_owned()]));
        assert_eq!((pane.top, shown(&pane)), (LogTop::Follow, vec!["line 9".to_owned(), "line 10".to_owned()]));
        pane.go(Move::Top, LAYOUT);
        assert_eq!(shown(&pane), ["line 0", "line 1"]);
    }

    #[test]
    fn lines_that_are_broken_take_their_rows() {
        let mut pane = numbered(3);
        pane.take_in(lines(["x".repeat(75)]));
        assert_eq!(shown(&pane)[0], "line 2", "the last one takes four rows");
        let cut = LogLayout { wraps: false, ..LAYOUT };
        assert_eq!(pane.first_shown(cut), 0);
        pane.take_in(lines(["y".repeat(500)]));
        assert_eq!(
            pane.from(pane.first_shown(LAYOUT)).count(),
            1,
            "one that is longer than the screen is shown all the same"
        );
    }

    #[test]
    fn a_flood_is_bounded_and_says_what_is_missing() {
        let mut pane = pane();
        for _ in 0..100 {
            let mut news = lines((0..2_000).map(|_| "x".repeat(1_000)));
            news.skipped_bytes = 5_000_001;
            pane.take_in(news);
            assert!(pane.bytes <= MOST_BYTES && pane.len() <= MOST_LINES);
        }
        assert!(pane.entries.iter().any(|entry| entry.text().starts_with("5001 kB were left out")));
        assert_eq!(pane.forgotten() as usize + pane.len(), 100 * 2_001);
        pane.go(Move::Top, LAYOUT);
        pane.take_in(lines((0..5_000).map(|_| "y".repeat(1_000))));
        assert!(shown(&pane)[0].starts_with('y'), "what was looked at is gone");
    }

    #[test]
    fn a_search_goes_round() {
        let mut pane = numbered(30);
        pane.go(Move::Top, LAYOUT);
        assert!(pane.find("LINE 1", true, LAYOUT));
        assert_eq!(shown(&pane)[0], "line 1");
        assert!(pane.find("line 1", false, LAYOUT));
        assert_eq!(shown(&pane)[0], "line 19", "from the first to the last");
        assert!(!pane.find("nowhere", true, LAYOUT) && !contains("", "x") && !contains("x", ""));
    }

    #[test]
    fn that_a_container_ended_is_said_once() {
        let mut pane = numbered(1);
        let waits = LogNews { state: LogState::Waiting("it ended".into()), ..LogNews::default() };
        pane.take_in(waits.clone());
        pane.take_in(LogNews { state: LogState::Following, ..LogNews::default() });
        pane.take_in(waits);
        assert_eq!(pane.len(), 2);
    }
}
