//! The nodes on which a DaemonSet's pods belong, as Kubernetes' DaemonSet controller and scheduler decide it.
//!
//! This module is written against Kubernetes' source, independently of the engine's own rule: a rollout in the simulated cluster checks one against
//! the other.

use crate::engine::model::Str;
use crate::engine::model::facts::Taint;
use crate::engine::model::labels::Labels;
use crate::engine::model::template::TaintEffect;
use crate::engine::model::template::{NodeTerm, Template, Toleration, TolerationOperator};

use super::super::object::{Object, Pod};

/// Taints of a node that is down.
pub(super) const DOWN: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Taints that every DaemonSet pod tolerates; the last one only with the host's network.
const AUTOMATIC: [(&str, TaintEffect); 7] = [
    ("node.kubernetes.io/not-ready", TaintEffect::NoExecute),
    ("node.kubernetes.io/unreachable", TaintEffect::NoExecute),
    ("node.kubernetes.io/disk-pressure", TaintEffect::NoSchedule),
    ("node.kubernetes.io/memory-pressure", TaintEffect::NoSchedule),
    ("node.kubernetes.io/pid-pressure", TaintEffect::NoSchedule),
    ("node.kubernetes.io/unschedulable", TaintEffect::NoSchedule),
    ("node.kubernetes.io/network-unavailable", TaintEffect::NoSchedule),
];

/// Whether a node should have a DaemonSet's pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The node should have one.
    Run,
    /// The node gets no pod, but a running one may stay.
    Stay,
    /// The node gets no pod, and a running one is deleted.
    Leave,
}

/// The DaemonSet controller's verdict on a node.
pub fn daemon_verdict(node: &Object, template: &Template) -> Verdict {
    let Some(body) = node.node() else { return Verdict::Leave };
    if template.node_name().is_some_and(|name| *name != node.meta.name) {
        return Verdict::Leave;
    }
    if !affine(node, template, template.node_terms()) {
        return Verdict::Leave;
    }
    let untolerated = |taint: &&Taint| {
        taint.effect != TaintEffect::PreferNoSchedule
            && !automatic(taint, template.host_network())
            && !template.tolerations().iter().any(|toleration| tolerates(toleration, taint))
    };
    let mut untolerated = body.taints.iter().filter(untolerated).peekable();
    if untolerated.peek().is_none() {
        Verdict::Run
    } else if untolerated.any(|taint| taint.effect == TaintEffect::NoExecute) {
        Verdict::Leave
    } else {
        Verdict::Stay
    }
}

/// Why the scheduler does not place a pod on a node.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Unfit {
    /// The node has a taint that the pod does not tolerate.
    Taint(Str, Str),
    /// The pod's selector or affinity requires another node.
    Affinity,
    /// The node is cordoned.
    Unschedulable,
    /// The node has a pod from which the pod's anti-affinity keeps it apart.
    AntiAffinity,
}

/// Whether the scheduler would place a pod on a node.
///
/// # Errors
/// The reason why the scheduler would not.
pub fn fits(pod: &Pod, node: &Object) -> Result<(), Unfit> {
    let Some(body) = node.node() else { return Err(Unfit::Affinity) };
    let pinned = pod.pinned.as_ref();
    if pinned.is_some_and(|pinned| *pinned != node.meta.name) {
        return Err(Unfit::Affinity);
    }
    // The DaemonSet controller replaces the template's terms by its own term, which names the node.
    let terms = if pinned.is_some() { None } else { pod.template.node_terms() };
    if !affine(node, &pod.template, terms) {
        return Err(Unfit::Affinity);
    }
    let unschedulable =
        Taint { key: "node.kubernetes.io/unschedulable".into(), value: "".into(), effect: TaintEffect::NoSchedule };
    if body.unschedulable && !tolerated(pod, &unschedulable) {
        return Err(Unfit::Unschedulable);
    }
    let repelled =
        body.taints.iter().find(|taint| taint.effect != TaintEffect::PreferNoSchedule && !tolerated(pod, taint));
    repelled.map_or(Ok(()), |taint| Err(Unfit::Taint(taint.key.clone(), taint.value.clone())))
}

/// Whether a pod tolerates a taint, the DaemonSet controller's automatic tolerations included.
pub(super) fn tolerated(pod: &Pod, taint: &Taint) -> bool {
    (pod.pinned.is_some() && automatic(taint, pod.template.host_network()))
        || pod.template.tolerations().iter().any(|toleration| tolerates(toleration, taint))
}

fn affine(node: &Object, template: &Template, terms: Option<&[NodeTerm]>) -> bool {
    let labels = &node.meta.labels;
    let selected = template.node_selector().iter().all(|(key, value)| labels.get(key) == Some(value));
    selected && terms.is_none_or(|terms| terms.iter().any(|term| term_matches(term, node)))
}

fn term_matches(term: &NodeTerm, node: &Object) -> bool {
    if term.expressions.is_empty() && term.fields.is_empty() {
        return false;
    }
    let expressions = term.expressions.iter().all(|requirement| requirement.matches(&node.meta.labels));
    expressions
        && (term.fields.is_empty() || {
            let fields: Labels = [("metadata.name", node.meta.name.clone())].into_iter().collect();
            term.fields.iter().all(|requirement| requirement.matches(&fields))
        })
}

fn automatic(taint: &Taint, host_network: bool) -> bool {
    AUTOMATIC.iter().any(|(key, effect)| {
        *taint.key == **key
            && taint.effect == *effect
            && (host_network || *key != "node.kubernetes.io/network-unavailable")
    })
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let key = match &toleration.key {
        Some(key) => *key == taint.key,
        None => toleration.operator == TolerationOperator::Exists,
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
    use serde_json::{Value, json};

    use super::super::super::object::{Body, Node};
    use super::*;

    fn node(taints: &[(&str, TaintEffect)]) -> Object {
        let taints = taints.iter().map(|(key, effect)| Taint { key: (*key).into(), value: "".into(), effect: *effect });
        let mut node = Object::new("", "ipc-1", Body::Node(Node { taints: taints.collect(), ..Node::default() }));
        node.meta.labels = [("zone", "a")].into_iter().collect();
        node
    }

    fn template(spec: &Value) -> Template {
        Template::from_json(json!({ "spec": spec }))
    }

    #[test]
    fn a_node_that_is_not_ready_is_left_alone_unless_everything_is_tolerated() {
        use TaintEffect::{NoExecute, NoSchedule};
        let down =
            node(&[("node.kubernetes.io/unreachable", NoSchedule), ("node.kubernetes.io/unreachable", NoExecute)]);
        assert_eq!(daemon_verdict(&down, &template(&json!({}))), Verdict::Stay);
        assert_eq!(daemon_verdict(&down, &template(&json!({"tolerations": [{"operator": "Exists"}]}))), Verdict::Run);
    }

    #[test]
    fn verdicts_follow_taints_selectors_and_names() {
        use TaintEffect::{NoExecute, NoSchedule, PreferNoSchedule};
        let plain = json!({});
        for (case, node, spec, want) in [
            ("cordoned", node(&[("node.kubernetes.io/unschedulable", NoSchedule)]), plain.clone(), Verdict::Run),
            ("preferably not", node(&[("x", PreferNoSchedule)]), plain.clone(), Verdict::Run),
            ("tainted", node(&[("x", NoSchedule)]), plain.clone(), Verdict::Stay),
            ("evicting", node(&[("x", NoExecute)]), plain, Verdict::Leave),
            (
                "tolerated by key",
                node(&[("x", NoExecute)]),
                json!({"tolerations": [{"key": "x", "operator": "Exists"}]}),
                Verdict::Run,
            ),
            (
                "another effect",
                node(&[("x", NoExecute)]),
                json!({"tolerations": [{"key": "x", "operator": "Exists", "effect": "NoSchedule"}]}),
                Verdict::Leave,
            ),
            ("another zone", node(&[]), json!({"nodeSelector": {"zone": "b"}}), Verdict::Leave),
            ("this zone", node(&[]), json!({"nodeSelector": {"zone": "a"}}), Verdict::Run),
            ("another name", node(&[]), json!({"nodeName": "ipc-2"}), Verdict::Leave),
        ] {
            assert_eq!(daemon_verdict(&node, &template(&spec)), want, "{case}");
        }
    }

    #[test]
    fn an_empty_term_matches_nothing_and_terms_are_alternatives() {
        let affinity = |terms: Value| {
            template(&json!({"affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
            }}}))
        };
        let by_name = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["ipc-1"]}]});
        assert_eq!(daemon_verdict(&node(&[]), &affinity(json!([{}]))), Verdict::Leave);
        assert_eq!(daemon_verdict(&node(&[]), &affinity(json!([{}, by_name]))), Verdict::Run);
    }

    /// This rule and the engine's agree for random nodes and templates.
    #[test]
    fn the_engines_rule_says_the_same() {
        let mut rng = fastrand::Rng::with_seed(11);
        let keys: Vec<&str> = AUTOMATIC.iter().map(|(key, _)| *key).chain(["dedicated", "gpu"]).collect();
        let effects = [TaintEffect::NoSchedule, TaintEffect::NoExecute, TaintEffect::PreferNoSchedule];
        let words = ["NoSchedule", "NoExecute", "PreferNoSchedule"];
        let mut seen = [0_u32; 3];
        for _ in 0..20_000 {
            let taints: Vec<_> =
                (0..rng.usize(..3)).map(|_| (keys[rng.usize(..keys.len())], effects[rng.usize(..3)])).collect();
            let node = node(&taints);
            let mut spec = json!({"hostNetwork": rng.bool()});
            let tolerations = (0..rng.usize(..3)).map(|_| {
                let mut toleration = json!({"operator": if rng.bool() { "Exists" } else { "Equal" }});
                if rng.usize(..4) > 0 {
                    toleration["key"] = keys[rng.usize(..keys.len())].into();
                }
                if rng.bool() {
                    toleration["effect"] = words[rng.usize(..3)].into();
                }
                toleration
            });
            spec["tolerations"] = tolerations.collect();
            if rng.usize(..4) == 0 {
                spec["nodeSelector"] = json!({"zone": if rng.bool() { "a" } else { "b" }});
            }
            if rng.usize(..4) == 0 {
                let name = if rng.bool() { "ipc-1" } else { "ipc-2" };
                let operator = ["In", "NotIn", "Exists"][rng.usize(..3)];
                let requirement = json!({"key": "zone", "operator": operator, "values": ["a"]});
                let field = json!({"key": "metadata.name", "operator": "In", "values": [name]});
                spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
                    json!([{"matchExpressions": [requirement]}, {"matchFields": [field]}]);
            }
            let template = template(&spec);
            let ours = daemon_verdict(&node, &template);
            let theirs = crate::engine::rules::eligibility::eligibility(&node.node_fact().unwrap(), &template);
            let want = match (theirs.should_run, theirs.should_continue) {
                (true, _) => Verdict::Run,
                (false, true) => Verdict::Stay,
                (false, false) => Verdict::Leave,
            };
            assert_eq!(ours, want, "{taints:?} {spec}");
            seen[ours as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count > 500), "{seen:?}");
    }
}
