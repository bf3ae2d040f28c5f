//! The lines above the nodes: who drives, how far it is, the budget, what blocks it, what is wrong.
//!
//! ```text
//!  prod-eu/edge ds/ipc-agent                        you drive · live · ARMED 9m
//!  v1.8.2 → v1.9.0   rev 14 → 15   step 2 of 4          adopted   ▶ running 4m
//!  [■■■■■■■■■■■■■■■■▒▒░░░░░░░░░░░░░░░░░░░░░░░░░░░░]  38 of 120 updated, 60 allowed
//!  down 2 of 2: 1 ours, 1 suspect + 3 not ours   pulling 2 of 2   partition 82
//!  ✗ 1 image not found (ipc-017, 3m)   ! 1 went down after its update (ipc-031, 1m)
//! ```
//!
//! Folded, below 80 columns:
//!
//! ```text
//!  edge/ipc-agent  you · live · ARMED 9m
//!  v1.8.2 → v1.9.0 running 38/120 down 2/2
//! ```

use std::time::Duration;

mod unsent;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{RenderContext, Shape, flow};
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::image::version_of;
use crate::engine::model::presence::Presence;
use crate::engine::model::record::Direction;
use crate::engine::model::time::Timestamp;
use crate::engine::model::wait::Short;
use crate::engine::report::guidance::Guidance;
use crate::engine::report::guidance::Remedy;
use crate::engine::report::snapshot::Alarm;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::snapshot::WatchView;
use crate::engine::rules::ownership::Returns;
use crate::tui::action::ActionId;
use crate::tui::model::RolloutPage;
use crate::tui::model::ShownSnapshot;
use crate::tui::model::summary::TroubleGroup;
use crate::tui::model::summary::TroubleKind;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{count, fit, fit_middle, width, wrap};

/// A round trip to the API server longer than this is shown as a warning.
const FAR: Duration = Duration::from_secs(1);

/// The lines above the list of a rollout.
pub(super) fn lines(ctx: &RenderContext<'_>, shape: Shape, area: Rect) -> Vec<Line<'static>> {
    let Some(page) = ctx.model.rollout() else { return Vec::new() };
    let cells = usize::from(area.width);
    let Some(shown) = page.live.as_ref() else {
        return vec![identity(ctx, page, None, cells), loading(ctx, page)];
    };
    let snapshot = &*shown.snapshot;
    if shape == Shape::Folded {
        let mut lines = vec![identity(ctx, page, Some(shown), cells), folded(ctx, page, shown, cells)];
        lines.extend(alarms(ctx, shape, snapshot, cells).into_iter().take(if area.height < 12 { 1 } else { 2 }));
        return lines;
    }
    let mut lines = vec![identity(ctx, page, Some(shown), cells)];
    match snapshot.daemonset {
        Presence::Present => {}
        Presence::Loading => {
            lines.push(loading(ctx, page));
            lines.extend(blocker(ctx, shown, cells));
            lines.extend(unseen(ctx, snapshot, cells));
            return lines;
        }
        Presence::Absent => {
            let text = format!(
                " There is no DaemonSet {}/{} (any more). esc: all DaemonSets",
                snapshot.namespace, snapshot.name
            );
            lines.push(Line::from(ctx.span(text, ThemeRole::Bad)));
            return lines;
        }
    }
    lines.push(change(ctx, shown, cells));
    lines.push(progress(ctx, snapshot, cells));
    lines.extend(budget(ctx, snapshot, cells));
    lines.extend(blocker(ctx, shown, cells));
    lines.extend(gitops_owner(ctx, snapshot, cells));
    lines.extend(alarms(ctx, shape, snapshot, cells));
    lines.extend(trouble(ctx, page, shown, cells).into_iter().take(if area.height < 32 { 2 } else { 4 }));
    lines.extend(unseen(ctx, snapshot, cells));
    lines.extend(clocks(ctx, snapshot, cells));
    lines
}

/// The snapshot with its clock set so that what happened at `since` is as long ago as the screen says elsewhere.
fn as_of(ctx: &RenderContext<'_>, shown: &ShownSnapshot, since: Timestamp) -> Snapshot {
    Snapshot { at: ctx.instant(shown, since), ..Snapshot::clone(&shown.snapshot) }
}

/// Which DaemonSet of which cluster; who drives, how fresh, whether it can be written to.
fn identity(ctx: &RenderContext<'_>, page: &RolloutPage, shown: Option<&ShownSnapshot>, cells: usize) -> Line<'static> {
    let narrow = cells < 80;
    let mut right: Vec<Span<'static>> = Vec::new();
    let dot = || Span::styled(format!(" {} ", ctx.glyph(Glyph::Dot)), ctx.style(ThemeRole::Muted));
    if let Some(shown) = shown {
        if shown.snapshot.daemonset == Presence::Present {
            right.push(who(ctx, shown, cells));
            right.push(dot());
        }
        right.push(fresh(ctx, page, shown, cells));
        if let Some(round_trip) = shown.snapshot.distance.notable().filter(|_| !narrow) {
            right.push(dot());
            let role = if round_trip > FAR { ThemeRole::Warn } else { ThemeRole::Text };
            right.push(ctx.span(format!("API {}", Short(round_trip)), role));
        }
    } else {
        right.push(ctx.span(if page.stopped { "driver stopped" } else { "connecting" }, ThemeRole::Warn));
    }
    right.push(dot());
    right.push(access(ctx));
    right.push(Span::raw(" "));
    let right_cells: usize = right.iter().map(|span| width(&span.content)).sum();
    let room = cells.saturating_sub(right_cells + 3);
    let (namespace, name) = (&page.target.namespace, &page.target.name);
    let context = &ctx.model.context;
    let full = if narrow { format!("{namespace}/{name}") } else { format!("{context}/{namespace} ds/{name}") };
    // The DaemonSet's name is kept the longest.
    let left = if width(&full) <= room {
        full
    } else if width(name) + 6 <= room {
        format!("{}/{name}", fit_middle(&format!("{context}/{namespace}"), room - width(name) - 1))
    } else {
        fit_middle(name, room).into_owned()
    };
    let gap = cells.saturating_sub(1 + width(&left) + right_cells);
    let mut spans = vec![Span::raw(" "), ctx.span(left, ThemeRole::Title), Span::raw(" ".repeat(gap))];
    spans.append(&mut right);
    Line::from(spans)
}

fn who(ctx: &RenderContext<'_>, shown: &ShownSnapshot, cells: usize) -> Span<'static> {
    let snapshot = &shown.snapshot;
    let native = snapshot.strategy == StrategyKind::RollingUpdate;
    let role = match &snapshot.driver {
        DriverView::You { .. } => ThemeRole::Live,
        DriverView::Nobody if native || snapshot.started_at.is_none() => ThemeRole::Text,
        DriverView::Nobody | DriverView::Waiting { .. } | DriverView::Unknown => ThemeRole::Warn,
        DriverView::Named { .. } | DriverView::Other { .. } => ThemeRole::Title,
        DriverView::Lost { .. } => ThemeRole::Bad,
    };
    if cells < 80 {
        let words = match &snapshot.driver {
            DriverView::You { .. } => "you",
            DriverView::Nobody if native => "controller",
            DriverView::Nobody | DriverView::Lost { .. } => "nobody",
            DriverView::Waiting { .. } => "waiting",
            DriverView::Unknown => "unknown",
            DriverView::Named { holder, .. } | DriverView::Other { holder, .. } => holder,
        };
        return ctx.span(fit(words, 10), role);
    }
    let words = match &snapshot.driver {
        DriverView::Lost { seen_at, .. } => as_of(ctx, shown, *seen_at).driving().to_string(),
        // Why is shown on a line below.
        DriverView::Nobody if snapshot.driver_stopped.is_some() => "nobody drives".to_owned(),
        _ => snapshot.driving().to_string(),
    };
    ctx.span(fit_middle(&words, cells / 2), role)
}

/// `live` if all watches that a rollout needs are live; otherwise which is not, and for how long.
fn fresh(ctx: &RenderContext<'_>, page: &RolloutPage, shown: &ShownSnapshot, cells: usize) -> Span<'static> {
    if page.stopped {
        return ctx.span("DRIVER STOPPED", ThemeRole::Stale);
    }
    if shown.snapshot.daemonset == Presence::Absent {
        return ctx.span("not found", ThemeRole::Warn);
    }
    let watches = || shown.snapshot.watches.iter().filter(|watch| Watched::NEEDED.contains(&watch.watched));
    let mut stale: Vec<(Timestamp, Watched)> = watches()
        .filter_map(|watch| match &watch.health {
            WatchHealth::Down { since, .. } | WatchHealth::Lagging { since, .. } => Some((*since, watch.watched)),
            WatchHealth::Loading | WatchHealth::Live | WatchHealth::Forbidden { .. } => None,
        })
        .collect();
    stale.sort_unstable();
    if let Some((since, watched)) = stale.first() {
        let age = ctx.age(shown, *since);
        let words = match stale.len() - 1 {
            _ if cells < 80 => format!("STALE {age}"),
            0 => format!("STALE {watched} {age}"),
            more => format!("STALE {watched} +{more} {age}"),
        };
        return ctx.span(words, ThemeRole::Stale);
    }
    if watches().any(|watch| watch.health == WatchHealth::Loading) {
        return ctx.span("loading", ThemeRole::Warn);
    }
    if shown.snapshot.watches.iter().any(|watch| watch.health != WatchHealth::Live) {
        return ctx.span("live, in part", ThemeRole::Warn);
    }
    ctx.span("live", ThemeRole::Live)
}

/// `ARMED 9m`, or `READ-ONLY`.
pub(super) fn access(ctx: &RenderContext<'_>) -> Span<'static> {
    let Some(left) = ctx.model.armed_for() else { return ctx.span("READ-ONLY", ThemeRole::ReadOnly) };
    // Minutes rounded up; the last one in steps of five seconds.
    let (text, grid) = match left.as_millis() {
        60_001.. => (format!("{}m", left.as_millis().div_ceil(60_000)), 60_000),
        _ => (format!("{}s", left.as_millis().div_ceil(5_000) * 5), 5_000),
    };
    let rest = u64::try_from(left.as_millis() % grid).unwrap_or(0);
    let grid = u64::try_from(grid).unwrap_or(60_000);
    ctx.wake_at(ctx.model.now + std::time::Duration::from_millis(if rest == 0 { grid } else { rest }));
    ctx.span(format!("ARMED {text}"), ThemeRole::Armed)
}

fn loading(ctx: &RenderContext<'_>, page: &RolloutPage) -> Line<'static> {
    let text = if page.stopped {
        " The driver of this rollout has stopped; esc goes back".to_owned()
    } else {
        format!(" Loading {}/{} …", page.target.namespace, page.target.name)
    };
    Line::from(ctx.span(text, ThemeRole::Text))
}

/// From which revision to which, how far the plan is, what it does now.
fn change(ctx: &RenderContext<'_>, shown: &ShownSnapshot, cells: usize) -> Line<'static> {
    let snapshot = &*shown.snapshot;
    let mut right = mode(ctx, snapshot);
    right.extend(unsent::sign(ctx, shown, ", retrying").map_or_else(|| doing(ctx, shown), |sign| vec![sign]));
    right.push(Span::raw(" "));
    let right_cells: usize = right.iter().map(|span| width(&span.content)).sum();
    let mut tail = format!("   {}", snapshot.numbers());
    if let (true, total @ 1..) = (recorded(snapshot), snapshot.plan.steps.len()) {
        let step = snapshot.plan.step.map_or(0, |step| step + 1);
        tail.push_str(&format!("   step {step} of {total}"));
    }
    let room = cells.saturating_sub(right_cells + 2);
    let tail = fit(&tail, room.saturating_sub(12).max(room / 2)).into_owned();
    let versions = room.saturating_sub(width(&tail));
    let mut spans = vec![Span::raw(" ")];
    spans.extend(versions_of(ctx, snapshot, versions));
    spans.push(ctx.span(tail, ThemeRole::Text));
    let used: usize = spans.iter().map(|span| width(&span.content)).sum();
    spans.push(Span::raw(" ".repeat(cells.saturating_sub(used + right_cells))));
    spans.append(&mut right);
    Line::from(spans)
}

/// `v1.8.2 → v1.9.0`, each in the colour of its revision where there is room for that.
fn versions_of(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Vec<Span<'static>> {
    let words = snapshot.change().to_string();
    if let [change] = snapshot.image_changes.as_slice()
        && let (Some(from), Some(to)) = (&change.from, &change.to)
        && version_of(from) != version_of(to)
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
    vec![ctx.span(fit_middle(&words, cells), ThemeRole::Title)]
}

/// Shortens a digest to its first digits.
fn short_version(version: &str) -> String {
    match version.split_once(':') {
        Some((algorithm, sum)) => format!("{algorithm}:{}", fit(sum, 9)),
        None => version.to_owned(),
    }
}

/// Whether a rollout is under way that rolldeck knows of.
fn recorded(snapshot: &Snapshot) -> bool {
    snapshot.started_at.is_some()
}

fn mode(ctx: &RenderContext<'_>, snapshot: &Snapshot) -> Vec<Span<'static>> {
    let drifted = snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::StrategyDrifted { .. }));
    let words = match (snapshot.adopted, snapshot.strategy) {
        _ if drifted => "SET BACK",
        (true, _) => "adopted",
        (false, StrategyKind::OnDelete) => "OnDelete",
        (false, StrategyKind::RollingUpdate) => "RollingUpdate",
    };
    vec![ctx.span(words, if drifted { ThemeRole::Bad } else { ThemeRole::Muted }), Span::raw("   ")]
}

/// What the rollout does now, with its sign.
fn doing(ctx: &RenderContext<'_>, shown: &ShownSnapshot) -> Vec<Span<'static>> {
    let snapshot = &*shown.snapshot;
    let (glyph, role, since) = match &snapshot.phase {
        Phase::Loading => (Glyph::ImageUnknown, ThemeRole::Muted, None),
        Phase::Idle if snapshot.counts.available < snapshot.counts.nodes => (Glyph::Down, ThemeRole::Warn, None),
        Phase::Complete if snapshot.release_waits() => (Glyph::Paused, ThemeRole::Warn, None),
        Phase::Idle | Phase::Complete => (Glyph::Updated, ThemeRole::Ok, None),
        Phase::Native => (Glyph::Moving, ThemeRole::Warn, None),
        Phase::Preparing | Phase::Releasing => (Glyph::Moving, ThemeRole::Busy, None),
        Phase::Held => (Glyph::Outdated, ThemeRole::Text, None),
        Phase::Running => (Glyph::Running, ThemeRole::Busy, snapshot.started_at),
        Phase::Paused(paused) => (Glyph::Paused, ThemeRole::Warn, Some(paused.at)),
        Phase::Halted => (Glyph::Failed, ThemeRole::Bad, snapshot.halt.as_ref().map(|halt| halt.at)),
    };
    let words = match &snapshot.phase {
        Phase::Running if snapshot.direction == Direction::Back => "rolling back".to_owned(),
        // The change is recorded, and the DaemonSet not patched yet.
        Phase::Preparing if snapshot.asked.is_some() => "asked, not written yet".to_owned(),
        Phase::Paused(_) => "PAUSED".to_owned(),
        Phase::Halted => "HALTED".to_owned(),
        Phase::Idle | Phase::Complete => snapshot.doing().to_string(),
        phase => phase.to_string(),
    };
    let since = since.map(|since| format!(" {}", ctx.age(shown, since))).unwrap_or_default();
    vec![ctx.span(format!("{} {words}{since}", ctx.glyph(glyph)), role)]
}

/// How many nodes are done, as a bar and in numbers.
fn progress(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Line<'static> {
    let counts = snapshot.counts;
    let mut words = snapshot.progress();
    if recorded(snapshot) && snapshot.plan.allowed < counts.nodes {
        words.push_str(&format!(", {} allowed", snapshot.plan.allowed));
    }
    if counts.available < counts.nodes && snapshot.phase != Phase::Idle {
        words.push_str(&format!(", {} available", counts.available));
    }
    let mut spans = vec![Span::raw(" ")];
    let bar = cells.saturating_sub(width(&words) + 6).min(60);
    if bar >= 8 {
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
    Line::from(spans)
}

/// The budget term by term, and what else limits it.
fn budget(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Vec<Line<'static>> {
    let budget = &snapshot.budget;
    let role = if budget.charged > budget.max_unavailable { ThemeRole::Bad } else { ThemeRole::Text };
    let mut words = vec![vec![ctx.span(budget.to_string(), role)]];
    if recorded(snapshot) {
        words.push(vec![ctx.span(format!("pulling {} of {}", budget.pulling, budget.max_pulling), ThemeRole::Text)]);
        words.push(vec![ctx.span(format!("partition {}", snapshot.plan.keep), ThemeRole::Text)]);
        if let Some(selector) = &snapshot.plan.selector {
            let nodes = count(snapshot.plan.selected, "node");
            let text = format!("only {} ({nodes})", fit(&selector.to_string(), cells / 2));
            words.push(vec![ctx.span(text, ThemeRole::Title)]);
        }
    }
    if snapshot.counts.leaked > 0 {
        let text = format!("{} updated outside the plan", snapshot.counts.leaked);
        words.push(vec![ctx.span(text, ThemeRole::Warn)]);
    }
    if snapshot.counts.misscheduled > 0 {
        let text = format!("{} misscheduled", snapshot.counts.misscheduled);
        words.push(vec![ctx.span(text, ThemeRole::Warn)]);
    }
    flow(words, "   ", " ", cells)
}

/// What the rollout waits for, or who paused it and why; and the keys of the remedies.
fn blocker(ctx: &RenderContext<'_>, shown: &ShownSnapshot, cells: usize) -> Vec<Line<'static>> {
    let snapshot = &*shown.snapshot;
    let driven =
        matches!(snapshot.driver, DriverView::You { .. } | DriverView::Named { .. } | DriverView::Other { .. });
    let said = match &snapshot.phase {
        _ if snapshot.not_sent().is_some() => Some((unsent::meaning(snapshot), ThemeRole::Warn)),
        Phase::Held | Phase::Running if !driven && snapshot.driver_stopped.is_some() => {
            Some((unsent::stopped(ctx, shown, cells), ThemeRole::Warn))
        }
        Phase::Preparing | Phase::Running | Phase::Releasing => snapshot.waits.as_ref().map(|wait| {
            let at = wait.since().map_or(snapshot.at, |since| ctx.instant(shown, since));
            let words = Snapshot { at, ..Snapshot::clone(snapshot) }.waiting(wait).to_string();
            (format!("waits: {words}"), ThemeRole::Text)
        }),
        _ => None,
    };
    if let Some((words, role)) = said {
        let room = cells.saturating_sub(2);
        return vec![Line::from(vec![Span::raw(" "), ctx.span(fit(&words, room).into_owned(), role)])];
    }
    let since = match (&shown.snapshot.phase, &shown.snapshot.blocked) {
        (Phase::Paused(paused), _) => Some(paused.at),
        (_, Some(blocked)) => Some(blocked.since),
        _ => None,
    };
    let guidance = match since {
        Some(since) => as_of(ctx, shown, since).guidance(),
        None => shown.snapshot.guidance(),
    };
    let Some(Guidance { waits, remedies }) = guidance else { return Vec::new() };
    let warn = matches!(shown.snapshot.phase, Phase::Paused(_)) || remedies.contains(&Remedy::Drive);
    let role = if warn { ThemeRole::Warn } else { ThemeRole::Text };
    let keys: Vec<String> = remedies.iter().map(|remedy| format!("{} {remedy}", key_of(*remedy))).collect();
    let keys = keys.join("   ");
    let room = cells.saturating_sub(2);
    // The reason may be cut, the keys are not: they get a line of their own if both do not fit.
    let together = if keys.is_empty() { waits.clone() } else { format!("{waits}   {keys}") };
    let lines = match width(&together) <= room {
        true => vec![together],
        false if keys.is_empty() => vec![waits],
        false if matches!(shown.snapshot.phase, Phase::Paused(_)) => {
            vec![format!("{}   {keys}", fit(&waits, room.saturating_sub(width(&keys) + 3)))]
        }
        false => vec![waits, keys],
    };
    lines
        .into_iter()
        .map(|line| Line::from(vec![Span::raw(" "), ctx.span(fit(&line, room).into_owned(), role)]))
        .collect()
}

/// The key for what an operator can do.
fn key_of(remedy: Remedy) -> String {
    let action = match remedy {
        Remedy::Drive => ActionId::Drive,
        Remedy::Step(_) | Remedy::StepForRevision => ActionId::Step,
        Remedy::Select | Remedy::LiftSelector { .. } => ActionId::Canary,
        Remedy::SetImage => ActionId::Image,
        Remedy::Brake | Remedy::BrakeAgain => ActionId::Pause,
        Remedy::Resume | Remedy::ResumeUnderOnDelete | Remedy::ResumeWithTemplate | Remedy::ResumePastFailures => {
            ActionId::Resume
        }
        Remedy::Undo => ActionId::Undo,
        Remedy::EnforceOnDelete | Remedy::PauseOnDrift | Remedy::RaiseBudget { .. } => ActionId::Tune,
        Remedy::Release | Remedy::ReleaseEarly | Remedy::DropUnreadableRecord | Remedy::DropForeignRecord => {
            ActionId::Release
        }
    };
    action.key()
}

/// What else manages the DaemonSet and sets back by itself what we changed.
fn gitops_owner(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Option<Line<'static>> {
    let mut gitops_owners =
        snapshot.gitops_owners.iter().filter(|gitops_owner| gitops_owner.returns == Returns::ByItself);
    // An alarm about it says the same.
    let told = snapshot.alarms.iter().any(|alarm| alarm.holding().is_some());
    let gitops_owner = gitops_owners.next().filter(|_| !told && (snapshot.adopted || recorded(snapshot)))?;
    let more = match gitops_owners.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let words = format!("{gitops_owner}{more} sets this back {}", gitops_owner.when());
    Some(Line::from(vec![Span::raw(" "), ctx.span(fit(&words, cells.saturating_sub(2)), ThemeRole::Muted)]))
}

/// What needs attention now, with the keys that help.
fn alarms(ctx: &RenderContext<'_>, shape: Shape, snapshot: &Snapshot, cells: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for alarm in snapshot.alarms.iter().take(3) {
        let text = wrap(&format!("{} {alarm}", ctx.glyph(Glyph::Alarm)), cells.saturating_sub(2));
        let hint = hint(alarm);
        // With room for two lines, the second has the keys.
        let words = if shape == Shape::Folded && hint.is_some() { 1 } else { 2 };
        for line in text.iter().take(words) {
            lines.push(Line::from(ctx.span(format!(" {line} "), ThemeRole::Alarm)));
        }
        lines.extend(hint.map(|hint| Line::from(ctx.span(fit(&hint, cells).into_owned(), ThemeRole::Text))));
        if let Some(holding) = alarm.holding() {
            let text = format!("   hold it: {holding}");
            lines.push(Line::from(ctx.span(fit(&text, cells).into_owned(), ThemeRole::Text)));
        }
    }
    if let more @ 1.. = snapshot.alarms.len().saturating_sub(3) {
        lines.push(Line::from(ctx.span(format!(" and {more} more alarms"), ThemeRole::Bad)));
    }
    lines
}

/// The keys that help with an alarm, each with what it does.
fn hint(alarm: &Alarm) -> Option<String> {
    let remedies = alarm.remedies();
    let words = remedies.iter().map(|remedy| format!("   {} {}", key_of(*remedy), key_does(*remedy)));
    (!remedies.is_empty()).then(|| words.collect())
}

/// What the key for a remedy does, in as few words as a line under an alarm has room for.
fn key_does(remedy: Remedy) -> String {
    let words = match remedy {
        Remedy::Brake => "brake: set OnDelete now, stops it within a second; nothing else changes",
        Remedy::BrakeAgain => "brake: set OnDelete again",
        Remedy::ResumeUnderOnDelete => "the same, and go on",
        Remedy::EnforceOnDelete => "do that by itself",
        Remedy::PauseOnDrift => "pause at the next drift instead",
        Remedy::RaiseBudget { to } => return format!("raise the budget: max-unavailable {to}"),
        Remedy::ResumePastFailures => "continue past it",
        Remedy::ResumeWithTemplate => "continue with it",
        Remedy::Undo => "roll back",
        Remedy::ReleaseEarly => "release all the same; it goes on by itself once they fit",
        Remedy::DropUnreadableRecord => "use the rolldeck that wrote it, or release",
        Remedy::DropForeignRecord => "drop the old record",
        Remedy::StepForRevision => "let a node be updated",
        Remedy::Release => "hand it back",
        Remedy::SetImage => "begin a new rollout",
        Remedy::Drive | Remedy::Step(_) | Remedy::Select | Remedy::LiftSelector { .. } | Remedy::Resume => {
            return remedy.to_string();
        }
    };
    words.to_owned()
}

/// What is wrong, grouped by cause.
fn trouble(ctx: &RenderContext<'_>, page: &RolloutPage, shown: &ShownSnapshot, cells: usize) -> Vec<Line<'static>> {
    let words = page.summary.trouble.iter().map(|trouble| {
        let (glyph, role) = match trouble.kind {
            TroubleKind::Failed(_) => (Glyph::Failed, ThemeRole::Bad),
            TroubleKind::Suspect => (Glyph::Suspect, ThemeRole::Bad),
            TroubleKind::Restarted | TroubleKind::Struggling(_) => (Glyph::Moving, ThemeRole::Warn),
        };
        vec![ctx.span(format!("{} {}", ctx.glyph(glyph), group(ctx, page, shown, trouble)), role)]
    });
    // How often updated nodes go down, compared with others: suspects are judged by that.
    let compared =
        shown.snapshot.comparisons.iter().take(2).map(|compared| vec![ctx.span(compared.to_string(), ThemeRole::Text)]);
    flow(words.chain(compared).collect(), "   ", " ", cells)
}

/// `3 image not found (ipc-017 …, 3m)`.
fn group(ctx: &RenderContext<'_>, page: &RolloutPage, shown: &ShownSnapshot, trouble: &TroubleGroup) -> String {
    let what = match trouble.kind {
        TroubleKind::Failed(Some(cause)) | TroubleKind::Struggling(cause) => cause.to_string(),
        TroubleKind::Failed(None) => "failed".to_owned(),
        TroubleKind::Suspect => "went down after update".to_owned(),
        TroubleKind::Restarted => "restarted since update".to_owned(),
    };
    let node = page.summary.table.short(&trouble.example);
    let more = if trouble.nodes > 1 { " …" } else { "" };
    let since = trouble.since.map(|since| format!(", {}", ctx.age(shown, since))).unwrap_or_default();
    format!("{} {what} ({}{more}{since})", trouble.nodes, fit_middle(node, 24))
}

/// Watches that are not live, and why; those with the same reason share a line.
fn unseen(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Vec<Line<'static>> {
    let mut said: Vec<(Vec<Watched>, String)> = Vec::new();
    for WatchView { watched, health, .. } in &snapshot.watches {
        let why = match health {
            WatchHealth::Forbidden { why } => format!("n/a (forbidden): {why}"),
            WatchHealth::Lagging { why, .. } => format!("not up to date: {why}"),
            WatchHealth::Down { why, .. } => format!("not seen, trying again: {why}"),
            WatchHealth::Loading | WatchHealth::Live => continue,
        };
        let alarmed = |alarm: &Alarm| match (alarm, health) {
            (Alarm::Blind { why }, WatchHealth::Lagging { why: lag, .. }) => why.contains(&**lag),
            _ => false,
        };
        // An alarm shows the same reason.
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

/// Clocks that differ.
fn clocks(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Vec<Line<'static>> {
    let clocks = snapshot.clocks();
    let words = if clocks.is_empty() { String::new() } else { clocks.to_string() };
    let lines = wrap(&words, cells.saturating_sub(2)).into_iter().filter(|line| !line.is_empty()).take(2);
    lines.map(|line| Line::from(ctx.span(format!(" {line}"), ThemeRole::Warn))).collect()
}

/// The second of two lines.
fn folded(ctx: &RenderContext<'_>, page: &RolloutPage, shown: &ShownSnapshot, cells: usize) -> Line<'static> {
    let snapshot = &*shown.snapshot;
    match snapshot.daemonset {
        Presence::Present => {}
        Presence::Loading => return loading(ctx, page),
        Presence::Absent => return Line::from(ctx.span(" there is no such DaemonSet", ThemeRole::Bad)),
    }
    let (counts, budget) = (&snapshot.counts, &snapshot.budget);
    let mut spans = vec![Span::raw(" ")];
    match snapshot.phase {
        _ if snapshot.not_sent().is_some() => spans.extend(unsent::sign(ctx, shown, "")),
        // Its usual text would leave no room for the numbers.
        Phase::Native => spans.push(ctx.span(format!("{} native", ctx.glyph(Glyph::Moving)), ThemeRole::Warn)),
        _ => spans.extend(doing(ctx, shown)),
    }
    let numbers = format!(" {}/{} down {}/{}", counts.updated, counts.nodes, budget.charged, budget.max_unavailable);
    let role = if budget.charged > budget.max_unavailable { ThemeRole::Bad } else { ThemeRole::Title };
    spans.push(ctx.span(numbers, role));
    let used: usize = spans.iter().map(|span| width(&span.content)).sum();
    let room = cells.saturating_sub(used + 1);
    let worst = page.summary.trouble.first().map(|trouble| (group(ctx, page, shown, trouble), ThemeRole::Bad));
    let waits = snapshot.guidance().filter(|_| !matches!(snapshot.phase, Phase::Paused(_)));
    let waits = waits.map(|guidance| (guidance.waits.trim_start_matches("held: ").to_owned(), ThemeRole::Text));
    let (rest, role) = worst.or(waits).unwrap_or_else(|| (snapshot.change().to_string(), ThemeRole::Text));
    spans.push(Span::raw(" "));
    spans.push(ctx.span(fit(&rest, room), role));
    Line::from(spans)
}
