//! Whether nodes still have the images that they may go back to, and what the preview of a roll back says of it.

use std::time::Duration;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Early, PrewarmCommand};
use crate::engine::model::event::Event;
use crate::engine::model::facts::{ClusterEvent, ListedImage, NodeFact};
use crate::engine::model::node::ImageState;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::Limit;

/// Five nodes at `agent:v2`, which was rolled out; before they had `agent:v1`.
fn updated() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(5, 5);
    let mut console = FakeConsole::open(&fake, "ops");
    console.keep(&mut fake);
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 5);
    (fake, console)
}

fn lists(fake: &mut FakeCluster, console: &mut FakeConsole, node: &str, images: &[&str], all: bool) {
    let images = images.iter().map(|image| ListedImage { name: (*image).into(), bytes: 400_000_000 }).collect();
    let node = NodeFact { images, lists_all_images: all, ..fake.nodes[node].clone() };
    fake.nodes.insert(node.name.clone(), node.clone());
    console.engine.observe(Event::Node(Box::new(node)), fake.now);
}

fn on_nodes(fake: &FakeCluster, console: &mut FakeConsole, hash: &str) -> String {
    console.hear(fake);
    let all = console.engine.images_on_nodes(fake.now);
    all.iter().find(|(known, _)| **known == *hash).unwrap().1.to_string()
}

#[test]
fn what_nodes_list_and_what_their_pods_use_is_there_the_rest_is_not_known() {
    let (mut fake, mut console) = updated();
    assert_eq!(on_nodes(&fake, &mut console, "hash2"), "5 of 5 nodes still have agent:v2");
    assert_eq!(on_nodes(&fake, &mut console, "hash1"), "0 of 5 nodes still have agent:v1, 5 not known");
    lists(&mut fake, &mut console, "n1", &["docker.io/library/agent:v1", "docker.io/library/agent:v2"], false);
    lists(&mut fake, &mut console, "n2", &["docker.io/library/agent:v2"], true);
    lists(&mut fake, &mut console, "n3", &["docker.io/library/agent:v2"], false);
    let said = "1 of 5 nodes still has agent:v1, 1 would pull, 3 not known";
    assert_eq!(on_nodes(&fake, &mut console, "hash1"), said, "a full list lacks what may be there");
    // Nothing of the repository was kept: that node may have been read before anybody asked for it.
    lists(&mut fake, &mut console, "n2", &["other:1"], true);
    assert_eq!(on_nodes(&fake, &mut console, "hash1"), "1 of 5 nodes still has agent:v1, 4 not known");
    let preview = console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap();
    let line = "1 of 5 nodes still has agent:v1, 4 not known.";
    assert!(preview.effects.iter().any(|effect| effect == line), "{:?}", preview.effects);
}

#[test]
fn a_revision_is_made_ready_by_pre_warming_it() {
    let (mut fake, mut console) = updated();
    let source = PrewarmSource::Revision("hash1".into());
    let start = PrewarmCommand::Start {
        source,
        nodes: PrewarmNodes::All,
        limits: PrewarmLimits::default(),
        method: PrewarmMethod::Pods,
    };
    console.ask(&mut fake, Command::Prewarm(start)).unwrap();
    fake.warm_arrives("n1");
    fake.warm_arrives("n2");
    console.run_for(&mut fake, 1);
    assert_eq!(on_nodes(&fake, &mut console, "hash1"), "2 of 5 nodes still have agent:v1, 3 not known");
}

/// Another image is pre-warmed, so that the pods which brought the target's image go before the kubelets list it.
#[test]
fn what_was_brought_is_not_called_absent_before_its_kubelet_lists_what_it_has() {
    let mut fake = FakeCluster::rolling(3, 3);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let start = |source: PrewarmSource| {
        Command::Prewarm(PrewarmCommand::Start {
            source,
            nodes: PrewarmNodes::All,
            limits: PrewarmLimits { max_pulling: Limit::At(IntOrPercent::Int(3)), ..PrewarmLimits::default() },
            method: PrewarmMethod::Pods,
        })
    };
    console.ask(&mut fake, start(PrewarmSource::Template)).unwrap();
    for node in ["n1", "n2"] {
        lists(&mut fake, &mut console, node, &["docker.io/library/agent:v1"], true);
        fake.warm_arrives(node);
    }
    console.run_for(&mut fake, 1);
    console
        .ask(&mut fake, start(PrewarmSource::Images([("agent".to_owned(), "agent:v3".parse().unwrap())].into())))
        .unwrap();
    console.run_for(&mut fake, 5);
    assert!(fake.warm.values().all(|warm| !warm.pod.containers[0].image_present), "those that brought it went");
    let images = |console: &mut FakeConsole, fake: &FakeCluster| {
        let snapshot = console.snapshot(fake);
        ["n1", "n2", "n3"].map(|name| snapshot.nodes.iter().find(|node| &*node.name == name).unwrap().image)
    };
    assert_eq!(images(&mut console, &fake), [ImageState::Unknown; 3]);
    assert_eq!(on_nodes(&fake, &mut console, "hash2"), "0 of 3 nodes still have agent:v2, 3 not known");
    // A status that was written for another reason has the list of before.
    lists(&mut fake, &mut console, "n1", &["docker.io/library/agent:v1"], true);
    assert_eq!(images(&mut console, &fake)[0], ImageState::Unknown);
    console.run_for(&mut fake, 60);
    lists(&mut fake, &mut console, "n1", &["docker.io/library/agent:v1"], true);
    lists(&mut fake, &mut console, "n2", &["docker.io/library/agent:v1", "docker.io/library/agent:v2"], true);
    assert_eq!(images(&mut console, &fake), [ImageState::Absent, ImageState::Present, ImageState::Unknown]);
}

#[test]
fn nodes_that_never_left_it_have_it() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 30);
    assert_eq!((fake.at("hash1"), fake.at("hash2")), (3, 2));
    assert_eq!(on_nodes(&fake, &mut console, "hash1"), "3 of 5 nodes still have agent:v1, 2 not known");
}

/// `history` and the rows of the nodes say the same of the target's images.
#[test]
fn what_a_complete_list_lacks_is_pulled_in_every_view() {
    let (mut fake, mut console) = updated();
    console.set_image(&mut fake, "agent:v3");
    lists(&mut fake, &mut console, "n2", &["docker.io/library/agent:v2"], true);
    lists(&mut fake, &mut console, "n3", &["docker.io/library/agent:v2"], false);
    assert_eq!(on_nodes(&fake, &mut console, "hash3"), "0 of 5 nodes still have agent:v3, 1 would pull, 4 not known");
    let snapshot = console.snapshot(&fake);
    let image = |name: &str| snapshot.nodes.iter().find(|node| &*node.name == name).unwrap().image;
    assert_eq!((image("n2"), image("n3")), (ImageState::Absent, ImageState::Unknown));
    assert_eq!(snapshot.pulls.counts.to_string(), "present on 0 of 5, 1 absent, 4 not known");
}

/// What was set and never let go ran nowhere: a roll back does not lead to it.
#[test]
fn a_roll_back_leads_to_what_has_run() {
    let mut fake = FakeCluster::rolling(5, 5);
    let mut console = FakeConsole::open(&fake, "ops");
    for image in ["agent:missing", "agent:v2"] {
        console.set_image(&mut fake, image);
        console.run_for(&mut fake, 5);
    }
    let back_to = |fake: &FakeCluster, console: &mut FakeConsole| {
        console.hear(fake);
        let preview = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
        (preview.changes[0].what(), preview.warnings.clone())
    };
    assert_eq!(back_to(&fake, &mut console).0, "agent:v2 → agent:v1", "while it is recorded: where it came from");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash3"), 5);
    console.ask(&mut fake, Command::Release(Early::Refuse)).ok();
    console.run_for(&mut fake, 10);
    assert!(console.snapshot(&fake).started_at.is_none());
    // Nothing is known of either: as kubectl does, and with a warning.
    let (change, warnings) = back_to(&fake, &mut console);
    assert_eq!(change, "agent:v2 → agent:missing");
    assert_eq!(
        warnings,
        ["No node is known to have agent:missing, the image of revision 2: it may never have run here."]
    );
    lists(&mut fake, &mut console, "n4", &["docker.io/library/agent:v1", "docker.io/library/agent:v2"], true);
    assert_eq!(back_to(&fake, &mut console), ("agent:v2 → agent:v1".to_owned(), vec![]));
}

/// A process that begins after the pods are gone which brought an image reads in their Events that it came: a list that was written before does not say that
/// it would be pulled.
#[test]
fn what_an_event_says_came_a_moment_ago_is_not_called_absent_before_it_can_be_listed() {
    let (mut fake, mut console) = updated();
    let list = |fake: &mut FakeCluster, console: &mut FakeConsole, images: &[&str]| {
        for node in ["n1", "n2", "n3", "n4", "n5"] {
            lists(fake, console, node, images, true);
        }
    };
    let other = ["docker.io/library/agent:v2"];
    list(&mut fake, &mut console, &other);
    assert_eq!(on_nodes(&fake, &mut console, "hash1"), "0 of 5 nodes still have agent:v1, 5 would pull");
    for (node, secs_ago, reason) in
        [("n1", 5, "Pulled"), ("n2", 59, "Pulled"), ("n3", 61, "Pulled"), ("n4", 5, "Pulling")]
    {
        let message = match reason {
            "Pulled" => {
                "Successfully pulled image \"agent:v1\" in 2s (2s including waiting). Image size: 400000000 bytes."
            }
            _ => "Pulling image \"agent:v1\"",
        };
        let event = ClusterEvent {
            object: format!("gone-{node}").into(),
            node: Some(node.into()),
            container: Some("agent".into()),
            reason: reason.into(),
            message: message.into(),
            at: fake.now - Duration::from_secs(secs_ago),
            ..ClusterEvent::default()
        };
        console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
    }
    let not_known = "0 of 5 nodes still have agent:v1, 3 would pull, 2 not known";
    assert_eq!(on_nodes(&fake, &mut console, "hash1"), not_known);
    list(&mut fake, &mut console, &other);
    assert_eq!(on_nodes(&fake, &mut console, "hash1"), not_known, "it may have been written before");
    console.run_for(&mut fake, 56);
    list(&mut fake, &mut console, &other);
    assert_eq!(
        on_nodes(&fake, &mut console, "hash1"),
        "0 of 5 nodes still have agent:v1, 5 would pull",
        "it was collected"
    );
    list(&mut fake, &mut console, &["docker.io/library/agent:v2", "docker.io/library/agent:v1"]);
    assert_eq!(on_nodes(&fake, &mut console, "hash1"), "5 of 5 nodes still have agent:v1");
}

/// The warning names the image, as the registry and `kubectl` do, and tells what is certain from what is not known.
#[test]
fn a_roll_back_to_what_no_node_has_names_the_image() {
    let (mut fake, mut console) = updated();
    let warned = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.hear(fake);
        console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap().warnings
    };
    let known = "No node is known to have agent:v1, the image of revision 1: it may never have run here.";
    assert_eq!(warned(&mut console, &fake), [known]);
    for node in ["n1", "n2", "n3", "n4", "n5"] {
        lists(&mut fake, &mut console, node, &["docker.io/library/agent:v2"], true);
    }
    let lacks = "No node has agent:v1, the image of revision 1: it may never have run here.";
    assert_eq!(warned(&mut console, &fake), [lacks]);
}

/// A node that was left behind long ago does not decide where the others go.
#[test]
fn a_straggler_does_not_turn_a_roll_back_to_its_own_revision() {
    let mut fake = FakeCluster::rolling(5, 5);
    let mut console = FakeConsole::open(&fake, "ops");
    for image in ["agent:v2", "agent:v3"] {
        console.set_image(&mut fake, image);
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 60);
    }
    assert_eq!(fake.at("hash3"), 5);
    assert!(console.snapshot(&fake).started_at.is_none());
    lists(&mut fake, &mut console, "n4", &["docker.io/library/agent:v2", "docker.io/library/agent:v3"], true);
    fake.change_pod("n5", |pod| pod.revision = Some("hash1".into()));
    console.hear(&fake);
    let preview = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
    assert_eq!(preview.changes[0].what(), "agent:v3 → agent:v2");
    assert_eq!(preview.warnings, [""; 0]);
}

/// The kubelet lists its images some tens of seconds after they came. Its Event says at once that one came.
#[test]
fn the_whole_says_of_images_what_each_of_them_says() {
    let mut fake = FakeCluster::rolling(3, 3);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let start = PrewarmCommand::Start {
        source: PrewarmSource::Template,
        nodes: PrewarmNodes::All,
        limits: PrewarmLimits { max_pulling: Limit::At(IntOrPercent::Int(3)), ..PrewarmLimits::default() },
        method: PrewarmMethod::Pods,
    };
    console.ask(&mut fake, Command::Prewarm(start)).unwrap();
    for node in ["n1", "n2"] {
        lists(&mut fake, &mut console, node, &["docker.io/library/agent:v1"], true);
    }
    fake.tell_of_warm_pod("n1", "Pulled", "Successfully pulled image \"agent:v2\" in 9s (9s including waiting)");
    console.run_for(&mut fake, 1);
    let of = |console: &mut FakeConsole, fake: &FakeCluster, name: &str| {
        let snapshot = console.snapshot(fake);
        let node = snapshot.nodes.iter().find(|node| &*node.name == name).unwrap();
        let parts: Vec<String> = node.images.iter().map(|image| image.state.to_string()).collect();
        (node.image.to_string(), parts.join(" "))
    };
    for (node, says) in [("n1", "present"), ("n2", "absent"), ("n3", "unknown")] {
        assert_eq!(of(&mut console, &fake, node), (says.to_owned(), says.to_owned()), "{node}");
    }
}
