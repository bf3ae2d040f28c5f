//! What is offered next: the same by whichever command somebody looks.

use std::time::Duration;

use super::script::{self, Script, at, driving, held_by_nobody, node, rollout};
use crate::engine::model::command::Refusal;
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::{By, Direction, OURSELVES, Paused};
use crate::engine::model::step_ahead::{NoStep, SelectionDone};
use crate::engine::report::snapshot::{Alarm, Counts, NodeView, Phase, PlanView, Snapshot};
use insta::assert_snapshot;

/// A roll back that nobody drives.
fn going_back() -> Snapshot {
    let mut snapshot = held_by_nobody();
    snapshot.direction = Direction::Back;
    snapshot.plan.next = Some(Err(NoStep::GoingBack));
    snapshot.nodes = [NodeView { hold: Some(Hold::NobodyDrives), ..node("ipc-020", NodeState::Outdated) }].into();
    snapshot
}

/// Before the first step: the partition lets nobody go.
fn not_begun() -> Snapshot {
    let mut snapshot = held_by_nobody();
    (snapshot.plan.allowed, snapshot.plan.keep, snapshot.plan.step) = (0, 120, None);
    snapshot.counts = Counts { nodes: 120, available: 120, ..Counts::default() };
    snapshot
}

/// Somebody else changed the template.
fn changed_by_others(phase: Phase) -> Snapshot {
    let alarm = Alarm::TemplateChanged {
        by: Some("kubectl-set".into()),
        change: ": agent v1.9.0 → v2.0.0".into(),
        suspend_hint: None,
        elsewhere: Vec::new(),
    };
    Snapshot { phase, alarms: vec![alarm], ..held_by_nobody() }
}

/// One canary is cordoned, the others are updated.
fn cordoned(names: &[&str]) -> Snapshot {
    let selector = "canary=true".parse().unwrap();
    let selected = u32::try_from(names.len()).unwrap();
    let done = SelectionDone { selector, selected, updated: 0, moving: 0, in_line: 0, lifting_frees: 0 };
    let of = |name: &&str| NodeView {
        hold: Some(Hold::Cordoned),
        labels: [("canary", "true")].into_iter().collect(),
        ..node(name, NodeState::Outdated)
    };
    let nodes: Vec<NodeView> = names.iter().map(of).collect();
    let plan = PlanView { next: Some(Err(NoStep::SelectionDone(done))), ..rollout().plan };
    Snapshot { plan, nodes: nodes.into(), ..held_by_nobody() }
}

/// The commands after `next`, as `status` and the answer of a one-shot command have them.
fn next(text: &str) -> Vec<String> {
    let of =
        |line: &str| line.trim_start().strip_prefix("next").map(|next| next.trim_start_matches(':').trim().to_owned());
    text.lines().filter_map(of).collect()
}

#[tokio::test]
async fn status_and_one_shot_commands_offer_the_same() {
    let silent = || DriverView::Unconfirmed {
        holder: "ops@bastion-2/7".into(),
        renewed_at: Some(rollout().at - Duration::from_secs(60)),
    };
    let by_ada = || Paused::new("ada".into(), at(420), None);
    for (snapshot, offers) in [
        (going_back(), vec!["drive"]),
        (not_begun(), vec!["step", "drive"]),
        (changed_by_others(Phase::Paused(by_ada())), vec!["resume", "undo"]),
        (changed_by_others(Phase::Preparing), vec!["resume", "undo"]),
        (Snapshot { phase: Phase::Preparing, driver: silent(), ..held_by_nobody() }, vec!["drive"]),
        (Snapshot { phase: Phase::Complete, ..held_by_nobody() }, vec!["drive", "release"]),
        (Snapshot { phase: Phase::Complete, driver: silent(), ..held_by_nobody() }, vec!["drive", "release"]),
    ] {
        let status = next(&Script::of(snapshot.clone()).run("status ds/agent").await.text);
        let words: Vec<&str> = status.iter().filter_map(|line| line.split(' ').nth(1)).collect();
        assert_eq!(words, offers, "{status:#?}");
        let script = Script::of(snapshot).previews(Danger::None);
        let json: serde_json::Value = serde_json::from_str(&script.json("status ds/agent -o json").await).unwrap();
        let of_json = json["next"].as_array().unwrap().iter().map(|it| (&it["command"], &it["text"]));
        let of_json: Vec<String> = of_json
            .map(|(command, text)| format!("{}   ({})", command.as_str().unwrap(), text.as_str().unwrap()))
            .collect();
        assert_eq!(of_json, status);
        for line in
            ["step ds/agent --to 3", "pause ds/agent", "tune ds/agent --max-unavailable 3", "select ds/agent a=b -y"]
        {
            let text = script.run(line).await.text;
            assert_eq!(next(&text), status, "{line}: {text}");
        }
    }
}

#[tokio::test]
async fn who_resumes_what_does_not_stand_is_told_what_is_under_way() {
    let refusal = || Refusal::NotNow("it is neither paused nor halted".into());
    let output = Script::of(going_back()).refuses(refusal()).run("resume ds/agent").await;
    assert_eq!(output.code, 6);
    assert_snapshot!(output.error, @"
    Error: it is neither paused nor halted
    Hint: it is rolling back to revision 15, 38 of 120 updated; nobody drives: 1 node may be updated, and nothing moves
    Hint: rolldeck drive --context prod-eu -n edge ds/agent   (drives it)
    ");
    let dry = Script::of(going_back()).refuses(refusal()).run("resume ds/agent --dry-run").await;
    assert_eq!(dry.error, output.error);
    let nodes = [node("ipc-020", NodeState::Starting)].into();
    let driven = Snapshot { phase: Phase::Running, nodes, ..driving() };
    let driven = Script::of(driven).refuses(refusal()).run("resume ds/agent").await.error;
    assert!(driven.contains("Hint: it is running, 38 of 120 updated; you drive"), "{driven}");
}

/// Who pauses, and who finds it paused, learns what lifting the pause brings with it, and that there is a way back. Where nobody changed
/// the template nothing is said of it.
#[tokio::test]
async fn what_a_resume_would_roll_out_of_others_is_said_beside_the_pause() {
    let by_rolldeck = Paused::new(OURSELVES.into(), at(420), Some("the template was changed by kubectl-set".into()));
    let by_ada = Phase::Paused(Paused::new("ada".into(), at(420), None));
    let paused = Script::of(changed_by_others(by_ada.clone())).previews(Danger::None).run("pause ds/agent").await.text;
    assert!(
        paused.contains("the template was changed by kubectl-set in the middle of the rollout: agent v1.9.0 → v2.0.0."),
        "{paused}"
    );
    let alone = Snapshot { phase: by_ada, ..held_by_nobody() };
    let alone = Script::of(alone).previews(Danger::None).run("pause ds/agent").await.text;
    assert!(!alone.contains("template") && next(&alone).len() == 1, "{alone}");
    let paused = changed_by_others(Phase::Paused(by_rolldeck));
    let output = Script::of(paused.clone()).run("drive ds/agent").await;
    assert_eq!(output.code, 4);
    assert_snapshot!(output.error, @"
    Error: not driven, nothing is started while it is paused by rolldeck 3m ago: the template was changed by kubectl-set
    Hint: rolldeck resume --context prod-eu -n edge ds/agent   (rolls out the template as it is now, from before its first step)
    Hint: rolldeck undo --context prod-eu -n edge ds/agent   (rolls back to revision 14, 1 node is not at it)
    Hint: run that first, then this command again
    ");
    let ends = Snapshot { driver: driving().driver, ..paused };
    let output = Script::of(held_by_nobody()).then(driving()).then(ends).run("drive ds/agent").await;
    assert_eq!(output.code, 4);
    assert!(output.error.contains("\nHint: rolldeck undo "), "{}", output.error);
}

#[tokio::test]
async fn a_template_of_others_that_nobody_has_paused_for_is_not_said_to_be_prepared() {
    let text = Script::of(changed_by_others(Phase::Preparing)).run("status ds/agent").await.text;
    assert!(text.starts_with("edge/agent on prod-eu: template changed by kubectl-set, 38 of 120 updated\n"), "{text}");
    assert!(text.contains("  waits    template changed by kubectl-set; nobody drives\n"), "{text}");
    assert!(!text.contains("preparing"), "{text}");
}

/// Only a driver writes what is waited for while it is prepared.
#[tokio::test]
async fn what_is_prepared_by_who_may_be_gone_is_said_to_be() {
    let prepared = |secs| {
        let renewed_at = Some(rollout().at - Duration::from_secs(secs));
        let driver = DriverView::Unconfirmed { holder: "ops@bastion-2/7".into(), renewed_at };
        Snapshot { phase: Phase::Preparing, driver, ..held_by_nobody() }
    };
    let gone = Script::of(prepared(60)).run("status ds/agent").await.text;
    let waits = "preparing; nobody is seen driving: ops@bastion-2 renewed its lease 1m ago by its clock; if it has ended, \
                 nothing more is started\n";
    assert!(gone.contains(waits) && gone.contains("  next     rolldeck drive "), "{gone}");
    let lives = Script::of(prepared(3)).run("status ds/agent").await.text;
    assert!(lives.contains("  waits    preparing\n") && !lives.contains("rolldeck drive"), "{lives}");
}

#[tokio::test]
async fn a_cordoned_canary_is_named_with_what_lets_it_go() {
    let text = Script::of(cordoned(&["ipc-017"])).run("status ds/agent").await.text;
    let waits =
        "  waits    nobody drives; canary: 0 of 1 updated, 1 cannot go now (canary=true): 1 cordoned (ipc-017)\n";
    assert!(text.contains(waits), "{text}");
    let uncordon = "kubectl --context prod-eu uncordon ipc-017   (lets it go, which is cordoned)";
    assert!(next(&text).iter().any(|next| next == uncordon), "{text}");
    let held = Snapshot { driver: driving().driver, ..cordoned(&["ipc-017"]) };
    let told = Script::of(held_by_nobody()).then(driving()).then(held).run("drive ds/agent --until held").await.text;
    assert!(told.contains("1 cannot go now (canary=true): 1 cordoned (ipc-017)"), "{told}");
    assert!(told.contains(&format!("next: {uncordon}")), "{told}");
    let many = Script::of(cordoned(&["a", "b", "c", "d", "e", "f", "g"])).run("status ds/agent").await.text;
    let uncordon = "kubectl --context prod-eu uncordon a b c d e   (lets them go, which are cordoned, as 2 more are)";
    assert!(next(&many).iter().any(|next| next == uncordon), "{many}");
    let hostile = Script::of(cordoned(&["n;touch pwned"])).run("status ds/agent").await.text;
    assert!(hostile.contains("uncordon 'n;touch pwned'"), "{hostile}");
}

#[tokio::test(start_paused = true)]
async fn a_drive_that_runs_out_of_time_while_somebody_has_paused_says_what_lifts_that() {
    let paused = Paused::new("bob@bastion".into(), at(420), Some("the link is down".into()));
    let paused = Snapshot { phase: Phase::Paused(paused), ..script::driving() };
    let script = Script::of(held_by_nobody()).then(driving()).then(paused);
    let output = script.run("drive ds/agent --timeout 5m").await;
    assert_eq!(output.code, 3);
    assert!(output.error.contains("paused by bob@bastion 3m ago: \"the link is down\""), "{}", output.error);
    let resume = "\nHint: rolldeck resume --context prod-eu -n edge ds/agent   (lifts the pause";
    assert!(output.error.contains(resume), "{}", output.error);
}

#[tokio::test]
async fn a_resume_where_nobody_drives_is_said_to_move_nothing_by_itself() {
    let paused = |driver| {
        let paused = Paused::new("bob@bastion".into(), at(420), None);
        Script::of(Snapshot { phase: Phase::Paused(paused), driver, ..script::driving() })
    };
    let resume = "rolldeck resume --context prod-eu -n edge ds/agent   (lifts the pause";
    let told = paused(script::driving().driver).run("status ds/agent").await.text;
    assert!(next(&told).iter().any(|line| *line == format!("{resume})")), "{told}");
    let told = paused(DriverView::Nobody).run("status ds/agent").await.text;
    let undriven = format!("{resume}; the rollout goes on, once somebody drives)");
    assert!(next(&told).contains(&undriven), "{told}");
}

/// The record alone is left to go then, and its controller replaces pods again.
#[tokio::test]
async fn what_is_released_but_for_the_record_needs_nobody_who_drives() {
    let by = By { by: "ada".into(), at: at(420) };
    let released = Snapshot { phase: Phase::Releasing(by), adopted: false, ..held_by_nobody() };
    let text = Script::of(released.clone()).previews(Danger::None).run("release ds/agent").await.text;
    assert!(text.ends_with("settled: Release\n"), "{text}");
    let text =
        Script::of(Snapshot { adopted: true, ..released }).previews(Danger::None).run("release ds/agent").await.text;
    assert_eq!(next(&text), ["rolldeck drive --context prod-eu -n edge ds/agent   (drives it)"], "{text}");
}

/// Whoever runs out of time while somebody else may still drive has waited for them, and done nothing.
#[tokio::test(start_paused = true)]
async fn a_drive_that_waited_for_who_holds_the_lease_says_so() {
    let driver = DriverView::Unconfirmed { holder: "ops@bastion-2/7".into(), renewed_at: Some(rollout().at) };
    let output = Script::of(Snapshot { driver, ..held_by_nobody() }).run("drive ds/agent --timeout 5s").await;
    assert_eq!(output.code, 3);
    let said = "Hint: this process did not drive: ops@bastion-2/7 holds the lease\n\
                Hint: `rolldeck drive ds/agent --timeout 5s --take-over` asks them to hand over";
    assert!(output.error.contains(said), "{}", output.error);
}

/// What was adopted while nothing is rolled out is handed back next, or gets another image: the answer says so as `status` does.
#[tokio::test]
async fn an_adoption_of_what_is_complete_says_what_comes_next() {
    let mut adopted = Snapshot { phase: Phase::Preparing, adopted: true, started_at: None, ..held_by_nobody() };
    (adopted.requested_change, adopted.counts.updated) = (None, adopted.counts.nodes);
    let text = Script::of(adopted).previews(Danger::None).run("adopt ds/agent").await.text;
    let image = "\nnext: rolldeck set-image --context prod-eu -n edge ds/agent agent=IMAGE   (begins a rollout: `step` then lets nodes go";
    let release = "\nnext: rolldeck release --context prod-eu ";
    assert!(text.find(image) < text.find(release) && text.contains(image), "{text}");
    assert!(!text.contains("rolldeck drive "), "{text}");
}

/// Where nothing may go before a step, to drive moves nothing: what does is offered first, and the offer to drive says so.
#[tokio::test]
async fn to_drive_what_is_held_says_that_a_step_comes_before() {
    let held = Snapshot { nodes: Vec::new().into(), ..not_begun() };
    let next = next(&Script::of(held).run("status ds/agent").await.text);
    let of = |word: &str| next.iter().position(|line| line.starts_with(word));
    assert!(of("rolldeck step") < of("rolldeck drive"), "{next:?}");
    let drives = next.iter().find(|line| line.starts_with("rolldeck drive")).unwrap();
    assert!(drives.ends_with("(drives it, and moves nothing before a step)"), "{drives}");
    let in_line = NodeView { hold: Some(Hold::NobodyDrives), ..node("ipc-020", NodeState::Outdated) };
    let held = Snapshot { nodes: [in_line].into(), ..not_begun() };
    let text = Script::of(held).run("status ds/agent").await.text;
    assert!(text.contains("(drives it)"), "{text}");
}
