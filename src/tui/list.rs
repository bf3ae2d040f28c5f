//! The selection and the visible part of a list whose rows move.
//!
//! A selected row is identified by its key, not by its place: rows move during a rollout, and the selection moves with them.
//! Until a row is selected, the list shows its top, and its first row, whichever it is, is the current one.
//!
//! The first rows of a list can be pinned: they stay visible in a part of their own while the rest is scrolled.

/// Which row of a list is selected, and which rows are visible.
#[derive(Clone, Debug)]
pub(crate) struct List<K> {
    selected: Option<K>,
    /// The key that was selected when all rows vanished: it is selected again if its row comes back.
    missed: Option<K>,
    /// The place of the selected row. When the row vanishes, the row that is at this place then is selected.
    cursor: usize,
    /// The first visible row of the rest, counted from the first row of the rest.
    top: usize,
    /// The first visible row of the pinned part.
    pinned_top: usize,
}

/// How many rows of a list are pinned, and how many rows are visible of each part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Viewport {
    /// The number of rows at the beginning that are pinned.
    pub(crate) pinned: usize,
    /// The number of pinned rows that are visible.
    pub(crate) pinned_height: usize,
    /// The number of other rows that are visible.
    pub(crate) height: usize,
}

impl From<usize> for Viewport {
    fn from(height: usize) -> Self {
        Self { height, ..Self::default() }
    }
}

impl<K> Default for List<K> {
    fn default() -> Self {
        Self { selected: None, missed: None, cursor: 0, top: 0, pinned_top: 0 }
    }
}

/// A movement in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    Up,
    Down,
    HalfUp,
    HalfDown,
    PageUp,
    PageDown,
    Top,
    Bottom,
}

impl<K: Clone + PartialEq> List<K> {
    /// The key of the selected row.
    pub(crate) fn selected(&self) -> Option<&K> {
        self.selected.as_ref()
    }

    /// Whether the selection was lost because all rows vanished.
    pub(crate) fn misses_one(&self) -> bool {
        self.missed.is_some()
    }

    /// The place of the selected row.
    pub(crate) fn cursor(&self) -> Option<usize> {
        self.selected.as_ref().map(|_| self.cursor)
    }

    /// The place of the current row in a list of `len` rows: the selected one, or the first if none is selected.
    pub(crate) fn current(&self, len: usize) -> Option<usize> {
        self.cursor().or_else(|| (len > 0).then_some(0))
    }

    /// The first visible row of those that are not pinned, counted from the first of them.
    pub(crate) fn top(&self) -> usize {
        self.top
    }

    /// The first visible row of the pinned part.
    pub(crate) fn pinned_top(&self) -> usize {
        self.pinned_top
    }

    /// Makes this the first visible row of those that are not pinned. The next `scroll` limits it to the rows that there are.
    pub(crate) fn show_from(&mut self, top: usize) {
        self.top = top;
    }

    /// Selects nothing, and shows the top.
    pub(crate) fn deselect(&mut self) {
        *self = Self::default();
    }

    /// Selects the row at `cursor`, which has this key.
    pub(crate) fn select(&mut self, cursor: usize, key: K) {
        (self.selected, self.missed, self.cursor) = (Some(key), None, cursor);
    }

    /// Moves the selection, in a list of `len` rows of which those in `viewport` are visible.
    pub(crate) fn go(&mut self, movement: Move, len: usize, viewport: impl Into<Viewport>, key: impl Fn(usize) -> K) {
        let (Some(last), viewport) = (len.checked_sub(1), viewport.into()) else { return };
        let (page, half) = (viewport.height.max(1), (viewport.height / 2).max(1));
        let current = self.current(len).unwrap_or(0);
        let cursor = match movement {
            Move::Up => current.saturating_sub(1),
            Move::Down => current + 1,
            Move::HalfUp => current.saturating_sub(half),
            Move::HalfDown => current + half,
            Move::PageUp => current.saturating_sub(page),
            Move::PageDown => current + page,
            Move::Top => 0,
            Move::Bottom => last,
        }
        .min(last);
        // A page key moves the visible part as far as the cursor.
        match movement {
            Move::PageDown => self.top = self.top.saturating_add(page),
            Move::HalfDown => self.top = self.top.saturating_add(half),
            Move::PageUp => self.top = self.top.saturating_sub(page),
            Move::HalfUp => self.top = self.top.saturating_sub(half),
            Move::Top => self.top = 0,
            Move::Up | Move::Down | Move::Bottom => {}
        }
        self.select(cursor, key(cursor));
        self.scroll(len, viewport);
    }

    /// Finds the selected row again after rows changed; `position` returns the present place of a row. If the row has
    /// vanished, the row that took its place is selected.
    pub(crate) fn follow(
        &mut self,
        len: usize,
        viewport: impl Into<Viewport>,
        position: impl Fn(&K) -> Option<usize>,
        key: impl Fn(usize) -> K,
    ) {
        if self.selected.is_none() && len > 0 {
            self.selected = self.missed.take().filter(|missed| position(missed).is_some());
        }
        if let Some(selected) = &self.selected {
            match position(selected) {
                Some(at) => self.cursor = at,
                None if len == 0 => self.missed = self.selected.take(),
                None => {
                    self.cursor = self.cursor.min(len - 1);
                    self.selected = Some(key(self.cursor));
                }
            }
        }
        self.scroll(len, viewport.into());
    }

    /// Scrolls the part that contains the cursor so that the cursor is visible, and both parts so that no line below their
    /// last row is empty without need.
    fn scroll(&mut self, len: usize, viewport: Viewport) {
        let Viewport { pinned, pinned_height, height } = viewport;
        let pinned = pinned.min(len);
        let show = |top: usize, at: usize, height: usize| top.min(at).max((at + 1).saturating_sub(height.max(1)));
        match self.cursor() {
            Some(cursor) if cursor < pinned => self.pinned_top = show(self.pinned_top, cursor, pinned_height),
            Some(cursor) => self.top = show(self.top, cursor - pinned, height),
            None => (self.top, self.pinned_top) = (0, 0),
        }
        self.top = self.top.min((len - pinned).saturating_sub(height));
        self.pinned_top = self.pinned_top.min(pinned.saturating_sub(pinned_height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(list: &mut List<char>, rows: &str, height: usize) {
        let rows: Vec<char> = rows.chars().collect();
        list.follow(rows.len(), height, |key| rows.iter().position(|row| row == key), |at| rows[at]);
    }

    fn go(list: &mut List<char>, movement: Move, rows: &str, height: usize) {
        let rows: Vec<char> = rows.chars().collect();
        list.go(movement, rows.len(), height, |at| rows[at]);
    }

    #[test]
    fn the_cursor_stays_on_its_row_whatever_moves() {
        let mut list = List::default();
        go(&mut list, Move::Down, "abcdef", 3);
        assert_eq!(list.selected(), Some(&'b'), "the first row was the current one");
        follow(&mut list, "cdefab", 3);
        assert_eq!((list.selected(), list.cursor(), list.top()), (Some(&'b'), Some(5), 3));
        follow(&mut list, "cdefa", 3);
        assert_eq!(list.selected(), Some(&'a'), "its neighbour takes over when it goes");
        follow(&mut list, "", 3);
        assert_eq!((list.selected(), list.top()), (None, 0));
    }

    #[test]
    fn nothing_selected_shows_the_top() {
        let mut list = List::default();
        follow(&mut list, "abcdef", 2);
        assert_eq!((list.cursor(), list.current(6), list.top()), (None, Some(0), 0));
        assert_eq!(list.current(0), None);
        go(&mut list, Move::Bottom, "abcdef", 2);
        assert_eq!((list.selected(), list.top()), (Some(&'f'), 4));
        list.deselect();
        assert_eq!((list.cursor(), list.top()), (None, 0));
    }

    #[test]
    fn pages_move_by_what_is_seen() {
        let mut list = List::default();
        for (movement, want) in [
            (Move::Down, 'b'),
            (Move::PageDown, 'e'),
            (Move::PageDown, 'h'),
            (Move::HalfUp, 'g'),
            (Move::PageUp, 'd'),
            (Move::Top, 'a'),
            (Move::Up, 'a'),
        ] {
            go(&mut list, movement, "abcdefgh", 3);
            assert_eq!(list.selected(), Some(&want), "{movement:?}");
        }
    }

    #[test]
    fn pinned_rows_and_the_rest_scroll_each_by_themselves() {
        let viewport = Viewport { pinned: 3, pinned_height: 2, height: 2 };
        let rows: Vec<char> = "abcdefgh".chars().collect();
        let mut list = List::default();
        let mut tops = Vec::new();
        for movement in [Move::Down; 6].into_iter().chain([Move::Up; 6]) {
            list.go(movement, rows.len(), viewport, |at| rows[at]);
            tops.push((*list.selected().unwrap(), list.pinned_top(), list.top()));
        }
        let down = [('b', 0, 0), ('c', 1, 0), ('d', 1, 0), ('e', 1, 0), ('f', 1, 1), ('g', 1, 2)];
        let up = [('f', 1, 2), ('e', 1, 1), ('d', 1, 0), ('c', 1, 0), ('b', 1, 0), ('a', 0, 0)];
        assert_eq!(tops, [down, up].concat());
    }

    #[test]
    fn a_row_that_becomes_pinned_does_not_scroll_the_rest() {
        let rows: Vec<char> = "abcdefghij".chars().collect();
        let mut list = List::default();
        let viewport = |pinned| Viewport { pinned, pinned_height: pinned, height: 4 };
        for _ in 0..6 {
            list.go(Move::Down, rows.len(), viewport(1), |at| rows[at]);
        }
        assert_eq!((list.selected(), list.top()), (Some(&'g'), 2));
        // The selected row is pinned now.
        let moved: Vec<char> = "agbcdefhij".chars().collect();
        let position = |key: &char| moved.iter().position(|row| row == key);
        list.follow(moved.len(), viewport(2), position, |at| moved[at]);
        assert_eq!((list.selected(), list.cursor(), list.top()), (Some(&'g'), Some(1), 2));
    }
}
