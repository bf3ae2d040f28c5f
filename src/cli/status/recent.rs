//! What happened lately, and who drives: the lines `recent` of `status`.
//!
//! ```text
//!  2s ago  (ada@bastion-3) reported: halted: image not found on 1 node (driven by ada@bastion-3)
//!  9s ago  ada@bastion-3 reported: max unavailable: default → 10%
//!  4m ago  ops@bastion-2: step to the next: 12 of 120 nodes may be updated, partition keeps 108
//! 40m ago  ops@bastion-2: drives the rollout now
//! ```

use crate::engine::model::rollout_event::{RolloutEvent, with_present_numbers};
use crate::engine::model::time::ShortDuration;
use crate::engine::report::snapshot::Snapshot;

/// How many of the last things that happened are told.
const RECENT: usize = 5;

/// The last things that happened, a line each and the newest first. The last one about who drives is among them however long ago it was.
pub(super) fn recent(snapshot: &Snapshot) -> Vec<String> {
    // What Events tell comes in the order in which they are listed.
    let mut newest: Vec<&RolloutEvent> = snapshot.timeline.iter().rev().collect();
    newest.sort_by_key(|event| std::cmp::Reverse(event.at));
    let (last, earlier) = newest.split_at(newest.len().min(RECENT));
    let driver = match last.iter().any(|event| event.is_about_the_driver()) {
        true => None,
        false => earlier.iter().find(|event| event.is_about_the_driver()),
    };
    let events: Vec<(String, &RolloutEvent)> = last
        .iter()
        .chain(driver)
        .map(|event| (ShortDuration(snapshot.at.since(event.at)).to_string(), *event))
        .collect();
    let widest = events.iter().map(|(ago, _)| ago.chars().count()).max().unwrap_or(0);
    let earlier = snapshot.all_earlier_numbers();
    let words = |event: &RolloutEvent| with_present_numbers(&event.to_string(), &earlier);
    events.into_iter().map(|(ago, event)| format!("{ago:>widest$} ago  {}{}", by(event), words(event))).collect()
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
