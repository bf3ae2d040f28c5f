//! How far the rollout is: from which revision to which, what it does now, the bar, the budget.

use ratatui::text::{Line, Span};

use super::super::{RenderContext, flow};
use super::rail::{gates, rail, speed};
use super::{prewarm, recorded, unsent};
use crate::engine::model::estimate::RolloutEstimate;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::image::{repository_of, version_of, without_user};
use crate::engine::model::person_of;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::Alarm;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::RevisionView;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{count, fit, fit_middle, repository_change, width};

/// The bar is at least as long where the estimate stands beside it.
const ESTIMATE_BAR: usize = 16;

/// In fewer cells it is not said how the last rollout ended.
const LAST_COMPLETE: usize = 80;

/// How long it is at least where the speed stands there too.
const SPEED_BAR: usize = 30;

/// How much is said beside the versions. What has room for less says less; nothing of it is cut in its middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
enum Beside {
    /// Not even the step.
    State,
    /// Not the update strategy.
    Step,
    /// Not who paused what has halted, nor what it is that began.
    Strategy,
    All,
}

/// The versions are given at least so many cells, if they are as long as that.
const VERSIONS: usize = 24;
/// And so many where they come from somewhere else, which is said beside them.
const VERSIONS_FROM_ELSEWHERE: usize = 32;

/// From which revision to which, how far the plan is, what it does now.
pub(super) fn change(ctx: &RenderContext<'_>, shown: &ShownSnapshot, cells: usize) -> Line<'static> {
    let snapshot = &*shown.snapshot;
    let versions = versions_of(ctx, snapshot, cells).iter().map(|span| width(&span.content)).sum::<usize>();
    let least = if from_elsewhere(snapshot).is_some() { VERSIONS_FROM_ELSEWHERE } else { VERSIONS };
    let fits = |beside: &Beside| {
        let right: usize = state(ctx, shown, *beside, cells).iter().map(|span| width(&span.content)).sum();
        versions.min(least) + width(&numbers(snapshot, *beside)) + right + 2 <= cells
    };
    let beside = [Beside::All, Beside::Strategy, Beside::Step].into_iter().find(fits).unwrap_or(Beside::State);
    let mut right = state(ctx, shown, beside, cells);
    let right_cells: usize = right.iter().map(|span| width(&span.content)).sum();
    let mut tail = format!("   {}", revisions_of(snapshot));
    let room = cells.saturating_sub(right_cells + 2);
    let rail = rail(ctx, snapshot).filter(|rail| {
        let rail: usize = rail.iter().map(|span| width(&span.content)).sum();
        width(&snapshot.change().to_string()) + width(&tail) + 3 + rail <= room
    });
    if rail.is_none() {
        tail = numbers(snapshot, beside);
    }
    let tail = fit(&tail, room.saturating_sub(12).max(room / 2)).into_owned();
    let versions = room.saturating_sub(width(&tail));
    let mut spans = vec![Span::raw(" ")];
    spans.extend(versions_of(ctx, snapshot, versions));
    spans.push(ctx.span(tail, ThemeRole::Text));
    if let Some(rail) = rail {
        spans.push(Span::raw("   "));
        spans.extend(rail);
    }
    let mut used: usize = spans.iter().map(|span| width(&span.content)).sum();
    let gates = gates(snapshot);
    if !gates.is_empty() && used + 3 + width(&gates) + 1 + right_cells <= cells {
        used += 3 + width(&gates);
        spans.push(ctx.span(format!("   {gates}"), ThemeRole::Text));
    }
    spans.push(Span::raw(" ".repeat(cells.saturating_sub(used + right_cells))));
    spans.append(&mut right);
    Line::from(spans)
}

/// The strategy and what the rollout does now, with a blank at the end.
fn state(ctx: &RenderContext<'_>, shown: &ShownSnapshot, beside: Beside, cells: usize) -> Vec<Span<'static>> {
    let mut spans = mode(ctx, &shown.snapshot, beside);
    let doing = || doing(ctx, shown, beside == Beside::All, cells);
    spans.extend(unsent::sign(ctx, shown, ", retrying").map_or_else(doing, |sign| vec![sign]));
    spans.extend(last_complete(ctx, shown, cells));
    spans.push(Span::raw(" "));
    spans
}

/// `rev 14 → 15`. Numbers of revisions grow: one that falls leads to an earlier revision, and is said to.
fn revisions_of(snapshot: &Snapshot) -> String {
    let number = |revision: &Option<RevisionView>| revision.as_ref().and_then(|revision| revision.number);
    let falls =
        snapshot.has_change() && number(&snapshot.to).zip(number(&snapshot.from)).is_some_and(|(to, from)| to < from);
    format!("{}{}", snapshot.numbers(), if falls { " (older)" } else { "" })
}

/// The numbers of the revisions, and which step it is.
fn numbers(snapshot: &Snapshot, beside: Beside) -> String {
    // On the way back steps and partition are ignored.
    let is_forward = snapshot.direction == Direction::Forward;
    match snapshot.plan.steps.len() {
        total @ 1.. if recorded(snapshot) && is_forward && beside > Beside::State => {
            let step = snapshot.plan.step.map_or(0, |step| step + 1);
            format!("   {}   step {step} of {total}", revisions_of(snapshot))
        }
        _ => format!("   {}", revisions_of(snapshot)),
    }
}

/// `v1.8.2 → v1.9.0`, each in the colour of its revision where there is room for that.
fn versions_of(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Vec<Span<'static>> {
    if let [change] = snapshot.image_changes.as_slice()
        && let (Some(from), Some(to)) = (&change.from, &change.to)
        && version_of(from) != version_of(to)
        && repository_of(from) == repository_of(to)
    {
        let (from, to) = (short_version(version_of(from)), short_version(version_of(to)));
        let arrow = format!(" {} ", ctx.glyph(Glyph::Arrow));
        if width(&from) + width(&arrow) + width(&to) <= cells {
            return vec![
                ctx.span(from, ThemeRole::OldRev),
                ctx.span(arrow, ThemeRole::Text),
                ctx.span(to, ThemeRole::NewRev),
            ];
        }
    }
    vec![ctx.span(change_in(snapshot, cells), ThemeRole::Title)]
}

/// That an image comes from another repository or registry, which versions alone would hide.
fn from_elsewhere(snapshot: &Snapshot) -> Option<&'static str> {
    let both = snapshot.image_changes.iter().filter_map(|change| change.from.as_deref().zip(change.to.as_deref()));
    both.filter_map(|(from, to)| repository_change(from, to)).next()
}

/// What is being changed, in so many cells: of long names the ends are left, which tell versions apart. That an image comes from somewhere else
/// goes before its version.
pub(super) fn change_in(snapshot: &Snapshot, cells: usize) -> String {
    let words = snapshot.change().to_string();
    let Some(first) = snapshot.image_changes.first().filter(|_| width(&words) > cells) else {
        let said = from_elsewhere(snapshot).map(|elsewhere| format!("{words}, {elsewhere}"));
        let said = said.filter(|said| width(said) <= cells).unwrap_or(words);
        return fit_middle(&said, cells).into_owned();
    };
    let more = snapshot.image_changes.len() - 1;
    let (container, more) = match more {
        0 => (String::new(), String::new()),
        more => (format!("{}: ", first.container), format!(" +{more}")),
    };
    let [from, to] = [&first.from, &first.to].map(|image| image.as_deref().map(without_user));
    let sides = |short: fn(&str) -> String| [from, to].map(|image| image.map_or_else(|| "none".to_owned(), short));
    // The end of the name where that differs, else the versions alone.
    let named = sides(|image| {
        let name = repository_of(image).rsplit('/').next().unwrap_or_default();
        format!("…/{name}:{}", short_version(version_of(image)))
    });
    let versions = sides(|image| short_version(version_of(image)));
    if let Some(elsewhere) = from_elsewhere(snapshot) {
        let is_first = from.zip(to).is_some_and(|(from, to)| repository_change(from, to).is_some());
        let new_in_full =
            to.filter(|_| is_first).map(|to| format!("{container}{} → {to}{more}, {elsewhere}", versions[0]));
        let both = format!("{container}{} → {}{more}, {elsewhere}", versions[0], versions[1]);
        let new = format!("→ {}{more}, {elsewhere}", versions[1]);
        let (short, least) = (format!("→ {}{more} repo!", versions[1]), format!("→ {}{more}!", versions[1]));
        let fitting = new_in_full.into_iter().chain([both, new, short, least]).find(|words| width(words) <= cells);
        return fitting.unwrap_or_else(|| fit(&format!("→ {elsewhere}"), cells).into_owned());
    }
    let joined = |[from, to]: &[String; 2]| format!("{container}{from} → {to}{more}");
    let is_told = |sides: &&[String; 2]| sides[0] != sides[1] && width(&joined(sides)) <= cells;
    if let Some(told) = [&named, &versions].into_iter().find(is_told) {
        return joined(told);
    }
    // The new version, rather than two of which the ends are cut.
    let target = format!("→ {}{more}", versions[1]);
    if versions[0] != versions[1] && container.is_empty() && width(&target) <= cells {
        return target;
    }
    // Only the registry differs, or the versions are long.
    let sides = if versions[0] == versions[1] { sides(str::to_owned) } else { versions };
    let room = cells.saturating_sub(width(&container) + width(&more) + 3);
    let [from, to] = sides;
    let left = (room / 2).max(room.saturating_sub(width(&to))).min(width(&from));
    joined(&[fit_middle(&from, left).into_owned(), fit_middle(&to, room - left).into_owned()])
}

/// Shortens a digest to its first digits.
fn short_version(version: &str) -> String {
    match version.split_once(':') {
        Some((algorithm, sum)) => format!("{algorithm}:{}", fit(sum, 9)),
        None => version.to_owned(),
    }
}

fn mode(ctx: &RenderContext<'_>, snapshot: &Snapshot, beside: Beside) -> Vec<Span<'static>> {
    let drifted = snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::StrategyDrifted { .. }));
    if beside < Beside::Strategy && !drifted {
        return Vec::new();
    }
    let words = match (snapshot.adopted, snapshot.strategy) {
        _ if drifted => "SET BACK",
        (true, _) => "adopted",
        (false, StrategyKind::OnDelete) => "OnDelete",
        (false, StrategyKind::RollingUpdate) => "RollingUpdate",
    };
    vec![ctx.span(words, if drifted { ThemeRole::Bad } else { ThemeRole::Muted }), Span::raw("   ")]
}

/// What the rollout does now, with its sign; `in_full`: of one that halted also by whom it is paused, and that it is the rollout that began
/// then, not its last step.
pub(super) fn doing(ctx: &RenderContext<'_>, shown: &ShownSnapshot, in_full: bool, cells: usize) -> Vec<Span<'static>> {
    let snapshot = &*shown.snapshot;
    let (glyph, role, since) = match &snapshot.phase {
        Phase::Loading => (Glyph::ImageUnknown, ThemeRole::Muted, None),
        Phase::Idle if snapshot.counts.available < snapshot.counts.nodes => (Glyph::Down, ThemeRole::Warn, None),
        Phase::Complete if snapshot.release_waits() => (Glyph::Paused, ThemeRole::Warn, None),
        Phase::Idle | Phase::Complete => (Glyph::Updated, ThemeRole::Ok, None),
        Phase::Native => (Glyph::Moving, ThemeRole::Warn, None),
        Phase::Preparing if snapshot.template_of_others().is_some() => (Glyph::Paused, ThemeRole::Warn, None),
        Phase::Preparing | Phase::Releasing(_) => (Glyph::Moving, ThemeRole::Busy, None),
        Phase::Held => (Glyph::Outdated, ThemeRole::Text, None),
        // It began with the rollout that it takes back, which says nothing of how long it goes back.
        Phase::Running if snapshot.direction == Direction::Back => (Glyph::Running, ThemeRole::Busy, None),
        Phase::Running => (Glyph::Running, ThemeRole::Busy, snapshot.target_began()),
        Phase::Paused(paused) => (Glyph::Paused, ThemeRole::Warn, Some(paused.at)),
        Phase::Halted => (Glyph::Failed, ThemeRole::Bad, snapshot.halt.as_ref().map(|halt| halt.at)),
    };
    let words = match &snapshot.phase {
        // The change is recorded, and the DaemonSet not patched yet.
        Phase::Preparing if snapshot.requested_change.is_some() => "asked, not written yet".to_owned(),
        // By whom is said below.
        Phase::Preparing if snapshot.template_of_others().is_some() => "template changed".to_owned(),
        Phase::Paused(_) => "PAUSED".to_owned(),
        Phase::Halted => "HALTED".to_owned(),
        Phase::Idle | Phase::Complete => snapshot.doing().to_string(),
        _ => snapshot.phase_word(),
    };
    let since = since.map(|since| ctx.age(shown, since));
    let since = match (&snapshot.phase, since) {
        // Not how long it has been running: it may have been held or paused in between.
        (Phase::Running, Some(since)) if in_full && cells >= ROOM_FOR_ITS_NAME => {
            format!(", rollout began {since} ago")
        }
        (Phase::Running, Some(since)) => format!(", began {since} ago"),
        (_, Some(since)) => format!(" {since}"),
        (_, None) => String::new(),
    };
    let paused = snapshot.paused.as_ref().filter(|_| snapshot.phase == Phase::Halted);
    let paused = match paused {
        // With a reason a line of its own says both.
        Some(paused) if in_full && paused.why.is_none() => format!(", paused by {}", person_of(&paused.by)),
        Some(_) => ", paused".to_owned(),
        None => String::new(),
    };
    vec![ctx.span(format!("{} {words}{since}{paused}", ctx.glyph(glyph)), role)]
}

/// How and when the last rollout ended, while none is under way and there is room for that.
fn last_complete(ctx: &RenderContext<'_>, shown: &ShownSnapshot, cells: usize) -> Option<Span<'static>> {
    let last = shown.snapshot.last_rollout().filter(|_| cells >= LAST_COMPLETE)?;
    Some(ctx.span(format!(", {last} {} ago", ctx.age(shown, last.at)), ThemeRole::Text))
}

/// How many nodes are done, as a bar and in numbers.
pub(super) fn progress(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    cells: usize,
) -> Line<'static> {
    let snapshot = &*shown.snapshot;
    let counts = snapshot.counts;
    let words = progress_in_words(snapshot);
    let mut spans = vec![Span::raw(" ")];
    let BesideBar { text: beside, .. } = beside_bar(ctx, page, shown, cells);
    let bar = cells.saturating_sub(width(&words) + width(&beside) + 6).min(60);
    // Of what is still being loaded nobody knows how much of it is done.
    if bar >= 8 && snapshot.phase != Phase::Loading {
        let part = |nodes: u32| match counts.nodes {
            0 => 0,
            // Rounded down, and at least one cell: the bar is full only when all are updated, empty only when none is.
            total => {
                let cells = (u64::from(nodes) * bar as u64 / u64::from(total)) as usize;
                if nodes > 0 { cells.max(1) } else { 0 }
            }
        };
        let done = part(counts.updated);
        let moving = part(counts.committed).max(done + usize::from(counts.committed > counts.updated)).min(bar) - done;
        spans.push(ctx.span("[", ThemeRole::Frame));
        spans.push(ctx.span(ctx.glyph(Glyph::BarDone).repeat(done), ThemeRole::BarDone));
        spans.push(ctx.span(ctx.glyph(Glyph::BarMoving).repeat(moving), ThemeRole::BarMoving));
        spans.push(ctx.span(ctx.glyph(Glyph::BarRest).repeat(bar - done - moving), ThemeRole::BarRest));
        spans.push(ctx.span("]  ", ThemeRole::Frame));
    }
    spans.push(ctx.span(words, ThemeRole::Title));
    spans.push(ctx.span(beside, ThemeRole::Text));
    Line::from(spans)
}

/// What stands to the right of the bar and its numbers, as far as there is room.
struct BesideBar {
    text: String,
    /// The estimate is in it; otherwise it stands beside the budget.
    has_estimate: bool,
    /// The times of pulls and starts are in it; otherwise they stand beside the budget where that takes no further line.
    has_times: bool,
}

/// The estimate goes before the speed, and the speed before the times.
fn beside_bar(ctx: &RenderContext<'_>, page: &RolloutPage, shown: &ShownSnapshot, cells: usize) -> BesideBar {
    let snapshot = &*shown.snapshot;
    let words = width(&progress_in_words(snapshot)) + 6;
    let mut text = String::new();
    let estimate = estimate(snapshot).filter(|estimate| words + 3 + width(estimate) + ESTIMATE_BAR <= cells);
    let has_estimate = estimate.is_some();
    if let Some(estimate) = estimate {
        text = format!("   {estimate}");
    }
    if let Some(speed) = speed(ctx, page, shown)
        && words + width(&text) + 3 + width(&speed) + SPEED_BAR <= cells
    {
        text = format!("   {speed}{text}");
    }
    let times = snapshot.times.to_string();
    let has_times = !times.is_empty() && words + width(&text) + 3 + width(&times) + SPEED_BAR <= cells;
    if has_times {
        text = format!("{text}   {times}");
    }
    BesideBar { text, has_estimate, has_times }
}

fn progress_in_words(snapshot: &Snapshot) -> String {
    let counts = snapshot.counts;
    let mut words = snapshot.progress();
    if recorded(snapshot) && snapshot.plan.allowed < counts.nodes && snapshot.phase != Phase::Loading {
        words.push_str(&format!(", {} allowed", snapshot.plan.allowed));
    }
    if counts.available < counts.nodes && !matches!(snapshot.phase, Phase::Idle | Phase::Loading) {
        words.push_str(&format!(", {} available", counts.available));
    }
    words
}

/// In so many cells of the screen it is said that it is the rollout that began; in fewer the step needs them.
const ROOM_FOR_ITS_NAME: usize = 100;

/// When it will be done, or why that cannot be said.
fn estimate(snapshot: &Snapshot) -> Option<String> {
    (snapshot.estimate != RolloutEstimate::None).then(|| snapshot.estimate.to_string())
}

/// The budget term by term, and what else limits it.
pub(super) fn budget(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    cells: usize,
) -> Vec<Line<'static>> {
    let snapshot = &*shown.snapshot;
    let BesideBar { has_estimate, has_times, .. } = beside_bar(ctx, page, shown, cells);
    let budget = &snapshot.budget;
    let role = if budget.charged > budget.max_unavailable { ThemeRole::Bad } else { ThemeRole::Text };
    // Of the nodes so far it would tell another limit than it is.
    let budget_line = match snapshot.phase {
        Phase::Loading => ctx.span("budget not known yet", ThemeRole::Muted),
        _ => ctx.span(budget.to_string(), role),
    };
    let mut words = vec![vec![budget_line]];
    if recorded(snapshot) {
        words.push(vec![ctx.span(snapshot.pull_slots(), ThemeRole::Text)]);
        if snapshot.direction == Direction::Forward {
            words.push(vec![ctx.span(format!("partition {}", snapshot.plan.keep), ThemeRole::Text)]);
        }
        // On the way back it is ignored.
        if let Some(selector) = snapshot.plan.selector.as_ref().filter(|_| snapshot.direction == Direction::Forward) {
            let nodes = count(snapshot.plan.selected, "node");
            let text = format!("only {} ({nodes})", fit(&selector.to_string(), cells / 2));
            words.push(vec![ctx.span(text, ThemeRole::Title)]);
        }
    }
    words.extend(budget.limit_above_own().map(|above| vec![ctx.span(above, ThemeRole::Warn)]));
    let estimate = estimate(snapshot).filter(|_| !has_estimate);
    words.extend(estimate.map(|text| vec![ctx.span(text, ThemeRole::Text)]));
    words.extend(prewarm::part(ctx, snapshot).map(|part| vec![part]));
    words.extend(snapshot.leaked_in_words().map(|text| vec![ctx.span(text, ThemeRole::Warn)]));
    if snapshot.counts.misscheduled > 0 {
        let text = format!("{} misscheduled", snapshot.counts.misscheduled);
        words.push(vec![ctx.span(text, ThemeRole::Warn)]);
    }
    // What holds the slots is said where that costs no line.
    let slots = format!("pull slots {}", budget.slots_in_words());
    if recorded(snapshot) && slots.ends_with(')') && snapshot.prewarm_limit().is_none() {
        let mut in_full = words.clone();
        in_full[1] = vec![ctx.span(slots, ThemeRole::Text)];
        let costs_no_line =
            flow(in_full.clone(), "   ", " ", cells).len() == flow(words.clone(), "   ", " ", cells).len();
        // A figure beyond its limit asks why, whatever that costs.
        if costs_no_line || budget.is_over_pull_limit() {
            words = in_full;
        }
    }
    let times = snapshot.times.to_string();
    if !times.is_empty() && !has_times {
        let mut with_times = words.clone();
        with_times.push(vec![ctx.span(times, ThemeRole::Text)]);
        let (without, with) = (flow(words, "   ", " ", cells), flow(with_times, "   ", " ", cells));
        return if with.len() == without.len() { with } else { without };
    }
    flow(words, "   ", " ", cells)
}
