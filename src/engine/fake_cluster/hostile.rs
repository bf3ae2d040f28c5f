//! A rollout in which one text stands wherever people are shown what somebody else wrote.

use super::{FakeCluster, FakeConsole};
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Step};
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind};
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::facts::{
    ClusterEvent, ConditionStatus, ContainerState, PodFact, PodPhase, ReportedBy, Severity,
};
use crate::engine::model::node_details::NodeDetails;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::report::snapshot::Snapshot;

/// How often the text stands in what one of the snapshots shows at once, at most.
pub(crate) const PLACES: usize = 30;

/// Snapshots of the driver and of an observer, to whom the lease holder's name is hostile, too.
pub(crate) fn hostile_snapshots(text: &str) -> [Snapshot; 2] {
    let text = &Str::from(text);
    let mut fake = FakeCluster::rolling(8, 3);
    for revision in &mut fake.revisions {
        revision.change_cause = Some(text.clone());
    }
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    fake.revisions.last_mut().unwrap().change_cause = Some(text.clone());
    fake.log.push(Event::Revision(Box::new(fake.revisions.last().unwrap().clone())));
    refuse_a_deletion(&mut console, &mut fake, text);
    console.run_for(&mut fake, 3);
    fake.kubelets();
    infest_pods(&mut fake, text);
    infest_events(&mut fake, text);
    for watched in [Watched::Events, Watched::WarmPods] {
        fake.log.push(Event::Watch(watched, WatchHealth::Forbidden { why: text.clone() }));
    }
    console.hear(&fake);
    let _ = console.ask(&mut fake, Command::Pause { why: Some(text.to_string()) });
    let ours = console.snapshot(&fake);
    fake.lease.as_mut().unwrap().holder = Some(text.clone());
    fake.tell_lease();
    let mut other = FakeConsole::open(&fake, "eve");
    for watched in [Watched::Pods, Watched::Nodes] {
        let why = text.clone();
        other.engine.observe(Event::Watch(watched, WatchHealth::Down { since: fake.now, why }), fake.now);
    }
    let theirs = other.snapshot(&fake);
    [ours, theirs]
}

/// The API server refuses the first deletions.
fn refuse_a_deletion(console: &mut FakeConsole, fake: &mut FakeCluster, text: &Str) {
    let step = Command::Step(Step::Partition(IntOrPercent::Int(2)));
    console.engine.command(step, fake.now).unwrap();
    for _ in 0..20 {
        console.hear(fake);
        for (id, effect) in console.engine.decide(fake.now) {
            let refused = EffectError { kind: EffectErrorKind::Forbidden, message: text.clone(), dry_run: false };
            let outcome = if matches!(effect, Effect::DeletePod { .. }) { Err(refused) } else { fake.apply(effect) };
            console.engine.outcome(id, outcome, fake.now);
        }
        fake.reconcile();
    }
}

fn infest_pods(fake: &mut FakeCluster, text: &Str) {
    let now = fake.now;
    let waiting = |reason: &str| ContainerState::Waiting { reason: reason.into(), message: Some(text.clone()) };
    let ended = ContainerState::Terminated { reason: text.clone(), exit_code: 1, message: Some(text.clone()) };
    let unready = |pod: &mut PodFact| (pod.ready, pod.containers[0].ready) = (false, false);
    let mut change = |node: &str, change: &dyn Fn(&mut PodFact)| {
        if fake.pods.values().any(|pod| pod.node.as_deref() == Some(node)) {
            fake.change_pod(node, |pod| {
                unready(pod);
                change(pod);
            });
        }
    };
    change("n1", &|pod| pod.containers[0].state = waiting("ErrImagePull"));
    change("n2", &|pod| pod.containers[0].state = waiting(text));
    change("n3", &|pod| (pod.containers[0].state, pod.containers[0].last_end) = (ended.clone(), Some(text.clone())));
    change("n4", &|pod| (pod.deletion_at, pod.finalizers) = (Some(now), [text.clone(), text.clone()].into()));
    change("n5", &|pod| {
        (pod.phase, pod.reason, pod.message) = (PodPhase::Failed, Some(text.clone()), Some(text.clone()));
    });
    change("n6", &|pod| {
        pod.phase = PodPhase::Pending;
        (pod.reason, pod.message) = (Some("Unschedulable".into()), Some(text.clone()));
    });
    let node = fake.nodes.get_mut("n7").unwrap();
    (node.ready, node.ready_since, node.not_ready_why) = (ConditionStatus::False, Some(now), Some(text.clone()));
    node.details = NodeDetails::of(|_| Some(text.clone()));
    let node = node.clone();
    fake.log.push(Event::Node(Box::new(node)));
    fake.remove_pod("n8");
    fake.fail_create(text);
}

/// Events of kubelets, and of another rolldeck.
fn infest_events(fake: &mut FakeCluster, text: &Str) {
    let pods: Vec<Str> = fake.pods.keys().cloned().collect();
    for (pod, reason) in pods.into_iter().zip(["Pulling", "Failed", "Pulled", text]) {
        let event = ClusterEvent {
            object: pod,
            node: Some("n1".into()),
            container: Some("agent".into()),
            reason: reason.into(),
            message: text.clone(),
            at: fake.now,
            first_at: None,
            count: 1,
            ..ClusterEvent::default()
        };
        fake.log.push(Event::Cluster(Box::new(event)));
    }
    for (nth, message) in
        [text.to_string(), format!("{text}: paused"), format!("{text}@host: {text}")].iter().enumerate()
    {
        let ours = ReportedBy {
            event: format!("agent.{nth}").into(),
            identity: format!("{text}@host/{nth}").into(),
            severity: Severity::Warning,
            revision: None,
        };
        let event = ClusterEvent {
            object: "ds".into(),
            reason: text.clone(),
            message: message.as_str().into(),
            at: fake.now,
            first_at: None,
            count: 1,
            reported_by: Some(Box::new(ours)),
            ..ClusterEvent::default()
        };
        fake.log.push(Event::Cluster(Box::new(event)));
    }
}
