//! The facts that need attention: what blocks the rollout, alarms with the keys that help, nodes in trouble, watches and clocks.

use ratatui::text::{Line, Span};

use super::super::{RenderContext, Shape, flow};
use super::{as_of, recorded, unsent};
use crate::engine::model::comparison::Comparison;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::gitops_owner::RevertTrigger;
use crate::engine::model::person_of;
use crate::engine::model::rollout_event::RolloutEventKind;
use crate::engine::report::guidance::Guidance;
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot, WatchView};
use crate::engine::report::trouble::TroubleKind;
use crate::engine::report::words::reason_of_pause;
use crate::tui::action::{ActionId, Guard};
use crate::tui::model::summary::{DownNodes, TroubleGroup};
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::notify::{self, TakenOver};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, width, wrap};

/// The least number of cells at which the key that rolls back names its revision.
const NAMES_REVISION: usize = 60;

/// The wait of the rollout, or who paused it and why, in a limited number of lines; and the keys of the remedies.
pub(in crate::tui::view) fn blocker(
    ctx: &RenderContext<'_>,
    shown: &ShownSnapshot,
    cells: usize,
    most: usize,
) -> Vec<Line<'static>> {
    let snapshot = &*shown.snapshot;
    let said = match &snapshot.phase {
        _ if snapshot.not_sent().is_some() => Some((unsent::meaning(snapshot), ThemeRole::Warn)),
        Phase::Held | Phase::Running if !snapshot.driver.is_driven() && snapshot.driver_stopped.is_some() => {
            let arms = if ctx.model.armed_for().is_none() { arm_first() } else { String::new() };
            Some((unsent::stopped(ctx, shown, &arms, cells), ThemeRole::Warn))
        }
        Phase::Preparing | Phase::Running | Phase::Releasing(_) => snapshot.waits.as_ref().map(|wait| {
            let at = wait.since().map_or(snapshot.at, |since| ctx.instant(shown, since));
            let words = Snapshot { at, ..Snapshot::clone(snapshot) }.waiting(wait).to_string();
            (format!("waits: {words}"), ThemeRole::Text)
        }),
        _ => None,
    };
    if let Some((words, role)) = said {
        let room = cells.saturating_sub(2);
        let said = wrapped(&words, room, most).into_iter();
        return said.map(|line| Line::from(vec![Span::raw(" "), ctx.span(line, role)])).collect();
    }
    // The cause of the halt is an alarm, which does not tell why the rollout is also paused.
    if let (Phase::Halted, Some(paused)) = (&snapshot.phase, &snapshot.paused) {
        let words = as_of(ctx, shown, paused.at).pause_in_words().filter(|_| paused.why.is_some());
        return warned(ctx, words.map(|words| wrapped(&words, cells.saturating_sub(2), most)).unwrap_or_default());
    }
    let since = match (&shown.snapshot.phase, &shown.snapshot.blocked) {
        (Phase::Paused(paused), _) => Some(paused.at),
        (Phase::Releasing(by), _) => Some(by.at),
        (_, Some(blocked)) => Some(blocked.since),
        _ => None,
    };
    let guided = match since {
        Some(since) => as_of(ctx, shown, since).guidance(),
        None => snapshot.guidance(),
    };
    let Some(Guidance { waits, remedies }) = guided else { return Vec::new() };
    let warn = matches!(shown.snapshot.phase, Phase::Paused(_)) || remedies.contains(&Remedy::Drive);
    let role = if warn { ThemeRole::Warn } else { ThemeRole::Text };
    let keys = keys_in_words(ctx, &remedies, |remedy| effect_of(snapshot, remedy, cells));
    let room = cells.saturating_sub(2);
    // The text of the wait may be cut, the keys may not: they get a line of their own if both do not fit. Nor is the reason
    // of a pause cut while there are lines for it.
    let together = if keys.is_empty() { waits.clone() } else { format!("{waits}   {keys}") };
    // The reason of a pause by rolldeck itself is an alarm, with the keys below it.
    let by_rolldeck = matches!(&snapshot.phase, Phase::Paused(paused) if paused.is_by_rolldeck());
    let said_by_alarm = by_rolldeck && !snapshot.alarms.is_empty();
    let lines = match width(&together) <= room {
        true => vec![together],
        false if said_by_alarm => wrapped(&waits, room, 1),
        false if keys.is_empty() => wrapped(&waits, room, most),
        false => with_keys(wrapped(&waits, room, most), &keys, room),
    };
    lines
        .into_iter()
        .map(|line| Line::from(vec![Span::raw(" "), ctx.span(fit(&line, room).into_owned(), role)]))
        .collect()
}

/// The person who paused the rollout, the reason, and the keys, for short lines: the line above tells since when.
pub(super) fn paused_briefly(
    ctx: &RenderContext<'_>,
    snapshot: &Snapshot,
    cells: usize,
    most: usize,
) -> Vec<Line<'static>> {
    let paused = match &snapshot.phase {
        Phase::Paused(paused) => Some(paused),
        // The line above tells that the rollout is also paused.
        Phase::Halted => snapshot.paused.as_ref().filter(|paused| paused.why.is_some()),
        _ => None,
    };
    // The reason of a pause by rolldeck itself is an alarm.
    let Some(paused) = paused.filter(|paused| snapshot.alarms.is_empty() || !paused.is_by_rolldeck()) else {
        return Vec::new();
    };
    let who = person_of(&paused.by);
    let who = who.split_once('@').map_or(who, |(name, _)| name);
    let room = cells.saturating_sub(2);
    // An alarm has keys of its own, and on a screen that has no row to spare the last line has to do.
    let remedies = snapshot.guidance().map(|guidance| guidance.remedies).unwrap_or_default();
    let keys = match most > 1 && snapshot.alarms.is_empty() {
        true => keys_in_words(ctx, &remedies, |remedy| effect_of(snapshot, remedy, cells)),
        false => String::new(),
    };
    let quoted = format!("paused by {who}{}", reason_of_pause(paused));
    let words = match &paused.why {
        // The keys have a line of their own: nothing stands behind the reason, and no cell is spent on marks.
        Some(why) if width(&quoted) + 3 + width(&keys) > room => format!("paused by {who}: {why}"),
        _ => quoted,
    };
    let lines = wrapped(&words, room, most);
    warned(ctx, with_keys(lines, &keys, room))
}

/// `words` in a limited number of lines of `cells`, the last one cut.
fn wrapped(words: &str, cells: usize, most: usize) -> Vec<String> {
    let mut wrapped = wrap(words, cells);
    let mut lines: Vec<String> = wrapped.by_ref().take(most).collect();
    if let (Some(last), Some(more)) = (lines.last_mut(), wrapped.next()) {
        *last = fit(&format!("{last} {more}"), cells).into_owned();
    }
    lines
}

/// The lines with the keys behind them, or below them.
fn with_keys(mut lines: Vec<String>, keys: &str, cells: usize) -> Vec<String> {
    match lines.last_mut() {
        _ if keys.is_empty() => {}
        Some(last) if width(last) + 3 + width(keys) <= cells => *last = format!("{last}   {keys}"),
        _ => lines.extend(lines_of_keys(keys, cells)),
    }
    lines
}

/// The keys, with three blanks between them, in as many lines as they need: no line ends within the words of a key.
fn lines_of_keys(keys: &str, cells: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for key in keys.split("   ") {
        match lines.last_mut() {
            Some(line) if width(line) + 3 + width(key) <= cells => *line = format!("{line}   {key}"),
            _ => lines.push(key.to_owned()),
        }
    }
    lines
}

fn warned(ctx: &RenderContext<'_>, lines: Vec<String>) -> Vec<Line<'static>> {
    lines.into_iter().map(|line| Line::from(vec![Span::raw(" "), ctx.span(line, ThemeRole::Warn)])).collect()
}

/// Somebody deleted the Lease by which this console drove, or took its record off or made that unreadable: that it drives no more, and the keys
/// that lead to driving again. Who did it is in no watch.
pub(super) fn record_lost(ctx: &RenderContext<'_>, shown: &ShownSnapshot, cells: usize) -> Option<Line<'static>> {
    let event = notify::record_lost(&shown.snapshot)?;
    let lost = match event.kind {
        RolloutEventKind::RecordRemoved => "Record taken off the Lease",
        RolloutEventKind::RecordUnreadable { .. } => "Record made unreadable",
        _ => "Lease deleted",
    };
    let arm = if ctx.model.armed_for().is_none() { arm_first() } else { String::new() };
    let (tune, drive) = (ActionId::Tune.key(), ActionId::Drive.key());
    let remedy = match shown.snapshot.lacks_its_record() {
        true => format!("{arm}{tune} begins a new record, then {drive} drives"),
        false => format!("{arm}{} begins a new rollout", ActionId::Image.key()),
    };
    let ago = ctx.age(shown, event.at);
    let texts = [
        format!("{lost} {ago} ago, by whom is not known; this console does not drive any more   {remedy}"),
        format!("{lost} {ago} ago: this console drives no more   {remedy}"),
        format!("{lost} {ago} ago; drives no more"),
    ];
    let room = cells.saturating_sub(2);
    let [full, short, least] = texts;
    let text = [full, short].into_iter().find(|text| width(text) <= room).unwrap_or(least);
    Some(Line::from(vec![Span::raw(" "), ctx.span(fit(&text, room).into_owned(), ThemeRole::Warn)]))
}

/// Somebody else drives a rollout that this console drove: who, from where, since when, and how to drive again.
pub(super) fn taken_over(ctx: &RenderContext<'_>, shown: &ShownSnapshot, cells: usize) -> Option<Line<'static>> {
    // If the other driver is lost, the line about the missing driver tells it.
    if matches!(shown.snapshot.driver, DriverView::Lost { .. }) {
        return None;
    }
    let TakenOver { by, at } = TakenOver::of(&shown.snapshot)?;
    let room = cells.saturating_sub(2);
    let is_narrow = room < 60;
    let who = match person_of(&by).split_once('@') {
        Some((name, _)) if is_narrow => name.to_owned(),
        Some((name, host)) => format!("{name} on {host}"),
        None => person_of(&by).to_owned(),
    };
    let key = ActionId::Drive.key();
    let arm = if ctx.model.armed_for().is_none() { arm_first() } else { String::new() };
    let remedy = if is_narrow { format!("  {key} takes back") } else { format!("   {arm}{key} takes it back") };
    let short = format!(" {} ago", ctx.age(shown, at));
    let since = format!("{short}; this console does not drive any more");
    // The key stays visible; words that the line above shows too are left out first.
    let words = |tail: &str| {
        let left = room.saturating_sub(width(tail) + width(&remedy));
        format!("{}{tail}{remedy}", fit(&format!("taken over by {who}"), left))
    };
    let long = width("taken over by ") + width(&who) + width(&since) + width(&remedy) <= room;
    let text = if long { words(&since) } else { words(&short) };
    Some(Line::from(vec![Span::raw(" "), ctx.span(fit(&text, room).into_owned(), ThemeRole::Warn)]))
}

/// The keys that move a waiting rollout: `S lets 2 nodes go, 2 in total`; `None` if only time moves it.
pub(super) fn next_keys(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Option<Line<'static>> {
    let remedies = snapshot.guidance().map(|guidance| guidance.remedies).filter(|remedies| !remedies.is_empty())?;
    let keys = keys_in_words(ctx, &remedies, |remedy| effect_of(snapshot, remedy, cells));
    let words =
        if width(&keys) + 2 <= cells { format!(" {keys}") } else { in_few_cells(ctx, snapshot, &remedies, cells) };
    Some(Line::from(ctx.span(words, ThemeRole::Text)))
}

/// The keys of `remedies`, each with the text of `does`: `S lets 2 nodes go   U rolls back`. While the console is read-only,
/// the key that arms stands before the first key that writes: `A arms: S lets 2 nodes go   U rolls back`.
pub(in crate::tui::view) fn keys_in_words(
    ctx: &RenderContext<'_>,
    remedies: &[Remedy],
    does: impl Fn(Remedy) -> String,
) -> String {
    keys(ctx, remedies, does).join("   ")
}

/// The same, one text for each remedy.
///
/// Two remedies are left out, because another remedy that is offered with them has the same key: `BackToTarget` (the dialog of a roll back lists the
/// target among its revisions) and `CancelPrewarm` (the pre-warming screen also cancels).
fn keys(ctx: &RenderContext<'_>, remedies: &[Remedy], does: impl Fn(Remedy) -> String) -> Vec<String> {
    let shown = |remedy: &&Remedy| !matches!(remedy, Remedy::BackToTarget { .. } | Remedy::CancelPrewarm);
    let remedies: Vec<Remedy> = remedies.iter().filter(shown).copied().collect();
    let read_only = ctx.model.armed_for().is_none();
    let writes = |remedy: &Remedy| matches!(ActionId::of_remedy(*remedy).action().guard, Guard::Write(_));
    let arms = remedies.iter().position(writes).filter(|_| read_only);
    let key = |(nth, remedy): (usize, &Remedy)| {
        let arm = if arms == Some(nth) { arm_first() } else { String::new() };
        format!("{arm}{} {}", key_of(*remedy), does(*remedy))
    };
    remedies.iter().enumerate().map(key).collect()
}

/// The text before a key that writes, while the console is read-only.
pub(super) fn arm_first() -> String {
    format!("{} arms: ", ActionId::Arm.key())
}

/// The key for a remedy.
fn key_of(remedy: Remedy) -> String {
    let key = ActionId::of_remedy(remedy).key();
    // The key of another screen works there only.
    match remedy {
        Remedy::RetryPrewarm | Remedy::ResumePrewarm => format!("{}, then {key}", ActionId::Prewarm.key()),
        _ => key,
    }
}

/// The tool that manages the DaemonSet and sets back changes by rolldeck.
pub(super) fn gitops_owner(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Option<Line<'static>> {
    let mut gitops_owners =
        snapshot.gitops_owners.iter().filter(|gitops_owner| gitops_owner.reverts == RevertTrigger::ByItself);
    // An alarm about the tool tells the same.
    let named = snapshot.alarms.iter().any(|alarm| alarm.suspend_hint().is_some());
    let gitops_owner = gitops_owners.next().filter(|_| !named && (snapshot.adopted || recorded(snapshot)))?;
    let more = match gitops_owners.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let words = format!("{gitops_owner}{more} sets this back {}", gitops_owner.when());
    Some(Line::from(vec![Span::raw(" "), ctx.span(fit(&words, cells.saturating_sub(2)), ThemeRole::Muted)]))
}

/// The alarms, with the keys that help.
pub(super) fn alarms(ctx: &RenderContext<'_>, shape: Shape, snapshot: &Snapshot, cells: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for alarm in snapshot.alarms.iter().take(3) {
        let words = alarm.to_string();
        // Where lines are short, the halt is not mentioned twice, and the cause has precedence over the threshold.
        let words = match alarm {
            Alarm::Halted { .. } | Alarm::HaltWaits { .. } if shape == Shape::Folded => {
                without_threshold(words.trim_start_matches("halted: "))
            }
            Alarm::Cascade { down, max_unavailable, .. } if shape == Shape::Folded => {
                format!("losing nodes: {down} down, {max_unavailable} may be")
            }
            _ => words,
        };
        let text = format!("{} {words}", ctx.glyph(Glyph::Alarm));
        let hint = hint(ctx, shape, snapshot, &snapshot.remedies_of(alarm), cells);
        // With room for two lines, the second has the keys.
        let words = if shape == Shape::Folded && !hint.is_empty() { 1 } else { 2 };
        for line in wrapped(&text, cells.saturating_sub(2), words) {
            lines.push(Line::from(ctx.span(format!(" {line} "), ThemeRole::Alarm)));
        }
        lines.extend(hint);
        if let Some(suspend_hint) = alarm.suspend_hint() {
            let text = format!("   suspend it: {suspend_hint}");
            lines.push(Line::from(ctx.span(fit(&text, cells).into_owned(), ThemeRole::Text)));
        }
    }
    if let more @ 1.. = snapshot.alarms.len().saturating_sub(3) {
        lines.push(Line::from(ctx.span(format!(" and {more} more alarms"), ThemeRole::Bad)));
    }
    lines
}

/// `1 of 120 nodes failed: image not found on ipc-017`, without the threshold, which the gates show.
fn without_threshold(words: &str) -> String {
    let told = |from: usize| Some((from, from + words[from..].find("): ")? + 1));
    match words.find(" (threshold ").and_then(told) {
        Some((from, to)) => format!("{}{}", &words[..from], &words[to..]),
        None => words.to_owned(),
    }
}

/// The keys that help with an alarm, each with its effect: lines end between them. Where lines are few, the keys have one.
fn hint(
    ctx: &RenderContext<'_>,
    shape: Shape,
    snapshot: &Snapshot,
    remedies: &[Remedy],
    cells: usize,
) -> Vec<Line<'static>> {
    if shape == Shape::Folded && !remedies.is_empty() {
        return vec![Line::from(ctx.span(in_few_cells(ctx, snapshot, remedies, cells), ThemeRole::Text))];
    }
    let words = keys(ctx, remedies, |remedy| key_does(snapshot, remedy)).into_iter();
    let words = words.map(|key| vec![ctx.span(fit(&key, cells.saturating_sub(3)).into_owned(), ThemeRole::Text)]);
    flow(words.collect(), "   ", "   ", cells)
}

/// The keys in one short line: none is cut, and those without room are left out.
fn in_few_cells(ctx: &RenderContext<'_>, snapshot: &Snapshot, remedies: &[Remedy], cells: usize) -> String {
    let mut words = String::new();
    for key in keys(ctx, remedies, |remedy| key_does_in_few_cells(snapshot, remedy)) {
        let gap = if words.is_empty() { " " } else { "  " };
        if words.is_empty() || width(&words) + width(gap) + width(&key) <= cells {
            words = format!("{words}{gap}{key}");
        }
    }
    fit(&words, cells).into_owned()
}

/// [`key_does`] where lines are short.
fn key_does_in_few_cells(snapshot: &Snapshot, remedy: Remedy) -> String {
    match remedy {
        Remedy::Brake => "brakes: sets OnDelete at once".to_owned(),
        Remedy::RestoreOnDelete => "sets OnDelete again at once".to_owned(),
        Remedy::ReleaseEarly => "releases all the same".to_owned(),
        Remedy::RaiseBudget { to } => format!("budget: max-unavailable {to}"),
        Remedy::Undo | Remedy::UndoTo { .. } => Remedy::Undo.to_string(),
        remedy => key_does(snapshot, remedy),
    }
}

/// The effect of a remedy's key. Where lines are short, a roll back does not name its revision, so that its key and the next one stay on one line.
fn effect_of(snapshot: &Snapshot, remedy: Remedy, cells: usize) -> String {
    if cells < NAMES_REVISION { remedy.to_string() } else { snapshot.effect_of(remedy) }
}

/// The effect of a remedy's key, in as few words as a line under an alarm has room for.
fn key_does(snapshot: &Snapshot, remedy: Remedy) -> String {
    let words = match remedy {
        Remedy::Undo => return snapshot.rolls_back_in_words(),
        Remedy::UndoTo { revision, .. } => return format!("{} to revision {revision}", Remedy::Undo),
        Remedy::ResumeUnderOnDelete => "the same, and resumes",
        Remedy::EnforceOnDelete => "does that by itself",
        Remedy::PauseOnDrift => "pauses at the next drift instead",
        Remedy::RaiseBudget { to } => return format!("raises the budget: max-unavailable {to}"),
        Remedy::LiftPause => "lifts the pause",
        Remedy::ResumePastFailures => "resumes past it",
        Remedy::ResumeWithQuota => "resumes, once the quota has room",
        Remedy::ResumeWithTemplate => "resumes with it",
        Remedy::BackToTarget { .. } => "goes back to the target",
        Remedy::ReleaseEarly => "releases all the same; it goes on by itself once they fit",
        Remedy::RecordAnew => "sets its limits, which begins a new record",
        Remedy::SetLimits { .. } => "sets or confirms its limits",
        Remedy::DropUnreadableRecord => "drops it and hands it back",
        Remedy::DropForeignRecord => "drops the old record",
        Remedy::StepForRevision => "lets a node be updated",
        Remedy::Release => "hands it back",
        Remedy::SetImage => "begins a new rollout",
        Remedy::Drive
        | Remedy::Step(_)
        | Remedy::Select
        | Remedy::LiftSelector { .. }
        | Remedy::LimitPulls { .. }
        | Remedy::PrewarmTarget { .. }
        | Remedy::RetryPrewarm
        | Remedy::ResumePrewarm
        | Remedy::CancelPrewarm
        | Remedy::Brake
        | Remedy::RestoreOnDelete
        | Remedy::Resume => {
            return remedy.to_string();
        }
    };
    words.to_owned()
}

/// The problems, grouped by cause.
pub(super) fn trouble(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    cells: usize,
) -> Vec<Line<'static>> {
    let words: Vec<_> = page
        .summary
        .trouble
        .iter()
        .filter(|trouble| !is_in_alarm(&shown.snapshot, trouble))
        .map(|trouble| {
            let (glyph, role) = match trouble.kind {
                TroubleKind::Failed(_) if trouble.accepted => (Glyph::Failed, ThemeRole::Warn),
                TroubleKind::Failed(_) => (Glyph::Failed, ThemeRole::Bad),
                TroubleKind::Suspect | TroubleKind::DownReplaced | TroubleKind::DownNext => {
                    (Glyph::Suspect, ThemeRole::Bad)
                }
                TroubleKind::InUpdate => (Glyph::Suspect, ThemeRole::Warn),
                TroubleKind::Restarted | TroubleKind::Struggling(_) => (Glyph::Struggling, ThemeRole::Warn),
            };
            vec![ctx.span(format!("{} {}", ctx.glyph(glyph), group(ctx, page, shown, trouble)), role)]
        })
        .collect();
    // How often updated nodes go down, compared with others: suspects are judged by that.
    // What halted it says so already.
    let is_said = |compared: &Comparison| match &shown.snapshot.halt {
        Some(halt) if shown.snapshot.phase == Phase::Halted => halt.why.contains(compared.numbers().as_str()),
        _ => false,
    };
    let compared = shown.snapshot.comparisons.iter().filter(|compared| !is_said(compared)).map(ToString::to_string);
    let compared: Vec<_> = compared.take(2).map(|compared| vec![ctx.span(compared, ThemeRole::Text)]).collect();
    let down = page.summary.down.as_ref().map(|down| {
        let DownNodes { nodes, example, since } = down;
        let more = if *nodes > 1 { " …" } else { "" };
        let since = since.map(|since| format!(", {}", ctx.age(shown, since))).unwrap_or_default();
        let node = fit_middle(page.summary.table.short(example), 24);
        let words = if *nodes > 1 { "down by themselves" } else { "down by itself" };
        let text = format!("{} {nodes} {words} ({node}{more}{since})", ctx.glyph(Glyph::Down));
        vec![ctx.span(text, ThemeRole::Warn)]
    });
    // The list has them on top: they are named here where that takes no further line, or nothing else asks to be looked at.
    let without = flow([words.clone(), compared.clone()].concat(), "   ", " ", cells);
    let with = flow([words, down.into_iter().collect(), compared].concat(), "   ", " ", cells);
    let most = without.len().max(usize::from(shown.snapshot.alarms.is_empty()));
    if with.len() > most { without } else { with }
}

/// Whether the alarm of a halt names the cause and all nodes that have it.
fn is_in_alarm(snapshot: &Snapshot, trouble: &TroubleGroup) -> bool {
    // The alarm of a halt that waits for a driver names the nodes that have failed by now.
    if let TroubleKind::Failed(Some(cause)) = trouble.kind {
        let names = |why: &str| why.contains(&cause.to_string()) && why.contains(&*trouble.example);
        let waits = |alarm: &Alarm| matches!(alarm, Alarm::HaltWaits { why, .. } if names(why));
        if snapshot.alarms.iter().any(waits) {
            return true;
        }
    }
    let Some(halt) = snapshot.halt.as_ref().filter(|_| snapshot.phase == Phase::Halted) else { return false };
    let (TroubleKind::Failed(Some(cause)) | TroubleKind::Struggling(cause)) = trouble.kind else { return false };
    let is_named = halt.named().contains(&trouble.example) && trouble.nodes as usize <= halt.named().len();
    is_named && halt.why.contains(&cause.to_string())
}

/// `3 image not found (ipc-017 …, 3m)`; of pods that crash, when that halts the rollout: `1 crash loop (ipc-017, 3m): halts at 3 restarts (2 now)`.
pub(in crate::tui::view) fn group(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    trouble: &TroubleGroup,
) -> String {
    let what = trouble.kind;
    let node = page.summary.table.short(&trouble.example);
    let more = if trouble.nodes > 1 { " …" } else { "" };
    // Not since when it restarts: how long the example has been as it is now, between two ends of its container.
    let example = shown.snapshot.nodes.iter().find(|node| node.name == trouble.example);
    let state =
        example.filter(|_| trouble.kind == TroubleKind::Restarted).map(|node| format!("{} for ", node.state_words()));
    let state = state.unwrap_or_default();
    let since = trouble.since.and_then(|since| ctx.lasted(shown, since));
    let since = since.map(|since| format!(", {state}{since}")).unwrap_or_default();
    let accepted = if trouble.accepted { ", accepted" } else { "" };
    let next = trouble.fails_next.as_ref().and_then(|(next, _)| {
        let next = shown.snapshot.nodes.iter().find(|node| node.name == *next)?;
        let at = shown.snapshot.at_restarts_in_words(next)?;
        let other = (next.name != trouble.example).then(|| fit_middle(page.summary.table.short(&next.name), 24));
        Some(format!(": {}{at}", other.map(|other| format!("{other} ")).unwrap_or_default()))
    });
    let next = next.unwrap_or_default();
    format!("{} {what}{accepted} ({}{more}{since}){next}", trouble.nodes, fit_middle(node, 24))
}

/// Watches that are not live, and why; watches with the same reason share a line.
pub(super) fn unseen(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Vec<Line<'static>> {
    let mut said: Vec<(Vec<Watched>, String)> = Vec::new();
    for WatchView { watched, health, .. } in &snapshot.watches {
        let why = match health {
            WatchHealth::Forbidden { why } => format!("n/a (forbidden): {why}"),
            WatchHealth::Lagging { why, .. } => format!("not up to date: {why}"),
            WatchHealth::Down { why, .. } => format!("not seen, trying again: {why}"),
            WatchHealth::Loading | WatchHealth::Live => continue,
        };
        // An alarm shows the same reason. It names one watch or the whole cluster: where several are down, all but that one are named here.
        let names = |said: &str| said.starts_with("the cluster ") || said.contains(&*watched.to_string());
        let alarmed = |alarm: &Alarm| match (alarm, health) {
            (Alarm::ViewStale { why: said }, WatchHealth::Lagging { why, .. } | WatchHealth::Down { why, .. }) => {
                said.contains(&**why) && names(said)
            }
            _ => false,
        };
        if snapshot.alarms.iter().any(alarmed) {
            continue;
        }
        match said.iter_mut().find(|(_, known)| *known == why) {
            Some((kinds, _)) => kinds.push(*watched),
            None => said.push((vec![*watched], why)),
        }
    }
    let line = |(kinds, why): &(Vec<Watched>, String)| {
        let what = if kinds.len() == Watched::ALL.len() {
            "the cluster".to_owned()
        } else {
            kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        Line::from(ctx.span(fit(&format!(" {what}: {why}"), cells).into_owned(), ThemeRole::Warn))
    };
    said.iter().take(3).map(line).collect()
}

/// The clocks that differ.
pub(super) fn clocks(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Vec<Line<'static>> {
    let clocks = snapshot.clocks();
    let words = if clocks.is_empty() { String::new() } else { clocks.to_string() };
    let lines = wrap(&words, cells.saturating_sub(2)).filter(|line| !line.is_empty()).take(2);
    lines.map(|line| Line::from(ctx.span(format!(" {line}"), ThemeRole::Warn))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_without_room_go_to_the_next_line_whole() {
        let keys = "A arms: I begins a new rollout   U rolls back   W, then r pulls again what failed";
        let words = vec!["4 nodes wait".to_owned()];
        let lines = with_keys(words.clone(), keys, 78);
        assert_eq!(
            lines,
            ["4 nodes wait", "A arms: I begins a new rollout   U rolls back", "W, then r pulls again what failed"]
        );
        assert_eq!(with_keys(words, "U rolls back", 78), ["4 nodes wait   U rolls back"]);
    }
}
