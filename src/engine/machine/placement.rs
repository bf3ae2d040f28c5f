//! What another placement of the pods changes: another node selector, affinity, tolerations or node name.
//!
//! Whatever the update strategy, the controller applies a template's placement at once and to all nodes (docs/kubernetes.md,
//! *Creating and deleting pods*): it creates a pod on every node that should have one and has none, and deletes those on nodes
//! that must not have one. No budget limits that.

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::facts::NodeFact;
use crate::engine::model::first_names::first_names;
use crate::engine::model::ineligible::Ineligible;
use crate::engine::model::record::Intent;
use crate::engine::model::template::Template;
use crate::engine::model::template::diff::FieldChange;
use crate::engine::rules::eligibility::{Eligibility, eligibility, ineligible_because};

/// The fields of a pod's spec by which it is placed, as the paths of differences begin with them.
const PLACES: [&str; 4] = ["nodeSelector", "affinity", "tolerations", "nodeName"];

/// About how many characters a changed field takes in a sentence.
const FIELD: usize = 120;

/// The changes that a template's placement makes to that of another one; nodes in natural order.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// Nodes that get a pod.
    pub(crate) gains: Vec<Str>,
    /// Nodes whose pod is deleted, and why.
    pub(crate) loses: Vec<(Str, Option<Ineligible>)>,
    /// Nodes whose pod may stay, but is not made again once it is gone, and why.
    pub(crate) keeps: Vec<(Str, Option<Ineligible>)>,
}

impl Engine {
    /// What the controller does at once if this template replaces the present one.
    pub(crate) fn placement_put_back(&self, template: &Template) -> Placement {
        let mut placement = Placement::default();
        for (node, fact) in self.nodes_in_natural_order() {
            let entry = self.view.entry(node);
            let (now, then) = (entry.eligibility, eligibility(fact, template));
            let pod = self.assessment.row(node).and_then(|row| self.view.pod(row.pod?));
            let stays = pod.is_some_and(|pod| pod.fact.deletion_at.is_none());
            let why = || ineligible_because(fact, template);
            match (now.in_fleet, then.in_fleet) {
                (false, true) if then.should_run && !stays => placement.gains.push(entry.name.clone()),
                (_, false) if pod.is_some() && now.should_continue && !then.should_continue => {
                    placement.loses.push((entry.name.clone(), why()));
                }
                (true, false) if pod.is_some() => placement.keeps.push((entry.name.clone(), why())),
                _ => {}
            }
        }
        placement
    }

    /// What the template that somebody else made in the middle of the rollout changes in the placement of the target's, in words: `90 nodes no longer
    /// run it: n1, n2, n3, … (node selector zone=b does not match)`. Pods of nodes that were meant may be gone already, so the nodes are judged by their
    /// labels and taints. Empty where nothing changes, or the revision of the target is gone.
    pub(super) fn placement_of_others_in_words(&self, intent: &Intent) -> Vec<String> {
        let target = intent.target.as_ref().and_then(|target| self.view.revision(target));
        let Some((before, now)) = target.zip(self.view.daemonset()) else { return Vec::new() };
        let mut placement = Placement::default();
        for (node, fact) in self.nodes_in_natural_order() {
            let name = || self.view.entry(node).name.clone();
            let why = || ineligible_because(fact, &now.template);
            let (was, is): (Eligibility, Eligibility) =
                (eligibility(fact, &before.template), eligibility(fact, &now.template));
            match (was.in_fleet, is.in_fleet) {
                (false, true) => placement.gains.push(name()),
                (true, false) if is.should_continue => placement.keeps.push((name(), why())),
                (true, false) => placement.loses.push((name(), why())),
                _ => {}
            }
        }
        let Placement { gains, loses, keeps } = placement;
        let verb = |count: usize, one: &'static str, more: &'static str| {
            if count == 1 { format!("1 node {one}") } else { format!("{count} nodes {more}") }
        };
        let mut words = Vec::new();
        if !loses.is_empty() {
            let (count, named) = (loses.len(), names_and_why(&loses));
            words.push(format!("{}: {named}", verb(count, "no longer runs it", "no longer run it")));
        }
        if !keeps.is_empty() {
            let (count, named) = (keeps.len(), names_and_why(&keeps));
            words.push(format!(
                "{}: {named}",
                verb(count, "keeps its pod and gets no other", "keep their pods and get no other")
            ));
        }
        if !gains.is_empty() {
            let named = first_names(gains.iter().map(|node| &**node));
            words.push(format!("{}: {named}", verb(gains.len(), "more runs it", "more run it")));
        }
        words
    }

    fn nodes_in_natural_order(&self) -> impl Iterator<Item = (usize, &NodeFact)> {
        let mut order: Vec<usize> = (0..self.view.nodes().len()).collect();
        order.sort_by_key(|node| self.natural_ranks().get(*node).copied());
        order.into_iter().filter_map(|node| Some((node, self.view.entry(node).fact.as_ref()?)))
    }
}

/// A changed field in words, if it is one of those by which pods are placed: `nodeSelector[zone]: a → b`. Their values are labels and taints of
/// nodes, which are no secrets.
pub(super) fn placing_field(change: &FieldChange) -> Option<String> {
    let places = |name: &&str| {
        let rest = change.path.strip_prefix(*name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
    };
    PLACES.iter().any(places).then(|| change.within(FIELD))
}

/// `n1, n2, n3, … (node selector zone=b does not match)`
fn names_and_why(nodes: &[(Str, Option<Ineligible>)]) -> String {
    with_reason(first_names(nodes.iter().map(|(node, _)| &**node)), nodes)
}

/// The names of these nodes, followed by the reason why the pod is not placed there, if there is one; of several reasons the first.
pub(crate) fn with_reason(names: String, nodes: &[(Str, Option<Ineligible>)]) -> String {
    match nodes.iter().find_map(|(_, why)| why.as_ref()) {
        Some(why) => format!("{names} ({why})"),
        None => names,
    }
}
