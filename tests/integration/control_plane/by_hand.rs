//! Objects of a rollout that somebody deletes or edits by hand in the middle of it.

use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::DS;
use super::played::{PlayedNodes, V2};
use crate::support::program::text;

fn show(made: &PlayedNodes, what: &str) {
    println!("── {what}\n{}", made.said(&["status", DS, "--nodes"]));
}

fn daemon_set(made: &PlayedNodes) -> Value {
    made.sandbox.admin().get(&made.sandbox.path("daemonsets.apps", "agent")).ok()
}

#[test]
fn lease() {
    let Some(made) = PlayedNodes::new("by-hand-lease", 5) else { return };
    made.roll_out_to("1");
    let mut driver = made.drive();
    made.sandbox.admin().delete(&made.sandbox.path("leases.coordination.k8s.io", "rolldeck-agent")).ok();
    std::thread::sleep(Duration::from_secs(8));
    show(&made, "lease deleted");
    println!("{}", driver.seen());
    println!("{}", text(&made.operator.run(&["step", DS, "--to", "2"])));
    std::thread::sleep(Duration::from_secs(8));
    show(&made, "stepped");
    println!("{}", driver.seen());
    panic!("look");
}

#[test]
fn revisions() {
    let Some(made) = PlayedNodes::new("by-hand-revisions", 5) else { return };
    made.roll_out_to("1");
    let mut driver = made.drive();
    let list = made.sandbox.path("controllerrevisions.apps", "");
    for number in [2, 1] {
        let items = made.sandbox.admin().get(&list).ok();
        let items = items["items"].as_array().unwrap().clone();
        println!(
            "{:?}",
            items.iter().map(|it| (it["metadata"]["name"].clone(), it["revision"].clone())).collect::<Vec<_>>()
        );
        let one = items.iter().find(|it| it["revision"] == json!(number)).unwrap();
        let name = one["metadata"]["name"].as_str().unwrap();
        made.sandbox.admin().delete(&made.sandbox.path("controllerrevisions.apps", name)).ok();
        std::thread::sleep(Duration::from_secs(6));
        show(&made, &format!("revision {number} deleted"));
        println!("{}", driver.seen());
    }
    println!("{}", text(&made.operator.run(&["undo", DS, "--dry-run"])));
    println!("{}", text(&made.operator.run(&["step", DS, "--to", "3"])));
    std::thread::sleep(Duration::from_secs(10));
    show(&made, "stepped");
    println!("{}", driver.seen());
    panic!("look");
}

#[test]
fn annotation() {
    let Some(made) = PlayedNodes::new("by-hand-annotation", 5) else { return };
    made.roll_out_to("1");
    let mut driver = made.drive();
    made.patch(&json!({"metadata": {"annotations": {"rolldeck.io/original-update-strategy": null}}}));
    std::thread::sleep(Duration::from_secs(5));
    show(&made, "annotation removed");
    println!("{}", driver.seen());
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    made.until("all", |made| made.kubelet.count(V2) == 5);
    driver.end();
    println!("{}", driver.seen());
    show(&made, "over");
    println!("{:#}\n{:#}", daemon_set(&made)["spec"]["updateStrategy"], daemon_set(&made)["metadata"]["annotations"]);
    panic!("look");
}
