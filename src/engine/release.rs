//! Handing a DaemonSet back, and what its controller then does with the pods that are there (docs/kubernetes.md,
//! *RollingUpdate*).
//!
//! A controller that rolls deletes every pod that is not at the current revision: one after the other within its budget,
//! unavailable ones at once. On a node that should run the DaemonSet's pod it makes a new one. On a node that should not
//! (tainted `NoSchedule` after the pod had started) it makes none: under `OnDelete` such a pod goes on serving, and once
//! released it is gone for good. Pods at the current revision are left alone, wherever they run.
//!
//! A pod that lost its readiness only a moment ago still counts as serving for [`LATELY`].
//!
//! ```text
//! old pod on a node that … should run it           replaced
//!                          would, if it were Ready  removed now, made anew when the node is Ready
//!                          should not run it        removed for good: where it serves, a release that nobody asked for waits
//!                          must not run it          its controller removes it anyway, whatever the strategy
//! ```

use std::time::Duration;

use super::decide::OURSELVES;
use super::edit::Edit;
use super::eligibility::{Ineligible, ineligible_because};
use super::machine::{Engine, Needs};
use super::model::Str;
use super::model::command::{Danger, Early, Refusal};
use super::model::node::NodeIx;
use super::model::record::{By, Finish, Intent};
use super::model::time::ShortDuration;
use super::resolved::Resolved;
use super::snapshot::Alarm;

/// A pod that stopped serving less than this long ago may serve again.
pub(crate) const LATELY: Duration = Duration::from_secs(300);
/// As many nodes are named in a sentence.
const NAMED: usize = 5;

/// A pod that is not at the current revision, and what a rolling controller would do with it.
#[derive(Clone, Debug)]
pub(crate) struct OldPod {
    /// Its node's name.
    pub(crate) node: Str,
    pub(crate) then: Then,
    pub(crate) service: Service,
}

/// Whether a pod serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Service {
    /// Its node and itself are Ready.
    Serves,
    /// They were, less than [`LATELY`] ago.
    Served,
    /// They are not.
    Down,
}

/// What a rolling controller does with an old pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// Replace it at once.
    Replaced,
    /// Delete it now, and create a new one when the node is Ready again.
    ReplacedOnceReady,
    /// Delete it for good: its node should not run it.
    Removed(Option<Ineligible>),
}

impl Engine {
    /// The pods that a rolling controller would delete, in no particular order. Those that go anyway are not among them.
    pub(crate) fn old_pods(&self) -> impl Iterator<Item = OldPod> {
        // Where it is not certain which revision is current, every pod may be replaced.
        let current = self.view.current.as_ref().filter(|_| self.view.current_is_certain());
        self.assessment.rows().filter_map(move |row| {
            let pod = self.view.pod(row.pod?)?;
            let entry = &self.view.nodes[row.node];
            let stays = row.in_fleet || entry.fact.is_none() || entry.eligibility.should_continue;
            if pod.fact.deletion_at.is_some() || pod.fact.revision.as_ref() == current || !stays {
                return None;
            }
            let then = match (row.in_fleet, row.should_run) {
                (true, true) => Then::Replaced,
                (true, false) => Then::ReplacedOnceReady,
                (false, _) => Then::Removed(self.ineligible_because(row.node)),
            };
            // By the API server's clock, a node's own measured error taken out.
            let unready = row.since.map(|since| self.view.server_time(self.now).since(since));
            let service = match (entry.fact.is_some(), row.ready) {
                (false, _) => Service::Down,
                (true, true) => Service::Serves,
                (true, false) if pod.fact.ready || unready.is_some_and(|unready| unready < LATELY) => Service::Served,
                (true, false) => Service::Down,
            };
            Some(OldPod { node: entry.name.clone(), then, service })
        })
    }

    /// Why a node should not run the DaemonSet's pod; `None` where it should, or is not known.
    pub(crate) fn ineligible_because(&self, node: NodeIx) -> Option<Ineligible> {
        ineligible_because(self.view.nodes[node].fact.as_ref()?, &self.view.daemonset.as_ref()?.template)
    }

    /// The pods that a release would remove for good, and that serve or did lately, by name of their node; none where the
    /// strategy that it restores is `OnDelete`.
    pub(crate) fn removed_by_release(&self) -> Vec<OldPod> {
        if !self.original_is_rolling() {
            return Vec::new();
        }
        let mut removed: Vec<OldPod> = self
            .old_pods()
            .filter(|pod| pod.service != Service::Down && matches!(pod.then, Then::Removed(_)))
            .collect();
        removed.sort_by(|a, b| natord::compare(&a.node, &b.node));
        removed
    }

    /// Whether the strategy that a release restores lets the controller replace pods.
    pub(crate) fn original_is_rolling(&self) -> bool {
        let saved = self.view.daemonset.as_ref().and_then(Self::original_strategy);
        saved.is_none_or(|saved| saved["type"].as_str() != Some("OnDelete"))
    }

    /// Whether a release that was decided without an operator must not be carried out now.
    pub(crate) fn release_must_wait(&self, by: &By) -> bool {
        &*by.by == OURSELVES && !self.removed_by_release().is_empty()
    }

    /// Takes back a release that was decided without an operator, and that would now cost serving pods. Not while a patch
    /// of the DaemonSet may be on its way: what it does is not known yet.
    pub(crate) fn call_off_release(&mut self, intent: &Intent) {
        let Some(by) = intent.releasing.as_ref().filter(|by| self.release_must_wait(by)) else { return };
        if self.patching.is_none() && !self.daemonset_retry.is_retrying() && self.is_adopted() {
            self.edit(None, Edit::CallOffRelease(by.clone()));
        }
    }

    /// The alarm for a complete rollout whose release waits.
    pub(crate) fn release_alarm(&self, intent: &Intent) -> Option<Alarm> {
        if intent.finish != Finish::Release || !self.is_complete(intent) {
            return None;
        }
        let removed = self.removed_by_release();
        (!removed.is_empty())
            .then(|| Alarm::ReleaseWaits { pods: counted(&removed).into(), nodes: where_and_why(&removed).into() })
    }

    pub(crate) fn resolve_release(&self, early: Early, by: By) -> Result<Resolved, Refusal> {
        let saved = self.view.daemonset.as_ref().is_some_and(Self::has_saved_strategy);
        if !saved && !self.is_recorded() && self.lock.foreign_record().is_some() {
            let says = "the record of the earlier DaemonSet is dropped".to_owned();
            return Ok(Resolved::new(vec![Edit::Release(by)], Needs::Released, says, Danger::None));
        }
        if !saved && !self.is_recorded() {
            return Err(Refusal::NotNow("it is not adopted: there is nothing to release".into()));
        }
        let (left, removed) = (self.left_to_the_controller(), self.removed_by_release());
        if early == Early::Refuse && !removed.is_empty() {
            return Err(Refusal::NotNow(format!(
                "nodes that should not run them any more have {}: {}. Once released its controller deletes them and \
                 makes none there. Let the nodes run them again, or release early if that is meant",
                counted(&removed),
                where_and_why(&removed)
            )));
        }
        if early == Early::Refuse && left > 0 && self.original_is_rolling() {
            return Err(Refusal::NotNow(format!(
                "{left} pods are not at the current revision; once released its controller replaces them by itself: \
                 release early only if that is meant"
            )));
        }
        let says = "released: the original update strategy is restored".to_owned();
        let costs = self.original_is_rolling() && (left > 0 || !removed.is_empty());
        let danger = if costs { Danger::Beyond } else { Danger::Bounded };
        Ok(Resolved::new(vec![Edit::Release(by)], Needs::Released, says, danger))
    }

    /// How many pods of the fleet the controller would replace by itself.
    fn left_to_the_controller(&self) -> usize {
        self.old_pods().filter(|pod| !matches!(pod.then, Then::Removed(_))).count()
    }

    /// What a release does, one sentence a line, for the preview.
    pub(crate) fn release_in_words(&self) -> Vec<String> {
        let mut lines = vec!["Restores the original update strategy and drops the rollout's record.".to_owned()];
        if !self.original_is_rolling() {
            return lines;
        }
        let of = |which: fn(&OldPod) -> bool| {
            let mut pods: Vec<OldPod> = self.old_pods().filter(which).collect();
            pods.sort_by(|a, b| natord::compare(&a.node, &b.node));
            pods
        };
        let removed = of(|pod| pod.service != Service::Down && matches!(pod.then, Then::Removed(_)));
        if !removed.is_empty() {
            lines.push(format!(
                "The controller deletes {} on nodes that should not run them any more, and makes none there: {}.",
                counted(&removed),
                where_and_why(&removed)
            ));
        }
        let gone = of(|pod| pod.service == Service::Down && matches!(pod.then, Then::Removed(_)));
        if !gone.is_empty() {
            lines.push(format!(
                "It deletes {} there too: {}.",
                if gone.len() == 1 {
                    "1 pod that does not serve".into()
                } else {
                    format!("{} pods that do not serve", gone.len())
                },
                where_and_why(&gone)
            ));
        }
        let left = self.left_to_the_controller();
        if left > 0 {
            lines.push(format!(
                "{} not at the current revision: the controller replaces them by itself then.",
                pods_are(left)
            ));
        }
        let down = of(|pod| pod.then == Then::ReplacedOnceReady);
        if !down.is_empty() {
            lines.push(format!(
                "Of these {} on nodes that are down: deleted, and made anew once the node is Ready: {}.",
                pods_are(down.len()),
                where_and_why(&down)
            ));
        }
        lines
    }
}

/// `1 serving pod`, `5 serving pods`, `2 pods that serve or did within 5m`.
fn counted(pods: &[OldPod]) -> String {
    let serve = pods.iter().all(|pod| pod.service == Service::Serves);
    match (pods.len(), serve) {
        (1, true) => "1 serving pod".to_owned(),
        (count, true) => format!("{count} serving pods"),
        (1, false) => format!("1 pod that served within {}", ShortDuration(LATELY)),
        (count, false) => format!("{count} pods that serve or did within {}", ShortDuration(LATELY)),
    }
}

/// `1 pod is`, `5 pods are`.
fn pods_are(count: usize) -> String {
    if count == 1 { "1 pod is".to_owned() } else { format!("{count} pods are") }
}

/// `n1, n2 and 3 more (taint m=x:NoSchedule not tolerated)`; several reasons: the first is named.
fn where_and_why(pods: &[OldPod]) -> String {
    let named: Vec<&str> = pods.iter().take(NAMED).map(|pod| &*pod.node).collect();
    let mut words = named.join(", ");
    if pods.len() > NAMED {
        words.push_str(&format!(" and {} more", pods.len() - NAMED));
    }
    let mut reasons: Vec<String> = Vec::new();
    for pod in pods {
        if let Then::Removed(Some(why)) = &pod.then {
            let why = why.to_string();
            if !reasons.contains(&why) {
                reasons.push(why);
            }
        }
    }
    match reasons.as_slice() {
        [] => words,
        [why] => format!("{words} ({why})"),
        [why, others @ ..] => format!("{words} ({why}; {} other reasons)", others.len()),
    }
}

#[cfg(test)]
mod tests;
