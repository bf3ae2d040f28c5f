//! Draws the screen as a function of the model.
//!
//! ```text
//!  ┌──────────────────────────────────────────────┐
//!  │ who drives, how fresh, armed                 │  header     never scrolled away
//!  │ what is wrong                                │
//!  ├──────────────────────────────────────────────┤
//!  │ what is moving, what waits for what          │  list       visible rows only; from 140 columns a side pane
//!  ├──────────────────────────────────────────────┤
//!  │ what came of the last thing that was done    │  status
//!  │ what can be done now                         │  footer
//!  └──────────────────────────────────────────────┘
//! ```
//!
//! Below 80x16 the header has two lines; below 40x10 the screen is one sentence. Nothing here changes the model, waits, or
//! reads a clock. Drawing notes the instant at which time alone changes the picture; the loop draws again then.

mod diagnosis;
mod dialog;
mod fleet;
mod footer;
mod header;
mod help;
mod node;
mod node_list;
mod node_map;
mod node_page;
mod overlay_frame;
mod paint;
mod prewarm;
mod revisions;
mod rollout;
mod table;
mod timeline;
mod watches;
mod why;

use std::cell::Cell;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

pub(crate) use self::help::help_lines;
pub(crate) use self::node_page::{log_layout, node_lines};
use super::model::{
    COARSE_MILLIS, ClockReading, FINE_MILLIS, Model, Overlay, Page, RolloutPage, RolloutScreen, ShownSnapshot, Uptime,
};
use super::node_map::MapArea;
use super::terminal;
use super::theme::{Glyph, Glyphs, ThemeRole};
use super::words::{CELL_BYTES, fit, is_wider, width};
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::report::snapshot::Phase;

/// The results of a drawing beside its cells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Drawn {
    /// The position of the text being typed.
    pub(crate) cursor: Option<Position>,
    /// The instant at which time alone changes the picture.
    pub(crate) wake: Option<Uptime>,
}

/// Draws the screen.
pub(crate) fn draw(model: &Model) -> (Buffer, Drawn) {
    let area = terminal::area(model.size);
    let mut buffer = Buffer::empty(area);
    let ctx = RenderContext::new(model);
    let cursor = match Shape::of(model) {
        Shape::Nothing => None,
        Shape::Sentence => {
            rollout::sentence(&ctx, area, &mut buffer);
            None
        }
        _ => page(&ctx, area, &mut buffer),
    };
    limit_cells(&mut buffer);
    paint::paint(model.theme(), &mut buffer);
    if model.glyphs == Glyphs::Ascii {
        to_ascii(&mut buffer);
    }
    let cursor = cursor.filter(|at| area.contains(*at));
    (buffer, Drawn { cursor, wake: ctx.wake.get() })
}

/// The screen as text, line by line, without colours.
pub(crate) fn text(model: &Model) -> String {
    let (buffer, _) = draw(model);
    let width = usize::from(buffer.area.width).max(1);
    let line = |cells: &[ratatui::buffer::Cell]| {
        // The second cell of a wide character is skipped by its first.
        let mut text = String::new();
        let mut skip = 0;
        for cell in cells {
            if skip == 0 {
                text.push_str(cell.symbol());
                skip = self::width(cell.symbol()).saturating_sub(1);
            } else {
                skip -= 1;
            }
        }
        text.trim_end().to_owned()
    };
    buffer.content.chunks(width).map(line).collect::<Vec<_>>().join("\n")
}

fn page(ctx: &RenderContext<'_>, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let model = ctx.model;
    let parts = ScreenParts::of(ctx, area);
    match &model.page {
        Page::Fleet => fleet::draw(ctx, &parts, buffer),
        Page::Rollout(_) => rollout::draw(ctx, &parts, buffer),
    }
    let dialog_says_it = matches!(model.overlay, Overlay::Dialog(_)) && dialog::says_refusal(ctx, &parts);
    let cursor = footer::draw(ctx, &parts, dialog_says_it, buffer);
    match &model.overlay {
        Overlay::Help { top, find, .. } => return help::draw(ctx, area, *top, find, buffer),
        Overlay::Details { top } => {
            if let Some(timeline) = model.rollout().and_then(|page| Some((page, page.timeline()?))) {
                timeline::draw_over(ctx, area, timeline, *top, buffer);
            }
        }
        Overlay::Diagnosis { top, readings } => diagnosis::draw(ctx, area, *top, readings, buffer),
        Overlay::Watches { top } => watches::draw(ctx, area, *top, buffer),
        Overlay::Dialog(dialog) => return dialog::draw(ctx, &parts, dialog, buffer),
        Overlay::None | Overlay::Palette(_) | Overlay::Filter(_) => {}
    }
    cursor
}

/// The amount of room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum Shape {
    Nothing,
    Sentence,
    Folded,
    Full,
    /// With a side pane.
    Wide,
}

impl Shape {
    pub(crate) fn of(model: &Model) -> Self {
        match (model.size.width, model.size.height) {
            (0, _) | (_, 0) => Self::Nothing,
            (..40, _) | (_, ..10) => Self::Sentence,
            (..80, _) | (_, ..16) => Self::Folded,
            (..140, _) => Self::Full,
            _ => Self::Wide,
        }
    }
}

/// The places of the parts of the screen.
#[derive(Clone, Debug)]
struct ScreenParts {
    header: Rect,
    lines: Vec<Line<'static>>,
    /// The rule above the list.
    rule: Rect,
    list: Rect,
    side: Option<Rect>,
    status: Rect,
    footer: Rect,
}

impl ScreenParts {
    fn of(ctx: &RenderContext<'_>, area: Rect) -> Self {
        let model = ctx.model;
        let shape = Shape::of(model);
        let lines = match &model.page {
            Page::Fleet => fleet::header(ctx, area.width),
            Page::Rollout(_) => header::lines(ctx, shape, area),
        };
        // The list keeps some rows, however long the header is.
        let most = area.height.saturating_sub(if shape == Shape::Folded { 6 } else { 8 });
        let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(most);
        let row = |y: u16, height: u16| Rect { x: area.x, y, width: area.width, height }.intersection(area);
        let rule = row(area.y + height, u16::from(shape > Shape::Folded));
        let list_top = rule.bottom().max(area.y + height);
        let said = footer::status_height(ctx, shape, area);
        let mut list = row(list_top, area.height.saturating_sub(list_top - area.y + 1 + said));
        let has_side = model.rollout().is_some_and(|page| match page.screen {
            // The difference of two revisions takes the whole width.
            RolloutScreen::Revisions(_) => false,
            RolloutScreen::Nodes | RolloutScreen::Timeline(_) | RolloutScreen::Prewarm(_) => !knows_no_node(page),
        });
        let side = (shape == Shape::Wide && has_side).then(|| {
            let width = (area.width / 3).min(72);
            list.width -= width;
            if let Some(page) = model.rollout().filter(|page| shows_nodes(page)) {
                // The side pane uses the cells that the list would leave blank.
                list.width = node_list::needed_cells(&ctx.model.node_columns, page, list.width);
            }
            Rect { x: list.right(), width: area.right().saturating_sub(list.right()), ..list }
        });
        let status = row(area.bottom().saturating_sub(1 + said), said);
        let footer = row(area.bottom().saturating_sub(1), 1);
        Self { header: row(area.y, height), lines, rule, list, side, status, footer }
    }

    /// The rows of the list, below its column heads.
    fn rows(&self) -> Rect {
        let head = u16::from(self.list.height > 1);
        Rect { y: self.list.y + head, height: self.list.height - head, ..self.list }
    }
}

/// The visible size of the parts that can be scrolled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Measures {
    /// The number of visible rows of the list.
    pub(crate) list_height: usize,
    pub(crate) map: MapArea,
}

impl Measures {
    pub(crate) fn of(model: &Model) -> Self {
        if Shape::of(model) <= Shape::Sentence {
            return Self::default();
        }
        let screen = terminal::area(model.size);
        let parts = ScreenParts::of(&RenderContext::new(model), screen);
        let rows = usize::from(parts.rows().height);
        let list_height = model.rollout().map_or(rows, |page| match &page.screen {
            RolloutScreen::Revisions(screen) => revisions::height(&parts, screen),
            RolloutScreen::Prewarm(_) => prewarm::node_rows(&parts, page.snapshot().map(|snapshot| &**snapshot)),
            RolloutScreen::Nodes | RolloutScreen::Timeline(_) => rows,
        });
        Self { list_height, map: node_map::room(&parts, screen) }
    }
}

/// The last line that can be the overlay's first visible line.
pub(crate) fn overlay_end(model: &Model) -> usize {
    if Shape::of(model) <= Shape::Sentence {
        return 0;
    }
    let (ctx, area) = (RenderContext::new(model), terminal::area(model.size));
    match &model.overlay {
        Overlay::Help { find, .. } => help::end(&ctx, area, find),
        Overlay::Details { top } => {
            let timeline = model.rollout().and_then(|page| Some((page, page.timeline()?)));
            timeline.map_or(0, |timeline| timeline::end_of_over(&ctx, area, timeline, *top))
        }
        Overlay::Diagnosis { readings, .. } => diagnosis::end(&ctx, area, readings),
        Overlay::Watches { top } => watches::end(&ctx, area, *top),
        Overlay::None | Overlay::Palette(_) | Overlay::Filter(_) | Overlay::Dialog(_) => 0,
    }
}

/// The number of lines by which the open dialog's text can be scrolled up and down.
pub(crate) fn dialog_ends(model: &Model) -> (isize, isize) {
    let (ctx, area) = (RenderContext::new(model), terminal::area(model.size));
    match &model.overlay {
        Overlay::Dialog(dialog) if Shape::of(model) > Shape::Sentence => {
            dialog::ends(&ctx, &ScreenParts::of(&ctx, area), dialog)
        }
        _ => (0, 0),
    }
}

/// The number of visible rows of the list.
pub(crate) fn list_height(model: &Model) -> usize {
    Measures::of(model).list_height
}

/// Whether no node has been listed yet, so that the width of the columns is unknown.
fn knows_no_node(page: &RolloutPage) -> bool {
    page.snapshot().is_none_or(|snapshot| snapshot.phase == Phase::Loading && snapshot.nodes.is_empty())
}

/// Whether the list of nodes is shown, instead of a screen that takes its place.
pub(crate) fn shows_nodes(page: &RolloutPage) -> bool {
    page.lists_nodes() && !page.map.is_open
}

/// Whether the map is drawn, in place of the list of nodes or beside it.
pub(crate) fn draws_map(model: &Model) -> bool {
    model.rollout().is_some_and(|page| page.map.is_open) || Shape::of(model) == Shape::Wide
}

/// The context of a drawing: the model, its theme, and a note of the instant at which time changes the picture.
struct RenderContext<'a> {
    model: &'a Model,
    wake: Cell<Option<Uptime>>,
}

impl<'a> RenderContext<'a> {
    fn new(model: &'a Model) -> Self {
        Self { model, wake: Cell::new(None) }
    }

    fn style(&self, role: ThemeRole) -> Style {
        self.model.theme().style(role)
    }

    fn glyph(&self, glyph: Glyph) -> &'a str {
        self.model.theme().glyph(glyph, self.model.glyphs)
    }

    fn span(&self, text: impl Into<String>, role: ThemeRole) -> Span<'static> {
        Span::styled(text.into(), self.style(role))
    }

    /// Notes that the picture changes at `at`.
    fn wake_at(&self, at: impl Into<Option<Uptime>>) {
        let Some(at) = at.into() else { return };
        let earlier = self.wake.get().is_none_or(|known| at < known);
        if earlier {
            self.wake.set(Some(at));
        }
    }

    /// The time since `since`: in whole seconds below a minute, then in whole minutes, which change within five seconds.
    fn elapsed(&self, shown: &ShownSnapshot, since: Timestamp) -> Duration {
        self.elapsed_by(shown.reading(), since)
    }

    /// [`Self::elapsed`] by this clock.
    fn elapsed_by(&self, shown: ClockReading, since: Timestamp) -> Duration {
        const MINUTE: u64 = 60;
        let now = self.model.now;
        let age = shown.clock(now, FINE_MILLIS).since(since);
        if age.as_secs() < MINUTE {
            self.wake_at(shown.reaches(now, since, FINE_MILLIS));
            return age;
        }
        // Hours and days are shown without minutes.
        let secs = shown.clock(now, COARSE_MILLIS).since(since).as_secs().max(MINUTE);
        let unit = if secs < 60 * MINUTE { MINUTE } else { 60 * MINUTE };
        let next = Duration::from_secs((secs / unit + 1) * unit);
        self.wake_at(shown.reaches(now, since + next, COARSE_MILLIS));
        Duration::from_secs(secs / MINUTE * MINUTE)
    }

    /// [`Self::elapsed`] as text.
    fn age(&self, shown: &ShownSnapshot, since: Timestamp) -> String {
        ShortDuration(self.elapsed(shown, since)).to_string()
    }

    /// [`Self::age`], once a second has passed: what has just begun lasts for no time worth telling.
    fn lasted(&self, shown: &ShownSnapshot, since: Timestamp) -> Option<String> {
        let elapsed = self.elapsed(shown, since);
        (elapsed.as_secs() > 0).then(|| ShortDuration(elapsed).to_string())
    }

    /// The present instant, in whole seconds: for texts that tell a remaining time.
    fn present(&self, shown: &ShownSnapshot) -> Timestamp {
        let (now, reading) = (self.model.now, shown.reading());
        let present = reading.clock(now, FINE_MILLIS);
        self.wake_at(reading.reaches(now, present, FINE_MILLIS));
        present
    }

    /// Whether `at` is still to come. The screen is drawn again when it has.
    fn is_before(&self, shown: &ShownSnapshot, at: Timestamp) -> bool {
        let (now, reading) = (self.model.now, shown.reading());
        let is_before = reading.clock(now, FINE_MILLIS) < at;
        if is_before {
            self.wake_at(reading.reaches(now, at, FINE_MILLIS));
        }
        is_before
    }

    /// `since` plus the age shown for it: for texts that compute the age themselves.
    fn instant(&self, shown: &ShownSnapshot, since: Timestamp) -> Timestamp {
        since + self.elapsed(shown, since)
    }
}

/// Writes `text` into a row, from `x` on and in at most `cells`.
fn put(buffer: &mut Buffer, x: u16, y: u16, text: &str, cells: usize, style: Style) {
    if x < buffer.area.right() && y < buffer.area.bottom() {
        buffer.set_stringn(x, y, fit(text, cells), cells, style);
    }
}

/// Writes lines one below the other into `area`. A longer line ends in `…`.
fn put_lines(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>]) {
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        put_line(buffer, area.x, y, line, area.width);
    }
}

/// Writes a line from `x` on, in at most `cells`; a longer line ends in `…`.
fn put_line(buffer: &mut Buffer, x: u16, y: u16, line: &Line<'_>, cells: u16) {
    buffer.set_line(x, y, line, cells);
    let mut left = usize::from(cells);
    // Blanks at the end of the line can be cut without a mark.
    let count = line.spans.iter().rposition(|span| !span.content.trim_end().is_empty()).map_or(0, |last| last + 1);
    for (nth, span) in line.spans.iter().enumerate().take(count) {
        let text = if nth + 1 == count { span.content.trim_end() } else { &*span.content };
        if is_wider(text, left) {
            if let (Some(end), true) = (cells.checked_sub(1), x.saturating_add(cells) <= buffer.area.right()) {
                buffer.set_stringn(x + end, y, "…", 1, span.style);
            }
            return;
        }
        left -= width(text);
    }
}

/// Writes a rule across `area`, with words in it.
fn put_rule(ctx: &RenderContext<'_>, buffer: &mut Buffer, area: Rect, words: &str) {
    if area.is_empty() {
        return;
    }
    let rule = ctx.glyph(Glyph::Rule).repeat(usize::from(area.width));
    put(buffer, area.x, area.y, &rule, usize::from(area.width), ctx.style(ThemeRole::Frame));
    if !words.is_empty() {
        let room = usize::from(area.width.saturating_sub(4));
        let words = format!(" {} ", fit(words, room.saturating_sub(2)));
        put(buffer, area.x + 2, area.y, &words, room, ctx.style(ThemeRole::Muted));
    }
}

/// The area inside the frame of a box.
fn inside_box(area: Rect) -> Rect {
    if area.width < 4 || area.height < 3 {
        return Rect::default();
    }
    Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 }
}

/// Draws a box with a title over everything in its place; returns the area inside.
fn put_box(ctx: &RenderContext<'_>, buffer: &mut Buffer, area: Rect, title: &str) -> Rect {
    let area = area.intersection(buffer.area);
    ratatui::widgets::Clear.render(area, buffer);
    let inside = inside_box(area);
    if inside.is_empty() {
        return inside;
    }
    let frame = ctx.style(ThemeRole::Frame);
    let across = ctx.glyph(Glyph::Rule).repeat(usize::from(area.width) - 2);
    let (right, bottom) = (area.right() - 1, area.bottom() - 1);
    for y in [area.y, bottom] {
        put(buffer, area.x + 1, y, &across, usize::from(area.width) - 2, frame);
    }
    for y in area.y + 1..bottom {
        put(buffer, area.x, y, ctx.glyph(Glyph::Side), 1, frame);
        put(buffer, right, y, ctx.glyph(Glyph::Side), 1, frame);
    }
    for (x, y, corner) in [
        (area.x, area.y, Glyph::CornerTopLeft),
        (right, area.y, Glyph::CornerTopRight),
        (area.x, bottom, Glyph::CornerBottomLeft),
        (right, bottom, Glyph::CornerBottomRight),
    ] {
        put(buffer, x, y, ctx.glyph(corner), 1, frame);
    }
    let room = usize::from(area.width).saturating_sub(4);
    put(
        buffer,
        area.x + 1,
        area.y,
        &format!(" {} ", fit(title, room.saturating_sub(2))),
        room,
        ctx.style(ThemeRole::Title),
    );
    inside
}

/// Wraps groups of spans into lines of `cells`; a group is not broken.
fn flow(words: Vec<Vec<Span<'static>>>, gap: &str, indent: &str, cells: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    let mut used = 0;
    for mut spans in words {
        let wide: usize = spans.iter().map(|span| width(&span.content)).sum();
        match lines.last_mut() {
            Some(line) if used + width(gap) + wide <= cells => {
                line.spans.push(Span::raw(gap.to_owned()));
                line.spans.append(&mut spans);
                used += width(gap) + wide;
            }
            _ => {
                spans.insert(0, Span::raw(indent.to_owned()));
                lines.push(Line::from(spans));
                used = width(indent) + wide;
            }
        }
    }
    lines
}

/// Replaces graphemes that no terminal can draw in their cells: hundreds of marks on one letter would be drawn over the
/// lines around it, and the width of a grapheme of more than two cells is up to the terminal.
fn limit_cells(buffer: &mut Buffer) {
    let is_one = |symbol: &str| symbol.is_ascii() || (symbol.len() <= CELL_BYTES && width(symbol) <= 2);
    for cell in buffer.content.iter_mut().filter(|cell| !is_one(cell.symbol())) {
        cell.set_symbol("\u{fffd}");
    }
}

/// Replaces signs beyond ASCII.
fn to_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if !cell.symbol().is_ascii() {
            let plain = match cell.symbol() {
                "…" => "~",
                "→" | "›" | "▶" => ">",
                "←" | "‹" => "<",
                "·" | "–" | "—" | "─" => "-",
                "│" => "|",
                "✓" => "+",
                "✗" | "×" => "x",
                "≥" => ">",
                "≤" => "<",
                "“" | "”" => "\"",
                "’" | "‘" => "'",
                _ => "?",
            };
            cell.set_symbol(plain);
        }
    }
}
