//! The frame of a dialog: its place, its height, its title, and the cluster if nothing else names it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::footer::unnamed_cluster;
use super::super::{RenderContext, ScreenParts, put};
use super::buttons::escape_of;
use super::tune;
use crate::engine::model::command::Command;
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::dialog::{Dialog, Form, PreviewState};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, is_wider, width};

/// The width of a dialog, if there is room.
const WIDTH: u16 = 100;
/// The heights of a dialog, if there is room: the first one that its lines fit in is used.
const HEIGHTS: [u16; 5] = [8, 12, 18, 24, 30];
/// See [`Heights::Close`].
const CLOSE: usize = 3;
/// In fewer cells no title can be read.
const LEAST_TITLE: usize = 16;
/// In fewer cells no name can be read.
const LEAST_OF_CLUSTER: usize = 8;
/// The lines for the frame and the buttons.
const AROUND: u16 = 3;
/// If the height between the header and the last lines is less than this, the dialog covers those lines too.
pub(super) const LEAST_HEIGHT: u16 = 14;

/// The area in which a dialog may be drawn.
pub(super) fn room(parts: &ScreenParts) -> Rect {
    let (top, list) = (parts.rule.y, parts.list);
    let above_last_lines = parts.status.y.saturating_sub(top);
    let most = if above_last_lines < LEAST_HEIGHT { parts.footer.bottom() - top } else { above_last_lines };
    let width = list.width.min(WIDTH);
    Rect { x: list.x + (list.width - width) / 2, y: top, width, height: most.min(HEIGHTS[HEIGHTS.len() - 1]) }
}

/// Which heights a dialog has, so that it does not jump with every line of its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heights {
    /// One of [`HEIGHTS`].
    Few,
    /// A multiple of [`CLOSE`] lines, so that fewer lines than that are left empty.
    Close,
    /// As many lines as the text has.
    AsTheText,
}

/// The height of a dialog with this number of lines, where `most` lines are free.
pub(super) fn height_for(lines: usize, most: u16, heights: Heights) -> u16 {
    let around = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(AROUND).min(most);
    match heights {
        Heights::AsTheText => around(lines),
        Heights::Close => around(lines.next_multiple_of(CLOSE)),
        Heights::Few => {
            let fits = |height: &u16| lines <= usize::from(height - AROUND);
            HEIGHTS.into_iter().find(fits).map_or(most, |height| height.min(most))
        }
    }
}

/// Writes into the frame below the buttons the key that leaves the dialog, before it the `hints` that have no room elsewhere, and its
/// cluster if neither the header nor the line above the footer names it.
/// `names_target`: the whole target, which is nowhere else in the dialog.
pub(super) fn put_foot(
    ctx: &RenderContext<'_>,
    dialog: &Dialog,
    area: Rect,
    (hints, names_target): ([&str; 2], bool),
    buffer: &mut Buffer,
) {
    if area.height <= 2 {
        return;
    }
    let escape = escape_of(dialog);
    let hints = hints.into_iter().filter(|hint| !hint.is_empty()).map(|hint| format!(" {hint} "));
    let mut x = area.right().saturating_sub(1);
    for text in [escape].into_iter().chain(hints.collect::<Vec<_>>().into_iter().rev()) {
        let cells = width(&text);
        x = x.saturating_sub(u16::try_from(cells + 1).unwrap_or(0)).max(area.x + 1);
        put(buffer, x, area.bottom() - 1, &text, cells, ctx.style(ThemeRole::Muted));
    }
    let cluster = unnamed_cluster(ctx, buffer.area.width);
    if let Some(cluster) = cluster.or_else(|| names_target.then(|| target_of(ctx, dialog))) {
        let room = usize::from(x.saturating_sub(area.x + 5));
        if room < LEAST_OF_CLUSTER {
            return;
        }
        let cluster = format!(" {} ", fit_middle(&cluster, room));
        put(buffer, area.x + 2, area.bottom() - 1, &cluster, room + 2, ctx.style(ThemeRole::Title));
    }
}

/// `prod-eu · edge/ipc-agent`.
fn target_of(ctx: &RenderContext<'_>, dialog: &Dialog) -> String {
    let DaemonSetRef { namespace, name } = &dialog.target;
    format!("{} {} {namespace}/{name}", ctx.model.context, ctx.glyph(Glyph::Dot))
}

/// Writes into the frame beside the title what enter does.
pub(super) fn put_enter(ctx: &RenderContext<'_>, area: Rect, enter: &str, buffer: &mut Buffer) {
    let text = format!(" {enter} ");
    let cells = width(&text);
    let x = area.right().saturating_sub(u16::try_from(cells + 2).unwrap_or(0)).max(area.x + 1);
    put(buffer, x, area.y, &text, cells, ctx.style(ThemeRole::Muted));
}

/// The title in `cells`, and what of the words about `enter` stands beside it; empty if there is no room for them. For that the title may leave
/// out what the dialog says too, and the words what their keys do.
pub(super) fn title_beside<'e>(dialog: &Dialog, cells: usize, enter: &'e str) -> (String, &'e str) {
    let full = title(dialog, cells);
    if enter.is_empty() {
        return (full, "");
    }
    // Without `in total` the number would read as that of the nodes that are updated now, which the header has.
    let brief = full.replace(" nodes updated in total", " in total").replace(" node updated in total", " in total");
    let brief = brief.replace("to revision ", "to rev ");
    let keys = enter.strip_suffix(": do it").unwrap_or(enter);
    let ways = [(&full, enter), (&brief, enter), (&full, keys), (&brief, keys)];
    let fits = ways.iter().find(|(title, enter)| width(title) + width(enter) + 2 <= cells);
    let fits = fits.map(|(title, enter)| ((*title).clone(), *enter));
    // A title that is cut anyway is cut further; any title is before the words are left out, or stand in the place of the cluster's name.
    let cut = |title: &str, words: &'e str| {
        let room = cells.saturating_sub(width(words) + 2);
        (room >= LEAST_TITLE).then(|| (fit(title, room).into_owned(), words))
    };
    let is_cut_anyway = is_wider(&full, cells);
    let fits = fits.or_else(|| cut(&full, enter).filter(|_| is_cut_anyway)).or_else(|| cut(&brief, keys));
    fits.unwrap_or((full, ""))
}

/// The command, and its number of nodes. In few cells the title is the number of nodes that a step lets go, without the name
/// of the form, which the button shows too.
fn title(dialog: &Dialog, cells: usize) -> String {
    let full = full_title(dialog, cells);
    match full.split_once(": ").filter(|_| matches!(dialog.form, Form::Step(_))) {
        Some((_, said)) if width(&full) > cells => {
            let mut letters = said.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or(full)
        }
        _ => full,
    }
}

fn full_title(dialog: &Dialog, cells: usize) -> String {
    if let Form::Tune(form) = &dialog.form
        && let Some(title) = tune::title(form, cells, dialog.title())
    {
        return title;
    }
    match &dialog.answer {
        PreviewState::Preview(preview) if begins_with(&preview.title, dialog.title()) => {
            format!("{}{}", dialog.title(), &preview.title[dialog.title().len()..])
        }
        PreviewState::Preview(preview) if says_more(&preview.title, &dialog.form) => {
            // Form and preview both name the command: it is shown once.
            let said = match dialog.form {
                Form::Canary(_) => preview.title.split_once(": ").map_or(&*preview.title, |(_, nodes)| nodes),
                _ => &preview.title,
            };
            format!("{}: {said}", dialog.title())
        }
        _ => dialog.title().to_owned(),
    }
}

/// Whether `text` begins with `start`, in upper or lower case.
fn begins_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Whether a preview's title adds something to the form's own words.
fn says_more(title: &str, form: &Form) -> bool {
    // Form and preview both name the command.
    let is_resume = matches!(form, Form::Plain { command: Command::Resume, .. }) && title.starts_with("Resume");
    let is_drive = matches!(form, Form::Plain { command: Command::Drive(_), .. });
    !is_resume && !is_drive && !title.eq_ignore_ascii_case(form.verb()) && !title.eq_ignore_ascii_case(form.title())
}
