//! What is known of image pulls: from events in any order, from statuses, from what nodes list; and how they compare.

use std::time::Duration;

use super::*;
use crate::engine::model::Str;
use crate::engine::model::command::PrewarmCommand;
use crate::engine::model::facts::{ClusterEvent, ContainerFact, ListedImage, NodeFact, PodFact};
use crate::engine::model::node::ImageState;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::pull::{Evidence, ImagePull, PeerScope, PullFailure, PullState};
use crate::engine::model::settings::Limit;
use crate::engine::model::site::ZONE;
use crate::engine::model::template::{ContainerRole, Template};
use crate::engine::model::time::Timestamp;
use crate::engine::report::diagnosis::{Diagnosis, FindingKind};
use crate::engine::report::story::Story;

const IMAGE: &str = "r.example/agent:v2";

/// Two containers and one that prepares them.
fn template(version: &str) -> Template {
    Template::from_json(json!({"spec": {
        "initContainers": [{"name": "setup", "image": format!("r.example/setup:{version}")}],
        "containers": [
            {"name": "agent", "image": format!("r.example/agent:{version}")},
            {"name": "helper", "image": "r.example/helper:v1"},
        ],
    }}))
}

fn waiting(name: &str, role: ContainerRole) -> ContainerFact {
    let state = ContainerState::Waiting { reason: "PodInitializing".into(), message: None };
    ContainerFact { name: name.into(), role, ..ContainerFact::in_state(state) }
}

fn all_wait(pod: &mut PodFact) {
    pod.ready = false;
    pod.ready_since = None;
    pod.containers = vec![
        waiting("setup", ContainerRole::Init),
        waiting("agent", ContainerRole::Main),
        waiting("helper", ContainerRole::Main),
    ];
}

fn fails(container: &mut ContainerFact, message: &str) {
    container.state = ContainerState::Waiting { reason: "ImagePullBackOff".into(), message: Some(message.into()) };
}

/// Nodes `n1` to `n6` in hall a, the others in hall b; all pods are at revision 2, whose images nobody has, and `n1` to
/// `n3` pull them. Its own controller rolls it out.
fn pulling(count: usize) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(0, 2);
    fake.set_template(template("v1"));
    fake.reconcile();
    fake.set_template(template("v2"));
    fake.reconcile();
    fake.add_nodes((1..=count).map(|nth| Str::from(format!("n{nth}"))));
    for nth in 1..=count {
        let node = fake.nodes.get_mut(&*format!("n{nth}")).unwrap();
        node.labels = [(ZONE, if nth <= 6 { "hall-a" } else { "hall-b" })].into_iter().collect();
        fake.change_pod(&format!("n{nth}"), all_wait);
    }
    let console = FakeConsole::open(&fake, "ops");
    (fake, console)
}

/// What a kubelet says of one container, in the order of `version`.
fn event(fake: &FakeCluster, node: &str, container: &str, reason: &str, message: &str, version: u64) -> Event {
    let pod = fake.pods.values().find(|pod| pod.node.as_deref() == Some(node)).unwrap();
    Event::Cluster(Box::new(ClusterEvent {
        version: Some(version),
        object: pod.uid.clone(),
        node: Some(node.into()),
        container: Some(container.into()),
        reason: reason.into(),
        message: message.into(),
        at: fake.now,
        first_at: None,
        count: 1,
        ..ClusterEvent::default()
    }))
}

fn say(console: &mut FakeConsole, fake: &FakeCluster, node: &str, reason: &str, message: &str, version: u64) {
    let event = event(fake, node, "agent", reason, message, version);
    console.engine.observe(event, fake.now);
}

/// The kubelet of a node has pulled the image in so many seconds.
fn has_pulled(console: &mut FakeConsole, fake: &FakeCluster, node: &str, secs: u64) {
    let message = format!(
        "Successfully pulled image \"{IMAGE}\" in {secs}s ({secs}s including waiting). Image size: 412000000 bytes."
    );
    say(console, fake, node, "Pulling", &format!("Pulling image \"{IMAGE}\""), 10);
    say(console, fake, node, "Pulled", &message, 11);
}

fn images(console: &mut FakeConsole, fake: &FakeCluster, node: &str) -> Vec<ImagePull> {
    let snapshot = console.snapshot(fake);
    snapshot.nodes.iter().find(|view| &*view.name == node).unwrap().images.to_vec()
}

/// What is known of the image of `agent` on a node.
fn known(console: &mut FakeConsole, fake: &FakeCluster, node: &str) -> PullState {
    images(console, fake, node).into_iter().find(|pull| &*pull.container == "agent").unwrap().state
}

#[test]
fn one_container_after_the_other_and_init_containers_first() {
    let (fake, mut console) = pulling(2);
    let states = |console: &mut FakeConsole| -> Vec<String> {
        images(console, &fake, "n1").iter().map(|pull| format!("{} {}", pull.container, pull.state)).collect()
    };
    assert_eq!(states(&mut console), ["setup unknown", "agent queued", "helper queued"]);
    let pulling = event(&fake, "n1", "setup", "Pulling", "Pulling image \"r.example/setup:v2\"", 5);
    console.engine.observe(pulling, fake.now);
    assert_eq!(states(&mut console), ["setup pulling", "agent queued", "helper queued"]);
    let there = "Container image \"r.example/setup:v2\" already present on machine";
    console.engine.observe(event(&fake, "n1", "setup", "Pulled", there, 6), fake.now);
    assert_eq!(states(&mut console), ["setup present", "agent unknown", "helper queued"]);
    has_pulled(&mut console, &fake, "n1", 12);
    assert_eq!(states(&mut console), ["setup present", "agent present", "helper unknown"]);
}

/// Who looks for a moment sees from Events that a pull failed a while ago.
#[test]
fn a_console_that_has_just_begun_knows_since_when_a_pull_fails() {
    let (mut fake, mut console) = pulling(2);
    say(&mut console, &fake, "n1", "Pulling", &format!("Pulling image \"{IMAGE}\""), 10);
    fake.change_pod("n1", |pod| {
        pod.containers.remove(0);
        fails(&mut pod.containers[0], "manifest unknown");
    });
    let events: Vec<Event> = [("Pulling", 10), ("Failed", 11)]
        .map(|(reason, version)| {
            event(&fake, "n1", "agent", reason, &format!("Failed to pull image \"{IMAGE}\": manifest unknown"), version)
        })
        .into();
    fake.wait(90);
    let shown = |console: &mut FakeConsole| {
        let snapshot = console.snapshot(&fake);
        let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap().clone();
        (node.state, node.age(snapshot.at).map(|age| age.as_secs()))
    };
    let mut blind = FakeConsole::open(&fake, "blind");
    assert_eq!(shown(&mut blind), (NodeState::PullFailed, Some(0)), "without Events it is seen only now");
    let mut new = FakeConsole::open(&fake, "new");
    for event in events {
        new.engine.observe(event, fake.now);
    }
    assert_eq!(shown(&mut new), (NodeState::Failed, Some(89)), "Events tell whole seconds");
}

/// A pull that fails is not called a pull until the kubelet tries again; it is told once, however often it tries.
#[test]
fn a_pull_that_failed_is_not_under_way_until_it_is_tried_again() {
    const LIMITED: &str = "429 Too Many Requests: toomanyrequests";
    let (mut fake, mut console) = pulling(2);
    let mut story = Story::default();
    story.observe(&console.snapshot(&fake));
    fake.change_pod("n1", |pod| pod.containers.remove(0).restarts = 0);
    for (nth, reason) in ["ErrImagePull", "ImagePullBackOff", "ErrImagePull"].into_iter().enumerate() {
        let version = 10 + 10 * nth as u64;
        say(&mut console, &fake, "n1", "Pulling", &format!("Pulling image \"{IMAGE}\""), version);
        assert_eq!(console.state(&fake, "n1").0, NodeState::Pulling, "try {nth}");
        story.observe(&console.snapshot(&fake));
        fake.wait(5);
        fake.change_pod("n1", |pod| fails(&mut pod.containers[0], LIMITED));
        let failed = format!("Failed to pull image \"{IMAGE}\": {LIMITED}");
        say(&mut console, &fake, "n1", "Failed", &failed, version + 1);
        say(&mut console, &fake, "n1", "BackOff", reason, version + 2);
        assert_eq!(console.state(&fake, "n1"), (NodeState::PullFailed, "registry rate limit".into()), "try {nth}");
        story.observe(&console.snapshot(&fake));
        fake.wait(20);
    }
    // An Event may be lost: the status alone tells that the kubelet is at it again.
    fake.change_pod("n1", |pod| {
        pod.containers[0].state = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
    });
    assert_eq!(console.state(&fake, "n1").0, NodeState::Pulling);
    story.observe(&console.snapshot(&fake));
    let told: Vec<String> = story.of_node("n1").map(|moment| moment.change.to_string()).collect();
    let limited = told.iter().filter(|told| told.contains("registry rate limit")).count();
    assert_eq!(limited, 1, "{told:?}");
    assert_eq!(told.iter().filter(|told| told.contains("pulls")).count(), 1, "{told:?}");
}

#[test]
fn events_tell_what_happened_last_in_whatever_order_they_come() {
    let pulling_event = (10, "Pulling", "Pulling image \"r.example/agent:v2\"");
    let failed =
        (11, "Failed", "Failed to pull image \"r.example/agent:v2\": dial tcp: lookup r.example: no such host");
    let short = (12, "Failed", "Error: ErrImagePull");
    let back_off = (13, "BackOff", "Back-off pulling image \"r.example/agent:v2\"");
    let again = (20, "Pulling", "Pulling image \"r.example/agent:v2\"");
    let pulled = (21, "Pulled", "Successfully pulled image \"r.example/agent:v2\" in 2.1s (3.4s including waiting)");
    let not_started = (22, "Failed", "Error: failed to create containerd task: exec: not found");
    let crash = (23, "BackOff", "Back-off restarting failed container agent");
    let story = [pulling_event, failed, short, back_off, again, pulled, not_started, crash];
    let shown = |events: &[(u64, &str, &str)]| {
        let (fake, mut console) = pulling(1);
        for (version, reason, message) in events {
            say(&mut console, &fake, "n1", reason, message, *version);
        }
        known(&mut console, &fake, "n1").to_string()
    };
    for (so_far, want) in [(1, "pulling"), (2, "failed"), (4, "failed"), (5, "pulling"), (6, "present"), (8, "present")]
    {
        let mut events = story[..so_far].to_vec();
        assert_eq!(shown(&events), want, "the first {so_far} in order");
        events.reverse();
        assert_eq!(shown(&events), want, "the first {so_far} backwards");
        events.rotate_left(so_far / 2);
        assert_eq!(shown(&events), want, "the first {so_far} shuffled");
    }
    assert_eq!(shown(&[not_started]), "queued", "a start that failed says nothing of the image");
}

#[test]
fn a_failure_keeps_its_reason_and_the_kubelets_words() {
    let (mut fake, mut console) = pulling(2);
    let no_host = "Failed to pull image \"r.example/agent:v2\": dial tcp: lookup r.example: no such host";
    say(&mut console, &fake, "n1", "Pulling", "Pulling image \"r.example/agent:v2\"", 10);
    say(&mut console, &fake, "n1", "Failed", no_host, 11);
    say(&mut console, &fake, "n1", "Failed", "Error: ErrImagePull", 12);
    say(&mut console, &fake, "n1", "BackOff", "Back-off pulling image \"r.example/agent:v2\"", 13);
    let network = PullState::Failed { why: PullFailure::Network, message: Some(no_host.into()) };
    assert_eq!(known(&mut console, &fake, "n1"), network);
    // Before 1.32 the status does not repeat why.
    fake.change_pod("n1", |pod| fails(&mut pod.containers[1], "Back-off pulling image \"r.example/agent:v2\""));
    assert_eq!(known(&mut console, &fake, "n1"), network);
    // The cause of the node is the same, also for a process that has not seen the pull fail.
    let mut late = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    for (at, event) in [("Pulling", "Pulling image \"r.example/agent:v2\""), ("Failed", no_host)].iter().enumerate() {
        say(&mut late, &fake, "n1", event.0, event.1, 10 + at as u64);
    }
    for console in [&mut console, &mut late] {
        let cause = console.snapshot(&fake).nodes.iter().find(|node| &*node.name == "n1").unwrap().cause.clone();
        assert_eq!(
            cause.map(|cause| (cause.kind, cause.message)),
            Some((CauseKind::ImageNetwork, Some(no_host.into())))
        );
    }
    // Where it does, it is what counts.
    let full = "write /var/lib/containerd/x: no space left on device";
    fake.change_pod("n1", |pod| fails(&mut pod.containers[1], full));
    assert_eq!(
        known(&mut console, &fake, "n1"),
        PullState::Failed { why: PullFailure::Disk, message: Some(full.into()) }
    );
    assert_eq!(images(&mut console, &fake, "n1")[2].state, PullState::Queued);
    // Without any event, too.
    fake.change_pod("n2", |pod| fails(&mut pod.containers[1], "manifest unknown"));
    let missing = PullState::Failed { why: PullFailure::NotFound, message: Some("manifest unknown".into()) };
    assert_eq!(known(&mut console, &fake, "n2"), missing);
    let counts = console.snapshot(&fake).pulls.counts;
    assert_eq!((counts.failed, counts.unknown), (2, 0));
}

#[test]
fn how_an_image_is_known_to_be_there() {
    let (mut fake, mut console) = pulling(4);
    has_pulled(&mut console, &fake, "n1", 12);
    let PullState::Present { by: Evidence::PulledEvent, pull: Some(pull) } = known(&mut console, &fake, "n1") else {
        panic!("{:?}", known(&mut console, &fake, "n1"));
    };
    assert_eq!((pull.took, pull.bytes), (Duration::from_secs(12), Some(412_000_000)));
    fake.change_pod("n1", |pod| pod.containers[1].image_present = true);
    let by_id = PullState::Present { by: Evidence::ImageId, pull: Some(pull) };
    assert_eq!(known(&mut console, &fake, "n1"), by_id, "its status proves it, and the event says how it came");
    say(&mut console, &fake, "n2", "Pulled", "Container image \"r.example/agent:v2\" already present on machine", 5);
    let there = PullState::Present { by: Evidence::AlreadyPresent, pull: None };
    assert_eq!(known(&mut console, &fake, "n2"), there);
    let listed = ListedImage { name: IMAGE.into(), bytes: 400_000_000 };
    let node = NodeFact { images: [listed].into(), ..fake.nodes["n3"].clone() };
    console.engine.observe(Event::Node(Box::new(node)), fake.now);
    assert_eq!(known(&mut console, &fake, "n3"), PullState::Present { by: Evidence::NodeStatus, pull: None });
    let agent = console.snapshot(&fake).pulls.images[1].clone();
    assert_eq!((&*agent.image, agent.bytes), (IMAGE, Some(412_000_000)), "kubelets that pulled it know best");
    assert_eq!(console.snapshot(&fake).pulls.images[0].bytes, None, "nobody told");
}

#[test]
fn an_old_pod_has_the_images_that_both_revisions_need() {
    let mut fake = FakeCluster::rolling(0, 2);
    fake.set_template(template("v1"));
    fake.reconcile();
    fake.add_nodes(["n1".into()]);
    fake.change_pod("n1", |pod| {
        all_wait(pod);
        pod.containers.iter_mut().for_each(|container| container.image_present = true);
    });
    fake.set_template(template("v2"));
    fake.reconcile();
    let mut console = FakeConsole::open(&fake, "ops");
    let states: Vec<String> = images(&mut console, &fake, "n1").iter().map(|pull| pull.state.to_string()).collect();
    assert_eq!(states, ["unknown", "unknown", "present"]);
}

#[test]
fn what_could_not_be_pulled_is_absent_until_it_comes() {
    let (mut fake, mut console) = pulling(1);
    say(&mut console, &fake, "n1", "Pulling", "Pulling image \"r.example/agent:v2\"", 10);
    say(&mut console, &fake, "n1", "Failed", "Failed to pull image \"r.example/agent:v2\": manifest unknown", 11);
    fake.remove_pod("n1");
    assert_eq!(known(&mut console, &fake, "n1"), PullState::Absent);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.nodes[0].image, snapshot.pulls.counts.absent), (ImageState::Absent, 1));
    fake.create_pod("n1");
    fake.change_pod("n1", all_wait);
    console.hear(&fake);
    has_pulled(&mut console, &fake, "n1", 9);
    fake.remove_pod("n1");
    assert_eq!(known(&mut console, &fake, "n1"), PullState::Unknown, "it came, and may be collected");
}

#[test]
fn a_running_pull_is_compared_with_those_of_its_site_and_else_with_all() {
    let (mut fake, mut console) = pulling(12);
    let usual = |console: &mut FakeConsole, fake: &FakeCluster, node: &str| {
        let snapshot = console.snapshot(fake);
        snapshot.nodes.iter().find(|view| &*view.name == node).unwrap().usual_pull.as_deref().copied()
    };
    say(&mut console, &fake, "n1", "Pulling", "Pulling image \"r.example/agent:v2\"", 10);
    say(&mut console, &fake, "n12", "Pulling", "Pulling image \"r.example/agent:v2\"", 10);
    assert_eq!(usual(&mut console, &fake, "n1"), None, "nobody has finished: nothing is said");
    for (node, secs) in [("n7", 80), ("n8", 100), ("n9", 90)] {
        has_pulled(&mut console, &fake, node, secs);
    }
    let of_all = usual(&mut console, &fake, "n1").unwrap();
    assert_eq!((of_all.median.as_secs(), of_all.peers, of_all.scope), (90, 3, PeerScope::Fleet));
    for (node, secs) in [("n2", 10), ("n3", 30), ("n4", 20), ("n5", 20)] {
        has_pulled(&mut console, &fake, node, secs);
    }
    let of_site = usual(&mut console, &fake, "n1").unwrap();
    assert_eq!((of_site.median.as_secs(), of_site.peers, of_site.scope), (20, 4, PeerScope::Site));
    assert_eq!(usual(&mut console, &fake, "n12").unwrap().median.as_secs(), 90);
    assert_eq!(usual(&mut console, &fake, "n2"), None, "it has the image");
    fake.wait(120);
    let (_, why) = console.state(&fake, "n1");
    assert_eq!(why, "pulls 120s, 6× the median of its site (~20s)");
    let (_, why) = console.state(&fake, "n12");
    assert_eq!(why, "pulls 120s, late (~90s, 3 peers)");
    has_pulled(&mut console, &fake, "n6", 140);
    let diagnosis = Diagnosis::of(&console.snapshot(&fake));
    let slow: Vec<_> = diagnosis.findings.iter().filter(|found| found.kind == FindingKind::SlowPull).collect();
    let [slow] = &slow[..] else { panic!("{slow:?}") };
    let evidence: Vec<&str> = slow.evidence.iter().map(|evidence| &*evidence.text).collect();
    assert_eq!(evidence, ["120s, 6× the median of its site (~20s)", "7× the median of its site"]);
    assert_eq!((&*slow.title, slow.nodes.len()), ("slow pull of r.example/agent:v2", 2));
    let slow: Vec<String> = console.snapshot(&fake).pulls.slow.iter().map(ToString::to_string).collect();
    assert_eq!(slow, ["n6: 7× the median of its site (140s for v2)"]);
}

/// A kubelet pulls one image after the other: what waited for another image of its node was not slow.
#[test]
fn the_time_for_which_a_pull_waited_for_others_of_its_node_makes_it_not_slow() {
    let (fake, mut console) = pulling(12);
    for node in ["n1", "n2", "n3", "n4", "n5"] {
        has_pulled(&mut console, &fake, node, 10);
    }
    for (node, transfer) in [("n6", 11), ("n7", 39)] {
        let message = format!(
            "Successfully pulled image \"{IMAGE}\" in {transfer}s (40s including waiting). Image size: 412000000 bytes."
        );
        say(&mut console, &fake, node, "Pulling", &format!("Pulling image \"{IMAGE}\""), 10);
        say(&mut console, &fake, node, "Pulled", &message, 11);
    }
    let slow: Vec<String> = console.snapshot(&fake).pulls.slow.iter().map(ToString::to_string).collect();
    assert_eq!(slow, ["n7: 3× the median of all nodes (39s for v2)"]);
}

#[test]
fn a_finished_pull_counts_once() {
    let (fake, mut console) = pulling(3);
    let peers = |console: &mut FakeConsole| console.snapshot(&fake).pulls.images[1].fleet.map(|usual| usual.peers);
    has_pulled(&mut console, &fake, "n1", 12);
    has_pulled(&mut console, &fake, "n1", 12);
    assert_eq!(peers(&mut console), Some(1), "a listing repeats it");
    // Under policy Always the registry is asked at every restart.
    say(&mut console, &fake, "n1", "Pulling", "Pulling image \"r.example/agent:v2\"", 20);
    say(&mut console, &fake, "n1", "Pulled", "Successfully pulled image \"r.example/agent:v2\" in 300ms", 21);
    assert_eq!(peers(&mut console), Some(1));
    // Without resource versions their dates order them.
    let mut dated = |reason: &str, message: &str, at: Timestamp| {
        let Event::Cluster(mut event) = event(&fake, "n2", "agent", reason, message, 0) else { return };
        (event.version, event.at) = (None, at);
        console.engine.observe(Event::Cluster(event), fake.now);
    };
    dated("Pulled", "Successfully pulled image \"r.example/agent:v2\" in 1m3.5s", fake.now);
    dated("Pulling", "Pulling image \"r.example/agent:v2\"", fake.now - Duration::from_secs(64));
    assert_eq!(peers(&mut console), Some(2));
    assert!(matches!(known(&mut console, &fake, "n2"), PullState::Present { .. }));
}

/// Events that repeat tell when they happened first: who has just begun to look knows since when the image cannot be pulled.
#[test]
fn a_failure_that_repeats_is_as_old_as_its_first_event() {
    let (mut fake, mut console) = pulling(3);
    fake.wait(600);
    let pulling = event(&fake, "n1", "agent", "Pulling", "Pulling image \"agent:v2\"", 8);
    console.engine.observe(pulling, fake.now);
    let first_at = fake.now - Duration::from_secs(300);
    for (reason, first) in [("BackOff", first_at), ("Failed", first_at + Duration::from_secs(20))] {
        let Event::Cluster(mut event) =
            event(&fake, "n1", "agent", reason, "Failed to pull image \"agent:v2\": not found", 9)
        else {
            return;
        };
        (event.first_at, event.count, event.version) = (Some(first), 7, None);
        console.engine.observe(Event::Cluster(event), fake.now);
        let pod = fake.pods.values().find(|pod| pod.node.as_deref() == Some("n1")).unwrap();
        assert_eq!(console.engine.view.pull_failed_since(pod), Some(first_at));
    }
}

/// A kubelet goes on naming the last failure while it tries again, and a newer Event tells that it does. Whoever has just begun to look
/// sees the same as who looked on all the time: the pull, what failed before, and for how long it has.
#[test]
fn a_pull_that_is_tried_again_is_the_same_for_whoever_looks_later() {
    let (mut fake, mut console) = pulling(3);
    fake.wait(600);
    let not_found = "Failed to pull image \"r.example/agent:v2\": rpc error: code = NotFound desc = not found";
    let first_at = fake.now - Duration::from_secs(300);
    let mut events = Vec::new();
    for (nth, (reason, message, ago)) in [
        ("Pulling", "Pulling image \"r.example/agent:v2\"", 310),
        ("Failed", not_found, 300),
        ("Pulling", "Pulling image \"r.example/agent:v2\"", 20),
    ]
    .into_iter()
    .enumerate()
    {
        let written = u64::MAX - 10 + nth as u64;
        let Event::Cluster(mut event) = event(&fake, "n1", "agent", reason, message, written) else { return };
        event.at = fake.now - Duration::from_secs(ago);
        events.push(Event::Cluster(event));
    }
    fake.change_pod("n1", |pod| {
        pod.containers[0].state =
            ContainerState::Terminated { reason: "Completed".into(), exit_code: 0, message: None };
        pod.containers[0].image_present = true;
        fails(&mut pod.containers[1], &format!("Back-off pulling image: ErrImagePull: {not_found}"));
    });
    console.run_for(&mut fake, 1);
    let mut later = FakeConsole::open(&fake, "kim");
    let seen = [&mut console, &mut later].map(|console| {
        events.iter().for_each(|event| console.engine.observe(event.clone(), fake.now));
        let snapshot = console.snapshot(&fake);
        let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap().clone();
        let pod = fake.pods.values().find(|pod| pod.node.as_deref() == Some("n1")).unwrap();
        let pull = node.images.iter().find(|pull| &*pull.container == "agent").unwrap().state.clone();
        (node.state, node.cause.map(|cause| cause.kind), pull, console.engine.view.pull_failed_since(pod))
    });
    assert_eq!(seen[0], seen[1]);
    let (state, cause, pull, since) = &seen[1];
    assert_eq!((*state, *cause, *since), (NodeState::Failed, Some(CauseKind::ImageNotFound), Some(first_at)));
    assert!(matches!(pull, PullState::Pulling { .. }), "{pull:?}");
}

/// The API server keeps few Events of a pod that fails for long: the last one that got through may say that it pulls. The status says that
/// the pull failed, and was written later.
#[test]
fn a_pull_that_failed_after_the_last_event_is_not_under_way() {
    let (mut fake, mut console) = pulling(3);
    fake.wait(60);
    let pulls = event(&fake, "n1", "agent", "Pulling", "Pulling image \"r.example/agent:v2\"", 1);
    console.engine.observe(pulls, fake.now);
    let state = |console: &mut FakeConsole, fake: &FakeCluster| {
        let snapshot = console.snapshot(fake);
        let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
        (node.state, node.images.iter().find(|pull| &*pull.container == "agent").unwrap().state.clone())
    };
    let before = state(&mut console, &fake);
    assert!(matches!(before, (NodeState::Pulling, PullState::Pulling { .. })), "{before:?}");
    fake.change_pod("n1", |pod| {
        pod.containers[0].state =
            ContainerState::Terminated { reason: "Completed".into(), exit_code: 0, message: None };
        pod.containers[0].image_present = true;
        fails(&mut pod.containers[1], "Back-off pulling image: ErrImagePull: dial tcp: i/o timeout");
    });
    console.run_for(&mut fake, 1);
    let (state, pull) = state(&mut console, &fake);
    assert_eq!(state, NodeState::PullFailed);
    assert!(matches!(pull, PullState::Failed { .. }), "{pull:?}");
}

/// A container that crashes is started again and again, and finds its image there each time.
#[test]
fn a_crash_loop_is_as_old_as_its_first_event_and_no_failed_pull() {
    for backwards in [false, true] {
        let (mut fake, mut console) = pulling(3);
        fake.wait(900);
        let ago = |secs: u64| fake.now - Duration::from_secs(secs);
        let mut events = vec![
            ("Pulling", "Pulling image \"agent:v2\"", 800, 800),
            ("Failed", "Failed to pull image \"agent:v2\": no such host", 790, 780),
            ("Pulled", "Successfully pulled image \"agent:v2\" in 9s (9s including waiting)", 700, 700),
            ("BackOff", "Back-off restarting failed container agent in pod agent-x", 600, 20),
        ];
        if backwards {
            events.reverse();
        }
        for (reason, message, first, last) in events {
            let Event::Cluster(mut event) = event(&fake, "n1", "agent", reason, message, 9) else { return };
            (event.first_at, event.at, event.version) = (Some(ago(first)), ago(last), None);
            console.engine.observe(Event::Cluster(event), fake.now);
        }
        let pod = fake.pods.values().find(|pod| pod.node.as_deref() == Some("n1")).unwrap();
        let view = &console.engine.view;
        assert_eq!((view.backs_off_since(pod), view.pull_failed_since(pod)), (Some(ago(600)), None), "{backwards}");
    }
}

#[test]
fn pods_for_pre_warming_tell_of_their_nodes_and_are_peers() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let source = PrewarmSource::Images([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    let limits = PrewarmLimits { max_pulling: Limit::At(IntOrPercent::Int(2)), ..PrewarmLimits::default() };
    let start = PrewarmCommand::Start { source, nodes: PrewarmNodes::All, limits, method: PrewarmMethod::Pods };
    console.engine.command(Command::Prewarm(start), fake.now).unwrap();
    console.run(&mut fake);
    assert_eq!(fake.warm_nodes(), ["n1", "n2"]);
    let mut say = |node: &str, reason: &str, message: &str, version: u64| {
        let pod = fake.warm.values().find(|warm| warm.pod.node.as_deref() == Some(node)).unwrap();
        let event = ClusterEvent {
            version: Some(version),
            object: pod.pod.uid.clone(),
            node: Some(node.into()),
            container: Some("image-0".into()),
            reason: reason.into(),
            message: message.into(),
            at: fake.now,
            ..ClusterEvent::default()
        };
        console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
    };
    for node in ["n1", "n2"] {
        say(node, "Pulling", "Pulling image \"agent:v2\"", 10);
    }
    say("n2", "Pulled", "Successfully pulled image \"agent:v2\" in 9s (9s including waiting)", 11);
    assert!(matches!(known(&mut console, &fake, "n1"), PullState::Pulling { .. }));
    assert!(matches!(known(&mut console, &fake, "n2"), PullState::Present { by: Evidence::PulledEvent, .. }));
    fake.warm_arrives("n2");
    let PullState::Present { by: Evidence::WarmPod, pull: Some(pull) } = known(&mut console, &fake, "n2") else {
        panic!("{:?}", known(&mut console, &fake, "n2"));
    };
    assert_eq!(pull.took.as_secs(), 9);
    let snapshot = console.snapshot(&fake);
    let usual = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap().usual_pull.as_deref().copied().unwrap();
    assert_eq!((usual.median.as_secs(), usual.peers), (9, 1));
}

/// A record may cover several rollouts, the second of which pulls nothing, because the image is there already.
#[test]
fn only_pulls_of_the_present_rollout_are_told_as_its_times() {
    let (mut fake, mut console) = pulling(6);
    console.set_image(&mut fake, "r.example/agent:v3");
    console.run_for(&mut fake, 5);
    console.set_image(&mut fake, IMAGE);
    console.run_for(&mut fake, 5);
    let told = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.snapshot(fake).times.pull.map(|pull| (pull.p50.as_secs(), pull.nodes))
    };
    for node in ["n1", "n2", "n3"] {
        has_pulled(&mut console, &fake, node, 12);
    }
    assert_eq!(told(&mut console, &fake), Some((12, 3)));
    console.run_for(&mut fake, 5);
    console.set_image(&mut fake, "r.example/agent:v3");
    console.run_for(&mut fake, 5);
    console.set_image(&mut fake, IMAGE);
    console.run_for(&mut fake, 5);
    let usual = console.snapshot(&fake).pulls.images[1].fleet.map(|usual| usual.peers);
    assert_eq!((told(&mut console, &fake), usual), (None, Some(3)), "its images came in an earlier rollout");
    for node in ["n4", "n5", "n6"] {
        has_pulled(&mut console, &fake, node, 20);
    }
    assert_eq!(told(&mut console, &fake), Some((20, 3)));
}
