//! Every cause of a pod's trouble, from what is observed to the row of its node: whichever rule finds it, and whenever time alone makes it.

use std::collections::BTreeSet;

use super::waits::{one_taken, replaced_and_not_begun};
use super::*;
use crate::engine::model::facts::{ClusterEvent, PodPhase};
use crate::engine::model::template::ContainerRole;
use crate::engine::rules::recognise::{TextSource, all_words};

/// Longer than the progress deadline of a new rollout.
const LONG: u64 = 700;

/// Makes the new pod of the node `n1` have this cause, now or as time passes.
fn makes(cause: CauseKind, fake: &mut FakeCluster, console: &mut FakeConsole) {
    match cause {
        CauseKind::NotCreated => fake.refuses = Some("Error creating: it went wrong".into()),
        CauseKind::ControllerIdle => fake.idle = true,
        CauseKind::NodeDown => fake.set_node_ready("n1", false),
        CauseKind::StuckTerminating => fake.hung = true,
        CauseKind::HeldByFinalizers => {
            fake.hung = true;
            fake.change_pod("n1", |pod| {
                pod.finalizers = ["example.com/hold".into()].into();
                pod.deletion_grace_secs = Some(0);
            });
        }
        CauseKind::Deadline => {
            replaced_and_not_begun(fake, console);
        }
        CauseKind::SchedulerIdle => {
            replaced_and_not_begun(fake, console);
            fake.change_pod("n1", |pod| (pod.bound, pod.containers) = (false, Vec::new()));
        }
        CauseKind::Rejected => {
            replaced_and_not_begun(fake, console);
            fake.change_pod("n1", |pod| pod.phase = PodPhase::Failed);
        }
        CauseKind::NotReady => {
            replaced_and_not_begun(fake, console);
            fake.change_pod("n1", |pod| {
                pod.phase = PodPhase::Running;
                pod.containers[0].state = ContainerState::Running { since: None };
            });
        }
        CauseKind::InitFailure => {
            replaced_and_not_begun(fake, console);
            fake.change_pod("n1", |pod| {
                pod.containers[0].role = ContainerRole::Init;
                pod.containers[0].state =
                    ContainerState::Terminated { reason: "Error".into(), exit_code: 1, message: None };
            });
        }
        cause => says(cause, fake, console),
    }
}

/// Has the first text by which the cause is recognised come from where it is read.
fn says(cause: CauseKind, fake: &mut FakeCluster, console: &mut FakeConsole) {
    let words = all_words().find(|words| words.cause == cause);
    let words = words.unwrap_or_else(|| panic!("{cause:?} is recognised by no words: `makes` has to make it"));
    if words.source == TextSource::CreationMessage {
        fake.refuses = Some(words.message.into());
        return;
    }
    let object = replaced_and_not_begun(fake, console);
    match words.source.pod_that_says(words.reason, words.message) {
        Some(says) => fake.change_pod("n1", |pod| {
            (pod.phase, pod.reason, pod.message, pod.containers) =
                (says.phase, says.reason, says.message, says.containers);
        }),
        None => {
            let (reason, message) = (words.reason.into(), words.message.into());
            let event = ClusterEvent {
                version: Some(7),
                object,
                reason,
                message,
                at: fake.now,
                count: 1,
                ..Default::default()
            };
            console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
        }
    }
}

#[test]
fn every_cause_is_shown_on_its_node() {
    for cause in CauseKind::ALL {
        let (mut fake, mut console) = one_taken();
        makes(cause, &mut fake, &mut console);
        let mut shown = BTreeSet::new();
        for _ in 0..LONG {
            let snapshot = console.snapshot(&fake);
            let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
            shown.extend(node.cause.as_ref().map(|cause| cause.kind));
            if shown.contains(&cause) {
                break;
            }
            console.run_for(&mut fake, 1);
        }
        assert!(shown.contains(&cause), "{cause:?} is not shown within {LONG} s, but {shown:?}");
    }
}
