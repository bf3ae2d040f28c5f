//! A command from this console that has not reached the cluster, and the reason why nobody drives any more.

use ratatui::text::Span;

use super::super::RenderContext;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::person_of;
use crate::engine::model::unsent::UnsentKind;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::action::ActionId;
use crate::tui::model::ShownSnapshot;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, width};

/// `PAUSE NOT SENT 48s, retrying`, in place of the rollout's present action; the line below explains the consequences.
pub(super) fn sign(ctx: &RenderContext<'_>, shown: &ShownSnapshot, and: &str) -> Option<Span<'static>> {
    let unsent = shown.snapshot.not_sent()?;
    let what = unsent.kind.to_string().to_uppercase();
    let age = ctx.age(shown, unsent.since);
    Some(ctx.span(format!("{} {what} NOT SENT {age}{and}", ctx.glyph(Glyph::Alarm)), ThemeRole::Bad))
}

/// The consequences of the unsent write: what does not happen, and what happens nevertheless.
pub(super) fn meaning(snapshot: &Snapshot) -> String {
    let pause = snapshot.not_sent().is_some_and(|unsent| unsent.kind == UnsentKind::Pause);
    match &snapshot.driver {
        _ if pause && snapshot.strategy == StrategyKind::RollingUpdate => {
            "its controller goes on replacing pods until OnDelete is set".to_owned()
        }
        DriverView::Other { holder, .. } | DriverView::Unconfirmed { holder, .. } => {
            format!("{} does not know of it, and goes on until it is saved", person_of(holder))
        }
        _ if pause => "nothing is started from here; whoever drives next does not know of it yet".to_owned(),
        _ => "nothing is started from here until it is saved; the numbers are the saved ones".to_owned(),
    }
}

/// The reason why the last driver stopped by itself, and the key to drive again, after `arms`.
pub(super) fn stopped(ctx: &RenderContext<'_>, shown: &ShownSnapshot, arms: &str, cells: usize) -> String {
    let Some(stopped) = &shown.snapshot.driver_stopped else { return String::new() };
    let key = ActionId::Drive.key();
    let keys = format!("   {arms}{key} drives");
    let room = cells.saturating_sub(2 + width(&keys));
    let words = format!("{} stopped driving {} ago: {}", stopped.by, ctx.age(shown, stopped.at), stopped.why);
    format!("{}{keys}", fit(&words, room))
}
