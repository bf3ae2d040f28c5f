//! The actions of the DaemonSet's own controller on the whole rollout while rolldeck only looked on.

use std::fmt;

use super::Story;
use crate::engine::model::Str;
use crate::engine::model::facts::Severity;
use crate::engine::model::rollout_event::ImageChanged;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

/// Something that the DaemonSet's own controller did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControllerMoment {
    /// When it happened, as far as the cluster tells; otherwise when it was seen.
    pub at: Timestamp,
    /// The action.
    pub change: ControllerChange,
}

/// What a DaemonSet's own controller does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControllerChange {
    /// It rolls out a revision.
    RollsOut {
        /// The number of the revision, where it is known.
        revision: Option<i64>,
        /// The images that differ.
        images: Vec<ImageChanged>,
    },
    /// It deleted pods that lost readiness, outside of its budget, so that more nodes are down than the budget allows.
    LosesNodes {
        /// How many nodes are down.
        down: u32,
        /// How many nodes it may take down by itself.
        max_unavailable: u32,
        /// How many pods it deleted that were not ready.
        replaced_unready: u32,
    },
    /// Every node is at the revision that it rolled out, and serves.
    Complete {
        /// The number of nodes.
        nodes: u32,
    },
}

/// The last known state of the controller.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct LastController {
    /// The revision that it rolls out.
    rolls_out: Option<Str>,
    /// Whether it was reported of this rollout that it loses nodes.
    loses_nodes: bool,
}

impl Story {
    pub(super) fn watch_the_controller(&mut self, snapshot: &Snapshot) {
        let target = snapshot.to.as_ref().map(|to| &to.hash);
        let goes_on = self.controller.rolls_out.is_some() && self.controller.rolls_out.as_ref() == target;
        let all_serve = snapshot.counts.available >= snapshot.counts.nodes;
        match snapshot.phase {
            Phase::Native if goes_on => {}
            // The controller also has work where a node joins or a pod is evicted, but then no node has another revision.
            Phase::Native if snapshot.from.is_some() => {
                self.controller = LastController { rolls_out: target.cloned(), loses_nodes: false };
                self.controllers.push(ControllerMoment { at: began(snapshot), change: rolled_out(snapshot) });
            }
            Phase::Idle if goes_on && all_serve => {
                self.controller = LastController::default();
                let change = ControllerChange::Complete { nodes: snapshot.counts.nodes };
                self.controllers.push(ControllerMoment { at: snapshot.at, change });
            }
            // Every pod is the new one, and not all of them serve yet.
            Phase::Idle if goes_on => {}
            _ => self.controller = LastController { rolls_out: None, ..self.controller },
        }
        let loses = snapshot.alarms.iter().find_map(|alarm| match alarm {
            Alarm::Cascade { down, max_unavailable, replaced_unready } => {
                Some((*down, *max_unavailable, *replaced_unready))
            }
            _ => None,
        });
        if let Some((down, max_unavailable, replaced_unready)) = loses.filter(|_| !self.controller.loses_nodes) {
            self.controller.loses_nodes = true;
            let change = ControllerChange::LosesNodes { down, max_unavailable, replaced_unready };
            self.controllers.push(ControllerMoment { at: snapshot.at, change });
        }
    }
}

/// When the controller began to roll out the revision. An earlier revision keeps its first recording time, which tells nothing of the present
/// rollout.
fn began(snapshot: &Snapshot) -> Timestamp {
    let recorded = snapshot.to.as_ref().and_then(|to| to.created_at);
    let is_newest = snapshot.revisions.iter().all(|revision| revision.created_at <= recorded);
    recorded.filter(|at| is_newest && *at <= snapshot.at).unwrap_or(snapshot.at)
}

fn rolled_out(snapshot: &Snapshot) -> ControllerChange {
    let changed = snapshot.image_changes.iter().map(|change| ImageChanged {
        container: change.container.clone(),
        from: change.from.clone(),
        to: change.to.clone(),
    });
    ControllerChange::RollsOut {
        revision: snapshot.to.as_ref().and_then(|to| to.number),
        images: changed.filter(|change| change.from != change.to).collect(),
    }
}

impl ControllerChange {
    /// Whether it is bad news.
    pub fn severity(&self) -> Severity {
        match self {
            Self::LosesNodes { .. } => Severity::Warning,
            Self::RollsOut { .. } | Self::Complete { .. } => Severity::Normal,
        }
    }
}

impl fmt::Display for ControllerChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RollsOut { revision, images } => {
                f.write_str("rolls out ")?;
                match revision {
                    Some(number) => write!(f, "revision {number}")?,
                    None => f.write_str("a new revision")?,
                }
                images.iter().try_for_each(|image| write!(f, ", {image}"))
            }
            Self::LosesNodes { down, max_unavailable, replaced_unready } => {
                let (down, max_unavailable, replaced_unready) = (*down, *max_unavailable, *replaced_unready);
                Alarm::Cascade { down, max_unavailable, replaced_unready }.fmt(f)
            }
            Self::Complete { nodes } => write!(f, "complete: all {nodes} nodes are at the revision"),
        }
    }
}
