//! The JSON names of enum variants, where scripts need another word than the console's. Each match names all variants, so
//! that the compiler asks for the name of a new one. `phase`, `state`, `hold`, `cause` and the watched kinds are the
//! console's words, from `Display`. `suggested_commands` names the kinds of remedies.

use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::Direction;
use crate::engine::model::suspect::SuspectView;
use crate::engine::report::snapshot::Alarm;

pub(super) fn alarm(alarm: &Alarm) -> &'static str {
    match alarm {
        Alarm::Cascade { .. } => "cascade",
        Alarm::StrategyDrifted { .. } => "strategyDrifted",
        Alarm::OwnLimitChanged { .. } => "ownLimitChanged",
        Alarm::OnDeleteEnforced { .. } => "onDeleteEnforced",
        Alarm::TemplateChanged { .. } => "templateChanged",
        Alarm::TargetUncertain { .. } => "targetUncertain",
        Alarm::BudgetUsedUp { .. } => "budgetUsedUp",
        Alarm::DeletionRefused { .. } => "deletionRefused",
        Alarm::DeletionsRefused { .. } => "deletionsRefused",
        Alarm::ControllerIdle { .. } => "controllerIdle",
        Alarm::SiteOutage(_) => "siteOutage",
        Alarm::ReleaseWaits { .. } => "releaseWaits",
        Alarm::Halted { .. } => "halted",
        Alarm::HaltWaits { .. } => "haltWaits",
        Alarm::ViewStale { .. } => "viewStale",
        Alarm::ViewForbidden { .. } => "viewForbidden",
        Alarm::ApiLatencyTooHigh { .. } => "apiLatencyTooHigh",
        Alarm::NoAnswer => "noAnswer",
        Alarm::WriteFailing { .. } => "writeFailing",
        Alarm::WriteRefused { .. } => "writeRefused",
        Alarm::RecordUnreadable { .. } => "recordUnreadable",
        Alarm::ForeignRecord { .. } => "foreignRecord",
        Alarm::RecordMissing => "recordMissing",
        Alarm::LimitsLost { .. } => "limitsLost",
        Alarm::BeingDeleted => "beingDeleted",
        Alarm::StateRestored { .. } => "stateRestored",
    }
}

pub(super) fn danger(danger: Danger) -> &'static str {
    match danger {
        Danger::None => "none",
        Danger::Bounded => "bounded",
        Danger::Serious => "serious",
        Danger::ExceedsBudget => "exceedsBudget",
    }
}

pub(super) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Back => "back",
    }
}

pub(super) fn driver(driver: &DriverView, strategy: StrategyKind) -> &'static str {
    match driver {
        DriverView::Unknown => "unknown",
        DriverView::Nobody if strategy == StrategyKind::RollingUpdate => "controller",
        DriverView::Nobody => "nobody",
        DriverView::You { .. } => "you",
        DriverView::Waiting { .. } => "waiting",
        DriverView::Unconfirmed { .. } => "unconfirmed",
        DriverView::Other { .. } => "other",
        DriverView::Lost { .. } => "lost",
    }
}

/// As `updateStrategy.type` has it.
pub(super) fn strategy(kind: StrategyKind) -> &'static str {
    match kind {
        StrategyKind::RollingUpdate => "RollingUpdate",
        StrategyKind::OnDelete => "OnDelete",
    }
}

pub(super) fn suspect(suspect: SuspectView) -> &'static str {
    match suspect {
        SuspectView::Waits { .. } => "waits",
        SuspectView::InUpdate { .. } => "inUpdate",
        SuspectView::Outage => "siteOutage",
        SuspectView::AllOver => "allOver",
        SuspectView::Stays | SuspectView::Again | SuspectView::Compared => "failed",
    }
}

pub(super) fn watch_health(health: &WatchHealth) -> &'static str {
    match health {
        WatchHealth::Loading => "loading",
        WatchHealth::Live => "live",
        WatchHealth::Down { .. } => "down",
        WatchHealth::Lagging { .. } => "lagging",
        WatchHealth::Forbidden { .. } => "forbidden",
    }
}
