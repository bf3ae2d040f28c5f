//! A tag that is always pulled stands for whatever the registry has under it by now: no node has that image beforehand.

use super::*;
use crate::engine::model::facts::{ListedImage, NodeFact};
use crate::engine::model::node::ImageState;
use crate::engine::model::settings::{Limit, Tuning};
use crate::engine::model::template::Template;

fn listed(image: &str) -> ListedImage {
    ListedImage { name: image.into(), bytes: 400_000_000 }
}

fn template_of(image: &str, policy: &str, env: &str) -> Template {
    Template::from_json(json!({"spec": {"containers": [
        {"name": "agent", "image": image, "imagePullPolicy": policy, "env": [{"name": "BUILD", "value": env}]}
    ]}}))
}

/// Six nodes on one tag; the template changes and keeps it. One kubelet reports that it has the image. Three may be down
/// at once, and one may pull.
fn changed(image: &str, policy: &str) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::new(0, json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}));
    fake.set_template(template_of(image, policy, "1"));
    fake.reconcile();
    fake.add_nodes((1..=6).map(|nth| format!("n{nth}").into()));
    let reported = NodeFact { images: [listed(image)].into(), ..fake.nodes["n5"].clone() };
    fake.nodes.insert("n5".into(), reported);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap();
    let limit = Tuning { max_pulling: Some(Limit::At(IntOrPercent::Int(1))), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(limit)).unwrap();
    console.run_for(&mut fake, 2);
    fake.set_template(template_of(image, policy, "2"));
    fake.reconcile();
    console.run_for(&mut fake, 2);
    console.ask(&mut fake, Command::Resume).unwrap();
    fake.slow = true;
    fake.holds_images = false;
    (fake, console)
}

#[test]
fn an_image_that_is_always_pulled_takes_a_pull_slot_and_nobody_goes_first_for_it() {
    let (mut fake, mut console) = changed("r.example/agent:stable", "Always");
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.nodes.iter().all(|node| node.image == ImageState::Unknown), "nothing claims to have it");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 5);
    assert_eq!(fake.deleted, [crate::engine::model::Str::from("n1")], "one pulls, and the order is that of the names");
    let waits =
        console.snapshot(&fake).nodes.iter().filter(|node| matches!(node.hold, Some(Hold::PullLimit { .. }))).count();
    assert_eq!(waits, 5);
}

#[test]
fn an_image_that_is_pulled_only_where_it_is_missing_is_present() {
    for (image, policy) in [
        ("r.example/agent:latest".to_owned(), "IfNotPresent"),
        (format!("r.example/agent@sha256:{}", "0f".repeat(32)), "Always"),
    ] {
        let (mut fake, mut console) = changed(&image, policy);
        let snapshot = console.snapshot(&fake);
        assert!(snapshot.nodes.iter().all(|node| node.image == ImageState::Present), "{image}");
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 5);
        assert_eq!(fake.deleted.len(), 3, "{image}: as many as may be down, none of them pulls");
    }
}
