//! Pre-warming by StatefulSet: what is made, what it is left to do by itself, and that nothing of it stays.

use super::prewarm::pulled;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Early, PrewarmCommand, Refusal, Takeover};
use crate::engine::model::event::{Event, Permission, Right};
use crate::engine::model::prewarm::{
    Prewarm, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource, PrewarmState, PrewarmView, PrewarmWait,
    StuckWhy,
};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEventKind};
use crate::engine::model::settings::{Limit, Pace};

fn by(method: PrewarmMethod, tag: &str, most: Option<u32>) -> Command {
    let max_pulling = most.map_or(Limit::Default, |most| Limit::At(IntOrPercent::Int(most)));
    let limits = PrewarmLimits { max_pulling, ..PrewarmLimits::default() };
    let source = PrewarmSource::Images([("agent".to_owned(), format!("agent:{tag}").parse().unwrap())].into());
    Command::Prewarm(PrewarmCommand::Start { source, nodes: PrewarmNodes::All, limits, method })
}

fn start(most: Option<u32>) -> Command {
    by(PrewarmMethod::StatefulSet, "v2", most)
}

/// Twenty nodes, whose images have still to be pulled, and a console that has so many StatefulSets pre-warm `agent:v2`.
fn warming(most: Option<u32>) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(most), fake.now).unwrap();
    console.run_for(&mut fake, 2);
    (fake, console)
}

fn view(console: &mut FakeConsole, fake: &FakeCluster) -> PrewarmView {
    console.snapshot(fake).prewarm.unwrap()
}

fn state(console: &mut FakeConsole, fake: &FakeCluster, node: &str) -> PrewarmState {
    let snapshot = console.snapshot(fake);
    snapshot.nodes.iter().find(|it| *it.name == *node).unwrap().prewarm.as_deref().unwrap().clone()
}

/// Lets the images arrive, one node after the other.
fn all_arrive(fake: &mut FakeCluster) {
    while let Some(node) =
        fake.warm.values().find(|warm| !warm.pod.ready).and_then(|warm| warm.pod.node.as_ref()).map(ToString::to_string)
    {
        fake.warm_sleeps(&node);
    }
}

#[test]
fn one_statefulset_comes_to_every_node_with_nobody_driving_and_is_deleted_at_the_end() {
    let (mut fake, mut console) = warming(None);
    assert_eq!((fake.sets.len(), fake.warm_nodes()), (1, vec!["n1".to_owned()]));
    assert_eq!(fake.sets.values().next().unwrap().replicas, 20);
    assert_eq!(state(&mut console, &fake, "n1"), PrewarmState::Queued);
    assert_eq!(state(&mut console, &fake, "n2"), PrewarmState::Waiting(PrewarmWait::InLine));
    drop(console);
    all_arrive(&mut fake);
    assert_eq!(fake.warm_nodes().len(), 20, "no driver is needed");

    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 20);
    assert_eq!(fake.sets.len(), 1, "who looks deletes nothing");
    assert!(view(&mut next, &fake).has_all());
    next.engine.command(Command::Drive(Takeover::IfFree), fake.now).unwrap();
    let mut said = std::collections::BTreeSet::new();
    for _ in 0..30 {
        fake.wait(1);
        next.hear(&fake);
        for (id, effect) in next.engine.decide(fake.now) {
            let ends = next.engine.snapshot(fake.now).prewarm.filter(|view| view.request.cancelled.is_some());
            said.extend(ends.map(|view| view.to_string()));
            let answer = fake.apply(effect);
            next.engine.outcome(id, answer, fake.now);
        }
    }
    next.run_for(&mut fake, 30);
    // Nobody cancelled it; the number of nodes with its pods falls meanwhile.
    let complete = "pre-warming complete, being cleaned up: all 20 nodes have the images";
    assert_eq!(said.into_iter().collect::<Vec<_>>(), [complete]);
    assert!(fake.sets.is_empty() && fake.warm.is_empty(), "{:?}", fake.warm_nodes());
    assert!(next.snapshot(&fake).prewarm.is_none());
    assert_eq!(fake.sets_made, 1);
    assert!(fake.deleted.is_empty());
}

#[test]
fn as_many_statefulsets_as_nodes_may_pull_share_the_nodes() {
    let (fake, mut console) = warming(Some(3));
    let mut shares: Vec<usize> = fake.sets.values().map(|set| set.replicas).collect();
    shares.sort_unstable();
    assert_eq!(shares, [6, 7, 7]);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"], "each begins with the first of its own");
    assert_eq!(view(&mut console, &fake).limit, 3);
}

#[test]
fn nodes_that_are_down_or_have_the_images_are_not_in_it_and_one_that_returns_gets_its_own() {
    let mut fake = FakeCluster::rolling(20, 1);
    fake.holds_images = false;
    fake.set_node_ready("n7", false);
    fake.nodes.get_mut("n8").unwrap().pressure = Some("DiskPressure".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.run_for(&mut fake, 60);
    console.engine.command(start(None), fake.now).unwrap();
    console.run_for(&mut fake, 2);
    assert_eq!(fake.sets.values().next().unwrap().replicas, 18);
    assert_eq!(state(&mut console, &fake, "n7"), PrewarmState::Waiting(PrewarmWait::NodeDown));
    assert_eq!(
        state(&mut console, &fake, "n8"),
        PrewarmState::Waiting(PrewarmWait::Pressure("DiskPressure".into())),
        "its kubelet would turn the pod away again and again"
    );
    all_arrive(&mut fake);
    console.run_for(&mut fake, 40);
    assert_eq!(fake.sets.len(), 1, "not every node has the images: it stays");
    fake.set_node_ready("n7", true);
    console.run_for(&mut fake, 90);
    assert_eq!((fake.sets.len(), fake.warm_nodes().len()), (2, 19));
    fake.warm_sleeps("n7");
    fake.nodes.get_mut("n8").unwrap().pressure = None;
    fake.set_node_ready("n8", true);
    console.run_for(&mut fake, 40);
    fake.warm_sleeps("n8");
    console.run_for(&mut fake, 40);
    assert!(fake.sets.is_empty() && console.snapshot(&fake).prewarm.is_none());
}

#[test]
fn whoever_drives_next_finds_it_and_makes_no_second_one() {
    let (mut fake, console) = warming(Some(2));
    drop(console);
    fake.wait(20);
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 20);
    next.engine.command(Command::Drive(Takeover::IfFree), fake.now).unwrap();
    next.run_for(&mut fake, 120);
    assert_eq!((fake.sets_made, fake.warm_made), (2, 2));
    assert!(fake.sets_listed < 12, "listed {} times in four minutes", fake.sets_listed);
}

#[test]
fn one_that_was_left_without_pods_is_found_and_deleted_after_its_maker_is_gone() {
    let mut fake = FakeCluster::rolling(20, 1);
    fake.refuses_warm = Some("exceeded quota: pods".into());
    let mut console = FakeConsole::open(&fake, "ops");
    fake.holds_images = false;
    console.engine.command(start(None), fake.now).unwrap();
    console.run_for(&mut fake, 2);
    drop(console);
    assert_eq!((fake.sets.len(), fake.warm.len()), (1, 0));
    fake.wait(20);
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 20);
    // Other images, by the other method: what was made before is in the record.
    next.engine.command(by(PrewarmMethod::Pods, "v3", Some(1)), fake.now).unwrap();
    next.run_for(&mut fake, 20);
    assert!(fake.sets.is_empty());
    next.engine.command(Command::Prewarm(PrewarmCommand::Cancel), fake.now).unwrap();
    next.run_for(&mut fake, 40);
    assert!(next.snapshot(&fake).prewarm.is_none());
}

#[test]
fn a_cancellation_and_a_release_leave_nothing() {
    let (mut fake, mut console) = warming(Some(2));
    fake.warm_sleeps("n1");
    console.engine.command(Command::Prewarm(PrewarmCommand::Cancel), fake.now).unwrap();
    console.run_for(&mut fake, 10);
    assert!(fake.sets.is_empty() && fake.warm.is_empty() && console.snapshot(&fake).prewarm.is_none());

    console.set_image(&mut fake, "agent:v2");
    console.engine.command(start(None), fake.now).unwrap();
    console.run_for(&mut fake, 10);
    assert_eq!(fake.sets.len(), 1);
    console.engine.command(Command::Release(Early::Accept), fake.now).unwrap();
    console.run_for(&mut fake, 60);
    assert!(fake.sets.is_empty() && fake.warm.is_empty());
    assert!(console.snapshot(&fake).prewarm.is_none());
}

#[test]
fn other_images_replace_it_and_the_method_pods_carries_on() {
    let (mut fake, mut console) = warming(None);
    fake.warm_sleeps("n1");
    let first = fake.sets.keys().next().unwrap().clone();
    console.engine.command(by(PrewarmMethod::StatefulSet, "v3", None), fake.now).unwrap();
    console.run_for(&mut fake, 10);
    assert_eq!(fake.sets.len(), 1);
    assert!(!fake.sets.contains_key(&first));
    console.engine.command(by(PrewarmMethod::Pods, "v3", Some(2)), fake.now).unwrap();
    console.run_for(&mut fake, 10);
    assert!(fake.sets.is_empty());
    assert_eq!(fake.warm_nodes(), ["n1", "n2"]);
    assert!(fake.warm.values().all(|warm| warm.set.is_none()));
}

#[test]
fn other_nodes_or_another_limit_replace_it_and_the_same_request_does_not() {
    let (mut fake, mut console) = warming(None);
    console.engine.command(start(None), fake.now).unwrap();
    console.run_for(&mut fake, 10);
    assert_eq!(fake.sets_made, 1, "the same again goes on");
    console.engine.command(start(Some(4)), fake.now).unwrap();
    console.run_for(&mut fake, 10);
    assert_eq!((fake.sets.len(), fake.warm_nodes().len()), (4, 4));
    let Command::Prewarm(PrewarmCommand::Start { source, limits, method, .. }) = start(Some(4)) else { panic!() };
    let canary = PrewarmNodes::Selector("zone=canary".parse().unwrap());
    let only = PrewarmCommand::Start { source, nodes: canary, limits, method };
    console.engine.command(Command::Prewarm(only), fake.now).unwrap();
    console.run_for(&mut fake, 10);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"], "no other node is pulled on");
}

#[test]
fn its_pods_are_not_deleted_one_by_one_and_no_others_are_made_beside_them() {
    let (mut fake, mut console) = warming(None);
    fake.warm_fails("n1", "failed to pull and unpack image: dial tcp 10.0.0.1:443: i/o timeout");
    console.run_for(&mut fake, 300);
    assert_eq!((fake.warm_nodes(), fake.warm_made), (vec!["n1".to_owned()], 1), "its kubelet tries again");
    let stuck = view(&mut console, &fake).stuck_in_words().next().unwrap().to_string();
    assert!(stuck.contains("-0 on n1 holds up its StatefulSet") && stuck.contains("--method pods"), "{stuck}");
    // On request its pod is made anew.
    console.engine.command(Command::Prewarm(PrewarmCommand::Retry), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert!(fake.warm.is_empty());
    fake.step_sets();
    console.run_for(&mut fake, 5);
    assert_eq!((fake.warm_made, fake.sets_made), (2, 1));
}

#[test]
fn a_container_without_sleep_holds_it_up_and_that_is_said() {
    let (mut fake, mut console) = warming(None);
    fake.warm_crashes("n1");
    console.run_for(&mut fake, 60);
    assert_eq!(state(&mut console, &fake, "n1"), PrewarmState::Present);
    let view = view(&mut console, &fake);
    assert!(matches!(view.stuck[0].why, StuckWhy::NotRunning(_)), "{:?}", view.stuck);
    let said = view.stuck_in_words().next().unwrap().to_string();
    assert!(said.contains("cannot run `sleep` (CrashLoopBackOff: ") && said.contains("--method pods"), "{said}");
    assert!(view.is_done(), "nothing more happens by itself");
}

#[test]
fn what_holds_it_up_is_said_a_node_down_no_node_or_a_quota() {
    let (mut fake, mut console) = warming(None);
    fake.warm_sleeps("n1");
    fake.set_node_ready("n2", false);
    console.run_for(&mut fake, 90);
    assert_eq!(view(&mut console, &fake).stuck[0].why, StuckWhy::NodeDown);
    fake.set_node_ready("n2", true);
    fake.warm_sleeps("n2");
    let nodes: Vec<_> = fake.nodes.keys().cloned().collect();
    nodes.iter().for_each(|node| fake.set_node_ready(node, false));
    fake.warm_sleeps("n3");
    nodes.iter().for_each(|node| fake.set_node_ready(node, true));
    console.run_for(&mut fake, 60);
    let view_now = view(&mut console, &fake);
    assert!(matches!(view_now.stuck[0].why, StuckWhy::Unschedulable(_)), "{:?}", view_now.stuck);
    assert_eq!(view_now.stuck[0].node, None);

    let mut fake = FakeCluster::rolling(20, 1);
    fake.holds_images = false;
    fake.refuses_warm = Some("create Pod x failed error: pods \"x\" is forbidden: exceeded quota: q".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(None), fake.now).unwrap();
    console.run_for(&mut fake, 40);
    let said = view(&mut console, &fake).stuck_in_words().next().unwrap().to_string();
    assert!(said.contains("makes no pod") && said.contains("raise the quota"), "{said}");
}

#[test]
fn one_that_is_refused_is_tried_again_and_said_with_the_remedy() {
    let mut fake = FakeCluster::rolling(20, 1);
    fake.holds_images = false;
    fake.refuses_sets = Some("statefulsets.apps is forbidden: User \"ops\" cannot create resource".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(None), fake.now).unwrap();
    console.run_for(&mut fake, 10);
    let view_now = view(&mut console, &fake);
    assert!(
        view_now.stuck_in_words().next().unwrap().to_string().contains("`list`, `create` and `delete` on statefulsets")
    );
    assert!(!view_now.is_done());
    fake.refuses_sets = None;
    console.run_for(&mut fake, 60);
    assert_eq!((fake.sets.len(), view(&mut console, &fake).stuck.len()), (1, 0));
}

#[test]
fn what_a_statefulset_cannot_do_is_refused() {
    let (mut fake, mut console) = warming(None);
    for command in [PrewarmCommand::Pause, PrewarmCommand::Resume] {
        let refused = console.engine.command(Command::Prewarm(command), fake.now).unwrap_err();
        assert!(matches!(&refused, Refusal::NotNow(why) if why.contains("--method pods")), "{refused:?}");
    }
    let limits = PrewarmLimits { max_pulling_per_site: Limit::At(IntOrPercent::Int(1)), ..PrewarmLimits::default() };
    let (source, method) = (PrewarmSource::Template, PrewarmMethod::StatefulSet);
    let start_by_site = PrewarmCommand::Start { source, nodes: PrewarmNodes::All, limits, method };
    let refused = console.engine.command(Command::Prewarm(start_by_site), fake.now).unwrap_err();
    assert!(matches!(&refused, Refusal::Invalid(why) if why.contains("knows no sites")), "{refused:?}");
    console.engine.observe(Event::Rights(vec![(Right::CreateStatefulSets, Permission::Denied)]), fake.now);
    let refused = console.engine.command(start(None), fake.now).unwrap_err();
    assert_eq!(refused, Refusal::NotPermitted(Right::CreateStatefulSets));
    console.engine.command(by(PrewarmMethod::Pods, "v2", None), fake.now).unwrap();
    console.run_for(&mut fake, 20);
    assert!(fake.sets.is_empty(), "the other method needs no such right");
}

#[test]
fn a_preview_says_how_many_there_will_be_and_what_they_do_not_do() {
    let fake = FakeCluster::rolling(20, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let effects = console.engine.preview(&start(Some(3)), fake.now).unwrap().effects.join("\n");
    let calls = console.engine.preview(&start(Some(3)), fake.now).unwrap().calls;
    assert_eq!(
        calls[1..],
        [
            "GET statefulsets; DELETE those that are not needed then, and their pods with them",
            "POST 3 StatefulSets for 20 nodes; DELETE them once every node has the images",
        ]
    );
    for words in [
        "3 StatefulSets pull on up to 20 nodes, 3 at a time",
        "no console is open",
        "knows nothing of updates",
        "distroless",
    ] {
        assert!(effects.contains(words), "{words}: {effects}");
    }
}

#[test]
fn what_was_asked_for_before_there_were_methods_is_by_pods() {
    let old = r#"{"daemonsetUid":"ds","source":"template","by":{"by":"ada","at":"2026-11-20T09:00:00Z"}}"#;
    let old = Prewarm::parse(old).unwrap();
    assert_eq!((old.method, old.stateful_sets), (PrewarmMethod::Pods, false));
    assert!(!serde_json::to_string(&old).unwrap().contains("ethod"), "older versions read what they know");
}

#[test]
fn those_of_an_earlier_daemonset_of_this_name_are_deleted() {
    let (mut fake, mut console) = warming(None);
    // It was deleted without its dependents, and made anew.
    fake.sets.values_mut().for_each(|set| set.fact.daemonset = "another".into());
    for warm in fake.warm.values_mut() {
        warm.daemonset = "another".into();
    }
    drop(console);
    fake.wait(20);
    console = FakeConsole::open(&fake, "eve");
    console.run_for(&mut fake, 20);
    console.engine.command(Command::Drive(Takeover::IfFree), fake.now).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!((fake.sets.len(), fake.sets_made), (1, 2));
    assert!(fake.sets.values().all(|set| *set.fact.daemonset == *"ds"));
}

/// What holds up a StatefulSet holds up all its nodes that are left: how long it will take nobody knows.
#[test]
fn while_a_statefulset_is_held_up_nothing_is_estimated() {
    let (mut fake, mut console) = warming(None);
    for node in ["n1", "n2", "n3"] {
        pulled(&mut fake, &mut console, &[(node, 5)]);
        fake.warm_sleeps(node);
        console.run_for(&mut fake, 2);
    }
    let estimates = |console: &mut FakeConsole, fake: &FakeCluster| {
        view(console, fake).sites.iter().filter(|site| site.estimate.is_some()).count()
    };
    assert!(estimates(&mut console, &fake) > 0, "{:?}", view(&mut console, &fake).sites);
    fake.warm_fails("n4", "failed to pull and unpack image: dial tcp 10.0.0.1:443: i/o timeout");
    console.run_for(&mut fake, 300);
    assert!(view(&mut console, &fake).stuck_in_words().next().is_some());
    assert_eq!(estimates(&mut console, &fake), 0);
}

#[test]
fn settings_of_sites_are_refused_where_they_would_have_no_effect() {
    let fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let Command::Prewarm(PrewarmCommand::Start { source, nodes, method, .. }) = start(None) else { unreachable!() };
    for (limits, flag) in [
        (PrewarmLimits { pace: Pace::Auto, ..PrewarmLimits::default() }, "--pace"),
        (PrewarmLimits { site_label: Some("rack".parse().unwrap()), ..PrewarmLimits::default() }, "--site-label"),
    ] {
        let asked = PrewarmCommand::Start { source: source.clone(), nodes: nodes.clone(), limits, method };
        let refused = console.engine.preview(&Command::Prewarm(asked), fake.now).unwrap_err().to_string();
        assert!(refused.contains(&format!("a StatefulSet knows no sites: {flag} needs --method pods")), "{refused}");
    }
}

/// As each deletion is: the log has to lead to the very object, also after it is gone.
#[test]
fn the_log_has_the_uid_of_each_pod_and_statefulset_that_is_made() {
    let made = |console: &FakeConsole| {
        let mut done = console.happened.iter().filter(|event| event.outcome == EventOutcome::Done);
        done.find_map(|event| match &event.kind {
            RolloutEventKind::CreateWarmPod { uid, .. } | RolloutEventKind::CreateWarmSet { uid, .. } => uid.clone(),
            _ => None,
        })
    };
    let (fake, console) = warming(None);
    assert_eq!(made(&console), fake.sets.values().next().map(|set| set.fact.uid.clone()));
    let mut fake = FakeCluster::rolling(3, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(by(PrewarmMethod::Pods, "v2", Some(1)), fake.now).unwrap();
    console.run_for(&mut fake, 2);
    assert_eq!(fake.warm.len(), 1);
    assert_eq!(made(&console), fake.warm.keys().next().cloned());
}
