//! P8: what is next in line, and does not go, says what it waits for.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::hold::Hold;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;

/// For so long a node may be next without a word about what it waits for.
const WORDLESS: Duration = Duration::from_secs(10);
/// A console that was not looked at for so long stood still meanwhile.
const LOOKED_AWAY: Duration = Duration::from_secs(6);

/// Since when nodes are shown as next without a word, by console, and when that was looked at last.
pub(super) type Wordless = BTreeMap<Str, (Timestamp, BTreeMap<Str, Timestamp>)>;

impl Observer {
    /// Looks whether a console that drives lets nodes wait without saying what for.
    pub fn check_next(&mut self, by: &Str, snapshot: &Snapshot, now: Timestamp) {
        let known = self.wordless.remove(by).filter(|(looked_at, _)| now.since(*looked_at) < LOOKED_AWAY);
        let known = known.map(|(_, since)| since).unwrap_or_default();
        let wordless = snapshot.nodes.iter().filter(|node| snapshot.driver.is_you() && node.hold == Some(Hold::Next));
        let since = wordless.map(|node| (node.name.clone(), known.get(&node.name).copied().unwrap_or(now)));
        let since: BTreeMap<Str, Timestamp> = since.collect();
        if let Some((node, since)) = since.iter().find(|(_, since)| now.since(**since) > WORDLESS) {
            let what = format!("{node} is next for {:?}, and does not say what it waits for", now.since(*since));
            self.accuse("P8", now, what);
        }
        self.wordless.insert(by.clone(), (now, since));
    }
}
