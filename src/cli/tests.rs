//! Transcripts of the command line against a scripted driver: what is typed, what is printed, how it exits.

mod prewarm;
mod script;

use std::time::Duration;

use insta::assert_snapshot;

use super::error::Exit;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Refusal, Step, Takeover};
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::{RolloutEstimate, Standstill};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::labels::Selector;
use crate::engine::model::node::NodeState;
use crate::engine::model::pace::{Flap, PaceReason, PacedSite, Throughput};
use crate::engine::model::presence::Presence;
use crate::engine::model::record::{Halt, Paused};
use crate::engine::model::step_ahead::{NoStep, SelectionDone};
use crate::engine::model::wait::{DistanceView, Wait};
use crate::engine::report::snapshot::{Alarm, Counts, Phase, Snapshot};
use script::{Script, at, cause, node, rollout};

#[test]
fn help_says_what_can_be_done() {
    assert_snapshot!("help", script::help(&[]));
    for command in [
        "status",
        "history",
        "adopt",
        "set-image",
        "step",
        "select",
        "tune",
        "pause",
        "resume",
        "undo",
        "release",
        "drive",
        "prewarm",
        "demo",
        "simulate",
        "completions",
    ] {
        assert_snapshot!(format!("help-{command}"), script::help(&[command]));
    }
}

#[test]
fn as_a_plugin_it_is_called_kubectl_rolldeck() {
    let said = super::parse(["/usr/local/bin/kubectl-rolldeck", "step"].map(Into::into)).unwrap_err().to_string();
    assert!(said.contains("Usage: kubectl rolldeck step"), "{said}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_asked() {
    for (line, why) in [
        ("set-image ds/agent registry/agent:v2", "names no container"),
        ("set-image ds/agent agent=Bad:Image:", "is not an image reference"),
        ("select ds/agent zone=a,,b", "empty condition"),
        ("select ds/agent", "required"),
        ("step ds/agent --to 10 --partition 5", "cannot be used with"),
        ("step ds/agent --to many", "neither a count"),
        ("status deploy/agent", "rolls out DaemonSets, not `deploy`"),
        ("ds/agent status", "the DaemonSet comes after the command"),
        ("drive ds/agent --timeout soon", "not a time to wait"),
        ("tune ds/agent", "--max-unavailable"),
        ("tune ds/agent --max-unavailable 150%", "neither a count (`3`) nor a percentage"),
        ("tune ds/agent --max-unavailable all", "or `default`"),
        ("tune ds/agent --soak 10", "write `30s`"),
        ("tune ds/agent --on-drift fight", "possible values: report, enforce"),
        ("tune ds/agent --strict=perhaps", "possible values: true, false"),
        ("drive ds/agent --keep --finish release", "cannot be used with"),
        ("prewarm ds/agent --image registry/agent:v2", "names no container"),
        ("prewarm ds/agent --image agent=agent:v2 --revision 3", "cannot be used with"),
        ("prewarm ds/agent --cancel --node ipc-001", "cannot be used with"),
        ("prewarm ds/agent --retry --image agent=agent:v2", "cannot be used with"),
        ("prewarm ds/agent --pause --resume", "cannot be used with"),
        ("prewarm ds/agent --next-step -l zone=a", "cannot be used with"),
        ("prewarm ds/agent --max-pulling few", "or `default`"),
        ("prewarm ds/agent --max-pulling 0%", "bring nothing"),
        ("demo --speed 0", "not a factor"),
    ] {
        let line = std::iter::once("rolldeck").chain(line.split(' ')).map(Into::into);
        let error = super::parse(line).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test]
async fn status_answers_the_four_questions() {
    let script = Script::of(rollout());
    assert_snapshot!(script.run("status ds/agent --nodes").await.text, @r#"
    edge/agent on prod-eu: running, 38 of 120 updated
      change   v1.8.2 → v1.9.0, rev 14 → 15
      driver   ops@bastion-2/4711 drives
      budget   down 2 of 2: 1 ours, 1 suspect + 3 not ours, pulling 2 of 2
      plan     step 2 of 3: 60 may be updated, partition 60
      gates    halts at 1 failed: not available in 10m, more than 2 restarts or its node down for 5m; strategy drift is reported
      strategy OnDelete (ours), was RollingUpdate 10%
      view     live
      failed   1 image not found: ipc-017
      down     1 suspect: ipc-031

    NODE     STATE      REV  IMAGE    POD            RESTARTS  AGE  WHY
    ipc-017  failed     15   present  agent-ipc-017  0         5m   image not found
    ipc-031  node down  15   present  agent-ipc-031  0         5m   NotReady since 1m, after its update
    ipc-018  pulling    15   present  agent-ipc-018  0         5m
    ipc-020  outdated   14   unknown  agent-ipc-020  0         5m   budget: 2 of 2 down
    ipc-001  updated    15   present  agent-ipc-001  0         5m
    "#);
}

/// Where limits follow what links bear it is said how many nodes each site may have pulling, and why.
#[tokio::test]
async fn status_says_how_many_may_pull_in_each_site_and_why() {
    let throughput = Throughput::Bytes(11_000_000 * 3_600);
    let paced = |site: &str, limit, why| PacedSite { site: site.into(), limit, why };
    let pace = [
        paced("", 1, PaceReason::Flapped { node: "ipc-017".into(), what: Flap::LostReadiness }),
        paced("hall-a", 4, PaceReason::Raised { finished: 3, throughput }),
    ];
    let script = Script::of(Snapshot { pace: pace.into(), ..script::pulling() });
    let text = script.run("status ds/agent --images").await.text;
    let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("SITE")).take(3).collect();
    assert_eq!(
        table,
        [
            "SITE     LIMIT  PACE",
            "no site  1      halved: ipc-017 lost readiness",
            "hall-a   4      raised: 3 finished, 11 MB/s",
        ]
    );
    let json: serde_json::Value = serde_json::from_str(&script.json("status ds/agent --images -o json").await).unwrap();
    assert_eq!(
        json["pace"][1],
        serde_json::json!({"site": "hall-a", "limit": 4, "why": "raised: 3 finished, 11 MB/s"})
    );
}

#[tokio::test]
async fn status_says_which_images_are_where() {
    let script = Script::of(script::pulling());
    assert_snapshot!(script.run("status ds/agent --images").await.text, @r#"
    edge/agent on prod-eu: running, 38 of 120 updated
      change   v1.8.2 → v1.9.0, rev 14 → 15
      driver   ops@bastion-2/4711 drives
      budget   down 2 of 2: 1 ours, 1 suspect + 3 not ours, pulling 2 of 2
      images   present on 38 of 120, 2 pulling, 1 failed, 79 unknown
               registry.example/agent:v1.9.0, 412 MB, took ~60s on 9 nodes: hall-a ~60s
               slow: ipc-037: 6× the median of its site (370s for v1.9.0)
      plan     step 2 of 3: 60 may be updated, partition 60
      gates    halts at 1 failed: not available in 10m, more than 2 restarts or its node down for 5m; strategy drift is reported
      strategy OnDelete (ours), was RollingUpdate 10%
      view     live
      failed   1 cause not known: ipc-017

    NODE     IMAGE    IMAGES                                        FOR  EXPECTED            WHY
    ipc-017  failed   agent=v1.9.0 failed                           -    -                   failed: disk full: write /var/lib/containerd/7: no space left on device
    ipc-018  pulling  agent=v1.9.0 pulling                          40s  ~60s, from 7 peers  pulling, ~40s of 60s, from 7 peers
    ipc-019  pulling  setup=v3 pulling (init), agent=v1.9.0 queued  12s  -                   pulling for 12s
    ipc-020  unknown  agent=v1.9.0 unknown                          -    -
    ipc-001  present  agent=v1.9.0 present                          -    -                   present, pulled in 58s (51s without waiting), 412 MB
    "#);
    let json: serde_json::Value = serde_json::from_str(&script.json("status ds/agent --images -o json").await).unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&json["pulls"]).unwrap(), @r#"
    {
      "images": [
        {
          "bytes": 412345678,
          "image": "registry.example/agent:v1.9.0",
          "sites": [
            {
              "site": "hall-a",
              "usual": {
                "medianMillis": 60000,
                "peers": 7,
                "quartilesMillis": [
                  48000,
                  75000
                ],
                "scope": "site"
              }
            }
          ],
          "usual": {
            "medianMillis": 60000,
            "peers": 9,
            "quartilesMillis": [
              48000,
              75000
            ],
            "scope": "fleet"
          }
        }
      ],
      "nodes": {
        "absent": 0,
        "failed": 1,
        "present": 38,
        "pulling": 2,
        "unknown": 79
      },
      "slow": [
        {
          "image": "registry.example/agent:v1.9.0",
          "node": "ipc-037",
          "scope": "site",
          "times": 6,
          "tookMillis": 370000
        }
      ]
    }
    "#);
    let of = |name: &str| {
        let nodes = json["nodes"].as_array().unwrap();
        let node = nodes.iter().find(|node| node["name"] == name).unwrap();
        format!("{} {}", node["images"], node["usualPull"])
    };
    assert_snapshot!(of("ipc-017"), @r#"[{"container":"agent","failure":"disk","image":"registry.example/agent:v1.9.0","init":false,"message":"write /var/lib/containerd/7: no space left on device","state":"failed"}] null"#);
    assert_snapshot!(of("ipc-018"), @r#"[{"container":"agent","image":"registry.example/agent:v1.9.0","init":false,"since":"2026-11-18T11:16:00.000Z","state":"pulling"}] {"medianMillis":60000,"peers":7,"quartilesMillis":[48000,75000],"scope":"site"}"#);
    assert_snapshot!(of("ipc-019"), @r#"[{"container":"setup","image":"registry.example/setup:v3","init":true,"since":"2026-11-18T11:16:28.000Z","state":"pulling"},{"container":"agent","image":"registry.example/agent:v1.9.0","init":false,"state":"queued"}] null"#);
    assert_snapshot!(of("ipc-001"), @r#"[{"bytes":412345678,"container":"agent","image":"registry.example/agent:v1.9.0","init":false,"knownBy":"imageId","state":"present","tookMillis":58000,"transferMillis":51000}] null"#);
}

#[tokio::test]
async fn status_tells_a_script_how_things_stand() {
    let standing = async |edit: fn(&mut crate::engine::report::snapshot::Snapshot)| {
        let mut snapshot = rollout();
        snapshot.counts.failed = 0;
        edit(&mut snapshot);
        Script::of(snapshot).run("status ds/agent").await.code
    };
    assert_eq!(standing(|_| {}).await, 3);
    assert_eq!(standing(|snapshot| snapshot.phase = Phase::Held).await, 3);
    assert_eq!(standing(|snapshot| snapshot.phase = Phase::Complete).await, 0);
    let idle = |snapshot: &mut crate::engine::report::snapshot::Snapshot| {
        snapshot.phase = Phase::Idle;
        snapshot.counts.available = snapshot.counts.nodes;
    };
    assert_eq!(standing(idle).await, 0);
    assert_eq!(standing(|snapshot| snapshot.phase = Phase::Idle).await, 3, "nodes are down");
    assert_eq!(standing(|snapshot| snapshot.phase = Phase::Halted).await, 4);
    assert_eq!(standing(|snapshot| snapshot.counts.failed = 1).await, 4);
    assert_eq!(standing(|snapshot| snapshot.daemonset = Presence::Absent).await, 5);
    assert_eq!(standing(|snapshot| snapshot.phase = Phase::Native).await, 3);
}

#[tokio::test]
async fn json_has_the_words_of_the_console() {
    let script = Script::of(rollout());
    assert_snapshot!(script.json("status ds/agent --nodes -o json").await);
    assert_snapshot!(script.json("history ds/agent -o json").await);
}

#[tokio::test]
async fn how_far_away_the_api_server_is_and_what_is_waited_for() {
    let until = at(600) + Duration::from_millis(5_500);
    let wait = Wait::Rate { per_sec: 20, waiting: 110, until };
    let distance =
        DistanceView { round_trip: Some(Duration::from_millis(620)), pause_within: Some(Duration::from_millis(2_300)) };
    let script = Script::of(Snapshot { distance, waits: Some(wait), ..rollout() });
    let text = script.run("status ds/agent").await.text;
    let told: Vec<&str> = text.lines().filter(|line| line.contains("waits") || line.contains("API")).collect();
    assert_snapshot!(told.join("\n"), @r#"
      waits    rate: 20 deletions/s, 110 wait, 6s left
      API      answers in 620 ms; a pause from elsewhere bites within 2.3 s
    "#);
    let status = script.json("status ds/agent -o json").await;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["apiRoundTripMillis"], &status["pauseBitesWithinMillis"]), (&620.into(), &2_300.into()));
    assert_eq!(
        (&status["waits"]["for"], &status["waits"]["waiting"], &status["waits"]["text"]),
        (&"rate".into(), &110.into(), &"rate: 20 deletions/s".into())
    );
}

#[tokio::test]
async fn what_else_manages_it_is_said_before_anything_is_adopted() {
    let script = Script::of(script::under_argo_cd()).previews(Danger::Bounded);
    assert_snapshot!(script.run("status ds/agent").await.text, @r#"
    edge/agent on prod-eu: idle, 120 of 120 available
      change   v1.9.0, rev 15
      driver   its controller drives
      budget   down 0 of 12, pulling 0 of 12
      managed  by Argo CD (application edge-agents), which sets template and update strategy back at its next sync, within seconds where it heals itself
               to hold it: argocd app set edge-agents --sync-policy none (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true)
      view     live
    "#);
    assert_snapshot!(script.run("adopt ds/agent --dry-run").await.text, @r#"
    Adopt
      12 nodes may be updated, at most 2 down at a time.
      nodes: ipc-001 ipc-002 ipc-003 ipc-004 ipc-005 ipc-006 ipc-007 ipc-008 … and 4 more
      WARNING: Argo CD (application edge-agents) sets template and update strategy back at its next sync, within seconds where it heals itself. To hold it: argocd app set edge-agents --sync-policy none (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true).
      API: PATCH leases/rolldeck-agent (intent)
    Nothing was changed (--dry-run).
    "#);
    let status: serde_json::Value = serde_json::from_str(&script.run("status ds/agent -o json").await.text).unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&status["managedBy"]).unwrap(), @r#"
    [
      {
        "application": "edge-agents",
        "evidence": [
          "annotation argocd.argoproj.io/tracking-id",
          "field manager argocd-controller"
        ],
        "expects": "sets template and update strategy back at its next sync, within seconds where it heals itself",
        "holding": "argocd app set edge-agents --sync-policy none (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true)",
        "returns": "byItself",
        "tool": "Argo CD"
      }
    ]
    "#);
    let one_shot: serde_json::Value =
        serde_json::from_str(&script.run("adopt ds/agent --dry-run -o json").await.text).unwrap();
    assert_eq!(one_shot["preview"]["warnings"][0], script::argo_cd().warning());
}

#[tokio::test]
async fn status_estimates_when_it_will_be_done_or_says_why_not() {
    let told = |estimate| {
        let script = Script::of(Snapshot { estimate, ..rollout() });
        async move {
            let text = script.run("status ds/agent").await.text;
            let json: serde_json::Value =
                serde_json::from_str(&script.run("status ds/agent -o json").await.text).unwrap();
            let line = text.lines().find(|line| line.trim_start().starts_with("estimate"));
            (line.map(str::to_owned), json["estimate"].to_string())
        }
    };
    let (step, rollout) = (Some(script::minutes(12, 18)), script::minutes(70, 110));
    let (line, json) = told(RolloutEstimate::Known { step, rollout, nodes: 37 }).await;
    assert_eq!(
        line.unwrap().trim_start(),
        "estimate ~12–18m this step, ~1h10–1h50 all, from 37 nodes; holds between steps are not counted"
    );
    assert_snapshot!(json, @r#"{"is":"known","nodes":37,"rollout":{"leastSeconds":4200,"mostSeconds":6600},"step":{"leastSeconds":720,"mostSeconds":1080},"text":"~12–18m this step, ~1h10–1h50 all"}"#);
    let (line, json) = told(RolloutEstimate::Stands { because: Standstill::Paused }).await;
    assert_eq!(line.unwrap().trim_start(), "estimate none while it is paused");
    assert_snapshot!(json, @r#"{"because":"paused","is":"stands","text":"no estimate while it is paused"}"#);
    assert_eq!(told(RolloutEstimate::None).await, (None, "null".to_owned()));
}

#[tokio::test]
async fn history_lists_revisions() {
    assert_snapshot!(Script::of(rollout()).run("history ds/agent").await.text, @r#"
    REVISION      PODS  AGE  IMAGES                               ON NODES                               CHANGE-CAUSE
    15 (current)  38    10m  agent=registry.example/agent:v1.9.0  38 of 120, 1 would pull, 81 not known  ticket 4711
    14            82    3d   agent=registry.example/agent:v1.8.2  82 of 120, 1 would pull, 37 not known
    "#);
}

#[tokio::test]
async fn an_absent_daemonset_is_said_to_be_absent() {
    let mut snapshot = rollout();
    snapshot.daemonset = Presence::Absent;
    let told = Script::of(snapshot).run("pause ds/agent").await;
    assert_eq!(told.code, 5);
    assert_snapshot!(told.error, @r#"
    Error: there is no DaemonSet `agent` in namespace `edge`
    Hint: `rolldeck status -n edge` lists those that are; `-n` names another namespace
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_given_up_soon() {
    let mut snapshot = script::loading();
    script::watches_down(&mut snapshot, "connection refused");
    let told = Script::of(snapshot).run("status ds/agent").await;
    assert_eq!(told.code, 1);
    assert_snapshot!(told.error, @r#"
    Error: cannot read from the cluster of context `prod-eu`: daemonset: connection refused
    Hint: is the API server up, and is this the right context? `--context` picks another
    "#);

    let mut snapshot = script::loading();
    script::watches_down(&mut snapshot, "401 Unauthorized");
    assert!(Script::of(snapshot).run("status ds/agent").await.error.contains("log in again"));
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_is_given_the_time_it_was_given() {
    let told = Script::of(script::loading()).run("status ds/agent --timeout 2m").await;
    assert_eq!(told.code, 3);
    assert_snapshot!(told.error, @r#"
    Error: the view is not complete after 120 s: daemonset loading; revisions loading; pods loading; nodes loading; events loading; lease loading; prewarm loading
    Hint: `--timeout` waits longer
    "#);
}

#[tokio::test]
async fn a_write_is_shown_made_and_followed_by_advice() {
    let mut held = rollout();
    held.phase = Phase::Held;
    held.driver = DriverView::Nobody;
    let script = Script::of(held).previews(Danger::Bounded);
    let told = script.run("step ds/agent --to 10%").await;
    assert_eq!(told.code, 0);
    assert_eq!(script.asked(), [Command::Step(Step::Updated("10%".parse().unwrap()))]);
    assert_snapshot!(told.text, @r#"
    Step
      12 nodes may be updated, at most 2 down at a time.
      nodes: ipc-001 ipc-002 ipc-003 ipc-004 ipc-005 ipc-006 ipc-007 ipc-008 … and 4 more
      API: PATCH leases/rolldeck-agent (intent)
    settled: Step
    nobody drives; held: 38 of 60 nodes that may be updated are, 1 failed; `rolldeck step -n edge ds/agent` lets 60 nodes go, 120 in total.
    Nobody drives: `rolldeck drive -n edge ds/agent` replaces pods, so does the console.
    "#);
}

#[tokio::test]
async fn a_dry_run_asks_for_nothing() {
    let script = Script::of(rollout()).previews(Danger::Serious);
    let told = script.run("undo ds/agent --dry-run").await;
    assert_eq!((told.code, script.asked().len()), (0, 0));
    assert!(told.text.ends_with("Nothing was changed (--dry-run).\n"), "{}", told.text);
}

#[tokio::test]
async fn what_can_break_more_than_the_budget_is_not_done_unasked() {
    let script = Script::of(rollout()).previews(Danger::Beyond);
    let told = script.run("release ds/agent --early").await;
    assert_eq!((told.code, script.asked().len()), (6, 0));
    assert_snapshot!(told.error, @r#"
    Error: this can take down more nodes than the budget, and there is nobody to ask; nothing was changed
    Hint: `--yes` says that it is meant
    "#);
    assert_eq!(script.run("release ds/agent --early --yes").await.code, 0);
    assert_eq!(script.asked().len(), 1);
}

#[tokio::test]
async fn what_is_offered_next_moves_something() {
    let selector: Selector = "canary=true".parse().unwrap();
    let mut done = rollout();
    done.phase = Phase::Held;
    done.plan.selector = Some(selector.clone());
    let none = SelectionDone { selector, selected: 3, updated: 3, moving: 0, lifting_frees: 57 };
    done.plan.next = Some(Err(NoStep::SelectionDone(none)));
    done.counts.failed = 0;
    let told = Script::of(done.clone()).run("status ds/agent").await.text;
    assert!(told.contains("  waits    canary done, 3 of 3 (canary=true)\n"), "{told}");
    let next: Vec<&str> = told.lines().filter(|line| line.trim_start().starts_with("next ")).collect();
    let lift = "  next     rolldeck select --clear --context prod-eu -n edge ds/agent   (lifts the selector, which frees 57 nodes)";
    assert_eq!(next, [lift], "{told}");
    let told = Script::of(done).previews(Danger::None).run("step ds/agent --to 3").await.text;
    assert!(told.ends_with("canary done, 3 of 3 (canary=true); `rolldeck select --clear -n edge ds/agent` lifts the selector, which frees 57 nodes.\nops@bastion-2/4711 drives and carries it out.\n"), "{told}");
}

#[tokio::test]
async fn going_on_past_a_halt_is_not_done_unasked() {
    let mut halted = rollout();
    halted.phase = Phase::Halted;
    halted.halt =
        Some(Halt { number: 1, at: at(0), why: "image not found on 1 node".into(), nodes: vec!["ipc-017".into()] });
    let script = Script::of(halted).previews(Danger::Serious);
    let told = script.run("resume ds/agent").await;
    assert_eq!((told.code, script.asked().len()), (6, 0));
    assert_snapshot!(told.error, @r#"
    Error: this accepts the failures that halted it (image not found on 1 node), and there is nobody to ask; nothing was changed
    Hint: `--yes` says that it is meant
    "#);
    assert_eq!(script.run("resume ds/agent --yes").await.code, 0);
    assert_eq!(script.asked(), [Command::Resume]);
}

#[tokio::test]
async fn a_refusal_says_that_nothing_happened() {
    let script = Script::of(rollout()).refuses(Refusal::DrivenBy { holder: "ops@bastion-2/7".into() });
    let told = script.run("set-image ds/agent agent=registry.example/agent:v3").await;
    assert_eq!(told.code, 7);
    assert_snapshot!(told.error, @r#"
    Error: ops@bastion-2/7 drives this rollout; take over first
    Hint: `rolldeck drive --take-over` asks them to hand over, and succeeds a console that is gone
    "#);
}

#[tokio::test]
async fn a_drive_tells_its_changes_and_ends_with_the_rollout() {
    let mut idle = script::node_moves("ipc-020", NodeState::Updated);
    idle.phase = Phase::Idle;
    let script = Script::of(script::held_by_nobody())
        .then(script::driving())
        .then(script::node_moves("ipc-020", NodeState::Terminating))
        .then(script::node_moves("ipc-020", NodeState::Updated))
        .then(idle);
    let told = script.run("drive ds/agent --image agent=registry.example/agent:v2.0.0 --to 4 --max-pulling 1").await;
    assert_eq!(told.code, 0, "{}", told.error);
    assert_snapshot!(told.text, @r#"
    2026-11-18T11:16:40Z rev 14 → 15 edge/agent: v1.8.2 → v1.9.0
    2026-11-18T11:16:40Z nobody drives
    2026-11-18T11:16:40Z held, 38 of 120 updated
    2026-11-18T11:16:40Z step 2 of 3: 60 may be updated, partition 60
    2026-11-18T11:16:40Z down 2 of 2: 1 ours, 1 suspect + 3 not ours, pulling 2 of 2
    2026-11-18T11:16:40Z settled: Set image
    2026-11-18T11:16:40Z settled: Step
    2026-11-18T11:16:40Z settled: Drive
    2026-11-18T11:16:50Z you drive
    2026-11-18T11:16:50Z running, 38 of 120 updated
    2026-11-18T11:17:00Z ipc-020: terminating
    2026-11-18T11:17:00Z ipc-020: updated, 38 of 120
    2026-11-18T11:17:00Z idle, 38 of 120 updated
    "#);
    let asked = script.asked();
    assert!(matches!(
        asked.as_slice(),
        [Command::Tuned { .. }, Command::Step(_), Command::Drive(Takeover::IfFree), ..]
    ));
    assert_eq!(asked.last(), Some(&Command::StopDriving));
}

#[tokio::test]
async fn a_drive_does_not_leave_when_its_strategy_is_set_back() {
    let drifted = |alarm: Alarm, phase: Phase| {
        let mut snapshot = script::driving();
        (snapshot.alarms, snapshot.phase) = (vec![alarm], phase);
        snapshot
    };
    let by = || Some("argocd-controller of Argo CD (application edge-agents)".into());
    let holding = || script::argo_cd().holding().map(Into::into);
    let mut idle = script::driving();
    idle.phase = Phase::Idle;
    let script = Script::of(script::held_by_nobody())
        .then(drifted(Alarm::StrategyDrifted { by: by(), enforced: 0, holding: holding() }, Phase::Native))
        .then(drifted(Alarm::OnDeleteEnforced { by: by(), times: 1, holding: holding() }, Phase::Running))
        .then(idle);
    let told = script.run("drive ds/agent --on-drift enforce").await;
    assert_eq!(told.code, 0, "{}", told.error);
    let tail: Vec<&str> = told.text.lines().skip(6).collect();
    assert_snapshot!(tail.join("\n"), @r#"
    2026-11-18T11:16:40Z settled: Drive
    2026-11-18T11:16:50Z you drive
    2026-11-18T11:16:50Z the update strategy was changed back by argocd-controller of Argo CD (application edge-agents): its controller replaces pods by itself; to hold it: argocd app set edge-agents --sync-policy none (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true)
    2026-11-18T11:16:50Z rolled by its controller, 38 of 120 updated
    2026-11-18T11:16:50Z the update strategy was changed back by argocd-controller of Argo CD (application edge-agents) once lately: OnDelete is set again; to hold it: argocd app set edge-agents --sync-policy none (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true)
    2026-11-18T11:16:50Z running, 38 of 120 updated
    2026-11-18T11:16:50Z idle, 38 of 120 updated
    "#);
}

#[tokio::test]
async fn a_drive_that_was_killed_is_carried_on_by_the_same_command_line() {
    let mut idle = script::driving();
    idle.phase = Phase::Idle;
    let script = Script::of(script::held_by_nobody()).then(idle);
    let told = script.run("drive ds/agent --image agent=registry.example/agent:v1.9.0").await;
    assert_eq!(told.code, 0, "{}", told.error);
    assert_eq!(script.asked(), [Command::Drive(Takeover::IfFree), Command::StopDriving]);
}

#[tokio::test]
async fn a_drive_to_where_everything_is_has_nothing_to_do() {
    let mut idle = script::held_by_nobody();
    (idle.phase, idle.started_at) = (Phase::Idle, None);
    idle.counts.available = idle.counts.nodes;
    let script = Script::of(idle);
    let told = script.run("drive ds/agent --image agent=registry.example/agent:v1.9.0").await;
    assert_eq!((told.code, script.asked().len()), (0, 0));
}

#[tokio::test]
async fn a_drive_that_halts_exits_with_its_own_code() {
    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    halted.halt =
        Some(Halt { number: 1, at: at(0), why: "image not found on 1 node".into(), nodes: vec!["ipc-017".into()] });
    halted.alarms = vec![Alarm::Halted { why: "image not found on 1 node".into() }];
    let script = Script::of(script::held_by_nobody()).then(halted.clone());
    let told = script.run("drive ds/agent").await;
    assert_eq!(told.code, Exit::Halted.code());
    let halt_advice = "failed on ipc-017: `rolldeck undo -n edge ds/agent` rolls back, `rolldeck resume -n edge ds/agent` \
                   goes on past it";
    assert!(told.text.contains("image not found on 1 node") && told.text.contains(halt_advice), "{}", told.text);
    let told = Script::of(halted).run("status ds/agent").await;
    for next in ["next     rolldeck undo --context prod-eu -n edge ds/agent ", "next     rolldeck resume --context"] {
        assert!(told.text.contains(next), "{}", told.text);
    }
}

#[tokio::test]
async fn a_drive_leaves_when_its_step_is_done() {
    let mut held = script::driving();
    held.phase = Phase::Held;
    let script = Script::of(script::held_by_nobody()).then(script::driving()).then(held);
    let told = script.run("drive ds/agent --until held").await;
    assert_eq!((told.code, script.asked().last()), (0, Some(&Command::StopDriving)));
}

#[tokio::test]
async fn a_drive_does_not_push_in_front_of_another() {
    let mut theirs = rollout();
    theirs.driver = DriverView::Other { holder: "ops@bastion-2/7".into(), seen_at: at(0) };
    let script = Script::of(theirs.clone());
    let told = script.run("drive ds/agent --to 50%").await;
    assert_eq!((told.code, script.asked().len()), (7, 0));

    let script = Script::of(script::held_by_nobody()).then(script::driving()).then(theirs);
    let told = script.run("drive ds/agent").await;
    assert_eq!(told.code, 7);
    assert!(told.error.contains("ops@bastion-2/7 took over"), "{}", told.error);
}

#[tokio::test]
async fn a_drive_waits_until_it_shows_whether_the_driver_is_alive() {
    let holder = Str::from("ops@bastion-2/7");
    let mut named = script::held_by_nobody();
    named.driver = DriverView::Named { holder: holder.clone(), renewed_at: Some(at(581)) };
    let [mut alive, mut lost] = [named.clone(), named.clone()];
    alive.driver = DriverView::Other { holder: holder.clone(), seen_at: at(0) };
    lost.driver = DriverView::Lost { holder, seen_at: at(0) };

    let script = Script::of(named.clone()).then(alive);
    let told = script.run("drive ds/agent").await;
    assert_eq!((told.code, script.asked().len()), (7, 0), "{}", told.text);
    assert!(told.text.contains("ops@bastion-2 drove 19s ago by its clock"), "{}", told.text);

    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    let script = Script::of(named).then(lost).then(halted);
    let told = script.run("drive ds/agent").await;
    assert_eq!((told.code, script.asked().first()), (4, Some(&Command::Drive(Takeover::IfFree))), "{}", told.text);
}

#[tokio::test(start_paused = true)]
async fn a_drive_that_runs_out_of_time_stands_down() {
    let script = Script::of(script::held_by_nobody()).then(script::driving());
    let told = script.run("drive ds/agent --timeout 5m").await;
    assert_eq!((told.code, script.asked().last()), (3, Some(&Command::StopDriving)));
}

#[tokio::test]
async fn a_crowd_that_moves_at_once_makes_one_sentence() {
    let many = |state: NodeState| {
        let mut snapshot = script::driving();
        snapshot.nodes = (0..30).map(|nth| node(&format!("ipc-{nth:03}"), state)).collect();
        snapshot
    };
    let mut end = many(NodeState::Updated);
    end.phase = Phase::Idle;
    end.counts.available = end.counts.nodes;
    let told = Script::of(many(NodeState::Outdated)).then(end).run("status ds/agent --watch").await;
    assert!(told.text.contains("30 nodes: outdated → updated"), "{}", told.text);
    assert!(!told.text.contains("ipc-001"), "{}", told.text);
}

#[tokio::test]
async fn changes_are_lines_of_json() {
    let mut failed = script::driving();
    failed.phase = Phase::Halted;
    failed.nodes = [cause(node("ipc-017", NodeState::Failed))].into();
    let told = Script::of(script::driving()).then(failed).run("status ds/agent --watch -o json").await;
    assert_eq!(told.code, 4);
    let lines: Vec<serde_json::Value> = told.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let node = lines.iter().find(|line| line["topic"] == "node").unwrap();
    assert_eq!(node["node"]["name"], "ipc-017");
    assert_eq!(node["node"]["state"], "failed");
    assert_eq!(node["text"], "ipc-017: failed: image not found (manifest unknown)");
}

#[tokio::test]
async fn a_pause_says_by_whom_and_why() {
    let mut paused = rollout();
    paused.phase = Phase::Paused(Paused { by: "ops@a".into(), at: at(0), why: Some("link down".into()) });
    let told = Script::of(paused).run("status ds/agent").await;
    assert!(
        told.text.starts_with("edge/agent on prod-eu: paused by ops@a 10m ago: link down, 38 of 120"),
        "{}",
        told.text
    );
}

#[tokio::test]
async fn a_view_of_what_its_controller_does() {
    let mut native = rollout();
    native.phase = Phase::Native;
    native.strategy = StrategyKind::RollingUpdate;
    native.driver = DriverView::Nobody;
    native.counts = Counts { nodes: 3, updated: 3, ..Counts::default() };
    let told = Script::of(native).run("status ds/agent").await;
    assert_eq!(told.code, 0);
    assert!(told.text.contains("driver   its controller drives\n"), "{}", told.text);
}

#[tokio::test]
async fn ascii_is_ascii() {
    let told = Script::of(rollout()).run("status ds/agent --nodes --ascii").await;
    assert!(told.text.is_ascii() && told.text.contains("v1.8.2 -> v1.9.0"), "{}", told.text);
}

#[tokio::test]
async fn the_fleet_is_a_table() {
    let script = Script::of(rollout());
    assert_snapshot!(script.run("status").await.text, @r#"
    NAMESPACE  DAEMONSET    DESIRED  UPDATED  AVAILABLE  STRATEGY         STATE                        DRIVEN BY
    edge       agent        120      38       115        OnDelete (ours)  rolling out                  ops@bastion-2
    edge       log-shipper  120      38       115        OnDelete (ours)  pre-warm paused, up to date  controller
    "#);
    assert_snapshot!(script.json("status -o json").await);
}

#[test]
fn completions_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let told = tokio::runtime::Runtime::new()
            .unwrap()
            .block_on(Script::of(rollout()).run(&format!("completions {shell}")));
        assert!(told.text.contains("set-image"), "{shell}");
    }
}
