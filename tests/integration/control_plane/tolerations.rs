//! A roll back leads to a revision that tolerates fewer taints. The controller deletes pods for that at once, whatever the update strategy and the
//! budget, and the preview says which pods.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fixture::DS;
use super::played::{PlayedNodes, V1, V2};

/// The uid of each node's pod.
fn pods(made: &PlayedNodes) -> BTreeMap<String, String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pods = made.sandbox.pods();
    pods.iter().map(|pod| (word(&pod["spec"]["nodeName"]), word(&pod["metadata"]["uid"]))).collect()
}

#[test]
fn a_roll_back_to_fewer_tolerations_says_which_pods_go_and_they_do() {
    let Some(made) = PlayedNodes::new("tolerations", 5) else { return };
    let spec = json!({
        "tolerations": [{"key": "line", "operator": "Exists"}],
        "containers": [{"name": "agent", "image": V2}],
    });
    made.patch(&json!({"spec": {"template": {"spec": spec}}}));
    made.until("its controller has rolled it out", |made| made.kubelet.count(V2) == 5);
    let taint = |effect: &str| json!({"spec": {"taints": [{"key": "line", "value": "a", "effect": effect}]}});
    let (evicted, kept) = (&made.nodes[0], &made.nodes[1]);
    made.patch_node(evicted, &taint("NoExecute"));
    made.patch_node(kept, &taint("NoSchedule"));
    let before = pods(&made);
    assert_eq!(before.len(), 5, "they tolerate it: {before:?}");

    let preview = made.said(&["undo", DS, "--dry-run"]);
    println!("{preview}");
    let goes =
        format!("its controller deletes the 1 pod at once, whatever the budget: {evicted} (taint line=a:NoExecute");
    assert!(preview.contains(&goes), "{preview}");
    assert!(preview.contains(&format!("On 1 node its pod may stay as it is, and is not updated: {kept}")), "{preview}");
    // Nobody is there to confirm the deletions.
    let refused = made.operator.run(&["undo", DS]);
    assert_eq!(refused.status.code(), Some(6));
    assert_eq!(pods(&made), before, "nothing went");

    made.operator.ok(&["undo", DS, "--yes"]);
    made.until("the pod goes before anybody drives", |made| !pods(made).contains_key(evicted));
    let mut driver = made.drive();
    driver.until("every node is updated, the release waits: it would remove 1 serving pod for good");
    assert_eq!((made.kubelet.count(V1), made.kubelet.count(V2)), (3, 1));
    let after = pods(&made);
    assert_eq!(after.get(kept), before.get(kept), "its pod may stay, and stays");
    assert!(!after.contains_key(evicted));
    let early = made.said(&["release", DS, "--early", "--yes"]);
    println!("{early}");
    assert!(early.contains("on nodes that should not run them any more, and makes none there"), "{early}");
    driver.end();
    println!("{}", driver.seen());
    made.until("the pod that was kept is gone", |made| !pods(made).contains_key(kept));
}
