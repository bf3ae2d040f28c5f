//! The text that is open over the list of revisions: the difference of two, or the template of one.

use crate::engine::model::Str;
use crate::engine::model::template::Template;
use crate::engine::model::template::diff::{FieldChange, changes};
use crate::engine::report::snapshot::RevisionView;
use crate::template_text::{DiffLine, DiffSign, Hunk, TextDiff, template_diff, template_yaml};
use crate::tui::filter::{Filter, TextLine};
use crate::tui::list::Move;
use crate::tui::words::width;

/// The number of cells by which a key press moves long lines.
const SIDEWAYS: usize = 8;
/// The most cells by which lines are moved.
const FARTHEST: usize = 4_000;

/// A text, and its visible part.
#[derive(Debug)]
pub(crate) struct RevisionText {
    pub(crate) what: TextKind,
    pub(crate) filter: Filter,
    /// The first visible row, among those that pass the filter.
    pub(crate) top: usize,
    /// The number of cells that are skipped at the beginning of long lines.
    pub(crate) left: usize,
    /// The rows with the lines one below the other, and the rows with the lines of both templates side by side.
    stacked: Vec<TextRow>,
    beside: Vec<TextRow>,
    /// The rows of both layouts that pass the filter, as indices.
    passing: [Vec<usize>; 2],
    /// The width of the longest line.
    widest: usize,
    /// The revisions of the text that are no longer in the history.
    gone: Vec<String>,
}

/// The subject of the text; revisions are as they were when it was opened.
#[derive(Debug)]
pub(crate) enum TextKind {
    Diff { from: RevisionName, to: RevisionName, fields: usize },
    Template { of: RevisionName },
}

/// The identity and the name of a revision.
#[derive(Clone, Debug)]
pub(crate) struct RevisionName {
    pub(crate) hash: Str,
    pub(crate) called: String,
}

/// One row of a text.
#[derive(Debug)]
pub(crate) enum TextRow {
    Field(FieldChange),
    /// The head of a stretch of lines, or a remark.
    Head(String),
    /// A line of the templates.
    Line(DiffLine),
    /// The lines of both templates at the same place.
    Pair(Option<DiffLine>, Option<DiffLine>),
    Blank,
}

/// Whether the lines of two templates stand one below the other or beside each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sides {
    Stacked,
    Beside,
}

impl RevisionName {
    fn of(revision: &RevisionView) -> Self {
        Self { hash: revision.hash.clone(), called: revision.called() }
    }
}

impl RevisionText {
    /// The difference of two revisions.
    ///
    /// # Errors
    /// The template of a revision is unknown: the error names the revision.
    pub(super) fn diff(from: &RevisionView, to: &RevisionView) -> Result<Self, String> {
        let templates = (template_of(from)?, template_of(to)?);
        let fields = changes(templates.0, templates.1);
        let what = TextKind::Diff { from: RevisionName::of(from), to: RevisionName::of(to), fields: fields.len() };
        let (mut stacked, mut beside) = (Vec::new(), Vec::new());
        for field in fields {
            beside.push(TextRow::Field(field.clone()));
            stacked.push(TextRow::Field(field));
        }
        if stacked.is_empty() {
            let same = "the templates are the same";
            stacked.push(TextRow::Head(same.to_owned()));
            beside.push(TextRow::Head(same.to_owned()));
        }
        match template_diff(templates.0, templates.1) {
            TextDiff::TooLarge { from, to } => {
                let remark = format!("too large to compare line by line: {from} lines against {to}");
                stacked.extend([TextRow::Blank, TextRow::Head(remark.clone())]);
                beside.extend([TextRow::Blank, TextRow::Head(remark)]);
            }
            TextDiff::Hunks(hunks) => {
                for hunk in hunks {
                    beside.extend([TextRow::Blank, TextRow::Head(hunk.to_string())]);
                    beside.extend(pairs(&hunk));
                    stacked.extend([TextRow::Blank, TextRow::Head(hunk.to_string())]);
                    stacked.extend(hunk.lines.into_iter().map(TextRow::Line));
                }
            }
        }
        Ok(Self::new(what, stacked, beside))
    }

    /// The whole template of a revision.
    ///
    /// # Errors
    /// The template is unknown.
    pub(super) fn template(revision: &RevisionView) -> Result<Self, String> {
        let text = template_yaml(template_of(revision)?);
        let row = |(nth, line): (usize, &str)| {
            let number = Some(nth + 1);
            TextRow::Line(DiffLine { sign: DiffSign::Same, from: number, to: number, text: line.to_owned() })
        };
        let rows = text.lines().enumerate().map(row).collect();
        Ok(Self::new(TextKind::Template { of: RevisionName::of(revision) }, rows, Vec::new()))
    }

    fn new(what: TextKind, stacked: Vec<TextRow>, beside: Vec<TextRow>) -> Self {
        let widest = stacked.iter().map(|row| width(&row.words())).max().unwrap_or(0).min(FARTHEST);
        let mut text = Self {
            what,
            filter: Filter::default(),
            top: 0,
            left: 0,
            stacked,
            beside,
            passing: Default::default(),
            widest,
            gone: Vec::new(),
        };
        text.arrange();
        text
    }

    /// Notes the text's revisions that no longer exist.
    pub(super) fn see(&mut self, revisions: &[RevisionView]) {
        let names = match &self.what {
            TextKind::Diff { from, to, .. } => vec![from, to],
            TextKind::Template { of } => vec![of],
        };
        let is_there = |name: &RevisionName| {
            revisions.iter().any(|revision| revision.hash == name.hash && revision.template.is_some())
        };
        self.gone = names.into_iter().filter(|name| !is_there(name)).map(|name| name.called.clone()).collect();
    }

    /// Whether the text is the difference of two revisions.
    pub(crate) fn is_diff(&self) -> bool {
        matches!(self.what, TextKind::Diff { .. })
    }

    /// The hash of the revision that the text shows, or that it leads to.
    pub(super) fn leads_to(&self) -> &Str {
        match &self.what {
            TextKind::Diff { to, .. } => &to.hash,
            TextKind::Template { of } => &of.hash,
        }
    }

    /// The text's revisions that are no longer in the history.
    pub(crate) fn gone(&self) -> &[String] {
        &self.gone
    }

    /// Recomputes the rows that pass the filter.
    pub(crate) fn arrange(&mut self) {
        let passing = |rows: &[TextRow]| -> Vec<usize> {
            (0..rows.len())
                .filter(|at| self.filter.is_all() || self.filter.passes(&TextLine(rows[*at].words())))
                .collect()
        };
        self.passing = [passing(&self.stacked), passing(&self.beside)];
    }

    /// The layout that a screen of this width has room for.
    pub(crate) fn sides(&self, cells: u16) -> Sides {
        if cells >= 120 && !self.beside.is_empty() { Sides::Beside } else { Sides::Stacked }
    }

    /// The number of rows, whether they pass the filter or not.
    pub(crate) fn all(&self, sides: Sides) -> usize {
        self.rows(sides).len()
    }

    pub(crate) fn len(&self, sides: Sides) -> usize {
        self.passing(sides).len()
    }

    pub(crate) fn row(&self, sides: Sides, row: usize) -> Option<&TextRow> {
        self.rows(sides).get(*self.passing(sides).get(row)?)
    }

    fn rows(&self, sides: Sides) -> &[TextRow] {
        match sides {
            Sides::Stacked => &self.stacked,
            Sides::Beside => &self.beside,
        }
    }

    fn passing(&self, sides: Sides) -> &[usize] {
        match sides {
            Sides::Stacked => &self.passing[0],
            Sides::Beside => &self.passing[1],
        }
    }

    /// Moves the visible part, with `height` rows.
    pub(crate) fn go(&mut self, movement: Move, sides: Sides, height: usize) {
        let (page, half) = (height.max(1), (height / 2).max(1));
        self.top = match movement {
            Move::Up => self.top.saturating_sub(1),
            Move::Down => self.top + 1,
            Move::HalfUp => self.top.saturating_sub(half),
            Move::HalfDown => self.top + half,
            Move::PageUp => self.top.saturating_sub(page),
            Move::PageDown => self.top + page,
            Move::Top => 0,
            Move::Bottom => usize::MAX,
        };
        self.settle(sides, height);
    }

    /// Ensures that no line below the last row is empty without need.
    pub(crate) fn settle(&mut self, sides: Sides, height: usize) {
        self.top = self.top.min(self.len(sides).saturating_sub(height));
    }

    /// Moves long lines to the left.
    pub(crate) fn right(&mut self) {
        self.left = (self.left + SIDEWAYS).min(self.widest.saturating_sub(SIDEWAYS));
    }

    /// Moves long lines back to the right.
    pub(crate) fn back_left(&mut self) {
        self.left = self.left.saturating_sub(SIDEWAYS);
    }
}

impl TextRow {
    /// The text of the row, for the filter.
    fn words(&self) -> String {
        let text = |line: &Option<DiffLine>| line.as_ref().map(|line| line.text.clone()).unwrap_or_default();
        match self {
            Self::Field(change) => change.to_string(),
            Self::Head(text) => text.clone(),
            Self::Line(line) => line.text.clone(),
            Self::Pair(left, right) => format!("{} {}", text(left), text(right)),
            Self::Blank => String::new(),
        }
    }
}

fn pairs(hunk: &Hunk) -> impl Iterator<Item = TextRow> {
    hunk.side_by_side().into_iter().map(|(left, right)| TextRow::Pair(left.cloned(), right.cloned()))
}

fn template_of(revision: &RevisionView) -> Result<&Template, String> {
    let gone = || format!("{} is not in the history any more: its template is not known", revision.called());
    revision.template.as_ref().ok_or_else(gone)
}
