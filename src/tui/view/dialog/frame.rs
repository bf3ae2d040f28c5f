//! The frame of a dialog: where it is, how high, its title, and the cluster where nothing else names it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::footer::unnamed_cluster;
use super::super::{RenderContext, ScreenParts, put};
use super::buttons::escape_of;
use crate::engine::model::command::Command;
use crate::tui::dialog::{Dialog, Form, PreviewState};
use crate::tui::theme::ThemeRole;
use crate::tui::words::{fit_middle, width};

/// The width of a dialog, where there is so much room.
const WIDTH: u16 = 100;
/// Its heights, where there is so much room: the first that its lines fit in.
const HEIGHTS: [u16; 5] = [8, 12, 18, 24, 30];
/// The frame and the buttons.
const AROUND: u16 = 3;
/// With less height than this between the header and the last lines, those are covered too.
pub(super) const LEAST_HEIGHT: u16 = 14;

/// Where a dialog may be.
pub(super) fn room(parts: &ScreenParts) -> Rect {
    let (top, list) = (parts.rule.y, parts.list);
    let above_last_lines = parts.status.y.saturating_sub(top);
    let most = if above_last_lines < LEAST_HEIGHT { parts.footer.bottom() - top } else { above_last_lines };
    let width = list.width.min(WIDTH);
    Rect { x: list.x + (list.width - width) / 2, y: top, width, height: most.min(HEIGHTS[HEIGHTS.len() - 1]) }
}

/// How high a dialog of so many lines is, where `most` is free; `exact`: no higher than they are.
pub(super) fn height_for(lines: usize, most: u16, exact: bool) -> u16 {
    if exact {
        return u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(AROUND).min(most);
    }
    let fits = |height: &u16| lines <= usize::from(height - AROUND);
    HEIGHTS.into_iter().find(fits).map_or(most, |height| height.min(most))
}

/// In the frame below the buttons: which key leaves the dialog, and which cluster it is about, where neither the header nor the line above the
/// footer says so.
pub(super) fn put_foot(ctx: &RenderContext<'_>, dialog: &Dialog, area: Rect, buffer: &mut Buffer) {
    if area.height <= 2 {
        return;
    }
    let escape = escape_of(dialog);
    let cells = width(&escape);
    let x = area.right().saturating_sub(u16::try_from(cells + 2).unwrap_or(0)).max(area.x + 1);
    put(buffer, x, area.bottom() - 1, &escape, cells, ctx.style(ThemeRole::Muted));
    if let Some(cluster) = unnamed_cluster(ctx, buffer.area.width) {
        // Behind it may stand which key shows more.
        let room = usize::from(area.width).saturating_sub(cells + 12);
        let cluster = format!(" {} ", fit_middle(&cluster, room));
        put(buffer, area.x + 2, area.bottom() - 1, &cluster, room + 2, ctx.style(ThemeRole::Title));
    }
}

/// What it does, and to how many nodes. In few cells how many nodes a step lets go stands there without the name of the form, which the
/// button has, too.
pub(super) fn title(dialog: &Dialog, cells: usize) -> String {
    let full = full_title(dialog);
    match full.split_once(": ").filter(|_| matches!(dialog.form, Form::Step(_))) {
        Some((_, said)) if width(&full) > cells => {
            let mut letters = said.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or(full)
        }
        _ => full,
    }
}

fn full_title(dialog: &Dialog) -> String {
    match &dialog.answer {
        PreviewState::Preview(preview) if begins_with(&preview.title, dialog.form.title()) => {
            format!("{}{}", dialog.form.title(), &preview.title[dialog.form.title().len()..])
        }
        PreviewState::Preview(preview) if says_more(&preview.title, &dialog.form) => {
            // Both name the command: what stands behind it is said once.
            let said = match dialog.form {
                Form::Canary(_) => preview.title.split_once(": ").map_or(&*preview.title, |(_, nodes)| nodes),
                _ => &preview.title,
            };
            format!("{}: {said}", dialog.form.title())
        }
        _ => dialog.form.title().to_owned(),
    }
}

/// Whether `text` begins with `start`, in upper or lower case.
fn begins_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Whether a preview's title says more than the form's own words.
fn says_more(title: &str, form: &Form) -> bool {
    // Form and preview both name it.
    let is_resume = matches!(form, Form::Plain { command: Command::Resume, .. }) && title.starts_with("Resume");
    !is_resume && !title.eq_ignore_ascii_case(form.verb()) && !title.eq_ignore_ascii_case(form.title())
}
