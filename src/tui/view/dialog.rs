//! Draws the dialog of a write: its form, its preview, its buttons.
//!
//! ```text
//! ┌ Step ─────────────────────────────────────────────────────────────────────┐
//! │ prod-eu · edge · ds/ipc-agent · v1.8.2 → v1.9.0                           │
//! │ > next step      50%                                                      │
//! │   step back      10% (reverts no node)                                    │
//! │   updated        [      ]  nodes or percent                               │
//! │                                                                           │
//! │ 22 nodes may be updated, at most 2 down and 2 pulling at a time.          │
//! │   ipc-020  ipc-022  ipc-023 …                                             │
//! │ API: PATCH leases/rolldeck-ipc-agent, then DELETE pods                    │
//! │                                                                           │
//! │ [ Start step ]  [ Cancel ]                                    enter · tab │
//! └───────────────────────────────────────────────────────────── esc: cancel ─┘
//! ```
//!
//! All dialogs have the same place and width: below the header, so that the driver, the budget and alarms stay visible.
//! Their height is one of a few, so that nodes stay visible and the dialog does not jump with every line of its preview.
//! `pgdn` and `pgup` scroll to the lines for which there is no room; before anybody scrolls, the line being typed is
//! visible, or the preview while the focus is on the buttons. The line on which a name is typed to confirm stays above the
//! buttons, so that the cost can be read beside it.

mod buttons;
mod canary;
mod frame;
mod image;
mod preview;
mod prewarm;
mod quit;
mod takeover;
mod tune;
mod undo;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use tui_input::Input;

use self::buttons::{Hints, draw_buttons};
use self::frame::{Heights, LEAST_HEIGHT, height_for, put_enter, put_foot, room, title_beside};
use self::preview::fill_preview;
use super::footer::skip_cells;
use super::{RenderContext, ScreenParts, put_box, put_lines};
use crate::engine::model::command::Command;
use crate::engine::model::danger::Danger;
use crate::engine::model::quantity::{IntOrPercent, counted};
use crate::engine::model::record::Direction;
use crate::engine::model::settings::Setting;
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::step_back::StepBack;
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::dialog::BudgetField;
use crate::tui::dialog::Dialog;
use crate::tui::dialog::DriftChoice;
use crate::tui::dialog::Focus;
use crate::tui::dialog::Form;
use crate::tui::dialog::PreviewState;
use crate::tui::dialog::StepForm;
use crate::tui::dialog::form::StepChoice;
use crate::tui::model::RolloutPage;
use crate::tui::status::{StatusLine, StatusSeverity};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, width, wrap};

/// The number of lines of node names that are shown until somebody scrolls.
const FIRST_LINES: usize = 2;
/// The cells for a line's name.
const NAME: usize = 14;
/// The width below which words move closer together.
const NARROW: usize = 60;
/// The number of lines that are kept for the preview until it arrives.
const ANSWER: usize = 4;

/// Below this number of lines a long form takes all but one of them.
const LOW: usize = 8;

/// The content between title and buttons.
struct DialogBody<'a> {
    ctx: &'a RenderContext<'a>,
    cells: usize,
    /// The number of lines of node names that are shown.
    rows: usize,
    /// More lines exist than are shown.
    hidden: bool,
    /// Changed fields are shown in full, however long they are.
    fields_in_full: bool,
    lines: Vec<Line<'static>>,
    /// The lines that stay above the buttons during scrolling: the line on which the confirming name is typed.
    name: Vec<Line<'static>>,
    /// The column of the cursor in the name.
    name_cursor: Option<usize>,
    /// The number of lines that are shown of a long form.
    room: usize,
    /// The cursor of the text being typed: line and column.
    cursor: Option<(usize, usize)>,
    /// The line with the focus.
    focus_line: Option<usize>,
    /// The first line of the preview.
    answer_line: usize,
    /// The dialog asks for a preview, which stands below the form.
    asks: bool,
    density: Density,
}

/// The parts that are left out where there is little room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Density {
    Airy,
    /// Blank lines are left out.
    NoGaps,
    /// Facts that the header shows are left out too.
    Brief,
}

impl DialogBody<'_> {
    fn say(&mut self, text: &str, role: ThemeRole) {
        let lines = wrap(text, self.cells);
        self.lines.extend(lines.map(|line| Line::from(self.ctx.span(line, role))));
    }

    fn gap(&mut self) {
        if self.density == Density::Airy && self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    /// A line with a text field after `name`.
    fn field(&mut self, name: Span<'static>, input: &Input, focused: bool) {
        let room = self.cells.saturating_sub(name.width() + 1).max(1);
        let scroll = input.visual_scroll(room);
        // A mark shows that text is left out on the left, as for text that is cut on the right.
        let text = match scroll {
            0 => input.value().to_owned(),
            _ => format!("…{}", skip_cells(input.value(), scroll + 1)),
        };
        let text = format!("{:1$}", fit(&text, room), room.min(24));
        if focused {
            let column = name.width() + input.visual_cursor().saturating_sub(scroll);
            self.cursor = Some((self.lines.len(), column));
            self.focus_line = Some(self.lines.len());
        }
        self.lines.push(Line::from(vec![name, self.ctx.span(text, ThemeRole::Input)]));
    }

    /// Puts the line that was written last above the buttons.
    fn keep_in_sight(&mut self, focused: bool) {
        self.name.extend(self.lines.pop());
        if focused {
            self.focus_line = None;
            self.name_cursor = self.cursor.take().map(|(_, column)| column);
        }
    }

    /// A line that can be chosen.
    fn choice(&mut self, chosen: bool, text: &str) {
        let sign = if chosen { self.ctx.glyph(Glyph::Cursor) } else { " " };
        let role = if chosen { ThemeRole::Title } else { ThemeRole::Text };
        if chosen {
            self.focus_line = Some(self.lines.len());
        }
        let text = fit(text, self.cells.saturating_sub(2)).into_owned();
        self.lines.push(Line::from(self.ctx.span(format!("{sign} {text}"), role)));
    }

    /// A line that can be chosen, with its effect: the chosen line takes as many lines as its text needs.
    fn choice_in_full(&mut self, chosen: bool, text: &str) {
        let room = self.cells.saturating_sub(2);
        if !chosen || width(text) <= room {
            return self.choice(chosen, text);
        }
        for (nth, line) in wrap(text, room).enumerate() {
            let sign = if nth == 0 { self.ctx.glyph(Glyph::Cursor) } else { " " };
            self.focus_line = Some(self.lines.len());
            self.lines.push(Line::from(self.ctx.span(format!("{sign} {line}"), ThemeRole::Title)));
        }
    }
}

/// Draws the dialog over the list. Returns the position of the text being typed.
pub(super) fn draw(
    ctx: &RenderContext<'_>,
    parts: &ScreenParts,
    dialog: &Dialog,
    buffer: &mut Buffer,
) -> Option<Position> {
    let (area, body) = laid_out(ctx, parts, dialog);
    let inside = super::inside_box(area);
    let refusal = refusal(ctx, parts);
    let (hidden, top) = scrolled(dialog, &body, height_of_text(&body, inside, &refusal));
    let more = if body.hidden || hidden > top {
        format!("{} pgdn", ctx.glyph(Glyph::Unfolded))
    } else if top > 0 {
        "pgup".to_owned()
    } else {
        String::new()
    };
    let hints = Hints::of(ctx, dialog, inside.width, &more);
    let cells = usize::from(area.width).saturating_sub(6);
    let (title, beside) = title_beside(dialog, cells, hints.enter);
    put_box(ctx, buffer, area, &title);
    if !beside.is_empty() {
        put_enter(ctx, area, beside, buffer);
    }
    // A button with the focus says by itself what enter does.
    let is_told = !beside.is_empty() || matches!(dialog.focus, Focus::Cancel | Focus::Go);
    let hints_below = [&*hints.more, if is_told { "" } else { hints.enter }];
    put_foot(ctx, dialog, area, (hints_below, body.asks && body.density == Density::Brief), buffer);
    if inside.is_empty() {
        return None;
    }
    // The name field stands below the text. If the text is too long, the field stands on the last lines of the dialog.
    let rows = u16::try_from(body.lines.len()).unwrap_or(u16::MAX);
    let text = Rect { height: rows.min(height_of_text(&body, inside, &refusal)), ..inside };
    let name = Rect { y: text.bottom(), height: lines_of(&body.name), ..inside };
    let said = Rect { y: inside.bottom() - 1 - lines_of(&refusal), height: lines_of(&refusal), ..inside };
    put_lines(buffer, said, &refusal);
    put_lines(buffer, text, &body.lines[top..]);
    put_lines(buffer, name, &body.name);
    let buttons = Rect { y: inside.bottom() - 1, height: 1, ..inside };
    draw_buttons(ctx, dialog, buttons, &hints.beside, buffer);
    let (row, column) = match (body.name_cursor, body.cursor) {
        (Some(column), _) => (name.y, column),
        (None, Some((line, column))) => {
            let row = line.checked_sub(top).filter(|row| *row < usize::from(text.height))?;
            (text.y + u16::try_from(row).unwrap_or(0), column)
        }
        (None, None) => return None,
    };
    let column = column.min(usize::from(text.width).saturating_sub(1));
    Some(Position::new(text.x + u16::try_from(column).unwrap_or(0), row))
}

/// The number of lines of the text that are visible at once.
fn height_of_text(body: &DialogBody<'_>, inside: Rect, refusal: &[Line<'_>]) -> u16 {
    inside.height.saturating_sub(1 + lines_of(refusal) + lines_of(&body.name))
}

/// The number of lines that are hidden if `height` lines are visible, and the first visible line.
fn scrolled(dialog: &Dialog, body: &DialogBody<'_>, height: u16) -> (usize, usize) {
    let height = usize::from(height);
    let hidden = body.lines.len().saturating_sub(height);
    let from = seen_from(dialog, body, height).min(hidden);
    (hidden, from.saturating_add_signed(dialog.scroll).min(hidden))
}

/// The number of lines by which the text can be scrolled up and down.
pub(super) fn ends(ctx: &RenderContext<'_>, parts: &ScreenParts, dialog: &Dialog) -> (isize, isize) {
    let (area, body) = laid_out(ctx, parts, dialog);
    let height = height_of_text(&body, super::inside_box(area), &refusal(ctx, parts));
    let hidden = body.lines.len().saturating_sub(usize::from(height));
    let from = seen_from(dialog, &body, usize::from(height)).min(hidden);
    let signed = |lines: usize| isize::try_from(lines).unwrap_or(isize::MAX);
    (-signed(from), signed(hidden - from))
}

/// The first of `height` visible lines before anybody scrolls.
fn seen_from(dialog: &Dialog, body: &DialogBody<'_>, height: usize) -> usize {
    match dialog.focus {
        Focus::Form => body.focus_line.map_or(0, |line| (line + 1).saturating_sub(height)),
        Focus::Name | Focus::Cancel | Focus::Go => body.answer_line,
    }
}

/// The place of the dialog, and the content between its title and its buttons.
fn laid_out<'a>(ctx: &'a RenderContext<'a>, parts: &ScreenParts, dialog: &Dialog) -> (Rect, DialogBody<'a>) {
    let most = room(parts);
    let inside = super::inside_box(most);
    let said = lines_of(&refusal(ctx, parts));
    let name = u16::from(dialog.danger() == Some(Danger::ExceedsBudget));
    let room = Rect { height: inside.height.saturating_sub(1 + said + name), ..inside };
    let height = usize::from(room.height);
    let is_small = most.height < LEAST_HEIGHT;
    let density = if is_small { Density::NoGaps } else { Density::Airy };
    let mut body = filled(ctx, dialog, room, usize::MAX, (density, true));
    if body.lines.len() > height {
        body = filled(ctx, dialog, room, usize::MAX, (density, false));
    }
    if body.lines.len() > height {
        body = filled(ctx, dialog, room, usize::MAX, (Density::Brief, false));
    }
    if body.lines.len().max(body.answer_line + ANSWER) > height {
        // A long form leaves room for the preview: less where lines are few and nothing warns of what it would do.
        let kept = match &dialog.answer {
            PreviewState::Preview(preview) if height < LOW && preview.warnings.is_empty() => 2,
            PreviewState::Incomplete(_) | PreviewState::Asking(_) if height < LOW => 1,
            _ => ANSWER + 1,
        };
        let form = height.saturating_sub(kept).max(3);
        body = filled(ctx, dialog, room, form, (density, false));
        if body.lines.len() > height {
            body = filled(ctx, dialog, room, form, (Density::Brief, false));
        }
    }
    // Where lines are few, no line is left empty; nor in a dialog without a preview, which does not jump.
    let heights = match () {
        () if is_small || !body.asks => Heights::AsTheText,
        // Nothing is typed, so the text hardly changes.
        () if !dialog.form.has_fields() => Heights::Close,
        () => Heights::Few,
    };
    let is_kept = body.asks && (heights != Heights::AsTheText || matches!(dialog.answer, PreviewState::Asking(_)));
    let kept = if is_kept { body.answer_line + ANSWER } else { 0 };
    let lines = body.lines.len().max(kept);
    (Rect { height: height_for(lines + usize::from(said + name), most.height, heights), ..most }, body)
}

/// Whether the dialog itself shows a refusal, because it may cover the line that shows it otherwise.
pub(super) fn says_refusal(ctx: &RenderContext<'_>, parts: &ScreenParts) -> bool {
    let refuses = |status: &StatusLine| match status.severity {
        StatusSeverity::Refused | StatusSeverity::KeyRefused | StatusSeverity::UntilKey => true,
        StatusSeverity::Busy | StatusSeverity::Good | StatusSeverity::Plain => false,
    };
    room(parts).bottom() > parts.status.y && ctx.model.status.as_ref().is_some_and(refuses)
}

/// The refusal above the buttons: in two lines, or in one where lines are few.
fn refusal(ctx: &RenderContext<'_>, parts: &ScreenParts) -> Vec<Line<'static>> {
    let Some(status) = ctx.model.status.as_ref().filter(|_| says_refusal(ctx, parts)) else { return Vec::new() };
    let inside = super::inside_box(room(parts));
    let (cells, most) = (usize::from(inside.width), if inside.height < 6 { 1 } else { 2 });
    let mut wrapped = wrap(&status.text, cells);
    let mut lines: Vec<String> = wrapped.by_ref().take(most).collect();
    if let (Some(last), Some(more)) = (lines.last_mut(), wrapped.next()) {
        *last = fit(&format!("{last} {more}"), cells).into_owned();
    }
    lines.into_iter().map(|line| Line::from(ctx.span(line, ThemeRole::Warn))).collect()
}

fn lines_of(lines: &[Line<'_>]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

/// The lines between title and buttons.
fn filled<'a>(
    ctx: &'a RenderContext<'a>,
    dialog: &Dialog,
    text: Rect,
    form_lines: usize,
    (density, fields_in_full): (Density, bool),
) -> DialogBody<'a> {
    let page = ctx.model.rollouts.iter().find(|page| page.target == dialog.target);
    let mut body = DialogBody {
        ctx,
        cells: usize::from(text.width),
        rows: if dialog.scroll == 0 { FIRST_LINES } else { usize::MAX },
        hidden: false,
        fields_in_full: dialog.scroll != 0 || fields_in_full,
        lines: Vec::new(),
        name: Vec::new(),
        name_cursor: None,
        room: form_lines,
        cursor: None,
        focus_line: None,
        answer_line: 0,
        asks: false,
        density,
    };
    fill(&mut body, dialog, page);
    body
}

fn fill(body: &mut DialogBody<'_>, dialog: &Dialog, page: Option<&RolloutPage>) {
    let ctx = body.ctx;
    if let Form::Quit(driven) | Form::SwitchContext { driven, .. } = &dialog.form {
        return quit::fill(body, &dialog.form, driven);
    }
    if let Form::Arm { context, typed } = &dialog.form {
        body.say(&format!("Context {context} is protected. Armed, capital letters write to it."), ThemeRole::Text);
        body.gap();
        let name = ctx.span(format!("Type {context} to arm: "), ThemeRole::Title);
        body.field(name, typed, dialog.focus == Focus::Form);
        return;
    }
    let Some(shown) = page.and_then(|page| page.live.as_ref()) else {
        let DaemonSetRef { namespace, name } = &dialog.target;
        body.say(&format!("{} {} {namespace}/{name}", ctx.model.context, ctx.glyph(Glyph::Dot)), ThemeRole::Muted);
        body.say("loading: it can be confirmed as soon as the DaemonSet is known", ThemeRole::Busy);
        return;
    };
    let snapshot = &*shown.snapshot;
    let dot = ctx.glyph(Glyph::Dot);
    let (context, target) = (&ctx.model.context, &dialog.target);
    let subject = format!("{context} {dot} {} {dot} ds/{} {dot} {}", target.namespace, target.name, snapshot.change());
    let subject = if width(&subject) <= body.cells {
        subject
    } else {
        format!("{context} {dot} {}/{}", target.namespace, target.name)
    };
    if body.density != Density::Brief {
        body.say(&subject, ThemeRole::Muted);
        body.gap();
    }
    let focused = dialog.focus == Focus::Form;
    match &dialog.form {
        Form::Plain { .. } | Form::Quit(_) | Form::SwitchContext { .. } | Form::Arm { .. } => {}
        Form::Pause { why } => body.field(ctx.span("Why (may be left out): ", ThemeRole::Text), why, focused),
        Form::Step(form) => fill_step(body, form, snapshot, focused),
        Form::Image(form) => {
            image::fill(body, form, &dialog.answer, focused);
        }
        Form::Canary(form) => canary::fill(body, form, &dialog.answer, snapshot, focused),
        Form::Undo(form) => undo::fill(body, form, &dialog.answer, shown),
        Form::Adopt(form) => {
            fill_budget(body, &form.budget, focused);
            fill_drift(body, form.drift, focused);
        }
        Form::Tune(form) => tune::fill(body, form, snapshot, focused),
        Form::Prewarm(form) => prewarm::fill(body, form, snapshot, focused),
    }
    body.gap();
    (body.answer_line, body.asks) = (body.lines.len(), true);
    if !dialog.meanwhile.is_empty() {
        let changed = dialog.meanwhile.join("; ");
        body.say(&format!("{} changed meanwhile: {changed}", ctx.glyph(Glyph::Alarm)), ThemeRole::Warn);
    }
    if let PreviewState::Preview(preview) = &dialog.answer
        && let Some(does) = preview.beyond_in_words()
    {
        body.say(&format!("This {does}."), ThemeRole::Bad);
    }
    if let Some(doubt) = &dialog.doubt {
        body.say(&format!("{} {doubt}", ctx.glyph(Glyph::Alarm)), ThemeRole::Warn);
    }
    if let (Form::Plain { command: Command::Drive(_), .. }, Some(page)) = (&dialog.form, page) {
        takeover::fill(body, page, shown);
    }
    match &dialog.answer {
        PreviewState::Incomplete(why) => body.say(why, ThemeRole::Warn),
        PreviewState::Asking(_) if !dialog.waits() => {
            let what = match &dialog.form {
                Form::Plain { command: Command::Prewarm(_), .. } => "No more pods are made for it",
                _ => "No update is started",
            };
            body.say(&format!("{what} from the moment it is written."), ThemeRole::Text);
        }
        PreviewState::Asking(_) => body.say("asking what it would do …", ThemeRole::Busy),
        PreviewState::Refused(why) => body.say(&format!("It would be refused: {why}"), ThemeRole::Bad),
        PreviewState::Preview(preview) => {
            fill_preview(body, preview, dialog);
            if let Form::Plain { command: Command::Drive(_), .. } = &dialog.form {
                takeover::fill_stops(body, snapshot);
            }
        }
    }
    if dialog.danger() == Some(Danger::ExceedsBudget) {
        body.gap();
        let name = ctx.span(format!("Type {} to confirm: ", target.name), ThemeRole::Title);
        body.field(name, &dialog.typed, dialog.focus == Focus::Name);
        body.keep_in_sight(dialog.focus == Focus::Name);
    }
}

/// `1 is`, `2 are`.
fn are(nodes: u32) -> &'static str {
    if nodes == 1 { "is" } else { "are" }
}

fn fill_step(body: &mut DialogBody<'_>, form: &StepForm, snapshot: &Snapshot, focused: bool) {
    let plan = &snapshot.plan;
    let (nodes, allowed) = (snapshot.counts.nodes, plan.allowed);
    let updated = snapshot.counts.updated;
    let now = match updated > allowed {
        // Some nodes are updated beyond the plan: their Pods were lost by themselves, or a step back was taken.
        true => format!("{updated} of {nodes} nodes {} updated already; no further node may be.", are(updated)),
        false if body.cells < NARROW => format!("Now {allowed} may be updated; {updated} {}.", are(updated)),
        false => format!("Now {allowed} of {nodes} nodes may be updated; {updated} so far."),
    };
    body.say(&now, ThemeRole::Text);
    let next = match &plan.next {
        Some(Ok(ahead)) => format!("{}: {}", named_step(&ahead.step), Remedy::Step(*ahead)),
        Some(Err(_)) | None => "none that moves anything".to_owned(),
    };
    // The effect has precedence over the name.
    let (next_step, step_back) = match body.cells < NARROW {
        true => ("next     ", "back     "),
        false => ("next step     ", "step back     "),
    };
    let (in_all, keep_old) = match body.cells < NARROW {
        true => ("updated  ", "keep old "),
        false => ("updated       ", "keep old      "),
    };
    for choice in StepChoice::ALL {
        let chosen = form.choice == choice;
        match choice {
            StepChoice::Next => {
                body.choice_in_full(chosen, &format!("{next_step}{next}"));
            }
            StepChoice::Back => {
                let StepBack { to, more } = snapshot.step_back();
                let none = if allowed > 0 { "before the first" } else { "none" };
                let to = to.map_or_else(|| none.to_owned(), |step| named_step(&step));
                let goes_on = match more {
                    0 => "starts no more".to_owned(),
                    more => format!("{more} more may go"),
                };
                let and = if chosen || body.cells >= NARROW { format!(", {goes_on}") } else { String::new() };
                let does = match snapshot.direction {
                    Direction::Forward => format!("reverts no node{and}"),
                    Direction::Back => "a roll back ignores it".to_owned(),
                };
                body.choice_in_full(chosen, &format!("{step_back}{to} ({does})"));
            }
            StepChoice::Updated => number_field(body, chosen, in_all, &form.updated, focused),
            StepChoice::Keep => number_field(body, chosen, keep_old, &form.keep, focused),
        }
    }
}

fn number_field(body: &mut DialogBody<'_>, chosen: bool, name: &str, input: &Input, focused: bool) {
    let ctx = body.ctx;
    if chosen {
        let name = ctx.span(format!("{} {name}", ctx.glyph(Glyph::Cursor)), ThemeRole::Title);
        body.field(name, input, focused);
        if let Some(line) = body.lines.last_mut() {
            line.spans.push(ctx.span("  nodes, or %", ThemeRole::Muted));
        }
    } else {
        let unset = if body.cells < NARROW { "a number, or %" } else { "a number of nodes, or %" };
        let value = if input.value().is_empty() { unset } else { input.value() };
        body.choice(false, &format!("{name}{value}"));
    }
}

/// A step as what it is about: `1 node` beside `10%`, so that nobody takes the number for that of the step.
fn named_step(step: &IntOrPercent) -> String {
    match step {
        IntOrPercent::Int(nodes) => counted(*nodes as usize, "node"),
        IntOrPercent::Percent(_) => step.to_string(),
    }
}

/// The number of nodes that may be down, if the form asks for it.
fn fill_budget(body: &mut DialogBody<'_>, budget: &BudgetField, focused: bool) {
    if budget.required {
        body.field(body.ctx.span("Nodes that may be down at once: ", ThemeRole::Title), &budget.input, focused);
    }
}

/// The reaction to somebody who sets the strategy back.
fn fill_drift(body: &mut DialogBody<'_>, drift: DriftChoice, focused: bool) {
    let now = drift.now.to_string();
    let meaning = Setting::OnDrift.meaning(&now, 0);
    let switch = "left, right: switch";
    // A text without room is left out as a whole.
    let fits = |text: &String| width(text) + 2 <= body.cells;
    let words = match focused {
        true => [format!("on drift {now} ({meaning})   {switch}"), format!("on drift {now}   {switch}")],
        false => [format!("on drift {now} ({meaning})"), format!("on drift {now}")],
    };
    let least = format!("on drift {now}");
    let words = words.into_iter().find(fits).unwrap_or(least);
    body.choice(focused, &words);
}
