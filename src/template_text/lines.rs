//! The lines in which two texts differ, with what stands around them.
//!
//! ```text
//! @@ -12,5 +12,5 @@
//!          value: info
//! -      image: agent:v1.8.2
//! +      image: agent:v1.9.0
//! ```

use std::fmt;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// How many equal lines are shown before and after those that differ.
const CONTEXT: usize = 3;
/// How many lines of both texts together may lie between the first difference and the last. The work grows with the square of
/// this number where nothing is equal: some hundredths of a second.
const MOST: usize = 6_000;

/// The lines in which two texts differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TextDiff {
    /// In order; none where the texts are equal.
    Hunks(Vec<Hunk>),
    /// They are too large to be compared.
    TooLarge {
        /// How many lines the first has between the first and the last difference.
        from: usize,
        /// How many the second has there.
        to: usize,
    },
}

/// A stretch of both texts with lines that differ, and up to three equal ones around them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hunk {
    /// Its first line in the first text, from 0, and how many it has there.
    from: Range<usize>,
    /// The same in the second text.
    to: Range<usize>,
    pub(crate) lines: Vec<DiffLine>,
}

/// A line of a hunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DiffLine {
    pub(crate) sign: DiffSign,
    /// Its number in the first text, from 1.
    pub(crate) from: Option<usize>,
    /// Its number in the second text, from 1.
    pub(crate) to: Option<usize>,
    pub(crate) text: String,
}

/// In which of both texts a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DiffSign {
    Same,
    Removed,
    Added,
}

impl TextDiff {
    /// Compares two texts line by line.
    pub(crate) fn of(from: &str, to: &str) -> Self {
        let (from, to): (Vec<&str>, Vec<&str>) = (from.lines().collect(), to.lines().collect());
        let head = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        let tail = from[head..].iter().rev().zip(to[head..].iter().rev()).take_while(|(a, b)| a == b).count();
        let (from_left, to_left) = (from.len() - head - tail, to.len() - head - tail);
        if from_left + to_left > MOST {
            return Self::TooLarge { from: from_left, to: to_left };
        }
        let ops = capture_diff_slices(Algorithm::Myers, &from, &to);
        let groups = group_diff_ops(ops, CONTEXT);
        Self::Hunks(groups.iter().filter_map(|ops| Hunk::of(ops, &from, &to)).collect())
    }
}

impl Hunk {
    fn of(ops: &[DiffOp], from: &[&str], to: &[&str]) -> Option<Self> {
        let first = ops.first()?;
        let mut lines = Vec::new();
        for op in ops {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                lines.extend((0..*len).map(|nth| DiffLine {
                    sign: DiffSign::Same,
                    from: Some(old_index + nth + 1),
                    to: Some(new_index + nth + 1),
                    text: from[old_index + nth].to_owned(),
                }));
                continue;
            }
            lines.extend(op.old_range().map(|at| DiffLine {
                sign: DiffSign::Removed,
                from: Some(at + 1),
                to: None,
                text: from[at].to_owned(),
            }));
            lines.extend(op.new_range().map(|at| DiffLine {
                sign: DiffSign::Added,
                from: None,
                to: Some(at + 1),
                text: to[at].to_owned(),
            }));
        }
        // By its lines: the place of an operation in the text that it takes nothing from is not to be relied on.
        let range = |number: fn(&DiffLine) -> Option<usize>, place: usize| {
            let count = lines.iter().filter_map(number).count();
            let start = lines.iter().find_map(number).map_or(place, |first| first - 1);
            start..start + count
        };
        let from = range(|line| line.from, first.old_range().start);
        let to = range(|line| line.to, first.new_range().start);
        Some(Self { from, to, lines })
    }

    /// Its lines as pairs: an equal line beside itself, a removed one beside the added one of the same field, else beside the one that
    /// took its place.
    pub(crate) fn side_by_side(&self) -> Vec<(Option<&DiffLine>, Option<&DiffLine>)> {
        let mut rows = Vec::new();
        let mut lines = &self.lines[..];
        while let Some(first) = lines.first() {
            if first.sign == DiffSign::Same {
                rows.push((Some(first), Some(first)));
                lines = &lines[1..];
                continue;
            }
            let changed = lines.iter().take_while(|line| line.sign != DiffSign::Same).count();
            let (block, rest) = lines.split_at(changed);
            let side = |sign: DiffSign| block.iter().filter(move |line| line.sign == sign).collect::<Vec<_>>();
            let (removed, added) = (side(DiffSign::Removed), side(DiffSign::Added));
            let fields = |lines: &[&DiffLine]| lines.iter().map(|line| field(&line.text)).collect::<Vec<_>>();
            for op in capture_diff_slices(Algorithm::Myers, &fields(&removed), &fields(&added)) {
                let (mut removed, mut added) = (removed[op.old_range()].iter(), added[op.new_range()].iter());
                loop {
                    match (removed.next(), added.next()) {
                        (None, None) => break,
                        (left, right) => rows.push((left.copied(), right.copied())),
                    }
                }
            }
            lines = rest;
        }
        rows
    }
}

/// What tells a line of YAML from others: how deep it stands, and the field that it is of. The first field of a list's element
/// stands as deep as the others.
fn field(line: &str) -> String {
    let head = line.split_once(": ").map_or(line, |(head, _)| head);
    let inner = head.trim_start_matches([' ', '-']);
    format!("{:1$}{inner}", "", head.len() - inner.len())
}

/// Its head, as `diff -u` writes it: where it is in both texts.
impl fmt::Display for Hunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An empty range is named by the line before it.
        let range = |range: &Range<usize>| match range.len() {
            0 => format!("{},0", range.start),
            1 => (range.start + 1).to_string(),
            len => format!("{},{len}", range.start + 1),
        };
        write!(f, "@@ -{} +{} @@", range(&self.from), range(&self.to))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hunks(from: &str, to: &str) -> Vec<Hunk> {
        match TextDiff::of(from, to) {
            TextDiff::Hunks(hunks) => hunks,
            TextDiff::TooLarge { .. } => panic!("too large"),
        }
    }

    fn unified(from: &str, to: &str) -> String {
        let sign = |line: &DiffLine| match line.sign {
            DiffSign::Same => ' ',
            DiffSign::Removed => '-',
            DiffSign::Added => '+',
        };
        let mut text = String::new();
        for hunk in hunks(from, to) {
            text.push_str(&format!("{hunk}\n"));
            hunk.lines.iter().for_each(|line| text.push_str(&format!("{}{}\n", sign(line), line.text)));
        }
        text
    }

    #[test]
    fn it_reads_as_diff_u_writes_it() {
        let from = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
        assert_eq!(
            unified(from, &from.replace("b\n", "B\n").replace("k\n", "k\nnew\n")),
            "@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -9,4 +9,5 @@\n i\n j\n k\n+new\n l\n"
        );
        assert_eq!(unified("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified(from, from), "");
    }

    #[test]
    fn beside_each_other_a_new_line_stands_beside_the_one_it_replaces() {
        let hunk = &hunks("a\nb\nc\nd\n", "a\nB\nd\n")[0];
        let text = |line: Option<&DiffLine>| line.map_or("", |line| &line.text).to_owned();
        let rows: Vec<(String, String)> =
            hunk.side_by_side().into_iter().map(|(from, to)| (text(from), text(to))).collect();
        let row = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(rows, [row("a", "a"), row("b", "B"), row("c", ""), row("d", "d")]);
        assert_eq!((hunk.lines[1].from, hunk.lines[1].to), (Some(2), None));
    }

    #[test]
    fn beside_each_other_stand_lines_of_the_same_field() {
        let from = "a:\n- image: v1\n  name: x\n";
        let to = "a:\n- command:\n  - sh\n  env: []\n  image: v2\n  name: x\n";
        let hunk = &hunks(from, to)[0];
        let rows: Vec<(&str, &str)> = hunk
            .side_by_side()
            .into_iter()
            .map(|(from, to)| (from.map_or("", |line| &line.text), to.map_or("", |line| &line.text)))
            .collect();
        assert_eq!(
            rows,
            [
                ("a:", "a:"),
                ("", "- command:"),
                ("", "  - sh"),
                ("", "  env: []"),
                ("- image: v1", "  image: v2"),
                ("  name: x", "  name: x"),
            ]
        );
    }

    #[test]
    fn what_is_too_large_says_so_and_a_small_change_of_a_large_text_is_not() {
        let lines = |range: Range<usize>| range.map(|nth| format!("line {nth}\n")).collect::<String>();
        let large = lines(0..40_000);
        assert_eq!(hunks(&large, &large.replace("line 20000\n", "other\n")).len(), 1);
        let most = MOST / 2;
        assert_eq!(hunks(&lines(0..most), &lines(most..2 * most)).len(), 1);
        let other = lines(40_000..80_000);
        assert_eq!(TextDiff::of(&large, &other), TextDiff::TooLarge { from: 40_000, to: 40_000 });
    }

    proptest! {
        /// Hunks are a patch: applied to the first text they give the second, and both ways of showing them have all lines.
        #[test]
        fn applied_to_the_first_text_it_gives_the_second(
            from in proptest::collection::vec("[a-d]", 0..30),
            to in proptest::collection::vec("[a-d]", 0..30),
        ) {
            let hunks = hunks(&from.join("\n"), &to.join("\n"));
            let (mut made, mut at) = (Vec::new(), 0);
            for hunk in &hunks {
                made.extend_from_slice(&from[at..hunk.from.start]);
                at = hunk.from.end;
                let of = |wanted: DiffSign| hunk.lines.iter().filter(move |line| line.sign != wanted);
                let had: Vec<&String> = of(DiffSign::Added).map(|line| &line.text).collect();
                prop_assert_eq!(had, from[hunk.from.clone()].iter().collect::<Vec<_>>());
                made.extend(of(DiffSign::Removed).map(|line| line.text.clone()));
                let rows = hunk.side_by_side();
                let left: Vec<&DiffLine> = rows.iter().filter_map(|(left, _)| *left).collect();
                let right: Vec<&DiffLine> = rows.iter().filter_map(|(_, right)| *right).collect();
                prop_assert_eq!(left, of(DiffSign::Added).collect::<Vec<_>>());
                prop_assert_eq!(right, of(DiffSign::Removed).collect::<Vec<_>>());
            }
            made.extend_from_slice(&from[at..]);
            prop_assert_eq!(made, to);
        }
    }
}
