//! Pulls: how long they take, how many run at once, and how a registry answers.

use super::*;

#[test]
fn a_pull_takes_as_long_as_the_link_needs_and_says_so() {
    let mut fleet = TestFleet::new(1, MB, vec![RegistryImage::new("r.example/agent:v2", 20 * MB)]);
    let agent = pod("a", "n01", &["r.example/agent:v2"]);
    fleet.see(&agent);
    fleet.run(60);
    assert_eq!(fleet.events("Pulling"), [(0, "Pulling image \"r.example/agent:v2\"".to_owned())]);
    let (at, words) = fleet.events("Pulled").remove(0);
    assert!((20..=21).contains(&at), "{at}");
    let (start, end) = ("Successfully pulled image \"r.example/agent:v2\" in 20.", "Image size: 20000000 bytes.");
    assert!(words.starts_with(start) && words.contains("including waiting). ") && words.ends_with(end), "{words}");
    assert!(fleet.is_ready(&agent) && fleet.fleet.has_image("n01", "r.example/agent:v2"));
}

#[test]
fn nodes_share_their_link_and_a_node_pulls_one_image_at_a_time() {
    let images =
        || vec![RegistryImage::new("r.example/agent:v2", 20 * MB), RegistryImage::new("r.example/side:v2", 20 * MB)];
    let pulled_at = |fleet: &TestFleet| fleet.events("Pulled").into_iter().map(|(at, _)| at).collect::<Vec<_>>();

    let mut two_nodes = TestFleet::new(2, MB, images());
    two_nodes.see(&pod("a", "n01", &["r.example/agent:v2"]));
    two_nodes.see(&pod("b", "n02", &["r.example/agent:v2"]));
    two_nodes.run(5);
    assert_eq!(two_nodes.fleet.pulling(), 2);
    two_nodes.run(60);
    assert!(pulled_at(&two_nodes).iter().all(|at| (39..=41).contains(at)), "{:?}", pulled_at(&two_nodes));

    let mut one_node = TestFleet::new(1, MB, images());
    one_node.see(&pod("a", "n01", &["r.example/agent:v2"]));
    one_node.see(&pod("b", "n01", &["r.example/side:v2"]));
    one_node.run(60);
    let [first, second] = pulled_at(&one_node)[..] else { panic!("two pulls") };
    assert!((20..=21).contains(&first) && (40..=42).contains(&second), "{first} {second}");
}

#[test]
fn a_pull_that_fails_backs_off_and_alternates() {
    for (error, words) in [
        (PullError::NotFound, "r.example/agent:v2: not found"),
        (PullError::Denied, "pull access denied"),
        (PullError::RateLimit, "429 Too Many Requests"),
    ] {
        let mut fleet = TestFleet::new(1, MB, vec![broken(error)]);
        let agent = pod("a", "n01", &["r.example/agent:v2"]);
        fleet.see(&agent);
        fleet.run(1200);
        let attempts: Vec<u64> = fleet.events("Pulling").into_iter().map(|(at, _)| at).collect();
        let gaps: Vec<u64> = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (gap, want) in gaps.iter().zip([10, 20, 40, 80, 160, 300, 300]) {
            assert!((want..=want + 4).contains(gap), "{error:?}: {gaps:?}");
        }
        assert!(gaps.len() >= 7, "{gaps:?}");
        assert!(fleet.events("Failed").iter().any(|(_, said)| said.contains(words)), "{:?}", fleet.events("Failed"));
        assert!(
            fleet.events("BackOff").iter().all(|(_, said)| said == "Back-off pulling image \"r.example/agent:v2\"")
        );
        let reasons: Vec<Str> = fleet
            .statuses(&agent)
            .into_iter()
            .filter_map(|(_, status)| match &status.containers[0].fact.state {
                ContainerState::Waiting { reason, .. } => Some(reason.clone()),
                _ => None,
            })
            .collect();
        let found: Vec<&str> = reasons.iter().map(|reason| &**reason).take(6).collect();
        let alternating = [
            "ContainerCreating",
            "ErrImagePull",
            "ImagePullBackOff",
            "ErrImagePull",
            "ImagePullBackOff",
            "ErrImagePull",
        ];
        assert_eq!(found, alternating, "while it is tried again, the last failure stays in the status");
    }
}

#[test]
fn a_registry_that_serves_again_is_pulled_from() {
    let mut fleet = TestFleet::new(1, MB, vec![broken(PullError::Network)]);
    let agent = pod("a", "n01", &["r.example/agent:v2"]);
    fleet.see(&agent);
    fleet.run(120);
    assert!(!fleet.is_ready(&agent));
    fleet.inject(&FleetFault::Registry { image: "r.example/agent:v2".into(), error: None });
    fleet.run(300);
    assert!(fleet.is_ready(&agent));
}

#[test]
fn a_registry_that_counts_pulls_is_asked_again_after_the_back_off() {
    let image = RegistryImage::new("r.example/agent:v2", MB);
    let mut fleet = TestFleet::new(4, 10 * MB, vec![image]);
    let quota = PullQuota { pulls: 2, per: Duration::from_secs(200) };
    fleet.inject(&FleetFault::LimitPulls { registry: "r.example".into(), quota: Some(quota) });
    let agents: Vec<AssignedPod> =
        ["n01", "n02", "n03", "n04"].map(|node| pod(node, node, &["r.example/agent:v2"])).into();
    agents.iter().for_each(|agent| fleet.see(agent));
    fleet.run(60);
    let ready = |fleet: &TestFleet| agents.iter().filter(|agent| fleet.is_ready(agent)).count();
    assert_eq!(ready(&fleet), 2);
    let said =
        fleet.events("Failed").iter().filter(|(_, said)| said.contains("toomanyrequests: You have reached")).count();
    assert_eq!(said, 2 * 3, "at once, and after 10 and 20 s");
    let refused = agents.iter().find(|agent| !fleet.is_ready(agent)).unwrap();
    let (_, status) = fleet.statuses(refused).pop().unwrap();
    let state = &status.containers[0].fact.state;
    assert!(
        matches!(state, ContainerState::Waiting { reason, .. } if ["ErrImagePull", "ImagePullBackOff"].contains(&&**reason)),
        "{state:?}"
    );
    fleet.run(600);
    assert_eq!(ready(&fleet), 4, "both came when the first did not count any more");
}

#[test]
fn a_name_that_is_none_is_never_pulled() {
    let mut fleet = TestFleet::new(1, MB, Vec::new());
    let agent = pod("a", "n01", &["r.example/Agent:v2"]);
    fleet.see(&agent);
    fleet.run(300);
    assert_eq!((fleet.events("Pulling").len(), fleet.events("InspectFailed").len()), (0, 1));
    let (_, status) = fleet.statuses(&agent).pop().unwrap();
    assert!(
        matches!(&status.containers[0].fact.state, ContainerState::Waiting { reason, .. } if &**reason == "InvalidImageName")
    );
}

#[test]
fn a_cut_in_the_middle_of_a_pull_is_a_network_error_and_a_new_try() {
    let mut fleet = TestFleet::new(1, MB, vec![RegistryImage::new("r.example/agent:v2", 60 * MB)]);
    let agent = pod("a", "n01", &["r.example/agent:v2"]);
    fleet.see(&agent);
    fleet.run(30);
    fleet.inject(&FleetFault::Cut("n01".into()));
    fleet.run(60);
    assert_eq!(fleet.fleet.pulling(), 0);
    fleet.inject(&FleetFault::Restore("n01".into()));
    fleet.run(300);
    assert!(fleet.is_ready(&agent));
    assert!(fleet.events("Pulled")[0].0 >= 150, "from the beginning: {:?}", fleet.events("Pulled"));
}

#[test]
fn a_pod_that_goes_takes_its_pull_with_it() {
    let mut fleet = TestFleet::new(2, MB, vec![RegistryImage::new("r.example/agent:v2", 60 * MB)]);
    let agent = pod("a", "n01", &["r.example/agent:v2"]);
    fleet.see(&agent);
    fleet.run(10);
    assert_eq!(fleet.fleet.pulling(), 1);
    fleet.see(&deleted(&agent, fleet.now, 30));
    fleet.run(5);
    assert_eq!((fleet.fleet.pulling(), fleet.removals().len()), (0, 1));
}

/// A pod that asks the registry for its image at each start.
fn always(name: &str, image: &str) -> AssignedPod {
    let containers = json!([{"name": "c0", "image": image, "imagePullPolicy": "Always"}]);
    AssignedPod {
        template: Template::from_json(json!({"spec": {"containers": containers}})),
        ..pod(name, "n01", &[image])
    }
}

#[test]
fn a_tag_that_was_moved_is_pulled_again_by_those_who_always_ask() {
    const IMAGE: &str = "r.example/agent:v2";
    let mut fleet = TestFleet::new(1, MB, vec![RegistryImage::new(IMAGE, 5 * MB)]);
    let image_id =
        |fleet: &TestFleet, pod: &AssignedPod| fleet.statuses(pod).last().unwrap().1.containers[0].image_id.clone();
    let first = always("first", IMAGE);
    fleet.see(&first);
    fleet.run(30);
    let before = image_id(&fleet, &first);
    let again = always("again", IMAGE);
    fleet.see(&again);
    fleet.run(30);
    assert_eq!(fleet.events("Pulling").len(), 2, "it asks although the image is there");
    let (at, words) = fleet.events("Pulled").remove(1);
    assert!(at <= 31, "nothing is transferred: {at} {words}");
    assert_eq!(image_id(&fleet, &again), before);

    fleet.inject(&FleetFault::Publish(Box::new(RegistryImage::new(IMAGE, 20 * MB))));
    assert!(fleet.fleet.has_image("n01", IMAGE) && !fleet.fleet.has_current_image("n01", IMAGE));
    let has_it = pod("has-it", "n01", &[IMAGE]);
    fleet.see(&has_it);
    fleet.run(5);
    assert_eq!(image_id(&fleet, &has_it), before, "policy IfNotPresent keeps what is there");
    let moved = always("moved", IMAGE);
    fleet.see(&moved);
    fleet.run(30);
    assert_ne!(image_id(&fleet, &moved), before);
    assert_eq!(image_id(&fleet, &has_it), before, "what runs goes on with its own");
    assert!(fleet.fleet.has_current_image("n01", IMAGE));
}

#[test]
fn a_node_pulls_as_many_images_at_once_as_it_is_configured_for() {
    let names = ["one", "two", "three"].map(|name| format!("r.example/{name}:v1"));
    let mut scenario = Scenario::new("bench").with_site("hall", MB, "n", 1);
    scenario.nodes[0].parallel_pulls = NonZeroU8::new(2);
    scenario.images = names.iter().map(|name| RegistryImage::new(name, 20 * MB)).collect();
    let mut fleet = TestFleet { fleet: Kubelets::of(&scenario, 3, START), now: START, actions: Vec::new() };
    let pods = ["a", "b", "c", "d"].map(|name| pod(name, "n01", &[if name < "c" { &names[0] } else { &names[1] }]));
    for seen in pods.iter().chain([&pod("e", "n01", &[&names[2]])]) {
        fleet.see(seen);
        fleet.run(1);
    }
    assert_eq!(fleet.fleet.pulls_by_site().map(|(_, pulls)| pulls).collect::<Vec<_>>(), [2], "each image once");
    fleet.run(120);
    let pulled = |image: &str| -> Vec<u64> {
        fleet.events("Pulled").iter().filter(|(_, words)| words.contains(image)).map(|(at, _)| *at).collect()
    };
    let [one, two, three] = ["/one:", "/two:", "/three:"].map(pulled);
    assert!(one.len() == 2 && two.len() == 2, "whoever waited has it as well: {one:?} {two:?}");
    assert!((36..=42).contains(&one[0]) && (38..=42).contains(&two[0]), "side by side: {one:?} {two:?}");
    assert!(one[1] <= one[0] + 3 && two[1] <= two[0] + 3, "its bytes come once: {one:?} {two:?}");
    assert!((58..=64).contains(&three[0]), "it waits for its turn: {three:?}");
}
