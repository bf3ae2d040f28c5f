//! Updated nodes that have been ready for a moment only, and so say little for the next step.
//!
//! A container that crashes some seconds after its start is Ready until then, and a readiness probe is optional. With a
//! short soak time a node counts as updated soon after.

use std::time::Duration;

use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::Intent;
use crate::engine::model::time::{ShortDuration, Timestamp};

/// A pod that has been ready for a shorter time is named before a step. Most containers that cannot run end sooner.
const LATELY: Duration = Duration::from_secs(30);

impl Engine {
    /// The reasons against the next step: `n1 has been ready for 4s only (and 3 more for less than 30s): …`. Empty if a longer soak
    /// time or `minReadySeconds` keeps a node from counting as updated so early.
    pub(super) fn ready_lately_in_words(&self, now: Timestamp) -> Vec<String> {
        let server_now = self.view.server_time(now);
        let updated = self.assessment.rows().filter(|row| row.updated && row.state == NodeState::Updated);
        let mut lately: Vec<(Duration, Str)> = updated
            .filter_map(|row| {
                let pod = self.view.pod(row.pod?)?;
                let ready_for = pod.ready_observed?.elapsed(pod.fact.ready_since, now, server_now);
                (ready_for < LATELY).then(|| (ready_for, self.name(row)))
            })
            .collect();
        if let Some(words) = self.unproven_in_words() {
            return vec![words];
        }
        lately.sort();
        let Some((ready_for, name)) = lately.first() else { return Vec::new() };
        let more = match lately.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more for less than {})", ShortDuration(LATELY)),
        };
        let ready = match ready_for.as_secs() {
            0 => "has only just become ready".to_owned(),
            _ => format!("has been ready for {} only", ShortDuration(*ready_for)),
        };
        vec![format!(
            "{name} {ready}{more}: what crashes after its start may not have done so yet. A longer soak time waits for that."
        )]
    }

    /// `4 updated nodes have been ready for less than 5m: they soak again, and count as down until then.`: by the soak time of `after`, which is longer than
    /// the present one. `None` if there are none.
    pub(super) fn soak_again_in_words(&self, after: &Intent) -> Option<String> {
        let min_ready = self.view.daemonset().map_or(0, |daemonset| daemonset.min_ready_secs);
        let soak = Duration::from_secs(min_ready.max(after.soak_secs()).into());
        let server_now = self.view.server_time(self.now);
        let is_short = |row: &Row| {
            let pod = row.pod.and_then(|pod| self.view.pod(pod));
            let ready =
                pod.and_then(|pod| Some(pod.ready_observed?.elapsed(pod.fact.ready_since, self.now, server_now)));
            ready.is_some_and(|ready| ready < soak)
        };
        let updated =
            self.assessment.rows().filter(|row| row.in_fleet && row.updated && row.state == NodeState::Updated);
        let soak = ShortDuration(soak);
        match updated.filter(|row| is_short(row)).count() {
            0 => None,
            1 => Some(format!(
                "1 updated node has been ready for less than {soak}: it soaks again, and counts as down until then."
            )),
            nodes => Some(format!(
                "{nodes} updated nodes have been ready for less than {soak}: they soak again, and count as down until then."
            )),
        }
    }

    /// A warning if no node is updated yet, although some are being updated, or are in line with pods that have not been replaced:
    /// nothing then shows whether the new revision works.
    pub(super) fn unproven_in_words(&self) -> Option<String> {
        let fleet = || self.assessment.rows().filter(|row| row.in_fleet);
        if fleet().any(|row| row.state == NodeState::Updated) {
            return None;
        }
        let mut on_their_way: Vec<&Row> = fleet().filter(|row| row.committed).collect();
        on_their_way.sort_by_key(|row| self.natural_ranks().get(row.node));
        let Some(first) = on_their_way.first() else {
            return match self.plan.in_line {
                0 => None,
                1 => {
                    Some("No node is updated yet (1 is in line): nothing shows whether the new revision works.".into())
                }
                many => Some(format!(
                    "No node is updated yet ({many} are in line): nothing shows whether the new revision works."
                )),
            };
        };
        if let Some(failed) = on_their_way.iter().find(|row| row.state == NodeState::Failed) {
            let why = failed.cause.as_ref().map(|cause| format!(": {}", cause.kind)).unwrap_or_default();
            let others = match on_their_way.iter().filter(|row| row.state == NodeState::Failed).count() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let name = self.name(failed);
            return Some(format!(
                "No node is updated yet, and {name}{others} failed{why}: nothing shows that the new revision works."
            ));
        }
        let name = self.name(first);
        let are = match on_their_way.len() - 1 {
            0 => "is on its way".to_owned(),
            more => format!("and {more} more are on their way"),
        };
        Some(format!("No node is updated yet ({name} {are}): nothing shows whether the new revision works."))
    }
}
