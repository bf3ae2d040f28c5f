//! The struct [`Engine`]: its fields, and how facts and commands change it. What to write next is decided in
//! [`super::act::decide`], what became of writes is taken in by [`super::act::outcome`], what to show is made in [`super::report`].

mod change;
mod health;
mod holds;
pub(super) mod idle;
mod intent;
mod next_step;
pub(super) mod old_pods;
pub(super) mod release;
mod sending;
mod strategy_drift;
pub(super) mod surge;
pub(super) mod suspects;
pub(crate) mod tell;
pub(super) mod unsent;

use std::collections::BTreeMap;

use super::assess::plan::Plan;
use super::assess::rows::{Assessment, Row};
use super::event_log::EventLog;
use super::lease::edit::Edit;
use super::lease::lock::Lock;
use super::lease::unsaved::Unsaved;
use super::model::budget::BudgetView;
use super::model::command::CommandId;
use super::model::config::Config;
use super::model::effect::{EffectError, EffectId};
use super::model::facts::{DaemonSetFact, StrategyKind};
use super::model::node::NodeIx;
use super::model::notice::Notice;
use super::model::pod_wait::Blocker;
use super::model::record::{ORIGINAL_STRATEGY, Progress};
use super::model::time::Timestamp;
use super::model::{Str, person_of};
use super::refresh::Inputs;
use super::rules::change::WrittenChange;
use super::rules::suspects::Judgement;
use super::view::View;
use super::writes::pending::Pending;
use super::writes::refusals::Refusals;
use super::writes::retry::Retry;
use super::writes::sending::Sending;
use super::writes::sent::{Deletion, Patching, Sent};

/// The state machine of one rollout.
#[derive(Debug)]
pub struct Engine {
    pub(crate) config: Config,
    pub(crate) view: View,
    pub(crate) lock: Lock,
    /// Commands that are not settled yet, oldest first.
    pub(crate) pending: Vec<Pending>,
    /// Edits of the record that are not saved yet, oldest first.
    pub(crate) edits: Vec<Unsaved>,
    /// Our copy of the progress. While we drive it is ahead of the record; otherwise it is the one in the record.
    pub(crate) progress: Progress,
    /// Deletions that were sent and are not seen yet, by pod uid.
    pub(crate) deletions: BTreeMap<Str, Deletion>,
    /// For each deletion whose answer was lost, by pod uid: its node, and what went wrong.
    pub(crate) unanswered: BTreeMap<Str, (Str, EffectError)>,
    /// The DaemonSet patch that was sent and is not answered yet.
    pub(crate) patching: Option<Patching>,
    pub(crate) daemonset_retry: Retry,
    /// The resource version at which a patch of the DaemonSet met a conflict. It is tried again once a newer one is seen.
    pub(crate) conflicted: Option<Str>,
    pub(crate) delete_retry: Retry,
    /// Nodes where a deletion failed, and until when none is tried there.
    pub(crate) node_retry: BTreeMap<NodeIx, Timestamp>,
    /// Deletions that were refused.
    pub(crate) refusals: Refusals,
    /// Set `OnDelete` at once, whoever drives.
    pub(crate) brake: bool,
    /// The brake was asked for while the DaemonSet could not be seen. `OnDelete` is then set even if the view shows it as set
    /// already, and only the answer to the patch ends it.
    pub(crate) brake_unseen: bool,
    /// The template change whose patch was answered since this process started, as long as the record asks for it.
    pub(crate) written: Option<WrittenChange>,
    /// The annotation of a change that is over and that the API server did not let us remove.
    pub(crate) untidy: Option<Str>,
    /// Deletions wait for a proof: a write of the Lease is needed even if there is nothing else to write.
    pub(crate) needs_proof: bool,
    /// How fast and how far away deletions are sent, and what they wait for.
    pub(crate) sending: Sending,
    /// Why the last write of the DaemonSet or deletion of a pod failed, in words.
    pub(crate) write_failure: Option<Str>,
    /// Why the last write of the Lease failed, in words.
    pub(crate) lease_failure: Option<Str>,
    pub(crate) assessment: Assessment,
    pub(crate) budget: BudgetView,
    pub(crate) plan: Plan,
    /// Which suspects count as failed, and which sites are down.
    pub(crate) judgement: Judgement,
    /// Nodes of the fleet whose object is gone, and whether they were updated.
    pub(crate) vanished: BTreeMap<NodeIx, bool>,
    /// What the rollout waits for while it is prepared or released, and since when.
    pub(crate) blocked_since: Option<(Blocker, Timestamp)>,
    /// Something happened since the last assessment.
    pub(crate) dirty: bool,
    /// The last assessment holds until then, if nothing happens.
    pub(crate) fresh_until: Option<Timestamp>,
    /// What the last assessment depended on, beside the facts.
    pub(crate) inputs: Option<Inputs>,
    pub(crate) now: Timestamp,
    pub(crate) notices: Vec<Notice>,
    pub(crate) event_log: EventLog,
    pub(crate) next_effect: u64,
    pub(crate) next_command: u64,
    pub(crate) next_edit: u64,
    pub(crate) effects: BTreeMap<EffectId, Sent>,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            lock: Lock::new(config.identity.clone(), config.timing),
            view: View::default(),
            pending: Vec::new(),
            edits: Vec::new(),
            progress: Progress::default(),
            deletions: BTreeMap::new(),
            unanswered: BTreeMap::new(),
            patching: None,
            daemonset_retry: Retry::default(),
            conflicted: None,
            delete_retry: Retry::default(),
            node_retry: BTreeMap::new(),
            refusals: Refusals::default(),
            brake: false,
            brake_unseen: false,
            written: None,
            untidy: None,
            needs_proof: false,
            sending: Sending::new(config.rate),
            write_failure: None,
            lease_failure: None,
            assessment: Assessment::default(),
            budget: BudgetView::default(),
            plan: Plan::default(),
            judgement: Judgement::default(),
            vanished: BTreeMap::new(),
            blocked_since: None,
            dirty: true,
            fresh_until: None,
            inputs: None,
            now: Timestamp::default(),
            notices: Vec::new(),
            event_log: EventLog::default(),
            next_effect: 0,
            next_command: 0,
            next_edit: 0,
            effects: BTreeMap::new(),
            config,
        }
    }

    /// What it was told when it was made.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether anything is being rolled out, by us or by the DaemonSet's own controller: a rollout has begun, or some node
    /// of the fleet has a pod that is not at the target.
    pub(crate) fn is_under_way(&self) -> bool {
        self.progress.started_at.is_some() || self.assessment.rows().any(|row| row.in_fleet && row.old)
    }

    /// The person in our identity: who is named in the record.
    pub(crate) fn actor(&self) -> Str {
        person_of(&self.config.identity).into()
    }

    pub(crate) fn strategy(&self) -> StrategyKind {
        self.view.daemonset.as_ref().map(|daemonset| daemonset.strategy.kind).unwrap_or_default()
    }

    /// Whether rolldeck has taken over: `OnDelete`, with the original strategy saved.
    pub(crate) fn is_adopted(&self) -> bool {
        self.view.daemonset.as_ref().is_some_and(|daemonset| {
            daemonset.strategy.kind == StrategyKind::OnDelete && daemonset.annotations.get(ORIGINAL_STRATEGY).is_some()
        })
    }

    /// Whether the controller has observed the present generation of the spec.
    pub(crate) fn is_observed(&self) -> bool {
        self.view.daemonset.as_ref().is_some_and(|daemonset| daemonset.observed_generation >= daemonset.generation)
    }

    /// Whether an original strategy is saved, even if it was by a rollout whose record is gone.
    pub(crate) fn has_saved_strategy(daemonset: &DaemonSetFact) -> bool {
        daemonset.annotations.get(ORIGINAL_STRATEGY).is_some()
    }

    /// The strategy that a release would restore, as it was saved.
    pub(crate) fn original_strategy(daemonset: &DaemonSetFact) -> Option<serde_json::Value> {
        serde_json::from_str(daemonset.annotations.get(ORIGINAL_STRATEGY)?).ok()
    }

    pub(crate) fn name(&self, row: &Row) -> Str {
        self.view.nodes.get(row.node).map(|entry| entry.name.clone()).unwrap_or_default()
    }

    pub(crate) fn natural_ranks(&self) -> &[u32] {
        self.view.natural()
    }

    /// Adds an edit of the record, to be saved with the next write of the Lease.
    pub(crate) fn edit(&mut self, command: Option<CommandId>, edit: Edit) {
        self.dirty = true;
        let edit = edit.with_short_reasons();
        self.edits.push(Unsaved { serial: self.next_edit, command, edit, made_at: self.now });
        self.next_edit += 1;
    }

    pub(crate) fn say(&mut self, notice: Notice) {
        self.notices.push(notice);
    }
}
