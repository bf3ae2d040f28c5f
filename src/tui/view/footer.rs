//! The last two lines: the result of the last command, and the actions that are possible now.
//!
//! ```text
//! ✓ ipc-agent: 60 of 120 nodes may be updated
//!  P pause  S step  N canary  U roll back  / filter  s sort  ? help  q quit    O adopt (dim: not now, and says why)
//! ```

mod message;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use self::message::draw_status;
pub(super) use self::message::status_height;
use super::{RenderContext, ScreenParts, Shape, fleet, header, node_list, put};
use crate::driver::DrivenBy;
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::record::Direction;
use crate::engine::model::step_ahead::NoStep;
use crate::engine::report::snapshot::{NodeView, Phase};
use crate::engine::report::trouble::TroubleKind;
use crate::tui::action::condition::{has_way_back, is_paused, prewarm_is_paused};
use crate::tui::action::{ACTIONS, Action, ActionId, ActionScope, Guard, bound, key_of, keys_of};
use crate::tui::dialog::form::Form;
use crate::tui::dialog::{Dialog, PreviewState};
use crate::tui::filter::last_part;
use crate::tui::model::{Model, Overlay, Page, RolloutPage, RolloutScreen};
use crate::tui::node_list::NodeGroup;
use crate::tui::palette;
use crate::tui::prompt::Prompt;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, width, wrap};

/// The cells between two actions.
const GAP: usize = 2;

/// Draws both lines, or the line being typed; `dialog_says_it`: without the message, which the dialog shows. Returns the
/// position of the text being typed.
pub(super) fn draw(
    ctx: &RenderContext<'_>,
    parts: &ScreenParts,
    dialog_says_it: bool,
    buffer: &mut Buffer,
) -> Option<Position> {
    match &ctx.model.overlay {
        Overlay::Palette(prompt) => {
            match prompt.completions() {
                [] => {
                    let (text, role) = match palette::outlook(ctx.model, prompt.text()) {
                        Ok(()) => (" enter runs it".to_owned(), ThemeRole::Muted),
                        Err(why) => (format!(" {why}"), ThemeRole::Warn),
                    };
                    say(ctx, buffer, parts.status, &text, role);
                }
                found => offer(ctx, buffer, parts.status, prompt, found.iter().map(|line| argument(line))),
            }
            Some(draw_prompt(buffer, parts.footer, ":", prompt))
        }
        Overlay::Filter(prompt) => {
            match &prompt.complaint {
                Some(why) => say(ctx, buffer, parts.status, &format!(" {why}"), ThemeRole::Warn),
                None if ctx.model.node_page().is_some() => {
                    let help = " text to find; enter keeps, esc clears; then n: the next one, N: the one before";
                    say(ctx, buffer, parts.status, help, ThemeRole::Muted);
                }
                None if !prompt.completions().is_empty() => {
                    let words = prompt.completions().iter().map(|whole| last_part(whole));
                    offer(ctx, buffer, parts.status, prompt, words);
                }
                None => {
                    let asks = match ctx.model.rollout().map(|page| &page.screen) {
                        Some(RolloutScreen::Timeline(_)) => "who=jane",
                        Some(RolloutScreen::Revisions(_)) => "image=v2",
                        Some(RolloutScreen::Prewarm(_)) => "state=failed zone=a",
                        Some(RolloutScreen::Nodes) => "state=failed rst>0 for<5m zone=a",
                        None => "state=halted avl<5",
                    };
                    let help = format!(" words !not {asks} /regex/   enter keeps, esc clears");
                    say(ctx, buffer, parts.status, &help, ThemeRole::Muted);
                }
            }
            Some(draw_prompt(buffer, parts.footer, "/", prompt))
        }
        Overlay::Dialog(dialog) => {
            // The dialog shows a refusal if it may cover this line.
            if !dialog_says_it {
                draw_status(ctx, buffer, parts);
            }
            say(ctx, buffer, parts.footer, &leaves_dialog(ctx, dialog), ThemeRole::Muted);
            None
        }
        Overlay::None
        | Overlay::Help { .. }
        | Overlay::Details { .. }
        | Overlay::Watches { .. }
        | Overlay::Diagnosis { .. } => {
            draw_status(ctx, buffer, parts);
            draw_actions(ctx, buffer, parts.footer);
            None
        }
    }
}

/// The key that leaves the dialog, and the state until then: letters are typed into its fields, so the keys of the page do not work.
fn leaves_dialog(ctx: &RenderContext<'_>, dialog: &Dialog) -> String {
    let model = ctx.model;
    let stays = "nothing is changed";
    if !matches!(model.page, Page::Rollout(_)) {
        return format!(" esc closes the dialog; {stays}");
    }
    let pause = key_of(model, ActionId::Pause.action());
    let then = match &dialog.form {
        _ if is_paused(model) => "it stays paused".to_owned(),
        _ if is_halted(model) => "it stays halted".to_owned(),
        Form::Pause { .. } => stays.to_owned(),
        _ if ActionId::Pause.action().available(model).is_err() => stays.to_owned(),
        // The reason of a refusal may name keys that help.
        _ if matches!(dialog.answer, PreviewState::Refused(_)) => {
            return format!(" esc closes the dialog; only then other keys work, and {pause} pauses");
        }
        _ => return format!(" esc closes the dialog, then {pause} pauses"),
    };
    match &dialog.answer {
        PreviewState::Refused(_) => " esc closes the dialog; only then other keys work".to_owned(),
        _ => format!(" esc closes the dialog; {then}"),
    }
}

/// The argument typed after the name of a command, else the name.
fn argument(line: &str) -> &str {
    line.split_once(' ').map_or(line, |(_, argument)| argument)
}

/// Shows the completions, with the one that tab has put into the line, and the number of those without room.
fn offer<'a>(
    ctx: &RenderContext<'_>,
    buffer: &mut Buffer,
    area: Rect,
    prompt: &Prompt,
    words: impl Iterator<Item = &'a str>,
) {
    let muted = |text: &str| ctx.span(text.to_owned(), ThemeRole::Muted);
    let mut spans = vec![muted(" tab:")];
    // The completion that is in the line stays visible.
    let first = prompt.chosen().map_or(0, |chosen| chosen.saturating_sub(2));
    let words: Vec<&str> = words.collect();
    if first > 0 {
        spans.push(muted(&format!("  {first} before")));
    }
    let mut left = usize::from(area.width).saturating_sub(spans.iter().map(|span| width(&span.content)).sum());
    for (at, word) in words.iter().enumerate().skip(first) {
        let rest = |behind: usize| if behind == 0 { String::new() } else { format!("  +{behind} more") };
        // At least one completion is shown; the last one is shown without a count behind it.
        let behind = rest(words.len() - at - 1);
        let word = fit(word, if at == first { left.saturating_sub(width(&behind) + 2).min(40) } else { 40 });
        if width(&word) + 2 + width(&behind) > left {
            spans.push(muted(&rest(words.len() - at)));
            break;
        }
        left -= width(&word) + 2;
        spans.push(muted("  "));
        let role = if prompt.chosen() == Some(at) { ThemeRole::Key } else { ThemeRole::Muted };
        spans.push(ctx.span(word.into_owned(), role));
    }
    buffer.set_line(area.x, area.y, &Line::from(spans), area.width);
}

fn say(ctx: &RenderContext<'_>, buffer: &mut Buffer, area: Rect, text: &str, role: ThemeRole) {
    put(buffer, area.x, area.y, text, usize::from(area.width), ctx.style(role));
}

pub(super) fn draw_prompt(buffer: &mut Buffer, area: Rect, sign: &str, prompt: &Prompt) -> Position {
    let room = usize::from(area.width.saturating_sub(2));
    let scroll = prompt.input.visual_scroll(room);
    let text: String = skip_cells(prompt.text(), scroll);
    put(buffer, area.x, area.y, sign, 1, ratatui::style::Style::default());
    let left = area.width.saturating_sub(1);
    if left > 0 {
        buffer.set_stringn(area.x + 1, area.y, &text, usize::from(left), ratatui::style::Style::default());
    }
    let column = prompt.input.visual_cursor().saturating_sub(scroll).min(room);
    Position::new(area.x + 1 + u16::try_from(column).unwrap_or(0), area.y)
}

/// `text` without its first `cells`.
pub(super) fn skip_cells(text: &str, cells: usize) -> String {
    let mut skipped = 0;
    text.chars()
        .skip_while(|c| {
            let skip = skipped < cells;
            skipped += width(c.encode_utf8(&mut [0; 4]));
            skip
        })
        .collect()
}

/// Context and namespace of a rollout, if the header is too narrow for them.
pub(super) fn unnamed_cluster(ctx: &RenderContext<'_>, cells: u16) -> Option<String> {
    let Page::Rollout(target) = &ctx.model.page else { return None };
    // The name of a protected context has a line of its own.
    let is_named = cells >= header::NAMES_CLUSTER || ctx.model.protected;
    (!is_named).then(|| {
        let context = fit_middle(&ctx.model.context, usize::from(cells) / 2);
        let both = format!("{context}/{}", target.namespace);
        // Beside a message, the cluster goes before its namespace.
        let is_too_wide = ctx.model.status.is_some() && width(&both) > usize::from(cells) / 2;
        if is_too_wide { context.into_owned() } else { both }
    })
}

/// Tells that the list is frozen or filtered. `None` if it is neither, or if the rule above the list tells it.
fn list_mark(ctx: &RenderContext<'_>, cells: usize) -> Option<String> {
    if Shape::of(ctx.model) > Shape::Folded || ctx.model.node_page().is_some() {
        return None;
    }
    let dot = ctx.glyph(Glyph::Dot);
    let page = ctx.model.rollout().filter(|_| lists_nodes(ctx.model));
    let frozen = page.map(|page| node_list::frozen_since(ctx, page)).unwrap_or_default();
    let Some(filter) = ctx.model.filter().filter(|filter| !filter.is_all()) else {
        return (!frozen.is_empty()).then(|| format!(" {frozen}"));
    };
    let selected = fleet::name_in_full(ctx, u16::try_from(cells).unwrap_or(u16::MAX));
    let selected = selected.map(|name| format!("{} {dot} ", fit_middle(&name, cells.saturating_sub(16))));
    // The number of hidden nodes in trouble is never left out; the word `frozen` has precedence over the key that ends the freeze.
    let hidden = page.map(|page| page.hidden.to_string()).unwrap_or_default();
    let frozen = frozen.split(" (").next().unwrap_or_default().to_owned();
    let parts: Vec<String> = [frozen, hidden].into_iter().filter(|part| !part.is_empty()).collect();
    let before: String = parts.into_iter().map(|part| format!("{part} {dot} ")).collect();
    let before = selected.unwrap_or(before);
    let full = format!(" {before}filter {} (esc clears)", filter.text());
    let room = cells.saturating_sub(if before.is_empty() { 22 } else { width(&before) + 8 });
    let short = format!(" {before}filter {}", fit(filter.text(), room));
    // The text before the filter has precedence over the key that clears the filter.
    Some(match before.is_empty() {
        _ if width(&full) <= cells => full,
        true => format!("{short} (esc clears)"),
        false => short,
    })
}

/// The place behind all actions of the last line.
const LAST: u8 = u8::MAX;

fn draw_actions(ctx: &RenderContext<'_>, buffer: &mut Buffer, area: Rect) {
    let model = ctx.model;
    // Possible actions come first, then those that are possible once armed, then the rest.
    let mut actions: Vec<(&'static Action, u8)> = Vec::new();
    for action in ACTIONS.iter().filter(|action| action.footer.is_some() && is_for_here(model, action)) {
        let rank = match action.available(model) {
            Ok(()) if moves_nothing(model, action) => 1,
            Ok(()) => 0,
            Err(_) => 1 + u8::from((action.when)(model).is_err()),
        };
        // What is not permitted stays so, armed or not: only the help lists it.
        if action.permitted(model).is_err() {
            continue;
        }
        // While nothing is under way, most actions of a rollout are refused: only the help lists them.
        if rank > 1 && is_idle(model) {
            continue;
        }
        // Two actions that share a place exclude each other.
        match actions.iter_mut().find(|(other, _)| other.footer == action.footer) {
            Some(place) if rank < place.1 => *place = (action, rank),
            Some(_) => {}
            None => actions.push((action, rank)),
        }
    }
    let fails = something_fails(model);
    // What only this screen has comes first; and the way to that screen is not left out while there is something to see on it.
    let place = |action: &Action| match action.id {
        _ if (action.looks)(model) => Some(1),
        // A paused rollout is not urgent.
        ActionId::Pause if is_paused(model) => Some(13),
        ActionId::Prewarm if begins_prewarm(model) => Some(1),
        ActionId::Open if lists_prewarm(model) => ActionId::PausePrewarm.action().footer,
        // Users open the selected row more often than they set a selector.
        ActionId::Open => Some(4),
        // An action that ends a failure has precedence over one that makes more failures, even if there is room for only one of them.
        ActionId::Arm if fails && model.armed_for().is_some() => ActionId::Undo.action().footer,
        ActionId::Undo if fails => ActionId::Resume.action().footer,
        // This action begins a rollout where none is under way: there is nothing to roll back yet.
        ActionId::Image if is_idle(model) => Some(1),
        // This action ends a rollout that is done.
        ActionId::Release if is_done(model) => Some(2),
        // To stop driving needs no arming, and is no reason to hide what a reader looks for.
        ActionId::Drive if model.armed_for().is_none() && action.available(model).is_ok() => Some(LAST),
        // Every console has these two keys.
        ActionId::Back | ActionId::Quit if lists_nodes(model) && model.node_page().is_none() => Some(27),
        _ => action.footer,
    };
    let named = named_by_header(model);
    // An action that moves a standing rollout ranks as possible on every screen, even if it has to be armed first.
    let is_first_here =
        |action: &Action| moves_on(model, action) || is_named_here(model, action) || named.contains(&action.id);
    let rank_here = |action: &Action, rank: u8| if rank == 1 && is_first_here(action) { 0 } else { rank };
    let is_on_node = model.node_page().is_some();
    let order = |(action, rank): &(&'static Action, u8)| {
        // The page of a node has many actions of its own: the actions that continue or take back a halted rollout come first there too.
        let ends_the_halt = is_on_node && moves_on(model, action) && is_halted(model) && *rank < 2;
        let is_first = is_of_this_screen(model, action) || ends_the_halt || named.contains(&action.id);
        (rank_here(action, *rank), !is_first, place(action))
    };
    actions.sort_by_key(order);
    let mut spans = vec![Span::raw(" ")];
    // The gap behind the last action may be beyond the edge.
    let mut left = usize::from(area.width) + GAP - 1;
    // Help leads to all other actions: it is always shown.
    let mut take = |id: ActionId| actions.iter().position(|(action, _)| action.id == id).map(|at| actions.remove(at));
    let help = take(ActionId::Help);
    // So is the key that leaves what covers the list.
    let back = if covers_the_list(model) { take(ActionId::Back) } else { None };
    // Where lines are short and the rollout is halted, the page of a node needs the room for the keys that end the halt.
    let is_brief = back.is_some() && is_on_node && is_halted(model) && Shape::of(model) <= Shape::Folded;
    let words = |action: &'static Action| match action.id {
        ActionId::Back | ActionId::Help if is_brief => String::new(),
        _ => format!(" {}", label(ctx, action)),
    };
    let cells = |action: &'static Action| width(&key_of(model, action)) + width(&words(action)) + GAP;
    let reserved: usize = back.iter().chain(&help).map(|(action, _)| cells(action)).sum();
    left = left.saturating_sub(reserved);
    let fit_into = |actions: &[(&'static Action, u8)], mut left: usize| -> Vec<(&'static Action, u8)> {
        let fits = |(action, _): &&(&'static Action, u8)| {
            let fits = cells(action) <= left;
            left = left.saturating_sub(if fits { cells(action) } else { 0 });
            fits
        };
        actions.iter().filter(fits).copied().collect()
    };
    let mut fitting = fit_into(&actions, left);
    // Some key that leaves is always shown: where there is room for none, the one that ends the console takes it, without its word where that
    // leaves room for one key more.
    let leaves = |(action, _): &(&'static Action, u8)| matches!(action.id, ActionId::Back | ActionId::Quit);
    let at = actions.iter().position(|(action, _)| action.id == ActionId::Quit);
    let quit = at.filter(|_| back.is_none() && !fitting.iter().any(leaves)).map(|at| actions.remove(at));
    let mut quits_in_words = true;
    if let Some((action, _)) = quit {
        let usual: Vec<ActionId> = fitting.iter().map(|(action, _)| action.id).collect();
        let kept = |fitting: &[(&Action, u8)]| fitting.iter().filter(|(it, _)| usual.contains(&it.id)).count();
        let bare = fit_into(&actions, left.saturating_sub(width(&key_of(model, action)) + GAP));
        let in_words = fit_into(&actions, left.saturating_sub(cells(action)));
        quits_in_words = kept(&in_words) >= kept(&bare);
        fitting = if quits_in_words { in_words } else { bare };
    }
    let (now, later): (Vec<_>, Vec<_>) = fitting.into_iter().partition(|(_, rank)| *rank == 0);
    for (action, rank) in now.into_iter().chain(later).chain(back).chain(quit).chain(help) {
        let (key, text) = if rank == 0 {
            (ThemeRole::Key, ThemeRole::Text)
        } else {
            (ThemeRole::Unavailable, ThemeRole::Unavailable)
        };
        let words = match action.id {
            ActionId::Quit if !quits_in_words => String::new(),
            _ => words(action),
        };
        spans.push(ctx.span(key_of(model, action), key));
        spans.push(ctx.span(format!("{words}  "), text));
    }
    buffer.set_line(area.x, area.y, &Line::from(spans), area.width);
}

/// Whether something that the key back leaves stands over the list of a page, or in its place.
fn covers_the_list(model: &Model) -> bool {
    let is_screen = |page: &RolloutPage| !page.lists_nodes() || page.map.is_open;
    !matches!(model.overlay, Overlay::None) || model.rollout().is_some_and(is_screen)
}

/// Whether the footer of the open page has a place for the action.
fn is_for_here(model: &Model, action: &'static Action) -> bool {
    // Other pages need the room for other actions.
    let of_revisions = matches!(action.id, ActionId::History | ActionId::Template);
    // On the list of all DaemonSets `esc` leads nowhere, but for what covers it.
    let leads_back =
        action.id != ActionId::Back || model.page != Page::Fleet || !matches!(model.overlay, Overlay::None);
    // A Pod with a single container has no other log.
    let shows_log = model.node_page().is_some_and(|page| page.tab.run().is_some());
    let leads_on = action.id != ActionId::NextContainer || !shows_log || (action.when)(model).is_ok();
    // On a screen of a rollout, an action of the screen may have the same key as an action of the rollout.
    let keys = keys_of(model, action);
    let is_reached =
        || keys.is_empty() || keys.iter().any(|key| bound(model, *key).is_some_and(|it| it.id == action.id));
    // Where nothing is pre-warmed, no row can be opened.
    let opens = action.id != ActionId::Open || !begins_prewarm(model);
    action.in_scope(model)
        && opens
        && (!of_revisions || lists_revisions(model))
        && leads_back
        && leads_on
        && is_reached()
}

/// Whether the filter applies to the list of nodes.
fn lists_nodes(model: &Model) -> bool {
    model.rollout().is_some_and(|page| matches!(page.screen, RolloutScreen::Nodes))
}

/// The group of nodes whose heading is the current row of the list.
fn current_heading(model: &Model) -> Option<&NodeGroup> {
    let page = model.rollout().filter(|page| page.lists_nodes() && !page.map.is_open)?;
    page.nodes.current_group()
}

/// Whether the list shows the nodes that are pre-warmed.
fn lists_prewarm(model: &Model) -> bool {
    model.rollout().is_some_and(|page| page.prewarm().is_some() && page.node_page.is_none())
}

/// Whether the screen of pre-warming is open and nothing is pre-warmed.
fn begins_prewarm(model: &Model) -> bool {
    lists_prewarm(model)
        && model.rollout().and_then(|page| page.snapshot()).is_some_and(|snapshot| snapshot.prewarm.is_none())
}

/// Whether the screen itself names the key: an empty screen of pre-warming does.
fn is_named_here(model: &Model, action: &Action) -> bool {
    action.id == ActionId::Prewarm && begins_prewarm(model)
}

/// The actions that the header above the list of nodes names: what helps with its alarms, and what moves a rollout that waits. Where lines are short,
/// the last line has them first, and leaves out others.
fn named_by_header(model: &Model) -> Vec<ActionId> {
    let above_nodes = lists_nodes(model) && model.node_page().is_none();
    let Some(snapshot) = model.rollout().and_then(|page| page.snapshot()).filter(|_| above_nodes) else {
        return Vec::new();
    };
    let alarmed = snapshot.alarms.iter().flat_map(|alarm| snapshot.remedies_of(alarm));
    let guided = snapshot.guidance().map(|guidance| guidance.remedies).unwrap_or_default();
    let mut named: Vec<ActionId> = alarmed.chain(guided).map(ActionId::of_remedy).collect();
    // The header names the key that arms before the first one that writes.
    let writes = named.iter().any(|id| matches!(id.action().guard, Guard::Write(_)));
    if writes && model.armed_for().is_none() {
        named.push(ActionId::Arm);
    }
    named
}

fn lists_events(model: &Model) -> bool {
    model.rollout().is_some_and(|page| page.timeline().is_some())
}

fn lists_revisions(model: &Model) -> bool {
    model.rollout().is_some_and(|page| page.revisions().is_some())
}

/// Whether the action makes this screen what it is.
fn is_of_this_screen(model: &Model, action: &Action) -> bool {
    // The pause is never left out.
    let pauses = action.id == ActionId::Pause && !is_paused(model);
    let of_revisions = matches!(action.id, ActionId::Open | ActionId::Template | ActionId::Mark);
    pauses
        || (lists_prewarm(model) && action.id == ActionId::Open)
        || is_named_here(model, action)
        || matches!(action.scope, ActionScope::Prewarm | ActionScope::Node)
        || (of_revisions && lists_revisions(model))
        || (action.id == ActionId::Open && lists_events(model) && Shape::of(model) <= Shape::Folded)
}

/// Whether the action continues or takes back a halted rollout, or continues a paused one.
fn moves_on(model: &Model, action: &Action) -> bool {
    match model.rollout().and_then(|page| page.snapshot()).map(|snapshot| &snapshot.phase) {
        Some(Phase::Halted) => matches!(action.id, ActionId::Resume | ActionId::Undo),
        Some(Phase::Paused(_)) => action.id == ActionId::Resume,
        _ => false,
    }
}

fn is_halted(model: &Model) -> bool {
    model.rollout().and_then(|page| page.snapshot()).is_some_and(|one| one.phase == Phase::Halted)
}

/// Whether nodes fail at the target, accepted by an operator or not. A rollout that goes back already needs no other way back.
fn something_fails(model: &Model) -> bool {
    let fails =
        |node: &NodeView| TroubleKind::of(node).is_some_and(|trouble| trouble.is_failure(node.counts_as_failed()));
    let snapshot = model.rollout().and_then(|page| page.snapshot());
    snapshot.is_some_and(|snapshot| snapshot.direction == Direction::Forward && snapshot.nodes.iter().any(fails))
}

/// Whether no rollout is under way, and the controller has nothing to roll either.
fn is_idle(model: &Model) -> bool {
    model.rollout().and_then(|page| page.snapshot()).is_some_and(|snapshot| snapshot.phase == Phase::Idle)
}

/// Whether the rollout is done, and its DaemonSet is not handed back yet.
fn is_done(model: &Model) -> bool {
    let snapshot = model.rollout().and_then(|page| page.snapshot());
    snapshot.is_some_and(|snapshot| snapshot.adopted && snapshot.phase == Phase::Complete)
}

/// Whether a step would move nothing now, or a roll back leads nowhere unless a revision is chosen: the dialog says why, and the footer shows the action
/// dim.
fn moves_nothing(model: &Model, action: &Action) -> bool {
    let snapshot = model.rollout().and_then(|page| page.snapshot());
    match action.id {
        ActionId::Step => snapshot.is_some_and(|snapshot| matches!(snapshot.plan.next, Some(Err(_)))),
        ActionId::Undo => !has_way_back(model),
        _ => false,
    }
}

/// Whether all selected nodes are updated, so that lifting the selector comes next.
fn selection_done(model: &Model) -> bool {
    let next = model.rollout().and_then(|page| page.snapshot()).and_then(|snapshot| snapshot.plan.next.as_ref());
    matches!(next, Some(Err(NoStep::SelectionDone(_))))
}

/// Whether a pause stops the DaemonSet's own controller.
fn rolled_by_its_controller(model: &Model) -> bool {
    if let (Page::Fleet, Some(fleet)) = (&model.page, &model.fleet) {
        let row = fleet.current_row();
        return row.is_some_and(|row| row.state == FleetState::Rolling && row.driven_by == DrivenBy::Controller);
    }
    let snapshot = model.rollout().and_then(|page| page.snapshot());
    snapshot.is_some_and(|snapshot| snapshot.phase == Phase::Native)
}

/// The action's label in the present state.
fn label(ctx: &RenderContext<'_>, action: &Action) -> &'static str {
    let model = ctx.model;
    let timeline = lists_events(model);
    let revisions = lists_revisions(model);
    match action.id {
        ActionId::Arm if model.armed_for().is_some() => "read-only",
        ActionId::Canary if selection_done(model) => "lift selector",
        ActionId::PausePrewarm if prewarm_is_paused(model) => "go on",
        ActionId::Prewarm if lists_prewarm(model) && !begins_prewarm(model) => "another",
        ActionId::History if revisions => "nodes",
        ActionId::Timeline if timeline && model.rollout().is_some_and(|page| page.map.is_open) => "map",
        ActionId::Timeline if timeline => "nodes",
        ActionId::Filter if model.node_page().is_some() => "find",
        ActionId::Open if let Some(page) = model.rollout() => match page.screen {
            RolloutScreen::Timeline(_) if Shape::of(model) <= Shape::Folded => "read",
            RolloutScreen::Timeline(_) => "in full",
            RolloutScreen::Revisions(_) => "diff",
            RolloutScreen::Nodes | RolloutScreen::Prewarm(_) => match current_heading(model) {
                Some(group) if group.is_open => "fold",
                Some(_) => "open",
                None => "node",
            },
        },
        ActionId::Drive if model.rollout().is_some_and(|page| page.driven_by_us()) => "stop driving",
        ActionId::Pause if is_paused(model) => "new reason",
        ActionId::Pause if rolled_by_its_controller(model) => "brake",
        _ => action.label,
    }
}

/// The whole message, for the help, if the status line cannot show it in full.
pub(super) fn status_in_full(ctx: &RenderContext<'_>, cells: usize) -> Option<String> {
    let status = ctx.model.status.as_ref()?;
    let is_cut = wrap(&status.text, cells.saturating_sub(2)).nth(2).is_some();
    (is_cut || ctx.model.size.width < 80).then(|| fit(&status.text, 2000).into_owned())
}
