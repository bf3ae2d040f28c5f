//! The revisions at which a rollout halted, as its events tell them: the record forgets a halt with its rollout.

use std::collections::HashMap;

use serde::Serialize;

use super::facts::HALTED;
use super::{RolloutEvent, RolloutEventKind};
use crate::engine::model::record::Direction;
use crate::engine::model::time::Timestamp;
use crate::engine::model::{Str, person_of};

/// A halt at a revision that no complete rollout to that revision followed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisionHalt {
    /// When, by the clock that the engine is handed.
    pub at: Timestamp,
    /// The reason, in words.
    pub why: Str,
    /// Whether only an Event of the cluster says so, which anybody can write who may write Events. Otherwise this process saw it, or
    /// the record has it.
    pub from_event: bool,
}

/// The last halt at each revision, by the revision's hash. A revision that every node reached afterwards, because an operator resumed, has none. `events`:
/// oldest first.
pub(crate) fn halts<'a>(events: impl Iterator<Item = &'a RolloutEvent>) -> HashMap<Str, RevisionHalt> {
    let mut known = HashMap::new();
    for event in events {
        let Some(revision) = &event.revision else { continue };
        if event.facts().complete.is_some() {
            known.remove(revision);
        } else if let Some(why) = event.halted_because() {
            let from_event = matches!(event.kind, RolloutEventKind::Reported { .. });
            known.insert(revision.clone(), RevisionHalt { at: event.at, why: why.into(), from_event });
        }
    }
    known
}

/// The revision that every node reached last, if that was the end of a roll back. `events`: oldest first.
pub(crate) fn last_rolled_back_to<'a>(events: impl Iterator<Item = &'a RolloutEvent>) -> Option<&'a Str> {
    let ends = events.filter_map(|event| Some((event.facts().complete?, event)));
    let (_, end) = ends.last().filter(|(direction, _)| *direction == Direction::Back)?;
    end.revision.as_ref()
}

impl RolloutEvent {
    /// Why the rollout halted, with the nodes that the event names: `crash loop on 2 nodes (n1, n2)`; `None` if this event is no halt.
    pub fn halt_in_words(&self) -> Option<String> {
        let why = self.halted_because()?;
        let own = self.kind.to_string();
        // The sentence of our own event has the nodes behind the reason; that of an Event ends with who wrote it.
        let nodes = match self.kind {
            RolloutEventKind::Halted { .. } => own.rsplit_once(why).map_or("", |(_, nodes)| nodes),
            _ => "",
        };
        let writer = self.reported_by().map(|by| format!(" (by {})", person_of(by))).unwrap_or_default();
        Some(format!("{}{nodes}", why.strip_suffix(&writer).unwrap_or(why)))
    }

    /// Why the rollout halted; `None` if this event is no halt.
    fn halted_because(&self) -> Option<&str> {
        match &self.kind {
            RolloutEventKind::Halted { why, .. } => Some(why),
            RolloutEventKind::Reported { reason, .. } if &**reason == HALTED => {
                self.said.as_deref()?.split_once(": ").map(|(_, why)| why)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::facts::Severity;
    use crate::engine::model::rollout_event::{EventOutcome, Visibility};

    fn event(kind: RolloutEventKind, revision: &str) -> RolloutEvent {
        RolloutEvent {
            at: Timestamp::default(),
            by: None,
            kind,
            outcome: EventOutcome::Done,
            command: None,
            said: None,
            visibility: Visibility::Cluster,
            revision: Some(revision).filter(|hash| !hash.is_empty()).map(Into::into),
        }
    }

    fn changed(revision: &str) -> RolloutEvent {
        event(RolloutEventKind::TemplateChanged { from: Some(2), to: Some(3), images: Vec::new() }, revision)
    }

    fn halted(revision: &str) -> RolloutEvent {
        let why = "crash loop".into();
        event(RolloutEventKind::Halted { number: 1, revision: Some(3), why, nodes: vec!["n1".into()] }, revision)
    }

    fn complete(back: bool, revision: &str) -> RolloutEvent {
        event(RolloutEventKind::Complete { nodes: 3, back, revision: Some(4) }, revision)
    }

    /// The same event, as another process reads it in the cluster.
    fn reported(event: &RolloutEvent) -> RolloutEvent {
        let reason = event.reason().into();
        let (identity, name) = ("ops".into(), "agent.1".into());
        let kind = RolloutEventKind::Reported { reason, identity, event: name, severity: Severity::Normal };
        RolloutEvent { kind, said: Some(event.kind.to_string().into()), ..event.clone() }
    }

    #[test]
    fn a_halt_is_at_the_revision_that_its_event_names() {
        for (events, want) in [
            (vec![halted("bad")], vec!["bad"]),
            (vec![changed("bad"), halted("")], vec![]),
            (vec![halted("bad"), complete(false, "bad")], vec![]),
            (vec![halted("bad"), changed("good"), complete(true, "good")], vec!["bad"]),
            (vec![halted("bad"), changed("worse"), halted("worse"), complete(false, "worse")], vec!["bad"]),
            (vec![halted("bad"), complete(false, "bad"), halted("bad")], vec!["bad"]),
            // Which revision every node is at is not known.
            (vec![halted("bad"), complete(false, "")], vec!["bad"]),
        ] {
            let told: Vec<RolloutEvent> = events.iter().map(reported).collect();
            for events in [events, told] {
                let known = halts(events.iter());
                assert_eq!(known.keys().map(|hash| &**hash).collect::<Vec<_>>(), want, "{events:?}");
            }
        }
    }

    #[test]
    fn the_end_of_a_roll_back_is_where_it_led_unless_another_rollout_ended_since() {
        for (events, want) in [
            (vec![complete(true, "good")], Some("good")),
            (vec![complete(true, "good"), halted("bad")], Some("good")),
            (vec![complete(true, "good"), complete(false, "new")], None),
            (vec![complete(false, "new")], None),
            (vec![complete(true, "")], None),
        ] {
            let told: Vec<RolloutEvent> = events.iter().map(reported).collect();
            for events in [events, told] {
                assert_eq!(last_rolled_back_to(events.iter()).map(|hash| &**hash), want, "{events:?}");
            }
        }
    }

    #[test]
    fn what_an_event_of_the_cluster_says_is_told_from_what_was_seen() {
        let seen = halts([halted("bad")].iter());
        assert_eq!((&*seen["bad"].why, seen["bad"].from_event), ("crash loop", false));
        let told = halts([reported(&halted("bad"))].iter());
        assert_eq!((&*told["bad"].why, told["bad"].from_event), ("crash loop (n1)", true));
        // Anybody who may write Events may write any text.
        for said in ["halted", ""] {
            let said = RolloutEvent { said: Some(said.into()), ..reported(&halted("bad")) };
            assert!(halts([said].iter()).is_empty());
        }
    }
}
