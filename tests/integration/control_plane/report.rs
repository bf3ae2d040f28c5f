//! `report` of a rollout on real controllers: it is read afterwards from the pods and the audit log.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::fixture::{BUDGET, DS, GOOD, MISSING, NODES, RolloutFixture};
use crate::support::control_plane::Grant;
use crate::support::program::{Operator, text};

/// The events of each node in order: the time and the text of each.
fn by_node(report: &Value) -> BTreeMap<String, Vec<(String, String)>> {
    let mut nodes: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let word = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
    for line in report["timeline"].as_array().unwrap().iter().filter(|line| line["node"].is_string()) {
        nodes.entry(word(line, "node")).or_default().push((word(line, "at"), word(line, "text")));
    }
    nodes
}

fn told(report: &Value, words: &str) -> bool {
    report["timeline"].as_array().unwrap().iter().any(|line| line["text"].as_str().unwrap().contains(words))
}

#[test]
fn a_report_tells_afterwards_what_happened_on_each_node() {
    let Some(fixture) = RolloutFixture::new("report") else { return };
    let operator = fixture.operator();
    operator.ok(&["set-image", DS, &format!("agent={}", GOOD[1]), "--yes"]);
    operator.ok(&["drive", DS, "--to", "100%", "--timeout", "120s"]);
    // The test waits a second: only the report's last line tells what pods did in the second in which the report is written.
    std::thread::sleep(Duration::from_secs(1));

    // The rollout is over and handed back, and its driver, the only one who watched it, is gone.
    let page = operator.home().join("good.html");
    let printed = operator.ok(&["report", DS, "--html", page.to_str().unwrap()]);
    assert!(printed.contains("What is wrong\n  nothing now") && printed.contains("20 of 20 updated"), "{printed}");
    let html = std::fs::read_to_string(&page).unwrap();
    let report = operator.json(&["report", DS, "-o", "json"]);
    assert_eq!(report["kind"], "RolloutReport");
    let nodes = by_node(&report);
    assert_eq!(nodes.keys().cloned().collect::<Vec<_>>(), fixture.nodes, "each node has its story");
    let pods = fixture.sandbox.pods();
    for (node, story) in &nodes {
        let words: Vec<&str> = story.iter().map(|(_, text)| text.as_str()).collect();
        // The time of the old pod's deletion is in the audit log; the other times are in the new pod.
        assert_eq!(words, ["its pod is going", "its pod is made", "its pod is ready"], "{node}: {story:?}");
        let pod = pods.iter().find(|pod| pod["spec"]["nodeName"] == node.as_str()).unwrap();
        let made = pod["metadata"]["creationTimestamp"].as_str().unwrap();
        // Pods give whole seconds.
        let second = |time: &str| time[..19].to_owned();
        let times: Vec<String> = story.iter().map(|(at, _)| second(at)).collect();
        assert!(times.is_sorted() && times[1] >= second(made), "{node}: {made} {story:?}");
        assert!(html.contains(node.as_str()));
    }
    let progress = report["progress"].as_array().unwrap();
    let (now, earlier) = progress.split_last().unwrap();
    let ready: Vec<u64> = earlier.iter().map(|point| point["readyAtLeast"].as_u64().unwrap()).collect();
    assert!(ready.is_sorted() && ready.last() == Some(&(NODES as u64)), "{ready:?}");
    assert_eq!((&now["updated"], &now["unavailable"]), (&NODES.into(), &0.into()), "{progress:?}");
    for words in ["adopted", "template changed", "released", "complete: all 20 nodes"] {
        assert!(told(&report, words), "{words}: {report:#}");
    }

    // A halt is reported alike from the audit log and, without it, from the cluster.
    operator.ok(&["set-image", DS, &format!("agent={MISSING}"), "--yes"]);
    let driven = operator.run(&["drive", DS, "--to", "100%", "--timeout", "120s"]);
    assert_eq!(driven.status.code(), Some(4), "{}", text(&driven));
    for log in [&[][..], &["--audit-log", "none"][..]] {
        let report = operator.json(&[&["report", DS, "-o", "json"], log].concat());
        let wrong: Vec<&Value> =
            report["findings"].as_array().unwrap().iter().filter(|finding| finding["wrong"] == true).collect();
        let failed = wrong.iter().find(|finding| finding["title"].as_str().unwrap().starts_with("image not found"));
        let on = failed.unwrap()["nodes"].as_array().unwrap();
        assert!((1..=BUDGET).contains(&on.len()), "{on:?}");
        let nodes = by_node(&report);
        let story = &nodes[on[0].as_str().unwrap()];
        assert!(story.iter().any(|(_, text)| text == "failed: image not found"), "{story:?}");
        // Without an audit log, Events on the DaemonSet tell the halt; where both do, the report tells it once.
        let halts = report["timeline"].as_array().unwrap().iter();
        let halts = halts.filter(|line| line["text"].as_str().unwrap().contains(": image not found on")).count();
        assert_eq!(halts, 1, "{log:?} {report:#}");
        let deleted = story.iter().any(|(_, text)| text == "its pod is going");
        assert_eq!(deleted, log.is_empty(), "only the log knows when a pod was deleted: {story:?}");
    }

    // A user who may see the pods, but neither nodes nor Events, gets the pods' part and a note of what is missing.
    let namespace = fixture.sandbox.namespace();
    let reads = "pods,daemonsets.apps,controllerrevisions.apps";
    let reader = fixture.sandbox.user("restricted", &[Grant::within(namespace, "get,list,watch", reads)]);
    let reader = Operator::new(reader.kubeconfig(), namespace);
    let report = reader.json(&["report", DS, "-o", "json"]);
    assert_eq!(by_node(&report).len(), on_nodes(&report), "{report:#}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("The view was not complete") && notes.contains("nodes"), "{notes}");
}

/// How many nodes have a pod that the rollout made.
fn on_nodes(report: &Value) -> usize {
    report["nodes"].as_array().unwrap().iter().filter(|node| node["atTarget"] == true).count()
}
