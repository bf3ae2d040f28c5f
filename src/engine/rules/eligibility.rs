//! Which nodes a DaemonSet's pod should run on: the DaemonSet controller's own rule.
//!
//! Source: `pkg/controller/daemon/daemon_controller.go` `NodeShouldRunDaemonPod` and the tolerations that
//! `pkg/controller/daemon/util` adds to every pod.

use crate::engine::model::facts::{NodeFact, Taint};
use crate::engine::model::ineligible::Ineligible;
use crate::engine::model::labels::{Labels, Operator, Requirement};
use crate::engine::model::template::{NodeTerm, TaintEffect, Template, Toleration, TolerationOperator};

/// The DaemonSet controller's treatment of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Eligibility {
    /// A pod would be created there.
    pub should_run: bool,
    /// A pod that runs there would be left alone.
    pub should_continue: bool,
    /// The node belongs to the fleet: it should run the pod, or would if it were Ready.
    ///
    /// The `NoSchedule` taints of a node that is down are not tolerated automatically, so a node that is down for the
    /// moment drops out of `desired`; it is still one of the operator's nodes.
    pub in_fleet: bool,
    /// The template places a pod there, whatever the node's taints: its name, its labels and its affinity fit.
    pub is_placed: bool,
}

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// Set by the node lifecycle controller of a cloud once the machine of a node that is not Ready is found to be shut down, and removed when it runs again.
const SHUT_DOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
/// Set while the network of a node is not set up or its routes are missing, also of a node that is Ready, and removed once they are there.
const NETWORK_UNAVAILABLE: &str = "node.kubernetes.io/network-unavailable";
/// Taints that every DaemonSet pod tolerates.
pub(super) const TOLERATED: [(&str, TaintEffect); 6] = [
    (NOT_READY, TaintEffect::NoExecute),
    (UNREACHABLE, TaintEffect::NoExecute),
    ("node.kubernetes.io/disk-pressure", TaintEffect::NoSchedule),
    ("node.kubernetes.io/memory-pressure", TaintEffect::NoSchedule),
    ("node.kubernetes.io/pid-pressure", TaintEffect::NoSchedule),
    ("node.kubernetes.io/unschedulable", TaintEffect::NoSchedule),
];

/// Judges `node` for a DaemonSet with this template.
pub fn eligibility(node: &NodeFact, template: &Template) -> Eligibility {
    let placed = template.node_name().is_none_or(|name| *name == node.name)
        && selector_matches(template.node_selector(), &node.labels)
        && template.node_terms().is_none_or(|terms| terms.iter().any(|term| term_matches(term, node)));
    if !placed {
        return Eligibility::default();
    }
    let mut judged = Eligibility { should_run: true, should_continue: true, in_fleet: true, is_placed: true };
    for taint in &node.taints {
        if taint.effect == TaintEffect::PreferNoSchedule || tolerates(template, taint) {
            continue;
        }
        judged.should_run = false;
        judged.should_continue &= taint.effect != TaintEffect::NoExecute;
        judged.in_fleet &= goes_by_itself(taint);
    }
    judged
}

/// Why `node` should not run a pod of this template, in the order in which the controller checks; `None` where it should.
///
/// Of several taints, a lasting one is named: the taints of a node that is down go by themselves.
pub fn ineligible_because(node: &NodeFact, template: &Template) -> Option<Ineligible> {
    if let Some(name) = template.node_name().filter(|name| **name != node.name) {
        return Some(Ineligible::OtherNode { name: name.clone() });
    }
    let missing = template.node_selector().iter().find(|(key, value)| node.labels.get(key) != Some(*value));
    if let Some((key, value)) = missing {
        return Some(Ineligible::NodeSelector { key: key.clone(), value: value.clone() });
    }
    if template.node_terms().is_some_and(|terms| !terms.iter().any(|term| term_matches(term, node))) {
        return Some(Ineligible::Affinity);
    }
    let counts = |taint: &&Taint| taint.effect != TaintEffect::PreferNoSchedule && !tolerates(template, taint);
    let worst = node
        .taints
        .iter()
        .filter(counts)
        .min_by_key(|taint| (goes_by_itself(taint), taint.effect != TaintEffect::NoExecute));
    worst.map(|taint| Ineligible::Taint(taint.clone()))
}

/// Whether a taint only says that its node is down, or without a network: it goes by itself once the node is well.
fn goes_by_itself(taint: &Taint) -> bool {
    matches!(&*taint.key, NOT_READY | UNREACHABLE | SHUT_DOWN | NETWORK_UNAVAILABLE)
}

fn selector_matches(selector: &Labels, labels: &Labels) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

fn term_matches(term: &NodeTerm, node: &NodeFact) -> bool {
    let field = |requirement: &Requirement| {
        &*requirement.key == "metadata.name"
            && match &requirement.operator {
                Operator::In(names) => names.contains(&node.name),
                Operator::NotIn(names) => !names.contains(&node.name),
                _ => false,
            }
    };
    let asks = !term.expressions.is_empty() || !term.fields.is_empty();
    asks && term.expressions.iter().all(|expression| expression.matches(&node.labels)) && term.fields.iter().all(field)
}

fn tolerates(template: &Template, taint: &Taint) -> bool {
    TOLERATED.iter().any(|(key, effect)| *key == &*taint.key && *effect == taint.effect)
        || (template.host_network() && &*taint.key == NETWORK_UNAVAILABLE && taint.effect == TaintEffect::NoSchedule)
        || template.tolerations().iter().any(|toleration| toleration_covers(toleration, taint))
}

fn toleration_covers(toleration: &Toleration, taint: &Taint) -> bool {
    let key = match (&toleration.key, toleration.operator) {
        (None, operator) => operator == TolerationOperator::Exists,
        (Some(key), _) => *key == taint.key,
    };
    let value = match toleration.operator {
        TolerationOperator::Exists => true,
        TolerationOperator::Equal => toleration.value == taint.value,
        TolerationOperator::Unknown => false,
    };
    key && value && toleration.effect.is_none_or(|effect| effect == taint.effect)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(labels: &[(&str, &str)], taints: &[(&str, TaintEffect)]) -> NodeFact {
        NodeFact {
            name: "ipc-1".into(),
            labels: labels.iter().copied().collect(),
            taints: taints
                .iter()
                .map(|(key, effect)| Taint { key: (*key).into(), value: "".into(), effect: *effect })
                .collect(),
            ..NodeFact::default()
        }
    }

    fn judge(spec: &serde_json::Value, node: &NodeFact) -> (bool, bool, bool) {
        let judged = eligibility(node, &Template::from_json(json!({ "spec": spec })));
        (judged.should_run, judged.should_continue, judged.in_fleet)
    }

    #[test]
    fn nodes_are_judged_as_in_the_controllers_own_table() {
        use TaintEffect::{NoExecute, NoSchedule, PreferNoSchedule};
        let plain = json!({});
        let blanket = json!({"tolerations": [{"operator": "Exists"}]});
        let (all, none) = ((true, true, true), (false, false, false));
        let down = &[(NOT_READY, NoSchedule), (NOT_READY, NoExecute)][..];
        for (what, spec, labels, taints, want) in [
            ("nothing asked", &plain, &[][..], &[][..], all),
            ("a node that is down leaves desired, not the fleet", &plain, &[], down, (false, true, true)),
            ("unless everything is tolerated", &blanket, &[], down, all),
            ("a cordon is tolerated", &plain, &[], &[("node.kubernetes.io/unschedulable", NoSchedule)], all),
            ("a custom taint is not", &plain, &[], &[("dedicated", NoSchedule)], (false, true, false)),
            ("and NoExecute ends it", &plain, &[], &[("dedicated", NoExecute)], none),
            ("preferences never count", &plain, &[], &[("dedicated", PreferNoSchedule)], all),
            ("node selector", &json!({"nodeSelector": {"zone": "a"}}), &[("zone", "b")], &[], none),
            ("node selector that fits", &json!({"nodeSelector": {"zone": "a"}}), &[("zone", "a")], &[], all),
            (
                "network taint without host network",
                &plain,
                &[],
                &[(NETWORK_UNAVAILABLE, NoSchedule)],
                (false, true, true),
            ),
            ("network taint with it", &json!({"hostNetwork": true}), &[], &[(NETWORK_UNAVAILABLE, NoSchedule)], all),
            ("another node's name", &json!({"nodeName": "ipc-2"}), &[], &[], none),
        ] {
            assert_eq!(judge(spec, &node(labels, taints)), want, "{what}");
        }
    }

    #[test]
    fn a_node_is_ineligible_exactly_where_it_says_why() {
        use TaintEffect::{NoExecute, NoSchedule, PreferNoSchedule};
        let down = [(NOT_READY, NoSchedule), (NOT_READY, NoExecute)];
        for (spec, labels, taints, want) in [
            (json!({}), &[][..], &[][..], ""),
            (json!({}), &[], &[("m", PreferNoSchedule)], ""),
            (json!({}), &[], &[("m", NoSchedule)], "taint m:NoSchedule not tolerated"),
            (json!({}), &[], &[("m", NoSchedule), ("n", NoExecute)], "taint n:NoExecute not tolerated"),
            (json!({}), &[], &down, "taint node.kubernetes.io/not-ready:NoSchedule not tolerated"),
            (json!({}), &[], &[down[0], ("m", NoSchedule)], "taint m:NoSchedule not tolerated"),
            (json!({"nodeSelector": {"zone": "a"}}), &[], &[], "node selector zone=a does not match"),
            (json!({"nodeSelector": {"zone": "a"}}), &[("zone", "a")], &[], ""),
            (json!({"nodeName": "ipc-2"}), &[], &[], "the template names node ipc-2"),
        ] {
            let (node, template) = (node(labels, taints), Template::from_json(json!({ "spec": spec })));
            let said = ineligible_because(&node, &template);
            assert_eq!(said.as_ref().map(ToString::to_string).unwrap_or_default(), want, "{spec} {taints:?}");
            assert_eq!(said.is_none(), eligibility(&node, &template).should_run);
        }
    }

    #[test]
    fn required_affinity_is_any_of_its_terms() {
        let spec = |terms: serde_json::Value| json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}});
        let node = node(&[("zone", "a"), ("cores", "8")], &[]);
        let expression = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        for (terms, want) in [
            (json!([expression("zone", "In", &["b"]), expression("cores", "Gt", &["4"])]), true),
            (json!([expression("zone", "In", &["b"])]), false),
            (json!([{}]), false),
            (json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["ipc-1"]}]}]), true),
            (json!([expression("cores", "Around", &["8"])]), false),
        ] {
            assert_eq!(judge(&spec(terms.clone()), &node).0, want, "{terms}");
        }
    }
}
