//! The recent events and the driver: the lines `recent` of `status`.
//!
//! ```text
//!  2s ago  reported: halted: image not found on 1 node (driven by ada@bastion-3)
//!  9s ago  ada@bastion-3 reported: max unavailable: default → 10%
//!  4m ago  ops@bastion-2: step to the next: 12 of 120 nodes may be updated, partition keeps 108
//! 40m ago  ops@bastion-2: drives the rollout now
//! reported: an Event says so, and anybody who may write Events can write such a one
//! ```

use std::time::Duration;

use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind, taken_away_together, with_present_numbers};
use crate::engine::model::time::ShortDuration;
use crate::engine::report::snapshot::Snapshot;

/// How many of the last events are printed.
const RECENT: usize = 5;

/// What `reported` means, below lines that say it.
const REPORTED: &str = "reported: an Event says so, and anybody who may write Events can write such a one";

/// Deletions of pods by others within this time share one line.
const TOGETHER: Duration = Duration::from_secs(60);

/// The last events, one line each and the newest first; successive deletions of pods by others share one line. The last
/// event about the driver is always included.
pub(super) fn recent(snapshot: &Snapshot) -> Vec<String> {
    // Events of the cluster arrive in the order of their listing.
    let mut newest: Vec<&RolloutEvent> = snapshot.timeline.iter().rev().collect();
    newest.sort_by_key(|event| std::cmp::Reverse(event.at));
    let groups = in_groups(&newest);
    let (last, earlier) = groups.split_at(groups.len().min(RECENT));
    let is_about_the_driver = |group: &&Vec<&RolloutEvent>| group.iter().any(|event| event.is_about_the_driver());
    let driver = match last.iter().any(|group| is_about_the_driver(&group)) {
        true => None,
        false => earlier.iter().find(is_about_the_driver),
    };
    let told: Vec<(String, &Vec<&RolloutEvent>)> = last
        .iter()
        .chain(driver)
        .map(|group| (ShortDuration(snapshot.at.since(group[0].at)).to_string(), group))
        .collect();
    let widest = told.iter().map(|(ago, _)| ago.chars().count()).max().unwrap_or(0);
    let earlier = snapshot.all_earlier_numbers();
    let words = |group: &[&RolloutEvent]| with_present_numbers(&in_words(group), &earlier);
    let is_reported = |(_, group): &(String, &Vec<&RolloutEvent>)| {
        group.iter().any(|event| matches!(event.kind, RolloutEventKind::Reported { .. }))
    };
    let meaning = told.iter().any(is_reported).then(|| REPORTED.to_owned());
    let lines = told.into_iter().map(|(ago, group)| format!("{ago:>widest$} ago  {}{}", by(group[0]), words(group)));
    lines.chain(meaning).collect()
}

/// The events, newest first, grouped by line.
fn in_groups<'a>(newest: &[&'a RolloutEvent]) -> Vec<Vec<&'a RolloutEvent>> {
    let what = |event: &RolloutEvent| Some((by(event), event.taken_away()?.1));
    let mut groups: Vec<Vec<&RolloutEvent>> = Vec::new();
    for event in newest {
        let belongs = |group: &&mut Vec<&RolloutEvent>| {
            let first = group[0];
            what(first).is_some() && what(first) == what(event) && first.at.since(event.at) <= TOGETHER
        };
        match groups.last_mut().filter(belongs) {
            Some(group) => group.push(event),
            None => groups.push(vec![event]),
        }
    }
    groups
}

/// The event without author and time. In a group, the nodes are in the order in which their pods were deleted.
fn in_words(group: &[&RolloutEvent]) -> String {
    let several = group.len() > 1;
    let Some((_, rest)) = group[0].taken_away().filter(|_| several) else { return group[0].to_string() };
    let mut nodes: Vec<String> = Vec::new();
    for (node, _) in group.iter().rev().filter_map(|event| event.taken_away()) {
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    let reported = matches!(group[0].kind, RolloutEventKind::Reported { .. });
    format!("{}{}", if reported { "reported: " } else { "" }, taken_away_together(&nodes, &rest, reported))
}

/// The author. What only an Event on the DaemonSet says begins with `reported`, because anybody who may write Events can claim it; if a driver
/// did it by itself there, its name is at the end of the text.
fn by(event: &RolloutEvent) -> String {
    match (&event.by, event.reporter_in_words()) {
        (Some(by), _) => format!("{by}: "),
        (None, Some(_)) if event.is_by_a_driver_itself() => String::new(),
        (None, Some(claimed)) => format!("{claimed} "),
        (None, None) => String::new(),
    }
}
