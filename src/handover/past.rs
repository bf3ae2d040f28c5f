//! What went wrong until now, beside what is wrong now: a rollout whose nodes are all well again may have halted and failed on the way, and what
//! went wrong before its record was begun anew was of the earlier one.

use std::collections::BTreeSet;

use super::{Handover, StoryLine};
use crate::engine::model::Str;
use crate::engine::model::facts::Severity;
use crate::engine::model::first_names::first_names;
use crate::engine::report::node_story::clock_time;

/// How many events are quoted.
const QUOTED: usize = 3;

impl Handover {
    /// What went wrong since the rollout began, and before its record was begun anew, one sentence each; empty if nothing is told. Nodes that are
    /// among the present findings are left out.
    pub(super) fn went_wrong(&self) -> Vec<String> {
        let snapshot = &*self.snapshot;
        let (began, anew) = match (snapshot.started_at, &snapshot.begun_anew) {
            (began, Some(anew)) => (began.unwrap_or(anew.at), anew),
            // A record may be older than the rollout to its present target: the start that the report names counts.
            (Some(recorded), None) => {
                let began = snapshot.target_began().unwrap_or(recorded);
                return self.told("Since it began", |line| line.at >= began).into_iter().collect();
            }
            // Without a record it is not known which of the events are of the last rollout.
            (None, None) => return self.told("Told of before", |_| true).into_iter().collect(),
        };
        let since = anew.at.min(began);
        let at = format!("its record was begun anew at {}", clock_time(anew.at));
        let earlier = self.told(&format!("Before {at}, under the record that was lost"), |line| line.at < since);
        let later = self.told(&format!("Since {at}"), |line| line.at >= since);
        let unknown =
            || Some(format!("What went wrong before {at} is not told: it was under the record that was lost."));
        later.into_iter().chain(earlier.or_else(unknown)).collect()
    }

    /// `Since it began: 3 nodes in trouble (n1, n2, n3); 14:30:40 halted: crash loop on 3 nodes`: the bad news among these events.
    fn told(&self, when: &str, among: impl Fn(&StoryLine) -> bool) -> Option<String> {
        let now: BTreeSet<&Str> = self.diagnosis.findings.iter().flat_map(|finding| finding.nodes.iter()).collect();
        let bad = self.lines.iter().filter(|line| line.severity == Severity::Warning && among(line));
        let (of_nodes, events): (Vec<&StoryLine>, Vec<&StoryLine>) = bad.partition(|line| line.node.is_some());
        let names: BTreeSet<&Str> =
            of_nodes.iter().filter_map(|line| line.node.as_ref()).filter(|node| !now.contains(node)).collect();
        let mut names: Vec<&str> = names.into_iter().map(|name| &**name).collect();
        names.sort_by(|a, b| natord::compare(a, b));
        let nodes = match names.len() {
            0 => None,
            1 => Some(format!("1 node was in trouble ({})", names[0])),
            count => Some(format!("{count} nodes were in trouble ({})", first_names(names.iter().copied()))),
        };
        let quoted = events.iter().take(QUOTED).map(|line| format!("{} {}", clock_time(line.at), line.text));
        let more = events.len().checked_sub(QUOTED).filter(|more| *more > 0);
        let words: Vec<String> = nodes
            .into_iter()
            .chain(quoted)
            .chain(more.map(|more| format!("{more} more under What happened")))
            .collect();
        (!words.is_empty()).then(|| format!("{when}: {}.", words.join("; ")))
    }
}
