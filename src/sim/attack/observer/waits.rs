//! P8: a node that is next and is not updated says what it waits for.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::hold::Hold;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;

/// How long a node may be next without saying what it waits for, while no deletion is sent.
const UNEXPLAINED: Duration = Duration::from_secs(10);
/// The same while other pods are deleted: the order moves on, and no wait of the first node is long enough to be shown.
const NEVER_ITS_TURN: Duration = Duration::from_secs(60);
/// A console that was not checked for this time was suspended meanwhile.
const NOT_CHECKED: Duration = Duration::from_secs(6);

/// By console: when it was last checked, and since when each node is next without saying what it waits for.
pub(super) type Unexplained = BTreeMap<Str, (Timestamp, BTreeMap<Str, Timestamp>)>;

impl Observer {
    /// Checks whether a console that drives lets nodes wait without saying what for.
    pub fn check_next(&mut self, by: &Str, snapshot: &Snapshot, now: Timestamp) {
        let known = self.unexplained.remove(by).filter(|(checked_at, _)| now.since(*checked_at) < NOT_CHECKED);
        let known = known.map(|(_, since)| since).unwrap_or_default();
        let unexplained =
            snapshot.nodes.iter().filter(|node| snapshot.driver.is_you() && node.hold == Some(Hold::Next));
        let since = unexplained.map(|node| (node.name.clone(), known.get(&node.name).copied().unwrap_or(now)));
        let since: BTreeMap<Str, Timestamp> = since.collect();
        let moved_at = self.replaced.values().max().copied().unwrap_or_default();
        let too_long =
            |since: Timestamp| now.since(since.max(moved_at)) > UNEXPLAINED || now.since(since) > NEVER_ITS_TURN;
        if let Some((node, since)) = since.iter().find(|(_, since)| too_long(**since)) {
            let what = format!("{node} is next for {:?}, and does not say what it waits for", now.since(*since));
            self.report_violation("P8", now, what);
        }
        self.unexplained.insert(by.clone(), (now, since));
    }
}
