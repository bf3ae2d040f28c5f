//! Pods that others took away; the words put several of them into one sentence.

use super::{RolloutEvent, RolloutEventKind};

/// The reason of an Event on a pod that somebody else took away; see [`RolloutEvent::reason`].
pub(super) const TAKEN_AWAY: &str = "RolloutPodTakenAway";
/// How many of these events are Events for everybody within a short time. The others are only in the timeline and the log of the
/// driver.
pub(crate) const TOLD_TO_ALL: usize = 10;
/// The most nodes that are named in one sentence.
const NAMED: usize = 5;
/// Said of a pod that was at the target already.
pub(super) const AFTER_UPDATE: &str = "after its update";
/// The beginning of the words for one pod.
const POD_OF: &str = "the pod of ";

/// Whether the words about a pod, as [`RolloutEvent::taken_away`] has them, say that it was at the target already.
pub(crate) fn is_after_update(rest: &str) -> bool {
    rest.contains(AFTER_UPDATE)
}

impl RolloutEvent {
    /// Whether the event says that somebody else took a pod away.
    pub fn is_taken_away(&self) -> bool {
        match &self.kind {
            RolloutEventKind::PodTakenAway { .. } => true,
            RolloutEventKind::Reported { reason, .. } => &**reason == TAKEN_AWAY,
            _ => false,
        }
    }

    /// The node whose pod was taken away, and the words about that pod: `n4`, `was deleted, …`. `None` if the event is about something
    /// else.
    pub fn taken_away(&self) -> Option<(String, String)> {
        let said = self.is_taken_away().then(|| self.to_string())?;
        let (_, of_pod) = said.split_once(POD_OF)?;
        let (node, rest) = of_pod.split_once(' ')?;
        Some((node.to_owned(), rest.to_owned()))
    }
}

/// `the pods of 7 nodes (a, b, c, d, e and 2 more) were deleted, …`: the words `rest` about one pod, told of the pods of all `nodes`.
/// `reported`: these are known from Events, of which there are [`TOLD_TO_ALL`] at most.
pub fn taken_away_together(nodes: &[String], rest: &str, reported: bool) -> String {
    let named = nodes.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let at_least = if reported && nodes.len() >= TOLD_TO_ALL { "at least " } else { "" };
    let more = match nodes.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" … and {at_least}{more} more"),
    };
    let rest = match rest.strip_prefix("was ") {
        Some(rest) => format!("were {rest}"),
        None => rest.replacen("its controller replaces it:", "their controller replaces them:", 1),
    };
    let rest = rest.replacen("its next pod is at the target", "their next pods are at the target", 1);
    let rest = rest.replacen(AFTER_UPDATE, "after their updates", 1);
    format!("the pods of {at_least}{} nodes ({named}{more}) {rest}", nodes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_are_named_in_one_sentence() {
        let names = |count: usize| (1..=count).map(|nth| format!("n{nth}")).collect::<Vec<_>>();
        let rest = "was deleted by somebody else: its next pod is at the target";
        assert_eq!(
            taken_away_together(&names(4), rest, true),
            "the pods of 4 nodes (n1, n2, n3, n4) were deleted by somebody else: their next pods are at the target"
        );
        let failed = "failed (Evicted) and its controller replaces it: its next pod is at the target";
        assert_eq!(
            taken_away_together(&names(8), failed, true),
            "the pods of 8 nodes (n1, n2, n3, n4, n5 … and 3 more) failed (Evicted) and their controller replaces them: their next pods are \
             at the target"
        );
        let many = taken_away_together(&names(TOLD_TO_ALL), rest, true);
        assert!(
            many.starts_with("the pods of at least 10 nodes (n1, n2, n3, n4, n5 … and at least 5 more) were"),
            "{many}"
        );
        let updated = "was deleted by somebody else, after its update: its next pod is at the target as well";
        let updated = taken_away_together(&names(2), updated, true);
        assert_eq!(
            updated,
            "the pods of 2 nodes (n1, n2) were deleted by somebody else, after their updates: their next pods are at the target as well"
        );
        let ours = taken_away_together(&names(12), rest, false);
        assert!(ours.starts_with("the pods of 12 nodes (n1, n2, n3, n4, n5 … and 7 more) were"), "{ours}");
    }
}
