//! What happened lately, and who drives: the lines `recent` of `status`.
//!
//! ```text
//!  2s ago  (ada@bastion-3) reported: halted: image not found on 1 node (driven by ada@bastion-3)
//!  9s ago  ada@bastion-3 reported: max unavailable: default → 10%
//!  4m ago  ops@bastion-2: step to the next: 12 of 120 nodes may be updated, partition keeps 108
//! 40m ago  ops@bastion-2: drives the rollout now
//! ```

use std::time::Duration;

use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind, taken_away_together, with_present_numbers};
use crate::engine::model::time::ShortDuration;
use crate::engine::report::snapshot::Snapshot;

/// How many of the last things that happened are told.
const RECENT: usize = 5;

/// Pods that others took away within so long are told in one line.
const TOGETHER: Duration = Duration::from_secs(60);

/// The last things that happened, a line each and the newest first; pods that others took away one after the other are told in one. The last one
/// about who drives is among them however long ago it was.
pub(super) fn recent(snapshot: &Snapshot) -> Vec<String> {
    // What Events tell comes in the order in which they are listed.
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
    told.into_iter().map(|(ago, group)| format!("{ago:>widest$} ago  {}{}", by(group[0]), words(group))).collect()
}

/// The events, newest first, in groups that are told in one line each.
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

/// What happened, without who and when; of a group the nodes are named in the order in which their pods were taken away.
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

/// Who did it, as `rolldeck log` has it: in brackets the process in which the rollout did it by itself. What is known from an Event on the
/// DaemonSet only begins with `reported`: whoever may write Events can claim that.
fn by(event: &RolloutEvent) -> String {
    match (&event.by, event.reporter_in_words()) {
        (Some(by), _) => format!("{by}: "),
        (None, Some(claimed)) => format!("{claimed} "),
        (None, None) => String::new(),
    }
}
