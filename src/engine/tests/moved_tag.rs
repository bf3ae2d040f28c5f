//! A tag that is always pulled stands for whatever the registry has under it by now: no node has that image beforehand.

use super::*;
use crate::engine::facts::NodeFact;
use crate::engine::snapshot::ImageState;
use crate::engine::template::Template;
use crate::engine::tuning::{Limit, Tuning};

fn template_of(image: &str, policy: &str, env: &str) -> Template {
    Template::from_json(json!({"spec": {"containers": [
        {"name": "agent", "image": image, "imagePullPolicy": policy, "env": [{"name": "BUILD", "value": env}]}
    ]}}))
}

/// Six nodes on one tag; the template changes and keeps it. One kubelet reports that it has the image. Three may be down
/// at once, and one may pull.
fn changed(image: &str, policy: &str) -> (Lab, Console) {
    let mut lab = Lab::new(0, json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}));
    lab.set_template(template_of(image, policy, "1"));
    lab.reconcile();
    lab.add_nodes((1..=6).map(|nth| format!("n{nth}").into()));
    let reported = NodeFact { images: vec![image.into()], ..lab.nodes["n5"].clone() };
    lab.nodes.insert("n5".into(), reported);
    let mut console = Console::open(&lab, "ops");
    console.ask(&mut lab, Command::Adopt).unwrap();
    let limit = Tuning { max_pulling: Some(Limit::At(IntOrPercent::Int(1))), ..Tuning::default() };
    console.ask(&mut lab, Command::Tune(limit)).unwrap();
    console.run_for(&mut lab, 2);
    lab.set_template(template_of(image, policy, "2"));
    lab.reconcile();
    console.run_for(&mut lab, 2);
    console.ask(&mut lab, Command::Resume).unwrap();
    lab.slow = true;
    lab.holds_images = false;
    (lab, console)
}

#[test]
fn an_image_that_is_always_pulled_takes_a_pull_slot_and_nobody_goes_first_for_it() {
    let (mut lab, mut console) = changed("r.example/agent:stable", "Always");
    let snapshot = console.snapshot(&lab);
    assert!(snapshot.nodes.iter().all(|node| node.image == ImageState::Unknown), "nothing claims to have it");
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 5);
    assert_eq!(lab.deleted, [crate::engine::Str::from("n1")], "one pulls, and the order is that of the names");
    let waits =
        console.snapshot(&lab).nodes.iter().filter(|node| matches!(node.hold, Some(Hold::PullLimit { .. }))).count();
    assert_eq!(waits, 5);
}

#[test]
fn an_image_that_is_pulled_only_where_it_is_missing_is_present() {
    for (image, policy) in [
        ("r.example/agent:latest".to_owned(), "IfNotPresent"),
        (format!("r.example/agent@sha256:{}", "0f".repeat(32)), "Always"),
    ] {
        let (mut lab, mut console) = changed(&image, policy);
        let snapshot = console.snapshot(&lab);
        assert!(snapshot.nodes.iter().all(|node| node.image == ImageState::Present), "{image}");
        console.partition(&mut lab, 0);
        console.run_for(&mut lab, 5);
        assert_eq!(lab.deleted.len(), 3, "{image}: as many as may be down, none of them pulls");
    }
}
