//! P10: what a screen shows as fact is one.

use super::{Observer, Pod};
use crate::engine::Str;
use crate::engine::event::WatchHealth;
use crate::engine::snapshot::{NodeState, NodeView, Snapshot};
use crate::engine::time::Timestamp;

impl Observer {
    /// Compares what a console shows with what has been so for longer than the slack. A console that says that a view is not
    /// live claims nothing, and one that was just told the past is given the time to hear the rest.
    pub fn check_shown(&mut self, by: &str, snapshot: &Snapshot, told_old_at: Option<Timestamp>, now: Timestamp) {
        let live = snapshot.watches.iter().all(|watch| watch.health == WatchHealth::Live);
        let settled = |since: Timestamp| since + self.slack < now;
        if !live || told_old_at.is_some_and(|at| !settled(at)) || self.daemon_set.is_none() {
            return;
        }
        let mut wrong = Vec::new();
        for (name, node) in self.nodes.iter().filter(|(_, node)| settled(node.changed_at)) {
            let shown = snapshot.nodes.iter().find(|shown| shown.name == *name);
            let pods: Vec<&Pod> = self.pods.values().filter(|pod| pod.fact.node.as_ref() == Some(name)).collect();
            match (shown, pods.as_slice()) {
                (None, []) => {}
                (None, _) => wrong.push(format!("{name} is not shown")),
                (Some(shown), pods) => wrong.extend(differs(shown, node.ready, pods)),
            }
        }
        if let Some(what) = wrong.first() {
            self.accuse("P10", now, format!("{by} shows what is not so: {what}"));
        }
    }
}

fn differs(shown: &NodeView, ready: bool, pods: &[&Pod]) -> Option<String> {
    let name = &shown.name;
    if shown.state == NodeState::Ineligible {
        return None;
    }
    if ready == (shown.state == NodeState::NodeDown) {
        return Some(format!("{name} is shown as {}, and its Ready condition says {ready}", shown.state));
    }
    let [pod] = pods else {
        let none = pods.is_empty() && shown.pod.is_some();
        return none.then(|| format!("{name} has no pod, and {:?} is shown", shown.pod));
    };
    let fact = &pod.fact;
    if shown.pod.as_ref() != Some(&fact.name) {
        return Some(format!("{name} has pod {}, and {:?} is shown", fact.name, shown.pod));
    }
    let revision = |hash: &Option<Str>| hash.as_deref().unwrap_or("none").to_owned();
    if shown.revision != fact.revision {
        let (is, said) = (revision(&fact.revision), revision(&shown.revision));
        return Some(format!("the pod of {name} is at {is}, and {said} is shown"));
    }
    (shown.state == NodeState::Updated && !fact.ready).then(|| format!("{name} is shown as updated, and is not ready"))
}
