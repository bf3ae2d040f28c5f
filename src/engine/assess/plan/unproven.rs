//! A roll back to a revision of which nobody knows yet whether it works.

use super::is_in_trouble;
use crate::engine::assess::rows::{Assessment, Row};
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{Blame, NodeState};

/// A roll back to a revision that no node has shown to work: no node is at it, or none has stayed up there for long enough. Partition,
/// steps and gates do not count on the way back, so that nothing else keeps a failing revision from node after node.
#[derive(Debug)]
pub(super) struct Unproven {
    /// How many more pods that serve may be replaced. In total, this is as many as may be down at a time.
    pub(super) room: u32,
    /// A node on which the revision does not work, and why.
    trouble: Option<(Str, Option<CauseKind>)>,
}

impl Unproven {
    /// `None` where a node has shown that the revision works. `troubled` names a row's node and why it is in trouble.
    pub(super) fn of(
        assessment: &Assessment,
        max_unavailable: u32,
        troubled: impl Fn(&Row) -> (Str, Option<CauseKind>),
    ) -> Option<Self> {
        let rows = || assessment.rows().filter(|row| row.in_fleet);
        if rows().any(|row| row.proves) {
            return None;
        }
        let taken = put_back(assessment);
        let fails = |row: &&Row| row.updated && row.at_target && (row.state == NodeState::Failed || is_in_trouble(row));
        Some(Self { room: max_unavailable.max(1).saturating_sub(taken), trouble: rows().find(fails).map(troubled) })
    }

    /// The hold of a pod that serves. With a larger budget another node can try the revision, if the first nodes are broken by themselves.
    pub(super) fn hold(&self) -> Option<Hold> {
        (self.room == 0).then(|| match &self.trouble {
            Some((node, cause)) => Hold::Unproven { node: node.clone(), cause: *cause },
            None => Hold::NotProven,
        })
    }
}

/// How many nodes were given the revision by the roll back, or are on their way to it.
pub(crate) fn put_back(assessment: &Assessment) -> u32 {
    let put_back = |row: &&Row| row.in_fleet && row.committed && (row.updated || row.blame == Some(Blame::Rollout));
    u32::try_from(assessment.rows().filter(put_back).count()).unwrap_or(u32::MAX)
}
