//! The state of a rollout that no record describes, or that nobody has driven under its record yet.
//!
//! ```text
//!  the Lease is deleted in the middle ── OnDelete stays, and nothing says with which limits it was to go on
//!  somebody steps ────────────────────── a new record, with the settings that a record begins with
//!  somebody drives ───────────────────── the rollout begins: what is down and was never up at another revision is charged to it
//! ```

use super::Engine;
use crate::engine::assess::inputs::BeforeBegin;
use crate::engine::assess::plan::Limits;
use crate::engine::assess::rows::Row;
use crate::engine::model::Str;
use crate::engine::model::budget::Replacer;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::presence::Presence;
use crate::engine::model::record::{Direction, Intent};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::missing_record::missed_at;

impl Engine {
    /// Whether rolldeck has set `OnDelete` and no record says for which rollout: somebody deleted the Lease, or the operator who braked may not write
    /// one. The request is then unknown, its limits and soak time included.
    pub(crate) fn record_is_missing(&self) -> bool {
        let there = self.view.presence() == Presence::Present && !self.is_being_deleted();
        let settles = self.record_missed_at().is_some_and(|at| self.now < at);
        there && !settles && self.is_adopted() && !self.is_recorded() && self.lock.shows_no_record()
    }

    /// Whether the DaemonSet was seen to be adopted so lately that the watch of its Lease may not have shown the record yet.
    pub(crate) fn record_may_be_late(&self) -> bool {
        self.is_adopted() && self.adoption_without_record().is_some_and(|at| self.now < missed_at(at))
    }

    /// When the DaemonSet was seen to be adopted, if no record of this rollout was seen here.
    fn adoption_without_record(&self) -> Option<Timestamp> {
        self.view.adoption_seen_at().filter(|_| self.lock.lost_intent().is_none())
    }

    /// From when on a record counts as missing although a release may have dropped it, or its adoption may have been seen before it.
    pub(crate) fn record_missed_at(&self) -> Option<Timestamp> {
        self.lock.record_dropped_at().max(self.adoption_without_record()).map(missed_at)
    }

    /// The intent of a record that is made now by a command that names no settings.
    pub(crate) fn intent_to_begin_with(&self) -> Intent {
        let mut intent = Intent::default();
        if self.is_adopted() {
            intent.tune(&self.config().defaults);
        }
        intent
    }

    /// How nodes stand before a rollout has begun.
    pub(crate) fn before_begin(&self) -> BeforeBegin {
        if self.progress.started_at.is_some() {
            return BeforeBegin::default();
        }
        // The origin matters only for nodes that are down.
        let any_down = self.assessment.rows().any(|row| row.in_fleet && !row.available);
        let direction = self.assessed_intent().map_or(Direction::Forward, |intent| intent.direction());
        let origin = if any_down { self.origin_of_a_beginning(direction) } else { None };
        self.standing_from(origin)
    }

    /// How nodes stand if a rollout begins that comes from the revision `origin`.
    pub(crate) fn standing_from(&self, origin: Option<Str>) -> BeforeBegin {
        let is_unfinished = origin.as_ref().is_some_and(|origin| self.is_unfinished(origin));
        // Where nothing is rolled out, a pod that somebody deleted or evicted is available once its controller says so.
        let soaks = self.is_adopted() && (self.is_under_way() || self.record_is_missing());
        BeforeBegin { origin, is_unfinished, soaks }
    }

    /// Whether more pods of a revision have never served than the DaemonSet's own controller was to take down at a time.
    fn is_unfinished(&self, revision: &Str) -> bool {
        let is_of = |row: &Row| {
            row.pod.and_then(|pod| self.view.pod(pod)).is_some_and(|pod| pod.fact.revision.as_ref() == Some(revision))
        };
        let waiting = self.assessment.rows().filter(|row| row.never_served && is_of(row)).count();
        waiting > Limits::of(&self.view, &Intent::default(), &self.assessment).max_unavailable as usize
    }

    /// The revision where a rollout comes from that begins now: the one that most nodes have, beside the template's. Where it leads back and
    /// most nodes have never left the revision to which it leads, it is that one: the others were on their way from there.
    pub(crate) fn origin_of_a_beginning(&self, direction: Direction) -> Option<Str> {
        let most_have = self.majority_revision(None).filter(|_| direction == Direction::Back);
        match most_have {
            Some(most_have) if Some(&most_have) == self.view.current() => Some(most_have),
            _ => self.majority_revision(self.view.current()),
        }
    }

    /// Whether the DaemonSet's own controller replaces pods and rolldeck has recorded no rollout, or a brake has stopped that controller.
    pub(crate) fn controller_replaces(&self) -> bool {
        let rolls = self.lock.record().is_none() && self.strategy() == StrategyKind::RollingUpdate;
        rolls || self.is_braked()
    }

    /// Whether somebody has stopped the DaemonSet's own controller, and no rollout has begun since.
    fn is_braked(&self) -> bool {
        let brakes = |intent: &Intent| intent.paused.as_ref().is_some_and(|paused| paused.brakes);
        self.progress.started_at.is_none() && self.lock.record().is_some_and(|record| brakes(&record.intent))
    }

    /// Who makes the nodes go down that are down for the rollout.
    pub(crate) fn replaced_by(&self) -> Replacer {
        let record = self.lock.record();
        let (begun, rolling) = (self.progress.started_at.is_some(), self.strategy() == StrategyKind::RollingUpdate);
        match record {
            None if rolling => Replacer::Controller,
            None if self.is_adopted() => Replacer::Unrecorded,
            None => Replacer::Rolldeck,
            // A brake does not make rolldeck responsible for what the controller did before.
            Some(_) if self.is_braked() || (!begun && rolling) => Replacer::Controller,
            Some(_) if !begun => Replacer::Unrecorded,
            Some(_) if rolling && self.progress.adopted => Replacer::Both,
            Some(_) => Replacer::Rolldeck,
        }
    }
}
