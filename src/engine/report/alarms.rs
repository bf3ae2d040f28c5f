//! The alarms: everything that needs the operator's attention now, worst first.

use crate::engine::assess::plan::costs_nothing;
use std::mem::discriminant;
use std::time::Duration;

use super::snapshot::Alarm;
use super::snapshot::alarm::AtOnce;
use crate::engine::assess::plan::Limits;
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::machine::old_pods::{counted, where_and_why};
use crate::engine::model::Str;
use crate::engine::model::config::Role;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::first_names::first_names;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeIx;
use crate::engine::model::record::{BegunAnew, Direction, Intent, RefusedWrite};
use crate::engine::model::settings::Finish;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::distance::rounded;
use crate::engine::rules::holds::{HoldEndedBy, HoldKind};
use crate::engine::rules::ownership::gitops_owner_of;
use crate::engine::rules::saved_strategy::{changed_limit, controllers_max_unavailable};

impl Engine {
    pub(crate) fn alarms(&self, recorded: bool, intent: &Intent, now: Timestamp) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        let restored = self.config().restored_at.filter(|_| !self.lock.wants_to_drive());
        alarms.extend(restored.map(|at| Alarm::StateRestored { at }));
        let daemonset = self.view.daemonset();
        let down = self.budget.rollout + self.budget.suspect + self.budget.node + self.budget.pre_existing;
        let limit = daemonset.and_then(|daemonset| controllers_max_unavailable(daemonset, self.assessment.desired));
        if let Some(max_unavailable) = limit.filter(|limit| self.view.replaced_unready() > 0 && down > *limit) {
            alarms.push(Alarm::Cascade { down, max_unavailable, replaced_unready: self.view.replaced_unready() });
        }
        alarms.extend(self.drift_alarm(intent, now).filter(|_| recorded));
        if let Some(why) = self.lock.record_error() {
            alarms.push(Alarm::RecordUnreadable { why: why.clone() });
        }
        if let Some(foreign) = self.lock.foreign_record().filter(|_| daemonset.is_some()) {
            let paused_by = foreign.intent.paused.as_ref().map(|paused| paused.by.clone());
            alarms.push(Alarm::ForeignRecord { paused_by, strategy: self.strategy() });
        }
        if self.record_is_missing() {
            alarms.push(Alarm::RecordMissing);
        }
        alarms.extend(self.limits_alarm(intent).filter(|_| recorded));
        alarms.extend(self.own_limit_alarm(intent).filter(|_| recorded));
        if self.is_being_deleted() {
            alarms.push(Alarm::BeingDeleted);
        }
        if let Some(halt) = self.halt_as_it_stands(intent) {
            alarms.push(Alarm::Halted { gate: halt.gate, why: why_and_where(&halt.why, halt.named()).into() });
        }
        let undriven = self.halt_without_driver(intent, now).filter(|_| recorded);
        alarms.extend(undriven.as_ref().map(|reason| Alarm::HaltWaits {
            gate: reason.gate,
            why: why_and_where(&reason.why, &reason.nodes).into(),
        }));
        if recorded && self.is_template_of_others(intent) {
            alarms.push(self.template_alarm(intent));
        }
        alarms.extend(self.uncertain_target().filter(|_| recorded));
        alarms.extend(self.idle_alarm(now));
        alarms.extend(self.refused_alarm(now).filter(|_| recorded));
        alarms.extend(self.suspects.judgement().outages.iter().cloned().map(Alarm::SiteOutage));
        // While a halt waits for a driver, a larger budget would free no node.
        alarms.extend(self.budget_alarm(intent).filter(|_| recorded && undriven.is_none()));
        alarms.extend(self.release_alarm(intent).filter(|_| recorded));
        // The alarm of a silent server already says that a write of the Lease fails.
        let distance_alarm = self.distance_alarm().filter(|_| recorded);
        let of_lease = self.failures.of_lease().filter(|_| distance_alarm != Some(Alarm::NoAnswer));
        let of_lease = of_lease.map(|failure| (&failure.why, failure.refused));
        for (why, lease_refused) in of_lease.into_iter().chain(self.failures.of_daemonset().map(|why| (why, false))) {
            alarms.push(Alarm::WriteFailing { why: why.clone(), lease_refused });
        }
        // Whoever holds the lease knows better what became of its writes.
        let of_driver = self.progress.refused_write.as_ref().filter(|_| recorded && !self.lock.holds());
        alarms.extend(
            of_driver.map(|RefusedWrite { since, why }| Alarm::WriteRefused { since: *since, why: why.clone() }),
        );
        alarms.extend(distance_alarm);
        let forbidden = Watched::NEEDED.into_iter().find_map(|watched| match self.health(watched) {
            WatchHealth::Forbidden { why } => Some(format!("{watched} may not be read: {why}")),
            _ => None,
        });
        let drives = self.lock.holds() && self.config().role == Role::Driver;
        alarms.extend(forbidden.filter(|_| !drives).map(|why| Alarm::ViewForbidden { why: why.into() }));
        // This holds as well when we could not renew the lease for so long that we may not act any more.
        if let Some(why) = self.blindness().filter(|_| drives) {
            alarms.push(Alarm::ViewStale { why });
        }
        alarms
    }

    /// The alarm for a record that was begun anew, while the limits of the lost one are not known.
    fn limits_alarm(&self, intent: &Intent) -> Option<Alarm> {
        let lost = intent.has_lost_limits() && intent.releasing.is_none();
        let BegunAnew { begun, before, .. } = intent.begun_anew.clone().filter(|_| lost)?;
        let max_unavailable = Limits::of(&self.view, intent, &self.assessment).max_unavailable;
        let soak = Duration::from_secs(intent.gates.soak_secs.0.into());
        Some(Alarm::LimitsLost { begun, before, max_unavailable, soak })
    }

    /// The alarm for a `maxUnavailable` that somebody has changed in the DaemonSet since the adoption, under `OnDelete`.
    fn own_limit_alarm(&self, intent: &Intent) -> Option<Alarm> {
        let limit = changed_limit(self.view.daemonset().filter(|_| self.is_adopted())?, self.view.original_strategy())?;
        let max_unavailable = Limits::of(&self.view, intent, &self.assessment).max_unavailable;
        Some(Alarm::OwnLimitChanged { by: self.who_set_the_limit(), limit, max_unavailable })
    }

    /// The alarm for a target that is only guessed: it is not certain which revision the template has.
    fn uncertain_target(&self) -> Option<Alarm> {
        let current = self.view.current().filter(|_| !self.view.current_is_certain())?;
        let number = self.view.revision(current).map(|revision| revision.number.to_string());
        Some(Alarm::TargetUncertain { revision: number.map_or_else(|| current.clone(), Into::into) })
    }

    /// The alarm for a budget that is used up by nodes of which none will come back by itself.
    fn budget_alarm(&self, intent: &Intent) -> Option<Alarm> {
        let held = |node: &NodeIx| self.plan.hold(*node);
        let waits = |hold: &Hold| hold.kind() != HoldKind::Partition;
        // The budget is given out in order, so the hold of the first node in line holds the others, too.
        let mut in_line = self.plan.line.iter().filter_map(|node| Some((*node, held(node)?)));
        let (_, first) = in_line.find(|(_, hold)| waits(hold))?;
        // Nodes that are charged already and do not serve are updated all the same, wherever they stand in line.
        let goes =
            |node: &NodeIx| self.assessment.row(*node).is_some_and(|row| costs_nothing(row, intent.budgets.strict));
        let waits_for_driver = |node: &&NodeIx| held(node).is_some_and(|hold| hold.ended_by() == HoldEndedBy::Driver);
        let goes_all_the_same = self.plan.line.iter().filter(waits_for_driver).any(goes);
        let (used, limit) = match first {
            Hold::Budget { used, next: _, limit } => (*used, *limit),
            // No driver is there to hold nodes for the budget, so this is judged as a driver would.
            Hold::NobodyDrives | Hold::NobodySeenDriving if goes_all_the_same => return None,
            Hold::NobodyDrives | Hold::NobodySeenDriving => {
                let limits = Limits::of(&self.view, intent, &self.assessment);
                let used = self.budget.charged;
                if used < limits.max_unavailable || limits.lacks_budget {
                    return None;
                }
                (used, limits.max_unavailable)
            }
            _ => return None,
        };
        let waiting =
            self.plan.line.iter().filter_map(held).filter(|hold| discriminant(*hold) == discriminant(first)).count();
        let comes_back = |row: &Row| self.comes_back_by_itself(row);
        let on_its_way = |row: &Row| row.in_fleet && !row.available && (row.state.is_moving() || comes_back(row));
        (self.plan.next.is_empty() && !self.assessment.rows().any(on_its_way)).then(|| Alarm::BudgetUsedUp {
            used,
            limit,
            waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
            failed: if intent.direction() == Direction::Back { 0 } else { self.failed_and_down() },
        })
    }

    /// The alarm for nodes that cannot be updated because the API server refuses to delete their pods.
    fn refused_alarm(&self, now: Timestamp) -> Option<Alarm> {
        if self.refusals.are_general() {
            // Who has stopped driving tries none again.
            return self
                .failures
                .of_deletion()
                .filter(|_| self.lock.holds())
                .map(|why| Alarm::DeletionsRefused { why: why.clone() });
        }
        let held = |row: &Row| match self.plan.hold(row.node) {
            Some(Hold::DeletionRefused { why }) => Some((self.name(row), why.clone())),
            _ => None,
        };
        let mut refused: Vec<(Str, Str)> = self.assessment.rows().filter_map(held).collect();
        refused.sort();
        let count = u32::try_from(refused.len()).unwrap_or(u32::MAX);
        let (node, why) = refused.into_iter().next()?;
        // A refused node whose deletion is just tried again is none of the others.
        let refused = |row: &&Row| self.refused_deletion(row, now).is_some();
        let moving = self.assessment.rows().any(|row| row.in_fleet && row.state.is_moving() && !refused(&row));
        let waits =
            |row: &&Row| matches!(self.plan.hold(row.node), Some(Hold::Partition { .. } | Hold::Selector) | None);
        let in_line = self.assessment.rows().filter(|row| row.in_fleet && refused(row) && !waits(row)).count();
        let in_line = u32::try_from(in_line).unwrap_or(u32::MAX).max(count);
        Some(Alarm::DeletionRefused { node, count, why, others: moving || self.plan.in_line > in_line })
    }

    /// The alarm for an API server that is too far away, or silent.
    fn distance_alarm(&self) -> Option<Alarm> {
        let distance = &self.sending.distance;
        let too_far = || distance.too_far().map(|too_far| Alarm::ApiLatencyTooHigh { round_trip: rounded(too_far) });
        let silent = || distance.is_silent().then_some(Alarm::NoAnswer);
        too_far().or_else(silent).filter(|_| self.lock.holds() && self.config().role == Role::Driver)
    }

    /// The alarm for a complete rollout whose release waits.
    fn release_alarm(&self, intent: &Intent) -> Option<Alarm> {
        if intent.finish != Finish::Release || !self.is_complete(intent) {
            return None;
        }
        let removed = self.removed_by_release();
        (!removed.is_empty())
            .then(|| Alarm::ReleaseWaits { pods: counted(&removed).into(), nodes: where_and_why(&removed).into() })
    }

    /// How to keep the tool behind this field manager from acting, if that is known.
    fn suspend_hint(&self, manager: Option<&Str>) -> Option<Str> {
        gitops_owner_of(manager?, self.view.gitops_owners())?.suspend_hint().map(Str::from)
    }

    /// The alarm for a strategy that has drifted, or had until `OnDelete` was set again.
    fn drift_alarm(&self, intent: &Intent, now: Timestamp) -> Option<Alarm> {
        let drifts = &self.progress.drifts;
        let enforced = drifts.rounds(now);
        let owners = self.view.daemonset().map(|daemonset| &daemonset.owners);
        if self.has_drifted(intent) {
            // It is not paused, so `OnDelete` is about to be set again.
            let enforced = enforced.saturating_sub(u32::from(intent.paused.is_none()));
            let suspend_hint = self.suspend_hint(owners.and_then(|owners| owners.strategy.as_ref()));
            let limit =
                self.view.daemonset().and_then(|daemonset| changed_limit(daemonset, self.view.original_strategy()));
            return Some(Alarm::StrategyDrifted { by: self.who_set_the_strategy(), limit, enforced, suspend_hint });
        }
        (enforced > 0).then(|| Alarm::OnDeleteEnforced {
            by: drifts.by.as_ref().and_then(|by| self.who(by)),
            times: enforced,
            suspend_hint: self.suspend_hint(drifts.by.as_ref()),
        })
    }

    /// The alarm for a template that somebody else changed.
    fn template_alarm(&self, intent: &Intent) -> Alarm {
        let suspend_hint = self.suspend_hint(self.writer_of_the_template());
        let change = self.template_of_others_in_words(intent).into();
        // Those to which a roll back, or the way back to the target, may lead.
        let back = [intent.target.as_ref(), self.progress.origin.as_ref()];
        let count = |nodes: usize| u32::try_from(nodes).unwrap_or(u32::MAX);
        let elsewhere = back.into_iter().flatten().filter_map(|hash| {
            let placement = self.placement_put_back(&self.view.revision(hash)?.template);
            let at_once = AtOnce { makes: count(placement.gains.len()), deletes: count(placement.loses.len()) };
            (at_once != AtOnce::default()).then(|| (hash.clone(), at_once))
        });
        let elsewhere = elsewhere.collect();
        Alarm::TemplateChanged { by: self.who_set_the_template(), change, suspend_hint, elsewhere }
    }

    fn idle_alarm(&self, now: Timestamp) -> Option<Alarm> {
        let since = self.idle_since(now)?;
        let creation = self.view.creation();
        Some(Alarm::ControllerIdle {
            since,
            missing: creation.missing(),
            unobserved: creation.unobserved_since().is_some(),
        })
    }
}

/// Why the rollout halted, and on which nodes. Once they are well again, nothing else on the screen names them.
fn why_and_where(why: &str, nodes: &[Str]) -> String {
    match nodes.is_empty() {
        true => why.to_owned(),
        false => format!("{why} ({})", first_names(nodes.iter().map(|node| &**node))),
    }
}
