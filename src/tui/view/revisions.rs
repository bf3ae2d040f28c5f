//! The revisions: the list with the changes of the selected one; the difference of two; the template of one.
//!
//! ```text
//! ─ revisions 1-3 of 3 · enter: what differs · v: nodes ──────────────────────────
//!    REV  NODES   AGE  MARKS   IMAGES   CAUSE
//! >  15      35    1h  target  v1.9.0
//!    14      85    9d  undo    v1.8.2
//!    13       0   41d          v1.8.1   nightly build
//!  from revision 14, on most nodes, to revision 15: 4 fields differ
//!  ~ containers[agent].image: agent:v1.8.2 → agent:v1.9.0
//! ─ revision 14 → revision 15 · 4 fields differ · 1-12 of 30 · esc: revisions ────
//!   12   12        - name: LOG_LEVEL
//!   13      -        value: info
//!        13 +        value: debug
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::footer::skip_cells;
use super::table::{ANYWHERE, mark_hits, select};
use super::{RenderContext, ScreenParts, put, put_rule};
use crate::engine::model::image::without_user;
use crate::engine::model::template::diff::{FieldChange, FieldEdit};
use crate::engine::report::snapshot::RevisionView;
use crate::template_text::{DiffLine, DiffSign};
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::revisions::RevisionScreen;
use crate::tui::revisions::text::{RevisionText, TextKind, TextRow};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, halt_in_words, width, wrap};

/// The cells of the columns before the images: number, nodes, age.
const NUMBERS: [usize; 3] = [5, 6, 5];
/// The most bytes that are read and shown of a line.
const READ_TO_ITS_END: usize = 2_000;
/// The cells of a line number in a text.
const LINE_NUMBER: usize = 4;

/// The places of list and summary.
struct RevisionAreas {
    list: Rect,
    summary: Rect,
}

impl RevisionAreas {
    fn of(parts: &ScreenParts, screen: &RevisionScreen) -> Self {
        let area = parts.list;
        // The heading and all rows, but at least half of the area remains for the difference.
        let wanted = u16::try_from(screen.len() + 1).unwrap_or(u16::MAX);
        let height = wanted.max(2).min((area.height / 2).max(4)).min(area.height);
        let list = Rect { height, ..area };
        let summary = Rect { y: list.bottom(), height: area.bottom().saturating_sub(list.bottom()), ..area };
        Self { list, summary }
    }
}

/// The number of visible rows: of the list, or of the text that is open over it.
pub(super) fn height(parts: &ScreenParts, screen: &RevisionScreen) -> usize {
    match &screen.text {
        Some(_) => usize::from(parts.list.height),
        None => usize::from(RevisionAreas::of(parts, screen).list.height.saturating_sub(1)),
    }
}

/// Draws the screen below the header.
pub(super) fn draw(
    ctx: &RenderContext<'_>,
    parts: &ScreenParts,
    page: &RolloutPage,
    screen: &RevisionScreen,
    buffer: &mut Buffer,
) {
    let Some(shown) = &page.live else { return };
    if let Some(text) = &screen.text {
        put_rule(ctx, buffer, parts.rule, &about_text(ctx, (shown, screen), text, parts));
        return draw_text(ctx, text, parts.list, buffer);
    }
    put_rule(ctx, buffer, parts.rule, &about_list(ctx, screen, parts));
    let areas = RevisionAreas::of(parts, screen);
    draw_list(ctx, shown, screen, areas.list, buffer);
    draw_summary(ctx, shown, screen, areas.summary, buffer);
}

fn about_list(ctx: &RenderContext<'_>, screen: &RevisionScreen, parts: &ScreenParts) -> String {
    let (top, len, all) = (screen.list.top(), screen.len(), screen.all());
    let seen = (len - top.min(len)).min(height(parts, screen));
    let dot = ctx.glyph(Glyph::Dot);
    let mut words = match len {
        0 => format!("revisions 0 of {all}"),
        _ => format!("revisions {}-{} of {len}", top + 1, top + seen),
    };
    if !screen.filter.is_all() {
        words.push_str(&format!(" {dot} filter {} ({len} of {all}; esc clears)", screen.filter.text()));
    }
    if let Some(marked) = screen.marked.as_ref().and_then(|hash| screen.find(hash)) {
        words.push_str(&format!(" {dot} compared with {}", marked.called()));
    }
    let behind = ctx.model.rollout().map_or("nodes", RolloutPage::nodes_shown_as);
    words.push_str(&format!(" {dot} enter: what differs {dot} v: {behind}"));
    words
}

fn draw_list(ctx: &RenderContext<'_>, shown: &ShownSnapshot, screen: &RevisionScreen, area: Rect, buffer: &mut Buffer) {
    let cells = usize::from(area.width);
    let column = |texts: &mut dyn Iterator<Item = String>, least: usize, most: usize| {
        texts.map(|text| width(&fit(&text, most))).max().unwrap_or(0).clamp(least, most.max(least))
    };
    let rows = || (0..screen.len()).filter_map(|row| screen.row(row));
    let marks = column(&mut rows().map(|revision| screen.marks(revision)), 5, 18);
    let used = 3 + NUMBERS.iter().sum::<usize>() + NUMBERS.len() + marks + 3;
    let left = cells.saturating_sub(used);
    let has_cause = rows().any(|revision| revision.change_cause.is_some());
    // The images of a revision have precedence over its cause: the cause of the selected revision is shown in full below.
    let images = column(&mut (0..screen.len()).map(|row| screen.versions(row)), 6, left.max(6));
    let cause = left.saturating_sub(images + 2);
    let has_cause = has_cause && cause >= "CAUSE".len();
    let line = |texts: [&str; 6]| {
        let [number, pods, age, is, versions, because] = texts;
        let [first, second, third] = NUMBERS;
        format!(
            "{number:>first$} {pods:>second$} {age:>third$}  {}  {}  {}",
            padded(is, marks),
            padded(versions, images),
            fit(because, cause)
        )
    };
    let head = line(["REV", "NODES", "AGE", "MARKS", "IMAGES", if has_cause { "CAUSE" } else { "" }]);
    put(buffer, area.x + 1, area.y, &head, cells - 1, ctx.style(ThemeRole::Column));
    for (row, y) in (screen.list.top()..screen.len()).zip(area.y + 1..area.bottom()) {
        let Some(revision) = screen.row(row) else { continue };
        let number = revision.number.map_or_else(|| "?".to_owned(), |number| number.to_string());
        let age = revision.created_at.map_or_else(|| "?".to_owned(), |at| ctx.age(shown, at));
        let versions = screen.versions_within(row, images);
        let cause = revision.change_cause.as_deref().unwrap_or_default();
        let text = line([&number, &revision.pods.to_string(), &age, &screen.marks(revision), &versions, cause]);
        put(buffer, area.x + 1, y, &text, cells - 1, ctx.style(role_of(screen, revision)));
        mark_hits(Rect { y, height: 1, ..area }, &screen.filter, ANYWHERE, buffer);
        if screen.list.current(screen.len()) == Some(row) {
            select(ctx, Rect { y, height: 1, ..area }, buffer);
        }
    }
    if screen.len() == 0 && area.height > 1 {
        let text =
            if screen.all() == 0 { "no revision is known" } else { "no revision passes the filter: esc clears it" };
        put(buffer, area.x + 3, area.y + 1, text, cells.saturating_sub(4), ctx.style(ThemeRole::Muted));
    }
}

fn padded(text: &str, cells: usize) -> String {
    let text = fit(text, cells);
    let gap = cells.saturating_sub(width(&text));
    format!("{text}{:gap$}", "")
}

fn role_of(screen: &RevisionScreen, revision: &RevisionView) -> ThemeRole {
    match (screen.is_target(revision), revision.pods) {
        (true, _) => ThemeRole::NewRev,
        (false, 0) => ThemeRole::Muted,
        (false, _) => ThemeRole::OldRev,
    }
}

/// The change that the selected revision would make, below the list.
fn draw_summary(
    ctx: &RenderContext<'_>,
    shown: &ShownSnapshot,
    screen: &RevisionScreen,
    area: Rect,
    buffer: &mut Buffer,
) {
    let cells = usize::from(area.width.saturating_sub(2));
    if area.is_empty() {
        return;
    }
    let Some(selected) = screen.selected() else { return };
    let mut area = area;
    if let Some(halt) = &selected.halted {
        let words = format!("{}: {}", selected.called(), halt_in_words(halt, &ctx.age(shown, halt.at)));
        for line in wrap(&words, cells).take(usize::from(area.height) / 3 + 1) {
            put(buffer, area.x + 1, area.y, &line, cells, ctx.style(ThemeRole::Warn));
            area = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        }
        if area.is_empty() {
            return;
        }
    }
    let mut say = |text: &str, role: ThemeRole| put(buffer, area.x + 1, area.y, text, cells, ctx.style(role));
    let Some(base) = screen.compared_with() else {
        return say("there is no other revision to compare it with", ThemeRole::Muted);
    };
    let on_nodes = screen.on_nodes().is_some_and(|most| most.hash == base.hash);
    let on_nodes = if on_nodes { ", on most nodes," } else { "" };
    let both = format!("from {}{on_nodes} to {}", base.called(), selected.called());
    let Some(text) = screen.summary() else {
        let unknown = if base.template.is_none() { base } else { selected };
        let why = format!("{} is not in the history any more: its template is not known", unknown.called());
        return say(&why, ThemeRole::Muted);
    };
    let count = match text.what {
        TextKind::Diff { fields, .. } => differing(fields),
        TextKind::Template { .. } => String::new(),
    };
    say(&format!("{both}: {count}"), ThemeRole::Title);
    let mut below = Rect { y: area.y + 1, height: area.height - 1, ..area };
    for line in in_full(screen, selected, cells, usize::from(below.height) / 2) {
        put(buffer, below.x + 1, below.y, &line, cells, ctx.style(ThemeRole::Text));
        below = Rect { y: below.y + 1, height: below.height - 1, ..below };
    }
    let all = text.len(text.sides(area.width));
    let room = usize::from(below.height);
    let shown = if all > room { room.saturating_sub(1) } else { all };
    draw_text(ctx, text, Rect { height: u16::try_from(shown).unwrap_or(u16::MAX), ..below }, buffer);
    if all > shown && room > 0 {
        let more = format!("  {} more lines: enter shows all", all - shown);
        put(buffer, area.x + 1, area.bottom() - 1, &more, cells, ctx.style(ThemeRole::Muted));
    }
}

/// The facts for which the selected row may be too narrow: its images if one comes from another repository, its earlier
/// number, and its cause.
fn in_full(screen: &RevisionScreen, selected: &RevisionView, cells: usize, most: usize) -> Vec<String> {
    let moved = screen.comes_from_elsewhere(selected);
    let images =
        selected.images.iter().filter(|_| moved).map(|(name, image)| format!("{name}: {}", without_user(image)));
    let renumbered =
        screen.renumbered(selected).map(|words| format!("{}: {words}. AGE is since it was made", selected.called()));
    let cause = selected.change_cause.iter().map(|cause| format!("cause: {cause}"));
    let lines = images
        .chain(renumbered)
        .chain(cause)
        .flat_map(|text: String| wrap(&text, cells).take(most).collect::<Vec<_>>());
    lines.take(most).collect()
}

/// `no field differs`, `1 field differs`, `4 fields differ`.
fn differing(count: usize) -> String {
    match count {
        0 => "no field differs".to_owned(),
        1 => "1 field differs".to_owned(),
        count => format!("{count} fields differ"),
    }
}

/// A changed field, with a sign for the kind of change.
pub(super) fn field(change: &FieldChange, cells: usize) -> String {
    format!("{} {}", sign_of(change), change.within(cells.saturating_sub(2)))
}

/// The path of a changed field, with a sign for the kind of change.
pub(super) fn field_path(change: &FieldChange) -> String {
    format!("{} {}:", sign_of(change), change.path)
}

fn sign_of(change: &FieldChange) -> char {
    match change.edit {
        FieldEdit::Added { .. } => '+',
        FieldEdit::Removed { .. } => '-',
        FieldEdit::Changed { .. } | FieldEdit::Reordered { .. } => '~',
    }
}

/// The visible part of the text.
fn about_text(
    ctx: &RenderContext<'_>,
    (shown, screen): (&ShownSnapshot, &RevisionScreen),
    text: &RevisionText,
    parts: &ScreenParts,
) -> String {
    let sides = text.sides(parts.list.width);
    let (top, len, all) = (text.top, text.len(sides), text.all(sides));
    let dot = ctx.glyph(Glyph::Dot);
    let mut words = match &text.what {
        TextKind::Diff { from, to, fields: count } => {
            format!("{} → {} {dot} {}", from.called, to.called, differing(*count))
        }
        TextKind::Template { of } => format!("template of {}", of.called),
    };
    for gone in text.gone() {
        words.push_str(&format!(" {dot} {gone} IS NOT IN THE HISTORY ANY MORE"));
    }
    let last = (top + usize::from(parts.list.height)).min(len);
    words.push_str(&format!(" {dot} {}-{last} of {len}", if len == 0 { 0 } else { top + 1 }));
    if !text.filter.is_all() {
        words.push_str(&format!(" {dot} filter {} ({len} of {all}; esc clears)", text.filter.text()));
    }
    if text.left > 0 {
        words.push_str(&format!(" {dot} from column {}", text.left + 1));
    }
    words.push_str(&format!(" {dot} esc: revisions"));
    // The reason may be long: it stands where it is cut first.
    if let Some(halt) = screen.in_sight().and_then(|revision| revision.halted.as_ref()) {
        words.push_str(&format!(" {dot} {}", halt_in_words(halt, &ctx.age(shown, halt.at))));
    }
    words
}

fn draw_text(ctx: &RenderContext<'_>, text: &RevisionText, area: Rect, buffer: &mut Buffer) {
    let sides = text.sides(area.width);
    for (row, y) in (text.top..text.len(sides)).zip(area.y..area.bottom()) {
        let Some(row) = text.row(sides, row) else { continue };
        let line = Rect { y, height: 1, ..area };
        match row {
            TextRow::Blank => {}
            TextRow::Head(words) => put_from(ctx, buffer, line, 1, (words, 0), ThemeRole::Column),
            TextRow::Field(change) => {
                // A line that was moved is shown in its whole length.
                let cells = if text.left > 0 { usize::MAX } else { usize::from(line.width.saturating_sub(1)) };
                put_from(ctx, buffer, line, 1, (&field(change, cells), text.left), role_of_field(change));
            }
            TextRow::Line(one) if matches!(text.what, TextKind::Template { .. }) => {
                put(buffer, line.x, y, &number(one.from), LINE_NUMBER, ctx.style(ThemeRole::Muted));
                let at = u16::try_from(LINE_NUMBER + 1).unwrap_or(0);
                put_from(ctx, buffer, line, at, (&one.text, text.left), ThemeRole::Text);
            }
            TextRow::Line(one) => {
                let numbers = format!("{} {}", number(one.from), number(one.to));
                put(buffer, line.x, y, &numbers, width(&numbers), ctx.style(ThemeRole::Muted));
                let at = u16::try_from(width(&numbers) + 1).unwrap_or(0);
                draw_line(ctx, buffer, line, at, (one, text.left));
            }
            TextRow::Pair(left, right) => {
                let half = line.width / 2;
                let halves = [
                    (Rect { width: half.saturating_sub(1), ..line }, left, left.as_ref().and_then(|one| one.from)),
                    (
                        Rect { x: line.x + half + 1, width: line.width.saturating_sub(half + 1), ..line },
                        right,
                        right.as_ref().and_then(|one| one.to),
                    ),
                ];
                put(buffer, line.x + half.saturating_sub(1), y, ctx.glyph(Glyph::Side), 1, ctx.style(ThemeRole::Frame));
                for (area, one, at) in halves {
                    if let Some(one) = one {
                        put(buffer, area.x, y, &number(at), LINE_NUMBER, ctx.style(ThemeRole::Muted));
                        let after = u16::try_from(LINE_NUMBER + 1).unwrap_or(0);
                        draw_line(ctx, buffer, area, after, (one, text.left));
                    }
                }
            }
        }
        mark_hits(line, &text.filter, ANYWHERE, buffer);
    }
    if text.len(sides) == 0 && area.height > 0 {
        let words = "no line passes the filter: esc clears it";
        put(buffer, area.x + 3, area.y, words, usize::from(area.width.saturating_sub(4)), ctx.style(ThemeRole::Muted));
    }
}

fn number(number: Option<usize>) -> String {
    number.map_or_else(|| " ".repeat(LINE_NUMBER), |number| format!("{number:>LINE_NUMBER$}"))
}

/// A line with its sign, from cell `at` of the area on.
fn draw_line(ctx: &RenderContext<'_>, buffer: &mut Buffer, area: Rect, at: u16, (line, left): (&DiffLine, usize)) {
    let (sign, role) = match line.sign {
        DiffSign::Same => (" ", ThemeRole::Text),
        DiffSign::Removed => ("-", ThemeRole::OldRev),
        DiffSign::Added => ("+", ThemeRole::NewRev),
    };
    put(buffer, area.x + at, area.y, sign, 1, ctx.style(role));
    if left == 0 && line.sign != DiffSign::Same && line.text.len() <= READ_TO_ITS_END {
        // Differing lines often differ at their ends.
        let cells = usize::from(area.width.saturating_sub(at + 2));
        return put(buffer, area.x + at + 2, area.y, &fit_middle(&line.text, cells), cells, ctx.style(role));
    }
    put_from(ctx, buffer, area, at + 2, (&line.text, left), role);
}

/// A text without its first `left` cells, from cell `at` of the area to its end.
fn put_from(
    ctx: &RenderContext<'_>,
    buffer: &mut Buffer,
    area: Rect,
    at: u16,
    (text, left): (&str, usize),
    role: ThemeRole,
) {
    let cells = usize::from(area.width.saturating_sub(at));
    if left == 0 {
        return put(buffer, area.x + at, area.y, text, cells, ctx.style(role));
    }
    put(buffer, area.x + at, area.y, &skip_cells(text, left), cells, ctx.style(role));
}

fn role_of_field(change: &FieldChange) -> ThemeRole {
    match change.edit {
        FieldEdit::Added { .. } => ThemeRole::NewRev,
        FieldEdit::Removed { .. } => ThemeRole::OldRev,
        FieldEdit::Changed { .. } | FieldEdit::Reordered { .. } => ThemeRole::Title,
    }
}
