//! Tries a pod before the first one is replaced: whether the API server would admit a pod of the target's template.
//!
//! ```text
//!   first node in line ─▶ POST pods, dry run ─┬─ admitted, or nothing learned ─▶ pods are replaced
//!                                             └─ refused ─▶ the rollout pauses: no node is taken down; `resume` goes on all the same
//! ```
//!
//! A template is admitted as that of a DaemonSet, and its pods are admitted one by one when its controller creates them: by Pod Security, by policies, by
//! webhooks, by a LimitRange. What refuses them is found only once a pod is deleted, and its node then stays without one; nor does a roll back help where the
//! pods of every revision are refused. As soon as one pod of the target is there, nothing is tried any more.
//!
//! The trial is made by who drives and not by the controller, and policies may treat the two differently: it pauses, and forbids nothing.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::effect::{Effect, EffectId, Outcome};
use crate::engine::model::event::{Permission, Right};
use crate::engine::model::record::size::clipped;
use crate::engine::model::record::{Direction, Intent, NOT_ADMITTED};
use crate::engine::model::rollout_event::{RolloutEventKind, Visibility};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::recognise::{TextSource, recognise};
use crate::engine::writes::effects::Sent;

/// The label by which a pod names its revision.
const REVISION_HASH: &str = "controller-revision-hash";

impl Engine {
    /// What is sent before the first pod may be replaced: the trial, or nothing while it is not answered. `None` if nothing has to be tried.
    pub(super) fn try_a_pod(&mut self, intent: &Intent) -> Option<Vec<(EffectId, Effect)>> {
        let target = intent.target.as_ref().filter(|_| self.has_to_try_a_pod(intent))?;
        if self.deletions.trial.is_awaited(target) {
            return Some(Vec::new());
        }
        let template = self.view.revision(target)?.template.json();
        let pod = Arc::new(pod_of(template, &self.config().name, target));
        self.deletions.trial.asked(target);
        let id = self.effects.send(Sent::TryPod { revision: target.clone() });
        Some(vec![(id, Effect::TryPod { pod })])
    }

    /// Whether a trial has to be answered before the first pod may be replaced under `intent`.
    pub(crate) fn has_to_try_a_pod(&self, intent: &Intent) -> bool {
        let target = intent.target.as_ref().filter(|_| intent.direction() == Direction::Forward);
        let is_answered = |target: &Str| self.progress.tried.as_ref() == Some(target);
        let may = || self.view.permission(Right::CreatePods) != Permission::Denied;
        target.is_some_and(|target| !is_answered(target)) && may() && !self.assessment.rows().any(|row| row.at_target)
    }

    /// Takes in the answer to a trial: the rollout pauses if a pod of its target would not be admitted.
    pub(super) fn trial_outcome(&mut self, revision: &Str, outcome: &Outcome, now: Timestamp) {
        self.deletions.trial.answered(revision);
        let intent = self.intent();
        if !self.lock.may_act(now) || intent.target.as_ref() != Some(revision) {
            return;
        }
        self.progress.tried = Some(revision.clone());
        let refused = refused(outcome).filter(|_| intent.paused.is_none() && intent.releasing.is_none());
        let Some(said) = refused else { return };
        let said = said.strip_prefix(&format!("{}: ", words_of_trial(&self.config().name))).unwrap_or(said);
        let why = clipped(&self.without_values(&format!(
            "a pod of revision {}{NOT_ADMITTED}, so that its node would stay without one: {said}",
            self.view.number_of(revision)
        )));
        self.pause(why.to_string(), now);
        self.happened(RolloutEventKind::PodNotAdmitted { why }, Visibility::Cluster);
    }
}

/// What is attempted, in the error of a trial.
fn words_of_trial(name: &str) -> String {
    format!("try a pod of {name}")
}

/// A pod as the controller of a DaemonSet makes it from `template`, for any node.
fn pod_of(template: &Value, name: &str, revision: &str) -> Value {
    let mut metadata = json!({"generateName": format!("{name}-")});
    for field in ["labels", "annotations"] {
        if let Some(given) = template["metadata"][field].as_object() {
            metadata[field] = given.clone().into();
        }
    }
    metadata["labels"][REVISION_HASH] = revision.into();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

/// What the API server says where it would not admit the pod. A right that the driver lacks says nothing of the controller; a quota may have room once a pod
/// is gone; and a webhook that supports no dry run has judged nothing.
fn refused(outcome: &Outcome) -> Option<&str> {
    let error = outcome.as_ref().err()?;
    let said = error.message.to_lowercase();
    // A webhook that has to be asked and does not answer keeps the controller from creating pods as well.
    if said.contains("failed calling webhook") {
        return Some(&error.message);
    }
    if !error.kind.is_refusal() {
        return None;
    }
    let says_nothing = ["cannot create resource", "dry run", "dryrun"].iter().any(|words| said.contains(words));
    let refuses = match recognise(TextSource::CreationMessage, "", &error.message)? {
        CauseKind::AdmissionRefused | CauseKind::CreationForbidden | CauseKind::PodInvalid => !says_nothing,
        _ => false,
    };
    refuses.then_some(&*error.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
    use crate::engine::model::command::{Command, Step, Takeover};
    use crate::engine::model::config::Role;
    use crate::engine::model::effect::{EffectError, EffectErrorKind};
    use crate::engine::model::quantity::IntOrPercent;
    use crate::engine::report::remedies::Remedy;
    use crate::engine::report::snapshot::Phase;

    const POD_SECURITY: &str =
        "try a pod of agent: pods \"agent-\" is forbidden: violates PodSecurity \"restricted:latest\": privileged";

    fn tried(fake: &FakeCluster) -> usize {
        fake.sent.iter().filter(|sent| **sent == "POST pods, dry run").count()
    }

    #[test]
    fn no_node_is_taken_down_for_a_pod_that_would_not_be_admitted() {
        let mut fake = FakeCluster::rolling(6, 2);
        fake.admits_no_pod = Some(POD_SECURITY.into());
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 60);
        assert_eq!((fake.deleted.len(), tried(&fake)), (0, 1));
        let seen = console.snapshot(&fake);
        let Phase::Paused(paused) = &seen.phase else { panic!("{:?}", seen.phase) };
        let why = paused.why.as_deref().unwrap();
        assert!(paused.is_by_rolldeck() && why.starts_with("a pod of revision 2 would not be admitted"), "{paused:?}");
        assert!(
            why.ends_with(
                "without one: pods \"agent-\" is forbidden: violates PodSecurity \"restricted:latest\": privileged"
            ),
            "{why}"
        );
        let offered = seen.guidance().unwrap().remedies;
        assert!(matches!(offered.as_slice(), [undo, Remedy::Resume] if undo.is_undo()), "{offered:?}");
        let told: Vec<_> = seen.timeline.iter().filter(|event| event.reason() == "RolloutPodNotAdmitted").collect();
        assert_eq!(told.len(), 1, "{:?}", seen.timeline);
        // Who drives may be treated otherwise than the controller is: the operator decides, and whoever drives next goes by that.
        console.ask(&mut fake, Command::StopDriving).unwrap();
        console.run_for(&mut fake, 5);
        FakeConsole::open_as(&fake, "eve", Role::OneShot).ask(&mut fake, Command::Resume).unwrap();
        let mut next = FakeConsole::open(&fake, "next");
        next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
        next.run_for(&mut fake, 120);
        assert_eq!((next.snapshot(&fake).counts.updated, tried(&fake)), (6, 1));
        // Another revision is tried again.
        next.set_image(&mut fake, "agent:v3");
        next.partition(&mut fake, 0);
        next.run_for(&mut fake, 20);
        assert_eq!((fake.deleted.len(), tried(&fake)), (6, 2));
    }

    #[test]
    fn a_pod_is_tried_once_before_the_first_deletion_and_not_once_one_is_there() {
        let mut fake = FakeCluster::rolling(6, 1);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.run_for(&mut fake, 60);
        assert_eq!(tried(&fake), 0, "no step has let a node go");
        let calls = |console: &mut FakeConsole, fake: &FakeCluster| {
            console.engine.preview(&Command::Step(Step::Partition(IntOrPercent::Int(4))), fake.now).unwrap().calls
        };
        let is_trial = |call: &String| call.starts_with("POST pods, dry run");
        assert!(calls(&mut console, &fake).iter().any(is_trial));
        console.partition(&mut fake, 5);
        console.run_for(&mut fake, 60);
        let first = |what: &str| fake.sent.iter().position(|sent| *sent == what);
        assert!(first("POST pods, dry run").unwrap() < first("DELETE pods").unwrap(), "{:?}", fake.sent);
        assert_eq!((fake.deleted.len(), tried(&fake)), (1, 1));
        assert!(!calls(&mut console, &fake).iter().any(is_trial), "it was tried");
        console.ask(&mut fake, Command::StopDriving).unwrap();
        console.run_for(&mut fake, 5);
        drop(console);
        let mut next = FakeConsole::open(&fake, "next");
        next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
        next.partition(&mut fake, 0);
        next.run_for(&mut fake, 200);
        assert_eq!((next.snapshot(&fake).counts.updated, tried(&fake)), (6, 1), "a pod of it is there");
    }

    #[test]
    fn a_roll_back_tries_nothing() {
        let mut fake = FakeCluster::rolling(6, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 4);
        console.run_for(&mut fake, 60);
        fake.admits_no_pod = Some(POD_SECURITY.into());
        console.ask(&mut fake, Command::Undo { to: None }).unwrap();
        console.run_for(&mut fake, 60);
        assert_eq!((fake.deleted.len(), tried(&fake)), (4, 1), "two went, and came back");
    }

    #[test]
    fn what_tells_nothing_of_the_pods_of_the_controller_stops_nothing() {
        let outcome = |kind, message: &str| Err(EffectError { kind, message: message.into(), dry_run: false });
        let forbidden = |message: &str| outcome(EffectErrorKind::Forbidden, message);
        assert_eq!(refused(&forbidden(POD_SECURITY)), Some(POD_SECURITY));
        let policy = "pods \"agent-\" is forbidden: ValidatingAdmissionPolicy 'tags' with binding 'tags' denied request: no latest";
        assert_eq!(refused(&outcome(EffectErrorKind::Invalid, policy)), Some(policy));
        let webhook = "Internal error occurred: failed calling webhook \"pods.example.com\": failed to call webhook: Post \"https://w.edge.svc:443/\": context deadline exceeded";
        assert_eq!(refused(&outcome(EffectErrorKind::Unknown, webhook)), Some(webhook));
        for said in [
            "403 Forbidden: pods is forbidden: User \"ada\" cannot create resource \"pods\" in API group \"\" in the namespace \"edge\"",
            "pods \"agent-\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=6, limited: pods=6",
            "admission webhook \"a.example\" does not support dry run",
            "the server is busy",
        ] {
            assert_eq!(refused(&forbidden(said)), None, "{said}");
        }
        assert_eq!(refused(&outcome(EffectErrorKind::Unknown, POD_SECURITY)), None);
        assert_eq!(refused(&outcome(EffectErrorKind::NotSent, POD_SECURITY)), None);
    }
}
