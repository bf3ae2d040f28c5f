//! The selection and the visible part of a list whose rows move.
//!
//! What is selected is known by its key, not by its place: rows move during a rollout, and the selection moves with them. As
//! long as nothing is selected, the list shows its top.

/// Which row of a list is selected, and which rows are visible.
#[derive(Clone, Debug)]
pub(crate) struct List<K> {
    selected: Option<K>,
    /// Where the selected row is. When the row goes, the one that is there then is selected.
    cursor: usize,
    top: usize,
}

impl<K> Default for List<K> {
    fn default() -> Self {
        Self { selected: None, cursor: 0, top: 0 }
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

    /// Where the selected row is.
    pub(crate) fn cursor(&self) -> Option<usize> {
        self.selected.as_ref().map(|_| self.cursor)
    }

    /// The first visible row.
    pub(crate) fn top(&self) -> usize {
        self.top
    }

    /// Selects nothing, and shows the top.
    pub(crate) fn deselect(&mut self) {
        *self = Self::default();
    }

    /// Selects by movement, in a list of `len` rows of which `height` are visible.
    pub(crate) fn go(&mut self, movement: Move, len: usize, height: usize, key: impl Fn(usize) -> K) {
        let Some(last) = len.checked_sub(1) else { return };
        let (page, half) = (height.max(1), (height / 2).max(1));
        let cursor = match (self.cursor(), movement) {
            (None, Move::Bottom) => last,
            (None, _) => self.top.min(last),
            (Some(cursor), movement) => match movement {
                Move::Up => cursor.saturating_sub(1),
                Move::Down => cursor + 1,
                Move::HalfUp => cursor.saturating_sub(half),
                Move::HalfDown => cursor + half,
                Move::PageUp => cursor.saturating_sub(page),
                Move::PageDown => cursor + page,
                Move::Top => 0,
                Move::Bottom => last,
            }
            .min(last),
        };
        // A page moves the visible part as far as the cursor.
        let moved = |top: usize, by: usize| top.saturating_add(by);
        match movement {
            Move::PageDown => self.top = moved(self.top, page),
            Move::HalfDown => self.top = moved(self.top, half),
            Move::PageUp => self.top = self.top.saturating_sub(page),
            Move::HalfUp => self.top = self.top.saturating_sub(half),
            _ => {}
        }
        self.selected = Some(key(cursor));
        self.cursor = cursor;
        self.scroll(len, height);
    }

    /// Finds the selected row again after rows changed; `position` tells where a row is now. A row that is gone leaves the
    /// selection to the one that took its place.
    pub(crate) fn follow(
        &mut self,
        len: usize,
        height: usize,
        position: impl Fn(&K) -> Option<usize>,
        key: impl Fn(usize) -> K,
    ) {
        if let Some(selected) = &self.selected {
            match position(selected) {
                Some(at) => self.cursor = at,
                None if len == 0 => self.selected = None,
                None => {
                    self.cursor = self.cursor.min(len - 1);
                    self.selected = Some(key(self.cursor));
                }
            }
        }
        self.scroll(len, height);
    }

    /// Scrolls so that the cursor is visible and no line below the last row is empty without need.
    fn scroll(&mut self, len: usize, height: usize) {
        if let Some(cursor) = self.cursor() {
            self.top = self.top.min(cursor).max((cursor + 1).saturating_sub(height.max(1)));
        }
        self.top = self.top.min(len.saturating_sub(height));
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
        go(&mut list, Move::Down, "abcdef", 3);
        assert_eq!(list.selected(), Some(&'b'));
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
        assert_eq!((list.cursor(), list.top()), (None, 0));
        go(&mut list, Move::Bottom, "abcdef", 2);
        assert_eq!((list.selected(), list.top()), (Some(&'f'), 4));
        list.deselect();
        assert_eq!((list.cursor(), list.top()), (None, 0));
    }

    #[test]
    fn pages_move_by_what_is_seen() {
        let mut list = List::default();
        for (movement, want) in [
            (Move::Down, 'a'),
            (Move::PageDown, 'd'),
            (Move::PageDown, 'g'),
            (Move::HalfUp, 'f'),
            (Move::PageUp, 'c'),
            (Move::Top, 'a'),
            (Move::Up, 'a'),
        ] {
            go(&mut list, movement, "abcdefgh", 3);
            assert_eq!(list.selected(), Some(&want), "{movement:?}");
        }
    }
}
