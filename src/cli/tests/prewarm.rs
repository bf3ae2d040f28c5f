//! `prewarm`, and what other commands say of it.

use std::collections::BTreeMap;
use std::time::Duration;

use insta::assert_snapshot;

use super::script::{self, Script, at, node};
use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::command::{Command, PrewarmCommand, Takeover};
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::prewarm::{
    Prewarm, PrewarmCounts, PrewarmLeftover, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSite, PrewarmSource,
    PrewarmState, PrewarmView, PrewarmWait, Unobtainable,
};
use crate::engine::model::pull::{FinishedPull, ImageSummary, NodePull, PeerScope, PrewarmPulls, SlowPull, UsualPull};
use crate::engine::model::record::{By, OURSELVES};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};

pub(super) const V2: &str = "prewarm ds/agent --image agent=registry.example/agent:v2 --max-pulling 2";

fn by() -> By {
    By { by: "ada@bastion-1/7".into(), at: at(590) }
}

fn images() -> PrewarmSource {
    PrewarmSource::Images(BTreeMap::from([("agent".to_owned(), "registry.example/agent:v2".parse().unwrap())]))
}

pub(super) fn request() -> Prewarm {
    Prewarm {
        daemonset_uid: "uid".into(),
        source: images(),
        nodes: PrewarmNodes::All,
        limits: PrewarmLimits { max_pulling: "2".parse().unwrap(), ..PrewarmLimits::default() },
        method: PrewarmMethod::Pods,
        stateful_sets: false,
        paused: None,
        cancelled: None,
        complete: None,
        retried: None,
        handover: None,
        failures: std::collections::BTreeMap::new(),
        unrecorded: Default::default(),
        by: by(),
        write_ids: Vec::new(),
    }
}

/// Three nodes that are so far, and nothing recorded but what is pre-warmed.
pub(super) fn warm(states: [PrewarmState; 3], asked: Prewarm) -> Snapshot {
    let mut counts = PrewarmCounts { nodes: 3, ..PrewarmCounts::default() };
    let mut nodes = Vec::new();
    for (nth, state) in states.into_iter().enumerate() {
        counts.retrying += u32::from(state.is_retried());
        match &state {
            PrewarmState::Waiting(_) => counts.waiting += 1,
            PrewarmState::Queued | PrewarmState::Silent { .. } | PrewarmState::Pulling { .. } => counts.pulling += 1,
            PrewarmState::Present => counts.present += 1,
            PrewarmState::Failed { .. } => counts.failed += 1,
        }
        nodes.push(NodeView { prewarm: Some(state.into()), ..node(&format!("ipc-00{}", nth + 1), NodeState::Updated) });
    }
    let site = |name: &str, nodes: u32| PrewarmSite {
        name: name.into(),
        counts: PrewarmCounts { nodes, waiting: nodes, ..PrewarmCounts::default() },
        pulling: 0,
        limit: None,
        estimate: None,
        throughput: None,
    };
    let prewarm = PrewarmView {
        request: asked,
        images: ["registry.example/agent:v2".into()].into(),
        error: None,
        counts,
        failed_elsewhere: 0,
        limit: 2,
        pulling: counts.pulling,
        sites: vec![site("hall-a", 2), site("yard", 1)],
        estimate: None,
        throughput: None,
        refusal: None,
        unobtainable: None,
        stuck: Vec::new(),
        leftover: PrewarmLeftover::default(),
        pulls: PrewarmPulls::default(),
    };
    Snapshot {
        driver: DriverView::You { renewed_at: at(600), lapsed: false },
        prewarm: Some(prewarm),
        nodes: nodes.into(),
        ..idle()
    }
}

pub(super) fn idle() -> Snapshot {
    let nodes = ["ipc-001", "ipc-002", "ipc-003"].map(|name| node(name, NodeState::Updated)).into();
    let idle = Snapshot { phase: Phase::Idle, started_at: None, adopted: false, nodes, ..script::held_by_nobody() };
    Snapshot { image_changes: Vec::new(), from: None, original_strategy: None, ..idle }
}

pub(super) fn waiting() -> PrewarmState {
    PrewarmState::Waiting(PrewarmWait::Limit { used: 2, limit: 2 })
}

fn pulling() -> PrewarmState {
    PrewarmState::Pulling { since: at(595) }
}

pub(super) fn failed(kind: CauseKind, times: u32, again: Option<i64>) -> PrewarmState {
    let cause = Cause { kind, container: None, message: Some("manifest unknown".into()) };
    PrewarmState::Failed { cause, times, again_at: again.map(at) }
}

pub(super) const PRESENT: PrewarmState = PrewarmState::Present;

#[tokio::test]
async fn it_drives_until_every_node_has_the_images() {
    let script = Script::of(idle())
        .previews(Danger::Bounded)
        .then(warm([pulling(), pulling(), waiting()], request()))
        .then(warm([PRESENT, failed(CauseKind::ImagePull, 1, Some(610)), pulling()], request()))
        .then(warm([PRESENT, PRESENT, PRESENT], request()));
    let output = script.run(V2).await;
    assert_eq!(output.code, 0, "{}", output.error);
    assert_snapshot!(output.text);
    let limits = request().limits;
    let why = "every node that it pre-warmed has the images".to_owned();
    let ended = Command::EndDriving { why };
    let start =
        PrewarmCommand::Start { source: images(), nodes: PrewarmNodes::All, limits, method: PrewarmMethod::Pods };
    assert_eq!(script.requests(), [Command::Prewarm(start), ended]);
}

#[tokio::test]
async fn what_did_not_arrive_has_its_exit_code_and_says_how_to_go_on() {
    let end = warm([PRESENT, failed(CauseKind::ImageNotFound, 1, None), PRESENT], request());
    let script = Script::of(idle()).then(warm([PRESENT, pulling(), PRESENT], request())).then(end.clone());
    let output = script.run(V2).await;
    assert_eq!(output.code, 4, "{}", output.text);
    let lines: Vec<&str> = output.text.lines().collect();
    assert_snapshot!(lines[lines.len() - 2..].join("\n"), @r#"
    2026-11-18T11:16:40Z ipc-002: pre-warming failed: image not found (manifest unknown)
    2026-11-18T11:16:40Z pre-warming: 2 of 3 present, 1 failed
    "#);
    assert_snapshot!(Script::of(end).run("status ds/agent").await.text);
    assert_snapshot!(output.error, @r#"
    Error: pre-warming has ended, and 1 of 3 nodes lacks the images: 1 image not found (ipc-002)
    Hint: failed on ipc-002: `rolldeck prewarm --image agent=registry.example/agent:v2 --max-pulling 2 --context prod-eu -n edge ds/agent` tries again, as does `rolldeck prewarm --retry --context prod-eu -n edge ds/agent` where somebody drives; `rolldeck prewarm --cancel --context prod-eu -n edge ds/agent` gives it up and deletes its pods
    "#);
}

/// Nobody drives any more, and what the registry refuses does not come by going on.
#[tokio::test]
async fn an_image_that_no_node_can_get_is_given_up_or_pulled_again() {
    let fails = || failed(CauseKind::ImageNotFound, 1, None);
    let mut snapshot = Snapshot { driver: DriverView::Nobody, ..warm([fails(), fails(), fails()], request()) };
    let unobtainable = Some(Unobtainable { cause: CauseKind::ImageNotFound, nodes: 3 });
    snapshot.prewarm = snapshot.prewarm.map(|view| PrewarmView { unobtainable, ..view });
    let text = Script::of(snapshot).run("status ds/agent").await.text;
    for ends in ["(pulls again what failed)\n", "(gives it up, and deletes its pods)\n"] {
        assert!(text.contains(ends), "{ends}: {text}");
    }
}

/// In the same form as a rollout's.
#[tokio::test]
async fn how_long_it_takes_is_said_as_of_a_rollout() {
    let mut snapshot = warm([PRESENT, pulling(), pulling()], request());
    snapshot.prewarm = snapshot.prewarm.map(|view| PrewarmView { estimate: Some(script::minutes(12, 18)), ..view });
    let text = Script::of(snapshot).run("status ds/agent").await.text;
    assert!(text.contains("estimate: all in ~12–18m\n"), "{text}");
}

#[tokio::test]
async fn what_another_process_drives_is_followed() {
    let theirs = |states| {
        let holder = "ops@bastion-2/7".into();
        Snapshot { driver: DriverView::Other { holder, renewal_observed_at: at(600) }, ..warm(states, request()) }
    };
    let before = Snapshot { driver: theirs([PRESENT; 3].map(|_| PRESENT)).driver, ..idle() };
    let script = Script::of(before).then(theirs([pulling(), waiting(), waiting()])).then(theirs([PRESENT; 3]));
    let output = script.run(V2).await;
    assert_eq!((output.code, script.requests().len()), (0, 1), "{}", output.text);
}

#[tokio::test(start_paused = true)]
async fn where_its_driver_goes_away_it_drives_itself() {
    let left = Snapshot { driver: DriverView::Nobody, ..warm([PRESENT, waiting(), waiting()], request()) };
    let script = Script::of(idle()).then(left).without_a_line();
    let output = script.run(&format!("{V2} --timeout 20s")).await;
    assert_eq!(output.code, 3);
    assert_eq!(script.requests()[1], Command::Drive(Takeover::IfFree));
    assert_snapshot!(output.error, @r#"
    Error: not finished after 20 s: 2 of 3 nodes lack the images: 2 not begun (ipc-002 ipc-003)
    Hint: its pods stay, and what is being pulled goes on; whoever drives next carries on
    Hint: `rolldeck prewarm --image agent=registry.example/agent:v2 --max-pulling 2 --context prod-eu -n edge ds/agent` goes on, `rolldeck prewarm --cancel --context prod-eu -n edge ds/agent` gives it up, and whoever drives deletes its pods
    "#);
}

#[tokio::test]
async fn what_it_carries_on_besides_is_confirmed() {
    let script = Script::of(idle()).previews(Danger::Serious).carries_on();
    let output = script.run(V2).await;
    assert_eq!((output.code, script.requests()), (6, vec![]), "{}", output.text);
    assert_snapshot!(output.error, @r"
    Error: this also carries on the rollout, where 12 nodes are in line, and nobody can be asked (no terminal); nothing was changed
    Hint: `rolldeck prewarm ds/agent --image agent=registry.example/agent:v2 --max-pulling 2 --yes` confirms it
    Hint: after `rolldeck pause --context prod-eu -n edge ds/agent` it only pre-warms
    ");
}

/// Its preview did not name them: somebody drove then, or may have.
#[tokio::test(start_paused = true)]
async fn where_its_driver_goes_away_and_nodes_are_in_line_it_does_not_carry_on_the_rollout() {
    let left = Snapshot { driver: DriverView::Nobody, ..warm([PRESENT, waiting(), waiting()], request()) };
    let cancelled = Prewarm { cancelled: Some(by()), ..request() };
    let script = Script::of(idle()).then(left.clone());
    let cancels = Script::of(left.clone())
        .previews(Danger::Bounded)
        .then(Snapshot { driver: DriverView::Nobody, ..warm([PRESENT, waiting(), waiting()], cancelled) });
    for (script, line, next) in [
        (
            script,
            V2,
            "nobody drives, and whoever drives next carries it on; this command does not drive, as that would carry on",
        ),
        (
            cancels,
            "prewarm ds/agent --cancel",
            "its pods are deleted by whoever drives next; this command does not drive, as",
        ),
    ] {
        let output = script.run(&format!("{line} --timeout 20s")).await;
        assert_eq!((output.code, script.requests().len()), (3, 1), "it does not drive: {:?}", script.requests());
        assert!(output.text.contains(next), "{}", output.text);
    }
}

/// Of a driver that may be alive it says what follows if not: where a rollout is recorded, its nodes may be in line by then.
#[tokio::test(start_paused = true)]
async fn where_its_driver_may_be_alive_it_promises_to_drive_only_where_it_would() {
    let unconfirmed = |snapshot: Snapshot, started_at: Option<Timestamp>| {
        let driver = DriverView::Unconfirmed { holder: "ben@bastion/9".into(), renewed_at: None };
        Snapshot { driver, started_at, ..snapshot }
    };
    let drives = "if not, this process becomes the driver once its lease has run out";
    for (started_at, said) in
        [(Some(at(0)), format!("{drives}, unless that would carry on the rollout\n")), (None, format!("{drives}\n"))]
    {
        let asked = || unconfirmed(warm([PRESENT, waiting(), waiting()], request()), started_at);
        let begun = unconfirmed(idle(), started_at);
        let script = Script::of(begun.clone()).then(begun).then(asked());
        let output = script.run(&format!("{V2} --timeout 5s")).await;
        assert!(output.text.contains(&said), "{}{}", output.text, output.error);
    }
}

#[tokio::test]
async fn what_somebody_else_asks_for_instead_ends_it() {
    let other = Prewarm { source: PrewarmSource::Template, by: By { by: "eve@b/1".into(), ..by() }, ..request() };
    let script = Script::of(idle())
        .then(warm([pulling(), waiting(), waiting()], request()))
        .then(warm([waiting(), waiting(), waiting()], other));
    let output = script.run(V2).await;
    assert_eq!(output.code, 3);
    assert_eq!(output.error, "Error: not followed any longer: eve@b asked for something else meanwhile");
    let script = Script::of(idle()).then(warm([pulling(), waiting(), waiting()], request())).then(idle());
    let output = script.run(V2).await;
    assert_eq!(output.code, 3);
    assert!(output.error.contains("nothing is being pre-warmed any more"), "{}", output.error);
}

/// By StatefulSets it is complete with the last node, and then cleaned up, during which fewer and fewer nodes count as having the images.
#[tokio::test]
async fn what_is_complete_and_cleaned_up_is_not_called_cancelled() {
    let by_sets = Prewarm { method: PrewarmMethod::StatefulSet, ..request() };
    let itself = By { by: OURSELVES.into(), at: at(590) };
    let complete = Prewarm { cancelled: Some(itself), complete: Some(3), ..by_sets.clone() };
    let waits = || PrewarmState::Waiting(PrewarmWait::Complete);
    let script = Script::of(idle())
        .then(warm([PRESENT, PRESENT, pulling()], by_sets))
        .then(warm([PRESENT, PRESENT, waits()], complete.clone()))
        .then(warm([PRESENT, waits(), waits()], complete))
        .then(idle());
    let output = script.run(&format!("{V2} --method statefulset")).await;
    assert_eq!(output.code, 0, "{} {}", output.text, output.error);
    assert!(!output.text.contains("cancelled"), "{}", output.text);
    let cleaned = "pre-warming complete, being cleaned up: all 3 nodes have the images";
    assert_eq!(output.text.matches(cleaned).count(), 1, "{}", output.text);
    assert!(
        output.text.contains("nothing is being pre-warmed any more: all 3 nodes have the images"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn who_cancelled_it_is_named_at_its_end() {
    let cancelled = Prewarm { cancelled: Some(By { by: "eve@b/1".into(), at: at(600) }), ..request() };
    let script = Script::of(idle())
        .then(warm([pulling(), waiting(), waiting()], request()))
        .then(warm([waiting(), waiting(), waiting()], cancelled))
        .then(idle());
    let output = script.run(V2).await;
    assert_eq!(output.code, 3);
    let why = "Error: not followed any longer: nothing is being pre-warmed any more: it was cancelled by eve@b";
    assert_eq!(output.error, why);
    assert!(output.text.contains("pre-warming cancelled by eve@b, being cleaned up"), "{}", output.text);
    assert!(output.text.contains("nothing is being pre-warmed any more: cancelled by eve@b"), "{}", output.text);
}

#[tokio::test]
async fn a_cancellation_lasts_until_all_is_gone() {
    let cancelled = Prewarm { cancelled: Some(by()), ..request() };
    let script = Script::of(warm([PRESENT, pulling(), waiting()], request()))
        .previews(Danger::Bounded)
        .then(warm([PRESENT, PrewarmState::Waiting(PrewarmWait::Cancelled), waiting()], cancelled))
        .then(idle());
    let output = script.run("prewarm ds/agent --cancel").await;
    assert_eq!(output.code, 0, "{}", output.text);
    assert_eq!(script.requests()[0], Command::Prewarm(PrewarmCommand::Cancel));
    assert!(output.text.contains("pre-warming cancelled by ada@bastion-1, being cleaned up"), "{}", output.text);
}

/// The watch of the Lease tells that the request is gone before that of the pods tells that the last of them is.
#[tokio::test]
async fn a_cancellation_waits_for_the_last_pod_that_is_seen() {
    let cancelled = Prewarm { cancelled: Some(by()), ..request() };
    let left = Prewarm {
        source: PrewarmSource::Template,
        by: By { by: OURSELVES.into(), at: Timestamp::default() },
        ..request()
    };
    let script = Script::of(warm([PRESENT, pulling(), waiting()], request()))
        .previews(Danger::Bounded)
        .then(warm([PRESENT, PrewarmState::Waiting(PrewarmWait::Cancelled), waiting()], cancelled))
        .then(warm([waiting(), waiting(), waiting()], left))
        .then(idle());
    let output = script.run("prewarm ds/agent --cancel").await;
    assert_eq!(output.code, 0, "{}", output.text);
    assert!(!output.text.contains("own pre-warming goes on"), "{}", output.text);
}

/// The rollout pre-warms by itself what it requires: the cancellation is carried out, and what was to end goes on.
#[tokio::test]
async fn a_cancellation_of_what_the_rollout_requires_says_that_its_own_goes_on() {
    let own = Prewarm { source: PrewarmSource::Template, by: By { by: OURSELVES.into(), at: at(600) }, ..request() };
    let script = Script::of(warm([PRESENT, pulling(), waiting()], request()))
        .previews(Danger::Bounded)
        .then(warm([PRESENT, waiting(), waiting()], own));
    let output = script.run("prewarm ds/agent --cancel").await;
    assert_eq!((output.code, output.error.as_str()), (3, ""), "{}", output.text);
    let said = "cancelled; the rollout's own pre-warming goes on, because it requires these images before an update: \
                `rolldeck tune --require-image=false --context prod-eu -n edge ds/agent` ends that";
    assert!(output.text.contains(said), "{}", output.text);
}

#[tokio::test]
async fn a_cancellation_does_not_carry_on_a_rollout_that_nobody_drives() {
    let script = Script::of(warm([PRESENT, pulling(), waiting()], request())).previews(Danger::Bounded).carries_on();
    let output = script.run("prewarm ds/agent --cancel").await;
    assert_eq!((output.code, &script.requests()[0]), (3, &Command::Prewarm(PrewarmCommand::Cancel)), "{}", output.text);
    let left = "this command does not drive, as that would carry on the rollout, where 12 nodes are in line; \
                `rolldeck drive --context prod-eu -n edge ds/agent` does both";
    assert!(output.text.contains(left), "{}", output.text);
}

#[tokio::test]
async fn edits_are_made_at_once_and_say_who_carries_them_out() {
    let paused = Snapshot { driver: DriverView::Nobody, ..warm([PRESENT, waiting(), waiting()], request()) };
    for (flag, command) in
        [("--pause", PrewarmCommand::Pause), ("--resume", PrewarmCommand::Resume), ("--retry", PrewarmCommand::Retry)]
    {
        let script = Script::of(paused.clone()).previews(Danger::Bounded);
        let output = script.run(&format!("prewarm ds/agent {flag}")).await;
        assert_eq!((output.code, script.requests()), (0, vec![Command::Prewarm(command)]));
        let next = "Nobody drives: no pre-warming pod is made before somebody drives.\n\
                    next: rolldeck prewarm --image agent=registry.example/agent:v2 --max-pulling 2 --context prod-eu -n edge \
                    ds/agent   (carries pre-warming on)\n";
        assert!(output.text.ends_with(next), "{}", output.text);
    }
}

#[tokio::test]
async fn a_dry_run_of_a_revision_asks_for_nothing() {
    let script = Script::of(script::rollout()).previews(Danger::Bounded);
    let output = script.run("prewarm ds/agent --revision 14 --dry-run").await;
    assert_eq!((output.code, script.requests().len()), (0, 0));
    assert!(output.text.ends_with("Nothing was changed (--dry-run).\n"), "{}", output.text);
    let output = script.run("prewarm ds/agent --revision 3").await;
    assert_eq!((output.code, &*output.error), (5, "Error: no revision 3; there are 15, 14"));
}

#[tokio::test]
async fn a_refusal_is_said_once_with_what_to_do() {
    let refused = |node: &str, states| {
        let mut snapshot = warm(states, request());
        let refusal = Some((node.into(), "pods \"x\" is forbidden: exceeded quota: pods".into()));
        snapshot.prewarm.as_mut().unwrap().refusal = refusal;
        snapshot
    };
    let script = Script::of(idle())
        .then(refused("ipc-001", [waiting(), waiting(), PRESENT]))
        .then(refused("ipc-002", [waiting(), waiting(), PRESENT]))
        .then(warm([PRESENT; 3], request()));
    let output = script.run(V2).await;
    let said: Vec<&str> = output.text.lines().filter(|line| line.contains("refused")).collect();
    assert_snapshot!(said.join("\n"), @r#"2026-11-18T11:16:40Z pre-warming: its pod on ipc-001 is refused: pods "x" is forbidden: exceeded quota: pods; raise the quota by one pod per node, or pre-warm fewer nodes with a selector"#);
}

#[tokio::test]
async fn as_json_it_is_an_object_a_line() {
    let script = Script::of(idle())
        .then(warm([PRESENT, failed(CauseKind::ImageNotFound, 1, None), pulling()], request()))
        .then(warm([PRESENT, failed(CauseKind::ImageNotFound, 1, None), PRESENT], request()));
    let output = script.run(&format!("{V2} -o json")).await;
    let lines: Vec<serde_json::Value> = output.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_prewarm: Vec<_> = lines.iter().filter(|line| line["topic"] == "prewarm").collect();
    assert!(of_prewarm.iter().any(|line| line["node"]["prewarm"] == "failed: image not found"), "{}", output.text);
    let [.., result, error] = lines.as_slice() else { panic!("{}", output.text) };
    assert_eq!((&result["kind"], &error["kind"]), (&"TaskResult".into(), &"Error".into()), "{result}");
    assert_eq!(
        (&result["command"], &result["outcome"], &result["exitCode"]),
        (&"prewarm".into(), &"halted".into(), &4.into())
    );
    assert!(result["nodes"]["total"].is_u64() && error["exitCode"] == 4, "{result}");
    let last = of_prewarm.last().unwrap();
    assert_snapshot!(serde_json::to_string_pretty(last).unwrap());
    let status = script.json("status ds/agent -o json").await;
    assert!(!status.contains("prewarm\": {"), "nothing is being pre-warmed at first");
}

#[test]
fn the_command_that_asks_for_the_same_again_is_spelled_for_a_shell() {
    use crate::cli::suggested_commands::prewarm_command;
    let revisions = script::rollout().revisions;
    let spelled = |edit: &dyn Fn(&mut Prewarm)| {
        let mut prewarm = request();
        edit(&mut prewarm);
        prewarm_command(&prewarm, &revisions).unwrap()
    };
    assert_eq!(spelled(&|_| {}), "prewarm --image agent=registry.example/agent:v2 --max-pulling 2");
    let selected = spelled(&|prewarm| {
        prewarm.source = PrewarmSource::Revision("hash14".into());
        prewarm.nodes = PrewarmNodes::Selector("zone in (a,b)".parse().unwrap());
        prewarm.limits = PrewarmLimits { max_pulling_per_site: "10%".parse().unwrap(), ..PrewarmLimits::default() };
    });
    assert_eq!(selected, "prewarm --revision 14 -l 'zone in (a,b)' --max-pulling-per-site 10%");
    let all = spelled(&|prewarm| {
        prewarm.source = PrewarmSource::Images([("*".to_owned(), "agent:v2".parse().unwrap())].into());
        prewarm.nodes = PrewarmNodes::LetGo;
        prewarm.limits = PrewarmLimits::default();
    });
    assert_eq!(all, "prewarm --image '*'=agent:v2 --this-step");
    assert_eq!(
        spelled(&|prewarm| prewarm.nodes = PrewarmNodes::StepAhead),
        "prewarm --image agent=registry.example/agent:v2 --next-step --max-pulling 2"
    );
}

#[tokio::test]
async fn pulls_of_images_that_are_named_by_hand_are_listed() {
    let mut snapshot = warm([PRESENT, PRESENT, pulling()], request());
    let secs = Duration::from_secs;
    let usual = UsualPull { median: secs(10), quartiles: (secs(9), secs(12)), peers: 7, scope: PeerScope::Fleet };
    let image: Str = "registry.example/agent:v2".into();
    let pull = |node: &str, took: u64| NodePull {
        node: node.into(),
        image: image.clone(),
        pull: FinishedPull { took: secs(took), transfer: secs(took), bytes: Some(50_000_000) },
    };
    snapshot.prewarm.as_mut().unwrap().pulls = PrewarmPulls {
        images: [ImageSummary { image: image.clone(), bytes: Some(50_000_000), fleet: Some(usual), sites: vec![] }]
            .into(),
        slow: [SlowPull {
            node: "ipc-002".into(),
            image: image.clone(),
            took: secs(60),
            times: 6,
            scope: PeerScope::Fleet,
        }]
        .into(),
        finished: [pull("ipc-001", 10), pull("ipc-002", 60)].into(),
    };
    let output = Script::of(snapshot).run("status ds/agent --images").await;
    assert_snapshot!(output.text);
}

/// A release recorded the end of pre-warming, and nobody drives: its pods stay until somebody deletes them.
#[tokio::test]
async fn status_says_how_the_pods_of_a_cancelled_pre_warming_go() {
    let cancelled = Prewarm { cancelled: Some(By { by: OURSELVES.into(), at: at(600) }), ..request() };
    let mut left = warm([PRESENT, PRESENT, PRESENT], cancelled);
    left.driver = DriverView::Nobody;
    if let Some(prewarm) = &mut left.prewarm {
        prewarm.leftover = PrewarmLeftover { pods: 3, undriven: true, ..PrewarmLeftover::default() };
    }
    // Where a node is in line the command does not drive, because that would carry the rollout on.
    let waits = NodeView { hold: Some(Hold::NobodyDrives), ..node("ipc-009", NodeState::Outdated) };
    let in_line = Snapshot { nodes: left.nodes.iter().cloned().chain([waits]).collect(), ..left.clone() };
    let text = Script::of(in_line).run("status ds/agent").await.text;
    assert!(!text.contains("prewarm --cancel"), "{text}");
    let output = Script::of(left).run("status ds/agent").await;
    let next =
        "  next     rolldeck prewarm --cancel --context prod-eu -n edge ds/agent   (deletes its pods, which are left)";
    assert!(output.text.lines().any(|line| line == next), "{}", output.text);
    assert!(!output.text.contains("being cleaned up"), "{}", output.text);
}

/// A machine that is off for days does not keep the command waiting.
#[tokio::test(start_paused = true)]
async fn it_ends_once_only_nodes_that_are_down_are_left() {
    let down = || PrewarmState::Waiting(PrewarmWait::NodeDown);
    let script = Script::of(idle())
        .previews(Danger::Bounded)
        .then(warm([PRESENT, pulling(), down()], request()))
        .then(warm([PRESENT, PRESENT, down()], request()));
    let output = script.run(V2).await;
    assert_eq!(output.code, 3, "{}", output.error);
    let said = "pre-warming goes on without this command: 1 node is down, and everything else is done: ipc-003";
    assert!(output.error.contains(said), "{}", output.error);
}

/// What failed was told when it failed. Who cancels it is told how its pods go.
#[tokio::test]
async fn a_cancellation_does_not_tell_again_what_failed() {
    let fails = || failed(CauseKind::ImageNotFound, 1, None);
    let mut failing = warm([PRESENT, fails(), fails()], request());
    let unobtainable = Some(Unobtainable { cause: CauseKind::ImageNotFound, nodes: 2 });
    failing.prewarm = failing.prewarm.map(|view| PrewarmView { unobtainable, ..view });
    let cancelled = Prewarm { cancelled: Some(by()), ..request() };
    let script = Script::of(failing).then(warm([PRESENT, fails(), fails()], cancelled)).then(idle());
    let output = script.run("prewarm ds/agent --cancel").await;
    assert_eq!(output.code, 0, "{}{}", output.text, output.error);
    assert!(!output.text.contains("image not found"), "{}", output.text);
    assert!(output.text.contains("pre-warming cancelled by ada@bastion-1, being cleaned up"), "{}", output.text);
}

/// Which nodes lack the images and why, and not how many pull slots there are.
#[tokio::test(start_paused = true)]
async fn the_end_says_which_nodes_lack_the_images_and_why() {
    let down = || PrewarmState::Waiting(PrewarmWait::NodeDown);
    let not_found = || failed(CauseKind::ImageNotFound, 1, None);
    let refused =
        || PrewarmState::Waiting(PrewarmWait::Unobtainable(Unobtainable { cause: CauseKind::ImageNotFound, nodes: 2 }));
    let mut over = warm([not_found(), refused(), PRESENT], request());
    let unobtainable = Some(Unobtainable { cause: CauseKind::ImageNotFound, nodes: 2 });
    over.prewarm = over.prewarm.map(|view| PrewarmView { unobtainable, ..view });
    let output = Script::of(idle()).then(warm([pulling(), pulling(), PRESENT], request())).then(over).run(V2).await;
    assert_eq!(output.code, 4);
    let said = "Error: pre-warming has ended, and 2 of 3 nodes lack the images: 1 image not found (ipc-001), \
                1 not tried, as elsewhere: image not found (ipc-002)";
    assert_eq!(output.error.lines().next(), Some(said));
    let late = warm([pulling(), down(), waiting()], request());
    let output = Script::of(idle()).then(late).without_a_line().run(&format!("{V2} --timeout 20s")).await;
    assert_eq!(output.code, 3);
    let said = "Error: not finished after 20 s: 3 of 3 nodes lack the images: 1 down (ipc-002), 1 pulling (ipc-001), 1 not begun (ipc-003)";
    assert_eq!(output.error.lines().next(), Some(said));
}
