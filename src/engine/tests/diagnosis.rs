//! What is found wrong, with its evidence and what to do.

use super::*;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::comparison::Comparison;
use crate::engine::model::effect::EffectErrorKind;
use crate::engine::model::facts::PodPhase;
use crate::engine::model::settings::OnFailure;
use crate::engine::report::diagnosis::{Diagnosis, Finding, FindingKind, FindingSign};
use crate::engine::report::snapshot::{Alarm, NodeView, Snapshot};

/// A rollout that has taken its first node, whose new pod gets ready only when it is told to.
fn one_taken(nodes: usize) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(nodes, 1);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, nodes.try_into().map(|nodes: u32| nodes - 1).unwrap());
    console.run(&mut fake);
    (fake, console)
}

/// The one finding of a node, with something to do about it.
fn found(console: &mut FakeConsole, fake: &FakeCluster, node: &str) -> Finding {
    let diagnosis = Diagnosis::of(&console.snapshot(fake));
    let mut of_node = diagnosis.findings.into_iter().filter(|finding| finding.nodes.iter().any(|name| &**name == node));
    let finding = of_node.next().unwrap();
    assert_eq!(of_node.next(), None, "a node has one cause");
    assert!(!finding.remedies.is_empty(), "{finding:?}");
    finding
}

fn evidence(finding: &Finding) -> Vec<String> {
    finding.evidence.iter().map(ToString::to_string).collect()
}

#[test]
fn a_pod_that_is_not_made_says_who_refuses_it() {
    for (said, kind) in [
        ("Error creating: admission webhook \"policy.example\" denied the request: no", CauseKind::AdmissionRefused),
        ("Error creating: pods \"agent-\" is forbidden: exceeded quota: small", CauseKind::QuotaExceeded),
        ("Error creating: pods \"agent-\" is forbidden: violates PodSecurity", CauseKind::CreationForbidden),
        ("Error creating: Pod \"agent-x\" is invalid: spec.containers[0].image: Required", CauseKind::PodInvalid),
    ] {
        let (mut fake, mut console) = one_taken(4);
        fake.refuses = Some(said.into());
        fake.kubelets();
        let finding = found(&mut console, &fake, "n1");
        assert_eq!((finding.kind, evidence(&finding)), (FindingKind::Cause(kind), vec![said.to_owned()]));
    }
}

/// The controller tries again at growing intervals, so the age of what it said last stands beside it, also where somebody looks only once.
#[test]
fn an_old_refusal_says_how_old_it_is() {
    let (mut fake, mut console) = one_taken(4);
    fake.refuses = Some("Error creating: pods \"agent-\" is forbidden: exceeded quota: small".into());
    fake.kubelets();
    assert_eq!(evidence(&found(&mut console, &fake, "n1")).len(), 1);
    fake.wait(300);
    let mut later = FakeConsole::open(&fake, "later");
    for console in [&mut console, &mut later] {
        let told = evidence(&found(console, &fake, "n1"));
        assert_eq!(told[1..], ["said 5m ago; no pod was created since"]);
    }
    fake.refuses = None;
    fake.kubelets();
    console.run(&mut fake);
    assert_eq!(console.snapshot(&fake).creation_refused_at, None);
}

/// What a container that waits says is shown as it is, and counts as a failure of the node once its grace is over.
#[test]
fn what_keeps_a_container_from_its_start_is_named_and_fails_the_node() {
    for (reason, said, kind) in [
        ("InvalidImageName", "Failed to apply default image tag \"Agent:V2\"", CauseKind::ImageName),
        (
            "ErrImageNeverPull",
            "Container image \"agent:v2\" is not present with pull policy of Never",
            CauseKind::ImageNeverPull,
        ),
        ("CreateContainerError", "Error response from daemon: no command specified", CauseKind::ContainerStart),
    ] {
        let (mut fake, mut console) = one_taken(4);
        fake.kubelets();
        fake.change_pod("n1", |pod| {
            let container = &mut pod.containers[0];
            container.image_present = kind == CauseKind::ContainerStart;
            container.state = ContainerState::Waiting { reason: reason.into(), message: Some(said.into()) };
        });
        let finding = found(&mut console, &fake, "n1");
        assert_eq!((finding.kind, evidence(&finding)), (FindingKind::Cause(kind), vec![said.to_owned()]));
        console.run_for(&mut fake, 660);
        assert_eq!(console.state(&fake, "n1").0, NodeState::Failed, "{reason}");
    }
}

#[test]
fn a_controller_that_does_nothing_is_found() {
    let (mut fake, mut console) = one_taken(4);
    fake.idle = true;
    fake.kubelets();
    console.run(&mut fake);
    fake.wait(50);
    let finding = found(&mut console, &fake, "n1");
    assert_eq!(finding.kind, FindingKind::Cause(CauseKind::ControllerIdle));
}

#[test]
fn an_evicted_pod_and_a_node_under_pressure_are_found() {
    let (mut fake, mut console) = one_taken(4);
    fake.kubelets();
    for node in ["n1", "n2"] {
        fake.change_node(node, |fact| fact.pressure = Some("DiskPressure".into()));
    }
    fake.change_pod("n1", |pod| {
        (pod.phase, pod.reason) = (PodPhase::Failed, Some("Evicted".into()));
        pod.message = Some("The node was low on resource: ephemeral-storage.".into());
    });
    let finding = found(&mut console, &fake, "n1");
    assert_eq!(finding.kind, FindingKind::Cause(CauseKind::Evicted));
    let words = ["The node was low on resource: ephemeral-storage.", "its kubelet reports DiskPressure"];
    assert_eq!(evidence(&finding), words);
    let finding = found(&mut console, &fake, "n2");
    assert_eq!((finding.kind, &*finding.title), (FindingKind::Pressure, "its node is under pressure: DiskPressure"));
    assert_eq!(finding.since, None, "since when is not known");
}

#[test]
fn a_pod_that_is_not_ready_in_time_says_which_container() {
    let (mut fake, mut console) = one_taken(4);
    fake.kubelets();
    fake.change_pod("n1", |pod| pod.containers[0].state = ContainerState::Running { since: None });
    let diagnosis = Diagnosis::of(&console.snapshot(&fake));
    let starts = diagnosis.findings.iter().find(|finding| finding.nodes.iter().any(|name| &**name == "n1")).unwrap();
    assert_eq!(starts.kind, FindingKind::Moving, "it may take its time");
    fake.wait(3_600);
    let finding = found(&mut console, &fake, "n1");
    assert_eq!(finding.kind, FindingKind::Cause(CauseKind::Deadline));
    assert_eq!(evidence(&finding), ["not ready: containers with unready status: agent"]);
}

#[test]
fn a_clock_that_is_off_is_found() {
    let (mut fake, mut console) = one_taken(4);
    fake.change_node("n3", |fact| fact.clock_skew_millis = Some(90_000));
    let finding = found(&mut console, &fake, "n3");
    assert_eq!((finding.kind, finding.evidence.len()), (FindingKind::Clock, 1));
}

#[test]
fn a_hundred_nodes_with_one_cause_are_one_finding() {
    let (mut fake, mut console) = one_taken(120);
    for nth in 2..=101 {
        fake.set_node_ready(&format!("n{nth}"), false);
    }
    let diagnosis = Diagnosis::of(&console.snapshot(&fake));
    let down: Vec<&Finding> =
        diagnosis.findings.iter().filter(|found| found.kind == FindingKind::Cause(CauseKind::NodeDown)).collect();
    let [down] = &down[..] else { panic!("{down:?}") };
    assert_eq!((down.nodes.len(), diagnosis.nodes), (100, 120));
}

#[test]
fn nodes_that_went_down_lately_are_told_though_nothing_is_wrong_now() {
    let (fake, mut console) = one_taken(4);
    let mut snapshot = console.snapshot(&fake);
    assert!(!Diagnosis::of(&snapshot).is_bad());
    snapshot.comparisons.push(Comparison { updated_down: 14, updated: 15, window_secs: 600, ..Comparison::default() });
    let diagnosis = Diagnosis::of(&snapshot);
    let first = &diagnosis.findings[0];
    assert_eq!(
        (first.kind, &*first.title),
        (FindingKind::Comparison, "14 of 15 nodes went down after their update in 10m")
    );
    assert!(!diagnosis.is_bad());
}

/// A container that admission adds comes with every pod: the revision is not to blame, and no other one helps.
#[test]
fn a_container_that_no_template_names_is_not_blamed_on_the_revision() {
    let (mut fake, mut console) = one_taken(4);
    fake.kubelets();
    fake.change_pod("n1", |pod| {
        let mut proxy = pod.containers[0].clone();
        proxy.name = "mesh-proxy".into();
        (proxy.image_present, proxy.ready) = (false, false);
        let message = "manifest for mesh:9 not found: manifest unknown".into();
        proxy.state = ContainerState::Waiting { reason: "ErrImagePull".into(), message: Some(message) };
        pod.containers.push(proxy);
        pod.phase = PodPhase::Pending;
    });
    console.run_for(&mut fake, 10);
    let finding = found(&mut console, &fake, "n1");
    assert_eq!(finding.title, "image not found: mesh-proxy, which is not in the template");
    assert!(finding.remedies[1].to_string().contains("neither a roll back nor another image helps"), "{finding:?}");
    let halt = console.snapshot(&fake).halt.unwrap();
    assert_eq!(&*halt.why, "image not found (mesh-proxy, not in the template) on 1 node");
    let preview = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
    let warned = |words: &str| preview.warnings.iter().any(|warning| warning.contains(words));
    assert!(warned("What fails on 1 node is mesh-proxy, which is not in the template"), "{:?}", preview.warnings);
}

/// The rollout is to go back where pods fail. It halts instead where a roll back does not help, and goes back where the revision fails, too.
#[test]
fn nothing_goes_back_by_itself_because_of_what_no_template_names() {
    for (failing, goes_back) in [("mesh-proxy", false), ("agent", true)] {
        let (mut fake, mut console) = one_taken(4);
        let going_back = Tuning { on_failure: Some(OnFailure::RollBack), ..Tuning::default() };
        console.ask(&mut fake, Command::Tune(going_back)).unwrap();
        fake.kubelets();
        fake.change_pod("n1", |pod| {
            let mut proxy = pod.containers[0].clone();
            proxy.name = "mesh-proxy".into();
            pod.containers.push(proxy);
            for container in &mut pod.containers {
                container.ready = *container.name != *failing;
                if !container.ready {
                    let message = Some("manifest unknown: not found".into());
                    container.state = ContainerState::Waiting { reason: "ErrImagePull".into(), message };
                    container.image_present = false;
                }
            }
            (pod.ready, pod.phase) = (false, PodPhase::Pending);
        });
        console.run_for(&mut fake, 20);
        let snapshot = console.snapshot(&fake);
        let why = snapshot.halt.map(|halt| halt.why.to_string()).unwrap_or_default();
        assert_eq!(why.contains("a roll back does not help"), !goes_back, "{failing}: {why}");
        assert_eq!(fake.daemonset.template.images()[0].as_ref() == "agent:v1", goes_back, "{failing}");
    }
}

/// Another image was given after one that is missing: the pod that still fails of the first is not blamed on the second.
#[test]
fn a_pod_of_an_earlier_revision_fails_of_its_own_image() {
    let (mut fake, mut console) = one_taken(4);
    fake.slow = false;
    fake.broken.push("agent:v2".into());
    fake.kubelets();
    console.run_for(&mut fake, 10);
    assert!(console.snapshot(&fake).halt.is_some());
    assert_eq!(found(&mut console, &fake, "n1").title, "image not found: agent:v2");
    console.set_image(&mut fake, "agent:v3");
    console.run_for(&mut fake, 10);
    let finding = found(&mut console, &fake, "n1");
    assert_eq!(finding.title, "image not found: agent:v2", "not that of the target");
    let said: Vec<String> = finding.remedies.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["let what is still of revision 2 be updated: revision 3 replaces it then"]);
}

/// A policy of the platform lets pods pull from a mirror, which does not have the image: the registry that the template names may well have it.
#[test]
fn an_image_that_pods_pull_from_a_mirror_is_looked_for_there() {
    let (mut fake, mut console) = one_taken(4);
    fake.kubelets();
    let said = r#"Back-off pulling image "mirror.test/cache/agent:v2": ErrImagePull: manifest unknown: not found"#;
    fake.change_pod("n1", |pod| {
        let container = &mut pod.containers[0];
        container.image_present = false;
        container.state = ContainerState::Waiting { reason: "ImagePullBackOff".into(), message: Some(said.into()) };
    });
    console.run_for(&mut fake, 10);
    let finding = found(&mut console, &fake, "n1");
    assert_eq!(finding.title, "image not found: agent:v2, pulled as mirror.test/cache/agent:v2");
    let remedies: Vec<String> = finding.remedies.iter().map(ToString::to_string).collect();
    assert_eq!(
        remedies,
        [
            "look at mirror.test, and whether it has this image: a mutating webhook or policy lets pods pull from there",
            "give the DaemonSet an image that is there, or roll back"
        ]
    );
}

/// A cause that comes after another one is as old as it is itself, and not as the trouble of its pod.
#[test]
fn a_cause_has_an_age_of_its_own() {
    let (mut fake, mut console) = one_taken(4);
    fake.kubelets();
    let fails = |fake: &mut FakeCluster, reason: &str, message: &str| {
        fake.change_pod("n1", |pod| {
            let container = &mut pod.containers[0];
            container.image_present = !reason.contains("Image");
            container.state = ContainerState::Waiting { reason: reason.into(), message: Some(message.into()) };
        });
    };
    let age = |console: &mut FakeConsole, fake: &FakeCluster| {
        let since = found(console, fake, "n1").since.map(|since| fake.now.since(since).as_secs());
        since.unwrap_or_default()
    };
    fails(&mut fake, "ErrImagePull", "manifest unknown: not found");
    console.run_for(&mut fake, 60);
    assert!((60..62).contains(&age(&mut console, &fake)));
    fails(&mut fake, "CreateContainerConfigError", "configmap \"a\" not found");
    console.run_for(&mut fake, 20);
    let finding = found(&mut console, &fake, "n1");
    assert_eq!(finding.kind, FindingKind::Cause(CauseKind::Config));
    assert!((20..22).contains(&age(&mut console, &fake)), "{finding:?}");
    // One that comes back is as old as before: causes take turns.
    fails(&mut fake, "ErrImagePull", "manifest unknown: not found");
    console.run_for(&mut fake, 10);
    assert!((90..93).contains(&age(&mut console, &fake)));
}

/// What is tried again by itself is not said to be wrong as what has failed is.
#[test]
fn a_rate_limit_has_the_sign_of_what_is_tried_again() {
    let (mut fake, mut console) = one_taken(4);
    fake.kubelets();
    fake.change_pod("n1", |pod| {
        let container = &mut pod.containers[0];
        container.image_present = false;
        let message = Some("toomanyrequests: you have reached your pull rate limit".into());
        container.state = ContainerState::Waiting { reason: "ErrImagePull".into(), message };
    });
    let finding = found(&mut console, &fake, "n1");
    let kind = FindingKind::Cause(CauseKind::ImageRateLimited);
    assert_eq!((finding.kind, finding.sign()), (kind, FindingSign::TriesAgain));
    console.run_for(&mut fake, 700);
    let finding = found(&mut console, &fake, "n1");
    assert_eq!((finding.fails, finding.sign()), (true, FindingSign::Wrong), "its grace is over");
}

/// The causes of the nodes are findings of their own: the halt does not say them again.
#[test]
fn a_halt_is_told_by_the_findings_about_its_nodes() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 30);
    let snapshot = console.snapshot(&fake);
    let halted = |snapshot: &Snapshot| Diagnosis::of(snapshot).findings.into_iter().next().unwrap().title;
    assert_eq!(halted(&snapshot), "halted: 1 node failed", "{:?}", snapshot.alarms);
    // A node that is well by now has no finding, so that the reason would be lost.
    let nodes = snapshot.nodes.iter().filter(|node| &*node.name != "n1").cloned().collect();
    let without = halted(&Snapshot { nodes, ..snapshot });
    assert!(without.starts_with("halted: ") && without.contains("n1"), "{without}");
}

/// A roll back takes down nothing that serves while the API server refuses new pods: no pod of the older revision would be made either.
#[test]
fn a_roll_back_replaces_no_pod_that_serves_while_pods_are_refused() {
    let mut fake = FakeCluster::rolling(8, 3);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 3);
    let said = crate::engine::model::Str::from("Error creating: pods \"agent-\" is forbidden: exceeded quota: small");
    fake.refuses = Some(said.clone());
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 2);
    fake.fail_create(&said);
    console.run_for(&mut fake, 30);
    assert_eq!(console.snapshot(&fake).phase, Phase::Halted);
    let (down, deleted) = (fake.down(), fake.deleted.len());
    assert!(down < 3, "{down} of 3 that may be down");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    assert_eq!(fake.deleted.len(), deleted, "the controller has not tried again yet");
    fake.fail_create(&said);
    console.run_for(&mut fake, 60);
    assert_eq!((fake.down(), fake.deleted.len()), (down, deleted));
    let waits = console.snapshot(&fake).nodes.iter().find(|node| &*node.name == "n1").unwrap().hold.clone();
    assert!(matches!(waits, Some(Hold::Unproven { cause: Some(CauseKind::QuotaExceeded), .. })), "{waits:?}");
    // An operator who has raised the quota has nothing else to do.
    fake.refuses = None;
    console.run_for(&mut fake, 120);
    assert_eq!((fake.down(), fake.at("hash2")), (0, 0));
}

/// Without the right to read nodes it is not known which of them may be updated: that is the finding, and no finding is without words.
#[test]
fn nodes_that_may_not_be_read_are_named_as_the_reason() {
    let (mut fake, mut console) = one_taken(4);
    let why = || "cannot list resource \"nodes\"".into();
    fake.kubelets();
    console.hear(&fake);
    console.engine.observe(Event::Watch(Watched::Nodes, WatchHealth::Forbidden { why: why() }), fake.now);
    let mut snapshot = console.snapshot(&fake);
    let titles = |snapshot: &Snapshot| {
        let findings = Diagnosis::of(snapshot).findings;
        findings.into_iter().map(|finding| finding.title).collect::<Vec<_>>()
    };
    assert!(titles(&snapshot).iter().all(|title| !title.is_empty()), "{:?}", titles(&snapshot));
    // As a one-shot command sees them: outdated, with nothing known of what holds them.
    let unheld = |node: &NodeView| NodeView { hold: None, pod_wait: None, cause: None, ..node.clone() };
    snapshot.nodes = snapshot.nodes.iter().map(unheld).collect();
    let said = titles(&snapshot);
    assert!(said.contains(&"nodes are forbidden: cannot list resource \"nodes\"".to_owned()), "{said:?}");
    snapshot.watches.clear();
    assert!(titles(&snapshot).contains(&NodeState::Outdated.to_string()), "{:?}", titles(&snapshot));
}

#[test]
fn refusals_that_differ_by_the_name_of_the_pod_are_one_finding() {
    let (fake, mut console) = one_taken(4);
    let mut snapshot = console.snapshot(&fake);
    let refused = |(nth, node): (usize, &NodeView)| {
        let why = format!("pods \"agent-8pm{nth}c\" is forbidden: User \"jane\" cannot delete resource \"pods\"");
        let hold = Some(Hold::DeletionRefused { why: why.into() });
        NodeView { state: NodeState::Outdated, hold, pod_wait: None, ..node.clone() }
    };
    snapshot.nodes = snapshot.nodes.iter().enumerate().map(refused).collect();
    let findings = Diagnosis::of(&snapshot).findings;
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    let title = "deletion refused: pods \"agent-*\" is forbidden: User \"jane\" cannot delete resource \"pods\"";
    assert_eq!((finding.title.as_str(), finding.nodes.len()), (title, 4));
}

/// While a refused deletion is tried again its node is not held for a moment: it is still none of the others.
#[test]
fn the_others_go_on_only_where_there_are_others() {
    let others = |nodes: usize, refused: &[&str]| {
        let mut fake = FakeCluster::rolling(nodes, 1);
        for node in refused {
            fake.undeletable.insert((*node).into(), EffectErrorKind::Forbidden);
        }
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 0);
        let mut said = Vec::new();
        for _ in 0..60 {
            console.run_for(&mut fake, 1);
            said.extend(console.snapshot(&fake).alarms.iter().find_map(|alarm| match alarm {
                Alarm::DeletionRefused { others, .. } => Some(*others),
                _ => None,
            }));
        }
        said
    };
    let all = others(2, &["n1", "n2"]);
    assert!(!all.is_empty() && all.iter().all(|others| !others), "{all:?}");
    let one = others(12, &["n1"]);
    assert!(one.contains(&true), "{one:?}");
}
