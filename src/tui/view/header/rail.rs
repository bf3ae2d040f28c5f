//! The steps of the plan as a rail, and the speed of the rollout.
//!
//! ```text
//!  ✓ 1 ── ▶ 10% (7/12) ── · 50% ── · 100%   soak 2m · images first
//!  ▂▃▅▅▂▅ 4/min
//! ```

use ratatui::text::Span;

use super::super::RenderContext;
use super::recorded;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::Direction;
use crate::engine::model::settings::value::Secs;
use crate::engine::model::settings::{OnFailure, Setting, SettingRole};
use crate::engine::report::snapshot::{Phase, PlanView, Snapshot};
use crate::engine::report::story::UpdateSpeed;
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::theme::{Glyph, Glyphs, ThemeRole};

/// The levels of the graph, from nothing to the most.
const LEVELS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The steps: those that are done, the current one, those ahead. `None` if the plan does not decide what happens next.
pub(super) fn rail(ctx: &RenderContext<'_>, snapshot: &Snapshot) -> Option<Vec<Span<'static>>> {
    let plan = &snapshot.plan;
    let is_loading = snapshot.phase == Phase::Loading;
    if is_loading || !recorded(snapshot) || plan.steps.len() < 2 || snapshot.direction == Direction::Back {
        return None;
    }
    let (updated, nodes) = (snapshot.counts.updated, snapshot.counts.nodes);
    let mut spans = Vec::new();
    for (nth, RailStop { name, total, reached, current }) in stops(plan, nodes).into_iter().enumerate() {
        let moving = current && updated < plan.allowed;
        // A step is not done if it was passed before its nodes were updated, or if a selector leaves out some of its nodes.
        let is_done = updated >= total;
        // A node that failed is not updated, also where an operator went on past it.
        let lacks_failed = !is_done && snapshot.counts.failed > 0 && updated + snapshot.counts.failed >= total;
        let goes_on = snapshot.phase == Phase::Running && snapshot.undriven_in_words().is_none();
        let (glyph, role) = match (reached, moving, &snapshot.phase) {
            (false, ..) => (Glyph::Outdated, ThemeRole::Muted),
            (true, false, _) if lacks_failed => (Glyph::Failed, ThemeRole::Warn),
            // It was passed before its nodes were updated, and they are being updated.
            (true, false, _) if !is_done && !current && goes_on => (Glyph::Moving, ThemeRole::Busy),
            (true, false, _) if !is_done => (Glyph::Outdated, ThemeRole::Text),
            (true, false, _) => (Glyph::Updated, ThemeRole::Ok),
            (true, true, Phase::Running) if goes_on => (Glyph::Running, ThemeRole::Busy),
            (true, true, Phase::Paused(_)) => (Glyph::Paused, ThemeRole::Warn),
            (true, true, Phase::Halted) => (Glyph::Failed, ThemeRole::Bad),
            (true, true, _) => (Glyph::Outdated, ThemeRole::Text),
        };
        // A selector may leave out some of its nodes: the number that it is about stays the same from its beginning to its end.
        let numbers = if moving || (current && !is_done) { format!(" ({updated}/{total})") } else { String::new() };
        if nth > 0 {
            spans.push(ctx.span(format!(" {0}{0} ", ctx.glyph(Glyph::Rule)), ThemeRole::Frame));
        }
        spans.push(ctx.span(format!("{} {name}{numbers}", ctx.glyph(glyph)), role));
    }
    Some(spans)
}

/// A step on the rail.
struct RailStop {
    /// The step as written in the plan.
    name: String,
    /// The total number of nodes that may be updated after the step.
    total: u32,
    /// The rollout has reached the step: its number of nodes may be updated.
    reached: bool,
    /// The step was reached last.
    current: bool,
}

fn totals(plan: &PlanView, nodes: u32) -> Vec<u32> {
    plan.steps.iter().map(|step| step.nodes_of(nodes)).collect()
}

/// The steps of the plan; between them the number that an operator lets go by hand, if it is no step.
fn stops(plan: &PlanView, nodes: u32) -> Vec<RailStop> {
    let totals = totals(plan, nodes);
    let by_hand = plan.by_hand(nodes);
    let stop = |(nth, (step, total)): (usize, (&IntOrPercent, &u32))| RailStop {
        name: step.to_string(),
        total: *total,
        reached: match by_hand {
            Some(_) => *total < plan.allowed,
            None => plan.step.is_some_and(|last| nth <= last),
        },
        current: by_hand.is_none() && plan.step == Some(nth),
    };
    let mut stops: Vec<RailStop> = plan.steps.iter().zip(&totals).enumerate().map(stop).collect();
    if let Some(name) = &by_hand {
        let at = totals.iter().position(|total| *total > plan.allowed).unwrap_or(stops.len());
        stops.insert(at, RailStop { name: name.clone(), total: plan.allowed, reached: true, current: true });
    }
    stops
}

/// The conditions that a node has to pass and that end the rollout, as far as they differ from the defaults: `soak 2m ·
/// images first · back at 2 failed`. Empty if all have their defaults, and before a rollout is recorded.
pub(super) fn gates(snapshot: &Snapshot) -> String {
    if !recorded(snapshot) || snapshot.direction == Direction::Back {
        return String::new();
    }
    let settings = &snapshot.settings;
    let goes_back = settings.gates.on_failure == OnFailure::RollBack;
    let (mut passed, mut ends) = (Vec::new(), Vec::new());
    for gate in Setting::gates() {
        let place = match gate.about().role {
            SettingRole::Holds | SettingRole::Delays => &mut passed,
            SettingRole::Halts(_) => &mut ends,
            // Limits of a single node are told by `status` and the form of settings; what a halt does is said of the halt.
            SettingRole::FailsANode | SettingRole::Limits | SettingRole::Decides => continue,
        };
        match gate {
            Setting::FailureThreshold if goes_back || gate.is_changed_in(settings) => {
                let does = if goes_back { "back" } else { "halt" };
                place.push(format!("{does} at {} failed", settings.gates.failure_threshold));
            }
            _ if !gate.is_changed_in(settings) => {}
            Setting::Soak if settings.gates.soak_secs == Secs(0) => place.push("no soak".to_owned()),
            Setting::RequireImage => place.push("images first".to_owned()),
            _ => place.push(gate.in_words(settings)),
        }
    }
    passed.append(&mut ends);
    passed.join(" · ")
}

/// The speed at which nodes are updated, in two lengths: with its sparkline, and as a number alone.
pub(super) struct SpeedText {
    pub(super) with_sparkline: String,
    pub(super) rate: String,
}

/// The speed at which nodes are updated, during updates; `None` before it can be computed.
pub(super) fn speed(ctx: &RenderContext<'_>, page: &RolloutPage, shown: &ShownSnapshot) -> Option<SpeedText> {
    let snapshot = &*shown.snapshot;
    let began = snapshot.target_began().filter(|_| snapshot.phase == Phase::Running)?;
    // The speed changes in steps of a minute, so that it does not cause redraws by itself.
    let speed = page.story.speed(began, ctx.instant(shown, began))?;
    let rate = match speed.per_minute {
        rate if rate >= 9.5 => format!("{rate:.0}/min"),
        rate => format!("{rate:.1}/min"),
    };
    let with_sparkline = match ctx.model.glyphs {
        Glyphs::Unicode => format!("{} {rate}", sparkline(&speed)),
        Glyphs::Ascii => rate.clone(),
    };
    Some(SpeedText { with_sparkline, rate })
}

fn sparkline(speed: &UpdateSpeed) -> String {
    let most = speed.parts.iter().copied().max().unwrap_or(0).max(1) as usize;
    // The smallest number above zero is still visible.
    let level = |count: u32| LEVELS[(count as usize * (LEVELS.len() - 1)).div_ceil(most)];
    let line: String = speed.parts.iter().map(|count| level(*count)).collect();
    line.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
    use crate::engine::model::quantity::IntOrPercent::{Int, Percent};
    use crate::engine::model::settings::Settings;

    /// The reason why the header leaves out a setting beside the steps; `None` if it shows the setting.
    fn left_out(setting: Setting) -> Option<&'static str> {
        match (setting, setting.about().role) {
            (Setting::OnFailure, _) => None,
            (_, SettingRole::Limits) => Some("the budget has a place of its own"),
            (Setting::Steps, _) => Some("the rail itself"),
            (_, SettingRole::FailsANode) => {
                Some("limits of a single node, which `status` and the form of settings tell")
            }
            (_, SettingRole::Decides) => Some("no gate"),
            (_, SettingRole::Halts(_) | SettingRole::Holds | SettingRole::Delays) => None,
        }
    }

    #[test]
    fn a_gate_that_is_not_as_by_default_is_seen_beside_the_steps() {
        let fake = FakeCluster::rolling(1, 1);
        let mut snapshot = FakeConsole::open(&fake, "ops").snapshot(&fake);
        snapshot.started_at = Some(snapshot.at);
        for setting in Setting::ALL {
            snapshot.settings = Settings::default();
            assert_eq!(gates(&snapshot), "", "all is as it is by default");
            setting.another().apply_to(&mut snapshot.settings);
            let said = gates(&snapshot);
            assert_eq!(said.is_empty(), left_out(*setting).is_some(), "{setting:?}: {said}");
        }
    }

    #[test]
    fn a_number_that_an_operator_lets_go_by_hand_stands_between_the_steps() {
        let names = |step: Option<usize>, allowed: u32| -> Vec<String> {
            let steps = vec![Int(2), Percent(10), Percent(100)];
            let partition = Some(Int(120 - allowed));
            let plan = PlanView { steps, step, allowed, partition, ..PlanView::default() };
            let name = |stop: RailStop| format!("{}{}", stop.name, if stop.current { " now" } else { "" });
            stops(&plan, 120).into_iter().map(name).collect()
        };
        assert_eq!(names(None, 0), ["2", "10%", "100%"]);
        assert_eq!(names(Some(0), 1), ["1 now", "2", "10%", "100%"]);
        assert_eq!(names(Some(0), 2), ["2 now", "10%", "100%"]);
        assert_eq!(names(Some(1), 3), ["2", "3 now", "10%", "100%"]);
        assert_eq!(names(Some(1), 12), ["2", "10% now", "100%"]);
        assert_eq!(names(Some(2), 120), ["2", "10%", "100% now"]);
    }
}
