//! The places of the blocks and the cells of the map.
//!
//! ```text
//!  munich 22/40          hamburg 6/40         a line of titles
//!  ✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓     ✓✓✓✓✓✓◐◐·········    the cells of a block, line by line
//!  ✓✓✓✓✓✗!·········      ················
//! ```
//!
//! Blocks stand side by side in columns of equal width; the number of columns is the one that makes the map lowest. If the
//! titles with one line of cells each do not fit the area, each title stands before its cells, provided that this fits:
//!
//! ```text
//!  munich  ✓✓✓✓✓✗·      hamburg ✓✓◐◐···
//! ```

use super::MapMove;

/// Blank cells between two blocks.
const GAP: usize = 2;
/// The smallest width of a block, in cells.
const NARROWEST: usize = 12;
/// The longest title before the cells, and the least number of cells in a line after it.
const INLINE: (usize, usize) = (16, 5);

/// The places of the blocks, each with a title above its cells or before them. Rows are counted from the top of the whole map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MapLayout {
    /// The number of nodes that share a cell.
    pub(crate) per_cell: usize,
    pub(crate) blocks: Vec<MapBlock>,
    /// The number of rows of the whole map.
    pub(crate) height: usize,
}

/// A block: its title is at `(x, y)`, its cells are below or behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MapBlock {
    pub(crate) x: usize,
    pub(crate) y: usize,
    /// The width of a title before the cells, with the blank after it; 0 if the title stands above the cells.
    pub(crate) indent: usize,
    /// The most cells of a line.
    pub(crate) width: usize,
    /// The number of cells.
    pub(crate) cells: usize,
}

impl MapBlock {
    /// The place of a cell.
    pub(crate) fn position(&self, cell: usize) -> (usize, usize) {
        (self.x + self.indent + cell % self.width, self.first_row() + cell / self.width)
    }

    /// The row of the block's first cell.
    pub(crate) fn first_row(&self) -> usize {
        self.y + usize::from(self.indent == 0)
    }
}

/// Blocks of these sizes in columns of one width.
struct BlockColumns {
    columns: usize,
    /// The width of the cells, without a title before them.
    width: usize,
    indent: usize,
}

impl BlockColumns {
    /// Blocks in this number of columns; `None` if the columns would be too narrow.
    fn of(columns: usize, room: usize, least: usize, indent: usize) -> Option<Self> {
        let width = (room + GAP).checked_div(columns)?.checked_sub(GAP)?.saturating_sub(indent);
        (width >= least.max(1) || columns == 1).then_some(Self { columns, width: width.max(1), indent })
    }

    /// The heights of the rows of blocks, titles included.
    fn heights<'a>(&'a self, sizes: &'a [usize], per_cell: usize) -> impl Iterator<Item = usize> + 'a {
        let lines = move |size: usize| size.div_ceil(per_cell).div_ceil(self.width);
        let title = usize::from(self.indent == 0);
        sizes.chunks(self.columns).map(move |row| title + row.iter().map(|size| lines(*size)).max().unwrap_or(0))
    }

    fn height(&self, sizes: &[usize], per_cell: usize) -> usize {
        self.heights(sizes, per_cell).sum()
    }
}

impl MapLayout {
    /// Lays out blocks of these sizes in an area of this size; `title` is the length of the longest title. If there is no
    /// room for a cell per node, as few nodes as possible share one; if not even one cell per block fits, the map is higher
    /// than the area.
    pub(crate) fn of(sizes: &[usize], title: usize, width: usize, height: usize) -> Self {
        // The counts stand beside the name. If that leaves too little room for the cells, names are cut.
        let roomy = Self::with_columns_of((title + 16).clamp(NARROWEST, 40).min(width), 0, sizes, width, height);
        if roomy.per_cell == 1 && roomy.height <= height {
            return roomy;
        }
        let tight = Self::with_columns_of((title + 8).clamp(NARROWEST, 24).min(width), 0, sizes, width, height);
        if tight.height <= height {
            return tight;
        }
        let (longest, cells) = INLINE;
        let indent = title.clamp(1, longest) + 1;
        if indent + cells > width {
            return tight;
        }
        let inline = Self::with_columns_of(cells, indent, sizes, width, height);
        if inline.height <= height { inline } else { tight }
    }

    /// Lays out columns of at least `least` cells behind an indent of this width.
    fn with_columns_of(least: usize, indent: usize, sizes: &[usize], width: usize, height: usize) -> Self {
        let columns = (1..=sizes.len().max(1)).map_while(|columns| BlockColumns::of(columns, width, least, indent));
        let columns: Vec<BlockColumns> = columns.collect();
        let best = |per_cell: usize| {
            let heights = columns.iter().map(|columns| (columns.height(sizes, per_cell), columns));
            heights.min_by_key(|(height, columns)| (*height, columns.columns))
        };
        let largest = sizes.iter().copied().max().unwrap_or(0).max(1);
        let fits = |per_cell: usize| best(per_cell).is_some_and(|(needed, _)| needed <= height);
        let per_cell = if fits(largest) {
            // The height falls as more nodes share a cell.
            let (mut fails, mut fit) = (0, largest);
            while fit - fails > 1 {
                let middle = fails + (fit - fails) / 2;
                if fits(middle) { fit = middle } else { fails = middle }
            }
            fit
        } else {
            1
        };
        let Some((needed, columns)) = best(per_cell) else {
            return Self { per_cell, blocks: Vec::new(), height: 0 };
        };
        let rows = sizes.len().div_ceil(columns.columns);
        let gap = usize::from(needed + rows.saturating_sub(1) <= height);
        let mut y = 0;
        let mut blocks = Vec::with_capacity(sizes.len());
        for (row, tall) in sizes.chunks(columns.columns).zip(columns.heights(sizes, per_cell)) {
            for (column, size) in row.iter().enumerate() {
                let BlockColumns { width, indent, .. } = *columns;
                let x = column * (indent + width + GAP);
                blocks.push(MapBlock { x, y, indent, width, cells: size.div_ceil(per_cell) });
            }
            y += tall + gap;
        }
        Self { per_cell, blocks, height: y.saturating_sub(gap) }
    }

    /// The cell reached from this one, as block and cell; without a start, the first cell.
    pub(crate) fn step(&self, from: Option<(usize, usize)>, movement: MapMove, page: usize) -> Option<(usize, usize)> {
        let first = || self.cells().next();
        let Some((block, cell)) =
            from.filter(|(block, cell)| self.blocks.get(*block).is_some_and(|it| *cell < it.cells))
        else {
            return if movement == MapMove::Last { self.cells().last() } else { first() };
        };
        let (x, y) = self.blocks[block].position(cell);
        let on_line = |(block, cell): &(usize, usize)| self.blocks[*block].position(*cell).1 == y;
        let x_of = |(block, cell): &(usize, usize)| self.blocks[*block].position(*cell).0;
        match movement {
            MapMove::First => first(),
            MapMove::Last => self.cells().last(),
            MapMove::Right => {
                let right = self.cells().filter(|at| on_line(at) && x_of(at) > x).min_by_key(x_of);
                // The move goes from the end of a line to the beginning of the block's next line, or of the next block.
                let next = || self.cells().skip_while(|at| *at != (block, cell)).nth(1);
                right.or_else(next).or(Some((block, cell)))
            }
            MapMove::Left => {
                let left = self.cells().filter(|at| on_line(at) && x_of(at) < x).max_by_key(x_of);
                let before = || self.cells().take_while(|at| *at != (block, cell)).last();
                left.or_else(before).or(Some((block, cell)))
            }
            MapMove::Down => self.vertically(x, |other| other > y, |other| other - y).or(Some((block, cell))),
            MapMove::Up => self.vertically(x, |other| other < y, |other| y - other).or(Some((block, cell))),
            MapMove::PageDown => {
                let far = self.vertically(x, |other| other > y, |other| (y + page).abs_diff(other));
                far.or(Some((block, cell)))
            }
            MapMove::PageUp => {
                let far = self.vertically(x, |other| other < y, |other| y.saturating_sub(page).abs_diff(other));
                far.or(Some((block, cell)))
            }
        }
    }

    /// The cell in the nearest of the wanted lines: in this column, or else beside it.
    fn vertically(
        &self,
        x: usize,
        wanted: impl Fn(usize) -> bool,
        distance: impl Fn(usize) -> usize,
    ) -> Option<(usize, usize)> {
        let place = |at: &(usize, usize)| self.blocks[at.0].position(at.1);
        let wanted = self.cells().filter(|at| wanted(place(at).1));
        // A few lines further in the same column count as nearer than a cell far to the side.
        wanted.min_by_key(|at| {
            let (other_x, other_y) = place(at);
            (distance(other_y) + x.abs_diff(other_x).min(4) * 4, x.abs_diff(other_x))
        })
    }

    /// All cells, block by block.
    fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        self.blocks.iter().enumerate().flat_map(|(block, it)| (0..it.cells).map(move |cell| (block, cell)))
    }

    /// The first visible row out of `height` rows, chosen so that `row` is visible.
    pub(crate) fn scrolled(&self, top: usize, row: Option<usize>, height: usize) -> usize {
        let top = match row {
            // The row above is made visible too, because it may be the title.
            Some(row) => top.min(row.saturating_sub(1)).max((row + 1).saturating_sub(height)),
            None => top,
        };
        top.min(self.height.saturating_sub(height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(layout: &MapLayout, width: usize) -> Vec<String> {
        let mut rows = vec![vec![' '; width]; layout.height];
        for (nth, block) in layout.blocks.iter().enumerate() {
            let letter = char::from(b'a' + u8::try_from(nth % 26).unwrap());
            rows[block.y][block.x] = letter.to_ascii_uppercase();
            for cell in 0..block.cells {
                let (x, y) = block.position(cell);
                assert_eq!(rows[y][x], ' ', "two cells at {x}, {y}");
                rows[y][x] = letter;
            }
        }
        rows.into_iter().map(|row| row.into_iter().collect::<String>().trim_end().to_owned()).collect()
    }

    #[test]
    fn blocks_stand_beside_each_other() {
        let layout = MapLayout::of(&[14, 5, 20, 1], 6, 30, 7);
        assert_eq!(layout.per_cell, 1);
        assert_eq!(
            rows(&layout, 30),
            ["A               B", "aaaaaaaaaaaaaa  bbbbb", "", "C               D", "cccccccccccccc  d", "cccccc"]
        );
    }

    #[test]
    fn nodes_share_cells_only_where_they_must() {
        assert_eq!(MapLayout::of(&[100], 0, 10, 11).per_cell, 1);
        assert_eq!(MapLayout::of(&[101], 0, 10, 11).per_cell, 2);
        let many = MapLayout::of(&[65_000 / 20; 20], 8, 198, 38);
        assert!(many.height <= 38, "{}", many.height);
        assert!(many.per_cell <= 11, "{}", many.per_cell);
        // Titles alone would fill the area: they stand before the cells.
        let sites = MapLayout::of(&[100; 150], 8, 134, 38);
        assert!(sites.height <= 38 && sites.blocks[0].indent == 9, "{sites:?}");
        assert_eq!(sites.per_cell, 5);
        // There are more sites than lines: the map is scrolled.
        let sites = MapLayout::of(&[5; 3_000], 8, 198, 38);
        assert_eq!(sites.per_cell, 1);
        assert!(sites.height > 38);
    }

    /// For all sizes each node has a cell, no cell is outside the area, no cell is taken twice, and everything that can fit does fit.
    #[test]
    fn every_layout_holds_every_node() {
        for seed in 0..400 {
            let mut random = fastrand::Rng::with_seed(seed);
            let sizes: Vec<usize> = (0..random.usize(0..40)).map(|_| random.usize(1..200)).collect();
            let (width, height) = (random.usize(1..200), random.usize(0..60));
            let layout = MapLayout::of(&sizes, random.usize(0..70), width, height);
            let cells: usize = layout.blocks.iter().map(|block| block.cells).sum();
            let wanted: usize = sizes.iter().map(|size| size.div_ceil(layout.per_cell)).sum();
            assert_eq!(cells, wanted, "seed {seed}");
            rows(&layout, width);
            assert!(layout.height <= height || layout.per_cell == 1, "seed {seed}");
            let titled = layout.blocks.iter().all(|block| block.indent == 0);
            assert!(titled || layout.height <= height, "seed {seed}");
        }
    }

    /// From every cell each movement leads to a cell, and moving right from the first cell reaches all cells.
    #[test]
    fn every_cell_is_reached() {
        for seed in 0..60 {
            let mut random = fastrand::Rng::with_seed(seed);
            let sizes: Vec<usize> = (0..random.usize(1..9)).map(|_| random.usize(1..60)).collect();
            let layout = MapLayout::of(&sizes, 6, random.usize(10..120), random.usize(4..40));
            let mut reached = std::collections::HashSet::new();
            let mut left = vec![layout.step(None, MapMove::First, 5).unwrap()];
            while let Some(at) = left.pop() {
                if reached.insert(at) {
                    for movement in [MapMove::Left, MapMove::Right, MapMove::Up, MapMove::Down] {
                        left.push(layout.step(Some(at), movement, 5).unwrap());
                    }
                }
            }
            assert_eq!(reached.len(), layout.cells().count(), "seed {seed}");
            assert_eq!(layout.step(Some(layout.cells().last().unwrap()), MapMove::First, 5), layout.cells().next());
            assert_eq!(layout.step(None, MapMove::Last, 5), layout.cells().last());
        }
    }
}
