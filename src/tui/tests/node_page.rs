//! The page of a node: its tabs, its log, its keys, what it asks of the outside.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;

use super::console::TestConsole;
use super::fixtures::{ago, noon, running};
use crate::engine::model::container_log::{ContainerLine, LogNews, LogRun, LogSource, LogState};
use crate::engine::model::facts::Severity;
use crate::engine::model::inspection::{
    ConditionInspection, ContainerInspection, ContainerKind, ContainerPhase, EndedRun, Inspection, NodeInspection,
    PodEvent, PodInspection, Reading,
};
use crate::engine::model::occupancy::{HeldResource, NodeOccupancy, ResourceHolder};
use crate::engine::model::printable::tests::HOSTILE;
use crate::engine::model::suspect::SuspectView;
use crate::engine::report::snapshot::{NodeView, PlanView, Snapshot};
use crate::tui::columns::nodes::{NODE_COLUMNS, NodeTable};
use crate::tui::message::{ConsoleEffect, Msg};
use crate::tui::model::Overlay;
use crate::tui::node_page::NodeTab;
use crate::tui::view::node_lines;

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> ConditionInspection {
    ConditionInspection {
        kind: kind.into(),
        status: status.into(),
        since: Some(ago(74)),
        reason: Some(reason.into()).filter(|reason: &Arc<str>| !reason.is_empty()),
        message: Some(message.into()).filter(|message: &Arc<str>| !message.is_empty()),
    }
}

fn ended(exit_code: i32, reason: &str, from: u64, to: u64) -> EndedRun {
    let message = (exit_code == 137).then(|| "memory cgroup out of memory: killed process 7 (agent)".into());
    EndedRun { exit_code, reason: reason.into(), message, started_at: Some(ago(from)), finished_at: Some(ago(to)) }
}

/// A pod whose main container was killed for its memory three times, with a sidecar that runs.
fn crash_loop(pod: &str) -> Inspection {
    let container = |name: &str, kind, state| ContainerInspection {
        name: name.into(),
        kind,
        image: format!("registry.factory.example/edge/{name}:v2").into(),
        image_id: Some(format!("registry.factory.example/edge/{name}@sha256:4bcf").into()),
        ready: true,
        state: Some(state),
        ..ContainerInspection::default()
    };
    let message = "back-off 40s restarting failed container=agent pod=ipc-agent-031_edge";
    let waits = ContainerPhase::Waiting { reason: "CrashLoopBackOff".into(), message: Some(message.into()) };
    let agent = ContainerInspection {
        ready: false,
        restarts: 3,
        last: Some(ended(137, "OOMKilled", 13, 9)),
        ..container("agent", ContainerKind::Main, waits)
    };
    let pod = PodInspection {
        name: pod.into(),
        phase: "Running".into(),
        ip: Some("10.128.0.31".into()),
        qos_class: Some("Burstable".into()),
        service_account: Some("default".into()),
        conditions: vec![
            condition("PodScheduled", "True", "", ""),
            condition("Ready", "False", "ContainersNotReady", "containers with unready status: [agent]"),
        ],
        containers: vec![
            container("init", ContainerKind::Init, ContainerPhase::Ended(ended(0, "Completed", 73, 72))),
            container("proxy", ContainerKind::Sidecar, ContainerPhase::Running { since: Some(ago(71)) }),
            agent,
        ],
        raw: Arc::new(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod,
            "creationTimestamp": ago(74).to_rfc3339()}, "spec": {"nodeName": "ipc-031"}})),
        ..PodInspection::default()
    };
    let event = |reason: &str, message: &str, count, severity, first: u64, last: u64| PodEvent {
        at: Some(ago(last)),
        first_at: (count > 1).then(|| ago(first)),
        severity,
        reason: reason.into(),
        message: message.into(),
        count,
        from: "kubelet".into(),
    };
    let node = NodeInspection {
        conditions: vec![
            condition(
                "MemoryPressure",
                "True",
                "KubeletHasInsufficientMemory",
                "kubelet has insufficient memory available",
            ),
            condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ],
        taints: vec!["node.kubernetes.io/memory-pressure:NoSchedule".into()],
        addresses: vec![("InternalIP".into(), "10.1.0.31".into())],
        allocatable: vec![("cpu".into(), "4".into()), ("memory".into(), "3841Mi".into())],
        system: vec!["Debian 13".into(), "6.12.0".into(), "containerd://2.1.0".into()],
        ..NodeInspection::default()
    };
    Inspection {
        pod: Reading::Read(pod),
        node: Reading::Read(node),
        events: Reading::Read(vec![
            event("BackOff", message, 5, Severity::Warning, 60, 9),
            event("Pulled", "Successfully pulled image in 14s (14s including waiting)", 1, Severity::Normal, 58, 58),
        ]),
        occupancy: Reading::Absent,
        stale: None,
    }
}

/// A console on the page of `ipc-031`, at this tab.
fn on_tab(key: &str, width: u16, height: u16) -> TestConsole {
    // Where there is no room for a list keys do nothing: it is opened before that.
    let mut console = TestConsole::on(running(), width.max(40), height.max(10)).typed("/ipc-031<enter>");
    console.type_keys(key);
    console.tell(Msg::Resize(ratatui::layout::Size::new(width, height)));
    console
}

/// The same with what is read of it.
fn read(key: &str, width: u16, height: u16) -> TestConsole {
    let mut console = on_tab(key, width, height);
    let pod = console.model.node_page().and_then(|page| page.pod.clone()).unwrap();
    inspected(&mut console, crash_loop(&pod));
    console
}

fn inspected(console: &mut TestConsole, inspection: Inspection) {
    let serial = console.model.node_page().unwrap().serial;
    console.tell(Msg::Inspected(serial, Arc::new(inspection)));
}

fn log(console: &mut TestConsole, texts: &[&str], state: LogState) {
    let line = |(nth, text): (usize, &&str)| {
        let at = noon() - Duration::from_secs(20 - nth as u64);
        ContainerLine { at: Some(at), text: (*text).into() }
    };
    let serial = console.model.node_page().unwrap().log.as_ref().unwrap().serial;
    let lines = texts.iter().enumerate().map(line).collect();
    console.tell(Msg::Log(serial, LogNews { lines, skipped_bytes: 0, state }));
}

const LINES: [&str; 4] = [
    "level=info msg=\"starting\" version=v2",
    "level=info msg=\"configuration read\" file=/etc/agent/agent.yaml and a line that is much longer than eighty cells, so that it is broken",
    "",
    "level=fatal msg=\"cannot open serial port\" device=/dev/ttyS1",
];

fn sources(console: &TestConsole) -> Vec<LogSource> {
    let source = |effect: &ConsoleEffect| match effect {
        ConsoleEffect::ReadLog { source, .. } => Some(source.clone()),
        _ => None,
    };
    console.effects.iter().filter_map(source).collect()
}

#[test]
fn a_page_says_that_it_goes_on_below() {
    for (width, height) in [(40, 12), (80, 24)] {
        let mut console = read("l5", width, height);
        let screen = console.screen();
        assert!(screen.contains('↓') && !screen.contains('↑'), "{screen}");
        assert_eq!(screen.contains(" of 43"), width == 80, "{screen}");
        console.type_keys("G");
        let screen = console.screen();
        assert!(screen.contains('↑') && !screen.contains('↓'), "{screen}");
    }
    let all = read("l6", 200, 50).screen();
    assert!(!all.contains('↓') && !all.contains('↑'), "{all}");
}

#[test]
fn where_the_status_has_no_last_words_the_key_of_the_log_is_named() {
    let mut console = on_tab("l1", 80, 24);
    let pod = console.model.node_page().and_then(|page| page.pod.clone()).unwrap();
    let mut inspection = crash_loop(&pod);
    let Reading::Read(read) = &mut inspection.pod else { unreachable!() };
    let container = read.containers.iter_mut().find(|container| &*container.name == "agent").unwrap();
    container.last = Some(ended(1, "Error", 13, 9));
    inspected(&mut console, inspection);
    let screen = console.screen();
    assert!(screen.contains("its status has no message: p shows what it wrote in the run before"), "{screen}");
}

#[test]
fn each_tab_as_it_is_seen() {
    for (width, height) in [(80, 24), (200, 50)] {
        for (key, tab) in [("1", "why"), ("4", "events"), ("5", "describe"), ("6", "yaml")] {
            let console = read(&format!("l{key}"), width, height);
            assert_snapshot!(format!("node_{tab}_{width}x{height}"), console.screen());
        }
        let mut console = read("l", width, height);
        log(&mut console, &LINES, LogState::Following);
        assert_snapshot!(format!("node_log_{width}x{height}"), console.screen());
    }
    let mut console = read("l", 40, 12);
    log(&mut console, &LINES, LogState::Following);
    assert_snapshot!("node_log_40x12", console.screen());
}

/// From the rollout: `j` and `l`.
#[test]
fn two_keys_lead_to_the_log_of_a_container_that_crashes() {
    let mut console = TestConsole::on(running(), 80, 24).typed("l");
    let node = console.model.node_page().unwrap().node.clone();
    let read = console.effects.iter().filter(|effect| matches!(effect, ConsoleEffect::Inspect { .. })).count();
    assert_eq!((read, sources(&console)), (1, Vec::new()), "which container says most is not known yet");
    let pod = console.model.node_page().unwrap().pod.clone().unwrap();
    inspected(&mut console, crash_loop(&pod));
    let wanted = LogSource { namespace: "edge".into(), pod, container: "agent".into(), run: LogRun::Current };
    assert_eq!(sources(&console), [wanted], "{node}: the one that ended with an error");
    inspected(&mut console, crash_loop("other"));
    console.type_keys("3");
    assert_eq!(sources(&console).last().unwrap().run, LogRun::Previous);
}

#[test]
fn a_log_is_read_only_while_it_is_shown() {
    let mut console = read("<enter>", 80, 24);
    assert_eq!(sources(&console), [], "the page alone reads no log");
    console.type_keys("2");
    let serial = console.model.node_page().unwrap().log.as_ref().unwrap().serial;
    assert!(console.model.reads(serial));
    console.type_keys("<esc>");
    assert!(console.model.node_page().is_none() && !console.model.reads(serial));
    // What comes late changes nothing.
    console.tell(Msg::Log(serial, LogNews::default()));
    console.tell(Msg::Inspected(serial, Arc::default()));
    assert!(console.screen().contains("ipc-031"));
}

#[test]
fn leaving_the_rollout_closes_the_page() {
    let mut console = read("l", 80, 24);
    let serial = console.model.node_page().unwrap().serial;
    console.type_keys(":fleet<enter>");
    assert!(!console.model.reads(serial));
    let mut console = read("l", 80, 24);
    console.type_keys("T");
    assert!(console.model.node_page().is_none() && console.screen().contains("timeline"));
}

#[test]
fn a_pod_that_is_replaced_is_followed() {
    let mut console = read("l", 80, 24);
    log(&mut console, &LINES, LogState::Following);
    let mut next: Snapshot = running();
    let mut nodes = next.nodes.to_vec();
    nodes.iter_mut().filter(|node| &*node.name == "ipc-031").for_each(|node| node.pod = None);
    next.nodes = nodes.clone().into();
    console.see(next.clone());
    assert!(console.screen().contains("level=fatal"), "while there is no other pod, the last one stays");
    nodes.iter_mut().filter(|node| &*node.name == "ipc-031").for_each(|node| node.pod = Some("ipc-agent-new".into()));
    next.nodes = nodes.into();
    console.see(next);
    let ConsoleEffect::Inspect { pod, .. } = console.effects.last().unwrap() else { panic!("{:?}", console.effects) };
    assert_eq!(pod.as_deref(), Some("ipc-agent-new"));
    inspected(&mut console, crash_loop("ipc-agent-new"));
    assert_eq!(&*sources(&console).last().unwrap().pod, "ipc-agent-new");
}

#[test]
fn containers_wrap_times_and_search_by_keys() {
    let mut console = read("l", 80, 24);
    log(&mut console, &LINES, LogState::Following);
    console.type_keys("c");
    assert_eq!(&*sources(&console).last().unwrap().container, "init", "containers go round");
    console.type_keys("cc");
    log(&mut console, &LINES, LogState::Following);
    assert!(console.screen().contains("eighty cells"), "{}", console.screen());
    console.type_keys("wt");
    let screen = console.screen();
    assert!(!screen.contains("eighty cells") && screen.contains("11:59:40 level=info"), "{screen}");
    console.type_keys("/FATAL<enter>");
    assert_eq!(console.model.node_page().unwrap().search, "FATAL");
    assert!(console.screen().contains("find `FATAL`"));
    console.type_keys("n");
    assert!(console.screen().contains("level=fatal"));
    console.type_keys("/nowhere<enter>N");
    assert!(console.screen().contains("`nowhere` is not in what is shown here"), "{}", console.screen());
    console.type_keys("<esc>");
    assert!(console.model.node_page().unwrap().search.is_empty(), "esc clears the search first");
    console.type_keys("x");
    assert!(console.screen().contains("kubectl --context prod-eu logs -n edge ipc-agent-031 -c agent"));
}

#[test]
fn another_container_is_offered_only_where_there_is_one() {
    let footer = |console: &TestConsole| console.screen().lines().last().unwrap_or_default().to_owned();
    let mut console = read("l", 120, 40);
    log(&mut console, &LINES, LogState::Following);
    assert!(footer(&console).contains("c container"), "{}", footer(&console));
    let mut alone = crash_loop("ipc-agent-031");
    if let Reading::Read(pod) = &mut alone.pod {
        pod.containers.retain(|container| &*container.name == "agent");
    }
    inspected(&mut console, alone);
    assert!(!footer(&console).contains("c container"), "{}", footer(&console));
    // The key copies the name of the node there, and on each tab without a log.
    for key in ["c", "1c", "5c"] {
        console.type_keys(key);
        assert_eq!(console.effects.pop(), Some(ConsoleEffect::Copy("ipc-031".into())), "{key}");
    }
}

#[test]
fn a_search_finds_lines_of_every_tab() {
    let mut console = read("l5", 80, 24);
    console.type_keys("/oomkilled<enter>n");
    assert!(console.screen().contains("OOMKilled"), "{}", console.screen());
    console.type_keys("6/nodename<enter>n");
    assert!(console.screen().contains("nodeName: ipc-031"));
}

#[test]
fn what_cannot_be_read_says_why_and_what_to_do() {
    let mut console = read("l", 80, 24);
    let no = "pods \"ipc-agent-031\" is forbidden: User \"ada\" cannot get resource \"pods/log\"";
    log(&mut console, &[], LogState::Forbidden(no.into()));
    let screen = console.screen();
    assert!(screen.contains("cannot get resource") && screen.contains("kubectl --context prod-eu logs"), "{screen}");
    let mut console = on_tab("l", 80, 24);
    let failed = || Reading::Failed("pods is forbidden".into());
    inspected(&mut console, Inspection { pod: failed(), ..Inspection::default() });
    assert!(console.screen().contains("the pod cannot be read: pods is forbidden"));
    let events = Reading::Failed("events is forbidden".into());
    inspected(&mut console, Inspection { events, ..crash_loop("ipc-agent-031") });
    console.type_keys("4");
    assert!(console.screen().contains("Events cannot be read: events is forbidden"));
    inspected(&mut console, Inspection { stale: Some("no answer within 15 s".into()), ..crash_loop("ipc-agent-031") });
    assert!(console.frame().area.width == 80 && console.screen().contains("NOT READ AGAIN"), "{}", console.screen());
}

#[test]
fn a_pause_needs_no_way_back() {
    let mut console = read("l", 80, 24);
    console.type_keys("P");
    assert!(matches!(console.model.overlay, Overlay::Dialog(_)));
}

/// Every key, at every size, on every tab, with hostile texts: nothing panics, and nothing steers the terminal.
#[test]
fn hostile_texts_and_all_sizes() {
    let hostile = |text: &str| format!("{HOSTILE}{text}{}", "\u{301}".repeat(500));
    for (width, height) in [(1, 1), (40, 10), (41, 12), (80, 24), (300, 9), (200, 50)] {
        for (tab, _) in NodeTab::ALL {
            let mut console = read("l", width, height);
            let mut inspection = crash_loop(&hostile("pod"));
            inspection.stale = Some(hostile("stale").into());
            let resource = HeldResource {
                name: hostile("resource").into(),
                holders: vec![ResourceHolder { name: hostile("holder").into(), ..ResourceHolder::default() }; 9],
                ..HeldResource::default()
            };
            let resources = vec![resource];
            inspection.occupancy = Reading::Read(NodeOccupancy { resources, ..NodeOccupancy::default() });
            inspected(&mut console, inspection);
            let lines = [hostile("a"), "x".repeat(4_096), String::new()];
            log(&mut console, &lines.each_ref().map(|line| &**line), LogState::Waiting(hostile("w").into()));
            console.model.node_page_mut().unwrap().tab = tab;
            for key in
                ["j", "k", "G", "g", "<pgdn>", "<pgup>", "w", "t", "f", "n", "c", "x", "/a<enter>", "n", "N", "<tab>"]
            {
                console.type_keys(key);
                let buffer = console.frame();
                let steers = |symbol: &str| symbol.chars().any(|c| c.is_control());
                assert!(!buffer.content.iter().any(|cell| steers(cell.symbol())), "{tab:?} {key}");
            }
        }
    }
}

#[test]
fn names_of_conditions_are_shown_in_full() {
    const NAME: &str = "PodReadyToStartContainers";
    let mut inspection = crash_loop("ipc-agent-031");
    if let Reading::Read(pod) = &mut inspection.pod {
        pod.conditions.push(condition(NAME, "True", "", ""));
    }
    let mut console = on_tab("d", 80, 60);
    inspected(&mut console, inspection);
    assert!(console.screen().contains(&format!(" {NAME} True")), "{}", console.screen());
}

/// The values of a node that the console tells neither on its page nor in a column, and why.
const NOT_SHOWN: [(&str, &str); 3] = [
    ("cause_since", "a failure has one age; the header and the diagnosis tell the age of other trouble"),
    ("crash_loop", "its cause tells the same"),
    ("lost_readiness", "its cause tells the same"),
];

/// A value that is missing here is told to nobody who looks at a node.
#[test]
fn every_value_of_a_node_is_on_its_page_or_in_a_column() {
    let shown = |node: &NodeView| {
        let plan = PlanView { selector: "line=line1".parse().ok(), ..running().plan };
        let snapshot = Snapshot { plan, nodes: [node.clone()].into(), ..running() };
        let table = NodeTable::of(&snapshot);
        let cells: Vec<_> = NODE_COLUMNS.iter().map(|column| (column.cell)(node, &table, 400).0).collect();
        (node_lines(&TestConsole::on(snapshot, 200, 50).typed("l1").model), cells)
    };
    let (known, unknown) = (NodeView::known(1), NodeView::unknown("ipc"));
    let by_the_rollout = NodeView { down_by: None, ..known.clone() };
    let not_eligible = NodeView { eligible: false, ..known.clone() };
    let mut untold: BTreeSet<&str> = known.with_each_field_of(&unknown).into_iter().map(|(field, _)| field).collect();
    for node in [known, by_the_rollout, not_eligible] {
        let all = shown(&node);
        for (field, changed) in node.with_each_field_of(&unknown) {
            if shown(&changed) != all {
                untold.remove(field);
            }
        }
    }
    assert_eq!(untold, NOT_SHOWN.map(|(field, _)| field).into());
}

#[test]
fn a_node_that_is_not_ready_while_it_is_updated_is_not_said_to_have_gone_down_after_it() {
    let mut snapshot = running();
    let mut nodes: Vec<NodeView> = snapshot.nodes.iter().map(NodeView::clone).collect();
    nodes.iter_mut().find(|node| &*node.name == "ipc-031").unwrap().suspect =
        Some(SuspectView::InUpdate { until: noon() });
    snapshot.nodes = nodes.into();
    let screen = TestConsole::on(snapshot, 80, 24).typed("/ipc-031<enter><enter>").screen();
    assert!(screen.contains("went down while it is updated: charged to the budget"), "{screen}");
}
