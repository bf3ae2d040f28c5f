//! Pre-warming in the header: its progress, and the wait that needs somebody's action.

use ratatui::text::{Line, Span};

use super::super::RenderContext;
use super::attention::arm_first;
use crate::engine::model::event::{Permission, Right};
use crate::engine::model::person_of;
use crate::engine::model::prewarm::{PrewarmView, PrewarmWait};
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::{Alarm, Snapshot};
use crate::tui::action::ActionId;
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::theme::ThemeRole;
use crate::tui::words::{fit, fit_middle, width, wrap};

/// The most cells for the names of images beside the budget.
const NAMED: usize = 24;

/// `pre-warm 12/120, 2 pulling`, beside the budget; `pre-warm of agent:v3 12/120` where the rollout does not need it; `pre-warm 12/120, nobody pre-warms`
/// where no line of its own says so.
pub(super) fn part(ctx: &RenderContext<'_>, page: &RolloutPage, snapshot: &Snapshot) -> Option<Span<'static>> {
    let view = snapshot.prewarm.as_ref()?;
    let counts = &view.counts;
    let mut words = match view.request.cancelled {
        Some(_) if view.request.complete.is_some() => "pre-warm complete".to_owned(),
        Some(_) => "pre-warm cancelled".to_owned(),
        None => {
            // Where the rollout needs other images, its own failures are not counted here.
            let of = snapshot.prewarms_beside_the_rollout().map(|images| format!("of {} ", fit_middle(&images, NAMED)));
            format!("pre-warm {}{}/{}", of.unwrap_or_default(), counts.present, counts.nodes)
        }
    };
    for (count, word) in [(counts.pulling, "pulling"), (counts.failed, "failed")] {
        if count > 0 && view.request.cancelled.is_none() {
            words.push_str(&format!(", {count} {word}"));
        }
    }
    let is_left = matches!(page.summary.prewarm_stands, Some(PrewarmWait::NobodyDrives));
    if is_left && offers(snapshot, Remedy::Drive) {
        words.push_str(", nobody pre-warms");
    }
    if let Some(left) = view.estimate.filter(|_| view.request.cancelled.is_none()) {
        words.push_str(&format!(", all in {left}"));
    }
    let warns = counts.failed > 0 || view.error.is_some();
    Some(ctx.span(words, if warns { ThemeRole::Warn } else { ThemeRole::Text }))
}

/// The reason that stops pre-warming as a whole, with the key that helps.
pub(super) fn stands(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    cells: usize,
) -> Vec<Line<'static>> {
    let words = shown.snapshot.prewarm.as_ref().and_then(|view| words(ctx, page, shown, view));
    let Some((words, keys)) = words else { return Vec::new() };
    let room = cells.saturating_sub(2);
    let keys = if keys.is_empty() { keys } else { format!("   {keys}") };
    let mut wrapped = wrap(&words, room);
    let first = wrapped.next().unwrap_or_default();
    let rest = wrapped.take(2).collect::<Vec<String>>().join(" ");
    // The reason takes a second line if needed. Its end is cut, the keys are not.
    let lines = match rest.is_empty() {
        true if width(&first) + width(&keys) <= room => vec![format!("{first}{keys}")],
        true => vec![first, keys],
        false => vec![first, format!("{}{keys}", fit(&rest, room.saturating_sub(width(&keys))))],
    };
    let line = |line: String| Line::from(vec![Span::raw(" "), ctx.span(line, ThemeRole::Warn)]);
    lines.into_iter().map(line).collect()
}

fn words(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    view: &PrewarmView,
) -> Option<(String, String)> {
    let snapshot = &*shown.snapshot;
    let arm = if ctx.model.armed_for().is_none() { arm_first() } else { String::new() };
    let drive = format!("{arm}{} drives", ActionId::Drive.key());
    let nobody = snapshot.driver.is_nobody();
    // The text about what blocks the rollout may offer the same key.
    let offered = snapshot.guidance().is_some_and(|guidance| guidance.remedies.contains(&Remedy::Drive));
    if let Some(cancelled) = &view.request.cancelled {
        let what = if nobody { "its pods are deleted once somebody drives" } else { "its pods are being deleted" };
        let why = match view.request.complete {
            Some(_) => "complete".to_owned(),
            None => format!("cancelled by {}", person_of(&cancelled.by)),
        };
        let words = format!("pre-warm {why} {} ago: {what}", ctx.age(shown, cancelled.at));
        return Some((words, if nobody { drive } else { String::new() }));
    }
    if let Some(why) = view.error.as_ref().filter(|_| view.request.by.is_rolldeck()) {
        return Some((why.to_string(), prewarm_key_hints(page, &[(ActionId::CancelPrewarm, "cancel")])));
    }
    if let Some(why) = &view.error {
        return Some((
            format!("pre-warm cannot go on: {why}"),
            prewarm_key_hints(page, &[(ActionId::Prewarm, "another")]),
        ));
    }
    if let Some(paused) = &view.request.paused {
        let words = format!("pre-warm paused by {} {} ago", person_of(&paused.by), ctx.age(shown, paused.at));
        // What the rollout waits for offers the same key.
        let is_offered = page.prewarm().is_none() && offers(snapshot, Remedy::ResumePrewarm);
        let keys = if is_offered { &[][..] } else { &[(ActionId::PausePrewarm, "go on")][..] };
        return Some((words, prewarm_key_hints(page, keys)));
    }
    let denied = snapshot.rights.contains(&(Right::CreatePods, Permission::Denied));
    if let Some(refused) = view.refused_in_brief().filter(|_| !denied) {
        return Some((refused, prewarm_key_hints(page, &[RETRY])));
    }
    if let Some(unobtainable) = &view.unobtainable {
        let cancel = (ActionId::CancelPrewarm, "cancel");
        // Where the rollout requires these images, pre-warming would begin again at once.
        let in_vain = snapshot.requires_what_it_prewarms(view);
        // What the rollout waits for offers the same key.
        let is_offered = page.prewarm().is_none() && offers(snapshot, Remedy::RetryPrewarm);
        let offered = match (is_offered, in_vain) {
            (true, _) => &[][..],
            (false, true) => &[RETRY][..],
            (false, false) => &[RETRY, cancel][..],
        };
        let keys = prewarm_key_hints(page, offered);
        return Some((format!("pre-warm{}: {unobtainable}", snapshot.of_what_is_prewarmed()), keys));
    }
    if let Some(stuck) = view.stuck_in_words().next() {
        let words = format!("pre-warm{}: {stuck}", snapshot.of_what_is_prewarmed());
        return Some((words, prewarm_key_hints(page, &[RETRY])));
    }
    if let Some(waits) = snapshot.prewarming_waits().filter(|_| snapshot.has_silent_driver() && !offered) {
        return Some((format!("pre-warm: {waits}"), drive));
    }
    match page.summary.prewarm_stands.as_ref()? {
        PrewarmWait::NobodyDrives if !offered => Some(("pre-warm waits: nobody pre-warms".into(), drive)),
        wait @ PrewarmWait::RateLimited { again_at, .. } => {
            let at = if again_at.is_some() { ctx.present(shown) } else { snapshot.at };
            let words = wait.words(at);
            Some((format!("pre-warm waits: {words}"), prewarm_key_hints(page, &[(ActionId::RetryPrewarm, "try now")])))
        }
        PrewarmWait::Refused(why) => Some((format!("pre-warm waits: {why}"), "ask for a role that allows it".into())),
        PrewarmWait::ViewStale(why)
            if !snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::ViewStale { .. })) =>
        {
            Some((format!("pre-warm waits: {why}"), format!("{} watches", ActionId::Watches.key())))
        }
        _ => None,
    }
}

/// Whether the guidance for the rollout offers this remedy.
fn offers(snapshot: &Snapshot, remedy: Remedy) -> bool {
    snapshot.guidance().is_some_and(|guidance| guidance.remedies.contains(&remedy))
}

/// The retry on the pre-warm screen.
const RETRY: (ActionId, &str) = (ActionId::RetryPrewarm, "retry");

/// The keys of actions on the pre-warm screen: `r retry  x cancel` there, and `W, then r: retry · W, then x: cancel` elsewhere.
fn prewarm_key_hints(page: &RolloutPage, offered: &[(ActionId, &str)]) -> String {
    let open = ActionId::Prewarm.key();
    let keys = offered.iter().map(|(action, does)| match page.prewarm() {
        Some(_) => format!("{} {does}", action.key()),
        None => format!("{open}, then {}: {does}", action.key()),
    });
    keys.collect::<Vec<_>>().join(if page.prewarm().is_some() { "  " } else { " · " })
}
