//! The help: all actions, the meaning of the signs and of the columns. It is derived from the tables of actions and columns.
//!
//! ```text
//! ┌ Help  (j k, / finds, esc closes) ───────────────────────────────────────────┐
//! │ Change the rollout (capital letters; read-only until armed)                 │
//! │  P B       :pause why         start no update from now on …                 │
//! │  S         :step …            let more nodes be updated …                   │
//! │              not now: no rollout is recorded: I sets a new image, U rolls back      │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::node_page::marked;
use super::overlay_frame::OverlayFrame;
use super::{RenderContext, footer, put, put_lines};
use crate::engine::model::node::NodeState;
use crate::engine::model::quantity::counted;
use crate::tui::action::{ACTIONS, Action, ActionId, Group, bound, keys_of};
use crate::tui::columns::Column;
use crate::tui::columns::fleet::FLEET_COLUMNS;
use crate::tui::columns::nodes::{NODE_COLUMNS, Sort};
use crate::tui::dialog;
use crate::tui::key::Key;
use crate::tui::log_pane::contains;
use crate::tui::model::{HelpFind, Model, Page};
use crate::tui::terminal;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{width, wrap};

/// The width of the names of the actions; a longer name has a line of its own.
const NAMES: usize = 24;
/// The same width if there is much room.
const WIDE_NAMES: usize = 38;
/// The width of the keys.
const KEYS: usize = 13;
/// The width below which the keys have less room, and the text of an action with long keys begins on the next line.
const NARROW: usize = 60;
const NARROW_KEYS: usize = 6;

/// Draws the help over everything but the first line and the last.
pub(super) fn draw(
    ctx: &RenderContext<'_>,
    area: Rect,
    top: usize,
    find: &HelpFind,
    buffer: &mut Buffer,
) -> Option<Position> {
    let frame = frame(area);
    let lines = lines(ctx, OverlayFrame::cells(area, u16::MAX), usize::from(area.width));
    // The last line is the search.
    let searches = find.prompt.is_some() || !find.text.is_empty();
    let seen = usize::from(frame.inside().height).saturating_sub(usize::from(searches));
    let first = top.min(lines.len().saturating_sub(seen));
    let title = match lines.len() > seen {
        true => format!("Help {} lines {}-{} of {}", ctx.glyph(Glyph::Dot), first + 1, first + seen, lines.len()),
        false => "Help".to_owned(),
    };
    let mut inside = frame.put(ctx, buffer, &title, "  (j k, / finds, esc closes)");
    let mut cursor = None;
    if (find.prompt.is_some() || !find.text.is_empty()) && inside.height > 2 {
        inside.height -= 1;
        let line = Rect { y: inside.bottom(), height: 1, ..inside };
        match &find.prompt {
            Some(prompt) => cursor = Some(footer::draw_prompt(buffer, line, "/", prompt)),
            None => {
                let number = lines.iter().filter(|line| contains(&line.to_string(), &find.text)).count();
                let number = counted(number, "line");
                let words = format!("`{}` is in {number}; n the next, N the one before, esc ends", find.text);
                put(buffer, line.x, line.y, &words, usize::from(line.width), ctx.style(ThemeRole::Muted));
            }
        }
    }
    let top = top.min(lines.len().saturating_sub(usize::from(inside.height)));
    let seen: Vec<Line<'static>> =
        lines[top..].iter().take(usize::from(inside.height)).map(|line| marked(line, &find.text)).collect();
    put_lines(buffer, inside, &seen);
    cursor
}

/// The last line that can be the first visible one.
pub(super) fn end(ctx: &RenderContext<'_>, area: Rect, find: &HelpFind) -> usize {
    let lines = lines(ctx, OverlayFrame::cells(area, u16::MAX), usize::from(area.width));
    // The last line is the search.
    let searches = find.prompt.is_some() || !find.text.is_empty();
    let seen = usize::from(frame(area).inside().height).saturating_sub(usize::from(searches));
    lines.len().saturating_sub(seen)
}

/// The frame, as large as the screen allows.
fn frame(area: Rect) -> OverlayFrame {
    OverlayFrame::of(area, u16::MAX, usize::from(area.height))
}

/// The lines of the help as it is shown, for a search.
pub(crate) fn help_lines(model: &Model) -> Vec<String> {
    let ctx = RenderContext::new(model);
    let area = terminal::area(model.size);
    lines(&ctx, OverlayFrame::cells(area, u16::MAX), usize::from(area.width)).iter().map(ToString::to_string).collect()
}

fn lines(ctx: &RenderContext<'_>, cells: usize, screen: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(status) = footer::status_in_full(ctx, screen) {
        lines.push(Line::from(ctx.span("Last message", ThemeRole::Title)));
        lines.extend(wrap(&status, cells).map(|line| Line::from(ctx.span(line, ThemeRole::Text))));
        lines.push(Line::default());
    }
    for (group, title) in Group::ALL {
        let actions: Vec<_> =
            ACTIONS.iter().filter(|action| action.group == group && action.in_scope(ctx.model)).collect();
        if actions.is_empty() {
            continue;
        }
        let title = match (group, ctx.model.armed_for()) {
            (Group::Change, None) => format!("{title}: A arms; P works at once"),
            _ => title.to_owned(),
        };
        lines.extend(wrap(&title, cells).map(|line| Line::from(ctx.span(line, ThemeRole::Title))));
        let mut said = None;
        for action in actions {
            lines.extend(entry(ctx, action, cells, &mut said));
        }
        lines.push(Line::default());
    }
    lines.extend(dialog_keys(ctx, cells));
    lines.push(Line::default());
    lines.push(Line::from(ctx.span("Signs", ThemeRole::Title)));
    for (glyph, role, meaning) in
        Glyph::ALL.iter().filter_map(|glyph| legend(*glyph).map(|(role, it)| (glyph, role, it)))
    {
        let mut words = wrap(meaning, cells.saturating_sub(4));
        let first = words.next().unwrap_or_default();
        let sign = ctx.span(format!(" {}  ", ctx.glyph(*glyph)), role);
        lines.push(Line::from(vec![sign, ctx.span(first, ThemeRole::Text)]));
        lines.extend(words.map(|more| Line::from(ctx.span(format!("    {more}"), ThemeRole::Text))));
    }
    lines.push(Line::default());
    lines.push(Line::from(ctx.span("States of nodes", ThemeRole::Title)));
    for state in STATES {
        lines.extend(told(ctx, &state.to_string(), 12, meaning(state), cells));
    }
    lines.extend(told(
        ctx,
        "suspect",
        12,
        "its node went down after its update; it counts as failed if it stays down",
        cells,
    ));
    lines.push(Line::default());
    lines.push(Line::from(ctx.span("Words above the list", ThemeRole::Title)));
    for (written, meaning) in ABOVE {
        lines.extend(told(ctx, written, 22, meaning, cells));
    }
    lines.push(Line::default());
    lines.push(Line::from(ctx.span("Filters: what / takes", ThemeRole::Title)));
    for (written, meaning) in FILTERS {
        lines.extend(told(ctx, written, 22, meaning, cells));
    }
    lines.push(Line::default());
    lines.push(Line::from(ctx.span("Columns", ThemeRole::Title)));
    match &ctx.model.page {
        Page::Fleet => lines.extend(columns(ctx, FLEET_COLUMNS, cells)),
        Page::Rollout(_) => lines.extend(columns(ctx, NODE_COLUMNS, cells)),
    }
    lines
}

/// The keys in a dialog.
fn dialog_keys(ctx: &RenderContext<'_>, cells: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(ctx.span("In a dialog", ThemeRole::Title))];
    for (keys, what) in dialog::KEYS {
        let mut words = wrap(what, cells.saturating_sub(15));
        let head = ctx.span(format!(" {keys:13} "), ThemeRole::Key);
        lines.push(Line::from(vec![head, ctx.span(words.next().unwrap_or_default(), ThemeRole::Text)]));
        lines.extend(words.map(|more| Line::from(ctx.span(format!("{:15}{more}", ""), ThemeRole::Text))));
    }
    lines
}

/// The meaning of a sign, and its usual colour; `None` for signs that only draw lines.
fn legend(glyph: Glyph) -> Option<(ThemeRole, &'static str)> {
    Some(match glyph {
        Glyph::Updated => (ThemeRole::Ok, "updated; of a DaemonSet: idle; of a message: it is done"),
        Glyph::Moving => (ThemeRole::Busy, "moving: terminating, creating, pulling, starting, soaking"),
        Glyph::Struggling => (
            ThemeRole::Warn,
            "in trouble, and not failed yet, such as a crash loop or an image that is pulled again; WHY says in which",
        ),
        Glyph::Outdated => {
            (ThemeRole::Held, "outdated, held; WHY says by what; of a DaemonSet: held, nobody drives, or not known")
        }
        Glyph::Failed => (ThemeRole::Bad, "failed at the new revision; of a DaemonSet: halted"),
        Glyph::Down => (ThemeRole::Warn, "node down with its old pod, not by the rollout; of a DaemonSet: degraded"),
        Glyph::Suspect => {
            (ThemeRole::Bad, "suspect: its node went down after its update, or while its pod was replaced")
        }
        Glyph::Ineligible => (ThemeRole::Muted, "not eligible: it should not run the pod"),
        Glyph::Paused => (
            ThemeRole::Warn,
            "paused; of a node: outdated and cordoned; of a DaemonSet: also where others changed its template, or its release waits",
        ),
        Glyph::Running => (ThemeRole::Ok, "running"),
        Glyph::ImagePresent => (
            ThemeRole::Text,
            "image is on the node: the target's (not what its pod runs, if that is another one); under WARM, and in pre-warming, that which is pre-warmed",
        ),
        Glyph::ImagePulling => (ThemeRole::Busy, "image is being pulled"),
        Glyph::ImageQueued => (ThemeRole::Busy, "image is pre-warmed: its kubelet has not begun to pull"),
        Glyph::ImageFailed => (ThemeRole::Bad, "image could not be pulled; of a node: the one that its update needs"),
        Glyph::ImageAbsent => (
            ThemeRole::Muted,
            "the target's image is not on the node: an update pulls it; of what its pod runs, this says nothing",
        ),
        Glyph::ImageUnknown => (ThemeRole::Muted, "not known whether the image is there"),
        Glyph::BarDone => (ThemeRole::BarDone, "in bars: updated, or pre-warmed"),
        Glyph::BarMoving => (ThemeRole::BarMoving, "in bars: moving, or being pulled"),
        Glyph::BarRest => (ThemeRole::BarRest, "in bars: the rest"),
        Glyph::Cursor => (
            ThemeRole::Text,
            "the selected row: the first one, until you move; then the one that you moved to, wherever it goes",
        ),
        Glyph::Marked => (ThemeRole::Key, "a node that you have marked (space)"),
        Glyph::Arrow => (ThemeRole::Text, "from the revision or image before to the one now"),
        Glyph::Alarm => (ThemeRole::Alarm, "an alarm: it needs somebody now"),
        Glyph::Ascending => (ThemeRole::Text, "sorted upwards; there is more above"),
        Glyph::Descending => (ThemeRole::Text, "sorted downwards; there is more below"),
        Glyph::Folded => (ThemeRole::Text, "a group of nodes that is folded; enter opens it"),
        Glyph::Unfolded => (ThemeRole::Text, "a group of nodes that is open"),
        Glyph::Dot
        | Glyph::Rule
        | Glyph::Side
        | Glyph::CornerTopLeft
        | Glyph::CornerTopRight
        | Glyph::CornerBottomLeft
        | Glyph::CornerBottomRight => return None,
    })
}

/// The meanings of the short texts of the header.
const ABOVE: [(&str, &str); 11] = [
    (
        "began 4m ago",
        "the rollout to this target, when its image was set or rolldeck took it over; not its present step",
    ),
    (
        "ada@host/pts-4-pid4711-1f00c3a9.1",
        "who drives: a user on a machine, and behind the slash one process there, so that two consoles of one user are told apart: its terminal \
         (where it has one), its process id, and digits that make it unique; .1, .2: one more rollout that this process has opened",
    ),
    (
        "API 280 ms",
        "how long the API server takes to answer, from 200 ms on: by the last renewals of the lease while this console drives, of which a single slow \
         one does not count; of a console that looks, by its last requests, and for a minute after them only. `w` says it below 200 ms, too",
    ),
    ("p50, p95", "times of pulls and starts in this rollout: half of the nodes took p50 at most, 19 of 20 p95 at most"),
    ("1.1/min", "nodes updated in a minute; the bars before it are the last minutes"),
    ("all in ~45–57m", "from what was seen in this rollout; `or more` where no node of some sites is measured yet"),
    (
        "est. 66%",
        "under TARGET IMG: estimated, as kubelets do not tell how far a pull is. The pull has run for 66% of the time that half of the finished \
         pulls of this image took at most; the page of the node says how many those are",
    ),
    (
        "late, 6×",
        "under TARGET IMG, instead of the estimate: the pull takes longer than half of those before it; so many times as long, once that is much",
    ),
    (
        "(ada@host), reported",
        "in the timeline: the rollout did it by itself, in a process of this user; `reported`: known from an Event only, which whoever may \
         write Events can claim",
    ),
    (
        "2 misscheduled",
        "pods on nodes that should not run them, or that are down: its controller does not count these nodes among those that are desired, so \
         DaemonSets differ in how many they have",
    ),
    (
        "+ 3 by themselves",
        "down, and not by the rollout: since before it, or with the old pod; not charged to the budget",
    ),
];

const STATES: [NodeState; 12] = [
    NodeState::Failed,
    NodeState::NodeDown,
    NodeState::Terminating,
    NodeState::Creating,
    NodeState::Pulling,
    NodeState::PullFailed,
    NodeState::Starting,
    NodeState::Soaking,
    NodeState::Outdated,
    NodeState::Updated,
    NodeState::Unknown,
    NodeState::Ineligible,
];

fn meaning(state: NodeState) -> &'static str {
    match state {
        NodeState::Failed => "its pod failed at the target revision, or its node went down after the update and counts",
        NodeState::NodeDown => "the node is not Ready; suspect: since after its update",
        NodeState::Terminating => "its old pod is going",
        NodeState::Creating => "it has no pod yet, or one that is not bound",
        NodeState::Pulling => "its pod's image is being pulled",
        NodeState::PullFailed => "the pull failed, its kubelet tries again",
        NodeState::Starting => "its containers start",
        NodeState::Soaking => "its pod is ready, but not for long enough to count as available",
        NodeState::Outdated => "its pod is at another revision than the target",
        NodeState::Updated => "its pod is at the target revision and available",
        NodeState::Unknown => "pods may not be read: how it is is not known",
        NodeState::Ineligible => "it should not run the pod",
    }
}

/// The forms of a filter; [`crate::tui::filter`] reads them.
const FILTERS: [(&str, &str); 8] = [
    ("failed \"not found\"", "all of them, each in any column that shows text; quotes keep blanks"),
    ("!pulling !state=failed", "! negates whatever follows it"),
    ("state=failed why!=pull", "the column contains this, or does not"),
    ("name==ipc-*7", "it is exactly this; * stands for any characters"),
    ("rst>0 for<5m", "numbers, and times with a unit (s m h d): = != > >= < <="),
    ("zone=munich", "a label of the node, by its key or by what follows the / of its key"),
    ("/ipc-0[12]/ why~oom|exit", "regular expressions, of any column or of one"),
    ("-l line in (a,b)", "a label selector as kubectl has it, alone"),
];

/// A text of the screen, and beside it its meaning.
fn told(ctx: &RenderContext<'_>, written: &str, most: usize, meaning: &str, cells: usize) -> Vec<Line<'static>> {
    let indent = most.max(width(written)) + 3;
    let mut words = wrap(meaning, cells.saturating_sub(indent));
    let first = words.next().unwrap_or_default();
    let gap = " ".repeat(indent - 1 - width(written));
    let head = vec![ctx.span(format!(" {written}{gap}"), ThemeRole::Key), ctx.span(first, ThemeRole::Text)];
    let more = words.map(|more| Line::from(ctx.span(format!("{:indent$}{more}", ""), ThemeRole::Text)));
    std::iter::once(Line::from(head)).chain(more).collect()
}

/// The meaning of each column of a table, and the name to sort by it.
fn columns<R, P: 'static, C>(ctx: &RenderContext<'_>, columns: &[Column<R, P, C>], cells: usize) -> Vec<Line<'static>> {
    let lines = columns.iter().map(|column| {
        let header = column.headers.join(", ");
        let sort = if column.order.is_some() { format!(" (:sort {})", column.name) } else { String::new() };
        told(ctx, &header, 10, &format!("{}{sort}", column.help), cells)
    });
    lines.flatten().collect()
}

/// One action: its keys, its name, its effect, and why it is not possible now. `said`: the reason shown in full for the action before; the same reason is not shown twice
/// in a row.
fn entry(
    ctx: &RenderContext<'_>,
    action: &'static Action,
    cells: usize,
    said: &mut Option<String>,
) -> Vec<Line<'static>> {
    let missing = action.available(ctx.model).err();
    let (key, role) = match missing {
        Some(_) => (ThemeRole::Unavailable, ThemeRole::Unavailable),
        None => (ThemeRole::Key, ThemeRole::Text),
    };
    // A key that has another effect on this screen is listed only with that effect.
    let is_its = |key: &Key| bound(ctx.model, *key).is_none_or(|bound| bound.id == action.id);
    let keys: Vec<String> =
        keys_of(ctx.model, action).iter().filter(|key| is_its(key)).map(ToString::to_string).collect();
    let argument = action.argument.map(|argument| format!(" {}", argument.hint)).unwrap_or_default();
    // Movements have keys only; narrow terminals have no room for names.
    let named = action.group != Group::Move && cells >= 70;
    let narrow = cells < NARROW;
    let (keys, name) = (keys.join(" "), format!(":{}{argument}", action.name));
    let keys_cells = if narrow { NARROW_KEYS } else { KEYS };
    let names = if cells >= 150 { WIDE_NAMES } else { NAMES };
    let indent = 2 + keys_cells + if named { names + 1 } else { 0 };
    let help = match action.id {
        ActionId::Sort => format!("{}: {}", action.help, Sort::all().map(Sort::name).collect::<Vec<_>>().join(", ")),
        _ => action.help.to_owned(),
    };
    let mut lines = Vec::new();
    // An action without a key is listed by its name.
    let mut first = if narrow && keys.is_empty() && action.group != Group::Move { name.clone() } else { keys };
    if width(&first) > keys_cells {
        let said = wrap(&first, cells.saturating_sub(1));
        lines.extend(said.map(|line| Line::from(ctx.span(format!(" {line}"), key))));
        first.clear();
    }
    // A name that is too long has a line of its own, so that the text keeps its order.
    let mut name = Some(name).filter(|_| named);
    if let Some(long) = name.take_if(|name| width(name) > names) {
        for text in wrap(&long, cells.saturating_sub(keys_cells + 2)) {
            let head = ctx.span(format!(" {:keys_cells$} ", std::mem::take(&mut first)), key);
            lines.push(Line::from(vec![head, ctx.span(text, role)]));
        }
    }
    for text in wrap(&help, cells.saturating_sub(indent)) {
        let mut line = vec![ctx.span(format!(" {:keys_cells$} ", std::mem::take(&mut first)), key)];
        if named {
            line.push(ctx.span(format!("{:names$} ", name.take().unwrap_or_default()), role));
        }
        line.push(ctx.span(text, role));
        lines.push(Line::from(line));
    }
    // The title of the group tells that the console is read-only.
    if let Some(why) = missing.filter(|why| !why.starts_with("read-only")) {
        let is_known = said.as_ref() == Some(&why);
        let why = if is_known { "not now, as above".to_owned() } else { format!("not now: {}", said.insert(why)) };
        let indent = keys_cells + 3;
        let why = wrap(&why, cells.saturating_sub(indent));
        lines.extend(why.map(|line| Line::from(ctx.span(format!("{:indent$}{line}", ""), ThemeRole::Warn))));
    }
    lines
}
