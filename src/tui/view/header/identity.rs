//! The first line: the DaemonSet and its cluster, the driver, the age of the view, and whether the console can write.

use std::time::Duration;

use ratatui::text::{Line, Span};

use super::super::RenderContext;
use super::as_of;
use crate::engine::model::config::Timing;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::presence::Presence;
use crate::engine::model::time::Timestamp;
use crate::engine::model::wait::Short;
use crate::engine::model::{person_of, process_in_brief, process_of};
use crate::engine::report::snapshot::WatchView;
use crate::engine::report::undriven::NOBODY_SEEN_DRIVING;
use crate::tui::model::{FINE_MILLIS, RolloutPage, ShownSnapshot};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, is_wider, width};

/// A round trip to the API server longer than this is shown as a warning.
const FAR: Duration = Duration::from_secs(1);

/// The least number of cells for who drives.
const LEAST_DRIVER: usize = 14;

/// The least number of cells at which a longer context is shown.
const LEAST_CONTEXT: usize = 5;

/// The cells of the context in the order in which line and context give way: the words about the driver become shorter while the context is
/// whole; where no words with the whole name of the driver fit beside it, the context is shortened, and in the end the name.
const CONTEXTS: [usize; 4] = [usize::MAX, 16, 12, 8];

/// Said of a DaemonSet that its own controller rolls out.
const CONTROLLER: &str = "its controller drives";

/// The same in few cells.
const CONTROLLER_BRIEFLY: &str = "controller";

/// Whether the words say that nobody but the DaemonSet's own controller drives.
fn is_controller(words: &str) -> bool {
    words == CONTROLLER || words == CONTROLLER_BRIEFLY
}

/// The DaemonSet and its cluster; the driver, the age of the view, whether the console can write.
pub(super) fn identity(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: Option<&ShownSnapshot>,
    cells: usize,
) -> Line<'static> {
    let narrow = cells < usize::from(super::NAMES_CLUSTER);
    // Below 80 columns the banner has a line of its own.
    let banner = banner(ctx, cells).filter(|_| !narrow);
    let banner_cells = banner.as_ref().map_or(0, |banner| width(&banner.content) + 1);
    let (namespace, name) = (&page.target.namespace, &page.target.name);
    let named = width(namespace) + 1 + width(name);
    let mut right: Vec<Span<'static>> = Vec::new();
    let dot = || Span::styled(format!(" {} ", ctx.glyph(Glyph::Dot)), ctx.style(ThemeRole::Muted));
    for span in warnings(ctx, cells) {
        right.push(span);
        right.push(dot());
    }
    if let Some(shown) = shown {
        right.push(fresh(ctx, page, shown, cells));
    } else {
        right.push(ctx.span(if page.stopped { "driver stopped" } else { "connecting" }, ThemeRole::Warn));
    }
    right.push(dot());
    right.push(access(ctx));
    right.push(Span::raw(" "));
    if let Some(shown) = shown.filter(|shown| shown.snapshot.daemonset == Presence::Present) {
        // The driver's name is shortened before the DaemonSet's is; a long context and the distance of the API server are before.
        let others: usize = right.iter().map(|span| width(&span.content)).sum();
        // A slow answer of a while ago tells nothing of the present.
        let is_current =
            |_: &Duration| shown.snapshot.distance.current_until().is_none_or(|at| ctx.is_before(shown, at));
        let notable = shown.snapshot.distance.notable().filter(|_| !narrow).filter(is_current);
        let round_trip = notable.map(|round_trip| {
            let role = if round_trip > FAR { ThemeRole::Warn } else { ThemeRole::Text };
            ctx.span(format!("API {}", Short(round_trip)), role)
        });
        let api_cells = round_trip.as_ref().map_or(0, |span| width(&span.content) + width(&dot().content));
        let is_whole = |who: &Span<'_>| {
            let is_named =
                holder_of(&shown.snapshot.driver).is_none_or(|holder| who.content.contains(person_of(holder)));
            is_named && !who.content.ends_with('…') || is_controller(&who.content)
        };
        // `ada@line3?` leaves out what is known of whether it drives: rather the context is cut.
        let is_told = |(who, _): &(Span<'_>, bool)| is_whole(who) && !who.content.ends_with('?');
        let driver = |(context, has_api): (usize, bool)| {
            let context = match narrow || banner.is_some() {
                true => 0,
                false => width(&ctx.model.context).min(context) + 1,
            };
            let api = if has_api { api_cells } else { 0 };
            let left_over = cells.saturating_sub(others + api + banner_cells + 3 + context + named + 3);
            (who(ctx, shown, cells, left_over.max(LEAST_DRIVER)), has_api)
        };
        // The distance of the API server gives way before the context does.
        let layouts = [(CONTEXTS[0], true)].into_iter().chain(CONTEXTS.map(|context| (context, false)));
        // A name that is wider than the screen is whole in none of them. Nor is one of more than two bytes for each cell: most of it is invisible.
        let fits = |person: &str| person.len() <= 2 * cells && !is_wider(person, cells);
        let may_be_whole = holder_of(&shown.snapshot.driver).is_none_or(|holder| fits(person_of(holder)));
        let mut whole = None;
        let told = layouts.filter(|_| may_be_whole).map(driver).find(|layout| {
            let is_told = is_told(layout);
            if !is_told && whole.is_none() && is_whole(&layout.0) {
                whole = Some(layout.clone());
            }
            is_told
        });
        let (who, has_api) = told.or(whole).unwrap_or_else(|| driver((CONTEXTS[3], false)));
        // Behind the warnings and how fresh the view is; each of them has a dot behind it.
        if let Some(round_trip) = round_trip.filter(|_| has_api) {
            let place = 2 * ctx.model.warnings.len() + 1;
            right.splice(place..place, [dot(), round_trip]);
        }
        let place = 2 * ctx.model.warnings.len();
        right.splice(place..place, [who, dot()]);
    }
    let right_cells: usize = right.iter().map(|span| width(&span.content)).sum();
    let room = cells.saturating_sub(right_cells + banner_cells + 3);
    let context = &ctx.model.context;
    let full = if narrow || banner.is_some() {
        format!("{namespace}/{name}")
    } else {
        format!("{context}/{namespace} ds/{name}")
    };
    // The DaemonSet's name is kept the longest, then its namespace. The context keeps both ends: clusters often differ only
    // in the last part.
    let context_room = room.saturating_sub(named + 1);
    let left = if width(&full) <= room {
        full
    } else if named <= room {
        let context = match narrow || banner.is_some() || context_room < LEAST_CONTEXT.min(width(context)) {
            true => String::new(),
            false => format!("{}/", fit_middle(context, context_room)),
        };
        format!("{context}{namespace}/{name}")
    } else if width(name) + 6 <= room {
        format!("{}/{name}", fit_middle(namespace, room - width(name) - 1))
    } else {
        fit_middle(name, room).into_owned()
    };
    let gap = cells.saturating_sub(1 + banner_cells + width(&left) + right_cells);
    let mut spans = vec![Span::raw(" ")];
    if let Some(banner) = banner {
        spans.extend([banner, Span::raw(" ")]);
    }
    spans.extend([ctx.span(left, ThemeRole::Title), Span::raw(" ".repeat(gap))]);
    spans.append(&mut right);
    Line::from(spans)
}

/// Tells that the context is protected, and its name: in words, as colours may be missing.
pub(in crate::tui::view) fn banner(ctx: &RenderContext<'_>, cells: usize) -> Option<Span<'static>> {
    const WORD: &str = " PROTECTED ";
    let context = fit_middle(&ctx.model.context, (cells / 3).max(cells.saturating_sub(60)).min(48));
    ctx.model.protected.then(|| ctx.span(format!("{WORD}{context} "), ThemeRole::Protected))
}

/// The identity that requests use, if it is somebody else's, and the warning that TLS is not verified.
pub(in crate::tui::view) fn warnings(ctx: &RenderContext<'_>, cells: usize) -> Vec<Span<'static>> {
    let room = if cells < 100 { 12 } else { 40 };
    ctx.model.warnings.iter().map(|text| ctx.span(fit_middle(text, room).into_owned(), ThemeRole::Warn)).collect()
}

/// Who drives, in at most half of the `cells` and no more than `most`.
fn who(ctx: &RenderContext<'_>, shown: &ShownSnapshot, cells: usize, most: usize) -> Span<'static> {
    let snapshot = &shown.snapshot;
    let native = snapshot.strategy == StrategyKind::RollingUpdate;
    let role = match &snapshot.driver {
        DriverView::You { lapsed: true, .. } => ThemeRole::Bad,
        DriverView::You { lapsed: false, .. } => ThemeRole::Live,
        DriverView::Nobody if native || snapshot.started_at.is_none() => ThemeRole::Text,
        DriverView::Nobody | DriverView::Waiting { .. } | DriverView::Unknown => ThemeRole::Warn,
        DriverView::Unconfirmed { .. } if snapshot.has_silent_driver() => ThemeRole::Warn,
        DriverView::Unconfirmed { .. } | DriverView::Other { .. } => ThemeRole::Title,
        DriverView::Lost { .. } => ThemeRole::Bad,
    };
    if cells < 80 {
        let words = match &snapshot.driver {
            DriverView::You { lapsed: true, .. } => "lapsed",
            DriverView::You { lapsed: false, .. } if snapshot.only_prewarms() && snapshot.has_prewarmed() => {
                "controller"
            }
            DriverView::You { lapsed: false, .. } if snapshot.only_prewarms() => "you warm",
            DriverView::You { lapsed: false, .. } => "you",
            DriverView::Nobody if native => "controller",
            DriverView::Nobody | DriverView::Lost { .. } => "nobody",
            DriverView::Waiting { .. } => "waiting",
            DriverView::Unknown => "unknown",
            // As in the list of DaemonSets: whether it is alive is not known.
            DriverView::Unconfirmed { holder, .. } => &format!("{}?", fit(person_of(holder), 9)),
            DriverView::Other { holder, .. } => holder,
        };
        return ctx.span(fit(words, 10), role);
    }
    let since = match &snapshot.driver {
        DriverView::Unconfirmed { renewed_at, .. } => *renewed_at,
        DriverView::Lost { renewed_at, renewal_observed_at, .. } => Some(renewed_at.unwrap_or(*renewal_observed_at)),
        DriverView::Unknown
        | DriverView::Nobody
        | DriverView::You { .. }
        | DriverView::Waiting { .. }
        | DriverView::Other { .. } => None,
    };
    let words = match (&snapshot.driver, since) {
        // A line below shows the reason.
        (DriverView::Nobody, _) if snapshot.driver_stopped.is_some() => "nobody drives".to_owned(),
        (_, Some(since)) => as_of(ctx, shown, since).driving().to_string(),
        (DriverView::Other { renewal_observed_at, .. }, None) => {
            format!("{}{}", snapshot.driving(), last_seen(ctx, shown, *renewal_observed_at))
        }
        (_, None) => snapshot.driving().to_string(),
    };
    let room = (cells / 2).min(most);
    let words = if is_wider(&words, room) { words.replacen(" renewed its lease ", " renewed ", 1) } else { words };
    let words = match &snapshot.driver {
        DriverView::Lost { .. } if snapshot.only_prewarms() && is_wider(&words, room) => CONTROLLER.to_owned(),
        DriverView::Unconfirmed { .. }
            if snapshot.only_prewarms() && snapshot.has_silent_driver() && is_wider(&words, room) =>
        {
            CONTROLLER.to_owned()
        }
        DriverView::Lost { holder, .. } if is_wider(&words, room) => {
            let short = words.replacen(&**holder, person_of(holder), 1);
            let since = since.map(|since| ctx.age(shown, since)).unwrap_or_default();
            let person = person_of(holder);
            let shorter =
                [short, format!("nobody drives, {person} did {since} ago"), format!("nobody, {person} {since} ago")];
            shorter.into_iter().find(|words| !is_wider(words, room)).unwrap_or_else(|| {
                with_person(|person| format!("nobody drives, {person} did {since} ago"), holder, room)
            })
        }
        DriverView::Unconfirmed { holder, .. } if snapshot.has_silent_driver() && is_wider(&words, room) => {
            let since = since.map(|since| ctx.age(shown, since)).unwrap_or_default();
            let person = person_of(holder);
            let seen = format!("{NOBODY_SEEN_DRIVING}, {person} {since} ago");
            let shorter = [seen, format!("nobody seen, {person} {since} ago")];
            shorter
                .into_iter()
                .find(|words| !is_wider(words, room))
                .unwrap_or_else(|| with_person(|person| format!("nobody seen, {person} {since} ago"), holder, room))
        }
        DriverView::Unconfirmed { holder, .. }
        | DriverView::Other { holder, .. }
        | DriverView::Waiting { holder: Some(holder) } => {
            let said = if words.contains(&**holder) { &**holder } else { person_of(holder) };
            // Two consoles of one user are told apart for as long as there is room.
            let brief = words.replacen(said, process_in_brief(holder), 1);
            // Nobody reads the digits that only make an identity unique: context and DaemonSet need the room more.
            let is_long = process_of(holder).is_some() && cells < 120;
            match (is_long || is_wider(&words, room), is_wider(&brief, room)) {
                (true, true) => {
                    let of_person = words.replacen(said, person_of(holder), 1);
                    let short = if is_wider(&of_person, room) { ", seen " } else { ", last seen " };
                    // A name that is cut tells less than a question mark behind the whole of it. A lease that is overdue says more than the name.
                    let may_drive = words.contains(" drives, as of ");
                    let as_of = of_person.replacen(" by its clock", "", 1);
                    let shorter = [of_person.clone(), as_of, format!("{}?", person_of(holder))];
                    let whole = shorter.into_iter().find(|words| may_drive && !is_wider(words, room));
                    // When it was seen says more than the word that it drives.
                    let is_needed = is_wider(&of_person.replacen(", last seen ", short, 1), room);
                    let briefly = of_person.replacen(" drives, last seen ", ", seen ", 1);
                    let briefly = Some(briefly).filter(|briefly| is_needed && !is_wider(briefly, room));
                    whole.or(briefly).unwrap_or_else(|| {
                        let words = |person: &str| words.replacen(said, person, 1).replacen(", last seen ", short, 1);
                        with_person(words, holder, room)
                    })
                }
                (true, false) => brief,
                (false, _) => words,
            }
        }
        _ => words,
    };
    let words = if words == CONTROLLER && is_wider(&words, room) { CONTROLLER_BRIEFLY.to_owned() } else { words };
    ctx.span(fit(&words, room).into_owned(), role)
}

/// Who holds the lease, or held it last, if that is somebody else.
fn holder_of(driver: &DriverView) -> Option<&str> {
    match driver {
        DriverView::Unconfirmed { holder, .. }
        | DriverView::Other { holder, .. }
        | DriverView::Lost { holder, .. }
        | DriverView::Waiting { holder: Some(holder) } => Some(holder),
        DriverView::Unknown | DriverView::Nobody | DriverView::You { .. } | DriverView::Waiting { holder: None } => {
            None
        }
    }
}

/// `, last seen 9s ago`, of a driver who has not renewed its lease for so long that it starts nothing any more: its console may be gone, which is known only
/// once the lease has run out. Empty while it renews.
fn last_seen(ctx: &RenderContext<'_>, shown: &ShownSnapshot, renewal_observed_at: Timestamp) -> String {
    let overdue_at = renewal_observed_at + Timing::default().act;
    let (now, reading) = (ctx.model.now, shown.reading());
    if reading.clock(now, FINE_MILLIS) < overdue_at {
        ctx.wake_at(reading.reaches(now, overdue_at, FINE_MILLIS));
        return String::new();
    }
    format!(", last seen {} ago", ctx.age(shown, renewal_observed_at))
}

/// Words about a person, whose name is cut so that all of the words fit.
fn with_person(words: impl Fn(&str) -> String, holder: &str, room: usize) -> String {
    let person = person_of(holder);
    let around = width(&words(""));
    words(&fit_middle(person, room.saturating_sub(around).max(1)))
}

/// `live` if all watches that a rollout needs are live; otherwise the watch that is not, and for how long.
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
            _ if stale.len() == Watched::NEEDED.len() => format!("CUT OFF {age}"),
            more => format!("STALE {watched} and {more} more {age}"),
        };
        return ctx.span(words, ThemeRole::Stale);
    }
    if watches().any(|watch| watch.health == WatchHealth::Loading) {
        return ctx.span("loading", ThemeRole::Warn);
    }
    let mut others = shown.snapshot.watches.iter().filter(|watch| watch.health != WatchHealth::Live);
    if let Some(WatchView { watched, .. }) = others.next() {
        let words = match others.count() {
            0 if cells >= 80 => format!("live but for {watched}"),
            _ => "live, in part".to_owned(),
        };
        return ctx.span(words, ThemeRole::Warn);
    }
    // A silent watch may be quiet or cut: the view is not called live while the API server leaves writes unanswered.
    if shown.snapshot.distance.silent {
        return ctx.span("API no answer", ThemeRole::Stale);
    }
    ctx.span("live", ThemeRole::Live)
}

/// `ARMED 9m`, or `READ-ONLY`.
pub(in crate::tui::view) fn access(ctx: &RenderContext<'_>) -> Span<'static> {
    let Some(left) = ctx.model.armed_for() else { return ctx.span("READ-ONLY", ThemeRole::ReadOnly) };
    // Minutes rounded up; the last one in seconds.
    let (text, grid) = match left.as_millis() {
        60_001.. => (format!("{}m", left.as_millis().div_ceil(60_000)), 60_000),
        _ => (format!("{}s", left.as_millis().div_ceil(1_000)), 1_000),
    };
    let rest = u64::try_from(left.as_millis() % grid).unwrap_or(0);
    let grid = u64::try_from(grid).unwrap_or(60_000);
    ctx.wake_at(ctx.model.now + std::time::Duration::from_millis(if rest == 0 { grid } else { rest }));
    ctx.span(format!("ARMED {text}"), ThemeRole::Armed)
}
