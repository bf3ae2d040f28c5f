//! Going back to a revision that places its pods elsewhere: another node selector, affinity or tolerations.
//!
//! The controller applies a template's placement at once and to all nodes (`machine/placement.rs`), so the preview says it before the template is
//! written.

use std::borrow::Cow;

use crate::engine::assess::rows::Assessment;
use crate::engine::machine::Engine;
use crate::engine::machine::placement::{Placement, with_reason};
use crate::engine::model::Str;
use crate::engine::model::danger::Danger;
use crate::engine::model::ineligible::Ineligible;
use crate::engine::model::node::NodeState;
use crate::engine::model::quantity::counted;
use crate::engine::model::record::{Change, Direction, Intent};
use crate::engine::model::template::Template;
use crate::engine::rules::eligibility::eligibility;

/// The most nodes that are named in a sentence.
const NAMED: usize = 5;

impl Placement {
    /// How much it can break: no budget limits what the controller deletes by itself.
    pub(super) fn danger(&self) -> Danger {
        if self.loses.is_empty() { Danger::None } else { Danger::ExceedsBudget }
    }

    /// The changes in words, one sentence per line; empty if nothing changes.
    pub(super) fn in_words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.loses.is_empty() {
            lines.push(format!(
                "That revision is placed elsewhere: its controller deletes the {} at once, whatever the budget: {}.",
                counted(self.loses.len(), "pod"),
                named(&self.loses)
            ));
        }
        if !self.gains.is_empty() {
            let gains: Vec<(Str, Option<Ineligible>)> = self.gains.iter().map(|node| (node.clone(), None)).collect();
            lines.push(format!(
                "That revision runs on {} more: its controller makes the pods there at once: {}.",
                counted(gains.len(), "node"),
                named(&gains)
            ));
        }
        if !self.keeps.is_empty() {
            lines.push(format!(
                "On {} its pod may stay as it is, and is not updated: {}.",
                counted(self.keeps.len(), "node"),
                named(&self.keeps)
            ));
        }
        lines
    }
}

/// `n1, n2 and 3 more (taint m=x:NoSchedule not tolerated)`
fn named(nodes: &[(Str, Option<Ineligible>)]) -> String {
    let names: Vec<&str> = nodes.iter().take(NAMED).map(|(node, _)| &**node).collect();
    let mut words = names.join(", ");
    if nodes.len() > NAMED {
        words.push_str(&format!(" and {} more", nodes.len() - NAMED));
    }
    with_reason(words, nodes)
}

impl Engine {
    /// The changes that the placement of the revision that is gone back to makes; none if the template is not known.
    pub(super) fn placement_of(&self, intent: &Intent) -> Placement {
        self.template_gone_back_to(intent).map(|template| self.placement_put_back(&template)).unwrap_or_default()
    }

    /// Whether the controller deletes pods at once where the template of this revision is put back, as its placement is another.
    pub(super) fn deletes_at_once(&self, intent: &Intent) -> bool {
        let template = self.template_gone_back_to(intent);
        let present = self.view.daemonset().map(|daemonset| &daemonset.template);
        // The nodes are judged one by one only where that can make a difference.
        let differs = template.as_ref().zip(present).filter(|(then, now)| !then.is_placed_as(now));
        differs.is_some_and(|(then, _)| !self.placement_put_back(then).loses.is_empty())
    }

    fn template_gone_back_to(&self, intent: &Intent) -> Option<Template> {
        let target = intent.change.as_ref()?.revision()?;
        Some(self.view.revision(target)?.template.clone())
    }

    /// The fleet as it would be with the earlier revision as target, on the nodes where that one runs. While a roll back is under way, the fleet as it is.
    pub(super) fn going_back(&self, intent: &Intent) -> Cow<'_, Assessment> {
        let Some(target) = intent.change.as_ref().and_then(Change::revision) else {
            return match intent.direction() {
                Direction::Back => self.retargeted(intent),
                Direction::Forward => Cow::Owned(Assessment::default()),
            };
        };
        let template = self.template_gone_back_to(intent);
        let min_ready = self.view.daemonset().map_or(0, |daemonset| daemonset.min_ready_secs);
        Cow::Owned(self.assessment.with(|row| {
            // Nothing soaks on the way back: a pod that serves is available once it has been ready for minReadySeconds.
            let soaks = row.available_at.filter(|_| row.state == NodeState::Soaking && row.restarts == 0);
            if soaks.is_some_and(|soaks| soaks.is_over_with(min_ready, self.now)) {
                (row.available, row.available_at, row.blame) = (true, None, None);
            }
            let fact = self.view.entry(row.node).fact.as_ref();
            if let Some((fact, template)) = fact.zip(template.as_ref()) {
                let then = eligibility(fact, template);
                (row.in_fleet, row.should_run) = (then.in_fleet, then.should_run);
            }
            let pod = row.pod.and_then(|pod| self.view.pod(pod));
            let at_target = pod.is_some_and(|pod| pod.fact.revision.as_ref() == Some(target));
            let live = pod.is_some_and(|pod| pod.fact.deletion_at.is_none());
            let may_go = (row.replaceable || row.at_target) && row.in_fleet;
            row.replaceable = may_go && !at_target && live && row.should_run;
            row.at_target = at_target;
            row.committed = row.in_fleet && !row.replaceable;
        }))
    }

    /// The fleet as it would be with the target of `intent`. A resume after somebody else has changed the template rolls that template
    /// out.
    pub(super) fn retargeted(&self, intent: &Intent) -> Cow<'_, Assessment> {
        let Some(target) = intent.target.as_ref().filter(|target| self.intent().target.as_ref() != Some(*target))
        else {
            return Cow::Borrowed(&self.assessment);
        };
        Cow::Owned(self.assessment.with(|row| {
            let pod = row.pod.and_then(|pod| self.view.pod(pod));
            let at_target = pod.is_some_and(|pod| pod.fact.revision.as_ref() == Some(target));
            let live = pod.is_some_and(|pod| pod.fact.deletion_at.is_none());
            let was_updated = row.at_target && row.should_run && !row.is_down && !row.other_goes && !row.crowded;
            row.replaceable = (row.replaceable || was_updated) && row.in_fleet && live && !at_target;
            row.at_target = at_target;
            row.committed = row.in_fleet && (at_target || !live);
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
    use crate::engine::model::Str;
    use crate::engine::model::command::{Command, Step};
    use crate::engine::model::danger::Danger;
    use crate::engine::model::quantity::IntOrPercent;
    use crate::engine::model::template::TaintEffect;
    use crate::engine::model::template::Template;

    fn template(image: &str, placement: serde_json::Value) -> Template {
        let mut spec = placement;
        spec["containers"] = json!([{"name": "agent", "image": image}]);
        Template::from_json(json!({"spec": spec}))
    }

    /// Revision 1 is placed as said, revision 2 everywhere.
    fn moved(placement: serde_json::Value) -> (FakeCluster, FakeConsole) {
        let mut fake = FakeCluster::rolling(0, 1);
        fake.daemonset.template = template("agent:v1", placement);
        fake.revisions.clear();
        fake.reconcile();
        fake.set_template(template("agent:v2", json!({})));
        fake.reconcile();
        fake.add_nodes((1..=8).map(|nth| format!("n{nth}").into()));
        let console = FakeConsole::open(&fake, "ops");
        (fake, console)
    }

    #[test]
    fn going_back_to_another_placement_is_previewed_with_that_placement() {
        let (mut fake, mut console) = moved(json!({"nodeSelector": {"zone": "canary"}}));
        let preview = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
        let nodes: Vec<&str> = preview.nodes.iter().map(|node| &**node).collect();
        assert_eq!(nodes, ["n1", "n2", "n3"], "it replaces pods only where that revision runs");
        assert_eq!(preview.danger, Danger::ExceedsBudget);
        assert_eq!(preview.beyond_in_words(), Some("can take down more nodes than the budget allows"));
        let said = "That revision is placed elsewhere: its controller deletes the 5 pods at once, whatever the budget: n4, \
                    n5, n6, n7, n8 (node selector zone=canary does not match).";
        assert!(preview.effects.iter().any(|line| line == said), "{:?}", preview.effects);

        // Nodes on which it cannot run now, and could run then.
        let (tolerant, mut console) = moved(json!({"tolerations": [{"operator": "Exists"}]}));
        fake = tolerant;
        fake.set_taints("n7", &[("m", "x", TaintEffect::NoExecute)]);
        fake.remove_pod("n7");
        console.hear(&fake);
        let preview = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
        assert_eq!((preview.nodes.len(), preview.danger), (7, Danger::Serious));
        let said = "That revision runs on 1 node more: its controller makes the pods there at once: n7.";
        assert!(preview.effects.iter().any(|line| line == said), "{:?}", preview.effects);
    }

    #[test]
    fn the_same_placement_says_nothing() {
        let (fake, mut console) = moved(json!({}));
        let preview = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
        assert_eq!((preview.nodes.len(), preview.danger), (8, Danger::Serious));
        assert!(!preview.effects.iter().any(|line| line.contains("That revision")), "{:?}", preview.effects);
    }

    #[test]
    fn a_pod_that_may_stay_is_not_counted_among_those_that_are_updated() {
        let (mut fake, mut console) = moved(json!({}));
        fake.set_template(template("agent:v3", json!({"tolerations": [{"operator": "Exists"}]})));
        fake.reconcile();
        fake.set_taints("n2", &[("m", "x", TaintEffect::NoSchedule)]);
        console.hear(&fake);
        let preview = console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap();
        assert_eq!(preview.nodes.len(), 7);
        let said = "On 1 node its pod may stay as it is, and is not updated: n2 (taint m=x:NoSchedule not tolerated).";
        assert!(preview.effects.iter().any(|line| line == said), "{:?}", preview.effects);
    }

    /// Half of the nodes are updated when somebody changes the template: with it, none of them is.
    #[test]
    fn resuming_with_the_template_of_somebody_else_is_previewed_with_that_template() {
        let mut fake = FakeCluster::rolling(6, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 3);
        console.run_for(&mut fake, 20);
        fake.set_template(crate::engine::fake_cluster::template("agent:v3"));
        fake.reconcile();
        console.run_for(&mut fake, 5);
        let preview = console.engine.preview(&Command::Resume, fake.now).unwrap();
        assert!(preview.nodes.is_empty(), "{preview:?}");
        assert!(preview.effects.iter().any(|line| line.starts_with("No node is in line")), "{:?}", preview.effects);
        console.ask(&mut fake, Command::Resume).unwrap();
        console.run_for(&mut fake, 30);
        assert_eq!(fake.at("hash3"), 0);
        let step = Command::Step(Step::Updated(IntOrPercent::Int(3)));
        let preview = console.engine.preview(&step, fake.now).unwrap();
        assert_eq!(preview.nodes.len(), 3, "{preview:?}");
        console.ask(&mut fake, step).unwrap();
        console.run_for(&mut fake, 30);
        assert_eq!((fake.at("hash1") + fake.at("hash2"), fake.at("hash3")), (3, 3));
        let went = |node: &&Str| {
            fake.pods.values().any(|pod| pod.node.as_ref() == Some(*node) && pod.revision.as_deref() == Some("hash3"))
        };
        assert_eq!(preview.nodes.iter().filter(went).count(), 3, "those that were named");
    }
}
