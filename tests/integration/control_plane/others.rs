//! What others do to a cluster in the middle of a rollout, without a thought of it.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::DS;
use super::played::{PlayedNodes, V1, V2, counts};

/// Asks the API server to evict the pod of this node, as an autoscaler or a descheduler does.
fn evict(made: &PlayedNodes, node: &str) {
    let pods = made.sandbox.pods();
    let pod = pods.iter().find(|pod| pod["spec"]["nodeName"] == json!(node)).expect("the pod of the node");
    let name = pod["metadata"]["name"].as_str().expect("a name");
    let path = format!("{}/eviction", made.sandbox.path("pods", name));
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": name, "namespace": made.sandbox.namespace()}});
    made.sandbox.admin().request(Method::POST, &path, Some(&eviction)).expect("an answer").ok();
}

#[test]
fn x_evicted() {
    let Some(made) = PlayedNodes::new("others-evicted", 6) else { return };
    made.roll_out_to("1");
    println!("{}", made.said(&["status", DS, "--nodes"]));
    let mut driver = made.drive();
    evict(&made, &made.nodes[4]);
    made.until("two are updated", |made| made.kubelet.count(V2) == 2);
    std::thread::sleep(Duration::from_secs(2));
    println!("{}", made.said(&["status", DS, "--nodes"]));
    println!("{}", made.said(&["step", DS, "--to", "2", "--dry-run"]));
    println!("{}", made.said(&["step", DS, "--to", "3", "--dry-run"]));
    println!("{}", made.said(&["undo", DS, "--dry-run"]));
    println!("{}", driver.seen());
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    driver.end();
    println!("{}", driver.seen());
    println!("{}", made.said(&["log", DS]));
    println!("{}", made.said(&["report", DS]));
}

#[test]
fn x_kubectl_undo() {
    let Some(made) = PlayedNodes::new("others-undo", 6) else { return };
    made.roll_out_to("3");
    let mut driver = made.drive();
    let ns = made.sandbox.namespace().to_owned();
    println!("{}", made.sandbox.admin().kubectl_ok(["rollout", "undo", "ds/agent", "-n", &ns]));
    std::thread::sleep(Duration::from_secs(3));
    println!("{}", made.said(&["status", DS, "--nodes"]));
    println!("{}", made.said(&["undo", DS, "--dry-run"]));
    println!("{}", made.said(&["resume", DS, "--dry-run"]));
    println!("{}", made.said(&["history", DS]));
    println!("{:?}", driver.end());
    println!("{}", driver.seen());
    println!("{}", made.said(&["resume", DS, "--yes"]));
    println!("{}", made.said(&["status", DS]));
    println!("{}", made.said(&["drive", DS, "--until", "held", "--timeout", "60s"]));
    println!("{}", made.said(&["status", DS, "--nodes"]));
}

#[test]
fn x_revoked() {
    let Some(made) = PlayedNodes::new("others-revoked", 6) else { return };
    made.roll_out_to("1");
    let user = made.sandbox.user("bob", &super::fixture::grants(made.sandbox.namespace()));
    let operator = crate::support::program::Operator::new(user.kubeconfig(), made.sandbox.namespace());
    let mut driver = operator.drive(DS, &[]);
    driver.until("you drive it now");
    made.operator.ok(&["tune", DS, "--pace", "1", "--yes"]);
    made.operator.run(&["step", DS, "--to", "100%", "--yes"]);
    user.revoke(made.sandbox.admin());
    for _ in 0..6 {
        std::thread::sleep(Duration::from_secs(5));
        println!("--- {}", made.said(&["status", DS]));
    }
    println!("{}", driver.seen());
    user.grant(made.sandbox.admin(), &super::fixture::grants(made.sandbox.namespace()));
    println!("granted");
    println!("{:?}", driver.end());
    println!("{}", driver.seen());
    println!("{}", driver.errors());
    println!("{}", made.said(&["status", DS]));
}

#[test]
fn x_min_ready() {
    let Some(made) = PlayedNodes::new("others-min-ready", 6) else { return };
    made.roll_out_to("2");
    let mut driver = made.drive();
    made.patch(&json!({"spec": {"minReadySeconds": 30}}));
    std::thread::sleep(Duration::from_secs(2));
    println!("{}", made.said(&["status", DS, "--nodes"]));
    println!("{}", made.said(&["step", DS, "--to", "4", "--yes"]));
    for _ in 0..6 {
        std::thread::sleep(Duration::from_secs(6));
        println!("--- {}", made.said(&["status", DS, "--nodes"]));
    }
    made.patch(&json!({"spec": {"minReadySeconds": 0}}));
    std::thread::sleep(Duration::from_secs(3));
    println!("--- {}", made.said(&["status", DS, "--nodes"]));
    println!("{}", driver.seen());
    let _ = (V1, counts as fn(&Value) -> (u64, u64), &mut driver);
}
