//! What the diagnosis and the page of a node add to a cause: what is read on demand, and commands for pasting.

use std::sync::Arc;
use std::time::Duration;

use super::console::TestConsole;
use super::fixtures::{ago, failed, halted, node, running, target, updated};
use crate::engine::model::Str;
use crate::engine::model::amount::Amount;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::hold::Hold;
use crate::engine::model::inspection::{Inspection, Reading};
use crate::engine::model::node::NodeState;
use crate::engine::model::occupancy::{HeldResource, NodeOccupancy, ResourceHolder};
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::record::{Direction, Paused};
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};
use crate::tui::message::{ConsoleEffect, Msg};
use crate::tui::view;

const LACKS: &str = "0/9 nodes are available: 1 Insufficient cpu";

/// A rollout with these nodes beside its own.
fn with(nodes: impl IntoIterator<Item = NodeView>) -> Snapshot {
    let snapshot = running();
    let nodes = snapshot.nodes.iter().cloned().chain(nodes).collect();
    Snapshot { nodes, ..snapshot }
}

fn pod_of(node: NodeView, pod: &str) -> NodeView {
    NodeView { pod: Some(pod.into()), ..node }
}

fn unschedulable() -> Snapshot {
    let node = |name: &str| pod_of(failed(name, CauseKind::Unschedulable, LACKS, 60), &format!("ipc-agent-{name}"));
    let ports =
        failed("ports", CauseKind::Unschedulable, "0/9 nodes are available: 1 node(s) didn't have free ports", 60);
    with([node("tight-1"), node("tight-2"), ports])
}

fn occupancy() -> Inspection {
    let holder = ResourceHolder {
        namespace: "shop".into(),
        name: "till-0".into(),
        request: Amount::whole(3),
        higher_priority: None,
    };
    let resource = HeldResource {
        name: "cpu".into(),
        request: Amount::whole(2),
        allocatable: Some(Amount::whole(4)),
        requested: Amount::whole(3),
        holders: vec![holder],
    };
    let occupancy = NodeOccupancy { resources: vec![resource], pods: 7, is_cut: false };
    Inspection { occupancy: Reading::Read(occupancy), ..Inspection::default() }
}

fn forbidden() -> Inspection {
    let why = "pods is forbidden; it takes the right to list pods in all namespaces";
    Inspection { occupancy: Reading::Failed(why.into()), ..Inspection::default() }
}

/// What is being read: of which node and pod, under which number.
fn reads(console: &TestConsole) -> Vec<(Str, Option<Str>, u64)> {
    let read = |effect: &ConsoleEffect| match effect {
        ConsoleEffect::Inspect { serial, node, pod, .. } => Some((node.clone(), pod.clone(), *serial)),
        _ => None,
    };
    console.effects.iter().filter_map(read).collect()
}

/// The screen as one line, since sentences are broken.
fn flat(console: &TestConsole) -> String {
    console.screen().replace(['│', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// By the words of its `Display`.
#[test]
fn every_cause_is_shown_in_its_row() {
    for kind in CauseKind::ALL {
        let screen = TestConsole::on(with([failed("odd-1", kind, "in its own words", 60)]), 120, 40).screen();
        // After the header, which groups nodes by their causes.
        let row = screen.lines().rfind(|line| line.contains("odd-1")).unwrap_or_default();
        assert!(row.contains(&kind.to_string()), "{kind:?}:\n{screen}");
    }
}

#[test]
fn what_holds_a_scarce_resource_is_read_while_the_diagnosis_is_shown() {
    let mut console = TestConsole::on(unschedulable(), 160, 90).typed("i");
    let [(node, pod, serial)] = &reads(&console)[..] else { panic!("{:?}", console.effects) };
    assert_eq!((&**node, pod.as_deref()), ("tight-1", Some("ipc-agent-tight-1")), "one for a text of the scheduler");
    let serial = *serial;
    assert!(console.model.reads(serial));
    assert!(flat(&console).contains("which pods hold it on tight-1 is being read"), "{}", console.screen());
    console.tell(Msg::Inspected(serial, Arc::new(occupancy())));
    for words in ["cpu of tight-1: 4 allocatable, 3 requested by 7 pods, this pod asks for 2", "held by shop/till-0 3"]
    {
        assert!(flat(&console).contains(words), "{words}: {}", console.screen());
    }
    console.tell(Msg::Inspected(serial, Arc::new(forbidden())));
    for words in ["right to list pods in all namespaces", "kubectl --context prod-eu describe node tight-1"] {
        assert!(flat(&console).contains(words), "{words}: {}", console.screen());
    }
    console.type_keys("<esc>");
    assert!(!console.model.reads(serial), "nobody looks any more");
    console.tell(Msg::Inspected(serial, Arc::new(occupancy())));
}

#[test]
fn the_page_of_a_node_tells_what_holds_a_scarce_resource() {
    let mut console = TestConsole::on(unschedulable(), 160, 50).typed("/tight-1<enter>l1");
    let serial = console.model.node_page().unwrap().serial;
    console.tell(Msg::Inspected(serial, Arc::new(occupancy())));
    for words in ["What the node has of what its pod lacks", "held by shop/till-0 3"] {
        assert!(console.screen().contains(words), "{words}: {}", console.screen());
    }
    console.tell(Msg::Inspected(serial, Arc::new(forbidden())));
    for words in ["right to list pods in all namespaces", "kubectl --context prod-eu describe node tight-1"] {
        assert!(flat(&console).contains(words), "{words}: {}", console.screen());
    }
}

#[test]
fn commands_are_offered_for_a_log_and_for_finalizers() {
    let mut init = pod_of(failed("n1", CauseKind::InitFailure, "setup ended with exit 3", 60), "ipc-agent-n1");
    init.cause.as_mut().unwrap().container = Some("setup".into());
    let again = NodeView { name: "n2".into(), restarts: 2, ..pod_of(init.clone(), "ipc-agent-n2") };
    let held = pod_of(failed("n3", CauseKind::HeldByFinalizers, "finalizers a.example/x, orphan", 60), "ipc-agent-n3");
    let finalizers = ["a.example/x".into(), "orphan".into(), "bare".into()].into();
    let held =
        NodeView { state: NodeState::Terminating, pod_wait: Some(Box::new(PodWait::Finalizers(finalizers))), ..held };
    let console = TestConsole::on(with([init, held]), 200, 90).typed("i");
    assert!(reads(&console).is_empty(), "nothing of it takes a reading");
    for words in [
        "init container fails: setup",
        "what setup wrote on n1: l on the row of n1, or kubectl --context prod-eu logs -n edge ipc-agent-n1 -c setup",
        "the controller of a.example takes a.example/x off",
        "the garbage collector of kube-controller-manager takes orphan off",
        "whoever set bare takes it off",
        "only where that controller is gone for good",
        r#"kubectl --context prod-eu patch pod -n edge ipc-agent-n3 --type merge -p '{"metadata":{"finalizers":null}}'"#,
    ] {
        assert!(flat(&console).contains(words), "{words}: {}", console.screen());
    }
    assert!(!flat(&console).contains("--previous"), "there was no run before");
    // On a practice cluster a key shows what it may; what has no key says why it is no command.
    let mut practice = console;
    practice.model.practice = true;
    for words in [
        "what setup wrote on n1: l on the row of n1",
        "let the pod of n3 go: kubectl cannot reach this practice cluster",
    ] {
        assert!(
            flat(&practice).contains(words) && !flat(&practice).contains("--context"),
            "{words}: {}",
            flat(&practice)
        );
    }
    let console = TestConsole::on(with([again]), 200, 90).typed("i");
    assert!(flat(&console).contains("-c setup --previous"), "{}", console.screen());
}

#[test]
fn pulls_that_differ_by_their_age_are_told_as_one() {
    let pulling = |name: &str, secs: u64| {
        let since = Some(running().at - Duration::from_secs(secs));
        NodeView { pod_wait: Some(Box::new(PodWait::Pull { since })), since, ..target(name, NodeState::Pulling, secs) }
    };
    let console = TestConsole::on(with([pulling("n1", 22), pulling("n2", 23), pulling("n3", 40)]), 200, 50).typed("i");
    assert!(flat(&console).contains("pulls for 22–40s (3 nodes)"), "{}", console.screen());
}

/// Nothing is known of a pull but that there is one: its image is named, and that no more is known is said.
#[test]
fn the_page_of_a_node_says_which_image_is_pulled() {
    let screen = TestConsole::on(running(), 120, 40).typed("/ipc-018<enter><enter>").screen();
    assert!(screen.contains("pulling agent:v1.9.0, how far is not known"), "{screen}");
}

#[test]
fn all_ages_of_the_diagnosis_pass() {
    let since = Some(running().at - Duration::from_secs(13));
    let pulling =
        NodeView { pod_wait: Some(Box::new(PodWait::Pull { since })), since, ..target("n1", NodeState::Pulling, 13) };
    let mut console = TestConsole::on(with([pulling]), 200, 50).typed("i");
    for said in ["pulling, 2 nodes for 20s", "pulls for 13s"] {
        assert!(flat(&console).contains(said), "{said}: {}", console.screen());
    }
    let wake = view::draw(&console.model).1.wake;
    assert!(wake.is_some_and(|at| at <= Duration::from_secs(1)), "{wake:?}");
    console.wait(5);
    for said in ["pulling, 2 nodes for 25s", "pulls for 18s"] {
        assert!(flat(&console).contains(said), "{said}: {}", console.screen());
    }
}

/// Who asks what is wrong with a rollout that stands is told first why it stands.
#[test]
fn why_nothing_moves_is_told_before_that_no_pod_is_in_trouble() {
    let by = |why: Option<&str>| Paused::new("ops@bastion-2/7f".into(), ago(180), why.map(Into::into));
    let well = || {
        let mut nodes: Vec<NodeView> = (1..=31).map(|nth| updated(&format!("ipc-{nth:03}"), 60)).collect();
        nodes.push(NodeView { hold: Some(Hold::Paused), ..node("ipc-120") });
        Snapshot { nodes: nodes.into(), alarms: Vec::new(), ..running() }
    };
    for size in [(40, 12), (120, 40)] {
        let paused = by(Some("link to munich is down"));
        let paused = Snapshot { phase: Phase::Paused(paused.clone()), paused: Some(paused), ..well() };
        let words = flat(&TestConsole::on(paused, size.0, size.1).typed("i"));
        let told = words.split("What it waits for").nth(1).unwrap_or_else(|| panic!("{words}"));
        let place = |text: &str| told.find(text).unwrap_or_else(|| panic!("{text}: {words}"));
        assert!(place("paused by ops@bastion-2") < place("link to munich is down"), "{words}");
        assert!(place("link to munich is down") < place("no pod is in trouble"), "{words}");
        // Beside a halt a pause is told, too, with and without a reason.
        let halted = Snapshot { paused: Some(by(None)), ..halted() };
        let words = flat(&TestConsole::on(halted, size.0, size.1).typed("i"));
        assert!(words.contains("paused by ops@bastion-2"), "{words}");
    }
    // Nothing holds the rollout as a whole, and still each node waits.
    let waits = Snapshot { nodes: [node("ipc-120")].into_iter().collect(), ..well() };
    let words = flat(&TestConsole::on(waits, 120, 40).typed("i"));
    assert!(words.contains("What it waits for"), "{words}");
}

/// Where a key rolls back, no cause says it again.
#[test]
fn a_roll_back_is_offered_once() {
    let roll_back = |snapshot: Snapshot| {
        let missing = pod_of(failed("n1", CauseKind::ImageNotFound, "not found", 60), "ipc-agent-n1");
        let crashing = pod_of(failed("n2", CauseKind::CrashLoop, "exit 1", 60), "ipc-agent-n2");
        let nodes = snapshot.nodes.iter().cloned().chain([missing, crashing]).collect();
        flat(&TestConsole::on(Snapshot { nodes, ..snapshot }, 200, 100).typed("i"))
    };
    let halted = roll_back(halted());
    assert!(
        halted.contains("U rolls back") && halted.contains("→ give the DaemonSet an image that is there (I) →"),
        "{halted}"
    );
    assert!(!halted.contains("roll back →") && !halted.contains("or roll back"), "{halted}");
    let goes_on = roll_back(running());
    let offered = goes_on.contains("U rolls back");
    assert_ne!(offered, goes_on.contains("→ roll back (U) →"), "{goes_on}");
}

/// What a remedy asks for and the console does is named with its key; not where that key would be refused.
#[test]
fn a_remedy_names_its_key() {
    let with_trouble = |base: Snapshot| {
        let missing = pod_of(failed("n1", CauseKind::ImageNotFound, "not found", 60), "ipc-agent-n1");
        let late = pod_of(failed("n2", CauseKind::Deadline, "not available in 10m", 60), "ipc-agent-n2");
        let limited = pod_of(failed("n3", CauseKind::ImageRateLimited, "toomanyrequests", 60), "ipc-agent-n3");
        let nodes = [missing, late, limited].into();
        flat(&TestConsole::on(Snapshot { nodes, alarms: Vec::new(), ..base }, 200, 100).typed("i"))
    };
    let told = with_trouble(running());
    for said in [
        "give the DaemonSet an image that is there (I), or roll back (U)",
        "raise the progress deadline (L), or roll back (U)",
        "lower how many pull at once (L), or pull from a mirror",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    let goes_back = with_trouble(Snapshot { direction: Direction::Back, ..running() });
    assert!(goes_back.contains("there (I), or roll back →"), "{goes_back}");
}
