//! The buttons of a dialog, and beside them the effects of keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::{RenderContext, put};
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::danger::Danger;
use crate::tui::dialog::form::is_safety;
use crate::tui::dialog::{Dialog, Focus, Form, PREWARM};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::width;

/// Whether the console may no longer write, because the time for which it was armed has run out since the dialog was opened.
fn is_read_only_again(ctx: &RenderContext<'_>, dialog: &Dialog) -> bool {
    if ctx.model.armed_for().is_some()
        || matches!(dialog.form, Form::Quit(_) | Form::Arm { .. } | Form::SwitchContext { .. })
    {
        return false;
    }
    let page = ctx.model.rollouts.iter().find(|page| page.target == dialog.target);
    let command = page.and_then(|page| page.snapshot()).map(|snapshot| dialog.command(snapshot));
    command.is_some_and(|command| command.is_ok_and(|command| !is_safety(&command)))
}

/// The name of the button that changes nothing, as `esc` does.
pub(super) fn cancel_of(dialog: &Dialog) -> &'static str {
    match &dialog.form {
        Form::Quit(_) | Form::SwitchContext { .. } => "Stay",
        // This dialog confirms a cancellation, so its other button needs another name than Cancel.
        Form::Plain { command: Command::Prewarm(PrewarmCommand::Cancel), .. } => "Go on",
        _ => "Cancel",
    }
}

/// ` esc: cancel `, as shown in the frame of every dialog.
pub(super) fn escape_of(dialog: &Dialog) -> String {
    format!(" esc: {} ", cancel_of(dialog).to_lowercase())
}

/// The words for the keys of a dialog, by the place where there is room for them.
pub(super) struct Hints {
    /// Beside the buttons.
    pub(super) beside: String,
    /// What enter does, if that is not beside the buttons.
    pub(super) enter: &'static str,
    /// The key that shows more, if that is not beside the buttons.
    pub(super) more: String,
}

impl Hints {
    /// The hints for a dialog with this many cells; `more`: the key that shows more of its text, if there is more.
    pub(super) fn of(ctx: &RenderContext<'_>, dialog: &Dialog, cells: u16, more: &str) -> Self {
        let enter = enter_of(ctx, dialog);
        let key = if more.is_empty() { String::new() } else { format!("{more}: more") };
        let prewarm = format!("{PREWARM}: pre-warm");
        let prewarm = if let Form::Undo(_) = &dialog.form { prewarm.as_str() } else { "" };
        let room = usize::from(cells).saturating_sub(buttons(ctx, dialog).width() + 2);
        let tab = if enter.starts_with("tab") { "" } else { "tab" };
        // Without room for all hints, the keys that every dialog has are left out first, and what enter does moves into the frame.
        let kinds =
            [vec![&*key, prewarm, enter, tab], vec![&*key, prewarm, enter], vec![prewarm], vec![&*key], vec![more]];
        let hints = kinds.into_iter().map(|words| {
            let has_enter = words.contains(&enter);
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            (words.join(&format!(" {} ", ctx.glyph(Glyph::Dot))), has_enter)
        });
        let fits = |(hint, _): &(String, bool)| !hint.is_empty() && width(hint) <= room;
        let (beside, has_enter) = hints.into_iter().find(fits).unwrap_or_default();
        let has_more = more.is_empty() || beside.contains(more);
        Self {
            beside,
            enter: if has_enter { "" } else { enter },
            more: if has_more { String::new() } else { more.to_owned() },
        }
    }
}

/// What enter does where the focus is.
fn enter_of(ctx: &RenderContext<'_>, dialog: &Dialog) -> &'static str {
    let ready = dialog.ready().is_ok();
    match (dialog.focus, dialog.danger()) {
        (Focus::Form | Focus::Name | Focus::Go, _) if is_read_only_again(ctx, dialog) => "read-only again",
        (Focus::Form, Some(Danger::Serious)) => "tab, enter: do it",
        (Focus::Form, Some(Danger::ExceedsBudget)) => "enter: confirm …",
        (Focus::Form, None) if dialog.waits() => "",
        (Focus::Form | Focus::Name | Focus::Go, _) if ready => "enter: do it",
        (Focus::Name, _) => "its name first",
        (Focus::Cancel, _) => "enter: do nothing",
        _ => "",
    }
}

/// The two buttons.
fn buttons(ctx: &RenderContext<'_>, dialog: &Dialog) -> Line<'static> {
    let ready = dialog.ready().is_ok();
    let button = |focus: Focus, text: &str| {
        let focused = dialog.focus == focus;
        let role = match (focused, focus, ready) {
            (_, Focus::Go, false) => ThemeRole::Unavailable,
            (true, ..) => ThemeRole::ButtonFocus,
            _ => ThemeRole::Button,
        };
        let text = if focused { format!("[>{text}<]") } else { format!("[ {text} ]") };
        ctx.span(text, role)
    };
    let cancel = cancel_of(dialog);
    Line::from(vec![button(Focus::Go, dialog.verb()), Span::raw("  "), button(Focus::Cancel, cancel)])
}

/// Draws the buttons, and beside them the effects of keys.
pub(super) fn draw_buttons(ctx: &RenderContext<'_>, dialog: &Dialog, area: Rect, hint: &str, buffer: &mut Buffer) {
    buffer.set_line(area.x, area.y, &buttons(ctx, dialog), area.width);
    let cells = width(hint);
    let x = area.right().saturating_sub(u16::try_from(cells).unwrap_or(0));
    put(buffer, x, area.y, hint, cells, ctx.style(ThemeRole::Muted));
}
