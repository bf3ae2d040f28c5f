//! The struct [`Engine`]: its fields, and how facts and commands change it. [`super::act::decide`] decides the next writes,
//! [`super::act::outcome`] takes in the outcomes of writes, and [`super::report`] makes the snapshot to show.

mod blocker;
pub(crate) mod change;
mod evictions;
mod halted_revisions;
pub(super) mod halting;
mod health;
mod holds;
pub(super) mod idle;
mod injected;
mod intent;
pub(crate) mod lost_record;
mod next_step;
pub(super) mod old_pods;
pub(crate) mod pace;
pub(crate) mod placement;
pub(super) mod prewarm;
pub(super) mod release;
pub(crate) mod rollout_events;
mod selected;
mod sending;
mod strategy_drift;
pub(super) mod surge;
pub(super) mod suspects;
mod taken_away;
mod unreadable_record;
mod unrecorded;
mod unsent;

use std::borrow::Cow;

use self::pace::Pacing;
use self::prewarm::Prewarming;
use self::rollout_events::ReportedDriver;
use self::suspects::Suspects;
use self::taken_away::TakenAway;
use super::assess::freshness::Freshness;
use super::assess::plan::Plan;
use super::assess::rows::{Assessment, Row};
use super::event_log::EventLog;
use super::lease::edit::Edit;
use super::lease::edits::Edits;
use super::lease::lock::Lock;
use super::model::budget::BudgetView;
use super::model::command::CommandId;
use super::model::config::Config;
use super::model::facts::StrategyKind;
use super::model::notice::Notice;
use super::model::pod_wait::Blocker;
use super::model::record::Progress;
use super::model::site::SiteLabel;
use super::model::time::Timestamp;
use super::model::{Str, person_of};
use super::rules::saved_strategy::is_adopted;
use super::view::View;
use super::writes::daemonset::DaemonSetWrites;
use super::writes::deletions::Deletions;
use super::writes::effects::EffectsInFlight;
use super::writes::failures::Failures;
use super::writes::pending::PendingCommands;
use super::writes::refusals::Refusals;
use super::writes::sending::Sending;

/// The state machine of one rollout.
#[derive(Debug)]
pub struct Engine {
    pub(crate) config: Config,
    pub(crate) view: View,
    pub(crate) lock: Lock,
    pub(crate) pending: PendingCommands,
    pub(crate) edits: Edits,
    /// Our copy of the progress. While we drive it is ahead of the record; otherwise it is the one in the record.
    pub(crate) progress: Progress,
    pub(crate) effects: EffectsInFlight,
    pub(crate) deletions: Deletions,
    pub(crate) daemonset: DaemonSetWrites,
    /// Deletions that were refused.
    pub(crate) refusals: Refusals,
    /// The rate of deletions, the distance to the API server, and what deletions wait for.
    pub(crate) sending: Sending,
    pub(crate) failures: Failures,
    pub(crate) assessment: Assessment,
    pub(crate) budget: BudgetView,
    pub(crate) plan: Plan,
    pub(crate) suspects: Suspects,
    /// Pre-warming: the writes on their way, and the progress so far.
    pub(crate) warming: Prewarming,
    /// The limits of sites that follow what their links bear.
    pub(crate) pacing: Pacing,
    /// What the rollout waits for while it is prepared or released, and since when.
    pub(crate) blocked_since: Option<(Blocker, Timestamp)>,
    pub(crate) freshness: Freshness,
    pub(crate) now: Timestamp,
    pub(crate) notices: Vec<Notice>,
    pub(crate) event_log: EventLog,
    pub(crate) reported_driver: ReportedDriver,
    pub(crate) taken_away: TakenAway,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            lock: Lock::new(config.identity.clone(), config.timing),
            view: View::default(),
            pending: PendingCommands::default(),
            edits: Edits::default(),
            progress: Progress::default(),
            effects: EffectsInFlight::default(),
            deletions: Deletions::default(),
            daemonset: DaemonSetWrites::default(),
            refusals: Refusals::default(),
            sending: Sending::new(config.rate),
            failures: Failures::default(),
            assessment: Assessment::default(),
            budget: BudgetView::default(),
            plan: Plan::default(),
            suspects: Suspects::default(),
            warming: Prewarming::default(),
            pacing: Pacing::default(),
            blocked_since: None,
            freshness: Freshness::default(),
            now: Timestamp::default(),
            notices: Vec::new(),
            event_log: EventLog::default(),
            reported_driver: ReportedDriver::default(),
            taken_away: TakenAway::default(),
            config,
        }
    }

    /// The configuration that the engine was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether anything is being rolled out, by us or by the DaemonSet's own controller: a rollout has begun, or some node
    /// of the fleet has a pod that is not at the target.
    pub(crate) fn is_under_way(&self) -> bool {
        self.progress.started_at.is_some() || self.assessment.rows().any(|row| row.in_fleet && row.old)
    }

    /// The person in our identity, who is named in the record.
    pub(crate) fn actor(&self) -> Str {
        person_of(&self.config.identity).into()
    }

    pub(crate) fn strategy(&self) -> StrategyKind {
        self.view.daemonset().map(|daemonset| daemonset.strategy.kind).unwrap_or_default()
    }

    /// Whether rolldeck has taken over: `OnDelete`, with the original strategy saved.
    pub(crate) fn is_adopted(&self) -> bool {
        self.view.daemonset().is_some_and(is_adopted)
    }

    /// Whether the controller has observed the present generation of the spec.
    pub(crate) fn is_observed(&self) -> bool {
        self.view.daemonset().is_some_and(|daemonset| daemonset.observed_generation >= daemonset.generation)
    }

    pub(crate) fn name(&self, row: &Row) -> Str {
        self.view.nodes().get(row.node).map(|entry| entry.name.clone()).unwrap_or_default()
    }

    /// The site of a row's node.
    pub(crate) fn site(&self, row: &Row) -> Str {
        self.view.nodes().get(row.node).map(|entry| entry.site.clone()).unwrap_or_default()
    }

    /// The label that tells nodes apart into sites: that of the rollout, or that of pre-warming if no rollout is recorded.
    pub(crate) fn site_label(&self) -> SiteLabel {
        let of_prewarming = || self.recorded_prewarm().and_then(|asked| asked.limits.site_label.clone());
        match self.assessed_intent() {
            Some(intent) => intent.budgets.site_label.clone(),
            None => of_prewarming().or_else(|| self.config.defaults.site_label.clone()).unwrap_or_default(),
        }
    }

    pub(crate) fn natural_ranks(&self) -> &[u32] {
        self.view.natural()
    }

    /// Adds an edit of the record, to be saved with the next write of the Lease.
    pub(crate) fn edit(&mut self, command: Option<CommandId>, edit: Edit) {
        self.freshness.touch();
        let edit = edit.with_short_reasons();
        let intent = command.and_then(|_| self.recorded_intent()).map(Cow::into_owned);
        self.edits.add(command, edit, (intent, self.lock.record().is_some()), self.now);
    }

    pub(crate) fn say(&mut self, notice: Notice) {
        self.notices.push(notice);
    }
}
