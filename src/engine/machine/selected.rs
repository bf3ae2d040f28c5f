//! Nodes whose labels somebody changes in the middle of a rollout with a selector, so that other nodes than those first chosen are updated.

use super::Engine;
use crate::engine::model::event::Event;
use crate::engine::model::record::Direction;
use crate::engine::model::rollout_event::{RolloutEventKind, Visibility};

impl Engine {
    /// Whoever drives tells of each node of the fleet that the selector begins or ceases to mean because its labels were changed. On the way back the selector is
    /// not asked. Must be called before the view takes in the event.
    pub(crate) fn note_labels(&mut self, event: &Event) {
        let Event::Node(fact) = event else { return };
        let Some(record) = self.lock.record().filter(|_| self.lock.may_act(self.now)) else { return };
        let Some(selector) = record.intent.selector.as_ref() else { return };
        let node = self.view.node(&fact.name).filter(|node| self.assessment.row(*node).is_some_and(|row| row.in_fleet));
        let known = node.and_then(|node| self.view.entry(node).fact.as_ref());
        let Some(known) = known.filter(|known| known.labels != fact.labels) else { return };
        let means = selector.matches(&fact.labels);
        if means == selector.matches(&known.labels) || record.intent.direction() == Direction::Back {
            return;
        }
        let kind = RolloutEventKind::Selected { node: fact.name.clone(), selector: selector.to_string().into(), means };
        self.happened(kind, Visibility::Timeline);
    }
}
