//! The revisions at which a rollout halted, as its events tell them: the record forgets a halt with its rollout.

use std::collections::BTreeMap;

use serde::Serialize;

use super::phrases::HALTED_AT;
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
    /// The number at which it halted, where no revision is known to have had it: this one was there then and has had another number
    /// than it has now, so it may be meant.
    pub perhaps_at: Option<i64>,
}

/// Each event with the revision that was rolled out then, as far as the events tell, by the number that it had. `events`: oldest first.
fn with_revision<'a>(
    events: impl Iterator<Item = &'a RolloutEvent>,
) -> impl Iterator<Item = (&'a RolloutEvent, Option<i64>)> {
    let mut runs = None;
    events.map(move |event| {
        if event.reason() == "RolloutTemplateChangedByOthers" {
            runs = None;
        }
        let halted = event.halted_because().and_then(|(number, _)| number);
        runs = halted.or_else(|| event.changed_to()).or(runs);
        (event, runs)
    })
}

/// The last halt at each revision, by the number that the revision had then. A revision that every node reached afterwards, because
/// an operator resumed, has none. `events`: oldest first.
pub(crate) fn halts<'a>(events: impl Iterator<Item = &'a RolloutEvent>) -> BTreeMap<i64, RevisionHalt> {
    let mut known = BTreeMap::new();
    for (event, runs) in with_revision(events) {
        if let Some(number) = reached(event, runs) {
            known.remove(&number);
        }
        if let Some((number, (_, why))) = runs.zip(event.halted_because()) {
            let from_event = matches!(event.kind, RolloutEventKind::Reported { .. });
            known.insert(number, RevisionHalt { at: event.at, why: why.into(), from_event, perhaps_at: None });
        }
    }
    known
}

/// The revision at which every node is, by its number then, if the event tells that. The end of a roll back names it: where no node had left it, the roll back
/// may end before the change of the template is told, while another revision still seems to be rolled out (`runs`).
fn reached(event: &RolloutEvent, runs: Option<i64>) -> Option<i64> {
    let facts = event.facts();
    match facts.complete? {
        Direction::Back => facts.revisions.last().copied(),
        Direction::Forward => runs,
    }
}

/// When each revision was last reached by every node, by the number that it had then. `events`: oldest first.
pub(crate) fn completions<'a>(events: impl Iterator<Item = &'a RolloutEvent>) -> BTreeMap<i64, Timestamp> {
    let reached = with_revision(events).filter_map(|(event, runs)| match event.kind {
        RolloutEventKind::Complete { revision: Some(number), .. } => Some((number, event.at)),
        _ => Some((reached(event, runs)?, event.at)),
    });
    reached.collect()
}

/// The revision that every node reached last, by the number that it had then, if that was the end of a roll back. `events`: oldest first.
pub(crate) fn last_rolled_back_to<'a>(events: impl Iterator<Item = &'a RolloutEvent>) -> Option<i64> {
    let ends = events.map(RolloutEvent::facts).filter(|facts| facts.complete.is_some());
    let last = ends.last().filter(|facts| facts.complete == Some(Direction::Back))?;
    last.revisions.last().copied()
}

impl RolloutEvent {
    /// Why the rollout halted, with the nodes that the event names: `crash loop on 2 nodes (n1, n2)`; `None` if this event is no halt.
    pub fn halt_in_words(&self) -> Option<String> {
        let (_, why) = self.halted_because()?;
        let own = self.kind.to_string();
        // The sentence of our own event has the nodes behind the reason; that of an Event ends with who wrote it.
        let nodes = match self.kind {
            RolloutEventKind::Halted { .. } => own.rsplit_once(why).map_or("", |(_, nodes)| nodes),
            _ => "",
        };
        let writer = self.reported_by().map(|by| format!(" (by {})", person_of(by))).unwrap_or_default();
        Some(format!("{}{nodes}", why.strip_suffix(&writer).unwrap_or(why)))
    }

    /// The revision at which the rollout halted, by its number then, and the reason; `None` if this event is no halt.
    pub(super) fn halted_because(&self) -> Option<(Option<i64>, &str)> {
        match &self.kind {
            RolloutEventKind::Halted { revision, why, .. } => Some((*revision, why)),
            RolloutEventKind::Reported { reason, .. } if &**reason == "RolloutHalted" => {
                let said = self.said.as_deref()?;
                let (at, why) = said.split_once(": ")?;
                Some((at.strip_prefix(HALTED_AT).and_then(|number| number.parse().ok()), why))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::facts::Severity;
    use crate::engine::model::rollout_event::{EventOutcome, TemplateResponse, Visibility};

    fn event(kind: RolloutEventKind) -> RolloutEvent {
        RolloutEvent {
            at: Timestamp::default(),
            by: None,
            kind,
            outcome: EventOutcome::Done,
            command: None,
            said: None,
            visibility: Visibility::Cluster,
        }
    }

    fn changed(from: i64, to: i64) -> RolloutEvent {
        event(RolloutEventKind::TemplateChanged { from: Some(from), to: Some(to), images: Vec::new() })
    }

    fn halted(revision: Option<i64>) -> RolloutEvent {
        event(RolloutEventKind::Halted { number: 1, revision, why: "crash loop".into(), nodes: vec!["n1".into()] })
    }

    /// The same event, as another process reads it in the cluster.
    fn reported(event: &RolloutEvent) -> RolloutEvent {
        let reason = event.reason().into();
        let (identity, name) = ("ops".into(), "agent.1".into());
        let kind = RolloutEventKind::Reported { reason, identity, event: name, severity: Severity::Normal };
        RolloutEvent { kind, said: Some(event.kind.to_string().into()), ..event.clone() }
    }

    fn numbers(events: &[RolloutEvent]) -> Vec<i64> {
        halts(events.iter()).into_keys().collect()
    }

    #[test]
    fn a_halt_is_at_the_revision_that_was_rolled_out() {
        let complete = || event(RolloutEventKind::Complete { nodes: 3, back: false, revision: Some(15) });
        let back_at = |revision| event(RolloutEventKind::Complete { nodes: 3, back: true, revision: Some(revision) });
        let others = || {
            event(RolloutEventKind::TemplateChangedByOthers {
                manager: None,
                how: "".into(),
                then: TemplateResponse::Paused,
            })
        };
        for (events, want) in [
            (vec![halted(Some(3))], vec![3]),
            (vec![changed(2, 3), halted(None)], vec![3]),
            (vec![changed(2, 3), others(), halted(None)], vec![]),
            (vec![changed(2, 3), others(), halted(Some(4))], vec![4]),
            (vec![changed(2, 3), halted(Some(3)), complete()], vec![]),
            (vec![changed(2, 3), halted(Some(3)), changed(3, 2), complete()], vec![3]),
            (vec![changed(2, 3), halted(Some(3)), changed(3, 4), halted(Some(4)), complete()], vec![3]),
            // No node had left revision 2, so that the roll back ended before its change of the template was told.
            (vec![changed(2, 3), halted(Some(3)), back_at(4), changed(3, 2)], vec![3]),
            (vec![changed(2, 3), halted(Some(3)), back_at(3)], vec![]),
        ] {
            assert_eq!(numbers(&events), want, "{events:?}");
            let told: Vec<RolloutEvent> = events.iter().map(reported).collect();
            assert_eq!(numbers(&told), want, "{told:?}");
        }
    }

    #[test]
    fn what_an_event_of_the_cluster_says_is_told_from_what_was_seen() {
        let seen = halts([halted(Some(3))].iter());
        assert_eq!((&*seen[&3].why, seen[&3].from_event), ("crash loop", false));
        let told = halts([reported(&halted(Some(3)))].iter());
        assert_eq!((&*told[&3].why, told[&3].from_event), ("crash loop (n1)", true));
        // Anybody who may write Events may write any text.
        for said in ["halted", "halted at revision x: why", ": ", "halted at revision 99999999999999999999: why", ""] {
            let said = RolloutEvent { said: Some(said.into()), ..reported(&halted(Some(3))) };
            assert_eq!(numbers(&[said]), Vec::<i64>::new());
        }
    }
}
