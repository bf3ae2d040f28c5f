//! Which revisions a rollout halted at. The record forgets a halt with its rollout; who watched it knows that the revision is a bad one to
//! go back to.

use super::Story;
use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;

/// A revision at which a rollout halted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HaltedRevision {
    /// Its hash.
    pub revision: Str,
    /// When it halted last.
    pub at: Timestamp,
    /// Why, in words.
    pub why: Str,
}

impl Story {
    /// The revisions at which this rollout, or an earlier one of the same DaemonSet, was seen to halt.
    pub fn halted(&self) -> &[HaltedRevision] {
        &self.halted
    }

    pub(super) fn watch_for_halts(&mut self, snapshot: &Snapshot) {
        let Some((halt, to)) = snapshot.halt.as_ref().zip(snapshot.to.as_ref()) else { return };
        if !halt.gate.speaks_against_revision() {
            return;
        }
        let known = self.halted.iter().position(|halted| halted.revision == to.hash);
        if known.is_some_and(|known| self.halted[known].at == halt.at) {
            return;
        }
        let halted = HaltedRevision { revision: to.hash.clone(), at: halt.at, why: halt.why.clone() };
        match known {
            Some(known) => self.halted[known] = halted,
            None => self.halted.push(halted),
        }
    }
}
