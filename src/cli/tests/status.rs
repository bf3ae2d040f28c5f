//! `status`: one rollout, the fleet, and what changes.

use super::script;
use super::script::{Script, at, cause, node, rollout};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::command::Command;
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::{EstimateBlocker, RolloutEstimate};
use crate::engine::model::facts::{Severity, StrategyKind};
use crate::engine::model::node::NodeState;
use crate::engine::model::pace::{Flap, PaceReason, PacedSite, Throughput};
use crate::engine::model::presence::Presence;
use crate::engine::model::record::{Direction, OURSELVES, Paused};
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::model::wait::{DistanceView, Wait};
use crate::engine::report::snapshot::{Counts, NodeView, Phase, Snapshot};
use insta::assert_snapshot;
use std::time::Duration;

#[tokio::test]
async fn status_answers_the_four_questions() {
    let script = Script::of(rollout());
    assert_snapshot!(script.run("status ds/agent --nodes").await.text, @r#"
    edge/agent on prod-eu: running, 38 of 120 updated
      change   v1.8.2 → v1.9.0, rev 14 → 15
      driver   ops@bastion-2/4711 drives
      budget   down 2 of 2: 1 ours, 1 suspect + 3 by themselves, pull slots 2 of 2
      plan     step 2 of 3: 60 may be updated, partition 60
      gates    halts once 1 node has failed (pod not available in 10m, more than 2 restarts, or node down for 5m); a new pod has to stay ready for 10s; pauses where somebody changes the update strategy
      strategy OnDelete (ours), was RollingUpdate 10%
      view     live
      failed   1 image not found: ipc-017
      down     1 suspect: ipc-031

    NODE     STATE     REV  IMAGE    POD            RESTARTS  POD-AGE  WHY
    ipc-017  failed    15   present  agent-ipc-017  0         5m       image not found
    ipc-031  suspect   15   present  agent-ipc-031  0         5m       NotReady for 1m, after its update
    ipc-018  pulling   15   present  agent-ipc-018  0         5m
    ipc-020  outdated  14   unknown  agent-ipc-020  0         5m       budget: 2 of 2 taken
    ipc-001  updated   15   present  agent-ipc-001  0         5m
    "#);
}

/// A script tells a roll back from a rollout, also while it is paused; the phase is the word that people read.
#[tokio::test]
async fn json_tells_a_roll_back_from_a_rollout() {
    let paused = Phase::Paused(Paused::new("ada@bastion".into(), at(590), None));
    for (phase, direction, words, way) in [
        (Phase::Running, Direction::Forward, "running", "forward"),
        (Phase::Running, Direction::Back, "rolling back", "back"),
        (paused, Direction::Back, "paused", "back"),
    ] {
        let script = Script::of(Snapshot { phase, direction, ..rollout() });
        let json: serde_json::Value = serde_json::from_str(&script.json("status ds/agent -o json").await).unwrap();
        assert_eq!((&json["phase"], &json["plan"]["direction"]), (&words.into(), &way.into()));
        let text = script.run("status ds/agent").await.text;
        assert!(text.lines().next().is_some_and(|line| line.contains(words)), "{text}");
    }
}

/// Whoever may create Events can write one that claims to be of rolldeck.
#[tokio::test]
async fn what_only_an_event_says_is_marked_as_reported() {
    let reported = RolloutEventKind::Reported {
        reason: "RolloutResumed".into(),
        identity: "root@boss/1f00c3a9".into(),
        event: "agent.17".into(),
        severity: Severity::Normal,
    };
    let event = RolloutEvent {
        at: at(590),
        by: None,
        kind: reported,
        outcome: EventOutcome::Done,
        command: None,
        said: Some("resumed: all is well".into()),
        visibility: Visibility::Timeline,
        revision: None,
    };
    // What a driver did by itself ends in its name, which is not told twice.
    let by_itself = RolloutEvent { said: Some("complete (driven by root@boss)".into()), ..event.clone() };
    let script = Script::of(Snapshot { timeline: [event, by_itself].into(), ..rollout() });
    let text = script.run("status ds/agent").await.text;
    assert!(text.contains(" root@boss reported: resumed: all is well"), "{text}");
    assert!(text.contains(" ago  reported: complete (driven by root@boss)"), "{text}");
    assert!(!text.contains("root@boss: "), "{text}");
    assert_eq!(text.matches("           reported: an Event says so, and anybody").count(), 1, "{text}");
    let json: serde_json::Value = serde_json::from_str(&script.json("status ds/agent -o json").await).unwrap();
    let line = &json["timeline"][0];
    assert_eq!((&line["by"], &line["reportedBy"]), (&serde_json::Value::Null, &"root@boss/1f00c3a9".into()), "{line}");
}

/// Who drives is told also where that was long ago, and the ages are in line.
#[tokio::test]
async fn what_happened_lately_says_who_drives() {
    let event = |secs: i64, kind: RolloutEventKind, said: &str| RolloutEvent {
        at: at(secs),
        by: Some("ops@bastion-2".into()),
        kind,
        outcome: EventOutcome::Done,
        command: None,
        said: Some(said.into()),
        visibility: Visibility::Cluster,
        revision: None,
    };
    let resumed = |secs| event(secs, RolloutEventKind::Command(Command::Resume), "resumed");
    let drives = event(-3000, RolloutEventKind::LeaseAcquired, "");
    let complete = event(-3600, RolloutEventKind::Complete { nodes: 120, back: false, revision: Some(15) }, "");
    let mut timeline = vec![complete, drives];
    timeline.extend([-2900, 30, 595, 596, 597].map(resumed));
    let recent = |text: &str| {
        let lines =
            text.lines().skip_while(|line| !line.starts_with("  recent")).take_while(|line| line.contains(" ago "));
        lines.collect::<Vec<_>>().join("\n")
    };
    let script = Script::of(Snapshot { timeline: timeline.clone().into(), ..rollout() });
    assert_snapshot!(recent(&script.run("status ds/agent").await.text), @r"
      recent    3s ago  ops@bastion-2: resumed
                4s ago  ops@bastion-2: resumed
                5s ago  ops@bastion-2: resumed
                9m ago  ops@bastion-2: resumed
               58m ago  ops@bastion-2: resumed
                1h ago  ops@bastion-2: drives the rollout now
    ");
    // Events come in the order in which they are listed, which is not when they happened.
    let listed: Vec<_> = [3, 1, 0, 6, 5, 4, 2].into_iter().map(|nth: usize| timeline[nth].clone()).collect();
    let unsorted = Script::of(Snapshot { timeline: listed.into(), ..rollout() });
    let both = (unsorted.run("status ds/agent").await.text, script.run("status ds/agent").await.text);
    assert_eq!(recent(&both.0), recent(&both.1));
    timeline.remove(1);
    let script = Script::of(Snapshot { timeline: timeline.into(), ..rollout() });
    assert_eq!(recent(&script.run("status ds/agent").await.text).lines().count(), 5, "nothing tells who drives");
}

/// Pods that a colleague deletes one after the other are told in one line, each with its node.
#[tokio::test]
async fn pods_that_others_deleted_together_are_told_together() {
    let event = |secs: i64, node: &str, failed: Option<&str>| RolloutEvent {
        at: at(secs),
        by: None,
        kind: RolloutEventKind::Reported {
            reason: "RolloutPodTakenAway".into(),
            identity: "ops@bastion-2/4711".into(),
            event: format!("agent.{node}").into(),
            severity: Severity::Warning,
        },
        outcome: EventOutcome::Done,
        command: None,
        said: Some({
            let failed = failed.map(Into::into);
            let [node, pod, uid] = [node, "agent-x", "u"].map(Into::into);
            RolloutEventKind::PodTakenAway { node, updated: false, pod, uid, failed, disruption: None }
                .to_string()
                .into()
        }),
        visibility: Visibility::Timeline,
        revision: None,
    };
    let deleted = ["n4", "n2", "n9", "n1"].into_iter().zip(580..).map(|(node, secs)| event(secs, node, None));
    let earlier = event(300, "n7", None);
    let timeline: Vec<_> = [earlier].into_iter().chain(deleted).chain([event(590, "n5", Some("Evicted"))]).collect();
    let script = Script::of(Snapshot { timeline: timeline.into(), ..rollout() });
    let text = script.run("status ds/agent").await.text;
    let recent: Vec<&str> = text.lines().filter(|line| line.contains("ops@bastion-2 reported: ")).collect();
    assert_snapshot!(recent.join("\n"), @r"
    recent   10s ago  ops@bastion-2 reported: the pod of n5 failed (Evicted) and its controller replaces it: its next pod is at the target, whatever the rollout keeps
             17s ago  ops@bastion-2 reported: the pods of 4 nodes (n4, n2, n9, n1) were deleted, evicted or relabelled by somebody else: their next pods are at the target, whatever the rollout keeps
              5m ago  ops@bastion-2 reported: the pod of n7 was deleted, evicted or relabelled by somebody else: its next pod is at the target, whatever the rollout keeps
    ");
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
      budget   down 2 of 2: 1 ours, 1 suspect + 3 by themselves, pull slots 2 of 2
      images   present on 38 of 120, 2 pulling, 1 failed, 79 not known
               registry.example/agent:v1.9.0, 412 MB, took ~60s on 9 nodes: hall-a ~60s
               slow: ipc-037: 6× the median of its site (370s for v1.9.0)
      plan     step 2 of 3: 60 may be updated, partition 60
      gates    halts once 1 node has failed (pod not available in 10m, more than 2 restarts, or node down for 5m); a new pod has to stay ready for 10s; pauses where somebody changes the update strategy
      strategy OnDelete (ours), was RollingUpdate 10%
      view     live
      failed   1 cause not known: ipc-017

    NODE     IMAGE    IMAGES                                        FOR  EXPECTED            WHY
    ipc-017  failed   agent=v1.9.0 failed                           -    -                   failed: disk full: write /var/lib/containerd/7: no space left on device
    ipc-018  pulling  agent=v1.9.0 pulling                          40s  ~60s, from 7 peers  pulling, 40s of est. 60s (7 peers)
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
    let standing = async |edit: fn(&mut Snapshot)| {
        let mut snapshot = rollout();
        snapshot.counts.failed = 0;
        edit(&mut snapshot);
        Script::of(snapshot).run("status ds/agent").await.code
    };
    assert_eq!(standing(|_| {}).await, 3);
    assert_eq!(standing(|snapshot| snapshot.phase = Phase::Held).await, 3);
    assert_eq!(standing(|snapshot| snapshot.phase = Phase::Complete).await, 0);
    let idle = |snapshot: &mut Snapshot| {
        snapshot.phase = Phase::Idle;
        snapshot.counts.available = snapshot.counts.nodes;
    };
    assert_eq!(standing(idle).await, 0);
    assert_eq!(standing(|snapshot| snapshot.phase = Phase::Idle).await, 3, "nodes are down");
    assert_eq!(standing(|snapshot| snapshot.phase = Phase::Halted).await, 4);
    fn paused_by(snapshot: &mut Snapshot, by: &str) {
        snapshot.phase = Phase::Paused(Paused::new(by.into(), at(0), None));
    }
    assert_eq!(standing(|snapshot| paused_by(snapshot, "ops@a")).await, 3);
    assert_eq!(standing(|snapshot| paused_by(snapshot, OURSELVES)).await, 4, "an operator has to decide");
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

/// The same words as in the text: `its controller drives`, and when the rollout to the present target began.
#[tokio::test]
async fn json_says_who_drives_and_since_when_as_the_text_does() {
    let json = async |edit: fn(&mut Snapshot)| {
        let mut snapshot = Snapshot { driver: DriverView::Nobody, ..rollout() };
        edit(&mut snapshot);
        let json: serde_json::Value =
            serde_json::from_str(&Script::of(snapshot).run("status ds/agent -o json").await.text).unwrap();
        (json["driver"]["state"].clone(), json["startedAt"].clone())
    };
    let began = rollout().started_at.unwrap().to_rfc3339();
    let (driver, started_at) = json(|_| {}).await;
    assert_eq!(driver, "nobody");
    assert!(started_at.as_str().is_some_and(|at| at[..19] == began[..19]), "{started_at} {began}");
    let (driver, started_at) = json(|snapshot| {
        snapshot.strategy = StrategyKind::RollingUpdate;
        // Another image was set after one that failed.
        snapshot.to.as_mut().unwrap().created_at = Some(at(500));
    })
    .await;
    assert_eq!(driver, "controller");
    assert!(started_at.as_str().is_some_and(|started| started[..19] == at(500).to_rfc3339()[..19]), "{started_at}");
}

#[tokio::test]
async fn how_far_away_the_api_server_is_and_what_is_waited_for() {
    let until = at(600) + Duration::from_millis(5_500);
    let wait = Wait::Rate { per_sec: 20, waiting: 110, until };
    let distance = DistanceView {
        round_trip: Some(Duration::from_millis(620)),
        measured_at: None,
        silent: false,
        pause_within: Some(Duration::from_millis(2_300)),
    };
    let script = Script::of(Snapshot { distance, waits: Some(wait), ..rollout() });
    let text = script.run("status ds/agent").await.text;
    let output: Vec<&str> = text.lines().filter(|line| line.contains("waits") || line.contains("API")).collect();
    assert_snapshot!(output.join("\n"), @r#"
      waits    rate: 20 deletions/s, 110 wait, 6s left
      API      answers in 620 ms; a pause from elsewhere takes effect within 2.3 s
    "#);
    let status = script.json("status ds/agent -o json").await;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["apiRoundTripMillis"], &status["pauseTakesEffectWithinMillis"]), (&620.into(), &2_300.into()));
    assert_eq!(
        (&status["waits"]["for"], &status["waits"]["waiting"], &status["waits"]["text"]),
        (&"rate".into(), &110.into(), &"rate: 20 deletions/s".into())
    );
}

#[tokio::test]
async fn status_estimates_when_it_will_be_done_or_says_why_not() {
    let output = |estimate| {
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
    let (line, json) =
        output(RolloutEstimate::Known { step, rollout, of_selector: false, nodes: 38, unmeasured_sites: 0 }).await;
    assert_eq!(
        line.unwrap().trim_start(),
        "estimate step in ~12–18m, all in ~1h10–1h50, with at most 2 down and 2 pulling at a time, from 38 nodes; holds between steps are not counted"
    );
    assert_snapshot!(json, @r#"{"is":"known","nodes":38,"rollout":{"leastSeconds":4200,"mostSeconds":6600},"step":{"leastSeconds":720,"mostSeconds":1080},"text":"step in ~12–18m, all in ~1h10–1h50"}"#);
    let (line, _) =
        output(RolloutEstimate::Known { step: None, rollout, of_selector: false, nodes: 24, unmeasured_sites: 2 })
            .await;
    assert_eq!(
        line.unwrap().trim_start(),
        "estimate all in ~1h10–1h50 or more, with at most 2 down and 2 pulling at a time, from 24 of 38 updated nodes (of each site the last 24 that neither restarted nor lost readiness); holds between steps are not counted; no node of 2 sites is done yet, which may be slower"
    );
    let (line, json) = output(RolloutEstimate::Blocked { by: EstimateBlocker::Paused }).await;
    assert_eq!(line.unwrap().trim_start(), "estimate none while it is paused");
    assert_snapshot!(json, @r#"{"by":"paused","is":"blocked","text":"no estimate while it is paused"}"#);
    assert_eq!(output(RolloutEstimate::None).await, (None, "null".to_owned()));
}

#[tokio::test]
async fn an_absent_daemonset_is_said_to_be_absent() {
    let mut snapshot = rollout();
    snapshot.daemonset = Presence::Absent;
    let output = Script::of(snapshot).run("pause ds/agent").await;
    assert_eq!(output.code, 5);
    assert_snapshot!(output.error, @r#"
    Error: there is no DaemonSet `agent` in namespace `edge`
    Hint: `rolldeck status --context prod-eu -n edge` lists those of this namespace; with `-A` instead of `-n` those of all namespaces
    "#);
}

#[tokio::test]
async fn of_an_absent_daemonset_it_is_said_where_one_is() {
    let mut snapshot = rollout();
    snapshot.daemonset = Presence::Absent;
    let script = Script::of(snapshot).also_in("factory");
    for line in ["status ds/agent", "pause ds/agent", "drive ds/agent", "history agent", "diff agent", "diagnose agent"]
    {
        let output = script.run(line).await;
        assert_eq!(output.code, 5, "{line}");
        assert!(
            output.error.contains("\nHint: there is one in namespace `factory`: `-n factory`\n"),
            "{}",
            output.error
        );
    }
    let mut snapshot = rollout();
    snapshot.daemonset = Presence::Absent;
    let hidden = Script::of(snapshot).also_in("factory").hides_other_namespaces().run("status ds/agent").await;
    assert_eq!((hidden.code, hidden.error.matches("Hint:").count()), (5, 1), "{}", hidden.error);
    let revision = Script::of(rollout()).also_in("factory").run("history agent --revision 99").await;
    assert_eq!(revision.code, 5);
    assert!(!revision.error.contains("factory"), "{}", revision.error);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_given_up_soon() {
    let mut snapshot = script::loading();
    script::watches_down(&mut snapshot, "connection refused");
    let output = Script::of(snapshot).run("status ds/agent").await;
    assert_eq!(output.code, 1);
    assert_snapshot!(output.error, @r#"
    Error: cannot read from the cluster of context `prod-eu`: daemonset: connection refused
    Hint: is the API server up, and is this the right context? `--context` picks another
    "#);

    let mut snapshot = script::loading();
    script::watches_down(&mut snapshot, "401 Unauthorized");
    assert!(Script::of(snapshot).run("status ds/agent").await.error.contains("log in again"));
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_is_given_the_time_it_was_given() {
    let output = Script::of(script::loading()).run("status ds/agent --timeout 2m").await;
    // Not even the DaemonSet was read: that is no rollout that is not complete yet.
    assert_eq!(output.code, 1);
    assert_snapshot!(output.error, @r#"
    Error: cannot read from the cluster of context `prod-eu`: it did not answer within 120 s, so nothing was done
    Hint: is the API server up, and is this the right context? `--context` picks another
    Hint: `--timeout` waits longer
    "#);
    let partly = Snapshot { daemonset: Presence::Present, ..script::loading() };
    let output = Script::of(partly).run("status ds/agent --timeout 2m").await;
    assert_eq!(output.code, 3);
    assert!(output.error.contains("not everything was loaded within 120 s: "), "{}", output.error);
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
    let output = Script::of(many(NodeState::Outdated)).then(end).run("status ds/agent --watch").await;
    assert!(output.text.contains("30 nodes: outdated → updated"), "{}", output.text);
    assert!(!output.text.contains("ipc-001"), "{}", output.text);
}

#[tokio::test]
async fn changes_are_lines_of_json() {
    let mut failed = script::driving();
    failed.phase = Phase::Halted;
    failed.nodes = [cause(node("ipc-017", NodeState::Failed))].into();
    let output = Script::of(script::driving()).then(failed).run("status ds/agent --watch -o json").await;
    assert_eq!(output.code, 4);
    let lines: Vec<serde_json::Value> = output.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let node = lines.iter().find(|line| line["topic"] == "node").unwrap();
    assert_eq!(node["node"]["name"], "ipc-017");
    assert_eq!(node["node"]["state"], "failed");
    assert_eq!(node["text"], "ipc-017: failed: image not found (manifest unknown)");
}

#[tokio::test]
async fn a_pause_says_by_whom_and_why() {
    let mut paused = rollout();
    paused.phase = Phase::Paused(Paused::new("ops@a".into(), at(0), Some("link down".into())));
    let output = Script::of(paused).run("status ds/agent").await;
    assert!(
        output.text.starts_with("edge/agent on prod-eu: paused by ops@a 10m ago: \"link down\", 38 of 120"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn a_view_of_what_its_controller_does() {
    let mut native = rollout();
    native.phase = Phase::Native;
    native.strategy = StrategyKind::RollingUpdate;
    native.driver = DriverView::Nobody;
    native.counts = Counts { nodes: 3, updated: 3, ..Counts::default() };
    let output = Script::of(native).run("status ds/agent").await;
    assert_eq!(output.code, 0);
    assert!(output.text.contains("driver   its controller drives\n"), "{}", output.text);
}

#[tokio::test]
async fn ascii_is_ascii() {
    let output = Script::of(rollout()).run("status ds/agent --nodes --ascii").await;
    assert!(output.text.is_ascii() && output.text.contains("v1.8.2 -> v1.9.0"), "{}", output.text);
}

#[tokio::test]
async fn the_fleet_is_a_table() {
    let script = Script::of(rollout());
    assert_snapshot!(script.run("status").await.text, @r#"
    NAMESPACE  DAEMONSET    DESIRED  UP-TO-DATE  AVAILABLE  STRATEGY         STATE                           DRIVEN BY
    edge       agent        120      38          115        OnDelete (ours)  running, 2 failing: crash loop  ops@bastion-2
    edge       log-shipper  120      38          115        OnDelete (ours)  pre-warm paused, idle           controller
    "#);
    assert_snapshot!(script.json("status -o json").await);
}

/// A pod that starts within its time is no trouble; one that was ready already is.
#[tokio::test]
async fn a_pod_that_starts_in_time_is_not_listed_as_trouble() {
    let starts = |lost_readiness| {
        let not_ready = Some(Box::new(Cause { kind: CauseKind::NotReady, container: None, message: None }));
        NodeView { cause: not_ready, lost_readiness, ..node("ipc-020", NodeState::Starting) }
    };
    let script = |node: NodeView| Script::of(Snapshot { nodes: [node].into(), ..rollout() });
    let in_time = script(starts(false)).run("status ds/agent").await.text;
    let lost = script(starts(true)).run("status ds/agent").await.text;
    assert!(!in_time.contains("trouble"), "{in_time}");
    assert!(lost.contains("  trouble  1 not ready: ipc-020\n"), "{lost}");
}

/// A mistyped namespace looks like one where nothing runs.
#[tokio::test]
async fn an_empty_namespace_is_told_with_those_that_were_meant() {
    for (namespace, said) in [
        ("egde", "no DaemonSets in namespace egde: did you mean `edge`?\n"),
        ("default", "no DaemonSets in namespace default: there are some in edge\n"),
    ] {
        let output = Script::of(rollout()).run(&format!("status -n {namespace}")).await;
        assert_eq!((output.text.as_str(), output.code), (said, 0));
    }
    let hidden = Script::of(rollout()).hides_other_namespaces().run("status -n egde").await;
    assert_eq!(hidden.text, "no DaemonSets in namespace egde\n");
}
