//! The progress of the rollout: its two revisions, its present action, the bar, the budget.

use ratatui::text::{Line, Span};

use super::super::{RenderContext, flow};
use super::rail::{SpeedText, gates, rail, speed};
use super::{prewarm, recorded, unsent};
use crate::engine::model::estimate::RolloutEstimate;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::image::{repository_of, version_of, without_user};
use crate::engine::model::person_of;
use crate::engine::model::quantity::counted;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::RevisionView;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, repository_change, width};

/// The least length at which a bar is drawn.
const LEAST_BAR: usize = 8;

/// The least number of cells at which the end of the last rollout is shown.
const LAST_COMPLETE: usize = 80;

/// The amount of text beside the versions. With less room parts are left out; none is cut in its middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
enum Beside {
    /// Without the step, too.
    State,
    /// Without the update strategy.
    Step,
    /// Without the person who paused a halted rollout, and without the word for the rollout that began.
    Strategy,
    All,
}

/// The least number of cells for the versions, if they are as long as that.
const VERSIONS: usize = 24;
/// The same for versions from another repository, which is named beside them.
const VERSIONS_FROM_ELSEWHERE: usize = 32;

/// The two revisions, the progress of the plan, and the present action.
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
    let mut tail = fit(&tail, room.saturating_sub(12).max(room / 2)).into_owned();
    let rail_cells: usize = rail.iter().flatten().map(|span| width(&span.content)).sum::<usize>() + 3;
    let taken = width(&snapshot.change().to_string()) + width(&tail) + if rail.is_some() { rail_cells } else { 0 };
    let renumbered = renumbered(snapshot).into_iter().find(|words| taken + width(words) <= room);
    // It belongs to the number, and not to the step behind that.
    let end = end_of_numbers(&tail, snapshot);
    tail.insert_str(end, &renumbered.unwrap_or_default());
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

/// The strategy and the rollout's present action, with a blank at the end.
fn state(ctx: &RenderContext<'_>, shown: &ShownSnapshot, beside: Beside, cells: usize) -> Vec<Span<'static>> {
    let mut spans = mode(ctx, &shown.snapshot, beside);
    let doing = || doing(ctx, shown, beside == Beside::All, cells);
    spans.extend(unsent::sign(ctx, shown, ", retrying").map_or_else(doing, |sign| vec![sign]));
    spans.extend(last_complete(ctx, shown, cells));
    spans.push(Span::raw(" "));
    spans
}

/// `rev 14 → 15`. Numbers of revisions grow: a falling number leads to an earlier revision, and the text says so.
fn revisions_of(snapshot: &Snapshot) -> String {
    let number = |revision: &Option<RevisionView>| revision.as_ref().and_then(|revision| revision.number);
    let falls =
        snapshot.has_change() && number(&snapshot.to).zip(number(&snapshot.from)).is_some_and(|(to, from)| to < from);
    format!("{}{}", snapshot.numbers(), if falls { " (older)" } else { "" })
}

/// Where in `tail`, in bytes, the numbers of the revisions end.
fn end_of_numbers(tail: &str, snapshot: &Snapshot) -> usize {
    let numbers = revisions_of(snapshot);
    tail.find(&numbers).map_or(tail.len(), |at| at + numbers.len())
}

/// The number that the target had before it was rolled back to, in two lengths: its controller gives a template that comes back a new number, which the
/// dialog of the roll back could not name. Empty where it is not known.
fn renumbered(snapshot: &Snapshot) -> Vec<String> {
    let earlier = snapshot.to.as_ref().map(|target| snapshot.earlier_numbers(target)).unwrap_or_default();
    let latest = earlier.first().map(|latest| [snapshot.target_renumbered(), format!(" (was {latest})")]);
    latest.into_iter().flatten().collect()
}

/// The numbers of the revisions, and of the step.
fn numbers(snapshot: &Snapshot, beside: Beside) -> String {
    // On the way back steps and partition are ignored.
    let is_forward = snapshot.direction == Direction::Forward;
    match snapshot.plan.steps.len() {
        total @ 1.. if recorded(snapshot) && is_forward && beside > Beside::State => {
            let step = match snapshot.plan.by_hand(snapshot.counts.nodes) {
                // Of the nodes so far, it would be another step than it is.
                _ if snapshot.phase == Phase::Loading => return format!("   {}", revisions_of(snapshot)),
                Some(by_hand) => format!("{by_hand} by hand"),
                None => format!("step {} of {total}", snapshot.plan.step.map_or(0, |step| step + 1)),
            };
            format!("   {}   {step}", revisions_of(snapshot))
        }
        _ => format!("   {}", revisions_of(snapshot)),
    }
}

/// `v1.8.2 → v1.9.0`, each in the colour of its revision if there is room for both.
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

/// Tells that an image comes from another repository or registry, which the versions alone would hide.
fn from_elsewhere(snapshot: &Snapshot) -> Option<&'static str> {
    let both = snapshot.image_changes.iter().filter_map(|change| change.from.as_deref().zip(change.to.as_deref()));
    both.filter_map(|(from, to)| repository_change(from, to)).next()
}

/// The change in a limited number of cells: long names keep their ends, which tell versions apart. A change of the
/// repository has precedence over the version.
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
    // The end of the name if it differs, else only the versions.
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
    // The new version is shown alone, instead of two versions with their ends cut.
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
    let drifted = snapshot.is_set_back();
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

/// The rollout's present action, with its sign; `in_full`: for a halted rollout also who paused it, and that the time counts
/// from the beginning of the rollout, not of its last step.
pub(super) fn doing(ctx: &RenderContext<'_>, shown: &ShownSnapshot, in_full: bool, cells: usize) -> Vec<Span<'static>> {
    let snapshot = &*shown.snapshot;
    let (glyph, role, since) = match &snapshot.phase {
        Phase::Loading | Phase::Unknown => (Glyph::ImageUnknown, ThemeRole::Muted, None),
        Phase::Idle if snapshot.counts.available < snapshot.counts.nodes => (Glyph::Down, ThemeRole::Warn, None),
        Phase::Complete if snapshot.release_waits() => (Glyph::Paused, ThemeRole::Warn, None),
        Phase::Idle | Phase::Complete => (Glyph::Updated, ThemeRole::Ok, None),
        Phase::Native => (Glyph::Moving, ThemeRole::Warn, None),
        Phase::Preparing if snapshot.template_of_others().is_some() => (Glyph::Paused, ThemeRole::Warn, None),
        Phase::Preparing | Phase::Releasing(_) => (Glyph::Moving, ThemeRole::Busy, None),
        Phase::Held => (Glyph::Outdated, ThemeRole::Text, None),
        // What is under way ends, and nothing follows: it stands still until somebody drives.
        Phase::Running if snapshot.undriven_in_words().is_some() => (Glyph::Outdated, ThemeRole::Warn, None),
        // The rollout back has the start time of the rollout that it takes back, which does not tell how long it has been going back.
        Phase::Running if snapshot.direction == Direction::Back => (Glyph::Running, ThemeRole::Busy, None),
        Phase::Running => (Glyph::Running, ThemeRole::Busy, snapshot.target_began()),
        Phase::Paused(paused) if snapshot.goes_on_by_its_controller() => {
            (Glyph::Paused, ThemeRole::Bad, Some(paused.at))
        }
        Phase::Paused(paused) => (Glyph::Paused, ThemeRole::Warn, Some(paused.at)),
        Phase::Halted => (Glyph::Failed, ThemeRole::Bad, snapshot.halt.as_ref().map(|halt| halt.at)),
    };
    let words = match &snapshot.phase {
        // The change is recorded, and the DaemonSet not patched yet.
        Phase::Preparing if snapshot.change_is_written => "written, not taken up yet".to_owned(),
        Phase::Preparing if snapshot.requested_change.is_some() => "asked, not written yet".to_owned(),
        // A line below names the person.
        Phase::Preparing if snapshot.template_of_others().is_some() => "template changed".to_owned(),
        Phase::Paused(_) => "PAUSED".to_owned(),
        Phase::Halted => "HALTED".to_owned(),
        Phase::Idle | Phase::Complete => snapshot.doing().to_string(),
        // With less room, who drives is said in the line above only.
        Phase::Running if in_full && cells >= ROOM_FOR_ITS_NAME => match snapshot.undriven_in_words() {
            Some(undriven) => format!("{}, {undriven}", snapshot.phase_word()),
            None => snapshot.phase_word(),
        },
        _ => snapshot.phase_word(),
    };
    let words = format!("{}{words}", snapshot.way());
    let since = since.map(|since| ctx.age(shown, since));
    let since = match (&snapshot.phase, since) {
        // The text does not tell how long the rollout has been running: it may have been held or paused in between.
        (Phase::Running, Some(since)) if in_full && cells >= ROOM_FOR_ITS_NAME => {
            format!(", rollout began {since} ago")
        }
        (Phase::Running, Some(since)) => format!(", rollout {since}"),
        // The halt is younger than the failure that it is about.
        (Phase::Halted, Some(since)) if in_full => format!(" {since} ago"),
        (_, Some(since)) => format!(" {since}"),
        (_, None) => String::new(),
    };
    let paused = snapshot.paused.as_ref().filter(|_| snapshot.phase == Phase::Halted);
    let paused = match paused {
        // A pause with a reason has a line of its own, which names the person and the reason.
        Some(paused) if in_full && paused.why.is_none() => format!(", paused by {}", person_of(&paused.by)),
        Some(_) => ", paused".to_owned(),
        None => String::new(),
    };
    let goes_on = snapshot.goes_on_by_its_controller() && cells >= ROOM_FOR_ITS_NAME;
    let goes_on = if goes_on { ", its controller rolls" } else { "" };
    vec![ctx.span(format!("{} {words}{since}{paused}{goes_on}", ctx.glyph(glyph)), role)]
}

/// How and when the last rollout ended, while none is under way and there is room for that.
fn last_complete(ctx: &RenderContext<'_>, shown: &ShownSnapshot, cells: usize) -> Option<Span<'static>> {
    let last = shown.snapshot.last_rollout().filter(|_| cells >= LAST_COMPLETE)?;
    Some(ctx.span(format!(", {last} {} ago", ctx.age(shown, last.at)), ThemeRole::Text))
}

/// The number of updated nodes, as a bar and in numbers.
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
    let room = cells.saturating_sub(width(&words) + width(&beside) + 6).min(60);
    let bar = match moves(snapshot) {
        true => room.min(steady_bar(cells)),
        // In steps, so that it does not change its length with every digit beside it.
        false if room > 10 => room - room % 10,
        false => room,
    };
    // While the state is still being loaded, the done part is unknown.
    if bar >= LEAST_BAR && snapshot.phase != Phase::Loading {
        let part = |nodes: u32| match counts.nodes {
            0 => 0,
            // Rounded down, and at least one cell: the bar is full only when all nodes are updated, and empty only when none is.
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

/// Whether the numbers beside the bar may grow and shrink: a rollout is recorded, or a controller rolls one out.
fn moves(snapshot: &Snapshot) -> bool {
    recorded(snapshot) || snapshot.has_change()
}

/// The length of the bar of a rollout on a screen of so many cells, whatever stands beside it. Only numbers that leave less room shorten it.
fn steady_bar(cells: usize) -> usize {
    let quarter = cells / 4;
    quarter - quarter % 10
}

/// The texts to the right of the bar and its numbers, as far as there is room.
struct BesideBar {
    text: String,
    /// The estimate is among them; otherwise it stands beside the budget.
    has_estimate: bool,
    /// The times of pulls and starts are among them; otherwise they stand beside the budget if they need no further line there.
    has_times: bool,
}

/// The estimate has precedence over the speed, the speed over its sparkline, and that over the times.
fn beside_bar(ctx: &RenderContext<'_>, page: &RolloutPage, shown: &ShownSnapshot, cells: usize) -> BesideBar {
    let snapshot = &*shown.snapshot;
    let words = width(&progress_in_words(snapshot)) + 6;
    let mut text = String::new();
    let bar = steady_bar(cells).max(LEAST_BAR);
    let estimate = estimate(snapshot).filter(|estimate| words + 3 + width(estimate) + bar <= cells);
    let has_estimate = estimate.is_some();
    if let Some(estimate) = estimate {
        text = format!("   {estimate}");
    }
    if let Some(SpeedText { with_sparkline, rate }) = speed(ctx, page, shown) {
        let fits = |speed: &str| words + width(&text) + 3 + width(speed) + bar <= cells;
        if fits(&with_sparkline) {
            text = format!("   {with_sparkline}{text}");
        } else if fits(&rate) {
            text = format!("   {rate}{text}");
        }
    }
    let times = snapshot.times.to_string();
    let has_times = !times.is_empty() && words + width(&text) + 3 + width(&times) + bar <= cells;
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

/// The least number of screen cells for `rollout began 2m ago` instead of `rollout 2m`; in fewer the step needs the room.
const ROOM_FOR_ITS_NAME: usize = 100;

/// The estimated end of the rollout, or the reason why there is no estimate.
fn estimate(snapshot: &Snapshot) -> Option<String> {
    (snapshot.estimate != RolloutEstimate::None).then(|| snapshot.estimate.to_string())
}

/// The budget term by term, and other limits of the rollout.
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
    // Of the nodes so far, all of this would be other numbers than it is.
    let budget_line = match snapshot.phase {
        Phase::Loading => ctx.span("budget not known yet", ThemeRole::Muted),
        _ => match snapshot.budget_unknown_because() {
            Some(why) => ctx.span(format!("budget not known: {why}"), ThemeRole::Muted),
            None => ctx.span(budget.to_string(), role),
        },
    };
    let mut words = vec![vec![budget_line]];
    if snapshot.phase == Phase::Loading || snapshot.budget_unknown_because().is_some() {
        return flow(words, "   ", " ", cells);
    }
    if recorded(snapshot) {
        words.push(vec![ctx.span(snapshot.pull_slots(), ThemeRole::Text)]);
        if snapshot.direction == Direction::Forward {
            words.push(vec![ctx.span(format!("partition {}", snapshot.plan.keep), ThemeRole::Text)]);
        }
        // A rollout back ignores the selector.
        if let Some(selector) = snapshot.plan.selector.as_ref().filter(|_| snapshot.direction == Direction::Forward) {
            let nodes = counted(snapshot.plan.selected as usize, "node");
            let text = format!("only {} ({nodes})", fit(&selector.to_string(), cells / 2));
            words.push(vec![ctx.span(text, ThemeRole::Title)]);
        }
    }
    if snapshot.lacks_its_record() {
        let begins = format!("a new record begins with partition {}", snapshot.plan.keep);
        words.push(vec![ctx.span(begins, ThemeRole::Muted)]);
    }
    words.extend(budget.limit_above_own().map(|above| vec![ctx.span(above, ThemeRole::Warn)]));
    let estimate = estimate(snapshot).filter(|_| !has_estimate);
    words.extend(estimate.map(|text| vec![ctx.span(text, ThemeRole::Text)]));
    // The line above names only those that the change leads from and to.
    words.extend(snapshot.running_revisions().map(|text| vec![ctx.span(text, ThemeRole::Title)]));
    words.extend(prewarm::part(ctx, page, snapshot).map(|part| vec![part]));
    words.extend(snapshot.leaked_in_words().map(|text| vec![ctx.span(text, ThemeRole::Warn)]));
    if snapshot.counts.misscheduled > 0 {
        let text = format!("{} misscheduled", snapshot.counts.misscheduled);
        words.push(vec![ctx.span(text, ThemeRole::Warn)]);
    }
    // The holders of the slots are named if that needs no further line.
    let slots = snapshot.pull_slots_with_holders();
    if recorded(snapshot) && slots != snapshot.pull_slots() {
        let mut in_full = words.clone();
        in_full[1] = vec![ctx.span(slots, ThemeRole::Text)];
        let costs_no_line =
            flow(in_full.clone(), "   ", " ", cells).len() == flow(words.clone(), "   ", " ", cells).len();
        // A number beyond its limit needs an explanation, even if it takes a further line.
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
